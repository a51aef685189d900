/* test_out.c - all is written or the first failure is known. */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weir/error.h>
#include <weir/fault.h>

#include "tap.h"

static struct weir__out out;

TEST(writes_small_and_large_in_order)
{
    int fd = memfd_create("out", 0);
    weir__out_init(&out, fd);
    static char block[WEIR__OUT_SIZE * 2];
    memset(block, 'b', sizeof(block));
    weir__out_puts(&out, "a");
    weir__out_write(&out, block, sizeof(block));
    for (int i = 0; i < 10000; i++)
        weir__out_printf(&out, "%d,", i % 10);
    int errno_value = -1;
    CHECK_EQ(weir__out_finish(&out, &errno_value), 0);
    CHECK_EQ(errno_value, -1);
    size_t size = 1 + sizeof(block) + 20000;
    CHECK_EQ(lseek(fd, 0, SEEK_END), size);
    char *text = malloc(size);
    CHECK_EQ(pread(fd, text, size, 0), size);
    CHECK(text[0] == 'a' && text[1] == 'b' && text[sizeof(block)] == 'b');
    CHECK(memcmp(text + sizeof(block) + 1, "0,1,2,", 6) == 0);
    CHECK(memcmp(text + size - 2, "9,", 2) == 0);
    free(text);
    close(fd);
}

TEST(escapes_what_others_wrote)
{
    int fd = memfd_create("out", 0);
    weir__out_init(&out, fd);
    weir__out_escaped(&out, "a\n\033[31m\xc3\xa4");
    int errno_value = 0;
    CHECK_EQ(weir__out_finish(&out, &errno_value), 0);
    char text[64] = "";
    CHECK(pread(fd, text, sizeof(text) - 1, 0) > 0);
    CHECK_STR(text, "a\\n\\x1b[31m\xc3\xa4");
    close(fd);
}

TEST(a_full_device_is_reported_once)
{
    int fd = open("/dev/full", O_WRONLY);
    weir__out_init(&out, fd);
    weir__out_puts(&out, "a");
    CHECK(!weir__out_is_done(&out));
    weir__out_flush(&out);
    CHECK(weir__out_is_done(&out));
    weir__out_puts(&out, "b");
    int errno_value = 0;
    CHECK_EQ(weir__out_finish(&out, &errno_value), -WEIR_E_NO_SPACE);
    CHECK_EQ(errno_value, ENOSPC);
    close(fd);
}

TEST(a_failure_that_was_taken_is_not_told_again)
{
    int fd = open("/dev/full", O_WRONLY), errno_value = 0;
    weir__out_init(&out, fd);
    CHECK_EQ(weir__out_take_failure(&out, &errno_value), 0);
    CHECK(!weir__out_is_done(&out));
    weir__out_puts(&out, "a");
    CHECK_EQ(weir__out_take_failure(&out, &errno_value), -WEIR_E_NO_SPACE);
    CHECK_EQ(errno_value, ENOSPC);
    CHECK(weir__out_is_done(&out));
    CHECK_EQ(weir__out_finish(&out, &errno_value), 0);
    close(fd);
}

TEST(a_reader_that_left_is_no_failure)
{
    int fds[2];
    CHECK_EQ(pipe(fds), 0);
    close(fds[0]);
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    weir__out_init(&out, fds[1]);
    weir__out_puts(&out, "a");
    int errno_value = 0;
    CHECK_EQ(weir__out_finish(&out, &errno_value), 0);
    CHECK(weir__out_is_done(&out));
    signal(SIGPIPE, old);
    close(fds[1]);
}

TEST(a_closed_descriptor_is_a_failure)
{
    weir__out_init(&out, -1);
    weir__out_puts(&out, "a");
    int errno_value = 0;
    CHECK(weir__out_finish(&out, &errno_value) < 0);
    CHECK_EQ(errno_value, EBADF);
}

TEST(one_printf_beyond_the_buffer_is_overflow)
{
    int fd = memfd_create("out", 0);
    weir__out_init(&out, fd);
    weir__out_printf(&out, "%*s", WEIR__OUT_SIZE - 1, "x");
    CHECK(!weir__out_is_done(&out));
    weir__out_printf(&out, "%*s", WEIR__OUT_SIZE, "x");
    int errno_value = 0;
    CHECK_EQ(weir__out_finish(&out, &errno_value), -WEIR_E_OVERFLOW);
    CHECK_EQ(errno_value, 0);
    close(fd);
}

#ifdef WEIR_FAULTS
TEST(every_write_may_fail)
{
    int fd = memfd_create("out", 0);
    for (uint64_t n = 1;; n++) {
        weir__out_init(&out, fd);
        weir_fault_arm(WEIR_FAULT_IO, n);
        for (int i = 0; i < 40000; i++)
            weir__out_puts(&out, "x");
        int errno_value = 0;
        int result = weir__out_finish(&out, &errno_value);
        bool was_hit = weir_fault_was_hit(WEIR_FAULT_IO);
        weir_fault_arm(WEIR_FAULT_IO, 0);
        CHECK_EQ(result, was_hit ? -WEIR_E_IO : 0);
        CHECK_EQ(errno_value, was_hit ? EIO : 0);
        if (!was_hit)
            break;
    }
    close(fd);
}

#endif

static int is_wanted_now(void)
{
    return 1;
}

/* An end was asked for before anything waited: no signal comes that would end a wait. */
static void check_unread(int fd)
{
    static char much[1 << 20];
    int errno_value = 0;
    weir__out_init(&out, fd);
    weir__out_hurry(&out, is_wanted_now, 1000 * 1000);
    for (unsigned i = 0; i < 16 && !weir__out_is_done(&out); i++)
        weir__out_write(&out, much, sizeof(much));
    CHECK_EQ(weir__out_finish(&out, &errno_value), -WEIR_E_INTERRUPTED);
    CHECK_EQ(errno_value, EINTR);
    CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0); /* it is others' as well */
}

TEST(a_reader_who_takes_nothing_is_not_waited_for)
{
    int pipes[2], sockets[2];
    CHECK_EQ(pipe(pipes), 0);
    check_unread(pipes[1]);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    check_unread(sockets[1]);
    close(pipes[0]);
    close(pipes[1]);
    close(sockets[0]);
    close(sockets[1]);
}

TAP_MAIN()
