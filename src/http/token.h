/* token.h - capabilities: macaroons that say what their holder may do.
 *
 * A token is minted with a key of the ring and has caveats (caveat.h). Who holds one can add
 * caveats to it without any key, and give away what is left; nobody can take one away. So a token
 * never allows more than the one that it was made from.
 *
 * The identifier of a macaroon is "v1:KEYID:TOKENID:NONCE", its location "weir". The id of a token
 * is kept by all that is made from it: quotas and logs go by that. It is no secret; the token is,
 * and is never shown or logged.
 *
 * Promises
 * - What is longer than WEIR__TOKEN_MAX bytes, has more than WEIR__TOKEN_CAVEATS_MAX caveats, is
 * not written as we write it, or has a caveat for a third party, is refused before anything is
 *   computed.
 * - Unauthorized: there is no token, it is none of ours, its key is not in the ring, its signature
 *   is wrong, or it has expired: another token is needed. Forbidden: the token is good and does not
 *   allow this, or has a caveat that is not known here.
 * - Signatures are compared in constant time, by libmacaroons.
 * - Verifying changes nothing and waits for nothing: any number of threads at once.
 * - A caveat is judged as the library reads it, and the two readers must agree on what there is.
 *
 * Cost: 4 µs and 1.2 µs for each caveat; so nothing is kept of what was verified.
 *
 * Ownership: texts are the caller's; a view owns what it shows.
 */
#ifndef WEIR_HTTP_TOKEN_H
#define WEIR_HTTP_TOKEN_H

#include "caveat.h"
#include "keyring.h"

#define WEIR__TOKEN_MAX         4096u
#define WEIR__TOKEN_SIZE        (WEIR__TOKEN_MAX + 1) /* with NUL */
#define WEIR__TOKEN_CAVEATS_MAX 64u
#define WEIR__TOKEN_ID_SIZE     17u /* with NUL */

/* Loads the library, the first time: not by two threads at once. NULL, or why not, with the cure.
 * Before this mint, narrow and verify must not be called. */
const char *weir__token_load(void);

struct weir__token_caveat {
    const char *text; /* not ended by NUL; others wrote it */
    size_t length;
};

/* What can be read of a token by everybody. */
struct weir__token_view {
    char key_id[WEIR__KEY_ID_SIZE];
    char id[WEIR__TOKEN_ID_SIZE];
    struct weir__token_caveat identifier;
    struct weir__token_caveat caveats[WEIR__TOKEN_CAVEATS_MAX];
    size_t caveats_count;
    char _bytes[WEIR__TOKEN_MAX / 4 * 3];
};

/* 0 or Unauthorized. Not to be copied afterwards: it points into itself. */
WEIR_MUST_USE int weir__token_read(struct weir__token_view *ret_view, const char *text,
                                   size_t length);

/* The token in a field "Authorization: Bearer TOKEN"; text NULL: there is no such field. 0 or
 * Unauthorized; on failure why stands behind "the capability ". */
WEIR_MUST_USE int weir__token_from_header(const char *text, size_t length, const char **ret_token,
                                          size_t *ret_length, const char **ret_why);

/* A new token with these caveats. 0; Invalid: one is no caveat; TooLarge: they are too many, or too
 * long together; NoMemory, or what the system said. */
WEIR_MUST_USE int weir__token_mint(char ret_text[WEIR__TOKEN_SIZE],
                                   const struct weir__keyring *ring, const char *const *caveats,
                                   size_t count);

/* The same token with more caveats. As above, and Unauthorized: it is no token. */
WEIR_MUST_USE int weir__token_narrow(char ret_text[WEIR__TOKEN_SIZE], const char *token,
                                     size_t length, const char *const *caveats, size_t count);

struct weir__token_grant {
    char id[WEIR__TOKEN_ID_SIZE];
    char key_id[WEIR__KEY_ID_SIZE];
    uint64_t body_max; /* WEIR__BODY_UNKNOWN: it says nothing about that */
};

/* Whether the token allows the request. 0, Unauthorized, Forbidden or NoMemory; on failure why
 * stands behind "the capability ". */
WEIR_MUST_USE int weir__token_verify(struct weir__token_grant *ret_grant,
                                     const struct weir__keyring *ring, const char *token,
                                     size_t length, const struct weir__token_request *request,
                                     const char **ret_why);

/* Whether the token was made with a key of the ring, whatever it allows. 0, Unauthorized or
 * NoMemory. */
WEIR_MUST_USE int weir__token_is_genuine(const struct weir__keyring *ring, const char *token,
                                         size_t length);

#endif
