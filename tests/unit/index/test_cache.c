/* The cache: what is found, what makes room, what is too old, what was dropped. */
#include "tap.h"

#include <stdio.h>
#include <weir/clock.h>
#include <weir/error.h>

#include "cache.h"
#include "clock.h"
#include "made_answer.h"

#define S WEIR_NS_PER_S

static struct weir__cache *cache;
static struct weir__answer *answer;
static bool is_due;

static void begin(uint64_t entries_max, uint64_t bytes_max)
{
    weir__clock_fake(S);
    answers_out = (struct weir_gauge){0};
    struct weir__cache_limits limits = {entries_max, bytes_max, 0};
    CHECK_EQ(weir__cache_new(&cache, &limits), 0);
}
static void end(void)
{
    weir__cache_free(cache);
    CHECK_EQ(weir_gauge_value(&answers_out), 0);
    weir__clock_unfake();
}
static void offer(uint64_t number, uint64_t at_ns, uint64_t sequence)
{
    struct weir__answer *made = made_answer(number, at_ns, sequence);
    weir__cache_offer(cache, made);
    weir__answer_unref(made);
}
static enum weir__cache_state find(uint64_t number, uint64_t now_ns)
{
    struct weir__question_key key = made_key(number);
    enum weir__cache_state state = weir__cache_find(cache, &key, now_ns, &answer, &is_due);
    if (state != WEIR__CACHE_MISS) {
        CHECK(memcmp(&answer->key, &key, sizeof(key)) == 0);
        weir__answer_unref(answer);
    }
    return state;
}
static struct weir__cache_stats stats(void)
{
    struct weir__cache_stats now;
    weir__cache_read(cache, &now);
    return now;
}

TEST(fresh_then_stale_then_gone)
{
    begin(100, 1 << 20);
    CHECK_EQ(find(1, S), WEIR__CACHE_MISS);
    offer(1, S, 1);
    CHECK_EQ(find(1, S), WEIR__CACHE_MISS); /* it is still in line */
    weir__cache_turn(cache, S);
    CHECK_EQ(find(1, S), WEIR__CACHE_FRESH);
    CHECK_EQ(find(1, 11 * S - 1), WEIR__CACHE_FRESH);
    CHECK_EQ(find(1, 11 * S), WEIR__CACHE_STALE);
    CHECK_EQ(find(1, 21 * S - 1), WEIR__CACHE_STALE);
    CHECK_EQ(find(1, 21 * S), WEIR__CACHE_MISS);
    CHECK_EQ(stats().entries, 1);
    weir__cache_turn(cache, 21 * S);
    CHECK_EQ(stats().entries, 0);
    CHECK_EQ(stats().expired, 1);
    CHECK_EQ(stats().hits, 2);
    CHECK_EQ(stats().stale_hits, 2);
    CHECK_EQ(stats().misses, 3);
    CHECK_EQ(weir_gauge_value(&answers_out), 0);
    end();
}

TEST(entries_and_bytes_are_never_more)
{
    begin(10, 8000);
    for (uint64_t i = 0; i < 1000; i++) {
        offer(i, S + i, 1);
        weir__cache_turn(cache, S);
        CHECK(stats().entries <= 8 && stats().bytes <= 8000);
        CHECK_EQ(stats().bytes, stats().entries * 1000);
        CHECK_EQ(find(i, S + i), WEIR__CACHE_FRESH);
    }
    CHECK_EQ(stats().entries, 8);
    CHECK_EQ(stats().evicted, 992);
    /* Smaller limits hold from the next turn on. */
    weir__cache_update(cache, &(struct weir__cache_limits){3, 8000, 0});
    weir__cache_turn(cache, S);
    CHECK_EQ(stats().entries, 3);
    end();
}

TEST(what_is_larger_than_a_quarter_is_not_cached)
{
    begin(10, 3999);
    offer(1, S, 1);
    weir__cache_turn(cache, S);
    CHECK_EQ(find(1, S), WEIR__CACHE_MISS);
    CHECK_EQ(stats().refused, 1);
    end();
}

TEST(what_was_used_lately_stays)
{
    begin(4, 1 << 20);
    for (uint64_t i = 0; i < 4; i++)
        offer(i, S, 1);
    weir__cache_turn(cache, S);
    CHECK_EQ(find(0, S), WEIR__CACHE_FRESH);
    CHECK_EQ(find(2, S), WEIR__CACHE_FRESH);
    offer(10, S, 1);
    offer(11, S, 1);
    weir__cache_turn(cache, S);
    CHECK_EQ(find(0, S), WEIR__CACHE_FRESH);
    CHECK_EQ(find(2, S), WEIR__CACHE_FRESH);
    CHECK_EQ(find(1, S), WEIR__CACHE_MISS);
    CHECK_EQ(find(3, S), WEIR__CACHE_MISS);
    end();
}

TEST(a_lower_sequence_does_not_replace_a_higher_one)
{
    begin(4, 1 << 20);
    offer(1, S, 5);
    offer(1, 2 * S, 4);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 2 * S), WEIR__CACHE_FRESH);
    CHECK_EQ(answer->name_record.sequence, 5);
    CHECK_EQ(stats().outdated, 1);
    offer(1, 2 * S, 6);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 2 * S), WEIR__CACHE_FRESH);
    CHECK_EQ(answer->name_record.sequence, 6);
    CHECK_EQ(stats().replaced, 1);
    /* Of one sequence the one that was asked for later counts. */
    offer(1, S, 6);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 12 * S - 1), WEIR__CACHE_FRESH);
    end();
}

TEST(one_in_a_while_is_told_that_it_is_due)
{
    begin(4, 1 << 20);
    offer(1, S, 1);
    weir__cache_turn(cache, S);
    CHECK_EQ(find(1, 9 * S), WEIR__CACHE_FRESH);
    CHECK(!is_due);
    CHECK_EQ(find(1, 10 * S), WEIR__CACHE_FRESH); /* the last tenth begins */
    CHECK(is_due);
    CHECK_EQ(find(1, 10 * S), WEIR__CACHE_FRESH);
    CHECK(!is_due);
    CHECK_EQ(find(1, 10 * S + WEIR__CACHE_DUE_NS), WEIR__CACHE_FRESH);
    CHECK(is_due);
    end();
}

TEST(what_was_dropped_is_a_miss_at_once)
{
    struct weir__question_key key = made_key(1);
    begin(4, 1 << 20);
    offer(1, S, 1);
    weir__cache_turn(cache, S);
    weir__clock_advance(S);
    CHECK_EQ(weir__cache_drop(cache, &key), 0);
    CHECK_EQ(find(1, S), WEIR__CACHE_MISS);
    /* A lookup that had begun before lands now: what it found does not count. */
    offer(1, S + 1, 1);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 2 * S), WEIR__CACHE_MISS);
    CHECK_EQ(stats().outdated, 1);
    CHECK_EQ(stats().dropped, 1);
    offer(1, 2 * S + 1, 2);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 3 * S), WEIR__CACHE_FRESH);
    end();
}

/* Who provides what a name means is in the name's answer: what that says of the name still holds.
 */
TEST(a_name_is_stale_when_its_providers_were_dropped)
{
    struct weir__question_key providers = made_key(1000), other = made_key(1001);
    struct weir__answer *made;
    begin(4, 1 << 20);
    for (uint64_t i = 1; i <= 2; i++) {
        made = made_answer(i, S, 1);
        made->providers_key = i == 1 ? providers : other;
        weir__cache_offer(cache, made);
        weir__answer_unref(made);
    }
    weir__cache_turn(cache, S);
    CHECK_EQ(find(1, S), WEIR__CACHE_FRESH);
    weir__clock_advance(S);
    CHECK_EQ(weir__cache_drop(cache, &providers), 0);
    CHECK_EQ(find(1, 10 * S), WEIR__CACHE_STALE);
    CHECK(!is_due); /* it is looked up in any case */
    CHECK_EQ(find(2, 10 * S), WEIR__CACHE_FRESH);
    CHECK_EQ(stats().hits, 2);
    CHECK_EQ(stats().stale_hits, 1);
    /* A lookup that had begun before the drop lands, then one that has not. */
    made = made_answer(1, 2 * S, 1);
    made->providers_key = providers;
    CHECK(weir__cache_is_overtaken(cache, made));
    weir__cache_offer(cache, made);
    weir__answer_unref(made);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 2 * S), WEIR__CACHE_STALE);
    made = made_answer(1, 2 * S + 1, 1);
    made->providers_key = providers;
    CHECK(!weir__cache_is_overtaken(cache, made));
    weir__cache_offer(cache, made);
    weir__answer_unref(made);
    weir__cache_turn(cache, 2 * S + 1);
    CHECK_EQ(find(1, 3 * S), WEIR__CACHE_FRESH);
    /* That there is nothing is not about providers. */
    made = made_answer(3, S, 1);
    made->providers_key = providers;
    made->result = -WEIR_E_NOT_FOUND;
    CHECK(!weir__cache_is_overtaken(cache, made));
    weir__answer_unref(made);
    end();
}

/* However many others were dropped since: an answer from before its drop is not cached. */
TEST(a_drop_is_not_forgotten_for_others)
{
    struct weir__question_key key = made_key(1);
    begin(100, 1 << 20);
    weir__clock_advance(S);
    CHECK_EQ(weir__cache_drop(cache, &key), 0);
    for (uint64_t i = 2; i < 20000; i++) {
        struct weir__question_key other = made_key(i);
        CHECK_EQ(weir__cache_drop(cache, &other), 0);
        if (i % 500 == 0)
            weir__cache_turn(cache, 2 * S);
    }
    offer(1, S + 1, 1);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 2 * S), WEIR__CACHE_MISS);
    CHECK_EQ(stats().outdated, 1);
    offer(1, 2 * S + 1, 1);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 3 * S), WEIR__CACHE_FRESH);
    end();
}

/* What is in line already, and what comes later, is of lookups that began before the drop. */
TEST(a_full_line_loses_no_drop)
{
    struct weir__question_key key = made_key(1);
    begin(10, 1 << 20);
    offer(1, S, 1);
    for (uint64_t i = 0; i < WEIR__CACHE_LINE; i++)
        offer(2, S + i, 1);
    weir__clock_advance(S);
    CHECK_EQ(weir__cache_drop(cache, &key), -WEIR_E_BUSY);
    CHECK_EQ(find(1, 2 * S), WEIR__CACHE_MISS);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 2 * S), WEIR__CACHE_MISS);
    CHECK_EQ(find(2, 2 * S), WEIR__CACHE_FRESH);
    offer(1, 2 * S, 1);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 2 * S), WEIR__CACHE_MISS);
    offer(1, 2 * S + 1, 1);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(find(1, 3 * S), WEIR__CACHE_FRESH);
    end();
}

/* There are more than the line has room for, and nobody works it off yet. */
TEST(all_pins_are_loaded_before_the_janitor_begins)
{
    begin(100, 1 << 20);
    for (uint64_t i = 0; i < 4 * WEIR__CACHE_LINE; i++) {
        struct weir__question_key key = made_key(i);
        CHECK_EQ(weir__cache_load_pin(cache, &key), 0);
        CHECK_EQ(weir__cache_load_pin(cache, &key), 0);
    }
    CHECK_EQ(stats().pinned, 4 * WEIR__CACHE_LINE);
    end();
}

TEST(pinned_answers_stay_when_room_is_needed)
{
    struct weir__question_key key = made_key(1), second = made_key(2);
    begin(2, 1 << 20);
    CHECK_EQ(weir__cache_pin(cache, &key, true), 0); /* before there is an answer */
    offer(1, S, 1);
    offer(2, S, 1);
    CHECK_EQ(weir__cache_pin(cache, &second, true), 0);
    offer(3, S, 1);
    weir__cache_turn(cache, S);
    CHECK_EQ(stats().pinned, 2);
    CHECK_EQ(find(1, S), WEIR__CACHE_FRESH);
    CHECK_EQ(find(2, S), WEIR__CACHE_FRESH);
    CHECK_EQ(find(3, S), WEIR__CACHE_MISS);
    CHECK_EQ(stats().refused, 1);
    CHECK_EQ(weir__cache_pin(cache, &key, false), 0);
    CHECK_EQ(weir__cache_pin(cache, &key, false), 0);
    CHECK_EQ(find(2, S), WEIR__CACHE_FRESH);
    offer(3, S, 1);
    weir__cache_turn(cache, S);
    CHECK_EQ(find(1, S), WEIR__CACHE_MISS);
    CHECK_EQ(find(3, S), WEIR__CACHE_FRESH);
    /* A pin outlives its answer. */
    weir__cache_turn(cache, 21 * S);
    CHECK_EQ(stats().entries, 0);
    CHECK_EQ(stats().pinned, 1);
    end();
}

TEST(clearing_and_purging)
{
    begin(10, 1 << 20);
    offer(1, S, 1);
    offer(2, S, 1);
    weir__cache_turn(cache, S);
    weir__clock_advance(S);
    CHECK_EQ(weir__cache_clear(cache), 0);
    offer(3, S, 1); /* its lookup began before the clearing */
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(stats().entries, 0);
    offer(3, 2 * S + 1, 1);
    weir__cache_turn(cache, 2 * S);
    CHECK_EQ(stats().entries, 1);
    weir__cache_update(cache, &(struct weir__cache_limits){10, 1 << 20, 5 * S});
    weir__cache_turn(cache, 3 * S);
    CHECK_EQ(stats().entries, 1);
    weir__cache_turn(cache, 6 * S);
    CHECK_EQ(stats().entries, 0);
    CHECK_EQ(stats().purges, 1);
    end();
}

TEST(a_full_line_refuses_and_counts)
{
    begin(10, 1 << 20);
    for (uint64_t i = 0; i < WEIR__CACHE_LINE + 5; i++)
        offer(1, S + i, 1);
    CHECK_EQ(stats().refused, 5);
    struct weir__question_key key = made_key(1);
    CHECK_EQ(weir__cache_drop(cache, &key), -WEIR_E_BUSY);
    weir__cache_turn(cache, S);
    CHECK_EQ(stats().entries, 1);
    end();
}

TEST(negative_answers_are_counted_apart)
{
    begin(10, 1 << 20);
    struct weir__answer *made = made_answer(1, S, 0);
    made->result = -WEIR_E_NOT_FOUND;
    made->has_name = false;
    weir__cache_offer(cache, made);
    weir__answer_unref(made);
    weir__cache_turn(cache, S);
    CHECK_EQ(find(1, S), WEIR__CACHE_FRESH);
    CHECK_EQ(stats().negative_hits, 1);
    end();
}

/* Whatever comes in whatever order: the table holds what a simple model holds. */
TEST(it_does_what_a_model_does)
{
    uint64_t known_ns[64] = {0}, random = 12345;
    begin(1000, 1 << 20);
    for (int i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t number = (random >> 33) % 64, now_ns = S + (uint64_t)i * S / 8;
        if ((random >> 60) < 4) {
            offer(number, now_ns, (uint64_t)i);
            known_ns[number] = now_ns;
            weir__cache_turn(cache, now_ns);
        }
        enum weir__cache_state wanted = WEIR__CACHE_MISS;
        if (known_ns[number] && now_ns < known_ns[number] + 20 * S)
            wanted = now_ns < known_ns[number] + 10 * S ? WEIR__CACHE_FRESH : WEIR__CACHE_STALE;
        CHECK_EQ(find(number, now_ns), wanted);
    }
    end();
}

/* Lives of any length, entries that go in any order: exactly those that are over are gone. */
TEST(each_goes_when_its_time_has_come)
{
    enum { KEYS = 200 };
    uint64_t ends_ns[KEYS] = {0}, random = 777;
    begin(1000, 1 << 20);
    for (int i = 0; i < 5000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t number = (random >> 33) % KEYS, now_ns = S + (uint64_t)i, left = 0;
        if (random >> 62) {
            struct weir__answer *made = made_answer(number, now_ns, (uint64_t)i);
            made->stale_until_ns = made->fresh_until_ns = now_ns + 1 + (random >> 20) % 1000;
            ends_ns[number] = made->stale_until_ns;
            weir__cache_offer(cache, made);
            weir__answer_unref(made);
        } else {
            struct weir__question_key key = made_key(number);
            CHECK_EQ(weir__cache_drop(cache, &key), 0);
            ends_ns[number] = 0;
        }
        weir__cache_turn(cache, now_ns);
        weir__clock_advance(1);
        for (size_t k = 0; k < KEYS; k++)
            left += ends_ns[k] > now_ns;
        CHECK_EQ(stats().entries, left);
    }
    end();
}

TEST(the_janitor_ends_when_its_line_is_closed)
{
    struct weir_crew *crew;
    begin(10, 1 << 20);
    weir__clock_unfake();
    CHECK_EQ(weir_crew_new(&crew, "crew", NULL), 0);
    CHECK_EQ(weir_crew_start(crew, "cache", weir__cache_main, cache), 0);
    offer(1, weir_now_ns(), 1);
    weir__cache_close(cache);
    struct weir_deadline deadline = weir_deadline_in(10 * S, NULL);
    CHECK_EQ(weir_crew_wait(crew, &deadline), 0);
    CHECK_EQ(stats().entries, 1);
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
    end();
}

/* Not a check of speed, since machines differ; the figure is what docs/index-lookup.md states. */
TEST(a_hit_is_cheap)
{
    enum { ENTRIES = 100000, FINDS = 2000000 };
    begin(ENTRIES, UINT64_C(1) << 30);
    weir__clock_unfake();
    for (uint64_t i = 0; i < ENTRIES; i++) {
        offer(i, S, 1);
        if (i % 512 == 0)
            weir__cache_turn(cache, S);
    }
    weir__cache_turn(cache, S);
    CHECK_EQ(stats().entries, ENTRIES);
    struct weir__question_key keys[1024];
    for (uint64_t i = 0; i < 1024; i++)
        keys[i] = made_key(i * 97);
    uint64_t began_ns = weir_now_ns();
    for (unsigned i = 0; i < FINDS; i++) {
        CHECK_EQ(weir__cache_find(cache, &keys[i % 1024], S, &answer, &is_due), WEIR__CACHE_FRESH);
        weir__answer_unref(answer);
    }
    uint64_t took_ns = weir_now_ns() - began_ns;
    printf("# a hit: %.1f ns, with its reference given back\n", (double)took_ns / FINDS);
    end();
}

TAP_MAIN()
