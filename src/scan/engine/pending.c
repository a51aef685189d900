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
    pending->missed_until = 0;
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

/* --- telling --- */

bool weir__pending_has_keyword(const struct weir__scanner *scanner,
                               const struct weir__prepared *prepared)
{
    const uint32_t *numbers = scanner->engine->keyword_numbers + prepared->first_keyword;
    for (uint32_t i = 0; i < prepared->keywords_count; i++)
        if (numbers[i] != UINT32_MAX && scanner->has_keyword[numbers[i]])
            return true;
    return prepared->keywords_count == 0;
}

bool weir__pending_lacks_keyword(const struct weir__scanner *scanner)
{
    const struct weir__pending *pending = &scanner->pending;
    for (unsigned i = 0; i < pending->count; i++)
        if (!weir__pending_has_keyword(scanner, &scanner->engine->prepared[pending->items[i].rule]))
            return true;
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
    if (scanner->is_any_enough) {
        scanner->result.findings = 1;
        return;
    }
    scanner->result.findings++;
    scanner->sink.finding(scanner->sink.arg, &finding);
}

bool weir__pending_asks_nothing(const struct weir__scanner *scanner, uint32_t rule)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[rule];
    return !prepared->rule->is_hidden && prepared->rule->required_count == 0 &&
           weir__pending_has_keyword(scanner, prepared);
}

/* Those that require others, or give way to them, wait for all. */
bool weir__pending_is_certain(const struct weir__scanner *scanner, uint32_t rule)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[rule];
    return weir__is_independent(prepared) && weir__pending_has_keyword(scanner, prepared);
}

/* Those that are not told whatever is known: another one is, instead. */
static bool is_left_out(const struct weir__scanner *scanner, unsigned index)
{
    const struct weir__candidate *candidate = &scanner->pending.items[index];
    return candidate->is_told || candidate->is_done || candidate->is_allowed ||
           weir__reading_is_other(scanner, index);
}

void weir__pending_settle(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    if (pending->count == pending->settled)
        return;
    weir__standing_sort(pending);
    weir__reading_find(scanner, false);
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
        scanner->result.is_judged_early |= weir__required_is_open(scanner, candidate) &&
                                           candidate->match_line <= scanner->pending.missed_until;
    }
}

void weir__pending_flush(struct weir__scanner *scanner)
{
    weir__standing_find(scanner, true);
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
        bool is_in_reach = weir__candidate_end(one) > scanner->offset ||
                           (one->is_told && weir__candidate_end(one) > next);
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
    weir__standing_find(scanner, is_forced);
    for (unsigned i = 0; i < pending->count; i++)
        if (is_forced || (pending->items[i].standing != WEIR__WAITS &&
                          weir__candidate_end(&pending->items[i]) <= scanner->offset))
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
 * those that wait for a keyword alone is known at the end: if it never comes, they fall anyway. And
 * whether something is forgotten that was needed, when one falls that requires it. */
static void note_early(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    for (unsigned i = 0; i < pending->count; i++) {
        const struct weir__candidate *candidate = &pending->items[i];
        const struct weir__prepared *prepared = &scanner->engine->prepared[candidate->rule];
        uint64_t until = weir__required_until(scanner, candidate);
        pending->missed_until = until > pending->missed_until ? until : pending->missed_until;
        if (candidate->is_told || candidate->is_done)
            continue;
        if (!weir__pending_has_keyword(scanner, prepared))
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
        if (scanner->is_dropped[i] && weir__pending_has_keyword(scanner, &engine->prepared[i]))
            scanner->result.is_judged_early = true;
}

static void make_room(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    if (scanner->only) { /* nothing is told before it is known that the part is enough */
        scanner->error = -WEIR_E_TOO_LARGE;
        return;
    }
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
