/* report.h - writes findings in the formats that people and programs read.
 *
 * A report is written to a function, piece by piece: it is never in memory as a whole. Secrets are
 * in it only as the records have them, that is redacted unless they are to be shown.
 *
 * Formats: human (grouped by file, with the line and a caret), json, jsonl, sarif (2.1.0), csv,
 * junit, github (annotations), gitleaks (its JSON), html (one file without references to others).
 *
 * Ownership: everything is borrowed for the call; nothing is kept.
 */
#ifndef WEIR_SCAN_REPORT_REPORT_H
#define WEIR_SCAN_REPORT_REPORT_H

#include "findings.h"

enum weir__report_format {
    WEIR__REPORT_HUMAN,
    WEIR__REPORT_JSON,
    WEIR__REPORT_JSONL,
    WEIR__REPORT_SARIF,
    WEIR__REPORT_CSV,
    WEIR__REPORT_JUNIT,
    WEIR__REPORT_GITHUB,
    WEIR__REPORT_GITLEAKS,
    WEIR__REPORT_HTML,
    WEIR__REPORT_FORMATS
};

/* "human", "json", …; -WEIR_E_INVALID for another name. */
const char *weir__report_name(enum weir__report_format format);
int weir__report_find(const char *name);

/* Something that could not be scanned, or not completely. */
struct weir__unscanned {
    char *path;
    char *reason; /* one line: "cannot read: Permission denied", "encrypted", "decode budget" */
    bool is_partial;
};

/* What was done, for the end of a report and for --summary. */
struct weir__summary {
    uint64_t files, bytes, archives, members;  /* scanned */
    uint64_t repositories, objects;            /* histories, and what was scanned in them */
    uint64_t shallow;                          /* of the histories, those of shallow clones */
    uint64_t histories_left;                   /* of repositories that were scanned as files */
    uint64_t remembered;                       /* histories that were scanned before, in part */
    uint64_t special, symlinks, allowed_paths; /* skipped by their kind or by an allow list */
    uint64_t ignored_paths, submodules;        /* skipped for git's sake */
    uint64_t failed, truncated;                /* could not be scanned, or not completely */
    const struct weir__unscanned *unscanned;   /* the first of those */
    size_t unscanned_count;
    uint64_t allowed, ignored, unlisted; /* findings */
    uint64_t unlisted_places;            /* of findings that are listed */
    const char *const *configs;          /* rule and ignore files that were used; NULL at the end */
    const char *engine;                  /* weir__engine_identity() */
    const char *version;                 /* of the program */
    uint64_t rules;
    double seconds;
    bool is_complete;
    bool is_interrupted;
};

struct weir__report_options {
    enum weir__report_format format;
    bool has_colour;  /* human */
    unsigned columns; /* of the terminal, 0: unknown */
};

/* 0, or what write said. */
struct weir__report_out {
    int (*write)(void *arg, const char *bytes, size_t length);
    void *arg;
};

/* JSON Lines while the scan goes on: one line for each secret that was not told by an earlier call,
 * with the first place that is known by then. May be called at any time before the findings are
 * finished, by one thread; the report at the end repeats the numbers. */
WEIR_MUST_USE int weir__report_found(struct weir__findings *findings,
                                     const struct weir__report_out *out);

/* Places of findings beyond those that are listed, when the findings are finished. */
uint64_t weir__places_unlisted(const struct weir__findings *findings);

WEIR_MUST_USE int weir__report(const struct weir__findings *findings,
                               const struct weir__summary *summary,
                               const struct weir__report_options *options,
                               const struct weir__report_out *out);

#endif
