/* engine.h - takes bytes and a place, gives findings. No input, no output, no waiting.
 *
 * An engine is made once from rules and shared by all threads: it never changes. A scanner belongs
 * to one thread. An object (a file, a member of an archive, a blob) is fed to it in order, in
 * chunks of any size:
 *
 *     weir__engine_new(&engine, rules, &options, &error)
 *     weir__scanner_new(&scanner, engine)
 *     weir__scanner_begin(scanner, &object)
 *     weir__scanner_feed(scanner, bytes, length)      any number of times; findings come out
 *     weir__scanner_settle(scanner)                   between any two: what is certain comes out
 *     weir__scanner_end(scanner)                      the last findings come out
 *
 * Promises
 * - Findings do not depend on how the object was cut into chunks: a match across an edge is found,
 *   exactly once, with the same place.
 * - Every rule has a largest match width (weir__engine_width()); a match that is wider is not
 * looked for. The scanner keeps at most two widths of bytes between feeds.
 * - Time is linear in the bytes for dense input as well: no byte is tried by one rule more often
 *   than a fixed number of times.
 * - What depends on the rest of the object (a keyword, a rule that is required, one that has the
 *   same secret) waits for it. There is room for WEIR__WAITING_MAX matches, or fewer with much
 * text; beyond, what waits is judged by what was seen, which the object's result says.
 * - What was encoded is found too, to a depth, within a budget for each object; what did not fit is
 *   counted in the object's result, never passed over in silence.
 *
 * Ownership: the engine borrows the rules and the origin for its life. A finding and everything it
 * points to is valid during the call of the sink.
 */
#ifndef WEIR_SCAN_ENGINE_ENGINE_H
#define WEIR_SCAN_ENGINE_ENGINE_H

#include "decode.h"
#include "expression.h"
#include "origin.h"
#include "rule.h"

#define WEIR__DECODE_DEPTH_DEFAULT 3u
#define WEIR__DECODE_DEPTH_MAX     8u
/* Decoded bytes of one object: so many, and so many more for each byte of it. What is not made for
 * it comes nowhere near that: each byte is encoded once, at every depth. */
#define WEIR__DECODE_BYTES   (UINT64_C(64) << 20)
#define WEIR__DECODE_RATIO   4u
#define WEIR__WAITING_MAX    98304u /* matches */
#define WEIR__COMMENT_NEAR   4096u  /* bytes of a line to either side that a comment allows in */
#define WEIR__LINE_SHOWN_MAX 512u   /* bytes of the line that are handed out */

struct weir__engine;
struct weir__scanner;
struct weir__brought;

/* Where the compiled form of the rules is kept; nothing here touches a file. */
struct weir__engine_cache {
    /* The bytes that were put under the key, or a negative error; freed by weir__base_free(). */
    int (*get)(void *arg, const char *key, char **ret_bytes, size_t *ret_length);
    void (*put)(void *arg, const char *key, const char *bytes, size_t length);
    void *arg;
};

struct weir__engine_options {
    const struct weir__engine_cache *cache; /* or NULL: compiled each time */
    const char *const *only;    /* ids of the rules that are used, NULL at the end; or NULL: all */
    bool ignore_allow_comments; /* weir:allow and gitleaks:allow mean nothing */
    const struct weir__origin *origin; /* for paths in rules and allow lists; or NULL */
};

WEIR_MUST_USE int weir__engine_new(struct weir__engine **ret_engine,
                                   const struct weir__rules *rules,
                                   const struct weir__engine_options *options,
                                   struct weir__rules_error *ret_error);
/* Accepts NULL. No scanner may be left. */
void weir__engine_free(struct weir__engine *engine);
/* The widest match of any rule. */
size_t weir__engine_width(const struct weir__engine *engine);
/* A hash of all rules that decide what is found: 32 hexadecimal digits. */
const char *weir__engine_identity(const struct weir__engine *engine);
/* What decides besides it: whether comments may allow something. */
bool weir__engine_heeds_comments(const struct weir__engine *engine);
/* The same of paths that begin like this one, whatever the rules say: to the hash. */
struct weir__hash;
void weir__engine_hash_origin(const struct weir__engine *engine, const char *beginning,
                              struct weir__hash *hash);
/* Whether the compiled form came from the cache. */
bool weir__engine_is_cached(const struct weir__engine *engine);

/* How a rule is looked for: by literals that every match has one of, by its expression, or, with
 * neither, by the path. */
struct weir__rule_look {
    uint32_t width; /* of the widest match */
    bool is_cut;    /* the expression would go on for longer */
    bool is_by_literals, is_by_expression;
    bool is_near;                   /* only near stretches of token bytes (stretch.h) */
    struct weir__literals literals; /* also those that are known and not used */
};
/* False: the engine has no such rule. */
bool weir__engine_look(const struct weir__engine *engine, const char *id,
                       struct weir__rule_look *ret_look);

/* What is scanned. */
struct weir__object {
    /* With '!' between an archive and its member. NULL: not known yet. Rules that ask for a path
     * apply then, allow lists do not by path or commit, and rules that are about the path alone are
     * left out. So if there is a finding in the bytes under any path and any commit there is one
     * under none: perhaps another, since rules give way to each other. */
    const char *path;
    const char *commit; /* hexadecimal, or NULL: for allow lists of commits */
    unsigned decode_depth;
    uint64_t decode_bytes; /* budget; 0: WEIR__DECODE_BYTES and _RATIO */
};

struct weir__place {
    uint64_t offset, length;       /* bytes in the object as it was fed */
    uint64_t line, column;         /* from 1; columns count bytes */
    uint64_t end_line, end_column; /* behind the last byte */
};

struct weir__finding {
    const struct weir__rule *rule;
    struct weir__place place; /* of the secret (of its encoded form if it was encoded) */
    const char *secret;       /* decoded bytes, not terminated */
    size_t secret_length;
    const char *match; /* the whole match, decoded */
    size_t match_length;
    const char *line; /* the line in which the match begins, as it was fed, cut around it */
    size_t line_length;
    size_t line_from, line_until;         /* the secret in that */
    const enum weir__encoding *encodings; /* outermost first */
    size_t encodings_count;
    double entropy;
    bool is_checked; /* a check of its structure agreed */
    /* Not the engine's: for those who pass findings on. */
    const char *shown_path; /* with the secrets in it hidden; NULL: as it is */
    bool is_in_name;        /* found in the path, which is the line; not in the object */
    bool is_beside;         /* found in a container itself, beside its members */
    bool is_around;         /* found in what may hold such members, as it came */
    const struct weir__brought *brought; /* into a repository; NULL: it is not of one */
};

/* Called with a segment of the object, for what nothing behind it can change, or before that by
 * weir__scanner_settle(), and at its end for the rest: in order of the places each time. Must not
 * call the scanner. */
struct weir__sink {
    void (*finding)(void *arg, const struct weir__finding *finding);
    void *arg;
};

struct weir__scan_result {
    uint64_t bytes; /* fed */
    uint64_t decoded_bytes;
    uint64_t findings;
    uint64_t allowed;         /* dropped by allow lists or comments */
    uint64_t rejected;        /* dropped by entropy, keywords, checks or requirements */
    uint64_t gave_up;         /* matches that reached a limit of the matcher */
    bool is_in_part;          /* only what is new was looked at (whole.h) */
    bool is_decode_truncated; /* the budget left encoded text undecoded */
    bool is_judged_early;     /* more matches waited for the rest than there is room for: they were
                               * judged by what came before it */
};

WEIR_MUST_USE int weir__scanner_new(struct weir__scanner **ret_scanner,
                                    const struct weir__engine *engine,
                                    const struct weir__sink *sink);
void weir__scanner_free(struct weir__scanner *scanner);

/* The object's strings are copied. An object that was begun and not ended is dropped. */
WEIR_MUST_USE int weir__scanner_begin(struct weir__scanner *scanner,
                                      const struct weir__object *object);
/* 0 or NoMemory, after which the object is dropped. */
WEIR_MUST_USE int weir__scanner_feed(struct weir__scanner *scanner, const char *bytes,
                                     size_t length);
/* Where the next bytes of an object may be put, and how many: at least one. What is fed from there
 * is not copied. Holds until something else is done with the scanner. */
char *weir__scanner_room(struct weir__scanner *scanner, size_t *ret_size);
/* Goes on so many bytes further in the object, which are not looked at and have no line end in
 * them: a hole. Nothing matches across it; places behind it are right. */
WEIR_MUST_USE int weir__scanner_skip(struct weir__scanner *scanner, uint64_t length);
/* Right behind that: so many lines did end in it after all, the last one so many bytes before its
 * end. */
void weir__scanner_skipped_lines(struct weir__scanner *scanner, uint64_t lines, uint64_t behind);
#define WEIR__SETTLED_MAX 1024u /* findings of one segment that are told before it is complete */
/* More may come, but not soon: tells at once what whatever follows cannot change, and changes
 * nothing else; the object has the same findings in the end, each once. That is: matches in lines
 * that are complete, of rules that ask for no other rule and give way to none, whose keyword has
 * been seen by the end of the line. What is encoded, what is in an unfinished line, and more than
 * WEIR__SETTLED_MAX, wait for the segment. Looks at what came since the last time, and a width
 * before it. Without memory it tells nothing, which is then told later. */
void weir__scanner_settle(struct weir__scanner *scanner);
WEIR_MUST_USE int weir__scanner_end(struct weir__scanner *scanner,
                                    struct weir__scan_result *ret_result);

/* Whether the path alone keeps every rule away (global allow lists of paths): need not be read. */
bool weir__scanner_skips(struct weir__scanner *scanner, const char *path);
/* What the rules have to say about a path: of two paths with the same verdict the same is found in
 * the same bytes. is_opened: the bytes may be those of an archive, whose members have paths that
 * begin with this one. What is found in the name itself is another matter. */
WEIR_MUST_USE int weir__scanner_verdict(struct weir__scanner *scanner, const char *path,
                                        bool is_opened, uint64_t *ret_verdict);
/* The same of a commit, hexadecimal; 0 for those that no allow list names. */
uint64_t weir__engine_commit_verdict(const struct weir__engine *engine, const char *commit);
/* Whether any allow list names commits. */
bool weir__engine_has_commits(const struct weir__engine *engine);
/* Whether a path that ends with this name may be what a rule without an expression looks for. */
bool weir__scanner_may_name(struct weir__scanner *scanner, const char *name);

#endif
