/* clock.h - the time that all of Weir goes by: nanoseconds of the monotonic clock.
 *
 * Promises: never goes back, is not moved by setting the wall clock, costs one vDSO call.
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_CLOCK_H
#define WEIR_CLOCK_H

#include <weir/defs.h>

WEIR_BEGIN_DECLS

WEIR_API uint64_t weir_now_ns(void);

/* Seconds since 1970 by the wall clock, which people and programs move: for dates that are shown or
 * were written down, never for a wait. */
WEIR_API int64_t weir_wall_s(void);

/* at + delta, or WEIR_NEVER where that would overflow. */
static inline uint64_t weir_time_add(uint64_t at_ns, uint64_t delta_ns)
{
    return at_ns > WEIR_NEVER - delta_ns ? WEIR_NEVER : at_ns + delta_ns;
}

WEIR_END_DECLS

#endif
