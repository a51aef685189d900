/* scan_history.h - from the command line to what is scanned of histories.
 *
 * Ownership: options borrow the values.
 */
#ifndef WEIR_CLI_SCAN_HISTORY_H
#define WEIR_CLI_SCAN_HISTORY_H

#include <weir/slots.h>

#include "options.h"
#include "source/scan.h"

struct weir__history_values {
    unsigned history; /* of enum weir__scan_history */
    bool reachable, full_scan, state, explain_limits;
    const char *since; /* or NULL */
    struct weir__list refs, ranges, find_repos;
    const char *repos_from; /* or NULL */
    bool submodules;
    unsigned profile;               /* of the words below */
    uint64_t ring, delta;           /* bytes; 0: as the profile has it */
    const char *spill_slots;        /* a number or "unlimited"; or NULL */
    struct weir__list device_slots; /* "PATH=N" */
    bool has_archive_bytes;         /* that was given, which is about either */
};

/* In the order of `profile`. */
extern const char *const weir__scan_profiles[];

/* The slots are those that the options point to. Usage, which is told. */
WEIR_MUST_USE int weir__scan_history_set(const struct weir__history_values *values,
                                         struct weir_slots_config *slots,
                                         struct weir__scan_options *options);
/* When all paths are known, and who fetches them: whether there is any history to be scanned.
 * Usage, which is told. */
WEIR_MUST_USE int weir__scan_history_settle(const struct weir__history_values *values,
                                            struct weir__scan_options *options);

#endif
