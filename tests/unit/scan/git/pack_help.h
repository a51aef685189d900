/* pack_help.h - packs and indexes written by hand, right and wrong ones; for tests and fuzzers of
 * src/scan/git. Ids are what the test says: nobody hashes here.
 *
 * Ownership: a writer owns its bytes until writer_free().
 */
#ifndef WEIR_TESTS_PACK_HELP_H
#define WEIR_TESTS_PACK_HELP_H

#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "object_id.h"

#define SUM_BYTE 0x5a

struct written {
    struct weir__git_id id;
    uint64_t offset;
    uint32_t crc;
};

struct bytes {
    uint8_t *at;
    size_t length, room;
};

struct writer {
    struct bytes pack, idx;
    struct written *objects;
    uint32_t count, room;
    size_t id_size;
};

static inline void put_bytes(struct bytes *bytes, const void *more, size_t count)
{
    if (bytes->length + count > bytes->room) {
        bytes->room = 2 * (bytes->length + count) + 64;
        bytes->at = realloc(bytes->at, bytes->room);
        if (!bytes->at)
            abort();
    }
    if (count > 0)
        memcpy(bytes->at + bytes->length, more, count);
    bytes->length += count;
}

static inline void put_byte(struct bytes *bytes, unsigned byte)
{
    uint8_t b = (uint8_t)byte;
    put_bytes(bytes, &b, 1);
}

static inline void put_32(struct bytes *bytes, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        put_byte(bytes, value >> shift & 0xff);
}

static inline void put_64(struct bytes *bytes, uint64_t value)
{
    put_32(bytes, (uint32_t)(value >> 32));
    put_32(bytes, (uint32_t)value);
}

static inline struct weir__git_id id_of(uint32_t number)
{
    /* Spread over the fanout, and never the same. */
    struct weir__git_id id = {{0}};
    uint32_t mixed = number * 2654435761u;
    for (int i = 0; i < 4; i++) {
        id.bytes[i] = (uint8_t)(mixed >> (24 - 8 * i));
        id.bytes[4 + i] = (uint8_t)(number >> (24 - 8 * i));
    }
    return id;
}

static inline void writer_start(struct writer *writer, size_t size_of_id)
{
    memset(writer, 0, sizeof(*writer));
    writer->id_size = size_of_id;
    put_bytes(&writer->pack, "PACK\0\0\0\2\0\0\0\0", 12);
}

static inline void writer_free(struct writer *writer)
{
    free(writer->pack.at);
    free(writer->idx.at);
    free(writer->objects);
    memset(writer, 0, sizeof(*writer));
}

/* A head with the kind and the size, which may be a lie. Returns the object's number. */
static inline uint32_t put_head(struct writer *writer, unsigned kind, uint64_t size)
{
    if (writer->count == writer->room) {
        writer->room = writer->room ? 2 * writer->room : 64;
        writer->objects = realloc(writer->objects, writer->room * sizeof(*writer->objects));
        if (!writer->objects)
            abort();
    }
    writer->objects[writer->count] = (struct written){id_of(writer->count), writer->pack.length, 0};
    unsigned byte = kind << 4 | (unsigned)(size & 15);
    for (size >>= 4; size > 0; size >>= 7) {
        put_byte(&writer->pack, byte | 0x80);
        byte = size & 0x7f;
    }
    put_byte(&writer->pack, byte);
    return writer->count++;
}

static inline void put_distance(struct writer *writer, uint64_t distance)
{
    uint8_t text[10];
    size_t at = sizeof(text) - 1;
    text[at] = distance & 0x7f;
    while (distance >>= 7)
        text[--at] = (uint8_t)(0x80 | (--distance & 0x7f));
    put_bytes(&writer->pack, text + at, sizeof(text) - at);
}

static inline void put_packed(struct writer *writer, const void *bytes, size_t length)
{
    static struct libdeflate_compressor *compressor;
    if (!compressor)
        compressor = libdeflate_alloc_compressor(1);
    size_t room = libdeflate_zlib_compress_bound(compressor, length);
    uint8_t *packed = malloc(room);
    size_t made = libdeflate_zlib_compress(compressor, bytes, length, packed, room);
    if (made == 0)
        abort();
    put_bytes(&writer->pack, packed, made);
    free(packed);
}

static inline uint32_t put_whole(struct writer *writer, enum weir__git_type type, const void *bytes,
                                 size_t length)
{
    uint32_t number = put_head(writer, type, length);
    put_packed(writer, bytes, length);
    return number;
}

static inline uint32_t put_offset_delta(struct writer *writer, uint32_t base,
                                        const struct bytes *delta)
{
    uint32_t number = put_head(writer, 6, delta->length);
    put_distance(writer, writer->objects[number].offset - writer->objects[base].offset);
    put_packed(writer, delta->at, delta->length);
    return number;
}

static inline uint32_t put_reference_delta(struct writer *writer, const struct weir__git_id *base,
                                           const struct bytes *delta)
{
    uint32_t number = put_head(writer, 7, delta->length);
    put_bytes(&writer->pack, base->bytes, writer->id_size);
    put_packed(writer, delta->at, delta->length);
    return number;
}

/* --- deltas --- */

static inline void put_number(struct bytes *bytes, uint64_t number)
{
    for (; number > 0x7f; number >>= 7)
        put_byte(bytes, 0x80 | (number & 0x7f));
    put_byte(bytes, (unsigned)number);
}

static inline void delta_start(struct bytes *delta, uint64_t base, uint64_t result)
{
    delta->length = 0;
    put_number(delta, base);
    put_number(delta, result);
}

static inline void delta_copy(struct bytes *delta, uint32_t from, uint32_t length)
{
    while (length > 0) {
        uint32_t now = length < 0xffffff ? length : 0xffffff;
        size_t head = delta->length;
        unsigned bits = 0x80;
        put_byte(delta, 0);
        for (unsigned i = 0; i < 4; i++)
            if (from >> 8 * i & 0xff) {
                put_byte(delta, from >> 8 * i & 0xff);
                bits |= 1u << i;
            }
        for (unsigned i = 0; i < 3; i++)
            if (now >> 8 * i & 0xff) {
                put_byte(delta, now >> 8 * i & 0xff);
                bits |= 0x10u << i;
            }
        delta->at[head] = (uint8_t)bits;
        from += now;
        length -= now;
    }
}

static inline void delta_insert(struct bytes *delta, const void *bytes, size_t length)
{
    const uint8_t *p = bytes;
    while (length > 0) {
        size_t now = length < 127 ? length : 127;
        put_byte(delta, (unsigned)now);
        put_bytes(delta, p, now);
        p += now;
        length -= now;
    }
}

/* Seven from a base of that length, none of which is what it says. */
static inline void put_lies(struct writer *writer, uint32_t base, uint32_t length)
{
    const struct {
        uint64_t base, result; /* as they say */
        uint32_t from, length; /* of what they copy */
        const char *tail;
    } lies[] = {
        {length - 1, length, 0, length - 1, ""},    /* for another base */
        {length, length + 1, 0, length, ""},        /* makes less */
        {length, length - 1, 0, length, ""},        /* makes more */
        {length, length, 1, length, ""},            /* from behind the base */
        {length, length + 9, 0, length, "\tab"},    /* its end is cut off */
        {length, length, 0, 0, NULL},               /* a step that there is not */
        {length, UINT64_C(1) << 60, 0, length, ""}, /* an exabyte */
    };
    struct bytes delta = {0};
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        delta_start(&delta, lies[i].base, lies[i].result);
        delta_copy(&delta, lies[i].from, lies[i].length);
        if (lies[i].tail)
            put_bytes(&delta, lies[i].tail, strlen(lies[i].tail));
        else
            put_byte(&delta, 0);
        put_offset_delta(writer, base, &delta);
    }
    free(delta.at);
}

/* --- the index --- */

static inline int compare_written(const void *a, const void *b)
{
    return weir__git_id_compare(&((const struct written *)a)->id, &((const struct written *)b)->id);
}

/* Ends the pack and makes its index, of either version. Object numbers are of no use after it. */
static inline void writer_end(struct writer *writer, unsigned version)
{
    for (uint32_t i = 0; i < writer->count; i++) {
        uint64_t begin = writer->objects[i].offset;
        uint64_t end = i + 1 < writer->count ? writer->objects[i + 1].offset : writer->pack.length;
        /* Written by hand, offsets may be anything. */
        if (begin <= end && end <= writer->pack.length)
            writer->objects[i].crc = libdeflate_crc32(0, writer->pack.at + begin, end - begin);
    }
    for (int i = 0; i < 4; i++)
        writer->pack.at[8 + i] = (uint8_t)(writer->count >> (24 - 8 * i));
    for (size_t i = 0; i < writer->id_size; i++)
        put_byte(&writer->pack, SUM_BYTE);
    if (writer->count > 1)
        qsort(writer->objects, writer->count, sizeof(*writer->objects), compare_written);
    struct bytes *idx = &writer->idx;
    if (version == 2)
        put_bytes(idx, "\377tOc\0\0\0\2", 8);
    for (unsigned byte = 0, at = 0; byte < 256; byte++) {
        while (at < writer->count && writer->objects[at].id.bytes[0] <= byte)
            at++;
        put_32(idx, at);
    }
    for (uint32_t i = 0; i < writer->count; i++) {
        if (version == 1)
            put_32(idx, (uint32_t)writer->objects[i].offset);
        put_bytes(idx, writer->objects[i].id.bytes, writer->id_size);
    }
    for (uint32_t i = 0; version == 2 && i < writer->count; i++)
        put_32(idx, writer->objects[i].crc);
    for (uint32_t i = 0; version == 2 && i < writer->count; i++)
        put_32(idx, (uint32_t)writer->objects[i].offset);
    for (size_t i = 0; i < writer->id_size; i++)
        put_byte(idx, SUM_BYTE);
    for (size_t i = 0; i < writer->id_size; i++)
        put_byte(idx, 0);
}

#endif
