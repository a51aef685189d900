/* cover_source.c - what a line of a file calls a secret, as people write it in programs.
 *
 * A name, perhaps in quotes, then one of = : := => and spaces, or behind #define spaces alone, and
 * what it names: in quotes up to the closing one, or to the end where there is none; else up to a
 * space or a mark that ends it; of a list all that is in quotes, up to its end. What calls or reads
 * something (a '(' in it, a '$' or '<' before it) is no secret. And the password of -u
 * user:password.
 */
#include <string.h>

#include "cover.h"

#include "banned.h"

#define BLANKS " \t"
#define QUOTES "\"'`"

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

/* How long what is in quotes is; a quote behind a '\' is a part of it. */
static size_t quoted_length(const char *text, char quote)
{
    size_t length = 0;
    while (text[length] && text[length] != '\n' && text[length] != quote)
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return length;
}

/* What is named there, and how long it is. */
static size_t value_at(char *text, char **ret_value)
{
    if (*text == '\\' && text[1] == '"') { /* within a text in quotes */
        *ret_value = text + 2;
        return strcspn(text + 2, "\\\"\n");
    }
    *ret_value = text;
    if (*text && strchr(QUOTES, *text)) {
        *ret_value = text + 1;
        return quoted_length(text + 1, *text);
    }
    size_t length = strcspn(text, BLANKS "\n;,&\"'`)]}");
    bool is_code = *text == '$' || *text == '<' || memchr(text, '(', length);
    return is_code ? 0 : length;
}

/* Behind a name and what closes it: how long the separator is, with the spaces around; or 0. */
static size_t separator_at(const char *text, bool is_define)
{
    size_t before = strspn(text, "\\\"'`])" BLANKS), sign = 0;
    const char *at = text + before;
    if (strncmp(at, ":=", 2) == 0 || strncmp(at, "=>", 2) == 0)
        sign = 2;
    else if ((*at == '=' && at[1] != '=') || (*at == ':' && at[1] != ':'))
        sign = 1;
    if (sign == 0)
        return is_define ? strspn(text, BLANKS) : 0;
    return before + sign + strspn(at + sign, BLANKS);
}

/* Where the password of "-u user:password" begins, behind the '-'; or NULL. */
static char *password_of_user(char *text)
{
    size_t blanks = text[1] == 'u' ? strspn(text + 2, BLANKS) : 0;
    if (blanks == 0)
        return NULL;
    char *user = text + 2 + blanks;
    user += *user && strchr(QUOTES, *user);
    size_t length = strcspn(user, BLANKS "\n\"'`:/@");
    return length > 0 && user[length] == ':' ? user + length + 1 : NULL;
}

static void cover(char *text, size_t length)
{
    memset(text, '*', length);
}

/* All that is in quotes from there on, up to the end of the list; returns where that is. */
static char *cover_list(char *text)
{
    while (*text && !strchr("])\n", *text)) {
        char *value = NULL;
        bool is_quoted = strchr(QUOTES, *text) || (*text == '\\' && text[1] == '"');
        size_t length = is_quoted ? value_at(text, &value) : 0;
        if (!is_quoted) {
            text++;
            continue;
        }
        if (!weir__cover_is_nothing(value, length))
            cover(value, length);
        /* Behind the quote that closes it, if there is one. */
        text = value + length;
        text += strspn(text, "\\");
        text += *text && *text != '\n';
    }
    return text;
}

void weir__cover_listed(char *text)
{
    text += strspn(text, "\\");
    text += *text && strchr(QUOTES, *text);
    cover_list(text);
}

bool weir__cover_source(char *line)
{
    bool is_define = false, is_open = false;
    for (char *at = line; *at;) {
        char *user =
            *at == '-' && (at == line || strchr(BLANKS, at[-1])) ? password_of_user(at) : NULL;
        if (user) {
            size_t length = strcspn(user, BLANKS "\n\"'`");
            cover(user, length);
            at = user + length;
            continue;
        }
        size_t name = 0;
        while (is_name_byte(at[name]))
            name++;
        if (name == 0) {
            at++;
            continue;
        }
        bool is_secret = weir__cover_is_name(at, name);
        char *behind = at + name, *value = NULL;
        size_t separator = is_secret ? separator_at(behind, is_define) : 0;
        bool is_list = separator > 0 && (behind[separator] == '[' || behind[separator] == '(');
        size_t length = separator > 0 && !is_list ? value_at(behind + separator, &value) : 0;
        is_define = name == strlen("define") && memcmp(at, "define", name) == 0 && at > line &&
                    at[-1] == '#';
        at = is_list ? cover_list(behind + separator + 1) : behind;
        is_open = is_list && *at == '\0';
        if (length > 0 && !weir__cover_is_nothing(value, length)) {
            cover(value, length);
            at = value + length;
        }
    }
    return is_open;
}
