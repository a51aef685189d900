/* clock.h - the clock, and the hand on it that tests use.
 *
 * Ownership: nothing here owns anything. The fake clock is one for the whole process.
 */
#ifndef WEIR_CORE_CLOCK_H
#define WEIR_CORE_CLOCK_H

#include <weir/clock.h>

/* From here on weir_now_ns() answers now_ns until it is moved; waits with a deadline end when the
 * fake clock passes it. For tests alone. */
void weir__clock_fake(uint64_t now_ns);
void weir__clock_advance(uint64_t delta_ns);
void weir__clock_unfake(void);
bool weir__clock_is_fake(void);

/* The kernel's clock, whatever a test says. */
uint64_t weir__clock_real_ns(void);

#endif
