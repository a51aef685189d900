/* One object of each kind, with something to tell, written out as Prometheus text. With an
 * argument, the name of a metric: says whether a gauge of that name is accepted, and prints the
 * text that it would have been; exit status 1 when it is refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/adapt.h>
#include <weir/admit.h>
#include <weir/breaker.h>
#include <weir/budget.h>
#include <weir/bus.h>
#include <weir/crew.h>
#include <weir/frontier.h>
#include <weir/hedge.h>
#include <weir/metrics.h>
#include <weir/pool.h>
#include <weir/queue.h>
#include <weir/rate.h>
#include <weir/sched.h>
#include <weir/slots.h>
#include <weir/watch.h>

#define DO(call)                                                                                   \
    do {                                                                                           \
        if ((call) != 0) {                                                                         \
            fprintf(stderr, "metrics-dump: %s: %s\n", #call, weir_error_detail());                 \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

static struct {
    struct weir_metrics *metrics;
    struct weir_budget files;
    struct weir_budget odd;
    struct weir_adapt adapt;
    struct weir_admit admit;
    struct weir_breaker good;
    struct weir_breaker bad;
    struct weir_bus bus;
    struct weir_bus_subscriber audit;
    struct weir_crew *crew;
    struct weir_frontier frontier;
    struct weir_hedge hedge;
    struct weir_pool pool;
    struct weir_queue queue;
    struct weir_rate rate;
    struct weir_sched *sched;
    struct weir_slots slots;
    struct weir_watch watch;
    struct weir_counter rejections[2];
    struct weir_counter io_seconds;
    struct weir_gauge balance;
    struct weir_histogram repair_wait;
    struct weir_histogram sizes;
} o;

static void budgets(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE, other = WEIR_PERMIT_NONE;
    struct weir_deadline soon = weir_deadline_in(WEIR_NS_PER_MS, NULL);
    DO(weir_budget_init(&o.files, "files", 2));
    DO(weir_budget_init(&o.odd, "{odd} = 100%, ok?", 1));
    DO(weir_budget_acquire(&o.files, 2, &permit, NULL));
    if (weir_budget_acquire(&o.files, 1, &other, &soon) != -WEIR_E_TIMEOUT)
        exit(2);
    DO(weir_metrics_add_budget(o.metrics, &o.files));
    DO(weir_metrics_add_budget(o.metrics, &o.odd));
    DO(weir_adapt_init(&o.adapt, "files", &o.files, NULL));
    weir_adapt_report(&o.adapt, weir_adapt_epoch(&o.adapt), -WEIR_E_NO_DESCRIPTORS);
    DO(weir_metrics_add_adapt(o.metrics, &o.adapt));
}

static void queues(void)
{
    struct weir_queue_options options = {sizeof(uint64_t), 1};
    struct weir_bus_options bus_options = {sizeof(uint64_t), 1, 0};
    uint64_t item = 1;
    DO(weir_queue_init(&o.queue, "work", &options));
    DO(weir_queue_try_send(&o.queue, &item));
    if (weir_queue_try_send(&o.queue, &item) != -WEIR_E_BUSY)
        exit(2);
    DO(weir_metrics_add_queue(o.metrics, &o.queue));
    DO(weir_bus_init(&o.bus, "events", &bus_options));
    DO(weir_bus_subscribe(&o.bus, &o.audit, "audit"));
    for (int i = 0; i < 3; i++)
        DO(weir_bus_publish(&o.bus, &item));
    DO(weir_metrics_add_bus(o.metrics, &o.bus));
    DO(weir_watch_init(&o.watch, "config", sizeof(item), &item));
    DO(weir_metrics_add_watch(o.metrics, &o.watch));
}

static void limits(void)
{
    struct weir_pool_config config = weir_pool_config_default();
    struct weir_pool_request request = weir_pool_request_archive(4096, true);
    static struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    static struct weir_slots_permit slot = WEIR_SLOTS_PERMIT_NONE;
    static struct weir_frontier_permit blob = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_frontier_options frontier = {16, WEIR_FRONTIER_UNLIMITED, 0};
    config.spill_slots = WEIR_POOL_SLOTS_UNLIMITED;
    DO(weir_pool_init(&o.pool, "scan", &config));
    DO(weir_pool_try(&o.pool, &request, &permit));
    DO(weir_metrics_add_pool(o.metrics, &o.pool));
    DO(weir_slots_init(&o.slots, "disks", NULL));
    DO(weir_slots_try(&o.slots, weir_device_from_raw(0x801), &slot));
    slot = (struct weir_slots_permit)WEIR_SLOTS_PERMIT_NONE;
    DO(weir_slots_try(&o.slots, WEIR_DEVICE_UNKNOWN, &slot));
    DO(weir_metrics_add_slots(o.metrics, &o.slots));
    DO(weir_frontier_init(&o.frontier, "linux.git", &frontier));
    DO(weir_frontier_try(&o.frontier, 100, &blob));
    DO(weir_metrics_add_frontier(o.metrics, &o.frontier));
}

static void pacing(void)
{
    struct weir_rate_options rate = {50, 50, 0};
    struct weir_admit_options admit = {.cap = 1, .keys_max = 4};
    static struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
    struct weir_admit_ticket refused = WEIR_ADMIT_TICKET_NONE;
    DO(weir_rate_init(&o.rate, "repair", &rate));
    DO(weir_rate_try(&o.rate, 50, WEIR_RATE_HIGH));
    (void)!weir_rate_try(&o.rate, 50, WEIR_RATE_LOW);
    DO(weir_metrics_add_rate(o.metrics, &o.rate));
    DO(weir_admit_init(&o.admit, "clients", &admit));
    DO(weir_admit_try(&o.admit, "::1", 3, &ticket));
    (void)!weir_admit_try(&o.admit, "::1", 3, &refused);
    DO(weir_metrics_add_admit(o.metrics, &o.admit));
}

static int answer(void *arg, struct weir_hedge_attempt *attempt)
{
    weir_hedge_report(attempt, 0, arg);
    return 0;
}

static int end_at_once(struct weir_crew_self *self, void *arg)
{
    (void)self;
    (void)arg;
    return -WEIR_E_CANCELED;
}

static void others(void)
{
    static const struct weir_hedge_ops ops = {answer, NULL};
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    struct weir_hedge_answer first;
    DO(weir_breaker_init(&o.good, "etcd", NULL));
    DO(weir_breaker_init(&o.bad, "peer-2", NULL));
    for (int i = 0; i < 20; i++) {
        struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
        if (weir_breaker_allow(&o.bad, &ticket) == 0)
            weir_breaker_report(&ticket, WEIR_BREAKER_FAILURE);
    }
    DO(weir_metrics_add_breaker(o.metrics, &o.good));
    DO(weir_metrics_add_breaker(o.metrics, &o.bad));
    DO(weir_hedge_init(&o.hedge, "lookup", NULL));
    DO(weir_hedge_run(&o.hedge, &ops, NULL, 1, &first, &deadline));
    DO(weir_metrics_add_hedge(o.metrics, &o.hedge));
    DO(weir_crew_new(&o.crew, "node", NULL));
    DO(weir_crew_start(o.crew, "worker", end_at_once, NULL));
    DO(weir_crew_start(o.crew, "janitor", end_at_once, NULL));
    DO(weir_crew_drain(o.crew, NULL));
    DO(weir_metrics_add_crew(o.metrics, o.crew));
}

static int run_job(struct weir_job *job, const struct weir_deadline *deadline)
{
    (void)job;
    (void)deadline;
    return 0;
}

static void end_job(struct weir_job *job, int result)
{
    (void)job;
    (void)result;
}

static void jobs(void)
{
    static struct weir_job job = {.run = run_job, .done = end_job};
    struct weir_sched_options options = {.workers = 1};
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    DO(weir_sched_new(&o.sched, "scan", &options));
    DO(weir_sched_submit(o.sched, &job));
    DO(weir_sched_wait(o.sched, &deadline));
    DO(weir_sched_drain(o.sched, NULL));
    DO(weir_metrics_add_sched(o.metrics, o.sched));
}

/* What the services add themselves. */
static void own(void)
{
    static const uint64_t bounds[] = {1024, 65536};
    struct weir_metrics_label endpoint = {"endpoint", "GET /o/{addr}"};
    struct weir_metrics_series series = {"weir_busy_rejections_total",
                                         "Requests refused because of load.", &endpoint, 1};
    weir_counter_add(&o.rejections[0], 3);
    DO(weir_metrics_add_counter(o.metrics, &o.rejections[0], &series));
    endpoint.value = "odd \"\\\n value";
    DO(weir_metrics_add_counter(o.metrics, &o.rejections[1], &series));
    series = (struct weir_metrics_series){"weir_io_seconds_total",
                                          "Time spent in I/O.\nSecond line, back\\slash.", NULL, 0};
    weir_counter_add(&o.io_seconds, 1234567890);
    DO(weir_metrics_add_counter(o.metrics, &o.io_seconds, &series));
    series = (struct weir_metrics_series){"weir_balance", "Below zero.", NULL, 0};
    weir_gauge_set(&o.balance, -5);
    DO(weir_metrics_add_gauge(o.metrics, &o.balance, &series));
    DO(weir_histogram_init(&o.repair_wait, weir_histogram_time_bounds_ns,
                           WEIR_HISTOGRAM_TIME_COUNT));
    weir_histogram_observe(&o.repair_wait, 1500000);
    series = (struct weir_metrics_series){"weir_repair_wait_seconds", "Pacing wait.", NULL, 0};
    DO(weir_metrics_add_histogram(o.metrics, &o.repair_wait, &series));
    DO(weir_histogram_init(&o.sizes, bounds, 2));
    weir_histogram_observe(&o.sizes, 4096);
    series = (struct weir_metrics_series){"weir_object_bytes", "Sizes of objects.", NULL, 0};
    DO(weir_metrics_add_histogram(o.metrics, &o.sizes, &series));
}

static int to_stdout(void *arg, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, arg) == size ? 0 : -WEIR_E_IO;
}

static int try_name(const char *name)
{
    struct weir_metrics_series series = {name, "A name on trial.", NULL, 0};
    printf("# HELP %s A name on trial.\n# TYPE %s gauge\n%s 1\n", name, name, name);
    return weir_metrics_add_gauge(o.metrics, &o.balance, &series) ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    DO(weir_metrics_new(&o.metrics, "dump", NULL));
    int status = 0;
    if (argc > 1) {
        status = try_name(argv[1]);
    } else {
        budgets();
        queues();
        limits();
        pacing();
        others();
        jobs();
        own();
        DO(weir_metrics_write(o.metrics, to_stdout, stdout, &deadline));
    }
    weir_metrics_free(o.metrics);
    weir_crew_free(o.crew);
    weir_sched_free(o.sched);
    return status;
}
