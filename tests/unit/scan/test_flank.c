/* What stands beside a literal, against PCRE2: of each built-in rule, and of each example of it
 * that was altered by chance and put among other text. Wherever the expression matches there is a
 * literal of the rule in that match, as near its beginning as is said, for which the rule is asked.
 * WEIR_SEED makes other texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "engine/flank.h"
#include "engine/parts.h"
#include "tap.h"

#include "banned.h"

#define RULES_MAX   (8u << 20)
#define TEXT_MAX    (16u << 10)
#define EXAMPLE_MAX (6u << 10)
#define ROUNDS      24u
#define MATCHES_MAX 8u
#define TRAINING    300u /* times that a hit is asked about, so that all machines are made */

static uint64_t state = 20261117;

static unsigned below(unsigned most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % most;
}

static struct weir__rules *rules;
static struct weir__engine *engine;
static struct weir__scanner *scanner;
static struct weir__view view;
static char *text;
static size_t length;
static uint64_t asked, spared; /* rules at hits */
static unsigned tried, missed; /* matches */

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    (void)finding;
}

static void set_up(void)
{
    char *toml = weir__base_alloc(1, RULES_MAX);
    FILE *file = fopen(RULES_FILE, "re");
    struct weir__rules_error error = {.text = ""};
    struct weir__engine_options options = {.cache = NULL};
    struct weir__sink sink = {.finding = take};
    CHECK(toml && file);
    size_t size = fread(toml, 1, RULES_MAX, file);
    (void)fclose(file);
    CHECK_EQ(weir__rules_load(&rules, "weir.toml", toml, size, NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &options, &error), 0);
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
    weir__base_free(toml);
    text = weir__base_alloc(1, TEXT_MAX);
    CHECK(text != NULL);
    if (getenv("WEIR_SEED"))
        state = strtoull(getenv("WEIR_SEED"), NULL, 10);
}

static void tear_down(void)
{
    weir__base_free(text);
    weir__scanner_free(scanner);
    weir__engine_free(engine);
    weir__rules_free(rules);
}

/* --- texts --- */

static const char *const scraps[] = {
    "",          " ",     "\n",      "x",           "A",       "password ",  "%41",
    "\\n",       "\\x3d", "\\u003d", "\x1b[01;31m", "key = ",  "secret: \"", "\"",
    "AAAAAAAA",  "0123",  "token, ", "\xc3\xb6",    "\r\n\t",  "=",          "_",
    "user: a\n", "${x:-", "export ", "\x80",        "passwd=", "https://",   "'",
};

static void add(const char *bytes, size_t count)
{
    if (count > TEXT_MAX - length)
        count = TEXT_MAX - length;
    memcpy(text + length, bytes, count);
    length += count;
}

static void add_scraps(void)
{
    for (unsigned i = below(4); i > 0; i--) {
        const char *scrap = scraps[below(sizeof(scraps) / sizeof(*scraps))];
        add(scrap, strlen(scrap));
    }
}

/* One byte of the text: another one, another case, away, or twice. */
static void alter(void)
{
    size_t at = length ? below((unsigned)length) : 0;
    if (length == 0 || length == TEXT_MAX)
        return;
    switch (below(4)) {
    case 0:
        text[at] = (char)(0x20 + below(0x5f));
        break;
    case 1:
        text[at] = (char)(text[at] ^ 0x20);
        break;
    case 2:
        memmove(text + at, text + at + 1, --length - at);
        break;
    default:
        memmove(text + at + 1, text + at, length++ - at);
        break;
    }
}

static void make_text(const char *example, unsigned round)
{
    length = 0;
    if (round > 0)
        add_scraps();
    add(example, strlen(example));
    if (round > 0)
        add_scraps();
    for (unsigned i = round % 4; i > 0; i--)
        alter();
    view = (struct weir__view){.bytes = text, .length = length, .is_begin = true, .is_end = true};
    scanner->view = &view;
}

/* --- hits --- */

static bool is_literal(const struct weir__anchor *anchor, const char *at)
{
    for (unsigned i = 0; i < anchor->length; i++) {
        char byte = anchor->is_cased ? at[i] : weir__lower(at[i]);
        if (byte != anchor->literal[i])
            return false;
    }
    return anchor->length > 0;
}

static bool is_asked(uint32_t id, uint32_t number, size_t to, unsigned times)
{
    uint64_t left = 0;
    for (unsigned i = 0; i < times; i++)
        left = weir__flank_rules(scanner, id, to, UINT64_MAX);
    return number >= WEIR__FLANK_RULES || (left >> number & 1);
}

/* Whether the rule is asked at a literal in [from, until) that ends within its reach. */
static bool is_reached(uint32_t rule, size_t from, size_t until, unsigned times)
{
    size_t reach = engine->prepared[rule].reach;
    bool has = false;
    for (uint32_t id = 0; id < engine->anchors_count; id++) {
        const struct weir__anchor *anchor = &engine->anchors[id];
        for (uint32_t number = 0; number < anchor->rules_count; number++) {
            if (engine->anchor_rules[anchor->first_rule + number] != rule)
                continue;
            for (size_t to = from + anchor->length; to <= until && to <= from + reach; to++)
                if (is_literal(anchor, text + to - anchor->length))
                    has = is_asked(id, number, to, times) || has;
        }
    }
    return has;
}

/* All matches of the rule in the text, each from where it is found first. */
static void try_matches(uint32_t rule, unsigned times)
{
    size_t from = 0;
    for (unsigned i = 0; i < MATCHES_MAX && from <= length; i++) {
        if (weir__matcher_run(&scanner->matchers[rule], text, length, from, 0, scanner->data,
                              scanner->context) <= 0)
            return;
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(scanner->data);
        size_t start = ends[0], until = ends[1];
        tried++;
        if (!is_reached(rule, start, until, times)) {
            missed++;
            printf("# %s: not asked in: %.*s\n", engine->prepared[rule].rule->id,
                   (int)(until - start), text + start);
        }
        from = start + 1;
    }
}

/* What is spared: literals of the rule where it does not match. */
static void count_spared(uint32_t rule)
{
    for (uint32_t id = 0; id < engine->anchors_count; id++) {
        const struct weir__anchor *anchor = &engine->anchors[id];
        if (anchor->rules_count == 0 || engine->anchor_rules[anchor->first_rule] != rule)
            continue;
        for (size_t to = anchor->length; to <= length; to++) {
            if (!is_literal(anchor, text + to - anchor->length))
                continue;
            uint64_t left = weir__flank_rules(scanner, id, to, UINT64_MAX);
            uint32_t count = anchor->rules_count < 64 ? anchor->rules_count : 64;
            asked += count;
            spared += count - (unsigned)__builtin_popcountll(left);
        }
    }
}

TEST(every_match_has_a_literal_that_is_asked)
{
    set_up();
    pcre2_set_offset_limit(scanner->context, PCRE2_UNSET);
    for (uint32_t rule = 0; rule < engine->count; rule++) {
        const struct weir__prepared *prepared = &engine->prepared[rule];
        if (!prepared->is_by_literals)
            continue;
        for (size_t i = 0; i < prepared->rule->examples.count; i++) {
            const char *example = prepared->rule->examples.items[i];
            for (unsigned round = 0; round < ROUNDS && strlen(example) < EXAMPLE_MAX; round++) {
                scanner->flank_room->memory = 0; /* the limit is not what is tried here */
                make_text(example, round);
                try_matches(rule, round == 0 ? TRAINING : 1);
                if (round > 0)
                    count_spared(rule);
            }
        }
    }
    printf("# %u matches; %llu of %llu rules at literals are spared\n", tried,
           (unsigned long long)spared, (unsigned long long)asked);
    CHECK_EQ(missed, 0u);
    CHECK(tried > 20000);
    CHECK(spared > asked / 12);
    tear_down();
}

/* Beyond its limits a machine says less, and not something else. */
TEST(beyond_its_limits_a_machine_says_less)
{
    static struct weir__flank_room room;
    const char *const texts[] = {"key=[a-z]{4}[0-9]{4}", "key=(?:[a-z]{3,40};){30,60}#", NULL};
    const struct weir__flank_literal literal = {"key=", 4, true};
    static const char yes[] = "abcd1234", no[] = "abc1234;";
    size_t read = 0;
    memset(&room, 0, sizeof(room));
    struct weir__flank *flank = weir__flank_new(&room, texts, 3, &literal, false);
    CHECK(flank != NULL);
    CHECK_EQ(weir__flank_ask(flank, &room, 7, yes, 8, &read), UINT64_C(5));
    CHECK_EQ(weir__flank_ask(flank, &room, 7, no, 8, &read), UINT64_C(4));
    CHECK_EQ(weir__flank_ask(flank, &room, 3, no, 8, &read), UINT64_C(0));
    room.memory = WEIR__FLANK_MEMORY; /* the states that are there are used, and no others made */
    CHECK_EQ(weir__flank_ask(flank, &room, 7, no, 8, &read), UINT64_C(4));
    CHECK(weir__flank_new(&room, texts, 3, &literal, true) == NULL);
    weir__flank_free(flank);
    weir__flank_free(NULL);
}

TAP_MAIN()
