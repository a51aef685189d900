/* xp_engine.c - the search over all interleavings within a preemption bound.
 *
 * An execution runs the scenario from its start. Wherever there is more than one way to go on, the
 * way is taken from the trail, or is way 0 and noted there. After the execution the last choice
 * that has a way left is moved on by one, what follows it is cut off, and the next execution
 * starts: a depth-first search that keeps no states, only one trail. A trail is therefore all that
 * is needed to see a failure again.
 *
 * Way 0 is always to go on with the running thread. Running another while this one could go on is
 * a preemption, and an execution has only so many of them; a switch away from a thread that waits
 * or has ended is free. The bounds 0, 1, 2, ... are searched in turn, so the first failure that is
 * found needs the fewest preemptions.
 *
 * A time-out or a wake for no reason is a way like any other: "run that waiting thread, with this
 * result".
 */
#include "xp_engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "error.h"

struct xp_run xp;
static struct xp_scenario *scenarios;
static int mutant;

int xp_mutant(void)
{
    return mutant;
}

void xp_register(struct xp_scenario *scenario)
{
    struct xp_scenario **at = &scenarios;
    while (*at && strcmp((*at)->name, scenario->name) < 0)
        at = &(*at)->next;
    if (*at && strcmp((*at)->name, scenario->name) == 0) {
        fprintf(stderr, "explore: two scenarios are called '%s'\n", scenario->name);
        exit(2);
    }
    scenario->next = *at;
    *at = scenario;
}

struct xp_scenario *xp_scenarios(void)
{
    return scenarios;
}

/* --- ends ----------------------------------------------------------------------------------- */

static _Noreturn void leave(void)
{
    xp_fibre_switch(&xp__me()->fibre, &xp.driver);
    abort();
}

void xp_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(xp.message, sizeof(xp.message), format, args);
    va_end(args);
    xp.has_failed = true;
    XP__TRACE("fails: %s", xp.message);
    leave();
}

static _Noreturn void fail_deadlock(void)
{
    char waits[768];
    xp__describe_waits(waits, sizeof(waits));
    xp_fail("deadlock: nobody can run: %s", waits);
}

/* --- choices -------------------------------------------------------------------------------- */

unsigned xp__choose(unsigned count)
{
    if (count < 2)
        return 0;
    xp.is_invalid = count > UINT8_MAX || xp.trail_at == XP_TRAIL_MAX;
    if (xp.is_invalid)
        xp_fail("the scenario is too large: more than %d choices, or one of more than %d ways",
                XP_TRAIL_MAX, UINT8_MAX);
    struct xp_choice *choice = &xp.trail[xp.trail_at++];
    if (xp.trail_at > xp.trail_length) {
        *choice = (struct xp_choice){0, (uint8_t)count};
        xp.trail_length = xp.trail_at;
        return 0;
    }
    if (choice->count == 0)
        choice->count = (uint8_t)count;
    xp.is_invalid = choice->count != count || choice->chosen >= count;
    if (xp.is_invalid)
        xp_fail("the scenario is not deterministic, or the trail is of another one: choice %u has "
                "%u ways, and had %u",
                xp.trail_at, count, choice->count);
    return choice->chosen;
}

unsigned xp_choose(unsigned count)
{
    unsigned chosen = xp__choose(count);
    XP__TRACE("chooses %u of %u", chosen, count);
    return chosen;
}

/* Moves the trail on to the next execution; false when there is none. */
static bool trail_next(void)
{
    while (xp.trail_length > 0) {
        struct xp_choice *last = &xp.trail[xp.trail_length - 1];
        if (last->chosen + 1 < last->count) {
            last->chosen++;
            return true;
        }
        xp.trail_length--;
    }
    return false;
}

void xp_trail_print(char *text, size_t size)
{
    unsigned end = xp.trail_length;
    while (end > 0 && xp.trail[end - 1].chosen == 0)
        end--;
    size_t at = (size_t)snprintf(text, size, "%s", xp.has_release_points ? "r" : "");
    for (unsigned i = 0, run; i < end && at + 24 < size; i += run) {
        for (run = 1; i + run < end && xp.trail[i + run].chosen == xp.trail[i].chosen; run++) {}
        at += (size_t)snprintf(text + at, size - at, run > 1 ? "%s%u*%u" : "%s%u", i ? "." : "",
                               xp.trail[i].chosen, run);
    }
    if (end == 0)
        snprintf(text + at, size - at, "0");
}

static bool trail_parse(const char *text)
{
    xp.trail_length = 0;
    xp.has_release_points = *text == 'r';
    for (const char *p = text + xp.has_release_points; *p;) {
        char *end;
        unsigned long chosen = strtoul(p, &end, 10), run = 1;
        if (end == p || chosen > UINT8_MAX)
            return false;
        if (*end == '*') {
            p = end + 1;
            run = strtoul(p, &end, 10);
            if (end == p)
                return false;
        }
        if (run > XP_TRAIL_MAX - xp.trail_length || (*end != '.' && *end != '\0'))
            return false;
        while (run-- > 0)
            xp.trail[xp.trail_length++] = (struct xp_choice){(uint8_t)chosen, 0};
        p = *end ? end + 1 : end;
    }
    return true;
}

/* --- who runs next -------------------------------------------------------------------------- */

static bool can_run(const struct xp_thread *thread)
{
    switch (thread->state) {
    case XP_READY:
        return true;
    case XP_LOCK:
        return ((const struct weir_lock *)thread->waits_for)->_word == 0;
    case XP_JOIN:
        return xp.thread[thread->joins].state == XP_ENDED;
    case XP_AWAIT:
        return thread->ready(thread->ready_arg);
    default:
        return false;
    }
}

enum how { RUN, TIME_OUT, SPURIOUS };

struct ways {
    unsigned count;
    struct {
        uint8_t thread;
        uint8_t how;
    } way[2 + 3 * XP_FIBRES_MAX];
};

static void add_way(struct ways *ways, unsigned thread, enum how how)
{
    ways->way[ways->count].thread = (uint8_t)thread;
    ways->way[ways->count++].how = (uint8_t)how;
}

static void add_runnable(struct ways *ways, bool i_can)
{
    if (i_can)
        add_way(ways, xp.current, RUN);
    for (unsigned i = 0; i < xp.threads; i++)
        if ((i != xp.current || !i_can) && can_run(&xp.thread[i]))
            add_way(ways, i, RUN);
    if (xp.current != XP_MAIN && can_run(&xp.thread[XP_MAIN]))
        add_way(ways, XP_MAIN, RUN);
}

void xp__end_yields(void)
{
    for (unsigned i = 0; i < xp.threads; i++)
        if (i != xp.current && xp.thread[i].state == XP_YIELD)
            xp.thread[i].state = XP_READY;
}

static void add_waiting(struct ways *ways)
{
    for (unsigned i = 0; i < xp.threads; i++)
        if (xp.thread[i].state == XP_FUTEX && xp.thread[i].at_ns != WEIR_NEVER)
            add_way(ways, i, TIME_OUT);
    if (ways->count == 0) {
        xp__end_yields();
        if (xp__me()->state == XP_YIELD)
            xp__me()->state = XP_READY;
        add_runnable(ways, false);
    }
    /* A wake for no reason cannot be relied upon, so it is no way out of a deadlock. */
    for (unsigned i = 0; ways->count > 0 && xp.spurious_left > 0 && i < xp.threads; i++)
        if (xp.thread[i].state == XP_FUTEX)
            add_way(ways, i, SPURIOUS);
}

static void end_wait(unsigned index, enum how how)
{
    struct xp_thread *thread = &xp.thread[index];
    xp__progress();
    thread->state = XP_READY;
    thread->wait_result = how == TIME_OUT ? -WEIR_E_TIMEOUT : 0;
    if (how == SPURIOUS)
        xp.spurious_left--;
    else if (thread->at_ns > xp.now_ns)
        xp.now_ns = thread->at_ns;
    XP__TRACE("%s of %s ends: %s", "the wait", xp__who(index),
              how == TIME_OUT ? "time-out" : "for no reason");
}

void xp__schedule(void)
{
    unsigned from = xp.current;
    bool i_can = can_run(xp__me());
    xp__me()->is_fresh = false;
    if (++xp.steps > xp.steps_max)
        xp_fail("livelock: no end after %u steps", xp.steps_max);
    if (i_can && xp.preemptions == xp.bound)
        return;
    struct ways ways;
    ways.count = 0;
    add_runnable(&ways, i_can);
    add_waiting(&ways);
    if (ways.count == 0)
        fail_deadlock();
    unsigned chosen = xp__choose(ways.count);
    unsigned next = ways.way[chosen].thread;
    enum how how = ways.way[chosen].how;
    if (how != RUN)
        end_wait(next, how);
    if (next == from)
        return;
    if (i_can) {
        xp.preemptions++;
        XP__TRACE("is preempted by %s", xp__who(next));
    }
    xp.current = next;
    xp_fibre_switch(&xp.thread[from].fibre, &xp.thread[next].fibre);
}

void xp__point(void)
{
    if (!xp.is_concurrent)
        return;
    /* Nothing visible has happened since this thread was chosen, so choosing again would only
     * repeat the executions in which another was chosen in the first place. */
    if (xp__me()->is_fresh) {
        xp__me()->is_fresh = false;
        xp.steps++;
        return;
    }
    xp__schedule();
}

/* --- one execution -------------------------------------------------------------------------- */

static void thread_entry(void)
{
    struct xp_thread *me = xp__me();
    xp_fibre_entered(&me->fibre);
    xp__point(); /* what a thread reads before its first operation may be old by then */
    me->fn(me->arg);
    if (me->held_count > 0)
        xp_fail("a thread ends while it holds the lock '%s'", me->held[0]->_class->name);
    XP__TRACE("ends");
    xp__progress();
    me->state = XP_ENDED;
    xp__schedule();
    abort();
}

int xp__thread_add(void (*fn)(void *arg), void *arg)
{
    if (xp.threads == XP_THREADS_MAX)
        return -1;
    struct xp_thread *thread = &xp.thread[xp.threads];
    struct xp_fibre fibre = thread->fibre;
    *thread = (struct xp_thread){.fibre = fibre, .fn = fn, .arg = arg, .at_ns = WEIR_NEVER};
    xp__progress();
    thread->state = XP_READY;
    thread->is_fresh = true;
    xp_fibre_reset(&thread->fibre, thread_entry);
    return (int)xp.threads++;
}

static void call(void *arg)
{
    void (*const *fn)(void) = arg;
    (*fn)();
}

static bool have_all_ended(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < xp.threads; i++)
        if (xp.thread[i].state != XP_ENDED && !xp.thread[i].is_abandoned)
            return false;
    return true;
}

static void main_entry(void)
{
    const struct xp_scenario *scenario = xp.scenario;
    xp_fibre_entered(&xp__me()->fibre);
    if (scenario->state)
        memset(scenario->state, 0, scenario->state_size);
    if (scenario->setup)
        scenario->setup();
    for (unsigned i = 0; i < XP_THREADS_MAX && scenario->threads[i]; i++) {
        union {
            void (*const *in)(void);
            void *out;
        } entry = {.in = &scenario->threads[i]};
        xp__thread_add(call, entry.out);
    }
    xp.is_concurrent = true;
    xp__me()->ready = have_all_ended;
    xp__me()->state = XP_AWAIT;
    xp__schedule();
    xp.is_concurrent = false;
    xp__me()->state = XP_READY;
    for (unsigned i = 0; i < XP_FIBRES_MAX; i++)
        xp__drain(i);
    if (scenario->check)
        scenario->check();
    leave();
}

static void execute(void)
{
    const struct xp_scenario *scenario = xp.scenario;
    xp.threads = 0;
    xp.is_concurrent = false;
    xp.preemptions = 0;
    xp.spurious_left = scenario->spurious;
    xp.faults_left = scenario->faults;
    xp.steps = 0;
    xp.steps_max = scenario->steps_max ? scenario->steps_max : XP_STEPS_DEFAULT;
    xp.now_ns = XP_START_NS;
    xp.arrivals = 0;
    xp.yields = 0;
    xp.has_failed = false;
    xp.is_invalid = false;
    xp.trail_at = 0;
    xp__names_reset();
    struct xp_thread *main_thread = &xp.thread[XP_MAIN];
    struct xp_fibre fibre = main_thread->fibre;
    *main_thread = (struct xp_thread){.fibre = fibre, .at_ns = WEIR_NEVER};
    main_thread->state = XP_READY;
    xp_fibre_reset(&main_thread->fibre, main_entry);
    xp.current = XP_MAIN;
    xp_fibre_switch(&xp.driver, &main_thread->fibre);
}

/* --- whole searches ------------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void report_failure(struct xp_result *result)
{
    result->has_failed = true;
    result->is_invalid = xp.is_invalid;
    memcpy(result->message, xp.message, sizeof(result->message));
    xp_trail_print(result->trail, sizeof(result->trail));
}

static unsigned bound_of(const struct xp_scenario *scenario, const struct xp_options *options)
{
    if (options->bound || options->is_bound_given)
        return options->bound;
    if (options->is_tso && scenario->tso_bound)
        return scenario->tso_bound;
    return scenario->bound ? scenario->bound : XP_BOUND_DEFAULT;
}

static void map_stacks(void)
{
    if (xp.thread[0].fibre.stack)
        return;
    for (unsigned i = 0; i < XP_FIBRES_MAX; i++)
        xp_fibre_map(&xp.thread[i].fibre);
    xp_fibre_adopt(&xp.driver);
}

static void prepare(const struct xp_scenario *scenario, const struct xp_options *options,
                    struct xp_result *result)
{
    map_stacks();
    memset(result, 0, sizeof(*result));
    xp.scenario = scenario;
    xp.is_tso = options->is_tso;
    xp.is_traced = false;
    xp.wants_release_points = false;
    xp.trail_length = 0;
    mutant = options->mutant;
}

/* All executions with xp.bound; false when a limit of the options ended it early. */
static bool search(const struct xp_options *options, double start, struct xp_result *result)
{
    xp.trail_length = 0;
    do {
        execute();
        result->executions++;
        if (xp.has_failed)
            return true;
        if (xp.wants_release_points && !xp.has_release_points) {
            xp.has_release_points = true;
            xp.trail_length = 0;
            continue;
        }
        if (options->executions_max && result->executions >= options->executions_max)
            return !trail_next();
        if (options->seconds_max > 0 && result->executions % 1024 == 0 &&
            seconds_now() - start > options->seconds_max)
            return !trail_next();
        if (!trail_next())
            return true;
    } while (true);
}

void xp_explore(const struct xp_scenario *scenario, const struct xp_options *options,
                struct xp_result *ret_result)
{
    struct xp_result *result = ret_result;
    unsigned bound_max = bound_of(scenario, options);
    double start = seconds_now();
    prepare(scenario, options, result);
    xp.has_release_points = false;
    bool is_whole = true;
    for (xp.bound = 0; xp.bound <= bound_max && is_whole; xp.bound++) {
        is_whole = search(options, start, result);
        if (is_whole)
            result->bound_reached = xp.bound;
        if (xp.has_failed) {
            report_failure(result);
            break;
        }
    }
    result->is_exhaustive = is_whole && !result->has_failed;
    result->seconds = seconds_now() - start;
}

bool xp_replay(const struct xp_scenario *scenario, const struct xp_options *options,
               const char *trail, bool is_traced, struct xp_result *ret_result)
{
    prepare(scenario, options, ret_result);
    if (!trail_parse(trail))
        return false;
    xp.bound = options->bound;
    xp.is_traced = is_traced;
    execute();
    xp.is_traced = false;
    ret_result->executions = 1;
    if (xp.has_failed)
        report_failure(ret_result);
    return true;
}
