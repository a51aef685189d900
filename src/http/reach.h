/* reach.h - which addresses a client may connect to, when URLs come from strangers.
 *
 * Without exceptions an address is within reach if it is one of the open Internet: not this
 * machine, not the link, not a private or shared network, no multicast, nothing reserved. An
 * address of IPv4 that is written as one of IPv6 is judged as what it is. Exceptions are networks
 * that somebody has allowed by name.
 *
 * Promises: pure; nothing is looked up, allocated or waited for. It is asked with the address that
 * is about to be connected to, so a name that means something else each time gains nothing.
 *
 * Ownership: a reach is a value.
 */
#ifndef WEIR_HTTP_REACH_H
#define WEIR_HTTP_REACH_H

#include <sys/socket.h>

#include <weir/defs.h>

#define WEIR__REACH_ALLOWED_MAX 64u /* what a list of the configuration may have */

struct weir__reach {
    struct {
        unsigned char bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
        unsigned bits;
    } _allowed[WEIR__REACH_ALLOWED_MAX];
    size_t _allowed_count;
};

/* allowed: networks as weir__network_check() has them. Invalid: one of them is none; TooLarge. */
WEIR_MUST_USE int weir__reach_init(struct weir__reach *ret_reach, const char *const *allowed,
                                   size_t allowed_count);

/* False also for what is no address of IPv4 or IPv6. */
bool weir__reach_has(const struct weir__reach *reach, const struct sockaddr *address,
                     size_t length);

#endif
