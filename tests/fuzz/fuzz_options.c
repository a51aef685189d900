/* fuzz_options.c - any bytes as a command line: parsing ends, stays in bounds and tells the truth.
 *
 * The input is cut into arguments at its NUL bytes. What must hold whatever they are: the result is
 * one of three, a refusal has one line of text, accepted values are within the limits of the table,
 * and the operands are arguments that were given, in their order. Every argument is also read as a
 * number of each unit; one that is a number comes back from what is written for programs, and what
 * is written for people fits.
 */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "require.h"
#include "suggest.h"
#include "values.h"

#include "banned.h"

#define ARGUMENTS_MAX 64
#define FILES_MAX     4096
#define EXCLUDE_MAX   5

struct values {
    bool json, all, sparse, owner, group, has_owner;
    const char *text, *file, *dir;
    uint64_t files, size, wait, rate;
    unsigned verify, holes;
    struct weir__list exclude;
};

static const char *const verify_words[] = {"first", "always", "scrub", NULL};
static const char *const hole_words[] = {"keep", "make", "never", NULL};
static const char *const everybody[] = {"owner", "group", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .letter = 'j', .help = "h"},
    {WEIR__OPTION_FLAG(struct values, all), .name = "all", .letter = 'a', .help = "h"},
    {WEIR__OPTION_TOGGLE(struct values, sparse), .name = "sparse", .preset = "yes", .help = "h"},
    {WEIR__OPTION_STRING(struct values, text), .name = "text", .letter = 't', .help = "h"},
    {WEIR__OPTION_FILE(struct values, file), .name = "file", .letter = 'f', .help = "h"},
    {WEIR__OPTION_DIRECTORY(struct values, dir), .name = "dir", .help = "h"},
    {WEIR__OPTION_COUNT(struct values, files), .name = "max-files", .letter = 'n', .min = 1,
     .max = FILES_MAX, .preset = "1024", .help = "h"},
    {WEIR__OPTION_SIZE(struct values, size), .name = "size", .letter = 's', .help = "h"},
    {WEIR__OPTION_DURATION(struct values, wait), .name = "wait", .letter = 'w',
     .max = 60 * WEIR_NS_PER_S, .help = "h"},
    {WEIR__OPTION_RATE(struct values, rate), .name = "rate", .letter = 'r', .help = "h"},
    {WEIR__OPTION_WORD(struct values, verify), .name = "verify", .letter = 'v',
     .words = verify_words, .help = "h"},
    {WEIR__OPTION_LIST(struct values, exclude), .name = "exclude", .letter = 'x',
     .max = EXCLUDE_MAX, .help = "h"},
    {WEIR__OPTION_LIST(struct values, exclude), .name = "include", .letter = 'i',
     .max = EXCLUDE_MAX, .help = "h"},
    {WEIR__OPTION_TOGGLE(struct values, owner), .name = "owner", .letter = 'o',
     WEIR__GIVEN(struct values, has_owner), .help = "h"},
    {WEIR__OPTION_TOGGLE(struct values, group), .name = "group", .letter = 'g', .help = "h"},
    {WEIR__OPTION_GROUP(everybody), .name = "everybody", .letter = 'e', .help = "h"},
    {WEIR__OPTION_WORD(struct values, holes), .name = "holes", .letter = 'S', .words = hole_words,
     .implied = "make", .negated = "never", .help = "h"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "MODE", .min = 1, .max = 1, .words = verify_words, .help = "h"},
    {.name = "SOURCE", .help = "h"},
    {.name = "TARGET", .min = 1, .max = 1, .help = "h"},
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

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "options", #condition)

static void check_accepted(const struct values *values, const struct weir__parsed *parsed,
                           char *const *given, int given_count)
{
    HOLDS(values->files >= 1 && values->files <= FILES_MAX);
    HOLDS(values->wait <= 60 * WEIR_NS_PER_S);
    HOLDS(values->verify < 3);
    HOLDS(values->holes < 3);
    HOLDS(values->has_owner || !values->owner || given_count > parsed->operands_count);
    HOLDS(values->exclude.count <= EXCLUDE_MAX);
    for (size_t i = 0; i < values->exclude.count; i++)
        HOLDS(values->exclude.from[i]->offset == offsetof(struct values, exclude));
    HOLDS(!values->file || *values->file != '\0');
    HOLDS(parsed->help != WEIR__HELP_NONE || parsed->operands_count >= 2);
    int at = 0;
    for (int i = 0; i < parsed->operands_count; i++) {
        while (at < given_count && given[at] != parsed->operands[i])
            at++;
        HOLDS(at++ < given_count);
    }
}

static bool is_text(const char *text)
{
    return text[0] != '\0' && memchr(text, '\0', WEIR__VALUE_TEXT_MAX);
}

/* Every number that parses is written and read back as itself. */
static void check_value(const char *text)
{
    for (int unit = WEIR__UNIT_COUNT; unit <= WEIR__UNIT_RATE; unit++) {
        uint64_t value, again;
        char written[WEIR__VALUE_TEXT_MAX];
        if (weir__value_parse((enum weir__unit)unit, text, &value) < 0)
            continue;
        weir__value_format((enum weir__unit)unit, value, written);
        HOLDS(is_text(written));
        HOLDS(weir__value_parse((enum weir__unit)unit, written, &again) == 0 && again == value);
        weir__value_human_size(value, written);
        HOLDS(is_text(written));
        weir__value_human_time(value, written);
        HOLDS(is_text(written));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size + 1);
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    bytes[size] = '\0';
    char *arguments[ARGUMENTS_MAX + 1], *given[ARGUMENTS_MAX];
    int count = 0;
    for (size_t at = 0; at < size && count < ARGUMENTS_MAX; at += strlen(bytes + at) + 1) {
        given[count] = bytes + at;
        arguments[count++] = bytes + at;
        check_value(bytes + at);
    }
    arguments[count] = NULL;
    struct values values;
    struct weir__parsed parsed = {.error = ""};
    int result = weir__options_parse(&usage, count, arguments, &values, &parsed);
    HOLDS(result == 0 || result == -WEIR_E_USAGE);
    HOLDS((parsed.error[0] == '\0') == (result == 0));
    if (result == 0)
        check_accepted(&values, &parsed, given, count);
    weir__options_fini(&usage, &values);
    free(bytes);
    return 0;
}
