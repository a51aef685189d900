/* classes.c - classes of bytes, for any processor, for those with AVX2, and with AVX-512.
 *
 * Each class is written once, as comparisons. In the form for any processor these are what is done
 * with vectors of 16 bytes. In the others they make tables when the program is compiled: with AVX2
 * one of 16 bytes for each class, which is asked for the lower half of a character and has a bit
 * for each upper half; with AVX-512 one of 128 bytes, which has all classes of a character.
 */
#include "classes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "decode_mask.h"

#include "banned.h"

/* Ranges: of lanes that wrap, and of constants. */
#define LANES(v, from, count) ((v) - (from) < (count))
#define CONST(v, from, count) ((unsigned)(v) - (unsigned)(from) < (count))

/* The characters of a group of base64 whose bytes are below 128: the first has a value below 32,
 * the second one without the bit of 8, the third without that of 2. */
#define FIRST(in, v) (in(v, 'A', 26) | in(v, 'a', 6))
#define SECOND(in, v)                                                                              \
    (in(v, 'A', 8) | in(v, 'Q', 8) | in(v, 'g', 8) | in(v, 'w', 4) | in(v, '0', 4))
#define THIRD(in, v)                                                                               \
    ((in(v, 'A', 26) & ((((v)-1) & 2) == 0)) | (in(v, 'a', 26) & ((((v)-1) & 2) == 2)) |           \
     (in(v, '0', 10) & (((v)&2) == 0)))
#define BASE64(in, v)                                                                              \
    (in((v) | 0x20, 'a', 26) | in(v, '/', 11) | ((v) == '+') | ((v) == '-') | ((v) == '_'))
#define DIGIT(in, v) in(v, '0', 10)
/* Without those that are beyond ASCII. */
#define RARE(in, v) (in(v, '%', 2) | ((v) == '\\') | ((v) == 0))
#define TOKEN(in, v)                                                                               \
    (in((v) | 0x20, 'a', 26) | in(v, '-', 13) | ((v) == '+') | ((v) == '=') | ((v) == '_'))
#define LINE_END(in, v) ((v) == '\n')
#define RARE_HIGH       0xfe /* from there on every byte is rare */

/* A block as bits. */
struct bits {
    uint64_t first, second, third, base64, digits, rare;
};

/* What is left to do when the bits are known, in all forms: without a branch, as nobody could
 * foresee which way it goes. */
static inline __attribute__((always_inline)) size_t note(size_t block, struct bits b,
                                                         struct weir__classes_before *before,
                                                         struct weir__classes *classes,
                                                         uint8_t *blocks, size_t count)
{
    uint64_t group = b.base64 & weir__bits_back(before->third, b.third, 1) &
                     weir__bits_back(before->second, b.second, 2) &
                     weir__bits_back(before->first, b.first, 3);
    uint64_t groups =
        group & weir__bits_back(before->group, group, 4) & weir__bits_back(before->group, group, 8);
    uint64_t base64 = b.first & weir__bits_back(before->groups, groups, 1);
    unsigned digits_count = (unsigned)__builtin_popcountll(b.digits);
    uint64_t digits = digits_count + before->digits < WEIR__CLASSES_DIGITS ? 0 : b.digits;
    *before =
        (struct weir__classes_before){b.first, b.second, b.third, group, groups, digits_count};
    classes[block] = (struct weir__classes){base64, digits, b.rare};
    blocks[count] = (uint8_t)block;
    return count + ((base64 | digits | b.rare) != 0);
}

/* --- any processor --- */

#define CLASS16(name, class)                                                                       \
    static weir__v16 name(weir__v16 v)                                                             \
    {                                                                                              \
        return (weir__v16)(class(LANES, v));                                                       \
    }
CLASS16(first, FIRST)
CLASS16(second, SECOND)
CLASS16(third, THIRD)
CLASS16(base64, BASE64)
CLASS16(digit, DIGIT)
CLASS16(token, TOKEN)
CLASS16(line_end, LINE_END)

static weir__v16 rare(weir__v16 v)
{
    return (weir__v16)(RARE(LANES, v)) | (weir__v16)(v >= RARE_HIGH);
}

static size_t survey_any(const char *bytes, size_t blocks, struct weir__classes_before *before,
                         struct weir__classes *ret_classes, uint8_t *ret_blocks)
{
    size_t count = 0;
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        struct weir__block block = weir__block_load(bytes);
        struct bits b = {WEIR__BLOCK_BITS(&block, first), WEIR__BLOCK_BITS(&block, second),
                         WEIR__BLOCK_BITS(&block, third), WEIR__BLOCK_BITS(&block, base64),
                         WEIR__BLOCK_BITS(&block, digit), WEIR__BLOCK_BITS(&block, rare)};
        count = note(i, b, before, ret_classes, ret_blocks, count);
    }
    return count;
}

static void token_bits_any(const char *bytes, size_t blocks, uint64_t *ret_bits)
{
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        struct weir__block block = weir__block_load(bytes);
        ret_bits[i] = WEIR__BLOCK_BITS(&block, token);
    }
}

/* What is behind the last whole block. By itself, since clang 14 cannot make vectors of it where
 * AVX-512 is meant. */
static __attribute__((noinline)) uint64_t count_rest(const char *bytes, size_t length)
{
    uint64_t lines = 0;
    for (size_t at = length / WEIR__BLOCK * WEIR__BLOCK; at < length; at++)
        lines += bytes[at] == '\n';
    return lines;
}

static uint64_t count_lines_any(const char *bytes, size_t length)
{
    uint64_t lines = count_rest(bytes, length);
    for (; length >= WEIR__BLOCK; length -= WEIR__BLOCK, bytes += WEIR__BLOCK) {
        struct weir__block block = weir__block_load(bytes);
        lines += (unsigned)__builtin_popcountll(WEIR__BLOCK_BITS(&block, line_end));
    }
    return lines;
}

static const struct weir__classifier classifier_any = {survey_any, token_bits_any, count_lines_any};

#if defined(__x86_64__)

#define FOUR(row, v)    row((v)), row((v) + 1), row((v) + 2), row((v) + 3)
#define SIXTEEN(row, v) FOUR(row, v), FOUR(row, (v) + 4), FOUR(row, (v) + 8), FOUR(row, (v) + 12)

/* --- with AVX2 --- */

#define WITH_AVX2 __attribute__((target("avx2,bmi,popcnt")))

/* The classes of a lower half: a bit for each upper one. */
#define HALVES(class, v)                                                                           \
    (class(CONST, v) | class(CONST, 0x10 | (v)) << 1 | class(CONST, 0x20 | (v)) << 2 |             \
     class(CONST, 0x30 | (v)) << 3 | class(CONST, 0x40 | (v)) << 4 |                               \
     class(CONST, 0x50 | (v)) << 5 | class(CONST, 0x60 | (v)) << 6 |                               \
     class(CONST, 0x70 | (v)) << 7)
#define FIRST_HALVES(v)  HALVES(FIRST, v)
#define SECOND_HALVES(v) HALVES(SECOND, v)
#define THIRD_HALVES(v)  HALVES(THIRD, v)
#define BASE64_HALVES(v) HALVES(BASE64, v)
#define DIGIT_HALVES(v)  HALVES(DIGIT, v)
#define RARE_HALVES(v)   HALVES(RARE, v)
#define TOKEN_HALVES(v)  HALVES(TOKEN, v)

enum { IS_FIRST, IS_SECOND, IS_THIRD, IS_BASE64, IS_DIGIT, IS_RARE, IS_TOKEN, CLASSES };

static const uint8_t halves[CLASSES][16] = {{SIXTEEN(FIRST_HALVES, 0)}, {SIXTEEN(SECOND_HALVES, 0)},
                                            {SIXTEEN(THIRD_HALVES, 0)}, {SIXTEEN(BASE64_HALVES, 0)},
                                            {SIXTEEN(DIGIT_HALVES, 0)}, {SIXTEEN(RARE_HALVES, 0)},
                                            {SIXTEEN(TOKEN_HALVES, 0)}};

/* The bit of an upper half; none beyond ASCII. */
static const uint8_t uppers[16] = {1, 2, 4, 8, 16, 32, 64, 128};

WITH_AVX2 static inline __m256i table_of(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
}

/* 32 bytes, and the bits of their upper halves. */
struct lanes {
    __m256i bytes, uppers;
};

WITH_AVX2 static inline struct lanes lanes_of(const char *bytes, __m256i upper_bits)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)bytes);
    __m256i upper = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
    return (struct lanes){v, _mm256_shuffle_epi8(upper_bits, upper)};
}

/* Which of them are not in the class. */
WITH_AVX2 static inline uint32_t others(struct lanes lanes, __m256i table)
{
    __m256i is = _mm256_and_si256(_mm256_shuffle_epi8(table, lanes.bytes), lanes.uppers);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(is, _mm256_setzero_si256()));
}

WITH_AVX2 static inline uint64_t class_of(struct lanes low, struct lanes high, __m256i table)
{
    return ~(others(low, table) | (uint64_t)others(high, table) << 32);
}

WITH_AVX2 static inline uint32_t high_rare(struct lanes lanes)
{
    __m256i least = _mm256_set1_epi8((char)RARE_HIGH);
    return (uint32_t)_mm256_movemask_epi8(
        _mm256_cmpeq_epi8(_mm256_max_epu8(lanes.bytes, least), lanes.bytes));
}

WITH_AVX2 static size_t survey_avx2(const char *bytes, size_t blocks,
                                    struct weir__classes_before *before,
                                    struct weir__classes *ret_classes, uint8_t *ret_blocks)
{
    struct weir__classes_before last = *before;
    __m256i upper_bits = table_of(uppers), tables[CLASSES];
    size_t count = 0;
    for (unsigned i = 0; i < CLASSES; i++)
        tables[i] = table_of(halves[i]);
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        struct lanes low = lanes_of(bytes, upper_bits), high = lanes_of(bytes + 32, upper_bits);
        struct bits b = {class_of(low, high, tables[IS_FIRST]),
                         class_of(low, high, tables[IS_SECOND]),
                         class_of(low, high, tables[IS_THIRD]),
                         class_of(low, high, tables[IS_BASE64]),
                         class_of(low, high, tables[IS_DIGIT]),
                         class_of(low, high, tables[IS_RARE]) | high_rare(low) | high_rare(high)};
        count = note(i, b, &last, ret_classes, ret_blocks, count);
    }
    *before = last;
    return count;
}

WITH_AVX2 static void token_bits_avx2(const char *bytes, size_t blocks, uint64_t *ret_bits)
{
    __m256i upper_bits = table_of(uppers), table = table_of(halves[IS_TOKEN]);
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK)
        ret_bits[i] =
            class_of(lanes_of(bytes, upper_bits), lanes_of(bytes + 32, upper_bits), table);
}

WITH_AVX2 static uint64_t count_lines_avx2(const char *bytes, size_t length)
{
    uint64_t lines = count_rest(bytes, length);
    const __m256i end = _mm256_set1_epi8('\n');
    for (size_t left = length / WEIR__BLOCK * 2; left > 0; left--, bytes += 32) {
        __m256i is = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)bytes), end);
        lines += (unsigned)__builtin_popcount((uint32_t)_mm256_movemask_epi8(is));
    }
    return lines;
}

static const struct weir__classifier classifier_avx2 = {survey_avx2, token_bits_avx2,
                                                        count_lines_avx2};

/* --- with AVX-512 --- */

#define WITH_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,bmi,popcnt")))

#define ALL(v)                                                                                     \
    (FIRST(CONST, v) << IS_FIRST | SECOND(CONST, v) << IS_SECOND | THIRD(CONST, v) << IS_THIRD |   \
     BASE64(CONST, v) << IS_BASE64 | DIGIT(CONST, v) << IS_DIGIT | RARE(CONST, v) << IS_RARE |     \
     TOKEN(CONST, v) << IS_TOKEN)

static const uint8_t all[128] = {SIXTEEN(ALL, 0x00), SIXTEEN(ALL, 0x10), SIXTEEN(ALL, 0x20),
                                 SIXTEEN(ALL, 0x30), SIXTEEN(ALL, 0x40), SIXTEEN(ALL, 0x50),
                                 SIXTEEN(ALL, 0x60), SIXTEEN(ALL, 0x70)};

/* The classes of 64 bytes; none beyond ASCII. */
WITH_AVX512 static inline __m512i classes_of(__m512i v)
{
    return _mm512_maskz_permutex2var_epi8(~_mm512_movepi8_mask(v), _mm512_loadu_si512(all), v,
                                          _mm512_loadu_si512(all + 64));
}

WITH_AVX512 static inline uint64_t pick(__m512i classes, unsigned class)
{
    return _mm512_test_epi8_mask(classes, _mm512_set1_epi8((char)(1u << class)));
}

WITH_AVX512 static size_t survey_avx512(const char *bytes, size_t blocks,
                                        struct weir__classes_before *before,
                                        struct weir__classes *ret_classes, uint8_t *ret_blocks)
{
    struct weir__classes_before last = *before;
    const __m512i high = _mm512_set1_epi8((char)RARE_HIGH);
    size_t count = 0;
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK) {
        __m512i v = _mm512_loadu_si512(bytes), c = classes_of(v);
        struct bits b = {pick(c, IS_FIRST), pick(c, IS_SECOND),
                         pick(c, IS_THIRD), pick(c, IS_BASE64),
                         pick(c, IS_DIGIT), pick(c, IS_RARE) | _mm512_cmpge_epu8_mask(v, high)};
        count = note(i, b, &last, ret_classes, ret_blocks, count);
    }
    *before = last;
    return count;
}

WITH_AVX512 static void token_bits_avx512(const char *bytes, size_t blocks, uint64_t *ret_bits)
{
    for (size_t i = 0; i < blocks; i++, bytes += WEIR__BLOCK)
        ret_bits[i] = pick(classes_of(_mm512_loadu_si512(bytes)), IS_TOKEN);
}

WITH_AVX512 static uint64_t count_lines_avx512(const char *bytes, size_t length)
{
    uint64_t lines = count_rest(bytes, length);
    const __m512i end = _mm512_set1_epi8('\n');
    for (; length >= WEIR__BLOCK; length -= WEIR__BLOCK, bytes += WEIR__BLOCK)
        lines +=
            (unsigned)__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes), end));
    return lines;
}

static const struct weir__classifier classifier_avx512 = {survey_avx512, token_bits_avx512,
                                                          count_lines_avx512};

/* Every processor that has one of these has what else its form asks for. */
const struct weir__classifier *weir__classifier_ranked(unsigned rank)
{
    if (__builtin_cpu_supports("avx512vbmi") && rank-- == 0)
        return &classifier_avx512;
    if (__builtin_cpu_supports("avx2") && rank-- == 0)
        return &classifier_avx2;
    return rank == 0 ? &classifier_any : NULL;
}

#else

const struct weir__classifier *weir__classifier_ranked(unsigned rank)
{
    return rank == 0 ? &classifier_any : NULL;
}

#endif
