/* caveat.h - what a capability allows, in words, and whether a request is within it.
 *
 *     expires < 2026-12-01T00:00:00Z
 *     method in GET,HEAD
 *     path under /o/
 *     client in 10.0.0.0/8,::1/128
 *     body <= 65536
 *     scope in read,write              (scope = read, for one)
 *
 * Promises
 * - Strict: one space, no other spelling, no item twice, numbers without zeros in front, networks
 *   without bits behind their prefix. Whatever is not one of these exactly is Invalid, and who
 *   checks a capability then says no: a caveat that is not understood cannot be known to hold.
 * - A caveat only ever takes away. Several of one kind all hold.
 * - Paths are compared by their segments, decoded: /o covers /o and /o/x, and not /other. A path
 *   with a segment "." or "..", an empty one or a control character is under nothing.
 * - An address of IPv4 that comes in the clothes of IPv6 (::ffff:1.2.3.4) is one of IPv4. A client
 *   without an address (a socket of Unix) is in no network.
 *
 * Scopes: read (GET and HEAD of objects), write (uploads), delete, admin (everything below /admin),
 * peer (what nodes ask each other). None has another in it.
 *
 * Limits: lists have WEIR__CAVEAT_ITEMS items. Linear time; nothing allocates or waits.
 *
 * Ownership: a caveat points into the text that it was read from.
 */
#ifndef WEIR_HTTP_CAVEAT_H
#define WEIR_HTTP_CAVEAT_H

#include <weir/defs.h>

struct sockaddr;

#define WEIR__CAVEAT_ITEMS 16u
#define WEIR__BODY_UNKNOWN UINT64_MAX

/* Bits. */
enum weir__scope {
    WEIR__SCOPE_READ = 1,
    WEIR__SCOPE_WRITE = 2,
    WEIR__SCOPE_DELETE = 4,
    WEIR__SCOPE_ADMIN = 8,
    WEIR__SCOPE_PEER = 16
};

enum weir__caveat_kind {
    WEIR__CAVEAT_EXPIRES,
    WEIR__CAVEAT_METHOD,
    WEIR__CAVEAT_PATH,
    WEIR__CAVEAT_CLIENT,
    WEIR__CAVEAT_BODY,
    WEIR__CAVEAT_SCOPE
};

struct weir__network {
    unsigned char bytes[16];
    unsigned bits;
    bool is_v4; /* then four bytes count */
};

struct weir__caveat {
    enum weir__caveat_kind kind;
    int64_t expires_s;
    unsigned methods; /* bits, by their place in the table */
    unsigned scopes;
    uint64_t body_max;
    const char *path;
    size_t path_length; /* without a slash at the end; 0: everything */
    struct weir__network networks[WEIR__CAVEAT_ITEMS];
    size_t networks_count;
};

/* 0 or Invalid. */
WEIR_MUST_USE int weir__caveat_parse(struct weir__caveat *ret_caveat, const char *text,
                                     size_t length);

/* What somebody wants to do. */
struct weir__token_request {
    const char *method;
    const char *path; /* decoded, without query */
    size_t path_length;
    const struct sockaddr *client; /* NULL: it has no address */
    uint64_t body_bytes;           /* as said so far, or WEIR__BODY_UNKNOWN: then body_max of the
                                    * grant must be kept to while it comes */
    enum weir__scope scope;        /* the one that is needed */
    int64_t now_s;                 /* weir_wall_s() */
};

/* NULL: it is within the caveat; else why not, to stand behind "the capability ". */
const char *weir__caveat_refusal(const struct weir__caveat *caveat,
                                 const struct weir__token_request *request);

/* One address, or a network, as a network in a caveat is written: "10.0.0.1" is 10.0.0.1/32. 0 or
 * Invalid. */
#define WEIR__NETWORK_TEXT_SIZE 64
WEIR_MUST_USE int weir__network_write(char text[WEIR__NETWORK_TEXT_SIZE], const char *given);

#endif
