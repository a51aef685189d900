/* fuzz_filter.c - any bytes as rules and as a .gitignore, held against any path.
 *
 * The input is a byte of choices, a path up to a NUL, and the rules. What must hold whatever they
 * are: rules are accepted or refused with a text; a file of rules decides as its lines do one by
 * one; a .gitignore without "!" ignores what one of its lines ignores; and every line that is made
 * of plain bytes, ? and * matches as a table filled in by the definition says, and as fnmatch()
 * says where that knows the pattern.
 */
#include "filter.h"
#include "ignore.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pattern.h"
#include "require.h"

#include "banned.h"

#define PATH_BYTES_MAX   512
#define RULES_BYTES_MAX  4096
#define SMALL            96 /* bytes of a pattern or a text in the table */
#define STARS_MAX        4  /* fnmatch() takes exponential time in them */

#define CHOICE_NUL       1u
#define CHOICE_DIR       2u
#define CHOICE_INCLUDE   4u
#define CHOICE_HOW       4 /* the bits above it are enum weir__pattern_how */

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "filter", #condition)

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum weir__verdict verdict_of(const struct weir__filter *filter, const char *path,
                                     bool is_dir)
{
    return weir__filter_match(filter, weir__filter_needs_path(filter) ? path : NULL, name_of(path),
                              is_dir);
}

/* Rules. */

static int add_as_file(struct weir__filter *filter, enum weir__verdict verdict, const char *rules,
                       size_t length, bool with_nul)
{
    char path[64];
    int fd = memfd_create("rules", MFD_CLOEXEC);
    HOLDS(fd >= 0 && pwrite(fd, rules, length, 0) == (ssize_t)length);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int error = weir__filter_add_file(filter, verdict, path, with_nul);
    close(fd);
    return error;
}

static void add_one_by_one(struct weir__filter *filter, enum weir__verdict verdict, char *rules,
                           size_t length, bool with_nul)
{
    for (size_t at = 0; at < length;) {
        char *rule = rules + at;
        size_t rule_length = 0;
        while (at + rule_length < length &&
               (with_nul ? rule[rule_length] != '\0' : !memchr("\r\n", rule[rule_length], 2)))
            rule_length++;
        at += rule_length + 1;
        rule[rule_length] = '\0';
        if (rule[0] != '#' && rule[0] != ';')
            HOLDS(weir__filter_add(filter, verdict, rule) == 0);
    }
}

/* rules[length] is 0; the rules are changed. */
static void check_rules(unsigned choices, const char *path, char *rules, size_t length)
{
    struct weir__filter *filter = NULL, *again = NULL;
    bool is_dir = choices & CHOICE_DIR, with_nul = choices & CHOICE_NUL;
    enum weir__verdict verdict =
        choices & CHOICE_INCLUDE ? WEIR__FILTER_INCLUDE : WEIR__FILTER_EXCLUDE;
    HOLDS(weir__filter_new(&filter) == 0 && weir__filter_new(&again) == 0);
    int error = add_as_file(filter, verdict, rules, length, with_nul);
    HOLDS(error == 0 || error == -WEIR_E_INVALID);
    HOLDS((error == 0) == (weir__filter_problem(filter)[0] == '\0'));
    enum weir__verdict found = verdict_of(filter, path, is_dir);
    HOLDS(found == WEIR__FILTER_NONE || found == WEIR__FILTER_INCLUDE ||
          found == WEIR__FILTER_EXCLUDE);
    if (error == 0) {
        add_one_by_one(again, verdict, rules, length, with_nul);
        HOLDS(verdict_of(again, path, is_dir) == found);
    }
    weir__filter_free(filter);
    weir__filter_free(again);
}

/* .gitignore. */

static bool ignores(const char *text, size_t length, const char *path, bool is_dir)
{
    struct weir__ignore *ignore = NULL;
    HOLDS(weir__ignore_new(&ignore, NULL, "", text, length) == 0);
    bool is_ignored = weir__ignore_is_ignored(ignore, path, is_dir);
    weir__ignore_free(ignore);
    return is_ignored;
}

static void check_ignore(unsigned choices, const char *path, const char *text, size_t length)
{
    bool is_dir = choices & CHOICE_DIR, is_one_ignored = false;
    bool is_ignored = ignores(text, length, path, is_dir);
    const char *end;
    if (memchr(text, '!', length))
        return;
    for (size_t at = 0; at < length; at += (size_t)(end - (text + at)) + 1) {
        end = memchr(text + at, '\n', length - at);
        end = end ? end : text + length;
        is_one_ignored |= ignores(text + at, (size_t)(end - (text + at)), path, is_dir);
    }
    /* The mark is left out at the beginning of a file only, which every line alone is. */
    if (!memmem(text, length, "\xef\xbb\xbf", 3))
        HOLDS(is_one_ignored == is_ignored);
}

/* Patterns. */

/* By the definition, for each end of the pattern and each end of the text. */
static bool table_says(const char *pattern, const char *text)
{
    static bool matches[SMALL + 1][SMALL + 3];
    size_t m = strlen(pattern), n = strlen(text);
    for (size_t i = m + 1; i-- > 0;) {
        bool is_star = pattern[i] == '*';
        bool is_wide = is_star && (pattern[i + 1] == '*' || (i > 0 && pattern[i - 1] == '*'));
        for (size_t j = n + 1; j-- > 0;) {
            if (i == m)
                matches[i][j] = j == n;
            else if (is_star)
                matches[i][j] = matches[i + 1][j] ||
                                (j < n && (is_wide || text[j] != '/') && matches[i][j + 1]);
            else
                matches[i][j] = j < n && matches[i + 1][j + 1] &&
                                (pattern[i] == text[j] || (pattern[i] == '?' && text[j] != '/'));
        }
    }
    return matches[0][0];
}

static bool definition_says(unsigned how, const char *pattern, const char *path)
{
    char text[SMALL + 3];
    snprintf(text, sizeof(text), "%s%s%s", how & WEIR__PATTERN_SLASH_BEFORE ? "/" : "", path,
             how & WEIR__PATTERN_SLASH_BEHIND ? "/" : "");
    bool matches = table_says(pattern, text);
    for (const char *p = text; how & WEIR__PATTERN_FLOATING && (p = strchr(p, '/'));)
        matches |= table_says(pattern, ++p);
    return matches;
}

static bool matches(enum weir__dialect dialect, unsigned how, const char *pattern, const char *path)
{
    struct weir__pattern made;
    HOLDS(weir__pattern_init(&made, dialect, pattern, strlen(pattern)) == 0);
    bool result = weir__pattern_match(&made, how, path, strlen(path));
    weir__pattern_fini(&made);
    return result;
}

static void check_pattern(unsigned choices, const char *path, const char *pattern)
{
    unsigned how = choices >> CHOICE_HOW & 7;
    size_t stars_count = 0;
    for (const char *p = pattern; *p; p++)
        stars_count += *p == '*';
    if (strlen(pattern) > SMALL || strlen(path) > SMALL || strpbrk(pattern, "[\\"))
        return;
    HOLDS(matches(WEIR__DIALECT_RSYNC, how, pattern, path) == definition_says(how, pattern, path));
    if (strstr(pattern, "**") || stars_count > STARS_MAX)
        return;
    bool known = fnmatch(pattern, path, FNM_PATHNAME) == 0;
    HOLDS(matches(WEIR__DIALECT_RSYNC, WEIR__PATTERN_WHOLE, pattern, path) == known);
    HOLDS(matches(WEIR__DIALECT_GIT, WEIR__PATTERN_WHOLE, pattern, path) == known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[PATH_BYTES_MAX + 1];
    if (size < 2)
        return 0;
    unsigned choices = data[0];
    size_t path_length = strnlen((const char *)data + 1, size - 1);
    size_t begin = 1 + path_length + 1;
    if (path_length == 0 || path_length > PATH_BYTES_MAX || begin > size ||
        size - begin > RULES_BYTES_MAX || data[1] == '/' || data[path_length] == '/')
        return 0;
    memcpy(path, data + 1, path_length);
    path[path_length] = '\0';
    size_t length = size - begin;
    char *rules = malloc(length + 1);
    if (!rules)
        return 0;
    memcpy(rules, data + begin, length);
    rules[length] = '\0';
    check_ignore(choices, path, rules, length);
    check_rules(choices, path, rules, length); /* leaves the first rule ended with NUL */
    check_pattern(choices, path, rules);
    free(rules);
    return 0;
}
