/* segment_load.c - footers read and written, segments scanned. */
#include "segment_load.h"

#include <errno.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "sys.h"
#include "window.h"

#include "banned.h"

#define FOOTER_MAX (WEIR__SEGMENT_COUNT * WEIR__ENTRY_SIZE)

/* --- scanning --- */

struct scan {
    struct weir__window window;
    uint32_t id;
    const struct weir__record_key *key;
    struct weir__segment_content content;
    size_t room;
    uint64_t doubtful_records; /* bad since the last record that was not */
    uint64_t doubtful_bytes;
    uint64_t doubtful_left;        /* of the records: that a crash may have left */
    uint64_t doubtful_zeros;       /* stretches of zeros that it may have left */
    uint64_t doubtful_lost;        /* of the bytes: that lasted once, and can be read */
    uint64_t blind_from, blind_to; /* the last stretch with holes in it */
    uint64_t footer_at;            /* from where on there are no records */
    uint64_t finished_to;          /* what is wrong before this was right once */
    uint64_t told_to;              /* stretches that begin before this are told */
    struct weir__scan_hooks hooks;
};

static int keep(struct scan *scan, const struct weir__entry *entry)
{
    struct weir__segment_content *content = &scan->content;
    if (content->count == scan->room) {
        size_t room = scan->room ? 2 * scan->room : 256;
        void *records = weir__base_realloc(content->records, room, sizeof(*content->records));
        if (!records)
            return -WEIR_E_NO_MEMORY;
        content->records = records;
        scan->room = room;
    }
    content->records[content->count++] = *entry;
    content->bad_records += scan->doubtful_records;
    content->bad_bytes += scan->doubtful_bytes;
    content->lost_bytes += scan->doubtful_lost;
    content->left_records += scan->doubtful_left;
    content->left_zeros += scan->doubtful_zeros;
    scan->doubtful_records = scan->doubtful_bytes = 0;
    scan->doubtful_lost = scan->doubtful_left = scan->doubtful_zeros = 0;
    return 0;
}

/* What the disk does not give (is_blind) is not lost: it may be there again. */
static void count_bad(struct scan *scan, uint64_t from, uint64_t to, bool is_blind)
{
    uint64_t finished = to < scan->finished_to ? to : scan->finished_to;
    scan->doubtful_records++;
    scan->doubtful_bytes += to - from;
    scan->doubtful_left += from >= scan->finished_to;
    scan->doubtful_lost += is_blind || from >= finished ? 0 : finished - from;
}

static void tell_lost(const struct scan *scan, uint64_t from, uint64_t to)
{
    if (scan->hooks.lost && from < scan->told_to)
        scan->hooks.lost(scan->hooks.arg, from, to);
}

static bool is_data(enum weir__record_type type)
{
    return type <= WEIR__RECORD_BAD;
}

/* Whether the bytes of the record are those of its address; NULL bytes: the file ends before. */
static bool is_whole(const struct weir__record *record, const unsigned char *bytes)
{
    struct weir__address address;
    if (record->type != WEIR__RECORD_CHUNK)
        return true;
    weir__address_of(bytes + WEIR__RECORD_HEAD, record->size - WEIR__RECORD_HEAD, &address);
    return weir__address_is_equal(&address, &record->address);
}

/* Bytes of the last stretch with holes that could not be read, between these places. */
static uint64_t blind_between(const struct scan *scan, uint64_t from, uint64_t to)
{
    from = from > scan->blind_from ? from : scan->blind_from;
    to = to < scan->blind_to ? to : scan->blind_to;
    return from < to ? weir__window_lost(&scan->window, from, to) : 0;
}

/* What stands behind the last record is its footer: it hides nothing, if it cannot be read. */
static void see_end(struct scan *scan, const struct weir__record *record, uint64_t at)
{
    if (record->type == WEIR__RECORD_FOOTER)
        scan->footer_at = at;
    if (record->type != WEIR__RECORD_END || record->sequence >= at)
        return;
    /* The stretch before it may have begun with the footer's own head. */
    if (record->sequence < scan->footer_at)
        scan->content.hidden_bytes -= blind_between(scan, record->sequence, scan->footer_at);
    scan->footer_at = record->sequence;
}

/* A record whose head is right; *ret_next is where the next one begins. */
static int scan_record(struct scan *scan, const struct weir__record *record, uint64_t at,
                       uint64_t *ret_next)
{
    const unsigned char *bytes = NULL;
    struct weir__entry entry = {record->address, record->sequence, {scan->id, (uint32_t)at},
                                record->size,    record->time_s,   record->type};
    uint64_t next = at + weir__record_span(record->size);
    int error = 0;
    *ret_next = next < scan->window.file_size ? next : scan->window.file_size;
    if (!is_data(record->type)) {
        see_end(scan, record, at);
        return 0;
    }
    /* Whatever its bytes are: no other record is to have its number. */
    if (record->sequence > scan->content.sequence_max)
        scan->content.sequence_max = record->sequence;
    error = weir__window_look(&scan->window, at, record->size, &bytes);
    if (error && error != -WEIR_E_RANGE)
        return error;
    /* Its head says what it is, and that it was to be here. */
    bool is_lost = !error && weir__window_lost(&scan->window, at, at + record->size) > 0;
    bool is_damaged = !error && !is_lost && !is_whole(record, bytes);
    bool may_be_left = is_damaged && at >= scan->finished_to;
    if (error || may_be_left || scan->content.count == WEIR__SEGMENT_COUNT) {
        count_bad(scan, at, *ret_next, false);
        if (scan->hooks.bad)
            scan->hooks.bad(scan->hooks.arg, &entry);
        else
            tell_lost(scan, at, *ret_next);
        return 0;
    }
    if (is_lost || is_damaged) {
        scan->content.bad_records++;
        scan->content.bad_bytes += *ret_next - at;
    }
    if (is_damaged && scan->hooks.wrong)
        scan->hooks.wrong(scan->hooks.arg, &entry);
    scan->content.end = (uint32_t)next;
    return keep(scan, &entry);
}

/* The next place at which the head of a record stands, or the end of the file. */
static int find_next(struct scan *scan, uint64_t from, uint64_t *ret_at)
{
    const unsigned char *head;
    struct weir__record record;
    uint64_t at = from;
    for (;; at += WEIR__RECORD_ALIGN) {
        int error = weir__window_look(&scan->window, at, WEIR__RECORD_HEAD, &head);
        if (error == -WEIR_E_RANGE) {
            at = scan->window.file_size;
        } else if (error) {
            return error;
        } else if (!weir__record_is_begun(head) ||
                   weir__record_decode(&record, head, scan->key,
                                       (struct weir__place){scan->id, (uint32_t)at}) ||
                   record.type == WEIR__RECORD_BEGIN) {
            /* A hole ends with a page, or with the file. */
            uint64_t behind = weir__window_behind(&scan->window, at, at + WEIR__RECORD_HEAD);
            at = behind > at ? behind - WEIR__RECORD_ALIGN : at;
            continue;
        }
        *ret_at = at;
        return 0;
    }
}

static bool is_zero(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Files grow zeros when the power fails: where nothing had lasted these are nobody's record. */
static int stretch_is_zero(struct scan *scan, uint64_t from, uint64_t to, bool *ret_is)
{
    const unsigned char *bytes;
    *ret_is = true;
    while (from < to && *ret_is) {
        size_t some = to - from < WEIR__CHUNK_MAX ? (size_t)(to - from) : WEIR__CHUNK_MAX;
        int error = weir__window_look(&scan->window, from, some, &bytes);
        if (error)
            return error;
        *ret_is = is_zero(bytes, some);
        from += some;
    }
    return 0;
}

/* Whether some of a stretch in which no head was found could not be read. */
static bool note_blind(struct scan *scan, uint64_t from, uint64_t to)
{
    if (weir__window_lost(&scan->window, from, to) == 0)
        return false;
    scan->blind_from = from;
    scan->blind_to = to;
    scan->content.hidden_bytes += blind_between(scan, 0, scan->footer_at);
    return true;
}

/* Whether these zeros are what is left free before large content, whose head stands behind them. */
static int is_gap(struct scan *scan, uint64_t from, uint64_t to, bool *ret_is)
{
    const unsigned char *head;
    struct weir__record record;
    struct weir__place place = {scan->id, (uint32_t)to};
    *ret_is = false;
    if (to - from >= WEIR__RECORD_PAGE || to >= scan->window.file_size)
        return 0;
    int error = weir__window_look(&scan->window, to, WEIR__RECORD_HEAD, &head);
    if (error)
        return error == -WEIR_E_RANGE ? 0 : error;
    /* It belongs to the run of its record, and so does nothing before that. */
    *ret_is = weir__record_decode(&record, head, scan->key, place) == 0 && from >= record.synced &&
              weir__record_gap((uint32_t)from, record.size - WEIR__RECORD_HEAD) == to - from;
    return 0;
}

/* Zeros between records. Before finished_to there was something else once. */
static void note_hollow(struct scan *scan, uint64_t from, uint64_t to)
{
    scan->content.hollow_bytes += to - from;
    if (from < scan->finished_to)
        count_bad(scan, from, to, false);
    else
        scan->doubtful_zeros++;
    tell_lost(scan, from, to);
}

/* What is no record, from there to the next one. */
static int scan_stretch(struct scan *scan, uint64_t from, uint64_t to)
{
    bool is_empty, is_free = false;
    if (note_blind(scan, from, to)) {
        count_bad(scan, from, to, true);
        return 0;
    }
    int error = stretch_is_zero(scan, from, to, &is_empty);
    if (!error && is_empty)
        error = is_gap(scan, from, to, &is_free);
    if (error || is_free)
        return error;
    if (is_empty) {
        note_hollow(scan, from, to);
        return 0;
    }
    count_bad(scan, from, to, false);
    tell_lost(scan, from, to);
    return 0;
}

static int scan_from(struct scan *scan, uint64_t at)
{
    int error = 0;
    while (!error && at < scan->window.file_size) {
        const unsigned char *head;
        struct weir__record record;
        uint64_t next;
        error = weir__window_look(&scan->window, at, WEIR__RECORD_HEAD, &head);
        if (!error && weir__record_decode(&record, head, scan->key,
                                          (struct weir__place){scan->id, (uint32_t)at}) == 0) {
            if (record.synced > scan->content.synced)
                scan->content.synced = record.synced;
            error = scan_record(scan, &record, at, &at);
            continue;
        }
        if (error && error != -WEIR_E_RANGE)
            break;
        error = find_next(scan, at + WEIR__RECORD_ALIGN, &next);
        if (!error)
            error = scan_stretch(scan, at, next);
        at = next;
    }
    return error;
}

/* The first record: it says that this is a segment of this store, and where the others begin. */
static int scan_begin(struct scan *scan, uint64_t *ret_at)
{
    const unsigned char *head;
    struct weir__record record;
    const uint64_t begin_size = WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE;
    int error = weir__window_look(&scan->window, 0, WEIR__RECORD_HEAD, &head);
    *ret_at = begin_size;
    if (error && error != -WEIR_E_RANGE)
        return error;
    if (!error &&
        weir__record_decode(&record, head, scan->key, (struct weir__place){scan->id, 0}) == 0 &&
        record.type == WEIR__RECORD_BEGIN && scan->window.file_size >= begin_size) {
        scan->content.end = (uint32_t)begin_size;
        scan->content.sequence_begin = record.sequence;
        if (record.sequence > scan->content.sequence_max)
            scan->content.sequence_max = record.sequence;
    }
    return 0;
}

/* What is known when all was looked at. */
static int end_scan(struct scan *scan)
{
    struct weir__segment_content *content = &scan->content;
    bool is_empty = true;
    int error = 0;
    if (content->end == 0)
        error = stretch_is_zero(scan, 0, scan->window.file_size, &is_empty);
    content->unreadable_bytes = weir__window_lost(&scan->window, 0, scan->window.file_size);
    content->is_frail = content->unreadable_bytes > 0;
    if (!error && content->end == 0 && content->is_frail)
        return -WEIR_E_IO; /* it may be a segment or not */
    if (!error && !is_empty)
        error = -WEIR_E_CORRUPT;
    if (content->is_frail) {
        /* Nobody can tell what a crash has left and what the disk has lost. */
        content->bad_records += scan->doubtful_records;
        content->bad_bytes += scan->doubtful_bytes;
    } else {
        content->torn_bytes = scan->doubtful_bytes;
    }
    /* Behind the last record, and before one of which only the head has come to the disk. Of a
     * finished segment all that is torn is lost, and its file may be known to be shorter. */
    if (scan->finished_to != UINT64_MAX)
        content->lost_bytes += scan->doubtful_lost;
    return error;
}

static int run_scan(struct scan *scan, struct weir__segment_content *ret_content, int fd)
{
    uint64_t at;
    int error = weir__window_open(&scan->window, fd, WEIR__SEGMENT_MAX);
    if (error)
        return error;
    error = scan_begin(scan, &at);
    scan->content.file_size = scan->window.file_size;
    if (!error)
        error = scan_from(scan, at);
    if (!error)
        error = end_scan(scan);
    for (size_t i = 0; scan->hooks.hole && i < scan->window.holes_count; i++)
        scan->hooks.hole(scan->hooks.arg, scan->window.holes[i].from, scan->window.holes[i].to);
    weir__window_close(&scan->window);
    if (error) {
        weir__segment_forget(&scan->content);
        return error;
    }
    *ret_content = scan->content;
    return 0;
}

int weir__segment_scan_with(struct weir__segment_content *ret_content, int fd, uint32_t id,
                            const struct weir__record_key *key,
                            const struct weir__scan_hooks *hooks)
{
    struct scan scan = {
        .id = id, .key = key, .footer_at = UINT64_MAX, .told_to = UINT64_MAX, .hooks = *hooks};
    return run_scan(&scan, ret_content, fd);
}

int weir__segment_scan(struct weir__segment_content *ret_content, int fd, uint32_t id,
                       const struct weir__record_key *key,
                       void (*bad)(void *arg, const struct weir__entry *entry), void *arg)
{
    struct weir__scan_hooks hooks = {.bad = bad, .arg = arg};
    return weir__segment_scan_with(ret_content, fd, id, key, &hooks);
}

void weir__segment_forget(struct weir__segment_content *content)
{
    weir__base_free(content->records);
    content->records = NULL;
    content->count = 0;
}

/* --- the footer --- */

/* Its place and size, by the last head of the file. */
static int find_footer(int fd, uint64_t file_size, uint32_t id, const struct weir__record_key *key,
                       struct weir__record *ret_footer, uint32_t *ret_at)
{
    unsigned char head[WEIR__RECORD_HEAD];
    struct weir__record end;
    if (file_size < 3 * WEIR__RECORD_HEAD || file_size > WEIR__SEGMENT_MAX)
        return -WEIR_E_CORRUPT;
    uint32_t end_at = (uint32_t)file_size - WEIR__RECORD_HEAD;
    int error = weir__disk_pread(fd, head, sizeof(head), end_at);
    if (!error)
        error = weir__record_decode(&end, head, key, (struct weir__place){id, end_at});
    if (error)
        return error;
    if (end.type != WEIR__RECORD_END || end.sequence >= end_at)
        return -WEIR_E_CORRUPT;
    uint32_t at = (uint32_t)end.sequence;
    error = weir__disk_pread(fd, head, sizeof(head), at);
    if (!error)
        error = weir__record_decode(ret_footer, head, key, (struct weir__place){id, at});
    if (error)
        return error;
    if (ret_footer->type != WEIR__RECORD_FOOTER ||
        at + (uint64_t)weir__record_span(ret_footer->size) != end_at ||
        !weir__address_is_equal(&ret_footer->address, &end.address))
        return -WEIR_E_CORRUPT;
    *ret_at = at;
    return 0;
}

static int decode_all(struct weir__segment_content *content, const unsigned char *bytes,
                      uint32_t id)
{
    for (size_t i = 0; i < content->count; i++) {
        struct weir__entry *entry = &content->records[i];
        int error = weir__entry_decode(entry, bytes + i * WEIR__ENTRY_SIZE, id);
        if (error)
            return error;
        if ((uint64_t)entry->place.offset + weir__record_span(entry->size) > content->end)
            return -WEIR_E_CORRUPT;
        if (entry->sequence > content->sequence_max)
            content->sequence_max = entry->sequence;
    }
    return 0;
}

static int load_footer(struct weir__segment_content *ret_content, int fd, uint64_t file_size,
                       uint32_t id, const struct weir__record_key *key)
{
    struct weir__record footer;
    struct weir__address address;
    uint32_t at;
    int error = find_footer(fd, file_size, id, key, &footer, &at);
    if (error)
        return error;
    size_t length = footer.size - WEIR__RECORD_HEAD;
    if (length > FOOTER_MAX || length % WEIR__ENTRY_SIZE != 0)
        return -WEIR_E_CORRUPT;
    struct weir__segment_content content = {
        .count = length / WEIR__ENTRY_SIZE, .end = at, .file_size = file_size, .is_sealed = true};
    unsigned char *bytes = weir__base_alloc(1, length + 1);
    content.records = weir__base_alloc(content.count + 1, sizeof(*content.records));
    if (!bytes || !content.records)
        error = -WEIR_E_NO_MEMORY;
    if (!error)
        error = weir__disk_pread(fd, bytes, length, at + WEIR__RECORD_HEAD);
    if (!error) {
        weir__address_of(bytes, length, &address);
        error = weir__address_is_equal(&address, &footer.address) ? 0 : -WEIR_E_CORRUPT;
    }
    if (!error)
        error = decode_all(&content, bytes, id);
    weir__base_free(bytes);
    if (error)
        weir__segment_forget(&content);
    else
        *ret_content = content;
    return error;
}

/* The first time finds out how much of it has lasted. If something is wrong with that, it is not
 * what a crash has left. */
static int scan_twice(const struct scan *wanted, struct weir__segment_content *ret_content, int fd)
{
    struct weir__segment_content content;
    struct scan scan = *wanted;
    int error = run_scan(&scan, &content, fd);
    if (!error && wanted->finished_to == 0 && content.synced > 0 &&
        content.bad_records + content.torn_bytes + content.hollow_bytes > 0) {
        scan = *wanted;
        scan.finished_to = scan.told_to = content.synced;
        weir__segment_forget(&content);
        error = run_scan(&scan, &content, fd);
    }
    if (!error)
        *ret_content = content;
    return error;
}

static int load(struct weir__segment_content *ret_content, int fd, const struct scan *scan)
{
    struct stat st;
    if (weir__sys_fstat(fd, &st) < 0)
        return weir_error_from_errno(errno);
    int error = load_footer(ret_content, fd, (uint64_t)st.st_size, scan->id, scan->key);
    if (error != -WEIR_E_CORRUPT && error != -WEIR_E_IO)
        return error;
    bool has_failed = error == -WEIR_E_IO;
    error = scan_twice(scan, ret_content, fd);
    if (!error && has_failed)
        ret_content->is_frail = true;
    return error;
}

int weir__segment_load(struct weir__segment_content *ret_content, int fd, uint32_t id,
                       const struct weir__record_key *key)
{
    static const struct weir__scan_hooks none = {.bad = NULL};
    return weir__segment_load_with(ret_content, fd, id, key, false, &none);
}

int weir__segment_load_with(struct weir__segment_content *ret_content, int fd, uint32_t id,
                            const struct weir__record_key *key, bool is_finished,
                            const struct weir__scan_hooks *hooks)
{
    struct scan scan = {.id = id,
                        .key = key,
                        .footer_at = UINT64_MAX,
                        .finished_to = is_finished ? UINT64_MAX : 0,
                        .told_to = is_finished ? UINT64_MAX : 0,
                        .hooks = *hooks};
    return load(ret_content, fd, &scan);
}

int weir__segment_identity(struct weir__identity *ret_identity, int fd, uint32_t id)
{
    unsigned char bytes[WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE];
    struct weir__identity identity;
    struct weir__record record;
    struct stat st;
    if (weir__sys_fstat(fd, &st) < 0)
        return weir_error_from_errno(errno);
    if ((size_t)st.st_size < sizeof(bytes))
        return -WEIR_E_CORRUPT;
    int error = weir__disk_pread(fd, bytes, sizeof(bytes), 0);
    if (!error)
        error = weir__identity_decode(&identity, bytes + WEIR__RECORD_HEAD);
    if (!error)
        error = weir__record_decode(&record, bytes, &identity.key, (struct weir__place){id, 0});
    if (!error)
        *ret_identity = identity;
    return error;
}

/* --- writing --- */

static uint32_t wall_s(void)
{
    int64_t now = weir_wall_s();
    return now < 0 || now > UINT32_MAX ? 0 : (uint32_t)now;
}

int weir__segment_begin(const struct weir__disk_file *file, uint32_t id,
                        const struct weir__identity *identity, uint64_t sequence, uint32_t *ret_end)
{
    unsigned char bytes[WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE];
    struct weir__record record = {.type = WEIR__RECORD_BEGIN,
                                  .sequence = sequence,
                                  .size = sizeof(bytes),
                                  .time_s = wall_s()};
    weir__identity_encode(identity, bytes + WEIR__RECORD_HEAD);
    weir__address_of(bytes + WEIR__RECORD_HEAD, WEIR__IDENTITY_SIZE, &record.address);
    weir__record_encode(&record, &identity->key, (struct weir__place){id, 0}, bytes);
    struct iovec part = {bytes, sizeof(bytes)};
    int error = weir__disk_write(file, &part, 1, 0);
    if (!error)
        *ret_end = sizeof(bytes);
    return error;
}

int weir__segment_seal(const struct weir__disk_file *file, uint32_t id,
                       const struct weir__record_key *key, const struct weir__entry *records,
                       size_t count, uint32_t end, uint32_t synced)
{
    static const unsigned char zeros[WEIR__RECORD_ALIGN];
    size_t length = count * WEIR__ENTRY_SIZE;
    unsigned char footer_head[WEIR__RECORD_HEAD], end_head[WEIR__RECORD_HEAD];
    unsigned char *bytes = weir__base_alloc(1, length + 1);
    struct weir__record footer = {.type = WEIR__RECORD_FOOTER,
                                  .sequence = 1,
                                  .size = (uint32_t)(WEIR__RECORD_HEAD + length),
                                  .time_s = wall_s(),
                                  .synced = synced};
    struct weir__record last = {.type = WEIR__RECORD_END,
                                .sequence = end,
                                .size = WEIR__RECORD_HEAD,
                                .time_s = footer.time_s};
    if (!bytes)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        weir__entry_encode(&records[i], bytes + i * WEIR__ENTRY_SIZE);
    weir__address_of(bytes, length, &footer.address);
    last.address = footer.address;
    uint32_t span = weir__record_span(footer.size);
    weir__record_encode(&footer, key, (struct weir__place){id, end}, footer_head);
    weir__record_encode(&last, key, (struct weir__place){id, end + span}, end_head);
    struct iovec parts[] = {
        {footer_head, sizeof(footer_head)},
        {bytes, length},
        {(void *)(uintptr_t)zeros, span - footer.size},
        {end_head, sizeof(end_head)},
    };
    int error = weir__disk_write(file, parts, 4, end);
    if (!error)
        error = weir__disk_sync(file);
    weir__base_free(bytes);
    return error;
}
