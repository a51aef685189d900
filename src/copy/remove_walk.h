/* remove_walk.h - where a removal is: a stack of levels, of which the last few have their directory
 * open.
 *
 *     levels   0   1   2   ...   d-8 | d-7  ...  d-1  d      d is where we are
 *              closed, known by inode | open, with what was read of them
 *
 * Going down, level d takes the place of level d-8 among the open ones; coming up past them, the
 * directory is opened again through ".." and must have the inode that it had. So a wide tree is
 * read without opening anything twice, and a chain of any length takes a handful of descriptors.
 *
 * Ownership: the walk owns its memory and its descriptors, and borrows the rest.
 */
#ifndef WEIR_COPY_REMOVE_WALK_H
#define WEIR_COPY_REMOVE_WALK_H

#include <dirent.h>
#include <sys/stat.h>

#include "buffer.h"
#include "remove.h"

struct weir__remove_level {
    uint64_t device;
    uint64_t inode;
    int64_t read_to;    /* behind the entry that was looked at last */
    size_t path_length; /* of its path, which the paths of all below begin with */
    uint32_t stuck;     /* entries that stay, of this pass */
    uint32_t removed;   /* of this pass */
    uint16_t mode;      /* before we changed it */
    uint8_t passes;
    bool is_changed : 1; /* its mode */
    bool is_reopened : 1;
};

struct weir__remove_open {
    int fd; /* -1: none */
    size_t level;
    size_t at; /* in entries */
    size_t length;
    char *entries; /* kept for the next one */
};

struct weir__remove_walk {
    const struct weir__remove_options *options;
    int top_dir;
    const char *top_name;
    bool is_top_stuck;
    uint64_t removed;
    struct weir__remove_level *levels;
    size_t depth; /* how many levels there are; 0: in the directory of the caller */
    size_t levels_room;
    struct weir__buffer path; /* of the last level */
    struct weir__remove_open open[WEIR__REMOVE_OPEN_MAX];
};

void weir__remove_walk_init(struct weir__remove_walk *walk, int dir, const char *name,
                            const struct weir__remove_options *options);
/* A run that was cut off leaves the directories that are open with the modes that they had. */
void weir__remove_walk_fini(struct weir__remove_walk *walk);

/* The directory that we are in, and its level; NULL in that of the caller. */
int weir__remove_here(struct weir__remove_walk *walk);
struct weir__remove_level *weir__remove_last(struct weir__remove_walk *walk);

/* Asks whether an entry may go, tells that one stays because of errno, or that of the directory
 * itself something failed. */
bool weir__remove_may(struct weir__remove_walk *walk, const char *name, bool is_dir);
/* Tells that it is gone; name NULL: the directory that we are in. */
void weir__remove_gone(struct weir__remove_walk *walk, const char *name, bool is_dir);
void weir__remove_failed(struct weir__remove_walk *walk, const char *name, const char *what);
void weir__remove_tell(struct weir__remove_walk *walk, const char *what, int errno_value);

/* An entry of this directory stays, or is gone. */
void weir__remove_note_stuck(struct weir__remove_walk *walk);
void weir__remove_note_removed(struct weir__remove_walk *walk);

/* A directory of ours that lacks rights of its owner. */
bool weir__remove_is_locked(const struct stat *st);
/* After a call in the directory of the depth-th level failed: its mode was changed and the call may
 * be made again. */
bool weir__remove_unlock(struct weir__remove_walk *walk, size_t depth);

/* Opens a directory in this one; -1 with errno. *ret_mode is set, to what it was, if the mode had
 * to be changed. */
int weir__remove_open_child(struct weir__remove_walk *walk, const char *name, mode_t *ret_mode);

/* Makes fd, which was opened like that, the directory that we are in. mode: (mode_t)-1 if it was
 * not changed. -1 with ENOMEM. */
int weir__remove_push(struct weir__remove_walk *walk, const char *name, int fd,
                      const struct stat *st, mode_t mode);

/* Opens the directory above. False: the way was lost, which has been told, and we are in the last
 * directory above that is still where it was. */
bool weir__remove_open_above(struct weir__remove_walk *walk);
/* Removes this directory from the one above, which is open: 0, or -1 with errno. */
int weir__remove_rmdir(struct weir__remove_walk *walk);
/* Leaves this directory, which stays or not, for the one above, which is open. */
void weir__remove_pop(struct weir__remove_walk *walk, bool is_gone);

/* The next entry, or NULL at the end; also at an error, which is told. */
const struct dirent64 *weir__remove_next(struct weir__remove_walk *walk);
/* Begins to read from the beginning. */
bool weir__remove_rewind(struct weir__remove_walk *walk);

#endif
