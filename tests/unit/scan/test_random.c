/* Texts that are full of random values and have no secret: what rows, logs, events and settings of
 * programs look like, with identifiers, digests and encoded bytes of all alphabets. A word of three
 * letters is in such text by accident every few thousand bytes, and a value of the right length and
 * alphabet behind it; nothing of that is a finding.
 *
 * The records depend on the seed alone. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "engine.h"
#include "tap.h"

#define RECORDS     60000u
#define FILE_ROWS   500u       /* records of one object */
#define ROOM        (4u << 20) /* bytes of one object at most */
#define VALUE_MAX   512u
#define FLAGGED_MAX 0u   /* findings that are accepted: none */
#define TOLD_MAX    200u /* of which no more are shown */

struct maker {
    uint64_t state;
    char *text;
    size_t length;
};

/* splitmix64: the same numbers everywhere. */
static uint64_t draw(struct maker *maker)
{
    uint64_t z = maker->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned below(struct maker *maker, unsigned limit)
{
    return (unsigned)((draw(maker) >> 32) % limit);
}

__attribute__((format(printf, 2, 3))) static void put(struct maker *maker, const char *form, ...)
{
    va_list args;
    va_start(args, form);
    int count = vsnprintf(maker->text + maker->length, ROOM - maker->length, form, args);
    va_end(args);
    CHECK(count >= 0 && (size_t)count < ROOM - maker->length);
    maker->length += (size_t)count;
}

/* --- values --- */

#define DIGITS "0123456789"
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct kind {
    const char *alphabet;
    unsigned lengths[5];
};

static const struct kind kinds[] = {
    {UPPER LOWER DIGITS "+/", {24, 44, 64, 88, 300}}, /* base64 */
    {UPPER LOWER DIGITS "-_", {22, 27, 43, 64, 171}}, /* of addresses */
    {DIGITS "abcdef", {24, 32, 40, 64, 128}},         /* digests */
    {DIGITS "ABCDEF", {16, 32, 40, 64, 96}},
    {UPPER LOWER DIGITS, {12, 20, 32, 40, 48}}, /* identifiers */
    {LOWER DIGITS, {10, 16, 25, 32, 36}},
    {UPPER "234567", {16, 26, 32, 52, 56}}, /* base32 */
    {DIGITS, {6, 10, 13, 16, 19}},
};
#define KINDS_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static void fill(struct maker *maker, char *into, const char *alphabet, unsigned length)
{
    unsigned letters = (unsigned)strlen(alphabet);
    for (unsigned i = 0; i < length; i++)
        into[i] = alphabet[below(maker, letters)];
    into[length] = '\0';
}

static const char *value(struct maker *maker, char buffer[VALUE_MAX])
{
    unsigned which = below(maker, KINDS_COUNT + 2);
    if (which < KINDS_COUNT) {
        fill(maker, buffer, kinds[which].alphabet, kinds[which].lengths[below(maker, 5)]);
        if (which == 0 && below(maker, 2))
            strcat(buffer, "=");
        return buffer;
    }
    char digits[33];
    fill(maker, digits, DIGITS "abcdef", 32);
    snprintf(buffer, VALUE_MAX, "%.8s-%.4s-4%.3s-a%.3s-%.12s", digits, digits + 8, digits + 12,
             digits + 15, digits + 18);
    return buffer;
}

/* --- names --- */

static const char *const names[] = {
    "id",       "uuid",      "request_id", "trace",  "span",    "etag",     "digest", "sha256",
    "md5",      "checksum",  "blob",       "data",   "payload", "cursor",   "next",   "commit",
    "revision", "parent",    "object",     "image",  "device",  "customer", "order",  "invoice",
    "batch",    "shard",     "node",       "host",   "thumb",   "preview",  "nonce",  "iv",
    "signed",   "signature", "body",       "digest2"};
static const char *const words[] = {
    "started", "finished", "stored", "fetched", "queued", "sent", "received", "moved", "merged",
    "retried", "expired",  "loaded", "written", "read",   "seen", "dropped",  "built", "pushed"};

#define ONE_OF(list) list[below(maker, sizeof(list) / sizeof(list[0]))]

/* --- records --- */

/* One draw after the other: in what order a call has its arguments is the compiler's choice. */
static void put_named(struct maker *maker, const char *before, const char *between,
                      const char *behind)
{
    char buffer[VALUE_MAX];
    const char *name = ONE_OF(names);
    put(maker, "%s%s%s%s%s", before, name, between, value(maker, buffer), behind);
}

static void put_json(struct maker *maker)
{
    unsigned fields = 3 + below(maker, 6);
    put(maker, "{");
    for (unsigned i = 0; i < fields; i++)
        put_named(maker, i ? ",\"" : "\"", "\":\"", "\"");
    put(maker, "}\n");
}

static void put_wide_json(struct maker *maker)
{
    unsigned fields = 3 + below(maker, 6);
    put(maker, "  {\n");
    for (unsigned i = 0; i < fields; i++)
        put_named(maker, i ? ",\n    \"" : "    \"", "\": \"", "\"");
    put(maker, "\n  },\n");
}

static void put_row(struct maker *maker)
{
    char buffer[VALUE_MAX];
    unsigned fields = 3 + below(maker, 6);
    for (unsigned i = 0; i < fields; i++)
        put(maker, "%s%s", i ? "," : "", value(maker, buffer));
    put(maker, "\n");
}

static void put_log(struct maker *maker)
{
    unsigned fields = 1 + below(maker, 4), second = below(maker, 60), day = 1 + below(maker, 28);
    const char *word = ONE_OF(words), *name = ONE_OF(names);
    put(maker, "2026-03-%02uT11:48:%02uZ INFO %s %s", day, second, word, name);
    for (unsigned i = 0; i < fields; i++)
        put_named(maker, " ", "=", "");
    put(maker, "\n");
}

static void put_yaml(struct maker *maker)
{
    unsigned fields = 3 + below(maker, 5);
    for (unsigned i = 0; i < fields; i++)
        put_named(maker, i ? "  " : "- ", ": ", "\n");
}

static void put_address(struct maker *maker)
{
    char first[VALUE_MAX], second[VALUE_MAX], third[VALUE_MAX];
    value(maker, first);
    value(maker, second);
    value(maker, third);
    put(maker, "https://cdn.acme.io/%s/%s?v=%s\n", first, second, third);
}

static void put_sql(struct maker *maker)
{
    char first[VALUE_MAX], second[VALUE_MAX], third[VALUE_MAX];
    const char *name = ONE_OF(names);
    unsigned number = below(maker, 100000);
    value(maker, first);
    value(maker, second);
    value(maker, third);
    put(maker, "INSERT INTO %ss VALUES (%u, '%s', '%s', '%s');\n", name, number, first, second,
        third);
}

static void (*const shapes[])(struct maker *) = {put_json, put_wide_json, put_row, put_log,
                                                 put_yaml, put_address,   put_sql};
#define SHAPES_COUNT (sizeof(shapes) / sizeof(shapes[0]))

/* --- scanning --- */

static size_t flagged;

static void tell(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    if (flagged++ < TOLD_MAX)
        printf("# %s: '%.*s'\n", finding->rule->id,
               (int)(finding->match_length < 160 ? finding->match_length : 160), finding->match);
}

static char *read_rules(size_t *ret_length)
{
    size_t room = 8u << 20;
    char *text = weir__base_alloc(1, room);
    FILE *file = fopen(RULES_FILE, "re");
    CHECK(text && file);
    *ret_length = fread(text, 1, room, file);
    fclose(file);
    return text;
}

static void scan_records(struct weir__scanner *scanner)
{
    struct maker maker = {.state = 20260316, .text = weir__base_alloc(1, ROOM)};
    CHECK(maker.text);
    for (unsigned record = 0; record < RECORDS; record += FILE_ROWS) {
        struct weir__object object = {.path = "rows", .decode_depth = WEIR__DECODE_DEPTH_DEFAULT};
        void (*shape)(struct maker *) = shapes[record / FILE_ROWS % SHAPES_COUNT];
        maker.length = 0;
        for (unsigned row = 0; row < FILE_ROWS; row++)
            shape(&maker);
        CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
        CHECK_EQ(weir__scanner_feed(scanner, maker.text, maker.length), 0);
        CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
    }
    weir__base_free(maker.text);
}

TEST(random_values_are_no_findings)
{
    size_t length;
    char *text = read_rules(&length);
    struct weir__rules *rules = NULL;
    struct weir__rules_error error;
    struct weir__engine_options options = {.cache = NULL};
    struct weir__engine *engine = NULL;
    struct weir__scanner *scanner = NULL;
    struct weir__sink sink = {.finding = tell};
    CHECK_EQ(weir__rules_load(&rules, "weir.toml", text, length, NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &options, &error), 0);
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
    scan_records(scanner);
    if (flagged > FLAGGED_MAX)
        tap_fail(__FILE__, __LINE__, "%zu findings in %u records without a secret", flagged,
                 RECORDS);
    weir__scanner_free(scanner);
    weir__engine_free(engine);
    weir__rules_free(rules);
    weir__base_free(text);
}

TAP_MAIN()
