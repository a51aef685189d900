/* demo_drain.c - a shutdown in the middle of work, with one member that does not want to stop.
 *
 * Every item that the queue accepted must be somewhere afterwards: done, taken back from the one
 * that was aborted, or still in the queue and handed back.
 */
#include "demo.h"

#include <weir/queue.h>

#include "banned.h"

#define MEMBERS  4
#define ITEMS    64
#define WORK_NS  (3 * WEIR_NS_PER_MS)
#define RUN_NS   (24 * WEIR_NS_PER_MS)
#define DRAIN_NS (150 * WEIR_NS_PER_MS)
#define GRACE_NS (5 * WEIR_NS_PER_S)

struct shop {
    struct weir_queue queue;
    struct weir_lock lock; /* guards what follows */
    uint64_t done;
    uint64_t taken_back;
};

static void count(struct shop *shop, uint64_t *counter)
{
    weir_lock_acquire(&shop->lock);
    (*counter)++;
    weir_lock_release(&shop->lock);
}

/* Takes no new work once stop has fired, but finishes what it has. */
static int work(struct weir_crew_self *self, void *arg)
{
    struct shop *shop = arg;
    const struct weir_deadline deadline = weir_deadline_until(self->stop);
    uint64_t item;
    while (!weir_cancel_is_fired(self->stop) && !weir_queue_recv(&shop->queue, &item, &deadline)) {
        demo_pause(WORK_NS, self->abort);
        count(shop, &shop->done);
    }
    return 0;
}

/* Takes one item and sits on it, whatever stop says. */
static int sit(struct weir_crew_self *self, void *arg)
{
    struct shop *shop = arg;
    const struct weir_deadline deadline = weir_deadline_until(self->stop);
    uint64_t item;
    bool has_item = !weir_queue_recv(&shop->queue, &item, &deadline);
    demo_pause(WEIR_NEVER, self->abort);
    if (has_item)
        count(shop, &shop->taken_back);
    return -WEIR_E_CANCELED;
}

static int start_all(struct shop *shop, struct weir_crew *crew)
{
    for (uint64_t item = 0; item < ITEMS; item++) {
        int error = weir_queue_try_send(&shop->queue, &item);
        if (error)
            return error;
    }
    int error = weir_crew_start(crew, "stubborn", sit, shop);
    for (unsigned i = 0; i < MEMBERS && !error; i++)
        error = weir_crew_start(crew, "worker", work, shop);
    return error;
}

static void tell_crew(struct demo *demo, const struct weir_crew_report *report, uint64_t took_ns)
{
    uint64_t spawned = 0, ended = 0, aborted = 0, abandoned = 0;
    for (uint64_t i = 0; i < report->kind_count; i++) {
        spawned += report->kinds[i].spawned;
        ended += report->kinds[i].ended;
        aborted += report->kinds[i].aborted;
        abandoned += report->kinds[i].abandoned;
    }
    demo_say(
        demo,
        "After %.0f ms the crew was told to stop: finish what you have, you have %.0f ms. It "
        "was over after %.0f ms. Of %llu threads %llu ended, %llu of them when they were aborted, "
        "and %llu had to be left behind. The crew is '%s'.",
        demo_ms(RUN_NS), demo_ms(DRAIN_NS), demo_ms(took_ns), (unsigned long long)spawned,
        (unsigned long long)ended, (unsigned long long)aborted, (unsigned long long)abandoned,
        weir_crew_state_name(report->state));
    demo_number(demo, "threads", spawned);
    demo_number(demo, "ended", ended);
    demo_number(demo, "aborted", aborted);
    demo_number(demo, "abandoned", abandoned);
    demo_milliseconds(demo, "deadline_ms", DRAIN_NS);
    demo_milliseconds(demo, "drained_after_ms", took_ns);
    demo_promise(demo, spawned == ended + abandoned && report->state == WEIR_CREW_STOPPED,
                 "every thread is accounted for: %llu = %llu ended + %llu left behind",
                 (unsigned long long)spawned, (unsigned long long)ended,
                 (unsigned long long)abandoned);
    demo_promise(demo, aborted > 0, "who does not stop in time is aborted, and counted");
    demo_object(demo, &(struct demo_object){"crew", "shop", 0, spawned, ended, 0, 0});
}

static void tell_items(struct demo *demo, struct shop *shop, uint64_t handed_back)
{
    demo_say(demo,
             "Of the %d items that were accepted, %llu were done, %llu taken back from the "
             "stubborn one, and %llu handed back untouched.",
             ITEMS, (unsigned long long)shop->done, (unsigned long long)shop->taken_back,
             (unsigned long long)handed_back);
    demo_number(demo, "accepted", ITEMS);
    demo_number(demo, "done", shop->done);
    demo_number(demo, "taken_back", shop->taken_back);
    demo_number(demo, "handed_back", handed_back);
    demo_promise(demo, shop->done + shop->taken_back + handed_back == ITEMS,
                 "nothing is lost: %llu + %llu + %llu = %d", (unsigned long long)shop->done,
                 (unsigned long long)shop->taken_back, (unsigned long long)handed_back, ITEMS);
    struct weir_queue_stats stats;
    weir_queue_read(&shop->queue, &stats);
    demo_object(demo,
                &(struct demo_object){"queue", "work", stats.capacity, stats.sent, stats.received,
                                      stats.waited, stats.busy + stats.refused_closed});
}

static int show(struct demo *demo, struct shop *shop, struct weir_crew *crew)
{
    int error = start_all(shop, crew);
    if (error)
        demo_failed("start the crew", error);
    else
        demo_pause(RUN_NS, NULL);
    struct weir_crew_report report;
    uint64_t begun_ns = weir_now_ns();
    weir_crew_drain(crew, &report);
    uint64_t took_ns = weir_now_ns() - begun_ns;
    uint64_t handed_back = weir_queue_drain(&shop->queue, NULL, NULL);
    if (error)
        return error;
    demo_say(demo, "%d workers, and a stubborn one that does not listen, share %d items.", MEMBERS,
             ITEMS);
    tell_crew(demo, &report, took_ns);
    tell_items(demo, shop, handed_back);
    return 0;
}

int demo_drain(struct demo *demo)
{
    static struct shop shop; /* outlives a member that would have to be left behind */
    const struct weir_queue_options queue = {.item_size = sizeof(uint64_t), .capacity = ITEMS};
    const struct weir_crew_options options = {.drain_ns = DRAIN_NS, .grace_ns = GRACE_NS};
    struct weir_crew *crew = NULL;
    shop = (struct shop){.done = 0};
    weir_lock_init(&shop.lock, &demo_lock_class);
    int error = weir_queue_init(&shop.queue, "work", &queue);
    if (!error)
        error = weir_crew_new(&crew, "shop", &options);
    error = error ? demo_failed("make a crew", error) : show(demo, &shop, crew);
    weir_crew_free(crew);
    weir_queue_fini(&shop.queue);
    weir_lock_fini(&shop.lock);
    return error;
}
