/* commit_order.c - the commits of the set, the oldest first: those that a ref leads to, then what
 * only stashes, notes and logs know, each by itself, since a commit that was amended or rebased is
 * older than what has come in its place. Whatever leads to a commit leads to its parents, so that
 * none of these comes behind it.
 *
 * Times come from many clocks, and many commits have the same second: among those, parents are to
 * stand before their children. So the set is first put in an order of descent, by taking away,
 * again and again, what has no child left; the place there decides between equal times.
 */
#include "commit_part.h"

#include <stdlib.h>

#include "alloc.h"

#include "banned.h"

struct place {
    int64_t time;
    uint32_t kind : 3, rank : 29; /* memory has room for fewer */
    uint32_t number;
};

static int compare(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

static void count_children(const struct weir__git_history *history, uint32_t *children)
{
    uint32_t parent;
    for (uint32_t i = 0; i < weir__git_history_count(history); i++) {
        if (!weir__git_history_has(history, i))
            continue;
        for (uint64_t at = WEIR__GIT_PARENTS; weir__git_history_parent(history, i, &at, &parent);)
            children[parent]++;
    }
}

/* Children before parents. places is large enough for all; returns how many there are. */
static uint32_t descend(const struct weir__git_history *history, uint32_t *children,
                        struct place *places)
{
    uint32_t count = 0, parent;
    for (uint32_t i = 0; i < weir__git_history_count(history); i++)
        if (children[i] == 0 && weir__git_history_has(history, i))
            places[count++].number = i;
    for (uint32_t next = 0; next < count; next++) {
        uint32_t number = places[next].number;
        for (uint64_t at = WEIR__GIT_PARENTS;
             weir__git_history_parent(history, number, &at, &parent);)
            if (--children[parent] == 0 && weir__git_history_has(history, parent))
                places[count++].number = parent;
    }
    /* Ancestors of themselves, which only a store that lies has. */
    for (uint32_t i = 0; i < weir__git_history_count(history); i++)
        if (children[i] > 0 && weir__git_history_has(history, i))
            places[count++].number = i;
    return count;
}

/* The first that is said of it in enum weir__git_start. */
static uint32_t kind_of(const struct weir__git_history *history, uint32_t number)
{
    uint32_t kinds = weir__git_history_kind(history, number), kind = 0;
    static const unsigned starts[] = {WEIR__GIT_START_REF, WEIR__GIT_START_STASH,
                                      WEIR__GIT_START_NOTES, WEIR__GIT_START_LOG};
    while (kind < sizeof(starts) / sizeof(starts[0]) && kinds != starts[kind])
        kind++;
    return kind;
}

int weir__git_history_order(const struct weir__git_history *history, uint32_t **ret_order,
                            uint32_t *ret_count)
{
    uint32_t all = weir__git_history_count(history), count = 0;
    for (uint32_t i = 0; i < all; i++)
        count += weir__git_history_has(history, i);
    if (count == 0) {
        *ret_order = NULL;
        *ret_count = 0;
        return 0;
    }
    uint32_t *children = weir__base_alloc(all, sizeof(*children));
    struct place *places = weir__base_alloc(count, sizeof(*places));
    if (!children || !places) {
        weir__base_free(children);
        weir__base_free(places);
        return -WEIR_E_NO_MEMORY;
    }
    count_children(history, children);
    count = descend(history, children, places);
    for (uint32_t i = 0; i < count; i++) {
        places[i].rank = (count - i) & 0x1fffffff;
        places[i].kind = kind_of(history, places[i].number) & 7;
        places[i].time = weir__git_history_time(history, places[i].number);
    }
    qsort(places, count, sizeof(*places), compare);
    for (uint32_t i = 0; i < count; i++)
        children[i] = places[i].number;
    weir__base_free(places);
    *ret_order = children;
    *ret_count = count;
    return 0;
}
