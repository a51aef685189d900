/* cover.c - asterisks for what has the shape of a secret. */
#include "cover.h"

#include <string.h>
#include <strings.h>

#include "text.h"

#include "banned.h"

#define WORD_MIN    16u
#define LETTERS_MIN 4u /* with fewer it is a number and its unit */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void cover(char *text, size_t length)
{
    memset(text, '*', length);
}

/* How far what begins there may reach. */
static size_t reach_of(const char *text, bool is_quoted)
{
    return strcspn(text, is_quoted ? "'\n" : " \t\n'\"&");
}

/* --- URLs --- */

/* at: behind the "://". */
static void cover_user(char *at, bool is_quoted)
{
    size_t from, until;
    if (weir__text_find_user_before_path(at, reach_of(at, is_quoted), &from, &until))
        cover(at + from, until - from);
}

/* --- names of secrets --- */

static bool is_name_byte(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

static bool has_word(const char *name, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    for (size_t i = 0; i + word_length <= length; i++)
        if (strncasecmp(name + i, word, word_length) == 0)
            return true;
    return false;
}

/* Whether the bytes of the text before at end with the name of a secret. */
static bool is_secrets_name(const char *text, const char *at)
{
    static const char *const words[] = {"pass", "pwd", "secret", "token", "key", "cred", "auth"};
    const char *name = at;
    while (name > text && is_name_byte(name[-1]))
        name--;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (has_word(name, (size_t)(at - name), words[i]))
            return true;
    return false;
}

void weir__cover_named(char *text)
{
    bool is_quoted = false;
    for (char *at = text; *at; at++) {
        if (*at == '\'') {
            is_quoted = !is_quoted;
        } else if (strncmp(at, "://", 3) == 0) {
            cover_user(at + 3, is_quoted);
        } else if (*at == '=' && is_secrets_name(text, at)) {
            size_t length = reach_of(at + 1, is_quoted);
            cover(at + 1, length);
            at += length;
        }
    }
}

/* --- words --- */

static bool is_word_byte(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '+' || c == '=';
}

static bool is_made_by_machine(const char *word, size_t length)
{
    size_t letters = 0, others = 0;
    for (size_t i = 0; i < length; i++) {
        letters += is_letter(word[i]);
        others += is_digit(word[i]) || (word[i] >= 'A' && word[i] <= 'Z');
    }
    return length >= WORD_MIN && letters >= LETTERS_MIN && others > 0;
}

void weir__cover_typed(char *text)
{
    weir__cover_named(text);
    for (char *at = text; *at;) {
        size_t length = 0;
        at += strspn(at, "-"); /* of an option */
        while (is_word_byte(at[length]))
            length++;
        if (is_made_by_machine(at, length))
            cover(at, length);
        at += length > 0 || !*at ? length : 1;
    }
}
