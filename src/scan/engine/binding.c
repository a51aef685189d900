/* binding.c - from a name forward to what it is given, from a value back to what it is given to.
 *
 * No language is parsed. Signs, quotes and brackets are what all of them have in common; what is
 * not understood leaves the value where the rule has found it.
 */
#include "binding.h"

#include <string.h>

#include "binding_walk.h"
#include "binding_words.h"
#include "check.h"

#include "banned.h"

#define VALUE_MIN  16u /* bytes of what may be a secret */
#define FIELDS_MAX 4u  /* of a section or a pair that are looked at */

/* What a name is given. */
enum given {
    GIVEN_UNKNOWN, /* not understood, or something that goes on: a call, a list, a block */
    GIVEN_NOTHING,
    GIVEN_LINE_END, /* nothing in its line */
    GIVEN_LITERAL,
    GIVEN_VALUE, /* one that may be a secret */
};

/* The end of a line, as it is or as strings have it. */
static bool is_at_line_end(const struct weir__binding_walk *walk)
{
    char byte = peek(walk, 0);
    return is_line_end(byte) || (byte == '\\' && is_one_of(peek(walk, 1), "nr\n\r"));
}

static void skip_line(struct weir__binding_walk *walk)
{
    while (walk->at < walk->end && !is_at_line_end(walk))
        walk->at++;
}

static void skip_space(struct weir__binding_walk *walk)
{
    for (; walk->at < walk->end; walk->at++) {
        if (peek(walk, 0) == '\\' && is_at_line_end(walk))
            walk->at++;
        else if (!is_blank(*walk->at) && !is_line_end(*walk->at))
            break;
    }
}

static struct weir__binding_span name_around(const char *first, const char *at, const char *end)
{
    struct weir__binding_span name = {at, at};
    while (name.from > first && is_name(name.from[-1]))
        name.from--;
    while (name.until < end && is_name(*name.until))
        name.until++;
    return name;
}

/* --- forward from the name --- */

/* Behind the bracket that closes the one here, if that is in the same line. */
static bool skip_brackets(struct weir__binding_walk *walk)
{
    unsigned depth = 0;
    for (const char *start = walk->at; walk->at < walk->end; walk->at++) {
        if (is_at_line_end(walk)) {
            walk->at = start;
            return false;
        }
        if (is_one_of(*walk->at, "([{"))
            depth++;
        else if (is_one_of(*walk->at, ")]}") && --depth == 0)
            break;
    }
    walk->at += walk->at < walk->end;
    return true;
}

/* A reference as shells and templates have it: skipped if it is one. */
static bool skip_template(struct weir__binding_walk *walk)
{
    const char *start = walk->at;
    if (has(walk, "${") || has(walk, "$(") || has(walk, "{{") || has(walk, "#{") ||
        has(walk, "%{") || has(walk, "@{") || has(walk, "$[")) {
        walk->at += *start != '{';
        return skip_brackets(walk);
    }
    if (peek(walk, 0) == '<') {
        while (walk->at < walk->end && *walk->at != '>' && !is_at_line_end(walk))
            walk->at++;
        walk->at += peek(walk, 0) == '>';
        return true;
    }
    if (is_one_of(peek(walk, 0), "$%@!") && is_letter(peek(walk, 1))) {
        walk->at++;
        while (is_name(peek(walk, 0)))
            walk->at++;
        if (*start == '!') /* a tag of YAML, and what it is about */
            skip_line(walk);
        walk->at += *start == '%' && peek(walk, 0) == '%';
        return true;
    }
    return false;
}

/* The same, or what code has: a call, an element, something of the environment. */
static bool skip_reference(struct weir__binding_walk *walk)
{
    const char *start = walk->at;
    if (skip_template(walk))
        return true;
    if (!is_letter(peek(walk, 0)))
        return false;
    bool is_path = false;
    while (is_name(peek(walk, 0)) || has(walk, "->") || has(walk, "::")) {
        is_path |=
            has(walk, "->") || has(walk, "::") ||
            (peek(walk, 0) == '.' && weir__binding_is_root(start, (size_t)(walk->at - start)));
        walk->at++;
    }
    while (is_one_of(peek(walk, 0), "([")) {
        is_path = skip_brackets(walk);
        if (!is_path)
            break;
        while (is_name(peek(walk, 0)))
            walk->at++;
    }
    if (!is_path)
        walk->at = start;
    return is_path;
}

/* Whether it is long enough to be a value of the kind that rules look for. */
static bool is_value(const char *from, const char *until)
{
    const char *at = from;
    while (at < until && ((is_name(*at) && *at != '.') || is_one_of(*at, "+/=")))
        at++;
    return at == until && at - from >= (ptrdiff_t)VALUE_MIN;
}

static enum given classify_quoted(struct weir__binding_walk *walk)
{
    char quote = *walk->at++;
    const char *end = memchr(walk->at, quote, (size_t)(walk->end - walk->at));
    if (!end)
        return GIVEN_UNKNOWN;
    struct weir__binding_walk inside = {walk->at, walk->at, end};
    walk->at = end + 1;
    if (inside.at == end && peek(walk, 0) == quote)
        return GIVEN_UNKNOWN; /* three of them */
    while (inside.at < end && (is_blank(*inside.at) || *inside.at == '\\'))
        inside.at++;
    if (inside.at == end || weir__binding_is_stand_in(inside.at, (size_t)(end - inside.at)))
        return GIVEN_NOTHING;
    if (skip_template(&inside))
        return GIVEN_NOTHING;
    return is_value(inside.at, end) ? GIVEN_VALUE : GIVEN_LITERAL;
}

/* X= Y=V, X= -e Y=V: what comes behind a blank is no value of X. */
static bool is_next_word(const struct weir__binding_walk *walk)
{
    const char *at = walk->at;
    if (at < walk->end && *at == '-')
        return walk->end - at > 1 && (is_letter(at[1]) || at[1] == '-');
    while (at < walk->end && is_name(*at))
        at++;
    return at > walk->at && is_letter(*walk->at) && walk->end - at >= 1 && *at == '=' &&
           !(walk->end - at > 1 && is_one_of(at[1], "= \t\r\n"));
}

/* Whether the word that ends here begins an expression: match x { …, x match { …, x ? y : …. */
static bool is_expression(const char *word, const struct weir__binding_walk *walk)
{
    if (weir__binding_is_opening(word, (size_t)(walk->at - word)))
        return true;
    struct weir__binding_walk next = *walk;
    skip_blanks(&next);
    if (peek(&next, 0) == '?')
        return peek(&next, 1) != '>';
    const char *from = next.at;
    while (is_letter(peek(&next, 0)))
        next.at++;
    return is_blank(peek(&next, 0)) && weir__binding_is_opening(from, (size_t)(next.at - from));
}

/* What stands behind a sign. has_word: a shell would end the value at the first blank. */
static enum given classify(struct weir__binding_walk *walk, bool has_word)
{
    const char *start = walk->at;
    skip_blanks(walk);
    if (is_at_line_end(walk) || walk->at == walk->end)
        return is_at_line_end(walk) ? GIVEN_LINE_END : GIVEN_UNKNOWN;
    if (walk->at > start && (has(walk, "#") || has(walk, "//") || has(walk, "--"))) {
        skip_line(walk);
        return GIVEN_LINE_END;
    }
    if (walk->at > start && has_word && is_next_word(walk))
        return GIVEN_NOTHING;
    while (peek(walk, 0) == '\\')
        walk->at++;
    char byte = peek(walk, 0);
    if (is_quote(byte))
        return classify_quoted(walk);
    if (is_one_of(byte, ",;)}]&"))
        return GIVEN_NOTHING;
    if (is_one_of(byte, "([{") && is_one_of(peek(walk, 1), ")]}")) {
        walk->at += 2;
        return GIVEN_NOTHING;
    }
    if (byte == '~' && !is_name(peek(walk, 1)) && peek(walk, 1) != '/')
        return GIVEN_NOTHING;
    const char *word = walk->at;
    while (walk->at < walk->end && !is_one_of(*walk->at, " \t,;)}]\"'<>&") && !is_at_line_end(walk))
        walk->at++;
    if (walk->at > word && weir__binding_is_stand_in(word, (size_t)(walk->at - word)))
        return GIVEN_NOTHING;
    const char *behind = walk->at;
    if (is_blank(peek(walk, 0)) && is_expression(word, walk))
        return GIVEN_UNKNOWN;
    walk->at = word;
    if (skip_reference(walk))
        return GIVEN_NOTHING;
    if (is_one_of(byte, "|>"))
        return GIVEN_UNKNOWN;
    for (; word < behind; word++) /* something that goes on in the next line */
        if (is_one_of(*word, "([{"))
            return GIVEN_UNKNOWN;
    word = walk->at;
    walk->at = behind;
    if (behind == word)
        return GIVEN_UNKNOWN;
    return is_value(word, behind) ? GIVEN_VALUE : GIVEN_LITERAL;
}

/* = := ?= += ||= == => : :: ?: -> <-: '=' or ':', or '\0' where there is none. */
static char take_sign(struct weir__binding_walk *walk)
{
    const char *start = walk->at;
    if (has(walk, "<-") || has(walk, "->")) {
        walk->at += 2;
        return '=';
    }
    bool is_optional = has(walk, "?:");
    while (walk->at - start < 2 && is_one_of(peek(walk, 0), ":?+|"))
        walk->at++;
    if (peek(walk, 0) != '=') {
        walk->at = start + is_optional;
        while (walk->at - start < 2 && peek(walk, 0) == ':')
            walk->at++;
        return walk->at > start ? ':' : '\0';
    }
    while (peek(walk, 0) == '=')
        walk->at++;
    walk->at += peek(walk, 0) == '>';
    return '=';
}

/* The sign behind a name, with up to two words before it, which are a type or more of the name.
 * '\0': there is none. */
static char skip_sign(struct weir__binding_walk *walk, bool *ret_has_word)
{
    for (unsigned words = 0; words < 3; words++) {
        const char *start = walk->at;
        while (is_quote(peek(walk, 0)) || is_one_of(peek(walk, 0), "])\\"))
            walk->at++;
        skip_blanks(walk);
        const char *before = walk->at;
        char sign = take_sign(walk);
        if (sign) {
            *ret_has_word = sign == '=' && before == start;
            return sign;
        }
        if (before == start || !is_letter(peek(walk, 0)))
            return '\0';
        while (is_name(peek(walk, 0)) || is_one_of(peek(walk, 0), "[]<>?*&"))
            walk->at++;
    }
    return '\0';
}

/* A type between ':' and '=': token: str = "", KEY: &'static str = "", key: []const u8 = "". */
static void skip_type(struct weir__binding_walk *walk)
{
    struct weir__binding_walk ahead = *walk;
    skip_blanks(&ahead);
    const char *start = ahead.at;
    while (ahead.at < ahead.end && (is_name(*ahead.at) || is_one_of(*ahead.at, "[]<>|?&*!:;(), ") ||
                                    (*ahead.at == '\'' && ahead.at > start && ahead.at[-1] == '&')))
        ahead.at++;
    if (ahead.at > start && (is_letter(*start) || is_one_of(*start, "&*[?!(")) &&
        peek(&ahead, 0) == '=' && peek(&ahead, 1) != '=') {
        ahead.at++;
        *walk = ahead;
    }
}

/* --- where the name stands --- */

static const char *line_of(const char *first, const char *at)
{
    while (at > first && !is_line_end(at[-1]))
        at--;
    return at;
}

/* Bytes from the beginning of the line to the name, if nothing else stands there but the marks of
 * lists and what declares a variable. -1: something does. */
static ptrdiff_t column_of(const char *first, const char *name)
{
    const char *line = line_of(first, name), *at = line;
    while (at < name && (is_blank(*at) || *at == '-' || is_quote(*at)))
        at++;
    return at == name ? name - line : -1;
}

/* os.environ["X"], getenv("X"), ${X}, $X, {{ secrets.X }}, process.env.X */
static bool is_used(const char *first, const struct weir__binding_span *name)
{
    const char *at = name->from;
    const char *dot = memchr(name->from, '.', (size_t)(name->until - name->from));
    if (dot && weir__binding_is_root(name->from, (size_t)(dot - name->from)))
        return true;
    while (at > first && (is_quote(at[-1]) || is_blank(at[-1]) || at[-1] == '\\'))
        at--;
    if (at == first)
        return false;
    if (at[-1] == '$' || (at[-1] == '%' && at == name->from))
        return true;
    if (!is_one_of(at[-1], "([{") || at - 1 == first)
        return false;
    return is_name(at[-2]) || is_one_of(at[-2], at[-1] == '{' ? "$#%@{" : "])$");
}

/* Whether the name is given by a `name:` or `key=`, and its value by what comes with that. */
static bool is_told(const char *first, const struct weir__binding_span *name)
{
    const char *at = name->from;
    while (at > first && (is_quote(at[-1]) || is_blank(at[-1]) || at[-1] == '\\'))
        at--;
    if (at == first || !is_one_of(at[-1], ":="))
        return false;
    at--;
    while (at > first && (is_quote(at[-1]) || is_blank(at[-1]) || at[-1] == '\\'))
        at--;
    const char *until = at;
    while (at > first && is_name(at[-1]))
        at--;
    while (at < until && !is_letter(*at))
        at++;
    return weir__binding_is_namer(at, (size_t)(until - at));
}

/* --- the two together --- */

/* The first name with a sign from here on, over lines and marks of lists; is_item: a new item of a
 * list was begun before it. */
static bool next_name(struct weir__binding_walk *walk, struct weir__binding_span *ret_name,
                      bool *ret_is_item)
{
    *ret_is_item = false;
    for (;;) {
        skip_space(walk);
        if (!is_one_of(peek(walk, 0), ",-{}<>/)]\"'`\\"))
            break;
        *ret_is_item |= is_one_of(*walk->at, "-{<");
        walk->at++;
    }
    const char *from = walk->at;
    while (is_name(peek(walk, 0)))
        walk->at++;
    *ret_name = (struct weir__binding_span){from, walk->at};
    return walk->at > from;
}

/* <value>V</value>, below an element that has the name: whether it is empty. */
static bool is_child_empty(struct weir__binding_walk *walk)
{
    while (walk->at < walk->end && *walk->at != '>')
        walk->at++;
    if (walk->at > walk->first && walk->at[-1] == '/')
        return true;
    walk->at += walk->at < walk->end;
    skip_space(walk);
    return has(walk, "</") || skip_template(walk);
}

/* name: X, value: …: whether X has none. Other fields may stand between the two. */
static bool is_told_nothing(struct weir__binding_walk *walk)
{
    for (unsigned fields = 0; fields < FIELDS_MAX; fields++) {
        struct weir__binding_span name;
        bool is_item, has_word;
        if (!next_name(walk, &name, &is_item))
            return false;
        if (is_item && weir__binding_is_namer(name.from, (size_t)(name.until - name.from)))
            return true;
        if (weir__binding_is_source(name.from, (size_t)(name.until - name.from)))
            return true;
        if (name.from[-1] == '<' && is_one_of(peek(walk, 0), "> /") &&
            weir__binding_is_child(name.from, (size_t)(name.until - name.from)))
            return is_child_empty(walk);
        if (!skip_sign(walk, &has_word))
            return is_item;
        enum given given = classify(walk, false);
        if (weir__binding_is_value(name.from, (size_t)(name.until - name.from)))
            return given == GIVEN_NOTHING || (given == GIVEN_LINE_END && is_item);
        if (given == GIVEN_UNKNOWN)
            return false;
    }
    return false;
}

/* Whether nothing but the sign, blanks, quotes and remarks stand between the two. */
static bool is_next(const char *at, const char *until)
{
    struct weir__binding_walk between = {at, at, until};
    while (is_quote(peek(&between, 0)) || is_blank(peek(&between, 0)) || peek(&between, 0) == ':')
        between.at++;
    for (;;) {
        skip_space(&between);
        if (!has(&between, "#"))
            break;
        skip_line(&between);
    }
    if (has(&between, "- ")) { /* the first of a list */
        between.at++;
        skip_blanks(&between);
    }
    while (is_quote(peek(&between, 0)))
        between.at++;
    return between.at == until;
}

/* A name with ':' and no more in its line: its section, or nothing? What is deeper than the name of
 * a secret and comes first there is one of several. */
static bool is_section_of(const char *first, const struct weir__binding_span *name,
                          const struct weir__binding_span *owner)
{
    bool is_kind = weir__binding_is_kind(name->from, (size_t)(name->until - name->from));
    bool is_plain = weir__binding_is_plain(owner->from, (size_t)(owner->until - owner->from));
    ptrdiff_t own = column_of(first, name->from), other = column_of(name->until, owner->from);
    bool is_deeper = own < 0 || other < 0 || other > own;
    if (!is_kind)
        return is_deeper || is_plain;
    if (is_deeper && is_plain)
        return true;
    return own >= 0 && other > own && is_next(name->until, owner->from);
}

/* Whether the section that begins here has the name of a secret without a value before the owner.
 */
static bool is_kept_empty(struct weir__binding_walk *walk, const struct weir__binding_span *owner)
{
    if (weir__binding_is_kind(owner->from, (size_t)(owner->until - owner->from)))
        return false;
    for (unsigned fields = 0; fields < FIELDS_MAX; fields++) {
        struct weir__binding_span name;
        bool is_item, has_word;
        if (!next_name(walk, &name, &is_item) || name.from >= owner->from ||
            !skip_sign(walk, &has_word))
            return false;
        bool is_kind = weir__binding_is_kind(name.from, (size_t)(name.until - name.from));
        enum given given = classify(walk, false);
        if (given == GIVEN_UNKNOWN)
            return false;
        if (is_kind && given != GIVEN_LITERAL && given != GIVEN_VALUE)
            return !(given == GIVEN_LINE_END && is_section_of(walk->first, &name, owner));
    }
    return false;
}

/* What is given to a name with this sign. */
static bool is_given_nothing(const char *first, struct weir__binding_walk *walk,
                             const struct weir__binding_span *name,
                             const struct weir__binding_span *owner, char sign, bool has_word)
{
    bool is_kind = weir__binding_is_kind(name->from, (size_t)(name->until - name->from));
    if (sign == ':')
        skip_type(walk);
    enum given given = classify(walk, has_word);
    if (walk->at > owner->from)
        return false;
    switch (given) {
    case GIVEN_NOTHING:
        return true;
    case GIVEN_LITERAL:
    case GIVEN_VALUE:
        return (is_kind || given == GIVEN_VALUE) &&
               !weir__binding_is_plain(owner->from, (size_t)(owner->until - owner->from));
    case GIVEN_LINE_END:
        skip_space(walk);
        if (is_one_of(peek(walk, 0), "([{"))
            return is_kept_empty(walk, owner);
        if (sign != ':' || !is_section_of(first, name, owner))
            return true;
        return !is_kind && is_kept_empty(walk, owner);
    case GIVEN_UNKNOWN:
        break;
    }
    return !is_kind && peek(walk, 0) == '{' && is_kept_empty(walk, owner);
}

/* <X></X>, <X/>, </X> */
static bool is_empty_element(struct weir__binding_walk *walk, const struct weir__binding_span *name)
{
    const char *at = name->from;
    if (at > walk->first && at[-1] == '/')
        return true;
    if (has(walk, "/>") || has(walk, " />"))
        return true;
    if (peek(walk, 0) != '>')
        return false;
    walk->at++;
    skip_space(walk);
    return has(walk, "</") || (peek(walk, 0) != '<' && skip_reference(walk));
}

/* getenv("X").unwrap().trim(): the calls behind what was used, and what closes it. */
static void skip_calls(struct weir__binding_walk *walk)
{
    while (is_quote(peek(walk, 0)) || is_one_of(peek(walk, 0), ")]\\?!"))
        walk->at++;
    while (peek(walk, 0) == '.' && is_letter(peek(walk, 1))) {
        while (is_name(peek(walk, 0)))
            walk->at++;
        if (peek(walk, 0) == '(' && !skip_brackets(walk))
            return;
        while (is_one_of(peek(walk, 0), "?!"))
            walk->at++;
    }
}

/* X and no sign: used, or declared, and then no more in its line, its statement or its option. */
static bool is_left_alone(const char *first, struct weir__binding_walk *walk,
                          const struct weir__binding_span *name)
{
    bool is_declared = weir__binding_is_declared(first, name->from);
    if (is_declared && is_blank(peek(walk, 0)) && weir__binding_is_defined(first, name->from))
        return classify(walk, false) == GIVEN_NOTHING;
    bool has_ended = false;
    if (is_used(first, name))
        skip_calls(walk);
    for (; is_quote(peek(walk, 0)) || is_one_of(peek(walk, 0), "])}\\ ;,?!&|"); walk->at++)
        has_ended |= *walk->at == ';' || (*walk->at == ' ' && peek(walk, 1) == '-') ||
                     has(walk, "&&") || has(walk, "||");
    if (is_declared && has_ended)
        return true;
    return is_at_line_end(walk) && (is_declared || is_used(first, name));
}

/* test -z "$X" && exit 1; Y=V: another statement of the same line gives the value, to a name that
 * is not that of a secret. */
static bool has_ended_before(const struct weir__binding_walk *walk,
                             const struct weir__binding_span *owner)
{
    bool has_ended = false;
    for (const char *at = walk->at; at + 1 < owner->from && !is_line_end(*at); at++)
        has_ended |= (*at == ';' && is_blank(at[1])) || (at[0] == '&' && at[1] == '&') ||
                     (at[0] == '|' && at[1] == '|');
    return has_ended && !weir__binding_is_plain(owner->from, (size_t)(owner->until - owner->from));
}

static bool is_same(const struct weir__binding_span *one, const struct weir__binding_span *other)
{
    return one->until - one->from == other->until - other->from &&
           memcmp(one->from, other->from, (size_t)(one->until - one->from)) == 0;
}

/* X=********: it has a value, which somebody has hidden, as reports do. */
static bool is_given_hidden(struct weir__binding_walk walk)
{
    while (is_one_of(peek(&walk, 0), "\"' =:>"))
        walk.at++;
    return has(&walk, WEIR__HIDDEN_MARK);
}

/* is_part: the name stands in the section of another one that the rule knows. Whatever else is the
 * name of a secret there is one of it as well. */
static bool is_other(const char *text, size_t mark, size_t value, size_t value_end, bool is_part)
{
    struct weir__binding_span owner;
    const char *at = text + mark;
    const char *first = mark > WEIR__BINDING_BEFORE ? at - WEIR__BINDING_BEFORE : text;
    struct weir__binding_span name = name_around(first, at, text + value);
    if (is_given_hidden((struct weir__binding_walk){first, name.until, text + value}))
        return true;
    if (!weir__binding_owner(at, text + value, text + value_end, &owner) ||
        (is_part && weir__binding_is_kind(owner.from, (size_t)(owner.until - owner.from))))
        return false;
    struct weir__binding_walk walk = {first, name.until,
                                      text + (owner.from < text + value ? value : value_end)};
    if (name.until >= owner.from || is_same(&name, &owner))
        return false;
    const char *before = name.from;
    if (before > first && is_one_of(before[-1], "</:") && line_of(first, before) < before) {
        const char *tag = before;
        while (tag > first && (is_name(tag[-1]) || is_one_of(tag[-1], "/:")))
            tag--;
        if (tag > first && tag[-1] == '<')
            return is_empty_element(&walk,
                                    &(struct weir__binding_span){tag + (*tag == '/'), name.until});
    }
    if (is_told(first, &name))
        return is_told_nothing(&walk);
    bool has_word;
    struct weir__binding_walk behind = walk;
    char sign = skip_sign(&behind, &has_word);
    if (sign && !is_used(first, &name))
        return is_given_nothing(first, &behind, &name, &owner, sign, has_word);
    return has_ended_before(&walk, &owner) || is_left_alone(first, &walk, &name);
}

bool weir__binding_is_other(const char *text, size_t mark, size_t value, size_t value_end)
{
    return is_other(text, mark, value, value_end, false);
}

/* $TOKEN, process.env.TOKEN: no value, whosever it is. CACHE_VERSION=: the name of the next one. */
static bool is_no_value(const char *value, size_t length)
{
    const char *dot = memchr(value, '.', length);
    if (dot && weir__binding_is_root(value, (size_t)(dot - value)))
        return true;
    size_t at = value[0] == '$', words = 0;
    bool is_reference = at > 0;
    for (; at < length && (value[at] == '_' || (value[at] >= 'A' && value[at] <= 'Z') ||
                           (value[at] >= '0' && value[at] <= '9'));
         at++)
        words += value[at] == '_';
    return is_reference ? at == length : words > 0 && at + 1 == length && value[at] == '=';
}

/* The next group from `group` on that is empty: its number, or `groups`. */
static unsigned next_mark(const size_t *ends, unsigned group, unsigned groups)
{
    while (group < groups && (ends[2 * (size_t)group] != ends[2 * (size_t)group + 1] ||
                              ends[2 * (size_t)group] == SIZE_MAX)) /* took no part */
        group++;
    return group;
}

bool weir__binding_rejects(const struct weir__rule *rule, const char *text, const size_t *ends,
                           unsigned groups, size_t secret, size_t secret_end)
{
    if (!rule->is_named && !rule->is_bound)
        return false;
    if (secret_end > secret && is_no_value(text + secret, secret_end - secret))
        return true;
    if (rule->is_named) {
        unsigned group = next_mark(ends, 1, groups);
        size_t mark = group < groups ? ends[2 * (size_t)group] : ends[0];
        return weir__binding_is_public(text, mark, ends[1], secret, secret_end) ||
               (mark < secret && weir__binding_is_other(text, mark, secret, secret_end));
    }
    const char *known = NULL; /* the end of the name before */
    for (unsigned i = 1; (i = next_mark(ends, i, rule->secret_group)) < rule->secret_group; i++) {
        size_t mark = ends[2 * (size_t)i];
        bool is_part = known && known < text + mark;
        if (mark >= secret || is_other(text, mark, secret, secret_end, is_part))
            return mark < secret;
        known = name_around(text + mark, text + mark, text + secret).until;
    }
    return false;
}
