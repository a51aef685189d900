/* expression_atom.c - the smallest parts of an expression: characters, escapes, classes.
 *
 * A number or a class may stand for a byte or, where the expression is about characters, for up to
 * four. Where which one it is depends on more than is known here, it is one of unknown bytes.
 */
#include <string.h>

#include "expression_part.h"

#include "banned.h"

#define CLASS_TEXTS 10u /* a class of more bytes than this is no literal */

/* What PCRE2 takes for other cases of k and s where characters are meant. */
#define KELVIN_SIGN "\xe2\x84\xaa"
#define LONG_S      "\xc5\xbf"

uint64_t weir__width_sum(uint64_t a, uint64_t b)
{
    return a == WEIR__WIDTH_ANY || b == WEIR__WIDTH_ANY || a + b < a ? WEIR__WIDTH_ANY : a + b;
}

struct weir__part weir__part_nothing(void)
{
    struct weir__part part = {.is_exact = true, .row = weir__row_nothing()};
    part.texts.count = 1;
    part.texts.is_cased[0] = true; /* nothing in it is of another case */
    return part;
}

struct weir__part weir__part_ahead(struct weir__reader *reader, uint64_t extent)
{
    struct weir__part part = weir__part_nothing();
    part.extent_max = extent;
    reader->ahead_max = extent > reader->ahead_max ? extent : reader->ahead_max;
    return part;
}

struct weir__part weir__part_vague(uint64_t width)
{
    return (struct weir__part){.width_max = width, .extent_max = width, .row = weir__row_any()};
}

/* One of many bytes. */
static struct weir__part part_of_class(uint64_t width, bool is_token)
{
    struct weir__part part = weir__part_vague(width);
    if (is_token)
        part.row = weir__row_byte(true);
    return part;
}

static bool is_letter(char byte)
{
    return weir__lower(byte) >= 'a' && weir__lower(byte) <= 'z';
}

/* A byte among the texts of a part of width 1, with what else it may be. */
static void add_byte(const struct weir__reader *reader, struct weir__part *part, char byte)
{
    weir__literals_add(&part->texts, &byte, 1, !reader->is_caseless || !is_letter(byte));
    const char *other = weir__lower(byte) == 'k'   ? KELVIN_SIGN
                        : weir__lower(byte) == 's' ? LONG_S
                                                   : NULL;
    if (other && reader->is_wide && reader->is_caseless)
        weir__literals_add(&part->texts, other, strlen(other), true);
}

static struct weir__part part_byte(const struct weir__reader *reader, char byte)
{
    struct weir__part part = {.width_max = 1, .extent_max = 1, .is_exact = true};
    part.row = weir__row_byte(weir__is_token_byte((unsigned char)byte));
    add_byte(reader, &part, byte);
    return part;
}

/* A byte or a character by its number; -1: of one that is not known. */
static struct weir__part part_number(const struct weir__reader *reader, int number)
{
    bool is_one = number >= 0 && (number <= 0x7f || (number <= 0xff && !reader->is_wide));
    return is_one ? part_byte(reader, (char)number) : weir__part_vague(1);
}

struct weir__part weir__part_character(struct weir__reader *reader)
{
    const char *from = reader->at++;
    if (!reader->is_wide || (unsigned char)*from <= 0x7f)
        return part_byte(reader, *from);
    while (((unsigned char)*reader->at & 0xc0) == 0x80)
        reader->at++;
    if (reader->is_caseless)
        return weir__part_vague(1); /* its other cases may have other lengths */
    struct weir__part part = {.width_max = 1, .extent_max = 1, .row = weir__row_any()};
    part.is_exact = weir__literals_add(&part.texts, from, (size_t)(reader->at - from), true);
    return part;
}

bool weir__part_join(struct weir__part *a, const struct weir__part *b)
{
    if (!a->is_exact || !b->is_exact || a->texts.count * b->texts.count > WEIR__EXPRESSION_LITERALS)
        return false;
    struct weir__literals joined = {0};
    for (unsigned i = 0; i < a->texts.count; i++)
        for (unsigned k = 0; k < b->texts.count; k++) {
            char text[2 * WEIR__EXPRESSION_LITERAL];
            size_t first = a->texts.length[i], second = b->texts.length[k];
            memcpy(text, a->texts.text[i], first);
            memcpy(text + first, b->texts.text[k], second);
            if (!weir__literals_add(&joined, text, first + second,
                                    a->texts.is_cased[i] && b->texts.is_cased[k]))
                return false;
        }
    a->texts = joined;
    a->width_max = weir__width_sum(a->width_max, b->width_max);
    return true;
}

/* --- escapes --- */

static int digit_of(char byte, int base)
{
    int value = byte >= '0' && byte <= '9' ? byte - '0' : -1;
    char lower = weir__lower(byte);
    if (lower >= 'a' && lower <= 'f')
        value = lower - 'a' + 10;
    return value < base ? value : -1;
}

/* Up to '}', in braces. -1: beyond a byte, or none. */
static int read_braced(struct weir__reader *reader, int base)
{
    int value = 0;
    for (reader->at++; *reader->at && *reader->at != '}'; reader->at++) {
        int digit = digit_of(*reader->at, base);
        value = value > 0xff || digit < 0 ? 0x100 : value * base + digit;
    }
    if (*reader->at)
        reader->at++;
    return value <= 0xff ? value : -1;
}

static int read_digits(struct weir__reader *reader, int base, int most)
{
    int value = 0;
    for (int i = 0; i < most && digit_of(*reader->at, base) >= 0; i++)
        value = value * base + digit_of(*reader->at++, base);
    return value <= 0xff ? value : -1;
}

/* What is in brackets of some kind, or a number with its sign: a name. */
static void skip_name(struct weir__reader *reader)
{
    static const char open[] = "{<'", close[] = "}>'";
    const char *kind = *reader->at ? strchr(open, *reader->at) : NULL;
    if (kind) {
        const char *end = strchr(reader->at + 1, close[kind - open]);
        reader->is_bad |= !end;
        reader->at = end ? end + 1 : reader->at + strlen(reader->at);
        return;
    }
    if (*reader->at == '-' || *reader->at == '+')
        reader->at++;
    while (digit_of(*reader->at, 10) >= 0)
        reader->at++;
}

/* Those that stand for one byte or character, as far as they are the same in a class and outside.
 * False: another one, and nothing is read. *ret_number: -1 if it is not known. */
static bool read_number(struct weir__reader *reader, int *ret_number)
{
    static const char names[] = "ntrfae", bytes[] = "\n\t\r\f\a\x1b";
    char kind = *reader->at;
    const char *name = strchr(names, kind);
    if (name && kind) {
        reader->at++;
        *ret_number = bytes[name - names];
    } else if (kind == 'x' || (kind == 'o' && reader->at[1] == '{')) {
        reader->at++;
        *ret_number = *reader->at == '{' ? read_braced(reader, kind == 'x' ? 16 : 8)
                                         : read_digits(reader, 16, 2);
    } else if (kind == '0') {
        *ret_number = read_digits(reader, 8, 3);
    } else if (kind == 'c' && reader->at[1] > ' ' && reader->at[1] < 0x7f) {
        char upper = is_letter(reader->at[1]) ? reader->at[1] & 0x5f : reader->at[1];
        *ret_number = upper ^ 0x40;
        reader->at += 2;
    } else if (kind == 'N' && reader->at[1] == '{' && strchr(reader->at, '}') &&
               memchr(reader->at, 'U', (size_t)(strchr(reader->at, '}') - reader->at))) {
        reader->at = strchr(reader->at, '}') + 1;
        *ret_number = -1;
    } else {
        return false;
    }
    return true;
}

static void skip_property(struct weir__reader *reader)
{
    const char *end = *reader->at == '{' ? strchr(reader->at, '}') : NULL;
    if (end)
        reader->at = end + 1;
    else if (*reader->at)
        reader->at++;
}

struct weir__part weir__part_escape(struct weir__reader *reader)
{
    int number;
    if (*reader->at == '\0') {
        reader->is_bad = true;
        return weir__part_nothing();
    }
    if (read_number(reader, &number))
        return part_number(reader, number);
    char kind = *reader->at;
    if ((unsigned char)kind > 0x7f)
        return weir__part_character(reader);
    reader->at++;
    switch (kind) {
    case 'b':
    case 'B':
    case 'z':
        return weir__part_ahead(reader, 1);
    case 'Z':
        return weir__part_ahead(reader, 2);
    case 'A':
    case 'G':
    case 'K':
        return weir__part_nothing();
    case 'd':
    case 'w':
        return part_of_class(1, !reader->is_wide);
    case 'p':
    case 'P':
        skip_property(reader);
        return weir__part_vague(1);
    case 'R':
        return weir__part_vague(2);
    case 'X':
        return weir__part_vague(WEIR__WIDTH_ANY);
    case 'k':
    case 'g':
        skip_name(reader);
        return weir__part_vague(WEIR__WIDTH_ANY);
    default:
        break;
    }
    if (strchr("DWsShHvVNC", kind))
        return weir__part_vague(1);
    if (kind >= '1' && kind <= '9') { /* what was matched before, or a number of base 8 */
        /* Of more digits than three some may be characters behind it. */
        reader->is_unknown |= strspn(reader->at, "0123456789") > 2;
        skip_name(reader);
        return weir__part_vague(WEIR__WIDTH_ANY);
    }
    reader->is_unknown |= is_letter(kind);
    return part_byte(reader, kind);
}

/* --- classes --- */

/* The bytes of a class, as far as they are needed: up to CLASS_TEXTS of them. */
struct class_bytes {
    char bytes[CLASS_TEXTS];
    unsigned count;  /* more than CLASS_TEXTS: many */
    bool has_others; /* than token bytes */
};

/* Many bytes at once. */
static void class_add_many(struct class_bytes *seen, bool are_tokens)
{
    seen->count = CLASS_TEXTS + 1;
    seen->has_others |= !are_tokens;
}

static void class_add(struct class_bytes *seen, char byte)
{
    seen->has_others |= !weir__is_token_byte((unsigned char)byte);
    for (unsigned i = 0; i < seen->count && i < CLASS_TEXTS; i++)
        if (seen->bytes[i] == byte)
            return;
    if (seen->count < CLASS_TEXTS)
        seen->bytes[seen->count] = byte;
    seen->count++;
}

/* From a byte to the one behind the '-'. One that is given otherwise makes it many. */
static void class_add_range(struct weir__reader *reader, struct class_bytes *seen, int from)
{
    int until = (unsigned char)reader->at[1];
    reader->at++;
    if (until == '\\' || until == '[' || from < 0 || until < from || until > 0x7f) {
        class_add_many(seen, false);
        return; /* the byte behind is read as one more */
    }
    reader->at++;
    for (int byte = from; byte <= until; byte++)
        class_add(seen, (char)byte);
}

static void class_escape(struct weir__reader *reader, struct class_bytes *seen, int *ret_byte)
{
    char kind = *reader->at;
    if (!read_number(reader, ret_byte)) {
        reader->at += kind != '\0';
        *ret_byte = (unsigned char)kind;
        if (kind == 'b')
            *ret_byte = '\b';
        else if (kind == 'p' || kind == 'P')
            skip_property(reader);
        else if (digit_of(kind, 10) >= 0)
            skip_name(reader);
        else
            reader->is_unknown |= is_letter(kind) && !strchr("dDwWsShHvV", kind);
        if (kind != 'b' && (is_letter(kind) || digit_of(kind, 10) >= 0))
            *ret_byte = -1;
    }
    if (*ret_byte < 0)
        class_add_many(seen, (kind == 'd' || kind == 'w') && !reader->is_wide);
}

/* [:alnum:] and the like. False: it is none. */
static bool class_add_named(struct weir__reader *reader, struct class_bytes *seen)
{
    static const char *const tokens[] = {"alnum", "alpha", "digit", "lower",
                                         "upper", "word",  "xdigit"};
    const char *name = reader->at + 2, *end = name;
    if (reader->at[0] != '[' || reader->at[1] != ':')
        return false;
    while (*end == '^' || is_letter(*end))
        end++;
    if (end[0] != ':' || end[1] != ']')
        return false;
    bool are_tokens = false;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++)
        are_tokens |= strlen(tokens[i]) == (size_t)(end - name) &&
                      memcmp(tokens[i], name, (size_t)(end - name)) == 0;
    class_add_many(seen, are_tokens);
    reader->at = end + 2;
    return true;
}

/* Those within the brackets. True: some are characters that are no bytes. */
static bool class_read(struct weir__reader *reader, struct class_bytes *seen)
{
    bool is_first = true, is_wide = false;
    if (*reader->at == '^') {
        class_add_many(seen, false);
        is_wide = reader->is_wide;
        reader->at++;
    }
    while (*reader->at && (*reader->at != ']' || is_first)) {
        is_first = false;
        int byte = (unsigned char)*reader->at;
        if (class_add_named(reader, seen))
            continue;
        reader->at++;
        /* (?xx) leaves blanks out; which x it was is not kept. */
        reader->is_unknown |= reader->is_extended && (byte == ' ' || byte == '\t');
        if (byte == '\\')
            class_escape(reader, seen, &byte);
        is_wide |= reader->is_wide && (byte < 0 || byte > 0x7f);
        if (*reader->at == '-' && reader->at[1] && reader->at[1] != ']')
            class_add_range(reader, seen, byte);
        else if (byte >= 0)
            class_add(seen, (char)byte);
    }
    if (*reader->at)
        reader->at++;
    else
        reader->is_bad = true;
    return is_wide;
}

struct weir__part weir__part_class(struct weir__reader *reader)
{
    static const char *const edges[] = {"[:<:]]", "[:>:]]"};
    struct class_bytes seen = {.count = 0};
    for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++)
        if (strncmp(reader->at, edges[i], strlen(edges[i])) == 0) {
            reader->at += strlen(edges[i]);
            return weir__part_ahead(reader, 1);
        }
    bool is_wide = class_read(reader, &seen);
    if (seen.count == 0 || seen.count > CLASS_TEXTS || is_wide)
        return part_of_class(1, !reader->is_wide && !seen.has_others && seen.count > 0);
    struct weir__part part = {.width_max = 1, .extent_max = 1, .is_exact = true};
    part.row = weir__row_byte(!seen.has_others);
    for (unsigned i = 0; i < seen.count; i++)
        add_byte(reader, &part, seen.bytes[i]);
    return part;
}
