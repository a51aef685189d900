/* permit.c - the table of live permits, in builds with checks.
 *
 * A tag is a slot of the table and how often that slot has been used, so no tag comes twice. When
 * all slots are taken, further permits go untracked (tag 0): the check is a net, not a limit.
 */
#include "permit.h"

#ifdef WEIR_CHECKS

#include "assert.h"
#include "lock.h"

#define TABLE_SIZE 4096u

static const struct weir_lock_class permits_class = {"permits", WEIR__RANK_DEBUG};
static struct {
    struct weir_lock lock;
    uint64_t next;
    struct {
        const struct weir_budget *budget;
        uint64_t uses;
    } slot[TABLE_SIZE];
} table = {.lock = WEIR_LOCK_INIT(&permits_class)};

void weir__permit_tag(struct weir_permit *permit)
{
    uint64_t tag = 0;
    weir_lock_acquire(&table.lock);
    for (unsigned tries = 0; tries < TABLE_SIZE && tag == 0; tries++) {
        uint64_t at = table.next++ % TABLE_SIZE;
        if (table.slot[at].budget)
            continue;
        table.slot[at].budget = permit->_budget;
        table.slot[at].uses++;
        tag = table.slot[at].uses * TABLE_SIZE + at;
    }
    weir_lock_release(&table.lock);
    permit->_tag = tag;
}

void weir__permit_untag(const struct weir_permit *permit)
{
    if (permit->_tag == 0)
        return;
    uint64_t at = permit->_tag % TABLE_SIZE;
    weir_lock_acquire(&table.lock);
    bool live = table.slot[at].budget == permit->_budget &&
                table.slot[at].uses == permit->_tag / TABLE_SIZE;
    if (live)
        table.slot[at].budget = NULL;
    weir_lock_release(&table.lock);
    WEIR__ASSERT(live, "budget", permit->_budget->_name, "a permit was released twice");
}

#endif
