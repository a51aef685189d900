/* archive_unseen.c - archives in members that come by once.
 *
 * A member that does not begin as an archive and can neither be held nor spilled is given as it
 * comes. What is behind its first bytes cannot be opened then, but it is noticed: by its beginning
 * in the first MiB, by the end of a zip in the last 64 KiB, or since something follows where a
 * program ends.
 */
#include <stdio.h>
#include <string.h>

#include "archive_read.h"

#include "banned.h"

void weir__archive_unseen_start(struct weir__archive_member *member)
{
    member->level->trip->tail_length = 0;
    member->level->trip->search_length = 0;
    member->hidden = NULL;
}

static void add_to_tail(struct weir__archive_member *member, uint64_t at, const char *bytes,
                        size_t length)
{
    struct weir__archive_trip *trip = member->level->trip;
    const size_t size = sizeof(trip->tail);
    /* Where the size is known, the last bytes are enough. */
    if (at + length + size < member->size)
        return;
    size_t new = length < size ? length : size;
    size_t old = trip->tail_length < size - new ? trip->tail_length : size - new;
    memmove(trip->tail, trip->tail + trip->tail_length - old, old);
    memcpy(trip->tail + old, bytes + length - new, new);
    trip->tail_length = old + new;
}

/* With the last of the bytes before, since a beginning may lie in both. */
static void search(struct weir__archive_member *member, const char *bytes, size_t length)
{
    struct weir__archive_trip *trip = member->level->trip;
    while (length > 0 && !member->hidden) {
        size_t room = sizeof(trip->search) - trip->search_length;
        size_t part = length < room ? length : room;
        memcpy(trip->search + trip->search_length, bytes, part);
        trip->search_length += part;
        const struct weir__archive_format *format =
            weir__archive_hidden_begins(member->front, trip->search, trip->search_length);
        member->hidden = format ? format->name : NULL;
        size_t kept = trip->search_length < WEIR__ARCHIVE_SEARCH_OVERLAP
                          ? trip->search_length
                          : WEIR__ARCHIVE_SEARCH_OVERLAP;
        memmove(trip->search, trip->search + trip->search_length - kept, kept);
        trip->search_length = kept;
        bytes += part;
        length -= part;
    }
}

void weir__archive_unseen_add(struct weir__archive_member *member, uint64_t at, const char *bytes,
                              size_t length)
{
    if (!member->is_unseen)
        return;
    add_to_tail(member, at, bytes, length);
    if (at < weir__archive_search_max(member->front) && member->front != WEIR__ARCHIVE_TEXT)
        search(member, bytes, length);
}

const char *weir__archive_unseen_why(struct weir__archive_member *member, uint64_t size,
                                     char reason[WEIR__ARCHIVE_REASON_MAX + 1])
{
    const struct weir__archive_trip *trip = member->level->trip;
    const char *format = member->hidden;
    if (!member->is_unseen)
        return NULL;
    if (weir__archive_hidden_ends(trip->tail, trip->tail_length))
        format = "zip";
    if (!format && member->program_end > 0 && member->program_end < size)
        format = "if one is behind the program";
    if (!format)
        return NULL;
    snprintf(reason, WEIR__ARCHIVE_REASON_MAX + 1,
             "archive not opened (%s): it is behind more bytes than are looked into within an "
             "archive: unpack it, and scan it as a file",
             format);
    return reason;
}
