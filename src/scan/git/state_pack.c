/* state_pack.c - whether all of a pack was looked at.
 *
 * The ids of an index are sorted as those of a state are, so both are gone through side by side. An
 * index that is not sorted is not known: whoever plans it says so.
 */
#include "pack.h"
#include "state_part.h"

#include "banned.h"

/* If the state has so many times more ids than the pack, they are looked up one by one. */
#define MANY_TIMES 16u

struct pair {
    const struct weir__git_state *state;
    const struct weir__git_pack *pack;
};

static int compare_all(void *arg)
{
    const struct pair *pair = arg;
    const struct weir__git_state *state = pair->state;
    const struct weir__git_idx *idx = &pair->pack->idx;
    const uint8_t *known = state->bytes + WEIR__STATE_HEAD_SIZE;
    const uint8_t *end = known + (size_t)state->count * state->id_size;
    for (uint32_t i = 0; i < idx->count; i++) {
        const uint8_t *id = weir__git_idx_id(idx, i);
        int order = -1;
        while (known < end && (order = memcmp(known, id, state->id_size)) < 0)
            known += state->id_size;
        if (order != 0)
            return -WEIR_E_NOT_FOUND;
    }
    return 0;
}

static int look_up_all(void *arg)
{
    const struct pair *pair = arg;
    const struct weir__git_idx *idx = &pair->pack->idx;
    for (uint32_t i = 0; i < idx->count; i++) {
        struct weir__git_id id = weir__git_id_of(weir__git_idx_id(idx, i), idx->id_size);
        if (!weir__git_idx_is_sorted_at(idx, i) || !weir__git_state_has(pair->state, &id))
            return -WEIR_E_NOT_FOUND;
    }
    return 0;
}

static int look_at_both(void *arg)
{
    const struct pair *pair = arg;
    bool is_large = pair->state->count / MANY_TIMES > pair->pack->idx.count;
    return is_large ? look_up_all(arg) : weir__mapped_read(&pair->state->mapped, compare_all, arg);
}

bool weir__git_state_has_pack(const struct weir__git_state *state,
                              const struct weir__git_pack *pack)
{
    struct pair pair = {state, pack};
    return state && state->id_size == pack->idx.id_size && !pack->has_doubt &&
           weir__mapped_read(&pack->_idx_map, look_at_both, &pair) == 0;
}
