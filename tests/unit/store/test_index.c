/* test_index.c - both kinds of index, against a plain model of what counts and what is dead. */
#include "index.h"

#include "store_rig.h"

#define SEGMENTS  14u
#define RECORDS   40u /* of a segment */
#define ADDRESSES 50u

static const unsigned char store_id[16] = "0123456789abcdef";

/* --- both kinds --- */

static bool is_lmdb;

static struct weir__index *open_index(void)
{
    struct weir__index *index = NULL;
    if (is_lmdb)
        CHECK_EQ(weir__index_open(&index, rig_folder, store_id, false), 0);
    else
        CHECK_EQ(weir__index_new(&index, 100000), 0);
    return index;
}

static void with_both(void (*fn)(void))
{
    for (int kind = 0; kind < 2; kind++) {
        is_lmdb = kind == 1;
        rig_make_folder();
        fn();
        rig_remove_folder();
    }
}

/* --- the model --- */

static struct {
    struct weir__entry records[SEGMENTS][RECORDS];
    uint32_t number[SEGMENTS][RECORDS]; /* of the address */
    bool is_applied[SEGMENTS];
    const struct weir__entry *live[ADDRESSES];
    const struct weir__entry *touch[ADDRESSES]; /* that makes it young */
    uint32_t time[ADDRESSES];
    struct weir__segment_facts told[SEGMENTS]; /* by changed() */
} m;

static bool is_dead(uint32_t s, uint32_t r)
{
    const struct weir__entry *record = &m.records[s][r];
    return m.is_applied[s] && m.live[m.number[s][r]] != record && m.touch[m.number[s][r]] != record;
}

/* A chunk that would be there again if its deletion were not. */
static bool is_hidden(uint32_t s, uint32_t r)
{
    return is_dead(s, r) && m.records[s][r].type == WEIR__RECORD_CHUNK;
}

static bool is_spent(uint32_t n)
{
    bool is = m.live[n] && m.live[n]->type != WEIR__RECORD_CHUNK;
    for (uint32_t s = 0; s < SEGMENTS; s++)
        for (uint32_t r = 0; r < RECORDS; r++)
            is = is && !(m.number[s][r] == n && is_hidden(s, r));
    return is;
}

/* Records as a store would write them: sequences rise, and some are copies of older ones. */
static void make_records(uint64_t *random)
{
    uint64_t sequence = 0;
    memset(&m, 0, sizeof(m));
    for (uint32_t s = 0; s < SEGMENTS; s++)
        for (uint32_t r = 0; r < RECORDS; r++) {
            uint64_t dice = rig_random(random);
            sequence++;
            struct weir__entry *record = &m.records[s][r];
            m.number[s][r] = (uint32_t)(dice % ADDRESSES);
            *record = (struct weir__entry){.address = rig_address(m.number[s][r]),
                                           .sequence = sequence,
                                           .size = WEIR__RECORD_HEAD,
                                           .time_s = (uint32_t)(sequence + 8 * (dice >> 60)) / 8,
                                           .type = WEIR__RECORD_DELETED + (dice >> 16) % 3};
            if ((dice >> 24) % 3 == 0) {
                record->type = WEIR__RECORD_CHUNK;
                record->size += (uint32_t)(dice >> 32) % 1000;
            }
            if (s > 0 && (dice >> 25) % 8 == 0) {
                uint32_t from = (uint32_t)(dice >> 40) % s,
                         which = (uint32_t)(dice >> 50) % RECORDS;
                *record = m.records[from][which];
                m.number[s][r] = m.number[from][which];
            }
            record->place = (struct weir__place){s + 1, 128 + 2048 * r};
        }
}

static void note(void *arg, const struct weir__segment_facts *facts)
{
    (void)arg;
    CHECK(facts->id >= 1 && facts->id <= SEGMENTS);
    CHECK(facts->version > 0);
    m.told[facts->id - 1] = *facts;
}

static void apply(struct weir__index *index, uint32_t s)
{
    struct weir__segment_facts facts = {.id = s + 1, .size = 1000 + s, .is_sealed = s % 2};
    CHECK_EQ(weir__index_apply(index, &facts, m.records[s], RECORDS, note, NULL), 0);
}

/* Of later sequence and place than the chunk, and not older. */
static bool can_renew(const struct weir__entry *touch, const struct weir__entry *chunk,
                      uint32_t time_s)
{
    uint64_t at = (uint64_t)touch->place.segment << 32 | touch->place.offset;
    return chunk && chunk->type == WEIR__RECORD_CHUNK && touch->sequence > chunk->sequence &&
           at > ((uint64_t)chunk->place.segment << 32 | chunk->place.offset) &&
           touch->time_s >= time_s;
}

static void model_touch(uint32_t n, const struct weir__entry *record)
{
    const struct weir__entry **touch = &m.touch[n];
    if (!can_renew(record, m.live[n], m.time[n]))
        return;
    if (*touch && record->time_s == (*touch)->time_s && !weir__entry_is_newer(record, *touch))
        return;
    *touch = record;
    m.time[n] = record->time_s;
}

static void model_count(uint32_t n, const struct weir__entry *record)
{
    const struct weir__entry *before = m.live[n];
    uint32_t time_s = record->time_s;
    if (before && !weir__entry_is_newer(record, before))
        return;
    if (before && before->sequence == record->sequence && m.time[n] > time_s)
        time_s = m.time[n];
    if (m.touch[n] && !can_renew(m.touch[n], record, record->time_s))
        m.touch[n] = NULL;
    if (m.touch[n])
        time_s = m.touch[n]->time_s;
    m.live[n] = record;
    m.time[n] = time_s;
}

static void model_apply(uint32_t s)
{
    m.is_applied[s] = true;
    for (uint32_t r = 0; r < RECORDS; r++)
        if (m.records[s][r].type == WEIR__RECORD_TOUCHED)
            model_touch(m.number[s][r], &m.records[s][r]);
        else
            model_count(m.number[s][r], &m.records[s][r]);
}

static void drop(struct weir__index *index, uint32_t s)
{
    CHECK_EQ(weir__index_drop(index, s + 1, m.records[s], RECORDS, note, NULL), 0);
    m.is_applied[s] = false;
    for (uint32_t n = 0; n < ADDRESSES; n++) {
        if (m.live[n] && m.live[n]->place.segment == s + 1)
            m.live[n] = m.touch[n] = NULL;
        if (m.touch[n] && m.touch[n]->place.segment == s + 1)
            m.touch[n] = NULL;
    }
}

/* --- comparing --- */

struct walked {
    struct weir__address last;
    size_t count;
};

static int note_walked(void *arg, const struct weir__entry *entry)
{
    struct walked *walked = arg;
    if (walked->count > 0)
        CHECK(weir__address_compare(&walked->last, &entry->address) < 0);
    walked->last = entry->address;
    walked->count++;
    return 0;
}

static void compare_addresses(struct weir__index *index)
{
    size_t entries = 0, chunks = 0, dead = 0;
    struct weir__index_stats stats;
    struct walked walked = {.count = 0};
    for (uint32_t n = 0; n < ADDRESSES; n++) {
        struct weir__entry got;
        struct weir__address address = rig_address(n);
        const struct weir__entry *live = m.live[n];
        CHECK_EQ(weir__index_get(index, &address, &got), live ? 0 : -WEIR_E_NOT_FOUND);
        entries += live != NULL;
        chunks += live && live->type == WEIR__RECORD_CHUNK;
        if (live)
            CHECK(got.place.segment == live->place.segment && got.type == live->type &&
                  got.place.offset == live->place.offset && got.sequence == live->sequence &&
                  got.size == live->size && got.time_s == m.time[n]);
        struct weir__place place = {0, 0};
        CHECK_EQ(weir__index_touch(index, &address, &place), m.touch[n] ? 0 : -WEIR_E_NOT_FOUND);
        if (m.touch[n])
            CHECK(place.segment == m.touch[n]->place.segment &&
                  place.offset == m.touch[n]->place.offset);
    }
    for (uint32_t s = 0; s < SEGMENTS; s++)
        for (uint32_t r = 0; r < RECORDS; r++)
            dead += is_dead(s, r);
    CHECK_EQ(weir__index_read(index, &stats), 0);
    CHECK_EQ(stats.entries, entries);
    CHECK_EQ(stats.chunks, chunks);
    CHECK_EQ(stats.dead, dead);
    CHECK(stats.bytes > 0 || entries == 0);
    CHECK_EQ(weir__index_walk(index, NULL, note_walked, &walked), 0);
    CHECK_EQ(walked.count, entries);
}

static void compare_older(struct weir__index *index)
{
    for (uint32_t n = 0; n < ADDRESSES; n++)
        for (uint32_t segment = 1; segment <= SEGMENTS; segment++) {
            struct weir__address address = rig_address(n);
            bool has, is_elsewhere = false, is_anywhere = false;
            for (uint32_t s = 0; s < SEGMENTS; s++)
                for (uint32_t r = 0; r < RECORDS; r++)
                    if (m.number[s][r] == n && is_hidden(s, r)) {
                        is_anywhere = true;
                        is_elsewhere = is_elsewhere || s + 1 != segment;
                    }
            CHECK_EQ(weir__index_has_older(index, &address, segment, &has), 0);
            /* Never false where there is one; in memory it may say so of its own segment, too. */
            CHECK_EQ(has, is_lmdb ? is_elsewhere : is_anywhere);
        }
}

static int note_facts(void *arg, const struct weir__segment_facts *facts)
{
    uint32_t *last = arg, s = facts->id - 1;
    uint64_t bytes = 0, dead = 0, spent = 0, sequence = 0;
    CHECK(facts->id > *last && s < SEGMENTS && m.is_applied[s]);
    for (uint32_t r = 0; r < RECORDS; r++) {
        bytes += weir__record_span(m.records[s][r].size);
        dead += is_dead(s, r) ? weir__record_span(m.records[s][r].size) : 0;
        if (m.records[s][r].sequence > sequence)
            sequence = m.records[s][r].sequence;
    }
    CHECK_EQ(facts->bytes, bytes);
    CHECK_EQ(facts->dead, dead);
    for (uint32_t n = 0; n < ADDRESSES; n++)
        if (m.live[n] && m.live[n]->place.segment == facts->id && is_spent(n))
            spent += weir__record_span(m.live[n]->size);
    CHECK_EQ(facts->spent, spent);
    CHECK_EQ(m.told[s].spent, spent);
    CHECK_EQ(facts->records, RECORDS);
    CHECK_EQ(facts->size, 1000 + s);
    CHECK_EQ(facts->is_sealed, s % 2);
    CHECK_EQ(facts->sequence_max, sequence);
    /* Whoever listened knows as much. */
    CHECK_EQ(m.told[s].dead, dead);
    *last = facts->id;
    return 0;
}

static void compare(struct weir__index *index)
{
    uint32_t last = 0;
    compare_addresses(index);
    compare_older(index);
    CHECK_EQ(weir__index_segments(index, note_facts, &last), 0);
}

/* --- tests --- */

/* It has what was put into it. */
static void check(struct weir__index *index)
{
    uint32_t at = 0;
    do
        CHECK_EQ(weir__index_check(index, &at), 0);
    while (at > 0);
}

static void in_any_order(void)
{
    uint64_t random = rig_seed();
    for (int round = 0; round < (is_lmdb ? 12 : 60); round++) {
        struct weir__index *index = open_index();
        make_records(&random);
#ifdef WEIR_FAULTS
        weir__index_piece(1 + rig_random(&random) % (RECORDS + 1));
#endif
        for (uint32_t step = 0; step < 3 * SEGMENTS; step++) {
            uint32_t s = (uint32_t)(rig_random(&random) % SEGMENTS);
            if (!m.is_applied[s] && !m.told[s].id) {
                apply(index, s);
                model_apply(s);
                if (rig_random(&random) % 2)
                    apply(index, s); /* twice changes nothing */
            } else if (m.is_applied[s] && rig_random(&random) % 3 == 0) {
                drop(index, s);
            }
            if (step % 6 == 0) {
                compare(index);
                check(index);
            }
        }
        compare(index);
        check(index);
        CHECK_EQ(weir__index_sync(index), 0);
        weir__index_free(index);
        if (is_lmdb) {
            index = open_index();
            compare(index);
            check(index);
            weir__index_free(index);
            int folder = open(rig_folder, O_RDONLY | O_DIRECTORY);
            CHECK_EQ(weir__index_remove(folder, "."), 0);
            close(folder);
        }
    }
}

TEST(segments_in_any_order_and_dropped)
{
    with_both(in_any_order);
}

/* Without drops the order does not matter at all. */
static void order_is_nothing(void)
{
    uint64_t random = rig_seed();
    struct weir__index *index = open_index();
    make_records(&random);
    for (uint32_t s = 0; s < SEGMENTS; s++)
        for (uint32_t r = 0; r < RECORDS; r++)
            if (m.records[s][r].type == WEIR__RECORD_TOUCHED)
                m.records[s][r].type = WEIR__RECORD_BAD;
    for (uint32_t i = 0; i < SEGMENTS; i++)
        apply(index, i * 5 % SEGMENTS);
    for (uint32_t s = 0; s < SEGMENTS; s++)
        model_apply(s);
    compare(index);
    weir__index_free(index);
}

TEST(order_does_not_matter)
{
    with_both(order_is_nothing);
}

/* The touch that counts is the youngest of all that lie behind the chunk, whatever came when. */
static void youngest_touch(uint32_t n)
{
    const struct weir__entry *live = m.live[n], *best = NULL;
    for (uint32_t s = 0; s < SEGMENTS; s++)
        for (uint32_t r = 0; r < RECORDS; r++) {
            const struct weir__entry *record = &m.records[s][r];
            if (m.number[s][r] != n || record->type != WEIR__RECORD_TOUCHED || !live ||
                !can_renew(record, live, live->time_s))
                continue;
            if (!best || record->time_s > best->time_s ||
                (record->time_s == best->time_s && weir__entry_is_newer(record, best)))
                best = record;
        }
    /* One that is older than a copy's time was left behind by that copy. */
    if (best && best->time_s >= m.time[n])
        CHECK(best == m.touch[n]);
    else
        CHECK(!m.touch[n]);
}

static void in_order(void)
{
    uint64_t random = rig_seed();
    for (int round = 0; round < 20; round++) {
        struct weir__index *index = open_index();
        make_records(&random);
        for (uint32_t s = 0; s < SEGMENTS; s++) {
            apply(index, s);
            model_apply(s);
        }
        for (uint32_t n = 0; n < ADDRESSES; n++)
            youngest_touch(n);
        compare(index);
        /* Once more, all of it. */
        for (uint32_t s = 0; is_lmdb && s < SEGMENTS; s++)
            apply(index, s);
        compare(index);
        weir__index_free(index);
        int folder = open(rig_folder, O_RDONLY | O_DIRECTORY);
        CHECK_EQ(weir__index_remove(folder, "."), 0);
        close(folder);
    }
}

TEST(applied_in_order_and_twice)
{
    with_both(in_order);
}

static struct weir__entry simple(uint64_t n, uint64_t sequence, uint32_t segment, uint32_t time_s,
                                 enum weir__record_type type)
{
    return (struct weir__entry){.address = rig_address(n),
                                .sequence = sequence,
                                .place = {segment, (uint32_t)(128 + 64 * sequence)},
                                .size = WEIR__RECORD_HEAD,
                                .time_s = time_s,
                                .type = type};
}

static void apply_some(struct weir__index *index, uint32_t id, const struct weir__entry *records,
                       size_t count)
{
    struct weir__segment_facts facts = {.id = id, .size = 1000};
    CHECK_EQ(weir__index_apply(index, &facts, records, count, note, NULL), 0);
}

static void touches(void)
{
    struct weir__index *index = open_index();
    struct weir__entry got, one[] = {simple(1, 1, 1, 100, WEIR__RECORD_CHUNK)};
    struct weir__entry two[] = {simple(1, 2, 2, 200, WEIR__RECORD_TOUCHED),
                                simple(2, 3, 2, 200, WEIR__RECORD_TOUCHED)};
    struct weir__entry three[] = {simple(1, 4, 3, 150, WEIR__RECORD_TOUCHED)};
    struct weir__entry moved[] = {simple(1, 1, 4, 100, WEIR__RECORD_CHUNK)};
    apply_some(index, 1, one, 1);
    apply_some(index, 2, two, 2);
    CHECK_EQ(weir__index_get(index, &one->address, &got), 0);
    CHECK(got.time_s == 200 && got.type == WEIR__RECORD_CHUNK && got.place.segment == 1);
    /* One of nothing is nothing. */
    CHECK_EQ(weir__index_get(index, &two[1].address, &got), -WEIR_E_NOT_FOUND);
    /* The clock went back: it is not made older. */
    apply_some(index, 3, three, 1);
    CHECK_EQ(weir__index_get(index, &one->address, &got), 0);
    CHECK_EQ(got.time_s, 200);
    /* A copy of it is as young. */
    apply_some(index, 4, moved, 1);
    CHECK_EQ(weir__index_get(index, &one->address, &got), 0);
    CHECK(got.time_s == 200 && got.place.segment == 4);
    weir__index_free(index);
}

TEST(touched_chunks_are_younger)
{
    with_both(touches);
}

static int stop_at_third(void *arg, const struct weir__entry *entry)
{
    (void)entry;
    return ++*(int *)arg == 3 ? 77 : 0;
}

static int count_one(void *arg, const struct weir__entry *entry)
{
    (void)entry;
    ++*(size_t *)arg;
    return 0;
}

#define LARGE 20000u

/* More than the steps of both kinds. */
static void walks(void)
{
    static struct weir__entry many[LARGE];
    struct weir__index *index = open_index();
    struct weir__address middle = {{0x80}}, behind = {{0xff, 0xff, 0xff, 0xff}};
    size_t all = 0, half = 0, none = 0, wanted = 0;
    int stops = 0;
    for (uint32_t n = 0; n < LARGE; n++) {
        many[n] = simple(n, n + 1, 1, 1, n % 5 ? WEIR__RECORD_CHUNK : WEIR__RECORD_DELETED);
        wanted += weir__address_compare(&many[n].address, &middle) >= 0;
    }
    struct walked walked = {.count = 0};
    CHECK_EQ(weir__index_walk(index, NULL, count_one, &none), 0);
    CHECK_EQ(none, 0);
    apply_some(index, 1, many, LARGE);
    CHECK_EQ(weir__index_walk(index, NULL, note_walked, &walked), 0);
    CHECK_EQ(walked.count, LARGE);
    CHECK_EQ(weir__index_walk(index, NULL, count_one, &all), 0);
    CHECK_EQ(all, LARGE);
    CHECK_EQ(weir__index_walk(index, &middle, count_one, &half), 0);
    CHECK_EQ(half, wanted);
    CHECK_EQ(weir__index_walk(index, &behind, count_one, &none), 0);
    CHECK_EQ(none, 0);
    CHECK_EQ(weir__index_walk(index, NULL, stop_at_third, &stops), 77);
    /* From one that is there: it comes first. */
    half = 0;
    CHECK_EQ(weir__index_walk(index, &walked.last, count_one, &half), 0);
    CHECK_EQ(half, 1);
    weir__index_free(index);
}

TEST(walks_in_order)
{
    with_both(walks);
}

TEST(memory_has_a_limit)
{
    struct weir__index *index;
    struct weir__entry many[20], got;
    struct weir__segment_facts facts = {.id = 1, .size = 1000};
    CHECK_EQ(weir__index_new(&index, 10), 0);
    for (uint32_t n = 0; n < 20; n++)
        many[n] = simple(n, n + 1, 1, 1, WEIR__RECORD_CHUNK);
    CHECK_EQ(weir__index_apply(index, &facts, many, 20, note, NULL), -WEIR_E_OVERFLOW);
    /* All or nothing. */
    for (uint32_t n = 0; n < 20; n++)
        CHECK_EQ(weir__index_get(index, &many[n].address, &got), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__index_apply(index, &facts, many, 10, note, NULL), 0);
    weir__index_free(index);
    weir__index_free(NULL);
}

/* The file of LMDB's locks is in memory: lookups must not wait for a page of the disk. */
TEST(locks_are_not_on_the_disk)
{
    struct weir__entry one = simple(1, 1, 1, 1, WEIR__RECORD_CHUNK), got;
    char path[128], victim[128], target[64];
    struct stat st;
    is_lmdb = true;
    rig_make_folder();
    snprintf(path, sizeof(path), "%s/lock.mdb", rig_folder);
    snprintf(victim, sizeof(victim), "%s/victim", rig_folder);
    int fd = open(victim, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    /* A link that a crash has left leads to whatever has that number now. */
    snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
    CHECK_EQ(symlink(target, path), 0);
    for (int i = 0; i < 2; i++) {
        struct weir__index *index = open_index();
        CHECK(lstat(path, &st) != 0);
        apply_some(index, 1, &one, 1);
        CHECK_EQ(weir__index_get(index, &one.address, &got), 0);
        CHECK_EQ(weir__index_sync(index), 0);
        weir__index_free(index);
        CHECK(lstat(path, &st) != 0);
    }
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_size, 0);
    close(fd);
    rig_remove_folder();
}

TEST(of_another_store_or_kind)
{
    struct weir__index *index;
    struct weir__entry one = simple(1, 1, 1, 1, WEIR__RECORD_CHUNK), got;
    unsigned char other[16] = "another store...";
    other[15] = '!';
    is_lmdb = true;
    rig_make_folder();
    CHECK_EQ(weir__index_open(&index, rig_folder, store_id, true) == 0, false);
    index = open_index();
    apply_some(index, 1, &one, 1);
    CHECK_EQ(weir__index_sync(index), 0);
    weir__index_free(index);
    CHECK_EQ(weir__index_open(&index, rig_folder, other, false), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__index_open(&index, rig_folder, other, true), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__index_open(&index, rig_folder, store_id, true), 0);
    CHECK_EQ(weir__index_get(index, &one.address, &got), 0);
    weir__index_free(index);
    char path[128];
    snprintf(path, sizeof(path), "%s/data.mdb", rig_folder);
    int fd = open(path, O_WRONLY | O_TRUNC);
    CHECK(fd >= 0 && write(fd, rig_room, 20000) == 20000);
    close(fd);
    CHECK_EQ(weir__index_open(&index, rig_folder, store_id, false), -WEIR_E_CORRUPT);
    rig_remove_folder();
}

TAP_MAIN()
