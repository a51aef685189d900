/* archive_confine.h - takes from this process everything that a decoder does not need.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_CONFINE_H
#define WEIR_SCAN_SOURCE_ARCHIVE_CONFINE_H

#include <weir/defs.h>

/* Sanitizers map terabytes, and make calls of their own, and speak on standard error. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR__ARCHIVE_IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define WEIR__ARCHIVE_IS_SANITIZED true
#endif
#endif
#ifndef WEIR__ARCHIVE_IS_SANITIZED
#define WEIR__ARCHIVE_IS_SANITIZED false
#endif

/* The child's descriptors; there are no others. */
#define WEIR__ARCHIVE_SOCKET 3
#define WEIR__ARCHIVE_FILE   4
#define WEIR__ARCHIVE_SPILL  5

/* Limits of memory, of the file that it may write, and core dumps; no capabilities, also if root
 * has started it, and no new rights; no looking in from outside; death with the parent. 0 or an
 * errno value. */
WEIR_MUST_USE int weir__archive_confine_limits(uint64_t memory_max, uint64_t spill_max);

/* From here on only what decoders need on descriptors that are open: anything else kills the
 * process. 0 or an errno value: then nothing has changed. */
WEIR_MUST_USE int weir__archive_confine_calls(void);

/* For tests: each does something that the filter must not let through. */
enum weir__archive_trial {
    WEIR__ARCHIVE_TRY_OPEN,
    WEIR__ARCHIVE_TRY_STAT,
    WEIR__ARCHIVE_TRY_UNLINK,
    WEIR__ARCHIVE_TRY_SOCKET,
    WEIR__ARCHIVE_TRY_FORK,
    WEIR__ARCHIVE_TRY_EXEC,
    WEIR__ARCHIVE_TRY_KILL,
    WEIR__ARCHIVE_TRY_WRITE_ELSEWHERE,
    WEIR__ARCHIVE_TRY_WRITE_AT,
    WEIR__ARCHIVE_TRY_MAP_FILE,
    WEIR__ARCHIVE_TRY_MAP_EXEC,
    WEIR__ARCHIVE_TRY_PROTECT_EXEC,
    WEIR__ARCHIVE_TRY_PTRACE,
    WEIR__ARCHIVE_TRY_LIMIT,
    WEIR__ARCHIVE_TRY_MEMORY, /* this one fails and does not kill: 0 when it did */
    WEIR__ARCHIVE_TRIALS,
};
int weir__archive_confine_try(enum weir__archive_trial what);

#endif
