/* pending.c - candidates of an object until it is complete.
 *
 * Some things are known only when the whole object has been seen: whether a keyword of the rule is
 * anywhere in it, whether a rule that is required has a match near, and whether a special rule has
 * the secret that a generic one has as well. So candidates wait.
 *
 * Most rules ask for none of that. What nothing can change any more is told with its segment, so
 * that a stream without an end is not silent; it stays here for the others to be compared with.
 *
 * When room becomes scarce, candidates that end before the segment at hand are gone through:
 * nothing that is still to come has bytes in common with them. Those of which all is known are
 * told, or not, and forgotten, but for those that others may require; the others stay, and the room
 * grows. At its limit what waits is judged by what has been seen so far, and the result says so.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "parts.h"

#include "banned.h"

#define REACH       64u   /* candidates before one that may overlap it */
#define REACH_AHEAD 4096u /* and behind its beginning */
#define NEAR_MAX    8u    /* places that a candidate is moved before they are sorted anew */
#define KINDS_MAX   16u   /* rules that are gone through one by one rather than sorted by */

_Static_assert(WEIR__CANDIDATES_MAX / 4 * 3 == WEIR__WAITING_MAX, "as it is told");

static int resize(struct weir__pending *pending, unsigned capacity)
{
    struct weir__candidate *items =
        weir__base_realloc(pending->items, capacity, sizeof(*pending->items));
    pending->items = items ? items : pending->items;
    uint32_t *order =
        weir__base_realloc(pending->order, (size_t)capacity * 2, sizeof(*pending->order));
    pending->order = order ? order : pending->order;
    if (!items || !order)
        return -WEIR_E_NO_MEMORY;
    pending->capacity = capacity;
    return 0;
}

int weir__pending_init(struct weir__pending *pending)
{
    weir__buffer_init(&pending->text, WEIR__CANDIDATE_TEXT);
    pending->text_room = WEIR__CANDIDATE_TEXT_LEAST;
    return resize(pending, WEIR__CANDIDATES_LEAST);
}

static void forget(struct weir__pending *pending)
{
    pending->count = pending->sorted = pending->settled = pending->again = 0;
    pending->text_again = 0;
    pending->has_decoded = pending->has_required = false;
    weir__buffer_truncate(&pending->text, 0);
}

/* What one object needed, others do not. */
void weir__pending_begin(struct weir__pending *pending)
{
    forget(pending);
    if (pending->capacity > WEIR__CANDIDATES_LEAST) {
        int result = resize(pending, WEIR__CANDIDATES_LEAST);
        (void)result; /* it stays as it is */
    }
    if (pending->text_room > WEIR__CANDIDATE_TEXT_LEAST) {
        weir__buffer_fini(&pending->text);
        weir__buffer_init(&pending->text, WEIR__CANDIDATE_TEXT);
        pending->text_room = WEIR__CANDIDATE_TEXT_LEAST;
    }
}

void weir__pending_fini(struct weir__pending *pending)
{
    weir__buffer_fini(&pending->text);
    weir__base_free(pending->items);
    weir__base_free(pending->order);
    weir__base_free(pending->asked);
}

static void make_room(struct weir__scanner *scanner);

void weir__pending_make_room(struct weir__scanner *scanner)
{
    const struct weir__pending *pending = &scanner->pending;
    size_t text = weir__buffer_length(&pending->text);
    if ((pending->count > pending->capacity / 4 * 3 && pending->count >= pending->again) ||
        (text > pending->text_room / 4 * 3 && text >= pending->text_again))
        make_room(scanner);
}

struct weir__candidate *weir__pending_new(struct weir__scanner *scanner, uint32_t rule, size_t text)
{
    struct weir__pending *pending = &scanner->pending;
    if (pending->count == pending->capacity ||
        weir__buffer_length(&pending->text) + text > pending->text_room)
        make_room(scanner);
    if (scanner->error != 0)
        return NULL;
    if (weir__buffer_reserve(&pending->text, text) < 0) {
        scanner->error = -WEIR_E_NO_MEMORY;
        return NULL;
    }
    struct weir__candidate *candidate = &pending->items[pending->count++];
    memset(candidate, 0, sizeof(*candidate));
    candidate->rule = rule;
    pending->has_required |= scanner->engine->prepared[rule].rule->required_count > 0;
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
    if (left->is_allowed != right->is_allowed) /* so that nothing is the same as one before it */
        return left->is_allowed ? 1 : -1;
    /* With an escape in it the decoded one is what is meant. */
    if (left->secret_length != right->secret_length)
        return left->secret_length < right->secret_length ? -1 : 1;
    return (int)left->encodings_count - (int)right->encodings_count;
}

static uint64_t end_of(const struct weir__candidate *candidate)
{
    return candidate->place.offset + candidate->place.length;
}

/* Puts the item among those of [low, at), which are in order, if it is not far from its place. */
static bool put_in_order(struct weir__candidate *items, unsigned low, unsigned at)
{
    unsigned to = at;
    while (to > low && at - to <= NEAR_MAX && by_place(&items[to - 1], &items[at]) > 0)
        to--;
    if (at - to > NEAR_MAX)
        return false;
    if (to < at) {
        struct weir__candidate one = items[at];
        memmove(&items[to + 1], &items[to], (at - to) * sizeof(*items));
        items[to] = one;
    }
    return true;
}

/* Most are in order already: those of earlier segments come before the new ones. */
static void sort(struct weir__pending *pending)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = pending->sorted; i < pending->count; i++)
        if (pending->items[i].place.offset < least)
            least = pending->items[i].place.offset;
    unsigned low = 0, high = pending->sorted;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (pending->items[middle].place.offset < least)
            low = middle + 1;
        else
            high = middle;
    }
    if (pending->sorted == pending->count)
        return;
    /* The hits of one database come in order. */
    unsigned next = low + 1;
    while (next < pending->count && by_place(&pending->items[next - 1], &pending->items[next]) <= 0)
        next++;
    while (next < pending->count && put_in_order(pending->items, low, next))
        next++;
    if (next < pending->count)
        qsort(pending->items + low, pending->count - low, sizeof(*pending->items), by_place);
    uint64_t last = low > 0 ? pending->items[low - 1].ends_max : 0;
    for (unsigned i = low; i < pending->count; i++) {
        last = end_of(&pending->items[i]) > last ? end_of(&pending->items[i]) : last;
        pending->items[i].ends_max = last;
    }
    pending->sorted = pending->count;
}

/* Whether it is told, but for what gives way or is there twice. */
static enum weir__standing standing_of(struct weir__scanner *scanner,
                                       struct weir__candidate *candidate, bool is_end)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[candidate->rule];
    if (candidate->is_told)
        return WEIR__STANDS;
    if (candidate->is_done || prepared->rule->is_hidden)
        return WEIR__FALLS;
    enum weir__standing standing = weir__required_met(scanner, candidate);
    if (standing == WEIR__STANDS && !has_keyword(scanner, prepared))
        standing = WEIR__WAITS;
    return is_end && standing == WEIR__WAITS ? WEIR__FALLS : standing;
}

/* Neighbours in a decoded text share a byte of what they were encoded in. */
static bool are_apart(const struct weir__candidate *one, const struct weir__candidate *other)
{
    return one->run != 0 && one->run == other->run &&
           (one->run_until <= other->run_from || other->run_until <= one->run_from);
}

/* Whether the first gives way to the second if that is told: never both to each other. */
static bool yields(const struct weir__engine *engine, const struct weir__candidate *one,
                   const struct weir__candidate *other)
{
    if (are_apart(one, other))
        return false;
    unsigned rank = engine->prepared[one->rule].rank, others = engine->prepared[other->rule].rank;
    /* Of two that both give way, one that a list allows leaves the word to the other. */
    return others < rank || (others == rank && other->rule < one->rule &&
                             (!other->is_allowed || other->is_commented));
}

/* A rule that gives way does where another one has the same bytes, or a part of them. Items are in
 * order of their places, so that those in reach are neighbours. How the other one stands that is
 * the most certain of those. */
static enum weir__standing cover_of(const struct weir__scanner *scanner, unsigned index)
{
    const struct weir__pending *pending = &scanner->pending;
    const struct weir__candidate *one = &pending->items[index];
    uint8_t most = WEIR__FALLS;
    for (unsigned i = index + 1; i < pending->count && i - index < REACH_AHEAD &&
                                 pending->items[i].place.offset < end_of(one);
         i++) {
        const struct weir__candidate *other = &pending->items[i];
        if (other->standing > most && yields(scanner->engine, one, other))
            most = other->standing;
    }
    for (unsigned i = index; i-- > 0 && index - i < REACH;) {
        const struct weir__candidate *other = &pending->items[i];
        if (other->ends_max <= one->place.offset)
            break;
        if (other->standing > most && end_of(other) > one->place.offset &&
            yields(scanner->engine, one, other))
            most = other->standing;
    }
    return most;
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

/* Puts a rule among others, which are in order of rank and number and each there once. False: there
 * is no room for it. */
static bool add_kind(const struct weir__engine *engine, uint32_t rule, uint32_t *kinds,
                     unsigned *count)
{
    unsigned at = *count;
    for (unsigned i = 0; i < *count; i++)
        if (kinds[i] == rule)
            return true;
    if (*count == KINDS_MAX)
        return false;
    for (; at > 0; at--) {
        unsigned rank = engine->prepared[rule].rank, before = engine->prepared[kinds[at - 1]].rank;
        if (before < rank || (before == rank && kinds[at - 1] < rule))
            break;
        kinds[at] = kinds[at - 1];
    }
    kinds[at] = rule;
    ++*count;
    return true;
}

static void let_give_way(struct weir__scanner *scanner, unsigned index)
{
    enum weir__standing cover = cover_of(scanner, index);
    if (cover != WEIR__FALLS)
        scanner->pending.items[index].standing =
            (uint8_t)(cover == WEIR__STANDS ? WEIR__FALLS : WEIR__WAITS);
}

/* Those first that others give way to: nothing gives way to what has given way itself. Texts full
 * of candidates mostly have those of a few rules, which are gone through one by one. */
static void give_way(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    uint32_t kinds[KINDS_MAX];
    unsigned count = 0, kinds_count = 0;
    bool is_few = true;
    for (unsigned i = 0; i < pending->count; i++)
        if (pending->items[i].standing != WEIR__FALLS && !pending->items[i].is_told &&
            scanner->engine->prepared[pending->items[i].rule].rank > 0) {
            pending->order[count++] = i;
            is_few =
                is_few && add_kind(scanner->engine, pending->items[i].rule, kinds, &kinds_count);
        }
    if (!is_few)
        qsort_r(pending->order, count, sizeof(*pending->order), by_rank, scanner);
    for (unsigned kind = 0; kind < (is_few ? kinds_count : 1); kind++)
        for (unsigned i = 0; i < count; i++)
            if (!is_few || pending->items[pending->order[i]].rule == kinds[kind])
                let_give_way(scanner, pending->order[i]);
}

/* How all of them stand; is_end: nothing is to come. */
static void find_standing(struct weir__scanner *scanner, bool is_end)
{
    struct weir__pending *pending = &scanner->pending;
    sort(pending);
    weir__required_order(scanner);
    for (unsigned i = 0; i < pending->count; i++)
        pending->items[i].standing = (uint8_t)standing_of(scanner, &pending->items[i], is_end);
    give_way(scanner);
}

/* The same secret of the same rule at the same place, found plain and decoded, or twice decoded. */
static bool is_repeated(const struct weir__pending *pending, unsigned index)
{
    const struct weir__candidate *one = &pending->items[index];
    const struct weir__candidate *before = index > 0 ? one - 1 : NULL;
    return before && before->rule == one->rule && before->place.offset == one->place.offset &&
           before->place.length == one->place.length;
}

static bool has_escapes(const struct weir__candidate *candidate)
{
    for (unsigned i = 0; i < candidate->encodings_count; i++)
        if (candidate->encodings[i] == WEIR__PERCENT || candidate->encodings[i] == WEIR__ESCAPES)
            return true;
    return false;
}

/* Of two readings the longer one is told: the other may be cut. */
static bool is_lesser(const struct weir__candidate *one, const struct weir__candidate *other)
{
    return one->place.length < other->place.length ||
           (one->place.length == other->place.length && one->place.offset > other->place.offset);
}

/* Whether an encoding of the one is of the other order of UTF-16 or UTF-32 in the other. If they
 * differ in anything else as well, *ret_is_same is false. */
static bool has_other_order(const struct weir__candidate *one, const struct weir__candidate *other,
                            bool *ret_is_same)
{
    bool has_one = false;
    *ret_is_same = true;
    for (unsigned i = 0; i < one->encodings_count && i < other->encodings_count; i++) {
        unsigned both = 1u << one->encodings[i] | 1u << other->encodings[i];
        bool is_order = both == (1u << WEIR__UTF16LE | 1u << WEIR__UTF16BE) ||
                        both == (1u << WEIR__UTF32LE | 1u << WEIR__UTF32BE);
        has_one |= is_order;
        *ret_is_same &= is_order || one->encodings[i] == other->encodings[i];
    }
    return has_one;
}

/* Whether both are one secret in two readings of the same bytes: of a line by itself and with the
 * next, or of either order. */
static bool is_twin(const struct weir__candidate *one, const struct weir__candidate *other)
{
    uint64_t from = one->place.offset, until = from + one->place.length,
             from_other = other->place.offset, until_other = from_other + other->place.length;
    bool is_same;
    if (one->encodings_count == 0 || one->encodings_count != other->encodings_count ||
        from >= until_other || from_other >= until || (from == from_other && until == until_other))
        return false;
    return (has_other_order(one, other, &is_same) || (from_other <= from && until <= until_other) ||
            (from <= from_other && until_other <= until)) &&
           is_same;
}

/* Whether the second is the same secret, read better: what holds an escape, or was cut by one, is
 * matched as it is as well, up to there or with it. */
static bool is_read_by(const struct weir__candidate *one, const struct weir__candidate *other)
{
    uint64_t from = one->place.offset, until = from + one->place.length,
             from_other = other->place.offset, until_other = from_other + other->place.length;
    if (one->rule != other->rule || from >= until_other || from_other >= until ||
        (from == from_other && until == until_other)) /* it is there twice */
        return false;
    bool is_within = from_other <= from && until <= until_other, is_same;
    if (has_other_order(one, other, &is_same) && is_lesser(other, one))
        return false; /* it is not told itself */
    return other->encodings_count > one->encodings_count && (is_within || has_escapes(other));
}

/* Whether another candidate of its rule is to be told instead: one that was told before, or that
 * went through more decoders. Those in reach are neighbours, as the items are in order. */
static bool is_superseded(const struct weir__scanner *scanner, unsigned index)
{
    const struct weir__pending *pending = &scanner->pending;
    const struct weir__candidate *one = &pending->items[index];
    uint64_t end = one->place.offset + one->place.length;
    unsigned first = index > REACH ? index - REACH : 0;
    if (!pending->has_decoded)
        return false;
    for (unsigned i = first; i < pending->count && pending->items[i].place.offset < end; i++) {
        const struct weir__candidate *other = &pending->items[i];
        if (i == index || other->rule != one->rule || other->is_allowed || other->is_done)
            continue;
        bool is_told = other->is_told || weir__settle_has_told(scanner, other->rule, &other->place);
        if (is_read_by(one, other) || (is_told && is_read_by(other, one)))
            return true;
        if (is_twin(one, other) && (is_told || is_lesser(one, other)))
            return true;
    }
    return false;
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

bool weir__pending_asks_nothing(const struct weir__scanner *scanner, uint32_t rule)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[rule];
    return !prepared->rule->is_hidden && prepared->rule->required_count == 0 &&
           has_keyword(scanner, prepared);
}

/* Those that require others, or give way to them, wait for all. */
bool weir__pending_is_certain(const struct weir__scanner *scanner, uint32_t rule)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[rule];
    return weir__is_independent(prepared) && has_keyword(scanner, prepared);
}

/* Those that are not told whatever is known: another one is, instead. */
static bool is_left_out(const struct weir__scanner *scanner, unsigned index)
{
    const struct weir__candidate *candidate = &scanner->pending.items[index];
    return candidate->is_told || candidate->is_done || candidate->is_allowed ||
           is_repeated(&scanner->pending, index) || is_superseded(scanner, index);
}

void weir__pending_settle(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    if (pending->count == pending->settled)
        return;
    sort(pending);
    for (unsigned i = 0; i < pending->count; i++) {
        struct weir__candidate *candidate = &pending->items[i];
        if (!weir__pending_is_certain(scanner, candidate->rule) || is_left_out(scanner, i))
            continue;
        candidate->is_told = true;
        tell(scanner, candidate);
    }
    pending->settled = pending->count;
}

/* Tells one of which all is known, if it is to be told. */
static void conclude(struct weir__scanner *scanner, unsigned index)
{
    struct weir__candidate *candidate = &scanner->pending.items[index];
    if (is_left_out(scanner, index) || scanner->engine->prepared[candidate->rule].rule->is_hidden)
        return;
    if (candidate->standing == WEIR__STANDS) {
        candidate->is_told = true;
        tell(scanner, candidate);
    } else {
        candidate->is_done = true;
        scanner->result.rejected++;
    }
}

void weir__pending_flush(struct weir__scanner *scanner)
{
    find_standing(scanner, true);
    for (unsigned i = 0; i < scanner->pending.count; i++)
        conclude(scanner, i);
    forget(&scanner->pending);
}

/* --- room --- */

/* Marks those that stay: they wait, or what may still come has bytes in common with them, or may
 * require them, or one behind them that stays was read better or worse. */
static void find_kept(struct weir__scanner *scanner, bool is_forced)
{
    struct weir__pending *pending = &scanner->pending;
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < scanner->engine->count; i++)
        pending->asked[i].kept = 0;
    for (unsigned i = pending->count; i-- > 0;) {
        const struct weir__candidate *one = &pending->items[i];
        bool is_waiting =
            one->standing == WEIR__WAITS && (one->is_allowed || !is_left_out(scanner, i));
        bool is_in_reach = end_of(one) > scanner->offset || (one->is_told && end_of(one) > next);
        bool is_kept = weir__required_is_asked(scanner, one, is_forced) ||
                       (!is_forced && (is_waiting || is_in_reach));
        pending->order[i] = is_kept;
        if (is_kept)
            next = one->place.offset;
    }
}

/* By where its text begins. */
static int by_text(const void *a, const void *b, void *arg)
{
    const struct weir__candidate *items = arg;
    uint32_t left = items[*(const uint32_t *)a].secret_at,
             right = items[*(const uint32_t *)b].secret_at;
    return (left > right) - (left < right);
}

/* Forgets the texts of those that are not to be told any more. What is kept moves to the front: in
 * the order in which it came, so that nothing is moved over what is still to be moved. */
static void drop_texts(struct weir__pending *pending)
{
    unsigned count = 0;
    bool is_in_order = true;
    for (unsigned i = 0; i < pending->count; i++) {
        const struct weir__candidate *one = &pending->items[i];
        if (one->is_told || one->is_done || one->is_allowed)
            continue;
        pending->order[count] = i;
        is_in_order =
            is_in_order && (count == 0 || by_text(&pending->order[count - 1],
                                                  &pending->order[count], pending->items) <= 0);
        count++;
    }
    if (!is_in_order)
        qsort_r(pending->order, count, sizeof(*pending->order), by_text, pending->items);
    char *text = (char *)weir__buffer_text(&pending->text);
    uint32_t length = 0;
    for (unsigned i = 0; i < count; i++) {
        struct weir__candidate *one = &pending->items[pending->order[i]];
        /* The secret, the match and the line, one behind the other; of a path only the first. */
        uint32_t from = one->secret_at, until = from + one->secret_length;
        until =
            one->match_at + one->match_length > until ? one->match_at + one->match_length : until;
        if (one->line_length > 0)
            until = one->line_at + one->line_length;
        memmove(text + length, text + from, until - from);
        one->secret_at = length;
        one->match_at = one->match_at - from + length;
        one->line_at = one->line_length > 0 ? one->line_at - from + length : 0;
        length += until - from;
    }
    weir__buffer_truncate(&pending->text, length);
}

/* Forgets those of which all is known. is_forced: whatever is there is judged, and forgotten. */
static void compact(struct weir__scanner *scanner, bool is_forced)
{
    struct weir__pending *pending = &scanner->pending;
    if (weir__required_prepare(scanner) < 0) {
        scanner->error = -WEIR_E_NO_MEMORY;
        return;
    }
    find_standing(scanner, is_forced);
    for (unsigned i = 0; i < pending->count; i++)
        if (is_forced || (pending->items[i].standing != WEIR__WAITS &&
                          end_of(&pending->items[i]) <= scanner->offset))
            conclude(scanner, i);
    find_kept(scanner, is_forced);
    unsigned count = 0;
    pending->has_decoded = false;
    for (unsigned i = 0; i < pending->count; i++)
        if (pending->order[i]) {
            pending->has_decoded |= pending->items[i].encodings_count > 0;
            pending->items[count++] = pending->items[i];
        }
    pending->count = pending->sorted = count;
    pending->settled = 0;
    drop_texts(pending);
}

static bool is_scarce(const struct weir__pending *pending, unsigned quarters)
{
    return pending->count > pending->capacity / 4 * quarters ||
           weir__buffer_length(&pending->text) > pending->text_room / 4 * quarters;
}

/* Twice as much of what is scarce, up to the limits. */
static void grow(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    if (pending->count > pending->capacity / 2 && pending->capacity < WEIR__CANDIDATES_MAX &&
        resize(pending, pending->capacity * 2) < 0)
        scanner->error = -WEIR_E_NO_MEMORY;
    if (weir__buffer_length(&pending->text) > pending->text_room / 2 &&
        pending->text_room < WEIR__CANDIDATE_TEXT)
        pending->text_room *= 2;
}

/* All that is there is about to be judged by what was seen so far. Whether that was too early for
 * those that wait for a keyword alone is known at the end: if it never comes, they fall anyway. */
static void note_early(struct weir__scanner *scanner)
{
    const struct weir__pending *pending = &scanner->pending;
    for (unsigned i = 0; i < pending->count; i++) {
        const struct weir__candidate *candidate = &pending->items[i];
        const struct weir__prepared *prepared = &scanner->engine->prepared[candidate->rule];
        if (candidate->is_told || candidate->is_done)
            continue;
        if (!has_keyword(scanner, prepared))
            scanner->is_dropped[candidate->rule] = true;
        else if (candidate->standing == WEIR__WAITS || prepared->rank > 0)
            scanner->result.is_judged_early = true;
    }
}

void weir__pending_end(struct weir__scanner *scanner)
{
    const struct weir__engine *engine = scanner->engine;
    if (!memchr(scanner->is_dropped, true, engine->count)) /* as of nearly every object */
        return;
    for (uint32_t i = 0; i < engine->count; i++)
        if (scanner->is_dropped[i] && has_keyword(scanner, &engine->prepared[i]))
            scanner->result.is_judged_early = true;
}

static void make_room(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    compact(scanner, false);
    if (scanner->error == 0)
        grow(scanner);
    if (scanner->error == 0 && is_scarce(pending, 3)) {
        /* What is certain is told now, and not with its segment: its text is not needed then. */
        weir__pending_settle(scanner);
        compact(scanner, false);
    }
    if (scanner->error == 0 && is_scarce(pending, 3)) {
        note_early(scanner);
        compact(scanner, true);
    }
    pending->again = pending->count + pending->capacity / 8;
    pending->text_again = weir__buffer_length(&pending->text) + pending->text_room / 8;
}
