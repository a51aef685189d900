/* pool.h - one limit over everything that large jobs use: scan ring, delta cache, spill slots.
 *
 * A large job (a repository, an archive, a container) needs memory of two kinds while it runs, and
 * perhaps leave to spill to disk. A limit per job does not bound the sum over all jobs; the pool
 * does. A job asks for all that it needs at once, holds one permit while it runs, and gives it back
 * whatever happens.
 *
 * Promises
 * - Never more than the configured bytes and slots are out (after a resize downwards: never more
 *   than were out then).
 * - All or nothing: a permit has everything that was asked for; a refusal has taken nothing. The
 *   components are looked at in the order scan ring, delta cache, spill slot, and a refusal names
 *   the first that stood in the way.
 * - First in, first out over the whole request: while somebody waits, newcomers queue behind,
 *   whatever they ask for, try included. So a request for the whole pool is served in its turn,
 *   although small ones keep coming, and nobody has to poll or back off.
 * - A component of 0 is skipped. A request for nothing succeeds at once, even while others wait.
 * - What can never be granted is TooLarge at once, naming the limit. It would wait for ever.
 * - A deadline bounds the waiting, not the acquiring: what is free is granted even if the time has
 *   passed or the token has fired. If a grant and the end of the wait meet, the grant wins. So a
 *   permit is never lost: 0 means that the caller has it, anything else that it has nothing.
 * - When a waiter leaves (timeout, cancel), those behind it are looked at again at once.
 *
 * Spilling: a pool has a number of spill slots, or no limit on them.
 *
 *     slots      asked for    permit         can spill   is limited
 *     N          yes          LIMITED        yes         yes: it holds one of the N
 *     N          no           NOT_REQUESTED  no          no
 *     unlimited  yes          UNLIMITED      yes         no: counted, but never refused
 *     unlimited  no           NOT_REQUESTED  no          no
 *
 * The permit is the leave to spill: what writes a spill file asks weir_pool_permit_can_spill().
 *
 * Units: sizes are bytes. Where a name says MB, it is 10^6 bytes (WEIR_POOL_MB); the defaults are
 * powers of two, 256 MiB and 512 MiB of 2^20 bytes each.
 *
 * Memory order: what a thread did before releasing happens before what the one that is granted
 * those units does next.
 *
 * Cost: one short lock each way, no allocation; a request with spilling takes it twice. For tens to
 * thousands of jobs a second, not for every object inside a job: that is <weir/frontier.h>.
 *
 * Ownership: the pool lives in the caller's memory and must outlive its permits and its waiters; a
 * permit belongs to whoever holds the struct that acquire filled in, and is released there once.
 */
#ifndef WEIR_POOL_H
#define WEIR_POOL_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/vector.h>

WEIR_BEGIN_DECLS

/* A megabyte, where a name says MB. */
#define WEIR_POOL_MB UINT64_C(1000000)

/* No limit on spilling. */
#define WEIR_POOL_SLOTS_UNLIMITED           UINT64_MAX

#define WEIR_POOL_SCAN_RING_DEFAULT_BYTES   (UINT64_C(256) << 20)
#define WEIR_POOL_DELTA_CACHE_DEFAULT_BYTES (UINT64_C(512) << 20)
#define WEIR_POOL_SPILL_SLOTS_DEFAULT       UINT64_C(16)

/* How many may wait at once unless the configuration says otherwise; more are answered Busy. */
#define WEIR_POOL_WAITERS_DEFAULT 65536u

struct weir_pool {
    struct weir__vector _vector;
};

struct weir_pool_config {
    uint64_t scan_ring_bytes;   /* 1 and up */
    uint64_t delta_cache_bytes; /* 1 and up */
    uint64_t spill_slots;       /* 1 and up, or WEIR_POOL_SLOTS_UNLIMITED */
    uint32_t waiters_max;       /* 0: WEIR_POOL_WAITERS_DEFAULT */
};

/* What a job needs. */
struct weir_pool_request {
    uint64_t scan_ring_bytes;
    uint64_t delta_cache_bytes;
    bool needs_spill_slot;
};

enum weir_pool_spill {
    WEIR_POOL_SPILL_NOT_REQUESTED,
    WEIR_POOL_SPILL_UNLIMITED,
    WEIR_POOL_SPILL_LIMITED,
};

/* What acquire fills in. All zero is an empty permit. */
struct weir_pool_permit {
    struct weir_pool *_pool;
    uint64_t _scan_ring_bytes;
    uint64_t _delta_cache_bytes;
    enum weir_pool_spill _spill;
    uint64_t _tag; /* finds doubled releases in builds with checks */
};

#define WEIR_POOL_PERMIT_NONE                                                                      \
    {                                                                                              \
        NULL, 0, 0, WEIR_POOL_SPILL_NOT_REQUESTED, 0                                               \
    }

/* ---- configuration and requests ---- */

/* 256 MiB, 512 MiB, 16 slots. */
static inline struct weir_pool_config weir_pool_config_default(void)
{
    struct weir_pool_config config = {WEIR_POOL_SCAN_RING_DEFAULT_BYTES,
                                      WEIR_POOL_DELTA_CACHE_DEFAULT_BYTES,
                                      WEIR_POOL_SPILL_SLOTS_DEFAULT, 0};
    return config;
}

/* 0, or Invalid with a text that names the component that is 0. */
WEIR_API WEIR_MUST_USE int weir_pool_config_check(const struct weir_pool_config *config);

/* A request for the scan of a git repository, in units of 10^6 bytes. TooLarge when the bytes do
 * not fit in 64 bits. */
WEIR_API WEIR_MUST_USE int weir_pool_request_git(uint64_t scan_ring_mb, uint64_t delta_cache_mb,
                                                 bool needs_spill_slot,
                                                 struct weir_pool_request *ret_request);

/* A request for an archive: a scan ring for its largest file, in bytes, and no delta cache. */
static inline struct weir_pool_request weir_pool_request_archive(uint64_t max_file_bytes,
                                                                 bool needs_spill_slot)
{
    struct weir_pool_request request = {max_file_bytes, 0, needs_spill_slot};
    return request;
}

/* ---- life cycle ---- */

/* config may be NULL: the defaults. Invalid: a configuration that weir_pool_config_check() refuses,
 * or a bad name. */
WEIR_API WEIR_MUST_USE int weir_pool_init(struct weir_pool *pool, const char *name,
                                          const struct weir_pool_config *config);

/* Asserts that every permit is home and nobody waits. Accepts NULL and an object that is all zero.
 */
WEIR_API void weir_pool_fini(struct weir_pool *pool);

/* ---- operations ---- */

/* Takes all of the request if it is free and nobody waits; Busy otherwise; TooLarge. Never waits.
 */
WEIR_API WEIR_MUST_USE int weir_pool_try(struct weir_pool *pool,
                                         const struct weir_pool_request *request,
                                         struct weir_pool_permit *ret_permit);

/* Takes all of the request, waiting in line. Timeout, Canceled, TooLarge, or Busy when too many
 * wait. */
WEIR_API WEIR_MUST_USE int weir_pool_acquire(struct weir_pool *pool,
                                             const struct weir_pool_request *request,
                                             struct weir_pool_permit *ret_permit,
                                             const struct weir_deadline *deadline);

/* Gives everything back and empties the permit. An empty permit is left alone, so this may be the
 * WEIR_CLEANUP of a variable whose permit was moved on. */
WEIR_API void weir_pool_permit_release(struct weir_pool_permit *permit);

/* Hands the permit over: *to must be empty, *from becomes empty. */
WEIR_API void weir_pool_permit_move(struct weir_pool_permit *to, struct weir_pool_permit *from);

/* Waiters with a callback, for schedulers and event loops: they stand in the same line as blocked
 * threads.
 *
 * Lifetime: from the moment that weir_pool_acquire_async() answers WEIR_POOL_QUEUED the waiter
 * belongs to the pool, until either fn is called or weir_pool_cancel_async() returns true; one of
 * the two happens, never both. From then on the pool does not touch it again, so fn itself may free
 * it. fn is called with no lock held, by the thread whose release, resize or cancel made room; it
 * must not wait. */
struct weir_pool_waiter {
    struct weir__vector_waiter _waiter; /* first: the vector calls back with it */
    struct weir_pool *_pool;
    struct weir_pool_request _request;
    void (*_fn)(struct weir_pool_waiter *waiter, int result, struct weir_pool_permit permit);
};

#define WEIR_POOL_QUEUED 1

/* 0: *ret_permit is filled in and fn will not be called. WEIR_POOL_QUEUED: fn will be called with
 * result 0 and the permit, or with an error and an empty permit (TooLarge when a resize made the
 * request impossible). Negative: refused, fn will not be called. */
WEIR_API WEIR_MUST_USE int weir_pool_acquire_async(
    struct weir_pool *pool, const struct weir_pool_request *request,
    struct weir_pool_permit *ret_permit, struct weir_pool_waiter *waiter,
    void (*fn)(struct weir_pool_waiter *waiter, int result, struct weir_pool_permit permit));

/* True: the waiter left the line and is the caller's again. False: it has been granted (or failed),
 * and fn was called, is running, or is about to be. Calling it after fn has been called is allowed
 * only while the waiter's memory still exists. */
WEIR_API bool weir_pool_cancel_async(struct weir_pool *pool, struct weir_pool_waiter *waiter);

/* Changes the limits while the pool runs, component by component in the order of the promise;
 * waiters_max stays what it was. Upwards, waiters are served at once. Downwards, what is out stays
 * out, nothing more is granted of that component until the new limit holds, and waiters for more
 * than it are failed with TooLarge. Spilling may turn limited or unlimited; permits that are out
 * keep the word that they were given. Invalid: as for weir_pool_init(), and nothing has changed. */
WEIR_API WEIR_MUST_USE int weir_pool_resize(struct weir_pool *pool,
                                            const struct weir_pool_config *config);

/* ---- looking at a permit ---- */

static inline bool weir_pool_permit_is_held(const struct weir_pool_permit *permit)
{
    return permit->_pool != NULL;
}

static inline uint64_t weir_pool_permit_scan_ring_bytes(const struct weir_pool_permit *permit)
{
    return permit->_scan_ring_bytes;
}

static inline uint64_t weir_pool_permit_delta_cache_bytes(const struct weir_pool_permit *permit)
{
    return permit->_delta_cache_bytes;
}

/* Cannot overflow: a request whose sum would is TooLarge. */
static inline uint64_t weir_pool_permit_total_bytes(const struct weir_pool_permit *permit)
{
    return permit->_scan_ring_bytes + permit->_delta_cache_bytes;
}

static inline enum weir_pool_spill weir_pool_permit_spill(const struct weir_pool_permit *permit)
{
    return permit->_spill;
}

static inline bool weir_pool_permit_can_spill(const struct weir_pool_permit *permit)
{
    return permit->_spill != WEIR_POOL_SPILL_NOT_REQUESTED;
}

static inline bool weir_pool_permit_spill_is_limited(const struct weir_pool_permit *permit)
{
    return permit->_spill == WEIR_POOL_SPILL_LIMITED;
}

/* ---- looking at the pool ---- */

WEIR_API uint64_t weir_pool_scan_ring_available(struct weir_pool *pool);
WEIR_API uint64_t weir_pool_scan_ring_total(struct weir_pool *pool);
WEIR_API uint64_t weir_pool_delta_cache_available(struct weir_pool *pool);
WEIR_API uint64_t weir_pool_delta_cache_total(struct weir_pool *pool);

/* Both answer WEIR_POOL_SLOTS_UNLIMITED when there is no limit. */
WEIR_API uint64_t weir_pool_spill_slots_available(struct weir_pool *pool);
WEIR_API uint64_t weir_pool_spill_slots_total(struct weir_pool *pool);

/* A consistent picture. The counts only grow; acquired - released is the number of permits out, and
 * enqueued = granted + canceled + timed_out + refused + waiting. */
struct weir_pool_stats {
    uint64_t scan_ring_total;
    uint64_t scan_ring_in_use; /* above the total only after a resize downwards; so for all three */
    uint64_t delta_cache_total;
    uint64_t delta_cache_in_use;
    uint64_t spill_slots_total;  /* WEIR_POOL_SLOTS_UNLIMITED */
    uint64_t spill_slots_in_use; /* permits that may spill, limited or not */
    uint64_t waiting;
    uint64_t acquired; /* permits handed out */
    uint64_t released;
    uint64_t enqueued; /* requests that had to wait */
    uint64_t granted;  /* of these */
    uint64_t canceled;
    uint64_t timed_out;
    uint64_t refused; /* waiting requests that a resize made impossible */
    uint64_t busy;    /* refusals of try, and of acquire when too many waited or it had no end */
    struct weir_histogram_snapshot wait_ns; /* time from joining the line to the grant */
};

WEIR_API void weir_pool_read(struct weir_pool *pool, struct weir_pool_stats *ret_stats);
WEIR_API const char *weir_pool_name(const struct weir_pool *pool);

WEIR_END_DECLS

#endif
