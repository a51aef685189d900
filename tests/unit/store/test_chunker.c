/* test_chunker.c - cuts are those of the rule, wherever the input was split, and bytes are kept. */
#include "chunker.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "gear.h"
#include "hash.h"

#include "random_help.h"
#include "tap.h"

#define INPUT_MAX (8u << 20)
#define CUTS_MAX  4096

static unsigned char input[INPUT_MAX + 1];
static unsigned char output[INPUT_MAX + 1];

struct cuts {
    size_t count;
    size_t bytes;
    size_t ends[CUTS_MAX];
    struct weir__chunker chunker;
};

static int note(void *arg, const void *bytes, size_t length)
{
    struct cuts *cuts = arg;
    CHECK(length > 0 && length <= weir__chunker_max(&cuts->chunker));
    CHECK(cuts->count < CUTS_MAX && cuts->bytes + length <= sizeof(output));
    memcpy(output + cuts->bytes, bytes, length);
    cuts->bytes += length;
    cuts->ends[cuts->count++] = cuts->bytes;
    return 0;
}

/* Cuts the input, fed in pieces of up to so many bytes; 0: as a whole. */
static void cut(struct cuts *cuts, const unsigned char *bytes, size_t length, size_t fixed,
                size_t piece_max)
{
    cuts->count = cuts->bytes = 0;
    CHECK_EQ(weir__chunker_init(&cuts->chunker, fixed), 0);
    for (size_t at = 0; at < length;) {
        size_t piece = piece_max ? 1 + (size_t)random_below(piece_max) : length;
        if (piece > length - at)
            piece = length - at;
        CHECK_EQ(weir__chunker_feed(&cuts->chunker, bytes + at, piece, note, cuts), 0);
        at += piece;
    }
    CHECK_EQ(weir__chunker_finish(&cuts->chunker, note, cuts), 0);
    weir__chunker_fini(&cuts->chunker);
    CHECK_EQ(cuts->bytes, length);
    CHECK(length == 0 || memcmp(output, bytes, length) == 0);
}

/* The rule of docs/chunking.md as it stands there. */
static size_t slow_cut(const unsigned char *bytes, size_t length)
{
    for (size_t n = 16384; n < length && n < 262144; n++) {
        uint64_t hash = 0;
        for (size_t i = n - 64; i < n; i++)
            hash = 2 * hash + weir__gear[bytes[i]];
        if (hash >> (n <= 53248 ? 46 : 50) == 0)
            return n;
    }
    return length < 262144 ? length : 262144;
}

static struct cuts one, two;

TEST(the_table_is_that_of_the_rule)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned char text[13] = "weir gear 1:", digest[WEIR__HASH_SIZE];
        struct weir__hash hash;
        text[12] = (unsigned char)byte;
        weir__hash_init(&hash);
        weir__hash_update(&hash, text, sizeof(text));
        weir__hash_final(&hash, digest);
        uint64_t value = 0;
        for (int i = 7; i >= 0; i--)
            value = value << 8 | digest[i];
        CHECK(weir__gear[byte] == value);
        /* Of a run of this byte no hash is a cut. */
        CHECK((0 - value) >> 50 != 0);
    }
}

/* Cuts are part of the format: these never change. They were made by another program, from the
 * rule. */
TEST(golden_cuts)
{
    static const size_t golden[] = {57880,  132042, 189449, 253750, 307132, 345182,  474012, 530867,
                                    629283, 719141, 822656, 883171, 950800, 1038846, 1048576};
    random_fixed(88172645463325252u);
    random_fill(input, 1u << 20);
    cut(&one, input, 1u << 20, 0, 0);
    CHECK_EQ(one.count, sizeof(golden) / sizeof(golden[0]));
    for (size_t i = 0; i < one.count; i++)
        CHECK_EQ(one.ends[i], golden[i]);
}

/* Bytes with few values, in runs, so that cuts of all kinds come. */
static void fill_oddly(unsigned char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t run = 1 + (size_t)random_below(300000);
        if (run > length - at)
            run = length - at;
        switch (random_below(4)) {
        case 0:
            memset(bytes + at, (int)random_below(256), run);
            break;
        case 1:
            for (size_t i = 0; i < run; i++)
                bytes[at + i] = (unsigned char)('a' + random_below(2));
            break;
        default:
            random_fill(bytes + at, run);
        }
        at += run;
    }
}

TEST(cuts_as_the_rule_says)
{
    random_seed();
    fill_oddly(input, INPUT_MAX);
    cut(&one, input, INPUT_MAX, 0, 0);
    size_t at = 0;
    for (size_t i = 0; i < one.count; i++) {
        CHECK_EQ(one.ends[i], at + slow_cut(input + at, INPUT_MAX - at));
        at = one.ends[i];
    }
}

/* 64 bytes behind which there is a cut, however rare. */
static void find_window(unsigned char window[64])
{
    uint64_t hash = 0;
    size_t at = 0;
    random_fixed(99);
    do {
        unsigned char byte = (unsigned char)(random_next() >> 24);
        window[at++ % 64] = byte;
        hash = 2 * hash + weir__gear[byte];
    } while (at < 64 || hash >> 46 != 0);
    unsigned char ring[64];
    memcpy(ring, window, 64);
    for (size_t i = 0; i < 64; i++)
        window[i] = ring[(at + i) % 64];
}

/* Places next to where a block, a half of one or a step of the buffer begins or ends. */
TEST(cuts_next_to_the_edges_of_blocks)
{
    unsigned char window[64];
    find_window(window);
    for (size_t edge = 16384; edge < 262144; edge += edge < 80000 ? 1024 : 16384)
        for (size_t n = edge - 2; n <= edge + 5; n++) {
            memset(input, 0, 300000);
            memcpy(input + n - 64, window, 64);
            size_t right = slow_cut(input, 300000);
            CHECK(n < 16384 || right == n);
            cut(&one, input, 300000, 0, 0);
            CHECK_EQ(one.ends[0], right);
            cut(&one, input, 300000, 0, n % 2 ? 3 : 50000);
            CHECK_EQ(one.ends[0], right);
        }
}

TEST(splits_do_not_matter)
{
    static const size_t pieces[] = {1, 7, 1000, 16384, 16385, 70000, 262144, 300000, 2u << 20};
    random_seed();
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t length = (2u << 20) - (size_t)random_below(300000);
        fill_oddly(input, length);
        cut(&one, input, length, 0, 0);
        cut(&two, input, length, 0, pieces[i]);
        CHECK_EQ(one.count, two.count);
        CHECK(memcmp(one.ends, two.ends, one.count * sizeof(one.ends[0])) == 0);
    }
}

TEST(sizes_are_in_bounds)
{
    random_seed();
    fill_oddly(input, INPUT_MAX);
    cut(&one, input, INPUT_MAX, 0, 100000);
    size_t at = 0;
    for (size_t i = 0; i + 1 < one.count; i++) {
        CHECK(one.ends[i] - at >= WEIR__CUT_MIN && one.ends[i] - at <= WEIR__CUT_MAX);
        at = one.ends[i];
    }
}

TEST(random_bytes_have_the_mean_that_was_aimed_at)
{
    random_fixed(7);
    random_fill(input, INPUT_MAX);
    cut(&one, input, INPUT_MAX, 0, 0);
    CHECK(one.count > INPUT_MAX / (72u << 10) && one.count < INPUT_MAX / (56u << 10));
}

TEST(runs_of_one_byte_have_the_largest_size)
{
    for (int byte = 0; byte < 256; byte += 51) {
        memset(input, byte, 1u << 20);
        cut(&one, input, 1u << 20, 0, 0);
        CHECK_EQ(one.count, 4);
    }
}

static bool is_among(const struct cuts *cuts, size_t end)
{
    for (size_t i = 0; i < cuts->count; i++)
        if (cuts->ends[i] == end)
            return true;
    return false;
}

TEST(a_byte_in_front_changes_few_chunks)
{
    random_seed();
    for (int round = 0; round < 8; round++) {
        size_t length = 4u << 20;
        random_fill(input + 1, length);
        cut(&one, input + 1, length, 0, 0);
        input[0] = (unsigned char)round;
        cut(&two, input, length + 1, 0, 0);
        size_t moved = 0;
        for (size_t i = 0; i < one.count; i++)
            moved += !is_among(&two, one.ends[i] + 1);
        CHECK(moved <= 8);
    }
}

TEST(little_input)
{
    static const size_t lengths[] = {0, 1, 63, 64, 16383, 16384, 16385};
    memset(input, 'x', 20000);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        cut(&one, input, lengths[i], 0, 0);
        CHECK_EQ(one.count, lengths[i] > 0);
        cut(&one, input, lengths[i], 0, 1000);
        CHECK_EQ(one.count, lengths[i] > 0);
    }
}

TEST(fixed_sizes)
{
    static const size_t sizes[] = {16u << 10, 65536, 100001, WEIR__CHUNK_MAX};
    random_seed();
    size_t length = (3u << 20) + 12345;
    random_fill(input, length);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t piece = 0; piece < 2000000; piece = piece * 40 + 999) {
            cut(&one, input, length, sizes[i], piece);
            CHECK_EQ(one.count, (length + sizes[i] - 1) / sizes[i]);
            for (size_t k = 0; k + 1 < one.count; k++)
                CHECK_EQ(one.ends[k], (k + 1) * sizes[i]);
        }
    struct weir__chunker chunker;
    CHECK_EQ(weir__chunker_init(&chunker, 1), -WEIR_E_INVALID);
    CHECK_EQ(weir__chunker_init(&chunker, (16u << 10) - 1), -WEIR_E_INVALID);
    CHECK_EQ(weir__chunker_init(&chunker, WEIR__CHUNK_MAX + 1), -WEIR_E_INVALID);
}

static int refuse(void *arg, const void *bytes, size_t length)
{
    (void)bytes, (void)length;
    return --*(int *)arg < 0 ? -WEIR_E_NO_SPACE : 0;
}

TEST(an_error_of_the_taker_comes_back)
{
    struct weir__chunker chunker;
    int allowed = 2;
    memset(input, 0, 1u << 20);
    CHECK_EQ(weir__chunker_init(&chunker, 0), 0);
    CHECK_EQ(weir__chunker_feed(&chunker, input, 1u << 20, refuse, &allowed), -WEIR_E_NO_SPACE);
    weir__chunker_reset(&chunker);
    CHECK_EQ(weir__chunker_feed(&chunker, input, 1000, refuse, &allowed), 0);
    CHECK_EQ(weir__chunker_finish(&chunker, refuse, &allowed), -WEIR_E_NO_SPACE);
    allowed = 100;
    CHECK_EQ(weir__chunker_feed(&chunker, input, 300000, refuse, &allowed), 0);
    CHECK_EQ(weir__chunker_finish(&chunker, refuse, &allowed), 0);
    CHECK_EQ(allowed, 98);
    weir__chunker_fini(&chunker);
    weir__chunker_fini(&chunker);
    weir__chunker_fini(NULL);
}

TAP_MAIN()
