/* fault_copy_data.c - every allocation and every system call of the data path fails in turn: the
 * copy is right or the error is told, and the mover works afterwards. */
#include "tap.h"

#include "../unit/copy/data_help.h"
#include "data.h"
#include "sweep.h"
#include "sys.h"

static enum weir__data_path path;
static enum weir__sparse sparse;
static bool is_blank;
static int fault_errno;
static int in, out;
static uint64_t size;

static void check_good(void)
{
    CHECK_EQ(ftruncate(out, (off_t)size), 0);
    CHECK(help_is_equal(in, out));
}

static void copy_once(struct weir__mover *mover)
{
    struct weir__data_result result = {0};
    uint64_t copied = 0;
    CHECK_EQ(ftruncate(out, 0), 0);
    if (!is_blank)
        help_fill(out, 1, size);
    errno = 0;
    if (weir__mover_copy(mover, in, out, 0, size, is_blank, &copied, &result, NULL)) {
        CHECK_EQ(errno, fault_errno);
        CHECK(fault_errno != EINTR);
    } else {
        CHECK_EQ(copied, size);
        check_good();
    }
}

static void everything(void)
{
    struct weir__data_choice *choice = NULL;
    struct weir__mover mover = {0};
    int error = weir__data_choice_new(&choice, path);
    if (!error)
        error = weir__mover_init(&mover, choice, WEIR__REFLINK_AUTO, sparse, NULL);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
    } else {
        copy_once(&mover);
        if (weir_fault_was_hit(WEIR_FAULT_IO) || weir_fault_was_hit(WEIR_FAULT_ALLOC)) {
            copy_once(&mover);
            check_good();
        }
    }
    weir__mover_fini(&mover);
    weir__data_choice_free(choice);
}

/* The first part of it data, then zeros, a hole, data and a small hole, unless it has no room. */
static void make_source(uint64_t bytes)
{
    in = help_open();
    out = help_open();
    size = bytes;
    help_fill(in, 0, size);
    if (size < MIB)
        return;
    help_zero(in, 512 * KIB, 256 * KIB);
    (void)!fallocate(in, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 768 * KIB, 256 * KIB);
    (void)!fallocate(in, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, MIB + 64 * KIB, 8 * KIB);
}

static void sweep_errors(void)
{
    static const int errors[] = {EIO, ENOSPC, EINTR};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        fault_errno = errors[i];
        weir__sys_fault_errno(fault_errno);
        CHECK(sweep(WEIR_FAULT_IO, everything) > 0);
    }
    CHECK(sweep(WEIR_FAULT_ALLOC, everything) >= 2);
}

static void sweep_kinds(enum weir__data_path with)
{
    path = with;
    for (int kind = 0; kind < 4; kind++) {
        sparse = kind < 2 ? WEIR__SPARSE_KEEP : WEIR__SPARSE_MAKE;
        is_blank = kind % 2 == 0;
        sweep_errors();
    }
}

static void sweep_paths(uint64_t bytes)
{
    make_source(bytes);
    sweep_kinds(WEIR__DATA_RANGE);
    sweep_kinds(WEIR__DATA_RING);
    sweep_kinds(WEIR__DATA_PLAIN);
    close(in);
    close(out);
}

TEST(a_small_file_survives_everything)
{
    sweep_paths(100 * KIB);
}

TEST(a_larger_file_survives_everything)
{
    sweep_paths(MIB + 600 * KIB + 77);
}

/* Long enough that a way is tried on it. */
TEST(a_measured_file_survives_everything)
{
    make_source(6 * MIB);
    path = WEIR__DATA_AUTO;
    sparse = WEIR__SPARSE_KEEP;
    is_blank = true;
    sweep_errors();
    close(in);
    close(out);
}

static void digest_once(void)
{
    struct weir__data_choice *choice = NULL;
    struct weir__mover mover = {0};
    unsigned char digest[WEIR__DIGEST_SIZE];
    uint64_t digested = 0;
    weir_fault_arm(WEIR_FAULT_ALLOC, 0);
    CHECK_EQ(weir__data_choice_new(&choice, WEIR__DATA_AUTO), 0);
    CHECK_EQ(weir__mover_init(&mover, choice, WEIR__REFLINK_AUTO, WEIR__SPARSE_KEEP, NULL), 0);
    if (weir__mover_digest(&mover, in, &digested, digest, NULL))
        CHECK_EQ(errno, EIO);
    else
        CHECK_EQ(digested, size);
    if (weir__mover_reflink(&mover, in, out) == 0)
        CHECK(help_is_equal(in, out));
    weir__mover_fini(&mover);
    weir__data_choice_free(choice);
}

TEST(digests_and_sharing_survive_failing_calls)
{
    make_source(100 * KIB);
    weir__sys_fault_errno(EIO);
    CHECK(sweep(WEIR_FAULT_IO, digest_once) >= 3);
    close(in);
    close(out);
}

TAP_MAIN()
