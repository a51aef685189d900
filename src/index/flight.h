/* flight.h - one lookup for each question at a time, whoever asks for it.
 *
 * Who comes first leads: it looks up, and lands with what it found. Who comes meanwhile waits
 * without a thread, as a waiter in memory of its own, and is told when the leader lands.
 *
 * Promises
 * - Never two leaders of one key that anybody waits for. A flight that everybody has left is
 *   abandoned: it is not joined any more, and who comes next leads a new one, while the old leader
 *   is on its way out.
 * - A waiter is told once, or has left: leaving returns true and it will never be told, or false
 *   and it was told, or is just being told, by another thread.
 * - When the last waiter has left, the flight's token fires: nobody wants to know any more. Until
 *   then nobody's leaving, the leader's own client included, ends the lookup for the others.
 * - A flight ends by its own deadline: that of who came first. A waiter with a later deadline than
 *   the flight's is told what the flight has found, Timeout too.
 *
 * Limits: flights_max flights at once, abandoned ones that have not landed included, Busy beyond;
 * all memory is taken at birth. Waiters cost nothing but themselves.
 *
 * Cost: one short lock for joining, leaving and landing; telling is done without it.
 *
 * Ownership: a waiter belongs to the caller until it was told or has left; a flight to its leader.
 */
#ifndef WEIR_INDEX_FLIGHT_H
#define WEIR_INDEX_FLIGHT_H

#include <weir/cancel.h>
#include <weir/deadline.h>
#include <weir/lock.h>

#include "answer.h"

struct weir__flights;
struct weir__flight;

struct weir__flight_waiter {
    /* With no lock held. answer: a reference of the waiter's own, or NULL with an error. */
    void (*told)(struct weir__flight_waiter *waiter, int result, struct weir__answer *answer);
    void *arg;
    struct weir__flight *_flight;
    struct weir__flight_waiter *_prev, *_next;
};

/* Invalid: no flights, or more than 65536. NoMemory. */
WEIR_MUST_USE int weir__flights_new(struct weir__flights **ret_flights, uint32_t flights_max);
/* Accepts NULL. Every flight has landed. */
void weir__flights_free(struct weir__flights *flights);

/* The waiter waits for the key. ret_leads is the flight when the caller has to look up and land,
 * NULL when somebody else does. Busy: it does not wait. */
WEIR_MUST_USE int weir__flight_join(struct weir__flights *flights,
                                    const struct weir__question_key *key, uint64_t deadline_ns,
                                    struct weir__flight_waiter *waiter,
                                    struct weir__flight **ret_leads);
/* The waiter does not want to know any more. False: it was told, or is being told, by now. */
bool weir__flight_leave(struct weir__flights *flights, struct weir__flight_waiter *waiter);
/* Until when the leader may look, and the token that fires when nobody waits. */
struct weir_deadline weir__flight_deadline(struct weir__flight *flight);
/* All waiters are told; the flight is gone. answer may be NULL; each waiter gets a reference. */
void weir__flight_land(struct weir__flights *flights, struct weir__flight *flight, int result,
                       struct weir__answer *answer);

struct weir__flights_stats {
    uint64_t led, joined, landed, left, abandoned, refused, now;
};
void weir__flights_read(struct weir__flights *flights, struct weir__flights_stats *ret_stats);

#endif
