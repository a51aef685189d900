/* scan_sweep.h - a scan in which something fails, and what must be true of it all the same.
 *
 * Whatever fails, the run ends; it answers 0 only if it found everything, and what it did not find,
 * it has told.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_FAULT_SCAN_SWEEP_H
#define WEIR_FAULT_SCAN_SWEEP_H

#include <weir/error.h>

#include "scan.h"
#include "tap.h"

static unsigned found, told, in_part;
static bool is_started;
static bool (*sweep_is_wanted)(const char *path); /* which findings count; NULL: all */

static inline void sweep_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    (void)arg, (void)finding;
    found += !sweep_is_wanted || sweep_is_wanted(path);
}

static inline void sweep_gap(void *arg, const struct weir__scan_gap *gap)
{
    (void)arg;
    CHECK(gap->what[0] && gap->why[0] && gap->path[0]);
    told++;
    in_part += strcmp(gap->what, "cannot read all of") == 0;
}

/* One thread scans, so that the n-th call is the same one each time. is_exact: no more than wanted
 * may be found. */
static inline void sweep_scan(struct weir__scan_options *options, unsigned wanted, bool is_exact)
{
    const struct weir__scan_hooks hooks = {.finding = sweep_finding, .gap = sweep_gap};
    struct weir__scan_stats stats;
    struct weir__scan *run = NULL;
    options->threads = 1;
    found = told = in_part = 0;
    int result = weir__scan_start(&run, options, &hooks);
    is_started = result == 0;
    if (result < 0) {
        CHECK(!run);
        return;
    }
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__scan_wait(run, &deadline), 0);
    result = weir__scan_finish(run, &stats);
    CHECK(result == 0 || result == -WEIR_E_INCOMPLETE);
    /* A thread that does not end keeps the whole run, descriptors included: that is no leak, and
     * has a cause of its own. */
    CHECK_EQ(stats.abandoned, 0);
    CHECK_EQ(told, stats.failed + stats.partial);
    if (result == 0)
        CHECK(is_exact ? found == wanted : found >= wanted);
    else
        CHECK(told > 0);
}

#endif
