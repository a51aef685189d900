/* completion_bash.c - a completion function for bash that needs nothing but bash.
 *
 * The script walks the words before the cursor once, skips the values of options, and so knows the
 * command and the number of the operand being typed. All words that it offers come from tables of
 * plain names, so nothing in it needs quoting beyond single quotes.
 */
#include <string.h>

#include "render.h"

#include "banned.h"

static void put_commands(struct weir__out *out, const struct weir__program *program)
{
    for (const struct weir__command *c = program->commands; c->name; c++)
        weir__out_printf(out, "%s%s", c == program->commands ? "" : " ", c->name);
}

static void put_words(struct weir__out *out, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        weir__out_printf(out, "%s%s", i ? " " : "", words[i]);
}

/* A statement that offers values. */
static void put_offer(struct weir__out *out, const struct weir__program *program,
                      enum weir__hint hint, const char *const *words, const char *offered_by)
{
    if (offered_by) {
        weir__out_printf(out, "_%s_printed '%s' \"$cur\"%s", program->name, offered_by,
                         hint == WEIR__HINT_FILE ? " -f" : "");
    } else if (words || hint == WEIR__HINT_COMMAND) {
        weir__out_printf(out, "_%s_words '", program->name);
        if (words)
            put_words(out, words);
        else
            put_commands(out, program);
        weir__out_puts(out, "' \"$cur\"");
    } else if (hint == WEIR__HINT_FILE) {
        weir__out_printf(out, "_%s_paths -f \"$cur\"", program->name);
    } else if (hint == WEIR__HINT_DIRECTORY) {
        weir__out_printf(out, "_%s_paths -d \"$cur\"", program->name);
    } else {
        weir__out_puts(out, ":");
    }
}

/* -o|--output, as a pattern, each with the prefix. A letter that always stands alone is left out.
 */
static void put_pattern(struct weir__out *out, const struct weir__option *option,
                        const char *prefix)
{
    if (option->letter != '\0' && !option->implied)
        weir__out_printf(out, "%s-%c|", prefix, option->letter);
    weir__out_printf(out, "%s--%s", prefix, option->name);
}

static void put_helpers(struct weir__out *out, const char *name)
{
    weir__out_printf(out,
                     "# bash completion for %s, made by '%s completion bash'\n\n"
                     "_%s_words() {\n"
                     "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\")\n"
                     "}\n\n"
                     "_%s_paths() {\n"
                     "    compopt -o filenames 2>/dev/null\n"
                     "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$2\")\n"
                     "}\n\n"
                     "# The first words of what the program prints, and files if asked for.\n"
                     "_%s_printed() {\n"
                     "    local words\n"
                     "    words=$(\"${COMP_WORDS[0]/#\\~/$HOME}\" $1 2>/dev/null </dev/null |\n"
                     "        while read -r word _; do echo \"$word\"; done)\n"
                     "    [[ -z $3 ]] || compopt -o filenames 2>/dev/null\n"
                     "    mapfile -t COMPREPLY < <(compgen -W \"$words\" $3 -- \"$2\")\n"
                     "}\n\n",
                     name, name, name, name, name);
}

/* Finds the command, and the number of operands before the cursor. */
static void put_walk(struct weir__out *out, const struct weir__program *program)
{
    weir__out_printf(out,
                     "_%s() {\n"
                     "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "    local command= operand=0 dashes=0 equals=0 i\n"
                     "    COMPREPLY=()\n"
                     "    # '--name=value' comes as three words\n"
                     "    if [[ $cur == = ]]; then\n"
                     "        cur= equals=1\n"
                     "    elif [[ $prev == = ]]; then\n"
                     "        prev=${COMP_WORDS[COMP_CWORD-2]} equals=1\n"
                     "    fi\n"
                     "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                     "        if ((dashes)); then\n"
                     "            ((++operand))\n"
                     "            continue\n"
                     "        fi\n"
                     "        case $command:${COMP_WORDS[i]} in\n",
                     program->name);
    for (const struct weir__command *c = program->commands; c->name; c++) {
        for (const struct weir__option *o = c->usage->options; o && o->name; o++) {
            if (!weir__option_takes_value(o))
                continue;
            char prefix[WEIR_NAME_MAX + 4];
            size_t length = strnlen(c->name, WEIR_NAME_MAX);
            memcpy(prefix, c->name, length);
            memcpy(prefix + length, ":", 2);
            weir__out_puts(out, "        ");
            put_pattern(out, o, prefix);
            weir__out_puts(out, o->implied
                                    ? ") [[ ${COMP_WORDS[i+1]} == = ]] && ((i += 2)) ;;\n"
                                    : ") [[ ${COMP_WORDS[i+1]} == = ]] && ((++i)); ((++i)) ;;\n");
        }
    }
    weir__out_puts(out, "        ?*:--) dashes=1 ;;\n"
                        "        *:-?*) ;;\n"
                        "        :*) command=${COMP_WORDS[i]} ;;\n"
                        "        *) ((++operand)) ;;\n"
                        "        esac\n"
                        "    done\n");
}

static void put_option_names(struct weir__out *out, const struct weir__usage *usage)
{
    for (const struct weir__option *o = usage->options; o && o->name; o++) {
        if (o->letter != '\0')
            weir__out_printf(out, "-%c ", o->letter);
        weir__out_printf(out, "--%s ", o->name);
        if (weir__option_is_negatable(o))
            weir__out_printf(out, "--no-%s ", o->name);
    }
    weir__out_puts(out, "-h --help");
}

static void put_operands(struct weir__out *out, const struct weir__program *program,
                         const struct weir__operand *operands)
{
    weir__out_puts(out, "        case $operand in\n");
    unsigned at = 0;
    for (const struct weir__operand *o = operands; o->name; o++) {
        /* A varying operand takes all the rest. */
        if (o->max == 0)
            weir__out_puts(out, "        *) ");
        for (unsigned i = 0; i < o->max; i++)
            weir__out_printf(out, i ? "|%u" : "        %u", at++);
        if (o->max > 0)
            weir__out_puts(out, ") ");
        put_offer(out, program, o->hint, o->words, o->offered_by);
        weir__out_puts(out, " ;;\n");
        if (o->max == 0)
            break;
    }
    weir__out_puts(out, "        esac\n");
}

static void put_command(struct weir__out *out, const struct weir__program *program,
                        const struct weir__command *command)
{
    weir__out_printf(out, "    %s)\n", command->name);
    bool has_values = false;
    for (const struct weir__option *o = command->usage->options; o && o->name; o++) {
        if (!weir__option_takes_value(o))
            continue;
        if (!has_values)
            weir__out_puts(out, "        ((dashes)) || case $prev in\n");
        has_values = true;
        weir__out_puts(out, "        ");
        put_pattern(out, o, "");
        weir__out_puts(out, o->implied ? ") ((equals)) && { " : ") ");
        put_offer(out, program, o->hint, o->words, o->offered_by);
        weir__out_puts(out, o->implied ? "; return; } ;;\n" : "; return ;;\n");
    }
    if (has_values)
        weir__out_puts(out, "        esac\n");
    weir__out_printf(out,
                     "        if [[ $cur == -* ]] && ((!dashes)); then\n"
                     "            _%s_words '",
                     program->name);
    put_option_names(out, command->usage);
    weir__out_puts(out, "' \"$cur\"\n"
                        "            return\n"
                        "        fi\n");
    if (command->usage->operands)
        put_operands(out, program, command->usage->operands);
    weir__out_puts(out, "        ;;\n");
}

void weir__completion_bash(struct weir__out *out, const struct weir__program *program)
{
    put_helpers(out, program->name);
    put_walk(out, program);
    weir__out_puts(out, "    case $command in\n");
    weir__out_printf(out, "    '') _%s_words '", program->name);
    put_commands(out, program);
    weir__out_puts(out, " ");
    put_option_names(out, program->usage);
    weir__out_puts(out, "' \"$cur\" ;;\n");
    for (const struct weir__command *c = program->commands; c->name; c++)
        put_command(out, program, c);
    weir__out_printf(out, "    esac\n}\n\ncomplete -F _%s %s\n", program->name, program->name);
}
