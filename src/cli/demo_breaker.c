/* demo_breaker.c - lookups at an unreliable target and a steady one, and a paced stream.
 *
 * Both targets are served by threads that take questions from a bounded queue. The first one is
 * late at the beginning, then refuses three questions of four, in a seeded order, then is mended.
 * Lookups ask it first all the same: the hedge and the breaker are what makes them succeed.
 */
#include "demo.h"

#include <weir/breaker.h>
#include <weir/hedge.h>
#include <weir/queue.h>

#include "banned.h"

#define TARGETS     2
#define UNRELIABLE  0
#define STEADY      1
#define LATE        8
#define LOOKUPS     30
#define RETURNS     12
#define SERVERS     4
#define QUESTIONS   16
#define CALLS_MIN   6
#define COOLDOWN_NS (120 * WEIR_NS_PER_MS)
#define PER_MILLE   500
#define HEDGE_NS    (12 * WEIR_NS_PER_MS)
#define LATE_NS     (60 * WEIR_NS_PER_MS)
#define PROMPT_NS   (2 * WEIR_NS_PER_MS)
#define LOOKUP_NS   (3 * WEIR_NS_PER_S)
#define SEED        UINT64_C(0x2545f4914f6cdd1d)

enum mood { IS_LATE, REFUSES, IS_MENDED };

/* A question on its way to a server thread: copied through the queue, ticket included. */
struct question {
    struct weir_hedge_attempt *attempt;
    struct weir_breaker_ticket ticket;
    uint64_t takes_ns;
};

struct lookups {
    struct weir_breaker breakers[TARGETS];
    struct weir_hedge hedge;
    struct weir_queue questions;
    uint64_t random;
    enum mood mood; /* of the unreliable one */
    uint64_t answered[TARGETS];
    uint64_t failed;
};

static char answers[TARGETS]; /* what the targets answer with: a pointer to their own byte */

/* ---- the targets ---- */

static void answer(struct question *question)
{
    struct weir_hedge_attempt *attempt = question->attempt;
    unsigned target = attempt->target;
    demo_pause(question->takes_ns, attempt->deadline.cancel);
    bool has_lost = weir_cancel_is_fired(attempt->deadline.cancel);
    weir_breaker_report(&question->ticket, has_lost ? WEIR_BREAKER_CANCELED : WEIR_BREAKER_SUCCESS);
    weir_hedge_report(attempt, has_lost ? -WEIR_E_CANCELED : 0, &answers[target]);
}

static int serve(struct weir_crew_self *self, void *arg)
{
    struct lookups *lookups = arg;
    const struct weir_deadline deadline = weir_deadline_until(self->stop);
    struct question question;
    while (!weir_queue_recv(&lookups->questions, &question, &deadline))
        answer(&question);
    return 0;
}

/* A question that no server took before they stopped. */
static void give_up(void *arg, void *item)
{
    struct question *question = item;
    (void)arg;
    weir_breaker_cancel(&question->ticket);
    weir_hedge_report(question->attempt, -WEIR_E_CANCELED, NULL);
}

static int start(void *arg, struct weir_hedge_attempt *attempt)
{
    struct lookups *lookups = arg;
    struct question question = {attempt, WEIR_BREAKER_TICKET_NONE, PROMPT_NS};
    int error = weir_breaker_allow(&lookups->breakers[attempt->target], &question.ticket);
    if (error)
        return error;
    if (attempt->target == UNRELIABLE && lookups->mood == IS_LATE)
        question.takes_ns = LATE_NS;
    if (attempt->target == UNRELIABLE && lookups->mood == REFUSES &&
        demo_random(&lookups->random) % 4 != 0) {
        weir_breaker_report(&question.ticket, WEIR_BREAKER_FAILURE);
        return -WEIR_E_TRANSIENT;
    }
    error = weir_queue_try_send(&lookups->questions, &question);
    if (error)
        weir_breaker_cancel(&question.ticket);
    return error;
}

static const struct weir_hedge_ops ops = {start, NULL};

/* ---- the lookups ---- */

static void look_up(struct lookups *lookups)
{
    struct weir_hedge_answer found;
    const struct weir_deadline deadline = weir_deadline_in(LOOKUP_NS, NULL);
    if (weir_hedge_run(&lookups->hedge, &ops, lookups, TARGETS, &found, &deadline))
        lookups->failed++;
    else
        lookups->answered[found.target]++;
}

static enum weir_breaker_state state_of(struct lookups *lookups)
{
    struct weir_breaker_stats stats;
    weir_breaker_read(&lookups->breakers[UNRELIABLE], &stats);
    return stats.state;
}

/* The target is late: after a while the other one is asked as well, as often as that may be. */
static void show_hedge(struct demo *demo, struct lookups *lookups)
{
    lookups->mood = IS_LATE;
    for (unsigned i = 0; i < LATE; i++)
        look_up(lookups);
    struct weir_hedge_stats hedge;
    weir_hedge_read(&lookups->hedge, &hedge);
    demo_say(demo,
             "%d lookups ask the target 'shaky', which needs %.0f ms now. After %.0f ms they may "
             "ask 'steady' too, but in %d of 1000 calls at most, so that the load cannot double: "
             "%llu did and %llu were won by it; %llu had to wait for 'shaky'.",
             LATE, demo_ms(LATE_NS), demo_ms(HEDGE_NS), PER_MILLE, (unsigned long long)hedge.hedges,
             (unsigned long long)hedge.wins_by_hedge, (unsigned long long)hedge.denied);
    demo_number(demo, "late_lookups", LATE);
    demo_number(demo, "hedges", hedge.hedges);
    demo_number(demo, "hedges_won", hedge.wins_by_hedge);
    demo_number(demo, "hedges_denied", hedge.denied);
    demo_promise(demo, hedge.hedges * 1000 <= hedge.calls * PER_MILLE,
                 "hedges kept to their budget: %llu in %llu calls",
                 (unsigned long long)hedge.hedges, (unsigned long long)hedge.calls);
}

/* The target refuses: its breaker opens, and the other one answers. */
static void show_breaker(struct demo *demo, struct lookups *lookups)
{
    uint64_t before[TARGETS] = {lookups->answered[0], lookups->answered[1]};
    lookups->mood = REFUSES;
    for (unsigned i = 0; i < LOOKUPS; i++)
        look_up(lookups);
    struct weir_breaker_stats stats;
    weir_breaker_read(&lookups->breakers[UNRELIABLE], &stats);
    uint64_t shaky = lookups->answered[UNRELIABLE] - before[UNRELIABLE];
    uint64_t steady = lookups->answered[STEADY] - before[STEADY];
    demo_say(demo,
             "Now 'shaky' refuses three questions of four. %d lookups: %llu failures opened its "
             "breaker, %llu questions were not put to it any more, 'steady' answered %llu and "
             "'shaky' %llu. The breaker says:",
             LOOKUPS, (unsigned long long)stats.failures, (unsigned long long)stats.rejected,
             (unsigned long long)steady, (unsigned long long)shaky);
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    int error = weir_breaker_allow(&lookups->breakers[UNRELIABLE], &ticket);
    if (error)
        demo_quote(demo, error);
    weir_breaker_cancel(&ticket);
    demo_number(demo, "lookups", LOOKUPS);
    demo_number(demo, "failures", stats.failures);
    demo_number(demo, "rejected", stats.rejected);
    demo_number(demo, "opened", stats.entered[WEIR_BREAKER_OPEN]);
    demo_number(demo, "answered_by_steady", steady);
    demo_number(demo, "answered_by_shaky", shaky);
    demo_promise(demo, stats.entered[WEIR_BREAKER_OPEN] > 0,
                 "a target that fails too often is left alone");
    demo_promise(demo, lookups->failed == 0, "all %d lookups were answered all the same",
                 LATE + LOOKUPS);
}

/* Mends the target, waits out the cooldown, and asks until the breaker trusts it again. */
static void recover(struct demo *demo, struct lookups *lookups)
{
    unsigned tries = 0;
    lookups->mood = IS_MENDED;
    while (state_of(lookups) != WEIR_BREAKER_CLOSED && tries++ < RETURNS) {
        demo_pause(weir_breaker_delay_ns(&lookups->breakers[UNRELIABLE]), NULL);
        look_up(lookups);
    }
    demo_say(demo,
             "'shaky' was mended. %u lookups after the cooldown of %.0f ms its breaker is %s.",
             tries, demo_ms(COOLDOWN_NS), weir_breaker_state_name(state_of(lookups)));
    demo_number(demo, "lookups_to_recover", tries);
    demo_text(demo, "state", weir_breaker_state_name(state_of(lookups)));
}

static void tell_objects(struct demo *demo, struct lookups *lookups)
{
    struct weir_breaker_stats shaky;
    struct weir_hedge_stats hedge;
    weir_breaker_read(&lookups->breakers[UNRELIABLE], &shaky);
    weir_hedge_read(&lookups->hedge, &hedge);
    demo_promise(demo, hedge.attempts == hedge.reported,
                 "no attempt was left behind: %llu started, %llu ended",
                 (unsigned long long)hedge.attempts, (unsigned long long)hedge.reported);
    demo_object(
        demo, &(struct demo_object){"breaker", "shaky", 0, shaky.allowed,
                                    shaky.successes + shaky.failures + shaky.canceled + shaky.stale,
                                    0, shaky.rejected});
    demo_object(demo, &(struct demo_object){"hedge", "lookup", 0, hedge.attempts, hedge.reported, 0,
                                            hedge.denied});
}

static int run_lookups(struct demo *demo, struct lookups *lookups)
{
    WEIR_CLEANUP(demo_crew_end)
    struct weir_crew *crew = NULL;
    int error = demo_crew_new(&crew, "servers");
    if (error)
        return error;
    for (unsigned i = 0; i < SERVERS && !error; i++)
        error = weir_crew_start(crew, "server", serve, lookups);
    if (error)
        return demo_failed("start the servers", error);
    show_hedge(demo, lookups);
    show_breaker(demo, lookups);
    recover(demo, lookups);
    return 0;
}

static int show_lookups(struct demo *demo)
{
    struct lookups lookups = {.random = SEED};
    const struct weir_breaker_options breaker = {.calls_min = CALLS_MIN,
                                                 .cooldown_ns = COOLDOWN_NS};
    const struct weir_hedge_options hedge = {
        .alpha = 1, .beta = 1, .delay_ns = HEDGE_NS, .per_mille = PER_MILLE};
    const struct weir_queue_options queue = {.item_size = sizeof(struct question),
                                             .capacity = QUESTIONS};
    int error = weir_breaker_init(&lookups.breakers[UNRELIABLE], "shaky", &breaker);
    if (!error)
        error = weir_breaker_init(&lookups.breakers[STEADY], "steady", &breaker);
    if (!error)
        error = weir_hedge_init(&lookups.hedge, "lookup", &hedge);
    if (!error)
        error = weir_queue_init(&lookups.questions, "questions", &queue);
    if (error) {
        demo_failed("prepare the lookups", error);
    } else {
        error = run_lookups(demo, &lookups);
        weir_queue_drain(&lookups.questions, give_up, NULL);
        if (!error)
            tell_objects(demo, &lookups);
    }
    weir_queue_fini(&lookups.questions);
    weir_hedge_fini(&lookups.hedge);
    weir_breaker_fini(&lookups.breakers[STEADY]);
    weir_breaker_fini(&lookups.breakers[UNRELIABLE]);
    return error;
}

int demo_breaker(struct demo *demo)
{
    int error = show_lookups(demo);
    return error ? error : demo_rate(demo);
}
