/* state_there.c - a state beside a store: whether all of a pack is in the one, and what of the one
 * is still in the other.
 *
 * The ids of an index are sorted as those of a state are, so both are gone through side by side. An
 * index that is not sorted is not known: whoever plans it says so.
 */
#include "pack.h"
#include "state_part.h"

#include "alloc.h"

#include "banned.h"

/* If the state has so many times more ids than the pack, they are looked up one by one. */
#define MANY_TIMES 16u

struct pair {
    const struct weir__git_state *state;
    const struct weir__git_pack *pack;
    struct weir__git_there *there; /* NULL: the first id that is not known ends it */
};

static void note(struct weir__git_there *there, uint64_t at)
{
    there->_bits[at / 8] |= (uint8_t)(1u << at % 8);
}

static int compare_all(void *arg)
{
    const struct pair *pair = arg;
    const struct weir__git_state *state = pair->state;
    const struct weir__git_idx *idx = &pair->pack->idx;
    const uint8_t *known = state->bytes + WEIR__STATE_HEAD_SIZE;
    uint64_t at = 0;
    for (uint32_t i = 0; i < idx->count; i++) {
        const uint8_t *id = weir__git_idx_id(idx, i);
        int order = -1;
        for (; at < state->count && (order = memcmp(known, id, state->id_size)) < 0; at++)
            known += state->id_size;
        if (order != 0 && !pair->there)
            return -WEIR_E_NOT_FOUND;
        if (order == 0 && pair->there)
            note(pair->there, at);
    }
    return 0;
}

static int look_up_all(void *arg)
{
    const struct pair *pair = arg;
    const struct weir__git_idx *idx = &pair->pack->idx;
    for (uint32_t i = 0; i < idx->count; i++) {
        struct weir__git_id id = weir__git_id_of(weir__git_idx_id(idx, i), idx->id_size);
        if (pair->there)
            weir__git_there_add(pair->there, &id);
        else if (!weir__git_idx_is_sorted_at(idx, i) || !weir__git_state_has(pair->state, &id))
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
    struct pair pair = {.state = state, .pack = pack};
    return state && state->id_size == pack->idx.id_size && !pack->has_doubt &&
           weir__mapped_read(&pack->_idx_map, look_at_both, &pair) == 0;
}

/* --- what is still there --- */

int weir__git_there_init(struct weir__git_there *there, const struct weir__git_state *state)
{
    *there = (struct weir__git_there){._state = state};
    there->_bits = weir__base_alloc((size_t)weir__state_bits_size(state->count), 1);
    return there->_bits ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__git_there_fini(struct weir__git_there *there)
{
    weir__base_free(there->_bits);
    *there = (struct weir__git_there){._state = NULL};
}

void weir__git_there_add(struct weir__git_there *there, const struct weir__git_id *id)
{
    uint64_t at;
    if (weir__state_find(there->_state, id, &at))
        note(there, at);
}

void weir__git_there_add_pack(struct weir__git_there *there, const struct weir__git_pack *pack)
{
    struct pair pair = {there->_state, pack, there};
    /* Where one of both cannot be read, what is there is taken for gone. */
    if (there->_state->id_size == pack->idx.id_size)
        (void)!weir__mapped_read(&pack->_idx_map, look_at_both, &pair);
}

uint64_t weir__git_there_gone(const struct weir__git_there *there)
{
    uint64_t count = there->_state->count, noted = 0;
    for (uint64_t i = 0; i < weir__state_bits_size(count); i++)
        noted += (uint64_t)__builtin_popcount(there->_bits[i]);
    return count - noted;
}

bool weir__git_there_has(const struct weir__git_there *there, const struct weir__git_id *id)
{
    uint64_t at;
    return weir__state_find(there->_state, id, &at) && weir__state_bit(there->_bits, at);
}
