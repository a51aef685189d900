/* line.h - the waiters of one object, in the order in which they came.
 *
 * An object has one pointer for each of its lines: the first waiter, or NULL. Waiters are linked
 * both ways in a ring, so that joining at the end and leaving from the middle need no search.
 * Everything here happens under the object's lock. How a wait goes: see park.h.
 *
 * Ownership: a waiter lives on its thread's stack and is reachable by others only while it is in a
 * line, under the object's lock.
 */
#ifndef WEIR_CORE_LINE_H
#define WEIR_CORE_LINE_H

#include "park.h"

struct weir__waiter {
    struct weir__waiter *prev;
    struct weir__waiter *next;
    struct weir__park place;
    bool is_in_line;
    bool is_awake; /* its thread is still at work in the call, so it needs no signal */
    int result;    /* valid once it has been settled */
};

static inline void weir__line_append(struct weir__waiter **line, struct weir__waiter *waiter)
{
    struct weir__waiter *first = *line;
    if (first) {
        waiter->prev = first->prev;
        waiter->next = first;
        first->prev->next = waiter;
        first->prev = waiter;
    } else {
        waiter->prev = waiter->next = waiter;
        *line = waiter;
    }
    waiter->is_in_line = true;
}

static inline void weir__line_remove(struct weir__waiter **line, struct weir__waiter *waiter)
{
    if (waiter->next == waiter) {
        *line = NULL;
    } else {
        waiter->prev->next = waiter->next;
        waiter->next->prev = waiter->prev;
        if (*line == waiter)
            *line = waiter->next;
    }
    waiter->is_in_line = false;
}

/* Takes the waiter out of the line with its result. Not when wakes is full. */
static inline void weir__line_settle(struct weir__waiter **line, struct weir__waiter *waiter,
                                     int result, struct weir__wakes *wakes)
{
    weir__line_remove(line, waiter);
    waiter->result = result;
    if (!waiter->is_awake)
        weir__park_signal(&waiter->place, wakes);
}

#endif
