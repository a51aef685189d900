/* The classes of bytes: both forms say what the plain definition of each class says. */
#include <string.h>

#include "engine/classes.h"
#include "engine/stretch.h"
#include "tap.h"

#define BLOCKS 5u
#define BYTES  (BLOCKS * 64u)

static bool is_low32(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'f');
}

static bool is_rare(unsigned char c)
{
    return c == '%' || c == '&' || c == '\\' || c == 0 || c >= 0xfe;
}

static void check_blocks(const char *text)
{
    struct weir__classes classes[BLOCKS];
    uint64_t tokens[BLOCKS];
    weir__classify(text, BLOCKS, classes);
    weir__token_bits(text, BLOCKS, tokens);
    for (size_t block = 0; block < BLOCKS; block++) {
        bool has_rare = false;
        for (size_t i = 0; i < 64; i++) {
            unsigned char c = (unsigned char)text[block * 64 + i];
            CHECK_EQ(classes[block].low32 >> i & 1, is_low32(c));
            CHECK_EQ(classes[block].digits >> i & 1, c >= '0' && c <= '9');
            CHECK_EQ(tokens[block] >> i & 1, weir__is_token_byte(c));
            has_rare |= is_rare(c);
        }
        CHECK_EQ(classes[block].rare != 0, has_rare);
    }
}

/* Every byte at every place of a block, among bytes that are in no class. */
static void check_all(void)
{
    char text[BYTES];
    for (size_t at = 0; at < 64; at++) {
        memset(text, ' ', sizeof(text));
        for (unsigned byte = 0; byte < 256; byte++) {
            text[64 + at] = (char)byte;
            check_blocks(text);
        }
    }
    for (size_t i = 0; i < BYTES; i++)
        text[i] = (char)(i * 167 + i / 7);
    check_blocks(text);
}

static void check_lines(void)
{
    char text[BYTES];
    for (size_t length = 0; length <= BYTES; length++) {
        memset(text, '\n', sizeof(text)); /* what is behind the text does not count */
        uint64_t lines = 0;
        for (size_t i = 0; i < length; i++) {
            text[i] = i % 3 == 0 || i % 5 == 1 ? '\n' : '\v';
            lines += text[i] == '\n';
        }
        CHECK_EQ(weir__count_lines(text, length), lines);
    }
}

TEST(the_best_form_has_the_classes)
{
    check_all();
    check_lines();
}

TEST(the_form_for_any_processor_has_the_classes)
{
    weir__classes_use_plain(true);
    check_all();
    check_lines();
    weir__classes_use_plain(false);
}

TAP_MAIN()
