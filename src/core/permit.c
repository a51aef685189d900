/* permit.c - the table of what is handed out, in builds with checks.
 *
 * A tag is a slot of the table and how often that slot has been used, so no tag comes twice. When
 * all slots are taken, what is handed out further goes untracked (tag 0): the check is a net, not a
 * limit.
 */
#include "permit.h"

#ifdef WEIR_CHECKS

#include "assert.h"
#include "lock.h"

#define TABLE_SIZE 4096u

static const struct weir_lock_class tags_class = {"tags", WEIR__RANK_DEBUG};
static struct {
    struct weir_lock lock;
    uint64_t next;
    struct {
        const void *owner;
        uint64_t uses;
    } slot[TABLE_SIZE];
} table = {.lock = WEIR_LOCK_INIT(&tags_class)};

uint64_t weir__tag_take(const void *owner)
{
    uint64_t tag = 0;
    weir_lock_acquire(&table.lock);
    for (unsigned tries = 0; tries < TABLE_SIZE && tag == 0; tries++) {
        uint64_t at = table.next++ % TABLE_SIZE;
        if (table.slot[at].owner)
            continue;
        table.slot[at].owner = owner;
        table.slot[at].uses++;
        tag = table.slot[at].uses * TABLE_SIZE + at;
    }
    weir_lock_release(&table.lock);
    return tag;
}

void weir__tag_return(uint64_t tag, const void *owner, const char *what, const char *name)
{
    if (tag == 0)
        return;
    uint64_t at = tag % TABLE_SIZE;
    weir_lock_acquire(&table.lock);
    bool live = table.slot[at].owner == owner && table.slot[at].uses == tag / TABLE_SIZE;
    if (live)
        table.slot[at].owner = NULL;
    weir_lock_release(&table.lock);
    WEIR__ASSERT(live, what, name, "what it handed out once was given back twice");
}

#endif
