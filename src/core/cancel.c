/* cancel.c - tokens in a tree, guarded by one lock at the root.
 *
 * One lock for a tree means that firing sees a frozen tree and that no order of locks between
 * parents and children is needed. It is taken to join and leave, to hook and unhook, and to fire:
 * never on a path that does not wait.
 *
 * Firing marks the whole subtree and moves all of its hooks to a list on the firing thread's stack,
 * under the lock. It then takes hooks from that list one after the other: a waiter's word is set
 * under the lock and woken without it, a callback runs without it. Because a moved hook is still on
 * a list under the same lock, weir_cancel_off() can take it away at any moment; and once a callback
 * has begun, off waits for its end, since the hook's memory is about to go away.
 *
 * Hook states: IDLE not on any list, LINKED on a list, RUNNING its callback runs, DONE.
 */
#include "cancel.h"

#include <string.h>

#include "assert.h"
#include "atomic.h"
#include "futex.h"
#include "lock.h"
#include "mutants.h"
#include "park.h"
#include "thread.h"

enum { IDLE = 0, LINKED = 1, RUNNING = 2, DONE = 3 };

static const struct weir_lock_class cancel_class = {"cancel", WEIR__RANK_CANCEL};

/* A hook knows the head of the list that it is on, so it can leave whichever that is. */
static void hook_push(struct weir_cancel_hook **head, struct weir_cancel_hook *hook)
{
    hook->_head = head;
    hook->_prev = NULL;
    hook->_next = *head;
    if (*head)
        (*head)->_prev = hook;
    *head = hook;
}

static void hook_unlink(struct weir_cancel_hook *hook)
{
    if (hook->_prev)
        hook->_prev->_next = hook->_next;
    else
        *hook->_head = hook->_next;
    if (hook->_next)
        hook->_next->_prev = hook->_prev;
    hook->_prev = hook->_next = NULL;
    hook->_head = NULL;
}

void weir_cancel_init(struct weir_cancel *token, struct weir_cancel *parent)
{
    memset(token, 0, sizeof(*token));
    weir_lock_init(&token->_lock, &cancel_class);
    token->_root = parent ? parent->_root : token;
    token->_parent = parent;
    if (!parent)
        return;
    weir_lock_acquire(&token->_root->_lock);
    token->_fired = weir__load32_relaxed(&parent->_fired);
    token->_next_sibling = parent->_first_child;
    if (parent->_first_child)
        parent->_first_child->_prev_sibling = token;
    parent->_first_child = token;
    weir_lock_release(&token->_root->_lock);
}

void weir_cancel_fini(struct weir_cancel *token)
{
    if (!token || !token->_root)
        return;
    weir_lock_acquire(&token->_root->_lock);
    WEIR__ASSERT(!token->_first_child, "cancel token", "", "destroyed before its children");
    WEIR__ASSERT(!token->_hooks, "cancel token", "", "destroyed while hooks or waits hang on it");
    if (token->_prev_sibling)
        token->_prev_sibling->_next_sibling = token->_next_sibling;
    else if (token->_parent)
        token->_parent->_first_child = token->_next_sibling;
    if (token->_next_sibling)
        token->_next_sibling->_prev_sibling = token->_prev_sibling;
    weir_lock_release(&token->_root->_lock);
    weir_lock_fini(&token->_lock);
    token->_root = NULL;
}

bool weir_cancel_is_fired(const struct weir_cancel *token)
{
    return weir__load32(&token->_fired);
}

/* The next token of the subtree under top, parents before children; NULL after the last. */
static struct weir_cancel *next_in_subtree(struct weir_cancel *at, const struct weir_cancel *top)
{
    if (at->_first_child)
        return at->_first_child;
    while (at != top && !at->_next_sibling)
        at = at->_parent;
    return at == top ? NULL : at->_next_sibling;
}

/* Marks the tokens as fired and moves what hangs on them to *pending. */
static void mark_subtree(struct weir_cancel *top, struct weir_cancel_hook **pending)
{
    for (struct weir_cancel *at = top; at; at = next_in_subtree(at, top)) {
        weir__store32(&at->_fired, 1);
        while (at->_hooks) {
            struct weir_cancel_hook *hook = at->_hooks;
            hook_unlink(hook);
            hook_push(pending, hook);
        }
    }
}

static void finish_callback(struct weir_cancel_hook *hook)
{
    /* After this store the hook may be gone; the wake is by address. */
    uint32_t *state = &hook->_state;
    weir__store32(state, DONE);
    weir__futex_wake(state, 1);
}

void weir_cancel_fire(struct weir_cancel *token)
{
    weir_lock_assert_none("held while a token is fired");
    struct weir_lock *lock = &token->_root->_lock;
    struct weir_cancel_hook *pending = NULL;
    struct weir__wakes wakes = {0};

    weir_lock_acquire(lock);
    mark_subtree(token, &pending);
    while (pending) {
        struct weir_cancel_hook *hook = pending;
        void (*fn)(void *arg) = hook->_fn;
        hook_unlink(hook);
        if (fn) {
            struct weir__thread self;
            weir__thread_self(&self);
            weir__store64_relaxed(&hook->_runner, self.handle);
            weir__store32(&hook->_state, RUNNING);
        } else {
            uint32_t *word = hook->_arg;
            weir__or32(word, WEIR__PARK_CANCELED);
            wakes.word[wakes.count++] = word;
            weir__store32(&hook->_state, DONE);
        }
        if (fn || weir__wakes_is_full(&wakes)) {
            weir_lock_release(lock);
            weir__wakes_send(&wakes);
            if (fn) {
                fn(hook->_arg);
                finish_callback(hook);
            }
            weir_lock_acquire(lock);
        }
    }
    weir_lock_release(lock);
    weir__wakes_send(&wakes);
}

static bool hook_add(struct weir_cancel *token, struct weir_cancel_hook *hook,
                     void (*fn)(void *arg), void *arg)
{
    hook->_root = token->_root;
    hook->_fn = fn;
    hook->_arg = arg;
    weir_lock_acquire(&token->_root->_lock);
    bool fired = weir__load32_relaxed(&token->_fired) && !WEIR__MUTANT(CANCEL_HOOK_AFTER_FIRE);
    if (!fired) {
        hook_push(&token->_hooks, hook);
        weir__store32(&hook->_state, LINKED);
    } else {
        weir__store32(&hook->_state, DONE);
    }
    weir_lock_release(&token->_root->_lock);
    return !fired;
}

bool weir_cancel_on(struct weir_cancel *token, struct weir_cancel_hook *hook, void (*fn)(void *arg),
                    void *arg)
{
    WEIR__ASSERT(fn, "cancel token", "", "a hook without a function");
    bool added = hook_add(token, hook, fn, arg);
    if (!added)
        fn(arg);
    return added;
}

void weir__cancel_hook_word(struct weir_cancel *token, struct weir_cancel_hook *hook,
                            uint32_t *word)
{
    if (!hook_add(token, hook, NULL, word))
        weir__or32(word, WEIR__PARK_CANCELED);
}

bool weir_cancel_off(struct weir_cancel_hook *hook)
{
    if (!hook->_root)
        return true;
    struct weir_lock *lock = &hook->_root->_lock;
    weir_lock_acquire(lock);
    bool removed = weir__load32_relaxed(&hook->_state) == LINKED;
    if (removed) {
        hook_unlink(hook);
        weir__store32(&hook->_state, IDLE);
    }
    weir_lock_release(lock);
    if (weir__load32(&hook->_state) == RUNNING) {
        struct weir__thread self;
        weir__thread_self(&self);
        WEIR__ASSERT(weir__load64_relaxed(&hook->_runner) != self.handle, "cancel token", "",
                     "a hook was removed from within its own function");
        weir_lock_assert_none("held while a hook's end is waited for");
    }
    if (!WEIR__MUTANT(CANCEL_OFF_DOES_NOT_WAIT))
        while (weir__load32(&hook->_state) == RUNNING)
            weir__futex_wait(&hook->_state, RUNNING, WEIR_NEVER);
    hook->_root = NULL;
    return removed;
}
