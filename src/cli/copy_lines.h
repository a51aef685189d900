/* copy_lines.h - what a copy has told, as lines: for people as rsync has them, and as JSON.
 *
 * Promises: a line is one line, and cannot drive the terminal: control characters and bytes that
 * are not UTF-8 become \#ooo, as in rsync (a tab stays a tab), and a backslash that would look like
 * such a thing becomes \#134. JSON keeps everything: a name that is not UTF-8 comes a second time,
 * in hexadecimal, under its key with "_hex" behind.
 *
 * Ownership: events and buffers are borrowed for the call; nothing is kept.
 */
#ifndef WEIR_CLI_COPY_LINES_H
#define WEIR_CLI_COPY_LINES_H

#include "buffer.h"
#include "copy.h"
#include "out.h"

enum weir__copy_lines {
    WEIR__LINES_NAMES,     /* -v: the name of what was made or whose data were moved */
    WEIR__LINES_ALL_NAMES, /* -vv: also metadata alone, what stays as it is or is left out */
    WEIR__LINES_ITEMIZED,  /* -i: also what about it changed, and whatever else is told */
};

/* Of one object in JSON, two names of WEIR__REPORT_TEXT_MAX among its values. */
#define WEIR__COPY_JSON_MAX  (16u << 20)

#define WEIR__COPY_PIECE_MAX 6

/* The first character of a name as it is shown; returns how many bytes of text that was, 0 at its
 * end. */
size_t weir__copy_escape(char piece[WEIR__COPY_PIECE_MAX], const char *text);

/* Items, deletions and methods; and, but for WEIR__LINES_NAMES, what stays as it is or is left out.
 * Others print nothing. */
void weir__copy_print(struct weir__out *out, const struct weir__copy_event *event,
                      enum weir__copy_lines style);

/* Errors and notes, on standard error. */
void weir__copy_log(const struct weir__copy_event *event);

/* Appends one object and its newline. is_cut: some text of the event is not whole. */
WEIR_MUST_USE int weir__copy_json(struct weir__buffer *buffer, const struct weir__copy_event *event,
                                  bool is_cut);

/* How it ended. */
struct weir__copy_ending {
    const struct weir__copy_stats *stats;
    int result; /* 0 or the negative code that the command returns */
    uint64_t elapsed_ns;
    bool is_dry_run;
};

#define WEIR__COPY_SUMMARY_MAX 512

/* "12 created, 3 unchanged; 1.20 GiB moved in 3.0s, 410 MiB/s; 2 errors". */
void weir__copy_summary(const struct weir__copy_ending *ending, char text[WEIR__COPY_SUMMARY_MAX]);
/* "data: 1.00 GiB by copy_file_range, 3.00 MiB by read+write"; "" when none was moved. */
void weir__copy_ways(const struct weir__copy_stats *stats, char text[WEIR__COPY_SUMMARY_MAX]);
/* --stats: several lines. */
void weir__copy_print_stats(struct weir__out *out, const struct weir__copy_ending *ending);
WEIR_MUST_USE int weir__copy_summary_json(struct weir__buffer *buffer,
                                          const struct weir__copy_ending *ending);

#endif
