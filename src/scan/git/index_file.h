/* index_file.h - git's index: what is staged.
 *
 *     weir__git_index_read(gitdir_fd, "index", id_size, on_entry, arg, why)
 *
 * Versions 2, 3 and 4 (names that share what they begin with), of either hash; a split index, whose
 * entries lie in a shared file, is put together. Entries come as they lie in the file, those of a
 * split index not in order. In a sparse index a folder that is not checked out is one entry, whose
 * mode is that of a tree.
 *
 * Promises: nothing outside of the file is read, whatever it says; what is broken is Corrupt and
 * names the entry, and the entries before it have been given (of a broken split index without the
 * shared ones, and some without a path). Extensions are passed over; an
 * unknown one that must be understood is Unsupported. The checksum is not computed.
 *
 * Limits: WEIR__GIT_INDEX_BYTES_MAX of a file, WEIR__GIT_INDEX_PATH_MAX of a path. Memory: the
 * file, and the shared one.
 *
 * Ownership: an entry borrows its path, which is valid during the call.
 */
#ifndef WEIR_SCAN_GIT_INDEX_FILE_H
#define WEIR_SCAN_GIT_INDEX_FILE_H

#include "commit.h"

#define WEIR__GIT_INDEX_BYTES_MAX (2u << 30)
#define WEIR__GIT_INDEX_PATH_MAX  (1u << 20)

struct weir__git_index_entry {
    const char *path; /* ended by NUL */
    size_t path_length;
    struct weir__git_id id;
    uint32_t mode;
    unsigned stage;        /* 0; 1, 2, 3 in a conflict: of the base, ours, theirs */
    bool is_intent_to_add; /* it has no content yet; its id is that of the empty blob */
    bool is_skip_worktree;
};

/* Anything but 0 ends the reading and is what it returns. */
typedef int weir__git_index_fn(void *arg, const struct weir__git_index_entry *entry);

/* Of the folder that is open as dir. bytes_max: of each file that is read; 0 for
 * WEIR__GIT_INDEX_BYTES_MAX. NotFound when there is no index: nothing is staged then.
 * Corrupt, Unsupported, TooLarge, Io, NoMemory; and why. */
WEIR_MUST_USE int weir__git_index_read(int dir, const char *name, size_t id_size,
                                       uint64_t bytes_max, weir__git_index_fn *fn, void *arg,
                                       char why[WEIR__GIT_FLAW_MAX]);

/* The same of bytes; shared are those of the shared file, if the index is a split one: without
 * them, NotFound, and ret_shared has the id that it is named by. ret_shared may be NULL. */
WEIR_MUST_USE int weir__git_index_parse(const char *bytes, size_t length,
                                        const struct weir__buffer *shared, size_t id_size,
                                        weir__git_index_fn *fn, void *arg,
                                        struct weir__git_id *ret_shared,
                                        char why[WEIR__GIT_FLAW_MAX]);

#endif
