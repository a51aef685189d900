/* spill_table.c - pages of slots, addressed by the upper bits of a hash.
 *
 *     page 0 | page 1 | ... | page 2^n - 1       a page is 32 slots of 64 bytes
 *
 * A key lives in its home page, which the upper n bits of its hash name, or, where that is full, in
 * the next page that is not. A search ends at the first page with an empty slot; so a slot that is
 * given up in a page without one becomes a tombstone, and a page never has both.
 *
 * Since the upper bits address, page i of a table becomes the pages 2i and 2i+1 of the next one,
 * and doubling reads and writes from the beginning to the end. The few keys that do not live at
 * home are put in afterwards, by a second pass. The new table is a new file: until it is whole, the
 * old one is untouched.
 *
 * A slot carries a check over its words. One whose writing was cut off either still looks empty, or
 * cannot be matched, or is matched and found bad.
 *
 * A page is what one call reads. For a million keys, pages of 16 slots cost an eighth more time,
 * since more keys do not live at home, and pages of 64 a fifth, since more is copied.
 */
#include "spill_table.h"

#include <string.h>

#include <weir/cancel.h>
#include <weir/clock.h>

#include "sys.h"

#include "banned.h"

#define SLOTS          WEIR__SPILL_SLOTS
#define PAGE_BYTES     WEIR__SPILL_PAGE_BYTES
#define PAGES_LOG2_NEW 7u    /* 256 KiB, and sparse */
#define REFUSALS_MAX   1024u /* then a full table tries to grow again */

_Static_assert(sizeof(struct weir__spill_slot) * SLOTS == PAGE_BYTES, "a page is full of slots");

/* Values of log_at that are no offsets. */
enum { EMPTY = 0, TOMBSTONE = 1 };

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static uint64_t check_of(const struct weir__spill_slot *slot)
{
    uint64_t sum = mix(slot->key.device + 1);
    sum = mix(sum ^ slot->key.inode);
    sum = mix(sum ^ slot->device);
    sum = mix(sum ^ slot->inode);
    sum = mix(sum ^ slot->root);
    sum = mix(sum ^ slot->left);
    return mix(sum ^ slot->log_at);
}

static bool is_live(const struct weir__spill_slot *slot)
{
    return slot->log_at > TOMBSTONE;
}

static uint64_t pages_of(const struct weir__spill_pages *pages)
{
    return UINT64_C(1) << pages->pages_log2;
}

static uint64_t slots_of(const struct weir__spill_pages *pages)
{
    return pages_of(pages) * SLOTS;
}

static uint64_t home_of(const struct weir__spill_table *table,
                        const struct weir__spill_pages *pages, struct weir__link_key key)
{
    return mix(mix(key.inode ^ table->seed) ^ key.device) >> (64 - pages->pages_log2);
}

/* --- life cycle --- */

void weir__spill_table_init(struct weir__spill_table *table, const char *dir, char *buffer,
                            size_t buffer_bytes)
{
    *table = (struct weir__spill_table){
        .now.fd = -1, .dir = dir, .buffer = buffer, .buffer_bytes = buffer_bytes};
    table->seed = mix(weir_now_ns() ^ (uint64_t)(uintptr_t)table);
}

static int pages_open(const struct weir__spill_table *table, struct weir__spill_pages *ret_pages,
                      unsigned pages_log2)
{
    struct weir__spill_pages pages = {.pages_log2 = pages_log2};
    if (pages_log2 > WEIR__SPILL_PAGES_LOG2_MAX) {
        errno = ENOSPC;
        return -WEIR_E_NO_SPACE;
    }
    pages.grow_at = slots_of(&pages) / 4 * 3;
    pages.fd = weir__spill_file_open(table->dir);
    if (pages.fd < 0)
        return pages.fd;
    if (weir__sys_ftruncate(pages.fd, (off_t)(pages_of(&pages) * PAGE_BYTES)) != 0) {
        int saved = errno;
        weir__sys_close(pages.fd);
        int error = weir_error_from_errno(saved);
        errno = saved;
        return error;
    }
    *ret_pages = pages;
    return 0;
}

int weir__spill_table_open(struct weir__spill_table *table)
{
    return pages_open(table, &table->now, PAGES_LOG2_NEW);
}

void weir__spill_table_close(struct weir__spill_table *table)
{
    weir__sys_close(table->now.fd);
    table->now = (struct weir__spill_pages){.fd = -1};
}

uint64_t weir__spill_table_bytes(const struct weir__spill_table *table)
{
    return table->now.fd < 0 ? 0 : pages_of(&table->now) * PAGE_BYTES;
}

/* --- slots --- */

static int read_page(struct weir__spill_table *table, const struct weir__spill_pages *pages,
                     uint64_t page)
{
    return weir__spill_file_read(pages->fd, table->page, PAGE_BYTES, page * PAGE_BYTES);
}

static int write_slot(const struct weir__spill_pages *pages, struct weir__spill_spot spot,
                      const struct weir__spill_slot *slot)
{
    return weir__spill_file_write(pages->fd, slot, sizeof(*slot),
                                  spot.page * PAGE_BYTES + spot.slot * sizeof(*slot));
}

/* In the page that was read: its slot, or SLOTS; and whether there is an empty one. */
static unsigned find_in_page(const struct weir__spill_table *table, struct weir__link_key key,
                             bool *ret_has_empty)
{
    *ret_has_empty = false;
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct weir__spill_slot *slot = &table->page[s];
        if (slot->log_at == EMPTY)
            *ret_has_empty = true;
        else if (slot->key.inode == key.inode && slot->key.device == key.device && is_live(slot))
            return s;
    }
    return SLOTS;
}

int weir__spill_table_find(struct weir__spill_table *table, struct weir__link_key key,
                           struct weir__spill_spot *ret_spot)
{
    uint64_t page = home_of(table, &table->now, key);
    for (uint64_t i = 0; i < pages_of(&table->now); i++) {
        int error = read_page(table, &table->now, page);
        if (error)
            return error;
        bool is_last;
        unsigned s = find_in_page(table, key, &is_last);
        if (s < SLOTS) {
            if (table->page[s].check != check_of(&table->page[s]))
                return weir__spill_file_damaged();
            *ret_spot = (struct weir__spill_spot){page, s};
            return 1;
        }
        if (is_last)
            return 0;
        page = (page + 1) & (pages_of(&table->now) - 1);
    }
    return 0;
}

/* Into the first free slot from its home on. */
static int insert(struct weir__spill_table *table, struct weir__spill_pages *pages,
                  const struct weir__spill_slot *slot)
{
    uint64_t page = home_of(table, pages, slot->key);
    for (uint64_t i = 0; i < pages_of(pages); i++) {
        int error = read_page(table, pages, page);
        if (error)
            return error;
        for (unsigned s = 0; s < SLOTS; s++) {
            if (is_live(&table->page[s]))
                continue;
            error = write_slot(pages, (struct weir__spill_spot){page, s}, slot);
            if (error)
                return error;
            pages->live++;
            pages->tombstones -= table->page[s].log_at == TOMBSTONE;
            return 0;
        }
        page = (page + 1) & (pages_of(pages) - 1);
    }
    errno = ENOSPC;
    return -WEIR_E_NO_SPACE;
}

int weir__spill_table_set_left(struct weir__spill_table *table, struct weir__spill_spot spot,
                               uint64_t left)
{
    struct weir__spill_slot slot = table->page[spot.slot];
    if (left > 0) {
        slot.left = left;
        slot.check = check_of(&slot);
        return write_slot(&table->now, spot, &slot);
    }
    slot = (struct weir__spill_slot){.log_at = TOMBSTONE};
    for (unsigned s = 0; s < SLOTS; s++)
        if (table->page[s].log_at == EMPTY)
            slot.log_at = EMPTY;
    int error = write_slot(&table->now, spot, &slot);
    if (error)
        return error;
    table->now.live--;
    table->now.tombstones += slot.log_at == TOMBSTONE;
    return 0;
}

/* --- growing --- */

static int ended_by(struct weir_cancel *cancel)
{
    return cancel && weir_cancel_is_fired(cancel) ? -WEIR_E_CANCELED : 0;
}

/* The slots that are at home in this page, to the one or two pages that follow from it. They fit,
 * since all of them come from one page. Returns how many live ones are not at home, or an error. */
static int64_t split_page(const struct weir__spill_table *table, struct weir__spill_pages *to,
                          uint64_t from_page, const struct weir__spill_slot *from,
                          struct weir__spill_slot *pages)
{
    unsigned more = to->pages_log2 - table->now.pages_log2;
    unsigned filled[2] = {0, 0};
    int64_t strangers = 0;
    memset(pages, 0, (size_t)PAGE_BYTES << more);
    for (unsigned s = 0; s < SLOTS; s++) {
        if (!is_live(&from[s]))
            continue;
        if (from[s].check != check_of(&from[s]))
            return weir__spill_file_damaged();
        uint64_t page = home_of(table, to, from[s].key);
        if (page >> more != from_page) {
            strangers++;
            continue;
        }
        unsigned half = (unsigned)page & more;
        pages[half * SLOTS + filled[half]++] = from[s];
        to->live++;
    }
    return strangers;
}

/* First pass: a third of the buffer is read, and the rest holds what comes of it. */
static int copy_pages(struct weir__spill_table *table, struct weir__spill_pages *to,
                      uint64_t *strangers, struct weir_cancel *cancel)
{
    unsigned more = to->pages_log2 - table->now.pages_log2;
    size_t step = table->buffer_bytes / PAGE_BYTES / 3;
    struct weir__spill_slot *from = (void *)table->buffer;
    struct weir__spill_slot *pages = from + step * SLOTS;
    uint64_t left = pages_of(&table->now);
    for (uint64_t page = 0; left > 0; page += step, left -= step) {
        step = step < left ? step : (size_t)left;
        int error = ended_by(cancel);
        if (!error)
            error =
                weir__spill_file_read(table->now.fd, from, step * PAGE_BYTES, page * PAGE_BYTES);
        for (size_t i = 0; !error && i < step; i++) {
            int64_t found =
                split_page(table, to, page + i, from + i * SLOTS, pages + (i * SLOTS << more));
            if (found < 0)
                error = (int)found;
            else
                *strangers += (uint64_t)found;
        }
        if (!error)
            error = weir__spill_file_write(to->fd, pages, step * PAGE_BYTES << more,
                                           page * PAGE_BYTES << more);
        if (error)
            return error;
    }
    return 0;
}

/* Second pass: those that did not live at home, one by one. */
static int copy_strangers(struct weir__spill_table *table, struct weir__spill_pages *to,
                          struct weir_cancel *cancel)
{
    size_t step = table->buffer_bytes / PAGE_BYTES;
    struct weir__spill_slot *from = (void *)table->buffer;
    uint64_t left = pages_of(&table->now);
    for (uint64_t page = 0; left > 0; page += step, left -= step) {
        step = step < left ? step : (size_t)left;
        int error = ended_by(cancel);
        if (!error)
            error =
                weir__spill_file_read(table->now.fd, from, step * PAGE_BYTES, page * PAGE_BYTES);
        for (size_t i = 0; !error && i < step * SLOTS; i++)
            if (is_live(&from[i]) && home_of(table, &table->now, from[i].key) != page + i / SLOTS)
                error = insert(table, to, &from[i]);
        if (error)
            return error;
    }
    return 0;
}

/* Doubles the table; if it is full of tombstones rather than keys, the same size does. */
static int grow(struct weir__spill_table *table, struct weir_cancel *cancel)
{
    bool is_crowded = table->now.live > slots_of(&table->now) / 2;
    struct weir__spill_pages to = {.fd = -1};
    int error = pages_open(table, &to, table->now.pages_log2 + is_crowded);
    if (error)
        return error;
    uint64_t strangers = 0;
    error = copy_pages(table, &to, &strangers, cancel);
    if (!error && strangers > 0)
        error = copy_strangers(table, &to, cancel);
    if (error) {
        weir__sys_close(to.fd);
        return error;
    }
    weir__sys_close(table->now.fd);
    table->now = to;
    return 0;
}

/* Room for one more. A table that cannot grow is filled further, and tries again now and then: each
 * time may cost as much as a table can be long. */
static int make_room(struct weir__spill_table *table, struct weir_cancel *cancel)
{
    struct weir__spill_pages *now = &table->now;
    uint64_t used = now->live + now->tombstones + 1;
    bool is_full = used > slots_of(now) / 16 * 15;
    if (used <= now->grow_at && !is_full)
        return 0;
    if (is_full && now->refused > 0 && now->refused < REFUSALS_MAX) {
        now->refused++;
        errno = now->grow_errno;
        return now->grow_error;
    }
    int error = grow(table, cancel);
    if (!error)
        return 0;
    now->grow_at = used + slots_of(now) / 64;
    now->grow_error = error;
    now->grow_errno = errno;
    now->refused = is_full && error != -WEIR_E_CANCELED;
    return is_full ? error : 0;
}

int weir__spill_table_insert(struct weir__spill_table *table, struct weir__spill_slot slot,
                             struct weir_cancel *cancel)
{
    int error = make_room(table, cancel);
    if (error)
        return error;
    slot.check = check_of(&slot);
    return insert(table, &table->now, &slot);
}
