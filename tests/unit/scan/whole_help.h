/* whole_help.h - texts that are made from others, for the test and the fuzzer of what is known of
 * them: rules that look far, the pieces that texts are made of, and edits that remember what was
 * copied.
 *
 * Ownership: a struct text is the caller's and holds copies.
 */
#ifndef WEIR_TESTS_SCAN_WHOLE_HELP_H
#define WEIR_TESTS_SCAN_WHOLE_HELP_H

#include <string.h>

#include "engine/whole.h"
#include "engine_help.h"

/* Besides those of engine_help.h: matches that are wide, are found by what they end with, look
 * behind or ahead, follow each other without a gap, are looked for as expressions, give way, and
 * lack a keyword. */
#define WHOLE_RULES                                                                                \
    HELP_ALLOW HELP_RULES                                                                          \
        "[[rules]]\nid = 'wide'\nregex = 'WIDE<[\\s\\S]{1,1500}?>WIDE'\n"                          \
        "[[rules]]\nid = 'behind'\nregex = '(?<=secret:)[a-z]{6,8}(?=;)'\n"                        \
        "[[rules]]\nid = 'chain'\nregex = 'ch[a-z]{4,9}'\n"                                        \
        "[[rules]]\nid = 'cut'\nregex = 'cut_[a-z_]+\\b'\nmax-width = 24\n"                        \
        "[[rules]]\nid = 'edge'\nregex = 'edge[0-9]{4}\\B'\n"                                      \
        "[[rules]]\nid = 'shadow'\nregex = 'q[a-z]{0,9}-KEY[a-z]{0,80}'\n"                         \
        "[[rules]]\nid = 'span'\nregex = 'sp_[a-z_ ]{1,400}_ps'\n"                                 \
        "[[rules]]\nid = 'late'\nregex = '<[a-f0-9]{170}-MARKEND'\n"                               \
        "[[rules]]\nid = 'letters'\nregex = '[xyz]{3}[0-9][xyz]{3}'\n"                             \
        "[[rules]]\nid = 'own'\nregex = 'pass=([a-f0-9]{12})'\n"                                   \
        "[[rules.allowlists]]\nstopwords = ['0000']\n"                                             \
        "[[rules]]\nid = 'yields'\nregex = '=([a-z0-9_]{9,20})\\b'\ngivesWay = true\n"             \
        "[[rules]]\nid = 'rare'\nregex = 'rr[0-9]{7}'\nkeywords = ['keyword-of-rr', 'gizmo']\n"

static const char *const whole_pieces[] = {
    "tok_abcdef0123456789",
    "tok_abcdef012345678",
    "ACME_= 1234ABCD",
    "acme",
    " = 00FF00FF ",
    "-----BEGIN X-----\n",
    "\n-----END X-----",
    "12Q34",
    "zz123456zz",
    "kw",
    "gizmo",
    "0123456789ab",
    "left-1234",
    "right-5678",
    "password=hunter2secret",
    "pass=0123456789ab",
    "pass=000056789abc",
    "\nkey: abcdefghij\n",
    "lng_0123456789abcdef0123456789abcdef0123",
    "GADGET",
    "0123456789abcdef0123456789abcdef01234567",
    "AB0123456789012345678901234567890123",
    "ABCD1234EFGH5678",
    "# weir:allow",
    "harmless",
    "WIDE<",
    ">WIDE",
    "secret:",
    "abcdefg;",
    "chchabcdchchefgh",
    "chch",
    "cut_cut_abc_def_ghi_jkl_mno",
    "xyz1xyz2zyx",
    "edgeedge1234x",
    "qa-KEYbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbqc-KEYdd",
    "s%70_",
    "_ps",
    "rr1234567",
    "keyword-of-rr",
    "dG9rX2FiY2RlZjAxMjM0NTY3ODkgaXMgdGhlIHRva2Vu",
    "dG9rX2FiY2RlZjAxMjM0NTY3ODkg",
    "aXMgdGhlIHRva2Vu",
    "dG9rX2FiY2RlZjAx\nMjM0NTY3ODkgaXMg\ndGhlIHRva2Vu\n",
    "746f6b5f61626364656630313233343536373839",
    "746f6b5f6162636465663031\n323334353637383920202020\n",
    "tok%5fabcdef0123456789",
    "tok\\u005fabcdef0123456789",
    "\\x74\\x6f\\x6b_abcdef0123456789",
    "0x74, 0x6f, 0x6b, 0x5f, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x30, 0x31, 0x32, 0x33, 0x34, "
    "0x35, 0x36, 0x37, 0x38, 0x39",
    "0x74, 0x6f, 0x6b, 0x5f, 0x61,\n          0x62, 0x63, 0x64, 0x65, 0x66,\n          0x30, 0x31, "
    "0x32, 0x33, 0x34, 0x35,\n           0x36, 0x37, 0x38, 0x39",
    "116 111 107 95 97 98 99 100 101 102 48 49 50 51 52 53 54 55 56 57",
    "ZEc5clgyRmlZMlJsWmpBeE1qTTBOVFkzT0RrZ2FYTWdkR2hsSUhSdmEyVnU=",
    "\" +\n    \"",
    "\\n",
    "%20",
    "&amp;",
    "=",
    "\n",
    "\n\n",
    " ",
    "\"",
    "\xc3\xa9",
    "some words in a line of plain text, as most are, without anything in it",
    "a_word_that_is_as_long_as_a_word_can_be_in_a_text_of_words_that_are_as_long_as_that_one_here",
    "    if (count > limit && !is_empty(list)) {\n        return next(list, count - 1);\n    }\n",
};
#define WHOLE_PIECES (sizeof(whole_pieces) / sizeof(whole_pieces[0]))

#define WHOLE_ROOM   (64u << 10)
#define WHOLE_COPIES 256u

struct text {
    char bytes[WHOLE_ROOM];
    size_t length;
    struct weir__copied copies[WHOLE_COPIES];
    size_t count;
};

static inline void text_clear(struct text *text)
{
    text->length = text->count = 0;
}

static inline void text_put(struct text *text, const char *bytes, size_t length)
{
    if (text->length + length > WHOLE_ROOM)
        return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

/* What is not in the other one is left out. */
static inline void text_copy(struct text *text, const struct text *from, size_t at, size_t length)
{
    at = at < from->length ? at : from->length;
    length = length < from->length - at ? length : from->length - at;
    if (length == 0 || text->count == WHOLE_COPIES || text->length + length > WHOLE_ROOM)
        return;
    text->copies[text->count++] =
        (struct weir__copied){(uint32_t)text->length, (uint32_t)at, (uint32_t)length};
    text_put(text, from->bytes + at, length);
}

/* Each byte with so many NULs before it, or behind it: UTF-16 and UTF-32. */
static inline void text_put_wide(struct text *text, const char *bytes, size_t length, size_t nuls,
                                 bool is_big)
{
    for (size_t i = 0; i < length; i++) {
        if (is_big)
            text_put(text, "\0\0\0", nuls);
        text_put(text, bytes + i, 1);
        if (!is_big)
            text_put(text, "\0\0\0", nuls);
    }
}

#endif
