/* The crew: starting, ending, draining in time and out of time, abandoning, counting. */
#include "tap.h"

#include <dirent.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weir/crew.h>

#include "atomic.h"
#include "clock.h"
#include "fault.h"

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

static int count_up(struct weir_crew_self *self, void *arg)
{
    (void)self;
    weir__add32(arg, 1);
    return 0;
}

static struct weir_crew_kind *kind_of(struct weir_crew_report *report, const char *name)
{
    for (uint64_t i = 0; i < report->kind_count; i++)
        if (strcmp(report->kinds[i].name, name) == 0)
            return &report->kinds[i];
    return NULL;
}

TEST(drains_those_who_listen)
{
    struct weir_crew *crew;
    struct weir_crew_report report;
    CHECK_EQ(weir_crew_new(&crew, "crew", NULL), 0);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(weir_crew_start(crew, "listener", until_stop, NULL), 0);
    CHECK_EQ(weir_crew_state(crew), WEIR_CREW_RUNNING);
    CHECK_EQ(weir_crew_drain(crew, &report), 0);
    CHECK_EQ(report.state, WEIR_CREW_STOPPED);
    CHECK_EQ(report.running, 0);
    struct weir_crew_kind *kind = kind_of(&report, "listener");
    CHECK_EQ(kind->spawned, 5);
    CHECK_EQ(kind->ended, 5);
    CHECK_EQ(kind->canceled, 5);
    CHECK_EQ(kind->aborted, 0);
    weir_crew_free(crew);
}

TEST(aborts_stragglers_and_counts_them)
{
    struct weir_crew *crew;
    struct weir_crew_report report;
    struct weir_crew_options options = {.drain_ns = WEIR_NS_PER_MS, .grace_ns = WEIR_NS_PER_S};
    CHECK_EQ(weir_crew_new(&crew, "crew", &options), 0);
    CHECK_EQ(weir_crew_start(crew, "stubborn", until_abort, NULL), 0);
    CHECK_EQ(weir_crew_drain(crew, &report), -WEIR_E_TIMEOUT);
    CHECK_EQ(kind_of(&report, "stubborn")->aborted, 1);
    CHECK_EQ(kind_of(&report, "stubborn")->abandoned, 0);
    CHECK_EQ(kind_of(&report, "stubborn")->ended, 1);
    weir_crew_free(crew);
}

/* What the hand on the clock has seen. */
struct hand {
    bool was_early;
    bool was_in_time;
};

static void pause_for(uint64_t real_ns)
{
    uint64_t until_ns = weir__clock_real_ns() + real_ns;
    while (weir__clock_real_ns() < until_ns)
        sched_yield();
}

/* Moves the clock to just before the drain deadline, and then to it. The deadline is counted from a
 * moment after stop has fired, so there is a pause first; if that was too short, nobody is early,
 * and the round shows nothing. */
static int move_the_hand(struct weir_crew_self *self, void *arg)
{
    struct hand *hand = arg;
    (void)until_stop(self, NULL);
    pause_for(3 * WEIR_NS_PER_MS);
    weir__clock_advance(5000000000 - 1);
    pause_for(3 * WEIR_NS_PER_MS);
    hand->was_early = weir_cancel_is_fired(self->abort);
    weir__clock_advance(1);
    for (int i = 0; i < 100 && !weir_cancel_is_fired(self->abort); i++)
        pause_for(WEIR_NS_PER_MS);
    hand->was_in_time = weir_cancel_is_fired(self->abort);
    weir__clock_advance(60 * WEIR_NS_PER_S);
    return until_abort(self, NULL);
}

TEST(a_drain_takes_five_seconds_unless_told_otherwise)
{
    CHECK_EQ(WEIR_CREW_DRAIN_DEFAULT_NS, 5000000000);
    struct hand hand = {0};
    for (int round = 0; round < 20 && !hand.was_in_time; round++) {
        struct weir_crew *crew;
        struct weir_crew_options options = {.grace_ns = WEIR_CREW_TIME_MAX_NS};
        weir__clock_fake(WEIR_NS_PER_S);
        CHECK_EQ(weir_crew_new(&crew, "crew", &options), 0);
        CHECK_EQ(weir_crew_start(crew, "hand", move_the_hand, &hand), 0);
        CHECK_EQ(weir_crew_drain(crew, NULL), -WEIR_E_TIMEOUT);
        weir_crew_free(crew);
        weir__clock_unfake();
        CHECK(!hand.was_early);
    }
    CHECK(hand.was_in_time);
}

/* Blocks in a read that no token ends: only an interrupted call lets it look. */
static int block_in_read(struct weir_crew_self *self, void *arg)
{
    char byte;
    while (read(*(int *)arg, &byte, 1) < 0) {
        struct weir_deadline deadline = weir_deadline_until(self->abort);
        if (weir_deadline_check(&deadline))
            return -WEIR_E_CANCELED;
    }
    return 0;
}

TEST(abort_interrupts_system_calls)
{
    int fds[2];
    CHECK_EQ(pipe(fds), 0);
    struct weir_crew *crew;
    struct weir_crew_report report;
    struct weir_crew_options options = {.drain_ns = WEIR_NS_PER_MS, .grace_ns = 20 * WEIR_NS_PER_S};
    CHECK_EQ(weir_crew_new(&crew, "crew", &options), 0);
    CHECK_EQ(weir_crew_start(crew, "reader", block_in_read, &fds[0]), 0);
    CHECK_EQ(weir_crew_drain(crew, &report), -WEIR_E_TIMEOUT);
    CHECK_EQ(kind_of(&report, "reader")->canceled, 1);
    CHECK_EQ(kind_of(&report, "reader")->abandoned, 0);
    weir_crew_free(crew);
    close(fds[0]);
    close(fds[1]);
}

static int read_socket(struct weir_crew_self *self, void *arg)
{
    int fd = *(int *)arg;
    struct weir_cancel_hook hook = {0};
    weir_cancel_shuts_down(self->stop, &hook, fd);
    char byte;
    ssize_t got = read(fd, &byte, 1);
    weir_cancel_off(&hook);
    return got == 0 ? -WEIR_E_CANCELED : 0;
}

TEST(a_token_shuts_descriptors_down)
{
    int fds[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct weir_crew *crew;
    struct weir_crew_report report;
    CHECK_EQ(weir_crew_new(&crew, "crew", NULL), 0);
    CHECK_EQ(weir_crew_start(crew, "reader", read_socket, &fds[0]), 0);
    CHECK_EQ(weir_crew_drain(crew, &report), 0);
    CHECK_EQ(kind_of(&report, "reader")->canceled, 1);
    weir_crew_free(crew);
    close(fds[0]);
    close(fds[1]);
}

/* Does not react to anything until it is let go. */
static int deaf(struct weir_crew_self *self, void *arg)
{
    (void)self;
    struct weir_deadline deadline = weir_deadline_until(arg);
    return weir_deadline_sleep(&deadline);
}

/* How many threads this process has. */
static int thread_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

TEST(abandons_the_deaf)
{
    static struct weir_cancel let_go;
    weir_cancel_init(&let_go, NULL);
    struct weir_crew *crew;
    struct weir_crew_report report;
    struct weir_crew_options options = {.drain_ns = WEIR_NS_PER_MS, .grace_ns = WEIR_NS_PER_MS};
    int threads_before = thread_count();
    CHECK_EQ(weir_crew_new(&crew, "crew", &options), 0);
    CHECK_EQ(weir_crew_start(crew, "deaf", deaf, &let_go), 0);
    CHECK_EQ(weir_crew_drain(crew, &report), -WEIR_E_TIMEOUT);
    CHECK_EQ(kind_of(&report, "deaf")->abandoned, 1);
    CHECK_EQ(report.running, 0);
    weir_crew_free(crew); /* and the member still has what it needs */
    weir_cancel_fire(&let_go);
    while (thread_count() > threads_before)
        sched_yield();
}

TEST(starts_nobody_after_a_drain)
{
    struct weir_crew *crew;
    uint32_t count = 0;
    CHECK_EQ(weir_crew_new(&crew, "crew", NULL), 0);
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    CHECK_EQ(weir_crew_start(crew, "late", count_up, &count), -WEIR_E_DRAINING);
    CHECK_HAS(weir_error_detail(), "crew 'crew': shutting down");
    CHECK_EQ(weir_crew_drain(crew, NULL), -WEIR_E_CLOSED);
    CHECK_EQ(weir_crew_state(crew), WEIR_CREW_STOPPED);
    CHECK_STR(weir_crew_state_name(weir_crew_state(crew)), "stopped");
    weir_crew_free(crew);
}

TEST(members_may_end_by_themselves)
{
    struct weir_crew *crew;
    uint32_t count = 0;
    struct weir_crew_options options = {.threads_max = 4};
    CHECK_EQ(weir_crew_new(&crew, "crew", &options), 0);
    for (int i = 0; i < 50; i++) {
        int error = weir_crew_start(crew, "short", count_up, &count);
        while (error == -WEIR_E_BUSY) {
            struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
            CHECK_EQ(weir_crew_wait(crew, &deadline), 0);
            error = weir_crew_start(crew, "short", count_up, &count);
        }
        CHECK_EQ(error, 0);
    }
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_crew_wait(crew, &deadline), 0);
    CHECK_EQ(weir__load32(&count), 50);
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
}

TEST(has_limits)
{
    struct weir_crew *crew;
    struct weir_crew_options options = {.threads_max = 1};
    CHECK_EQ(weir_crew_new(&crew, "", NULL), -WEIR_E_INVALID);
    struct weir_crew_options for_ever = {.drain_ns = UINT64_MAX};
    CHECK_EQ(weir_crew_new(&crew, "crew", &for_ever), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "each may be at most 86400.0 s");
    CHECK_EQ(weir_crew_new(&crew, "crew", &options), 0);
    CHECK_EQ(weir_crew_start(crew, "one", until_stop, NULL), 0);
    CHECK_EQ(weir_crew_start(crew, "two", until_stop, NULL), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "1 threads is the limit");
    struct weir_deadline moment = weir_deadline_in(1000, NULL);
    CHECK_EQ(weir_crew_wait(crew, &moment), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "1 threads still ran");
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);

    CHECK_EQ(weir_crew_new(&crew, "crew", NULL), 0);
    uint32_t count = 0;
    for (int i = 0; i < WEIR_CREW_KINDS_MAX; i++) {
        char kind[8] = {'k', (char)('a' + i)};
        CHECK_EQ(weir_crew_start(crew, kind, count_up, &count), 0);
    }
    CHECK_EQ(weir_crew_start(crew, "one too many", count_up, &count), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir_crew_start(crew, "", count_up, &count), -WEIR_E_INVALID);
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
}

static void free_running(void *arg)
{
    (void)arg;
    struct weir_crew *crew;
    if (weir_crew_new(&crew, "crew", NULL) == 0 &&
        weir_crew_start(crew, "one", until_stop, NULL) == 0)
        weir_crew_free(crew);
}

TEST(freeing_a_running_crew_is_named)
{
    weir_crew_free(NULL);
    CHECK(tap_dies(free_running, NULL, "crew 'crew': freed while its threads run"));
}

TEST(a_canceled_wait_says_whose)
{
    struct weir_crew *crew;
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    weir_cancel_fire(&token);
    CHECK_EQ(weir_crew_new(&crew, "crew", NULL), 0);
    CHECK_EQ(weir_crew_start(crew, "one", until_stop, NULL), 0);
    CHECK_EQ(weir_crew_wait(crew, NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "crew 'crew': would have to wait for ever");
    struct weir_deadline deadline = weir_deadline_until(&token);
    CHECK_EQ(weir_crew_wait(crew, &deadline), -WEIR_E_CANCELED);
    CHECK_HAS(weir_error_detail(), "crew 'crew': canceled while 1 threads were waited for");
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
    struct weir_crew_options many = {.threads_max = WEIR_CREW_THREADS_MAX + 1};
    CHECK_EQ(weir_crew_new(&crew, "crew", &many), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "65537 threads, it may be at most 65536");
    weir_cancel_fini(&token);
}

TAP_MAIN()
