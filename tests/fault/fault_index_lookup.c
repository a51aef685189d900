/* fault_index_lookup.c - lookups, cache, flights and answers when the n-th allocation or thread
 * start fails.
 *
 * Whatever fails: it is told, nothing is lost (the sanitizers look), the sources are given back,
 * and who asks once more is answered.
 */
#include "sweep.h"

#include "cache.h"
#include "flight.h"
#include "latency.h"
#include "lookup_rig.h"
#include "turns.h"

static long told;

static bool is_expected(int error)
{
    told += error != 0;
    return error == 0 || error == -WEIR_E_NO_MEMORY || error == -WEIR_E_BUSY;
}

/* Looks up through hedge, line, askers and two stages; again when the one fault is behind us. */
static void look_up(void)
{
    struct weir__answer *answer;
    rig_begin(2);
    rig.sources[0].head.ops = &rig_local;
    rig_give_provider(0, 1, 1);
    struct weir__record record = rig_name_record(3);
    rig.sources[1].steps[0].does = RIG_GIVES;
    rig_give(&rig.sources[1], &record, 0);
    rig_give_provider(1, 2, 1);
    rig_always(0);
    rig_always(1);
    int error = weir__lookup_new(&rig.lookup, &rig.options);
    CHECK(is_expected(error));
    if (error) {
        CHECK(rig.sources[0].is_freed && rig.sources[1].is_freed);
        weir_cancel_fini(&rig.wake);
        weir__clock_unfake();
        return;
    }
    error = weir_crew_new(&rig.crew, "rig", NULL);
    CHECK(is_expected(error));
    if (!error) {
        error = weir__lookup_start(rig.lookup, rig.crew);
        CHECK(is_expected(error));
        for (int i = 0; i < 2 && !error; i++) {
            int result = rig_run(&rig.ask_name, NULL, &answer);
            CHECK(is_expected(result));
            if (result)
                continue;
            CHECK(answer->result == 0 && answer->name_record.sequence == 3);
            CHECK(answer->providers_count >= 1 || !answer->providers_complete);
            weir__answer_unref(answer);
        }
        struct weir__lookup_limits limits = rig.options.limits;
        CHECK(is_expected(weir__lookup_update(rig.lookup, &limits)));
        weir__lookup_stop(rig.lookup);
        CHECK_EQ(weir_crew_drain(rig.crew, NULL), 0);
        weir_crew_free(rig.crew);
    }
    weir__lookup_stop(rig.lookup);
    weir__lookup_free(rig.lookup);
    weir_cancel_fini(&rig.wake);
    weir__clock_unfake();
}

/* An answer that cannot be kept is not kept, and that is all. */
static void keep(void)
{
    struct weir__cache *cache;
    struct weir__answer *answer;
    struct weir__question question = {.kind = WEIR__ASK_PROVIDERS};
    struct weir__answer_parts parts = {
        .question = &question, .source = "here", .asked_ns = 1, .ttl_ns = 1000, .now_ns = 1};
    int error = weir__cache_new(&cache, &(struct weir__cache_limits){100, 1 << 20, 0});
    CHECK(is_expected(error));
    if (error)
        return;
    for (unsigned char i = 0; i < 70; i++) { /* the heap grows meanwhile */
        question.address.bytes[0] = i;
        error = weir__answer_new(&answer, &parts);
        CHECK(is_expected(error));
        if (error)
            continue;
        weir__cache_offer(cache, answer);
        CHECK_EQ(weir__cache_pin(cache, &answer->key, i % 2), 0);
        weir__answer_unref(answer);
    }
    weir__cache_turn(cache, 1);
    struct weir__cache_stats stats;
    weir__cache_read(cache, &stats);
    CHECK(stats.entries >= 69);
    CHECK(stats.entries + stats.refused >= 69);
    told += stats.refused != 0;
    weir__cache_free(cache);
}

static void others(void)
{
    struct weir__flights *flights;
    struct weir__latency *latency;
    int error = weir__flights_new(&flights, 16);
    CHECK(is_expected(error));
    if (!error)
        weir__flights_free(flights);
    error = weir__latency_new(&latency);
    CHECK(is_expected(error));
    if (!error)
        weir__latency_free(latency);
    struct weir__turns *turns;
    error = weir__turns_new(&turns, &(struct weir__turns_options){1, 1, 1, 1, NULL});
    CHECK(is_expected(error));
    if (!error)
        weir__turns_free(turns);
}

TEST(lookups_survive_every_allocation)
{
    told = 0;
    long runs = sweep(WEIR_FAULT_ALLOC, look_up);
    CHECK(runs > 20);
    CHECK(told > 10);
}

TEST(lookups_survive_threads_that_do_not_start)
{
    CHECK(sweep(WEIR_FAULT_THREAD, look_up) >= 6);
}

TEST(what_cannot_be_kept_is_not_kept)
{
    CHECK(sweep(WEIR_FAULT_ALLOC, keep) > 200);
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, others), 7);
}

TAP_MAIN()
