/* findings.h - what was found, one record for each secret, with all of its places.
 *
 * Two findings are the same when rule and secret are; each then has one more place. Records are
 * kept without the secret itself unless it is to be shown: a BLAKE3 of it tells them apart, and
 * what is shown has all but its ends replaced, in the line and the match as well, and so have the
 * other secrets that were found in the same line. The fingerprint is made of rule, secret and path,
 * and does not change with the line or the commit.
 *
 * Limits: memory for records, places of one secret. Places beyond them are counted and not listed,
 * the first ones are (by path and offset, as far as memory allows); that alone does not make a scan
 * incomplete. Secrets beyond them are counted by weir__findings_unlisted(): that does.
 *
 * Thread-safe: weir__findings_add() may be called by many threads, and weir__findings_fresh() by
 * one meanwhile. What is to be ignored is given before the first of them, everything else comes
 * after the last.
 *
 * Ownership: copies what it keeps.
 */
#ifndef WEIR_SCAN_REPORT_FINDINGS_H
#define WEIR_SCAN_REPORT_FINDINGS_H

#include "engine/engine.h"

#define WEIR__FINDINGS_BYTES      (UINT64_C(64) << 20)
#define WEIR__FINDINGS_PLACES_MAX 1000u
#define WEIR__FINGERPRINT_SIZE    33 /* 32 hexadecimal digits and NUL */

struct weir__findings;

struct weir__found_place {
    char *path;
    char *commit; /* or NULL */
    /* Of what is in the history of a repository, else NULL: brought.h. */
    char *object, *author, *mail, *date, *subject;
    char *by;             /* or NULL: by a branch or a tag, or of no repository */
    char *paths;          /* others that it had: paths.h; or NULL */
    uint64_t paths_total; /* of the others, also those that are not listed */
    char *_joined;        /* the list, where it is no part of the place's own memory */
    int64_t time;
    uint64_t versions; /* of the file that have it, once finished; 0: it is of no repository */
    struct weir__place place;
    char *encodings; /* "base64, hex", outermost first; "" when it was plain */
    char *line;      /* cut around the secret, which is redacted unless it is shown */
    uint32_t line_length, line_from, line_until;
    bool is_in_name; /* the line is the path */
    bool is_beside;  /* in a container itself, and in none of its members: beside.h */
    bool is_around;  /* the same of what was scanned before anybody knew that it is one */
    char fingerprint[WEIR__FINGERPRINT_SIZE];
};

struct weir__found {
    const struct weir__rule *rule;
    char *secret; /* as it may be shown */
    size_t secret_length;
    char *match; /* likewise */
    size_t match_length;
    double entropy;
    struct weir__found_place *places; /* ordered by path and offset once finished */
    size_t places_count;              /* listed */
    uint64_t places_total;
    /* Of rule and secret alone, once finished, when places that are not listed are or may be in
     * files of which no place is; else "". */
    char everywhere[WEIR__FINGERPRINT_SIZE];
    bool is_checked;
    uint64_t number; /* that weir__findings_fresh() gave it; 0: none */
};

struct weir__findings_options {
    uint64_t bytes_max; /* 0: WEIR__FINDINGS_BYTES */
    bool show_secrets;
    /* For paths in ignore files and baselines that were given, and in ignore files that were found;
     * borrowed; or NULL. */
    const struct weir__origin *given_origin, *found_origin;
};

enum weir__added {
    WEIR__ADDED_SECRET,  /* not seen before */
    WEIR__ADDED_PLACE,   /* of a known secret */
    WEIR__ADDED_IGNORED, /* by a baseline or an ignore file */
    WEIR__ADDED_UNLISTED /* counted only */
};

WEIR_MUST_USE int weir__findings_new(struct weir__findings **ret_findings,
                                     const struct weir__findings_options *options);
void weir__findings_free(struct weir__findings *findings);

/* Lines of a .gitleaksignore or .weirignore: fingerprints of either kind ("commit:path:rule:line",
 * "path:rule:line", or ours), '#' begins a comment. 0, Invalid with the number of the first bad
 * line, NoMemory. */
WEIR_MUST_USE int weir__findings_ignore(struct weir__findings *findings, const char *text,
                                        size_t length, unsigned *ret_line);
/* Those of a file that was found. */
WEIR_MUST_USE int weir__findings_ignore_found(struct weir__findings *findings, const char *text,
                                              size_t length, unsigned *ret_line);
/* A report of ours (JSON or JSON Lines) or of gitleaks: what is in it is not told again. Read as it
 * comes (known.h). 0, Invalid with a reason for people, TooLarge, NoMemory, or what reading failed
 * with. */
struct weir__report_in;
WEIR_MUST_USE int weir__findings_baseline(struct weir__findings *findings,
                                          const struct weir__report_in *in, char *ret_reason,
                                          size_t reason_size);
/* The same of a text. */
WEIR_MUST_USE int weir__findings_baseline_text(struct weir__findings *findings, const char *text,
                                               size_t length, char *ret_reason, size_t reason_size);
/* Then, and before the first finding: what is kept to know them, and the memory for the rest. */
uint64_t weir__findings_known_bytes(const struct weir__findings *findings);
void weir__findings_limit(struct weir__findings *findings, uint64_t bytes_max);

/* An enum weir__added, or NoMemory. */
int weir__findings_add(struct weir__findings *findings, const char *path, const char *commit,
                       const struct weir__finding *finding);

/* A secret while others are still looked for. What stands around it is not to be shown yet, since
 * what else is a secret there is not known. */
struct weir__fresh {
    const struct weir__found *found;
    const struct weir__found_place *place; /* the first of those that are known by now */
};
/* Hands out each secret once, in the order in which they were found; they are numbered from 1. The
 * function is called under the lock: it neither waits nor writes, and false from it means that it
 * has enough for now. Returns whether there is more. */
bool weir__findings_fresh(struct weir__findings *findings,
                          bool (*take)(void *arg, const struct weir__fresh *fresh), void *arg);
bool weir__findings_has_fresh(struct weir__findings *findings);

/* Puts records and places in order: by path, offset and rule of the first place. */
void weir__findings_finish(struct weir__findings *findings);
/* Hides what was found in a text that is shown beside them; its length stays. After the end. */
void weir__findings_hide(const struct weir__findings *findings, char *text);
/* The same for what is said in messages, even where the report shows secrets, and at any time: what
 * was found by then. */
void weir__findings_hide_said(struct weir__findings *findings, char *text);
size_t weir__findings_count(const struct weir__findings *findings);
const struct weir__found *weir__findings_at(const struct weir__findings *findings, size_t index);
/* Found, and not as a place of a listed secret. */
uint64_t weir__findings_unlisted(const struct weir__findings *findings);
uint64_t weir__findings_ignored(const struct weir__findings *findings);

/* The fingerprint of a rule, a secret and a path; NULL: of the secret wherever it is. */
void weir__fingerprint(const char *rule, const char *secret, size_t secret_length, const char *path,
                       char ret_text[WEIR__FINGERPRINT_SIZE]);
/* Bytes of a secret that are shown: redact.h says which. */
struct weir__ends {
    uint8_t first, last;
};
/* "ghp_********************wxyz", or asterisks alone. At most size - 1 bytes; returns the length.
 */
size_t weir__redact(const char *secret, size_t length, struct weir__ends ends, char *text,
                    size_t size);

#endif
