/* program.h - a program made of subcommands: finding the right one, running it, leaving with the
 * right status.
 *
 * Promises:
 * - Exit status: 0 done, 1 findings or differences, 2 usage, 3 something failed; a program that was
 *   interrupted dies of the signal, so that a shell sees 130 and a script stops.
 * - Output that cannot be written is reported and is status 3; a reader that went away is no error.
 * - Descriptors 0, 1 and 2 are open when a command runs, so no file of its own can land there.
 * - SIGPIPE is ignored; a command that starts other programs gives them the default back.
 * - SIGXFSZ is ignored: a file that may not grow any more is an error of the write.
 *
 * Ownership: all tables are static and outlive the program; a call lives as long as the command
 * runs.
 */
#ifndef WEIR_BASE_PROGRAM_H
#define WEIR_BASE_PROGRAM_H

#include "options.h"
#include "out.h"

struct weir__program;
struct weir__command;

/* What a command is given. */
struct weir__call {
    const struct weir__program *program;
    const struct weir__command *command;
    struct weir__out *out; /* standard output; print through this alone */
    const void *values;    /* the struct that the option table describes */
    char **operands;
    int operands_count;
};

struct weir__command {
    const char *name; /* NULL ends a table */
    /* 0 or a negative error, which becomes the exit status; the command has said why. */
    int (*run)(const struct weir__call *call);
    const char *summary; /* one line: lower case, no full stop */
    const struct weir__usage *usage;
};

struct weir__program {
    const char *name;
    const char *version;
    const char *date; /* of the manual pages, YYYY-MM-DD */
    const char *summary;
    const struct weir__usage *usage; /* of the program without a command */
    const struct weir__command *commands;
};

/* Does all that main() has to do, and returns its status. */
int weir__program_main(const struct weir__program *program, int argc, char **argv);

/* NULL when there is none of that name. */
const struct weir__command *weir__program_find(const struct weir__program *program,
                                               const char *name);

/* Logs that there is no such command, with the nearest one, and returns -WEIR_E_USAGE. */
int weir__program_unknown(const struct weir__program *program, const char *name);

/* From here on the first SIGINT, SIGTERM or SIGHUP is only remembered, so that the command can put
 * things in order; a second one ends the program at once. When the command has returned, the
 * program dies of the remembered signal. */
void weir__program_catch_signals(void);

/* Before that, for what may take long and leaves nothing behind: the first such signal prints the
 * line, which ends with a newline and lives as long as the program, and ends it at once. One that
 * was remembered does so here. May be followed by catching them, and the other way round. */
void weir__program_end_by_signals(const char *last_words);

/* The remembered signal, or 0. */
int weir__program_signal(void);

#endif
