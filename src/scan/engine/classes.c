/* classes.c - classes of bytes, for any processor and for those with AVX2. */
#include "classes.h"

#include "decode_mask.h"

#include "banned.h"

/* Unsigned differences wrap, so one comparison is a range. */
#define IN(v, from, count) ((v) - (from) < (count))
#define IS_LOW32(v)        (IN(v, 'A', 26) | IN(v, 'a', 6))
#define IS_DIGIT(v)        IN(v, '0', 10)
#define IS_RARE(v)         (IN(v, '%', 2) | ((v) == '\\') | IN(v, 0xfe, 3))
#define IS_TOKEN(v)                                                                                \
    (IN((v) | 0x20, 'a', 26) | IN(v, '-', 13) | ((v) == '+') | ((v) == '=') | ((v) == '_'))

static bool is_plain;

void weir__classes_use_plain(bool plain)
{
    is_plain = plain;
}

/* --- any processor --- */

static weir__v16 low32(weir__v16 v)
{
    return (weir__v16)IS_LOW32(v);
}

static weir__v16 digit(weir__v16 v)
{
    return (weir__v16)IS_DIGIT(v);
}

static weir__v16 token(weir__v16 v)
{
    return (weir__v16)IS_TOKEN(v);
}

static weir__v16 line_end(weir__v16 v)
{
    return (weir__v16)(v == '\n');
}

static void classify_any(const char *bytes, size_t blocks, struct weir__classes *classes)
{
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        struct weir__block block = weir__block_load(bytes);
        weir__v16 rare = (weir__v16)(IS_RARE(block.v[0]) | IS_RARE(block.v[1]) |
                                     IS_RARE(block.v[2]) | IS_RARE(block.v[3]));
        classes[i] = (struct weir__classes){WEIR__BLOCK_BITS(&block, low32),
                                            WEIR__BLOCK_BITS(&block, digit), weir__v16_bits(rare)};
    }
}

static void token_bits_any(const char *bytes, size_t blocks, uint64_t *bits)
{
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        struct weir__block block = weir__block_load(bytes);
        bits[i] = WEIR__BLOCK_BITS(&block, token);
    }
}

static uint64_t count_lines_any(const char *bytes, size_t blocks)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        struct weir__block block = weir__block_load(bytes);
        lines += (unsigned)__builtin_popcountll(WEIR__BLOCK_BITS(&block, line_end));
    }
    return lines;
}

/* --- with AVX2 --- */

#if defined(__x86_64__)

#define WITH_AVX2 __attribute__((target("avx2,popcnt")))

typedef uint8_t v32 __attribute__((vector_size(32)));
typedef char signed_v32 __attribute__((vector_size(32)));

#define LOAD(v, bytes) memcpy(&(v), (bytes), sizeof(v))
/* The lanes are 0 or 0xff. A macro, since vectors of this size are not handed to functions. */
#define BITS(lanes)            ((uint32_t)__builtin_ia32_pmovmskb256((signed_v32)(lanes)))
#define BOTH(low, high, class) ((uint64_t)BITS(class(low)) | (uint64_t)BITS(class(high)) << 32)
#define IS_LINE_END(v)         ((v) == '\n')

WITH_AVX2 static void classify_avx2(const char *bytes, size_t blocks, struct weir__classes *classes)
{
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        v32 low, high;
        LOAD(low, bytes);
        LOAD(high, bytes + sizeof(low));
        classes[i] = (struct weir__classes){BOTH(low, high, IS_LOW32), BOTH(low, high, IS_DIGIT),
                                            BITS(IS_RARE(low) | IS_RARE(high))};
    }
}

WITH_AVX2 static void token_bits_avx2(const char *bytes, size_t blocks, uint64_t *bits)
{
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        v32 low, high;
        LOAD(low, bytes);
        LOAD(high, bytes + sizeof(low));
        bits[i] = BOTH(low, high, IS_TOKEN);
    }
}

WITH_AVX2 static uint64_t count_lines_avx2(const char *bytes, size_t blocks)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        v32 low, high;
        LOAD(low, bytes);
        LOAD(high, bytes + sizeof(low));
        lines += (unsigned)__builtin_popcountll(BOTH(low, high, IS_LINE_END));
    }
    return lines;
}

static bool has_avx2(void)
{
    return !is_plain && __builtin_cpu_supports("avx2");
}

#else

#define classify_avx2    classify_any
#define token_bits_avx2  token_bits_any
#define count_lines_avx2 count_lines_any

static bool has_avx2(void)
{
    return false;
}

#endif

/* --- whichever --- */

void weir__classify(const char *bytes, size_t blocks, struct weir__classes *ret_classes)
{
    if (has_avx2())
        classify_avx2(bytes, blocks, ret_classes);
    else
        classify_any(bytes, blocks, ret_classes);
}

void weir__token_bits(const char *bytes, size_t blocks, uint64_t *ret_bits)
{
    if (has_avx2())
        token_bits_avx2(bytes, blocks, ret_bits);
    else
        token_bits_any(bytes, blocks, ret_bits);
}

uint64_t weir__count_lines(const char *bytes, size_t length)
{
    size_t blocks = length / WEIR__BLOCK;
    uint64_t lines = has_avx2() ? count_lines_avx2(bytes, blocks) : count_lines_any(bytes, blocks);
    for (size_t at = blocks * WEIR__BLOCK; at < length; at++)
        lines += bytes[at] == '\n';
    return lines;
}
