/* seen.c - see seen.h.
 *
 * A record enters its chain before it goes into the line of the records, and leaves it when it is
 * on disk. Who asks looks into the chain first and at the records then: what has left the chain in
 * between is found there.
 *
 * While it is under way it is the writer's, and nobody else takes it out of its chain. One that
 * came back unwritten stays, idle, until it is handed in again or a newer one of its name comes.
 */
#include "seen.h"

#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "locks.h"

#include "banned.h"

#define CHAINS 256u
/* Handed in again at once, where the disk takes them: an eighth of the line of the records. */
#define AGAIN 64u

struct pending {
    struct weir__records_write write; /* first; the record is fixed while it is in a chain */
    struct weir__seen *seen;
    struct pending *next;
    bool is_under_way; /* guarded by the lock */
};

struct weir__seen {
    struct weir_lock lock; /* guards what follows, down to "fixed" */
    struct pending *chains[CHAINS];
    uint64_t count, refused;
    bool is_stuck; /* the last one that came back was not written */
    size_t turn;   /* the chain from which again() begins */
    /* fixed */
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

/* FNV-1a; all chains together have WEIR__SEEN_MAX. */
static struct pending **chain_of(struct weir__seen *seen, const struct weir__name *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < name->length; i++)
        hash = (hash ^ (unsigned char)name->text[i]) * UINT64_C(1099511628211);
    return &seen->chains[(hash >> 32 ^ hash) % CHAINS];
}

static bool is_of(const struct pending *pending, const struct weir__name *name)
{
    return strcmp(pending->write.record.name.text, name->text) == 0;
}

static void free_list(struct pending *list)
{
    while (list) {
        struct pending *next = list->next;
        weir__base_free(list);
        list = next;
    }
}

/* Takes one out; with the lock held. */
static void take_out(struct weir__seen *seen, struct pending **at)
{
    *at = (*at)->next;
    seen->count--;
}

void weir__seen_forget(struct weir__seen *seen)
{
    struct pending *gone = NULL;
    weir_lock_acquire(&seen->lock);
    for (size_t i = 0; i < CHAINS; i++)
        for (struct pending **at = &seen->chains[i]; *at;) {
            struct pending *one = *at;
            if (one->is_under_way) {
                at = &one->next;
                continue;
            }
            take_out(seen, at);
            one->next = gone;
            gone = one;
        }
    weir_lock_release(&seen->lock);
    free_list(gone);
}

void weir__seen_free(struct weir__seen *seen)
{
    if (!seen)
        return;
    weir__seen_forget(seen);
    weir_lock_fini(&seen->lock);
    weir__base_free(seen);
}

/* --- looking --- */

void weir__seen_mark(struct weir__seen *seen, const struct weir__name *name,
                     struct weir__record_mark *ret_mark)
{
    struct weir__record_bytes bytes;
    struct weir__records_seen there = {.is_removed = false};
    struct weir__record_mark mark = {.sequence = 0};
    weir_lock_acquire(&seen->lock);
    for (const struct pending *one = *chain_of(seen, name); one; one = one->next)
        if (is_of(one, name) &&
            weir__record_mark_compare(&one->write.record, &one->write.bytes, &mark) > 0)
            weir__record_mark_set(&mark, &one->write.record, &one->write.bytes);
    weir_lock_release(&seen->lock);
    (void)!weir__records_name(seen->records, name, weir_wall_s(), &bytes, &there);
    bool is_newer =
        mark.has_record && weir__record_mark_compare(&mark.record, &mark.bytes, &there.mark) >= 0;
    *ret_mark = is_newer ? mark : there.mark;
}

bool weir__seen_is_past(struct weir__seen *seen, const struct weir__record *record,
                        const struct weir__record_bytes *bytes)
{
    bool is_past = false;
    weir_lock_acquire(&seen->lock);
    for (const struct pending *one = *chain_of(seen, &record->name); one; one = one->next)
        is_past = is_past ||
                  (is_of(one, &record->name) &&
                   weir__record_compare(record, bytes, &one->write.record, &one->write.bytes) < 0);
    weir_lock_release(&seen->lock);
    return is_past;
}

void weir__seen_read(struct weir__seen *seen, struct weir__seen_stats *ret_stats)
{
    weir_lock_acquire(&seen->lock);
    *ret_stats = (struct weir__seen_stats){seen->count, seen->refused};
    weir_lock_release(&seen->lock);
}

/* --- writing --- */

/* At the end of the service nothing is written any more, and what is left goes with it. */
static void come_back(struct pending *pending, int result)
{
    struct weir__seen *seen = pending->seen;
    bool is_over = result == 0 || result == -WEIR_E_CANCELED || result == -WEIR_E_CLOSED;
    weir_lock_acquire(&seen->lock);
    pending->is_under_way = false;
    seen->is_stuck = !is_over;
    struct pending **at = chain_of(seen, &pending->write.record.name);
    while (is_over && *at != pending)
        at = &(*at)->next;
    if (is_over)
        take_out(seen, at);
    weir_lock_release(&seen->lock);
    if (is_over)
        weir__base_free(pending);
}

static void done(struct weir__records_write *write)
{
    come_back((struct pending *)write, write->result);
}

static void hand_in(struct pending *pending)
{
    pending->write.now_s = weir_wall_s();
    int error = weir__records_submit(pending->seen->records, &pending->write);
    if (error)
        come_back(pending, error);
}

/* Into its chain, in the place of an idle one that is older; with the lock held. 1: there is one
 * already that is as new. */
static int enter(struct weir__seen *seen, struct pending *pending, struct pending **ret_gone)
{
    const struct weir__records_write *write = &pending->write;
    struct pending **chain = chain_of(seen, &write->record.name);
    for (struct pending **at = chain; *at; at = &(*at)->next) {
        struct pending *one = *at;
        if (!is_of(one, &write->record.name))
            continue;
        if (weir__record_compare(&write->record, &write->bytes, &one->write.record,
                                 &one->write.bytes) <= 0)
            return 1;
        if (one->is_under_way)
            continue;
        take_out(seen, at);
        one->next = NULL;
        *ret_gone = one;
        break;
    }
    if (seen->count == WEIR__SEEN_MAX) {
        seen->refused++;
        return -WEIR_E_NO_SPACE;
    }
    pending->next = *chain;
    *chain = pending;
    seen->count++;
    return 0;
}

int weir__seen_note(struct weir__seen *seen, const struct weir__record *record,
                    const struct weir__record_bytes *bytes)
{
    struct pending *pending = weir__base_alloc(1, sizeof(*pending)), *gone = NULL;
    if (!pending)
        return -WEIR_E_NO_MEMORY;
    pending->seen = seen;
    pending->is_under_way = true;
    pending->write.action = WEIR__RECORDS_SEE;
    pending->write.record = *record;
    pending->write.bytes = *bytes;
    pending->write.done = done;
    weir_lock_acquire(&seen->lock);
    int error = enter(seen, pending, &gone);
    weir_lock_release(&seen->lock);
    free_list(gone);
    if (error)
        weir__base_free(pending);
    else
        hand_in(pending);
    return error < 0 ? error : 0;
}

void weir__seen_again(struct weir__seen *seen)
{
    struct pending *idle[AGAIN];
    size_t count = 0;
    weir_lock_acquire(&seen->lock);
    size_t most = seen->is_stuck ? 1 : AGAIN;
    for (size_t i = 0; i < CHAINS && seen->count > 0 && count < most; i++) {
        seen->turn = (seen->turn + 1) % CHAINS; /* or one that fails would be the first for ever */
        struct pending *one = seen->chains[seen->turn];
        for (; one && count < most; one = one->next)
            if (!one->is_under_way) {
                one->is_under_way = true;
                idle[count++] = one;
            }
    }
    weir_lock_release(&seen->lock);
    for (size_t i = 0; i < count; i++)
        hand_in(idle[i]);
}
