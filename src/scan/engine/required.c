/* required.c - what candidates require of each other.
 *
 * A rule may ask for matches of others: near by, or anywhere in the object. Whether they are there
 * is asked about all candidates at once, when room is made or the object is complete; what others
 * may still ask for stays until then.
 *
 * How far two are from each other is counted in the decoded text if both were decoded from one run,
 * and otherwise where they stand in the object.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "parts.h"

#include "banned.h"

/* --- places --- */

/* The same for every segment that has the beginning of the run: where it stands in the object, in
 * what it is encoded, and so on inwards. */
static uint64_t run_of(const struct weir__scanner *scanner, const struct weir__view *view)
{
    if (!view->parent)
        return 0;
    uint64_t from = view->depth == 1 ? scanner->offset + view->run->from
                                     : (uint64_t)(view->run->from - view->parent->start);
    uint64_t outer = run_of(scanner, view->parent);
    uint64_t mine = (from * WEIR__ENCODINGS + view->run->encoding) * 4 + view->run->_skip % 4;
    return ((outer ^ mine) + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* Matches come nearly in order, so that lines are counted from the last one. */
void weir__required_place(struct weir__scanner *scanner, const struct weir__match *match,
                          struct weir__candidate *candidate)
{
    const struct weir__view *view = scanner->view;
    struct weir__run_cursor *cursor = &scanner->run_cursor;
    candidate->run = run_of(scanner, view);
    if (!view->parent)
        return;
    if (cursor->generation != scanner->generation)
        *cursor = (struct weir__run_cursor){.generation = scanner->generation, .line = 1};
    const char *bytes = view->bytes, *there = bytes + match->from, *from = bytes + cursor->at;
    if (match->from < cursor->at) {
        size_t line = cursor->line;
        for (const char *next = there; (next = memchr(next, '\n', (size_t)(from - next))); next++)
            cursor->line--;
        const char *before = line != cursor->line ? memrchr(bytes, '\n', match->from) : NULL;
        if (line != cursor->line)
            cursor->start = before ? (size_t)(before + 1 - bytes) : 0;
        from = there;
    }
    while (from < there && (from = memchr(from, '\n', (size_t)(there - from)))) {
        from++;
        cursor->line++;
        cursor->start = (size_t)(from - bytes);
    }
    cursor->at = match->from;
    candidate->run_from = (uint32_t)match->secret_from;
    candidate->run_until = (uint32_t)match->secret_until;
    candidate->run_size = (uint32_t)view->length;
    candidate->run_line = (uint32_t)cursor->line;
    candidate->run_column = (uint32_t)(match->from - cursor->start + 1);
}

/* --- order --- */

/* Candidates by rule and by where their matches begin, so that those near one are found by halving:
 * there may be thousands, each of which requires others. Once by their places in the object; and
 * those that were decoded once more by their places in the text that they were decoded to. */

struct spot {
    uint32_t rule;
    uint64_t run; /* 0: a place in the object */
    uint64_t line, column;
};

static int compare_spots(const struct spot *a, const struct spot *b)
{
    if (a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

static struct spot spot_of(const struct weir__candidate *one, bool is_in_run)
{
    if (is_in_run)
        return (struct spot){one->rule, one->run, one->run_line, one->run_column};
    return (struct spot){one->rule, 0, one->match_line, one->match_column};
}

static int by_spot(const void *a, const void *b, void *arg)
{
    const struct weir__candidate *items = arg;
    struct spot left = spot_of(&items[*(const uint32_t *)a], false),
                right = spot_of(&items[*(const uint32_t *)b], false);
    return compare_spots(&left, &right);
}

static int by_spot_in_run(const void *a, const void *b, void *arg)
{
    const struct weir__candidate *items = arg;
    struct spot left = spot_of(&items[*(const uint32_t *)a], true),
                right = spot_of(&items[*(const uint32_t *)b], true);
    return compare_spots(&left, &right);
}

void weir__required_order(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    if (!pending->has_required)
        return; /* nobody will ask */
    uint32_t *order = pending->order, *decoded = order + pending->capacity;
    unsigned count = 0;
    for (unsigned i = 0; i < pending->count; i++) {
        order[i] = i;
        if (pending->items[i].run != 0)
            decoded[count++] = i;
    }
    pending->decoded_count = count;
    qsort_r(order, pending->count, sizeof(*order), by_spot, pending->items);
    qsort_r(decoded, count, sizeof(*decoded), by_spot_in_run, pending->items);
    for (unsigned i = pending->count, next = i; i-- > 0;) {
        struct weir__candidate *one = &pending->items[order[i]];
        if (i + 1 == pending->count || pending->items[order[i + 1]].run != one->run)
            next = i + 1;
        one->next_other = next;
    }
}

/* What is searched: all in the object, or those in the decoded text of one run. */
struct shelf {
    const struct weir__candidate *items;
    const uint32_t *order;
    unsigned count;
    bool is_in_run;
};

/* The first that is not before it. */
static unsigned find_spot(const struct shelf *shelf, const struct spot *first)
{
    unsigned low = 0, high = shelf->count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        struct spot spot = spot_of(&shelf->items[shelf->order[middle]], shelf->is_in_run);
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
static bool has_between(const struct shelf *shelf, const struct spot *first,
                        const struct spot *last, const struct weir__candidate *but)
{
    unsigned at = find_spot(shelf, first), misses = 0;
    while (at < shelf->count) {
        const struct weir__candidate *one = &shelf->items[shelf->order[at]];
        struct spot spot = spot_of(one, shelf->is_in_run);
        if (spot.rule != first->rule || spot.run != first->run || spot.line > last->line)
            return false;
        if (!shelf->is_in_run && but->run != 0 && one->run == but->run) {
            at = one->next_other; /* how far it is, the text of their run says */
            continue;
        }
        bool is_left = spot.column<first->column, is_right = spot.column> last->column;
        if (!is_left && !is_right && one != but && !one->is_allowed)
            return true;
        if ((is_left || is_right) && misses++ == MISSES_MAX)
            return true;
        struct spot next = {spot.rule, spot.run, spot.line + is_right, first->column};
        at = is_left || is_right ? find_spot(shelf, &next) : at + 1;
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

/* As far from a place as is allowed, before it and behind it. */
struct bounds {
    struct spot first, last;
};

static struct bounds bounds_of(const struct spot *spot, const struct weir__required *required)
{
    uint64_t lines = required->within_lines < 0 ? UINT64_MAX : (uint64_t)required->within_lines;
    uint64_t columns =
        required->within_columns < 0 ? UINT64_MAX : (uint64_t)required->within_columns;
    struct bounds bounds = {*spot, *spot};
    bounds.first.line = spot->line > lines ? spot->line - lines : 0;
    bounds.last.line = lines > UINT64_MAX - spot->line ? UINT64_MAX : spot->line + lines;
    bounds.first.column = spot->column > columns ? spot->column - columns : 0;
    bounds.last.column = columns > UINT64_MAX - spot->column ? UINT64_MAX : spot->column + columns;
    return bounds;
}

/* Whether one of the rules that are meant is that near. */
static bool has_one_of(struct weir__scanner *scanner, const struct weir__required *required,
                       const struct weir__candidate *candidate, bool is_in_run)
{
    const struct weir__pending *pending = &scanner->pending;
    const struct weir__pending_name name = rules_of(scanner, required);
    struct shelf shelf = {pending->items, pending->order, pending->count, is_in_run};
    struct spot spot = spot_of(candidate, is_in_run);
    struct bounds bounds = bounds_of(&spot, required);
    if (is_in_run) {
        shelf.order += pending->capacity;
        shelf.count = pending->decoded_count;
    }
    for (uint32_t rule = name.rule; rule <= name.last; rule++) {
        bool is_meant = rule == name.rule || rule == name.last ||
                        weir__rule_is_named(scanner->engine->prepared[rule].rule, required->rule);
        bounds.first.rule = bounds.last.rule = rule;
        if (is_meant && has_between(&shelf, &bounds.first, &bounds.last, candidate))
            return true;
    }
    return false;
}

/* Whether one of the rules that are meant is about the path alone, which is not known. */
static bool may_be_path(struct weir__scanner *scanner, const struct weir__required *required)
{
    const struct weir__engine *engine = scanner->engine;
    const struct weir__pending_name name = rules_of(scanner, required);
    for (uint32_t rule = name.rule; rule <= name.last && rule < engine->count; rule++)
        if (!scanner->is_path_known && !engine->prepared[rule].has_expression &&
            weir__rule_is_named(engine->prepared[rule].rule, required->rule))
            return true;
    return false;
}

/* What was there is remembered, as it may be forgotten before the candidate is. A run that goes on
 * in the next segment is there from its beginning, so its first line has not been passed. */
enum weir__standing weir__required_met(struct weir__scanner *scanner,
                                       struct weir__candidate *candidate)
{
    const struct weir__rule *rule = scanner->engine->prepared[candidate->rule].rule;
    const struct spot spot = spot_of(candidate, false);
    enum weir__standing standing = WEIR__STANDS;
    for (size_t i = 0; i < rule->required_count; i++) {
        const struct weir__required *required = &rule->required[i];
        if (candidate->required >> i & 1)
            continue;
        if ((candidate->run != 0 && has_one_of(scanner, required, candidate, true)) ||
            has_one_of(scanner, required, candidate, false) || may_be_path(scanner, required))
            candidate->required |= UINT64_C(1) << i;
        else if (bounds_of(&spot, required).last.line < scanner->line)
            return WEIR__FALLS;
        else
            standing = WEIR__WAITS;
    }
    return standing;
}

bool weir__required_is_open(const struct weir__scanner *scanner,
                            const struct weir__candidate *candidate)
{
    size_t count = scanner->engine->prepared[candidate->rule].rule->required_count;
    for (size_t i = 0; i < count; i++)
        if (!(candidate->required >> i & 1))
            return true;
    return false;
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

uint64_t weir__required_until(const struct weir__scanner *scanner,
                              const struct weir__candidate *candidate)
{
    const struct weir__pending_asked *asked = &scanner->pending.asked[candidate->rule];
    if (!asked->is_near || candidate->is_allowed)
        return 0;
    return asked->lines > UINT64_MAX - candidate->match_line ? UINT64_MAX
                                                             : candidate->match_line + asked->lines;
}

/* Whether one that is still to come, or waits, may require it. At any distance two are enough: it
 * may be one of them itself. */
bool weir__required_is_asked(struct weir__scanner *scanner, const struct weir__candidate *candidate,
                             bool is_forced)
{
    struct weir__pending_asked *asked = &scanner->pending.asked[candidate->rule];
    if (candidate->is_allowed)
        return false;
    if (!is_forced && weir__required_until(scanner, candidate) >= scanner->line)
        return true;
    if (!asked->is_anywhere || asked->kept == 2)
        return false;
    asked->kept++;
    return true;
}
