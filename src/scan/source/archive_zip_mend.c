/* archive_zip_mend.c - a zip of which some headers are damaged, as its reader is to see it.
 *
 * libarchive gives all of a zip up at the first header that makes no sense to it, and python or
 * unzip read what is behind it: the directory says where that lies. So the headers are looked at
 * first. Where one is damaged, its member is told by name, and the reader gets another directory,
 * of the members that can be read, with the places where they really are: those of a zip that has
 * lost its beginning, or has something else in front of it, are other than it says. What lies
 * between them is searched afterwards, as always: archive_zip.c.
 *
 * Limits: DIRECTORY_MAX bytes of the new directory, NAMED_MAX members that are named; how many are
 * missing is told in any case.
 */
#include <string.h>

#include "archive_zip.h"

#include "banned.h"

#define DIRECTORY_MAX (16u << 20)
#define NAMED_MAX     64u
#define TOLD_MAX      1024u
#define OFFSET_AT     42u
#define LOCAL         WEIR__ARCHIVE_ZIP_LOCAL
#define LISTED        WEIR__ARCHIVE_ZIP_LISTED
#define LARGE32       WEIR__ARCHIVE_ZIP_LARGE32

struct mend {
    struct weir__archive_level *level;
    struct weir__archive_zip_reader reader;
    struct weir__archive_zip_directory directory;
    struct weir__buffer *tail;
    uint64_t count;
    unsigned named;
};

/* The fields behind the name, one after the other; what is left over may be zeros. */
static bool is_extra_sound(const unsigned char *extra, size_t length)
{
    while (length >= 4) {
        size_t size = (size_t)weir__archive_zip_little(extra + 2, 2);
        if (size > length - 4)
            return false;
        extra += 4 + size;
        length -= 4 + size;
    }
    return weir__archive_zip_little(extra, length) == 0;
}

/* Whether a reader can go by the header of the entry. */
static bool is_sound(struct mend *mend, const struct weir__archive_zip_listed *listed)
{
    if (listed->from == UINT64_MAX)
        return false;
    const unsigned char *bytes = weir__archive_zip_get(&mend->reader, listed->from, LOCAL);
    if (!weir__archive_zip_has_mark(bytes, "PK\3\4"))
        return false;
    size_t name = (size_t)weir__archive_zip_little(bytes + 26, 2);
    size_t extra = (size_t)weir__archive_zip_little(bytes + 28, 2);
    uint64_t end = listed->from + LOCAL + name + extra;
    if (end > mend->directory.from)
        return false;
    bytes = weir__archive_zip_get(&mend->reader, end - extra, extra);
    return bytes && is_extra_sound(bytes, extra);
}

static void tell_name(struct mend *mend, const struct weir__archive_zip_listed *listed)
{
    struct weir__archive_trip *trip = mend->level->trip;
    char name[TOLD_MAX + 1];
    size_t length = listed->name_length < TOLD_MAX ? listed->name_length : TOLD_MAX;
    const unsigned char *bytes = weir__archive_zip_get(&mend->reader, listed->at + LISTED, length);
    if (!bytes || mend->named++ >= NAMED_MAX)
        return;
    memcpy(name, bytes, length);
    name[length] = '\0';
    if (weir__archive_name_add(mend->level, *name ? name : "(no name)") == 0)
        weir__archive_trip_tell(trip, "broken: its header is damaged");
    weir__buffer_truncate(&trip->path, mend->level->path_length);
}

static void put(unsigned char *bytes, uint64_t value, size_t length)
{
    for (size_t i = 0; i < length; i++, value >>= 8)
        bytes[i] = (unsigned char)value;
}

/* Lists the entry where it lies. Its fields for large numbers stay as they are: what need not stand
 * there is not looked for there. */
static bool add(struct mend *mend, const struct weir__archive_zip_listed *listed)
{
    unsigned char place[4];
    const unsigned char *bytes = weir__archive_zip_get(&mend->reader, listed->at, listed->length);
    if (!bytes || (listed->from >= LARGE32 && mend->directory.shift != 0))
        return false;
    put(place, listed->from < LARGE32 ? listed->from : LARGE32, sizeof(place));
    mend->count++;
    return weir__buffer_append(mend->tail, bytes, OFFSET_AT) == 0 &&
           weir__buffer_append(mend->tail, place, sizeof(place)) == 0 &&
           weir__buffer_append(mend->tail, bytes + LISTED, listed->length - LISTED) == 0;
}

/* Both forms of the end, since places may be large. */
static bool add_end(struct mend *mend)
{
    unsigned char end[56 + 20 + 22] = "PK\6\6";
    uint64_t from = mend->directory.from, size = weir__buffer_length(mend->tail);
    put(end + 4, 44, 8);
    put(end + 24, mend->count, 8);
    put(end + 32, mend->count, 8);
    put(end + 40, size, 8);
    put(end + 48, from, 8);
    memcpy(end + 56, "PK\6\7", 4);
    put(end + 64, from + size, 8);
    put(end + 72, 1, 4);
    memcpy(end + 76, "PK\5\6", 4);
    put(end + 84, mend->count, 2);
    put(end + 86, mend->count, 2);
    put(end + 88, size, 4);
    put(end + 92, from < LARGE32 ? from : LARGE32, 4);
    return weir__buffer_append(mend->tail, end, sizeof(end)) == 0;
}

static bool is_all_sound(struct mend *mend)
{
    struct weir__archive_zip_listed listed;
    uint64_t at = mend->directory.from;
    /* It wraps; or something stands before it, which libarchive reckons with in the small form of
     * an end alone. */
    bool is_moved = mend->directory.shift > mend->directory.from ||
                    (mend->directory.has_end64 && mend->directory.shift > 0);
    while (!is_moved && weir__archive_zip_next(&mend->reader, &mend->directory, &at, &listed))
        if (!is_sound(mend, &listed))
            return false;
    return !is_moved && !mend->directory.is_damaged;
}

void weir__archive_zip_mend(struct weir__archive_level *level)
{
    struct mend mend = {.level = level, .reader = {.input = &level->input}, .tail = &level->tail};
    struct weir__archive_zip_listed listed;
    weir__buffer_init(&level->tail, DIRECTORY_MAX);
    if (level->format->id != WEIR__ARCHIVE_ZIP || level->is_streamed || level->input.member ||
        !weir__archive_zip_find(&mend.reader, &mend.directory) || is_all_sound(&mend))
        return;
    bool is_fine = true;
    uint64_t at = mend.directory.from;
    while (is_fine && weir__archive_zip_next(&mend.reader, &mend.directory, &at, &listed))
        is_fine = !is_sound(&mend, &listed) || add(&mend, &listed);
    if (!is_fine || mend.count == 0 || !add_end(&mend)) {
        /* As it was: the reader tells what is wrong with it. */
        weir__buffer_truncate(&level->tail, 0);
        return;
    }
    for (at = mend.directory.from;
         weir__archive_zip_next(&mend.reader, &mend.directory, &at, &listed);)
        if (!is_sound(&mend, &listed))
            tell_name(&mend, &listed);
    level->tail_from = mend.directory.from;
    level->input.size = level->tail_from + weir__buffer_length(&level->tail);
}
