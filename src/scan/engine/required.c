/* required.c - what candidates require of each other.
 *
 * A rule may ask for matches of others: near by, or anywhere in the object. Whether they are there
 * is asked about all candidates at once, when room is made or the object is complete; what others
 * may still ask for stays until then.
 */
#include <stdlib.h>

#include <weir/error.h>

#include "alloc.h"
#include "parts.h"

#include "banned.h"

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

void weir__required_order(struct weir__scanner *scanner)
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

/* The first that is not before it. */
static unsigned find_spot(const struct weir__pending *pending, const struct spot *first)
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
    return low;
}

#define MISSES_MAX 64u

/* Whether another candidate is in the lines and the columns from the one to the other, both
 * included. After MISSES_MAX in other columns it is taken to be: time stays linear, and what is in
 * doubt is told. */
static bool has_between(const struct weir__pending *pending, const struct spot *first,
                        const struct spot *last, const struct weir__candidate *but)
{
    unsigned at = find_spot(pending, first), misses = 0;
    while (at < pending->count) {
        const struct weir__candidate *one = &pending->items[pending->order[at]];
        struct spot spot = spot_of(one);
        if (spot.rule != first->rule || spot.line > last->line)
            return false;
        bool is_left = spot.column<first->column, is_right = spot.column> last->column;
        if (!is_left && !is_right && one != but && !one->is_allowed)
            return true;
        if ((is_left || is_right) && misses++ == MISSES_MAX)
            return true;
        struct spot next = {spot.rule, spot.line + is_right, first->column};
        at = is_left || is_right ? find_spot(pending, &next) : at + 1;
    }
    return false;
}

/* The numbers of the rules that are meant lie between the two; none: behind all. */
static struct weir__pending_name rules_of(struct weir__scanner *scanner,
                                          const struct weir__required *required)
{
    const struct weir__engine *engine = scanner->engine;
    struct weir__pending_name *name =
        &scanner->pending.names[(uintptr_t)required / sizeof(*required) % WEIR__PENDING_NAMES];
    if (name->required == required)
        return *name;
    *name = (struct weir__pending_name){required, engine->count, engine->count};
    for (uint32_t rule = engine->count; rule-- > 0;)
        if (weir__rule_is_named(engine->prepared[rule].rule, required->rule)) {
            name->last = name->rule < engine->count ? name->last : rule;
            name->rule = rule;
        }
    return *name;
}

/* Whether one of the rules that are meant is between the two. */
static bool has_one_of(struct weir__scanner *scanner, const struct weir__required *required,
                       struct spot *first, struct spot *last, const struct weir__candidate *but)
{
    const struct weir__pending_name name = rules_of(scanner, required);
    for (uint32_t rule = name.rule; rule <= name.last; rule++) {
        bool is_meant = rule == name.rule || rule == name.last ||
                        weir__rule_is_named(scanner->engine->prepared[rule].rule, required->rule);
        first->rule = last->rule = rule;
        if (is_meant && has_between(&scanner->pending, first, last, but))
            return true;
    }
    return false;
}

/* What was there is remembered, as it may be forgotten before the candidate is. */
enum weir__standing weir__required_met(struct weir__scanner *scanner,
                                       struct weir__candidate *candidate)
{
    const struct weir__rule *rule = scanner->engine->prepared[candidate->rule].rule;
    enum weir__standing standing = WEIR__STANDS;
    for (size_t i = 0; i < rule->required_count; i++) {
        const struct weir__required *required = &rule->required[i];
        if (candidate->required >> i & 1)
            continue;
        uint64_t line = candidate->match_line, column = candidate->match_column;
        struct spot first = {.rule = 0}, last = first;
        uint64_t lines = required->within_lines < 0 ? UINT64_MAX : (uint64_t)required->within_lines;
        uint64_t columns =
            required->within_columns < 0 ? UINT64_MAX : (uint64_t)required->within_columns;
        first.line = line > lines ? line - lines : 0;
        last.line = lines > UINT64_MAX - line ? UINT64_MAX : line + lines;
        first.column = column > columns ? column - columns : 0;
        last.column = columns > UINT64_MAX - column ? UINT64_MAX : column + columns;
        if (has_one_of(scanner, required, &first, &last, candidate))
            candidate->required |= UINT64_C(1) << i;
        else if (last.line < scanner->line)
            return WEIR__FALLS;
        else
            standing = WEIR__WAITS;
    }
    return standing;
}

int weir__required_prepare(struct weir__scanner *scanner)
{
    const struct weir__engine *engine = scanner->engine;
    struct weir__pending *pending = &scanner->pending;
    if (pending->asked)
        return 0;
    pending->asked = weir__base_alloc((size_t)engine->count + 1, sizeof(*pending->asked));
    if (!pending->asked)
        return -WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < engine->count; i++)
        for (size_t k = 0; k < engine->prepared[i].rule->required_count; k++) {
            const struct weir__required *required = &engine->prepared[i].rule->required[k];
            bool is_anywhere = required->within_lines < 0 && required->within_columns < 0;
            uint64_t lines =
                required->within_lines < 0 ? UINT64_MAX : (uint64_t)required->within_lines;
            const struct weir__pending_name name = rules_of(scanner, required);
            for (uint32_t rule = name.rule; rule <= name.last && rule < engine->count; rule++) {
                struct weir__pending_asked *asked = &pending->asked[rule];
                asked->is_anywhere |= is_anywhere;
                asked->is_near |= !is_anywhere;
                if (!is_anywhere && lines > asked->lines)
                    asked->lines = lines;
            }
        }
    return 0;
}

/* Whether one that is still to come, or waits, may require it. At any distance two are enough: it
 * may be one of them itself. */
bool weir__required_is_asked(struct weir__scanner *scanner, const struct weir__candidate *candidate,
                             bool is_forced)
{
    struct weir__pending_asked *asked = &scanner->pending.asked[candidate->rule];
    uint64_t line = candidate->match_line;
    if (candidate->is_allowed)
        return false;
    if (asked->is_near && !is_forced &&
        (asked->lines > UINT64_MAX - line || line + asked->lines >= scanner->line))
        return true;
    if (!asked->is_anywhere || asked->kept == 2)
        return false;
    asked->kept++;
    return true;
}
