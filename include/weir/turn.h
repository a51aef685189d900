/* turn.h - a place in a line: the machinery that budget, pool and frontier wait with.
 *
 * Not an interface of its own: the types stand here because the structs of those primitives contain
 * them, and only their sources touch the fields. See src/core/turn.h.
 *
 * Ownership: a turn lives on the waiting thread's stack or, with a callback, in the caller's
 * memory.
 */
#ifndef WEIR_TURN_H
#define WEIR_TURN_H

#include <weir/histogram.h>

WEIR_BEGIN_DECLS

struct weir__turn {
    struct weir__turn *_prev;
    struct weir__turn *_next;
    uint64_t _since_ns;
    int _result;
    uint32_t _word;                         /* parking place of a blocked thread */
    uint32_t _where;                        /* see src/core/turn.h */
    void (*_call)(struct weir__turn *turn); /* NULL: a blocked thread */
};

/* A line, with its counts. */
struct weir__turns {
    struct weir__turn *_head;
    struct weir__turn *_tail;
    uint32_t _waiting;
    uint32_t _waiting_max;
    uint64_t _enqueued;
    uint64_t _granted;
    uint64_t _canceled;
    uint64_t _timed_out;
    uint64_t _refused;
    struct weir_histogram _wait_ns; /* from joining the line to the grant */
};

WEIR_END_DECLS

#endif
