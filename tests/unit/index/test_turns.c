/* Turns: an address has so many at once, what it asks beyond that waits, and nobody else does. */
#include "tap.h"

#include <weir/error.h>

#include "turns.h"

#define JOBS 64

struct job {
    struct weir__lookup_turn turn; /* first */
    unsigned went;
    bool is_useless; /* its client has gone */
    bool has_ended;
};

static struct weir__turns *turns;
static struct job jobs[JOBS];
static struct job *order[JOBS]; /* who went after waiting */
static size_t order_count;

static bool go(struct weir__lookup_turn *turn)
{
    struct job *job = (struct job *)turn;
    if (job->is_useless) {
        CHECK(weir__turns_take_out(turn) != NULL);
        job->has_ended = true;
        return false;
    }
    job->went++;
    order[order_count++] = job;
    return true;
}

static void begin(uint32_t at_once, uint32_t waiting_max, uint32_t waiting_each, uint32_t accounts)
{
    memset(jobs, 0, sizeof(jobs));
    order_count = 0;
    CHECK_EQ(weir__turns_new(&turns, &(struct weir__turns_options){at_once, waiting_max,
                                                                   waiting_each, accounts, go}),
             0);
}
static struct weir__turns_stats read_all(void)
{
    struct weir__turns_stats stats;
    weir__turns_read(turns, &stats);
    return stats;
}
static void end(void)
{
    struct weir__turns_stats stats = read_all();
    CHECK_EQ(stats.taken, stats.passed);
    CHECK_EQ(stats.waiting, 0);
    CHECK_EQ(stats.accounts, 0);
    weir__turns_free(turns);
}

enum { HAS, WAITS, REFUSED };

/* address: of four bytes, or 0 for none. */
static int enter(unsigned number, unsigned address)
{
    struct weir__lookup_turn *turn = &jobs[number].turn;
    bool has = false;
    memcpy(turn->key, &address, sizeof(address));
    turn->key_size = address ? sizeof(address) : 0;
    int error = weir__turns_enter(turns, turn, &has);
    CHECK(error == 0 || error == -WEIR_E_BUSY);
    return error ? REFUSED : has ? HAS : WAITS;
}
static void pass(unsigned number)
{
    weir__turns_pass(turns, weir__turns_take_out(&jobs[number].turn));
}

TEST(an_address_has_so_many_and_others_do_not_wait)
{
    begin(2, 8, 8, 8);
    CHECK_EQ(enter(0, 1), HAS);
    CHECK_EQ(enter(1, 1), HAS);
    CHECK_EQ(enter(2, 1), WAITS);
    CHECK_EQ(enter(3, 1), WAITS);
    CHECK_EQ(enter(4, 2), HAS);
    CHECK_EQ(enter(5, 0), HAS); /* those without an address are one */
    CHECK_EQ(enter(6, 0), HAS);
    CHECK_EQ(enter(7, 0), WAITS);
    CHECK_EQ(read_all().waiting, 3);
    CHECK_EQ(read_all().accounts, 3);
    pass(4);
    CHECK_EQ(order_count, 0); /* it was somebody else's */
    pass(0);
    CHECK_EQ(order_count, 1);
    CHECK(order[0] == &jobs[2]);
    pass(2);
    CHECK(order_count == 2 && order[1] == &jobs[3]);
    pass(1);
    pass(3);
    pass(5);
    CHECK(order_count == 3 && order[2] == &jobs[7]);
    pass(6);
    pass(7);
    end();
}

TEST(first_in_first_out)
{
    begin(1, JOBS, JOBS, 1);
    CHECK_EQ(enter(0, 1), HAS);
    for (unsigned i = 1; i < JOBS; i++)
        CHECK_EQ(enter(i, 1), WAITS);
    for (unsigned i = 0; i < JOBS; i++) {
        CHECK_EQ(order_count, i);
        CHECK(i == 0 || order[i - 1] == &jobs[i]);
        pass(i);
    }
    CHECK_EQ(read_all().waited, JOBS - 1);
    end();
}

TEST(who_cannot_use_it_leaves_it_to_the_next)
{
    begin(1, 8, 8, 8);
    CHECK_EQ(enter(0, 1), HAS);
    for (unsigned i = 1; i < 5; i++)
        CHECK_EQ(enter(i, 1), WAITS);
    jobs[1].is_useless = jobs[2].is_useless = jobs[4].is_useless = true;
    pass(0);
    CHECK(jobs[1].has_ended && jobs[2].has_ended && !jobs[4].has_ended);
    CHECK(order_count == 1 && order[0] == &jobs[3]);
    pass(3);
    CHECK(jobs[4].has_ended);
    CHECK_EQ(enter(5, 1), HAS); /* nothing is left of it */
    pass(5);
    end();
}

TEST(a_turn_is_passed_on_once)
{
    begin(1, 8, 8, 8);
    CHECK_EQ(enter(0, 1), HAS);
    struct weir__turns_account *account = weir__turns_take_out(&jobs[0].turn);
    CHECK(account != NULL);
    CHECK(weir__turns_take_out(&jobs[0].turn) == NULL);
    weir__turns_pass(turns, NULL); /* as who has none */
    CHECK_EQ(enter(1, 1), WAITS);
    /* The job may be gone before its turn ends, and come again. */
    CHECK_EQ(enter(0, 1), WAITS);
    weir__turns_pass(turns, account);
    CHECK(order_count == 1 && order[0] == &jobs[1]);
    pass(1);
    pass(0);
    end();
}

TEST(there_is_room_for_so_many)
{
    begin(1, 5, 3, 3);
    CHECK_EQ(enter(0, 1), HAS);
    for (unsigned i = 1; i < 4; i++)
        CHECK_EQ(enter(i, 1), WAITS);
    CHECK_EQ(enter(4, 1), REFUSED); /* all that one may have */
    CHECK_EQ(enter(5, 2), HAS);
    CHECK_EQ(enter(6, 2), WAITS);
    CHECK_EQ(enter(7, 2), WAITS);
    CHECK_EQ(enter(8, 2), REFUSED); /* all that there is */
    CHECK_EQ(enter(9, 3), HAS);     /* who need not wait is let in */
    CHECK_EQ(enter(10, 4), REFUSED);
    CHECK_EQ(read_all().refused, 3);
    CHECK(weir__turns_take_out(&jobs[4].turn) == NULL);
    pass(9);
    CHECK_EQ(enter(10, 4), HAS);
    pass(10);
    for (unsigned i = 0; i < 8; i++)
        pass(i); /* of 4 there is none */
    end();
}

TEST(limits_of_nothing_are_refused)
{
    const struct weir__turns_options wrong[] = {{0, 1, 1, 1, go},
                                                {1, 0, 1, 1, go},
                                                {1, 1, 0, 1, go},
                                                {1, 1, 1, 0, go},
                                                {1, 1, 1, (UINT32_C(1) << 21) + 1, go}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK_EQ(weir__turns_new(&turns, &wrong[i]), -WEIR_E_INVALID);
    weir__turns_free(NULL);
}

/* Many addresses at random: as a model of plain counts has it. */
TEST(it_does_what_a_model_does)
{
    enum { ADDRESSES = 5, AT_ONCE = 3 };
    unsigned running[ADDRESSES + 1] = {0}, of[JOBS] = {0};
    bool is_in[JOBS] = {false};
    uint64_t seed = 7;
    begin(AT_ONCE, JOBS, JOBS, ADDRESSES);
    for (unsigned step = 0; step < 20000; step++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned job = (unsigned)(seed >> 33) % JOBS, address = 1 + (unsigned)(seed >> 45) % 5;
        order_count = 0;
        if (!is_in[job]) {
            of[job] = address;
            is_in[job] = true;
            CHECK_EQ(enter(job, address), running[address] < AT_ONCE ? HAS : WAITS);
            running[address] += running[address] < AT_ONCE;
        } else if (jobs[job].turn._account) {
            uint64_t waited = read_all().waiting;
            pass(job);
            is_in[job] = false;
            running[of[job]] -= order_count == 0;
            CHECK(order_count == 0 || of[order[0] - jobs] == of[job]);
            CHECK_EQ(read_all().waiting, waited - order_count);
        }
    }
    for (bool is_left = true; is_left;) {
        is_left = false;
        order_count = 0;
        for (unsigned i = 0; i < JOBS; i++)
            if (jobs[i].turn._account) {
                pass(i);
                is_left = true;
            }
    }
    end();
}

TAP_MAIN()
