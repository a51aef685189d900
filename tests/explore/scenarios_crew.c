/* The crew: starting, ending, draining and aborting at once. */
#include <weir/crew.h>

#include "xp.h"
#include "xp_engine.h"

static struct {
    struct weir_crew *crew;
    struct weir_cancel never;
    struct weir_crew_report report;
    int drained;
    bool is_drained;
    unsigned started;
    unsigned entered, left; /* the function of a member */
} s;

/* The times are as short as can be: every timed wait may time out at any moment anyway. */
static void make(void)
{
    struct weir_crew_options options = {.drain_ns = 1, .grace_ns = 1};
    XP_ASSERT_EQ(weir_crew_new(&s.crew, "crew", &options), 0);
    weir_cancel_init(&s.never, NULL);
}

static int until_stop(struct weir_crew_self *self, void *arg)
{
    (void)arg;
    s.entered++;
    struct weir_deadline deadline = weir_deadline_until(self->stop);
    XP_ASSERT_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    s.left++;
    return -WEIR_E_CANCELED;
}

static int until_abort(struct weir_crew_self *self, void *arg)
{
    (void)arg;
    s.entered++;
    struct weir_deadline deadline = weir_deadline_until(self->abort);
    XP_ASSERT_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    s.left++;
    return -WEIR_E_CANCELED;
}

static int at_once(struct weir_crew_self *self, void *arg)
{
    (void)self;
    (void)arg;
    s.entered++;
    s.left++;
    return 0;
}

/* ---- threads ---- */

static void drains(void)
{
    s.drained = weir_crew_drain(s.crew, &s.report);
    XP_ASSERT(s.drained == 0 || s.drained == -WEIR_E_TIMEOUT, "neither drained nor timed out");
    XP_ASSERT_EQ(weir_crew_state(s.crew), WEIR_CREW_STOPPED);
    s.is_drained = true;
}

static void start(int (*fn)(struct weir_crew_self *self, void *arg))
{
    bool too_late = s.is_drained;
    int error = weir_crew_start(s.crew, "member", fn, NULL);
    XP_ASSERT(error == 0 || error == -WEIR_E_DRAINING || error == -WEIR_E_BUSY ||
                  error == -WEIR_E_NO_MEMORY,
              "neither started nor refused");
    XP_ASSERT(!too_late || error != 0, "started after the drain");
    s.started += error == 0;
}

static void starts_listener(void)
{
    start(until_stop);
}

static void starts_stubborn(void)
{
    start(until_abort);
}

static void starts_short(void)
{
    start(at_once);
}

static void waits(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    XP_ASSERT_EQ(weir_crew_wait(s.crew, &deadline), 0);
}

/* An execution does not wait for threads that were abandoned. This one does: they end too, since
 * abort has fired, and the last of them takes what is left of its crew along. */
static bool others_have_ended(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < xp.threads; i++)
        if (i != me && xp.thread[i].state != XP_ENDED)
            return false;
    return true;
}
static void sees_all_end(void)
{
    xp_await(others_have_ended, (void *)(uintptr_t)xp_thread_index());
}

/* ---- checks ---- */

/* Every thread that was started is joined, or is abandoned and so detached, in time or when it
 * comes to life. What the crew counts as abandoned may have no thread: the system refused it after
 * the drain had given it up. */
static void check_detached(const struct weir_crew_kind *kind)
{
    uint64_t detached = 0;
    for (unsigned i = 0; i < xp.threads; i++)
        detached += xp.thread[i].is_abandoned;
    XP_ASSERT_EQ(detached + (kind->spawned - kind->unstarted - s.started), kind->abandoned);
}

static void check(void)
{
    struct weir_crew_report report;
    weir_crew_read(s.crew, &report);
    XP_ASSERT_EQ(report.running, 0);
    const struct weir_crew_kind *kind = &report.kinds[0];
    XP_ASSERT_EQ(kind->spawned, kind->ended + kind->abandoned + kind->unstarted);
    XP_ASSERT(kind->spawned - kind->unstarted >= s.started, "a start that nobody counted");
    XP_ASSERT(kind->abandoned <= kind->aborted, "abandoned without having been aborted");
    XP_ASSERT_EQ(s.entered, s.started);
    XP_ASSERT_EQ(s.left, s.started);
    check_detached(kind);
    if (s.is_drained) {
        XP_ASSERT_EQ(s.drained != 0, kind->aborted > 0);
        XP_ASSERT_EQ(s.report.kinds[0].ended, kind->ended);
    }
    weir_crew_free(s.crew);
    weir_cancel_fini(&s.never);
}

XP_SCENARIO(crew_start_vs_drain,
            .about = "who starts while a drain begins is stopped and joined, or is not started",
            XP_STATE(s), .setup = make, .threads = {starts_listener, drains, sees_all_end},
            .check = check, .bound = 3)

XP_SCENARIO(crew_start_fails_vs_drain,
            .about = "a thread that the system refuses is no member, whatever the drain thinks",
            XP_STATE(s), .setup = make, .threads = {starts_short, drains, sees_all_end},
            .check = check, .bound = 3, .faults = 1)

static void stubborn_and_drains(void)
{
    start(until_abort);
    drains();
}
static void abort_check(void)
{
    XP_ASSERT_EQ(s.drained, -WEIR_E_TIMEOUT);
    XP_ASSERT_EQ(s.report.kinds[0].aborted, 1);
    check();
}
XP_SCENARIO(crew_drain_aborts,
            .about = "who listens to abort alone is aborted, counted, and joined or abandoned",
            XP_STATE(s), .setup = make, .threads = {stubborn_and_drains, sees_all_end},
            .check = abort_check, .bound = 3)

XP_SCENARIO(crew_stubborn_vs_drain, .about = "the same when it starts while the drain begins",
            XP_STATE(s), .setup = make, .threads = {starts_stubborn, drains, sees_all_end},
            .check = check, .bound = 3)

/* A member that ends by itself wakes who waits for the last one, and is joined once: by the next
 * start, or by the drain. */
static void starts_two(void)
{
    start(at_once);
    start(at_once);
}
XP_SCENARIO(crew_end_vs_drain, .about = "who ends by itself is joined once, by start or by drain",
            XP_STATE(s), .setup = make, .threads = {starts_two, drains, sees_all_end},
            .check = check, .bound = 3)

static void short_and_waits(void)
{
    start(at_once);
    waits();
}
XP_SCENARIO(crew_end_vs_wait, .about = "the last to end wakes all who wait for that", XP_STATE(s),
            .setup = make, .threads = {short_and_waits, waits}, .check = check, .bound = 3)

XP_SCENARIO(crew_start_fails_vs_wait,
            .about = "a thread that the system refuses keeps nobody waiting", XP_STATE(s),
            .setup = make, .threads = {starts_short, waits, waits}, .check = check, .bound = 3,
            .faults = 1, .tso = true, .tso_bound = 2)

static void short_waits_and_drains(void)
{
    short_and_waits();
    drains();
}
XP_SCENARIO(crew_wait_vs_drain, .about = "a drain and a wait both see the last member go",
            XP_STATE(s), .setup = make, .threads = {short_waits_and_drains, waits, sees_all_end},
            .check = check, .bound = 3)
