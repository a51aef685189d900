/* fault_scan_engine.c - the engine when the n-th allocation fails: rules, compiling, the cache, a
 * scan.
 *
 * Whatever fails: NoMemory or all that there is, never less; nothing leaks, and the same scanner
 * goes on with the next object. The allocations of Hyperscan are among those that fail.
 */
#include "tap.h"

#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#include "alloc.h"
#include "engine_help.h"
#include "sweep.h"

#define TOKEN "tok_abcdef0123456789"

static struct weir__rules *rules;
static struct weir__engine *engine;
static struct weir__scanner *scanner;
static struct hits wanted, hits;
static char text[8192];

static void *allocate(size_t size)
{
    return weir_fault_hit(WEIR_FAULT_ALLOC) ? NULL : malloc(size);
}

static struct hits *taking;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(taking, finding);
}

static const struct weir__sink sink = {.finding = take};
static const struct weir__object object = {.path = "a.pem", .commit = "c0ffee", .decode_depth = 3};

/* Plain and encoded ones, and enough of them that memory has to grow. */
static void make_text(void)
{
    size_t at = 0;
    while (at + 200 < sizeof(text))
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "x=" TOKEN "\nleft-1234 right-1234\npassword=a1b2c3d4\n"
                               "dG9rX2FiY2RlZjAxMjM0NTY3ODkgaXMgdGhlIHRva2Vu\n");
}

static int load(struct weir__rules **ret_rules)
{
    struct weir__rules_error error = {.text = ""};
    return weir__rules_load(ret_rules, "rules", HELP_ALLOW HELP_RULES,
                            strlen(HELP_ALLOW HELP_RULES), NULL, &error);
}

static int make(struct weir__engine **ret_engine, const struct weir__rules *from,
                const struct weir__engine_cache *cache)
{
    struct weir__rules_error error = {.text = ""};
    struct weir__engine_options options = {.cache = cache};
    int result = weir__engine_new(ret_engine, from, &options, &error);
    if (result < 0 && result != -WEIR_E_NO_MEMORY)
        tap_fail(__FILE__, __LINE__, "%s: %s", weir_error_text(result), error.text);
    return result;
}

static size_t cut_in_pieces(void *arg, size_t at, size_t left)
{
    (void)arg, (void)at;
    return left < 700 ? left : 700;
}

static int scan(struct weir__scanner *by, struct hits *into)
{
    taking = into;
    int result = hits_scan(into, by, &object, 0, text, strlen(text), cut_in_pieces, NULL);
    hits_sort(into);
    return result;
}

static void start(void)
{
    if (rules)
        return;
    CHECK_EQ(hs_set_allocator(allocate, free), HS_SUCCESS);
    make_text();
    CHECK_EQ(load(&rules), 0);
    CHECK_EQ(make(&engine, rules, NULL), 0);
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
    CHECK_EQ(scan(scanner, &wanted), 0);
    CHECK(wanted.count > 100);
}

/* --- making --- */

static void compiles(void)
{
    struct weir__engine *made = NULL;
    int result = make(&made, rules, NULL);
    CHECK(result < 0 ? !made : made != NULL);
    weir__engine_free(made);
}

TEST(compiling)
{
    start();
    CHECK(sweep(WEIR_FAULT_ALLOC, compiles) > 20);
}

/* A cache that keeps one thing, in memory that cannot fail. */
static struct {
    char *bytes;
    size_t length;
    unsigned gets, puts;
} kept;

static int get_kept(void *arg, const char *key, char **ret_bytes, size_t *ret_length)
{
    (void)arg, (void)key;
    char *copy = kept.bytes ? weir__base_alloc(1, kept.length) : NULL;
    kept.gets++;
    if (!copy)
        return kept.bytes ? -WEIR_E_NO_MEMORY : -WEIR_E_NOT_FOUND;
    memcpy(copy, kept.bytes, kept.length);
    *ret_bytes = copy;
    *ret_length = kept.length;
    return 0;
}

static void put_kept(void *arg, const char *key, const char *bytes, size_t length)
{
    (void)arg, (void)key;
    free(kept.bytes);
    kept.bytes = malloc(length);
    CHECK(kept.bytes);
    memcpy(kept.bytes, bytes, length);
    kept.length = length;
    kept.puts++;
}

static const struct weir__engine_cache cache = {.get = get_kept, .put = put_kept};

/* Nothing is in the cache; what cannot be put there is not missed. */
static void compiles_and_keeps(void)
{
    struct weir__engine *made = NULL;
    free(kept.bytes);
    kept.bytes = NULL;
    kept.puts = 0;
    int result = make(&made, rules, &cache);
    CHECK(result < 0 ? !made && kept.puts == 0 : !weir__engine_is_cached(made) && kept.puts <= 1);
    weir__engine_free(made);
}

/* The cache has it; what cannot be got is compiled. */
static void gets(void)
{
    struct weir__engine *made = NULL;
    int result = make(&made, rules, &cache);
    CHECK(result < 0 ? !made : made != NULL);
    if (made) {
        CHECK_STR(weir__engine_identity(made), weir__engine_identity(engine));
        CHECK_EQ(weir__engine_width(made), weir__engine_width(engine));
    }
    weir__engine_free(made);
}

TEST(the_cache)
{
    start();
    CHECK(sweep(WEIR_FAULT_ALLOC, compiles_and_keeps) > 20);
    CHECK_EQ(kept.puts, 1);
    CHECK(sweep(WEIR_FAULT_ALLOC, gets) > 3);
    free(kept.bytes);
    kept.bytes = NULL;
}

/* --- scanning --- */

static void makes_a_scanner(void)
{
    struct weir__scanner *made = NULL;
    int result = weir__scanner_new(&made, engine, &sink);
    CHECK(result == 0 || (result == -WEIR_E_NO_MEMORY && !made));
    weir__scanner_free(made);
}

TEST(scanners)
{
    start();
    CHECK(sweep(WEIR_FAULT_ALLOC, makes_a_scanner) > 10);
}

/* One fault; a new scanner each time, so that all its memory has still to grow. False: nothing was
 * left to fail. */
static bool scans_with(uint64_t n, unsigned *failures)
{
    struct weir__scanner *made = NULL;
    weir_fault_arm(WEIR_FAULT_ALLOC, n);
    int result = weir__scanner_new(&made, engine, &sink);
    if (result == 0)
        result = scan(made, &hits);
    bool was_hit = weir_fault_was_hit(WEIR_FAULT_ALLOC);
    weir_fault_arm(WEIR_FAULT_ALLOC, 0);
    CHECK(result == 0 || (result == -WEIR_E_NO_MEMORY && was_hit));
    *failures += result < 0;
    if (!made)
        return true;
    if (hits.problem)
        tap_fail(__FILE__, __LINE__, "%s", hits.problem);
    if (result == 0 && !hits.result.is_decode_truncated && hits.result.gave_up == 0)
        CHECK(hits_are_same(&hits, &wanted));
    /* The next object is not worse off for it. */
    CHECK_EQ(scan(made, &hits), 0);
    CHECK(hits_are_same(&hits, &wanted));
    weir__scanner_free(made);
    return was_hit;
}

/* With pauses in it: what has no memory for that is told later. */
TEST(objects_that_pause)
{
    uint64_t n = 1;
    unsigned failures = 0;
    start();
    hits.is_settled = true;
    while (scans_with(n, &failures) && n < SWEEP_MAX)
        n++;
    hits.is_settled = false;
    CHECK(n > 20 && n < SWEEP_MAX);
    CHECK(failures > 12);
}

TEST(objects)
{
    uint64_t n = 1;
    unsigned failures = 0;
    start();
    while (scans_with(n, &failures) && n < SWEEP_MAX)
        n++;
    CHECK(n > 15 && n < SWEEP_MAX);
    CHECK(failures > 12);
}

TAP_MAIN()
