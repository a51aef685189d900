/* pending.c - candidates of an object until it is complete.
 *
 * Some things are known only when the whole object has been seen: whether a keyword of the rule is
 * anywhere in it, whether a rule that is required has a match near, and whether a special rule has
 * the secret that a generic one has as well. So candidates wait. There is room for so many and for
 * so much text; when it is used up, what waits is judged by what has been seen so far.
 *
 * Most rules ask for none of that. What nothing can change any more is told with its segment, so
 * that a stream without an end is not silent; it stays here for the others to be compared with.
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
    pending->order = weir__base_alloc(WEIR__CANDIDATES_MAX, sizeof(*pending->order));
    return pending->items && pending->order ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__pending_fini(struct weir__pending *pending)
{
    weir__buffer_fini(&pending->text);
    weir__base_free(pending->items);
    weir__base_free(pending->order);
}

void weir__pending_make_room(struct weir__scanner *scanner)
{
    const struct weir__pending *pending = &scanner->pending;
    if (pending->count > WEIR__CANDIDATES_MAX / 4 * 3 ||
        weir__buffer_length(&pending->text) > WEIR__CANDIDATE_TEXT / 4 * 3)
        weir__pending_flush(scanner);
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

/* Candidates by rule and by where their matches begin, so that those near one are found by halving:
 * there may be thousands, each of which requires others. */

struct spot {
    uint32_t rule;
    uint64_t line, column;
};

static int compare_spots(const struct spot *a, const struct spot *b)
{
    if (a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

static struct spot spot_of(const struct weir__candidate *candidate)
{
    return (struct spot){candidate->rule, candidate->match_line, candidate->match_column};
}

static int by_spot(const void *a, const void *b, void *arg)
{
    const struct weir__candidate *items = arg;
    struct spot left = spot_of(&items[*(const uint32_t *)a]),
                right = spot_of(&items[*(const uint32_t *)b]);
    return compare_spots(&left, &right);
}

static void find_order(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    bool is_wanted = false;
    for (unsigned i = 0; i < pending->count; i++) {
        pending->order[i] = i;
        is_wanted |= scanner->engine->prepared[pending->items[i].rule].rule->required_count > 0;
    }
    if (is_wanted)
        qsort_r(pending->order, pending->count, sizeof(*pending->order), by_spot, pending->items);
}

/* Whether another candidate is between the two, both included. */
static bool has_between(const struct weir__pending *pending, const struct spot *first,
                        const struct spot *last, const struct weir__candidate *but)
{
    unsigned low = 0, high = pending->count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        struct spot spot = spot_of(&pending->items[pending->order[middle]]);
        if (compare_spots(&spot, first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < pending->count; low++) {
        const struct weir__candidate *one = &pending->items[pending->order[low]];
        struct spot spot = spot_of(one);
        if (compare_spots(&spot, last) > 0)
            return false;
        if (one != but)
            return true;
    }
    return false;
}

/* The number of a rule, or that of none. */
static uint32_t rule_of(struct weir__scanner *scanner, const struct weir__required *required)
{
    const struct weir__engine *engine = scanner->engine;
    struct weir__pending_name *name =
        &scanner->pending.names[(uintptr_t)required / sizeof(*required) % WEIR__PENDING_NAMES];
    if (name->required == required)
        return name->rule;
    uint32_t rule = 0;
    while (rule < engine->count && strcmp(engine->prepared[rule].rule->id, required->rule) != 0)
        rule++;
    *name = (struct weir__pending_name){required, rule};
    return rule;
}

static bool has_required(struct weir__scanner *scanner, const struct weir__candidate *candidate)
{
    const struct weir__rule *rule = scanner->engine->prepared[candidate->rule].rule;
    for (size_t i = 0; i < rule->required_count; i++) {
        const struct weir__required *required = &rule->required[i];
        uint64_t line = candidate->match_line, column = candidate->match_column;
        struct spot first = {.rule = rule_of(scanner, required)}, last = first;
        uint64_t lines = required->within_lines < 0 ? UINT64_MAX : (uint64_t)required->within_lines;
        if (required->within_columns >= 0) {
            uint64_t columns = (uint64_t)required->within_columns;
            first.line = last.line = line;
            first.column = column > columns ? column - columns : 0;
            last.column = column + columns;
        } else {
            first.line = line > lines ? line - lines : 0;
            last.line = lines > UINT64_MAX - line ? UINT64_MAX : line + lines;
            last.column = UINT64_MAX;
        }
        if (!has_between(&scanner->pending, &first, &last, candidate))
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
    if (left->rule != right->rule)
        return left->rule < right->rule ? -1 : 1;
    if (left->is_told != right->is_told)
        return left->is_told ? -1 : 1;
    return (int)left->encodings_count - (int)right->encodings_count;
}

/* Whether it is told, but for what gives way or is there twice. */
static bool stands(struct weir__scanner *scanner, const struct weir__candidate *candidate)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[candidate->rule];
    return candidate->is_told || (!prepared->rule->is_hidden && has_keyword(scanner, prepared) &&
                                  has_required(scanner, candidate));
}

/* Whether the first gives way to the second: never both to each other. */
static bool yields(const struct weir__engine *engine, const struct weir__candidate *one,
                   const struct weir__candidate *other)
{
    unsigned rank = engine->prepared[one->rule].rank, others = engine->prepared[other->rule].rank;
    return other->is_standing && (others < rank || (others == rank && other->rule < one->rule));
}

/* A rule that gives way does where another one has the same bytes, or a part of them. Items are in
 * order of their places, so that those in reach are neighbours. */
static bool is_covered(const struct weir__scanner *scanner, unsigned index)
{
    const struct weir__pending *pending = &scanner->pending;
    const struct weir__candidate *one = &pending->items[index];
    uint64_t end = one->place.offset + one->place.length;
    for (unsigned i = index + 1; i < pending->count && pending->items[i].place.offset < end; i++)
        if (yields(scanner->engine, one, &pending->items[i]))
            return true;
    for (unsigned i = index; i-- > 0 && index - i < 64;) {
        const struct weir__candidate *other = &pending->items[i];
        if (other->place.offset + other->place.length > one->place.offset &&
            yields(scanner->engine, one, other))
            return true;
    }
    return false;
}

static int by_rank(const void *a, const void *b, void *arg)
{
    const struct weir__scanner *scanner = arg;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    uint32_t rule = scanner->pending.items[left].rule, other = scanner->pending.items[right].rule;
    unsigned rank = scanner->engine->prepared[rule].rank,
             others = scanner->engine->prepared[other].rank;
    if (rank != others)
        return rank < others ? -1 : 1;
    if (rule != other)
        return rule < other ? -1 : 1;
    return (left > right) - (left < right);
}

/* Those first that others give way to: nothing gives way to what has given way itself. */
static void give_way(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    unsigned count = 0;
    for (unsigned i = 0; i < pending->count; i++)
        if (pending->items[i].is_standing &&
            scanner->engine->prepared[pending->items[i].rule].rank > 0)
            pending->order[count++] = i;
    qsort_r(pending->order, count, sizeof(*pending->order), by_rank, scanner);
    for (unsigned i = 0; i < count; i++)
        pending->items[pending->order[i]].is_standing = !is_covered(scanner, pending->order[i]);
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
    if (weir__settle_has_told(scanner, candidate->rule, &candidate->place))
        return;
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

/* Those that require others, or give way to them, wait for all. */
bool weir__pending_is_certain(const struct weir__scanner *scanner, uint32_t rule)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[rule];
    return weir__is_independent(prepared) && has_keyword(scanner, prepared);
}

void weir__pending_settle(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    if (pending->count == pending->settled)
        return;
    qsort(pending->items, pending->count, sizeof(*pending->items), by_place);
    for (unsigned i = 0; i < pending->count; i++) {
        struct weir__candidate *candidate = &pending->items[i];
        if (candidate->is_told || is_repeated(pending, i) ||
            !weir__pending_is_certain(scanner, candidate->rule))
            continue;
        candidate->is_told = true;
        tell(scanner, candidate);
    }
    pending->settled = pending->count;
}

void weir__pending_flush(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    qsort(pending->items, pending->count, sizeof(*pending->items), by_place);
    find_order(scanner);
    for (unsigned i = 0; i < pending->count; i++)
        pending->items[i].is_standing = stands(scanner, &pending->items[i]);
    give_way(scanner);
    for (unsigned i = 0; i < pending->count; i++) {
        const struct weir__candidate *candidate = &pending->items[i];
        const struct weir__rule *rule = scanner->engine->prepared[candidate->rule].rule;
        if (candidate->is_told || is_repeated(pending, i) || rule->is_hidden)
            continue;
        if (candidate->is_standing)
            tell(scanner, candidate);
        else
            scanner->result.rejected++;
    }
    pending->count = pending->settled = 0;
    weir__buffer_truncate(&pending->text, 0);
}
