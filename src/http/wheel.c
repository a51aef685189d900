/* wheel.c - one ring of slots; what lies beyond the last one is linked there and looked at again.
 */
#include "wheel.h"

#include "banned.h"

static struct weir__timer *slot_of(struct weir__wheel *wheel, uint64_t tick)
{
    return &wheel->_slots[tick % WEIR__WHEEL_SLOTS];
}

void weir__wheel_init(struct weir__wheel *wheel, uint64_t now_ns)
{
    for (size_t i = 0; i < WEIR__WHEEL_SLOTS; i++)
        wheel->_slots[i]._next = wheel->_slots[i]._prev = &wheel->_slots[i];
    for (size_t i = 0; i < WEIR__WHEEL_SLOTS / 64; i++)
        wheel->_filled[i] = 0;
    wheel->_tick = now_ns / WEIR__WHEEL_TICK_NS;
}

void weir__timer_off(struct weir__timer *timer)
{
    if (!timer->_next)
        return;
    timer->_next->_prev = timer->_prev;
    timer->_prev->_next = timer->_next;
    timer->_next = timer->_prev = NULL;
}

static void link_at(struct weir__wheel *wheel, struct weir__timer *timer)
{
    uint64_t tick = timer->due_ns / WEIR__WHEEL_TICK_NS;
    if (tick < wheel->_tick)
        tick = wheel->_tick;
    if (tick >= wheel->_tick + WEIR__WHEEL_SLOTS)
        tick = wheel->_tick + WEIR__WHEEL_SLOTS - 1;
    struct weir__timer *head = slot_of(wheel, tick);
    timer->_tick = tick;
    timer->_next = head;
    timer->_prev = head->_prev;
    head->_prev->_next = timer;
    head->_prev = timer;
    wheel->_filled[tick % WEIR__WHEEL_SLOTS / 64] |= UINT64_C(1) << (tick % 64);
}

void weir__timer_set(struct weir__wheel *wheel, struct weir__timer *timer, uint64_t due_ns)
{
    timer->due_ns = due_ns;
    if (due_ns == WEIR_NEVER) {
        weir__timer_off(timer);
        return;
    }
    if (timer->_next && due_ns / WEIR__WHEEL_TICK_NS >= timer->_tick)
        return; /* it will be looked at before that */
    weir__timer_off(timer);
    link_at(wheel, timer);
}

struct weir__timer *weir__wheel_due(struct weir__wheel *wheel, uint64_t now_ns)
{
    uint64_t now = now_ns / WEIR__WHEEL_TICK_NS;
    /* After a long sleep each slot is looked at once. */
    if (now > wheel->_tick + WEIR__WHEEL_SLOTS)
        wheel->_tick = now - WEIR__WHEEL_SLOTS;
    while (wheel->_tick < now) {
        struct weir__timer *head = slot_of(wheel, wheel->_tick);
        while (head->_next != head) {
            struct weir__timer *timer = head->_next;
            weir__timer_off(timer);
            if (timer->due_ns / WEIR__WHEEL_TICK_NS < now)
                return timer;
            link_at(wheel, timer); /* it was put off, or lay beyond the wheel */
        }
        wheel->_filled[wheel->_tick % WEIR__WHEEL_SLOTS / 64] &=
            ~(UINT64_C(1) << (wheel->_tick % 64));
        wheel->_tick++;
    }
    return NULL;
}

uint64_t weir__wheel_next_ns(const struct weir__wheel *wheel)
{
    for (uint64_t i = 0; i < WEIR__WHEEL_SLOTS;) {
        uint64_t tick = wheel->_tick + i;
        uint64_t word = wheel->_filled[tick % WEIR__WHEEL_SLOTS / 64] >> (tick % 64);
        if (word)
            return (tick + (uint64_t)__builtin_ctzll(word) + 1) * WEIR__WHEEL_TICK_NS;
        i += 64 - tick % 64;
    }
    return WEIR_NEVER;
}
