/* cmd_completion.c - weir completion SHELL: completions made from the option tables. */
#include "commands.h"
#include "render.h"

#include <string.h>

#include "banned.h"

COMMAND(completion);

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const struct weir__operand operands[] = {
    {.name = "SHELL", .min = 1, .max = 1, .words = shells, .help = "one of bash, zsh and fish"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"source <(weir completion bash)", "complete in this bash, until it ends"},
    {"weir completion zsh >~/.zfunc/_weir", "for zsh, with ~/.zfunc in its fpath"},
    {"weir completion fish >~/.config/fish/completions/weir.fish", "for fish, from now on"},
    {NULL, NULL},
};

const struct weir__usage usage_completion = {
    .description = "Prints a script that teaches a shell to complete the commands, options and "
                   "values of weir. An installed weir has brought them along already; this is for "
                   "a weir that is run from its build folder or copied by hand.",
    .examples = examples,
    .operands = operands,
};

int cmd_completion(const struct weir__call *call)
{
    static void (*const print[])(struct weir__out *, const struct weir__program *) = {
        weir__completion_bash, weir__completion_zsh, weir__completion_fish};
    for (size_t i = 0; shells[i]; i++)
        if (strcmp(call->operands[0], shells[i]) == 0)
            print[i](call->out, call->program);
    return 0;
}
