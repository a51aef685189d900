/* Flights: one leader for each key, everybody told once, nobody kept who has left. */
#include "tap.h"

#include <weir/clock.h>
#include <weir/error.h>

#include "flight.h"
#include "made_answer.h"

struct waiter {
    struct weir__flight_waiter waiter;
    unsigned told;
    int result;
    bool had_answer;
};

static struct weir__flights *flights;
static struct waiter waiters[8];
static struct weir__flight *leads;

static void told(struct weir__flight_waiter *waiter, int result, struct weir__answer *answer)
{
    struct waiter *self = waiter->arg;
    self->told++;
    self->result = result;
    self->had_answer = answer != NULL;
    weir__answer_unref(answer);
}

static void begin(uint32_t flights_max)
{
    answers_out = (struct weir_gauge){0};
    memset(waiters, 0, sizeof(waiters));
    for (size_t i = 0; i < 8; i++)
        waiters[i].waiter = (struct weir__flight_waiter){.told = told, .arg = &waiters[i]};
    CHECK_EQ(weir__flights_new(&flights, flights_max), 0);
}
static void end(void)
{
    struct weir__flights_stats stats;
    weir__flights_read(flights, &stats);
    CHECK_EQ(stats.now, 0);
    CHECK_EQ(stats.led, stats.landed);
    weir__flights_free(flights);
    CHECK_EQ(weir_gauge_value(&answers_out), 0);
}
static int join(unsigned waiter, uint64_t number)
{
    struct weir__question_key key = made_key(number);
    return weir__flight_join(flights, &key, 1000 + waiter, &waiters[waiter].waiter, &leads);
}

TEST(the_first_leads_and_all_are_told)
{
    begin(4);
    CHECK_EQ(join(0, 1), 0);
    struct weir__flight *flight = leads;
    CHECK(flight != NULL);
    CHECK_EQ(join(1, 1), 0);
    CHECK(leads == NULL);
    CHECK_EQ(join(2, 1), 0);
    CHECK(leads == NULL);
    struct weir_deadline deadline = weir__flight_deadline(flight);
    CHECK_EQ(deadline.at_ns, 1000); /* of who came first */
    CHECK(!weir_cancel_is_fired(deadline.cancel));
    struct weir__answer *answer = made_answer(1, 1, 1);
    weir__flight_land(flights, flight, 0, answer);
    weir__answer_unref(answer);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(waiters[i].told, 1);
        CHECK_EQ(waiters[i].result, 0);
        CHECK(waiters[i].had_answer);
    }
    CHECK(!weir__flight_leave(flights, &waiters[0].waiter)); /* it was told */
    end();
}

TEST(an_error_is_told_without_an_answer)
{
    begin(4);
    CHECK_EQ(join(0, 1), 0);
    weir__flight_land(flights, leads, -WEIR_E_TIMEOUT, NULL);
    CHECK_EQ(waiters[0].told, 1);
    CHECK_EQ(waiters[0].result, -WEIR_E_TIMEOUT);
    CHECK(!waiters[0].had_answer);
    end();
}

TEST(keys_do_not_meet)
{
    begin(4);
    CHECK_EQ(join(0, 1), 0);
    struct weir__flight *first = leads;
    CHECK_EQ(join(1, 2), 0);
    struct weir__flight *second = leads;
    CHECK(second && second != first);
    weir__flight_land(flights, first, -WEIR_E_IO, NULL);
    CHECK_EQ(waiters[1].told, 0);
    weir__flight_land(flights, second, -WEIR_E_IO, NULL);
    CHECK_EQ(waiters[1].told, 1);
    end();
}

TEST(the_leaders_client_may_leave)
{
    begin(4);
    CHECK_EQ(join(0, 1), 0);
    struct weir__flight *flight = leads;
    CHECK_EQ(join(1, 1), 0);
    CHECK(weir__flight_leave(flights, &waiters[0].waiter));
    CHECK(!weir_cancel_is_fired(weir__flight_deadline(flight).cancel));
    weir__flight_land(flights, flight, -WEIR_E_IO, NULL);
    CHECK_EQ(waiters[0].told, 0);
    CHECK_EQ(waiters[1].told, 1);
    end();
}

TEST(when_the_last_has_left_the_token_fires)
{
    struct weir__flights_stats stats;
    begin(2);
    CHECK_EQ(join(0, 1), 0);
    struct weir__flight *flight = leads;
    CHECK_EQ(join(1, 1), 0);
    CHECK(weir__flight_leave(flights, &waiters[1].waiter));
    CHECK(weir__flight_leave(flights, &waiters[0].waiter));
    CHECK(!weir__flight_leave(flights, &waiters[0].waiter));
    CHECK(weir_cancel_is_fired(weir__flight_deadline(flight).cancel));
    /* Who comes now leads a flight of its own, while the old leader is on its way out. */
    CHECK_EQ(join(2, 1), 0);
    struct weir__flight *next = leads;
    CHECK(next && next != flight);
    weir__flight_land(flights, flight, -WEIR_E_CANCELED, NULL);
    CHECK_EQ(waiters[2].told, 0);
    weir__flight_land(flights, next, -WEIR_E_IO, NULL);
    CHECK_EQ(waiters[2].told, 1);
    CHECK_EQ(waiters[0].told + waiters[1].told, 0);
    weir__flights_read(flights, &stats);
    CHECK_EQ(stats.abandoned, 1);
    CHECK_EQ(stats.left, 2);
    end();
}

TEST(too_many_flights_are_refused)
{
    begin(1);
    CHECK_EQ(join(0, 1), 0);
    struct weir__flight *flight = leads;
    CHECK_EQ(join(1, 2), -WEIR_E_BUSY);
    CHECK_EQ(join(2, 1), 0); /* joining needs none */
    weir__flight_land(flights, flight, -WEIR_E_IO, NULL);
    CHECK_EQ(join(1, 2), 0);
    weir__flight_land(flights, leads, -WEIR_E_IO, NULL);
    CHECK_EQ(waiters[1].told, 1);
    end();
    CHECK_EQ(weir__flights_new(&flights, 0), -WEIR_E_INVALID);
}

TAP_MAIN()
