/* fault.h - the n-th allocation or I/O call fails on request.
 *
 * A test arms the n-th call of a kind, runs the code, and repeats with n = 1, 2, 3, ... until a run
 * in which nothing was hit: then every failing path has been taken once. In builds without
 * WEIR_FAULTS nothing of this exists and the question is the constant false.
 *
 * Counts are per process, so a sweep runs one scenario at a time.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_FAULT_H
#define WEIR_FAULT_H

#include <weir/defs.h>

WEIR_BEGIN_DECLS

enum weir_fault {
    WEIR_FAULT_ALLOC,  /* every allocation */
    WEIR_FAULT_IO,     /* every wrapped system call */
    WEIR_FAULT_THREAD, /* starting a thread */
    WEIR_FAULT_MEMBER  /* a worker goes on with what it is at; else it ends there */
};
#define WEIR_FAULT_KINDS 4

#ifdef WEIR_FAULTS
/* True when this call is the one that shall fail. */
WEIR_API bool weir_fault_hit(enum weir_fault kind);

/* The n-th call from now (1 is the next) fails; 0 disarms. */
WEIR_API void weir_fault_arm(enum weir_fault kind, uint64_t n);

/* Whether the armed call has come. */
WEIR_API bool weir_fault_was_hit(enum weir_fault kind);
#else
static inline bool weir_fault_hit(enum weir_fault kind)
{
    (void)kind;
    return false;
}
#endif

WEIR_END_DECLS

#endif
