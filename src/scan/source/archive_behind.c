/* archive_behind.c - what libarchive leaves unread without a word.
 *
 * A reader of members behind each other stops at the mark that ends them, whatever follows: a
 * second archive (the two halves of an initial ramdisk), or bytes that somebody put there, which
 * are the container's own. A reader of zip passes over entries of the directory that are damaged,
 * and does without a directory that was cut off. These are found here by counting, and by where an
 * archive says that it ends.
 */
#include <stdio.h>
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define ZIP_COUNT_AT    10u
#define ZIP_COUNT_LARGE 0xffffu /* stands elsewhere */
#define ZIP_END_BYTES   22u
#define SEVEN_HEAD      32u
/* In the first descriptor of an image of a disk. */
#define ISO_BEGINS        32768u
#define ISO_BLOCKS_AT     (ISO_BEGINS + 80u)
#define ISO_BLOCK_SIZE_AT (ISO_BEGINS + 128u)

size_t weir__archive_look(struct weir__archive_input *input, uint64_t at, const char **ret_bytes)
{
    uint64_t left = at < input->size ? input->size - at : 0;
    size_t length = left < WEIR__ARCHIVE_BLOCK ? (size_t)left : WEIR__ARCHIVE_BLOCK;
    if (length == 0)
        return 0;
    if (input->memory) {
        *ret_bytes = input->memory + at;
        return length;
    }
    ssize_t got = input->spilled
                      ? weir__archive_spill_read(input->spilled, input->base + at, ret_bytes)
                      : weir__archive_file_read(input->trip, input->base + at, ret_bytes);
    return got <= 0 ? 0 : (size_t)got < length ? (size_t)got : length;
}

static size_t read_input(void *arg, uint64_t at, char *bytes, size_t length)
{
    const char *found = NULL;
    size_t got = weir__archive_look(arg, at, &found);
    got = got < length ? got : length;
    if (got > 0)
        memcpy(bytes, found, got);
    return got;
}

static struct weir__archive_source source_of(struct weir__archive_input *input,
                                             char head[WEIR__ARCHIVE_HEAD])
{
    struct weir__archive_source source = {
        .head = head,
        .head_length = read_input(input, 0, head, WEIR__ARCHIVE_HEAD),
        .size = input->size,
        .read = read_input,
        .arg = input,
    };
    if (input->memory) {
        source.head = input->memory;
        source.head_length = (size_t)input->size;
    }
    return source;
}

const struct weir__archive_format *weir__archive_find_hidden(struct weir__archive_input *input,
                                                             uint64_t *ret_at)
{
    char head[WEIR__ARCHIVE_HEAD];
    struct weir__archive_source source = source_of(input, head);
    return weir__archive_hidden(&source, ret_at);
}

void weir__archive_find_zip(struct weir__archive_level *level)
{
    char head[WEIR__ARCHIVE_HEAD];
    struct weir__archive_source source = source_of(&level->input, head);
    uint64_t at = 0;
    if (level->format->id != WEIR__ARCHIVE_ZIP && weir__archive_hidden_zip(&source, &at))
        level->zip_from = at;
}

/* The part of an input that begins at that place, which is in it. */
static struct weir__archive_input rest_of(const struct weir__archive_input *input, uint64_t at)
{
    struct weir__archive_input rest = *input;
    rest.size -= at;
    if (rest.memory)
        rest.memory += at;
    else
        rest.base += at;
    return rest;
}

const struct weir__archive_format *weir__archive_find_at(struct weir__archive_level *level,
                                                         uint64_t end, uint64_t at,
                                                         uint64_t *ret_at)
{
    char head[WEIR__ARCHIVE_HEAD];
    const char *bytes = NULL;
    uint64_t hidden_at = 0;
    size_t length = weir__archive_look(&level->input, at, &bytes);
    const struct weir__archive_format *format =
        length > 0 ? weir__archive_format_of(bytes, length) : NULL;
    if (format || length == 0) {
        *ret_at = at;
        return format;
    }
    /* The first 32 KiB of an image of a disk may be zeros. */
    uint64_t from = at - end < ISO_BEGINS ? end : at - ISO_BEGINS;
    struct weir__archive_input rest = rest_of(&level->input, from);
    struct weir__archive_source source = source_of(&rest, head);
    format = weir__archive_hidden_behind(&source, &hidden_at);
    if (!format) {
        from = at;
        rest = rest_of(&level->input, from);
        format = weir__archive_find_hidden(&rest, &hidden_at);
    }
    if (format)
        *ret_at = from + hidden_at;
    return format;
}

static size_t zeros_in(const char *bytes, size_t length)
{
    size_t count = 0;
    while (count < length && bytes[count] == '\0')
        count++;
    return count;
}

/* Of a compressed stream that is so only when it was read to its end. */
bool weir__archive_is_end_known(const struct weir__archive_level *level)
{
    switch (level->format->id) {
    case WEIR__ARCHIVE_CPIO:
    case WEIR__ARCHIVE_AR:
        return true;
    default:
        return level->format->way == WEIR__ARCHIVE_PACKED &&
               (level->is_raw || level->entries_count == level->entries_before);
    }
}

static uint64_t little(const unsigned char *bytes, size_t length)
{
    uint64_t value = 0;
    while (length-- > 0)
        value = value << 8 | bytes[length];
    return value;
}

/* What is packed begins behind the frames that are skipped. Where no other frame follows, nothing
 * is, and what is there instead stands behind its end. */
static bool begin_frames(struct weir__archive_level *level, const char *magic, uint64_t first,
                         bool is_cut)
{
    if (!magic && !is_cut) {
        level->frames_end = first;
        return false;
    }
    if (magic)
        level->format = weir__archive_format_of(magic, 4);
    else
        snprintf(level->reason, sizeof(level->reason),
                 "broken: it is cut off in a frame that readers skip");
    level->start = level->input.at = first;
    return true;
}

bool weir__archive_find_frames(struct weir__archive_level *level)
{
    struct weir__archive_blocks blocks = {.is_one_kind = true};
    const char *bytes = NULL;
    size_t length;
    bool is_packed;
    uint64_t at = level->start, between = at, first = at;
    const char *magic = NULL; /* of the first frame that is not skipped */
    level->frames_end = 0;
    while (!weir__archive_blocks_is_over(&blocks) &&
           (length = weir__archive_look(&level->input, at, &bytes)) > 0) {
        size_t used = 0;
        while (used < length && !weir__archive_blocks_is_over(&blocks)) {
            if (weir__archive_blocks_is_between(&blocks))
                between = at + used;
            used += weir__archive_blocks_next(&blocks, bytes + used, length - used, &is_packed);
            if (!magic) {
                first = between;
                magic = blocks.has_zstd  ? "\x28\xb5\x2f\xfd"
                        : blocks.has_lz4 ? "\x04\x22\x4d\x18"
                                         : NULL;
            }
        }
        at += used;
        /* What is passed over need not be read. */
        uint64_t left = level->input.size > at ? level->input.size - at : 0;
        left = blocks.left < left ? blocks.left : left;
        at += left;
        blocks.left -= left;
    }
    if (!magic && weir__archive_blocks_is_between(&blocks))
        first = at;
    if (weir__archive_blocks_has_rest(&blocks) && between > level->start)
        level->frames_end = between;
    return begin_frames(level, magic, first, blocks.left > 0);
}

/* A number in the archive, at a place that is counted from its beginning; 0: there is none. */
static uint64_t number_at(struct weir__archive_level *level, uint64_t at, size_t bytes_count)
{
    const char *bytes = NULL;
    size_t length = weir__archive_look(&level->input, level->start + at, &bytes);
    return length < bytes_count ? 0 : little((const unsigned char *)bytes, bytes_count);
}

uint64_t weir__archive_end_of(struct weir__archive_level *level)
{
    uint64_t end = UINT64_MAX, size = 0;
    if (level->input.member)
        return UINT64_MAX;
    switch (level->format->id) {
    case WEIR__ARCHIVE_ZIP:
        /* What its end calls a comment is looked at as well. */
        end = level->is_streamed ? UINT64_MAX : weir__archive_zip_end(&level->input);
        return end == UINT64_MAX ? end : end + ZIP_END_BYTES;
    case WEIR__ARCHIVE_7Z:
        if (!__builtin_add_overflow(number_at(level, 12, 8), number_at(level, 20, 8), &size))
            end = SEVEN_HEAD + size;
        break;
    case WEIR__ARCHIVE_ISO:
        /* Its members are read in the order in which they lie. Behind the last of them it is
         * padding, of which it says how long it is, and which may be missing, or something else. */
        end = number_at(level, ISO_BLOCKS_AT, 4) * number_at(level, ISO_BLOCK_SIZE_AT, 2);
        size = level->consumed - level->start;
        end = size < end ? size : end;
        break;
    case WEIR__ARCHIVE_CAB:
        end = number_at(level, 8, 4);
        break;
    case WEIR__ARCHIVE_RAR:
    case WEIR__ARCHIVE_RAR5:
    case WEIR__ARCHIVE_LHA:
        end = level->consumed - level->start;
        break;
    case WEIR__ARCHIVE_XAR:
        return weir__archive_xar_end(level);
    case WEIR__ARCHIVE_COMPRESS: /* it has none: all that follows is read as more of it */
        return UINT64_MAX;
    default:
        if (!weir__archive_is_end_known(level))
            return UINT64_MAX;
        return level->frames_end > 0 ? level->frames_end : level->consumed;
    }
    /* One that ends where it begins does not say where it ends. */
    return end == 0 || end > level->input.size ? UINT64_MAX : level->start + end;
}

bool weir__archive_behind(struct weir__archive_level *level, uint64_t *ret_end, uint64_t *ret_at)
{
    struct weir__archive_input *input = &level->input;
    const char *bytes = NULL;
    size_t length;
    uint64_t at = weir__archive_end_of(level);
    if (at == UINT64_MAX)
        return false;
    *ret_end = at;
    while ((length = weir__archive_look(input, at, &bytes)) > 0) {
        size_t zeros = zeros_in(bytes, length);
        at += zeros;
        *ret_at = at;
        if (zeros < length)
            return true;
    }
    return false;
}

bool weir__archive_is_plain_between(struct weir__archive_level *level, uint64_t from,
                                    uint64_t until)
{
    const char *bytes = NULL;
    size_t length = weir__archive_look(&level->input, from, &bytes);
    uint64_t wanted = until > from ? until - from : 0;
    return weir__archive_is_plain(bytes, length < wanted ? length : (size_t)wanted);
}

/* Whether such a thing follows in a member, which is read to find out. */
static bool has_more(struct weir__archive_level *level)
{
    struct weir__archive_input *input = &level->input;
    const char *bytes = input->given;
    size_t length;
    if (!input->member)
        return false;
    uint64_t unread = input->at > level->consumed ? input->at - level->consumed : 0;
    /* Only the last block is still there; what lies before it was read to be understood. */
    length = unread < input->given_length ? (size_t)unread : input->given_length;
    if (length > 0 && zeros_in(bytes + input->given_length - length, length) < length)
        return true;
    while ((length = weir__archive_member_pull(input->member, &bytes)) > 0)
        if (zeros_in(bytes, length) < length)
            return true;
    return false;
}

static unsigned le16(const char *bytes)
{
    return (unsigned)(unsigned char)bytes[0] | (unsigned)(unsigned char)bytes[1] << 8;
}

bool weir__archive_is_empty(struct weir__archive_level *level)
{
    uint64_t end, at;
    if (level->format->id == WEIR__ARCHIVE_ZIP)
        return level->is_listed_empty;
    /* An rpm without files has a list of none; one without even that is cut off. */
    return weir__archive_is_end_known(level) && level->format->id != WEIR__ARCHIVE_RPM &&
           !weir__archive_behind(level, &end, &at) && !has_more(level);
}

void weir__archive_zip_count(struct weir__archive_level *level)
{
    struct weir__archive_input *input = &level->input;
    const char *bytes = NULL;
    if (level->format->id != WEIR__ARCHIVE_ZIP || input->member)
        return;
    uint64_t end = weir__archive_zip_end(input);
    if (end < level->start) /* of another one, before it */
        end = UINT64_MAX;
    size_t length = end == UINT64_MAX ? 0 : weir__archive_look(input, end + ZIP_COUNT_AT, &bytes);
    uint64_t met = level->entries_count - level->entries_before;
    if (end == UINT64_MAX && met > 0)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: its last 64 KiB have no end of a directory: it may be cut off behind "
                 "member %llu",
                 (unsigned long long)met);
    if (length < 2)
        return;
    unsigned count = le16(bytes);
    level->is_listed_empty = count == 0;
    if (count != ZIP_COUNT_LARGE && count > met)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: %llu of %u members are in its directory", (unsigned long long)met, count);
}
