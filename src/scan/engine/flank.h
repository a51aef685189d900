/* flank.h - what stands beside a literal rules most of its rules out.
 *
 * A word such as `password` is what twenty rules are found by, each of which has an expression of
 * its own that has to fail where there is nothing. A few bytes behind the word and before it are
 * mostly enough to see that: so the expressions of all rules of a literal are made into two
 * machines with a state for each set of places in them that a match may have come to, one that
 * reads on behind the literal and one that reads back before it. A machine makes a state when it is
 * first needed, and a look at a table for each byte tells which rules are left.
 *
 * An expression is taken for what matches at least as much: what is looked for ahead and behind,
 * edges and references are left out, and what may be there more often than is counted may be there
 * without end. One about characters, of which a literal may be any byte, is not understood.
 * So a rule that is ruled out has no match with the literal at this place; one that is
 * left may have none either. An expression that is not understood is always left.
 *
 * Limits: WEIR__FLANK_BYTES are looked at in either direction; a machine has WEIR__FLANK_STATES
 * states and WEIR__FLANK_NODES places; all of a scanner have WEIR__FLANK_MEMORY. Beyond them rules
 * are left.
 *
 * Ownership: a machine is its holder's and keeps nothing of what it was made from.
 */
#ifndef WEIR_SCAN_ENGINE_FLANK_H
#define WEIR_SCAN_ENGINE_FLANK_H

#include <weir/defs.h>

#define WEIR__FLANK_BYTES  24u
#define WEIR__FLANK_STATES 1024u
#define WEIR__FLANK_NODES  16384u
#define WEIR__FLANK_SETS   512u
#define WEIR__FLANK_RULES  64u /* of a machine: a bit each */
#define WEIR__FLANK_MEMORY (4u << 20)
/* Hits for which the machine for what is behind left something before the other one is worth its
 * time. The first one is at once: it takes less than to compile the expressions. */
#define WEIR__FLANK_LEFT 256u

/* --- flank_read.c: an expression as places and ways between them --- */

struct weir__flank_node {
    uint16_t kind;   /* number of the set of bytes that is taken here, or: */
    uint16_t out[2]; /* where it goes on; WEIR__FLANK_NONE: nowhere */
};
#define WEIR__FLANK_FORK UINT16_MAX       /* takes nothing, goes on both ways */
#define WEIR__FLANK_END  (UINT16_MAX - 1) /* the match of the rule out[0] is complete */
#define WEIR__FLANK_NONE UINT16_MAX

struct weir__flank_net {
    struct weir__flank_node *nodes;
    uint64_t (*sets)[4];
    unsigned count, sets_count;
};

/* Where nets are read and states are made, for all machines of a thread. */
struct weir__flank_room {
    size_t memory;     /* of all machines */
    uint32_t left_min; /* WEIR__FLANK_LEFT, or less for a test */
    /* the net: */
    struct weir__flank_node nodes[WEIR__FLANK_NODES];
    uint8_t rules[WEIR__FLANK_NODES]; /* by node: whose it is */
    uint64_t sets[WEIR__FLANK_SETS][4];
    uint16_t table[2 * WEIR__FLANK_SETS]; /* sets by a hash of them, from 1 on; 0: none */
    unsigned count, sets_count;
    /* the state: */
    uint64_t seen[WEIR__FLANK_NODES / 64 + 1];  /* nodes that were come to */
    uint64_t takes[WEIR__FLANK_NODES / 64 + 1]; /* of them those that take a byte */
    uint64_t last[WEIR__FLANK_NODES / 64 + 1];
    uint64_t done; /* rules that are complete */
    uint16_t stack[WEIR__FLANK_NODES];
};

static inline bool weir__flank_has(const uint64_t set[4], unsigned char byte)
{
    return set[byte >> 6] >> (byte & 63) & 1;
}

/* Adds an expression as that of a rule; is_back: as it is read from its end. False: it is not
 * understood, or too large; nothing was added but sets. */
bool weir__flank_read(struct weir__flank_room *room, const char *text, uint16_t rule, bool is_back);

/* --- flank.c: a machine --- */

struct weir__flank;
struct weir__flank_literal {
    const char *text;
    size_t length;
    bool is_cased; /* else in lower case, and stands for any */
};

/* The machine for what is behind a literal, or before it. Expressions that are NULL are left
 * always, and so are those behind the first WEIR__FLANK_RULES. NULL: there is no memory, or the
 * limit is reached. */
struct weir__flank *weir__flank_new(struct weir__flank_room *room, const char *const *texts,
                                    size_t count, const struct weir__flank_literal *literal,
                                    bool is_back);
/* Accepts NULL. */
void weir__flank_free(struct weir__flank *flank);
/* Which of the wanted rules are left: a bit each. The bytes are those behind the literal, or those
 * before it, of which the last is read first. *ret_read: so many of them were read. */
uint64_t weir__flank_ask(struct weir__flank *flank, struct weir__flank_room *room, uint64_t wanted,
                         const char *bytes, size_t length, size_t *ret_read);

#endif
