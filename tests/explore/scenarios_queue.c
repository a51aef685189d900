/* The queue: shutdown with work inside, a grant that meets the end of a wait, order, reservations.
 */
#include <weir/queue.h>
#include <weir/watch.h>

#include "xp.h"

#define JOBS 4

static struct {
    struct weir_queue queue;
    struct weir_cancel never;    /* does not fire: a wait under it must be ended by the queue */
    struct weir_cancel shutdown; /* fires in the scenarios that stop by token */
    struct weir_watch watch;
    bool has_watch;
    unsigned accepted[JOBS]; /* how often the queue took the job */
    unsigned handled[JOBS];  /* how often somebody got it */
    struct weir_queue_slot slot;
    int order[JOBS];
    unsigned count;
    unsigned tried;
} s;

static void make(uint64_t capacity)
{
    struct weir_queue_options options = {.item_size = sizeof(uint32_t), .capacity = capacity};
    XP_ASSERT_EQ(weir_queue_init(&s.queue, "work", &options), 0);
    weir_cancel_init(&s.never, NULL);
    weir_cancel_init(&s.shutdown, NULL);
}

static void handle(uint32_t job)
{
    XP_ASSERT(job < JOBS, "a job that nobody sent");
    s.handled[job]++;
    s.order[s.count++ % JOBS] = (int)job;
}

static void on_left(void *arg, void *item)
{
    (void)arg;
    handle(*(uint32_t *)item);
}

/* Every job that was accepted came out once, and no other. */
static void check(void)
{
    weir_queue_drain(&s.queue, on_left, NULL);
    for (unsigned i = 0; i < JOBS; i++)
        XP_ASSERT_EQ(s.handled[i], s.accepted[i]);
    struct weir_queue_stats stats;
    weir_queue_read(&s.queue, &stats);
    XP_ASSERT_EQ(stats.sent, stats.received);
    XP_ASSERT_EQ(stats.reservations, stats.committed + stats.abandoned);
    XP_ASSERT_EQ(stats.senders_waiting + stats.receivers_waiting, 0);
    weir_queue_fini(&s.queue);
    if (s.has_watch)
        weir_watch_fini(&s.watch);
    weir_cancel_fini(&s.never);
    weir_cancel_fini(&s.shutdown);
}

static int send_job(uint32_t job)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    int error = weir_queue_send(&s.queue, &job, &deadline);
    s.accepted[job] += !error;
    return error;
}

static int try_send_job(uint32_t job)
{
    int error = weir_queue_try_send(&s.queue, &job);
    s.accepted[job] += !error;
    return error;
}

static int recv_job(struct weir_cancel *token)
{
    uint32_t job = JOBS;
    struct weir_deadline deadline = weir_deadline_until(token);
    int error = weir_queue_recv(&s.queue, &job, &deadline);
    if (!error)
        handle(job);
    return error;
}

/* ---- listener, worker, and a shutdown by close ---- */

static void setup_1(void)
{
    make(1);
}
static void setup_2(void)
{
    make(2);
}
static void listener(void)
{
    int error = try_send_job(0);
    XP_ASSERT(error == 0 || error == -WEIR_E_CLOSED, "an empty queue is not busy");
    error = try_send_job(1);
    if (error == -WEIR_E_BUSY)
        error = send_job(1);
    XP_ASSERT(error == 0 || error == -WEIR_E_CLOSED, "sent, or refused because of the shutdown");
    error = send_job(2);
    XP_ASSERT(error == 0 || error == -WEIR_E_CLOSED, "sent, or refused because of the shutdown");
}
static void worker_until_closed(void)
{
    int error;
    while ((error = recv_job(&s.never)) == 0) {}
    XP_ASSERT_EQ(error, -WEIR_E_CLOSED);
    XP_ASSERT_EQ(weir_queue_depth(&s.queue), 0);
}
static void closer(void)
{
    weir_queue_close(&s.queue);
    uint32_t job = 3;
    XP_ASSERT_EQ(weir_queue_try_send(&s.queue, &job), -WEIR_E_CLOSED);
}
XP_SCENARIO(queue_producer_consumer_shutdown_1,
            .about = "capacity 1: no deadlock, no lost shutdown, each job handled once",
            XP_STATE(s), .setup = setup_1, .threads = {listener, worker_until_closed, closer},
            .check = check, .bound = 3, .tso = true)
XP_SCENARIO(queue_producer_consumer_shutdown_2,
            .about = "capacity 2: no deadlock, no lost shutdown, each job handled once",
            XP_STATE(s), .setup = setup_2, .threads = {listener, worker_until_closed, closer},
            .check = check, .bound = 3, .tso = true)

/* ---- the same with a shutdown by watch and token: what is left is drained ---- */

static void watch_setup(uint64_t capacity)
{
    make(capacity);
    uint32_t no = 0;
    XP_ASSERT_EQ(weir_watch_init(&s.watch, "shutdown", sizeof(no), &no), 0);
    s.has_watch = true;
}
static void watch_setup_1(void)
{
    watch_setup(1);
}
static void watch_setup_2(void)
{
    watch_setup(2);
}
static void listener_that_refuses(void)
{
    for (uint32_t job = 0; job < 2; job++) {
        int error = try_send_job(job);
        XP_ASSERT(error == 0 || error == -WEIR_E_BUSY, "sent, or refused when full");
    }
}
static void worker_until_told(void)
{
    int error;
    while ((error = recv_job(&s.shutdown)) == 0) {}
    XP_ASSERT_EQ(error, -WEIR_E_CANCELED);
    uint32_t told = 0;
    weir_watch_get(&s.watch, &told, NULL);
    XP_ASSERT_EQ(told, 1);
}
static void supervisor(void)
{
    uint32_t yes = 1;
    XP_ASSERT_EQ(weir_watch_set(&s.watch, &yes), 0);
    weir_cancel_fire(&s.shutdown);
}
XP_SCENARIO(queue_shutdown_by_watch_1,
            .about = "capacity 1: the worker handles the job or sees the shutdown, nothing is lost",
            XP_STATE(s), .setup = watch_setup_1,
            .threads = {listener_that_refuses, worker_until_told, supervisor}, .check = check,
            .bound = 3, .tso = true)
XP_SCENARIO(queue_shutdown_by_watch_2,
            .about = "capacity 2: the worker handles the job or sees the shutdown, nothing is lost",
            XP_STATE(s), .setup = watch_setup_2,
            .threads = {listener_that_refuses, worker_until_told, supervisor}, .check = check,
            .bound = 3, .tso = true)

/* ---- grants that meet the end of a wait ---- */

static void timed_receiver(void)
{
    uint32_t job = JOBS;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int error = weir_queue_recv(&s.queue, &job, &deadline);
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT, "an item or a time-out");
    if (!error)
        handle(job);
    else
        XP_ASSERT_EQ(job, JOBS);
}
static void sender_of_two(void)
{
    XP_ASSERT_EQ(send_job(0), 0);
    XP_ASSERT_EQ(try_send_job(1), 0);
}
XP_SCENARIO(queue_timeout_vs_send,
            .about = "an item meets the end of a wait: received or still there, never lost",
            XP_STATE(s), .setup = setup_2,
            .threads = {timed_receiver, timed_receiver, sender_of_two}, .check = check, .bound = 3,
            .spurious = 1, .tso = true)

static void full_setup(void)
{
    make(1);
    XP_ASSERT_EQ(try_send_job(0), 0);
}
static void timed_sender(void)
{
    uint32_t job = 1;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int error = weir_queue_send(&s.queue, &job, &deadline);
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT, "sent or a time-out");
    s.accepted[job] += !error;
}
static void receiver_of_one(void)
{
    XP_ASSERT_EQ(recv_job(&s.never), 0);
}
static void sender_of_one(void)
{
    XP_ASSERT_EQ(send_job(2), 0);
}
static void receiver_of_two(void)
{
    XP_ASSERT_EQ(recv_job(&s.never), 0);
    XP_ASSERT_EQ(recv_job(&s.never), 0);
}
XP_SCENARIO(queue_timeout_vs_recv,
            .about = "room meets the end of a wait: the queue has the item or the sender has it",
            XP_STATE(s), .setup = full_setup,
            .threads = {timed_sender, receiver_of_two, sender_of_one}, .check = check, .bound = 3,
            .tso = true)

/* ---- order ---- */

static bool has_senders(void *arg)
{
    return s.queue._senders_waiting >= *(unsigned *)arg || s.count > 0;
}
static void first_in_line(void)
{
    XP_ASSERT_EQ(send_job(1), 0);
}
static void second_in_line(void)
{
    unsigned one = 1;
    xp_await(has_senders, &one);
    XP_ASSERT_EQ(send_job(2), 0);
}
static void receiver_of_three(void)
{
    unsigned two = 2;
    xp_await(has_senders, &two);
    for (int i = 0; i < 3; i++) {
        XP_ASSERT_EQ(recv_job(&s.never), 0);
        XP_ASSERT_EQ(s.order[i], i);
    }
}
XP_SCENARIO(queue_fifo, .about = "senders in line are served in the order in which they came",
            XP_STATE(s), .setup = full_setup,
            .threads = {first_in_line, second_in_line, receiver_of_three}, .check = check,
            .bound = 3, .tso = true)

/* One wants to reserve and stands first; the only slot is taken, and a receiver waits. */
static void reserved_setup(void)
{
    make(1);
    XP_ASSERT_EQ(weir_queue_try_reserve(&s.queue, &s.slot), 0);
}
static bool is_reserver_in_line(void *arg)
{
    (void)arg;
    return s.queue._senders_waiting > 0;
}
static void reserver(void)
{
    struct weir_queue_slot slot = WEIR_QUEUE_SLOT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    XP_ASSERT_EQ(weir_queue_reserve(&s.queue, &slot, &deadline), 0);
    XP_ASSERT(s.tried, "the slot was held until then");
    weir_queue_abandon(&slot);
}
static void newcomer(void)
{
    xp_await(is_reserver_in_line, NULL);
    XP_ASSERT_EQ(try_send_job(2), -WEIR_E_BUSY);
    s.tried = 1;
    uint32_t job = 0;
    s.accepted[job]++;
    weir_queue_commit(&s.slot, &job);
}
XP_SCENARIO(queue_no_overtaking,
            .about = "a newcomer does not pass who stands in line, even to a waiting receiver",
            XP_STATE(s), .setup = reserved_setup, .threads = {reserver, newcomer, receiver_of_one},
            .check = check, .bound = 3, .tso = true)

/* ---- who leaves holds nobody up ---- */

static void impatient_reserver(void)
{
    struct weir_queue_slot slot = WEIR_QUEUE_SLOT_NONE;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    XP_ASSERT_EQ(weir_queue_reserve(&s.queue, &slot, &deadline), -WEIR_E_TIMEOUT);
}
static void leave_check(void)
{
    weir_queue_abandon(&s.slot);
    check();
}
XP_SCENARIO(queue_leave_head,
            .about = "when the first in line gives up, those behind it are looked at again",
            XP_STATE(s), .setup = reserved_setup,
            .threads = {impatient_reserver, sender_of_one, receiver_of_one}, .check = leave_check,
            .bound = 3, .tso = true)

/* ---- reservations ---- */

static void commits_or_abandons(void)
{
    uint32_t job = 0;
    if (xp_choose(2)) {
        s.accepted[job]++;
        weir_queue_commit(&s.slot, &job);
    } else {
        weir_queue_abandon(&s.slot);
    }
}
static void sender_or_closed(void)
{
    int error = send_job(1);
    XP_ASSERT(error == 0 || error == -WEIR_E_CLOSED, "sent, or refused because of close");
}
static void closes_and_receives(void)
{
    if (xp_choose(2)) {
        weir_queue_close(&s.queue);
        worker_until_closed();
        XP_ASSERT(!s.slot._queue, "closed for receivers while a slot is still reserved");
    } else {
        struct weir_deadline deadline = weir_deadline_until(&s.never);
        uint32_t job = JOBS;
        XP_ASSERT_EQ(weir_queue_recv(&s.queue, &job, &deadline), 0);
        handle(job);
    }
}
XP_SCENARIO(queue_reserve,
            .about = "a reserved slot is honoured after close, an abandoned one serves the line",
            XP_STATE(s), .setup = reserved_setup,
            .threads = {commits_or_abandons, sender_or_closed, closes_and_receives}, .check = check,
            .bound = 3, .tso = true)

/* Nobody receives: the abandoned slot itself must serve who waits for it. */
static void abandons(void)
{
    weir_queue_abandon(&s.slot);
}
XP_SCENARIO(queue_abandon, .about = "an abandoned slot goes to the first in line", XP_STATE(s),
            .setup = reserved_setup, .threads = {abandons, sender_of_one}, .check = check,
            .bound = 3, .tso = true)

/* ---- batches ---- */

static void batch_sender(void)
{
    static const uint32_t jobs[2] = {0, 1};
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    size_t sent = 0;
    XP_ASSERT_EQ(weir_queue_send_many(&s.queue, jobs, 2, &sent, &deadline), 0);
    XP_ASSERT_EQ(sent, 2);
    s.accepted[0]++;
    s.accepted[1]++;
}
static void batch_receiver(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    while (s.count < 3) {
        uint32_t jobs[JOBS];
        size_t received = 0;
        XP_ASSERT_EQ(weir_queue_recv_many(&s.queue, jobs, JOBS, &received, &deadline), 0);
        XP_ASSERT(received >= 1 && received <= 3, "what was taken is counted");
        for (size_t i = 0; i < received; i++)
            handle(jobs[i]);
    }
    bool is_whole = (s.order[0] == 0 && s.order[1] == 1) || (s.order[1] == 0 && s.order[2] == 1);
    XP_ASSERT(is_whole, "a batch was mixed with another sender's item");
}
XP_SCENARIO(queue_batch, .about = "a batch stays together and comes out in order", XP_STATE(s),
            .setup = setup_1, .threads = {batch_sender, sender_of_one, batch_receiver},
            .check = check, .bound = 3, .tso = true)
