/* path_name.c - rules that have a path and no expression, asked about the last part of a path
 * alone.
 *
 * The history of a repository has names long before anybody knows the folders that they lie in. A
 * rule whose path is what most of them are,
 *
 *     the beginning of the path, or a slash; then what has no slash in it; then its end
 *
 * says the same of a name as of any path that ends with it. Of any other rule nothing is known, and
 * then every name may be one that it finds.
 */
#include <string.h>

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

bool weir__scanner_may_name(struct weir__scanner *scanner, const char *name)
{
    const struct weir__engine *engine = scanner->engine;
    for (uint32_t k = 0; k < engine->path_rules_count; k++) {
        uint32_t i = engine->path_rules[k];
        const char *path = engine->prepared[i].rule->path;
        const char *rest = behind_start(path);
        if (!rest || !has_no_slash(rest) ||
            weir__matcher_has(&scanner->paths[i], scanner->data, name, strlen(name)))
            return true;
    }
    return false;
}
