/* Rules and ignore files when memory or a system call fails: an error with its text, no leak, and
 * what was there before is still there. */
#include "tap.h"

#include "filter.h"
#include "ignore.h"
#include "sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sweep.h"

static char rules_path[128];

static void write_rules(void)
{
    const char *folder = getenv("TMPDIR");
    snprintf(rules_path, sizeof(rules_path), "%s/weir-rules-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(rules_path);
    CHECK(fd >= 0);
    /* More than one read, and more rules than the first room for them. */
    for (int i = 0; i < 600; i++)
        CHECK(dprintf(fd, "*.[%d]/%d\n", i % 10, i) > 0);
    close(fd);
}

static int wanted_error;

static void makes_a_filter(void)
{
    struct weir__filter *filter = NULL;
    int descriptors = count_descriptors();
    int error = weir__filter_new(&filter);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK(!filter);
        return;
    }
    bool is_added = weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "a*") == 0;
    CHECK(is_added == (weir__filter_problem(filter)[0] == '\0'));
    error = weir__filter_add_file(filter, WEIR__FILTER_INCLUDE, rules_path, false);
    if (error) {
        CHECK_EQ(error, wanted_error);
        CHECK(weir__filter_problem(filter)[0] != '\0');
    }
    CHECK_EQ(weir__filter_match(filter, "ab", "ab", false),
             is_added ? WEIR__FILTER_EXCLUDE : WEIR__FILTER_NONE);
    if (!error)
        CHECK_EQ(weir__filter_match(filter, "x.9/599", "599", false), WEIR__FILTER_INCLUDE);
    weir__filter_free(filter);
    CHECK_EQ(count_descriptors(), descriptors);
}

TEST(a_filter_without_memory)
{
    write_rules();
    wanted_error = -WEIR_E_NO_MEMORY;
    long runs = sweep(WEIR_FAULT_ALLOC, makes_a_filter);
    unlink(rules_path);
    CHECK(runs > 600);
}

static long sweep_reads(int errno_value, int error)
{
    wanted_error = error;
    weir__sys_fault_errno(errno_value);
    long runs = sweep(WEIR_FAULT_IO, makes_a_filter);
    weir__sys_fault_errno(EIO);
    return runs;
}

TEST(a_file_that_cannot_be_read)
{
    write_rules();
    long eio = sweep_reads(EIO, -WEIR_E_IO);
    long enospc = sweep_reads(ENOSPC, -WEIR_E_NO_SPACE);
    long emfile = sweep_reads(EMFILE, -WEIR_E_NO_DESCRIPTORS);
    long eintr = sweep_reads(EINTR, 0); /* is made again, so that nothing fails */
    unlink(rules_path);
    CHECK(eio >= 4);
    CHECK_EQ(enospc, eio);
    CHECK_EQ(emfile, eio);
    CHECK_EQ(eintr, eio);
}

static void makes_ignores(void)
{
    static const char top[] = "*.o\n[a]/**/b\n!c\n", below[] = "x\n";
    struct weir__ignore *root = NULL, *sub = NULL;
    int error = weir__ignore_new(&root, NULL, "", top, sizeof(top) - 1);
    CHECK(error == 0 || error == -WEIR_E_NO_MEMORY);
    CHECK((error == 0) == (root != NULL));
    error = weir__ignore_new(&sub, root, "d", below, sizeof(below) - 1);
    CHECK((error == 0) == (sub != NULL));
    if (sub)
        CHECK(weir__ignore_is_ignored(sub, "d/x", false));
    if (root)
        CHECK(weir__ignore_is_ignored(sub ? sub : root, "d/a.o", false));
    weir__ignore_free(sub);
    weir__ignore_free(root);
}

TEST(ignore_files_without_memory)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, makes_ignores), 6);
}

TAP_MAIN()
