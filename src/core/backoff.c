/* backoff.c - jittered exponential delays.
 *
 * State: the number of failed tries and the state of a splitmix64 generator, both of one thread.
 *
 * Happy path: range of the k-th delay, one random number, one multiplication into the range.
 *
 * Failure modes: doubling stops at the cap, so it cannot overflow however many tries there are. A
 * wait that is refused because of its deadline keeps its delay for the next call, so that asking
 * again with more time gives the same answer as asking with enough time at once.
 */
#include <weir/backoff.h>

#include "bucket.h"
#include "error.h"

static uint64_t next_random(struct weir_backoff *backoff)
{
    backoff->_random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = backoff->_random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value ? value : otherwise;
}

int weir_backoff_init(struct weir_backoff *backoff, const struct weir_backoff_options *options)
{
    static const struct weir_backoff_options defaults;
    if (!options)
        options = &defaults;
    struct weir_backoff fresh = {
        ._base_min_ns = or_default(options->base_min_ns, WEIR_BACKOFF_BASE_MIN_DEFAULT_NS),
        ._base_max_ns = or_default(options->base_max_ns, WEIR_BACKOFF_BASE_MAX_DEFAULT_NS),
        ._cap_ns = or_default(options->cap_ns, WEIR_BACKOFF_CAP_DEFAULT_NS),
        ._tries_max = options->tries_max ? options->tries_max : WEIR_BACKOFF_TRIES_DEFAULT,
        /* Two that start in the same nanosecond live at different addresses. */
        ._random = or_default(options->seed, weir_now_ns() ^ (uint64_t)(uintptr_t)backoff),
    };
    if (fresh._cap_ns > WEIR_BACKOFF_CAP_MAX_NS)
        return weir__fail(WEIR_E_INVALID, NULL, "backoff: a cap of $t1, at most $t2 is allowed",
                          fresh._cap_ns, WEIR_BACKOFF_CAP_MAX_NS, 0);
    if (fresh._base_min_ns > fresh._base_max_ns || fresh._base_max_ns > fresh._cap_ns)
        return weir__fail(WEIR_E_INVALID, NULL,
                          "backoff: delays from $t1 to $t2, capped at $t3: these must rise",
                          fresh._base_min_ns, fresh._base_max_ns, fresh._cap_ns);
    *backoff = fresh;
    return 0;
}

/* An even draw from [low, high]. */
static uint64_t draw(struct weir_backoff *backoff, uint64_t low, uint64_t high)
{
    return low + (uint64_t)(((weir__u128)next_random(backoff) * (high - low + 1)) >> 64);
}

static uint64_t delay_of(struct weir_backoff *backoff)
{
    uint64_t low = backoff->_base_min_ns;
    uint64_t high = backoff->_base_max_ns;
    for (uint32_t i = 0; i < backoff->_tries && high < backoff->_cap_ns; i++) {
        low *= 2;
        high *= 2;
    }
    if (high > backoff->_cap_ns) {
        high = backoff->_cap_ns;
        low = (uint64_t)((weir__u128)high * backoff->_base_min_ns / backoff->_base_max_ns);
    }
    return draw(backoff, low, high);
}

/* Draws the delay if it is not drawn yet. */
static int look(struct weir_backoff *backoff)
{
    if (backoff->_tries + 1 >= backoff->_tries_max) {
        backoff->_exhausted++;
        return weir__fail(WEIR_E_EXHAUSTED, NULL, "backoff: $1 of $2 tries failed, no more is left",
                          backoff->_tries_max, backoff->_tries_max, 0);
    }
    if (!backoff->_drawn_ns)
        backoff->_drawn_ns = delay_of(backoff);
    return 0;
}

static uint64_t use(struct weir_backoff *backoff)
{
    uint64_t delay_ns = backoff->_drawn_ns;
    backoff->_drawn_ns = 0;
    backoff->_tries++;
    backoff->_delays++;
    backoff->_delay_ns_sum += delay_ns;
    return delay_ns;
}

int weir_backoff_next(struct weir_backoff *backoff, uint64_t *ret_delay_ns)
{
    int error = look(backoff);
    if (!error)
        *ret_delay_ns = use(backoff);
    return error;
}

int weir_backoff_wait(struct weir_backoff *backoff, const struct weir_deadline *deadline)
{
    if (!deadline || (deadline->at_ns == WEIR_NEVER && !deadline->cancel))
        return weir__fail(WEIR_E_INVALID, NULL,
                          "backoff: would have to wait: give a deadline or a cancel token", 0, 0,
                          0);
    int error = look(backoff);
    if (error)
        return error;
    uint64_t now_ns = weir_now_ns();
    uint64_t at_ns = weir_time_add(now_ns, backoff->_drawn_ns);
    if (at_ns > deadline->at_ns)
        return weir__fail(
            WEIR_E_TIMEOUT, NULL, "backoff: the next try is due in $t1, the deadline in $t2",
            backoff->_drawn_ns, deadline->at_ns > now_ns ? deadline->at_ns - now_ns : 0, 0);
    use(backoff);
    struct weir_deadline until = weir_deadline_min(deadline, at_ns);
    if (weir_deadline_sleep(&until) == -WEIR_E_CANCELED)
        return weir__fail(WEIR_E_CANCELED, NULL, "backoff: canceled before try $1 of $2",
                          (uint64_t)backoff->_tries + 1, backoff->_tries_max, 0);
    return 0;
}

void weir_backoff_reset(struct weir_backoff *backoff)
{
    backoff->_tries = 0;
    backoff->_drawn_ns = 0;
}

void weir_backoff_read(const struct weir_backoff *backoff, struct weir_backoff_stats *ret_stats)
{
    *ret_stats = (struct weir_backoff_stats){
        .tries = backoff->_tries,
        .tries_max = backoff->_tries_max,
        .delays = backoff->_delays,
        .delay_ns_sum = backoff->_delay_ns_sum,
        .exhausted = backoff->_exhausted,
    };
}
