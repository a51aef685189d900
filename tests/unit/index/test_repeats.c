/* Tests of keys of repeats: once, the same again, another body, and at the end of their time. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "clock.h"
#include "repeats.h"
#include "tap.h"

static struct weir__repeats *repeats;
static struct weir__repeats_answer got;

static void begin_test(void)
{
    weir__clock_fake(WEIR_NS_PER_S);
    CHECK_EQ(weir__repeats_new(&repeats), 0);
}

static void end_test(void)
{
    weir__repeats_free(repeats);
    weir__clock_unfake();
}

static enum weir__repeats_state ask(const char *who, const char *key, const char *body,
                                    struct weir__repeats_turn *turn)
{
    struct weir__repeats_ask given = {who, "/admin/pin", key, body, strlen(body)};
    return weir__repeats_begin(repeats, &given, weir_now_ns(), turn, &got);
}

static const struct weir__repeats_answer done = {200, "{\"status\":\"pinned\"}\n"};

TEST(once_and_the_same_again)
{
    struct weir__repeats_turn turn = {0}, none = {0};
    begin_test();
    CHECK_EQ(ask("t", "k", "body", &turn), WEIR__REPEATS_NEW);
    CHECK_EQ(ask("t", "k", "body", &none), WEIR__REPEATS_RUNS);
    CHECK_EQ(ask("t", "k", "other", &none), WEIR__REPEATS_OTHER);
    weir__repeats_end(repeats, &turn, &done);
    CHECK_EQ(ask("t", "k", "body", &none), WEIR__REPEATS_DONE);
    CHECK_EQ(got.status, 200);
    CHECK_STR(got.text, done.text);
    CHECK_EQ(ask("t", "k", "other", &none), WEIR__REPEATS_OTHER);
    CHECK_EQ(weir__repeats_count(repeats), 1);
    end_test();
}

/* Neither the key of somebody else, nor two texts that only together are the same. */
TEST(keys_are_of_one_client)
{
    struct weir__repeats_turn turn = {0}, second = {0}, third = {0};
    begin_test();
    CHECK_EQ(ask("t", "k", "body", &turn), WEIR__REPEATS_NEW);
    CHECK_EQ(ask("u", "k", "other", &second), WEIR__REPEATS_NEW);
    struct weir__repeats_ask split = {"t", "/admin/pi", "nk", "x", 1};
    CHECK_EQ(weir__repeats_begin(repeats, &split, weir_now_ns(), &third, &got), WEIR__REPEATS_NEW);
    weir__repeats_end(repeats, &turn, NULL);
    weir__repeats_end(repeats, &second, NULL);
    weir__repeats_end(repeats, &third, NULL);
    end_test();
}

TEST(what_failed_may_be_tried_again)
{
    struct weir__repeats_turn turn = {0};
    begin_test();
    CHECK_EQ(ask("t", "k", "body", &turn), WEIR__REPEATS_NEW);
    weir__repeats_end(repeats, &turn, NULL);
    weir__repeats_end(repeats, &turn, NULL); /* an empty one is left alone */
    CHECK_EQ(weir__repeats_count(repeats), 0);
    CHECK_EQ(ask("t", "k", "other", &turn), WEIR__REPEATS_NEW);
    weir__repeats_end(repeats, &turn, NULL);
    end_test();
}

TEST(a_key_has_its_time)
{
    struct weir__repeats_turn turn = {0};
    begin_test();
    CHECK_EQ(ask("t", "k", "body", &turn), WEIR__REPEATS_NEW);
    weir__repeats_end(repeats, &turn, &done);
    weir__clock_advance(WEIR__REPEATS_NS - 1);
    CHECK_EQ(ask("t", "k", "body", &turn), WEIR__REPEATS_DONE);
    weir__clock_advance(1);
    CHECK_EQ(ask("t", "k", "other", &turn), WEIR__REPEATS_NEW);
    weir__repeats_end(repeats, &turn, NULL);
    end_test();
}

/* A promise that was given is kept: who comes when the table is full is refused. */
TEST(the_table_is_bounded)
{
    struct weir__repeats_turn turn = {0};
    char key[16];
    begin_test();
    for (unsigned i = 0; i < WEIR__REPEATS_MAX; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        CHECK_EQ(ask("t", key, "body", &turn), WEIR__REPEATS_NEW);
        weir__repeats_end(repeats, &turn, &done);
    }
    CHECK_EQ(ask("t", "one more", "body", &turn), WEIR__REPEATS_FULL);
    CHECK_EQ(ask("t", "k0", "body", &turn), WEIR__REPEATS_DONE);
    weir__clock_advance(WEIR__REPEATS_NS);
    CHECK_EQ(ask("t", "one more", "body", &turn), WEIR__REPEATS_NEW);
    weir__repeats_end(repeats, &turn, NULL);
    end_test();
}

TEST(what_a_key_may_be)
{
    char text[300];
    memset(text, 'x', sizeof(text) - 1);
    text[WEIR__REPEATS_KEY + 1] = '\0';
    CHECK(!weir__repeats_is_key(text));
    text[WEIR__REPEATS_KEY] = '\0';
    CHECK(weir__repeats_is_key(text));
    CHECK(!weir__repeats_is_key(""));
    CHECK(!weir__repeats_is_key("a\tb"));
    CHECK(!weir__repeats_is_key("\xc3\xa4"));
    CHECK(weir__repeats_is_key("8e03978e-40d5-43e8"
                               "-bc93-6894a57f9324"));
}

TEST(it_knows_when_there_is_room_again)
{
    struct weir__repeats_turn turn = {0};
    char key[16];
    begin_test();
    CHECK_EQ(weir__repeats_left_ns(repeats, weir_now_ns()), 0);
    for (unsigned i = 0; i < WEIR__REPEATS_MAX; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        CHECK_EQ(ask("t", key, "body", &turn), WEIR__REPEATS_NEW);
        weir__repeats_end(repeats, &turn, &done);
        if (i == 0)
            weir__clock_advance(WEIR_NS_PER_S);
    }
    CHECK_EQ(ask("t", "more", "body", &turn), WEIR__REPEATS_FULL);
    CHECK_EQ(weir__repeats_left_ns(repeats, weir_now_ns()), WEIR__REPEATS_NS - WEIR_NS_PER_S);
    weir__clock_advance(WEIR__REPEATS_NS - WEIR_NS_PER_S);
    CHECK_EQ(ask("t", "more", "body", &turn), WEIR__REPEATS_NEW);
    weir__repeats_end(repeats, &turn, NULL);
    end_test();
}

TAP_MAIN()
