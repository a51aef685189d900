/* test_text.c - what is shown of texts that others wrote. */
#include "text.h"

#include <stdio.h>

#include "tap.h"

/* The whole text as it is shown. */
static const char *escaped(const char *text)
{
    static char shown[256];
    char piece[WEIR__TEXT_PIECE_MAX];
    size_t used = 0;
    for (size_t step; (step = weir__text_escape(piece, text)) > 0; text += step) {
        size_t length = strlen(piece);
        CHECK(used + length < sizeof(shown));
        memcpy(shown + used, piece, length);
        used += length;
    }
    shown[used] = '\0';
    return shown;
}

TEST(plain_text_is_shown_as_it_is)
{
    CHECK_STR(escaped(""), "");
    CHECK_STR(escaped("a b\\'\"~"), "a b\\'\"~");
    CHECK_STR(escaped("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
              "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(controls_are_shown_as_escapes)
{
    CHECK_STR(escaped("a\n\t\r\033[31m\x7f"), "a\\n\\t\\x0d\\x1b[31m\\x7f");
    CHECK_STR(escaped("\xc2\x9b"), "\\x9b");
    CHECK_STR(escaped("\xc2\xa0"), "\xc2\xa0");
}

TEST(bytes_that_are_not_utf8_are_shown_as_escapes)
{
    /* Alone, 9b is a control of terminals that speak Latin-1. */
    CHECK_STR(escaped("\x9b[31m"), "\\x9b[31m");
    CHECK_STR(escaped("\xc3"), "\\xc3");
    CHECK_STR(escaped("\xe2\x82z"), "\\xe2\\x82z");
}

/* Not inlined: gcc would compare the size with the bounds of the short literals. */
__attribute__((noinline)) static const char *clipped(const char *given, size_t length)
{
    static char text[8];
    return weir__text_clip(text, sizeof(text), given, length);
}

TEST(a_cut_is_marked)
{
    CHECK_STR(clipped("", SIZE_MAX), "");
    CHECK_STR(clipped("1234567", SIZE_MAX), "1234567");
    CHECK_STR(clipped("12345678", SIZE_MAX), "1234...");
    CHECK_STR(clipped("1234567890", 7), "1234567");
    CHECK_STR(clipped("1234567890", 3), "123");
    CHECK_STR(clipped("1234567890", 8), "1234...");
}

TEST(a_character_is_not_cut_in_two)
{
    CHECK_STR(clipped("123\xc3\xa4\x35\x36\x37\x38", SIZE_MAX), "123...");
    CHECK_STR(clipped("12\xc3\xa4\x35\x36\x37\x38", SIZE_MAX), "12\xc3\xa4...");
    CHECK_STR(clipped("1\xf0\x9f\x98\x80\x35\x36\x37", SIZE_MAX), "1...");
}

TEST(an_argument_has_room_for_80_bytes_and_the_mark)
{
    char given[200];
    memset(given, 'x', sizeof(given) - 1);
    given[sizeof(given) - 1] = '\0';
    const char *shown = WEIR__CLIPPED(given);
    CHECK_EQ(strlen(shown), 83);
    CHECK_STR(shown + 80, "...");
}

/* What is left of it when that is hidden, as stars. */
static const char *without_user(const char *text, size_t length, const char *ends)
{
    static char shown[64];
    size_t from, until;
    snprintf(shown, sizeof(shown), "%s", text);
    if (weir__text_find_user(text, length, ends, &from, &until))
        memset(shown + from, '*', until - from);
    return shown;
}

TEST(users_and_passwords_are_found)
{
    CHECK_STR(without_user("u:p@host/a", 10, "/"), "***@host/a");
    CHECK_STR(without_user("u:p@q@host/a@b", 14, "/"), "************@b");
    CHECK_STR(without_user("u:p@q@host/a@b", 10, "/"), "*****@host/a@b");
    CHECK_STR(without_user("@host", 5, "/"), "@host");
    CHECK_STR(without_user("host:word/a", 11, "/"), "host:****/a");
    CHECK_STR(without_user("host:12x/a", 10, "/"), "host:***/a");
    CHECK_STR(without_user("host:wo?rd", 10, "/?#"), "host:**?rd");
    CHECK_STR(without_user(":word", 5, "/"), ":****");
    CHECK_STR(without_user("[::1]:word", 10, "/"), "[::1]:****");
    CHECK_STR(without_user("[u:word]", 8, "/"), "[u:*****");
    static const char *const plain[] = {"",         "host",  "host:",     "host:80", "host:80/a:b",
                                        "host/a:b", "[::1]", "[::1]:80/a"};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        CHECK_STR(without_user(plain[i], strlen(plain[i]), "/"), plain[i]);
}

TAP_MAIN()
