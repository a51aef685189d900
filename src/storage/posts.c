/* posts.c - the threads of the service, their lines, and what a member of a pool works with.
 *
 * Readers, writers and streams are pools over a line each. The rest are the daemon's own, those who
 * repair, and one that writes quotas down.
 */
#include <weir/error.h>

#include "resources.h"
#include "storage_part.h"

#include "banned.h"

#define READERS_LEAST 4u
#define WRITERS_LEAST 2u
#define STREAMS       2u
#define QUOTA_NS      (1 * WEIR_NS_PER_S)

/* --- lines --- */

static uint64_t work_capacity(const struct weir__daemon_rules *rules)
{
    return rules->service->queues.work;
}

/* A request has one step under way at most, so this line is never full. */
static uint64_t streams_capacity(const struct weir__daemon_rules *rules)
{
    (void)rules;
    return WEIR_QUEUE_CAPACITY_MAX;
}

const struct weir__daemon_line weir__storage_lines[] = {
    [WEIR__LINE_READS] = {.name = "work-get", .capacity = work_capacity},
    [WEIR__LINE_WRITES] = {.name = "work-put", .capacity = work_capacity},
    [WEIR__LINE_STREAMS] = {.name = "streams", .capacity = streams_capacity},
    [WEIR__LINES] = {.name = NULL},
};

/* --- posts --- */

static uint64_t chosen(uint64_t asked, uint64_t otherwise, uint64_t least)
{
    uint64_t count = otherwise > least ? otherwise : least;
    return asked ? asked : count;
}

static uint64_t count_readers(const struct weir__daemon_rules *rules)
{
    return chosen(weir__storage_own(rules)->server.get_workers, 2 * weir__resources_cores(),
                  READERS_LEAST);
}

static uint64_t count_writers(const struct weir__daemon_rules *rules)
{
    return chosen(weir__storage_own(rules)->server.put_workers, weir__resources_cores(),
                  WRITERS_LEAST);
}

static uint64_t count_streams(const struct weir__daemon_rules *rules)
{
    (void)rules;
    return STREAMS;
}

static uint64_t count_repairers(const struct weir__daemon_rules *rules)
{
    (void)rules;
    return WEIR__STORAGE_REPAIRERS;
}

/* Writes down what was stored by whom, once a second when that has changed. Not the clock's work:
 * that must not wait for a disk. An error is tried again; the last time is at the drain. */
static int quota_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    struct weir_deadline turn;
    do {
        (void)!weir__quota_save(storage->quota);
        turn = weir_deadline_in(QUOTA_NS, self->stop);
    } while (weir_deadline_sleep(&turn) != -WEIR_E_CANCELED);
    return 0;
}

const struct weir__daemon_post weir__storage_posts[] = {
    {.kind = "get", .count = count_readers, .line = WEIR__LINE_READS},
    {.kind = "put", .count = count_writers, .line = WEIR__LINE_WRITES},
    {.kind = "stream", .count = count_streams, .line = WEIR__LINE_STREAMS},
    WEIR__DAEMON_POST_HEALTH,
    WEIR__DAEMON_POST_CLOCK,
    {.kind = "quota", .main = quota_main},
    {.kind = "repair", .count = count_repairers, .main = weir__repair_main},
    WEIR__DAEMON_POST_RELOAD,
    WEIR__DAEMON_POST_AUDIT,
    {.kind = NULL},
};

/* --- tools --- */

int weir__storage_init_tools(struct weir__worker *worker)
{
    weir__decoder_init(weir__decoder_of(worker));
    return weir__store_reader_init(weir__reader_of(worker));
}

void weir__storage_fini_tools(struct weir__worker *worker)
{
    weir__decoder_fini(weir__decoder_of(worker));
    weir__store_reader_fini(weir__reader_of(worker));
}
