/* fuzz_segment.c - any bytes as the file of a segment, scanned and read by its footer.
 *
 * The first byte says whether the file begins as one does, and whether what a scan finds is sealed
 * at last. Nobody guesses a keyed check: where a record begins, the lowest bits of its check ask
 * for a right check, and for an address that is that of its bytes.
 *
 * What must hold: what is found lies inside of the file, in order, without overlaps, and is what
 * was asked for: a head that is right, and bytes that are those of the address. A footer that is
 * written over it tells the same.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "require.h"
#include "segment_load.h"

#include "banned.h"

#define ID               3u
#define BEGIN_SIZE       (WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE)

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "segment", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct weir__identity identity = {.id = "fuzz",
                                               .key = {"a key that is known here, by al"}};

static uint64_t get(const unsigned char *at, int count)
{
    uint64_t value = 0;
    for (int i = count; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* The record at this place gets what it asks for. */
static void mend(unsigned char *bytes, size_t length, size_t at)
{
    unsigned char *head = bytes + at, fresh[WEIR__RECORD_HEAD];
    unsigned wishes = head[56];
    uint64_t back = get(head + 6, 2);
    struct weir__record record = {.type = (enum weir__record_type)head[5],
                                  .sequence = get(head + 8, 8),
                                  .size = (uint32_t)get(head + 16, 4),
                                  .time_s = (uint32_t)get(head + 20, 4)};
    if (back > 0 && (back - 1) * WEIR__RECORD_ALIGN <= at)
        record.synced = (uint32_t)(at - (back - 1) * WEIR__RECORD_ALIGN);
    if (wishes & 2 && record.size >= WEIR__RECORD_HEAD && record.size <= length - at) {
        weir__address_of(head + WEIR__RECORD_HEAD, record.size - WEIR__RECORD_HEAD,
                         &record.address);
        memcpy(head + 24, record.address.bytes, WEIR__ADDRESS_SIZE);
    }
    memcpy(record.address.bytes, head + 24, WEIR__ADDRESS_SIZE);
    weir__record_encode(&record, &identity.key, (struct weir__place){ID, (uint32_t)at}, fresh);
    if (wishes & 1)
        memcpy(head + 56, fresh + 56, 8);
}

static void check_content(const struct weir__segment_content *content, const unsigned char *bytes,
                          size_t length)
{
    uint64_t behind = BEGIN_SIZE, sequence = 0;
    /* Padding that was cut off is nothing that is missed. */
    HOLDS(content->file_size == length && content->end <= weir__record_span((uint32_t)length));
    HOLDS(content->count <= WEIR__SEGMENT_COUNT);
    HOLDS(content->torn_bytes + content->bad_bytes <= length);
    for (size_t i = 0; i < content->count; i++) {
        const struct weir__entry *entry = &content->records[i];
        struct weir__record record;
        struct weir__address address;
        HOLDS(entry->place.segment == ID && entry->place.offset >= behind);
        behind = entry->place.offset + (uint64_t)weir__record_span(entry->size);
        HOLDS(entry->place.offset + (uint64_t)entry->size <= length);
        HOLDS(weir__record_decode(&record, bytes + entry->place.offset, &identity.key,
                                  entry->place) == 0);
        HOLDS(record.type == entry->type && record.sequence == entry->sequence &&
              record.type <= WEIR__RECORD_BAD);
        weir__address_of(bytes + entry->place.offset + WEIR__RECORD_HEAD, weir__entry_length(entry),
                         &address);
        HOLDS(record.type != WEIR__RECORD_CHUNK ||
              weir__address_is_equal(&address, &entry->address));
        if (entry->sequence > sequence)
            sequence = entry->sequence;
    }
    HOLDS(content->sequence_max >= sequence);
    HOLDS(content->count == 0 || content->end == behind);
}

static void check_sealed(const struct weir__segment_content *scan, int fd)
{
    struct weir__disk_file file = {.fd = fd};
    struct weir__segment_content footer;
    uint32_t end = weir__record_span(scan->end);
    if (end < BEGIN_SIZE)
        return;
    HOLDS(ftruncate(fd, end) == 0);
    HOLDS(weir__segment_seal(&file, ID, &identity.key, scan->records, scan->count, end, 0) == 0);
    HOLDS(weir__segment_load(&footer, fd, ID, &identity.key) == 0);
    HOLDS(footer.is_sealed && footer.count == scan->count && footer.end == end);
    for (size_t i = 0; i < scan->count; i++)
        HOLDS(footer.records[i].place.offset == scan->records[i].place.offset &&
              footer.records[i].sequence == scan->records[i].sequence);
    weir__segment_forget(&footer);
}

static void note_bad(void *arg, const struct weir__entry *entry)
{
    HOLDS(entry->place.segment == ID);
    ++*(uint64_t *)arg;
}

/* What has lasted once counts by its head alone, so that nothing of a scan is missing. */
static void check_damaged(const struct weir__segment_content *loaded,
                          const struct weir__segment_content *scan, size_t length)
{
    if (loaded->is_sealed)
        return;
    HOLDS(loaded->count >= scan->count && loaded->synced == scan->synced);
    HOLDS(loaded->left_records <= loaded->bad_records && loaded->lost_bytes <= length);
    HOLDS(loaded->synced <= length && (loaded->synced > 0 || loaded->count == scan->count));
    HOLDS(loaded->synced > 0 || loaded->lost_bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct weir__segment_content scan, loaded;
    struct weir__identity found;
    uint64_t bad = 0;
    uint32_t begin = 0;
    if (size < 1)
        return 0;
    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    HOLDS(fd >= 0 && ftruncate(fd, 0) == 0);
    struct weir__disk_file file = {.fd = fd};
    if (data[0] & 1)
        HOLDS(weir__segment_begin(&file, ID, &identity, 1, &begin) == 0);
    size_t length = begin + size - 1;
    unsigned char *bytes = malloc(length + 1);
    HOLDS(pread(fd, bytes, begin, 0) == (ssize_t)begin);
    if (size > 1)
        memcpy(bytes + begin, data + 1, size - 1);
    for (size_t at = begin; at + WEIR__RECORD_HEAD <= length; at += WEIR__RECORD_ALIGN)
        if (weir__record_is_begun(bytes + at))
            mend(bytes, length, at);
    HOLDS(pwrite(fd, bytes, length, 0) == (ssize_t)length);
    int is_loaded = weir__segment_load(&loaded, fd, ID, &identity.key) == 0;
    int is_scanned = weir__segment_scan(&scan, fd, ID, &identity.key, note_bad, &bad) == 0;
    (void)!weir__segment_identity(&found, fd, ID);
    if (is_scanned) {
        check_content(&scan, bytes, length);
        HOLDS(is_loaded);
        check_damaged(&loaded, &scan, length);
        if (data[0] & 2)
            check_sealed(&scan, fd);
        weir__segment_forget(&scan);
    }
    if (is_loaded)
        weir__segment_forget(&loaded);
    free(bytes);
    return 0;
}
