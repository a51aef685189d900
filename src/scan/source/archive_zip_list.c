/* archive_zip_list.c - the directory of a zip, entry by entry. */
#include <string.h>

#include "archive_zip.h"

#include "banned.h"

#define END_BYTES     22u
#define END64_BYTES   56u
#define LOCATOR_BYTES 20u
#define LISTED        WEIR__ARCHIVE_ZIP_LISTED
#define LOCAL         WEIR__ARCHIVE_ZIP_LOCAL
#define LARGE32       WEIR__ARCHIVE_ZIP_LARGE32
#define MARK_BYTES    4u
#define SHIFT_TRIES   16u /* entries that are asked whether their places are shifted */

const unsigned char *weir__archive_zip_get(struct weir__archive_zip_reader *reader, uint64_t at,
                                           size_t length)
{
    for (unsigned tries = 0; tries < 2; tries++) {
        if (at >= reader->at && at - reader->at <= reader->length &&
            length <= reader->length - (at - reader->at))
            return (const unsigned char *)reader->bytes + (at - reader->at);
        reader->at = at;
        reader->length = weir__archive_look(reader->input, at, &reader->bytes);
    }
    return NULL;
}

uint64_t weir__archive_zip_little(const unsigned char *bytes, size_t length)
{
    uint64_t value = 0;
    while (length-- > 0)
        value = value << 8 | bytes[length];
    return value;
}

bool weir__archive_zip_has_mark(const unsigned char *bytes, const char *mark)
{
    return bytes && memcmp(bytes, mark, MARK_BYTES) == 0;
}

static bool is_mark_at(struct weir__archive_zip_reader *reader, uint64_t at, const char *mark)
{
    return weir__archive_zip_has_mark(weir__archive_zip_get(reader, at, MARK_BYTES), mark);
}

/* The places that are too large for the entry itself. */
static void read_large(const unsigned char *extra, size_t length, bool has_size, uint64_t *packed,
                       uint64_t *offset)
{
    while (length >= 4) {
        size_t size = (size_t)weir__archive_zip_little(extra + 2, 2), at = has_size ? 8 : 0;
        if (size > length - 4)
            return;
        if (weir__archive_zip_little(extra, 2) == 1) {
            if (*packed == LARGE32 && at + 8 <= size) {
                *packed = weir__archive_zip_little(extra + 4 + at, 8);
                at += 8;
            }
            if (*offset == LARGE32 && at + 8 <= size)
                *offset = weir__archive_zip_little(extra + 4 + at, 8);
            return;
        }
        extra += 4 + size;
        length -= 4 + size;
    }
}

uint64_t weir__archive_zip_packed(const unsigned char *extra, size_t length)
{
    uint64_t packed = LARGE32, none = 0;
    read_large(extra, length, true, &packed, &none);
    return packed;
}

/* One entry at that place. False: it makes no sense there. */
static bool read_entry(struct weir__archive_zip_reader *reader,
                       const struct weir__archive_zip_directory *directory, uint64_t at,
                       struct weir__archive_zip_listed *ret_listed)
{
    const unsigned char *bytes = weir__archive_zip_get(reader, at, LISTED);
    if (!weir__archive_zip_has_mark(bytes, "PK\1\2"))
        return false;
    size_t name = (size_t)weir__archive_zip_little(bytes + 28, 2);
    size_t extra = (size_t)weir__archive_zip_little(bytes + 30, 2);
    size_t length = LISTED + name + extra + (size_t)weir__archive_zip_little(bytes + 32, 2);
    uint64_t packed = weir__archive_zip_little(bytes + 20, 4);
    uint64_t offset = weir__archive_zip_little(bytes + 42, 4);
    bool has_size = weir__archive_zip_little(bytes + 24, 4) == LARGE32;
    /* Lengths that do not lead to the next entry, or to the end, are wrong. */
    if (length > directory->until - at ||
        (length < directory->until - at && !is_mark_at(reader, at + length, "PK\1\2")))
        return false;
    if (packed == LARGE32 || offset == LARGE32) {
        bytes = weir__archive_zip_get(reader, at + LISTED + name, extra);
        if (!bytes)
            return false;
        read_large(bytes, extra, has_size, &packed, &offset);
    }
    uint64_t from = directory->shift + offset;
    *ret_listed = (struct weir__archive_zip_listed){
        .at = at,
        .length = length,
        .name_length = name,
        .from = from <= directory->from ? from : UINT64_MAX,
        /* A size that is damaged is no reason to leave it out: its header has it too. */
        .packed = packed <= directory->from ? packed : 0,
    };
    return true;
}

/* Where the next mark of an entry is, or the end. */
static uint64_t find_mark(struct weir__archive_zip_reader *reader,
                          const struct weir__archive_zip_directory *directory, uint64_t at)
{
    while (at < directory->until && directory->until - at >= LISTED) {
        const char *bytes = NULL;
        size_t length = weir__archive_look(reader->input, at, &bytes);
        const char *found = length > 0 ? memmem(bytes, length, "PK\1\2", MARK_BYTES) : NULL;
        reader->length = 0; /* its block may be this one */
        if (found)
            return at + (size_t)(found - bytes);
        if (length < MARK_BYTES)
            break;
        at += length - (MARK_BYTES - 1);
    }
    return directory->until;
}

bool weir__archive_zip_next(struct weir__archive_zip_reader *reader,
                            struct weir__archive_zip_directory *directory, uint64_t *at,
                            struct weir__archive_zip_listed *ret_listed)
{
    while (*at < directory->until) {
        if (read_entry(reader, directory, *at, ret_listed)) {
            *at += ret_listed->length;
            return true;
        }
        directory->is_damaged = true;
        *at = find_mark(reader, directory, *at + 1);
    }
    return false;
}

/* Whether one of the first entries lies where it should, with this shift. */
static bool is_shifted_by(struct weir__archive_zip_reader *reader,
                          struct weir__archive_zip_directory directory, uint64_t shift)
{
    struct weir__archive_zip_listed listed;
    uint64_t at = directory.from;
    directory.shift = shift;
    for (unsigned tries = 0; tries < SHIFT_TRIES; tries++) {
        if (!weir__archive_zip_next(reader, &directory, &at, &listed))
            return false;
        if (listed.from != UINT64_MAX && is_mark_at(reader, listed.from, "PK\3\4"))
            return true;
    }
    return false;
}

bool weir__archive_zip_find(struct weir__archive_zip_reader *reader,
                            struct weir__archive_zip_directory *ret_directory)
{
    uint64_t end = weir__archive_zip_end(reader->input);
    const unsigned char *bytes =
        end == UINT64_MAX ? NULL : weir__archive_zip_get(reader, end, END_BYTES);
    if (!bytes)
        return false;
    uint64_t size = weir__archive_zip_little(bytes + 12, 4);
    uint64_t offset = weir__archive_zip_little(bytes + 16, 4);
    bool is_large = size == LARGE32 || offset == LARGE32;
    uint64_t end64 = end < LOCATOR_BYTES + END64_BYTES ? 0 : end - LOCATOR_BYTES - END64_BYTES;
    /* The large form may be there for the number of entries alone, or for nothing. */
    bytes = end64 > 0 ? weir__archive_zip_get(reader, end64, END64_BYTES) : NULL;
    bool has_end64 = weir__archive_zip_has_mark(bytes, "PK\6\6");
    if (has_end64) {
        size = weir__archive_zip_little(bytes + 40, 8);
        offset = weir__archive_zip_little(bytes + 48, 8);
        end = end64;
    } else if (is_large && end64 == 0) {
        return false;
    }
    if (size > end)
        return false;
    struct weir__archive_zip_directory directory = {
        .from = end - size, .until = end, .shift = end - size - offset, .has_end64 = has_end64};
    /* What the end says of the place may be damaged, while the entries have theirs. */
    if (directory.shift != 0 && !is_shifted_by(reader, directory, directory.shift) &&
        is_shifted_by(reader, directory, 0))
        directory.shift = 0;
    else if (offset > end - size && !is_shifted_by(reader, directory, directory.shift))
        return false;
    *ret_directory = directory;
    return true;
}
