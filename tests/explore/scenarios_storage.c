/* scenarios_storage.c - requests of the storage service and the jobs that are done for them: loop,
 * line, worker, clock and shutdown, as src/daemon/errand.c and src/storage/job.c have them.
 *
 * In place of the server stand a few functions here. An exchange is out while somebody else has it;
 * who posts it gives it back, once, and its loop then resumes or calls, answers, and ends it. After
 * that its request must not be looked at.
 */
#include "xp.h"

#include "daemon_part.h"
#include "storage_part.h"

#define REQUESTS 2

struct weir__exchange {
    struct weir__ask ask;
    bool is_out;  /* with a job */
    bool is_home; /* posted, and not yet seen by its loop */
    bool is_gone;
    void (*call)(struct weir__exchange *exchange, void *arg);
    bool has_begun; /* its answer: a step of it is done */
    unsigned answered, cut;
    int error; /* that it was answered with */
};

struct weir__file_answer {
    bool is_freed;
};

static struct {
    struct weir__storage storage;
    struct weir__exchange exchanges[REQUESTS];
    struct weir__file_answer file;
    struct weir_cancel abort;
    size_t pieces;
    unsigned made, freed, worked;
    uint64_t begun; /* and not done when the time was up */
    bool is_over;   /* the worker has ended */
} s;

static const struct weir_lock_class jobs_class = {"jobs", 320};

/* What jobs ask of their service. */
static const struct weir__daemon_service service = {
    .name = "storage",
    .job_size = sizeof(struct weir__job),
    .init_job = weir__job_init,
    .fini_job = weir__job_fini,
    .lend = weir__job_lend,
    .take_back = weir__job_take_back,
};

/* --- in place of the server and the store --- */

void *weir__exchange_arg(const struct weir__exchange *exchange)
{
    (void)exchange;
    return &s.storage;
}

void *weir__exchange_private(struct weir__exchange *exchange)
{
    XP_ASSERT(!exchange->is_gone, "the block of a request that has ended is looked at");
    return &exchange->ask;
}

enum weir__http_method weir__exchange_method(const struct weir__exchange *exchange)
{
    (void)exchange;
    return WEIR__HTTP_GET;
}

struct weir_deadline weir__exchange_deadline(struct weir__exchange *exchange)
{
    (void)exchange;
    return (struct weir_deadline){.at_ns = XP_START_NS + 1};
}

void weir__exchange_call(struct weir__exchange *exchange,
                         void (*fn)(struct weir__exchange *exchange, void *arg), void *arg)
{
    (void)arg;
    XP_ASSERT(exchange->is_out, "it is given back by who does not have it");
    exchange->is_out = false;
    exchange->call = fn;
    exchange->is_home = true;
}

void weir__exchange_post(struct weir__exchange *exchange)
{
    weir__exchange_call(exchange, NULL, NULL);
}

static void answer(struct weir__exchange *exchange, int error)
{
    XP_ASSERT(!exchange->is_gone, "what is gone is answered");
    exchange->answered++;
    exchange->error = error;
}

void weir__daemon_refuse(struct weir__exchange *exchange, int error, const char *message)
{
    (void)message;
    exchange->is_out = false;
    answer(exchange, error);
}

bool weir__daemon_tell_failure(const struct weir__exchange *exchange, int error, const char *about,
                               const char *reason)
{
    (void)error, (void)about, (void)reason;
    XP_ASSERT(!exchange->is_gone, "what is gone is told of");
    return true;
}

uint64_t weir__daemon_deadline_ns(struct weir__daemon *daemon)
{
    (void)daemon;
    return WEIR_NS_PER_S;
}

uint64_t weir__exchange_end_ns(const struct weir__exchange *exchange)
{
    (void)exchange;
    return XP_START_NS + 1;
}

bool weir__exchange_is_answered(const struct weir__exchange *exchange)
{
    return exchange->has_begun;
}

void weir__exchange_cut(struct weir__exchange *exchange)
{
    XP_ASSERT(!exchange->is_gone, "what is gone is cut");
    exchange->cut++;
}

static void free_file(struct weir__file_answer *file)
{
    XP_ASSERT(!file || !file->is_freed, "a file is freed twice");
    if (file)
        file->is_freed = true;
}

/* Each job that is freed comes here once. */
void weir__file_answer_free(struct weir__file_answer *file)
{
    XP_ASSERT(s.freed++ < s.made, "a job is freed twice");
    free_file(file);
}

void weir__quota_give(struct weir__quota_hold *hold)
{
    (void)hold; /* nothing was taken */
}

/* --- what workers do --- */

static void look_at(const struct weir__exchange *exchange)
{
    XP_ASSERT(!exchange->is_gone, "a request that has ended is read");
}

static void work(struct weir__errand *job, struct weir__worker *worker)
{
    (void)worker;
    struct weir__exchange *exchange = weir__errand_begin_reading(job);
    if (exchange) {
        look_at(exchange);
        xp_point();
        look_at(exchange);
    }
    weir__errand_end_reading(job);
    s.worked++;
    weir__errand_finish(job, 0, NULL);
}

/* A step: what is being sent is used, whoever waits. */
static void work_step(struct weir__errand *job, struct weir__worker *worker)
{
    (void)worker;
    XP_ASSERT(!weir__job_of(job)->file->is_freed, "a file that was freed is used");
    xp_point();
    XP_ASSERT(!weir__job_of(job)->file->is_freed, "a file is freed while it is used");
    s.worked++;
    weir__errand_finish(job, 0, NULL);
}

/* As the pools do: until the line is closed and empty, or abort. */
static void works(void)
{
    struct weir_deadline until_abort = weir_deadline_until(&s.abort);
    struct weir__errand *job;
    int error;
    while ((error = weir_queue_recv(&s.storage.daemon.lines[WEIR__LINE_READS], &job,
                                    &until_abort)) == 0) {
        if (weir__errand_begin(job))
            job->work(job, NULL);
        else
            weir__errand_drop(job);
    }
    XP_ASSERT(error == -WEIR_E_CLOSED || weir_cancel_is_fired(&s.abort), "a worker ends early");
    s.is_over = true;
}

/* A worker that takes one job and ends in the middle of it. */
static void ends_in_the_middle(void)
{
    struct weir_deadline until_abort = weir_deadline_until(&s.abort);
    struct weir__errand *job;
    XP_ASSERT_EQ(weir_queue_recv(&s.storage.daemon.lines[WEIR__LINE_READS], &job, &until_abort), 0);
    if (weir__errand_begin(job)) {
        XP_ASSERT(!weir__job_of(job)->file->is_freed, "a file that was freed is used");
        xp_point();
        XP_ASSERT(!weir__job_of(job)->file->is_freed, "a file is freed while it is used");
        weir__errand_give_up(job);
    } else
        weir__errand_drop(job);
    s.is_over = true;
}

/* --- what loops do --- */

static void ends(struct weir__exchange *exchange)
{
    exchange->is_gone = true;
    weir__errand_leave(exchange->ask.head.job);
    exchange->ask.head.job = NULL;
}

static void begins(struct weir__exchange *exchange)
{
    struct weir__errand *job = weir__errand_new(exchange, work);
    if (!job)
        return;
    s.made++;
    exchange->is_out = true;
    weir__errand_send(job, &s.storage.daemon.lines[WEIR__LINE_READS]);
}

static bool is_home(void *arg)
{
    const struct weir__exchange *exchange = arg;
    return exchange->is_home || exchange->answered > 0;
}

static void resumes(struct weir__exchange *exchange)
{
    xp_await(is_home, exchange);
    if (!exchange->is_home)
        return; /* it was answered when it began */
    exchange->is_home = false;
    if (exchange->call)
        exchange->call(exchange, NULL);
    else
        answer(exchange, exchange->ask.head.job->result);
}

/* The answer goes on, and ends early if its step is cut. */
static void streams(void)
{
    struct weir__exchange *exchange = &s.exchanges[0];
    struct weir__ask *ask = &exchange->ask;
    exchange->has_begun = true;
    ask->file = &s.file;
    ask->chunk.fd = -1;
    struct weir__errand *job = weir__errand_new_step(exchange, work_step);
    s.made += job != NULL;
    if (!job) {
        free_file(ask->file);
        return;
    }
    exchange->is_out = true;
    weir__errand_send(job, &s.storage.daemon.lines[WEIR__LINE_READS]);
    xp_await(is_home, exchange);
    if (exchange->call)
        exchange->call(exchange, NULL);
    xp_point();
    weir__errand_take_back(&ask->head);
    XP_ASSERT(exchange->cut || (ask->file && !ask->file->is_freed), "the file is not given back");
    free_file(ask->file);
    ends(exchange);
    weir_queue_close(&s.storage.daemon.lines[WEIR__LINE_READS]);
}

static void serves_one(unsigned index)
{
    begins(&s.exchanges[index]);
    resumes(&s.exchanges[index]);
    xp_point();
    ends(&s.exchanges[index]);
}

static void serves_first(void)
{
    serves_one(0);
    weir_queue_close(&s.storage.daemon.lines[WEIR__LINE_READS]);
}

/* The client goes as soon as it has asked. */
static void serves_who_leaves(void)
{
    struct weir__exchange *exchange = &s.exchanges[0];
    begins(exchange);
    xp_point();
    weir__errand_left(exchange, true);
    resumes(exchange);
    xp_point();
    ends(exchange);
    weir_queue_close(&s.storage.daemon.lines[WEIR__LINE_READS]);
}

static void serves_second(void)
{
    serves_one(1);
}

/* One loop with two connections. */
static void serves_both(void)
{
    begins(&s.exchanges[0]);
    begins(&s.exchanges[1]);
    for (unsigned i = 0; i < REQUESTS; i++) {
        resumes(&s.exchanges[i]);
        ends(&s.exchanges[i]);
    }
}

static void is_late(void)
{
    weir__errands_tick(&s.storage.daemon, XP_START_NS + 1);
}

/* --- the end --- */

static void drop(void *arg, void *item)
{
    (void)arg;
    weir__errand_drop(*(struct weir__errand **)item);
}

static bool is_over(void *arg)
{
    (void)arg;
    return s.is_over;
}

/* As a drain whose deadline has passed: what is in line is dropped, each job once. */
static void shuts_down(void)
{
    s.begun = weir__errands_end(&s.storage.daemon);
    weir_queue_close(&s.storage.daemon.lines[WEIR__LINE_READS]);
    weir_cancel_fire(&s.abort);
    xp_await(is_over, NULL);
    weir_queue_drain(&s.storage.daemon.lines[WEIR__LINE_READS], drop, NULL);
}

static void begin(uint64_t capacity)
{
    s.pieces = xp_pieces();
    s.storage.daemon.service = &service;
    weir_lock_init(&s.storage.daemon.jobs_lock, &jobs_class);
    weir_cancel_init(&s.abort, NULL);
    XP_ASSERT_EQ(
        weir_queue_init(&s.storage.daemon.lines[WEIR__LINE_READS], "work",
                        &(struct weir_queue_options){sizeof(struct weir__errand *), capacity}),
        0);
}

static void begin_one(void)
{
    begin(1);
}

static void begin_two(void)
{
    begin(2);
}

static void check(unsigned requests)
{
    for (unsigned i = 0; i < requests; i++)
        XP_ASSERT_EQ(s.exchanges[i].answered, 1);
    XP_ASSERT_EQ(s.freed, s.made);
    XP_ASSERT(!s.storage.daemon.jobs && s.storage.daemon.jobs_count == 0,
              "a job is left in the list");
    XP_ASSERT_EQ(weir_queue_depth(&s.storage.daemon.lines[WEIR__LINE_READS]), 0);
    weir_queue_drain(&s.storage.daemon.lines[WEIR__LINE_READS], NULL, NULL);
    weir_queue_fini(&s.storage.daemon.lines[WEIR__LINE_READS]);
    weir_cancel_fini(&s.abort);
    weir_lock_fini(&s.storage.daemon.jobs_lock);
    XP_ASSERT_EQ(xp_pieces(), s.pieces);
}

static void check_late(void)
{
    int error = s.exchanges[0].error;
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT, "answered with something else");
    XP_ASSERT_EQ(weir_counter_value(&s.storage.daemon.counts.late), error == -WEIR_E_TIMEOUT);
    XP_ASSERT(error ? s.worked <= 1 : s.worked == 1, "worked for nobody, or not at all");
    check(1);
}

static void check_left(void)
{
    int error = s.exchanges[0].error;
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT || error == -WEIR_E_CANCELED,
              "answered with something else");
    XP_ASSERT(error == -WEIR_E_CANCELED ? s.worked == 0 : error || s.worked == 1,
              "worked for nobody, or not at all");
    check(1);
}

static void check_step(void)
{
    s.exchanges[0].answered = 1;
    XP_ASSERT(s.file.is_freed, "a file is left");
    XP_ASSERT(s.exchanges[0].cut <= 1, "cut twice");
    check(1);
}

static void check_given_up(void)
{
    XP_ASSERT_EQ(s.exchanges[0].cut, 1);
    check_step();
}

static void check_full(void)
{
    unsigned refused = 0;
    for (unsigned i = 0; i < REQUESTS; i++)
        refused += s.exchanges[i].error == -WEIR_E_BUSY;
    XP_ASSERT(refused < REQUESTS, "all are refused, and there was room");
    check(REQUESTS);
}

static void check_shutdown(void)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        int error = s.exchanges[i].error;
        XP_ASSERT(error == 0 || error == -WEIR_E_CANCELED || error == -WEIR_E_DRAINING,
                  "neither done nor told of the shutdown");
    }
    /* Each that was taken into the line was worked off or is counted as dropped. */
    unsigned refused = 0;
    for (unsigned i = 0; i < REQUESTS; i++)
        refused += s.exchanges[i].error == -WEIR_E_DRAINING;
    XP_ASSERT_EQ(s.worked + s.storage.daemon.jobs_dropped + refused, REQUESTS);
    XP_ASSERT(s.begun <= s.worked, "what was begun is not done");
    check(REQUESTS);
}

XP_SCENARIO(storage_client_leaves,
            .about = "a job whose client goes is begun or dropped, and is never behind its request",
            XP_STATE(s), .setup = begin_one, .threads = {serves_who_leaves, works, is_late},
            .check = check_left, .bound = 2)

XP_SCENARIO(storage_done_or_late,
            .about = "a request is answered once, by its worker or by the clock", XP_STATE(s),
            .setup = begin_one, .threads = {serves_first, works, is_late}, .check = check_late,
            .bound = 3)

XP_SCENARIO(storage_step_cut,
            .about = "a step of an answer: what is sent is used by one, and freed once",
            XP_STATE(s), .setup = begin_one, .threads = {streams, works, is_late},
            .check = check_step, .bound = 3)

XP_SCENARIO(storage_worker_ends,
            .about = "a worker ends in the middle of a step: the answer is cut, once", XP_STATE(s),
            .setup = begin_one, .threads = {streams, ends_in_the_middle, is_late},
            .check = check_given_up, .bound = 3)

/* Nobody takes what is in line before both were begun, or it is taken in between. */
XP_SCENARIO(storage_line_full, .about = "a full line refuses, once, though the clock was faster",
            XP_STATE(s), .setup = begin_one,
            .threads = {serves_second, serves_first, works, is_late}, .check = check_full,
            .bound = 2)

XP_SCENARIO(storage_shutdown,
            .about = "line of two and shutdown: each job is done or told of it, once", XP_STATE(s),
            .setup = begin_two, .threads = {serves_both, works, shuts_down},
            .check = check_shutdown, .bound = 3)
