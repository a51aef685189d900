/* url.h - URLs of http and https: taken apart strictly, put together again, and shown without what
 * may be secret.
 *
 * Promises
 * - What is taken apart means one thing: anything that programs read differently (spaces, controls,
 *   a backslash or a byte above 127 in the host, a port that is none) is refused with a reason that
 *   can stand behind "its" or "it". What is sent is put together from the parts, never the text
 *   that was given; bytes above 127 in the path are sent percent-encoded.
 * - What is shown has no user, no password, no fragment and no value of the query. Names of the
 *   query are shown, so that people can tell URLs apart. A text that is no URL is shown from its
 *   last '@' on and without everything behind '?' or '#', since nobody knows what is what in it.
 * - The path is shown as it is: a secret there is not known to be one.
 *
 * Limits: WEIR__URL_MAX bytes. Linear time, nothing waits; only what takes a buffer allocates.
 *
 * Ownership: the parts point into the text that was taken apart, which must outlive them.
 */
#ifndef WEIR_HTTP_URL_H
#define WEIR_HTTP_URL_H

#include "buffer.h"

#define WEIR__URL_MAX      8192u
#define WEIR__URL_HOST_MAX 256u /* with NUL */
#define WEIR__URL_USER_MAX 1024u

struct weir__url {
    bool is_https;
    bool has_user;
    uint16_t port;                 /* that of the scheme when none is written */
    char host[WEIR__URL_HOST_MAX]; /* lower case; an address of IPv6 with its brackets */
    const char *user;              /* up to '@', percent-encoded, with the password */
    size_t user_length;
    const char *target; /* path and query; may be empty or begin with '?' */
    size_t target_length;
};

/* Whether the text begins with http:// or https://, in letters of any case. */
bool weir__url_is_one(const char *text);

/* 0 or Invalid, and why: lower case, to stand behind "it ". */
WEIR_MUST_USE int weir__url_parse(struct weir__url *ret_url, const char *text,
                                  const char **ret_why);

/* Appends the URL as it is asked for: without user and fragment, with a path. */
WEIR_MUST_USE int weir__url_put(const struct weir__url *url, struct weir__buffer *buffer);

/* Appends what may be shown of the text, a URL or not. */
WEIR_MUST_USE int weir__url_show(const char *text, struct weir__buffer *buffer);

/* User and password in plain, each ended by NUL; empty when there are none. */
void weir__url_user(const struct weir__url *url, char user[WEIR__URL_USER_MAX],
                    char password[WEIR__URL_USER_MAX]);

/* The same scheme, host and port. */
bool weir__url_is_same_origin(const struct weir__url *a, const struct weir__url *b);

#endif
