/* scan_memory.h - how --max-memory is shared out.
 *
 * There is what a run has of once, what is known from ignore files and baselines, what each thread
 * may take, what is kept of findings, decoders of archives, and histories of repositories where
 * they are scanned. What is known is there before the run begins, so its size is no guess; the
 * others get shares of the rest.
 *
 * Ownership: nothing is kept.
 */
#ifndef WEIR_CLI_SCAN_MEMORY_H
#define WEIR_CLI_SCAN_MEMORY_H

#include "source/scan.h"

/* What there is of once, what a thread has at most (a segment, what is decoded from it, candidates,
 * compiled expressions), and the least that findings need. */
#define WEIR__SCAN_FIXED_BYTES    (UINT64_C(32) << 20)
#define WEIR__SCAN_THREAD_BYTES   (UINT64_C(44) << 20)
#define WEIR__SCAN_FINDINGS_BYTES (UINT64_C(24) << 20)
#define WEIR__SCAN_MEMORY_MIN                                                                      \
    (WEIR__SCAN_FIXED_BYTES + WEIR__SCAN_THREAD_BYTES + WEIR__SCAN_FINDINGS_BYTES)
#define WEIR__SCAN_MEMORY_MAX (UINT64_C(1) << 40)
/* What a thread has in addition where histories are scanned (traces of texts, steps of a delta,
 * names), and the least that all histories together need. */
#define WEIR__SCAN_HAND_BYTES    (UINT64_C(3) << 20)
#define WEIR__SCAN_HISTORY_BYTES (UINT64_C(20) << 20)

/* Of an ignore file, which is read as a whole before anything else is there. 0: no limit is set. */
uint64_t weir__scan_text_bytes(uint64_t memory);

/* memory: the limit, or 0; known: what is taken by what is known. Sets threads and decoders of the
 * options, the share of histories if they are scanned, and what findings may take (0: the
 * default). 0; or Usage when what is known, or histories, leave too little, which is logged. */
WEIR_MUST_USE int weir__scan_share_memory(uint64_t memory, uint64_t known,
                                          struct weir__scan_options *options,
                                          uint64_t *ret_findings);

#endif
