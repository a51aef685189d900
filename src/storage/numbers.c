/* numbers.c - what the storage tells about itself besides what every service does, and what it is
 * made of. What the store counts is sampled when somebody looks. */
#include <weir/error.h>

#include "storage_part.h"

#include "banned.h"

/* --- what is sampled --- */

static void sample_lines(struct weir__storage *storage, struct weir__daemon_pass *pass)
{
    static const char depth[] = "Jobs in line.", dropped[] = WEIR__DAEMON_DROPPED_HELP;
    struct weir_queue_stats reads, writes, repairs;
    weir_queue_read(&storage->daemon.lines[WEIR__LINE_READS], &reads);
    weir_queue_read(&storage->daemon.lines[WEIR__LINE_WRITES], &writes);
    weir_queue_read(&storage->repairs, &repairs);
    weir__daemon_gauge(pass, "queue_depth", depth, "queue", "work", reads.depth + writes.depth);
    weir__daemon_gauge(pass, "queue_depth", depth, "queue", "repair", repairs.depth);
    weir__daemon_counter(pass, "queue_dropped_total", dropped, "queue", "work",
                         reads.busy + writes.busy);
    weir__daemon_counter(pass, "queue_dropped_total", dropped, "queue", "repair", repairs.busy);
}

static void sample_tasks(struct weir__storage *storage, struct weir__daemon_pass *pass)
{
    static const char *const writers[] = {"commit", "index", NULL};
    static const char *const keepers[] = {"compact", "scrub", NULL};
    struct weir__store_parts store;
    weir__store_parts(storage->store, &store);
    weir__daemon_sample_crew(pass, store.writers, writers);
    weir__daemon_sample_crew(pass, store.keepers, keepers);
}

static void sample_state(struct weir__daemon_pass *pass, const struct weir__store_stats *stats)
{
    weir__daemon_gauge(pass, "store_segments", "Segments.", NULL, NULL, stats->segments);
    weir__daemon_gauge(pass, "store_bytes", "Bytes of records, dead ones included.", NULL, NULL,
                       stats->bytes);
    weir__daemon_gauge(pass, "store_dead_bytes", "Bytes that compaction would free.", NULL, NULL,
                       stats->dead_bytes);
    weir__daemon_gauge(pass, "store_chunks", "Chunks that are there.", NULL, NULL, stats->chunks);
    weir__daemon_gauge(pass, "store_pending_bytes", "Bytes that wait to be written.", NULL, NULL,
                       stats->pending_bytes);
    weir__daemon_gauge(
        pass, "store_keeps_deletions",
        "Whether a segment is missing, damaged or may come back, so that no deletion goes.", NULL,
        NULL, stats->keeps_deletions);
    weir__daemon_gauge(pass, "store_writable", "Whether writes can succeed.", NULL, NULL,
                       !stats->is_read_only && !stats->is_full && weir__storage_has_disk(stats));
    weir__daemon_gauge(pass, "store_whole", "Whether nothing of the folder is missing.", NULL, NULL,
                       stats->is_whole);
    weir__daemon_gauge(pass, "store_missing_segments", "Segments of which nothing can be read.",
                       NULL, NULL, stats->gaps.missing_segments);
    weir__daemon_gauge(pass, "store_unreadable_bytes",
                       "Bytes of others that could not be read at the start.", NULL, NULL,
                       stats->gaps.unreadable_bytes);
    weir__daemon_gauge(pass, "store_lost_segments",
                       "Segments that were gone at the start, or since.", NULL, NULL,
                       stats->gaps.lost_segments);
    weir__daemon_gauge(pass, "store_lost_bytes", "Bytes that were gone from others at the start.",
                       NULL, NULL, stats->gaps.lost_bytes);
    weir__daemon_gauge(pass, "store_index_sound",
                       "0: the index broke and is made anew, or cannot be written.", NULL, NULL,
                       !stats->index_is_broken && !stats->index_waits);
}

static void sample_work(struct weir__daemon_pass *pass, const struct weir__store_stats *stats)
{
    weir__daemon_counter(pass, "store_reindexed_total",
                         "Times that the index broke and was made anew.", NULL, NULL,
                         stats->reindexed);
    weir__daemon_counter(pass, "store_index_checks_total",
                         "Walks that looked whether the index has what was put into it.", NULL,
                         NULL, stats->index_checks);
    weir__daemon_counter(pass, "store_index_wrong_total",
                         "Times that it had not, and was made anew.", NULL, NULL,
                         stats->index_wrong);
    weir__daemon_counter(pass, "store_puts_total", "Chunks stored.", NULL, NULL, stats->puts);
    weir__daemon_counter(pass, "store_puts_present_total", "Chunks that were there already.", NULL,
                         NULL, stats->puts_present);
    weir__daemon_counter(pass, "store_deletes_total", "Chunks deleted.", NULL, NULL,
                         stats->deletes);
    weir__daemon_counter(pass, "store_commits_total", "Group commits.", NULL, NULL, stats->commits);
    weir__daemon_counter(pass, "store_failed_writes_total", "Group commits that failed.", NULL,
                         NULL, stats->writes_failed);
    weir__daemon_counter(pass, "store_full_writes_total",
                         "Group commits for which there was no room.", NULL, NULL,
                         stats->writes_no_space);
    weir__daemon_counter(pass, "store_verified_total", "Chunks compared with their address.", NULL,
                         NULL, stats->verified);
    weir__daemon_counter(pass, "store_damaged_total", "Chunks found damaged.", NULL, NULL,
                         stats->damaged);
    weir__daemon_counter(pass, "store_compacted_bytes_total",
                         "Bytes of segments that were compacted.", NULL, NULL,
                         stats->compacted_bytes);
    weir__daemon_counter(pass, "store_scrubbed_bytes_total", "Bytes that the scrubber has read.",
                         NULL, NULL, stats->scrubbed_bytes);
}

void weir__storage_sample(struct weir__daemon *daemon, struct weir__daemon_pass *pass)
{
    struct weir__storage *storage = (struct weir__storage *)daemon;
    struct weir__store_stats stats;
    weir__store_read(storage->store, &stats);
    sample_lines(storage, pass);
    sample_tasks(storage, pass);
    sample_state(pass, &stats);
    sample_work(pass, &stats);
    weir__daemon_gauge(pass, "quota_tokens", "Tokens whose use is counted.", NULL, NULL,
                       weir__quota_tokens(storage->quota));
}

/* --- counters that are kept as they are --- */

static int add_quotas(struct weir__storage *storage)
{
    static const char *const reasons[] = {"bytes", "objects", "tokens"};
    int error = 0;
    for (size_t i = 0; !error && i < WEIR__QUOTA_REASONS; i++)
        error = weir__daemon_add_counter(
            &storage->daemon, &storage->counts.quota_refused[i], "quota_refused_total",
            "Uploads refused since a quota was used up.", "reason", reasons[i]);
    return error;
}

int weir__storage_add_metrics(struct weir__daemon *daemon)
{
    struct weir__storage *storage = (struct weir__storage *)daemon;
    struct weir__storage_counts *counts = &storage->counts;
    int error = weir__daemon_add_histogram(daemon, &counts->repair_wait, "repair_wait_seconds",
                                           "Waits for the pace of repairs.", NULL, NULL);
    if (!error)
        error = weir__daemon_add_counter(daemon, &counts->skipped_full, "repair_skipped_total",
                                         "Repairs that found no room in line.", "reason", "full");
    if (!error)
        error = weir__daemon_add_counter(daemon, &counts->repairs, "repairs_total",
                                         "Chunks repaired.", "result", "repaired");
    if (!error)
        error = weir__daemon_add_counter(daemon, &counts->repairs_failed, "repairs_total",
                                         "Chunks repaired.", "result", "failed");
    if (!error)
        error = weir__daemon_add_counter(daemon, &counts->answered_by_loop,
                                         "answered_from_memory_total",
                                         "Chunks that the loop answered by itself.", NULL, NULL);
    return error ? error : add_quotas(storage);
}

/* --- parts --- */

void weir__storage_list_parts(struct weir__daemon *daemon, struct weir__daemon_parts *parts)
{
    struct weir__storage *storage = (struct weir__storage *)daemon;
    struct weir__store_parts store;
    weir__store_parts(storage->store, &store);
    weir__daemon_part_queue(parts, &storage->repairs);
    weir__daemon_part_rate(parts, &storage->pacing);
    weir__daemon_part_queue(parts, store.writes);
    weir__daemon_part_queue(parts, store.tails);
    weir__daemon_part_budget(parts, store.pending);
    weir__daemon_part_budget(parts, store.unindexed);
    weir__daemon_part_budget(parts, store.compacting);
    weir__daemon_part_rate(parts, store.compact_rate);
    weir__daemon_part_rate(parts, store.scrub_rate);
    weir__daemon_part_crew(parts, store.writers);
    weir__daemon_part_crew(parts, store.keepers);
}
