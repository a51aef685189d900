/* parts.h - what the files of the engine share; nobody else includes this.
 *
 *   expression.c  what is known about an expression before it runs
 *   rate.c        how often a literal is met
 *   database.c    all rules as one Hyperscan database
 *   engine.c      the rules, ready to be used by many threads
 *   kept.c        the same, from a cache and into it
 *   matcher.c     PCRE2: expressions compiled when first needed, matches inside bounds
 *   allow.c       allow lists
 *   confirm.c     from a match to a candidate: every gate
 *   pending.c     candidates of an object until it is complete: keywords, requirements, overlaps
 *   scanner.c     an object in segments; encoded text
 *   describe.c    tells how a rule is looked for
 *
 * Ownership: an engine owns all that it points to but the rules; a scanner all but the engine.
 */
#ifndef WEIR_SCAN_ENGINE_PARTS_H
#define WEIR_SCAN_ENGINE_PARTS_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <hs/hs.h>
#include <pcre2.h>

#include "check.h"
#include "engine.h"
#include "expression.h"

#define WEIR__SEGMENT_SIZE  (1u << 20) /* bytes that are scanned at once */
#define WEIR__CONTEXT_BYTES 4096u      /* of a line to either side of a match that are looked at */
#define WEIR__RUNS_MAX      8192u      /* of one level of a segment */
#define WEIR__LEVEL_BYTES   (8u << 20) /* decoded from one level of a segment */
#define WEIR__RUN_BYTES     (256u << 10) /* of an encoded run that are kept for the next segment */

/* --- expressions, compiled by each thread when first needed --- */

struct weir__matcher {
    const char *text;
    pcre2_code *code; /* NULL until needed */
    unsigned uses;
    bool is_tried;
};

void weir__matcher_fini(struct weir__matcher *matcher);
/* Whether the subject has a match anywhere: for allow lists and paths. */
bool weir__matcher_has(struct weir__matcher *matcher, pcre2_match_data *data, const char *subject,
                       size_t length);
/* NULL when it cannot be compiled, which weir__engine_new() has ruled out but for memory. */
pcre2_code *weir__matcher_code(struct weir__matcher *matcher);
/* Why it cannot be compiled: one line. True: it can. */
bool weir__matcher_check(const char *text, char *reason, size_t size);

/* --- rules, shared --- */

/* A pattern of the database. */
struct weir__anchor {
    uint32_t first_rule; /* into the engine's list of rules of anchors */
    uint32_t rules_count;
    bool is_keyword; /* says that the object has it, and nothing else */
    uint32_t keyword;
};

struct weir__prepared {
    const struct weir__rule *rule;
    uint32_t width;
    uint32_t reach; /* bytes before the end of a hit in which a match may begin */
    weir__check *check;
    bool is_gate; /* what fails the check is no finding; else it is one that was not verified */
    uint32_t first_keyword,
        keywords_count; /* into the engine's keyword numbers: one must be seen */
    bool has_expression;
    bool is_by_literals; /* they are looked for, and not the expression */
    bool is_generic;     /* gives way to any other rule that has the same secret */
};

struct weir__engine {
    const struct weir__rules *rules;
    struct weir__prepared *prepared;
    uint32_t count;
    struct weir__anchor *anchors;
    uint32_t anchors_count;
    uint32_t *anchor_rules;
    uint32_t anchor_rules_count;
    uint32_t *keyword_numbers;
    uint32_t keyword_numbers_count;
    uint32_t keywords_count;
    hs_database_t *database; /* NULL when no rule has an expression */
    uint32_t width;
    char identity[33];
    bool is_cached;
    bool ignore_allow_comments;
};

/* Patterns on their way into a database. */
struct weir__patterns {
    char **texts;
    unsigned *flags;
    unsigned *ids;
    uint32_t count, capacity;
};
WEIR_MUST_USE int weir__patterns_add(struct weir__patterns *patterns, const char *text,
                                     unsigned flags);
void weir__patterns_fini(struct weir__patterns *patterns);

/* Compiles what is looked for, when all expressions of the rules are in order. */
WEIR_MUST_USE int weir__database_new(hs_database_t **ret_database,
                                     const struct weir__patterns *patterns,
                                     const struct weir__rules *rules,
                                     struct weir__rules_error *ret_error);

/* Whether that is why something was not compiled. */
bool weir__database_lacks_memory(const hs_compile_error_t *error);

/* --- kept.c --- */
/* The engine's identity: 0 or NoMemory. */
WEIR_MUST_USE int weir__kept_identify(struct weir__engine *engine);
/* Completes an engine whose rules are chosen. False: nothing that can be used is there. */
bool weir__kept_get(struct weir__engine *engine, const struct weir__engine_cache *cache);
/* What cannot be kept is made again the next time. */
void weir__kept_put(const struct weir__engine *engine, const struct weir__engine_cache *cache);

/* --- scanning, by one thread --- */

/* Bytes that are matched: the segment of the object at hand, or one decoded run. */
struct weir__view {
    const char *bytes;
    size_t length;
    uint64_t offset;       /* of the first byte, for the progress of rules; of decoded ones 0 */
    bool is_begin, is_end; /* nothing comes before, or after */
    /* of a decoded one: */
    const struct weir__view *parent; /* where it was encoded */
    const struct weir__decoded *run; /* as weir__decode() told of it */
    const char *source;              /* that it was decoded from */
    size_t start;                    /* of bytes in the text of its level */
    unsigned depth;                  /* 0: the segment */
};

/* What one pass of the decoders over a level gave: the source of the next level. */
struct weir__level {
    struct weir__buffer text;
    struct weir__decoded *runs;
    size_t count;
    size_t cursor; /* the run of the last hit */
};

struct weir__progress {
    uint64_t generation; /* of the view that position is about */
    uint64_t position;   /* no match of the rule starts before */
};

/* A match that passed its own gates, until the object is complete. */
struct weir__candidate {
    uint32_t rule;
    struct weir__place place;          /* of the secret */
    uint64_t match_line, match_column; /* where the match begins, for requirements */
    uint32_t secret_at, secret_length, match_at, match_length, line_at, line_length;
    uint32_t line_from, line_until; /* the secret in the line */
    enum weir__encoding encodings[WEIR__DECODE_DEPTH_MAX];
    uint8_t encodings_count;
    bool is_checked;
    bool is_told; /* stays to be compared with */
    double entropy;
};

#define WEIR__CANDIDATES_MAX 4096u
#define WEIR__CANDIDATE_TEXT (4u << 20)

#define WEIR__PENDING_NAMES  64u

struct weir__pending_name { /* of a rule that is required, and its number */
    const struct weir__required *required;
    uint32_t rule;
};

struct weir__pending {
    struct weir__candidate *items;                        /* WEIR__CANDIDATES_MAX */
    uint32_t *order;                                      /* of them, by rule and line; as many */
    struct weir__pending_name names[WEIR__PENDING_NAMES]; /* those that were looked up last */
    unsigned count;
    unsigned settled;         /* when the certain ones were last told */
    struct weir__buffer text; /* of all of them */
};

struct weir__allow_state; /* matchers of the allow lists */

struct weir__scanner {
    const struct weir__engine *engine;
    struct weir__sink sink;
    hs_scratch_t *scratch;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    struct weir__matcher *matchers; /* of the rules */
    struct weir__matcher *paths;    /* of the rules */
    struct weir__allow_state *allows;
    struct weir__progress *progress;      /* by rule */
    uint64_t generation, generation_last; /* of views; never used twice */
    /* the object */
    struct weir__buffer path;
    char *commit;
    uint8_t *rule_state; /* by rule: what the path says, see confirm.c */
    bool *has_keyword;   /* by keyword */
    unsigned decode_depth;
    uint64_t decode_left;
    struct weir__scan_result result;
    bool is_open, is_path_allowed;
    /* its bytes */
    char *bytes; /* of the segment */
    size_t length, capacity;
    uint64_t offset;           /* of bytes[0] */
    uint64_t line, line_start; /* of bytes[0]: its number, and where it starts in the object */
    /* the view at hand */
    const struct weir__view *view;
    struct weir__view views[WEIR__DECODE_DEPTH_MAX + 1];
    unsigned level;                     /* of the text that is being matched */
    uint64_t accept_from, accept_until; /* secrets that end in (from, until] are this segment's */
    int error;
    size_t cursor; /* lines are counted up to here in the segment */
    uint64_t cursor_line, cursor_start;
    struct weir__level levels[WEIR__DECODE_DEPTH_MAX + 1]; /* 0 is not used: the segment */
    struct weir__pending pending;
};

/* --- allow.c --- */
int weir__allow_state_new(struct weir__allow_state **ret_state, const struct weir__engine *engine);
void weir__allow_state_free(struct weir__allow_state *state);
/* Whether a global list keeps this path away from all rules. */
bool weir__allow_path(struct weir__scanner *scanner, const char *path);
struct weir__allow_subject {
    uint32_t rule;
    const char *path, *commit;
    const char *secret, *match, *line;
    size_t secret_length, match_length, line_length;
};
bool weir__allow_match(struct weir__scanner *scanner, const struct weir__allow_subject *subject);

/* --- confirm.c --- */
/* A hit of the database that ends at `to` in the view at hand: looks for matches of the rule. */
void weir__confirm(struct weir__scanner *scanner, uint32_t rule, size_t to);
void weir__confirm_path_rules(struct weir__scanner *scanner);

/* --- pending.c --- */
WEIR_MUST_USE int weir__pending_init(struct weir__pending *pending);
void weir__pending_fini(struct weir__pending *pending);
/* Room for one more with so much text; hands out what is there if need be. */
struct weir__candidate *weir__pending_new(struct weir__scanner *scanner, size_t text);
/* Appends to the text; where it is. */
uint32_t weir__pending_text(struct weir__pending *pending, const char *bytes, size_t length);
/* Hands out what stands whatever is still to come. */
void weir__pending_settle(struct weir__scanner *scanner);
/* All that is known is known: hands out what stands, and forgets the rest. */
void weir__pending_flush(struct weir__scanner *scanner);

#endif
