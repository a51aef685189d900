/* index_preview.c - what records would leave dead in an index that nobody may change.
 *
 * As when they are applied: those of one address in their order, after what the index knows.
 */
#include <stdlib.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"

#include "banned.h"

struct preview {
    struct weir__index *index;
    struct weir__known known;
    bool is_known;   /* something counts for the address */
    bool is_own;     /* one of the records does */
    bool has_chunks; /* that are dead */
    bool keeps_deletions;
    uint64_t dead; /* bytes */
};

static int by_address(const void *a, const void *b)
{
    const struct weir__entry *left = *(const struct weir__entry *const *)a,
                             *right = *(const struct weir__entry *const *)b;
    int order = weir__address_compare(&left->address, &right->address);
    return order ? order : left < right ? -1 : left > right;
}

static int find(struct preview *preview, const struct weir__address *address)
{
    preview->known = (struct weir__known){.touch = {0, 0}};
    preview->is_own = preview->has_chunks = false;
    int error = weir__index_get(preview->index, address, &preview->known.entry);
    preview->is_known = !error;
    if (error)
        return error == -WEIR_E_NOT_FOUND ? 0 : error;
    if (weir__is_deletion(&preview->known.entry)) {
        error = weir__index_has_older(preview->index, address, 0, &preview->has_chunks);
        preview->known.is_spent = !preview->has_chunks;
        return error;
    }
    error = weir__index_touch(preview->index, address, &preview->known.touch);
    return error == -WEIR_E_NOT_FOUND ? 0 : error;
}

static void replace(struct preview *preview, const struct weir__entry *record)
{
    struct weir__known *known = preview->is_known ? &preview->known : NULL, fresh;
    bool keeps = weir__index_replace(record, known, &fresh);
    if (known && known->touch.segment != 0 && !keeps)
        preview->dead += weir__record_span(WEIR__RECORD_HEAD);
    /* One that is spent counts as dead already. */
    if (known && (!known->is_spent || preview->keeps_deletions))
        preview->dead += weir__record_span(known->entry.size);
    if (known && known->entry.type == WEIR__RECORD_CHUNK)
        preview->has_chunks = true;
    preview->known = fresh;
    preview->is_known = preview->is_own = true;
}

static void take(struct preview *preview, const struct weir__entry *record)
{
    struct weir__known *known = &preview->known;
    switch (weir__index_effect(record, preview->is_known ? known : NULL)) {
    case WEIR__INDEX_COUNTS:
        replace(preview, record);
        break;
    case WEIR__INDEX_DEAD:
        preview->dead += weir__record_span(record->size);
        preview->has_chunks = preview->has_chunks || record->type == WEIR__RECORD_CHUNK;
        break;
    case WEIR__INDEX_RENEWS:
        if (known->touch.segment != 0)
            preview->dead += weir__record_span(WEIR__RECORD_HEAD);
        known->touch = record->place;
        known->touch_sequence = record->sequence;
        known->entry.time_s = record->time_s;
        break;
    case WEIR__INDEX_NOTHING:
        break;
    }
}

/* After the last record of an address: a deletion that has nothing to hide is dead as well. */
static int judge_deletion(struct preview *preview)
{
    const struct weir__entry *entry = &preview->known.entry;
    bool has_chunks = true;
    int error = 0;
    if (preview->is_own && !preview->has_chunks && !preview->keeps_deletions &&
        weir__is_deletion(entry))
        error = weir__index_has_older(preview->index, &entry->address, 0, &has_chunks);
    if (!error && !has_chunks)
        preview->dead += weir__record_span(entry->size);
    return error;
}

int weir__index_preview(struct weir__index *index, const struct weir__entry *records, size_t count,
                        bool keeps_deletions, uint64_t *ret_dead)
{
    struct preview preview = {.index = index, .keeps_deletions = keeps_deletions};
    const struct weir__entry **sorted = weir__base_alloc(count + 1, sizeof(*sorted));
    int error = 0;
    if (!sorted)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &records[i];
    qsort(sorted, count, sizeof(*sorted), by_address);
    for (size_t i = 0; !error && i < count; i++) {
        if (i == 0 || !weir__address_is_equal(&sorted[i - 1]->address, &sorted[i]->address))
            error = find(&preview, &sorted[i]->address);
        if (!error)
            take(&preview, sorted[i]);
        if (!error && (i + 1 == count ||
                       !weir__address_is_equal(&sorted[i]->address, &sorted[i + 1]->address)))
            error = judge_deletion(&preview);
    }
    weir__base_free(sorted);
    if (!error)
        *ret_dead = preview.dead;
    return error;
}
