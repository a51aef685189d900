/* scan_output.h - the file of a report: where its name leads, and how it gets there.
 *
 * A file that is there, or not yet, is replaced when the report is complete and on the disk; of a
 * symlink it is the file that it leads to. The new one lets others do what the old one did. Where
 * it may not be replaced (its folder is not ours to write, or it is a mount) it is overwritten.
 * Links and files that somebody else has put into a folder like /tmp are refused. What is no file
 * (a device, a pipe) is written into, and so is whatever /proc/self/fd leads to, such as
 * /dev/stdout, since it is open already.
 *
 * Whatever goes wrong is logged here, in one line.
 *
 * Ownership: nothing is kept; the arguments are borrowed for the call.
 */
#ifndef WEIR_CLI_SCAN_OUTPUT_H
#define WEIR_CLI_SCAN_OUTPUT_H

#include "report/report.h"

/* Whether a report can be put there: says so before the work and not after it. 0 or Incomplete; or
 * Usage when it would take the place of a file that is to be read. Paths may be NULL. */
WEIR_MUST_USE int weir__scan_try_output(const char *path, const char *const *paths,
                                        size_t paths_count);

/* Writes the report there; is_private: so that its owner alone can read a new file. A pipe that
 * nobody reads is waited for until two seconds after a signal. 0 or Incomplete. */
WEIR_MUST_USE int weir__scan_output(const char *path, bool is_private,
                                    const struct weir__findings *findings,
                                    const struct weir__summary *summary,
                                    const struct weir__report_options *options);

/* Says that standard output could not be written, for an errno, and how much is lost. Incomplete.
 */
int weir__scan_output_lost(int error, const struct weir__findings *findings);

#endif
