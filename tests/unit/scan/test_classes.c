/* The classes of bytes: every form says what the plain definition of each class says. */
#include <string.h>

#include "engine/classes.h"
#include "engine/stretch.h"
#include "tap.h"

#define BLOCKS 5u
#define BYTES  (BLOCKS * 64u)

/* -1: none. */
static int value_of(unsigned char c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(alphabet, c) : NULL;
    return c == '-' ? 62 : c == '_' ? 63 : at ? (int)(at - alphabet) : -1;
}

/* Four characters that decode to three bytes of ASCII. */
static bool is_group(const char *text)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = value_of((unsigned char)text[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
    }
    return (bits & 0x808080) == 0;
}

static bool is_rare(unsigned char c)
{
    return c == '%' || c == '&' || c == '\\' || c == 0 || c >= 0xfe;
}

/* As it is said in the header, byte by byte. */
static struct weir__classes classes_of(const char *text, size_t block)
{
    struct weir__classes classes = {0};
    unsigned digits = 0;
    for (size_t i = 0; i < 64; i++) {
        size_t at = block * 64 + i;
        unsigned char c = (unsigned char)text[at];
        int value = value_of(c);
        bool is_fourth = at >= 12 && value >= 0 && value < 32;
        for (size_t back = 4; back <= 12 && is_fourth; back += 4)
            is_fourth = is_group(text + at - back);
        bool is_digit = c >= '0' && c <= '9';
        digits += is_digit;
        classes.base64 |= (uint64_t)is_fourth << i;
        classes.digits |= (uint64_t)is_digit << i;
        classes.rare |= is_rare(c);
    }
    for (size_t at = block > 0 ? (block - 1) * 64 : 0; at < block * 64; at++)
        digits += text[at] >= '0' && text[at] <= '9';
    if (digits < WEIR__CLASSES_DIGITS)
        classes.digits = 0;
    return classes;
}

/* All at once, and in two calls. */
static void check_survey(const struct weir__classifier *classifier, const char *text, size_t first)
{
    struct weir__classes classes[BLOCKS];
    struct weir__classes_before before = {0};
    uint8_t numbers[2 * BLOCKS];
    size_t count = classifier->survey(text, first, &before, classes, numbers), split = count;
    count += classifier->survey(text + first * 64, BLOCKS - first, &before, classes + first,
                                numbers + count);
    for (size_t block = 0, next = 0; block < BLOCKS; block++) {
        struct weir__classes wanted = classes_of(text, block);
        bool has_any = wanted.base64 || wanted.digits || wanted.rare;
        bool is_told = next < count && numbers[next] + (next < split ? 0 : first) == block;
        CHECK_EQ(is_told, has_any);
        next += is_told;
        CHECK_EQ(classes[block].base64, wanted.base64);
        CHECK_EQ(classes[block].digits, wanted.digits);
        CHECK_EQ(classes[block].rare != 0, wanted.rare != 0);
    }
}

static void check_blocks(const struct weir__classifier *classifier, const char *text)
{
    uint64_t tokens[BLOCKS];
    check_survey(classifier, text, BLOCKS);
    check_survey(classifier, text, 2);
    classifier->token_bits(text, BLOCKS, tokens);
    for (size_t i = 0; i < BYTES; i++)
        CHECK_EQ(tokens[i / 64] >> i % 64 & 1, weir__is_token_byte((unsigned char)text[i]));
}

/* Every byte at every place of a block, among those that make the difference between a class and
 * none: blanks, digits, and base64. */
static void check_all(const struct weir__classifier *classifier)
{
    static const char *const fills[] = {" ", "QUJD", "0 1 2 3 4           "};
    char text[BYTES];
    for (size_t fill = 0; fill < sizeof(fills) / sizeof(*fills); fill++)
        for (size_t at = 0; at < 64; at++) {
            for (size_t i = 0; i < BYTES; i++)
                text[i] = i % 64 < 40 ? fills[fill][i % 64 % strlen(fills[fill])] : ' ';
            for (unsigned byte = 0; byte < 256; byte += fill == 0 ? 1 : 3) {
                text[64 + at] = (char)byte;
                check_blocks(classifier, text);
            }
        }
    /* Each character in each place of groups, among those that are right there. */
    for (size_t at = 0; at < 32; at++)
        for (unsigned byte = 0; byte < 256; byte++) {
            for (size_t i = 0; i < BYTES; i++)
                text[i] = "Zm9v"[i % 4];
            text[50 + at] = (char)byte;
            check_blocks(classifier, text);
        }
    for (size_t i = 0; i < BYTES; i++)
        text[i] = (char)(i * 167 + i / 7);
    check_blocks(classifier, text);
}

static void check_lines(const struct weir__classifier *classifier)
{
    char text[BYTES];
    for (size_t length = 0; length <= BYTES; length++) {
        memset(text, '\n', sizeof(text)); /* what is behind the text does not count */
        uint64_t lines = 0;
        for (size_t i = 0; i < length; i++) {
            text[i] = i % 3 == 0 || i % 5 == 1 ? '\n' : '\v';
            lines += text[i] == '\n';
        }
        CHECK_EQ(classifier->count_lines(text, length), lines);
    }
}

TEST(every_form_has_the_classes)
{
    const struct weir__classifier *classifier;
    unsigned rank = 0;
    for (; (classifier = weir__classifier_ranked(rank)); rank++) {
        check_all(classifier);
        check_lines(classifier);
    }
    CHECK(rank > 0);
    CHECK(weir__classifier() == weir__classifier_ranked(0));
}

TAP_MAIN()
