/* store.c - life cycle of a store, and the calls that need no file of their own. */
#include "store.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "resources.h"
#include "store_locks.h"
#include "store_part.h"
#include "sys.h"

#include "banned.h"

#define COMPACT_PERCENT  50u
#define COMPACT_PER_S    (UINT64_C(64) << 20)
#define SCRUB_PER_S      (UINT64_C(10) << 20)
#define SCRUB_INTERVAL_S (7 * UINT64_C(86400))
/* A record fits into it, whatever the pace. */
#define BURST_LEAST (2 * (uint64_t)WEIR__CHUNK_MAX)
/* What waits is written before the store is closed: a disk that takes longer than this for 64 MiB
 * is not going to. */
#define CLOSE_NS (60 * WEIR_NS_PER_S)
/* To look at the index once more; some ten million entries. What takes longer costs making it anew
 * when the store is opened. */
#define CHECK_NS (5 * WEIR_NS_PER_S)

/* --- options --- */

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value ? value : otherwise;
}

static int fill_in(struct weir__store_options *options)
{
    struct weir__store_options *o = options;
    o->segment_bytes = (uint32_t)or_default(o->segment_bytes, WEIR__STORE_SEGMENT_DEFAULT);
    o->pending_bytes = or_default(o->pending_bytes, WEIR__STORE_PENDING_BYTES_DEFAULT);
    o->hot_entries = (uint32_t)or_default(o->hot_entries, WEIR__STORE_HOT_DEFAULT);
    o->descriptors_max = (uint32_t)or_default(o->descriptors_max, WEIR__STORE_DESCRIPTORS_DEFAULT);
    o->descriptor_top = or_default(o->descriptor_top, UINT64_MAX);
    o->compact_percent = (uint32_t)or_default(o->compact_percent, COMPACT_PERCENT);
    o->compact_per_s = or_default(o->compact_per_s, COMPACT_PER_S);
    o->scrub_per_s = or_default(o->scrub_per_s, SCRUB_PER_S);
    o->scrub_interval_s = or_default(o->scrub_interval_s, SCRUB_INTERVAL_S);
    o->close_ns = or_default(o->close_ns, CLOSE_NS);
    if (o->segment_bytes < WEIR__STORE_SEGMENT_LEAST || o->segment_bytes > WEIR__STORE_SEGMENT_MOST)
        return weir__store_fail(-WEIR_E_INVALID, "segments have %u to %u bytes",
                                WEIR__STORE_SEGMENT_LEAST, WEIR__STORE_SEGMENT_MOST);
    if (o->pending_bytes < 2 * WEIR__CHUNK_MAX || o->pending_bytes > WEIR_BUDGET_MAX)
        return weir__store_fail(-WEIR_E_INVALID, "what waits to be written has 2 MiB at least");
    if (o->compact_percent > 100 || o->hot_entries > (1u << 28) ||
        (unsigned)o->verify > WEIR__STORE_VERIFY_SCRUB)
        return weir__store_fail(-WEIR_E_INVALID, "a number is out of bounds");
    if (!o->folder && o->memory_max < 2 * (uint64_t)o->segment_bytes)
        return weir__store_fail(-WEIR_E_INVALID, "a store in memory has two segments at least");
    return 0;
}

static int set_rate(struct weir_rate *rate, const char *name, uint64_t per_s, bool is_new)
{
    uint64_t burst = per_s > BURST_LEAST ? per_s : BURST_LEAST;
    if (burst > WEIR_RATE_BURST_MAX)
        burst = WEIR_RATE_BURST_MAX;
    struct weir_rate_options options = {.per_s = per_s, .burst = burst};
    return is_new ? weir_rate_init(rate, name, &options) : weir_rate_set(rate, per_s, burst);
}

int weir__store_update(struct weir__store *store, const struct weir__store_options *options)
{
    struct weir__store_options fresh = store->options;
    fresh.verify = options->verify;
    fresh.compact_percent = options->compact_percent;
    fresh.compact_per_s = options->compact_per_s;
    fresh.scrub_per_s = options->scrub_per_s;
    fresh.scrub_interval_s = options->scrub_interval_s;
    int error = fill_in(&fresh);
    if (!error)
        error = set_rate(&store->compact_rate, NULL, fresh.compact_per_s, false);
    if (!error)
        error = set_rate(&store->scrub_rate, NULL, fresh.scrub_per_s, false);
    if (error)
        return error;
    weir_lock_acquire(&store->lock);
    store->verify = fresh.verify;
    store->compact_percent = fresh.compact_percent;
    store->scrub_interval_s = fresh.scrub_interval_s;
    weir_lock_release(&store->lock);
    return 0;
}

/* --- birth --- */

static int make_limits(struct weir__store *store)
{
    const struct weir__store_options *options = &store->options;
    int error = weir_budget_init(&store->pending, "store-pending", options->pending_bytes);
    if (!error)
        error = weir_budget_init(&store->unindexed, "store-tails", WEIR__STORE_TAILS);
    if (!error)
        error = weir_budget_init(&store->compacting, "store-compacting", 1);
    if (!error)
        error = set_rate(&store->compact_rate, "store-compact", options->compact_per_s, true);
    if (!error)
        error = set_rate(&store->scrub_rate, "store-scrub", options->scrub_per_s, true);
    if (!error)
        error = weir_queue_init(
            &store->writes, "store-writes",
            &(struct weir_queue_options){sizeof(void *), WEIR__STORE_PENDING_COUNT});
    if (!error)
        error =
            weir_queue_init(&store->tails, "store-tails",
                            &(struct weir_queue_options){sizeof(void *), WEIR__STORE_TAILS + 1});
    if (!error)
        error = weir__hot_init(&store->hot, options->hot_entries);
    weir__map_init(&store->writer.batch, WEIR__STORE_BATCH);
    if (!error)
        error = weir__map_reserve(&store->writer.batch, WEIR__STORE_BATCH);
    if (!error && !(store->run = weir__store_run_new()))
        error = -WEIR_E_NO_MEMORY;
    return error;
}

static int start_threads(struct weir__store *store)
{
    struct weir_crew_options writers = {.drain_ns = store->options.close_ns};
    int error = weir_crew_new(&store->writers, "store-writers", &writers);
    if (!error)
        error = weir_crew_new(&store->keepers, "store-keepers", NULL);
    if (!error && !store->is_read_only)
        error = weir_crew_start(store->writers, "commit", weir__store_commit_main, store);
    if (!error && !store->is_read_only)
        error = weir_crew_start(store->writers, "index", weir__store_index_main, store);
    if (!error && !store->is_read_only && !store->options.is_offline)
        error = weir_crew_start(store->keepers, "compact", weir__store_compact_main, store);
    if (!error && !store->options.is_offline)
        error = weir_crew_start(store->keepers, "scrub", weir__store_scrub_main, store);
    return error ? weir__store_fail(error, "cannot start its threads: %s",
                                    error == -WEIR_E_BUSY ? WEIR__RESOURCES_NO_THREAD
                                                          : weir_error_text(error))
                 : 0;
}

static int copy_folder(struct weir__store *store, const char *folder)
{
    if (!folder)
        return 0;
    size_t size = strlen(folder) + 1;
    store->folder_name = weir__base_alloc(1, size);
    if (!store->folder_name)
        return -WEIR_E_NO_MEMORY;
    memcpy(store->folder_name, folder, size);
    store->options.folder = store->folder_name;
    return 0;
}

static void free_store(struct weir__store *store);

int weir__store_open(struct weir__store **ret_store, const struct weir__store_options *options,
                     struct weir__store_report *ret_report)
{
    struct weir__store_report report = {.is_new = false};
    struct weir__store *store = weir__base_alloc(1, sizeof(*store));
    if (!store)
        return weir__store_fail(-WEIR_E_NO_MEMORY, "out of memory");
    store->options = *options;
    store->folder = store->segments_folder = store->lock_fd = -1;
    store->writer.file.fd = store->writer.doubtful.fd = -1;
    store->is_read_only = options->is_read_only;
    weir_lock_init(&store->lock, &weir__store_tails_class);
    int error = weir__store_register_locks();
    if (error)
        weir__store_fail(error, "%s", weir_error_detail());
    if (!error)
        error = fill_in(&store->options);
    if (!error && (error = copy_folder(store, options->folder)))
        weir__store_fail(error, "out of memory");
    store->verify = store->options.verify;
    store->compact_percent = store->options.compact_percent;
    store->scrub_interval_s = store->options.scrub_interval_s;
    if (!error && (error = make_limits(store)))
        weir__store_fail(error, "%s", weir_error_text(error));
    if (!error)
        error = weir__store_folder_open(store, &report);
    const struct weir__segments_limits limits = {store->options.descriptors_max,
                                                 store->options.descriptor_top};
    weir__segments_init(&store->segments, store->segments_folder, &limits);
    if (!error)
        weir__store_fit_segments(store);
    if (!error)
        error = weir__store_recover(store, &report);
    /* Nothing but what makes room is written until it can be had. */
    if (!error)
        store->is_full = weir__store_reserve_open(store, &report) == -WEIR_E_NO_SPACE;
    if (!error)
        error = start_threads(store);
    if (error) {
        store->is_unclean = true;
        weir__store_close(store);
        return error;
    }
    report.is_read_only = store->is_read_only;
    if (ret_report)
        *ret_report = report;
    *ret_store = store;
    return 0;
}

/* --- end --- */

static void give_up(void *arg, void *item)
{
    struct weir__store_write *write = *(struct weir__store_write **)item;
    write->result = -WEIR_E_CANCELED;
    weir_permit_release(&write->_permit);
    weir__store_withdraw(arg, write);
    write->done(write);
}

/* False: some are held up, and will not end. */
static bool end_crew(struct weir_crew *crew, int *ret_error)
{
    struct weir_crew_report report;
    uint64_t abandoned = 0;
    if (!crew)
        return true;
    *ret_error = weir_crew_drain(crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++)
        abandoned += report.kinds[i].abandoned;
    return abandoned == 0;
}

static int stop_threads(struct weir__store *store)
{
    int error = 0;
    bool have_ended = end_crew(store->keepers, &error);
    error = 0;
    if (store->writes._capacity > 0)
        weir_queue_close(&store->writes);
    have_ended = end_crew(store->writers, &error) && have_ended;
    if (!have_ended)
        return -WEIR_E_TIMEOUT;
    if (error)
        store->is_unclean = true;
    if (store->writes._capacity > 0)
        weir_queue_drain(&store->writes, give_up, store);
    if (store->tails._capacity > 0)
        weir_queue_drain(&store->tails, NULL, NULL);
    if (store->keepers)
        weir_crew_free(store->keepers);
    if (store->writers)
        weir_crew_free(store->writers);
    return 0;
}

static void free_tails(struct weir__store *store)
{
    if (store->writer.pin)
        weir__segments_unpin(&store->segments, store->writer.pin);
    store->writer.pin = NULL;
    weir__sys_close_at(&store->writer.file.fd);
    weir__sys_close_at(&store->writer.doubtful.fd);
    weir__tail_free(store->active);
    store->active = NULL;
    for (size_t i = 0; i < store->waiting_count; i++)
        weir__tail_free(store->waiting[i]);
    store->waiting_count = 0;
}

/* Of what is not there next time, nobody would know that it was. */
static void note_newest(struct weir__store *store, struct weir__store_mark *mark)
{
    char name[WEIR__SEGMENT_NAME];
    struct weir__segment_facts facts = {.id = 0};
    struct stat st;
    for (; weir__segments_next(&store->segments, facts.id, &facts); mark->segments++)
        mark->newest_id = facts.id;
    weir__segment_name(mark->newest_id, name);
    if (weir__sys_fstatat(store->segments_folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        mark->newest_size = (uint64_t)st.st_size;
}

/* Whether the index is what it should be, and lasts. The digest comes first: what turned before it
 * is seen by the walk, and what turns behind it by who opens the store. */
static bool is_index_right(struct weir__store *store, unsigned char digest[WEIR__HASH_SIZE])
{
    struct weir_deadline deadline = weir_deadline_in(CHECK_NS, NULL);
    return weir__index_sync(store->index) == 0 && weir__store_index_digest(store, digest) == 0 &&
           weir__store_check_index_all(store, &deadline) == 0;
}

/* The next open may use the index as it is. */
static bool mark_clean(struct weir__store *store)
{
    struct weir__store_mark mark = {
        .is_clean = true,
        .keeps_deletions = weir__store_keeps_deletions(store),
        .next_sequence = store->writer.next_sequence,
        .next_id = store->writer.next_id,
    };
    note_newest(store, &mark);
    mark.newest_is_finished = mark.newest_id == store->writer.id && !store->writer.has_leftovers;
    return is_index_right(store, mark.index_digest) && weir__store_mark_write(store, &mark) == 0;
}

/* As far as it is known, and by the names of the segments: who removes these tells nobody. */
static bool is_all_there(struct weir__store *store)
{
    char name[WEIR__SEGMENT_NAME];
    struct weir__segment_facts facts;
    struct weir__store_stats stats;
    struct stat st;
    weir__store_read(store, &stats);
    for (uint32_t id = 0; weir__segments_next(&store->segments, id, &facts); id = facts.id) {
        weir__segment_name(facts.id, name);
        if (weir__sys_fstatat(store->segments_folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return false;
    }
    return stats.is_whole;
}

static void free_store(struct weir__store *store)
{
    weir__segments_fini(&store->segments);
    weir__store_wrong_forget(store);
    weir__store_folder_close(store);
    weir__hot_fini(&store->hot);
    weir__map_fini(&store->writer.batch);
    weir__base_free(store->run);
    weir_queue_fini(&store->writes);
    weir_queue_fini(&store->tails);
    weir_budget_fini(&store->pending);
    weir_budget_fini(&store->unindexed);
    weir_budget_fini(&store->compacting);
    weir_rate_fini(&store->compact_rate);
    weir_rate_fini(&store->scrub_rate);
    weir_lock_fini(&store->lock);
    weir__base_free(store->folder_name);
    weir__base_free(store);
}

int weir__store_close(struct weir__store *store)
{
    int error = store ? stop_threads(store) : 0;
    if (error || !store)
        return error;
    if (store->waiting_count > 0 || store->writer.doubtful.fd >= 0)
        store->is_unclean = true;
    free_tails(store);
    bool wants_mark = store->index && store->folder >= 0 && !store->is_read_only;
    bool has_mark = wants_mark && !store->is_unclean && mark_clean(store);
    if (wants_mark && !has_mark)
        error = is_all_there(store) ? -WEIR_E_IO : -WEIR_E_INCOMPLETE;
    weir__index_free(store->index);
    for (size_t i = 0; i < WEIR__STORE_RETIRED; i++)
        weir__index_free(store->retired[i].index);
    free_store(store);
    return error;
}

/* --- writing --- */

int weir__store_submit(struct weir__store *store, struct weir__store_write *write)
{
    if (store->is_read_only)
        return -WEIR_E_READ_ONLY;
    if (write->length > WEIR__CHUNK_MAX)
        return -WEIR_E_TOO_LARGE;
    write->_permit = (struct weir_permit)WEIR_PERMIT_NONE;
    int error =
        weir_budget_try(&store->pending, WEIR__RECORD_HEAD + write->length, &write->_permit);
    bool was_announced = write->_is_announced;
    if (!error) {
        weir__store_announce(store, write);
        error = weir_queue_try_send(&store->writes, &write);
    }
    if (error)
        weir_permit_release(&write->_permit);
    if (error && !was_announced)
        weir__store_withdraw(store, write);
    return error;
}

int weir__store_put(struct weir__store *store, const struct weir__address *address,
                    const void *bytes, uint32_t length, const struct weir_deadline *deadline)
{
    struct weir__store_write write = {
        .action = WEIR__STORE_PUT, .address = *address, .bytes = bytes, .length = length};
    return weir__store_write_and_wait(store, &write, deadline);
}

int weir__store_replace(struct weir__store *store, const struct weir__address *address,
                        const void *bytes, uint32_t length, const struct weir_deadline *deadline)
{
    struct weir__store_write write = {.action = WEIR__STORE_PUT,
                                      .address = *address,
                                      .bytes = bytes,
                                      .length = length,
                                      .replaces = true};
    return weir__store_write_and_wait(store, &write, deadline);
}

int weir__store_delete(struct weir__store *store, const struct weir__address *address,
                       const struct weir_deadline *deadline)
{
    struct weir__store_write write = {.action = WEIR__STORE_DELETE, .address = *address};
    return weir__store_write_and_wait(store, &write, deadline);
}

int weir__store_touch(struct weir__store *store, const struct weir__address *address,
                      const struct weir_deadline *deadline)
{
    struct weir__store_write write = {.action = WEIR__STORE_TOUCH, .address = *address};
    return weir__store_write_and_wait(store, &write, deadline);
}

int weir__store_seal(struct weir__store *store, const struct weir_deadline *deadline)
{
    struct weir__store_write write = {._kind = WEIR__WRITE_SEAL};
    return weir__store_write_and_wait(store, &write, deadline);
}

/* --- upkeep and counts --- */

void weir__store_scrub_now(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    store->scrub_wanted++;
    weir_lock_release(&store->lock);
}

void weir__store_on_damage(struct weir__store *store,
                           void (*fn)(void *arg, const struct weir__address *address,
                                      const char *what),
                           void *arg)
{
    store->damage_arg = arg;
    store->damage_fn = fn;
    weir__store_wrong_tell(store);
}

static void read_counts(const struct weir__store_counts *counts, struct weir__store_stats *stats)
{
#define READ(name) stats->name = weir_counter_value(&counts->name)
    READ(puts);
    READ(puts_present);
    READ(deletes);
    READ(touches);
    READ(put_bytes);
    READ(commits);
    READ(syncs_failed);
    READ(writes_failed);
    READ(writes_no_space);
    READ(gets_cold);
    READ(verified);
    READ(damaged);
    READ(quarantined);
    READ(compacted_segments);
    READ(compacted_bytes);
    READ(moved_bytes);
    READ(scrubbed_bytes);
    READ(scrub_walks);
    READ(reindexed);
    READ(index_checks);
    READ(index_wrong);
#undef READ
}

uint64_t weir__store_at_disk_ns(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    uint64_t since_ns = store->at_disk_ns;
    weir_lock_release(&store->lock);
    uint64_t now_ns = since_ns ? weir_now_ns() : 0;
    return now_ns > since_ns ? now_ns - since_ns : 0;
}

void weir__store_read(struct weir__store *store, struct weir__store_stats *ret_stats)
{
    struct weir__store_stats stats = {.is_read_only = store->is_read_only};
    struct weir__segments_stats segments;
    struct weir_queue_stats writes;
    struct weir_budget_stats pending;
    weir__segments_read(&store->segments, &segments);
    weir_queue_read(&store->writes, &writes);
    weir_budget_read(&store->pending, &pending);
    read_counts(&store->counts, &stats);
    stats.gaps = store->gaps;
    stats.gaps.lost_segments += weir_counter_value(&store->counts.gone);
    stats.is_whole = !store->has_hidden && !store->has_aside &&
                     weir_counter_value(&store->counts.shrunk) == 0 &&
                     stats.gaps.lost_segments + stats.gaps.lost_bytes == 0;
    stats.segments = segments.count;
    stats.descriptors = segments.open;
    stats.bytes = segments.bytes + segments.grown;
    stats.dead_bytes =
        segments.dead + segments.doomed + (weir__store_keeps_deletions(store) ? 0 : segments.spent);
    stats.keeps_deletions = weir__store_keeps_deletions(store);
    stats.pending_count = writes.depth;
    stats.pending_bytes = pending.in_use;
    stats.gets_hot = weir__hot_hits(&store->hot);
    weir_lock_acquire(&store->lock);
    stats.chunks = store->chunk_count > 0 ? (uint64_t)store->chunk_count : 0;
    stats.index_entries = store->index_stats.entries;
    stats.index_bytes = store->index_stats.bytes;
    stats.tail_records = store->active ? store->active->count : 0;
    for (size_t i = 0; i < store->waiting_count; i++)
        stats.tail_records += store->waiting[i]->count;
    stats.is_full = store->is_full;
    stats.is_failing = store->is_failing;
    stats.index_waits = store->index_error == -WEIR_E_NO_SPACE;
    stats.index_is_broken =
        store->index_is_broken || (store->index_error != 0 && !stats.index_waits);
    stats.scrub_ended_s = store->scrub_ended_s;
    weir_lock_release(&store->lock);
    stats.at_disk_ns = weir__store_at_disk_ns(store);
    *ret_stats = stats;
}

void weir__store_parts(struct weir__store *store, struct weir__store_parts *ret_parts)
{
    *ret_parts = (struct weir__store_parts){
        .writers = store->writers,
        .keepers = store->keepers,
        .writes = &store->writes,
        .tails = &store->tails,
        .pending = &store->pending,
        .unindexed = &store->unindexed,
        .compacting = &store->compacting,
        .compact_rate = &store->compact_rate,
        .scrub_rate = &store->scrub_rate,
    };
}
