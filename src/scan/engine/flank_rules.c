/* flank_rules.c - which rules of a literal are asked for a hit.
 *
 * A rule that is not asked has no match whose literal this hit is. Another match of it may begin
 * before the hit and have a literal behind it: that is a hit of its own, whose search goes back to
 * where the match begins. So the place up to which the rule has been searched stays as it is.
 *
 * Where a rule's match can only begin with the literal, and with an edge of a word before it, the
 * byte before says more than all machines: of a row of one letter each place is such a hit.
 */
#include <weir/error.h>

#include "alloc.h"
#include "flank.h"
#include "parts.h"

#include "banned.h"

struct weir__flanks {
    bool is_made;
    uint32_t left;  /* hits for which something was left, counted up to where it is asked */
    uint64_t edges; /* rules that begin with the literal, at an edge of a word */
    uint64_t
        none[4]; /* bytes behind the literal with which no rule goes on: one look, no machine */
    struct weir__flank *behind, *before;
};

int weir__flanks_new(struct weir__scanner *scanner)
{
    scanner->flanks =
        weir__base_alloc((size_t)scanner->engine->anchors_count + 1, sizeof(*scanner->flanks));
    scanner->flank_room = weir__base_alloc(1, sizeof(*scanner->flank_room));
    if (!scanner->flanks || !scanner->flank_room)
        return -WEIR_E_NO_MEMORY;
    scanner->flank_room->left_min = WEIR__FLANK_LEFT;
    return 0;
}

void weir__flanks_touch(struct weir__scanner *scanner)
{
    weir__base_touch(scanner->flanks, scanner->engine->anchors_count * sizeof(*scanner->flanks));
}

void weir__flanks_free(struct weir__scanner *scanner)
{
    for (uint32_t i = 0; scanner->flanks && i < scanner->engine->anchors_count; i++) {
        weir__flank_free(scanner->flanks[i].behind);
        weir__flank_free(scanner->flanks[i].before);
    }
    weir__base_free(scanner->flanks);
    weir__base_free(scanner->flank_room);
}

/* One that cannot be made is not tried again: what it would spare is done. */
static struct weir__flank *make(struct weir__scanner *scanner, const struct weir__anchor *anchor,
                                struct weir__flanks *flanks, bool is_back)
{
    const struct weir__engine *engine = scanner->engine;
    const char *texts[WEIR__FLANK_RULES];
    const struct weir__flank_literal literal = {anchor->literal, anchor->length, anchor->is_cased};
    uint32_t count =
        anchor->rules_count < WEIR__FLANK_RULES ? anchor->rules_count : WEIR__FLANK_RULES;
    for (uint32_t i = 0; i < count; i++) {
        const struct weir__prepared *prepared =
            &engine->prepared[engine->anchor_rules[anchor->first_rule + i]];
        texts[i] = prepared->is_by_literals ? prepared->rule->regex : NULL;
        if (texts[i] && prepared->reach == anchor->length &&
            weir__edge_is_word_begin(texts[i], anchor->literal[0]))
            flanks->edges |= UINT64_C(1) << i;
    }
    return weir__flank_new(scanner->flank_room, texts, count, &literal, is_back);
}

static uint64_t rules_of(const struct weir__anchor *anchor)
{
    return anchor->rules_count < WEIR__FLANK_RULES ? (UINT64_C(1) << anchor->rules_count) - 1
                                                   : UINT64_MAX;
}

uint64_t weir__flank_rules(struct weir__scanner *scanner, uint32_t id, size_t to, uint64_t wanted)
{
    const struct weir__anchor *anchor = &scanner->engine->anchors[id];
    const struct weir__view *view = scanner->view;
    struct weir__flanks *flanks = &scanner->flanks[id];
    uint64_t left = wanted & rules_of(anchor);
    if (anchor->length == 0 || to < anchor->length)
        return wanted;
    if (!left)
        return 0;
    if (!flanks->is_made) {
        flanks->behind = make(scanner, anchor, flanks, false);
        flanks->is_made = true;
    }
    size_t from = to - anchor->length, read = 0;
    unsigned char next = to < view->length ? (unsigned char)view->bytes[to] : 0;
    if (to < view->length && (flanks->none[next >> 6] >> (next & 63) & 1))
        return 0;
    if ((flanks->edges & left) && !weir__edge_may_hold(view->bytes, from))
        left &= ~flanks->edges;
    bool are_all = left == rules_of(anchor);
    if (left && flanks->behind)
        left = weir__flank_ask(flanks->behind, scanner->flank_room, left, view->bytes + to,
                               view->length - to, &read);
    if (!left) {
        if (read == 1 && are_all && view->length - to > 1) /* the text does not end there */
            flanks->none[next >> 6] |= UINT64_C(1) << (next & 63);
        return 0;
    }
    if (flanks->left < scanner->flank_room->left_min &&
        ++flanks->left == scanner->flank_room->left_min)
        flanks->before = make(scanner, anchor, flanks, true);
    if (flanks->before)
        left = weir__flank_ask(flanks->before, scanner->flank_room, left, view->bytes, from, &read);
    return left;
}
