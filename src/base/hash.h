/* hash.h - BLAKE3: what names content and tells whether two files are the same.
 *
 * A streaming hash: init, any number of updates of any size, final. The digest does not depend on
 * how the bytes were cut. The work is done by the official implementation with its vector code,
 * chosen by the processor at run time; this header is all that the rest of Weir sees of it.
 *
 * Limits: 2^64 - 1 bytes. Nothing here allocates, waits or fails.
 *
 * Ownership: the state lives in the caller's memory and needs no end.
 */
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include <weir/defs.h>

#define WEIR__HASH_SIZE 32

/* Room for the state of any 1.x of the implementation; hash.c asserts that it is enough. */
struct weir__hash {
    uint64_t _state[256];
};

#define WEIR__HASH_KEY_SIZE 32

void weir__hash_init(struct weir__hash *hash);
/* With a key: who does not have it can neither make nor check the digest. */
void weir__hash_init_keyed(struct weir__hash *hash, const unsigned char key[WEIR__HASH_KEY_SIZE]);
void weir__hash_update(struct weir__hash *hash, const void *bytes, size_t count);
/* May be followed by further updates: it is the digest of what came so far. */
void weir__hash_final(const struct weir__hash *hash, unsigned char digest[WEIR__HASH_SIZE]);

#endif
