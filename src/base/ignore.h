/* ignore.h - .gitignore files: what git leaves alone.
 *
 * A file is a list of rules for the directory that it lies in and everything below; the files of
 * the directories above are asked when it has no answer. What the rules mean is in gitignore(5).
 *
 * Limits: a file of WEIR__IGNORE_FILE_MAX bytes and WEIR__IGNORE_RULES_MAX rules, each of
 * WEIR__PATTERN_MAX bytes; more is refused. Asking is linear in the rules times their length times
 * that of the path.
 *
 * An ignore is not changed by asking; any number of threads may do so.
 *
 * Ownership: an ignore owns its rules, is freed by weir__ignore_free() and borrows the one above,
 * which must outlive it.
 */
#ifndef WEIR_BASE_IGNORE_H
#define WEIR_BASE_IGNORE_H

#include <stddef.h>

#include <weir/error.h>

#define WEIR__IGNORE_FILE_MAX  (1u << 20)
#define WEIR__IGNORE_RULES_MAX 65536u

struct weir__ignore;

/* text is the content of the file in the directory that has this path (relative to the root,
 * "" for the root itself). above may be NULL. Text that makes no sense is no error, as in git;
 * TooLarge at a limit, NoMemory. */
WEIR_MUST_USE int weir__ignore_new(struct weir__ignore **ret_ignore,
                                   const struct weir__ignore *above, const char *dir_path,
                                   const char *text, size_t length);
void weir__ignore_free(struct weir__ignore *ignore);

/* path is below the directory of this ignore. The last matching rule decides, the innermost file
 * first; ignore may be NULL. That a directory above is ignored is not seen here: the walk does not
 * go there, and what is below cannot be taken back. */
bool weir__ignore_is_ignored(const struct weir__ignore *ignore, const char *path, bool is_dir);

/* The memory that it takes, without those above. */
size_t weir__ignore_bytes(const struct weir__ignore *ignore);

#endif
