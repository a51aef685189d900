/* test_dense.c - the work of the engine does not grow faster than its input, however dense that is.
 *
 * Work is counted, not timed: this program is linked so that each call of the matcher and of the
 * database goes through here. A search counts the bytes from where it began to where its match
 * ended, or to the end of what it was given; the database counts the bytes that it was given.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <hs/hs.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "engine_help.h"
#include "tap.h"

#define TOKEN "tok_abcdef0123456789"
#define SIZE  (256u << 10)

static struct {
    uint64_t calls, searched, scanned, hits;
} work;

/* Names that the linker gives. */
int __real_pcre2_match_8(const pcre2_code *code, PCRE2_SPTR subject, PCRE2_SIZE length,
                         PCRE2_SIZE start, uint32_t options, pcre2_match_data *data,
                         pcre2_match_context *context);
int __wrap_pcre2_match_8(const pcre2_code *code, PCRE2_SPTR subject, PCRE2_SIZE length,
                         PCRE2_SIZE start, uint32_t options, pcre2_match_data *data,
                         pcre2_match_context *context);
int __real_pcre2_jit_match_8(const pcre2_code *code, PCRE2_SPTR subject, PCRE2_SIZE length,
                             PCRE2_SIZE start, uint32_t options, pcre2_match_data *data,
                             pcre2_match_context *context);
int __wrap_pcre2_jit_match_8(const pcre2_code *code, PCRE2_SPTR subject, PCRE2_SIZE length,
                             PCRE2_SIZE start, uint32_t options, pcre2_match_data *data,
                             pcre2_match_context *context);
hs_error_t __real_hs_scan(const hs_database_t *database, const char *bytes, unsigned length,
                          unsigned flags, hs_scratch_t *scratch, match_event_handler handler,
                          void *arg);
hs_error_t __wrap_hs_scan(const hs_database_t *database, const char *bytes, unsigned length,
                          unsigned flags, hs_scratch_t *scratch, match_event_handler handler,
                          void *arg);

static void count_search(int result, PCRE2_SIZE length, PCRE2_SIZE start, pcre2_match_data *data)
{
    size_t end = result > 0 ? pcre2_get_ovector_pointer(data)[1] : length;
    work.calls++;
    work.searched += end > start ? end - start : 0;
}

int __wrap_pcre2_match_8(const pcre2_code *code, PCRE2_SPTR subject, PCRE2_SIZE length,
                         PCRE2_SIZE start, uint32_t options, pcre2_match_data *data,
                         pcre2_match_context *context)
{
    int result = __real_pcre2_match_8(code, subject, length, start, options, data, context);
    count_search(result, length, start, data);
    return result;
}

int __wrap_pcre2_jit_match_8(const pcre2_code *code, PCRE2_SPTR subject, PCRE2_SIZE length,
                             PCRE2_SIZE start, uint32_t options, pcre2_match_data *data,
                             pcre2_match_context *context)
{
    int result = __real_pcre2_jit_match_8(code, subject, length, start, options, data, context);
    count_search(result, length, start, data);
    return result;
}

hs_error_t __wrap_hs_scan(const hs_database_t *database, const char *bytes, unsigned length,
                          unsigned flags, hs_scratch_t *scratch, match_event_handler handler,
                          void *arg)
{
    work.scanned += length;
    return __real_hs_scan(database, bytes, length, flags, scratch, handler, arg);
}

static struct weir__rules *rules;
static struct weir__engine *engine;
static struct weir__scanner *scanner;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg, (void)finding;
    work.hits++;
}

static void start_with(const char *text)
{
    struct weir__rules_error error = {.text = ""};
    struct weir__engine_options options = {0};
    struct weir__sink sink = {.finding = take};
    CHECK_EQ(weir__rules_load(&rules, "test", text, strlen(text), NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &options, &error), 0);
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
}

static void start(void)
{
    /* One more, whose literal stands far behind the beginning of its matches. */
    start_with(HELP_RULES "[[rules]]\nid = 'late'\nregex = '[a-z.]{0,200}rarehost[0-9]'\n");
}

static void stop(void)
{
    weir__scanner_free(scanner);
    weir__engine_free(engine);
    weir__rules_free(rules);
}

/* The piece again and again: as it is, or with a few bytes in between, so that no two places are
 * the same for long. */
static bool is_uneven;

static void scan(const char *piece, size_t size, unsigned depth)
{
    struct weir__object object = {.path = "a", .decode_depth = depth};
    size_t length = strlen(piece);
    uint32_t chance = 1;
    char *text = weir__base_alloc(1, size);
    CHECK(text);
    for (size_t at = 0, of = 0; at < size; at++) {
        bool is_between = is_uneven && of % length == 0 && (chance = chance * 69069 + 1) >> 30;
        text[at] = is_between ? '~' : piece[of++ % length];
    }
    memset(&work, 0, sizeof(work));
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, size), 0);
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
    weir__base_free(text);
}

/* each: matcher's bytes for each byte of the input, in hundredths, at most, when it is uneven. What
 * repeats itself is searched once, unless it is decoded. */
#define EACH_SAME 5u
static const struct {
    const char *name, *piece;
    unsigned depth, each;
    bool is_found;
} table[] = {
    {"no match at all", "these are words of no use\n", 0, 1, false},
    {"tokens", TOKEN "\n", 0, 300, true},
    {"tokens in one line", TOKEN " ", 0, 300, true},
    {"beginnings of tokens", "tok_", 0, 1200, false},
    {"almost tokens", "tok_abcdef012345678\n", 0, 300, false},
    {"values", "acme = 1234ABCD ", 0, 300, true},
    {"blocks", "-----BEGIN X-----abc-----END X-----\n", 0, 300, true},
    {"blocks that do not end", "-----BEGIN X-----", 0, 2500, false},
    {"ends of blocks", "-----END X-----", 0, 1000, false},
    {"digits", "12Q34 ", 0, 1000, true},
    {"words", "gizmo 0123456789ab;", 0, 400, true},
    {"words without values", "gizmo", 0, 3500, false},
    {"ends of wide matches", "rarehost.", 0, 3000, false},
    {"pairs", "left-1234\nright-1234\n", 0, 400, true},
    {"what gives way", "password=" TOKEN "\n", 0, 400, true},
    {"encoded tokens", "dG9rX2FiY2RlZjAxMjM0NTY3ODkgaXMgdGhlIHRva2Vu\n", 3, 500, true},
};

static void searches_are_linear(void)
{
    start();
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        unsigned each = is_uneven || table[i].depth > 0 ? table[i].each : EACH_SAME;
        scan(table[i].piece, SIZE, table[i].depth);
        uint64_t searched = work.searched, calls = work.calls, scanned = work.scanned;
        if ((work.hits > 0) != table[i].is_found || searched > SIZE / 100 * each)
            tap_fail(__FILE__, __LINE__, "%s: %llu findings, searched %.2f bytes for each",
                     table[i].name, (unsigned long long)work.hits, (double)searched / SIZE);
        /* Twice as much is twice the work, and a little for the edges. */
        scan(table[i].piece, 2 * SIZE, table[i].depth);
        if (work.searched > searched * 2 + searched / 4 + SIZE / 100 ||
            work.calls > calls * 2 + calls / 4 + 64 || work.scanned > scanned * 2 + scanned / 4)
            tap_fail(__FILE__, __LINE__, "%s: %.2f times the work for twice the bytes",
                     table[i].name, (double)work.searched / (double)searched);
    }
    stop();
}

TEST(searches_are_linear_in_the_bytes)
{
    is_uneven = true;
    searches_are_linear();
}

TEST(what_repeats_itself_is_searched_once)
{
    is_uneven = false;
    searches_are_linear();
}

/* Blocks without an end, of a width that is a thousand times the distance between two beginnings.
 * One that does end is found all the same, also if it is the last thing of all, or begins a segment
 * before. */
static void scan_blocks(size_t size, size_t end_at)
{
    static const char begin[] = "-----BEGIN KEY-----", end[] = "-----END KEY-----";
    struct weir__object object = {.path = "a"};
    uint32_t chance = 7;
    char *text = weir__base_alloc(1, size);
    CHECK(text);
    for (size_t at = 0, of = 0; at < size; at++) {
        if (of == sizeof(begin) - 1 && (chance = chance * 69069 + 1) >> 30 == 0)
            of = 0;
        text[at] = of < sizeof(begin) - 1 ? begin[of++] : (char)('a' + (chance >> 8) % 26);
    }
    if (end_at > 0)
        memcpy(text + end_at, end, sizeof(end) - 1);
    memset(&work, 0, sizeof(work));
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, size), 0);
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
    weir__base_free(text);
}

TEST(what_does_not_end_is_searched_for_an_end_once)
{
    static const char text[] = "[[rules]]\nid = 'key'\n"
                               "regex = '-----BEGIN KEY-----[\\s\\S]{4,9000}?-----END KEY-----'\n";
    const size_t size = 3u << 20, end = 17;
    start_with(text);
    /* Before it is worth while to know about the end, each search takes a width. */
    scan_blocks(size, 0);
    CHECK_EQ(work.hits, 0);
    if (work.searched > 600 * 9100)
        tap_fail(__FILE__, __LINE__, "searched %.1f bytes for each",
                 (double)work.searched / (double)size);
    scan_blocks(size, 0);
    if (work.searched > size)
        tap_fail(__FILE__, __LINE__, "searched %.1f bytes for each",
                 (double)work.searched / (double)size);
    const size_t places[] = {30, 8000, 1u << 20, (1u << 20) + 5, 2000000, size - 9100, size - end};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        scan_blocks(size, places[i]);
        if (work.hits != 1 || work.searched > size)
            tap_fail(__FILE__, __LINE__, "an end at %zu: %llu found, searched %.1f bytes for each",
                     places[i], (unsigned long long)work.hits,
                     (double)work.searched / (double)size);
    }
    /* Wherever it is in what is looked at ahead of time. */
    for (size_t at = 15000; at < 15000 + 4096 + 64; at++) {
        scan_blocks(20000, at);
        if (work.hits != 1)
            tap_fail(__FILE__, __LINE__, "an end at %zu is not found", at);
    }
    stop();
}

/* The same with a pause behind each line. */
static void scan_pausing(const char *piece, size_t size)
{
    struct weir__object object = {.path = "a"};
    size_t length = strlen(piece);
    memset(&work, 0, sizeof(work));
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    for (size_t at = 0; at < size; at += length) {
        CHECK_EQ(weir__scanner_feed(scanner, piece, length), 0);
        weir__scanner_settle(scanner);
        uint64_t scanned = work.scanned;
        weir__scanner_settle(scanner); /* nothing has come since */
        CHECK_EQ(work.scanned, scanned);
    }
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
}

/* Each pause looks at its line and the widths before it (a quarter of a KiB of these rules), and a
 * rule whose match is still open at that much again. */
TEST(pauses_are_linear_in_their_number)
{
    static const struct {
        const char *piece;
        uint64_t searched, scanned; /* bytes for each pause, at most */
    } lines[] = {
        {"these are words of no use\n", 1, 1500},      {TOKEN "\n", 100, 1500},
        {"-----BEGIN X-----\n", 1500, 1500},           {"gizmo and gadget\n", 800, 1500},
        {"left-1234 password=" TOKEN "\n", 200, 1500}, {"\n", 1, 1500},
    };
    start();
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        size_t length = strlen(lines[i].piece);
        scan_pausing(lines[i].piece, 4000 * length);
        uint64_t searched = work.searched, scanned = work.scanned;
        if (searched > 4000 * lines[i].searched || scanned > 4000 * lines[i].scanned)
            tap_fail(__FILE__, __LINE__, "%zu: %llu and %llu bytes for each pause", i,
                     (unsigned long long)searched / 4000, (unsigned long long)scanned / 4000);
        scan_pausing(lines[i].piece, 8000 * length);
        if (work.searched > searched * 2 + searched / 4 || work.scanned > scanned * 2 + scanned / 4)
            tap_fail(__FILE__, __LINE__, "%zu: %.2f times the work for twice the pauses", i,
                     (double)work.scanned / (double)scanned);
    }
    stop();
}

/* The database sees each byte once, and again only what an edge needs. */
TEST(the_database_sees_a_byte_once)
{
    start();
    scan("these are words of no use\n", 8u << 20, 0);
    CHECK(work.scanned >= 8u << 20 && work.scanned < (8u << 20) + 9 * (16u << 10));
    stop();
}

TAP_MAIN()
