/* test_data.c - every way copies every byte; holes are kept, made or filled; sources that end, fail
 * or are not what they seem; cancelling, pacing, refusals. */
#include "data.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <weir/error.h>

#include "choice.h"
#include "data_help.h"
#include "hash.h"
#include "refuse.h"
#include "tap.h"

static const enum weir__data_path paths[] = {WEIR__DATA_AUTO, WEIR__DATA_RANGE, WEIR__DATA_RING,
                                             WEIR__DATA_PLAIN};
#define PATHS (sizeof(paths) / sizeof(paths[0]))

/* Everything that a copy needs; what it did. */
struct copier {
    struct weir__data_choice *choice;
    struct weir__mover mover;
    struct weir__data_result result;
};

static void begin_with(struct copier *copier, enum weir__data_path path, enum weir__reflink reflink,
                       enum weir__sparse sparse, struct weir_rate *rate)
{
    *copier = (struct copier){0};
    if (weir__data_choice_new(&copier->choice, path) ||
        weir__mover_init(&copier->mover, copier->choice, reflink, sparse, rate))
        abort();
}

static void begin(struct copier *copier, enum weir__data_path path, enum weir__sparse sparse)
{
    begin_with(copier, path, WEIR__REFLINK_AUTO, sparse, NULL);
}

static void end(struct copier *copier)
{
    weir__mover_fini(&copier->mover);
    weir__data_choice_free(copier->choice);
}

static int copy(struct copier *copier, int in, int out, uint64_t at, uint64_t length, bool is_blank,
                uint64_t *ret_copied)
{
    copier->result = (struct weir__data_result){0};
    return weir__mover_copy(&copier->mover, in, out, at, length, is_blank, ret_copied,
                            &copier->result, NULL);
}

static uint64_t moved(const struct weir__data_result *result)
{
    return result->range + result->ring + result->plain;
}

TEST(every_way_copies_every_size)
{
    static const uint64_t sizes[] = {0,           1,
                                     4095,        4096,
                                     4097,        256 * KIB - 1,
                                     256 * KIB,   256 * KIB + 1,
                                     512 * KIB,   512 * KIB + 1,
                                     MIB - 1,     MIB,
                                     MIB + 1,     5 * MIB + 7,
                                     9 * MIB - 5, 33 * MIB + 11};
    for (size_t i = 0; i < PATHS; i++) {
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            struct copier copier;
            begin(&copier, paths[i], WEIR__SPARSE_KEEP);
            int in = help_open(), out = help_open();
            help_fill(in, 0, sizes[j]);
            uint64_t copied = 99;
            CHECK_EQ(copy(&copier, in, out, 0, sizes[j], true, &copied), 0);
            CHECK_EQ(copied, sizes[j]);
            CHECK_EQ(moved(&copier.result), sizes[j]);
            CHECK_EQ(ftruncate(out, (off_t)sizes[j]), 0);
            CHECK(help_is_equal(in, out));
            close(in);
            close(out);
            end(&copier);
        }
    }
}

TEST(a_forced_way_is_the_one_that_is_used)
{
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_KEEP);
        int in = help_open(), out = help_open();
        help_fill(in, 0, 3 * MIB);
        uint64_t copied;
        CHECK_EQ(copy(&copier, in, out, 0, 3 * MIB, true, &copied), 0);
        const char *name = weir__data_way_name(&copier.result);
        if (paths[i] == WEIR__DATA_RANGE)
            CHECK_STR(name, "copy_file_range");
        if (paths[i] == WEIR__DATA_RING && !copier.mover._ring_failed)
            CHECK_STR(name, "io_uring");
        if (paths[i] == WEIR__DATA_PLAIN)
            CHECK_STR(name, "read+write");
        close(in);
        close(out);
        end(&copier);
    }
}

TEST(all_ways_are_tried_on_a_large_file)
{
    struct copier copier;
    begin(&copier, WEIR__DATA_AUTO, WEIR__SPARSE_KEEP);
    int in = help_open(), out = help_open();
    help_fill(in, 0, 80 * MIB);
    uint64_t copied;
    CHECK_EQ(copy(&copier, in, out, 0, 80 * MIB, true, &copied), 0);
    CHECK(copier.result.range >= 16 * MIB);
    CHECK(copier.result.plain >= 16 * MIB);
    CHECK(copier.mover._ring_failed || copier.result.ring >= 16 * MIB);
    CHECK(help_is_equal(in, out));
    close(in);
    close(out);
    end(&copier);
}

TEST(parts_go_to_their_places)
{
    static const uint64_t part = 700 * KIB + 13;
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_KEEP);
        int in = help_open(), out = help_open();
        uint64_t size = 3 * MIB + 17;
        help_fill(in, 0, size);
        for (uint64_t at = 4 * part; at < size; at += part) {
            uint64_t copied;
            CHECK_EQ(copy(&copier, in, out, at, part, true, &copied), 0);
            CHECK_EQ(copied, size - at < part ? size - at : part);
        }
        for (uint64_t at = 0; at < 4 * part; at += part) {
            uint64_t copied;
            CHECK_EQ(copy(&copier, in, out, at, part, true, &copied), 0);
            CHECK_EQ(copied, part);
        }
        CHECK(help_is_equal(in, out));
        close(in);
        close(out);
        end(&copier);
    }
}

TEST(nothing_is_written_outside_of_the_part)
{
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_KEEP);
        int in = help_open(), out = help_open(), before = help_open();
        help_fill(in, 0, 4 * MIB);
        help_fill(out, 1, 4 * MIB);
        help_fill(before, 1, 4 * MIB);
        uint64_t copied;
        CHECK_EQ(copy(&copier, in, out, MIB + 5, MIB, false, &copied), 0);
        CHECK(help_is_same(out, before, 0, MIB + 5));
        CHECK(help_is_same(out, in, MIB + 5, MIB));
        CHECK(help_is_same(out, before, 2 * MIB + 5, 2 * MIB - 4));
        close(in);
        close(out);
        close(before);
        end(&copier);
    }
}

TEST(a_source_that_ends_early_is_told)
{
    static const uint64_t sizes[] = {0, 5, 100 * KIB, 256 * KIB, MIB, MIB + 300 * KIB + 1, 9 * MIB};
    for (size_t i = 0; i < PATHS; i++) {
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            struct copier copier;
            begin(&copier, paths[i], WEIR__SPARSE_KEEP);
            int in = help_open(), out = help_open();
            help_fill(in, 0, sizes[j]);
            uint64_t copied = 99;
            CHECK_EQ(copy(&copier, in, out, 0, sizes[j] + 3 * MIB, true, &copied), 0);
            CHECK_EQ(copied, sizes[j]);
            CHECK_EQ(ftruncate(out, (off_t)copied), 0);
            CHECK(help_is_equal(in, out));
            CHECK_EQ(copy(&copier, in, out, sizes[j] + 9, 3 * MIB, true, &copied), 0);
            CHECK_EQ(copied, 0);
            close(in);
            close(out);
            end(&copier);
        }
    }
}

/* Data, hole, data, one byte in a block of its own, a long hole, data, hole at the end. */
static uint64_t make_sparse(int fd)
{
    uint64_t size = 40 * MIB + 100;
    CHECK_EQ(ftruncate(fd, (off_t)size), 0);
    help_fill(fd, 0, 300 * KIB);
    help_fill(fd, MIB, 2 * MIB);
    help_fill(fd, 4 * MIB + 8191, 1);
    help_fill(fd, 20 * MIB, 9 * MIB);
    return size;
}

TEST(holes_are_kept)
{
    if (!help_has_holes())
        return;
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_KEEP);
        int in = help_open(), out = help_open();
        uint64_t size = make_sparse(in), copied;
        CHECK_EQ(ftruncate(out, (off_t)size), 0);
        CHECK_EQ(copy(&copier, in, out, 0, size, true, &copied), 0);
        CHECK_EQ(copied, size);
        CHECK(help_is_equal(in, out));
        CHECK(help_is_mapped_alike(in, out));
        CHECK_EQ(copier.result.holes + moved(&copier.result), size);
        CHECK(copier.result.holes > 25 * MIB);
        close(in);
        close(out);
        end(&copier);
    }
}

/* A hole at the end is as long as the caller makes it. */
TEST(a_file_may_get_its_size_afterwards)
{
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_KEEP);
        int in = help_open(), out = help_open();
        uint64_t size = make_sparse(in), copied;
        CHECK_EQ(copy(&copier, in, out, 0, size, true, &copied), 0);
        CHECK_EQ(copied, size);
        CHECK_EQ(ftruncate(out, (off_t)size), 0);
        CHECK(help_is_equal(in, out));
        close(in);
        close(out);
        end(&copier);
    }
}

TEST(a_hole_in_a_small_file_is_kept)
{
    if (!help_has_holes())
        return;
    struct copier copier;
    begin(&copier, WEIR__DATA_AUTO, WEIR__SPARSE_KEEP);
    int in = help_open(), out = help_open();
    help_fill(in, 0, 10);
    help_fill(in, 64 * KIB, 10);
    CHECK_EQ(ftruncate(in, 200 * KIB + 1), 0);
    uint64_t copied;
    CHECK_EQ(copy(&copier, in, out, 0, 200 * KIB + 1, true, &copied), 0);
    CHECK_EQ(copied, 200 * KIB + 1);
    CHECK_EQ(ftruncate(out, 200 * KIB + 1), 0);
    CHECK(help_is_equal(in, out) && help_is_mapped_alike(in, out));
    close(in);
    close(out);
    end(&copier);
}

TEST(what_is_known_of_one_file_is_not_believed_of_another)
{
    if (!help_has_holes())
        return;
    struct copier copier;
    begin(&copier, WEIR__DATA_AUTO, WEIR__SPARSE_KEEP);
    int solid = help_open(), in = help_open(), out = help_open();
    help_fill(solid, 0, 41 * MIB);
    uint64_t size = make_sparse(in), copied;
    CHECK_EQ(copy(&copier, solid, out, 0, 41 * MIB, true, &copied), 0);
    CHECK(help_is_equal(solid, out));
    CHECK_EQ(ftruncate(out, 0), 0);
    CHECK_EQ(ftruncate(out, (off_t)size), 0);
    CHECK_EQ(copy(&copier, in, out, 0, size, true, &copied), 0);
    CHECK(help_is_equal(in, out) && help_is_mapped_alike(in, out));
    close(solid);
    close(in);
    close(out);
    end(&copier);
}

TEST(a_file_of_holes_is_read_to_its_end_and_no_further)
{
    if (!help_has_holes())
        return;
    struct copier copier;
    begin(&copier, WEIR__DATA_AUTO, WEIR__SPARSE_KEEP);
    int in = help_open(), out = help_open();
    CHECK_EQ(ftruncate(in, 10 * MIB + 3), 0);
    uint64_t copied;
    CHECK_EQ(copy(&copier, in, out, 0, 50 * MIB, true, &copied), 0);
    CHECK_EQ(copied, 10 * MIB + 3);
    CHECK_EQ(copier.result.holes, 10 * MIB + 3);
    CHECK_STR(weir__data_way_name(&copier.result), "holes");
    CHECK_EQ(help_blocks(out), 0);
    CHECK_EQ(copy(&copier, in, out, 2 * MIB, 3 * MIB, true, &copied), 0);
    CHECK_EQ(copied, 3 * MIB);
    close(in);
    close(out);
    end(&copier);
}

TEST(old_data_under_a_hole_go)
{
    for (size_t i = 0; i < PATHS; i++) {
        for (int make = 0; make < 2; make++) {
            struct copier copier;
            begin(&copier, paths[i], make ? WEIR__SPARSE_MAKE : WEIR__SPARSE_KEEP);
            int in = help_open(), out = help_open();
            uint64_t size = make_sparse(in), copied;
            help_fill(out, 3, size + MIB);
            CHECK_EQ(copy(&copier, in, out, 0, size, false, &copied), 0);
            CHECK_EQ(copied, size);
            CHECK_EQ(ftruncate(out, (off_t)size), 0);
            CHECK(help_is_equal(in, out));
            close(in);
            close(out);
            end(&copier);
        }
    }
}

static int fills_old_holes(void *arg)
{
    struct copier copier;
    begin(&copier, *(const enum weir__data_path *)arg, WEIR__SPARSE_KEEP);
    int in = help_open(), out = help_open();
    uint64_t size = make_sparse(in), copied;
    help_fill(out, 3, size + MIB);
    if (copy(&copier, in, out, 0, size, false, &copied) || copied != size)
        return __LINE__ % 200;
    if (ftruncate(out, (off_t)size) || !help_is_equal(in, out))
        return __LINE__ % 200;
    return copier.result.holes == 0 && help_blocks(out) >= size ? 0 : __LINE__ % 200;
}

/* 0, or nothing to check with. */
#define CHECK_REFUSED(number, errno_value, fn, arg)                                                \
    do {                                                                                           \
        int refused = run_refusing(number, errno_value, fn, arg);                                  \
        if (refused == REFUSE_CANNOT)                                                              \
            printf("# no seccomp here: skipped\n");                                                \
        else                                                                                       \
            CHECK_EQ(refused, 0);                                                                  \
    } while (0)

TEST(zeros_are_written_where_no_hole_can_be_punched)
{
    for (size_t i = 0; i < PATHS; i++) {
        enum weir__data_path path = paths[i];
        CHECK_REFUSED(SYS_fallocate, EOPNOTSUPP, fills_old_holes, &path);
    }
}

TEST(zeros_become_holes)
{
    if (!help_has_holes())
        return;
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_MAKE);
        int in = help_open(), out = help_open();
        uint64_t size = 12 * MIB + 50, copied;
        help_fill(in, 0, size);
        help_zero(in, 8 * KIB, 4 * KIB);                    /* one block */
        help_zero(in, 100 * KIB + 1, 8 * KIB);              /* one whole block within, and parts */
        help_zero(in, MIB, 5 * MIB);                        /* many */
        help_zero(in, 7 * MIB + 1, 4 * KIB - 1);            /* too short */
        help_zero(in, 11 * MIB + 50, size - 11 * MIB - 50); /* the end */
        CHECK_EQ(ftruncate(out, (off_t)size), 0);
        CHECK_EQ(copy(&copier, in, out, 0, size, true, &copied), 0);
        CHECK_EQ(copied, size);
        CHECK(help_is_equal(in, out));
        CHECK_EQ(copier.result.range, 0);
        CHECK_EQ(copier.result.holes + moved(&copier.result), size);
        CHECK(copier.result.holes >= 6 * MIB);
        CHECK_EQ(lseek(out, 0, SEEK_HOLE), 8 * KIB);
        CHECK_EQ(lseek(out, 8 * KIB, SEEK_DATA), 12 * KIB);
        struct stat st;
        CHECK_EQ(fstat(out, &st), 0);
        off_t block = st.st_blksize;
        off_t from = (100 * KIB + block) / block * block, to = 108 * KIB / block * block;
        CHECK_EQ(lseek(out, 12 * KIB, SEEK_HOLE), from);
        CHECK_EQ(lseek(out, from, SEEK_DATA), to);
        CHECK_EQ(lseek(out, to, SEEK_HOLE), MIB);
        CHECK_EQ(lseek(out, MIB, SEEK_DATA), 6 * MIB);
        CHECK(help_blocks(out) < 7 * MIB);
        close(in);
        close(out);
        end(&copier);
    }
}

TEST(zeros_become_holes_at_whole_blocks_of_the_file)
{
    if (!help_has_holes())
        return;
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_MAKE);
        int in = help_open(), out = help_open();
        help_fill(in, 0, 4 * MIB);
        help_zero(in, 8 * KIB, 4 * KIB);
        help_zero(in, 3 * MIB, 4 * KIB);
        CHECK_EQ(ftruncate(out, 4 * MIB), 0);
        uint64_t copied;
        CHECK_EQ(copy(&copier, in, out, 1000, 4 * MIB - 1000, true, &copied), 0);
        CHECK(help_is_same(in, out, 1000, 4 * MIB - 1000));
        CHECK_EQ(copier.result.holes, 8 * KIB);
        CHECK_EQ(lseek(out, 0, SEEK_HOLE), 8 * KIB);
        CHECK_EQ(lseek(out, 12 * KIB, SEEK_HOLE), 3 * MIB);
        close(in);
        close(out);
        end(&copier);
    }
}

TEST(a_small_file_of_zeros_becomes_a_hole)
{
    if (!help_has_holes())
        return;
    struct copier copier;
    begin(&copier, WEIR__DATA_AUTO, WEIR__SPARSE_MAKE);
    int in = help_open(), out = help_open();
    help_zero(in, 0, 9000);
    uint64_t copied;
    CHECK_EQ(copy(&copier, in, out, 0, 9000, true, &copied), 0);
    CHECK_EQ(copied, 9000);
    CHECK_EQ(help_blocks(out), 0);
    CHECK_EQ(ftruncate(out, 9000), 0);
    CHECK(help_is_equal(in, out));
    close(in);
    close(out);
    end(&copier);
}

TEST(nothing_is_left_out_when_holes_are_not_wanted)
{
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_NEVER);
        int in = help_open(), out = help_open();
        uint64_t size = make_sparse(in), copied;
        CHECK_EQ(ftruncate(out, (off_t)size), 0);
        CHECK_EQ(copy(&copier, in, out, 0, size, true, &copied), 0);
        CHECK_EQ(copied, size);
        CHECK(help_is_equal(in, out));
        CHECK(help_blocks(out) >= size);
        CHECK_EQ(moved(&copier.result), size);
        /* It would share the holes where blocks can be shared. */
        CHECK_EQ(copier.result.range, 0);
        close(in);
        close(out);
        end(&copier);
    }
}

TEST(a_full_disk_is_an_error_of_the_writing_side)
{
    for (size_t i = 0; i < PATHS; i++) {
        for (uint64_t size = 10 * KIB; size <= 10 * MIB; size *= 32) {
            struct copier copier;
            begin(&copier, paths[i], WEIR__SPARSE_KEEP);
            int in = help_open(), out = open("/dev/full", O_WRONLY);
            help_fill(in, 0, size);
            uint64_t copied = 99;
            errno = 0;
            CHECK_EQ(copy(&copier, in, out, 0, size, true, &copied), -1);
            CHECK_EQ(errno, ENOSPC);
            CHECK(!copier.result.is_read_side);
            CHECK_EQ(copied, 99);
            close(in);
            close(out);
            end(&copier);
        }
    }
}

TEST(a_read_error_is_an_error_of_the_reading_side)
{
    for (size_t i = 0; i < PATHS; i++) {
        for (uint64_t length = 10 * KIB; length <= 10 * MIB; length *= 32) {
            struct copier copier;
            begin(&copier, paths[i], WEIR__SPARSE_KEEP);
            int in = open("/proc/self/mem", O_RDONLY), out = help_open();
            uint64_t copied;
            errno = 0;
            CHECK_EQ(copy(&copier, in, out, 0, length, true, &copied), -1);
            CHECK_EQ(errno, EIO);
            CHECK(copier.result.is_read_side);
            close(in);
            close(out);
            end(&copier);
        }
    }
}

/* Writes are cut short at the limit, and then fail. */
static int meets_the_limit(enum weir__data_path path)
{
    struct copier copier;
    begin(&copier, path, WEIR__SPARSE_KEEP);
    int in = help_open(), out = help_open();
    uint64_t size = 2 * MIB + 100 * KIB; /* what is left after the short write ends it */
    help_fill(in, 0, size);
    struct rlimit limit = {2 * MIB + 5000, 2 * MIB + 5000};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return REFUSE_CANNOT;
    uint64_t copied;
    if (copy(&copier, in, out, 0, size, true, &copied) != -1 || errno != EFBIG)
        return __LINE__ % 200;
    if (copier.result.is_read_side || help_size(out) != limit.rlim_cur)
        return __LINE__ % 200;
    return help_is_same(in, out, 0, limit.rlim_cur) ? 0 : __LINE__ % 200;
}

TEST(short_writes_are_continued)
{
    for (size_t i = 0; i < PATHS; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(meets_the_limit(paths[i]));
        CHECK_EQ(refuse_wait(child), 0);
    }
}

/* Files of /proc have no size and are made up as they are read; copy_file_range takes them for
 * empty. */
TEST(what_the_kernel_makes_up_is_copied)
{
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_KEEP);
        int in = open("/proc/cmdline", O_RDONLY), out = help_open();
        static char text[64 * KIB];
        ssize_t size = pread(in, text, sizeof(text), 0);
        CHECK(size > 0);
        uint64_t copied;
        CHECK_EQ(copy(&copier, in, out, 0, 10 * MIB, true, &copied), 0);
        CHECK_EQ(copied, size);
        CHECK(help_is_same(in, out, 0, (uint64_t)size));
        close(in);
        close(out);
        end(&copier);
    }
}

/* Whether copy_file_range was found not to work between these. */
static bool is_range_refused(struct copier *copier, int in, int out)
{
    struct stat in_stat, out_stat;
    if (fstat(in, &in_stat) || fstat(out, &out_stat))
        abort();
    struct weir__choice_stretch next;
    weir__choice_take(copier->choice,
                      weir__choice_pair(copier->choice, in_stat.st_dev, out_stat.st_dev),
                      1u << WEIR__WAY_RANGE | 1u << WEIR__WAY_PLAIN, 1, &next);
    return next.way == WEIR__WAY_PLAIN;
}

static int copies_well(void *arg)
{
    struct copier copier;
    begin(&copier, *(const enum weir__data_path *)arg, WEIR__SPARSE_KEEP);
    int in = help_open(), out = help_open();
    help_fill(in, 0, 5 * MIB);
    for (int round = 0; round < 2; round++) {
        uint64_t copied;
        if (copy(&copier, in, out, 0, 5 * MIB, true, &copied) || copied != 5 * MIB)
            return __LINE__ % 200;
        if (!help_is_equal(in, out))
            return __LINE__ % 200;
        if (*(const enum weir__data_path *)arg != WEIR__DATA_AUTO && copier.result.plain != 5 * MIB)
            return __LINE__ % 200;
        if (*(const enum weir__data_path *)arg == WEIR__DATA_RANGE &&
            !is_range_refused(&copier, in, out))
            return __LINE__ % 200;
    }
    end(&copier);
    return 0;
}

TEST(goes_on_without_what_the_kernel_refuses)
{
    static const int errors[] = {ENOSYS, EPERM, EXDEV, EINVAL, EOPNOTSUPP, ETXTBSY, EIO};
    enum weir__data_path any = WEIR__DATA_AUTO, range = WEIR__DATA_RANGE;
    /* An error of 0 is a call that says that it moved nothing. */
    CHECK_REFUSED(SYS_copy_file_range, 0, copies_well, &range);
    CHECK_REFUSED(SYS_copy_file_range, 0, copies_well, &any);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        enum weir__data_path path = WEIR__DATA_RING;
        CHECK_REFUSED(SYS_copy_file_range, errors[i], copies_well, &range);
        CHECK_REFUSED(SYS_copy_file_range, errors[i], copies_well, &any);
        CHECK_REFUSED(SYS_io_uring_setup, errors[i], copies_well, &path);
        CHECK_REFUSED(SYS_io_uring_register, errors[i], copies_well, &path);
        CHECK_REFUSED(SYS_io_uring_setup, errors[i], copies_well, &any);
        CHECK_REFUSED(SYS_fallocate, errors[i], copies_well, &any);
    }
}

TEST(goes_from_one_file_system_to_another)
{
    int in = help_open_in("/dev/shm"), out = help_open();
    struct stat in_stat, out_stat;
    if (in < 0 || fstat(in, &in_stat) || fstat(out, &out_stat) ||
        in_stat.st_dev == out_stat.st_dev) {
        printf("# no second file system here: skipped\n");
        close(out);
        return;
    }
    help_fill(in, 0, 20 * MIB);
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_KEEP);
        CHECK_EQ(ftruncate(out, 0), 0);
        uint64_t copied;
        CHECK_EQ(copy(&copier, in, out, 0, 20 * MIB, true, &copied), 0);
        CHECK_EQ(copied, 20 * MIB);
        CHECK(help_is_equal(in, out));
        end(&copier);
    }
    close(in);
    close(out);
}

TEST(cancelling_ends_it_and_leaves_the_mover_usable)
{
    for (size_t i = 0; i < PATHS; i++) {
        struct copier copier;
        begin(&copier, paths[i], WEIR__SPARSE_KEEP);
        struct weir_cancel token;
        weir_cancel_init(&token, NULL);
        weir_cancel_fire(&token);
        struct weir_deadline fired = weir_deadline_until(&token), past = {1, NULL};
        int in = help_open(), out = help_open();
        help_fill(in, 0, 10 * MIB);
        uint64_t copied = 99;
        errno = 0;
        CHECK_EQ(weir__mover_copy(&copier.mover, in, out, 0, 10 * MIB, true, &copied,
                                  &copier.result, &fired),
                 -1);
        CHECK_EQ(errno, ECANCELED);
        CHECK_EQ(weir__mover_copy(&copier.mover, in, out, 0, 10 * MIB, true, &copied,
                                  &copier.result, &past),
                 -1);
        CHECK_EQ(errno, ETIMEDOUT);
        CHECK_EQ(copied, 99);
        CHECK_EQ(copy(&copier, in, out, 0, 10 * MIB, true, &copied), 0);
        CHECK(help_is_equal(in, out));
        close(in);
        close(out);
        end(&copier);
        weir_cancel_fini(&token);
    }
}

struct canceller {
    struct weir_cancel token;
    struct weir_deadline delay;
};

static void *cancel_later(void *arg)
{
    struct canceller *canceller = arg;
    weir_deadline_sleep(&canceller->delay);
    weir_cancel_fire(&canceller->token);
    return NULL;
}

/* In the middle, with requests in flight: nothing is written after the return. */
TEST(nothing_goes_on_after_a_cancelled_copy)
{
    int in = help_open(), out = help_open();
    help_fill(in, 0, 64 * MIB);
    for (unsigned i = 0; i < 12; i++) {
        struct copier copier;
        begin(&copier, paths[i % PATHS], WEIR__SPARSE_KEEP);
        struct canceller canceller;
        weir_cancel_init(&canceller.token, NULL);
        canceller.delay = weir_deadline_in((i + 1) * 500 * WEIR_NS_PER_US, NULL);
        struct weir_deadline deadline = weir_deadline_until(&canceller.token);
        CHECK_EQ(ftruncate(out, 0), 0);
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, cancel_later, &canceller), 0);
        uint64_t copied;
        int result = weir__mover_copy(&copier.mover, in, out, 0, 64 * MIB, true, &copied,
                                      &copier.result, &deadline);
        int errno_value = errno;
        CHECK_EQ(ftruncate(out, 0), 0);
        pthread_join(thread, NULL);
        CHECK(result == 0 || errno_value == ECANCELED);
        CHECK_EQ(help_size(out), 0);
        weir__mover_fini(&copier.mover);
        CHECK_EQ(help_size(out), 0);
        weir__data_choice_free(copier.choice);
        weir_cancel_fini(&canceller.token);
    }
    close(in);
    close(out);
}

TEST(pacing_takes_a_token_for_each_byte)
{
    static const uint64_t bursts[] = {1000, 100 * KIB, 8 * MIB};
    for (size_t i = 0; i < PATHS; i++) {
        for (size_t j = 0; j < sizeof(bursts) / sizeof(bursts[0]); j++) {
            struct weir_rate rate = {0};
            struct weir_rate_options options = {.per_s = 4 * 1024 * MIB, .burst = bursts[j]};
            CHECK_EQ(weir_rate_init(&rate, "copy", &options), 0);
            struct copier copier;
            begin_with(&copier, paths[i], WEIR__REFLINK_AUTO, WEIR__SPARSE_KEEP, &rate);
            struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
            int in = help_open(), out = help_open();
            uint64_t size = MIB + 77, copied;
            help_fill(in, 0, size);
            CHECK_EQ(weir__mover_copy(&copier.mover, in, out, 0, size, true, &copied,
                                      &copier.result, &deadline),
                     0);
            CHECK_EQ(copied, size);
            CHECK(help_is_equal(in, out));
            struct weir_rate_stats stats;
            weir_rate_read(&rate, &stats);
            CHECK_EQ(stats.taken_tokens, size);
            CHECK_EQ(weir__mover_pace(&copier.mover, 5000, &deadline), 0);
            weir_rate_read(&rate, &stats);
            CHECK_EQ(stats.taken_tokens, size + 5000);
            close(in);
            close(out);
            end(&copier);
            weir_rate_fini(&rate);
        }
    }
}

TEST(a_burst_that_shrinks_is_asked_for_again)
{
    struct weir_rate rate = {0};
    struct weir_rate_options options = {.per_s = 4 * 1024 * MIB, .burst = MIB};
    CHECK_EQ(weir_rate_init(&rate, "copy", &options), 0);
    struct copier copier;
    begin_with(&copier, WEIR__DATA_PLAIN, WEIR__REFLINK_AUTO, WEIR__SPARSE_KEEP, &rate);
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__mover_pace(&copier.mover, 2 * MIB, &deadline), 0);
    CHECK_EQ(weir_rate_set(&rate, 4 * 1024 * MIB, 5000), 0);
    CHECK_EQ(weir__mover_pace(&copier.mover, 100000, &deadline), 0);
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    CHECK_EQ(stats.taken_tokens, 2 * MIB + 100000);
    end(&copier);
    weir_rate_fini(&rate);
}

TEST(a_wait_for_the_rate_can_be_cancelled)
{
    struct weir_rate rate = {0};
    struct weir_rate_options options = {.per_s = 1, .burst = 1};
    CHECK_EQ(weir_rate_init(&rate, "copy", &options), 0);
    struct copier copier;
    begin_with(&copier, WEIR__DATA_RING, WEIR__REFLINK_AUTO, WEIR__SPARSE_KEEP, &rate);
    struct weir_deadline soon = weir_deadline_in(WEIR_NS_PER_MS, NULL);
    int in = help_open(), out = help_open();
    help_fill(in, 0, MIB);
    uint64_t copied;
    CHECK_EQ(weir__mover_copy(&copier.mover, in, out, 0, MIB, true, &copied, &copier.result, &soon),
             -1);
    CHECK_EQ(errno, ETIMEDOUT);
    close(in);
    close(out);
    end(&copier);
    weir_rate_fini(&rate);
}

TEST(sharing_is_refused_where_it_must_not_be)
{
    int in = help_open(), out = help_open();
    help_fill(in, 0, MIB);
    struct copier copier;
    begin_with(&copier, WEIR__DATA_AUTO, WEIR__REFLINK_NEVER, WEIR__SPARSE_KEEP, NULL);
    CHECK(!weir__mover_can_reflink(&copier.mover, 1, 1));
    CHECK_EQ(weir__mover_reflink(&copier.mover, in, out), -1);
    CHECK_EQ(errno, EOPNOTSUPP);
    uint64_t copied;
    CHECK_EQ(copy(&copier, in, out, 0, MIB, true, &copied), 0);
    CHECK_EQ(copier.result.range, 0);
    CHECK(help_is_equal(in, out));
    end(&copier);
    close(in);
    close(out);
}

/* Either it is shared, or that it cannot be is remembered, by all movers of the run. */
TEST(sharing_is_tried_until_it_is_refused)
{
    int in = help_open(), out = help_open();
    help_fill(in, 0, MIB);
    struct stat st;
    CHECK_EQ(fstat(in, &st), 0);
    struct copier copier;
    begin(&copier, WEIR__DATA_AUTO, WEIR__SPARSE_KEEP);
    struct weir__mover other;
    CHECK_EQ(weir__mover_init(&other, copier.choice, WEIR__REFLINK_AUTO, WEIR__SPARSE_KEEP, NULL),
             0);
    CHECK(weir__mover_can_reflink(&copier.mover, st.st_dev, st.st_dev));
    int result = weir__mover_reflink(&copier.mover, in, out);
    if (result == 0) {
        CHECK(help_is_equal(in, out));
        CHECK(weir__mover_can_reflink(&other, st.st_dev, st.st_dev));
    } else {
        CHECK(!weir__mover_can_reflink(&other, st.st_dev, st.st_dev));
        CHECK(!weir__mover_can_reflink(&other, st.st_dev, st.st_dev));
        CHECK(weir__mover_can_reflink(&other, st.st_dev, st.st_dev + 1));
    }
    weir__mover_fini(&other);
    end(&copier);
    begin_with(&copier, WEIR__DATA_AUTO, WEIR__REFLINK_ALWAYS, WEIR__SPARSE_KEEP, NULL);
    CHECK_EQ(weir__mover_reflink(&copier.mover, in, out), result);
    CHECK(weir__mover_can_reflink(&copier.mover, st.st_dev, st.st_dev));
    end(&copier);
    close(in);
    close(out);
}

TEST(numbers_that_no_file_has_are_refused)
{
    struct copier copier;
    begin(&copier, WEIR__DATA_AUTO, WEIR__SPARSE_KEEP);
    uint64_t copied;
    CHECK_EQ(copy(&copier, 0, 1, UINT64_MAX, 1, true, &copied), -1);
    CHECK_EQ(errno, EFBIG);
    CHECK_EQ(copy(&copier, 0, 1, 1, INT64_MAX, true, &copied), -1);
    CHECK_EQ(errno, EFBIG);
    end(&copier);
    weir__mover_fini(NULL);
}

TEST(the_name_is_that_of_the_most_bytes)
{
    struct weir__data_result result = {0};
    CHECK_STR(weir__data_way_name(&result), "holes");
    result.plain = 5;
    CHECK_STR(weir__data_way_name(&result), "read+write");
    result.ring = 6;
    CHECK_STR(weir__data_way_name(&result), "io_uring");
    result.range = 7;
    CHECK_STR(weir__data_way_name(&result), "copy_file_range");
    result.reflinked = 8;
    CHECK_STR(weir__data_way_name(&result), "reflink");
}

TEST(digests_are_those_of_the_bytes)
{
    static const uint64_t sizes[] = {0, 1, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, 3 * MIB + 5};
    struct copier copier;
    begin(&copier, WEIR__DATA_AUTO, WEIR__SPARSE_KEEP);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int fd = help_open();
        help_fill(fd, 0, sizes[i]);
        char *bytes = malloc(sizes[i] + 1);
        CHECK_EQ(pread(fd, bytes, sizes[i], 0), sizes[i]);
        struct weir__hash hash;
        unsigned char wanted[WEIR__HASH_SIZE], digest[WEIR__DIGEST_SIZE];
        weir__hash_init(&hash);
        weir__hash_update(&hash, bytes, sizes[i]);
        weir__hash_final(&hash, wanted);
        uint64_t size = 99;
        CHECK_EQ(weir__mover_digest(&copier.mover, fd, &size, digest, NULL), 0);
        CHECK_EQ(size, sizes[i]);
        CHECK(memcmp(digest, wanted, sizeof(digest)) == 0);
        free(bytes);
        close(fd);
    }
    uint64_t size = 99;
    unsigned char digest[WEIR__DIGEST_SIZE];
    CHECK_EQ(weir__mover_digest(&copier.mover, -1, &size, digest, NULL), -1);
    CHECK_EQ(errno, EBADF);
    struct weir_deadline past = {1, NULL};
    CHECK_EQ(weir__mover_digest(&copier.mover, 0, &size, digest, &past), -1);
    CHECK_EQ(errno, ETIMEDOUT);
    CHECK_EQ(size, 99);
    end(&copier);
}

struct helper {
    struct weir__data_choice *choice;
    int in, out;
    uint64_t first, size;
    bool is_done;
};

static void *copy_some(void *arg)
{
    struct helper *helper = arg;
    struct weir__mover mover;
    struct weir__data_result result = {0};
    if (weir__mover_init(&mover, helper->choice, WEIR__REFLINK_AUTO, WEIR__SPARSE_KEEP, NULL))
        return NULL;
    bool is_good = true;
    for (uint64_t at = helper->first; at < helper->size; at += 20 * MIB) {
        uint64_t copied = 0, length = helper->size - at < 5 * MIB ? helper->size - at : 5 * MIB;
        is_good = is_good &&
                  weir__mover_copy(&mover, helper->in, helper->out, at, length, true, &copied,
                                   &result, NULL) == 0 &&
                  copied == length;
    }
    weir__mover_fini(&mover);
    helper->is_done = is_good;
    return NULL;
}

TEST(several_movers_share_a_file)
{
    for (size_t i = 0; i < PATHS; i++) {
        struct weir__data_choice *choice;
        CHECK_EQ(weir__data_choice_new(&choice, paths[i]), 0);
        int in = help_open(), out = help_open();
        uint64_t size = make_sparse(in);
        CHECK_EQ(ftruncate(out, (off_t)size), 0);
        struct helper helpers[4];
        pthread_t threads[4];
        for (unsigned j = 0; j < 4; j++) {
            helpers[j] = (struct helper){choice, in, out, j * 5 * MIB, size, false};
            CHECK_EQ(pthread_create(&threads[j], NULL, copy_some, &helpers[j]), 0);
        }
        for (unsigned j = 0; j < 4; j++)
            pthread_join(threads[j], NULL);
        for (unsigned j = 0; j < 4; j++)
            CHECK(helpers[j].is_done);
        CHECK(help_is_equal(in, out));
        CHECK(help_is_mapped_alike(in, out));
        close(in);
        close(out);
        weir__data_choice_free(choice);
    }
}

TAP_MAIN()
