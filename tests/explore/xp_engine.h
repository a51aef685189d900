/* xp_engine.h - the parts of the explorer among themselves; scenarios need xp.h alone.
 *
 * xp_engine.c   the search: choices, trails, who runs next
 * xp_memory.c   atomics, and store buffers for TSO
 * xp_model.c    futex, clock, threads, faults and assertions as the explorer sees them
 * xp_lock.c     the lock as one blocking operation
 * xp_trace.c    what a replay prints
 * xp_fibre.c    the context switch
 *
 * Ownership: everything is static; one search at a time.
 */
#ifndef WEIR_EXPLORE_XP_ENGINE_H
#define WEIR_EXPLORE_XP_ENGINE_H

#include "xp.h"
#include "xp_fibre.h"

#include <weir/lock.h>

/* The last one runs setup and check. */
#define XP_FIBRES_MAX (XP_THREADS_MAX + 1)
#define XP_MAIN       XP_THREADS_MAX

#define XP_BUFFER_MAX 4
#define XP_HELD_MAX   8
#define XP_TRAIL_MAX  16384

enum xp_state {
    XP_UNUSED,
    XP_READY, /* can run */
    XP_LOCK,  /* can run once the lock that it waits for is free */
    XP_FUTEX, /* can run once woken, or timed out */
    XP_JOIN,  /* can run once the other has ended */
    XP_AWAIT, /* can run once its predicate holds */
    XP_YIELD, /* can run once another has changed something, or nobody else can run */
    XP_ENDED,
};

struct xp_buffered {
    void *p;
    uint64_t value;
    unsigned size;
};

struct xp_thread {
    struct xp_fibre fibre;
    enum xp_state state;
    bool is_fresh;     /* its next point offers no choice, see xp__point() */
    bool is_abandoned; /* the execution may end without it */
    bool is_committing;
    void (*fn)(void *arg);
    void *arg;
    const void *waits_for; /* a lock or a futex word */
    uint64_t at_ns;        /* when that wait times out */
    uint64_t since;        /* order of arrival among waiters */
    int wait_result;
    unsigned joins;
    bool (*ready)(void *arg);
    void *ready_arg;
    unsigned held_count;
    const struct weir_lock *held[XP_HELD_MAX];
    unsigned buffered_count;
    struct xp_buffered buffered[XP_BUFFER_MAX];
};

struct xp_choice {
    uint8_t chosen;
    uint8_t count; /* 0 in a trail that came from the command line */
};

/* The execution that runs. */
struct xp_run {
    const struct xp_scenario *scenario;
    struct xp_thread thread[XP_FIBRES_MAX];
    unsigned current;
    unsigned threads; /* how many of .thread are used, without main */
    bool is_concurrent;
    bool is_tso;
    bool is_traced;
    bool has_release_points;   /* see xp_lock.c */
    bool wants_release_points; /* the search has to start again with them */
    unsigned bound;
    unsigned preemptions;
    unsigned spurious_left;
    unsigned faults_left;
    unsigned steps;
    unsigned steps_max;
    uint64_t now_ns;
    uint64_t arrivals;
    unsigned yields; /* how often a thread has yielded */
    struct xp_fibre driver;
    bool has_failed;
    bool is_invalid; /* the failure is the scenario's own */
    char message[1024];
    struct xp_choice trail[XP_TRAIL_MAX];
    unsigned trail_length;
    unsigned trail_at;
};
extern struct xp_run xp;

static inline struct xp_thread *xp__me(void)
{
    return &xp.thread[xp.current];
}

/* One of count ways, by the trail; 0 first. */
unsigned xp__choose(unsigned count);

/* Something has changed, so threads that have yielded may look again. */
void xp__end_yields(void);
static inline void xp__progress(void)
{
    if (__builtin_expect(xp.yields > 0, 0))
        xp__end_yields();
}

/* The scheduling point before an operation of the running thread. */
void xp__point(void);

/* Lets somebody run: the running thread again if its state allows that. Returns when the running
 * thread has been chosen. */
void xp__schedule(void);

/* Adds a thread that can run; its index, or -1 when all are in use. */
int xp__thread_add(void (*fn)(void *arg), void *arg);

/* TSO: makes all stores of the thread visible, oldest first. */
void xp__drain(unsigned thread);

/* TSO: the choices of whose buffered stores to this address become visible before thread's own
 * access to it. */
void xp__before_access(unsigned thread, const void *p, unsigned size);

/* Prints one step of a replay. */
#define XP__TRACE(...)                                                                             \
    do {                                                                                           \
        if (__builtin_expect(xp.is_traced, 0))                                                     \
            xp__trace(__VA_ARGS__);                                                                \
    } while (0)
__attribute__((format(printf, 1, 2), cold)) void xp__trace(const char *format, ...);

/* What a person calls the address; in one of a few static buffers. */
const char *xp__where(const void *p);
const char *xp__who(unsigned thread);
void xp__names_reset(void);

/* Who waits for what, for the message about a deadlock. */
void xp__describe_waits(char *text, size_t size);

/* Whole searches. */
struct xp_options {
    unsigned bound;      /* 0: the scenario's, */
    bool is_bound_given; /* unless this is set */
    bool is_tso;
    int mutant;
    uint64_t executions_max; /* 0: no limit */
    double seconds_max;      /* 0: no limit */
};
struct xp_result {
    bool has_failed;
    bool is_invalid; /* too large or not deterministic: nothing is said about core */
    bool is_exhaustive;
    unsigned bound_reached; /* exhausted, or where the failure is */
    uint64_t executions;
    double seconds;
    char message[1024];
    char trail[8192];
};
void xp_explore(const struct xp_scenario *scenario, const struct xp_options *options,
                struct xp_result *ret_result);

/* Follows a trail with every step printed. False when the trail cannot be read. */
bool xp_replay(const struct xp_scenario *scenario, const struct xp_options *options,
               const char *trail, bool is_traced, struct xp_result *ret_result);

/* The trail so far, in the compact form: choices with dots, runs as value*count. */
void xp_trail_print(char *text, size_t size);

struct xp_scenario *xp_scenarios(void);
int xp_mutant(void);

#endif
