/* test_hot.c - the table of chunks that were read: what is deleted does not come back. */
#include "hot.h"

#include "store_rig.h"

static struct weir__entry entry_of(uint64_t n, uint64_t sequence)
{
    return (struct weir__entry){.address = rig_address(n),
                                .sequence = sequence,
                                .place = {1, 128},
                                .size = WEIR__RECORD_HEAD,
                                .type = WEIR__RECORD_CHUNK};
}

static bool has(struct weir__hot *hot, uint64_t n)
{
    struct weir__entry got;
    struct weir__address address = rig_address(n);
    bool is_verified;
    return weir__hot_get(hot, &address, &got, &is_verified);
}

TEST(added_and_forgotten)
{
    struct weir__hot hot;
    struct weir__entry a = entry_of(1, 10), got = {.sequence = 3};
    bool is_verified = false;
    CHECK_EQ(weir__hot_init(&hot, 1000), 0);
    CHECK(!weir__hot_get(&hot, &a.address, &got, &is_verified));
    CHECK_EQ(got.sequence, 3);
    weir__hot_add(&hot, &a, true, weir__hot_epoch(&hot, &a.address));
    CHECK(weir__hot_get(&hot, &a.address, &got, &is_verified));
    CHECK(got.sequence == 10 && is_verified);
    /* The same address again takes its own place. */
    a.sequence = 11;
    weir__hot_add(&hot, &a, false, weir__hot_epoch(&hot, &a.address));
    CHECK(weir__hot_get(&hot, &a.address, &got, &is_verified));
    CHECK(got.sequence == 11 && !is_verified);
    CHECK_EQ(weir__hot_hits(&hot), 2);
    weir__hot_forget(&hot, &a.address);
    CHECK(!has(&hot, 1));
    CHECK_EQ(weir__hot_hits(&hot), 2);
    weir__hot_fini(&hot);
}

/* Looked up before a deletion, added after it. */
TEST(a_passed_epoch_adds_nothing)
{
    struct weir__hot hot;
    struct weir__entry a = entry_of(1, 10);
    CHECK_EQ(weir__hot_init(&hot, 1000), 0);
    uint64_t epoch = weir__hot_epoch(&hot, &a.address);
    weir__hot_forget(&hot, &a.address);
    weir__hot_add(&hot, &a, true, epoch);
    CHECK(!has(&hot, 1));
    weir__hot_add(&hot, &a, true, weir__hot_epoch(&hot, &a.address));
    CHECK(has(&hot, 1));
    weir__hot_fini(&hot);
}

/* Memory is fixed: newcomers push others out, and those that are asked for stay longest. */
TEST(asked_for_stays)
{
    struct weir__hot hot;
    CHECK_EQ(weir__hot_init(&hot, 1), 0);
    struct weir__entry favourite = entry_of(0, 1);
    weir__hot_add(&hot, &favourite, true, weir__hot_epoch(&hot, &favourite.address));
    size_t found = 0, kept = 0;
    for (uint64_t n = 1; n < 20000; n++) {
        struct weir__entry entry = entry_of(n, n + 1);
        kept += has(&hot, 0);
        weir__hot_add(&hot, &entry, true, weir__hot_epoch(&hot, &entry.address));
    }
    CHECK(has(&hot, 19999));
    CHECK_EQ(kept, 19999);
    for (uint64_t n = 0; n < 20000; n++)
        found += has(&hot, n);
    CHECK(found > 256 && found <= 512);
    weir__hot_fini(&hot);
}

TAP_MAIN()
