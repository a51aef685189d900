/* recover.c - what a folder holds: its segments, and the index over them.
 *
 * The index is used as it is only if the store was closed cleanly and the file is, byte by byte,
 * what it was then. Otherwise it is made anew: the footers of sealed segments say what is in them,
 * and those without one are scanned. So the index can be lost, cut or changed, and nothing is
 * missed.
 *
 * A segment that a crash left without its footer is scanned; what stands behind its last whole
 * record is put aside and cut off. What was whole is made to last before anybody is told of it,
 * since nobody may have waited for that before. The newest segment is written further if it has
 * room.
 *
 * What the disk does not give is left as it is: a segment with holes is neither cut nor written
 * further, one of which nothing can be read is missing. The store is opened without that, and says
 * so; as long as records may lie there that nobody knows of, nobody is told that something is not
 * there (store.h), and the index is made anew next time.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_bulk.h"
#include "log.h"
#include "recover_part.h"
#include "sys.h"

#include "banned.h"

/* Above anything that the unreadable end of a store may have: each write that fails takes a number,
 * too. */
#define SEQUENCE_LEAP (UINT64_C(1) << 40)

/* --- which segments there are --- */

static int note_name(void *arg, const char *name)
{
    struct weir__found *found = arg;
    uint32_t id = weir__segment_id(name);
    size_t length = strlen(name);
    if (id == 0) {
        /* Put aside, by us: what was in it may still come back. */
        if (length > 4 && strcmp(name + length - 4, ".bad") == 0)
            found->store->keeps_deletions = found->store->has_aside = true;
        return 0;
    }
    if (found->count == found->room) {
        size_t room = found->room ? 2 * found->room : 256;
        uint32_t *ids = weir__base_realloc(found->ids, room, sizeof(*ids));
        if (!ids)
            return -WEIR_E_NO_MEMORY;
        found->ids = ids;
        found->room = room;
    }
    found->ids[found->count++] = id;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

bool weir__recover_has_id(const struct weir__found *found, uint32_t id)
{
    return found->count > 0 &&
           bsearch(&id, found->ids, found->count, sizeof(*found->ids), by_number) != NULL;
}

uint64_t weir__recover_size_of(struct weir__store *store, uint32_t id)
{
    char name[WEIR__SEGMENT_NAME];
    struct stat st;
    weir__segment_name(id, name);
    if (weir__sys_fstatat(store->segments_folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : UINT64_MAX;
    return (uint64_t)st.st_size;
}

void weir__recover_note_lost(struct weir__found *found, uint32_t id, uint64_t segments,
                             uint64_t bytes)
{
    struct weir__store_report *report = found->report;
    report->gaps.lost_segments += segments;
    report->gaps.lost_bytes += bytes;
    if (report->missing_first == 0)
        report->missing_first = id;
    weir_counter_add(&found->store->counts.damaged, 1);
}

/* --- segments --- */

/* A copy of what is damaged, or was left by a crash. */
static int keep_copy(struct weir__found *found, const struct weir__disk_file *file, uint64_t from,
                     uint64_t to, bool must_last)
{
    char name[WEIR__DISK_NAME_MAX + 16];
    if (found->store->is_read_only)
        return -WEIR_E_READ_ONLY;
    snprintf(name, sizeof(name), "%s.%08x", file->name, (unsigned)from);
    return weir__store_put_aside(found->store, file->fd, name, from, to, must_last);
}

static void note_unkept(struct weir__found *found, uint64_t *count, uint64_t bytes, int why)
{
    *count += bytes;
    if (found->report->unkept_why == 0)
        found->report->unkept_why = why;
}

/* What stands behind the last record has no copy, and stays. Some of it may be counted: it was
 * found, and not kept, when the segment was read. */
static void note_tail_left(struct weir__found *found, const struct weir__segment_content *content,
                           int why)
{
    uint64_t from = found->left_from > content->end ? found->left_from : content->end;
    uint64_t counted = found->left_to > from ? found->left_to - from : 0;
    if (counted < content->torn_bytes)
        note_unkept(found, &found->report->left_bytes, content->torn_bytes - counted, why);
}

/* What stands behind the last record goes, so that the segment can be written further, once there
 * is a copy that lasts. Mostly a crash has left it, and it is nobody's; but it may have been
 * damaged since, and an opening that knew that may have been killed as well. So what cannot be kept
 * stays where it is, and nothing is written behind it (*ret_is_clear). */
static int cut_tail(struct weir__found *found, struct weir__disk_file *file,
                    const struct weir__segment_content *content, bool *ret_is_clear)
{
    struct weir__store_report *report = found->report;
    int unkept = 0;
    if (content->file_size <= content->end)
        return 0;
    if (content->torn_bytes > 0)
        unkept = keep_copy(found, file, content->end, content->file_size, true);
    if (unkept) {
        note_tail_left(found, content, unkept);
        *ret_is_clear = false;
        return 0;
    }
    int error = weir__disk_cut(file, content->end);
    /* Whoever closed the store left nothing unfinished: it is told as damage then. */
    if (!error && !report->was_clean)
        report->torn_bytes += content->torn_bytes;
    return error;
}

static bool has_room(struct weir__store *store, const struct weir__segment_content *content)
{
    return !store->is_read_only && !content->is_sealed && !content->is_frail &&
           content->end < store->options.segment_bytes && content->count < WEIR__SEGMENT_COUNT;
}

static void note_unreadable(struct weir__found *found, uint32_t id)
{
    if (found->report->missing_first == 0)
        found->report->missing_first = id;
    weir_counter_add(&found->store->counts.damaged, 1);
}

/* Nothing of it can be read. */
static void note_missing(struct weir__found *found, uint32_t id)
{
    note_unreadable(found, id);
    found->report->gaps.missing_segments++;
}

/* What cannot be told any more may have been a deletion. An end that is missing is told already. */
static void note_lost_inside(struct weir__found *found, uint32_t id,
                             const struct weir__segment_content *content)
{
    uint64_t lost = content->lost_bytes;
    if (id == found->finished_id && found->report->gaps.lost_bytes == 0)
        lost += content->torn_bytes;
    found->lost_inside += lost;
    if (lost > 0 && found->report->missing_first == 0)
        found->report->missing_first = id;
}

static void note_content(struct weir__found *found, uint32_t id,
                         const struct weir__segment_content *content)
{
    struct weir__writer *writer = &found->store->writer;
    /* Whoever closed the store left nothing unfinished: it is damage then. */
    bool is_damage = content->torn_bytes > 0 && found->report->was_clean;
    /* What was never finished is nobody's. */
    uint64_t damaged = content->bad_records - content->left_records + is_damage;
    found->report->bad_records += damaged;
    weir_counter_add(&found->store->counts.damaged, damaged);
    if (is_damage && found->store->is_read_only)
        note_tail_left(found, content, -WEIR_E_READ_ONLY);
    if (content->sequence_max >= writer->next_sequence)
        writer->next_sequence = content->sequence_max + 1;
    found->report->gaps.unreadable_bytes += content->unreadable_bytes;
    found->report->gaps.hidden_bytes += content->hidden_bytes;
    if (content->unreadable_bytes > 0)
        note_unreadable(found, id);
    note_lost_inside(found, id, content);
}

/* What a crash has left between the records of the newest would be taken for damage, or damage for
 * it, as long as that has no list of its records: it gets one, and another segment is begun. Where
 * there is no room for that it is written further. */
static bool is_ended(struct weir__found *found, uint32_t id, struct weir__disk_file *file,
                     struct weir__segment_content *content)
{
    struct weir__store *store = found->store;
    if (!weir__segment_has_left(content) || store->is_read_only || content->is_frail ||
        content->is_sealed)
        return false;
    content->is_sealed = weir__segment_seal(file, id, &store->identity.key, content->records,
                                            content->count, content->end, 0) == 0;
    if (!content->is_sealed)
        (void)!weir__disk_cut(file, content->end);
    return content->is_sealed;
}

/* A segment whose records are whole: into the index, or as the active one. */
static int take_in(struct weir__found *found, uint32_t id, struct weir__disk_file *file,
                   struct weir__segment_content *content)
{
    struct weir__store *store = found->store;
    bool is_newest = id == found->ids[found->count - 1], is_clear = true;
    int error = 0;
    if (!content->is_sealed && !store->is_read_only) {
        error = content->is_frail ? 0 : cut_tail(found, file, content, &is_clear);
        if (!error)
            error = weir__disk_sync(file);
    }
    if (error)
        return error;
    /* What the index cannot take in, since nobody may write it, is found without it. */
    bool is_beside = store->is_read_only && !found->is_in_memory;
    if (is_clear && is_ended(found, id, file, content))
        is_clear = false;
    if (is_newest && ((is_clear && has_room(store, content)) || is_beside)) {
        error = weir__recover_end_bulk(found);
        return error ? error : weir__store_resume(store, id, file, content);
    }
    /* One that is written further gets a list of its records, and what is none is gone for good. */
    if (content->bad_records > content->left_records)
        store->keeps_deletions = true;
    struct weir__segment_facts facts = {
        .id = id, .size = content->end, .is_sealed = content->is_sealed};
    error = weir__segments_add(&store->segments, &facts, -1, false);
    if (error)
        return error;
    if (found->bulk)
        return weir__bulk_add(found->bulk, &facts, content->records, content->count);
    return weir__store_apply(store, id, content->end, content->is_sealed, content->records,
                             content->count);
}

static int open_file(struct weir__store *store, uint32_t id, struct weir__disk_file *ret_file)
{
    char name[WEIR__SEGMENT_NAME];
    weir__segment_name(id, name);
    if (!store->is_read_only)
        return weir__disk_open(ret_file, store->segments_folder, name);
    int fd = weir__sys_openat(store->segments_folder, name, O_RDONLY | O_NOFOLLOW, 0);
    if (fd < 0)
        return weir_error_from_errno(errno);
    *ret_file = (struct weir__disk_file){.fd = fd};
    snprintf(ret_file->name, sizeof(ret_file->name), "%s", name);
    return 0;
}

/* Who only reads can make it last as well, where a file system has anything to do for that (EINVAL:
 * it never has). If not, it is served, and vouched for to nobody. EROFS is no success: a file
 * system that is mounted to be read alone says 0, and one that gave up on a disk that fails says
 * EROFS of what it has in memory alone. */
static bool is_lasting(struct weir__found *found, struct weir__disk_file *file)
{
    struct weir__store *store = found->store;
    bool is = (weir__disk_sync(file) == 0 || errno == EINVAL) &&
              (weir__disk_sync_names(store->segments_folder) == 0 || errno == EINVAL);
    if (!is && found->report->doubt_errno == 0)
        found->report->doubt_errno = errno;
    store->is_doubtful = store->is_doubtful || !is;
    return is;
}

struct losing {
    struct weir__found *found;
    const struct weir__disk_file *file;
};

/* Nobody can tell any more what it was. */
static void keep_lost(void *arg, uint64_t from, uint64_t to)
{
    const struct losing *losing = arg;
    struct weir__found *found = losing->found;
    int unkept = keep_copy(found, losing->file, from, to, false);
    if (!unkept)
        return;
    note_unkept(found, &found->report->left_bytes, to - from, unkept);
    found->left_from = from == found->left_to ? found->left_from : from;
    found->left_to = to;
}

/* It is known by its head, and nobody is told that it is there. */
static void note_wrong(void *arg, const struct weir__entry *entry)
{
    const struct losing *losing = arg;
    struct weir__found *found = losing->found;
    if (!found->wrong_error)
        found->wrong_error = weir__store_wrong_add(found->store, entry);
}

/* What it holds, on the disk. After a sudden end the kernel may still show what it failed to write
 * for whoever was there before: it tells such a failure once, and keeps the page as if it were
 * written. So what is not on its way to the disk any more is read from there. That it cannot be
 * synced is no matter of reading: nobody knows then what is there. */
static int load_anew(struct weir__found *found, struct weir__disk_file *file, uint32_t id,
                     struct weir__segment_content *content, bool *ret_is_unreadable)
{
    struct weir__store *store = found->store;
    const struct weir__record_key *key = &store->identity.key;
    struct losing losing = {found, file};
    const struct weir__scan_hooks hooks = {.lost = keep_lost, .wrong = note_wrong, .arg = &losing},
                                  none = {.lost = NULL};
    bool was_clean = found->report->was_clean;
    int error = weir__segment_load_with(content, file->fd, id, key, id == found->finished_id,
                                        was_clean ? &hooks : &none);
    if (!error && !content->is_sealed && !was_clean) {
        bool may_last = !store->is_read_only || is_lasting(found, file);
        weir__segment_forget(content);
        error = store->is_read_only ? 0 : weir__disk_sync(file);
        if (error)
            return error;
        if (may_last)
            (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
        error = weir__segment_load_with(content, file->fd, id, key, false, &hooks);
    }
    *ret_is_unreadable = error == -WEIR_E_IO;
    return error ? error : found->wrong_error;
}

static int read_segment(struct weir__found *found, uint32_t id)
{
    struct weir__store *store = found->store;
    struct weir__segment_content content = {.records = NULL};
    struct weir__disk_file file;
    bool is_unreadable = false;
    int error = open_file(store, id, &file);
    found->left_from = found->left_to = 0;
    if (error == -WEIR_E_IO) {
        note_missing(found, id);
        return 0;
    }
    if (error)
        return weir__store_fail(error, "cannot open segment %08x: %s", id, weir__log_reason(errno));
    error = load_anew(found, &file, id, &content, &is_unreadable);
    if (is_unreadable) {
        note_missing(found, id);
        error = 0;
    } else if (error == -WEIR_E_CORRUPT) {
        found->report->bad_segments++;
        store->keeps_deletions = store->has_aside = true;
        error = weir__store_segment_make_way(store, id, &found->report->bad_left);
    } else if (!error && content.end == 0) {
        /* Its creation was cut short: it never had a record. */
        if (!store->is_read_only && !content.is_frail)
            error = weir__disk_remove(store->segments_folder, file.name);
    } else if (!error) {
        note_content(found, id, &content);
        error = take_in(found, id, &file, &content);
    }
    weir__segment_forget(&content);
    weir__sys_close(file.fd);
    return error ? weir__store_fail(error, "cannot take in segment %08x: %s", id,
                                    weir_error_text(error))
                 : 0;
}

static int read_segments(struct weir__found *found)
{
    struct weir__segment_facts facts;
    int error = 0;
    for (size_t i = 0; !error && i < found->count; i++) {
        bool is_known = weir__segments_next(&found->store->segments, found->ids[i] - 1, &facts) &&
                        facts.id == found->ids[i];
        if (!is_known)
            error = read_segment(found, found->ids[i]);
    }
    return error ? error : weir__recover_end_bulk(found);
}

/* All that will be found again. What was cut off or put aside will not be. */
static void forget_findings(struct weir__found *found)
{
    struct weir__store_report *report = found->report;
    found->lost_inside = 0;
    weir__store_wrong_forget(found->store);
    report->bad_records = report->left_bytes = 0;
    report->bad_segments -= report->bad_left;
    report->bad_left = 0;
    report->gaps.missing_segments = 0;
    report->gaps.unreadable_bytes = report->gaps.hidden_bytes = 0;
}

/* Once more, one by one: there are too many records of some addresses to gather them. */
static int read_one_by_one(struct weir__found *found)
{
    int error = weir__recover_drop_known(found->store);
    forget_findings(found);
    return error ? error : read_segments(found);
}

/* Once more, with an index in memory: the one on the disk cannot be brought up to date. */
static int read_all_again(struct weir__found *found)
{
    struct weir__store *store = found->store;
    struct weir__store_report *report = found->report;
    weir__index_free(store->index);
    store->index = NULL;
    int error = weir__recover_drop_known(store);
    if (error)
        return error;
    /* What was made of it, to give its room back. */
    if (!store->is_read_only)
        (void)!weir__index_remove(store->folder, WEIR__RECOVER_INDEX);
    found->known = 0;
    forget_findings(found);
    report->index_was_rebuilt = true;
    report->index_why =
        store->is_read_only ? "it misses segments and cannot be written" : WEIR__RECOVER_NO_ROOM;
    error = weir__recover_index_in_memory(found);
    return error ? error : read_segments(found);
}

static void count_chunks(struct weir__store *store, struct weir__store_report *report)
{
    struct weir__segments_stats segments;
    weir__segments_read(&store->segments, &segments);
    report->segments = segments.count;
    weir__store_note_index(store);
    store->chunk_count += (int64_t)store->index_stats.chunks;
    report->chunks = (uint64_t)store->chunk_count;
}

/* What was there when it was closed. The index tells of the others. */
static void check_newest(struct weir__found *found, const struct weir__store_mark *mark)
{
    uint32_t id = found->newest_id = mark->newest_id;
    if (!mark->is_clean || id == 0)
        return;
    found->finished_id = mark->newest_is_finished ? id : 0;
    uint64_t size = weir__recover_size_of(found->store, id);
    if (!weir__recover_has_id(found, id))
        weir__recover_note_lost(found, id, 1, 0);
    else if (size < mark->newest_size)
        weir__recover_note_lost(found, id, 0, mark->newest_size - size);
}

/* Those of which the index knows nothing, since it was lost as well. */
static void count_lost(struct weir__found *found, const struct weir__store_mark *mark)
{
    uint64_t *lost = &found->report->gaps.lost_segments;
    if (mark->is_clean && mark->segments > found->count && *lost < mark->segments - found->count)
        *lost = mark->segments - found->count;
}

/* Records may be there that nobody knows of. */
static void note_gaps(struct weir__found *found, const struct weir__store_mark *mark)
{
    struct weir__store *store = found->store;
    found->report->gaps.lost_bytes += found->lost_inside;
    found->report->lost_inside = found->lost_inside;
    store->gaps = found->report->gaps;
    if (store->gaps.missing_segments + store->gaps.hidden_bytes + store->gaps.lost_segments +
            store->gaps.lost_bytes >
        0)
        store->keeps_deletions = true;
    if (store->gaps.missing_segments + store->gaps.hidden_bytes == 0)
        return;
    store->has_hidden = store->is_unclean = true;
    /* What is written now must count when they are back. */
    if (!mark->is_clean && store->writer.next_sequence < UINT64_MAX / 2)
        store->writer.next_sequence += SEQUENCE_LEAP;
    store->certain_from = store->writer.next_sequence;
}

static int recover_folder(struct weir__found *found)
{
    struct weir__store *store = found->store;
    struct weir__store_mark mark;
    bool is_aside;
    int error = weir__disk_each(store->segments_folder, note_name, found);
    if (error)
        return weir__store_fail(error, "cannot list its segments: %s", weir_error_text(error));
    if (found->count > 0)
        qsort(found->ids, found->count, sizeof(*found->ids), by_number);
    weir__store_mark_read(store, &mark);
    found->report->was_clean = mark.is_clean || found->report->is_new;
    if (mark.keeps_deletions)
        store->keeps_deletions = true;
    store->writer.next_sequence = mark.next_sequence > 0 ? mark.next_sequence : 1;
    store->writer.next_id = mark.next_id > 0 ? mark.next_id : 1;
    if (found->count > 0 && found->ids[found->count - 1] >= store->writer.next_id)
        store->writer.next_id = found->ids[found->count - 1] + 1;
    check_newest(found, &mark);
    weir__store_quarantine_open(store);
    error = weir__store_index_make_way(store, &is_aside);
    if (error)
        return error;
    error = weir__recover_start_index(found, &mark, is_aside);
    if (error)
        return weir__store_fail(error, "cannot make its index: %s", weir_error_text(error));
    count_lost(found, &mark);
    error = read_segments(found);
    if (error == -WEIR_E_OVERFLOW && !store->active)
        error = read_one_by_one(found);
    /* The newest, which may have become the active one, is the last and needs no room. */
    if (error && !found->is_in_memory && !store->active &&
        (error == -WEIR_E_NO_SPACE || error == -WEIR_E_IO || store->is_read_only))
        error = read_all_again(found);
    if (!error)
        note_gaps(found, &mark);
    /* From here on a crash is to be seen as one. Taking the mark away needs no room. */
    if (!error && !store->is_read_only && weir__store_mark_remove(store))
        error =
            weir__store_fail(-WEIR_E_IO, "cannot mark it as in use: %s", weir__log_reason(errno));
    return error;
}

int weir__store_recover(struct weir__store *store, struct weir__store_report *report)
{
    struct weir__found found = {.store = store, .report = report};
    int error;
    if (store->segments_folder >= 0) {
        error = recover_folder(&found);
    } else {
        store->writer.next_sequence = store->writer.next_id = 1;
        error =
            weir__index_new(&store->index, (size_t)(store->options.memory_max / WEIR__RECORD_HEAD));
    }
    weir__base_free(found.ids);
    weir__bulk_free(found.bulk);
    if (!error)
        count_chunks(store, report);
    return error;
}
