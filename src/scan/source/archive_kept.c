/* archive_kept.c - the texts of a container, on their way to the parent.
 *
 * A text can be given when the parent is at no member, and while the object of its container is
 * open. Until then it is kept, behind its place, its length and the lines before it; texts that
 * touch become one. What is given early, since there is much of it, is an object by itself: each
 * skips to the places of its texts, so that all of them together are one text of the container.
 */
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define KEPT      (256u << 10)
#define KEPT_MUCH (KEPT / 2)
#define PIECE     (32u << 10)
#define OVERLAP   (24u << 10) /* of a text that is given in two parts: more than a match has */

struct kept {
    uint64_t at, length;
    struct weir__archive_lines before;
};

void weir__archive_kept_init(struct weir__archive_own *own)
{
    weir__buffer_init(&own->kept, KEPT);
}

/* --- giving --- */

static void note(struct weir__archive_trip *trip, int error)
{
    if (error)
        trip->is_stopped = true;
}

void weir__archive_kept_open(struct weir__archive_level *level)
{
    struct weir__archive_trip *trip = level->trip;
    note(trip,
         weir__archive_give_own(trip->giver, weir__buffer_text(&trip->path), level->path_length));
    level->own.end = 0;
    level->own.end_lines = (struct weir__archive_lines){0};
    level->own.is_open = true;
}

void weir__archive_kept_close(struct weir__archive_level *level)
{
    note(level->trip, weir__archive_give_end(level->trip->giver, true));
    level->own.is_open = false;
}

/* What lies before the place and was not given. */
static struct weir__archive_skip skip_to(const struct weir__archive_own *own, uint64_t at,
                                         const struct weir__archive_lines *before)
{
    struct weir__archive_skip skip = {.length = at - own->end};
    if (before->count > own->end_lines.count && before->start > own->end && before->start <= at) {
        skip.lines = before->count - own->end_lines.count;
        skip.behind = at - before->start;
    }
    /* Where parts overlap, lines may have been counted twice. */
    if (skip.lines > skip.length - skip.behind)
        skip.lines = skip.length - skip.behind;
    return skip;
}

static void give(struct weir__archive_level *level, uint64_t at,
                 const struct weir__archive_lines *before, const char *bytes, size_t length)
{
    struct weir__archive_own *own = &level->own;
    struct weir__archive_trip *trip = level->trip;
    if (trip->is_stopped)
        return;
    if (length > trip->command->options.archive_bytes_max - trip->own_bytes) {
        own->is_lost = true;
        return;
    }
    if (at > own->end) {
        struct weir__archive_skip skip = skip_to(own, at, before);
        note(trip, weir__archive_give_skip(trip->giver, &skip));
    }
    note(trip, weir__archive_give_bytes(trip->giver, bytes, length));
    trip->own_bytes += length;
    own->end = at + length;
    own->end_lines = *before;
    weir__archive_lines_pass(&own->end_lines, at, bytes, length);
}

/* --- keeping --- */

static bool put_kept(struct weir__archive_own *own, uint64_t at,
                     const struct weir__archive_lines *before, const char *bytes, size_t length)
{
    struct kept head = {at, length, *before};
    size_t had = weir__buffer_length(&own->kept);
    bool is_same = had > 0 && own->end == at;
    if (weir__buffer_reserve(&own->kept, sizeof(head) + length) != 0)
        return false;
    if (is_same) {
        char *last = (char *)(uintptr_t)weir__buffer_text(&own->kept) + own->last;
        memcpy(&head, last, sizeof(head));
        head.length += length;
        memcpy(last, &head, sizeof(head));
    } else {
        own->last = had;
        (void)!weir__buffer_append(&own->kept, &head, sizeof(head));
    }
    (void)!weir__buffer_append(&own->kept, bytes, length); /* there is room */
    own->end = at + length;
    return true;
}

/* Of a text that goes on its end is kept, so that what begins in it is found as a whole next time;
 * what is found twice there has one place. */
void weir__archive_kept_give(struct weir__archive_level *level)
{
    struct weir__archive_own *own = &level->own;
    char tail[OVERLAP];
    const char *bytes = weir__buffer_text(&own->kept);
    size_t length = weir__buffer_length(&own->kept), tail_length = 0;
    bool was_open = own->is_open;
    struct kept head = {0};
    uint64_t end = own->end;
    if (length == 0)
        return;
    if (!was_open)
        weir__archive_kept_open(level);
    for (size_t at = 0; at < length; at += (size_t)head.length) {
        memcpy(&head, bytes + at, sizeof(head));
        at += sizeof(head);
        give(level, head.at, &head.before, bytes + at, (size_t)head.length);
    }
    if (!was_open)
        weir__archive_kept_close(level);
    if (own->text.is_in_text && !was_open) {
        tail_length = head.length < OVERLAP ? (size_t)head.length : OVERLAP;
        memcpy(tail, bytes + length - tail_length, tail_length);
    }
    struct weir__archive_lines before = head.before;
    weir__archive_lines_pass(&before, head.at, bytes + length - (size_t)head.length,
                             (size_t)head.length - tail_length);
    weir__buffer_truncate(&own->kept, 0);
    if (tail_length > 0)
        (void)!put_kept(own, end - tail_length, &before, tail, tail_length); /* there is room */
}

/* What earlier children may have given is kept until it is known: what is given twice is told
 * once. */
bool weir__archive_kept_may_give(const struct weir__archive_trip *trip)
{
    return !trip->is_in_member && !trip->is_muted && !trip->is_stopped;
}

void weir__archive_kept_put(void *arg, uint64_t at, const struct weir__archive_lines *before,
                            const char *bytes, size_t length)
{
    struct weir__archive_level *level = arg;
    struct weir__archive_lines lines = *before;
    while (length > 0) {
        size_t part = length < PIECE ? length : PIECE;
        if (level->own.is_open) {
            give(level, at, &lines, bytes, part);
        } else if (!put_kept(&level->own, at, &lines, bytes, part)) {
            if (weir__archive_kept_may_give(level->trip))
                weir__archive_kept_give(level);
            if (!put_kept(&level->own, at, &lines, bytes, part))
                level->own.is_lost = true;
        }
        weir__archive_lines_pass(&lines, at, bytes, part);
        at += part;
        bytes += part;
        length -= part;
    }
}

void weir__archive_kept_give_much(struct weir__archive_level *level)
{
    if (weir__buffer_length(&level->own.kept) > KEPT_MUCH &&
        weir__archive_kept_may_give(level->trip))
        weir__archive_kept_give(level);
}
