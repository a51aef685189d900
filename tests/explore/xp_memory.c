/* xp_memory.c - atomic operations under the explorer's eyes, and store buffers for TSO.
 *
 * Without TSO an operation is a scheduling point and then a plain access: one thread runs at a
 * time, so what is explored is sequential consistency.
 *
 * With TSO each thread has a first-in first-out buffer of stores that nobody else sees yet. A load
 * looks into the own buffer first. Read-modify-write, sequentially consistent stores, locks and
 * futexes empty the own buffer first, as the machine's locked instructions do. A store that only
 * enters the buffer is invisible, so it needs no scheduling point.
 *
 * When a buffered store becomes visible is a choice. It matters only to another thread's access to
 * the same address, so the choice is made there: before the access, any of the buffers that hold a
 * store to that address may be emptied up to it. All later moments are the same as not yet. Where
 * two threads have buffered stores to one address, the choice of who comes first is made the same
 * way when the first of them is written, or when one of the two looks. Emptying costs no
 * preemption. self_random.c checks against a plainer machine that nothing is lost by this.
 *
 * Plain memory accesses are not modelled: they happen at once and in program order.
 */
#include "xp_shim.h"

#include "xp_engine.h"

static uint64_t get(const void *p, unsigned size)
{
    return size == 4 ? *(const volatile uint32_t *)p : *(const volatile uint64_t *)p;
}

static void set(void *p, unsigned size, uint64_t value)
{
    xp__progress();
    if (size == 4)
        *(volatile uint32_t *)p = (uint32_t)value;
    else
        *(volatile uint64_t *)p = value;
}

static bool overlaps(const struct xp_buffered *store, const void *p, unsigned size)
{
    uintptr_t a = (uintptr_t)store->p, b = (uintptr_t)p;
    return a < b + size && b < a + store->size;
}

static bool has_store(const struct xp_thread *thread, const void *p, unsigned size)
{
    for (unsigned i = 0; i < thread->buffered_count; i++)
        if (overlaps(&thread->buffered[i], p, size))
            return true;
    return false;
}

/* The address is in a frame of the thread's own stack that has been left since. The machine would
 * have kept the order of this store and of the plain ones that reuse the place; we must not write
 * into what is somebody else's variable by now. */
static bool is_in_dead_frame(const struct xp_thread *thread, const void *p)
{
    const char *at = p, *low = thread->fibre.stack;
    if (at < low || at >= low + thread->fibre.stack_size)
        return false;
    if (thread->state == XP_ENDED)
        return true;
    const char *sp = thread == xp__me() ? __builtin_frame_address(0) : thread->fibre.sp;
    return at < sp;
}

/* Makes the oldest store visible. */
static void commit_oldest(unsigned index)
{
    struct xp_thread *thread = &xp.thread[index];
    struct xp_buffered store = thread->buffered[0];
    thread->is_committing = true;
    xp__before_access(index, store.p, store.size);
    thread->is_committing = false;
    thread->buffered_count--;
    for (unsigned i = 0; i < thread->buffered_count; i++)
        thread->buffered[i] = thread->buffered[i + 1];
    if (is_in_dead_frame(thread, store.p))
        return;
    set(store.p, store.size, store.value);
    XP__TRACE("sees the store of %s arrive: %s = %#llx", xp__who(index), xp__where(store.p),
              (unsigned long long)store.value);
}

void xp__drain(unsigned thread)
{
    while (xp.thread[thread].buffered_count > 0)
        commit_oldest(thread);
}

void xp__before_access(unsigned thread, const void *p, unsigned size)
{
    if (!xp.is_tso)
        return;
    for (;;) {
        uint8_t with[XP_FIBRES_MAX];
        unsigned count = 0;
        for (unsigned i = 0; i < xp.threads; i++)
            if (i != thread && !xp.thread[i].is_committing && has_store(&xp.thread[i], p, size))
                with[count++] = (uint8_t)i;
        unsigned chosen = xp__choose(count + 1);
        if (chosen == 0)
            return;
        /* Up to the first store to this address, and with it. */
        struct xp_thread *other = &xp.thread[with[chosen - 1]];
        for (bool is_reached = false; !is_reached;) {
            is_reached = overlaps(&other->buffered[0], p, size);
            commit_oldest(with[chosen - 1]);
        }
    }
}

/* The newest own store to exactly this place, if a load is to be answered from it. */
static const struct xp_buffered *forwarded(const void *p, unsigned size)
{
    struct xp_thread *me = xp__me();
    if (!has_store(me, p, size))
        return NULL;
    bool others_have = false;
    for (unsigned i = 0; i < xp.threads; i++)
        others_have |= i != xp.current && has_store(&xp.thread[i], p, size);
    /* The own store may have arrived by now, and been followed by another's. */
    bool has_arrived = others_have && xp__choose(2);
    for (unsigned i = me->buffered_count; i-- > 0 && !has_arrived;) {
        const struct xp_buffered *store = &me->buffered[i];
        if (store->p == p && store->size == size)
            return store;
        has_arrived = overlaps(store, p, size);
    }
    while (has_store(me, p, size))
        commit_oldest(xp.current);
    return NULL;
}

uint64_t xp_load(const void *p, unsigned size, int order)
{
    (void)order;
    xp__point();
    const struct xp_buffered *own = forwarded(p, size);
    if (own) {
        XP__TRACE("load  %s: %#llx (own store)", xp__where(p), (unsigned long long)own->value);
        return own->value;
    }
    xp__before_access(xp.current, p, size);
    uint64_t value = get(p, size);
    XP__TRACE("load  %s: %#llx", xp__where(p), (unsigned long long)value);
    return value;
}

static void store_buffered(void *p, unsigned size, uint64_t v)
{
    struct xp_thread *me = xp__me();
    if (me->buffered_count == XP_BUFFER_MAX) {
        xp__point();
        if (me->buffered_count == XP_BUFFER_MAX)
            commit_oldest(xp.current);
    }
    /* From here on it may arrive at any moment, so the next point has to be one. */
    me->is_fresh = false;
    me->buffered[me->buffered_count++] = (struct xp_buffered){p, v, size};
    XP__TRACE("store %s = %#llx (buffered)", xp__where(p), (unsigned long long)v);
}

/* The scheduling point of an operation that others see at once. */
static void visible_point(const void *p, unsigned size)
{
    xp__point();
    xp__drain(xp.current);
    xp__before_access(xp.current, p, size);
}

void xp_store(void *p, unsigned size, uint64_t v, int order)
{
    if (xp.is_tso && xp.is_concurrent && order != __ATOMIC_SEQ_CST) {
        store_buffered(p, size, v);
        return;
    }
    visible_point(p, size);
    set(p, size, v);
    XP__TRACE("store %s = %#llx", xp__where(p), (unsigned long long)v);
}

uint64_t xp_rmw(enum xp_op op, void *p, unsigned size, uint64_t v)
{
    static const char *const name[] = {"add  ", "or   ", "and  ", "xchg "};
    visible_point(p, size);
    uint64_t old = get(p, size);
    uint64_t value = op == XP_ADD ? old + v : op == XP_OR ? old | v : op == XP_AND ? old & v : v;
    set(p, size, value);
    XP__TRACE("%s %s: %#llx -> %#llx", name[op], xp__where(p), (unsigned long long)old,
              (unsigned long long)get(p, size));
    return old;
}

bool xp_cas(void *p, unsigned size, void *expected, uint64_t desired)
{
    visible_point(p, size);
    uint64_t old = get(p, size);
    bool is_equal = old == get(expected, size);
    if (is_equal)
        set(p, size, desired);
    else
        set(expected, size, old);
    XP__TRACE("cas   %s: %#llx %s %#llx", xp__where(p), (unsigned long long)old,
              is_equal ? "->" : "stays, wanted", (unsigned long long)desired);
    return is_equal;
}
