/* hash.c - BLAKE3 by its official implementation, whose header stays in here. */
#include "hash.h"

#include <blake3.h>

#include "banned.h"

_Static_assert(sizeof(blake3_hasher) <= sizeof(struct weir__hash), "the state has outgrown us");
_Static_assert(_Alignof(blake3_hasher) <= _Alignof(struct weir__hash), "the state is misaligned");
_Static_assert(BLAKE3_KEY_LEN == WEIR__HASH_KEY_SIZE, "the key has another size");
_Static_assert(BLAKE3_OUT_LEN == WEIR__HASH_SIZE, "the digest has another size");

/* The implementation looks at the processor when it first hashes, and keeps what it found without a
 * lock. Here that happens before there are threads. */
__attribute__((constructor)) static void look_at_processor(void)
{
    unsigned char digest[BLAKE3_OUT_LEN];
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    blake3_hasher_finalize(&hasher, digest, sizeof(digest));
}

void weir__hash_init(struct weir__hash *hash)
{
    blake3_hasher_init((blake3_hasher *)hash->_state);
}

void weir__hash_init_keyed(struct weir__hash *hash, const unsigned char key[WEIR__HASH_KEY_SIZE])
{
    blake3_hasher_init_keyed((blake3_hasher *)hash->_state, key);
}

void weir__hash_update(struct weir__hash *hash, const void *bytes, size_t count)
{
    if (count > 0)
        blake3_hasher_update((blake3_hasher *)hash->_state, bytes, count);
}

void weir__hash_final(const struct weir__hash *hash, unsigned char digest[WEIR__HASH_SIZE])
{
    blake3_hasher_finalize((const blake3_hasher *)hash->_state, digest, WEIR__HASH_SIZE);
}
