/* lookup_bench.c - what cache and lookups cost, for docs/index-lookup.md.
 *
 *     lookup-bench
 *
 * Hits by one thread and by two; lookups of a name that a local source knows, and one that another
 * thread has to be asked for; and what hedging does to the slowest when 3 of 100 tries take 200 ms.
 * Prints one line for each figure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "cache.h"
#include "lookup.h"

#define ENTRIES 100000u
#define FINDS   4000000u
#define LOOKUPS 20000u
#define SLOW_NS (200 * WEIR_NS_PER_MS)

struct bench_source {
    struct weir__source head;
    bool is_slow; /* now and then */
};

static struct weir__key key;
static struct weir__question question, providers;
static struct weir__record_bytes name_bytes, provider_bytes[3];
static struct bench_source sources[2];
static struct weir_counter tries;
static uint64_t took[LOOKUPS];

static void need(int error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "lookup-bench: %s: %s\n", what, weir_error_name(error));
    exit(1);
}

/* --- sources --- */

static int ask(struct weir__source *source, const struct weir__question *asked,
               struct weir__reply *reply, const struct weir_deadline *deadline)
{
    weir_counter_add(&tries, 1);
    uint64_t number = weir_counter_value(&tries) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    if (((struct bench_source *)source)->is_slow && number % 100 < 3) {
        struct weir_deadline slow = weir_deadline_in(SLOW_NS, deadline->cancel);
        if (weir_deadline_sleep(&slow) == -WEIR_E_CANCELED)
            return -WEIR_E_CANCELED;
    }
    reply->count = asked->kind == WEIR__ASK_NAME ? 1 : 3;
    memcpy(reply->records, asked->kind == WEIR__ASK_NAME ? &name_bytes : provider_bytes,
           reply->count * sizeof(name_bytes));
    return 0;
}
static void free_source(struct weir__source *source)
{
    (void)source;
}
static const struct weir__source_ops local = {.kind = "local", .ask = ask, .free = free_source};
static const struct weir__source_ops remote = {.kind = "sibling", .ask = ask, .free = free_source};

static void seen(void *arg, const struct weir__name *name, struct weir__record_mark *ret_mark)
{
    (void)arg, (void)name;
    ret_mark->sequence = 7;
    ret_mark->has_record = false;
}
static int saw(void *arg, const struct weir__record *record, const struct weir__record_bytes *bytes)
{
    (void)arg, (void)record, (void)bytes;
    return 0;
}

static void make_records(void)
{
    unsigned char seed[32] = {1};
    char id[WEIR__KEYID_TEXT], text[WEIR__NAME_MAX + 1];
    struct weir__record record = {.kind = WEIR__RECORD_NAME,
                                  .sequence = 7,
                                  .issued_s = weir_wall_s() - 60,
                                  .expires_s = weir_wall_s() + 86400};
    if (weir__key_load_library())
        exit(1);
    weir__key_from_seed(&key, seed);
    weir__key_id_print(&key.id, id);
    snprintf(text, sizeof(text), "photos/2024@%s", id);
    need(weir__name_parse(text, strlen(text), &record.name), "name");
    memset(record.address.bytes, 7, sizeof(record.address.bytes));
    need(weir__record_sign(&name_bytes, &record, &key), "sign");
    question = (struct weir__question){.kind = WEIR__ASK_NAME, .name = record.name};
    providers = (struct weir__question){.kind = WEIR__ASK_PROVIDERS, .address = record.address};
    record.kind = WEIR__RECORD_PROVIDER;
    for (unsigned i = 0; i < 3; i++) {
        struct weir__key own;
        seed[1] = (unsigned char)(i + 1);
        weir__key_from_seed(&own, seed);
        snprintf(record.url, sizeof(record.url), "https://node%u.example/", i);
        need(weir__record_sign(&provider_bytes[i], &record, &own), "sign");
    }
}

/* --- the cache --- */

static void answer_free(struct weir_snapshot *snapshot)
{
    free(snapshot);
}
static struct weir__question_key key_of(uint64_t number)
{
    struct weir__question_key made = {{0}};
    for (size_t i = 0; i < 4; i++) {
        number = (number + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ number >> 31;
        memcpy(&made.bytes[8 * i], &number, 8);
    }
    return made;
}
static struct weir__cache *cache;

static int find_many(struct weir_crew_self *self, void *arg)
{
    uint64_t number = (uint64_t)(uintptr_t)arg;
    static struct weir__question_key keys[4096];
    struct weir__answer *answer;
    bool is_due;
    (void)self;
    if (number == 0)
        for (uint64_t i = 0; i < 4096; i++)
            keys[i] = key_of(i * 24);
    uint64_t began_ns = weir_now_ns();
    for (unsigned i = 0; i < FINDS; i++) {
        if (weir__cache_find(cache, &keys[(i * 7 + number * 13) % 4096], began_ns, &answer,
                             &is_due) == WEIR__CACHE_FRESH)
            weir__answer_unref(answer);
    }
    if (number < 2)
        printf("hit_ns %.1f%s\n", (double)(weir_now_ns() - began_ns) / FINDS,
               number ? " with another thread at it" : "");
    return 0;
}

static void measure_cache(void)
{
    struct weir_crew *crew;
    struct weir__cache_limits limits = {ENTRIES, UINT64_C(1) << 32, 0};
    need(weir__cache_new(&cache, &limits), "cache");
    uint64_t now_ns = weir_now_ns(), spent_ns = 0;
    for (uint64_t i = 0; i < ENTRIES; i++) {
        struct weir__answer *answer = calloc(1, sizeof(*answer));
        weir_snapshot_init(&answer->snapshot, answer_free);
        answer->key = key_of(i);
        answer->asked_ns = answer->made_ns = now_ns;
        answer->fresh_until_ns = answer->stale_until_ns = now_ns + 3600 * WEIR_NS_PER_S;
        answer->bytes = sizeof(*answer);
        weir__cache_offer(cache, answer);
        weir__answer_unref(answer);
        if (i % 512 == 511 || i == ENTRIES - 1) {
            uint64_t began_ns = weir_now_ns();
            weir__cache_turn(cache, now_ns);
            spent_ns += weir_now_ns() - began_ns;
        }
    }
    printf("take_in_ns %.0f\n", (double)spent_ns / ENTRIES);
    find_many(NULL, (void *)0);
    need(weir_crew_new(&crew, "bench", NULL), "crew");
    need(weir_crew_start(crew, "find", find_many, (void *)1), "start");
    need(weir_crew_start(crew, "find", find_many, (void *)2), "start");
    struct weir_deadline until = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    need(weir_crew_wait(crew, &until), "wait");
    weir_crew_drain(crew, NULL);
    weir_crew_free(crew);
    weir__cache_free(cache);
}

/* --- lookups --- */

static int by_time(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void measure_lookups(const char *what, const struct weir__source_ops *ops, bool is_slow,
                            uint32_t beta, size_t count)
{
    struct weir__lookup *lookup;
    struct weir_crew *crew;
    struct weir__lookup_stats stats;
    struct weir__lookup_options options = {
        .sources = {&sources[0].head, &sources[1].head},
        .sources_count = 2,
        .seen = seen,
        .saw = saw,
        .askers = 8,
        .limits = {.alpha = 1,
                   .beta = beta,
                   .quorum = 1,
                   .tries = 3,
                   .hedge_ns = 20 * WEIR_NS_PER_MS,
                   .deadline_ns = 1200 * WEIR_NS_PER_MS,
                   .hedge_permille = 50},
    };
    for (int i = 0; i < 2; i++) {
        sources[i] = (struct bench_source){.head = {.ops = ops}, .is_slow = is_slow};
        snprintf(sources[i].head.name, sizeof(sources[i].head.name), "source %d", i);
    }
    need(weir__lookup_new(&lookup, &options), "lookup");
    need(weir_crew_new(&crew, "bench", NULL), "crew");
    need(weir__lookup_start(lookup, crew), "start");
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < count; i++) {
        struct weir__answer *answer;
        uint64_t began_ns = weir_now_ns();
        need(weir__lookup_run(lookup, is_slow ? &providers : &question, NULL, &answer, NULL), what);
        took[i] = weir_now_ns() - began_ns;
        sum_ns += took[i];
        weir__answer_unref(answer);
    }
    qsort(took, count, sizeof(took[0]), by_time);
    weir__lookup_read(lookup, &stats);
    printf("%s: mean %.1f us, p50 %.1f, p99 %.1f; %" PRIu64 " attempts, %" PRIu64
           " hedges in %zu\n",
           what, (double)sum_ns / 1e3 / (double)count, (double)took[count / 2] / 1e3,
           (double)took[count * 99 / 100] / 1e3, stats.attempts, stats.hedges, count);
    weir__lookup_stop(lookup);
    weir_crew_drain(crew, NULL);
    weir_crew_free(crew);
    weir__lookup_free(lookup);
}

int main(void)
{
    make_records();
    measure_cache();
    measure_lookups("local name and 3 providers", &local, false, 1, LOOKUPS);
    measure_lookups("the same by askers", &remote, false, 1, LOOKUPS);
    measure_lookups("3 of 100 slow, no hedges", &remote, true, 0, 2000);
    measure_lookups("3 of 100 slow, hedged", &remote, true, 1, 2000);
    return 0;
}
