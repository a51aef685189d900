/* test_spans.c - parts of a text: in whatever order they come, they are in order when merged. */
#include <stdlib.h>

#include "engine/spans.h"
#include "tap.h"

#define COUNT 300u

/* Each of three bytes, with one between it and the next; a third of them join it to the next. */
static void check_order(const uint32_t order[COUNT])
{
    struct weir__spans spans = {0};
    for (uint32_t i = 0; i < COUNT; i++)
        weir__spans_add(&spans, UINT64_C(4) * order[i],
                        UINT64_C(4) * order[i] + (order[i] % 3 == 0 ? 4 : 3));
    weir__spans_merge(&spans);
    CHECK_EQ(spans.count, COUNT / 3 * 2);
    for (uint32_t i = 0; i < spans.count; i++) {
        uint32_t first = i / 2 * 3 + i % 2 * 2;
        CHECK_EQ(spans.items[i].from, 4 * first);
        CHECK_EQ(spans.items[i].until, 4 * first + (i % 2 ? 3 : 7));
    }
    weir__spans_fini(&spans);
}

static void set_in_order(uint32_t order[COUNT])
{
    for (uint32_t i = 0; i < COUNT; i++)
        order[i] = i;
}

static void swap(uint32_t order[COUNT], uint32_t a, uint32_t b)
{
    uint32_t kept = order[a];
    order[a] = order[b];
    order[b] = kept;
}

TEST(a_few_are_out_of_order)
{
    uint32_t order[COUNT];
    set_in_order(order);
    check_order(order);
    for (uint32_t i = 0; i + 7 < COUNT; i += 50)
        swap(order, i, i + 7);
    check_order(order);
}

TEST(two_rows_one_behind_the_other)
{
    uint32_t order[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        order[i] = i < COUNT / 2 ? 2 * i : 2 * (i - COUNT / 2) + 1;
    check_order(order);
}

/* The second of them shorter than those that are put into their places at once, as long, and
 * longer. */
TEST(a_short_row_behind_a_long_one)
{
    static const uint32_t steps[] = {4, 5, 10, 60, 299};
    for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++)
        for (uint32_t first = 0; first < 2; first++) {
            uint32_t order[COUNT], count = 0;
            for (uint32_t i = 0; i < COUNT; i++)
                if (i % steps[s] != first)
                    order[count++] = i;
            for (uint32_t i = first; i < COUNT; i += steps[s])
                order[count++] = i;
            CHECK_EQ(count, COUNT);
            check_order(order);
        }
}

TEST(a_copy)
{
    struct weir__spans one = {0}, other = {0};
    weir__spans_add(&other, 1, 2);
    weir__spans_copy(&other, &one);
    CHECK(other.count == 0 && !other.is_short);
    for (uint32_t i = 0; i < COUNT; i++)
        weir__spans_add(&one, UINT64_C(4) * i, UINT64_C(4) * i + 2);
    weir__spans_copy(&other, &one);
    CHECK_EQ(other.count, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK(other.items[i].from == 4 * i && other.items[i].until == 4 * i + 2);
    one.is_short = true;
    weir__spans_copy(&other, &one);
    CHECK(other.is_short);
    weir__spans_fini(&one);
    weir__spans_fini(&other);
}

TEST(any_order)
{
    uint32_t order[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        order[i] = COUNT - 1 - i;
    check_order(order);
    uint64_t state = 5;
    set_in_order(order);
    for (uint32_t i = COUNT - 1; i > 0; i--) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        swap(order, i, (uint32_t)(state >> 33) % (i + 1));
    }
    check_order(order);
}

TAP_MAIN()
