/* usage_weir.c - weir itself, without a command: for 'weir help' and weir(1). */
#include "options.h"

#include "banned.h"

extern const struct weir__usage usage_weir;

/* Handled before any command is chosen, so it has no values to store. */
static const struct weir__option options[] = {
    {.name = "version", .letter = 'V', .help = "print the version, as 'weir version' does"},
    WEIR__OPTIONS_END,
};

static const struct weir__example examples[] = {
    {"weir", "list the commands, one line each"},
    {"weir help errors", "explain one command, with examples"},
    {"source <(weir completion bash)",
     "complete commands and options in this shell with the tab key"},
    {NULL, NULL},
};

const struct weir__usage usage_weir = {
    .description =
        "Weir admits work before it starts, holds a permit for it while it runs, and takes the "
        "permit back whatever happens. A limit has a number, a queue has a capacity, a wait has a "
        "deadline, and a refusal has a reason.\n\n"
        "Each command understands -h for a summary and --help for examples and details. Options "
        "and operands may be mixed; after a -- that follows the command everything is an operand.",
    .examples = examples,
    .options = options,
};
