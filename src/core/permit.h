/* permit.h - finds doubled releases, in builds with checks.
 *
 * A copy of a permit that is released after the original gives back units that are somebody else's
 * by then, and nothing in the budget can tell. So with checks every permit carries a tag, which is
 * good for one release.
 *
 * Ownership: tags belong to the table in permit.c.
 */
#ifndef WEIR_CORE_PERMIT_H
#define WEIR_CORE_PERMIT_H

#include <weir/budget.h>

#ifdef WEIR_CHECKS
void weir__permit_tag(struct weir_permit *permit);
void weir__permit_untag(const struct weir_permit *permit);
#else
static inline void weir__permit_tag(struct weir_permit *permit)
{
    (void)permit;
}
static inline void weir__permit_untag(const struct weir_permit *permit)
{
    (void)permit;
}
#endif

#endif
