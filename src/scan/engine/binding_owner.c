/* binding_owner.c - from a value back to the name that it is given to.
 *
 * A word and a sign before a value are a name, unless they are a piece of an expression: the middle
 * of `a ? b : "…"`, the pattern before the arrow of a match, the argument of a lambda. Those have
 * no say, so that the value stays where the rule has found it.
 */
#include <string.h>
#include <strings.h>

#include "binding_walk.h"

#include "banned.h"

#define OPENING_MAX 40u /* bytes between a sign and its value */

/* What stands between a sign and its value: blanks, quotes, a bracket, a word such as Bearer. */
static const char *skip_opening(const char *from, const char *at)
{
    const char *least = at - from > (ptrdiff_t)OPENING_MAX ? at - OPENING_MAX : from;
    bool had_quote = false;
    while (at > least && (is_quote(at[-1]) || at[-1] == '\\')) {
        had_quote |= is_quote(at[-1]);
        at--;
    }
    if (had_quote && at > least && is_one_of(at[-1], "brufL@$") &&
        !(at - 1 > least && is_name(at[-2])))
        at--;
    while (at > least && (is_blank(at[-1]) || is_line_end(at[-1]) || is_one_of(at[-1], "([{")))
        at--;
    const char *word = at;
    while (word > least && (is_letter(word[-1]) || word[-1] == '-'))
        word--;
    if (word < at && word > least && is_one_of(word[-1], " \t\"'")) {
        while (word > least && (is_blank(word[-1]) || is_quote(word[-1])))
            word--;
        if (word > from && is_one_of(word[-1], "=:>"))
            return word;
    }
    return at;
}

static bool ends_with(const char *from, const char *until, const char *word)
{
    size_t length = strlen(word);
    return until - from >= (ptrdiff_t)length && strncasecmp(until - length, word, length) == 0 &&
           !(until - from > (ptrdiff_t)length && is_name(until[-1 - (ptrdiff_t)length]));
}

/* X= Y=V, of which a rule took all of Y=V; a digit in the middle is in no name, unless dots are in
 * it as well. */
static bool is_owner_inside(const char *value, const char *value_end,
                            struct weir__binding_span *ret_owner)
{
    const char *sign = value;
    while (sign < value_end && is_letter(*sign))
        sign++;
    while (sign > value && sign < value_end && *sign == '.' && value_end - sign > 1 &&
           is_letter(sign[1]))
        for (sign++; sign < value_end && is_letter(*sign);)
            sign++;
    while (sign > value && sign < value_end && *sign >= '0' && *sign <= '9')
        sign++;
    if (sign == value || value_end - sign < 2 || *sign != '=' ||
        (!is_name(sign[1]) && !is_one_of(sign[1], "+/")))
        return false;
    *ret_owner = (struct weir__binding_span){value, sign};
    return true;
}

/* uses: owner/action@V */
static bool is_pinned(const char *from, const char *at, struct weir__binding_span *ret_owner)
{
    if (at == from || at[-1] != '@')
        return false;
    at--;
    while (at > from && (is_name(at[-1]) || at[-1] == '/'))
        at--;
    while (at > from && (is_blank(at[-1]) || is_quote(at[-1])))
        at--;
    if (at == from || !ends_with(from, at - 1, "uses") || at[-1] != ':')
        return false;
    *ret_owner = (struct weir__binding_span){at - 1 - strlen("uses"), at - 1};
    return true;
}

/* git checkout V: what the words are about is no secret. */
static bool is_git_word(const char *from, const char *at, struct weir__binding_span *ret_owner)
{
    static const char *const words[] = {"checkout", "reset", "--hard", "cherry-pick",
                                        "revert",   "show",  "rebase", "merge"};
    while (at > from && (is_quote(at[-1]) || is_blank(at[-1])))
        at--;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (ends_with(from, at, words[i])) {
            *ret_owner = (struct weir__binding_span){at - strlen(words[i]), at};
            return true;
        }
    }
    return false;
}

/* #define COMMIT "V" */
static bool is_defined(const char *from, const char *at, struct weir__binding_span *ret_owner)
{
    const char *until = at;
    while (at > from && is_name(at[-1]))
        at--;
    const char *name = at;
    while (at > from && is_blank(at[-1]))
        at--;
    if (name == until || at == name || !ends_with(from, at, "define"))
        return false;
    *ret_owner = (struct weir__binding_span){name, until};
    return true;
}

/* Whether what stands before `:` here is the second part of a conditional expression, or what a
 * lambda takes: back over what brackets hold, as far as the line and the statement go. */
static bool is_in_expression(const char *from, const char *at)
{
    unsigned depth = 0;
    if (ends_with(from, at, "lambda"))
        return true;
    for (; at > from && !is_line_end(at[-1]); at--) {
        char byte = at[-1];
        if (is_one_of(byte, ")]}"))
            depth++;
        else if (depth > 0 && is_one_of(byte, "([{"))
            depth--;
        else if (depth == 0 && is_one_of(byte, ";{,"))
            return false;
        else if (depth == 0 && byte == '?' && !is_one_of(*at, ":.?=,;)>"))
            return true;
        else if (depth == 0 && is_blank(byte) && ends_with(from, at - 1, "lambda"))
            return true;
    }
    return false;
}

/* Whether the word before `=>` is a name: 'sha' => …, :sha => …, and sha => … in a list. Elsewhere
 * it is a pattern, or what a function takes. */
static bool is_pair_name(const char *from, const char *word, const char *until, const char *closed)
{
    if (until < closed)
        return is_quote(*until) || *until == '\\' || *until == ']';
    if (word > from && word[-1] == ':')
        return true;
    if (*word >= 'A' && *word <= 'Z')
        return false;
    while (word > from && is_blank(word[-1]))
        word--;
    return word > from && (is_line_end(word[-1]) || word[-1] == ',');
}

/* Takes the sign off that ends at `at`. Returns the byte that says what it is: '=', ':', '>' of an
 * element, ',' of a pair, '?' of what is a fallback, 'a' of an arrow, '\0' for none. */
static char take_sign_back(const char *from, const char **at)
{
    const char *end = *at, *sign = end;
    if (end == from)
        return '\0';
    if (end[-1] == ',') {
        *at = end - 1;
        return ',';
    }
    bool is_left = end - from > 1 && end[-1] == '-' && end[-2] == '<';
    if (!is_left && !is_one_of(end[-1], "=:>"))
        return '\0';
    sign -= is_left;
    while (sign > from && is_one_of(sign[-1], "=:><?+|"))
        sign--;
    *at = sign;
    if (end - sign > 1 && end[-1] == '>' && end[-2] == '=')
        return 'a';
    return end - sign > 1 && end[-1] == ':' && end[-2] == '?' ? '?' : end[-1];
}

bool weir__binding_owner(const char *from, const char *value, const char *value_end,
                         struct weir__binding_span *ret_owner)
{
    if (is_owner_inside(value, value_end, ret_owner) || is_pinned(from, value, ret_owner) ||
        is_git_word(from, value, ret_owner))
        return true;
    const char *at = skip_opening(from, value);
    char sign = take_sign_back(from, &at);
    if (sign == '\0' && value > from && is_quote(value[-1]))
        return is_defined(from, at, ret_owner);
    if (sign == '\0' || sign == '?')
        return false;
    while (at > from && is_blank(at[-1]))
        at--;
    const char *closed = at;
    while (at > from && (is_quote(at[-1]) || is_one_of(at[-1], "])\\")))
        at--;
    if (sign == ',' && closed == at)
        return false;
    const char *until = at;
    bool has_letter = false;
    while (at > from && is_name(at[-1])) {
        at--;
        has_letter |= is_letter(*at);
    }
    if (!has_letter || (sign == ':' && is_in_expression(from, closed)) ||
        (sign == 'a' && !is_pair_name(from, at, until, closed)))
        return false;
    *ret_owner = (struct weir__binding_span){at, until};
    return true;
}
