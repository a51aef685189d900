/* pool.c - scan ring, delta cache and spill slot, together or not at all.
 *
 * State: a vector budget (vector.c) of three components, in the order in which they are looked at;
 * nothing else. A permit remembers what it holds, so that giving back never depends on how the pool
 * is configured by then.
 *
 * Spilling is one unit of the third component whether it is limited or not; without a limit the
 * vector counts it and refuses nothing. So the pool can turn from one into the other while permits
 * are out, and the number of jobs that may spill is always known. What kind of leave a permit is
 * gets read after the grant: it is information for its holder, nothing here depends on it.
 *
 * Happy path and failure modes are those of the vector. What is decided here: a limit of 0 is
 * refused (for the vector 0 means unlimited), and so is a request whose bytes do not add up in 64
 * bits.
 */
#include <weir/pool.h>

#include "assert.h"
#include "error.h"
#include "mutants.h"
#include "permit.h"
#include "vector.h"

enum { SCAN_RING, DELTA_CACHE, SPILL, COMPONENTS };

static const char *const component_names[COMPONENTS] = {"scan ring bytes", "delta cache bytes",
                                                        "spill slots"};

_Static_assert(WEIR_POOL_QUEUED == WEIR_BUDGET_QUEUED, "the vector's answer is passed on");
_Static_assert(WEIR_POOL_WAITERS_DEFAULT == WEIR_BUDGET_WAITERS_DEFAULT, "the vector's default");

/* ---- configuration and requests ---- */

static int check_config(const char *name, const struct weir_pool_config *config)
{
    if (config->scan_ring_bytes == 0)
        return weir__fail(WEIR_E_INVALID, name,
                          "pool '$n': a scan ring of 0 bytes was asked for, at least 1 is needed",
                          0, 0, 0);
    if (config->delta_cache_bytes == 0)
        return weir__fail(WEIR_E_INVALID, name,
                          "pool '$n': a delta cache of 0 bytes was asked for, at least 1 is needed",
                          0, 0, 0);
    if (config->spill_slots == 0)
        return weir__fail(WEIR_E_INVALID, name,
                          "pool '$n': 0 spill slots were asked for, at least 1 is needed, or no "
                          "limit at all",
                          0, 0, 0);
    return 0;
}

int weir_pool_config_check(const struct weir_pool_config *config)
{
    return check_config("", config);
}

int weir_pool_request_git(uint64_t scan_ring_mb, uint64_t delta_cache_mb, bool needs_spill_slot,
                          struct weir_pool_request *ret_request)
{
    uint64_t max_mb = UINT64_MAX / WEIR_POOL_MB;
    if (scan_ring_mb > max_mb || delta_cache_mb > max_mb)
        return weir__fail(
            WEIR_E_TOO_LARGE, "",
            "a scan ring of $1 MB and a delta cache of $2 MB were asked for, each may "
            "have at most $3 MB of 1000000 bytes",
            scan_ring_mb, delta_cache_mb, max_mb);
    *ret_request = (struct weir_pool_request){
        .scan_ring_bytes = scan_ring_mb * WEIR_POOL_MB,
        .delta_cache_bytes = delta_cache_mb * WEIR_POOL_MB,
        .needs_spill_slot = needs_spill_slot,
    };
    return 0;
}

static int units_of(const struct weir_pool *pool, const struct weir_pool_request *request,
                    struct weir__vector_request *ret_units)
{
    if (request->delta_cache_bytes > UINT64_MAX - request->scan_ring_bytes)
        return weir__fail(WEIR_E_TOO_LARGE, pool->_vector._name,
                          "pool '$n': $1 scan ring bytes and $2 delta cache bytes asked for, "
                          "together more than 64 bits can count",
                          request->scan_ring_bytes, request->delta_cache_bytes, 0);
    *ret_units = (struct weir__vector_request){{
        [SCAN_RING] = request->scan_ring_bytes,
        [DELTA_CACHE] = request->delta_cache_bytes,
        [SPILL] = request->needs_spill_slot,
    }};
    return 0;
}

/* ---- life cycle ---- */

/* For the vector a capacity of 0 is unlimited. */
static uint64_t spill_capacity(const struct weir_pool_config *config)
{
    return config->spill_slots == WEIR_POOL_SLOTS_UNLIMITED ? 0 : config->spill_slots;
}

int weir_pool_init(struct weir_pool *pool, const char *name, const struct weir_pool_config *config)
{
    const struct weir_pool_config defaults = weir_pool_config_default();
    config = config ? config : &defaults;
    int error = check_config(name, config);
    if (error)
        return error;
    uint64_t capacities[COMPONENTS] = {
        [SCAN_RING] = config->scan_ring_bytes,
        [DELTA_CACHE] = config->delta_cache_bytes,
        [SPILL] = spill_capacity(config),
    };
    return weir__vector_init(&pool->_vector, "pool", name, COMPONENTS, capacities, component_names,
                             config->waiters_max);
}

void weir_pool_fini(struct weir_pool *pool)
{
    if (pool)
        weir__vector_fini(&pool->_vector);
}

/* ---- acquiring and releasing ---- */

static enum weir_pool_spill spill_of(struct weir_pool *pool,
                                     const struct weir_pool_request *request)
{
    if (!request->needs_spill_slot)
        return WEIR_POOL_SPILL_NOT_REQUESTED;
    return weir_pool_spill_slots_total(pool) == WEIR_POOL_SLOTS_UNLIMITED
               ? WEIR_POOL_SPILL_UNLIMITED
               : WEIR_POOL_SPILL_LIMITED;
}

static struct weir_pool_permit permit_for(struct weir_pool *pool,
                                          const struct weir_pool_request *request)
{
    return (struct weir_pool_permit){pool, request->scan_ring_bytes, request->delta_cache_bytes,
                                     spill_of(pool, request), weir__tag_take(pool)};
}

int weir_pool_try(struct weir_pool *pool, const struct weir_pool_request *request,
                  struct weir_pool_permit *ret_permit)
{
    struct weir__vector_request units;
    int error = units_of(pool, request, &units);
    if (!error)
        error = weir__vector_try(&pool->_vector, &units);
    if (!error)
        *ret_permit = permit_for(pool, request);
    return error;
}

int weir_pool_acquire(struct weir_pool *pool, const struct weir_pool_request *request,
                      struct weir_pool_permit *ret_permit, const struct weir_deadline *deadline)
{
    struct weir__vector_request units;
    int error = units_of(pool, request, &units);
    if (!error)
        error = weir__vector_acquire(&pool->_vector, &units, deadline);
    if (!error)
        *ret_permit = permit_for(pool, request);
    return error;
}

void weir_pool_permit_release(struct weir_pool_permit *permit)
{
    struct weir_pool *pool = permit->_pool;
    if (!pool)
        return;
    bool had_slot = WEIR__MUTANT(POOL_SLOT_FORGOTTEN) ? weir_pool_permit_spill_is_limited(permit)
                                                      : weir_pool_permit_can_spill(permit);
    struct weir__vector_request units = {{
        [SCAN_RING] = permit->_scan_ring_bytes,
        [DELTA_CACHE] = permit->_delta_cache_bytes,
        [SPILL] = had_slot,
    }};
    weir__tag_return(permit->_tag, pool, "pool", pool->_vector._name);
    *permit = (struct weir_pool_permit)WEIR_POOL_PERMIT_NONE;
    weir__vector_release(&pool->_vector, &units);
}

void weir_pool_permit_move(struct weir_pool_permit *to, struct weir_pool_permit *from)
{
    WEIR__ASSERT(!to->_pool, "pool", to->_pool->_vector._name,
                 "a permit was moved onto one that is still held");
    *to = *from;
    *from = (struct weir_pool_permit)WEIR_POOL_PERMIT_NONE;
}

static void on_settled(struct weir__vector_waiter *inner, int result)
{
    struct weir_pool_waiter *waiter = (struct weir_pool_waiter *)inner;
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    if (!result)
        permit = permit_for(waiter->_pool, &waiter->_request);
    waiter->_fn(waiter, result, permit); /* may free the waiter */
}

int weir_pool_acquire_async(struct weir_pool *pool, const struct weir_pool_request *request,
                            struct weir_pool_permit *ret_permit, struct weir_pool_waiter *waiter,
                            void (*fn)(struct weir_pool_waiter *waiter, int result,
                                       struct weir_pool_permit permit))
{
    _Static_assert(offsetof(struct weir_pool_waiter, _waiter) == 0, "on_settled() relies on it");
    struct weir__vector_request units;
    int result = units_of(pool, request, &units);
    if (result)
        return result;
    /* Before it joins: from then on it may be called at any moment. */
    waiter->_pool = pool;
    waiter->_request = *request;
    waiter->_fn = fn;
    result = weir__vector_acquire_async(&pool->_vector, &units, &waiter->_waiter, on_settled);
    if (result == 0)
        *ret_permit = permit_for(pool, request);
    return result;
}

bool weir_pool_cancel_async(struct weir_pool *pool, struct weir_pool_waiter *waiter)
{
    return weir__vector_cancel_async(&pool->_vector, &waiter->_waiter);
}

int weir_pool_resize(struct weir_pool *pool, const struct weir_pool_config *config)
{
    int error = check_config(pool->_vector._name, config);
    if (!error)
        error = weir__vector_resize(&pool->_vector, SCAN_RING, config->scan_ring_bytes);
    if (!error)
        error = weir__vector_resize(&pool->_vector, DELTA_CACHE, config->delta_cache_bytes);
    if (!error)
        error = weir__vector_resize(&pool->_vector, SPILL, spill_capacity(config));
    return error;
}

/* ---- looking ---- */

static uint64_t total(struct weir_pool *pool, unsigned component)
{
    uint64_t capacity = weir__vector_capacity(&pool->_vector, component);
    return capacity ? capacity : WEIR_POOL_SLOTS_UNLIMITED;
}

static uint64_t available(struct weir_pool *pool, unsigned component)
{
    return weir__vector_available(&pool->_vector, component);
}

uint64_t weir_pool_scan_ring_available(struct weir_pool *pool)
{
    return available(pool, SCAN_RING);
}

uint64_t weir_pool_scan_ring_total(struct weir_pool *pool)
{
    return total(pool, SCAN_RING);
}

uint64_t weir_pool_delta_cache_available(struct weir_pool *pool)
{
    return available(pool, DELTA_CACHE);
}

uint64_t weir_pool_delta_cache_total(struct weir_pool *pool)
{
    return total(pool, DELTA_CACHE);
}

uint64_t weir_pool_spill_slots_available(struct weir_pool *pool)
{
    return available(pool, SPILL);
}

uint64_t weir_pool_spill_slots_total(struct weir_pool *pool)
{
    return total(pool, SPILL);
}

void weir_pool_read(struct weir_pool *pool, struct weir_pool_stats *ret_stats)
{
    struct weir__vector_stats stats;
    weir__vector_read(&pool->_vector, &stats);
    *ret_stats = (struct weir_pool_stats){
        .scan_ring_total = stats.capacity[SCAN_RING],
        .scan_ring_in_use = stats.in_use[SCAN_RING],
        .delta_cache_total = stats.capacity[DELTA_CACHE],
        .delta_cache_in_use = stats.in_use[DELTA_CACHE],
        .spill_slots_total =
            stats.capacity[SPILL] ? stats.capacity[SPILL] : WEIR_POOL_SLOTS_UNLIMITED,
        .spill_slots_in_use = stats.in_use[SPILL],
        .waiting = stats.waiting,
        .acquired = stats.acquired,
        .released = stats.released,
        .enqueued = stats.enqueued,
        .granted = stats.granted,
        .canceled = stats.canceled,
        .timed_out = stats.timed_out,
        .refused = stats.refused,
        .busy = stats.busy,
        .wait_ns = stats.wait_ns,
    };
}

const char *weir_pool_name(const struct weir_pool *pool)
{
    return pool->_vector._name;
}
