/* test_choice.c - every way is tried, the fastest is used, and the others are not forgotten. */
#include "choice.h"

#include <weir/error.h>

#include "tap.h"

#define ALL   7u
#define MIB   (UINT64_C(1) << 20)
#define PIECE (16 * MIB)

static struct weir__data_choice *make(enum weir__data_path path)
{
    struct weir__data_choice *choice = NULL;
    CHECK_EQ(weir__data_choice_new(&choice, path), 0);
    return choice;
}

/* One stretch of a pair in which the ways cost so many ns for a MiB. */
static struct weir__choice_stretch one(struct weir__data_choice *choice, unsigned pair,
                                       unsigned allowed, const uint64_t costs[WEIR__WAYS])
{
    struct weir__choice_stretch stretch;
    weir__choice_take(choice, pair, allowed, PIECE, &stretch);
    if (stretch.is_measured)
        weir__choice_note(choice, pair, stretch.way, stretch.bytes,
                          costs[stretch.way] * (stretch.bytes / MIB));
    return stretch;
}

TEST(tries_all_then_takes_the_fastest)
{
    static const uint64_t costs[WEIR__WAYS][WEIR__WAYS] = {
        {100, 200, 300}, {300, 100, 200}, {200, 300, 100}};
    for (unsigned best = 0; best < WEIR__WAYS; best++) {
        struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
        unsigned pair = weir__choice_pair(choice, 1, 2);
        unsigned tries[WEIR__WAYS] = {0};
        for (unsigned i = 0; i < WEIR__WAYS * WEIR__CHOICE_TRIES; i++) {
            struct weir__choice_stretch stretch = one(choice, pair, ALL, costs[best]);
            CHECK(stretch.is_measured);
            CHECK_EQ(stretch.bytes, WEIR__CHOICE_BYTES_TRY);
            tries[stretch.way]++;
        }
        for (unsigned way = 0; way < WEIR__WAYS; way++)
            CHECK_EQ(tries[way], WEIR__CHOICE_TRIES);
        for (int i = 0; i < 50; i++) {
            struct weir__choice_stretch stretch = one(choice, pair, ALL, costs[best]);
            CHECK_EQ(stretch.way, best);
            CHECK_EQ(stretch.bytes, PIECE);
        }
        weir__data_choice_free(choice);
    }
}

TEST(several_at_the_start_try_different_ways)
{
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    unsigned pair = weir__choice_pair(choice, 1, 2), seen = 0;
    for (unsigned i = 0; i < WEIR__WAYS; i++) {
        struct weir__choice_stretch stretch;
        weir__choice_take(choice, pair, ALL, PIECE, &stretch);
        seen |= 1u << stretch.way;
    }
    CHECK_EQ(seen, ALL);
    weir__data_choice_free(choice);
}

TEST(one_in_64_goes_to_the_others)
{
    static const uint64_t costs[WEIR__WAYS] = {300, 200, 100};
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    unsigned pair = weir__choice_pair(choice, 1, 2), counts[WEIR__WAYS] = {0};
    for (unsigned i = 0; i < WEIR__WAYS * WEIR__CHOICE_TRIES; i++)
        one(choice, pair, ALL, costs);
    for (unsigned i = 0; i < 64 * 60; i++)
        counts[one(choice, pair, ALL, costs).way]++;
    CHECK_EQ(counts[WEIR__WAY_PLAIN], 64 * 60 - 60);
    CHECK(counts[WEIR__WAY_RANGE] >= 15 && counts[WEIR__WAY_RING] >= 15);
    weir__data_choice_free(choice);
}

TEST(a_lasting_change_is_noticed)
{
    uint64_t costs[WEIR__WAYS] = {300, 200, 100};
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    unsigned pair = weir__choice_pair(choice, 1, 2);
    for (unsigned i = 0; i < 20; i++)
        one(choice, pair, ALL, costs);
    CHECK_EQ(one(choice, pair, ALL, costs).way, WEIR__WAY_PLAIN);
    costs[WEIR__WAY_PLAIN] = 1000;
    for (unsigned i = 0; i < 10; i++)
        one(choice, pair, ALL, costs);
    CHECK_EQ(one(choice, pair, ALL, costs).way, WEIR__WAY_RING);
    /* What has become fast is found by the retries alone. */
    costs[WEIR__WAY_RANGE] = 10;
    for (unsigned i = 0; i < 64 * 20; i++)
        one(choice, pair, ALL, costs);
    CHECK_EQ(one(choice, pair, ALL, costs).way, WEIR__WAY_RANGE);
    weir__data_choice_free(choice);
}

TEST(one_disturbed_stretch_is_forgiven)
{
    uint64_t costs[WEIR__WAYS] = {300, 200, 100};
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    unsigned pair = weir__choice_pair(choice, 1, 2);
    for (unsigned i = 0; i < 20; i++)
        one(choice, pair, ALL, costs);
    weir__choice_note(choice, pair, WEIR__WAY_PLAIN, PIECE, 400 * PIECE / MIB);
    CHECK_EQ(one(choice, pair, ALL, costs).way, WEIR__WAY_PLAIN);
    weir__data_choice_free(choice);
}

TEST(what_is_refused_is_not_taken_again)
{
    static const uint64_t costs[WEIR__WAYS] = {1, 200, 300};
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    unsigned pair = weir__choice_pair(choice, 1, 2), other = weir__choice_pair(choice, 2, 1);
    CHECK(pair != other);
    one(choice, pair, ALL, costs);
    weir__choice_refuse(choice, pair, WEIR__WAY_RANGE);
    for (int i = 0; i < 500; i++)
        CHECK(one(choice, pair, ALL, costs).way != WEIR__WAY_RANGE);
    weir__choice_refuse(choice, pair, WEIR__WAY_RING);
    struct weir__choice_stretch stretch = one(choice, pair, ALL, costs);
    CHECK_EQ(stretch.way, WEIR__WAY_PLAIN);
    CHECK(!stretch.is_measured);
    CHECK_EQ(one(choice, other, ALL, costs).way, WEIR__WAY_RANGE);
    weir__data_choice_free(choice);
}

TEST(what_the_mover_cannot_do_is_not_taken)
{
    static const uint64_t costs[WEIR__WAYS] = {300, 1, 200};
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    unsigned pair = weir__choice_pair(choice, 1, 2);
    for (int i = 0; i < 50; i++)
        one(choice, pair, ALL, costs);
    unsigned no_ring = ALL & ~(1u << WEIR__WAY_RING);
    CHECK_EQ(one(choice, pair, no_ring, costs).way, WEIR__WAY_PLAIN);
    CHECK_EQ(one(choice, pair, 1u << WEIR__WAY_PLAIN, costs).way, WEIR__WAY_PLAIN);
    CHECK_EQ(one(choice, pair, 0, costs).way, WEIR__WAY_PLAIN);
    CHECK_EQ(one(choice, pair, ALL, costs).way, WEIR__WAY_RING);
    weir__data_choice_free(choice);
}

TEST(a_forced_path_is_taken_while_it_works)
{
    static const enum weir__data_path paths[] = {WEIR__DATA_RANGE, WEIR__DATA_RING,
                                                 WEIR__DATA_PLAIN};
    static const enum weir__way ways[] = {WEIR__WAY_RANGE, WEIR__WAY_RING, WEIR__WAY_PLAIN};
    static const uint64_t costs[WEIR__WAYS] = {1, 2, 3};
    for (unsigned i = 0; i < 3; i++) {
        struct weir__data_choice *choice = make(paths[i]);
        CHECK_EQ(weir__choice_path(choice), paths[i]);
        unsigned pair = weir__choice_pair(choice, 1, 2);
        for (int j = 0; j < 200; j++) {
            struct weir__choice_stretch stretch = one(choice, pair, ALL, costs);
            CHECK_EQ(stretch.way, ways[i]);
            CHECK(!stretch.is_measured);
        }
        CHECK_EQ(one(choice, pair, ALL & ~(1u << ways[i]), costs).way, WEIR__WAY_PLAIN);
        if (ways[i] != WEIR__WAY_PLAIN)
            weir__choice_refuse(choice, pair, ways[i]);
        CHECK_EQ(one(choice, pair, ALL, costs).way, WEIR__WAY_PLAIN);
        weir__data_choice_free(choice);
    }
}

TEST(little_ones_go_the_known_way_and_do_not_count)
{
    static const uint64_t costs[WEIR__WAYS] = {300, 100, 200};
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    unsigned pair = weir__choice_pair(choice, 1, 2);
    struct weir__choice_stretch stretch;
    for (int i = 0; i < 100; i++) {
        weir__choice_take(choice, pair, ALL, WEIR__CHOICE_BYTES_MIN - 1, &stretch);
        CHECK_EQ(stretch.way, WEIR__WAY_RANGE);
        CHECK_EQ(stretch.bytes, WEIR__CHOICE_BYTES_MIN - 1);
        CHECK(!stretch.is_measured);
        weir__choice_note(choice, pair, WEIR__WAY_PLAIN, WEIR__CHOICE_BYTES_MIN - 1, 1);
    }
    weir__choice_take(choice, pair, ALL & ~(1u << WEIR__WAY_RANGE), 1, &stretch);
    CHECK_EQ(stretch.way, WEIR__WAY_PLAIN);
    for (unsigned i = 0; i < WEIR__WAYS * WEIR__CHOICE_TRIES; i++)
        one(choice, pair, ALL, costs);
    weir__choice_take(choice, pair, ALL, 1, &stretch);
    CHECK_EQ(stretch.way, WEIR__WAY_RING);
    weir__data_choice_free(choice);
}

TEST(a_stretch_is_no_longer_than_a_piece)
{
    struct weir__data_choice *choice = make(WEIR__DATA_PLAIN);
    struct weir__choice_stretch stretch;
    weir__choice_take(choice, weir__choice_pair(choice, 1, 2), ALL, UINT64_C(1) << 40, &stretch);
    CHECK_EQ(stretch.bytes, WEIR__DATA_PIECE);
    weir__data_choice_free(choice);
}

TEST(more_pairs_than_there_is_room_for_share_the_last)
{
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    for (unsigned i = 0; i < WEIR__DATA_PAIRS_MAX; i++)
        CHECK_EQ(weir__choice_pair(choice, i, 1000), i);
    for (unsigned i = 0; i < WEIR__DATA_PAIRS_MAX; i++)
        CHECK_EQ(weir__choice_pair(choice, i, 1000), i);
    CHECK_EQ(weir__choice_pair(choice, 1, 7), WEIR__DATA_PAIRS_MAX - 1);
    CHECK_EQ(weir__choice_pair(choice, 2, 7), WEIR__DATA_PAIRS_MAX - 1);
    CHECK(!weir__choice_is_unshared(choice, 3));
    weir__choice_unshare(choice, 3);
    CHECK(weir__choice_is_unshared(choice, 3));
    CHECK(!weir__choice_is_unshared(choice, 4));
    weir__data_choice_free(choice);
    weir__data_choice_free(NULL);
}

static void refuse_plain(void *arg)
{
    weir__choice_refuse(arg, 0, WEIR__WAY_PLAIN);
}

TEST(plain_cannot_be_refused)
{
    struct weir__data_choice *choice = make(WEIR__DATA_AUTO);
    weir__choice_pair(choice, 1, 2);
    CHECK(tap_dies(refuse_plain, choice, "plain reads and writes were refused"));
    weir__data_choice_free(choice);
}

TAP_MAIN()
