/* Limits, deadlines, draining: who is refused is told, who is slow is ended, and both are counted.
 * Times are short here and nothing is measured: tests wait for what must come. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include "serving.h"

#define MS (WEIR_NS_PER_S / 1000)

static void check_answer(int fd, int status, const char *part)
{
    struct answer answer = hear_all(fd);
    if (answer.status != status)
        tap_fail(__FILE__, __LINE__, "%d instead of %d: %s", answer.status, status,
                 answer.text ? answer.text : "");
    if (part)
        CHECK_HAS(answer.text, part);
    answer_free(&answer);
    close(fd);
}

#define FDS_MAX 1024

/* The port of this end, or of the other one; -1: it is no connection. */
static int port_of(int fd, bool is_other)
{
    struct sockaddr_in at = {0};
    socklen_t size = sizeof(at);
    struct sockaddr *name = (struct sockaddr *)&at;
    int result = is_other ? getpeername(fd, name, &size) : getsockname(fd, name, &size);
    return result == 0 && at.sin_family == AF_INET ? at.sin_port : -1;
}

/* The server's end of this connection: it is in this process, too. */
static int other_end(int fd)
{
    for (int other = 0; other < FDS_MAX; other++)
        if (port_of(other, true) == port_of(fd, false))
            return other;
    tap_fail(__FILE__, __LINE__, "there is no other end");
    return -1;
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);
    CHECK_EQ(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

/* What the kernel makes of a backlog that it is given. */
static unsigned most_backlog(unsigned wanted)
{
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    unsigned most = wanted;
    CHECK(file && fscanf(file, "%u", &most) == 1);
    fclose(file);
    return wanted < most ? wanted : most;
}

/* A request on a connection that stays. */
static void check_kept(int fd, const char *request, const char *body)
{
    say(fd, request);
    struct answer answer = hear_one(fd, false);
    CHECK_STR(answer.body, body);
    answer_free(&answer);
}

TEST(sockets_are_set_up_for_many_and_for_short_answers)
{
    unsigned listening = 0;
    serving_start(NULL);
    int fd = dial();
    check_kept(fd, KEEP("/hello"), "hello\n");
    int other = other_end(fd);
    CHECK_EQ(option_of(other, IPPROTO_TCP, TCP_NODELAY), 1);
    CHECK_EQ(option_of(other, SOL_SOCKET, SO_KEEPALIVE), 1);
    CHECK_EQ(option_of(other, IPPROTO_TCP, TCP_KEEPIDLE), 60);
    for (int i = 0; i < FDS_MAX; i++) {
        struct tcp_info info = {0};
        socklen_t size = sizeof(info);
        if (port_of(i, false) != port_of(fd, true) || i == other)
            continue;
        CHECK_EQ(option_of(i, SOL_SOCKET, SO_ACCEPTCONN), 1);
        CHECK_EQ(getsockopt(i, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
        CHECK_EQ(info.tcpi_sacked, most_backlog(4096)); /* of one that listens: its backlog */
        listening++;
    }
    CHECK_EQ(listening, 1);
    close(fd);
    serving_end();
}

TEST(connections_of_one_address_are_capped_and_told)
{
    const struct weir__server_options options = {.limits.per_address_max = 3};
    int fds[3];
    serving_start(&options);
    for (int i = 0; i < 3; i++) {
        fds[i] = dial();
        check_kept(fds[i], KEEP("/hello"), "hello\n");
    }
    int fd = dial();
    say(fd, GET("/hello")); /* it talks, and is told all the same */
    check_answer(fd, 429, "\r\nRetry-After: 1\r\n");
    check_answer(dial(), 429, "\"Busy\""); /* without a word of its own */
    SERVING_AWAIT(serving_stats().refused[WEIR__REFUSED_ADDRESS] == 2);
    fd = dial_from("127.0.0.2"); /* another address */
    check_kept(fd, KEEP("/hello"), "hello\n");
    close(fd);
    close(fds[0]);
    SERVING_AWAIT(serving_stats().closed == 4);
    fd = dial();
    check_kept(fd, KEEP("/hello"), "hello\n");
    close(fd);
    close(fds[1]);
    close(fds[2]);
    serving_end();
}

TEST(connections_in_all_are_capped_and_told)
{
    const struct weir__server_options options = {.limits.connections_max = 2};
    serving_start(&options);
    int a = dial(), b = dial();
    check_kept(a, KEEP("/hello"), "hello\n");
    check_kept(b, KEEP("/hello"), "hello\n");
    check_answer(dial(), 429, "\r\nRetry-After: 1\r\n");
    SERVING_AWAIT(serving_stats().refused[WEIR__REFUSED_CONNECTIONS] == 1);
    check_kept(a, KEEP("/hello"), "hello\n");
    close(a);
    close(b);
    serving_end();
}

TEST(proxies_are_trusted_as_far_as_they_are_known)
{
    static const char *const trusted[] = {"127.0.0.0/8", "10.0.0.0/8", "fd00::/8"};
    static const struct {
        const char *headers, *client; /* NULL: 400 */
    } cases[] = {
        {"X-Forwarded-For: 1.2.3.4\r\n", "1.2.3.4"},
        {"X-Forwarded-For: 6.6.6.6, 1.2.3.4, 10.1.1.1\r\n", "1.2.3.4"},
        {"X-Forwarded-For: 1.2.3.4:80,fd00::1\r\n", "1.2.3.4"},
        {"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 10.0.0.1\r\n", "1.2.3.4"},
        {"X-Forwarded-For: [2001:db8::1]:80\r\n", "2001:db8::1"},
        {"X-Forwarded-For: 10.0.0.1, 10.0.0.2\r\n", "10.0.0.1"},
        {"X-Forwarded-For: unknown\r\n", NULL},
        {"X-Forwarded-For: 1.2.3.4,\r\n", NULL},
        {"X-Forwarded-For: \r\n", NULL},
        {"X-Forwarded-For: 1.2.3.4:99999\r\n", NULL},
        {"X-Forwarded-For: 1.2.3.4, evil, 10.0.0.1\r\n", NULL},
    };
    const struct weir__server_options options = {
        .trusted = trusted, .trusted_count = 3, .limits.per_address_max = 1};
    char request[512];
    serving_start(&options);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(request, sizeof(request),
                 "GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", cases[i].headers);
        struct answer answer = ask(request);
        CHECK_EQ(answer.status, cases[i].client ? 200 : 400);
        if (cases[i].client)
            CHECK_STR(answer.body, cases[i].client);
        answer_free(&answer);
    }
    /* No cap for the proxy. */
    int a = dial(), b = dial();
    check_kept(a, KEEP("/hello"), "hello\n");
    check_kept(b, KEEP("/hello"), "hello\n");
    close(a);
    close(b);
    serving_end();
    /* Nobody is trusted: what it says does not count. */
    serving_start(NULL);
    struct answer answer = ask(
        "GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n");
    CHECK_HAS(answer.body, "127.0.0.1:");
    answer_free(&answer);
    serving_end();
}

TEST(bodies_in_memory_have_one_budget)
{
    const struct weir__server_options options = {
        .limits = {.body_memory = 100000, .body_max = 60000}};
    serving_start(&options);
    int a = dial();
    say(a, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
    SERVING_AWAIT(serving_stats().requests == 1);
    int b = dial();
    say(b, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
    check_answer(b, 429, "\r\nRetry-After: 1\r\n");
    b = dial(); /* one that grows into the limit */
    say(b, "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n8000\r\n");
    say_bytes(b, serving.large, 0x8000);
    say(b, "\r\n4000\r\n");
    say_bytes(b, serving.large, 0x4000);
    check_answer(b, 429, "\"Busy\"");
    SERVING_AWAIT(serving_stats().refused[WEIR__REFUSED_BODIES] == 2);
    say_bytes(a, serving.large, 60000);
    struct answer answer = hear_one(a, false);
    CHECK_EQ(answer.body_length, 60000);
    answer_free(&answer);
    say(a, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
    say_bytes(a, serving.large, 60000);
    answer = hear_one(a, false);
    CHECK_EQ(answer.status, 200);
    answer_free(&answer);
    close(a);
    serving_end();
}

/* Two loops tell 16 in a fifth of a second, and others a fifth later; so 150 one after the other
 * cannot be told in less than four fifths. */
TEST(who_asks_again_at_once_is_told_later)
{
    const struct weir__server_options options = {
        .limits = {.body_memory = (8u << 20) + 1000, .body_max = 8u << 20}};
    serving_start(&options);
    int a = dial(); /* has sent so much that it is not slow for a long time */
    say(a, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n");
    say_bytes(a, serving.large, (8u << 20) - 1);
    SERVING_AWAIT(serving_stats().bytes_in >= (8u << 20) - 1);
    uint64_t begin_ns = weir_now_ns();
    for (int i = 0; i < 150; i++) {
        int fd = dial();
        say(fd, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
        check_answer(fd, 429, "\r\nRetry-After: 1\r\n");
    }
    CHECK(weir_now_ns() - begin_ns >= 800 * MS);
    say_bytes(a, serving.large, 1);
    struct answer answer = hear_one(a, false);
    CHECK_EQ(answer.body_length, 8u << 20);
    answer_free(&answer);
    close(a);
    serving_end();
}

TEST(without_descriptors_clients_are_told)
{
    struct rlimit old, few;
    serving_start(NULL);
    int fd = dial();
    check_kept(fd, KEEP("/hello"), "hello\n");
    int one = dial(); /* the client's end needs one, the server's has none */
    check_kept(one, KEEP("/hello"), "hello\n");
    int next = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = (rlim_t)next + 1;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(weir__server_address(serving.server, 0), ':') + 1));
    CHECK_EQ(connect(next, (struct sockaddr *)&at, sizeof(at)), 0);
    struct answer answer = hear_all(next);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    CHECK_EQ(answer.status, 503);
    answer_free(&answer);
    close(next);
    SERVING_AWAIT(serving_stats().refused[WEIR__REFUSED_DESCRIPTORS] == 1);
    check_kept(fd, KEEP("/hello"), "hello\n");
    next = dial();
    check_kept(next, KEEP("/hello"), "hello\n");
    close(next);
    close(one);
    close(fd);
    serving_end();
}

/* --- deadlines --- */

TEST(slow_heads_and_bodies_are_told)
{
    const struct weir__server_options options = {.limits.read_ns = 50 * MS};
    serving_start(&options);
    int fd = dial();
    say(fd, "GET /hello HTTP/1.1\r\nHos");
    check_answer(fd, 408, "\"TimeoutRead\"");
    SERVING_AWAIT(serving_stats().timeouts[WEIR__OP_READ] == 1);
    fd = dial();
    say(fd, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc");
    check_answer(fd, 408, "\"TimeoutRead\"");
    CHECK_EQ(serving_ended().status, 408);
    fd = dial();
    say(fd, "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc");
    check_answer(fd, 408, "\"TimeoutRead\"");
    SERVING_AWAIT(serving_stats().timeouts[WEIR__OP_READ] == 3);
    serving_end();
}

/* A head that trickles does not live on by trickling. */
TEST(trickling_heads_end)
{
    const struct weir__server_options options = {.limits.read_ns = 100 * MS};
    serving_start(&options);
    int fd = dial();
    say(fd, "GET /hello HTTP/1.1\r\nX: ");
    while (serving_stats().timeouts[WEIR__OP_READ] == 0) {
        struct weir_deadline tick = weir_deadline_in(5 * MS, NULL);
        weir_deadline_sleep(&tick);
        say(fd, "x");
    }
    check_answer(fd, 408, NULL);
    serving_end();
}

TEST(bodies_have_a_least_rate)
{
    const struct weir__server_options options = {
        .limits = {.rate_min = 1 << 20, .rate_grace_ns = 1000 * MS}};
    serving_start(&options);
    int fd = dial();
    say(fd, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    while (serving_stats().timeouts[WEIR__OP_READ] == 0) {
        struct weir_deadline tick = weir_deadline_in(20 * MS, NULL);
        weir_deadline_sleep(&tick);
        say(fd, "x");
    }
    check_answer(fd, 408, "too slowly");
    serving_end();
}

TEST(idle_connections_are_closed)
{
    const struct weir__server_options options = {.limits.idle_ns = 50 * MS};
    serving_start(&options);
    int fd = dial();
    check_kept(fd, KEEP("/hello"), "hello\n");
    check_answer(fd, 0, NULL);
    check_answer(dial(), 0, NULL); /* it never said anything */
    SERVING_AWAIT(serving_stats().timeouts[WEIR__OP_IDLE] == 2);
    /* Who waits for the handler is not idle. */
    fd = dial();
    say(fd, GET("/hold"));
    struct weir__exchange *x = serving_held();
    check_answer(dial(), 0, NULL); /* another one, that came later */
    weir__exchange_post(x);
    check_answer(fd, 200, "later\n");
    serving_end();
}

TEST(readers_that_do_not_read_are_cut)
{
    const struct weir__server_options options = {.limits.write_ns = 50 * MS};
    serving_start(&options);
    int fd = dial();
    say(fd, GET("/large?8388608"));
    SERVING_AWAIT(serving_stats().timeouts[WEIR__OP_WRITE] == 1);
    CHECK(!serving_ended().is_whole);
    /* What was on its way to it is thrown away: nothing of it stays in the kernel. */
    char bytes[65536];
    ssize_t got;
    uint64_t all = 0;
    while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        all += (uint64_t)got;
    CHECK_EQ(got, -1);
    CHECK_EQ(errno, ECONNRESET);
    CHECK(all < 8388608);
    close(fd);
    fd = dial();
    say(fd, GET("/file?0-3145728"));
    struct answer answer = hear_all(fd);
    CHECK_EQ(answer.body_length, 3145728);
    answer_free(&answer);
    close(fd);
    serving_end();
}

TEST(limits_change_while_it_runs)
{
    struct weir__server_limits limits = {.url_max = 10, .body_max = 5};
    serving_start(NULL);
    int fd = dial();
    check_kept(fd, KEEP("/path/long?query"), "/path/long|query|x");
    CHECK_EQ(weir__server_update(serving.server, &limits), 0);
    SERVING_AWAIT(({
        struct answer answer = ask(GET("/path/long?query"));
        int status = answer.status;
        answer_free(&answer);
        status == 414;
    }));
    close(fd);
    limits.head_max = 10;
    CHECK_EQ(weir__server_update(serving.server, &limits), -WEIR_E_INVALID);
    limits.head_max = 1 << 20;
    CHECK_EQ(weir__server_update(serving.server, &limits), -WEIR_E_INVALID);
    serving_end();
}

/* --- draining --- */

static int drain_fully(struct weir_crew_self *self, void *arg)
{
    const struct weir_deadline deadline = weir_deadline_in(serving_wait_ns, NULL);
    (void)self;
    *(int *)arg = weir__server_drain(serving.server, &deadline);
    return 0;
}

/* Until the only loop tells newcomers so. */
static void await_drain(void)
{
    int status;
    do {
        int fd = dial();
        say(fd, KEEP("/later"));
        struct answer answer = hear_one(fd, false);
        status = answer.status;
        answer_free(&answer);
        close(fd);
    } while (status != 503);
}

TEST(draining_lets_work_end_and_tells_newcomers)
{
    const struct weir__server_options options = {.loops = 1};
    struct weir_crew *crew;
    int result = 1;
    serving_start(&options);
    int idle = dial(), busy = dial(), silent = dial();
    check_kept(idle, KEEP("/hello"), "hello\n");
    say(busy, KEEP("/hold"));
    struct weir__exchange *x = serving_held();
    SERVING_AWAIT(serving_stats().accepted == 3);
    CHECK_EQ(weir_crew_new(&crew, "drainer", NULL), 0);
    CHECK_EQ(weir_crew_start(crew, "drain", drain_fully, &result), 0);
    await_drain();
    say(silent, KEEP("/later")); /* it had said nothing: its request was on its way */
    check_answer(silent, 503, "\r\nConnection: close\r\n");
    check_answer(idle, 0, NULL); /* closed in a moment */
    int fd = dial();
    say(fd, KEEP("/later"));
    check_answer(fd, 503, "\r\nConnection: close\r\n");
    fd = dial();
    say(fd, KEEP("/hello")); /* as /healthz would be */
    check_answer(fd, 200, "\r\nConnection: close\r\n");
    weir__exchange_post(x);
    check_answer(busy, 200, "\r\nConnection: close\r\n");
    const struct weir_deadline deadline = weir_deadline_in(serving_wait_ns, NULL);
    CHECK_EQ(weir_crew_wait(crew, &deadline), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(serving_stats().cut, 0);
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
    serving_end();
}

/* Who comes to a drain is told, and neither holds it up nor counts as cut. */
TEST(newcomers_do_not_hold_a_drain_up)
{
    const struct weir__server_options options = {.loops = 1};
    struct weir_crew *crew;
    int result = 1;
    serving_start(&options);
    int busy = dial();
    say(busy, KEEP("/hold"));
    struct weir__exchange *x = serving_held();
    CHECK_EQ(weir_crew_new(&crew, "drainer", NULL), 0);
    CHECK_EQ(weir_crew_start(crew, "drain", drain_fully, &result), 0);
    await_drain();
    uint64_t accepted = serving_stats().accepted;
    int silent = dial(), half = dial();
    say(half, "GET /hel");
    SERVING_AWAIT(serving_stats().accepted >= accepted + 2);
    weir__exchange_post(x);
    check_answer(busy, 200, "\r\nConnection: close\r\n");
    const struct weir_deadline deadline = weir_deadline_in(serving_wait_ns, NULL);
    CHECK_EQ(weir_crew_wait(crew, &deadline), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(serving_stats().cut, 0);
    CHECK_EQ(serving_stats().timeouts[WEIR__OP_READ], 0); /* it was not waited for as long */
    check_answer(silent, 503, "\"Draining\"");
    check_answer(half, 503, "\"Draining\"");
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
    serving_end();
}

/* The status of one who was served before, and asks again when the drain has begun. */
static int ask_in_a_drain(void)
{
    const struct weir__server_options options = {.loops = 1};
    struct weir_crew *crew;
    int result = 1;
    serving_start(&options);
    int busy = dial(), fd = dial();
    say(busy, KEEP("/hold"));
    struct weir__exchange *x = serving_held();
    check_kept(fd, KEEP("/hello"), "hello\n");
    CHECK_EQ(weir_crew_new(&crew, "drainer", NULL), 0);
    CHECK_EQ(weir_crew_start(crew, "drain", drain_fully, &result), 0);
    await_drain();
    ssize_t sent = send(fd, KEEP("/later"), strlen(KEEP("/later")), MSG_NOSIGNAL);
    struct answer answer = {0};
    if (sent > 0)
        answer = hear_all(fd);
    int status = answer.status;
    answer_free(&answer);
    close(fd);
    weir__exchange_post(x);
    check_answer(busy, 200, NULL);
    const struct weir_deadline deadline = weir_deadline_in(serving_wait_ns, NULL);
    CHECK_EQ(weir_crew_wait(crew, &deadline), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
    serving_end();
    return status;
}

/* His request may have been on its way. He has a quarter of a second, which a busy machine can take
 * from this test, but not every time. */
TEST(who_was_served_may_ask_once_more_in_a_drain)
{
    int status = 0;
    for (int i = 0; i < 50 && status != 503; i++)
        status = ask_in_a_drain();
    CHECK_EQ(status, 503);
}

static int post_when_cancelled(struct weir_crew_self *self, void *arg)
{
    struct weir__exchange *x = arg;
    struct weir_deadline deadline = weir__exchange_deadline(x);
    (void)self;
    weir_deadline_sleep(&deadline);
    weir__exchange_post(x);
    return 0;
}

TEST(what_does_not_end_in_time_is_cut)
{
    serving_start(NULL);
    int fd = dial(), other = dial();
    say(fd, KEEP("/hold"));
    struct weir__exchange *x = serving_held();
    CHECK_EQ(weir_crew_start(serving.crew, "holder", post_when_cancelled, x), 0);
    say(other, "GET /hel"); /* half a request */
    SERVING_AWAIT(serving_stats().accepted == 2);
    CHECK_EQ(serving_drain(20 * MS), -WEIR_E_TIMEOUT);
    CHECK_EQ(serving_stats().cut, 2);
    CHECK_EQ(serving_stats().drained, 0);
    CHECK(!serving_ended().is_whole);
    check_answer(fd, 0, NULL);
    check_answer(other, 503, "\"Draining\""); /* nothing was begun for him: he may be told */
    serving_end();
}

static void free_running(void *arg)
{
    (void)arg;
    serving_start(NULL);
    weir__server_free(serving.server);
}

/* Ending it is a call of its own; freeing it waits for nobody. */
TEST(freeing_a_running_server_is_named)
{
    weir__server_free(NULL);
    CHECK(tap_dies(free_running, NULL, "server 'weir': its loops run still"));
}

TEST(options_are_checked)
{
    static const char *const trusted[] = {"10.0.0.0/33"};
    const struct weir__server_options bad[] = {
        {.loops = 65},
        {.trusted = trusted, .trusted_count = 1},
        {.limits.head_max = 100},
        {.limits.headers_max = 65},
        {.limits.url_max = 20000},
        {.limits.body_max = UINT64_C(1) << 40},
        {.limits.idle_ns = 100000 * WEIR_NS_PER_S},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct weir__server *server;
        const char *why = "";
        CHECK_EQ(weir__server_new(&server, &bad[i], &why), -WEIR_E_INVALID);
        CHECK(why[0]);
    }
}

TAP_MAIN()
