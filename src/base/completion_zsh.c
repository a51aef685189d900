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
                      enum weir__hint hint, const char *const *words, const char *offered_by)
{
    weir__out_puts(out, ":");
    put_quoted(out, name, SPECIAL);
    weir__out_puts(out, ":");
    if (offered_by) {
        /* The space keeps _arguments from adding words of its own. */
        weir__out_printf(out, " _%s_printed %s%s", program->name,
                         hint == WEIR__HINT_FILE ? "-f " : "", offered_by);
    } else if (words) {
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

static void put_help(struct weir__out *out, const struct weir__option *option)
{
    weir__out_puts(out, "[");
    put_quoted(out, option->help, SPECIAL);
    weir__out_puts(out, "]");
}

/* The names that an option excludes: itself and its opposite, unless it may be repeated. */
static void put_excluded(struct weir__out *out, const struct weir__option *option)
{
    weir__out_puts(out, "            '");
    if (option->kind == WEIR__KIND_LIST) {
        weir__out_puts(out, "*'");
        return;
    }
    weir__out_puts(out, "(");
    if (option->letter != '\0')
        weir__out_printf(out, "-%c ", option->letter);
    weir__out_printf(out, "--%s", option->name);
    if (weir__option_is_negatable(option))
        weir__out_printf(out, " --no-%s", option->name);
    weir__out_puts(out, ")'");
}

/* A value that may be left out ("=-" and two colons) comes after "--name=" alone, so the letter has
 * a specification of its own. */
static void put_optional(struct weir__out *out, const struct weir__program *program,
                         const struct weir__option *option)
{
    if (option->letter != '\0') {
        put_excluded(out, option);
        weir__out_printf(out, "'-%c", option->letter);
        put_help(out, option);
        weir__out_puts(out, "' \\\n");
    }
    put_excluded(out, option);
    weir__out_printf(out, "'--%s=-", option->name);
    put_help(out, option);
    weir__out_puts(out, ":");
    put_value(out, program, weir__option_value_name(option), option->hint, option->words,
              option->offered_by);
    weir__out_puts(out, "' \\\n");
}

static void put_spec(struct weir__out *out, const struct weir__program *program,
                     const struct weir__option *option)
{
    bool takes_value = weir__option_takes_value(option);
    put_excluded(out, option);
    if (option->letter != '\0')
        weir__out_printf(out, "{-%c%s,--%s%s}'", option->letter, takes_value ? "+" : "",
                         option->name, takes_value ? "=" : "");
    else
        weir__out_printf(out, "'--%s%s", option->name, takes_value ? "=" : "");
    put_help(out, option);
    if (takes_value)
        put_value(out, program, weir__option_value_name(option), option->hint, option->words,
                  option->offered_by);
    weir__out_puts(out, "' \\\n");
}

static void put_opposite(struct weir__out *out, const struct weir__option *option)
{
    put_excluded(out, option);
    weir__out_printf(out, "'--no-%s[", option->name);
    if (option->negated) {
        weir__out_printf(out, "the same as --%s=%s", option->name, option->negated);
    } else {
        put_quoted(out, "do not: ", SPECIAL);
        put_quoted(out, option->help, SPECIAL);
    }
    weir__out_puts(out, "]' \\\n");
}

static void put_usage(struct weir__out *out, const struct weir__program *program,
                      const struct weir__command *command)
{
    const struct weir__usage *usage = command ? command->usage : program->usage;
    for (const struct weir__option *o = usage->options; o && o->name; o++) {
        if (o->implied)
            put_optional(out, program, o);
        else
            put_spec(out, program, o);
        if (weir__option_is_negatable(o))
            put_opposite(out, o);
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
            put_value(out, program, operand->name, operand->hint, operand->words,
                      operand->offered_by);
            weir__out_puts(out, "'");
        }
        if (operand->max == 0) {
            weir__out_puts(out, " \\\n            '*");
            put_value(out, program, operand->name, operand->hint, operand->words,
                      operand->offered_by);
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
    weir__out_printf(
        out,
        "# The first words of what the program prints, and files if asked for.\n"
        "_%s_printed() {\n"
        "    local -a printed\n"
        "    [[ $1 == -f ]] && shift && _files\n"
        "    printed=(${${(f)\"$(${~_%s_itself} $* 2>/dev/null </dev/null)\"}%%%%[[:space:]]*})\n"
        "    compadd -a printed\n"
        "}\n\n",
        program->name, program->name);
}

void weir__completion_zsh(struct weir__out *out, const struct weir__program *program)
{
    put_commands(out, program);
    weir__out_printf(
        out,
        "_%s() {\n"
        "    local curcontext=$curcontext state line _%s_itself=$words[1]\n"
        "    typeset -A opt_args\n"
        "    # a -- before the command changes nothing\n"
        "    [[ $words[2] == -- ]] && ((CURRENT > 2)) && words[2]=() && ((--CURRENT))\n"
        "    _arguments -C \\\n",
        program->name, program->name);
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
