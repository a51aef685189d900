/* bench.h - rounds, samples and tables of a side-by-side benchmark.
 *
 * A table has rows, one for each contender, in groups; each group has one peer, to which the others
 * are compared. Within a group every round runs each contender once, one after the other, in an
 * order that is rotated from round to round, so that a change of the machine's mood hits all of
 * them. Shown are the median, the least and the greatest of the rounds, and the median of the
 * ratios to the peer, taken round by round.
 *
 * Ownership: tables and their rows are the caller's; texts are borrowed and must outlive them.
 */
#ifndef WEIR_BENCH_H
#define WEIR_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ROUNDS_MAX  64
#define BENCH_METRICS_MAX 4
#define BENCH_ROWS_MAX    48

struct bench_metric {
    const char *key;   /* in JSON */
    const char *title; /* in the table, with its unit */
    int decimals;
    bool has_ratio;
    double cap; /* what is not below it is shown as ">cap"; 0: nothing is */
};

struct bench_row {
    const char *group; /* "" when there is one group only */
    const char *name;
    bool is_peer;
    /* One round: fills in one value for each metric. NULL: the contender was not built. */
    void (*run)(const struct bench_row *row, double *ret_values);
    const void *arg; /* for run */
    double samples[BENCH_METRICS_MAX][BENCH_ROUNDS_MAX];
};

struct bench_table {
    const char *key;
    const char *title;
    const char *note;
    size_t rounds;
    size_t metric_count;
    const struct bench_metric *metrics;
    size_t row_count;
    struct bench_row rows[BENCH_ROWS_MAX];
};

struct bench_options {
    bool is_quick;
    bool is_json;
};

/* The next row of the table. */
struct bench_row *bench_row_add(struct bench_table *table, const char *group, const char *name);

/* All rounds of all groups. */
void bench_table_run(struct bench_table *table);

/* Median over the rounds. */
double bench_median(const struct bench_table *table, const struct bench_row *row, size_t metric);

/* Median over the rounds of what the row has, divided by what its group's peer has. */
double bench_ratio(const struct bench_table *table, const struct bench_row *row, size_t metric);

/* The head, each table, the targets and the end, in this order. */
void bench_report_begin(const struct bench_options *options);
void bench_report_table(const struct bench_options *options, const struct bench_table *table);
/* A value that was to be at most (or at least) the limit. */
void bench_report_target(const struct bench_options *options, const char *text, double value,
                         bool is_at_most, double limit);
void bench_report_end(const struct bench_options *options);

/* What a report says about where it was made. */
struct bench_machine {
    char cpu[128];
    long cores;
    char kernel[200];
    char load[32];
    char date[16];
    const char *commit;
    const char *command;
};

void bench_machine_read(struct bench_machine *ret_machine);

/* The monotonic clock, and the processor time of the calling thread. */
uint64_t bench_now_ns(void);
uint64_t bench_cpu_ns(void);

/* Stands for I/O: sleeps. */
void bench_io(uint64_t ns);

/* Ends the program when something that must work does not. */
__attribute__((noreturn)) void bench_die(const char *what);

/* The parts: each makes its table, runs it and reports it, with its targets. */
void bench_uncontended(const struct bench_options *options);
void bench_shared(const struct bench_options *options);
void bench_flood(const struct bench_options *options);
void bench_queue(const struct bench_options *options);

#endif
