/* fuzz_engine.c - any bytes through the engine, in several ways that must come to the same.
 *
 * The input is six bytes of choices (which rules, how deep, where it is cut, how often it is
 * repeated) and a text. What must hold whatever it is: cut into chunks it has the findings that it
 * has as a whole, and has them again when it is scanned again; every place is in the object, has
 * the secret at it unless that was encoded, and line and column fit; and it makes no difference
 * where in a larger object the text stands, so that the edge of a segment goes through it, nor
 * whether what is certain is asked for behind each chunk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "scanners.h"

#include "banned.h"

#define CHOICES          6u
#define OBJECT_MAX       (48u << 10)
#define SEGMENT          (1u << 20) /* where edges are */
#define BEFORE           64u        /* skipped when no edge shall be near */

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "engine", #condition)

static const char *const plain_rules[] = {"token", "assigned", "digits", "file", NULL};
static const char *const wide_rules[] = {"block", "line", "word", "generic-password", NULL};
static const char *const tied_rules[] = {"needs", "pair", "other", "token", NULL};
#define ENGINES 4u
static const struct choice choice = {HELP_ALLOW HELP_RULES,
                                     {NULL, plain_rules, wide_rules, tied_rules}};

static struct hits whole, other;
static char object_bytes[OBJECT_MAX];

static size_t cut_by_seed(void *arg, size_t at, size_t left)
{
    uint32_t *seed = arg;
    (void)at;
    *seed = *seed * 1103515245u + 12345u;
    size_t most = *seed >> 31 ? 7 : 3000;
    size_t part = 1 + (*seed >> 8) % most;
    return part < left ? part : left;
}

static void scan(struct hits *hits, struct weir__scanner *scanner,
                 const struct weir__object *object, uint64_t skipped, size_t length, uint32_t *seed)
{
    taking = hits;
    int result = hits_scan(hits, scanner, object, skipped, object_bytes, length,
                           seed ? cut_by_seed : NULL, seed);
    HOLDS(result == 0);
    HOLDS(hits->result.bytes == length);
    HOLDS(hits->count == HITS_MAX || hits->result.findings == hits->count);
    WEIR__REQUIRE(!hits->problem, "fuzz", "engine", hits->problem);
    hits_sort(hits);
}

/* The text, as often as it fits and is wanted. */
static size_t fill(const uint8_t *text, size_t length, unsigned times)
{
    size_t used = 0;
    for (unsigned i = 0; i < times && length <= OBJECT_MAX - used; i++) {
        memcpy(object_bytes + used, text, length);
        used += length;
    }
    return used;
}

static void show(const char *what, const struct hits *hits, size_t number)
{
    if (number >= hits->count) {
        fprintf(stderr, "%s: %zu findings\n", what, hits->count);
        return;
    }
    const struct hit *hit = &hits->items[number];
    fprintf(stderr,
            "%s: %zu findings, number %zu: %s at %llu, %llu bytes, line %llu, coded %zu (%d)\n",
            what, hits->count, number, hit->rule->id, (unsigned long long)hit->place.offset,
            (unsigned long long)hit->place.length, (unsigned long long)hit->place.line,
            hit->encodings_count, hit->encodings_count ? (int)hit->encodings[0] : -1);
}

/* The same, or it says which is the first that differs. */
static bool are_same(const struct hits *a, const struct hits *b)
{
    size_t number = 0;
    if (hits_are_same(a, b))
        return true;
    while (number < a->count && number < b->count &&
           memcmp(&a->items[number], &b->items[number], sizeof(a->items[0])) == 0)
        number++;
    show("one way", a, number);
    show("the other", b, number);
    return false;
}

/* Bytes that are UTF-16 in both orders are taken for one or the other by what is around them, and
 * an edge may cut that off. */
static void drop_wide(struct hits *hits)
{
    size_t kept = 0;
    for (size_t i = 0; i < hits->count; i++) {
        bool is_wide = false;
        for (size_t k = 0; k < hits->items[i].encodings_count; k++) {
            enum weir__encoding encoding = hits->items[i].encodings[k];
            is_wide |= encoding == WEIR__UTF16LE || encoding == WEIR__UTF16BE ||
                       encoding == WEIR__UTF32LE || encoding == WEIR__UTF32BE;
        }
        if (!is_wide)
            hits->items[kept++] = hits->items[i];
    }
    hits->count = kept;
}

static void check_depth(const struct hits *hits, unsigned depth)
{
    for (size_t i = 0; i < hits->count; i++)
        HOLDS(hits->items[i].encodings_count <= depth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= CHOICES || size - CHOICES > OBJECT_MAX)
        return 0;
    struct weir__scanner *scanner = scanner_of(&choice, data[0] % ENGINES);
    bool is_scarce = data[0] >> 4 & 1;
    struct weir__object object = {.path = data[0] >> 5 & 1 ? "a/b.pem" : "a/b.txt",
                                  .decode_depth = data[0] >> 2 & 3,
                                  .decode_bytes = is_scarce ? 1 + data[5] * UINT64_C(16) : 0};
    size_t length = fill(data + CHOICES, size - CHOICES, 1 + (data[5] & 63u));
    uint32_t seed = data[3] | (uint32_t)data[4] << 8;
    other.is_settled = data[0] >> 6 & 1;
    scan(&whole, scanner, &object, 0, length, NULL);
    check_depth(&whole, object.decode_depth);
    struct weir__scan_result result = whole.result;
    scan(&other, scanner, &object, 0, length, &seed);
    HOLDS(are_same(&whole, &other));
    HOLDS(memcmp(&result, &other.result, sizeof(result)) == 0);
    if (is_scarce)
        return 0; /* what is decoded twice near an edge counts twice */
    /* Even: of two orders of UTF-16 the one is taken that begins at an even place of the object. */
    size_t edge = (data[1] | (size_t)data[2] << 8) % (length + 1) & ~(size_t)1;
    scan(&whole, scanner, &object, BEFORE, length, NULL);
    hits_move_back(&whole);
    scan(&other, scanner, &object, SEGMENT - edge, length, &seed);
    hits_move_back(&other);
    if (whole.count == HITS_MAX || other.count == HITS_MAX)
        return 0; /* not all are there */
    drop_wide(&whole);
    drop_wide(&other);
    HOLDS(are_same(&whole, &other));
    return 0;
}
