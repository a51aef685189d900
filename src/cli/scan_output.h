/* scan_output.h - the file of a report: where its name leads, and how it gets there.
 *
 * A file that is there, or not yet, is replaced when the report is complete; of a symlink it is the
 * file that it leads to. What is no file (a device, a pipe) is written into, and so is whatever
 * /proc/self/fd leads to, such as /dev/stdout, since it is open already.
 *
 * Whatever goes wrong is logged here, in one line.
 *
 * Ownership: nothing is kept; the arguments are borrowed for the call.
 */
#ifndef WEIR_CLI_SCAN_OUTPUT_H
#define WEIR_CLI_SCAN_OUTPUT_H

#include "report/report.h"

/* Whether a report can be put there: says so before the work and not after it. 0 or Incomplete. */
WEIR_MUST_USE int weir__scan_try_output(const char *path);

/* Writes the report there; is_private: so that its owner alone can read a new file. A pipe that
 * nobody reads is waited for until two seconds after a signal. 0 or Incomplete. */
WEIR_MUST_USE int weir__scan_output(const char *path, bool is_private,
                                    const struct weir__findings *findings,
                                    const struct weir__summary *summary,
                                    const struct weir__report_options *options);

#endif
