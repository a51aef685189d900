/* Slots: first use, forgetting and waiting at once. */
#include <weir/slots.h>

#include "xp.h"

static struct {
    struct weir_slots slots;
    struct weir_cancel token; /* never fires: a wait under it must be ended by a grant */
    struct weir_slots_permit held;
    struct weir_slots_waiter waiter;
    unsigned inside;
    bool called;
    bool canceled;
    struct weir_slots_waiter line[2];
    unsigned served; /* of the line */
} s;

static struct weir_device disk(void)
{
    return weir_device_from_raw(0x800);
}

static void make(uint64_t slots, uint32_t devices_max)
{
    struct weir_slots_config config = {.default_slots = slots, .devices_max = devices_max};
    XP_ASSERT_EQ(weir_slots_init(&s.slots, "disks", &config), 0);
    weir_cancel_init(&s.token, NULL);
}

static void one_slot(void)
{
    make(1, 0);
}

static void one_slot_out(void)
{
    make(1, 0);
    XP_ASSERT_EQ(weir_slots_try(&s.slots, disk(), &s.held), 0);
}

static void check(void)
{
    struct weir_slots_stats stats;
    weir_slots_read(&s.slots, &stats);
    XP_ASSERT_EQ(stats.acquired, stats.released);
    XP_ASSERT_EQ(stats.in_use, 0);
    XP_ASSERT_EQ(stats.waiting, 0);
    XP_ASSERT_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    XP_ASSERT_EQ(stats.devices, stats.created - stats.pruned);
    weir_slots_fini(&s.slots);
    weir_cancel_fini(&s.token);
}

static void use(struct weir_slots_permit *permit)
{
    XP_ASSERT(s.inside++ == 0, "two hold the only slot");
    xp_point();
    s.inside--;
    weir_slots_release(permit);
}

static void tries(void)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    int result = weir_slots_try(&s.slots, disk(), &permit);
    XP_ASSERT(result == 0 || result == -WEIR_E_BUSY, "neither taken nor busy");
    if (result == 0)
        use(&permit);
}

static void acquires(void)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir_slots_acquire(&s.slots, disk(), &permit, &deadline), 0);
    use(&permit);
}

static void may_time_out(void)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int result = weir_slots_acquire(&s.slots, disk(), &permit, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TIMEOUT, "neither granted nor timed out");
    if (result == 0)
        use(&permit);
}

static void releases(void)
{
    weir_slots_release(&s.held);
}

static void prunes(void)
{
    weir_slots_prune(&s.slots, 0);
}

XP_SCENARIO(slots_first_use, .about = "a device that is new to two threads gets one budget",
            XP_STATE(s), .setup = one_slot, .threads = {tries, acquires, tries}, .check = check,
            .bound = 3)

XP_SCENARIO(slots_prune_vs_release, .about = "a device is not forgotten before its slot is home",
            XP_STATE(s), .setup = one_slot_out, .threads = {releases, prunes, acquires},
            .check = check)

XP_SCENARIO(slots_prune_vs_wait,
            .about = "a device that is waited for is kept, and a leaver frees it", XP_STATE(s),
            .setup = one_slot_out, .threads = {may_time_out, prunes, releases}, .check = check)

/* Granted, canceled and forgotten at once. */
static void on_grant(struct weir_slots_waiter *waiter, int result, struct weir_slots_permit permit)
{
    XP_ASSERT(waiter == &s.waiter && !s.called, "called twice");
    XP_ASSERT_EQ(result, 0);
    s.called = true;
    use(&permit);
}
static void asks_and_cancels(void)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    int result = weir_slots_acquire_async(&s.slots, disk(), &permit, &s.waiter, on_grant);
    if (result == WEIR_BUDGET_QUEUED) {
        s.canceled = weir_slots_cancel_async(&s.slots, &s.waiter);
    } else {
        XP_ASSERT_EQ(result, 0);
        s.canceled = true;
        use(&permit);
    }
}
static void cancel_check(void)
{
    XP_ASSERT(s.called != s.canceled, "called and canceled, or neither");
    check();
}
XP_SCENARIO(slots_cancel_vs_grant, .about = "a callback is either called or canceled", XP_STATE(s),
            .setup = one_slot_out, .threads = {asks_and_cancels, releases, prunes},
            .check = cancel_check)

/* Two wait from the start: they are served in their order, and whoever comes later after them. */
static void on_turn(struct weir_slots_waiter *waiter, int result, struct weir_slots_permit permit)
{
    XP_ASSERT_EQ(result, 0);
    XP_ASSERT(waiter == &s.line[s.served], "served out of turn");
    s.served++;
    use(&permit);
}
static void two_in_line(void)
{
    one_slot_out();
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    for (int i = 0; i < 2; i++)
        XP_ASSERT_EQ(weir_slots_acquire_async(&s.slots, disk(), &permit, &s.line[i], on_turn),
                     WEIR_BUDGET_QUEUED);
}
static void newcomer(void)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    bool waits = xp_choose(2);
    int result = waits ? weir_slots_acquire(&s.slots, disk(), &permit, &deadline)
                       : weir_slots_try(&s.slots, disk(), &permit);
    XP_ASSERT(result == 0 || (!waits && result == -WEIR_E_BUSY), "neither taken nor busy");
    if (result)
        return;
    XP_ASSERT_EQ(s.served, 2);
    use(&permit);
}
static void line_check(void)
{
    XP_ASSERT_EQ(s.served, 2);
    check();
}
XP_SCENARIO(slots_no_overtaking,
            .about = "within a device first come is first served, and try passes nobody",
            XP_STATE(s), .setup = two_in_line, .threads = {releases, newcomer, newcomer},
            .check = line_check, .bound = 2, .tso = true, .tso_bound = 2)

/* A table for one device: the other one waits in the unknown pool, or finds room. */
static void full_table(void)
{
    make(1, 1);
}
static void acquires_other(void)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir_slots_acquire(&s.slots, weir_device_from_raw(0x810), &permit, &deadline), 0);
    xp_point();
    weir_slots_release(&permit);
}
static void full_check(void)
{
    XP_ASSERT(s.slots._count <= 1, "more devices than the table may have");
    weir_slots_fini(&s.slots);
    weir_cancel_fini(&s.token);
}
XP_SCENARIO(slots_full_table, .about = "a full table makes room or shares, and nobody is stuck",
            XP_STATE(s), .setup = full_table, .threads = {acquires, acquires_other, acquires_other},
            .check = full_check)
