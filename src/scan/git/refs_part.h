/* refs_part.h - what the files of the refs share; nobody else includes this.
 *
 *   refs.c          the list
 *   refs_nowhere.c  names that are not in it
 *   refs_log.c      logs, the stash, FETCH_HEAD and the like
 *   refs_parse.c    lines and names
 *   refs_file.c     files and folders
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_GIT_REFS_PART_H
#define WEIR_SCAN_GIT_REFS_PART_H

#include "refs.h"

/* One entry of a folder, as weir__git_folder_read() gives it. */
typedef int weir__git_refs_entry_fn(struct weir__git_refs *refs, int dir, const char *prefix,
                                    const char *path, const char *entry);

/* Everything in the folder `top` and in those below it; the function adds folders to _folders. */
WEIR_MUST_USE int weir__git_refs_each(struct weir__git_refs *refs, int dir, const char *prefix,
                                      const char *top, weir__git_refs_entry_fn *entry);

/* target: of a symbolic ref, else NULL. */
WEIR_MUST_USE int weir__git_refs_add(struct weir__git_refs *refs, const char *name,
                                     size_t name_length, const struct weir__git_ref *given,
                                     const char *target);

/* Puts a name, ended with NUL; where it begins. TooLarge, NoMemory. */
WEIR_MUST_USE int weir__git_refs_put(struct weir__git_refs *refs, const char *text, size_t length,
                                     size_t *ret_at);

/* A name that is not in the list, and leads nowhere. */
WEIR_MUST_USE int weir__git_refs_note(struct weir__git_refs *refs, const char *text, size_t length);
/* The same, of one that was put. */
WEIR_MUST_USE int weir__git_refs_note_at(struct weir__git_refs *refs, size_t at);
/* When the list is sorted: these, too, each once. */
void weir__git_refs_sort_nowhere(struct weir__git_refs *refs);

weir__git_refs_entry_fn weir__git_refs_take_log;
WEIR_MUST_USE int weir__git_refs_read_stash(struct weir__git_refs *refs, int common_fd);
/* Of one worktree; prefix: what their names begin with. */
WEIR_MUST_USE int weir__git_refs_read_pseudo(struct weir__git_refs *refs, int git_fd,
                                             const char *prefix);

/* The limit of one of the parts, where there is one for all of them; else `most`. */
size_t weir__git_refs_part(const struct weir__git_refs *refs, size_t most);
/* How many records of that size a list that is full may grow to, of at most so many; no more than
 * it has: it cannot. */
size_t weir__git_refs_room(const struct weir__git_refs *refs, size_t room, size_t size,
                           size_t most);

/* Says it to whoever listens, and counts it. */
__attribute__((cold, format(printf, 2, 3))) void weir__git_refs_tell(struct weir__git_refs *refs,
                                                                     const char *format, ...);

#endif
