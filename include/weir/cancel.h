/* cancel.h - a tree of cancel tokens.
 *
 * Firing a token fires all tokens below it, once and for ever. Whoever waits with a deadline that
 * carries a fired token wakes with Canceled; hooks run once.
 *
 * Promises: after the weir_cancel_fire() that fired a token has returned, every wait under it has
 * been woken and every hook has run or been removed. Firing again is harmless, and returns at once
 * even if the first call is still at it in another thread. No hook runs under a lock. Not for
 * signal handlers: use a thread with sigwait.
 *
 * Memory order: what was done before firing happens before what a hook does and before the return
 * of a wait with Canceled.
 *
 * Cost: asking whether it fired is one load; firing is linear in what hangs below.
 *
 * Ownership: tokens and hooks live in the caller's memory; a token outlives its children, its hooks
 * and any call of fire on it, and weir_cancel_fini() asserts the first two.
 */
#ifndef WEIR_CANCEL_H
#define WEIR_CANCEL_H

#include <weir/defs.h>
#include <weir/lock.h>

WEIR_BEGIN_DECLS

struct weir_cancel_hook {
    struct weir_cancel_hook *_prev;
    struct weir_cancel_hook *_next;
    struct weir_cancel_hook **_head; /* the list that it is on */
    struct weir_cancel *_root;       /* whose lock guards that list */
    void (*_fn)(void *arg);
    void *_arg;
    uint32_t _state;
    uint64_t _runner; /* the thread that runs fn */
};

struct weir_cancel {
    uint32_t _fired;
    struct weir_cancel *_root;
    struct weir_cancel *_parent;
    struct weir_cancel *_first_child;
    struct weir_cancel *_prev_sibling;
    struct weir_cancel *_next_sibling;
    struct weir_cancel_hook *_hooks;
    struct weir_lock _lock; /* the root's guards the whole tree */
};

/* parent may be NULL. A child of a fired token is born fired. */
WEIR_API void weir_cancel_init(struct weir_cancel *token, struct weir_cancel *parent);
WEIR_API void weir_cancel_fini(struct weir_cancel *token);

WEIR_API void weir_cancel_fire(struct weir_cancel *token);
WEIR_API bool weir_cancel_is_fired(const struct weir_cancel *token);

/* Has fn(arg) called by the thread that fires the token. fn must not wait, and must not free the
 * hook: that is for whoever called weir_cancel_off(). If the token has fired already, fn is called
 * before this returns and the answer is false. */
WEIR_API bool weir_cancel_on(struct weir_cancel *token, struct weir_cancel_hook *hook,
                             void (*fn)(void *arg), void *arg);

/* Removes the hook. True: fn was not called and will not be. False: fn has been called; if it is
 * running in another thread just now, this waits until it has returned. Either way the hook's
 * memory is the caller's again. Accepts a hook that is all zero. Not to be called from fn itself.
 */
WEIR_API bool weir_cancel_off(struct weir_cancel_hook *hook);

WEIR_END_DECLS

#endif
