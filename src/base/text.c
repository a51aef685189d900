/* text.c - UTF-8 and escapes. */
#include "text.h"

#include <stdio.h>
#include <string.h>

#include "banned.h"

size_t weir__text_utf8_length(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool is_overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool is_outside = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return is_overlong || is_outside ? 0 : length;
}

/* The C1 controls, which some terminals obey, are two bytes in UTF-8. */
static bool is_c1(const unsigned char *p)
{
    return p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0;
}

size_t weir__text_escape(char piece[WEIR__TEXT_PIECE_MAX], const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t length = *p ? weir__text_utf8_length(p, strnlen(text, 4)) : 0;
    if (*p == '\n' || *p == '\t') {
        snprintf(piece, WEIR__TEXT_PIECE_MAX, "\\%c", *p == '\n' ? 'n' : 't');
    } else if (length == 2 && is_c1(p)) {
        snprintf(piece, WEIR__TEXT_PIECE_MAX, "\\x%02x", (unsigned)p[1]);
    } else if (*p && (length == 0 || *p < ' ' || *p == 0x7f)) {
        snprintf(piece, WEIR__TEXT_PIECE_MAX, "\\x%02x", (unsigned)*p);
        length = 1;
    } else {
        memcpy(piece, text, length);
        piece[length] = '\0';
    }
    return length;
}

bool weir__text_find_user(const char *text, size_t length, const char *ends, size_t *ret_from,
                          size_t *ret_until)
{
    const char *sign = memrchr(text, '@', length);
    if (sign) {
        *ret_from = 0;
        *ret_until = (size_t)(sign - text);
        return true;
    }
    size_t host = strcspn(text, ends), name = 0;
    host = host < length ? host : length;
    if (text[0] == '[') /* an address of IPv6 */
        name = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
    name = name < host && text[name] == ']' ? name : 0;
    const char *colon = memchr(text + name, ':', host - name);
    size_t from = colon ? (size_t)(colon - text) + 1 : host;
    if (strspn(text + from, "0123456789") >= host - from)
        return false; /* a port, or nothing */
    *ret_from = from;
    *ret_until = host;
    return true;
}

bool weir__text_find_user_before_path(const char *text, size_t length, size_t *ret_from,
                                      size_t *ret_until)
{
    size_t host = strcspn(text, "/?#");
    host = host < length ? host : length;
    bool has_user = weir__text_find_user(text, host, "/?#", ret_from, ret_until);
    return has_user && memchr(text, '@', host) == NULL
               ? weir__text_find_user(text, length, "/?#", ret_from, ret_until)
               : has_user;
}
