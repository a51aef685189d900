/* archive_hidden.c - an archive behind other bytes: behind a program, a script, or anything.
 *
 * A zip is known by its end, whatever stands in front of it. Other formats, and a zip that is cut
 * off, are known by their beginning, which is looked for only where somebody is likely to have put
 * one, and in a form that does not come about by chance: where a program ends; in the first MiB of
 * one a 7z or a rar, whose headers have checksums; behind a script, at the beginning of a line,
 * what such scripts unpack; and the entry of a zip of which every field makes sense.
 */
#include "archive_hidden.h"

#include <libdeflate.h>
#include <string.h>

#include "alloc.h"

#include "banned.h"

#define ZIP_END_BYTES    22u
#define ZIP_END64_BYTES  (56u + 20u)
#define ZIP_ENTRY_BYTES  30u
#define ZIP_LISTED_BYTES 46u
#define ZIP_NAME_MAX     1024u
#define TAIL_BYTES       WEIR__ARCHIVE_TAIL_MAX
#define LARGE32          0xffffffffu
#define PIECE            (64u << 10)
#define SEVEN_HEAD       32u
#define RAR_HEAD         20u
#define TAR_MAGIC_AT     257u
#define BINARY_WITHIN    1024u
#define ENDS_MAX         16u
#define PADDING_MAX      4096u /* of zeros behind a program */
_Static_assert(TAIL_BYTES >= PIECE, "the buffer is for either");

static uint64_t little(const unsigned char *bytes, size_t length)
{
    uint64_t value = 0;
    while (length-- > 0)
        value = value << 8 | bytes[length];
    return value;
}

static bool is_elf(const char *bytes)
{
    return memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4) == 0;
}

static bool is_script(const char *bytes)
{
    return memcmp(bytes, "#!", 2) == 0;
}

static bool is_program(const char *bytes)
{
    return memcmp(bytes, "MZ", 2) == 0 || is_elf(bytes);
}

bool weir__archive_is_run(const char *bytes, size_t length)
{
    return length >= 4 && (is_program(bytes) || is_script(bytes));
}

enum weir__archive_front weir__archive_front(const char *bytes, size_t length)
{
    if (length >= 4 && is_program(bytes))
        return weir__archive_program_end(bytes, length) > 0 ? WEIR__ARCHIVE_PROGRAM
                                                            : WEIR__ARCHIVE_BINARY;
    if (length >= 4 && is_script(bytes))
        return WEIR__ARCHIVE_SCRIPT;
    return memchr(bytes, '\0', length < BINARY_WITHIN ? length : BINARY_WITHIN)
               ? WEIR__ARCHIVE_BINARY
               : WEIR__ARCHIVE_TEXT;
}

/* --- reading --- */

struct search {
    const struct weir__archive_source *source;
    char *buffer; /* TAIL_BYTES; made when it is needed */
};

/* So many bytes at that place, valid until the next call; or NULL. */
static const unsigned char *get(struct search *search, uint64_t at, size_t length)
{
    const struct weir__archive_source *source = search->source;
    if (at > source->size || length > source->size - at)
        return NULL;
    if (at + length <= source->head_length)
        return (const unsigned char *)source->head + at;
    if (!search->buffer && !(search->buffer = weir__base_alloc(TAIL_BYTES, 1)))
        return NULL;
    for (size_t got = 0; got < length;) {
        size_t n = source->read(source->arg, at + got, search->buffer + got, length - got);
        if (n == 0)
            return NULL;
        got += n;
    }
    return (const unsigned char *)search->buffer;
}

/* --- the end of a zip --- */

/* The last end of a directory in the last bytes before `until`, whose comment fits; or NULL. Its
 * last byte is looked for, which no text has. */
static const unsigned char *find_end(const unsigned char *bytes, size_t length, size_t until)
{
    if (length < ZIP_END_BYTES)
        return NULL;
    size_t last = length - ZIP_END_BYTES + 4;
    for (size_t left = until < last ? until : last; left >= 4;) {
        const unsigned char *found = memrchr(bytes, '\6', left);
        if (!found || found - bytes < 3)
            return NULL;
        left = (size_t)(found - bytes);
        found -= 3;
        if (memcmp(found, "PK\5", 3) == 0 &&
            little(found + 20, 2) <= length - (size_t)(found - bytes) - ZIP_END_BYTES)
            return found;
    }
    return NULL;
}

bool weir__archive_hidden_ends(const char *bytes, size_t length)
{
    const unsigned char *start = (const unsigned char *)bytes;
    size_t until = length;
    for (unsigned tries = 0; tries < ENDS_MAX; tries++) {
        const unsigned char *end = find_end(start, length, until);
        if (!end)
            return false;
        /* Its directory has one entry at least, and stands right before it. */
        uint64_t size = little(end + 12, 4), at = (uint64_t)(end - start);
        if (size >= 46 && (size > at || memcmp(end - size, "PK\1\2", 4) == 0))
            return true;
        until = (size_t)(end - start) + 3;
    }
    return false;
}

/* Whether a directory with at least one entry ends at that place, as its end says; and where that
 * entry is. */
static bool has_directory(struct search *search, uint64_t end, uint64_t size, uint64_t offset,
                          uint64_t *ret_at)
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
    bytes = size < ZIP_LISTED_BYTES ? NULL : get(search, end - size, ZIP_LISTED_BYTES);
    if (!bytes || memcmp(bytes, "PK\1\2", 4) != 0)
        return false;
    /* A place that stands elsewhere is beyond 4 GiB: no other archive is looked for before it. */
    uint64_t first = little(bytes + 42, 4), shift = end - size - offset;
    *ret_at = first == LARGE32 ? 0 : shift + first;
    return true;
}

static bool is_zip(struct search *search, uint64_t *ret_at)
{
    uint64_t all = search->source->size;
    size_t length = all < TAIL_BYTES ? (size_t)all : TAIL_BYTES, until = length;
    /* The last one that fits counts; looking for its directory reads something else. */
    for (unsigned tries = 0; tries < ENDS_MAX; tries++) {
        const unsigned char *bytes = get(search, all - length, length);
        const unsigned char *end = bytes ? find_end(bytes, length, until) : NULL;
        if (!end)
            return false;
        until = (size_t)(end - bytes) + 3;
        if (has_directory(search, all - length + (uint64_t)(end - bytes), little(end + 12, 4),
                          little(end + 16, 4), ret_at))
            return true;
    }
    return false;
}

/* --- beginnings --- */

/* Whether these bytes are the head of an entry, every field of which makes sense: programs that
 * know zip have its mark in them. */
static bool is_entry(const unsigned char *bytes, size_t length)
{
    static const unsigned char methods[] = {0, 1, 6, 8, 9, 12, 14, 19, 93, 95, 96, 97, 98, 99};
    if (length < ZIP_ENTRY_BYTES)
        return false;
    size_t name = (size_t)little(bytes + 26, 2), extra = (size_t)little(bytes + 28, 2);
    unsigned method = (unsigned)little(bytes + 8, 2), date = (unsigned)little(bytes + 12, 2);
    bool has_later_sizes = bytes[6] & 8;
    if (bytes[4] < 10 || bytes[4] >= 100 || bytes[7] & 0xd0 || method > 99 ||
        !memchr(methods, (int)method, sizeof(methods)) || name == 0 || name > ZIP_NAME_MAX ||
        name > length - ZIP_ENTRY_BYTES)
        return false;
    if (date != 0 && ((date >> 5 & 15) > 12 || (date & 31) > 31))
        return false;
    /* What is stored has one size. */
    if (method == 0 && !has_later_sizes && !(bytes[6] & 1) &&
        little(bytes + 18, 4) != little(bytes + 22, 4))
        return false;
    for (size_t i = 0; i < name; i++)
        if (bytes[ZIP_ENTRY_BYTES + i] < ' ' || bytes[ZIP_ENTRY_BYTES + i] == 0x7f)
            return false;
    return extra < 4 ? extra == 0 || has_later_sizes
                     : ZIP_ENTRY_BYTES + name + 4 > length ||
                           little(bytes + ZIP_ENTRY_BYTES + name + 2, 2) <= extra - 4;
}

static bool is_7z(const unsigned char *bytes, size_t length)
{
    return length >= SEVEN_HEAD &&
           libdeflate_crc32(0, bytes + 12, 20) == (uint32_t)little(bytes + 8, 4);
}

/* By the sum of its first header, whose length is in it. */
static bool is_rar(const unsigned char *bytes, size_t length)
{
    if (length < RAR_HEAD)
        return false;
    if (bytes[6] == 0) {
        size_t size = (size_t)little(bytes + 12, 2);
        return size >= 7 && size <= length - 7 &&
               (libdeflate_crc32(0, bytes + 9, size - 2) & 0xffff) == little(bytes + 7, 2);
    }
    size_t size = bytes[12]; /* a first header is short: its length is one byte */
    return bytes[6] == 1 && size < 0x80 && size + 1 <= length - 12 &&
           libdeflate_crc32(0, bytes + 12, size + 1) == (uint32_t)little(bytes + 8, 4);
}

static bool is_any(const unsigned char *bytes, size_t length)
{
    return weir__archive_format_of((const char *)bytes, length) != NULL;
}

struct beginning {
    const char *magic;
    size_t length;
    size_t at; /* of the magic in the archive */
    bool begins_line;
    bool (*is_it)(const unsigned char *bytes, size_t length);
};

#define MAGIC(text) text, sizeof(text) - 1

static const struct beginning behind_script[] = {
    {MAGIC("\x1f\x8b\x08"), 0, true, is_any},
    {MAGIC("\xfd"
           "7zXZ"),
     0, true, is_any},
    {MAGIC("\x28\xb5\x2f\xfd"), 0, true, is_any},
    {MAGIC("BZh"), 0, true, is_any},
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, true, is_any},
    {MAGIC("ustar"), TAR_MAGIC_AT, true, is_any},
    {MAGIC("PK\3\4"), 0, true, is_any},
    {NULL, 0, 0, false, NULL},
};
/* The second is for programs that do not say where they end, and for other binaries. */
static const struct beginning behind_program[] = {
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, false, is_7z},
    {MAGIC("Rar!\x1a\x07"), 0, false, is_rar},
    {NULL, 0, 0, false, NULL},
};
/* Behind the end of another archive, where few bytes lie between them if any. */
static const struct beginning behind_archive[] = {
    {MAGIC("\x1f\x8b\x08"), 0, false, is_any},
    {MAGIC("\xfd"
           "7zXZ"),
     0, false, is_any},
    {MAGIC("\x28\xb5\x2f\xfd"), 0, false, is_any},
    {MAGIC("\x04\x22\x4d\x18"), 0, false, is_any},
    {MAGIC("BZh"), 0, false, is_any},
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, false, is_7z},
    {MAGIC("Rar!\x1a\x07"), 0, false, is_rar},
    {MAGIC("ustar"), TAR_MAGIC_AT, false, is_any},
    {MAGIC("PK\3\4"), 0, false, is_entry},
    {NULL, 0, 0, false, NULL},
};
static const struct beginning behind_binary[] = {
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, false, is_7z},
    {MAGIC("Rar!\x1a\x07"), 0, false, is_rar},
    {MAGIC("PK\3\4"), 0, false, is_entry},
    {NULL, 0, 0, false, NULL},
};

/* The first of these in the bytes, or NULL. */
static const unsigned char *find_one(const struct beginning *one, const unsigned char *bytes,
                                     size_t length)
{
    const unsigned char *end = bytes + length, *found = bytes;
    for (; (found = memmem(found, (size_t)(end - found), one->magic, one->length)); found++) {
        if ((size_t)(found - bytes) < one->at)
            continue;
        const unsigned char *start = found - one->at;
        bool is_placed = !one->begins_line || (start > bytes && start[-1] == '\n');
        if (is_placed && one->is_it(start, (size_t)(end - start)))
            return start;
    }
    return NULL;
}

static const unsigned char *find_first(const struct beginning *ones, const unsigned char *bytes,
                                       size_t length)
{
    const unsigned char *best = NULL;
    for (; ones->magic; ones++) {
        const unsigned char *found = find_one(ones, bytes, length);
        best = found && (!best || found < best) ? found : best;
    }
    return best;
}

/* What is looked for behind such a front; or NULL. */
static const struct beginning *beginnings_of(enum weir__archive_front front)
{
    switch (front) {
    case WEIR__ARCHIVE_SCRIPT:
        return behind_script;
    case WEIR__ARCHIVE_PROGRAM:
        return behind_program;
    case WEIR__ARCHIVE_BINARY:
        return behind_binary;
    case WEIR__ARCHIVE_TEXT:
        break;
    }
    return NULL;
}

const struct weir__archive_format *weir__archive_hidden_begins(enum weir__archive_front front,
                                                               const char *bytes, size_t length)
{
    const struct beginning *ones = beginnings_of(front);
    const char *found =
        ones ? (const char *)find_first(ones, (const unsigned char *)bytes, length) : NULL;
    return found ? weir__archive_format_of(found, length - (size_t)(found - bytes)) : NULL;
}

const struct weir__archive_format *weir__archive_hidden_near(const char *bytes, size_t length,
                                                             size_t *ret_at)
{
    length = length < WEIR__ARCHIVE_NEAR ? length : WEIR__ARCHIVE_NEAR;
    const char *found =
        (const char *)find_first(behind_archive, (const unsigned char *)bytes, length);
    if (!found)
        return NULL;
    *ret_at = (size_t)(found - bytes);
    return weir__archive_format_of(found, length - *ret_at);
}

static const struct weir__archive_format *find_begin(struct search *search,
                                                     const struct beginning *ones, uint64_t *ret_at)
{
    uint64_t size = search->source->size;
    uint64_t most = size < WEIR__ARCHIVE_SEARCH_MAX ? size : WEIR__ARCHIVE_SEARCH_MAX;
    for (uint64_t at = 0; at < most; at += PIECE - WEIR__ARCHIVE_SEARCH_OVERLAP) {
        size_t length = size - at < PIECE ? (size_t)(size - at) : PIECE;
        const unsigned char *bytes = get(search, at, length);
        const unsigned char *found = bytes ? find_first(ones, bytes, length) : NULL;
        if (!bytes)
            return NULL;
        if (found) {
            *ret_at = at + (size_t)(found - bytes);
            return weir__archive_format_of((const char *)found, length - (size_t)(found - bytes));
        }
    }
    return NULL;
}

/* --- where a program ends --- */

/* Fields of a header, of either order of bytes. */
struct fields {
    const unsigned char *bytes;
    size_t length;
    bool is_big;
};

static uint64_t field(const struct fields *fields, uint64_t at, size_t length)
{
    uint64_t value = 0;
    if (at > fields->length || length > fields->length - at)
        return 0;
    for (size_t i = 0; i < length; i++)
        value = value << 8 | fields->bytes[at + (fields->is_big ? i : length - 1 - i)];
    return value;
}

static uint64_t later(uint64_t end, uint64_t from, uint64_t length)
{
    uint64_t other;
    return __builtin_add_overflow(from, length, &other) ? UINT64_MAX : other > end ? other : end;
}

/* Of the parts that are loaded, and of the table of sections, which linkers put last. */
static uint64_t end_of_elf(const char *bytes, size_t length)
{
    bool is_wide = length > 5 && bytes[4] == 2;
    struct fields head = {(const unsigned char *)bytes, length, length > 5 && bytes[5] == 2};
    size_t word = is_wide ? 8 : 4;
    if (length < 64)
        return 0;
    uint64_t parts = field(&head, is_wide ? 32 : 28, word);
    uint64_t sections = field(&head, is_wide ? 40 : 32, word);
    uint64_t counts = is_wide ? 54 : 42; /* size and number of either */
    uint64_t part_size = field(&head, counts, 2), count = field(&head, counts + 2, 2);
    uint64_t end = later(0, parts, part_size * count);
    /* Their table stands behind the header as a rule. One that is not at hand says nothing. */
    if (end > length)
        return 0;
    end = later(end, sections, field(&head, counts + 4, 2) * field(&head, counts + 6, 2));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t part = parts + i * part_size;
        end = later(end, field(&head, part + (is_wide ? 8 : 4), word),
                    field(&head, part + (is_wide ? 32 : 16), word));
    }
    return end;
}

static uint64_t end_of_pe(const char *bytes, size_t length)
{
    struct fields head = {(const unsigned char *)bytes, length, false};
    uint64_t at = field(&head, 60, 4), end = 0;
    if (at == 0 || at > length || length - at < 24 || memcmp(bytes + at, "PE\0\0", 4) != 0)
        return 0;
    uint64_t count = field(&head, at + 6, 2);
    uint64_t section = at + 24 + field(&head, at + 20, 2);
    if (section + count * 40 > length)
        return 0;
    for (; count-- > 0; section += 40)
        end = later(end, field(&head, section + 20, 4), field(&head, section + 16, 4));
    return end;
}

uint64_t weir__archive_program_end(const char *bytes, size_t length)
{
    length = length < WEIR__ARCHIVE_HEAD ? length : WEIR__ARCHIVE_HEAD;
    return length < 4 ? 0 : is_elf(bytes) ? end_of_elf(bytes, length) : end_of_pe(bytes, length);
}

/* Whether chance could have made it: those that have next to no magic. */
static bool is_weak(const struct weir__archive_format *format)
{
    return format->id == WEIR__ARCHIVE_LZMA || format->id == WEIR__ARCHIVE_LHA ||
           format->id == WEIR__ARCHIVE_COMPRESS;
}

/* What begins where the program ends, perhaps behind zeros. */
static const struct weir__archive_format *find_behind(struct search *search, uint64_t *ret_at)
{
    uint64_t size = search->source->size;
    uint64_t end = weir__archive_program_end(search->source->head, search->source->head_length);
    if (end >= size)
        return NULL;
    size_t most = PADDING_MAX + WEIR__ARCHIVE_PROBE_ALL, padding = 0;
    size_t length = size - end < most ? (size_t)(size - end) : most;
    const unsigned char *bytes = get(search, end, length);
    while (bytes && padding < length && padding < PADDING_MAX && bytes[padding] == '\0')
        padding++;
    const struct weir__archive_format *format =
        bytes ? weir__archive_format_of((const char *)bytes + padding, length - padding) : NULL;
    *ret_at = end + padding;
    return format && !is_weak(format) ? format : NULL;
}

/* --- all of them --- */

const struct weir__archive_format *weir__archive_hidden(const struct weir__archive_source *source,
                                                        uint64_t *ret_at)
{
    static const char zip[ZIP_ENTRY_BYTES] = "PK\3\4";
    struct search search = {.source = source};
    const struct weir__archive_format *format = NULL;
    uint64_t at = 0, zip_at = 0;
    if (source->size < ZIP_END_BYTES)
        return NULL;
    enum weir__archive_front front = weir__archive_front(source->head, source->head_length);
    const struct beginning *ones = beginnings_of(front);
    bool has_zip = is_zip(&search, &zip_at);
    if (front == WEIR__ARCHIVE_PROGRAM)
        format = find_behind(&search, &at);
    if (!format && ones)
        format = find_begin(&search, ones, &at);
    /* One that stands before the zip would be taken for a part of what is in front of it. */
    if (has_zip && (!format || format->id == WEIR__ARCHIVE_ZIP || at >= zip_at)) {
        format = weir__archive_format_of(zip, sizeof(zip));
        at = 0;
    }
    weir__base_free(search.buffer);
    if (format)
        *ret_at = at;
    return format;
}

bool weir__archive_hidden_zip(const struct weir__archive_source *source, uint64_t *ret_at)
{
    struct search search = {.source = source};
    uint64_t at = 0;
    bool has_zip = source->size >= ZIP_END_BYTES && is_zip(&search, &at);
    weir__base_free(search.buffer);
    if (has_zip)
        *ret_at = at;
    return has_zip;
}
