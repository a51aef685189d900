/* progress.h - how far long work is: done, total, rate, time left, in flight.
 *
 * On a terminal one line that is drawn over itself, at most ten times a second; elsewhere a plain
 * line every five seconds, so that a log stays readable; nothing at all when told to be quiet. Time
 * is passed in, nothing here looks at a clock or waits, so tests need no real time.
 *
 *     weir__progress_init(&progress, weir__progress_mode(STDERR_FILENO, quiet), WEIR__UNIT_SIZE,
 *                         weir_now_ns());
 *     ... now and then, from one thread:
 *     sample = (struct weir__progress_sample){.now_ns = weir_now_ns(), .done = d, .total = t};
 *     weir__progress_show(&progress, &sample, STDERR_FILENO);
 *     ... at the end:
 *     weir__progress_end(&progress, &sample, STDERR_FILENO);
 *
 * The rate is that of the last ten seconds or so, not of the whole run, so the time left follows
 * what happens now. Without a total there is no percentage, and the time left is that of the items
 * if their number is known; without a change in the window, of items or of what is counted, it is
 * "stalled".
 *
 * Ownership: the progress owns nothing and belongs to one thread.
 */
#ifndef WEIR_BASE_PROGRESS_H
#define WEIR_BASE_PROGRESS_H

#include "values.h"

enum weir__progress_mode {
    WEIR__PROGRESS_QUIET,
    WEIR__PROGRESS_LINE, /* drawn over itself on a terminal */
    WEIR__PROGRESS_PLAIN /* a line of its own every few seconds */
};

#define WEIR__PROGRESS_LINE_MAX 256
#define WEIR__PROGRESS_SAMPLES  10

struct weir__progress_sample {
    uint64_t now_ns;
    uint64_t done;
    uint64_t total;     /* 0: not known (yet) */
    uint64_t in_flight; /* items admitted and not finished */
    /* Where bytes alone do not tell how far it is: items done, and how many there are (0: not
     * known). Shown first, with their name; NULL: not shown. */
    const char *items_name;
    uint64_t items;
    uint64_t items_total;
    /* What came of it so far, behind the rate; NULL: not shown. */
    const char *found_name;
    uint64_t found;
};

struct weir__progress {
    enum weir__progress_mode _mode;
    enum weir__unit _unit;
    uint64_t _start_ns;
    uint64_t _shown_ns; /* when the last line was shown; the start before that */
    bool _has_line;     /* a line stands on the terminal, or plain ones were shown */
    bool _is_hidden;    /* the line was wiped for others, and comes back */
    bool _was_shown;
    /* The samples of the last seconds, one a second, as a ring. */
    struct weir__progress_sample _past[WEIR__PROGRESS_SAMPLES];
    size_t _past_count;
    size_t _past_next;
};

/* LINE on a terminal that can redraw, PLAIN elsewhere. */
enum weir__progress_mode weir__progress_mode(int fd, bool quiet);

/* The unit is WEIR__UNIT_SIZE for bytes, WEIR__UNIT_COUNT for items. */
void weir__progress_init(struct weir__progress *progress, enum weir__progress_mode mode,
                         enum weir__unit unit, uint64_t now_ns);

/* Notes the sample; true when it is time to show a line. */
bool weir__progress_is_due(struct weir__progress *progress,
                           const struct weir__progress_sample *sample);

/* The line without its end, at most width columns, for example
 * "71 of 95 files  1.50 GiB of 4.00 GiB  37%  210 MiB/s  3 findings  0:12 left  12 in flight". */
void weir__progress_format(const struct weir__progress *progress,
                           const struct weir__progress_sample *sample, size_t width,
                           char line[WEIR__PROGRESS_LINE_MAX]);

/* Shows a line when it is due. */
void weir__progress_show(struct weir__progress *progress,
                         const struct weir__progress_sample *sample, int fd);

/* Around other output on the same terminal: wipes the line, if one stands there, and draws it again
 * at once, if one was wiped. Plain lines need neither. */
void weir__progress_hide(struct weir__progress *progress, int fd);
void weir__progress_unhide(struct weir__progress *progress,
                           const struct weir__progress_sample *sample, int fd);

/* Whether any line was ever shown. */
bool weir__progress_was_shown(const struct weir__progress *progress);

/* Wipes the line from a terminal, or closes with a last plain line: "4.00 GiB  0:19  215 MiB/s",
 * the average of the run. A run that was over before the first plain line says nothing. */
void weir__progress_end(struct weir__progress *progress, const struct weir__progress_sample *sample,
                        int fd);

#endif
