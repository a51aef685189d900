/* seen.h - the most that was met of a name, from the moment on in which it was met.
 *
 * The records keep it on disk, behind a line and a commit. Until then it is here, so that nobody is
 * told of an older record in between; and when the disk is full or cannot be written, for as long
 * as this process lives.
 *
 * Promises
 * - What was noted counts for every weir__seen_mark() that begins after note() has returned 0,
 *   first from memory, then from disk. A sudden end in between forgets it.
 * - What could not be written is handed in again by weir__seen_again(), one at a time while the
 *   disk takes none, so that a full one is asked no more than once in a turn.
 * - No call waits. At most WEIR__SEEN_MAX names are in memory; when there is no room for another
 *   one note() refuses it, which is counted, and what cannot be remembered must not be told: its
 *   replay could not be told from it later.
 *
 * Ownership: the records are borrowed, and stopped before this is freed: each write comes back.
 */
#ifndef WEIR_INDEX_SEEN_H
#define WEIR_INDEX_SEEN_H

#include "records.h"

/* Some 4 MiB. */
#define WEIR__SEEN_MAX 2048u

struct weir__seen;
WEIR_MUST_USE int weir__seen_new(struct weir__seen **ret_seen, struct weir__records *records);
/* Accepts NULL. */
void weir__seen_free(struct weir__seen *seen);
void weir__seen_mark(struct weir__seen *seen, const struct weir__name *name,
                     struct weir__record_mark *ret_mark);
/* Whether what is in memory alone is newer than that record. Cheap, and looks at no record. */
bool weir__seen_is_past(struct weir__seen *seen, const struct weir__record *record,
                        const struct weir__record_bytes *bytes);
/* A record of a name that was judged GOOD. NoSpace: there is no room to remember it; NoMemory. */
WEIR_MUST_USE int weir__seen_note(struct weir__seen *seen, const struct weir__record *record,
                                  const struct weir__record_bytes *bytes);
/* Every second or so, by one thread. */
void weir__seen_again(struct weir__seen *seen);
/* What is not on its way to the records: amnesia. */
void weir__seen_forget(struct weir__seen *seen);

struct weir__seen_stats {
    uint64_t unwritten; /* in memory now */
    uint64_t refused;
};
void weir__seen_read(struct weir__seen *seen, struct weir__seen_stats *ret_stats);

#endif
