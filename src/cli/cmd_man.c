/* cmd_man.c - weir man [COMMAND]: the manual pages, made from the option tables. */
#include <weir/error.h>

#include "commands.h"
#include "cover.h"
#include "log.h"
#include "render.h"

#include "banned.h"

COMMAND(man);

struct values {
    bool list;
};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, list), .name = "list", .letter = 'l',
     .help = "print the file names of all pages instead"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "COMMAND", .max = 1, .hint = WEIR__HINT_COMMAND, .help = "the command to explain"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir man errors | man -l -", "read the page of 'weir errors' without installing it"},
    {"weir man >weir.1", "write the page of weir itself"},
    {"weir man --list", "the names of all pages, as they are installed"},
    {NULL, NULL},
};

const struct weir__usage usage_man = {
    .description = "Prints a manual page in the language of man(7): that of a command, or that of "
                   "weir as a whole.",
    .examples = examples,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

static void print_list(const struct weir__call *call)
{
    weir__out_printf(call->out, "%s.1\n", call->program->name);
    for (const struct weir__command *c = call->program->commands; c->name; c++)
        weir__out_printf(call->out, "%s-%s.1\n", call->program->name, c->name);
}

int cmd_man(const struct weir__call *call)
{
    const struct values *values = call->values;
    const struct weir__command *command = NULL;
    if (values->list && call->operands_count > 0) {
        weir__log(WEIR__LOG_ERROR, "'--list' lists all pages: leave '%s' out",
                  WEIR__TYPED(call->operands[0]));
        return -WEIR_E_USAGE;
    }
    if (values->list) {
        print_list(call);
        return 0;
    }
    if (call->operands_count > 0) {
        command = weir__program_find(call->program, call->operands[0]);
        if (!command)
            return weir__program_unknown(call->program, call->operands[0]);
    }
    weir__man_page(call->out, call->program, command);
    return 0;
}
