/* option_value.c - texts to fields, one function per kind. */
#include "option_value.h"

#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "require.h"
#include "suggest.h"
#include "values.h"

#include "banned.h"

/* How each kind is spoken of. Kinds without a unit have no form. */
static const struct kind {
    const char *value_name;
    const char *noun;
    const char *form;
    enum weir__unit unit;
} kinds[] = {
    [WEIR__KIND_FLAG] = {NULL, NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__KIND_TOGGLE] = {NULL, NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__KIND_STRING] = {"TEXT", NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__KIND_PATH] = {"PATH", NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__KIND_COUNT] = {"N", "a number", "digits alone", WEIR__UNIT_COUNT},
    [WEIR__KIND_SIZE] = {"SIZE", "a size", "a number of bytes, as in 512, 64k, 1.5G or 10MB",
                         WEIR__UNIT_SIZE},
    [WEIR__KIND_DURATION] = {"TIME", "a duration",
                             "a number and a unit, as in 250ms, 1.5s, 2m or 1h",
                             WEIR__UNIT_DURATION},
    [WEIR__KIND_RATE] = {"RATE", "a rate", "bytes a second, as in 500k, 50M or 1G/s",
                         WEIR__UNIT_RATE},
    [WEIR__KIND_WORD] = {"WORD", NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__KIND_LIST] = {"TEXT", NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__KIND_GROUP] = {NULL, NULL, NULL, WEIR__UNIT_COUNT},
};

static void *field_of(const struct weir__option *option, void *values)
{
    return (char *)values + option->offset;
}

bool weir__option_takes_value(const struct weir__option *option)
{
    return option->kind != WEIR__KIND_FLAG && option->kind != WEIR__KIND_TOGGLE &&
           option->kind != WEIR__KIND_GROUP;
}

bool weir__option_is_negatable(const struct weir__option *option)
{
    return option->kind == WEIR__KIND_TOGGLE || option->kind == WEIR__KIND_GROUP || option->negated;
}

void weir__option_default(const struct weir__option *option, char *text, size_t size)
{
    char number[WEIR__VALUE_TEXT_MAX] = "";
    if (!option->preset && option->initial != 0 && option->initial != UINT64_MAX)
        weir__value_format(kinds[option->kind].unit, option->initial, number);
    snprintf(text, size, "%s", option->preset ? option->preset : number);
}

const char *weir__option_value_name(const struct weir__option *option)
{
    return option->value_name ? option->value_name : kinds[option->kind].value_name;
}

void weir__words_join(const char *const *words, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; words[i] && at < size - 1; i++) {
        const char *before = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        int length = snprintf(text + at, size - at, "%s%s", before, words[i]);
        at += (size_t)length < size - at ? (size_t)length : size - at - 1;
    }
}

static uint64_t max_of(const struct weir__option *option)
{
    if (option->kind == WEIR__KIND_LIST)
        return option->max ? option->max : WEIR__LIST_MAX;
    return option->max ? option->max : UINT64_MAX;
}

void weir__option_range(const struct weir__option *option, char *text, size_t size)
{
    text[0] = '\0';
    if (option->kind == WEIR__KIND_WORD) {
        weir__words_join(option->words, text, size);
        return;
    }
    if (!kinds[option->kind].form)
        return;
    char min[WEIR__VALUE_TEXT_MAX], max[WEIR__VALUE_TEXT_MAX];
    enum weir__unit unit = kinds[option->kind].unit;
    weir__value_format(unit, option->min, min);
    weir__value_format(unit, max_of(option), max);
    if (option->max != 0)
        snprintf(text, size, "%s to %s", min, max);
    else if (option->min > 0)
        snprintf(text, size, "at least %s", min);
}

static int store_number(const struct weir__option *option, const char *text, void *values,
                        char *problem, size_t problem_size)
{
    const struct kind *kind = &kinds[option->kind];
    char range[2 * WEIR__VALUE_TEXT_MAX + 16];
    weir__option_range(option, range, sizeof(range));
    uint64_t value;
    int result = weir__value_parse(kind->unit, text, &value);
    if (result == -WEIR_E_INVALID) {
        snprintf(problem, problem_size, "'%s' is not %s: expected %s%s%s", WEIR__TYPED(text),
                 kind->noun, kind->form, range[0] != '\0' ? ", " : "", range);
        return -WEIR_E_USAGE;
    }
    if (result < 0 || value < option->min || value > max_of(option)) {
        /* Without a limit of its own, a number can still be more than 64 bits hold. */
        char limit[WEIR__VALUE_TEXT_MAX];
        weir__value_format(WEIR__UNIT_COUNT, UINT64_MAX, limit);
        bool is_huge = result < 0 && option->max == 0;
        snprintf(problem, problem_size, "'%s' is out of range: expected %s%s", WEIR__TYPED(text),
                 is_huge ? "at most " : range, is_huge ? limit : "");
        return -WEIR_E_USAGE;
    }
    memcpy(field_of(option, values), &value, sizeof(value));
    return 0;
}

static int store_word(const struct weir__option *option, const char *text, void *values,
                      char *problem, size_t problem_size)
{
    struct weir__suggestion suggestion = {.word = ""};
    for (unsigned i = 0; option->words[i]; i++) {
        if (strcmp(option->words[i], text) == 0) {
            memcpy(field_of(option, values), &i, sizeof(i));
            return 0;
        }
        weir__suggest_offer(&suggestion, text, option->words[i]);
    }
    char list[160];
    weir__words_join(option->words, list, sizeof(list));
    int length =
        snprintf(problem, problem_size, "'%s' is not known: expected %s", WEIR__TYPED(text), list);
    if (suggestion.word[0] != '\0' && length > 0 && (size_t)length < problem_size)
        snprintf(problem + length, problem_size - (size_t)length, "; did you mean '%s'?",
                 suggestion.word);
    return -WEIR_E_USAGE;
}

static int refuse_list(const struct weir__option *option, const struct weir__list *list,
                       const char *text, char *problem, size_t problem_size)
{
    const struct weir__option *other = NULL;
    for (size_t i = 0; i < list->count && !other; i++)
        other = list->from[i] != option ? list->from[i] : NULL;
    char with[WEIR__SUGGEST_MAX + 32] = "it";
    if (other)
        snprintf(with, sizeof(with), "together with '--%s' it", other->name);
    snprintf(problem, problem_size, "'%s' is one too many: %s may be given %llu times",
             WEIR__TYPED(text), with, (unsigned long long)max_of(option));
    return -WEIR_E_USAGE;
}

static int store_list(const struct weir__option *option, const char *text, void *values,
                      char *problem, size_t problem_size)
{
    struct weir__list *list = field_of(option, values);
    if (list->count >= max_of(option))
        return refuse_list(option, list, text, problem, problem_size);
    /* Longer arrays than the count says do no harm if the second one cannot be had. */
    const char **items =
        weir__base_realloc((void *)list->items, list->count + 1, sizeof(list->items[0]));
    if (!items)
        return -WEIR_E_NO_MEMORY;
    list->items = items;
    const struct weir__option **from =
        weir__base_realloc((void *)list->from, list->count + 1, sizeof(list->from[0]));
    if (!from)
        return -WEIR_E_NO_MEMORY;
    list->from = from;
    items[list->count] = text;
    from[list->count] = option;
    list->count++;
    return 0;
}

/* Of two files one would be left out: who names both wants both. */
static int store_path(const struct weir__option *option, const char *text, void *values,
                      char *problem, size_t problem_size)
{
    const char *before;
    memcpy(&before, field_of(option, values), sizeof(before));
    if (*text == '\0') {
        snprintf(problem, problem_size, "'' is not a path: expected a name that is not empty");
        return -WEIR_E_USAGE;
    }
    if (before && before != option->preset) {
        snprintf(problem, problem_size, "'%s' is one too many: it may be given once",
                 WEIR__TYPED(text));
        return -WEIR_E_USAGE;
    }
    memcpy(field_of(option, values), &text, sizeof(text));
    return 0;
}

int weir__option_store(const struct weir__option *option, const char *text, void *values,
                       char *problem, size_t problem_size)
{
    switch (option->kind) {
    case WEIR__KIND_WORD:
        return store_word(option, text, values, problem, problem_size);
    case WEIR__KIND_LIST:
        return store_list(option, text, values, problem, problem_size);
    case WEIR__KIND_PATH:
        return store_path(option, text, values, problem, problem_size);
    case WEIR__KIND_STRING:
        memcpy(field_of(option, values), &text, sizeof(text));
        return 0;
    case WEIR__KIND_FLAG:
    case WEIR__KIND_TOGGLE:
    case WEIR__KIND_GROUP:
        break;
    case WEIR__KIND_COUNT:
    case WEIR__KIND_SIZE:
    case WEIR__KIND_DURATION:
    case WEIR__KIND_RATE:
        return store_number(option, text, values, problem, problem_size);
    }
    WEIR__REQUIRE(false, "option", option->name, "takes no value");
}

void weir__option_set(const struct weir__option *option, bool value, void *values)
{
    memcpy(field_of(option, values), &value, sizeof(value));
}

void weir__option_preset(const struct weir__option *option, void *values)
{
    if (!option->preset) {
        if (option->initial != 0)
            memcpy(field_of(option, values), &option->initial, sizeof(option->initial));
        return;
    }
    if (option->kind == WEIR__KIND_TOGGLE) {
        weir__option_set(option, strcmp(option->preset, "yes") == 0, values);
        return;
    }
    char problem[WEIR__PARSE_ERROR_MAX];
    int result = weir__option_store(option, option->preset, values, problem, sizeof(problem));
    WEIR__REQUIRE(result == 0, "option", option->name, "its default is not one of its values");
}

void weir__option_clear(const struct weir__option *option, void *values)
{
    struct weir__list *list = field_of(option, values);
    weir__base_free((void *)list->items);
    weir__base_free((void *)list->from);
    *list = (struct weir__list){0};
}
