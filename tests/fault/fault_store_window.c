/* fault_store_window.c - a segment on a disk with bad sectors: what can be read of it counts.
 *
 * Each page is made unreadable in turn, in a segment with a footer and in one without. Records
 * whose head can be read are found, others are not; and where one may be hidden, that is said.
 */
#include <sys/mman.h>

#include "segment_load.h"
#include "store_rig.h"
#include "sweep.h"
#include "sys.h"
#include "window.h"

#define ID     9u
#define CHUNKS 60u
#define PAGE   WEIR__WINDOW_PAGE

static struct weir__identity identity;
static struct weir__disk_file file;
static struct weir__entry records[CHUNKS];
static uint32_t end_of_records;

static uint32_t length_of(size_t i)
{
    return i % 7 == 3 ? 0 : i % 11 == 5 ? 20000 : (uint32_t)(i * 977 % 5000);
}

static void add(size_t i)
{
    unsigned char head[WEIR__RECORD_HEAD];
    static const unsigned char zeros[16];
    uint32_t length = length_of(i);
    struct weir__record record = {.type = i % 7 == 3 ? WEIR__RECORD_DELETED : WEIR__RECORD_CHUNK,
                                  .sequence = i + 10,
                                  .size = WEIR__RECORD_HEAD + length};
    rig_fill(rig_room, length, i);
    weir__address_of(rig_room, length, &record.address);
    weir__record_encode(&record, &identity.key, (struct weir__place){ID, end_of_records}, head);
    struct iovec parts[] = {
        {head, sizeof(head)},
        {rig_room, length},
        {(void *)(uintptr_t)zeros, weir__record_span(record.size) - record.size}};
    CHECK_EQ(weir__disk_write(&file, parts, 3, end_of_records), 0);
    records[i] = (struct weir__entry){
        record.address, record.sequence, {ID, end_of_records}, record.size, 0, record.type};
    end_of_records += weir__record_span(record.size);
}

static void make(bool is_sealed)
{
    memset(&identity, 0x5a, sizeof(identity));
    file.fd = memfd_create("segment", MFD_CLOEXEC);
    CHECK(file.fd >= 0);
    CHECK_EQ(weir__segment_begin(&file, ID, &identity, 1, &end_of_records), 0);
    for (size_t i = 0; i < CHUNKS; i++)
        add(i);
    if (is_sealed)
        CHECK_EQ(weir__segment_seal(&file, ID, &identity.key, records, CHUNKS, end_of_records, 0),
                 0);
}

static uint64_t file_size(void)
{
    struct stat st;
    CHECK(fstat(file.fd, &st) == 0);
    return (uint64_t)st.st_size;
}

static bool overlaps(const struct weir__entry *entry, uint64_t size, uint64_t from, uint64_t to)
{
    return entry->place.offset < to && entry->place.offset + size > from;
}

/* What is found when these bytes cannot be read. */
static void check_found(const struct weir__segment_content *content, uint64_t from, uint64_t to)
{
    size_t at = 0, hidden = 0, lost = 0;
    for (size_t i = 0; i < CHUNKS; i++) {
        if (overlaps(&records[i], WEIR__RECORD_HEAD, from, to)) {
            hidden++;
            continue;
        }
        lost += overlaps(&records[i], records[i].size, from, to);
        CHECK(at < content->count);
        CHECK_EQ(content->records[at].place.offset, records[i].place.offset);
        CHECK_EQ(content->records[at].sequence, records[i].sequence);
        CHECK(weir__address_is_equal(&content->records[at].address, &records[i].address));
        at++;
    }
    CHECK_EQ(content->count, at);
    CHECK(content->is_frail && !content->is_sealed);
    CHECK_EQ(content->unreadable_bytes, to - from);
    CHECK_EQ(content->torn_bytes, 0);
    CHECK(content->bad_records >= lost + (hidden > 0));
    /* Whoever hears that nothing is hidden can rely on it. */
    CHECK(hidden == 0 || content->hidden_bytes > 0);
    bool is_inside = false;
    for (size_t i = 0; i < CHUNKS; i++)
        is_inside = is_inside || (records[i].place.offset + WEIR__RECORD_HEAD <= from &&
                                  records[i].place.offset + records[i].size >= to);
    CHECK(!is_inside || content->hidden_bytes == 0);
}

TEST(any_page_without_a_footer)
{
    struct weir__segment_content content;
    make(false);
    for (uint64_t from = 0; from < file_size(); from += PAGE) {
        uint64_t to = from + PAGE < file_size() ? from + PAGE : file_size();
        weir__sys_fault_stretch(file.fd, (off_t)from, (off_t)to);
        CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), 0);
        check_found(&content, from, to);
        CHECK(weir__sys_fault_stretch_hits() <= 4);
        weir__segment_forget(&content);
    }
    weir__sys_fault_stretch(-1, 0, 0);
    close(file.fd);
}

/* The footer tells all, as long as it can be read; and so does the way to it. */
TEST(any_page_with_a_footer)
{
    struct weir__segment_content content;
    unsigned by_footer = 0, by_scan = 0;
    make(true);
    for (uint64_t from = 0; from < file_size(); from += PAGE) {
        uint64_t to = from + PAGE < file_size() ? from + PAGE : file_size();
        weir__sys_fault_stretch(file.fd, (off_t)from, (off_t)to);
        CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), 0);
        if (to <= end_of_records) {
            CHECK(content.is_sealed && content.count == CHUNKS && !content.is_frail);
            by_footer++;
        } else {
            size_t readable = 0;
            for (size_t i = 0; i < CHUNKS; i++)
                readable += !overlaps(&records[i], WEIR__RECORD_HEAD, from, to);
            CHECK(!content.is_sealed && content.is_frail);
            CHECK_EQ(content.count, readable);
            CHECK(readable == CHUNKS || content.hidden_bytes > 0);
            by_scan++;
        }
        weir__segment_forget(&content);
    }
    CHECK(by_footer > 10 && by_scan > 0);
    weir__sys_fault_stretch(-1, 0, 0);
    close(file.fd);
}

/* Of a footer one end is enough to know that nothing is hidden behind the last record. */
TEST(either_end_of_a_footer)
{
    struct weir__segment_content content;
    struct weir__entry many[5 * CHUNKS];
    make(false);
    /* From one page to the end of a later one. */
    uint32_t end = (end_of_records + 2 * PAGE - 1) / PAGE * PAGE;
    for (size_t i = 0; i < 5 * CHUNKS; i++)
        many[i] = records[i % CHUNKS];
    CHECK_EQ(weir__segment_seal(&file, ID, &identity.key, many, 5 * CHUNKS, end, 0), 0);
    uint64_t size = file_size();
    CHECK(size > end + 2 * PAGE);
    const struct {
        uint64_t from, to;
        bool is_hidden;
    } stretches[] = {
        {end, end + PAGE, false},
        {end + PAGE, end + PAGE + 1, false},
        {size - 64, size, false},
        {end + PAGE, size, false},
        {end, size, true},
        {end, size - PAGE, false},
        {end - PAGE, end + 10, true},
    };
    for (size_t i = 0; i < sizeof(stretches) / sizeof(stretches[0]); i++) {
        weir__sys_fault_stretch(file.fd, (off_t)stretches[i].from, (off_t)stretches[i].to);
        CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), 0);
        CHECK_EQ(content.count, CHUNKS);
        CHECK(content.is_frail);
        CHECK_EQ(content.hidden_bytes > 0, stretches[i].is_hidden);
        weir__segment_forget(&content);
    }
    weir__sys_fault_stretch(-1, 0, 0);
    close(file.fd);
}

static uint64_t told_from, told_to;

static void note_hole(void *arg, uint64_t from, uint64_t to)
{
    (void)arg;
    told_from = from;
    told_to = to;
}

/* Nothing can be read: it is neither empty nor something else's. */
TEST(all_of_it)
{
    struct weir__segment_content content;
    make(true);
    weir__sys_fault_stretch(file.fd, 0, (off_t)file_size());
    CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), -WEIR_E_IO);
    struct weir__scan_hooks hooks = {.hole = note_hole};
    CHECK_EQ(weir__segment_scan_with(&content, file.fd, ID, &identity.key, &hooks), -WEIR_E_IO);
    CHECK(told_from == 0 && told_to == file_size());
    weir__sys_fault_stretch(-1, 0, 0);
    CHECK_EQ(weir__segment_load(&content, file.fd, ID, &identity.key), 0);
    CHECK(content.is_sealed && content.count == CHUNKS);
    weir__segment_forget(&content);
    close(file.fd);
}

/* A disk that says no to everything is not asked without end. */
TEST(a_limit_to_asking)
{
    struct weir__segment_content content;
    make(false);
    CHECK(ftruncate(file.fd, 64 << 20) == 0);
    weir__sys_fault_stretch(file.fd, PAGE, 64 << 20);
    CHECK_EQ(weir__segment_scan(&content, file.fd, ID, &identity.key, NULL, NULL), 0);
    CHECK(weir__sys_fault_stretch_hits() <= WEIR__WINDOW_FAILURES + 20);
    CHECK_EQ(content.unreadable_bytes, (64u << 20) - PAGE);
    CHECK(content.count > 0 && content.hidden_bytes > 0);
    weir__segment_forget(&content);
    /* Every second page, so that holes do not become one. */
    struct weir__window window;
    const unsigned char *bytes;
    CHECK_EQ(weir__window_open(&window, file.fd, UINT64_MAX), 0);
    for (uint64_t page = 0; page < (64u << 20) / PAGE; page += 2) {
        weir__sys_fault_stretch(file.fd, (off_t)(page * PAGE), (off_t)((page + 1) * PAGE));
        window._length = 0;
        CHECK_EQ(weir__window_look(&window, page * PAGE, PAGE, &bytes), 0);
        CHECK_EQ(weir__window_lost(&window, page * PAGE, (page + 1) * PAGE), PAGE);
    }
    CHECK(window.holes_count <= WEIR__WINDOW_FAILURES + 1);
    weir__window_close(&window);
    weir__sys_fault_stretch(-1, 0, 0);
    close(file.fd);
}

/* Any one call fails: all is found, or it says so. */
static void load_once(void)
{
    struct weir__segment_content content;
    int error = weir__segment_load(&content, file.fd, ID, &identity.key);
    if (error) {
        CHECK(error == -WEIR_E_IO || error == -WEIR_E_NO_MEMORY);
        return;
    }
    CHECK(content.count == CHUNKS || content.hidden_bytes > 0);
    weir__segment_forget(&content);
}

TEST(any_call_fails)
{
    for (int is_sealed = 0; is_sealed < 2; is_sealed++) {
        make(is_sealed);
        sweep_cleanly(WEIR_FAULT_IO, load_once, 2);
        sweep_cleanly(WEIR_FAULT_ALLOC, load_once, 1);
        weir__sys_fault_stretch(file.fd, (off_t)file_size() - 100, (off_t)file_size());
        sweep_cleanly(WEIR_FAULT_IO, load_once, 2);
        sweep_cleanly(WEIR_FAULT_ALLOC, load_once, 2);
        weir__sys_fault_stretch(-1, 0, 0);
        close(file.fd);
    }
}

TAP_MAIN()
