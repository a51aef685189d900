/* attribute_paths.c - the paths of a blob: the first few by name, and how many there are.
 *
 * The first by name, so that the same are kept in whatever order and in however many slices the
 * history is looked at.
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
    weir__base_free(found->path);
    weir__base_free(found->ref);
}

/* --- counting --- */

static uint64_t hash_of(uint32_t number, const char *path, size_t length)
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    uint64_t first;
    weir__hash_init(&hash);
    weir__hash_update(&hash, &number, sizeof(number));
    weir__hash_update(&hash, path, length);
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

static int count_path(struct weir__git_attribute *a, uint32_t number, uint64_t hash)
{
    struct weir__counted *counted = &a->counted;
    int error = grow_counted(counted);
    if (error)
        return error;
    size_t at = hash & (counted->slots_count - 1);
    for (; counted->slots[at].hash; at = (at + 1) & (counted->slots_count - 1))
        if (counted->slots[at].hash == hash && counted->slots[at].number == number)
            return 0;
    if (counted->count == WEIR__GIT_PATHS_COUNTED) {
        a->found[number].has_more = true;
        return 0;
    }
    counted->slots[at] = (struct weir__counted_path){hash, number};
    counted->count++;
    a->found[number].paths_total++;
    return 0;
}

/* --- keeping --- */

static char *copy_path(const char *path, size_t length)
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
    char *copy = found->paths ? copy_path(path, length) : NULL;
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

/* Whether it comes before what is known; of one commit, the first path by name counts. */
static bool is_first(const struct weir__found *found, const char *path, uint32_t place)
{
    if (!found->path)
        return true;
    if (place != found->place)
        return place < found->place;
    return place != WEIR__GIT_SET_NONE && strcmp(path, found->path) < 0;
}

int weir__found_add(struct weir__git_attribute *a, uint32_t number, const char *path, size_t length,
                    uint32_t place)
{
    struct weir__found *found = &a->found[number];
    int error = count_path(a, number, hash_of(number, path, length));
    if (!error)
        error = keep_path(a, found, path, length);
    if (error || !is_first(found, path, place))
        return error;
    char *copy = copy_path(path, length);
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    weir__base_free(found->path);
    found->path = copy;
    a->left -= found->place == WEIR__GIT_SET_NONE && place != WEIR__GIT_SET_NONE;
    found->place = place;
    return 0;
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
        found->ref = copy_path(other->ref, strlen(other->ref));
        error = found->ref ? 0 : -WEIR_E_NO_MEMORY;
    }
    found->is_staged |= other->is_staged;
    found->has_more |= other->has_more;
    if (error || !other->path || !is_first(found, other->path, other->place))
        return error;
    char *copy = copy_path(other->path, strlen(other->path));
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    weir__base_free(found->path);
    found->path = copy;
    a->left -= found->place == WEIR__GIT_SET_NONE && other->place != WEIR__GIT_SET_NONE;
    found->place = other->place;
    return 0;
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
        int error = slot->hash ? count_path(a, slot->number, slot->hash) : 0;
        if (error)
            return error;
    }
    return 0;
}
