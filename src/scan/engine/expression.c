/* expression.c - a recursive descent over the text of an expression.
 *
 * For each part it knows the widest match, the set of all texts that it can match (if they are
 * few), and the best set of literals of which one is in every match. A sequence of parts with few
 * texts multiplies them out; where that ends, what has been gathered is a candidate, and the
 * candidate with the longest shortest literal wins, or, of those that are long enough, the one of
 * fewest literals. Alternatives are joined: one without a literal has none.
 */
#include "expression.h"

#include <string.h>

#include <weir/error.h>

#include "stretch.h"

#include "banned.h"

#define CLASS_TEXTS 10u /* a class of more bytes than this is no literal */

struct part {
    uint64_t width_max;
    bool is_exact;                  /* texts holds all that it can match */
    struct weir__literals texts;    /* may hold "" */
    struct weir__literals required; /* of exact parts: where that is less to look for than texts */
    uint64_t reach_max;             /* of those: where the first that is there ends at the latest */
    struct weir__row row;
};

struct reader {
    const char *at;
    unsigned depth;
    bool is_extended; /* (?x): blanks and comments mean nothing */
    bool is_caseless; /* (?i) */
    bool is_bad;
};

static struct part read_alternatives(struct reader *reader);

static uint64_t add_widths(uint64_t a, uint64_t b)
{
    return a == WEIR__WIDTH_ANY || b == WEIR__WIDTH_ANY || a + b < a ? WEIR__WIDTH_ANY : a + b;
}

static struct part part_nothing(void)
{
    struct part part = {.is_exact = true, .row = weir__row_nothing()};
    part.texts.count = 1;
    part.texts.is_cased[0] = true; /* nothing in it is of another case */
    return part;
}

static struct part part_vague(uint64_t width)
{
    return (struct part){.width_max = width, .row = weir__row_any()};
}

/* One of many bytes. */
static struct part part_of_class(uint64_t width, bool is_token)
{
    struct part part = part_vague(width);
    if (is_token)
        part.row = weir__row_byte(true);
    return part;
}

static bool is_letter(char byte)
{
    return weir__lower(byte) >= 'a' && weir__lower(byte) <= 'z';
}

static struct part part_byte(const struct reader *reader, char byte)
{
    struct part part = {.width_max = 1, .is_exact = true};
    part.row = weir__row_byte(weir__is_token_byte((unsigned char)byte));
    weir__literals_add(&part.texts, &byte, 1, !reader->is_caseless || !is_letter(byte));
    return part;
}

/* What a set costs for a megabyte, in runs of an expression: each literal more makes the database
 * slower by about as much as one. */
static double cost_of(const struct weir__literals *set)
{
    return weir__literals_rate(set) + set->count;
}

static bool is_better(const struct weir__literals *a, const struct weir__literals *b)
{
    return cost_of(a) < cost_of(b);
}

/* What an exact part is good for as a required literal: all of its texts, unless one is empty. */
static void keep_better(struct part *best, const struct weir__literals *candidate,
                        uint64_t reach_max)
{
    if (is_better(candidate, &best->required)) {
        best->required = *candidate;
        best->reach_max = reach_max;
    }
}

static bool is_by_texts(const struct part *part)
{
    return part->is_exact && !is_better(&part->required, &part->texts);
}

static struct weir__literals needs_of(const struct part *part)
{
    return is_by_texts(part) ? part->texts : part->required;
}

static uint64_t reach_of(const struct part *part)
{
    return is_by_texts(part) ? part->width_max : part->reach_max;
}

/* a followed by b, if the texts of both can be multiplied out. */
static bool join_exact(struct part *a, const struct part *b)
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
    a->width_max = add_widths(a->width_max, b->width_max);
    return true;
}

/* --- pieces --- */

static void skip_to_close(struct reader *reader)
{
    while (*reader->at && *reader->at != ')')
        reader->at++;
}

/* Behind "(?": flags, names, comments. True: a group follows that is read as usual. Assertions are
 * left to the caller, which takes what is in them for nothing. */
static bool read_group_head(struct reader *reader, bool *ret_is_assertion)
{
    *ret_is_assertion = false;
    const char *at = reader->at;
    if (*at == '#') {
        skip_to_close(reader);
        return false;
    }
    if (*at == ':' || *at == '>' || *at == '|') {
        reader->at = at + 1;
        return true;
    }
    if (*at == '=' || *at == '!' || (*at == '<' && (at[1] == '=' || at[1] == '!'))) {
        *ret_is_assertion = true;
        reader->at = at + (*at == '<' ? 2 : 1);
        return true;
    }
    if (*at == 'P' && at[1] == '<')
        at++;
    if (*at == '<' || *at == '\'') {
        char end = *at == '<' ? '>' : '\'';
        const char *stop = strchr(at + 1, end);
        reader->is_bad |= !stop;
        reader->at = stop ? stop + 1 : at + strlen(at);
        return true;
    }
    bool is_on = true;
    for (; *at && *at != ')' && *at != ':'; at++) {
        if (*at == '-')
            is_on = false;
        else if (*at == 'x')
            reader->is_extended = is_on;
        else if (*at == 'i')
            reader->is_caseless = is_on;
    }
    bool is_group = *at == ':';
    reader->at = is_group ? at + 1 : at;
    return is_group;
}

static struct part read_group(struct reader *reader)
{
    struct part part = part_nothing();
    bool is_assertion = false, is_group = true;
    bool was_extended = reader->is_extended, was_caseless = reader->is_caseless;
    if (*reader->at == '?') {
        reader->at++;
        is_group = read_group_head(reader, &is_assertion);
        if (!is_group) { /* (?x) holds on */
            was_extended = reader->is_extended;
            was_caseless = reader->is_caseless;
        }
    }
    if (is_group) {
        if (++reader->depth > WEIR__EXPRESSION_DEPTH)
            reader->is_bad = true;
        else
            part = read_alternatives(reader);
        reader->depth--;
    }
    if (*reader->at == ')')
        reader->at++;
    else
        reader->is_bad = true;
    reader->is_extended = was_extended;
    reader->is_caseless = was_caseless;
    return is_assertion ? part_nothing() : part;
}

static int hex_of(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = weir__lower(byte);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* A byte given by its number: \xHH, \x{H…}. -1: beyond a byte, or none. */
static int read_hex(struct reader *reader)
{
    int value = 0;
    if (*reader->at == '{') {
        for (reader->at++; *reader->at && *reader->at != '}'; reader->at++)
            value =
                value > 0xff || hex_of(*reader->at) < 0 ? 0x100 : value * 16 + hex_of(*reader->at);
        if (*reader->at)
            reader->at++;
        return value <= 0xff ? value : -1;
    }
    for (int i = 0; i < 2 && hex_of(*reader->at) >= 0; i++)
        value = value * 16 + hex_of(*reader->at++);
    return value;
}

static int plain_escape(char byte)
{
    switch (byte) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'f':
        return '\f';
    case 'a':
        return '\a';
    case 'e':
        return 27;
    default:
        return -1;
    }
}

static struct part read_escape(struct reader *reader)
{
    char kind = *reader->at;
    if (kind == '\0') {
        reader->is_bad = true;
        return part_nothing();
    }
    reader->at++;
    if (kind == 'Q') {
        struct part all = part_nothing();
        struct weir__row row = weir__row_nothing();
        const char *end = strstr(reader->at, "\\E");
        size_t length = end ? (size_t)(end - reader->at) : strlen(reader->at);
        for (size_t i = 0; i < length; i++) {
            struct part byte = part_byte(reader, reader->at[i]);
            row = weir__row_join(row, byte.row);
            if (!join_exact(&all, &byte))
                all = part_vague(length);
        }
        reader->at += length + (end ? 2 : 0);
        all.width_max = length;
        all.row = row;
        return all;
    }
    if (strchr("bBAzZGKE", kind))
        return part_nothing();
    if (kind == 'd' || kind == 'w')
        return part_of_class(1, true);
    if (strchr("DWsShHvVNR", kind))
        return part_vague(kind == 'R' ? 2 : 1);
    if (kind == 'p' || kind == 'P' || kind == 'X' || kind == 'C') {
        if (*reader->at == '{' && strchr(reader->at, '}'))
            reader->at = strchr(reader->at, '}') + 1;
        else if ((kind == 'p' || kind == 'P') && *reader->at)
            reader->at++;
        return part_vague(kind == 'X' ? WEIR__WIDTH_ANY : 4);
    }
    if (kind == 'x') {
        int byte = read_hex(reader);
        return byte < 0 ? part_vague(4) : part_byte(reader, (char)byte);
    }
    if ((kind >= '0' && kind <= '9') || kind == 'k' || kind == 'g')
        return part_vague(WEIR__WIDTH_ANY); /* back references, octal: rare, and not worth it */
    int byte = plain_escape(kind);
    return part_byte(reader, byte < 0 ? kind : (char)byte);
}

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
static void class_add_range(struct reader *reader, struct class_bytes *seen, int from)
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

static void class_escape(struct reader *reader, struct class_bytes *seen, int *ret_byte)
{
    char kind = *reader->at ? *reader->at++ : '\0';
    *ret_byte = -1;
    if (kind == 'x')
        *ret_byte = read_hex(reader);
    else if (!strchr("dDwWsShHvVpPN0123456789", kind) || !kind)
        *ret_byte = plain_escape(kind) >= 0 ? plain_escape(kind) : (unsigned char)kind;
    if (*ret_byte < 0)
        class_add_many(seen, kind == 'd' || kind == 'w');
}

/* [:alnum:] and the like. */
static void class_add_named(struct reader *reader, struct class_bytes *seen)
{
    static const char *const tokens[] = {"alnum", "alpha", "digit", "lower",
                                         "upper", "word",  "xdigit"};
    const char *name = reader->at + 2, *end = strstr(name, ":]");
    bool are_tokens = false;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++)
        are_tokens |= strlen(tokens[i]) == (size_t)(end - name) &&
                      memcmp(tokens[i], name, (size_t)(end - name)) == 0;
    class_add_many(seen, are_tokens);
    reader->at = end + 2;
}

static struct part read_class(struct reader *reader)
{
    struct class_bytes seen = {.count = 0};
    bool is_first = true, is_wide = false;
    if (*reader->at == '^') {
        class_add_many(&seen, false);
        reader->at++;
    }
    while (*reader->at && (*reader->at != ']' || is_first)) {
        is_first = false;
        int byte = (unsigned char)*reader->at;
        if (*reader->at == '[' && reader->at[1] == ':' && strstr(reader->at, ":]")) {
            class_add_named(reader, &seen);
            continue;
        }
        reader->at++;
        if (byte == '\\')
            class_escape(reader, &seen, &byte);
        is_wide |= byte > 0x7f;
        if (*reader->at == '-' && reader->at[1] && reader->at[1] != ']')
            class_add_range(reader, &seen, byte);
        else if (byte >= 0)
            class_add(&seen, (char)byte);
    }
    if (*reader->at)
        reader->at++;
    else
        reader->is_bad = true;
    if (seen.count == 0 || seen.count > CLASS_TEXTS || is_wide)
        return part_of_class(is_wide ? 4 : 1, !is_wide && !seen.has_others && seen.count > 0);
    struct part part = {.width_max = 1, .is_exact = true};
    part.row = weir__row_byte(!seen.has_others);
    for (unsigned i = 0; i < seen.count; i++)
        weir__literals_add(&part.texts, &seen.bytes[i], 1,
                           !reader->is_caseless || !is_letter(seen.bytes[i]));
    return part;
}

/* --- repeats --- */

#define MANY 1000000u

static bool read_counts(struct reader *reader, unsigned *least, unsigned *most)
{
    const char *at = reader->at + 1;
    unsigned numbers[2] = {0, 0};
    bool has[2] = {false, false}, has_comma = false;
    for (; *at && *at != '}'; at++) {
        if (*at == ',' && !has_comma) {
            has_comma = true;
        } else if (*at >= '0' && *at <= '9') {
            has[has_comma] = true;
            if (numbers[has_comma] < MANY)
                numbers[has_comma] = numbers[has_comma] * 10 + (unsigned)(*at - '0');
        } else {
            return false; /* a brace that means itself */
        }
    }
    if (*at != '}' || (!has[0] && !has[1]))
        return false;
    reader->at = at + 1;
    *least = numbers[0];
    *most = has[1] ? numbers[1] : has_comma ? UINT32_MAX : numbers[0];
    return true;
}

static struct part repeat_texts(const struct part *part, unsigned least, unsigned most)
{
    if (most == 1 && least == 1)
        return *part;
    uint64_t width = WEIR__WIDTH_ANY;
    if (part->width_max == 0 || most == 0)
        width = 0;
    else if (most != UINT32_MAX && part->width_max < WEIR__WIDTH_ANY / most)
        width = part->width_max * most;
    if (least == 0 && most == 1 && part->is_exact) {
        struct part either = *part;
        either.required.count = 0;
        if (weir__literals_add(&either.texts, "", 0, true))
            return either;
    }
    struct part times = part_vague(width);
    if (least == 0)
        return times;
    if (part->is_exact && part->texts.count == 1 && least == most) {
        struct part all = *part;
        unsigned i = 1;
        while (i < least && join_exact(&all, part))
            i++;
        if (i == least)
            return all;
    }
    times.required = needs_of(part);
    times.reach_max = reach_of(part); /* the first time is the one that is found */
    return times;
}

static struct part read_repeats(struct reader *reader, struct part part)
{
    for (;;) {
        unsigned least = 0, most = UINT32_MAX;
        if (*reader->at == '*') {
            reader->at++;
        } else if (*reader->at == '+') {
            least = 1;
            reader->at++;
        } else if (*reader->at == '?') {
            most = 1;
            reader->at++;
        } else if (*reader->at != '{' || !read_counts(reader, &least, &most)) {
            return part;
        }
        if (*reader->at == '?' || *reader->at == '+')
            reader->at++; /* lazy or possessive: the same texts */
        struct weir__row row = weir__row_repeat(part.row, least, most);
        part = repeat_texts(&part, least, most);
        part.row = row;
    }
}

/* --- sequences and alternatives --- */

static struct part read_piece(struct reader *reader)
{
    char byte = *reader->at++;
    switch (byte) {
    case '(':
        return read_group(reader);
    case '[':
        return read_class(reader);
    case '\\':
        return read_escape(reader);
    case '.':
        return part_vague(1);
    case '^':
    case '$':
        return part_nothing();
    default:
        return part_byte(reader, byte);
    }
}

static bool skip_blanks(struct reader *reader)
{
    if (!reader->is_extended)
        return false;
    const char *from = reader->at;
    while (*reader->at == ' ' || (*reader->at >= '\t' && *reader->at <= '\r') ||
           *reader->at == '#') {
        if (*reader->at == '#')
            reader->at += strcspn(reader->at, "\n");
        else
            reader->at++;
    }
    return reader->at > from;
}

static struct part read_sequence(struct reader *reader)
{
    struct part whole = part_nothing(), run = part_nothing();
    while (!reader->is_bad && (skip_blanks(reader) || true) && *reader->at && *reader->at != '|' &&
           *reader->at != ')') {
        struct part piece = read_piece(reader);
        skip_blanks(reader);
        piece = read_repeats(reader, piece);
        uint64_t before = whole.width_max;
        whole.width_max = add_widths(before, piece.width_max);
        whole.row = weir__row_join(whole.row, piece.row);
        if (piece.is_exact && piece.texts.count > 1) {
            keep_better(&whole, &run.texts, before); /* as it is before it is multiplied */
            keep_better(&whole, &piece.required, add_widths(before, piece.reach_max));
        }
        if (join_exact(&run, &piece))
            continue;
        whole.is_exact = false;
        keep_better(&whole, &run.texts, before);
        keep_better(&whole, &piece.required, add_widths(before, piece.reach_max));
        run = piece.is_exact ? piece : part_nothing();
    }
    if (whole.is_exact)
        whole.texts = run.texts;
    else
        keep_better(&whole, &run.texts, whole.width_max);
    return whole;
}

static void join_alternative(struct part *all, const struct part *other)
{
    uint64_t reach = reach_of(all) > reach_of(other) ? reach_of(all) : reach_of(other);
    struct weir__literals mine = needs_of(all), others = needs_of(other);
    all->required = (struct weir__literals){0};
    if (weir__literals_shortest(&mine) > 0 && weir__literals_shortest(&others) > 0)
        all->required = weir__literals_either(&mine, &others);
    all->reach_max = reach;
    all->row = weir__row_either(all->row, other->row);
    if (other->width_max > all->width_max)
        all->width_max = other->width_max;
    all->is_exact =
        all->is_exact && other->is_exact && weir__literals_join(&all->texts, &other->texts);
}

static struct part read_alternatives(struct reader *reader)
{
    struct part all = read_sequence(reader);
    while (!reader->is_bad && *reader->at == '|') {
        reader->at++;
        struct part other = read_sequence(reader);
        join_alternative(&all, &other);
    }
    return all;
}

bool weir__expression_is_wide(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text > 0x7f || (*text == '\\' && (text[1] == 'p' || text[1] == 'P')))
            return true;
    return false;
}

static uint64_t times(uint64_t width, unsigned factor)
{
    return width > WEIR__WIDTH_ANY / factor ? WEIR__WIDTH_ANY : width * factor;
}

int weir__expression_study(const char *text, struct weir__expression *ret_study)
{
    struct reader reader = {.at = text};
    struct part whole = read_alternatives(&reader);
    memset(ret_study, 0, sizeof(*ret_study));
    ret_study->width_max = ret_study->reach_max = WEIR__WIDTH_ANY;
    if (reader.is_bad || *reader.at != '\0')
        return -WEIR_E_INVALID;
    /* Where characters are meant, a part of one byte may match four. */
    unsigned factor = weir__expression_is_wide(text) ? 4 : 1;
    ret_study->stretch_min = factor == 1 ? whole.row.longest : 0;
    ret_study->width_max = times(whole.width_max, factor);
    ret_study->reach_max = times(reach_of(&whole), factor);
    ret_study->required = needs_of(&whole);
    if (weir__literals_shortest(&ret_study->required) == 0)
        ret_study->required.count = 0;
    weir__literals_prune(&ret_study->required);
    return 0;
}
