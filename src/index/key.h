/* key.h - keys that sign records: Ed25519, one file for each.
 *
 *     FILE     "weir-key-v1 " and 64 hexadecimal digits of the seed, and a line end; mode 0600
 *
 * Promises
 * - A file that others than its owner can read or write is refused (Denied), with the cure.
 * - A key that was made is on the disk when the call returns, whole or not at all; what exists is
 *   not replaced (Exists).
 * - Secrets are wiped from memory before it is given back, and never shown.
 * - Verifying needs no key and no state: any number of threads at once.
 *
 * Ownership: a key belongs to the caller, who wipes it with weir__key_fini().
 */
#ifndef WEIR_INDEX_KEY_H
#define WEIR_INDEX_KEY_H

#include "name.h"

#define WEIR__SIGNATURE_SIZE 64u
#define WEIR__SIGN_KEY_WHY   640u

struct weir__key {
    unsigned char public_key[WEIR__PUBLIC_KEY_SIZE];
    unsigned char _secret[64];
    struct weir__key_id id;
};

/* Makes the library ready: not by two threads at once the first time. NULL, or why not. Before this
 * nothing else here may be called. */
const char *weir__key_load_library(void);

/* From a seed of 32 bytes, for tests and files. */
void weir__key_from_seed(struct weir__key *ret_key, const unsigned char seed[32]);
/* A new one of random bytes, in no file. */
WEIR_MUST_USE int weir__key_new(struct weir__key *ret_key);
WEIR_MUST_USE int weir__key_read(struct weir__key *ret_key, const char *file,
                                 char why[WEIR__SIGN_KEY_WHY]);
/* Makes a key and its file; folders above it must be there. */
WEIR_MUST_USE int weir__key_make(struct weir__key *ret_key, const char *file,
                                 char why[WEIR__SIGN_KEY_WHY]);
void weir__key_fini(struct weir__key *key);

void weir__key_sign(const struct weir__key *key, const void *bytes, size_t length,
                    unsigned char ret_signature[WEIR__SIGNATURE_SIZE]);
bool weir__key_verify(const unsigned char public_key[WEIR__PUBLIC_KEY_SIZE], const void *bytes,
                      size_t length, const unsigned char signature[WEIR__SIGNATURE_SIZE]);

#endif
