/* pack_check.c - whether a pack that was changed, or came, has the bytes that its index says.
 *
 * An index of version 2 has a CRC of the packed bytes of each object. To go over these is some
 * fifty times faster than unpacking, so it is done for whole packs whose objects are known by their
 * ids: what is there is what was seen, or is to be read again.
 */
#include "pack_plan.h"

#include "banned.h"

int weir__git_plan_check(const struct weir__git_plan *plan)
{
    const char *why;
    if (plan->has_doubt || plan->pack->idx.version == 1)
        return -WEIR_E_UNSUPPORTED;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct weir__git_entry entry = {.at = weir__git_plan_offset(plan, i),
                                              .end = weir__git_plan_end(plan, i),
                                              .idx_at = plan->_idx_at[i]};
        /* What is built from another pack may be spoiled by that one. */
        if (weir__git_plan_is(plan, i, WEIR__GIT_PLAN_BROKEN | WEIR__GIT_PLAN_EXTERNAL) ||
            !weir__git_plan_is(plan, i, WEIR__GIT_PLAN_REACHED) || entry.at >= entry.end ||
            entry.end > plan->pack->length)
            return -WEIR_E_CORRUPT;
        int result = weir__git_pack_check(plan->pack, &entry, &why);
        if (result < 0)
            return result;
    }
    return 0;
}
