/* Whole copies of a small tree with many threads: with limits of one, two and plenty, to nothing
 * and onto what is there, stopped at random moments and begun again. */
#include "stress.h"

#include <weir/cancel.h>

#include "atomic.h"
#include "copy.h"
#include "copy_tree.h"

#define DIRS  6
#define FILES 40

static struct {
    struct weir__copy_options options;
    uint64_t errors;
    uint64_t random;
    char last[256];
} s;

static void told(void *arg, const struct weir__copy_event *event)
{
    (void)arg;
    if (event->kind == WEIR__EVENT_ERROR && weir__add64(&s.errors, 1) == 0)
        snprintf(s.last, sizeof(s.last), "%s '%s': %s %s", event->what, event->path,
                 event->detail ? event->detail : "", strerror(event->errno_value));
}

/* Two levels of directories, each with small files, of which some have names elsewhere as well. */
static void make_tree(void)
{
    char path[TREE_PATH_MAX], other[TREE_PATH_MAX];
    tree_start();
    if (access("s", F_OK) == 0)
        return;
    tree_make();
    for (unsigned d = 0; d < DIRS; d++) {
        snprintf(path, sizeof(path), "s/dir%u", d);
        CHECK_EQ(mkdir(path, 0755), 0);
        snprintf(path, sizeof(path), "s/dir%u/below", d);
        CHECK_EQ(mkdir(path, 0700), 0);
        for (unsigned f = 0; f < FILES; f++) {
            snprintf(path, sizeof(path), "s/dir%u/%sfile%u", d, f % 2 ? "below/" : "", f);
            tree_file(path, (size_t)f * 97, d * FILES + f);
            tree_age(path, (long)(d * FILES + f));
        }
    }
    for (unsigned d = 0; d < DIRS; d++)
        for (unsigned f = 0; f < FILES; f += 4) {
            snprintf(path, sizeof(path), "s/dir%u/file%u", d, f);
            snprintf(other, sizeof(other), "s/dir%u/below/other%u", (d + 1) % DIRS, f);
            CHECK_EQ(link(path, other), 0);
        }
}

static uint64_t next_random(void)
{
    struct stress_thread random = {.random = s.random};
    s.random = stress_random(&random);
    return s.random;
}

static void configure(void)
{
    static const char *const sources[] = {"s/"};
    memset(&s, 0, sizeof(s));
    s.random = stress_seed();
    weir__copy_options_init(&s.options);
    s.options.sources = sources;
    s.options.sources_count = 1;
    s.options.destination = "d";
    s.options.hard_links = s.options.xattrs = true;
    make_tree();
    tree_remove("d");
}

static int copy(uint64_t stop_ns, struct weir__copy_stats *stats)
{
    struct weir__copy *run = NULL;
    struct weir__copy_hooks hooks = {.event = told,
                                     .wanted = 1u << WEIR__EVENT_ITEM | 1u << WEIR__EVENT_SKIPPED};
    s.errors = 0;
    CHECK_EQ(weir__copy_start(&run, &s.options, &hooks), 0);
    struct weir_deadline deadline = weir_deadline_in(stop_ns, NULL);
    int result = weir__copy_wait(run, &deadline);
    if (result == -WEIR_E_TIMEOUT && next_random() % 2) {
        weir__copy_read(run, stats);
        weir__copy_stop(run);
        deadline = weir_deadline_in(120 * WEIR_NS_PER_S, NULL);
        CHECK_EQ(weir__copy_wait(run, &deadline), 0);
    }
    return weir__copy_finish(run, stats);
}

static void copy_exactly(void)
{
    struct weir__copy_stats stats;
    int result = copy(120 * WEIR_NS_PER_S, &stats);
    if (result != 0)
        tap_fail(__FILE__, __LINE__, "the copy failed: %s", s.last);
    CHECK(stats.in_flight_max <= s.options.files_max);
    if (!tree_is_same("s", "d"))
        tap_fail(__FILE__, __LINE__, "%s", tree_why);
    CHECK_EQ(tree_count(".", ".weir-"), 0);
}

static void next_limits(unsigned round)
{
    static const uint64_t limits[] = {1, 2, 1024};
    s.options.files_max = limits[round % 3];
    s.options.threads = 8 + (unsigned)(next_random() % 9);
    s.options.count = round % 2;
    s.options.table_bytes = round % 4 ? WEIR__COPY_TABLE_BYTES : 65536;
}

TEST(copies_are_exact_with_any_limit)
{
    configure();
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S;
    for (unsigned round = 0; round < 3 || weir_now_ns() < until_ns; round++) {
        next_limits(round);
        copy_exactly();
        if (round % 2 == 0) {
            tree_remove("d");
        } else {
            tree_remove("d/dir1");
            tree_remove("d/dir2/below");
            tree_file("d/small", 77, 7);
        }
    }
}

TEST(a_stopped_copy_is_whole_and_can_be_gone_on_with)
{
    configure();
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S, stopped = 0;
    for (unsigned round = 0; round < 3 || weir_now_ns() < until_ns; round++) {
        struct weir__copy_stats stats;
        next_limits(round);
        int result = copy(next_random() % (20 * WEIR_NS_PER_MS), &stats);
        stopped += result == -WEIR_E_CANCELED;
        if (result != 0 && result != -WEIR_E_CANCELED)
            tap_fail(__FILE__, __LINE__, "the copy failed: %s", s.last);
        CHECK_EQ(tree_count(".", ".weir-tmp."), 0);
        if (!tree_is_whole("s", "d", NULL))
            tap_fail(__FILE__, __LINE__, "%s", tree_why);
        if (round % 3 == 2) {
            copy_exactly();
            tree_remove("d");
        }
    }
    printf("# %llu were stopped\n", (unsigned long long)stopped);
}

TAP_MAIN()
