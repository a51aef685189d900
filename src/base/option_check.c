/* option_check.c - is a table of options sound? Asked whenever help is printed, so every test that
 * prints the help of every command finds a bad one. */
#include <string.h>

#include "alloc.h"
#include "option_value.h"
#include "require.h"
#include "suggest.h"

#include "banned.h"

static bool is_name(const char *name)
{
    for (const char *p = name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || (*p == '-' && p > name)))
            return false;
    return *name != '\0' && strlen(name) + 3 <= WEIR__SUGGEST_MAX && strncmp(name, "no-", 3) != 0;
}

static bool is_help_line(const char *text)
{
    return text && *text && !strchr(text, '\n') && text[strlen(text) - 1] != '.';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_number(const struct weir__option *option)
{
    return option->kind == WEIR__KIND_COUNT || option->kind == WEIR__KIND_SIZE ||
           option->kind == WEIR__KIND_DURATION || option->kind == WEIR__KIND_RATE;
}

static bool is_toggle(const struct weir__usage *usage, const char *name)
{
    for (const struct weir__option *o = usage->options; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o->kind == WEIR__KIND_TOGGLE;
    return false;
}

/* What belongs to some kinds alone. */
static void check_extras(const struct weir__usage *usage, const struct weir__option *option)
{
    const char *name = option->name;
    WEIR__REQUIRE(option->initial == 0 || (is_number(option) && !option->preset), "option", name,
                  "a default in figures belongs to a number that has no other");
    WEIR__REQUIRE((!option->implied && !option->negated) || weir__option_takes_value(option),
                  "option", name,
                  "an implied or negated value belongs to an option that takes one");
    WEIR__REQUIRE(option->kind == WEIR__KIND_TOGGLE ||
                      (option->kind == WEIR__KIND_GROUP) == (option->members != NULL),
                  "option", name, "members belong to a group or a toggle, and to nothing else");
    for (const char *const *member = option->members; member && *member; member++)
        WEIR__REQUIRE(is_toggle(usage, *member), "option", name,
                      "its members are toggles of its table");
}

static void check_option(const struct weir__usage *usage, const struct weir__option *option)
{
    const char *name = option->name;
    WEIR__REQUIRE(is_name(name) && strcmp(name, "help") != 0, "option", name,
                  "its name must be short, of a-z, 0-9 and dashes, and not help or no-...");
    WEIR__REQUIRE(is_help_line(option->help), "option", name,
                  "it needs one line of help without a full stop");
    WEIR__REQUIRE(option->letter == '\0' || (is_letter(option->letter) && option->letter != 'h'),
                  "option", name, "its letter must be a letter or digit other than h");
    WEIR__REQUIRE((option->kind == WEIR__KIND_WORD) == (option->words != NULL), "option", name,
                  "words belong to a word, and to nothing else");
    WEIR__REQUIRE(option->kind != WEIR__KIND_WORD || option->words[0], "option", name,
                  "it has no words");
    WEIR__REQUIRE(option->max == 0 || option->min <= option->max, "option", name,
                  "its minimum is above its maximum");
    WEIR__REQUIRE((option->kind != WEIR__KIND_FLAG && option->kind != WEIR__KIND_GROUP) ||
                      !option->preset,
                  "option", name, "a flag that is on by default must be a toggle");
    WEIR__REQUIRE(option->kind == WEIR__KIND_FLAG || option->again == 0, "option", name,
                  "only a flag means more when it is repeated");
    WEIR__REQUIRE(option->kind != WEIR__KIND_LIST || !option->preset, "option", name,
                  "a list has no default");
    WEIR__REQUIRE(option->kind != WEIR__KIND_TOGGLE || !option->preset ||
                      strcmp(option->preset, "yes") == 0 || strcmp(option->preset, "no") == 0,
                  "option", name, "the default of a toggle is yes or no");
    check_extras(usage, option);
    for (const struct weir__option *other = usage->options; other < option; other++)
        WEIR__REQUIRE(strcmp(other->name, name) != 0 &&
                          (option->letter == '\0' || other->letter != option->letter),
                      "option", name, "its name or letter is taken");
}

/* What is refused must be written as people would write it, and must not be offered. */
static void check_refused(const struct weir__usage *usage, const struct weir__refused *refused)
{
    WEIR__REQUIRE(is_help_line(refused->why), "options", refused->names,
                  "they need one line that says why they are refused, without a full stop");
    for (const char *at = refused->names; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        bool is_long = length > 2 && at[1] == '-';
        WEIR__REQUIRE(at[0] == '-' && (is_long || (length == 2 && is_letter(at[1]))), "options",
                      refused->names, "each is a dash and a letter, or two dashes and a name");
        for (const struct weir__option *o = usage->options; o && o->name; o++)
            WEIR__REQUIRE(is_long ? strlen(o->name) != length - 2 ||
                                        memcmp(o->name, at + 2, length - 2) != 0
                                  : o->letter != at[1],
                          "options", refused->names, "one of them is offered");
        at += length;
    }
}

static void check_stored(const struct weir__option *option, const char *text, void *values)
{
    char problem[WEIR__PARSE_ERROR_MAX];
    int result = text ? weir__option_store(option, text, values, problem, sizeof(problem)) : 0;
    WEIR__REQUIRE(result == 0, "option", option->name,
                  "what it stands for alone, or negated, is not one of its values");
}

/* Stores every default into values of its own: weir__option_preset() asserts that it is allowed. */
static void check_presets(const struct weir__usage *usage)
{
    void *values = usage->values_size > 0 ? weir__base_alloc(1, usage->values_size) : NULL;
    if (!values)
        return;
    for (const struct weir__option *o = usage->options; o && o->name; o++)
        weir__option_preset(o, values);
    for (const struct weir__option *o = usage->options; o && o->name; o++) {
        check_stored(o, o->implied, values);
        check_stored(o, o->negated, values);
    }
    weir__options_fini(usage, values);
    weir__base_free(values);
}

void weir__options_check(const struct weir__usage *usage, const char *command)
{
    unsigned examples = 0;
    for (const struct weir__example *e = usage->examples; e && e->line; e++, examples++)
        WEIR__REQUIRE(is_help_line(e->text), "command", command,
                      "an example needs one line of text without a full stop");
    WEIR__REQUIRE(examples >= 3, "command", command, "it needs three examples");
    WEIR__REQUIRE(usage->description && *usage->description, "command", command,
                  "it needs a description");
    for (const struct weir__option *o = usage->options; o && o->name; o++)
        check_option(usage, o);
    for (const struct weir__refused *r = usage->refused; r && r->names; r++)
        check_refused(usage, r);
    unsigned varying = 0;
    for (const struct weir__operand *o = usage->operands; o && o->name; o++) {
        WEIR__REQUIRE(is_help_line(o->help), "operand", o->name, "it needs one line of help");
        WEIR__REQUIRE(!o->is_open || o->words, "operand", o->name, "it is open and has no words");
        varying += o->min != o->max;
    }
    WEIR__REQUIRE(varying <= 1, "command", command, "only one operand may vary in number");
    check_presets(usage);
}
