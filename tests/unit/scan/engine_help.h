/* engine_help.h - rules of every kind, and all that the engine says about an object, for the tests
 * and the fuzzer that compare two ways of scanning the same bytes.
 *
 * Ownership: the struct hits is the caller's and holds copies.
 */
#ifndef WEIR_TESTS_SCAN_ENGINE_HELP_H
#define WEIR_TESTS_SCAN_ENGINE_HELP_H

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

/* Found by a literal, by an expression, by words around a value, each of them anywhere or near
 * stretches of token bytes only; over several lines; with keywords,
 * entropy, requirements, allow lists, paths; one that gives way to others. All are narrow, so that
 * the edge of a segment can be put anywhere near a match. */
#define HELP_ALLOW                                                                                 \
    "[allowlist]\nregexTarget = 'line'\nregexes = ['harmless']\nstopwords = ['example']\n"
#define HELP_RULES                                                                                 \
    "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"                                  \
    "[[rules]]\nid = 'assigned'\nregex = '(?i)acme[ _]{0,3}=[ ]?([A-F0-9]{8})'\n"                  \
    "[[rules]]\nid = 'block'\nregex = '-----BEGIN X-----[\\s\\S]{1,200}?-----END X-----'\n"        \
    "[[rules]]\nid = 'digits'\nregex = '\\b[0-9]{2}Q[0-9]{2}\\b'\n"                                \
    "[[rules]]\nid = 'needs'\nregex = 'zz[0-9]{6}zz'\nkeywords = ['tok_', 'kw']\n"                 \
    "[[rules]]\nid = 'word'\ncontext = ['gizmo']\nvalue = '[a-f0-9]{12}'\n"                        \
    "[[rules]]\nid = 'pair'\nregex = 'left-([0-9]{4})'\n"                                          \
    "[[rules.required]]\nid = 'other'\nwithinLines = 2\n"                                          \
    "[[rules]]\nid = 'other'\nregex = 'right-([0-9]{4})'\nskipReport = true\n"                     \
    "[[rules]]\nid = 'generic-password'\nregex = 'pass(?:word)?=([a-z0-9_]{6,32})'\n"              \
    "entropy = 2.0\n"                                                                              \
    "[[rules]]\nid = 'line'\nregex = '(?m)^key:[ ]{0,4}([a-z]{10})$'\n"                            \
    "[[rules]]\nid = 'long'\nregex = '\\blng_[a-z0-9]{36}\\b'\n"                                   \
    "[[rules]]\nid = 'far'\nregex = '(?i)gadget[^\\x00]{1,180}?\\b([a-f0-9]{40})\\b'\n"            \
    "[[rules]]\nid = 'shape'\nregex = '\\b[A-Z]{2}[0-9]{34}\\b'\n"                                 \
    "[[rules]]\nid = 'tail'\nregex = '\\b([A-Z]{4}[0-9]{4}[A-Z]{4}[0-9]{4})(?:[^A-Za-z0-9]|$)'\n"  \
    "[[rules]]\nid = 'tail-near'\nregex = '([A-Z]{2}[a-z]{2}[0-9]{28})(?:[^0-9a-z]|$)'\n"          \
    "[[rules]]\nid = 'serial'\nregex = '^[A-Z]{5}-[0-9]{6}-[A-Z]{5}$'\n"                           \
    "[[rules]]\nid = 'serial-line'\nregex = '(?m)^[A-Z]{3}:[0-9]{8}:[A-Z]{3}$'\n"                  \
    "[[rules]]\nid = 'serial-all'\nregex = '\\A[A-Z]{5};[0-9]{6};[A-Z]{5}\\z'\n"                   \
    "[[rules]]\nid = 'file'\npath = '\\.pem$'\n"

#define HITS_MAX  4096
#define LINES_MAX (1u << 17)

struct hit {
    const struct weir__rule *rule;
    struct weir__place place;
    uint64_t secret, match, line; /* hashes */
    size_t secret_length, match_length, line_length, line_from, line_until;
    enum weir__encoding encodings[WEIR__DECODE_DEPTH_MAX];
    size_t encodings_count;
    bool is_checked;
};

struct hits {
    struct hit items[HITS_MAX];
    size_t count;
    struct weir__scan_result result;
    /* of the object at hand, for the sink; may be NULL */
    const char *bytes;
    size_t length;
    uint64_t skipped;         /* bytes before it */
    bool is_trusted;          /* places are not looked at */
    bool is_settled;          /* what is certain is asked for after each chunk */
    bool is_in_place;         /* it is put where the scanner has room */
    uint32_t ends[LINES_MAX]; /* of its lines, from its beginning */
    size_t ends_count;
    const char *problem;
};

static inline uint64_t hits_hash(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static inline void hits_find_lines(struct hits *hits)
{
    hits->ends_count = 0;
    for (size_t at = 0; hits->bytes && at < hits->length; at++)
        if (hits->bytes[at] == '\n' && hits->ends_count < LINES_MAX)
            hits->ends[hits->ends_count++] = (uint32_t)at;
}

/* Line and column of a byte of the object: as many lines as end before it. */
static inline void hits_line(const struct hits *hits, uint64_t offset, uint64_t *ret_line,
                             uint64_t *ret_column)
{
    size_t low = 0, high = hits->ends_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hits->skipped + hits->ends[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_line = low + 1;
    *ret_column = offset - (low > 0 ? hits->skipped + hits->ends[low - 1] + 1 : 0) + 1;
}

/* What is wrong with the place of a finding, or NULL. */
static inline const char *hits_problem(const struct hits *hits, const struct weir__finding *f)
{
    uint64_t line, column, from = f->place.offset, until = from + f->place.length;
    if (!f->rule->regex)
        return NULL; /* the path is the finding */
    if (from < hits->skipped || until > hits->skipped + hits->length)
        return "the place is not in the object";
    const char *there = hits->bytes + (from - hits->skipped);
    if (f->encodings_count == 0 &&
        (f->place.length != f->secret_length || memcmp(there, f->secret, f->secret_length) != 0))
        return "the secret is not at its place";
    if (f->secret_length == 0 || f->place.length == 0)
        return "the secret is empty";
    if (f->secret_length > f->match_length ||
        !memmem(f->match, f->match_length, f->secret, f->secret_length))
        return "the secret is not in its match";
    hits_line(hits, from, &line, &column);
    if (line != f->place.line || column != f->place.column)
        return "line and column are not those of the place";
    hits_line(hits, until, &line, &column);
    if (line != f->place.end_line || column != f->place.end_column)
        return "the last line and column are not those of the place";
    if (f->line_from > f->line_until || f->line_until > f->line_length)
        return "the secret is not in its line";
    if (f->line_until - f->line_from == f->place.length &&
        memcmp(f->line + f->line_from, there, f->place.length) != 0)
        return "the line is another one";
    return NULL;
}

static inline void hits_take(void *arg, const struct weir__finding *f)
{
    struct hits *hits = arg;
    if (hits->bytes && !hits->problem)
        hits->problem = hits_problem(hits, f);
    if (hits->count == HITS_MAX)
        return;
    struct hit *hit = &hits->items[hits->count++];
    memset(hit, 0, sizeof(*hit)); /* so that two of them are compared as bytes */
    hit->rule = f->rule;
    hit->place = f->place;
    hit->secret = hits_hash(f->secret, f->secret_length);
    hit->match = hits_hash(f->match, f->match_length);
    hit->line = hits_hash(f->line, f->line_length);
    hit->secret_length = f->secret_length;
    hit->match_length = f->match_length;
    hit->line_length = f->line_length;
    hit->line_from = f->line_from;
    hit->line_until = f->line_until;
    hit->encodings_count = f->encodings_count;
    for (size_t i = 0; i < f->encodings_count; i++)
        hit->encodings[i] = f->encodings[i];
    hit->is_checked = f->is_checked;
}

/* Where the object is cut: the length of the next chunk, 1 to left. */
typedef size_t hits_cut(void *arg, size_t at, size_t left);

/* Scans the object behind so many bytes that are skipped, in chunks; cut NULL: at once. */
static inline int hits_feed(const struct hits *hits, struct weir__scanner *scanner,
                            const char *bytes, size_t length)
{
    if (!hits->is_in_place)
        return weir__scanner_feed(scanner, bytes, length);
    int result = 0;
    while (length > 0 && result == 0) {
        size_t room;
        char *into = weir__scanner_room(scanner, &room);
        room = room < length ? room : length;
        memcpy(into, bytes, room);
        result = weir__scanner_feed(scanner, into, room);
        bytes += room;
        length -= room;
    }
    return result;
}

static inline int hits_scan(struct hits *hits, struct weir__scanner *scanner,
                            const struct weir__object *object, uint64_t skipped, const char *bytes,
                            size_t length, hits_cut *cut, void *arg)
{
    hits->count = 0;
    hits->problem = NULL;
    hits->bytes = hits->is_trusted ? NULL : bytes;
    hits->length = length;
    hits->skipped = skipped;
    hits_find_lines(hits);
    int result = weir__scanner_begin(scanner, object);
    if (result == 0 && skipped > 0)
        result = weir__scanner_skip(scanner, skipped);
    for (size_t at = 0; at < length && result == 0;) {
        size_t part = cut ? cut(arg, at, length - at) : length - at;
        result = hits_feed(hits, scanner, bytes + at, part);
        at += part;
        if (hits->is_settled && result == 0)
            weir__scanner_settle(scanner);
    }
    return result < 0 ? result : weir__scanner_end(scanner, &hits->result);
}

static inline int hits_compare(const void *a, const void *b)
{
    const struct hit *left = a, *right = b;
    if (left->place.offset != right->place.offset)
        return left->place.offset < right->place.offset ? -1 : 1;
    if (left->place.length != right->place.length)
        return left->place.length < right->place.length ? -1 : 1;
    if (left->rule != right->rule)
        return left->rule < right->rule ? -1 : 1;
    return left->encodings_count < right->encodings_count
               ? -1
               : left->encodings_count > right->encodings_count;
}

/* By their places: when an object has several segments, they come segment by segment. */
static inline void hits_sort(struct hits *hits)
{
    qsort(hits->items, hits->count, sizeof(hits->items[0]), hits_compare);
}

/* Moves all places to where they would be without what was skipped: it has no end of line. */
static inline void hits_move_back(struct hits *hits)
{
    for (size_t i = 0; i < hits->count; i++) {
        struct weir__place *place = &hits->items[i].place;
        if (!hits->items[i].rule->regex)
            continue;
        place->offset -= hits->skipped;
        if (place->line == 1)
            place->column -= hits->skipped;
        if (place->end_line == 1)
            place->end_column -= hits->skipped;
    }
}

static inline bool hits_are_same(const struct hits *a, const struct hits *b)
{
    return a->count == b->count && memcmp(a->items, b->items, a->count * sizeof(a->items[0])) == 0;
}

#endif
