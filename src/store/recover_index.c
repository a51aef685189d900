/* recover_index.c - the index of a folder that is opened: as it is, made anew, or in memory.
 *
 * It is used as it is only if the store was closed cleanly, its file is byte by byte what it was
 * then, and all that it knows of is there. What is read of segments otherwise is gathered first,
 * and written at once.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "index_bulk.h"
#include "recover_part.h"
#include "sys.h"

#include "banned.h"

static size_t bulk_memory = WEIR__BULK_MEMORY;

#ifdef WEIR_FAULTS
void weir__store_bulk_memory(size_t bytes)
{
    bulk_memory = bytes;
}
#endif

static int index_path(struct weir__store *store, char path[PATH_MAX])
{
    int length =
        snprintf(path, PATH_MAX, "/proc/self/fd/%d/%s", store->folder, WEIR__RECOVER_INDEX);
    return length < PATH_MAX ? 0 : -WEIR_E_INVALID;
}

static int open_index(struct weir__store *store)
{
    char path[PATH_MAX];
    int error = index_path(store, path);
    if (!error && !store->is_read_only &&
        weir__sys_mkdirat(store->folder, WEIR__RECOVER_INDEX, 0700) < 0 && errno != EEXIST)
        error = weir_error_from_errno(errno);
    return error ? error
                 : weir__index_open(&store->index, path, store->identity.id, store->is_read_only);
}

/* Why the index that is there cannot be used; NULL: it can. */
static const char *doubt(struct weir__store *store, const struct weir__store_mark *mark)
{
    unsigned char digest[WEIR__HASH_SIZE];
    if (!mark->is_clean)
        return "the store was not closed as it should be";
    if (weir__store_index_digest(store, digest))
        return "it is not there, or cannot be read";
    if (memcmp(digest, mark->index_digest, sizeof(digest)) != 0)
        return "its file is not what it was";
    return NULL;
}

/* All of them are looked at, so that all that is lost is told. */
static int check_known(void *arg, const struct weir__segment_facts *facts)
{
    struct weir__found *found = arg;
    uint64_t size = weir__recover_size_of(found->store, facts->id);
    bool is_there = weir__recover_has_id(found, facts->id);
    if (!is_there || size < facts->size) {
        if (facts->id != found->newest_id)
            weir__recover_note_lost(found, facts->id, !is_there, is_there ? facts->size - size : 0);
        found->is_short = true;
        found->store->keeps_deletions = true; /* it may come back */
        return 0;
    }
    found->known++;
    if (facts->sequence_max >= found->store->writer.next_sequence)
        found->store->writer.next_sequence = facts->sequence_max + 1;
    return weir__segments_add(&found->store->segments, facts, -1, false);
}

int weir__recover_drop_known(struct weir__store *store)
{
    struct weir__segment_facts facts;
    while (weir__segments_next(&store->segments, 0, &facts)) {
        int error = weir__segments_remove(&store->segments, facts.id);
        if (error)
            return error;
    }
    return 0;
}

/* The index with all that it knows of the segments that are there. */
static int use_index(struct weir__found *found)
{
    int error = open_index(found->store);
    if (!error)
        error = weir__index_segments(found->store->index, check_known, found);
    if (!error && !found->is_short)
        return 0;
    if (!error)
        error = -WEIR_E_CORRUPT;
    weir__index_free(found->store->index);
    found->store->index = NULL;
    found->known = 0;
    int dropped = weir__recover_drop_known(found->store);
    return dropped ? dropped : error;
}

/* What is read from now on is gathered first. */
static int begin_bulk(struct weir__found *found)
{
    int error = index_path(found->store, found->bulk_path);
    return error ? error : weir__bulk_new(&found->bulk, found->bulk_path, bulk_memory);
}

static void update(void *arg, const struct weir__segment_facts *facts)
{
    weir__segments_update(arg, facts);
}

/* The index has all that was gathered. */
int weir__recover_end_bulk(struct weir__found *found)
{
    if (!found->bulk)
        return 0;
    int error = weir__bulk_end(found->bulk, found->store->index, update, &found->store->segments);
    weir__bulk_free(found->bulk);
    found->bulk = NULL;
    /* What cannot be said of the segments is said of the index: it is made in memory then. */
    return error == -WEIR_E_CORRUPT ? -WEIR_E_IO : error;
}

int weir__recover_index_in_memory(struct weir__found *found)
{
    weir__bulk_free(found->bulk);
    found->bulk = NULL;
    found->is_in_memory = true;
    found->store->is_unclean = true; /* what is on the disk is not this one */
    return weir__index_new(&found->store->index, SIZE_MAX / 256);
}

int weir__recover_start_index(struct weir__found *found, const struct weir__store_mark *mark,
                              bool is_aside)
{
    struct weir__store *store = found->store;
    const char *why = doubt(store, mark);
    if (!why && use_index(found) == 0)
        return 0;
    found->report->index_was_rebuilt = found->count > 0 || is_aside;
    found->report->index_why = is_aside ? "what had its name was no folder: see 'index.bad'"
                               : why    ? why
                                        : "it cannot be read, or misses segments";
    /* One that cannot be written has its place in memory. */
    if (store->is_read_only)
        return weir__recover_index_in_memory(found);
    int error = weir__index_remove(store->folder, WEIR__RECOVER_INDEX);
    if (!error)
        error = open_index(store);
    if (!error)
        error = begin_bulk(found);
    if (error != -WEIR_E_NO_SPACE && error != -WEIR_E_IO)
        return error;
    found->report->index_why = WEIR__RECOVER_NO_ROOM;
    return weir__recover_index_in_memory(found);
}
