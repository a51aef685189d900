/* completion_fish.c - completions for fish: one `complete` line for each thing to offer.
 *
 * The conditions ask a function of ours for the command, and not fish's own test for a subcommand,
 * which would take the operand of "weir help errors" for the command.
 */
#include "render.h"

#include "banned.h"

static void put_quoted(struct weir__out *out, const char *text)
{
    weir__out_puts(out, "'");
    for (const char *p = text; *p; p++) {
        if (*p == '\'' || *p == '\\')
            weir__out_puts(out, "\\");
        weir__out_write(out, p, 1);
    }
    weir__out_puts(out, "'");
}

/* The beginning of a line that holds within a command, or before any when command is NULL. */
static void put_complete(struct weir__out *out, const struct weir__program *program,
                         const struct weir__command *command)
{
    weir__out_printf(out, "complete -c %s -n '__%s_is %s'", program->name, program->name,
                     command ? command->name : "");
}

static void put_commands(struct weir__out *out, const struct weir__program *program)
{
    for (const struct weir__command *c = program->commands; c->name; c++)
        weir__out_printf(out, "%s%s", c == program->commands ? "" : " ", c->name);
}

/* The switches that say what may follow: nothing but these words, files, directories, anything. */
static void put_value(struct weir__out *out, const struct weir__program *program,
                      enum weir__hint hint, const char *const *words, const char *offered_by)
{
    if (offered_by)
        weir__out_printf(out, " -a '(__%s_printed %s)'", program->name, offered_by);
    if (words) {
        weir__out_puts(out, " -a '");
        for (size_t i = 0; words[i]; i++)
            weir__out_printf(out, "%s%s", i ? " " : "", words[i]);
        weir__out_puts(out, "'");
    } else if (hint == WEIR__HINT_COMMAND) {
        weir__out_puts(out, " -a '");
        put_commands(out, program);
        weir__out_puts(out, "'");
    } else if (hint == WEIR__HINT_FILE) {
        weir__out_puts(out, " -F");
    } else if (hint == WEIR__HINT_DIRECTORY) {
        weir__out_puts(out, " -a '(__fish_complete_directories (commandline -ct))'");
    }
}

static void put_help(struct weir__out *out, const struct weir__option *option)
{
    weir__out_puts(out, " -d ");
    put_quoted(out, option->help);
    weir__out_puts(out, "\n");
}

static void put_opposite(struct weir__out *out, const struct weir__program *program,
                         const struct weir__command *command, const struct weir__option *option)
{
    put_complete(out, program, command);
    weir__out_printf(out, " -l no-%s -d ", option->name);
    if (option->negated) {
        weir__out_printf(out, "'the same as --%s=%s'\n", option->name, option->negated);
        return;
    }
    weir__out_puts(out, "'do not: '");
    put_quoted(out, option->help);
    weir__out_puts(out, "\n");
}

static void put_option(struct weir__out *out, const struct weir__program *program,
                       const struct weir__command *command, const struct weir__option *option)
{
    put_complete(out, program, command);
    if (option->letter != '\0')
        weir__out_printf(out, " -s %c", option->letter);
    /* A value that may be left out comes after "--name=" alone, so the letter stands by itself. */
    if (option->letter != '\0' && option->implied) {
        put_help(out, option);
        put_complete(out, program, command);
    }
    weir__out_printf(out, " -l %s", option->name);
    if (weir__option_takes_value(option)) {
        /* -x: a value is needed, and it is not a file unless -F says so. */
        bool is_file = option->hint == WEIR__HINT_FILE;
        weir__out_puts(out, option->implied ? (is_file ? "" : " -f") : is_file ? " -r" : " -x");
        put_value(out, program, option->hint, option->words, option->offered_by);
    }
    put_help(out, option);
    if (weir__option_is_negatable(option))
        put_opposite(out, program, command, option);
}

static void put_usage(struct weir__out *out, const struct weir__program *program,
                      const struct weir__command *command, const struct weir__usage *usage)
{
    for (const struct weir__option *o = usage->options; o && o->name; o++)
        put_option(out, program, command, o);
    put_complete(out, program, command);
    weir__out_printf(out, " -s h -d '%s'\n", weir__help_option_text(command));
    put_complete(out, program, command);
    weir__out_puts(out, " -l help -d '" WEIR__HELP_OPTION_LONG "'\n");
    for (const struct weir__operand *o = usage->operands; o && o->name; o++) {
        if (!o->words && !o->offered_by && o->hint == WEIR__HINT_NONE)
            continue;
        put_complete(out, program, command);
        put_value(out, program, o->hint, o->words, o->offered_by);
        weir__out_puts(out, "\n");
    }
}

void weir__completion_fish(struct weir__out *out, const struct weir__program *program)
{
    weir__out_printf(out,
                     "# fish completion for %s, made by '%s completion fish'\n\n"
                     "# True when the command on the line is the one given, or there is none yet.\n"
                     "function __%s_is\n"
                     "    set -l command\n"
                     "    for word in (commandline -opc)[2..]\n"
                     "        if not string match -q -- '-*' $word\n"
                     "            set command $word\n"
                     "            break\n"
                     "        end\n"
                     "    end\n"
                     "    test \"$command\" = \"$argv\"\n"
                     "end\n\n"
                     "# The first words of what the program prints.\n"
                     "function __%s_printed\n"
                     "    set -l itself (commandline -opc)[1]\n"
                     "    $itself $argv 2>/dev/null </dev/null | string replace -r '\\s.*' ''\n"
                     "end\n\n"
                     "complete -c %s -f\n",
                     program->name, program->name, program->name, program->name, program->name);
    for (const struct weir__command *c = program->commands; c->name; c++) {
        put_complete(out, program, NULL);
        weir__out_printf(out, " -a %s -d ", c->name);
        put_quoted(out, c->summary);
        weir__out_puts(out, "\n");
    }
    put_usage(out, program, NULL, program->usage);
    for (const struct weir__command *c = program->commands; c->name; c++)
        put_usage(out, program, c, c->usage);
}
