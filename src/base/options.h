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
 * command and stand in no table.
 *
 * Understood: --name=value, --name value, -n value, -nvalue, -abc for flags, --no-name for toggles,
 * operands anywhere, "--" before operands that begin with a dash, "-" as an operand. Names are
 * never abbreviated. The last of a repeated option wins, except in lists.
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
    WEIR__KIND_LIST      /* struct weir__list: every value given */
};

/* What a shell offers for a value. */
enum weir__hint {
    WEIR__HINT_NONE,
    WEIR__HINT_FILE,
    WEIR__HINT_DIRECTORY,
    WEIR__HINT_COMMAND /* the subcommands of the program */
};

#define WEIR__LIST_MAX 256

struct weir__list {
    const char **items;
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
    uint64_t min;             /* of numbers; of nothing else */
    uint64_t max;       /* of numbers (0: no limit), and of list entries (0: WEIR__LIST_MAX) */
    const char *help;   /* one line, no full stop */
    const char *detail; /* more sentences for --help and the man page, or NULL */
};

struct weir__operand {
    const char *name; /* "SOURCE"; NULL ends a table */
    unsigned min;
    unsigned max; /* 0: any number; at most one operand of a table may vary */
    enum weir__hint hint;
    const char *const *words; /* the only values allowed, or NULL */
    bool is_open;             /* the words are offered, but the command allows others too */
    const char *help;
};

struct weir__example {
    const char *line; /* the command line; NULL ends a table */
    const char *text; /* what it does: lower case, no full stop */
};

/* All that is known about one command. */
struct weir__usage {
    const char *description;              /* sentences; an empty line begins a new paragraph */
    const struct weir__example *examples; /* three or more */
    const struct weir__operand *operands; /* or NULL */
    const struct weir__option *options;   /* or NULL */
    size_t values_size;                   /* of the struct that the options describe */
    bool has_findings;                    /* it may end with Findings, which is exit status 1 */
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
const char *weir__option_value_name(const struct weir__option *option);
/* "1 to 4096", "at least 1", "first, always or scrub"; "" when everything is allowed. */
void weir__option_range(const struct weir__option *option, char *text, size_t size);

#endif
