/* The registry under real threads: scrapes, objects that come and go, and counters, all at once. */
#include "stress.h"

#include <weir/budget.h>
#include <weir/metrics.h>
#include <weir/queue.h>

#include "atomic.h"

#define SCRAPERS 2
#define THREADS  6

struct shared {
    struct weir_metrics *metrics;
    struct weir_counter calls;
    struct weir_budget files;
    uint64_t scrapes;
    uint64_t lives;
};

static uint64_t number_after(const char *text, const char *series)
{
    const char *at = strstr(text, series);
    CHECK(at != NULL);
    return strtoull(at + strlen(series), NULL, 10);
}

/* A picture is consistent, and counters never go back. */
static void scrape(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    static _Thread_local char text[1 << 17];
    uint64_t last = 0;
    while (stress_goes_on(thread)) {
        size_t size;
        struct weir_deadline deadline = weir_deadline_in(
            stress_random(thread) % 4 ? WEIR_NS_PER_S : stress_random(thread) % 20000, NULL);
        int error =
            weir_metrics_write_buffer(shared->metrics, text, sizeof(text), &size, &deadline);
        if (error == -WEIR_E_TIMEOUT)
            continue;
        CHECK_EQ(error, 0);
        uint64_t calls = number_after(text, "\ncalls_total ");
        CHECK(calls >= last);
        last = calls;
        uint64_t acquired = number_after(text, "\nweir_budget_acquired_total{budget=\"files\"} ");
        uint64_t released = number_after(text, "\nweir_budget_released_total{budget=\"files\"} ");
        CHECK_EQ(number_after(text, "\nweir_budget_permits{budget=\"files\"} "),
                 acquired - released);
        weir__count(&shared->scrapes, 1);
    }
}

/* Objects on the stack that are attached for a moment; their memory is used again at once, so a
 * read after remove would be seen by the sanitizers. */
static void live(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    char name[WEIR_NAME_MAX];
    snprintf(name, sizeof(name), "queue-%d", thread->index);
    while (stress_goes_on(thread)) {
        struct weir_queue queue;
        struct weir_queue_options options = {.item_size = 8, .capacity = 4};
        struct weir_permit permit = WEIR_PERMIT_NONE;
        uint64_t item = 1;
        CHECK_EQ(weir_queue_init(&queue, name, &options), 0);
        CHECK_EQ(weir_metrics_add_queue(shared->metrics, &queue), 0);
        if (weir_budget_try(&shared->files, 1, &permit) == 0)
            weir_counter_add(&shared->calls, 1);
        CHECK_EQ(weir_queue_try_send(&queue, &item), 0);
        CHECK_EQ(weir_queue_try_recv(&queue, &item), 0);
        weir_permit_release(&permit);
        weir_metrics_remove(shared->metrics, &queue);
        weir_queue_fini(&queue);
        memset(&queue, 0x5a, sizeof(queue));
        weir__count(&shared->lives, 1);
    }
}

static void work(struct stress_thread *thread)
{
    if (thread->index < SCRAPERS)
        scrape(thread);
    else
        live(thread);
}

TEST(scrapes_and_short_lives)
{
    static struct shared shared;
    struct weir_metrics_series series = {"calls_total", "Calls.", NULL, 0};
    CHECK_EQ(weir_metrics_new(&shared.metrics, "node", NULL), 0);
    CHECK_EQ(weir_budget_init(&shared.files, "files", 2), 0);
    CHECK_EQ(weir_metrics_add_counter(shared.metrics, &shared.calls, &series), 0);
    CHECK_EQ(weir_metrics_add_budget(shared.metrics, &shared.files), 0);
    stress_run(THREADS, &shared, work);
    printf("# %llu scrapes, %llu objects\n", (unsigned long long)shared.scrapes,
           (unsigned long long)shared.lives);
    CHECK(shared.scrapes > 0 && shared.lives > 0);
    struct weir_metrics_stats stats;
    weir_metrics_read(shared.metrics, &stats);
    CHECK_EQ(stats.sources, 2);
    CHECK_EQ(stats.added - stats.removed, 2);
    weir_metrics_remove(shared.metrics, &shared.files);
    weir_budget_fini(&shared.files);
    weir_metrics_free(shared.metrics);
}

TAP_MAIN()
