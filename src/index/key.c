/* key.c - Ed25519, as libsodium does it: it refuses keys and signatures of small order and those
 * that are not in the one form that they should have. */
#include "key.h"

#include <string.h>

#include <sodium.h>

#include <weir/error.h>

#include "sys.h"

#include "banned.h"

_Static_assert(WEIR__PUBLIC_KEY_SIZE == crypto_sign_PUBLICKEYBYTES, "the size of a public key");
_Static_assert(WEIR__SIGNATURE_SIZE == crypto_sign_BYTES, "the size of a signature");
_Static_assert(sizeof(((struct weir__key *)0)->_secret) == crypto_sign_SECRETKEYBYTES,
               "the size of a secret");

const char *weir__key_load_library(void)
{
    return sodium_init() < 0 ? "libsodium cannot be used: the kernel gives no random bytes" : NULL;
}

void weir__key_from_seed(struct weir__key *ret_key, const unsigned char seed[32])
{
    /* Cannot fail: what it computes is defined for every seed. */
    (void)crypto_sign_seed_keypair(ret_key->public_key, ret_key->_secret, seed);
    weir__key_id_of(ret_key->public_key, &ret_key->id);
}

int weir__key_new(struct weir__key *ret_key)
{
    unsigned char seed[32];
    if (weir__sys_random(seed, sizeof(seed)) < 0)
        return weir_error_from_errno(errno);
    weir__key_from_seed(ret_key, seed);
    explicit_bzero(seed, sizeof(seed));
    return 0;
}

void weir__key_fini(struct weir__key *key)
{
    if (key)
        explicit_bzero(key, sizeof(*key));
}

void weir__key_sign(const struct weir__key *key, const void *bytes, size_t length,
                    unsigned char ret_signature[WEIR__SIGNATURE_SIZE])
{
    (void)crypto_sign_detached(ret_signature, NULL, bytes, length, key->_secret);
}

bool weir__key_verify(const unsigned char public_key[WEIR__PUBLIC_KEY_SIZE], const void *bytes,
                      size_t length, const unsigned char signature[WEIR__SIGNATURE_SIZE])
{
    return crypto_sign_verify_detached(signature, bytes, length, public_key) == 0;
}
