/* expression.c - a recursive descent over the text of an expression.
 *
 * For each part it knows the widest match, the set of all texts that it can match (if they are
 * few), and the best set of literals of which one is in every match. A sequence of parts with few
 * texts multiplies them out; where that ends, what has been gathered is a candidate, and the
 * candidate with the longest shortest literal wins. Alternatives are joined: one without a literal
 * has none.
 */
#include "expression.h"

#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define WORD_MIN    4u /* shorter words are everywhere */
#define CLASS_TEXTS 4u /* a class of more bytes than this is no literal */

/* Words that source code is full of: to run an expression at each of them costs more than to let
 * Hyperscan look for the expression itself. */
static const char *const common_words[] = {
    "access",   "account", "address",    "apikey", "atlas",  "auth",         "author",
    "base",     "bearer",  "bing",       "case",   "class",  "client",       "code",
    "config",   "content", "create",     "cred",   "creds",  "credential",   "data",
    "default",  "email",   "face",       "file",   "from",   "hash",         "host",
    "http",     "https",   "identified", "info",   "index",  "list",         "login",
    "mail",     "mode",    "name",       "node",   "null",   "number",       "pass",
    "passw",    "passwd",  "password",   "path",   "port",   "private",      "public",
    "pword",    "read",    "robot",      "root",   "salt",   "secret",       "self",
    "server",   "size",    "smtp",       "speech", "string", "subscription", "table",
    "test",     "text",    "time",       "token",  "type",   "user",         "userid",
    "username", "value",   "version",    "vision", "with",   "write",
};

struct part {
    uint64_t width_max;
    bool is_exact;                  /* texts holds all that it can match */
    struct weir__literals texts;    /* may hold "" */
    struct weir__literals required; /* of parts that are not exact */
};

struct reader {
    const char *at;
    unsigned depth;
    bool is_extended; /* (?x): blanks and comments mean nothing */
    bool is_bad;
};

static struct part read_alternatives(struct reader *reader);

size_t weir__literals_shortest(const struct weir__literals *literals)
{
    size_t least = 0;
    for (unsigned i = 0; i < literals->count; i++)
        if (i == 0 || literals->length[i] < least)
            least = literals->length[i];
    return least;
}

static size_t worth(const char *text, size_t length)
{
    bool is_word = true;
    for (size_t i = 0; i < length && is_word; i++)
        is_word = text[i] >= 'a' && text[i] <= 'z';
    if (is_word && length < WORD_MIN)
        return length > 0;
    for (size_t i = 0; i < sizeof(common_words) / sizeof(common_words[0]); i++)
        if (strlen(common_words[i]) == length && memcmp(common_words[i], text, length) == 0)
            return 1;
    return length;
}

size_t weir__literals_worth(const struct weir__literals *literals)
{
    size_t least = 0;
    for (unsigned i = 0; i < literals->count; i++) {
        size_t one = worth(literals->text[i], literals->length[i]);
        least = i == 0 || one < least ? one : least;
    }
    return least;
}

static uint64_t add_widths(uint64_t a, uint64_t b)
{
    return a == WEIR__WIDTH_ANY || b == WEIR__WIDTH_ANY || a + b < a ? WEIR__WIDTH_ANY : a + b;
}

static struct part part_nothing(void)
{
    struct part part = {.is_exact = true};
    part.texts.count = 1;
    return part;
}

static struct part part_vague(uint64_t width)
{
    return (struct part){.width_max = width};
}

static bool literals_add(struct weir__literals *set, const char *text, size_t length)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->length[i] == length && memcmp(set->text[i], text, length) == 0)
            return true;
    if (set->count == WEIR__EXPRESSION_LITERALS || length > WEIR__EXPRESSION_LITERAL)
        return false;
    memcpy(set->text[set->count], text, length);
    set->length[set->count++] = (uint8_t)length;
    return true;
}

static struct part part_byte(char byte)
{
    struct part part = {.width_max = 1, .is_exact = true};
    char text = weir__lower(byte);
    literals_add(&part.texts, &text, 1);
    return part;
}

/* What an exact part is good for as a required literal: all of its texts, unless one is empty. */
static void keep_better(struct weir__literals *best, const struct weir__literals *candidate)
{
    size_t had = weir__literals_worth(best), have = weir__literals_worth(candidate);
    if (have > had || (have == had && have > 0 && candidate->count < best->count))
        *best = *candidate;
}

static struct weir__literals needs_of(const struct part *part)
{
    return part->is_exact ? part->texts : part->required;
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
            if (!literals_add(&joined, text, first + second))
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
    }
    bool is_group = *at == ':';
    reader->at = is_group ? at + 1 : at;
    return is_group;
}

static struct part read_group(struct reader *reader)
{
    struct part part = part_nothing();
    bool is_assertion = false, was_extended = reader->is_extended, is_group = true;
    if (*reader->at == '?') {
        reader->at++;
        is_group = read_group_head(reader, &is_assertion);
        if (!is_group)
            was_extended = reader->is_extended; /* (?x) holds on */
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
        const char *end = strstr(reader->at, "\\E");
        size_t length = end ? (size_t)(end - reader->at) : strlen(reader->at);
        for (size_t i = 0; i < length; i++) {
            struct part byte = part_byte(reader->at[i]);
            if (!join_exact(&all, &byte))
                all = part_vague(length);
        }
        reader->at += length + (end ? 2 : 0);
        all.width_max = length;
        return all;
    }
    if (strchr("bBAzZG", kind))
        return part_nothing();
    if (strchr("dDwWsShHvVNR", kind))
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
        return byte < 0 ? part_vague(4) : part_byte((char)byte);
    }
    if ((kind >= '0' && kind <= '9') || kind == 'k' || kind == 'g')
        return part_vague(WEIR__WIDTH_ANY); /* back references, octal: rare, and not worth it */
    int byte = plain_escape(kind);
    return part_byte(byte < 0 ? kind : (char)byte);
}

/* The bytes of a class, as far as they are needed: up to CLASS_TEXTS of them in lower case. */
struct class_bytes {
    char bytes[CLASS_TEXTS];
    unsigned count; /* more than CLASS_TEXTS: many */
};

static void class_add(struct class_bytes *seen, char byte)
{
    byte = weir__lower(byte);
    for (unsigned i = 0; i < seen->count && i < CLASS_TEXTS; i++)
        if (seen->bytes[i] == byte)
            return;
    if (seen->count < CLASS_TEXTS)
        seen->bytes[seen->count] = byte;
    seen->count++;
}

static void class_escape(struct reader *reader, struct class_bytes *seen, int *ret_byte)
{
    char kind = *reader->at ? *reader->at++ : '\0';
    *ret_byte = -1;
    if (kind == 'x')
        *ret_byte = read_hex(reader);
    else if (strchr("dDwWsShHvVpPN0123456789", kind) && kind)
        seen->count = CLASS_TEXTS + 1;
    else
        *ret_byte = plain_escape(kind) >= 0 ? plain_escape(kind) : (unsigned char)kind;
    if (*ret_byte < 0)
        seen->count = CLASS_TEXTS + 1;
}

static struct part read_class(struct reader *reader)
{
    struct class_bytes seen = {.count = 0};
    bool is_first = true, is_wide = false;
    if (*reader->at == '^') {
        seen.count = CLASS_TEXTS + 1;
        reader->at++;
    }
    while (*reader->at && (*reader->at != ']' || is_first)) {
        is_first = false;
        int byte = (unsigned char)*reader->at;
        if (*reader->at == '[' && reader->at[1] == ':' && strstr(reader->at, ":]")) {
            reader->at = strstr(reader->at, ":]") + 2;
            seen.count = CLASS_TEXTS + 1;
            continue;
        }
        reader->at++;
        if (byte == '\\')
            class_escape(reader, &seen, &byte);
        is_wide |= byte > 0x7f;
        if (*reader->at == '-' && reader->at[1] && reader->at[1] != ']') {
            seen.count = CLASS_TEXTS + 1; /* a range */
            reader->at++;
        } else if (byte >= 0) {
            class_add(&seen, (char)byte);
        }
    }
    if (*reader->at)
        reader->at++;
    else
        reader->is_bad = true;
    if (seen.count == 0 || seen.count > CLASS_TEXTS || is_wide)
        return part_vague(is_wide ? 4 : 1);
    struct part part = {.width_max = 1, .is_exact = true};
    for (unsigned i = 0; i < seen.count; i++)
        literals_add(&part.texts, &seen.bytes[i], 1);
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

static struct part repeat(const struct part *part, unsigned least, unsigned most)
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
        if (literals_add(&either.texts, "", 0))
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
        part = repeat(&part, least, most);
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
        return part_byte(byte);
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
        whole.width_max = add_widths(whole.width_max, piece.width_max);
        if (join_exact(&run, &piece))
            continue;
        whole.is_exact = false;
        keep_better(&whole.required, &run.texts);
        if (piece.is_exact) {
            run = piece;
        } else {
            keep_better(&whole.required, &piece.required);
            run = part_nothing();
        }
    }
    if (whole.is_exact)
        whole.texts = run.texts;
    else
        keep_better(&whole.required, &run.texts);
    return whole;
}

static void join_alternative(struct part *all, const struct part *other)
{
    if (other->width_max > all->width_max)
        all->width_max = other->width_max;
    struct weir__literals joined = all->is_exact && other->is_exact ? all->texts : needs_of(all);
    struct weir__literals more = needs_of(other);
    bool fits = joined.count > 0 && more.count > 0;
    for (unsigned i = 0; i < more.count && fits; i++)
        fits = literals_add(&joined, more.text[i], more.length[i]);
    if (!fits)
        joined.count = 0;
    all->is_exact = all->is_exact && other->is_exact && fits;
    if (all->is_exact) {
        all->texts = joined;
    } else {
        all->required = joined;
        if (weir__literals_shortest(&joined) == 0)
            all->required.count = 0;
    }
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

int weir__expression_study(const char *text, struct weir__expression *ret_study)
{
    struct reader reader = {.at = text};
    struct part whole = read_alternatives(&reader);
    memset(ret_study, 0, sizeof(*ret_study));
    ret_study->width_max = WEIR__WIDTH_ANY;
    if (reader.is_bad || *reader.at != '\0')
        return -WEIR_E_INVALID;
    ret_study->width_max = whole.width_max;
    ret_study->required = needs_of(&whole);
    if (weir__literals_shortest(&ret_study->required) == 0)
        ret_study->required.count = 0;
    return 0;
}
