/* spill.c - the log of paths, and the table beside it.
 *
 *     log     head | length, check, path | length, check, path | ...
 *
 * The order of writes makes failures harmless: first the path, then the slot that points to it; and
 * the end of the log moves only over what slots point to. A record carries a check over its path.
 */
#include "spill.h"

#include <string.h>

#include "alloc.h"
#include "require.h"
#include "spill_table.h"
#include "sys.h"

#include "banned.h"

#define LOG_BEGIN  64u  /* so that no path is at an offset that means something else */
#define READ_AHEAD 512u /* most paths come with their record in one read */

_Static_assert(WEIR__SPILL_BUFFER_MIN >= 3 * WEIR__SPILL_PAGE_BYTES,
               "the table must be able to grow");

struct record {
    uint32_t length;
    uint32_t check;
};

struct weir__spill {
    struct weir__spill_table table;
    int log_fd;
    uint64_t log_end;
    char *buffer; /* for the log; the table uses it to grow, when the log does not */
    size_t buffer_bytes;
};

#define PATH_CHECK_BEGIN UINT32_C(2166136261)

static uint32_t path_check(uint32_t sum, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * UINT32_C(16777619);
    return sum;
}

/* --- life cycle --- */

static void close_files(struct weir__spill *spill)
{
    weir__spill_table_close(&spill->table);
    weir__sys_close_at(&spill->log_fd);
    spill->log_end = LOG_BEGIN;
}

static int open_files(struct weir__spill *spill)
{
    if (spill->log_fd >= 0)
        return 0;
    int fd = weir__spill_file_open(spill->table.dir);
    if (fd < 0)
        return fd;
    int error = weir__spill_table_open(&spill->table);
    if (error) {
        weir__sys_close(fd);
        return error;
    }
    spill->log_fd = fd;
    return 0;
}

int weir__spill_new(struct weir__spill **ret_spill, const char *dir, size_t buffer_bytes)
{
    struct weir__spill *spill = weir__base_alloc(1, sizeof(*spill));
    if (!spill)
        return -WEIR_E_NO_MEMORY;
    spill->log_fd = -1;
    spill->log_end = LOG_BEGIN;
    spill->buffer_bytes =
        buffer_bytes < WEIR__SPILL_BUFFER_MIN ? WEIR__SPILL_BUFFER_MIN : buffer_bytes;
    spill->buffer = weir__base_alloc(spill->buffer_bytes, 1);
    weir__spill_table_init(&spill->table, dir, spill->buffer, spill->buffer_bytes);
    if (!spill->buffer) {
        weir__spill_free(spill);
        return -WEIR_E_NO_MEMORY;
    }
    *ret_spill = spill;
    return 0;
}

void weir__spill_free(struct weir__spill *spill)
{
    if (!spill)
        return;
    close_files(spill);
    weir__base_free(spill->buffer);
    weir__base_free(spill);
}

/* --- the log --- */

static int flush_log(struct weir__spill *spill, size_t *length)
{
    int error = weir__spill_file_write(spill->log_fd, spill->buffer, *length, spill->log_end);
    if (error)
        return error;
    spill->log_end += *length;
    *length = 0;
    return 0;
}

/* To the buffer if it fits, else to the file. length: what is in the buffer. */
static int log_bytes(struct weir__spill *spill, size_t *length, const void *bytes, size_t count)
{
    if (count > spill->buffer_bytes - *length) {
        int error = flush_log(spill, length);
        if (error)
            return error;
    }
    if (count > spill->buffer_bytes) {
        int error = weir__spill_file_write(spill->log_fd, bytes, count, spill->log_end);
        if (!error)
            spill->log_end += count;
        return error;
    }
    if (count > 0)
        memcpy(spill->buffer + *length, bytes, count);
    *length += count;
    return 0;
}

static int log_paths(struct weir__spill *spill, const struct weir__spill_item *items, size_t count)
{
    uint64_t begin = spill->log_end;
    size_t length = 0;
    int error = 0;
    for (size_t i = 0; !error && i < count; i++) {
        const struct weir__spill_item *item = &items[i];
        struct record record = {(uint32_t)item->path_length, 0};
        record.check = path_check(PATH_CHECK_BEGIN, item->path, item->path_length);
        error = log_bytes(spill, &length, &record, sizeof(record));
        if (!error)
            error = log_bytes(spill, &length, item->path, item->path_length);
    }
    if (!error)
        error = flush_log(spill, &length);
    if (error)
        spill->log_end = begin;
    return error;
}

static int read_path(struct weir__spill *spill, uint64_t at, struct weir__buffer *path)
{
    struct record record;
    if (at > spill->log_end - sizeof(record))
        return weir__spill_file_damaged();
    uint64_t left = spill->log_end - at;
    size_t got = left < READ_AHEAD ? (size_t)left : READ_AHEAD;
    int error = weir__spill_file_read(spill->log_fd, spill->buffer, got, at);
    if (error)
        return error;
    memcpy(&record, spill->buffer, sizeof(record));
    if (record.length > left - sizeof(record))
        return weir__spill_file_damaged();
    weir__buffer_truncate(path, 0);
    error = weir__buffer_reserve(path, record.length);
    uint32_t sum = PATH_CHECK_BEGIN;
    size_t skip = sizeof(record), wanted = record.length;
    while (!error) {
        size_t part = got - skip < wanted ? got - skip : wanted;
        sum = path_check(sum, spill->buffer + skip, part);
        error = weir__buffer_append(path, spill->buffer + skip, part);
        wanted -= part;
        if (error || wanted == 0)
            break;
        at += got;
        skip = 0;
        got = wanted < spill->buffer_bytes ? wanted : spill->buffer_bytes;
        error = weir__spill_file_read(spill->log_fd, spill->buffer, got, at);
    }
    return error || sum == record.check ? error : weir__spill_file_damaged();
}

/* --- items --- */

static int put_slots(struct weir__spill *spill, const struct weir__spill_item *items, size_t count,
                     uint64_t at, size_t *ret_put, struct weir_cancel *cancel)
{
    for (size_t i = 0; i < count; i++) {
        const struct weir__spill_item *item = &items[i];
        WEIR__REQUIRE(item->left > 0, "spill", "", "an item that nobody will ask for");
        struct weir__spill_slot slot = {
            item->key, item->device, item->inode, item->root, item->left, at, 0};
        int error = weir__spill_table_insert(&spill->table, slot, cancel);
        if (error) {
            spill->log_end = at;
            return error;
        }
        at += sizeof(struct record) + item->path_length;
        ++*ret_put;
    }
    return 0;
}

int weir__spill_put(struct weir__spill *spill, const struct weir__spill_item *items, size_t count,
                    size_t *ret_put, struct weir_cancel *cancel)
{
    *ret_put = 0;
    int error = open_files(spill);
    if (error)
        return error;
    uint64_t at = spill->log_end;
    error = log_paths(spill, items, count);
    if (!error)
        error = put_slots(spill, items, count, at, ret_put, cancel);
    if (weir__spill_count(spill) == 0)
        close_files(spill);
    return error;
}

/* After the last one the files go, so that a long run does not keep what it no longer needs. */
static int set_left(struct weir__spill *spill, struct weir__spill_spot spot, uint64_t left)
{
    int error = weir__spill_table_set_left(&spill->table, spot, left);
    if (!error && weir__spill_count(spill) == 0)
        close_files(spill);
    return error;
}

int weir__spill_take(struct weir__spill *spill, struct weir__link_key key,
                     struct weir__link_place *place)
{
    struct weir__spill_spot spot;
    int found = spill->log_fd < 0 ? 0 : weir__spill_table_find(&spill->table, key, &spot);
    if (found <= 0)
        return found;
    struct weir__spill_slot slot = spill->table.page[spot.slot];
    int error = read_path(spill, slot.log_at, &place->path);
    if (error)
        return error;
    place->device = slot.device;
    place->inode = slot.inode;
    place->root = slot.root;
    /* A count that is too high only keeps it longer. */
    (void)!set_left(spill, spot, slot.left - 1);
    return 1;
}

int weir__spill_set_left(struct weir__spill *spill, struct weir__link_key key, uint64_t left)
{
    struct weir__spill_spot spot;
    int found = spill->log_fd < 0 ? 0 : weir__spill_table_find(&spill->table, key, &spot);
    if (found <= 0)
        return found ? found : -WEIR_E_NOT_FOUND;
    return set_left(spill, spot, left);
}

uint64_t weir__spill_count(const struct weir__spill *spill)
{
    return spill->table.now.live;
}

uint64_t weir__spill_bytes(const struct weir__spill *spill)
{
    return spill->log_fd < 0 ? 0 : weir__spill_table_bytes(&spill->table) + spill->log_end;
}

uint64_t weir__spill_memory(const struct weir__spill *spill)
{
    return sizeof(*spill) + spill->buffer_bytes;
}
