/* state_packs.c - the packs that a store held, and where objects were that were looked up. */
#include "state_part.h"

#include "alloc.h"

#include "banned.h"

struct taking {
    struct weir__git_state *state;
    const uint8_t *from;
};

/* Numbers are checked here: whoever uses them need not. */
static int take(void *arg)
{
    struct taking *taking = arg;
    struct weir__git_state *state = taking->state;
    const uint8_t *at = taking->from;
    for (size_t i = 0; i < state->packs_count; i++, at += WEIR__STATE_PACK_SIZE) {
        if (at[WEIR__GIT_STATE_MARK_SIZE] > 1)
            return -WEIR_E_CORRUPT;
        memcpy(state->packs[i].mark, at, WEIR__GIT_STATE_MARK_SIZE);
        state->packs[i].is_whole = at[WEIR__GIT_STATE_MARK_SIZE];
    }
    for (size_t i = 0; i < state->places_count; i++, at += state->id_size + 4) {
        state->places[i].id = weir__git_id_of(at, state->id_size);
        state->places[i].pack = (uint32_t)weir__state_get(at + state->id_size, 4);
        if (state->places[i].pack >= state->packs_count)
            return -WEIR_E_CORRUPT;
    }
    return 0;
}

int weir__state_packs_get(struct weir__git_state *state, size_t at, size_t packs, size_t places)
{
    struct taking taking = {state, state->bytes + WEIR__STATE_HEAD_SIZE + at};
    state->packs = weir__base_alloc(packs + 1, sizeof(*state->packs));
    state->places = weir__base_alloc(places + 1, sizeof(*state->places));
    if (!state->packs || !state->places)
        return -WEIR_E_NO_MEMORY;
    state->packs_count = packs;
    state->places_count = places;
    return weir__mapped_read(&state->mapped, take, &taking);
}

int weir__state_packs_put(struct weir__buffer *to, const struct weir__git_state_new *made,
                          size_t id_size)
{
    int error = 0;
    if (made->packs_count > WEIR__GIT_STATE_PACKS_MAX ||
        made->places_count > WEIR__GIT_STATE_PLACES_MAX)
        return -WEIR_E_TOO_LARGE;
    for (size_t i = 0; error == 0 && i < made->packs_count; i++) {
        uint8_t record[WEIR__STATE_PACK_SIZE];
        memcpy(record, made->packs[i].mark, WEIR__GIT_STATE_MARK_SIZE);
        record[WEIR__GIT_STATE_MARK_SIZE] = made->packs[i].is_whole;
        error = weir__buffer_append(to, (const char *)record, sizeof(record));
    }
    for (size_t i = 0; error == 0 && i < made->places_count; i++) {
        uint8_t record[WEIR__GIT_ID_SIZE_MAX + 4];
        if (made->places[i].pack >= made->packs_count)
            return -WEIR_E_INVALID;
        memcpy(record, made->places[i].id.bytes, id_size);
        weir__state_put(record + id_size, made->places[i].pack, 4);
        error = weir__buffer_append(to, (const char *)record, id_size + 4);
    }
    return error;
}

const struct weir__git_state_pack *weir__git_state_packs(const struct weir__git_state *state,
                                                         size_t *ret_count)
{
    *ret_count = state->packs_count;
    return state->packs;
}

const struct weir__git_state_place *weir__git_state_places(const struct weir__git_state *state,
                                                           size_t *ret_count)
{
    *ret_count = state->places_count;
    return state->places;
}

const uint8_t *weir__git_state_loose(const struct weir__git_state *state)
{
    return state->loose;
}

const uint8_t *weir__git_state_midx(const struct weir__git_state *state)
{
    return state->midx;
}

uint64_t weir__git_state_loose_time(const struct weir__git_state *state)
{
    return state->loose_time_ns;
}
