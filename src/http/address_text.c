/* address_text.c - texts that name an end of a connection. */
#include "address_text.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "banned.h"

#define HOST_MAX 253

static const char listen_form[] = "ADDRESS:PORT, [ADDRESS]:PORT for IPv6, or unix:PATH with a path "
                                  "of at most 107 bytes";
static const char network_form[] = "an address or a network, as 10.0.0.0/8, 192.0.2.1 or fd00::/8, "
                                   "without bits behind the prefix";
static const char host_form[] = "the name of a host without a port, as weir.example.org";
static const char origin_form[] = "http:// or https:// with a host and no path, as "
                                  "https://example.org";

/* A decimal number without signs, blanks or leading zeros. */
static bool is_number(const char *text, unsigned max, unsigned *ret_number)
{
    size_t length = strspn(text, "0123456789");
    unsigned number = 0;
    if (length == 0 || length > 5 || text[length] != '\0' || (text[0] == '0' && length > 1))
        return false;
    for (size_t i = 0; i < length; i++)
        number = number * 10 + (unsigned)(text[i] - '0');
    *ret_number = number;
    return number <= max;
}

/* The first length bytes as an address; its bytes are 4 or 16. */
static bool is_address(const char *text, size_t length, int family, unsigned char bytes[16])
{
    char copy[INET6_ADDRSTRLEN];
    if (length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return inet_pton(family, copy, bytes) == 1;
}

const char *weir__address_check(const char *text)
{
    unsigned char bytes[16];
    unsigned port;
    if (strncmp(text, "unix:", 5) == 0) {
        size_t length = strlen(text + 5);
        return length > 0 && length < sizeof(((struct sockaddr_un *)0)->sun_path) ? NULL
                                                                                  : listen_form;
    }
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !is_number(colon + 1, UINT16_MAX, &port))
        return listen_form;
    size_t length = (size_t)(colon - text);
    bool is_good = text[0] == '[' ? length > 2 && text[length - 1] == ']' &&
                                        is_address(text + 1, length - 2, AF_INET6, bytes)
                                  : is_address(text, length, AF_INET, bytes);
    return is_good ? NULL : listen_form;
}

const char *weir__network_check(const char *text)
{
    unsigned char bytes[16];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : strlen(text);
    bool is_four = is_address(text, length, AF_INET, bytes);
    if (!is_four && !is_address(text, length, AF_INET6, bytes))
        return network_form;
    unsigned width = is_four ? 32 : 128, bits = width;
    if (slash && !is_number(slash + 1, width, &bits))
        return network_form;
    for (unsigned i = bits; i < width; i++)
        if (bytes[i / 8] & (0x80u >> (i % 8)))
            return network_form;
    return NULL;
}

/* Labels of letters, digits and dashes with dots between them. */
static bool is_host(const char *text, size_t length)
{
    bool is_start = true;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool is_inner = !is_start && (c == '-' || c == '_' || (c == '.' && text[i - 1] != '-'));
        if (!is_plain && !is_inner)
            return false;
        is_start = c == '.';
    }
    return length > 0 && length <= HOST_MAX && !is_start && text[length - 1] != '-';
}

/* The same, or an address of IPv6 in brackets. */
static bool is_host_or_six(const char *text, size_t length)
{
    unsigned char bytes[16];
    if (length > 2 && text[0] == '[' && text[length - 1] == ']')
        return is_address(text + 1, length - 2, AF_INET6, bytes);
    return is_host(text, length);
}

const char *weir__host_check(const char *text)
{
    return is_host_or_six(text, strlen(text)) ? NULL : host_form;
}

const char *weir__origin_check(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    if (scheme == 0)
        return origin_form;
    const char *host = text + scheme, *colon = strrchr(host, ':'), *bracket = strrchr(host, ']');
    if (colon && bracket && colon < bracket)
        colon = NULL;
    unsigned port;
    if (colon && !is_number(colon + 1, UINT16_MAX, &port))
        return origin_form;
    return is_host_or_six(host, colon ? (size_t)(colon - host) : strlen(host)) ? NULL : origin_form;
}
