/* test_spill.c - walks with files for what memory is too little for: the same objects as with
 * enough memory, within the bytes that files may have, and no file left behind. */
#include "family_help.h"

#include <dirent.h>
#include <sys/mman.h>

static unsigned opened_count, open_max; /* files that may still be opened; all after it fail */

static int open_spill(void *arg)
{
    if (opened_count++ >= open_max)
        return -WEIR_E_IO;
    int file = memfd_create("spill", MFD_CLOEXEC);
    CHECK(file >= 0);
    if (arg) { /* it can be written to, and not be read */
        char path[64];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        int other = open(path, O_WRONLY | O_CLOEXEC);
        close(file);
        file = other;
    }
    return file;
}

static struct weir__git_spill spill;

static void allow_files(uint64_t bytes)
{
    spill = (struct weir__git_spill){open_spill, NULL, bytes};
    help_options.spill = &spill;
    open_max = UINT32_MAX;
    opened_count = 0;
}

static unsigned count_files(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

TEST(a_family_that_is_spilled)
{
    make_family();
    unsigned before = count_files();
    help_options.delta_bytes = 3 * BODY;
    allow_files(400 * BODY);
    walk_family();
    CHECK_EQ(file_count, 0);
    CHECK_EQ(totals.rebuilt, 0);
    CHECK(totals.spilled > 0);
    CHECK_EQ(totals.spilled_bytes, totals.spilled * BODY);
    CHECK_EQ(opened_count, totals.spilled);
    CHECK(totals.alive_max <= 3 * BODY);
    /* Files that take little: the rest is built again. */
    spill.bytes_max = 2 * BODY;
    walk_family();
    CHECK(totals.rebuilt > 0 && totals.spilled_bytes > 0);
    CHECK_EQ(count_files(), before);
}

TEST(a_family_that_is_larger_than_memory)
{
    make_family();
    unsigned before = count_files();
    for (uint64_t memory = 2 * BODY - 1; memory > 4096; memory = memory * 2 / 3) {
        help_options.delta_bytes = memory;
        allow_files(400 * BODY);
        walk_family();
        CHECK(file_count >= NODES - 1);
        CHECK_EQ(totals.rebuilt, 0);
        CHECK(totals.alive_max <= memory);
        /* For an object and its base, and no more: others are let go and made again. */
        spill.bytes_max = 2 * BODY;
        walk_family();
        CHECK(totals.rebuilt > 50);
        CHECK_EQ(totals.rebuilt_bytes, totals.rebuilt * BODY);
    }
    CHECK_EQ(count_files(), before);
}

TEST(larger_than_files_may_be)
{
    make_family();
    help_options.delta_bytes = BODY / 2;
    allow_files(2 * BODY - 1);
    begin_walks();
    CHECK_EQ(walk_pack(&family_pack), 0);
    settle(&from_us);
    CHECK(was_seen(0, bodies[0], BODY));
    CHECK_EQ(from_us.count, 1);
    CHECK_EQ(large_count, NODES - 1);
    CHECK_EQ(told_count, 0);
    spill.bytes_max = BODY - 1;
    begin_walks();
    opened_count = 0;
    CHECK_EQ(walk_pack(&family_pack), 0);
    CHECK_EQ(large_count, NODES);
    CHECK_EQ(opened_count, 0);
}

TEST(files_that_cannot_be_had)
{
    make_family();
    help_options.delta_bytes = BODY / 2;
    for (unsigned most = 0; most < 40; most += 13) {
        allow_files(400 * BODY);
        open_max = most;
        begin_walks();
        CHECK_EQ(walk_pack(&family_pack), 0);
        settle(&from_us);
        CHECK_EQ(from_us.count, most);
        CHECK_EQ(from_us.count + told_count, NODES);
        CHECK_EQ(told[0].code, WEIR_E_IO);
        CHECK_HAS(told[0].why, "set TMPDIR");
    }
    /* What was let go and cannot be read back: the objects concerned are told, and nothing else. */
    help_options.delta_bytes = 3 * BODY;
    allow_files(400 * BODY);
    spill.arg = &spill;
    begin_walks();
    CHECK_EQ(walk_pack(&family_pack), 0);
    settle(&from_us);
    CHECK(told_count > 0 && from_us.count + told_count == NODES);
}

/* --- steps of deltas, a piece at a time --- */

#define LONG (300u << 10)

/* Numbers and steps that lie across the pieces in which a delta comes, of noise, so that it is
 * hardly packed; a base in a file and one in memory. */
TEST(steps_across_pieces)
{
    struct writer writer;
    static uint8_t base[LONG], result[2 * LONG];
    uint32_t dice = 1;
    for (size_t i = 0; i < LONG; i++)
        base[i] = (uint8_t)((dice = dice * 1664525 + 1013904223) >> 24);
    for (int round = 0; round < 4; round++) {
        size_t length = 0;
        delta.length = 0;
        struct bytes steps = {0};
        while (length < LONG + LONG / 2) {
            uint32_t from = (dice = dice * 1664525 + 1013904223) % (LONG - 70000);
            uint32_t count = dice >> 8 & 3 ? 1 + (dice >> 10) % 120 : 1 + (dice >> 10) % 69999;
            if (dice >> 30) {
                count = count > 127 ? 127 : count;
                delta_insert(&steps, base + from + 1, count);
                memcpy(result + length, base + from + 1, count);
            } else {
                delta_copy(&steps, from, count);
                memcpy(result + length, base + from, count);
            }
            length += count;
        }
        delta_start(&delta, LONG, length);
        put_bytes(&delta, steps.at, steps.length);
        free(steps.at);
        writer_start(&writer, 20);
        put_whole(&writer, WEIR__GIT_BLOB, base, LONG);
        put_offset_delta(&writer, 0, &delta);
        weir__git_walk_options_init(&help_options);
        help_options.delta_bytes = round % 2 ? LONG - 1 : LONG + LONG / 8;
        allow_files(UINT64_C(1) << 30);
        walk_written(&writer);
        CHECK_EQ(told_count + large_count, 0);
        CHECK_EQ(file_count, round % 2 ? 2 : 1);
        CHECK(was_seen(0, base, LONG) && was_seen(1, result, length));
        writer_free(&writer);
    }
}

/* Each is too large for the memory, so all are read a piece at a time. */
TEST(lies_about_large_ones)
{
    struct writer writer;
    static uint8_t base[LONG];
    memset(base, 'x', sizeof(base));
    weir__git_walk_options_init(&help_options);
    help_options.delta_bytes = 4096;
    allow_files(UINT64_C(1) << 30);
    writer_start(&writer, 20);
    put_whole(&writer, WEIR__GIT_BLOB, base, LONG); /* 0 */
    put_head(&writer, WEIR__GIT_BLOB, LONG + 1);    /* 1: less than it says */
    put_packed(&writer, base, LONG);
    put_head(&writer, WEIR__GIT_BLOB, LONG - 1); /* 2: more */
    put_packed(&writer, base, LONG);
    put_head(&writer, WEIR__GIT_BLOB, UINT64_C(1) << 50); /* 3: a petabyte, in so few bytes */
    put_packed(&writer, base, LONG);
    put_lies(&writer, 0, LONG);          /* 4 to 10 */
    delta_start(&delta, LONG, 2 * LONG); /* 11: right */
    delta_copy(&delta, 0, LONG);
    delta_copy(&delta, 0, LONG);
    put_offset_delta(&writer, 0, &delta);
    uint32_t number = put_head(&writer, 6, delta.length + 1); /* 12: shorter than it says */
    put_distance(&writer, writer.objects[number].offset - writer.objects[0].offset);
    put_packed(&writer, delta.at, delta.length);
    unsigned before = count_files();
    walk_written(&writer);
    CHECK_EQ(count_files(), before);
    CHECK_EQ(from_us.count, 2);
    CHECK_EQ(file_count, 2);
    CHECK(was_seen(0, base, LONG));
    CHECK_EQ(large_count, 1); /* 10, which takes its base as well */
    CHECK_EQ(large_bytes, (UINT64_C(1) << 60) + LONG);
    CHECK_EQ(told_count, 10);
    CHECK(was_told(12, WEIR_E_CORRUPT, "the size that it claims"));
    CHECK(was_told(3, WEIR_E_CORRUPT, "so few bytes"));
    CHECK(was_told(4, WEIR_E_CORRUPT, "another size"));
    CHECK(was_told(7, WEIR_E_CORRUPT, "does not fit"));
    CHECK(was_told(8, WEIR_E_CORRUPT, "cut off"));
    writer_free(&writer);
}

/* A bit of a packed object is not what it was: the checksums say so, here as in memory. */
TEST(damaged_large_ones)
{
    struct writer writer;
    static uint8_t body[LONG];
    uint32_t dice = 7;
    for (size_t i = 0; i < LONG; i++)
        body[i] = (uint8_t)((dice = dice * 1664525 + 1013904223) >> 24);
    for (size_t at = 0; at < 60; at++) {
        struct weir__git_pack pack;
        weir__git_walk_options_init(&help_options);
        help_options.delta_bytes = 4096;
        allow_files(UINT64_C(1) << 30);
        writer_start(&writer, 20);
        put_whole(&writer, WEIR__GIT_BLOB, body, LONG);
        writer_end(&writer, 2);
        size_t length = writer.pack.length - 20 - 12;
        writer.pack.at[12 + (at < 8 ? at : at * 5077 % length)] ^= 1u << at % 8;
        open_written(&writer, &pack);
        begin_walks();
        CHECK_EQ(walk_pack(&pack), 0);
        CHECK_EQ(from_us.count, 0);
        CHECK_EQ(told_count + large_count, 1);
        weir__git_pack_close(&pack);
        writer_free(&writer);
    }
}

/* Zeros take no room. */
TEST(a_bomb_of_zeros)
{
    struct writer writer;
    static uint8_t zeros[8 << 20];
    weir__git_walk_options_init(&help_options);
    help_options.delta_bytes = 1 << 20;
    allow_files(UINT64_C(1) << 30);
    writer_start(&writer, 20);
    put_whole(&writer, WEIR__GIT_BLOB, zeros, sizeof(zeros));
    walk_written(&writer);
    CHECK(was_seen(0, zeros, sizeof(zeros)));
    int file = memfd_create("zeros", MFD_CLOEXEC);
    struct stat st;
    CHECK_EQ(weir__git_spill_write(file, zeros, sizeof(zeros), 0), 0);
    CHECK_EQ(weir__git_spill_write(file, "x", 1, sizeof(zeros)), 0);
    CHECK_EQ(weir__git_spill_end(file, sizeof(zeros) + 100), 0);
    CHECK_EQ(fstat(file, &st), 0);
    CHECK_EQ(st.st_size, (off_t)sizeof(zeros) + 100);
    CHECK(st.st_blocks * 512 < (off_t)sizeof(zeros));
    close(file);
    writer_free(&writer);
}

/* --- loose ones --- */

TEST(loose_and_packed_by_git)
{
    help_start();
    CHECK(help_run("git init -q large && cd large && git config core.bigFileThreshold 1g && "
                   "for i in 1 2 3 4; do seq $i 90000 >f; seq 1 90000 >g$i; echo $i >>g$i; "
                   "git add . && git commit -qm $i; done; head -c 3000000 /dev/zero >z; "
                   "git add z && git commit -qm z"));
    for (int round = 0; round < 2; round++) {
        ask_git("large");
        struct weir__git_store *store = open_store("large");
        weir__git_walk_options_init(&help_options);
        help_options.delta_bytes = 100000;
        allow_files(UINT64_C(1) << 30);
        walk_store(store);
        same_objects();
        CHECK(file_count >= 8);
        CHECK_EQ(large_count, 0);
        CHECK(totals.spilled >= file_count);
        /* Larger than files may be. */
        spill.bytes_max = 1000;
        walk_store(store);
        CHECK(large_count >= 8);
        CHECK_EQ(file_count, 0);
        /* No file can be made. */
        spill.bytes_max = UINT64_C(1) << 30;
        open_max = 0;
        walk_store(store);
        CHECK(told_count >= 8);
        CHECK_HAS(told[0].why, "set TMPDIR");
        help_options.spill = NULL;
        weir__git_store_close(store);
        CHECK(help_run("cd large && git repack -adfq --depth=20"));
    }
}

/* A head that says 2^60 is a lie, and one that says more than there is does not fit. */
TEST(loose_lies)
{
    static const char *const heads[] = {"blob 1152921504606846976", "blob 100000000000000000",
                                        "blob 400000", "blob 100000"};
    help_start();
    CHECK(help_run("git init -q lies"));
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        char script[600];
        snprintf(script, sizeof(script),
                 "cd lies && mkdir -p .git/objects/aa && python3 -c 'import zlib, sys; "
                 "sys.stdout.buffer.write(zlib.compress(b\"%s\\0\" + b\"x y z \\n\" * 50000))' "
                 ">.git/objects/aa/00000000000000000000000000000000000000",
                 heads[i]);
        CHECK(help_run(script));
        struct weir__git_store *store = open_store("lies");
        weir__git_walk_options_init(&help_options);
        help_options.delta_bytes = 30000;
        allow_files(UINT64_C(1) << 30);
        walk_store(store);
        CHECK_EQ(from_us.count + large_count, 0);
        CHECK_EQ(told_count, 1);
        CHECK_EQ(told[0].code, WEIR_E_CORRUPT);
        CHECK(i > 1 || opened_count == 0); /* nothing was begun */
        weir__git_store_close(store);
    }
}

int main(int argc, char **argv)
{
    int status = tap_main(argc, argv);
    help_done();
    return status;
}
