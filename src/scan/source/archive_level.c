/* archive_level.c - one archive opened by libarchive, on the input that it has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "archive_lib.h"

#include "archive_read.h"

#include "banned.h"

#define ZEROS_MAX 512u

static void count_zeros(struct weir__archive_input *input, const char *bytes, size_t length)
{
    size_t most = length < ZEROS_MAX ? length : ZEROS_MAX, zeros = 0;
    while (zeros < most && bytes[length - 1 - zeros] == '\0')
        zeros++;
    input->zeros = zeros == length ? input->zeros + zeros : zeros;
}

static void note_given(struct weir__archive_input *input, const char *bytes, size_t length)
{
    if (length > 0)
        count_zeros(input, bytes, length);
    input->given = bytes;
    input->given_at = input->at;
    input->given_length = length;
    input->at += length;
    weir__archive_cpio_see(&input->level->cpio, bytes, length);
    weir__archive_own_see(input->level, input->given_at, bytes, length);
}

/* --- frames of zstd and lz4 that pass by --- */

/* How much of a block may be given to libarchive: up to where the last frame ends that is known to
 * be one. What stands behind the frames is no damage, but libarchive takes it for that, and may
 * give nothing of what is before it: it does not get to see it. */
static size_t framed_in(struct weir__archive_level *level, const char *bytes, size_t length)
{
    struct weir__archive_blocks *frames = &level->frames;
    size_t used = 0, end = 0;
    bool is_packed;
    if (level->format->id != WEIR__ARCHIVE_ZSTD && level->format->id != WEIR__ARCHIVE_LZ4)
        return length;
    while (used < length && !weir__archive_blocks_is_over(frames)) {
        if (weir__archive_blocks_is_between(frames))
            end = used;
        used += weir__archive_blocks_next(frames, bytes + used, length - used, &is_packed);
    }
    return weir__archive_blocks_has_rest(frames) ? end : length;
}

/* A frame may begin with the last bytes of a block: these wait until the next block shows whether
 * it does, and are then given before that one. If none does, or nothing comes, they are no part of
 * it.
 */
static la_ssize_t read_member(struct archive *archive, struct weir__archive_input *input,
                              const void **ret_bytes)
{
    struct weir__archive_level *level = input->level;
    struct weir__archive_blocks *frames = &level->frames;
    const char *bytes = NULL;
    size_t got = level->waiting;
    *ret_bytes = input->given;
    level->waiting = 0;
    while (got == 0) {
        weir__archive_own_tap(level);
        size_t length = weir__archive_member_pull(input->member, &bytes);
        if (length == 0)
            break;
        note_given(input, bytes, length);
        bool is_begun = weir__archive_blocks_has_rest(frames);
        size_t begun = is_begun ? frames->few_length : 0;
        memcpy(level->begun, frames->few, sizeof(level->begun));
        got = framed_in(level, bytes, length);
        *ret_bytes = bytes;
        if (got > 0 && begun > 0) {
            level->waiting = got;
            *ret_bytes = level->begun;
            return (la_ssize_t)begun;
        }
        if (weir__archive_blocks_is_over(frames))
            return (la_ssize_t)got;
    }
    if (got > 0 || input->member->failure == WEIR__ARCHIVE_FINE)
        return (la_ssize_t)got;
    archive_set_error(archive, EIO, "%s", input->member->reason);
    return ARCHIVE_FATAL;
}

la_ssize_t weir__archive_input_read(struct archive *archive, void *arg, const void **ret_bytes)
{
    struct weir__archive_input *input = arg;
    const char *bytes = NULL;
    if (input->member)
        return read_member(archive, input, ret_bytes);
    uint64_t left = input->at < input->size ? input->size - input->at : 0;
    size_t length = left < WEIR__ARCHIVE_BLOCK ? (size_t)left : WEIR__ARCHIVE_BLOCK;
    if (weir__buffer_length(&input->level->tail) > 0) {
        uint64_t tail_from = input->level->tail_from;
        if (input->at >= tail_from) {
            *ret_bytes = weir__buffer_text(&input->level->tail) + (input->at - tail_from);
            note_given(input, *ret_bytes, length);
            return (la_ssize_t)length;
        }
        length = tail_from - input->at < length ? (size_t)(tail_from - input->at) : length;
    }
    if (input->memory) {
        bytes = input->memory + (length ? input->at : 0);
        *ret_bytes = bytes;
        note_given(input, bytes, length);
        return (la_ssize_t)length;
    }
    uint64_t at = input->base + input->at;
    ssize_t got = length == 0      ? 0
                  : input->spilled ? weir__archive_spill_read(input->spilled, at, &bytes)
                                   : weir__archive_file_read(input->trip, at, &bytes);
    if (got < 0) {
        archive_set_error(archive, errno, "the file cannot be read");
        return ARCHIVE_FATAL;
    }
    /* A part of the file ends before what is behind it. */
    got = (size_t)got < length ? got : (ssize_t)length;
    *ret_bytes = bytes;
    note_given(input, bytes, (size_t)got);
    return got;
}

static la_int64_t on_skip(struct archive *archive, void *arg, la_int64_t request)
{
    struct weir__archive_input *input = arg;
    (void)archive;
    uint64_t left = input->at < input->size ? input->size - input->at : 0;
    uint64_t skipped = request > 0 && (uint64_t)request < left ? (uint64_t)request : left;
    if (request <= 0)
        return 0;
    input->at += skipped;
    input->zeros = 0;
    weir__archive_cpio_jump(&input->level->cpio, skipped);
    return (la_int64_t)skipped;
}

static la_int64_t on_seek(struct archive *archive, void *arg, la_int64_t offset, int whence)
{
    struct weir__archive_input *input = arg;
    /* Places in a zip may be counted from the beginning of the file, and its reader knows. */
    uint64_t start = input->level->format->id == WEIR__ARCHIVE_ZIP ? 0 : input->level->start;
    uint64_t base = whence == SEEK_SET ? start : whence == SEEK_CUR ? input->at : input->size;
    la_int64_t wanted;
    if (__builtin_add_overflow((la_int64_t)base, offset, &wanted) || wanted < (la_int64_t)start) {
        archive_set_error(archive, EINVAL, "a place outside of the file");
        return ARCHIVE_FATAL;
    }
    input->at = (uint64_t)wanted < input->size ? (uint64_t)wanted : input->size;
    return (la_int64_t)(input->at - start);
}

/* Only what the format needs: no decoder is to try itself on something that it was not chosen for.
 * Left out for good are the filters that start programs, uudecode (it drops the text around), and
 * mtree. */
static void support(struct archive *archive, enum weir__archive_id id)
{
    static int (*const supports[])(struct archive *) = {
        [WEIR__ARCHIVE_7Z] = archive_read_support_format_7zip,
        [WEIR__ARCHIVE_AR] = archive_read_support_format_ar,
        [WEIR__ARCHIVE_BZIP2] = archive_read_support_filter_bzip2,
        [WEIR__ARCHIVE_CAB] = archive_read_support_format_cab,
        [WEIR__ARCHIVE_COMPRESS] = archive_read_support_filter_compress,
        [WEIR__ARCHIVE_CPIO] = archive_read_support_format_cpio,
        [WEIR__ARCHIVE_ISO] = archive_read_support_format_iso9660,
        [WEIR__ARCHIVE_LHA] = archive_read_support_format_lha,
        [WEIR__ARCHIVE_LZ4] = archive_read_support_filter_lz4,
        [WEIR__ARCHIVE_LZIP] = archive_read_support_filter_lzip,
        [WEIR__ARCHIVE_LZMA] = archive_read_support_filter_lzma,
        [WEIR__ARCHIVE_RAR] = archive_read_support_format_rar,
        [WEIR__ARCHIVE_RAR5] = archive_read_support_format_rar5,
        [WEIR__ARCHIVE_RPM] = archive_read_support_filter_rpm,
        [WEIR__ARCHIVE_TAR] = archive_read_support_format_tar,
        [WEIR__ARCHIVE_XAR] = archive_read_support_format_xar,
        [WEIR__ARCHIVE_ZIP] = archive_read_support_format_zip,
        [WEIR__ARCHIVE_ZSTD] = archive_read_support_filter_zstd,
    };
    if (supports[id])
        supports[id](archive);
}

int weir__archive_level_open(struct weir__archive_level *level)
{
    struct archive *archive = archive_read_new();
    level->archive = archive;
    level->input.level = level;
    if (!archive)
        return -1;
    if (level->is_streamed)
        archive_read_support_format_zip_streamable(archive);
    else
        support(archive, level->format->id);
    if (level->format->way == WEIR__ARCHIVE_PACKED) {
        /* Whatever it is, it is given as it is and looked at again: a reader of tar would ask for
         * more bytes than a short stream has, and lose them if that ends in an error. Nothing at
         * all is fine; a stream that is broken before its first byte is not taken for that, since
         * every filter is asked for a byte first. */
        archive_read_support_format_raw(archive);
        archive_read_support_format_empty(archive);
    }
    bool is_gzip = level->format->id == WEIR__ARCHIVE_GZIP;
    bool is_xz = level->format->id == WEIR__ARCHIVE_XZ;
    if (level->format->id == WEIR__ARCHIVE_CPIO)
        weir__archive_cpio_start(&level->cpio);
    if (is_gzip && weir__archive_gzip_open(level) != 0)
        return -1;
    if (is_xz && weir__archive_xz_open(level) != 0)
        return -1;
    archive_read_set_read_callback(archive, is_gzip ? weir__archive_gzip_read
                                            : is_xz ? weir__archive_xz_read
                                                    : weir__archive_input_read);
    archive_read_set_callback_data(archive, is_gzip || is_xz ? (void *)level : &level->input);
    if (!level->input.member && !is_gzip && !is_xz) {
        archive_read_set_skip_callback(archive, on_skip);
        archive_read_set_seek_callback(archive, on_seek);
    }
    if (level->format->id == WEIR__ARCHIVE_TAR)
        /* What stands behind the end mark is read as well, or told. */
        archive_read_set_options(archive, "tar:read_concatenated_archives");
    level->is_open = archive_read_open1(archive) == ARCHIVE_OK;
    return level->is_open ? 0 : -1;
}

uint64_t weir__archive_level_packed(const struct weir__archive_level *level)
{
    if (level->gzip)
        return weir__archive_gzip_taken(level->gzip);
    if (level->xz)
        return weir__archive_xz_taken(level->xz);
    la_int64_t packed = archive_filter_bytes(level->archive, -1);
    return packed > 0 ? (uint64_t)packed : 0;
}

void weir__archive_level_close(struct weir__archive_level *level)
{
    if (level->archive) {
        level->consumed = level->start + weir__archive_level_packed(level);
        archive_read_free(level->archive);
        weir__archive_gzip_close(level);
        weir__archive_xz_close(level);
        level->wrong_sums += level->cpio.wrong;
        level->is_header_lost = level->is_header_lost || level->cpio.is_lost;
        level->cpio = (struct weir__archive_cpio){0};
    }
    level->archive = NULL;
    level->is_open = false;
}

bool weir__archive_level_is_encrypted(struct weir__archive_level *level)
{
    /* Of an archive that no reader wanted, libarchive would ask the one behind its last. */
    return level->is_open && archive_read_has_encrypted_entries(level->archive) > 0;
}

void weir__archive_level_reason(struct weir__archive_level *level,
                                char reason[WEIR__ARCHIVE_REASON_MAX + 1])
{
    const struct weir__archive_member *member = level->input.member;
    const char *text = level->archive ? archive_error_string(level->archive) : "out of memory";
    if (member && member->failure != WEIR__ARCHIVE_FINE)
        /* The deepest cause is the cause. */
        snprintf(reason, WEIR__ARCHIVE_REASON_MAX + 1, "%s", member->reason);
    else if (!weir__archive_reason_memory(level, text, reason))
        weir__archive_reason_words(text, reason);
}
