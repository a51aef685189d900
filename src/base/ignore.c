/* ignore.c - .gitignore files, read and applied as git does.
 *
 * Within a file the last rule that matches decides, so the list is gone through from its end.
 *
 * What git does and its manual does not say: a CR at the end of a line goes with it, as does a
 * byte order mark at the beginning of the file; a line ends at its first NUL.
 */
#include "ignore.h"

#include <string.h>

#include "alloc.h"
#include "pattern.h"
#include "require.h"

#include "banned.h"

struct rule {
    struct weir__pattern pattern;
    bool is_negated;
    bool is_for_dirs;
    bool is_on_path; /* held against the path below the directory, not the last name */
};

struct weir__ignore {
    const struct weir__ignore *above;
    size_t skip;  /* bytes of a path that lead to what is in the directory */
    size_t bytes; /* of memory */
    uint32_t rules_count;
    struct rule rules[];
};

/* The next line, without its end; false when there is none. */
static bool take_line(const char **text, size_t *left, const char **line, size_t *length)
{
    if (*left == 0)
        return false;
    const char *end = memchr(*text, '\n', *left);
    size_t taken = end ? (size_t)(end - *text) : *left;
    *line = *text;
    *length = taken;
    taken += end != NULL;
    *text += taken;
    *left -= taken;
    return true;
}

/* The length without blanks at the end. Of those behind a backslash the first one stays. */
static size_t without_blanks(const char *line, size_t length)
{
    size_t kept = 0;
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\\')
            i++;
        else if (line[i] == ' ')
            continue;
        kept = i + 1;
    }
    return kept < length ? kept : length;
}

/* The rule on a line, without its end; length 0 when there is none. */
static size_t rule_length(const char *line, size_t length)
{
    if (length == 0 || line[0] == '#')
        return 0;
    if (line[length - 1] == '\r')
        length--;
    return without_blanks(line, strnlen(line, length));
}

static int make_rule(struct rule *rule, const char *text, size_t length)
{
    *rule = (struct rule){0};
    if (length > WEIR__PATTERN_MAX)
        return -WEIR_E_TOO_LARGE;
    if (text[0] == '!') {
        rule->is_negated = true;
        text++;
        length--;
    }
    if (length > 0 && text[length - 1] == '/') {
        rule->is_for_dirs = true;
        length--;
    }
    rule->is_on_path = memchr(text, '/', length);
    if (length > 0 && text[0] == '/') {
        text++;
        length--;
    }
    return weir__pattern_init(&rule->pattern, WEIR__DIALECT_GIT, text, length);
}

static size_t count_rules(const char *text, size_t left)
{
    const char *line;
    size_t length, count = 0;
    while (take_line(&text, &left, &line, &length))
        count += rule_length(line, length) > 0;
    return count;
}

int weir__ignore_new(struct weir__ignore **ret_ignore, const struct weir__ignore *above,
                     const char *dir_path, const char *text, size_t length)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    const char *line;
    size_t line_length;
    if (length > WEIR__IGNORE_FILE_MAX)
        return -WEIR_E_TOO_LARGE;
    if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    size_t count = count_rules(text, length);
    if (count > WEIR__IGNORE_RULES_MAX)
        return -WEIR_E_TOO_LARGE;
    struct weir__ignore *ignore =
        weir__base_alloc(1, sizeof(*ignore) + count * sizeof(ignore->rules[0]));
    if (!ignore)
        return -WEIR_E_NO_MEMORY;
    ignore->above = above;
    ignore->bytes = sizeof(*ignore) + count * sizeof(ignore->rules[0]);
    ignore->skip = dir_path[0] ? strlen(dir_path) + 1 : 0;
    while (take_line(&text, &length, &line, &line_length)) {
        line_length = rule_length(line, line_length);
        if (line_length == 0)
            continue;
        int error = make_rule(&ignore->rules[ignore->rules_count], line, line_length);
        if (error) {
            weir__ignore_free(ignore);
            return error;
        }
        ignore->bytes += weir__pattern_bytes(&ignore->rules[ignore->rules_count].pattern);
        ignore->rules_count++;
    }
    *ret_ignore = ignore;
    return 0;
}

void weir__ignore_free(struct weir__ignore *ignore)
{
    if (!ignore)
        return;
    for (uint32_t i = 0; i < ignore->rules_count; i++)
        weir__pattern_fini(&ignore->rules[i].pattern);
    weir__base_free(ignore);
}

bool weir__ignore_is_ignored(const struct weir__ignore *ignore, const char *path, bool is_dir)
{
    size_t path_length = strlen(path);
    const char *slash = memrchr(path, '/', path_length);
    const char *name = slash ? slash + 1 : path;
    size_t name_length = (size_t)(path + path_length - name);
    for (; ignore; ignore = ignore->above) {
        WEIR__REQUIRE(ignore->skip == 0 ||
                          (ignore->skip <= path_length && path[ignore->skip - 1] == '/'),
                      "ignore", path, "not below the directory of the file");
        const char *below = path + ignore->skip;
        for (uint32_t i = ignore->rules_count; i-- > 0;) {
            const struct rule *rule = &ignore->rules[i];
            if (rule->is_for_dirs && !is_dir)
                continue;
            const char *text = rule->is_on_path ? below : name;
            size_t length = rule->is_on_path ? path_length - ignore->skip : name_length;
            if (weir__pattern_match(&rule->pattern, WEIR__PATTERN_WHOLE, text, length))
                return !rule->is_negated;
        }
    }
    return false;
}

size_t weir__ignore_bytes(const struct weir__ignore *ignore)
{
    return ignore->bytes;
}
