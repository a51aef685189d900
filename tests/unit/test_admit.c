/* Admission: cap, rate, the bounded table and whom it forgets, changes, misuse. */
#include "tap.h"

#include <stdio.h>
#include <weir/admit.h>

#include "clock.h"

#define START_NS (1000 * WEIR_NS_PER_S)

static struct weir_admit admit;
static struct weir_admit_stats stats;

static void start(const struct weir_admit_options *options)
{
    weir__clock_fake(START_NS);
    CHECK_EQ(weir_admit_init(&admit, "clients", options), 0);
}

static void stop(void)
{
    weir_admit_fini(&admit);
    weir__clock_unfake();
}

static int come(const char *key, struct weir_admit_ticket *ticket)
{
    return weir_admit_try(&admit, key, strlen(key), ticket);
}

/* In and out again at once. */
static int visit(const char *key)
{
    struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
    int error = come(key, &ticket);
    weir_admit_release(&ticket);
    return error;
}

TEST(refuses_bad_options_and_keys)
{
    struct weir_admit bad;
    struct weir_admit_options options = {.keys_max = WEIR_ADMIT_KEYS_MAX + 1};
    CHECK_EQ(weir_admit_init(&bad, "clients", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "admit 'clients': a table of 1048577 keys");
    options = (struct weir_admit_options){.burst = 5};
    CHECK_EQ(weir_admit_init(&bad, "clients", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "a burst of 5 needs a rate");
    options = (struct weir_admit_options){.per_s = 1, .burst = UINT64_MAX};
    CHECK_EQ(weir_admit_init(&bad, "clients", &options), -WEIR_E_INVALID);
    CHECK_EQ(weir_admit_init(&bad, "", NULL), -WEIR_E_INVALID);
    weir_admit_fini(NULL);
    struct weir_admit zero = {0};
    weir_admit_fini(&zero);

    start(NULL);
    struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
    char key[WEIR_ADMIT_KEY_MAX + 1] = {0};
    CHECK_EQ(weir_admit_try(&admit, key, 0, &ticket), -WEIR_E_INVALID);
    CHECK_EQ(weir_admit_try(&admit, NULL, 4, &ticket), -WEIR_E_INVALID);
    CHECK_EQ(weir_admit_try(&admit, key, sizeof(key), &ticket), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "a key of 33 bytes was given, it may have 1 to 32");
    CHECK(weir_admit_delay_ns(&admit, key, sizeof(key)) == WEIR_NEVER);
    CHECK_EQ(weir_admit_try(&admit, key, WEIR_ADMIT_KEY_MAX, &ticket), 0);
    weir_admit_release(&ticket);
    weir_admit_release(&ticket); /* empty: left alone */
    stop();
}

TEST(the_default_cap_is_256)
{
    start(NULL);
    struct weir_admit_ticket tickets[256], more = WEIR_ADMIT_TICKET_NONE;
    for (int i = 0; i < 256; i++)
        CHECK_EQ(come("10.0.0.1", &tickets[i]), 0);
    CHECK_EQ(come("10.0.0.1", &more), -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(),
              "admit 'clients': this key has 256 of 256 places; try again later");
    CHECK(!more._admit);
    CHECK_EQ(weir_admit_delay_ns(&admit, "10.0.0.1", 8), WEIR_ADMIT_RETRY_HINT_NS);
    /* The refusal has counted nobody, and others are not concerned. */
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.admitted, 256);
    CHECK_EQ(stats.refused_cap, 1);
    CHECK_EQ(visit("10.0.0.2"), 0);
    weir_admit_release(&tickets[0]);
    CHECK_EQ(weir_admit_delay_ns(&admit, "10.0.0.1", 8), 0);
    CHECK_EQ(come("10.0.0.1", &tickets[0]), 0);
    for (int i = 0; i < 256; i++)
        weir_admit_release(&tickets[i]);
    CHECK_STR(weir_admit_name(&admit), "clients");
    stop();
}

TEST(a_flood_from_one_address_is_paced)
{
    struct weir_admit_options options = {.per_s = 10, .burst = 3};
    start(&options);
    int admitted = 0;
    for (int ms = 0; ms < 10000; ms++) {
        admitted += visit("flood") == 0;
        if (ms % 100 == 0)
            CHECK_EQ(visit("calm"), 0);
        weir__clock_advance(WEIR_NS_PER_MS);
    }
    CHECK_EQ(admitted, 3 + 99);
    CHECK_EQ(visit("flood"), 0);
    CHECK_EQ(visit("flood"), -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(), "admit 'clients': this key goes faster than 10 per second, the "
                                   "next place is due in 100.0 ms");
    CHECK_EQ(weir_admit_delay_ns(&admit, "flood", 5), 100 * WEIR_NS_PER_MS);
    CHECK_EQ(weir_admit_delay_ns(&admit, "unknown", 7), 0);
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.refused_rate, 10000 - 102 + 1);
    CHECK_EQ(stats.admitted, stats.released);
    stop();
}

TEST(the_longest_idle_makes_room)
{
    struct weir_admit_options options = {.keys_max = 3, .cap = 1};
    start(&options);
    struct weir_admit_ticket held = WEIR_ADMIT_TICKET_NONE;
    CHECK_EQ(come("held", &held), 0);
    CHECK_EQ(visit("a"), 0);
    weir__clock_advance(1);
    CHECK_EQ(visit("b"), 0);
    weir__clock_advance(1);
    CHECK_EQ(visit("a"), 0); /* so b is idle since longer now */
    weir__clock_advance(1);
    CHECK_EQ(visit("c"), 0);
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.keys, 3);
    CHECK_EQ(stats.evicted, 1);
    CHECK_EQ(visit("a"), 0);
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.evicted, 1); /* a was still there */
    CHECK_EQ(come("held", &held), -WEIR_E_BUSY);
    weir_admit_release(&held);
    stop();
}

TEST(a_table_of_busy_keys_refuses_new_ones)
{
    struct weir_admit_options options = {.keys_max = 2};
    start(&options);
    struct weir_admit_ticket a = WEIR_ADMIT_TICKET_NONE, b = WEIR_ADMIT_TICKET_NONE;
    CHECK_EQ(come("a", &a), 0);
    CHECK_EQ(come("b", &b), 0);
    CHECK_EQ(visit("c"), -WEIR_E_OVERFLOW);
    CHECK_STR(weir_error_detail(), "admit 'clients': the table has 2 of 2 keys and none of them is "
                                   "idle; try again later");
    CHECK_EQ(weir_admit_delay_ns(&admit, "c", 1), WEIR_ADMIT_RETRY_HINT_NS);
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.refused_full, 1);
    weir_admit_release(&a);
    CHECK_EQ(weir_admit_delay_ns(&admit, "c", 1), 0);
    CHECK_EQ(visit("c"), 0);
    weir_admit_release(&b);
    stop();
}

/* With a rate a key is idle only once its bucket is full: being forgotten must gain nothing. */
TEST(a_spent_bucket_is_not_forgotten)
{
    struct weir_admit_options options = {.keys_max = 2, .per_s = 1, .burst = 3};
    start(&options);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(visit("a"), 0); /* full again in 3 s */
    CHECK_EQ(visit("b"), 0);     /* full again in 1 s */
    CHECK_EQ(visit("c"), -WEIR_E_OVERFLOW);
    weir__clock_advance(WEIR_NS_PER_S - 1);
    CHECK_EQ(visit("c"), -WEIR_E_OVERFLOW);
    weir__clock_advance(1);
    CHECK_EQ(visit("c"), 0); /* b was used last, but it is the idle one */
    CHECK_EQ(visit("a"), 0);
    CHECK_EQ(visit("a"), -WEIR_E_BUSY);
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.evicted, 1);
    CHECK_EQ(stats.refused_full, 2);
    CHECK_EQ(stats.refused_rate, 1);
    stop();
}

TEST(idle_keys_expire)
{
    struct weir_admit_options options = {.keep_ns = 5 * WEIR_NS_PER_S};
    start(&options);
    struct weir_admit_ticket held = WEIR_ADMIT_TICKET_NONE;
    CHECK_EQ(come("held", &held), 0);
    for (int i = 0; i < 10; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%d", i);
        CHECK_EQ(visit(key), 0);
    }
    weir__clock_advance(5 * WEIR_NS_PER_S - 1);
    CHECK_EQ(weir_admit_expire(&admit), 0);
    weir__clock_advance(1);
    CHECK_EQ(visit("new"), 0); /* takes two of them along */
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.expired, 2);
    CHECK_EQ(weir_admit_expire(&admit), 8);
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.keys, 2);
    CHECK_EQ(stats.created - stats.evicted - stats.expired, stats.keys);
    weir_admit_release(&held);
    stop();
}

TEST(limits_change_at_run_time)
{
    struct weir_admit_options options = {.cap = 2};
    start(&options);
    struct weir_admit_ticket a = WEIR_ADMIT_TICKET_NONE, b = WEIR_ADMIT_TICKET_NONE;
    struct weir_admit_ticket c = WEIR_ADMIT_TICKET_NONE;
    CHECK_EQ(come("a", &a), 0);
    CHECK_EQ(come("a", &b), 0);
    CHECK_EQ(visit("idle"), 0);
    CHECK_EQ(weir_admit_set(&admit, 1, 0, 7), -WEIR_E_INVALID);
    CHECK_EQ(weir_admit_set(&admit, 1, 10, 2), 0);
    weir_admit_release(&a);
    CHECK_EQ(come("a", &c), -WEIR_E_BUSY); /* one is still out, and that is the cap now */
    weir_admit_release(&b);
    CHECK_EQ(come("a", &c), 0);
    weir_admit_release(&c);
    CHECK_EQ(visit("a"), 0);
    CHECK_EQ(visit("a"), -WEIR_E_BUSY); /* two at a time, ten a second */
    weir__clock_advance(50 * WEIR_NS_PER_MS);
    CHECK_EQ(weir_admit_set(&admit, 1, 1, 2), 0); /* half a token stays, the rest takes 500 ms */
    CHECK_EQ(weir_admit_delay_ns(&admit, "a", 1), 500 * WEIR_NS_PER_MS);
    CHECK_EQ(weir_admit_set(&admit, 0, 0, 0), 0);
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.cap, WEIR_ADMIT_CAP_DEFAULT);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(visit("a"), 0);
    stop();
}

/* A key that were forgotten too early would come back with a full bucket. */
TEST(a_slower_rate_keeps_keys_for_longer)
{
    struct weir_admit_options options = {.keys_max = 1, .per_s = 10, .burst = 2};
    start(&options);
    CHECK_EQ(visit("a"), 0);
    CHECK_EQ(visit("a"), 0);                      /* idle in 200 ms, with both tokens back */
    CHECK_EQ(weir_admit_set(&admit, 0, 1, 2), 0); /* and now in 2 s */
    weir__clock_advance(2 * WEIR_NS_PER_S - 1);
    CHECK_EQ(visit("b"), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir_admit_delay_ns(&admit, "b", 1), WEIR_ADMIT_RETRY_HINT_NS);
    CHECK_EQ(visit("a"), 0);
    CHECK_EQ(visit("a"), -WEIR_E_BUSY); /* one token, not two */
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.refused_full, 1);
    CHECK_EQ(stats.evicted, 0);
    CHECK_EQ(stats.created, 1);
    weir__clock_advance(WEIR_NS_PER_S);
    CHECK_EQ(visit("b"), -WEIR_E_OVERFLOW);
    weir__clock_advance(1);
    CHECK_EQ(visit("b"), 0);
    stop();
}

TEST(a_faster_rate_lets_keys_go_earlier)
{
    struct weir_admit_options options = {.keys_max = 2, .per_s = 1, .burst = 2};
    start(&options);
    CHECK_EQ(visit("a"), 0);
    CHECK_EQ(visit("a"), 0);
    CHECK_EQ(visit("b"), 0);
    CHECK_EQ(weir_admit_set(&admit, 0, 10, 2), 0); /* b is idle in 100 ms, a in 200 ms */
    weir__clock_advance(100 * WEIR_NS_PER_MS - 1);
    CHECK_EQ(visit("c"), -WEIR_E_OVERFLOW);
    weir__clock_advance(1);
    CHECK_EQ(visit("c"), 0);
    CHECK_EQ(visit("b"), -WEIR_E_OVERFLOW); /* it was b that made room, a is still there */
    CHECK_EQ(visit("a"), 0);
    CHECK_EQ(visit("a"), -WEIR_E_BUSY);
    weir_admit_read(&admit, &stats);
    CHECK_EQ(stats.evicted, 1);
    stop();
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Against a model with an array: what is admitted, and never more keys than the table may hold. */
TEST(a_crowd_of_keys_is_counted_exactly)
{
    enum { KEYS = 40, PLACES = 3 };
    static struct weir_admit_ticket tickets[KEYS][PLACES];
    struct weir_admit_options options = {.keys_max = 16, .cap = PLACES};
    memset(tickets, 0, sizeof(tickets));
    start(&options);
    for (int step = 0; step < 100000; step++) {
        uint32_t key = (uint32_t)(next_random() % KEYS);
        int out = 0, busy = 0, at = (int)(next_random() % PLACES);
        for (int i = 0; i < PLACES; i++)
            out += tickets[key][i]._admit != NULL;
        for (int i = 0; i < KEYS; i++)
            busy += tickets[i][0]._admit || tickets[i][1]._admit || tickets[i][2]._admit;
        if (tickets[key][at]._admit) {
            weir_admit_release(&tickets[key][at]);
        } else {
            struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
            int error = weir_admit_try(&admit, &key, sizeof(key), &ticket);
            CHECK_EQ(error, out == 0 && busy == 16 ? -WEIR_E_OVERFLOW : 0);
            tickets[key][at] = ticket;
        }
        weir__clock_advance(next_random() % 1000);
        weir_admit_read(&admit, &stats);
        CHECK(stats.keys <= 16);
    }
    for (int i = 0; i < KEYS * PLACES; i++)
        weir_admit_release(&tickets[i / PLACES][i % PLACES]);
    stop();
}

static void fini_with_ticket_out(void *arg)
{
    struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
    if (come("a", &ticket) == 0)
        weir_admit_fini(&admit);
    (void)arg;
}

static void release_a_copy(void *arg)
{
    struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE, copy;
    if (come("a", &ticket) == 0) {
        copy = ticket;
        weir_admit_release(&ticket);
        weir_admit_release(&copy);
    }
    (void)arg;
}

TEST(misuse_is_named)
{
    start(NULL);
    CHECK(tap_dies(fini_with_ticket_out, NULL, "admit 'clients': destroyed with tickets out"));
    CHECK(tap_dies(release_a_copy, NULL, "admit 'clients': "));
    stop();
}

#ifdef WEIR_CHECKS

static void release_a_copy_of_two(void *arg)
{
    (void)arg;
    struct weir_admit own;
    struct weir_admit_ticket one = WEIR_ADMIT_TICKET_NONE, two = WEIR_ADMIT_TICKET_NONE, copy;
    if (weir_admit_init(&own, "clients", NULL) == 0 && weir_admit_try(&own, "a", 1, &one) == 0 &&
        weir_admit_try(&own, "a", 1, &two) == 0) {
        copy = one;
        weir_admit_release(&one);
        weir_admit_release(&copy);
    }
}

TEST(a_copy_is_caught_even_while_others_are_out)
{
    CHECK(tap_dies(release_a_copy_of_two, NULL,
                   "admit 'clients': what it handed out once was given back twice"));
}

#endif

TAP_MAIN()
