/* numbers.c - what the service tells about itself.
 *
 * Objects of core tell of themselves. The names of the first design (queue_depth,
 * io_timeouts_total,
 * ...) are told beside them, and what the store and the server count; these are sampled when
 * somebody looks.
 */
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "storage_part.h"

#include "banned.h"

#define BUSY_HELP    "Requests and connections refused at a limit, to come again later."

#define COUNTERS_MAX 96u
#define GAUGES_MAX   32u

struct weir__numbers {
    struct weir_counter counters[COUNTERS_MAX]; /* sampled ones */
    uint64_t seen[COUNTERS_MAX];
    size_t counters_count;
    struct weir_gauge gauges[GAUGES_MAX];
    size_t gauges_count;
    size_t next_counter, next_gauge; /* while sampling */
    int error;
};

/* One pass over all samples registers them, every later one brings them up to date: what is told is
 * written down once. */
struct pass {
    struct weir__storage *storage;
    struct weir__numbers *numbers;
    bool is_first;
};

static struct weir_metrics_series series_of(const char *name, const char *help,
                                            const struct weir_metrics_label *label)
{
    return (struct weir_metrics_series){name, help, label, label && label->name ? 1 : 0};
}

static void counter(struct pass *pass, const char *name, const char *help, const char *label,
                    const char *value, uint64_t now)
{
    struct weir__numbers *numbers = pass->numbers;
    struct weir_metrics_label one = {label, value};
    size_t at = numbers->next_counter++;
    if (at >= COUNTERS_MAX) {
        numbers->error = -WEIR_E_OVERFLOW;
        return;
    }
    struct weir_metrics_series series = series_of(name, help, &one);
    if (pass->is_first && !numbers->error)
        numbers->error =
            weir_metrics_add_counter(pass->storage->metrics, &numbers->counters[at], &series);
    if (now > numbers->seen[at])
        weir_counter_add(&numbers->counters[at], now - numbers->seen[at]);
    numbers->seen[at] = now;
}

static void gauge(struct pass *pass, const char *name, const char *help, const char *label,
                  const char *value, uint64_t now)
{
    struct weir__numbers *numbers = pass->numbers;
    struct weir_metrics_label one = {label, value};
    size_t at = numbers->next_gauge++;
    if (at >= GAUGES_MAX) {
        numbers->error = -WEIR_E_OVERFLOW;
        return;
    }
    struct weir_metrics_series series = series_of(name, help, &one);
    if (pass->is_first && !numbers->error)
        numbers->error =
            weir_metrics_add_gauge(pass->storage->metrics, &numbers->gauges[at], &series);
    weir_gauge_set(&numbers->gauges[at], now > INT64_MAX ? INT64_MAX : (int64_t)now);
}

static void sample_lines(struct pass *pass)
{
    struct weir__storage *storage = pass->storage;
    static const char depth[] = "Jobs in line.",
                      dropped[] = "Jobs refused since the line was full.";
    struct weir_queue_stats reads, writes, repairs;
    struct weir_bus_stats events;
    weir_queue_read(&storage->reads, &reads);
    weir_queue_read(&storage->writes, &writes);
    weir_queue_read(&storage->repairs, &repairs);
    weir_bus_read(&storage->events, &events);
    gauge(pass, "queue_depth", depth, "queue", "work", reads.depth + writes.depth);
    gauge(pass, "queue_depth", depth, "queue", "repair", repairs.depth);
    counter(pass, "queue_dropped_total", dropped, "queue", "work", reads.busy + writes.busy);
    counter(pass, "queue_dropped_total", dropped, "queue", "repair", repairs.busy);
    counter(pass, "queue_dropped_total", dropped, "queue", "events", events.lagged_total);
    counter(pass, "bus_lagged_total", "Events that subscribers missed.", "topic", "events",
            events.lagged_total);
    counter(pass, "audit_lost_total", "Events that could not be written to the audit log.", NULL,
            NULL, weir_counter_value(&storage->counts.audit_lost));
}

static void sample_crew(struct pass *pass, struct weir_crew *crew, const char *const *kinds)
{
    struct weir_crew_report report;
    weir_crew_read(crew, &report);
    for (; *kinds; kinds++) {
        struct weir_crew_kind none = {.spawned = 0}, *kind = &none;
        for (uint64_t k = 0; k < report.kind_count; k++)
            if (strcmp(report.kinds[k].name, *kinds) == 0)
                kind = &report.kinds[k];
        counter(pass, "tasks_spawned_total", "Threads started.", "kind", *kinds, kind->spawned);
        counter(pass, "tasks_aborted_total", "Threads still at work at the drain deadline.", "kind",
                *kinds, kind->aborted);
        counter(pass, "tasks_canceled_total", "Threads that were canceled.", "kind", *kinds,
                kind->canceled);
    }
}

static void sample_tasks(struct pass *pass)
{
    static const char *const kinds[] = {"loop",  "get",   "put",    "stream", "health",
                                        "clock", "quota", "repair", "audit",  NULL};
    static const char *const writers[] = {"commit", "index", NULL};
    static const char *const keepers[] = {"compact", "scrub", NULL};
    struct weir__store_parts store;
    weir__store_parts(pass->storage->store, &store);
    sample_crew(pass, pass->storage->crew, kinds);
    sample_crew(pass, store.writers, writers);
    sample_crew(pass, store.keepers, keepers);
}

static void sample_server(struct pass *pass)
{
    static const char *const ops[] = {"read", "write", "idle", "handshake"};
    static const char *const reasons[] = {"connections", "address", "descriptors", "memory",
                                          "bodies"};
    static const char *const classes[] = {"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"};
    struct weir__server_stats stats;
    weir__server_read(pass->storage->server, &stats);
    for (size_t i = 0; i < WEIR__OP_COUNT; i++)
        counter(pass, "io_timeouts_total", "Waits that took too long.", "op", ops[i],
                stats.timeouts[i]);
    for (size_t i = 0; i < WEIR__REFUSED_COUNT; i++)
        counter(pass, "http_refused_total", "Connections and bodies refused at a limit.", "reason",
                reasons[i], stats.refused[i]);
    for (size_t i = 1; i < 6; i++)
        counter(pass, "http_responses_total", "Answers by the class of their status.", "class",
                classes[i], stats.responses[i]);
    counter(pass, "busy_rejections_total", BUSY_HELP, "endpoint", "connection",
            stats.refused[WEIR__REFUSED_ADDRESS] + stats.refused[WEIR__REFUSED_CONNECTIONS]);
    gauge(pass, "http_connections", "Connections that are open.", NULL, NULL, stats.open);
    counter(pass, "http_malformed_total", "Requests that are no HTTP as we read it.", NULL, NULL,
            stats.malformed);
    counter(pass, "http_received_bytes_total", "Bytes received.", NULL, NULL, stats.bytes_in);
    counter(pass, "http_sent_bytes_total", "Bytes sent.", NULL, NULL, stats.bytes_out);
    counter(pass, "http_aborted_total", "Answers that did not leave whole.", NULL, NULL,
            stats.aborted);
}

static void sample_store(struct pass *pass)
{
    struct weir__store_stats stats;
    weir__store_read(pass->storage->store, &stats);
    gauge(pass, "store_segments", "Segments.", NULL, NULL, stats.segments);
    gauge(pass, "store_bytes", "Bytes of sealed segments.", NULL, NULL, stats.bytes);
    gauge(pass, "store_dead_bytes", "Bytes that compaction would free.", NULL, NULL,
          stats.dead_bytes);
    gauge(pass, "store_chunks", "Addresses in the index and the tails.", NULL, NULL,
          stats.index_entries + stats.tail_records);
    gauge(pass, "store_pending_bytes", "Bytes that wait to be written.", NULL, NULL,
          stats.pending_bytes);
    gauge(pass, "store_keeps_deletions",
          "Whether a segment is missing, damaged or may come back, so that no deletion goes.", NULL,
          NULL, stats.keeps_deletions);
    gauge(pass, "store_writable", "Whether writes can succeed.", NULL, NULL,
          !stats.is_read_only && !stats.is_full && weir__health_of_disk(&stats));
    gauge(pass, "store_whole", "Whether nothing of the folder is missing.", NULL, NULL,
          stats.is_whole);
    gauge(pass, "store_missing_segments", "Segments of which nothing can be read.", NULL, NULL,
          stats.gaps.missing_segments);
    gauge(pass, "store_unreadable_bytes", "Bytes of others that could not be read at the start.",
          NULL, NULL, stats.gaps.unreadable_bytes);
    gauge(pass, "store_lost_segments", "Segments that were gone at the start, or since.", NULL,
          NULL, stats.gaps.lost_segments);
    gauge(pass, "store_lost_bytes", "Bytes that were gone from others at the start.", NULL, NULL,
          stats.gaps.lost_bytes);
    gauge(pass, "store_index_sound", "0: the index broke and is made anew, or cannot be written.",
          NULL, NULL, !stats.index_is_broken && !stats.index_waits);
    counter(pass, "store_reindexed_total", "Times that the index broke and was made anew.", NULL,
            NULL, stats.reindexed);
    counter(pass, "store_index_checks_total",
            "Walks that looked whether the index has what was put into it.", NULL, NULL,
            stats.index_checks);
    counter(pass, "store_index_wrong_total", "Times that it had not, and was made anew.", NULL,
            NULL, stats.index_wrong);
    counter(pass, "store_puts_total", "Chunks stored.", NULL, NULL, stats.puts);
    counter(pass, "store_puts_present_total", "Chunks that were there already.", NULL, NULL,
            stats.puts_present);
    counter(pass, "store_deletes_total", "Chunks deleted.", NULL, NULL, stats.deletes);
    counter(pass, "store_commits_total", "Group commits.", NULL, NULL, stats.commits);
    counter(pass, "store_failed_writes_total", "Group commits that failed.", NULL, NULL,
            stats.writes_failed);
    counter(pass, "store_full_writes_total", "Group commits for which there was no room.", NULL,
            NULL, stats.writes_no_space);
    counter(pass, "store_verified_total", "Chunks compared with their address.", NULL, NULL,
            stats.verified);
    counter(pass, "store_damaged_total", "Chunks found damaged.", NULL, NULL, stats.damaged);
    counter(pass, "store_compacted_bytes_total", "Bytes of segments that were compacted.", NULL,
            NULL, stats.compacted_bytes);
    counter(pass, "store_scrubbed_bytes_total", "Bytes that the scrubber has read.", NULL, NULL,
            stats.scrubbed_bytes);
}

static void sample_quota(struct pass *pass)
{
    gauge(pass, "quota_tokens", "Tokens whose use is counted.", NULL, NULL,
          weir__quota_tokens(pass->storage->quota));
}

static void sample_all(struct weir__storage *storage, bool is_first)
{
    struct pass pass = {storage, storage->numbers, is_first};
    storage->numbers->next_counter = storage->numbers->next_gauge = 0;
    sample_lines(&pass);
    sample_tasks(&pass);
    sample_server(&pass);
    sample_store(&pass);
    sample_quota(&pass);
}

void weir__numbers_sample(struct weir__storage *storage)
{
    sample_all(storage, false);
}

/* --- counters that are kept as they are --- */

static int add(struct weir__storage *storage, struct weir_counter *counter, const char *name,
               const char *help, const char *label, const char *value)
{
    struct weir_metrics_label one = {label, value};
    struct weir_metrics_series series = series_of(name, help, &one);
    return weir_metrics_add_counter(storage->metrics, counter, &series);
}

static int add_quotas(struct weir__storage *storage)
{
    static const char *const reasons[] = {"bytes", "objects", "tokens"};
    int error = 0;
    for (size_t i = 0; !error && i < WEIR__QUOTA_REASONS; i++)
        error = add(storage, &storage->counts.quota_refused[i], "quota_refused_total",
                    "Uploads refused since a quota was used up.", "reason", reasons[i]);
    return error;
}

static int add_own(struct weir__storage *storage)
{
    static const char *const endpoints[] = {"GET", "PUT", "other"};
    struct weir__storage_counts *counts = &storage->counts;
    int error = 0;
    for (size_t i = 0; !error && i < WEIR__ENDPOINTS; i++) {
        struct weir_metrics_label label = {"endpoint", endpoints[i]};
        struct weir_metrics_series series = series_of(
            "request_duration_seconds", "From the first byte to the end of the answer.", &label);
        error = add(storage, &counts->busy[i], "busy_rejections_total", BUSY_HELP, "endpoint",
                    endpoints[i]);
        if (!error)
            error = weir_histogram_init(&counts->latency[i], weir_histogram_time_bounds_ns,
                                        WEIR_HISTOGRAM_TIME_COUNT);
        if (!error)
            error = weir_metrics_add_histogram(storage->metrics, &counts->latency[i], &series);
    }
    struct weir_metrics_series wait =
        series_of("repair_wait_seconds", "Waits for the pace of repairs.", NULL);
    if (!error)
        error = weir_histogram_init(&counts->repair_wait, weir_histogram_time_bounds_ns,
                                    WEIR_HISTOGRAM_TIME_COUNT);
    if (!error)
        error = weir_metrics_add_histogram(storage->metrics, &counts->repair_wait, &wait);
    if (!error)
        error = add(storage, &counts->timeouts[WEIR__OP_COUNT], "work_timeouts_total",
                    "Requests whose deadline passed.", NULL, NULL);
    if (!error)
        error = add(storage, &counts->skipped_full, "repair_skipped_total",
                    "Repairs that found no room in line.", "reason", "full");
    if (!error)
        error = add(storage, &counts->repairs, "repairs_total", "Chunks repaired.", "result",
                    "repaired");
    if (!error)
        error = add(storage, &counts->repairs_failed, "repairs_total", "Chunks repaired.", "result",
                    "failed");
    if (!error)
        error = add(storage, &counts->unauthorized, "access_denied_total", "Requests not let in.",
                    "reason", "unauthorized");
    if (!error)
        error = add(storage, &counts->forbidden, "access_denied_total", "Requests not let in.",
                    "reason", "forbidden");
    if (!error)
        error = add(storage, &counts->cross_site, "access_denied_total", "Requests not let in.",
                    "reason", "cross_site");
    if (!error)
        error = add(storage, &counts->replaced, "tasks_replaced_total",
                    "Threads that took the place of one that had ended.", NULL, NULL);
    if (!error)
        error = add(storage, &counts->answered_by_loop, "answered_from_memory_total",
                    "Chunks that the loop answered by itself.", NULL, NULL);
    return error ? error : add_quotas(storage);
}

static int add_objects(struct weir__storage *storage)
{
    struct weir_metrics *metrics = storage->metrics;
    int error = weir_metrics_add_queue(metrics, &storage->reads);
    if (!error)
        error = weir_metrics_add_queue(metrics, &storage->writes);
    if (!error)
        error = weir_metrics_add_queue(metrics, &storage->streams);
    if (!error)
        error = weir_metrics_add_queue(metrics, &storage->health);
    if (!error)
        error = weir_metrics_add_queue(metrics, &storage->repairs);
    if (!error)
        error = weir_metrics_add_queue(metrics, &storage->reloads);
    if (!error)
        error = weir_metrics_add_bus(metrics, &storage->events);
    if (!error)
        error = weir_metrics_add_watch(metrics, &storage->config);
    if (!error)
        error = weir_metrics_add_watch(metrics, &storage->shutdown);
    if (!error)
        error = weir_metrics_add_budget(metrics, &storage->inflight);
    if (!error)
        error = weir_metrics_add_budget(metrics, &storage->scrapes);
    if (!error)
        error = weir_metrics_add_rate(metrics, &storage->pacing);
    if (!error)
        error = weir_metrics_add_rate(metrics, &storage->complaints);
    if (!error)
        error = weir_metrics_add_admit(metrics, &storage->per_address);
    if (!error)
        error = weir_metrics_add_crew(metrics, storage->crew);
    return error;
}

static int add_store(struct weir__storage *storage)
{
    struct weir_metrics *metrics = storage->metrics;
    struct weir__store_parts parts;
    weir__store_parts(storage->store, &parts);
    int error = weir_metrics_add_queue(metrics, parts.writes);
    if (!error)
        error = weir_metrics_add_queue(metrics, parts.tails);
    if (!error)
        error = weir_metrics_add_budget(metrics, parts.pending);
    if (!error)
        error = weir_metrics_add_budget(metrics, parts.unindexed);
    if (!error)
        error = weir_metrics_add_budget(metrics, parts.compacting);
    if (!error)
        error = weir_metrics_add_rate(metrics, parts.compact_rate);
    if (!error)
        error = weir_metrics_add_rate(metrics, parts.scrub_rate);
    if (!error)
        error = weir_metrics_add_crew(metrics, parts.writers);
    if (!error)
        error = weir_metrics_add_crew(metrics, parts.keepers);
    return error;
}

static int add_server(struct weir__storage *storage)
{
    struct weir_metrics *metrics = storage->metrics;
    struct weir__server_parts parts;
    weir__server_parts(storage->server, &parts);
    int error = weir_metrics_add_admit(metrics, parts.addresses);
    if (!error)
        error = weir_metrics_add_admit(metrics, parts.refused);
    if (!error)
        error = weir_metrics_add_budget(metrics, parts.bodies);
    if (!error)
        error = weir_metrics_add_watch(metrics, parts.limits);
    if (!error)
        error = weir_metrics_add_watch(metrics, parts.phase);
    if (!error)
        error = weir_metrics_add_watch(metrics, parts.progress);
    return error;
}

int weir__numbers_new(struct weir__storage *storage)
{
    storage->numbers = weir__base_alloc(1, sizeof(*storage->numbers));
    int error =
        storage->numbers ? weir_metrics_new(&storage->metrics, "storage", NULL) : -WEIR_E_NO_MEMORY;
    if (!error)
        error = add_own(storage);
    if (!error)
        error = add_objects(storage);
    if (!error)
        error = add_store(storage);
    if (!error)
        error = add_server(storage);
    if (error)
        return error;
    sample_all(storage, true);
    return storage->numbers->error;
}

void weir__numbers_free(struct weir__storage *storage)
{
    weir_metrics_free(storage->metrics);
    storage->metrics = NULL;
    weir__base_free(storage->numbers);
    storage->numbers = NULL;
}
