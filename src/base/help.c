/* help.c - what people read on the terminal. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "render.h"
#include "term.h"

#include "banned.h"

#define WIDTH_MIN 40
#define WIDTH_MAX 100
/* Texts begin in this column at most; a longer left side puts its text on the next line. */
#define COLUMN_MAX 30
/* What a line begins with that is not wrapped. */
#define LITERAL "    "

const struct weir__fact weir__exit_facts[] = {
    {"0", "everything was done", WEIR__FACT_OF_ALL},
    {"1", "there were findings or differences", WEIR__FACT_OF_FINDERS},
    {"2", "the command line was wrong", WEIR__FACT_OF_ALL},
    {"3", "something failed; standard error says what", WEIR__FACT_OF_ALL},
    {"129", "stopped by SIGHUP (the program dies of the signal)", WEIR__FACT_OF_JOBS},
    {"130", "interrupted by SIGINT (likewise)", WEIR__FACT_OF_JOBS},
    {"143", "stopped by SIGTERM (likewise)", WEIR__FACT_OF_JOBS},
    {NULL, NULL, WEIR__FACT_OF_ALL},
};

const struct weir__fact weir__environment_facts[] = {
    {"NO_COLOR", "when set and not empty, nothing is colored", WEIR__FACT_OF_ALL},
    {"CLICOLOR_FORCE", "when set and not 0, color is used even where there is no terminal",
     WEIR__FACT_OF_ALL},
    {"COLUMNS", "the width to wrap help to, instead of that of the terminal", WEIR__FACT_OF_ALL},
    {NULL, NULL, WEIR__FACT_OF_ALL},
};

static bool is_of(enum weir__fact_kind kind, const struct weir__usage *usage)
{
    return kind == WEIR__FACT_OF_FINDERS ? usage->has_findings
           : kind == WEIR__FACT_OF_JOBS  ? !usage->is_service
                                         : true;
}

bool weir__fact_holds(const struct weir__fact *fact, const struct weir__program *program,
                      const struct weir__command *command)
{
    for (const struct weir__command *c = program->commands; c->name; c++)
        if ((!command || c == command) && is_of(fact->kind, c->usage))
            return true;
    return false;
}

const char *weir__help_option_text(const struct weir__command *command)
{
    return command ? "show the usage and one line for each option"
                   : "list the commands, one line each";
}

size_t weir__help_literal(const char *text, const char *p)
{
    bool is_start = p == text || p[-1] == '\n';
    return is_start && strncmp(p, LITERAL, strlen(LITERAL)) == 0 ? strcspn(p, "\n") : 0;
}

struct page {
    struct weir__out *out;
    bool color;
    size_t width;
};

static struct page page_on(struct weir__out *out)
{
    size_t width = weir__term_width(STDOUT_FILENO);
    width = width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
    return (struct page){out, weir__term_wants_color(STDOUT_FILENO), width};
}

static void heading(const struct page *page, const char *text)
{
    weir__out_printf(page->out, "%s%s%s\n", weir__term_style(page->color, WEIR__STYLE_BOLD), text,
                     weir__term_style(page->color, WEIR__STYLE_RESET));
}

/* Prints the words of text from column `at` on; new lines begin at `indent`. A newline in the text
 * is one in the output, and a literal line stays as it is. Ends with a newline. */
static void wrap(const struct page *page, const char *text, size_t indent, size_t at)
{
    const char *begin = text;
    bool is_line_start = true;
    while (*text) {
        size_t literal = weir__help_literal(begin, text);
        if (literal > 0) {
            weir__out_printf(page->out, "%*s%.*s", at < indent ? (int)(indent - at) : 0, "",
                             (int)literal, text);
            text += literal;
            continue;
        }
        if (*text == '\n' || *text == ' ') {
            if (*text == '\n') {
                weir__out_puts(page->out, "\n");
                at = 0;
                is_line_start = true;
            }
            text++;
            continue;
        }
        size_t length = strcspn(text, " \n");
        if (!is_line_start && at + 1 + length > page->width) {
            weir__out_puts(page->out, "\n");
            at = 0;
            is_line_start = true;
        }
        if (is_line_start && at < indent) {
            weir__out_printf(page->out, "%*s", (int)(indent - at), "");
            at = indent;
        } else if (!is_line_start) {
            weir__out_puts(page->out, " ");
            at++;
        }
        weir__out_write(page->out, text, length);
        at += length;
        text += length;
        is_line_start = false;
    }
    weir__out_puts(page->out, "\n");
}

/* Left and right side of a table row; the right sides begin in one column. */
static void row(const struct page *page, const char *left, const char *right, size_t column)
{
    weir__out_printf(page->out, "  %s", left);
    size_t at = 2 + strlen(left);
    if (at + 2 > column) {
        weir__out_puts(page->out, "\n");
        at = 0;
    }
    wrap(page, right, column, at);
}

static void option_left(const struct weir__option *option, char *text, size_t size)
{
    char letter[8] = "    ", value[48] = "";
    if (option->letter != '\0')
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    if (weir__option_takes_value(option))
        snprintf(value, sizeof(value), option->implied ? "[=%s]" : "=%s",
                 weir__option_value_name(option));
    if (weir__option_is_negatable(option))
        snprintf(text, size, "%s--%s%s, --no-%s", letter, option->name, value, option->name);
    else
        snprintf(text, size, "%s--%s%s", letter, option->name, value);
}

static size_t widen(size_t column, const char *left)
{
    size_t needed = 2 + strlen(left) + 2;
    return needed > COLUMN_MAX || needed < column ? column : needed;
}

static size_t options_column(const struct weir__usage *usage)
{
    size_t column = widen(0, "-h, --help");
    char left[200];
    for (const struct weir__option *o = usage->options; o && o->name; o++) {
        option_left(o, left, sizeof(left));
        column = widen(column, left);
    }
    for (const struct weir__operand *o = usage->operands; o && o->name; o++)
        column = widen(column, o->name);
    return column;
}

static void option_row(const struct page *page, const struct weir__option *option, size_t column,
                       bool is_long)
{
    char left[200], text[2048], range[200] = "", preset[100], facts[200] = "";
    option_left(option, left, sizeof(left));
    weir__option_default(option, preset, sizeof(preset));
    if (preset[0] != '\0' || option->implied)
        snprintf(facts, sizeof(facts), " (%s%s%s%s%s)", preset[0] != '\0' ? "default: " : "",
                 preset, preset[0] != '\0' && option->implied ? "; " : "",
                 option->implied ? "alone: " : "", option->implied ? option->implied : "");
    if (is_long)
        weir__option_range(option, range, sizeof(range));
    bool repeats = option->kind == WEIR__KIND_LIST;
    snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s", option->help,
             repeats ? " (may be repeated)" : "", range[0] != '\0' ? " [" : "", range,
             range[0] != '\0' ? "]" : "", facts, is_long && option->detail ? "\n" : "",
             is_long && option->detail ? option->detail : "");
    row(page, left, text, column);
}

static void section(const struct page *page, const char *title, bool is_first)
{
    char text[100];
    snprintf(text, sizeof(text), "Options: %s", title);
    if (!is_first)
        weir__out_puts(page->out, "\n");
    heading(page, text);
}

static void print_options(const struct page *page, const struct weir__usage *usage,
                          const struct weir__command *command, bool is_long)
{
    size_t column = options_column(usage);
    if (is_long && usage->operands) {
        heading(page, "Operands:");
        for (const struct weir__operand *o = usage->operands; o->name; o++)
            row(page, o->name, o->help, column);
        weir__out_puts(page->out, "\n");
    }
    const struct weir__option *first = usage->options;
    if (!first || !first->name || !first->section)
        heading(page, "Options:");
    for (const struct weir__option *o = first; o && o->name; o++) {
        if (o->section)
            section(page, o->section, o == first);
        option_row(page, o, column, is_long);
    }
    if (!is_long) {
        row(page, "-h, --help", "show this, or with --help more and examples", column);
        return;
    }
    row(page, "-h", weir__help_option_text(command), column);
    row(page, "    --help", WEIR__HELP_OPTION_LONG, column);
}

static void print_usage(const struct page *page, const struct weir__program *program,
                        const struct weir__command *command)
{
    weir__out_printf(
        page->out, "%sUsage:%s %s %s [OPTION]...", weir__term_style(page->color, WEIR__STYLE_BOLD),
        weir__term_style(page->color, WEIR__STYLE_RESET), program->name, command->name);
    for (const struct weir__operand *o = command->usage->operands; o && o->name; o++)
        weir__out_printf(page->out, " %s%s%s%s", o->min == 0 ? "[" : "", o->name,
                         o->min == 0 ? "]" : "", o->max != 1 ? "..." : "");
    weir__out_puts(page->out, "\n");
}

static void print_examples(const struct page *page, const struct weir__usage *usage)
{
    heading(page, "Examples:");
    for (const struct weir__example *e = usage->examples; e && e->line; e++) {
        weir__out_printf(page->out, "  %s\n", e->line);
        wrap(page, e->text, 6, 0);
    }
    weir__out_puts(page->out, "\n");
}

static void print_facts(const struct page *page, const char *title, const struct weir__fact *facts,
                        const struct weir__program *program, const struct weir__command *command)
{
    size_t column = 0;
    for (const struct weir__fact *f = facts; f->name; f++)
        column = widen(column, f->name);
    weir__out_puts(page->out, "\n");
    heading(page, title);
    for (const struct weir__fact *f = facts; f->name; f++)
        if (weir__fact_holds(f, program, command))
            row(page, f->name, f->text, column);
}

static void print_commands(const struct page *page, const struct weir__program *program)
{
    size_t column = 0;
    for (const struct weir__command *c = program->commands; c->name; c++)
        column = widen(column, c->name);
    for (const struct weir__command *c = program->commands; c->name; c++)
        row(page, c->name, c->summary, column);
}

static void print_program_usage(const struct page *page, const struct weir__program *program)
{
    weir__out_printf(page->out, "%sUsage:%s %s COMMAND [OPTION]... [OPERAND]...\n\n",
                     weir__term_style(page->color, WEIR__STYLE_BOLD),
                     weir__term_style(page->color, WEIR__STYLE_RESET), program->name);
}

void weir__help_list(struct weir__out *out, const struct weir__program *program)
{
    struct page page = page_on(out);
    weir__out_printf(out, "%s %s: %s\n\n", program->name, program->version, program->summary);
    print_program_usage(&page, program);
    heading(&page, "Commands:");
    print_commands(&page, program);
    weir__out_printf(out, "\n'%s COMMAND --help' shows examples and all options of a command.\n",
                     program->name);
}

void weir__help_program(struct weir__out *out, const struct weir__program *program)
{
    weir__options_check(program->usage, program->name);
    struct page page = page_on(out);
    print_examples(&page, program->usage);
    print_program_usage(&page, program);
    wrap(&page, program->usage->description, 0, 0);
    weir__out_puts(out, "\n");
    heading(&page, "Commands:");
    print_commands(&page, program);
    weir__out_puts(out, "\n");
    print_options(&page, program->usage, NULL, true);
    print_facts(&page, "Exit status:", weir__exit_facts, program, NULL);
    print_facts(&page, "Environment:", weir__environment_facts, program, NULL);
}

void weir__help_short(struct weir__out *out, const struct weir__program *program,
                      const struct weir__command *command)
{
    weir__options_check(command->usage, command->name);
    struct page page = page_on(out);
    weir__out_printf(out, "%s %s: %s\n", program->name, command->name, command->summary);
    print_usage(&page, program, command);
    weir__out_puts(out, "\n");
    print_options(&page, command->usage, command, false);
}

void weir__help_long(struct weir__out *out, const struct weir__program *program,
                     const struct weir__command *command)
{
    weir__options_check(command->usage, command->name);
    struct page page = page_on(out);
    print_examples(&page, command->usage);
    print_usage(&page, program, command);
    weir__out_puts(out, "\n");
    wrap(&page, command->usage->description, 0, 0);
    weir__out_puts(out, "\n");
    print_options(&page, command->usage, command, true);
    print_facts(&page, "Exit status:", weir__exit_facts, program, command);
}
