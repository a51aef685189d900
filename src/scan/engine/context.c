/* context.c - words, names and a value, put together as one expression.
 *
 * What must not stand beside the value is matched as a byte of its own. Gaps are as short as they
 * can be, so that of several values the first is taken. They never cross a NUL, which separates
 * texts that are scanned together.
 *
 * A word of few letters is in random text by accident, so it must stand in a name: at its beginning
 * or where camelCase has a joint, in one case of letters, with nothing but a name behind it.
 * The gap before the value does not cross the end of a line that ends with a value, either: what
 * is on the next one has a name of its own.
 *
 * Nor is a value looked for behind a name that has none: files of settings that are to be filled in
 * have name after name with nothing behind the sign, and the first value in them is that of its own
 * name. A value alone on the line behind (code that was wrapped) is taken.
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
/* A byte of a gap: any, but no end of a line behind a value. */
#define VALUE_ENDS                                                                                 \
    "[A-Za-z0-9+/=]{16}|[A-Za-z0-9+/=]{16}[\"',;]|[A-Za-z0-9+/=]{16}[\"'}\\])][,;}\\])]"
#define LINE_END "(?<!" VALUE_ENDS ")[\\r\\n]"
#define ANY      "(?:[^\\x00\\r\\n]|" LINE_END ")"
/* The rest of a name, from a word in it on, and what stands before its value. */
#define BLANKS "[ \\t]{0,8}"
#define REST   "[\\w.-]{0,40}[\"'\\])]{0,2}" BLANKS
/* A value that is none. */
#define NOTHING "(?:\"\"|''|(?:null|nil|None)\\b)(?![\"'])"
/* The end of a line, with a comment before it and lines of them behind it. */
#define LINE_ENDS                                                                                  \
    BLANKS "(?:#[^\\x00\\r\\n]{0,48})?(?=[\\r\\n])(?:\\s{1,24}(?:#|//"                             \
           "|;|\\[)[^\\x00\\r\\n]{0,48}(?=[\\r\\n])){0,"                                           \
           "2}\\s{1,24}"
/* A name with a sign; a value in base64 may end like one, and nothing comes behind it. */
#define NAME "(?:\"[A-Za-z_][\\w.-]{0,48}\"|'[A-Za-z_][\\w.-]{0,48}'|[A-Za-z_][\\w.-]{0,48})" BLANKS
#define NEXT_NAME                                                                                  \
    "(?:(?:#|//|;|export|set)[ \\t]{0,4}){0,2}" NAME "[:=](?:" BLANKS "[^=\\s]|\\s{1,8}" NAME      \
    "[:=])"
/* What has no value is not followed by one: KEY="", and KEY= with another name in the next line. */
#define NOT_EMPTY "(?!" REST "(?:(?:[:?]?=>?|:)" BLANKS NOTHING "|[:?]?=>?" LINE_ENDS NEXT_NAME "))"
/* "key:" with another name in the next line: in YAML a section begins like that. So it must be the
 * name of a value, and the other one none for the value of it. */
#define KIND          "(?:key|token|secret|passw|pwd)"
#define PART          "(?:val|default|data|plain|text|string|prod|live|dev|stag|test|pass|api|auth|id)"
#define OTHER_NAME    "(?![\"']?(?i:" PART "|[\\w.-]{0,32}" KIND "))" NAME ":\\s"
#define NOT_EMPTY_KEY "(?!" REST ":" LINE_ENDS OTHER_NAME ")"
/* The same where the word may itself be that of a section. */
#define SECTION "(?:[\\w.-]{0,24}[\"']?:" BLANKS "\\{?\\s{1,24}[\"']?)?"
#define NOT_EMPTY_SECTION                                                                          \
    "(?!(?i:(?<=key|token|secret|passw|pwd)|" SECTION "[\\w.-]{0,32}" KIND ")" REST ":" BLANKS     \
    "(?:" NOTHING ",?)?" LINE_ENDS OTHER_NAME ")"
/* Between word and name: sections of settings have other lines there. */
#define BETWEEN "[^\\x00]{0,40}?"
/* Between the last of them and the value. Its last byte keeps the end of something longer (a path,
 * the name of a file, another key) from being taken for a value; '=' is what most often stands
 * before one. Values that are named stand within a line's width of the name: farther away it is as
 * often another thing that is found. */
#define GAP "[^\\x00]{0,48}?[^\\x00A-Za-z0-9_/+.?*-]"
/* The same behind short words; it takes several times as long. */
#define SHORT_GAP ANY "{0,48}?(?:[^\\x00\\r\\nA-Za-z0-9_/+.?*-]|" LINE_END ")"
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

/* Whether what stands before the gap is the name of a value, and not of a section. */
static bool is_named(const struct weir__context *context)
{
    static const char *const kinds[] = {"key", "token", "secret", "passw", "pwd"};
    bool is_all = true;
    for (size_t i = 0; i < context->words.count; i++) {
        bool has = false;
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            has |= strcasestr(context->words.items[i], kinds[k]) != NULL;
        is_all &= has;
    }
    return is_all || context->names.count > 0;
}

int weir__context_expand(const struct weir__context *context, struct weir__buffer *out)
{
    size_t count = count_short(&context->words);
    int error = put_context(out, &context->words, count);
    if (!error && context->names.count > 0) {
        error = weir__buffer_puts(out, NOT_EMPTY BETWEEN);
        if (!error)
            error = put_words(out, &context->names);
    }
    if (!error)
        error = weir__buffer_puts(out, is_named(context) ? NOT_EMPTY NOT_EMPTY_KEY
                                                         : NOT_EMPTY NOT_EMPTY_SECTION);
    if (!error)
        error = weir__buffer_puts(out, count > 0 ? SHORT_GAP : GAP);
    return error ? error : weir__buffer_printf(out, "(%s)" BEHIND, context->value);
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
