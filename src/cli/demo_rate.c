/* demo_rate.c - a stream that keeps its pace. */
#include "demo.h"

#include <weir/rate.h>

#include "banned.h"

#define PER_S       (UINT64_C(1) << 20)
#define BURST       (UINT64_C(64) << 10)
#define PIECE       (UINT64_C(16) << 10)
#define TOTAL       (UINT64_C(320) << 10)
#define LIMIT_NS    (5 * WEIR_NS_PER_S)
#define TOO_SOON_NS WEIR_NS_PER_MS

/* Moves all pieces and says how long it took. */
static int stream(struct weir_rate *rate, uint64_t *ret_took_ns)
{
    const struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    uint64_t begun_ns = weir_now_ns();
    for (uint64_t moved = 0; moved < TOTAL; moved += PIECE) {
        int error = weir_rate_acquire(rate, PIECE, WEIR_RATE_HIGH, &deadline);
        if (error)
            return error;
    }
    *ret_took_ns = weir_now_ns() - begun_ns;
    return 0;
}

/* Asks for the whole burst right after the stream has emptied the bucket, with too little time. */
static void ask_too_soon(struct demo *demo, struct weir_rate *rate)
{
    const struct weir_deadline soon = weir_deadline_in(TOO_SOON_NS, NULL);
    int error = weir_rate_acquire(rate, BURST, WEIR_RATE_HIGH, &soon);
    if (!error)
        return; /* this thread was held up so long that the bucket is full again */
    demo_say(demo,
             "A request that has %.0f ms of time, while its bytes need longer, does not wait:",
             demo_ms(TOO_SOON_NS));
    demo_quote(demo, error);
    demo_refusal(demo, "paced", error);
}

/* What the bucket may give in that time, rounded up. The bucket was full a little before the first
 * look at the clock, but could not hold more for it. */
static uint64_t allowed_in(uint64_t ns)
{
    return BURST + (uint64_t)((double)ns * (double)PER_S / (double)WEIR_NS_PER_S) + 1;
}

int demo_rate(struct demo *demo)
{
    struct weir_rate rate;
    const struct weir_rate_options options = {.per_s = PER_S, .burst = BURST};
    int error = weir_rate_init(&rate, "repair", &options);
    if (error)
        return demo_failed("make a pace", error);
    uint64_t took_ns = 0;
    error = stream(&rate, &took_ns);
    if (error) {
        weir_rate_fini(&rate);
        return demo_failed("keep the pace", error);
    }
    demo_say(demo,
             "A stream with a pace of %llu KiB/s and %llu KiB saved up moved %llu KiB in %.0f ms.",
             (unsigned long long)PER_S >> 10, (unsigned long long)BURST >> 10,
             (unsigned long long)TOTAL >> 10, demo_ms(took_ns));
    ask_too_soon(demo, &rate);
    demo_number(demo, "pace_bytes_per_s", PER_S);
    demo_number(demo, "pace_burst_bytes", BURST);
    demo_number(demo, "paced_bytes", TOTAL);
    demo_milliseconds(demo, "paced_took_ms", took_ns);
    demo_promise(demo, TOTAL <= allowed_in(took_ns),
                 "the pace held: in that time at most %llu KiB were allowed",
                 (unsigned long long)allowed_in(took_ns) >> 10);
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    demo_object(demo, &(struct demo_object){"rate", "repair", PER_S, stats.taken, stats.taken,
                                            stats.enqueued, stats.paced + stats.busy});
    weir_rate_fini(&rate);
    return 0;
}
