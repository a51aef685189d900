/* self.h - what the explorer's own tests share.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_EXPLORE_SELF_H
#define WEIR_EXPLORE_SELF_H

#include "xp.h"

/* Fails with the text, with so many preemptions and not with fewer, and fails again by its trail.
 */
void must_fail(const struct xp_scenario *scenario, bool is_tso, const char *text,
               unsigned preemptions);

/* Holds in every execution up to the bound. */
void must_hold(const struct xp_scenario *scenario, bool is_tso, unsigned bound);

#endif
