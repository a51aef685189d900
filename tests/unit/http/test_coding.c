/* Tests of content codings: what is unpacked, what is refused, and that bombs cost nothing. */
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#include "coding.h"
#include "packed.h"
#include "tap.h"

#define MIB (1u << 20)

static char plain[4 * MIB], packed[5 * MIB];

/* Bytes that pack to about a half. */
static void fill(size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++) {
        seed = seed * 1664525u + 1013904223u;
        plain[i] = (char)('a' + (seed >> 28));
    }
}

static int decode(enum weir__coding coding, size_t length, size_t max, const char *wanted,
                  size_t wanted_length)
{
    struct weir__decoder decoder;
    struct weir__buffer buffer;
    weir__decoder_init(&decoder);
    weir__buffer_init(&buffer, max);
    CHECK_EQ(weir__buffer_puts(&buffer, "before"), max < 6 ? -WEIR_E_OVERFLOW : 0);
    /* At the end of memory of its own, so that a read behind it is seen. */
    char *body = malloc(length > 0 ? length : 1);
    memcpy(body, packed, length);
    int result = weir__unpack(&decoder, coding, body, length, &buffer);
    free(body);
    if (result < 0) {
        CHECK_STR(weir__buffer_text(&buffer), max < 6 ? "" : "before");
    } else {
        CHECK_EQ(weir__buffer_length(&buffer), wanted_length);
        CHECK(wanted_length == 0 || memcmp(weir__buffer_text(&buffer), wanted, wanted_length) == 0);
        CHECK_EQ(weir__buffer_text(&buffer)[wanted_length], 0);
    }
    weir__buffer_fini(&buffer);
    weir__decoder_fini(&decoder);
    return result;
}

typedef size_t packer(const void *bytes, size_t length, void *out, size_t size);
static packer *const packers[] = {[WEIR__CODING_GZIP] = pack_gzip, [WEIR__CODING_ZSTD] = pack_zstd};

#define EACH(coding)                                                                               \
    for (enum weir__coding coding = WEIR__CODING_GZIP; coding <= WEIR__CODING_ZSTD; coding++)

TEST(the_field)
{
    static const struct {
        const char *text;
        int wanted;
    } rows[] = {
        {NULL, WEIR__CODING_IDENTITY},       {"", WEIR__CODING_IDENTITY},
        {"identity", WEIR__CODING_IDENTITY}, {"IDENTITY", WEIR__CODING_IDENTITY},
        {"gzip", WEIR__CODING_GZIP},         {" GZip\t", WEIR__CODING_GZIP},
        {"x-gzip", WEIR__CODING_GZIP},       {"zstd", WEIR__CODING_ZSTD},
        {"deflate", -WEIR_E_UNSUPPORTED},    {"br", -WEIR_E_UNSUPPORTED},
        {"gzip, gzip", -WEIR_E_UNSUPPORTED}, {"gzip,identity", -WEIR_E_UNSUPPORTED},
        {"gzip,", -WEIR_E_UNSUPPORTED},      {"gzi", -WEIR_E_UNSUPPORTED},
        {"gzipp", -WEIR_E_UNSUPPORTED},      {"compress", -WEIR_E_UNSUPPORTED},
        {"zstd zstd", -WEIR_E_UNSUPPORTED},  {"dcz", -WEIR_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum weir__coding coding = WEIR__CODING_ZSTD;
        const char *text = rows[i].text;
        int result = weir__coding_parse(&coding, text, text ? strlen(text) : 0);
        CHECK_EQ(result < 0 ? result : (int)coding, rows[i].wanted);
    }
}

TEST(what_was_packed_comes_back)
{
    static const size_t lengths[] = {0, 1, 100, 65536, MIB - 1, MIB};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        fill(lengths[i], (unsigned)i + 1);
        EACH(coding)
        {
            size_t length = packers[coding](plain, lengths[i], packed, sizeof(packed));
            CHECK_EQ(decode(coding, length, MIB, plain, lengths[i]), 0);
        }
        memcpy(packed, plain, lengths[i]);
        CHECK_EQ(decode(WEIR__CODING_IDENTITY, lengths[i], MIB, plain, lengths[i]), 0);
    }
}

TEST(one_byte_more_than_the_limit)
{
    fill(MIB + 1, 7);
    EACH(coding)
    {
        size_t length = packers[coding](plain, MIB + 1, packed, sizeof(packed));
        CHECK_EQ(decode(coding, length, MIB, NULL, 0), -WEIR_E_TOO_LARGE);
        CHECK_EQ(decode(coding, length, MIB + 1, plain, MIB + 1), 0);
        CHECK_EQ(decode(coding, length, 1, NULL, 0), -WEIR_E_TOO_LARGE);
    }
    CHECK_EQ(decode(WEIR__CODING_IDENTITY, MIB + 1, MIB, NULL, 0), -WEIR_E_TOO_LARGE);
    CHECK_EQ(decode(WEIR__CODING_IDENTITY, MIB, MIB, packed, MIB), 0);
}

TEST(bombs)
{
    memset(plain, 0, MIB);
    EACH(coding)
    {
        size_t length = packers[coding](plain, MIB, packed, sizeof(packed));
        CHECK(length <= 1200);
        CHECK_EQ(decode(coding, length, MIB, NULL, 0), -WEIR_E_TOO_LARGE);
    }
    /* Without its size in its head. */
    size_t length = pack_zstd_stream(plain, MIB, 0, NULL, packed, sizeof(packed));
    CHECK(length <= 1024);
    CHECK_EQ(decode(WEIR__CODING_ZSTD, length, MIB, NULL, 0), -WEIR_E_TOO_LARGE);
}

/* Ten times what came, and not a byte more; what is packed less well is stuffed with frames that
 * are skipped. */
TEST(the_ratio_is_exact)
{
    static const unsigned char skipped[] = {0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'a', 'b'};
    memset(plain, 'x', 1000);
    for (size_t more = 0; more <= 1; more++) {
        size_t length = pack_zstd(plain, 400 + more, packed, sizeof(packed));
        CHECK(length < 30);
        while (length + sizeof(skipped) <= 40) {
            memcpy(packed + length, skipped, sizeof(skipped));
            length += sizeof(skipped);
        }
        size_t rest = 40 - length; /* the last one is as long as is needed */
        packed[length - sizeof(skipped) + 4] = (char)(2 + rest);
        length += rest;
        CHECK_EQ(decode(WEIR__CODING_ZSTD, length, MIB, plain, 400), more ? -WEIR_E_TOO_LARGE : 0);
    }
}

TEST(several_members_are_one_body)
{
    fill(3000, 3);
    EACH(coding)
    {
        size_t length = 0;
        for (size_t i = 0; i < 3; i++)
            length += packers[coding](plain + 1000 * i, 1000, packed + length, sizeof(packed) / 2);
        CHECK_EQ(decode(coding, length, MIB, plain, 3000), 0);
        CHECK_EQ(decode(coding, length, 3000, plain, 3000), 0);
        CHECK_EQ(decode(coding, length, 2999, NULL, 0), -WEIR_E_TOO_LARGE);
    }
}

TEST(every_cut_and_every_tail_is_refused)
{
    fill(2000, 4);
    EACH(coding)
    {
        size_t length = packers[coding](plain, 2000, packed, sizeof(packed));
        for (size_t cut = 0; cut < length; cut++)
            CHECK_EQ(decode(coding, cut, MIB, NULL, 0), -WEIR_E_INVALID);
        for (int tail = 0; tail < 256; tail++) {
            packed[length] = (char)tail;
            CHECK_EQ(decode(coding, length + 1, MIB, NULL, 0), -WEIR_E_INVALID);
        }
        memset(packed + length, 0, 512);
        CHECK_EQ(decode(coding, length + 512, MIB, NULL, 0), -WEIR_E_INVALID);
    }
}

/* gzip has a sum of what was packed; zstd has one when it is asked for. */
TEST(a_flipped_bit_is_never_taken_for_other_bytes)
{
    fill(300, 5);
    size_t length = pack_gzip(plain, 300, packed, sizeof(packed));
    for (size_t bit = 0; bit < length * 8; bit++) {
        packed[bit / 8] = (char)(packed[bit / 8] ^ (1 << bit % 8));
        int result = decode(WEIR__CODING_GZIP, length, MIB, plain, 300);
        CHECK(result == 0 || result == -WEIR_E_INVALID || result == -WEIR_E_TOO_LARGE);
        packed[bit / 8] = (char)(packed[bit / 8] ^ (1 << bit % 8));
    }
}

TEST(a_window_costs_nothing)
{
    fill(1000, 6);
    size_t length = pack_zstd_stream(plain, 1000, 27, NULL, packed, sizeof(packed));
    CHECK_EQ(decode(WEIR__CODING_ZSTD, length, MIB, plain, 1000), 0);
    /* The byte behind magic and descriptor: 2^41 bytes and more, which no memory has. */
    packed[5] = (char)0xff;
    CHECK_EQ(decode(WEIR__CODING_ZSTD, length, MIB, NULL, 0), -WEIR_E_INVALID);
    packed[5] = (char)((31 - 10) << 3);
    CHECK_EQ(decode(WEIR__CODING_ZSTD, length, MIB, plain, 1000), 0);
}

TEST(dictionaries_are_refused)
{
    fill(1000, 8);
    char words[600];
    snprintf(words, sizeof(words), "%.500s", plain);
    size_t length = pack_zstd_stream(plain, 1000, 0, words, packed, sizeof(packed));
    CHECK_EQ(decode(WEIR__CODING_ZSTD, length, MIB, NULL, 0), -WEIR_E_INVALID);
    /* With the id of one: a frame of one raw, last block of one byte. */
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 1, 9, 0, 0, 'x'};
    memcpy(packed, frame, sizeof(frame));
    CHECK_EQ(decode(WEIR__CODING_ZSTD, sizeof(frame), MIB, NULL, 0), -WEIR_E_UNSUPPORTED);
    packed[5] = 0;
    CHECK_EQ(decode(WEIR__CODING_ZSTD, sizeof(frame), MIB, "x", 1), 0);
}

TEST(frames_of_old_are_not_read)
{
    /* One of version 0.7 that says "x", which the library would read. */
    static const unsigned char frame[] = {0x27, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x40,
                                          0,    1,    'x',  0xc0, 0,    0};
    char text[8];
    CHECK_EQ(ZSTD_decompress(text, sizeof(text), frame, sizeof(frame)), 1);
    memcpy(packed, frame, sizeof(frame));
    CHECK_EQ(decode(WEIR__CODING_ZSTD, sizeof(frame), MIB, NULL, 0), -WEIR_E_INVALID);
}

TEST(frames_that_are_skipped_are_nothing)
{
    static const unsigned char skipped[] = {0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
    memcpy(packed, skipped, sizeof(skipped));
    CHECK_EQ(decode(WEIR__CODING_ZSTD, sizeof(skipped), MIB, "", 0), 0);
    CHECK_EQ(decode(WEIR__CODING_ZSTD, sizeof(skipped) - 1, MIB, NULL, 0), -WEIR_E_INVALID);
    packed[7] = (char)0xff; /* 4 GB of them */
    CHECK_EQ(decode(WEIR__CODING_ZSTD, sizeof(skipped), MIB, NULL, 0), -WEIR_E_INVALID);
}

TEST(a_decoder_goes_on_after_a_failure)
{
    struct weir__decoder decoder;
    struct weir__buffer buffer;
    weir__decoder_init(&decoder);
    weir__buffer_init(&buffer, MIB);
    fill(5000, 9);
    EACH(coding)
    {
        size_t length = packers[coding](plain, 5000, packed, sizeof(packed));
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(weir__unpack(&decoder, coding, packed, length - 1, &buffer), -WEIR_E_INVALID);
            CHECK_EQ(weir__unpack(&decoder, coding, packed, length, &buffer), 0);
            CHECK_EQ(weir__buffer_length(&buffer), 5000);
            CHECK(memcmp(weir__buffer_text(&buffer), plain, 5000) == 0);
        }
    }
    weir__buffer_fini(&buffer);
    weir__decoder_fini(&decoder);
    weir__decoder_fini(&decoder);
    weir__decoder_fini(NULL);
}

TAP_MAIN()
