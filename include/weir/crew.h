/* crew.h - owns every thread: starts it, tells it to stop, waits for it, and counts what went
 * wrong.
 *
 *     Running --drain--> Draining --all ended--> Stopped
 *                           |                       ^
 *                           +--deadline--> Aborting-+
 *
 * A member is a thread with two tokens. `stop` fires when draining starts: take no new work, finish
 * what you have. `abort` fires when the drain deadline has passed: give up. A thread cannot be
 * killed safely, so after abort has fired its system calls are interrupted, again and again, for a
 * grace time; what has not ended then is abandoned: the crew counts it, lets go of it, and the
 * process may leave without it.
 *
 * Promises
 * - Every thread that was started is joined by weir_crew_drain(), or counted as abandoned there.
 * - A shutdown is never lost: a member that starts while draining begins sees its stop token fired,
 *   and after that nothing is started any more (Draining).
 * - A member may end by itself at any time; it is joined when the next one starts, or at the drain.
 *
 * Memory order: what a member did happens before what is done after the wait or drain that saw it
 * end. Cost: one thread, one allocation and a short lock for a start; nothing while it runs. A
 * thread that has left its function is joined: what its thread-local destructors do then is not
 * bounded here.
 *
 * Limits: at most threads_max threads at once, Busy beyond; at most WEIR_CREW_KINDS_MAX kinds.
 *
 * Ownership: the crew belongs to whoever made it and is freed by weir_crew_free() once it has
 * stopped; the struct that a member's function gets belongs to the crew and lives until the
 * function returns. An abandoned member keeps what it needs of the crew alive.
 */
#ifndef WEIR_CREW_H
#define WEIR_CREW_H

#include <weir/deadline.h>
#include <weir/error.h>

WEIR_BEGIN_DECLS

enum weir_crew_state {
    WEIR_CREW_RUNNING,
    WEIR_CREW_DRAINING,
    WEIR_CREW_ABORTING,
    WEIR_CREW_STOPPED,
};

#define WEIR_CREW_KINDS_MAX        16
#define WEIR_CREW_THREADS_DEFAULT  256u
#define WEIR_CREW_THREADS_MAX      65536u
#define WEIR_CREW_DRAIN_DEFAULT_NS (5 * WEIR_NS_PER_S)
#define WEIR_CREW_GRACE_DEFAULT_NS (1 * WEIR_NS_PER_S)

/* Longer times than a day are a mistake in units. */
#define WEIR_CREW_TIME_MAX_NS (86400 * WEIR_NS_PER_S)

struct weir_crew;

struct weir_crew_options {
    uint32_t threads_max; /* 0: WEIR_CREW_THREADS_DEFAULT; at most WEIR_CREW_THREADS_MAX */
    uint64_t drain_ns;    /* from drain to abort; 0: WEIR_CREW_DRAIN_DEFAULT_NS */
    uint64_t grace_ns;    /* from abort to abandon; 0: WEIR_CREW_GRACE_DEFAULT_NS */
};

/* What a member knows of itself. */
struct weir_crew_self {
    struct weir_cancel *stop;
    struct weir_cancel *abort;
    const char *kind;
};

/* What became of the threads of one kind; the counts only grow.
 * spawned = ended + running + abandoned + unstarted. */
struct weir_crew_kind {
    char name[WEIR_NAME_MAX];
    uint64_t spawned;
    uint64_t ended;
    uint64_t canceled;  /* of these: returned Canceled */
    uint64_t aborted;   /* still at work when the drain deadline passed */
    uint64_t abandoned; /* of these: still there when the grace time was over */
    uint64_t unstarted; /* the system had no thread for them, as start has told its caller */
};

struct weir_crew_report {
    enum weir_crew_state state;
    uint64_t running;
    uint64_t kind_count;
    struct weir_crew_kind kinds[WEIR_CREW_KINDS_MAX];
};

/* options may be NULL. Invalid: a bad name, more threads than WEIR_CREW_THREADS_MAX, or a time
 * above WEIR_CREW_TIME_MAX_NS. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_crew_new(struct weir_crew **ret_crew, const char *name,
                                         const struct weir_crew_options *options);

/* Asserts that the crew has stopped (or never started anybody). Accepts NULL. */
WEIR_API void weir_crew_free(struct weir_crew *crew);

/* Starts a thread that runs fn(self, arg), once for every start that returns 0, so that arg may be
 * given up there: also when the thread was abandoned before it came to life, and then both tokens
 * have fired. The result of fn is 0, or an error: Canceled is counted. The kind names the thread
 * and is what counts are kept by. Draining after a drain has begun, Busy when there are too many
 * threads here or on the machine, Overflow for a seventeenth kind, NoMemory. */
WEIR_API WEIR_MUST_USE int weir_crew_start(struct weir_crew *crew, const char *kind,
                                           int (*fn)(struct weir_crew_self *self, void *arg),
                                           void *arg);

/* Stops everybody: fires stop, waits up to drain_ns for all to end, else fires abort and waits up
 * to grace_ns, else abandons. Returns 0 when all ended in time, -WEIR_E_TIMEOUT when some had to be
 * aborted, -WEIR_E_CLOSED when somebody else has drained or is draining. ret_report may be NULL.
 * Not to be called by a member. The waits are bounded by the options, so there is no deadline. */
WEIR_API int weir_crew_drain(struct weir_crew *crew, struct weir_crew_report *ret_report);

/* Waits until every member has ended by itself. Timeout or Canceled by the deadline. */
WEIR_API WEIR_MUST_USE int weir_crew_wait(struct weir_crew *crew,
                                          const struct weir_deadline *deadline);

WEIR_API struct weir_cancel *weir_crew_stop_token(struct weir_crew *crew);
WEIR_API struct weir_cancel *weir_crew_abort_token(struct weir_crew *crew);
WEIR_API enum weir_crew_state weir_crew_state(struct weir_crew *crew);
WEIR_API void weir_crew_read(struct weir_crew *crew, struct weir_crew_report *ret_report);
WEIR_API const char *weir_crew_name(const struct weir_crew *crew);
WEIR_API const char *weir_crew_state_name(enum weir_crew_state state);

/* Has the descriptor shut down (shutdown(2), both ways) when the token fires, so that a thread that
 * blocks in it wakes up. Undone by weir_cancel_off() before the descriptor is closed. */
WEIR_API bool weir_cancel_shuts_down(struct weir_cancel *token, struct weir_cancel_hook *hook,
                                     int fd);

WEIR_END_DECLS

#endif
