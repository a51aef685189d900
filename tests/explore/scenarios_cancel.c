/* scenarios_cancel.c - cancel tokens: firing, waiting, hooks and the tree, racing each other. */
#include "assert.h"
#include "atomic.h"
#include "park.h"
#include "xp.h"
#include <weir/cancel.h>
#include <weir/deadline.h>

/* --- waits ---------------------------------------------------------------------------------- */

static struct {
    struct weir_cancel root;
    struct weir_cancel child;
    unsigned canceled;
    unsigned timed_out;
} w;

static void wait_setup(void)
{
    weir_cancel_init(&w.root, NULL);
    weir_cancel_init(&w.child, &w.root);
}

static void wait_fini(void)
{
    weir_cancel_fini(&w.child);
    weir_cancel_fini(&w.root);
}

/* With no limit in time, so a lost wake-up is a deadlock. */
static void wait_on_child(void)
{
    struct weir_deadline deadline = weir_deadline_until(&w.child);
    XP_ASSERT_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    w.canceled++;
}

static void count_call(void *arg)
{
    ++*(unsigned *)arg;
}

/* Also hooks in a callback: what off says about it must be true. */
static void wait_on_root(void)
{
    unsigned calls = 0;
    struct weir_cancel_hook hook = {0};
    weir_cancel_on(&w.root, &hook, count_call, &calls);
    struct weir_deadline deadline = weir_deadline_until(&w.root);
    XP_ASSERT_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    bool is_removed = weir_cancel_off(&hook);
    XP_ASSERT_EQ(calls, is_removed ? 0 : 1);
    w.canceled++;
}

static void fire_root(void)
{
    weir_cancel_fire(&w.root);
    XP_ASSERT(weir_cancel_is_fired(&w.root), "fire has returned");
    XP_ASSERT(weir_cancel_is_fired(&w.child), "fire has returned, but not for the child");
}

static void wait_check(void)
{
    XP_ASSERT_EQ(w.canceled, 2);
    wait_fini();
}

XP_SCENARIO(cancel_wait_vs_fire,
            .about = "who waits under a token wakes when it or its parent fires", XP_STATE(w),
            .setup = wait_setup, .threads = {wait_on_child, wait_on_root, fire_root},
            .check = wait_check, .bound = 3, .tso = true)

static void fire_child(void)
{
    weir_cancel_fire(&w.child);
}

static void once_check(void)
{
    XP_ASSERT_EQ(w.canceled, 1);
    wait_fini();
}

XP_SCENARIO(cancel_two_fire, .about = "parent and child fired at once: the wait ends, once",
            XP_STATE(w), .setup = wait_setup, .threads = {wait_on_child, fire_child, fire_root},
            .check = once_check, .bound = 3, .spurious = 1)

static void wait_with_time(void)
{
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_MS, &w.child);
    int error = weir_deadline_sleep(&deadline);
    if (error == -WEIR_E_TIMEOUT) {
        XP_ASSERT(weir_now_ns() >= deadline.at_ns, "timed out before the time");
        w.timed_out++;
    } else {
        XP_ASSERT_EQ(error, -WEIR_E_CANCELED);
        XP_ASSERT(weir_cancel_is_fired(&w.child), "canceled by a token that has not fired");
        w.canceled++;
    }
}

static void either_check(void)
{
    XP_ASSERT_EQ(w.canceled + w.timed_out, 2);
    wait_fini();
}

XP_SCENARIO(cancel_timeout_vs_fire,
            .about = "time-out and fire at once: one of them, and no leftovers", XP_STATE(w),
            .setup = wait_setup, .threads = {wait_with_time, wait_with_time, fire_root},
            .check = either_check, .bound = 3, .spurious = 1)

/* --- hooks ---------------------------------------------------------------------------------- */

enum { IN_USE = 1, POISONED = 2 };

static struct {
    struct weir_cancel token;
    struct {
        struct weir_cancel_hook hook;
        unsigned memory; /* what the callback works on; the owner may reuse it after off */
        unsigned calls;
        bool is_running;
    } owner[2];
} h;

static void hook_setup(void)
{
    weir_cancel_init(&h.token, NULL);
}

/* Looks in twice, with others in between. */
static void callback(void *arg)
{
    unsigned i = *(const unsigned *)arg;
    h.owner[i].is_running = true;
    XP_ASSERT(h.owner[i].memory == IN_USE, "a callback begins after off has returned");
    xp_point();
    XP_ASSERT(h.owner[i].memory == IN_USE, "a callback still runs after off has returned");
    h.owner[i].calls++;
    h.owner[i].is_running = false;
}

static void hook_owner(void)
{
    static const unsigned index[2] = {0, 1};
    unsigned i = (unsigned)xp_thread_index();
    h.owner[i].memory = IN_USE;
    union {
        const void *in;
        void *out;
    } which = {.in = &index[i]};
    bool is_added = weir_cancel_on(&h.token, &h.owner[i].hook, callback, which.out);
    XP_ASSERT(is_added || h.owner[i].calls == 1, "on said that the callback had been called");
    bool is_removed = weir_cancel_off(&h.owner[i].hook);
    XP_ASSERT(!h.owner[i].is_running, "off has returned while the callback runs");
    h.owner[i].memory = POISONED;
    XP_ASSERT_EQ(h.owner[i].calls, is_removed ? 0 : 1);
}

static void fire_token(void)
{
    weir_cancel_fire(&h.token);
}

static void hook_check(void)
{
    weir_cancel_fini(&h.token);
}

XP_SCENARIO(cancel_off_vs_fire,
            .about = "after off the callback does not run and the memory is ours", XP_STATE(h),
            .setup = hook_setup, .threads = {hook_owner, hook_owner, fire_token},
            .check = hook_check, .bound = 3, .tso = true)

XP_SCENARIO(cancel_off_vs_two_fires, .about = "as before with two threads that fire; called once",
            XP_STATE(h), .setup = hook_setup, .threads = {hook_owner, fire_token, fire_token},
            .check = hook_check, .bound = 3, .spurious = 1)

/* --- the tree ------------------------------------------------------------------------------- */

static struct {
    struct weir_cancel root;
    struct weir_cancel middle;
    bool has_fired;
    bool has_begun;
} t;

static void tree_setup(void)
{
    weir_cancel_init(&t.root, NULL);
    weir_cancel_init(&t.middle, &t.root);
}

/* A request: a token of its own, asked, and gone. */
static void short_child(void)
{
    struct weir_cancel leaf;
    bool had_fired = t.has_fired;
    weir_cancel_init(&leaf, &t.middle);
    bool is_fired = weir_cancel_is_fired(&leaf);
    XP_ASSERT(is_fired || !had_fired, "a child of a fired token is born without being fired");
    XP_ASSERT(!is_fired || t.has_begun, "fired by nobody");
    weir_cancel_fini(&leaf);
}

static void waiting_child(void)
{
    struct weir_cancel leaf;
    weir_cancel_init(&leaf, &t.middle);
    struct weir_deadline deadline = weir_deadline_until(&leaf);
    XP_ASSERT_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    weir_cancel_fini(&leaf);
}

static void fire_tree(void)
{
    t.has_begun = true;
    weir_cancel_fire(&t.root);
    t.has_fired = true;
}

static void tree_check(void)
{
    weir_cancel_fini(&t.middle);
    weir_cancel_fini(&t.root);
}

XP_SCENARIO(cancel_tree_init_fini_vs_fire, .about = "children come and go while the root fires",
            XP_STATE(t), .setup = tree_setup, .threads = {short_child, waiting_child, fire_tree},
            .check = tree_check, .bound = 3)
