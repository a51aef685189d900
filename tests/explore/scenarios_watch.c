/* The watch: whole values, versions that do not go back, no missed change, snapshots that live. */
#include <weir/watch.h>

#include "xp.h"

struct config {
    uint64_t a;
    uint64_t b;
};

#define SNAPSHOTS 3
struct snapshot {
    struct weir_snapshot head;
    uint64_t number;
    unsigned freed;
};

static struct {
    struct weir_watch watch;
    struct weir_cancel never; /* does not fire: a wait under it must be ended by the watch */
    struct snapshot snapshot[SNAPSHOTS];
    unsigned woken;
} s;

static void setup(void)
{
    struct config config = {0, 0};
    XP_ASSERT_EQ(weir_watch_init(&s.watch, "config", sizeof(config), &config), 0);
    weir_cancel_init(&s.never, NULL);
}

static void check(void)
{
    struct weir_watch_stats stats;
    weir_watch_read(&s.watch, &stats);
    XP_ASSERT_EQ(stats.waiting, 0);
    XP_ASSERT_EQ(stats.waited, stats.woken + stats.timed_out + stats.canceled);
    weir_watch_fini(&s.watch);
    weir_cancel_fini(&s.never);
}

static void set(uint64_t value)
{
    struct config config = {value, value};
    XP_ASSERT_EQ(weir_watch_set(&s.watch, &config), 0);
}

/* ---- a reader during a swap ---- */

static void reader(void)
{
    uint64_t seen = 0;
    for (int i = 0; i < 2; i++) {
        struct config config = {77, 88};
        uint64_t version = 0;
        weir_watch_get(&s.watch, &config, &version);
        XP_ASSERT_EQ(config.a, config.b);
        XP_ASSERT(version >= seen, "went back to an older version");
        XP_ASSERT_EQ(config.a, version - 1);
        seen = version;
    }
}
static void writer(void)
{
    set(1);
    set(2);
}
XP_SCENARIO(watch_config_swap, .about = "a reader sees the old value or the new one, never torn",
            XP_STATE(s), .setup = setup, .threads = {reader, writer}, .check = check, .bound = 3,
            .tso = true)

static void writer_1(void)
{
    struct config config = {1, 1};
    XP_ASSERT_EQ(weir_watch_set(&s.watch, &config), 0);
}
static void reader_of_any(void)
{
    struct config config = {77, 88};
    weir_watch_get(&s.watch, &config, NULL);
    XP_ASSERT_EQ(config.a, config.b);
}
XP_SCENARIO(watch_two_writers, .about = "two writers at once, and a reader sees whole values",
            XP_STATE(s), .setup = setup, .threads = {writer_1, writer_1, reader_of_any},
            .check = check, .bound = 3, .tso = true)

/* ---- no change is missed ---- */

static bool is_two(const void *value, void *arg)
{
    (void)arg;
    const struct config *config = value;
    XP_ASSERT_EQ(config->a, config->b);
    return config->a == 2;
}
static void until_two(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    struct config config;
    uint64_t version = 0;
    XP_ASSERT_EQ(weir_watch_wait_until(&s.watch, is_two, NULL, &config, &version, &deadline), 0);
    XP_ASSERT_EQ(config.a, 2);
    XP_ASSERT_EQ(version, 3);
}
XP_SCENARIO(watch_wait_until, .about = "who waits for a value sees it, whenever it is written",
            XP_STATE(s), .setup = setup, .threads = {until_two, writer}, .check = check, .bound = 3,
            .tso = true)

static void until_changed(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    struct config config;
    uint64_t version = 1;
    XP_ASSERT_EQ(weir_watch_wait_changed(&s.watch, version, &config, &version, &deadline), 0);
    XP_ASSERT_EQ(version, 2);
    XP_ASSERT_EQ(weir_watch_wait_changed(&s.watch, version, &config, NULL, &deadline),
                 -WEIR_E_CLOSED);
    s.woken++;
}
static void sets_and_closes(void)
{
    set(1);
    weir_watch_close(&s.watch);
}
static void woken_check(void)
{
    XP_ASSERT_EQ(s.woken, 2);
    check();
}
XP_SCENARIO(watch_wakes_all, .about = "a write and close wake everybody, each of them", XP_STATE(s),
            .setup = setup, .threads = {until_changed, until_changed, sets_and_closes},
            .check = woken_check, .bound = 3, .tso = true)

static void timed(void)
{
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    struct config config;
    uint64_t version = 0;
    int error = weir_watch_wait_changed(&s.watch, 1, &config, &version, &deadline);
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT, "a change or a time-out");
    if (!error)
        XP_ASSERT_EQ(version, 2);
}
XP_SCENARIO(watch_timeout_vs_set, .about = "a change and the end of a wait at once", XP_STATE(s),
            .setup = setup, .threads = {timed, timed, writer_1}, .check = check, .bound = 3,
            .spurious = 1, .tso = true)

/* ---- snapshots ---- */

static void on_free(struct weir_snapshot *head)
{
    ((struct snapshot *)head)->freed++;
}

static void snapshot_setup(void)
{
    for (unsigned i = 0; i < SNAPSHOTS; i++) {
        weir_snapshot_init(&s.snapshot[i].head, on_free);
        s.snapshot[i].number = i + 1;
    }
    XP_ASSERT_EQ(weir_watch_init_snapshot(&s.watch, "config", &s.snapshot[0].head), 0);
    weir_cancel_init(&s.never, NULL);
}
static void borrower(void)
{
    uint64_t version = 0;
    struct weir_snapshot *head = weir_watch_borrow(&s.watch, &version);
    struct snapshot *snapshot = (struct snapshot *)head;
    xp_point();
    XP_ASSERT(!snapshot->freed, "borrowed after it was freed");
    XP_ASSERT_EQ(snapshot->number, version);
    xp_point();
    XP_ASSERT(!snapshot->freed, "freed while borrowed");
    weir_snapshot_unref(head);
}
static void swapper(void)
{
    XP_ASSERT_EQ(weir_watch_swap(&s.watch, &s.snapshot[1].head), 0);
    XP_ASSERT_EQ(weir_watch_swap(&s.watch, &s.snapshot[2].head), 0);
}
static void snapshot_check(void)
{
    XP_ASSERT_EQ(s.snapshot[0].freed, 1);
    XP_ASSERT_EQ(s.snapshot[1].freed, 1);
    XP_ASSERT_EQ(s.snapshot[2].freed, 0);
    check();
    XP_ASSERT_EQ(s.snapshot[2].freed, 1);
}
XP_SCENARIO(watch_snapshot_swap,
            .about = "a snapshot lives while it is borrowed, and is freed once", XP_STATE(s),
            .setup = snapshot_setup, .threads = {borrower, borrower, swapper},
            .check = snapshot_check, .bound = 3, .tso = true)
