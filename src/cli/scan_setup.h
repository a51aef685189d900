/* scan_setup.h - what a scan needs before it begins: rules, the engine, and what is known already.
 *
 * Files of configuration: `.weir.toml` or `.gitleaks.toml`, `.weirignore` and `.gitleaksignore`. In
 * what is scanned anybody may have put them there; so they are used only from the folder in which
 * the user runs the command, when what is scanned lies in it, or when the user says so.
 *
 * Whatever goes wrong is logged here, in one line.
 *
 * Ownership: a setup owns what it has made; weir__scan_setup_fini() accepts one whose init failed.
 */
#ifndef WEIR_CLI_SCAN_SETUP_H
#define WEIR_CLI_SCAN_SETUP_H

#include "report/findings.h"
#include "source/cache.h"

#define WEIR__SCAN_CONFIGS_MAX 8u

struct weir__scan_wishes {
    const char *config;      /* a file of rules, or NULL */
    const char *ignore_file; /* or NULL */
    const char *baseline;    /* or NULL */
    const char *const *only; /* ids of rules, NULL at the end; or NULL */
    const char *const *paths;
    size_t paths_count;
    bool is_elsewhere; /* some path is a URL: what is scanned does not lie in the folder */
    bool trust_config;
    bool show_secrets;
    bool ignore_allow_comments;
    uint64_t text_bytes; /* of an ignore file; 0: the default */
};

struct weir__scan_setup {
    struct weir__rules *rules;
    struct weir__engine *engine;
    struct weir__findings *findings;
    struct weir__cache cache;
    bool is_kept; /* what was compiled is in the cache */
    /* For what options name: the current folder. For what was found: where that was. */
    struct weir__origin here, there;
    const char *configs[WEIR__SCAN_CONFIGS_MAX + 1]; /* files that are used; NULL at the end */
    char *_names[WEIR__SCAN_CONFIGS_MAX];
    size_t _count;
    char *_shown[WEIR__SCAN_CONFIGS_MAX]; /* names of files that are used, as they may be shown */
};

/* Reads all files. Those that options name may be pipes, and nothing but a signal ends the wait for
 * them: so it comes before signals are caught (weir__program_end_by_signals()). */
WEIR_MUST_USE int weir__scan_setup_init(struct weir__scan_setup *setup,
                                        const struct weir__scan_wishes *wishes);
/* Then: makes the engine, which may take seconds, and nothing but a signal that ends the program
 * can stop it. Signals are caught from where what was made is put into the cache. */
WEIR_MUST_USE int weir__scan_setup_engine(struct weir__scan_setup *setup,
                                          const struct weir__scan_wishes *wishes);
/* When all is scanned: hides the secrets in the names of the files that are used. */
void weir__scan_setup_hide(struct weir__scan_setup *setup);
void weir__scan_setup_fini(struct weir__scan_setup *setup);

/* Who named a file: an option, so that it may be a pipe and is waited for, and - is standard input;
 * or nobody (it was found, or another file names it), and then a pipe is refused. */
enum weir__scan_source { WEIR__SCAN_GIVEN, WEIR__SCAN_FOUND };

/* Rules of a file, or for NULL those built in, with their examples if they are wanted. */
WEIR_MUST_USE int weir__scan_load_rules(struct weir__rules **ret_rules, const char *path,
                                        enum weir__scan_source source, bool with_examples);
/* The text of a file of at most so many bytes; freed by weir__base_free(). 0, or what was
 * logged. */
WEIR_MUST_USE int weir__scan_read_text(const char *path, size_t max, enum weir__scan_source source,
                                       char **ret_text, size_t *ret_length);
/* The descriptor of a file to be read, standard input's own for what is given as "-"; -1 and why.
 */
WEIR_MUST_USE int weir__scan_open_text(const char *path, enum weir__scan_source source,
                                       const char **ret_why);
/* Logs that there is no such rule, with the nearest one; returns -WEIR_E_USAGE. */
int weir__scan_unknown_rule(const struct weir__rules *rules, const char *id);

#endif
