/* decode_mask.h - 64 bytes at a time: which of them belong to a class, as one bit each.
 *
 * Written with the compiler's vector types, so that one text serves every processor; only the step
 * from bytes to bits is worth an instruction of its own where there is one.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_ENGINE_DECODE_MASK_H
#define WEIR_SCAN_ENGINE_DECODE_MASK_H

#include <string.h>

#include <weir/defs.h>

#define WEIR__BLOCK 64u

typedef uint8_t weir__v16 __attribute__((vector_size(16)));

struct weir__block {
    weir__v16 v[4];
};

static inline weir__v16 weir__v16_load(const void *bytes)
{
    weir__v16 v;
    memcpy(&v, bytes, sizeof(v));
    return v;
}

static inline struct weir__block weir__block_load(const char *bytes)
{
    return (struct weir__block){{weir__v16_load(bytes), weir__v16_load(bytes + 16),
                                 weir__v16_load(bytes + 32), weir__v16_load(bytes + 48)}};
}

/* The lanes are 0 or 0xff. */
static inline unsigned weir__v16_bits(weir__v16 v)
{
#if defined(__SSE2__)
    typedef char signed_v16 __attribute__((vector_size(16)));
    return (unsigned)__builtin_ia32_pmovmskb128((signed_v16)v);
#else
    uint64_t lanes[2];
    memcpy(lanes, &v, sizeof(lanes));
    unsigned bits = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t lane = lanes[i];
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        lane = __builtin_bswap64(lane);
#endif
        /* One bit of each byte, a different one in each; the product adds them up in the top. */
        lane &= UINT64_C(0x8040201008040201);
        bits |= (unsigned)(lane * UINT64_C(0x0101010101010101) >> 56) << (8 * i);
    }
    return bits;
#endif
}

#define WEIR__BLOCK_BITS(block, class)                                                             \
    ((uint64_t)weir__v16_bits(class((block)->v[0])) |                                              \
     (uint64_t)weir__v16_bits(class((block)->v[1])) << 16 |                                        \
     (uint64_t)weir__v16_bits(class((block)->v[2])) << 32 |                                        \
     (uint64_t)weir__v16_bits(class((block)->v[3])) << 48)

/* The classes. Unsigned differences wrap, so one comparison is a range. */

static inline weir__v16 weir__v16_alnum(weir__v16 v)
{
    return (weir__v16)(((v | 0x20) - 'a') < 26) | (weir__v16)((v - '0') < 10);
}

/* What an escape begins with: % & and the backslash. */
static inline weir__v16 weir__v16_escape(weir__v16 v)
{
    return (weir__v16)((v - '%') < 2) | (weir__v16)(v == '\\');
}

/* What never occurs in UTF-8 text and always in UTF-16: NUL, and both bytes of the mark. */
static inline weir__v16 weir__v16_wide(weir__v16 v)
{
    return (weir__v16)((v + 2) < 3);
}

static inline weir__v16 weir__v16_nul(weir__v16 v)
{
    return (weir__v16)(v == 0);
}

static inline weir__v16 weir__v16_ff(weir__v16 v)
{
    return (weir__v16)(v == 0xff);
}

static inline weir__v16 weir__v16_fe(weir__v16 v)
{
    return (weir__v16)(v == 0xfe);
}

static inline weir__v16 weir__v16_digit(weir__v16 v)
{
    return (weir__v16)((v - '0') < 10);
}

/* Printable ASCII, TAB, LF, CR. */
static inline weir__v16 weir__v16_text(weir__v16 v)
{
    return (weir__v16)((v - 0x20) < 0x5f) | (weir__v16)((v - '\t') < 2) | (weir__v16)(v == '\r');
}

/* Bits of two blocks in a row, seen count places further back: the bit of place p is that of place
 * p - count. count is 1 to 63. */
static inline uint64_t weir__bits_back(uint64_t before, uint64_t bits, unsigned count)
{
    return bits << count | before >> (64 - count);
}

/* A class in two blocks in a row. */
struct weir__bits2 {
    uint64_t before, bits;
};

/* Where the class holds and held also count places before. */
static inline struct weir__bits2 weir__bits2_and(struct weir__bits2 b, unsigned count)
{
    return (struct weir__bits2){b.before & b.before << count,
                                b.bits & weir__bits_back(b.before, b.bits, count)};
}

#endif
