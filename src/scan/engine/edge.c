/* edge.c - where what a rule looks for may begin, though a letter stands before it.
 *
 * An escape ends with a letter or a digit, and so does a sequence that colours a log; what is
 * behind them begins all the same: \nAKIA…, key%3DAIza…, \u003dAIza…, ESC[31mAKIA…. So the edge
 * that an expression begins with holds there, too. It is one of
 *
 *     \b                    (?<![class])                     (?:^|[class])
 *
 * Hyperscan knows nothing that looks back, so there the escape is a part of the match, of which
 * only the end is asked.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "parts.h"

#include "banned.h"

#define HEX "[0-9A-Fa-f]{2}"
/* ESC [ 0 1 ; 3 1 m, the first of them as it is or written in one of the usual ways: its last sign
 * is enough. */
#define COLOUR_BEGINS "[\\x1beEbB3]\\["
#define COLOUR_ENDS   "[mK]"
#define COLOUR(n)     COLOUR_BEGINS "[0-9;]{" #n "}" COLOUR_ENDS
/* Of PCRE2 every alternative has one length, and each costs time when a rule is first needed: these
 * are those of 256 colours (31, 1;31, 01;31, 38;5;99, 38;5;208). */
#define COLOURS                                                                                    \
    COLOUR(0)                                                                                      \
    "|" COLOUR(1) "|" COLOUR(2) "|" COLOUR(4) "|" COLOUR(5) "|" COLOUR(7) "|" COLOUR(8)

static const char looking_back[] = "(?<=\\\\[abefnrtv])|(?<=%" HEX ")|(?<=\\\\x" HEX
                                   ")|(?<=\\\\u00" HEX ")|(?<=" COLOUR_ENDS ")(?<=" COLOURS ")";
static const char taking_part[] =
    "\\\\[abefnrtv]|%" HEX "|\\\\x" HEX "|\\\\u00" HEX "|" COLOUR_BEGINS "[0-9;]{0,8}" COLOUR_ENDS;
_Static_assert(8 + 3 <= WEIR__EDGE_MAX, "a sequence fits");

struct edge {
    const char *from, *until; /* in the expression */
    bool is_group;            /* it ends with a ')', before which there is room for more */
};

static bool skip(const char **at, const char *what)
{
    size_t length = strlen(what);
    if (strncmp(*at, what, length) != 0)
        return false;
    *at += length;
    return true;
}

/* Behind an escape, a class, or a byte. */
static const char *behind_one(const char *at)
{
    if (*at != '[')
        return at + (*at == '\\' && at[1] ? 2 : 1);
    at += at[1] == '^' ? 2 : 1;
    at += *at == ']'; /* as the first one it is a member */
    while (*at && *at != ']') {
        const char *name = *at == '[' && at[1] == ':' ? strstr(at, ":]") : NULL;
        at = name ? name + 2 : at + (*at == '\\' && at[1] ? 2 : 1);
    }
    return at + (*at == ']');
}

/* Behind the ')' of a group without groups in it; NULL: it is another one. */
static const char *group_end(const char *at)
{
    for (; *at; at = behind_one(at)) {
        if (*at == '(')
            return NULL;
        if (*at == ')')
            return at + 1;
    }
    return NULL;
}

/* The edge that an expression begins with. */
static bool find_edge(const char *at, struct edge *ret_edge)
{
    for (;;) {
        const char *from = at, *until;
        if (skip(&at, "\\b")) {
            *ret_edge = (struct edge){from, at, false};
            return true;
        }
        if (skip(&at, "(?:^|[") && (until = group_end(from + 3))) {
            *ret_edge = (struct edge){from, until, true};
            return until[-2] == ']';
        }
        at = from;
        if (skip(&at, "(?<!") && (until = group_end(at))) {
            if (*at == '[' && until[-2] == ']') {
                *ret_edge = (struct edge){from, until, false};
                return true;
            }
            at = until; /* another thing that must not stand before the edge */
        } else if (!skip(&at, "(?i)") && !skip(&at, "(?m)") && !skip(&at, "(?im)") &&
                   !skip(&at, "(?:")) {
            return false;
        }
    }
}

int weir__edge_widen(const char *text, bool is_looking_back, char **ret_text)
{
    const char *more = is_looking_back ? looking_back : taking_part;
    struct edge edge;
    if (!find_edge(text, &edge)) {
        *ret_text = NULL;
        return 0;
    }
    size_t size = strlen(text) + strlen(more) + sizeof("(?:|)");
    char *longer = weir__base_alloc(1, size);
    if (!longer)
        return -WEIR_E_NO_MEMORY;
    size_t length = (size_t)(edge.until - edge.from) - edge.is_group;
    snprintf(longer, size, "%.*s%s%.*s|%s)%s", (int)(edge.from - text), text,
             edge.is_group ? "" : "(?:", (int)length, edge.from, more, edge.until);
    *ret_text = longer;
    return 0;
}

/* --- what is asked before an expression is run --- */

static bool is_word(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || byte == '_';
}

/* Whether there is a '|' that is in no group. */
static bool has_alternatives(const char *at)
{
    unsigned depth = 0;
    for (; *at; at = behind_one(at)) {
        if (*at == '(')
            depth++;
        else if (*at == ')')
            depth -= depth > 0;
        else if (*at == '|' && depth == 0)
            return true;
    }
    return false;
}

bool weir__edge_is_word_begin(const char *text, char byte)
{
    const char *at = text;
    while (skip(&at, "(?i)") || skip(&at, "(?m)") || skip(&at, "(?im)"))
        ;
    return skip(&at, "\\b") && *at != '?' && *at != '*' && *at != '{' && is_word(byte) &&
           !has_alternatives(at) && !weir__expression_is_wide(text);
}

/* What an escape ends with, or a sequence that colours: \n, %3D, \x3d, \u003d, ESC[31m; in any case
 * of letters, since the expression may say so. */
bool weir__edge_may_hold(const char *bytes, size_t at)
{
    if (at == 0 || !is_word(bytes[at - 1]))
        return true;
    char last = weir__lower(bytes[at - 1]), second = at > 1 ? bytes[at - 2] : '\0',
         third = at > 2 ? weir__lower(bytes[at - 3]) : '\0';
    return last == 'm' || last == 'k' || second == '\\' || third == '%' || third == 'x' ||
           third == '0';
}
