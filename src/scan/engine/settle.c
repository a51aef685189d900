/* settle.c - what is certain in a text of which more may come.
 *
 * A segment is matched when it is complete, and a stream that pauses may take hours for that. So
 * whoever reads it may ask for what stands whatever follows. The text up to the last end of a line
 * is looked through by the same searches as later, which say whether they came to its end; a rule
 * whose search did, stops there until more has come, since its match may become another one, and
 * swallow those behind it. Nothing of this is kept but the places of what was told: the segment is
 * matched in full when it is complete, as if nobody had asked, and what was told is left out then.
 *
 * Rules are looked for everywhere, not near stretches: a stretch may be still to come.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "parts.h"
#include "sorted.h"

#include "banned.h"

struct step {                 /* of a rule through the text */
    uint64_t round, position; /* no match of it starts before, if the round is the one at hand */
    uint64_t stopped;         /* the pass in which more would have to be known */
};

struct told {
    uint64_t offset, length;
    uint32_t rule;
};

struct item {
    struct weir__match match;
    struct weir__facts facts;
};

struct weir__settle {
    struct step *steps;   /* by rule */
    uint64_t *keyword_at; /* by keyword: where one ends in the object; UINT64_MAX: none was seen */
    uint64_t round;       /* of the segment at hand; never used twice */
    uint64_t pass;        /* through it; never used twice */
    uint64_t until;       /* the text before was looked at */
    uint64_t looked;      /* and no line ends behind that and before this */
    struct item *items;   /* of the pass at hand, WEIR__SETTLED_MAX */
    unsigned count;
    struct told *told; /* of the segment at hand, in order; WEIR__SETTLED_MAX */
    unsigned told_count;
};

/* --- life cycle --- */

void weir__settle_free(struct weir__settle *settle)
{
    if (!settle)
        return;
    weir__base_free(settle->steps);
    weir__base_free(settle->keyword_at);
    weir__base_free(settle->items);
    weir__base_free(settle->told);
    weir__base_free(settle);
}

static void new_round(struct weir__scanner *scanner)
{
    struct weir__settle *settle = scanner->settle;
    settle->round++;
    settle->until = scanner->accept_from > scanner->offset ? scanner->accept_from : scanner->offset;
    settle->looked = settle->until;
}

void weir__settle_begin(struct weir__scanner *scanner)
{
    struct weir__settle *settle = scanner->settle;
    if (!settle)
        return;
    settle->told_count = 0;
    for (uint32_t i = 0; i < scanner->engine->keywords_count; i++)
        settle->keyword_at[i] = UINT64_MAX;
    new_round(scanner);
}

static bool is_made(struct weir__scanner *scanner)
{
    const struct weir__engine *engine = scanner->engine;
    if (scanner->settle)
        return true;
    struct weir__settle *settle = weir__base_alloc(1, sizeof(*settle));
    if (!settle)
        return false;
    settle->steps = weir__base_alloc((size_t)engine->count + 1, sizeof(*settle->steps));
    settle->keyword_at =
        weir__base_alloc((size_t)engine->keywords_count + 1, sizeof(*settle->keyword_at));
    settle->items = weir__base_alloc(WEIR__SETTLED_MAX, sizeof(*settle->items));
    settle->told = weir__base_alloc(WEIR__SETTLED_MAX, sizeof(*settle->told));
    if (!settle->steps || !settle->keyword_at || !settle->items || !settle->told) {
        weir__settle_free(settle);
        return false;
    }
    scanner->settle = settle;
    weir__settle_begin(scanner);
    return true;
}

/* --- what was told --- */

static int compare_told(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return (a->rule > b->rule) - (a->rule < b->rule);
}

/* The first that does not come before it. */
static unsigned find_told(const struct weir__settle *settle, const struct told *one)
{
    return (unsigned)weir__sorted_from(settle->told, settle->told_count, sizeof(settle->told[0]),
                                       one, compare_told);
}

static bool is_told(const struct weir__settle *settle, const struct told *one)
{
    unsigned at = find_told(settle, one);
    return at < settle->told_count && compare_told(&settle->told[at], one) == 0;
}

bool weir__settle_has_told(const struct weir__scanner *scanner, uint32_t rule,
                           const struct weir__place *place)
{
    const struct weir__settle *settle = scanner->settle;
    return settle && settle->told_count > 0 &&
           is_told(settle, &(struct told){place->offset, place->length, rule});
}

/* What ends before the bytes that are kept does not come up again. */
void weir__settle_move_on(struct weir__scanner *scanner)
{
    struct weir__settle *settle = scanner->settle;
    if (!settle)
        return;
    unsigned kept = 0;
    for (unsigned i = 0; i < settle->told_count; i++)
        if (settle->told[i].offset + settle->told[i].length > scanner->offset)
            settle->told[kept++] = settle->told[i];
    settle->told_count = kept;
    new_round(scanner);
}

/* --- telling --- */

static int by_place(const void *a, const void *b)
{
    const struct weir__match *left = &((const struct item *)a)->match,
                             *right = &((const struct item *)b)->match;
    struct told one = {left->secret_from, left->secret_until - left->secret_from, left->rule};
    struct told other = {right->secret_from, right->secret_until - right->secret_from, right->rule};
    return compare_told(&one, &other);
}

/* Whether one of its keywords was seen by the end of its line, or with an earlier segment. */
static bool has_keyword(const struct weir__scanner *scanner, const struct item *item)
{
    const struct weir__engine *engine = scanner->engine;
    const struct weir__prepared *prepared = &engine->prepared[item->match.rule];
    const uint32_t *numbers = engine->keyword_numbers + prepared->first_keyword;
    uint64_t end = scanner->offset + (uint64_t)(item->facts.line_end - scanner->bytes);
    for (uint32_t i = 0; i < prepared->keywords_count; i++)
        if (numbers[i] != UINT32_MAX &&
            (scanner->has_keyword[numbers[i]] || scanner->settle->keyword_at[numbers[i]] <= end))
            return true;
    return prepared->keywords_count == 0;
}

static void tell(struct weir__scanner *scanner, const struct item *item)
{
    struct weir__settle *settle = scanner->settle;
    const struct weir__match *match = &item->match;
    struct told one = {scanner->offset + match->secret_from,
                       match->secret_until - match->secret_from, match->rule};
    if (settle->told_count == WEIR__SETTLED_MAX || is_told(settle, &one) ||
        !has_keyword(scanner, item))
        return;
    unsigned at = find_told(settle, &one);
    memmove(settle->told + at + 1, settle->told + at,
            (settle->told_count - at) * sizeof(*settle->told));
    settle->told[at] = one;
    settle->told_count++;
    struct weir__finding finding;
    weir__show(scanner, match, &item->facts, &finding);
    scanner->result.findings++;
    scanner->sink.finding(scanner->sink.arg, &finding);
}

/* --- matching --- */

/* What has an escape in it or beside it may be told as it is decoded, with its segment. */
static bool may_be_escaped(const struct weir__scanner *scanner, const struct weir__match *match)
{
    const struct weir__view *view = scanner->view;
    return scanner->decode_depth > 0 &&
           weir__decode_may_escape(view->bytes, view->length, match->secret_from,
                                   match->secret_until);
}

static void consider(struct weir__scanner *scanner, const struct weir__match *match)
{
    struct weir__settle *settle = scanner->settle;
    struct item item = {.match = *match};
    if (settle->count < WEIR__SETTLED_MAX && !may_be_escaped(scanner, match) &&
        weir__weigh(scanner, match, &item.facts) == WEIR__ACCEPTED)
        settle->items[settle->count++] = item;
}

/* As weir__confirm(), as far as it is certain. */
static void confirm(struct weir__scanner *scanner, uint32_t rule, size_t to)
{
    struct weir__settle *settle = scanner->settle;
    const struct weir__prepared *prepared = &scanner->engine->prepared[rule];
    const struct weir__progress *progress = &scanner->progress[rule];
    struct step *step = &settle->steps[rule];
    uint64_t base = scanner->offset;
    if (!weir__is_independent(prepared) || step->stopped == settle->pass)
        return;
    if (step->round != settle->round) {
        step->round = settle->round;
        step->position = progress->generation == scanner->generation ? progress->position : 0;
    }
    size_t from = to > prepared->reach ? to - prepared->reach : 0;
    if (step->position > base + to || !weir__is_path_wanted(scanner, rule))
        return;
    if (base + from < step->position)
        from = (size_t)(step->position - base);
    if (to == scanner->view->length)
        to--; /* what starts behind the text is not known */
    while (from <= to) {
        struct weir__match match;
        int found = weir__search(scanner, rule, from, to, true, &match);
        if (found < 0) {
            /* One that gave up may not do so later: nothing of it is known any more. */
            step->position = found == PCRE2_ERROR_PARTIAL ? base + match.from : UINT64_MAX;
            step->stopped = settle->pass;
            return;
        }
        if (found > 0)
            consider(scanner, &match);
        from = found == 0 ? to + 1 : match.until > match.from ? match.until : match.from + 1;
    }
    step->position = base + from;
}

struct hits {
    struct weir__scanner *scanner;
    size_t start; /* of what the library sees, in the segment */
    size_t from;  /* those that end behind are wanted */
};

static int on_hit(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                  void *arg)
{
    (void)from;
    (void)flags;
    const struct hits *hits = arg;
    struct weir__scanner *scanner = hits->scanner;
    const struct weir__engine *engine = scanner->engine;
    if (id >= engine->anchors_count)
        return 0; /* as in match.c */
    const struct weir__anchor *anchor = &engine->anchors[id];
    size_t at = hits->start + (size_t)to;
    uint64_t end = scanner->offset + at;
    if (anchor->is_keyword) {
        uint64_t *first = &scanner->settle->keyword_at[anchor->keyword];
        *first = end < *first ? end : *first;
        return 0;
    }
    if ((at <= hits->from && hits->from > 0) || end <= scanner->accept_from)
        return 0;
    for (uint32_t i = 0; i < anchor->rules_count; i++)
        confirm(scanner, engine->anchor_rules[anchor->first_rule + i], at);
    return 0;
}

/* The text up to there. False: the library had no memory. */
static bool look(struct weir__scanner *scanner, size_t until)
{
    const struct weir__engine *engine = scanner->engine;
    struct weir__settle *settle = scanner->settle;
    size_t done = (size_t)(settle->until - scanner->offset);
    size_t before = (size_t)engine->pattern_width + 1;
    struct hits hits = {.scanner = scanner,
                        .from = done > engine->width ? done - engine->width : 0};
    hits.start = hits.from > before ? hits.from - before : 0;
    bool is_whole = true;
    for (unsigned i = 0; i < WEIR__LOOK_RUNS; i++)
        if (engine->databases[i])
            is_whole &= hs_scan(engine->databases[i], scanner->bytes + hits.start,
                                (unsigned)(until - hits.start), 0, scanner->scratch, on_hit,
                                &hits) == HS_SUCCESS;
    return is_whole;
}

void weir__scanner_settle(struct weir__scanner *scanner)
{
    if (!scanner->is_open || scanner->is_path_allowed || !is_made(scanner))
        return;
    struct weir__settle *settle = scanner->settle;
    size_t looked = (size_t)(settle->looked - scanner->offset);
    const char *last = looked < scanner->length
                           ? memrchr(scanner->bytes + looked, '\n', scanner->length - looked)
                           : NULL;
    settle->looked = scanner->offset + scanner->length;
    if (!last)
        return;
    size_t until = (size_t)(last + 1 - scanner->bytes);
    scanner->views[0] = (struct weir__view){
        .bytes = scanner->bytes,
        .length = until,
        .offset = scanner->offset,
        .is_begin = scanner->offset == 0,
    };
    scanner->view = &scanner->views[0];
    scanner->level = 0;
    settle->pass++;
    settle->count = 0;
    bool is_whole = look(scanner, until);
    qsort(settle->items, settle->count, sizeof(*settle->items), by_place);
    for (unsigned i = 0; i < settle->count; i++)
        tell(scanner, &settle->items[i]);
    if (is_whole)
        settle->until = scanner->offset + until;
    else
        settle->looked = settle->until; /* again the next time */
}
