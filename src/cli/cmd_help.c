/* cmd_help.c - weir help [COMMAND]: the same text as weir COMMAND --help. */
#include "commands.h"
#include "render.h"

#include "banned.h"

COMMAND(help);

static const struct weir__operand operands[] = {
    {.name = "COMMAND", .max = 1, .hint = WEIR__HINT_COMMAND, .help = "the command to explain"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir help", "explain weir and list its commands"},
    {"weir help errors", "explain 'weir errors'"},
    {"weir help errors | less", "read it page by page"},
    {NULL, NULL},
};

const struct weir__usage usage_help = {
    .description = "Prints what --help prints: examples first, then the usage, a description and "
                   "every option. Without a command it explains weir as a whole.",
    .examples = examples,
    .operands = operands,
};

int cmd_help(const struct weir__call *call)
{
    if (call->operands_count == 0) {
        weir__help_program(call->out, call->program);
        return 0;
    }
    const struct weir__command *command = weir__program_find(call->program, call->operands[0]);
    if (!command)
        return weir__program_unknown(call->program, call->operands[0]);
    weir__help_long(call->out, call->program, command);
    return 0;
}
