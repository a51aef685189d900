/* archive_spill.c - members that must be sought in and are too large for memory.
 *
 * The parent gives one file for the whole walk, and only if there is leave to spill. Members in it
 * lie behind each other like plates on a stack: one that is in another one lies above it and is
 * gone first. What was spilled takes the place of what was held, so that a member can be pulled
 * from its beginning again whatever became of it.
 */

#include "alloc.h"
#include "archive_read.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

/* Behind what was spilled; false when there is no room. */
static bool put(struct weir__archive_member *member, const char *bytes, size_t length)
{
    struct weir__archive_trip *trip = member->level->trip;
    uint64_t end = member->spilled_from + member->spilled;
    if (length > trip->command->options.spill_bytes_max - end)
        return false;
    if (weir__whole_pwrite(trip->spill, bytes, length, end) < 0)
        return false;
    member->spilled += length;
    trip->spill_used = end + length;
    return true;
}

bool weir__archive_spill(struct weir__archive_member *member)
{
    struct weir__archive_trip *trip = member->level->trip;
    const char *bytes = NULL;
    size_t length, held = weir__buffer_length(&member->held);
    if (trip->spill < 0 || trip->spill_used > trip->command->options.spill_bytes_max)
        return false;
    if (!member->spill_block)
        member->spill_block = weir__base_alloc(1, WEIR__ARCHIVE_BLOCK);
    if (!member->spill_block)
        return false;
    member->spilled_from = trip->spill_used;
    if (!put(member, weir__buffer_text(&member->held), held)) {
        weir__archive_spill_done(member);
        return false;
    }
    /* What is in the file need not be in memory. */
    size_t max = weir__buffer_max(&member->held);
    weir__buffer_fini(&member->held);
    weir__buffer_init(&member->held, max);
    member->held_at = 0;
    while ((length = weir__archive_member_next(member, SIZE_MAX, &bytes)) > 0)
        if (!put(member, bytes, length)) {
            weir__archive_member_put_back(member, bytes, length);
            return false;
        }
    return member->failure == WEIR__ARCHIVE_FINE && !trip->is_stopped;
}

ssize_t weir__archive_spill_read(struct weir__archive_member *member, uint64_t at,
                                 const char **ret_bytes)
{
    uint64_t left = at < member->spilled ? member->spilled - at : 0;
    size_t length = left < WEIR__ARCHIVE_BLOCK ? (size_t)left : WEIR__ARCHIVE_BLOCK;
    if (length == 0)
        return 0;
    *ret_bytes = member->spill_block;
    return weir__sys_pread(member->level->trip->spill, member->spill_block, length,
                           (off_t)(member->spilled_from + at));
}

void weir__archive_spill_done(struct weir__archive_member *member)
{
    if (member->spilled > 0)
        member->level->trip->spill_used = member->spilled_from;
    member->spilled = 0;
    weir__base_free(member->spill_block);
    member->spill_block = NULL;
}
