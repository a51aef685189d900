/* seen.h - the highest sequence of a name that was met, from the moment on in which it was met.
 *
 * The records keep it on disk, behind a line and a commit. Until then it is here, so that nobody is
 * told of an older record in between.
 *
 * Promises
 * - What was noted counts for every weir__seen_highest() that begins after note() has returned,
 *   first from memory, then from disk. A sudden end in between forgets it.
 * - Neither call waits. At most as many are in memory as there is room in line for writes: when
 *   there is none, or no memory, it is not noted, and told of again by the next lookup.
 *
 * Ownership: the records are borrowed, and stopped before this is freed: each write comes back.
 */
#ifndef WEIR_INDEX_SEEN_H
#define WEIR_INDEX_SEEN_H

#include "records.h"

struct weir__seen;
WEIR_MUST_USE int weir__seen_new(struct weir__seen **ret_seen, struct weir__records *records);
/* Accepts NULL. */
void weir__seen_free(struct weir__seen *seen);
/* 0: none. */
uint64_t weir__seen_highest(struct weir__seen *seen, const struct weir__name *name);
void weir__seen_note(struct weir__seen *seen, const struct weir__name *name, uint64_t sequence);

#endif
