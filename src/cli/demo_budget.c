/* demo_budget.c - a flood of small requests, and one for everything.
 *
 * The large request is a waiter with a callback, so that the number served can be read when it has
 * joined the line for certain. From then on each thread of the flood can be served at most once
 * before it: whoever comes back stands behind. That is what the promise counts.
 */
#include "demo.h"

#include <stdio.h>
#include <string.h>

#include <weir/budget.h>
#include <weir/metrics.h>

#include "banned.h"

#define CAPACITY   4
#define THREADS    8
#define FLOOD_NS   (100 * WEIR_NS_PER_MS)
#define HOLD_NS    WEIR_NS_PER_MS
#define LIMIT_NS   (3 * WEIR_NS_PER_S)
#define EXPORT_MAX 16384
#define SEED       UINT64_C(0x9e3779b97f4a7c15)

struct flood {
    struct weir_budget budget;
    struct weir_lock lock; /* guards what follows */
    uint64_t served;
    uint64_t out;
    uint64_t out_most;
};

struct member {
    struct flood *flood;
    uint64_t seed;
};

/* The request for everything. */
struct whole {
    struct weir_budget_waiter waiter; /* first, so that the callback finds the rest */
    struct flood *flood;
    struct weir_permit permit;
    struct weir_cancel granted; /* fires when it has its units */
    uint64_t asked_ns;
    uint64_t granted_ns;
    uint64_t served_at_join;
    uint64_t served_at_grant;
};

static void count_out(struct flood *flood, uint64_t units)
{
    weir_lock_acquire(&flood->lock);
    flood->served += units == 1;
    flood->out += units;
    if (flood->out > flood->out_most)
        flood->out_most = flood->out;
    weir_lock_release(&flood->lock);
}

static void count_in(struct flood *flood, uint64_t units)
{
    weir_lock_acquire(&flood->lock);
    flood->out -= units;
    weir_lock_release(&flood->lock);
}

static uint64_t served(struct flood *flood)
{
    weir_lock_acquire(&flood->lock);
    uint64_t count = flood->served;
    weir_lock_release(&flood->lock);
    return count;
}

/* Asks for one unit, uses it for one to three milliseconds, and asks again. */
static int run_member(struct weir_crew_self *self, void *arg)
{
    struct member *member = arg;
    struct flood *flood = member->flood;
    const struct weir_deadline deadline = weir_deadline_until(self->stop);
    while (!weir_cancel_is_fired(self->stop)) {
        WEIR_CLEANUP(weir_permit_release)
        struct weir_permit permit = WEIR_PERMIT_NONE;
        if (weir_budget_acquire(&flood->budget, 1, &permit, &deadline))
            break;
        count_out(flood, 1);
        demo_pause((1 + demo_random(&member->seed) % 3) * HOLD_NS, self->stop);
        count_in(flood, 1);
    }
    return 0;
}

static void on_granted(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    struct whole *whole = (struct whole *)waiter;
    (void)result; /* 0: the budget is not resized */
    whole->permit = permit;
    whole->granted_ns = weir_now_ns();
    whole->served_at_grant = served(whole->flood);
    weir_cancel_fire(&whole->granted);
}

/* Asks for all units and returns when they are held, or with an error. */
static int take_whole(struct whole *whole)
{
    struct flood *flood = whole->flood;
    whole->asked_ns = weir_now_ns();
    int result = weir_budget_acquire_async(&flood->budget, CAPACITY, &whole->permit, &whole->waiter,
                                           on_granted);
    whole->served_at_join = served(flood);
    if (result == 0) {
        whole->granted_ns = weir_now_ns();
        whole->served_at_grant = whole->served_at_join;
    }
    if (result != WEIR_BUDGET_QUEUED)
        return result;
    demo_pause(LIMIT_NS, &whole->granted);
    if (weir_cancel_is_fired(&whole->granted))
        return 0;
    if (weir_budget_cancel_async(&flood->budget, &whole->waiter))
        return -WEIR_E_TIMEOUT;
    demo_pause(LIMIT_NS, &whole->granted);
    return 0;
}

static void tell_whole(struct demo *demo, const struct whole *whole, uint64_t begun_ns,
                       uint64_t total)
{
    uint64_t asked_ns = whole->asked_ns - begun_ns;
    uint64_t waited_ns = whole->granted_ns - whole->asked_ns;
    uint64_t meanwhile = whole->served_at_grant - whole->served_at_join;
    uint64_t after = total - whole->served_at_grant;
    demo_say(demo,
             "%d threads ask for 1 of the %d units of the budget 'tickets', use it for 1 to 3 ms, "
             "and ask again. After %.1f ms, when %llu requests had been served, one came that "
             "wants all %d.",
             THREADS, CAPACITY, demo_ms(asked_ns), (unsigned long long)whole->served_at_join,
             CAPACITY);
    demo_say(demo,
             "It joined the line. %llu that were there before it were served first, and it held "
             "all %d units after %.1f ms. Another %llu small ones followed it.",
             (unsigned long long)meanwhile, CAPACITY, demo_ms(waited_ns),
             (unsigned long long)after);
    demo_number(demo, "capacity", CAPACITY);
    demo_number(demo, "threads", THREADS);
    demo_milliseconds(demo, "asked_after_ms", asked_ns);
    demo_number(demo, "served_before", whole->served_at_join);
    demo_number(demo, "served_while_waiting", meanwhile);
    demo_number(demo, "served_after", after);
    demo_milliseconds(demo, "waited_ms", waited_ns);
    demo_promise(demo, meanwhile <= THREADS,
                 "nobody overtook it: %llu served before it, at most %d could be in line",
                 (unsigned long long)meanwhile, THREADS);
}

/* More than there is at all: waiting would have no end, so there is none. */
static void ask_too_much(struct demo *demo, struct flood *flood)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    const struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    uint64_t begun_ns = weir_now_ns();
    int error = weir_budget_acquire(&flood->budget, CAPACITY + 1, &permit, &deadline);
    uint64_t took_ns = weir_now_ns() - begun_ns;
    weir_permit_release(&permit);
    demo_say(demo,
             "Then one asks for %d of %d. It could wait for ever; the answer came in %.1f us:",
             CAPACITY + 1, CAPACITY, (double)took_ns / (double)WEIR_NS_PER_US);
    demo_quote(demo, error);
    demo_refusal(demo, "too_large", error);
    demo_milliseconds(demo, "refused_after_ms", took_ns);
    demo_promise(demo, error == -WEIR_E_TOO_LARGE, "what can never be granted is refused at once");
}

static void tell_balance(struct demo *demo, struct flood *flood)
{
    struct weir_budget_stats stats;
    weir_budget_read(&flood->budget, &stats);
    demo_number(demo, "most_in_use", flood->out_most);
    demo_promise(demo, flood->out_most <= CAPACITY,
                 "never more than %d units were out: %llu at most, counted by those who held them",
                 CAPACITY, (unsigned long long)flood->out_most);
    demo_promise(demo, stats.acquired == stats.released && stats.in_use == 0,
                 "every permit came home: %llu given, %llu returned",
                 (unsigned long long)stats.acquired, (unsigned long long)stats.released);
    demo_object(demo,
                &(struct demo_object){"budget", "tickets", stats.capacity, stats.acquired,
                                      stats.released, stats.enqueued, stats.busy + stats.refused});
}

static void metrics_end(struct weir_metrics **metrics)
{
    weir_metrics_free(*metrics);
}

/* How many samples a text for Prometheus has: the lines that are no comments. */
static uint64_t count_samples(const char *text)
{
    uint64_t samples = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        samples += *line != '#';
    return samples;
}

/* What a monitoring system would read about the budget, and whether it is the same. */
static int export(struct demo *demo, struct flood *flood)
{
    WEIR_CLEANUP(metrics_end)
    struct weir_metrics *metrics = NULL;
    const struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    char text[EXPORT_MAX], sample[DEMO_TEXT_MAX];
    size_t size;
    int error = weir_metrics_new(&metrics, "demo", NULL);
    if (!error)
        error = weir_metrics_add_budget(metrics, &flood->budget);
    if (!error)
        error = weir_metrics_write_buffer(metrics, text, sizeof(text), &size, &deadline);
    if (error)
        return demo_failed("export the metrics", error);
    struct weir_budget_stats stats;
    weir_budget_read(&flood->budget, &stats);
    snprintf(sample, sizeof(sample), "weir_budget_acquired_total{budget=\"tickets\"} %llu",
             (unsigned long long)stats.acquired);
    demo_say(demo, "Prometheus would read %llu samples about this budget, among them:",
             (unsigned long long)count_samples(text));
    demo_show(demo, sample);
    demo_number(demo, "samples", count_samples(text));
    demo_promise(demo, strstr(text, sample) != NULL, "what is exported is what was counted");
    return 0;
}

static int show(struct demo *demo, struct flood *flood, struct whole *whole)
{
    struct member members[THREADS];
    WEIR_CLEANUP(demo_crew_end)
    struct weir_crew *crew = NULL;
    int error = demo_crew_new(&crew, "flood");
    uint64_t begun_ns = weir_now_ns();
    for (unsigned i = 0; i < THREADS && !error; i++) {
        members[i] = (struct member){flood, SEED + i};
        error = weir_crew_start(crew, "flood", run_member, &members[i]);
    }
    if (error)
        return demo_failed("start the flood", error);
    demo_pause(FLOOD_NS, NULL);
    error = take_whole(whole);
    if (error)
        return demo_failed("take the whole budget", error);
    count_out(flood, CAPACITY);
    demo_pause(HOLD_NS, NULL);
    count_in(flood, CAPACITY);
    weir_permit_release(&whole->permit);
    demo_pause(FLOOD_NS, NULL);
    demo_crew_end(&crew);
    tell_whole(demo, whole, begun_ns, flood->served);
    ask_too_much(demo, flood);
    tell_balance(demo, flood);
    return export(demo, flood);
}

int demo_budget(struct demo *demo)
{
    struct flood flood = {.served = 0};
    int error = weir_budget_init(&flood.budget, "tickets", CAPACITY);
    if (error)
        return demo_failed("make a budget", error);
    weir_lock_init(&flood.lock, &demo_lock_class);
    struct whole whole = {.flood = &flood};
    weir_cancel_init(&whole.granted, NULL);
    error = show(demo, &flood, &whole); /* ends the crew, so nobody fires the token any more */
    weir_cancel_fini(&whole.granted);
    weir_lock_fini(&flood.lock);
    weir_budget_fini(&flood.budget);
    return error;
}
