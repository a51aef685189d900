/* refs_file.h - small files and folders of a repository, read as a whole and without surprises.
 *
 * Promises: a name leads nowhere outside of the folder that it is looked up in (a symlink that does
 * so is refused with Unsupported), what is not a regular file is refused with Invalid instead of
 * being waited for, and no more is read than was allowed (TooLarge).
 *
 * Ownership: descriptors and buffers belong to the caller.
 */
#ifndef WEIR_SCAN_GIT_REFS_FILE_H
#define WEIR_SCAN_GIT_REFS_FILE_H

#include "buffer.h"

/* The whole file in place of what the buffer had; at most as much as it may hold. NotFound, Denied,
 * Unsupported, Invalid, TooLarge, Io, NoMemory. */
WEIR_MUST_USE int weir__git_file_read(int dir, const char *name, struct weir__buffer *bytes);

/* The lines of a file, of any size: of each its first bytes, at most WEIR__GIT_HEAD_MAX, and the
 * newline if that is among them. Anything but 0 from fn ends it with that answer. As above, but
 * for TooLarge. */
#define WEIR__GIT_HEAD_MAX 256u
WEIR_MUST_USE int weir__git_file_heads(int dir, const char *name,
                                       int (*fn)(void *arg, const char *head, size_t length),
                                       void *arg);

/* What is to be said of what these fail with. */
const char *weir__git_file_why(int error);

/* The names in a folder, but "." and "..", each ended with NUL and begun with the kind of its
 * entry: 'd' a folder, 'f' a file, 'l' a symlink, 'o' other. Sorted by nothing. The buffer bounds
 * them (Overflow). NotFound when there is no such folder. */
WEIR_MUST_USE int weir__git_folder_read(int dir, const char *name, struct weir__buffer *names);

/* Takes the last of the paths that wait, each ended with NUL, into room that is enough for any of
 * them. False: none is left. */
bool weir__git_folder_take(struct weir__buffer *paths, char *path);

/* A folder by its path; a symlink is followed. */
WEIR_MUST_USE int weir__git_folder_open(const char *path, int *ret_fd);

#endif
