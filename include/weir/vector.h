/* vector.h - the shared machinery under weir_pool and weir_frontier. Not an interface.
 *
 * A vector budget counts up to four components at once and grants a request over all of them or
 * nothing. Its structs stand in an installed header only because a pool and a frontier embed them;
 * its functions are internal, and nobody but those two calls them. Use <weir/pool.h>,
 * <weir/frontier.h>, or for one component <weir/budget.h>.
 *
 * Ownership: a vector belongs to the object that embeds it; every field here is private.
 */
#ifndef WEIR_VECTOR_H
#define WEIR_VECTOR_H

#include <weir/histogram.h>
#include <weir/lock.h>
#include <weir/turn.h>

WEIR_BEGIN_DECLS

#define WEIR__VECTOR_MAX 4

/* How many units of each component. Components beyond those of the vector must be 0. */
struct weir__vector_request {
    uint64_t units[WEIR__VECTOR_MAX];
};

struct weir__vector_waiter {
    struct weir__turn _turn; /* first, so that its line finds the rest */
    struct weir__vector_request _request;
    void (*_fn)(struct weir__vector_waiter *waiter, int result);
};

struct weir__vector {
    struct weir_lock _lock; /* guards all that follows */
    unsigned _components;   /* 0: never initialised */
    uint64_t _capacity[WEIR__VECTOR_MAX];
    uint64_t _in_use[WEIR__VECTOR_MAX];
    struct weir__turns _line;
    uint64_t _acquired;
    uint64_t _released;
    uint64_t _busy;
    const char *_what;
    const char *_component_names[WEIR__VECTOR_MAX];
    char _name[WEIR_NAME_MAX];
};

WEIR_END_DECLS

#endif
