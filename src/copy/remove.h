/* remove.h - removes what stands under a name, with all below it, never following a symlink and
 * never leaving the directory it was given.
 *
 * Works with WEIR__REMOVE_OPEN_MAX descriptors and one more whatever the depth, and with two where
 * there are no more: down by openat(O_NOFOLLOW), up through ".." with a check that it is the
 * directory that we came from. Memory is O(depth), small for each level. Directories that may not
 * be read or written are made so first when they are ours; those that stay get their mode back.
 *
 * Limits: 4 Mi levels, and 1 GiB for the names of all levels together; what is below stays and is
 * told as failed (ENOMEM).
 *
 * Ownership: everything is borrowed.
 */
#ifndef WEIR_COPY_REMOVE_H
#define WEIR_COPY_REMOVE_H

#include <stdint.h>

#include <weir/cancel.h>
#include <weir/error.h>

#define WEIR__REMOVE_OPEN_MAX 8

/* The longest path that is told; longer ones end with "...". */
#define WEIR__REMOVE_PATH_MAX (16u << 20)

struct weir__remove_options {
    /* Called before each entry goes, for a directory before all that is in it; path is relative to
     * what weir__remove_tree() was given, "" for that itself. False: keep it, and all that is in
     * it (its directory stays, too, and that is no error). Asked again for an entry that turned
     * from a directory into something else or back, and for what it kept if the directory must be
     * read again. May be NULL. */
    bool (*may)(void *arg, const char *path, bool is_dir);
    /* Called right before an entry goes, so that deletions can be limited. False: keep it. May be
     * NULL. */
    bool (*claim)(void *arg);
    /* Called for each that is gone (or would be), a directory after what was in it. May be NULL. */
    void (*gone)(void *arg, const char *path, bool is_dir);
    /* Called for each that could not be removed, what being "cannot remove" or the like; the rest
     * goes on. May be NULL. */
    void (*failed)(void *arg, const char *path, const char *what, int errno_value);
    void *arg;
    struct weir_cancel *cancel; /* or NULL */
    bool dry_run;               /* walks and asks may, removes nothing */
    uint64_t device;            /* with has_device: do not go into directories on another one */
    bool has_device;
};

/* name is one name in dir, not a path: Invalid. 0: gone, or was not there (in a dry run: would be
 * gone). -WEIR_E_INCOMPLETE: something was kept or failed. Canceled.
 * ret_removed counts entries, also of a run that was not complete, and may be NULL. */
int weir__remove_tree(int dir, const char *name, const struct weir__remove_options *options,
                      uint64_t *ret_removed);

#endif
