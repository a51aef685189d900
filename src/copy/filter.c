/* filter.c - rules of include and exclude, by rsync's reading of them.
 *
 * What a pattern means depends on its text alone, so all of it is worked out when the rule is made:
 * which part of a path it is held against (the last name, the last N names, the whole, or any end
 * that begins behind a slash) and with which slashes added (rsync lets a pattern that begins with
 * ** see a slash before the path, so that it matches at the top as well, and one that ends with ***
 * a slash behind a directory, so that it matches the directory as well as what is in it).
 *
 * rsync looks for slashes and ** in the text without regard to brackets and backslashes. So do we:
 * "[**]x" is held against the path, and "a[/]b" against the last two names.
 *
 * In one thing we are stricter: a NUL in a file of lines is refused, while rsync forgets what
 * stands behind it on the line, which is all but the first rule of a file made for --from0. What is
 * too long is refused too, while rsync goes on without the rule.
 */
#include "filter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "buffer.h"
#include "cover.h"
#include "log.h"
#include "pattern.h"
#include "require.h"
#include "sys.h"

#include "banned.h"

#define PROBLEM_MAX 256
#define RULES_FIRST 16u
#define READ_BYTES  4096u

struct rule {
    struct weir__pattern pattern;
    uint8_t verdict;
    uint8_t how; /* enum weir__pattern_how */
    bool is_for_dirs;
    bool is_on_path;      /* held against the path, not the last name */
    bool has_dir_slash;   /* sees a slash behind a directory */
    uint32_t names_count; /* held against that many names at the end of the path; 0 for all */
};

struct weir__filter {
    struct rule *rules;
    uint32_t rules_count;
    uint32_t rules_room;
    bool needs_path;
    char problem[PROBLEM_MAX];
};

int weir__filter_new(struct weir__filter **ret_filter)
{
    struct weir__filter *filter = weir__base_alloc(1, sizeof(*filter));
    if (!filter)
        return -WEIR_E_NO_MEMORY;
    *ret_filter = filter;
    return 0;
}

static void forget_rules(struct weir__filter *filter)
{
    for (uint32_t i = 0; i < filter->rules_count; i++)
        weir__pattern_fini(&filter->rules[i].pattern);
    filter->rules_count = 0;
    filter->needs_path = false;
}

void weir__filter_free(struct weir__filter *filter)
{
    if (!filter)
        return;
    forget_rules(filter);
    weir__base_free(filter->rules);
    weir__base_free(filter);
}

const char *weir__filter_problem(const struct weir__filter *filter)
{
    return filter->problem;
}

bool weir__filter_needs_path(const struct weir__filter *filter)
{
    return filter->needs_path;
}

__attribute__((format(printf, 3, 4))) static int refuse(struct weir__filter *filter, int error,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(filter->problem, sizeof(filter->problem), format, args);
    va_end(args);
    return error;
}

/* Where a rule came from, as it stands in front of a refusal. */
struct place {
    const char *file; /* NULL: the rule was given by itself */
    const char *unit; /* "line" or "rule" */
    unsigned long number;
};

/* The problem follows the place, or the rule itself. */
static int refuse_rule(struct weir__filter *filter, const struct place *place, int error,
                       const char *rule, size_t length, const char *problem)
{
    char shown[WEIR__CLIP_SIZE];
    if (place->file)
        return refuse(filter, error, "'%s': %s %lu: %s", WEIR__TYPED(place->file), place->unit,
                      place->number, problem);
    return refuse(filter, error, "'%s': %s", weir__cover_clip(shown, sizeof(shown), rule, length),
                  problem);
}

/* Making rules. */

static int reserve_rule(struct weir__filter *filter)
{
    if (filter->rules_count < filter->rules_room)
        return 0;
    if (filter->rules_count == WEIR__FILTER_RULES_MAX)
        return -WEIR_E_TOO_LARGE;
    uint32_t room = filter->rules_room ? 2 * filter->rules_room : RULES_FIRST;
    struct rule *rules = weir__base_realloc(filter->rules, room, sizeof(*rules));
    if (!rules)
        return -WEIR_E_NO_MEMORY;
    filter->rules = rules;
    filter->rules_room = room;
    return 0;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* Fills everything but the pattern, and returns the part of the text that is one: without the slash
 * that anchors it and the one that limits it to directories. */
static const char *understand(struct rule *rule, const char *text, size_t *length)
{
    bool has_stars = false;
    bool begins_with_stars = *length >= 2 && memcmp(text, "**", 2) == 0;
    uint32_t slashes_count = 0;
    for (size_t i = 1; i < *length; i++)
        has_stars |= text[i - 1] == '*' && text[i] == '*';
    if (*length > 1 && text[*length - 1] == '/') {
        rule->is_for_dirs = true;
        --*length;
    }
    rule->has_dir_slash = ends_with(text, *length, "***");
    for (size_t i = 0; i < *length; i++)
        slashes_count += text[i] == '/';
    rule->is_on_path = has_stars || slashes_count > 0;
    if (text[0] == '/') {
        --*length;
        return text + 1;
    }
    if (begins_with_stars)
        rule->how = WEIR__PATTERN_SLASH_BEFORE;
    else if (has_stars)
        rule->how = WEIR__PATTERN_FLOATING;
    else if (slashes_count > 0)
        rule->names_count = slashes_count + 1;
    return text;
}

static int add_pattern(struct weir__filter *filter, enum weir__verdict verdict, const char *text,
                       size_t length)
{
    struct rule rule = {.verdict = (uint8_t)verdict};
    if (length > WEIR__PATTERN_MAX)
        return -WEIR_E_TOO_LARGE;
    int error = reserve_rule(filter);
    if (error)
        return error;
    text = understand(&rule, text, &length);
    error = weir__pattern_init(&rule.pattern, WEIR__DIALECT_RSYNC, text, length);
    if (error)
        return error;
    filter->rules[filter->rules_count++] = rule;
    filter->needs_path |= rule.is_on_path;
    return 0;
}

static int add_rule(struct weir__filter *filter, const struct place *place,
                    enum weir__verdict verdict, const char *text, size_t length)
{
    const char *given = text;
    size_t given_length = length;
    if (length == 1 && text[0] == '!') {
        forget_rules(filter);
        return 0;
    }
    if (length >= 2 && (text[0] == '+' || text[0] == '-') && text[1] == ' ') {
        verdict = text[0] == '+' ? WEIR__FILTER_INCLUDE : WEIR__FILTER_EXCLUDE;
        text += 2;
        length -= 2;
        if (length == 0)
            return refuse_rule(filter, place, -WEIR_E_INVALID, given, given_length,
                               "no pattern behind the sign");
    }
    if (length == 0)
        return 0;
    char problem[64];
    int error = add_pattern(filter, verdict, text, length);
    if (error == 0)
        return 0;
    if (length > WEIR__PATTERN_MAX)
        snprintf(problem, sizeof(problem), "pattern is longer than %u bytes", WEIR__PATTERN_MAX);
    else if (error == -WEIR_E_TOO_LARGE)
        snprintf(problem, sizeof(problem), "more than %u rules", WEIR__FILTER_RULES_MAX);
    else
        snprintf(problem, sizeof(problem), "%s", weir_error_text(error));
    return refuse_rule(filter, place, error, given, given_length, problem);
}

int weir__filter_add(struct weir__filter *filter, enum weir__verdict verdict, const char *pattern)
{
    WEIR__REQUIRE(verdict != WEIR__FILTER_NONE, "filter", pattern, "neither included nor excluded");
    return add_rule(filter, &(struct place){0}, verdict, pattern, strlen(pattern));
}

/* Files of rules. */

static int read_all(struct weir__filter *filter, const char *path, int fd,
                    struct weir__buffer *content)
{
    char bytes[READ_BYTES];
    for (;;) {
        ssize_t count = weir__sys_read(fd, bytes, sizeof(bytes));
        if (count < 0)
            return refuse(filter, weir_error_from_errno(errno), "cannot read '%s': %s",
                          WEIR__TYPED(path), weir__log_reason(errno));
        if (count == 0)
            return 0;
        int error = weir__buffer_append(content, bytes, (size_t)count);
        if (error == -WEIR_E_OVERFLOW)
            return refuse(filter, -WEIR_E_TOO_LARGE, "'%s': larger than %u bytes",
                          WEIR__TYPED(path), WEIR__RULE_FILE_MAX);
        if (error)
            return refuse(filter, error, "cannot read '%s': %s", WEIR__TYPED(path),
                          weir_error_text(error));
    }
}

static int read_file(struct weir__filter *filter, const char *path, struct weir__buffer *content)
{
    if (strcmp(path, "-") == 0)
        return read_all(filter, path, STDIN_FILENO, content);
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return refuse(filter, weir_error_from_errno(errno), "cannot open '%s': %s",
                      WEIR__TYPED(path), weir__log_reason(errno));
    int error = read_all(filter, path, fd, content);
    weir__sys_close(fd);
    return error;
}

static bool is_rule(const char *line, size_t length)
{
    return length > 0 && line[0] != ';' && line[0] != '#';
}

/* Lines end with CR, LF or both. */
static int add_lines(struct weir__filter *filter, const char *path, enum weir__verdict verdict,
                     const char *text, size_t length)
{
    struct place place = {path, "line", 0};
    for (size_t at = 0; at < length;) {
        const char *line = text + at;
        size_t line_length = 0, left = length - at;
        while (line_length < left && line[line_length] != '\n' && line[line_length] != '\r')
            line_length++;
        at += line_length;
        at += at + 1 < length && text[at] == '\r' && text[at + 1] == '\n';
        at++;
        place.number++;
        if (!is_rule(line, line_length))
            continue;
        if (memchr(line, '\0', line_length))
            return refuse_rule(filter, &place, -WEIR_E_INVALID, line, line_length,
                               "a NUL byte in a line; rules that end with NUL need --from0");
        int error = add_rule(filter, &place, verdict, line, line_length);
        if (error)
            return error;
    }
    return 0;
}

static int add_ended(struct weir__filter *filter, const char *path, enum weir__verdict verdict,
                     const char *text, size_t length)
{
    struct place place = {path, "rule", 0};
    for (size_t at = 0; at < length;) {
        const char *rule = text + at;
        size_t rule_length = strnlen(rule, length - at);
        at += rule_length + 1;
        place.number++;
        int error =
            is_rule(rule, rule_length) ? add_rule(filter, &place, verdict, rule, rule_length) : 0;
        if (error)
            return error;
    }
    return 0;
}

int weir__filter_add_file(struct weir__filter *filter, enum weir__verdict verdict, const char *path,
                          bool with_nul)
{
    WEIR__REQUIRE(verdict != WEIR__FILTER_NONE, "filter", path, "neither included nor excluded");
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer content;
    weir__buffer_init(&content, WEIR__RULE_FILE_MAX);
    int error = read_file(filter, path, &content);
    if (error)
        return error;
    return (with_nul ? add_ended : add_lines)(filter, path, verdict, weir__buffer_text(&content),
                                              weir__buffer_length(&content));
}

/* Matching. */

/* The last count names of the path; NULL when it has fewer. */
static const char *last_names(const char *path, size_t length, uint32_t count)
{
    const char *slash = path + length;
    while (count > 0) {
        slash = memrchr(path, '/', (size_t)(slash - path));
        count--;
        if (!slash)
            return count == 0 ? path : NULL;
    }
    return slash + 1;
}

static bool rule_matches(const struct rule *rule, const char *text, size_t length, bool is_dir)
{
    unsigned how = rule->how;
    if (rule->names_count > 0) {
        const char *names = last_names(text, length, rule->names_count);
        if (!names)
            return false;
        length -= (size_t)(names - text);
        text = names;
    }
    if (rule->has_dir_slash && is_dir)
        how |= WEIR__PATTERN_SLASH_BEHIND;
    return weir__pattern_match(&rule->pattern, how, text, length);
}

enum weir__verdict weir__filter_match(const struct weir__filter *filter, const char *path,
                                      const char *name, bool is_dir)
{
    size_t name_length = strlen(name);
    size_t path_length = filter->needs_path && path ? strlen(path) : 0;
    WEIR__REQUIRE(path || !filter->needs_path, "filter", name, "its path is needed");
    if (name_length == 0)
        return WEIR__FILTER_NONE;
    for (uint32_t i = 0; i < filter->rules_count; i++) {
        const struct rule *rule = &filter->rules[i];
        if (rule->is_for_dirs && !is_dir)
            continue;
        if (rule->is_on_path ? rule_matches(rule, path, path_length, is_dir)
                             : rule_matches(rule, name, name_length, is_dir))
            return (enum weir__verdict)rule->verdict;
    }
    return WEIR__FILTER_NONE;
}
