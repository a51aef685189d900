/* reindex.c - an index that broke, made anew while the store runs.
 *
 * From the segments, as when the store is opened, but for those that wait for the index anyway: in
 * a file of its own in place of the one that broke, or in memory if that cannot be. Memory: the
 * records of one segment, and the index if that is where it is.
 *
 * No segment goes meanwhile: whoever removes one says so (is_removing), and whoever makes the index
 * anew does (is_reindexing); who comes second gives up and comes again. Neither waits for the
 * other, since compaction may wait for a write, and a write for the index.
 *
 * A segment that the disk does not give ends it: what is in it would be said not to be there. One
 * that is given and is not what it was counts with the records that it has, as when a store is
 * opened; one that somebody has removed counts with none.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include <weir/error.h>

#include "store_part.h"
#include "sys.h"

#include "banned.h"

static const char index_name[] = "index";

static void ignore(void *arg, const struct weir__segment_facts *facts)
{
    (void)arg, (void)facts;
}

/* So many records are gone that were there: they cost what lay there, and no more. As when a store
 * is opened, what is not found is absent; no deletion is let go of from here on. Told when all is
 * done, and only then: what fails is tried again. */
static void note_shrunk(struct weir__store *store, uint64_t records)
{
    if (records == 0)
        return;
    weir_counter_add(&store->counts.shrunk, records);
    weir_counter_add(&store->counts.damaged, records);
    weir__store_tell(store, NULL, "records of a segment are gone");
}

/* A segment of which nothing is left is known with nothing, so that it is not missed again. */
static int apply_segment(struct weir__store *store, struct weir__index *fresh,
                         const struct weir__segment_facts *known, uint64_t *shrunk)
{
    struct weir__segment_content content = {.records = NULL};
    struct weir__segment *segment;
    int error = weir__segments_pin(&store->segments, known->id, &segment);
    if (!error) {
        error = weir__segment_load(&content, segment->fd, known->id, &store->identity.key);
        weir__segments_unpin(&store->segments, segment);
    }
    /* Nothing of it is a segment, or somebody has removed it: none goes meanwhile by our hand. */
    if (error && error != -WEIR_E_CORRUPT && error != -WEIR_E_NOT_FOUND)
        return error;
    struct weir__segment_facts facts = {.id = known->id,
                                        .size = content.end ? content.end : known->size,
                                        .is_sealed = content.is_sealed};
    error = content.hidden_bytes > 0 ? -WEIR_E_IO : 0;
    if (!error && content.count < known->records)
        *shrunk += known->records - content.count;
    if (!error)
        error = weir__index_apply(fresh, &facts, content.records, content.count, ignore, NULL);
    weir__segment_forget(&content);
    return error;
}

/* Those that the index had: the others wait for it, or have nothing. */
static int apply_all(struct weir__store *store, struct weir__index *fresh,
                     struct weir_crew_self *self, uint64_t *shrunk)
{
    struct weir__segment_facts facts;
    int error = 0;
    for (uint32_t id = 0; !error && weir__segments_next(&store->segments, id, &facts);
         id = facts.id) {
        if (weir_cancel_is_fired(self->stop))
            return -WEIR_E_CANCELED;
        if (facts.bytes > 0)
            error = apply_segment(store, fresh, &facts, shrunk);
    }
    return error;
}

/* The name of one that is in use is taken away; who uses it has its file still. */
static int open_in_folder(struct weir__store *store, struct weir__index **ret_fresh)
{
    char path[PATH_MAX];
    int error = weir__index_remove(store->folder, index_name);
    if (!error && weir__sys_mkdirat(store->folder, index_name, 0700) < 0 && errno != EEXIST)
        error = weir_error_from_errno(errno);
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", store->folder, index_name);
    return error ? error : weir__index_open(ret_fresh, path, store->identity.id, false);
}

static int make(struct weir__store *store, struct weir_crew_self *self, bool is_in_memory,
                struct weir__index **ret_fresh, uint64_t *ret_shrunk)
{
    struct weir__index *fresh = NULL;
    *ret_shrunk = 0;
    int error =
        is_in_memory ? weir__index_new(&fresh, SIZE_MAX / 256) : open_in_folder(store, &fresh);
    if (!error)
        error = apply_all(store, fresh, self, ret_shrunk);
    if (error)
        weir__store_index_discard(store, fresh);
    else
        *ret_fresh = fresh;
    return error;
}

static int note_facts(void *arg, const struct weir__segment_facts *facts)
{
    weir__store_facts_changed(arg, facts);
    return 0;
}

/* False: a segment is being removed. */
static bool begin(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    store->is_reindexing = !store->is_removing;
    bool is = store->is_reindexing;
    weir_lock_release(&store->lock);
    return is;
}

static void end(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    store->is_reindexing = false;
    weir_lock_release(&store->lock);
}

int weir__store_reindex(struct weir__store *store, struct weir_crew_self *self)
{
    struct weir__index *fresh = NULL;
    if (!begin(store))
        return -WEIR_E_BUSY;
    uint64_t shrunk;
    int error = make(store, self, store->folder < 0, &fresh, &shrunk);
    /* Whatever is wrong with its file: segments that cannot be read end this one, too. What was
     * made of it gives its room back. */
    if (error && error != -WEIR_E_CANCELED) {
        if (store->folder >= 0)
            (void)!weir__index_remove(store->folder, index_name);
        error = make(store, self, true, &fresh, &shrunk);
    }
    if (!error && (error = weir__store_index_replace(store, fresh)))
        weir__store_index_discard(store, fresh);
    if (!error) {
        weir__segments_doubt(&store->segments);
        /* What cannot be read of it now is told with the next change. */
        (void)!weir__index_segments(store->index, note_facts, store);
        weir__store_note_index(store);
        weir_counter_add(&store->counts.reindexed, 1);
        note_shrunk(store, shrunk);
    }
    end(store);
    return error;
}
