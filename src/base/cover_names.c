/* cover_names.c - which names are those of secrets, and which values are none. */
#include <string.h>
#include <strings.h>

#include "cover_part.h"

#include "banned.h"

bool weir__cover_is_name_byte(char c)
{
    return weir__cover_is_letter(c) || weir__cover_is_digit(c) || c == '_' || c == '-' || c == '.';
}

size_t weir__cover_name_length(const char *text)
{
    size_t length = 0;
    while (weir__cover_is_name_byte(text[length]))
        length++;
    return length;
}

/* Whether two letters may be one in different cases, which rules out most words. */
static bool is_alike(char one, char other)
{
    return ((one ^ other) & ~0x20) == 0;
}

bool weir__cover_has_inside(const char *name, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    for (size_t i = 0; i + word_length <= length; i++)
        if (is_alike(name[i], word[0]) && strncasecmp(name + i, word, word_length) == 0)
            return true;
    return false;
}

static bool has_end(const char *name, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    return length >= word_length &&
           strncasecmp(name + length - word_length, word, word_length) == 0;
}

bool weir__cover_is_one_of(const char *word, size_t length, const char *const *words)
{
    for (; length > 0 && *words; words++)
        if (is_alike(word[0], **words) && length == strlen(*words) &&
            strncasecmp(word, *words, length) == 0)
            return true;
    return false;
}

/* One word of a name; of several its plural says the same. */
static bool is_word_of_secrets(const char *word, size_t length)
{
    static const char *const others[] = {"monkey", "donkey",  "turkey", "hockey", "jockey",
                                         "hotkey", "compass", "bypass", "sacred", NULL};
    static const char *const ends[] = {"pass", "pwd", "pw", "token", "key", "cred", "auth"};
    bool is_plural = length > 1 && (word[length - 1] | 0x20) == 's';
    if (weir__cover_is_one_of(word, length, others) ||
        weir__cover_is_one_of(word, length - is_plural, others))
        return false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (has_end(word, length, ends[i]) || (is_plural && has_end(word, length - 1, ends[i])))
            return true;
    return false;
}

/* The name of how many there are, or how large one is. */
static bool is_name_of_measure(const char *name, size_t length)
{
    static const char *const measures[] = {"count",  "counts", "size",  "length", "limit",
                                           "limits", "type",   "types", "index",  NULL};
    size_t from = length;
    while (from > 0 && weir__cover_is_letter(name[from - 1]) &&
           (from == length || !weir__cover_is_capital(name[from]) ||
            !weir__cover_is_small(name[from - 1])))
        from--;
    return weir__cover_is_one_of(name + from, length - from, measures);
}

bool weir__cover_is_name(const char *name, size_t length)
{
    if (is_name_of_measure(name, length))
        return false;
    static const char *const insides[] = {"passw",  "passphrase", "secret", "credential",
                                          "apikey", "authoriz",   "bearer"};
    for (size_t i = 0; i < sizeof(insides) / sizeof(*insides); i++)
        if (weir__cover_has_inside(name, length, insides[i]))
            return true;
    for (size_t from = 0, i = 1; i <= length; i++) {
        bool is_end = i == length || !weir__cover_is_letter(name[i]) ||
                      (weir__cover_is_capital(name[i]) && weir__cover_is_small(name[i - 1]));
        if (is_end && is_word_of_secrets(name + from, i - from))
            return true;
        from = is_end ? i : from;
    }
    return false;
}

bool weir__cover_is_nothing(const char *value, size_t length)
{
    static const char *const nothings[] = {"none",  "null",      "nil",    "true",
                                           "false", "undefined", "lambda", NULL};
    while (length > 0 && strchr(",;)]}", value[length - 1]))
        length--;
    return weir__cover_is_one_of(value, length, nothings);
}

/* Where programs read a value from. */
static bool begins_with_owner(const char *value, size_t length)
{
    static const char *const owners[] = {"self.",    "this.", "process.", "os.",      "args.",
                                         "config.",  "env.",  "ENV[",     "options.", "settings.",
                                         "request.", "req.",  "params.",  "secrets."};
    for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++)
        if (length > strlen(owners[i]) && strncmp(value, owners[i], strlen(owners[i])) == 0)
            return true;
    return false;
}

bool weir__cover_is_code(const char *value, size_t length)
{
    if (length == 0 || *value == '<' || begins_with_owner(value, length))
        return true;
    char next = length > 1 ? value[1] : '\0';
    if (*value == '$' && (weir__cover_is_letter(next) || strchr("_{(", next)))
        return true;
    if ((*value == '{' && next == '{') || (*value == '%' && value[length - 1] == '%'))
        return true;
    size_t name = 0;
    while (name < length &&
           (weir__cover_is_name_byte(value[name]) || value[name] == ':' || value[name] == '>'))
        name++;
    return name > 0 && name < length && value[name] == '(' && !weir__cover_is_digit(*value);
}

bool weir__cover_is_odd(const char *value, size_t length)
{
    size_t letters = 0, digits = 0, marks = 0;
    for (size_t i = 0; i < length; i++) {
        letters += weir__cover_is_letter(value[i]);
        digits += weir__cover_is_digit(value[i]);
        marks += strchr("!@#$%^*+?", value[i]) != NULL;
    }
    return length >= 6 && !strchr("/.~-", *value) && (digits >= 5 || (letters && digits + marks));
}
