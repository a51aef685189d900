/* coding.c - libdeflate and libzstd, each in one pass.
 *
 * Both are given the room that there may be, and say when it is not enough. So there is no loop
 * that could count wrongly, and a bomb costs no more than the room.
 */
#include "coding.h"

#include <string.h>

#include <libdeflate.h>
/* For its allocator of our own, which is not in its stable part: it is linked statically. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include <weir/error.h>
#include <weir/fault.h>

#include "alloc.h"

#include "banned.h"

#define STORED_MAX 65535u /* bytes of a block of deflate that is stored as it is */

struct room {
    char *bytes;
    size_t used, size;
};

/* --- the field --- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

int weir__coding_parse(enum weir__coding *ret_coding, const char *text, size_t length)
{
    while (text && length > 0 && is_space(text[0]))
        text++, length--;
    while (text && length > 0 && is_space(text[length - 1]))
        length--;
    if (!text || length == 0 || is_word(text, length, "identity"))
        *ret_coding = WEIR__CODING_IDENTITY;
    else if (is_word(text, length, "gzip") || is_word(text, length, "x-gzip"))
        *ret_coding = WEIR__CODING_GZIP;
    else if (is_word(text, length, "zstd"))
        *ret_coding = WEIR__CODING_ZSTD;
    else
        return -WEIR_E_UNSUPPORTED;
    return 0;
}

/* --- gzip --- */

static int begin_gzip(struct weir__decoder *decoder)
{
    /* The library takes memory by itself, past the fault points. */
    if (!decoder->_gzip && !weir_fault_hit(WEIR_FAULT_ALLOC))
        decoder->_gzip = libdeflate_alloc_decompressor();
    return decoder->_gzip ? 0 : -WEIR_E_NO_MEMORY;
}

/* The library looks for room before it looks whether a block that is stored as it is has come at
 * all. So what is cut there and what does not fit are told apart by room for one more such block.
 * That costs a bomb as much again. */
static int why_no_room(struct weir__decoder *decoder, const char *body, size_t length, size_t left)
{
    size_t used_in, used_out, size = left + STORED_MAX;
    char *bytes = weir__base_realloc(NULL, size, 1);
    if (!bytes)
        return -WEIR_E_NO_MEMORY;
    enum libdeflate_result code = libdeflate_gzip_decompress_ex(decoder->_gzip, body, length, bytes,
                                                                size, &used_in, &used_out);
    weir__base_free(bytes);
    return code == LIBDEFLATE_BAD_DATA ? -WEIR_E_INVALID : -WEIR_E_TOO_LARGE;
}

static int unpack_gzip(struct weir__decoder *decoder, const char *body, size_t length,
                       struct room *room)
{
    int result = begin_gzip(decoder);
    do {
        size_t used_in = 0, used_out = 0;
        if (result < 0)
            return result;
        enum libdeflate_result code =
            libdeflate_gzip_decompress_ex(decoder->_gzip, body, length, room->bytes + room->used,
                                          room->size - room->used, &used_in, &used_out);
        if (code == LIBDEFLATE_INSUFFICIENT_SPACE)
            return why_no_room(decoder, body, length, room->size - room->used);
        if (code != LIBDEFLATE_SUCCESS)
            return -WEIR_E_INVALID;
        room->used += used_out;
        body += used_in;
        length -= used_in;
    } while (length > 0);
    return 0;
}

/* --- zstd --- */

static void *get(void *opaque, size_t size)
{
    (void)opaque;
    return weir__base_alloc(1, size);
}

static void put(void *opaque, void *memory)
{
    (void)opaque;
    weir__base_free(memory);
}

static int begin_zstd(struct weir__decoder *decoder)
{
    static const ZSTD_customMem memory = {get, put, NULL};
    if (!decoder->_zstd)
        decoder->_zstd = ZSTD_createDCtx_advanced(memory);
    return decoder->_zstd ? 0 : -WEIR_E_NO_MEMORY;
}

static bool is_frame(const char *body, size_t length)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    return length >= sizeof(magic) && memcmp(body, magic, sizeof(magic)) == 0;
}

static int unpack_frame(struct weir__decoder *decoder, const char *frame, size_t length,
                        struct room *room)
{
    size_t left = room->size - room->used;
    unsigned long long said = ZSTD_getFrameContentSize(frame, length);
    if (ZSTD_getDictID_fromFrame(frame, length) != 0)
        return -WEIR_E_UNSUPPORTED;
    if (said == ZSTD_CONTENTSIZE_ERROR)
        return -WEIR_E_INVALID;
    if (said != ZSTD_CONTENTSIZE_UNKNOWN && said > left)
        return -WEIR_E_TOO_LARGE;
    size_t result =
        ZSTD_decompressDCtx(decoder->_zstd, room->bytes + room->used, left, frame, length);
    if (!ZSTD_isError(result)) {
        room->used += result;
        return 0;
    }
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_dstSize_tooSmall:
        return -WEIR_E_TOO_LARGE;
    case ZSTD_error_memory_allocation:
        return -WEIR_E_NO_MEMORY;
    default:
        return -WEIR_E_INVALID;
    }
}

static int unpack_zstd(struct weir__decoder *decoder, const char *body, size_t length,
                       struct room *room)
{
    int result = length > 0 ? begin_zstd(decoder) : -WEIR_E_INVALID;
    while (result == 0 && length > 0) {
        bool is_skipped = ZSTD_isSkippableFrame(body, length) != 0;
        /* What is neither of the two may be a format of old, which the library would read. */
        size_t frame =
            is_skipped || is_frame(body, length) ? ZSTD_findFrameCompressedSize(body, length) : 0;
        if (frame == 0 || ZSTD_isError(frame) || frame > length)
            return -WEIR_E_INVALID;
        if (!is_skipped)
            result = unpack_frame(decoder, body, frame, room);
        body += frame;
        length -= frame;
    }
    return result;
}

/* --- the whole --- */

void weir__decoder_init(struct weir__decoder *decoder)
{
    *decoder = (struct weir__decoder){NULL, NULL};
}

void weir__decoder_fini(struct weir__decoder *decoder)
{
    if (!decoder)
        return;
    if (decoder->_gzip)
        libdeflate_free_decompressor(decoder->_gzip);
    ZSTD_freeDCtx(decoder->_zstd);
    weir__decoder_init(decoder);
}

static int copy(const void *body, size_t length, struct room *room)
{
    if (length > 0)
        memcpy(room->bytes, body, length);
    room->used = length;
    return 0;
}

static size_t room_for(enum weir__coding coding, size_t length, size_t max)
{
    if (coding == WEIR__CODING_IDENTITY)
        return length;
    return length < max / WEIR__CODING_RATIO ? length * WEIR__CODING_RATIO : max;
}

int weir__unpack(struct weir__decoder *decoder, enum weir__coding coding, const void *body,
                 size_t length, struct weir__buffer *buffer)
{
    size_t max = weir__buffer_max(buffer);
    struct room room = {.size = room_for(coding, length, max)};
    if (room.size > max)
        return -WEIR_E_TOO_LARGE;
    room.bytes = weir__base_realloc(NULL, room.size + 1, 1);
    if (!room.bytes)
        return -WEIR_E_NO_MEMORY;
    int result = coding == WEIR__CODING_GZIP   ? unpack_gzip(decoder, body, length, &room)
                 : coding == WEIR__CODING_ZSTD ? unpack_zstd(decoder, body, length, &room)
                                               : copy(body, length, &room);
    if (result < 0) {
        weir__base_free(room.bytes);
        return result;
    }
    /* What was not needed goes back; where that fails, it stays. */
    char *fitting = weir__base_realloc(room.bytes, room.used + 1, 1);
    weir__buffer_adopt(buffer, fitting ? fitting : room.bytes, room.used);
    return 0;
}
