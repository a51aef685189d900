/* copy_check.h - what the options of `weir copy` mean together: from the values of the command line
 * to the options of a run, or one line that says what contradicts what.
 *
 * Ownership: a plan owns its rules and changes of mode and borrows everything else from the values
 * and the operands; weir__copy_plan_fini() accepts a plan whose init failed.
 */
#ifndef WEIR_CLI_COPY_CHECK_H
#define WEIR_CLI_COPY_CHECK_H

#include "copy.h"
#include "options.h"

#define WEIR__COPY_THREADS_MAX 256

enum { WEIR__COPY_PROGRESS_AUTO, WEIR__COPY_PROGRESS_ALWAYS, WEIR__COPY_PROGRESS_NEVER };

/* What the table of cmd_copy.c describes. */
struct weir__copy_values {
    struct weir__copy_options copy; /* as far as a field has the type that an option stores */
    bool has_recursive;             /* -r or --no-r was said, not only meant by -a */
    unsigned sparse, reflink, fsync, data_path, progress;
    uint64_t threads;
    struct weir__list chmod, rules;
    const char *chown;
    bool delete_any, delete_before, delete_after;
    bool itemize, itemize_all, verbose, verbose_all, quiet, json, stats;
};

struct weir__copy_plan {
    struct weir__copy_options options;
    struct weir__filter *_filter;
    struct weir__chmod *_chmod;
};

/* Logs one line and returns -WEIR_E_USAGE (or what reading a file of rules failed with) when it
 * cannot be. operands: at least two, the last one is the destination. */
WEIR_MUST_USE int weir__copy_plan_init(struct weir__copy_plan *plan,
                                       const struct weir__copy_values *values, char **operands,
                                       int operands_count);
void weir__copy_plan_fini(struct weir__copy_plan *plan);

#endif
