/* scenarios_index.c - what the threads of the index share: flights, the line of attempts with its
 * askers, the limits in force, the turns of addresses, and the cache with its janitor.
 *
 * The code is that of src/index. In place of lookups stand a few functions here: an attempt that an
 * asker runs answers at once, and an answer is a piece of the state that notices when it is used
 * after its last reference was given back.
 */
#include "xp.h"

#include <string.h>

#include <weir/hedge.h>

#include "cache_part.h"
#include "flight.h"
#include "lookup_line.h"
#include "lookup_rules.h"
#include "turns.h"

#define WAITERS  3
#define ATTEMPTS 2
#define ANSWERS  3
#define TURNS    3

struct waiter {
    struct weir__flight_waiter waiter;
    unsigned told;
    bool has_left, has_joined;
    int result;
};

struct attempt {
    struct weir__line_item item; /* first */
    struct weir_hedge_attempt *attempt;
    unsigned run, dropped;
};

struct answer {
    struct weir__answer answer; /* first */
    bool is_freed;
};

struct job {
    struct weir__lookup_turn turn; /* first */
    bool has_turn, has_ended;
    unsigned worked;
};

static struct {
    size_t pieces;
    /* flights */
    struct weir__flights *flights;
    struct weir__flight *leads;
    struct waiter waiters[WAITERS];
    unsigned leading;
    struct weir__question_key key, other_key;
    /* the line */
    struct weir__line line;
    struct weir_hedge hedge;
    struct weir_cancel never, abort;
    struct attempt attempts[ATTEMPTS];
    /* limits */
    struct weir_watch limits;
    /* turns */
    struct weir__turns *turns;
    struct job jobs[TURNS];
    unsigned working;
    bool is_closed; /* the line that jobs go to */
    /* cache */
    struct weir__cache *cache;
    struct answer answers[ANSWERS];
} s;

static void begin(void)
{
    s.pieces = xp_pieces();
    s.key.bytes[0] = 1;
    s.other_key.bytes[0] = 2;
}
static void end(void)
{
    XP_ASSERT_EQ(xp_pieces(), s.pieces);
}

/* --- flights --- */

static void told(struct weir__flight_waiter *waiter, int result, struct weir__answer *answer)
{
    struct waiter *self = waiter->arg;
    XP_ASSERT(!self->has_left, "told after it has left");
    XP_ASSERT(!answer, "an answer from nowhere");
    XP_ASSERT(self->told++ == 0, "told twice");
    self->result = result;
}

static struct weir__flight *join(unsigned number)
{
    struct weir__flight *leads;
    struct waiter *waiter = &s.waiters[number];
    waiter->waiter = (struct weir__flight_waiter){.told = told, .arg = waiter};
    XP_ASSERT_EQ(weir__flight_join(s.flights, &s.key, WEIR_NEVER, &waiter->waiter, &leads), 0);
    waiter->has_joined = true;
    return leads;
}
static void leave(unsigned number)
{
    s.waiters[number].has_left = weir__flight_leave(s.flights, &s.waiters[number].waiter);
}

static void begin_flights(void)
{
    begin();
    XP_ASSERT_EQ(weir__flights_new(&s.flights, 4), 0);
}
static void begin_led(void)
{
    begin_flights();
    s.leads = join(0);
}
/* Each who joined was told, or has left: one of them, once. */
static void check_flights(void)
{
    struct weir__flights_stats stats;
    for (unsigned i = 0; i < WAITERS; i++)
        if (s.waiters[i].has_joined)
            XP_ASSERT_EQ(s.waiters[i].told + s.waiters[i].has_left, 1);
    weir__flights_read(s.flights, &stats);
    XP_ASSERT_EQ(stats.now, 0);
    XP_ASSERT_EQ(stats.led, stats.landed);
    weir__flights_free(s.flights);
    end();
}

static bool is_told(void *arg)
{
    return ((struct waiter *)arg)->told > 0;
}
static void asks(unsigned number)
{
    struct weir__flight *flight = join(number);
    if (flight) {
        XP_ASSERT(s.leading++ == 0, "two lead at a time");
        xp_point();
        s.leading--;
        weir__flight_land(s.flights, flight, 0, NULL);
    }
    xp_await(is_told, &s.waiters[number]);
}
static void asks_first(void)
{
    asks(0);
}
static void asks_second(void)
{
    asks(1);
}
static void asks_third(void)
{
    asks(2);
}
XP_SCENARIO(index_flight_one_leader, .about = "one leads, and all who joined are told, once",
            XP_STATE(s), .setup = begin_flights, .threads = {asks_first, asks_second, asks_third},
            .check = check_flights, .bound = 3)

/* The leader looks at its token as a source would. */
static void leads_on(void)
{
    xp_point();
    bool is_fired = weir_cancel_is_fired(weir__flight_deadline(s.leads).cancel);
    XP_ASSERT(!(is_fired && s.waiters[1].has_joined && !s.waiters[1].told && s.leading == 0),
              "the lookup is canceled though somebody waits");
    weir__flight_land(s.flights, s.leads, 0, NULL);
}
static void client_leaves(void)
{
    leave(0);
}
/* Joins, or leads a flight of its own if the first was abandoned. */
static void joins(void)
{
    struct weir__flight *flight = join(1);
    s.leading = flight != NULL;
    if (flight) {
        XP_ASSERT(!weir_cancel_is_fired(weir__flight_deadline(flight).cancel),
                  "a new flight is canceled at its birth");
        xp_point();
        XP_ASSERT(!weir_cancel_is_fired(weir__flight_deadline(flight).cancel),
                  "a flight is canceled by another's waiter");
        weir__flight_land(s.flights, flight, 0, NULL);
    }
    xp_await(is_told, &s.waiters[1]);
}
XP_SCENARIO(index_flight_leader_leaves,
            .about = "the leader's own client leaves, and the lookup goes on for the others",
            XP_STATE(s), .setup = begin_led, .threads = {leads_on, client_leaves, joins},
            .check = check_flights, .bound = 3)

/* Lands only when its token has fired: if it does not, that is a deadlock. */
static void leads_until_told(void)
{
    struct weir_deadline deadline = weir__flight_deadline(s.leads);
    XP_ASSERT_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    weir__flight_land(s.flights, s.leads, -WEIR_E_CANCELED, NULL);
}
static void joins_and_leaves(void)
{
    struct weir__flight *flight = join(1);
    if (flight)
        weir__flight_land(s.flights, flight, 0, NULL);
    else
        leave(1);
}
XP_SCENARIO(index_flight_last_leaves,
            .about = "when the last one has left, the leader is told, and nobody else is canceled",
            XP_STATE(s), .setup = begin_led,
            .threads = {leads_until_told, client_leaves, joins_and_leaves}, .check = check_flights,
            .bound = 3)

static void lands(void)
{
    weir__flight_land(s.flights, s.leads, 0, NULL);
}
XP_SCENARIO(index_flight_leave_vs_land, .about = "who leaves while the flight lands is told or not",
            XP_STATE(s), .setup = begin_led, .threads = {lands, client_leaves, joins},
            .check = check_flights, .bound = 3)

/* --- the line and its askers --- */

static void run(struct weir__line_item *item)
{
    struct attempt *self = (struct attempt *)item;
    struct weir_hedge_attempt *attempt = self->attempt;
    XP_ASSERT(self->run++ == 0 && !self->dropped, "an attempt is run that has ended");
    xp_point();
    weir__line_done(item);
    weir_hedge_report(attempt, 0, NULL);
}
static void dropped(struct weir__line_item *item)
{
    struct attempt *self = (struct attempt *)item;
    XP_ASSERT(self->dropped++ == 0 && !self->run, "an attempt is dropped that has ended");
    weir_hedge_report(self->attempt, -WEIR_E_CANCELED, NULL);
}
/* arg is the first attempt of the call. */
static int start(void *arg, struct weir_hedge_attempt *attempt)
{
    struct attempt *self = (struct attempt *)arg + attempt->target;
    self->attempt = attempt;
    return weir__line_push(&s.line, &self->item, attempt->deadline.cancel);
}
static const struct weir_hedge_ops ops = {start, NULL};

static int call(unsigned first, unsigned targets)
{
    struct weir_hedge_answer answer;
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    int error = weir_hedge_run(&s.hedge, &ops, &s.attempts[first], targets, &answer, &deadline);
    for (unsigned i = first; i < first + targets; i++)
        XP_ASSERT(s.attempts[i].item.place != WEIR__ASK_IN_LINE, "who has lost is still in line");
    return error;
}

static void begin_line(uint32_t capacity)
{
    begin();
    struct weir_hedge_options options = {.alpha = 2, .beta = WEIR_HEDGE_NO_BETA};
    XP_ASSERT_EQ(weir_hedge_init(&s.hedge, "lookup", &options), 0);
    XP_ASSERT_EQ(weir__line_init(&s.line, capacity, run, dropped), 0);
    weir_cancel_init(&s.never, NULL);
    weir_cancel_init(&s.abort, NULL);
}
static void begin_line_of_two(void)
{
    begin_line(2);
}
static void begin_line_of_one(void)
{
    begin_line(1);
}
static void check_line(void)
{
    struct weir_hedge_stats stats;
    weir_hedge_read(&s.hedge, &stats);
    XP_ASSERT_EQ(stats.reported, stats.attempts);
    XP_ASSERT(!s.line.first && s.line.count == 0, "something is left in line");
    weir__line_fini(&s.line);
    weir_hedge_fini(&s.hedge);
    weir_cancel_fini(&s.never);
    weir_cancel_fini(&s.abort);
    end();
}

static void asker(void)
{
    struct weir_crew_self self = {.stop = &s.never, .abort = &s.abort, .kind = "ask"};
    XP_ASSERT_EQ(weir__line_main(&self, &s.line), 0);
}
/* Two attempts and one asker: the second is run, or leaves the line when the first has won. */
static void calls_and_stops(void)
{
    XP_ASSERT_EQ(call(0, 2), 0);
    weir__line_stop(&s.line);
}
XP_SCENARIO(index_line_canceled, .about = "an attempt that has lost leaves the line, once",
            XP_STATE(s), .setup = begin_line_of_two, .threads = {calls_and_stops, asker, asker},
            .check = check_line, .bound = 2)

/* Two attempts and a place for one: the second may be refused. */
static void calls(void)
{
    int error = call(0, 2);
    XP_ASSERT(error == 0 || error == -WEIR_E_CANCELED || error == -WEIR_E_DRAINING ||
                  error == -WEIR_E_BUSY,
              "neither done, nor refused, nor told of the shutdown");
}
static void stops(void)
{
    weir__line_stop(&s.line);
}
XP_SCENARIO(index_line_shutdown,
            .about = "a line of one, an asker and a stop: each attempt is told, once", XP_STATE(s),
            .setup = begin_line_of_one, .threads = {calls, asker, stops}, .check = check_line,
            .bound = 2)

/* --- limits --- */

static struct weir__lookup_rules *make_rules(uint32_t alpha)
{
    struct weir__lookup_rules *rules;
    struct weir__lookup_limits limits = {.alpha = alpha,
                                         .beta = alpha,
                                         .quorum = 1,
                                         .tries = 1,
                                         .hedge_ns = alpha,
                                         .deadline_ns = alpha,
                                         .hedge_permille = 50};
    XP_ASSERT_EQ(weir__rules_new(&rules, &limits, 4), 0);
    return rules;
}
static void begin_limits(void)
{
    begin();
    struct weir__lookup_rules *rules = make_rules(1);
    XP_ASSERT_EQ(weir_watch_init_snapshot(&s.limits, "limits", &rules->snapshot), 0);
}
static void check_limits(void)
{
    weir_watch_fini(&s.limits);
    end();
}
static void reloads(void)
{
    struct weir__lookup_rules *rules = make_rules(2);
    XP_ASSERT_EQ(weir_watch_swap(&s.limits, &rules->snapshot), 0);
}
static void reads_limits(void)
{
    struct weir__lookup_rules *rules = weir__rules_borrow(&s.limits);
    uint32_t alpha = rules->names._options.alpha;
    XP_ASSERT(alpha == rules->limits.alpha && alpha == rules->limits.beta &&
                  alpha == rules->limits.deadline_ns && alpha == rules->providers._options.alpha,
              "limits of two updates in one snapshot");
    xp_point();
    XP_ASSERT_EQ(rules->limits.alpha, alpha);
    weir__rules_unref(rules);
}
XP_SCENARIO(index_limits_swap, .about = "a lookup has the old limits or the new ones, whole",
            XP_STATE(s), .setup = begin_limits, .threads = {reads_limits, reloads, reads_limits},
            .check = check_limits, .bound = 3)

/* --- turns --- */

static bool go(struct weir__lookup_turn *turn)
{
    struct job *job = (struct job *)turn;
    XP_ASSERT(!job->has_turn && !job->has_ended, "it has its turn twice");
    xp_point();
    if (s.is_closed) {
        XP_ASSERT(weir__turns_take_out(turn), "told that it has a turn, and has none");
        job->has_ended = true;
        return false;
    }
    job->has_turn = true;
    return true;
}
static void begin_turns(void)
{
    begin();
    struct weir__turns_options options = {1, TURNS, TURNS, 2, go};
    XP_ASSERT_EQ(weir__turns_new(&s.turns, &options), 0);
}
static void check_turns(void)
{
    struct weir__turns_stats stats;
    for (unsigned i = 0; i < TURNS; i++)
        XP_ASSERT_EQ(s.jobs[i].worked + s.jobs[i].has_ended, s.jobs[i].turn.key_size ? 1 : 0);
    weir__turns_read(s.turns, &stats);
    XP_ASSERT_EQ(stats.taken, stats.passed);
    XP_ASSERT_EQ(stats.waiting, 0);
    XP_ASSERT_EQ(stats.accounts, 0);
    weir__turns_free(s.turns);
    end();
}

static bool is_its_turn(void *arg)
{
    const struct job *job = arg;
    return job->has_turn || job->has_ended;
}
/* As loop and resolver in one: nobody who waits is forgotten, else this is a deadlock. */
static void takes_a_turn(unsigned number, unsigned char address)
{
    struct job *job = &s.jobs[number];
    bool has;
    job->turn.key[0] = address;
    job->turn.key_size = 1;
    XP_ASSERT_EQ(weir__turns_enter(s.turns, &job->turn, &has), 0);
    if (!has)
        xp_await(is_its_turn, job);
    if (job->has_ended)
        return;
    struct weir__turns_account *account = weir__turns_take_out(&job->turn);
    if (address == 1)
        XP_ASSERT(s.working++ == 0, "an address has more turns than it may have");
    xp_point();
    s.working -= address == 1;
    job->worked++;
    weir__turns_pass(s.turns, account);
}
static void takes_first(void)
{
    takes_a_turn(0, 1);
}
static void takes_second(void)
{
    takes_a_turn(1, 1);
}
static void takes_third(void)
{
    takes_a_turn(2, 1);
}
XP_SCENARIO(index_turns_of_one, .about = "one turn, three who want it: one at a time, and each",
            XP_STATE(s), .setup = begin_turns, .threads = {takes_first, takes_second, takes_third},
            .check = check_turns, .bound = 3)

/* Another address: the accounts come and go beside each other. */
static void takes_for_another(void)
{
    bool has = false;
    s.jobs[2].turn.key[0] = 2;
    s.jobs[2].turn.key_size = 1;
    XP_ASSERT_EQ(weir__turns_enter(s.turns, &s.jobs[2].turn, &has), 0);
    XP_ASSERT(has, "somebody waits for the turn of another address");
    xp_point();
    s.jobs[2].worked++;
    weir__turns_pass(s.turns, weir__turns_take_out(&s.jobs[2].turn));
}
XP_SCENARIO(index_turns_of_others, .about = "nobody waits for the turns of another address",
            XP_STATE(s), .setup = begin_turns,
            .threads = {takes_first, takes_second, takes_for_another}, .check = check_turns,
            .bound = 3)

/* The line is closed at some time: who waits then cannot use the turn, and each learns of it. */
static void closes(void)
{
    s.is_closed = true;
}
XP_SCENARIO(index_turns_unused, .about = "a turn that one cannot use is the next one's",
            XP_STATE(s), .setup = begin_turns,
            .threads = {takes_first, takes_second, takes_third, closes}, .check = check_turns,
            .bound = 2)

/* --- the cache --- */

static void answer_free(struct weir_snapshot *snapshot)
{
    struct answer *answer = (struct answer *)snapshot;
    XP_ASSERT(!answer->is_freed, "freed twice");
    answer->is_freed = true;
}
static struct weir__answer *make_answer(unsigned number, const struct weir__question_key *key,
                                        uint64_t sequence)
{
    struct weir__answer *answer = &s.answers[number].answer;
    weir_snapshot_init(&answer->snapshot, answer_free);
    answer->key = *key;
    answer->has_name = true;
    answer->name_record.sequence = answer->manifest.bytes[0] = (unsigned char)sequence;
    answer->asked_ns = answer->made_ns = XP_START_NS - 10 + number;
    answer->fresh_until_ns = answer->stale_until_ns = XP_START_NS + WEIR_NS_PER_S;
    answer->bytes = 10;
    return answer;
}
/* Hands it in, as the line would. */
static void take(struct weir__answer *answer)
{
    struct weir__cache_item item = {
        .order = WEIR__CACHE_TAKE, .answer = answer, .key = answer->key};
    weir__cache_handle(s.cache, &item);
}

static void begin_cache(void)
{
    begin();
    struct weir__cache_limits limits = {.entries_max = 1, .bytes_max = 100};
    XP_ASSERT_EQ(weir__cache_new(&s.cache, &limits), 0);
    take(make_answer(0, &s.key, 1));
}
static void check_cache(void)
{
    weir__cache_free(s.cache);
    for (unsigned i = 0; i < ANSWERS; i++)
        XP_ASSERT(!s.answers[i].answer.asked_ns || s.answers[i].is_freed, "an answer is left");
    end();
}

/* Looks, holds what it has found for a while, and gives it back. */
static enum weir__cache_state finds(const struct weir__question_key *key)
{
    struct weir__answer *answer;
    bool is_due;
    enum weir__cache_state state = weir__cache_find(s.cache, key, XP_START_NS, &answer, &is_due);
    XP_ASSERT(weir_gauge_value(&s.cache->entries) <= 1, "more entries than there may be");
    if (state == WEIR__CACHE_MISS)
        return state;
    struct answer *held = (struct answer *)answer;
    XP_ASSERT(!held->is_freed, "what was freed is handed out");
    xp_point();
    XP_ASSERT(!held->is_freed, "freed while somebody has a reference");
    XP_ASSERT(memcmp(&answer->key, key, sizeof(*key)) == 0, "the answer to another question");
    XP_ASSERT_EQ(answer->name_record.sequence, answer->manifest.bytes[0]);
    weir__answer_unref(answer);
    return state;
}
static void reads(void)
{
    XP_ASSERT(finds(&s.key) == WEIR__CACHE_FRESH, "while it is replaced it is missed");
}
static void replaces(void)
{
    take(make_answer(1, &s.key, 2));
}
XP_SCENARIO(index_cache_find_vs_replace, .about = "a reader has the old answer or the new, whole",
            XP_STATE(s), .setup = begin_cache, .threads = {reads, replaces, reads},
            .check = check_cache, .bound = 3)

/* Room for one: the new one makes the old one go. */
static void evicts(void)
{
    take(make_answer(1, &s.other_key, 2));
}
static void reads_both(void)
{
    (void)finds(&s.key);
    (void)finds(&s.other_key);
}
XP_SCENARIO(index_cache_evict, .about = "what makes room is whole for who has found it",
            XP_STATE(s), .setup = begin_cache, .threads = {reads_both, evicts, reads_both},
            .check = check_cache, .bound = 3)

/* A lookup that began before the drop lands while the janitor is at it. */
static void drops(void)
{
    XP_ASSERT_EQ(weir__cache_drop(s.cache, &s.key), 0);
    XP_ASSERT(finds(&s.key) == WEIR__CACHE_MISS, "what was dropped is served");
}
static void offers_old(void)
{
    struct weir__answer *answer = make_answer(1, &s.key, 2);
    weir__cache_offer(s.cache, answer);
    weir__answer_unref(answer);
}
static void keeps_house(void)
{
    weir__cache_turn(s.cache, XP_START_NS);
    weir__cache_turn(s.cache, XP_START_NS);
}
static void check_dropped(void)
{
    weir__cache_turn(s.cache, XP_START_NS);
    XP_ASSERT(finds(&s.key) == WEIR__CACHE_MISS, "what was found before the drop is cached");
    check_cache();
}
XP_SCENARIO(index_cache_drop_at_once,
            .about = "what was dropped is a miss at once, and stays one for older lookups",
            XP_STATE(s), .setup = begin_cache, .threads = {drops, offers_old, keeps_house},
            .check = check_dropped, .bound = 2)

/* The answer of a name says who provides what it means, under a key of its own, which is dropped
 * while a lookup of the name that began before lands. */
static struct weir__answer *make_name(unsigned number, uint64_t sequence)
{
    struct weir__answer *answer = make_answer(number, &s.key, sequence);
    answer->providers_key = s.other_key;
    return answer;
}
static void begin_named(void)
{
    begin();
    struct weir__cache_limits limits = {.entries_max = 1, .bytes_max = 100};
    XP_ASSERT_EQ(weir__cache_new(&s.cache, &limits), 0);
    take(make_name(0, 1));
}
static void drops_providers(void)
{
    XP_ASSERT_EQ(weir__cache_drop(s.cache, &s.other_key), 0);
    XP_ASSERT(finds(&s.key) != WEIR__CACHE_FRESH, "providers of before are told as fresh");
}
static void offers_old_name(void)
{
    struct weir__answer *answer = make_name(1, 2);
    weir__cache_offer(s.cache, answer);
    weir__answer_unref(answer);
}
static void check_overtaken(void)
{
    weir__cache_turn(s.cache, XP_START_NS);
    XP_ASSERT(finds(&s.key) == WEIR__CACHE_STALE, "what was found before is fresh, or lost");
    check_cache();
}
XP_SCENARIO(index_cache_providers_dropped,
            .about = "a name is not fresh any more when who provides it was dropped", XP_STATE(s),
            .setup = begin_named, .threads = {drops_providers, offers_old_name, keeps_house},
            .check = check_overtaken, .bound = 2)
