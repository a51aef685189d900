/* Tests of the places of pins: the bound, claims that fail, and those that overtake each other. */
#include <string.h>

#include <weir/error.h>

#include "pins.h"
#include "tap.h"

static struct weir__pins *pins;

static struct weir__question_key key_of(uint64_t number)
{
    struct weir__question_key key = {.bytes = {0}};
    memcpy(key.bytes, &number, sizeof(number));
    return key;
}

static int claim(uint64_t number)
{
    struct weir__question_key key = key_of(number);
    return weir__pins_claim(pins, &key);
}

static void settle(uint64_t number, bool is_pinned)
{
    struct weir__question_key key = key_of(number);
    weir__pins_settle(pins, &key, is_pinned);
}

static void take_off(uint64_t number)
{
    struct weir__question_key key = key_of(number);
    weir__pins_remove(pins, &key);
}

/* All places but so many. */
static void fill_but(uint64_t places)
{
    CHECK_EQ(weir__pins_new(&pins), 0);
    for (uint64_t i = places; i < WEIR__PINS_MAX; i++) {
        struct weir__question_key key = key_of(i);
        CHECK_EQ(weir__pins_load(pins, &key), 0);
    }
}

TEST(a_claim_counts_before_it_is_written)
{
    fill_but(1);
    CHECK_EQ(claim(10000), 0);
    CHECK_EQ(claim(10001), -WEIR_E_OVERFLOW);
    settle(10000, true);
    CHECK_EQ(claim(10001), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__pins_count(pins), WEIR__PINS_MAX);
    weir__pins_free(pins);
}

TEST(a_write_that_failed_leaves_its_place)
{
    fill_but(1);
    CHECK_EQ(claim(10000), 0);
    settle(10000, false);
    CHECK_EQ(weir__pins_count(pins), WEIR__PINS_MAX - 1);
    CHECK_EQ(claim(10001), 0);
    settle(10001, true);
    weir__pins_free(pins);
}

TEST(what_is_pinned_is_claimed_again_and_stays)
{
    fill_but(0);
    CHECK_EQ(claim(5), 0);
    settle(5, false); /* the disk was full, say: it is pinned still */
    CHECK_EQ(weir__pins_count(pins), WEIR__PINS_MAX);
    CHECK_EQ(claim(10000), -WEIR_E_OVERFLOW);
    take_off(5);
    CHECK_EQ(claim(10000), 0);
    CHECK_EQ(claim(5), -WEIR_E_OVERFLOW);
    settle(10000, true);
    take_off(5); /* it is not there */
    CHECK_EQ(weir__pins_count(pins), WEIR__PINS_MAX);
    weir__pins_free(pins);
}

/* The second of two who write the same key has a place although the first one failed, and although
 * it was unpinned between the two. */
TEST(two_who_claim_the_same)
{
    fill_but(1);
    CHECK_EQ(claim(10000), 0);
    CHECK_EQ(claim(10000), 0);
    settle(10000, false);
    CHECK_EQ(claim(10001), -WEIR_E_OVERFLOW);
    take_off(10000);
    CHECK_EQ(claim(10001), -WEIR_E_OVERFLOW);
    settle(10000, true);
    CHECK_EQ(weir__pins_count(pins), WEIR__PINS_MAX);
    take_off(10000);
    CHECK_EQ(claim(10001), 0);
    settle(10001, false);
    CHECK_EQ(weir__pins_count(pins), WEIR__PINS_MAX - 1);
    weir__pins_free(pins);
}

TEST(loading_has_the_same_bound)
{
    struct weir__question_key more = key_of(10000), there = key_of(5);
    fill_but(0);
    CHECK_EQ(weir__pins_load(pins, &more), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__pins_load(pins, &there), 0);
    weir__pins_free(pins);
}

TAP_MAIN()
