/* scan_print.h - what a scan says: what could not be scanned, the report, the summary.
 *
 * Ownership: a tally owns the texts of what it lists; the rest is borrowed for the call.
 */
#ifndef WEIR_CLI_SCAN_PRINT_H
#define WEIR_CLI_SCAN_PRINT_H

#include <weir/lock.h>

#include "out.h"
#include "report/report.h"
#include "source/scan.h"

#define WEIR__TALLY_MAX   1000u /* gaps that are listed; all are counted */
#define WEIR__TALLY_BYTES (1u << 20)

/* What was not scanned, as it comes. */
struct weir__tally {
    struct weir_lock _lock;
    struct weir__unscanned *_items;
    size_t _count, _bytes;
    bool is_shown;      /* the report shows people what is listed */
    bool is_verbose;    /* what was scanned in part is told, too, as where no report has it */
    bool shows_secrets; /* what is listed is not hidden in */
};

WEIR_MUST_USE int weir__tally_init(struct weir__tally *tally);
void weir__tally_fini(struct weir__tally *tally);
/* Any thread. What is listed is told at the end, since what is secret in a name is known only then;
 * the rest at once. */
void weir__tally_add(struct weir__tally *tally, const struct weir__scan_gap *gap);
/* When nobody adds any more. */
void weir__tally_list(const struct weir__tally *tally, const struct weir__findings *findings,
                      struct weir__summary *summary);

/* Then: says on standard error what no report shows. */
void weir__tally_log(const struct weir__tally *tally);

/* JSON Lines: tells on out what was found since the last call, while the scan goes on. */
WEIR_MUST_USE int weir__scan_print_found(struct weir__findings *findings, struct weir__out *out);

/* Writes the report to the file as scan_output.h says, or for NULL to out. Logs what fails. */
WEIR_MUST_USE int weir__scan_print(const struct weir__findings *findings,
                                   const struct weir__summary *summary,
                                   const struct weir__report_options *options, const char *path,
                                   bool is_private, struct weir__out *out);

/* Lines on standard error: how many places are not listed, if that is wanted, and what makes the
 * scan incomplete. */
void weir__scan_log_missing(const struct weir__summary *summary, bool with_places);
/* Several lines on standard error. */
void weir__scan_log_summary(const struct weir__summary *summary,
                            const struct weir__scan_stats *stats, size_t secrets,
                            const char *how_compiled);

#endif
