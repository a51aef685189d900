/* lookup_tend.c - the janitor's turn, and what lookups have to tell.
 *
 * An attempt is left behind when its lookup ended more than WEIR__LOOKUP_GRACE_NS ago and the
 * source has not come back. Its ticket is then reported as a failure, by whoever takes it out of
 * the attempt under the line's lock: the janitor or, if it comes back in that moment, the asker.
 */
#include "lookup_part.h"

#include <weir/error.h>

#include "banned.h"

/* With the line's lock held. */
static bool is_overdue(struct weir__ask *ask, uint64_t now_ns)
{
    struct weir__inquiry *inquiry = ask->inquiry;
    weir_lock_acquire(&inquiry->lock);
    uint64_t ended_ns = inquiry->ended_ns;
    weir_lock_release(&inquiry->lock);
    return ended_ns != 0 && now_ns > weir_time_add(ended_ns, WEIR__LOOKUP_GRACE_NS);
}

/* The next ticket that nobody else will report in time; counts the attempt. False: there is none.
 */
static bool take_overdue(struct weir__lookup *lookup, uint64_t now_ns,
                         struct weir_breaker_ticket *ret_ticket)
{
    struct weir__ask *found = NULL;
    weir_lock_acquire(&lookup->line.lock);
    for (struct weir__line_item *item = lookup->line.under_way; item && !found; item = item->next) {
        struct weir__ask *ask = (struct weir__ask *)item;
        if (!ask->is_left_behind && is_overdue(ask, now_ns))
            found = ask;
    }
    if (found) {
        found->is_left_behind = true;
        *ret_ticket = found->ticket;
        found->ticket = (struct weir_breaker_ticket)WEIR_BREAKER_TICKET_NONE;
        weir_counter_add(&lookup->counts[found->source].left_behind, 1);
    }
    weir_lock_release(&lookup->line.lock);
    return found != NULL;
}

/* Without a call a breaker stays open in what it says, though its cooldown is over: a probe that is
 * taken and given back moves it on. */
static void move_on(struct weir_breaker *breaker)
{
    struct weir_breaker_stats stats;
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    weir_breaker_read(breaker, &stats);
    if (stats.state == WEIR_BREAKER_OPEN && weir_breaker_delay_ns(breaker) == 0 &&
        weir_breaker_allow(breaker, &ticket) == 0)
        weir_breaker_cancel(&ticket);
}

void weir__lookup_tend(struct weir__lookup *lookup)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    uint64_t now_ns = weir_now_ns();
    while (take_overdue(lookup, now_ns, &ticket))
        weir_breaker_report(&ticket, WEIR_BREAKER_FAILURE);
    for (size_t i = 0; i < lookup->sources_count; i++)
        move_on(&lookup->breakers[i]);
}

/* --- telling --- */

static void read_line(struct weir__line *line, struct weir__lookup_stats *stats)
{
    weir_lock_acquire(&line->lock);
    stats->line_depth = line->count;
    stats->line_high_water = line->high_water;
    stats->line_refused = line->refused;
    stats->line_canceled = line->canceled;
    stats->under_way = line->under_way_count;
    for (struct weir__line_item *item = line->under_way; item; item = item->next)
        stats->left_behind_now += ((struct weir__ask *)item)->is_left_behind;
    weir_lock_release(&line->lock);
}

void weir__lookup_read(struct weir__lookup *lookup, struct weir__lookup_stats *ret_stats)
{
    struct weir__lookup_stats stats = {
        .lookups = weir_counter_value(&lookup->lookups),
        .answered = weir_counter_value(&lookup->answered),
        .not_found = weir_counter_value(&lookup->not_found),
        .failed = weir_counter_value(&lookup->failed),
        .timed_out = weir_counter_value(&lookup->timed_out),
        .canceled = weir_counter_value(&lookup->canceled),
        .breaker_open = weir_counter_value(&lookup->breaker_open),
        .attempts = weir_counter_value(&lookup->attempts),
        .hedges = weir_counter_value(&lookup->hedges),
        .hedges_denied = weir_counter_value(&lookup->hedges_denied),
        .wins_by_hedge = weir_counter_value(&lookup->wins_by_hedge),
    };
    read_line(&lookup->line, &stats);
    *ret_stats = stats;
}

size_t weir__lookup_source_count(const struct weir__lookup *lookup)
{
    return lookup->sources_count;
}

const struct weir__source *weir__lookup_source(const struct weir__lookup *lookup, size_t index)
{
    return lookup->sources[index];
}

const struct weir__source_counts *weir__lookup_counts(const struct weir__lookup *lookup,
                                                      size_t index)
{
    return &lookup->counts[index];
}

struct weir_breaker *weir__lookup_breaker(struct weir__lookup *lookup, size_t index)
{
    return &lookup->breakers[index];
}

void weir__lookup_limits(struct weir__lookup *lookup, struct weir__lookup_limits *ret_limits)
{
    struct weir__lookup_rules *rules = weir__rules_borrow(&lookup->rules);
    *ret_limits = rules->limits;
    weir__rules_unref(rules);
}
