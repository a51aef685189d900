/* frontier.h - how much of one object may be in the air at once.
 *
 * An object is a repository or an archive that is taken apart blob by blob. Its frontier limits two
 * things together: how many of its blobs are being worked on, and how many bytes they occupy. A
 * permit is one blob and its bytes. The frontier stands below the global pool: the pool decides
 * which objects may run, the frontier how wide each of them may open.
 *
 * Promises
 * - Never more than blobs_max blobs and bytes_max bytes are out.
 * - All or nothing: a permit is granted with its blob and all of its bytes, or not at all. Nobody
 *   holds a blob while it waits for bytes.
 * - First in, first out over the pair: while somebody waits, newcomers queue behind, try included;
 *   so a blob as large as the whole frontier is served in its turn.
 * - A blob of more than bytes_max bytes is TooLarge at once, naming the limit. One of 0 bytes takes
 *   its place among the blobs only.
 * - A deadline bounds the waiting, not the acquiring: what is free is granted even if the time has
 *   passed or the token has fired. If a grant and the end of the wait meet, the grant wins. So a
 *   permit is never lost: 0 means that the caller has it, anything else that it has nothing.
 * - When a waiter leaves (timeout, cancel), those behind it are looked at again at once.
 *
 * Memory order: what a thread did before releasing happens before what the one that is granted
 * those bytes does next.
 *
 * Cost: one short lock each way; no allocation, waiters live on the waiting thread's stack. One
 * grant is one wake. A frontier is about 500 bytes, so every open object can have its own.
 *
 * Ownership: the frontier lives in the caller's memory and must outlive its permits and its
 * waiters; a permit belongs to whoever holds the struct that acquire filled in.
 */
#ifndef WEIR_FRONTIER_H
#define WEIR_FRONTIER_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/vector.h>

WEIR_BEGIN_DECLS

/* A limit that nothing reaches. */
#define WEIR_FRONTIER_UNLIMITED UINT64_MAX

struct weir_frontier {
    struct weir__vector _vector;
};

struct weir_frontier_options {
    uint64_t blobs_max;   /* 1 and up */
    uint64_t bytes_max;   /* 1 and up */
    uint32_t waiters_max; /* more are answered Busy; 0: 65536 */
};

/* What acquire fills in. All zero is an empty permit. */
struct weir_frontier_permit {
    struct weir_frontier *_frontier;
    uint64_t _bytes;
    uint64_t _tag; /* finds doubled releases in builds with checks */
};

#define WEIR_FRONTIER_PERMIT_NONE                                                                  \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

/* Life cycle. Invalid: a limit of 0, or a bad name. */
WEIR_API WEIR_MUST_USE int weir_frontier_init(struct weir_frontier *frontier, const char *name,
                                              const struct weir_frontier_options *options);

/* Asserts that every permit is home and nobody waits. Accepts NULL and an object that is all zero.
 */
WEIR_API void weir_frontier_fini(struct weir_frontier *frontier);

/* Takes one blob of so many bytes if both are free and nobody waits; Busy otherwise. Never waits.
 */
WEIR_API WEIR_MUST_USE int weir_frontier_try(struct weir_frontier *frontier, uint64_t bytes,
                                             struct weir_frontier_permit *ret_permit);

/* Takes one blob of so many bytes, waiting in line. Timeout, Canceled, or Busy when too many wait.
 */
WEIR_API WEIR_MUST_USE int weir_frontier_acquire(struct weir_frontier *frontier, uint64_t bytes,
                                                 struct weir_frontier_permit *ret_permit,
                                                 const struct weir_deadline *deadline);

/* Gives the blob and its bytes back and empties the permit. An empty permit is left alone, so this
 * may be the WEIR_CLEANUP of a variable whose permit was moved on. */
WEIR_API void weir_frontier_permit_release(struct weir_frontier_permit *permit);

/* Hands the permit over: *to must be empty, *from becomes empty. */
WEIR_API void weir_frontier_permit_move(struct weir_frontier_permit *to,
                                        struct weir_frontier_permit *from);

static inline bool weir_frontier_permit_is_held(const struct weir_frontier_permit *permit)
{
    return permit->_frontier != NULL;
}

static inline uint64_t weir_frontier_permit_bytes(const struct weir_frontier_permit *permit)
{
    return permit->_bytes;
}

/* A consistent picture. The counts only grow; acquired - released is the number of blobs out, and
 * enqueued = granted + canceled + timed_out + waiting. */
struct weir_frontier_stats {
    uint64_t blobs_max;
    uint64_t blobs; /* out */
    uint64_t bytes_max;
    uint64_t bytes; /* out */
    uint64_t waiting;
    uint64_t acquired; /* permits handed out */
    uint64_t released;
    uint64_t enqueued; /* requests that had to wait */
    uint64_t granted;
    uint64_t canceled;
    uint64_t timed_out;
    uint64_t busy; /* refusals of try, when too many waited, of waits with no end */
    struct weir_histogram_snapshot wait_ns; /* time from joining the line to the grant */
};

WEIR_API void weir_frontier_read(struct weir_frontier *frontier,
                                 struct weir_frontier_stats *ret_stats);
WEIR_API const char *weir_frontier_name(const struct weir_frontier *frontier);

WEIR_END_DECLS

#endif
