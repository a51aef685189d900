/* flank.c - machines that read what stands beside a literal.
 *
 * A state is a set of places in the nets of the rules, those that take a byte next. From a state
 * and a byte the next one is made once, and is then a look at a table: bytes that no set of the
 * nets tells apart have one column. Where a rule's match is complete, or may be so without anything
 * more, it is left, and its places are of no interest any more.
 *
 * The first state is where rules may be when the literal has been read. Matches that have it take
 * it byte by byte, by sets of a few bytes each, since a literal is made of such; so the net is read
 * from all of its places, and the literal does not go through what would take anything (`.{0,40}`):
 * there another one must follow, which is a hit of its own. A rule that has no such place is not
 * understood, and is left always.
 */
#include <string.h>

#include "alloc.h"
#include "flank.h"
#include "literals.h"

#include "banned.h"

#define SET_MAX       20u /* bytes of a set that a literal may go through (expression_atom.c) */
#define MEMBERS_MAX   (64u << 10) /* of all states */
#define STATES_LEAST  16u
#define MEMBERS_LEAST 1024u
/* States by number: 0 is one that is not known yet. */
#define UNKNOWN 0u
#define FULL    UINT16_MAX /* there is no room for it */

struct state {
    uint64_t waiting; /* rules that have places in it */
    uint64_t done;    /* rules whose match is complete here */
    uint32_t first, count;
    uint64_t hash;
};

struct weir__flank {
    struct weir__flank_net net;
    uint64_t left; /* rules that are left whatever stands there */
    bool is_back;
    uint8_t columns[256];
    uint8_t examples[256]; /* a byte of each column */
    unsigned columns_count;
    uint8_t *rules; /* by node: whose it is */
    struct state *states;
    unsigned count, capacity;
    uint16_t *next; /* by state and column */
    uint16_t *members;
    uint32_t members_count, members_capacity;
    uint16_t *table; /* states by a hash of their places, twice the capacity; 0: none */
    uint16_t first;  /* state */
    struct weir__flank_room *room; /* while a state is being made */
};

void weir__flank_free(struct weir__flank *flank)
{
    if (!flank)
        return;
    weir__base_free(flank->net.nodes);
    weir__base_free(flank->net.sets);
    weir__base_free(flank->rules);
    weir__base_free(flank->states);
    weir__base_free(flank->next);
    weir__base_free(flank->members);
    weir__base_free(flank->table);
    weir__base_free(flank);
}

/* --- the state that is being made --- */

static void clear(struct weir__flank *flank)
{
    size_t words = flank->net.count / 64 + 1;
    memset(flank->room->seen, 0, words * sizeof(uint64_t));
    memset(flank->room->takes, 0, words * sizeof(uint64_t));
    flank->room->done = 0;
}

/* A node, and all that is come to from there without a byte. */
static void come_to(struct weir__flank *flank, uint16_t node)
{
    size_t depth = 0;
    for (;;) {
        uint64_t bit = UINT64_C(1) << (node & 63);
        bool is_new = node != WEIR__FLANK_NONE && !(flank->room->seen[node >> 6] & bit);
        const struct weir__flank_node *at = is_new ? &flank->net.nodes[node] : NULL;
        if (is_new)
            flank->room->seen[node >> 6] |= bit;
        if (is_new && at->kind == WEIR__FLANK_END)
            flank->room->done |= UINT64_C(1) << at->out[0];
        if (is_new && at->kind < WEIR__FLANK_END)
            flank->room->takes[node >> 6] |= bit;
        if (is_new && at->kind == WEIR__FLANK_FORK) {
            flank->room->stack[depth++] = at->out[1];
            node = at->out[0];
        } else if (depth > 0) {
            node = flank->room->stack[--depth];
        } else {
            return;
        }
    }
}

static bool resize(void **memory, size_t count, size_t size)
{
    void *resized = weir__base_realloc(*memory, count, size);
    *memory = resized ? resized : *memory;
    return resized != NULL;
}

/* Whether so many more bytes are within the limit; counts them. */
static bool take_memory(struct weir__flank *flank, size_t bytes)
{
    if (bytes > WEIR__FLANK_MEMORY - flank->room->memory)
        return false;
    flank->room->memory += bytes;
    return true;
}

/* Where in the table a state with this hash is, or has its place. */
static size_t slot_of(const struct weir__flank *flank, const struct state *state)
{
    size_t mask = 2 * (size_t)flank->capacity - 1, slot = (size_t)state->hash & mask;
    for (; flank->table[slot]; slot = (slot + 1) & mask) {
        const struct state *other = &flank->states[flank->table[slot]];
        if (other->hash == state->hash && other->done == state->done &&
            other->count == state->count &&
            memcmp(flank->members + other->first, flank->members + state->first,
                   state->count * sizeof(*flank->members)) == 0)
            break;
    }
    return slot;
}

static bool grow_states(struct weir__flank *flank)
{
    unsigned capacity = flank->capacity ? 2 * flank->capacity : STATES_LEAST;
    size_t columns = flank->columns_count, before = flank->capacity * columns;
    size_t more =
        (capacity - flank->capacity) * (sizeof(struct state) + (columns + 2) * sizeof(uint16_t));
    if (capacity > WEIR__FLANK_STATES || !take_memory(flank, more))
        return false;
    uint16_t *table = weir__base_alloc(2 * (size_t)capacity, sizeof(uint16_t));
    void *states = flank->states, *next = flank->next;
    bool has_room = table && resize(&states, capacity, sizeof(struct state)) &&
                    resize(&next, capacity * columns, sizeof(uint16_t));
    flank->states = states;
    flank->next = next;
    if (!has_room) {
        weir__base_free(table);
        return false;
    }
    memset(flank->next + before, 0, (capacity * columns - before) * sizeof(uint16_t));
    weir__base_free(flank->table);
    flank->table = table;
    flank->capacity = capacity;
    for (unsigned i = 1; i < flank->count; i++)
        flank->table[slot_of(flank, &flank->states[i])] = (uint16_t)i;
    return true;
}

static bool make_room(struct weir__flank *flank, uint32_t members)
{
    if (flank->count == flank->capacity && !grow_states(flank))
        return false;
    if (members <= flank->members_capacity - flank->members_count)
        return true;
    uint32_t capacity = flank->members_capacity ? flank->members_capacity : MEMBERS_LEAST;
    while (capacity - flank->members_count < members)
        capacity *= 2;
    void *grown = flank->members;
    if (capacity > MEMBERS_MAX ||
        !take_memory(flank, (capacity - flank->members_capacity) * sizeof(uint16_t)) ||
        !resize(&grown, capacity, sizeof(uint16_t)))
        return false;
    flank->members = grown;
    flank->members_capacity = capacity;
    return true;
}

/* Appends the places of the state to those of all, without counting them in. */
static bool put_members(struct weir__flank *flank, struct state *state)
{
    uint32_t count = 0;
    size_t words = flank->net.count / 64 + 1;
    for (size_t i = 0; i < words; i++)
        count += (uint32_t)__builtin_popcountll(flank->room->takes[i]);
    if (!make_room(flank, count))
        return false;
    *state = (struct state){.done = flank->room->done, .first = flank->members_count};
    for (size_t i = 0; i < words; i++) {
        for (uint64_t bits = flank->room->takes[i]; bits; bits &= bits - 1) {
            uint16_t node = (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(bits));
            uint64_t rule = UINT64_C(1) << flank->rules[node];
            if (flank->room->done & rule)
                continue;
            state->waiting |= rule;
            flank->members[state->first + state->count++] = node;
        }
    }
    return true;
}

/* The number of the state that is being made: FULL if there is no room for it. */
static uint16_t keep(struct weir__flank *flank)
{
    struct state state;
    if (!put_members(flank, &state))
        return FULL;
    state.hash = state.done;
    for (uint32_t i = 0; i < state.count; i++)
        state.hash = (state.hash ^ (state.hash >> 29) ^ flank->members[state.first + i]) *
                     UINT64_C(0x9e3779b97f4a7c15);
    state.hash ^= state.hash >> 32;
    size_t slot = slot_of(flank, &state);
    if (flank->table[slot])
        return flank->table[slot];
    flank->members_count += state.count;
    flank->states[flank->count] = state;
    flank->table[slot] = (uint16_t)flank->count;
    return (uint16_t)flank->count++;
}

static uint16_t step(struct weir__flank *flank, uint16_t from, unsigned column)
{
    const struct state *state = &flank->states[from];
    clear(flank);
    for (uint32_t i = 0; i < state->count; i++) {
        const struct weir__flank_node *node = &flank->net.nodes[flank->members[state->first + i]];
        if (weir__flank_has(flank->net.sets[node->kind], flank->examples[column]))
            come_to(flank, node->out[0]);
    }
    return keep(flank);
}

/* --- making --- */

static unsigned size_of(const uint64_t set[4])
{
    unsigned count = 0;
    for (unsigned i = 0; i < 4; i++)
        count += (unsigned)__builtin_popcountll(set[i]);
    return count;
}

/* Parts each column by whether its bytes are in the set; the bytes are those of the set, or all
 * others, whichever are fewer. */
static void part_columns(struct weir__flank *flank, const uint8_t *bytes, unsigned count,
                         unsigned sizes[256])
{
    unsigned inside[256] = {0};
    int16_t parts[256]; /* by column: the new one for those in it */
    for (unsigned i = 0; i < count; i++) {
        uint8_t column = flank->columns[bytes[i]];
        inside[column]++;
        parts[column] = -1;
    }
    for (unsigned i = 0; i < count; i++) {
        uint8_t column = flank->columns[bytes[i]];
        if (parts[column] < 0 && inside[column] == sizes[column])
            continue; /* all of it */
        if (parts[column] < 0) {
            unsigned number = flank->columns_count++;
            parts[column] = (int16_t)number;
            sizes[number] = inside[column];
            sizes[column] -= inside[column];
            inside[column] = 256; /* no longer asked */
        }
        flank->columns[bytes[i]] = (uint8_t)parts[column];
    }
}

/* Bytes that all sets have, or have not, are one column. */
static void find_columns(struct weir__flank *flank)
{
    unsigned sizes[256] = {256};
    flank->columns_count = 1;
    for (unsigned i = 0; i < flank->net.sets_count; i++) {
        uint8_t bytes[256];
        unsigned count = 0;
        bool is_large = size_of(flank->net.sets[i]) > 128;
        for (unsigned k = 0; k < 4; k++)
            for (uint64_t bits = is_large ? ~flank->net.sets[i][k] : flank->net.sets[i][k]; bits;
                 bits &= bits - 1)
                bytes[count++] = (uint8_t)(k * 64 + (unsigned)__builtin_ctzll(bits));
        part_columns(flank, bytes, count, sizes);
    }
    for (unsigned byte = 0; byte < 256; byte++)
        flank->examples[flank->columns[byte]] = (uint8_t)byte;
}

static char upper(char byte)
{
    return byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
}

/* Whether a byte of the literal may be taken here. */
static bool takes_literal(const struct weir__flank_net *net, const struct weir__flank_node *node,
                          char byte, bool is_cased)
{
    const uint64_t *set = net->sets[node->kind];
    return size_of(set) <= SET_MAX &&
           (weir__flank_has(set, (unsigned char)byte) ||
            (!is_cased && weir__flank_has(set, (unsigned char)upper(byte))));
}

/* The state that is being made is that behind the literal. */
static void read_literal(struct weir__flank *flank, const struct weir__flank_literal *literal)
{
    const struct weir__flank_net *net = &flank->net;
    uint64_t *before = flank->room->last;
    size_t words = net->count / 64 + 1;
    clear(flank);
    for (unsigned i = 0; i < net->count; i++)
        if (net->nodes[i].kind < WEIR__FLANK_END)
            flank->room->takes[i >> 6] |= UINT64_C(1) << (i & 63);
    for (size_t k = 0; k < literal->length; k++) {
        char byte = literal->text[flank->is_back ? literal->length - 1 - k : k];
        memcpy(before, flank->room->takes, words * sizeof(uint64_t));
        clear(flank);
        for (size_t i = 0; i < words; i++)
            for (uint64_t bits = before[i]; bits; bits &= bits - 1) {
                const struct weir__flank_node *node =
                    &net->nodes[i * 64 + (unsigned)__builtin_ctzll(bits)];
                if (takes_literal(net, node, byte, literal->is_cased))
                    come_to(flank, node->out[0]);
            }
    }
}

/* A copy of what is in the room. */
static void *copy_of(const void *from, size_t count, size_t size)
{
    void *copy = weir__base_alloc(count + 1, size);
    if (copy)
        memcpy(copy, from, count * size);
    return copy;
}

static bool read_rules(struct weir__flank *flank, const char *const *texts, size_t count)
{
    struct weir__flank_room *room = flank->room;
    struct weir__flank_net *net = &flank->net;
    room->count = room->sets_count = 0;
    memset(room->table, 0, sizeof(room->table));
    for (size_t i = 0; i < count && i < WEIR__FLANK_RULES; i++) {
        unsigned from = room->count;
        if (!texts[i] || !weir__flank_read(room, texts[i], (uint16_t)i, flank->is_back))
            flank->left |= UINT64_C(1) << i;
        memset(room->rules + from, (int)i, room->count - from);
    }
    if (count < WEIR__FLANK_RULES)
        flank->left |= UINT64_MAX << count;
    net->count = room->count;
    net->sets_count = room->sets_count;
    if (!take_memory(flank, sizeof(*flank) + net->count * (sizeof(*net->nodes) + 1) +
                                net->sets_count * sizeof(*net->sets)))
        return false;
    net->nodes = copy_of(room->nodes, net->count, sizeof(*net->nodes));
    net->sets = copy_of(room->sets, net->sets_count, sizeof(*net->sets));
    flank->rules = copy_of(room->rules, net->count, 1);
    return net->nodes && net->sets && flank->rules;
}

static bool start(struct weir__flank *flank, const struct weir__flank_literal *literal)
{
    find_columns(flank);
    flank->count = 0;
    if (!make_room(flank, 0))
        return false;
    flank->states[flank->count++] = (struct state){.count = 0}; /* UNKNOWN */
    read_literal(flank, literal);
    flank->first = keep(flank);
    if (flank->first == FULL)
        return false;
    flank->left |= ~flank->states[flank->first].waiting;
    return true;
}

struct weir__flank *weir__flank_new(struct weir__flank_room *room, const char *const *texts,
                                    size_t count, const struct weir__flank_literal *literal,
                                    bool is_back)
{
    struct weir__flank *flank = weir__base_alloc(1, sizeof(*flank));
    if (!flank)
        return NULL;
    flank->is_back = is_back;
    flank->room = room;
    if (!read_rules(flank, texts, count) || !start(flank, literal)) {
        weir__flank_free(flank);
        return NULL;
    }
    return flank;
}

/* --- asking --- */

uint64_t weir__flank_ask(struct weir__flank *flank, struct weir__flank_room *room, uint64_t wanted,
                         const char *bytes, size_t length, size_t *ret_read)
{
    uint64_t left = flank->left & wanted;
    uint16_t at = flank->first;
    size_t most = length < WEIR__FLANK_BYTES ? length : WEIR__FLANK_BYTES, i = 0;
    uint64_t waiting = flank->states[at].waiting & wanted & ~left;
    for (; i < most && waiting; i++) {
        unsigned char byte = (unsigned char)bytes[flank->is_back ? length - 1 - i : i];
        size_t slot = (size_t)at * flank->columns_count + flank->columns[byte];
        uint16_t next = flank->next[slot];
        if (next == UNKNOWN) {
            flank->room = room;
            next = step(flank, at, flank->columns[byte]);
            if (next == FULL)
                break; /* those that wait are left */
            flank->next[slot] = next;
        }
        at = next;
        left |= flank->states[at].done & wanted;
        waiting = flank->states[at].waiting & wanted & ~left;
    }
    *ret_read = i;
    return i < length ? left | waiting : left;
}
