/* options.h - one table says what a subcommand understands; parsing, -h, --help, the man page and
 * the completions of three shells are made from it, so none of them can drift from the others.
 *
 * A command keeps its options in a struct of its own and describes each field once:
 *
 *     struct values {
 *         uint64_t files;
 *         bool json;
 *     };
 *     static const struct weir__option options[] = {
 *         {WEIR__OPTION_COUNT(struct values, files), .name = "max-files", .letter = 'n', .min = 1,
 *          .max = 4096, .preset = "1024", .help = "files in flight at once"},
 *         {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "print JSON"},
 *         WEIR__OPTIONS_END,
 *     };
 *
 * The macros refuse a field of the wrong type at compile time. -h and --help are known to every
 * command and stand in no table; -h stands alone, never among other letters.
 *
 * Understood: --name=value, --name value, -n value, -nvalue, -abc for flags, --no-name for toggles
 * and groups (and --no-n for their letters), operands anywhere, "--" before operands that begin
 * with a dash, "-" as an operand. Names are never abbreviated. The last of a repeated option wins,
 * except in lists, and of paths, which are given once; a group counts as its members do, so of
 * -a --no-owner and --owner the last wins. A flag may mean more when it is repeated (-vv).
 *
 * An option with an .implied value may stand alone; then its value comes by "=" only
 * (--sparse=make) and its letter takes none, since what follows could as well be an operand or
 * other letters.
 *
 * A table may also name options that people know from other programs and that are not offered:
 * whoever gives one reads why, and what to do instead, rather than the nearest name.
 *
 * Options may share one list, which then keeps all their values in the order of the command line
 * and tells for each by which option it came.
 *
 * Limits: a list takes 256 values or the table's max; more is a usage error.
 *
 * Ownership: parsed strings point into argv; the tables must outlive everything; lists are freed by
 * weir__options_fini().
 */
#ifndef WEIR_BASE_OPTIONS_H
#define WEIR_BASE_OPTIONS_H

#include <weir/defs.h>

enum weir__option_kind {
    WEIR__KIND_FLAG,     /* bool: --name */
    WEIR__KIND_TOGGLE,   /* bool: --name and --no-name */
    WEIR__KIND_STRING,   /* const char * */
    WEIR__KIND_PATH,     /* const char *, not empty */
    WEIR__KIND_COUNT,    /* uint64_t */
    WEIR__KIND_SIZE,     /* uint64_t: bytes */
    WEIR__KIND_DURATION, /* uint64_t: nanoseconds */
    WEIR__KIND_RATE,     /* uint64_t: bytes a second */
    WEIR__KIND_WORD,     /* unsigned: the place in .words */
    WEIR__KIND_LIST,     /* struct weir__list: every value given */
    WEIR__KIND_GROUP     /* no field: --name and --no-name set every toggle of .members */
};

/* What a shell offers for a value. */
enum weir__hint {
    WEIR__HINT_NONE,
    WEIR__HINT_FILE,
    WEIR__HINT_DIRECTORY,
    WEIR__HINT_COMMAND /* the subcommands of the program */
};

#define WEIR__LIST_MAX 256

struct weir__option;

struct weir__list {
    const char **items;
    const struct weir__option **from; /* of each item: the option that brought it */
    size_t count;
};

struct weir__option {
    const char *name; /* long, without dashes; NULL ends a table */
    char letter;      /* or 0 */
    enum weir__option_kind kind;
    enum weir__hint hint;
    size_t offset;
    const char *value_name;   /* "SIZE"; NULL: after the kind */
    const char *preset;       /* the default as a user would write it; NULL: all zero */
    const char *const *words; /* of WEIR__KIND_WORD, ended by NULL */
    const char *offered_by;   /* a shell offers the first words of what the program prints then, as
                               * "rules list"; or NULL */
    uint64_t min;             /* of numbers; of nothing else */
    uint64_t max;        /* of numbers (0: no limit), and of list entries (0: WEIR__LIST_MAX) */
    uint64_t initial;    /* of numbers: the default, instead of .preset; UINT64_MAX is not shown */
    const char *implied; /* what the name or the letter alone stands for; NULL: a value is needed */
    const char *negated; /* what --no-name stands for; NULL: only toggles and groups have that */
    /* Names of toggles, ended by NULL. Of WEIR__KIND_GROUP: those it stands for; of
     * WEIR__KIND_TOGGLE, or NULL: those that --name, but not --no-name, sets as well. */
    const char *const *members;
    size_t given;        /* WEIR__GIVEN(): set when the option itself was met */
    size_t again;        /* WEIR__AGAIN(), of flags: set when it was met twice or more often */
    const char *section; /* help and man page begin a section before this option; or NULL */
    const char *help;    /* one line, no full stop */
    const char *detail;  /* more sentences for --help and the man page, or NULL */
};

struct weir__operand {
    const char *name; /* "SOURCE"; NULL ends a table */
    unsigned min;
    unsigned max; /* 0: any number; at most one operand of a table may vary */
    enum weir__hint hint;
    const char *const *words; /* the only values allowed, or NULL */
    bool is_open;             /* the words are offered, but the command allows others too */
    const char *offered_by;   /* as of an option; what .hint says is offered besides */
    const char *help;
};

struct weir__example {
    const char *line; /* the command line; NULL ends a table */
    const char *text; /* what it does: lower case, no full stop */
};

/* Options that are known and not offered. */
struct weir__refused {
    const char *names; /* "-b --backup --suffix"; NULL ends a table. --no-backup counts, too */
    const char *why;   /* behind "option '-b' ": one line, no full stop. That of -h is used when it
                        * stands among other letters */
};

/* All that is known about one command. */
struct weir__usage {
    const char *description;               /* sentences; an empty line begins a new paragraph, and a
                                              line with four spaces before it stays as it is */
    const struct weir__example *examples;  /* three or more */
    const struct weir__example *variables; /* of the environment, beside those of all; or NULL */
    const struct weir__operand *operands;  /* or NULL */
    const struct weir__option *options;    /* or NULL */
    const struct weir__refused *refused;   /* or NULL */
    size_t values_size;                    /* of the struct that the options describe */
    bool has_findings;                     /* it may end with Findings, which is exit status 1 */
    bool is_service;                       /* it runs until a signal, and ends well then */
};

/* The offset of a field, provided that it has the type that the option will store. */
#define WEIR__FIELD(values, field, type)                                                           \
    .offset =                                                                                      \
        offsetof(values, field) +                                                                  \
        0 * sizeof(                                                                                \
                char[__builtin_types_compatible_p(__typeof__(((values *)0)->field), type) ? 1      \
                                                                                          : -1])

#define WEIR__OPTION_FLAG(values, field) .kind = WEIR__KIND_FLAG, WEIR__FIELD(values, field, bool)
#define WEIR__OPTION_TOGGLE(values, field)                                                         \
    .kind = WEIR__KIND_TOGGLE, WEIR__FIELD(values, field, bool)
#define WEIR__OPTION_STRING(values, field)                                                         \
    .kind = WEIR__KIND_STRING, WEIR__FIELD(values, field, const char *)
#define WEIR__OPTION_FILE(values, field)                                                           \
    .kind = WEIR__KIND_PATH, .hint = WEIR__HINT_FILE, WEIR__FIELD(values, field, const char *)
#define WEIR__OPTION_DIRECTORY(values, field)                                                      \
    .kind = WEIR__KIND_PATH, .hint = WEIR__HINT_DIRECTORY, WEIR__FIELD(values, field, const char *)
#define WEIR__OPTION_COUNT(values, field)                                                          \
    .kind = WEIR__KIND_COUNT, WEIR__FIELD(values, field, uint64_t)
#define WEIR__OPTION_SIZE(values, field)                                                           \
    .kind = WEIR__KIND_SIZE, WEIR__FIELD(values, field, uint64_t)
#define WEIR__OPTION_DURATION(values, field)                                                       \
    .kind = WEIR__KIND_DURATION, WEIR__FIELD(values, field, uint64_t)
#define WEIR__OPTION_RATE(values, field)                                                           \
    .kind = WEIR__KIND_RATE, WEIR__FIELD(values, field, uint64_t)
#define WEIR__OPTION_WORD(values, field)                                                           \
    .kind = WEIR__KIND_WORD, WEIR__FIELD(values, field, unsigned)
#define WEIR__OPTION_LIST(values, field)                                                           \
    .kind = WEIR__KIND_LIST, WEIR__FIELD(values, field, struct weir__list)
#define WEIR__OPTION_GROUP(names) .kind = WEIR__KIND_GROUP, .members = names
/* One more than the offset of a bool, so that 0 is none. */
#define WEIR__MARK(values, field)                                                                  \
    (1 + offsetof(values, field) +                                                                 \
     0 * sizeof(char[_Generic(((values *)0)->field, bool : 1, default                              \
                              : -1)]))
/* A bool that tells the default from the same thing said. */
#define WEIR__GIVEN(values, field) .given = WEIR__MARK(values, field)
#define WEIR__AGAIN(values, field) .again = WEIR__MARK(values, field)
#define WEIR__OPTIONS_END                                                                          \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#define WEIR__PARSE_ERROR_MAX 512

enum weir__help { WEIR__HELP_NONE, WEIR__HELP_SHORT, WEIR__HELP_LONG };

struct weir__parsed {
    char **operands; /* the front of argv, rearranged; ended as argv is, by NULL */
    int operands_count;
    enum weir__help help;              /* -h or --help was met: nothing after it was looked at */
    char error[WEIR__PARSE_ERROR_MAX]; /* one line without the subject, when parsing failed */
};

/* Reads argv[0] to argv[argc-1], which follow the command's name. values is filled with the presets
 * and then with what was given; it needs weir__options_fini() after success and failure alike.
 * Returns 0, -WEIR_E_USAGE or -WEIR_E_NO_MEMORY; after the latter two only parsed->error is set. */
WEIR_MUST_USE int weir__options_parse(const struct weir__usage *usage, int argc, char **argv,
                                      void *values, struct weir__parsed *parsed);
void weir__options_fini(const struct weir__usage *usage, void *values);

/* Asserts that the table is sound: names, letters and presets, three examples, help for all. */
void weir__options_check(const struct weir__usage *usage, const char *command);

/* For those who print tables. */
bool weir__option_takes_value(const struct weir__option *option);
/* Whether there is a --no-name. */
bool weir__option_is_negatable(const struct weir__option *option);
/* The default as it is shown, "" when there is nothing to show. */
void weir__option_default(const struct weir__option *option, char *text, size_t size);
const char *weir__option_value_name(const struct weir__option *option);
/* "1 to 4096", "at least 1", "first, always or scrub"; "" when everything is allowed. */
void weir__option_range(const struct weir__option *option, char *text, size_t size);

#endif
