/* test_mapped.c - files that shrink while they are mapped; signals that are not ours. */
#include "mapped.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>

#include "tap.h"

#define PAGES 4u
#define PAGE  4096u

static char path[] = "/tmp/weir-mapped-XXXXXX";

static void make_file(size_t length)
{
    static bool is_made;
    int fd = is_made ? open(path, O_RDWR | O_CLOEXEC) : mkstemp(path);
    is_made = true;
    CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)length) == 0);
    CHECK(length == 0 || pwrite(fd, "x", 1, (off_t)length - 1) == 1);
    close(fd);
}

struct look {
    const struct weir__mapped *outer, *inner;
    size_t at;
    volatile int steps;
};

static int look_at(void *arg)
{
    struct look *look = arg;
    look->steps = 1;
    volatile unsigned char byte = look->outer->bytes[look->at];
    look->steps = 2;
    return byte;
}

static int look_nested(void *arg)
{
    struct look *look = arg;
    int result = weir__mapped_read(look->inner, look_at, look);
    look->steps += 10;
    return result;
}

TEST(reads)
{
    struct weir__mapped mapped;
    make_file(PAGES * PAGE);
    CHECK_EQ(weir__mapped_open(&mapped, AT_FDCWD, path, SIZE_MAX), 0);
    CHECK_EQ(mapped.length, PAGES * PAGE);
    struct look look = {&mapped, NULL, PAGES * PAGE - 1, 0};
    CHECK_EQ(weir__mapped_read(&mapped, look_at, &look), 'x');
    weir__mapped_close(&mapped);
    CHECK(!mapped.bytes);
    weir__mapped_close(&mapped);
    weir__mapped_close(NULL);
}

TEST(a_file_that_shrinks)
{
    struct weir__mapped mapped;
    make_file(PAGES * PAGE);
    CHECK_EQ(weir__mapped_open(&mapped, AT_FDCWD, path, SIZE_MAX), 0);
    CHECK_EQ(truncate(path, PAGE), 0);
    for (int i = 0; i < 1000; i++) { /* again and again */
        struct look look = {&mapped, NULL, 2 * PAGE, 0};
        CHECK_EQ(weir__mapped_read(&mapped, look_at, &look), -WEIR_E_IO);
        CHECK_EQ(look.steps, 1);
        look.at = 0;
        CHECK_EQ(weir__mapped_read(&mapped, look_at, &look), 0);
    }
    weir__mapped_close(&mapped);
}

TEST(nested_looks)
{
    struct weir__mapped outer, inner;
    make_file(PAGES * PAGE);
    CHECK_EQ(weir__mapped_open(&outer, AT_FDCWD, path, SIZE_MAX), 0);
    CHECK_EQ(weir__mapped_open(&inner, AT_FDCWD, "/proc/self/exe", SIZE_MAX), 0);
    CHECK_EQ(truncate(path, PAGE), 0);
    /* The one whose page is lost is the one that ends. */
    struct look look = {&outer, &inner, 2 * PAGE, 0};
    CHECK_EQ(weir__mapped_read(&outer, look_nested, &look), -WEIR_E_IO);
    CHECK_EQ(look.steps, 1);
    look.inner = &outer;
    CHECK_EQ(weir__mapped_read(&inner, look_nested, &look), -WEIR_E_IO);
    CHECK_EQ(look.steps, 11);
    look.at = 0;
    CHECK_EQ(weir__mapped_read(&inner, look_nested, &look), 0);
    CHECK_EQ(look.steps, 12);
    weir__mapped_close(&outer);
    weir__mapped_close(&inner);
}

static void *look_in_thread(void *arg)
{
    struct look look = {arg, NULL, 3 * PAGE, 0};
    for (int i = 0; i < 500; i++)
        if (weir__mapped_read(arg, look_at, &look) != -WEIR_E_IO)
            return arg; /* anything but NULL */
    return NULL;
}

TEST(many_threads)
{
    struct weir__mapped mapped;
    pthread_t threads[4];
    make_file(PAGES * PAGE);
    CHECK_EQ(weir__mapped_open(&mapped, AT_FDCWD, path, SIZE_MAX), 0);
    CHECK_EQ(truncate(path, PAGE), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, look_in_thread, &mapped), 0);
    for (int i = 0; i < 4; i++) {
        void *answer;
        CHECK_EQ(pthread_join(threads[i], &answer), 0);
        CHECK(!answer);
    }
    weir__mapped_close(&mapped);
}

static int look_nowhere(void *arg)
{
    uintptr_t nowhere = *(uintptr_t *)arg;
    return *(volatile unsigned char *)nowhere;
}

/* What a library is led to by bytes that are wrong. */
TEST(an_address_that_is_none)
{
    struct weir__mapped anywhere;
    uintptr_t places[] = {0x188, UINT64_C(0x7f00dead0000), UINT64_C(0xdead000000000000)};
    CHECK_EQ(weir__mapped_anywhere(&anywhere), 0);
    for (size_t i = 0; i < 300; i++)
        CHECK_EQ(weir__mapped_read(&anywhere, look_nowhere, &places[i % 3]), -WEIR_E_IO);
}

TEST(bytes_from_elsewhere)
{
    unsigned char bytes[] = "abc";
    struct weir__mapped none = {NULL, 0}, fake = {bytes, sizeof(bytes)};
    struct look look = {&fake, NULL, 1, 0};
    CHECK_EQ(weir__mapped_read(&none, look_at, &look), 'b');
}

TEST(what_cannot_be_mapped)
{
    struct weir__mapped mapped = {0};
    make_file(0);
    CHECK_EQ(weir__mapped_open(&mapped, AT_FDCWD, path, SIZE_MAX), -WEIR_E_CORRUPT);
    make_file(PAGE);
    CHECK_EQ(weir__mapped_open(&mapped, AT_FDCWD, path, PAGE - 1), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir__mapped_open(&mapped, AT_FDCWD, "/", SIZE_MAX), -WEIR_E_INVALID);
    CHECK_EQ(weir__mapped_open(&mapped, AT_FDCWD, "/nowhere/x", SIZE_MAX), -WEIR_E_NOT_FOUND);
    CHECK(!mapped.bytes);
}

/* A SIGBUS that is nobody's look ends the process, as it always did. */
static int died_of(void (*fn)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        fn();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void read_outside(void)
{
    struct weir__mapped mapped;
    if (weir__mapped_open(&mapped, AT_FDCWD, path, SIZE_MAX) == 0 && truncate(path, PAGE) == 0) {
        volatile unsigned char byte = mapped.bytes[2 * PAGE];
        (void)byte;
    }
}

static void be_sent_one(void)
{
    struct weir__mapped mapped;
    if (weir__mapped_open(&mapped, AT_FDCWD, path, SIZE_MAX) == 0)
        raise(SIGBUS);
}

TEST(other_faults_stay_faults)
{
    make_file(PAGES * PAGE);
    /* Under a sanitizer it is that which ends the process, with its report. */
    CHECK(died_of(read_outside) != 0);
    make_file(PAGES * PAGE);
    CHECK(died_of(be_sent_one) != 0);
}

int main(int argc, char **argv)
{
    int status = tap_main(argc, argv);
    unlink(path);
    return status;
}
