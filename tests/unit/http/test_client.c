/* Tests of the HTTP client against a real server (server.py) that behaves badly on request. */
#include <stdio.h>
#include <stdlib.h>

#include <weir/breaker.h>
#include <weir/error.h>

#include "client.h"
#include "server_help.h"
#include "tap.h"

#define BODY_ROOM (1u << 20)

static unsigned port, other_port;
static struct weir__http_client *client;

/* What came of a call. */
static struct {
    char body[BODY_ROOM + 1];
    size_t length;
    unsigned heads, status;
    char note[64];
    int head_answer, body_answer;
    struct weir_cancel *fires;
} got;
static struct weir__http_outcome outcome;

static int on_head(void *arg, const struct weir__http_head *head)
{
    (void)arg;
    const char *note = weir__http_head_get(head, "x-note");
    got.heads++;
    got.status = head->status;
    snprintf(got.note, sizeof(got.note), "%s", note ? note : "");
    return got.head_answer;
}

static int on_body(void *arg, const char *bytes, size_t length)
{
    (void)arg;
    size_t room = BODY_ROOM - got.length;
    size_t kept = length < room ? length : room;
    memcpy(got.body + got.length, bytes, kept);
    got.length += kept;
    got.body[got.length] = '\0';
    if (got.fires)
        weir_cancel_fire(got.fires);
    return got.body_answer;
}

static const struct weir__http_hooks hooks = {.head = on_head, .body = on_body};

static void stop(void)
{
    weir__http_client_free(client);
    client = NULL;
}

static void start(const struct weir__http_client_options *options)
{
    const char *why = "";
    if (port == 0) {
        unsetenv("http_proxy");
        unsetenv("all_proxy");
        unsetenv("ALL_PROXY");
        port = start_server();
        other_port = start_server();
    }
    weir__http_client_free(client); /* of a test that failed */
    client = NULL;
    CHECK_EQ(weir__http_client_new(&client, options, &why), 0);
}

static const char *url_at(unsigned at, const char *rest)
{
    static char text[512];
    snprintf(text, sizeof(text), "http://127.0.0.1:%u%s", at, rest);
    return text;
}

/* The request, with the path put behind the server's address unless it is a URL. */
static int ask_by(struct weir__http_request *request, const struct weir_deadline *deadline)
{
    char url[4096];
    snprintf(url, sizeof(url), "%s",
             request->url[0] == '/' ? url_at(port, request->url) : request->url);
    request->url = url;
    got.length = 0;
    got.heads = got.status = 0;
    got.body[0] = '\0';
    int result = weir__http_do(client, request, &hooks, &outcome, deadline);
    CHECK(got.heads <= 1);
    CHECK((result < 0) == (outcome.problem[0] != '\0') || got.head_answer < 0 ||
          got.body_answer < 0);
    return result;
}

static int ask(struct weir__http_request *request)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    return ask_by(request, &deadline);
}

static int get(const char *path)
{
    struct weir__http_request request = {.url = path, .follows = true, .accepts_encoded = true};
    return ask(&request);
}

static unsigned count(const char *path)
{
    char text[256];
    snprintf(text, sizeof(text), "/count%s", path);
    CHECK_EQ(get(text), 0);
    return (unsigned)strtoul(got.body, NULL, 10);
}

TEST(an_answer)
{
    start(NULL);
    CHECK_EQ(get("/text/hello/world"), 0);
    CHECK_STR(got.body, "hello\nworld\n");
    CHECK_STR(got.note, "a note");
    CHECK_EQ(got.status, 200);
    CHECK_EQ(outcome.status, 200);
    CHECK_EQ(outcome.bytes, 12);
    CHECK_EQ(outcome.tries, 1);
    CHECK_EQ(get("/nothing"), 0);
    CHECK_EQ(got.status, 404);
    CHECK_STR(got.body, "nothing here\n");
    CHECK_EQ(weir__http_status_error(404), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__http_status_error(200), 0);
    CHECK_EQ(weir__http_client_connections(client), 1); /* kept, and used again */
    stop();
}

TEST(methods)
{
    static const struct weir__http_header headers[] = {{"X-One", "1"}, {"X-Two", ""}};
    start(NULL);
    struct weir__http_request put = {.method = WEIR__HTTP_PUT,
                                     .url = "/echo",
                                     .body = "a body",
                                     .body_length = 6,
                                     .headers = headers,
                                     .headers_count = 1};
    CHECK_EQ(ask(&put), 0);
    CHECK_HAS(got.body, "\"method\": \"PUT\"");
    CHECK_HAS(got.body, "\"body\": \"a body\"");
    CHECK_HAS(got.body, "\"x-one\": \"1\"");
    CHECK_HAS(got.body, "application/octet-stream");
    CHECK(!strstr(got.body, "expect"));
    struct weir__http_request post = {.method = WEIR__HTTP_POST, .url = "/echo"};
    CHECK_EQ(ask(&post), 0);
    CHECK_HAS(got.body, "\"method\": \"POST\"");
    CHECK_HAS(got.body, "\"body\": \"\"");
    struct weir__http_request gone = {.method = WEIR__HTTP_DELETE, .url = "/echo"};
    CHECK_EQ(ask(&gone), 0);
    CHECK_HAS(got.body, "\"method\": \"DELETE\"");
    CHECK_HAS(got.body, "\"body\": \"\"");
    gone.url = "/echo";
    gone.body = "why";
    gone.body_length = 3;
    CHECK_EQ(ask(&gone), 0);
    CHECK_HAS(got.body, "\"method\": \"DELETE\"");
    CHECK_HAS(got.body, "\"body\": \"why\"");
    struct weir__http_request head = {.method = WEIR__HTTP_HEAD, .url = "/text/x"};
    CHECK_EQ(ask(&head), 0);
    CHECK_EQ(got.length, 0);
    CHECK_STR(got.note, "a note");
    CHECK_EQ(get("/echo"), 0); /* nothing of the methods before is left */
    CHECK_HAS(got.body, "\"method\": \"GET\"");
    CHECK(!strstr(got.body, "content-type") && !strstr(got.body, "x-one"));
    stop();
}

TEST(tries)
{
    start(NULL);
    CHECK_EQ(get("/flaky/2/a/fine"), 0);
    CHECK_STR(got.body, "fine\n");
    CHECK_EQ(outcome.tries, 3);
    CHECK_EQ(get("/drop/1/b/fine"), 0);
    CHECK_STR(got.body, "fine\n");
    CHECK_EQ(get("/flaky/9/c/fine"), 0); /* the last answer is the answer */
    CHECK_EQ(got.status, 503);
    CHECK_EQ(outcome.tries, WEIR__HTTP_TRIES);
    CHECK_EQ(count("/flaky/9/c/fine"), WEIR__HTTP_TRIES);
    CHECK_EQ(get("/status/500"), 0);
    CHECK_EQ(outcome.tries, 1);
    stop();
    start(NULL); /* enough has failed for the breaker to open */
    struct weir__http_request post = {.method = WEIR__HTTP_POST, .url = "/flaky/1/d/fine"};
    CHECK_EQ(ask(&post), 0);
    CHECK_EQ(got.status, 503);
    post.is_repeatable = true;
    post.url = "/flaky/1/e/fine";
    CHECK_EQ(ask(&post), 0);
    CHECK_EQ(got.status, 200);
    stop();
}

TEST(retry_after)
{
    start(NULL);
    CHECK_EQ(get("/status/503/3600"), -WEIR_E_TRANSIENT); /* not within the deadline */
    CHECK_EQ(outcome.status, 503);
    CHECK_EQ(outcome.tries, 1);
    CHECK_EQ(got.heads, 0);
    CHECK_HAS(outcome.problem, "503");
    CHECK_EQ(get("/status/429/99999999"), -WEIR_E_BUSY);
    CHECK_EQ(get("/status/404/3600"), 0); /* nobody tries that again */
    stop();
}

/* It is told each time, at once, by whoever meets it. */
TEST(a_full_disk)
{
    start(NULL);
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(get("/status/507/1"), 0);
        CHECK_EQ(got.status, 507);
        CHECK_EQ(outcome.tries, 1);
        CHECK_HAS(got.body, "status 507");
    }
    CHECK_EQ(get("/text/there"), 0);
    stop();
}

TEST(redirects)
{
    char path[1024];
    start(NULL);
    CHECK_EQ(get("/redirect/3/text/there"), 0);
    CHECK_STR(got.body, "there\n");
    CHECK_EQ(outcome.redirects, 3);
    CHECK_EQ(get("/redirect/10/text/there"), 0);
    CHECK_EQ(get("/redirect/11/text/there"), -WEIR_E_UNSUPPORTED);
    CHECK_EQ(get("/loop"), -WEIR_E_UNSUPPORTED);
    CHECK_HAS(outcome.problem, "more than 10 times");
    CHECK_EQ(count("/loop"), 11);
    CHECK_EQ(get("/to?file:///etc/passwd"), -WEIR_E_UNSUPPORTED);
    CHECK_HAS(outcome.problem, "http");
    CHECK_EQ(get("/to?ftp://127.0.0.1/"), -WEIR_E_UNSUPPORTED);
    snprintf(path, sizeof(path), "/to?%s", url_at(other_port, "/text/far"));
    CHECK_EQ(get(path), 0);
    CHECK_STR(got.body, "far\n");
    struct weir__http_request plain = {.url = "/redirect/1/text/x"};
    CHECK_EQ(ask(&plain), 0);
    CHECK_EQ(got.status, 302);
    struct weir__http_request post = {
        .method = WEIR__HTTP_POST, .url = "/redirect/1/text/x", .follows = true};
    CHECK_EQ(ask(&post), 0);
    CHECK_EQ(got.status, 302);
    stop();
}

TEST(secrets_stay_at_their_origin)
{
    static const struct weir__http_header headers[] = {{"X-Key", "k"}};
    char url[2048], target[1024];
    start(NULL);
    snprintf(url, sizeof(url), "http://me:a%%20b@127.0.0.1:%u/redirect/1/echo", port);
    struct weir__http_request request = {
        .url = url, .headers = headers, .headers_count = 1, .follows = true};
    CHECK_EQ(ask(&request), 0);
    CHECK_HAS(got.body, "\"authorization\": \"Basic bWU6YSBi\"");
    CHECK_HAS(got.body, "x-key");
    snprintf(target, sizeof(target), "%s", url_at(other_port, "/echo"));
    snprintf(url, sizeof(url), "http://me:pw@127.0.0.1:%u/to?%s", port, target);
    request.url = url;
    CHECK_EQ(ask(&request), 0);
    CHECK_HAS(got.body, "\"method\": \"GET\"");
    CHECK(!strstr(got.body, "authorization") && !strstr(got.body, "x-key"));
    stop();
}

TEST(limits_of_a_body)
{
    start(NULL);
    struct weir__http_request request = {.url = "/endless/word", .body_max = 100000};
    CHECK_EQ(ask(&request), -WEIR_E_TOO_LARGE);
    CHECK_EQ(got.length, 100000);
    CHECK_EQ(outcome.bytes, 100000);
    CHECK_HAS(outcome.problem, "larger than 97.7 KiB");
    request.url = "/long/word";
    CHECK_EQ(ask(&request), -WEIR_E_TOO_LARGE);
    CHECK_EQ(got.length, 0);
    CHECK_EQ(got.heads, 0);
    request.url = "/text/12345678";
    request.body_max = 9;
    CHECK_EQ(ask(&request), 0); /* exactly as much */
    request.body_max = 8;
    request.url = "/text/12345678";
    CHECK_EQ(ask(&request), -WEIR_E_TOO_LARGE);
    request.url = "/gzip-bomb";
    request.accepts_encoded = true;
    request.body_max = 1000000;
    CHECK_EQ(ask(&request), -WEIR_E_TOO_LARGE);
    CHECK_EQ(got.length, 1000000);
    CHECK_EQ(get("/heads"), -WEIR_E_CORRUPT);
    CHECK_HAS(outcome.problem, "head");
    CHECK_EQ(get("/text/x"), 0); /* the client goes on */
    stop();
}

TEST(broken_answers)
{
    start(NULL);
    CHECK_EQ(get("/short/begin"), -WEIR_E_TRANSIENT);
    CHECK_STR(got.body, "begin\n");
    CHECK_EQ(outcome.tries, 1); /* what was handed out cannot be taken back */
    CHECK_EQ(get("/length/99999999999999999999999"), -WEIR_E_CORRUPT);
    CHECK_HAS(outcome.problem, "length");
    CHECK_EQ(get("/gzip/packed"), 0);
    CHECK_STR(got.body, "packed\n");
    CHECK_EQ(get("/gzip-bad/packed"), -WEIR_E_CORRUPT);
    CHECK_HAS(outcome.problem, "broken");
    CHECK_EQ(get("/gzip-short/packed"), -WEIR_E_CORRUPT);
    CHECK_HAS(outcome.problem, "ends early");
    CHECK_HAS(got.body, "packed\n0\n1\n4\n9\n");
    CHECK_EQ(get("/gzip-two/one/two/three"), 0);
    CHECK_STR(got.body, "one\ntwo\nthree\n");
    CHECK_EQ(get("/encoded/identity/word"), 0);
    CHECK_STR(got.body, "word\n");
    CHECK_EQ(get("/encoded/br/word"), -WEIR_E_UNSUPPORTED);
    CHECK_HAS(outcome.problem, "'br'");
    struct weir__http_request raw = {.url = "/encoded/br/word"};
    CHECK_EQ(ask(&raw), 0); /* who does not ask for it gets what is sent */
    CHECK_STR(got.body, "word\n");
    CHECK(get("/garbage") < 0);
    CHECK_EQ(got.length, 0);
    CHECK_EQ(get("/drop/9/x/y"), -WEIR_E_TRANSIENT);
    CHECK_EQ(outcome.tries, WEIR__HTTP_TRIES);
    stop();
}

TEST(hooks_decide)
{
    start(NULL);
    got.head_answer = 1;
    CHECK_EQ(get("/text/x"), 0);
    CHECK_EQ(got.length, 0);
    CHECK_EQ(get("/endless/x"), 0); /* cut off */
    got.head_answer = -WEIR_E_FORBIDDEN;
    CHECK_EQ(get("/text/x"), -WEIR_E_FORBIDDEN);
    got.head_answer = 0;
    got.body_answer = -WEIR_E_NO_SPACE;
    CHECK_EQ(get("/text/x"), -WEIR_E_NO_SPACE);
    got.body_answer = 0;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    char url[1024];
    snprintf(url, sizeof(url), "%s", url_at(port, "/text/x"));
    struct weir__http_request request = {.url = url};
    CHECK_EQ(weir__http_do(client, &request, NULL, &outcome, &deadline), 0);
    CHECK_EQ(outcome.bytes, 0);
    stop();
}

TEST(deadlines)
{
    struct weir__http_client_options impatient = {.stall_ns = 2 * WEIR_NS_PER_S};
    struct weir_deadline soon = weir_deadline_in(300 * WEIR_NS_PER_MS, NULL);
    struct weir__http_request request = {.url = "/silent"};
    start(NULL);
    CHECK_EQ(ask_by(&request, &soon), -WEIR_E_TIMEOUT);
    request.url = "/text/x";
    CHECK_EQ(ask_by(&request, &soon), -WEIR_E_TIMEOUT); /* it has passed */
    soon = weir_deadline_in(3 * WEIR_NS_PER_S, NULL);
    request.url = "/stall/x";
    CHECK_EQ(ask_by(&request, &soon), -WEIR_E_TIMEOUT);
    CHECK_STR(got.body, "x\n");
    struct weir_deadline never = {.at_ns = WEIR_NEVER};
    request.url = "/text/x";
    CHECK_EQ(ask_by(&request, &never), -WEIR_E_INVALID);
    request.url = "/text/x";
    CHECK_EQ(ask_by(&request, NULL), -WEIR_E_INVALID);
    stop();
    start(&impatient);
    CHECK_EQ(get("/stall/x"), -WEIR_E_TIMEOUT_READ);
    CHECK_EQ(outcome.tries, 1);
    request.url = "/silent";
    request.tries_max = 2;
    CHECK_EQ(ask(&request), -WEIR_E_TIMEOUT_READ);
    CHECK_EQ(outcome.tries, 2);
    stop();
}

TEST(canceling)
{
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    struct weir_deadline until = weir_deadline_until(&token);
    struct weir__http_request request = {.url = "/stall/x"};
    start(NULL);
    got.fires = &token;
    CHECK_EQ(ask_by(&request, &until), -WEIR_E_CANCELED);
    CHECK_STR(got.body, "x\n");
    request.url = "/text/x";
    CHECK_EQ(ask_by(&request, &until), -WEIR_E_CANCELED);
    CHECK_EQ(got.length, 0);
    got.fires = NULL;
    weir_cancel_fini(&token);
    stop();
}

/* The other side sees it, while the caller does nothing more. */
TEST(who_gives_up_is_gone)
{
    struct weir_cancel token;
    struct weir__http_request request = {.url = "/stall/first"};
    start(NULL);
    weir_cancel_init(&token, NULL);
    struct weir_deadline until = weir_deadline_until(&token);
    got.fires = &token;
    CHECK_EQ(ask_by(&request, &until), -WEIR_E_CANCELED);
    got.fires = NULL;
    CHECK_EQ(get("/gone/stall/first"), 0);
    CHECK_STR(got.body, "1");
    struct weir_deadline soon = weir_deadline_in(200 * WEIR_NS_PER_MS, NULL);
    request.url = "/stall/second";
    CHECK_EQ(ask_by(&request, &soon), -WEIR_E_TIMEOUT);
    CHECK_EQ(get("/gone/stall/second"), 0);
    CHECK_STR(got.body, "1");
    weir_cancel_fini(&token);
    stop();
}

static int count_ticks(void *arg, const char *bytes, size_t length)
{
    struct weir_cancel *token = arg;
    for (size_t i = 0; i < length; i++)
        got.heads += bytes[i] == '\n';
    if (got.heads >= 3)
        weir_cancel_fire(token);
    return 0;
}

/* A body for hours, whose pauses are longer than the client likes, until the token fires. */
TEST(a_body_that_goes_on)
{
    struct weir__http_client_options impatient = {.stall_ns = 300 * WEIR_NS_PER_MS};
    struct weir_cancel token;
    char url[1024];
    start(&impatient);
    snprintf(url, sizeof(url), "%s", url_at(port, "/ticks/3/700"));
    struct weir__http_request request = {.url = url, .body_max = UINT64_MAX};
    weir_cancel_init(&token, NULL);
    struct weir__http_hooks ticking = {.body = count_ticks, .arg = &token};
    struct weir_deadline until = weir_deadline_until(&token);
    got.heads = 0;
    CHECK_EQ(weir__http_do(client, &request, &ticking, &outcome, &until), -WEIR_E_TIMEOUT_READ);
    CHECK_EQ(got.heads, 1);
    request.stall_ns = WEIR_NEVER;
    got.heads = 0;
    CHECK_EQ(weir__http_do(client, &request, &ticking, &outcome, &until), -WEIR_E_CANCELED);
    CHECK_EQ(got.heads, 3);
    weir_cancel_fini(&token);
    stop();
    struct weir__http_client_options patient = {.stall_ns = WEIR_NEVER};
    start(&patient);
    CHECK_EQ(get("/text/x"), 0);
    stop();
}

TEST(a_body_that_is_enough)
{
    start(NULL);
    struct weir__http_request request = {.url = "/ticks/2/50", .quiet_ns = WEIR_NS_PER_S};
    CHECK_EQ(ask(&request), 0);
    CHECK_STR(got.body, "tick 0\ntick 1\n");
    CHECK(outcome.was_quiet);
    CHECK_EQ(get("/gone/ticks/2/50"), 0);
    CHECK_STR(got.body, "1");
    request.url = "/text/whole";
    CHECK_EQ(ask(&request), 0);
    CHECK(!outcome.was_quiet);
    /* Before the first byte it is not enough. */
    struct weir_deadline soon = weir_deadline_in(400 * WEIR_NS_PER_MS, NULL);
    request.url = "/ticks/0/0";
    request.quiet_ns = 50 * WEIR_NS_PER_MS;
    CHECK_EQ(ask_by(&request, &soon), -WEIR_E_TIMEOUT);
    CHECK(!outcome.was_quiet);
    stop();
}

TEST(reach)
{
    static const char *const home[] = {"10.0.0.0/8", "127.0.0.1"};
    struct weir__reach closed, open;
    char url[64];
    CHECK_EQ(weir__reach_init(&closed, NULL, 0), 0);
    CHECK_EQ(weir__reach_init(&open, home, 2), 0);
    struct weir__http_client_options options = {.reach = &closed};
    start(&options);
    CHECK_EQ(get("/text/near"), -WEIR_E_FORBIDDEN);
    CHECK_STR(outcome.problem, "its address 127.0.0.1 is not one that may be connected to");
    CHECK_EQ(outcome.tries, 1);
    snprintf(url, sizeof(url), "http://localhost:%u/text/near", port);
    CHECK_EQ(get(url), -WEIR_E_FORBIDDEN); /* by what the name means */
    snprintf(url, sizeof(url), "http://[::ffff:127.0.0.1]:%u/text/near", port);
    CHECK_EQ(get(url), -WEIR_E_FORBIDDEN);
    snprintf(url, sizeof(url), "http://0.0.0.0:%u/text/near", port);
    CHECK_EQ(get(url), -WEIR_E_FORBIDDEN);
    CHECK_EQ(weir__http_client_connections(client), 0);
    stop();
    options.reach = &open;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    start(&options);
    CHECK_EQ(get("/text/near"), 0);
    CHECK_STR(got.body, "near\n");
    snprintf(url, sizeof(url), "http://127.0.0.2:%u/text/near", port);
    CHECK_EQ(get(url), -WEIR_E_FORBIDDEN);
    char path[128];
    snprintf(path, sizeof(path), "/to?http://127.0.0.2:%u/text/near", port);
    CHECK_EQ(get(path), -WEIR_E_FORBIDDEN); /* also where it is led to */
    stop();
    start(NULL);
    CHECK_EQ(get("/text/near"), -WEIR_E_TRANSIENT); /* the proxy is not there */
    stop();
    struct weir__http_client_options direct = {.has_no_proxy = true};
    start(&direct);
    CHECK_EQ(get("/text/near"), 0);
    stop();
    unsetenv("http_proxy");
}

static int ask_inside(void *arg, const char *bytes, size_t length)
{
    (void)bytes, (void)length;
    struct weir__http_outcome inner;
    struct weir_deadline soon = weir_deadline_in(100 * WEIR_NS_PER_MS, NULL);
    struct weir__http_request request = {.url = arg};
    int result = weir__http_do(client, &request, NULL, &inner, &soon);
    CHECK_HAS(inner.problem, "no connection is free");
    return result;
}

TEST(connections_are_bounded)
{
    struct weir__http_client_options one = {.connections_max = 1};
    char url[1024];
    start(&one);
    snprintf(url, sizeof(url), "%s", url_at(port, "/text/x"));
    struct weir__http_hooks inside = {.body = ask_inside, .arg = url};
    struct weir__http_request request = {.url = url};
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__http_do(client, &request, &inside, &outcome, &deadline), -WEIR_E_TIMEOUT);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(get("/text/x"), 0);
    /* One for the call that was broken off, one for all others. */
    CHECK_EQ(weir__http_client_connections(client), 2);
    stop();
}

static int ask_beside(void *arg, const char *bytes, size_t length)
{
    (void)bytes, (void)length;
    struct weir__http_outcome inner;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__http_request request = {.url = arg};
    return weir__http_do(client, &request, NULL, &inner, &deadline);
}

/* Two at once have two connections, and both are used again. */
TEST(connections_are_kept)
{
    char url[1024];
    start(NULL);
    snprintf(url, sizeof(url), "%s", url_at(port, "/text/x"));
    struct weir__http_hooks beside = {.body = ask_beside, .arg = url};
    struct weir__http_request request = {.url = url};
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(weir__http_do(client, &request, &beside, &outcome, &deadline), 0);
    CHECK_EQ(weir__http_client_connections(client), 2);
    stop();
}

TEST(a_dead_host_is_left_alone)
{
    char url[64];
    start(NULL);
    struct weir__http_request request = {.url = url, .tries_max = 1};
    for (unsigned i = 0; i < WEIR_BREAKER_CALLS_MIN_DEFAULT; i++) {
        snprintf(url, sizeof(url), "http://127.0.0.1:1/%u", i);
        request.url = url;
        CHECK_EQ(ask(&request), -WEIR_E_TRANSIENT);
    }
    request.url = url;
    CHECK_EQ(ask(&request), -WEIR_E_BREAKER_OPEN);
    CHECK_HAS(outcome.problem, "127.0.0.1");
    CHECK_EQ(get("/text/x"), 0); /* others are not */
    stop();
}

/* Somebody else has a breaker for it, and wants to know each time. */
TEST(no_breaker)
{
    struct weir__http_client_options options = {.has_no_breaker = true};
    start(&options);
    for (unsigned i = 0; i < 3 * WEIR_BREAKER_CALLS_MIN_DEFAULT; i++) {
        struct weir__http_request request = {.url = "http://127.0.0.1:1/", .tries_max = 1};
        CHECK_EQ(ask(&request), -WEIR_E_TRANSIENT);
        CHECK_EQ(outcome.tries, 1);
    }
    stop();
}

/* More hosts than the table has room for. */
TEST(many_hosts)
{
    struct weir__http_client_options one = {.connections_max = 1};
    char url[64];
    start(&one);
    for (unsigned i = 1; i <= 12; i++) {
        snprintf(url, sizeof(url), "http://127.0.0.%u:%u/text/x", i, port);
        struct weir__http_request request = {.url = url, .tries_max = 1};
        int result = ask(&request); /* the server listens at the first alone */
        CHECK(i == 1 ? result == 0 : result == -WEIR_E_TRANSIENT);
    }
    CHECK_EQ(get("/text/x"), 0);
    stop();
}

TEST(bad_requests)
{
    static const struct weir__http_header bad[] = {
        {"X-A", "a\r\nX-B: b"}, {"X A", "a"}, {"", "a"}, {"X:", "a"}, {"X\n", ""}};
    struct weir__http_client_options too_many = {.connections_max = WEIR__HTTP_CONNECTIONS_MAX + 1};
    struct weir__http_client *none = NULL;
    const char *why = NULL;
    start(NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct weir__http_request request = {
            .url = "/text/x", .headers = &bad[i], .headers_count = 1};
        CHECK_EQ(ask(&request), -WEIR_E_INVALID);
    }
    CHECK_EQ(get("http://me:pw@/"), -WEIR_E_INVALID);
    CHECK(!strstr(outcome.problem, "pw"));
    CHECK_EQ(get("ftp://127.0.0.1/"), -WEIR_E_INVALID);
    struct weir__http_request large = {.method = WEIR__HTTP_PUT,
                                       .url = "/echo",
                                       .body = "x",
                                       .body_length = WEIR__HTTP_SENT_MAX + 1};
    CHECK_EQ(ask(&large), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir__http_client_new(&none, &too_many, &why), -WEIR_E_INVALID);
    CHECK(!none && why);
    weir__http_client_free(NULL);
    stop();
}

TAP_MAIN()
