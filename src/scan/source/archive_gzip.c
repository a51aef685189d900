/* archive_gzip.c - gzip, with its checks.
 *
 * libarchive reads gzip and passes over the checksum and the length behind it, so that damage which
 * still unpacks would go unnoticed. So the stream is unpacked here, between the input of a level
 * and libarchive, which gets plain bytes. Members behind each other are one stream. One whose
 * checksum is wrong is counted; what it unpacked to has been given by then, and the next one is
 * read. What does not begin a member is behind the end, for others to look at.
 *
 * The checksum is libdeflate's, which is some ten times as fast as unpacking.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <libdeflate.h>
#define ZLIB_CONST
#include <zlib.h>

#include "alloc.h"
#include "archive_read.h"

#include "banned.h"

#define HEAD_BYTES  10u
#define TAIL_BYTES  8u
#define FLAGS_AT    3u
#define FLAG_CRC    0x02u
#define FLAG_EXTRA  0x04u
#define FLAG_NAME   0x08u
#define FLAG_TEXT   0x10u /* a comment */
#define FLAGS_NONE  0xe0u /* are not in use */
#define RAW_DEFLATE (-15)

/* In the order in which they stand in a member. */
enum part {
    PART_HEAD,
    PART_EXTRA_LENGTH,
    PART_EXTRA,
    PART_NAME,
    PART_COMMENT,
    PART_HEAD_CRC,
    PART_BODY,
    PART_TAIL,
    PART_NONE, /* behind the last member */
};

struct weir__archive_gzip {
    z_stream stream;
    enum part part;
    size_t part_at; /* bytes of it that were seen */
    unsigned flags;
    size_t extra_length;
    unsigned char few[HEAD_BYTES]; /* of a part that has few bytes */
    const unsigned char *in;       /* not looked at yet */
    size_t in_length;
    uint64_t taken;     /* bytes of the input that were looked at */
    uint64_t end;       /* behind the last member that was read to its end */
    uint64_t unpacked;  /* of this member */
    uint64_t wrong;     /* members whose checksum or length is */
    uint32_t sum;       /* of this member */
    const char *broken; /* the stream cannot be read on */
    unsigned char out[WEIR__ARCHIVE_BLOCK];
};

int weir__archive_gzip_open(struct weir__archive_level *level)
{
    struct weir__archive_gzip *gzip = weir__base_alloc(1, sizeof(*gzip));
    if (!gzip)
        return -1;
    if (inflateInit2(&gzip->stream, RAW_DEFLATE) != Z_OK) {
        weir__base_free(gzip);
        return -1;
    }
    level->gzip = gzip;
    return 0;
}

void weir__archive_gzip_close(struct weir__archive_level *level)
{
    if (!level->gzip)
        return;
    level->wrong_sums += level->gzip->wrong;
    inflateEnd(&level->gzip->stream);
    weir__base_free(level->gzip);
    level->gzip = NULL;
}

uint64_t weir__archive_gzip_taken(const struct weir__archive_gzip *gzip)
{
    return gzip->part == PART_NONE ? gzip->end : gzip->taken;
}

static uint32_t le32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static void begin(struct weir__archive_gzip *gzip, enum part part)
{
    gzip->part = part;
    gzip->part_at = 0;
}

/* The next part of the head that there is. */
static void begin_behind(struct weir__archive_gzip *gzip, enum part part)
{
    static const unsigned flags[] = {
        [PART_EXTRA_LENGTH] = FLAG_EXTRA, [PART_EXTRA] = FLAG_EXTRA,  [PART_NAME] = FLAG_NAME,
        [PART_COMMENT] = FLAG_TEXT,       [PART_HEAD_CRC] = FLAG_CRC,
    };
    do
        part++;
    while (part < PART_BODY && !(gzip->flags & flags[part]));
    begin(gzip, part);
    if (part == PART_BODY) {
        inflateReset(&gzip->stream);
        gzip->unpacked = 0;
        gzip->sum = 0;
    }
}

/* Takes bytes into `few`. True when so many of them are there. */
static bool gather(struct weir__archive_gzip *gzip, size_t wanted)
{
    size_t length = wanted - gzip->part_at;
    length = length < gzip->in_length ? length : gzip->in_length;
    memcpy(gzip->few + gzip->part_at, gzip->in, length);
    gzip->part_at += length;
    gzip->in += length;
    gzip->in_length -= length;
    gzip->taken += length;
    return gzip->part_at == wanted;
}

static void skip(struct weir__archive_gzip *gzip, size_t length)
{
    gzip->part_at += length;
    gzip->in += length;
    gzip->in_length -= length;
    gzip->taken += length;
}

static bool is_head(const unsigned char *head)
{
    return head[0] == 0x1f && head[1] == 0x8b && head[2] == 8 && (head[FLAGS_AT] & FLAGS_NONE) == 0;
}

static void read_head(struct weir__archive_gzip *gzip)
{
    if (!gather(gzip, HEAD_BYTES))
        return;
    if (!is_head(gzip->few)) {
        begin(gzip, PART_NONE);
        return;
    }
    gzip->flags = gzip->few[FLAGS_AT];
    begin_behind(gzip, PART_HEAD);
}

/* A text that ends with NUL. */
static void read_text(struct weir__archive_gzip *gzip)
{
    const unsigned char *nul = memchr(gzip->in, 0, gzip->in_length);
    skip(gzip, nul ? (size_t)(nul - gzip->in) + 1 : gzip->in_length);
    if (nul)
        begin_behind(gzip, gzip->part);
}

static void read_extra(struct weir__archive_gzip *gzip)
{
    size_t left = gzip->extra_length - gzip->part_at;
    skip(gzip, left < gzip->in_length ? left : gzip->in_length);
    if (gzip->part_at == gzip->extra_length)
        begin_behind(gzip, PART_EXTRA);
}

static void read_tail(struct weir__archive_gzip *gzip)
{
    if (!gather(gzip, TAIL_BYTES))
        return;
    if (le32(gzip->few) != gzip->sum || le32(gzip->few + 4) != (uint32_t)gzip->unpacked)
        gzip->wrong++;
    gzip->end = gzip->taken;
    begin(gzip, PART_HEAD);
}

/* The bytes that came of it, in gzip->out. */
static size_t read_body(struct weir__archive_gzip *gzip)
{
    z_stream *stream = &gzip->stream;
    stream->next_in = gzip->in;
    stream->avail_in = (uInt)gzip->in_length;
    stream->next_out = gzip->out;
    stream->avail_out = sizeof(gzip->out);
    int answer = inflate(stream, Z_NO_FLUSH);
    gzip->taken += gzip->in_length - stream->avail_in;
    gzip->in = stream->next_in;
    gzip->in_length = stream->avail_in;
    size_t length = sizeof(gzip->out) - stream->avail_out;
    gzip->sum = libdeflate_crc32(gzip->sum, gzip->out, length);
    gzip->unpacked += length;
    if (answer == Z_STREAM_END)
        begin(gzip, PART_TAIL);
    else if (answer == Z_MEM_ERROR)
        gzip->broken = "there is too little memory to unpack it";
    else if (answer != Z_OK && answer != Z_BUF_ERROR)
        gzip->broken = "its packed data are damaged";
    return length;
}

/* Takes some of the input; the bytes that were unpacked. */
static size_t advance(struct weir__archive_gzip *gzip)
{
    switch (gzip->part) {
    case PART_HEAD:
        read_head(gzip);
        break;
    case PART_EXTRA_LENGTH:
        if (gather(gzip, 2)) {
            gzip->extra_length = (size_t)gzip->few[0] | (size_t)gzip->few[1] << 8;
            begin(gzip, PART_EXTRA);
            read_extra(gzip);
        }
        break;
    case PART_EXTRA:
        read_extra(gzip);
        break;
    case PART_NAME:
    case PART_COMMENT:
        read_text(gzip);
        break;
    case PART_HEAD_CRC:
        if (gather(gzip, 2))
            begin_behind(gzip, PART_HEAD_CRC);
        break;
    case PART_BODY:
        return read_body(gzip);
    case PART_TAIL:
        read_tail(gzip);
        break;
    case PART_NONE:
        break;
    }
    return 0;
}

/* The input has ended: where one may, or not. Behind a member, what does not even begin like one is
 * something else. */
static void end(struct weir__archive_gzip *gzip)
{
    static const unsigned char magic[] = {0x1f, 0x8b, 8};
    size_t length = gzip->part_at < sizeof(magic) ? gzip->part_at : sizeof(magic);
    if (gzip->part == PART_HEAD && (length == 0 || memcmp(gzip->few, magic, length) != 0))
        begin(gzip, PART_NONE);
    else if (gzip->part == PART_TAIL)
        gzip->broken = "it is cut off before its checksum";
    else
        gzip->broken = "it is cut off";
}

la_ssize_t weir__archive_gzip_read(struct archive *archive, void *arg, const void **ret_bytes)
{
    struct weir__archive_level *level = arg;
    struct weir__archive_gzip *gzip = level->gzip;
    *ret_bytes = gzip->out;
    while (!gzip->broken && gzip->part != PART_NONE) {
        /* What zlib holds may still give something when the input has been taken. */
        size_t length = gzip->in_length > 0 || gzip->part == PART_BODY ? advance(gzip) : 0;
        if (length > 0)
            return (la_ssize_t)length;
        if (gzip->in_length > 0 || gzip->broken || gzip->part == PART_NONE)
            continue;
        const void *bytes = NULL;
        la_ssize_t got = weir__archive_input_read(archive, &level->input, &bytes);
        if (got < 0)
            return got;
        gzip->in = bytes;
        gzip->in_length = (size_t)got;
        if (got == 0)
            end(gzip);
    }
    if (!gzip->broken)
        return 0;
    archive_set_error(archive, EILSEQ, "%s", gzip->broken);
    return ARCHIVE_FATAL;
}
