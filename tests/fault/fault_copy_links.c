/* The n-th allocation or system call of the table of links fails: what is not remembered is told,
 * what is remembered is right, and nothing leaks. */
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "links.h"
#include "spill.h"
#include "sweep.h"
#include "sys.h"

#define INODES 3600
#define LIMIT  60000

static struct weir__link_place place;
static int failures;

static struct weir__link_key key_of(uint64_t number)
{
    return (struct weir__link_key){1, number};
}

static void fill_place(uint64_t number)
{
    place.device = number;
    place.inode = number + 1;
    place.root = 0;
    weir__buffer_truncate(&place.path, 0);
    weir__buffer_fini(&place.path);
    weir__buffer_init(&place.path, 200);
    /* Outside of what is tested, but armed as well. */
    while (weir__buffer_printf(&place.path, "path/of/%llu", (unsigned long long)number) != 0)
        continue;
}

static void check_place(uint64_t number)
{
    char path[64];
    snprintf(path, sizeof(path), "path/of/%llu", (unsigned long long)number);
    CHECK_EQ(place.device, number);
    CHECK_EQ(place.inode, number + 1);
    CHECK_STR(weir__buffer_text(&place.path), path);
}

static void second_names(struct weir__links *links, uint64_t first, uint64_t count,
                         const bool *is_known)
{
    for (uint64_t i = first; i < first + count; i++) {
        int answer = weir__links_enter(links, key_of(i), 2, NULL, &place, NULL);
        if (answer < 0) {
            failures++;
            continue;
        }
        CHECK_EQ(answer, is_known[i] ? WEIR__LINK_KNOWN : WEIR__LINK_FIRST);
        if (is_known[i])
            check_place(i);
        else
            CHECK(!weir__links_done(links, key_of(i), NULL, NULL, NULL));
    }
}

static void first_names(struct weir__links *links, uint64_t count, bool *is_known)
{
    for (uint64_t i = 0; i < count; i++) {
        int answer = weir__links_enter(links, key_of(i), 2, NULL, &place, NULL), error = 1;
        is_known[i] = false;
        if (answer < 0) {
            failures++;
            continue;
        }
        CHECK_EQ(answer, WEIR__LINK_FIRST);
        fill_place(i);
        CHECK(!weir__links_done(links, key_of(i), &place, &error, NULL));
        is_known[i] = error == 0;
        failures += error != 0;
        uint64_t memory, spilled;
        weir__links_read(links, &memory, &spilled);
        CHECK(memory <= LIMIT);
    }
}

static void scenario(uint64_t count)
{
    static bool is_known[INODES];
    int before = count_descriptors();
    struct weir__links *links = NULL;
    struct weir__links_options options = {LIMIT, NULL};
    weir__buffer_fini(&place.path);
    weir__buffer_init(&place.path, 200);
    failures = 0;
    int error = weir__links_new(&links, &options);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK(!links);
        return;
    }
    first_names(links, count, is_known);
    second_names(links, 0, count, is_known);
    weir__links_free(links);
    weir__buffer_fini(&place.path);
    CHECK_EQ(count_descriptors(), before);
    /* One fault costs at most the one inode that came with it. */
    CHECK(failures <= 1);
}

static void a_few(void)
{
    scenario(300);
}

TEST(survives_every_failing_allocation)
{
    long runs = sweep(WEIR_FAULT_ALLOC, a_few);
    printf("# %ld\n", runs);
    CHECK(runs > 300);
}

TEST(survives_every_failing_call)
{
    static const int errors[] = {EIO, ENOSPC, EINTR};
    for (size_t i = 0; i < 3; i++) {
        weir__sys_fault_errno(errors[i]);
        long runs = sweep(WEIR_FAULT_IO, a_few);
        printf("# errno %d: %ld\n", errors[i], runs);
        CHECK(runs > 300);
    }
    weir__sys_fault_errno(EIO);
}

/* Growing makes some hundred calls among many thousand; those around it are left out. */
static bool is_known[INODES];

static void grown(uint64_t n)
{
    struct weir__links *links = NULL;
    struct weir__links_options options = {0, NULL}; /* all goes to the file, each by itself */
    int before = count_descriptors();
    CHECK_EQ(weir__links_new(&links, &options), 0);
    weir__buffer_fini(&place.path);
    weir__buffer_init(&place.path, 200);
    for (uint64_t i = 0; i < 3200; i++) {
        if (i == 3070)
            weir_fault_arm(WEIR_FAULT_IO, n);
        int error = 1;
        int answer = weir__links_enter(links, key_of(i), 2, NULL, &place, NULL);
        is_known[i] = false;
        if (answer < 0)
            continue;
        CHECK_EQ(answer, WEIR__LINK_FIRST);
        fill_place(i);
        CHECK(!weir__links_done(links, key_of(i), &place, &error, NULL));
        is_known[i] = error == 0;
    }
    bool hit = weir_fault_was_hit(WEIR_FAULT_IO);
    weir_fault_arm(WEIR_FAULT_IO, 0);
    failures = 0;
    second_names(links, 0, 3200, is_known);
    CHECK_EQ(failures, 0);
    CHECK(hit);
    weir__links_free(links);
    weir__buffer_fini(&place.path);
    CHECK_EQ(count_descriptors(), before);
}

TEST(survives_every_failing_call_while_the_table_grows)
{
    static const int errors[] = {EIO, ENOSPC, EMFILE};
    for (size_t i = 0; i < 3; i++) {
        weir__sys_fault_errno(errors[i]);
        for (uint64_t n = 1; n <= 250; n += n < 20 ? 1 : 11)
            grown(n);
    }
    weir__sys_fault_errno(EIO);
}

/* A file system without O_TMPFILE: the file has a name for a moment. */
TEST(without_files_that_are_born_nameless)
{
    static const int errors[] = {EOPNOTSUPP, EISDIR, EINVAL};
    const char *parent = getenv("TMPDIR");
    char folder[256];
    snprintf(folder, sizeof(folder), "%s/weir-links-XXXXXX", parent && *parent ? parent : "/tmp");
    CHECK(mkdtemp(folder));
    for (size_t i = 0; i < 3; i++) {
        struct weir__spill *spill = NULL;
        CHECK_EQ(weir__spill_new(&spill, folder, 0), 0);
        struct weir__spill_item item = {key_of(1), 1, 2, 3, 4, "where", 5};
        size_t count = 0;
        weir__sys_fault_errno(errors[i]);
        weir_fault_arm(WEIR_FAULT_IO, 1);
        CHECK_EQ(weir__spill_put(spill, &item, 1, &count, NULL), 0);
        CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
        weir_fault_arm(WEIR_FAULT_IO, 0);
        CHECK_EQ(count, 1);
        weir__buffer_init(&place.path, 200);
        CHECK_EQ(weir__spill_take(spill, key_of(1), &place), 1);
        CHECK_STR(weir__buffer_text(&place.path), "where");
        weir__buffer_fini(&place.path);
        weir__spill_free(spill);
        CHECK_EQ(rmdir(folder), 0); /* nothing is in it */
        CHECK_EQ(mkdir(folder, 0700), 0);
    }
    CHECK_EQ(rmdir(folder), 0);
    weir__sys_fault_errno(EIO);
}

TAP_MAIN()
