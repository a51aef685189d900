/* seen.c - see seen.h.
 *
 * A sequence enters its chain before it goes into the line of the records, and leaves it when it is
 * on disk. Who asks looks into the chain first and at the records then: what has left the chain in
 * between is found there.
 */
#include "seen.h"

#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "locks.h"

#include "banned.h"

#define CHAINS 256u

struct pending {
    struct weir__records_write write; /* first */
    struct weir__seen *seen;
    struct pending *next;
};

struct weir__seen {
    struct weir_lock lock;
    struct pending *chains[CHAINS]; /* guarded by it */
    struct weir__records *records;
};

const struct weir_lock_class weir__seen_class = {"seen", WEIR__RANK_SEEN};

int weir__seen_new(struct weir__seen **ret_seen, struct weir__records *records)
{
    struct weir__seen *seen = weir__base_alloc(1, sizeof(*seen));
    if (!seen)
        return -WEIR_E_NO_MEMORY;
    weir_lock_init(&seen->lock, &weir__seen_class);
    seen->records = records;
    *ret_seen = seen;
    return 0;
}

void weir__seen_free(struct weir__seen *seen)
{
    if (!seen)
        return;
    weir_lock_fini(&seen->lock);
    weir__base_free(seen);
}

/* FNV-1a; chains are as long as the line of the records at most. */
static struct pending **chain_of(struct weir__seen *seen, const struct weir__name *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < name->length; i++)
        hash = (hash ^ (unsigned char)name->text[i]) * UINT64_C(1099511628211);
    return &seen->chains[(hash >> 32 ^ hash) % CHAINS];
}

uint64_t weir__seen_highest(struct weir__seen *seen, const struct weir__name *name)
{
    struct weir__record_bytes bytes;
    struct weir__records_seen there = {.highest = 0};
    uint64_t highest = 0;
    weir_lock_acquire(&seen->lock);
    for (const struct pending *one = *chain_of(seen, name); one; one = one->next)
        if (one->write.sequence > highest && strcmp(one->write.question.name.text, name->text) == 0)
            highest = one->write.sequence;
    weir_lock_release(&seen->lock);
    (void)!weir__records_name(seen->records, name, weir_wall_s(), &bytes, &there);
    return there.highest > highest ? there.highest : highest;
}

static void leave(struct pending *pending)
{
    struct weir__seen *seen = pending->seen;
    weir_lock_acquire(&seen->lock);
    struct pending **at = chain_of(seen, &pending->write.question.name);
    while (*at != pending)
        at = &(*at)->next;
    *at = pending->next;
    weir_lock_release(&seen->lock);
    weir__base_free(pending);
}

static void done(struct weir__records_write *write)
{
    leave((struct pending *)write);
}

void weir__seen_note(struct weir__seen *seen, const struct weir__name *name, uint64_t sequence)
{
    struct pending *pending = weir__base_alloc(1, sizeof(*pending));
    if (!pending)
        return;
    pending->seen = seen;
    pending->write.action = WEIR__RECORDS_SEE;
    pending->write.question.kind = WEIR__ASK_NAME;
    pending->write.question.name = *name;
    pending->write.sequence = sequence;
    pending->write.now_s = weir_wall_s();
    pending->write.done = done;
    weir_lock_acquire(&seen->lock);
    struct pending **chain = chain_of(seen, name);
    pending->next = *chain;
    *chain = pending;
    weir_lock_release(&seen->lock);
    if (weir__records_submit(seen->records, &pending->write))
        leave(pending);
}
