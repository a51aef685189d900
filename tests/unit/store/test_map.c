/* test_map.c - entries by address, compared with a plain list. */
#include "map.h"

#include "store_rig.h"

#define POOL 300u

static struct weir__entry entry_of(uint64_t n, uint64_t sequence)
{
    return (struct weir__entry){.address = rig_address(n),
                                .sequence = sequence,
                                .place = {1, (uint32_t)sequence * 16},
                                .size = WEIR__RECORD_HEAD,
                                .type = WEIR__RECORD_CHUNK};
}

TEST(empty)
{
    struct weir__map map;
    struct weir__entry entry = {.sequence = 7};
    struct weir__address address = rig_address(1);
    weir__map_init(&map, 10);
    CHECK_EQ(weir__map_count(&map), 0);
    CHECK(!weir__map_get(&map, &address, &entry));
    CHECK_EQ(entry.sequence, 7);
    CHECK(!weir__map_remove(&map, &address));
    weir__map_clear(&map);
    weir__map_copy(&map, NULL);
    weir__map_fini(&map);
    weir__map_fini(NULL);
    weir__map_fini(&(struct weir__map){0});
}

TEST(limits)
{
    struct weir__map map;
    weir__map_init(&map, 100);
    CHECK_EQ(weir__map_reserve(&map, 101), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__map_reserve(&map, SIZE_MAX), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__map_reserve(&map, 100), 0);
    for (uint64_t i = 0; i < 100; i++) {
        struct weir__entry entry = entry_of(i, i + 1);
        weir__map_set(&map, &entry);
    }
    CHECK_EQ(weir__map_count(&map), 100);
    CHECK_EQ(weir__map_reserve(&map, 1), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__map_reserve(&map, 0), 0);
    /* In place of what is there: no more of them. */
    struct weir__entry again = entry_of(5, 1000), got;
    weir__map_set(&map, &again);
    CHECK_EQ(weir__map_count(&map), 100);
    CHECK(weir__map_get(&map, &again.address, &got));
    CHECK_EQ(got.sequence, 1000);
    weir__map_fini(&map);
}

static void set_without_room(void *arg)
{
    struct weir__map map;
    struct weir__entry entry = entry_of(1, 1);
    (void)arg;
    weir__map_init(&map, 10);
    weir__map_set(&map, &entry);
}

TEST(no_room_was_reserved)
{
    CHECK(tap_dies(set_without_room, NULL, "no room was reserved"));
}

static void compare(const struct weir__map *map, const struct weir__entry model[POOL])
{
    static struct weir__entry all[POOL];
    size_t count = 0;
    for (uint64_t i = 0; i < POOL; i++) {
        struct weir__entry got, wanted = entry_of(i, 1);
        bool is_there = weir__map_get(map, &wanted.address, &got);
        CHECK_EQ(is_there, model[i].type != 0);
        if (is_there)
            CHECK(got.sequence == model[i].sequence &&
                  weir__address_is_equal(&got.address, &wanted.address));
        count += is_there;
    }
    CHECK_EQ(weir__map_count(map), count);
    weir__map_copy(map, all);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            CHECK(!weir__address_is_equal(&all[i].address, &all[j].address));
}

/* Sets and removals in a crowded table: whoever was pushed aside is still found. */
TEST(as_a_list_would)
{
    uint64_t random = rig_seed();
    for (int round = 0; round < 30; round++) {
        struct weir__map map;
        struct weir__entry model[POOL] = {0};
        weir__map_init(&map, POOL);
        for (uint64_t step = 1; step <= 2000; step++) {
            uint64_t n = rig_random(&random) % POOL;
            struct weir__entry entry = entry_of(n, step);
            if (rig_random(&random) % 3) {
                CHECK_EQ(weir__map_reserve(&map, weir__map_count(&map) < POOL), 0);
                weir__map_set(&map, &entry);
                model[n] = entry;
            } else {
                CHECK_EQ(weir__map_remove(&map, &entry.address), model[n].type != 0);
                model[n].type = (enum weir__record_type)0;
            }
        }
        compare(&map, model);
        weir__map_clear(&map);
        memset(model, 0, sizeof(model));
        compare(&map, model);
        weir__map_fini(&map);
    }
}

TAP_MAIN()
