/* The watch: sizes, versions, waiting for a change and for a value, snapshots, close, misuse. */
#include "tap.h"

#include <stdlib.h>
#include <weir/watch.h>

#include "clock.h"
#include "thread.h"

static void make(struct weir_watch *watch, int value)
{
    CHECK_EQ(weir_watch_init(watch, "config", sizeof(value), &value), 0);
}

static void set(struct weir_watch *watch, int value)
{
    CHECK_EQ(weir_watch_set(watch, &value), 0);
}

static struct weir_watch_stats stats_of(struct weir_watch *watch)
{
    struct weir_watch_stats stats;
    weir_watch_read(watch, &stats);
    return stats;
}

static void until_waiting(struct weir_watch *watch, uint64_t count)
{
    while (stats_of(watch).waiting != count) {}
}

TEST(refuses_bad_sizes_and_names)
{
    struct weir_watch watch;
    int value = 0;
    CHECK_EQ(weir_watch_init(&watch, "config", 0, &value), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "watch 'config': a value of 0 bytes was asked for");
    CHECK_EQ(weir_watch_init(&watch, "config", WEIR_WATCH_SIZE_MAX + 1, &value), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "swap snapshots");
    CHECK_EQ(weir_watch_init(&watch, "", sizeof(value), &value), -WEIR_E_INVALID);
    CHECK_EQ(weir_watch_init_snapshot(&watch, "config", NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "a first snapshot is needed");
    weir_watch_fini(NULL);
    struct weir_watch zero = {0};
    weir_watch_fini(&zero);
    make(&watch, 1);
    CHECK_STR(weir_watch_name(&watch), "config");
    CHECK_EQ(weir_watch_size(&watch), sizeof(int));
    weir_watch_fini(&watch);
    weir_watch_fini(&watch);
}

TEST(the_last_write_wins)
{
    struct weir_watch watch;
    int value = -1;
    uint64_t version = 0;
    make(&watch, 10);
    weir_watch_get(&watch, &value, &version);
    CHECK_EQ(value, 10);
    CHECK_EQ(version, 1);
    set(&watch, 11);
    set(&watch, 12);
    CHECK_EQ(weir_watch_version(&watch), 3);
    weir_watch_get(&watch, &value, &version);
    CHECK_EQ(value, 12);
    CHECK_EQ(version, 3);
    weir_watch_get(&watch, &value, NULL);
    weir_watch_fini(&watch);
}

TEST(copies_values_of_every_size)
{
    static const size_t sizes[] = {1, 3, 7, 8, 9, 16, 1000, WEIR_WATCH_SIZE_MAX};
    static unsigned char in[WEIR_WATCH_SIZE_MAX], out[WEIR_WATCH_SIZE_MAX + 1];
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct weir_watch watch;
        for (size_t at = 0; at < sizes[i]; at++)
            in[at] = (unsigned char)(at * 7 + i);
        CHECK_EQ(weir_watch_init(&watch, "bytes", sizes[i], in), 0);
        memset(out, 0xee, sizes[i] + 1);
        weir_watch_get(&watch, out, NULL);
        CHECK(memcmp(in, out, sizes[i]) == 0);
        CHECK_EQ(out[sizes[i]], 0xee);
        in[sizes[i] - 1] ^= 0xff;
        CHECK_EQ(weir_watch_set(&watch, in), 0);
        weir_watch_get(&watch, out, NULL);
        CHECK(memcmp(in, out, sizes[i]) == 0);
        weir_watch_fini(&watch);
    }
}

TEST(a_change_that_is_there_is_not_waited_for)
{
    struct weir_watch watch;
    struct weir_deadline past = {1, NULL};
    int value = -1;
    uint64_t version = 77;
    make(&watch, 1);
    CHECK_EQ(weir_watch_wait_changed(&watch, 0, &value, &version, &past), 0);
    CHECK_EQ(value, 1);
    CHECK_EQ(version, 1);
    value = -1;
    version = 77;
    CHECK_EQ(weir_watch_wait_changed(&watch, 1, &value, &version, &past), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "watch 'config': no change from version 1 before the deadline");
    CHECK_EQ(weir_watch_wait_changed(&watch, 1, &value, &version, NULL), -WEIR_E_INVALID);
    CHECK_EQ(value, -1);
    CHECK_EQ(version, 77);
    set(&watch, 2);
    CHECK_EQ(weir_watch_wait_changed(&watch, 1, &value, &version, &past), 0);
    CHECK_EQ(value, 2);
    CHECK_EQ(version, 2);
    CHECK_EQ(weir_watch_wait_changed(&watch, 1, NULL, NULL, &past), 0);
    weir_watch_fini(&watch);
}

struct call {
    struct weir_watch *watch;
    struct weir_deadline deadline;
    uint64_t version;
    int wanted;
    int value;
    int result;
    struct weir__thread thread;
};

static void call_changed(void *arg)
{
    struct call *call = arg;
    call->result = weir_watch_wait_changed(call->watch, call->version, &call->value, &call->version,
                                           &call->deadline);
}

static bool is_wanted(const void *value, void *arg)
{
    const struct call *call = arg;
    /* No lock is held here: looking at the watch itself is allowed. */
    CHECK(stats_of(call->watch).version >= 1);
    return *(const int *)value >= call->wanted;
}

static void call_until(void *arg)
{
    struct call *call = arg;
    call->result = weir_watch_wait_until(call->watch, is_wanted, call, &call->value, &call->version,
                                         &call->deadline);
}

static void start(struct call *call, struct weir_watch *watch, void (*fn)(void *arg),
                  struct weir_deadline deadline)
{
    *call = (struct call){
        .watch = watch, .deadline = deadline, .version = 1, .wanted = 5, .value = -1, .result = 99};
    CHECK_EQ(weir__thread_start(&call->thread, "watches", fn, call), 0);
}

static int join(struct call *call)
{
    weir__thread_join(&call->thread);
    return call->result;
}

TEST(a_write_wakes_all_who_wait)
{
    struct weir_watch watch;
    static struct call calls[40]; /* more than one batch of wakes */
    make(&watch, 1);
    for (int i = 0; i < 40; i++)
        start(&calls[i], &watch, call_changed, weir_deadline_in(60 * WEIR_NS_PER_S, NULL));
    until_waiting(&watch, 40);
    set(&watch, 2);
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(join(&calls[i]), 0);
        CHECK_EQ(calls[i].value, 2);
        CHECK_EQ(calls[i].version, 2);
    }
    CHECK_EQ(stats_of(&watch).woken, 40);
    weir_watch_fini(&watch);
}

TEST(waits_until_a_value_comes)
{
    struct weir_watch watch;
    struct call call;
    make(&watch, 1);
    start(&call, &watch, call_until, weir_deadline_in(60 * WEIR_NS_PER_S, NULL));
    for (int value = 2; value < 5; value++) {
        until_waiting(&watch, 1);
        set(&watch, value);
    }
    until_waiting(&watch, 1);
    set(&watch, 5);
    CHECK_EQ(join(&call), 0);
    CHECK_EQ(call.value, 5);
    CHECK_EQ(call.version, 5);
    start(&call, &watch, call_until, weir_deadline_in(0, NULL)); /* holds already */
    CHECK_EQ(join(&call), 0);
    weir_watch_fini(&watch);
}

TEST(waiting_ends_by_time_token_and_close)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_watch watch;
    struct weir_cancel token;
    struct call late, stopped, closed, until;
    make(&watch, 1);
    weir_cancel_init(&token, NULL);
    start(&late, &watch, call_changed, weir_deadline_in(WEIR_NS_PER_S, NULL));
    start(&stopped, &watch, call_changed, weir_deadline_until(&token));
    start(&closed, &watch, call_changed, weir_deadline_in(100 * WEIR_NS_PER_S, NULL));
    start(&until, &watch, call_until, weir_deadline_in(100 * WEIR_NS_PER_S, NULL));
    until_waiting(&watch, 4);
    weir__clock_advance(WEIR_NS_PER_S);
    CHECK_EQ(join(&late), -WEIR_E_TIMEOUT);
    weir_cancel_fire(&token);
    CHECK_EQ(join(&stopped), -WEIR_E_CANCELED);
    CHECK_EQ(stopped.value, -1);
    weir_watch_close(&watch);
    CHECK_EQ(join(&closed), -WEIR_E_CLOSED);
    CHECK_EQ(join(&until), -WEIR_E_CLOSED);
    struct weir_watch_stats stats = stats_of(&watch);
    CHECK_EQ(stats.waited, 4);
    CHECK_EQ(stats.timed_out, 1);
    CHECK_EQ(stats.canceled, 1);
    CHECK_EQ(stats.woken, 2);
    CHECK_EQ(stats.waiting, 0);
    weir_watch_fini(&watch);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

TEST(close_keeps_the_last_value)
{
    struct weir_watch watch;
    struct weir_deadline soon = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int value = 2;
    make(&watch, 1);
    weir_watch_close(&watch);
    weir_watch_close(&watch);
    CHECK_EQ(weir_watch_set(&watch, &value), -WEIR_E_CLOSED);
    CHECK_HAS(weir_error_detail(), "watch 'config': closed to new values");
    weir_watch_get(&watch, &value, NULL);
    CHECK_EQ(value, 1);
    CHECK_EQ(weir_watch_wait_changed(&watch, 0, &value, NULL, &soon), 0);
    CHECK_EQ(weir_watch_wait_changed(&watch, 1, &value, NULL, &soon), -WEIR_E_CLOSED);
    CHECK_HAS(weir_error_detail(), "closed with version 1, it will not change");
    CHECK_EQ(stats_of(&watch).refused, 1);
    CHECK(stats_of(&watch).is_closed);
    weir_watch_fini(&watch);
}

/* ---- snapshots ---- */

struct config {
    struct weir_snapshot head;
    int number;
};
static int freed;

static void config_free(struct weir_snapshot *head)
{
    freed++;
    free((struct config *)head);
}

static struct weir_snapshot *config_new(int number)
{
    struct config *config = calloc(1, sizeof(*config));
    weir_snapshot_init(&config->head, config_free);
    config->number = number;
    return &config->head;
}

TEST(a_borrowed_snapshot_outlives_the_swap)
{
    struct weir_watch watch;
    uint64_t version = 0;
    freed = 0;
    CHECK_EQ(weir_watch_init_snapshot(&watch, "config", config_new(1)), 0);
    struct weir_snapshot *old = weir_watch_borrow(&watch, &version);
    CHECK_EQ(version, 1);
    CHECK_EQ(weir_watch_swap(&watch, config_new(2)), 0);
    CHECK_EQ(freed, 0);
    CHECK_EQ(((struct config *)old)->number, 1);
    struct weir_snapshot *new = weir_watch_borrow(&watch, &version);
    CHECK_EQ(version, 2);
    CHECK_EQ(((struct config *)new)->number, 2);
    CHECK(weir_snapshot_ref(old) == old);
    weir_snapshot_unref(old);
    CHECK_EQ(freed, 0);
    weir_snapshot_unref(old);
    CHECK_EQ(freed, 1);
    weir_watch_fini(&watch);
    CHECK_EQ(freed, 1);
    weir_snapshot_unref(new);
    CHECK_EQ(freed, 2);
    weir_snapshot_unref(NULL);
}

TEST(a_swap_is_a_change)
{
    struct weir_watch watch;
    struct weir_deadline past = {1, NULL};
    uint64_t version = 0;
    freed = 0;
    CHECK_EQ(weir_watch_init_snapshot(&watch, "config", config_new(1)), 0);
    CHECK_EQ(weir_watch_wait_changed(&watch, 1, NULL, &version, &past), -WEIR_E_TIMEOUT);
    CHECK_EQ(weir_watch_swap(&watch, config_new(2)), 0);
    CHECK_EQ(freed, 1);
    CHECK_EQ(weir_watch_wait_changed(&watch, 1, NULL, &version, &past), 0);
    CHECK_EQ(version, 2);
    CHECK_EQ(weir_watch_swap(&watch, NULL), -WEIR_E_INVALID);
    weir_watch_close(&watch);
    struct weir_snapshot *mine = config_new(3);
    CHECK_EQ(weir_watch_swap(&watch, mine), -WEIR_E_CLOSED);
    CHECK_EQ(freed, 1);
    weir_snapshot_unref(mine); /* refused: still the caller's */
    CHECK_EQ(freed, 2);
    weir_watch_fini(&watch);
    CHECK_EQ(freed, 3);
}

static void fini_while_waiting(void *arg)
{
    (void)arg;
    struct weir_watch watch;
    static struct call call;
    make(&watch, 1);
    start(&call, &watch, call_changed, weir_deadline_in(60 * WEIR_NS_PER_S, NULL));
    until_waiting(&watch, 1);
    weir_watch_fini(&watch);
}

static void swap_a_value(void *arg)
{
    (void)arg;
    struct weir_watch watch;
    make(&watch, 1);
    (void)!weir_watch_swap(&watch, NULL);
}

static void get_a_snapshot(void *arg)
{
    (void)arg;
    struct weir_watch watch;
    int value;
    CHECK_EQ(weir_watch_init_snapshot(&watch, "config", config_new(1)), 0);
    weir_watch_get(&watch, &value, NULL);
}

static void not_freed(struct weir_snapshot *head)
{
    (void)head;
}

static void unref_twice(void *arg)
{
    (void)arg;
    struct weir_snapshot snapshot;
    weir_snapshot_init(&snapshot, not_freed);
    weir_snapshot_unref(&snapshot);
    weir_snapshot_unref(&snapshot);
}

TEST(misuse_is_stopped_by_name)
{
    CHECK(tap_dies(fini_while_waiting, NULL, "watch 'config': destroyed while somebody waits"));
    CHECK(tap_dies(swap_a_value, NULL, "watch 'config': holds a value"));
    CHECK(tap_dies(get_a_snapshot, NULL, "watch 'config': holds snapshots"));
    CHECK(tap_dies(unref_twice, NULL, "given back more often"));
}

TEST(nothing_given_is_refused)
{
    struct weir_watch x;
    CHECK_EQ(weir_watch_init(&x, "x", 8, NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "a first value is needed");
}

static bool never_true(const void *value, void *arg)
{
    /* Writes, so that the next look always finds another value. */
    uint64_t next = *(const uint64_t *)value + 1;
    (void)!weir_watch_set(arg, &next);
    return false;
}

TEST(a_value_that_never_rests_does_not_outlast_the_deadline)
{
    struct weir_watch watch;
    struct weir_cancel token;
    uint64_t value = 0;
    weir_cancel_init(&token, NULL);
    CHECK_EQ(weir_watch_init(&watch, "w", sizeof(value), &value), 0);
    struct weir_deadline past = {1, NULL}, fired = weir_deadline_until(&token);
    CHECK_EQ(weir_watch_wait_until(&watch, never_true, &watch, &value, NULL, &past),
             -WEIR_E_TIMEOUT);
    weir_cancel_fire(&token);
    CHECK_EQ(weir_watch_wait_until(&watch, never_true, &watch, &value, NULL, &fired),
             -WEIR_E_CANCELED);
    weir_watch_close(&watch);
    weir_watch_fini(&watch);
    weir_cancel_fini(&token);
}

TEST(a_wait_without_an_end_is_refused_even_if_the_value_changes)
{
    struct weir_watch watch;
    uint64_t value = 0;
    CHECK_EQ(weir_watch_init(&watch, "w", sizeof(value), &value), 0);
    CHECK_EQ(weir_watch_wait_until(&watch, never_true, &watch, &value, NULL, NULL),
             -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "watch 'w': would have to wait for ever");
    struct weir_deadline past = {1, NULL};
    struct weir_watch_stats stats;
    CHECK_EQ(weir_watch_wait_until(&watch, never_true, &watch, &value, NULL, &past),
             -WEIR_E_TIMEOUT);
    weir_watch_read(&watch, &stats);
    CHECK_EQ(stats.timed_out, 1);
    weir_watch_close(&watch);
    weir_watch_fini(&watch);
}

TAP_MAIN()
