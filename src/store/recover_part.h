/* recover_part.h - what the files that open a folder share: recover.c and recover_index.c.
 *
 * Ownership: of who opens the store, on its stack.
 */
#ifndef WEIR_STORE_RECOVER_PART_H
#define WEIR_STORE_RECOVER_PART_H

#include <limits.h>

#include "store_part.h"

#define WEIR__RECOVER_INDEX "index"
/* A full disk is no reason not to read what it holds. LMDB calls it Io at times. */
#define WEIR__RECOVER_NO_ROOM "the disk has no room for it, or fails: it is kept in memory"

struct weir__found {
    struct weir__store *store;
    struct weir__store_report *report;
    uint32_t *ids;
    size_t count, room;
    size_t known;            /* of these, that the index knows */
    bool is_in_memory;       /* the index */
    struct weir__bulk *bulk; /* what the index will have; NULL: segments go to it one by one */
    char bulk_path[PATH_MAX];
    uint32_t newest_id;          /* when it was closed; 0: not known */
    bool is_short;               /* the index knows more than there is */
    uint32_t finished_id;        /* of the newest, if nothing of it was unfinished; 0: of none */
    uint64_t lost_inside;        /* bytes of segments that nobody can tell any more */
    uint64_t left_from, left_to; /* of the one that is read: the last of what could not be kept */
    int wrong_error;             /* why damaged chunks could not be noted, or 0 */
};

/* --- recover.c --- */
bool weir__recover_has_id(const struct weir__found *found, uint32_t id);
/* So many segments, or bytes of this one, are gone. */
void weir__recover_note_lost(struct weir__found *found, uint32_t id, uint64_t segments,
                             uint64_t bytes);
/* Of its file. One that cannot be told is none that is too small: who reads it will see. */
uint64_t weir__recover_size_of(struct weir__store *store, uint32_t id);

/* --- recover_index.c --- */
/* is_aside: what had its name was none, and lies elsewhere. */
WEIR_MUST_USE int weir__recover_start_index(struct weir__found *found,
                                            const struct weir__store_mark *mark, bool is_aside);
/* Segments are forgotten, to be read once more. */
WEIR_MUST_USE int weir__recover_drop_known(struct weir__store *store);
/* The index has all that was gathered. */
WEIR_MUST_USE int weir__recover_end_bulk(struct weir__found *found);
WEIR_MUST_USE int weir__recover_index_in_memory(struct weir__found *found);

#endif
