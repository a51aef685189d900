/* stress_index_lookup.c - lookups, flights, the cache and turns under real threads, with sources at
 * random: they answer, know nothing, fail, dawdle, or hang until they are told.
 *
 * Callers ask for a few names through cache and flights as the service does; some give up in the
 * middle. The limits change all the time. At the end every answer and every attempt is home.
 */
#include "stress.h"

#include <weir/crew.h>
#include <weir/error.h>

#include "atomic.h"
#include "cache.h"
#include "flight.h"
#include "lookup.h"
#include "turns.h"

#define CALLERS 4
#define SOURCES 4
#define NAMES   6

struct source {
    struct weir__source head;
    uint64_t random;
};

static struct {
    struct weir__lookup *lookup;
    struct weir__cache *cache;
    struct weir__flights *flights;
    struct weir_crew *crew;
    struct weir__lookup_options options;
    struct source sources[SOURCES];
    struct weir__question questions[NAMES];
    struct weir__question_key keys[NAMES];
    struct weir__record_bytes records[NAMES][2]; /* of each name an older and a newer one */
    struct weir_counter led, told, left, answers, failures;
} s;

static uint64_t dice(struct source *source)
{
    uint64_t drawn = weir__add64(&source->random, UINT64_C(0x9E3779B97F4A7C15));
    drawn ^= drawn >> 30;
    drawn *= UINT64_C(0xBF58476D1CE4E5B9);
    return drawn ^ drawn >> 27;
}

static int ask(struct weir__source *source, const struct weir__question *question,
               struct weir__reply *reply, const struct weir_deadline *deadline)
{
    uint64_t drawn = dice((struct source *)source);
    struct weir_deadline moment = weir_deadline_in(drawn % 200000, deadline->cancel);
    struct weir_deadline lost = weir_deadline_until(deadline->cancel);
    switch (drawn >> 60) {
    case 0:
        return -WEIR_E_TRANSIENT;
    case 1:
        return -WEIR_E_NOT_FOUND;
    case 2:
        return weir_deadline_sleep(&lost);
    case 3:
    case 4:
        if (weir_deadline_sleep(&moment) == -WEIR_E_CANCELED)
            return -WEIR_E_CANCELED;
        break;
    default:
        break;
    }
    if (question->kind != WEIR__ASK_NAME)
        return -WEIR_E_NOT_FOUND;
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(s.questions[i].name.text, question->name.text) == 0)
            reply->records[0] = s.records[i][drawn >> 32 & 1];
    reply->count = 1;
    return 0;
}
static void free_source(struct weir__source *source)
{
    (void)source;
}
static const struct weir__source_ops ops = {.kind = "sibling", .ask = ask, .free = free_source};

static void seen(void *arg, const struct weir__name *name, struct weir__record_mark *ret_mark)
{
    (void)arg, (void)name;
    ret_mark->sequence = 0;
    ret_mark->has_record = false;
}
static int saw(void *arg, const struct weir__record *record, const struct weir__record_bytes *bytes)
{
    (void)arg, (void)record, (void)bytes;
    return 0;
}

/* --- a request, as the service has it --- */

struct request {
    struct weir__flight_waiter waiter;
    uint32_t is_told; /* the last thing that who tells it touches */
};

static void told(struct weir__flight_waiter *waiter, int result, struct weir__answer *answer)
{
    struct request *request = waiter->arg;
    CHECK((result == 0) == (answer != NULL));
    weir_counter_add(answer ? &s.answers : &s.failures, 1);
    weir__answer_unref(answer);
    weir_counter_add(&s.told, 1);
    weir__store32(&request->is_told, 1);
}

static void look_up(struct weir__flight *flight, size_t name)
{
    struct weir__answer *answer = NULL;
    struct weir__trace trace;
    struct weir_deadline deadline = weir__flight_deadline(flight);
    int error = weir__lookup_run(s.lookup, &s.questions[name], &trace, &answer, &deadline);
    if (!error)
        weir__cache_offer(s.cache, answer);
    weir__flight_land(s.flights, flight, error, answer);
    weir__answer_unref(answer);
    weir_counter_add(&s.led, 1);
}

static void ask_for(struct stress_thread *thread, size_t name)
{
    struct request request = {.waiter = {.told = told, .arg = &request}};
    struct weir__flight *flight = NULL;
    uint64_t drawn = stress_random(thread);
    uint64_t until_ns = weir_now_ns() + 100000 + drawn % 2000000;
    if (weir__flight_join(s.flights, &s.keys[name], until_ns, &request.waiter, &flight) == 0) {
        bool gives_up = drawn >> 62 == 0;
        if (gives_up && weir__flight_leave(s.flights, &request.waiter))
            weir_counter_add(&s.left, 1);
        else
            gives_up = false;
        if (flight)
            look_up(flight, name);
        while (!gives_up && !weir__load32(&request.is_told)) {
            struct weir_deadline moment = weir_deadline_in(10000, NULL);
            (void)weir_deadline_sleep(&moment);
        }
    }
}

static void caller(struct stress_thread *thread)
{
    while (stress_goes_on(thread)) {
        size_t name = stress_random(thread) % NAMES;
        struct weir__answer *answer;
        bool is_due;
        if (weir__cache_find(s.cache, &s.keys[name], weir_now_ns(), &answer, &is_due) !=
            WEIR__CACHE_MISS) {
            CHECK(memcmp(&answer->key, &s.keys[name], sizeof(answer->key)) == 0);
            CHECK(answer->result || answer->body[answer->body_length - 1] == ',');
            weir__answer_unref(answer);
            if (stress_random(thread) % 4)
                continue;
            (void)!weir__cache_drop(s.cache, &s.keys[name]);
        }
        ask_for(thread, name);
    }
}

static void reloader(struct stress_thread *thread)
{
    while (stress_goes_on(thread)) {
        struct weir__lookup_limits limits = s.options.limits;
        struct weir_deadline moment = weir_deadline_in(300000, NULL);
        limits.alpha = 1 + (uint32_t)(stress_random(thread) % 3);
        limits.quorum = 1 + (uint32_t)(stress_random(thread) % 2);
        CHECK_EQ(weir__lookup_update(s.lookup, &limits), 0);
        weir__lookup_tend(s.lookup);
        (void)weir_deadline_sleep(&moment);
    }
}

static void work(struct stress_thread *thread)
{
    if (thread->index < CALLERS)
        caller(thread);
    else
        reloader(thread);
}

static void make_records(void)
{
    struct weir__key key;
    unsigned char seed[32] = {42};
    char keyid[WEIR__KEYID_TEXT], text[WEIR__NAME_MAX + 1];
    CHECK(weir__key_load_library() == NULL);
    weir__key_from_seed(&key, seed);
    weir__key_id_print(&key.id, keyid);
    for (size_t i = 0; i < NAMES; i++) {
        struct weir__record record = {.kind = WEIR__RECORD_NAME,
                                      .issued_s = weir_wall_s() - 10,
                                      .expires_s = weir_wall_s() + 3600};
        int length = snprintf(text, sizeof(text), "name%zu@%s", i, keyid);
        CHECK_EQ(weir__name_parse(text, (size_t)length, &record.name), 0);
        memset(record.address.bytes, 1 + (int)i, sizeof(record.address.bytes));
        s.questions[i] = (struct weir__question){.kind = WEIR__ASK_NAME, .name = record.name};
        weir__question_key_of(&s.questions[i], &s.keys[i]);
        for (size_t j = 0; j < 2; j++) {
            record.sequence = 1 + j;
            CHECK_EQ(weir__record_sign(&s.records[i][j], &record, &key), 0);
        }
    }
}

static void begin(void)
{
    memset(&s, 0, sizeof(s));
    make_records();
    s.options = (struct weir__lookup_options){
        .sources_count = SOURCES, .seen = seen, .saw = saw, .askers = 6};
    s.options.limits = (struct weir__lookup_limits){.alpha = 2,
                                                    .beta = 2,
                                                    .quorum = 1,
                                                    .tries = 2,
                                                    .hedge_ns = 100000,
                                                    .deadline_ns = 3 * WEIR_NS_PER_MS,
                                                    .hedge_permille = 200,
                                                    .ttl_ns = WEIR_NS_PER_MS,
                                                    .negative_ttl_ns = WEIR_NS_PER_MS,
                                                    .stale_ns = WEIR_NS_PER_MS,
                                                    .breaker = {.cooldown_ns = WEIR_NS_PER_MS}};
    for (size_t i = 0; i < SOURCES; i++) {
        s.sources[i].head.ops = &ops;
        s.sources[i].random = i + 1;
        snprintf(s.sources[i].head.name, sizeof(s.sources[i].head.name), "source %zu", i);
        s.options.sources[i] = &s.sources[i].head;
    }
    CHECK_EQ(weir__lookup_new(&s.lookup, &s.options), 0);
    CHECK_EQ(weir__cache_new(&s.cache, &(struct weir__cache_limits){4, 1 << 20, 0}), 0);
    CHECK_EQ(weir__flights_new(&s.flights, 8), 0);
    CHECK_EQ(weir_crew_new(&s.crew, "index", NULL), 0);
    CHECK_EQ(weir__lookup_start(s.lookup, s.crew), 0);
    CHECK_EQ(weir_crew_start(s.crew, "cache", weir__cache_main, s.cache), 0);
}

TEST(lookups_flights_and_cache)
{
    struct weir__lookup_stats stats;
    struct weir__flights_stats flights;
    struct weir__cache_stats cache;
    begin();
    stress_run(CALLERS + 1, &s, work);
    weir__lookup_stop(s.lookup);
    weir__cache_close(s.cache);
    CHECK_EQ(weir_crew_drain(s.crew, NULL), 0);
    weir__lookup_read(s.lookup, &stats);
    weir__flights_read(s.flights, &flights);
    weir__cache_read(s.cache, &cache);
    printf("# %llu lookups, %llu answered, %llu hedges, %llu joined, %llu left, %llu hits\n",
           (unsigned long long)stats.lookups, (unsigned long long)stats.answered,
           (unsigned long long)stats.hedges, (unsigned long long)flights.joined,
           (unsigned long long)flights.left, (unsigned long long)cache.hits);
    CHECK(stats.lookups > 100 && stats.answered > 10 && cache.hits > 0);
    CHECK_EQ(stats.lookups, stats.answered + stats.not_found + stats.failed + stats.timed_out +
                                stats.canceled + stats.breaker_open);
    CHECK_EQ(stats.under_way, 0);
    CHECK_EQ(flights.now, 0);
    CHECK_EQ(flights.led, flights.landed);
    CHECK_EQ(flights.led, weir_counter_value(&s.led));
    CHECK_EQ(flights.led + flights.joined,
             weir_counter_value(&s.told) + weir_counter_value(&s.left));
    weir_crew_free(s.crew);
    weir__lookup_free(s.lookup);
    weir__cache_free(s.cache);
    weir__flights_free(s.flights);
}

/* --- turns: two for each of two addresses --- */

#define TURNERS   6
#define ADDRESSES 2
#define AT_ONCE   2u

struct turner {
    struct weir__lookup_turn turn; /* first */
    uint32_t gone; /* 1: has its turn, 2: cannot use it; the last that go() touches */
    bool is_useless;
};

static struct {
    struct weir__turns *turns;
    uint32_t running[ADDRESSES];
    struct weir_counter entered, waited, ended, refused;
} t;

static bool go(struct weir__lookup_turn *turn)
{
    struct turner *turner = (struct turner *)turn;
    bool goes = !turner->is_useless;
    if (!goes)
        CHECK(weir__turns_take_out(turn) != NULL);
    weir__store32(&turner->gone, goes ? 1 : 2);
    return goes;
}

static void take_turns(struct stress_thread *thread)
{
    while (stress_goes_on(thread)) {
        uint64_t drawn = stress_random(thread);
        unsigned address = drawn % ADDRESSES;
        struct turner self = {.turn = {.key = {(unsigned char)address}, .key_size = 1},
                              .is_useless = drawn >> 61 == 0};
        bool has;
        if (weir__turns_enter(t.turns, &self.turn, &has)) {
            weir_counter_add(&t.refused, 1);
            continue;
        }
        weir_counter_add(&t.entered, 1);
        weir_counter_add(&t.waited, !has);
        while (!has && weir__load32(&self.gone) == 0) {
            struct weir_deadline moment = weir_deadline_in(1000, NULL);
            (void)weir_deadline_sleep(&moment);
        }
        if (!has && weir__load32(&self.gone) == 2) {
            weir_counter_add(&t.ended, 1);
            continue;
        }
        struct weir__turns_account *account = weir__turns_take_out(&self.turn);
        CHECK(weir__add32(&t.running[address], 1) < AT_ONCE);
        struct weir_deadline moment = weir_deadline_in(drawn >> 48, NULL);
        (void)weir_deadline_sleep(&moment);
        weir__add32(&t.running[address], UINT32_MAX);
        weir__turns_pass(t.turns, account);
    }
}

TEST(turns_of_addresses)
{
    struct weir__turns_stats stats;
    memset(&t, 0, sizeof(t));
    CHECK_EQ(weir__turns_new(&t.turns, &(struct weir__turns_options){AT_ONCE, 3, 2, 2, go}), 0);
    stress_run(TURNERS, &t, take_turns);
    weir__turns_read(t.turns, &stats);
    printf("# %llu turns, %llu waited for, %llu of these unused\n", (unsigned long long)stats.taken,
           (unsigned long long)stats.waited, (unsigned long long)weir_counter_value(&t.ended));
    CHECK(stats.taken > 100 && stats.waited > 10);
    CHECK_EQ(stats.taken, stats.passed);
    CHECK_EQ(stats.taken, weir_counter_value(&t.entered));
    CHECK_EQ(stats.waited, weir_counter_value(&t.waited));
    CHECK_EQ(stats.refused, weir_counter_value(&t.refused));
    CHECK_EQ(stats.waiting + stats.accounts, 0);
    weir__turns_free(t.turns);
}

TAP_MAIN()
