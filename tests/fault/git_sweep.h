/* git_sweep.h - the sweeps over what reads repositories: allocations, and system calls that fail in
 * each of the ways that a reader has to tell apart.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_FAULT_GIT_SWEEP_H
#define WEIR_FAULT_GIT_SWEEP_H

#include <errno.h>

#include "sweep.h"
#include "sys.h"

/* What is swept, and how many calls there must be to fail, at least. */
struct git_sweep {
    void (*scenario)(void);
    long allocations;
    long calls; /* 0: they are those of another one */
};

static inline void sweep_allocations(const struct git_sweep *sweeps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sweep_cleanly(WEIR_FAULT_ALLOC, sweeps[i].scenario, sweeps[i].allocations);
}

static inline void sweep_calls(const struct git_sweep *sweeps, size_t count)
{
    static const int errors[] = {EIO, EMFILE, EACCES, EINTR};
    for (size_t n = 0; n < sizeof(errors) / sizeof(errors[0]); n++) {
        weir__sys_fault_errno(errors[n]);
        for (size_t i = 0; i < count; i++)
            if (sweeps[i].calls > 0)
                sweep_cleanly(WEIR_FAULT_IO, sweeps[i].scenario, sweeps[i].calls);
    }
    weir__sys_fault_errno(EIO);
}

#endif
