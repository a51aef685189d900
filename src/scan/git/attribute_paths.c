/* attribute_paths.c - the paths of a blob: the first few by name, and how many there are.
 *
 * The first by name, so that the same are kept in whatever order and in however many slices the
 * history is looked at. What a path is judged to be is asked once, and kept with its count.
 */
#include "attribute_part.h"

#include "alloc.h"
#include "hash.h"

#include "banned.h"

#define SLOTS_FIRST 256u

void weir__found_fini(struct weir__found *found)
{
    for (unsigned i = 0; i < found->paths_count; i++)
        weir__base_free(found->paths[i]);
    weir__base_free(found->paths);
    weir__base_free(found->ref);
    weir__looks_fini(found);
}

/* --- counting --- */

static uint64_t hash_of(uint32_t number, const char *path, size_t length, uint64_t mark)
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    uint64_t first;
    weir__hash_init(&hash);
    weir__hash_update(&hash, &number, sizeof(number));
    weir__hash_update(&hash, path, length + 1);
    if (mark)
        weir__hash_update(&hash, &mark, sizeof(mark));
    weir__hash_final(&hash, digest);
    memcpy(&first, digest, sizeof(first));
    return first ? first : 1;
}

static int grow_counted(struct weir__counted *counted)
{
    size_t count = counted->slots_count ? counted->slots_count * 2 : SLOTS_FIRST;
    if (counted->count < counted->slots_count / 2)
        return 0;
    struct weir__counted_path *slots = weir__base_alloc(count, sizeof(*slots));
    if (!slots)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < counted->slots_count; i++) {
        size_t at = counted->slots[i].hash & (count - 1);
        if (counted->slots[i].hash == 0)
            continue;
        while (slots[at].hash)
            at = (at + 1) & (count - 1);
        slots[at] = counted->slots[i];
    }
    weir__base_free(counted->slots);
    counted->slots = slots;
    counted->slots_count = count;
    return 0;
}

/* Where it is, or would be; there are slots. */
static struct weir__counted_path *slot_of(const struct weir__counted *counted, uint32_t number,
                                          uint64_t hash)
{
    size_t at = hash & (counted->slots_count - 1);
    while (counted->slots[at].hash &&
           (counted->slots[at].hash != hash || counted->slots[at].number != number))
        at = (at + 1) & (counted->slots_count - 1);
    return &counted->slots[at];
}

/* Its slot, NULL when there are too many. */
static int count_path(struct weir__git_attribute *a, uint32_t number, uint64_t hash, bool is_marked,
                      struct weir__counted_path **ret_slot)
{
    struct weir__counted *counted = &a->counted;
    int error = grow_counted(counted);
    if (error)
        return error;
    struct weir__counted_path *slot = slot_of(counted, number, hash);
    *ret_slot = slot;
    if (slot->hash)
        return 0;
    if (counted->count == WEIR__GIT_PATHS_COUNTED) {
        a->found[number].has_more = true;
        *ret_slot = NULL;
        return 0;
    }
    *slot = (struct weir__counted_path){
        .hash = hash, .number = number, .look = WEIR__LOOK_UNKNOWN, .is_marked = is_marked};
    counted->count++;
    a->found[number].paths_total += !is_marked;
    return 0;
}

/* Without a mark, of whoever it was. */
bool weir__found_has(const struct weir__git_attribute *a, uint32_t number, const char *path,
                     size_t length)
{
    const struct weir__counted *counted = &a->counted;
    if (counted->slots_count == 0 || length >= WEIR__GIT_SHOWN_PATH_MAX)
        return false;
    return slot_of(counted, number, hash_of(number, path, length, 0))->hash != 0;
}

/* --- keeping --- */

char *weir__path_copy(const char *path, size_t length)
{
    static const char cut[] = "...";
    size_t kept =
        length < WEIR__GIT_SHOWN_PATH_MAX ? length : WEIR__GIT_SHOWN_PATH_MAX - sizeof(cut);
    char *copy = weir__base_alloc(kept + sizeof(cut), 1);
    if (copy) {
        memcpy(copy, path, kept);
        if (kept < length)
            memcpy(copy + kept, cut, sizeof(cut));
    }
    return copy;
}

static int keep_path(struct weir__git_attribute *a, struct weir__found *found, const char *path,
                     size_t length)
{
    unsigned most = a->options.paths_max, at = found->paths_count;
    if (!found->paths)
        found->paths = weir__base_alloc(most, sizeof(*found->paths));
    char *copy = found->paths ? weir__path_copy(path, length) : NULL;
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    while (at > 0 && strcmp(copy, found->paths[at - 1]) < 0)
        at--;
    if (at == most || (at > 0 && strcmp(copy, found->paths[at - 1]) == 0)) {
        weir__base_free(copy);
        return 0;
    }
    if (found->paths_count == most)
        weir__base_free(found->paths[--found->paths_count]);
    memmove(found->paths + at + 1, found->paths + at,
            (found->paths_count - at) * sizeof(*found->paths));
    found->paths[at] = copy;
    found->paths_count++;
    return 0;
}

static int judge(struct weir__git_attribute *a, uint32_t number, const char *path, uint64_t mark,
                 uint16_t *ret_look)
{
    uint64_t verdict = 0;
    int error =
        a->options.verdict ? a->options.verdict(a->options.get_arg, number, path, &verdict) : 0;
    return error ? error : weir__look_of(&a->found[number], verdict ^ mark, ret_look);
}

/* The look that the path belongs to. */
static int look_at(struct weir__git_attribute *a, uint32_t number, const char *path, size_t length,
                   uint64_t mark, uint16_t *ret_look)
{
    struct weir__counted_path *slot;
    int error = count_path(a, number, hash_of(number, path, length, 0), false, &slot);
    if (!error && mark)
        error = count_path(a, number, hash_of(number, path, length, mark), true, &slot);
    if (error)
        return error;
    if (slot && slot->look != WEIR__LOOK_UNKNOWN) {
        *ret_look = slot->look;
        return 0;
    }
    error = judge(a, number, path, mark, ret_look);
    if (!error && slot)
        slot->look = *ret_look;
    return error;
}

int weir__found_add(struct weir__git_attribute *a, uint32_t number, const char *path, size_t length,
                    uint32_t place)
{
    struct weir__found *found = &a->found[number];
    uint16_t look;
    char *cut = length < WEIR__GIT_SHOWN_PATH_MAX ? NULL : weir__path_copy(path, length);
    if (length >= WEIR__GIT_SHOWN_PATH_MAX && !cut)
        return -WEIR_E_NO_MEMORY;
    const char *kept = cut ? cut : path;
    int error =
        look_at(a, number, kept, strlen(kept), place == WEIR__GIT_SET_NONE ? 0 : a->mark, &look);
    if (!error)
        error = keep_path(a, found, kept, strlen(kept));
    if (!error)
        error = weir__look_add(a, found, look, kept, place, place == WEIR__GIT_SET_NONE && !a->ref);
    weir__base_free(cut);
    return error;
}

/* --- merging --- */

static int merge_one(struct weir__git_attribute *a, uint32_t number,
                     const struct weir__found *other)
{
    struct weir__found *found = &a->found[number];
    int error = 0;
    for (unsigned i = 0; !error && i < other->paths_count; i++)
        error = keep_path(a, found, other->paths[i], strlen(other->paths[i]));
    if (!error && other->ref && !found->ref) {
        found->ref = weir__path_copy(other->ref, strlen(other->ref));
        error = found->ref ? 0 : -WEIR_E_NO_MEMORY;
    }
    found->is_staged |= other->is_staged;
    found->has_more |= other->has_more;
    return error ? error : weir__looks_merge(a, found, other);
}

static int merge_count(struct weir__git_attribute *a, const struct weir__git_attribute *fork,
                       const struct weir__counted_path *from)
{
    const struct weir__found *other = &fork->found[from->number];
    struct weir__counted_path *slot;
    int error = count_path(a, from->number, from->hash, from->is_marked, &slot);
    if (error || !slot || slot->look != WEIR__LOOK_UNKNOWN || from->look >= other->looks_count)
        return error;
    return weir__look_of(&a->found[from->number], other->looks[from->look]._verdict, &slot->look);
}

int weir__found_merge(struct weir__git_attribute *a, const struct weir__git_attribute *fork)
{
    for (uint32_t i = 0; i < weir__git_set_count(a->wanted); i++) {
        int error = merge_one(a, i, &fork->found[i]);
        if (error)
            return error;
    }
    for (size_t i = 0; i < fork->counted.slots_count; i++) {
        const struct weir__counted_path *slot = &fork->counted.slots[i];
        int error = slot->hash ? merge_count(a, fork, slot) : 0;
        if (error)
            return error;
    }
    return 0;
}
