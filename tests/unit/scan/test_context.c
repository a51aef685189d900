/* All rules that know a secret by the words before it, with the right value in the wrong place.
 *
 * For each example of each rule the value and the words before it are taken apart. Behind those
 * words, written as one name, it must be found (else the rest would prove nothing). Behind a name
 * that has nothing to do with it, or behind its own name without a value and then such a one, it
 * must not be. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "engine.h"
#include "tap.h"

#include "banned.h"

#define TEXT_MAX  (8u << 20)
#define PLACE_MAX 2048u
#define NAME_MAX  128u
#define VALUE_MAX 512u
#define WORD_MAX  14u
/* Of a hundred rules, so many have an example that is a name and a value. */
#define TRIED_LEAST 95u
/* So many of the forms that must be found have the value right behind the name. */
#define ALWAYS 5u
/* Bytes between the beginning of a word and the value. */
#define REACH 52u

/* What was found in the text at hand. */
static struct {
    const struct weir__rule *rule; /* that is looked for; NULL: any */
    bool is_found;
    char match[PLACE_MAX], secret[VALUE_MAX];
    char by[WEIR__RULE_ID_MAX + 1];
} seen;

static void copy(char *into, size_t size, const char *from, size_t length)
{
    length = length < size ? length : size - 1;
    memcpy(into, from, length);
    into[length] = '\0';
}

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    if (seen.is_found || (seen.rule && finding->rule != seen.rule))
        return;
    seen.is_found = true;
    copy(seen.match, sizeof(seen.match), finding->match, finding->match_length);
    copy(seen.secret, sizeof(seen.secret), finding->secret, finding->secret_length);
    copy(seen.by, sizeof(seen.by), finding->rule->id, strlen(finding->rule->id));
}

struct rig {
    struct weir__rules *rules;
    struct weir__engine *engine;
    struct weir__scanner *scanner;
};

static struct rig set_up(void)
{
    struct rig rig = {0};
    struct weir__rules_error error = {.text = ""};
    struct weir__engine_options options = {0};
    struct weir__sink sink = {.finding = take};
    char *text = weir__base_alloc(1, TEXT_MAX);
    FILE *file = fopen(RULES_FILE, "re");
    CHECK(text && file);
    size_t length = fread(text, 1, TEXT_MAX - 1, file);
    fclose(file);
    if (weir__rules_load(&rig.rules, "weir.toml", text, length, NULL, &error) < 0 ||
        weir__engine_new(&rig.engine, rig.rules, &options, &error) < 0)
        tap_fail(__FILE__, __LINE__, "%s", error.text);
    CHECK_EQ(weir__scanner_new(&rig.scanner, rig.engine, &sink), 0);
    weir__base_free(text);
    return rig;
}

static void take_down(struct rig *rig)
{
    weir__scanner_free(rig->scanner);
    weir__engine_free(rig->engine);
    weir__rules_free(rig->rules);
}

/* Whether the rule, or with NULL any, finds something. */
static bool finds(struct rig *rig, const struct weir__rule *rule, const char *text)
{
    struct weir__object object = {.path = "example"};
    seen.rule = rule;
    seen.is_found = false;
    CHECK_EQ(weir__scanner_begin(rig->scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(rig->scanner, text, strlen(text)), 0);
    CHECK_EQ(weir__scanner_end(rig->scanner, NULL), 0);
    return seen.is_found;
}

/* The words before the secret as one name. Long ones with digits are identifiers beside it. */
static void name_of(const char *match, const char *secret, char name[NAME_MAX])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const char *end = strstr(match, secret);
    size_t length = 0;
    while (match < end) {
        size_t size = strspn(match, letters), digit = strcspn(match, "0123456789");
        if (size > 0 && (digit >= size || size < WORD_MAX) && length + size + 2 < NAME_MAX) {
            if (length > 0)
                name[length++] = '_';
            memcpy(name + length, match, size);
            length += size;
        }
        match += size > 0 ? size : 1;
    }
    name[length] = '\0';
}

/* 'N' stands for the name, 'V' for the value; nothing else in them is one of these letters. */
static void fill(const char *shape, const char *name, const char *value, char text[PLACE_MAX])
{
    size_t length = 0;
    for (; *shape; shape++) {
        const char *piece = *shape == 'N' ? name : *shape == 'V' ? value : NULL;
        size_t size = piece ? strlen(piece) : 1;
        CHECK(length + size < PLACE_MAX);
        memcpy(text + length, piece ? piece : shape, size);
        length += size;
    }
    text[length] = '\0';
}

/* The name has no value, and the value another name. */
static const char *const empty[] = {
    "N=\ncache_state=V\n",
    "N=\r\ncache_state=V\r\n",
    "N=\"\"\ncache_state=\"V\"\n",
    "N= cache_state=V run\n",
    "N=\"\" cache_state=\"V\" run\n",
    "export N=\nexport cache_state=V\n",
    "    - N=\n    - cache_state=V\n",
    "N: ~\ncache_state: V\n",
    "N: null\ncache_state: V\n",
    "{\"N\": \"\", \"cache_state\": \"V\"}\n",
    "{\n  \"N\": null,\n  \"cache_state\": \"V\"\n}\n",
    "<N></N>\n<cache_state>V</cache_state>\n",
    "- name: N\n  value: \"\"\n- name: cache_state\n  value: V\n",
    "<add key=\"N\" value=\"\"/>\n<add key=\"cache_state\" value=\"V\"/>\n",
    "N = os.environ[\"N\"]\ncache_state = \"V\"\n",
    "N=${N}\ncache_state=V\n",
    "N = \"\"\ncache_state = \"V\"\n",
    "N: ${{ secrets.N }}\ncache_state: V\n",
};

/* The value is that of the name. */
static const char *const full[] = {
    "N=V\n",
    "N: V\n",
    "{\"N\": \"V\"}\n",
    "- name: N\n  value: V\n",
    "N = os.environ.get(\"N\", \"V\")\n",
    /* conditional expressions, lambdas, patterns: the word before the value is no name of it */
    "const N = isDev ? null : \"V\";\n",
    "const N = isDev ? undefined : \"V\";\n",
    "const N = isDev ? override : \"V\";\n",
    "const N = process.env.X ? process.env.X : \"V\";\n",
    "String N = k != null ? k : \"V\";\n",
    "const char *N = getenv(\"X\") ? getenv(\"X\") : \"V\";\n",
    "'N' => $x ? $y : 'V',\n",
    "val N = x match { case Left => \"V\" }\n",
    "let N = match x { Ok(s) => s, Err(_) => \"V\" };\n",
    "const N = async (env) => \"V\";\n",
    "N = lambda env: \"V\"\n",
    /* a name in an attribute, the value in an element */
    "<property name=\"N\"><value>V</value></property>\n",
    "<setting name=\"N\" serializeAs=\"String\"><value>V</value></setting>\n",
    "<entry key=\"N\"><value>V</value></entry>\n",
    /* types that begin with a mark */
    "const N: &str = \"V\";\n",
    "static N: &'static str = \"V\";\n",
    "const N: &[u8] = b\"V\";\n",
    "const N: []const u8 = \"V\";\n",
    /* one of several */
    "N:\n  eu: V\n",
    /* a fallback */
    "N=${K:-V}\n",
};

/* Which of those a rule does not find, by a part of the shape, and why. */
static struct {
    const char *rule, *shape, *reason;
    bool is_seen;
} missed[] = {
    {"snowflake-password", "? undefined :", "any word may be the value, and the first is taken",
     false},
    {"snowflake-password", "? override :", "the same", false},
    {"snowflake-password", "? process.env.X :", "the same", false},
    {"mockaroo-key", "? override :", "the same", false},
    {"sendgrid-key-near", "? k :", "the value of an example has a '=': a name and a value", false},
    {"sendgrid-key-near", "? getenv", "the same", false},
    {"sendgrid-key-near", "&[u8]", "the same", false},
    {"sendgrid-key-near", "\n  eu:", "the same", false},
};

static bool is_missed(const struct weir__rule *rule, const char *shape)
{
    for (size_t i = 0; i < sizeof(missed) / sizeof(missed[0]); i++)
        if (strcmp(missed[i].rule, rule->id) == 0 && strstr(shape, missed[i].shape))
            return missed[i].is_seen = true;
    return false;
}

/* Whether the value is farther from where the name begins than a rule looks. */
static bool is_far(const char *text, const char *name, const char *value)
{
    const char *from = strstr(text, name), *until = from ? strstr(from, value) : NULL;
    return until && until - from > (ptrdiff_t)REACH;
}

/* What may be found behind any name: by which rule, and why. */
static const struct {
    const char *by, *rule, *reason;
} alone[] = {
    {"jwt", NULL, "the value says by its form that it is one"},
    {"sk-hex-key", "deepseek-key", "the prefix sk- is that of many services"},
    {"airtable-oauth", "airtable-key", "both know the form, which is that of no other service"},
    {"twitter-bearer-token", "twitter-encoded-token", "the row of A is that of no other service"},
    {"stripe-secret-key", "workos-key", "the prefix sk_live_ says what it is"},
    {"generic-secret", "mercury-key", "the value has a name in it: secret-token:"},
    {"named-and-dashed-secret", NULL, "the value has a name in it: api-, key-, secret-"},
};

static bool is_alone(const struct weir__rule *rule)
{
    for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
        if (strcmp(alone[i].by, seen.by) == 0 &&
            (!alone[i].rule || strcmp(alone[i].rule, rule->id) == 0))
            return true;
    return false;
}

/* One example. Returns whether the words and the value could be taken apart. */
static bool try_example(struct rig *rig, const struct weir__rule *rule, const char *example,
                        unsigned *wrong)
{
    char name[NAME_MAX], value[VALUE_MAX], text[PLACE_MAX];
    if (!finds(rig, rule, example))
        return false;
    name_of(seen.match, seen.secret, name);
    copy(value, sizeof(value), seen.secret, strlen(seen.secret));
    fill(full[0], name, value, text);
    if (!finds(rig, rule, text))
        return false;
    for (size_t i = 1; i < sizeof(full) / sizeof(full[0]); i++) {
        fill(full[i], name, value, text);
        if (i >= ALWAYS && is_far(text, name, value))
            continue;
        if (!finds(rig, NULL, text) && !is_missed(rule, full[i]) && ++*wrong)
            printf("# %s is not found: %s", rule->id, text);
    }
    fill("cache_state=V\n", name, value, text);
    if (finds(rig, NULL, text) && !is_alone(rule) && ++*wrong)
        printf("# the value of %s is found by %s behind another name: %s", rule->id, seen.by, text);
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        fill(empty[i], name, value, text);
        if (finds(rig, NULL, text) && !is_alone(rule) && ++*wrong)
            printf("# %s takes the value of another name, by %s: %s", rule->id, seen.by, text);
    }
    return true;
}

TEST(the_right_value_in_the_wrong_place)
{
    struct rig rig = set_up();
    unsigned rules = 0, tried = 0, wrong = 0;
    for (size_t i = 0; i < rig.rules->rules_count; i++) {
        const struct weir__rule *rule = &rig.rules->rules[i];
        if (!rule->is_bound)
            continue;
        bool is_tried = false;
        for (size_t k = 0; k < rule->examples.count; k++)
            is_tried |= try_example(&rig, rule, rule->examples.items[k], &wrong);
        rules++;
        tried += is_tried;
        if (!is_tried)
            printf("# no example of %s could be taken apart\n", rule->id);
    }
    printf("# %u of %u rules\n", tried, rules);
    for (size_t i = 0; i < sizeof(missed) / sizeof(missed[0]); i++)
        if (!missed[i].is_seen && ++wrong)
            printf("# %s finds all with '%s'\n", missed[i].rule, missed[i].shape);
    CHECK(rules > 1000);
    CHECK(tried * 100 >= rules * TRIED_LEAST);
    CHECK_EQ(wrong, 0);
    take_down(&rig);
}

/* --- a token that another rule knows --- */

/* What was found in the text at hand: how often, and by which rule last. */
static struct {
    unsigned count;
    char by[WEIR__RULE_ID_MAX + 1];
} told;

static void count_one(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    told.count++;
    copy(told.by, sizeof(told.by), finding->rule->id, strlen(finding->rule->id));
}

/* Each knows its token by its form. */
static const struct {
    const char *rule, *token;
} known[] = {
    {"github-pat", "ghp_Hh4kJ2mN8pQ6rS1tV3wX5yZ7aB9cD0eF2gH4"},
    {"aws-access-key-id", "AKIAQ3R5T7V2X4Z6B7CD"},
    {"slack-bot-token", "xoxb-263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1"},
    {"google-api-key", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"},
    {"stripe-secret-key", "sk_live_51Hb3Kq9Lm2Zx7Vw4Tn8Rb3Jd6"},
    {"npm-token", "npm_q7Zx2Vk9Lw4Tn8Rb3Jd6h5Gf1Ds0Pa8ZxCv3"},
    {"gitlab-pat", "glpat-x7Tz2Kq9Lm4Vw8Rb3Jd6"},
    {"sendgrid-api-key", "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"},
};

/* The words of the rule's first example that can be taken apart, as a name. */
static bool name_of_rule(struct rig *rig, const struct weir__rule *rule, char name[NAME_MAX])
{
    for (size_t k = 0; k < rule->examples.count; k++)
        if (finds(rig, rule, rule->examples.items[k])) {
            name_of(seen.match, seen.secret, name);
            return name[0] != '\0';
        }
    return false;
}

static unsigned try_known(struct rig *rig, struct weir__scanner *counting,
                          const struct weir__rule *rule)
{
    char name[NAME_MAX], text[PLACE_MAX];
    unsigned wrong = 0;
    if (!name_of_rule(rig, rule, name))
        return 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct weir__object object = {.path = "example"};
        fill("N = \"V\"\n", name, known[i].token, text);
        told.count = 0;
        CHECK_EQ(weir__scanner_begin(counting, &object), 0);
        CHECK_EQ(weir__scanner_feed(counting, text, strlen(text)), 0);
        CHECK_EQ(weir__scanner_end(counting, NULL), 0);
        if ((told.count != 1 || strcmp(told.by, known[i].rule) != 0) && ++wrong)
            printf("# %u findings, by %s: %s", told.count, told.count > 0 ? told.by : "none", text);
    }
    return wrong;
}

TEST(a_token_is_what_its_form_says)
{
    struct rig rig = set_up();
    struct weir__sink sink = {.finding = count_one};
    struct weir__scanner *counting;
    unsigned wrong = 0;
    CHECK_EQ(weir__scanner_new(&counting, rig.engine, &sink), 0);
    for (size_t i = 0; i < rig.rules->rules_count; i++)
        if (rig.rules->rules[i].is_bound)
            wrong += try_known(&rig, counting, &rig.rules->rules[i]);
    CHECK_EQ(wrong, 0);
    weir__scanner_free(counting);
    take_down(&rig);
}

TAP_MAIN()
