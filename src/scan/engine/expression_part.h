/* expression_part.h - what the files of the study share: a part of an expression, and where the
 * reading of it is. Nobody else includes this.
 *
 * Pure.
 *
 * Ownership: parts hold copies; a reader points into the text that is read.
 */
#ifndef WEIR_SCAN_ENGINE_EXPRESSION_PART_H
#define WEIR_SCAN_ENGINE_EXPRESSION_PART_H

#include "expression.h"
#include "stretch.h"

struct weir__part {
    uint64_t width_max;
    uint64_t extent_max;            /* at least that: with what is looked at behind it */
    bool is_exact;                  /* texts holds all that it can match */
    struct weir__literals texts;    /* may hold "" */
    struct weir__literals required; /* of exact parts: where that is less to look for than texts */
    uint64_t reach_max;             /* of those: where the first that is there ends at the latest */
    bool has_word;                  /* one of those that are asked for, besides what texts say */
    struct weir__row row;
    char late[WEIR__EXPRESSION_LITERAL + 1]; /* of parts that are not exact; see expression.h */
};

struct weir__reader {
    const char *at;
    unsigned depth;
    bool is_wide;     /* characters are meant, and not bytes */
    bool is_extended; /* (?x): blanks and comments mean nothing */
    bool is_caseless; /* (?i) */
    bool is_quoted;   /* \Q: everything means itself */
    bool is_bad;
    bool is_unknown;    /* there is something that changes what the rest means: nothing is known */
    uint64_t ahead_max; /* the most that is looked at anywhere, and not taken */
    char *const *words; /* that are asked for */
    size_t words_count;
};

/* Matches the empty text. */
struct weir__part weir__part_nothing(void);
/* Looks at so many bytes behind it, and takes none. */
struct weir__part weir__part_ahead(struct weir__reader *reader, uint64_t extent);
/* Nothing but the width is known. */
struct weir__part weir__part_vague(uint64_t width);
/* A character as it is written here; the reader is behind it. */
struct weir__part weir__part_character(struct weir__reader *reader);
/* Behind a backslash; \Q and \E have been taken away. */
struct weir__part weir__part_escape(struct weir__reader *reader);
/* Behind a '['. */
struct weir__part weir__part_class(struct weir__reader *reader);
/* a followed by b, if the texts of both can be multiplied out. */
bool weir__part_join(struct weir__part *a, const struct weir__part *b);

uint64_t weir__width_sum(uint64_t a, uint64_t b);

#endif
