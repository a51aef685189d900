/* render.h - all that is printed from the tables: help, man pages, completions.
 *
 * Promises: every option of a table appears in each of them; help is wrapped to the width of the
 * terminal (at most 100 columns) and uses color only where term.h says so; man pages are in the
 * man(7) language, and completions in that of their shell, whatever characters the texts contain.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_BASE_RENDER_H
#define WEIR_BASE_RENDER_H

#include "program.h"

/* The commands with one line each. */
void weir__help_list(struct weir__out *out, const struct weir__program *program);

/* The program without a command: three examples, then everything. */
void weir__help_program(struct weir__out *out, const struct weir__program *program);

/* -h: the usage, and one line for each option. */
void weir__help_short(struct weir__out *out, const struct weir__program *program,
                      const struct weir__command *command);

/* --help: three examples, the usage, the description, and all about each option. */
void weir__help_long(struct weir__out *out, const struct weir__program *program,
                     const struct weir__command *command);

/* The page of a command, or of the program when command is NULL. */
void weir__man_page(struct weir__out *out, const struct weir__program *program,
                    const struct weir__command *command);

void weir__completion_bash(struct weir__out *out, const struct weir__program *program);
void weir__completion_zsh(struct weir__out *out, const struct weir__program *program);
void weir__completion_fish(struct weir__out *out, const struct weir__program *program);

/* The options that every command has, and the texts that every page shares. */
#define WEIR__HELP_OPTION_LONG "show examples and everything about each option"

/* What -h does, of a command or, with NULL, of the program. */
const char *weir__help_option_text(const struct weir__command *command);

/* The length of the line at p if it is to be shown as it stands, since it begins with four spaces:
 * a row of a table, or what is typed. 0 if it is not, or if no line of text begins at p. */
size_t weir__help_literal(const char *text, const char *p);

enum weir__fact_kind {
    WEIR__FACT_OF_ALL,
    WEIR__FACT_OF_FINDERS, /* true only of commands that have findings */
    WEIR__FACT_OF_JOBS,    /* true only of commands that end by themselves, and die of signals */
};

struct weir__fact {
    const char *name; /* NULL ends a table */
    const char *text;
    enum weir__fact_kind kind;
};
extern const struct weir__fact weir__exit_facts[];
extern const struct weir__fact weir__environment_facts[];

/* Whether the fact belongs on the page of a command or, with NULL, of the program. */
bool weir__fact_holds(const struct weir__fact *fact, const struct weir__program *program,
                      const struct weir__command *command);

#endif
