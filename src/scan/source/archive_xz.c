/* archive_xz.c - xz, up to its last byte.
 *
 * libarchive reads xz in blocks, and drops the block in which something is wrong: of a small file
 * that was cut, or that has something behind it, nothing would be left. So the streams are unpacked
 * here, between the input of a level and libarchive, which gets plain bytes. Streams behind each
 * other are one, whatever number of NULs stands between them; what else follows is behind the end,
 * for others to look at. Of a stream that is broken everything before that place is given.
 *
 * The decoder takes no more memory than the process may have, and says so before it takes it.
 */
#include <errno.h>
#include <string.h>

#include <lzma.h>

#include "alloc.h"
#include "archive_read.h"

#include "banned.h"

static const unsigned char magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};

enum part {
    PART_BETWEEN, /* streams: NULs, then the magic of the next one */
    PART_STREAM,
    PART_NONE, /* behind the last one */
};

struct weir__archive_xz {
    lzma_stream stream;
    enum part part;
    size_t magic_length;     /* of the next stream, that was seen */
    const unsigned char *in; /* not looked at yet */
    size_t in_length;
    uint64_t taken;     /* bytes of the input that were looked at */
    uint64_t end;       /* behind the last stream that was read to its end */
    bool is_ended;      /* the input */
    const char *broken; /* the stream cannot be read on */
    int broken_errno;
    unsigned char out[WEIR__ARCHIVE_BLOCK];
};

int weir__archive_xz_open(struct weir__archive_level *level)
{
    struct weir__archive_xz *xz = weir__base_alloc(1, sizeof(*xz));
    if (!xz)
        return -1;
    xz->stream = (lzma_stream)LZMA_STREAM_INIT;
    level->xz = xz;
    return 0;
}

void weir__archive_xz_close(struct weir__archive_level *level)
{
    if (!level->xz)
        return;
    lzma_end(&level->xz->stream);
    weir__base_free(level->xz);
    level->xz = NULL;
}

uint64_t weir__archive_xz_taken(const struct weir__archive_xz *xz)
{
    return xz->part == PART_NONE ? xz->end : xz->taken;
}

static void fail(struct weir__archive_xz *xz, int errno_value, const char *why)
{
    xz->broken = why;
    xz->broken_errno = errno_value;
}

static void fail_code(struct weir__archive_xz *xz, lzma_ret answer)
{
    switch (answer) {
    case LZMA_MEM_ERROR:
    case LZMA_MEMLIMIT_ERROR:
        fail(xz, ENOMEM, "there is too little memory to unpack it");
        break;
    case LZMA_BUF_ERROR:
        fail(xz, EILSEQ, "it is cut off");
        break;
    case LZMA_OPTIONS_ERROR:
        fail(xz, EILSEQ, "it is packed in a way that has no decoder");
        break;
    default:
        fail(xz, EILSEQ, "its packed data are damaged");
    }
}

/* The magic is there: a decoder for what follows it. */
static void begin_stream(struct weir__archive_xz *xz, uint64_t memory_max)
{
    lzma_ret answer = lzma_stream_decoder(&xz->stream, memory_max, 0);
    xz->stream.next_in = magic;
    xz->stream.avail_in = sizeof(magic);
    xz->stream.next_out = xz->out;
    xz->stream.avail_out = sizeof(xz->out);
    if (answer == LZMA_OK)
        answer = lzma_code(&xz->stream, LZMA_RUN);
    if (answer != LZMA_OK)
        fail_code(xz, answer);
    xz->part = PART_STREAM;
}

static void read_between(struct weir__archive_xz *xz, uint64_t memory_max)
{
    while (xz->in_length > 0 && xz->part == PART_BETWEEN) {
        bool is_magic = *xz->in == magic[xz->magic_length];
        if (!is_magic && (*xz->in != 0 || xz->magic_length > 0)) {
            xz->part = PART_NONE;
            return;
        }
        xz->magic_length += is_magic;
        xz->in++;
        xz->in_length--;
        xz->taken++;
        if (xz->magic_length == sizeof(magic))
            begin_stream(xz, memory_max);
    }
    /* Behind a stream, the half of a beginning is the half of a stream. */
    if (xz->is_ended && xz->part == PART_BETWEEN) {
        if (xz->magic_length > 0)
            fail(xz, EILSEQ, "it is cut off");
        else
            xz->part = PART_NONE;
    }
}

/* The bytes that came of it, in xz->out. */
static size_t read_stream(struct weir__archive_xz *xz)
{
    lzma_stream *stream = &xz->stream;
    stream->next_in = xz->in;
    stream->avail_in = xz->in_length;
    stream->next_out = xz->out;
    stream->avail_out = sizeof(xz->out);
    lzma_ret answer = lzma_code(stream, xz->is_ended ? LZMA_FINISH : LZMA_RUN);
    xz->taken += xz->in_length - stream->avail_in;
    xz->in = stream->next_in;
    xz->in_length = stream->avail_in;
    if (answer == LZMA_STREAM_END) {
        xz->end = xz->taken;
        xz->part = PART_BETWEEN;
        xz->magic_length = 0;
    } else if (answer != LZMA_OK && (answer != LZMA_BUF_ERROR || xz->is_ended)) {
        fail_code(xz, answer);
    }
    return sizeof(xz->out) - stream->avail_out;
}

la_ssize_t weir__archive_xz_read(struct archive *archive, void *arg, const void **ret_bytes)
{
    struct weir__archive_level *level = arg;
    struct weir__archive_xz *xz = level->xz;
    uint64_t memory_max = level->trip->command->options.memory_max;
    if (memory_max < WEIR__ARCHIVE_MEMORY_MIN)
        memory_max = WEIR__ARCHIVE_MEMORY_MIN;
    *ret_bytes = xz->out;
    while (!xz->broken && xz->part != PART_NONE) {
        size_t length = 0;
        if (xz->part == PART_BETWEEN)
            read_between(xz, memory_max);
        else
            length = read_stream(xz);
        if (length > 0)
            return (la_ssize_t)length;
        if (xz->in_length > 0 || xz->is_ended || xz->broken || xz->part == PART_NONE)
            continue;
        const void *bytes = NULL;
        la_ssize_t got = weir__archive_input_read(archive, &level->input, &bytes);
        if (got < 0)
            return got;
        xz->in = bytes;
        xz->in_length = (size_t)got;
        xz->is_ended = got == 0;
    }
    if (!xz->broken)
        return 0;
    archive_set_error(archive, xz->broken_errno, "%s", xz->broken);
    return ARCHIVE_FATAL;
}
