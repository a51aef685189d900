/* test_decode.c - what was encoded is found and decoded to the same bytes, at the same place. */
#include "decode.h"

#include <stdlib.h>

#include "decode_help.h"
#include "decode_part.h"
#include "tap.h"

#include "banned.h"

#define RUNS_MAX 64
#define OUT_MAX  ((size_t)64 << 20)
#define ROUNDS   400
#define BIG      ((size_t)4 << 20)

static struct weir__decoded runs[RUNS_MAX];
static struct weir__buffer out, marks;
static size_t runs_count;
static bool is_truncated;

static void decode_with(const char *source, size_t length, unsigned encodings, size_t out_max)
{
    struct weir__decode_options options = {
        .runs_max = RUNS_MAX, .encodings = encodings, .marks = &marks};
    weir__buffer_fini(&out);
    weir__buffer_init(&out, out_max);
    weir__buffer_fini(&marks);
    weir__buffer_init(&marks, WEIR__MARKS_BYTES(OUT_MAX));
    runs_count = weir__decode(source, length, &options, &out, runs, &is_truncated);
    CHECK(weir__buffer_length(&out) <= out_max);
}

static void decode(const char *source, size_t length)
{
    decode_with(source, length, DECODE_ALL, OUT_MAX);
}

static const char *bytes_of(const struct weir__decoded *run)
{
    return weir__buffer_text(&out) + run->out_from;
}

static const struct weir__decoded *find(enum weir__encoding encoding, const char *wanted,
                                        size_t length)
{
    for (size_t i = 0; i < runs_count; i++) {
        if (runs[i].encoding == encoding && runs[i].out_until - runs[i].out_from >= length &&
            memmem(bytes_of(&runs[i]), runs[i].out_until - runs[i].out_from, wanted, length))
            return &runs[i];
    }
    return NULL;
}

/* A run of the kind decodes to exactly this, and stands exactly there. */
static void expect(const char *source, size_t length, enum weir__encoding encoding,
                   const char *wanted, size_t from, size_t until)
{
    decode(source, length);
    const struct weir__decoded *run = find(encoding, wanted, strlen(wanted));
    if (!run)
        tap_fail(__FILE__, __LINE__, "no %s in '%.*s'", weir__encoding_name(encoding), (int)length,
                 source);
    CHECK_EQ(run->out_until - run->out_from, strlen(wanted));
    CHECK_EQ(run->from, from);
    CHECK_EQ(run->until, until);
    CHECK_EQ(bytes_of(run)[run->out_until - run->out_from], '\0');
}

static void expect_all(const char *source, enum weir__encoding encoding, const char *wanted)
{
    expect(source, strlen(source), encoding, wanted, 0, strlen(source));
}

static void expect_none(const char *source)
{
    decode(source, strlen(source));
    if (runs_count > 0)
        tap_fail(__FILE__, __LINE__, "'%s' is %s", source, weir__encoding_name(runs[0].encoding));
}

static uint64_t state;

static uint32_t random_below(uint32_t bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % bound;
}

static void seed_from_environment(void)
{
    const char *text = getenv("WEIR_SEED");
    state = text ? strtoull(text, NULL, 10) : 4;
    printf("# WEIR_SEED=%llu\n", (unsigned long long)state);
}

/* Base64 and hexadecimal. */

TEST(the_kinds_have_names)
{
    CHECK_STR(weir__encoding_name(WEIR__BASE64), "base64");
    CHECK_STR(weir__encoding_name(WEIR__ESCAPES), "unicode");
    CHECK_STR(weir__encoding_name(WEIR__UTF16BE), "utf-16be");
    CHECK_STR(weir__encoding_name(WEIR__UTF32LE), "utf-32le");
    CHECK_STR(weir__encoding_name(WEIR__HEX_LIST), "hex");
    CHECK_STR(weir__encoding_name(WEIR__DECIMALS), "decimal");
}

TEST(the_tables_are_those_of_the_definitions)
{
    for (unsigned b = 0; b < 256; b++) {
        char byte = (char)b;
        bool is_hex = b && strchr("0123456789abcdefABCDEF", byte);
        int value = base64_index(byte);
        CHECK_EQ(weir__base64_value[b], value < 0 ? 0xff : value);
        CHECK_EQ(weir__decode_is(byte, WEIR__IS_BASE64), value >= 0);
        CHECK_EQ(weir__decode_is(byte, WEIR__IS_STANDARD), byte == '+' || byte == '/');
        CHECK_EQ(weir__decode_is(byte, WEIR__IS_URL_SAFE), byte == '-' || byte == '_');
        CHECK_EQ(weir__decode_is(byte, WEIR__IS_HEX), is_hex);
        CHECK_EQ(weir__hex_value[b], is_hex ? strtol((char[]){byte, 0}, NULL, 16) : 0);
        CHECK_EQ(weir__decode_is(byte, WEIR__IS_TEXT),
                 (b >= 32 && b < 127) || b == 9 || b == 10 || b == 13);
        CHECK_EQ(weir__decode_is(byte, WEIR__IS_PLAIN), b == 9 || (b >= 32 && b != 127));
    }
}

TEST(base64_is_found_in_its_surroundings)
{
    expect_all("cGFzc3dvcmQ9aHVudGVyMg==", WEIR__BASE64, "password=hunter2");
    expect_all("cGFzc3dvcmQ9aHVudGVyMg", WEIR__BASE64, "password=hunter2");
    expect("key=cGFzc3dvcmQ9aHVudGVyMg==;", 29, WEIR__BASE64, "password=hunter2", 4, 28);
    expect("\"cGFzc3dvcmQ9aHVudGVy\"", 22, WEIR__BASE64, "password=hunter", 1, 21);
    expect_none("cGFzc3dvcmQ9aHU"); /* 15 characters */
    expect_none("weir__decoded_place_of_a_long_name");
    expect_none("src/scan/engine/decode_base64.c and more of it");
    expect_none("////////////////////////////////////////");
    expect_none("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
}

TEST(base64_that_something_is_glued_to_is_decoded_in_its_phase)
{
    static const char *const before[] = {"a/", "ab/", "abc/", "abcd/", "dir/x/", "data", "k"};
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        char source[128];
        snprintf(source, sizeof(source), "%scGFzc3dvcmQ9aHVudGVyMmFuZG1vcmU=", before[i]);
        decode(source, strlen(source));
        const struct weir__decoded *run = find(WEIR__BASE64, "password=hunter2andmore", 23);
        if (!run)
            tap_fail(__FILE__, __LINE__, "not found behind '%s'", before[i]);
        CHECK_EQ(run->until, strlen(source));
    }
}

TEST(alphabets_do_not_mix)
{
    char plain[64], first[128], second[128], source[300];
    for (size_t i = 0; i < 48; i++)
        plain[i] = (char)(i % 3 == 2 ? '~' : i % 3 ? '?' : '>'); /* makes + / and - _ */
    first[encode_base64(plain, 48, base64_standard, false, first)] = '\0';
    second[encode_base64(plain, 48, base64_url, false, second)] = '\0';
    CHECK(strpbrk(first, "+/") && strpbrk(second, "-_"));
    snprintf(source, sizeof(source), "%s%s", first, second);
    decode(source, strlen(source));
    for (size_t i = 0; i < runs_count; i++) {
        bool has_standard = memchr(source + runs[i].from, '+', runs[i].until - runs[i].from) ||
                            memchr(source + runs[i].from, '/', runs[i].until - runs[i].from);
        bool has_url = memchr(source + runs[i].from, '-', runs[i].until - runs[i].from) ||
                       memchr(source + runs[i].from, '_', runs[i].until - runs[i].from);
        CHECK(!has_standard || !has_url);
    }
    CHECK(find(WEIR__BASE64, plain, 40));
}

TEST(base64_goes_on_in_lines_of_one_width)
{
    static const char *const breaks[] = {
        "\n",           "\r\n",         "\n    ",
        "\n\t",         "\\n",          "\\r\\n",
        "\\\\n",        "\\\n",         "\n# ",
        "\n // ",       "\n * ",        "\n> ",
        "\"\n  \"",     "' +\n '",      "'\n + '",
        "\" .\n \"",    "\" + \"",      "\\n\" +\n    \"",
        "&#13;\n",      "&#xD;\n",      "&#10;",
        "\\n\\\n",      "\n\n",         "\r\n\r\n",
        "\n  \n  ",     "\\n\n",        " \n",
        "\t\r\n",       "\r",           "\r  ",
        "<br>",         "<br />\n",     "\n; ",
        "\n-- ",        "\n/// ",       "\n>> ",
        "\n+",          "\n-",          "\n//",
        "\n#",          "\n--",         "\n  +  ",
        "\" & _\n  \"", "\";\nx += \"", "';\n$this->x .= '",
        "\"\nx+=\"",    " \n+",
    };
    static const char plain[] =
        "{\"user\": \"root\", \"password\": \"correct horse battery staple\", "
        "\"host\": \"db.internal\", \"port\": 5432, \"tls\": true}\n";
    static const size_t widths[] = {16, 20, 60, 64, 70, 76};
    char encoded[512] = "", source[1024];
    size_t count = encode_base64(plain, sizeof(plain) - 1, base64_standard, true, encoded);
    for (size_t b = 0; b < sizeof(breaks) / sizeof(breaks[0]); b++) {
        for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
            size_t length = (size_t)snprintf(source, sizeof(source), "data: |%s", breaks[b]);
            size_t from = length;
            for (size_t at = 0; at < count; at += widths[w])
                length += (size_t)snprintf(source + length, sizeof(source) - length, "%.*s%s",
                                           (int)widths[w], encoded + at,
                                           at + widths[w] < count ? breaks[b] : "");
            size_t until = length;
            length += (size_t)snprintf(source + length, sizeof(source) - length,
                                       "%s-----END MESSAGE-----\nnext: value\n", breaks[b]);
            expect(source, length, WEIR__BASE64, plain, from, until);
        }
    }
}

/* As headers of mail and variables of a shell are folded; words of a text are none of that. */
/* A secret across the last break is whole whatever is glued to the last line. */
TEST(what_stands_behind_the_last_line_makes_no_difference)
{
    static const char *const behind[] = {"",     "*/",   "-->", "|", "&", ".", "!", ":",
                                         "%",    "$",    "@",   "~", "^", "#", "?", "\\",
                                         "\x01", "_end", ".md", ">", "[", "{", "(", "-"};
    static const size_t lengths[] = {96, 95, 94, 48 + 46, 48 + 8};
    char plain[128], encoded[256], source[512];
    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++)
        for (size_t k = 0; k < 2 * sizeof(lengths) / sizeof(lengths[0]); k++) {
            bool is_hex = k % 2;
            size_t length = lengths[k / 2] / (is_hex ? 2 : 1), width = is_hex ? 60 : 64;
            for (size_t c = 0; c < length; c++)
                plain[c] = "password of the host: correct horse "[c % 36];
            plain[length] = '\0';
            size_t count = 0;
            if (!is_hex)
                count = encode_base64(plain, length, base64_standard, true, encoded);
            for (size_t c = 0; is_hex && c < length; c++)
                count += (size_t)snprintf(encoded + count, 3, "%02x", (unsigned)plain[c]);
            snprintf(source, sizeof(source), "%.*s\n%.*s%s\n", (int)width, encoded,
                     (int)(count - width), encoded + width, behind[i]);
            decode(source, strlen(source));
            if (!find(is_hex ? WEIR__HEX : WEIR__BASE64, plain, length))
                tap_fail(__FILE__, __LINE__, "not found: '%s'", source);
        }
}

/* What stands in lines with an empty one between is a list as well. */
TEST(lines_apart_are_also_read_one_by_one)
{
    static const char one[] = "password=hunter2, of a host with a name: w-1.eu\n",
                      two[] = "another=hunter34, of a host with a name: w-2.eu\n";
    char encoded[2][80] = {"", ""}, source[200];
    encode_base64(one, sizeof(one) - 1, base64_standard, true, encoded[0]);
    encode_base64(two, sizeof(two) - 1, base64_standard, true, encoded[1]);
    snprintf(source, sizeof(source), "%.64s\n\n%.64s\n", encoded[0], encoded[1]);
    bool is_alone[2] = {false, false};
    CHECK_EQ(strlen(encoded[0]), 64); /* no padding, which would end a text */
    CHECK_EQ(strlen(encoded[1]), 64);
    decode(source, strlen(source));
    for (size_t i = 0; i < runs_count; i++) {
        is_alone[0] |= runs[i].from == 0 && strcmp(bytes_of(&runs[i]), one) == 0;
        is_alone[1] |= runs[i].from == 66 && strcmp(bytes_of(&runs[i]), two) == 0;
    }
    CHECK(is_alone[0]);
    CHECK(is_alone[1]);
}

/* And one text: nothing is lost across the empty line. */
TEST(lines_apart_are_read_as_one)
{
    static const char plain[] = "the host of all that is said here: password=correct-horse-battery "
                                "and the port of the host that is meant\n";
    static const char *const breaks[] = {"\n\n", "\r\n\r\n", "\n    \n", "\n\n    "};
    char encoded[200] = "", source[300];
    size_t count = encode_base64(plain, sizeof(plain) - 1, base64_standard, true, encoded);
    for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
        snprintf(source, sizeof(source), "%.64s%s%.64s%s%s\n", encoded, breaks[i], encoded + 64,
                 breaks[i], encoded + 128);
        CHECK(count > 128);
        decode(source, strlen(source));
        if (!find(WEIR__BASE64, plain, sizeof(plain) - 1))
            tap_fail(__FILE__, __LINE__, "not found: '%s'", source);
    }
}

/* The end of an escape before the first line makes that line no wider than the others. */
TEST(an_escape_glued_to_the_first_line_is_none_of_it)
{
    static const char plain[] = "the host of all that is said here: password=correct-horse-battery "
                                "and the port of the host that is meant\n";
    static const char *const before[] = {"\\n",    "\\\\n", "%0A",     "%0a",   "%0D%0A", "key%3D",
                                         "=0D=0A", "\\x0a", "\\u000a", "\\012", "x=%0A",  ""};
    char encoded[200] = "", source[300];
    encode_base64(plain, sizeof(plain) - 1, base64_standard, true, encoded);
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        snprintf(source, sizeof(source), "%s%.64s\n%.64s\n%s\n", before[i], encoded, encoded + 64,
                 encoded + 128);
        decode(source, strlen(source));
        if (!find(WEIR__BASE64, plain, sizeof(plain) - 1))
            tap_fail(__FILE__, __LINE__, "not found: '%s'", source);
    }
}

/* What looks like the end of an escape may be text. */
TEST(digits_behind_a_sign_may_be_base64)
{
    static const char plain[] =
        "\xd0\x0c\x90 the host of all that is said here is this one: hunter2";
    char encoded[200] = "", source[300];
    encode_base64(plain, sizeof(plain) - 1, base64_standard, true, encoded);
    CHECK(strncmp(encoded, "0AyQ", 4) == 0);
    snprintf(source, sizeof(source), "key=%s\n", encoded);
    expect(source, strlen(source), WEIR__BASE64, plain, 4, 4 + strlen(encoded));
}

TEST(a_blank_joins_long_lines_of_whole_groups_alone)
{
    static const struct {
        size_t width;
        bool is_joined;
    } table[] = {{16, false}, {20, false}, {56, false}, {60, true}, {62, false}, {64, true}};
    static const char plain[] =
        "{\"user\": \"root\", \"password\": \"correct horse battery staple\", "
        "\"host\": \"db.internal\", \"port\": 5432, \"tls\": true}\n";
    char encoded[512] = "", source[1024];
    size_t count = encode_base64(plain, sizeof(plain) - 1, base64_standard, true, encoded);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        size_t width = table[i].width, length = 0;
        for (size_t at = 0; at < count; at += width)
            length += (size_t)snprintf(source + length, sizeof(source) - length, "%s%.*s",
                                       at > 0 ? " " : "", (int)width, encoded + at);
        decode(source, length);
        bool is_joined = false;
        for (size_t k = 0; k < runs_count; k++)
            is_joined |= runs[k].from <= width && runs[k].until > width + 1;
        if (is_joined != table[i].is_joined)
            tap_fail(__FILE__, __LINE__, "%zu characters: %s", width,
                     is_joined ? "joined" : "not joined");
    }
}

TEST(a_longer_line_is_something_else)
{
    static const char source[] = "cGFzc3dvcmQ9aHVudGVy\ncGFzc3dvcmQ9aHVudGVyM\n";
    decode(source, sizeof(source) - 1);
    CHECK_EQ(runs_count, 2);
    CHECK_EQ(runs[0].until, 20);
    CHECK_EQ(runs[1].from, 21);
    CHECK_EQ(runs[1].until, 41); /* one character alone is no byte */
}

TEST(a_word_in_the_next_line_is_read_both_ways)
{
    static const char source[] = "A=cGFzc3dvcmQ9aHVudGVy\nSET x\n";
    bool is_alone = false, is_joined = false;
    decode(source, sizeof(source) - 1);
    for (size_t i = 0; i < runs_count; i++) {
        is_alone |= runs[i].from == 2 && runs[i].until == 22 &&
                    strcmp(bytes_of(&runs[i]), "password=hunter") == 0;
        is_joined |= runs[i].until == 26;
    }
    CHECK(is_alone && is_joined);
}

TEST(a_list_of_tokens_is_not_one)
{
    /* 22 characters each: in one phase, the second would be nothing. */
    static const char source[] = "Zmlyc3QgcGFzc3dvcmQ9MQ\nc2Vjb25kIHBhc3N3b3JkMg\n";
    decode(source, sizeof(source) - 1);
    CHECK(find(WEIR__BASE64, "first password=1", 16));
    CHECK(find(WEIR__BASE64, "second password2", 16));
}

TEST(text_within_bytes_that_are_none_is_enough)
{
    char plain[300], source[500];
    seed_from_environment();
    for (size_t i = 0; i < sizeof(plain); i++)
        plain[i] = (char)(0x80 + random_below(128));
    size_t length = encode_base64(plain, sizeof(plain), base64_standard, true, source);
    decode(source, length);
    CHECK_EQ(runs_count, 0);
    for (size_t at = 0; at + 16 <= sizeof(plain); at++) {
        char with[300];
        memcpy(with, plain, sizeof(with));
        memcpy(with + at, "sixteen of them!", 16);
        length = encode_base64(with, sizeof(with), base64_standard, true, source);
        decode(source, length);
        CHECK_EQ(runs_count, 1);
        CHECK(find(WEIR__BASE64, with, sizeof(with)));
        with[at + 15] = (char)0x80;
        length = encode_base64(with, sizeof(with), base64_standard, true, source);
        decode(source, length);
        CHECK_EQ(runs_count, 0);
    }
}

TEST(base64_of_utf16_is_decoded_twice)
{
    static const char text[] = "Invoke-WebRequest -Token hunter2hunter2";
    char wide[128], source[256], once[128];
    size_t length = 0;
    for (const char *p = text; *p; p++)
        length += encode_wide((uint8_t)*p, false, wide + length);
    size_t count = encode_base64(wide, length, base64_standard, true, source);
    decode(source, count);
    CHECK(find(WEIR__BASE64, wide, length));
    memcpy(once, bytes_of(&runs[0]), length);
    decode(once, length);
    CHECK(find(WEIR__UTF16LE, text, sizeof(text) - 1));
}

TEST(hexadecimal_is_found)
{
    static const char hex[] = "70617373776f72643d68756e746572322121";
    expect_all(hex, WEIR__HEX, "password=hunter2!!");
    expect("x = 0x70617373776F72643D68756E746572322121;", 43, WEIR__HEX, "password=hunter2!!", 6,
           42);
    /* A digit that belongs to something else. */
    expect("f70617373776f72643d68756e746572322121", 37, WEIR__HEX, "password=hunter2!!", 1, 37);
    expect_none("70617373776f72643d68756e746572");           /* 30 */
    expect_none("da39a3ee5e6b4b0d3255bfef95601890afd80709"); /* not text */
    char source[200];
    for (size_t blanks = 0; blanks < 130; blanks++) {
        int length = snprintf(source, sizeof(source), "%*s%s\"", (int)blanks, "", hex);
        expect(source, (size_t)length, WEIR__HEX, "password=hunter2!!", blanks, (size_t)length - 1);
    }
}

/* Escapes. */

TEST(percent_escapes_are_found)
{
    expect("GET /?q=%70%61ssword%3Dhunter2&x=1 HTTP", 39, WEIR__PERCENT,
           "GET /?q=password=hunter2&x=1 HTTP", 0, 39);
    expect_all("%%41%4%41%42%=abc", WEIR__PERCENT, "%A%4AB%=abc");
    expect_all("password%3Dx1", WEIR__PERCENT, "password=x1");
    expect_all("pass%u0077ord%3Dx1", WEIR__PERCENT, "password=x1");
    expect_none("printf(\"%02d%%8%d\", a)");
    expect_none("%00%01%02%80%90"); /* not text */
    expect_none("a line with %09 and %80 alone");
    expect_none("a%41"); /* too short for anything */
}

/* One escape by chance, in a value that would have others if it were encoded. */
TEST(a_value_that_is_not_encoded_as_a_whole_is_known)
{
    static const struct {
        const char *value;
        bool is_percent;
    } table[] = {
        {"a1b2c3%5fe5f6", true}, {"%67%68%70", true}, {"p%40ss!w(o)rd*", true}, {"%u0067abc", true},
        {"a%78b%qc", false},     {"a%78b%", false},   {"a%78b%4", false},       {"a#b%78", false},
        {"a%78@c", false},       {"a%78^c", false},   {"a b%78c", false},       {"a%78\"c", false},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (weir__decode_is_percent(table[i].value, 0, strlen(table[i].value)) !=
            table[i].is_percent)
            tap_fail(__FILE__, __LINE__, "'%s'", table[i].value);
}

TEST(unicode_escapes_are_found)
{
    expect_all("\\u0070\\u0061\\u0073\\u0073word", WEIR__ESCAPES, "password");
    expect_all("\\u{70}\\u{000061}\\x73\\U00000073word", WEIR__ESCAPES, "password");
    expect_all("&#112;&#97;&#x73;&#X73;word", WEIR__ESCAPES, "password");
    expect_all("pass\\167ord\\/a\\/b", WEIR__ESCAPES, "password/a/b");
    expect_all("pass&amp;word&lt;&gt;", WEIR__ESCAPES, "pass&word<>");
    expect_all("{&quot;key&quot;:&quot;it&apos;s&quot;}", WEIR__ESCAPES, "{\"key\":\"it's\"}");
    expect_all("pass\\\\u0077ord\\\\\\\"\\\\n", WEIR__ESCAPES, "password\"\n");
    expect_all("\\u00e9\\ud83d\\ude00\\u20ac\\u0041 password=1", WEIR__ESCAPES,
               "\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac"
               "A password=1");
    expect("\"key\": \"\\u0041BCD\"\nnext", 23, WEIR__ESCAPES, "\"key\": \"ABCD\"", 0, 18);
    /* Halves of pairs, numbers beyond Unicode and those that are not closed stay as they are. */
    expect_all("\\ud83dx\\ude00\\u{110000}&#1114112;&#65\\u0041\\u0042\\u0043\\u0044",
               WEIR__ESCAPES, "\\ud83dx\\ude00\\u{110000}&#1114112;&#65ABCD");
    expect_none("\\x4 and a long sentence");
    expect_none("\\u00e9 and a long sentence"); /* no printable ASCII */
    expect_none("printf(\"a long sentence\\n\\t\\\"\");");
    expect_none("a &quot;long&quot; sentence; don&#39;t");
    expect_none("&array[0] && &amp[0] and more of it");
}

/* Of UTF-16 or UTF-32 the letters may stand as they are, and the NULs alone be escaped. */
TEST(escapes_of_nuls_between_letters_are_found)
{
    static const char *const nuls[] = {"%00",   "%u0000", "\\x00", "\\u0000",
                                       "\\000", "&#0;",   "&#x0;"};
    static const char letters[] = "AKIAabcd1234";
    for (size_t kind = 0; kind < sizeof(nuls) / sizeof(nuls[0]); kind++)
        for (unsigned way = 0; way < 4; way++) { /* bit 0: NULs first; bit 1: three of them */
            char source[1024] = "", wanted[64] = {0};
            size_t at = 0, count = 0, some = way & 2 ? 3 : 1;
            for (const char *letter = letters; *letter; letter++) {
                for (size_t i = 0; i < some * (way & 1); i++)
                    at += (size_t)snprintf(source + at, sizeof(source) - at, "%s", nuls[kind]);
                source[at++] = *letter;
                for (size_t i = 0; i < some * !(way & 1); i++)
                    at += (size_t)snprintf(source + at, sizeof(source) - at, "%s", nuls[kind]);
                wanted[count + some * (way & 1)] = *letter;
                count += some + 1;
            }
            decode(source, at);
            enum weir__encoding encoding = nuls[kind][0] == '%' ? WEIR__PERCENT : WEIR__ESCAPES;
            const struct weir__decoded *run = find(encoding, wanted, count);
            if (!run)
                tap_fail(__FILE__, __LINE__, "nothing in '%s'", source);
            CHECK_EQ(run->from, 0);
            CHECK_EQ(run->until, at);
            CHECK_EQ(run->out_until - run->out_from, count);
        }
    expect_none("a line with %00 and b%00cd%00 alone");
    expect_none("\\x00\\x01\\x00\\x80\\x00a\\x00"); /* too few of them */
}

TEST(one_escape_takes_its_word_and_what_is_beside_it)
{
    static char source[8192];
    /* As far as the bytes beside go, from both sides; and no word is cut. */
    for (size_t words = 0; words < 40; words++) {
        size_t length = 0;
        for (size_t i = 0; i < words; i++)
            length += (size_t)snprintf(source + length, sizeof(source) - length, "w%03zu ", i);
        size_t at = length;
        length += (size_t)snprintf(source + length, sizeof(source) - length, "ab\\u0041cd");
        size_t behind = length;
        for (size_t i = 0; i < words; i++)
            length += (size_t)snprintf(source + length, sizeof(source) - length, " w%03zu", i);
        decode(source, length);
        CHECK_EQ(runs_count, words > 0);
        if (words == 0)
            continue;
        size_t before = at - runs[0].from, after = runs[0].until - behind;
        CHECK(before == at || (before >= WEIR__ESCAPES_BESIDE && source[runs[0].from] == 'w'));
        CHECK(after == length - behind ||
              (after >= WEIR__ESCAPES_BESIDE && source[runs[0].until] == ' '));
        CHECK(before <= WEIR__ESCAPES_BESIDE + 5 && after <= WEIR__ESCAPES_BESIDE + 5);
    }
    /* A long word is taken whole, with its name before it. */
    size_t length = (size_t)snprintf(source, sizeof(source), "password = \"");
    memset(source + length, 'x', 900);
    memcpy(source + length + 900, "\\u0041\"", 7);
    expect(source, length + 907, WEIR__ESCAPES,
           (memset(source + 5000, 'x', 913), memcpy(source + 5000, source, length),
            memcpy(source + 5000 + length + 900, "A\"", 3), source + 5000),
           0, length + 907);
    /* And not a longer one. */
    memset(source, 'x', 4000);
    memcpy(source + 2000, "\\u0041", 6);
    decode(source, 4000);
    CHECK_EQ(runs_count, 1);
    CHECK(runs[0].from + 2 * WEIR__ESCAPES_WORD >= 2000 && runs[0].from <= 1000);
    CHECK(runs[0].until <= 2006 + 2 * WEIR__ESCAPES_WORD && runs[0].until >= 3000);
}

TEST(every_escape_has_its_surroundings)
{
    char source[600];
    for (int blanks = 0; blanks < 300; blanks++) {
        int length =
            snprintf(source, sizeof(source), "one=\\u0041bcdefg%*s two=\\u0042bcdefgh", blanks, "");
        decode(source, (size_t)length);
        CHECK(find(WEIR__ESCAPES, "one=Abcdefg", 11));
        CHECK(find(WEIR__ESCAPES, "two=Bbcdefgh", 12));
        CHECK_EQ(runs_count, blanks < 64 ? 1 : 2);
        CHECK_EQ(runs[runs_count - 1].until, (size_t)length);
    }
}

/* Bytes apart. */

TEST(bytes_apart_are_found)
{
    expect_all("70 61 73 73 77 6f 72 64 3D 68 75 6e 74", WEIR__HEX_LIST, "password=hunt");
    expect_all("70:61:73:73:77:6f:72:64:3d:68:75:6e", WEIR__HEX_LIST, "password=hun");
    expect_all("0x70,0x61,0x73,0x73,0X77,0x6F,0x72,0x64,0x3d,0x68,0x75,0x6e", WEIR__HEX_LIST,
               "password=hun");
    expect("k[] = {\n  0x70, 0x61, 0x73, 0x73, 0x77, 0x6f,\n  0x72, 0x64, 0x3d, 0x68, 0x75, "
           "0x6e\n};",
           85, WEIR__HEX_LIST, "password=hun", 10, 82);
    expect("[112, 97,115, 115, 119, 111, 114, 100, 61, 104, 117, 110]", 57, WEIR__DECIMALS,
           "password=hun", 1, 56);
    expect("x = 70 61 73 73 77 6f 72 64 3D 68 75 6e 74 and so on", 52, WEIR__HEX_LIST,
           "password=hunt", 4, 42);
    expect_none("70 61 73 73 77 6f 72 64 3d 68 75");              /* 11 */
    expect_none("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14"); /* not text */
    expect_none("112, 97, 115, 115, 1190, 111, 114, 100, 61, 104, 117, 110");
    expect_none("70 61 73 73 77 6f 72 64 zz 3d 68 75 6e 74");
    char source[400];
    for (size_t blanks = 0; blanks < 130; blanks++) {
        int length = snprintf(source, sizeof(source), "%*s[70 61 73 73 77 6f 72 64 3d 68 75 6e 74]",
                              (int)blanks, "");
        expect(source, (size_t)length, WEIR__HEX_LIST, "password=hunt", blanks + 1,
               (size_t)length - 1);
        length = snprintf(source, sizeof(source),
                          "%*s[0x70,0x61,0x73,0x73,0x77,0x6f,0x72,0x64,0x3d,0x68,0x75,0x6e,0x74]",
                          (int)blanks, "");
        expect(source, (size_t)length, WEIR__HEX_LIST, "password=hunt", blanks + 1,
               (size_t)length - 1);
        length = snprintf(source, sizeof(source),
                          "%*s[48, 49, 112, 97, 115, 115, 119, 111, 114, 100, 61, 104, 65, 66, 67]",
                          (int)blanks, "");
        expect(source, (size_t)length, WEIR__DECIMALS, "01password=hABC", blanks + 1,
               (size_t)length - 1);
        /* Among numbers that are no bytes, and look like a row as well. */
        length = snprintf(source, sizeof(source),
                          "%*s[4660, 22136, 0x1234, 0x5678, 4660, 22136, 0x70,0x61,0x73,0x73,0x77,"
                          "0x6f,0x72,0x64,0x3d,0x68,0x75,0x6e, 22136, 4660, 0x1234, 22136, 4660]",
                          (int)blanks, "");
        expect(source, (size_t)length, WEIR__HEX_LIST, "password=hun", blanks + 43, blanks + 102);
    }
}

/* UTF-32. */

TEST(utf32_is_found_at_every_offset)
{
    static const char text[] = "password=hunter2!";
    char source[512];
    for (unsigned is_big = 0; is_big < 2; is_big++) {
        for (size_t before = 0; before < 140; before++) {
            memset(source, 0xee, sizeof(source));
            memset(source + before, 0, 4 * strlen(text));
            for (size_t i = 0; i < strlen(text); i++)
                source[before + 4 * i + 3 * is_big] = text[i];
            expect(source, before + 4 * strlen(text) + 3, is_big ? WEIR__UTF32BE : WEIR__UTF32LE,
                   text, before, before + 4 * strlen(text));
            CHECK_EQ(runs_count, 1);
        }
    }
}

/* UTF-16. */

static size_t widen(const char *text, bool is_big, char *wide)
{
    size_t length = 0;
    for (; *text; text++)
        length += encode_wide((uint8_t)*text, is_big, wide + length);
    return length;
}

TEST(utf16_is_found_at_every_offset)
{
    static const char text[] = "password=hunter2!";
    char source[512];
    for (unsigned is_big = 0; is_big < 2; is_big++) {
        enum weir__encoding encoding = is_big ? WEIR__UTF16BE : WEIR__UTF16LE;
        for (size_t before = 0; before < 140; before++) {
            memset(source, 0xee, sizeof(source));
            size_t length = widen(text, is_big, source + before);
            /* What follows is read to the end of a unit; it must not be text in the other order. */
            expect(source, before + length + 3, encoding, text, before, before + length);
            CHECK_EQ(runs_count, 1);
        }
    }
}

TEST(utf16_between_letters_keeps_its_own)
{
    static const char text[] = "hunter2hunter2hunter2";
    char source[512];
    for (unsigned is_big = 0; is_big < 2; is_big++)
        for (size_t before = 1; before < 5; before++) {
            size_t length = (size_t)snprintf(source, sizeof(source), "%.*s[", (int)before, "keys");
            length += widen(text, is_big, source + length);
            source[length++] = ']';
            source[length++] = ';';
            decode(source, length);
            CHECK(find(is_big ? WEIR__UTF16BE : WEIR__UTF16LE, text, strlen(text)));
        }
}

TEST(utf16_without_a_mark_is_mostly_ascii)
{
    char source[512];
    size_t length = widen("short text here", false, source); /* 15 units */
    decode(source, length);
    CHECK_EQ(runs_count, 0);
    length = 0;
    for (unsigned i = 0; i < 40; i++)
        length += encode_wide(0x4e00 + i, false, source + length);
    decode(source, length);
    CHECK_EQ(runs_count, 0);
}

TEST(utf16_behind_a_mark_may_be_anything)
{
    for (unsigned is_big = 0; is_big < 2; is_big++) {
        char source[512], wanted[512];
        size_t length = 1, count = 0; /* at an odd place */
        source[0] = 'x';
        length += encode_wide(0xfeff, is_big, source + length);
        size_t from = length;
        for (unsigned i = 0; i < 30; i++) {
            uint32_t code = i < 10 ? 0x4e00 + i : i == 10 ? 0x1f600 : i < 20 ? 'a' + i : 0x3042 + i;
            length += encode_wide(code, is_big, source + length);
            count += encode_utf8(code, wanted + count);
        }
        wanted[count] = '\0';
        expect(source, length, is_big ? WEIR__UTF16BE : WEIR__UTF16LE, wanted, from, length);
    }
}

/* Two bytes look like a mark, or a byte is missing: what is text in the other order is not taken
 * for signs of somewhere else, although there is text of this order behind it. */
TEST(utf16_behind_a_false_mark_is_found)
{
    for (unsigned is_big = 0; is_big < 2; is_big++) {
        char source[512] = "";
        bool is_found = false;
        size_t length = encode_wide(0xfeff, is_big, source);
        source[length++] = 'x';
        length += widen("the password=hunter2! is in here", is_big, source + length);
        source[length++] = 'y';
        length += widen("and this is some other text", is_big, source + length);
        decode(source, length);
        for (size_t i = 0; i < runs_count; i++)
            is_found |= memmem(weir__buffer_text(&out) + runs[i].out_from,
                               runs[i].out_until - runs[i].out_from, "hunter2", 7) != NULL;
        CHECK(is_found);
    }
}

/* A mark in the middle of what is looked at as a whole has nothing to say about what is before it.
 */
TEST(utf16_before_a_mark_is_found_at_every_offset)
{
    for (unsigned kind = 0; kind < 4; kind++)
        for (size_t offset = 0; offset < 64; offset++) {
            char source[512] = "";
            bool is_big = kind & 1, is_marked_big = kind >> 1;
            memset(source, '\x7f', offset);
            size_t length = offset + widen("password=hunter2!", is_big, source + offset);
            length += encode_wide(0xfeff, is_marked_big, source + length);
            length += widen("and this is some other text", is_marked_big, source + length);
            decode(source, length);
            CHECK(find(is_big ? WEIR__UTF16BE : WEIR__UTF16LE, "password=hunter2!", 17));
            CHECK(find(is_marked_big ? WEIR__UTF16BE : WEIR__UTF16LE, "some other text", 15));
        }
}

TEST(a_kind_that_is_not_asked_for_is_not_found)
{
    char source[512];
    size_t length = (size_t)snprintf(
        source, sizeof(source),
        "cGFzc3dvcmQ9aHVudGVyMg== 70617373776f72643d68756e746572322121 %%70%%61%%73sword=hunter2\n"
        "\\u0070\\u0061\\u0073\\u0073word\n"
        "(70 61 73 73 77 6f 72 64 3D 68 75 6e)\n"
        "(112, 97,115, 115, 119, 111, 114, 100, 61, 104, 117, 110)\n");
    length += widen("password=hunter2!", false, source + length);
    length += (size_t)snprintf(source + length, sizeof(source) - length, "\xee\xee");
    length += widen("password=hunter2!", true, source + length);
    source[length++] = '\xee';
    for (unsigned is_big = 0; is_big < 2; is_big++) {
        source[length++] = '\xee';
        for (const char *p = "password=hunter2!"; *p; p++) {
            memset(source + length, 0, 4);
            source[length + 3 * (size_t)is_big] = *p;
            length += 4;
        }
        source[length++] = '\xee';
    }
    for (unsigned encoding = 0; encoding < WEIR__ENCODINGS; encoding++) {
        decode_with(source, length, 1u << encoding, OUT_MAX);
        for (size_t i = 0; i < runs_count; i++)
            CHECK_EQ(runs[i].encoding, encoding);
        CHECK(runs_count > 0);
        decode_with(source, length, DECODE_ALL & ~(1u << encoding), OUT_MAX);
        for (size_t i = 0; i < runs_count; i++)
            CHECK(runs[i].encoding != encoding);
    }
}

/* Limits. */

TEST(what_does_not_fit_is_left_out_whole_and_told)
{
    static const char source[] =
        "cGFzc3dvcmQ9aHVudGVyMg== / c2Vjb25kIHBhc3N3b3JkIQ== / dGhpcmQgcGFzc3dvcmQhIQ==";
    for (size_t room = 1; room < 60; room++) {
        decode_with(source, sizeof(source) - 1, DECODE_ALL, room);
        CHECK_EQ(runs_count, room / 17 < 3 ? room / 17 : 3);
        CHECK_EQ(is_truncated, runs_count < 3);
        CHECK_EQ(weir__buffer_length(&out), runs_count * 17);
    }
    struct weir__decode_options options = {.runs_max = 2, .encodings = DECODE_ALL};
    weir__buffer_truncate(&out, 0);
    CHECK_EQ(weir__decode(source, sizeof(source) - 1, &options, &out, runs, &is_truncated), 2);
    CHECK(is_truncated);
    decode("", 0);
    CHECK(runs_count == 0 && !is_truncated);
}

TEST(output_is_appended)
{
    struct weir__decode_options options = {.runs_max = 4, .encodings = DECODE_ALL};
    weir__buffer_truncate(&out, 0);
    CHECK_EQ(weir__buffer_puts(&out, "kept"), 0);
    CHECK_EQ(weir__decode("cGFzc3dvcmQ9aHVudGVyMg==", 24, &options, &out, runs, &is_truncated), 1);
    CHECK_EQ(runs[0].out_from, 4);
    CHECK(memcmp(weir__buffer_text(&out), "keptpassword=hunter2\0", 21) == 0);
}

/* Properties, from a seed. */

/* Any part of a run stands where the header says: the source there decodes to it, and with one
 * byte less on either side it does not hold it. */
static void check_place(const char *source, const struct weir__decoded *run, size_t from,
                        size_t until)
{
    static char again[4096];
    size_t start, end, count = 0;
    const char *wanted = bytes_of(run) + from;
    weir__decoded_place(source, run, from, until, &start, &end);
    if (run->from > start || start > end || end > run->until)
        tap_fail(__FILE__, __LINE__, "%s: [%zu, %zu) of [%zu, %zu) is at [%zu, %zu)",
                 weir__encoding_name(run->encoding), from, until, run->from, run->until, start,
                 end);
    if (from == until)
        return;
    if (run->encoding == WEIR__BASE64) {
        count = reference_base64(source, start, end, (unsigned)(from % 3), again);
        CHECK(base64_index(source[start]) >= 0 && base64_index(source[end - 1]) >= 0);
    } else if (run->encoding == WEIR__HEX_LIST || run->encoding == WEIR__DECIMALS) {
        CHECK(source[start] >= '0' && weir__decode_is(source[end - 1], WEIR__IS_HEX));
        for (size_t at = start, n; at < end; count += n)
            at += weir__decode_unit(run->encoding, source, at, end, again + count, &n);
    } else if (run->encoding == WEIR__HEX) {
        CHECK(weir__decode_is(source[start], WEIR__IS_HEX) &&
              weir__decode_is(source[end - 1], WEIR__IS_HEX));
        for (size_t i = start; i < end; i += 2) {
            while (!weir__decode_is(source[i], WEIR__IS_HEX))
                i++; /* no break has a digit in it */
            again[count++] = (char)strtol((char[]){source[i], source[i + 1], 0}, NULL, 16);
        }
    } else {
        /* The first and the last character may be there as a whole. */
        for (size_t at = start, n; at < end; count += n)
            at += weir__decode_unit(run->encoding, source, at, end, again + count, &n);
        CHECK(count >= until - from && count <= until - from + 6);
        bool is_there = false;
        for (size_t lead = 0; lead < 4 && lead + (until - from) <= count; lead++)
            is_there |= memcmp(again + lead, wanted, until - from) == 0;
        CHECK(is_there);
        return;
    }
    CHECK_EQ(count, until - from);
    CHECK(memcmp(again, wanted, count) == 0);
}

static void check_places(const char *source, const struct weir__decoded *run)
{
    size_t bytes = run->out_until - run->out_from;
    check_place(source, run, 0, bytes < 1000 ? bytes : 1000);
    for (unsigned i = 0; i < 8; i++) {
        size_t from = random_below((uint32_t)bytes);
        size_t until = from + random_below((uint32_t)(bytes - from < 900 ? bytes - from : 900)) + 1;
        check_place(source, run, from, until);
    }
    check_place(source, run, bytes, bytes);
}

static void encode_escape(unsigned byte, char *text, size_t size)
{
    switch (random_below(5)) {
    case 0:
        snprintf(text, size, "\\u%04x", byte);
        break;
    case 1:
        snprintf(text, size, "\\u{%x}", byte);
        break;
    case 2:
        snprintf(text, size, "\\x%02X", byte);
        break;
    case 3:
        snprintf(text, size, "&#%u;", byte);
        break;
    default:
        snprintf(text, size, "&#x%x;", byte);
    }
}

static size_t encode_one(enum weir__encoding encoding, const char *plain, size_t length, char *to)
{
    size_t count = 0;
    bool is_url = random_below(2), is_padded = random_below(2);
    if (encoding == WEIR__BASE64)
        return encode_base64(plain, length, is_url ? base64_url : base64_standard, is_padded, to);
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = (uint8_t)plain[i];
        char text[16];
        if (encoding == WEIR__HEX_LIST)
            snprintf(text, sizeof(text), is_url ? "%s%02x" : "%s0x%02X", i > 0 ? ", " : "",
                     (unsigned)byte);
        else if (encoding == WEIR__DECIMALS)
            snprintf(text, sizeof(text), is_url ? "%s%u" : "%s %u", i > 0 ? "," : "",
                     (unsigned)byte);
        else if (encoding == WEIR__HEX)
            snprintf(text, sizeof(text), is_url ? "%02x" : "%02X", (unsigned)byte);
        else if (encoding == WEIR__PERCENT)
            snprintf(text, sizeof(text), "%%%02x", byte);
        else
            encode_escape(byte, text, sizeof(text));
        if (encoding == WEIR__UTF32LE || encoding == WEIR__UTF32BE) {
            memset(to + count, 0, 4);
            to[count + (encoding == WEIR__UTF32BE ? 3 : 0)] = plain[i];
            count += 4;
        } else if (encoding == WEIR__UTF16LE || encoding == WEIR__UTF16BE) {
            count += encode_wide(byte, encoding == WEIR__UTF16BE, to + count);
        } else {
            memcpy(to + count, text, strlen(text));
            count += strlen(text);
        }
    }
    return count;
}

TEST(hexadecimal_goes_on_in_lines_of_one_width)
{
    static const char *const breaks[] = {"\n",       "\r\n",    "\n    ",      "\\n", "\n# ",
                                         "\"\n  \"", "' +\n '", " \n",         "\r",  "\n+ ",
                                         "\n-- ",    "\n; ",    "\";\nx += \""};
    static const char plain[] = "some text before it, and then the password=hunter2, as said; more";
    static const size_t widths[] = {32, 40, 60, 64, 80};
    char source[512];
    for (size_t b = 0; b < sizeof(breaks) / sizeof(breaks[0]); b++)
        for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
            size_t length = 0;
            for (size_t at = 0; at < sizeof(plain) - 1; at++)
                length += (size_t)snprintf(source + length, sizeof(source) - length, "%s%02x",
                                           at > 0 && at * 2 % widths[w] == 0 ? breaks[b] : "",
                                           (unsigned)(uint8_t)plain[at]);
            size_t until = length;
            length += (size_t)snprintf(source + length, sizeof(source) - length, "\nnext\n");
            expect(source, length, WEIR__HEX, plain, 0, until);
            for (size_t i = 0; i < runs_count; i++)
                if (runs[i].encoding == WEIR__HEX)
                    check_places(source, &runs[i]);
        }
    /* A list of digests has no text in it, and its one line of text is found. */
    static const char digest[] = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    snprintf(source, sizeof(source), "%s\n%s\n70617373776f72643d68756e7465723221212121\n%s\n",
             digest, digest, digest);
    decode(source, strlen(source));
    CHECK(find(WEIR__HEX, "password=hunter2!!!!", 20));
}

TEST(what_was_encoded_is_decoded_to_the_same_bytes)
{
    static char plain[5000], source[50000];
    seed_from_environment();
    for (unsigned round = 0; round < ROUNDS; round++) {
        enum weir__encoding encoding = (enum weir__encoding)(round % WEIR__ENCODINGS);
        size_t length = 16 + random_below(round % 10 ? 100 : 4900);
        for (size_t i = 0; i < length; i++)
            plain[i] = (char)(' ' + random_below(95));
        size_t before = random_below(80);
        bool is_wide = encoding >= WEIR__UTF16LE && encoding <= WEIR__UTF32BE;
        /* Beside UTF-16, what is half of a unit in either order would belong to it. */
        memset(source, is_wide ? 0x80 : '\n', before);
        size_t count = encode_one(encoding, plain, length, source + before);
        source[before + count] = is_wide ? '\x80' : '\n';
        decode(source, before + count + 1);
        const struct weir__decoded *run = find(encoding, plain, length);
        if (!run)
            tap_fail(__FILE__, __LINE__, "round %u: %s of %zu bytes", round,
                     weir__encoding_name(encoding), length);
        CHECK(run->from == before || (encoding == WEIR__DECIMALS && run->from == before + 1));
        check_places(source, run);
    }
}

/* In the other order the halves of a sign belong to the letters beside it, and may join them. */
TEST(wide_text_with_rare_signs_in_it_is_whole)
{
    static const uint32_t signs[] = {0x2009, 0x200a, 0x200d, 0x2000, 0x2020, 0x202f,
                                     0x2060, 0x2072, 0x0a09, 0x0d0a, 0x0262, 0x0341,
                                     0x0361, 0x4e0a, 0x0a4e, 0x0920};
    static const char *const tokens[] = {"Glpat-DlF7EX5BzvPSv7NbWp77",
                                         "ghp_slOuaLr4Ms1XfjcVP4zb4Ha", "AKIADO57MRWEEM4CXL5A",
                                         "thp_slOuaLr4Ms1XfjcVP4zb4Ha"};
    static char source[2000];
    for (size_t i = 0; i < 8 * sizeof(signs) / sizeof(signs[0]); i++) {
        bool is_big = i & 1, is_quad = i & 2, is_last = i & 4;
        size_t length = 0;
        for (size_t t = 0; t < 4; t++) {
            for (const char *p = tokens[t];; p++) {
                bool is_sign = *p == '\0';
                uint32_t code = is_sign ? signs[i / 8] : (uint8_t)*p;
                if (is_sign && t == 3 && !is_last)
                    break;
                memset(source + length, 0, 4); /* of UTF-32 the rest */
                length += is_quad && is_big ? 2 : 0;
                length += encode_wide(code, is_big, source + length);
                length += is_quad && !is_big ? 2 : 0;
                if (is_sign)
                    break;
            }
        }
        decode(source, length);
        for (size_t t = 0; t < 4; t++) {
            enum weir__encoding encoding = is_quad  ? is_big ? WEIR__UTF32BE : WEIR__UTF32LE
                                           : is_big ? WEIR__UTF16BE
                                                    : WEIR__UTF16LE;
            if (!find(encoding, tokens[t], strlen(tokens[t])))
                tap_fail(__FILE__, __LINE__, "%s, U+%04x: no '%s'", weir__encoding_name(encoding),
                         (unsigned)signs[i / 8], tokens[t]);
        }
    }
}

TEST(any_bytes_keep_the_promises)
{
    static const char *const parts[] = {"%",  "%41", "\\u0041", "\\x", "&#65;", "QUJDREVG", "==",
                                        "\n", "a",   "-",       "/",   "3D",    "\xff\xfe"};
    static char source[6000];
    seed_from_environment();
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t length = 0, most = 1 + random_below(5000);
        while (length < most) {
            unsigned choice = random_below(20);
            if (choice < 13 && length + 8 < most) {
                size_t again = 1 + random_below(round % 2 ? 4 : 40);
                for (; again > 0 && length + 8 < most; again--) {
                    memcpy(source + length, parts[choice], strlen(parts[choice]));
                    length += strlen(parts[choice]);
                }
            } else {
                source[length++] = (char)random_below(choice % 2 ? 256 : 128);
            }
            if (choice == 19 && length + 80 < most)
                length += widen("some wide text, long enough", random_below(2), source + length);
        }
        char *exact = malloc(length);
        CHECK(exact);
        memcpy(exact, source, length);
        decode(exact, length);
        size_t ends[WEIR__ENCODINGS] = {0}, out_end = 0;
        for (size_t i = 0; i < runs_count; i++) {
            CHECK(runs[i].from < runs[i].until && runs[i].until <= length);
            bool is_escaped =
                runs[i].encoding == WEIR__PERCENT || runs[i].encoding == WEIR__ESCAPES;
            /* Several readings of lines. */
            bool is_in_lines = runs[i].encoding == WEIR__BASE64 || runs[i].encoding == WEIR__HEX;
            CHECK(runs[i].from >= ends[runs[i].encoding] || is_escaped);
            ends[runs[i].encoding] = is_in_lines ? runs[i].from : runs[i].until;
            CHECK_EQ(runs[i].out_from, out_end);
            CHECK_EQ(bytes_of(&runs[i])[runs[i].out_until - runs[i].out_from], '\0');
            out_end = runs[i].out_until + 1;
            check_places(exact, &runs[i]);
        }
        CHECK_EQ(weir__buffer_length(&out), out_end);
        free(exact);
    }
}

/* A time limit would be no test; these end a hang: quadratic work on 4 MB takes hours. */
TEST(hard_inputs_of_4_mb_are_linear)
{
    static const char *const units[] = {"=",
                                        "%",
                                        "%4",
                                        "%41",
                                        "\\u0041",
                                        "\\u",
                                        "&#",
                                        "A",
                                        "+-",
                                        "/_",
                                        "QUJD-+",
                                        "QUJD",
                                        "QUJD\n",
                                        "QUJDQUJDQUJDQUJD\n ",
                                        "QUJDQUJDQUJDQUJDQ\n",
                                        "4",
                                        "41",
                                        "a\0",
                                        "\0a",
                                        "\377\376a",
                                        "\xfe\xff",
                                        "\xff\xfe\xff",
                                        "\\x41 ",
                                        "eHh4/",
                                        "AAAA",
                                        "\0",
                                        "c29tZSB0ZXh0IGhlcmUhISE=\n",
                                        "\\\\",
                                        "1 ",
                                        "12, ",
                                        "0x41,",
                                        "a\0\0\0",
                                        "&amp;",
                                        "\" + \"",
                                        ("%41                                                  "
                                         "                      "),
                                        "\\u0041xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
    static const size_t lengths[] = {1, 1, 2, 3, 6, 3, 2, 1, 2,  2, 6, 4, 5, 18, 18, 1, 2,  2,
                                     2, 3, 2, 3, 5, 5, 4, 1, 25, 2, 2, 4, 5, 4,  5,  5, 75, 52};
    char *source = malloc(BIG);
    CHECK(source);
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        for (size_t i = 0; i < BIG; i++)
            source[i] = units[u][i % lengths[u]];
        decode(source, BIG);
        for (size_t i = 0; i < runs_count; i++)
            check_places(source, &runs[i]);
    }
    free(source);
}

TEST(one_run_of_4_mb_is_decoded_whole)
{
    size_t length = BIG / 4 * 3;
    char *plain = malloc(length), *source = malloc(BIG);
    CHECK(plain && source);
    seed_from_environment();
    for (size_t i = 0; i < length; i++)
        plain[i] = (char)(' ' + random_below(95));
    CHECK_EQ(encode_base64(plain, length, base64_standard, true, source), BIG);
    decode(source, BIG);
    CHECK(find(WEIR__BASE64, plain, length));
    CHECK_EQ(runs[0].until - runs[0].from, BIG);
    for (unsigned i = 0; i < 200; i++)
        check_places(source, &runs[0]);
    free(plain);
    free(source);
}

TAP_MAIN()
