/* scan_metrics.c - the counts of a run as metrics, and the page that has them.
 *
 * A run keeps its counts as plain numbers, which are copied when somebody asks; its limits are
 * objects of core, which say themselves what they hold.
 */
#include "scan_metrics.h"

#include <stddef.h>

#include <weir/error.h>
#include <weir/metrics.h>

#include "alloc.h"
#include "cover.h"
#include "log.h"
#include "serve.h"
#include "text.h"

#include "banned.h"

#define COUNT(field, name, help)                                                                   \
    {                                                                                              \
        offsetof(struct weir__scan_stats, field), "weir_scan_" name "_total", help                 \
    }
#define MOST(field, name, help)                                                                    \
    {                                                                                              \
        offsetof(struct weir__scan_limits, field), "weir_scan_" name, help                         \
    }

/* Each is a uint64_t. */
static const struct family {
    size_t offset;
    const char *name, *help;
} counts[] =
    {
        COUNT(files, "files", "Files that were scanned."),
        COUNT(dirs, "directories", "Directories that were read."),
        COUNT(bytes, "bytes",
              "Bytes that were scanned, of files, members of archives and objects."),
        COUNT(decoded_bytes, "decoded_bytes", "Bytes that were made by undoing encodings."),
        COUNT(archives, "archives", "Archives that were opened."),
        COUNT(members, "members", "Members of archives that were scanned."),
        COUNT(archives_unopened, "archives_unopened", "Archives that were not opened."),
        COUNT(repos, "repositories", "Histories of git repositories that were scanned."),
        COUNT(objects, "objects", "Objects of histories that were looked at."),
        COUNT(findings, "findings", "Findings, each place of a secret by itself."),
        COUNT(allowed, "allowed", "Findings that comments and allow lists let pass."),
        COUNT(symlinks, "symlinks", "Symlinks, which are not followed."),
        COUNT(special, "special_files", "Special files, which are not read."),
        COUNT(failed, "failed", "What could not be scanned."),
        COUNT(partial, "partial", "What was scanned only in part."),
},
  mosts[] = {
      MOST(repos.held.most, "repositories_most",
           "Repositories that were scanned at once, at most."),
      MOST(repos.held.ring_most, "repositories_ring_most_bytes",
           "Scan ring that repositories held at once, at most."),
      MOST(repos.held.delta_most, "repositories_delta_cache_most_bytes",
           "Delta cache that repositories held at once, at most."),
      MOST(repos.held.spills_most, "repositories_spill_slots_most",
           "Spill slots that repositories held at once, at most."),
      MOST(small, "repositories_small", "Small repositories, which do not wait for large ones."),
      MOST(waiting, "repositories_waiting",
           "Other repositories that wait now, to leave something to small ones."),
      MOST(waited, "repositories_waited", "Other repositories that waited so, in all."),
      MOST(waited_most, "repositories_waited_most",
           "Other repositories that waited so at once, at most."),
      MOST(repos_refused, "repositories_refused",
           "Repositories that could never have what they need, or not even wait for it."),
      MOST(archives.held.most, "archives_most", "Archives that were open at once, at most."),
      MOST(archives.held.ring_most, "archives_ring_most_bytes",
           "Scan ring that archives held at once, at most."),
      MOST(archives.held.spills_most, "archives_spill_slots_most",
           "Spill slots that archives held at once, at most."),
      MOST(archives_refused, "archives_refused", "Archives that could never have what they need."),
};

#define COUNTS (sizeof(counts) / sizeof(counts[0]))
#define MOSTS  (sizeof(mosts) / sizeof(mosts[0]))

struct weir__scan_metrics {
    struct weir__serve *serve;
    struct weir_metrics *registry;
    struct weir__scan *run; /* NULL: none is there yet */
    struct weir__serve_page page;
    struct weir_counter counters[COUNTS];
    struct weir_gauge gauges[MOSTS];
};

static uint64_t number_at(const void *of, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)of + offset);
}

static void refresh(struct weir__scan_metrics *m)
{
    struct weir__scan_stats stats;
    struct weir__scan_limits limits;
    weir__scan_read(m->run, &stats);
    weir__scan_read_limits(m->run, &limits);
    for (size_t i = 0; i < COUNTS; i++)
        weir_counter_add(&m->counters[i],
                         number_at(&stats, counts[i].offset) - weir_counter_value(&m->counters[i]));
    for (size_t i = 0; i < MOSTS; i++)
        weir_gauge_set(&m->gauges[i], (int64_t)number_at(&limits, mosts[i].offset));
}

static int put(void *arg, const char *bytes, size_t size)
{
    return weir__buffer_append(arg, bytes, size);
}

static int write_page(void *arg, struct weir__buffer *text, const struct weir_deadline *deadline)
{
    struct weir__scan_metrics *m = arg;
    refresh(m);
    return weir_metrics_write(m->registry, put, text, deadline);
}

static int add_families(struct weir__scan_metrics *m)
{
    int result = 0;
    for (size_t i = 0; i < COUNTS && result == 0; i++) {
        const struct weir_metrics_series series = {.name = counts[i].name, .help = counts[i].help};
        result = weir_metrics_add_counter(m->registry, &m->counters[i], &series);
    }
    for (size_t i = 0; i < MOSTS && result == 0; i++) {
        const struct weir_metrics_series series = {.name = mosts[i].name, .help = mosts[i].help};
        result = weir_metrics_add_gauge(m->registry, &m->gauges[i], &series);
    }
    return result;
}

int weir__scan_metrics_open(struct weir__scan_metrics **ret_metrics, const char *address)
{
    const char *why = NULL;
    *ret_metrics = NULL;
    if (!address)
        return 0;
    struct weir__scan_metrics *m = weir__base_alloc(1, sizeof(*m));
    int result = m ? weir__serve_open(&m->serve, address, &why) : -WEIR_E_NO_MEMORY;
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "'--metrics-listen=%s': %s", WEIR__TYPED(address),
                  why ? why : weir_error_text(result));
    if (result == 0) {
        result = weir_metrics_new(&m->registry, "scan", NULL);
        if (result == 0)
            result = add_families(m);
        if (result < 0)
            weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(result));
    } else if (result != -WEIR_E_NO_MEMORY)
        result = -WEIR_E_USAGE;
    if (result < 0) {
        weir__scan_metrics_close(m);
        return result;
    }
    *ret_metrics = m;
    return 0;
}

int weir__scan_metrics_start(struct weir__scan_metrics *m, struct weir__scan *run)
{
    if (!m)
        return 0;
    m->run = run;
    m->page = (struct weir__serve_page){
        .path = "/metrics", .type = WEIR_METRICS_CONTENT_TYPE, .write = write_page, .arg = m};
    int result = weir__scan_metrics_add(run, m->registry);
    if (result == 0)
        result = weir__serve_start(m->serve, &m->page);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot show metrics: %s", weir_error_text(result));
    return result;
}

const char *weir__scan_metrics_name(const struct weir__scan_metrics *m)
{
    return weir__serve_name(m->serve);
}

void weir__scan_metrics_close(struct weir__scan_metrics *m)
{
    if (!m)
        return;
    weir__serve_close(m->serve);
    if (m->run)
        weir__scan_metrics_remove(m->run, m->registry);
    weir_metrics_free(m->registry);
    weir__base_free(m);
}
