/* lock.h - a small mutual exclusion lock with a name and a rank.
 *
 * For short critical sections over memory, never across a wait or input and output. Not fair, not
 * recursive. Builds with checks assert on every acquisition that ranks rise (a thread that holds
 * rank r may only take ranks above r), and at the start of every wait or blocking call that no lock
 * is held at all; so an inversion is found by the first run that takes both locks, in whatever
 * order, and not by the one in a million that deadlocks.
 *
 * Cost: one atomic operation each way when nobody else wants it; a futex otherwise.
 *
 * Ownership: the lock lives in the caller's memory and copies nothing; its class must outlive it.
 */
#ifndef WEIR_LOCK_H
#define WEIR_LOCK_H

#include <weir/defs.h>
#include <weir/error.h>

WEIR_BEGIN_DECLS

/* What kind of lock this is. Locks of one class are never held together. */
struct weir_lock_class {
    const char *name;
    unsigned rank; /* 1 and up; core's own are in WEIR_RANK_CORE and above */
};

/* Programs use ranks below; core's locks are innermost, since core never calls out under a lock. */
#define WEIR_RANK_CORE 1000u

struct weir_lock {
    uint32_t _word;
    const struct weir_lock_class *_class;
};

#define WEIR_LOCK_INIT(class_ptr)                                                                  \
    {                                                                                              \
        0, class_ptr                                                                               \
    }

WEIR_API void weir_lock_init(struct weir_lock *lock, const struct weir_lock_class *lock_class);

/* Asserts that nobody holds it. Accepts NULL and a lock that was never initialised (all zero). */
WEIR_API void weir_lock_fini(struct weir_lock *lock);

WEIR_API void weir_lock_acquire(struct weir_lock *lock);
WEIR_API void weir_lock_release(struct weir_lock *lock);

/* To be called where a wait or a blocking system call begins: with checks, asserts that this thread
 * holds no lock, and names the lock and the wait if it does. */
WEIR_API void weir_lock_assert_none(const char *what);

/* A written order of locks, from the outermost to the innermost. Registering checks that ranks
 * rise (Invalid) and that no name stands twice or is known with another rank (Exists), and enters
 * all of the list or nothing; the order can be listed afterwards, which is
 * how documentation is kept true. At most WEIR_LOCK_CLASSES_MAX classes: Overflow beyond. */
#define WEIR_LOCK_CLASSES_MAX 128
WEIR_API int weir_lock_register(const struct weir_lock_class *const *classes, size_t count);
WEIR_API size_t weir_lock_list(const struct weir_lock_class **ret_classes, size_t room);

WEIR_END_DECLS

#endif
