/* commit_part.h - what the files of the history share; nobody else includes this.
 *
 *   commit_history.c  commits, read once, and what is kept of them
 *   commit_walk.c     which of them are reachable
 *   commit_order.c    in which order they came to be
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_GIT_COMMIT_PART_H
#define WEIR_SCAN_GIT_COMMIT_PART_H

#include "commit_history.h"

/* Bits of a node's flags. The lowest five and the last colour are those of enum weir__git_start. */
#define WEIR__NODE_STARTS  143u
#define WEIR__NODE_EXCLUDE 16u
#define WEIR__NODE_LEFT    32u
#define WEIR__NODE_RIGHT   64u
/* What goes from a commit to its parents. */
#define WEIR__NODE_LOST    128u
#define WEIR__NODE_COLOURS 255u
#define WEIR__NODE_LOADED  256u  /* it was looked for */
#define WEIR__NODE_THERE   512u  /* and found */
#define WEIR__NODE_QUEUED  1024u /* it waits in the queue */
#define WEIR__NODE_PASSED  2048u /* its parents have its colours */
#define WEIR__NODE_GONE    4096u /* not found where that was to be expected: not told */

#define WEIR__EDGE_LAST    UINT32_C(0x80000000)
#define WEIR__EDGES_BLOCK  65536u

/* The number of a commit, which is added if it is not known; within the limit. */
WEIR_MUST_USE int weir__git_history_add(struct weir__git_history *history,
                                        const struct weir__git_id *id, uint32_t *ret_number);

/* Says it to whoever listens, and counts it. */
__attribute__((cold, format(printf, 2, 3))) void
weir__git_history_tell(struct weir__git_history *history, const char *format, ...);

#endif
