/* url.c - URLs, strictly. */
#include "url.h"

#include <string.h>

#include <weir/error.h>

#include "text.h"

#include "banned.h"

#define HIDDEN "***"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    c = lower(c);
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* How long the scheme is with its "://"; 0: it is another one. */
static size_t scheme_length(const char *text, bool *ret_is_https)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < 2; i++) {
        size_t at = 0;
        while (schemes[i][at] != '\0' && lower(text[at]) == schemes[i][at])
            at++;
        if (schemes[i][at] == '\0') {
            *ret_is_https = i == 1;
            return at;
        }
    }
    return 0;
}

bool weir__url_is_one(const char *text)
{
    bool is_https;
    return scheme_length(text, &is_https) > 0;
}

/* --- taking apart --- */

static const char *check_bytes(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
            return "has a space or a control character in it: write that percent-encoded, as %20";
    return NULL;
}

/* One byte of an encoded text. False: it is encoded badly, or a control character. */
static bool decode_byte(const char *text, size_t left, char *ret_byte, size_t *ret_used)
{
    char byte = text[0];
    size_t used = 1;
    if (byte == '%') {
        int high = left > 2 ? hex_value(text[1]) : -1, low = left > 2 ? hex_value(text[2]) : -1;
        if (high < 0 || low < 0)
            return false;
        byte = (char)(high * 16 + low);
        used = 3;
    }
    if ((unsigned char)byte < ' ' || byte == 0x7f)
        return false;
    *ret_byte = byte;
    *ret_used = used;
    return true;
}

static const char *check_user(const char *text, size_t length)
{
    size_t used;
    char byte;
    if (length >= WEIR__URL_USER_MAX)
        return "has a user or a password that is too long";
    for (size_t at = 0; at < length; at += used)
        if (!decode_byte(text + at, length - at, &byte, &used))
            return "has a user or a password that is not encoded well";
    return NULL;
}

static bool is_host_byte(char c, bool is_address)
{
    if (is_address)
        return hex_value(c) >= 0 || c == ':' || c == '.';
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' || c == '.' || c == '_';
}

/* The host without its port; how long it is, or 0: there is none, or it is none. */
static size_t host_length(const char *text, size_t length)
{
    size_t at = 0;
    if (length > 0 && text[0] == '[') {
        for (at = 1; at < length && is_host_byte(text[at], true); at++)
            ;
        return at > 2 && at < length && text[at] == ']' ? at + 1 : 0;
    }
    while (at < length && is_host_byte(text[at], false))
        at++;
    return at;
}

static const char *parse_authority(struct weir__url *url, const char *text, size_t length)
{
    size_t host = host_length(text, length);
    if (host == 0 || host >= WEIR__URL_HOST_MAX || (host < length && text[host] != ':'))
        return "has no host that is one: letters, digits, '-', '.' and '_', or an address; names "
               "in "
               "other scripts in their form with 'xn--'";
    for (size_t i = 0; i < host; i++)
        url->host[i] = lower(text[i]);
    url->host[host] = '\0';
    url->port = url->is_https ? 443 : 80;
    if (host == length)
        return NULL;
    unsigned port = 0;
    size_t digits = 0;
    for (size_t i = host + 1; i < length && is_digit(text[i]) && port <= 65535; i++, digits++)
        port = port * 10 + (unsigned)(text[i] - '0');
    if (port == 0 || port > 65535 || digits != length - host - 1)
        return "has a port that is not a number from 1 to 65535";
    url->port = (uint16_t)port;
    return NULL;
}

int weir__url_parse(struct weir__url *ret_url, const char *text, const char **ret_why)
{
    struct weir__url url = {0};
    const char *why = NULL;
    size_t scheme = scheme_length(text, &url.is_https), length = strnlen(text, WEIR__URL_MAX + 1);
    const char *rest = text + scheme;
    if (scheme == 0)
        why = "does not begin with http:// or https://";
    else if (length > WEIR__URL_MAX)
        why = "is longer than 8192 bytes";
    else
        why = check_bytes(text, length);
    if (!why) {
        size_t authority = strcspn(rest, "/?#"), user = authority;
        while (user > 0 && rest[user - 1] != '@')
            user--;
        url.has_user = user > 0;
        url.user = rest;
        url.user_length = user > 0 ? user - 1 : 0;
        url.target = rest + authority;
        url.target_length = strcspn(url.target, "#");
        why = check_user(url.user, url.user_length);
        if (!why)
            why = parse_authority(&url, rest + user, authority - user);
    }
    if (why) {
        *ret_why = why;
        return -WEIR_E_INVALID;
    }
    *ret_url = url;
    return 0;
}

void weir__url_user(const struct weir__url *url, char user[WEIR__URL_USER_MAX],
                    char password[WEIR__URL_USER_MAX])
{
    char *to = user;
    size_t length = 0, used;
    user[0] = password[0] = '\0';
    for (size_t at = 0; at < url->user_length; at += used) {
        char byte;
        if (to == user && url->user[at] == ':') {
            to[length] = '\0';
            to = password;
            length = 0;
            used = 1;
        } else if (decode_byte(url->user + at, url->user_length - at, &byte, &used)) {
            to[length++] = byte;
        } else {
            break; /* parsing has looked at all of it */
        }
    }
    to[length] = '\0';
}

bool weir__url_is_same_origin(const struct weir__url *a, const struct weir__url *b)
{
    return a->is_https == b->is_https && a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* --- putting together --- */

static int put_origin(const struct weir__url *url, struct weir__buffer *buffer)
{
    bool is_plain = url->port == (url->is_https ? 443 : 80);
    int result =
        weir__buffer_printf(buffer, "%s://%s", url->is_https ? "https" : "http", url->host);
    return result < 0 || is_plain ? result : weir__buffer_printf(buffer, ":%u", url->port);
}

int weir__url_put(const struct weir__url *url, struct weir__buffer *buffer)
{
    int result = put_origin(url, buffer);
    if (result == 0 && (url->target_length == 0 || url->target[0] != '/'))
        result = weir__buffer_putc(buffer, '/');
    for (size_t i = 0; i < url->target_length && result == 0; i++) {
        unsigned char byte = (unsigned char)url->target[i];
        result = byte < 0x80 ? weir__buffer_putc(buffer, (char)byte)
                             : weir__buffer_printf(buffer, "%%%02X", byte);
    }
    return result;
}

/* --- showing --- */

/* name=value&name: names stay, values do not, and what has no name is a value. */
static int show_query(const char *query, size_t length, struct weir__buffer *buffer)
{
    int result = 0;
    for (size_t at = 0; at <= length && result == 0;) {
        const char *item = query + at;
        const char *end = memchr(item, '&', length - at);
        size_t item_length = end ? (size_t)(end - item) : length - at;
        const char *sign = memchr(item, '=', item_length);
        size_t name = sign ? (size_t)(sign - item) + 1 : 0;
        result = weir__buffer_append(buffer, item, name);
        if (result == 0 && name < item_length)
            result = weir__buffer_puts(buffer, HIDDEN);
        if (result == 0 && end)
            result = weir__buffer_putc(buffer, '&');
        at += item_length + 1;
    }
    return result;
}

static int show_target(const struct weir__url *url, struct weir__buffer *buffer)
{
    const char *mark = url->target_length > 0 ? memchr(url->target, '?', url->target_length) : NULL;
    size_t path = mark ? (size_t)(mark - url->target) : url->target_length;
    int result =
        path == 0 ? weir__buffer_putc(buffer, '/') : weir__buffer_append(buffer, url->target, path);
    if (result < 0 || !mark)
        return result;
    result = weir__buffer_putc(buffer, '?');
    return result < 0 ? result : show_query(mark + 1, url->target_length - path - 1, buffer);
}

/* Nobody knows where a password would end in this. */
static int show_strange(const char *text, struct weir__buffer *buffer)
{
    bool is_https;
    size_t scheme = scheme_length(text, &is_https), from = 0, until = 0;
    const char *rest = text + scheme;
    bool has_user = weir__text_find_user(rest, strlen(rest), "/?#", &from, &until);
    int result = weir__buffer_append(buffer, text, scheme);
    if (has_user && from == 0) {
        rest += until + 1;
    } else if (has_user && result == 0) {
        result = weir__buffer_append(buffer, rest, from);
        rest += until;
        if (result == 0)
            result = weir__buffer_puts(buffer, HIDDEN);
    }
    size_t shown = strcspn(rest, "?#");
    if (result == 0)
        result = weir__buffer_append(buffer, rest, shown);
    return result < 0 || rest[shown] == '\0' ? result : weir__buffer_puts(buffer, "?" HIDDEN);
}

int weir__url_show(const char *text, struct weir__buffer *buffer)
{
    struct weir__url url;
    const char *why;
    size_t before = weir__buffer_length(buffer);
    int result = weir__url_parse(&url, text, &why);
    if (result < 0) {
        result = show_strange(text, buffer);
    } else {
        result = put_origin(&url, buffer);
        if (result == 0)
            result = show_target(&url, buffer);
    }
    if (result < 0)
        weir__buffer_truncate(buffer, before);
    return result;
}
