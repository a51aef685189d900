/* parts.h - what the files of the engine share; nobody else includes this.
 *
 *   expression.c  what is known about an expression before it runs; expression_atom.c: its smallest
 *                 parts; expression_wide.c: what is about characters, as bytes
 *   literals.c    sets of literals; rate.c: how often they are met
 *   stretch.c     stretches of token bytes, near which most rules are looked for
 *   database.c    patterns as a Hyperscan database
 *   engine.c      the rules, ready to be used by many threads
 *   kept.c        the same, from a cache and into it
 *   edge.c        where what a rule looks for may begin: behind an escape, too
 *   matcher.c     PCRE2: expressions compiled when first needed, matches inside bounds
 *   allow.c       allow lists; quick.c: what of them need not be asked
 *   verdict.c     what all of these have to say about a path
 *   confirm.c     from a match to a candidate: every gate; binding.h: whose value it is
 *   listed.c      the values of a list that follow the first
 *   flank_rules.c which rules of a literal are asked for a hit; flank.c: by what is beside it
 *   echo.c        what repeats itself is searched and judged once
 *   doubts.c      matches of generic rules until the end of their block
 *   pending.c     candidates of an object until it is complete: their room, and telling them
 *   standing.c    which of them are told: keywords, requirements, overlaps
 *   required.c    what candidates require of each other
 *   reading.c     one secret in several readings: plain and decoded, cut or whole
 *   match.c       a text through the databases
 *   settle.c      what is certain in a text of which more may come
 *   scanner.c     an object in segments; encoded text
 *   whole.c       a text as a whole, by what is known of the one that it was made from
 *   trace.c       what is known of a text; spans.c: parts of one
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
#include "trace.h"

#define WEIR__SEGMENT_SIZE (1u << 20) /* bytes that are scanned at once */
#define WEIR__CONTEXT_BYTES                                                                        \
    WEIR__COMMENT_NEAR          /* of a line to either side of a match that are looked at */
#define WEIR__RUNS_LEAST  1024u /* of one level of a segment: room at first, and at most */
#define WEIR__RUNS_MAX    (128u << 10)
#define WEIR__LEVEL_BYTES (8u << 20)   /* decoded from one level of a segment */
#define WEIR__RUN_BYTES   (256u << 10) /* of an encoded run that are kept for the next segment */

/* --- edge.c --- */
#define WEIR__EDGE_MAX 12u /* bytes of an escape, or of a sequence that colours */
/* The expression with an edge at its beginning that holds behind an escape as well; NULL where it
 * begins with none. is_looking_back: for PCRE2; else for Hyperscan, where the escape is a part of
 * the match. The caller frees it. 0 or NoMemory. */
WEIR_MUST_USE int weir__edge_widen(const char *text, bool is_looking_back, char **ret_text);

/* Whether the expression begins with a mere edge of a word, in each of its alternatives, and the
 * byte that follows is of a word. */
bool weir__edge_is_word_begin(const char *text, char byte);
/* Whether such an edge, in its longer form, may be here, before a byte of a word. */
bool weir__edge_may_hold(const char *bytes, size_t at);

/* --- expressions, compiled by each thread when first needed --- */

/* No match begins in [from, until) of the object, or of the decoded run. */
struct weir__bare {
    uint64_t generation; /* of the view */
    uint64_t from, until;
    bool is_end; /* one begins at the end of that */
};

struct weir__matcher {
    const char *text;
    pcre2_code *code;  /* NULL until needed */
    pcre2_code *plain; /* of a wide one, for texts of ASCII; else NULL */
    unsigned uses;
    bool is_machine_code;
    uint32_t lookbehind; /* bytes before a start that make a difference; UINT32_MAX: not known */
    bool is_rule;        /* the edge that it begins with holds behind an escape, too */
    bool is_studied;
    char *late;      /* what every match has in it (expression.h); NULL: not known */
    uint32_t extent; /* bytes from the beginning of a match on that make a difference; 0: not asked
                      * yet, UINT32_MAX: not known */
    struct weir__bare bare;
};

/* Whether it has a `.` in it that is a line's end, too, or \C. */
bool weir__matcher_has_any_byte(const char *text);
void weir__matcher_fini(struct weir__matcher *matcher);
/* Whether the subject has a match anywhere: for allow lists and paths. */
bool weir__matcher_has(struct weir__matcher *matcher, pcre2_match_data *data, const char *subject,
                       size_t length);
/* As pcre2_match(); an error when it cannot be compiled, which weir__engine_new() has ruled out but
 * for memory. */
int weir__matcher_run(struct weir__matcher *matcher, const char *subject, size_t length,
                      size_t from, uint32_t options, pcre2_match_data *data,
                      pcre2_match_context *context);
/* The late literal of an expression that has been run often; "": it has none, or is not run often.
 */
const char *weir__matcher_late(struct weir__matcher *matcher);
/* Whether what matches may begin with these bytes from an offset on, and go on behind them. */
bool weir__matcher_may_begin(struct weir__matcher *matcher, pcre2_match_data *data,
                             const char *bytes, size_t length, size_t from);
/* Whether it is known on which bytes a match depends: so many before its beginning, and so many
 * from there on, at most. */
bool weir__matcher_reach(struct weir__matcher *matcher, size_t *ret_before, size_t *ret_behind);
/* Why it cannot be compiled: one line. True: it can, and has so many groups. */
bool weir__matcher_check(const char *text, uint32_t *ret_groups, char *reason, size_t size);

/* --- rules, shared --- */

/* Where a rule is looked for, a database each: everywhere, near stretches of token bytes, near long
 * ones. The last has once more all that are looked for by expression, for decoded runs. */
enum weir__look {
    WEIR__LOOK_EVERYWHERE,
    WEIR__LOOK_NEAR,
    WEIR__LOOK_NEAR_LONG,
    WEIR__LOOK_RUNS,
    WEIR__LOOKS
};

/* A pattern of a database. */
struct weir__anchor {
    uint32_t first_rule; /* into the engine's list of rules of anchors */
    uint32_t rules_count;
    uint32_t keyword;
    bool is_keyword; /* says that the object has it, and nothing else */
    bool is_cased;
    uint8_t length; /* of the literal; 0: of an expression */
    char literal[WEIR__EXPRESSION_LITERAL];
};

/* Who gives way to whom: each to those of lower ranks, and to earlier rules of its own; the first
 * to nobody. What a token is, its form says; the words before it say less, what it stands in less
 * than that, and a generic rule knows nothing of it. */
enum weir__rank { WEIR__RANK_FORM, WEIR__RANK_CONTEXT, WEIR__RANK_AROUND, WEIR__RANK_GENERIC };

struct weir__prepared {
    const struct weir__rule *rule;
    uint32_t width;
    uint32_t reach; /* bytes before the end of a hit in which a match may begin */
    weir__check *check;
    bool is_proof; /* what holds is marked as checked */
    bool is_gate;  /* what fails the check is no finding; else it is one that was not verified */
    uint32_t first_keyword,
        keywords_count; /* into the engine's keyword numbers: one must be seen */
    bool has_expression;
    bool is_by_literals; /* they are looked for, and not the expression */
    uint8_t look;        /* where: enum weir__look */
    uint8_t rank;        /* enum weir__rank */
    bool is_doubtful;    /* gives way, and no other rule asks whether it is there */
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
    uint32_t *path_rules; /* those without an expression: each object is asked for all of them */
    uint32_t path_rules_count;
    hs_database_t *databases[WEIR__LOOKS]; /* NULL where no rule is looked for */
    uint32_t width;
    uint32_t pattern_width;            /* of the widest pattern in a database */
    uint32_t look_widths[WEIR__LOOKS]; /* the same for each */
    uint32_t near_width;               /* of the widest rule that is looked for near stretches */
    uint32_t near_reach;               /* the same for what is before the end of a hit */
    char identity[33];
    bool is_cached;
    bool ignore_allow_comments;
    const struct weir__origin *origin; /* or NULL */
};

/* Patterns on their way into a database. */
struct weir__patterns {
    char **texts;
    unsigned *flags;
    unsigned *ids;
    uint32_t count, capacity;
};
WEIR_MUST_USE int weir__patterns_add(struct weir__patterns *patterns, const char *text,
                                     unsigned flags, unsigned id);
void weir__patterns_fini(struct weir__patterns *patterns);

/* Whether all expressions of the rules that are used are in order. */
WEIR_MUST_USE int weir__database_check(const struct weir__engine *engine,
                                       struct weir__rules_error *ret_error);
/* Compiles what is looked for. NULL of no patterns. */
WEIR_MUST_USE int weir__database_new(hs_database_t **ret_database,
                                     const struct weir__patterns *patterns,
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
    struct weir__buffer marks; /* within long runs */
    struct weir__decoded *runs;
    size_t runs_max; /* for which there is room */
    size_t count;
    size_t cursor; /* the run of the last hit */
};

struct weir__progress {
    uint64_t generation; /* of the view that position is about */
    uint64_t position;   /* no match of the rule starts before */
    /* The late literal of the rule does not begin in [bare_from, bare_until). */
    uint64_t bare_from, bare_until;
};

/* What is known of whether a candidate is told. */
enum weir__standing { WEIR__FALLS, WEIR__WAITS, WEIR__STANDS };
/* And of whether another reading of the same bytes is told instead. */
enum weir__reading { WEIR__READING_OPEN, WEIR__READING_STAYS, WEIR__READING_FALLS };

/* A match that passed its own gates, until the object is complete. */
struct weir__candidate {
    uint32_t rule;
    struct weir__place place;          /* of the secret */
    uint64_t match_line, match_column; /* where the match begins, for requirements */
    uint64_t run;                      /* of a decoded one: the same of all in that run; else 0 */
    uint32_t run_line, run_column;     /* where in the decoded text of the run the match begins */
    uint32_t run_from, run_until;      /* and the secret, in bytes */
    uint32_t run_size;   /* of that text: a line and the same with the next begin at one place */
    uint32_t next_other; /* the next in order that is not of the same run */
    uint32_t last;       /* of it and those before it in order, the one that ends last */
    uint32_t secret_at, secret_length, match_at, match_length, line_at, line_length;
    uint32_t line_from, line_until; /* the secret in the line */
    enum weir__encoding encodings[WEIR__DECODE_DEPTH_MAX];
    uint8_t encodings_count;
    bool is_checked;
    bool is_told;      /* stays to be compared with */
    bool is_done;      /* will not be told; stays for those that require it */
    bool is_allowed;   /* will not be told either, and others give way to it as if it were */
    bool is_commented; /* allowed by a comment: somebody knows these bytes, whichever rule has them
                        */
    bool is_misread; /* decoded from what is not encoded as a whole: as it is, it is read better */
    uint8_t standing, reading;
    uint64_t required; /* those that were met, a bit for each of the first 64 */
    uint64_t ends_max; /* where it ends, or one that comes before it in order: the last of them */
    double entropy;
};

/* Of the secret, in the object. */
static inline uint64_t weir__candidate_end(const struct weir__candidate *candidate)
{
    return candidate->place.offset + candidate->place.length;
}

/* In order of their places, so many before one may have bytes in common with it. */
#define WEIR__REACH 64u

/* Room for them: at first, and at most. */
#define WEIR__CANDIDATES_LEAST     4096u
#define WEIR__CANDIDATES_MAX       (128u << 10)
#define WEIR__CANDIDATE_TEXT_LEAST (4u << 20)
#define WEIR__CANDIDATE_TEXT       (32u << 20)

#define WEIR__PENDING_NAMES        64u

struct weir__pending_name { /* of what is required: its numbers, the first and the last */
    const struct weir__required *required;
    uint32_t rule, last;
};

struct weir__pending_asked { /* how far from a match those are that require it */
    uint64_t lines;
    bool is_near, is_anywhere; /* within the lines; at any distance */
    uint8_t kept;              /* at the last look, for those at any distance */
};

struct weir__pending {
    struct weir__candidate *items; /* capacity */
    uint32_t *order;               /* of them, by rule and line, then by rank; as many twice: behind
                                    * the capacity those of decoded runs, by rule, run and line */
    unsigned decoded_count;        /* of the latter */
    struct weir__pending_name names[WEIR__PENDING_NAMES]; /* those that were looked up last */
    struct weir__pending_asked *asked;                    /* by rule; NULL until needed */
    unsigned count, capacity;
    unsigned sorted;  /* so many are in order of their places */
    unsigned settled; /* when the certain ones were last told */
    size_t text_room; /* WEIR__CANDIDATE_TEXT at most */
    unsigned again;   /* so many, or so much text, before room is made again */
    size_t text_again;
    uint64_t missed_until;    /* the last line whose candidates may require what was forgotten */
    bool has_decoded;         /* some of them */
    bool has_required;        /* some require others */
    struct weir__buffer text; /* of all of them */
};

/* A match in a view, and in it the secret. */
struct weir__match {
    uint32_t rule;
    size_t from, until;
    size_t secret_from, secret_until;
};

/* Matches of rules that give way in the block at hand. Most of what they match in a text full of
 * secrets is the secret of another rule, to which they give way: so they are judged at the end of
 * the block, and only those that no other rule has. At the limit those that wait are judged at
 * once. */
#define WEIR__DOUBTS_MAX   512u
#define WEIR__DOUBTS_WORDS 2560u /* as many bits as a block has bytes, with what is before it */

struct weir__doubts {
    struct weir__match items[WEIR__DOUBTS_MAX];
    unsigned count;
    bool is_open;                         /* a block is at hand */
    size_t from;                          /* place of the first bit in the segment */
    size_t words;                         /* that are used */
    uint64_t covered[WEIR__DOUBTS_WORDS]; /* bytes that are secrets of other rules */
};

/* What else is found out about a match when it is judged. */
struct weir__facts {
    const char *line, *line_end; /* all lines of the match, in the view */
    double entropy;
    bool is_checked;
};

/* Where no comment that allows is, in the object or in a decoded run: no whole one is in
 * [from, until). */
struct weir__uncommented {
    uint64_t generation; /* of the view; 0: the object at hand */
    uint64_t from, until;
};

/* Allowed by a list, or by a comment. */
enum weir__verdict { WEIR__ACCEPTED, WEIR__REJECTED, WEIR__ALLOWED, WEIR__COMMENTED };

/* How far the object is the same as that much before. */
#define WEIR__SAME_COUNT 8u
struct weir__same {
    uint64_t distance; /* 0: of nothing */
    uint64_t from, until;
    bool is_stopped; /* the byte behind differs */
};

/* What a rule's last hit in the object gave, and what was said of its last match. Places are those
 * in the object. */
struct weir__echo {
    uint64_t generation; /* of the object */
    uint64_t to, back;   /* where the hit ended, and how far before it the first search began */
    uint64_t next;       /* where the next search begins */
    struct weir__match match, judged;
    uint64_t line_from, line_until; /* what the verdict depends on */
    double entropy;
    enum weir__verdict verdict;
    bool is_checked;
    bool is_set, has_match, is_judged;
};

/* Rules of an anchor whose searches for its last hit in the object found nothing, and would again
 * if the text is the same. */
#define WEIR__IDLE_MAX 64u /* of an anchor; others are asked for */
#define WEIR__NOT_IDLE SIZE_MAX
struct weir__idle {
    uint64_t generation;     /* of the object */
    uint64_t to;             /* where the hit ended */
    uint64_t gap_max;        /* how far behind it the next hit may end */
    uint64_t before, behind; /* bytes on either side of its end that make a difference */
    uint64_t rules;          /* a bit for each that is idle */
};

/* Lines of the decoded run at hand are counted up to here. */
struct weir__run_cursor {
    uint64_t generation; /* of the view */
    size_t at, line, start;
};

/* What is known of the bytes of the secret that was judged last. */
#define WEIR__LATELY_MAX   128u /* bytes of it; of a longer one it is found out each time */
#define WEIR__LATELY_LISTS 64u
struct weir__lately {
    char secret[WEIR__LATELY_MAX];
    size_t length; /* 0: of none */
    double entropy;
    weir__check *check; /* that was made, or NULL */
    bool holds;
    uint64_t asked, allowed; /* by global allow list: a bit for each that was asked; its answer */
};

/* Bytes before the end of a hit, and behind it, that make a difference (trace.h). */
struct weir__window {
    uint16_t before, behind;
    bool is_found; /* else it is found out when first needed */
    bool is_everywhere;
};

struct weir__allow_state; /* matchers of the allow lists */
struct weir__flanks;      /* of an anchor: what tells which of its rules are asked */
struct weir__flank_room;
struct weir__settle; /* what was told before its segment was complete */

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
    struct weir__progress *progress;      /* by rule, in the object; then in decoded text */
    uint64_t generation, generation_last; /* of views; never used twice */
    /* the object */
    struct weir__buffer path;
    struct weir__buffer inside; /* a path as the folder of the rules has it */
    char *commit;
    uint8_t *rule_state; /* by rule: what the path says, see confirm.c */
    bool *has_keyword;   /* by keyword */
    bool *is_dropped;    /* by rule: matches fell for want of room, before a keyword was seen */
    unsigned decode_depth;
    uint64_t decode_left;
    bool is_decode_by_size; /* there is more for more bytes */
    struct weir__scan_result result;
    bool is_open, is_path_allowed, is_begun; /* some object was */
    bool is_path_known;                      /* else the path is "" */
    /* its bytes */
    const char *bytes; /* of the segment: the room, or a text that was handed in */
    size_t length, capacity;
    char *room;
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
    struct weir__run_cursor run_cursor;
    struct weir__level levels[WEIR__DECODE_DEPTH_MAX + 1]; /* 0 is not used: the segment */
    struct weir__pending pending;
    struct weir__doubts doubts;
    struct weir__settle *settle; /* NULL until needed */
    struct weir__echo *echoes;   /* by rule */
    struct weir__idle *idle;     /* by anchor */
    struct weir__flanks *flanks; /* by anchor */
    struct weir__flank_room *flank_room;
    struct weir__same same[WEIR__SAME_COUNT];
    unsigned same_next;
    uint64_t same_work;                      /* bytes that were compared in the object */
    struct weir__uncommented uncommented[2]; /* of the object, and of the decoded run at hand */
    struct weir__lately lately;
    /* of a text that was handed in as a whole: */
    struct weir__trace *trace;          /* what is found out about it, or NULL */
    struct weir__look_list look;        /* where it is looked at */
    const struct weir__look_list *only; /* that, or NULL: everywhere */
    struct weir__window *windows;       /* by anchor */
    bool is_any_enough;                 /* nothing is told */
    bool has_any;                       /* and nothing more is to be judged */
};

/* --- allow.c --- */
int weir__allow_state_new(struct weir__allow_state **ret_state, const struct weir__engine *engine);
void weir__allow_state_free(struct weir__allow_state *state);
/* Whether a global list keeps this path away from all rules. */
bool weir__allow_path(struct weir__scanner *scanner, const char *path);
struct weir__allow_subject {
    uint32_t rule;
    const char *path, *commit; /* NULL: not known, or none */
    const char *secret, *match, *line;
    size_t secret_length, match_length, line_length;
};
bool weir__allow_match(struct weir__scanner *scanner, const struct weir__allow_subject *subject);
/* Whether the list names the commit. */
bool weir__allow_has_commit(const struct weir__allow *allow, const char *commit);
/* The paths of each list that has some, by turns. */
void weir__allow_each_paths(struct weir__scanner *scanner, void *arg,
                            void (*each)(void *arg, struct weir__matcher *paths, size_t count));

/* --- quick.c --- */
/* The expressions of an allow list. */
struct weir__quick_list {
    struct weir__matcher *matchers;
    size_t count;
    unsigned uses;
    struct weir__quick *quick; /* 150 KB, of a list that is asked often; else NULL */
};
/* Accepts NULL. */
void weir__quick_free(struct weir__quick *quick);
/* Whether one of the expressions matches in the text, which may be a part of the view at hand. */
bool weir__quick_any(struct weir__scanner *scanner, struct weir__quick_list *list, const char *text,
                     size_t length);

/* --- lately.c --- */
/* What is known of these bytes. NULL: they are too many, or none. */
struct weir__lately *weir__lately_of(struct weir__scanner *scanner, const char *secret,
                                     size_t length);
double weir__lately_entropy(struct weir__scanner *scanner, const char *secret, size_t length);
bool weir__lately_check(struct weir__scanner *scanner, weir__check *check, const char *secret,
                        size_t length);

/* --- scanner.c --- */
/* The segment: 0 or an error, after which the object is dropped. */
int weir__scanner_process(struct weir__scanner *scanner, bool is_last);

/* --- whole.c --- */
/* Into the trace: a match in the view at hand, a hit in the text that its rules were searched for.
 */
void weir__text_match(struct weir__scanner *scanner, const struct weir__match *match);
void weir__text_hit(struct weir__scanner *scanner, uint32_t anchor, size_t to);

/* --- match.c --- */
/* A text of the level at hand: every hit in it goes to weir__confirm(). */
void weir__match_text(struct weir__scanner *scanner, const char *text, size_t length);
/* The same for what is in the list, in the text as a whole. */
void weir__match_places(struct weir__scanner *scanner, const char *text, size_t length,
                        const struct weir__look_list *look);

/* --- listed.c --- */

/* Of a rule that wants them: makes of the match of a value that of the next one in its list, within
 * the rule's width from `first` on. False: there is none. */
bool weir__listed_next(const struct weir__scanner *scanner, size_t first,
                       struct weir__match *match);

/* --- confirm.c --- */
/* A hit of the database that ends at `to` in the view at hand: looks for matches of the rule. If
 * there are none, and that depends on bytes of the view alone: how far before the hit the first
 * search began; else WEIR__NOT_IDLE. */
size_t weir__confirm(struct weir__scanner *scanner, uint32_t rule, size_t to);
/* The same where it is known that there is none. */
void weir__confirm_none(struct weir__scanner *scanner, uint32_t rule, size_t to);
void weir__confirm_path_rules(struct weir__scanner *scanner);
/* Whether a match is a candidate that may be told; makes it one. */
bool weir__judge(struct weir__scanner *scanner, const struct weir__match *match);
/* The parts of that, which change nothing: */
bool weir__is_path_wanted(struct weir__scanner *scanner, uint32_t rule);
/* A match that starts in [from, to] and ends within a width: 1, 0, or an error of PCRE2. is_early:
 * more may come behind the view; where that would make a difference it is PCRE2_ERROR_PARTIAL, and
 * only the beginning of the match is set. */
int weir__search(struct weir__scanner *scanner, uint32_t rule, size_t from, size_t to,
                 bool is_early, struct weir__match *ret_match);
/* The gates. The facts are complete if it is accepted; the lines are what the verdict is about. */
enum weir__verdict weir__weigh(struct weir__scanner *scanner, const struct weir__match *match,
                               struct weir__facts *ret_facts);
/* A finding without its encodings; its texts are those of the view and the segment. */
void weir__show(struct weir__scanner *scanner, const struct weir__match *match,
                const struct weir__facts *facts, struct weir__finding *ret_finding);

/* --- flank_rules.c --- */
WEIR_MUST_USE int weir__flanks_new(struct weir__scanner *scanner);
/* Accepts what was not made. */
void weir__flanks_free(struct weir__scanner *scanner);
void weir__flanks_touch(struct weir__scanner *scanner);
/* Which of the first 64 rules of an anchor, and of those that are wanted, may have a match of which
 * the hit that ends at `to` in the view at hand is the literal: a bit each. */
uint64_t weir__flank_rules(struct weir__scanner *scanner, uint32_t anchor, size_t to,
                           uint64_t wanted);

/* --- echo.c --- */
/* Bytes before the first start of a search that make a difference. */
uint64_t weir__echo_before(const struct weir__scanner *scanner, uint32_t rule);
void weir__echo_begin(struct weir__scanner *scanner);
/* What the searches of a rule from `from` for a hit that ends at `to` give, if the text is the same
 * as at its last hit: 1 and a match, 0, or -1: not known. *ret_next: where the next one begins. */
int weir__echo_find(struct weir__scanner *scanner, uint32_t rule, size_t from, size_t to,
                    struct weir__match *ret_match, size_t *ret_next);
/* They gave this one match, or NULL. True: and will again where the text is the same. */
bool weir__echo_keep(struct weir__scanner *scanner, uint32_t rule, size_t from, size_t to,
                     const struct weir__match *match, size_t next);
/* Which rules of an anchor find nothing for a hit that ends at `to`. 0: none is known to. */
uint64_t weir__idle_rules(struct weir__scanner *scanner, uint32_t anchor, size_t to);
/* A hit of the anchor is looked at anew; and one of its rules was idle for it. */
void weir__idle_begin(struct weir__scanner *scanner, uint32_t anchor, size_t to);
void weir__idle_note(struct weir__scanner *scanner, uint32_t anchor, uint32_t number, size_t back);
/* The verdict, and without lines the facts, if the line is the same as at the rule's last match. */
bool weir__echo_judged(struct weir__scanner *scanner, const struct weir__match *match,
                       enum weir__verdict *ret_verdict, struct weir__facts *ret_facts);
void weir__echo_judge(struct weir__scanner *scanner, const struct weir__match *match,
                      enum weir__verdict verdict, const struct weir__facts *facts);

/* --- doubts.c --- */
/* A block of the segment is at hand, or ends. */
void weir__doubts_open(struct weir__scanner *scanner, size_t from, size_t until);
void weir__doubts_close(struct weir__scanner *scanner);
/* A match of a doubtful rule in the segment. */
void weir__doubts_add(struct weir__scanner *scanner, const struct weir__match *match);
/* These bytes of the segment are the secret of a rule that is certain. */
void weir__doubts_cover(struct weir__scanner *scanner, size_t from, size_t until);

/* --- required.c --- */
/* Candidates are asked about as they are now, until others come. */
void weir__required_order(struct weir__scanner *scanner);
/* Notes where the match of a candidate begins in the decoded run at hand, if it is in one. */
void weir__required_place(struct weir__scanner *scanner, const struct weir__match *match,
                          struct weir__candidate *candidate);
/* Whether all that it requires is there: WEIR__STANDS; cannot come any more: WEIR__FALLS. */
enum weir__standing weir__required_met(struct weir__scanner *scanner,
                                       struct weir__candidate *candidate);
/* Whether it was missing something when that was last asked. */
bool weir__required_is_open(const struct weir__scanner *scanner,
                            const struct weir__candidate *candidate);
/* Finds out which rules others require, and from how far: 0 or NoMemory. */
WEIR_MUST_USE int weir__required_prepare(struct weir__scanner *scanner);
/* The last line in which one may be that requires it to be near; 0: none does. Prepared. */
uint64_t weir__required_until(const struct weir__scanner *scanner,
                              const struct weir__candidate *candidate);
/* Whether one that waits or is still to come may require it. is_forced: only at any distance. */
bool weir__required_is_asked(struct weir__scanner *scanner, const struct weir__candidate *candidate,
                             bool is_forced);

/* --- standing.c --- */
/* Puts them in order of their places. */
void weir__standing_sort(struct weir__pending *pending);
/* Puts them in order, and finds out how each stands. is_end: nothing is to come. */
void weir__standing_find(struct weir__scanner *scanner, bool is_end);

/* --- reading.c --- */
/* Decides which of the readings of one secret is told. They are in order. is_judged: it is known
 * how each of them stands, and what falls is not told instead of another. Uses pending->order. */
void weir__reading_find(struct weir__scanner *scanner, bool is_judged);
/* Whether another candidate is the same secret and told instead. */
bool weir__reading_is_other(const struct weir__scanner *scanner, unsigned index);

/* --- pending.c --- */
/* Whether a candidate waits for a keyword. */
bool weir__pending_lacks_keyword(const struct weir__scanner *scanner);
WEIR_MUST_USE int weir__pending_init(struct weir__pending *pending);
void weir__pending_fini(struct weir__pending *pending);
/* Another object is begun. */
void weir__pending_begin(struct weir__pending *pending);
/* Makes room when it becomes scarce: rather between two blocks than in the middle of one, where a
 * generic rule may have come before the one that it gives way to. */
void weir__pending_make_room(struct weir__scanner *scanner);
/* Room for one more, of a rule, with so much text. NULL: scanner->error says why. */
struct weir__candidate *weir__pending_new(struct weir__scanner *scanner, uint32_t rule,
                                          size_t text);
/* Appends to the text; where it is. */
uint32_t weir__pending_text(struct weir__pending *pending, const char *bytes, size_t length);
/* Whether it asks for no other rule, and gives way to none. */
static inline bool weir__is_independent(const struct weir__prepared *prepared)
{
    return !prepared->rule->is_hidden && prepared->rank == WEIR__RANK_FORM &&
           prepared->rule->required_count == 0;
}
/* Whether a keyword of the rule was seen, or it has none. */
bool weir__pending_has_keyword(const struct weir__scanner *scanner,
                               const struct weir__prepared *prepared);
/* Whether what is still to come keeps a match of the rule from being told only by having the bytes
 * of it. */
bool weir__pending_asks_nothing(const struct weir__scanner *scanner, uint32_t rule);
/* Whether nothing that is still to come keeps it from being told. */
bool weir__pending_is_certain(const struct weir__scanner *scanner, uint32_t rule);
/* Hands out what stands whatever is still to come. */
void weir__pending_settle(struct weir__scanner *scanner);
/* All that is known is known: hands out what stands, and forgets the rest. */
void weir__pending_flush(struct weir__scanner *scanner);
/* The object has ended: whether what was judged early would have been told. */
void weir__pending_end(struct weir__scanner *scanner);

/* --- settle.c --- */
/* Accepts NULL. */
void weir__settle_free(struct weir__settle *settle);
/* Another object is begun. */
void weir__settle_begin(struct weir__scanner *scanner);
/* What comes before the offset and before accept_from is done with. */
void weir__settle_move_on(struct weir__scanner *scanner);
/* Whether weir__scanner_settle() has told it. */
bool weir__settle_has_told(const struct weir__scanner *scanner, uint32_t rule,
                           const struct weir__place *place);

#endif
