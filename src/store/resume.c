/* resume.c - the newest segment, to be written further by who opens the store.
 *
 * Its records are in no index yet: they are its tail, as if this process had written them.
 */
#include <errno.h>
#include <fcntl.h>

#include <weir/error.h>

#include "store_part.h"
#include "sys.h"

#include "banned.h"

/* What a record of the newest segment means. It is younger than all that the index has, unless it
 * was moved: then what came after it may lie before it, in a segment that nobody could read when it
 * was. */
static int meaning_of(struct weir__store *store, const struct weir__tail *tail,
                      const struct weir__entry *record, bool is_moved,
                      struct weir__entry *ret_meaning)
{
    struct weir__entry known;
    bool is_touch = record->type == WEIR__RECORD_TOUCHED;
    *ret_meaning = *record;
    if (!is_touch && !is_moved)
        return 0;
    int error = is_touch && weir__tail_get(tail, &record->address, &known)
                    ? 0
                    : weir__index_get(store->index, &record->address, &known);
    if (error && error != -WEIR_E_NOT_FOUND)
        return error;
    if (!is_touch) {
        if (!error && weir__entry_is_newer(&known, record))
            *ret_meaning = known;
        return 0;
    }
    /* Of a chunk that is gone: it means nothing, and the chunk's own record stands. */
    if (error)
        known = (struct weir__entry){.type = WEIR__RECORD_DELETED,
                                     .address = record->address,
                                     .sequence = record->sequence,
                                     .place = record->place,
                                     .size = record->size};
    if (known.type == WEIR__RECORD_CHUNK && known.time_s < record->time_s)
        known.time_s = record->time_s;
    *ret_meaning = known;
    return 0;
}

/* What counted for the address before the record did, if it was a chunk. An index that cannot tell
 * costs numbers that are not right until the segment is sealed. */
static bool has_chunk_before(struct weir__store *store, const struct weir__tail *tail,
                             const struct weir__entry *record, struct weir__entry *ret_chunk)
{
    bool is_known = weir__tail_get(tail, &record->address, ret_chunk) ||
                    weir__index_get(store->index, &record->address, ret_chunk) == 0;
    return is_known && ret_chunk->type == WEIR__RECORD_CHUNK;
}

/* A record more. What it ends, or it itself if something newer is known, is dead. */
static void take_record(struct weir__store *store, struct weir__tail *tail,
                        const struct weir__entry *record, const struct weir__entry *meaning)
{
    struct weir__entry before;
    bool had_chunk = has_chunk_before(store, tail, record, &before);
    bool counts = record->place.segment == meaning->place.segment &&
                  record->place.offset == meaning->place.offset;
    if (counts && had_chunk)
        weir__tail_kill(tail, &before);
    else if (!counts && record->type == WEIR__RECORD_CHUNK)
        weir__tail_kill(tail, record);
    store->chunk_count += (meaning->type == WEIR__RECORD_CHUNK) - had_chunk;
    weir__tail_add(tail, record, meaning);
}

int weir__store_resume(struct weir__store *store, uint32_t id, struct weir__disk_file *file,
                       const struct weir__segment_content *content)
{
    struct weir__segment_facts facts = {.id = id, .size = content->end};
    struct weir__tail *tail = NULL;
    uint64_t bytes = 0;
    int fd, error = weir__tail_new(&tail, id);
    if (!error)
        error = weir__tail_reserve(tail, content->count, NULL);
    store->chunk_count = 0; /* more, or fewer, than the index has */
    for (size_t i = 0; !error && i < content->count; i++) {
        const struct weir__entry *record = &content->records[i];
        struct weir__entry meaning;
        bool is_moved = content->sequence_begin == 0 || record->sequence < content->sequence_begin;
        error = meaning_of(store, tail, record, is_moved, &meaning);
        if (error)
            break;
        take_record(store, tail, record, &meaning);
        bytes += weir__record_span(record->size);
    }
    if (!error && (fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0)) < 0)
        error = weir_error_from_errno(errno);
    if (!error && (error = weir__segments_add(&store->segments, &facts, fd, false)))
        weir__sys_close(fd);
    if (!error)
        error = weir__segments_pin(&store->segments, id, &store->writer.pin);
    if (error) {
        weir__tail_free(tail);
        return error;
    }
    tail->end = content->end;
    store->active = tail;
    weir__segments_grow(&store->segments, id, bytes);
    weir__store_doom(store, tail, 0);
    store->writer.file = *file;
    file->fd = -1;
    store->writer.id = id;
    store->writer.end = content->end;
    store->writer.has_leftovers = weir__segment_has_left(content);
    return 0;
}
