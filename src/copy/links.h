/* links.h - which source inode has been copied where: hard links stay hard links.
 *
 * The first name of an inode that arrives makes the file; names that come while it is being made
 * are handed to the one who makes it; names that come later are told where it is. When as many
 * names as the inode has links have come, it is forgotten, so a tree that holds all of its links
 * needs little memory. At the limit of memory the settled ones go to an unlinked temporary file,
 * oldest first, as a hash table on disk; nothing is ever forgotten early.
 *
 * Any number of threads. No lock is held across input or output; the threads that must look into
 * the file take turns.
 *
 * Ownership: a waiter belongs to the table from the call that answers WAIT until somebody's
 * weir__links_done() hands it out; paths are copied; the name of the folder is borrowed until the
 * table is freed.
 */
#ifndef WEIR_COPY_LINKS_H
#define WEIR_COPY_LINKS_H

#include <stdint.h>

#include <weir/deadline.h>
#include <weir/error.h>

#include "buffer.h"

/* Longest path that is remembered. */
#define WEIR__LINK_PATH_MAX (16u << 20)

struct weir__links;

struct weir__link_key {
    uint64_t device;
    uint64_t inode;
};

struct weir__link_waiter {
    struct weir__link_waiter *next;
};

/* Where an inode's copy is: what a later name must find there to link to it. */
struct weir__link_place {
    uint64_t device; /* of the copy */
    uint64_t inode;
    uint64_t root;            /* which destination root, a number of the caller's */
    struct weir__buffer path; /* relative to that root; the caller inits and frees it */
};

enum weir__link_answer {
    WEIR__LINK_FIRST = 1, /* make it, then call weir__links_done() whatever happens */
    WEIR__LINK_KNOWN,     /* *place is filled in */
    WEIR__LINK_WAIT       /* the waiter was taken */
};

/* Memory stays below bytes_max, but for those that are being made: about 100 bytes each, never
 * spilled, as many as there are files in flight. Even with 0 it works, with 40 KiB and the file. */
struct weir__links_options {
    uint64_t bytes_max;
    const char *spill_dir; /* NULL: $TMPDIR, else /var/tmp, else /tmp */
};

WEIR_MUST_USE int weir__links_new(struct weir__links **ret_links,
                                  const struct weir__links_options *options);
/* Asserts that nobody waits. */
void weir__links_free(struct weir__links *links);

/* names: how many links the inode has. waiter NULL: answers Busy instead of WAIT. place->path is
 * overwritten. Returns an answer, or a negative error, and then this name has not been counted:
 * NoMemory; what became of waiting for the turn (Canceled, Timeout, and Invalid where a deadline
 * without an end would have to wait); else the code for errno, which is set (Io, NoSpace,
 * NoDescriptors): the temporary file failed. */
int weir__links_enter(struct weir__links *links, struct weir__link_key key, uint64_t names,
                      struct weir__link_waiter *waiter, struct weir__link_place *place,
                      const struct weir_deadline *deadline);

/* After FIRST. place NULL: it could not be made; then one of the waiters should become the first
 * again (by calling weir__links_enter anew). Returns all waiters as a list, in the order they came.
 * If place cannot be remembered, *ret_error (which may be NULL) says so, with the codes above or
 * TooLarge for the path, and later names will be FIRST again; the waiters may still use the place.
 * The names of an inode that could not be made once are counted anew, so that it is kept to the
 * end. */
struct weir__link_waiter *weir__links_done(struct weir__links *links, struct weir__link_key key,
                                           const struct weir__link_place *place, int *ret_error,
                                           const struct weir_deadline *deadline);

/* Bytes in memory now, and bytes in the spill file. */
void weir__links_read(struct weir__links *links, uint64_t *ret_memory, uint64_t *ret_spilled);

/* The most that the spill file ever had. */
uint64_t weir__links_spilled_most(struct weir__links *links);

#endif
