/* The end of the service that its own program asks for, without a signal, and what it counts. */
#include "busy.h"
#include "dial.h"

TEST(whoever_has_it_can_end_it)
{
    struct weir__daemon_end counts;
    start(in_memory);
    CHECK_EQ(weir__daemon_wait(&storage->daemon, WEIR_NS_PER_MS), -WEIR_E_TIMEOUT);
    weir__daemon_ask_to_stop(&storage->daemon);
    CHECK_EQ(weir__daemon_wait(&storage->daemon, 60 * WEIR_NS_PER_S), -WEIR_E_CANCELED);
    struct weir_crew *crew = storage->daemon.crew;
    CHECK_EQ(weir_crew_state(crew), WEIR_CREW_RUNNING);
    CHECK_EQ(weir__daemon_drain(&storage->daemon, &counts), 0);
    CHECK_EQ(counts.cut + counts.stopped + counts.dropped, 0);
    CHECK_EQ(counts.aborted + counts.abandoned + counts.left, 0);
    CHECK_EQ(weir_crew_state(crew), WEIR_CREW_STOPPED);
    CHECK_EQ(kind_of("get").ended, kind_of("get").spawned);
    weir__daemon_free(&storage->daemon);
    weir__config_unref(config);
}

/* --- what does not end --- */

static const char one_reader[] = "listen = [\"127.0.0.1:0\"]\ndrain_deadline = \"1s\"\n"
                                 "[server]\nmax_conns = 64\nget_workers = 1\nput_workers = 1\n"
                                 "[amnesia]\nenabled = true\nmax_bytes = \"64MiB\"\n";
static const char absent[] = "b3:0000000000000000000000000000000000000000000000000000000000000001";

/* A job that goes on as long as its client is there. */
static void keep_on(struct weir__errand *job, struct weir__worker *worker)
{
    struct weir_deadline deadline = weir_deadline_until(weir__job_of(job)->write.arg);
    (void)worker;
    CHECK_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    weir__errand_finish(job, -WEIR_E_CANCELED, NULL);
}

/* The request that waits in line will not end by itself. Its worker cannot have begun. */
static void make_endless(void)
{
    weir_lock_acquire(&storage->daemon.jobs_lock);
    struct weir__errand *job = storage->daemon.jobs;
    job->work = keep_on;
    weir__job_of(job)->write.arg = weir__exchange_deadline(job->exchange).cancel;
    job->deadline_ns = WEIR_NEVER;
    weir_lock_release(&storage->daemon.jobs_lock);
}

TEST(what_does_not_end_is_counted)
{
    struct weir__daemon_end counts;
    start(one_reader);
    begin_busy(&storage->daemon.lines[WEIR__LINE_READS]);
    AWAIT(weir_queue_depth(&storage->daemon.lines[WEIR__LINE_READS]) == 0);
    int at_work = dial_for("/o/", absent);
    AWAIT(weir_queue_depth(&storage->daemon.lines[WEIR__LINE_READS]) == 1);
    make_endless();
    weir_cancel_fire(&let_go);
    AWAIT(weir_queue_depth(&storage->daemon.lines[WEIR__LINE_READS]) == 0);
    int in_line[2] = {dial_for("/o/", absent), dial_for("/o/", absent)};
    AWAIT(weir_queue_depth(&storage->daemon.lines[WEIR__LINE_READS]) == 2);
    CHECK_EQ(weir__daemon_drain(&storage->daemon, &counts), -WEIR_E_TIMEOUT);
    CHECK_EQ(counts.cut, 3);
    CHECK_EQ(counts.stopped, 1);
    CHECK_EQ(counts.dropped, 2);
    CHECK_EQ(counts.aborted, 0);
    CHECK_EQ(weir__daemon_free(&storage->daemon), 0);
    weir__config_unref(config);
    weir_cancel_fini(&let_go);
    close(at_work);
    close(in_line[0]);
    close(in_line[1]);
}

TAP_MAIN()
