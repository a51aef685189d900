/* test_store_churn.c - a store that is used for long: it holds what a plain model says, and does
 * not grow beyond what it holds. */
#include "store_rig.h"

#define NUMBERS 24u

static struct weir__store *open_store(bool is_in_memory)
{
    struct weir__store_options options = {
        .folder = is_in_memory ? NULL : rig_folder,
        .memory_max = 1u << 30,
        .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
        .is_offline = true,
    };
    return rig_open_with(options, NULL);
}

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

static uint32_t length_of(uint64_t n)
{
    return 100 + 37 * (uint32_t)n;
}

static struct weir__address address_of(uint64_t n)
{
    struct weir__address address;
    rig_fill(rig_room, length_of(n), n);
    weir__address_of(rig_room, length_of(n), &address);
    return address;
}

static int touch(struct weir__store *store, uint64_t n)
{
    struct weir_deadline deadline = rig_soon();
    struct weir__address address = address_of(n);
    return weir__store_touch(store, &address, &deadline);
}

static int delete_one(struct weir__store *store, uint64_t n)
{
    struct weir__address address = address_of(n);
    return rig_delete(store, &address);
}

/* --- against a model --- */

struct model {
    bool is_there[NUMBERS];
    uint32_t time_s[NUMBERS];
};

static void compare(struct weir__store *store, const struct model *model)
{
    for (uint64_t n = 0; n < NUMBERS; n++) {
        struct weir__address address = address_of(n);
        uint32_t length, time_s;
        int found = weir__store_find(store, &address, &length, &time_s);
        CHECK_EQ(found, model->is_there[n] ? 0 : -WEIR_E_NOT_FOUND);
        if (found == 0)
            CHECK(time_s >= model->time_s[n]);
        CHECK_EQ(rig_read(store, &address, length_of(n), n), found);
    }
}

static void change(struct weir__store *store, struct model *model, uint64_t dice)
{
    uint64_t n = (dice >> 8) % NUMBERS;
    struct weir__address address;
    int wanted = model->is_there[n] ? 0 : -WEIR_E_NOT_FOUND;
    switch (dice % 4) {
    case 0:
        CHECK_EQ(rig_put(store, length_of(n), n, &address),
                 model->is_there[n] ? WEIR__STORE_PRESENT : 0);
        model->is_there[n] = true;
        break;
    case 1:
        CHECK_EQ(delete_one(store, n), wanted);
        model->is_there[n] = false;
        break;
    default:
        CHECK_EQ(touch(store, n), wanted);
    }
    address = address_of(n);
    uint32_t length;
    if (model->is_there[n])
        CHECK_EQ(weir__store_find(store, &address, &length, &model->time_s[n]), 0);
}

static struct weir__store *open_again(struct weir__store *store, bool is_unclean)
{
    weir__store_close(store);
    if (is_unclean)
        rig_remove("mark");
    return open_store(false);
}

/* With nothing left of it, nothing is left of what it took. */
static void delete_all(struct weir__store *store, struct model *model)
{
    for (uint64_t n = 0; n < NUMBERS; n++)
        if (model->is_there[n]) {
            CHECK_EQ(delete_one(store, n), 0);
            model->is_there[n] = false;
        }
    for (int i = 0; i < 3; i++) {
        rig_seal(store);
        (void)rig_compact(store, 0);
    }
    struct weir__store_stats stats = stats_of(store);
    CHECK_EQ(stats.bytes, 0);
    CHECK_EQ(stats.dead_bytes, 0);
    CHECK_EQ(stats.index_entries, 0);
    CHECK_EQ(stats.tail_records, 0);
    compare(store, model);
}

static void live(bool is_in_memory, uint64_t *random, int steps)
{
    struct model model = {.is_there = {false}};
    rig_make_folder();
    struct weir__store *store = open_store(is_in_memory);
    for (int i = 0; i < steps; i++) {
        uint64_t dice = rig_random(random);
        switch (dice % 40) {
        case 0:
        case 1:
            rig_seal(store);
            break;
        case 2:
        case 3:
            (void)rig_compact(store, dice >> 32 & 1 ? 50 : 0);
            compare(store, &model);
            break;
        case 4:
            if (!is_in_memory)
                store = open_again(store, dice >> 32 & 1);
            compare(store, &model);
            break;
        default:
            change(store, &model, dice >> 8);
        }
    }
    delete_all(store, &model);
    weir__store_close(store);
    rig_remove_folder();
}

TEST(any_history_in_a_folder)
{
    uint64_t random = rig_seed();
    for (int i = 0; i < 12; i++)
        live(false, &random, 500);
}

TEST(any_history_in_memory)
{
    uint64_t random = rig_seed();
    for (int i = 0; i < 12; i++)
        live(true, &random, 500);
}

/* --- how large it gets --- */

#define WORKING_SET 50u
#define LENGTH      1000u
#define ROUNDS      60u

static struct weir__address fill_one(struct weir__store *store, uint64_t n)
{
    struct weir__address address;
    CHECK_EQ(rig_put(store, LENGTH, n, &address), 0);
    return address;
}

/* A fixed working set, all of it touched and some of it deleted and put again, again and again. */
static void churn(bool is_in_memory, unsigned touches, unsigned puts)
{
    struct weir__address set[WORKING_SET];
    uint64_t largest = 0, files = 0;
    rig_make_folder();
    struct weir__store *store = open_store(is_in_memory);
    for (uint64_t n = 0; n < WORKING_SET; n++)
        set[n] = fill_one(store, n);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct weir_deadline deadline = rig_soon();
        for (unsigned i = 0; i < touches * WORKING_SET; i++)
            CHECK_EQ(weir__store_touch(store, &set[i % WORKING_SET], &deadline), 0);
        for (unsigned i = 0; i < puts; i++) {
            uint64_t n = (round * puts + i) % WORKING_SET;
            CHECK_EQ(rig_delete(store, &set[n]), 0);
            (void)fill_one(store, n);
        }
        rig_seal(store);
        (void)rig_compact(store, 50);
        uint64_t bytes = stats_of(store).bytes;
        largest = bytes > largest ? bytes : largest;
        files = stats_of(store).segments;
        if (!is_in_memory && round % 20 == 19) {
            store = open_again(store, round % 40 == 19);
            rig_seal(store);
        }
    }
    /* Each chunk has one touch. At most half of it all is dead, and each deletion that is kept
     * stands for a dead chunk (docs/store.md). */
    uint64_t chunk = weir__record_span(WEIR__RECORD_HEAD + LENGTH);
    uint64_t held = WORKING_SET * (chunk + WEIR__RECORD_HEAD);
    uint64_t bound = 2 * held * chunk / (chunk - WEIR__RECORD_HEAD);
    printf("# %llu bytes at most of %llu, %llu segments\n", (unsigned long long)largest,
           (unsigned long long)bound, (unsigned long long)files);
    CHECK(largest <= bound);
    CHECK(stats_of(store).index_bytes < 1u << 20);
    for (uint64_t n = 0; n < WORKING_SET; n++)
        CHECK_EQ(rig_read(store, &set[n], LENGTH, n), 0);
    weir__store_close(store);
    rig_remove_folder();
}

TEST(touched_again_and_again)
{
    churn(false, 4, 0);
    churn(true, 4, 0);
}

TEST(deleted_and_put_again_and_again)
{
    churn(false, 0, 30);
    churn(true, 0, 30);
}

TEST(all_of_it_again_and_again)
{
    churn(false, 3, 20);
    churn(true, 3, 20);
}

/* What is only deleted leaves nothing, however much of it there was. */
TEST(put_and_deleted_for_good)
{
    rig_make_folder();
    struct weir__store *store = open_store(false);
    for (uint64_t round = 0; round < 30; round++) {
        for (uint64_t n = 0; n < 40; n++) {
            struct weir__address address = fill_one(store, 1000 * (round + 1) + n);
            CHECK_EQ(rig_delete(store, &address), 0);
        }
        rig_seal(store);
        (void)rig_compact(store, 50);
    }
    CHECK_EQ(stats_of(store).bytes, 0);
    CHECK_EQ(stats_of(store).index_entries, 0);
    weir__store_close(store);
    rig_remove_folder();
}

/* --- deletions that may hide what nobody sees --- */

/* While a segment is out of the way, what it held may come back with it. */
TEST(deletions_stay_while_a_segment_is_missing)
{
    char path[128];
    struct weir__address address, other, third;
    for (int kind = 0; kind < 3; kind++) {
        rig_make_folder();
        struct weir__store *store = open_store(false);
        CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
        rig_seal(store);
        CHECK_EQ(rig_put(store, LENGTH, 2, &other), 0);
        rig_seal(store);
        weir__store_close(store);
        snprintf(path, sizeof(path), "%s/segments/00000002.seg", rig_folder);
        char aside[160];
        snprintf(aside, sizeof(aside), "%s%s", path, kind == 0 ? ".bad" : ".elsewhere");
        if (kind < 2)
            CHECK_EQ(rename(path, aside), 0);
        store = open_store(false);
        CHECK_EQ(stats_of(store).keeps_deletions, kind < 2);
        CHECK_EQ(rig_delete(store, &address), 0);
        /* Something dead beside it, so that its segment is compacted. */
        CHECK_EQ(rig_put(store, LENGTH, 3, &third), 0);
        CHECK_EQ(rig_delete(store, &third), 0);
        for (int i = 0; i < 3; i++) {
            rig_seal(store);
            (void)rig_compact(store, 0);
            /* It is remembered, and nothing is compacted in vain. */
            weir__store_close(store);
            store = open_store(false);
            CHECK_EQ(stats_of(store).keeps_deletions, kind < 2);
        }
        rig_seal(store);
        /* The deletions, or the other chunk. */
        CHECK_EQ(stats_of(store).index_entries, kind < 2 ? 2 : 1);
        uint64_t before = stats_of(store).compacted_segments;
        CHECK_EQ(rig_compact(store, 0), 0);
        CHECK_EQ(stats_of(store).compacted_segments, before);
        weir__store_close(store);
        rig_remove_folder();
    }
}

TAP_MAIN()
