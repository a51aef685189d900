/* archive_zip.c - what lies between the entries that a zip's directory lists.
 *
 * Readers of zip believe the directory at its end, and never see an entry that is not listed there:
 * one that was deleted or hidden, or all those of another zip that stands in front of this one. So
 * the entries are put in the order in which they lie, and what is between them is searched for
 * something that begins as an archive does: so are entries of which the place in the directory is
 * damaged found. A directory that cannot be found leaves nothing to compare with: then nothing is
 * searched, and the reader has told what is wrong. Entries that no directory lists are followed by
 * their own headers, so that one that is cut off or makes no sense does not swallow what follows
 * it.
 *
 * Limits: DIRECTORY_MAX entries, 16 bytes each.
 */
#include <string.h>

#include "archive_begin.h"
#include "archive_zip.h"

#include "banned.h"

#define END_BYTES       22u
#define END_MARK        0x504b0506u
#define LOCAL_BYTES     WEIR__ARCHIVE_ZIP_LOCAL
#define LARGE32         WEIR__ARCHIVE_ZIP_LARGE32
#define END_AND_COMMENT (END_BYTES + 0xffffu)
#define DIRECTORY_MAX   (1u << 20)

/* Behind it there is at most a comment. A look may be short, where a window ends. */
uint64_t weir__archive_zip_end(struct weir__archive_input *input)
{
    uint64_t from = input->size > END_AND_COMMENT ? input->size - END_AND_COMMENT : 0;
    uint64_t end = UINT64_MAX;
    uint32_t mark = 0;
    const char *bytes = NULL;
    size_t length;
    for (; (length = weir__archive_look(input, from, &bytes)) > 0; from += length)
        for (size_t i = 0; i < length; i++) {
            mark = mark << 8 | (unsigned char)bytes[i];
            if (mark == END_MARK && input->size - (from + i - 3) >= END_BYTES)
                end = from + i - 3;
        }
    return end;
}

bool weir__archive_zip_has_end(struct weir__archive_level *level, uint64_t at)
{
    uint64_t end = level->input.member ? UINT64_MAX : weir__archive_zip_end(&level->input);
    return end != UINT64_MAX && end >= at;
}

/* In the order in which they lie. False: there are too many. */
static bool read_directory(struct weir__archive_zip_reader *reader,
                           struct weir__archive_zip_directory *directory,
                           struct weir__buffer *places)
{
    struct weir__archive_zip_listed listed;
    uint64_t at = directory->from;
    while (weir__archive_zip_next(reader, directory, &at, &listed)) {
        struct weir__archive_extent place = {.from = listed.from, .until = listed.packed};
        if (listed.from != UINT64_MAX && weir__buffer_append(places, &place, sizeof(place)) != 0)
            return false;
    }
    size_t count = weir__buffer_length(places) / sizeof(struct weir__archive_extent);
    weir__archive_extents_sort((struct weir__archive_extent *)(uintptr_t)weir__buffer_text(places),
                               count);
    return true;
}

/* Behind what is packed in the entry, and the sizes that may stand there. */
static uint64_t end_of(struct weir__archive_zip_reader *reader,
                       const struct weir__archive_extent *place)
{
    const unsigned char *bytes = weir__archive_zip_get(reader, place->from, LOCAL_BYTES);
    if (!weir__archive_zip_has_mark(bytes, "PK\3\4"))
        return place->from;
    return place->from + LOCAL_BYTES + weir__archive_zip_little(bytes + 26, 2) +
           weir__archive_zip_little(bytes + 28, 2) + place->until;
}

/* --- entries without a directory --- */

#define MARK_BYTES 4u
#define LATER_AT   6u /* the flag that sizes stand behind what is packed */
#define LATER_MAX  24u

/* Behind what is packed from that place on, of which the sizes stand behind it; or UINT64_MAX. */
static uint64_t end_of_later(struct weir__archive_zip_reader *reader, uint64_t from)
{
    uint64_t size = reader->input->size, at = from;
    while (at < size && size - at >= LATER_MAX - 8) {
        const char *bytes = NULL;
        size_t length = weir__archive_look(reader->input, at, &bytes);
        const char *found = length > 0 ? memmem(bytes, length, "PK\7\10", MARK_BYTES) : NULL;
        reader->length = 0; /* its block may be this one */
        if (length == 0)
            return UINT64_MAX;
        at += found                  ? (size_t)(found - bytes)
              : length >= MARK_BYTES ? length - (MARK_BYTES - 1)
                                     : length;
        size_t few = size - at < LATER_MAX ? LATER_MAX - 8 : LATER_MAX;
        const unsigned char *sizes = found ? weir__archive_zip_get(reader, at, few) : NULL;
        if (sizes && weir__archive_zip_little(sizes + 8, 4) == at - from)
            return at + (LATER_MAX - 8);
        if (sizes && few == LATER_MAX && weir__archive_zip_little(sizes + 8, 8) == at - from)
            return at + LATER_MAX;
        at += found ? MARK_BYTES : 0;
    }
    return UINT64_MAX;
}

/* One entry: whether it makes sense, where what is packed in it begins, and where it ends, or
 * UINT64_MAX. */
static bool read_local(struct weir__archive_zip_reader *reader, uint64_t at, uint64_t *ret_from,
                       uint64_t *ret_end)
{
    uint64_t size = reader->input->size, end;
    const unsigned char *bytes = weir__archive_zip_get(reader, at, LOCAL_BYTES);
    if (!weir__archive_zip_has_mark(bytes, "PK\3\4"))
        return false;
    size_t name = (size_t)weir__archive_zip_little(bytes + 26, 2),
           extra = (size_t)weir__archive_zip_little(bytes + 28, 2);
    bool has_later = bytes[LATER_AT] & 8;
    uint64_t packed = weir__archive_zip_little(bytes + 18, 4),
             from = at + LOCAL_BYTES + name + extra;
    bytes = weir__archive_zip_get(reader, at, LOCAL_BYTES + name);
    if (!bytes || !weir__archive_is_entry(bytes, LOCAL_BYTES + name))
        return false;
    bytes =
        packed == LARGE32 ? weir__archive_zip_get(reader, at + LOCAL_BYTES + name, extra) : NULL;
    if (bytes)
        packed = weir__archive_zip_packed(bytes, extra);
    if (has_later && packed == 0)
        end = end_of_later(reader, from);
    else if (__builtin_add_overflow(from, packed, &end) || end > size)
        end = UINT64_MAX;
    else if (has_later)
        end = end_of_later(reader, from);
    *ret_from = from < size ? from : size;
    *ret_end = end;
    return true;
}

bool weir__archive_zip_pass(struct weir__archive_level *level, uint64_t at, uint64_t *ret_end)
{
    struct weir__archive_zip_reader reader = {.input = &level->input};
    uint64_t size = level->input.size, from = 0, end = 0;
    const unsigned char *bytes = weir__archive_zip_get(&reader, at, 2 * MARK_BYTES);
    /* The mark of a zip in parts may stand before it. */
    if (bytes && !weir__archive_zip_has_mark(bytes, "PK\3\4") &&
        weir__archive_zip_has_mark(bytes + MARK_BYTES, "PK\3\4"))
        at += MARK_BYTES;
    bool makes_sense = read_local(&reader, at, &from, &end);
    *ret_end = size - at < MARK_BYTES ? size : at + MARK_BYTES;
    while (makes_sense) {
        bytes = end < size ? weir__archive_zip_get(&reader, end, MARK_BYTES) : NULL;
        bool is_whole = end == size || weir__archive_zip_has_mark(bytes, "PK\1\2") ||
                        weir__archive_zip_has_mark(bytes, "PK\5\6");
        bool is_more = weir__archive_zip_has_mark(bytes, "PK\3\4");
        /* Other bytes where the next one should be: it was cut off, and these came in its place. */
        *ret_end = is_whole || is_more ? end : from;
        if (!is_more)
            break;
        if (!read_local(&reader, end, &from, &end)) {
            *ret_end += MARK_BYTES;
            break;
        }
    }
    return makes_sense;
}

/* --- between them --- */

struct search {
    struct weir__archive_zip_reader reader;
    struct weir__archive_extent *gaps;
    size_t count;
};

/* The first entry of a zip in these bytes, or what else begins there in a form of its own; or NULL.
 */
static const char *find_begin(const char *bytes, size_t length)
{
    const char *other = (const char *)weir__archive_begin_first(
        weir__archive_begin_any, (const unsigned char *)bytes, length);
    const char *end = other ? other : bytes + length, *found = bytes;
    for (; (found = memmem(found, (size_t)(end - found), "PK\3\4", 4)); found += 4) {
        const struct weir__archive_format *format =
            weir__archive_format_of(found, length - (size_t)(found - bytes));
        if (format && format->id == WEIR__ARCHIVE_ZIP)
            return found;
    }
    return other;
}

/* Notes the first beginning of an archive between these places. */
static void search_between(struct search *search, uint64_t from, uint64_t until)
{
    const char *bytes = NULL;
    while (from < until && until - from >= LOCAL_BYTES) {
        size_t length = weir__archive_look(search->reader.input, from, &bytes);
        length = until - from < length ? (size_t)(until - from) : length;
        search->reader.length = 0; /* its block may be this one */
        const char *found = length > 0 ? find_begin(bytes, length) : NULL;
        if (found) {
            if (search->count < WEIR__ARCHIVE_GAPS)
                search->gaps[search->count] = (struct weir__archive_extent){
                    .from = from + (size_t)(found - bytes), .until = until};
            search->count++;
        }
        if (found || length == 0)
            return;
        from += length > WEIR__ARCHIVE_SEARCH_OVERLAP && length < until - from
                    ? length - WEIR__ARCHIVE_SEARCH_OVERLAP
                    : length;
    }
}

size_t weir__archive_zip_gaps(struct weir__archive_level *level,
                              struct weir__archive_extent ret_gaps[WEIR__ARCHIVE_GAPS])
{
    struct search search = {.reader = {.input = &level->input}, .gaps = ret_gaps};
    struct weir__archive_zip_directory directory;
    struct weir__buffer places;
    uint64_t at = level->start; /* what is before it was something else */
    if (level->input.member || !weir__archive_zip_find(&search.reader, &directory))
        return 0;
    weir__buffer_init(&places, DIRECTORY_MAX * sizeof(struct weir__archive_extent));
    if (read_directory(&search.reader, &directory, &places)) {
        const struct weir__archive_extent *place =
            (const struct weir__archive_extent *)(uintptr_t)weir__buffer_text(&places);
        size_t count = weir__buffer_length(&places) / sizeof(*place);
        for (size_t i = 0; i < count; i++) {
            search_between(&search, at, place[i].from);
            uint64_t end = end_of(&search.reader, &place[i]);
            at = end > at ? end : at;
        }
        search_between(&search, at, directory.from);
    }
    weir__buffer_fini(&places);
    return search.count;
}
