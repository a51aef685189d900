/* storage.c - what the service is made of beside a daemon, and its description. */
#include "storage.h"

#include <errno.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "storage_part.h"
#include "sys.h"

#include "banned.h"

/* Of the store: as many as there are connections to be sent from, and not more. */
#define SEGMENTS_MOST  512u
#define SEGMENTS_LEAST 2u /* in memory: one is written while another is compacted */
/* Descriptors besides: standard streams, folder and lock of the store, its index and another one
 * that is made in its place, the segment that is written to, and what is open for a moment (keys,
 * certificates, the audit log). */
#define OTHERS 18u

/* The order of locks, outermost first. */
static const struct weir_lock_class meta_class = {"manifest_index_meta", 320};
static const struct weir_lock_class counters_class = {"io_counters", 330};
static const struct weir_lock_class *const locks[] = {&weir__daemon_config_class, &meta_class,
                                                      &counters_class, &weir__quota_class};

static struct weir__storage *of(struct weir__daemon *daemon)
{
    return (struct weir__storage *)daemon;
}

/* --- what the configuration means for the parts --- */

static void fill_store(const struct weir__daemon_rules *rules, struct weir__store_options *options)
{
    static const enum weir__store_verify policies[] = {
        [WEIR__STORAGE_VERIFY_FIRST] = WEIR__STORE_VERIFY_FIRST,
        [WEIR__STORAGE_VERIFY_ALWAYS] = WEIR__STORE_VERIFY_ALWAYS,
        [WEIR__STORAGE_VERIFY_SCRUB] = WEIR__STORE_VERIFY_SCRUB,
    };
    const struct weir__storage_config *own = weir__storage_own(rules);
    /* 0 is no limit there, and the default here. */
    const uint64_t unlimited = UINT64_C(1) << 40, never_s = UINT64_C(1) << 40;
    *options = (struct weir__store_options){
        .folder = own->amnesia.is_enabled ? NULL : own->data,
        .memory_max = own->amnesia.max_bytes,
        .segment_bytes = (uint32_t)own->store.segment_size,
        .pending_bytes = own->store.pending_bytes,
        .hot_entries = (uint32_t)own->store.hot_entries,
        .verify = policies[own->storage.verify],
        .compact_percent = (uint32_t)own->store.compact_percent,
        .compact_per_s = own->store.compact_rate ? own->store.compact_rate : unlimited,
        .scrub_per_s = own->store.scrub_rate ? own->store.scrub_rate : unlimited,
        .scrub_interval_s =
            own->store.scrub_interval_ns ? own->store.scrub_interval_ns / WEIR_NS_PER_S : never_s,
        .close_ns = WEIR__STORAGE_CLOSE_NS,
    };
    /* Small memories have small segments, so that there are some. */
    while (!options->folder && options->segment_bytes > WEIR__STORE_SEGMENT_LEAST &&
           options->segment_bytes > options->memory_max / 8)
        options->segment_bytes /= 2;
}

/* How fast repairs may be, and how many chunks of them at once. */
static uint64_t burst_of(uint64_t pacing)
{
    return pacing > 2 * WEIR__CHUNK_MAX ? pacing : 2 * WEIR__CHUNK_MAX;
}

static const char *folder_of(const struct weir__daemon_rules *rules)
{
    const struct weir__storage_config *own = weir__storage_own(rules);
    return own->amnesia.is_enabled ? NULL : own->data;
}

/* Open segments: one for each connection to be sent from; of a store in memory all, or it holds
 * less. An answer may be sent from several at once (/f/), so that more than these can be wanted:
 * the store then takes what is free below the daemon's top. */
static uint64_t count_segments(const struct weir__daemon_rules *rules, uint64_t connections)
{
    struct weir__store_options options;
    fill_store(rules, &options);
    if (!options.folder)
        return options.memory_max / options.segment_bytes + 1;
    return connections < SEGMENTS_MOST ? connections : SEGMENTS_MOST;
}

static uint64_t deadline_ns(const struct weir__daemon_rules *rules)
{
    (void)rules;
    return WEIR__STORAGE_DEADLINE_NS;
}

/* --- the store --- */

/* Why there cannot be such a folder, whoever makes it; NULL: there can. */
static const char *misplaced(const char *folder)
{
    struct stat st;
    if (weir__sys_fstatat(AT_FDCWD, folder, &st, 0) == 0)
        return S_ISDIR(st.st_mode) ? NULL : "it is not a folder";
    return errno == ENOTDIR ? "a part of its path is not a folder" : NULL;
}

static bool is_there(const char *folder)
{
    struct stat st;
    return weir__sys_fstatat(AT_FDCWD, folder, &st, 0) == 0;
}

/* Each of its segments has a descriptor, of those that are for segments. */
static int bound_memory(struct weir__storage *storage, struct weir__store_options *options,
                        char why[WEIR__DAEMON_WHY_MAX])
{
    uint64_t most = (uint64_t)options->descriptors_max * options->segment_bytes;
    if (options->descriptors_max < SEGMENTS_LEAST)
        return weir__daemon_fail(
            why, -WEIR_E_INVALID,
            "too few file descriptors are allowed for segments in memory: raise "
            "the limit (ulimit -n)");
    if (options->memory_max <= most)
        return 0;
    weir__daemon_find(&storage->daemon,
                      "%llu MiB in memory at most, since %u file descriptors are left for its "
                      "segments: raise the limit (ulimit -n) or store.segment_size",
                      (unsigned long long)(most >> 20), options->descriptors_max);
    options->memory_max = most;
    return 0;
}

static void tell_line(void *arg, const char *line)
{
    weir__daemon_find(arg, "%s", line);
}

static int open_store(struct weir__storage *storage, const struct weir__daemon_rules *rules,
                      char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir__store_options options;
    struct weir__store_report report;
    fill_store(rules, &options);
    if (!weir__storage_own(rules)->amnesia.is_enabled && (!options.folder || !options.folder[0]))
        return weir__daemon_fail(
            why, -WEIR_E_INVALID,
            "no folder is given: name one with --data, or set amnesia.enabled");
    uint64_t segments = storage->daemon.shares.own;
    bool is_in_memory = weir__storage_own(rules)->amnesia.is_enabled;
    options.descriptors_max =
        (uint32_t)(is_in_memory || segments < SEGMENTS_MOST ? segments : SEGMENTS_MOST);
    options.descriptor_top = storage->daemon.shares.top;
    int error = is_in_memory ? bound_memory(storage, &options, why) : 0;
    if (error)
        return error;
    error = weir__store_open(&storage->store, &options, &report);
    const char *place = error && options.folder ? misplaced(options.folder) : NULL;
    if (place)
        return weir__daemon_fail(why, -WEIR_E_INVALID, "cannot open '%s': %s: name another one",
                                 options.folder, place);
    if (error == -WEIR_E_NOT_FOUND && options.folder && !is_there(options.folder))
        return weir__daemon_fail(why, -WEIR_E_DENIED,
                                 "cannot make the folder '%s': permission denied: make it and "
                                 "give it to the user of the service, or name another one with "
                                 "--data",
                                 options.folder);
    if (error)
        return weir__daemon_fail(why, error, "cannot open '%s': %s",
                                 options.folder ? options.folder : "memory", weir__store_why());
    weir__store_on_damage(storage->store, weir__repair_damage, storage);
    if (report.is_read_only)
        weir__daemon_find(&storage->daemon, "the folder cannot be written: serving what is there");
    weir__store_report_tell(&report, tell_line, &storage->daemon);
    storage->daemon.is_new = report.is_new;
    return 0;
}

/* --- life --- */

static int make(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    struct weir__storage *storage = of(daemon);
    uint64_t pacing = weir__storage_own(rules)->durability.repair_pacing;
    weir_lock_init(&storage->damage_lock, &counters_class);
    int error =
        weir_queue_init(&storage->repairs, "repair",
                        &(struct weir_queue_options){sizeof(struct weir__repair),
                                                     weir__storage_own(rules)->queues.repair});
    if (error)
        return error;
    return weir_rate_init(&storage->pacing, "repair",
                          &(struct weir_rate_options){.per_s = pacing, .burst = burst_of(pacing)});
}

static int open_parts(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                      char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir__storage *storage = of(daemon);
    int error = open_store(storage, rules, why);
    return error ? error : weir__quota_open(&storage->quota, folder_of(rules), why);
}

static int update(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    struct weir__storage *storage = of(daemon);
    uint64_t pacing = weir__storage_own(rules)->durability.repair_pacing;
    struct weir__store_options options;
    fill_store(rules, &options);
    int error = weir__store_update(storage->store, &options);
    return error ? error : weir_rate_set(&storage->pacing, pacing, burst_of(pacing));
}

static void stop(struct weir__daemon *daemon)
{
    weir__repair_end(of(daemon));
}

static uint64_t stopped(struct weir__daemon *daemon)
{
    (void)!weir__quota_save(of(daemon)->quota);
    return weir__repair_left(of(daemon));
}

static int close_parts(struct weir__daemon *daemon)
{
    struct weir__storage *storage = of(daemon);
    int error = weir__store_close(storage->store);
    if (error == -WEIR_E_TIMEOUT)
        return error;
    weir__quota_free(storage->quota);
    weir_rate_fini(&storage->pacing);
    weir_queue_fini(&storage->repairs);
    weir_lock_fini(&storage->damage_lock);
    return error;
}

/* --- readiness --- */

/* The order of judge(). A disk that is full, or cannot be written, is told beside what is vital,
 * since everything can still be read; so is a folder that misses something, since the rest can. */
static const struct weir__daemon_condition conditions[] = {
    {"index", true},     {"disk", true},   {"room", false},
    {"writable", false}, {"whole", false}, {NULL, false},
};

bool weir__storage_has_disk(const struct weir__store_stats *stats)
{
    return !stats->is_failing && stats->at_disk_ns < WEIR__STORAGE_HANGS_NS;
}

bool weir__storage_disk_hangs(struct weir__daemon *daemon)
{
    return weir__store_at_disk_ns(of(daemon)->store) >= WEIR__STORAGE_HANGS_NS;
}

static void judge(struct weir__daemon *daemon, bool *ret_holds)
{
    struct weir__store_stats stats;
    weir__store_read(of(daemon)->store, &stats);
    ret_holds[0] = !stats.index_is_broken;
    ret_holds[1] = weir__storage_has_disk(&stats);
    ret_holds[2] = !stats.is_full;
    ret_holds[3] = !stats.is_read_only;
    ret_holds[4] = stats.is_whole;
}

static bool is_read_only(struct weir__daemon *daemon)
{
    struct weir__store_stats stats;
    weir__store_read(of(daemon)->store, &stats);
    return stats.is_read_only;
}

/* --- the description --- */

static const char *const endpoints[] = {
    [WEIR__ENDPOINT_GET] = "GET",
    [WEIR__ENDPOINT_PUT] = "PUT",
    [WEIR__ENDPOINT_OTHER] = "other",
    [WEIR__ENDPOINTS] = NULL,
};

const struct weir__daemon_service weir__storage_service = {
    .name = "storage",
    .size = sizeof(struct weir__storage),
    .ask_size = sizeof(struct weir__ask),
    .job_size = sizeof(struct weir__job),
    .tools_size = sizeof(struct weir__tools),
    .schema = &weir__storage_schema,
    .table = &weir__storage_table,
    .folder = folder_of,
    .locks = locks,
    .locks_count = sizeof(locks) / sizeof(locks[0]),
    .jobs_class = &meta_class,
    .routes = weir__storage_routes,
    .lines = weir__storage_lines,
    .posts = weir__storage_posts,
    .deadline_ns = deadline_ns,
    .deadline_most_ms = WEIR__STORAGE_DEADLINE_MOST_MS,
    .descriptors = count_segments,
    .descriptors_others = OTHERS,
    .endpoint_label = "endpoint",
    .endpoints = endpoints,
    .endpoint_of = weir__storage_endpoint_of,
    .about_key = "address",
    .reason_of = weir__storage_reason_of,
    .conditions = conditions,
    .judge = judge,
    .is_read_only = is_read_only,
    .make = make,
    .open = open_parts,
    .add_metrics = weir__storage_add_metrics,
    .update = update,
    .stop = stop,
    .stopped = stopped,
    .close = close_parts,
    .init_ask = weir__storage_init_ask,
    .parse = weir__storage_parse,
    .begin = weir__storage_begin,
    .whole = weir__storage_whole,
    .resume = weir__storage_resume,
    .more = weir__storage_more,
    .warm = weir__object_warm,
    .broke = weir__storage_broke,
    .gone = weir__storage_gone,
    .init_job = weir__job_init,
    .fini_job = weir__job_fini,
    .lend = weir__job_lend,
    .take_back = weir__job_take_back,
    .init_tools = weir__storage_init_tools,
    .fini_tools = weir__storage_fini_tools,
    .sample = weir__storage_sample,
    .list_parts = weir__storage_list_parts,
    .thread_texts = weir__storage_thread_texts,
    .channel_texts = weir__storage_channel_texts,
    .limit_texts = weir__storage_limit_texts,
    .lock_texts = weir__storage_lock_texts,
    .key_texts = weir__storage_key_texts,
    .times = weir__storage_times,
};
