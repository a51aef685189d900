/* Watch under real threads: whole values and living snapshots while writers never rest. */
#include "stress.h"

#include <weir/watch.h>

#include "atomic.h"

#define WRITERS 2
#define THREADS 6
#define WORDS   9

struct value {
    uint64_t word[WORDS];
};

struct config {
    struct weir_snapshot head;
    uint64_t number;
    uint64_t alive;
};

struct shared {
    struct weir_watch values;
    struct weir_watch configs;
    uint64_t made;
    uint64_t reads;
};

static uint64_t freed;

static void config_free(struct weir_snapshot *head)
{
    struct config *config = (struct config *)head;
    config->alive = 0;
    weir__count(&freed, 1);
    free(config);
}

static struct weir_snapshot *config_new(uint64_t number)
{
    struct config *config = calloc(1, sizeof(*config));
    weir_snapshot_init(&config->head, config_free);
    config->number = number;
    config->alive = 1;
    return &config->head;
}

static void write_both(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        struct value value;
        uint64_t dice = stress_random(thread);
        for (int i = 0; i < WORDS; i++)
            value.word[i] = dice;
        CHECK_EQ(weir_watch_set(&shared->values, &value), 0);
        CHECK_EQ(weir_watch_swap(&shared->configs, config_new(dice)), 0);
        weir__count(&shared->made, 1);
        if (dice % 64 == 0) { /* a pause now and then, so that readers get to sleep */
            struct weir_deadline pause = weir_deadline_in(50000, NULL);
            weir_deadline_sleep(&pause);
        }
    }
}

static bool is_even(const void *value, void *arg)
{
    (void)arg;
    return ((const struct value *)value)->word[0] % 2 == 0;
}

static void look(const struct value *value)
{
    for (int i = 1; i < WORDS; i++)
        CHECK(value->word[i] == value->word[0]);
}

static void read_both(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    uint64_t seen = 0;
    while (stress_goes_on(thread)) {
        struct value value;
        uint64_t version = 0, dice = stress_random(thread);
        struct weir_deadline deadline = weir_deadline_in(dice / 8 % 7 * 20000, NULL);
        int error = 0;
        if (dice % 4 == 0) {
            error = weir_watch_wait_changed(&shared->values, seen, &value, &version, &deadline);
        } else if (dice % 4 == 1) {
            error =
                weir_watch_wait_until(&shared->values, is_even, NULL, &value, &version, &deadline);
            CHECK(error || value.word[0] % 2 == 0);
        } else {
            weir_watch_get(&shared->values, &value, &version);
        }
        CHECK(error == 0 || error == -WEIR_E_TIMEOUT);
        if (!error) {
            look(&value);
            CHECK(version >= seen);
            seen = version;
        }
        struct weir_snapshot *head = weir_watch_borrow(&shared->configs, NULL);
        CHECK_EQ(((struct config *)head)->alive, 1);
        weir_snapshot_unref(head);
        weir__count(&shared->reads, 1);
    }
}

static void work(struct stress_thread *thread)
{
    if (thread->index < WRITERS)
        write_both(thread);
    else
        read_both(thread);
}

TEST(never_torn_and_never_freed_too_early)
{
    static struct shared shared;
    struct value value = {{0}};
    CHECK_EQ(weir_watch_init(&shared.values, "values", sizeof(value), &value), 0);
    CHECK_EQ(weir_watch_init_snapshot(&shared.configs, "configs", config_new(0)), 0);
    stress_run(THREADS, &shared, work);
    CHECK(shared.reads > 1000);
    CHECK_EQ(weir_watch_version(&shared.values), shared.made + 1);
    CHECK_EQ(weir_watch_version(&shared.configs), shared.made + 1);
    CHECK_EQ(freed, shared.made);
    weir_watch_fini(&shared.values);
    weir_watch_fini(&shared.configs);
    CHECK_EQ(freed, shared.made + 1);
}

TAP_MAIN()
