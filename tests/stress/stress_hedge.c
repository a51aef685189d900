/* Hedged calls under real threads: targets that answer, fail, dawdle, or wait to be canceled. */
#include "stress.h"

#include <weir/hedge.h>
#include <weir/queue.h>

#include "atomic.h"

#define CALLERS 3
#define SERVERS 3
#define TARGETS 5

struct shared {
    struct weir_hedge hedge;
    struct weir_queue queue; /* of attempts, for the servers */
    uint32_t callers;        /* still at it */
    uint64_t made, taken;    /* answers */
    uint64_t starts;
};

static struct shared shared;

/* A refused attempt is an attempt that failed at once. */
static int start(void *arg, struct weir_hedge_attempt *attempt)
{
    (void)arg;
    weir__count(&shared.starts, 1);
    return weir_queue_try_send(&shared.queue, &attempt);
}

/* An answer is memory: lost or taken twice is for the sanitizers to find. */
static void discard(void *answer)
{
    weir__count(&shared.taken, 1);
    free(answer);
}

static const struct weir_hedge_ops ops = {start, discard};

static void serve(struct weir_hedge_attempt *attempt, uint64_t dice)
{
    struct weir_deadline lost = weir_deadline_until(attempt->deadline.cancel);
    struct weir_deadline moment = weir_deadline_in(dice / 8 % 100000, attempt->deadline.cancel);
    switch (dice % 8) {
    case 0:
        weir_hedge_report(attempt, -WEIR_E_TRANSIENT, NULL);
        return;
    case 1: /* a call ends by its deadline at the latest, and fires */
        weir_hedge_report(attempt, weir_deadline_sleep(&lost), NULL);
        return;
    case 2:
    case 3:
        (void)weir_deadline_sleep(&moment);
        break;
    default:
        break;
    }
    unsigned *answer = malloc(sizeof(*answer));
    CHECK(answer != NULL);
    *answer = attempt->target;
    weir__count(&shared.made, 1);
    weir_hedge_report(attempt, 0, answer);
}

static void server(struct stress_thread *thread)
{
    for (;;) {
        struct weir_hedge_attempt *attempt;
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        bool was_last = weir__load32(&shared.callers) == 0;
        int error = weir_queue_recv(&shared.queue, &attempt, &moment);
        if (!error)
            serve(attempt, stress_random(thread));
        else if (was_last)
            return;
    }
}

static void caller(struct stress_thread *thread)
{
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        struct weir_hedge_answer answers[2];
        struct weir_deadline deadline = weir_deadline_in(10000 + dice % 500000, NULL);
        unsigned targets = 2 + (unsigned)(dice >> 32) % (TARGETS - 1);
        int error = weir_hedge_run(&shared.hedge, &ops, NULL, targets, answers, &deadline);
        CHECK(error == 0 || error == -WEIR_E_TIMEOUT || error == -WEIR_E_TRANSIENT ||
              error == -WEIR_E_BUSY || error == -WEIR_E_CANCELED);
        for (int i = 0; i < 2 && !error; i++) {
            CHECK_EQ(*(unsigned *)answers[i].answer, answers[i].target);
            discard(answers[i].answer);
        }
        CHECK(error || answers[0].target != answers[1].target);
    }
    weir__add32(&shared.callers, UINT32_MAX);
}

static void work(struct stress_thread *thread)
{
    if (thread->index < CALLERS)
        caller(thread);
    else
        server(thread);
}

TEST(calls_that_ask_several)
{
    memset(&shared, 0, sizeof(shared));
    struct weir_hedge_options options = {
        .alpha = 2, .beta = 2, .delay_ns = 20000, .needed = 2, .per_mille = 100, .burst = 5};
    struct weir_queue_options queue = {.item_size = sizeof(struct weir_hedge_attempt *),
                                       .capacity = 8};
    CHECK_EQ(weir_hedge_init(&shared.hedge, "lookup", &options), 0);
    CHECK_EQ(weir_queue_init(&shared.queue, "targets", &queue), 0);
    shared.callers = CALLERS;
    stress_run(CALLERS + SERVERS, &shared, work);
    struct weir_hedge_stats stats;
    weir_hedge_read(&shared.hedge, &stats);
    CHECK_EQ(shared.made, shared.taken);
    CHECK_EQ(stats.attempts, shared.starts);
    CHECK_EQ(stats.attempts, stats.reported);
    CHECK(stats.calls > 100);
    CHECK(stats.hedges * 1000 <= stats.calls * 100);
    CHECK(stats.canceled > 0 && stats.late > 0);
    CHECK_EQ(stats.latency_ns.count, stats.calls - stats.failed);
    weir_queue_fini(&shared.queue);
    weir_hedge_fini(&shared.hedge);
}

TAP_MAIN()
