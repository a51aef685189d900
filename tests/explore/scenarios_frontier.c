/* scenarios_frontier.c - the frontier: blob and bytes together, in turn, and none of them lost. */
#include "xp.h"

#include <weir/frontier.h>

#define BLOBS_MAX 2
#define BYTES_MAX 3

static struct {
    struct weir_frontier frontier;
    struct weir_cancel never; /* does not fire: a wait under it must be ended by a grant */
    struct weir_frontier_permit held;
    bool is_given_back;
    uint64_t blobs, bytes; /* out */
    unsigned served;
} s;

static void all_free(void)
{
    struct weir_frontier_options options = {.blobs_max = BLOBS_MAX, .bytes_max = BYTES_MAX};
    XP_ASSERT_EQ(weir_frontier_init(&s.frontier, "f", &options), 0);
    weir_cancel_init(&s.never, NULL);
}

static void one_byte_out(void)
{
    all_free();
    XP_ASSERT_EQ(weir_frontier_try(&s.frontier, 1, &s.held), 0);
}

/* Every permit must be home, and the counts must add up. */
static void check(void)
{
    struct weir_frontier_stats stats;
    weir_frontier_read(&s.frontier, &stats);
    XP_ASSERT_EQ(stats.blobs, 0);
    XP_ASSERT_EQ(stats.bytes, 0);
    XP_ASSERT_EQ(stats.waiting, 0);
    XP_ASSERT_EQ(stats.acquired, stats.released);
    XP_ASSERT_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out);
    weir_frontier_fini(&s.frontier);
    weir_cancel_fini(&s.never);
}

static void use(struct weir_frontier_permit *permit)
{
    uint64_t bytes = weir_frontier_permit_bytes(permit);
    s.blobs++;
    s.bytes += bytes;
    XP_ASSERT(s.blobs <= BLOBS_MAX, "more blobs are out than may be");
    XP_ASSERT(s.bytes <= BYTES_MAX, "more bytes are out than may be");
    xp_point();
    s.blobs--;
    s.bytes -= bytes;
    weir_frontier_permit_release(permit);
}

static void must_use(uint64_t bytes)
{
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    XP_ASSERT_EQ(weir_frontier_acquire(&s.frontier, bytes, &permit, &deadline), 0);
    use(&permit);
}

static void give_back(void)
{
    s.is_given_back = true;
    weir_frontier_permit_release(&s.held);
}

/* ---- blobs and bytes run out by turns ---- */

static void all_bytes_and_none(void)
{
    must_use(BYTES_MAX);
    must_use(0);
}

static void small_ones(void)
{
    must_use(1);
    must_use(0);
}

static void two_bytes_or_none(void)
{
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_in(1000, NULL);
    int result = weir_frontier_acquire(&s.frontier, 2, &permit, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TIMEOUT, "neither granted nor timed out");
    XP_ASSERT(weir_frontier_permit_is_held(&permit) == (result == 0), "a permit if and only if 0");
    if (result == 0)
        use(&permit);
}

XP_SCENARIO(frontier_pair, .about = "blobs and bytes are never too many, and all are served",
            XP_STATE(s), .setup = all_free,
            .threads = {all_bytes_and_none, small_ones, two_bytes_or_none}, .check = check,
            .bound = 3, .tso = true, .tso_bound = 2)

/* ---- no overtaking ---- */

static bool has_first_come(void *arg)
{
    (void)arg;
    return s.frontier._vector._line._head || s.served > 0;
}

/* Waits for the byte that is out, with a blob and two bytes free beside it. */
static void first(void)
{
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    XP_ASSERT_EQ(weir_frontier_acquire(&s.frontier, BYTES_MAX, &permit, &deadline), 0);
    s.served++;
    use(&permit);
}

/* There would be room for it at once. The first one leaves no byte over, but a blob. */
static void newcomer(void)
{
    xp_await(has_first_come, NULL);
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    uint64_t bytes = xp_choose(2);
    bool waits = xp_choose(2);
    int result = waits ? weir_frontier_acquire(&s.frontier, bytes, &permit, &deadline)
                       : weir_frontier_try(&s.frontier, bytes, &permit);
    XP_ASSERT(result == 0 || (!waits && result == -WEIR_E_BUSY), "neither granted nor busy");
    if (result)
        return;
    XP_ASSERT(s.is_given_back, "a newcomer overtook one that still had to wait");
    XP_ASSERT(bytes == 0 || s.served > 0, "a newcomer took bytes before their turn");
    use(&permit);
}

XP_SCENARIO(frontier_no_overtaking, .about = "while somebody waits, newcomers queue, try included",
            XP_STATE(s), .setup = one_byte_out, .threads = {first, newcomer, give_back},
            .check = check, .bound = 3, .tso = true, .tso_bound = 2)

/* ---- the head leaves, and there is room for the one behind it ---- */

static void all_bytes_or_none(void)
{
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_in(1000, NULL);
    int result = weir_frontier_acquire(&s.frontier, BYTES_MAX, &permit, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TIMEOUT, "neither granted nor timed out");
    if (result == 0)
        use(&permit);
}

static void small_behind(void)
{
    must_use(2);
    s.served++;
}

static bool has_been_served(void *arg)
{
    (void)arg;
    return s.served > 0;
}

static void hold_until_served(void)
{
    xp_await(has_been_served, NULL);
    give_back();
}

XP_SCENARIO(frontier_head_leaves, .about = "when the head leaves, those behind it are looked at",
            XP_STATE(s), .setup = one_byte_out,
            .threads = {all_bytes_or_none, small_behind, hold_until_served}, .check = check,
            .bound = 3, .tso = true, .tso_bound = 2)
