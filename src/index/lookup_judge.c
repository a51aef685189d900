/* lookup_judge.c - which of the records that a source handed out are taken.
 *
 * Every record is judged by its own bytes, the bindings and the time; then whether it is about what
 * was asked, and whether a later one is known. Verifying is what costs (some 50 us a record), so
 * between two records the token is looked at.
 */
#include "lookup_part.h"

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"

#include "banned.h"

/* --- room for replies --- */

struct weir__room *weir__room_take(struct weir__lookup *lookup)
{
    weir_lock_acquire(&lookup->rooms_lock);
    struct weir__room *room = lookup->rooms;
    if (room) {
        lookup->rooms = room->next;
        lookup->rooms_count--;
    }
    weir_lock_release(&lookup->rooms_lock);
    return room ? room : weir__base_alloc(1, sizeof(*room));
}

/* As many are kept as there are askers, and a few for those who ask without one. */
void weir__room_give(struct weir__lookup *lookup, struct weir__room *room)
{
    weir_lock_acquire(&lookup->rooms_lock);
    bool is_kept = lookup->rooms_count < lookup->options.askers + 8;
    if (is_kept) {
        room->next = lookup->rooms;
        lookup->rooms = room;
        lookup->rooms_count++;
    }
    weir_lock_release(&lookup->rooms_lock);
    if (!is_kept)
        weir__base_free(room);
}

/* --- judging --- */

/* What this node would not take from its clients it does not take from others. */
static bool lives_too_long(const struct weir__inquiry *inquiry, const struct weir__record *record)
{
    int64_t most_s = inquiry->rules->limits.provider_life_s;
    return record->kind == WEIR__RECORD_PROVIDER && most_s > 0 &&
           record->expires_s - record->issued_s > most_s;
}

static enum weir__record_verdict judge_one(const struct weir__inquiry *inquiry,
                                           const struct weir__record_bytes *bytes, int64_t now_s,
                                           struct weir__record *ret_record)
{
    const struct weir__question *question = &inquiry->question;
    if (bytes->length > WEIR__RECORD_MAX)
        return WEIR__RECORD_OVERSIZED;
    enum weir__record_verdict verdict = weir__record_judge(
        ret_record, bytes->bytes, bytes->length, inquiry->lookup->options.bindings, now_s);
    if (verdict != WEIR__RECORD_GOOD)
        return verdict;
    if (!weir__question_fits(question, ret_record))
        return WEIR__RECORD_FOREIGN;
    if (lives_too_long(inquiry, ret_record))
        return WEIR__RECORD_EXPIRED;
    if (question->kind == WEIR__ASK_NAME &&
        weir__record_mark_compare(ret_record, bytes, &inquiry->seen) < 0)
        return WEIR__RECORD_REPLAYED;
    return WEIR__RECORD_GOOD;
}

/* With a quorum a source that has an older record than was seen agrees that there is the name; it
 * counts for how many have answered, and never for what is answered. */
static bool is_for_quorum(const struct weir__inquiry *inquiry, enum weir__record_verdict verdict)
{
    return verdict == WEIR__RECORD_REPLAYED && inquiry->rules->limits.quorum > 1;
}

/* Of a name one counts; of providers all do, until they are merged. */
static void keep(struct weir__part *part, const struct weir__inquiry *inquiry,
                 const struct weir__record *record, const struct weir__record_bytes *bytes)
{
    size_t at = part->count;
    if (inquiry->question.kind == WEIR__ASK_NAME && part->count > 0) {
        const struct weir__found *best = &part->found[0];
        if (weir__record_compare(record, bytes, &best->record, &best->bytes) <= 0)
            return;
        at = 0;
    }
    part->found[at].record = *record;
    part->found[at].bytes = *bytes;
    if (at == part->count)
        part->count++;
}

int weir__lookup_judge(struct weir__inquiry *inquiry, unsigned source,
                       const struct weir__reply *reply, const struct weir_cancel *token,
                       struct weir__part **ret_part)
{
    struct weir__source_counts *counts = &inquiry->lookup->counts[source];
    size_t count = reply->count < WEIR__REPLY_RECORDS_MAX ? reply->count : WEIR__REPLY_RECORDS_MAX;
    size_t room = inquiry->question.kind == WEIR__ASK_NAME ? count != 0 : count;
    int64_t now_s = weir_wall_s();
    bool has_replay = false;
    struct weir__part *part = weir__base_alloc(1, sizeof(*part) + room * sizeof(part->found[0]));
    if (!part)
        return -WEIR_E_NO_MEMORY;
    part->source = source;
    part->more = reply->more;
    for (size_t i = 0; i < count; i++) {
        struct weir__record record;
        if (weir_cancel_is_fired(token)) {
            weir__part_free(part);
            return -WEIR_E_CANCELED;
        }
        enum weir__record_verdict verdict = judge_one(inquiry, &reply->records[i], now_s, &record);
        weir_counter_add(&counts->records[verdict], 1);
        has_replay |= verdict == WEIR__RECORD_REPLAYED;
        if (verdict == WEIR__RECORD_GOOD || is_for_quorum(inquiry, verdict))
            keep(part, inquiry, &record, &reply->records[i]);
    }
    part->is_behind = part->count > 0 && inquiry->question.kind == WEIR__ASK_NAME &&
                      weir__record_mark_compare(&part->found[0].record, &part->found[0].bytes,
                                                &inquiry->seen) < 0;
    if (part->count == 0) {
        weir_lock_acquire(&inquiry->lock);
        inquiry->has_replay |= has_replay;
        weir_lock_release(&inquiry->lock);
        weir__part_free(part);
        return -WEIR_E_NOT_FOUND;
    }
    *ret_part = part;
    return 0;
}
