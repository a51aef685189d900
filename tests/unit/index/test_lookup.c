/* Lookups: who is asked when, what is taken of it, and what comes out when sources fail. */
#include "lookup_rig.h"

static struct weir__answer *answer;

TEST(a_name_is_found_with_its_providers)
{
    struct weir__trace trace;
    rig_begin(1);
    rig_give_name(0, 5);
    rig.sources[0].steps[1].does = RIG_GIVES;
    struct weir__record record = rig_provider_record(1, 1);
    rig_give(&rig.sources[0], &record, 1);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, &trace, &answer), 0);
    CHECK_EQ(answer->result, 0);
    CHECK(answer->has_name);
    CHECK_EQ(answer->name_record.sequence, 5);
    CHECK_EQ(answer->providers_count, 1);
    CHECK(answer->providers_complete);
    CHECK_STR(answer->source, "source 0");
    CHECK_EQ(answer->fresh_until_ns - answer->made_ns, 10 * WEIR_NS_PER_S);
    char *text = strndup(answer->body, answer->body_length);
    CHECK_HAS(text, "\"manifest\":\"b3:0707");
    CHECK_HAS(text, "\"sequence\":5,");
    CHECK_HAS(text, "\"url\":\"http://p1-1.example/\"");
    CHECK_HAS(text, "\"providers_known\":1,\"providers_complete\":true,\"source\":\"source 0\",");
    CHECK_EQ(text[answer->body_length - 1], ',');
    free(text);
    CHECK_EQ(weir_counter_value(&rig.seen), 5);
    CHECK_EQ(trace.count, 2);
    CHECK_EQ(trace.steps[0].stage, WEIR__ASK_NAME);
    CHECK_EQ(trace.steps[1].stage, WEIR__ASK_PROVIDERS);
    CHECK(trace.steps[0].won && trace.steps[1].won);
    /* Each record is foreign to the other stage. */
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_FOREIGN), 2);
    weir__answer_unref(answer);
    rig_end();
}

TEST(a_failed_source_is_replaced_at_once_and_not_counted)
{
    struct weir__trace trace;
    struct weir__lookup_stats stats;
    rig_begin(2);
    rig.sources[0].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_IO, 0};
    rig_always(0);
    rig_give_provider(1, 1, 1);
    rig_start();
    uint64_t before_ns = weir_now_ns();
    CHECK_EQ(rig_run(&rig.ask_providers, &trace, &answer), 0);
    CHECK_EQ(weir_now_ns(), before_ns); /* no delay had to pass */
    CHECK_EQ(trace.count, 2);
    CHECK_EQ(trace.steps[0].result, -WEIR_E_IO);
    CHECK(!trace.steps[1].is_hedge && trace.steps[1].won);
    weir__lookup_read(rig.lookup, &stats);
    CHECK_EQ(stats.attempts, 2);
    CHECK_EQ(stats.hedges, 0);
    weir__answer_unref(answer);
    rig_end();
}

TEST(after_the_delay_another_source_is_asked_and_the_loser_is_told)
{
    struct weir__trace trace;
    struct weir__lookup_stats stats;
    rig_begin(2);
    rig.sources[0].steps[0] = (struct rig_step){RIG_HANGS, 0, 151 * RIG_MS};
    rig_give_provider(1, 1, 1);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, &trace, &answer), 0);
    CHECK_EQ(trace.count, 2);
    CHECK_EQ(trace.steps[0].result, -WEIR_E_CANCELED);
    CHECK(trace.steps[1].is_hedge && trace.steps[1].won);
    CHECK(trace.steps[1].began_ns >= 150 * RIG_MS);
    rig_await(&rig.sources[0].saw_cancel, 1);
    weir__lookup_read(rig.lookup, &stats);
    CHECK_EQ(stats.hedges, 1);
    CHECK_EQ(stats.wins_by_hedge, 1);
    weir__answer_unref(answer);
    rig_end();
}

/* 50 of 1000 lookups earn an extra attempt; a lookup over that goes on with what it has. */
TEST(hedges_stay_within_their_budget)
{
    struct weir__lookup_stats stats;
    rig_begin(2);
    rig.options.limits.hedge_permille = 50;
    rig.sources[0].steps[0] = (struct rig_step){RIG_GIVES, 0, 151 * RIG_MS};
    struct weir__record record = rig_provider_record(1, 1);
    rig_give(&rig.sources[0], &record, 1);
    rig_always(0);
    rig_give_provider(1, 2, 1);
    rig_always(1);
    rig_start();
    for (int i = 0; i < 60; i++) {
        CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
        weir__answer_unref(answer);
    }
    weir__lookup_read(rig.lookup, &stats);
    CHECK_EQ(stats.lookups, 60);
    CHECK(stats.hedges <= 3);
    CHECK_EQ(stats.hedges_denied + stats.hedges, 60);
    CHECK_EQ(stats.attempts, 60 + stats.hedges);
    rig_end();
}

/* Both stages of a name are late, always: together they ask no further than one stage may. */
static void check_budget_of_names(uint32_t quorum, uint32_t permille, uint64_t most, uint64_t least)
{
    struct weir__lookup_stats stats;
    rig_begin(4);
    rig.options.limits.hedge_permille = permille;
    rig.options.limits.quorum = quorum;
    rig.options.limits.deadline_ns = 100 * WEIR_NS_PER_S;
    for (unsigned i = 0; i < 4; i++) {
        rig_give_name(i, 5);
        rig_give_provider(i, 1, 1);
        rig.sources[i].steps[0] = (struct rig_step){RIG_GIVES_LATE, 0, 151 * RIG_MS};
        rig_always(i);
    }
    rig_start();
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
        weir__answer_unref(answer);
    }
    weir__lookup_read(rig.lookup, &stats);
    CHECK_EQ(stats.lookups, 100);
    CHECK(stats.hedges <= most);
    CHECK(stats.hedges >= least);
    rig_end();
}

TEST(both_stages_of_a_name_have_one_budget)
{
    check_budget_of_names(1, 50, 5, 3);
    check_budget_of_names(2, 50, 5, 2);
    check_budget_of_names(1, 1, 0, 0);
}

TEST(with_a_quorum_the_highest_sequence_wins)
{
    rig_begin(3);
    rig.options.limits.quorum = 3;
    rig_give_name(0, 5);
    rig_give_name(1, 7);
    rig_give_name(2, 6);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->name_record.sequence, 7);
    CHECK_STR(answer->source, "source 1");
    CHECK_EQ(weir_counter_value(&rig.seen), 7);
    weir__answer_unref(answer);
    rig_end();
}

TEST(too_few_for_the_quorum_is_no_answer)
{
    rig_begin(3);
    rig.options.limits.quorum = 2;
    rig.sources[0].head.ops = &rig_local; /* has answered when the others are asked */
    rig_give_name(0, 5);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), -WEIR_E_NO_ROUTE);
    rig_end();
    /* Nobody knows it: so many say so that there can be no quorum. */
    rig_begin(3);
    rig.options.limits.quorum = 2;
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->result, -WEIR_E_NOT_FOUND);
    weir__answer_unref(answer);
    rig_end();
}

/* That there can be no quorum is known before those who know the name have said so. */
/* Who is behind what was seen agrees that there is the name, and is not asked what it means. */
TEST(those_behind_count_for_the_quorum)
{
    rig_begin(3);
    rig.options.limits.quorum = 2;
    rig.options.limits.alpha = 2;
    rig_give_name(0, 5);
    rig_give_name(1, 5);
    rig_give_name(2, 7);
    rig.mark.sequence = 7;
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->result, 0);
    CHECK_EQ(answer->name_record.sequence, 7);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_REPLAYED), 1);
    weir__answer_unref(answer);
    rig_end();
}

static void check_behind(uint32_t quorum)
{
    for (int is_removal = 0; is_removal < 2; is_removal++) {
        rig_begin(3);
        rig.options.limits.quorum = quorum;
        for (unsigned i = 0; i < 3; i++)
            rig_give_name(i, 5);
        struct weir__record record = rig_name_record(7);
        struct weir__record_bytes bytes;
        record.is_removal = is_removal;
        if (is_removal)
            memset(&record.address, 0, sizeof(record.address));
        CHECK_EQ(weir__record_sign(&bytes, &record, &rig.keys[0]), 0);
        weir__record_mark_set(&rig.mark, &record, &bytes);
        rig_start();
        CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), is_removal ? 0 : -WEIR_E_NO_ROUTE);
        if (is_removal) {
            CHECK_EQ(answer->result, -WEIR_E_NOT_FOUND);
            weir__answer_unref(answer);
        }
        for (unsigned i = 0; i < 3; i++)
            CHECK_EQ(rig_asked(i), 1);
        rig_end();
    }
}

TEST(a_quorum_of_those_behind_is_no_answer)
{
    check_behind(2);
}

/* An old answer that is all they have says nothing of the name, which was there. */
TEST(those_behind_do_not_say_that_there_is_none)
{
    check_behind(1);
}

/* One that is behind and one that knows are two; one that knows and one that does not are one. */
TEST(who_knows_nothing_is_none_of_the_quorum)
{
    rig_begin(3);
    rig.options.limits.quorum = 2;
    rig_give_name(2, 7);
    rig.mark.sequence = 7;
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), -WEIR_E_NO_ROUTE);
    rig_end();
    rig_begin(3);
    rig.options.limits.quorum = 2;
    rig_give_name(1, 5);
    rig_give_name(2, 7);
    rig.mark.sequence = 7;
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->name_record.sequence, 7);
    weir__answer_unref(answer);
    rig_end();
}

TEST(a_name_that_some_know_is_not_unknown)
{
    rig_begin(4);
    rig.options.limits.quorum = 4;
    rig.sources[0].head.ops = &rig_local;
    for (unsigned i = 1; i < 4; i++) {
        rig_give_name(i, 5);
        rig.sources[i].steps[0].does = RIG_GIVES_LATE;
    }
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), -WEIR_E_NO_ROUTE);
    rig_end();
    /* One may know it, and does not answer. */
    rig_begin(3);
    rig.options.limits.quorum = 2;
    rig.sources[2].steps[0] = (struct rig_step){RIG_HANGS, 0, 1200 * RIG_MS};
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), -WEIR_E_TIMEOUT);
    rig_end();
}

TEST(bad_records_are_dropped_and_counted)
{
    rig_begin(1);
    struct rig_source *source = &rig.sources[0];
    struct weir__record record = rig_name_record(9);
    source->steps[0].does = RIG_GIVES;
    source->undecodable = 2;
    rig_give(source, &record, 0);
    source->records[0].bytes[43] ^= 1; /* forged: another sequence */
    rig_give(source, &record, 3);      /* another key */
    record.expires_s = weir_wall_s() - 1;
    rig_give(source, &record, 0); /* expired */
    record = rig_name_record(4);
    rig_give(source, &record, 0); /* replayed */
    record = rig_provider_record(1, 1);
    rig_give(source, &record, 1); /* foreign */
    record = rig_name_record(6);
    rig_give(source, &record, 0); /* good */
    record = rig_name_record(5);
    rig_give(source, &record, 0); /* good, and not the newest */
    rig.mark.sequence = 5;
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->name_record.sequence, 6);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_FORGED), 1);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_UNBOUND), 1);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_EXPIRED), 1);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_REPLAYED), 1);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_FOREIGN), 1);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_MALFORMED), 4); /* in each of the two stages */
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_GOOD), 2);
    CHECK_EQ(weir_counter_value(&rig.seen), 6);
    weir__answer_unref(answer);
    rig_end();
}

/* A source that had nothing else knows nothing, or fails, and what it had is counted all the same.
 */
TEST(what_was_dropped_is_counted_whatever_the_source_says)
{
    rig_begin(2);
    rig.sources[0].undecodable = 3;
    rig.sources[0].oversized = 2;
    rig.sources[1].undecodable = 2;
    rig.sources[1].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_TRANSIENT, 0};
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TRANSIENT);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_MALFORMED), 3);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_OVERSIZED), 2);
    CHECK_EQ(rig_verdicts(1, WEIR__RECORD_MALFORMED), 2);
    rig_end();
}

TEST(nothing_but_replays_is_not_found)
{
    rig_begin(1);
    rig_give_name(0, 4);
    rig.mark.sequence = 5;
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->result, -WEIR_E_NOT_FOUND);
    CHECK_EQ(answer->fresh_until_ns - answer->made_ns, 2 * WEIR_NS_PER_S);
    CHECK(!answer->body);
    weir__answer_unref(answer);
    rig_end();
}

/* Of one sequence the record that counts for less is a replay as well. */
TEST(of_one_sequence_the_lesser_is_a_replay)
{
    for (int is_lesser = 0; is_lesser < 2; is_lesser++) {
        rig_begin(1);
        struct weir__record record = rig_name_record(5);
        rig.sources[0].steps[0].does = RIG_GIVES;
        record.expires_s -= is_lesser;
        rig_give(&rig.sources[0], &record, 0);
        record.expires_s += is_lesser;
        struct weir__record_bytes bytes;
        CHECK_EQ(weir__record_sign(&bytes, &record, &rig.keys[0]), 0);
        weir__record_mark_set(&rig.mark, &record, &bytes);
        rig_start();
        CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), is_lesser ? -WEIR_E_NO_ROUTE : 0);
        CHECK_EQ(rig_verdicts(0, WEIR__RECORD_REPLAYED), is_lesser);
        CHECK_EQ(weir_counter_value(&rig.seen), 0);
        if (!is_lesser)
            weir__answer_unref(answer);
        rig_end();
    }
}

/* What this node cannot remember it could not tell from its replay later. */
TEST(what_cannot_be_remembered_is_no_answer)
{
    rig_begin(1);
    rig_give_name(0, 4);
    rig.saw_error = -WEIR_E_NO_SPACE;
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), -WEIR_E_NO_SPACE);
    CHECK_EQ(weir_counter_value(&rig.seen), 4);
    rig_end();
}

TEST(a_provider_lives_no_longer_than_it_may)
{
    rig_begin(1);
    struct weir__record record = rig_provider_record(1, 1);
    rig.options.limits.provider_life_s = record.expires_s - record.issued_s;
    rig.sources[0].steps[0].does = RIG_GIVES;
    rig_give(&rig.sources[0], &record, 1);
    record = rig_provider_record(2, 1);
    record.expires_s++;
    rig_give(&rig.sources[0], &record, 2);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    CHECK_EQ(answer->providers_count, 1);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_GOOD), 1);
    CHECK_EQ(rig_verdicts(0, WEIR__RECORD_EXPIRED), 1);
    weir__answer_unref(answer);
    rig_end();
}

TEST(a_removal_is_the_newest_word)
{
    rig_begin(2);
    rig.options.limits.quorum = 2;
    rig_give_name(0, 4);
    struct weir__record record = rig_name_record(5);
    record.is_removal = true;
    memset(&record.address, 0, sizeof(record.address));
    rig.sources[1].steps[0].does = RIG_GIVES;
    rig_give(&rig.sources[1], &record, 0);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->result, -WEIR_E_NOT_FOUND);
    CHECK(answer->has_name && answer->name_record.is_removal);
    CHECK_EQ(weir_counter_value(&rig.seen), 5);
    weir__answer_unref(answer);
    rig_end();
}

TEST(not_found_needs_every_source)
{
    rig_begin(3);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    CHECK_EQ(answer->result, -WEIR_E_NOT_FOUND);
    weir__answer_unref(answer);
    rig_end();
    rig_begin(3);
    rig.sources[1].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_IO, 0};
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TRANSIENT);
    CHECK_EQ(rig_asked(2), 1);
    rig_end();
}

/* What a source says to us is not what we say to a client: who may not ask there may ask here. */
TEST(the_error_of_a_source_is_not_the_clients)
{
    static const struct {
        int said, told;
    } cases[] = {
        {-WEIR_E_UNAUTHORIZED, -WEIR_E_TRANSIENT}, {-WEIR_E_FORBIDDEN, -WEIR_E_TRANSIENT},
        {-WEIR_E_INVALID, -WEIR_E_TRANSIENT},      {-WEIR_E_TOO_LARGE, -WEIR_E_TRANSIENT},
        {-WEIR_E_NO_SPACE, -WEIR_E_TRANSIENT},     {-WEIR_E_INTERNAL, -WEIR_E_TRANSIENT},
        {-WEIR_E_BUSY, -WEIR_E_TRANSIENT},         {-WEIR_E_TIMEOUT_READ, -WEIR_E_TRANSIENT},
        {-WEIR_E_TIMEOUT, -WEIR_E_TIMEOUT},        {-WEIR_E_NO_ROUTE, -WEIR_E_NO_ROUTE},
        {-WEIR_E_NO_MEMORY, -WEIR_E_NO_MEMORY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir__trace trace;
        rig_begin(1);
        rig.sources[0].steps[0] = (struct rig_step){RIG_FAILS, cases[i].said, 0};
        rig_start();
        CHECK_EQ(rig_run(&rig.ask_name, &trace, &answer), cases[i].told);
        CHECK_EQ(trace.count, 1);
        CHECK_EQ(trace.steps[0].result, cases[i].said);
        rig_end();
    }
}

/* By the real clock: the waits are random. */
TEST(a_retryable_failure_is_tried_again)
{
    struct weir__trace trace;
    rig_begin(1);
    rig.options.limits.tries = 3;
    rig.sources[0].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_TRANSIENT, 0};
    rig.sources[0].steps[1] = (struct rig_step){RIG_FAILS, -WEIR_E_NO_ROUTE, 0};
    rig.sources[0].steps[2] = (struct rig_step){RIG_GIVES, 0, 0};
    struct weir__record record = rig_provider_record(1, 1);
    rig_give(&rig.sources[0], &record, 1);
    rig_start();
    weir__clock_unfake();
    uint64_t before_ns = weir_now_ns();
    CHECK_EQ(rig_run(&rig.ask_providers, &trace, &answer), 0);
    CHECK(weir_now_ns() - before_ns >= 100 * RIG_MS);
    CHECK_EQ(trace.count, 1);
    CHECK_EQ(trace.steps[0].tries, 3);
    CHECK_EQ(weir_counter_value(&weir__lookup_counts(rig.lookup, 0)->retries), 2);
    weir__answer_unref(answer);
    rig_end();
}

TEST(what_cannot_help_is_not_tried_again)
{
    rig_begin(1);
    rig.options.limits.tries = 3;
    rig.sources[0].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_CORRUPT, 0};
    rig_always(0);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TRANSIENT);
    CHECK_EQ(rig_asked(0), 1);
    rig_end();
}

/* A try that would begin behind the deadline is not waited for. */
TEST(nothing_is_tried_past_the_deadline)
{
    rig_begin(1);
    rig.options.limits.tries = 3;
    rig.sources[0].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_TRANSIENT, 1160 * RIG_MS};
    rig_always(0);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TRANSIENT);
    CHECK_EQ(rig_asked(0), 1);
    rig_end();
}

/* While one source is tried again the next is asked, at no cost, and may win. */
TEST(a_second_try_does_not_hold_up_the_others)
{
    struct weir__lookup_stats stats;
    rig_begin(2);
    rig.options.limits.tries = 3;
    rig.sources[0].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_TRANSIENT, 0};
    rig_always(0);
    rig_give_provider(1, 1, 1);
    rig_start();
    uint64_t before_ns = weir_now_ns();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    CHECK_EQ(weir_now_ns(), before_ns);
    weir__lookup_read(rig.lookup, &stats);
    CHECK_EQ(stats.hedges, 0);
    weir__answer_unref(answer);
    rig_end();
}

static void fail(int times)
{
    for (int i = 0; i < times; i++)
        CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TRANSIENT);
}

TEST(a_breaker_opens_probes_and_closes)
{
    struct weir_breaker_stats stats;
    rig_begin(1);
    rig.sources[0].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_IO, 0};
    rig.sources[0].steps[1] = rig.sources[0].steps[2] = rig.sources[0].steps[0];
    rig.sources[0].steps[3] = rig.sources[0].steps[0];
    struct weir__record record = rig_provider_record(1, 1);
    rig_give(&rig.sources[0], &record, 1);
    rig_start();
    fail(4);
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_BREAKER_OPEN);
    CHECK_EQ(rig_asked(0), 4);
    /* The cooldown is over: the janitor's turn shows it, and a probe that fails opens it again. */
    weir__clock_advance(10 * WEIR_NS_PER_S);
    weir__lookup_tend(rig.lookup);
    weir_breaker_read(weir__lookup_breaker(rig.lookup, 0), &stats);
    CHECK_EQ(stats.state, WEIR_BREAKER_HALF_OPEN);
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TRANSIENT);
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_BREAKER_OPEN);
    /* A probe that is answered closes it. */
    rig.sources[0].steps[3].does = RIG_GIVES;
    weir__clock_advance(10 * WEIR_NS_PER_S);
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    weir__answer_unref(answer);
    weir_breaker_read(weir__lookup_breaker(rig.lookup, 0), &stats);
    CHECK_EQ(stats.state, WEIR_BREAKER_CLOSED);
    rig_end();
}

/* Another source is faster, always: the probe is not canceled for that. */
TEST(a_probe_that_has_lost_goes_on)
{
    struct weir_breaker_stats stats;
    rig_begin(2);
    rig.options.limits.alpha = 2;
    for (unsigned i = 0; i < RIG_STEPS; i++)
        rig.sources[0].steps[i] = (struct rig_step){RIG_FAILS, -WEIR_E_IO, 0};
    rig.sources[0].steps[3].does = RIG_WAITS;
    rig.options.limits.breaker.calls_min = 3;
    struct weir__record first = rig_provider_record(1, 1);
    rig_give(&rig.sources[0], &first, 1);
    rig_start();
    fail(3);
    weir__clock_advance(10 * WEIR_NS_PER_S);
    struct weir__record record = rig_provider_record(2, 1);
    rig_give(&rig.sources[1], &record, 1);
    rig_always(1);
    rig.sources[1].steps[3].does = RIG_GIVES;
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    CHECK_STR(answer->source, "source 1");
    weir__answer_unref(answer);
    rig_wake();
    rig_await(&weir__lookup_counts(rig.lookup, 0)->answered, 1);
    CHECK_EQ(weir_counter_value(&rig.sources[0].saw_cancel), 0);
    weir_breaker_read(weir__lookup_breaker(rig.lookup, 0), &stats);
    CHECK_EQ(stats.state, WEIR_BREAKER_CLOSED);
    rig_end();
}

TEST(when_all_are_open_that_is_told_at_once)
{
    rig_begin(3);
    rig.sources[0].head.ops = &rig_local; /* works, and knows nothing */
    rig.options.limits.breaker.calls_min = 2;
    for (unsigned i = 1; i < 3; i++) {
        rig.sources[i].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_IO, 0};
        rig_always(i);
    }
    rig_start();
    fail(2);
    uint64_t asked = rig_asked(1) + rig_asked(2), before_ns = weir_now_ns();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_BREAKER_OPEN);
    CHECK_EQ(weir_now_ns(), before_ns);
    CHECK_EQ(rig_asked(1) + rig_asked(2), asked);
    rig_end();
}

/* A source that hangs until the deadline has failed, whether it saw the time or the token. */
TEST(a_source_that_never_answers_opens_its_breaker)
{
    rig_begin(1);
    rig.options.limits.breaker.calls_min = 2;
    rig.sources[0].steps[0] = (struct rig_step){RIG_HANGS, 0, 1200 * RIG_MS};
    rig_always(0);
    rig_start();
    for (uint64_t i = 1; i <= 2; i++) {
        CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TIMEOUT);
        rig_await(&weir__lookup_counts(rig.lookup, 0)->failed, i);
    }
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_BREAKER_OPEN);
    rig_end();
}

/* Who leaves early says nothing about the source. */
TEST(a_client_without_time_is_no_failure_of_the_source)
{
    rig_begin(1);
    rig.options.limits.breaker.calls_min = 2;
    rig.sources[0].steps[0] = (struct rig_step){RIG_HANGS, 0, 20 * RIG_MS};
    rig_always(0);
    rig_start();
    for (uint64_t i = 1; i <= 4; i++) {
        struct weir_deadline soon = weir_deadline_in(10 * RIG_MS, NULL);
        CHECK_EQ(weir__lookup_run(rig.lookup, &rig.ask_providers, NULL, &answer, &soon),
                 -WEIR_E_TIMEOUT);
        rig_await(&weir__lookup_counts(rig.lookup, 0)->canceled, i);
    }
    CHECK_EQ(weir_breaker_delay_ns(weir__lookup_breaker(rig.lookup, 0)), 0);
    rig_end();
}

TEST(a_deaf_source_is_left_behind_and_counted)
{
    struct weir__lookup_stats stats;
    rig_begin(1);
    rig.options.limits.breaker.calls_min = 1;
    rig.sources[0].steps[0] = (struct rig_step){RIG_DEAF, 0, 1200 * RIG_MS};
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TIMEOUT);
    weir__lookup_tend(rig.lookup);
    CHECK_EQ(weir_counter_value(&weir__lookup_counts(rig.lookup, 0)->left_behind), 0);
    weir__clock_advance(WEIR__LOOKUP_GRACE_NS + 1);
    weir__lookup_tend(rig.lookup);
    weir__lookup_tend(rig.lookup);
    CHECK_EQ(weir_counter_value(&weir__lookup_counts(rig.lookup, 0)->left_behind), 1);
    weir__lookup_read(rig.lookup, &stats);
    CHECK_EQ(stats.left_behind_now, 1);
    CHECK(weir_breaker_delay_ns(weir__lookup_breaker(rig.lookup, 0)) > 0);
    rig_wake();
    rig_await(&rig.sources[0].is_back, 1);
    rig_end();
}

/* By the real clock: the budget holds within 50 ms whatever a source does. One of three is enough,
 * since a busy machine may be late by itself. */
TEST(the_budget_holds)
{
    rig_begin(2);
    rig.options.limits.deadline_ns = 300 * RIG_MS;
    rig.options.limits.hedge_ns = 50 * RIG_MS;
    rig.sources[0].steps[0].does = RIG_DEAF;
    rig.sources[1].steps[0].does = RIG_HANGS;
    rig_always(0);
    rig_always(1);
    rig_start();
    weir__clock_unfake();
    uint64_t least_ns = WEIR_NEVER;
    for (int i = 0; i < 3 && least_ns > 350 * RIG_MS; i++) {
        uint64_t before_ns = weir_now_ns();
        CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_TIMEOUT);
        uint64_t took_ns = weir_now_ns() - before_ns;
        CHECK(took_ns >= 300 * RIG_MS);
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    CHECK(least_ns <= 350 * RIG_MS);
    rig_end();
}

TEST(what_is_local_and_known_ends_a_lookup)
{
    rig_begin(2);
    rig.sources[0].head.ops = &rig_local;
    rig_give_name(0, 3);
    for (unsigned i = 1; i <= WEIR__LOCAL_PROVIDERS; i++)
        rig_give_provider(0, i, 1);
    rig_always(0);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->providers_count, WEIR__LOCAL_PROVIDERS);
    CHECK_EQ(rig_asked(1), 0);
    weir__answer_unref(answer);
    rig_end();
}

TEST(a_few_local_providers_are_merged_with_others)
{
    rig_begin(2);
    rig.sources[0].head.ops = &rig_local;
    rig_give_provider(0, 1, 5);
    rig_give_provider(0, 2, 1);
    rig_give_provider(1, 1, 4); /* older than the local one */
    rig_give_provider(1, 2, 2); /* newer */
    rig_give_provider(1, 3, 1);
    rig_always(1);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    CHECK_EQ(answer->providers_count, 3);
    char *text = strndup(answer->body, answer->body_length);
    CHECK_HAS(text, "http://p1-5.example/");
    CHECK_HAS(text, "http://p2-2.example/");
    CHECK_HAS(text, "http://p3-1.example/");
    free(text);
    weir__answer_unref(answer);
    rig_end();
}

TEST(a_few_local_providers_are_better_than_none)
{
    rig_begin(2);
    rig.sources[0].head.ops = &rig_local;
    rig_give_provider(0, 1, 5);
    rig.sources[1].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_IO, 0};
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    CHECK_EQ(answer->providers_count, 1);
    CHECK(!answer->providers_complete);
    CHECK_EQ(answer->fresh_until_ns - answer->made_ns, 2 * WEIR_NS_PER_S);
    weir__answer_unref(answer);
    rig_end();
}

/* Some are in hand, and another source hangs: it has the hedge delay. */
TEST(a_few_local_providers_do_not_wait_for_the_slowest)
{
    struct weir__trace trace;
    struct weir_breaker_stats stats;
    rig_begin(2);
    rig.sources[0].head.ops = &rig_local;
    rig_give_provider(0, 1, 5);
    rig.sources[1].steps[0] = (struct rig_step){RIG_HANGS, 0, 150 * RIG_MS};
    rig_start();
    uint64_t before_ns = weir_now_ns();
    CHECK_EQ(rig_run(&rig.ask_providers, &trace, &answer), 0);
    CHECK_EQ(weir_now_ns() - before_ns, 150 * RIG_MS);
    CHECK_EQ(answer->providers_count, 1);
    CHECK(!answer->providers_complete);
    CHECK_EQ(trace.steps[0].result, 0);
    CHECK(trace.steps[0].won);
    CHECK_EQ(trace.steps[1].result, -WEIR_E_CANCELED);
    weir__answer_unref(answer);
    /* By that it has not failed. */
    rig_await(&weir__lookup_counts(rig.lookup, 1)->canceled, 1);
    weir_breaker_read(weir__lookup_breaker(rig.lookup, 1), &stats);
    CHECK_EQ(stats.failures, 0);
    rig_end();
    /* All others have said that they know of none: that is all there is. */
    rig_begin(2);
    rig.sources[0].head.ops = &rig_local;
    rig_give_provider(0, 1, 5);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, &trace, &answer), 0);
    CHECK(answer->providers_complete);
    CHECK_EQ(trace.steps[0].result, 0);
    weir__answer_unref(answer);
    rig_end();
}

/* What is not complete lives no longer than what is, however long what is not there does. */
TEST(what_is_not_complete_lives_no_longer)
{
    rig_begin(2);
    rig.sources[0].head.ops = &rig_local;
    rig_give_provider(0, 1, 5);
    rig.options.limits.ttl_ns = WEIR_NS_PER_S;
    rig.sources[1].steps[0] = (struct rig_step){RIG_FAILS, -WEIR_E_IO, 0};
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    CHECK_EQ(answer->fresh_until_ns - answer->made_ns, WEIR_NS_PER_S);
    weir__answer_unref(answer);
    rig_end();
}

/* The name is known, its providers cannot be had: that is told, and asked again soon. */
TEST(a_name_without_its_providers_is_an_answer)
{
    rig_begin(1);
    rig_give_name(0, 3);
    rig.sources[0].steps[1] = (struct rig_step){RIG_FAILS, -WEIR_E_IO, 0};
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_name, NULL, &answer), 0);
    CHECK_EQ(answer->result, 0);
    CHECK_EQ(answer->providers_count, 0);
    CHECK(!answer->providers_complete);
    weir__answer_unref(answer);
    rig_end();
}

/* One asker is held by a deaf source; what waits behind it and loses leaves the line at once. */
TEST(what_has_lost_leaves_the_line)
{
    struct weir__lookup_stats stats;
    struct weir__trace trace;
    rig_begin(1);
    rig.options.askers = 1;
    rig.sources[0].steps[0].does = RIG_DEAF;
    rig_start();
    weir__clock_unfake(); /* both lookups end by their time */
    struct weir_deadline soon = weir_deadline_in(30 * RIG_MS, NULL);
    CHECK_EQ(weir__lookup_run(rig.lookup, &rig.ask_providers, NULL, &answer, &soon),
             -WEIR_E_TIMEOUT);
    soon = weir_deadline_in(10 * RIG_MS, NULL);
    CHECK_EQ(weir__lookup_run(rig.lookup, &rig.ask_providers, &trace, &answer, &soon),
             -WEIR_E_TIMEOUT);
    weir__lookup_read(rig.lookup, &stats);
    CHECK_EQ(stats.line_depth, 0);
    CHECK_EQ(stats.line_canceled, 1);
    CHECK_EQ(trace.steps[0].tries, 0);
    CHECK_EQ(rig_asked(0), 1);
    rig_end();
}

TEST(a_stop_ends_what_is_under_way)
{
    rig_begin(1);
    rig.sources[0].steps[0].does = RIG_HANGS;
    rig_start();
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    weir_cancel_fire(&token);
    struct weir_deadline fired = weir_deadline_in(WEIR_NS_PER_S, &token);
    CHECK_EQ(weir__lookup_run(rig.lookup, &rig.ask_providers, NULL, &answer, &fired),
             -WEIR_E_CANCELED);
    weir_cancel_fini(&token);
    weir__lookup_stop(rig.lookup);
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), -WEIR_E_DRAINING);
    rig_end();
}

TEST(other_limits_hold_from_the_next_lookup_on)
{
    struct weir__lookup_limits limits;
    struct weir__lookup_stats stats;
    rig_begin(2);
    rig_give_provider(0, 1, 1);
    rig_always(0);
    rig_start();
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    weir__answer_unref(answer);
    limits = rig.options.limits;
    limits.ttl_ns = WEIR_NS_PER_S;
    CHECK_EQ(weir__lookup_update(rig.lookup, &limits), 0);
    CHECK_EQ(rig_run(&rig.ask_providers, NULL, &answer), 0);
    CHECK_EQ(answer->fresh_until_ns - answer->made_ns, WEIR_NS_PER_S);
    weir__answer_unref(answer);
    weir__lookup_read(rig.lookup, &stats);
    CHECK_EQ(stats.attempts, 2);
    limits.quorum = 3;
    CHECK_EQ(weir__lookup_update(rig.lookup, &limits), -WEIR_E_INVALID);
    weir__lookup_limits(rig.lookup, &limits);
    CHECK_EQ(limits.quorum, 1);
    rig_end();
}

TEST(bad_options_are_refused_and_the_sources_given_back)
{
    rig_begin(2);
    rig.options.limits.quorum = 3;
    CHECK_EQ(weir__lookup_new(&rig.lookup, &rig.options), -WEIR_E_INVALID);
    CHECK(rig.sources[0].is_freed && rig.sources[1].is_freed);
    weir_cancel_fini(&rig.wake);
    weir__clock_unfake();
}

TAP_MAIN()
