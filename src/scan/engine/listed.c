/* listed.c - the values of a list that follow its first one.
 *
 * A match has one secret, and its name stands before the first value alone. So the list is read on
 * from there, as far as the rule is wide: strings with commas between them, or lines that begin
 * with the same blanks and a dash. What is no value in that (a mapping, a call) ends the list. In a
 * string that has another text in it the quotation marks have the same backslashes before them.
 */
#include <string.h>

#include "parts.h"

#include "banned.h"

#define MARGIN_MAX 256u /* bytes before a value in its line */
#define NONE       SIZE_MAX

struct text {
    const char *bytes;
    size_t end;
    bool is_end; /* of the object, too */
};

static bool is_at(struct text text, size_t at, char c)
{
    return at < text.end && text.bytes[at] == c;
}

static bool is_quote(struct text text, size_t at)
{
    return is_at(text, at, '"') || is_at(text, at, '\'') || is_at(text, at, '`');
}

static size_t pass_blanks(struct text text, size_t at)
{
    while (is_at(text, at, ' ') || is_at(text, at, '\t') || is_at(text, at, '\r'))
        at++;
    return at;
}

/* Behind the line, if nothing but blanks and a comment is left of it; or NONE. */
static size_t pass_line(struct text text, size_t at)
{
    at = pass_blanks(text, at);
    bool is_comment = is_at(text, at, '#') || (is_at(text, at, '/') && is_at(text, at + 1, '/'));
    if (!is_comment)
        return is_at(text, at, '\n') ? at + 1 : at == text.end && text.is_end ? at : NONE;
    const char *stop = memchr(text.bytes + at, '\n', text.end - at);
    return stop ? (size_t)(stop - text.bytes) + 1 : text.is_end ? text.end : NONE;
}

/* Blanks, ends of lines, comments. */
static size_t pass_gap(struct text text, size_t at)
{
    for (size_t next; at < text.end && (next = pass_line(text, at)) != NONE;)
        at = next;
    return pass_blanks(text, at);
}

/* Where the string that begins at that place ends, or NONE. */
static size_t end_of_string(struct text text, size_t at)
{
    char quote = text.bytes[at++];
    while (at < text.end && text.bytes[at] != quote && text.bytes[at] != '\n')
        at += text.bytes[at] == '\\' ? 2 : 1;
    return is_at(text, at, quote) ? at : NONE;
}

static size_t pass_escapes(struct text text, size_t at)
{
    while (is_at(text, at, '\\'))
        at++;
    return at;
}

/* Where the string in an escaped text ends, before its backslashes; or NONE. */
static size_t end_of_escaped(struct text text, size_t at)
{
    do
        at++;
    while (at < text.end && text.bytes[at] != '\\' && text.bytes[at] != '\n');
    return is_at(text, at, '\\') ? at : NONE;
}

static bool next_string(struct text text, struct weir__match *match)
{
    size_t at = pass_escapes(text, match->secret_until), escapes = at - match->secret_until;
    if (!is_quote(text, at))
        return false;
    at = pass_gap(text, at + 1);
    if (!is_at(text, at, ','))
        return false;
    at = pass_gap(text, at + 1);
    size_t quote = pass_escapes(text, at), end = NONE;
    if (quote - at == escapes && is_quote(text, quote))
        end = escapes > 0 ? end_of_escaped(text, quote) : end_of_string(text, quote);
    if (end == NONE)
        return false;
    match->secret_from = quote + 1;
    match->secret_until = end;
    return true;
}

/* The bytes with which the line of a value begins, if they are blanks and a dash; or 0. */
static size_t margin_of(struct text text, const struct weir__match *match, size_t *ret_start)
{
    size_t value = match->secret_from, near = value < MARGIN_MAX ? value : MARGIN_MAX;
    const char *line = memrchr(text.bytes + value - near, '\n', near);
    if (!line && near < value)
        return 0;
    size_t start = line ? (size_t)(line + 1 - text.bytes) : 0, at = pass_blanks(text, start);
    size_t behind = pass_blanks(text, at + 1);
    *ret_start = start;
    if (!is_at(text, at, '-') || behind == at + 1)
        return 0;
    return behind + is_quote(text, behind) == value ? at + 1 - start : 0;
}

/* Behind lines that are empty, or a comment. */
static size_t next_line(struct text text, size_t at)
{
    size_t line = pass_line(text, at);
    for (size_t next; line < text.end && (next = pass_line(text, line)) != NONE;)
        line = next;
    return line;
}

static bool next_item(struct text text, struct weir__match *match)
{
    size_t start = 0, margin = margin_of(text, match, &start);
    if (margin == 0)
        return false;
    size_t line = next_line(text, match->secret_until + is_quote(text, match->secret_until));
    if (line >= text.end || text.end - line < margin ||
        memcmp(text.bytes + line, text.bytes + start, margin) != 0)
        return false;
    size_t at = pass_blanks(text, line + margin);
    if (at == line + margin || at == text.end)
        return false;
    bool is_string = is_quote(text, at);
    size_t until = is_string ? end_of_string(text, at) : at;
    while (!is_string && until < text.end && !strchr(" \t\r\n", text.bytes[until]))
        until++;
    if (until == NONE || pass_line(text, until + is_string) == NONE)
        return false;
    match->secret_from = at + is_string;
    match->secret_until = until;
    return true;
}

static bool is_value(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)bytes[i] <= ' ' || bytes[i] == '\\' || bytes[i] == 0x7f)
            return false;
    return true;
}

bool weir__listed_next(const struct weir__scanner *scanner, size_t first, struct weir__match *match)
{
    const struct weir__view *view = scanner->view;
    const struct weir__prepared *prepared = &scanner->engine->prepared[match->rule];
    size_t width = prepared->width,
           end = view->length - first > width ? first + width : view->length;
    struct text text = {view->bytes, end, end == view->length && view->is_end};
    if (prepared->rule->listed_min == 0)
        return false;
    while (next_string(text, match) || next_item(text, match)) {
        size_t length = match->secret_until - match->secret_from;
        match->from = match->secret_from;
        match->until = match->secret_until;
        if (length >= prepared->rule->listed_min &&
            is_value(view->bytes + match->secret_from, length))
            return true;
    }
    return false;
}
