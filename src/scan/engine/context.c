/* context.c - words, names and a value, put together as one expression.
 *
 * What must not stand beside the value is matched as a byte of its own. Gaps are as short as they
 * can be, so that of several values the first is taken. They never cross a NUL, which separates
 * texts that are scanned together.
 *
 * A word of few letters is in random text by accident, so it must stand in a name: at its beginning
 * or where camelCase has a joint, in one case of letters, with nothing but a name behind it.
 *
 * Whose value it is that was found, an expression cannot tell: binding.c does.
 */
#include "context.h"

#include <string.h>

#include "banned.h"

/* What a blank in a word stands for. */
#define SEPARATOR "[ _.-]?"
/* Up to so many letters a word is short. */
#define SHORT_MAX    6u
#define SHORT_BEGINS "(?:(?<![A-Za-z0-9])|(?<=[a-z])(?=[A-Z]))"
/* Its first three letters are not of mixed case, unless a blank is in it: ovh, Ovh, OVH. A longer
 * word says enough in any. */
#define CASE_MIN   3u
#define CASE_MAX   5u
#define SHORT_CASE "(?-i:(?![a-z].?[A-Z]|.[a-z][A-Z]|[A-Z]{2}[a-z]))"
/* A number, letters, a number, and no more of those: KEY2, 2Token, Client. */
#define SHORT_ENDS "(?=[0-9]{0,2}[A-Za-z]{0,24}[0-9]{0,2}(?![A-Za-z0-9]))"
/* Where a word or a name has ended: binding.c looks on from there. */
#define MARK "()"
/* Between word and name: sections of settings have other lines there. */
#define BETWEEN "[^\\x00]{0,40}?"
/* Between the last of them and the value. Its last byte keeps the end of something longer (a path,
 * the name of a file, another key) from being taken for a value; '=' is what most often stands
 * before one, and a '-' is of the sign where a shell has a fallback: ${X:-V}. Values that are named
 * stand within a line's width of the name: farther away it is as often another thing that is found.
 */
#define GAP "[^\\x00]{0,48}?(?:[^\\x00A-Za-z0-9_/+.?*-]|:-)"
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

static bool is_short(const char *word)
{
    size_t letters = 0;
    for (; *word; word++)
        letters += *word != ' ';
    return letters <= SHORT_MAX;
}

static bool has_case(const char *word)
{
    size_t length = strlen(word);
    return length >= CASE_MIN && length <= CASE_MAX && !strchr(word, ' ');
}

/* Those that are short, or the others. */
static int put_words_of(struct weir__buffer *out, const struct weir__strings *words, bool is_wanted,
                        size_t count)
{
    int error = weir__buffer_puts(out, is_wanted ? SHORT_BEGINS "(?i:" : "(?i:");
    for (size_t i = 0; i < words->count && !error; i++) {
        if (is_short(words->items[i]) != is_wanted)
            continue;
        if (is_wanted && has_case(words->items[i]))
            error = weir__buffer_puts(out, SHORT_CASE);
        if (!error)
            error = put_word(out, words->items[i]);
        if (!error)
            error = weir__buffer_putc(out, --count > 0 ? '|' : ')');
    }
    return error || !is_wanted ? error : weir__buffer_puts(out, SHORT_ENDS);
}

static size_t count_short(const struct weir__strings *words)
{
    size_t count = 0;
    for (size_t i = 0; i < words->count; i++)
        count += is_short(words->items[i]);
    return count;
}

/* The words of the context: short ones have edges. */
static int put_context(struct weir__buffer *out, const struct weir__strings *words, size_t count)
{
    if (count == 0)
        return put_words(out, words);
    int error = weir__buffer_puts(out, "(?:");
    if (!error)
        error = put_words_of(out, words, true, count);
    if (!error && count < words->count)
        error = weir__buffer_putc(out, '|');
    if (!error && count < words->count)
        error = put_words_of(out, words, false, words->count - count);
    return error ? error : weir__buffer_putc(out, ')');
}

int weir__context_expand(const struct weir__context *context, struct weir__buffer *out)
{
    size_t count = count_short(&context->words);
    int error = put_context(out, &context->words, count);
    if (!error && context->names.count > 0) {
        error = weir__buffer_puts(out, MARK BETWEEN);
        if (!error)
            error = put_words(out, &context->names);
    }
    if (!error)
        error = weir__buffer_puts(out, MARK GAP);
    return error ? error : weir__buffer_printf(out, "(%s)" BEHIND, context->value);
}

unsigned weir__context_group(const struct weir__context *context)
{
    return context->names.count > 0 ? 3 : 2;
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
