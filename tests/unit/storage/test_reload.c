/* Reloads by a thread of the service: one at a time, and one more for all who ask meanwhile. And
 * what is said when there are no threads to be had. */
#include <weir/fault.h>

#include "running.h"

static struct weir_cancel let_go;
static struct weir_counter begun, ended;
static struct weir__storage *left_behind; /* where a leak checker finds it */
static struct weir__config *left_config;

static int wait_inside(void *arg, char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, &let_go);
    weir_counter_add(arg, 1);
    CHECK_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    weir_counter_add(&ended, 1);
    why[0] = '\0';
    return 0;
}

/* Before the first is asked for: nobody looks at them until then. */
static void reload_by(int (*fn)(void *arg, char why[WEIR__DAEMON_WHY_MAX]))
{
    storage->daemon.reload = fn;
    storage->daemon.arg = &begun;
    begun = ended = (struct weir_counter){0};
    weir_cancel_init(&let_go, NULL);
}

TEST(who_asks_meanwhile_gets_one_more)
{
    start(in_memory);
    reload_by(wait_inside);
    CHECK_EQ(weir__daemon_reloading_ns(&storage->daemon), 0);
    weir__daemon_ask_to_reload(&storage->daemon);
    AWAIT(weir_counter_value(&begun) == 1);
    AWAIT(weir__daemon_reloading_ns(&storage->daemon) > 0);
    for (int i = 0; i < 5; i++)
        weir__daemon_ask_to_reload(&storage->daemon);
    CHECK_EQ(weir_counter_value(&begun), 1);
    weir_cancel_fire(&let_go);
    AWAIT(weir_counter_value(&ended) == 2);
    AWAIT(weir__daemon_reloading_ns(&storage->daemon) == 0);
    weir__daemon_ask_to_reload(&storage->daemon);
    AWAIT(weir_counter_value(&ended) == 3);
    end();
    CHECK_EQ(weir_counter_value(&begun), 3);
    weir_cancel_fini(&let_go);
}

TEST(what_waits_at_the_end_is_not_begun)
{
    start(in_memory);
    reload_by(wait_inside);
    weir__daemon_ask_to_reload(&storage->daemon);
    AWAIT(weir_counter_value(&begun) == 1);
    weir__daemon_ask_to_reload(&storage->daemon);
    AWAIT(weir_queue_depth(&storage->daemon.reloads) == 1);
    struct weir__daemon_end counts;
    CHECK_EQ(weir__daemon_drain(&storage->daemon, &counts), -WEIR_E_TIMEOUT);
    CHECK_EQ(counts.aborted, 1);
    CHECK_EQ(counts.abandoned, 1);
    CHECK_EQ(weir__daemon_free(&storage->daemon), -WEIR_E_TIMEOUT);
    /* It is left alone; here it can be waited for all the same. */
    weir_cancel_fire(&let_go);
    AWAIT(weir_counter_value(&ended) == 1);
    AWAIT(weir__daemon_reloading_ns(&storage->daemon) == 0);
    CHECK_EQ(weir_counter_value(&begun), 1);
    left_behind = storage;
    left_config = config;
}

#ifdef WEIR_FAULTS
TEST(without_threads_it_says_which_limits_there_are)
{
    struct weir__config_sources sources = {
        .file = "test", .text = in_memory, .text_length = sizeof(in_memory) - 1};
    struct weir__config_sink sink = {.problem = tell};
    uint64_t failed = 0;
    CHECK(weir__config_load(&config, &weir__storage_schema, &sources, &sink) == 0);
    struct weir__daemon_options options = {.config = config, .version = "test"};
    for (bool was_hit = true; was_hit;) {
        char why[WEIR__DAEMON_WHY_MAX] = "";
        weir_fault_arm(WEIR_FAULT_THREAD, ++failed);
        struct weir__daemon *daemon = NULL;
        int error = weir__daemon_new(&daemon, &weir__storage_service, &options, why);
        storage = (struct weir__storage *)daemon;
        bool is_made = error == 0;
        if (is_made)
            error = weir__daemon_start(daemon, why);
        was_hit = weir_fault_was_hit(WEIR_FAULT_THREAD);
        weir_fault_arm(WEIR_FAULT_THREAD, 0);
        CHECK_EQ(error, was_hit ? -WEIR_E_BUSY : 0);
        if (was_hit)
            CHECK_HAS(why, "too many threads (ulimit -u");
        if (is_made)
            CHECK_EQ(weir__daemon_drain(&storage->daemon, NULL), 0);
        if (is_made)
            CHECK_EQ(weir__daemon_free(&storage->daemon), 0);
    }
    CHECK(failed > 10);
    weir__config_unref(config);
}
#endif

TAP_MAIN()
