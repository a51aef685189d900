/* archive_hidden.c - an archive behind other bytes: behind a program, a script, or anything.
 *
 * A zip is known by its end, whatever stands in front of it. Other formats, and a zip that is cut
 * off, are known by their beginning, which is looked for only where somebody is likely to have put
 * one, and in a form that does not come about by chance: where a program ends; in the first MiB of
 * one a 7z or a rar, whose headers have checksums; behind a script, at the beginning of a line,
 * what such scripts unpack; and the entry of a zip of which every field makes sense. Behind the end
 * of an archive all of them are looked for, to the end: whoever put one archive there may have put
 * two.
 */
#include "archive_hidden.h"

#include <string.h>

#include "alloc.h"
#include "archive_begin.h"

#include "banned.h"

#define ZIP_END_BYTES    22u
#define ZIP_END64_BYTES  (56u + 20u)
#define ZIP_ENTRY_BYTES  30u
#define ZIP_LISTED_BYTES 46u
#define TAIL_BYTES       WEIR__ARCHIVE_TAIL_MAX
#define LARGE32          0xffffffffu
#define PIECE            (64u << 10)
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

/* Pictures, sounds, films, and documents to be printed. */
static bool is_media(const char *bytes, size_t length)
{
    static const struct {
        size_t at, length;
        const char *magic;
    } magics[] = {
        {0, 4, "\x89PNG"}, {0, 3, "\xff\xd8\xff"}, {0, 4, "GIF8"},  {0, 4, "RIFF"},
        {0, 5, "%PDF-"},   {0, 4, "II*\0"},        {0, 4, "MM\0*"}, {4, 4, "ftyp"},
        {0, 3, "ID3"},     {0, 4, "OggS"},         {0, 4, "fLaC"},
    };
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        if (length >= magics[i].at + magics[i].length &&
            memcmp(bytes + magics[i].at, magics[i].magic, magics[i].length) == 0)
            return true;
    return false;
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
    if (is_media(bytes, length))
        return WEIR__ARCHIVE_MEDIA;
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
    if (size > end)
        return false;
    bytes = size < ZIP_LISTED_BYTES ? NULL : get(search, end - size, ZIP_LISTED_BYTES);
    if (!bytes || memcmp(bytes, "PK\1\2", 4) != 0)
        return false;
    /* A place that stands elsewhere is beyond 4 GiB: no other archive is looked for before it. */
    uint64_t first = little(bytes + 42, 4), shift = end - size - offset;
    /* So is the first entry of one that has lost its beginning, with what was before its directory:
     * whoever reads it tells that. */
    *ret_at = first == LARGE32 || offset > end - size ? 0 : shift + first;
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

uint64_t weir__archive_search_max(enum weir__archive_front front)
{
    return front == WEIR__ARCHIVE_MEDIA ? UINT64_MAX : WEIR__ARCHIVE_SEARCH_MAX;
}

const struct weir__archive_format *weir__archive_hidden_begins(enum weir__archive_front front,
                                                               const char *bytes, size_t length)
{
    const struct weir__archive_beginning *ones = weir__archive_begin_of(front);
    const char *found =
        ones ? (const char *)weir__archive_begin_first(ones, (const unsigned char *)bytes, length)
             : NULL;
    return found ? weir__archive_format_of(found, length - (size_t)(found - bytes)) : NULL;
}

bool weir__archive_hidden_between(const char *bytes, size_t length)
{
    return weir__archive_begin_first(weir__archive_begin_any, (const unsigned char *)bytes,
                                     length) != NULL;
}

/* The first of these that begins before `most`. Pieces have so many bytes in common. */
static const struct weir__archive_format *find_begin(struct search *search,
                                                     const struct weir__archive_beginning *ones,
                                                     uint64_t most, size_t overlap,
                                                     uint64_t *ret_at)
{
    uint64_t size = search->source->size;
    most = size < most ? size : most;
    for (uint64_t at = 0; at < most; at += PIECE - overlap) {
        size_t length = size - at < PIECE ? (size_t)(size - at) : PIECE;
        const unsigned char *bytes = get(search, at, length);
        const unsigned char *found = bytes ? weir__archive_begin_first(ones, bytes, length) : NULL;
        if (!bytes)
            return NULL;
        if (found) {
            *ret_at = at + (size_t)(found - bytes);
            return weir__archive_format_of((const char *)found, length - (size_t)(found - bytes));
        }
    }
    return NULL;
}

const struct weir__archive_format *
weir__archive_hidden_behind(const struct weir__archive_source *source, uint64_t *ret_at)
{
    struct search search = {.source = source};
    const struct weir__archive_format *format = find_begin(
        &search, weir__archive_begin_any, UINT64_MAX, WEIR__ARCHIVE_BEHIND_OVERLAP, ret_at);
    weir__base_free(search.buffer);
    return format;
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
    /* The zeros may be the first of an image of a disk. */
    const unsigned char *disk =
        bytes && (!format || format->id == WEIR__ARCHIVE_ISO)
            ? weir__archive_begin_first(weir__archive_begin_disk, bytes, length)
            : NULL;
    if (disk) {
        format = weir__archive_format_of((const char *)disk, length - (size_t)(disk - bytes));
        *ret_at = end + (uint64_t)(disk - bytes);
    }
    return format;
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
    const struct weir__archive_beginning *ones = weir__archive_begin_of(front);
    bool has_zip = is_zip(&search, &zip_at);
    if (front == WEIR__ARCHIVE_PROGRAM)
        format = find_behind(&search, &at);
    if (!format && ones)
        format = find_begin(&search, ones, weir__archive_search_max(front),
                            WEIR__ARCHIVE_BEHIND_OVERLAP, &at);
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
