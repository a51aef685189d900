/* flight.c - one leader for each key, and a list of those who wait for it.
 *
 * State: a table of flights under way, guarded by one lock. A flight is in a chain while it can be
 * joined; it leaves the chain when it lands or when its last waiter leaves. It has a reference of
 * its leader and, while its token is being fired, one of who fires; the last one puts it back among
 * the free ones.
 *
 * Happy path: the first to join leads, others are linked; the leader lands, detaches the whole list
 * under the lock, and tells one after the other without it. Failure modes: a waiter that leaves
 * when the list was detached finds that it belongs to no flight and is told; the last one to leave
 * fires the token without the lock, while the leader may be landing.
 */
#include "flight.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_mutants.h"
#include "locks.h"
#include "require.h"

#include "banned.h"

#define FLIGHTS_MAX 65536u

struct weir__flight {
    struct weir__flight *next; /* in its chain, or among the free */
    struct weir__question_key key;
    struct weir__flight_waiter *waiters;
    unsigned references;
    bool is_listed;
    uint64_t deadline_ns;
    struct weir_cancel cancel;
};

struct weir__flights {
    struct weir_lock lock; /* guards all that follows, and the flights' fields but the last two */
    struct weir__flight **chains;
    uint32_t chains_mask;
    struct weir__flight *free;
    struct weir__flight *all;
    struct weir__flights_stats stats;
};

const struct weir_lock_class weir__flights_class = {"flights", WEIR__RANK_FLIGHTS};

int weir__flights_new(struct weir__flights **ret_flights, uint32_t flights_max)
{
    if (flights_max == 0 || flights_max > FLIGHTS_MAX)
        return -WEIR_E_INVALID;
    uint32_t chains = 1;
    while (chains < flights_max)
        chains *= 2;
    struct weir__flights *flights = weir__base_alloc(1, sizeof(*flights));
    if (!flights)
        return -WEIR_E_NO_MEMORY;
    weir_lock_init(&flights->lock, &weir__flights_class);
    flights->chains = weir__base_alloc(chains, sizeof(flights->chains[0]));
    flights->all = weir__base_alloc(flights_max, sizeof(flights->all[0]));
    if (!flights->chains || !flights->all) {
        weir__flights_free(flights);
        return -WEIR_E_NO_MEMORY;
    }
    flights->chains_mask = chains - 1;
    for (uint32_t i = flights_max; i-- > 0;) {
        flights->all[i].next = flights->free;
        flights->free = &flights->all[i];
    }
    *ret_flights = flights;
    return 0;
}

void weir__flights_free(struct weir__flights *flights)
{
    if (!flights)
        return;
    WEIR__REQUIRE(flights->stats.now == 0, "flights", "", "freed while some are under way");
    weir_lock_fini(&flights->lock);
    weir__base_free(flights->chains);
    weir__base_free(flights->all);
    weir__base_free(flights);
}

/* --- with the lock held --- */

static struct weir__flight **link_of(struct weir__flights *flights,
                                     const struct weir__question_key *key)
{
    uint32_t hash;
    memcpy(&hash, key->bytes, sizeof(hash));
    struct weir__flight **link = &flights->chains[hash & flights->chains_mask];
    while (*link && memcmp(&(*link)->key, key, sizeof(*key)) != 0)
        link = &(*link)->next;
    return link;
}

/* It can be joined no more. */
static void unlist(struct weir__flights *flights, struct weir__flight *flight)
{
    if (!flight->is_listed)
        return;
    struct weir__flight **link = link_of(flights, &flight->key);
    *link = flight->next;
    flight->next = NULL;
    flight->is_listed = false;
}

static void add_waiter(struct weir__flight *flight, struct weir__flight_waiter *waiter)
{
    waiter->_flight = flight;
    waiter->_prev = NULL;
    waiter->_next = flight->waiters;
    if (flight->waiters)
        flight->waiters->_prev = waiter;
    flight->waiters = waiter;
}

static void remove_waiter(struct weir__flight *flight, struct weir__flight_waiter *waiter)
{
    if (waiter->_prev)
        waiter->_prev->_next = waiter->_next;
    else
        flight->waiters = waiter->_next;
    if (waiter->_next)
        waiter->_next->_prev = waiter->_prev;
    waiter->_flight = NULL;
}

/* NULL: there are as many as there may be. */
static struct weir__flight *begin(struct weir__flights *flights,
                                  const struct weir__question_key *key, uint64_t deadline_ns)
{
    struct weir__flight *flight = flights->free;
    if (!flight)
        return NULL;
    flights->free = flight->next;
    struct weir__flight **link = link_of(flights, key);
    flight->key = *key;
    flight->next = *link;
    *link = flight;
    flight->is_listed = true;
    flight->references = 1;
    flight->deadline_ns = deadline_ns;
    weir_cancel_init(&flight->cancel, NULL);
    flights->stats.led++;
    flights->stats.now++;
    return flight;
}

/* --- without it --- */

static void unref(struct weir__flights *flights, struct weir__flight *flight)
{
    weir_lock_acquire(&flights->lock);
    if (--flight->references == 0) {
        weir_cancel_fini(&flight->cancel);
        flight->next = flights->free;
        flights->free = flight;
        flights->stats.now--;
    }
    weir_lock_release(&flights->lock);
}

int weir__flight_join(struct weir__flights *flights, const struct weir__question_key *key,
                      uint64_t deadline_ns, struct weir__flight_waiter *waiter,
                      struct weir__flight **ret_leads)
{
    weir_lock_acquire(&flights->lock);
    struct weir__flight *flight = *link_of(flights, key);
    bool leads = flight == NULL;
    if (WEIR__INDEX_MUTANT(FLIGHT_TWO_LEADERS)) {
        weir_lock_release(&flights->lock);
        weir_lock_acquire(&flights->lock);
    }
    if (leads)
        flight = begin(flights, key, deadline_ns);
    if (flight)
        add_waiter(flight, waiter);
    flights->stats.joined += flight && !leads;
    flights->stats.refused += !flight;
    weir_lock_release(&flights->lock);
    if (!flight)
        return -WEIR_E_BUSY;
    *ret_leads = leads ? flight : NULL;
    return 0;
}

bool weir__flight_leave(struct weir__flights *flights, struct weir__flight_waiter *waiter)
{
    bool is_last = false;
    weir_lock_acquire(&flights->lock);
    struct weir__flight *flight = waiter->_flight;
    if (flight) {
        remove_waiter(flight, waiter);
        flights->stats.left++;
        is_last = (flight->waiters == NULL || WEIR__INDEX_MUTANT(FLIGHT_LEAVER_ENDS_IT)) &&
                  !WEIR__INDEX_MUTANT(FLIGHT_LAST_LEAVES_UNHEARD);
        if (is_last) {
            unlist(flights, flight);
            flight->references += !WEIR__INDEX_MUTANT(FLIGHT_GONE_WHILE_FIRED);
            flights->stats.abandoned++;
        }
    }
    weir_lock_release(&flights->lock);
    if (is_last) {
        weir_cancel_fire(&flight->cancel);
        if (!WEIR__INDEX_MUTANT(FLIGHT_GONE_WHILE_FIRED))
            unref(flights, flight);
    }
    return flight != NULL;
}

struct weir_deadline weir__flight_deadline(struct weir__flight *flight)
{
    return (struct weir_deadline){flight->deadline_ns, &flight->cancel};
}

void weir__flight_land(struct weir__flights *flights, struct weir__flight *flight, int result,
                       struct weir__answer *answer)
{
    weir_lock_acquire(&flights->lock);
    unlist(flights, flight);
    struct weir__flight_waiter *waiters = flight->waiters;
    flight->waiters = NULL;
    for (struct weir__flight_waiter *at = waiters; at; at = at->_next)
        if (!WEIR__INDEX_MUTANT(FLIGHT_TOLD_AFTER_LEAVE))
            at->_flight = NULL;
    flights->stats.landed++;
    weir_lock_release(&flights->lock);
    while (waiters) {
        struct weir__flight_waiter *waiter = waiters;
        waiters = waiter->_next; /* read first: who is told may be gone */
        waiter->told(waiter, result, answer ? weir__answer_ref(answer) : NULL);
    }
    unref(flights, flight);
}

void weir__flights_read(struct weir__flights *flights, struct weir__flights_stats *ret_stats)
{
    weir_lock_acquire(&flights->lock);
    *ret_stats = flights->stats;
    weir_lock_release(&flights->lock);
}
