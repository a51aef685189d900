/* store_check.c - looks at every byte of a store.
 *
 * A segment that is sealed lists its records, so what its scan does not find of them is damaged and
 * is known by its address. In one that is not, a record is known by its head; what has none is told
 * as a stretch of bytes.
 *
 * Each address that the index knows is found by exactly one record, or is one of those that are
 * damaged. If there are fewer, all of the index is walked and each entry followed, to tell which
 * lead nowhere.
 *
 * What the disk does not give is told as stretches, and each record that lies in one by its address
 * as well, if that is known.
 */
#include "store_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "store_part.h"
#include "sys.h"
#include "window.h"

#include "banned.h"

/* Stretches of a segment that are told one by one; the last one has what follows. */
#define LOST_MAX 1024u

struct check {
    struct weir__store *store;
    const struct weir__check_hooks *hooks;
    struct weir__check_report report;
    bool was_clean;
    uint32_t *ids;
    size_t count, room;
    uint64_t done, total; /* bytes */
    uint64_t matched;     /* addresses that were found where they should be, damaged or not */
    /* Of the segment that is looked at: */
    uint32_t id;
    uint64_t torn_from; /* what stands there or behind it is what a crash has left */
    uint64_t bad_at;    /* the last chunk that was told for its bytes; 0: none */
    struct weir__hole holes[WEIR__WINDOW_FAILURES + 1];
    size_t holes_count;
    struct weir__hole lost[LOST_MAX]; /* that are no records */
    size_t lost_count;
};

static void tell(struct check *check, const struct weir__check_damage *damage)
{
    if (damage->is_unreadable)
        check->report.unreadable++;
    else if (damage->counts)
        check->report.damaged++;
    else
        check->report.damaged_dead++;
    if (check->hooks->damage)
        check->hooks->damage(check->hooks->arg, damage);
}

static void tell_segment(struct check *check, const char *what, uint64_t offset, uint64_t size,
                         bool is_unreadable)
{
    tell(check, &(struct weir__check_damage){.segment = check->id,
                                             .offset = offset,
                                             .size = size,
                                             .counts = true,
                                             .is_unreadable = is_unreadable,
                                             .what = what});
}

/* --- records --- */

/* What the store says of the record's address: 1 it is this record, 0 another one that is newer,
 * -1 something older, or nothing. */
static int standing(struct check *check, const struct weir__entry *record)
{
    struct weir__entry known;
    int error = weir__store_lookup(check->store, &record->address, &known, NULL);
    /* A deletion that another one has followed stays when that is let go of: there is nothing left
     * that either of them hides. */
    if (error)
        return record->type == WEIR__RECORD_TOUCHED ||
                       (error == -WEIR_E_NOT_FOUND && record->type != WEIR__RECORD_CHUNK)
                   ? 0
                   : -1;
    if (known.place.segment == record->place.segment && known.place.offset == record->place.offset)
        return 1;
    if (record->type == WEIR__RECORD_TOUCHED)
        return 0;
    return weir__entry_is_newer(record, &known) ? -1 : 0;
}

static void tell_record(struct check *check, const struct weir__entry *record, const char *what)
{
    int stands = standing(check, record);
    check->matched += stands == 1;
    tell(check, &(struct weir__check_damage){.address = &record->address,
                                             .segment = record->place.segment,
                                             .offset = record->place.offset,
                                             .size = record->size,
                                             .counts = stands != 0,
                                             .what = what});
}

static bool is_unreadable(const struct check *check, const struct weir__entry *record)
{
    uint64_t from = record->place.offset, to = from + record->size;
    for (size_t i = 0; i < check->holes_count; i++)
        if (check->holes[i].from < to && check->holes[i].to > from)
            return true;
    return false;
}

static void tell_unreadable(struct check *check, const struct weir__entry *record)
{
    int stands = standing(check, record);
    check->matched += stands == 1;
    tell(check, &(struct weir__check_damage){.address = &record->address,
                                             .segment = record->place.segment,
                                             .offset = record->place.offset,
                                             .size = record->size,
                                             .counts = stands != 0,
                                             .is_unreadable = true,
                                             .what = "the disk does not give all of it"});
}

static void tell_index(struct check *check, const struct weir__entry *record, const char *what)
{
    check->report.index_wrong++;
    tell(check, &(struct weir__check_damage){.address = &record->address,
                                             .segment = record->place.segment,
                                             .offset = record->place.offset,
                                             .size = record->size,
                                             .counts = true,
                                             .what = what});
}

/* A record that is whole, as far as it can be read. */
static void take_record(struct check *check, const struct weir__entry *record)
{
    struct weir__check_report *report = &check->report;
    if (is_unreadable(check, record)) {
        tell_unreadable(check, record);
        return;
    }
    report->records++;
    switch (standing(check, record)) {
    case 1:
        check->matched++;
        if (record->type == WEIR__RECORD_CHUNK) {
            report->chunks++;
            report->chunk_bytes += weir__entry_length(record);
        } else {
            report->deletions += record->type != WEIR__RECORD_TOUCHED;
        }
        break;
    case 0:
        report->dead_bytes += weir__record_span(record->size);
        break;
    default:
        tell_index(check, record, "it is whole, but the index does not know it");
    }
}

static void note_bad(void *arg, const struct weir__entry *entry)
{
    struct check *check = arg;
    if (entry->place.offset >= check->torn_from)
        return;
    check->bad_at = entry->place.offset;
    tell_record(check, entry, "its bytes are not those of its address");
}

static void note_lost(void *arg, uint64_t from, uint64_t to)
{
    struct check *check = arg;
    if (check->lost_count == LOST_MAX)
        check->lost[LOST_MAX - 1].to = to;
    else
        check->lost[check->lost_count++] = (struct weir__hole){from, to};
}

/* --- segments --- */

static bool is_same(const struct weir__entry *a, const struct weir__entry *b)
{
    return a->place.offset == b->place.offset && a->sequence == b->sequence && a->type == b->type &&
           weir__address_is_equal(&a->address, &b->address);
}

/* Both are in the order of their places. */
static void compare_footer(struct check *check, const struct weir__segment_content *footer,
                           const struct weir__segment_content *scan)
{
    size_t at = 0;
    for (size_t i = 0; i < footer->count; i++) {
        const struct weir__entry *listed = &footer->records[i];
        while (at < scan->count && scan->records[at].place.offset < listed->place.offset)
            tell_record(check, &scan->records[at++], "its segment does not list it");
        if (at < scan->count && is_same(&scan->records[at], listed))
            take_record(check, &scan->records[at++]);
        else if (is_unreadable(check, listed))
            tell_unreadable(check, listed);
        else
            tell_record(check, listed, "its record is damaged");
    }
    while (at < scan->count)
        tell_record(check, &scan->records[at++], "its segment does not list it");
}

/* Stretches that are no records. What stands behind the last record is judged as a whole, unless
 * nobody can tell where that is, or a chunk stands there that was told by its address. */
static void tell_lost(struct check *check, const struct weir__segment_content *scan, bool is_all)
{
    uint64_t end = is_all ? UINT64_MAX : scan->end;
    for (size_t i = 0; i < check->lost_count && check->lost[i].from < end; i++) {
        const struct weir__hole *lost = &check->lost[i];
        if (lost->from >= check->torn_from)
            continue;
        tell_segment(check, "these bytes are no record", lost->from,
                     (lost->to < end ? lost->to : end) - lost->from, false);
    }
}

/* Of one without a footer, as its scan has found it. */
static void take_unsealed(struct check *check, const struct weir__segment_content *scan,
                          bool is_newest)
{
    for (size_t i = 0; i < scan->count; i++)
        take_record(check, &scan->records[i]);
    bool is_all = scan->is_frail || (check->bad_at > 0 && check->bad_at >= scan->end);
    tell_lost(check, scan, is_all);
    if (scan->file_size <= scan->end || is_all)
        return;
    /* What a crash leaves is the end of the newest. Anywhere else a list of records was there, or
     * something has happened to the file later. */
    if (check->was_clean || !is_newest)
        tell_segment(check, "what stands behind its last record is damaged", scan->end,
                     scan->file_size - scan->end, false);
    else
        check->report.torn_bytes += scan->torn_bytes;
}

static void note_hole(void *arg, uint64_t from, uint64_t to)
{
    struct check *check = arg;
    check->holes[check->holes_count++] = (struct weir__hole){from, to};
    tell_segment(check, "the disk does not give these bytes", from, to - from, true);
}

static void take_contents(struct check *check, int fd, bool is_newest)
{
    struct weir__segment_content footer, scan;
    const struct weir__record_key *key = &check->store->identity.key;
    int error = weir__segment_load(&footer, fd, check->id, key);
    if (error) {
        tell_segment(check,
                     error == -WEIR_E_CORRUPT ? "it is no segment of this store"
                                              : "it cannot be read",
                     0, 0, error != -WEIR_E_CORRUPT);
        return;
    }
    struct weir__identity identity;
    if (footer.end > 0 && weir__segment_identity(&identity, fd, check->id) == -WEIR_E_CORRUPT)
        tell_segment(check, "its first record, a copy of the key of the store, is damaged", 0,
                     WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE, false);
    check->holes_count = check->lost_count = 0;
    check->bad_at = 0;
    /* What no later record vouches for may be what a crash has left, now or before a clean end. */
    bool may_have_left = check->store->writer.has_leftovers || !check->was_clean;
    uint32_t begin = WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE;
    check->torn_from = footer.is_sealed || !is_newest || !may_have_left ? UINT64_MAX
                       : footer.synced > begin                          ? footer.synced
                                                                        : begin;
    check->report.sealed += footer.is_sealed;
    check->report.segments += footer.end > 0;
    check->report.file_bytes += footer.file_size;
    struct weir__scan_hooks hooks = {.hole = note_hole, .arg = check};
    if (!footer.is_sealed) { /* else its list says what is missing */
        hooks.bad = note_bad;
        hooks.lost = note_lost;
    }
    error = weir__segment_scan_with(&scan, fd, check->id, key, &hooks);
    if (error) {
        tell_segment(check, "it cannot be read", 0, 0, true);
    } else {
        if (footer.is_sealed)
            compare_footer(check, &footer, &scan);
        else
            take_unsealed(check, &scan, is_newest);
        weir__segment_forget(&scan);
    }
    weir__segment_forget(&footer);
}

static int take_segment(struct check *check, uint32_t id, bool is_newest)
{
    char name[WEIR__SEGMENT_NAME];
    struct stat st = {.st_size = 0};
    int result = check->hooks->progress
                     ? check->hooks->progress(check->hooks->arg, check->done, check->total)
                     : 0;
    if (result)
        return result;
    weir__segment_name(id, name);
    check->id = id;
    int fd = weir__sys_openat(check->store->segments_folder, name, O_RDONLY | O_NOFOLLOW, 0);
    if (fd < 0 || weir__sys_fstat(fd, &st) < 0)
        tell_segment(check, "it cannot be opened", 0, 0, true);
    else
        take_contents(check, fd, is_newest);
    weir__sys_close(fd);
    check->done += (uint64_t)st.st_size;
    return 0;
}

static int note_name(void *arg, const char *name)
{
    struct check *check = arg;
    struct stat st;
    uint32_t id = weir__segment_id(name);
    size_t length = strlen(name);
    if (id == 0) {
        check->report.put_aside += length > 4 && strcmp(name + length - 4, ".bad") == 0;
        return 0;
    }
    if (check->count == check->room) {
        size_t room = check->room ? 2 * check->room : 256;
        uint32_t *ids = weir__base_realloc(check->ids, room, sizeof(*ids));
        if (!ids)
            return -WEIR_E_NO_MEMORY;
        check->ids = ids;
        check->room = room;
    }
    check->ids[check->count++] = id;
    if (weir__sys_fstatat(check->store->segments_folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        check->total += (uint64_t)st.st_size;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* --- the index --- */

struct follow {
    struct check *check;
    struct weir__store_reader reader;
    uint64_t count;
    bool is_counting;
};

/* An entry that counts: its record must be there. */
static void follow_one(struct follow *follow, const struct weir__entry *entry)
{
    struct weir__store *store = follow->check->store;
    struct weir__segment *segment;
    follow->count++;
    if (follow->is_counting)
        return;
    int error = weir__segments_pin(&store->segments, entry->place.segment, &segment);
    if (!error) {
        error = weir__store_load(store, segment, entry, false, &follow->reader);
        weir__segments_unpin(&store->segments, segment);
    }
    if (error)
        tell_index(follow->check, entry, "the index leads to it, and it is not there");
}

static int follow_indexed(void *arg, const struct weir__entry *entry)
{
    struct follow *follow = arg;
    struct weir__entry newer;
    struct weir__tail *tail = follow->check->store->active;
    if (!tail || !weir__tail_get(tail, &entry->address, &newer))
        follow_one(follow, entry);
    return 0;
}

static int follow_all(struct follow *follow)
{
    struct weir__tail *tail = follow->check->store->active;
    size_t count = tail ? weir__tail_meanings(tail) : 0;
    struct weir__entry *entries = weir__base_alloc(count + 1, sizeof(*entries));
    if (!entries)
        return -WEIR_E_NO_MEMORY;
    if (tail)
        weir__tail_copy(tail, entries);
    follow->count = 0;
    for (size_t i = 0; i < count; i++)
        follow_one(follow, &entries[i]);
    weir__base_free(entries);
    return weir__index_walk(follow->check->store->index, NULL, follow_indexed, follow);
}

static int check_index(struct check *check)
{
    struct follow follow = {.check = check, .is_counting = true};
    int error = follow_all(&follow);
    if (error || follow.count == check->matched)
        return error;
    follow.is_counting = false;
    error = weir__store_reader_init(&follow.reader);
    if (!error)
        error = follow_all(&follow);
    weir__store_reader_fini(&follow.reader);
    return error;
}

int weir__store_check(struct weir__store *store, bool was_clean,
                      const struct weir__check_hooks *hooks, struct weir__check_report *ret_report)
{
    struct check check = {.store = store, .hooks = hooks, .was_clean = was_clean};
    int error = weir__disk_each(store->segments_folder, note_name, &check);
    if (check.count > 0)
        qsort(check.ids, check.count, sizeof(*check.ids), by_number);
    for (size_t i = 0; !error && i < check.count; i++)
        error = take_segment(&check, check.ids[i], i + 1 == check.count);
    if (!error && hooks->progress)
        error = hooks->progress(hooks->arg, check.done, check.total);
    /* What could not be read is not called missing as well. */
    if (!error && check.report.unreadable == 0)
        error = check_index(&check);
    weir__base_free(check.ids);
    if (!error)
        *ret_report = check.report;
    return error;
}
