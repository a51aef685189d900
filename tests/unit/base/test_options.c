/* test_options.c - every kind of option, every way to write it, every way to get it wrong. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>
#include <weir/fault.h>

#include "tap.h"

struct values {
    bool json, all, all_again, sparse, follow, owner, group, has_owner;
    const char *text, *file, *dir;
    uint64_t files, size, wait, rate, any, limit;
    unsigned verify, holes;
    struct weir__list exclude, rules;
};

static const char *const verify_words[] = {"first", "always", "scrub", NULL};
static const char *const hole_words[] = {"keep", "make", "never", NULL};
static const char *const everybody[] = {"owner", "group", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .letter = 'j', .help = "h"},
    {WEIR__OPTION_FLAG(struct values, all), WEIR__AGAIN(struct values, all_again), .name = "all",
     .letter = 'a', .help = "h"},
    {WEIR__OPTION_TOGGLE(struct values, sparse), .name = "sparse", .preset = "yes", .help = "h"},
    {WEIR__OPTION_TOGGLE(struct values, follow), .name = "follow", .letter = 'L', .help = "h"},
    {WEIR__OPTION_STRING(struct values, text), .name = "text", .letter = 't', .preset = "none",
     .help = "h"},
    {WEIR__OPTION_FILE(struct values, file), .name = "file", .letter = 'f', .help = "h"},
    {WEIR__OPTION_DIRECTORY(struct values, dir), .name = "dir", .help = "h"},
    {WEIR__OPTION_COUNT(struct values, files), .name = "max-files-in-flight", .letter = 'n',
     .min = 1, .max = 4096, .preset = "1024", .help = "h"},
    {WEIR__OPTION_SIZE(struct values, size), .name = "size", .min = 4096, .preset = "64k",
     .help = "h"},
    {WEIR__OPTION_DURATION(struct values, wait), .name = "wait", .max = 60 * WEIR_NS_PER_S,
     .preset = "1.5s", .help = "h"},
    {WEIR__OPTION_RATE(struct values, rate), .name = "rate", .help = "h"},
    {WEIR__OPTION_COUNT(struct values, any), .name = "any", .help = "h"},
    {WEIR__OPTION_WORD(struct values, verify), .name = "verify", .words = verify_words,
     .preset = "always", .help = "h"},
    {WEIR__OPTION_LIST(struct values, exclude), .name = "exclude", .letter = 'x', .max = 3,
     .help = "h"},
    {WEIR__OPTION_LIST(struct values, rules), .name = "keep", .letter = 'k', .max = 4, .help = "h"},
    {WEIR__OPTION_LIST(struct values, rules), .name = "drop", .max = 4, .help = "h"},
    {WEIR__OPTION_TOGGLE(struct values, owner), .name = "owner", .letter = 'o', .preset = "yes",
     WEIR__GIVEN(struct values, has_owner), .help = "h"},
    {WEIR__OPTION_TOGGLE(struct values, group), .name = "group", .letter = 'g', .help = "h"},
    {WEIR__OPTION_GROUP(everybody), .name = "everybody", .letter = 'e', .help = "h"},
    {WEIR__OPTION_WORD(struct values, holes), .name = "holes", .letter = 'S', .words = hole_words,
     .preset = "never", .implied = "make", .negated = "never", .help = "h"},
    {WEIR__OPTION_SIZE(struct values, limit), .name = "limit", .initial = UINT64_MAX, .help = "h"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "SOURCE", .min = 1, .help = "what to copy"},
    {.name = "TARGET", .min = 1, .max = 1, .help = "where to"},
    {.name = NULL},
};

static const struct weir__example examples[] = {{"a", "a"}, {"b", "b"}, {"c", "c"}, {NULL, NULL}};

static const struct weir__usage usage = {
    .description = "D.",
    .examples = examples,
    .options = options,
    .operands = operands,
    .values_size = sizeof(struct values),
};

static struct values values;
static struct weir__parsed parsed;
static char *words[400];

/* Parses the arguments up to NULL; The words are kept, since the values point at them. */
static int parse_with(const struct weir__usage *how, const char *const *arguments)
{
    weir__options_fini(&usage, &values);
    memset(&parsed, 0, sizeof(parsed));
    int argc = 0;
    while (arguments[argc]) {
        words[argc] = (char *)(uintptr_t)arguments[argc];
        argc++;
    }
    words[argc] = NULL;
    return weir__options_parse(how, argc, words, &values, &parsed);
}

#define PARSE(...)    parse_with(&usage, (const char *const[]){__VA_ARGS__, NULL})
#define CHECK_OK(...) CHECK_EQ(PARSE(__VA_ARGS__, "s", "t"), 0)
#define CHECK_WRONG(message, ...)                                                                  \
    do {                                                                                           \
        CHECK_EQ(PARSE(__VA_ARGS__), -WEIR_E_USAGE);                                               \
        CHECK_STR(parsed.error, message);                                                          \
    } while (0)

TEST(the_table_is_sound)
{
    weir__options_check(&usage, "test");
}

TEST(defaults_come_from_the_table)
{
    CHECK_EQ(PARSE("s", "t"), 0);
    CHECK(!values.json && !values.all && values.sparse && !values.follow);
    CHECK_STR(values.text, "none");
    CHECK(!values.file && !values.dir);
    CHECK_EQ(values.files, 1024);
    CHECK_EQ(values.size, 65536);
    CHECK_EQ(values.wait, 1500 * WEIR_NS_PER_MS);
    CHECK_EQ(values.rate, 0);
    CHECK_EQ(values.verify, 1);
    CHECK_EQ(values.exclude.count, 0);
}

TEST(flags_and_toggles)
{
    CHECK_OK("--json", "--all");
    CHECK(values.json && values.all);
    CHECK_OK("-ja");
    CHECK(values.json && values.all);
    CHECK_OK("--no-sparse", "-L");
    CHECK(!values.sparse && values.follow);
    CHECK_OK("--no-sparse", "--sparse", "--follow", "--no-follow");
    CHECK(values.sparse && !values.follow);
}

TEST(values_in_all_four_forms)
{
    CHECK_OK("--max-files-in-flight=7");
    CHECK_EQ(values.files, 7);
    CHECK_OK("--max-files-in-flight", "8");
    CHECK_EQ(values.files, 8);
    CHECK_OK("-n9");
    CHECK_EQ(values.files, 9);
    CHECK_OK("-n", "10");
    CHECK_EQ(values.files, 10);
    CHECK_OK("-jan11");
    CHECK(values.files == 11 && values.json && values.all);
    CHECK_OK("-jan", "12");
    CHECK_EQ(values.files, 12);
    CHECK_OK("-n1", "-n2");
    CHECK_EQ(values.files, 2);
}

TEST(every_kind_of_value)
{
    CHECK_OK("--text=", "--file", "-", "--dir=a=b", "--size=1.5M", "--wait", "250ms", "--rate",
             "50M/s", "--verify=scrub", "--any=18446744073709551615");
    CHECK_STR(values.text, "");
    CHECK_STR(values.file, "-");
    CHECK_STR(values.dir, "a=b");
    CHECK_EQ(values.size, 3 << 19);
    CHECK_EQ(values.wait, 250 * WEIR_NS_PER_MS);
    CHECK_EQ(values.rate, 50 << 20);
    CHECK_EQ(values.verify, 2);
    CHECK(values.any == UINT64_MAX);
    CHECK_OK("--text", "--json");
    CHECK_STR(values.text, "--json");
    CHECK(!values.json);
    CHECK_OK("-t--");
    CHECK_STR(values.text, "--");
}

TEST(lists_keep_their_order)
{
    CHECK_OK("-xa", "--exclude=b", "--exclude", "c");
    CHECK_EQ(values.exclude.count, 3);
    CHECK_STR(values.exclude.items[0], "a");
    CHECK_STR(values.exclude.items[1], "b");
    CHECK_STR(values.exclude.items[2], "c");
    CHECK_WRONG("option '-x': 'd' is one too many: it may be given 3 times", "-xa", "-xb", "-xc",
                "-x", "d", "s", "t");
}

/* "keep" or "drop": by which option an item of the shared list came. */
static const char *rule_from(size_t at)
{
    return values.rules.from[at]->name;
}

TEST(options_that_share_a_list_keep_one_order)
{
    CHECK_OK("--drop=a", "-kb", "--drop", "c", "-xz", "--keep=d");
    CHECK_EQ(values.rules.count, 4);
    CHECK_STR(values.rules.items[0], "a");
    CHECK_STR(rule_from(0), "drop");
    CHECK_STR(values.rules.items[1], "b");
    CHECK_STR(rule_from(1), "keep");
    CHECK_STR(values.rules.items[2], "c");
    CHECK_STR(rule_from(2), "drop");
    CHECK_STR(values.rules.items[3], "d");
    CHECK_STR(rule_from(3), "keep");
    CHECK_EQ(values.exclude.count, 1);
    CHECK_STR(values.exclude.from[0]->name, "exclude");
    CHECK_WRONG("option '-k': 'e' is one too many: together with '--drop' it may be given 4 times",
                "--drop=a", "-kb", "-kc", "-kd", "-ke");
    CHECK_WRONG("option '-k': 'e' is one too many: it may be given 4 times", "-ka", "-kb", "-kc",
                "-kd", "-ke");
}

TEST(a_group_sets_its_members_and_the_last_wins)
{
    CHECK_OK("-e");
    CHECK(values.owner && values.group);
    CHECK_OK("--no-everybody");
    CHECK(!values.owner && !values.group);
    CHECK_OK("--everybody", "--no-owner");
    CHECK(!values.owner && values.group);
    CHECK_OK("--no-owner", "-e");
    CHECK(values.owner && values.group);
    CHECK_OK("-eg", "--no-group", "-j");
    CHECK(values.owner && !values.group && values.json);
    CHECK_WRONG("option '--everybody' takes no value, not 'x'", "--everybody=x");
    CHECK_WRONG("option '--no-everybody' takes no value, not 'x'", "--no-everybody=x");
}

TEST(letters_have_opposites_too)
{
    CHECK_OK("--no-o", "-g");
    CHECK(!values.owner && values.group);
    CHECK_OK("--no-e");
    CHECK(!values.owner && !values.group);
    CHECK_OK("-L", "--no-L");
    CHECK(!values.follow);
    CHECK_OK("-S", "--no-S");
    CHECK_EQ(values.holes, 2);
    CHECK_WRONG("unknown option '--no-j': see --help for those there are", "--no-j");
    CHECK_WRONG("unknown option '--no-%': see --help for those there are", "--no-%");
    CHECK_WRONG("unknown option '--no-everbody': did you mean '--no-everybody'?", "--no-everbody");
}

TEST(a_value_that_may_be_left_out)
{
    CHECK_EQ(PARSE("s", "t"), 0);
    CHECK_EQ(values.holes, 2);
    CHECK_OK("--holes");
    CHECK_EQ(values.holes, 1);
    CHECK_OK("--holes=keep");
    CHECK_EQ(values.holes, 0);
    CHECK_OK("-S");
    CHECK_EQ(values.holes, 1);
    CHECK_OK("-SjL");
    CHECK(values.holes == 1 && values.json && values.follow);
    CHECK_OK("-S", "--no-holes");
    CHECK_EQ(values.holes, 2);
    /* What follows is never taken for the value. */
    CHECK_EQ(PARSE("--holes", "keep", "t"), 0);
    CHECK_EQ(values.holes, 1);
    CHECK_EQ(parsed.operands_count, 2);
    CHECK_EQ(PARSE("-S", "keep", "t"), 0);
    CHECK_EQ(parsed.operands_count, 2);
    CHECK_WRONG("option '-S' takes no value: write '--holes=WORD'", "-S=keep");
    CHECK_WRONG("option '--holes': '' is not known: expected keep, make or never", "--holes=");
    CHECK_WRONG("option '--no-holes' takes no value, not 'keep'", "--no-holes=keep");
}

TEST(a_default_in_figures_and_a_default_said)
{
    CHECK_EQ(PARSE("s", "t"), 0);
    CHECK(values.limit == UINT64_MAX);
    CHECK(values.owner && !values.has_owner);
    CHECK_OK("--limit=0");
    CHECK_EQ(values.limit, 0);
    CHECK_OK("-o");
    CHECK(values.owner && values.has_owner);
    CHECK_OK("--no-owner");
    CHECK(!values.owner && values.has_owner);
    CHECK_OK("-e");
    CHECK(values.owner && !values.has_owner);
    char text[100];
    const struct weir__option size = {WEIR__OPTION_SIZE(struct values, size), .name = "x",
                                      .initial = 1 << 30, .help = "h"};
    weir__option_default(&size, text, sizeof(text));
    CHECK_STR(text, "1G");
    weir__option_default(&options[0], text, sizeof(text));
    CHECK_STR(text, "");
}

TEST(a_flag_that_is_repeated)
{
    CHECK_OK("-aj");
    CHECK(values.all && !values.all_again);
    CHECK_OK("-aa");
    CHECK(values.all && values.all_again);
    CHECK_OK("--all", "-j", "-a", "-a");
    CHECK(values.all && values.all_again);
    CHECK_OK("-jj"); /* where it has no meaning of its own, nothing comes of it */
    CHECK(values.json && !values.all && !values.all_again);
}

TEST(operands_anywhere)
{
    CHECK_EQ(PARSE("a", "--json", "b", "-n", "5", "-", "--", "--all", "-"), 0);
    CHECK_EQ(parsed.operands_count, 5);
    CHECK_STR(parsed.operands[0], "a");
    CHECK_STR(parsed.operands[1], "b");
    CHECK_STR(parsed.operands[2], "-");
    CHECK_STR(parsed.operands[3], "--all");
    CHECK_STR(parsed.operands[4], "-");
    CHECK(!parsed.operands[5]);
    CHECK(values.json && !values.all);
    CHECK_EQ(PARSE("", "", "--"), 0);
    CHECK_EQ(parsed.operands_count, 2);
}

TEST(operands_are_counted)
{
    CHECK_WRONG("SOURCE is missing: what to copy", "--json");
    CHECK_WRONG("TARGET is missing: where to", "a");
    static const struct weir__usage none = {.description = "D.", .examples = examples};
    CHECK_EQ(parse_with(&none, (const char *const[]){"a", NULL}), -WEIR_E_USAGE);
    CHECK_STR(parsed.error, "unexpected operand 'a': see --help for the usage");
}

TEST(operands_of_given_words)
{
    static const struct weir__operand shell[] = {
        {.name = "SHELL", .min = 1, .max = 1, .words = verify_words, .help = "h"}, {.name = NULL}};
    static const struct weir__usage one = {
        .description = "D.", .examples = examples, .operands = shell};
    CHECK_EQ(parse_with(&one, (const char *const[]){"scrub", NULL}), 0);
    CHECK_EQ(parse_with(&one, (const char *const[]){"frist", NULL}), -WEIR_E_USAGE);
    CHECK_STR(parsed.error,
              "SHELL 'frist' is not known: expected first, always or scrub; did you mean 'first'?");
    CHECK_EQ(parse_with(&one, (const char *const[]){"x", NULL}), -WEIR_E_USAGE);
    CHECK_STR(parsed.error, "SHELL 'x' is not known: expected first, always or scrub");
}

TEST(open_operands_take_any_word)
{
    static const struct weir__operand shell[] = {
        {.name = "SHELL", .words = verify_words, .is_open = true, .help = "h"}, {.name = NULL}};
    static const struct weir__usage open = {
        .description = "D.", .examples = examples, .operands = shell};
    CHECK_EQ(parse_with(&open, (const char *const[]){"scrub", "frist", NULL}), 0);
    CHECK_EQ(parsed.operands_count, 2);
}

TEST(help_stops_the_reading)
{
    CHECK_EQ(PARSE("-h"), 0);
    CHECK_EQ(parsed.help, WEIR__HELP_SHORT);
    CHECK_EQ(PARSE("--help", "--nonsense"), 0);
    CHECK_EQ(parsed.help, WEIR__HELP_LONG);
    CHECK_EQ(parsed.operands_count, 0);
    /* Among other letters it may as well be meant as something else. */
    CHECK_WRONG("option '-h' asks for help and stands alone", "-jh");
    CHECK_WRONG("option '-h' asks for help and stands alone", "-hj");
    CHECK_WRONG("option '-h' asks for help and stands alone", "-hh");
    CHECK_WRONG("unknown option '-help': did you mean '--help'?", "-help");
    CHECK_OK("-th");
    CHECK_STR(values.text, "h");
    CHECK_WRONG("option '--help' takes no value", "--help=x");
    CHECK_EQ(PARSE("s", "t", "--", "--help"), 0);
    CHECK_EQ(parsed.help, WEIR__HELP_NONE);
}

TEST(unknown_options_find_the_nearest)
{
    CHECK_WRONG("unknown option '--max-file': did you mean '--max-files-in-flight'?", "--max-file");
    CHECK_WRONG("unknown option '--jsno': did you mean '--json'?", "--jsno=3");
    CHECK_WRONG("unknown option '--s': did you mean one of '--sparse', '--size'?", "--s=1");
    CHECK_WRONG("unknown option '--flight': did you mean '--max-files-in-flight'?", "--flight=1");
    CHECK_WRONG("unknown option '--no-sprase': did you mean '--no-sparse'?", "--no-sprase");
    CHECK_WRONG("unknown option '--hepl': did you mean '--help'?", "--hepl");
    CHECK_WRONG("unknown option '--zzzzzz': see --help for those there are", "--zzzzzz");
    CHECK_WRONG("unknown option '--no-json': see --help for those there are", "--no-json");
    CHECK_WRONG("unknown option '--': see --help for those there are", "--=");
    CHECK_WRONG("unknown option '-z': see --help for those there are", "-z");
    CHECK_WRONG("unknown option '-z': see --help for those there are", "-jz");
    CHECK_WRONG("unknown option '-size=1': did you mean '--size=1'?", "-size=1");
    CHECK_WRONG("unknown option '-\xc3\xa4': see --help for those there are", "-\xc3\xa4");
}

TEST(options_that_are_refused_say_why)
{
    static const struct weir__refused refused[] = {
        {"-b --backup --josn", "is not offered: keep copies"},
        {"-h --no-clobber", "is something else"},
        {NULL, NULL},
    };
    struct weir__usage with = usage;
    with.refused = refused;
    weir__options_check(&with, "test");
#define CHECK_REFUSED(message, ...)                                                                \
    do {                                                                                           \
        CHECK_EQ(parse_with(&with, (const char *const[]){__VA_ARGS__, NULL}), -WEIR_E_USAGE);      \
        CHECK_STR(parsed.error, message);                                                          \
    } while (0)
    CHECK_REFUSED("option '-b' is not offered: keep copies", "-b");
    CHECK_REFUSED("option '-b' is not offered: keep copies", "-jab");
    CHECK_REFUSED("option '--backup' is not offered: keep copies", "--backup");
    CHECK_REFUSED("option '--backup' is not offered: keep copies", "--backup=x");
    CHECK_REFUSED("option '--no-backup' is not offered: keep copies", "--no-backup");
    CHECK_REFUSED("option '--no-b' is not offered: keep copies", "--no-b");
    CHECK_REFUSED("option '--josn' is not offered: keep copies", "--josn");
    CHECK_REFUSED("option '--no-clobber' is something else", "--no-clobber");
    CHECK_REFUSED("option '-h' is something else", "-jh");
    CHECK_REFUSED("unknown option '--clobber': see --help for those there are", "--clobber");
    CHECK_REFUSED("unknown option '--jsno': did you mean '--json'?", "--jsno");
    CHECK_REFUSED("unknown option '--backu': see --help for those there are", "--backu");
    CHECK_EQ(parse_with(&with, (const char *const[]){"-h", NULL}), 0);
    CHECK_EQ(parsed.help, WEIR__HELP_SHORT);
    CHECK_EQ(parse_with(&with, (const char *const[]){"--", "-b", "--backup", NULL}), 0);
}

TEST(a_toggle_may_bring_others)
{
    static const char *const brought[] = {"owner", NULL};
    struct weir__option table[sizeof(options) / sizeof(options[0])];
    memcpy(table, options, sizeof(options));
    for (struct weir__option *o = table; o->name; o++)
        if (strcmp(o->name, "group") == 0)
            o->members = brought;
    struct weir__usage with = usage;
    with.options = table;
    weir__options_check(&with, "test");
    CHECK_EQ(parse_with(&with, (const char *const[]){"--no-owner", "-g", "s", "t", NULL}), 0);
    CHECK(values.group && values.owner);
    CHECK_EQ(parse_with(&with, (const char *const[]){"-g", "--no-owner", "s", "t", NULL}), 0);
    CHECK(values.group && !values.owner);
    CHECK_EQ(parse_with(&with, (const char *const[]){"--no-group", "s", "t", NULL}), 0);
    CHECK(!values.group && values.owner);
}

TEST(names_are_never_abbreviated)
{
    CHECK_WRONG("unknown option '--verif': did you mean '--verify'?", "--verif=first");
}

TEST(values_that_are_missing_or_too_much)
{
    CHECK_WRONG("option '--json' takes no value, not 'yes'", "--json=yes");
    CHECK_WRONG("option '--no-sparse' takes no value, not ''", "--no-sparse=");
    CHECK_WRONG("option '--text' needs a value: TEXT", "--text");
    CHECK_WRONG("option '-n' needs a value: N, 1 to 4096", "-n");
    CHECK_WRONG("option '--verify' needs a value: WORD, first, always or scrub", "--verify");
    CHECK_WRONG("option '--file': '' is not a path: expected a name that is not empty", "--file=");
    CHECK_WRONG("option '-f': 'b' is one too many: it may be given once", "--file=a", "-f", "b");
    CHECK_OK("--file=a", "--dir=b");
    CHECK_STR(values.file, "a");
}

TEST(values_name_what_is_allowed)
{
    CHECK_WRONG("option '--max-files-in-flight': '0' is out of range: expected 1 to 4096",
                "--max-files-in-flight=0");
    CHECK_WRONG("option '-n': '4097' is out of range: expected 1 to 4096", "-n", "4097");
    CHECK_WRONG("option '-n': '99999999999999999999' is out of range: expected 1 to 4096",
                "-n99999999999999999999");
    CHECK_WRONG("option '-n': 'x' is not a number: expected digits alone, 1 to 4096", "-nx");
    CHECK_WRONG("option '--size': '1' is out of range: expected at least 4k", "--size=1");
    CHECK_WRONG("option '--size': '99999999P' is out of range: expected at most "
                "18446744073709551615",
                "--size=99999999P");
    CHECK_WRONG("option '--size': '1q' is not a size: expected a number of bytes, as in 512, 64k, "
                "1.5G or 10MB, at least 4k",
                "--size", "1q");
    CHECK_WRONG("option '--wait': '5' is not a duration: expected a number and a unit, as in "
                "250ms, 1.5s, 2m or 1h, 0 to 1m",
                "--wait=5");
    CHECK_WRONG("option '--wait': '2m' is out of range: expected 0 to 1m", "--wait=2m");
    CHECK_WRONG("option '--rate': '' is not a rate: expected bytes a second, as in 500k, 50M or "
                "1G/s",
                "--rate=");
    CHECK_WRONG("option '--verify': 'alwasy' is not known: expected first, always or scrub; did "
                "you mean 'always'?",
                "--verify=alwasy");
    CHECK_WRONG("option '--verify': '' is not known: expected first, always or scrub", "--verify=");
}

/* The error has the first 80 bytes of an argument, the mark of the cut and the rest of the line. */
static void check_cut(const char *before, char letter, size_t count, const char *after)
{
    char run[100];
    memset(run, letter, count);
    char wanted[WEIR__PARSE_ERROR_MAX];
    snprintf(wanted, sizeof(wanted), "%s%.*s...%s", before, (int)count, run, after);
    CHECK_STR(parsed.error, wanted);
}

TEST(long_nonsense_makes_a_short_line_and_the_cut_is_marked)
{
    static char nonsense[100000] = "--";
    memset(nonsense + 2, 'x', sizeof(nonsense) - 3);
    CHECK_EQ(PARSE(nonsense), -WEIR_E_USAGE);
    check_cut("unknown option '--", 'x', 80, "': see --help for those there are");
    CHECK_EQ(PARSE("--verify", nonsense), -WEIR_E_USAGE);
    check_cut("option '--verify': '--", 'x', 78, "' is not known: expected first, always or scrub");
    CHECK_EQ(PARSE("-n", nonsense), -WEIR_E_USAGE);
    check_cut("option '-n': '--", 'x', 78, "' is not a number: expected digits alone, 1 to 4096");
    static char number[1000];
    memset(number, '9', sizeof(number) - 1);
    CHECK_EQ(PARSE("-n", number), -WEIR_E_USAGE);
    check_cut("option '-n': '", '9', 80, "' is out of range: expected 1 to 4096");
    CHECK_EQ(PARSE("-xa", "-xb", "-xc", "-x", number), -WEIR_E_USAGE);
    check_cut("option '-x': '", '9', 80, "' is one too many: it may be given 3 times");
    static char flag[1000] = "--json=";
    memset(flag + 7, 'y', sizeof(flag) - 8);
    CHECK_EQ(PARSE(flag), -WEIR_E_USAGE);
    check_cut("option '--json' takes no value, not '", 'y', 80, "'");
    static const struct weir__usage none = {.description = "D.", .examples = examples};
    CHECK_EQ(parse_with(&none, (const char *const[]){number, NULL}), -WEIR_E_USAGE);
    check_cut("unexpected operand '", '9', 80, "': see --help for the usage");
    CHECK_EQ(PARSE("-j", nonsense + 1), -WEIR_E_USAGE);
    CHECK(strlen(parsed.error) < 300);
}

static void check_bad_table(void *arg)
{
    const struct weir__usage bad = {
        .description = "D.", .examples = examples, .options = arg, .values_size = sizeof(values)};
    weir__options_check(&bad, "test");
}

#define CHECK_BAD_TABLE(message, ...)                                                              \
    do {                                                                                           \
        struct weir__option bad[] = {__VA_ARGS__, WEIR__OPTIONS_END};                              \
        CHECK(tap_dies(check_bad_table, bad, message));                                            \
    } while (0)

TEST(unsound_tables_are_programming_errors)
{
    CHECK_BAD_TABLE("option 'a': it needs one line of help", {.name = "a"});
    CHECK_BAD_TABLE("option 'Upper'", {.name = "Upper", .help = "h"});
    CHECK_BAD_TABLE("option 'help'", {.name = "help", .help = "h"});
    CHECK_BAD_TABLE("option 'no-x'", {.name = "no-x", .help = "h"});
    CHECK_BAD_TABLE("other than h", {.name = "a", .letter = 'h', .help = "h"});
    CHECK_BAD_TABLE("is taken", {.name = "a", .help = "h"}, {.name = "a", .help = "h"});
    CHECK_BAD_TABLE("is taken", {.name = "a", .letter = 'x', .help = "h"},
                    {.name = "b", .letter = 'x', .help = "h"});
    CHECK_BAD_TABLE("must be a toggle", {.name = "a", .preset = "yes", .help = "h"});
    CHECK_BAD_TABLE("only a flag",
                    {.kind = WEIR__KIND_TOGGLE, .again = 1, .name = "a", .help = "h"});
    CHECK_BAD_TABLE("its default is not one of its values",
                    {WEIR__OPTION_COUNT(struct values, any), .name = "a", .max = 3, .preset = "4",
                     .help = "h"});
    CHECK_BAD_TABLE("words belong to a word",
                    {WEIR__OPTION_WORD(struct values, verify), .name = "a", .help = "h"});
    CHECK_BAD_TABLE("belongs to a number that has no other",
                    {WEIR__OPTION_COUNT(struct values, any), .name = "a", .preset = "4",
                     .initial = 4, .help = "h"});
    CHECK_BAD_TABLE(
        "belongs to an option that takes one",
        {WEIR__OPTION_FLAG(struct values, json), .name = "a", .implied = "yes", .help = "h"});
    CHECK_BAD_TABLE("is not one of its values",
                    {WEIR__OPTION_WORD(struct values, verify), .words = verify_words, .name = "a",
                     .implied = "yes", .help = "h"});
    CHECK_BAD_TABLE("is not one of its values",
                    {WEIR__OPTION_WORD(struct values, verify), .words = verify_words, .name = "a",
                     .negated = "no", .help = "h"});
    CHECK_BAD_TABLE("members belong to a group",
                    {.kind = WEIR__KIND_GROUP, .name = "a", .help = "h"});
    CHECK_BAD_TABLE("are toggles of its table",
                    {WEIR__OPTION_GROUP(everybody), .name = "a", .help = "h"});
    CHECK_BAD_TABLE("are toggles of its table",
                    {WEIR__OPTION_FLAG(struct values, owner), .name = "owner", .help = "h"},
                    {WEIR__OPTION_TOGGLE(struct values, group), .name = "group", .help = "h"},
                    {WEIR__OPTION_GROUP(everybody), .name = "a", .help = "h"});
}

static void check_bad_refusal(void *arg)
{
    struct weir__usage bad = usage;
    bad.refused = arg;
    weir__options_check(&bad, "test");
}

#define CHECK_BAD_REFUSAL(message, names, why)                                                     \
    CHECK(tap_dies(check_bad_refusal, (struct weir__refused[]){{names, why}, {NULL, NULL}},        \
                   message))

TEST(unsound_refusals_are_programming_errors)
{
    CHECK_BAD_REFUSAL("one line that says why", "-b", NULL);
    CHECK_BAD_REFUSAL("one line that says why", "-b", "is not offered.");
    CHECK_BAD_REFUSAL("each is a dash and a letter", "backup", "is not offered");
    CHECK_BAD_REFUSAL("each is a dash and a letter", "-b --", "is not offered");
    CHECK_BAD_REFUSAL("each is a dash and a letter", "-bc", "is not offered");
    CHECK_BAD_REFUSAL("one of them is offered", "-b -j", "is not offered");
    CHECK_BAD_REFUSAL("one of them is offered", "--backup --json", "is not offered");
}

#ifdef WEIR_FAULTS
TEST(every_allocation_may_fail)
{
    for (uint64_t n = 1;; n++) {
        weir_fault_arm(WEIR_FAULT_ALLOC, n);
        int result = PARSE("-xa", "-xb", "-xc", "s", "t");
        bool was_hit = weir_fault_was_hit(WEIR_FAULT_ALLOC);
        weir_fault_arm(WEIR_FAULT_ALLOC, 0);
        CHECK_EQ(result, was_hit ? -WEIR_E_NO_MEMORY : 0);
        if (!was_hit)
            break;
        CHECK_STR(parsed.error, "option '-x': out of memory");
    }
}
#endif

TEST(frees_its_lists)
{
    weir__options_fini(&usage, &values);
    weir__options_fini(&usage, &values);
    weir__options_fini(&usage, NULL);
}

TAP_MAIN()
