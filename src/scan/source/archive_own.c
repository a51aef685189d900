/* archive_own.c - a container's own bytes, from its input to the parent.
 *
 * Looked at are all bytes of the input but its extents: what libarchive gave as a member's block
 * and lies in the block of the input that it was given, is the member's as it is stored. What it
 * has copied before is not known to be that, and scanned a second time; whoever keeps the findings
 * tells those once.
 */
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define KEPT       (256u << 10)
#define KEPT_MUCH  (KEPT / 2)
#define PIECE      (32u << 10)
#define EXTENTS    (1u << 17)
#define OVERLAP    (24u << 10) /* of a text that is given in two parts: more than a match has */
#define ALIVE_EACH (UINT64_C(1) << 24)

struct kept {
    uint64_t at, length;
    struct weir__archive_lines before;
};

void weir__archive_own_init(struct weir__archive_level *level)
{
    weir__buffer_init(&level->own.kept, KEPT);
    weir__buffer_init(&level->own.extents, EXTENTS * sizeof(struct weir__archive_extent));
    level->own.is_sorted = true;
    level->own.blocks_from = UINT64_MAX;
}

void weir__archive_own_fini(struct weir__archive_level *level)
{
    weir__buffer_fini(&level->own.kept);
    weir__buffer_fini(&level->own.extents);
}

/* --- to the parent --- */

static void note(struct weir__archive_trip *trip, int error)
{
    if (error)
        trip->is_stopped = true;
}

static void open_object(struct weir__archive_level *level)
{
    struct weir__archive_trip *trip = level->trip;
    note(trip,
         weir__archive_give_own(trip->giver, weir__buffer_text(&trip->path), level->path_length));
    level->own.end = 0;
    level->own.end_lines = (struct weir__archive_lines){0};
    level->own.is_open = true;
}

static void close_object(struct weir__archive_level *level)
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

/* Gives what was kept. Of a text that goes on its end is kept, so that what begins in it is found
 * as a whole next time; what is found twice there has one place. */
static void give_kept(struct weir__archive_level *level)
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
        open_object(level);
    for (size_t at = 0; at < length; at += (size_t)head.length) {
        memcpy(&head, bytes + at, sizeof(head));
        at += sizeof(head);
        give(level, head.at, &head.before, bytes + at, (size_t)head.length);
    }
    if (!was_open)
        close_object(level);
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
static bool may_give(const struct weir__archive_trip *trip)
{
    return !trip->is_in_member && !trip->is_muted && !trip->is_stopped;
}

static void put(void *arg, uint64_t at, const struct weir__archive_lines *before, const char *bytes,
                size_t length)
{
    struct weir__archive_level *level = arg;
    struct weir__archive_lines lines = *before;
    while (length > 0) {
        size_t part = length < PIECE ? length : PIECE;
        if (level->own.is_open) {
            give(level, at, &lines, bytes, part);
        } else if (!put_kept(&level->own, at, &lines, bytes, part)) {
            if (may_give(level->trip))
                give_kept(level);
            if (!put_kept(&level->own, at, &lines, bytes, part))
                level->own.is_lost = true;
        }
        weir__archive_lines_pass(&lines, at, bytes, part);
        at += part;
        bytes += part;
        length -= part;
    }
}

void weir__archive_own_flush(struct weir__archive_level *level)
{
    if (!may_give(level->trip))
        return;
    for (; level; level = level->input.member ? level->input.member->level : NULL)
        if (weir__buffer_length(&level->own.kept) > KEPT_MUCH)
            give_kept(level);
}

/* --- extents --- */

static struct weir__archive_extent *extents_of(const struct weir__archive_own *own,
                                               size_t *ret_count)
{
    *ret_count = weir__buffer_length(&own->extents) / sizeof(struct weir__archive_extent);
    return (struct weir__archive_extent *)(uintptr_t)weir__buffer_text(&own->extents);
}

void weir__archive_own_see(struct weir__archive_level *level, uint64_t at, const char *bytes,
                           size_t length)
{
    struct weir__archive_own *own = &level->own;
    if (level->format->id != WEIR__ARCHIVE_RPM || own->content_at > 0)
        return;
    own->block_lines = own->read_lines;
    weir__archive_lines_pass(&own->read_lines, at, bytes, length);
}

/* At that place of the last block is what follows the content's bytes that came as a copy: the
 * reader has had to look at them. */
static void note_content(struct weir__archive_level *level, uint64_t at)
{
    struct weir__archive_own *own = &level->own;
    const struct weir__archive_input *input = &level->input;
    if (level->format->id != WEIR__ARCHIVE_RPM || own->content_at > 0 || at < own->content_unmarked)
        return;
    own->content_at = at - own->content_unmarked;
    own->content_lines = own->block_lines;
    if (own->content_at > input->given_at)
        weir__archive_lines_pass(&own->content_lines, input->given_at, input->given,
                                 (size_t)(own->content_at - input->given_at));
}

void weir__archive_own_follow(struct weir__archive_level *level,
                              const struct weir__archive_level *outer)
{
    if (outer->format->id != WEIR__ARCHIVE_RPM || !outer->is_raw || !level->input.member)
        return;
    level->own.text.at = outer->own.content_at;
    level->own.text.lines = outer->own.content_lines;
}

void weir__archive_own_mark(struct weir__archive_level *level, const char *bytes, size_t length)
{
    struct weir__archive_own *own = &level->own;
    const struct weir__archive_input *input = &level->input;
    size_t count;
    uintptr_t block = (uintptr_t)input->given, from = (uintptr_t)bytes;
    if (!input->given || from < block || from - block >= input->given_length ||
        length > input->given_length - (from - block) || level->is_part) {
        own->content_unmarked += length;
        return;
    }
    struct weir__archive_extent extent = {.from = input->given_at + (from - block)};
    extent.until = extent.from + length;
    note_content(level, extent.from);
    struct weir__archive_extent *extents = extents_of(own, &count);
    if (count > 0 && extents[count - 1].until == extent.from) {
        extents[count - 1].until = extent.until;
        weir__archive_lines_pass(&extents[count - 1].lines, extent.from, bytes, length);
        return;
    }
    weir__archive_lines_pass(&extent.lines, extent.from, bytes, length);
    own->is_sorted = own->is_sorted && (count == 0 || extents[count - 1].until < extent.from);
    /* One that is not remembered is looked at again. */
    (void)!weir__buffer_append(&own->extents, &extent, sizeof(extent));
}

static void sift_down(struct weir__archive_extent *extents, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && extents[child + 1].from > extents[child].from)
            child++;
        if (extents[child].from <= extents[at].from)
            return;
        struct weir__archive_extent kept = extents[at];
        extents[at] = extents[child];
        extents[child] = kept;
    }
}

void weir__archive_extents_sort(struct weir__archive_extent *extents, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(extents, count, i);
    for (size_t i = count; i-- > 1;) {
        struct weir__archive_extent kept = extents[0];
        extents[0] = extents[i];
        extents[i] = kept;
        sift_down(extents, i, 0);
    }
}

/* The extent that the place is in, or the next one; or NULL. Places only grow. */
static const struct weir__archive_extent *extent_at(struct weir__archive_own *own, uint64_t at)
{
    size_t count;
    const struct weir__archive_extent *extents = extents_of(own, &count);
    while (own->extents_at < count && extents[own->extents_at].until <= at)
        own->extents_at++;
    return own->extents_at < count ? &extents[own->extents_at] : NULL;
}

/* --- looking --- */

/* The first bytes behind an end that are not zeros. */
static void take_after(struct weir__archive_own *own, const char *bytes, size_t length)
{
    if (own->after_length == 0)
        while (length > 0 && *bytes == '\0') {
            bytes++;
            length--;
        }
    size_t room = sizeof(own->after) - own->after_length;
    size_t part = length < room ? length : room;
    if (part > 0)
        memcpy(own->after + own->after_length, bytes, part);
    own->after_length += part;
}

/* The next bytes of a stream of frames; how many are of one kind. What is behind its last frame
 * shows itself by four bytes that are none. */
static size_t take_frames(struct weir__archive_own *own, const char *bytes, size_t length,
                          bool *ret_packed)
{
    bool was_over = weir__archive_blocks_is_over(&own->blocks);
    size_t part = weir__archive_blocks_next(&own->blocks, bytes, length, ret_packed);
    bool is_over = weir__archive_blocks_is_over(&own->blocks);
    if (is_over && !was_over)
        take_after(own, (const char *)own->blocks.few, sizeof(own->blocks.few));
    else if (is_over)
        take_after(own, bytes, part);
    return part;
}

static void look_at_plain(struct weir__archive_level *level, const char *bytes, size_t length)
{
    struct weir__archive_own *own = &level->own;
    const struct weir__archive_text_sink sink = {put, level};
    while (length > 0) {
        bool is_packed = false;
        uint64_t plain = own->blocks_from > own->text.at ? own->blocks_from - own->text.at : 0;
        size_t part = plain < length ? (size_t)plain : length;
        if (plain == 0)
            part = take_frames(own, bytes, length, &is_packed);
        if (is_packed)
            weir__archive_text_pass(&own->text, bytes, part);
        else
            weir__archive_text_feed(&own->text, bytes, part, &sink);
        bytes += part;
        length -= part;
    }
}

/* What was given as a member's is not looked at; but a frame may be around it. */
static void pass_stored(struct weir__archive_own *own, const char *bytes, size_t length)
{
    bool is_packed = false;
    bool is_framed = own->blocks_from <= own->text.at;
    weir__archive_text_pass(&own->text, bytes, length);
    while (is_framed && length > 0) {
        size_t part = take_frames(own, bytes, length, &is_packed);
        bytes += part;
        length -= part;
    }
}

static void look_at(struct weir__archive_level *level, uint64_t at, const char *bytes,
                    size_t length)
{
    while (length > 0) {
        const struct weir__archive_extent *extent = extent_at(&level->own, at);
        bool is_stored = extent && extent->from <= at;
        uint64_t until = !extent ? UINT64_MAX : is_stored ? extent->until : extent->from;
        size_t part = until - at < length ? (size_t)(until - at) : length;
        if (is_stored)
            pass_stored(&level->own, bytes, part);
        else
            look_at_plain(level, bytes, part);
        at += part;
        bytes += part;
        length -= part;
    }
}

void weir__archive_own_tap(struct weir__archive_level *level)
{
    struct weir__archive_own *own = &level->own;
    const struct weir__archive_input *input = &level->input;
    uint64_t at = input->given_at, end = at + input->given_length;
    if (!input->member || !input->given || end <= own->tapped)
        return;
    size_t from = own->tapped > at ? (size_t)(own->tapped - at) : 0;
    own->extents_at = 0;
    look_at(level, at + from, input->given + from, input->given_length - from);
    own->tapped = end;
    weir__buffer_truncate(&own->extents, 0);
    own->is_sorted = true;
    if (weir__buffer_length(&own->kept) > KEPT_MUCH && may_give(level->trip))
        give_kept(level);
}

/* --- the end --- */

static void count_quiet(struct weir__archive_trip *trip, size_t length)
{
    trip->quiet_bytes += length;
    if (trip->quiet_bytes < ALIVE_EACH)
        return;
    trip->quiet_bytes = 0;
    note(trip, weir__archive_give_alive(trip->giver));
}

/* All of an input that can be read again. */
static void look_again(struct weir__archive_level *level)
{
    struct weir__archive_own *own = &level->own;
    const char *bytes = NULL;
    size_t count, length;
    uint64_t at = 0;
    struct weir__archive_extent *extents = extents_of(own, &count);
    if (!own->is_sorted)
        weir__archive_extents_sort(extents, count);
    own->extents_at = 0;
    while (!level->trip->is_stopped) {
        const struct weir__archive_extent *extent = extent_at(own, at);
        if (extent && extent->from <= at) {
            uint64_t jumped = extent->until - at;
            /* It is in a block, of which it is known how long it is. */
            if (own->blocks_from <= at)
                own->blocks.left -= jumped < own->blocks.left ? jumped : own->blocks.left;
            at = extent->until;
            weir__archive_text_jump(&own->text, at, &extent->lines);
            continue;
        }
        length = weir__archive_look(&level->input, at, &bytes);
        if (length == 0)
            return;
        if (extent && extent->from - at < length)
            length = (size_t)(extent->from - at);
        look_at(level, at, bytes, length);
        at += length;
        count_quiet(level->trip, length);
    }
}

/* The rest of an input that passes by, within the limits for what is passed over. */
static void drain(struct weir__archive_level *level)
{
    struct weir__archive_trip *trip = level->trip;
    struct weir__archive_input *input = &level->input;
    struct weir__archive_own *own = &level->own;
    const char *bytes = NULL;
    size_t length;
    uint64_t unread = input->at > level->consumed ? input->at - level->consumed : 0;
    /* Where frames end, look_at() finds out. */
    bool has_frames =
        level->format->id == WEIR__ARCHIVE_ZSTD || level->format->id == WEIR__ARCHIVE_LZ4;
    if (input->given && unread <= input->given_length && !has_frames)
        take_after(own, input->given + input->given_length - unread, (size_t)unread);
    weir__archive_own_tap(level);
    while (!trip->is_stopped && trip->bytes <= trip->command->options.archive_bytes_max &&
           (length = weir__archive_member_pull(input->member, &bytes)) > 0) {
        if (!has_frames)
            take_after(own, bytes, length);
        trip->bytes += length;
        look_at(level, input->at, bytes, length);
        input->at += length;
    }
    size_t near_at;
    bool is_mixed = own->blocks.has_zstd && own->blocks.has_lz4;
    own->has_behind = own->after_length > 0 && weir__archive_is_end_known(level);
    own->has_archive =
        (own->has_behind && (weir__archive_format_of(own->after, own->after_length) ||
                             weir__archive_hidden_near(own->after, own->after_length, &near_at))) ||
        is_mixed;
}

void weir__archive_own_finish(struct weir__archive_level *level)
{
    struct weir__archive_trip *trip = level->trip;
    bool is_given = may_give(trip);
    if (level->is_part || trip->is_stopped)
        return;
    if (is_given) {
        open_object(level);
        give_kept(level);
    }
    if (level->input.member)
        drain(level);
    else if (is_given)
        look_again(level);
    if (is_given)
        close_object(level);
}
