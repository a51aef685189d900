/* copy_summary.c - a copy at its end: one line, the table of --stats, the last object of --json. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "copy_lines.h"
#include "json.h"
#include "values.h"

#include "banned.h"

#define SUMMARY_MAX WEIR__COPY_SUMMARY_MAX

/* Appends to the text as far as it has room. */
__attribute__((format(printf, 2, 3))) static void add(char text[SUMMARY_MAX], const char *format,
                                                      ...)
{
    size_t at = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + at, SUMMARY_MAX - at, format, args);
    va_end(args);
}

/* "3 updated" behind what is there already; nothing for 0. */
static void add_count(char text[SUMMARY_MAX], uint64_t count, const char *what)
{
    if (count > 0)
        add(text, "%s%" PRIu64 " %s", text[0] != '\0' ? ", " : "", count, what);
}

static void add_size(char text[SUMMARY_MAX], const char *before, uint64_t bytes, const char *what)
{
    char size[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(bytes, size);
    add(text, "%s%s%s", before, size, what);
}

/* Bytes moved a second, over the whole run. */
static uint64_t rate_of(const struct weir__copy_ending *ending)
{
    if (ending->elapsed_ns == 0)
        return 0;
    double rate = (double)ending->stats->bytes_written * 1e9 / (double)ending->elapsed_ns;
    return rate < 1e19 ? (uint64_t)rate : UINT64_MAX;
}

static void add_time(char text[SUMMARY_MAX], const struct weir__copy_ending *ending)
{
    uint64_t seconds = ending->elapsed_ns / WEIR_NS_PER_S;
    char time[WEIR__VALUE_TEXT_MAX];
    if (seconds < 1)
        snprintf(time, sizeof(time), "%" PRIu64 "ms", ending->elapsed_ns / WEIR_NS_PER_MS);
    else if (seconds < 60)
        snprintf(time, sizeof(time), "%.1fs", (double)ending->elapsed_ns / 1e9);
    else
        weir__value_human_time(seconds, time);
    add(text, " in %s", time);
    if (ending->stats->bytes_written > 0)
        add_size(text, ", ", rate_of(ending), "/s");
}

void weir__copy_summary(const struct weir__copy_ending *ending, char text[SUMMARY_MAX])
{
    const struct weir__copy_stats *stats = ending->stats;
    text[0] = '\0';
    add_count(text, stats->created, "created");
    add_count(text, stats->updated, "updated");
    add_count(text, stats->metadata_only, "with new metadata alone");
    add_count(text, stats->unchanged, "unchanged");
    add_count(text, stats->skipped, "left out");
    add_count(text, stats->deleted, "deleted");
    if (text[0] == '\0')
        add(text, "nothing done");
    add_size(text, "; ", stats->bytes_written, " moved");
    if (stats->bytes_reflinked > 0)
        add_size(text, ", ", stats->bytes_reflinked, " shared");
    add_time(text, ending);
    if (stats->delete_held)
        add(text, "; nothing deleted, since there were errors");
    if (stats->delete_limited)
        add(text, "; '--max-delete' kept the rest from being deleted");
    if (stats->errors > 0)
        add(text, "; %" PRIu64 " error%s", stats->errors, stats->errors == 1 ? "" : "s");
    if (ending->is_dry_run)
        add(text, " (dry run)");
}

void weir__copy_ways(const struct weir__copy_stats *stats, char text[SUMMARY_MAX])
{
    const struct {
        uint64_t bytes;
        const char *by;
    } ways[] = {
        {stats->bytes_reflinked, " by reflink"},
        {stats->bytes_range, " by copy_file_range"},
        {stats->bytes_ring, " by io_uring"},
        {stats->bytes_plain, " by read+write"},
    };
    text[0] = '\0';
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (ways[i].bytes > 0)
            add_size(text, text[0] != '\0' ? ", " : "data: ", ways[i].bytes, ways[i].by);
}

static uint64_t entries_of(const struct weir__copy_stats *stats)
{
    return stats->files + stats->dirs + stats->symlinks + stats->devices + stats->specials;
}

static void print_count(struct weir__out *out, const char *what, uint64_t count)
{
    weir__out_printf(out, "%s: %" PRIu64 "\n", what, count);
}

static void print_bytes(struct weir__out *out, const char *what, uint64_t bytes)
{
    char size[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(bytes, size);
    if (bytes < 1024)
        weir__out_printf(out, "%s: %" PRIu64 " bytes\n", what, bytes);
    else
        weir__out_printf(out, "%s: %" PRIu64 " bytes (%s)\n", what, bytes, size);
}

void weir__copy_print_stats(struct weir__out *out, const struct weir__copy_ending *ending)
{
    const struct weir__copy_stats *s = ending->stats;
    char ways[SUMMARY_MAX], rate[WEIR__VALUE_TEXT_MAX];
    weir__out_printf(out,
                     "Entries in the source: %" PRIu64 " (files: %" PRIu64 ", directories: %" PRIu64
                     ", symlinks: %" PRIu64 ", devices: %" PRIu64 ", fifos and sockets: %" PRIu64
                     ")\n",
                     entries_of(s), s->files, s->dirs, s->symlinks, s->devices, s->specials);
    print_count(out, "Further names of hard links", s->hard_links);
    print_count(out, "Created", s->created);
    print_count(out, "Updated", s->updated);
    print_count(out, "New metadata alone", s->metadata_only);
    print_count(out, "Up to date already", s->unchanged);
    print_count(out, "Left out by a rule", s->skipped);
    print_count(out, "Deleted", s->deleted);
    print_count(out, "Errors", s->errors);
    print_bytes(out, "Size of all files", s->bytes_total);
    print_bytes(out, "Data moved", s->bytes_written);
    print_bytes(out, "Data shared by reflink", s->bytes_reflinked);
    weir__copy_ways(s, ways);
    if (ways[0] != '\0')
        weir__out_printf(out, "Ways of the data: %s\n", ways + strlen("data: "));
    weir__out_printf(out,
                     "In flight at once: %" PRIu64 " at most; the limit is %" PRIu64
                     " and was reduced %" PRIu64 " times\n",
                     s->in_flight_max, s->files_limit, s->limit_cuts);
    print_count(out, "Read again since the source changed", s->changed_retries);
    print_count(out, "Leftovers of dead runs removed", s->leftovers_removed);
    print_bytes(out, "Tables spilled to disk", s->spilled_bytes);
    weir__value_human_size(rate_of(ending), rate);
    weir__out_printf(out, "Time: %.3f s, %s/s%s\n", (double)ending->elapsed_ns / 1e9, rate,
                     ending->is_dry_run ? " (dry run)" : "");
}

#define FIELDS(X)                                                                                  \
    X(files)                                                                                       \
    X(dirs)                                                                                        \
    X(symlinks)                                                                                    \
    X(devices)                                                                                     \
    X(specials)                                                                                    \
    X(hard_links)                                                                                  \
    X(created)                                                                                     \
    X(updated)                                                                                     \
    X(unchanged)                                                                                   \
    X(metadata_only)                                                                               \
    X(skipped)                                                                                     \
    X(deleted)                                                                                     \
    X(errors)                                                                                      \
    X(bytes_total)                                                                                 \
    X(bytes_written)                                                                               \
    X(bytes_reflinked)                                                                             \
    X(bytes_range)                                                                                 \
    X(bytes_ring)                                                                                  \
    X(bytes_plain)                                                                                 \
    X(in_flight_max)                                                                               \
    X(files_limit)                                                                                 \
    X(limit_cuts)                                                                                  \
    X(changed_retries)                                                                             \
    X(spilled_bytes)                                                                               \
    X(leftovers_removed)

int weir__copy_summary_json(struct weir__buffer *buffer, const struct weir__copy_ending *ending)
{
    struct weir__json json;
    weir__json_init(&json, buffer);
    weir__json_object(&json);
    weir__json_key(&json, "event");
    weir__json_string(&json, "summary");
    weir__json_key(&json, "result");
    weir__json_string(&json, weir_error_name(ending->result));
    weir__json_key(&json, "dry_run");
    weir__json_bool(&json, ending->is_dry_run);
    weir__json_key(&json, "seconds");
    weir__json_real(&json, (double)ending->elapsed_ns / 1e9);
#define FIELD(name)                                                                                \
    weir__json_key(&json, #name);                                                                  \
    weir__json_u64(&json, ending->stats->name);
    FIELDS(FIELD)
    weir__json_key(&json, "delete_limited");
    weir__json_bool(&json, ending->stats->delete_limited);
    weir__json_key(&json, "delete_held");
    weir__json_bool(&json, ending->stats->delete_held);
    weir__json_end(&json);
    return weir__json_finish(&json);
}
