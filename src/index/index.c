/* index.c - what the service is made of beside a daemon, and its description. */
#include "index_service.h"

#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"
#include "key.h"
#include "locks.h"
#include "mapped.h"

#include "banned.h"

/* Descriptors besides: standard streams, folder and files of the records, keys, certificates, the
 * audit log, and what is open for a moment. */
#define OTHERS 24u
/* Of the client that measures providers, and of the publisher's and the watch's. */
#define CLIENTS 8u

/* The order of locks, outermost first. What the first design calls metrics_scratch is the lock of
 * core's registry of metrics: counters need none here. */
const struct weir_lock_class weir__index_jobs_class = {"index_jobs", 345};
static const struct weir_lock_class *const locks[] = {
    &weir__daemon_config_class, &weir__quota_class,          &weir__index_jobs_class,
    &weir__turns_class,         &weir__cache_meta_class,     &weir__cache_rules_class,
    &weir__pins_class,          &weir__lookup_line_class,    &weir__inquiry_class,
    &weir__flights_class,       &weir__latency_class,        &weir__seen_class,
    &weir__lookup_rooms_class,  &weir__repeats_class,        &weir__source_dht_class,
    &weir__source_etcd_class,   &weir__etcd_ends_class,      &weir__etcd_watch_class,
    &weir__publish_class,       &weir__records_memory_class, &weir__records_readers_class,
    &weir__records_lost_class,  &weir__mapped_class,
};

static struct weir__index *of(struct weir__daemon *daemon)
{
    return weir__index_of(daemon);
}

/* --- what the configuration means for the parts --- */

void weir__index_fill_limits(const struct weir__daemon_rules *rules,
                             struct weir__lookup_limits *limits)
{
    const struct weir__index_config *own = weir__index_own(rules);
    *limits = (struct weir__lookup_limits){
        .alpha = (uint32_t)own->dht.alpha,
        .beta = (uint32_t)own->dht.beta,
        .quorum = (uint32_t)own->dht.quorum,
        .tries = (uint32_t)own->dht.tries,
        .hedge_ns = own->dht.hedge_ms * WEIR_NS_PER_MS,
        .deadline_ns = own->dht.deadline_ms * WEIR_NS_PER_MS,
        .hedge_permille = (uint32_t)own->dht.hedge_ratio,
        .ttl_ns = own->cache.ttl_ns,
        .negative_ttl_ns = own->cache.negative_ttl_ns,
        .stale_ns = own->cache.serves_stale ? own->cache.stale_ns : 0,
        .provider_life_s = (int64_t)(own->providers.max_life_ns / WEIR_NS_PER_S),
        .breaker =
            {
                .window_ns = own->breaker.error_window_s * WEIR_NS_PER_S,
                .trip_permille = (uint32_t)own->breaker.trip_threshold,
                .calls_min = (uint32_t)own->breaker.calls_min,
                .half_open_probes = (uint32_t)own->breaker.half_open_probes,
                .cooldown_ns = own->breaker.cooldown_s * WEIR_NS_PER_S,
            },
    };
    snprintf(limits->region, sizeof(limits->region), "%s", own->index.region);
}

static struct weir__cache_limits cache_limits(const struct weir__daemon_rules *rules)
{
    const struct weir__index_config *own = weir__index_own(rules);
    return (struct weir__cache_limits){
        .entries_max = own->cache.max_entries,
        .bytes_max = own->cache.max_bytes,
        .purge_ns = own->amnesia.is_enabled ? own->amnesia.purge_interval_ms * WEIR_NS_PER_MS : 0,
    };
}

static const char *folder_of(const struct weir__daemon_rules *rules)
{
    const struct weir__index_config *own = weir__index_own(rules);
    return own->amnesia.is_enabled ? NULL : own->data;
}

static uint64_t deadline_ns(const struct weir__daemon_rules *rules)
{
    return weir__index_own(rules)->dht.deadline_ms * WEIR_NS_PER_MS;
}

/* The smaller of what a request may take and what the end of the service may. */
static uint64_t drain_ns(const struct weir__daemon_rules *rules)
{
    uint64_t budget_ns = deadline_ns(rules), end_ns = rules->service->drain_ns;
    return budget_ns < end_ns ? budget_ns : end_ns;
}

/* Connections to sources: as many as are asked at once, and some that are kept. */
static uint64_t count_descriptors(const struct weir__daemon_rules *rules, uint64_t connections)
{
    const struct weir__index_config *own = weir__index_own(rules);
    uint64_t attempts = own->dht.alpha + own->dht.beta;
    (void)connections;
    return CLIENTS + 2 * attempts * (weir__index_resolvers(rules) + 1);
}

/* --- life --- */

static int make(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    struct weir__index *index = of(daemon);
    struct weir__cache_limits limits = cache_limits(rules);
    index->epochs = weir__base_alloc(WEIR__INDEX_EPOCHS, sizeof(*index->epochs));
    int error = index->epochs ? 0 : -WEIR_E_NO_MEMORY;
    if (!error)
        error = weir_queue_init(
            &index->prefetch, "prefetch",
            &(struct weir_queue_options){sizeof(struct weir__question), WEIR__INDEX_PREFETCH});
    if (!error)
        error = weir_queue_init(
            &index->probes, "probes",
            &(struct weir_queue_options){WEIR__PROVIDER_URL_MAX + 1, WEIR__INDEX_PROBES});
    if (!error)
        error = weir_budget_init(&index->traces, "traces", WEIR__INDEX_TRACES);
    if (!error)
        error = weir__repeats_new(&index->repeats);
    if (!error)
        error = weir__pins_new(&index->pins);
    if (!error)
        error = weir__latency_new(&index->latency);
    if (!error)
        error = weir__flights_new(&index->flights, WEIR__INDEX_FLIGHTS);
    if (!error)
        error = weir__in_turn_init(index, rules);
    return error ? error : weir__cache_new(&index->cache, &limits);
}

static int open_records(struct weir__index *index, const struct weir__daemon_rules *rules,
                        char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__index_config *own = weir__index_own(rules);
    char reason[WEIR__RECORDS_WHY];
    struct weir__records_report report;
    const struct weir__records_options options = {
        .folder = folder_of(rules),
        .map_bytes = own->amnesia.is_enabled ? own->amnesia.max_bytes : own->index.map_bytes,
        .bindings = index->bindings,
    };
    if (!own->amnesia.is_enabled && (!options.folder || !options.folder[0]))
        return weir__daemon_fail(
            why, -WEIR_E_INVALID,
            "no folder is given: name one with --data, or set amnesia.enabled");
    int error = weir__records_open(&index->records, &options, &report, reason);
    if (error)
        return weir__daemon_fail(why, error, "cannot open the records in %.480s", reason);
    if (report.is_read_only)
        weir__daemon_find(&index->daemon, "the folder cannot be written: serving what is there");
    index->daemon.is_new = report.is_new;
    return 0;
}

static int make_bindings(struct weir__bindings **ret_bindings,
                         const struct weir__daemon_rules *rules, char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__config_list *texts = &weir__index_own(rules)->names.prefixes;
    const char *reason = weir__key_load_library();
    if (reason)
        return weir__daemon_fail(why, -WEIR_E_UNSUPPORTED, "%s", reason);
    int error = weir__bindings_new(ret_bindings, texts->items, texts->count, &reason);
    return error ? weir__daemon_fail(why, error, "names.prefixes: %s",
                                     error == -WEIR_E_INVALID ? reason : weir_error_text(error))
                 : 0;
}

/* What the start would find wanting. */
static int check_named(const struct weir__daemon_rules *rules, char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir__bindings *bindings = NULL;
    int error = make_bindings(&bindings, rules, why);
    weir__bindings_free(bindings);
    return error ? error : weir__gather_check(rules, why);
}

static int open_parts(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                      char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir__index *index = of(daemon);
    int error = make_bindings(&index->bindings, rules, why);
    if (!error)
        error = open_records(index, rules, why);
    if (!error && (error = weir__seen_new(&index->seen, index->records)))
        weir__daemon_fail(why, error, "%s", weir_error_text(error));
    if (!error)
        error = weir__quota_open(&index->quota, folder_of(rules), why);
    if (!error)
        error = weir__gather(index, rules, why);
    if (!error && (error = weir__admin_load_pins(index)))
        weir__daemon_fail(why, error, "cannot read what is pinned: %s", weir_error_text(error));
    return error;
}

static int start(struct weir__daemon *daemon)
{
    struct weir__index *index = of(daemon);
    int error = weir__records_start(index->records, daemon->crew);
    return error ? error : weir__lookup_start(index->lookup, daemon->crew);
}

static int update(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    struct weir__index *index = of(daemon);
    struct weir__cache_limits cache = cache_limits(rules);
    struct weir__lookup_limits limits;
    weir__index_fill_limits(rules, &limits);
    int error = weir__lookup_update(index->lookup, &limits);
    limits.quorum = 1;
    if (!error)
        error = weir__lookup_update(index->local, &limits);
    if (!error)
        error = weir__gather_update(index, rules);
    if (!error)
        weir__cache_update(index->cache, &cache);
    return error;
}

/* Sources are hung up on; what they would have said is of no use to anybody any more. */
static void cancel(struct weir__daemon *daemon)
{
    struct weir__index *index = of(daemon);
    weir__lookup_stop(index->lookup);
    weir__lookup_stop(index->local);
}

static void stop(struct weir__daemon *daemon)
{
    struct weir__index *index = of(daemon);
    cancel(daemon);
    weir__records_stop(index->records);
    if (index->publisher)
        weir__publisher_close(index->publisher);
    weir__cache_close(index->cache);
    weir_queue_close(&index->prefetch);
    weir_queue_close(&index->probes);
}

static uint64_t stopped(struct weir__daemon *daemon)
{
    (void)!weir__quota_save(of(daemon)->quota);
    return 0;
}

/* The publisher and the watch borrow what comes behind them. */
static int close_parts(struct weir__daemon *daemon)
{
    struct weir__index *index = of(daemon);
    weir__publisher_free(index->publisher);
    weir__etcd_watch_free(index->watch);
    weir__lookup_free(index->lookup);
    weir__lookup_free(index->local);
    weir__quota_free(index->quota);
    weir__records_close(index->records);
    weir__seen_free(index->seen);
    weir__cache_free(index->cache);
    weir__in_turn_fini(index);
    weir__flights_free(index->flights);
    weir__latency_free(index->latency);
    weir__repeats_free(index->repeats);
    weir__pins_free(index->pins);
    weir__bindings_free(index->bindings);
    weir_budget_fini(&index->traces);
    weir_queue_drain(&index->probes, NULL, NULL);
    weir_queue_fini(&index->probes);
    weir_queue_drain(&index->prefetch, NULL, NULL);
    weir_queue_fini(&index->prefetch);
    weir__base_free(index->breakers);
    weir__base_free(index->epochs);
    return 0;
}

/* --- readiness --- */

/* The order of judge(). Records that can be read and not written are told beside what is vital, and
 * so are sources, since what this node has it can tell without them. */
static const struct weir__daemon_condition conditions[] = {
    {"records", true}, {"writable", false}, {"room", false}, {"sources", false}, {NULL, false},
};

static bool has_source(struct weir__index *index)
{
    size_t count = weir__lookup_source_count(index->lookup);
    for (size_t i = 0; i < count; i++) {
        struct weir_breaker_stats stats;
        weir_breaker_read(weir__lookup_breaker(index->lookup, i), &stats);
        if (stats.state != WEIR_BREAKER_OPEN)
            return true;
    }
    return false;
}

static void judge(struct weir__daemon *daemon, bool *ret_holds)
{
    struct weir__index *index = of(daemon);
    struct weir__records_stats stats;
    weir__records_read(index->records, &stats);
    ret_holds[0] = !stats.is_failing;
    ret_holds[1] = !stats.is_read_only;
    ret_holds[2] = !stats.is_full;
    ret_holds[3] = has_source(index);
}

static bool is_read_only(struct weir__daemon *daemon)
{
    struct weir__records_stats stats;
    weir__records_read(of(daemon)->records, &stats);
    return stats.is_read_only;
}

/* Where the table of errors speaks of something that is not here. */
static const char *reason_of(struct weir__daemon *daemon, int error)
{
    if (error == -WEIR_E_NO_ROUTE)
        return "too few sources have a record of that name: see dht.quorum";
    if (error != -WEIR_E_NO_SPACE)
        return NULL;
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    bool is_in_memory = weir__index_own(rules)->amnesia.is_enabled;
    weir__daemon_rules_give(rules);
    return is_in_memory ? "the memory of amnesia.max_bytes is used up"
                        : "the disk, or the room of index.map_bytes, is full";
}

/* --- the description --- */

static const char *const endpoints[] = {
    [WEIR__INDEX_END_RESOLVE] = "resolve", [WEIR__INDEX_END_PROVIDERS] = "providers",
    [WEIR__INDEX_END_ROUTING] = "routing", [WEIR__INDEX_END_PUBLISH] = "publish",
    [WEIR__INDEX_END_LIST] = "list",       [WEIR__INDEX_END_ADMIN] = "admin",
    [WEIR__INDEX_END_OTHER] = "other",     [WEIR__INDEX_ENDS] = NULL,
};

const struct weir__daemon_service weir__index_service = {
    .name = "index",
    .size = sizeof(struct weir__index),
    .ask_size = sizeof(struct weir__index_ask),
    .job_size = sizeof(struct weir__index_job),
    .tools_size = sizeof(struct weir__index_tools),
    .schema = &weir__index_schema,
    .table = &weir__index_table,
    .folder = folder_of,
    .locks = locks,
    .locks_count = sizeof(locks) / sizeof(locks[0]),
    .jobs_class = &weir__index_jobs_class,
    .routes = weir__index_routes,
    .lines = weir__index_lines,
    .posts = weir__index_posts,
    .caps = weir__index_caps,
    .deadline_ns = deadline_ns,
    .deadline_most_ms = WEIR__INDEX_DEADLINE_MOST_MS,
    .drain_ns = drain_ns,
    .descriptors = count_descriptors,
    .descriptors_others = OTHERS,
    .endpoint_label = "route",
    .endpoints = endpoints,
    .endpoint_of = weir__index_endpoint_of,
    .about_key = "about",
    .reason_of = reason_of,
    .conditions = conditions,
    .judge = judge,
    .is_read_only = is_read_only,
    .make = make,
    .check = check_named,
    .open = open_parts,
    .add_metrics = weir__index_add_metrics,
    .start = start,
    .update = update,
    .cancel = cancel,
    .stop = stop,
    .stopped = stopped,
    .close = close_parts,
    .parse = weir__index_parse,
    .begin = weir__index_begin,
    .whole = weir__index_whole,
    .resume = weir__index_resume,
    .late = weir__index_late,
    .more = weir__index_more,
    .gone = weir__index_gone,
    .init_job = weir__index_init_job,
    .fini_job = weir__index_fini_job,
    .init_tools = weir__index_init_tools,
    .fini_tools = weir__index_fini_tools,
    .sample = weir__index_sample,
    .list_parts = weir__index_list_parts,
    .thread_texts = weir__index_thread_texts,
    .channel_texts = weir__index_channel_texts,
    .limit_texts = weir__index_limit_texts,
    .lock_texts = weir__index_lock_texts,
    .key_texts = weir__index_key_texts,
    .times = weir__index_times,
};
