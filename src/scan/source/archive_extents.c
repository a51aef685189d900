/* archive_extents.c - which bytes of an input were given as those of stored members.
 *
 * What libarchive gave as a member's block and lies in the block of the input that it was given, is
 * the member's as it is stored. What it has copied before is not known to be that, and scanned a
 * second time; whoever keeps the findings tells those once.
 *
 * The content of an rpm goes on in the same file: where that begins is known from the first of its
 * blocks that was not copied.
 */
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define EXTENTS (1u << 17)

void weir__archive_extents_init(struct weir__archive_own *own)
{
    weir__buffer_init(&own->extents, EXTENTS * sizeof(struct weir__archive_extent));
    own->is_sorted = true;
}

static struct weir__archive_extent *all_of(const struct weir__archive_own *own, size_t *ret_count)
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
    struct weir__archive_extent *extents = all_of(own, &count);
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

void weir__archive_own_mark_target(struct weir__archive_level *level, const char *target,
                                   size_t length)
{
    const struct weir__archive_input *input = &level->input;
    uint64_t packed = weir__archive_level_packed(level);
    /* Whoever seeks counts from the beginning of the input, others from that of the archive. */
    const uint64_t ends[] = {packed, level->start + packed};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        uint64_t at = ends[i] - length;
        if (!input->given || ends[i] < length || at < input->given_at ||
            ends[i] > input->given_at + input->given_length)
            continue;
        const char *bytes = input->given + (at - input->given_at);
        if (memcmp(bytes, target, length) != 0)
            continue;
        weir__archive_own_mark(level, bytes, length);
        return;
    }
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

const struct weir__archive_extent *weir__archive_extents_at(struct weir__archive_own *own,
                                                            uint64_t at)
{
    size_t count;
    const struct weir__archive_extent *extents = all_of(own, &count);
    while (own->extents_at < count && extents[own->extents_at].until <= at)
        own->extents_at++;
    return own->extents_at < count ? &extents[own->extents_at] : NULL;
}

void weir__archive_extents_start(struct weir__archive_own *own)
{
    size_t count;
    struct weir__archive_extent *extents = all_of(own, &count);
    if (!own->is_sorted)
        weir__archive_extents_sort(extents, count);
    own->is_sorted = true;
    own->extents_at = 0;
}

void weir__archive_extents_forget(struct weir__archive_own *own)
{
    weir__buffer_truncate(&own->extents, 0);
    own->is_sorted = true;
}
