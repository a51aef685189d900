/* fault_copy_run.c - a whole copy in which the n-th allocation, system call or thread start fails.
 *
 * Whatever fails: the run ends, tells it, leaks nothing, shows no half file under a final name and
 * leaves no temporary file. It answers 0 only if the copy is exact. A second run without faults
 * makes it exact. One thread copies in most sweeps, so that the n-th call is the same one each
 * time.
 */
#include <unistd.h>

#include "atomic.h"
#include "copy.h"
#include "copy_tree.h"
#include "engine.h"
#include "sweep.h"
#include "sys.h"
#include "tap.h"

static struct {
    struct weir__copy_options options;
    bool is_fresh;               /* nothing is at the destination */
    bool is_cold;                /* the source is not in memory */
    bool is_in_place;            /* then a file may be seen half written */
    const char *made;            /* what shall be as the source */
    const char *second;          /* another source, or NULL */
    char begun[WEIR__TEMP_SIZE]; /* the folder that a dead run had begun, or "" */
    uint64_t events;
    char last[256];
    int fault_errno;
    long failed, leftovers; /* runs */
} s;

static void told(void *arg, const struct weir__copy_event *event)
{
    (void)arg;
    if (event->kind != WEIR__EVENT_ERROR)
        return;
    weir__add64(&s.events, 1);
    snprintf(s.last, sizeof(s.last), "%s '%s': %s", event->what, event->path,
             strerror(event->errno_value));
}

static void configure(bool is_fresh)
{
    static const char *const sources[] = {"s/"};
    memset(&s, 0, sizeof(s));
    s.is_fresh = is_fresh;
    weir__copy_options_init(&s.options);
    s.options.sources = sources;
    s.options.sources_count = 1;
    s.options.destination = s.made = "d";
    s.options.hard_links = s.options.acls = s.options.xattrs = true;
    s.options.threads = 1;
    s.options.delete_when = is_fresh ? WEIR__DELETE_NEVER : WEIR__DELETE_AFTER;
    tree_start();
    tree_remove("s");
    tree_make();
    tree_remove("old");
    if (!is_fresh) {
        tree_remove("d");
        tree_make_old();
        CHECK_EQ(rename("d", "old"), 0);
    }
}

static int copy(struct weir__copy_stats *stats)
{
    struct weir__copy *run = NULL;
    struct weir__copy_hooks hooks = {.event = told};
    memset(stats, 0, sizeof(*stats));
    int result = weir__copy_start(&run, &s.options, &hooks);
    if (result < 0)
        return result;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__copy_wait(run, &deadline), 0);
    return weir__copy_finish(run, stats);
}

static void expect_same(const char *when)
{
    if (!tree_is_same("s", s.made))
        tap_fail(__FILE__, __LINE__, "%s: %s (errno %d, %s)", when, tree_why, s.fault_errno,
                 s.last);
}

static void check_failed(int result, const struct weir__copy_stats *stats)
{
    s.failed++;
    if (result == -WEIR_E_INCOMPLETE) {
        CHECK(stats->errors > 0);
        CHECK(weir__load64(&s.events) > 0);
    }
    if (tree_count("d", ".weir-tmp.") + tree_count(".", ".weir-tmp.") > 0)
        tap_fail(__FILE__, __LINE__, "a temporary file is left (errno %d, %s)", s.fault_errno,
                 s.last);
    /* What the first source cannot say is taken from the second. */
    bool is_silent = strncmp(s.last, "cannot open 's/':", 17) == 0;
    if (!s.is_in_place &&
        !tree_is_whole_of("s", is_silent ? s.second : NULL, s.made, s.is_fresh ? NULL : "old"))
        tap_fail(__FILE__, __LINE__, "%s (errno %d, %s)", tree_why, s.fault_errno, s.last);
    s.leftovers += tree_count(".", ".weir-dir.") > 0;
}

/* What has been written and is not in use can be let go of. */
static void cool(void)
{
    static const char *const names[] = {"s/small", "s/linked", "s/sub/f", "s/sub/deep/f",
                                        "s/swap/f"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int fd = open(names[i], O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0 && fdatasync(fd) == 0);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

/* With what it had brought and this run does not. */
static void make_begun(void)
{
    char path[TREE_PATH_MAX];
    tree_remove(s.begun);
    CHECK_EQ(mkdir(s.begun, 0700), 0);
    tree_join(path, s.begun, "stray");
    tree_file(path, 10, 300);
    tree_join(path, s.begun, "lost");
    CHECK_EQ(mkdir(path, 0700), 0);
}

static void copies(void)
{
    struct weir__copy_stats stats;
    if (s.is_cold)
        cool();
    tree_remove("d");
    if (!s.is_fresh)
        tree_make_old();
    if (s.begun[0] != '\0')
        make_begun();
    s.events = 0;
    s.last[0] = '\0';
    int descriptors = tree_descriptors();
    int result = copy(&stats);
    bool was_hit = weir_fault_was_hit(WEIR_FAULT_IO) || weir_fault_was_hit(WEIR_FAULT_ALLOC) ||
                   weir_fault_was_hit(WEIR_FAULT_THREAD);
    if (!was_hit) {
        weir_fault_arm(WEIR_FAULT_IO, 0);
        weir_fault_arm(WEIR_FAULT_ALLOC, 0);
        weir_fault_arm(WEIR_FAULT_THREAD, 0);
    }
    CHECK_EQ(tree_descriptors(), descriptors);
    if (result == 0) {
        expect_same("said to be exact");
        /* What cannot be removed is told, and stays. */
        CHECK(s.begun[0] == '\0' || tree_names("d") == 3);
        CHECK_EQ(stats.errors, 0);
        return;
    }
    if (!was_hit)
        tap_fail(__FILE__, __LINE__, "failed without a fault: %s", s.last);
    check_failed(result, &stats);
    result = copy(&stats);
    if (result != 0)
        tap_fail(__FILE__, __LINE__, "the second run failed: %s", s.last);
    expect_same("after a second run");
    CHECK_EQ(tree_count(".", ".weir-"), 0);
    CHECK_EQ(tree_descriptors(), descriptors);
}

/* Every call once with the first error; the others, which mostly go the same ways, take every third
 * one each, unless there is time. */
static void sweep_calls(int errno_value, long first, long step)
{
    s.fault_errno = errno_value;
    s.failed = s.leftovers = 0;
    weir__sys_fault_errno(errno_value);
    long runs = 0;
    for (long n = first; n < SWEEP_MAX; n += step) {
        weir_fault_arm(WEIR_FAULT_IO, (uint64_t)n);
        copies();
        bool was_hit = weir_fault_was_hit(WEIR_FAULT_IO);
        weir_fault_arm(WEIR_FAULT_IO, 0);
        if (!was_hit)
            break;
        runs++;
    }
    weir__sys_fault_errno(EIO);
    printf("# errno %d: %ld calls, %ld runs failed, %ld left a folder to go on with\n", errno_value,
           runs, s.failed, s.leftovers);
    CHECK(runs > 50);
    if (errno_value == EINTR)
        CHECK_EQ(s.failed, 0);
}

static void sweep_others(void)
{
    static const int errors[] = {ENOSPC, EMFILE, ENOMEM, EINTR};
    long step = getenv("WEIR_LONG") ? 1 : 3;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        sweep_calls(errors[i], 1 + (long)i % step, step);
}

TEST(every_call_of_a_fresh_copy)
{
    configure(true);
    sweep_calls(EIO, 1, 1);
}

TEST(every_call_of_a_fresh_copy_with_other_errors)
{
    configure(true);
    sweep_others();
}

TEST(every_call_of_an_update_with_deletions)
{
    configure(false);
    sweep_calls(EIO, 1, 1);
}

TEST(every_call_of_an_update_with_deletions_and_other_errors)
{
    configure(false);
    sweep_others();
}

TEST(every_call_of_an_update_with_deletions_before)
{
    configure(false);
    s.options.delete_when = WEIR__DELETE_BEFORE;
    sweep_calls(EIO, 1, getenv("WEIR_LONG") ? 1 : 3);
}

/* Ways that the sweeps above do not go. */
static void sweep_ways(void)
{
    long step = getenv("WEIR_LONG") ? 1 : 4;
    sweep_calls(EIO, 1, step);
    sweep_calls(ENOMEM, 2, step);
    s.fault_errno = ENOMEM;
    CHECK(sweep(WEIR_FAULT_ALLOC, copies) > 20);
}

TEST(every_way_to_write)
{
    configure(false);
    s.options.verify = s.options.partial = s.options.checksum = true;
    s.options.fsync = WEIR__FSYNC_FILE;
    sweep_ways();
}

TEST(every_way_in_place)
{
    configure(false);
    s.options.in_place = s.is_in_place = true;
    sweep_ways();
}

/* What the first source has is not replaced by what the second one has, nor deleted. */
TEST(every_way_with_two_sources)
{
    static const char *const sources[] = {"s/", "t/"};
    configure(false);
    tree_remove("t");
    CHECK_EQ(mkdir("t", 0700) | mkdir("t/sub", 0700), 0);
    tree_file("t/small", 30, 200);
    tree_file("t/sub/f", 40, 201);
    s.options.sources = sources;
    s.options.sources_count = 2;
    s.second = "t";
    sweep_ways();
}

TEST(every_way_with_a_list)
{
    configure(true);
    CHECK_EQ(system("cd s && find . | sort > ../list"), 0);
    s.options.files_from = "list";
    sweep_ways();
}

TEST(every_way_with_the_folder_of_a_dead_run)
{
    static const char *const sources[] = {"s"};
    static struct weir__copy any;
    configure(true);
    s.options.sources = sources;
    s.made = "d/s";
    any.boot = weir__name_boot();
    weir__name_dir(&any, "d", 0, s.begun);
    sweep_calls(EIO, 1, 1);
    s.fault_errno = ENOMEM;
    CHECK(sweep(WEIR_FAULT_ALLOC, copies) > 20);
}

static void sweep_memory(void)
{
    s.fault_errno = ENOMEM;
    long runs = sweep(WEIR_FAULT_ALLOC, copies);
    printf("# %ld allocations, %ld runs failed\n", runs, s.failed);
    CHECK(runs > 20);
}

TEST(every_allocation_of_a_fresh_copy)
{
    configure(true);
    sweep_memory();
}

TEST(every_allocation_of_an_update_with_deletions)
{
    configure(false);
    sweep_memory();
}

/* Files that were put off are completed when descriptors or memory run out elsewhere. */
TEST(calls_of_a_copy_from_a_cold_disk)
{
    for (int is_fresh = 0; is_fresh < 2; is_fresh++) {
        configure(is_fresh);
        s.is_cold = true;
        s.options.reflink = is_fresh ? WEIR__REFLINK_AUTO : WEIR__REFLINK_NEVER;
        sweep_calls(EMFILE, 1, getenv("WEIR_LONG") ? 1 : 2);
    }
}

/* The count beside the copy allocates and calls at its own time. */
TEST(every_allocation_with_a_count)
{
    configure(true);
    s.options.count = true;
    sweep_memory();
}

/* With files that are offered, awaited and counted by several. Which call is the n-th is a matter
 * of luck then, so that many are tried, and none must do harm. */
TEST(calls_of_several_threads)
{
    configure(false);
    s.options.threads = 4;
    s.options.files_max = 2;
    sweep_calls(EIO, 1, 5);
}

TEST(every_thread)
{
    configure(true);
    s.options.threads = 3;
    CHECK_EQ(sweep(WEIR_FAULT_THREAD, copies), 3);
    CHECK_EQ(s.failed, 0); /* fewer threads are slower, and nothing else */
    s.options.count = true;
    CHECK_EQ(sweep(WEIR_FAULT_THREAD, copies), 4);
    CHECK_EQ(s.failed, 0);
    s.options.count = false;
    s.options.threads = 1;
    CHECK_EQ(sweep(WEIR_FAULT_THREAD, copies), 1);
    CHECK_EQ(s.failed, 1);
}

TAP_MAIN()
