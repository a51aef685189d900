/* macaroon_lib.h - libmacaroons, loaded when it is first needed.
 *
 * Debian has no static library of it, and few commands need it, or libsodium, which it brings.
 *
 * It takes texts that it does not like for a fault of the program: some stop the process. So what
 * others wrote is read by token_text.c first, and only what that has understood is given to it.
 *
 * Ownership: the table is static and stays for the life of the process.
 */
#ifndef WEIR_HTTP_MACAROON_LIB_H
#define WEIR_HTTP_MACAROON_LIB_H

#include <macaroons.h>

#include <weir/defs.h>

#define WEIR__MACAROON_FUNCTIONS(X)                                                                \
    X(create)                                                                                      \
    X(destroy)                                                                                     \
    X(add_first_party_caveat)                                                                      \
    X(deserialize)                                                                                 \
    X(serialize)                                                                                   \
    X(serialize_size_hint)                                                                         \
    X(identifier)                                                                                  \
    X(verifier_create)                                                                             \
    X(verifier_destroy)                                                                            \
    X(verifier_satisfy_general)                                                                    \
    X(verify)

struct weir__macaroons {
#define WEIR__MACAROON_FIELD(name) __typeof__(macaroon_##name) *name;
    WEIR__MACAROON_FUNCTIONS(WEIR__MACAROON_FIELD)
#undef WEIR__MACAROON_FIELD
};

/* The functions, or NULL and why not: a sentence with its cure. Loads them the first time: not by
 * two threads at once. */
const struct weir__macaroons *weir__macaroons_load(const char **ret_why);

#endif
