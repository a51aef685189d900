/* turns.c - a table of those addresses that have a turn, each with a list of what waits.
 *
 * State: chains of accounts by a hash of the address, guarded by one lock. An account is in its
 * chain from its first turn to the end of its last. It has running turns, 1 to at_once; something
 * waits only while these are at_once.
 *
 * Happy path: the account has turns left, and entering takes one. Otherwise the turn is linked, and
 * who passes a turn of that account on unlinks the oldest, which thereby has it, and calls go()
 * without the lock. Failure modes: go() cannot use it, since its client has gone or the line of
 * work is full or closed; then the turn is the next one's, until one can, or nobody is left.
 */
#include "turns.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_mutants.h"
#include "locks.h"
#include "require.h"

#include "banned.h"

#define ACCOUNTS_MAX (UINT32_C(1) << 21)

struct weir__turns_account {
    struct weir__turns_account *next; /* in its chain, or among the free */
    unsigned char key[WEIR__TURNS_KEY];
    size_t key_size;
    uint32_t running, waiting;
    struct weir__lookup_turn *first, *last; /* that wait */
};

struct weir__turns {
    struct weir__turns_options options;
    struct weir_lock lock; /* guards all that follows, and the links of turns */
    struct weir__turns_account **chains;
    uint32_t chains_mask;
    struct weir__turns_account *all;
    uint32_t used; /* of all: those from here on were never in use, and cost no memory yet */
    struct weir__turns_account *free;
    struct weir__turns_stats stats;
};

const struct weir_lock_class weir__turns_class = {"turns", WEIR__RANK_TURNS};

int weir__turns_new(struct weir__turns **ret_turns, const struct weir__turns_options *options)
{
    if (!options->at_once || !options->waiting_max || !options->waiting_each ||
        !options->accounts_max || options->accounts_max > ACCOUNTS_MAX)
        return -WEIR_E_INVALID;
    uint32_t chains = 1;
    while (chains < options->accounts_max)
        chains *= 2;
    struct weir__turns *turns = weir__base_alloc(1, sizeof(*turns));
    if (!turns)
        return -WEIR_E_NO_MEMORY;
    turns->options = *options;
    weir_lock_init(&turns->lock, &weir__turns_class);
    turns->chains = weir__base_alloc(chains, sizeof(turns->chains[0]));
    turns->all = weir__base_alloc(options->accounts_max, sizeof(turns->all[0]));
    if (!turns->chains || !turns->all) {
        weir__turns_free(turns);
        return -WEIR_E_NO_MEMORY;
    }
    turns->chains_mask = chains - 1;
    *ret_turns = turns;
    return 0;
}

void weir__turns_free(struct weir__turns *turns)
{
    if (!turns)
        return;
    WEIR__REQUIRE(turns->stats.accounts == 0, "turns", "", "freed while somebody has one");
    weir_lock_fini(&turns->lock);
    weir__base_free(turns->chains);
    weir__base_free(turns->all);
    weir__base_free(turns);
}

/* --- with the lock held --- */

/* FNV. Who chooses addresses to meet in one chain has at most accounts_max of them. */
static uint32_t hash_of(const unsigned char *key, size_t size)
{
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ key[i]) * UINT32_C(16777619);
    return hash ^ hash >> 16;
}

static struct weir__turns_account **link_of(struct weir__turns *turns, const unsigned char *key,
                                            size_t size)
{
    struct weir__turns_account **link = &turns->chains[hash_of(key, size) & turns->chains_mask];
    while (*link && ((*link)->key_size != size || memcmp((*link)->key, key, size) != 0))
        link = &(*link)->next;
    return link;
}

/* At the end of its chain. NULL: there are as many as there may be. */
static struct weir__turns_account *open_account(struct weir__turns *turns,
                                                struct weir__turns_account **link,
                                                const struct weir__lookup_turn *turn)
{
    struct weir__turns_account *account = turns->free;
    if (account)
        turns->free = account->next;
    else if (turns->used < turns->options.accounts_max)
        account = &turns->all[turns->used++];
    else
        return NULL;
    *account = (struct weir__turns_account){.key_size = turn->key_size};
    memcpy(account->key, turn->key, turn->key_size);
    *link = account;
    turns->stats.accounts++;
    return account;
}

static void close_account(struct weir__turns *turns, struct weir__turns_account *account)
{
    struct weir__turns_account **link = link_of(turns, account->key, account->key_size);
    *link = account->next;
    account->next = turns->free;
    turns->free = account;
    turns->stats.accounts--;
}

static void take(struct weir__turns *turns, struct weir__turns_account *account,
                 struct weir__lookup_turn *turn)
{
    turn->_account = account;
    account->running++;
    turns->stats.taken++;
}

static bool is_full(const struct weir__turns *turns, const struct weir__turns_account *account)
{
    return turns->stats.waiting >= turns->options.waiting_max ||
           account->waiting >= turns->options.waiting_each;
}

static void wait_in_line(struct weir__turns *turns, struct weir__turns_account *account,
                         struct weir__lookup_turn *turn)
{
    turn->_next = NULL;
    *(account->last ? &account->last->_next : &account->first) = turn;
    account->last = turn;
    account->waiting++;
    turns->stats.waiting++;
    turns->stats.waited++;
}

static struct weir__lookup_turn *unlink_first(struct weir__turns *turns,
                                              struct weir__turns_account *account)
{
    struct weir__lookup_turn *turn = account->first;
    account->first = turn->_next;
    if (!account->first)
        account->last = NULL;
    account->waiting--;
    turns->stats.waiting--;
    return turn;
}

/* --- without it --- */

int weir__turns_enter(struct weir__turns *turns, struct weir__lookup_turn *turn, bool *ret_has)
{
    int error = 0;
    weir_lock_acquire(&turns->lock);
    struct weir__turns_account **link = link_of(turns, turn->key, turn->key_size);
    struct weir__turns_account *account = *link ? *link : open_account(turns, link, turn);
    bool has = account && account->running < turns->options.at_once;
    if (WEIR__INDEX_MUTANT(TURNS_ENTER_LETS_GO)) {
        weir_lock_release(&turns->lock);
        weir_lock_acquire(&turns->lock);
    }
    if (!account || (!has && is_full(turns, account)))
        error = -WEIR_E_BUSY;
    else if (has)
        take(turns, account, turn);
    else
        wait_in_line(turns, account, turn);
    turns->stats.refused += error != 0;
    weir_lock_release(&turns->lock);
    if (!error)
        *ret_has = has;
    return error;
}

struct weir__turns_account *weir__turns_take_out(struct weir__lookup_turn *turn)
{
    struct weir__turns_account *account = turn->_account;
    turn->_account = NULL;
    return account;
}

/* Who has the turn now; NULL: nobody has waited. */
static struct weir__lookup_turn *next_of(struct weir__turns *turns,
                                         struct weir__turns_account *account)
{
    struct weir__lookup_turn *next = NULL;
    weir_lock_acquire(&turns->lock);
    account->running--;
    turns->stats.passed++;
    if (account->first && !WEIR__INDEX_MUTANT(TURNS_NEXT_FORGOTTEN)) {
        next = unlink_first(turns, account);
        take(turns, account, next);
    } else if (account->running == 0)
        close_account(turns, account);
    weir_lock_release(&turns->lock);
    return next;
}

void weir__turns_pass(struct weir__turns *turns, struct weir__turns_account *account)
{
    struct weir__lookup_turn *next = account ? next_of(turns, account) : NULL;
    while (next && !turns->options.go(next) && !WEIR__INDEX_MUTANT(TURNS_UNUSED_IS_LOST))
        next = next_of(turns, account);
}

void weir__turns_read(struct weir__turns *turns, struct weir__turns_stats *ret_stats)
{
    weir_lock_acquire(&turns->lock);
    *ret_stats = turns->stats;
    weir_lock_release(&turns->lock);
}
