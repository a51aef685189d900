/* self_tso.c - the classic small programs of memory models, under the explorer's store buffers.
 *
 * What TSO allows must be found, and what it forbids must not.
 */
#include "atomic.h"
#include "lock.h"
#include "self.h"
#include "tap.h"
#include "xp.h"

static struct {
    uint32_t x, y, seen[4];
    struct weir_lock lock, inner;
} s;

static const struct weir_lock_class outer_class = {"outer", 1};
static const struct weir_lock_class inner_class = {"inner", 2};
static void locks_setup(void)
{
    weir_lock_init(&s.lock, &outer_class);
    weir_lock_init(&s.inner, &inner_class);
}

static void store_x(void)
{
    weir__store32(&s.x, 1);
}

static void x_then_read_y(void)
{
    weir__store32(&s.x, 1);
    s.seen[0] = weir__load32(&s.y);
}
static void y_then_read_x(void)
{
    weir__store32(&s.y, 1);
    s.seen[1] = weir__load32(&s.x);
}
static void x_seq_then_read_y(void)
{
    weir__store32_seq(&s.x, 1);
    s.seen[0] = weir__load32(&s.y);
}
static void y_seq_then_read_x(void)
{
    weir__store32_seq(&s.y, 1);
    s.seen[1] = weir__load32(&s.x);
}
static void check_dekker(void)
{
    XP_ASSERT(s.seen[0] || s.seen[1], "both went first");
}

TEST(tso_finds_store_buffering)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {x_then_read_y, y_then_read_x},
                                   .check = check_dekker};
    must_hold(&scenario, false, 3);
    must_fail(&scenario, true, "both went first", 0);
    struct xp_scenario sound = {XP_STATE(s), .threads = {x_seq_then_read_y, y_seq_then_read_x},
                                .check = check_dekker};
    must_hold(&sound, true, 3);
}

/* The same under a lock each: the buffer is emptied by the release, which must be a point. */
static void x_under_lock_then_read_y(void)
{
    weir_lock_acquire(&s.lock);
    x_then_read_y();
    weir_lock_release(&s.lock);
}
static void y_under_inner_then_read_x(void)
{
    weir_lock_acquire(&s.inner);
    y_then_read_x();
    weir_lock_release(&s.inner);
}

TEST(tso_finds_store_buffering_under_locks)
{
    struct xp_scenario scenario = {XP_STATE(s), .setup = locks_setup,
                                   .threads = {x_under_lock_then_read_y, y_under_inner_then_read_x},
                                   .check = check_dekker};
    must_hold(&scenario, false, 3);
    must_fail(&scenario, true, "both went first", 1);
}

static void send_message(void)
{
    weir__store32(&s.x, 1);
    weir__store32(&s.y, 1);
}
static void receive_message(void)
{
    if (weir__load32(&s.y))
        XP_ASSERT(weir__load32(&s.x), "the flag came before the message");
    else if (xp_choose(2))
        XP_ASSERT(!weir__load32(&s.x), "message without flag");
}
static void receive_only(void)
{
    if (weir__load32(&s.y))
        XP_ASSERT(weir__load32(&s.x), "the flag came before the message");
}

TEST(tso_keeps_the_order_of_stores)
{
    struct xp_scenario sound = {XP_STATE(s), .threads = {send_message, receive_only}};
    must_hold(&sound, true, 3);
    struct xp_scenario halfway = {XP_STATE(s), .threads = {send_message, receive_message}};
    must_fail(&halfway, true, "message without flag", 0);
}

static void x1_y2(void)
{
    weir__store32(&s.x, 1);
    weir__store32(&s.y, 2);
}
static void y1_x2(void)
{
    weir__store32(&s.y, 1);
    weir__store32(&s.x, 2);
}
static void check_not_1_1(void)
{
    XP_ASSERT(s.x != 1 || s.y != 1, "both first stores came last");
}
static void check_not_2_2(void)
{
    XP_ASSERT(s.x != 2 || s.y != 2, "both second stores came last");
}

TEST(tso_orders_stores_to_one_address)
{
    struct xp_scenario sound = {XP_STATE(s), .threads = {x1_y2, y1_x2}, .check = check_not_1_1};
    must_hold(&sound, true, 3);
    struct xp_scenario mixed = {XP_STATE(s), .threads = {x1_y2, y1_x2}, .check = check_not_2_2};
    must_fail(&mixed, true, "both second stores came last", 0);
}

static void store_y(void)
{
    weir__store32(&s.y, 1);
}
static void read_x_y(void)
{
    s.seen[0] = weir__load32(&s.x);
    s.seen[1] = weir__load32(&s.y);
}
static void read_y_x(void)
{
    s.seen[2] = weir__load32(&s.y);
    s.seen[3] = weir__load32(&s.x);
}
static void check_iriw(void)
{
    XP_ASSERT(!(s.seen[0] && !s.seen[1] && s.seen[2] && !s.seen[3]),
              "two readers disagree on the order of two writers");
}

TEST(tso_readers_agree)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {store_x, store_y, read_x_y, read_y_x},
                                   .check = check_iriw};
    must_hold(&scenario, true, 4);
}

static void x1_read_both(void)
{
    weir__store32(&s.x, 1);
    s.seen[0] = weir__load32(&s.x);
    s.seen[1] = weir__load32(&s.y);
}
static void y2_x2(void)
{
    weir__store32(&s.y, 2);
    weir__store32(&s.x, 2);
}
static void check_forwarding(void)
{
    XP_ASSERT(!(s.seen[0] == 1 && s.seen[1] == 0 && s.x == 1), "read the own store early");
}

TEST(tso_reads_own_stores_early)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {x1_read_both, y2_x2},
                                   .check = check_forwarding};
    must_hold(&scenario, false, 3);
    must_fail(&scenario, true, "read the own store early", 0);
}

static void fill_buffer(void)
{
    for (uint32_t i = 1; i <= 6; i++)
        weir__store32(&s.x, i);
    s.seen[0] = weir__load32(&s.y);
}
static void check_full(void)
{
    XP_ASSERT_EQ(s.x, 6);
}
static void read_x_falls(void)
{
    uint32_t first = weir__load32(&s.x);
    XP_ASSERT(weir__load32(&s.x) >= first, "went back");
}

TEST(tso_buffer_is_bounded)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {fill_buffer, read_x_falls},
                                   .check = check_full};
    must_hold(&scenario, true, 3);
}
