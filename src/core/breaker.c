/* breaker.c - Closed, Open, HalfOpen.
 *
 * State: everything is under one lock. `moves` below says which state may follow which, and every
 * move goes through move(), which checks it, begins a new generation and forgets window and probes.
 *
 * The window is a ring of buckets; bucket number t / bucket_ns stands at that number modulo the
 * ring. Before it is used, buckets that have become too old are emptied and taken off the sum, so
 * a report costs a few additions however long the pause was.
 *
 * Happy path, Closed: allow hands out the generation; report adds to the newest bucket and compares
 * the sums with the threshold.
 *
 * HalfOpen: a probe holds one of half_open_probes slots, with a serial number that its ticket
 * carries too. Good + bad + out never exceeds the number of slots. A slot whose time is over is
 * given to the next call that finds no other; the old ticket's serial then no longer fits.
 *
 * Failure modes: a ticket of an older generation, or of a slot that was passed on, is stale and
 * counts for nothing. A ticket that is never reported costs nothing in Closed, and in HalfOpen
 * holds its slot until it is overdue.
 */
#include <weir/breaker.h>

#include <string.h>

#include "assert.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"

static const struct weir_lock_class breaker_class = {"breaker", WEIR__RANK_BREAKER};

static const struct {
    const char *name;
    bool may_become[WEIR_BREAKER_STATES];
} moves[WEIR_BREAKER_STATES] = {
    [WEIR_BREAKER_CLOSED] = {"closed", {[WEIR_BREAKER_OPEN] = true}},
    [WEIR_BREAKER_OPEN] = {"open", {[WEIR_BREAKER_HALF_OPEN] = true}},
    [WEIR_BREAKER_HALF_OPEN] = {"half_open",
                                {[WEIR_BREAKER_CLOSED] = true, [WEIR_BREAKER_OPEN] = true}},
};

/* ---- life cycle ---- */

static void fill_in_defaults(struct weir_breaker_options *options)
{
    if (!options->window_ns)
        options->window_ns = WEIR_BREAKER_WINDOW_DEFAULT_NS;
    if (!options->buckets)
        options->buckets = WEIR_BREAKER_BUCKETS_DEFAULT;
    if (!options->trip_permille)
        options->trip_permille = WEIR_BREAKER_TRIP_PERMILLE_DEFAULT;
    if (!options->calls_min)
        options->calls_min = WEIR_BREAKER_CALLS_MIN_DEFAULT;
    if (!options->half_open_probes)
        options->half_open_probes = WEIR_BREAKER_PROBES_DEFAULT;
    if (!options->cooldown_ns)
        options->cooldown_ns = WEIR_BREAKER_COOLDOWN_DEFAULT_NS;
    if (!options->probe_deadline_ns)
        options->probe_deadline_ns = WEIR_BREAKER_PROBE_DEADLINE_DEFAULT_NS;
}

static int refuse_options(const char *name, const struct weir_breaker_options *options)
{
    if (options->buckets > WEIR_BREAKER_BUCKETS_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "breaker '$n': $1 buckets were asked for, it may be 1 to $2",
                          options->buckets, WEIR_BREAKER_BUCKETS_MAX, 0);
    if (options->window_ns < options->buckets)
        return weir__fail(WEIR_E_INVALID, name,
                          "breaker '$n': a window of $t1 cannot be cut into $2 buckets",
                          options->window_ns, options->buckets, 0);
    if (options->trip_permille > 999)
        return weir__fail(WEIR_E_INVALID, name,
                          "breaker '$n': it would never open above $1 in 1000, it may be 1 to 999",
                          options->trip_permille, 0, 0);
    if (options->half_open_probes > WEIR_BREAKER_PROBES_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "breaker '$n': $1 probes were asked for, it may be 1 to $2",
                          options->half_open_probes, WEIR_BREAKER_PROBES_MAX, 0);
    return 0;
}

int weir_breaker_init(struct weir_breaker *breaker, const char *name,
                      const struct weir_breaker_options *options)
{
    struct weir_breaker fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (error)
        return error;
    if (options)
        fresh._options = *options;
    fill_in_defaults(&fresh._options);
    error = refuse_options(name, &fresh._options);
    if (error)
        return error;
    weir_lock_init(&fresh._lock, &breaker_class);
    fresh._entered[WEIR_BREAKER_CLOSED] = 1;
    *breaker = fresh;
    return 0;
}

void weir_breaker_fini(struct weir_breaker *breaker)
{
    if (!breaker || !breaker->_options.buckets)
        return;
    weir_lock_fini(&breaker->_lock);
    breaker->_options.buckets = 0;
}

/* ---- under the lock ---- */

static void move(struct weir_breaker *breaker, enum weir_breaker_state state)
{
    WEIR__ASSERT(moves[breaker->_state].may_become[state], "breaker", breaker->_name,
                 "a move that the table of moves does not have");
    breaker->_state = state;
    breaker->_generation++;
    breaker->_entered[state]++;
    memset(breaker->_bucket, 0, sizeof(breaker->_bucket));
    memset(&breaker->_window, 0, sizeof(breaker->_window));
    memset(breaker->_probe, 0, sizeof(breaker->_probe));
    breaker->_probes_out = breaker->_probes_good = breaker->_probes_bad = 0;
}

static void open_at(struct weir_breaker *breaker, uint64_t now_ns)
{
    move(breaker, WEIR_BREAKER_OPEN);
    breaker->_opened_ns = now_ns;
}

static bool is_above_trip(const struct weir_breaker *breaker, uint64_t failures, uint64_t calls)
{
    return failures * 1000 > calls * breaker->_options.trip_permille;
}

/* The newest bucket, after the old ones have been emptied. */
static struct weir_breaker_bucket *bucket_at(struct weir_breaker *breaker, uint64_t now_ns)
{
    uint32_t count = breaker->_options.buckets;
    uint64_t number = now_ns / (breaker->_options.window_ns / count);
    uint64_t passed = number > breaker->_bucket_number ? number - breaker->_bucket_number : 0;
    for (uint64_t i = 1; i <= passed && i <= count; i++) {
        struct weir_breaker_bucket *old = &breaker->_bucket[(breaker->_bucket_number + i) % count];
        breaker->_window._calls -= old->_calls;
        breaker->_window._failures -= old->_failures;
        memset(old, 0, sizeof(*old));
    }
    breaker->_bucket_number += passed;
    return &breaker->_bucket[breaker->_bucket_number % count];
}

static void count_in_window(struct weir_breaker *breaker, bool has_failed, uint64_t now_ns)
{
    struct weir_breaker_bucket *bucket = bucket_at(breaker, now_ns);
    bucket->_calls++;
    breaker->_window._calls++;
    bucket->_failures += has_failed;
    breaker->_window._failures += has_failed;
    if (breaker->_window._calls >= breaker->_options.calls_min &&
        is_above_trip(breaker, breaker->_window._failures, breaker->_window._calls))
        open_at(breaker, now_ns);
}

static void count_probe(struct weir_breaker *breaker, bool has_failed, uint64_t now_ns)
{
    uint32_t probes = breaker->_options.half_open_probes;
    breaker->_probes_good += !has_failed;
    breaker->_probes_bad += has_failed;
    if (is_above_trip(breaker, breaker->_probes_bad, probes))
        open_at(breaker, now_ns);
    else if (breaker->_probes_good + breaker->_probes_bad == probes)
        move(breaker, WEIR_BREAKER_CLOSED);
}

/* Slots are used again after a report, so it is the results that say whether more is wanted. */
static bool wants_probe(const struct weir_breaker *breaker)
{
    return breaker->_probes_out + breaker->_probes_good + breaker->_probes_bad <
           breaker->_options.half_open_probes;
}

/* The probe that is or will be overdue first. There is one out whenever no more are wanted: with
 * all results in, the state has moved on. */
static struct weir_breaker_probe *oldest_probe(struct weir_breaker *breaker)
{
    struct weir_breaker_probe *oldest = NULL;
    for (uint32_t i = 0; i < breaker->_options.half_open_probes; i++) {
        struct weir_breaker_probe *probe = &breaker->_probe[i];
        if (probe->_serial && (!oldest || probe->_at_ns < oldest->_at_ns))
            oldest = probe;
    }
    return oldest;
}

static struct weir_breaker_probe *free_probe(struct weir_breaker *breaker)
{
    struct weir_breaker_probe *probe = breaker->_probe;
    while (probe->_serial)
        probe++;
    return probe;
}

/* How long until a call can pass, when everything stays as it is. */
static uint64_t delay_ns(struct weir_breaker *breaker, uint64_t now_ns)
{
    uint64_t at_ns = 0;
    if (breaker->_state == WEIR_BREAKER_OPEN)
        at_ns = weir_time_add(breaker->_opened_ns, breaker->_options.cooldown_ns);
    else if (breaker->_state == WEIR_BREAKER_HALF_OPEN && !wants_probe(breaker))
        at_ns = oldest_probe(breaker)->_at_ns;
    return at_ns > now_ns ? at_ns - now_ns : 0;
}

static void free_slot(struct weir_breaker *breaker, struct weir_breaker_probe *probe)
{
    probe->_serial = 0;
    breaker->_probes_out--;
}

/* A permit for one more probe: a free one, or that of a probe that is overdue. */
static bool start_probe(struct weir_breaker *breaker, struct weir_breaker_ticket *ticket,
                        uint64_t now_ns)
{
    if (!wants_probe(breaker)) {
        struct weir_breaker_probe *oldest = oldest_probe(breaker);
        if (oldest->_at_ns > now_ns || WEIR__MUTANT(BREAKER_OVERDUE_KEEPS_PERMIT))
            return false;
        free_slot(breaker, oldest);
        breaker->_probes_overdue++;
    }
    struct weir_breaker_probe *probe = free_probe(breaker);
    probe->_serial = ++breaker->_serial;
    probe->_at_ns = weir_time_add(now_ns, breaker->_options.probe_deadline_ns);
    breaker->_probes_out++;
    breaker->_probes_started++;
    ticket->_serial = probe->_serial;
    ticket->_slot = (uint32_t)(probe - breaker->_probe);
    return true;
}

/* ---- calls ---- */

/* Fills the ticket in if the call may be made. Under the lock. */
static bool decide(struct weir_breaker *breaker, struct weir_breaker_ticket *ticket,
                   uint64_t now_ns)
{
    if (breaker->_state == WEIR_BREAKER_OPEN && delay_ns(breaker, now_ns) == 0)
        move(breaker, WEIR_BREAKER_HALF_OPEN);
    bool is_allowed = breaker->_state == WEIR_BREAKER_CLOSED;
    if (breaker->_state == WEIR_BREAKER_HALF_OPEN)
        is_allowed = start_probe(breaker, ticket, now_ns);
    ticket->_breaker = breaker;
    ticket->_generation = breaker->_generation;
    return is_allowed;
}

int weir_breaker_allow(struct weir_breaker *breaker, struct weir_breaker_ticket *ret_ticket)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    weir_lock_acquire(&breaker->_lock);
    uint64_t now_ns = weir_now_ns();
    bool is_allowed = decide(breaker, &ticket, now_ns);
    uint64_t wait_ns = is_allowed ? 0 : delay_ns(breaker, now_ns);
    uint64_t probes_out = breaker->_probes_out;
    if (is_allowed)
        breaker->_allowed++;
    else
        breaker->_rejected++;
    weir_lock_release(&breaker->_lock);
    if (!is_allowed)
        return weir__fail(WEIR_E_BREAKER_OPEN, breaker->_name,
                          "breaker '$n': the target is left alone, next probe in $t1, $2 out",
                          wait_ns, probes_out, 0);
    *ret_ticket = ticket;
    return 0;
}

/* Whether what this ticket has to say is about the present. Under the lock. */
static bool is_current(const struct weir_breaker *breaker, const struct weir_breaker_ticket *ticket)
{
    if (ticket->_generation != breaker->_generation && !WEIR__MUTANT(BREAKER_STALE_COUNTED))
        return false;
    return breaker->_state == WEIR_BREAKER_CLOSED ||
           (ticket->_serial && breaker->_probe[ticket->_slot]._serial == ticket->_serial);
}

static void count(struct weir_breaker *breaker, const struct weir_breaker_ticket *ticket,
                  enum weir_breaker_outcome outcome, uint64_t now_ns)
{
    bool is_probe = breaker->_state == WEIR_BREAKER_HALF_OPEN;
    bool has_failed = outcome == WEIR_BREAKER_FAILURE;
    if (is_probe &&
        !(outcome == WEIR_BREAKER_CANCELED && WEIR__MUTANT(BREAKER_CANCELED_KEEPS_PERMIT)))
        free_slot(breaker, &breaker->_probe[ticket->_slot]);
    if (outcome == WEIR_BREAKER_CANCELED) {
        breaker->_canceled++;
        return;
    }
    breaker->_successes += !has_failed;
    breaker->_failures += has_failed;
    if (is_probe)
        count_probe(breaker, has_failed, now_ns);
    else
        count_in_window(breaker, has_failed, now_ns);
}

void weir_breaker_report(struct weir_breaker_ticket *ticket, enum weir_breaker_outcome outcome)
{
    struct weir_breaker *breaker = ticket->_breaker;
    if (!breaker)
        return;
    WEIR__ASSERT((unsigned)outcome <= WEIR_BREAKER_CANCELED, "breaker", breaker->_name,
                 "an outcome that is none of success, failure and canceled");
    weir_lock_acquire(&breaker->_lock);
    uint64_t now_ns = weir_now_ns();
    if (is_current(breaker, ticket))
        count(breaker, ticket, outcome, now_ns);
    else
        breaker->_stale++;
    weir_lock_release(&breaker->_lock);
    *ticket = (struct weir_breaker_ticket)WEIR_BREAKER_TICKET_NONE;
}

void weir_breaker_cancel(struct weir_breaker_ticket *ticket)
{
    weir_breaker_report(ticket, WEIR_BREAKER_CANCELED);
}

/* ---- looking ---- */

uint64_t weir_breaker_delay_ns(struct weir_breaker *breaker)
{
    weir_lock_acquire(&breaker->_lock);
    uint64_t wait_ns = delay_ns(breaker, weir_now_ns());
    weir_lock_release(&breaker->_lock);
    return wait_ns;
}

void weir_breaker_read(struct weir_breaker *breaker, struct weir_breaker_stats *ret_stats)
{
    weir_lock_acquire(&breaker->_lock);
    (void)bucket_at(breaker, weir_now_ns());
    *ret_stats = (struct weir_breaker_stats){
        .state = breaker->_state,
        .generation = breaker->_generation,
        .window_calls = breaker->_window._calls,
        .window_failures = breaker->_window._failures,
        .probes_out = breaker->_probes_out,
        .allowed = breaker->_allowed,
        .rejected = breaker->_rejected,
        .successes = breaker->_successes,
        .failures = breaker->_failures,
        .canceled = breaker->_canceled,
        .stale = breaker->_stale,
        .probes_started = breaker->_probes_started,
        .probes_overdue = breaker->_probes_overdue,
    };
    memcpy(ret_stats->entered, breaker->_entered, sizeof(ret_stats->entered));
    weir_lock_release(&breaker->_lock);
}

const char *weir_breaker_name(const struct weir_breaker *breaker)
{
    return breaker->_name;
}

const char *weir_breaker_state_name(enum weir_breaker_state state)
{
    return (unsigned)state < WEIR_BREAKER_STATES ? moves[state].name : "unknown";
}
