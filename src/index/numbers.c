/* numbers.c - what the index tells about itself besides what every service does, and what it is
 * made of. What its parts count is sampled when somebody looks.
 *
 * Names of the first design are told as they are there, but for index_dht_lookup_ms, which no tool
 * accepts: time is in seconds.
 */
#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"

#include "banned.h"

/* --- what is sampled --- */

static void sample_line(struct weir__daemon_pass *pass, const char *name, uint64_t depth,
                        uint64_t refused)
{
    weir__daemon_gauge(pass, "queue_depth", "Jobs in line.", "queue", name, depth);
    weir__daemon_counter(pass, "queue_dropped_total", WEIR__DAEMON_DROPPED_HELP, "queue", name,
                         refused);
}

static void sample_queue(struct weir__daemon_pass *pass, const char *name, struct weir_queue *queue)
{
    struct weir_queue_stats stats;
    weir_queue_read(queue, &stats);
    sample_line(pass, name, stats.depth, stats.busy);
}

/* What waits for the turn of its address. */
static void sample_turns(struct weir__index *index, struct weir__daemon_pass *pass)
{
    static const char *const names[WEIR__INDEX_LINES] = {
        [WEIR__INDEX_WORK] = "turns", [WEIR__INDEX_OWN] = "own_turns"};
    for (int line = 0; line < WEIR__INDEX_LINES; line++) {
        struct weir__turns_stats stats;
        weir__turns_read(index->turns[line], &stats);
        sample_line(pass, names[line], stats.waiting, stats.refused);
    }
}

static void sample_lines(struct weir__index *index, struct weir__daemon_pass *pass)
{
    sample_turns(index, pass);
    sample_queue(pass, "work", &index->daemon.lines[WEIR__INDEX_WORK]);
    sample_queue(pass, "own", &index->daemon.lines[WEIR__INDEX_OWN]);
    sample_queue(pass, "cache", weir__cache_line(index->cache));
    sample_queue(pass, "records", weir__records_line(index->records));
    sample_queue(pass, "prefetch", &index->prefetch);
    sample_queue(pass, "probes", &index->probes);
    if (index->publisher)
        sample_queue(pass, "publish", weir__publisher_line(index->publisher));
}

static void sample_cache(struct weir__index *index, struct weir__daemon_pass *pass)
{
    static const char found[] = "index_cache_found_total", gone[] = "index_cache_removed_total";
    static const char found_help[] = "Looks into the cache, by what was there.";
    static const char gone_help[] = "Answers that left the cache, or never came into it.";
    struct weir__cache_stats stats;
    weir__cache_read(index->cache, &stats);
    weir__daemon_gauge(pass, "index_cache_entries", "Answers in the cache.", NULL, NULL,
                       stats.entries);
    weir__daemon_gauge(pass, "index_cache_bytes", "Memory that they take.", NULL, NULL,
                       stats.bytes);
    weir__daemon_gauge(pass, "index_cache_pinned", "Keys that are pinned.", NULL, NULL,
                       stats.pinned);
    weir__daemon_counter(pass, found, found_help, "state", "fresh", stats.hits);
    weir__daemon_counter(pass, found, found_help, "state", "negative", stats.negative_hits);
    weir__daemon_counter(pass, found, found_help, "state", "stale", stats.stale_hits);
    weir__daemon_counter(pass, found, found_help, "state", "none", stats.misses);
    weir__daemon_counter(pass, "index_cache_inserted_total", "Answers put into the cache.", NULL,
                         NULL, stats.inserted + stats.replaced);
    weir__daemon_counter(pass, gone, gone_help, "reason", "expired", stats.expired);
    weir__daemon_counter(pass, gone, gone_help, "reason", "evicted", stats.evicted);
    weir__daemon_counter(pass, gone, gone_help, "reason", "dropped", stats.dropped);
    weir__daemon_counter(pass, gone, gone_help, "reason", "refused", stats.refused);
    weir__daemon_counter(pass, gone, gone_help, "reason", "outdated", stats.outdated);
    weir__daemon_counter(pass, "index_cache_purges_total", "Times that amnesia emptied it.", NULL,
                         NULL, stats.purges);
}

static void sample_records(struct weir__index *index, struct weir__daemon_pass *pass)
{
    static const char kinds[] = "index_records", kinds_help[] = "What the records hold.";
    struct weir__records_stats stats;
    weir__records_read(index->records, &stats);
    weir__daemon_gauge(pass, kinds, kinds_help, "kind", "names", stats.names);
    weir__daemon_gauge(pass, kinds, kinds_help, "kind", "providers", stats.providers);
    weir__daemon_gauge(pass, kinds, kinds_help, "kind", "pins", stats.pins);
    weir__daemon_gauge(pass, kinds, kinds_help, "kind", "seen", stats.seen);
    weir__daemon_gauge(pass, "index_records_bytes", "Room that they take.", NULL, NULL,
                       stats.used_bytes);
    weir__daemon_gauge(pass, "index_records_room_bytes", "Room that there is.", NULL, NULL,
                       stats.map_bytes);
    weir__daemon_gauge(pass, "index_records_writable", "Whether writes can succeed.", NULL, NULL,
                       !stats.is_read_only && !stats.is_full && !stats.is_failing);
    weir__daemon_counter(pass, "index_records_commits_total", "Group commits.", NULL, NULL,
                         stats.commits);
    weir__daemon_counter(pass, "index_records_written_total", "Writes that were committed.", NULL,
                         NULL, stats.writes);
    weir__daemon_counter(pass, "index_records_failed_total", "Writes that failed.", NULL, NULL,
                         stats.failed);
    weir__daemon_counter(pass, "index_records_corrupt_total", "Records found damaged.", NULL, NULL,
                         stats.corrupt);
    weir__daemon_counter(pass, "index_records_evicted_total",
                         "Providers that made room for others of their address.", NULL, NULL,
                         stats.evicted);
    struct weir__seen_stats seen;
    weir__seen_read(index->seen, &seen);
    weir__daemon_gauge(pass, "index_seen_unwritten",
                       "Names of which more was seen than is on the disk yet.", NULL, NULL,
                       seen.unwritten);
    weir__daemon_counter(pass, "index_seen_refused_total",
                         "Records that were not told since they could not be remembered.", NULL,
                         NULL, seen.refused);
}

static void sample_flights(struct weir__index *index, struct weir__daemon_pass *pass)
{
    struct weir__flights_stats stats;
    weir__flights_read(index->flights, &stats);
    weir__daemon_gauge(pass, "index_flights", "Lookups that somebody waits for.", NULL, NULL,
                       stats.now);
    weir__daemon_counter(pass, "index_flights_total", "Who wanted a lookup.", "part", "led",
                         stats.led);
    weir__daemon_counter(pass, "index_flights_total", "Who wanted a lookup.", "part", "joined",
                         stats.joined);
    weir__daemon_counter(pass, "index_flights_total", "Who wanted a lookup.", "part", "refused",
                         stats.refused);
}

static void sample_lookups(struct weir__index *index, struct weir__daemon_pass *pass)
{
    static const char ends[] = "index_lookups_total", help[] = "Lookups, by how they ended.";
    struct weir__lookup_stats stats;
    weir__lookup_read(index->lookup, &stats);
    sample_line(pass, "ask", stats.line_depth, stats.line_refused);
    weir__daemon_counter(pass, ends, help, "result", "answered", stats.answered);
    weir__daemon_counter(pass, ends, help, "result", "not_found", stats.not_found);
    weir__daemon_counter(pass, ends, help, "result", "failed", stats.failed);
    weir__daemon_counter(pass, ends, help, "result", "timed_out", stats.timed_out);
    weir__daemon_counter(pass, ends, help, "result", "canceled", stats.canceled);
    weir__daemon_counter(pass, ends, help, "result", "breaker_open", stats.breaker_open);
    weir__daemon_counter(pass, "index_attempts_total", "Attempts to ask a source.", NULL, NULL,
                         stats.attempts);
    weir__daemon_counter(pass, "index_hedges_total", "Attempts that the hedge delay caused.", NULL,
                         NULL, stats.hedges);
    weir__daemon_counter(pass, "index_hedges_denied_total",
                         "Lookups that were over the budget of hedges.", NULL, NULL,
                         stats.hedges_denied);
    weir__daemon_counter(pass, "index_hedges_won_total", "Hedges that were faster.", NULL, NULL,
                         stats.wins_by_hedge);
    weir__daemon_gauge(pass, "index_attempts_left_behind",
                       "Attempts that were canceled and have not ended.", NULL, NULL,
                       stats.left_behind_now);
}

static void sample_publisher(struct weir__index *index, struct weir__daemon_pass *pass)
{
    static const char told[] = "index_publish_total", help[] = "Records told to others.";
    struct weir__publisher_stats stats;
    struct weir__publisher_target_stats sum = {.told = 0};
    if (!index->publisher)
        return;
    weir__publisher_read(index->publisher, &stats);
    for (size_t i = 0; i < stats.targets_count; i++) {
        sum.told += stats.targets[i].told;
        sum.failed += stats.targets[i].failed;
        sum.conflicts += stats.targets[i].conflicts;
        sum.skipped += stats.targets[i].skipped;
    }
    weir__daemon_counter(pass, told, help, "result", "told", sum.told);
    weir__daemon_counter(pass, told, help, "result", "superseded", stats.superseded);
    weir__daemon_counter(pass, told, help, "result", "failed", sum.failed);
    weir__daemon_counter(pass, told, help, "result", "conflict", sum.conflicts);
    weir__daemon_counter(pass, told, help, "result", "skipped", sum.skipped);
    weir__daemon_counter(pass, "index_publish_rounds_total", "Rounds over all records.", NULL, NULL,
                         stats.rounds);
    weir__daemon_counter(pass, "index_publish_late_total",
                         "Rounds that took longer than their interval.", NULL, NULL, stats.late);
}

/* One of the three states of each source is 1. */
static void sample_breakers(struct weir__index *index, struct weir__daemon_pass *pass)
{
    size_t count = weir__lookup_source_count(index->lookup);
    for (size_t i = 0; i < count; i++) {
        struct weir_breaker_stats stats;
        weir_breaker_read(weir__lookup_breaker(index->lookup, i), &stats);
        for (unsigned state = 0; state < WEIR_BREAKER_STATES; state++)
            weir_gauge_set(&index->breakers[i * WEIR_BREAKER_STATES + state],
                           state == (unsigned)stats.state);
        weir__daemon_counter(pass, "breaker_open_total", "Times that a source was left alone.",
                             "target", weir__lookup_source(index->lookup, i)->name,
                             stats.entered[WEIR_BREAKER_OPEN]);
    }
}

static void sample_tasks(struct weir__index *index, struct weir__daemon_pass *pass)
{
    static const char *const kinds[] = {"ask", "records", NULL};
    weir__daemon_sample_crew(pass, index->daemon.crew, kinds);
}

void weir__index_sample(struct weir__daemon *daemon, struct weir__daemon_pass *pass)
{
    struct weir__index *index = weir__index_of(daemon);
    sample_lines(index, pass);
    sample_tasks(index, pass);
    sample_cache(index, pass);
    sample_records(index, pass);
    sample_flights(index, pass);
    sample_lookups(index, pass);
    sample_publisher(index, pass);
    sample_breakers(index, pass);
    weir__daemon_counter(pass, "io_timeouts_total", "Waits that took too long.", "op", "resolve",
                         weir_counter_value(&index->counts.deadline_hit));
    weir__daemon_gauge(pass, "index_latencies", "Providers whose latency is known.", NULL, NULL,
                       weir__latency_count(index->latency));
    weir__daemon_gauge(pass, "index_idempotency_keys", "Idempotency-Keys that are remembered.",
                       NULL, NULL, weir__repeats_count(index->repeats));
    weir__daemon_gauge(pass, "quota_tokens", "Tokens whose use is counted.", NULL, NULL,
                       weir__quota_tokens(index->quota));
}

/* --- counters that are kept as they are --- */

static int add_counter(struct weir__index *index, const struct weir_counter *counter,
                       const char *name, const char *help, const struct weir_metrics_label *labels,
                       size_t count)
{
    const struct weir_metrics_series series = {name, help, labels, count};
    return weir_metrics_add_counter(index->daemon.metrics, counter, &series);
}

static int add_tries(struct weir__index *index, const char *target,
                     const struct weir__source_counts *counts)
{
    static const char name[] = "index_tries_total", help[] = "Tries to ask a source, by how they "
                                                             "ended.";
    const struct {
        const struct weir_counter *counter;
        const char *result;
    } rows[] = {{&counts->answered, "answered"}, {&counts->not_found, "not_found"},
                {&counts->failed, "failed"},     {&counts->canceled, "canceled"},
                {&counts->refused, "refused"},   {&counts->left_behind, "left_behind"}};
    int error = 0;
    for (size_t i = 0; !error && i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct weir_metrics_label labels[] = {{"target", target}, {"result", rows[i].result}};
        error = add_counter(index, rows[i].counter, name, help, labels, 2);
    }
    const struct weir_metrics_label op = {"op", target};
    return error ? error
                 : add_counter(index, &counts->retries, "backoff_retries_total",
                               "Tries again after a failure.", &op, 1);
}

static int add_verdicts(struct weir__index *index, const char *target,
                        const struct weir__source_counts *counts)
{
    int error = 0;
    for (unsigned i = 0; !error && i < WEIR__RECORD_VERDICTS; i++) {
        const struct weir_metrics_label labels[] = {
            {"target", target},
            {"verdict", weir__record_verdict_name((enum weir__record_verdict)i)}};
        error = add_counter(index, &counts->records[i], "index_source_records_total",
                            "Records that sources gave, by what was found of them.", labels, 2);
    }
    return error;
}

static int add_states(struct weir__index *index, size_t which, const char *target)
{
    int error = 0;
    for (unsigned i = 0; !error && i < WEIR_BREAKER_STATES; i++) {
        const struct weir_metrics_label labels[] = {
            {"target", target}, {"state", weir_breaker_state_name((enum weir_breaker_state)i)}};
        const struct weir_metrics_series series = {
            "breaker_state", "Which state the breaker of a source is in.", labels, 2};
        error = weir_metrics_add_gauge(index->daemon.metrics,
                                       &index->breakers[which * WEIR_BREAKER_STATES + i], &series);
    }
    return error;
}

static int add_source(struct weir__index *index, size_t which)
{
    const char *target = weir__lookup_source(index->lookup, which)->name;
    const struct weir__source_counts *counts = weir__lookup_counts(index->lookup, which);
    const struct weir_metrics_label label = {"target", target};
    const struct weir_metrics_series took = {"index_source_seconds", "Time of a try.", &label, 1};
    int error = add_tries(index, target, counts);
    if (!error)
        error = add_verdicts(index, target, counts);
    if (!error)
        error = add_states(index, which, target);
    if (!error)
        error = weir_metrics_add_breaker(index->daemon.metrics,
                                         weir__lookup_breaker(index->lookup, which));
    return error ? error
                 : weir_metrics_add_histogram(index->daemon.metrics, &counts->took_ns, &took);
}

static int add_sources(struct weir__index *index)
{
    size_t count = weir__lookup_source_count(index->lookup);
    index->breakers = weir__base_alloc(count * WEIR_BREAKER_STATES, sizeof(*index->breakers));
    int error = index->breakers ? 0 : -WEIR_E_NO_MEMORY;
    for (size_t i = 0; !error && i < count; i++)
        error = add_source(index, i);
    return error;
}

static int add_refusals(struct weir__index *index)
{
    static const char *const reasons[] = {"bytes", "objects", "tokens"};
    int error = 0;
    for (size_t i = 0; !error && i < WEIR__QUOTA_REASONS; i++)
        error = weir__daemon_add_counter(
            &index->daemon, &index->counts.quota_refused[i], "quota_refused_total",
            "Records refused since a quota was used up.", "reason", reasons[i]);
    for (unsigned i = 0; !error && i < WEIR__RECORD_VERDICTS; i++)
        error = weir__daemon_add_counter(
            &index->daemon, &index->counts.refused[i], "index_brought_records_total",
            "Records that clients brought, by what was found of them.", "verdict",
            weir__record_verdict_name((enum weir__record_verdict)i));
    return error;
}

int weir__index_add_metrics(struct weir__daemon *daemon)
{
    struct weir__index *index = weir__index_of(daemon);
    struct weir__index_counts *counts = &index->counts;
    const struct {
        struct weir_counter *counter;
        const char *name, *help;
    } own[] = {
        {&counts->deadline_hit, "resolve_deadline_hit_total",
         "Lookups that somebody waited for until the deadline."},
        {&counts->answered_by_loop, "answered_from_memory_total",
         "Requests that the loop answered by itself."},
        {&counts->stale, "index_stale_answers_total", "Answers that were marked as stale."},
        {&counts->negative, "index_negative_answers_total", "Answers that there is nothing."},
        {&counts->sent_again, "index_sent_again_total",
         "Requests that joined a lookup near its end, or across a change, and went through the "
         "line "
         "again."},
        {&counts->conflicts, "index_conflicts_total",
         "Changes that were refused since somebody was faster."},
        {&counts->published, "index_changes_total", "Changes that were acknowledged."},
        {&counts->prefetched, "index_prefetched_total", "Lookups before somebody asked."},
        {&counts->compared, "index_compared_total",
         "Names of which this node told its own record, and others were asked for a newer one."},
        {&counts->probes, "index_probes_total", "Providers that answered a probe."},
        {&counts->probes_failed, "index_probes_failed_total",
         "Providers that did not, or may not be asked."},
    };
    int error = weir__daemon_add_histogram(daemon, &counts->resolve, "resolve_latency_seconds",
                                           "From the first byte of a request to resolve to the end "
                                           "of its answer.",
                                           NULL, NULL);
    if (!error)
        error = weir__daemon_add_histogram(daemon, &counts->lookup, "index_dht_lookup_seconds",
                                           "Lookups over all sources.", NULL, NULL);
    for (size_t i = 0; !error && i < sizeof(own) / sizeof(own[0]); i++)
        error =
            weir__daemon_add_counter(daemon, own[i].counter, own[i].name, own[i].help, NULL, NULL);
    if (!error)
        error = add_refusals(index);
    return error ? error : add_sources(index);
}

/* --- parts --- */

void weir__index_list_parts(struct weir__daemon *daemon, struct weir__daemon_parts *parts)
{
    struct weir__index *index = weir__index_of(daemon);
    weir__daemon_part_queue(parts, weir__cache_line(index->cache));
    weir__daemon_part_queue(parts, weir__records_line(index->records));
    weir__daemon_part_queue(parts, &index->prefetch);
    weir__daemon_part_queue(parts, &index->probes);
    if (index->publisher)
        weir__daemon_part_queue(parts, weir__publisher_line(index->publisher));
    weir__daemon_part_budget(parts, &index->traces);
}
