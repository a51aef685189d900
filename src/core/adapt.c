/* adapt.c - additive increase, multiplicative decrease of a budget's capacity.
 *
 * State: everything is under one lock, but the epoch can be read without it (it is written with a
 * release store under the lock). _limit is what the budget shall have.
 *
 * Happy path: a good result counts; every so many of them, and not too often, _limit rises.
 *
 * Applying: the budget is resized with no lock held, since that may run callbacks. So that two
 * resizes cannot arrive in the wrong order, one thread at a time applies: it takes _limit, resizes,
 * and looks under the lock whether _limit is still the same; if not, it goes on. A thread that
 * changes _limit while another applies leaves the work to that one. A callback that reports from
 * inside the resize is such a thread, so there is no recursion.
 *
 * Failure modes: an overload is noticed by many calls at once. The first cut moves the epoch, and
 * the others, which started before, are stale. Calls that start between the cut and the relief it
 * brings are held off by cut_interval_ns.
 */
#include <weir/adapt.h>

#include "assert.h"
#include "atomic.h"
#include "bucket.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"

static const struct weir_lock_class adapt_class = {"adapt", WEIR__RANK_ADAPT};

static void fill_in_defaults(struct weir_adapt_options *options, uint64_t capacity)
{
    if (!options->min)
        options->min = 1;
    if (!options->max)
        options->max = capacity;
    if (!options->cut_permille)
        options->cut_permille = WEIR_ADAPT_CUT_PERMILLE_DEFAULT;
    if (!options->grow_after)
        options->grow_after = WEIR_ADAPT_GROW_AFTER_DEFAULT;
    if (!options->grow_step)
        options->grow_step = options->max / 64 ? options->max / 64 : 1;
    if (!options->cut_interval_ns)
        options->cut_interval_ns = WEIR_ADAPT_CUT_INTERVAL_DEFAULT_NS;
    if (!options->grow_interval_ns)
        options->grow_interval_ns = WEIR_ADAPT_GROW_INTERVAL_DEFAULT_NS;
}

static int refuse_options(const char *name, const struct weir_adapt_options *options,
                          uint64_t capacity)
{
    if (options->cut_permille > 999)
        return weir__fail(WEIR_E_INVALID, name,
                          "adapt '$n': a cut to $1 in 1000 is none, it may be 1 to 999",
                          options->cut_permille, 0, 0);
    if (options->max > WEIR_BUDGET_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "adapt '$n': a maximum of $1 was asked for, a budget may have $2",
                          options->max, WEIR_BUDGET_MAX, 0);
    if (options->min > capacity || capacity > options->max)
        return weir__fail(WEIR_E_INVALID, name,
                          "adapt '$n': the budget has $1, which is not between $2 and $3", capacity,
                          options->min, options->max);
    return 0;
}

int weir_adapt_init(struct weir_adapt *adapt, const char *name, struct weir_budget *budget,
                    const struct weir_adapt_options *options)
{
    struct weir_adapt fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (error)
        return error;
    if (!budget)
        return weir__fail(WEIR_E_INVALID, name, "adapt '$n': a budget is needed", 0, 0, 0);
    uint64_t capacity = weir_budget_capacity(budget);
    if (options)
        fresh._options = *options;
    fill_in_defaults(&fresh._options, capacity);
    error = refuse_options(name, &fresh._options, capacity);
    if (error)
        return error;
    weir_lock_init(&fresh._lock, &adapt_class);
    fresh._budget = budget;
    fresh._limit = fresh._applied = capacity;
    *adapt = fresh;
    return 0;
}

void weir_adapt_fini(struct weir_adapt *adapt)
{
    if (!adapt || !adapt->_budget)
        return;
    weir_lock_acquire(&adapt->_lock);
    WEIR__ASSERT(!adapt->_is_applying, "adapt", adapt->_name,
                 "destroyed while the budget is being resized");
    weir_lock_release(&adapt->_lock);
    weir_lock_fini(&adapt->_lock);
    adapt->_budget = NULL;
}

uint64_t weir_adapt_epoch(const struct weir_adapt *adapt)
{
    return weir__load64(&adapt->_epoch);
}

/* What a result says about the load. */
enum sign { GOOD, OVERLOAD, NOTHING };

static enum sign sign_of(int error)
{
    switch (error < 0 ? error : -error) {
    case 0:
        return GOOD;
    case -WEIR_E_NO_DESCRIPTORS:
    case -WEIR_E_NO_MEMORY:
    case -WEIR_E_TIMEOUT:
    case -WEIR_E_TIMEOUT_READ:
    case -WEIR_E_TIMEOUT_WRITE:
        return OVERLOAD;
    default:
        return NOTHING;
    }
}

/* ---- under the lock ---- */

static void cut(struct weir_adapt *adapt, uint64_t now_ns)
{
    const struct weir_adapt_options *options = &adapt->_options;
    if (now_ns < adapt->_cut_ns) {
        adapt->_too_soon++;
        return;
    }
    /* Always less than before, since at most 999 in 1000 stay and the rest is cut off. */
    uint64_t limit = (uint64_t)((weir__u128)adapt->_limit * options->cut_permille / 1000);
    adapt->_limit = limit > options->min ? limit : options->min;
    adapt->_good = 0;
    adapt->_cut_ns = weir_time_add(now_ns, options->cut_interval_ns);
    adapt->_grow_ns = weir_time_add(now_ns, options->grow_interval_ns);
    weir__store64(&adapt->_epoch, adapt->_epoch + 1);
}

static void grow(struct weir_adapt *adapt, uint64_t now_ns)
{
    const struct weir_adapt_options *options = &adapt->_options;
    adapt->_good++;
    if (adapt->_good < options->grow_after || now_ns < adapt->_grow_ns ||
        adapt->_limit == options->max)
        return;
    uint64_t room = options->max - adapt->_limit;
    adapt->_limit += options->grow_step < room ? options->grow_step : room;
    adapt->_good = 0;
    adapt->_grow_ns = weir_time_add(now_ns, options->grow_interval_ns);
    adapt->_steps++;
}

/* Gives the limit to the budget, unless a thread is at it that will see the new one. Called with
 * the lock held, which is released around the resize and held again at the end. */
static void apply(struct weir_adapt *adapt)
{
    bool is_naive = WEIR__MUTANT(ADAPT_RESIZES_RACE);
    if (adapt->_is_applying && !is_naive)
        return;
    adapt->_is_applying = true;
    while (adapt->_applied != adapt->_limit) {
        uint64_t limit = adapt->_limit;
        adapt->_resizes++;
        weir_lock_release(&adapt->_lock);
        int error = weir_budget_resize(adapt->_budget, limit);
        WEIR__ASSERT(!error, "adapt", adapt->_name, "the budget refused a size within its bounds");
        weir_lock_acquire(&adapt->_lock);
        adapt->_applied = is_naive ? adapt->_limit : limit;
    }
    adapt->_is_applying = false;
}

void weir_adapt_report(struct weir_adapt *adapt, uint64_t epoch, int error)
{
    enum sign sign = sign_of(error);
    weir_lock_acquire(&adapt->_lock);
    uint64_t now_ns = weir_now_ns();
    if (sign == NOTHING) {
        adapt->_ignored++;
    } else if (epoch != adapt->_epoch && !WEIR__MUTANT(ADAPT_EPOCH_IGNORED)) {
        adapt->_stale++;
    } else if (sign == OVERLOAD) {
        adapt->_overloads++;
        cut(adapt, now_ns);
        apply(adapt);
    } else {
        adapt->_successes++;
        grow(adapt, now_ns);
        apply(adapt);
    }
    weir_lock_release(&adapt->_lock);
}

void weir_adapt_read(struct weir_adapt *adapt, struct weir_adapt_stats *ret_stats)
{
    weir_lock_acquire(&adapt->_lock);
    *ret_stats = (struct weir_adapt_stats){
        .limit = adapt->_limit,
        .min = adapt->_options.min,
        .max = adapt->_options.max,
        .epoch = adapt->_epoch,
        .steps = adapt->_steps,
        .resizes = adapt->_resizes,
        .successes = adapt->_successes,
        .overloads = adapt->_overloads,
        .stale = adapt->_stale,
        .ignored = adapt->_ignored,
        .too_soon = adapt->_too_soon,
    };
    weir_lock_release(&adapt->_lock);
}

const char *weir_adapt_name(const struct weir_adapt *adapt)
{
    return adapt->_name;
}
