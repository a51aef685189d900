/* test_store_errno.c - whatever the system says of a file of the store is no fault of who asked for
 * something: it is an error of the disk, which is told, and shown until it is over. */
#include <errno.h>

#include <weir/fault.h>

#include "store_rig.h"
#include "sys.h"

#define LENGTH 3000u

static const struct {
    int errno_value;
    int result;
} cases[] = {
    {EIO, -WEIR_E_IO},           {EROFS, -WEIR_E_READ_ONLY},
    {EPERM, -WEIR_E_IO},         {EACCES, -WEIR_E_IO},
    {EINVAL, -WEIR_E_IO},        {EOPNOTSUPP, -WEIR_E_IO},
    {ETIMEDOUT, -WEIR_E_IO},     {ESTALE, -WEIR_E_IO},
    {EEXIST, -WEIR_E_IO},        {ENOENT, -WEIR_E_IO},
    {EAGAIN, -WEIR_E_IO},        {ECANCELED, -WEIR_E_IO},
    {EDQUOT, -WEIR_E_NO_SPACE},  {ENOSPC, -WEIR_E_NO_SPACE},
    {ENOMEM, -WEIR_E_NO_MEMORY}, {EMFILE, -WEIR_E_NO_DESCRIPTORS},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static unsigned lines;
static char told[200];

static void hear(void *arg, const struct weir__address *address, const char *what)
{
    (void)arg, (void)address;
    lines++;
    snprintf(told, sizeof(told), "%s", what);
}

static struct weir__store *open_store(void)
{
    struct weir__store *store = rig_open(NULL);
    weir__store_on_damage(store, hear, NULL);
    lines = 0;
    return store;
}

static bool is_failing(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats.is_failing;
}

/* The n-th call from now on fails. */
static void arm(uint64_t n, int errno_value)
{
    weir__sys_fault_errno(errno_value);
    weir_fault_arm(WEIR_FAULT_IO, n);
}

static bool disarm(void)
{
    bool was_hit = weir_fault_was_hit(WEIR_FAULT_IO);
    weir_fault_arm(WEIR_FAULT_IO, 0);
    weir__sys_fault_errno(EIO);
    return was_hit;
}

/* The n-th call of a put fails. False: it has fewer. */
static bool put_badly(size_t i, uint64_t n, bool is_first)
{
    struct weir__address address;
    int errno_value = cases[i].errno_value;
    rig_make_folder();
    struct weir__store *store = open_store();
    if (!is_first)
        CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    arm(n, errno_value);
    int result = rig_put(store, LENGTH, 2, &address);
    bool was_hit = disarm();
    CHECK(result == 0 || result == cases[i].result);
    bool is_of_disk = result == -WEIR_E_IO || result == -WEIR_E_READ_ONLY;
    CHECK_EQ(is_failing(store), is_of_disk);
    CHECK_EQ(lines, is_of_disk);
    if (is_of_disk)
        CHECK_HAS(told, strerror(errno_value) + 1); /* but for its capital */
    /* It is over when something was written. */
    CHECK_EQ(rig_put(store, LENGTH, 3, &address), 0);
    CHECK(!is_failing(store));
    weir__store_close(store);
    rig_remove_folder();
    return was_hit;
}

static void writes_fail(bool is_first)
{
    for (size_t i = 0; i < CASES; i++) {
        uint64_t n = 1;
        while (put_badly(i, n, is_first))
            n++;
        CHECK(n > 2);
    }
}

TEST(a_write_that_fails)
{
    writes_fail(false);
}

TEST(a_segment_that_cannot_be_begun)
{
    writes_fail(true);
}

/* It is told once, however many try. */
TEST(a_disk_that_goes_on_to_fail)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = open_store();
    for (uint64_t n = 0; n < 5; n++) {
        arm(1, EROFS);
        CHECK_EQ(rig_put(store, LENGTH, n, &address), -WEIR_E_READ_ONLY);
        CHECK(disarm());
    }
    CHECK(is_failing(store));
    CHECK_EQ(lines, 1);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    CHECK(!is_failing(store));
    weir__store_close(store);
    rig_remove_folder();
}

/* Opening a segment and reading from it. A segment that is not there is one of which the index is
 * wrong. */
TEST(a_read_that_fails)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = open_store();
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    weir__store_close(store);
    for (size_t i = 0; i < CASES; i++) {
        bool was_hit = true;
        if (cases[i].errno_value == ENOENT)
            continue;
        for (uint64_t n = 1; was_hit; n++) {
            store = open_store();
            arm(n, cases[i].errno_value);
            int result = rig_read(store, &address, LENGTH, 1);
            was_hit = disarm();
            CHECK(result == 0 || result == -WEIR_E_IO || result == -WEIR_E_NO_MEMORY ||
                  result == -WEIR_E_NO_DESCRIPTORS);
            CHECK(was_hit || n > 2);
            CHECK_EQ(rig_read(store, &address, LENGTH, 1), 0);
            weir__store_close(store);
        }
    }
    rig_remove_folder();
}

TAP_MAIN()
