/* Tests of whole copies of a small tree, by the library alone: limits, stops, counts, refusals. */
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weir/cancel.h>

#include "copy.h"
#include "copy_tree.h"
#include "ring.h"
#include "tap.h"

static struct weir__copy_options options;
static struct weir__copy_stats stats;
static struct weir__copy *running;
static char told[512]; /* the last error */
static unsigned stop_after;
static struct weir_cancel started; /* fires when running is known */

/* One thread copies where this is used, so that it needs no lock. */
static void event(void *arg, const struct weir__copy_event *seen)
{
    (void)arg;
    if (seen->kind == WEIR__EVENT_ERROR)
        snprintf(told, sizeof(told), "%s '%s': %s", seen->what, seen->path,
                 seen->detail ? seen->detail : strerror(seen->errno_value));
    if (seen->kind == WEIR__EVENT_ITEM && stop_after > 0 && --stop_after == 0) {
        struct weir_deadline until_started = weir_deadline_until(&started);
        weir_deadline_sleep(&until_started);
        weir__copy_stop(running);
    }
}

static void start_from(const char *const *sources, size_t count)
{
    tree_start();
    tree_remove("s");
    tree_remove("d");
    tree_make();
    told[0] = '\0';
    stop_after = 0;
    weir__copy_options_init(&options);
    options.sources = sources;
    options.sources_count = count;
    options.destination = "d";
    options.hard_links = options.xattrs = true;
    options.threads = 1;
}

static void start(void)
{
    static const char *const sources[] = {"s/"};
    start_from(sources, 1);
}

static int copy(void)
{
    struct weir__copy_hooks hooks = {.event = event, .wanted = 1u << WEIR__EVENT_ITEM};
    weir_cancel_init(&started, NULL);
    int result = weir__copy_start(&running, &options, &hooks);
    if (result < 0)
        return result;
    weir_cancel_fire(&started);
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__copy_wait(running, &deadline), 0);
    CHECK_EQ(weir__copy_wait(running, &deadline), 0); /* it stays done */
    result = weir__copy_finish(running, &stats);
    weir_cancel_fini(&started);
    return result;
}

static void expect_exact(void)
{
    int result = copy();
    if (result != 0)
        tap_fail(__FILE__, __LINE__, "failed: %s", told);
    CHECK_EQ(stats.errors, 0);
    if (!tree_is_same("s", "d"))
        tap_fail(__FILE__, __LINE__, "%s", tree_why);
    CHECK_EQ(tree_count(".", ".weir-"), 0);
}

/* --- exact, and counted --- */

TEST(counts_what_it_copies)
{
    start();
    expect_exact();
    CHECK_EQ(stats.files, 11); /* three names of one of them */
    CHECK_EQ(stats.dirs, 5);
    CHECK_EQ(stats.symlinks, 2);
    CHECK_EQ(stats.specials, 1);
    CHECK_EQ(stats.devices, geteuid() == 0 ? 1 : 0);
    CHECK_EQ(stats.hard_links, 3);
    CHECK_EQ(stats.created,
             stats.files + stats.dirs + stats.symlinks + stats.specials + stats.devices);
    CHECK_EQ(stats.updated + stats.unchanged + stats.skipped + stats.deleted, 0);
    CHECK_EQ(stats.bytes_done, stats.bytes_total);
    CHECK(stats.is_discovered);
    CHECK_EQ(stats.in_flight, 0);
    uint64_t created = stats.created;
    expect_exact();
    CHECK_EQ(stats.unchanged, created);
    CHECK_EQ(stats.created + stats.updated + stats.metadata_only + stats.bytes_written, 0);
}

TEST(one_in_flight_is_enough)
{
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        start();
        options.threads = threads;
        options.files_max = options.dirs_max = options.large_max = options.bytes_max = 1;
        expect_exact();
        CHECK_EQ(stats.in_flight_max, 1);
        tree_remove("d");
        tree_make_old();
        options.delete_when = WEIR__DELETE_BEFORE;
        expect_exact();
        CHECK_EQ(stats.in_flight_max, 1);
        CHECK(stats.deleted >= 4);
    }
}

TEST(brings_up_to_date_and_deletes)
{
    start();
    tree_make_old();
    options.delete_when = WEIR__DELETE_AFTER;
    expect_exact();
    CHECK(stats.updated >= 4);
    CHECK(!stats.delete_held && !stats.delete_limited);
}

/* What has been written is let go of. */
static void cool(const char *name)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fsync(fd) == 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

/* Whether a read would have to wait then: not so on a tmpfs. */
static bool can_cool(void)
{
    char byte;
    struct iovec part = {&byte, 1};
    tree_file("probe", 100, 1);
    cool("probe");
    int fd = open("probe", O_RDONLY | O_CLOEXEC);
    bool must_wait = preadv2(fd, &part, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN;
    close(fd);
    return must_wait;
}

TEST(reads_that_must_wait_are_put_off)
{
    start();
    static const char *const names[] = {"s/small", "s/linked", "s/sub/f", "s/sub/deep/f"};
    for (size_t i = 0; i < 4; i++)
        cool(names[i]);
    options.files_max = 2;
    expect_exact();
}

static bool has_ring(void)
{
    static char memory[4096];
    struct weir__ring *ring = NULL;
    bool is_made = weir__ring_new(&ring, memory, sizeof(memory), 1) == 0;
    weir__ring_free(ring);
    return is_made;
}

/* More than a thread may have asked for at once, and some that are too large to be asked for. */
static void copy_many_cold(void)
{
    enum { COUNT = 300 };
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof(name), "s/cold%u", i);
        if (access(name, F_OK) < 0)
            tree_file(name, i % 29 == 0 ? 20000 : (i + 1) * 50, i);
        cool(name);
    }
    tree_remove("d");
    expect_exact();
    printf("# %llu bytes through a ring\n", (unsigned long long)stats.bytes_ring);
}

TEST(many_reads_that_must_wait_are_asked_for_together)
{
    start();
    options.threads = 1;
    copy_many_cold();
    CHECK(stats.bytes_ring > 0 || !can_cool() || !has_ring());
    options.threads = 3;
    options.files_max = 40; /* fewer than a batch */
    copy_many_cold();
    CHECK(stats.in_flight_max <= 40);
    options.data_path = WEIR__DATA_PLAIN;
    copy_many_cold();
    CHECK_EQ(stats.bytes_ring, 0);
}

TEST(a_list_may_name_a_directory_and_then_what_is_in_it)
{
    start();
    CHECK_EQ(system("cd s && find . | sort > ../list"), 0);
    options.files_from = "list";
    expect_exact();
}

/* The owner of a file that is written in place says nothing about those that are made. */
TEST(a_new_file_beside_one_in_place_gets_its_owner)
{
    if (geteuid() != 0) {
        printf("# needs root: skipped\n");
        return;
    }
    start();
    CHECK_EQ(mkdir("d", 0755), 0);
    tree_file("d/small", 5, 10); /* comes first, since its inode was made first */
    CHECK_EQ(chown("d/small", 1, 2) | chown("s/big", 1, 2), 0);
    options.in_place = true;
    expect_exact();
}

/* --- errors --- */

TEST(what_is_missing_is_told_and_the_rest_copied)
{
    static const char *const sources[] = {"s/nowhere", "s/small", "s/sub"};
    start_from(sources, 3);
    CHECK_EQ(copy(), -WEIR_E_INCOMPLETE);
    CHECK_EQ(stats.errors, 1);
    CHECK_STR(told, "cannot find 's/nowhere': No such file or directory");
    CHECK(tree_is_content_same("s/small", "d/small"));
    CHECK(tree_is_content_same("s/sub/deep/f", "d/sub/deep/f"));
}

static void make_two_conflicts(void)
{
    CHECK_EQ(mkdir("d", 0755) | mkdir("d/small", 0755) | mkdir("d/big", 0755), 0);
    tree_file("d/small/f", 1, 1);
    tree_file("d/big/f", 1, 1);
}

TEST(errors_are_counted_one_by_one)
{
    start();
    make_two_conflicts();
    CHECK_EQ(copy(), -WEIR_E_INCOMPLETE);
    CHECK_EQ(stats.errors, 2);
    CHECK(tree_is_content_same("s/sub/f", "d/sub/f"));
    CHECK_EQ(tree_count(".", ".weir-"), 0);
}

TEST(fail_fast_stops_at_the_first)
{
    start();
    make_two_conflicts();
    options.fail_fast = true;
    CHECK_EQ(copy(), -WEIR_E_INCOMPLETE);
    CHECK_EQ(stats.errors, 1);
    CHECK_EQ(tree_count(".", ".weir-tmp."), 0);
    tree_remove("d/small");
    tree_remove("d/big");
    options.fail_fast = false;
    expect_exact();
}

TEST(deletions_are_held_back_by_errors)
{
    static const char *const sources[] = {"s/", "nowhere/"};
    start_from(sources, 2);
    tree_make_old();
    options.delete_when = WEIR__DELETE_AFTER;
    CHECK_EQ(copy(), -WEIR_E_INCOMPLETE);
    CHECK(stats.delete_held);
    CHECK(access("d/extra", F_OK) == 0);
}

/* --- stops --- */

TEST(a_stop_leaves_nothing_half_made)
{
    for (unsigned after = 1; after < 12; after++) {
        start();
        if (after % 2)
            tree_make_old();
        tree_remove("old");
        CHECK_EQ(system("if [ -d d ]; then cp -a d old; fi"), 0);
        stop_after = after;
        options.delete_when = WEIR__DELETE_AFTER; /* a directory is in the way of a file */
        CHECK_EQ(copy(), -WEIR_E_CANCELED);
        CHECK_EQ(stats.errors, 0);
        CHECK_EQ(tree_count(".", ".weir-tmp."), 0);
        if (!tree_is_whole("s", "d", "old"))
            tap_fail(__FILE__, __LINE__, "%s", tree_why);
        expect_exact();
    }
    tree_remove("old");
}

TEST(a_paced_copy_can_be_watched_and_stopped)
{
    start();
    options.rate_per_s = 1 << 16; /* the large file alone takes seconds */
    struct weir__copy_hooks hooks = {.event = event};
    CHECK_EQ(weir__copy_start(&running, &options, &hooks), 0);
    tree_file("s/more", 300, 5);
    struct weir_deadline soon = weir_deadline_in(WEIR_NS_PER_MS, NULL);
    CHECK_EQ(weir__copy_wait(running, &soon), -WEIR_E_TIMEOUT);
    weir__copy_read(running, &stats);
    CHECK(stats.in_flight <= stats.files_limit);
    /* Without a stop: finishing is enough. */
    CHECK_EQ(weir__copy_finish(running, &stats), -WEIR_E_CANCELED);
    CHECK_EQ(tree_count(".", ".weir-tmp."), 0);
    options.rate_per_s = 0;
    expect_exact();
}

/* --- refusals --- */

static void expect_refused(const char *destination, const char *text)
{
    options.destination = destination;
    told[0] = '\0';
    CHECK(copy() < 0);
    CHECK_HAS(told, text);
}

TEST(what_cannot_work_is_refused_before_anything_is_done)
{
    start();
    int descriptors = tree_descriptors();
    expect_refused("s/sub", "cannot be copied into itself");
    expect_refused("s/new", "cannot be copied into itself");
    expect_refused("s/small", "not a directory");
    expect_refused("nowhere/d", "cannot find the folder of the destination");
    expect_refused("", "the destination is empty");
    CHECK_EQ(tree_count("s", ".weir-"), 0);
    CHECK_EQ(tree_descriptors(), descriptors);
    options.destination = "d";
    expect_exact();
}

TEST(a_dry_run_changes_nothing)
{
    start();
    options.dry_run = true;
    CHECK_EQ(copy(), 0);
    CHECK(stats.created > 10);
    CHECK(access("d", F_OK) != 0);
    tree_make_old();
    tree_remove("old");
    CHECK_EQ(system("cp -a d old"), 0);
    options.delete_when = WEIR__DELETE_AFTER;
    CHECK_EQ(copy(), 0);
    CHECK(tree_is_same("old", "d"));
    CHECK(stats.deleted >= 3);
    tree_remove("old");
}

TAP_MAIN()
