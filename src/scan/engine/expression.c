/* expression.c - a recursive descent over the text of an expression.
 *
 * For each part it knows the widest match, the set of all texts that it can match (if they are
 * few), and the best set of literals of which one is in every match. A sequence of parts with few
 * texts multiplies them out; where that ends, what has been gathered is a candidate, and the
 * candidate with the longest shortest literal wins, or, of those that are long enough, the one of
 * fewest literals. Alternatives are joined: one without a literal has none.
 */
#include <string.h>

#include <weir/error.h>

#include "expression_part.h"

#include "banned.h"

static struct weir__part read_alternatives(struct weir__reader *reader);

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
static void keep_better(struct weir__part *best, const struct weir__literals *candidate,
                        uint64_t reach_max)
{
    if (is_better(candidate, &best->required)) {
        best->required = *candidate;
        best->reach_max = reach_max;
    }
}

static bool is_by_texts(const struct weir__part *part)
{
    return part->is_exact && !is_better(&part->required, &part->texts);
}

static struct weir__literals needs_of(const struct weir__part *part)
{
    return is_by_texts(part) ? part->texts : part->required;
}

static uint64_t reach_of(const struct weir__part *part)
{
    return is_by_texts(part) ? part->width_max : part->reach_max;
}

/* Whether all that it matches has one of the words in it. */
static bool has_word(const struct weir__reader *reader, const struct weir__part *part)
{
    return part->has_word || (part->is_exact && weir__literals_imply(&part->texts, reader->words,
                                                                     reader->words_count));
}

/* --- groups --- */

enum group {
    GROUP_PLAIN, /* matches what is in it */
    GROUP_AHEAD, /* looks at it, and takes nothing */
    GROUP_BEHIND,
    GROUP_PERHAPS, /* in some way: how wide it is, is all that is known */
    GROUP_NONE,    /* nothing is in it; the reader is at its end */
    GROUP_REFERENCE,
};

static void skip_to_close(struct weir__reader *reader)
{
    while (*reader->at && *reader->at != ')')
        reader->at++;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* (?i-x), (?i-x:...) */
static enum group read_flags(struct weir__reader *reader)
{
    const char *at = reader->at;
    bool is_on = true;
    for (; *at && *at != ')' && *at != ':'; at++) {
        if (*at == '-')
            is_on = false;
        else if (*at == 'x')
            reader->is_extended = is_on;
        else if (*at == 'i')
            reader->is_caseless = is_on;
        else if (*at == '^')
            reader->is_extended = reader->is_caseless = false;
        else
            reader->is_unknown |= !strchr("msnJU", *at);
    }
    reader->at = *at == ':' ? at + 1 : at;
    return *at == ':' ? GROUP_PLAIN : GROUP_NONE;
}

/* (?<name>...), (?'name'...) */
static enum group read_name(struct weir__reader *reader)
{
    const char *stop = strchr(reader->at + 1, *reader->at == '<' ? '>' : '\'');
    reader->is_bad |= !stop;
    reader->at = stop ? stop + 1 : reader->at + strlen(reader->at);
    return GROUP_PLAIN;
}

/* Behind "(?(": one of two alternatives, by whether something holds. A text that is looked for is
 * taken for a part of what it decides about. */
static enum group read_condition(struct weir__reader *reader)
{
    if (*reader->at == '?' || *reader->at == '*') {
        reader->at--; /* a group by itself */
    } else {
        skip_to_close(reader);
        reader->at += *reader->at == ')';
    }
    return GROUP_PERHAPS;
}

/* Behind "(?". */
static enum group read_question(struct weir__reader *reader)
{
    char kind = *reader->at, next = kind ? reader->at[1] : '\0';
    bool is_reference = (kind == 'P' && (next == '=' || next == '>')) || kind == '&' ||
                        kind == 'R' || is_digit(kind) ||
                        ((kind == '+' || kind == '-') && is_digit(next));
    if (kind == '#' || is_reference) {
        skip_to_close(reader);
        return is_reference ? GROUP_REFERENCE : GROUP_NONE;
    }
    if (kind == 'P' && next == '<')
        kind = *++reader->at, next = reader->at[1];
    if (kind == '<' && (next == '=' || next == '!' || next == '*')) {
        reader->at += 2;
        return GROUP_BEHIND;
    }
    if (kind == '<' || kind == '\'')
        return read_name(reader);
    if (kind == '=' || kind == '!' || kind == '*' || kind == ':' || kind == '>' || kind == '|') {
        reader->at++;
        return kind == '=' || kind == '!' || kind == '*' ? GROUP_AHEAD : GROUP_PLAIN;
    }
    if (kind == '(') {
        reader->at++;
        return read_condition(reader);
    }
    return read_flags(reader);
}

/* Behind "(*": verbs, settings, and groups by names. */
static enum group read_verb(struct weir__reader *reader)
{
    static const char *const known[] = {
        "COMMIT", "PRUNE", "SKIP",    "THEN", "F",   "FAIL",        "UTF",    "UCP",      "CR",
        "LF",     "CRLF",  "ANYCRLF", "ANY",  "NUL", "BSR_ANYCRLF", "NO_JIT", "NOTEMPTY", "NO_OPT"};
    size_t length = strcspn(reader->at, ":=)"), size = 0;
    const char *from = reader->at;
    if (*from >= 'a' && *from <= 'z' && from[length] == ':') {
        reader->at += length + 1;
        return GROUP_PERHAPS;
    }
    bool is_known = strncmp(from, "LIMIT_", 6) == 0 || strncmp(from, "NO_", 3) == 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        size = strlen(known[i]);
        is_known |= size == length && strncmp(from, known[i], size) == 0;
    }
    reader->is_unknown |= !is_known; /* such as (*ACCEPT), behind which nothing is needed */
    skip_to_close(reader);
    return GROUP_NONE;
}

static struct weir__part part_of_group(struct weir__reader *reader, enum group kind,
                                       const struct weir__part *inner)
{
    struct weir__part part;
    switch (kind) {
    case GROUP_PLAIN:
        return *inner;
    case GROUP_AHEAD:
        return weir__part_ahead(reader, inner->extent_max);
    case GROUP_BEHIND:
        return weir__part_ahead(reader,
                                inner->extent_max > inner->width_max ? inner->extent_max : 0);
    case GROUP_PERHAPS:
        part = weir__part_vague(inner->width_max);
        part.extent_max = inner->extent_max;
        return part;
    case GROUP_REFERENCE:
        return weir__part_vague(WEIR__WIDTH_ANY);
    case GROUP_NONE:
    default:
        return weir__part_nothing();
    }
}

static struct weir__part read_group(struct weir__reader *reader)
{
    struct weir__part part = weir__part_nothing();
    enum group kind = GROUP_PLAIN;
    bool was_extended = reader->is_extended, was_caseless = reader->is_caseless;
    if (*reader->at == '?' || *reader->at == '*')
        kind = *reader->at++ == '?' ? read_question(reader) : read_verb(reader);
    if (kind == GROUP_NONE) { /* (?x) holds on */
        was_extended = reader->is_extended;
        was_caseless = reader->is_caseless;
    } else if (kind != GROUP_REFERENCE) {
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
    return part_of_group(reader, kind, &part);
}

/* --- repeats --- */

#define MANY 1000000u

static bool read_counts(struct weir__reader *reader, unsigned *least, unsigned *most)
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
            /* A brace that means itself; of blanks in it not all versions think the same. */
            reader->is_unknown |= *at == ' ' || *at == '\t';
            return false;
        }
    }
    if (*at != '}' || (!has[0] && !has[1]))
        return false;
    reader->is_unknown |= !has[0]; /* the same holds for {,5} */
    reader->at = at + 1;
    *least = numbers[0];
    *most = has[1] ? numbers[1] : has_comma ? UINT32_MAX : numbers[0];
    return true;
}

static struct weir__part repeat_texts(const struct weir__reader *reader,
                                      const struct weir__part *part, unsigned least, unsigned most)
{
    if (most == 1 && least == 1)
        return *part;
    uint64_t width = WEIR__WIDTH_ANY;
    if (part->width_max == 0 || most == 0)
        width = 0;
    else if (most != UINT32_MAX && part->width_max < WEIR__WIDTH_ANY / most)
        width = part->width_max * most;
    if (least == 0 && most == 1 && part->is_exact) {
        struct weir__part either = *part;
        either.required.count = 0;
        either.has_word = false;
        if (weir__literals_add(&either.texts, "", 0, true))
            return either;
    }
    struct weir__part times = weir__part_vague(width);
    if (least == 0)
        return times;
    /* As often as it must be there, or as a literal is long. */
    struct weir__part all = *part;
    unsigned joined = 1;
    bool is_one = part->is_exact && part->texts.count == 1;
    while (is_one && joined < least && weir__part_join(&all, part))
        joined++;
    if (is_one && joined == most)
        return all;
    times.required = needs_of(&all);
    times.has_word = has_word(reader, &all);
    memcpy(times.late, part->late, sizeof(times.late));
    times.reach_max = reach_of(&all); /* the first time is the one that is found */
    return times;
}

static struct weir__part read_repeats(struct weir__reader *reader, struct weir__part part)
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
        uint64_t extent = most == 0 ? 0 : part.extent_max;
        part = repeat_texts(reader, &part, least, most);
        part.row = row;
        part.extent_max = weir__width_sum(part.width_max, extent);
    }
}

/* --- sequences and alternatives --- */

static struct weir__part read_piece(struct weir__reader *reader)
{
    if (reader->is_quoted)
        return weir__part_character(reader);
    switch (*reader->at) {
    case '(':
        reader->at++;
        return read_group(reader);
    case '[':
        reader->at++;
        return weir__part_class(reader);
    case '\\':
        reader->at++;
        return weir__part_escape(reader);
    case '.':
        reader->at++;
        return weir__part_vague(1);
    case '$':
        reader->at++;
        return weir__part_ahead(reader, 2); /* the end of a line may have two */
    case '^':
        reader->at++;
        return weir__part_nothing();
    case '{': /* means itself, unless it is apart from what it is about */
        reader->is_unknown |= is_digit(reader->at[1]);
        return weir__part_character(reader);
    case '*':
    case '+':
    case '?':
        reader->is_unknown = true; /* repeats nothing that is known here */
        reader->at++;
        return weir__part_nothing();
    default:
        return weir__part_character(reader);
    }
}

/* What means nothing, not even between a part and how often it is there: comments, the marks of
 * quoted text, and blanks in expressions that say so. */
static void skip_needless(struct weir__reader *reader)
{
    for (;;) {
        const char *at = reader->at;
        if (at[0] == '\\' && at[1] == 'E') {
            reader->is_quoted = false;
            reader->at += 2;
        } else if (reader->is_quoted) {
            return;
        } else if (at[0] == '\\' && at[1] == 'Q') {
            reader->is_quoted = true;
            reader->at += 2;
        } else if (at[0] == '(' && at[1] == '?' && at[2] == '#') {
            skip_to_close(reader);
            reader->is_bad |= *reader->at == '\0';
            reader->at += *reader->at != '\0';
        } else if (reader->is_extended && *at == '#') {
            reader->at += strcspn(at, "\n");
        } else if (reader->is_extended && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) {
            reader->at++;
        } else {
            return;
        }
    }
}

/* Whether a sequence goes on. */
static bool has_piece(struct weir__reader *reader)
{
    skip_needless(reader);
    return !reader->is_bad && *reader->at &&
           (reader->is_quoted || (*reader->at != '|' && *reader->at != ')'));
}

/* What all texts of a run begin with, if that is long enough to tell anything. */
static void note_late(struct weir__part *whole, const struct weir__literals *texts)
{
    size_t length = weir__literals_shortest(texts);
    for (unsigned i = 0; i < texts->count; i++) {
        size_t same = 0;
        while (same < length && texts->text[i][same] == texts->text[0][same])
            same++;
        length = texts->is_cased[i] ? same : 0;
    }
    if (length < WEIR__LATE_MIN || memchr(texts->text[0], '\0', length))
        return;
    memcpy(whole->late, texts->text[0], length);
    whole->late[length] = '\0';
}

static struct weir__part read_sequence(struct weir__reader *reader)
{
    struct weir__part whole = weir__part_nothing(), run = weir__part_nothing();
    bool is_continued = false; /* the run goes on with one that became too long */
    while (has_piece(reader)) {
        struct weir__part piece = read_piece(reader);
        skip_needless(reader);
        if (!reader->is_quoted)
            piece = read_repeats(reader, piece);
        uint64_t before = whole.width_max, extent = weir__width_sum(before, piece.extent_max);
        whole.extent_max = extent > whole.extent_max ? extent : whole.extent_max;
        whole.width_max = weir__width_sum(before, piece.width_max);
        whole.row = weir__row_join(whole.row, piece.row);
        if (piece.is_exact && piece.texts.count > 1) {
            keep_better(&whole, &run.texts, before); /* as it is before it is multiplied */
            keep_better(&whole, &piece.required, weir__width_sum(before, piece.reach_max));
        }
        whole.has_word |= piece.has_word;
        if (weir__part_join(&run, &piece))
            continue;
        whole.is_exact = false;
        whole.has_word |= has_word(reader, &run);
        keep_better(&whole, &run.texts, before);
        keep_better(&whole, &piece.required, weir__width_sum(before, piece.reach_max));
        if (!is_continued)
            note_late(&whole, &run.texts);
        if (piece.late[0])
            memcpy(whole.late, piece.late, sizeof(whole.late));
        is_continued = piece.is_exact;
        run = piece.is_exact ? piece : weir__part_nothing();
    }
    whole.has_word |= has_word(reader, &run);
    if (whole.is_exact)
        whole.texts = run.texts;
    else
        keep_better(&whole, &run.texts, whole.width_max);
    if (!whole.is_exact && !is_continued)
        note_late(&whole, &run.texts);
    return whole;
}

static void join_alternative(struct weir__part *all, const struct weir__part *other)
{
    uint64_t reach = reach_of(all) > reach_of(other) ? reach_of(all) : reach_of(other);
    struct weir__literals mine = needs_of(all), others = needs_of(other);
    all->required = (struct weir__literals){0};
    all->late[0] = '\0';
    if (weir__literals_shortest(&mine) > 0 && weir__literals_shortest(&others) > 0)
        all->required = weir__literals_either(&mine, &others);
    all->reach_max = reach;
    all->row = weir__row_either(all->row, other->row);
    if (other->width_max > all->width_max)
        all->width_max = other->width_max;
    if (other->extent_max > all->extent_max)
        all->extent_max = other->extent_max;
    all->is_exact =
        all->is_exact && other->is_exact && weir__literals_join(&all->texts, &other->texts);
}

static struct weir__part read_alternatives(struct weir__reader *reader)
{
    struct weir__part all = read_sequence(reader);
    while (!reader->is_bad && *reader->at == '|') {
        reader->at++;
        struct weir__part other = read_sequence(reader);
        all.has_word &= other.has_word; /* a sequence knows of its texts as well */
        join_alternative(&all, &other);
    }
    return all;
}

bool weir__expression_implies(const char *text, char *const *words, size_t count)
{
    struct weir__reader reader = {.at = text,
                                  .is_wide = weir__expression_is_wide(text),
                                  .words = words,
                                  .words_count = count};
    struct weir__part whole = read_alternatives(&reader);
    return whole.has_word && !reader.is_bad && !reader.is_unknown && *reader.at == '\0';
}

static uint64_t times(uint64_t width, unsigned factor)
{
    return width > WEIR__WIDTH_ANY / factor ? WEIR__WIDTH_ANY : width * factor;
}

int weir__expression_study(const char *text, struct weir__expression *ret_study)
{
    struct weir__reader reader = {.at = text, .is_wide = weir__expression_is_wide(text)};
    struct weir__part whole = read_alternatives(&reader);
    memset(ret_study, 0, sizeof(*ret_study));
    ret_study->width_max = ret_study->extent_max = WEIR__WIDTH_ANY;
    ret_study->ahead_max = ret_study->reach_max = WEIR__WIDTH_ANY;
    if (reader.is_unknown)
        return 0;
    if (reader.is_bad || *reader.at != '\0')
        return -WEIR_E_INVALID;
    /* Where characters are meant, a part of one byte may match four. */
    unsigned factor = reader.is_wide ? 4 : 1;
    ret_study->stretch_min = factor == 1 ? whole.row.longest : 0;
    ret_study->width_max = times(whole.width_max, factor);
    ret_study->extent_max = times(whole.extent_max, factor);
    ret_study->ahead_max = times(reader.ahead_max, factor);
    ret_study->reach_max = times(reach_of(&whole), factor);
    ret_study->required = needs_of(&whole);
    if (weir__literals_shortest(&ret_study->required) == 0)
        ret_study->required.count = 0;
    weir__literals_prune(&ret_study->required);
    memcpy(ret_study->late, whole.late, sizeof(ret_study->late));
    return 0;
}
