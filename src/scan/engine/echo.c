/* echo.c - text that repeats itself.
 *
 * In a file that is one line over and over, each hit of a rule stands in the same bytes as the one
 * before. What a search gives depends on the bytes from a little before its first start to a width
 * behind its last one, and on nothing else unless it comes to an end of the text; what the gates
 * say depends on the line. So if these bytes are the same at a distance, the answer is the same.
 *
 * To see that they are takes one look at each byte: for a few distances it is kept how far the text
 * is the same as the text that much before it, and each question goes on from there. Text that does
 * not repeat itself differs within a few bytes. What is compared in all is limited by the length of
 * the object; beyond that, and for what is decoded, every hit is searched.
 */
#include <string.h>

#include "binding.h"
#include "parts.h"

#include "banned.h"

#define DISTANCE_MAX 4096u        /* beyond, a search costs little for each byte of the text */
#define WORK_FIRST   (256u << 10) /* bytes that may be compared at the beginning of an object */
#define WORK_EACH    8u           /* and for each byte of it */

static size_t same_length(const char *a, const char *b, size_t length)
{
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= length; at += sizeof(uint64_t))
        if (memcmp(a + at, b + at, sizeof(uint64_t)) != 0)
            break;
    while (at < length && a[at] == b[at])
        at++;
    return at;
}

/* The one of this distance, or the one that was made first. */
static struct weir__same *same_of(struct weir__scanner *scanner, uint64_t distance)
{
    for (unsigned i = 0; i < WEIR__SAME_COUNT; i++)
        if (scanner->same[i].distance == distance)
            return &scanner->same[i];
    return &scanner->same[scanner->same_next++ % WEIR__SAME_COUNT];
}

/* Whether [from, until) of the object is the same as the bytes that much before. */
static bool is_same(struct weir__scanner *scanner, uint64_t distance, uint64_t from, uint64_t until)
{
    const struct weir__view *view = &scanner->views[0];
    if (distance == 0 || distance > DISTANCE_MAX || from < view->offset + distance ||
        until > view->offset + view->length)
        return false;
    struct weir__same *same = same_of(scanner, distance);
    if (same->distance != distance || from < same->from || from > same->until)
        *same = (struct weir__same){.distance = distance, .from = from, .until = from};
    if (until <= same->until)
        return true;
    if (same->is_stopped || scanner->same_work > WORK_FIRST + WORK_EACH * until)
        return false;
    const char *bytes = view->bytes + (size_t)(same->until - view->offset);
    size_t wanted = (size_t)(until - same->until);
    size_t length = same_length(bytes, bytes - distance, wanted);
    scanner->same_work += length + 1;
    same->until += length;
    same->is_stopped = length < wanted;
    return !same->is_stopped;
}

void weir__echo_begin(struct weir__scanner *scanner)
{
    memset(scanner->same, 0, sizeof(scanner->same));
    scanner->same_work = 0;
}

static struct weir__echo *echo_of(struct weir__scanner *scanner, uint32_t rule)
{
    struct weir__echo *echo = &scanner->echoes[rule];
    if (echo->generation != scanner->generation)
        *echo = (struct weir__echo){.generation = scanner->generation};
    return echo;
}

static struct weir__match moved(const struct weir__match *match, uint64_t distance)
{
    struct weir__match other = *match;
    other.from += (size_t)distance;
    other.until += (size_t)distance;
    other.secret_from += (size_t)distance;
    other.secret_until += (size_t)distance;
    return other;
}

/* Bytes before the first start that make a difference: what is looked behind, and the end of a line
 * or of a word. */
uint64_t weir__echo_before(const struct weir__scanner *scanner, uint32_t rule)
{
    const struct weir__rule *read = scanner->engine->prepared[rule].rule;
    return (uint64_t)scanner->matchers[rule].lookbehind + 2 +
           (read->is_bound || read->is_named ? WEIR__BINDING_BEFORE : 0);
}

int weir__echo_find(struct weir__scanner *scanner, uint32_t rule, size_t from, size_t to,
                    struct weir__match *ret_match, size_t *ret_next)
{
    if (scanner->level > 0 || scanner->matchers[rule].lookbehind == UINT32_MAX)
        return -1;
    const struct weir__echo *echo = echo_of(scanner, rule);
    uint64_t base = scanner->view->offset, distance = base + to - echo->to;
    uint64_t before = weir__echo_before(scanner, rule),
             width = scanner->engine->prepared[rule].width;
    /* The same searches, which do not come to an end of the text. */
    if (!echo->is_set || to - from != echo->back || base + from < before ||
        scanner->view->length - to <= width ||
        !is_same(scanner, distance, base + from - before, base + to + width))
        return -1;
    *ret_next = (size_t)(echo->next + distance - base);
    if (echo->has_match)
        *ret_match = moved(&echo->match, distance - base);
    return echo->has_match;
}

bool weir__echo_keep(struct weir__scanner *scanner, uint32_t rule, size_t from, size_t to,
                     const struct weir__match *match, size_t next)
{
    const struct weir__view *view = scanner->view;
    if (scanner->level > 0)
        return false;
    struct weir__echo *echo = echo_of(scanner, rule);
    echo->is_set = from > weir__echo_before(scanner, rule) &&
                   view->length - to > scanner->engine->prepared[rule].width;
    echo->to = view->offset + to;
    echo->back = to - from;
    echo->next = view->offset + next;
    echo->has_match = match != NULL;
    if (match)
        echo->match = moved(match, view->offset);
    return echo->is_set && scanner->matchers[rule].lookbehind != UINT32_MAX;
}

/* --- the rules of an anchor --- */

uint64_t weir__idle_rules(struct weir__scanner *scanner, uint32_t anchor, size_t to)
{
    struct weir__idle *idle = &scanner->idle[anchor];
    uint64_t end = scanner->view->offset + to, gap = end - idle->to;
    if (idle->generation != scanner->generation || idle->rules == 0 || gap > idle->gap_max ||
        end < idle->before || !is_same(scanner, gap, end - idle->before, end + idle->behind))
        return 0;
    idle->to = end;
    return idle->rules;
}

void weir__idle_begin(struct weir__scanner *scanner, uint32_t anchor, size_t to)
{
    scanner->idle[anchor] = (struct weir__idle){
        .generation = scanner->generation, .to = scanner->view->offset + to, .gap_max = UINT64_MAX};
}

/* Nothing begins in the `back` bytes before the hit. Behind the next hit in the same text it is the
 * same; what lies before those bytes was ruled out by the hit before it, if that is no further, or
 * is out of the rule's reach. */
void weir__idle_note(struct weir__scanner *scanner, uint32_t anchor, uint32_t number, size_t back)
{
    struct weir__idle *idle = &scanner->idle[anchor];
    const struct weir__engine *engine = scanner->engine;
    uint32_t rule = engine->anchor_rules[engine->anchors[anchor].first_rule + number];
    uint64_t before = back + weir__echo_before(scanner, rule), width = engine->prepared[rule].width;
    if (back < engine->prepared[rule].reach && back + 1 < idle->gap_max)
        idle->gap_max = back + 1;
    idle->before = before > idle->before ? before : idle->before;
    idle->behind = width + 1 > idle->behind ? width + 1 : idle->behind;
    idle->rules |= UINT64_C(1) << number;
}

bool weir__echo_judged(struct weir__scanner *scanner, const struct weir__match *match,
                       enum weir__verdict *ret_verdict, struct weir__facts *ret_facts)
{
    if (scanner->view->parent)
        return false;
    struct weir__echo *echo = echo_of(scanner, match->rule);
    uint64_t base = scanner->view->offset, distance = base + match->from - echo->judged.from;
    struct weir__match other = moved(&echo->judged, distance - base);
    if (!echo->is_judged || other.until != match->until ||
        other.secret_from != match->secret_from || other.secret_until != match->secret_until ||
        !is_same(scanner, distance, echo->line_from + distance, echo->line_until + distance))
        return false;
    *ret_verdict = echo->verdict;
    *ret_facts = (struct weir__facts){.entropy = echo->entropy, .is_checked = echo->is_checked};
    /* The next one is compared with this one: it is nearer. */
    echo->judged = moved(match, base);
    echo->line_from += distance;
    echo->line_until += distance;
    return true;
}

void weir__echo_judge(struct weir__scanner *scanner, const struct weir__match *match,
                      enum weir__verdict verdict, const struct weir__facts *facts)
{
    const struct weir__view *view = scanner->view;
    if (view->parent)
        return;
    struct weir__echo *echo = echo_of(scanner, match->rule);
    uint64_t from = (uint64_t)(facts->line - view->bytes),
             until = (uint64_t)(facts->line_end - view->bytes);
    /* With the bytes that end the line, or would go on with a comment's word. */
    echo->is_judged = from > 0 && until < view->length;
    echo->line_from = view->offset + from - 1;
    echo->line_until = view->offset + until + 1;
    echo->judged = moved(match, view->offset);
    echo->verdict = verdict;
    echo->entropy = facts->entropy;
    echo->is_checked = facts->is_checked;
}
