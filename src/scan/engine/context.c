/* context.c - words, names and a value, put together as one expression.
 *
 * Nothing here looks ahead or back, since Hyperscan cannot: what must not stand beside the value is
 * matched as a byte of its own. Gaps are as short as they can be, so that of several values the
 * first is taken. They never cross a NUL, which separates texts that are scanned together.
 */
#include "context.h"

#include <string.h>

#include "banned.h"

/* What a blank in a word stands for. */
#define SEPARATOR "[ _.-]?"
/* Between word and name. */
#define BETWEEN "[^\\x00]{0,40}?"
/* Between the last of them and the value. Its last byte keeps the end of something longer (a path,
 * the name of a file, another key) from being taken for a value; '=' is what most often stands
 * before one. Values that are named stand within a line's width of the name: farther away it is as
 * often another thing that is found. */
#define GAP "[^\\x00]{0,48}?[^\\x00A-Za-z0-9_/+.?*-]"
/* A byte that could go on with the value would make it a part of something longer, and a '?' or '*'
 * stands for bytes that were taken out. */
#define BEHIND "(?:[^A-Za-z0-9_/+=?*-]|\\z)"

static const char *words_problem(const struct weir__strings *words)
{
    if (words->count > WEIR__CONTEXT_WORDS_MAX)
        return "has more than 64 words";
    for (size_t i = 0; i < words->count; i++)
        if (words->items[i][strspn(words->items[i], " ")] == '\0')
            return "has a word of nothing but blanks";
    return NULL;
}

const char *weir__context_problem(const struct weir__context *context)
{
    if (context->words.count == 0)
        return "has 'value' or 'names' and no 'context'";
    if (!context->value || context->value[0] == '\0')
        return "has 'context' and no 'value'";
    const char *problem = words_problem(&context->words);
    return problem ? problem : words_problem(&context->names);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int put_word(struct weir__buffer *out, const char *word)
{
    int error = 0;
    for (; *word && !error; word++) {
        if (*word == ' ')
            error = weir__buffer_puts(out, SEPARATOR);
        else if (is_plain(*word))
            error = weir__buffer_putc(out, *word);
        else
            error = weir__buffer_printf(out, "\\x%02x", (unsigned)(unsigned char)*word);
    }
    return error;
}

static int put_words(struct weir__buffer *out, const struct weir__strings *words)
{
    int error = weir__buffer_puts(out, "(?i:");
    for (size_t i = 0; i < words->count && !error; i++) {
        if (i > 0)
            error = weir__buffer_putc(out, '|');
        if (!error)
            error = put_word(out, words->items[i]);
    }
    return error ? error : weir__buffer_putc(out, ')');
}

int weir__context_expand(const struct weir__context *context, struct weir__buffer *out)
{
    int error = put_words(out, &context->words);
    if (!error && context->names.count > 0) {
        error = weir__buffer_puts(out, BETWEEN);
        if (!error)
            error = put_words(out, &context->names);
    }
    return error ? error : weir__buffer_printf(out, GAP "(%s)" BEHIND, context->value);
}

const char *weir__context_keyword(const char *word, size_t *ret_length)
{
    const char *best = word;
    size_t best_length = 0;
    while (*word) {
        size_t length = strcspn(word, " ");
        if (length > best_length) {
            best = word;
            best_length = length;
        }
        word += length + (word[length] == ' ');
    }
    *ret_length = best_length;
    return best;
}
