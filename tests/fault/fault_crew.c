/* Crew and hedge when memory or threads run out. */
#include "tap.h"

#include <weir/crew.h>
#include <weir/hedge.h>

#include "sweep.h"

static int until_stop(struct weir_crew_self *self, void *arg)
{
    (void)arg;
    struct weir_deadline deadline = weir_deadline_until(self->stop);
    return weir_deadline_sleep(&deadline);
}

static void crew_lives(void)
{
    struct weir_crew *crew;
    int error = weir_crew_new(&crew, "crew", NULL);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        return;
    }
    unsigned started = 0;
    for (int i = 0; i < 3; i++) {
        error = weir_crew_start(crew, "worker", until_stop, NULL);
        CHECK(error == 0 || error == -WEIR_E_NO_MEMORY || error == -WEIR_E_BUSY);
        started += error == 0;
    }
    struct weir_crew_report report;
    CHECK_EQ(weir_crew_drain(crew, &report), 0);
    CHECK_EQ(report.kind_count > 0 ? report.kinds[0].spawned - report.kinds[0].unstarted : 0,
             started);
    weir_crew_free(crew);
}

static int answer_at_once(void *arg, struct weir_hedge_attempt *attempt)
{
    weir_hedge_report(attempt, 0, arg);
    return 0;
}

static void hedge_runs(void)
{
    static const struct weir_hedge_ops ops = {answer_at_once, NULL};
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", NULL), 0);
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int error = weir_hedge_run(&hedge, &ops, NULL, 2, &answer, &deadline);
    CHECK(error == 0 || error == -WEIR_E_NO_MEMORY);
    weir_hedge_fini(&hedge);
}

TEST(a_crew_survives_without_memory)
{
    CHECK(sweep(WEIR_FAULT_ALLOC, crew_lives) >= 4);
}

TEST(a_crew_survives_without_threads)
{
    CHECK_EQ(sweep(WEIR_FAULT_THREAD, crew_lives), 3);
}

TEST(a_hedge_survives_without_memory)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, hedge_runs), 1);
}

TAP_MAIN()
