/* lock.c - the lock, its ranks, and the list of what each thread holds.
 *
 * State word: 0 free; 1 held, nobody sleeps; 2 held, somebody may sleep. 2 may err on the side of
 * a needless wake, 1 may not err: whoever sleeps has seen or made it 2.
 *
 * Happy path: 0 -> 1 -> 0, one compare-and-swap each. Contended: swap in 2 and sleep while it is 2;
 * whoever gets it that way leaves it 2, since others may sleep, and its release wakes one.
 *
 * Failure modes: none that can be returned. A thread that takes a lock out of order, twice, or that
 * releases what it does not hold is stopped by name when checks are on.
 */
#include <weir/lock.h>

#include <string.h>

#include "assert.h"
#include "atomic.h"
#include "error.h"
#include "futex.h"
#include "lock.h"
#include "mutants.h"

enum { FREE = 0, HELD = 1, CONTENDED = 2 };

#ifdef WEIR_CHECKS
#define HELD_MAX 16
static _Thread_local struct {
    const struct weir_lock *lock[HELD_MAX];
    unsigned count;
} held;
#endif

void weir__lock_note_acquire(const struct weir_lock *lock)
{
#ifdef WEIR_CHECKS
    WEIR__ASSERT(held.count < HELD_MAX, "lock", lock->_class->name, "too many locks held at once");
    for (unsigned i = 0; i < held.count; i++) {
        WEIR__ASSERT(held.lock[i] != lock, "lock", lock->_class->name, "already held here");
        WEIR__ASSERT(held.lock[i]->_class->rank < lock->_class->rank, "lock", lock->_class->name,
                     held.lock[i]->_class->name);
    }
    held.lock[held.count++] = lock;
#else
    (void)lock;
#endif
}

void weir__lock_note_release(const struct weir_lock *lock)
{
#ifdef WEIR_CHECKS
    for (unsigned i = held.count; i-- > 0;) {
        if (held.lock[i] == lock) {
            held.lock[i] = held.lock[--held.count];
            return;
        }
    }
    weir__panic(__FILE__, __LINE__, "lock", lock->_class->name, "released by who does not hold it");
#else
    (void)lock;
#endif
}

void weir_lock_assert_none(const char *what)
{
#ifdef WEIR_CHECKS
    if (held.count > 0)
        weir__panic(__FILE__, __LINE__, "lock", held.lock[held.count - 1]->_class->name, what);
#else
    (void)what;
#endif
}

void weir_lock_init(struct weir_lock *lock, const struct weir_lock_class *lock_class)
{
    lock->_word = FREE;
    lock->_class = lock_class;
}

#ifndef WEIR_EXPLORE_LOCK_MODEL /* the explorer proves this code once and models it elsewhere */

void weir_lock_fini(struct weir_lock *lock)
{
    if (lock && lock->_class)
        WEIR__ASSERT(weir__load32(&lock->_word) == FREE, "lock", lock->_class->name,
                     "destroyed while held");
}

void weir_lock_acquire(struct weir_lock *lock)
{
    weir__lock_note_acquire(lock);
    uint32_t seen = FREE;
    if (weir__cas32(&lock->_word, &seen, HELD))
        return;
    /* Taken as contended even when it was free: others may sleep, and only this one can know. */
    uint32_t mark = WEIR__MUTANT(LOCK_FORGETS_SLEEPERS) ? HELD : CONTENDED;
    while (weir__xchg32(&lock->_word, mark) != FREE)
        weir__futex_wait(&lock->_word, CONTENDED, WEIR_NEVER);
}

void weir_lock_release(struct weir_lock *lock)
{
    weir__lock_note_release(lock);
    if (weir__xchg32(&lock->_word, FREE) == CONTENDED && !WEIR__MUTANT(LOCK_WAKES_NOBODY))
        weir__futex_wake(&lock->_word, 1);
}

#endif

static const struct weir_lock_class registry_class = {"lock_registry", WEIR_RANK_CORE + 99};
static struct {
    struct weir_lock lock;
    const struct weir_lock_class *known[WEIR_LOCK_CLASSES_MAX];
    size_t count;
} registry = {.lock = WEIR_LOCK_INIT(&registry_class)};

static const struct weir_lock_class *find_known(const char *name)
{
    for (size_t i = 0; i < registry.count; i++)
        if (strcmp(registry.known[i]->name, name) == 0)
            return registry.known[i];
    return NULL;
}

/* What stands against the whole list, before any of it is entered. */
static int check_list(const struct weir_lock_class *const *classes, size_t count)
{
    size_t fresh = 0;
    for (size_t i = 0; i < count; i++) {
        const struct weir_lock_class *known = find_known(classes[i]->name);
        if (known && known->rank != classes[i]->rank)
            return weir__fail(WEIR_E_EXISTS, classes[i]->name,
                              "lock class '$n': already registered with rank $1, not $2",
                              known->rank, classes[i]->rank, 0);
        fresh += !known;
        for (size_t j = 0; j < i; j++)
            if (strcmp(classes[j]->name, classes[i]->name) == 0)
                return weir__fail(WEIR_E_EXISTS, classes[i]->name,
                                  "lock class '$n': stands twice in the list, with ranks $1 and $2",
                                  classes[j]->rank, classes[i]->rank, 0);
    }
    if (registry.count + fresh > WEIR_LOCK_CLASSES_MAX)
        return weir__fail(WEIR_E_OVERFLOW, NULL, "$1 lock classes are known, $2 is the limit",
                          registry.count, WEIR_LOCK_CLASSES_MAX, 0);
    return 0;
}

/* In the order of ranks. */
static void enter(const struct weir_lock_class *one)
{
    if (find_known(one->name))
        return;
    size_t at = registry.count;
    while (at > 0 && registry.known[at - 1]->rank > one->rank) {
        registry.known[at] = registry.known[at - 1];
        at--;
    }
    registry.known[at] = one;
    registry.count++;
}

int weir_lock_register(const struct weir_lock_class *const *classes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!classes[i] || !classes[i]->name || classes[i]->rank == 0)
            return weir__fail(WEIR_E_INVALID, NULL,
                              "lock class $1 of $2: needs a name and a rank from 1 up", i + 1,
                              count, 0);
        if (i > 0 && classes[i]->rank <= classes[i - 1]->rank)
            return weir__fail(WEIR_E_INVALID, classes[i]->name,
                              "lock class '$n': rank $1 does not rise above $2", classes[i]->rank,
                              classes[i - 1]->rank, 0);
    }
    weir_lock_acquire(&registry.lock);
    int error = check_list(classes, count);
    for (size_t i = 0; i < count && !error; i++)
        enter(classes[i]);
    weir_lock_release(&registry.lock);
    return error;
}

size_t weir_lock_list(const struct weir_lock_class **ret_classes, size_t room)
{
    weir_lock_acquire(&registry.lock);
    size_t count = registry.count;
    for (size_t i = 0; i < count && i < room; i++)
        ret_classes[i] = registry.known[i];
    weir_lock_release(&registry.lock);
    return count;
}
