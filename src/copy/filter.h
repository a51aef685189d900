/* filter.h - which names belong to the copy: the pattern rules of rsync.
 *
 * Rules are tried in the order in which they were added; the first that matches decides, and what
 * no rule matches is included. An excluded directory hides all below it (the walk does not go
 * there). Patterns, as in rsync's manual: a leading slash anchors at the root of the transfer; a
 * trailing slash matches directories alone; a pattern with a slash (other than a trailing one) or
 * with ** is matched against the path, its end unless anchored, others against the last name; *
 * stops at a slash, ** does not; *** at the end, behind "dir/", matches dir and all below; ? is one
 * byte but a slash; [...] a class; a backslash takes the next character as it is when the pattern
 * has wildcards, and is a backslash when it has none. Bytes are compared, not characters of a
 * locale.
 *
 * Limits: WEIR__FILTER_RULES_MAX rules, patterns of WEIR__PATTERN_MAX bytes, rule files of
 * WEIR__RULE_FILE_MAX bytes: more is refused. Matching is linear in pattern times path, whatever
 * the pattern.
 *
 * A filter is built by one thread and then only read, by any number.
 *
 * Ownership: a filter owns its patterns and is freed by weir__filter_free().
 */
#ifndef WEIR_COPY_FILTER_H
#define WEIR_COPY_FILTER_H

#include <stddef.h>

#include <weir/error.h>

#include "pattern.h"

#define WEIR__FILTER_RULES_MAX 65536u
#define WEIR__RULE_FILE_MAX    (1u << 20)

enum weir__verdict { WEIR__FILTER_NONE, WEIR__FILTER_INCLUDE, WEIR__FILTER_EXCLUDE };

struct weir__filter;

WEIR_MUST_USE int weir__filter_new(struct weir__filter **ret_filter);
void weir__filter_free(struct weir__filter *filter);

/* One pattern of --exclude (or --include). "+ " or "- " in front overrides which; "!" alone forgets
 * all rules so far; an empty text is no rule. Invalid, TooLarge at a limit or NoMemory, and
 * weir__filter_problem() says what and where. */
WEIR_MUST_USE int weir__filter_add(struct weir__filter *filter, enum weir__verdict verdict,
                                   const char *pattern);

/* A file of patterns, one on a line; lines that are empty or begin with ; or # are left out. Lines
 * end with LF, CR or both; "-" is standard input. with_nul: patterns end with NUL instead. A file
 * that cannot be read is an error of its kind (NotFound, Denied, ...) with the same kind of text.
 * The rules before a refused one stay. */
WEIR_MUST_USE int weir__filter_add_file(struct weir__filter *filter, enum weir__verdict verdict,
                                        const char *path, bool with_nul);

/* The last refusal, "'rules': line 3: pattern is longer than 4096 bytes"; never NULL. It has what
 * was given in it, so it is shown through weir__log(), which escapes controls. */
const char *weir__filter_problem(const struct weir__filter *filter);

bool weir__filter_needs_path(const struct weir__filter *filter);

/* path is relative to the root of the transfer, without a leading slash; name is its last part.
 * path may be NULL if weir__filter_needs_path() is false. */
enum weir__verdict weir__filter_match(const struct weir__filter *filter, const char *path,
                                      const char *name, bool is_dir);

#endif
