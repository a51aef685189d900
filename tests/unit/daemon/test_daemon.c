/* Tests of src/daemon with a service that is none of the program's: what its description says is
 * what happens, and several of them live in one process. */
#include <weir/fault.h>

#include "toy.h"

static char answer[256u << 10];

static int get(struct toy *toy, const char *path)
{
    return toy_hear(toy_ask(toy, path), answer, sizeof(answer));
}

TEST(several_live_in_one_process)
{
    struct toy *first = toy_start(""), *second = toy_start("");
    CHECK_EQ(get(first, "/version"), 200);
    CHECK_HAS(answer, "{\"name\": \"weir toy\", \"version\": \"test\"}");
    int waits = toy_ask(first, "/slow");
    AWAIT(weir_counter_value(&first->at_work) == 1);
    CHECK_EQ(get(first, "/slow"), 429);
    CHECK_EQ(get(first, "/metrics"), 200);
    CHECK_HAS(answer, "busy_rejections_total{route=\"slow\"} 1");
    CHECK_EQ(get(second, "/metrics"), 200);
    CHECK_HAS(answer, "busy_rejections_total{route=\"slow\"} 0");
    /* One ends, and the other does not notice. */
    toy_end(second);
    CHECK_EQ(get(first, "/fast"), 200);
    weir_cancel_fire(&first->let_go);
    CHECK_EQ(toy_hear(waits, answer, sizeof(answer)), 200);
    toy_end(first);
}

TEST(a_route_has_its_cap)
{
    struct toy *toy = toy_start("");
    int waits = toy_ask(toy, "/slow");
    AWAIT(weir_counter_value(&toy->at_work) == 1);
    uint64_t before = weir_budget_available(&toy->daemon.inflight);
    CHECK_EQ(get(toy, "/slow"), 429);
    CHECK_HAS(answer, "too many requests of this kind at once");
    CHECK_HAS(answer, "Retry-After: 1");
    /* Others are not kept away, and who was refused holds nothing. */
    CHECK_EQ(get(toy, "/fast"), 200);
    AWAIT(weir_budget_available(&toy->daemon.inflight) == before);
    weir_cancel_fire(&toy->let_go);
    CHECK_EQ(toy_hear(waits, answer, sizeof(answer)), 200);
    AWAIT(weir_budget_available(&toy->daemon.caps[0]) == 1);
    CHECK_EQ(get(toy, "/slow"), 200);
    toy_end(toy);
}

TEST(a_deadline_of_its_own)
{
    struct toy *toy = toy_start("[toy]\ndeadline = \"50ms\"\n");
    CHECK_EQ(get(toy, "/slow"), 504);
    CHECK_EQ(weir_counter_value(&toy->daemon.counts.late), 1);
    weir_cancel_fire(&toy->let_go);
    toy_end(toy);
}

TEST(who_is_late_may_be_answered_otherwise)
{
    struct toy *toy = toy_start("[toy]\ndeadline = \"50ms\"\n");
    CHECK_EQ(weir_counter_value(&toy->starts), 1);
    weir_counter_add(&toy->softens, 1);
    CHECK_EQ(get(toy, "/slow"), 200);
    CHECK_HAS(answer, "done");
    CHECK_EQ(weir_counter_value(&toy->daemon.counts.late), 1);
    weir_cancel_fire(&toy->let_go);
    toy_end(toy);
}

TEST(what_is_vital_decides)
{
    struct toy *toy = toy_start("");
    CHECK_EQ(get(toy, "/readyz"), 200);
    CHECK_HAS(answer, "{\"ready\": true, \"accepting\": true, \"sound\": true, \"pretty\": true, "
                      "\"workers\": true}");
    weir_counter_add(&toy->flaws, 1);
    CHECK_EQ(get(toy, "/readyz"), 200);
    CHECK_HAS(answer, "\"pretty\": false");
    weir_counter_add(&toy->faults, 1);
    CHECK_EQ(get(toy, "/readyz"), 503);
    CHECK_HAS(answer, "{\"ready\": false, \"accepting\": true, \"sound\": false");
    toy_end(toy);
}

TEST(what_is_public_wants_no_token)
{
    char folder[] = "/tmp/weir-daemon-XXXXXX", more[256], id[WEIR__KEY_ID_SIZE];
    char problem[WEIR__KEY_WHY], key[64];
    CHECK(mkdtemp(folder));
    CHECK_EQ(weir__keyring_add(folder, id, problem), 0);
    snprintf(more, sizeof(more), "[tokens]\nrequired = \"always\"\nkeys = \"%s\"\n", folder);
    struct toy *toy = toy_start(more);
    CHECK_EQ(get(toy, "/fast"), 401);
    CHECK_EQ(get(toy, "/open"), 200);
    CHECK_EQ(get(toy, "/healthz"), 200);
    CHECK_EQ(get(toy, "/nowhere"), 404);
    toy_end(toy);
    snprintf(key, sizeof(key), "rm -r %s", folder);
    CHECK_EQ(system(key), 0);
}

TEST(a_drain_of_its_own)
{
    struct toy *toy = toy_start("[toy]\ndrain = \"100ms\"\n");
    struct weir__daemon_end end;
    int waits = toy_ask(toy, "/slow");
    AWAIT(weir_counter_value(&toy->at_work) == 1);
    uint64_t began_ns = weir_now_ns();
    CHECK_EQ(weir__daemon_drain(&toy->daemon, &end), -WEIR_E_TIMEOUT);
    CHECK(weir_now_ns() - began_ns < 4 * WEIR_NS_PER_S);
    CHECK_EQ(end.cut, 1);
    CHECK_EQ(end.stopped, 1);
    CHECK_EQ(end.abandoned, 0);
    close(waits);
    CHECK_EQ(weir__daemon_free(&toy->daemon), 0);
}

#ifdef WEIR_FAULTS
/* Whatever cannot be had, the start fails with a reason and leaves nothing behind. */
TEST(without_memory_it_does_not_begin)
{
    static const char text[] = "listen = [\"127.0.0.1:0\"]\n[server]\nmax_conns = 64\n";
    struct weir__config_sources sources = {
        .file = "test", .text = text, .text_length = sizeof(text) - 1};
    struct weir__config_sink sink = {.problem = toy_tell};
    struct weir__config *config;
    uint64_t failed = 0, refused = 0;
    CHECK_EQ(weir__config_load(&config, &toy_schema, &sources, &sink), 0);
    struct weir__daemon_options options = {.config = config, .version = "test"};
    for (bool was_hit = true; was_hit;) {
        struct weir__daemon *daemon = NULL;
        char why[WEIR__DAEMON_WHY_MAX] = "";
        weir_fault_arm(WEIR_FAULT_ALLOC, ++failed);
        int error = weir__daemon_new(&daemon, &toy_service, &options, why);
        was_hit = weir_fault_was_hit(WEIR_FAULT_ALLOC);
        weir_fault_arm(WEIR_FAULT_ALLOC, 0);
        CHECK_EQ(error, was_hit ? -WEIR_E_NO_MEMORY : 0);
        CHECK(!error || why[0]);
        refused += error != 0;
        if (error == 0)
            CHECK_EQ(weir__daemon_free(daemon), 0);
    }
    CHECK(refused > 10);
    weir__config_unref(config);
}
#endif

TAP_MAIN()
