/* lookup_line.h - attempts that wait for a thread, and those that have one.
 *
 *     push -> in line -> take -> under way -> done
 *                \-> canceled: out of the line at once
 *
 * Promises
 * - At most `capacity` attempts are in line; Busy beyond. First in, first out.
 * - An attempt is taken once: by an asker, by its own token, or by the stop, whichever is first.
 *   Whose token fires while it is in line leaves at once, and its place is free.
 * - After stop nothing is taken in (Draining), what was in line is handed to dropped(), and askers
 *   end when they have done what they have.
 *
 * Ownership: an attempt belongs to the line from push until run() or dropped() has it, then to
 * that. What was dropped must live until its token's fire has returned, since its hook is being
 * run.
 */
#ifndef WEIR_INDEX_LOOKUP_LINE_H
#define WEIR_INDEX_LOOKUP_LINE_H

#include <weir/cancel.h>
#include <weir/crew.h>
#include <weir/lock.h>
#include <weir/queue.h>

enum weir__ask_place {
    WEIR__ASK_NOWHERE,
    WEIR__ASK_IN_LINE,
    WEIR__ASK_UNDER_WAY,
};

/* The head of an attempt. */
struct weir__line_item {
    struct weir__line *line;
    struct weir__line_item *prev, *next; /* guarded by the line's lock, with what follows */
    enum weir__ask_place place;
    struct weir_cancel_hook hook;
};

struct weir__line {
    struct weir_lock lock; /* class breaker_table: guards all that follows, and the items' places */
    struct weir__line_item *first, *last; /* in line, oldest first */
    struct weir__line_item *under_way;
    uint32_t count, capacity, under_way_count;
    bool is_stopped;
    uint64_t high_water, refused, canceled;
    /* One token for each item at least, so that who finds none may wait. What was canceled leaves
     * its token behind: an asker then wakes for nothing. */
    struct weir_queue bell;

    /* Fixed. By the asker, in its thread: ends with weir__line_done(). */
    void (*run)(struct weir__line_item *item);
    /* It will not be run: its token has fired, or the line has stopped. No lock is held. */
    void (*dropped)(struct weir__line_item *item);
};

WEIR_MUST_USE int weir__line_init(struct weir__line *line, uint32_t capacity,
                                  void (*run)(struct weir__line_item *item),
                                  void (*dropped)(struct weir__line_item *item));
/* Accepts a zeroed one. It has stopped, or nothing was ever in it. */
void weir__line_fini(struct weir__line *line);

/* Busy, Draining: it is still the caller's. Never waits. */
WEIR_MUST_USE int weir__line_push(struct weir__line *line, struct weir__line_item *item,
                                  struct weir_cancel *token);
/* For what is done without a thread of its own: it is under way from here on. */
void weir__line_enter(struct weir__line *line, struct weir__line_item *item);
/* It is under way no more. */
void weir__line_done(struct weir__line_item *item);

void weir__line_stop(struct weir__line *line);

/* A member of the crew; arg is the line. */
int weir__line_main(struct weir_crew_self *self, void *arg);

#endif
