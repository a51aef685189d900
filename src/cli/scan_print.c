/* scan_print.c - gaps, the report, the summary. */
#include "scan_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "buffer.h"
#include "log.h"
#include "scan_hush.h"
#include "scan_output.h"
#include "text.h"
#include "values.h"

#include "banned.h"

static const struct weir_lock_class tally_class = {"scan-tally", 600};

/* --- gaps --- */

int weir__tally_init(struct weir__tally *tally)
{
    *tally =
        (struct weir__tally){._items = weir__base_alloc(WEIR__TALLY_MAX, sizeof(*tally->_items))};
    weir_lock_init(&tally->_lock, &tally_class);
    return tally->_items ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__tally_fini(struct weir__tally *tally)
{
    for (size_t i = 0; i < tally->_count; i++)
        weir__base_free(tally->_items[i].path);
    weir__base_free(tally->_items);
    weir_lock_fini(&tally->_lock);
}

/* The path and the reason as one piece of memory; false: it is not listed. */
static bool keep(struct weir__tally *tally, const struct weir__scan_gap *gap)
{
    size_t path = strlen(gap->path) + 1, what = strlen(gap->what), why = strlen(gap->why);
    size_t size = path + what + why + sizeof(": ");
    char *text = weir__base_alloc(1, size);
    if (!text)
        return false;
    memcpy(text, gap->path, path);
    snprintf(text + path, size - path, "%s: %s", gap->what, gap->why);
    weir_lock_acquire(&tally->_lock);
    bool has_room = tally->_count < WEIR__TALLY_MAX && tally->_bytes + size <= WEIR__TALLY_BYTES;
    if (has_room) {
        tally->_items[tally->_count++] = (struct weir__unscanned){
            .path = text, .reason = text + path, .is_partial = gap->is_partial};
        tally->_bytes += size;
    }
    weir_lock_release(&tally->_lock);
    if (!has_room)
        weir__base_free(text);
    return has_room;
}

void weir__tally_add(struct weir__tally *tally, const struct weir__scan_gap *gap)
{
    /* Parts are for those who want to know. */
    if (keep(tally, gap) || (gap->is_partial && !tally->is_verbose))
        return;
    weir__log(gap->is_partial ? WEIR__LOG_WARNING : WEIR__LOG_ERROR, "%s '%s': %s", gap->what,
              gap->path, gap->why);
}

void weir__tally_log(const struct weir__tally *tally)
{
    for (size_t i = 0; i < tally->_count; i++) {
        const struct weir__unscanned *item = &tally->_items[i];
        /* What the report shows need not be said twice. */
        if (item->is_partial ? !tally->is_verbose : tally->is_shown)
            continue;
        const char *why = strstr(item->reason, ": ");
        size_t what = why ? (size_t)(why - item->reason) : strlen(item->reason);
        weir__log(item->is_partial ? WEIR__LOG_WARNING : WEIR__LOG_ERROR, "%.*s '%s'%s", (int)what,
                  item->reason, item->path, why ? why : "");
    }
}

static int compare_gaps(const void *a, const void *b)
{
    const struct weir__unscanned *left = a, *right = b;
    int order = strcmp(left->path, right->path);
    return order ? order : strcmp(left->reason, right->reason);
}

void weir__tally_list(const struct weir__tally *tally, const struct weir__findings *findings,
                      struct weir__summary *summary)
{
    for (size_t i = 0; i < tally->_count; i++) {
        weir__findings_hide(findings, tally->_items[i].path);
        weir__findings_hide(findings, tally->_items[i].reason);
        /* It may name what nothing else looks at: a ref, a log, a file that is missing. */
        if (!tally->shows_secrets)
            weir__hush_text(tally->_items[i].reason);
    }
    qsort(tally->_items, tally->_count, sizeof(*tally->_items), compare_gaps);
    summary->unscanned = tally->_items;
    summary->unscanned_count = tally->_count;
}

/* --- the report --- */

static int write_out(void *arg, const char *bytes, size_t length)
{
    struct weir__out *out = arg;
    weir__out_write(out, bytes, length);
    return 0; /* who finishes the output asks how it went */
}

int weir__scan_print_found(struct weir__findings *findings, struct weir__out *out)
{
    struct weir__report_out to = {.write = write_out, .arg = out};
    int result = weir__report_found(findings, &to);
    weir__out_flush(out);
    return result;
}

int weir__scan_print(const struct weir__findings *findings, const struct weir__summary *summary,
                     const struct weir__report_options *options, const char *path, bool is_private,
                     struct weir__out *out)
{
    if (!path) {
        struct weir__report_out to = {.write = write_out, .arg = out};
        int result = weir__report(findings, summary, options, &to);
        if (result < 0)
            weir__log(WEIR__LOG_ERROR, "cannot print the report: %s", weir_error_text(result));
        int error = 0;
        if (weir__out_take_failure(out, &error) < 0)
            result = weir__scan_output_lost(error ? error : EIO, findings);
        return result;
    }
    return weir__scan_output(path, is_private, findings, summary, options);
}

/* --- the summary --- */

static void log_count(const char *what, uint64_t count)
{
    if (count > 0)
        weir__log(WEIR__LOG_INFO, "%s: %" PRIu64, what, count);
}

static void put_missing(struct weir__buffer *text, uint64_t count, const char *what)
{
    /* A sentence that is cut for want of memory is still one. */
    if (count > 0)
        (void)!weir__buffer_printf(text, "%s%" PRIu64 " %s",
                                   weir__buffer_length(text) > 0 ? ", " : "", count, what);
}

static void log_missing(enum weir__log_level level, const struct weir__summary *summary)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer text;
    weir__buffer_init(&text, 4096);
    /* What stops without a signal is a scan whose report nobody reads any more. */
    bool was_stopped = summary->failed + summary->truncated + summary->unlisted == 0;
    if (summary->is_interrupted || was_stopped)
        (void)!weir__buffer_puts(&text, "stopped before the end");
    put_missing(&text, summary->failed, "could not be scanned");
    put_missing(&text, summary->truncated, "only in part");
    put_missing(&text, summary->unlisted, "found but not listed");
    weir__log(level, "incomplete: %s", weir__buffer_text(&text));
}

void weir__scan_log_missing(const struct weir__summary *summary, bool with_places)
{
    if (with_places && summary->unlisted_places > 0)
        weir__log(WEIR__LOG_WARNING, "places that are not listed: %" PRIu64,
                  summary->unlisted_places);
    if (summary->shallow > 0)
        weir__log(WEIR__LOG_WARNING,
                  "shallow: %" PRIu64 " of the histories, which end where their clone was cut",
                  summary->shallow);
    if (!summary->is_complete)
        log_missing(WEIR__LOG_WARNING, summary);
}

void weir__scan_log_summary(const struct weir__summary *summary,
                            const struct weir__scan_stats *stats, size_t secrets,
                            const char *how_compiled)
{
    char size[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(summary->bytes, size);
    weir__log(WEIR__LOG_INFO, "scanned: %" PRIu64 " %s, %" PRIu64 " %s, %s in %.2f s",
              summary->files, summary->files == 1 ? "file" : "files", stats->dirs,
              stats->dirs == 1 ? "directory" : "directories", size, summary->seconds);
    weir__value_human_size(stats->decoded_bytes, size);
    if (stats->decoded_bytes > 0)
        weir__log(WEIR__LOG_INFO, "decoded: %s", size);
    weir__log(WEIR__LOG_INFO, "secrets: %zu", secrets);
    log_count("allowed by comments and allow lists", summary->allowed);
    log_count("known from a baseline or an ignore file", summary->ignored);
    log_count("found and not listed, for want of memory", summary->unlisted);
    log_count("places that are not listed", summary->unlisted_places);
    log_count("symlinks, not followed", summary->symlinks);
    log_count("special files, not read", summary->special);
    log_count("files that an allow list keeps out", summary->allowed_paths);
    log_count("ignored by git", summary->ignored_paths);
    log_count("submodules, not looked into", summary->submodules);
    log_count("histories of shallow clones, which end early", summary->shallow);
    log_count("histories left out, which '--find-repos=DIR' scans", summary->histories_left);
    if (stats->archives > 0)
        weir__log(WEIR__LOG_INFO, "archives: %" PRIu64 ", with %" PRIu64 " %s", stats->archives,
                  stats->members, stats->members == 1 ? "member" : "members");
    log_count("archives not opened", stats->archives_unopened);
    if (stats->repos > 0)
        weir__log(WEIR__LOG_INFO, "histories: %" PRIu64 ", %" PRIu64 " %s looked at", stats->repos,
                  stats->objects, stats->objects == 1 ? "object was" : "objects were");
    log_count("histories that are not remembered in full", stats->unremembered);
    log_count("could not be scanned", summary->failed);
    log_count("scanned only in part", summary->truncated);
    weir__log(WEIR__LOG_INFO, "rules: %" PRIu64 ", %s (%s)", summary->rules, how_compiled,
              summary->engine);
    for (const char *const *config = summary->configs; *config; config++)
        weir__log(WEIR__LOG_INFO, "used: '%s'", *config);
    weir__log(WEIR__LOG_INFO, "threads: %u, files read at once: at most %" PRIu64, stats->threads,
              stats->reads_limit);
    if (summary->is_complete)
        weir__log(WEIR__LOG_INFO, "complete");
    else
        log_missing(WEIR__LOG_INFO, summary);
}
