/* worktrees.h - the working trees of a repository, by the folders in which git keeps the index and
 * the HEAD of each.
 *
 *     weir__git_worktrees_each(gitdir, commondir, on_worktree, arg, problem, problem_arg)
 *
 * That of the working tree at hand comes first, then the main one's, then those of linked ones, by
 * name; each once. A linked working tree need not be there any more: what is staged in it is.
 *
 * Limits: WEIR__GIT_WORKTREES_MAX linked ones; more are told, and none of them is given.
 *
 * Ownership: nothing is kept; what a call is given is valid during the call.
 */
#ifndef WEIR_SCAN_GIT_WORKTREES_H
#define WEIR_SCAN_GIT_WORKTREES_H

#include "refs.h"

/* An open folder, and how it is called in messages. Anything but 0 ends it all with that answer. */
typedef int weir__git_worktree_fn(void *arg, int dir, const char *said);

/* What cannot be opened or listed is told (problem may be NULL) and passed over. NoMemory. */
WEIR_MUST_USE int weir__git_worktrees_each(const char *gitdir, const char *commondir,
                                           weir__git_worktree_fn *fn, void *arg,
                                           void (*problem)(void *arg, const char *text),
                                           void *problem_arg);

#endif
