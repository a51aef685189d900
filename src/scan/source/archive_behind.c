/* archive_behind.c - what libarchive leaves unread without a word.
 *
 * A reader of members behind each other stops at the mark that ends them, whatever follows: a
 * second archive (the two halves of an initial ramdisk), or bytes that somebody put there, which
 * are the container's own. A reader of zip passes over entries of the directory that are damaged,
 * and does without a directory that was cut off. These are found here by counting.
 */
#include <stdio.h>
#include <string.h>

#include "archive_hidden.h"
#include "archive_read.h"

#include "banned.h"

#define ZIP_COUNT_AT    10u
#define ZIP_COUNT_LARGE 0xffffu /* stands elsewhere */

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

const struct weir__archive_format *weir__archive_find_hidden(struct weir__archive_input *input,
                                                             uint64_t *ret_at)
{
    char head[WEIR__ARCHIVE_PROBE];
    struct weir__archive_source source = {
        .head = head,
        .head_length = read_input(input, 0, head, sizeof(head)),
        .size = input->size,
        .read = read_input,
        .arg = input,
    };
    if (input->memory) {
        source.head = input->memory;
        source.head_length = (size_t)input->size;
    }
    return weir__archive_hidden(&source, ret_at);
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
               (level->is_raw || level->entries_count == 0);
    }
}

bool weir__archive_behind(struct weir__archive_level *level, uint64_t *ret_at)
{
    struct weir__archive_input *input = &level->input;
    const char *bytes = NULL;
    size_t length;
    uint64_t at = level->consumed;
    if (!weir__archive_is_end_known(level) || input->member)
        return false;
    while ((length = weir__archive_look(input, at, &bytes)) > 0) {
        size_t zeros = zeros_in(bytes, length);
        at += zeros;
        *ret_at = at;
        if (zeros < length)
            return true;
    }
    return false;
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
    uint64_t at;
    if (level->format->id == WEIR__ARCHIVE_ZIP)
        return level->is_listed_empty;
    /* An rpm without files has a list of none; one without even that is cut off. */
    return weir__archive_is_end_known(level) && level->format->id != WEIR__ARCHIVE_RPM &&
           !weir__archive_behind(level, &at) && !has_more(level);
}

void weir__archive_zip_count(struct weir__archive_level *level)
{
    struct weir__archive_input *input = &level->input;
    const char *bytes = NULL;
    if (level->format->id != WEIR__ARCHIVE_ZIP || input->member)
        return;
    uint64_t end = weir__archive_zip_end(input);
    size_t length = end == UINT64_MAX ? 0 : weir__archive_look(input, end + ZIP_COUNT_AT, &bytes);
    if (end == UINT64_MAX && level->entries_count > 0)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: its last 64 KiB have no end of a directory: it may be cut off behind "
                 "member %llu",
                 (unsigned long long)level->entries_count);
    if (length < 2)
        return;
    unsigned count = le16(bytes);
    level->is_listed_empty = count == 0;
    if (count != ZIP_COUNT_LARGE && count > level->entries_count)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: %llu of %u members are in its directory",
                 (unsigned long long)level->entries_count, count);
}
