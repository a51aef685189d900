/* scan_known.h - the files that say what is known: ignore files and baselines.
 *
 * An ignore file is read as a whole, a baseline piece by piece, since it may be much larger than
 * what is kept of it. Whatever goes wrong is logged here, in one line.
 *
 * Ownership: nothing is kept; the arguments are borrowed for the call.
 */
#ifndef WEIR_CLI_SCAN_KNOWN_H
#define WEIR_CLI_SCAN_KNOWN_H

#include "scan_setup.h"

/* An ignore file of at most so many bytes; 0: as many as such a file may have. */
WEIR_MUST_USE int weir__scan_read_ignore(struct weir__findings *findings, const char *path,
                                         enum weir__scan_source source, uint64_t bytes_max);
WEIR_MUST_USE int weir__scan_read_baseline(struct weir__findings *findings, const char *path);

#endif
