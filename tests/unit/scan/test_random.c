/* Texts that are full of random values and have no secret: what rows, logs, events and settings of
 * programs look like, with identifiers, digests and encoded bytes of all alphabets. A word of three
 * letters is in such text by accident every few thousand bytes, and a value of the right length and
 * alphabet behind it; nothing of that is a finding.
 *
 * And passwords by chance in files of settings, of which nearly all are findings.
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
static bool is_shown;

static void tell(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    if (flagged++ < TOLD_MAX && is_shown)
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

struct rig {
    char *text;
    struct weir__rules *rules;
    struct weir__engine *engine;
    struct weir__scanner *scanner;
};

static void set_up(struct rig *rig)
{
    size_t length;
    struct weir__rules_error error;
    struct weir__engine_options options = {.cache = NULL};
    struct weir__sink sink = {.finding = tell};
    *rig = (struct rig){.text = read_rules(&length)};
    flagged = 0;
    CHECK_EQ(weir__rules_load(&rig->rules, "weir.toml", rig->text, length, NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&rig->engine, rig->rules, &options, &error), 0);
    CHECK_EQ(weir__scanner_new(&rig->scanner, rig->engine, &sink), 0);
}

static void take_down(struct rig *rig)
{
    weir__scanner_free(rig->scanner);
    weir__engine_free(rig->engine);
    weir__rules_free(rig->rules);
    weir__base_free(rig->text);
}

TEST(random_values_are_no_findings)
{
    struct rig rig;
    set_up(&rig);
    is_shown = true;
    scan_records(rig.scanner);
    if (flagged > FLAGGED_MAX)
        tap_fail(__FILE__, __LINE__, "%zu findings in %u records without a secret", flagged,
                 RECORDS);
    take_down(&rig);
}

/* --- passwords --- */

#define PASSWORDS  300u /* of each kind in each form */
#define SILENT_MAX 5u   /* of a hundred */
#define SIGNS      "!@#$%^&*"
#define PRINTABLE  UPPER LOWER DIGITS "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

static const struct {
    const char *name, *alphabet;
    unsigned length;
} passwords[] = {
    {"small letters and digits", LOWER DIGITS, 10},
    {"letters and digits", UPPER LOWER DIGITS, 10},
    {"small letters and digits", LOWER DIGITS, 12},
    {"letters and digits", UPPER LOWER DIGITS, 12},
    {"letters, digits and some signs", UPPER LOWER DIGITS SIGNS, 12},
    {"letters, digits and more signs", UPPER LOWER DIGITS SIGNS "()-_=+", 16},
    {"all that can be printed", PRINTABLE, 16},
};

/* As files of settings have them, without quotation marks: what stands before the value. */
static const char *const settings[] = {
    "DB_PASSWORD=",        "export SMTP_PASS=",
    "[db]\npassword = ",   "admin_pwd=",
    "password: ",          "db:\n  host: x\n  password: ",
    "jdbc.password : ",    "bindpw: ",
    "requirepass ",        "spring.datasource.password=",
    "  - MYSQL_PASSWORD=", "wpa_passphrase=",
};
#define SETTINGS_COUNT (sizeof(settings) / sizeof(settings[0]))

static size_t count_silent(struct weir__scanner *scanner, struct maker *maker, const char *alphabet,
                           unsigned length)
{
    size_t silent = 0;
    for (size_t i = 0; i < SETTINGS_COUNT * PASSWORDS; i++) {
        struct weir__object object = {.path = "settings"};
        char secret[VALUE_MAX];
        size_t before = flagged;
        fill(maker, secret, alphabet, length);
        maker->length = 0;
        put(maker, "%s%s\n", settings[i % SETTINGS_COUNT], secret);
        CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
        CHECK_EQ(weir__scanner_feed(scanner, maker->text, maker->length), 0);
        CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
        silent += flagged == before;
    }
    return silent;
}

TEST(random_passwords_are_told)
{
    struct maker maker = {.state = 20261116, .text = weir__base_alloc(1, ROOM)};
    struct rig rig;
    CHECK(maker.text);
    set_up(&rig);
    is_shown = false;
    for (size_t i = 0; i < sizeof(passwords) / sizeof(passwords[0]); i++) {
        size_t silent =
            count_silent(rig.scanner, &maker, passwords[i].alphabet, passwords[i].length);
        printf("# %u of %s: %zu of %zu are silent\n", passwords[i].length, passwords[i].name,
               silent, SETTINGS_COUNT * PASSWORDS);
        if (silent * 100 > SETTINGS_COUNT * PASSWORDS * SILENT_MAX)
            tap_fail(__FILE__, __LINE__, "%zu passwords of %s are silent", silent,
                     passwords[i].name);
    }
    take_down(&rig);
    weir__base_free(maker.text);
}

TAP_MAIN()
