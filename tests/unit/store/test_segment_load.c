/* test_segment_load.c - segments read by their footers and by scans, whole, cut and damaged. */
#include <sys/mman.h>

#include "segment_load.h"

#include "store_rig.h"

#define ID         9u
#define CHUNKS     40u
#define ROOM       (8u << 20)
#define BEGIN_SIZE (WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE)

static struct weir__identity identity;
static struct weir__disk_file file;
static struct weir__entry records[CHUNKS];
static uint32_t end_of_records;
static unsigned char bytes[ROOM];

static void begin(uint32_t id)
{
    memset(&identity, 0x5a, sizeof(identity));
    file.fd = memfd_create("segment", MFD_CLOEXEC);
    CHECK(file.fd >= 0);
    CHECK_EQ(weir__segment_begin(&file, id, &identity, 1, &end_of_records), 0);
    CHECK_EQ(end_of_records, BEGIN_SIZE);
}

static void add(uint32_t id, struct weir__entry *entry, enum weir__record_type type,
                uint64_t sequence, const unsigned char *content, uint32_t length)
{
    unsigned char head[WEIR__RECORD_HEAD];
    static const unsigned char zeros[16];
    struct weir__record record = {.type = type, .sequence = sequence, .size = 64 + length};
    weir__address_of(content, length, &record.address);
    weir__record_encode(&record, &identity.key, (struct weir__place){id, end_of_records}, head);
    struct iovec parts[] = {
        {head, 64},
        {(void *)(uintptr_t)content, length},
        {(void *)(uintptr_t)zeros, weir__record_span(record.size) - record.size}};
    CHECK_EQ(weir__disk_write(&file, parts, 3, end_of_records), 0);
    *entry =
        (struct weir__entry){record.address, sequence, {id, end_of_records}, record.size, 0, type};
    end_of_records += weir__record_span(record.size);
}

static uint32_t length_of(size_t i)
{
    return (uint32_t)(i * 977 % 5000);
}

/* A segment with many chunks. */
static void make(void)
{
    begin(ID);
    for (size_t i = 0; i < CHUNKS; i++) {
        rig_fill(rig_room, length_of(i), i);
        add(ID, &records[i], i % 7 == 3 ? WEIR__RECORD_DELETED : WEIR__RECORD_CHUNK, i + 10,
            rig_room, i % 7 == 3 ? 0 : length_of(i));
    }
}

static void seal(void)
{
    CHECK_EQ(weir__segment_seal(&file, ID, &identity.key, records, CHUNKS, end_of_records, 0), 0);
}

static void flip(uint64_t at)
{
    unsigned char byte;
    CHECK(pread(file.fd, &byte, 1, (off_t)at) == 1);
    byte ^= 0x10;
    CHECK(pwrite(file.fd, &byte, 1, (off_t)at) == 1);
}

static uint64_t file_size(void)
{
    struct stat st;
    CHECK(fstat(file.fd, &st) == 0);
    return (uint64_t)st.st_size;
}

/* The records of the content are all that were written, but those of the set. */
static void check_all_but(const struct weir__segment_content *content, uint64_t missing)
{
    size_t at = 0;
    for (size_t i = 0; i < CHUNKS; i++) {
        if (missing >> i & 1)
            continue;
        CHECK(at < content->count);
        const struct weir__entry *got = &content->records[at++];
        CHECK(got->place.offset == records[i].place.offset && got->place.segment == ID);
        CHECK(got->sequence == records[i].sequence && got->type == records[i].type &&
              got->size == records[i].size);
        CHECK(weir__address_is_equal(&got->address, &records[i].address));
    }
    CHECK_EQ(content->count, at);
}

static struct weir__segment_content load(void)
{
    struct weir__segment_content content;
    CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), 0);
    return content;
}

TEST(footer)
{
    make();
    seal();
    struct weir__segment_content content = load();
    CHECK(content.is_sealed);
    CHECK_EQ(content.end, end_of_records);
    CHECK_EQ(content.file_size, file_size());
    CHECK_EQ(content.sequence_max, CHUNKS + 9);
    CHECK_EQ(content.bad_records + content.torn_bytes, 0);
    check_all_but(&content, 0);
    weir__segment_forget(&content);
    /* A scan says the same, but for the footer. */
    CHECK_EQ(weir__segment_scan(&content, file.fd, ID, &identity.key, NULL, NULL), 0);
    CHECK(!content.is_sealed && content.end == end_of_records);
    CHECK_EQ(content.bad_records + content.torn_bytes, 0);
    check_all_but(&content, 0);
    weir__segment_forget(&content);
    close(file.fd);
}

TEST(sealed_without_a_record)
{
    begin(ID);
    CHECK_EQ(weir__segment_seal(&file, ID, &identity.key, NULL, 0, end_of_records, 0), 0);
    struct weir__segment_content content = load();
    CHECK(content.is_sealed && content.count == 0 && content.end == BEGIN_SIZE);
    weir__segment_forget(&content);
    close(file.fd);
}

/* As large as options allow, and its footer behind that. */
TEST(footer_of_the_largest)
{
    begin(ID);
    rig_fill(rig_room, 100, 1);
    add(ID, &records[0], WEIR__RECORD_CHUNK, 5, rig_room, 100);
    uint32_t end = WEIR__STORE_SEGMENT_MOST;
    CHECK_EQ(weir__segment_seal(&file, ID, &identity.key, records, 1, end, 0), 0);
    struct weir__segment_content content = load();
    CHECK(content.is_sealed && content.count == 1 && content.end == end);
    weir__segment_forget(&content);
    close(file.fd);
}

/* Without a footer that holds, the records themselves tell. */
TEST(damaged_footers)
{
    make();
    seal();
    uint64_t size = file_size();
    const uint64_t places[] = {end_of_records, end_of_records + 70, size - 70, size - 10,
                               end_of_records + 8};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        flip(places[i]);
        struct weir__segment_content content = load();
        CHECK(!content.is_sealed);
        CHECK_EQ(content.end, end_of_records);
        check_all_but(&content, 0);
        weir__segment_forget(&content);
        flip(places[i]);
    }
    struct weir__segment_content content = load();
    CHECK(content.is_sealed);
    weir__segment_forget(&content);
    close(file.fd);
}

/* Cut at any place: what is whole before it counts, and the rest is torn. */
TEST(cut_anywhere)
{
    make();
    for (uint64_t cut = end_of_records; cut > 0; cut = cut > 333 ? cut - 333 : cut - 1) {
        CHECK(ftruncate(file.fd, (off_t)cut) == 0);
        struct weir__segment_content content;
        int error = weir__segment_load(&content, file.fd, ID, &identity.key);
        if (cut < BEGIN_SIZE) {
            CHECK_EQ(error, -WEIR_E_CORRUPT);
            continue;
        }
        CHECK_EQ(error, 0);
        uint64_t missing = 0;
        uint32_t end = BEGIN_SIZE;
        for (size_t i = 0; i < CHUNKS; i++) {
            if (records[i].place.offset + records[i].size > cut)
                missing |= UINT64_C(1) << i;
            else
                end = records[i].place.offset + weir__record_span(records[i].size);
        }
        check_all_but(&content, missing);
        CHECK_EQ(content.end, end);
        CHECK_EQ(content.bad_records, 0);
        CHECK_EQ(content.torn_bytes, cut > end ? cut - end : 0);
        weir__segment_forget(&content);
    }
    close(file.fd);
}

static uint64_t told;

static void note_bad(void *arg, const struct weir__entry *entry)
{
    (void)arg;
    for (size_t i = 0; i < CHUNKS; i++)
        if (records[i].place.offset == entry->place.offset)
            told |= UINT64_C(1) << i;
}

/* One damaged record costs that record, wherever in it the damage is. */
TEST(finds_its_way_again)
{
    make();
    for (size_t i = 0; i + 1 < CHUNKS; i++) {
        struct weir__segment_content content;
        if (records[i].size < 100)
            continue;
        for (int part = 0; part < 2; part++) {
            uint64_t at = records[i].place.offset + (part ? records[i].size - 1 : 20);
            flip(at);
            told = 0;
            CHECK_EQ(weir__segment_scan(&content, file.fd, ID, &identity.key, note_bad, NULL), 0);
            check_all_but(&content, UINT64_C(1) << i);
            CHECK_EQ(content.bad_records, 1);
            CHECK_EQ(content.bad_bytes, weir__record_span(records[i].size));
            CHECK_EQ(content.torn_bytes, 0);
            CHECK_EQ(told, part ? UINT64_C(1) << i : 0);
            weir__segment_forget(&content);
            flip(at);
        }
    }
    close(file.fd);
}

/* A stretch of lost blocks: all but what lies in it. */
TEST(lost_blocks)
{
    static const unsigned char zeros[4096];
    make();
    for (uint64_t at = 4096; at + 4096 < end_of_records; at += 4096) {
        unsigned char saved[4096];
        struct weir__segment_content content;
        uint64_t missing = 0;
        CHECK(pread(file.fd, saved, 4096, (off_t)at) == 4096);
        CHECK(pwrite(file.fd, zeros, 4096, (off_t)at) == 4096);
        for (size_t i = 0; i < CHUNKS; i++)
            if (records[i].place.offset < at + 4096 &&
                records[i].place.offset + records[i].size > at)
                missing |= UINT64_C(1) << i;
        CHECK_EQ(weir__segment_scan(&content, file.fd, ID, &identity.key, NULL, NULL), 0);
        check_all_but(&content, missing);
        weir__segment_forget(&content);
        CHECK(pwrite(file.fd, saved, 4096, (off_t)at) == 4096);
    }
    close(file.fd);
}

/* Files grow zeros when the power fails; those are no damage, and nothing to keep. */
TEST(zeros_behind)
{
    make();
    CHECK(ftruncate(file.fd, end_of_records + 100000) == 0);
    struct weir__segment_content content = load();
    check_all_but(&content, 0);
    CHECK_EQ(content.torn_bytes, 0);
    CHECK_EQ(content.end, end_of_records);
    weir__segment_forget(&content);
    close(file.fd);
}

TEST(no_segment_at_all)
{
    struct weir__segment_content content;
    struct weir__identity got;
    file.fd = memfd_create("none", MFD_CLOEXEC);
    CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), 0);
    CHECK(content.end == 0 && content.count == 0);
    weir__segment_forget(&content);
    CHECK(ftruncate(file.fd, 1000) == 0);
    CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), 0);
    CHECK_EQ(content.end, 0);
    weir__segment_forget(&content);
    CHECK_EQ(weir__segment_identity(&got, file.fd, ID), -WEIR_E_CORRUPT);
    rig_fill(rig_room, 100000, 1);
    CHECK(pwrite(file.fd, rig_room, 100000, 0) == 100000);
    CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__segment_identity(&got, file.fd, ID), -WEIR_E_CORRUPT);
    close(file.fd);
}

/* Under another number, or with another key, it is none of ours. */
TEST(of_another_place_or_store)
{
    struct weir__segment_content content;
    struct weir__identity other = identity, got;
    make();
    seal();
    CHECK_EQ(weir__segment_load(&content, file.fd, ID + 1, &identity.key), -WEIR_E_CORRUPT);
    other.key.bytes[0] ^= 1;
    CHECK_EQ(weir__segment_load(&content, file.fd, ID, &other.key), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__segment_identity(&got, file.fd, ID + 1), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__segment_identity(&got, file.fd, ID), 0);
    CHECK_EQ(memcmp(&got, &identity, sizeof(got)), 0);
    flip(100);
    CHECK_EQ(weir__segment_identity(&got, file.fd, ID), -WEIR_E_CORRUPT);
    close(file.fd);
}

/* Somebody uploads a copy of a whole segment of this store, as the content of chunks, and then the
 * heads of these are damaged, so that the scan looks for records inside of them: what it meets
 * there are heads that once were right, at the same distance from each other. None may count. */
static void upload_a_copy(uint32_t id, uint32_t shift)
{
    struct weir__segment_content content;
    struct weir__entry outer[8];
    size_t count = 0;
    make();
    seal();
    uint64_t size = file_size();
    CHECK(size < ROOM && pread(file.fd, bytes, size, 0) == (ssize_t)size);
    close(file.fd);
    begin(id);
    for (uint64_t at = shift; at < size && count < 8; at += 65536) {
        uint32_t some = size - at < 65536 ? (uint32_t)(size - at) : 65536;
        add(id, &outer[count], WEIR__RECORD_CHUNK, 100 + count, bytes + at, some);
        count++;
    }
    for (int part = 0; part < 2; part++) {
        for (size_t i = 0; i < count; i++)
            flip(outer[i].place.offset + (part ? 20 : 0));
        CHECK_EQ(weir__segment_scan(&content, file.fd, id, &identity.key, NULL, NULL), 0);
        CHECK_EQ(content.count, 0);
        CHECK_EQ(content.end, BEGIN_SIZE);
        weir__segment_forget(&content);
        CHECK_EQ(weir__segment_load(&content, file.fd, id, &identity.key), 0);
        CHECK(!content.is_sealed && content.count == 0);
        weir__segment_forget(&content);
        for (size_t i = 0; i < count; i++)
            flip(outer[i].place.offset + (part ? 20 : 0));
    }
    CHECK_EQ(weir__segment_scan(&content, file.fd, id, &identity.key, NULL, NULL), 0);
    CHECK_EQ(content.count, count);
    weir__segment_forget(&content);
    close(file.fd);
}

TEST(a_segment_as_content)
{
    upload_a_copy(ID, 0);
    upload_a_copy(ID, 64);
    upload_a_copy(ID, 16);
    upload_a_copy(ID + 1, 0);
    /* Where each byte lies at its old place, but in another segment. */
    upload_a_copy(ID + 1, BEGIN_SIZE + WEIR__RECORD_HEAD);
}

TEST(more_records_than_a_segment_has)
{
    begin(ID);
    struct weir__entry one;
    struct weir__segment_content content;
    for (size_t i = 0; i < WEIR__SEGMENT_COUNT + 3; i++)
        add(ID, &one, WEIR__RECORD_DELETED, i + 1, NULL, 0);
    CHECK_EQ(weir__segment_scan(&content, file.fd, ID, &identity.key, NULL, NULL), 0);
    CHECK_EQ(content.count, WEIR__SEGMENT_COUNT);
    CHECK_EQ(content.torn_bytes, 3 * 64);
    weir__segment_forget(&content);
    close(file.fd);
}

TAP_MAIN()
