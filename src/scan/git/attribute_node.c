/* attribute_node.c - remains: sorted, and equal ones kept once. */
#include "attribute_part.h"

#include <stdlib.h>

#include "alloc.h"

#include "banned.h"

#define SLOTS_FIRST 64u

const char *weir__remain_name(const struct weir__trees *trees,
                              const struct weir__remain_entry *entry)
{
    return weir__buffer_text(&trees->names) + entry->name;
}

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t length = a_length < b_length ? a_length : b_length;
    int order = memcmp(a, b, length);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_drafts(const void *a, const void *b, void *names)
{
    const struct weir__draft *left = a, *right = b;
    /* What is dropped goes to the end. */
    if (left->is_dropped != right->is_dropped)
        return left->is_dropped - right->is_dropped;
    int order = compare_names((const char *)names + left->entry.name, left->entry.name_length,
                              (const char *)names + right->entry.name, right->entry.name_length);
    if (order != 0)
        return order;
    if (left->entry.is_tree != right->entry.is_tree)
        return left->entry.is_tree - right->entry.is_tree;
    return (left->entry.target > right->entry.target) - (left->entry.target < right->entry.target);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint32_t hash_of(const struct weir__trees *trees, const struct weir__draft *drafts,
                        size_t count)
{
    uint64_t hash = trees->seed;
    for (size_t i = 0; i < count; i++) {
        const struct weir__remain_entry *entry = &drafts[i].entry;
        const char *name = weir__buffer_text(&trees->draft_names) + entry->name;
        hash = mix(hash, (uint64_t)entry->target << 32 | entry->name_length << 1 | entry->is_tree);
        for (size_t at = 0; at < entry->name_length; at += 8) {
            uint64_t word = 0;
            size_t left = entry->name_length - at;
            memcpy(&word, name + at, left < 8 ? left : 8);
            hash = mix(hash, word);
        }
    }
    return (uint32_t)hash;
}

static bool is_same(const struct weir__trees *trees, const struct weir__remain *remain,
                    const struct weir__draft *drafts, size_t count)
{
    if (remain->entries_count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct weir__remain_entry *a = &trees->entries[remain->entries_from + i];
        const struct weir__remain_entry *b = &drafts[i].entry;
        if (a->target != b->target || a->is_tree != b->is_tree ||
            a->name_length != b->name_length ||
            memcmp(weir__remain_name(trees, a), weir__buffer_text(&trees->draft_names) + b->name,
                   a->name_length) != 0)
            return false;
    }
    return true;
}

static int grow_slots(struct weir__trees *trees)
{
    size_t count = trees->slots_count ? trees->slots_count * 2 : SLOTS_FIRST;
    if (trees->remains_count < trees->slots_count / 2)
        return 0;
    uint32_t *slots = weir__base_alloc(count, sizeof(*slots));
    if (!slots)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < trees->remains_count; i++) {
        size_t at = trees->remains[i].hash & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    weir__base_free(trees->slots);
    trees->slots = slots;
    trees->slots_count = count;
    return 0;
}

static int add_entries(struct weir__trees *trees, const struct weir__draft *drafts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir__remain_entry entry = drafts[i].entry;
        int error = weir__attribute_room((void **)&trees->entries, &trees->entries_room,
                                         trees->entries_count, sizeof(*trees->entries));
        if (error)
            return error;
        const char *name = weir__buffer_text(&trees->draft_names) + entry.name;
        entry.name = weir__buffer_length(&trees->names);
        error = weir__buffer_append(&trees->names, name, entry.name_length);
        if (error)
            return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
        trees->entries[trees->entries_count++] = entry;
    }
    return 0;
}

int weir__remain_make(struct weir__git_attribute *a, size_t drafts_from, uint32_t *ret_remain)
{
    struct weir__trees *trees = &a->trees;
    struct weir__draft *drafts = trees->drafts + drafts_from;
    size_t count = trees->drafts_count - drafts_from;
    qsort_r(drafts, count, sizeof(*drafts), compare_drafts, trees->draft_names._data);
    while (drafts[count - 1].is_dropped)
        count--;
    int error = grow_slots(trees);
    if (error)
        return error;
    uint32_t hash = hash_of(trees, drafts, count);
    size_t at = hash & (trees->slots_count - 1);
    for (; trees->slots[at]; at = (at + 1) & (trees->slots_count - 1)) {
        const struct weir__remain *remain = &trees->remains[trees->slots[at] - 1];
        if (remain->hash == hash && is_same(trees, remain, drafts, count)) {
            *ret_remain = trees->slots[at] - 1;
            return 0;
        }
    }
    if (trees->remains_count >= UINT32_MAX / 2 || count > UINT32_MAX / 2)
        return -WEIR_E_TOO_LARGE;
    error = weir__attribute_room((void **)&trees->remains, &trees->remains_room,
                                 trees->remains_count, sizeof(*trees->remains));
    size_t entries_from = trees->entries_count;
    if (!error)
        error = add_entries(trees, drafts, count);
    if (error)
        return error;
    trees->remains[trees->remains_count] = (struct weir__remain){
        .entries_from = entries_from, .entries_count = (uint32_t)count, .hash = hash};
    *ret_remain = (uint32_t)trees->remains_count++;
    trees->slots[at] = (uint32_t)trees->remains_count;
    return 0;
}

/* Names first, then blobs before trees, then what they lead to. */
static int compare_entries(const struct weir__trees *trees, const struct weir__remain_entry *entry,
                           const struct weir__remain_entry *key, const char *name)
{
    int order =
        compare_names(weir__remain_name(trees, entry), entry->name_length, name, key->name_length);
    if (order != 0)
        return order;
    if (entry->is_tree != key->is_tree)
        return entry->is_tree - key->is_tree;
    return (entry->target > key->target) - (entry->target < key->target);
}

uint32_t weir__remain_find(const struct weir__trees *trees, uint32_t remain,
                           const struct weir__remain_entry *key)
{
    const struct weir__remain *r = &trees->remains[remain];
    const char *name = weir__remain_name(trees, key);
    uint32_t low = 0, high = r->entries_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_entries(trees, &trees->entries[r->entries_from + middle], key, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool weir__remain_has(const struct weir__trees *trees, uint32_t remain,
                      const struct weir__remain_entry *key)
{
    const struct weir__remain *r = &trees->remains[remain];
    uint32_t at = weir__remain_find(trees, remain, key);
    return at < r->entries_count && compare_entries(trees, &trees->entries[r->entries_from + at],
                                                    key, weir__remain_name(trees, key)) == 0;
}
