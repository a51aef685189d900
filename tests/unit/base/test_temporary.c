/* test_temporary.c - files without names, and ranges that are read and written whole. */
#include "temporary.h"

#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "sys.h"

static char folder[] = "/tmp/weir-temporary-XXXXXX";

static void drop_folder(void)
{
    rmdir(folder);
}

static void make_folder(void)
{
    static bool is_made;
    if (!is_made)
        CHECK(mkdtemp(folder) && atexit(drop_folder) == 0);
    is_made = true;
}

/* It can be used, and no name leads to it. */
static void is_fine(int fd)
{
    struct stat st;
    char text[8] = "";
    unsigned names = 0;
    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK(S_ISREG(st.st_mode) && st.st_nlink == 0 && (st.st_mode & 0777) == 0600);
    DIR *dir = opendir(folder);
    CHECK(dir);
    while (readdir(dir))
        names++;
    closedir(dir);
    CHECK_EQ(names, 2);
    CHECK_EQ(weir__whole_write(fd, "hello", 5), 0);
    CHECK_EQ(weir__whole_pwrite(fd, "LO!", 3, 3), 0);
    CHECK_EQ(weir__whole_pread(fd, text, 6, 0), 0);
    CHECK_STR(text, "helLO!");
    close(fd);
}

TEST(a_file_without_a_name)
{
    make_folder();
    is_fine(weir__temporary_open(folder));
}

TEST(where_there_is_none)
{
    make_folder();
    CHECK_EQ(weir__temporary_open("/no/such/folder"), -WEIR_E_NOT_FOUND);
    CHECK_EQ(errno, ENOENT);
    CHECK(weir__temporary_open("/dev/null") < 0);
    CHECK(weir__temporary_open("") < 0);
}

#ifdef WEIR_FAULTS
/* On a file system that knows no files without names; and where the name cannot be removed or the
 * memory for it is not there. */
TEST(a_name_that_is_gone_at_once)
{
    static const int errors[] = {EOPNOTSUPP, EISDIR, EINVAL};
    make_folder();
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        weir_fault_arm(WEIR_FAULT_IO, 1);
        int fd = weir__temporary_open(folder);
        CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
        is_fine(fd);
        weir_fault_arm(WEIR_FAULT_IO, 1);
        weir_fault_arm(WEIR_FAULT_ALLOC, 1);
        CHECK_EQ(weir__temporary_open(folder), -WEIR_E_NO_MEMORY);
        CHECK_EQ(errno, ENOMEM);
        weir_fault_arm(WEIR_FAULT_ALLOC, 0);
        weir_fault_arm(WEIR_FAULT_IO, 0);
    }
    weir__sys_fault_errno(EIO);
}
#endif

TEST(all_or_an_error)
{
    char bytes[64] = "";
    make_folder();
    int fd = weir__temporary_open(folder), full = open("/dev/full", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && full >= 0);
    CHECK_EQ(weir__whole_pwrite(fd, bytes, 10, 100), 0);
    CHECK_EQ(weir__whole_pread(fd, bytes, 60, 50), 0);
    CHECK_EQ(weir__whole_pread(fd, bytes, 61, 50), -WEIR_E_IO);
    CHECK_EQ(errno, EIO);
    CHECK_EQ(weir__whole_write(fd, bytes, 0), 0);
    CHECK_EQ(weir__whole_write(full, "x", 1), -WEIR_E_NO_SPACE);
    CHECK_EQ(errno, ENOSPC);
    CHECK(weir__whole_pwrite(-1, "x", 1, 0) < 0 && errno == EBADF);
    close(full);
    close(fd);
}

/* A pipe takes as much as it has room for. */
TEST(a_pipe_takes_it_in_parts)
{
    int fds[2];
    static char bytes[300000], back[300000];
    CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(weir__whole_write(fds[1], bytes, sizeof(bytes)) != 0);
    close(fds[1]);
    size_t at = 0;
    ssize_t n;
    while ((n = read(fds[0], back + at, sizeof(back) - at)) > 0)
        at += (size_t)n;
    CHECK_EQ(at, sizeof(bytes));
    CHECK(memcmp(bytes, back, sizeof(bytes)) == 0);
    close(fds[0]);
}

TAP_MAIN()
