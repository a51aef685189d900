/* atomic.h - the only place that touches atomics.
 *
 * Every shared word in core is a plain uint32_t, uint64_t or pointer that is reached through these
 * functions and nothing else. The name says the order: loads acquire, stores release, read-modify-
 * write does both; `_relaxed` is for counters and for first looks that a compare-and-swap repeats;
 * `_seq` is for the rare store that a later load must not overtake. There are no fences.
 *
 * With WEIR_EXPLORE the same names lead into the interleaving explorer (tests/explore), which
 * decides at each of them who runs next. So what the explorer proves is this very code.
 *
 * Ownership: the words belong to the objects that they live in.
 */
#ifndef WEIR_CORE_ATOMIC_H
#define WEIR_CORE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#ifdef WEIR_EXPLORE

#include "xp_shim.h"

#define WEIR__ATOMIC_LOAD(p, order)            xp_load(p, sizeof(*(p)), order)
#define WEIR__ATOMIC_STORE(p, v, order)        xp_store(p, sizeof(*(p)), v, order)
#define WEIR__ATOMIC_RMW(op, p, v, order)      xp_rmw(XP_##op, p, sizeof(*(p)), v)
#define WEIR__ATOMIC_CAS(p, expected, desired) xp_cas(p, sizeof(*(p)), expected, desired)

#else

#define WEIR__ATOMIC_LOAD(p, order)       __atomic_load_n(p, order)
#define WEIR__ATOMIC_STORE(p, v, order)   __atomic_store_n(p, v, order)
#define WEIR__ATOMIC_RMW(op, p, v, order) WEIR__RMW_##op(p, v, order)
#define WEIR__RMW_ADD(p, v, order)        __atomic_fetch_add(p, v, order)
#define WEIR__RMW_OR(p, v, order)         __atomic_fetch_or(p, v, order)
#define WEIR__RMW_AND(p, v, order)        __atomic_fetch_and(p, v, order)
#define WEIR__RMW_XCHG(p, v, order)       __atomic_exchange_n(p, v, order)
#define WEIR__ATOMIC_CAS(p, expected, desired)                                                     \
    __atomic_compare_exchange_n(p, expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#endif

#define WEIR__ATOMICS(bits)                                                                        \
    static inline uint##bits##_t weir__load##bits(const uint##bits##_t *p)                         \
    {                                                                                              \
        return (uint##bits##_t)WEIR__ATOMIC_LOAD(p, __ATOMIC_ACQUIRE);                             \
    }                                                                                              \
    static inline uint##bits##_t weir__load##bits##_relaxed(const uint##bits##_t *p)               \
    {                                                                                              \
        return (uint##bits##_t)WEIR__ATOMIC_LOAD(p, __ATOMIC_RELAXED);                             \
    }                                                                                              \
    static inline void weir__store##bits(uint##bits##_t *p, uint##bits##_t v)                      \
    {                                                                                              \
        WEIR__ATOMIC_STORE(p, v, __ATOMIC_RELEASE);                                                \
    }                                                                                              \
    static inline void weir__store##bits##_relaxed(uint##bits##_t *p, uint##bits##_t v)            \
    {                                                                                              \
        WEIR__ATOMIC_STORE(p, v, __ATOMIC_RELAXED);                                                \
    }                                                                                              \
    static inline void weir__store##bits##_seq(uint##bits##_t *p, uint##bits##_t v)                \
    {                                                                                              \
        WEIR__ATOMIC_STORE(p, v, __ATOMIC_SEQ_CST);                                                \
    }                                                                                              \
    /* The next three return the value that was there before. */                                   \
    static inline uint##bits##_t weir__add##bits(uint##bits##_t *p, uint##bits##_t v)              \
    {                                                                                              \
        return (uint##bits##_t)WEIR__ATOMIC_RMW(ADD, p, v, __ATOMIC_ACQ_REL);                      \
    }                                                                                              \
    static inline uint##bits##_t weir__or##bits(uint##bits##_t *p, uint##bits##_t v)               \
    {                                                                                              \
        return (uint##bits##_t)WEIR__ATOMIC_RMW(OR, p, v, __ATOMIC_ACQ_REL);                       \
    }                                                                                              \
    static inline uint##bits##_t weir__and##bits(uint##bits##_t *p, uint##bits##_t v)              \
    {                                                                                              \
        return (uint##bits##_t)WEIR__ATOMIC_RMW(AND, p, v, __ATOMIC_ACQ_REL);                      \
    }                                                                                              \
    static inline uint##bits##_t weir__xchg##bits(uint##bits##_t *p, uint##bits##_t v)             \
    {                                                                                              \
        return (uint##bits##_t)WEIR__ATOMIC_RMW(XCHG, p, v, __ATOMIC_ACQ_REL);                     \
    }                                                                                              \
    /* True when *p was *expected and is now desired; otherwise *expected is what was there. */    \
    static inline bool weir__cas##bits(uint##bits##_t *p, uint##bits##_t *expected,                \
                                       uint##bits##_t desired)                                     \
    {                                                                                              \
        return WEIR__ATOMIC_CAS(p, expected, desired);                                             \
    }

WEIR__ATOMICS(32)
WEIR__ATOMICS(64)

/* A counter for people: nothing is ordered by it, so it is no choice for the explorer either. */
static inline void weir__count(uint64_t *p, uint64_t v)
{
    __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

/* Pointers travel as uintptr_t, which is 64 bits wide on every machine that we build for. */
_Static_assert(sizeof(void *) == sizeof(uint64_t), "weir is built for 64-bit machines");

#endif
