/* completion_zsh.c - a completion function for zsh, in terms of _arguments and _describe.
 *
 * Every specification is one single-quoted word; within it a bracket, a colon or a backslash of a
 * text is escaped for _arguments, and a single quote for the shell.
 */
#include <string.h>

#include "render.h"

#include "banned.h"

/* What _arguments takes for its own in a text. */
#define SPECIAL "[]:\\"

static void put_quoted(struct weir__out *out, const char *text, const char *special)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            weir__out_puts(out, "'\\''");
        else if (strchr(special, *p))
            weir__out_printf(out, "\\%c", *p);
        else
            weir__out_write(out, p, 1);
    }
}

/* ":NAME:action" */
static void put_value(struct weir__out *out, const struct weir__program *program, const char *name,
                      enum weir__hint hint, const char *const *words)
{
    weir__out_puts(out, ":");
    put_quoted(out, name, SPECIAL);
    weir__out_puts(out, ":");
    if (words) {
        weir__out_puts(out, "(");
        for (size_t i = 0; words[i]; i++)
            weir__out_printf(out, "%s%s", i ? " " : "", words[i]);
        weir__out_puts(out, ")");
    } else if (hint == WEIR__HINT_FILE) {
        weir__out_puts(out, "_files");
    } else if (hint == WEIR__HINT_DIRECTORY) {
        weir__out_puts(out, "_files -/");
    } else if (hint == WEIR__HINT_COMMAND) {
        weir__out_printf(out, "_%s_commands", program->name);
    } else {
        weir__out_puts(out, " ");
    }
}

static void put_spec(struct weir__out *out, const struct weir__program *program,
                     const struct weir__option *option, const char *no)
{
    bool takes_value = weir__option_takes_value(option);
    weir__out_puts(out, "            '");
    /* An option excludes itself and its opposite, unless it may be repeated. */
    if (option->kind == WEIR__KIND_LIST) {
        weir__out_puts(out, "*'");
    } else {
        weir__out_puts(out, "(");
        if (option->letter != '\0')
            weir__out_printf(out, "-%c ", option->letter);
        weir__out_printf(out, "--%s", option->name);
        if (option->kind == WEIR__KIND_TOGGLE)
            weir__out_printf(out, " --no-%s", option->name);
        weir__out_puts(out, ")'");
    }
    if (option->letter != '\0' && *no == '\0')
        weir__out_printf(out, "{-%c%s,--%s%s}'[", option->letter, takes_value ? "+" : "",
                         option->name, takes_value ? "=" : "");
    else
        weir__out_printf(out, "'--%s%s%s[", no, option->name, takes_value ? "=" : "");
    put_quoted(out, *no != '\0' ? "do not: " : "", SPECIAL);
    put_quoted(out, option->help, SPECIAL);
    weir__out_puts(out, "]");
    if (takes_value)
        put_value(out, program, weir__option_value_name(option), option->hint, option->words);
    weir__out_puts(out, "' \\\n");
}

static void put_usage(struct weir__out *out, const struct weir__program *program,
                      const struct weir__command *command)
{
    const struct weir__usage *usage = command ? command->usage : program->usage;
    for (const struct weir__option *o = usage->options; o && o->name; o++) {
        put_spec(out, program, o, "");
        if (o->kind == WEIR__KIND_TOGGLE)
            put_spec(out, program, o, "no-");
    }
    weir__out_printf(out, "            '(- *)-h[%s]' \\\n", weir__help_option_text(command));
    weir__out_puts(out, "            '(- *)--help[" WEIR__HELP_OPTION_LONG "]'");
}

static void put_operands(struct weir__out *out, const struct weir__program *program,
                         const struct weir__operand *operand)
{
    for (; operand && operand->name; operand++) {
        for (unsigned i = 0; i < operand->max; i++) {
            weir__out_printf(out, " \\\n            '%s", i < operand->min ? "" : ":");
            put_value(out, program, operand->name, operand->hint, operand->words);
            weir__out_puts(out, "'");
        }
        if (operand->max == 0) {
            weir__out_puts(out, " \\\n            '*");
            put_value(out, program, operand->name, operand->hint, operand->words);
            weir__out_puts(out, "'");
            return;
        }
    }
}

static void put_commands(struct weir__out *out, const struct weir__program *program)
{
    weir__out_printf(out,
                     "#compdef %s\n"
                     "# zsh completion for %s, made by '%s completion zsh'\n\n"
                     "_%s_commands() {\n"
                     "    local -a commands=(\n",
                     program->name, program->name, program->name, program->name);
    for (const struct weir__command *c = program->commands; c->name; c++) {
        weir__out_printf(out, "        '%s:", c->name);
        put_quoted(out, c->summary, ":\\");
        weir__out_puts(out, "'\n");
    }
    weir__out_puts(out, "    )\n"
                        "    _describe -t commands command commands\n"
                        "}\n\n");
}

void weir__completion_zsh(struct weir__out *out, const struct weir__program *program)
{
    put_commands(out, program);
    weir__out_printf(
        out,
        "_%s() {\n"
        "    local curcontext=$curcontext state line\n"
        "    typeset -A opt_args\n"
        "    # a -- before the command changes nothing\n"
        "    [[ $words[2] == -- ]] && ((CURRENT > 2)) && words[2]=() && ((--CURRENT))\n"
        "    _arguments -C \\\n",
        program->name);
    put_usage(out, program, NULL);
    weir__out_printf(out,
                     " \\\n            '1:command:_%s_commands' \\\n"
                     "            '*::argument:->argument' && return\n"
                     "    [[ $state == argument ]] || return\n"
                     "    curcontext=${curcontext%%:*:*}:%s-$words[1]:\n"
                     "    case $words[1] in\n",
                     program->name, program->name);
    for (const struct weir__command *c = program->commands; c->name; c++) {
        weir__out_printf(out, "    %s)\n        _arguments -s -S \\\n", c->name);
        put_usage(out, program, c);
        put_operands(out, program, c->usage->operands);
        weir__out_puts(out, "\n        ;;\n");
    }
    weir__out_printf(out,
                     "    esac\n}\n\n"
                     "# The file may be autoloaded by compinit, or sourced.\n"
                     "if [[ $funcstack[1] == _%s ]]; then\n"
                     "    _%s \"$@\"\n"
                     "else\n"
                     "    compdef _%s %s\n"
                     "fi\n",
                     program->name, program->name, program->name, program->name);
}
