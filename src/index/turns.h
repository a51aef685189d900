/* turns.h - whose lookup is next: no address keeps the resolvers from the others.
 *
 * A resolver is held for as long as sources take to answer, and nothing takes it back. So each
 * address has at_once turns at most. A turn is had from before the job is in the line of work until
 * the resolver is done with it: who waits for a lookup that somebody else leads has none. What an
 * address asks beyond that waits in a line of its own.
 *
 * Promises
 * - An address never has more than at_once turns, whatever it asks, and never waits for the turns
 *   of others.
 * - First in, first out, for each address.
 * - Somebody waits only while its address has all of its turns. So whoever has one passes it on
 *   when it ends, and nobody is forgotten.
 * - Waiting needs no thread and no memory: the links are in what waits.
 *
 * Limits: waiting_max wait in all, waiting_each of one address, accounts_max addresses have a turn;
 * Busy beyond each, and counted. All memory is taken at birth.
 *
 * Cost: one short lock for a turn, and one for its end. go() is called without it.
 *
 * Ownership: a turn lies in the caller's job. While that waits it belongs to the turns, which give
 * it back by go(); otherwise to who has the job.
 */
#ifndef WEIR_INDEX_TURNS_H
#define WEIR_INDEX_TURNS_H

#include <weir/defs.h>

#define WEIR__TURNS_KEY 16u

struct weir__turns;
struct weir__turns_account; /* of one address */

/* All zero has none. */
struct weir__lookup_turn {
    unsigned char key[WEIR__TURNS_KEY]; /* of who asks, as weir__address_key() has it */
    size_t key_size;                    /* 0: of all who have no address, together */
    struct weir__turns_account *_account;
    struct weir__lookup_turn *_next;
};

struct weir__turns_options {
    uint32_t at_once, waiting_max, waiting_each, accounts_max; /* 1 at least */
    /* One that has waited has its turn now. False: it cannot use it, has taken it out and is gone;
     * the next one gets it. By any thread that passes its own on, with no lock held; must not wait,
     * nor pass on a turn. */
    bool (*go)(struct weir__lookup_turn *turn);
};

/* Invalid: a limit of 0, or more than 2^21 addresses. NoMemory. */
WEIR_MUST_USE int weir__turns_new(struct weir__turns **ret_turns,
                                  const struct weir__turns_options *options);
/* Accepts NULL. Every turn was passed on. */
void weir__turns_free(struct weir__turns *turns);

/* 0: *ret_has says whether it has a turn, or waits. Who waits may have gone, and be gone, before
 * this returns. Busy: neither. */
WEIR_MUST_USE int weir__turns_enter(struct weir__turns *turns, struct weir__lookup_turn *turn,
                                    bool *ret_has);
/* What is to be passed on, since the job may be gone by then. NULL: it has no turn. */
WEIR_MUST_USE struct weir__turns_account *weir__turns_take_out(struct weir__lookup_turn *turn);
/* To the next of the same address. Accepts NULL. */
void weir__turns_pass(struct weir__turns *turns, struct weir__turns_account *account);

/* taken - passed are had now. */
struct weir__turns_stats {
    uint64_t taken, passed, waited, refused; /* waited: those who had to */
    uint64_t waiting, accounts;              /* now */
};
void weir__turns_read(struct weir__turns *turns, struct weir__turns_stats *ret_stats);

#endif
