/* rules: every form of gitleaks' file, ours, what is refused in which words, extending, contexts as
 * Hyperscan and PCRE2 take them, and the lint. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tap.h"

#include "lint.h"
#include "rules_pack.h"

#include <hs/hs.h>
#include <math.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#include "alloc.h"
#include "binding.h"
#include "buffer.h"
#include "context.h"

/* Files that can be extended. */
struct library {
    struct {
        const char *path; /* NULL: the built-in rules */
        const char *text;
    } files[8];
    size_t count;
    int fails; /* instead of answering */
};

static int read_library(void *arg, const char *path, char **ret_text, size_t *ret_length)
{
    const struct library *library = arg;
    if (library->fails)
        return library->fails;
    for (size_t i = 0; i < library->count; i++) {
        const char *known = library->files[i].path, *text = library->files[i].text;
        if (known != path && (!known || !path || strcmp(known, path) != 0))
            continue;
        *ret_length = strlen(text);
        *ret_text = weir__base_alloc(*ret_length + 1, 1);
        if (!*ret_text)
            return -WEIR_E_NO_MEMORY;
        memcpy(*ret_text, text, *ret_length);
        return 0;
    }
    return -WEIR_E_NOT_FOUND;
}

static int load_with(struct library *library, const char *text, struct weir__rules **ret_rules,
                     struct weir__rules_error *error)
{
    struct weir__rules_reader reader = {.read = read_library, .arg = library};
    error->text[0] = '\0';
    return weir__rules_load(ret_rules, "r.toml", text, strlen(text), library ? &reader : NULL,
                            error);
}

static struct weir__rules *load_extended(struct library *library, const char *text)
{
    struct weir__rules *rules = NULL;
    struct weir__rules_error error;
    if (load_with(library, text, &rules, &error) != 0)
        tap_fail(__FILE__, __LINE__, "%s", error.text);
    return rules;
}

static struct weir__rules *load(const char *text)
{
    return load_extended(NULL, text);
}

/* A text that loads without a note. */
static struct weir__rules *load_clean(const char *text)
{
    struct weir__rules *rules = load(text);
    if (rules->notes.count > 0)
        tap_fail(__FILE__, __LINE__, "%s", rules->notes.items[0]);
    return rules;
}

static void has_strings(const struct weir__strings *strings, size_t count,
                        const char *const *wanted)
{
    CHECK_EQ(strings->count, count);
    for (size_t i = 0; i < count; i++)
        CHECK_STR(strings->items[i], wanted[i]);
}

#define HAS_STRINGS(strings, ...)                                                                  \
    has_strings(&(strings), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                \
                (const char *[]){__VA_ARGS__})

/* --- what gitleaks has --- */

TEST(a_rule_has_every_field)
{
    struct weir__rules *rules = load_clean("title = 'T'\n"
                                           "description = 'D'\n"
                                           "minVersion = 'v8.25.0'\n"
                                           "\n"
                                           "[[rules]]\n"
                                           "id = 'a'\n"
                                           "description = 'A rule'\n"
                                           "regex = '''x(\\d+)y(\\w+)'''\n"
                                           "path = '''\\.py$'''\n"
                                           "secretGroup = 2\n"
                                           "entropy = 3.5\n"
                                           "keywords = ['X', 'yZ']\n"
                                           "tags = ['t', 'U']\n"
                                           "skipReport = true\n"
                                           "[[rules]]\n"
                                           "id = 'b'\n"
                                           "path = 'p'\n"
                                           "entropy = 3\n");
    CHECK_STR(rules->title, "T");
    CHECK_EQ(rules->rules_count, 2);
    HAS_STRINGS(rules->files, "r.toml");
    const struct weir__rule *a = &rules->rules[0], *b = &rules->rules[1];
    CHECK_STR(a->id, "a");
    CHECK_STR(a->description, "A rule");
    CHECK_STR(a->regex, "x(\\d+)y(\\w+)");
    CHECK_STR(a->path, "\\.py$");
    CHECK_EQ(a->secret_group, 2);
    CHECK(a->has_secret_group);
    CHECK(fabs(a->entropy - 3.5) < 1e-9);
    HAS_STRINGS(a->keywords, "x", "yz");
    HAS_STRINGS(a->tags, "t", "U");
    CHECK(a->is_hidden);
    CHECK_STR(a->file, "r.toml");
    CHECK_EQ(a->line, 5);
    CHECK_STR(a->provider, "");
    CHECK(!a->check);
    CHECK_EQ(a->max_width, 0);
    CHECK(!b->regex);
    CHECK_STR(b->description, "");
    CHECK(!b->has_secret_group);
    CHECK(!b->is_hidden);
    CHECK(fabs(b->entropy - 3) < 1e-9);
    CHECK_EQ(b->line, 15);
    CHECK(weir__rules_find(rules, "b") == b);
    CHECK(!weir__rules_find(rules, "c"));
    weir__rules_free(rules);
}

TEST(our_fields)
{
    struct weir__rules *rules = load_clean("[[rules]]\n"
                                           "id = 'a'\n"
                                           "regex = 'x'\n"
                                           "provider = 'Example'\n"
                                           "check = 'crc'\n"
                                           "examples = ['x,1', 'x2']\n"
                                           "negatives = ['y']\n"
                                           "givesWay = true\n"
                                           "named = true\n"
                                           "max-width = 16384\n");
    const struct weir__rule *rule = &rules->rules[0];
    CHECK(rule->gives_way && rule->is_named && !rule->is_bound);
    CHECK_STR(rule->provider, "Example");
    CHECK_STR(rule->check, "crc");
    HAS_STRINGS(rule->examples, "x,1", "x2");
    HAS_STRINGS(rule->negatives, "y");
    CHECK_EQ(rule->max_width, 16384);
    weir__rules_free(rules);
}

TEST(allow_lists_of_every_form)
{
    struct weir__rules *rules = load_clean("[allowlist]\n"
                                           "description = 'old'\n"
                                           "paths = ['a/', 'b,c']\n"
                                           "[[allowlists]]\n"
                                           "condition = 'AND'\n"
                                           "regexTarget = 'line'\n"
                                           "regexes = ['r{1,2}']\n"
                                           "stopwords = ['Stop']\n"
                                           "commits = ['abc123']\n"
                                           "targetRules = ['a']\n"
                                           "[[rules]]\n"
                                           "id = 'a'\n"
                                           "regex = 'x'\n"
                                           "[rules.allowlist]\n"
                                           "regexTarget = 'match'\n"
                                           "regexes = ['m']\n"
                                           "[[rules]]\n"
                                           "id = 'b'\n"
                                           "regex = 'x'\n"
                                           "[[rules.allowlists]]\n"
                                           "condition = 'or'\n"
                                           "regexTarget = 'secret'\n"
                                           "stopwords = ['one']\n"
                                           "[[rules.allowlists]]\n"
                                           "condition = '&&'\n"
                                           "paths = ['two']\n"
                                           "[[rules.allowlists]]\n"
                                           "condition = '||'\n"
                                           "paths = ['three']\n");
    CHECK_EQ(rules->allows_count, 2);
    const struct weir__allow *old = &rules->allows[0], *new = &rules->allows[1];
    CHECK_STR(old->description, "old");
    CHECK(!old->is_and);
    CHECK_EQ(old->target, WEIR__ALLOW_SECRET);
    HAS_STRINGS(old->paths, "a/", "b,c");
    CHECK_EQ(old->line, 1);
    CHECK_STR(new->description, "");
    CHECK(new->is_and);
    CHECK_EQ(new->target, WEIR__ALLOW_LINE);
    HAS_STRINGS(new->regexes, "r{1,2}");
    HAS_STRINGS(new->stopwords, "Stop");
    HAS_STRINGS(new->commits, "abc123");
    HAS_STRINGS(new->rules, "a");
    CHECK_EQ(new->line, 4);
    const struct weir__rule *a = &rules->rules[0], *b = &rules->rules[1];
    CHECK_EQ(a->allows_count, 1);
    CHECK_EQ(a->allows[0].target, WEIR__ALLOW_MATCH);
    CHECK_EQ(b->allows_count, 3);
    CHECK_EQ(b->allows[0].target, WEIR__ALLOW_SECRET);
    CHECK(!b->allows[0].is_and);
    CHECK(b->allows[1].is_and);
    CHECK(!b->allows[2].is_and);
    weir__rules_free(rules);
}

TEST(required_rules)
{
    struct weir__rules *rules = load_clean("[[rules]]\n"
                                           "id = 'a'\n"
                                           "regex = 'x'\n"
                                           "[[rules.required]]\n"
                                           "id = 'b'\n"
                                           "withinLines = 0\n"
                                           "[[rules.required]]\n"
                                           "id = 'c'\n"
                                           "withinColumns = 80\n"
                                           "[[rules]]\n"
                                           "id = 'b'\n"
                                           "regex = 'x'\n"
                                           "skipReport = true\n"
                                           "[[rules]]\n"
                                           "id = 'c'\n"
                                           "regex = 'x'\n");
    const struct weir__rule *a = &rules->rules[0];
    CHECK_EQ(a->required_count, 2);
    CHECK_STR(a->required[0].rule, "b");
    CHECK_EQ(a->required[0].within_lines, 0);
    CHECK_EQ(a->required[0].within_columns, -1);
    CHECK_STR(a->required[1].rule, "c");
    CHECK_EQ(a->required[1].within_lines, -1);
    CHECK_EQ(a->required[1].within_columns, 80);
    weir__rules_free(rules);
}

/* As gitleaks takes them: keys in any case, one where many could be. */
TEST(loose_forms)
{
    struct weir__rules *rules = load_clean("TITLE = 'T'\n"
                                           "[rules]\n"
                                           "ID = 'a'\n"
                                           "Regex = 'x'\n"
                                           "keyWords = 'One,two'\n"
                                           "secretgroup = 1\n"
                                           "[rules.allowList]\n"
                                           "stopWords = 'p,q'\n"
                                           "regexes = 'r{1,2}'\n"
                                           "[rules.required]\n"
                                           "id = 'a'\n");
    const struct weir__rule *rule = &rules->rules[0];
    CHECK_STR(rules->title, "T");
    HAS_STRINGS(rule->keywords, "one", "two");
    CHECK_EQ(rule->secret_group, 1);
    HAS_STRINGS(rule->allows[0].stopwords, "p", "q");
    HAS_STRINGS(rule->allows[0].regexes, "r{1,2}");
    CHECK_EQ(rule->required_count, 1);
    weir__rules_free(rules);
    rules = load_clean("rules = [{id = 'a', regex = 'x'}, {id = 'b', path = 'y'}]");
    CHECK_EQ(rules->rules_count, 2);
    weir__rules_free(rules);
    rules = load_clean("");
    CHECK_EQ(rules->rules_count, 0);
    CHECK_STR(rules->title, "");
    weir__rules_free(rules);
    weir__rules_free(NULL);
}

/* --- what is noted --- */

TEST(what_has_no_effect_is_noted)
{
    static const struct {
        const char *text, *note;
        size_t rules_count;
    } cases[] = {
        {"titel = 'T'", "r.toml:1: 'titel' is not known and was passed over; did you mean 'title'?",
         0},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nkeyword = ['x']\n",
         "r.toml:4: rule 'a': 'keyword' is not known and was passed over; did you mean "
         "'keywords'?",
         1},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nzzzzzzz = 1\n",
         "r.toml:4: rule 'a': 'zzzzzzz' is not known and was passed over", 1},
        {"[[rules]]\n", "r.toml:1: an empty rule was passed over", 0},
        {"[[rules]]\nid = 'a'\nregex = 'x'\n[rules.allowlist]\ndescription = 'd'\n",
         "r.toml:4: rule 'a': an allow list without commits, paths, regexes and stopwords was "
         "passed over",
         1},
        {"[allowlist]\nstopwords = ['', 'x']\n",
         "r.toml:2: 'stopwords' has an empty string, which was passed over", 0},
        {"[[rules]]\nid = 'a'\nregex = 'x'\n[[rules]]\nid = 'a'\nregex = 'y'\n",
         "r.toml:4: rule 'a' replaces the one of the same id in line 1", 1},
        {"[[rules]]\nid = 'a'\nregex = 'x'\n[[rules.required]]\nid = 'b'\n",
         "r.toml:1: rule 'a' requires 'b', which is not there: it never reports anything", 1},
        {"[[allowlists]]\ntargetRules = ['b']\npaths = ['p']\n",
         "r.toml: an allow list is for rule 'b', which is not there", 0},
        {"[[rules]]\nid = 'a'\nregex = 'x'\n[rules.allowlist]\npaths = ['p']\ntargetRules = ['a']",
         "r.toml:6: rule 'a': 'targetRules' is not known and was passed over", 1},
        {"[extend]\nurl = 'https://example.org/r.toml'\n",
         "r.toml:1: [extend]: nothing is fetched, so 'url' was passed over; save it as a file and "
         "name that in 'path'",
         0},
        {"\"a\\nb\" = 1", "r.toml:1: 'a\\nb' is not known and was passed over", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir__rules *rules = load(cases[i].text);
        CHECK_EQ(rules->notes.count, 1);
        CHECK_STR(rules->notes.items[0], cases[i].note);
        CHECK_EQ(rules->rules_count, cases[i].rules_count);
        weir__rules_free(rules);
    }
}

TEST(of_rules_with_one_id_the_last_stays)
{
    struct weir__rules *rules = load("[[rules]]\nid = 'a'\nregex = 'x'\n"
                                     "[[rules]]\nid = 'b'\nregex = 'y'\n"
                                     "[[rules]]\nid = 'a'\nregex = 'z'\n");
    CHECK_EQ(rules->rules_count, 2);
    CHECK_STR(rules->rules[0].regex, "z");
    CHECK_STR(rules->rules[1].id, "b");
    weir__rules_free(rules);
}

TEST(notes_are_counted_beyond_their_number)
{
    struct weir__buffer text;
    weir__buffer_init(&text, 1 << 20);
    for (unsigned i = 0; i < WEIR__NOTES_MAX + 3; i++)
        CHECK_EQ(weir__buffer_printf(&text, "zz%u = 1\n", i), 0);
    struct weir__rules *rules = load(weir__buffer_text(&text));
    CHECK_EQ(rules->notes.count, WEIR__NOTES_MAX + 1);
    CHECK_STR(rules->notes.items[WEIR__NOTES_MAX], "and 3 more like these");
    weir__rules_free(rules);
    weir__buffer_fini(&text);
}

/* --- what is refused --- */

TEST(what_is_wrong_is_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a = ", "r.toml:1: not TOML: key-value pair: encountered end-of-file"},
        {"title = 1", "r.toml:1: 'title' is a whole number, and must be a string"},
        {"rules = 1", "r.toml:1: 'rules' must be tables: write [[rules]] above each"},
        {"rules = [1]", "r.toml:1: 'rules' must be tables: write [[rules]] above each"},
        {"extend = 'x'", "r.toml:1: 'extend' must be a table: write [extend]"},
        {"[extend]\nuseDefault = 'yes'",
         "r.toml:2: [extend]: 'useDefault' is a string, and must be true or false"},
        {"[extend]\nuseDefault = true\npath = 'x'",
         "r.toml:1: [extend]: has 'path' and 'useDefault'; one file extends one other, which can "
         "extend the next"},
        {"[extend]\nuseDefault = true", "r.toml:1: [extend]: nothing can be extended here"},
        {"allowlists = ['x']", "r.toml:1: 'allowlists' must be tables: write [[allowlists]] above "
                               "each"},
        {"[allowlist]\ncondition = 'XOR'\npaths = ['x']",
         "r.toml:1: 'condition' is 'XOR', and must be AND or OR"},
        {"[allowlist]\nregexTarget = 'file'\npaths = ['x']",
         "r.toml:1: 'regexTarget' is 'file', and must be secret, match or line"},
        {"[allowlist]\npaths = [1]",
         "r.toml:2: 'paths' is a list, and must be a list of strings and nothing else"},
        {"[allowlist]\npaths = true",
         "r.toml:2: 'paths' is true or false, and must be a list of strings"},
        {"[[rules]]\nregex = 'x'", "r.toml:1: a rule without an id; add id = \"...\""},
        {"[[rules]]\nid = 7", "r.toml:2: rule '': 'id' is a whole number, and must be a string"},
        {"[[rules]]\nid = 'a'", "r.toml:1: rule 'a': has neither 'regex' nor 'path'"},
        {"[[rules]]\nid = 'a'\nregex = ''", "r.toml:1: rule 'a': has neither 'regex' nor 'path'"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nentropy = 'high'",
         "r.toml:4: rule 'a': 'entropy' is a string, and must be a number"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nentropy = -1",
         "r.toml:4: rule 'a': 'entropy' is -1, and must be from 0 to 8"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nentropy = nan",
         "r.toml:4: rule 'a': 'entropy' is nan, and must be from 0 to 8"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nentropy = 8.5",
         "r.toml:4: rule 'a': 'entropy' is 8.5, and must be from 0 to 8"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nsecretGroup = 1.5",
         "r.toml:4: rule 'a': 'secretGroup' is a number, and must be a whole number"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nsecretGroup = -1",
         "r.toml:4: rule 'a': 'secretGroup' is -1, and must be from 0 to 65535"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nmax-width = 16385",
         "r.toml:4: rule 'a': 'max-width' is 16385, and must be from 0 to 16384"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\ntags = 2026-11-15",
         "r.toml:4: rule 'a': 'tags' is a time, and must be a list of strings"},
        {"[[rules]]\nid = 'a'\nregex = {}\n",
         "r.toml:3: rule 'a': 'regex' is a table, and must be a string"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nrequired = 'b'",
         "r.toml:4: rule 'a': 'rules.required' must be tables: write [[rules.required]] above "
         "each"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\n[[rules.required]]\nwithinLines = 3",
         "r.toml:4: rule 'a': a [[rules.required]] without an id"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\n[[rules.required]]\nid = 'b'\nwithinLines = -3",
         "r.toml:6: rule 'a': 'withinLines' is -3, and must be from 0 to 2147483647"},
        {"[[rules]]\nid = 'a'\nregex = 'x'\nvalue = 'y'",
         "r.toml:1: rule 'a': has 'regex' and 'context' or 'value'; one says it all"},
        {"[[rules]]\nid = 'a'\nvalue = 'y'",
         "r.toml:1: rule 'a': has 'value' or 'names' and no 'context'"},
        {"[[rules]]\nid = 'a'\ncontext = ['x']",
         "r.toml:1: rule 'a': has 'context' and no 'value'"},
        {"[[rules]]\nid = 'a'\ncontext = ['x', '  ']\nvalue = 'y'",
         "r.toml:1: rule 'a': has a word of nothing but blanks"},
        {"[[rules]]\nid = \"a\\u001b\"", "r.toml:1: rule 'a\\x1b': has neither 'regex' nor 'path'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir__rules *rules = NULL;
        struct weir__rules_error error;
        CHECK_EQ(load_with(NULL, cases[i].text, &rules, &error), -WEIR_E_INVALID);
        CHECK_STR(error.text, cases[i].message);
        CHECK(!rules);
    }
}

/* count times "[[rules]]", each with an id of its own. */
static struct weir__rules *load_many(unsigned count, int wanted, const char *message)
{
    struct weir__buffer text;
    struct weir__rules *rules = NULL;
    struct weir__rules_error error;
    weir__buffer_init(&text, 1 << 20);
    for (unsigned i = 0; i < count; i++)
        CHECK_EQ(weir__buffer_printf(&text, "[[rules]]\nid = 'r%u'\nregex = 'x'\n", i), 0);
    CHECK_EQ(load_with(NULL, weir__buffer_text(&text), &rules, &error), wanted);
    CHECK_STR(error.text, message);
    weir__buffer_fini(&text);
    return rules;
}

TEST(limits)
{
    struct weir__rules *rules = load_many(WEIR__RULES_MAX, 0, "");
    CHECK_EQ(rules->rules_count, WEIR__RULES_MAX);
    CHECK(weir__rules_find(rules, "r4095") == &rules->rules[4095]);
    weir__rules_free(rules);
    CHECK(!load_many(WEIR__RULES_MAX + 1, -WEIR_E_INVALID, "r.toml: more than 4096 rules"));

    struct weir__rules_error error;
    struct weir__buffer text;
    rules = NULL;
    weir__buffer_init(&text, 1 << 20);
    CHECK_EQ(weir__buffer_puts(&text, "[[rules]]\nid='a'\nregex='x'\n"), 0);
    for (unsigned i = 0; i <= WEIR__REQUIRED_MAX; i++)
        CHECK_EQ(weir__buffer_puts(&text, "[[rules.required]]\nid='a'\n"), 0);
    CHECK_EQ(load_with(NULL, weir__buffer_text(&text), &rules, &error), -WEIR_E_INVALID);
    CHECK_STR(error.text, "r.toml:4: rule 'a': requires more than 64 others");

    weir__buffer_truncate(&text, 0);
    CHECK_EQ(weir__buffer_puts(&text, "[[rules]]\nid='a'\nvalue='x'\ncontext=["), 0);
    for (unsigned i = 0; i <= WEIR__CONTEXT_WORDS_MAX; i++)
        CHECK_EQ(weir__buffer_puts(&text, "'a',"), 0);
    CHECK_EQ(weir__buffer_puts(&text, "]"), 0);
    CHECK_EQ(load_with(NULL, weir__buffer_text(&text), &rules, &error), -WEIR_E_INVALID);
    CHECK_STR(error.text, "r.toml:1: rule 'a': has more than 64 words");

    weir__buffer_truncate(&text, 0);
    CHECK_EQ(weir__buffer_printf(&text, "[[rules]]\nid='a'\ncontext=['b']\nvalue='%08192u'", 0u),
             0);
    CHECK_EQ(load_with(NULL, weir__buffer_text(&text), &rules, &error), -WEIR_E_INVALID);
    CHECK_STR(error.text, "r.toml:1: rule 'a': its expression has more than 8192 bytes");

    weir__buffer_truncate(&text, 0);
    CHECK_EQ(weir__buffer_printf(&text, "[[rules]]\nregex='x'\nid='%0256u'", 0u), 0);
    CHECK_EQ(load_with(NULL, weir__buffer_text(&text), &rules, &error), -WEIR_E_INVALID);
    CHECK_HAS(error.text, "...': the id has more than 255 bytes");
    weir__buffer_fini(&text);
}

/* --- extending --- */

static const char base_text[] = "title = 'base'\n"
                                "[allowlist]\n"
                                "paths = ['base']\n"
                                "[[rules]]\n"
                                "id = 'one'\n"
                                "description = 'base one'\n"
                                "regex = 'one(1)'\n"
                                "secretGroup = 1\n"
                                "entropy = 2\n"
                                "keywords = ['k1']\n"
                                "tags = ['t1']\n"
                                "examples = ['one1']\n"
                                "[rules.allowlist]\n"
                                "paths = ['p1']\n"
                                "[[rules]]\n"
                                "id = 'two'\n"
                                "path = 'two'\n"
                                "[[rules]]\n"
                                "id = 'three'\n"
                                "context = ['three']\n"
                                "names = ['key']\n"
                                "value = '[0-9]{3}'\n"
                                "examples = ['three key=123']\n";

static struct library base_library(void)
{
    return (struct library){{{"base.toml", base_text}, {NULL, base_text}}, 2, 0};
}

TEST(what_is_extended_is_there)
{
    struct library library = base_library();
    static const char *const hows[] = {"path = 'base.toml'", "useDefault = true"};
    static const char *const names[] = {"base.toml", "built-in"};
    for (size_t i = 0; i < 2; i++) {
        char text[200];
        snprintf(
            text, sizeof(text),
            "[extend]\n%s\n[allowlist]\npaths = ['own']\n[[rules]]\nid = 'four'\nregex = 'y'\n",
            hows[i]);
        struct weir__rules *rules = load_extended(&library, text);
        CHECK_EQ(rules->notes.count, 0);
        CHECK_STR(rules->title, "");
        HAS_STRINGS(rules->files, "r.toml", names[i]);
        CHECK_EQ(rules->rules_count, 4);
        CHECK_STR(rules->rules[0].id, "one");
        CHECK_STR(rules->rules[0].file, names[i]);
        CHECK_STR(rules->rules[3].id, "four");
        CHECK_STR(rules->rules[3].file, "r.toml");
        CHECK_EQ(rules->allows_count, 2);
        CHECK_STR(rules->allows[0].paths.items[0], "base");
        CHECK_STR(rules->allows[1].paths.items[0], "own");
        weir__rules_free(rules);
    }
}

TEST(fields_that_are_given_replace_and_lists_are_added)
{
    struct library library = base_library();
    struct weir__rules *rules = load_extended(&library, "[extend]\n"
                                                        "path = 'base.toml'\n"
                                                        "[[rules]]\n"
                                                        "id = 'one'\n"
                                                        "entropy = 4.5\n"
                                                        "keywords = ['k2']\n"
                                                        "tags = ['t2']\n"
                                                        "[[rules.allowlists]]\n"
                                                        "stopwords = ['s2']\n"
                                                        "[[rules]]\n"
                                                        "id = 'two'\n"
                                                        "regex = 'more'\n"
                                                        "description = 'two of ours'\n"
                                                        "skipReport = true\n"
                                                        "[[rules.required]]\n"
                                                        "id = 'one'\n");
    CHECK_EQ(rules->notes.count, 0);
    CHECK_EQ(rules->rules_count, 3);
    const struct weir__rule *one = &rules->rules[0], *two = &rules->rules[1];
    CHECK_STR(one->description, "base one");
    CHECK_STR(one->regex, "one(1)");
    CHECK_EQ(one->secret_group, 1);
    CHECK(fabs(one->entropy - 4.5) < 1e-9);
    HAS_STRINGS(one->keywords, "k1", "k2");
    HAS_STRINGS(one->tags, "t1", "t2");
    HAS_STRINGS(one->examples, "one1");
    CHECK_EQ(one->allows_count, 2);
    HAS_STRINGS(one->allows[0].paths, "p1");
    HAS_STRINGS(one->allows[1].stopwords, "s2");
    CHECK_STR(one->file, "r.toml");
    CHECK_STR(two->regex, "more");
    CHECK_STR(two->path, "two");
    CHECK_STR(two->description, "two of ours");
    CHECK(two->is_hidden);
    CHECK_EQ(two->required_count, 1);
    weir__rules_free(rules);
}

TEST(an_expression_that_is_replaced_takes_its_examples_with_it)
{
    struct library library = base_library();
    struct weir__rules *rules = load_extended(&library, "[extend]\n"
                                                        "path = 'base.toml'\n"
                                                        "[[rules]]\n"
                                                        "id = 'one'\n"
                                                        "regex = 'uno(2)'\n"
                                                        "[[rules]]\n"
                                                        "id = 'three'\n"
                                                        "regex = 'tres'\n");
    CHECK_STR(rules->rules[0].regex, "uno(2)");
    CHECK_EQ(rules->rules[0].examples.count, 0);
    HAS_STRINGS(rules->rules[0].keywords, "k1");
    CHECK_STR(rules->rules[2].regex, "tres");
    CHECK_EQ(rules->rules[2].keywords.count, 0);
    CHECK(!rules->rules[2].has_secret_group);
    weir__rules_free(rules);
}

TEST(a_context_is_changed_piece_by_piece)
{
    struct library library = base_library();
    struct weir__rules *rules = load_extended(&library, "[extend]\n"
                                                        "path = 'base.toml'\n"
                                                        "[[rules]]\n"
                                                        "id = 'three'\n"
                                                        "value = '[0-9]{4}'\n"
                                                        "[[rules]]\n"
                                                        "id = 'one'\n"
                                                        "context = ['uno']\n"
                                                        "value = '[0-9]'\n");
    const struct weir__rule *one = &rules->rules[0], *three = &rules->rules[2];
    CHECK_HAS(three->regex, "three)");
    CHECK_HAS(three->regex, "(?i:key)");
    CHECK_HAS(three->regex, "([0-9]{4})");
    HAS_STRINGS(three->keywords, "three");
    CHECK_EQ(three->examples.count, 0);
    CHECK_HAS(one->regex, "uno)");
    weir__rules_free(rules);
}

TEST(rules_are_disabled_and_changes_of_nothing_are_passed_over)
{
    struct library library = base_library();
    struct weir__rules *rules = load_extended(&library, "[extend]\n"
                                                        "useDefault = true\n"
                                                        "disabledRules = ['two', 'nine']\n"
                                                        "[[rules]]\n"
                                                        "id = 'generic'\n"
                                                        "[rules.allowlist]\n"
                                                        "paths = ['x']\n"
                                                        "[[rules]]\n"
                                                        "id = 'ten'\n"
                                                        "regex = 'x'\n"
                                                        "[[rules.required]]\n"
                                                        "id = 'generic'\n");
    CHECK_EQ(rules->rules_count, 3);
    CHECK(!weir__rules_find(rules, "two"));
    HAS_STRINGS(rules->notes, "r.toml:1: [extend]: there is no rule 'nine' to be disabled",
                "r.toml:4: rule 'generic' changes a rule that is not there, and was passed over",
                "r.toml:8: rule 'ten' requires 'generic', which is not there: it never reports "
                "anything");
    weir__rules_free(rules);
}

/* --- other names --- */

static const char named_text[] = "[[rules]]\n"
                                 "id = 'sole'\n"
                                 "regex = 'sole(1)'\n"
                                 "[[rules]]\n"
                                 "id = 'both'\n"
                                 "regex = 'both1'\n"
                                 "keywords = ['both']\n"
                                 "[[rules]]\n"
                                 "id = 'broad'\n"
                                 "regex = 'broad1'\n"
                                 "[aliases]\n"
                                 "theirs = ['sole', 'both', '?broad']\n"
                                 "other = ['both']\n"
                                 "loose = ['?broad']\n";

static struct weir__rules *load_over_named(const char *text)
{
    struct library library = {{{NULL, named_text}}, 1, 0};
    char whole[1024];
    snprintf(whole, sizeof(whole), "[extend]\nuseDefault = true\n%s", text);
    return load_extended(&library, whole);
}

TEST(another_name_stands_for_rules)
{
    struct weir__rules *rules = load_clean(named_text);
    const struct weir__rule *sole = &rules->rules[0], *both = &rules->rules[1];
    HAS_STRINGS(sole->aliases, "theirs");
    CHECK_EQ(both->aliases.count, 2);
    CHECK_EQ(rules->rules[2].aliases.count, 0);
    CHECK_EQ(rules->rules[2].known.count, 2);
    CHECK(weir__rule_is_named(sole, "sole") && weir__rule_is_named(sole, "theirs"));
    CHECK(!weir__rule_is_named(sole, "other") && !weir__rule_is_named(&rules->rules[2], "loose"));
    CHECK(weir__rules_next(rules, "theirs", NULL) == sole);
    CHECK(weir__rules_next(rules, "theirs", sole) == both);
    CHECK(!weir__rules_next(rules, "theirs", both));
    CHECK(!weir__rules_find(rules, "theirs"));
    weir__rules_free(rules);
}

TEST(a_change_under_another_name_is_of_each)
{
    struct weir__rules *rules = load_over_named("[[rules]]\n"
                                                "id = 'theirs'\n"
                                                "entropy = 3.5\n"
                                                "secretGroup = 7\n"
                                                "keywords = ['k']\n"
                                                "[[rules.allowlists]]\n"
                                                "paths = ['p']\n"
                                                "[[allowlists]]\n"
                                                "targetRules = ['theirs']\n"
                                                "paths = ['q']\n");
    CHECK_EQ(rules->notes.count, 0);
    CHECK_EQ(rules->rules_count, 3);
    for (size_t i = 0; i < 2; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        CHECK_STR(rule->id, i == 0 ? "sole" : "both");
        CHECK(fabs(rule->entropy - 3.5) < 1e-9);
        CHECK(!rule->has_secret_group);
        CHECK_EQ(rule->allows_count, 1);
        CHECK_EQ(rule->aliases.count, i + 1);
    }
    CHECK_EQ(rules->rules[0].keywords.count, 0); /* it would be a condition */
    HAS_STRINGS(rules->rules[1].keywords, "both", "k");
    CHECK_EQ(rules->rules[2].allows_count, 0);
    weir__rules_free(rules);
}

TEST(a_rule_under_another_name_takes_the_place_of_those_that_stand_for_it_alone)
{
    struct weir__rules *rules = load_over_named("[[rules]]\nid = 'theirs'\nregex = 'mine'\n");
    CHECK_EQ(rules->notes.count, 0);
    CHECK_EQ(rules->rules_count, 3);
    CHECK(!weir__rules_find(rules, "sole"));
    CHECK(weir__rules_find(rules, "both")->gives_way);
    CHECK(!weir__rules_find(rules, "broad")->gives_way);
    CHECK_STR(weir__rules_find(rules, "theirs")->regex, "mine");
    weir__rules_free(rules);
}

TEST(disabled_are_those_of_which_nothing_else_is_wanted)
{
    struct weir__rules *rules = load_over_named("disabledRules = ['theirs', 'loose', 'none']\n");
    CHECK_EQ(rules->rules_count, 2);
    CHECK(!weir__rules_find(rules, "sole"));
    HAS_STRINGS(
        rules->notes,
        "r.toml:1: [extend]: rule 'both' finds 'theirs', which is disabled, and other "
        "things, so it stays; name it in disabledRules to be rid of it",
        "r.toml:1: [extend]: there is no rule for 'loose' alone to be disabled; 'broad' may "
        "find it, and stays",
        "r.toml:1: [extend]: there is no rule 'none' to be disabled");
    weir__rules_free(rules);
    rules = load_over_named("disabledRules = ['theirs', 'other']\n");
    CHECK_EQ(rules->rules_count, 1);
    CHECK_EQ(rules->notes.count, 0);
    weir__rules_free(rules);
    /* Lists of the extended file that were for it are no mistake. */
    struct library library = {
        {{NULL, "[[allowlists]]\ntargetRules = ['x']\npaths = ['p']\n[[rules]]\nid = 'x'\nregex = "
                "'x'\n[[rules]]\nid = 'y'\nregex = 'y'\n"}},
        1,
        0};
    rules = load_extended(&library, "[extend]\nuseDefault = true\ndisabledRules = ['x']\n");
    CHECK_EQ(rules->notes.count, 0);
    CHECK_EQ(rules->rules_count, 1);
    weir__rules_free(rules);
    rules = load_over_named("disabledRules = ['both']\n");
    CHECK_EQ(rules->rules_count, 2);
    CHECK_EQ(rules->notes.count, 0);
    weir__rules_free(rules);
}

TEST(other_names_that_are_wrong)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"aliases = 3\n", "'aliases' must be a table"},
        {"[aliases]\na = 3\n", "'a' is a whole number, and must be a list of strings"},
        {"[aliases]\n'' = ['x']\n", "a name must have 1 to 255 bytes"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir__rules *rules = NULL;
        struct weir__rules_error error;
        CHECK_EQ(load_with(NULL, cases[i].text, &rules, &error), -WEIR_E_INVALID);
        CHECK_HAS(error.text, cases[i].wanted);
    }
    struct weir__rules *rules = load("[aliases]\na = ['gone']\n");
    HAS_STRINGS(rules->notes, "r.toml:2: [aliases]: 'a' stands for 'gone', which is not there");
    weir__rules_free(rules);
    char text[32768] = "[[rules]]\nid = 'x'\nregex = 'x'\n[aliases]\n";
    size_t length = strlen(text);
    for (unsigned i = 0; i <= WEIR__NAMES_MAX; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "n%03u = ['x']\n", i);
    struct weir__rules_error error;
    CHECK_EQ(load_with(NULL, text, &rules, &error), -WEIR_E_INVALID);
    CHECK_HAS(error.text, "has more than 128 other names");
}

TEST(what_is_packed_is_unpacked)
{
    struct weir__rules *rules = load_clean("title = 'T'\n"
                                           "[[allowlists]]\n"
                                           "condition = 'AND'\n"
                                           "regexTarget = 'line'\n"
                                           "regexes = ['r']\n"
                                           "stopwords = ['s']\n"
                                           "[[rules]]\n"
                                           "id = 'plain'\n"
                                           "path = 'p'\n"
                                           "[[rules]]\n"
                                           "id = 'full'\n"
                                           "description = 'D'\n"
                                           "provider = 'P'\n"
                                           "regex = 'x(y)'\n"
                                           "secretGroup = 1\n"
                                           "entropy = 2.5\n"
                                           "check = 'jwt'\n"
                                           "keywords = ['k']\n"
                                           "tags = ['t']\n"
                                           "skipReport = true\n"
                                           "givesWay = true\n"
                                           "named = true\n"
                                           "max-width = 99\n"
                                           "[[rules.required]]\n"
                                           "id = 'plain'\n"
                                           "withinLines = 3\n"
                                           "[aliases]\n"
                                           "a = ['full', '?plain']\n");
    struct weir__rules *copy = NULL;
    struct weir__buffer packed;
    weir__buffer_init(&packed, 1u << 20);
    CHECK_EQ(weir__rules_pack(rules, &packed), 0);
    CHECK_EQ(weir__rules_unpack(&copy, weir__buffer_text(&packed), weir__buffer_length(&packed)),
             0);
    CHECK_STR(copy->title, "T");
    CHECK_EQ(copy->rules_count, 2);
    const struct weir__rule *plain = &copy->rules[0], *full = &copy->rules[1];
    CHECK(!plain->gives_way && !plain->is_hidden && !plain->regex && !plain->check);
    HAS_STRINGS(plain->known, "a");
    CHECK(full->gives_way && full->is_hidden && full->has_secret_group && full->is_named);
    CHECK_EQ(full->secret_group, 1);
    CHECK_EQ(full->max_width, 99);
    CHECK_EQ(full->line, rules->rules[1].line);
    CHECK(fabs(full->entropy - 2.5) < 1e-9);
    CHECK_STR(full->check, "jwt");
    CHECK_STR(full->provider, "P");
    HAS_STRINGS(full->keywords, "k");
    HAS_STRINGS(full->tags, "t");
    HAS_STRINGS(full->aliases, "a");
    CHECK_EQ(full->required_count, 1);
    CHECK_EQ(full->required[0].within_lines, 3);
    CHECK_EQ(full->required[0].within_columns, -1);
    CHECK_EQ(copy->allows_count, 1);
    CHECK(copy->allows[0].is_and && copy->allows[0].target == WEIR__ALLOW_LINE);
    weir__rules_free(copy);
    /* Cut off anywhere it is refused. */
    for (size_t length = 0; length < weir__buffer_length(&packed); length++)
        CHECK_EQ(weir__rules_unpack(&copy, weir__buffer_text(&packed), length), -WEIR_E_CORRUPT);
    weir__buffer_fini(&packed);
    weir__rules_free(rules);
}

TEST(a_chain_has_an_end)
{
    static const char *const links[] = {"[extend]\npath = 'b'\n[[rules]]\nid = 'a'\nregex = 'a'\n",
                                        "[extend]\npath = 'c'\n[[rules]]\nid = 'b'\nregex = 'b'\n",
                                        "[extend]\npath = 'd'\n[[rules]]\nid = 'c'\nregex = 'c'\n"};
    struct library library = {
        {{"a", links[0]}, {"b", links[1]}, {"c", links[2]}, {"d", base_text}}, 4, 0};
    struct weir__rules *rules = load_extended(&library, links[0]);
    HAS_STRINGS(rules->files, "r.toml", "b", "c", "d");
    CHECK_EQ(rules->rules_count, 6);
    CHECK_STR(rules->rules[3].id, "c");
    CHECK_STR(rules->rules[5].id, "a");
    weir__rules_free(rules);

    struct weir__rules_error error;
    rules = NULL;
    CHECK_EQ(load_with(&library, "[extend]\npath = 'a'\n", &rules, &error), -WEIR_E_INVALID);
    CHECK_STR(error.text, "c:1: [extend]: 'd' would be more than 4 files deep");
    library = (struct library){{{"a", "[extend]\npath = 'a'\n"}}, 1, 0};
    CHECK_EQ(load_with(&library, "[extend]\npath = 'a'\n", &rules, &error), -WEIR_E_INVALID);
    CHECK_STR(error.text, "a:1: [extend]: 'a' would be more than 4 files deep");
    CHECK(!rules);
}

TEST(what_cannot_be_extended_is_told)
{
    struct library library = {{{"bad.toml", "[[rules]]\nid = 1"}}, 1, 0};
    struct weir__rules *rules = NULL;
    struct weir__rules_error error;
    CHECK_EQ(load_with(&library, "[extend]\npath = 'none'", &rules, &error), -WEIR_E_NOT_FOUND);
    CHECK_STR(error.text, "r.toml:1: [extend]: cannot read 'none': there is no such thing");
    CHECK_EQ(load_with(&library, "[extend]\npath = 'bad.toml'", &rules, &error), -WEIR_E_INVALID);
    CHECK_STR(error.text, "bad.toml:2: rule '': 'id' is a whole number, and must be a string");
    library.fails = -WEIR_E_DENIED;
    CHECK_EQ(load_with(&library, "[extend]\nuseDefault = true", &rules, &error), -WEIR_E_DENIED);
    CHECK_STR(error.text, "r.toml:1: [extend]: cannot read 'built-in': permission denied");
    CHECK(!rules);
}

/* --- contexts --- */

/* As a scan looks for it: what is another's is left out. */
static void finds(const struct weir__rule *rule, const char *text, const char *wanted)
{
    int number;
    PCRE2_SIZE at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)rule->regex, PCRE2_ZERO_TERMINATED,
                                     PCRE2_DOLLAR_ENDONLY, &number, &at, NULL);
    CHECK(code);
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    char found[200] = "";
    size_t from = 0;
    for (int result = 1; result > 0 && found[0] == '\0'; from = pcre2_get_startchar(data) + 1) {
        result = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), from, 0, data, NULL);
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data),
                         *range = ends + 2 * (size_t)rule->secret_group;
        if (result > (int)rule->secret_group &&
            !weir__binding_rejects(rule, text, ends, (unsigned)result, range[0], range[1]))
            snprintf(found, sizeof(found), "%.*s", (int)(range[1] - range[0]), text + range[0]);
    }
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    if (strcmp(found, wanted ? wanted : "") != 0)
        tap_fail(__FILE__, __LINE__, "'%s' has '%s', not '%s'", text, found, wanted ? wanted : "");
}

#define VALUE "0123456789abcdef0123456789abcdef"

/* What a context is made of. */
#define SHORT_BEGINS "(?:(?<![A-Za-z0-9])|(?<=[a-z])(?=[A-Z]))"
#define SHORT_CASE   "(?-i:(?![a-z].?[A-Z]|.[a-z][A-Z]|[A-Z]{2}[a-z]))"
#define SHORT_ENDS   "(?=[0-9]{0,2}[A-Za-z]{0,24}[0-9]{0,2}(?![A-Za-z0-9]))"
#define GAP          "()[^\\x00]{0,48}?(?:[^\\x00A-Za-z0-9_/+.?*-]|:-)"

static void is_taken_by_hyperscan(const char *regex)
{
    hs_database_t *database = NULL;
    hs_compile_error_t *why = NULL;
    hs_expr_info_t *info = NULL;
    hs_error_t error = hs_compile(regex, HS_FLAG_DOTALL | HS_FLAG_SINGLEMATCH | HS_FLAG_PREFILTER,
                                  HS_MODE_BLOCK, NULL, &database, &why);
    if (error != HS_SUCCESS)
        tap_fail(__FILE__, __LINE__, "%s: %s", regex, why->message);
    CHECK_EQ(hs_expression_info(regex, HS_FLAG_DOTALL | HS_FLAG_PREFILTER, &info, &why),
             HS_SUCCESS);
    CHECK(info->max_width < 512);
    free(info);
    hs_free_database(database);
}

TEST(a_context_stands_for_an_expression)
{
    struct weir__rules *rules = load_clean("[[rules]]\n"
                                           "id = 'a'\n"
                                           "context = ['Adobe', 'adobe io', 'a+b']\n"
                                           "value = '[a-f0-9]{32}'\n");
    const struct weir__rule *rule = &rules->rules[0];
    CHECK_HAS(rule->regex,
              "(?:" SHORT_BEGINS "(?i:" SHORT_CASE "Adobe|" SHORT_CASE "a\\x2bb)" SHORT_ENDS
              "|(?i:adobe[ _.-]?io))" GAP "([a-f0-9]{32})(?:[^A-Za-z0-9_/+=?*-]|\\z)");
    CHECK_EQ(rule->secret_group, 2);
    CHECK(rule->is_bound);
    CHECK(rule->has_secret_group);
    HAS_STRINGS(rule->keywords, "adobe", "a+b");
    is_taken_by_hyperscan(rule->regex);
    static const char *const good[] = {
        "adobe=" VALUE,
        "ADOBE_KEY: \"" VALUE "\"",
        "<adobe-key>" VALUE "</adobe-key>",
        "adobe, " VALUE,
        "adobe: Bearer " VALUE "\n",
        "adobe_io_token = '" VALUE "';",
        "\"adobe\": {\n  \"key\": \"" VALUE "\"\n}",
        "https://adobe.example/?key=" VALUE "&x=1",
        "A+B=" VALUE ".",
        "myAdobeKey2=" VALUE,
        "xadobe_io=" VALUE,
        "adobe:\n  key: " VALUE,
        "adobe_id=0123456789\nkey=" VALUE,
        "adobe_key =\n  \"" VALUE "\"",
        "adobe_key=\n" VALUE "\n",
        "adobe_key: >-\n  " VALUE,
        "adobe_key:\n  value: " VALUE,
        "adobe_key=\nadobe_id=" VALUE,
        "adobe:\n  id_key: \"\"\n  key: " VALUE,
        "adobe=q8Zk2vT7mXw4Lp9R\nkey=" VALUE,
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        finds(rule, good[i], VALUE);
    static const char *const bad[] = {
        "adobe" VALUE,
        "adobe-" VALUE,
        "adobe=" VALUE "0",
        "adobe=0" VALUE,
        "adobe=" VALUE "=",
        "adobe=" VALUE "-x",
        "adobe=x/" VALUE,
        "adobe.js." VALUE ".js",
        "adob=" VALUE,
        "aab=" VALUE,
        "xadobe=" VALUE,
        "aDobe=" VALUE,
        "adobe7x1y=" VALUE,
        "adobeX1y=" VALUE,
        "adobe=q8Zk2vT7mXw4Lp9R\nversion=" VALUE,
        "adobe: \"q8Zk2vT7mXw4Lp9R\",\r\nversion: " VALUE,
        VALUE " adobe=",
        "adobe=\nkey=" VALUE,
        "ADOBE_KEY =  # ask\r\n\r\n# of today\r\nVERSION = " VALUE,
        "adobe_key=\nother=\nversion=" VALUE,
        "# adobe_key=\n# version=" VALUE,
        "adobe_key: \"\"\nversion: " VALUE,
        "{\"adobe\": \"\", \"version\": \"" VALUE "\"}",
        "adobe_key: null\nversion: " VALUE,
        "adobe_key:\nversion: " VALUE,
        "adobe:\n  token:\n  version: " VALUE,
        "adobe ................................................................................."
        "=" VALUE,
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        finds(rule, bad[i], NULL);
    weir__rules_free(rules);
}

TEST(names_must_follow_the_context)
{
    struct weir__rules *rules = load_clean("[[rules]]\n"
                                           "id = 'a'\n"
                                           "context = ['adobe']\n"
                                           "names = ['api key', 'secret']\n"
                                           "value = '[a-f0-9]{32}|x'\n"
                                           "keywords = ['own']\n"
                                           "secretGroup = 1\n");
    const struct weir__rule *rule = &rules->rules[0];
    CHECK_HAS(rule->regex, "(?:" SHORT_BEGINS "(?i:" SHORT_CASE "adobe)" SHORT_ENDS
                           ")()[^\\x00]{0,40}?(?i:api[ _.-]?key|secret)" GAP
                           "([a-f0-9]{32}|x)(?:[^A-Za-z0-9_/+=?*-]|\\z)");
    CHECK_EQ(rule->secret_group, 3); /* the first of the value */
    HAS_STRINGS(rule->keywords, "own");
    is_taken_by_hyperscan(rule->regex);
    finds(rule, "adobe_ApiKey=" VALUE, VALUE);
    finds(rule, "ADOBE_CLIENT_SECRET=" VALUE, VALUE);
    finds(rule, "adobe.api-key=x", "x");
    finds(rule, "[adobe]\napi key = " VALUE, VALUE);
    finds(rule, "adobe:\n  secret: ''\n  api_key: " VALUE, VALUE);
    finds(rule, "adobe_secret=\nversion=" VALUE, NULL);
    finds(rule, "adobe_id=\nother_secret=" VALUE, NULL);
    finds(rule, "adobe:\n  secret:\n  version: " VALUE, NULL);
    finds(rule, "adobe=" VALUE, NULL);
    finds(rule, "secret adobe=" VALUE, NULL);
    finds(rule, "adobe 1234567890123456789012345678901234567890 secret=" VALUE, NULL);
    weir__rules_free(rules);
}

TEST(the_keyword_of_a_word_is_its_longest_part)
{
    static const struct {
        const char *word, *keyword;
    } cases[] = {{"adobe", "adobe"}, {"adobe io", "adobe"}, {"io adobe", "adobe"},
                 {" a  bc ", "bc"},  {"ab cd", "ab"},       {"", ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t length;
        const char *keyword = weir__context_keyword(cases[i].word, &length);
        CHECK_EQ(length, strlen(cases[i].keyword));
        CHECK(memcmp(keyword, cases[i].keyword, length) == 0);
    }
}

/* --- lint --- */

struct problems {
    char texts[16][512];
    size_t count;
};

static void keep_problem(void *arg, const struct weir__rule *rule, const char *text)
{
    struct problems *problems = arg;
    (void)rule;
    CHECK(problems->count < 16);
    snprintf(problems->texts[problems->count++], sizeof(problems->texts[0]), "%s", text);
}

TEST(the_lint_tells_each_problem)
{
    static const struct {
        const char *fields, *problem;
    } cases[] = {
        {"regex = 'x'", NULL},
        {"regex = 'x(y)'\nsecretGroup = 1\nkeywords = ['x']\nexamples = ['aXy xy']\n"
         "negatives = ['y']",
         NULL},
        {"regex = 'x'\ndescription = ''", "r.toml:1: rule 'a': has no description"},
        {"regex = 'x('", "r.toml:1: rule 'a': regex: missing closing parenthesis at offset 2"},
        {"path = '[x'", "r.toml:1: rule 'a': path: missing terminating ] for character class at "
                        "offset 2"},
        {"regex = 'x*'", "r.toml:1: rule 'a': regex: can match the empty text"},
        {"regex = 'x'\nexamples = ['x', 'y']", "r.toml:1: rule 'a': example 2 has no match: 'y'"},
        {"regex = 'x=(\\w+)'\nentropy = 2\nnegatives = ['x=aaaa x=bbbb']", NULL},
        {"regex = 'x=(\\w+)'\nentropy = 2\nexamples = ['x=aaaa x=abcd']", NULL},
        {"regex = 'x=(\\w+)'\nentropy = 2\nexamples = ['x=aaaa']",
         "r.toml:1: rule 'a': example 1 has a match that its name, its entropy or its check "
         "rejects: "
         "'x=aaaa'"},
        {"regex = 'x=(\\w+)'\nentropy = 2\nnegatives = ['x=aaaa x=abcd']",
         "r.toml:1: rule 'a': negative 1 has a match: 'x=aaaa x=abcd'"},
        {"regex = 'x'\nnegatives = ['yxy']", "r.toml:1: rule 'a': negative 1 has a match: 'yxy'"},
        {"regex = 'x'\nexamples = ['x']\nkeywords = ['x', 'z']",
         "r.toml:1: rule 'a': keyword 'z' is neither in the regex nor in an example"},
        {"regex = 'x|yy'\nexamples = ['x', 'yy']\nkeywords = ['yy']",
         "r.toml:1: rule 'a': example 1 has none of the keywords: 'x'"},
        {"regex = 'x=(\\w+)'\nnegatives = ['x=abc']\n[[rules.allowlists]]\nregexes = ['^a']", NULL},
        {"regex = 'x=(\\w+)'\nexamples = ['x=abc']\n[[rules.allowlists]]\nstopwords = ['B']",
         "r.toml:1: rule 'a': example 1 has a match that an allow list allows: 'x=abc'"},
        {"regex = 'x=(\\w+)'\nexamples = ['x=abc']\n[[rules.allowlists]]\nregexes = ['^a']\n"
         "paths = ['y']\ncondition = 'AND'",
         NULL},
        {"regex = 'x=(\\w+)'\nnegatives = ['x=abc # no']\n[[rules.allowlists]]\n"
         "regexes = ['no$']\nregexTarget = 'line'",
         NULL},
        {"regex = 'x'\nnegatives = ['yxy']\n[[allowlists]]\nregexes = ['x']\ntargetRules = ['a']",
         NULL},
        {"regex = 'x'\nsecretGroup = 1",
         "r.toml:1: rule 'a': secretGroup is 1, and the regex has 0 groups"},
        {"regex = 'x'\ncheck = 'no-such-check'",
         "r.toml:1: rule 'a': there is no check 'no-such-check'"},
        {"regex = 'x'\n[[rules.required]]\nid = 'b'",
         "r.toml:1: rule 'a' requires 'b', which is not there: it never reports anything"},
        {"regex = 'x'\n[[rules.required]]\nid = 'a'",
         "r.toml:1: rule 'a': requires itself: a match by itself is never reported"},
        {"regex = 'x'\n[rules.allowlist]\nregexes = ['y', '(']",
         "r.toml:5: rule 'a': regex 2 of allow list 1: missing closing parenthesis at offset 1"},
        {"regex = 'x'\n[[allowlists]]\npaths = ['*']",
         "r.toml:5: path 1 of allow list 1: quantifier does not follow a repeatable item at offset "
         "0"},
        {"regex = '(?i)[a-z]{1,9}'",
         "r.toml:1: rule 'a': regex: '(?i)[a-z]{1,9}' matches nearly every text"},
        {"regex = '(?i)[a-z]{1,9}'\nentropy = 4.5", NULL},
        {"regex = '.'\npath = 'x'", NULL},
        {"regex = '[a-z]{5,9}'", NULL},
        {"regex = 'x'\n[[rules.allowlists]]\nregexes = ['^x$', '.']",
         "r.toml:5: rule 'a': regex 2 of allow list 1: '.' matches nearly everything, so that "
         "nearly nothing is told"},
        {"regex = 'x'\n[[allowlists]]\npaths = ['.*']",
         "r.toml:5: path 1 of allow list 1: '.*' matches nearly everything, so that nearly nothing "
         "is told"},
        {"regex = 'x'\n[[allowlists]]\npaths = ['.*']\nregexes = ['x']\ncondition = 'AND'", NULL},
        {"regex = 'x'\n[[allowlists]]\npaths = ['/', '[.]']\nregexes = ['[0-9]', '[A-Z]', '^$']",
         NULL},
        {"regex = '(?:x+x+)+y'\nmax-width = 99\nnegatives = "
         "['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y']",
         "r.toml:1: rule 'a': negative 1: the matcher gave up"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct problems problems = {.count = 0};
        struct weir__lint_sink sink = {keep_problem, &problems};
        char text[400];
        size_t count = 99;
        snprintf(text, sizeof(text), "[[rules]]\nid = 'a'\n%s%s",
                 strstr(cases[i].fields, "description") ? "" : "description = 'd'\n",
                 cases[i].fields);
        struct weir__rules *rules = load(text);
        CHECK_EQ(weir__rules_lint(rules, &sink, &count), 0);
        CHECK_EQ(count, problems.count);
        if (cases[i].problem)
            CHECK_STR(problems.texts[0], cases[i].problem);
        else if (count > 0)
            tap_fail(__FILE__, __LINE__, "%s", problems.texts[0]);
        CHECK_EQ(count, cases[i].problem != NULL);
        weir__rules_free(rules);
    }
}

/* --- the built-in rules, packed --- */

/* What a file makes of the built-in rules, as bytes; of one that is refused, why. */
static void extend_builtin(const char *text, bool is_packed, struct weir__buffer *out)
{
    size_t length;
    struct library library = {.files = {{NULL, weir__rules_builtin_text(&length)}}, .count = 1};
    struct weir__rules_packed packed = weir__rules_builtin_packed();
    struct weir__rules_reader reader = {
        .read = read_library, .arg = &library, .packed = is_packed ? &packed : NULL};
    struct weir__rules_error error = {.text = ""};
    struct weir__rules *rules = NULL;
    weir__buffer_init(out, 16u << 20);
    int result = weir__rules_load(&rules, "r.toml", text, strlen(text), &reader, &error);
    CHECK_EQ(result < 0 ? weir__buffer_puts(out, error.text) : weir__rules_pack(rules, out), 0);
    for (size_t i = 0; rules && i < rules->notes.count; i++)
        CHECK_EQ(weir__buffer_puts(out, rules->notes.items[i]), 0);
    weir__rules_free(rules);
}

static void extend_both_ways(const char *text)
{
    struct weir__buffer read, unpacked;
    extend_builtin(text, false, &read);
    extend_builtin(text, true, &unpacked);
    if (weir__buffer_length(&read) != weir__buffer_length(&unpacked) ||
        memcmp(weir__buffer_text(&read), weir__buffer_text(&unpacked),
               weir__buffer_length(&read)) != 0)
        tap_fail(__FILE__, __LINE__, "not the same: %.120s", text);
    weir__buffer_fini(&read);
    weir__buffer_fini(&unpacked);
}

/* Those who extend the built-in rules get them without their text being parsed; nobody sees it. */
TEST(the_built_in_rules_are_extended_alike_packed_and_read)
{
    static const struct {
        const char *fields;
        bool is_for_contexts;
    } changes[] = {
        {"keywords = ['zq']", false},      {"entropy = 1.5", false},
        {"secretGroup = 1", false},        {"regex = 'zq([a-z]{9})'", false},
        {"tags = ['zq']", false},          {"[[rules.allowlists]]\nregexes = ['^zq']", false},
        {"context = ['zq']", true},        {"names = ['zq']", true},
        {"value = '[a-z]{4}(z)'", true},   {"value = 'z(q)'\nsecretGroup = 2", true},
        {"regex = ''\nvalue = 'q'", true},
    };
    struct weir__rules *rules = NULL;
    CHECK_EQ(weir__rules_builtin(&rules), 0);
    extend_both_ways("[extend]\nuseDefault = true\n");
    extend_both_ways("[extend]\nuseDefault = true\ndisabledRules = ['generic-api-key', 'no', "
                     "'private-key-pkcs8']\n[[allowlists]]\ntargetRules = ['jwt']\n"
                     "stopwords = ['zq']\n[aliases]\n'zq' = ['private-key-rsa']\n");
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct weir__buffer text;
        weir__buffer_init(&text, 1u << 20);
        CHECK_EQ(weir__buffer_puts(&text, "[extend]\nuseDefault = true\n"), 0);
        for (size_t k = 0; k < rules->rules_count; k++)
            if (!changes[i].is_for_contexts || rules->rules[k].is_bound) {
                CHECK_EQ(weir__buffer_puts(&text, "[[rules]]\nid = '"), 0);
                CHECK_EQ(weir__buffer_puts(&text, rules->rules[k].id), 0);
                CHECK_EQ(weir__buffer_puts(&text, "'\n"), 0);
                CHECK_EQ(weir__buffer_puts(&text, changes[i].fields), 0);
                CHECK_EQ(weir__buffer_puts(&text, "\n"), 0);
            }
        CHECK_EQ(weir__buffer_putc(&text, '\0'), 0);
        extend_both_ways(weir__buffer_text(&text));
        weir__buffer_fini(&text);
    }
    weir__rules_free(rules);
}

TEST(the_lint_tells_ids_that_are_there_twice)
{
    char a[] = "a", b[] = "b", file[] = "f", regex[] = "x", description[] = "d";
    struct weir__rule items[3] = {
        {.id = a, .file = file, .line = 1, .regex = regex, .description = description},
        {.id = b, .file = file, .line = 2, .regex = regex, .description = description},
        {.id = a, .file = file, .line = 3, .regex = regex, .description = description},
    };
    struct weir__rules rules = {.rules = items, .rules_count = 3};
    struct problems problems = {.count = 0};
    struct weir__lint_sink sink = {keep_problem, &problems};
    size_t count = 0;
    CHECK_EQ(weir__rules_lint(&rules, &sink, &count), 0);
    CHECK_EQ(count, 1);
    CHECK_STR(problems.texts[0], "f:3: rule 'a': the id is also that of line 1 of 'f'");
}

TAP_MAIN()
