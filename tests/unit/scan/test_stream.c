/* test_stream.c - JSON Lines while the scan goes on: each secret once, in short, nothing of it or
 * of its neighbours in plain text, and the report at the end knows the numbers. */
#include "findings.h"

#include "found_help.h"
#include "report.h"
#include "tap.h"
#include "text_help.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#define TOKEN "tok_0123456789abcdefghijklmnopqrWXYZ"
#define OTHER "key-ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"

static char any_expression[] = ".";
static char *token_keywords[] = {(char[]){"tok_"}};
static struct weir__rule token_rule = {.id = (char[]){"some-token"},
                                       .description = (char[]){"A token"},
                                       .provider = (char[]){"Some"},
                                       .keywords = {token_keywords, 1},
                                       .regex = any_expression};
static struct weir__rule other_rule = {.id = (char[]){"other-key"},
                                       .description = (char[]){"A key"},
                                       .provider = (char[]){""},
                                       .regex = any_expression};
static struct weir__rule path_rule = {.id = (char[]){"key-file"},
                                      .description = (char[]){""},
                                      .provider = (char[]){""},
                                      .path = any_expression};

static struct weir__findings *findings;

static const struct weir__report_out out = {collect, NULL};

static void start(bool is_shown)
{
    struct weir__findings_options options = {.show_secrets = is_shown};
    CHECK_EQ(weir__findings_new(&findings, &options), 0);
    text_clear();
}

static void end(void)
{
    weir__findings_free(findings);
    findings = NULL;
}

static void add(const char *path, const struct weir__rule *rule, const char *file,
                const char *secret)
{
    struct weir__finding finding = found_in(rule, file, secret);
    CHECK(weir__findings_add(findings, path, NULL, &finding) >= 0);
}

/* What was told since the last time; each line is an object. */
static size_t tell(json_t **lines, size_t max)
{
    size_t count = 0;
    text_clear();
    CHECK_EQ(weir__report_found(findings, &out), 0);
    for (char *line = text; *line; count++) {
        char *stop = strchr(line, '\n');
        CHECK(stop && count < max);
        lines[count] = json_loadb(line, (size_t)(stop - line), 0, NULL);
        CHECK(json_is_object(lines[count]));
        line = stop + 1;
    }
    return count;
}

static const char *get(const json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

static long long number(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    CHECK(json_is_integer(value));
    return json_integer_value(value);
}

TEST(a_secret_is_told_when_it_is_found_and_once)
{
    json_t *lines[8];
    start(false);
    CHECK(!weir__findings_has_fresh(findings));
    CHECK_EQ(tell(lines, 8), 0);
    add("b", &token_rule, "\nx = " TOKEN, TOKEN);
    CHECK(weir__findings_has_fresh(findings));
    CHECK_EQ(tell(lines, 8), 1);
    CHECK_STR(get(lines[0], "type"), "found");
    CHECK_EQ(number(lines[0], "id"), 1);
    CHECK_STR(get(lines[0], "rule"), "some-token");
    CHECK_STR(get(lines[0], "provider"), "Some");
    CHECK_STR(get(lines[0], "secret"), "tok_********************WXYZ");
    CHECK(json_is_true(json_object_get(lines[0], "redacted")));
    const json_t *place = json_object_get(lines[0], "place");
    CHECK_STR(get(place, "path"), "b");
    CHECK_EQ(number(place, "line"), 2);
    CHECK_EQ(number(place, "column"), 5);
    CHECK_EQ(strlen(get(place, "fingerprint")), 32);
    /* The line has who knows what in it. */
    CHECK(!json_object_get(place, "text") && !json_object_get(lines[0], "match"));
    json_decref(lines[0]);
    add("a", &token_rule, TOKEN, TOKEN);
    CHECK(!weir__findings_has_fresh(findings));
    CHECK_EQ(tell(lines, 8), 0);
    add("c", &other_rule, OTHER, OTHER);
    add("c", &token_rule, OTHER, OTHER);
    CHECK_EQ(tell(lines, 8), 2);
    CHECK_EQ(number(lines[0], "id"), 2);
    CHECK_EQ(number(lines[1], "id"), 3);
    json_decref(lines[0]);
    json_decref(lines[1]);
    end();
}

TEST(the_place_is_the_first_that_is_known)
{
    json_t *lines[1];
    start(false);
    add("c", &token_rule, TOKEN, TOKEN);
    add("a", &token_rule, "\n" TOKEN, TOKEN);
    add("b", &token_rule, TOKEN, TOKEN);
    CHECK_EQ(tell(lines, 1), 1);
    CHECK_STR(get(json_object_get(lines[0], "place"), "path"), "a");
    json_decref(lines[0]);
    end();
}

TEST(the_report_has_the_numbers)
{
    json_t *lines[4];
    struct weir__report_options options = {.format = WEIR__REPORT_JSONL};
    struct weir__summary summary = {.version = "1", .is_complete = true};
    start(false);
    add("z", &token_rule, TOKEN, TOKEN);
    add("a", &other_rule, OTHER, OTHER);
    CHECK_EQ(tell(lines, 4), 2);
    json_decref(lines[0]);
    json_decref(lines[1]);
    add("m", &other_rule, TOKEN, TOKEN); /* has none */
    weir__findings_finish(findings);
    text_length = 0;
    CHECK_EQ(weir__report(findings, &summary, &options, &out), 0);
    const char *second = strstr(text, "\"type\":\"finding\",\"id\":2,\"rule\":\"other-key\"");
    const char *third = strstr(text, "\"type\":\"finding\",\"rule\":\"other-key\"");
    const char *first = strstr(text, "\"type\":\"finding\",\"id\":1,\"rule\":\"some-token\"");
    CHECK(second && third && first && second < third && third < first);
    CHECK_HAS(first, "\"type\":\"summary\"");
    /* And with what was told before it, it is a baseline. */
    static char both[sizeof(text) + 64];
    snprintf(both, sizeof(both), "{\"type\":\"found\",\"id\":1}\n%s", text);
    char reason[160] = "";
    end();
    start(false);
    CHECK_EQ(weir__findings_baseline_text(findings, both, strlen(both), reason, sizeof(reason)), 0);
    add("z", &token_rule, TOKEN, TOKEN);
    CHECK_EQ(weir__findings_ignored(findings), 1);
    CHECK_EQ(tell(lines, 4), 0);
    end();
}

TEST(nothing_is_shown_that_others_may_still_find)
{
    json_t *lines[2];
    static const char line[] = "a=" TOKEN " b=" OTHER;
    start(false);
    add("f", &token_rule, line, TOKEN);
    CHECK_EQ(tell(lines, 2), 1);
    CHECK(!strstr(text, TOKEN) && !strstr(text, OTHER) && !strstr(text, "EFGHIJ"));
    json_decref(lines[0]);
    end();
    start(true);
    add("f", &token_rule, line, TOKEN);
    CHECK_EQ(tell(lines, 2), 1);
    CHECK_STR(get(lines[0], "secret"), TOKEN);
    CHECK(json_is_false(json_object_get(lines[0], "redacted")));
    json_decref(lines[0]);
    end();
}

TEST(a_path_that_is_the_finding_is_told)
{
    json_t *lines[1];
    struct weir__finding finding = {.rule = &path_rule,
                                    .secret = "id_rsa",
                                    .secret_length = 6,
                                    .match = "id_rsa",
                                    .match_length = 6,
                                    .line = "",
                                    .place = {.line = 1, .column = 1}};
    start(false);
    CHECK_EQ(weir__findings_add(findings, "id_rsa", NULL, &finding), WEIR__ADDED_SECRET);
    CHECK_EQ(tell(lines, 1), 1);
    CHECK_STR(get(lines[0], "secret"), "id_rsa");
    json_decref(lines[0]);
    end();
}

static size_t largest, pieces;

static int measure(void *arg, const char *bytes, size_t length)
{
    (void)arg, (void)bytes;
    largest = length > largest ? length : largest;
    pieces++;
    return pieces > 3 ? -WEIR_E_IO : 0;
}

TEST(much_is_told_in_pieces_and_an_error_ends_it)
{
    char secret[64];
    start(false);
    for (int i = 0; i < 3000; i++) {
        snprintf(secret, sizeof(secret), "tok_0123456789abcdefghijklmn%08d", i);
        add("some/path", &token_rule, secret, secret);
    }
    largest = pieces = 0;
    CHECK_EQ(weir__report_found(findings, &(struct weir__report_out){measure, NULL}), -WEIR_E_IO);
    CHECK_EQ(pieces, 4);
    CHECK(largest > 30000 && largest < 40000);
    CHECK(weir__findings_has_fresh(findings));
    end();
}

/* While others add, each is told once, with its number. */
enum { THREADS = 3, ROUNDS = 2000 };

static void *add_many(void *arg)
{
    char secret[64];
    unsigned thread = *(unsigned *)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        snprintf(secret, sizeof(secret), "tok_0123456789abcdefghijklmn%04u%04u", i % 2 ? thread : 9,
                 i);
        struct weir__finding finding = found_in(&token_rule, secret, secret);
        if (weir__findings_add(findings, "p", NULL, &finding) < 0)
            return arg;
    }
    return NULL;
}

static uint64_t told, last;
static bool is_in_order;

static bool count(void *arg, const struct weir__fresh *fresh)
{
    (void)arg;
    is_in_order = is_in_order && fresh->found->number == last + 1 && fresh->place->path;
    last = fresh->found->number;
    told++;
    return told % 3 != 0;
}

TEST(it_goes_on_while_others_add)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    void *failed = NULL;
    start(false);
    told = last = 0;
    is_in_order = true;
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK_EQ(pthread_create(&threads[i], NULL, add_many, &numbers[i]), 0);
    }
    while (told < 1000)
        (void)weir__findings_fresh(findings, count, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], &failed), 0);
        CHECK(!failed);
    }
    while (weir__findings_fresh(findings, count, NULL)) {}
    weir__findings_finish(findings);
    CHECK(is_in_order);
    CHECK_EQ(told, weir__findings_count(findings));
    CHECK_EQ(told, ROUNDS / 2 + THREADS * ROUNDS / 2);
    end();
}

TAP_MAIN()
