/* reach.c - addresses that may be connected to; for comparing all of them are of IPv6. */
#include "reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "address_text.h"

#include "banned.h"

#define MAPPED_BITS 96u

struct block {
    unsigned char bytes[16];
    unsigned bits;
};

/* clang-format off */
static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* What of IPv4 is not the open Internet (RFC 6890 and its successors). */
static const struct { unsigned char bytes[4]; unsigned bits; } closed_four[] = {
    {{0, 0, 0, 0}, 8},       /* this network, unspecified */
    {{10, 0, 0, 0}, 8},      /* private */
    {{100, 64, 0, 0}, 10},   /* shared by customers of a provider */
    {{127, 0, 0, 0}, 8},     /* loopback */
    {{169, 254, 0, 0}, 16},  /* link-local, where clouds keep their secrets */
    {{172, 16, 0, 0}, 12},   /* private */
    {{192, 0, 0, 0}, 24},    /* protocol assignments */
    {{192, 0, 2, 0}, 24},    /* documentation */
    {{192, 88, 99, 0}, 24},  /* relays of 6to4 */
    {{192, 168, 0, 0}, 16},  /* private */
    {{198, 18, 0, 0}, 15},   /* benchmarks */
    {{198, 51, 100, 0}, 24}, /* documentation */
    {{203, 0, 113, 0}, 24},  /* documentation */
    {{224, 0, 0, 0}, 3},     /* multicast, reserved, broadcast */
};

/* Of IPv6 only 2000::/3 is given out, and these parts of it are something else. */
static const struct block open_six = {{0x20}, 3};
static const struct block closed_six[] = {
    {{0x20, 0x01, 0x00}, 23},             /* protocol assignments, Teredo */
    {{0x20, 0x01, 0x0d, 0xb8}, 32},       /* documentation */
    {{0x20, 0x02}, 16},                   /* 6to4: an address of IPv4 in another form */
    {{0x3f, 0xff, 0x00}, 20},             /* documentation */
};
/* clang-format on */

static bool has_prefix(const unsigned char *bytes, const unsigned char *prefix, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(bytes, prefix, whole) == 0 &&
           (rest == 0 || ((bytes[whole] ^ prefix[whole]) >> (8 - rest)) == 0);
}

static bool is_open(const unsigned char bytes[16])
{
    if (memcmp(bytes, mapped, sizeof(mapped)) == 0) {
        for (size_t i = 0; i < sizeof(closed_four) / sizeof(closed_four[0]); i++)
            if (has_prefix(bytes + 12, closed_four[i].bytes, closed_four[i].bits))
                return false;
        return true;
    }
    if (!has_prefix(bytes, open_six.bytes, open_six.bits))
        return false;
    for (size_t i = 0; i < sizeof(closed_six) / sizeof(closed_six[0]); i++)
        if (has_prefix(bytes, closed_six[i].bytes, closed_six[i].bits))
            return false;
    return true;
}

static int parse(const char *text, unsigned char bytes[16], unsigned *ret_bits)
{
    char copy[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "/");
    if (weir__network_check(text) || length >= sizeof(copy))
        return -WEIR_E_INVALID;
    memcpy(copy, text, length);
    copy[length] = '\0';
    bool is_four = inet_pton(AF_INET, copy, bytes + 12) == 1;
    if (is_four)
        memcpy(bytes, mapped, sizeof(mapped));
    else if (inet_pton(AF_INET6, copy, bytes) != 1)
        return -WEIR_E_INVALID;
    unsigned bits = text[length] ? (unsigned)strtoul(text + length + 1, NULL, 10)
                    : is_four    ? 32
                                 : 128;
    *ret_bits = bits + (is_four ? MAPPED_BITS : 0);
    return 0;
}

int weir__reach_init(struct weir__reach *ret_reach, const char *const *allowed,
                     size_t allowed_count)
{
    struct weir__reach reach = {0};
    if (allowed_count > WEIR__REACH_ALLOWED_MAX)
        return -WEIR_E_TOO_LARGE;
    for (size_t i = 0; i < allowed_count; i++) {
        int result = parse(allowed[i], reach._allowed[i].bytes, &reach._allowed[i].bits);
        if (result < 0)
            return result;
    }
    reach._allowed_count = allowed_count;
    *ret_reach = reach;
    return 0;
}

bool weir__reach_has(const struct weir__reach *reach, const struct sockaddr *address, size_t length)
{
    unsigned char bytes[16];
    if (address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        memcpy(bytes, mapped, sizeof(mapped));
        memcpy(bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else if (address->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    } else {
        return false;
    }
    for (size_t i = 0; i < reach->_allowed_count; i++)
        if (has_prefix(bytes, reach->_allowed[i].bytes, reach->_allowed[i].bits))
            return true;
    return is_open(bytes);
}
