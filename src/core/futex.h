/* futex.h - the only way in which core sleeps.
 *
 * Ownership: the word belongs to the caller. A wake touches the address only inside the kernel,
 * so waking a word whose stack frame is already gone is harmless: at worst somebody else wakes
 * for nothing, and every wait here looks again.
 */
#ifndef WEIR_CORE_FUTEX_H
#define WEIR_CORE_FUTEX_H

#include <stdint.h>

/* Sleeps while *word == expected, until woken or until the monotonic clock reaches at_ns
 * (WEIR_NEVER: no limit). Returns 0 when it is time to look again (also for no reason at all),
 * or -WEIR_E_TIMEOUT. */
int weir__futex_wait(const uint32_t *word, uint32_t expected, uint64_t at_ns);

/* Wakes up to count sleepers. */
void weir__futex_wake(const uint32_t *word, unsigned count);

#endif
