/* man.c - man pages of section 1 in the man(7) language. */
#include <ctype.h>
#include <string.h>

#include "render.h"

#include "banned.h"

/* Where a text stands decides what its characters need. */
enum context {
    PROSE,  /* sentences: each begins a line, and hyphens within words stay hyphens */
    LITERAL /* what is typed: every dash is a minus */
};

static void put_char(struct weir__out *out, char c, bool is_minus)
{
    static const struct {
        char c;
        const char *text;
    } escapes[] = {{'\\', "\\e"},  {'\'', "\\(aq"}, {'"', "\\(dq"},
                   {'`', "\\(ga"}, {'~', "\\(ti"},  {'^', "\\(ha"}};
    for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
        if (escapes[i].c == c) {
            weir__out_puts(out, escapes[i].text);
            return;
        }
    }
    if (c == '-' && is_minus)
        weir__out_puts(out, "\\-");
    else
        weir__out_write(out, &c, 1);
}

static bool ends_sentence(const char *text, const char *p)
{
    return *p == '.' && p[1] == ' ' && p > text && !isupper((unsigned char)p[-1]) &&
           isupper((unsigned char)p[2]);
}

/* Lines that stay as they are, from p on. Returns their end. */
static const char *put_lines(struct weir__out *out, const char *text, const char *p)
{
    weir__out_puts(out, ".nf");
    for (;;) {
        size_t length = weir__help_literal(text, p);
        weir__out_puts(out, "\n\\&");
        for (size_t i = 0; i < length; i++)
            put_char(out, p[i], true);
        p += length;
        if (*p == '\0' || weir__help_literal(text, p + 1) == 0)
            break;
        p++;
    }
    weir__out_puts(out, "\n.fi");
    return p;
}

static void put_text(struct weir__out *out, const char *text, enum context context)
{
    bool is_line_start = true;
    for (const char *p = text; *p; p++) {
        if (context == PROSE && weir__help_literal(text, p) > 0) {
            p = put_lines(out, text, p) - 1;
            continue;
        }
        if (context == PROSE && p[0] == '\n') {
            if (p[1] == '\n')
                weir__out_puts(out, "\n.PP");
            while (p[1] == '\n')
                p++;
            weir__out_puts(out, "\n");
            is_line_start = true;
            continue;
        }
        if (is_line_start && (*p == '.' || *p == ' '))
            weir__out_puts(out, "\\&");
        bool is_in_word = p > text && isalnum((unsigned char)p[-1]) && p[-1] != ' ';
        put_char(out, *p, context == LITERAL || !is_in_word);
        is_line_start = false;
        if (context == PROSE && ends_sentence(text, p)) {
            weir__out_puts(out, "\n");
            is_line_start = true;
            p++;
        }
    }
}

static void put_bold(struct weir__out *out, const char *text)
{
    weir__out_puts(out, "\\fB");
    put_text(out, text, LITERAL);
    weir__out_puts(out, "\\fR");
}

static void put_italic(struct weir__out *out, const char *text)
{
    weir__out_puts(out, "\\fI");
    put_text(out, text, LITERAL);
    weir__out_puts(out, "\\fR");
}

static void put_upper(struct weir__out *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        char c = (char)toupper((unsigned char)*p);
        put_char(out, c, true);
    }
}

static void put_capital(struct weir__out *out, const char *text)
{
    char first[2] = {(char)toupper((unsigned char)text[0]), '\0'};
    /* A name that starts the line, as in "b3: ...", keeps its case. */
    bool is_word =
        isalpha((unsigned char)text[0]) && (text[1] == ' ' || islower((unsigned char)text[1]));
    put_text(out, is_word ? first : "", PROSE);
    put_text(out, is_word ? text + 1 : text, PROSE);
}

/* A help line is a sentence on a page: with a capital and a full stop. */
static void put_sentence(struct weir__out *out, const char *text)
{
    put_capital(out, text);
    weir__out_puts(out, ".\n");
}

static void print_head(struct weir__out *out, const struct weir__program *program,
                       const struct weir__command *command)
{
    weir__out_puts(out, ".TH ");
    put_upper(out, program->name);
    if (command) {
        weir__out_puts(out, "\\-");
        put_upper(out, command->name);
    }
    weir__out_printf(out, " 1 %s \"%s %s\" \"Weir manual\"\n.SH NAME\n%s", program->date,
                     program->name, program->version, program->name);
    if (command)
        weir__out_printf(out, "\\-%s", command->name);
    weir__out_puts(out, " \\- ");
    put_text(out, command ? command->summary : program->summary, PROSE);
    weir__out_puts(out, "\n.SH SYNOPSIS\n");
    put_bold(out, program->name);
    if (!command) {
        weir__out_puts(out, " \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n");
        return;
    }
    weir__out_puts(out, " ");
    put_bold(out, command->name);
    weir__out_puts(out, " [\\fIOPTION\\fR]...");
    for (const struct weir__operand *o = command->usage->operands; o && o->name; o++) {
        weir__out_puts(out, o->min == 0 ? " [" : " ");
        put_italic(out, o->name);
        weir__out_printf(out, "%s%s", o->min == 0 ? "]" : "", o->max != 1 ? "..." : "");
    }
    weir__out_puts(out, "\n");
}

static void put_fact(struct weir__out *out, const char *before, const char *value)
{
    if (value[0] == '\0')
        return;
    weir__out_puts(out, before);
    put_bold(out, value);
    weir__out_puts(out, ".\n");
}

static void print_option(struct weir__out *out, const struct weir__option *option)
{
    if (option->section) {
        weir__out_puts(out, ".SS ");
        put_capital(out, option->section);
        weir__out_puts(out, "\n");
    }
    weir__out_puts(out, ".TP\n");
    if (option->letter != '\0')
        weir__out_printf(out, "\\fB\\-%c\\fR, ", option->letter);
    weir__out_puts(out, "\\fB\\-\\-");
    put_text(out, option->name, LITERAL);
    weir__out_puts(out, "\\fR");
    if (weir__option_takes_value(option)) {
        weir__out_puts(out, option->implied ? "[=" : "=");
        put_italic(out, weir__option_value_name(option));
        weir__out_puts(out, option->implied ? "]" : "");
    }
    if (weir__option_is_negatable(option)) {
        weir__out_puts(out, ", \\fB\\-\\-no\\-");
        put_text(out, option->name, LITERAL);
        weir__out_puts(out, "\\fR");
    }
    weir__out_puts(out, "\n");
    put_sentence(out, option->help);
    if (option->kind == WEIR__KIND_LIST)
        weir__out_puts(out, "May be repeated.\n");
    if (option->detail) {
        put_text(out, option->detail, PROSE);
        weir__out_puts(out, "\n");
    }
    char range[200], preset[100];
    weir__option_range(option, range, sizeof(range));
    weir__option_default(option, preset, sizeof(preset));
    if (range[0] != '\0') {
        weir__out_puts(out, "Allowed: ");
        put_text(out, range, LITERAL);
        weir__out_puts(out, ".\n");
    }
    put_fact(out, "The default is ", preset);
    put_fact(out, "Alone it stands for ", option->implied ? option->implied : "");
}

static void print_options(struct weir__out *out, const struct weir__usage *usage,
                          const struct weir__command *command)
{
    if (usage->operands) {
        weir__out_puts(out, ".SH OPERANDS\n");
        for (const struct weir__operand *o = usage->operands; o->name; o++) {
            weir__out_puts(out, ".TP\n");
            put_italic(out, o->name);
            weir__out_puts(out, "\n");
            put_sentence(out, o->help);
        }
    }
    weir__out_puts(out, ".SH OPTIONS\n");
    for (const struct weir__option *o = usage->options; o && o->name; o++)
        print_option(out, o);
    weir__out_puts(out, ".TP\n\\fB\\-h\\fR\n");
    put_sentence(out, weir__help_option_text(command));
    weir__out_puts(out, ".TP\n\\fB\\-\\-help\\fR\n");
    put_sentence(out, WEIR__HELP_OPTION_LONG);
}

static void print_commands(struct weir__out *out, const struct weir__program *program)
{
    weir__out_puts(out, ".SH COMMANDS\n");
    for (const struct weir__command *c = program->commands; c->name; c++) {
        weir__out_printf(out, ".TP\n\\fB%s\\-", program->name);
        put_text(out, c->name, LITERAL);
        weir__out_puts(out, "\\fR(1)\n");
        put_sentence(out, c->summary);
    }
}

static void print_examples(struct weir__out *out, const struct weir__usage *usage)
{
    weir__out_puts(out, ".SH EXAMPLES\n");
    for (const struct weir__example *e = usage->examples; e && e->line; e++) {
        weir__out_puts(out, ".TP\n");
        put_bold(out, e->line);
        weir__out_puts(out, "\n");
        put_sentence(out, e->text);
    }
}

static void print_facts(struct weir__out *out, const char *title, const struct weir__fact *facts,
                        const struct weir__program *program, const struct weir__command *command)
{
    weir__out_printf(out, ".SH %s\n", title);
    for (const struct weir__fact *f = facts; f->name; f++) {
        if (!weir__fact_holds(f, program, command))
            continue;
        weir__out_puts(out, ".TP\n");
        put_bold(out, f->name);
        weir__out_puts(out, "\n");
        put_sentence(out, f->text);
    }
}

static void print_variables(struct weir__out *out, const struct weir__usage *usage)
{
    for (const struct weir__example *v = usage->variables; v && v->line; v++) {
        weir__out_puts(out, ".TP\n");
        put_bold(out, v->line);
        weir__out_puts(out, "\n");
        put_sentence(out, v->text);
    }
}

static void print_see_also(struct weir__out *out, const struct weir__program *program,
                           const struct weir__command *command)
{
    weir__out_puts(out, ".SH SEE ALSO\n");
    const char *before = "";
    if (command) {
        weir__out_printf(out, ".BR %s (1)", program->name);
        before = ",\n";
    }
    for (const struct weir__command *c = program->commands; c->name; c++) {
        if (c == command)
            continue;
        weir__out_printf(out, "%s.BR %s\\-%s (1)", before, program->name, c->name);
        before = ",\n";
    }
    weir__out_puts(out, "\n");
}

void weir__man_page(struct weir__out *out, const struct weir__program *program,
                    const struct weir__command *command)
{
    const struct weir__usage *usage = command ? command->usage : program->usage;
    weir__options_check(usage, command ? command->name : program->name);
    print_head(out, program, command);
    weir__out_puts(out, ".SH DESCRIPTION\n");
    put_text(out, usage->description, PROSE);
    weir__out_puts(out, "\n");
    if (!command)
        print_commands(out, program);
    print_options(out, usage, command);
    print_examples(out, usage);
    print_facts(out, "EXIT STATUS", weir__exit_facts, program, command);
    print_facts(out, "ENVIRONMENT", weir__environment_facts, program, command);
    print_variables(out, usage);
    print_see_also(out, program, command);
}
