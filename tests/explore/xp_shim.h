/* xp_shim.h - what src/core/atomic.h turns into when core is compiled for the explorer.
 *
 * Each operation is a scheduling point first and the operation second: before it happens, the
 * explorer may let any other thread of the scenario run. See xp.h for scenarios.
 *
 * Ownership: the words belong to the objects that they live in.
 */
#ifndef WEIR_EXPLORE_XP_SHIM_H
#define WEIR_EXPLORE_XP_SHIM_H

#include <stdbool.h>
#include <stdint.h>

enum xp_op { XP_ADD, XP_OR, XP_AND, XP_XCHG };

/* Sizes are 4 and 8; order is one of the compiler's __ATOMIC_ constants. */
uint64_t xp_load(const void *p, unsigned size, int order);
void xp_store(void *p, unsigned size, uint64_t v, int order);

/* Returns what was there before. */
uint64_t xp_rmw(enum xp_op op, void *p, unsigned size, uint64_t v);

/* expected points to a value of the same size, which is what was found when the answer is false. */
bool xp_cas(void *p, unsigned size, void *expected, uint64_t desired);

#endif
