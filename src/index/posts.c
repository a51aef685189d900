/* posts.c - the threads of the service and their lines, and the work of its janitors.
 *
 * Resolvers are the pool over the line of work: each is held for as long as others take to answer.
 * There are twice as many as one address may have at once (turns.h): whatever it asks, as many are
 * left to the others. What this node does by itself, changes, lists and what siblings ask, has
 * another pool, of which an address has half as well. All others but the daemon's own are of low
 * priority: they never have a lock or a place in a line that a resolver waits for, so a busy
 * machine delays them and nobody else.
 */
#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"
#include "resources.h"

#include "banned.h"

#define RESOLVERS_LEAST 2u
#define TEND_NS         (1 * WEIR_NS_PER_S)
/* What was seen, and could not be written. */
#define AGAIN_NS WEIR_NS_PER_S
#define KEEP_NS  (200 * WEIR_NS_PER_MS)
#define PURGE_NS (60 * WEIR_NS_PER_S)
#define SAVE_NS  (1 * WEIR_NS_PER_S)

/* --- lines --- */

static uint64_t work_capacity(const struct weir__daemon_rules *rules)
{
    return rules->service->queues.work;
}

const struct weir__daemon_line weir__index_lines[] = {
    [WEIR__INDEX_WORK] = {.name = "work", .capacity = work_capacity},
    [WEIR__INDEX_OWN] = {.name = "own", .capacity = work_capacity},
    [WEIR__INDEX_LINES] = {.name = NULL},
};

/* --- janitors --- */

static int cache_main(struct weir_crew_self *self, void *arg)
{
    weir__resources_give_way();
    return weir__cache_main(self, weir__index_of(arg)->cache);
}

/* Breakers whose time has come are half open also when nobody asks. */
static int breaker_main(struct weir_crew_self *self, void *arg)
{
    struct weir__index *index = weir__index_of(arg);
    struct weir_deadline turn;
    weir__resources_give_way();
    do {
        weir__lookup_tend(index->lookup);
        turn = weir_deadline_in(TEND_NS, self->stop);
    } while (weir_deadline_sleep(&turn) != -WEIR_E_CANCELED);
    return 0;
}

/* --- the keeper: what has expired, what is to be forgotten, and who has used how much --- */

static struct weir_gauge *gauge_of(struct weir__index_keeping *keeping,
                                   enum weir__records_action action)
{
    return action == WEIR__RECORDS_PURGE ? &keeping->purges : &keeping->forgets;
}

static void purged(struct weir__records_write *write)
{
    struct weir_gauge *under_way = gauge_of(write->arg, write->action);
    weir__base_free(write);
    weir_gauge_set(under_way, 0);
}

/* A gauge orders nothing, so it guards no memory: each write has its own. It keeps them few. */
bool weir__keeping_submit(struct weir__index_keeping *keeping, struct weir__records *records,
                          enum weir__records_action action)
{
    struct weir_gauge *under_way = gauge_of(keeping, action);
    if (weir_gauge_value(under_way) != 0)
        return false;
    struct weir__records_write *write = weir__base_alloc(1, sizeof(*write));
    if (!write)
        return false;
    *write = (struct weir__records_write){
        .action = action, .now_s = weir_wall_s(), .done = purged, .arg = keeping};
    weir_gauge_set(under_way, 1);
    if (weir__records_submit(records, write) == 0)
        return true;
    purged(write);
    return false;
}

/* 0: everything stays. */
static uint64_t amnesia_ns(struct weir__index *index)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    const struct weir__index_config *own = weir__index_own(rules);
    uint64_t ns = own->amnesia.is_enabled ? own->amnesia.purge_interval_ms * WEIR_NS_PER_MS : 0;
    weir__daemon_rules_give(rules);
    return ns;
}

static int keep_main(struct weir_crew_self *self, void *arg)
{
    struct weir__index *index = weir__index_of(arg);
    uint64_t purged_ns = weir_now_ns(), forgot_ns = purged_ns, saved_ns = purged_ns,
             again_ns = purged_ns;
    struct weir_deadline turn;
    weir__resources_give_way();
    do {
        uint64_t now_ns = weir_now_ns(), forget_ns = amnesia_ns(index);
        if (now_ns - saved_ns >= SAVE_NS) {
            (void)!weir__quota_save(index->quota); /* an error is tried again */
            saved_ns = now_ns;
        }
        if (now_ns - purged_ns >= PURGE_NS &&
            weir__keeping_submit(&index->keeping, index->records, WEIR__RECORDS_PURGE))
            purged_ns = now_ns;
        if (forget_ns && now_ns - forgot_ns >= forget_ns &&
            weir__keeping_submit(&index->keeping, index->records, WEIR__RECORDS_FORGET)) {
            weir__seen_forget(index->seen);
            forgot_ns = now_ns;
        }
        if (now_ns - again_ns >= AGAIN_NS) {
            weir__seen_again(index->seen);
            again_ns = now_ns;
        }
        turn = weir_deadline_in(KEEP_NS, self->stop);
    } while (weir_deadline_sleep(&turn) != -WEIR_E_CANCELED);
    return 0;
}

/* --- who tells others, and who hears of them --- */

static int publish_main(struct weir_crew_self *self, void *arg)
{
    weir__resources_give_way();
    return weir__publisher_main(self, weir__index_of(arg)->publisher);
}

static int watch_main(struct weir_crew_self *self, void *arg)
{
    weir__resources_give_way();
    return weir__etcd_watch_main(self, weir__index_of(arg)->watch);
}

static uint64_t count_publishers(const struct weir__daemon_rules *rules)
{
    const struct weir__index_config *own = weir__index_own(rules);
    return own->etcd.endpoints.count > 0 || (own->dht.proxies.count > 0 && own->dht.publishes);
}

static uint64_t count_watches(const struct weir__daemon_rules *rules)
{
    return weir__index_own(rules)->etcd.endpoints.count > 0;
}

/* --- posts --- */

uint64_t weir__index_workers(const struct weir__daemon_rules *rules)
{
    uint64_t asked = weir__index_own(rules)->index.workers;
    uint64_t half = weir__resources_cores() / 2;
    return asked ? asked : half > RESOLVERS_LEAST ? half : RESOLVERS_LEAST;
}

uint64_t weir__index_resolvers(const struct weir__daemon_rules *rules)
{
    return 2 * weir__index_workers(rules);
}

static uint64_t count_own(const struct weir__daemon_rules *rules)
{
    (void)rules;
    return WEIR__INDEX_OWN_THREADS;
}

const struct weir__daemon_post weir__index_posts[] = {
    {.kind = "resolve", .count = weir__index_resolvers, .line = WEIR__INDEX_WORK},
    {.kind = "own", .count = count_own, .line = WEIR__INDEX_OWN},
    WEIR__DAEMON_POST_HEALTH,
    WEIR__DAEMON_POST_CLOCK,
    {.kind = "cache", .main = cache_main},
    {.kind = "breaker", .main = breaker_main},
    {.kind = "keep", .main = keep_main},
    {.kind = "prefetch", .main = weir__prefetch_main},
    {.kind = "probe", .main = weir__probe_main},
    {.kind = "publish", .count = count_publishers, .main = publish_main},
    {.kind = "watch", .count = count_watches, .main = watch_main},
    WEIR__DAEMON_POST_RELOAD,
    WEIR__DAEMON_POST_AUDIT,
    {.kind = NULL},
};

/* --- tools --- */

int weir__index_init_tools(struct weir__worker *worker)
{
    struct weir__index_tools *tools = worker->tools;
    weir__decoder_init(&tools->decoder);
    return 0;
}

void weir__index_fini_tools(struct weir__worker *worker)
{
    struct weir__index_tools *tools = worker->tools;
    weir__decoder_fini(&tools->decoder);
}
