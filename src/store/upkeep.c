/* upkeep.c - a store counted and compacted by hand; see store_check.h. */
#include "store_check.h"

#include <errno.h>
#include <string.h>

#include <weir/error.h>

#include "store_part.h"
#include "sys.h"

#include "banned.h"

static const char scrub_name[] = "scrub";

/* For the index: of what waits for it, and on a full disk for another one. */
#define SETTLE_NS    (5 * WEIR_NS_PER_S)
#define SETTLE_TRIES 120
#define AGAIN_NS     (200 * WEIR_NS_PER_MS)

/* --- counting --- */

struct sum {
    int folder;
    uint64_t bytes;
};

static int add_segment(void *arg, const char *name)
{
    struct sum *sum = arg;
    struct stat st;
    if (weir__segment_id(name) == 0)
        return 0;
    if (weir__sys_fstatat(sum->folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : weir_error_from_errno(errno);
    sum->bytes += (uint64_t)st.st_size;
    return 0;
}

static int sum_segments(struct weir__store *store, uint64_t *ret_bytes)
{
    struct sum sum = {.folder = store->segments_folder};
    int error = weir__disk_each(sum.folder, add_segment, &sum);
    if (!error)
        *ret_bytes = sum.bytes;
    return error;
}

static int take_entry(void *arg, const struct weir__entry *entry)
{
    struct weir__census *census = arg;
    uint32_t length = weir__entry_length(entry), time_s = entry->time_s;
    if (entry->type != WEIR__RECORD_CHUNK) {
        census->deletions++;
        return 0;
    }
    if (census->chunks == 0 || length < census->length_min)
        census->length_min = length;
    if (length > census->length_max)
        census->length_max = length;
    if (census->chunks == 0 || time_s < census->time_min_s)
        census->time_min_s = time_s;
    if (time_s > census->time_max_s)
        census->time_max_s = time_s;
    census->chunks++;
    census->chunk_bytes += length;
    return 0;
}

/* By the index, and by the newest segment, of which it knows nothing yet. */
static int count_dead(struct weir__store *store, uint64_t *ret_dead)
{
    struct weir__segments_stats stats;
    const struct weir__tail *tail = store->active;
    bool keeps_deletions = weir__store_keeps_deletions(store);
    uint64_t more = 0;
    weir__segments_read(&store->segments, &stats);
    struct weir__index *index = weir__store_index_use(store);
    int error =
        tail ? weir__index_preview(index, tail->records, tail->count, keeps_deletions, &more) : 0;
    weir__store_index_leave(store, index);
    if (!error)
        *ret_dead = stats.dead + (keeps_deletions ? 0 : stats.spent) + more;
    return error;
}

int weir__store_census(struct weir__store *store, struct weir__census *ret_census)
{
    struct weir__census census = {0};
    int64_t ended;
    size_t length;
    int error = weir__store_walk_all(store, NULL, take_entry, &census);
    if (!error)
        error = count_dead(store, &census.dead_bytes);
    if (!error)
        error = sum_segments(store, &census.file_bytes);
    if (!error)
        error = weir__store_quarantine_count(store, &census.quarantined);
    if (weir__disk_read(store->folder, scrub_name, &ended, sizeof(ended), &length) == 0 &&
        length == sizeof(ended))
        census.scrub_ended_s = ended;
    if (!error)
        *ret_census = census;
    return error;
}

/* --- compacting --- */

/* That are to be compacted; or of these, that cannot be. */
static uint64_t count_due(struct weir__store *store, uint32_t percent, bool is_left)
{
    struct weir__segment_facts facts;
    uint64_t count = 0;
    for (uint32_t id = 0; weir__segments_next(&store->segments, id, &facts); id = facts.id)
        count += weir__store_is_due(store, &facts, percent) &&
                 (!is_left || weir__segments_is_left(&store->segments, facts.id));
    return count;
}

/* The newest segment says what is dead in the others: only sealed ones are in the index. On a full
 * disk that may need room, too. */
static int settle(struct weir__store *store, const struct weir_deadline *deadline)
{
    struct weir_permit all = WEIR_PERMIT_NONE;
    int error = -WEIR_E_TIMEOUT;
    for (int i = 0; i < SETTLE_TRIES && (error == -WEIR_E_TIMEOUT || error == -WEIR_E_NO_SPACE);
         i++) {
        struct weir_deadline soon = weir_deadline_in(SETTLE_NS, deadline->cancel);
        error = weir_deadline_check(deadline);
        if (error)
            return error;
        error = weir__store_seal(store, deadline);
        if (!error)
            error = weir_budget_acquire(&store->unindexed, WEIR__STORE_TAILS, &all, &soon);
        weir_permit_release(&all);
        if (error)
            weir__store_look_for_room(store, deadline);
    }
    return error;
}

/* One step; while the index is made anew nobody knows what to move. */
static int compact_patiently(struct weir__store *store, uint32_t percent,
                             const struct weir_deadline *deadline)
{
    int error = -WEIR_E_TRANSIENT;
    for (int i = 0; i < SETTLE_TRIES && error == -WEIR_E_TRANSIENT; i++) {
        struct weir_deadline soon = weir_deadline_in(AGAIN_NS, deadline->cancel);
        error = weir__store_compact(store, percent, deadline);
        if (error == -WEIR_E_TRANSIENT &&
            (weir_deadline_sleep(&soon) == -WEIR_E_CANCELED || weir_deadline_check(deadline)))
            return weir_deadline_check(deadline);
    }
    return error;
}

int weir__store_compact_all(struct weir__store *store, uint32_t percent,
                            const struct weir__check_hooks *hooks,
                            const struct weir_deadline *deadline,
                            struct weir__compacted *ret_compacted)
{
    struct weir__compacted compacted = {0};
    uint64_t damaged_before = weir_counter_value(&store->counts.damaged);
    int error = sum_segments(store, &compacted.bytes_before);
    if (!error)
        error = settle(store, deadline);
    uint64_t total = error ? 0 : count_due(store, percent, false);
    while (!error) {
        if (compacted.segments > total)
            total = compacted.segments;
        if (hooks->progress)
            error = hooks->progress(hooks->arg, compacted.segments, total);
        if (!error)
            error = compact_patiently(store, percent, deadline);
        compacted.segments += error == 0;
    }
    compacted.left = count_due(store, percent, true);
    compacted.damaged = weir_counter_value(&store->counts.damaged) - damaged_before;
    if (error == -WEIR_E_NOT_FOUND)
        error = sum_segments(store, &compacted.bytes_after);
    if (!error)
        *ret_compacted = compacted;
    return error;
}
