/* test_tail.c - records of a segment in order, and what they mean. */
#include "tail.h"

#include "store_rig.h"

static struct weir__entry record_of(uint64_t n, uint64_t sequence, enum weir__record_type type)
{
    return (struct weir__entry){.address = rig_address(n),
                                .sequence = sequence,
                                .place = {3, (uint32_t)(128 + 64 * sequence)},
                                .size = WEIR__RECORD_HEAD,
                                .time_s = (uint32_t)sequence,
                                .type = type};
}

TEST(order_and_meaning)
{
    struct weir__tail *tail;
    struct weir__entry got, meanings[2];
    struct weir__entry put = record_of(1, 1, WEIR__RECORD_CHUNK);
    struct weir__entry other = record_of(2, 2, WEIR__RECORD_CHUNK);
    struct weir__entry touch = record_of(1, 3, WEIR__RECORD_TOUCHED), touched = put;
    struct weir__address none = rig_address(9);
    touched.time_s = touch.time_s;
    CHECK_EQ(weir__tail_new(&tail, 3), 0);
    CHECK_EQ(tail->segment, 3);
    CHECK(!weir__tail_get(tail, &none, &got));
    CHECK_EQ(weir__tail_reserve(tail, 4, NULL), 0);
    weir__tail_add(tail, &put, &put);
    weir__tail_add(tail, &other, &other);
    weir__tail_add(tail, &touch, &touched);
    CHECK_EQ(tail->count, 3);
    CHECK_EQ(tail->records[2].type, WEIR__RECORD_TOUCHED);
    CHECK_EQ(weir__tail_meanings(tail), 2);
    CHECK(weir__tail_get(tail, &put.address, &got));
    CHECK_EQ(got.type, WEIR__RECORD_CHUNK);
    CHECK_EQ(got.place.offset, put.place.offset);
    CHECK_EQ(got.time_s, 3);
    struct weir__entry deleted = record_of(1, 4, WEIR__RECORD_DELETED);
    weir__tail_add(tail, &deleted, &deleted);
    CHECK(weir__tail_get(tail, &put.address, &got));
    CHECK_EQ(got.type, WEIR__RECORD_DELETED);
    weir__tail_copy(tail, meanings);
    CHECK(!weir__address_is_equal(&meanings[0].address, &meanings[1].address));
    weir__tail_free(tail);
    weir__tail_free(NULL);
}

TEST(as_many_as_a_segment_has)
{
    struct weir__tail *tail;
    CHECK_EQ(weir__tail_new(&tail, 1), 0);
    CHECK_EQ(weir__tail_reserve(tail, WEIR__SEGMENT_COUNT + 1, NULL), -WEIR_E_OVERFLOW);
    for (uint64_t i = 0; i < WEIR__SEGMENT_COUNT; i++) {
        struct weir__entry record = record_of(i % 1000, i + 1, WEIR__RECORD_CHUNK);
        CHECK_EQ(weir__tail_reserve(tail, 1, NULL), 0);
        weir__tail_add(tail, &record, &record);
    }
    CHECK_EQ(weir__tail_reserve(tail, 0, NULL), 0);
    CHECK_EQ(weir__tail_reserve(tail, 1, NULL), -WEIR_E_OVERFLOW);
    CHECK_EQ(tail->count, WEIR__SEGMENT_COUNT);
    CHECK_EQ(weir__tail_meanings(tail), 1000);
    for (uint64_t i = 0; i < WEIR__SEGMENT_COUNT; i++)
        CHECK_EQ(tail->records[i].sequence, i + 1);
    weir__tail_free(tail);
}

static void add_without_room(void *arg)
{
    struct weir__tail *tail = arg;
    struct weir__entry record = record_of(1, 1, WEIR__RECORD_CHUNK);
    weir__tail_add(tail, &record, &record);
}

TEST(no_room_was_reserved)
{
    struct weir__tail *tail;
    CHECK_EQ(weir__tail_new(&tail, 1), 0);
    CHECK(tap_dies(add_without_room, tail, "no room was reserved"));
    weir__tail_free(tail);
}

TAP_MAIN()
