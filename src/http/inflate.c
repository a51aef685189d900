/* inflate.c - zlib, found at run time, since only who fetches something needs it. */
#include "inflate.h"

#include <dlfcn.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"

#include "banned.h"

#define GZIP_ALONE (16 + MAX_WBITS)

static struct {
    __typeof__(inflateInit2_) *init;
    __typeof__(inflate) *inflate;
    __typeof__(inflateReset) *reset;
    __typeof__(inflateEnd) *end;
} zlib;

static bool find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

const char *weir__inflate_load(void)
{
    if (zlib.end)
        return NULL;
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library && find(library, "inflateInit2_", &zlib.init) &&
        find(library, "inflate", &zlib.inflate) && find(library, "inflateReset", &zlib.reset) &&
        find(library, "inflateEnd", &zlib.end))
        return NULL;
    return "zlib is not there: install the package zlib1g";
}

static void *get(void *opaque, unsigned count, unsigned size)
{
    (void)opaque;
    return weir__base_alloc(count, size);
}

static void put(void *opaque, void *memory)
{
    (void)opaque;
    weir__base_free(memory);
}

static int begin(struct weir__inflater *inflater)
{
    z_stream *stream = &inflater->_stream;
    if (inflater->_is_begun)
        return 0;
    stream->zalloc = get;
    stream->zfree = put;
    inflater->_block = weir__base_alloc(1, WEIR__INFLATE_BLOCK);
    if (!inflater->_block ||
        zlib.init(stream, GZIP_ALONE, ZLIB_VERSION, (int)sizeof(*stream)) != Z_OK)
        return -WEIR_E_NO_MEMORY;
    inflater->_is_begun = true;
    return 0;
}

int weir__inflate(struct weir__inflater *inflater, const char *bytes, size_t length,
                  int (*take)(void *arg, const char *bytes, size_t length), void *arg)
{
    z_stream *stream = &inflater->_stream;
    int result = begin(inflater);
    /* What comes at once is a buffer of libcurl's, far below the 4 GB that zlib counts to. */
    stream->next_in = (unsigned char *)(uintptr_t)bytes;
    stream->avail_in = (unsigned)length;
    bool is_full = false; /* there may be more to get without another byte */
    while (result == 0 && (stream->avail_in > 0 || is_full)) {
        stream->next_out = (unsigned char *)inflater->_block;
        stream->avail_out = WEIR__INFLATE_BLOCK;
        int code = zlib.inflate(stream, Z_NO_FLUSH);
        size_t got = WEIR__INFLATE_BLOCK - stream->avail_out;
        is_full = stream->avail_out == 0;
        inflater->_is_inside = true;
        if (got > 0)
            result = take(arg, inflater->_block, got);
        if (code == Z_STREAM_END) {
            inflater->_is_inside = is_full = false;
            zlib.reset(stream);
        } else if (code == Z_BUF_ERROR) {
            break; /* it was full by chance, and there is no more */
        } else if (code != Z_OK && result == 0) {
            result = code == Z_MEM_ERROR ? -WEIR_E_NO_MEMORY : -WEIR_E_CORRUPT;
        }
    }
    return result;
}

bool weir__inflate_is_whole(const struct weir__inflater *inflater)
{
    return !inflater->_is_inside;
}

void weir__inflate_fini(struct weir__inflater *inflater)
{
    if (inflater->_is_begun)
        zlib.end(&inflater->_stream);
    weir__base_free(inflater->_block);
}
