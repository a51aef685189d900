/* test_entries.c - the entries of a directory, as the kernel writes them, against what stat says.
 */
#include "entries.h"

#include "tap.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys.h"

#define FILES 40u

_Static_assert(offsetof(struct weir__dirent, d_ino) == offsetof(struct dirent64, d_ino) &&
                   offsetof(struct weir__dirent, d_off) == offsetof(struct dirent64, d_off) &&
                   offsetof(struct weir__dirent, d_reclen) == offsetof(struct dirent64, d_reclen) &&
                   offsetof(struct weir__dirent, d_type) == offsetof(struct dirent64, d_type) &&
                   offsetof(struct weir__dirent, d_name) == offsetof(struct dirent64, d_name),
               "the system's own structure has the same places");

TEST(dots)
{
    CHECK(weir__dirent_is_dots(".") && weir__dirent_is_dots(".."));
    CHECK(!weir__dirent_is_dots("") && !weir__dirent_is_dots("...") && !weir__dirent_is_dots(".a"));
    CHECK(!weir__dirent_is_dots("a") && !weir__dirent_is_dots("..a"));
}

/* Windows so small that there are many, one of them begun anew in the middle. */
TEST(a_directory)
{
    char folder[] = "/tmp/weir-entries-XXXXXX", name[16];
    _Alignas(struct weir__dirent) char window[256];
    unsigned seen = 0, dots = 0;
    bool is_seen[FILES] = {false};
    struct stat st;
    CHECK(mkdtemp(folder));
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(dir >= 0);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "%u", i);
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(fd >= 0 && close(fd) == 0);
    }
    ssize_t size;
    while ((size = weir__sys_getdents(dir, window, sizeof(window))) > 0)
        for (ssize_t at = 0; at < size;) {
            const struct weir__dirent *entry = weir__dirent_at(window, at);
            at += entry->d_reclen;
            CHECK(at <= size);
            if (weir__dirent_is_dots(entry->d_name)) {
                dots++;
                continue;
            }
            unsigned long number = strtoul(entry->d_name, NULL, 10);
            CHECK(number < FILES && !is_seen[number]);
            is_seen[number] = true;
            CHECK_EQ(fstatat(dir, entry->d_name, &st, 0), 0);
            CHECK_EQ(entry->d_ino, st.st_ino);
            CHECK(entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
            CHECK_EQ(unlinkat(dir, entry->d_name, 0), 0);
            if (++seen == FILES / 2) { /* the rest of this window comes again */
                CHECK(lseek(dir, entry->d_off, SEEK_SET) >= 0);
                break;
            }
        }
    CHECK_EQ(size, 0);
    CHECK_EQ(seen, FILES);
    CHECK_EQ(dots, 2);
    close(dir);
    CHECK_EQ(rmdir(folder), 0);
}

TAP_MAIN()
