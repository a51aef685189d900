/* permit.h - finds doubled releases, in builds with checks.
 *
 * A copy of a permit that is released after the original gives back what is somebody else's by
 * then, and nothing in the object can tell. So with checks every permit, slot and ticket carries a
 * tag, which is good for one release.
 *
 * Ownership: tags belong to the table in permit.c.
 */
#ifndef WEIR_CORE_PERMIT_H
#define WEIR_CORE_PERMIT_H

#include <weir/defs.h>

#ifdef WEIR_CHECKS

/* A tag for something that the owner hands out; 0 when the table is full: then it goes untracked.
 */
uint64_t weir__tag_take(const void *owner);

/* Asserts that the tag is live and the owner's, naming the object, and ends it. */
void weir__tag_return(uint64_t tag, const void *owner, const char *what, const char *name);

#else

static inline uint64_t weir__tag_take(const void *owner)
{
    (void)owner;
    return 0;
}

static inline void weir__tag_return(uint64_t tag, const void *owner, const char *what,
                                    const char *name)
{
    (void)tag;
    (void)owner;
    (void)what;
    (void)name;
}

#endif

#endif
