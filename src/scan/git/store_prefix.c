/* store_prefix.c - the ids that begin with some digits, wherever their objects are.
 *
 * Indexes are sorted, so those that begin alike stand together: one search finds the first. Loose
 * objects lie in folders named by the first two digits.
 */
#include "store_part.h"

#include <stdio.h>

#include "idx_read.h"

#include "banned.h"

#define FOLDERS 256u

struct sought {
    struct weir__git_store *store;
    const char *digits; /* in lower case */
    size_t count;
    struct weir__git_id least; /* the digits, and zeros behind them */
    struct weir__git_id *ids;
    size_t found, max;
    unsigned folder; /* of loose objects, by its number */
};

static bool is_full(const struct sought *sought)
{
    return sought->found == sought->max;
}

/* Few are kept, so that looking through all of them is no loss. */
static void keep(struct sought *sought, const struct weir__git_id *id)
{
    for (size_t i = 0; i < sought->found; i++)
        if (weir__git_id_is_equal(&sought->ids[i], id))
            return;
    sought->ids[sought->found++] = *id;
}

static bool begins_so(const struct sought *sought, const uint8_t *bytes)
{
    size_t whole = sought->count / 2;
    if (memcmp(bytes, sought->least.bytes, whole) != 0)
        return false;
    return sought->count % 2 == 0 || bytes[whole] >> 4 == sought->least.bytes[whole] >> 4;
}

/* --- sorted ids --- */

struct sorted {
    struct sought *sought;
    const uint8_t *ids;
    size_t step;
    uint32_t count;
};

/* Runs inside of a look at a mapping. Whatever the order of the ids, it ends and reads none but
 * them. */
static int look_at_sorted(void *arg)
{
    struct sorted *sorted = arg;
    struct sought *sought = sorted->sought;
    size_t id_size = sought->store->id_size;
    uint32_t low = 0, high = sorted->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (memcmp(sorted->ids + (uint64_t)middle * sorted->step, sought->least.bytes, id_size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < sorted->count && !is_full(sought); low++) {
        const uint8_t *bytes = sorted->ids + (uint64_t)low * sorted->step;
        if (!begins_so(sought, bytes))
            break;
        struct weir__git_id id = weir__git_id_of(bytes, id_size);
        keep(sought, &id);
    }
    return 0;
}

static void ask_midx(struct sought *sought, const struct weir__git_folder *folder)
{
    struct sorted sorted = {sought, folder->midx._ids, sought->store->id_size, folder->midx.count};
    int result = weir__mapped_read(&folder->midx_map, look_at_sorted, &sorted);
    (void)result; /* an index that is cut short has the ids that were read before */
}

/* NotFound when the pack is gone; one that cannot be used has no ids. */
static int ask_pack(struct sought *sought, uint32_t row)
{
    const struct weir__git_pack *pack;
    int result = weir__git_store_opened(sought->store, row, &pack);
    if (result < 0)
        return result == -WEIR_E_NOT_FOUND ? result : 0;
    if (pack->idx.count == 0)
        return 0;
    struct sorted sorted = {sought, weir__git_idx_id(&pack->idx, 0),
                            sought->store->id_size + (pack->idx.version == 1 ? 4 : 0),
                            pack->idx.count};
    result = weir__mapped_read(&pack->_idx_map, look_at_sorted, &sorted);
    (void)result;
    return 0;
}

/* --- loose ones --- */

static int look_at_name(void *arg, const char *name)
{
    struct sought *sought = arg;
    size_t id_size = sought->store->id_size, length = strlen(name);
    char hex[WEIR__GIT_HEX_SIZE];
    struct weir__git_id id;
    if (length != 2 * id_size - 2)
        return 0;
    snprintf(hex, sizeof(hex), "%02x%s", sought->folder, name);
    if (weir__git_id_from_hex(&id, hex, id_size) < 0 || !begins_so(sought, id.bytes))
        return 0;
    keep(sought, &id);
    return is_full(sought);
}

static void ask_loose(struct sought *sought, const struct weir__git_folder *folder)
{
    char name[3];
    for (unsigned i = 0; i < FOLDERS && !is_full(sought); i++) {
        snprintf(name, sizeof(name), "%02x", i);
        if (memcmp(name, sought->digits, sought->count < 2 ? sought->count : 2) != 0)
            continue;
        sought->folder = i;
        int result = weir__git_list_folder(folder->fd, name, look_at_name, sought);
        (void)result; /* one that cannot be read has none */
    }
}

/* --- all --- */

/* NotFound when the list of packs is stale. */
static int seek(struct sought *sought)
{
    struct weir__git_store *store = sought->store;
    int result = 0;
    for (unsigned i = 0; i < store->folders_count && !is_full(sought); i++)
        if (store->folders[i].midx_rows)
            ask_midx(sought, &store->folders[i]);
    for (uint32_t row = 0; row < store->list.rows_count && !is_full(sought); row++)
        if (!store->list.rows[row].is_in_midx && ask_pack(sought, row) < 0)
            result = -WEIR_E_NOT_FOUND;
    for (unsigned i = 0; i < store->folders_count && !is_full(sought); i++)
        ask_loose(sought, &store->folders[i]);
    return result;
}

size_t weir__git_store_begin_with(void *arg, const char *digits, size_t count,
                                  struct weir__git_id *ids, size_t max)
{
    struct weir__git_store *store = arg;
    struct sought sought = {
        .store = store, .digits = digits, .count = count, .ids = ids, .max = max};
    if (count > 2 * store->id_size)
        return 0;
    for (size_t i = 0; i < count; i++) {
        int digit = weir__git_hex_digit(digits[i]);
        if (digit < 0)
            return 0;
        sought.least.bytes[i / 2] |= (uint8_t)(i % 2 ? digit : digit << 4);
    }
    int result = seek(&sought);
    /* Once more, if packs came or went meanwhile; what was found stays. */
    if (!is_full(&sought) && (result < 0 || weir__git_store_is_stale(store)) &&
        weir__git_store_relist(store) == 0) {
        result = seek(&sought);
        (void)result;
    }
    return sought.found;
}
