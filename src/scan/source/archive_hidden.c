/* archive_hidden.c - an archive behind other bytes: behind a program, a script, or anything.
 *
 * A zip is known by its end, whatever stands in front of it. Other formats are known by their
 * beginning, which is looked for only where somebody is likely to have put one, and in a form that
 * does not come about by chance: a 7z behind a program, whose header has a checksum; and behind a
 * script, at the beginning of a line, what such scripts unpack.
 */
#include "archive_hidden.h"

#include <string.h>

#include "alloc.h"

#include "banned.h"

#define ZIP_END_BYTES   22u
#define ZIP_END64_BYTES (56u + 20u)
#define ZIP_COMMENT_MAX 65535u
#define TAIL_BYTES      (ZIP_END_BYTES + ZIP_COMMENT_MAX)
#define LARGE32         0xffffffffu
#define SEARCH_MAX      (1u << 20)
#define PIECE           (64u << 10)
#define SEVEN_HEAD      32u
#define TAR_MAGIC_AT    257u
#define BINARY_WITHIN   1024u
#define ENDS_MAX        16u
/* More than any of what is looked for needs to be known. */
#define OVERLAP 1024u
_Static_assert(TAIL_BYTES >= PIECE, "the buffer is for either");

bool weir__archive_is_program(const char *bytes, size_t length)
{
    return length >= 4 && (memcmp(bytes, "MZ", 2) == 0 ||
                           memcmp(bytes,
                                  "\x7f"
                                  "ELF",
                                  4) == 0 ||
                           memcmp(bytes, "#!", 2) == 0);
}

bool weir__archive_may_hide(const char *bytes, size_t length, bool is_all)
{
    if (length < ZIP_END_BYTES)
        return false;
    if (is_all && memcmp(bytes + length - ZIP_END_BYTES, "PK\5\6", 4) == 0)
        return true;
    return weir__archive_is_program(bytes, length) ||
           memchr(bytes, '\0', length < BINARY_WITHIN ? length : BINARY_WITHIN);
}

struct search {
    const struct weir__archive_source *source;
    char *buffer; /* TAIL_BYTES */
};

/* So many bytes at that place, valid until the next call; or NULL. */
static const unsigned char *get(struct search *search, uint64_t at, size_t length)
{
    const struct weir__archive_source *source = search->source;
    if (at > source->size || length > source->size - at)
        return NULL;
    if (at + length <= source->head_length)
        return (const unsigned char *)source->head + at;
    for (size_t got = 0; got < length;) {
        size_t n = source->read(source->arg, at + got, search->buffer + got, length - got);
        if (n == 0)
            return NULL;
        got += n;
    }
    return (const unsigned char *)search->buffer;
}

static uint64_t little(const unsigned char *bytes, size_t length)
{
    uint64_t value = 0;
    while (length-- > 0)
        value = value << 8 | bytes[length];
    return value;
}

/* --- zip --- */

/* Whether a directory with at least one entry ends at that place, as its end says. */
static bool has_directory(struct search *search, uint64_t end, uint64_t size, uint64_t offset)
{
    bool is_large = size == LARGE32 || offset == LARGE32;
    const unsigned char *bytes =
        end >= ZIP_END64_BYTES ? get(search, end - ZIP_END64_BYTES, 56) : NULL;
    /* The large form may be there for the number of entries alone. */
    if (bytes && memcmp(bytes, "PK\6\6", 4) == 0) {
        end -= ZIP_END64_BYTES;
        size = little(bytes + 40, 8);
        offset = little(bytes + 48, 8);
    } else if (is_large) {
        return false;
    }
    if (size > end || offset > end - size)
        return false;
    bytes = get(search, end - size, 4);
    return bytes && memcmp(bytes, "PK\1\2", 4) == 0;
}

static bool is_zip(struct search *search)
{
    uint64_t all = search->source->size;
    size_t length = all < TAIL_BYTES ? (size_t)all : TAIL_BYTES;
    /* The last one that fits counts; looking for its directory reads something else. */
    unsigned tries = 0;
    for (size_t until = length; until >= ZIP_END_BYTES && tries < ENDS_MAX; tries++) {
        const unsigned char *bytes = get(search, all - length, length);
        size_t at = until - ZIP_END_BYTES + 1;
        if (!bytes)
            return false;
        do {
            const unsigned char *found = memrchr(bytes, 'P', at);
            if (!found)
                return false;
            at = (size_t)(found - bytes);
        } while (memcmp(bytes + at, "PK\5\6", 4) != 0 ||
                 little(bytes + at + 20, 2) > length - at - ZIP_END_BYTES);
        if (has_directory(search, all - length + at, little(bytes + at + 12, 4),
                          little(bytes + at + 16, 4)))
            return true;
        until = at + ZIP_END_BYTES - 1;
    }
    return false;
}

/* --- 7z --- */

static uint32_t crc32_of(const unsigned char *bytes, size_t length)
{
    uint32_t crc = ~0u;
    while (length-- > 0) {
        crc ^= *bytes++;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

static const unsigned char *find_7z(const unsigned char *bytes, size_t length)
{
    const unsigned char *end = bytes + length;
    while ((bytes = memmem(bytes, (size_t)(end - bytes), "7z\xbc\xaf\x27\x1c", 6))) {
        if ((size_t)(end - bytes) >= SEVEN_HEAD &&
            crc32_of(bytes + 12, 20) == (uint32_t)little(bytes + 8, 4))
            return bytes;
        bytes += 6;
    }
    return NULL;
}

/* --- behind a script --- */

static const struct {
    const char *magic;
    size_t length;
    size_t at; /* from the beginning of the archive, which begins a line */
} magics[] = {
    {"\n\x1f\x8b\x08", 4, 0},
    {"\n\xfd"
     "7zXZ",
     6, 0},
    {"\n\x28\xb5\x2f\xfd", 5, 0},
    {"\nBZh", 4, 0},
    {"\n7z\xbc\xaf\x27\x1c", 7, 0},
    {"ustar", 5, TAR_MAGIC_AT},
    {"\nPK\3\4", 5, 0},
};

static const unsigned char *find_line(const unsigned char *bytes, size_t length)
{
    const unsigned char *best = NULL, *end = bytes + length;
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        const unsigned char *from = bytes, *found;
        while ((found = memmem(from, (size_t)(end - from), magics[i].magic, magics[i].length))) {
            from = found + 1;
            const unsigned char *start = magics[i].at == 0 ? found + 1 : found - magics[i].at;
            if (magics[i].at > 0 && ((size_t)(found - bytes) <= magics[i].at || start[-1] != '\n'))
                continue;
            if (weir__archive_format_of((const char *)start, (size_t)(end - start))) {
                best = !best || start < best ? start : best;
                break;
            }
        }
    }
    return best;
}

const struct weir__archive_format *weir__archive_hidden_here(const char *bytes, size_t length,
                                                             size_t *ret_at)
{
    const unsigned char *start = (const unsigned char *)bytes;
    if (!weir__archive_is_program(bytes, length))
        return NULL;
    const unsigned char *found =
        bytes[0] == '#' ? find_line(start, length) : find_7z(start, length);
    if (!found)
        return NULL;
    *ret_at = (size_t)(found - start);
    return weir__archive_format_of(bytes + *ret_at, length - *ret_at);
}

/* --- all of them --- */

static const struct weir__archive_format *find_start(struct search *search, uint64_t *ret_at)
{
    uint64_t size = search->source->size;
    uint64_t most = size < SEARCH_MAX ? size : SEARCH_MAX;
    bool is_script = search->source->head[0] == '#';
    for (uint64_t at = 0; at < most; at += PIECE - OVERLAP) {
        size_t length = size - at < PIECE ? (size_t)(size - at) : PIECE;
        const unsigned char *bytes = get(search, at, length);
        if (!bytes)
            return NULL;
        const unsigned char *found = is_script ? find_line(bytes, length) : find_7z(bytes, length);
        if (found) {
            *ret_at = at + (size_t)(found - bytes);
            return weir__archive_format_of((const char *)found, length - (size_t)(found - bytes));
        }
    }
    return NULL;
}

const struct weir__archive_format *weir__archive_hidden(const struct weir__archive_source *source,
                                                        uint64_t *ret_at)
{
    static const char zip[30] = "PK\3\4";
    const struct weir__archive_format *format = NULL;
    struct search search = {.source = source};
    uint64_t at = 0;
    bool is_all = source->head_length >= source->size;
    if (!is_all && !(search.buffer = weir__base_alloc(TAIL_BYTES, 1)))
        return NULL;
    if (is_zip(&search))
        format = weir__archive_format_of(zip, sizeof(zip));
    else if (weir__archive_is_program(source->head, source->head_length))
        format = find_start(&search, &at);
    weir__base_free(search.buffer);
    if (format)
        *ret_at = at;
    return format;
}
