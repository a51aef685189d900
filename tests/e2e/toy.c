/* toy.c - a program with every kind of option and operand, to see what is made from its tables. */
#include "program.h"
#include "render.h"

#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "banned.h"

struct values {
    bool json, sparse, owner, group;
    const char *text, *output, *dir;
    uint64_t files, size, wait, rate, limit;
    unsigned verify, holes;
    struct weir__list exclude;
};

static const char *const verify_words[] = {"first", "always", "scrub", NULL};
static const char *const hole_words[] = {"keep", "make", "never", NULL};
static const char *const everybody[] = {"owner", "group", NULL};

static const struct weir__option move_options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .letter = 'j', .help = "print JSON"},
    {WEIR__OPTION_TOGGLE(struct values, sparse), .name = "sparse", .preset = "yes",
     .help = "keep holes as holes"},
    {WEIR__OPTION_STRING(struct values, text), .name = "text", .letter = 't',
     .help = "it's [any] text: with \"quotes\", a \\ and a `tick`",
     .detail = ".A detail that begins with a dot. Also 100% of $HOME, <b> & 'more'."},
    {WEIR__OPTION_FILE(struct values, output), .name = "output", .letter = 'o',
     .value_name = "FILE", .help = "write there"},
    {WEIR__OPTION_DIRECTORY(struct values, dir), .name = "dir", .help = "start there"},
    {WEIR__OPTION_COUNT(struct values, files), .name = "max-files-in-flight", .letter = 'n',
     .min = 1, .max = 4096, .preset = "1024", .help = "files in flight at once"},
    {WEIR__OPTION_SIZE(struct values, size), .name = "size", .preset = "64k",
     .help = "bytes at once"},
    {WEIR__OPTION_DURATION(struct values, wait), .name = "wait", .preset = "5s",
     .help = "how long to wait"},
    {WEIR__OPTION_RATE(struct values, rate), .name = "rate", .help = "bytes a second"},
    {WEIR__OPTION_WORD(struct values, verify), .name = "verify", .words = verify_words,
     .preset = "first", .help = "when to verify"},
    {WEIR__OPTION_LIST(struct values, exclude), .name = "exclude", .letter = 'x',
     .value_name = "PATTERN", .help = "leave out what matches"},
    {WEIR__OPTION_LIST(struct values, exclude), .name = "include", .value_name = "PATTERN",
     .help = "take what matches"},
    {WEIR__OPTION_GROUP(everybody), .name = "everybody", .letter = 'e', .section = "who it is for",
     .help = "owner and group"},
    {WEIR__OPTION_TOGGLE(struct values, owner), .name = "owner", .letter = 'O', .preset = "yes",
     .help = "the owner"},
    {WEIR__OPTION_TOGGLE(struct values, group), .name = "group", .help = "the group"},
    {WEIR__OPTION_WORD(struct values, holes), .name = "holes", .letter = 'S', .words = hole_words,
     .preset = "keep", .implied = "make", .negated = "never", .section = "[odd] 'sections': last",
     .help = "what becomes of holes"},
    {WEIR__OPTION_SIZE(struct values, limit), .name = "limit", .initial = 1 << 30,
     .help = "at most so much"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand move_operands[] = {
    {.name = "SOURCE", .min = 1, .hint = WEIR__HINT_FILE, .help = "what to move"},
    {.name = "TARGET", .min = 1, .max = 1, .hint = WEIR__HINT_DIRECTORY, .help = "where to"},
    {.name = NULL},
};

static const char *const what[] = {"bash", "zsh", "fish", "man", NULL};

static const struct weir__operand print_operands[] = {
    {.name = "WHAT", .min = 1, .max = 1, .words = what, .help = "what to print"},
    {.name = "COMMAND", .max = 1, .hint = WEIR__HINT_COMMAND, .help = "for which command"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"toy move a 'b c' d\\ e", "move two files, with quotes and a backslash"},
    {"toy move --verify=always a b", "move one"},
    {"toy move -n 5 a b", "move it slowly"},
    {NULL, NULL},
};

static const struct weir__usage usage_move = {
    .description = "Moves nothing. 'Quotes' at the start.\n\n.A paragraph that begins with a dot, "
                   "and has a \\ and --options in it.\n\n"
                   "    short     a row of a table, 'as it stands', however narrow the page is\n"
                   "    much more   --another\n"
                   "    .dot      a third\n\n"
                   "Words behind the table.",
    .examples = examples,
    .operands = move_operands,
    .options = move_options,
    .values_size = sizeof(struct values),
};
static const struct weir__usage usage_print = {
    .description = "Prints it.", .examples = examples, .operands = print_operands};
static const struct weir__usage usage_toy = {.description = "A toy.", .examples = examples};

static int run_move(const struct weir__call *call)
{
    const struct values *values = call->values;
    weir__out_printf(call->out, "%d %s %llu\n", call->operands_count, call->operands[0],
                     (unsigned long long)values->files);
    return 0;
}

static int run_print(const struct weir__call *call)
{
    const char *word = call->operands[0];
    if (strcmp(word, "bash") == 0)
        weir__completion_bash(call->out, call->program);
    else if (strcmp(word, "zsh") == 0)
        weir__completion_zsh(call->out, call->program);
    else if (strcmp(word, "fish") == 0)
        weir__completion_fish(call->out, call->program);
    else
        weir__man_page(
            call->out, call->program,
            call->operands_count > 1 ? weir__program_find(call->program, call->operands[1]) : NULL);
    return 0;
}

/* Waits for a signal, like any long work. */
static int run_wait(const struct weir__call *call)
{
    weir__program_catch_signals();
    weir__out_puts(call->out, "waiting\n");
    weir__out_flush(call->out);
    while (weir__program_signal() == 0)
        usleep(10000);
    weir__out_puts(call->out, "put in order\n");
    return -WEIR_E_INTERRUPTED;
}

static const struct weir__command commands[] = {
    {"move", run_move, "move it: [really], it's true", &usage_move},
    {"print", run_print, "print what is made from the tables", &usage_print},
    {"wait", run_wait, "wait for a signal", &usage_toy},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    static const struct weir__program program = {
        "toy", "0.0.1", "2026-01-01", "every kind of option", &usage_toy, commands};
    return weir__program_main(&program, argc, argv);
}
