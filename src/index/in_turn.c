/* in_turn.c - jobs on their way to a line: an address has half of the threads behind it at most.
 *
 *     loop --enter--> line --> thread, which passes the turn on when it is done with the job
 *        |                       ^
 *        +--its address has all--+ by who passes a turn on (turns.h)
 *
 * That holds for lookups, which have resolvers waiting for others, and for what this node does by
 * itself: a question of a sibling has up to 256 signatures to be verified, and a list a thousand
 * names, so that one who asks for these as fast as it can would keep everybody from changing
 * anything.
 */
#include <stddef.h>

#include <weir/error.h>

#include "index_part.h"

#include "banned.h"

static struct weir__index_job *job_of(struct weir__lookup_turn *turn)
{
    return (struct weir__index_job *)((char *)turn - offsetof(struct weir__index_job, turn));
}

static struct weir_queue *line_of(struct weir__index *index, const struct weir__index_job *job)
{
    return &index->daemon.lines[job->line];
}

/* It has waited and has its turn. Who ends without it must not pass it on: its caller does. */
static bool go(struct weir__lookup_turn *turn)
{
    struct weir__index_job *job = job_of(turn);
    struct weir__index *index = weir__index_of(job->head.daemon);
    int error = weir__errand_try_send(&job->head, line_of(index, job));
    if (!error)
        return true;
    (void)!weir__turns_take_out(turn);
    if (error == -WEIR_E_BUSY)
        weir__errand_finish(&job->head, error, NULL);
    else
        weir__errand_drop(&job->head);
    return false;
}

/* One address has half of the room to wait at most, so that it is never all of it. There is an
 * account for each job that can be in the line or with a thread. */
static int make_one(struct weir__index *index, enum weir__index_line line, uint32_t room,
                    uint32_t threads)
{
    return weir__turns_new(&index->turns[line], &(struct weir__turns_options){
                                                    .at_once = threads / 2,
                                                    .waiting_max = room,
                                                    .waiting_each = room > 1 ? room / 2 : 1,
                                                    .accounts_max = room + threads,
                                                    .go = go,
                                                });
}

int weir__in_turn_init(struct weir__index *index, const struct weir__daemon_rules *rules)
{
    uint32_t room = (uint32_t)rules->service->queues.work;
    int error = make_one(index, WEIR__INDEX_WORK, room, (uint32_t)weir__index_resolvers(rules));
    return error ? error : make_one(index, WEIR__INDEX_OWN, room, WEIR__INDEX_OWN_THREADS);
}

void weir__in_turn_fini(struct weir__index *index)
{
    for (int line = 0; line < WEIR__INDEX_LINES; line++)
        weir__turns_free(index->turns[line]);
}

void weir__in_turn_give_up(struct weir__index_job *job)
{
    struct weir__index *index = weir__index_of(job->head.daemon);
    weir__turns_pass(index->turns[job->line], weir__turns_take_out(&job->turn));
}

/* The turn ends with what this thread does, whenever the job ends: it may be gone by then. */
static void work_in_turn(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__index_job *job = weir__index_job_of(errand);
    struct weir__turns *turns = weir__index_of(worker->daemon)->turns[job->line];
    struct weir__turns_account *account = weir__turns_take_out(&job->turn);
    job->work(errand, worker);
    weir__turns_pass(turns, account);
}

struct weir__errand *weir__in_turn_new(struct weir__exchange *exchange, enum weir__index_line line,
                                       void (*work)(struct weir__errand *job,
                                                    struct weir__worker *worker))
{
    struct weir__errand *errand = weir__errand_new(exchange, work_in_turn);
    if (!errand)
        return NULL;
    struct weir__index_job *job = weir__index_job_of(errand);
    job->line = line;
    job->work = work;
    job->method = weir__exchange_method(exchange);
    job->turn.key_size = weir__address_key(weir__exchange_client(exchange), job->turn.key);
    return errand;
}

int weir__in_turn_enter(struct weir__index_job *job)
{
    struct weir__index *index = weir__index_of(job->head.daemon);
    struct weir__errand *errand = &job->head;
    bool has_turn;
    int error = weir__turns_enter(index->turns[job->line], &job->turn, &has_turn);
    if (error || !has_turn)
        return error;
    error = weir_queue_try_send(line_of(index, job), &errand);
    if (error)
        weir__in_turn_give_up(job);
    return error;
}

void weir__in_turn_send(struct weir__exchange *exchange, struct weir__errand *errand)
{
    int error = weir__in_turn_enter(weir__index_job_of(errand));
    if (error)
        weir__errand_refuse(errand, exchange, error);
}
