/* The clock: it does not go back, adding does not overflow, and a test can hold its hand. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#include <weir/deadline.h>

#include <weir/error.h>

#include "clock.h"
#include "thread.h"

TEST(the_real_clock_does_not_go_back)
{
    CHECK(!weir__clock_is_fake());
    uint64_t last = weir_now_ns();
    CHECK(last > 0);
    for (int i = 0; i < 10000; i++) {
        uint64_t now = weir_now_ns();
        CHECK(now >= last);
        last = now;
    }
}

TEST(adding_stops_at_never)
{
    CHECK(weir_time_add(0, 0) == 0);
    CHECK(weir_time_add(5, 7) == 12);
    CHECK(weir_time_add(WEIR_NEVER - 1, 0) == WEIR_NEVER - 1);
    CHECK(weir_time_add(WEIR_NEVER - 1, 1) == WEIR_NEVER);
    CHECK(weir_time_add(WEIR_NEVER - 1, 2) == WEIR_NEVER);
    CHECK(weir_time_add(WEIR_NEVER, 0) == WEIR_NEVER);
    CHECK(weir_time_add(WEIR_NEVER, WEIR_NEVER) == WEIR_NEVER);
    CHECK(weir_time_add(1, WEIR_NEVER) == WEIR_NEVER);
    CHECK(weir_time_add(0, WEIR_NEVER) == WEIR_NEVER);
}

TEST(units_are_what_they_say)
{
    CHECK_EQ(WEIR_NS_PER_MS, 1000 * WEIR_NS_PER_US);
    CHECK_EQ(WEIR_NS_PER_S, 1000 * WEIR_NS_PER_MS);
}

TEST(a_fake_clock_moves_only_by_hand)
{
    weir__clock_fake(1000);
    CHECK(weir__clock_is_fake());
    CHECK_EQ(weir_now_ns(), 1000);
    CHECK_EQ(weir_now_ns(), 1000);
    weir__clock_advance(500);
    CHECK_EQ(weir_now_ns(), 1500);
    CHECK(weir__clock_real_ns() != 1500);
    struct weir_deadline deadline = weir_deadline_in(100, NULL);
    CHECK_EQ(deadline.at_ns, 1600);
    CHECK_EQ(weir_deadline_check(&deadline), 0);
    weir__clock_advance(99);
    CHECK_EQ(weir_deadline_check(&deadline), 0);
    weir__clock_advance(1);
    CHECK_EQ(weir_deadline_check(&deadline), -WEIR_E_TIMEOUT);
    weir__clock_fake(0); /* zero stands for the real clock, so it becomes one */
    CHECK_EQ(weir_now_ns(), 1);
    weir__clock_unfake();
    CHECK(!weir__clock_is_fake());
    CHECK(weir_now_ns() > 1);
}

TEST(the_wall_clock_is_that_of_files)
{
    struct stat st;
    char name[] = "/tmp/weir-clock-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0);
    int64_t before = weir_wall_s();
    CHECK(write(fd, "x", 1) == 1);
    CHECK(fstat(fd, &st) == 0);
    CHECK(st.st_mtim.tv_sec >= before - 1 && st.st_mtim.tv_sec <= weir_wall_s() + 1);
    close(fd);
    unlink(name);
}

struct sleeper {
    struct weir_deadline deadline;
    int result;
};

static void sleep_until(void *arg)
{
    struct sleeper *sleeper = arg;
    sleeper->result = weir_deadline_sleep(&sleeper->deadline);
}

TEST(a_wait_ends_when_the_fake_clock_gets_there)
{
    weir__clock_fake(1000);
    struct sleeper sleeper = {.deadline = weir_deadline_in(3600 * WEIR_NS_PER_S, NULL)};
    struct weir__thread thread;
    CHECK_EQ(weir__thread_start(&thread, "sleeper", sleep_until, &sleeper), 0);
    weir__clock_advance(3600 * WEIR_NS_PER_S);
    weir__thread_join(&thread);
    CHECK_EQ(sleeper.result, -WEIR_E_TIMEOUT);
    weir__clock_unfake();
}

TAP_MAIN()
