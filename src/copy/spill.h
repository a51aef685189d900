/* spill.h - the links that memory has no room for, in two files that no name leads to.
 *
 * A table of fixed slots, and a log of paths to which the slots point. Both are made when the first
 * item is put and given back when the last one is taken; space of the log is not reused before
 * that.
 *
 * Promises
 * - A call that fails changes nothing that was there: what has been put is found, with the place
 *   that was put. A slot or a path that is not as it was written is answered with EIO, never with a
 *   wrong place.
 * - Memory is what weir__spill_memory() says, whatever is in the files.
 * - Errors are negative codes, with errno set where the system said no (ENOSPC: NoSpace).
 *
 * Cost: one read of a page and one write of a slot for each item; a path is written with its
 * neighbours and read by itself. The table doubles by one sequential pass.
 *
 * One thread at a time; the callers take turns. Every call may do input and output.
 *
 * Ownership: the spill owns its files and borrows the name of the folder until it is freed; items
 * are borrowed during the call and their paths copied.
 */
#ifndef WEIR_COPY_SPILL_H
#define WEIR_COPY_SPILL_H

#include "links.h"

struct weir__spill;

struct weir__spill_item {
    struct weir__link_key key;
    uint64_t left; /* how many names are still to come; above 0 */
    uint64_t device;
    uint64_t inode;
    uint64_t root;
    const char *path;
    size_t path_length; /* up to WEIR__LINK_PATH_MAX */
};

/* dir NULL: $TMPDIR, else /var/tmp, else /tmp. buffer_bytes: of memory for reading and writing, at
 * least WEIR__SPILL_BUFFER_MIN are taken. Opens nothing yet. */
#define WEIR__SPILL_BUFFER_MIN (12u << 10)
WEIR_MUST_USE int weir__spill_new(struct weir__spill **ret_spill, const char *dir,
                                  size_t buffer_bytes);
void weir__spill_free(struct weir__spill *spill);

/* Keys must not be there yet. *ret_put tells how many of them, from the first on, are there now;
 * on failure that may be some. A fired token (or NULL) ends the growing of the table. */
WEIR_MUST_USE int weir__spill_put(struct weir__spill *spill, const struct weir__spill_item *items,
                                  size_t count, size_t *ret_put, struct weir_cancel *cancel);

/* 1: *place is filled in, and one name less is to come; after the last one the key is gone. 0: not
 * there. If it is found and only the count cannot be written, it stays longer than needed, which
 * harms nobody. */
WEIR_MUST_USE int weir__spill_take(struct weir__spill *spill, struct weir__link_key key,
                                   struct weir__link_place *place);

/* So many names are to come; with 0 the key is gone. NotFound when it is not there. */
WEIR_MUST_USE int weir__spill_set_left(struct weir__spill *spill, struct weir__link_key key,
                                       uint64_t left);

uint64_t weir__spill_count(const struct weir__spill *spill);
uint64_t weir__spill_bytes(const struct weir__spill *spill);  /* in the files */
uint64_t weir__spill_memory(const struct weir__spill *spill); /* allocated */

#endif
