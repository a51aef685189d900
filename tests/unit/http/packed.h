/* packed.h - bodies for tests, packed by the libraries that unpack them.
 *
 * Ownership: all memory is the caller's.
 */
#ifndef WEIR_TESTS_PACKED_H
#define WEIR_TESTS_PACKED_H

#include <libdeflate.h>
#include <zstd.h>

#include "tap.h"

static inline size_t pack_gzip(const void *bytes, size_t length, void *out, size_t size)
{
    struct libdeflate_compressor *packer = libdeflate_alloc_compressor(12);
    CHECK(packer);
    size_t used = libdeflate_gzip_compress(packer, bytes, length, out, size);
    libdeflate_free_compressor(packer);
    CHECK(used > 0);
    return used;
}

static inline size_t pack_zstd(const void *bytes, size_t length, void *out, size_t size)
{
    size_t used = ZSTD_compress(out, size, bytes, length, 19);
    CHECK(!ZSTD_isError(used));
    return used;
}

/* In a stream, so that its size is not in its head; with a window of 2^window_log bytes and a
 * dictionary, or NULL. */
static inline size_t pack_zstd_stream(const void *bytes, size_t length, int window_log,
                                      const char *dictionary, void *out, size_t size)
{
    ZSTD_CCtx *packer = ZSTD_createCCtx();
    ZSTD_inBuffer in = {bytes, length, 0};
    ZSTD_outBuffer to = {out, size, 0};
    CHECK(packer);
    if (window_log > 0)
        CHECK(!ZSTD_isError(ZSTD_CCtx_setParameter(packer, ZSTD_c_windowLog, window_log)));
    if (dictionary)
        CHECK(!ZSTD_isError(ZSTD_CCtx_loadDictionary(packer, dictionary, strlen(dictionary))));
    CHECK(!ZSTD_isError(ZSTD_compressStream2(packer, &to, &in, ZSTD_e_flush)));
    CHECK_EQ(ZSTD_compressStream2(packer, &to, &in, ZSTD_e_end), 0);
    CHECK_EQ(in.pos, length);
    ZSTD_freeCCtx(packer);
    return to.pos;
}

#endif
