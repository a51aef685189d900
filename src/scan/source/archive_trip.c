/* archive_trip.c - one walk through an archive and those in it, inside of the limits.
 *
 * Every member is numbered and announced before its first byte is decoded, so that the parent knows
 * of what a decoder died. Its first bytes say whether it is an archive itself. If so, it becomes a
 * level of its own, reading through the outer one, or from memory if its format must seek; if not,
 * or if nothing can be got out of it, its bytes are given.
 *
 * Deterministic: the same file and command meet the same members in the same order, which is what a
 * restart behind a member that killed the decoder relies on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "archive_lib.h"

#include "alloc.h"
#include "archive_read.h"

#include <weir/error.h>

#include "banned.h"

#define MEMORY_SHARE 4u /* of the child's memory: for members that must be in memory */
#define FAILURES_MAX 1000u
#define TAR_BLOCK    512u
/* Of a member that is no program: so much is held to see whether there is an archive in it. */
#define HIDDEN_HELD WEIR__ARCHIVE_SEARCH_MAX

static const char *path_of(const struct weir__archive_trip *trip)
{
    return weir__buffer_text(&trip->path);
}

static void note(struct weir__archive_trip *trip, int error)
{
    if (error)
        trip->is_stopped = true;
}

static void tell(struct weir__archive_trip *trip, const char *reason)
{
    if (!trip->is_muted)
        note(trip, weir__archive_give_unscanned(trip->giver, path_of(trip), reason));
}

void weir__archive_trip_tell(struct weir__archive_trip *trip, const char *reason)
{
    tell(trip, reason);
}

/* "more than 5 members" */
static void tell_limit(struct weir__archive_trip *trip, const char *before, uint64_t number,
                       const char *behind)
{
    char reason[WEIR__ARCHIVE_REASON_MAX + 1];
    snprintf(reason, sizeof(reason), "%s %" PRIu64 " %s", before, number, behind);
    tell(trip, reason);
}

/* Of the file as a whole: then nothing else is looked at. */
static void stop(struct weir__archive_trip *trip, const char *before, uint64_t number,
                 const char *behind)
{
    trip->is_muted = false;
    weir__buffer_truncate(&trip->path, 0);
    tell_limit(trip, before, number, behind);
    trip->is_stopped = true;
}

/* Gives the bytes of a member that has begun, as far as the limits go; true when there is room for
 * more. Sets *ret_cut when the member is too large. */
static bool give_bytes(struct weir__archive_trip *trip, const char *bytes, size_t length,
                       uint64_t *given, bool *ret_cut)
{
    const struct weir__archive_options *options = &trip->command->options;
    uint64_t room = options->entry_bytes_max - *given;
    uint64_t room_all =
        trip->bytes < options->archive_bytes_max ? options->archive_bytes_max - trip->bytes : 0;
    bool is_last = length > room_all;
    *ret_cut = length > room && room <= room_all;
    length = length < room ? length : (size_t)room;
    length = length < room_all ? length : (size_t)room_all;
    *given += length;
    trip->bytes += length;
    trip->quiet_bytes = 0;
    if (length > 0)
        note(trip, weir__archive_give_bytes(trip->giver, bytes, length));
    return !*ret_cut && !is_last && !trip->is_stopped;
}

static bool is_whole_beyond(const struct weir__archive_trip *trip)
{
    uint64_t ratio = trip->command->options.ratio_max;
    return trip->bytes >= (UINT64_C(1) << 20) && trip->bytes / ratio > trip->command->size;
}

/* The end of a member of which `given` bytes were given, and what is to be said about it. */
static void give_end(struct weir__archive_trip *trip, bool is_complete, bool is_cut)
{
    const struct weir__archive_options *options = &trip->command->options;
    note(trip, weir__archive_give_end(trip->giver, is_complete));
    trip->is_in_member = false;
    if (is_cut)
        tell_limit(trip, "larger than", options->entry_bytes_max, "bytes");
}

static void give_begin(struct weir__archive_trip *trip)
{
    note(trip, weir__archive_give_begin(trip->giver, path_of(trip)));
    trip->is_in_member = true;
}

static void give_plain(struct weir__archive_trip *trip, struct weir__archive_member *member)
{
    const struct weir__archive_options *options = &trip->command->options;
    const char *bytes = NULL;
    size_t length;
    uint64_t given = 0, at = 0;
    bool is_cut = false, has_room = true;
    char reason[WEIR__ARCHIVE_REASON_MAX + 1];
    const char *why = NULL;
    if (trip->is_muted || trip->is_stopped)
        return;
    give_begin(trip);
    weir__archive_unseen_start(member);
    while (has_room && !is_whole_beyond(trip)) {
        uint64_t hole = weir__archive_member_hole(member);
        if (hole > 0)
            note(trip, weir__archive_give_skip(trip->giver,
                                               &(struct weir__archive_skip){.length = hole}));
        length = weir__archive_member_pull(member, &bytes);
        if (length == 0)
            break;
        at += hole;
        weir__archive_unseen_add(member, at, bytes, length);
        at += length;
        has_room = give_bytes(trip, bytes, length, &given, &is_cut);
    }
    bool is_bomb = is_whole_beyond(trip);
    give_end(trip, has_room && !is_bomb && !member->reason[0] && !trip->is_stopped, is_cut);
    if (has_room && member->reason[0])
        tell(trip, member->reason);
    else if (has_room && (why = weir__archive_unseen_why(member, at, reason)))
        tell(trip, why);
    if (is_bomb)
        stop(trip, "unpacks more than", options->ratio_max, "times");
    else if (!has_room && !is_cut)
        stop(trip, "unpacks to more than", options->archive_bytes_max, "bytes");
}

/* The file itself as one member. */
static void give_file(struct weir__archive_trip *trip)
{
    const struct weir__archive_options *options = &trip->command->options;
    const char *bytes = NULL;
    uint64_t at = 0, given = 0;
    ssize_t got = 0;
    bool is_cut = false, has_room = true;
    weir__buffer_truncate(&trip->path, 0);
    if (trip->is_muted || trip->is_stopped)
        return;
    give_begin(trip);
    while (has_room && (got = weir__archive_file_read(trip, at, &bytes)) > 0) {
        at += (uint64_t)got;
        has_room = give_bytes(trip, bytes, (size_t)got, &given, &is_cut);
    }
    give_end(trip, has_room && got == 0 && !trip->is_stopped, is_cut);
    if (got < 0)
        tell(trip, "broken: the file cannot be read");
    if (!has_room && !is_cut)
        stop(trip, "more than", options->archive_bytes_max, "bytes");
}

static void walk_level(struct weir__archive_level *level);

bool weir__archive_trip_walk(struct weir__archive_level *level)
{
    struct weir__archive_trip *trip = level->trip;
    unsigned depth_max = trip->command->options.depth_max;
    uint64_t size = level->input.size;
    bool has_frames =
        level->format->id == WEIR__ARCHIVE_ZSTD || level->format->id == WEIR__ARCHIVE_LZ4;
    level->entries_before = level->entries_count;
    level->frames_end = 0;
    if (has_frames)
        level->own.blocks_from = level->start;
    /* Of a frame with anything behind it, libarchive may give nothing at all. */
    if (has_frames && !level->input.member && !weir__archive_find_frames(level))
        return true;
    if (level->frames_end > 0)
        level->input.size = level->frames_end;
    weir__archive_zip_mend(level);
    if (weir__archive_level_open(level) != 0) {
        weir__archive_level_reason(level, level->reason);
    } else {
        /* libarchive undoes a compression in a compression by itself. */
        int filters = archive_filter_count(level->archive) - 1;
        if (filters > 1)
            level->depth += (unsigned)(filters - 1);
        if (level->depth > depth_max)
            snprintf(level->reason, sizeof(level->reason), "nested deeper than %u", depth_max);
        else
            walk_level(level);
    }
    /* A zip tells it of each entry; of one that is broken, an entry's bit says nothing. */
    bool is_encrypted =
        weir__archive_level_is_encrypted(level) &&
        (level->format->id != WEIR__ARCHIVE_ZIP || strcasestr(level->reason, "crypt"));
    if (!level->reason[0] && level->lost_bytes > 0)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: a header is damaged, or something else is behind its end: %" PRIu64
                 " bytes are no members",
                 level->lost_bytes);
    if (level->reason[0] && is_encrypted)
        snprintf(level->reason, sizeof(level->reason), "encrypted");
    weir__archive_level_close(level);
    weir__buffer_fini(&level->tail);
    level->input.size = size;
    weir__buffer_truncate(&trip->path, level->path_length);
    if (!level->reason[0] && !trip->is_stopped)
        weir__archive_zip_count(level);
    /* Some readers say nothing when nothing makes sense to them. */
    bool is_none = level->entries_count == level->entries_before;
    if (!level->reason[0] && is_none && !trip->is_stopped && !weir__archive_is_empty(level))
        snprintf(level->reason, sizeof(level->reason), "broken: nothing in it can be read");
    return !is_none || is_encrypted || !level->reason[0];
}

/* Whether frames come first that libarchive does not pass over in lz4, and of zstd only so many. */
static bool begins_skipped(const struct weir__archive_member *member)
{
    return weir__archive_begins_skipped(weir__buffer_text(&member->held),
                                        weir__buffer_length(&member->held));
}

/* Where the archive in the member is read from. False: it would have to be in memory or spilled,
 * and is too large. */
static bool choose_input(struct weir__archive_level *level, struct weir__archive_member *member)
{
    struct weir__archive_trip *trip = level->trip;
    bool is_zstd = level->format->id == WEIR__ARCHIVE_ZSTD;
    bool is_behind = (is_zstd || level->format->id == WEIR__ARCHIVE_LZ4) && begins_skipped(member);
    bool must_seek =
        level->format->way == WEIR__ARCHIVE_SEEK || level->start > 0 || (is_behind && !is_zstd);
    level->input = (struct weir__archive_input){.trip = trip, .member = member};
    if (level->format->way != WEIR__ARCHIVE_EITHER && !must_seek && !is_behind) {
        member->is_holding = true;
        return true;
    }
    if (member->spilled == 0)
        weir__archive_member_fill(member, trip->memory_left);
    if (member->spilled > 0 || (!member->is_ended && weir__archive_spill(member))) {
        level->input.member = NULL;
        level->input.spilled = member;
        level->input.size = member->spilled;
        level->input.at = level->start;
        return true;
    }
    if (!member->is_ended || member->failure != WEIR__ARCHIVE_FINE || member->spilled > 0)
        return !must_seek;
    level->input.member = NULL;
    level->input.memory = weir__buffer_text(&member->held);
    level->input.size = weir__buffer_length(&member->held);
    level->input.at = level->start;
    return true;
}

/* The archive in a member that does not begin as one. A program or a script is held or spilled as a
 * whole to find out, anything else only if it is short, or if one begins in its first bytes. */
static const struct weir__archive_format *
find_hidden(struct weir__archive_trip *trip, struct weir__archive_member *member, uint64_t *ret_at)
{
    const struct weir__buffer *held = &member->held;
    const char *bytes = weir__buffer_text(held);
    size_t length = weir__buffer_length(held);
    bool is_run = weir__archive_is_run(bytes, length);
    struct weir__archive_input input = {.trip = trip};
    size_t most = is_run && trip->memory_left > HIDDEN_HELD ? trip->memory_left : HIDDEN_HELD;
    member->is_unseen = true;
    member->front = weir__archive_front(bytes, length);
    if (member->front == WEIR__ARCHIVE_PROGRAM)
        member->program_end = weir__archive_program_end(bytes, length);
    if (member->front != WEIR__ARCHIVE_TEXT && !weir__archive_member_fill_to_hole(member, most))
        return NULL; /* what reads as zeros and is none is not to be held, nor to count */
    if (member->is_ended) {
        input.memory = weir__buffer_text(held);
        input.size = weir__buffer_length(held);
    } else if ((is_run || weir__archive_hidden_begins(member->front, weir__buffer_text(held),
                                                      weir__buffer_length(held))) &&
               weir__archive_spill(member)) {
        input.spilled = member;
        input.size = member->spilled;
    }
    member->is_unseen = input.size == 0;
    return input.size > 0 ? weir__archive_find_hidden(&input, ret_at) : NULL;
}

/* The member is an archive: what is in it, else its bytes. */
static void walk_nested(struct weir__archive_level *outer, struct weir__archive_member *member,
                        const struct weir__archive_format *format, uint64_t start)
{
    struct weir__archive_trip *trip = outer->trip;
    unsigned depth_max = trip->command->options.depth_max;
    /* A compressed tar is one archive, not two; so is a package with what is packed in it. */
    bool is_same = outer->is_raw &&
                   (format->way == WEIR__ARCHIVE_STREAM || outer->format->id == WEIR__ARCHIVE_RPM);
    if (!is_same)
        weir__archive_name_layer(outer);
    struct weir__archive_level level = {
        .trip = trip,
        .format = format,
        .depth = outer->depth + !is_same,
        .start = start,
        .path_length = is_same ? outer->path_length : weir__buffer_length(&trip->path),
    };
    bool is_walked = false;
    if (format->way == WEIR__ARCHIVE_OPAQUE) {
        snprintf(level.reason, sizeof(level.reason), "no decoder for %s", format->name);
    } else if (level.depth > depth_max) {
        snprintf(level.reason, sizeof(level.reason), "nested deeper than %u", depth_max);
    } else if (!choose_input(&level, member)) {
        if (member->failure == WEIR__ARCHIVE_FINE)
            snprintf(level.reason, sizeof(level.reason), "nested archive too large to look into%s",
                     trip->spill < 0 ? " without a temporary file" : "");
    } else {
        size_t held = level.input.memory ? weir__buffer_length(&member->held) : 0;
        held = held < trip->memory_left ? held : trip->memory_left;
        trip->memory_left -= held;
        if (start > 0)
            weir__archive_find_zip(&level);
        weir__archive_own_follow(&level, outer);
        is_walked = weir__archive_parts_walk(&level);
        trip->memory_left += held;
    }
    bool is_plain = !is_walked && member->is_replayable;
    if (is_plain) {
        if (is_same)
            note(trip, weir__archive_name_unpacked(outer));
        weir__archive_member_rewind(member);
        give_plain(trip, member);
    }
    /* What is wrong with the member is told with its plain bytes, else here; what is wrong with the
     * archive in it is often the same. */
    bool is_same_reason = strcmp(level.reason, member->reason) == 0;
    if (member->reason[0] && !is_plain && !trip->is_stopped)
        tell(trip, member->reason);
    if (level.reason[0] && !is_same_reason && !trip->is_stopped)
        tell(trip, level.reason);
}

static bool is_left_out(const struct weir__archive_trip *trip, uint64_t number)
{
    for (uint32_t i = 0; i < trip->command->left_out_count; i++)
        if (trip->command->left_out[i] == number)
            return true;
    return false;
}

/* Directories, links and devices have no bytes; what says so and has some is read all the same. */
static bool has_bytes(const struct weir__archive_level *level, struct archive_entry *entry)
{
    la_int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
    switch (archive_entry_filetype(entry)) {
    case AE_IFDIR:
        /* Those of an image of a disk have the size of their table. */
        return size > 0 && level->format->id != WEIR__ARCHIVE_ISO;
    case AE_IFLNK:
    case AE_IFCHR:
    case AE_IFBLK:
    case AE_IFIFO:
    case AE_IFSOCK:
        return size > 0;
    default:
        return !archive_entry_hardlink(entry) || size > 0;
    }
}

static int name_entry(struct weir__archive_level *level, struct archive_entry *entry)
{
    const char *name = archive_entry_pathname(entry);
    if (level->is_raw)
        return weir__archive_name_unpacked(level);
    if (!name)
        name = archive_entry_pathname_utf8(entry);
    return weir__archive_name_add(level, name && *name ? name : "(no name)");
}

/* Whether the level can go on. */
static bool pass(struct weir__archive_level *level, struct weir__archive_member *member)
{
    struct weir__archive_trip *trip = level->trip;
    const struct weir__archive_options *options = &trip->command->options;
    bool can_go_on = trip->is_stopped || weir__archive_member_pass(member);
    /* Behind what is broken in a cabinet libarchive goes on with memory that it does not have. */
    if (level->format->id == WEIR__ARCHIVE_CAB && member->failure == WEIR__ARCHIVE_BROKEN) {
        level->is_given_up = true;
        snprintf(level->reason, sizeof(level->reason),
                 "the rest is behind a member that is broken");
        return false;
    }
    if (can_go_on)
        return true;
    level->is_given_up = true;
    if (trip->bytes > options->archive_bytes_max)
        stop(trip, "unpacks to more than", options->archive_bytes_max, "bytes");
    else if (!level->is_raw && member->failure == WEIR__ARCHIVE_BOMB)
        snprintf(level->reason, sizeof(level->reason),
                 "the rest is behind a member that unpacks more than %u times", options->ratio_max);
    else if (!level->is_raw)
        snprintf(level->reason, sizeof(level->reason),
                 "broken: it ends, or cannot be read on, behind member %" PRIu64,
                 level->entries_count);
    return false;
}

static void read_entry(struct weir__archive_level *level, struct archive_entry *entry,
                       uint64_t number)
{
    struct weir__archive_trip *trip = level->trip;
    struct weir__archive_member member;
    weir__archive_member_init(&member, level);
    if (archive_entry_size_is_set(entry) && archive_entry_size(entry) > 0)
        member.size = (uint64_t)archive_entry_size(entry);
    member.is_sparse = archive_entry_sparse_count(entry) > 0;
    if (is_left_out(trip, number)) {
        pass(level, &member);
        if (number + 1 == trip->command->from)
            trip->is_muted = false;
    } else if (archive_entry_is_encrypted(entry)) {
        tell(trip, "encrypted");
        pass(level, &member);
    } else {
        weir__archive_member_fill(&member, WEIR__ARCHIVE_PEEK);
        const struct weir__archive_format *format = weir__archive_format_of(
            weir__buffer_text(&member.held), weir__buffer_length(&member.held));
        uint64_t start = 0;
        if (!format)
            format = find_hidden(trip, &member, &start);
        if (format)
            walk_nested(level, &member, format, start);
        else
            give_plain(trip, &member);
        pass(level, &member);
        if (member.failure == WEIR__ARCHIVE_BROKEN && level->is_raw)
            level->is_end_lost = true;
        if (member.failure != WEIR__ARCHIVE_BOMB)
            level->bytes += member.bytes;
    }
    weir__archive_member_fini(&member);
}

/* In most formats the target of a link is the content of the member, and one bit makes a file a
 * link: what libarchive has taken for a target is given as bytes. In a tar and on a disk it stands
 * in what the container has beside its members. */
static const char *target_of(const struct weir__archive_level *level, struct archive_entry *entry)
{
    bool is_beside =
        level->format->id == WEIR__ARCHIVE_TAR || level->format->id == WEIR__ARCHIVE_ISO;
    return is_beside ? NULL : archive_entry_symlink(entry);
}

/* Where names are packed as well, nothing that the container has beside its members shows one. */
static bool is_name_packed(const struct weir__archive_level *level)
{
    return level->format->id == WEIR__ARCHIVE_7Z || level->format->id == WEIR__ARCHIVE_XAR;
}

static void give_target(struct weir__archive_level *level, const char *target)
{
    struct weir__archive_trip *trip = level->trip;
    uint64_t given = 0;
    bool is_cut = false, has_room = true;
    if (trip->is_muted || trip->is_stopped)
        return;
    give_begin(trip);
    if (*target) {
        weir__archive_own_mark_target(level, target, strlen(target));
        has_room = give_bytes(trip, target, strlen(target), &given, &is_cut);
    }
    give_end(trip, has_room && !trip->is_stopped, is_cut);
}

static void walk_entry(struct weir__archive_level *level, struct archive_entry *entry)
{
    struct weir__archive_trip *trip = level->trip;
    uint64_t number = trip->number++;
    if (number >= trip->command->options.entries_max) {
        stop(trip, "more than", trip->command->options.entries_max, "members");
        return;
    }
    trip->is_muted = number < trip->command->from;
    weir__archive_own_flush(level);
    const char *target = target_of(level, entry);
    bool is_name = !target && !has_bytes(level, entry);
    if (is_name && !is_name_packed(level))
        return;
    if (is_name)
        target = ""; /* a member of no bytes, for its name */
    note(trip, name_entry(level, entry));
    if (!trip->is_muted && !trip->is_stopped)
        note(trip, weir__archive_give_at(trip->giver, number, path_of(trip)));
    if (target)
        give_target(level, target);
    else if (!trip->is_stopped)
        read_entry(level, entry, number);
}

/* Behind the mark at its end a tar may have zeros that are no whole block. */
static bool is_tar_over(struct weir__archive_level *level, int answer)
{
    const char *text = answer == ARCHIVE_FATAL ? archive_error_string(level->archive) : NULL;
    return text && level->format->id == WEIR__ARCHIVE_TAR && level->input.zeros >= TAR_BLOCK &&
           level->lost_bytes == 0 && strncmp(text, "Truncated tar archive", 21) == 0;
}

static void walk_level(struct weir__archive_level *level)
{
    struct weir__archive_trip *trip = level->trip;
    struct archive_entry *entry = NULL;
    unsigned failures = 0;
    while (!trip->is_stopped && !level->is_given_up) {
        int answer = archive_read_next_header(level->archive, &entry);
        if (answer == ARCHIVE_EOF) {
            if (level->format->id == WEIR__ARCHIVE_TAR && level->input.zeros < TAR_BLOCK &&
                level->lost_bytes == 0 && !level->reason[0])
                snprintf(level->reason, sizeof(level->reason),
                         "broken: it has no mark at its end, and may be cut off");
            return;
        }
        if (is_tar_over(level, answer))
            return;
        if (answer == ARCHIVE_RETRY && level->format->id == WEIR__ARCHIVE_TAR) {
            /* A block that is no header, where one should be: it has been passed over, and the
             * next one is looked at. */
            level->lost_bytes += TAR_BLOCK;
            continue;
        }
        if (answer == ARCHIVE_RETRY || answer < ARCHIVE_WARN) {
            /* What is too long ends in the middle of something as well. */
            if (level->lost_bytes == 0)
                weir__archive_level_reason(level, level->reason);
            if (answer == ARCHIVE_FATAL || ++failures > FAILURES_MAX)
                return;
            continue;
        }
        level->is_raw = archive_format(level->archive) == ARCHIVE_FORMAT_RAW;
        level->entries_count++;
        walk_entry(level, entry);
    }
}

static void walk_file(struct weir__archive_trip *trip)
{
    struct weir__archive_level level = {.trip = trip, .depth = 1};
    const char *bytes = NULL;
    ssize_t got = weir__archive_file_read(trip, 0, &bytes);
    level.format = got > 0 ? weir__archive_format_of(bytes, (size_t)got) : NULL;
    level.input = (struct weir__archive_input){.trip = trip, .size = trip->command->size};
    if (got > 0 && !level.format)
        level.format = weir__archive_find_hidden(&level.input, &level.start);
    level.input.at = level.start;
    if (level.start > 0)
        weir__archive_find_zip(&level);
    bool is_walked = false;
    if (got < 0)
        snprintf(level.reason, sizeof(level.reason), "broken: the file cannot be read");
    else if (got == 0) /* who sent it here has seen its first bytes */
        snprintf(level.reason, sizeof(level.reason),
                 "broken: the file was cut off while it was read");
    else if (!level.format)
        snprintf(level.reason, sizeof(level.reason), "not an archive that is known");
    else if (level.format->way == WEIR__ARCHIVE_OPAQUE)
        snprintf(level.reason, sizeof(level.reason), "no decoder for %s", level.format->name);
    else
        is_walked = weir__archive_parts_walk(&level);
    if (!is_walked && got >= 0)
        give_file(trip);
    /* An earlier child has met members that are not there any more. */
    if (!level.reason[0] && is_walked && trip->number < trip->command->from)
        snprintf(level.reason, sizeof(level.reason), "broken: it became shorter while it was read");
    trip->is_muted = false;
    if (level.reason[0] && !trip->is_stopped)
        tell(trip, level.reason);
}

int weir__archive_trip_run(const struct weir__archive_command *command, int fd, int spill,
                           struct weir__archive_giver *giver)
{
    struct weir__archive_trip *trip = weir__base_alloc(1, sizeof(*trip));
    weir__archive_giver_start(giver, command->walk);
    if (!trip) {
        weir__archive_give_unscanned(giver, "", "out of memory");
        return weir__archive_give_done(giver);
    }
    trip->command = command;
    trip->giver = giver;
    trip->fd = fd;
    trip->spill = spill;
    trip->is_unmapped = command->is_unmapped;
    trip->bytes = command->bytes_before;
    trip->is_muted = command->from > 0;
    trip->memory_left = (size_t)(command->options.memory_max / MEMORY_SHARE);
    weir__buffer_init(&trip->path, WEIR__ARCHIVE_PATH_MAX);
    if (command->verb == WEIR__ARCHIVE_RAW)
        give_file(trip);
    else
        walk_file(trip);
    weir__archive_file_done(trip);
    weir__buffer_fini(&trip->path);
    weir__base_free(trip);
    return weir__archive_give_done(giver);
}
