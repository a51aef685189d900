/* path_name.c - rules that have a path and no expression, asked about the last part of a path
 * alone.
 *
 * The history of a repository has names long before anybody knows the folders that they lie in. A
 * rule whose path is what most of them are,
 *
 *     the beginning of the path, or a slash; then what has no slash in it; then its end
 *
 * says the same of a name as of any path that ends with it. Of another one it may be known how all
 * that it matches ends (config/master\.key$): other names are none that it finds. Else nothing is
 * known, and every name may be one.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "parts.h"

#include "banned.h"

static const char *skip(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text && strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* Behind what stands for the beginning of a name; or NULL. */
static const char *behind_start(const char *path)
{
    static const char *const starts[] = {"(?:^|[/!])", "(?:^|/)", "(?:^|\\/)", "(^|/)", "(^|\\/)"};
    const char *text = skip(path, "(?i)");
    text = text ? text : path;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (skip(text, starts[i]))
            return skip(text, starts[i]);
    return NULL;
}

/* Behind a class that a slash is not in; or NULL. */
static const char *behind_class(const char *text)
{
    const char *end = strchr(text, ']');
    if (!end || text[0] != '[')
        return NULL;
    size_t length = (size_t)(end - text);
    bool has_slash = memchr(text, '/', length) != NULL;
    bool is_plain =
        !memchr(text + 1, '[', length - 1) && end[-1] != '\\' &&
        (length < 2 || !memmem(text, length, "\\", 1) || memmem(text, length, "\\/", 2));
    return is_plain && has_slash == (text[1] == '^') ? end + 1 : NULL;
}

/* Whether all that the rest of an expression can match has no slash. */
static bool has_no_slash(const char *text)
{
    while (text && *text) {
        if (*text == '[')
            text = behind_class(text);
        else if (*text == '\\')
            text = text[1] == '.' || text[1] == '-' || text[1] == '_' || text[1] == 'd' ||
                           text[1] == 'w'
                       ? text + 2
                       : NULL;
        else if (skip(text, "(?:"))
            text += 3;
        else if (*text == '.' || *text == '/' || *text == '^' || skip(text, "(?") ||
                 (*text == '$' && text[1] != '\0'))
            text = NULL;
        else
            text++;
    }
    return text != NULL;
}

/* Behind a group's beginning or an option, of those that change nothing here; or NULL. */
static const char *behind_open(const char *text, unsigned *depth)
{
    if (skip(text, "(?i)"))
        return text + 4;
    ++*depth;
    if (skip(text, "(?i:"))
        return text + 4;
    if (skip(text, "(?:"))
        return text + 3;
    return text[1] == '?' || text[1] == '*' ? NULL : text + 1;
}

/* Behind any class that is plainly one; or NULL. */
static const char *behind_set(const char *text)
{
    text += text[1] == '^' ? 2 : 1;
    if (*text == ']')
        return NULL;
    for (; *text && *text != ']'; text++)
        if (*text == '[' || (*text == '\\' && !*++text))
            return NULL;
    return *text ? text + 1 : NULL;
}

/* Whether the expression is one after the other to its end, which is that of the path. */
static bool is_to_the_end(const char *text)
{
    unsigned depth = 0;
    size_t length = strlen(text);
    if (length < 2 || text[length - 1] != '$' || text[length - 2] == '\\')
        return false;
    while (text && *text) {
        if (*text == '\\')
            text = text[1] && text[1] != 'Q' ? text + 2 : NULL;
        else if (*text == '[')
            text = behind_set(text);
        else if (*text == '(')
            text = behind_open(text, &depth);
        else if ((*text == '|' && depth == 0) || (*text == ')' && depth-- == 0))
            text = NULL;
        else
            text++;
    }
    return text && depth == 0;
}

/* Where what stands for itself begins, before the end; a slash, and what is before it, is no part
 * of that. Letters that are escaped stand for something else, of which what follows may be a part
 * (\x41, \pL, \10): then nothing is known. */
static size_t literal_from(const char *text, size_t end)
{
    size_t from = end;
    while (from > 0) {
        size_t at = from - 1, escapes = 0;
        while (escapes < at && text[at - 1 - escapes] == '\\')
            escapes++;
        bool is_escaped = escapes % 2;
        bool is_word = isalnum((unsigned char)text[at]) || text[at] == '_';
        bool is_itself = text[at] == '-' || (text[at] == '.' && is_escaped);
        if (is_word && is_escaped)
            return strchr("bBdDsSwW", text[at]) ? from : end;
        if (!is_itself && !is_word)
            break;
        from = at - is_escaped;
    }
    return from;
}

/* Whether a path that the expression matches may end with the name. */
static bool may_end(const char *path, const char *name)
{
    char tail[256];
    size_t length = 0, end = strlen(path) - 1, named = strlen(name);
    if (!is_to_the_end(path))
        return true;
    size_t from = literal_from(path, end);
    if (end - from >= sizeof(tail))
        return true;
    for (size_t i = from; i < end; i++)
        if (path[i] != '\\')
            tail[length++] = path[i];
    tail[length] = '\0';
    /* Without regard to case letters may be written with others than those of ASCII. */
    for (size_t i = 0; i < named; i++)
        if ((unsigned char)name[i] >= 0x80)
            return true;
    bool is_all = from > 0 && path[from - 1] == '/';
    return named >= length && (!is_all || named == length) &&
           strcasecmp(name + named - length, tail) == 0;
}

bool weir__scanner_may_name(struct weir__scanner *scanner, const char *name)
{
    const struct weir__engine *engine = scanner->engine;
    for (uint32_t k = 0; k < engine->path_rules_count; k++) {
        uint32_t i = engine->path_rules[k];
        const char *path = engine->prepared[i].rule->path;
        const char *rest = behind_start(path);
        bool is_known = rest && has_no_slash(rest);
        if (is_known ? weir__matcher_has(&scanner->paths[i], scanner->data, name, strlen(name))
                     : may_end(path, name))
            return true;
    }
    return false;
}
