/* record_text.c - records as text, and the URLs that providers may name. */
#include <arpa/inet.h>
#include <string.h>

#include <weir/error.h>

#include "record.h"

#include "banned.h"

/* --- base64url --- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

_Static_assert((WEIR__RECORD_MAX * 4 + 2) / 3 < WEIR__RECORD_TEXT, "the longest one with NUL");

void weir__record_print(const struct weir__record_bytes *bytes, char text[WEIR__RECORD_TEXT])
{
    uint32_t bits = 0;
    unsigned count = 0;
    size_t used = 0;
    for (size_t i = 0; i < bytes->length; i++) {
        bits = (bits << 8 | bytes->bytes[i]) & 0x3fff;
        for (count += 8; count >= 6; count -= 6)
            text[used++] = digits[bits >> (count - 6) & 63];
    }
    if (count > 0)
        text[used++] = digits[bits << (6 - count) & 63];
    text[used] = '\0';
}

static int digit_value(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '-'             ? 62
           : c == '_'             ? 63
                                  : -1;
}

/* Bits that mean nothing must be zero, so that there is one text for each record. */
int weir__record_parse(const char *text, size_t length, struct weir__record_bytes *ret_bytes)
{
    struct weir__record_bytes bytes = {.length = 0};
    uint32_t bits = 0;
    unsigned count = 0;
    if (length == 0 || length % 4 == 1)
        return -WEIR_E_INVALID;
    if (length / 4 * 3 + length % 4 * 3 / 4 > WEIR__RECORD_MAX)
        return -WEIR_E_TOO_LARGE;
    for (size_t i = 0; i < length; i++) {
        int value = digit_value(text[i]);
        if (value < 0)
            return -WEIR_E_INVALID;
        bits = (bits << 6 | (uint32_t)value) & 0x3fff;
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        bytes.bytes[bytes.length++] = (unsigned char)(bits >> count);
    }
    if (bits & ((1u << count) - 1))
        return -WEIR_E_INVALID;
    *ret_bytes = bytes;
    return 0;
}

/* --- URLs --- */

#define HOST_MAX  253u
#define LABEL_MAX 63u

/* What may stand in a URL as it is; the rest has to be percent-encoded. */
static bool is_plain(char c)
{
    return c > ' ' && c < 0x7f && !strchr("\"<>\\^`{|}#", c);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

static bool is_literal_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
}

static bool is_address(int family, const char *text, size_t length)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];
    if (length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return inet_pton(family, copy, bytes) == 1;
}

/* Labels as the DNS has them, and a dot behind the last one if somebody likes. A name whose last
 * label is a number would be read as an address, so it has to be one. */
static bool is_name(const char *text, size_t length)
{
    size_t label = length > 1 && text[length - 1] == '.' ? length - 1 : length, end = label;
    if (end == 0 || end > HOST_MAX)
        return false;
    while (label > 0 && text[label - 1] != '.')
        label--;
    if (strspn(text + label, "0123456789") >= end - label)
        return is_address(AF_INET, text, length);
    for (size_t at = 0, from = 0; at <= end; at++) {
        if (at < end && text[at] != '.')
            continue;
        if (at == from || at - from > LABEL_MAX || text[from] == '-' || text[at - 1] == '-')
            return false;
        from = at + 1;
    }
    return true;
}

/* Where the host ends, or NULL: there is none, or it is neither an address nor a name. One of IPv6
 * has brackets around it. */
static const char *skip_host(const char *at, const char *end)
{
    const char *from = at;
    if (at < end && *at == '[') {
        for (at++; at < end && is_literal_char(*at); at++)
            ;
        bool is_whole = at < end && *at == ']';
        return is_whole && is_address(AF_INET6, from + 1, (size_t)(at - from - 1)) ? at + 1 : NULL;
    }
    while (at < end && is_host_char(*at))
        at++;
    return is_name(from, (size_t)(at - from)) ? at : NULL;
}

static bool is_port(const char *at, const char *end)
{
    unsigned long port = 0;
    if (at == end || end - at > 5 || *at == '0')
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        port = port * 10 + (unsigned long)(*at - '0');
    }
    return port <= 65535;
}

const char *weir__provider_url_check(const char *url)
{
    size_t length = strnlen(url, WEIR__PROVIDER_URL_MAX + 1);
    const char *end = url + length;
    if (length > WEIR__PROVIDER_URL_MAX)
        return "it has more than 255 bytes";
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : NULL;
    if (!host)
        return "it does not begin with http:// or https://";
    for (const char *at = host; at < end; at++) {
        if (!is_plain(*at))
            return "it has a character that has to be percent-encoded, or a fragment";
        if (*at == '%' && (end - at < 3 || !is_hex(at[1]) || !is_hex(at[2])))
            return "it has a '%' without two hexadecimal digits behind it";
    }
    const char *rest = host + strcspn(host, "/?");
    if (memchr(host, '@', (size_t)(rest - host)))
        return "it has a user or a password in it";
    const char *port = skip_host(host, rest);
    if (!port || (port < rest && *port != ':'))
        return "its host is none: a name in lower case, or an address";
    if (port < rest && !is_port(port + 1, rest))
        return "its port is none: 1 to 65535";
    return NULL;
}
