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
#include "engine/whole.h"
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

/* --- a text that was made from another --- */

static struct hits of_text;

/* The text with a line in the middle, by what is known of the text. Traces begin without memory
 * each time, too. */
static int scan_texts(struct weir__scanner *by, const char *second, size_t length,
                      struct weir__trace traces[2])
{
    uint32_t half = (uint32_t)(length - strlen(text));
    uint32_t middle = (uint32_t)strlen(text) / 2;
    struct weir__copied copies[] = {{0, 0, middle},
                                    {middle + half, middle, (uint32_t)strlen(text) - middle}};
    struct weir__edit edit = {&traces[0], copies, 2};
    struct weir__text first = {.bytes = text, .length = strlen(text), .trace = &traces[0]};
    struct weir__text made = {
        .bytes = second, .length = length, .edit = &edit, .trace = &traces[1]};
    taking = &hits;
    hits.bytes = NULL;
    int result = weir__scanner_text(by, &object, &first, NULL);
    if (result < 0)
        return result;
    hits.count = 0;
    result = weir__scanner_text(by, &object, &made, &hits.result);
    hits_sort(&hits);
    return result;
}

/* As scans_with(). A trace for which there was no memory is not known, and the text is scanned in
 * full: it makes no difference. */
static bool texts_with(uint64_t n, const char *second, size_t length, unsigned *failures,
                       unsigned *in_full)
{
    struct weir__scanner *made = NULL;
    struct weir__trace traces[2];
    weir__trace_init(&traces[0]);
    weir__trace_init(&traces[1]);
    weir_fault_arm(WEIR_FAULT_ALLOC, n);
    int result = weir__scanner_new(&made, engine, &sink);
    if (result == 0)
        result = scan_texts(made, second, length, traces);
    bool was_hit = weir_fault_was_hit(WEIR_FAULT_ALLOC);
    weir_fault_arm(WEIR_FAULT_ALLOC, 0);
    CHECK(result == 0 || (result == -WEIR_E_NO_MEMORY && was_hit));
    CHECK(result == 0 || !traces[1].is_known);
    *failures += result < 0;
    *in_full += result == 0 && !hits.result.is_in_part;
    if (result == 0 && !hits.result.is_decode_truncated && hits.result.gave_up == 0)
        CHECK(hits_are_same(&hits, &of_text));
    if (made) {
        CHECK_EQ(scan_texts(made, second, length, traces), 0);
        CHECK(hits_are_same(&hits, &of_text) && hits.result.is_in_part && traces[1].is_known);
    }
    weir__scanner_free(made);
    weir__trace_fini(&traces[0]);
    weir__trace_fini(&traces[1]);
    return was_hit;
}

TEST(texts_made_from_others)
{
    static const char line[] = "\nx=tok_0123456789abcdef\n";
    static char second[sizeof(text) + sizeof(line)];
    uint64_t n = 1;
    unsigned failures = 0, in_full = 0;
    start();
    size_t middle = strlen(text) / 2, length = 0;
    memcpy(second, text, middle);
    memcpy(second + middle, line, sizeof(line) - 1);
    length = middle + sizeof(line) - 1;
    memcpy(second + length, text + middle, strlen(text) - middle);
    length += strlen(text) - middle;
    taking = &of_text;
    CHECK_EQ(hits_scan(&of_text, scanner, &object, 0, second, length, NULL, NULL), 0);
    hits_sort(&of_text);
    CHECK(of_text.count > 100);
    while (texts_with(n, second, length, &failures, &in_full) && n < SWEEP_MAX)
        n++;
    CHECK(n > 20 && n < SWEEP_MAX);
    CHECK(failures > 12 && in_full > 3);
}

TAP_MAIN()
