/* inflate_object.c - libdeflate and zlib behind one header. */
#include "inflate_object.h"

#include <limits.h>

#include <libdeflate.h>
#define ZLIB_CONST
#include <zlib.h>

#include <weir/error.h>
#include <weir/fault.h>

#include "alloc.h"

#include "banned.h"

/* Of the format: 258 bytes for two bits. */
#define RATIO_MAX 1032u
#define SLACK     64u

int weir__git_inflater_init(struct weir__git_inflater *inflater)
{
    *inflater = (struct weir__git_inflater){0};
    /* The library takes memory by itself, past the fault points. */
    inflater->_whole = weir_fault_hit(WEIR_FAULT_ALLOC) ? NULL : libdeflate_alloc_decompressor();
    return inflater->_whole ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__git_inflater_fini(struct weir__git_inflater *inflater)
{
    if (!inflater)
        return;
    if (inflater->_whole)
        libdeflate_free_decompressor(inflater->_whole);
    if (inflater->_stream) {
        inflateEnd(inflater->_stream);
        weir__base_free(inflater->_stream);
    }
    *inflater = (struct weir__git_inflater){0};
}

uint64_t weir__git_inflate_max(uint64_t packed)
{
    return packed < UINT64_MAX / RATIO_MAX - SLACK ? packed * RATIO_MAX + SLACK : UINT64_MAX;
}

int weir__git_inflate(const struct weir__git_inflater *inflater, const void *in, size_t in_length,
                      void *out, size_t out_length)
{
    enum libdeflate_result result =
        libdeflate_zlib_decompress(inflater->_whole, in, in_length, out, out_length, NULL);
    return result == LIBDEFLATE_SUCCESS ? 0 : -WEIR_E_CORRUPT;
}

int weir__git_inflate_upto(const struct weir__git_inflater *inflater, const void *in,
                           size_t in_length, void *out, size_t room, size_t *ret_length)
{
    enum libdeflate_result result =
        libdeflate_zlib_decompress(inflater->_whole, in, in_length, out, room, ret_length);
    return result == LIBDEFLATE_SUCCESS              ? 0
           : result == LIBDEFLATE_INSUFFICIENT_SPACE ? -WEIR_E_TOO_LARGE
                                                     : -WEIR_E_CORRUPT;
}

static void *take(void *arg, unsigned count, unsigned size)
{
    (void)arg;
    return weir__base_alloc(count, size);
}

static void give(void *arg, void *memory)
{
    (void)arg;
    weir__base_free(memory);
}

int weir__git_inflate_begin(struct weir__git_inflater *inflater)
{
    if (inflater->_stream) {
        inflateReset(inflater->_stream);
        return 0;
    }
    z_stream *stream = weir__base_alloc(1, sizeof(*stream));
    if (!stream)
        return -WEIR_E_NO_MEMORY;
    stream->zalloc = take;
    stream->zfree = give;
    if (inflateInit(stream) != Z_OK) {
        weir__base_free(stream);
        return -WEIR_E_NO_MEMORY;
    }
    inflater->_stream = stream;
    return 0;
}

int weir__git_inflate_more(struct weir__git_inflater *inflater, const void *in, size_t in_length,
                           size_t *ret_used, void *out, size_t out_length, size_t *ret_made)
{
    z_stream *stream = inflater->_stream;
    unsigned given = in_length < UINT_MAX ? (unsigned)in_length : UINT_MAX;
    unsigned room = out_length < UINT_MAX ? (unsigned)out_length : UINT_MAX;
    stream->next_in = in;
    stream->avail_in = given;
    stream->next_out = out;
    stream->avail_out = room;
    int result = inflate(stream, Z_NO_FLUSH);
    *ret_used = given - stream->avail_in;
    *ret_made = room - stream->avail_out;
    if (result == Z_STREAM_END)
        return 1;
    if (result == Z_MEM_ERROR)
        return -WEIR_E_NO_MEMORY;
    /* Z_BUF_ERROR: nothing could be done with what was given, which is no fault of the stream. */
    return result == Z_OK || result == Z_BUF_ERROR ? 0 : -WEIR_E_CORRUPT;
}
