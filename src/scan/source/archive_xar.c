/* archive_xar.c - where a xar ends.
 *
 * Its table of contents, packed XML behind the header, has for everything in the heap behind it a
 * place and a length. libarchive reads the members and does not say where the last one ended.
 *
 * Limits: TABLE_MAX bytes of the table; what has more does not say where it ends.
 */
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "archive_read.h"

#include "banned.h"

#define HEAD_BYTES 28u
#define TABLE_MAX  (UINT64_C(64) << 20)
#define TAG_MAX    16u

/* The table as it comes. */
struct table {
    char tag[TAG_MAX + 1];
    size_t tag_length;
    bool is_in_tag;
    uint64_t number; /* since the last tag */
    uint64_t offset, length, size;
    uint64_t end; /* in the heap, of all so far */
    uint64_t bytes;
};

static uint64_t big(const char *bytes, size_t length)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

static void take_tag(struct table *table)
{
    static const char *const whole[] = {"/data", "/ea", "/checksum", "/signature", "/x-signature"};
    const char *tag = table->tag;
    uint64_t end;
    table->tag[table->tag_length] = '\0';
    if (strcmp(tag, "/offset") == 0)
        table->offset = table->number;
    else if (strcmp(tag, "/length") == 0)
        table->length = table->number;
    else if (strcmp(tag, "/size") == 0)
        table->size = table->number;
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (strcmp(tag, whole[i]) != 0)
            continue;
        /* Of a file the size is that of what is unpacked. */
        uint64_t length = table->length > 0 ? table->length : table->size;
        if (!__builtin_add_overflow(table->offset, length, &end) && end > table->end)
            table->end = end;
        table->offset = table->length = table->size = 0;
    }
    table->number = 0;
}

static void take(struct table *table, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c == '<') {
            table->is_in_tag = true;
            table->tag_length = 0;
        } else if (c == '>' && table->is_in_tag) {
            table->is_in_tag = false;
            take_tag(table);
        } else if (table->is_in_tag && table->tag_length < TAG_MAX) {
            table->tag[table->tag_length++] = c;
        } else if (!table->is_in_tag && c >= '0' && c <= '9' && table->number < UINT64_MAX / 16) {
            table->number = table->number * 10 + (uint64_t)(c - '0');
        }
    }
    table->bytes += length;
}

/* The table, from its place in the input. True: it came to its end. */
static bool read_table(struct weir__archive_level *level, z_stream *stream, uint64_t at,
                       uint64_t until, struct table *table)
{
    char out[4096];
    const char *bytes = NULL;
    int answer = Z_OK;
    while (answer == Z_OK && table->bytes < TABLE_MAX) {
        if (stream->avail_in == 0) {
            size_t length = at < until ? weir__archive_look(&level->input, at, &bytes) : 0;
            length = until - at < length ? (size_t)(until - at) : length;
            if (length == 0)
                return false;
            stream->next_in = (const unsigned char *)bytes;
            stream->avail_in = (unsigned)length;
            at += length;
        }
        stream->next_out = (unsigned char *)out;
        stream->avail_out = sizeof(out);
        answer = inflate(stream, Z_NO_FLUSH);
        take(table, out, sizeof(out) - stream->avail_out);
    }
    return answer == Z_STREAM_END;
}

uint64_t weir__archive_xar_end(struct weir__archive_level *level)
{
    struct table table = {.number = 0};
    z_stream stream = {.next_in = NULL};
    const char *bytes = NULL;
    if (weir__archive_look(&level->input, level->start, &bytes) < HEAD_BYTES)
        return UINT64_MAX;
    uint64_t from = level->start + big(bytes + 4, 2), packed = big(bytes + 8, 8), end;
    if (packed > level->input.size || inflateInit(&stream) != Z_OK)
        return UINT64_MAX;
    bool is_read = read_table(level, &stream, from, from + packed, &table);
    inflateEnd(&stream);
    return is_read && !__builtin_add_overflow(from + packed, table.end, &end) ? end : UINT64_MAX;
}
