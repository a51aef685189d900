/* test_index_bulk.c - an index made at once is the one that is made segment by segment.
 *
 * Histories at random, of few addresses and many, with deletions, touches, bad marks and records
 * that were moved; with as little memory as there may be, so that parts are spooled and split, and
 * with much.
 */
#include "index_bulk.h"

#include "store_rig.h"

#define SEGMENTS 12u
#define RECORDS  300u

static const unsigned char store_id[16] = "0123456789abcdef";
static char folders[2][96];

static struct weir__entry records[SEGMENTS][RECORDS];
static size_t counts[SEGMENTS];
static uint32_t ids[SEGMENTS];
static struct weir__segment_facts told[2][SEGMENTS];

static void make_folders(void)
{
    rig_make_folder();
    for (int i = 0; i < 2; i++) {
        snprintf(folders[i], sizeof(folders[i]), "%s/%d", rig_folder, i);
        CHECK(mkdir(folders[i], 0700) == 0);
    }
}

static struct weir__index *open_index(int which)
{
    struct weir__index *index = NULL;
    CHECK_EQ(weir__index_open(&index, folders[which], store_id, false), 0);
    return index;
}

/* As a store writes them: sequences rise but for records that were moved, ids have gaps. */
static void make_records(uint64_t *random, uint32_t addresses, bool is_crowded)
{
    uint64_t sequence = 0;
    uint32_t id = 0;
    for (uint32_t s = 0; s < SEGMENTS; s++) {
        id += 1 + (uint32_t)(rig_random(random) % 3);
        ids[s] = id;
        counts[s] = rig_random(random) % (RECORDS + 1);
        for (uint32_t r = 0; r < counts[s]; r++) {
            uint64_t dice = rig_random(random);
            struct weir__entry *record = &records[s][r];
            *record = (struct weir__entry){.address = rig_address(dice % addresses),
                                           .sequence = ++sequence,
                                           .size = WEIR__RECORD_HEAD,
                                           .time_s = (uint32_t)(dice >> 20) % 1000,
                                           .type = WEIR__RECORD_DELETED + (dice >> 16) % 3};
            /* Addresses that begin alike. */
            if (is_crowded)
                memset(record->address.bytes, 7, 1 + (dice >> 60 & 1));
            if (dice >> 24 & 1) {
                record->type = WEIR__RECORD_CHUNK;
                record->size += (uint32_t)(dice >> 32) % 1000;
            }
            uint32_t from = s > 0 ? (uint32_t)(dice >> 40) % s : 0;
            if (s > 0 && (dice >> 25) % 6 == 0 && counts[from] > 0)
                *record = records[from][(dice >> 50) % counts[from]];
            record->place = (struct weir__place){id, 128 + 2048 * r};
        }
    }
}

static void note(void *arg, const struct weir__segment_facts *facts)
{
    struct weir__segment_facts *list = arg;
    for (uint32_t s = 0; s < SEGMENTS; s++)
        if (ids[s] == facts->id)
            list[s] = *facts;
}

static struct weir__segment_facts facts_of(uint32_t s)
{
    return (struct weir__segment_facts){.id = ids[s], .size = 1000 + s, .is_sealed = s % 2};
}

static void apply_all(struct weir__index *index)
{
    for (uint32_t s = 0; s < SEGMENTS; s++) {
        struct weir__segment_facts facts = facts_of(s);
        CHECK_EQ(weir__index_apply(index, &facts, records[s], counts[s], note, told[0]), 0);
    }
}

static int bulk_all(struct weir__index *index, size_t memory)
{
    struct weir__bulk *bulk;
    CHECK_EQ(weir__bulk_new(&bulk, folders[1], memory), 0);
    for (uint32_t s = 0; s < SEGMENTS; s++) {
        struct weir__segment_facts facts = facts_of(s);
        CHECK_EQ(weir__bulk_add(bulk, &facts, records[s], counts[s]), 0);
        CHECK_EQ(weir__bulk_add(bulk, &facts, records[s], counts[s]), -WEIR_E_INVALID);
    }
    int error = weir__bulk_end(bulk, index, note, told[1]);
    weir__bulk_free(bulk);
    return error;
}

/* --- comparing --- */

struct list {
    struct weir__entry entries[SEGMENTS * RECORDS];
    struct weir__segment_facts facts[SEGMENTS];
    size_t count;
};

static struct list lists[2];

static int note_entry(void *arg, const struct weir__entry *entry)
{
    struct list *list = arg;
    CHECK(list->count < SEGMENTS * RECORDS);
    list->entries[list->count++] = *entry;
    return 0;
}

static int note_facts(void *arg, const struct weir__segment_facts *facts)
{
    struct list *list = arg;
    CHECK(list->count < SEGMENTS);
    list->facts[list->count++] = *facts;
    return 0;
}

static bool is_same_facts(const struct weir__segment_facts *a, const struct weir__segment_facts *b)
{
    return a->id == b->id && a->size == b->size && a->records == b->records &&
           a->is_sealed == b->is_sealed && a->bytes == b->bytes && a->dead == b->dead &&
           a->sequence_max == b->sequence_max && a->spent == b->spent;
}

static void compare_entries(struct weir__index *a, struct weir__index *b)
{
    for (size_t i = 0; i < lists[0].count; i++) {
        const struct weir__entry *one = &lists[0].entries[i], *other = &lists[1].entries[i];
        struct weir__place places[2][64];
        size_t dead[2];
        CHECK(weir__address_is_equal(&one->address, &other->address));
        CHECK_EQ(one->sequence, other->sequence);
        CHECK(one->place.segment == other->place.segment &&
              one->place.offset == other->place.offset);
        CHECK(one->size == other->size && one->type == other->type);
        CHECK_EQ(one->time_s, other->time_s);
        CHECK_EQ(weir__index_dead(a, &one->address, places[0], 64, &dead[0]), 0);
        CHECK_EQ(weir__index_dead(b, &one->address, places[1], 64, &dead[1]), 0);
        CHECK_EQ(dead[0], dead[1]);
        CHECK(memcmp(places[0], places[1], dead[0] * sizeof(places[0][0])) == 0);
        int touched = weir__index_touch(a, &one->address, &places[0][0]);
        CHECK_EQ(weir__index_touch(b, &one->address, &places[1][0]), touched);
        CHECK(touched || memcmp(&places[0][0], &places[1][0], sizeof(places[0][0])) == 0);
    }
}

static void compare(struct weir__index *a, struct weir__index *b)
{
    struct weir__index *both[2] = {a, b};
    struct weir__index_stats stats[2];
    for (int i = 0; i < 2; i++) {
        lists[i].count = 0;
        CHECK_EQ(weir__index_segments(both[i], note_facts, &lists[i]), 0);
        CHECK_EQ(lists[i].count, SEGMENTS);
        lists[i].count = 0;
        CHECK_EQ(weir__index_walk(both[i], NULL, note_entry, &lists[i]), 0);
        CHECK_EQ(weir__index_read(both[i], &stats[i]), 0);
    }
    for (uint32_t s = 0; s < SEGMENTS; s++) {
        CHECK(is_same_facts(&lists[0].facts[s], &lists[1].facts[s]));
        CHECK(is_same_facts(&told[0][s], &told[1][s]));
    }
    CHECK_EQ(lists[0].count, lists[1].count);
    CHECK_EQ(stats[0].entries, stats[1].entries);
    CHECK_EQ(stats[0].dead, stats[1].dead);
    compare_entries(a, b);
}

static void try_one(uint64_t *random, uint32_t addresses, size_t memory, bool is_crowded)
{
    make_folders();
    struct weir__index *one_by_one = open_index(0), *at_once = open_index(1);
    memset(told, 0, sizeof(told));
    make_records(random, addresses, is_crowded);
    apply_all(one_by_one);
    int error = bulk_all(at_once, memory);
    if (error == -WEIR_E_OVERFLOW) {
        /* Nothing was written. */
        struct weir__index_stats stats;
        CHECK(memory < WEIR__BULK_MEMORY);
        CHECK_EQ(weir__index_read(at_once, &stats), 0);
        CHECK_EQ(stats.entries + stats.dead, 0);
    } else {
        CHECK_EQ(error, 0);
        compare(one_by_one, at_once);
    }
    weir__index_free(one_by_one);
    weir__index_free(at_once);
    rig_remove_folder();
}

TEST(with_much_memory)
{
    uint64_t random = rig_seed();
    for (int i = 0; i < 10; i++) {
        try_one(&random, 5, WEIR__BULK_MEMORY, false);
        try_one(&random, 60, WEIR__BULK_MEMORY, i % 2);
        try_one(&random, 100000, WEIR__BULK_MEMORY, i % 2);
    }
}

/* A hundred entries are sorted at once, and blocks have one. */
TEST(with_little_memory)
{
    uint64_t random = rig_seed();
    for (int i = 0; i < 15; i++) {
        try_one(&random, 200, 20000, false);
        try_one(&random, 100000, 20000 + (size_t)i * 10000, false);
    }
}

TEST(where_addresses_begin_alike)
{
    uint64_t random = rig_seed();
    for (int i = 0; i < 10; i++) {
        try_one(&random, 50, 10000, true);
        /* A part that is sorted in two or three steps. */
        try_one(&random, 100000, 150000 + (size_t)i * 25000, true);
    }
}

TEST(of_nothing)
{
    struct weir__bulk *bulk;
    make_folders();
    struct weir__index *index = open_index(1), *in_memory;
    CHECK_EQ(weir__bulk_new(&bulk, folders[1], WEIR__BULK_MEMORY), 0);
    CHECK_EQ(weir__bulk_end(bulk, index, note, told[1]), 0);
    CHECK_EQ(weir__index_new(&in_memory, 100), 0);
    CHECK_EQ(weir__bulk_end(bulk, in_memory, note, told[1]), -WEIR_E_UNSUPPORTED);
    weir__bulk_free(bulk);
    weir__bulk_free(NULL);
    weir__index_free(in_memory);
    weir__index_free(index);
    rig_remove_folder();
}

/* A byte of the file in which it was spooled. */
static bool change_spool(void)
{
    for (int fd = 3; fd < 256; fd++) {
        char name[32], target[256];
        unsigned char byte;
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        if (!strstr(target, rig_folder) || !strstr(target, "(deleted)"))
            continue;
        CHECK(pread(fd, &byte, 1, 1000) == 1);
        byte ^= 1;
        CHECK(pwrite(fd, &byte, 1, 1000) == 1);
        return true;
    }
    return false;
}

TEST(what_was_spooled_is_what_is_read)
{
    uint64_t random = rig_seed();
    make_folders();
    struct weir__index *index = open_index(1);
    struct weir__bulk *bulk;
    make_records(&random, 100000, false);
    CHECK_EQ(weir__bulk_new(&bulk, folders[1], 60000), 0);
    for (uint32_t s = 0; s < SEGMENTS; s++) {
        struct weir__segment_facts facts = facts_of(s);
        CHECK_EQ(weir__bulk_add(bulk, &facts, records[s], counts[s]), 0);
    }
    CHECK(change_spool());
    CHECK_EQ(weir__bulk_end(bulk, index, note, told[1]), -WEIR_E_IO);
    weir__bulk_free(bulk);
    weir__index_free(index);
    rig_remove_folder();
}

/* It goes on as any other index. */
TEST(what_comes_later)
{
    uint64_t random = rig_seed();
    make_folders();
    struct weir__index *one_by_one = open_index(0), *at_once = open_index(1);
    make_records(&random, 300, false);
    size_t last = counts[SEGMENTS - 1];
    counts[SEGMENTS - 1] = 0;
    apply_all(one_by_one);
    CHECK_EQ(bulk_all(at_once, WEIR__BULK_MEMORY), 0);
    counts[SEGMENTS - 1] = last;
    for (int i = 0; i < 2; i++) {
        struct weir__index *index = i ? at_once : one_by_one;
        struct weir__segment_facts facts = facts_of(SEGMENTS - 1);
        CHECK_EQ(weir__index_apply(index, &facts, records[SEGMENTS - 1], last, note, told[i]), 0);
        CHECK_EQ(weir__index_drop(index, ids[2], records[2], counts[2], note, told[i]), 0);
        facts = facts_of(2);
        CHECK_EQ(weir__index_apply(index, &facts, records[2], counts[2], note, told[i]), 0);
    }
    compare(one_by_one, at_once);
    weir__index_free(one_by_one);
    weir__index_free(at_once);
    rig_remove_folder();
}

TAP_MAIN()
