/* options.c - the parser of command lines. */
#include "options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "option_value.h"
#include "require.h"
#include "suggest.h"

#include "banned.h"

/* The arguments being read. Operands are moved to the front as they are met, which never
 * overtakes the reading. */
struct reader {
    const struct weir__usage *usage;
    void *values;
    struct weir__parsed *parsed;
    int argc;
    char **argv;
    int next;
    int operands;
};

__attribute__((format(printf, 2, 3))) static int complain(struct weir__parsed *parsed,
                                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(parsed->error, sizeof(parsed->error), format, args);
    va_end(args);
    return -WEIR_E_USAGE;
}

static const struct weir__option *find_letter(const struct weir__usage *usage, char letter)
{
    for (const struct weir__option *o = usage->options; o && o->name; o++)
        if (o->letter != '\0' && o->letter == letter)
            return o;
    return NULL;
}

static const struct weir__option *find_name(const struct weir__usage *usage, const char *name,
                                            size_t length)
{
    for (const struct weir__option *o = usage->options; o && o->name; o++)
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static const struct weir__option *find_long(const struct weir__usage *usage, const char *name,
                                            size_t length, bool *ret_negated)
{
    const struct weir__option *found = find_name(usage, name, length);
    *ret_negated = false;
    if (found || length <= 3 || memcmp(name, "no-", 3) != 0)
        return found;
    found = find_name(usage, name + 3, length - 3);
    if (!found && length == 4)
        found = find_letter(usage, name[3]);
    *ret_negated = true;
    return found && weir__option_is_negatable(found) ? found : NULL;
}

/* Why an option, written with its dashes, is not offered; NULL when the table does not say. */
static const char *find_refused(const struct weir__usage *usage, const char *option, size_t length)
{
    for (const struct weir__refused *r = usage->refused; r && r->names; r++) {
        for (const char *at = r->names; *at; at += strspn(at, " ")) {
            size_t here = strcspn(at, " ");
            if (here == length && memcmp(at, option, length) == 0)
                return r->why;
            at += here;
        }
    }
    return NULL;
}

/* The same for a long name, which may be the opposite of one in the table, or of a letter. */
static const char *find_refused_long(const struct weir__usage *usage, const char *argument,
                                     size_t length)
{
    char positive[WEIR__SUGGEST_MAX + 4];
    const char *why = find_refused(usage, argument, length);
    if (why || length <= 5 || length > WEIR__SUGGEST_MAX || memcmp(argument, "--no-", 5) != 0)
        return why;
    int size = snprintf(positive, sizeof(positive), "%s%.*s", length == 6 ? "-" : "--",
                        (int)length - 5, argument + 5);
    return find_refused(usage, positive, (size_t)size);
}

/* Names that somebody may have meant who wrote a part of them. */
struct near {
    const char *word;
    size_t length;
    bool is_inside; /* the word is a later part of the name, as "memory" of "max-memory" */
    size_t count;
    char names[WEIR__PARSE_ERROR_MAX * 3 / 4];
    size_t used;
};

static bool is_near(const struct near *near, const char *name)
{
    if (!near->is_inside)
        return strncmp(name, near->word, near->length) == 0;
    for (const char *dash = strchr(name, '-'); dash; dash = strchr(dash + 1, '-'))
        if (strncmp(dash + 1, near->word, near->length) == 0 &&
            (dash[1 + near->length] == '-' || dash[1 + near->length] == '\0'))
            return true;
    return false;
}

static void offer_name(struct near *near, struct weir__suggestion *suggestion, const char *name)
{
    if (suggestion)
        weir__suggest_offer(suggestion, near->word, name);
    if (near->length == 0 || !is_near(near, name))
        return;
    size_t room = sizeof(near->names) - near->used;
    int length =
        snprintf(near->names + near->used, room, "%s'--%s'", near->count > 0 ? ", " : "", name);
    if ((size_t)length < room)
        near->used += (size_t)length;
    else
        near->names[near->used] = '\0';
    near->count++;
}

static void offer_names(const struct weir__usage *usage, struct near *near,
                        struct weir__suggestion *suggestion)
{
    for (const struct weir__option *o = usage->options; o && o->name; o++) {
        offer_name(near, suggestion, o->name);
        if (weir__option_is_negatable(o) && !near->is_inside) {
            char negated[WEIR__SUGGEST_MAX + 4];
            snprintf(negated, sizeof(negated), "no-%s", o->name);
            offer_name(near, suggestion, negated);
        }
    }
    offer_name(near, suggestion, "help");
}

static int unknown_long(struct reader *reader, const char *name, size_t length)
{
    const char *why = find_refused_long(reader->usage, name - 2, length + 2);
    if (why)
        return complain(reader->parsed, "option '--%.*s' %s", (int)length, name, why);
    char word[WEIR__SUGGEST_MAX + 2];
    snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word)),
             name);
    struct weir__suggestion suggestion = {.word = ""};
    struct near near = {.word = word, .length = strlen(word)};
    offer_names(reader->usage, &near, &suggestion);
    if (near.count == 0 && suggestion.word[0] == '\0') {
        near.is_inside = true;
        offer_names(reader->usage, &near, NULL);
    }
    char shown[WEIR__CLIP_SIZE + 2];
    weir__cover_clip(shown, sizeof(shown), name - 2, length + 2);
    if (near.count > 1)
        return complain(reader->parsed, "unknown option '%s': did you mean one of %s?", shown,
                        near.names);
    if (near.count == 1)
        return complain(reader->parsed, "unknown option '%s': did you mean %s?", shown, near.names);
    if (suggestion.word[0] != '\0')
        return complain(reader->parsed, "unknown option '%s': did you mean '--%s'?", shown,
                        suggestion.word);
    return complain(reader->parsed, "unknown option '%s': see --help for those there are", shown);
}

static int unknown_letter(struct reader *reader, const char *argument, const char *at)
{
    /* Someone who writes -json means --json. */
    bool negated;
    if (strcmp(argument + 1, "help") == 0 ||
        find_long(reader->usage, argument + 1, strcspn(argument + 1, "="), &negated))
        return complain(reader->parsed, "unknown option '%s': did you mean '-%s'?",
                        WEIR__TYPED(argument), WEIR__TYPED(argument));
    const char *why = find_refused(reader->usage, (char[]){'-', *at}, 2);
    if (!why && *at == 'h')
        why = "asks for help and stands alone";
    if (why)
        return complain(reader->parsed, "option '-%c' %s", *at, why);
    if ((unsigned char)*at >= 0x80)
        return complain(reader->parsed, "unknown option '%s': see --help for those there are",
                        WEIR__TYPED(argument));
    return complain(reader->parsed, "unknown option '-%c': see --help for those there are", *at);
}

/* Stores a value; shown is the option as the user wrote it, with its dashes. */
static int store(struct reader *reader, const struct weir__option *option, const char *shown,
                 const char *value)
{
    char problem[WEIR__PARSE_ERROR_MAX * 3 / 4];
    int result = weir__option_store(option, value, reader->values, problem, sizeof(problem));
    if (result == -WEIR_E_USAGE)
        return complain(reader->parsed, "option '%s': %s", shown, problem);
    if (result < 0)
        complain(reader->parsed, "option '%s': %s", shown, weir_error_text(result));
    return result;
}

/* Of options without a value: a group sets all of its members. A toggle that needs others sets them
 * together with itself; taken back, it says nothing about them. */
static void set(struct reader *reader, const struct weir__option *option, bool value)
{
    bool is_group = option->kind == WEIR__KIND_GROUP;
    if (!is_group)
        weir__option_set(option, value, reader->values);
    if (!is_group && !value)
        return;
    for (const char *const *name = option->members; name && *name; name++)
        weir__option_set(find_name(reader->usage, *name, strlen(*name)), value, reader->values);
}

static void mark(struct reader *reader, size_t place)
{
    memcpy((char *)reader->values + place - 1, &(bool){true}, sizeof(bool));
}

/* Before it is set: a flag that is on has been met already. */
static void mark_given(struct reader *reader, const struct weir__option *option)
{
    bool is_on = false;
    if (option->again != 0)
        memcpy(&is_on, (char *)reader->values + option->offset, sizeof(is_on));
    if (is_on)
        mark(reader, option->again);
    if (option->given != 0)
        mark(reader, option->given);
}

static int missing_value(struct reader *reader, const struct weir__option *option,
                         const char *shown)
{
    char range[160];
    weir__option_range(option, range, sizeof(range));
    return complain(reader->parsed, "option '%s' needs a value: %s%s%s", shown,
                    weir__option_value_name(option), range[0] != '\0' ? ", " : "", range);
}

static int read_long(struct reader *reader, const char *argument)
{
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    if (length == 4 && memcmp(name, "help", 4) == 0) {
        if (value)
            return complain(reader->parsed, "option '--help' takes no value");
        reader->parsed->help = WEIR__HELP_LONG;
        return 0;
    }
    bool negated = false;
    const struct weir__option *option = find_long(reader->usage, name, length, &negated);
    if (!option)
        return unknown_long(reader, name, length);
    char shown[WEIR__SUGGEST_MAX + 8];
    snprintf(shown, sizeof(shown), "--%s%s", negated ? "no-" : "", option->name);
    mark_given(reader, option);
    bool takes_value = weir__option_takes_value(option);
    if (value && (!takes_value || negated))
        return complain(reader->parsed, "option '%s' takes no value, not '%s'", shown,
                        WEIR__TYPED(value));
    if (!takes_value) {
        set(reader, option, !negated);
        return 0;
    }
    if (!value)
        value = negated ? option->negated : option->implied;
    if (!value && reader->next == reader->argc)
        return missing_value(reader, option, shown);
    return store(reader, option, shown, value ? value : reader->argv[reader->next++]);
}

/* The letter of an option that may stand alone always does. */
static int letter_alone(struct reader *reader, const struct weir__option *option, const char *shown,
                        const char *at)
{
    if (at[1] == '=')
        return complain(reader->parsed, "option '%s' takes no value: write '--%s=%s'", shown,
                        option->name, weir__option_value_name(option));
    return store(reader, option, shown, option->implied);
}

/* One argument of short options: flags, of which the last may take the rest as its value. */
static int read_letters(struct reader *reader, const char *argument)
{
    if (strcmp(argument, "-h") == 0) {
        reader->parsed->help = WEIR__HELP_SHORT;
        return 0;
    }
    for (const char *at = argument + 1; *at; at++) {
        const struct weir__option *option = find_letter(reader->usage, *at);
        if (!option)
            return unknown_letter(reader, argument, at);
        mark_given(reader, option);
        if (!weir__option_takes_value(option)) {
            set(reader, option, true);
            continue;
        }
        char shown[3] = {'-', *at, '\0'};
        if (option->implied) {
            int result = letter_alone(reader, option, shown, at);
            if (result < 0)
                return result;
            continue;
        }
        if (at[1] == '\0' && reader->next == reader->argc)
            return missing_value(reader, option, shown);
        return store(reader, option, shown, at[1] != '\0' ? at + 1 : reader->argv[reader->next++]);
    }
    return 0;
}

static int check_word_operand(struct weir__parsed *parsed, const struct weir__operand *operand,
                              const char *given)
{
    struct weir__suggestion suggestion = {.word = ""};
    char list[160];
    for (const char *const *word = operand->words; *word; word++) {
        if (strcmp(*word, given) == 0)
            return 0;
        weir__suggest_offer(&suggestion, given, *word);
    }
    weir__words_join(operand->words, list, sizeof(list));
    if (suggestion.word[0] != '\0')
        return complain(parsed, "%s '%s' is not known: expected %s; did you mean '%s'?",
                        operand->name, WEIR__TYPED(given), list, suggestion.word);
    return complain(parsed, "%s '%s' is not known: expected %s", operand->name, WEIR__TYPED(given),
                    list);
}

static int check_operands(struct reader *reader)
{
    int at = 0, reserved = 0;
    const struct weir__operand *operand = reader->usage->operands;
    for (const struct weir__operand *o = operand; o && o->name; o++)
        reserved += (int)o->min;
    for (; operand && operand->name; operand++) {
        unsigned taken = 0;
        /* The one that varies in number leaves what those after it need. */
        reserved -= (int)operand->min;
        while (at < reader->operands && (operand->max == 0 || taken < operand->max) &&
               (taken < operand->min || at < reader->operands - reserved)) {
            if (operand->words && !operand->is_open) {
                int result = check_word_operand(reader->parsed, operand, reader->argv[at]);
                if (result < 0)
                    return result;
            }
            taken++;
            at++;
        }
        if (taken < operand->min)
            return complain(reader->parsed, "%s is missing: %s", operand->name, operand->help);
    }
    if (at < reader->operands)
        return complain(reader->parsed, "unexpected operand '%s': see --help for the usage",
                        WEIR__TYPED(reader->argv[at]));
    return 0;
}

static int read_all(struct reader *reader)
{
    while (reader->next < reader->argc) {
        char *argument = reader->argv[reader->next++];
        int result = 0;
        if (argument[0] != '-' || argument[1] == '\0') {
            reader->argv[reader->operands++] = argument;
        } else if (strcmp(argument, "--") == 0) {
            while (reader->next < reader->argc)
                reader->argv[reader->operands++] = reader->argv[reader->next++];
        } else {
            result =
                argument[1] == '-' ? read_long(reader, argument) : read_letters(reader, argument);
        }
        if (result < 0 || reader->parsed->help != WEIR__HELP_NONE)
            return result;
    }
    return check_operands(reader);
}

int weir__options_parse(const struct weir__usage *usage, int argc, char **argv, void *values,
                        struct weir__parsed *parsed)
{
    struct weir__parsed scratch = {.error = ""};
    struct reader reader = {
        .usage = usage, .values = values, .parsed = &scratch, .argc = argc, .argv = argv};
    if (usage->values_size > 0)
        memset(values, 0, usage->values_size);
    for (const struct weir__option *o = usage->options; o && o->name; o++)
        weir__option_preset(o, values);
    int result = read_all(&reader);
    if (result < 0) {
        memcpy(parsed->error, scratch.error, sizeof(scratch.error));
        return result;
    }
    *parsed = scratch;
    if (parsed->help == WEIR__HELP_NONE && reader.operands < argc)
        argv[reader.operands] = NULL;
    parsed->operands = argv;
    parsed->operands_count = parsed->help == WEIR__HELP_NONE ? reader.operands : 0;
    return 0;
}

void weir__options_fini(const struct weir__usage *usage, void *values)
{
    if (!values)
        return;
    for (const struct weir__option *o = usage->options; o && o->name; o++)
        if (o->kind == WEIR__KIND_LIST)
            weir__option_clear(o, values);
}
