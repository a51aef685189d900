/* fuzz_coding.c - any bytes as a packed body, compared with the libraries' own ways to unpack a
 * stream.
 *
 * The first byte says which coding and how much room there is. What is unpacked in one pass must be
 * what a stream, read in small pieces, unpacks to: all of it or none, never above the limits.
 */
#include "coding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#include <weir/error.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_coding: does not hold: %s\n", #condition);                       \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define OUT_MAX 65536

static unsigned char streamed[OUT_MAX + 1];

/* How much it is; -1: it is damaged or cut; above the limit: too much. */
static long stream_gzip(const uint8_t *body, size_t length, size_t limit)
{
    z_stream stream = {0};
    long used = 0;
    bool is_inside = true;
    HOLDS(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK);
    stream.next_in = body;
    stream.avail_in = (unsigned)length;
    while (used >= 0 && (size_t)used <= limit && (is_inside || stream.avail_in > 0)) {
        is_inside = true;
        stream.next_out = streamed + used;
        stream.avail_out = (unsigned)(limit + 1 - (size_t)used < 7 ? limit + 1 - (size_t)used : 7);
        unsigned room = stream.avail_out;
        int code = inflate(&stream, Z_NO_FLUSH);
        used += (long)(room - stream.avail_out);
        if (code == Z_STREAM_END) {
            is_inside = false;
            inflateReset(&stream);
        } else if (code != Z_OK) {
            used = -1;
        }
    }
    inflateEnd(&stream);
    return used;
}

static long stream_zstd(const uint8_t *body, size_t length, size_t limit)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {body, length, 0};
    size_t code = 1;
    long used = 0;
    while (used >= 0 && (size_t)used <= limit && (in.pos < in.size || code != 0)) {
        size_t room = limit + 1 - (size_t)used < 7 ? limit + 1 - (size_t)used : 7;
        ZSTD_outBuffer out = {streamed + used, room, 0};
        size_t before = in.pos;
        code = ZSTD_decompressStream(stream, &out, &in);
        used += (long)out.pos;
        if (ZSTD_isError(code) || (in.pos == before && out.pos == 0))
            used = -1;
    }
    ZSTD_freeDStream(stream);
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    enum weir__coding coding = data[0] & 1 ? WEIR__CODING_ZSTD : WEIR__CODING_GZIP;
    size_t max = data[0] & 2 ? OUT_MAX : data[0] + 1u, length = size - 1;
    size_t limit = length * WEIR__CODING_RATIO < max ? length * WEIR__CODING_RATIO : max;
    const uint8_t *body = data + 1;
    struct weir__decoder decoder;
    struct weir__buffer buffer;
    weir__decoder_init(&decoder);
    weir__buffer_init(&buffer, max);
    int result = weir__unpack(&decoder, coding, body, length, &buffer);
    HOLDS(result == 0 || result == -WEIR_E_TOO_LARGE || result == -WEIR_E_INVALID ||
          result == -WEIR_E_UNSUPPORTED);
    long wanted = coding == WEIR__CODING_ZSTD ? stream_zstd(body, length, limit)
                                              : stream_gzip(body, length, limit);
    if (result == 0) {
        HOLDS(weir__buffer_length(&buffer) <= limit);
        /* Streams of zstd refuse large windows, which cost nothing in one pass; zlib refuses a few
         * tables of codes that libdeflate has a meaning for, and checks the sum of a head. */
        if (wanted >= 0) {
            HOLDS(wanted == (long)weir__buffer_length(&buffer));
            HOLDS(memcmp(weir__buffer_text(&buffer), streamed, (size_t)wanted) == 0);
        }
    } else {
        HOLDS(weir__buffer_length(&buffer) == 0);
        /* What a stream unpacks within the limit, one pass does; but for formats of old. */
        if (coding == WEIR__CODING_GZIP)
            HOLDS(wanted < 0 || (size_t)wanted > limit);
    }
    weir__buffer_fini(&buffer);
    weir__decoder_fini(&decoder);
    return 0;
}
