/* xp.h - how to write a scenario for the interleaving explorer.
 *
 * A scenario is a small program of two or three threads over the real core code. The explorer runs
 * it again and again, each time with another interleaving, until every one within the preemption
 * bound has been run. docs/explorer.md says what that proves and what it does not.
 *
 *     static struct {
 *         struct weir_budget budget;
 *         unsigned inside;
 *     } s;
 *
 *     static void setup(void)
 *     {
 *         XP_ASSERT_EQ(weir_budget_init(&s.budget, "b", 1), 0);
 *     }
 *     static void worker(void)
 *     {
 *         struct weir_permit permit = {0};
 *         struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
 *         if (weir_budget_acquire(&s.budget, 1, &permit, &deadline) == 0) {
 *             XP_ASSERT(s.inside++ == 0, "two hold the only permit");
 *             xp_point();
 *             s.inside--;
 *             weir_permit_release(&permit);
 *         }
 *     }
 *     static void check(void)
 *     {
 *         weir_budget_fini(&s.budget);
 *     }
 *     XP_SCENARIO(budget_exclusive, .about = "one permit is held by one thread",
 *                 XP_STATE(s), .setup = setup, .threads = {worker, worker, worker},
 *                 .check = check, .bound = 2)
 *
 * The rules:
 * - All state is static, or reached from it. What XP_STATE names is zeroed before each execution;
 *   the rest is for setup to reset. Given the same choices, an execution must run the same way.
 * - setup and check run alone, before and after the threads: inits, finis and final assertions
 *   belong there. All threads must end; if they cannot, that is reported as a deadlock.
 * - Threads are switched at core's atomic operations, futexes, locks, thread starts and reads of
 *   the clock, and at xp_point(). Plain code between two such points runs as one piece, together
 *   with the operation before it (the first piece of a thread: with the first operation). So plain
 *   counters in s need no atomics, and an xp_point() goes where others shall be able to look in.
 * - Time stands still until a timed wait times out (the clock then jumps to its deadline), which
 *   every timed wait may do at any moment, or until xp_advance(). A result that allows for a
 *   time-out must therefore be expected from every wait with a deadline in time. For a wait that
 *   must succeed use weir_deadline_until(&token): if nobody ends it, that is a deadlock.
 * - No real threads, sleeping, input or output. At most XP_THREADS_MAX threads, started ones
 *   included.
 *
 * Ownership: scenarios are static and live for ever; strings passed in are literals.
 */
#ifndef WEIR_EXPLORE_XP_H
#define WEIR_EXPLORE_XP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XP_THREADS_MAX   8
#define XP_BOUND_DEFAULT 2
#define XP_STEPS_DEFAULT 5000

struct xp_scenario {
    const char *name;
    const char *about; /* one line: what is claimed */
    void (*setup)(void);
    void (*threads[XP_THREADS_MAX])(void);
    void (*check)(void);
    void *state; /* zeroed before each execution; its addresses get names in a replay */
    size_t state_size;
    unsigned bound;     /* preemptions per execution; 0 means XP_BOUND_DEFAULT */
    unsigned spurious;  /* futex waits that may end for no reason, per execution */
    unsigned faults;    /* fault points (allocation, thread start) that may hit, per execution */
    bool tso;           /* also explored with store buffers, by --tso */
    unsigned tso_bound; /* preemptions in that mode; 0 means the same as bound */
    unsigned steps_max; /* more steps than that is a livelock; 0 means XP_STEPS_DEFAULT */
    struct xp_scenario *next;
};

#define XP_STATE(variable) .state = &(variable), .state_size = sizeof(variable)

/* XP_SCENARIO(name, .setup = ..., .threads = {...}, .check = ..., ...) registers a scenario. Start
 * the name with that of the module. Ends without a semicolon. */
#define XP_SCENARIO(scenario_name, ...)                                                            \
    __attribute__((constructor)) static void xp_register_##scenario_name(void)                     \
    {                                                                                              \
        static struct xp_scenario scenario = {.name = #scenario_name, __VA_ARGS__};                \
        xp_register(&scenario);                                                                    \
    }
void xp_register(struct xp_scenario *scenario);

/* For use in setup, threads and check. A failed assertion ends the search with its trail. */
#define XP_ASSERT(condition, text)                                                                 \
    do {                                                                                           \
        if (!(condition))                                                                          \
            xp_fail("%s:%d: %s (%s)", __FILE__, __LINE__, text, #condition);                       \
    } while (0)
#define XP_ASSERT_EQ(actual, wanted)                                                               \
    do {                                                                                           \
        long long xp_a = (long long)(actual), xp_w = (long long)(wanted);                          \
        if (xp_a != xp_w)                                                                          \
            xp_fail("%s:%d: %s is %lld, not %lld (%s)", __FILE__, __LINE__, #actual, xp_a, xp_w,   \
                    #wanted);                                                                      \
    } while (0)
__attribute__((format(printf, 1, 2), noreturn, cold)) void xp_fail(const char *format, ...);

/* 0, 1, 2, ... in the order of .threads, then of weir__thread_start(); -1 in setup and check. */
int xp_thread_index(void);

/* A value from 0 to count - 1; all of them are explored. count is 1 to 255. */
unsigned xp_choose(unsigned count);

/* A place where other threads may run. */
void xp_point(void);

/* In a loop that waits for others by looking again and again: lets others go first, at no cost,
 * until one of them has changed something, and makes all buffered stores visible. Without it such
 * a loop is reported as a livelock. */
void xp_yield(void);

/* Blocks the thread until ready(arg), which looks at plain state and calls nothing of core. */
void xp_await(bool (*ready)(void *arg), void *arg);

/* Moves the clock on. It starts at XP_START_NS in each execution. */
#define XP_START_NS UINT64_C(1000000000)
void xp_advance(uint64_t delta_ns);

/* Gives a piece of memory a name in replays; in setup. At most 32, the rest are ignored. */
void xp_name(const void *memory, size_t size, const char *name);

/* True in --tso runs. */
bool xp_is_tso(void);

/* Pieces of base's memory that nobody has freed: as many in check as before setup. */
size_t xp_pieces(void);

#endif
