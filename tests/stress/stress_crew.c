/* Crews under real threads: members that start others, end, listen or do not, under a drain. */
#include "stress.h"

#include <weir/crew.h>

#include "atomic.h"

struct ship {
    struct weir_crew *crew;
    uint64_t started;
    uint64_t entered;
};

/* An abandoned member may come here when its ship has gone: it must not touch it. */
static int until_stop(struct weir_crew_self *self, void *arg)
{
    (void)arg;
    struct weir_deadline deadline = weir_deadline_until(self->stop);
    return weir_deadline_sleep(&deadline);
}

static int until_abort(struct weir_crew_self *self, void *arg)
{
    (void)arg;
    struct weir_deadline deadline = weir_deadline_until(self->abort);
    return weir_deadline_sleep(&deadline);
}

static int at_once(struct weir_crew_self *self, void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static bool start(struct ship *ship, const char *kind,
                  int (*fn)(struct weir_crew_self *self, void *arg))
{
    int error = weir_crew_start(ship->crew, kind, fn, ship);
    CHECK(error == 0 || error == -WEIR_E_DRAINING || error == -WEIR_E_BUSY);
    weir__count(&ship->started, error == 0);
    return error == 0;
}

/* Starts others until it is refused because of the drain. Ends long before the grace time does. */
static int starts_others(struct weir_crew_self *self, void *arg)
{
    struct ship *ship = arg;
    weir__add64(&ship->entered, 1);
    while (!weir_cancel_is_fired(self->stop)) {
        start(ship, "short", at_once);
        start(ship, "listener", until_stop);
    }
    return 0;
}

static void voyage(struct stress_thread *thread)
{
    struct ship ship = {0};
    uint64_t dice = stress_random(thread);
    bool is_stubborn = dice & 1;
    struct weir_crew_options options = {.threads_max = 8,
                                        .drain_ns = is_stubborn ? 1 : 60 * WEIR_NS_PER_S,
                                        .grace_ns = 60 * WEIR_NS_PER_S};
    CHECK_EQ(weir_crew_new(&ship.crew, "ship", &options), 0);
    CHECK(start(&ship, "starter", starts_others));
    /* The first may take all places at once. */
    uint64_t starters = 1 + start(&ship, "starter", starts_others);
    if (is_stubborn)
        is_stubborn = start(&ship, "stubborn", until_abort);
    struct weir_deadline moment = weir_deadline_in(dice / 2 % 300000, NULL);
    int error = weir_crew_wait(ship.crew, &moment);
    CHECK_EQ(error, -WEIR_E_TIMEOUT);
    struct weir_crew_report report;
    error = weir_crew_drain(ship.crew, &report);
    CHECK(error == -WEIR_E_TIMEOUT || !is_stubborn);
    CHECK(error == 0 || options.drain_ns == 1);
    CHECK_EQ(report.state, WEIR_CREW_STOPPED);
    CHECK_EQ(report.running, 0);
    uint64_t spawned = 0;
    for (uint64_t i = 0; i < report.kind_count; i++) {
        spawned += report.kinds[i].spawned;
        CHECK_EQ(report.kinds[i].ended, report.kinds[i].spawned);
        CHECK_EQ(report.kinds[i].abandoned, 0);
    }
    CHECK_EQ(spawned, ship.started);
    CHECK_EQ(ship.entered, starters);
    weir_crew_free(ship.crew);
}

static void sail(struct stress_thread *thread)
{
    while (stress_goes_on(thread))
        voyage(thread);
}

TEST(crews_that_start_and_drain)
{
    stress_run(3, NULL, sail);
}

/* Hardly any time: most members are given up, some before they came to life. What they need of the
 * crew stays until the last of them has gone. */
static void hasty_voyage(struct stress_thread *thread)
{
    struct weir_crew *crew;
    uint64_t dice = stress_random(thread);
    struct weir_crew_options options = {.drain_ns = 1, .grace_ns = 1 + dice % 50000};
    CHECK_EQ(weir_crew_new(&crew, "ship", &options), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(weir_crew_start(crew, "stubborn", until_abort, NULL), 0);
    struct weir_crew_report report;
    CHECK_EQ(weir_crew_drain(crew, &report), -WEIR_E_TIMEOUT);
    CHECK_EQ(report.kinds[0].spawned, report.kinds[0].ended + report.kinds[0].abandoned);
    CHECK_EQ(report.kinds[0].aborted, 3);
    weir_crew_free(crew);
}

static void hurry(struct stress_thread *thread)
{
    while (stress_goes_on(thread))
        hasty_voyage(thread);
}

TEST(crews_that_abandon)
{
    stress_run(2, NULL, hurry);
}

TAP_MAIN()
