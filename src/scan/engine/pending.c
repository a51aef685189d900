/* pending.c - candidates of an object until it is complete.
 *
 * Some things are known only when the whole object has been seen: whether a keyword of the rule is
 * anywhere in it, whether a rule that is required has a match near, and whether a special rule has
 * the secret that a generic one has as well. So candidates wait. There is room for so many and for
 * so much text; when it is used up, what waits is judged by what has been seen so far.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "parts.h"

#include "banned.h"

int weir__pending_init(struct weir__pending *pending)
{
    weir__buffer_init(&pending->text, WEIR__CANDIDATE_TEXT);
    pending->items = weir__base_alloc(WEIR__CANDIDATES_MAX, sizeof(*pending->items));
    return pending->items ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__pending_fini(struct weir__pending *pending)
{
    weir__buffer_fini(&pending->text);
    weir__base_free(pending->items);
}

struct weir__candidate *weir__pending_new(struct weir__scanner *scanner, size_t text)
{
    struct weir__pending *pending = &scanner->pending;
    if (pending->count == WEIR__CANDIDATES_MAX ||
        weir__buffer_length(&pending->text) + text > WEIR__CANDIDATE_TEXT)
        weir__pending_flush(scanner);
    if (weir__buffer_reserve(&pending->text, text) < 0) {
        scanner->error = -WEIR_E_NO_MEMORY;
        return NULL;
    }
    struct weir__candidate *candidate = &pending->items[pending->count++];
    memset(candidate, 0, sizeof(*candidate));
    return candidate;
}

uint32_t weir__pending_text(struct weir__pending *pending, const char *bytes, size_t length)
{
    uint32_t at = (uint32_t)weir__buffer_length(&pending->text);
    /* There is room: it was reserved. */
    int result = weir__buffer_append(&pending->text, bytes, length);
    (void)result;
    return at;
}

/* --- judging --- */

static bool has_keyword(const struct weir__scanner *scanner, const struct weir__prepared *prepared)
{
    const uint32_t *numbers = scanner->engine->keyword_numbers + prepared->first_keyword;
    for (uint32_t i = 0; i < prepared->keywords_count; i++)
        if (numbers[i] != UINT32_MAX && scanner->has_keyword[numbers[i]])
            return true;
    return prepared->keywords_count == 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static bool is_near(const struct weir__candidate *a, const struct weir__candidate *b,
                    const struct weir__required *required)
{
    if (required->within_lines >= 0 &&
        distance(a->match_line, b->match_line) > (uint64_t)required->within_lines)
        return false;
    return required->within_columns < 0 ||
           (a->match_line == b->match_line &&
            distance(a->match_column, b->match_column) <= (uint64_t)required->within_columns);
}

static bool has_required(const struct weir__scanner *scanner,
                         const struct weir__candidate *candidate)
{
    const struct weir__pending *pending = &scanner->pending;
    const struct weir__rule *rule = scanner->engine->prepared[candidate->rule].rule;
    for (size_t i = 0; i < rule->required_count; i++) {
        bool is_there = false;
        for (unsigned k = 0; k < pending->count && !is_there; k++) {
            const struct weir__candidate *other = &pending->items[k];
            const struct weir__rule *one = scanner->engine->prepared[other->rule].rule;
            is_there = other != candidate && strcmp(one->id, rule->required[i].rule) == 0 &&
                       is_near(candidate, other, &rule->required[i]);
        }
        if (!is_there)
            return false;
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct weir__candidate *left = a, *right = b;
    if (left->place.offset != right->place.offset)
        return left->place.offset < right->place.offset ? -1 : 1;
    if (left->place.length != right->place.length)
        return left->place.length < right->place.length ? -1 : 1;
    return left->rule < right->rule ? -1 : left->rule > right->rule;
}

/* A generic rule gives way where another one has the same bytes, or a part of them. Items are in
 * order of their places, so that those in reach are neighbours. */
static bool is_covered(const struct weir__scanner *scanner, unsigned index)
{
    const struct weir__pending *pending = &scanner->pending;
    const struct weir__candidate *one = &pending->items[index];
    if (!scanner->engine->prepared[one->rule].is_generic)
        return false;
    uint64_t end = one->place.offset + one->place.length;
    for (unsigned i = index + 1; i < pending->count && pending->items[i].place.offset < end; i++)
        if (!scanner->engine->prepared[pending->items[i].rule].is_generic)
            return true;
    for (unsigned i = index; i-- > 0 && index - i < 64;) {
        const struct weir__candidate *other = &pending->items[i];
        if (other->place.offset + other->place.length > one->place.offset &&
            !scanner->engine->prepared[other->rule].is_generic)
            return true;
    }
    return false;
}

/* The same secret of the same rule at the same place, found plain and decoded, or twice decoded. */
static bool is_repeated(const struct weir__pending *pending, unsigned index)
{
    const struct weir__candidate *one = &pending->items[index];
    const struct weir__candidate *before = index > 0 ? one - 1 : NULL;
    return before && before->rule == one->rule && before->place.offset == one->place.offset &&
           before->place.length == one->place.length;
}

static void tell(struct weir__scanner *scanner, const struct weir__candidate *candidate)
{
    const char *text = weir__buffer_text(&scanner->pending.text);
    struct weir__finding finding = {
        .rule = scanner->engine->prepared[candidate->rule].rule,
        .place = candidate->place,
        .secret = text + candidate->secret_at,
        .secret_length = candidate->secret_length,
        .match = text + candidate->match_at,
        .match_length = candidate->match_length,
        .line = text + candidate->line_at,
        .line_length = candidate->line_length,
        .line_from = candidate->line_from,
        .line_until = candidate->line_until,
        .encodings = candidate->encodings,
        .encodings_count = candidate->encodings_count,
        .entropy = candidate->entropy,
        .is_checked = candidate->is_checked,
    };
    scanner->result.findings++;
    scanner->sink.finding(scanner->sink.arg, &finding);
}

void weir__pending_flush(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    qsort(pending->items, pending->count, sizeof(*pending->items), by_place);
    for (unsigned i = 0; i < pending->count; i++) {
        const struct weir__candidate *candidate = &pending->items[i];
        const struct weir__prepared *prepared = &scanner->engine->prepared[candidate->rule];
        if (is_repeated(pending, i) || prepared->rule->is_hidden)
            continue;
        if (!has_keyword(scanner, prepared) || !has_required(scanner, candidate) ||
            is_covered(scanner, i))
            scanner->result.rejected++;
        else
            tell(scanner, candidate);
    }
    pending->count = 0;
    weir__buffer_truncate(&pending->text, 0);
}
