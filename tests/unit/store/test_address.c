/* test_address.c - one text for each address, and nothing else is one. */
#include "address.h"

#include <string.h>

#include <weir/error.h>

#include "tap.h"

/* Of no bytes at all, and of "abc": from the official implementation. */
static const char of_nothing[] =
    "b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
static const char of_abc[] = "b3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";

TEST(is_the_hash_of_the_bytes)
{
    struct weir__address address;
    char text[WEIR__ADDRESS_TEXT];
    weir__address_of(NULL, 0, &address);
    weir__address_print(&address, text);
    CHECK_STR(text, of_nothing);
    weir__address_of("abc", 3, &address);
    weir__address_print(&address, text);
    CHECK_STR(text, of_abc);
}

TEST(every_byte_comes_back)
{
    for (unsigned value = 0; value < 256; value++) {
        struct weir__address address, again;
        char text[WEIR__ADDRESS_TEXT];
        for (size_t i = 0; i < WEIR__ADDRESS_SIZE; i++)
            address.bytes[i] = (unsigned char)(value + 7 * i);
        weir__address_print(&address, text);
        CHECK_EQ(strlen(text), WEIR__ADDRESS_TEXT - 1);
        CHECK_EQ(weir__address_parse(text, strlen(text), &again), 0);
        CHECK(weir__address_is_equal(&address, &again));
    }
}

static void refuse(const char *text, size_t length)
{
    struct weir__address address, before;
    memset(&address, 0x5a, sizeof(address));
    before = address;
    CHECK_EQ(weir__address_parse(text, length, &address), -WEIR_E_INVALID);
    CHECK(weir__address_is_equal(&address, &before));
}

TEST(refuses_other_lengths)
{
    char text[WEIR__ADDRESS_TEXT + 1];
    memcpy(text, of_abc, sizeof(of_abc));
    text[WEIR__ADDRESS_TEXT - 1] = '0';
    text[WEIR__ADDRESS_TEXT] = '\0';
    for (size_t length = 0; length <= WEIR__ADDRESS_TEXT; length++)
        if (length != WEIR__ADDRESS_TEXT - 1)
            refuse(text, length);
    refuse("", 0);
}

/* Each byte at each place: only a digit at the place of a digit is taken, and then it counts. */
TEST(refuses_other_bytes_everywhere)
{
    struct weir__address right, address;
    CHECK_EQ(weir__address_parse(of_abc, sizeof(of_abc) - 1, &right), 0);
    for (size_t at = 0; at < WEIR__ADDRESS_TEXT - 1; at++)
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[WEIR__ADDRESS_TEXT];
            memcpy(text, of_abc, sizeof(text));
            bool is_same = (unsigned char)text[at] == byte;
            text[at] = (char)byte;
            bool is_digit = byte != 0 && strchr("0123456789abcdef", (int)byte);
            if (!is_same && (at < 3 || !is_digit)) {
                refuse(text, sizeof(text) - 1);
                continue;
            }
            CHECK_EQ(weir__address_parse(text, sizeof(text) - 1, &address), 0);
            CHECK(weir__address_is_equal(&address, &right) == is_same);
        }
}

TEST(order_is_that_of_the_texts)
{
    struct weir__address low = {{0}}, high = {{0}};
    char low_text[WEIR__ADDRESS_TEXT], high_text[WEIR__ADDRESS_TEXT];
    low.bytes[3] = 0x7f;
    high.bytes[3] = 0x80;
    low.bytes[31] = 0xff;
    CHECK(weir__address_compare(&low, &high) < 0);
    CHECK(weir__address_compare(&high, &low) > 0);
    CHECK_EQ(weir__address_compare(&low, &low), 0);
    CHECK(!weir__address_is_equal(&low, &high));
    weir__address_print(&low, low_text);
    weir__address_print(&high, high_text);
    CHECK(strcmp(low_text, high_text) < 0);
}

TAP_MAIN()
