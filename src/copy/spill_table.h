/* spill_table.h - the slots of a spill: a hash table in a file that doubles.
 *
 * A call that fails leaves every slot that was there as it was. The table is filled to three
 * quarters and then doubles; one that cannot grow is filled to 15/16 and is then full.
 *
 * One thread at a time. Errors as in spill_file.h, and NoSpace when it is full.
 *
 * Ownership: the table owns its file and borrows the name of the folder and the buffer.
 */
#ifndef WEIR_COPY_SPILL_TABLE_H
#define WEIR_COPY_SPILL_TABLE_H

#include "links.h"
#include "spill_file.h"

#define WEIR__SPILL_SLOTS          32u /* in a page */
#define WEIR__SPILL_PAGE_BYTES     2048u
#define WEIR__SPILL_PAGES_LOG2_MAX 36u /* 2 Ti slots */

/* All zero is an empty one, so that a file that was only made longer is a table. */
struct weir__spill_slot {
    struct weir__link_key key;
    uint64_t device;
    uint64_t inode;
    uint64_t root;
    uint64_t left;   /* names still to come */
    uint64_t log_at; /* where the path is; 0: empty, 1: a tombstone */
    uint64_t check;  /* over the others; the table sets it */
};

/* The file and what is in it; replaced as a whole when it has grown. */
struct weir__spill_pages {
    int fd; /* -1: none */
    unsigned pages_log2;
    uint64_t live;
    uint64_t tombstones;
    uint64_t grow_at; /* used slots at which growing is tried (again) */
    uint64_t refused; /* times that it was full since growing failed, with this error */
    int grow_error;
    int grow_errno;
};

struct weir__spill_table {
    struct weir__spill_pages now;
    const char *dir; /* as weir__spill_file_open() takes it */
    char *buffer;    /* for growing, of at least three pages */
    size_t buffer_bytes;
    uint64_t seed; /* of the hash, so that nobody can aim at one page */
    struct weir__spill_slot page[WEIR__SPILL_SLOTS]; /* the one that was read last */
};

struct weir__spill_spot {
    uint64_t page;
    unsigned slot;
};

void weir__spill_table_init(struct weir__spill_table *table, const char *dir, char *buffer,
                            size_t buffer_bytes);
WEIR_MUST_USE int weir__spill_table_open(struct weir__spill_table *table);
void weir__spill_table_close(struct weir__spill_table *table);

/* 1: it is at *ret_spot, and in table->page until the next call. 0: not there. */
int weir__spill_table_find(struct weir__spill_table *table, struct weir__link_key key,
                           struct weir__spill_spot *ret_spot);

/* The key must not be there. A fired token (or NULL) ends the growing. */
WEIR_MUST_USE int weir__spill_table_insert(struct weir__spill_table *table,
                                           struct weir__spill_slot slot,
                                           struct weir_cancel *cancel);

/* Of the slot that was found last. left 0: it goes. */
WEIR_MUST_USE int weir__spill_table_set_left(struct weir__spill_table *table,
                                             struct weir__spill_spot spot, uint64_t left);

uint64_t weir__spill_table_bytes(const struct weir__spill_table *table);

#endif
