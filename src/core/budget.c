/* budget.c - the weighted first-in-first-out semaphore.
 *
 * State word
 *
 *     63................23  22.......12  11........1  0
 *     available units       acquired     released     SLOW
 *
 * - available: units that are free. Never errs: every grant and every return changes it. It stands
 *   on top so that "n are free" is one comparison of the whole word with n shifted up.
 * - acquired, released: permits handed out and returned since the last fold, so that exact counts
 *   cost no atomic operation of their own. When the top bit of one shows, the next call folds both
 *   into 64-bit sums under the lock; until then nobody passes the fast path, so they cannot
 * overflow.
 * - SLOW: somebody waits, or units are owed (debt after a resize downwards). It is set and cleared
 *   under the lock only, and while it is set nothing changes the word without the lock. It never
 *   errs on the side of clear: a waiter sets it in the same compare-and-swap that saw too few
 * units.
 *
 * Happy path: one compare-and-swap from "n units free, nobody waits" to n fewer, and one back.
 *
 * Waiting: under the lock, see again that n units are not free (or that somebody is before us), set
 * SLOW in that very compare-and-swap, join the tail, release the lock, park. Whoever returns units
 * from then on comes through the lock and serves the head, and the next, as far as the units go.
 *
 * Failure modes: a waiter that leaves may have been the one that held up the line, so those behind
 * it are served as far as possible. Grant and leave are decided under the lock: a grant that is
 * there when the waiter comes back is taken. Wakes are sent after the lock is released, to
 * addresses that may be gone by then (futex.h); callbacks run after that.
 *
 * Debt: a resize downwards takes what is free and owes the rest; returning units pay the debt
 * first. While there is debt nothing is granted.
 */
#include <weir/budget.h>

#include <stdio.h>
#include <string.h>

#include "assert.h"
#include "atomic.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"
#include "permit.h"
#include "turn.h"

#define SLOW         UINT64_C(1)
#define RELEASED_ONE (UINT64_C(1) << 1)
#define RELEASED_TOP (UINT64_C(1) << 11)
#define ACQUIRED_ONE (UINT64_C(1) << 12)
#define ACQUIRED_TOP (UINT64_C(1) << 22)
#define COUNT_MASK   UINT64_C(0x7ff)
#define UNIT_SHIFT   23
#define UNIT         (UINT64_C(1) << UNIT_SHIFT)
#define BELOW_UNITS  (UNIT - 1)
#define COUNTS       (BELOW_UNITS & ~SLOW)

/* Any of these sends a call through the lock. */
#define NOT_FAST  (SLOW | ACQUIRED_TOP | RELEASED_TOP)

#define likely(x) __builtin_expect(!!(x), 1)

static const struct weir_lock_class budget_class = {"budget", WEIR__RANK_BUDGET};

static uint64_t available(uint64_t state)
{
    return state >> UNIT_SHIFT;
}

/* n units in their place in the word; bits of n that have no place there are rotated to below it,
 * so that nothing is lost: n_of() is the inverse. */
static inline uint64_t units_of(uint64_t n)
{
    uint64_t units = n << UNIT_SHIFT | n >> (64 - UNIT_SHIFT);
    /* Work with the rotated value alone: keeping n as well costs an instruction on every call. */
    __asm__("" : "+r"(units));
    return units;
}

static inline bool fits(uint64_t units)
{
    return likely(!(units & BELOW_UNITS));
}

static inline uint64_t n_of(uint64_t units)
{
    return units >> UNIT_SHIFT | units << (64 - UNIT_SHIFT);
}

/* The largest state word with no more than capacity units in it. */
static uint64_t limit_of(uint64_t capacity)
{
    return capacity << UNIT_SHIFT | BELOW_UNITS;
}

static uint64_t capacity_of(const struct weir_budget *budget)
{
    return available(weir__load64(&budget->_limit));
}

int weir_budget_init_with(struct weir_budget *budget, const char *name,
                          const struct weir_budget_options *options)
{
    static const struct weir_budget_options nothing;
    options = options ? options : &nothing;
    struct weir_budget fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (error)
        return error;
    if (options->capacity == 0 || options->capacity > WEIR_BUDGET_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "budget '$n': a capacity of $1 was asked for, it may be 1 to $2",
                          options->capacity, WEIR_BUDGET_MAX, 0);
    weir_lock_init(&fresh._lock, &budget_class);
    fresh._state = options->capacity << UNIT_SHIFT;
    fresh._limit = limit_of(options->capacity);
    weir__turns_init(&fresh._line,
                     options->waiters_max ? options->waiters_max : WEIR_BUDGET_WAITERS_DEFAULT);
    *budget = fresh;
    return 0;
}

int weir_budget_init(struct weir_budget *budget, const char *name, uint64_t capacity)
{
    struct weir_budget_options options = {.capacity = capacity};
    return weir_budget_init_with(budget, name, &options);
}

/* Moves the counts from the word to the sums, and returns the word as it was then. Under the lock.
 */
static uint64_t fold_counts(struct weir_budget *budget)
{
    uint64_t state = weir__load64_relaxed(&budget->_state);
    while (!weir__cas64(&budget->_state, &state, state & ~COUNTS)) {}
    budget->_acquired_before += state / ACQUIRED_ONE & COUNT_MASK;
    budget->_released_before += state / RELEASED_ONE & COUNT_MASK;
    return state;
}

static void fold_counts_if_full(struct weir_budget *budget)
{
    if (weir__load64_relaxed(&budget->_state) & (ACQUIRED_TOP | RELEASED_TOP))
        fold_counts(budget);
}

void weir_budget_fini(struct weir_budget *budget)
{
    if (!budget || !budget->_limit)
        return;
    weir_lock_acquire(&budget->_lock);
    fold_counts(budget);
    WEIR__ASSERT(!budget->_line._head, "budget", budget->_name, "destroyed while somebody waits");
    if (budget->_acquired_before != budget->_released_before) {
        char message[64];
        snprintf(message, sizeof(message), "destroyed with permits out: %llu",
                 (unsigned long long)(budget->_acquired_before - budget->_released_before));
        weir__panic(__FILE__, __LINE__, "budget", budget->_name, message);
    }
    WEIR__ASSERT(weir_budget_available(budget) == capacity_of(budget), "budget", budget->_name,
                 "destroyed with units missing");
    weir_lock_release(&budget->_lock);
    weir_lock_fini(&budget->_lock);
    budget->_limit = 0;
}

/* ---- granting ---- */

static struct weir_budget_waiter *waiter_of(struct weir__turn *turn)
{
    return (struct weir_budget_waiter *)turn;
}

/* Serves the head of the line as long as there are units. Returns true when it stopped only because
 * too many wakes are pending: send them and call again. While SLOW is set nobody changes the word
 * without the lock, so it may be computed and stored whole. */
static bool serve_line(struct weir_budget *budget, struct weir__after *after)
{
    uint64_t state = weir__load64_relaxed(&budget->_state);
    if (!(state & SLOW))
        return false;
    bool full = false;
    struct weir__turn *head;
    while ((head = budget->_line._head) && budget->_debt == 0) {
        uint64_t n = waiter_of(head)->_units;
        if (available(state) < n)
            break;
        full = weir__wakes_is_full(&after->wakes);
        if (full)
            break;
        state -= n << UNIT_SHIFT;
        budget->_acquired_before++;
        weir__turns_settle(&budget->_line, head, 0, after);
        if (WEIR__MUTANT(BUDGET_WAKES_ONE))
            break;
    }
    if (!budget->_line._head && budget->_debt == 0)
        state &= ~SLOW;
    weir__store64(&budget->_state, state);
    return full;
}

/* Inline and in this order, since it is a fifth of the fast path. */
static inline void fill_permit(struct weir_permit *permit, struct weir_budget *budget,
                               uint64_t change)
{
    permit->_budget = budget;
    permit->_change = change;
#ifdef WEIR_CHECKS
    permit->_tag = weir__tag_take(budget);
#endif
}

static void call(struct weir__turn *turn)
{
    struct weir_budget_waiter *waiter = waiter_of(turn);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (!turn->_result)
        fill_permit(&permit, waiter->_budget, units_of(waiter->_units) - ACQUIRED_ONE);
    waiter->_fn(waiter, turn->_result, permit);
}

/* Serves the line until it stands, releases the lock (which the caller holds), wakes and calls. */
static void serve_and_release(struct weir_budget *budget, struct weir__after *after)
{
    while (serve_line(budget, after)) {
        weir_lock_release(&budget->_lock);
        weir__after_run(after);
        weir_lock_acquire(&budget->_lock);
    }
    weir_lock_release(&budget->_lock);
    weir__after_run(after);
}

/* ---- acquiring ---- */

/* One compare-and-swap if the units are free and nobody waits. change is what the word loses: the
 * units, less the one that the count of permits gains. With no count at its top, a word that is
 * not below it has the units. For 0 units change wraps round to more than any word; what does not
 * fit into the units shows below them. Both fail here and are explained by the slow path. */
static inline bool take_fast(struct weir_budget *budget, uint64_t change)
{
    uint64_t state = weir__load64_relaxed(&budget->_state), next;
    while (likely(!(state & NOT_FAST) && !__builtin_sub_overflow(state, change, &next)))
        if (likely(weir__cas64(&budget->_state, &state, next)))
            return true;
    return false;
}

static int refuse_size(struct weir_budget *budget, uint64_t n)
{
    uint64_t capacity = capacity_of(budget);
    if (n == 0)
        return weir__fail(WEIR_E_INVALID, budget->_name,
                          "budget '$n': 0 units asked for, at least 1 is needed", 0, 0, 0);
    if (n > capacity)
        return weir__fail(WEIR_E_TOO_LARGE, budget->_name,
                          "budget '$n': $1 asked for, at most $2 can ever be granted", n, capacity,
                          0);
    return 0;
}

static int refuse_busy(struct weir_budget *budget, uint64_t n, uint64_t waiting)
{
    weir__count(&budget->_busy, 1);
    return weir__fail(WEIR_E_BUSY, budget->_name,
                      "budget '$n': $1 asked for, $2 free, $3 waiting; try again later", n,
                      available(weir__load64_relaxed(&budget->_state)), waiting);
}

/* Why a request that waited ended with nothing. */
static int refuse_waited(struct weir_budget *budget, uint64_t n, int error)
{
    uint64_t capacity = capacity_of(budget);
    switch (-error) {
    case WEIR_E_TIMEOUT:
        return weir__fail(WEIR_E_TIMEOUT, budget->_name,
                          "budget '$n': $1 of $2 asked for, not granted before the deadline", n,
                          capacity, 0);
    case WEIR_E_CANCELED:
        return weir__fail(WEIR_E_CANCELED, budget->_name,
                          "budget '$n': $1 of $2 asked for, canceled while waiting", n, capacity,
                          0);
    case WEIR_E_TOO_LARGE:
        return weir__fail(WEIR_E_TOO_LARGE, budget->_name,
                          "budget '$n': $1 asked for, resized to $2 while it waited", n, capacity,
                          0);
    default:
        return weir__fail(WEIR_E_INVALID, budget->_name,
                          "budget '$n': $1 of $2 asked for, would have to wait for ever; give a "
                          "deadline or a cancel token",
                          n, capacity, 0);
    }
}

/* Under the lock: takes n units if nobody waits and they are free; otherwise, if asked to, makes
 * sure that SLOW is set, in the same step that saw too few. */
static bool take_or_mark(struct weir_budget *budget, uint64_t n, bool mark)
{
    uint64_t state = weir__load64_relaxed(&budget->_state);
    for (;;) {
        uint64_t next;
        bool free = !(state & SLOW) || WEIR__MUTANT(BUDGET_BARGING);
        if (free && n <= available(state))
            next = state + ACQUIRED_ONE - (n << UNIT_SHIFT);
        else if (mark)
            next = state | SLOW;
        else
            return false;
        if (WEIR__MUTANT(BUDGET_NO_RECHECK) && next == (state | SLOW)) {
            weir__or64(&budget->_state, SLOW);
            return false;
        }
        if (weir__cas64(&budget->_state, &state, next))
            return next != (state | SLOW);
    }
}

__attribute__((noinline)) static int try_slow(struct weir_budget *budget, uint64_t change,
                                              struct weir_permit *ret_permit)
{
    uint64_t n = n_of(change + ACQUIRED_ONE);
    int error = refuse_size(budget, n);
    if (error)
        return error;
    weir_lock_acquire(&budget->_lock);
    fold_counts_if_full(budget);
    bool taken = take_or_mark(budget, n, false);
    uint64_t waiting = budget->_line._waiting;
    weir_lock_release(&budget->_lock);
    if (!taken)
        return refuse_busy(budget, n, waiting);
    fill_permit(ret_permit, budget, change);
    return 0;
}

int weir_budget_try(struct weir_budget *budget, uint64_t n, struct weir_permit *ret_permit)
{
    uint64_t units = units_of(n);
    if (!fits(units) || !take_fast(budget, units - ACQUIRED_ONE))
        return try_slow(budget, units - ACQUIRED_ONE, ret_permit);
    fill_permit(ret_permit, budget, units - ACQUIRED_ONE);
    return 0;
}

/* Takes the units (0), or joins the line (WEIR_BUDGET_QUEUED), or refuses (negative). */
static int take_or_join(struct weir_budget *budget, uint64_t n, struct weir_budget_waiter *waiter)
{
    weir_lock_acquire(&budget->_lock);
    fold_counts_if_full(budget);
    /* Under the lock, where the capacity stands still. */
    int result = refuse_size(budget, n);
    if (!result && budget->_line._waiting >= budget->_line._waiting_max)
        result = -WEIR_E_BUSY;
    if (!result && !take_or_mark(budget, n, true)) {
        weir__turns_append(&budget->_line, &waiter->_turn);
        result = WEIR_BUDGET_QUEUED;
    }
    uint64_t waiting = budget->_line._waiting;
    weir_lock_release(&budget->_lock);
    return result == -WEIR_E_BUSY ? refuse_busy(budget, n, waiting) : result;
}

/* The waiter comes back without having been signaled: leave the line, unless a grant was faster. */
static int leave_line(struct weir_budget *budget, struct weir_budget_waiter *waiter, int error)
{
    struct weir__after after;
    weir__after_init(&after);
    weir_lock_acquire(&budget->_lock);
    if (!weir__turns_leave(&budget->_line, &waiter->_turn, error)) {
        weir_lock_release(&budget->_lock);
        return WEIR__MUTANT(BUDGET_GRANT_LOST_ON_TIMEOUT) ? error : waiter->_turn._result;
    }
    if (WEIR__MUTANT(BUDGET_CANCELED_HEAD_WAKES_NOBODY) && budget->_line._head) {
        weir_lock_release(&budget->_lock);
        return error;
    }
    serve_and_release(budget, &after);
    return error;
}

__attribute__((noinline)) static int acquire_slow(struct weir_budget *budget, uint64_t change,
                                                  struct weir_permit *ret_permit,
                                                  const struct weir_deadline *deadline)
{
    uint64_t n = n_of(change + ACQUIRED_ONE);
    struct weir_budget_waiter waiter = {._units = n};
    if (!weir__deadline_has_end(deadline)) {
        int error = try_slow(budget, change, ret_permit);
        return error == -WEIR_E_BUSY ? refuse_waited(budget, n, -WEIR_E_INVALID) : error;
    }
    int result = take_or_join(budget, n, &waiter);
    if (result < 0)
        return result;
    if (result == WEIR_BUDGET_QUEUED) {
        int error = weir__turn_wait(&waiter._turn, deadline);
        error = error ? leave_line(budget, &waiter, error) : waiter._turn._result;
        if (error)
            return refuse_waited(budget, n, error);
    }
    fill_permit(ret_permit, budget, change);
    return 0;
}

int weir_budget_acquire(struct weir_budget *budget, uint64_t n, struct weir_permit *ret_permit,
                        const struct weir_deadline *deadline)
{
    uint64_t units = units_of(n);
    if (!fits(units) || !take_fast(budget, units - ACQUIRED_ONE))
        return acquire_slow(budget, units - ACQUIRED_ONE, ret_permit, deadline);
    fill_permit(ret_permit, budget, units - ACQUIRED_ONE);
    return 0;
}

int weir_budget_acquire_async(struct weir_budget *budget, uint64_t n,
                              struct weir_permit *ret_permit, struct weir_budget_waiter *waiter,
                              void (*fn)(struct weir_budget_waiter *waiter, int result,
                                         struct weir_permit permit))
{
    uint64_t units = units_of(n);
    if (fits(units) && take_fast(budget, units - ACQUIRED_ONE)) {
        fill_permit(ret_permit, budget, units - ACQUIRED_ONE);
        return 0;
    }
    memset(waiter, 0, sizeof(*waiter));
    waiter->_turn._call = call;
    waiter->_units = n;
    waiter->_budget = budget;
    waiter->_fn = fn;
    int result = take_or_join(budget, n, waiter);
    if (result == 0)
        fill_permit(ret_permit, budget, units_of(n) - ACQUIRED_ONE);
    return result;
}

bool weir_budget_cancel_async(struct weir_budget *budget, struct weir_budget_waiter *waiter)
{
    return leave_line(budget, waiter, -WEIR_E_CANCELED) == -WEIR_E_CANCELED;
}

/* ---- releasing ---- */

/* More came home than the capacity? A resize may be under way, so look again where it cannot. */
__attribute__((noinline, cold)) static void check_not_over(struct weir_budget *budget)
{
    weir_lock_acquire(&budget->_lock);
    bool over = weir_budget_available(budget) > capacity_of(budget);
    weir_lock_release(&budget->_lock);
    WEIR__ASSERT(!over, "budget", budget->_name, "more units released than were acquired");
}

__attribute__((noinline)) static void release_slow(struct weir_budget *budget, uint64_t n)
{
    struct weir__after after;
    weir__after_init(&after);
    weir_lock_acquire(&budget->_lock);
    fold_counts_if_full(budget);
    budget->_released_before++;
    uint64_t paid = n < budget->_debt ? n : budget->_debt;
    if (WEIR__MUTANT(BUDGET_DEBT_FORGOTTEN))
        paid = 0;
    budget->_debt -= paid;
    uint64_t home = (n - paid) << UNIT_SHIFT;
    uint64_t state = weir__add64(&budget->_state, home) + home;
    WEIR__ASSERT(state <= weir__load64_relaxed(&budget->_limit), "budget", budget->_name,
                 "more units released than were acquired");
    serve_and_release(budget, &after);
}

void weir_permit_release(struct weir_permit *permit)
{
    struct weir_budget *budget = permit->_budget;
    if (!budget)
        return;
    uint64_t change = permit->_change;
    weir__tag_return(permit->_tag, budget, "budget", budget->_name);
    permit->_budget = NULL;

    uint64_t state = weir__load64_relaxed(&budget->_state);
    if (WEIR__MUTANT(BUDGET_CHECK_THEN_ADD) && !(state & NOT_FAST)) {
        weir__add64(&budget->_state, change + ACQUIRED_ONE + RELEASED_ONE);
        return;
    }
    /* Once the units are home the budget may be gone: somebody may have waited for just that. */
    uint64_t limit = weir__load64_relaxed(&budget->_limit);
    while (likely(!(state & NOT_FAST))) {
        uint64_t next = state + change + ACQUIRED_ONE + RELEASED_ONE;
        if (likely(weir__cas64(&budget->_state, &state, next))) {
            if (__builtin_expect(next > limit, 0))
                check_not_over(budget);
            return;
        }
    }
    release_slow(budget, n_of(change + ACQUIRED_ONE));
}

uint64_t weir_permit_units(const struct weir_permit *permit)
{
    return permit->_budget ? n_of(permit->_change + ACQUIRED_ONE) : 0;
}

void weir_permit_move(struct weir_permit *to, struct weir_permit *from)
{
    WEIR__ASSERT(!to->_budget, "budget", to->_budget ? to->_budget->_name : "",
                 "a permit was moved onto one that is still held");
    *to = *from;
    *from = (struct weir_permit)WEIR_PERMIT_NONE;
}

/* ---- resizing and looking ---- */

/* Fails those in line who want more than there will ever be. True when wakes must be sent first. */
static bool fail_impossible(struct weir_budget *budget, struct weir__after *after)
{
    uint64_t capacity =
        capacity_of(budget); /* may have changed since the resize let go of the lock */
    struct weir__turn *next;
    for (struct weir__turn *turn = budget->_line._head; turn; turn = next) {
        next = turn->_next;
        if (waiter_of(turn)->_units <= capacity)
            continue;
        if (weir__wakes_is_full(&after->wakes))
            return true;
        weir__turns_settle(&budget->_line, turn, -WEIR_E_TOO_LARGE, after);
    }
    return false;
}

/* Takes as much of the cut as is free and owes the rest. Under the lock. */
static void shrink(struct weir_budget *budget, uint64_t cut)
{
    uint64_t state = weir__load64_relaxed(&budget->_state);
    uint64_t taken;
    do {
        taken = available(state) < cut ? available(state) : cut;
    } while (!weir__cas64(&budget->_state, &state,
                          (state - (taken << UNIT_SHIFT)) | (taken < cut ? SLOW : 0)));
    budget->_debt += cut - taken;
}

static void grow(struct weir_budget *budget, uint64_t more)
{
    uint64_t paid = more < budget->_debt ? more : budget->_debt;
    budget->_debt -= paid;
    weir__add64(&budget->_state, (more - paid) << UNIT_SHIFT);
}

int weir_budget_resize(struct weir_budget *budget, uint64_t capacity)
{
    if (capacity == 0 || capacity > WEIR_BUDGET_MAX)
        return weir__fail(WEIR_E_INVALID, budget->_name,
                          "budget '$n': a capacity of $1 was asked for, it may be 1 to $2",
                          capacity, WEIR_BUDGET_MAX, 0);
    struct weir__after after;
    weir__after_init(&after);
    weir_lock_acquire(&budget->_lock);
    uint64_t before = capacity_of(budget);
    /* Never fewer in _limit than may come home: raised before the units, lowered after them. */
    if (capacity >= before) {
        weir__store64(&budget->_limit, limit_of(capacity));
        grow(budget, capacity - before);
    } else {
        shrink(budget, before - capacity);
        weir__store64(&budget->_limit, limit_of(capacity));
    }
    while (fail_impossible(budget, &after)) {
        weir_lock_release(&budget->_lock);
        weir__after_run(&after);
        weir_lock_acquire(&budget->_lock);
    }
    serve_and_release(budget, &after);
    return 0;
}

void weir_budget_read(struct weir_budget *budget, struct weir_budget_stats *ret_stats)
{
    weir_lock_acquire(&budget->_lock);
    uint64_t state = fold_counts(budget); /* units and counts of one moment */
    *ret_stats = (struct weir_budget_stats){
        .capacity = capacity_of(budget),
        .available = available(state),
        .waiting = budget->_line._waiting,
        .acquired = budget->_acquired_before,
        .released = budget->_released_before,
        .enqueued = budget->_line._enqueued,
        .granted = budget->_line._granted,
        .canceled = budget->_line._canceled,
        .timed_out = budget->_line._timed_out,
        .refused = budget->_line._refused,
        .busy = weir__load64_relaxed(&budget->_busy),
    };
    ret_stats->in_use = ret_stats->capacity + budget->_debt - ret_stats->available;
    weir_histogram_read(&budget->_line._wait_ns, &ret_stats->wait_ns);
    weir_lock_release(&budget->_lock);
}

const char *weir_budget_name(const struct weir_budget *budget)
{
    return budget->_name;
}

uint64_t weir_budget_capacity(const struct weir_budget *budget)
{
    return capacity_of(budget);
}

uint64_t weir_budget_available(const struct weir_budget *budget)
{
    return available(weir__load64(&budget->_state));
}
