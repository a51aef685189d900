/* match.c - a text through the databases, block by block.
 *
 * Some rules are looked for everywhere, the others only near stretches of token bytes. Both are
 * done for one block after the other, so that hits come nearly in the order of the text and a block
 * is read from memory once. A block is looked at with what is before it, as far as a pattern may be
 * wide, and a little of what follows; a hit belongs to the block that it ends in.
 *
 * Decoded runs stand one behind the other in the text of their level. A literal is found in them
 * there. An expression may ask for the beginning or the end of the text, or for a byte that is no
 * letter behind its last one: so expressions are given each run by itself, which begins and ends
 * as a file does, and no byte of what is between two runs.
 */
#include <stdlib.h>

#include <weir/error.h>

#include "flank.h"
#include "parts.h"
#include "stretch.h"

#include "banned.h"

#define BLOCK_SIZE  (128u << 10)
#define BLOCK_AHEAD 2u /* bytes behind a block, for what asks whether a word ends there */
_Static_assert(BLOCK_SIZE + BLOCK_AHEAD + WEIR__WIDTH_MAX + 1 <= WEIR__NEAR_TEXT, "blocks fit");

/* --- where a hit is --- */

static int compare_run(const void *key, const void *item)
{
    size_t at = *(const size_t *)key;
    const struct weir__decoded *run = item;
    return at < run->out_from ? -1 : at >= run->out_until;
}

/* The run of a level that has this place. Hits come nearly in order, so it is mostly the last one.
 */
static struct weir__decoded *run_at(struct weir__level *level, size_t at)
{
    if (level->cursor < level->count && compare_run(&at, &level->runs[level->cursor]) == 0)
        return &level->runs[level->cursor];
    struct weir__decoded *run =
        bsearch(&at, level->runs, level->count, sizeof(*level->runs), compare_run);
    if (run)
        level->cursor = (size_t)(run - level->runs);
    return run;
}

/* Escapes are decoded with what is around them, which may begin in the middle of a line. */
static bool is_line_begin(const char *source, const struct weir__decoded *run)
{
    bool is_part = run->encoding == WEIR__PERCENT || run->encoding == WEIR__ESCAPES;
    return !is_part || run->from == 0 || source[run->from - 1] == '\n' ||
           source[run->from - 1] == '\x7f'; /* behind another run */
}

/* The view of the run that has this place, and those that it was encoded in. NULL: between runs. */
static const struct weir__view *view_at(struct weir__scanner *scanner, unsigned depth, size_t at)
{
    if (depth == 0)
        return &scanner->views[0];
    struct weir__level *level = &scanner->levels[depth];
    struct weir__decoded *run = run_at(level, at);
    if (!run)
        return NULL;
    const struct weir__view *parent = view_at(scanner, depth - 1, run->from);
    if (!parent)
        return NULL;
    const char *source =
        depth == 1 ? scanner->bytes : weir__buffer_text(&scanner->levels[depth - 1].text);
    scanner->views[depth] = (struct weir__view){
        .bytes = weir__buffer_text(&level->text) + run->out_from,
        .length = run->out_until - run->out_from,
        .is_begin = is_line_begin(source, run),
        .is_end = true,
        .parent = parent,
        .run = run,
        .source = source,
        .start = run->out_from,
        .depth = depth,
    };
    return &scanner->views[depth];
}

/* --- hits --- */

struct hits {
    struct weir__scanner *scanner;
    size_t start;       /* of what the library sees, in the text */
    size_t from, until; /* those that end in (from, until] are wanted */
    bool is_run;        /* the library sees bytes of one decoded run, and no others */
};

/* Mostly nothing comes of a hit for any of its rules; in text that repeats itself not even that has
 * to be found out. */
static void confirm_all(struct weir__scanner *scanner, uint32_t id, size_t at)
{
    const struct weir__engine *engine = scanner->engine;
    const struct weir__anchor *anchor = &engine->anchors[id];
    bool is_object = scanner->level == 0;
    uint64_t idle = is_object ? weir__idle_rules(scanner, id, at) : 0;
    bool is_new = is_object && idle == 0;
    if (is_new)
        weir__idle_begin(scanner, id, at);
    uint64_t asked = weir__flank_rules(scanner, id, at, ~idle);
    for (uint32_t i = 0; i < anchor->rules_count; i++) {
        uint32_t rule = engine->anchor_rules[anchor->first_rule + i];
        if (i < WEIR__IDLE_MAX && (idle >> i & 1)) {
            weir__confirm_none(scanner, rule, at);
        } else if (i >= WEIR__FLANK_RULES || (asked >> i & 1)) {
            size_t back = weir__confirm(scanner, rule, at);
            if (i < WEIR__IDLE_MAX && is_new && back != WEIR__NOT_IDLE)
                weir__idle_note(scanner, id, i, back);
        }
    }
    if (scanner->trace && is_object)
        weir__text_hit(scanner, id, at);
}

/* Whether the rule itself is looked for, and no literal of it. */
static bool is_expression(const struct weir__engine *engine, const struct weir__anchor *anchor)
{
    return !anchor->is_keyword && anchor->rules_count > 0 &&
           !engine->prepared[engine->anchor_rules[anchor->first_rule]].is_by_literals;
}

static int on_hit(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                  void *arg)
{
    (void)from;
    (void)flags;
    const struct hits *hits = arg;
    struct weir__scanner *scanner = hits->scanner;
    const struct weir__engine *engine = scanner->engine;
    if (id >= engine->anchors_count)
        return 0; /* a database from a cache that has been tampered with */
    const struct weir__anchor *anchor = &engine->anchors[id];
    if (scanner->level > 0 && !hits->is_run && is_expression(engine, anchor))
        return 0; /* comes up in its run */
    size_t at = hits->start + (size_t)to;
    if ((at <= hits->from && hits->from > 0) || at > hits->until)
        return 0;
    if (anchor->is_keyword) {
        scanner->has_keyword[anchor->keyword] = true;
        return 0;
    }
    if (scanner->level == 0) {
        uint64_t end = scanner->offset + at;
        if (end <= scanner->accept_from || end > scanner->accept_until)
            return 0;
    } else {
        const struct weir__view *last = scanner->view;
        scanner->view = view_at(scanner, scanner->level, to > 0 ? at - 1 : at);
        if (!scanner->view) {
            scanner->view = last;
            return 0;
        }
        at -= scanner->view->start;
        if (at > scanner->view->length)
            return 0;
        /* Rules begin anew in each run. */
        scanner->generation = (scanner->generation & ~(uint64_t)UINT32_MAX) |
                              (scanner->levels[scanner->level].cursor + 1);
    }
    confirm_all(scanner, id, at);
    return scanner->error;
}

static void look(struct hits *hits, enum weir__look where, const char *text, size_t from,
                 size_t until)
{
    struct weir__scanner *scanner = hits->scanner;
    if (scanner->error != 0 || until <= from)
        return;
    hits->start = from;
    hs_error_t result = hs_scan(scanner->engine->databases[where], text + from,
                                (unsigned)(until - from), 0, scanner->scratch, on_hit, hits);
    if (result != HS_SUCCESS && scanner->error == 0)
        scanner->error = result == HS_NOMEM ? -WEIR_E_NO_MEMORY : -WEIR_E_INTERNAL;
}

/* --- blocks --- */

/* What the library has to see for hits that end in (from, until], of patterns of a width. */
static void see(const struct hits *hits, size_t length, size_t width, size_t *ret_from,
                size_t *ret_until)
{
    *ret_from = hits->from > width + 1 ? hits->from - width - 1 : 0;
    *ret_until = length - hits->until > BLOCK_AHEAD ? hits->until + BLOCK_AHEAD : length;
}

static void look_near(struct hits *hits, const char *text, size_t length)
{
    static const enum weir__look looks[WEIR__NEAR_KINDS] = {
        [WEIR__NEAR_ANY] = WEIR__LOOK_NEAR, [WEIR__NEAR_LONG] = WEIR__LOOK_NEAR_LONG};
    const struct weir__engine *engine = hits->scanner->engine;
    struct weir__near near;
    size_t from, until;
    if (!engine->databases[WEIR__LOOK_NEAR] && !engine->databases[WEIR__LOOK_NEAR_LONG])
        return;
    see(hits, length, engine->pattern_width, &from, &until);
    weir__near_find(&near, text, length, from, until);
    for (unsigned kind = 0; kind < WEIR__NEAR_KINDS; kind++) {
        size_t at, first;
        see(hits, length, engine->look_widths[looks[kind]], &at, &until);
        while (engine->databases[looks[kind]] && weir__near_next(&near, kind, at, &first, &at))
            look(hits, looks[kind], text, first, at);
    }
}

/* Expressions in the bytes [from, until) of a level, run by run. *next is the first run that may
 * have some of them; then of what comes behind. */
static void look_in_runs(struct hits *hits, const char *text, size_t from, size_t until,
                         size_t *next)
{
    struct weir__level *level = &hits->scanner->levels[hits->scanner->level];
    while (*next < level->count && level->runs[*next].out_until <= hits->from)
        ++*next;
    hits->is_run = true;
    for (size_t i = *next; i < level->count && level->runs[i].out_from < until; i++) {
        const struct weir__decoded *run = &level->runs[i];
        look(hits, WEIR__LOOK_RUNS, text, run->out_from > from ? run->out_from : from,
             run->out_until < until ? run->out_until : until);
    }
    hits->is_run = false;
}

void weir__match_text(struct weir__scanner *scanner, const char *text, size_t length)
{
    const struct weir__engine *engine = scanner->engine;
    struct hits hits = {.scanner = scanner};
    size_t next_run = 0, from, until;
    for (size_t block = 0; block < length && scanner->error == 0; block += BLOCK_SIZE) {
        hits.from = block;
        hits.until = length - block > BLOCK_SIZE ? block + BLOCK_SIZE : length;
        see(&hits, length, engine->pattern_width, &from, &until);
        weir__pending_make_room(scanner);
        if (scanner->level == 0)
            weir__doubts_open(scanner, from, until);
        if (engine->databases[WEIR__LOOK_EVERYWHERE])
            look(&hits, WEIR__LOOK_EVERYWHERE, text, from, until);
        look_near(&hits, text, length);
        if (engine->databases[WEIR__LOOK_RUNS] && scanner->level > 0)
            look_in_runs(&hits, text, from, until, &next_run);
        if (scanner->level == 0)
            weir__doubts_close(scanner);
    }
}

/* --- places --- */

/* Hits of what is looked for everywhere, or of what is looked for near stretches, in one place. */
static void match_place(struct hits *hits, const char *text, size_t length,
                        const struct weir__span *place, bool is_near)
{
    struct weir__scanner *scanner = hits->scanner;
    const struct weir__engine *engine = scanner->engine;
    for (size_t at = place->from; at < place->until && scanner->error == 0; at = hits->until) {
        hits->from = at;
        hits->until = place->until - at > BLOCK_SIZE ? at + BLOCK_SIZE : place->until;
        weir__pending_make_room(scanner);
        if (is_near) {
            look_near(hits, text, length);
        } else if (engine->databases[WEIR__LOOK_EVERYWHERE]) {
            size_t from, until;
            see(hits, length, engine->look_widths[WEIR__LOOK_EVERYWHERE], &from, &until);
            look(hits, WEIR__LOOK_EVERYWHERE, text, from, until);
        }
    }
}

/* Hits of before, from this one on, that end at `end` at the latest. Returns the next. */
static uint32_t match_old(struct weir__scanner *scanner, const struct weir__look_list *list,
                          uint32_t next, size_t end)
{
    for (; next < list->hits_count && scanner->error == 0; next++) {
        const struct weir__look_hit *one = &list->hits[next];
        if (one->hit.to > end)
            break;
        if (one->is_again)
            confirm_all(scanner, one->hit.anchor, one->hit.to);
        else if (scanner->trace)
            weir__trace_hit(scanner->trace, one->hit);
    }
    return next;
}

/* Each rule sees its hits in order, those of before between the new ones. */
void weir__match_places(struct weir__scanner *scanner, const char *text, size_t length,
                        const struct weir__look_list *list)
{
    struct hits hits = {.scanner = scanner};
    uint32_t next = 0;
    weir__doubts_open(scanner, 0, length);
    for (uint32_t i = 0; i < list->places.count; i++) {
        next = match_old(scanner, list, next, list->places.items[i].from);
        match_place(&hits, text, length, &list->places.items[i], false);
    }
    match_old(scanner, list, next, length);
    for (uint32_t i = 0; i < list->near.count; i++)
        match_place(&hits, text, length, &list->near.items[i], true);
    weir__doubts_close(scanner);
}
