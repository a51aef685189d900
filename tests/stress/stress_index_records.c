/* The records under real threads: each writer owns some names and puts rising sequences, replays
 * and removals; readers look at all of them, list and walk, and never see a sequence fall; one
 * purges. An owner knows what is there after each answer.
 */
#include "stress.h"

#include "../unit/index/index_help.h"
#include "atomic.h"

#define WRITERS 3
#define READERS 3
#define THREADS (WRITERS + READERS + 1)
#define OWNED   8
#define SIGNED  120 /* sequences of each name that are signed before */

struct owned {
    struct weir__name name;
    struct weir__record records[SIGNED];
    struct weir__record_bytes bytes[SIGNED];
    uint64_t least; /* that must be seen from here on */
};

struct shared {
    struct help_records *help;
    struct owned all[WRITERS][OWNED];
    uint64_t writes, reads, conflicts;
};

static struct shared shared;

static void sign_all(void)
{
    struct weir__key key = help_key(1);
    for (unsigned w = 0; w < WRITERS; w++)
        for (unsigned n = 0; n < OWNED; n++) {
            struct owned *owned = &shared.all[w][n];
            owned->least = 0;
            owned->name = help_name_of(w * 100 + n, &key);
            for (unsigned s = 0; s < SIGNED; s++) {
                owned->records[s] = s % 7 == 5 ? help_removal(&owned->name, s + 1)
                                               : help_name_record(&owned->name, s + 1);
                CHECK_EQ(weir__record_sign(&owned->bytes[s], &owned->records[s], &key), 0);
            }
        }
}

static int submit(struct help_records *help, struct weir__records_write *write)
{
    int result;
    /* The line is as long as all writers together. */
    while ((result = help_write(help, write)) == -WEIR_E_BUSY)
        ;
    return result;
}

static void write_one(struct stress_thread *thread)
{
    struct owned *owned = &shared.all[thread->index][stress_random(thread) % OWNED];
    uint64_t had = weir__load64(&owned->least), sequence = had + 1 + stress_random(thread) % 2;
    bool is_replay = stress_random(thread) % 4 == 0 && had > 1;
    if (is_replay)
        sequence = 1 + stress_random(thread) % (had - 1);
    if (sequence > SIGNED)
        return;
    struct weir__records_write write = {.action = WEIR__RECORDS_PUT,
                                        .record = owned->records[sequence - 1],
                                        .bytes = owned->bytes[sequence - 1],
                                        .has_previous = !is_replay,
                                        .previous = had};
    int result = submit(shared.help, &write);
    CHECK_EQ(result, is_replay ? -WEIR_E_CONFLICT : 0);
    weir__count(is_replay ? &shared.conflicts : &shared.writes, 1);
    if (result)
        return;
    weir__store64(&owned->least, sequence);
    struct weir__record_bytes bytes;
    struct weir__records_seen seen;
    result = weir__records_name(shared.help->records, &owned->name, HELP_NOW, &bytes, &seen);
    CHECK_EQ(result, owned->records[sequence - 1].is_removal ? -WEIR_E_NOT_FOUND : 0);
    CHECK_EQ(seen.mark.sequence, sequence);
    CHECK_EQ(memcmp(bytes.bytes, owned->bytes[sequence - 1].bytes, bytes.length), 0);
}

static void read_one(struct stress_thread *thread)
{
    struct owned *owned =
        &shared.all[stress_random(thread) % WRITERS][stress_random(thread) % OWNED];
    struct weir__record_bytes bytes;
    struct weir__records_seen seen = {.is_removed = false};
    uint64_t least = weir__load64(&owned->least);
    int result = weir__records_name(shared.help->records, &owned->name, HELP_NOW, &bytes, &seen);
    CHECK(result == 0 || result == -WEIR_E_NOT_FOUND);
    CHECK(seen.mark.sequence >= least && seen.mark.sequence <= SIGNED);
    if (seen.mark.sequence > 0 && (result == 0 || seen.is_removed))
        CHECK_EQ(memcmp(bytes.bytes, owned->bytes[seen.mark.sequence - 1].bytes, bytes.length), 0);
    weir__count(&shared.reads, 1);
}

static int is_listed(void *arg, const struct weir__record *record,
                     const struct weir__record_bytes *bytes)
{
    CHECK(bytes->length > 0);
    unsigned *count = arg;
    CHECK(record->sequence >= 1 && record->sequence <= SIGNED && !record->is_removal);
    ++*count;
    return 0;
}

static void list_all(void)
{
    static _Thread_local struct weir__record_bytes room[16];
    struct weir__records_cursor cursor = {._length = 0};
    unsigned count = 0;
    size_t some;
    int more = 1;
    CHECK_EQ(weir__records_list_names(shared.help->records, "name", "", 100, HELP_NOW, is_listed,
                                      &count),
             0);
    CHECK(count <= WRITERS * OWNED);
    while (more == 1)
        CHECK((more = weir__records_walk(shared.help->records, &cursor, HELP_NOW, room, 16,
                                         &some)) >= 0);
}

static void work(struct stress_thread *thread)
{
    while (stress_goes_on(thread)) {
        if (thread->index < WRITERS) {
            write_one(thread);
        } else if (thread->index < WRITERS + READERS) {
            for (int i = 0; i < 20; i++)
                read_one(thread);
            list_all();
            (void)help_stats(shared.help);
        } else {
            struct weir__records_write write = {.action = WEIR__RECORDS_PURGE, .now_s = HELP_NOW};
            CHECK_EQ(submit(shared.help, &write), 0);
            CHECK_EQ(write.purged, 0);
        }
    }
}

static void run(const char *folder)
{
    struct help_records help = help_open(folder, 0);
    shared.help = &help;
    shared.reads = shared.writes = shared.conflicts = 0;
    sign_all();
    stress_run(THREADS, &shared, work);
    printf("# %llu writes, %llu refused, %llu reads\n", (unsigned long long)shared.writes,
           (unsigned long long)shared.conflicts, (unsigned long long)shared.reads);
    CHECK(shared.writes > 0 && shared.reads > 0);
    struct weir__records_stats stats = help_stats(&help);
    CHECK_EQ(stats.conflicts, shared.conflicts);
    CHECK(stats.commits <= stats.writes && !stats.is_failing && stats.corrupt == 0);
    help_close(&help);
    if (!folder)
        return;
    help = help_open(folder, 0);
    for (unsigned w = 0; w < WRITERS; w++)
        for (unsigned n = 0; n < OWNED; n++)
            CHECK_EQ(help_highest(&help, &shared.all[w][n].name), shared.all[w][n].least);
    help_close(&help);
}

TEST(records_on_a_disk)
{
    char folder[HELP_PATH];
    help_make_folder(folder);
    run(folder);
    help_remove(folder);
}

TEST(records_in_memory)
{
    run(NULL);
}

TAP_MAIN()
