/* fault.c - counters that turn a chosen call into a failing one. */
#include "fault.h"

#include "atomic.h"

#ifdef WEIR_FAULTS

/* Calls left until the failing one; 0 when disarmed or done. */
static uint64_t armed[WEIR_FAULT_KINDS];
static uint64_t hits[WEIR_FAULT_KINDS];

bool weir_fault_hit(enum weir_fault kind)
{
    if (weir__load64_relaxed(&armed[kind]) == 0)
        return false;
    uint64_t left = weir__load64_relaxed(&armed[kind]);
    while (left > 0 && !weir__cas64(&armed[kind], &left, left - 1)) {}
    if (left != 1)
        return false;
    weir__add64(&hits[kind], 1);
    return true;
}

void weir_fault_arm(enum weir_fault kind, uint64_t n)
{
    weir__store64(&hits[kind], 0);
    weir__store64(&armed[kind], n);
}

bool weir_fault_was_hit(enum weir_fault kind)
{
    return weir__load64(&hits[kind]) > 0;
}

#endif
