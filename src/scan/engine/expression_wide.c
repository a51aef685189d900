/* expression_wide.c - expressions about characters, for a library that looks at bytes.
 *
 * Hyperscan could read them as UTF-8, but only in texts that are UTF-8 throughout. So it is given
 * an expression about bytes that matches at least as much: whatever may be beyond ASCII becomes one
 * to four bytes that are. PCRE2 then looks at each place with the expression as it was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "expression.h"

#include "banned.h"

#define ANY_CHARACTER "(?:[\\x00-\\x7f]|[\\x80-\\xff]{1,4})"
#define ANY_END       "(?:\\r\\n|[\\n-\\r]|[\\x80-\\xff]{1,4})" /* of a line */
#define GROWTH        40u /* no byte becomes more than so many */
_Static_assert(sizeof(ANY_CHARACTER) < GROWTH && sizeof(ANY_END) < GROWTH, "it fits");

struct widening {
    const char *at;
    char *out;
    size_t length;
    bool is_caseless; /* somewhere */
    bool is_ucp;      /* \w and the like are about all characters */
};

static void put(struct widening *w, const char *text)
{
    size_t length = strlen(text);
    memcpy(w->out + w->length, text, length + 1);
    w->length += length;
}

static void copy(struct widening *w, size_t length)
{
    memcpy(w->out + w->length, w->at, length);
    w->length += length;
    w->out[w->length] = '\0';
    w->at += length;
}

static size_t character_length(const char *at)
{
    size_t length = 1;
    while ((unsigned char)*at > 0x7f && ((unsigned char)at[length] & 0xc0) == 0x80)
        length++;
    return length;
}

/* --- whether it is one --- */

static bool is_number_beyond(const char *at, int base)
{
    return *at == '{' && strtoul(at + 1, NULL, base) > 0xff;
}

bool weir__expression_is_wide(const char *text)
{
    for (const char *at = text; *at; at++) {
        if ((unsigned char)*at > 0x7f)
            return true;
        if (*at == '(' && at[1] == '*' &&
            (strncmp(at + 2, "UTF", 3) == 0 || strncmp(at + 2, "UCP", 3) == 0))
            return true;
        if (*at != '\\' || at[1] == '\0')
            continue;
        at++;
        if (*at == 'p' || *at == 'P' || (*at == 'N' && strncmp(at + 1, "{U+", 3) == 0) ||
            (*at == 'x' && is_number_beyond(at + 1, 16)) ||
            (*at == 'o' && is_number_beyond(at + 1, 8)))
            return true;
    }
    return false;
}

/* --- classes --- */

/* Where a class ends, behind its '['; NULL: nowhere. *ret_is_plain: nothing in it is beyond ASCII,
 * however it is given. */
static const char *class_end(const struct widening *w, const char *at, bool *ret_is_plain)
{
    bool is_first = true;
    *ret_is_plain = *at != '^';
    at += *at == '^';
    for (; *at && (*at != ']' || is_first); is_first = false) {
        if (*at == '\\') {
            if (!at[1] || at[1] == 'Q' || at[1] == 'E')
                return NULL;
            *ret_is_plain &= strchr("pPDWSHVhvxo0123456789cN", at[1]) == NULL &&
                             (!w->is_ucp || !strchr("wds", at[1]));
            at += 2;
        } else if (*at == '[' && at[1] == ':') {
            size_t name = strspn(at + 2, "^abcdefghijklmnopqrstuvwxyz");
            bool is_named = at[2 + name] == ':' && at[3 + name] == ']';
            *ret_is_plain &= !is_named || (!w->is_ucp && at[2] != '^');
            at += is_named ? name + 4 : 1;
        } else {
            *ret_is_plain &= (unsigned char)*at <= 0x7f;
            at++;
        }
    }
    return *at ? at + 1 : NULL;
}

static int widen_class(struct widening *w)
{
    bool is_plain;
    const char *end = class_end(w, w->at + 1, &is_plain);
    if (!end || strncmp(w->at, "[[:<:]]", 7) == 0 || strncmp(w->at, "[[:>:]]", 7) == 0)
        return -WEIR_E_INVALID;
    if (is_plain && !w->is_caseless)
        copy(w, (size_t)(end - w->at));
    else
        put(w, ANY_CHARACTER);
    w->at = end;
    return 0;
}

/* --- escapes --- */

static const char *behind_braces(const char *at)
{
    const char *end = *at == '{' ? strchr(at, '}') : NULL;
    return end ? end + 1 : at;
}

static int widen_escape(struct widening *w)
{
    char kind = w->at[1];
    if (!kind || kind == 'Q' || kind == 'E' || (unsigned char)kind > 0x7f)
        return -WEIR_E_INVALID;
    if (kind == 'p' || kind == 'P') {
        const char *end = behind_braces(w->at + 2);
        w->at = end > w->at + 2 || !*end ? end : end + 1;
        put(w, ANY_CHARACTER);
    } else if (kind == 'x' || kind == 'o' || kind == '0' || kind == 'N' || kind == 'c') {
        const char *from = w->at + 2, *end = behind_braces(from);
        if (kind == 'N' && strncmp(from, "{U+", 3) != 0)
            end = from;
        else if (kind == 'x' && end == from)
            end += strspn(from, "0123456789abcdefABCDEF") > 1
                       ? 2
                       : strspn(from, "0123456789abcdefABCDEF");
        else if (kind == '0')
            end += strspn(from, "01234567") > 1 ? 2 : strspn(from, "01234567");
        else if (kind == 'c')
            end += *end != '\0';
        w->at = end;
        put(w, ANY_CHARACTER);
    } else if (strchr("DWSHVhv", kind) || (w->is_ucp && strchr("wds", kind))) {
        w->at += 2;
        put(w, ANY_CHARACTER);
    } else if (kind == 'R') {
        w->at += 2;
        put(w, ANY_END);
    } else if ((kind >= '1' && kind <= '9') || strchr("kgXCKG", kind) ||
               (w->is_ucp && (kind == 'b' || kind == 'B'))) {
        return -WEIR_E_INVALID;
    } else {
        copy(w, 2);
    }
    return 0;
}

/* --- groups --- */

/* At a '('. */
static int widen_group(struct widening *w)
{
    if (w->at[1] == '*')
        return -WEIR_E_INVALID;
    if (w->at[1] != '?') {
        copy(w, 1);
        return 0;
    }
    if (w->at[2] == '#') {
        const char *end = strchr(w->at, ')');
        w->at = end ? end + 1 : w->at + strlen(w->at);
        return 0;
    }
    const char *kind = w->at + 2;
    if (*kind == ':' || *kind == '=' || *kind == '!' || *kind == '>' || *kind == '|') {
        copy(w, 3);
        return 0;
    }
    if (*kind == '<' && (kind[1] == '=' || kind[1] == '!')) {
        copy(w, 4);
        return 0;
    }
    kind += *kind == 'P' && kind[1] == '<';
    const char *end = *kind == '<'    ? strchr(kind, '>')
                      : *kind == '\'' ? strchr(kind + 1, '\'')
                                      : NULL;
    if (end) { /* what it is called makes no difference */
        put(w, "(");
        w->at = end + 1;
        return 0;
    }
    size_t flags = strspn(kind, "imsU-");
    if (flags == 0 || (kind[flags] != ')' && kind[flags] != ':'))
        return -WEIR_E_INVALID;
    for (w->at = kind, put(w, "(?"); flags > 0; flags--, w->at++)
        if (*w->at != 'U')
            put(w, (const char[]){*w->at, '\0'});
    copy(w, 1);
    return 0;
}

/* --- the whole --- */

static int widen_one(struct widening *w)
{
    unsigned char byte = (unsigned char)*w->at;
    char lower = (char)(byte | 0x20);
    if (byte == '\\')
        return widen_escape(w);
    if (byte == '[')
        return widen_class(w);
    if (byte == '(')
        return widen_group(w);
    if (byte > 0x7f && !w->is_caseless) {
        size_t length = character_length(w->at);
        put(w, "(?:");
        for (size_t i = 0; i < length; i++)
            w->length += (size_t)snprintf(w->out + w->length, 5, "\\x%02x",
                                          (unsigned)(unsigned char)w->at[i]);
        put(w, ")");
        w->at += length;
    } else if (byte > 0x7f || byte == '.') {
        w->at += character_length(w->at);
        put(w, ANY_CHARACTER);
    } else if (w->is_caseless && (lower == 'k' || lower == 's')) {
        put(w, lower == 'k' ? "(?:k|\\xe2\\x84\\xaa)" : "(?:s|\\xc5\\xbf)");
        w->at++;
    } else {
        copy(w, 1);
    }
    return 0;
}

int weir__expression_widen(const char *text, char **ret_text)
{
    struct widening w = {.at = text, .is_ucp = strstr(text, "(*UCP")};
    for (const char *at = text; (at = strstr(at, "(?")); at++)
        w.is_caseless |= at[2 + strcspn(at + 2, "i:)=<")] == 'i';
    while (strncmp(w.at, "(*UTF)", 6) == 0 || strncmp(w.at, "(*UCP)", 6) == 0)
        w.at += 6;
    w.out = weir__base_alloc(strlen(text) + 1, GROWTH);
    if (!w.out)
        return -WEIR_E_NO_MEMORY;
    while (*w.at) {
        int result = widen_one(&w);
        if (result < 0) {
            weir__base_free(w.out);
            return result;
        }
    }
    *ret_text = w.out;
    return 0;
}
