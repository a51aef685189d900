/* out.h - what a program prints: buffered, with the first failure remembered.
 *
 * Printing returns nothing, so that commands read well; the first failure makes all later output
 * vanish, and whoever ends the program asks weir__out_finish() how it went. A reader that went away
 * (EPIPE) is not a failure: there is simply no more to do.
 *
 * At the limit of the buffer (16 KiB) what is there is written. One weir__out_printf() may make at
 * most that much; more is Overflow.
 *
 * Ownership: the descriptor stays the caller's.
 */
#ifndef WEIR_BASE_OUT_H
#define WEIR_BASE_OUT_H

#include <weir/defs.h>

#include "now.h"

#define WEIR__OUT_SIZE 16384

struct weir__out {
    struct weir__now _now;
    int _error; /* 0 or the first negative code */
    int _errno_value;
    bool _reader_left;
    int (*_is_wanted)(void);
    uint64_t _patience_ns;
    size_t _used;
    char _bytes[WEIR__OUT_SIZE];
};

void weir__out_init(struct weir__out *out, int fd);

void weir__out_write(struct weir__out *out, const void *bytes, size_t count);
void weir__out_puts(struct weir__out *out, const char *text);
/* What others wrote, with its control characters shown as the log shows them. */
void weir__out_escaped(struct weir__out *out, const char *text);
__attribute__((format(printf, 2, 3))) void weir__out_printf(struct weir__out *out,
                                                            const char *format, ...);
/* Writes what is buffered. */
void weir__out_flush(struct weir__out *out);

/* From here on a reader who does not read is waited for only as long as is_wanted() says 0. When it
 * has said something else, and nothing was taken for patience_ns, writing fails as Interrupted,
 * with EINTR. Where a write cannot be kept from waiting (now.h), a signal alone ends the wait. */
void weir__out_hurry(struct weir__out *out, int (*is_wanted)(void), uint64_t patience_ns);

/* True when printing more is of no use: it failed, or nobody reads. Long work asks now and then. */
bool weir__out_is_done(const struct weir__out *out);

/* Flushes; 0, or the first failure as below, for a caller that tells people of it itself: the end
 * then says 0. */
WEIR_MUST_USE int weir__out_take_failure(struct weir__out *out, int *ret_errno_value);

/* Flushes; 0 when all was written or the reader left, else the negative code of the first failure,
 * with its errno in *ret_errno_value (0 when it was not a system call that failed). */
WEIR_MUST_USE int weir__out_finish(struct weir__out *out, int *ret_errno_value);

#endif
