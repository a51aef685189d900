/* secrets.h - which secrets the run has found, to hide them wherever else they stand.
 *
 * A line, a match or a name that is shown may hold a secret that no rule found there (it is part of
 * a longer word, say) but that was found somewhere else. So of each secret its length, a digest and
 * 32 bits of a hash of its first bytes are kept, not the secret itself, and what has such a digest
 * is hidden in all that is shown: in the end, and, of those found so far, in what is told before.
 *
 * Limits: secrets of WEIR__SECRETS_SHORTEST to WEIR__SECRETS_LONGEST bytes; shorter ones are words
 * too often, longer ones do not fit into what is shown. WEIR__SECRETS_MAX of them: beyond that, and
 * without memory, it is blind. One text is compared with WEIR__SECRETS_TRIES digests at most; from
 * there on all of it is hidden.
 *
 * Ownership: owns its table; texts are borrowed for the call.
 */
#ifndef WEIR_SCAN_REPORT_SECRETS_H
#define WEIR_SCAN_REPORT_SECRETS_H

#include "findings.h"
#include "known.h"

#define WEIR__SECRETS_SHORTEST 8u
#define WEIR__SECRETS_LONGEST  1024u
#define WEIR__SECRETS_MAX      (1u << 20)
#define WEIR__SECRETS_TRIES    512u

struct weir__secret {
    uint16_t length; /* 0: an empty slot */
    struct weir__ends ends;
    struct weir__digest digest;
};

/* Secrets that begin alike, and how long some of them are. */
struct weir__secret_start {
    uint32_t start;  /* a hash of the first WEIR__SECRETS_SHORTEST bytes */
    uint16_t length; /* 0: an empty slot */
};

struct weir__secrets {
    struct weir__secret *_slots;        /* a table, by digest, at most half full */
    struct weir__secret_start *_starts; /* a table, by start, of the same capacity */
    size_t _count, _capacity;
    bool _is_blind;
};

void weir__secrets_fini(struct weir__secrets *secrets);
/* How much memory the next one will take; most often 0. */
size_t weir__secrets_cost(const struct weir__secrets *secrets);
/* Of one that comes with other ends, fewer are shown. */
void weir__secrets_add(struct weir__secrets *secrets, const char *secret, size_t length,
                       struct weir__ends ends);
/* No more secrets are added, and those that were are forgotten. */
void weir__secrets_blind(struct weir__secrets *secrets);
/* Hides them in the text, but for their ends. False: blind. */
bool weir__secrets_hide(const struct weir__secrets *secrets, char *text, size_t length);

#endif
