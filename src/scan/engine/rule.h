/* rule.h - rules and allow lists as they were read, before anything is compiled.
 *
 * The format is that of gitleaks (TOML), extended: a file that gitleaks loads is loaded unchanged.
 * Keys are known in any case. Ours in addition, in a rule: `provider`, `check` (a structure that is
 * verified offline, see check.h), `examples` (texts that must be found), `negatives` (texts that
 * must not), `max-width` (bytes that a match may have; without it, computed from the expression,
 * and at most WEIR__WIDTH_MAX), `givesWay` (says nothing where another rule has the same bytes),
 * `named` (a match begins in the name of the secret, see binding.h),
 * and `context`, `names` and `value`, which stand for an expression (see context.h). A rule of that
 * kind has its expression in `regex` like any other; its keywords are the longest parts of the
 * words, unless they are given, and its secret is the value.
 *
 * Loading: weir__rules_load() reads a text; `[extend]` with `path` or `useDefault` and
 * `disabledRules` is resolved through a reader that the caller gives, since nothing here touches a
 * file. At most WEIR__EXTEND_DEPTH files deep. Of two rules with one id, what the extending file
 * gives replaces what the extended one has, and keywords, tags, allow lists, examples and negatives
 * are added to it; an expression that is replaced takes its examples and negatives with it.
 *
 * Other names: `[aliases]` says which rules the ids of somebody else's rules stand for, such as
 * those of gitleaks (`"aws-access-token" = ["aws-access-key-id"]`). Wherever a rule is named, by a
 * file, an option or a report, such a name stands for all of those. In a file that extends another,
 * a rule under such a name that has no expression is a change of each of them; one with an
 * expression takes the place of those that stand for that name alone, and the others give way to
 * it. Disabled are those that stand for no name that is still wanted. A rule with '?' before it
 * (`"x" =
 * ["?generic-secret"]`) is not what the name stands for, but may find the same: what a report or an
 * ignore file knows under that name is known when that rule finds it, and nothing else.
 *
 * What is wrong is refused. What has no effect is noted and passed over: unknown keys, empty
 * strings in lists, empty rules and allow lists, `url`, a rule that changes one that is not there,
 * rules that are disabled, required or allowed and not there, a rule before another with its id.
 *
 * Limits: WEIR__RULES_MAX rules with WEIR__REQUIRED_MAX requirements each, WEIR__RULE_ID_MAX bytes
 * of an id, WEIR__ALIASES_MAX other names, WEIR__NAMES_MAX of one rule,
 * WEIR__NOTES_MAX notes (the last counts the rest), and those of toml.h and context.h.
 * Errors name the file, the line and the rule.
 *
 * Ownership: a set owns all of its strings and arrays; they live as long as it does.
 */
#ifndef WEIR_SCAN_ENGINE_RULE_H
#define WEIR_SCAN_ENGINE_RULE_H

#include <weir/defs.h>

#define WEIR__RULES_MAX    4096u
#define WEIR__WIDTH_MAX    (16u << 10) /* bytes of the longest match that is looked for */
#define WEIR__EXTEND_DEPTH 4u
#define WEIR__REQUIRED_MAX 64u
#define WEIR__RULE_ID_MAX  255u
#define WEIR__ALIASES_MAX  4096u
#define WEIR__NAMES_MAX    128u /* other names of one rule */
#define WEIR__NOTES_MAX    256u

struct weir__strings {
    char **items;
    size_t count;
};

enum weir__allow_target { WEIR__ALLOW_SECRET, WEIR__ALLOW_MATCH, WEIR__ALLOW_LINE };

/* One allow list. With is_and every kind of condition that it has must hold, else any one. */
struct weir__allow {
    char *description; /* "" when not given */
    bool is_and;
    enum weir__allow_target target; /* of the regexes */
    struct weir__strings commits;   /* hashes, whole or abbreviated */
    struct weir__strings paths;     /* expressions */
    struct weir__strings regexes;   /* expressions */
    struct weir__strings stopwords; /* contained in the secret, in any case */
    struct weir__strings rules;     /* of a global one: the rules that it is for; none: all */
    char *file;                     /* where it was read */
    unsigned line;
};

/* Another rule must have a match near. */
struct weir__required {
    char *rule;
    int64_t within_lines, within_columns; /* negative: anywhere in the object */
};

struct weir__rule {
    char *id, *description, *provider; /* provider: "" when not given */
    char *regex;                       /* NULL: the path alone decides */
    char *path;                        /* expression, or NULL */
    char *check;                       /* name of a check, or NULL */
    unsigned secret_group;             /* 0: the first group that took part, or the whole match */
    bool has_secret_group;
    double entropy; /* the least; 0: any */
    struct weir__strings keywords, tags, examples, negatives;
    struct weir__strings aliases; /* other names that stand for it */
    struct weir__strings known;   /* names under which somebody else may know what it finds */
    struct weir__allow *allows;
    size_t allows_count;
    struct weir__required *required;
    size_t required_count;
    bool is_hidden;     /* skipReport: serves others as required only */
    bool gives_way;     /* where another rule has the same bytes */
    bool is_bound;      /* of a context: a value that has another name is none, see binding.h */
    bool is_named;      /* the same, its match begins in the name; public names have none */
    uint32_t max_width; /* as given; 0: computed */
    uint32_t
        listed_min; /* bytes of further values in a list that are secrets; 0: the first alone */
    char *file;     /* where it was read */
    unsigned line;
};

struct weir__rules {
    char *title;
    struct weir__rule *rules;
    size_t rules_count;
    struct weir__allow *allows; /* global */
    size_t allows_count;
    struct weir__strings files; /* that were read, in order */
    struct weir__strings notes; /* what was not understood and passed over, one line each */
};

/* The built-in rules as they are, and as they were written (rules_pack.h). Outlives what is loaded.
 */
struct weir__rules_packed {
    const char *rules, *written;
    size_t rules_length, written_length;
};

/* Answers `[extend]`: the text of a path as it is written there, or of the built-in rules for a
 * path of NULL. The text is freed by weir__base_free(). 0 or a negative error. The built-in rules
 * are not asked for as a text, which takes longest of all, where they are given packed; then they
 * have no examples. */
struct weir__rules_reader {
    int (*read)(void *arg, const char *path, char **ret_text, size_t *ret_length);
    void *arg;
    const struct weir__rules_packed *packed; /* NULL: none */
};

struct weir__rules_error {
    char text[512]; /* one line for people: file, line, what, cure */
};

/* 0, Invalid (told in ret_error), NoMemory, or what the reader said. reader may be NULL when
 * nothing is to be extended. */
WEIR_MUST_USE int weir__rules_load(struct weir__rules **ret_rules, const char *file,
                                   const char *text, size_t length,
                                   const struct weir__rules_reader *reader,
                                   struct weir__rules_error *ret_error);
/* Accepts NULL. */
void weir__rules_free(struct weir__rules *rules);
/* By its id alone. */
const struct weir__rule *weir__rules_find(const struct weir__rules *rules, const char *id);
/* Whether the name stands for the rule: its id, or another name of it. */
bool weir__rule_is_named(const struct weir__rule *rule, const char *name);
/* The next one for which the name stands, from the first (NULL) on; NULL: no more. */
const struct weir__rule *weir__rules_next(const struct weir__rules *rules, const char *name,
                                          const struct weir__rule *before);

#endif
