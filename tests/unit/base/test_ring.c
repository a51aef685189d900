/* test_ring.c - reads and writes through the ring, refusals, and that nothing stays in flight. */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <weir/error.h>

#include "refuse.h"
#include "tap.h"

#define SLOTS 4u
#define SIZE  (64u << 10)

static _Alignas(4096) char memory[SLOTS * SIZE];

/* NULL where this machine has no io_uring; the tests then say so and pass. */
static struct weir__ring *make(void)
{
    struct weir__ring *ring = NULL;
    int error = weir__ring_new(&ring, memory, SIZE, SLOTS);
    if (error) {
        CHECK_EQ(error, -WEIR_E_UNSUPPORTED);
        printf("# no io_uring here: skipped\n");
    }
    return ring;
}

/* A file in memory with count bytes that tell their places. */
static int make_file(size_t count)
{
    int fd = memfd_create("ring", 0);
    CHECK(fd >= 0);
    for (size_t i = 0; i < count; i++) {
        char byte = (char)(i * 7 + i / 251);
        CHECK_EQ(pwrite(fd, &byte, 1, (off_t)i), 1);
    }
    return fd;
}

TEST(reads_what_is_there)
{
    struct weir__ring *ring = make();
    if (!ring)
        return;
    int fd = make_file(3000);
    weir__ring_read(ring, 0, fd, 0, 1000, 0);
    weir__ring_read(ring, 1, fd, 10, 1000, 1000);
    weir__ring_read(ring, 2, fd, 0, 2000, 2000);
    weir__ring_read(ring, 3, fd, 0, 2000, 5000);
    CHECK_EQ(weir__ring_in_flight(ring), 4);
    static const int wanted[SLOTS] = {1000, 1000, 1000, 0};
    bool seen[SLOTS] = {false};
    for (unsigned i = 0; i < SLOTS; i++) {
        unsigned slot;
        int result;
        CHECK_EQ(weir__ring_next(ring, &slot, &result), 0);
        CHECK(slot < SLOTS && !seen[slot]);
        seen[slot] = true;
        CHECK_EQ(result, wanted[slot]);
    }
    CHECK_EQ(weir__ring_in_flight(ring), 0);
    char direct[1000];
    CHECK_EQ(pread(fd, direct, 1000, 1000), 1000);
    CHECK(memcmp(weir__ring_buffer(ring, 1) + 10, direct, 1000) == 0);
    weir__ring_free(ring);
    close(fd);
}

TEST(writes_where_it_should)
{
    struct weir__ring *ring = make();
    if (!ring)
        return;
    int fd = memfd_create("ring", 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        memset(weir__ring_buffer(ring, i), 'a' + (int)i, SIZE);
        weir__ring_write(ring, i, fd, i, SIZE - SLOTS, (uint64_t)i * SIZE);
    }
    weir__ring_drain(ring);
    CHECK_EQ(weir__ring_in_flight(ring), 0);
    CHECK_EQ(lseek(fd, 0, SEEK_END), SLOTS * SIZE - SLOTS);
    for (unsigned i = 0; i < SLOTS; i++) {
        char ends[2];
        CHECK_EQ(pread(fd, &ends[0], 1, (off_t)(i * SIZE)), 1);
        CHECK_EQ(pread(fd, &ends[1], 1, (off_t)(i * SIZE + SIZE - SLOTS - 1)), 1);
        CHECK(ends[0] == 'a' + (char)i && ends[1] == 'a' + (char)i);
    }
    weir__ring_free(ring);
    close(fd);
}

TEST(an_error_is_the_answer_of_its_request)
{
    struct weir__ring *ring = make();
    if (!ring)
        return;
    int fd = open("/dev/full", O_RDWR);
    weir__ring_write(ring, 2, fd, 0, 10, 0);
    unsigned slot;
    int result;
    CHECK_EQ(weir__ring_next(ring, &slot, &result), 0);
    CHECK_EQ(slot, 2);
    CHECK_EQ(result, -ENOSPC);
    weir__ring_read(ring, 2, -1, 0, 10, 0);
    CHECK_EQ(weir__ring_next(ring, &slot, &result), 0);
    CHECK_EQ(result, -EBADF);
    errno = 0;
    CHECK_EQ(weir__ring_next(ring, &slot, &result), -1);
    CHECK_EQ(errno, EINVAL);
    weir__ring_free(ring);
    close(fd);
}

TEST(free_waits_for_what_is_in_flight)
{
    struct weir__ring *ring = make();
    if (!ring)
        return;
    int fd = memfd_create("ring", 0);
    memset(weir__ring_buffer(ring, 0), 'x', SIZE);
    weir__ring_write(ring, 0, fd, 0, SIZE, 0);
    weir__ring_free(ring);
    char last;
    CHECK_EQ(pread(fd, &last, 1, SIZE - 1), 1);
    CHECK_EQ(last, 'x');
    weir__ring_free(NULL);
    close(fd);
}

TEST(is_used_a_thousand_times)
{
    struct weir__ring *ring = make();
    if (!ring)
        return;
    int fd = make_file(5000);
    for (int round = 0; round < 1000; round++) {
        for (unsigned i = 0; i < SLOTS; i++)
            weir__ring_read(ring, i, fd, 0, 500, (uint64_t)(round % 9 * 500));
        for (unsigned i = 0; i < SLOTS; i++) {
            unsigned slot;
            int result;
            CHECK_EQ(weir__ring_next(ring, &slot, &result), 0);
            CHECK_EQ(result, 500);
        }
    }
    weir__ring_free(ring);
    close(fd);
}

TEST(refuses_numbers_out_of_bounds)
{
    struct weir__ring *ring = NULL;
    CHECK_EQ(weir__ring_new(&ring, memory, SIZE, 0), -WEIR_E_INVALID);
    CHECK_EQ(weir__ring_new(&ring, memory, SIZE, WEIR__RING_SLOTS_MAX + 1), -WEIR_E_INVALID);
    CHECK_EQ(weir__ring_new(&ring, memory, 0, SLOTS), -WEIR_E_INVALID);
    CHECK(!ring);
}

static void ask_twice(void *arg)
{
    weir__ring_read(arg, 0, 0, 0, 10, 0);
    weir__ring_read(arg, 0, 0, 0, 10, 0);
}

static void ask_outside(void *arg)
{
    weir__ring_write(arg, 0, 0, SIZE - 1, 2, 0);
}

TEST(misuse_dies)
{
    struct weir__ring *ring = make();
    if (!ring)
        return;
    CHECK(tap_dies(ask_twice, ring, "two requests for one slot"));
    CHECK(tap_dies(ask_outside, ring, "a request outside of the buffer"));
    weir__ring_free(ring);
}

static int is_unsupported(void *arg)
{
    struct weir__ring *ring = arg;
    return weir__ring_new(&ring, memory, SIZE, SLOTS) == -WEIR_E_UNSUPPORTED ? 0 : __LINE__;
}

static void check_refused(long number, int errno_value)
{
    int status = run_refusing(number, errno_value, is_unsupported, NULL);
    if (status == REFUSE_CANNOT)
        printf("# no seccomp here: skipped\n");
    else
        CHECK_EQ(status, 0);
}

TEST(is_unsupported_where_it_is_switched_off)
{
    check_refused(SYS_io_uring_setup, ENOSYS);
    check_refused(SYS_io_uring_setup, EPERM);
    check_refused(SYS_io_uring_register, EPERM);
    check_refused(SYS_io_uring_register, ENOMEM);
}

/* Nobody may lock 64 KiB here, so a ring of 256 KiB cannot be had. Root may, and becomes somebody
 * else first. */
static int is_unlocked(void)
{
    struct rlimit limit = {SIZE, SIZE};
    if (setrlimit(RLIMIT_MEMLOCK, &limit))
        return REFUSE_CANNOT;
    if (geteuid() == 0 && setresuid(65534, 65534, 65534))
        return REFUSE_CANNOT;
    return is_unsupported(NULL);
}

TEST(is_unsupported_where_memory_may_not_be_locked)
{
    pid_t child = fork();
    if (child == 0)
        _exit(is_unlocked());
    int status = refuse_wait(child);
    if (status == REFUSE_CANNOT)
        printf("# limits cannot be lowered here: skipped\n");
    else
        CHECK_EQ(status, 0);
}

TAP_MAIN()
