/* archive_parts.c - archives that stand beside or behind each other in the same bytes.
 *
 * A zip may hold entries that its directory does not list, or another zip before it. And where an
 * archive ends, another one may begin: the halves of an initial ramdisk, or what somebody has put
 * behind a 7z that every reader of it passes over. All of these are walked, one after the other, as
 * members of the one that they were found in.
 */
#include <stdio.h>
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define PARTS_MAX   64u /* zips before each other in one file */
#define PROBE_BYTES 30u /* of an entry of a zip */

/* As weir__archive_trip_walk(): for a zip, if its directory is broken, for the members that stand
 * before it. */
static bool walk_zip(struct weir__archive_level *level)
{
    char reason[WEIR__ARCHIVE_REASON_MAX + 1];
    bool is_walked = weir__archive_trip_walk(level);
    if (is_walked || level->format->id != WEIR__ARCHIVE_ZIP || level->input.member ||
        level->trip->is_stopped)
        return is_walked;
    memcpy(reason, level->reason, sizeof(reason));
    level->reason[0] = '\0';
    level->is_streamed = true;
    level->input.at = level->start;
    is_walked = weir__archive_trip_walk(level);
    memcpy(level->reason, reason, sizeof(reason));
    return is_walked;
}

static bool walk_archives(struct weir__archive_level *level);
static uint64_t walk_behind(struct weir__archive_level *level, bool is_more, uint64_t end,
                            uint64_t at);

/* Entries at that place, of which no directory knows. Returns where the search for something else
 * goes on. What is wrong with them is told at once. In a gap another entry follows the last one,
 * behind an archive a directory is missing. */
static uint64_t walk_unlisted(struct weir__archive_level *level, uint64_t at, bool is_gap)
{
    static const char zip[PROBE_BYTES] = "PK\3\4";
    uint64_t end = at;
    bool makes_sense = weir__archive_zip_pass(level, at, &end);
    level->format = weir__archive_format_of(zip, sizeof(zip));
    level->start = level->input.at = at;
    level->is_streamed = true;
    level->is_raw = false;
    if (!makes_sense)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: what begins as an entry of a zip makes no sense");
    else if (weir__archive_trip_walk(level) && level->entries_count > level->entries_before &&
             is_gap)
        /* Behind the last one the reader looks for a directory, and there is none. */
        level->reason[0] = '\0';
    if (level->reason[0] && !level->trip->is_stopped)
        weir__archive_trip_tell(level->trip, level->reason);
    level->reason[0] = '\0';
    /* Where it goes on is known all the same. */
    level->is_given_up = level->is_end_lost = false;
    return end;
}

/* Entries of a zip that its directory does not list, or another archive: members of this one. */
static void walk_gap(struct weir__archive_level *outer, const struct weir__archive_extent *gap)
{
    struct weir__archive_trip *trip = outer->trip;
    struct weir__archive_level level = {
        .trip = trip,
        .format = outer->format,
        .input = outer->input,
        .depth = outer->depth,
        .path_length = outer->path_length,
        .parts = outer->parts + 1,
        .is_part = true,
    };
    struct weir__archive_input *input = &level.input;
    input->at = 0;
    input->given = NULL;
    input->size = gap->until - gap->from;
    if (input->memory)
        input->memory += gap->from;
    else
        input->base += gap->from;
    const char *bytes = NULL;
    size_t length = weir__archive_look(input, 0, &bytes);
    const struct weir__archive_format *format =
        length > 0 ? weir__archive_format_of(bytes, length) : NULL;
    if (format && format->way == WEIR__ARCHIVE_OPAQUE) {
        snprintf(level.reason, sizeof(level.reason), "no decoder for %s between its entries",
                 format->name);
    } else if (format && format->id != WEIR__ARCHIVE_ZIP) {
        level.format = format;
        walk_archives(&level);
    } else if (weir__archive_zip_has_end(&level, 0)) {
        walk_archives(&level);
    } else {
        uint64_t end = walk_unlisted(&level, 0, true);
        walk_behind(&level, end < input->size, end, end);
    }
    if (level.reason[0] && !trip->is_stopped)
        weir__archive_trip_tell(trip, level.reason);
}

static void walk_gaps(struct weir__archive_level *level)
{
    struct weir__archive_extent gaps[WEIR__ARCHIVE_GAPS];
    if (level->format->id != WEIR__ARCHIVE_ZIP || level->is_streamed || level->is_given_up)
        return;
    size_t count = weir__archive_zip_gaps(level, gaps);
    bool is_all = count <= WEIR__ARCHIVE_GAPS && (count == 0 || level->parts < PARTS_MAX);
    if (!is_all && !level->reason[0])
        snprintf(level->reason, sizeof(level->reason),
                 "more entries that its directory does not list than are looked for");
    if (level->parts >= PARTS_MAX)
        return;
    for (size_t i = 0; i < count && i < WEIR__ARCHIVE_GAPS && !level->trip->is_stopped; i++)
        walk_gap(level, &gaps[i]);
}

/* Goes on with what begins at that place of the same input. */
static void walk_next(struct weir__archive_level *level, const struct weir__archive_format *format,
                      uint64_t at)
{
    if (format->way == WEIR__ARCHIVE_OPAQUE) {
        snprintf(level->reason, sizeof(level->reason), "no decoder for %s behind its end",
                 format->name);
        return;
    }
    level->format = format;
    level->start = level->input.at = at;
    level->is_streamed = level->is_raw = false;
    (void)walk_zip(level);
    if (!level->trip->is_stopped)
        walk_gaps(level);
}

/* A zip that is known by its end, and that nothing before it led to: what is there was given up, or
 * other bytes are between them. What is wrong with the first one is still told. */
static void walk_last_zip(struct weir__archive_level *level, uint64_t passed)
{
    static const char zip[PROBE_BYTES] = "PK\3\4";
    char reason[WEIR__ARCHIVE_REASON_MAX + 1];
    if (level->zip_from <= level->start || level->zip_from < passed || level->trip->is_stopped)
        return;
    memcpy(reason, level->reason, sizeof(reason));
    level->reason[0] = '\0';
    level->is_given_up = level->is_end_lost = false;
    walk_next(level, weir__archive_format_of(zip, sizeof(zip)), level->zip_from);
    if (reason[0])
        memcpy(level->reason, reason, sizeof(reason));
}

/* Of what was given up, nobody knows where it ends. */
static bool can_go_on(const struct weir__archive_level *level)
{
    return !level->is_given_up && !level->is_end_lost && !level->reason[0] &&
           !level->trip->is_stopped;
}

/* All that stands behind an end, one after the other. Returns where the last of it was looked for.
 */
static uint64_t walk_behind(struct weir__archive_level *level, bool is_more, uint64_t end,
                            uint64_t at)
{
    uint64_t passed = 0;
    for (unsigned unlisted = 0; can_go_on(level);) {
        uint64_t from = is_more ? at : level->input.size;
        passed = from;
        const struct weir__archive_format *format =
            is_more ? weir__archive_find_at(level, end, at, &at) : NULL;
        /* What is no archive is the container's own. */
        level->own.has_behind = is_more;
        if (level->format->way == WEIR__ARCHIVE_PACKED &&
            !weir__archive_is_plain_between(level, from, format ? at : level->input.size))
            level->own.has_packed = true;
        if (!format || at <= level->start)
            break;
        if (format->id != WEIR__ARCHIVE_ZIP || weir__archive_zip_has_end(level, at)) {
            walk_next(level, format, at);
            is_more = can_go_on(level) && weir__archive_behind(level, &end, &at);
        } else if (unlisted++ < PARTS_MAX) {
            end = at = walk_unlisted(level, at, false);
            is_more = at < level->input.size;
        } else {
            snprintf(level->reason, sizeof(level->reason),
                     "more entries that no directory lists than are looked for");
        }
    }
    return passed;
}

/* The same for an archive, and for those that stand behind it in the same file or memory. */
static bool walk_archives(struct weir__archive_level *level)
{
    bool is_walked = walk_zip(level);
    uint64_t passed = 0, end = 0, at = 0;
    if (is_walked && !level->trip->is_stopped)
        walk_gaps(level);
    if (is_walked && can_go_on(level)) {
        bool is_more = weir__archive_behind(level, &end, &at);
        passed = walk_behind(level, is_more, end, at);
    }
    walk_last_zip(level, level->is_end_lost ? 0 : passed);
    if (!level->reason[0] && level->wrong_sums > 0)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: it unpacks to something else than was packed (wrong checksum)");
    if (!level->reason[0] && level->is_header_lost)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: a header is damaged: members may be missing");
    return is_walked || level->entries_count > 0;
}

bool weir__archive_parts_walk(struct weir__archive_level *level)
{
    weir__archive_own_init(level);
    bool is_walked = walk_archives(level);
    if (is_walked)
        weir__archive_own_finish(level);
    if (is_walked && !level->reason[0] && !level->trip->is_stopped) {
        if (level->own.has_archive)
            snprintf(level->reason, sizeof(level->reason),
                     "broken: an archive behind its end was not opened");
        else if (level->own.has_behind && level->format->id == WEIR__ARCHIVE_AR)
            /* It has no mark at its end: this may be the half of a member. */
            snprintf(level->reason, sizeof(level->reason),
                     "broken: it is cut off, or ends with bytes that are no member");
        else if (level->own.has_packed)
            snprintf(
                level->reason, sizeof(level->reason),
                "broken: what stands behind its end is no text: a damaged part of it, perhaps");
        else if (level->own.is_lost)
            snprintf(level->reason, sizeof(level->reason),
                     "there is more text beside its members than is looked at");
    }
    weir__archive_own_fini(level);
    return is_walked;
}
