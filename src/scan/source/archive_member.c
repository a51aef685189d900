/* archive_member.c - the bytes of one member, as often as they are needed from the beginning.
 *
 * libarchive gives blocks with offsets; what lies between them is a hole. A large one is passed
 * over where the member is given or dropped, and counts for nothing; for an archive in the member
 * it reads as zeros, and counts. The ratio is judged here, where bytes come into being: those of
 * all members so far against what their archive took from its input, and where members are packed
 * one by one, those of this one as well.
 */
#include <stdio.h>
#include <string.h>

#include "archive_lib.h"

#include "archive_read.h"

#include "banned.h"

#define RATIO_FROM       (UINT64_C(1) << 20)
#define HOLD_MAX         (UINT64_C(1) << 20)
#define ALIVE_EACH       (UINT64_C(1) << 24)
#define EMPTY_BLOCKS_MAX 10000u
#define HOLE_MIN         (UINT64_C(1) << 16) /* what is smaller reads as zeros */

static const char zeros[WEIR__ARCHIVE_BLOCK];

void weir__archive_member_init(struct weir__archive_member *member,
                               struct weir__archive_level *level)
{
    *member = (struct weir__archive_member){
        .level = level,
        .packed_before = weir__archive_level_packed(level),
        .is_replayable = true,
    };
    weir__buffer_init(&member->held, level->trip->memory_left + HOLD_MAX + WEIR__ARCHIVE_BLOCK);
}

void weir__archive_member_fini(struct weir__archive_member *member)
{
    weir__archive_spill_done(member);
    weir__buffer_fini(&member->held);
}

static void fail_broken(struct weir__archive_member *member)
{
    member->failure = WEIR__ARCHIVE_BROKEN;
    member->is_ended = true;
    weir__archive_level_reason(member->level, member->reason);
}

static void fail_spilled(struct weir__archive_member *member)
{
    member->failure = WEIR__ARCHIVE_BROKEN;
    member->is_ended = true;
    snprintf(member->reason, sizeof(member->reason),
             "broken: the temporary file that it is in cannot be read");
}

static bool is_beyond(uint64_t unpacked, uint64_t packed, unsigned ratio)
{
    return unpacked >= RATIO_FROM && unpacked / ratio > packed;
}

/* What was unpacked so far, against what that took. Asked when the next block is there: libarchive
 * counts a block as taken from the input when it is asked for the one behind it. */
static void judge(struct weir__archive_member *member)
{
    struct weir__archive_level *level = member->level;
    unsigned ratio = level->trip->command->options.ratio_max;
    uint64_t packed = weir__archive_level_packed(level);
    /* A reader that keeps its directory at the end comes back from there. */
    if (packed < member->packed_before)
        member->packed_before = packed;
    /* Where members are packed together, a copy of another one takes no room of its own. */
    bool is_packed_alone = level->format->id == WEIR__ARCHIVE_ZIP;
    if ((is_packed_alone && is_beyond(member->bytes, packed - member->packed_before, ratio)) ||
        is_beyond(level->bytes + member->bytes, packed, ratio)) {
        member->failure = WEIR__ARCHIVE_BOMB;
        member->is_ended = true;
        snprintf(member->reason, sizeof(member->reason), "unpacks more than %u times", ratio);
    }
}

static void count(struct weir__archive_member *member, size_t length)
{
    struct weir__archive_trip *trip = member->level->trip;
    member->bytes += length;
    trip->quiet_bytes += length;
    if (trip->quiet_bytes >= ALIVE_EACH) {
        trip->quiet_bytes = 0;
        if (weir__archive_give_alive(trip->giver))
            trip->is_stopped = true;
    }
}

/* Puts the next block into rest, and the hole before it into zeros. */
static void fetch(struct weir__archive_member *member)
{
    struct weir__archive_level *level = member->level;
    for (unsigned tries = 0; !member->is_ended && !level->trip->is_stopped; tries++) {
        const void *bytes = NULL;
        size_t length = 0;
        la_int64_t at = 0;
        int answer = archive_read_data_block(level->archive, &bytes, &length, &at);
        if (answer == ARCHIVE_EOF && member->is_sparse && member->offset < member->size) {
            /* The last hole has no block behind it. */
            member->zeros = member->size - member->offset;
            member->offset = member->size;
            return;
        }
        if (answer == ARCHIVE_EOF) {
            member->is_ended = true;
            if (member->offset < member->size && !member->reason[0])
                snprintf(member->reason, sizeof(member->reason),
                         "broken: %llu of %llu bytes are there", (unsigned long long)member->offset,
                         (unsigned long long)member->size);
            return;
        }
        if ((answer < ARCHIVE_WARN && answer != ARCHIVE_RETRY) || tries > EMPTY_BLOCKS_MAX) {
            fail_broken(member);
            return;
        }
        /* A block may come with a complaint (a checksum that is wrong): it counts, and so does the
         * complaint. */
        if (answer == ARCHIVE_WARN && !member->reason[0])
            weir__archive_level_reason(level, member->reason);
        if (!bytes || length == 0)
            continue;
        member->rest = bytes;
        member->rest_length = length;
        member->zeros = at > 0 && (uint64_t)at > member->offset ? (uint64_t)at - member->offset : 0;
        member->offset += member->zeros + length;
        weir__archive_own_mark(level, bytes, length);
        judge(member);
        return;
    }
    member->is_ended = true;
}

size_t weir__archive_member_next(struct weir__archive_member *member, size_t most,
                                 const char **ret_bytes)
{
    size_t length;
    if (member->rest_length == 0 && member->zeros == 0)
        fetch(member);
    if (member->is_ended)
        return 0;
    if (member->zeros > 0) {
        length = member->zeros < sizeof(zeros) ? (size_t)member->zeros : sizeof(zeros);
        length = length < most ? length : most;
        *ret_bytes = zeros;
        member->zeros -= length;
        judge(member);
    } else {
        length = member->rest_length < most ? member->rest_length : most;
        *ret_bytes = member->rest;
        member->rest += length;
        member->rest_length -= length;
    }
    count(member, length);
    return length;
}

/* The one that comes next, if it is worth to be passed over. */
static uint64_t look_at_hole(struct weir__archive_member *member)
{
    if (member->rest_length == 0 && member->zeros == 0)
        fetch(member);
    return member->is_ended || member->zeros < HOLE_MIN ? 0 : member->zeros;
}

static uint64_t take_hole(struct weir__archive_member *member)
{
    uint64_t hole = look_at_hole(member);
    if (hole > 0)
        member->zeros = 0;
    return hole;
}

uint64_t weir__archive_member_hole(struct weir__archive_member *member)
{
    if (member->spilled_at < member->spilled ||
        member->held_at < weir__buffer_length(&member->held))
        return 0;
    uint64_t hole = take_hole(member);
    if (hole > 0)
        member->is_replayable = false;
    return hole;
}

void weir__archive_member_put_back(struct weir__archive_member *member, const char *bytes,
                                   size_t length)
{
    if (bytes == zeros) {
        member->zeros += length;
    } else {
        member->rest = bytes;
        member->rest_length += length;
    }
    member->bytes -= length;
}

/* Holds some more. False: there is no more, or it cannot be held. */
static bool hold(struct weir__archive_member *member, size_t want)
{
    const char *bytes = NULL;
    size_t length =
        weir__archive_member_next(member, want - weir__buffer_length(&member->held), &bytes);
    if (length == 0)
        return false;
    if (weir__buffer_append(&member->held, bytes, length) == 0)
        return true;
    /* What cannot be held is given as it comes. */
    weir__archive_member_put_back(member, bytes, length);
    return false;
}

void weir__archive_member_fill(struct weir__archive_member *member, size_t want)
{
    while (weir__buffer_length(&member->held) < want && hold(member, want))
        ;
}

bool weir__archive_member_fill_to_hole(struct weir__archive_member *member, size_t want)
{
    while (weir__buffer_length(&member->held) < want) {
        if (look_at_hole(member) > 0)
            return false;
        if (!hold(member, want))
            break;
    }
    return true;
}

size_t weir__archive_member_pull(struct weir__archive_member *member, const char **ret_bytes)
{
    size_t held = weir__buffer_length(&member->held);
    if (member->spilled_at < member->spilled) {
        ssize_t got = weir__archive_spill_read(member, member->spilled_at, ret_bytes);
        if (got > 0) {
            member->spilled_at += (uint64_t)got;
            return (size_t)got;
        }
        fail_spilled(member);
        return 0;
    }
    if (member->held_at == held && member->is_holding && held < HOLD_MAX) {
        weir__archive_member_fill(member, held + WEIR__ARCHIVE_BLOCK);
        held = weir__buffer_length(&member->held);
    }
    if (member->held_at < held) {
        *ret_bytes = weir__buffer_text(&member->held) + member->held_at;
        size_t length = held - member->held_at;
        member->held_at = held;
        return length;
    }
    size_t length = weir__archive_member_next(member, SIZE_MAX, ret_bytes);
    if (length > 0)
        member->is_replayable = false;
    return length;
}

void weir__archive_member_rewind(struct weir__archive_member *member)
{
    member->held_at = 0;
    member->spilled_at = 0;
    member->is_holding = false;
}

/* Whether jumping over the rest of a member costs nothing, whatever its size. */
static bool is_jump_cheap(const struct weir__archive_level *level)
{
    switch (level->format->id) {
    case WEIR__ARCHIVE_TAR:
    case WEIR__ARCHIVE_CPIO:
    case WEIR__ARCHIVE_AR:
    case WEIR__ARCHIVE_ISO:
    case WEIR__ARCHIVE_ZIP:
        return !level->input.member;
    default:
        return false;
    }
}

bool weir__archive_member_pass(struct weir__archive_member *member)
{
    struct weir__archive_level *level = member->level;
    const char *bytes;
    size_t length;
    if (is_jump_cheap(level))
        return archive_read_data_skip(level->archive) > ARCHIVE_FATAL;
    if (member->failure == WEIR__ARCHIVE_BOMB)
        return false;
    for (;;) {
        take_hole(member);
        length = weir__archive_member_next(member, SIZE_MAX, &bytes);
        if (length == 0)
            break;
        level->trip->bytes += length;
        if (level->trip->bytes > level->trip->command->options.archive_bytes_max)
            return false;
    }
    return member->failure != WEIR__ARCHIVE_BOMB;
}
