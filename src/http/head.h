/* head.h - the head of a request: read by llhttp, checked by us, kept as places in the input.
 *
 * The bytes lie in one buffer of the caller's, from its beginning, and are fed as they come. When
 * the head is whole its texts are ended with NULs and the path is decoded, both in place.
 *
 * Promises: the outcome does not depend on how the bytes were cut. Refused, with the status that
 * stands here, is
 *   400  what is not HTTP; a line that does not end with CR LF; a control character; a folded
 *        header; a header without a name or with a space in front of the colon; several spaces in
 *        the first line; Content-Length twice, with Transfer-Encoding, or other than 1 to 18
 *        digits; Transfer-Encoding twice, on HTTP/1.0, or other than "chunked"; no Host on 1.1, two
 *        Hosts, or one with characters that no host has; in the path: a bad escape, an escaped
 *        slash, NUL or control, a segment "." or "..", an empty one that is not the last; '#'
 *   414  a URL above url_max
 *   431  more than headers_max headers, a head above head_max
 *   501  a method other than GET, HEAD, PUT, POST and DELETE
 *   505  a version other than 1.0 and 1.1
 * llhttp accepts some of these (8.1: empty names, folds, "gzip, chunked", two spaces), which is why
 * we look again.
 *
 * Ownership: the head owns nothing; it refers to the caller's buffer by offsets.
 */
#ifndef WEIR_HTTP_HEAD_H
#define WEIR_HTTP_HEAD_H

#include "client.h"

#define WEIR__HEAD_FIELDS_MAX 64u
#define WEIR__HEAD_NONE       UINT16_MAX /* of a field: it is not there */

struct weir__head_limits {
    uint32_t head_max, url_max, headers_max;
};

/* Places in the buffer. */
struct weir__head_field {
    uint16_t name, name_length;
    uint16_t value, value_length;
};

struct weir__head {
    uint64_t _parser[16]; /* llhttp's; head.c asserts that it is enough */
    const struct weir__head_limits *limits;
    const char *base; /* of the buffer, while it is fed */
    uint32_t fed;     /* bytes that llhttp has seen */
    uint32_t length;  /* of the head, when it is whole */
    uint16_t method_at, method_length;
    uint16_t url_at, url_length;
    uint16_t count;  /* of fields */
    bool is_over;    /* there is one more than may be */
    bool is_ended;   /* the last field has its value */
    unsigned status; /* 0, or with what it is refused */
    const char *why;

    /* What it says, when it is whole. */
    enum weir__http_method method;
    bool is_http10;
    bool keeps_alive;
    bool expects_continue;
    bool is_chunked;
    bool has_length;            /* it says so, or that it is chunked */
    uint64_t body_length;       /* UINT64_MAX: chunked */
    uint16_t path, query, host; /* places of texts; host may be WEIR__HEAD_NONE */
    uint16_t corr, forwarded;   /* numbers of fields; of the last X-Forwarded-For */
    struct weir__head_field fields[WEIR__HEAD_FIELDS_MAX];
};

void weir__head_init(struct weir__head *head, const struct weir__head_limits *limits);

/* The buffer has length bytes by now; those of earlier calls have not changed, though they may have
 * moved. 1: the head is whole. 0: more is needed. Negative: refused, see status and why. */
WEIR_MUST_USE int weir__head_feed(struct weir__head *head, char *base, size_t length);

/* The number of the first field of that name, or WEIR__HEAD_NONE. */
uint16_t weir__head_find(const struct weir__head *head, const char *base, const char *name);

/* --- target.c --- */
/* Takes apart what was asked for and decodes it in place: sets path, query, and host where the
 * target has one. NULL, or why not. */
const char *weir__target_parse(struct weir__head *head, char *base);

#endif
