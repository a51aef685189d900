/* scan_values.h - what the command line of weir scan says.
 *
 * Ownership: texts are those of the command line.
 */
#ifndef WEIR_CLI_SCAN_VALUES_H
#define WEIR_CLI_SCAN_VALUES_H

#include "scan_history.h"

enum weir__scan_progress {
    WEIR__SCAN_PROGRESS_AUTO,
    WEIR__SCAN_PROGRESS_ALWAYS,
    WEIR__SCAN_PROGRESS_NEVER,
};

struct weir__scan_values {
    unsigned format;   /* of enum weir__report_format */
    unsigned progress; /* of enum weir__scan_progress */
    const char *output, *config, *baseline, *ignore_file, *files_from;
    struct weir__list rules;
    uint64_t decode_depth, memory, threads, files;
    const char *store, *metrics_listen;
    uint64_t fetch_bytes, fetch_ns;
    uint64_t archive_depth, archive_entries, entry_bytes, archive_bytes, archive_ratio;
    bool has_entries, has_entry_bytes, has_ratio; /* such a limit of archives was given */
    bool show_secrets, from0, exit_zero, summary, allow_comments, trust_config;
    bool json, verbose, quiet, one_file_system;
    bool staged, respect_gitignore;
    struct weir__history_values git;
};

#endif
