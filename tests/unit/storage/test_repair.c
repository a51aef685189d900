/* What becomes of damaged chunks that cannot be repaired, or for which there is no room in line. */
#include "log.h"
#include "running.h"

/* A line of one, and a pace that lets two repairs through and then one in a quarter of a minute. */
static const char narrow[] = "listen = [\"127.0.0.1:0\"]\n"
                             "[server]\nmax_conns = 64\nget_workers = 1\nput_workers = 1\n"
                             "[queues]\nrepair = 1\n"
                             "[durability]\nrepair_pacing = \"64KiB/s\"\n"
                             "[amnesia]\nenabled = true\nmax_bytes = \"64MiB\"\n";

#define CHUNKS 20u

static size_t remembered(void)
{
    weir_lock_acquire(&storage->damage_lock);
    size_t count = storage->damaged_count;
    weir_lock_release(&storage->damage_lock);
    return count;
}

static uint64_t failed(void)
{
    return weir_counter_value(&storage->counts.repairs_failed);
}

static uint64_t skipped(void)
{
    return weir_counter_value(&storage->counts.skipped_full);
}

/* In line, or with one of the two who repair. */
static uint64_t under_way(void)
{
    struct weir_queue_stats line;
    weir_queue_read(&storage->repairs, &line);
    return line.sent - failed();
}

TEST(what_is_skipped_is_remembered)
{
    weir__log_threshold(WEIR__LOG_ERROR); /* there are hundreds of them */
    start(narrow);
    for (unsigned i = 0; i < CHUNKS; i++) {
        struct weir__address address;
        weir__address_of(&i, sizeof(i), &address);
        weir__repair_damage(storage, &address, "a test says so");
    }
    CHECK(skipped() > 0);
    AWAIT(remembered() + under_way() == CHUNKS);
    /* Another try: the line takes what it has room for, and nothing is forgotten. */
    uint64_t before = skipped();
    weir__repair_again(storage);
    CHECK_EQ(skipped(), before + 1);
    AWAIT(remembered() + under_way() == CHUNKS);
    end();
}

static void damage(unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        struct weir__address address;
        weir__address_of(&i, sizeof(i), &address);
        weir__repair_damage(storage, &address, "a test says so");
    }
}

/* Tried in vain, under way, in line, or without room there: the next start knows of none of them,
 * and the end says so. */
TEST(what_is_left_at_the_end_is_counted)
{
    struct weir__storage_end counts;
    weir__log_threshold(WEIR__LOG_ERROR);
    start(narrow);
    for (unsigned i = 0; i < 4; i++) {
        damage(i, i + 1);
        AWAIT(weir_queue_depth(&storage->repairs) == 0);
    }
    damage(4, CHUNKS);
    AWAIT(remembered() + under_way() == CHUNKS);
    CHECK_EQ(weir__storage_drain(storage, &counts), 0);
    CHECK_EQ(counts.unrepaired, CHUNKS);
    weir__storage_free(storage);
    weir__config_unref(config);
}

/* One that is damaged again and again is remembered once, and there is an end to it. */
TEST(memory_for_them_is_bounded)
{
    weir__log_threshold(WEIR__LOG_ERROR); /* there are hundreds of them */
    start(narrow);
    for (unsigned i = 0; i < 2 * WEIR__STORAGE_DAMAGED + CHUNKS; i++) {
        unsigned number = i / 2;
        struct weir__address address;
        weir__address_of(&number, sizeof(number), &address);
        weir__repair_damage(storage, &address, "a test says so");
    }
    AWAIT(remembered() == WEIR__STORAGE_DAMAGED);
    end();
}

TAP_MAIN()
