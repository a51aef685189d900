/* copy_report.h - all that a copy prints while it runs and at its end.
 *
 * The threads that copy only hand over what they have to tell; one thread of the report prints, so
 * that lines, errors and the progress line never mix, and whoever waits for the run is not held up
 * by a slow terminal.
 *
 *     copying threads --event--> queue (1024) --> the printing thread --> standard output and error
 *     the main thread --tick---^
 *
 * Promises
 * - Nothing that was told is dropped, errors last of all: when the queue is full, the threads that
 *   copy wait. Where there is no memory to hand an error over, it is logged on the spot; other
 *   lines that are lost so are counted, said, and make the run incomplete.
 * - Texts are kept whole up to WEIR__REPORT_TEXT_MAX bytes each and are marked where they were cut.
 *   What is on its way takes at most 8 MiB.
 * - On success nothing is printed unless asked for.
 *
 * One thread starts, ticks and finishes.
 *
 * Ownership: the report borrows the output until it is finished, and copies all events.
 */
#ifndef WEIR_CLI_COPY_REPORT_H
#define WEIR_CLI_COPY_REPORT_H

#include "copy.h"
#include "out.h"
#include "progress.h"

#define WEIR__REPORT_QUEUE    1024u
#define WEIR__REPORT_TEXT_MAX (512u << 10)

struct weir__report;

struct weir__report_options {
    bool names;   /* -v: lines with names */
    bool items;   /* -i: itemised lines */
    bool methods; /* how data were moved, line by line and at the end */
    bool json;    /* instead of lines */
    bool same;    /* -ii: what stays as it is, too */
    bool all;     /* -vv: so, and what is left out and why */
    bool quiet;   /* errors alone */
    bool stats;
    bool summary; /* also when all went well */
    bool is_dry_run;
    enum weir__progress_mode progress;
    struct weir__out *out;
};

/* NoMemory, or what starting a thread failed with. *ret_hooks is for weir__copy_start(). */
WEIR_MUST_USE int weir__report_start(struct weir__report **ret_report,
                                     const struct weir__report_options *options,
                                     struct weir__copy_hooks *ret_hooks);

/* How far it is; a tick that finds the queue full is left out. */
void weir__report_tick(struct weir__report *report, const struct weir__copy_stats *stats);

/* One line on standard error, in its turn; text is static. */
void weir__report_say(struct weir__report *report, const char *text);

/* After the run is finished: prints what is left and the summary, and frees the report. stats NULL:
 * the run never began (JSON still has its summary), and *ret_errors tells whether it has said why.
 * Returns result, or Incomplete when something could not be shown. */
WEIR_MUST_USE int weir__report_finish(struct weir__report *report,
                                      const struct weir__copy_stats *stats, int result,
                                      uint64_t *ret_errors);

#endif
