/* flank_read.c - an expression as a net of places.
 *
 * A descent over the text, in which each part becomes a piece of the net with one way in and one
 * way out. What is repeated is in the net as often as it must be there, and may then be there once
 * more for ever; if the net becomes too large it is counted less far. Syntax that is not known here
 * makes the expression one that is not understood: nothing is guessed.
 */
#include <string.h>

#include "expression.h"
#include "flank.h"
#include "literals.h"

#include "banned.h"

#define OPTIONAL_MAX 4u    /* times that something may be there or not, and that are counted */
#define RULE_NODES   8192u /* of one expression */
#define SET_SIZE     (4 * sizeof(uint64_t))
#define DEPTH_MAX    WEIR__EXPRESSION_DEPTH

struct reader {
    struct weir__flank_room *room;
    const char *at;
    unsigned depth, first_node, copies_max;
    bool is_caseless, is_back, is_bad;
};

struct piece {
    uint16_t in, out; /* the last is a fork that does not go on yet */
};

static struct piece read_alternatives(struct reader *reader);

/* --- pieces of the net --- */

static uint16_t add_node(struct reader *reader, uint16_t kind, uint16_t one, uint16_t other)
{
    struct weir__flank_room *room = reader->room;
    if (room->count >= WEIR__FLANK_NODES || room->count - reader->first_node >= RULE_NODES) {
        reader->is_bad = true;
        return (uint16_t)reader->first_node;
    }
    room->nodes[room->count] = (struct weir__flank_node){.kind = kind, .out = {one, other}};
    return (uint16_t)room->count++;
}

static uint16_t add_fork(struct reader *reader, uint16_t one, uint16_t other)
{
    return add_node(reader, WEIR__FLANK_FORK, one, other);
}

static struct piece nothing(struct reader *reader)
{
    uint16_t fork = add_fork(reader, WEIR__FLANK_NONE, WEIR__FLANK_NONE);
    return (struct piece){fork, fork};
}

static void go_on(struct reader *reader, uint16_t from, uint16_t to)
{
    if (!reader->is_bad)
        reader->room->nodes[from].out[0] = to;
}

/* One behind the other, as they are written. */
static struct piece join(struct reader *reader, struct piece a, struct piece b)
{
    if (reader->is_back) {
        go_on(reader, b.out, a.in);
        return (struct piece){b.in, a.out};
    }
    go_on(reader, a.out, b.in);
    return (struct piece){a.in, b.out};
}

static struct piece either(struct reader *reader, struct piece a, struct piece b)
{
    uint16_t end = add_fork(reader, WEIR__FLANK_NONE, WEIR__FLANK_NONE);
    go_on(reader, a.out, end);
    go_on(reader, b.out, end);
    return (struct piece){add_fork(reader, a.in, b.in), end};
}

/* As often as one likes; is_some: once at least. */
static struct piece loop(struct reader *reader, struct piece a, bool is_some)
{
    uint16_t end = add_fork(reader, WEIR__FLANK_NONE, WEIR__FLANK_NONE);
    uint16_t fork = add_fork(reader, end, a.in);
    go_on(reader, a.out, fork);
    return (struct piece){is_some ? a.in : fork, end};
}

static struct piece perhaps(struct reader *reader, struct piece a)
{
    return either(reader, a, nothing(reader));
}

/* A byte of a set. */
static struct piece one_of(struct reader *reader, const uint64_t set[4])
{
    struct weir__flank_room *room = reader->room;
    size_t mask = sizeof(room->table) / sizeof(*room->table) - 1;
    uint64_t hash = (set[0] ^ set[1] * 3 ^ set[2] * 5 ^ set[3] * 7) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 40) & mask;
    while (room->table[slot] && memcmp(room->sets[room->table[slot] - 1], set, SET_SIZE) != 0)
        slot = (slot + 1) & mask;
    if (!room->table[slot] && room->sets_count == WEIR__FLANK_SETS) {
        reader->is_bad = true;
        return nothing(reader);
    }
    if (!room->table[slot]) {
        memcpy(room->sets[room->sets_count++], set, SET_SIZE);
        room->table[slot] = (uint16_t)room->sets_count;
    }
    uint16_t number = (uint16_t)(room->table[slot] - 1);
    struct piece end = nothing(reader);
    return (struct piece){add_node(reader, number, end.out, WEIR__FLANK_NONE), end.out};
}

/* Any bytes, however many. */
static struct piece anything(struct reader *reader)
{
    static const uint64_t all[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    return loop(reader, one_of(reader, all), false);
}

/* --- sets --- */

static void set_add(uint64_t set[4], unsigned from, unsigned until)
{
    for (unsigned byte = from; byte <= until; byte++)
        set[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static void set_invert(uint64_t set[4])
{
    for (unsigned i = 0; i < 4; i++)
        set[i] = ~set[i];
}

static void set_both_cases(uint64_t set[4])
{
    for (unsigned char byte = 'a'; byte <= 'z'; byte++) {
        unsigned char upper = (unsigned char)(byte - 'a' + 'A');
        if (weir__flank_has(set, byte) || weir__flank_has(set, upper)) {
            set_add(set, byte, byte);
            set_add(set, upper, upper);
        }
    }
}

static struct piece one_byte(struct reader *reader, unsigned char byte)
{
    uint64_t set[4] = {0};
    set_add(set, byte, byte);
    if (reader->is_caseless)
        set_both_cases(set);
    return one_of(reader, set);
}

/* \d, \w and the like. False: it is another one. */
static bool set_add_kind(uint64_t set[4], char kind)
{
    uint64_t own[4] = {0};
    switch (weir__lower(kind)) {
    case 'd':
        set_add(own, '0', '9');
        break;
    case 'w':
        set_add(own, '0', '9');
        set_add(own, 'A', 'Z');
        set_add(own, 'a', 'z');
        set_add(own, '_', '_');
        break;
    case 's':
        set_add(own, '\t', '\r');
        set_add(own, ' ', ' ');
        break;
    case 'h':
        set_add(own, '\t', '\t');
        set_add(own, ' ', ' ');
        set_add(own, 0xa0, 0xa0);
        break;
    case 'v':
        set_add(own, '\n', '\r');
        set_add(own, 0x85, 0x85);
        break;
    default:
        return false;
    }
    if (weir__lower(kind) != kind)
        set_invert(own);
    for (unsigned i = 0; i < 4; i++)
        set[i] |= own[i];
    return true;
}

static int digit_of(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = weir__lower(byte);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Behind the backslash: a byte. False: something else. */
static bool read_byte(struct reader *reader, unsigned char *ret_byte)
{
    static const char names[] = "tnrfea", bytes[] = "\t\n\r\f\033\a";
    char kind = *reader->at;
    const char *name = kind ? strchr(names, kind) : NULL;
    if (kind == 'x' && digit_of(reader->at[1]) >= 0 && digit_of(reader->at[2]) >= 0) {
        *ret_byte = (unsigned char)(digit_of(reader->at[1]) * 16 + digit_of(reader->at[2]));
        reader->at += 3;
        return true;
    }
    bool is_itself = kind > ' ' && kind < 0x7f && digit_of(kind) < 0 && kind != '_' &&
                     (weir__lower(kind) < 'a' || weir__lower(kind) > 'z');
    if (!name && !is_itself)
        return false;
    *ret_byte = (unsigned char)(name ? bytes[name - names] : kind);
    reader->at++;
    return true;
}

/* One of a class: a byte, or -1 for several. */
static int read_of_class(struct reader *reader, uint64_t set[4])
{
    unsigned char byte = (unsigned char)*reader->at++;
    if (byte == '[' && (*reader->at == ':' || *reader->at == '.' || *reader->at == '='))
        reader->is_bad = true; /* [:alpha:] */
    if (byte != '\\')
        return byte;
    if (read_byte(reader, &byte))
        return byte;
    if (*reader->at == 'b') {
        reader->at++;
        return '\b';
    }
    if (*reader->at && set_add_kind(set, *reader->at))
        reader->at++;
    else
        reader->is_bad = true;
    return -1;
}

/* Behind the '['. */
static struct piece read_class(struct reader *reader)
{
    uint64_t set[4] = {0};
    bool is_inverted = *reader->at == '^';
    reader->at += is_inverted;
    bool is_first = true;
    while (!reader->is_bad && *reader->at && (*reader->at != ']' || is_first)) {
        is_first = false;
        int from = read_of_class(reader, set), until = from;
        if (*reader->at == '-' && reader->at[1] && reader->at[1] != ']') {
            reader->at++;
            until = read_of_class(reader, set);
            reader->is_bad |= from < 0 || until < from;
        }
        if (from >= 0 && !reader->is_bad)
            set_add(set, (unsigned)from, (unsigned)until);
    }
    reader->is_bad |= *reader->at != ']';
    reader->at += *reader->at == ']';
    if (reader->is_caseless)
        set_both_cases(set);
    if (is_inverted)
        set_invert(set);
    return one_of(reader, set);
}

/* --- escapes and groups --- */

/* Behind the backslash. */
static struct piece read_escape(struct reader *reader)
{
    uint64_t set[4] = {0};
    unsigned char byte;
    if (read_byte(reader, &byte))
        return one_byte(reader, byte);
    char kind = *reader->at;
    reader->at += kind != '\0';
    if (kind && set_add_kind(set, kind))
        return one_of(reader, set);
    if (kind == 'b' || kind == 'B' || kind == 'A' || kind == 'z' || kind == 'Z')
        return nothing(reader);
    if (kind >= '1' && kind <= '9' && digit_of(*reader->at) < 0)
        return anything(reader); /* what was matched before */
    reader->is_bad = true;
    return nothing(reader);
}

/* Whether flags are read that are known here; the reader is behind them. */
static bool read_flags(struct reader *reader)
{
    bool is_on = true;
    for (; *reader->at && *reader->at != ')' && *reader->at != ':'; reader->at++) {
        if (*reader->at == '-')
            is_on = false;
        else if (*reader->at == 'i')
            reader->is_caseless = is_on;
        else if (*reader->at != 'm' && *reader->at != 's')
            return false;
    }
    return *reader->at != '\0';
}

enum group { GROUP_PLAIN, GROUP_LOOK, GROUP_CONDITION, GROUP_FLAGS };

static bool skip(struct reader *reader, const char *what)
{
    size_t length = strlen(what);
    if (strncmp(reader->at, what, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* Behind "(?". */
static enum group read_question(struct reader *reader)
{
    if (skip(reader, ":") || skip(reader, ">"))
        return GROUP_PLAIN;
    if (skip(reader, "=") || skip(reader, "!") || skip(reader, "<=") || skip(reader, "<!"))
        return GROUP_LOOK;
    if (skip(reader, "(")) {
        size_t digits = strspn(reader->at, "0123456789");
        reader->is_bad |= digits == 0 || reader->at[digits] != ')';
        reader->at += reader->is_bad ? 0 : digits + 1;
        return GROUP_CONDITION;
    }
    if (skip(reader, "P<") || skip(reader, "<")) {
        const char *end = strchr(reader->at, '>');
        reader->is_bad |= !end;
        reader->at = end ? end + 1 : reader->at;
        return GROUP_PLAIN;
    }
    reader->is_bad |= !read_flags(reader);
    return skip(reader, ":") ? GROUP_PLAIN : GROUP_FLAGS;
}

/* Behind the '('. */
static struct piece read_group(struct reader *reader)
{
    bool was_caseless = reader->is_caseless;
    enum group kind = GROUP_PLAIN;
    reader->is_bad |= *reader->at == '*';
    if (skip(reader, "?"))
        kind = read_question(reader);
    if (kind == GROUP_FLAGS) { /* hold on until the group around them ends */
        reader->is_bad |= !skip(reader, ")");
        return nothing(reader);
    }
    unsigned before = reader->room->count;
    reader->is_bad |= ++reader->depth > DEPTH_MAX;
    struct piece piece = reader->is_bad ? nothing(reader) : read_alternatives(reader);
    reader->depth--;
    reader->is_bad |= !skip(reader, ")");
    reader->is_caseless = was_caseless;
    if (kind == GROUP_PLAIN || reader->is_bad)
        return piece;
    reader->room->count = before; /* what is in it does not count */
    return kind == GROUP_LOOK ? nothing(reader) : anything(reader);
}

/* --- repeats, sequences and alternatives --- */

static struct piece read_piece(struct reader *reader)
{
    static const uint64_t all[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    char byte = *reader->at++;
    switch (byte) {
    case '(':
        return read_group(reader);
    case '[':
        return read_class(reader);
    case '\\':
        return read_escape(reader);
    case '.':
        return one_of(reader, all);
    case '^':
    case '$':
        return nothing(reader);
    case '{':
        reader->is_bad |= *reader->at == ',' || digit_of(*reader->at) >= 0;
        return one_byte(reader, '{');
    case '*':
    case '+':
    case '?':
        reader->is_bad = true;
        return nothing(reader);
    default:
        return one_byte(reader, (unsigned char)byte);
    }
}

#define ENDLESS UINT32_MAX

static bool read_number(const char **at, uint32_t *ret_number)
{
    const char *from = *at;
    uint32_t number = 0;
    for (; **at >= '0' && **at <= '9' && number < 1000000; ++*at)
        number = number * 10 + (uint32_t)(**at - '0');
    *ret_number = number;
    return *at > from;
}

/* How often the piece before is there. False: once, nothing is said about it. */
static bool read_counts(struct reader *reader, uint32_t *ret_least, uint32_t *ret_most)
{
    const char *at = reader->at;
    *ret_least = *at == '+';
    *ret_most = *at == '?' ? 1 : ENDLESS;
    if (*at == '{') {
        at++;
        if (!read_number(&at, ret_least))
            return false; /* a brace that means itself */
        *ret_most = *ret_least;
        if (*at == ',' && at++ && !read_number(&at, ret_most))
            *ret_most = ENDLESS;
        if (*at != '}') {
            reader->is_bad = true;
            return false;
        }
    } else if (*at != '*' && *at != '+' && *at != '?') {
        return false;
    }
    at++;
    at += *at == '?' || *at == '+'; /* lazy or possessive: no more texts than otherwise */
    reader->at = at;
    reader->is_bad |= *ret_most < *ret_least || (*at && strchr("*+?", *at)) ||
                      (*at == '{' && digit_of(at[1]) >= 0);
    return true;
}

/* The same piece once more, whose nodes are those from `first` until `last`. */
static struct piece copy(struct reader *reader, struct piece piece, unsigned first, unsigned last)
{
    struct weir__flank_room *room = reader->room;
    unsigned shift = room->count - first;
    for (unsigned i = first; i < last && !reader->is_bad; i++) {
        uint16_t out[2];
        for (unsigned k = 0; k < 2; k++)
            out[k] = room->nodes[i].out[k] == WEIR__FLANK_NONE
                         ? WEIR__FLANK_NONE
                         : (uint16_t)(room->nodes[i].out[k] + shift);
        add_node(reader, room->nodes[i].kind, out[0], out[1]);
    }
    return (struct piece){(uint16_t)(piece.in + shift), (uint16_t)(piece.out + shift)};
}

/* A piece, as often as it is there. */
static struct piece read_item(struct reader *reader)
{
    unsigned first = reader->room->count;
    uint32_t least, most;
    struct piece one = read_piece(reader);
    unsigned last = reader->room->count;
    if (reader->is_bad || !read_counts(reader, &least, &most))
        return one;
    if (least > reader->copies_max) {
        least = reader->copies_max;
        most = ENDLESS;
    }
    bool is_endless = most == ENDLESS || most - least > OPTIONAL_MAX;
    uint32_t copies = is_endless ? (least > 0 ? least : 1) : most;
    struct piece all = nothing(reader);
    for (uint32_t i = 0; i < copies && !reader->is_bad; i++) {
        /* The one that was read comes last: it is what the others are copied from. */
        struct piece piece = i + 1 < copies ? copy(reader, one, first, last) : one;
        if (is_endless && i + 1 == copies)
            piece = loop(reader, piece, least > 0);
        else if (!is_endless && i >= least)
            piece = perhaps(reader, piece);
        all = join(reader, all, piece);
    }
    return all;
}

static struct piece read_sequence(struct reader *reader)
{
    struct piece all = nothing(reader);
    while (!reader->is_bad && *reader->at && *reader->at != '|' && *reader->at != ')') {
        if (skip(reader, "(?#"))
            reader->is_bad = true;
        else
            all = join(reader, all, read_item(reader));
    }
    return all;
}

static struct piece read_alternatives(struct reader *reader)
{
    struct piece all = read_sequence(reader);
    while (!reader->is_bad && skip(reader, "|"))
        all = either(reader, all, read_sequence(reader));
    return all;
}

static bool read_counted(struct weir__flank_room *room, const char *text, uint16_t rule,
                         bool is_back, unsigned copies_max)
{
    struct reader reader = {
        .room = room,
        .at = text,
        .first_node = room->count,
        .copies_max = copies_max,
        .is_back = is_back,
    };
    struct piece all = read_alternatives(&reader);
    uint16_t end = add_node(&reader, WEIR__FLANK_END, rule, WEIR__FLANK_NONE);
    go_on(&reader, all.out, end);
    if (reader.is_bad || *reader.at) {
        room->count = reader.first_node;
        return false;
    }
    return true;
}

bool weir__flank_read(struct weir__flank_room *room, const char *text, uint16_t rule, bool is_back)
{
    static const unsigned copies[] = {40, 8, 2};
    bool is_read = false;
    if (weir__expression_is_wide(text))
        return false;
    for (unsigned i = 0; i < sizeof(copies) / sizeof(*copies) && !is_read; i++)
        is_read = read_counted(room, text, rule, is_back, copies[i]);
    return is_read;
}
