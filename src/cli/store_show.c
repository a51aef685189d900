/* store_show.c - see store_show.h. */
#include "store_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "segments.h"
#include "values.h"

#include "banned.h"

#define NAME "%-16s "

/* --- for people --- */

static void row_count(struct weir__out *out, const char *name, uint64_t count)
{
    weir__out_printf(out, NAME "%" PRIu64 "\n", name, count);
}

static void row_size(struct weir__out *out, const char *name, uint64_t bytes)
{
    char text[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(bytes, text);
    weir__out_printf(out, NAME "%s\n", name, text);
}

static void row_both(struct weir__out *out, const char *name, uint64_t count, uint64_t bytes)
{
    char text[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(bytes, text);
    weir__out_printf(out, NAME "%" PRIu64 ", %s\n", name, count, text);
}

#define DATE_MAX 32

static const char *date(char text[DATE_MAX], int64_t time_s)
{
    time_t seconds = (time_t)time_s;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(text, DATE_MAX, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(text, DATE_MAX, "?");
    return text;
}

static void row_index(struct weir__out *out, const struct weir__store_report *opened)
{
    if (opened->index_was_rebuilt)
        weir__out_printf(out, NAME "made anew in memory: %s\n", "index", opened->index_why);
    else
        weir__out_printf(out, NAME "as it was left\n", "index");
}

static void row_lost(struct weir__out *out, const struct weir__store_report *opened)
{
    if (opened->gaps.lost_segments > 0)
        row_count(out, "lost segments", opened->gaps.lost_segments);
    if (opened->gaps.lost_bytes > 0)
        row_size(out, "lost", opened->gaps.lost_bytes);
}

void weir__show_damage(struct weir__out *out, const struct weir__check_damage *damage)
{
    char name[WEIR__SEGMENT_NAME], address[WEIR__ADDRESS_TEXT] = "-";
    weir__segment_name(damage->segment, name);
    if (damage->address)
        weir__address_print(damage->address, address);
    weir__out_printf(out, "%s  %s at %" PRIu64 "  %s: %s%s\n",
                     damage->is_unreadable ? "unreadable" : "damaged", name, damage->offset,
                     address, damage->what, damage->counts ? "" : " (it counts no more)");
}

void weir__show_check(struct weir__out *out, const struct weir__check_report *check,
                      const struct weir__store_report *opened)
{
    row_both(out, "segments", check->segments, check->file_bytes);
    row_both(out, "chunks", check->chunks, check->chunk_bytes);
    row_count(out, "deletions", check->deletions);
    row_size(out, "dead", check->dead_bytes);
    row_size(out, "torn", check->torn_bytes);
    row_count(out, "damaged", check->damaged);
    if (check->damaged_dead > 0)
        row_count(out, "damaged, dead", check->damaged_dead);
    if (check->unreadable > 0)
        row_count(out, "unreadable", check->unreadable);
    if (check->put_aside > 0)
        row_count(out, "put aside", check->put_aside);
    row_lost(out, opened);
    row_index(out, opened);
}

void weir__show_stats(struct weir__out *out, const struct weir__census *census,
                      const struct weir__store_stats *stats,
                      const struct weir__store_report *opened)
{
    char first[DATE_MAX], last[DATE_MAX];
    row_both(out, "segments", stats->segments, census->file_bytes);
    row_both(out, "chunks", census->chunks, census->chunk_bytes);
    if (census->chunks > 0) {
        weir__out_printf(out, NAME "%u to %u bytes\n", "lengths", census->length_min,
                         census->length_max);
        weir__out_printf(out, NAME "%s to %s\n", "times", date(first, census->time_min_s),
                         date(last, census->time_max_s));
    }
    row_count(out, "deletions", census->deletions);
    row_size(out, "dead", census->dead_bytes);
    row_count(out, "not indexed yet", stats->tail_records);
    row_size(out, "index size", stats->index_bytes);
    row_count(out, "quarantine", census->quarantined);
    weir__out_printf(out, NAME "%s\n", "last scrub",
                     census->scrub_ended_s ? date(first, census->scrub_ended_s) : "never");
    weir__out_printf(out, NAME "%s\n", "closed cleanly", opened->was_clean ? "yes" : "no");
    if (opened->gaps.missing_segments > 0)
        row_count(out, "missing", opened->gaps.missing_segments);
    if (opened->gaps.unreadable_bytes > 0)
        row_size(out, "unreadable", opened->gaps.unreadable_bytes);
    row_lost(out, opened);
    row_index(out, opened);
}

void weir__show_compacted(struct weir__out *out, const struct weir__compacted *compacted)
{
    row_count(out, "compacted", compacted->segments);
    if (compacted->left > 0)
        row_count(out, "left", compacted->left);
    if (compacted->damaged > 0)
        row_count(out, "damaged", compacted->damaged);
    row_size(out, "before", compacted->bytes_before);
    row_size(out, "after", compacted->bytes_after);
    row_size(out, "gained",
             compacted->bytes_before > compacted->bytes_after
                 ? compacted->bytes_before - compacted->bytes_after
                 : 0);
}

/* --- for programs --- */

static void add(struct weir__json *json, const char *key, uint64_t value)
{
    weir__json_key(json, key);
    weir__json_u64(json, value);
}

static void add_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    if (text)
        weir__json_string(json, text);
    else
        weir__json_null(json);
}

static void add_bool(struct weir__json *json, const char *key, bool value)
{
    weir__json_key(json, key);
    weir__json_bool(json, value);
}

static void add_opened(struct weir__json *json, const struct weir__store_report *opened)
{
    add_bool(json, "was_clean", opened->was_clean);
    add(json, "missing_segments", opened->gaps.missing_segments);
    add(json, "unreadable_bytes", opened->gaps.unreadable_bytes);
    add(json, "lost_segments", opened->gaps.lost_segments);
    add(json, "lost_bytes", opened->gaps.lost_bytes);
    add_text(json, "index_rebuilt", opened->index_was_rebuilt ? opened->index_why : NULL);
}

void weir__json_damage(struct weir__json *json, const struct weir__check_damage *damage)
{
    char name[WEIR__SEGMENT_NAME], address[WEIR__ADDRESS_TEXT];
    weir__segment_name(damage->segment, name);
    if (damage->address)
        weir__address_print(damage->address, address);
    weir__json_object(json);
    add_text(json, "address", damage->address ? address : NULL);
    add_text(json, "segment", name);
    add(json, "offset", damage->offset);
    add(json, "size", damage->size);
    add_bool(json, "counts", damage->counts);
    add_bool(json, "unreadable", damage->is_unreadable);
    add_text(json, "what", damage->what);
    weir__json_end(json);
}

void weir__json_check(struct weir__json *json, const struct weir__check_report *check,
                      const struct weir__store_report *opened)
{
    add(json, "segments", check->segments);
    add(json, "sealed", check->sealed);
    add(json, "file_bytes", check->file_bytes);
    add(json, "records", check->records);
    add(json, "chunks", check->chunks);
    add(json, "chunk_bytes", check->chunk_bytes);
    add(json, "deletions", check->deletions);
    add(json, "dead_bytes", check->dead_bytes);
    add(json, "torn_bytes", check->torn_bytes);
    add(json, "damaged", check->damaged);
    add(json, "damaged_dead", check->damaged_dead);
    add(json, "index_wrong", check->index_wrong);
    add(json, "unreadable", check->unreadable);
    add(json, "put_aside", check->put_aside);
    add_opened(json, opened);
}

void weir__json_stats(struct weir__json *json, const struct weir__census *census,
                      const struct weir__store_stats *stats,
                      const struct weir__store_report *opened)
{
    add(json, "segments", stats->segments);
    add(json, "file_bytes", census->file_bytes);
    add(json, "dead_bytes", census->dead_bytes);
    add(json, "chunks", census->chunks);
    add(json, "chunk_bytes", census->chunk_bytes);
    add(json, "length_min", census->length_min);
    add(json, "length_max", census->length_max);
    add(json, "time_min", census->time_min_s);
    add(json, "time_max", census->time_max_s);
    add(json, "deletions", census->deletions);
    add(json, "tail_records", stats->tail_records);
    add(json, "index_bytes", stats->index_bytes);
    add(json, "quarantined", census->quarantined);
    weir__json_key(json, "scrub_ended");
    weir__json_i64(json, census->scrub_ended_s);
    add_opened(json, opened);
}

void weir__json_compacted(struct weir__json *json, const struct weir__compacted *compacted,
                          const struct weir__store_report *opened)
{
    add(json, "compacted", compacted->segments);
    add(json, "left", compacted->left);
    add(json, "damaged", compacted->damaged);
    add(json, "bytes_before", compacted->bytes_before);
    add(json, "bytes_after", compacted->bytes_after);
    add_opened(json, opened);
}
