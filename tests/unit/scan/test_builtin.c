/* The rules that come with the program: each finds its examples and not its near misses; together
 * they find secrets as they stand in files of all kinds, and nothing in texts that have none.
 *
 * rules/found.txt, rules/once.txt and rules/innocent.txt are texts, each below a line "== what it
 * is". In the first two every secret is in guillemets, which are taken away before the text is
 * scanned. All values are invented, and keys were made for this. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "decode_help.h"
#include "engine.h"
#include "lint.h"
#include "tap.h"

#define TEXT_MAX   (8u << 20)
#define TEXT_PART  (64u << 10) /* of an example, with what is around it */
#define MARKS_MAX  32u
#define OPEN_MARK  "\xc2\xab"
#define CLOSE_MARK "\xc2\xbb"
#define MARK_SIZE  2u
/* Rules that are looked for by their whole expression, which costs time. */
#define BY_WHOLE_MAX 20u

static const struct weir__rule *looked_for;
static bool is_found;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    is_found = is_found || finding->rule == looked_for;
}

static void scan(struct weir__scanner *scanner, const char *path, unsigned depth, const char *text,
                 size_t length)
{
    struct weir__object object = {.path = path, .decode_depth = depth};
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, length), 0);
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
}

static bool finds(struct weir__scanner *scanner, const struct weir__rule *rule, const char *text)
{
    bool is_path = !rule->regex; /* then the text is one */
    looked_for = rule;
    is_found = false;
    scan(scanner, is_path ? text : "example", 0, text, is_path ? 0 : strlen(text));
    return is_found;
}

/* What may stand right before a secret: the end of an escape, and of a sequence that colours a log.
 */
static const char *const edges[] = {
    "m = \"a\\n",       "m = \"a\\t",  "m = \"a\\r",  "a \x1b[31m",    "a \x1b[01;31m\x1b[K",
    "a \x1b[38;5;208m", "a \\x1b[31m", "a \\e[0;31m", "a \\u001b[31m", "a \\033[31m",
};
#define EDGES_COUNT (sizeof(edges) / sizeof(edges[0]))

/* Rules that ask for the beginning of a line find nothing behind an edge, nor is an example of
 * several lines one text there, nor an attribute of a module (@name), which begins its line. */
static bool has_edge(const struct weir__rule *rule, const char *example)
{
    static const char *const others[] = {"password-other-name", NULL};
    for (size_t i = 0; others[i]; i++)
        if (strcmp(rule->id, others[i]) == 0)
            return false;
    return rule->regex && !strstr(rule->regex, "m)^") && !strchr(example, '\n') &&
           example[0] != '@';
}

/* The example behind each of them: in how many it is not found. */
static size_t count_unseen(struct weir__scanner *scanner, const struct weir__rule *rule,
                           const char *example)
{
    static char text[TEXT_PART];
    size_t wrong = 0;
    if (!has_edge(rule, example))
        return 0;
    for (size_t i = 0; i < EDGES_COUNT; i++) {
        int length = snprintf(text, sizeof(text), "%s%s\n", edges[i], example);
        CHECK(length > 0 && (size_t)length < sizeof(text));
        if (!finds(scanner, rule, text) && ++wrong)
            printf("# %s does not find '%.40s' behind edge %zu\n", rule->id, example, i);
    }
    return wrong;
}

static char *read_file(const char *path, size_t *ret_length)
{
    char *text = weir__base_alloc(1, TEXT_MAX);
    FILE *file = fopen(path, "re");
    CHECK(text && file);
    *ret_length = fread(text, 1, TEXT_MAX - 1, file);
    text[*ret_length] = '\0';
    fclose(file);
    return text;
}

static struct weir__rules *load(void)
{
    size_t length;
    char *text = read_file(RULES_FILE, &length);
    struct weir__rules *rules = NULL;
    struct weir__rules_error error;
    if (weir__rules_load(&rules, "weir.toml", text, length, NULL, &error) < 0)
        tap_fail(__FILE__, __LINE__, "%s", error.text);
    weir__base_free(text);
    return rules;
}

/* All built-in rules, or those of a list, and what looks for them. */
struct rig {
    struct weir__rules *rules;
    struct weir__engine *engine;
    struct weir__scanner *scanner;
};

static struct rig set_up(const char *const *only,
                         void (*finding)(void *arg, const struct weir__finding *finding), void *arg)
{
    struct rig rig = {.rules = load()};
    struct weir__engine_options options = {.only = only};
    struct weir__rules_error error = {.text = ""};
    struct weir__sink sink = {.finding = finding, .arg = arg};
    if (weir__engine_new(&rig.engine, rig.rules, &options, &error) < 0)
        tap_fail(__FILE__, __LINE__, "no engine: %s", error.text);
    CHECK_EQ(weir__scanner_new(&rig.scanner, rig.engine, &sink), 0);
    return rig;
}

static void take_down(struct rig *rig)
{
    weir__scanner_free(rig->scanner);
    weir__engine_free(rig->engine);
    weir__rules_free(rig->rules);
}

TEST(there_are_rules_for_many)
{
    struct weir__rules *rules = load();
    CHECK(rules->rules_count >= 400);
    CHECK_EQ(rules->notes.count, 0);
    for (size_t i = 0; i < rules->rules_count; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        if (rule->examples.count == 0 || rule->negatives.count == 0 || rule->provider[0] == '\0' ||
            rule->description[0] == '\0')
            tap_fail(__FILE__, __LINE__, "'%s' lacks examples, negatives, provider or description",
                     rule->id);
    }
    weir__rules_free(rules);
}

/* One rule at a time: a generic one would give way to a special one that fits as well. */
TEST(each_finds_its_examples_and_no_near_miss)
{
    struct weir__rules *rules = load();
    size_t wrong = 0;
    for (size_t i = 0; i < rules->rules_count; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        const char *only[] = {rule->id, NULL};
        struct weir__engine_options options = {.only = only};
        struct weir__rules_error error;
        struct weir__sink sink = {.finding = take};
        struct weir__engine *engine = NULL;
        struct weir__scanner *scanner = NULL;
        if (weir__engine_new(&engine, rules, &options, &error) < 0) {
            tap_fail(__FILE__, __LINE__, "%s: %s", rule->id, error.text);
            continue;
        }
        CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
        for (size_t k = 0; k < rule->examples.count; k++)
            if (!finds(scanner, rule, rule->examples.items[k]) && ++wrong)
                printf("# %s does not find its example %zu\n", rule->id, k + 1);
        for (size_t k = 0; k < rule->examples.count; k++)
            wrong += count_unseen(scanner, rule, rule->examples.items[k]);
        for (size_t k = 0; k < rule->negatives.count; k++)
            if (finds(scanner, rule, rule->negatives.items[k]) && ++wrong)
                printf("# %s finds its near miss %zu\n", rule->id, k + 1);
        weir__scanner_free(scanner);
        weir__engine_free(engine);
    }
    CHECK_EQ(wrong, 0);
    weir__rules_free(rules);
}

/* --- one secret, one finding --- */

/* Examples in which two rules each have the same bytes: what stands before a '/' of a key of WorkOS
 * is a whole one of Stripe. */
static const char *const told_twice[] = {"workos-key", NULL};

#define PLACES_MAX 16u

struct places {
    uint64_t from[PLACES_MAX], until[PLACES_MAX];
    const char *rules[PLACES_MAX];
    unsigned count;
};

static void keep_place(void *arg, const struct weir__finding *finding)
{
    struct places *places = arg;
    CHECK(places->count < PLACES_MAX);
    places->from[places->count] = finding->place.offset;
    places->until[places->count] = finding->place.offset + finding->place.length;
    places->rules[places->count++] = finding->rule->id;
}

/* Whether two findings share a byte; says so unless it is accepted. */
static bool is_repeated(const struct places *places, const char *id)
{
    for (unsigned i = 0; i < places->count; i++)
        for (unsigned k = i + 1; k < places->count; k++) {
            if (places->from[i] >= places->until[k] || places->from[k] >= places->until[i])
                continue;
            for (size_t t = 0; told_twice[t]; t++)
                if (strcmp(told_twice[t], id) == 0)
                    return false;
            printf("# an example of %s is found by %s and %s\n", id, places->rules[i],
                   places->rules[k]);
            return true;
        }
    return false;
}

/* The text as lines of base64, behind so many other bytes: a line by itself may be a secret, too.
 */
static size_t write_base64(char *out, size_t pad, const char *text)
{
    static char plain[TEXT_PART], code[2 * TEXT_PART];
    int length = snprintf(plain, sizeof(plain), "%*s%s", (int)pad, "", text);
    CHECK(length > 0 && (size_t)length < sizeof(plain));
    size_t count = encode_base64(plain, (size_t)length, base64_standard, true, code), at = 0;
    for (size_t i = 0; i < count; i++) {
        out[at++] = code[i];
        if (i % 64 == 63)
            out[at++] = '\n';
    }
    return at;
}

/* All rules at a time: what several of them know is told by one, also where it is read twice. */
TEST(examples_are_found_by_one_rule)
{
    static char lines[2 * TEXT_PART];
    struct places places;
    struct rig rig = set_up(NULL, keep_place, &places);
    const struct weir__rules *rules = rig.rules;
    size_t repeated = 0;
    for (size_t i = 0; i < rules->rules_count; i++)
        for (size_t k = 0; k < rules->rules[i].examples.count; k++) {
            const char *text = rules->rules[i].examples.items[k];
            places.count = 0;
            scan(rig.scanner, "example", WEIR__DECODE_DEPTH_DEFAULT, text, strlen(text));
            repeated += is_repeated(&places, rules->rules[i].id);
            for (size_t pad = 0; pad < 48; pad += 11) {
                places.count = 0;
                scan(rig.scanner, "example", WEIR__DECODE_DEPTH_DEFAULT, lines,
                     write_base64(lines, pad, text));
                repeated += is_repeated(&places, rules->rules[i].id);
            }
        }
    CHECK_EQ(repeated, 0);
    take_down(&rig);
}

/* --- a name without a value --- */

/* How a name that has no value stands before another that has one: what is written before the name,
 * between it and the value, and behind that. The first has no name: what is found in it needs none.
 */
static const struct {
    const char *before, *between, *behind;
} shapes[] = {
    {NULL, "CACHE_VERSION=", "\n"},
    {"", "=\nCACHE_VERSION=", "\n"},
    {"# ", "=  # ask for it\n\n# of today\nCACHE_VERSION=", "\n"},
    {"  ", ":\n  cacheVersion: ", "\n"},
    {"", " = ''\ncache_version = '", "'\n"},
    {"{\"", "\": \"\", \"cacheVersion\": \"", "\"}\n"},
};
#define SHAPES_COUNT (sizeof(shapes) / sizeof(shapes[0]))

/* Whether the example is NAME=VALUE or "NAME: VALUE", and nothing else. */
static bool is_assignment(const char *text, size_t *ret_name, const char **ret_value)
{
    static const char name_bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789_.-";
    size_t name = strspn(text, name_bytes);
    const char *value = text + name + (text[name] == ':' && text[name + 1] == ' ' ? 2 : 1);
    if (name == 0 || (text[name] != '=' && value != text + name + 2) || value[0] == '\0' ||
        value[strcspn(value, " \t\r\n\"'`<>{},;")] != '\0')
        return false;
    *ret_name = name;
    *ret_value = value;
    return true;
}

static unsigned count_in_shape(struct weir__scanner *scanner, struct places *places, size_t shape,
                               const char *text, size_t name, const char *value)
{
    struct weir__object object = {.path = "example", .decode_depth = 0};
    const char *before = shapes[shape].before;
    places->count = 0;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    if (before) {
        CHECK_EQ(weir__scanner_feed(scanner, before, strlen(before)), 0);
        CHECK_EQ(weir__scanner_feed(scanner, text, name), 0);
    }
    const char *between = shapes[shape].between, *behind = shapes[shape].behind;
    CHECK_EQ(weir__scanner_feed(scanner, between, strlen(between)), 0);
    CHECK_EQ(weir__scanner_feed(scanner, value, strlen(value)), 0);
    CHECK_EQ(weir__scanner_feed(scanner, behind, strlen(behind)), 0);
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
    return places->count;
}

/* Values that have a form of their own, behind one of several words in the same line. */
static const char *const taken[] = {"yandex-static-secret", "bitwarden-access-token", NULL};

/* Those, and examples whose name is that of a section as well, with the value below it in YAML. */
static bool is_accepted(const char *rule, size_t shape, const char *name, size_t length)
{
    static const char *const kinds[] = {"key", "token", "secret", "passw", "pwd"};
    char word[128];
    for (size_t i = 0; taken[i]; i++)
        if (strcmp(taken[i], rule) == 0)
            return true;
    if (shapes[shape].between[0] != ':' || length >= sizeof(word))
        return false;
    memcpy(word, name, length);
    word[length] = '\0';
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcasestr(word, kinds[i]))
            return false;
    return true;
}

/* Files of settings that are to be filled in: the first value is not that of all names before it.
 */
TEST(a_name_without_a_value_takes_no_other)
{
    struct places places;
    struct rig rig = set_up(NULL, keep_place, &places);
    const struct weir__rules *rules = rig.rules;
    size_t tried = 0, wrong = 0;
    for (size_t i = 0; i < rules->rules_count; i++)
        for (size_t k = 0; k < rules->rules[i].examples.count; k++) {
            const char *text = rules->rules[i].examples.items[k], *value;
            size_t name;
            if (!is_assignment(text, &name, &value) ||
                count_in_shape(rig.scanner, &places, 0, text, name, value) > 0)
                continue;
            tried++;
            for (size_t shape = 1; shape < SHAPES_COUNT; shape++)
                if (count_in_shape(rig.scanner, &places, shape, text, name, value) > 0 &&
                    !is_accepted(places.rules[0], shape, text, name) && ++wrong)
                    printf("# %s takes another's value in '%s' as of '%.*s'\n", places.rules[0],
                           shapes[shape].between, (int)name, text);
        }
    CHECK(tried > 800);
    CHECK_EQ(wrong, 0);
    take_down(&rig);
}

/* --- what is marked as checked --- */

static void count_checked(void *arg, const struct weir__finding *finding)
{
    unsigned *counts = arg;
    counts[finding->is_checked]++;
}

struct key {
    const char *rule;
    size_t length, count;
    char secret[WEIR__WIDTH_MAX];
};

static void keep_key(void *arg, const struct weir__finding *finding)
{
    struct key *key = arg;
    key->count++;
    key->rule = finding->rule->id;
    key->length = finding->secret_length;
    CHECK(key->length <= sizeof(key->secret));
    memcpy(key->secret, finding->secret, key->length);
}

/* An RSA key as OpenSSH writes it: its first lines are those of all of one size. */
static size_t write_key(char *text, size_t bytes, bool has_end, uint32_t seed)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char first[] =
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAIFwAAAAdzc2gtcn\n"
        "NhAAAAAwEAAQAACAEA";
    size_t at = (size_t)snprintf(text, 256, "-----BEGIN OPENSSH PRIVATE KEY-----\n%s", first);
    for (size_t column = 18; bytes > 0; bytes--, column++) {
        seed = seed * 1664525u + 1013904223u;
        if (column % 70 == 0)
            text[at++] = '\n';
        text[at++] = alphabet[seed >> 26];
    }
    return at + (size_t)snprintf(text + at, 64, "\n%s",
                                 has_end ? "-----END OPENSSH PRIVATE KEY-----\n" : "");
}

/* Also where its end is missing, or farther away than a match may be wide. */
TEST(two_keys_of_one_size_are_two_secrets)
{
    static const struct {
        size_t bytes;
        bool has_end;
        const char *rule;
    } cases[] = {
        {2000, true, "private-key-openssh"},     {8000, true, "private-key-openssh"},
        {12000, true, "private-key-openssh"},    {15500, true, "private-key-openssh"},
        {17000, true, "private-key-unfinished"}, {60000, true, "private-key-unfinished"},
        {300, false, "private-key-unfinished"},  {9000, false, "private-key-unfinished"},
    };
    static char text[70000];
    static struct key keys[2];
    struct rig rig = set_up(NULL, keep_key, &keys[0]), other = set_up(NULL, keep_key, &keys[1]);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        keys[0].count = keys[1].count = 0;
        scan(rig.scanner, "a", 0, text, write_key(text, cases[i].bytes, cases[i].has_end, 1));
        scan(other.scanner, "a", 0, text, write_key(text, cases[i].bytes, cases[i].has_end, 2));
        CHECK_EQ(keys[0].count, 1);
        CHECK_EQ(keys[1].count, 1);
        CHECK_STR(keys[0].rule, cases[i].rule);
        CHECK_EQ(keys[0].length, keys[1].length);
        CHECK(memcmp(keys[0].secret, keys[1].secret, keys[0].length) != 0);
    }
    take_down(&rig);
    take_down(&other);
}

TEST(what_only_looks_random_is_not_checked)
{
    static const char text[] = "api_key = \"0MEAHTnbyUaM2vNCbgE0dYSmLPhz2u9l\"\n"
                               "GITHUB_TOKEN=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\n";
    const char *only[] = {"generic-secret", "github-pat", NULL};
    unsigned counts[2] = {0};
    struct rig rig = set_up(only, count_checked, counts);
    scan(rig.scanner, "example", 0, text, strlen(text));
    CHECK_EQ(counts[false], 1);
    CHECK_EQ(counts[true], 1);
    take_down(&rig);
}

static void tell_problem(void *arg, const struct weir__rule *rule, const char *text)
{
    (void)arg;
    (void)rule;
    printf("# %s\n", text);
}

TEST(the_lint_has_nothing_to_say)
{
    struct weir__rules *rules = load();
    struct weir__lint_sink sink = {.problem = tell_problem};
    size_t problems = 0;
    CHECK_EQ(weir__rules_lint(rules, &sink, &problems), 0);
    CHECK_EQ(problems, 0);
    weir__rules_free(rules);
}

TEST(most_are_looked_for_by_rare_literals)
{
    struct rig rig = set_up(NULL, take, NULL);
    size_t by_expression = 0;
    for (size_t i = 0; i < rig.rules->rules_count; i++) {
        struct weir__rule_look look;
        CHECK(weir__engine_look(rig.engine, rig.rules->rules[i].id, &look));
        by_expression += look.is_by_expression;
    }
    if (by_expression > BY_WHOLE_MAX)
        tap_fail(__FILE__, __LINE__, "%zu rules have no rare literal", by_expression);
    take_down(&rig);
}

/* --- texts --- */

struct range {
    uint64_t from, until;
    unsigned found;  /* findings */
    char rules[120]; /* whose */
};

/* A text without its marks, and what was found in it. */
struct text {
    char name[80];
    char *bytes;
    size_t length;
    struct range marks[MARKS_MAX];
    unsigned marks_count;
    size_t beside; /* findings that no mark is at */
    bool is_told;  /* those are */
};

static void note(void *arg, const struct weir__finding *finding)
{
    struct text *text = arg;
    uint64_t from = finding->place.offset, until = from + finding->place.length;
    bool is_marked = false;
    for (unsigned i = 0; i < text->marks_count; i++)
        if (from < text->marks[i].until && until > text->marks[i].from) {
            struct range *mark = &text->marks[i];
            size_t used = strlen(mark->rules);
            is_marked = true;
            mark->found++;
            snprintf(mark->rules + used, sizeof(mark->rules) - used, " %s", finding->rule->id);
        }
    if (is_marked)
        return;
    text->beside++;
    if (text->is_told)
        printf("# %s: %s finds '%.*s'\n", text->name, finding->rule->id,
               (int)(finding->secret_length < 60 ? finding->secret_length : 60), finding->secret);
}

/* The text below a line that begins with "== "; where the next one begins, or NULL. */
static const char *take_text(const char *at, struct text *text)
{
    const char *line_end = strchr(at, '\n');
    CHECK(line_end && strncmp(at, "== ", 3) == 0);
    snprintf(text->name, sizeof(text->name), "%.*s", (int)(line_end - at - 3), at + 3);
    const char *next = strstr(line_end, "\n== "), *end = next ? next : at + strlen(at);
    text->length = text->marks_count = 0;
    for (at = line_end + 1; at < end;) {
        if (strncmp(at, OPEN_MARK, MARK_SIZE) == 0) {
            CHECK(text->marks_count < MARKS_MAX);
            text->marks[text->marks_count] = (struct range){.from = text->length};
            at += MARK_SIZE;
        } else if (strncmp(at, CLOSE_MARK, MARK_SIZE) == 0) {
            text->marks[text->marks_count++].until = text->length;
            at += MARK_SIZE;
        } else {
            text->bytes[text->length++] = *at++;
        }
    }
    return next ? next + 1 : NULL;
}

struct totals {
    size_t missed;   /* marks */
    size_t repeated; /* marks with more than one finding */
    size_t flagged;  /* texts in which something was found that is not marked */
};

static void count_marks(const struct text *text, struct totals *totals)
{
    totals->flagged += text->beside > 0;
    for (unsigned i = 0; i < text->marks_count; i++) {
        const struct range *mark = &text->marks[i];
        if (mark->found == 0 && ++totals->missed)
            printf("# %s: '%.*s' is not found\n", text->name, (int)(mark->until - mark->from),
                   text->bytes + mark->from);
        if (mark->found > 1 && ++totals->repeated)
            printf("# %s: found by%s\n", text->name, mark->rules);
    }
}

/* Scans all texts of a file. */
static struct totals scan_texts(const char *path, bool is_told)
{
    struct totals totals = {0};
    size_t length;
    char *all = read_file(path, &length);
    struct text text = {.bytes = weir__base_alloc(1, length + 1), .is_told = is_told};
    struct rig rig = set_up(NULL, note, &text);
    CHECK(text.bytes);
    for (const char *at = all; at;) {
        at = take_text(at, &text);
        text.beside = 0;
        scan(rig.scanner, "text", WEIR__DECODE_DEPTH_DEFAULT, text.bytes, text.length);
        count_marks(&text, &totals);
    }
    take_down(&rig);
    weir__base_free(text.bytes);
    weir__base_free(all);
    return totals;
}

TEST(secrets_of_all_kinds_are_found_once)
{
    struct totals totals = scan_texts(TEXTS_DIR "/found.txt", false);
    CHECK_EQ(totals.missed, 0);
    CHECK_EQ(totals.repeated, 0);
}

/* What several rules know: keys of all forms, and tokens in addresses, headers and files that hold
 * whatever signs in. */
TEST(what_several_rules_know_is_one_finding)
{
    struct totals totals = scan_texts(TEXTS_DIR "/once.txt", true);
    CHECK_EQ(totals.missed, 0);
    CHECK_EQ(totals.repeated, 0);
    CHECK_EQ(totals.flagged, 0);
}

TEST(texts_without_a_secret_are_left_alone)
{
    struct totals totals = scan_texts(TEXTS_DIR "/innocent.txt", true);
    CHECK_EQ(totals.flagged, 0);
}

TAP_MAIN()
