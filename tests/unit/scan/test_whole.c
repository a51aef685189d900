/* test_whole.c - a text that was made from another has the findings of a full scan, however it was
 * made.
 *
 * Texts are made of pieces that the rules of whole_help.h (and the built-in ones) match, nearly
 * match, or do not, plain and encoded, and are changed again and again: bytes and pieces come, go,
 * move and are doubled. Each is scanned in full and by what is known of the one before; and small
 * ones with each change of one byte that there is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "decode_help.h"
#include "engine/rules_pack.h"
#include "engine_help.h"
#include "scanner_help.h"
#include "tap.h"
#include "whole_help.h"

static struct hits full, part;
static struct hits *taking;
static uint64_t state;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(taking, finding);
}

static unsigned below(size_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((state >> 33) % limit);
}

/* --- texts --- */

static struct text texts[2];

/* What may be between lines of one text, and what is nearly that. */
static const char *const gaps[] = {"\n",
                                   "\r\n",
                                   "\n  ",
                                   "\\n",
                                   "\\r\\n",
                                   "\\n\\\n",
                                   "\\\n",
                                   "&#10;",
                                   "&#13;\n",
                                   "&#xD;\n",
                                   "&#13;&#10;",
                                   "\n\n",
                                   "\r\n\r\n",
                                   "\n  \n  ",
                                   "\n# \n# ",
                                   "\n\n\n",
                                   " ",
                                   "\" +\n    \"",
                                   "' . '",
                                   "&#1;\n",
                                   "\\\\n\\n",
                                   "&#13;",
                                   "\n                                        "};
#define GAPS (sizeof(gaps) / sizeof(gaps[0]))

/* And what may stand behind the last one. */
static const char *const signs[] = {"", "-->", "-", "=", "==", ".", "\"", "_x", "/", ")\n", "\\n"};
#define SIGNS (sizeof(signs) / sizeof(signs[0]))

/* In lines, the last one perhaps shorter. */
static void put_lines(struct text *text, const char *bytes, size_t count, size_t width,
                      const char *gap)
{
    for (size_t at = 0; at < count; at += width) {
        text_put(text, bytes + at, count - at < width ? count - at : width);
        if (count - at > width)
            text_put(text, gap, strlen(gap));
    }
}

/* What joins two texts in one order of UTF-16 and is nothing in the other, and what parts them. */
static const struct {
    char bytes[9];
    size_t length;
} separators[] = {{"", 0},           {"\0", 1},
                  {"\0\0", 2},       {"\x20", 1},
                  {"\0\x20", 2},     {"\x20\0", 2},
                  {"\x13\x20", 2},   {"\0\x20\0\x20\0\x20\0\x20", 8},
                  {"\xff\xfe", 2},   {"\xfe\xff", 2},
                  {"\xff", 1},       {"\x01\x50", 2},
                  {"\0\0\x20\0", 4}, {"\0\0\0\x20\0\0\0", 7},
                  {"a", 1},          {"\x20\0\0", 3},
                  {"\x7f", 1},       {"\x13\x20\0\x20\0\x20\0", 7}};
#define SEPARATORS (sizeof(separators) / sizeof(separators[0]))

static void put_separator(struct text *text, unsigned number)
{
    text_put(text, separators[number].bytes, separators[number].length);
}

/* Wide texts one after the other. */
static void put_wides(struct text *text, const char *piece, size_t length)
{
    for (unsigned count = 1 + below(4); count > 0; count--) {
        size_t some = below(3) ? length : 1 + below(length);
        text_put_wide(text, piece, some, below(4) ? 1 : 3, below(2));
        for (unsigned times = below(3); times > 0; times--)
            put_separator(text, below(SEPARATORS));
    }
}

static void put_encoded(struct text *text, const char *piece, size_t length)
{
    char out[512];
    size_t count = 0;
    switch (below(6)) {
    case 5:
        put_wides(text, piece, length);
        return;
    case 0:
        text_put_wide(text, piece, length, 1, below(2));
        return;
    case 1:
        text_put_wide(text, piece, length, 3, below(2));
        return;
    case 2:
        text_put(text, "\xff\xfe", 2);
        text_put_wide(text, piece, length, 1, false);
        return;
    case 3:
        for (size_t i = 0; i < length && count + 5 < sizeof(out); i++)
            count += (size_t)snprintf(out + count, sizeof(out) - count, "%02x", (uint8_t)piece[i]);
        break;
    default:
        length = length < 300 ? length : 300;
        count =
            encode_base64(piece, length, below(2) ? base64_standard : base64_url, below(2), out);
    }
    /* In lines of any width. */
    size_t width = below(2) ? 8 + below(80) : sizeof(out);
    put_lines(text, out, count, width, below(2) ? "\n" : gaps[below(GAPS)]);
    const char *sign = signs[below(SIGNS)];
    text_put(text, sign, below(2) ? strlen(sign) : 0);
}

static void put_piece(struct text *text)
{
    const char *piece = whole_pieces[below(WHOLE_PIECES)];
    size_t length = strlen(piece);
    if (below(8) == 0) /* a part of it */
        length = 1 + below(length);
    if (below(16) == 0)
        put_encoded(text, piece, length);
    else
        text_put(text, piece, length);
    if (below(3) == 0)
        text_put(text, "\n", 1);
    if (below(20) == 0) /* far from the next */
        for (unsigned i = below(40); i > 0; i--)
            text_put(text, "word after word, ", 17);
}

static void make_first(struct text *text, unsigned count)
{
    text_clear(text);
    for (unsigned i = 0; i < count; i++)
        put_piece(text);
}

/* Another one: the same with a few changes. */
static void make_next(struct text *text, const struct text *from)
{
    text_clear(text);
    size_t at = 0;
    for (unsigned changes = 1 + below(4); changes > 0 && at < from->length; changes--) {
        size_t kept = below(from->length - at + 1);
        text_copy(text, from, at, kept);
        at += kept;
        switch (below(6)) {
        case 0: /* goes */
            at += below(below(2) ? 8 : 200);
            break;
        case 1: /* is replaced */
            at += below(40);
            put_piece(text);
            break;
        case 2: /* from elsewhere */
            text_copy(text, from, below(from->length), 1 + below(700));
            break;
        case 3: /* a byte */
            text_put(text, &"aZ0= \n\"%_-"[below(10)], 1);
            at += below(2);
            break;
        default: /* comes */
            for (unsigned i = below(4) + 1; i > 0; i--)
                put_piece(text);
        }
        at = at < from->length ? at : from->length;
    }
    if (below(4) > 0)
        text_copy(text, from, at, from->length - at);
}

/* --- both ways --- */

static const struct weir__object object = {.path = "a", .decode_depth = 3};
static unsigned long in_part;

static void scan_text(const struct text *text, const struct weir__trace *base,
                      struct weir__trace *trace)
{
    struct weir__edit edit = {base, text->copies, text->count};
    struct weir__text whole = {
        .bytes = text->bytes, .length = text->length, .edit = base ? &edit : NULL, .trace = trace};
    taking = &part;
    part.count = 0;
    part.problem = NULL;
    part.bytes = text->bytes;
    part.length = text->length;
    hits_find_lines(&part);
    CHECK_EQ(weir__scanner_text(scanner, &object, &whole, &part.result), 0);
    if (part.problem)
        tap_fail(__FILE__, __LINE__, "%s", part.problem);
    CHECK_EQ(part.result.findings, part.count);
    CHECK_EQ(part.result.bytes, text->length);
    in_part += part.result.is_in_part;
    hits_sort(&part);
}

static void show_difference(void)
{
    for (size_t i = 0; i < full.count || i < part.count; i++) {
        const struct hit *a = i < full.count ? &full.items[i] : NULL,
                         *b = i < part.count ? &part.items[i] : NULL;
        printf("# %s at %llu (%zu), %s at %llu (%zu)\n", a ? a->rule->id : "-",
               a ? (unsigned long long)a->place.offset : 0, a ? a->encodings_count : 0,
               b ? b->rule->id : "-", b ? (unsigned long long)b->place.offset : 0,
               b ? b->encodings_count : 0);
    }
}

static bool check_same(const struct text *text, uint64_t seed, unsigned step)
{
    taking = &full;
    CHECK_EQ(hits_scan(&full, scanner, &object, 0, text->bytes, text->length, NULL, NULL), 0);
    hits_sort(&full);
    if (hits_are_same(&full, &part))
        return true;
    show_difference();
    tap_fail(__FILE__, __LINE__,
             "seed %llu, step %u, %zu bytes: %zu findings in full and not the same %zu",
             (unsigned long long)seed, step, text->length, full.count, part.count);
    return false;
}

/* Whether there is any, by the same trace; what that leaves is not asked for. */
static void check_any(const struct text *text, const struct weir__trace *base)
{
    struct weir__trace other;
    struct weir__edit edit = {base, text->copies, text->count};
    struct weir__text whole = {.bytes = text->bytes,
                               .length = text->length,
                               .edit = &edit,
                               .trace = &other,
                               .is_any_enough = true};
    struct weir__scan_result result;
    size_t before = part.count;
    weir__trace_init(&other);
    CHECK_EQ(weir__scanner_text(scanner, &object, &whole, &result), 0);
    CHECK_EQ(part.count, before);
    CHECK_EQ(result.findings, part.count > 0);
    weir__trace_fini(&other);
}

static unsigned long found; /* in all texts of a test */

static void check_chains(unsigned chains, unsigned steps, unsigned size)
{
    struct weir__trace traces[2];
    weir__trace_init(&traces[0]);
    weir__trace_init(&traces[1]);
    in_part = found = 0;
    for (unsigned chain = 0; chain < chains; chain++) {
        uint64_t seed = state = 1000 * size + chain;
        make_first(&texts[0], 1 + below(size));
        scan_text(&texts[0], NULL, &traces[0]);
        bool is_same = check_same(&texts[0], seed, 0);
        for (unsigned step = 1; step <= steps && is_same; step++) {
            struct text *from = &texts[(step - 1) % 2], *to = &texts[step % 2];
            make_next(to, from);
            scan_text(to, &traces[(step - 1) % 2], &traces[step % 2]);
            is_same = check_same(to, seed, step);
            check_any(to, &traces[(step - 1) % 2]);
            found += full.count;
        }
    }
    weir__trace_fini(&traces[0]);
    weir__trace_fini(&traces[1]);
}

/* As many as always, or with WEIR_LONG=1 ten times. */
static unsigned times(void)
{
    return getenv("WEIR_LONG") ? 10 : 1;
}

TEST(small_texts_that_are_changed)
{
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    check_chains(400 * times(), 30, 12);
    printf("# %lu in part, %lu found\n", in_part, found);
    CHECK(in_part > 9000 && found > 9000);
    help_stop();
}

TEST(larger_texts_that_are_changed)
{
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    check_chains(50 * times(), 40, 300);
    printf("# %lu in part, %lu found\n", in_part, found);
    CHECK(in_part > 1000 && found > 40000);
    help_stop();
}

/* The examples of the built-in rules, in what stands between them. */
TEST(texts_with_secrets_of_all_rules)
{
    struct weir__trace traces[2];
    struct weir__rules_error error = {.text = ""};
    struct weir__rules *written = NULL;
    size_t length;
    const char *text = weir__rules_builtin_text(&length);
    help_start(text, length, NULL, take);
    CHECK_EQ(weir__rules_load(&written, "rules", text, length, NULL, &error), 0);
    weir__trace_init(&traces[0]);
    weir__trace_init(&traces[1]);
    in_part = found = 0;
    state = 7;
    text_clear(&texts[0]);
    text_put(&texts[0], "first\n", 6);
    scan_text(&texts[0], NULL, &traces[0]);
    for (unsigned step = 1; step <= 1200 * times(); step++) {
        const struct text *from = &texts[(step - 1) % 2];
        struct text *to = &texts[step % 2];
        const struct weir__rule *rule = &written->rules[below(written->rules_count)];
        size_t at = below(from->length + 1), gone = from->length < 10000 ? 0 : below(6000);
        text_clear(to);
        text_copy(to, from, 0, at);
        if (rule->examples.count > 0) {
            const char *example = rule->examples.items[below(rule->examples.count)];
            text_put(to, example, strlen(example));
            text_put(to, "\n", below(2));
        }
        put_piece(to);
        text_copy(to, from, at + gone, from->length);
        scan_text(to, &traces[(step - 1) % 2], &traces[step % 2]);
        if (!check_same(to, 7, step))
            break;
        found += full.count;
    }
    printf("# %lu in part, %lu found\n", in_part, found);
    CHECK(in_part > 800 && found > 50000);
    weir__trace_fini(&traces[0]);
    weir__trace_fini(&traces[1]);
    weir__rules_free(written);
    help_stop();
}

/* --- all changes of one byte --- */

static const char all_kinds[] =
    "x tok_abcdef0123456789 12Q34\nACME_= 1234ABCD # weir:allow\nleft-1234\nkey: abcdefghij\n"
    "pass=0123456789ab right-5678 chchabcdchchefgh\n"
    "gizmo = \"0123456789ab\" rr1234567 edgeedge1234xyz xyz1xyz2zyx secret:abcdefg;\n"
    "dG9rX2FiY2RlZjAxMjM0NTY3ODkgaXMgdGhlIHRva2Vu\n"
    "dG9rX2FiY2RlZjAx\nMjM0NTY3ODkgaXMg\ndGhlIHRva2Vu\n"
    "746f6b5f61626364656630313233343536373839\n"
    "0x74, 0x6f, 0x6b, 0x5f, 0x61,\n          0x62, 0x63, 0x64, 0x65, 0x66,\n          0x30, 0x31, "
    "0x32, 0x33, 0x34, 0x35,\n           0x36, 0x37, 0x38, 0x39\n"
    "tok%5fabcdef0123456789 tok\\u005fabcdef0123456789\n"
    "GADGET is 0123456789abcdef0123456789abcdef01234567 cut_cut_abc_def_ghi_jkl_mno\n"
    "ZEc5clgyRmlZMlJsWmpBeE1qTTBOVFkzT0RrZ2FYTWdkR2hsSUhSdmEyVnU=\n"
    "qa-KEYbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbqc-KEYdd\n"
    "WIDE< and >WIDE AB0123456789012345678901234567890123";

/* Of the first text: at each place one byte goes, is another one, or comes; or so many go. False:
 * there is a difference. */
static bool check_every_change(const char *bytes, size_t count, size_t gone_most)
{
    struct weir__trace first, second;
    struct text *from = &texts[0], *to = &texts[1];
    bool is_same = true;
    weir__trace_init(&first);
    weir__trace_init(&second);
    scan_text(from, NULL, &first);
    CHECK(check_same(from, 0, 0));
    for (size_t at = 0; at <= from->length && is_same; at++)
        for (size_t kind = 0; kind < gone_most + 2 * count && is_same; kind++) {
            size_t gone = kind < gone_most ? kind + 1 : kind < gone_most + count;
            text_clear(to);
            text_copy(to, from, 0, at);
            if (kind >= gone_most)
                text_put(to, &bytes[(kind - gone_most) % count], 1);
            text_copy(to, from, at + gone, from->length);
            scan_text(to, &first, &second);
            is_same = check_same(to, at, (unsigned)kind);
            found += full.count;
        }
    weir__trace_fini(&first);
    weir__trace_fini(&second);
    return is_same;
}

TEST(every_change_of_a_byte)
{
    static const char bytes[] = {'a', 'Z', '0', '=', ' ', '\n', '%', '_', '\\', '\0', '\xff'};
    struct text *from = &texts[0];
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    in_part = found = 0;
    text_clear(from);
    text_put(from, all_kinds, sizeof(all_kinds) - 1);
    for (unsigned i = 0; i < 8; i++) /* UTF-16, of both orders */
        text_put_wide(from, "tok_abcdef0123456789 and so on", 30, 1, i % 2);
    CHECK(check_every_change(bytes, sizeof(bytes), 1));
    printf("# %lu in part, %lu found\n", in_part, found);
    CHECK(in_part > 20 * from->length && found > 20 * in_part);
    help_stop();
}

static void put_times(struct text *text, const char *bytes, size_t length, unsigned times)
{
    for (; times > 0; times--)
        text_put(text, bytes, length);
}

/* A string, and another one that is joined to it if a byte goes, behind many blanks. */
/* What a rule near stretches is found by may stand as far behind a change as its matches are wide.
 */
TEST(every_change_before_a_hit)
{
    static const char bytes[] = {'<', 'a', ' '};
    struct text *from = &texts[0];
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    found = 0;
    text_clear(from);
    put_times(from, "some words ", 11, 40);
    text_put(from, "(", 1);
    put_times(from, "0123456789abcdef9", 17, 10);
    text_put(from, "-MARKEND\n", 9);
    put_times(from, "some words ", 11, 40);
    CHECK(check_every_change(bytes, sizeof(bytes), 1));
    CHECK(found >= 1);
    help_stop();
}

/* Lines of base64 and of digits, with every gap: changes in the gap, in an empty line, in the line
 * behind and the sign behind that decide what is one text. */
TEST(every_change_of_lines_with_gaps)
{
    static const char bytes[] = {'a', '/', '-', '\n', '\\', '&'};
    static const char plain[] = "so many words until it comes, tok_abcdef0123456789 is the one; "
                                "and some words behind it";
    static const size_t widths[] = {24, 44, 60, 100};
    char out[2][400];
    size_t counts[2] = {encode_base64(plain, sizeof(plain) - 1, base64_standard, false, out[0])};
    for (size_t i = 0; i + 1 < sizeof(plain); i++)
        counts[1] += (size_t)snprintf(out[1] + counts[1], 3, "%02x", (uint8_t)plain[i]);
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    in_part = found = 0;
    for (unsigned i = 0; i < GAPS * times(); i++) {
        struct text *from = &texts[0];
        state = i;
        text_clear(from);
        text_put(from, "text: ", 6);
        for (unsigned kind = 0; kind < 2; kind++) {
            const char *sign = signs[below(SIGNS)];
            put_lines(from, out[kind], counts[kind], widths[below(4)], gaps[i % GAPS]);
            text_put(from, sign, strlen(sign));
            text_put(from, gaps[i % GAPS], below(3) ? strlen(gaps[i % GAPS]) : 0);
            text_put(from, &" .\n"[below(3)], 1);
        }
        if (!check_every_change(bytes, sizeof(bytes), 3)) {
            tap_fail(__FILE__, __LINE__, "gap %u, state %u", i % (unsigned)GAPS, i);
            break;
        }
    }
    printf("# %lu in part, %lu found\n", in_part, found);
    CHECK(in_part > 50000 && found > in_part);
    help_stop();
}

/* Wide texts, with every separator between them, and what is wide in one order alone. */
TEST(every_change_of_wide_texts_with_separators)
{
    static const char bytes[] = {'\0', ' ', 'a', '\xff', '\xfe'};
    static const char plain[] = "it is tok_abcdef0123456789 ";
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    in_part = found = 0;
    for (unsigned i = 0; i < 2 * SEPARATORS * times(); i++) {
        struct text *from = &texts[0];
        state = i;
        text_clear(from);
        for (unsigned k = 0; k < 4; k++) {
            text_put_wide(from, plain, sizeof(plain) - 1 - below(3), i % 2 && below(2) ? 3 : 1,
                          below(2));
            put_separator(from, i / 2 % SEPARATORS);
            put_separator(from, below(3) ? 0 : below(SEPARATORS));
        }
        if (!check_every_change(bytes, sizeof(bytes), 2)) {
            tap_fail(__FILE__, __LINE__, "separator %u, state %u", i / 2 % (unsigned)SEPARATORS, i);
            break;
        }
    }
    printf("# %lu in part, %lu found\n", in_part, found);
    CHECK(in_part > 50000 && found > in_part);
    help_stop();
}

/* Texts in which nothing is found until a byte changes that is far from what is found then: it
 * decided what was one text. */

static void put_base64(struct text *text, const char *bytes, size_t length, const char *alphabet)
{
    char out[1024];
    text_put(text, out, encode_base64(bytes, length, alphabet, false, out));
}

static void make_joined(struct text *text)
{
    text_put(text, "\"", 1);
    put_base64(text, "words and words and, and WIDE< and so on", 39, base64_standard);
    text_put(text, "\"", 1);
    put_times(text, " ", 1, 200);
    text_put(text, "x\"", 2);
    put_base64(text, "some >WIDE and other words, and as many.", 39, base64_standard);
    text_put(text, "\"\n", 2);
}

/* Two alphabets: what is behind the first text has one that is not taken for text while that goes
 * so far. */
static void make_alphabets(struct text *text)
{
    text_put(text, "\n", 1);
    put_base64(text, "twelve bytes", 12, base64_standard);
    put_times(text, "////", 4, 50);
    put_base64(text, "WIDE<?abcdef\xff\xff\xff>WIDE\xff\xff\xff\xff", 24, base64_url);
    text_put(text, "\n", 1);
}

/* The same in UTF-16, a byte further on. */
static void make_units(struct text *text)
{
    text_put(text, "\x7f\x7f\x7f\x7f", 4);
    text_put_wide(text, "and more", 8, 1, false);
    put_times(text, "\x31\x04", 2, 80);
    text_put(text, "\x13\x20\0", 3);
    text_put_wide(text, " chabcd", 7, 1, false);
    put_times(text, "\x31\x04", 2, 10);
    text_put(text, "\x7f\x7f\x7f\x7f", 4);
}

/* And in UTF-32, two bytes further on. */
static void make_quads(struct text *text)
{
    text_put(text, "\x7f\x7f\x7f\x7f\x7f", 5);
    text_put_wide(text, "and words", 9, 3, true);
    put_times(text, "\0\0\x04\x31", 4, 40);
    put_times(text, "\0\0\x20\0", 4, 6);
    text_put(text, "\0\0", 2);
    text_put_wide(text, "chabcd", 6, 3, false);
    put_times(text, "\x31\x04\0\0", 4, 10);
    text_put(text, "\x7f\x7f\x7f\x7f", 4);
}

TEST(changes_that_are_far_from_what_they_change)
{
    static void (*const makers[])(struct text *) = {make_joined, make_alphabets, make_units,
                                                    make_quads};
    static const char bytes[] = {'\0', '/', '\xff'};
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    for (unsigned i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        in_part = found = 0;
        text_clear(&texts[0]);
        makers[i](&texts[0]);
        CHECK(check_every_change(bytes, sizeof(bytes), 1));
        printf("# %lu in part, %lu found\n", in_part, found);
        CHECK(in_part > 3 * texts[0].length && found > 0 && found < in_part);
    }
    help_stop();
}

/* What is new reaches back, farther than is looked at around it, to what was a text before: where
 * that ended still counts, since two alphabets are not one. */
TEST(what_is_new_meets_what_was_there)
{
    struct weir__trace first, second;
    struct text *from = &texts[0], *to = &texts[1];
    bool is_same = true;
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    weir__trace_init(&first);
    weir__trace_init(&second);
    in_part = 0;
    text_clear(from);
    put_base64(from, "some words, and as many words", 30, base64_standard);
    text_put(from, "/+/+", 4);
    put_base64(from, "words and words and WIDE< and", 30, base64_standard);
    put_times(from, "-___", 4, 200);
    scan_text(from, NULL, &first);
    CHECK(check_same(from, 0, 0) && full.count == 0);
    for (size_t at = 0; at <= from->length && is_same; at++) {
        text_clear(to);
        text_copy(to, from, 0, at);
        put_base64(to, "some >WIDE and some words, and so on", 36, base64_url);
        text_copy(to, from, at, from->length);
        scan_text(to, &first, &second);
        is_same = check_same(to, at, 0);
    }
    CHECK(in_part > 800);
    weir__trace_fini(&first);
    weir__trace_fini(&second);
    help_stop();
}

/* What is beside an escape is decoded with it, but for a word that is too long: whether it is may
 * be decided a thousand bytes away. */
TEST(words_that_are_cut)
{
    static char word[2000];
    struct weir__trace first, second;
    struct text *from = &texts[0], *to = &texts[1];
    unsigned with = 0, without = 0;
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    weir__trace_init(&first);
    weir__trace_init(&second);
    in_part = 0;
    memset(word, 'w', sizeof(word));
    for (unsigned is_behind = 0; is_behind < 2; is_behind++) {
        text_clear(from);
        text_put(from, "\n", 1);
        if (is_behind) { /* the word is behind the escape */
            text_put(from, "s%70_some words and some others, ", 27);
            text_put(from, "and so on and so on and so on and so on ", 40);
            text_put(from, word, 100);
            text_put(from, "_ps", 3);
            text_put(from, word, sizeof(word));
        } else {
            text_put(from, word, sizeof(word));
            text_put(from, "sp_", 3);
            text_put(from, word, 100);
            text_put(from, " and so on and so on and so on and so on and so on", 50);
            text_put(from, " %5fps and", 10);
        }
        scan_text(from, NULL, &first);
        CHECK(check_same(from, is_behind, 0));
        bool is_same = true;
        for (size_t at = 0; at <= from->length && is_same; at += 5) {
            text_clear(to);
            text_copy(to, from, 0, at);
            text_put(to, "\n", 1);
            text_copy(to, from, at, from->length);
            scan_text(to, &first, &second);
            is_same = check_same(to, is_behind, (unsigned)at);
            with += full.count > 0;
            without += full.count == 0;
        }
    }
    CHECK(in_part > 800 && with > 100 && without > 100);
    weir__trace_fini(&first);
    weir__trace_fini(&second);
    help_stop();
}

/* A line that is too long for it does not belong to the text of the lines before: until it is cut,
 * at its end. By itself it is no text, so that nobody else looks there. */
TEST(lines_that_become_one_text)
{
    char plain[600];
    memset(plain, '\xff', sizeof(plain));
    memcpy(plain, "some words before it, and some more of them, as many as fill: ", 61);
    memcpy(plain + 287, "tok_abcdef0123456789 ", 21);
    char out[800];
    struct weir__trace first, second;
    struct text *from = &texts[0], *to = &texts[1];
    unsigned with = 0;
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    weir__trace_init(&first);
    weir__trace_init(&second);
    in_part = 0;
    size_t count = encode_base64(plain, sizeof(plain), base64_standard, false, out);
    CHECK_EQ(count, 800);
    text_clear(from);
    text_put(from, "text\n", 5);
    text_put(from, out, 400);
    text_put(from, "\n", 1);
    text_put(from, out + 400, 400);
    text_put(from, "////\nand so on\n", 15);
    scan_text(from, NULL, &first);
    CHECK(check_same(from, 0, 0) && full.count == 0);
    bool is_same = true;
    for (size_t at = 0; at <= from->length && is_same; at++)
        for (size_t gone = 1; gone <= 4 && is_same; gone++) {
            text_clear(to);
            text_copy(to, from, 0, at);
            text_copy(to, from, at + gone, from->length);
            scan_text(to, &first, &second);
            is_same = check_same(to, at, (unsigned)gone);
            with += full.count > 0;
        }
    CHECK(in_part > 800 && with > 4);
    weir__trace_fini(&first);
    weir__trace_fini(&second);
    help_stop();
}

/* --- the decoder --- */

static struct weir__decoded runs[2][1024];

static size_t decode_behind(const struct text *text, size_t before, struct weir__decoded *into)
{
    static char source[WHOLE_ROOM + 128];
    struct weir__buffer out;
    struct weir__decode_options options = {.runs_max = 1024, .encodings = DECODE_ALL};
    bool is_truncated;
    weir__buffer_init(&out, 8u << 20);
    memset(source, '\x7f', before); /* is in no run, and half of no letter */
    memcpy(source + before, text->bytes, text->length);
    size_t count = weir__decode(source, before + text->length, &options, &out, into, &is_truncated);
    CHECK(!is_truncated);
    weir__buffer_fini(&out);
    return count;
}

static void check_shift(const struct text *text, uint64_t seed, size_t before)
{
    size_t count = decode_behind(text, 0, runs[0]);
    CHECK_EQ(decode_behind(text, before, runs[1]), count);
    for (size_t i = 0; i < count; i++)
        if (runs[1][i].from != runs[0][i].from + before ||
            runs[1][i].until != runs[0][i].until + before ||
            runs[1][i].encoding != runs[0][i].encoding ||
            runs[1][i].out_from != runs[0][i].out_from ||
            runs[1][i].out_until != runs[0][i].out_until) {
            tap_fail(__FILE__, __LINE__,
                     "seed %llu, %zu bytes before: run %zu differs: %s %zu-%zu, %s %zu-%zu",
                     (unsigned long long)seed, before, i, weir__encoding_name(runs[0][i].encoding),
                     runs[0][i].from, runs[0][i].until, weir__encoding_name(runs[1][i].encoding),
                     runs[1][i].from - before, runs[1][i].until - before);
            return;
        }
}

/* Blocks of 64 bytes are how the decoder works, and nothing that can be seen. Runs come in the
 * order of blocks, so that of two kinds in one the other may be first: the texts have one each. */
TEST(runs_do_not_depend_on_where_they_stand)
{
    for (unsigned i = 0; i < 3000 * times(); i++) {
        uint64_t seed = state = i;
        struct text *text = &texts[0];
        text_clear(text);
        const char *piece = whole_pieces[below(WHOLE_PIECES)];
        switch (below(4)) {
        case 0: /* bytes apart, unevenly */
            for (unsigned k = 0; k < 16; k++) {
                text_put(text, "0x74, ", 6);
                text_put(text, "            ", below(3) ? 0 : below(13));
            }
            break;
        case 1:
            text_put_wide(text, piece, strlen(piece), 1, true);
            for (unsigned k = 0; k < 12; k++)
                text_put(text, "\x03\xb1", 2);
            break;
        case 2:
            text_put_wide(text, piece, strlen(piece), 3, below(2));
            break;
        default:
            text_put(text, piece, strlen(piece));
        }
        check_shift(text, seed, 1 + below(128));
    }
}

/* --- limits and nonsense --- */

TEST(an_edit_that_makes_no_sense_is_not_believed)
{
    struct weir__trace first, second;
    const struct weir__copied wrong[][2] = {
        {{0, 0, 40}, {20, 0, 10}},                /* overlap */
        {{0, 0, 10}, {10, 0, UINT32_MAX}},        /* behind the text */
        {{0, 100000, 20}, {30, 0, 1}},            /* not in the base */
        {{UINT32_MAX, UINT32_MAX, 1}, {0, 0, 0}}, /* anywhere */
    };
    struct text *text = &texts[0];
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    weir__trace_init(&first);
    weir__trace_init(&second);
    text_clear(text);
    text_put(text, all_kinds, sizeof(all_kinds) - 1);
    scan_text(text, NULL, &first);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        memcpy(text->copies, wrong[i], sizeof(wrong[i]));
        text->count = 2;
        scan_text(text, &first, &second);
        CHECK(!part.result.is_in_part);
        CHECK(check_same(text, 0, (unsigned)i));
    }
    /* What is known of nothing says nothing. */
    struct weir__trace unknown = {0};
    text->count = 0;
    scan_text(text, &unknown, &second);
    CHECK(!part.result.is_in_part && check_same(text, 1, 0) && second.is_known);
    weir__trace_fini(&first);
    weir__trace_fini(&second);
    help_stop();
}

TEST(empty_texts)
{
    struct weir__trace first, second;
    struct text *none = &texts[0], *some = &texts[1];
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    weir__trace_init(&first);
    weir__trace_init(&second);
    text_clear(none);
    scan_text(none, NULL, &first);
    CHECK(first.is_known && part.count == 0);
    text_clear(some);
    text_put(some, all_kinds, sizeof(all_kinds) - 1);
    scan_text(some, &first, &second);
    CHECK(check_same(some, 0, 1));
    scan_text(none, &second, &first);
    CHECK(first.is_known && part.count == 0);
    weir__trace_fini(&first);
    weir__trace_fini(&second);
    help_stop();
}

TEST(texts_that_are_too_large_are_refused)
{
    struct weir__trace trace;
    char *bytes = weir__base_alloc(1, WEIR__TEXT_MAX + 1);
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    weir__trace_init(&trace);
    CHECK(bytes);
    memset(bytes, ' ', WEIR__TEXT_MAX + 1);
    struct weir__text whole = {.bytes = bytes, .length = WEIR__TEXT_MAX + 1, .trace = &trace};
    CHECK_EQ(weir__scanner_text(scanner, &object, &whole, NULL), -WEIR_E_TOO_LARGE);
    CHECK(!trace.is_known);
    whole.length--;
    CHECK_EQ(weir__scanner_text(scanner, &object, &whole, NULL), 0);
    CHECK(trace.is_known && weir__trace_bytes(&trace) < 4096);
    weir__base_free(bytes);
    weir__trace_fini(&trace);
    help_stop();
}

/* More hits, or matches, than are remembered: what is made from it is scanned in full. More
 * candidates than there is room for at once: so is the text itself. */
TEST(texts_full_of_matches)
{
    static const char *const lines[] = {"kw acme\n", "tok_abcdef0123456789\n\n\n\n\n\n\n\n",
                                        "pass=0123456789ab\n"};
    struct weir__trace first, second;
    char *bytes = weir__base_alloc(1, WEIR__TEXT_MAX);
    help_start(WHOLE_RULES, strlen(WHOLE_RULES), NULL, take);
    weir__trace_init(&first);
    weir__trace_init(&second);
    CHECK(bytes);
    taking = &part;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        size_t size = strlen(lines[i]), length = 0;
        for (; length + size <= (i == 2 ? 5000 * size : WEIR__TEXT_MAX); length += size)
            memcpy(bytes + length, lines[i], size);
        struct weir__text whole = {.bytes = bytes, .length = length, .trace = &first};
        struct weir__scan_result result, again;
        part.bytes = NULL;
        CHECK_EQ(weir__scanner_text(scanner, &object, &whole, &result), 0);
        CHECK_EQ(first.is_known, i == 2);
        struct weir__copied copy = {0, 0, (uint32_t)length};
        struct weir__edit edit = {&first, &copy, 1};
        whole.edit = &edit;
        whole.trace = &second;
        CHECK_EQ(weir__scanner_text(scanner, &object, &whole, &again), 0);
        CHECK_EQ(again.findings, result.findings);
        CHECK(!again.is_in_part);
    }
    weir__base_free(bytes);
    weir__trace_fini(&first);
    weir__trace_fini(&second);
    help_stop();
}

TAP_MAIN()
