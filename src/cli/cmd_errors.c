/* cmd_errors.c - weir errors: the table of include/weir/error.h for people and programs. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/error.h>

#include "commands.h"
#include "cover.h"
#include "log.h"
#include "print_json.h"
#include "suggest.h"

#include "banned.h"

COMMAND(errors);

struct values {
    bool json;
};

struct error {
    int code;
    const char *name;
    const char *text;
    int http;
    int exit;
    bool retryable;
};

static const struct error errors[] = {
#define ROW(number, constant, name, text, http, retryable, exit)                                   \
    {number, name, text, http, exit, retryable},
    WEIR_ERRORS(ROW)
#undef ROW
};

/* For those who complete command lines: codes and other cases are understood as well. */
static const char *const names[] = {
#define ROW(number, constant, name, text, http, retryable, exit) name,
    WEIR_ERRORS(ROW)
#undef ROW
        NULL,
};

#define ERRORS_COUNT (sizeof(errors) / sizeof(errors[0]))

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "print a JSON array",
     .detail = "Each element has the keys code, name, text, http, retryable and exit."},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ERROR",
     .words = names,
     .is_open = true,
     .help = "show this one alone, by name or code"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir errors", "print the whole table"},
    {"weir errors Busy 41", "look two of them up, by name or by code"},
    {"weir errors --json | jq -r '.[] | select(.retryable) | .name'",
     "the names of those worth another try"},
    {NULL, NULL},
};

const struct weir__usage usage_errors = {
    .description =
        "Prints every way in which Weir says no. The library returns the negative of the code, the "
        "services answer with the HTTP status and the name, and the program leaves with the exit "
        "status.\n\n"
        "Retryable means that the same call may succeed later without any change by the caller.",
    .examples = examples,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

/* By name, whatever its case, or by code with or without its minus. */
static bool is_called(const struct error *error, const char *word)
{
    char code[16];
    snprintf(code, sizeof(code), "%d", error->code);
    return strcasecmp(error->name, word) == 0 || strcmp(code, word) == 0;
}

static bool is_wanted(const struct weir__call *call, const struct error *error)
{
    for (int i = 0; i < call->operands_count; i++)
        if (is_called(error, call->operands[i]))
            return true;
    return call->operands_count == 0;
}

static int check_operand(const char *word)
{
    struct weir__suggestion suggestion = {.word = ""};
    for (size_t i = 0; i < ERRORS_COUNT; i++) {
        if (is_called(&errors[i], word))
            return 0;
        weir__suggest_offer(&suggestion, word, errors[i].name);
    }
    if (suggestion.word[0] != '\0')
        weir__log(WEIR__LOG_ERROR, "unknown error '%s': did you mean '%s'?", WEIR__TYPED(word),
                  suggestion.word);
    else
        weir__log(WEIR__LOG_ERROR, "unknown error '%s': 'weir errors' lists those there are",
                  WEIR__TYPED(word));
    return -WEIR_E_USAGE;
}

static void print_text(const struct weir__call *call)
{
    weir__out_printf(call->out, "%4s  %-14s  %4s  %-5s  %4s  %s\n", "CODE", "NAME", "HTTP", "RETRY",
                     "EXIT", "TEXT");
    for (size_t i = 0; i < ERRORS_COUNT; i++) {
        const struct error *e = &errors[i];
        if (is_wanted(call, e))
            weir__out_printf(call->out, "%4d  %-14s  %4d  %-5s  %4d  %s\n", e->code, e->name,
                             e->http, e->retryable ? "yes" : "no", e->exit, e->text);
    }
}

static void add_json(struct weir__json *json, const struct error *error)
{
    weir__json_object(json);
    weir__json_key(json, "code");
    weir__json_i64(json, error->code);
    weir__json_key(json, "name");
    weir__json_string(json, error->name);
    weir__json_key(json, "text");
    weir__json_string(json, error->text);
    weir__json_key(json, "http");
    weir__json_i64(json, error->http);
    weir__json_key(json, "retryable");
    weir__json_bool(json, error->retryable);
    weir__json_key(json, "exit");
    weir__json_i64(json, error->exit);
    weir__json_end(json);
}

static int print_json(const struct weir__call *call)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, 65536);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    weir__json_array(&json);
    for (size_t i = 0; i < ERRORS_COUNT; i++)
        if (is_wanted(call, &errors[i]))
            add_json(&json, &errors[i]);
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
}

int cmd_errors(const struct weir__call *call)
{
    const struct values *values = call->values;
    for (int i = 0; i < call->operands_count; i++) {
        int result = check_operand(call->operands[i]);
        if (result < 0)
            return result;
    }
    if (values->json)
        return print_json(call);
    print_text(call);
    return 0;
}
