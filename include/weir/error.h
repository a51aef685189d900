/* error.h - every way in which Weir says no, in one table.
 *
 * The same table is the taxonomy of the library (negative return codes), of the HTTP services
 * (status and "error" field) and of the command line (exit status). Functions return 0 or the
 * negative of one of these codes, and leave their ret_ parameters untouched on failure.
 *
 * Promises: names and numbers are stable; a new error is added at the end of its block. The
 * detail text belongs to the calling thread, costs nothing until it is asked for, and speaks of
 * the last call of this thread that failed.
 *
 * Ownership: all strings returned here are static or belong to the calling thread; free none.
 */
#ifndef WEIR_ERROR_H
#define WEIR_ERROR_H

#include <weir/defs.h>

WEIR_BEGIN_DECLS

/* X(number, CONSTANT, name, text, HTTP status, retryable, exit status)
 *
 * Retryable means that the same call may succeed later without the caller changing anything.
 *
 * The status is what a service tells its client. TimeoutRead is the client's own slowness there:
 * its request did not come in time (408). What the service itself waits for in vain, a disk or
 * another service, is Timeout (504). */
#define WEIR_ERRORS(X)                                                                             \
    /* admission and pacing */                                                                     \
    X(1, BUSY, "Busy", "at capacity; try again later", 429, 1, 3)                                  \
    X(2, TIMEOUT, "Timeout", "the deadline passed", 504, 1, 3)                                     \
    X(3, TIMEOUT_READ, "TimeoutRead", "a read took longer than allowed", 408, 1, 3)                \
    X(4, TIMEOUT_WRITE, "TimeoutWrite", "a write took longer than allowed", 504, 1, 3)             \
    X(5, CANCELED, "Canceled", "canceled before it was done", 503, 0, 3)                           \
    X(6, LAGGING, "Lagging", "the subscriber fell behind and lost messages", 500, 0, 3)            \
    X(7, PACED, "Paced", "held back by the pacing budget", 429, 1, 3)                              \
    X(8, OVERFLOW, "Overflow", "the queue is full and the item was skipped", 429, 1, 3)            \
    X(9, BREAKER_OPEN, "BreakerOpen", "the target fails too often and is left alone for now", 503, \
      1, 3)                                                                                        \
    X(10, TRANSIENT, "Transient", "a passing fault of the other side", 503, 1, 3)                  \
    X(11, NO_ROUTE, "NoRoute", "no peer knows the way", 503, 1, 3)                                 \
    X(12, TOO_LARGE, "TooLarge", "more than can ever be granted", 413, 0, 2)                       \
    X(13, CLOSED, "Closed", "closed to new work", 503, 0, 3)                                       \
    X(14, DRAINING, "Draining", "shutting down; no new work", 503, 1, 3)                           \
    X(15, EXHAUSTED, "Exhausted", "every try failed", 503, 1, 3)                                   \
    /* arguments and data */                                                                       \
    X(20, INVALID, "Invalid", "not a valid argument", 400, 0, 2)                                   \
    X(21, USAGE, "Usage", "the command line is wrong", 400, 0, 2)                                  \
    X(22, NOT_FOUND, "NotFound", "there is no such thing", 404, 0, 3)                              \
    X(23, EXISTS, "Exists", "it is already there", 409, 0, 3)                                      \
    X(24, MISMATCH, "Mismatch", "the bytes do not match their address", 409, 0, 3)                 \
    X(25, RANGE, "Range", "outside of what there is", 416, 0, 2)                                   \
    X(26, CORRUPT, "Corrupt", "the data are damaged", 500, 0, 3)                                   \
    X(27, UNSUPPORTED, "Unsupported", "not supported here", 501, 0, 3)                             \
    X(28, UNAUTHORIZED, "Unauthorized", "no capability was shown", 401, 0, 3)                      \
    X(29, FORBIDDEN, "Forbidden", "the capability does not allow this", 403, 0, 3)                 \
    X(30, CONFLICT, "Conflict", "something newer is there", 409, 0, 3)                             \
    /* the machine */                                                                              \
    X(40, NO_MEMORY, "NoMemory", "out of memory", 503, 1, 3)                                       \
    X(41, NO_DESCRIPTORS, "NoDescriptors", "out of file descriptors", 503, 1, 3)                   \
    X(42, NO_SPACE, "NoSpace", "the disk is full", 507, 1, 3)                                      \
    X(43, IO, "Io", "an input or output error", 500, 0, 3)                                         \
    X(44, DENIED, "Denied", "permission denied", 403, 0, 3)                                        \
    X(45, INTERNAL, "Internal", "a fault of ours", 500, 0, 3)                                      \
    X(46, READ_ONLY, "ReadOnly", "it can be read, but not written", 503, 0, 3)                     \
    /* results of a whole run */                                                                   \
    X(60, FINDINGS, "Findings", "findings or differences", 409, 0, 1)                              \
    X(61, INCOMPLETE, "Incomplete", "some items failed", 500, 0, 3)                                \
    X(62, INTERRUPTED, "Interrupted", "stopped by a signal", 503, 0, 130)

enum weir_error {
    WEIR_OK = 0,
#define WEIR__ENUM(number, constant, name, text, http, retryable, exit) WEIR_E_##constant = number,
    WEIR_ERRORS(WEIR__ENUM)
#undef WEIR__ENUM
};

/* All of these take a code with either sign, so that a return value can be passed as it is.
 * A number that is not in the table is answered as Internal; 0 is "Ok", 200 and exit 0. */
WEIR_API const char *weir_error_name(int code);
WEIR_API const char *weir_error_text(int code);
WEIR_API int weir_error_http(int code);
WEIR_API bool weir_error_is_retryable(int code);
WEIR_API int weir_error_exit(int code);

/* The code for an errno value, negative and ready to be returned. */
WEIR_API int weir_error_from_errno(int errno_value);

/* What was wrong with the last failed call of this thread, with its object and its numbers, for
 * instance "budget 'files': 2000 asked for, at most 1024 can ever be granted". Never NULL; empty
 * when nothing failed yet. Valid until the next failure in this thread. */
WEIR_API const char *weir_error_detail(void);

WEIR_END_DECLS

#endif
