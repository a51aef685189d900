/* target.c - what a request asks for: taken apart, decoded once, in place.
 *
 *     /path?query              what clients send
 *     http://host/path?query   what proxies send; its host takes the place of the Host header
 */
#include <string.h>
#include <strings.h>

#include <weir/error.h>

#include "head.h"
#include "server.h"

#include "banned.h"

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that "%xx" stands for, or -1. */
static int unescape(const char *at, size_t left)
{
    int high = left >= 3 ? digit_of(at[1]) : -1, low = left >= 3 ? digit_of(at[2]) : -1;
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* A segment of the path as it is decoded. */
static const char *check_segment(const char *segment, size_t length, bool is_last)
{
    if (length == 0 && !is_last)
        return "a segment of the path is empty";
    if ((length == 1 && segment[0] == '.') ||
        (length == 2 && segment[0] == '.' && segment[1] == '.'))
        return "a segment of the path is '.' or '..'";
    return NULL;
}

/* path begins with a slash. What it becomes is never longer, so that it can lie where it was. */
static const char *decode(char *path, size_t length)
{
    size_t to = 0, segment = 1;
    const char *why = NULL;
    for (size_t from = 0; from < length && !why; from++) {
        int byte = (unsigned char)path[from];
        if (byte == '%') {
            byte = unescape(path + from, length - from);
            from += 2;
            if (byte < 0)
                return "an escape in the path is not one";
            if (byte == '/' || byte == '\\')
                return "a slash in the path is escaped";
        } else if (byte == '/' && from > 0) {
            why = check_segment(path + segment, to - segment, false);
            segment = to + 1;
        }
        if (byte < 0x20 || byte == 0x7f)
            return "there is a control character in the path";
        path[to++] = (char)byte;
    }
    path[to] = '\0';
    return why ? why : check_segment(path + segment, to - segment, true);
}

int weir__query_decode(char *ret_text, size_t size, const char *part, size_t length)
{
    size_t to = 0;
    for (size_t from = 0; from < length; from++) {
        int byte = (unsigned char)part[from];
        if (byte == '%') {
            byte = unescape(part + from, length - from);
            from += 2;
        }
        if (byte <= 0)
            return -WEIR_E_INVALID;
        if (to + 1 >= size)
            return -WEIR_E_TOO_LARGE;
        ret_text[to++] = (char)byte;
    }
    ret_text[to] = '\0';
    return 0;
}

static bool takes(const char **at, const char *end, const char *word)
{
    size_t length = strlen(word);
    bool is_it = (size_t)(end - *at) >= length && strncasecmp(*at, word, length) == 0;
    *at += is_it ? length : 0;
    return is_it;
}

/* Moves the authority one byte to the left, over a slash, so that there is room for its NUL. */
static const char *take_host(struct weir__head *head, char *base, const char *from,
                             const char *until)
{
    size_t length = (size_t)(until - from);
    if (length == 0)
        return "the URL has no host";
    for (const char *c = from; c < until; c++)
        if (strchr("@\\\"<>^`{|}", *c))
            return "the host of the URL is not one";
    memmove(base + (from - base) - 1, from, length);
    base[until - base - 1] = '\0';
    head->host = (uint16_t)(from - base - 1);
    return NULL;
}

const char *weir__target_parse(struct weir__head *head, char *base)
{
    char *url = base + head->url_at, *end = url + head->url_length;
    const char *at = url;
    static const char nothing[] = "the URL is not a path";
    if (memchr(url, '#', head->url_length))
        return "there is a '#' in the URL";
    if (*at != '/') {
        if (!takes(&at, end, "http://") && !takes(&at, end, "https://"))
            return nothing;
        const char *until = at;
        while (until < end && *until != '/' && *until != '?')
            until++;
        const char *why = take_host(head, base, at, until);
        if (why)
            return why;
        at = until;
        if (at == end) /* "http://host" asks for "/", which may lie where the version was */
            *end++ = '/';
        if (*at != '/')
            return nothing;
    }
    char *path = base + (at - base);
    char *mark = memchr(path, '?', (size_t)(end - path));
    char *path_end = mark ? mark : end;
    *end = '\0';
    head->path = (uint16_t)(path - base);
    head->query = (uint16_t)((mark ? mark + 1 : end) - base);
    return decode(path, (size_t)(path_end - path));
}
