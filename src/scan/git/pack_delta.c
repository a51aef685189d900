/* pack_delta.c - reading and applying deltas.
 *
 * A copy is a byte with its highest bit set, then for each of the lower seven bits that is set one
 * byte: four of the offset, three of the length, lowest first; a length of 0 means 65536. A byte
 * from 1 to 127 is followed by so many bytes of the result. 0 is not used by anybody.
 */
#include "pack_delta.h"

#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define COPY        0x80u
#define COPY_LENGTH 0x10000u
#define COPY_PIECE  2048u

/* 7 bits a byte, lowest first. */
static bool read_number(const uint8_t **at, const uint8_t *end, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned shift = 0; *at < end && shift < 63; shift += 7) {
        uint8_t byte = *(*at)++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

int weir__git_delta_init(struct weir__git_delta *delta, const void *bytes, size_t length)
{
    *delta = (struct weir__git_delta){._at = bytes, ._end = (const uint8_t *)bytes + length};
    if (!read_number(&delta->_at, delta->_end, &delta->base_length) ||
        !read_number(&delta->_at, delta->_end, &delta->result_length))
        return -WEIR_E_CORRUPT;
    return 0;
}

/* The operands of a copy; NULL when they are cut off. */
static inline const uint8_t *read_copy(const uint8_t *at, const uint8_t *end, unsigned bits,
                                       uint32_t *ret_from, uint32_t *ret_length)
{
    uint32_t from = 0, length = 0;
    if (end - at >= 7) {
        /* The usual case, without a look at the end for every byte. */
        for (unsigned i = 0; i < 4; i++)
            if (bits & 1u << i)
                from |= (uint32_t)*at++ << 8 * i;
        for (unsigned i = 0; i < 3; i++)
            if (bits & 0x10u << i)
                length |= (uint32_t)*at++ << 8 * i;
    } else {
        if (__builtin_popcount(bits & 0x7f) > end - at)
            return NULL;
        for (unsigned i = 0; i < 7; i++)
            if (bits & 1u << i)
                *(i < 4 ? &from : &length) |= (uint32_t)*at++ << 8 * (i < 4 ? i : i - 4);
    }
    *ret_from = from;
    *ret_length = length ? length : COPY_LENGTH;
    return at;
}

int weir__git_delta_next(struct weir__git_delta *delta, struct weir__git_delta_step *ret_step)
{
    if (delta->_at == delta->_end)
        return delta->made == delta->result_length ? 0 : -WEIR_E_CORRUPT;
    const uint8_t *at = delta->_at;
    struct weir__git_delta_step step = {0};
    unsigned bits = *at++;
    if (bits & COPY) {
        uint32_t from, length;
        at = read_copy(at, delta->_end, bits, &from, &length);
        if (!at || from > delta->base_length || length > delta->base_length - from)
            return -WEIR_E_CORRUPT;
        step = (struct weir__git_delta_step){true, from, NULL, length};
    } else {
        if (bits == 0 || bits > (size_t)(delta->_end - at))
            return -WEIR_E_CORRUPT;
        step = (struct weir__git_delta_step){false, 0, at, bits};
        at += bits;
    }
    if (step.length > delta->result_length - delta->made)
        return -WEIR_E_CORRUPT;
    delta->made += step.length;
    delta->_at = at;
    *ret_step = step;
    return 1;
}

/* In pieces for which the library has loops of its own: for more it asks the processor to move
 * bytes by itself, which takes twice as long on some where both sides are in the cache and neither
 * is aligned. Nearly all bytes of a history pass here. */
static void copy_bytes(uint8_t *to, const uint8_t *from, size_t length)
{
    for (size_t piece; length > 0; to += piece, from += piece, length -= piece) {
        piece = length < COPY_PIECE ? length : COPY_PIECE;
        memmove(to, from, piece); /* for memcpy the compiler would ask the processor itself */
    }
}

int weir__git_delta_apply(const struct weir__git_delta *delta, const void *base, void *result)
{
    const uint8_t *at = delta->_at, *end = delta->_end, *from_base = base;
    uint64_t base_length = delta->base_length, left = delta->result_length;
    uint8_t *out = result;
    while (at < end) {
        unsigned bits = *at++;
        const uint8_t *source = at;
        uint32_t length = bits;
        if (bits & COPY) {
            uint32_t from;
            at = read_copy(at, end, bits, &from, &length);
            if (!at || from > base_length || length > base_length - from)
                return -WEIR_E_CORRUPT;
            source = from_base + from;
        } else {
            if (bits == 0 || bits > (size_t)(end - at))
                return -WEIR_E_CORRUPT;
            at += bits;
        }
        if (length > left)
            return -WEIR_E_CORRUPT;
        copy_bytes(out, source, length);
        out += length;
        left -= length;
    }
    return left == 0 ? 0 : -WEIR_E_CORRUPT;
}
