/* wheel.h - timers of a loop: many, coarse, and hardly ever due.
 *
 * A timer has a time of its own, which may be put off by a plain store: it stays where it is linked
 * and is looked at too early, and then linked anew. So what is put off with every request costs
 * nothing. Moving one forward links it at once.
 *
 * Exactness: a timer is due at the end of the tick that its time lies in, at most
 * WEIR__WHEEL_TICK_NS late, never early.
 *
 * Cost: constant for each operation; finding the next tick looks at 16 words.
 *
 * Ownership: timers live in their owners' structs and are unlinked before these go.
 */
#ifndef WEIR_HTTP_WHEEL_H
#define WEIR_HTTP_WHEEL_H

#include <weir/defs.h>

#define WEIR__WHEEL_SLOTS   1024u
#define WEIR__WHEEL_TICK_NS (UINT64_C(1) << 26) /* 67 ms; the wheel has 68 s */

struct weir__timer {
    struct weir__timer *_next, *_prev; /* NULL: not linked */
    uint64_t due_ns;
    uint64_t _tick; /* where it is linked */
};

struct weir__wheel {
    struct weir__timer _slots[WEIR__WHEEL_SLOTS]; /* heads of rings */
    uint64_t _filled[WEIR__WHEEL_SLOTS / 64];     /* slots that may have something */
    uint64_t _tick;                               /* the first that was not looked at */
};

void weir__wheel_init(struct weir__wheel *wheel, uint64_t now_ns);
/* WEIR_NEVER unlinks. */
void weir__timer_set(struct weir__wheel *wheel, struct weir__timer *timer, uint64_t due_ns);
void weir__timer_off(struct weir__timer *timer);

/* The next timer that is due, unlinked; NULL when there is none. */
struct weir__timer *weir__wheel_due(struct weir__wheel *wheel, uint64_t now_ns);

/* How long nothing can be due: the end of the next tick with something in it. WEIR_NEVER: empty. */
uint64_t weir__wheel_next_ns(const struct weir__wheel *wheel);

#endif
