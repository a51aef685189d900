/* archive_own.c - a container's own bytes, from its input to the parent.
 *
 * The way of a byte: the input is gone through once (look_again() reads it again, tap() and drain()
 * see it pass by), extents are passed over (archive_extents.c), and so are packed blocks
 * (archive_blocks.c); texts in the rest are found (archive_text.c), kept until they can be given
 * (archive_kept.c), and given. What stands behind the end of an input that passes by is looked at
 * for another archive besides (archive_after.c).
 */
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define ALIVE_EACH (UINT64_C(1) << 24)

void weir__archive_own_init(struct weir__archive_level *level)
{
    weir__archive_kept_init(&level->own);
    weir__archive_extents_init(&level->own);
    weir__archive_after_init(&level->own);
    level->own.blocks_from = UINT64_MAX;
}

void weir__archive_own_fini(struct weir__archive_level *level)
{
    weir__buffer_fini(&level->own.kept);
    weir__buffer_fini(&level->own.extents);
    weir__buffer_fini(&level->own.after);
}

void weir__archive_own_flush(struct weir__archive_level *level)
{
    for (; level; level = level->input.member ? level->input.member->level : NULL)
        weir__archive_kept_give_much(level);
}

/* --- looking --- */

/* The next bytes of a stream of frames; how many are of one kind. What is behind its last frame
 * shows itself by four bytes that are none. */
static size_t take_frames(struct weir__archive_own *own, const char *bytes, size_t length,
                          bool *ret_packed)
{
    bool was_over = weir__archive_blocks_is_over(&own->blocks);
    size_t part = weir__archive_blocks_next(&own->blocks, bytes, length, ret_packed);
    bool is_over = weir__archive_blocks_is_over(&own->blocks);
    if (is_over && !was_over)
        weir__archive_after_add(own, (const char *)own->blocks.few, sizeof(own->blocks.few));
    else if (is_over)
        weir__archive_after_add(own, bytes, part);
    return part;
}

static void look_at_plain(struct weir__archive_level *level, const char *bytes, size_t length)
{
    struct weir__archive_own *own = &level->own;
    const struct weir__archive_text_sink sink = {weir__archive_kept_put, level};
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

#define FIELD_MARK 4u /* of a field on a disk: its name, length and version */

/* The length of the target of a link on a disk, as a field of its entry: SL, length, version and
 * flags, and then parts with flags and lengths of their own. 0: it is none. */
static size_t target_length(const char *bytes, size_t length)
{
    const unsigned char *field = (const unsigned char *)bytes;
    size_t at = FIELD_MARK + 1, end = length > at ? field[2] : 0;
    if (end <= at || end > length || memcmp(bytes, "SL", 2) != 0 || field[3] != 1 || field[4] > 1)
        return 0;
    while (at + 2 <= end)
        at += 2 + (size_t)field[at + 1];
    return at == end ? end : 0;
}

/* Behind the target of a link the mark of the next field would be read as more of it. */
static void look_at_disk(struct weir__archive_level *level, const char *bytes, size_t length)
{
    const char *end = bytes + length;
    for (const char *from = bytes; (from = memmem(from, (size_t)(end - from), "SL", 2)); from++) {
        size_t target = target_length(from, (size_t)(end - from));
        if (target == 0)
            continue;
        from += target;
        look_at_plain(level, bytes, (size_t)(from - bytes));
        size_t mark = (size_t)(end - from) < FIELD_MARK ? (size_t)(end - from) : FIELD_MARK;
        weir__archive_text_pass(&level->own.text, from, mark);
        bytes = from += mark;
        if (from == end)
            return;
        from--;
    }
    look_at_plain(level, bytes, (size_t)(end - bytes));
}

static void look_at(struct weir__archive_level *level, uint64_t at, const char *bytes,
                    size_t length)
{
    bool is_disk = level->format->id == WEIR__ARCHIVE_ISO && level->own.blocks_from == UINT64_MAX;
    while (length > 0) {
        const struct weir__archive_extent *extent = weir__archive_extents_at(&level->own, at);
        bool is_stored = extent && extent->from <= at;
        uint64_t until = !extent ? UINT64_MAX : is_stored ? extent->until : extent->from;
        size_t part = until - at < length ? (size_t)(until - at) : length;
        if (is_stored)
            pass_stored(&level->own, bytes, part);
        else if (is_disk)
            look_at_disk(level, bytes, part);
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
    weir__archive_extents_start(own);
    look_at(level, at + from, input->given + from, input->given_length - from);
    own->tapped = end;
    weir__archive_extents_forget(own);
    weir__archive_kept_give_much(level);
}

/* --- the end --- */

static void count_quiet(struct weir__archive_trip *trip, size_t length)
{
    trip->quiet_bytes += length;
    if (trip->quiet_bytes < ALIVE_EACH)
        return;
    trip->quiet_bytes = 0;
    if (weir__archive_give_alive(trip->giver) != 0)
        trip->is_stopped = true;
}

/* All of an input that can be read again. */
static void look_again(struct weir__archive_level *level)
{
    struct weir__archive_own *own = &level->own;
    const char *bytes = NULL;
    size_t length;
    uint64_t at = 0;
    weir__archive_extents_start(own);
    while (!level->trip->is_stopped) {
        const struct weir__archive_extent *extent = weir__archive_extents_at(own, at);
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

/* Whether the level finds out by its frames where they end. */
static bool has_frames(const struct weir__archive_level *level)
{
    return level->format->id == WEIR__ARCHIVE_ZSTD || level->format->id == WEIR__ARCHIVE_LZ4;
}

/* What of the last block the reader has left. All before it was read to be understood. */
static void take_unread(struct weir__archive_level *level)
{
    const struct weir__archive_input *input = &level->input;
    uint64_t unread = input->at > level->consumed ? input->at - level->consumed : 0;
    if (unread > input->given_length)
        unread = input->given_length;
    if (unread > 0)
        weir__archive_after_add(&level->own, input->given + input->given_length - unread,
                                (size_t)unread);
}

/* The rest of an input that passes by, within the limits for what is passed over. */
static void drain(struct weir__archive_level *level)
{
    struct weir__archive_trip *trip = level->trip;
    struct weir__archive_input *input = &level->input;
    struct weir__archive_own *own = &level->own;
    const char *bytes = NULL;
    size_t length;
    bool is_framed = has_frames(level);
    if (!is_framed)
        take_unread(level);
    weir__archive_own_tap(level);
    while (!trip->is_stopped && trip->bytes <= trip->command->options.archive_bytes_max) {
        uint64_t hole = weir__archive_member_hole(input->member);
        if (hole > 0) {
            input->at += hole;
            weir__archive_text_jump(&own->text, input->at, &(struct weir__archive_lines){0});
        }
        length = weir__archive_member_pull(input->member, &bytes);
        if (length == 0)
            break;
        if (!is_framed)
            weir__archive_after_add(own, bytes, length);
        trip->bytes += length;
        look_at(level, input->at, bytes, length);
        input->at += length;
    }
    weir__archive_after_end(level);
}

void weir__archive_own_finish(struct weir__archive_level *level)
{
    struct weir__archive_trip *trip = level->trip;
    bool is_given = weir__archive_kept_may_give(trip);
    if (level->is_part || trip->is_stopped)
        return;
    if (is_given) {
        weir__archive_kept_open(level);
        weir__archive_kept_give(level);
    }
    if (level->input.member)
        drain(level);
    else if (is_given)
        look_again(level);
    if (is_given)
        weir__archive_kept_close(level);
}
