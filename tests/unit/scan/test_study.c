/* What is known about an expression before it runs, against PCRE2.
 *
 * Random expressions of all syntax there is, each with texts that it is likely to match: what PCRE2
 * finds in a text by itself, an engine with that one rule must find there as well, at the same
 * places, unless it has refused the rule. WEIR_SEED and WEIR_STUDY_ROUNDS make other ones and
 * more of them.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/flank.h"
#include "engine/parts.h"
#include "expression.h"
#include "scanner_help.h"

#define ROUNDS     8000u
#define REGEX_MAX  700u
#define SAMPLE_MAX 700u
#define TEXT_MAX   8192u
#define GROUPS_MAX 6u
#define FOUND_MAX  2048u
#define MISSED_MAX 20u /* that are told in full */

static uint64_t state;

static unsigned below(unsigned most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % most;
}

/* --- an expression, and a text that it may match --- */

struct making {
    char regex[REGEX_MAX];
    char sample[SAMPLE_MAX];
    size_t regex_length, sample_length;
    unsigned depth, groups;
    bool is_wide, is_caseless;
    struct {
        size_t from, until; /* of the sample */
        bool has_name;
    } group[GROUPS_MAX];
};

static void put(struct making *m, const char *text)
{
    size_t length = strlen(text);
    if (m->regex_length + length < REGEX_MAX) {
        memcpy(m->regex + m->regex_length, text, length + 1);
        m->regex_length += length;
    }
}

static void say(struct making *m, const char *text, size_t length)
{
    if (m->sample_length + length < SAMPLE_MAX) {
        memcpy(m->sample + m->sample_length, text, length);
        m->sample_length += length;
    }
}

struct pair {
    const char *regex, *sample;
};

static void put_pair(struct making *m, const struct pair *pair)
{
    put(m, pair->regex);
    say(m, pair->sample, strlen(pair->sample));
}

static const struct pair atoms[] = {
    {"a", "a"},
    {"k", "k"},
    {"s", "S"},
    {"Z", "Z"},
    {"_", "_"},
    {"=", "="},
    {"-", "-"},
    {"7", "7"},
    {"tok", "tok"},
    {"secret_", "secret_"},
    {"[a-z]", "q"},
    {"[0-9]", "4"},
    {"[A-Fa-f0-9]", "e"},
    {"[xyz]", "y"},
    {"[^a-c]", "w"},
    {"[]a]", "]"},
    {"[^]a]", "b"},
    {"[a-]", "-"},
    {"[\\b]", "\b"},
    {"[\\d_]", "5"},
    {"[\\w-]", "-"},
    {"[[:alpha:]]", "g"},
    {"[[:^digit:]]", "g"},
    {"[[:xdigit:]_]", "f"},
    {"[\\x41-\\x43]", "B"},
    {"[\\055x]", "-"},
    {"[\\n\\t ]", "\t"},
    {"[[:x]", ":"},
    {"[\\]\\[]", "["},
    {"[\\cA-\\cZ]", "\t"},
    {"[\\Qx\\E]", "x"},
    {"\\d", "3"},
    {"\\w", "w"},
    {"\\s", " "},
    {"\\S", "+"},
    {"\\D", "d"},
    {"\\W", "!"},
    {"\\h", " "},
    {"\\H", "h"},
    {"\\v", "\n"},
    {"\\V", "v"},
    {"\\N", "n"},
    {"\\R", "\r\n"},
    {"\\X", "x"},
    {"\\C", "c"},
    {".", "."},
    {"\\.", "."},
    {"\\t", "\t"},
    {"\\n", "\n"},
    {"\\cI", "\t"},
    {"\\cj", "\n"},
    {"\\c!", "a"},
    {"\\055", "-"},
    {"\\o{055}", "-"},
    {"\\x2d", "-"},
    {"\\x{2d}", "-"},
    {"\\x6b", "k"},
    {"\\e", "\x1b"},
    {"\\a", "\a"},
    {"\\071", "9"},
    {"\\0551", "-1"},
    {"\\Qa.b|c)\\E", "a.b|c)"},
    {"\\Qxy\\E", "xy"},
    {"\\Q\\E", ""},
    {"\\E", ""},
    {"(?#a comment)", ""},
    {"{", "{"},
    {"{x}", "{x}"},
    {"\\{", "{"},
    {"]", "]"},
    {"}", "}"},
    {"\\/", "/"},
    {"\\@", "@"},
    {"(?:)", ""},
    {"()", ""},
    {"\\xe9", "\xe9"},
    {"\\351", "\xe9"},
};

static const struct pair wide_atoms[] = {
    {"é", "é"},
    {"ü", "ü"},
    {"Ж", "Ж"},
    {"密", "密"},
    {"[äöü]", "ö"},
    {"[^é]", "x"},
    {"[^é]", "ñ"},
    {"[à-ü]", "é"},
    {"\\p{L}", "ж"},
    {"\\p{L}", "g"},
    {"\\P{L}", "4"},
    {"\\pN", "4"},
    {"\\x{e9}", "é"},
    {"\\xe9", "é"},
    {"\\x{5bc6}", "密"},
    {"\\N{U+e9}", "é"},
    {"[\\x{e0}-\\x{ff}]", "é"},
    {"[\\p{Lu}_]", "Ж"},
    {".", "密"},
    {"\\W", "é"},
    {"\\X", "é"},
    {"\\S", "密"},
    {"[^x]", "密"},
    {"\\D", "密"},
    {"[[:^alpha:]]", "é"},
    {"\\R", "\xe2\x80\xa8"},
    {"\\h", "\xc2\xa0"},
    {"clé", "clé"},
};

static const struct pair edges[] = {
    {"\\b", ""},     {"\\B", ""},       {"^", ""},         {"$", ""},         {"\\A", ""},
    {"\\z", ""},     {"\\Z", ""},       {"\\K", ""},       {"(?m)^", "\n"},   {"(?m)$", ""},
    {"[[:<:]]", ""}, {"[[:>:]]", ""},   {"\\G", ""},       {"(*PRUNE)", ""},  {"(*SKIP)", ""},
    {"(*THEN)", ""}, {"(*COMMIT)", ""}, {"(*ACCEPT)", ""}, {"(*MARK:x)", ""}, {"(*:y)", ""},
    {"(?C)", ""},    {"(?C1)", ""},
};

static void make_alternatives(struct making *m);

/* Its other case, now and then, where that makes no difference. */
static void change_case(struct making *m, size_t from)
{
    static const struct pair others[] = {
        {"k", "\xe2\x84\xaa"}, {"s", "\xc5\xbf"}, {"é", "É"}, {"ü", "Ü"}, {"Ж", "ж"}};
    for (size_t i = from; i < m->sample_length; i++)
        if (below(2) == 0 && weir__lower(m->sample[i]) >= 'a' && weir__lower(m->sample[i]) <= 'z')
            m->sample[i] ^= 0x20;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others) && m->is_wide; i++) {
        size_t length = strlen(others[i].regex);
        if (m->sample_length - from == length && below(2) == 0 &&
            memcmp(m->sample + from, others[i].regex, length) == 0) {
            m->sample_length = from;
            say(m, others[i].sample, strlen(others[i].sample));
        }
    }
}

static void make_atom(struct making *m)
{
    size_t from = m->sample_length;
    if (m->is_wide && below(3) == 0)
        put_pair(m, &wide_atoms[below(sizeof(wide_atoms) / sizeof(*wide_atoms))]);
    else
        put_pair(m, &atoms[below(sizeof(atoms) / sizeof(*atoms))]);
    if (m->is_caseless)
        change_case(m, from);
}

/* A '%' is the number. */
static void put_numbered(struct making *m, const char *text, unsigned number)
{
    for (; *text; text++)
        put(m, (const char[]){*text == '%' ? (char)('0' + number) : *text, '\0'});
}

static void make_reference(struct making *m)
{
    static const char *const by_number[] = {"\\%", "\\g%", "\\g{%}"};
    static const char *const by_name[] = {"\\k<q%>", "\\k'q%'", "\\k{q%}", "\\g{q%}", "(?P=q%)"};
    static const char *const again[] = {"(?%)", "\\g<%>", "\\g'%'"};
    static const char *const again_by_name[] = {"(?&q%)", "(?P>q%)", "\\g<q%>"};
    unsigned number = 1 + below(m->groups), kind = below(2);
    bool has_name = m->group[number - 1].has_name && below(2);
    if (kind == 0)
        put_numbered(m, has_name ? by_name[below(5)] : by_number[below(3)], number);
    else
        put_numbered(m, has_name ? again_by_name[below(3)] : again[below(3)], number);
    char copy[SAMPLE_MAX];
    size_t length = m->group[number - 1].until - m->group[number - 1].from;
    memcpy(copy, m->sample + m->group[number - 1].from, length);
    say(m, copy, length);
}

static void make_capture(struct making *m)
{
    static const char *const heads[] = {"(", "(?<q%>", "(?P<q%>", "(?'q%'"};
    unsigned kind = below(4), number = m->groups;
    if (number == GROUPS_MAX)
        return;
    m->groups++; /* counted as PCRE2 does: by where they begin */
    put_numbered(m, heads[kind], number + 1);
    size_t from = m->sample_length;
    m->group[number].from = m->group[number].until = from;
    make_alternatives(m);
    m->group[number].until = m->sample_length;
    m->group[number].has_name = kind > 0;
    put(m, ")");
}

/* A look at what is there, which is said only if it is to hold there and is not taken. */
static void make_look(struct making *m)
{
    static const char *const heads[] = {"(?=", "(?!", "(*pla:", "(*nla:", "(?<=", "(?<!", "(?*"};
    unsigned kind = below(7);
    if (kind >= 4 && kind < 6) {
        put(m, heads[kind]);
        put(m, below(2) ? "a" : "[=_-]");
        put(m, ")");
        return;
    }
    put(m, heads[kind]);
    size_t from = m->sample_length;
    make_atom(m);
    make_atom(m);
    put(m, below(3) == 0 ? "end)" : ")");
    if (kind == 1 || kind == 3 || below(3) == 0)
        m->sample_length = from;
}

static void make_special(struct making *m)
{
    static const char *const heads[] = {
        "(?:", "(?>", "(?|", "(*atomic:", "(?i:", "(?-i:", "(?x: ", "(?^:"};
    bool was_caseless = m->is_caseless;
    unsigned kind = below(14);
    if (kind < 8) {
        m->is_caseless = kind == 4 || (was_caseless && kind != 5 && kind != 7);
        put(m, heads[kind]);
        make_alternatives(m);
        put(m, kind == 6 ? " # x)\n)" : ")");
        m->is_caseless = was_caseless;
    } else if (kind == 8 || kind > 11) {
        put_pair(m, &edges[below(sizeof(edges) / sizeof(*edges))]);
    } else if (kind == 9 && m->groups > 0) {
        put_numbered(m, "(?(%)", 1 + below(m->groups));
        make_atom(m);
        put(m, below(2) ? "|x)" : ")");
    } else if (kind == 10) {
        put(m, below(2) ? "(?(?=a)" : "(?(DEFINE)");
        make_atom(m);
        put(m, ")");
    } else {
        make_look(m);
    }
}

static void make_piece(struct making *m)
{
    size_t from = m->sample_length;
    unsigned kind = below(12);
    if (m->depth < 4 && kind == 0)
        make_capture(m);
    else if (m->depth < 4 && kind == 1)
        make_special(m);
    else if (kind == 2 && m->groups > 0)
        make_reference(m);
    else
        make_atom(m);
    static const char *const repeats[] = {"?",     "*",    "+",    "{2}", "{1,3}",
                                          "{0,2}", "{2,}", "{,3}", "{0}"};
    static const unsigned times[] = {1, 2, 2, 2, 2, 1, 3, 1, 0};
    if (below(4) > 0)
        return;
    unsigned repeat = below(9);
    put(m, repeats[repeat]);
    if (below(5) == 0)
        put(m, below(2) ? "?" : "+");
    char copy[SAMPLE_MAX];
    size_t length = m->sample_length - from;
    memcpy(copy, m->sample + from, length);
    m->sample_length = from;
    for (unsigned i = 0; i < times[repeat]; i++)
        say(m, copy, length);
}

static void make_alternatives(struct making *m)
{
    unsigned count = below(6) == 0 ? 2 : 1, said = below(count);
    m->depth++;
    for (unsigned i = 0; i < count; i++) {
        size_t from = m->sample_length;
        if (i > 0)
            put(m, "|");
        for (unsigned k = 1 + below(4); k > 0; k--)
            make_piece(m);
        if (i != said)
            m->sample_length = from;
    }
    m->depth--;
}

static void make(struct making *m)
{
    static const char *const settings[] = {"(*ANYCRLF)", "(*UTF)",    "(*UCP)",
                                           "(*CRLF)",    "(*NO_JIT)", "(*LIMIT_MATCH=1000)"};
    memset(m, 0, sizeof(*m));
    m->is_wide = below(3) == 0;
    if (below(12) == 0)
        put(m, settings[below(6)]);
    if (below(3) == 0) {
        put(m, "(?i)");
        m->is_caseless = true;
    }
    if (below(2) == 0) {
        put(m, "weirtok_");
        say(m, "weirtok_", 8);
    }
    for (unsigned i = 2 + below(4); i > 0; i--)
        make_piece(m);
    if (below(3) == 0) {
        put(m, "[0-9]{6}");
        say(m, "123456", 6);
    }
    if (below(6) == 0)
        make_look(m);
}

/* --- both of them --- */

struct range {
    size_t from, length;
};
static struct range found[FOUND_MAX], wanted[FOUND_MAX];
static size_t found_count, wanted_count;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    if (found_count < FOUND_MAX)
        found[found_count++] = (struct range){finding->place.offset, finding->place.length};
}

/* As PCRE2 finds them by itself, one behind the other. False: it did not come to the end. */
static bool find_wanted(const char *regex, const char *text, size_t length)
{
    int error;
    PCRE2_SIZE at;
    uint32_t options = PCRE2_DOLLAR_ENDONLY;
    if (weir__expression_is_wide(regex))
        options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, &error, &at, NULL);
    wanted_count = 0;
    if (!code)
        return false;
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(context, 100000);
    int result = 0;
    for (size_t from = 0; from <= length && wanted_count < FOUND_MAX;) {
        result = pcre2_match(code, (PCRE2_SPTR)text, length, from, 0, data, context);
        if (result < 0)
            break;
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
        int group = 1; /* the first that has something is the secret */
        while (group < result &&
               (ends[2 * group] == PCRE2_UNSET || ends[2 * group + 1] <= ends[2 * group]))
            group++;
        group = group < result ? group : 0;
        if (ends[1] > ends[0])
            wanted[wanted_count++] =
                (struct range){ends[2 * group], ends[2 * group + 1] - ends[2 * group]};
        from = ends[1] > from ? ends[1] : from + 1;
    }
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return result >= 0 || result == PCRE2_ERROR_NOMATCH;
}

/* The sample several times: between other texts, beside itself, at the end. */
static size_t make_text(const struct making *m, char *text)
{
    static const char noise[] = "ab tok=\n-_;.xyz,12 49 weirtok secret \"qQ'ZK:+() end\r\n";
    size_t length = 0;
    for (unsigned i = 0; i < 4 && length + SAMPLE_MAX + 64 < TEXT_MAX; i++) {
        for (unsigned k = i == 0 ? 0 : below(40); k > 0; k--)
            text[length++] = noise[below(sizeof(noise) - 1)];
        memcpy(text + length, m->sample, m->sample_length);
        length += m->sample_length;
        if (i == 1 && m->sample_length > 0)
            length -= below((unsigned)m->sample_length);
    }
    return length;
}

static struct {
    unsigned expressions, refused, unclear, matches, missed;
} counts;

static bool is_found(const struct range *one)
{
    for (size_t i = 0; i < found_count; i++)
        if (found[i].from == one->from && found[i].length == one->length)
            return true;
    return false;
}

/* The expression, the match, and what was found instead of it. */
static void tell_missed(const struct making *m, const char *text, const struct range *one)
{
    if (counts.missed++ >= MISSED_MAX)
        return;
    printf("# '%s' is not found at %zu, %zu bytes: '", m->regex, one->from, one->length);
    for (size_t i = 0; i < one->length; i++)
        printf(text[one->from + i] == '\n' ? "\\n" : "%c", text[one->from + i]);
    printf("'; but");
    for (size_t i = 0; i < found_count && i < MISSED_MAX; i++)
        printf(" %zu+%zu", found[i].from, found[i].length);
    printf("\n");
}

static void compare(const struct making *m)
{
    static char toml[REGEX_MAX + 200], text[TEXT_MAX];
    struct weir__rules_error error = {.text = ""};
    struct weir__engine_options options = {.cache = NULL};
    struct weir__sink sink = {.finding = take};
    struct weir__scan_result result;
    struct weir__object object = {.path = "a"};
    if (!m->regex_length || strstr(m->regex, "'''") || m->regex[m->regex_length - 1] == '\'')
        return;
    size_t length = make_text(m, text);
    if (!find_wanted(m->regex, text, length) || wanted_count == 0) {
        counts.unclear++;
        return;
    }
    snprintf(toml, sizeof(toml), "[[rules]]\nid = 'a'\nregex = '''%s'''\n", m->regex);
    if (weir__rules_load(&rules, "test", toml, strlen(toml), NULL, &error) < 0) {
        tap_fail(__FILE__, __LINE__, "'%s': %s", m->regex, error.text);
        return;
    }
    counts.expressions++;
    if (weir__engine_new(&engine, rules, &options, &error) < 0) {
        counts.refused++;
        if (getenv("WEIR_STUDY_REFUSED"))
            printf("# %s\n# %s\n", m->regex, error.text);
    } else if (weir__scanner_new(&scanner, engine, &sink) == 0) {
        scanner->flank_room->left_min = 1; /* both machines from the first hit on */
        found_count = 0;
        CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
        CHECK_EQ(weir__scanner_feed(scanner, text, length), 0);
        CHECK_EQ(weir__scanner_end(scanner, &result), 0);
        for (size_t i = 0; i < wanted_count && result.gave_up == 0; i++, counts.matches++)
            if (!is_found(&wanted[i])) {
                tell_missed(m, text, &wanted[i]);
                break;
            }
    }
    help_stop();
}

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

TEST(what_pcre2_finds_is_found)
{
    static struct making m;
    state = number_of("WEIR_SEED", 20261116);
    printf("# WEIR_SEED=%u\n", (unsigned)state);
    for (unsigned i = number_of("WEIR_STUDY_ROUNDS", ROUNDS); i > 0; i--) {
        make(&m);
        compare(&m);
    }
    printf("# %u expressions, %u refused, %u without a match, %u matches\n", counts.expressions,
           counts.refused, counts.unclear, counts.matches);
    CHECK_EQ(counts.missed, 0);
    CHECK(counts.matches > counts.expressions);
    CHECK(counts.refused * 4 < counts.expressions);
}

/* --- by hand --- */

/* How many findings one rule has in a text. */
static size_t count_of(const char *rule, const char *text)
{
    static char toml[2048];
    struct weir__object object = {.path = "a"};
    struct weir__scan_result result;
    snprintf(toml, sizeof(toml), "[[rules]]\nid = 'a'\n%s\n", rule);
    help_start(toml, strlen(toml), NULL, take);
    found_count = 0;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, strlen(text)), 0);
    CHECK_EQ(weir__scanner_end(scanner, &result), 0);
    help_stop();
    return found_count;
}

struct known {
    const char *rule, *text;
    size_t count;
};

static void check_known(const struct known *table, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        size_t count = count_of(table[i].rule, table[i].text);
        if (count != table[i].count)
            tap_fail(__FILE__, __LINE__, "%s: %zu in '%s'", table[i].rule, count, table[i].text);
    }
}

TEST(what_is_written_in_less_usual_ways_is_found)
{
    static const struct known table[] = {
        {"regex = '''tokaa_(?P<q>[\"'])[a-z]{10}(?P=q)'''", "tokaa_\"abcdefghij\"", 1},
        {"regex = '''tokbb_(?P<q>[\"'])[a-z]{10}\\k<q>'''", "tokbb_\"abcdefghij\"", 1},
        {"regex = '''tokcc\\055zzqx_[a-z]{10}'''", "tokcc-zzqx_abcdefghij", 1},
        {"regex = '''tokdd_([a-z]{10})-(?1)-(?1)'''", "tokdd_abcdefghij-abcdefghik-abcdefghil", 1},
        {"regex = '''(*ANYCRLF)tokff_[0-9]{10}'''", "tokff_0123456789", 1},
        {"regex = '''tokgg_\\cIqzxq_[0-9]{10}'''", "tokgg_\tqzxq_0123456789", 1},
        {"regex = '''tokkk\\o{055}zzqx_[a-z]{10}'''", "tokkk-zzqx_abcdefghij", 1},
        {"regex = '''\\Qtok\\E{2}_[0-9]{10}'''", "tokk_0123456789", 1},
        {"regex = '''tok_x(?#how many)+y[0-9]{10}'''", "tok_xxxxy0123456789", 1},
        {"regex = '''(?x) tok_ x # how many\n + y [0-9]{10}'''", "tok_xxxxy0123456789", 1},
    };
    check_known(table, sizeof(table) / sizeof(*table));
}

TEST(what_cannot_be_looked_for_is_refused)
{
    static const char toml[] = "[[rules]]\nid = 'a'\nregex = 'tok_[0-9]{8}(*ACCEPT)zzqx_secret'\n";
    struct weir__rules_error error = {.text = ""};
    struct weir__engine_options options = {.cache = NULL};
    CHECK_EQ(weir__rules_load(&rules, "test", toml, sizeof(toml) - 1, NULL, &error), 0);
    CHECK(weir__engine_new(&engine, rules, &options, &error) < 0);
    CHECK(strstr(error.text, "nothing in its expression can be looked for"));
    help_stop();
}

TEST(what_is_ahead_is_seen)
{
    static const struct known table[] = {
        {"regex = '''tk_[0-9]{10}(?=[;]end-of-token)'''", "tk_0123456789;end-of-token", 1},
        {"regex = '''tk_[0-9]{10}(?![;]end-of-token)'''", "tk_0123456789;end-of-token", 0},
        {"regex = '''tk_[0-9]{10}(?![;]end-of-token)'''", "tk_0123456789;end-of-tokeM", 1},
        {"regex = '''tk_[0-9]+(?=[;]end-of-token)'''\nmax-width = 13", "tk_0123456789;end-of-token",
         1},
        {"regex = '''(?m)tok_[0-9]{10}$'''", "tok_tok_0123456789\n", 1},
        {"regex = '''tok_[0-9]{10}\\b'''", "tok_tok_0123456789x", 0},
    };
    check_known(table, sizeof(table) / sizeof(*table));
}

TEST(characters_beyond_ascii_are_found)
{
    static const struct known table[] = {
        {"regex = '''=[äöü]{3}[0-9]{6};'''", "=äöü123456;", 1},
        {"regex = '''=\\p{L}{4}[0-9]{8};'''", "=éàüö12345678;", 1},
        {"regex = '''=[^é]{4}#[0-9]{7};'''", "=äöüß#1234567;", 1},
        {"regex = '''=[^é]{4}#[0-9]{7};'''", "=äöüé#1234567;", 0},
        {"regex = '''=\\x{e4}\\x{5bc6}{2}[0-9]{7};'''", "=ä密密1234567;", 1},
        {"regex = '''(?i)clé_secrète=[a-z0-9]{12}'''", "CLÉ_SECRÈTE=abcdef012345", 1},
        {"regex = '''(?i)key_[0-9]{8}é?'''", "\u212aey_12345678", 1},
        {"regex = '''tok_é?[0-9]{8}'''", "tok_12345678", 1},
        {"regex = '[0-9]{7}-[0-9]{9}'\nkeywords = ['schlüssel']", "SCHLÜSSEL 1234567-123456789", 1},
        {"regex = '[0-9]{7}-[0-9]{9}'\nkeywords = ['schlüssel']", "SCHLOSSEL 1234567-123456789", 0},
        {"regex = '[0-9]{7}-[0-9]{9}'\nkeywords = ['密码']", "密码 1234567-123456789", 1},
        {"regex = '[0-9]{7}-[0-9]{9}'\nkeywords = ['密码']", "密碼 1234567-123456789", 0},
    };
    check_known(table, sizeof(table) / sizeof(*table));
}

TEST(one_that_is_used_often_finds_the_same)
{
    static char text[8192];
    for (unsigned i = 0; i < 200; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "=x密密y%05u; ", i);
    CHECK_EQ(count_of("regex = '''=\\S\\D\\W\\p{L}[0-9]{5};'''", text), 200);
    CHECK_EQ(count_of("regex = '''=[^0][^0].[a-zé][0-9]{5};'''", text), 200);
}

TAP_MAIN()
