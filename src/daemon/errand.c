/* errand.c - what other threads do for a request, and the end of waiting for it.
 *
 *     WAITS --worker--> READS --> WORKS --> DONE
 *        |                          |         |
 *        +-------- deadline --------+         +--> the loop answers
 *                     v
 *            the request is answered (504), or its answer cut if that has begun;
 *            the job goes on alone and is freed at its end
 *
 * A worker that ends in the middle of a job gives the job up: its request is answered (500), or its
 * answer cut, and what the job held is given back by the worker.
 *
 * While a job READS it looks at the request, which therefore cannot be answered; that is computing,
 * never waiting. Who takes the request from the job, under the lock, is who answers it: the worker
 * that is done or ends, or the clock. So it is answered once.
 */
#include <weir/error.h>

#include "alloc.h"
#include "daemon_part.h"
#include "errand_mutants.h"

#include "banned.h"

#define BYTES_MAX (4u << 20) /* of one upload, or of the text of an answer */
#define LATE_MAX  64u        /* that one look at the clock answers; the next follows at once */

static void unlink_job(struct weir__daemon *daemon, struct weir__errand *job)
{
    *(job->_prev ? &job->_prev->_next : &daemon->jobs) = job->_next;
    if (job->_next)
        job->_next->_prev = job->_prev;
    job->_prev = job->_next = NULL;
    daemon->jobs_count--;
}

static void free_job(struct weir__errand *job)
{
    if (job->daemon->service->fini_job)
        job->daemon->service->fini_job(job);
    weir_permit_release(&job->turn);
    weir__buffer_fini(&job->bytes);
    weir__base_free(job);
}

static struct weir__errand *
new_job(struct weir__exchange *exchange,
        void (*work)(struct weir__errand *job, struct weir__worker *worker), uint64_t deadline_ns)
{
    struct weir__daemon *daemon = weir__exchange_arg(exchange);
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    struct weir__errand *job = weir__base_alloc(1, daemon->service->job_size);
    if (!job)
        return NULL;
    job->daemon = daemon;
    job->work = work;
    job->exchange = exchange;
    job->way = ask->way;
    job->deadline_ns = deadline_ns;
    enum weir__http_method method = weir__exchange_method(exchange);
    job->needs_client = method == WEIR__HTTP_GET || method == WEIR__HTTP_HEAD;
    weir__buffer_init(&job->bytes, BYTES_MAX);
    if (daemon->service->init_job)
        daemon->service->init_job(job, ask);
    ask->job = job;
    weir_lock_acquire(&daemon->jobs_lock);
    job->_next = daemon->jobs;
    if (daemon->jobs)
        daemon->jobs->_prev = job;
    daemon->jobs = job;
    daemon->jobs_count++;
    weir_lock_release(&daemon->jobs_lock);
    return job;
}

struct weir__errand *weir__errand_new(struct weir__exchange *exchange,
                                      void (*work)(struct weir__errand *job,
                                                   struct weir__worker *worker))
{
    struct weir__errand *job = new_job(exchange, work, weir__exchange_deadline(exchange).at_ns);
    if (!job)
        weir__daemon_refuse(exchange, -WEIR_E_NO_MEMORY, NULL);
    return job;
}

struct weir__errand *weir__errand_new_step(struct weir__exchange *exchange,
                                           void (*work)(struct weir__errand *job,
                                                        struct weir__worker *worker))
{
    struct weir__daemon *daemon = weir__exchange_arg(exchange);
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    uint64_t until_ns = weir_time_add(weir_now_ns(), weir__daemon_deadline_ns(daemon));
    uint64_t end_ns = weir__exchange_end_ns(exchange);
    weir__errand_take_back(ask);
    weir__errand_leave(ask->job);
    ask->job = NULL;
    struct weir__errand *job = new_job(exchange, work, until_ns < end_ns ? until_ns : end_ns);
    if (!job)
        return NULL;
    job->is_step = true;
    job->needs_client = false; /* the answer is to be ended, one way or the other */
    if (daemon->service->lend)
        daemon->service->lend(job, ask);
    return job;
}

void weir__errand_take_back(struct weir__daemon_ask *ask)
{
    struct weir__errand *job = ask->job;
    if (!job || !job->is_step || WEIR__ERRAND_MUTANT(ERRAND_STEP_KEEPS))
        return;
    if (job->daemon->service->take_back)
        job->daemon->service->take_back(job, ask);
    job->is_step = false;
}

void weir__errand_left(struct weir__exchange *exchange, bool is_gone)
{
    struct weir__daemon *daemon = weir__exchange_arg(exchange);
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    weir_lock_acquire(&daemon->jobs_lock);
    ask->has_ended = true;
    ask->is_gone = ask->is_gone || is_gone;
    weir_lock_release(&daemon->jobs_lock);
}

/* Under the lock, while which no request ends that a job has. Who has closed his sending side may
 * be gone as well, and nothing tells that until an answer is sent. He is believed to wait, but not
 * for what has stood behind others of his address (has_waited): those are the many that somebody
 * asks for who then hangs up. */
static bool is_wanted(const struct weir__errand *job, struct weir__exchange *exchange,
                      bool has_waited)
{
    if (exchange && job->needs_client) {
        const struct weir__daemon_ask *ask = weir__exchange_private(exchange);
        if (ask->is_gone || (has_waited && ask->has_ended))
            return false;
    }
    return !job->is_late && !job->daemon->is_ending;
}

bool weir__errand_begin(struct weir__errand *job)
{
    struct weir__daemon *daemon = job->daemon;
    weir_lock_acquire(&daemon->jobs_lock);
    struct weir__exchange *exchange = job->exchange;
    if (WEIR__ERRAND_MUTANT(ERRAND_LEFT_LETS_GO)) {
        weir_lock_release(&daemon->jobs_lock);
        weir_lock_acquire(&daemon->jobs_lock);
    }
    bool begins = is_wanted(job, exchange, false);
    if (begins)
        job->state = WEIR__ERRAND_WORKS;
    weir_lock_release(&daemon->jobs_lock);
    return begins;
}

void weir__errand_drop(struct weir__errand *job)
{
    struct weir__daemon *daemon = job->daemon;
    weir_lock_acquire(&daemon->jobs_lock);
    daemon->jobs_dropped += daemon->is_ending;
    weir_lock_release(&daemon->jobs_lock);
    weir__errand_finish(job, -WEIR_E_CANCELED, NULL);
}

uint64_t weir__errands_end(struct weir__daemon *daemon)
{
    uint64_t begun = 0;
    weir_lock_acquire(&daemon->jobs_lock);
    daemon->is_ending = true;
    for (const struct weir__errand *job = daemon->jobs; job; job = job->_next)
        begun += job->state != WEIR__ERRAND_WAITS;
    weir_lock_release(&daemon->jobs_lock);
    return begun;
}

void weir__errand_send(struct weir__errand *job, struct weir_queue *line)
{
    struct weir__exchange *exchange = job->exchange;
    int error = weir_queue_try_send(line, &job);
    if (error)
        weir__errand_refuse(job, exchange, error);
}

int weir__errand_try_send(struct weir__errand *job, struct weir_queue *line)
{
    struct weir__daemon *daemon = job->daemon;
    weir_lock_acquire(&daemon->jobs_lock);
    bool begins = is_wanted(job, job->exchange, true);
    weir_lock_release(&daemon->jobs_lock);
    return begins ? weir_queue_try_send(line, &job) : -WEIR_E_CANCELED;
}

void weir__errand_refuse(struct weir__errand *job, struct weir__exchange *exchange, int error)
{
    struct weir__daemon *daemon = job->daemon;
    weir_lock_acquire(&daemon->jobs_lock);
    /* The clock may have been faster, and answers then. */
    bool is_ours = job->exchange != NULL || WEIR__ERRAND_MUTANT(ERRAND_UNSENT_NOT_ASKED);
    if (is_ours && !WEIR__ERRAND_MUTANT(ERRAND_UNSENT_LISTED))
        unlink_job(daemon, job);
    weir_lock_release(&daemon->jobs_lock);
    bool is_step = job->is_step;
    free_job(job);
    if (!is_ours)
        return;
    if (!WEIR__ERRAND_MUTANT(ERRAND_UNSENT_STAYS))
        ((struct weir__daemon_ask *)weir__exchange_private(exchange))->job = NULL;
    if (error == -WEIR_E_CLOSED && !WEIR__ERRAND_MUTANT(ERRAND_CLOSED_IS_BUSY))
        error = -WEIR_E_DRAINING;
    if (is_step) {
        weir__exchange_cut(exchange);
        weir__exchange_post(exchange);
    } else
        weir__daemon_refuse(exchange, error, NULL);
}

struct weir__exchange *weir__errand_begin_reading(struct weir__errand *job)
{
    struct weir__daemon *daemon = job->daemon;
    weir_lock_acquire(&daemon->jobs_lock);
    struct weir__exchange *exchange = job->exchange;
    job->state = WEIR__ERRAND_READS;
    weir_lock_release(&daemon->jobs_lock);
    return exchange;
}

void weir__errand_end_reading(struct weir__errand *job)
{
    struct weir__daemon *daemon = job->daemon;
    weir_lock_acquire(&daemon->jobs_lock);
    job->state = WEIR__ERRAND_WORKS;
    weir_lock_release(&daemon->jobs_lock);
}

void weir__errand_finish(struct weir__errand *job, int result, const char *message)
{
    struct weir__daemon *daemon = job->daemon;
    job->result = result;
    job->message = message;
    weir_lock_acquire(&daemon->jobs_lock);
    struct weir__exchange *exchange = job->exchange;
    if (WEIR__ERRAND_MUTANT(ERRAND_FINISH_LETS_GO)) {
        weir_lock_release(&daemon->jobs_lock);
        weir_lock_acquire(&daemon->jobs_lock);
    }
    job->state = WEIR__ERRAND_DONE;
    job->exchange = NULL;
    if (exchange)
        unlink_job(daemon, job);
    weir_lock_release(&daemon->jobs_lock);
    if (exchange)
        weir__exchange_post(exchange);
    else if (!WEIR__ERRAND_MUTANT(ERRAND_ALONE_IS_LEFT))
        free_job(job);
}

void weir__errand_leave(struct weir__errand *job)
{
    if (job)
        free_job(job);
}

/* On the loop's thread. The job is on its own. */
static void answer_without(struct weir__exchange *exchange, int error)
{
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    if (!WEIR__ERRAND_MUTANT(ERRAND_LATE_KEEPS_JOB))
        ask->job = NULL;
    if (weir__exchange_is_answered(exchange)) {
        (void)weir__daemon_tell_failure(exchange, error, NULL, NULL);
        weir__exchange_cut(exchange);
    } else
        weir__daemon_refuse(exchange, error, NULL);
}

static void answer_late(struct weir__exchange *exchange, void *arg)
{
    struct weir__daemon *daemon = weir__exchange_arg(exchange);
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    (void)arg;
    if (daemon->service->late && !weir__exchange_is_answered(exchange)) {
        ask->job = NULL;
        if (daemon->service->late(exchange, ask))
            return;
    }
    answer_without(exchange, -WEIR_E_TIMEOUT);
}

static void answer_given_up(struct weir__exchange *exchange, void *arg)
{
    (void)arg;
    answer_without(exchange, -WEIR_E_INTERNAL);
}

/* Under the lock: the request is the caller's to answer, if the job has it still. */
static struct weir__exchange *take_exchange(struct weir__errand *job)
{
    struct weir__exchange *exchange = job->exchange;
    if (exchange)
        unlink_job(job->daemon, job);
    job->exchange = NULL;
    job->is_late = true;
    return exchange;
}

void weir__errand_give_up(struct weir__errand *job)
{
    struct weir__daemon *daemon = job->daemon;
    weir_lock_acquire(&daemon->jobs_lock);
    struct weir__exchange *exchange =
        WEIR__ERRAND_MUTANT(ERRAND_GIVEN_UP_SHARED) ? job->exchange : take_exchange(job);
    weir_lock_release(&daemon->jobs_lock);
    if (exchange)
        weir__exchange_call(exchange, answer_given_up, NULL);
    weir__errand_finish(job, -WEIR_E_INTERNAL, NULL);
}

static size_t take_late(struct weir__daemon *daemon, uint64_t now_ns,
                        struct weir__exchange *late[LATE_MAX])
{
    size_t count = 0;
    weir_lock_acquire(&daemon->jobs_lock);
    for (struct weir__errand *job = daemon->jobs, *next; job && count < LATE_MAX; job = next) {
        next = job->_next;
        bool is_read = job->state == WEIR__ERRAND_READS;
        if (job->deadline_ns > now_ns ||
            (is_read && !WEIR__ERRAND_MUTANT(ERRAND_CLOCK_TAKES_READING)))
            continue;
        late[count++] = take_exchange(job);
    }
    weir_lock_release(&daemon->jobs_lock);
    return count;
}

void weir__errands_tick(struct weir__daemon *daemon, uint64_t now_ns)
{
    struct weir__exchange *late[LATE_MAX];
    size_t count;
    do {
        count = take_late(daemon, now_ns, late);
        weir_counter_add(&daemon->counts.late, count); /* first: who was told may look */
        for (size_t i = 0; i < count; i++)
            weir__exchange_call(late[i], answer_late, NULL);
    } while (count == LATE_MAX);
}
