/* Requests and answers, over real sockets. */
#include <fcntl.h>
#include <sys/stat.h>

#include "serving.h"

/* One request, its status and the text that its body has. */
static void check_ask(const char *request, int status, const char *body)
{
    struct answer answer = ask(request);
    if (answer.status != status)
        tap_fail(__FILE__, __LINE__, "%.60s: %d instead of %d", request, answer.status, status);
    if (body)
        CHECK_STR(answer.body, body);
    if (status != 0)
        CHECK_HAS(answer.text, "\r\nX-Corr-ID: ");
    answer_free(&answer);
}

TEST(answers_from_memory)
{
    serving_start(NULL);
    struct answer answer = ask(GET("/hello"));
    CHECK_EQ(answer.status, 200);
    CHECK_STR(answer.body, "hello\n");
    CHECK_HAS(answer.text, "HTTP/1.1 200 OK\r\nServer: weir\r\nDate: ");
    CHECK_HAS(answer.text, " GMT\r\n");
    CHECK_HAS(answer.text, "\r\nContent-Length: 6\r\nConnection: close\r\n\r\n");
    answer_free(&answer);
    check_ask(GET("/none"), 404, NULL);
    check_ask(GET("/path/a%20b?c=d"), 200, "/path/a b|c=d|x");
    check_ask(GET("http://y:1/path"), 200, "/path||y:1");
    serving_end();
}

TEST(connections_are_kept_as_the_versions_say)
{
    serving_start(NULL);
    int fd = dial();
    for (int i = 0; i < 50; i++) {
        say(fd, KEEP("/hello"));
        struct answer answer = hear_one(fd, false);
        CHECK_STR(answer.body, "hello\n");
        CHECK(!strstr(answer.text, "Connection:"));
        answer_free(&answer);
    }
    close(fd);
    fd = dial();
    for (int i = 0; i < 3; i++) {
        say(fd, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        struct answer answer = hear_one(fd, false);
        CHECK_HAS(answer.text, "Connection: keep-alive\r\n");
        answer_free(&answer);
    }
    say(fd, "GET /hello HTTP/1.0\r\n\r\n");
    struct answer answer = hear_all(fd);
    CHECK_HAS(answer.text, "Connection: close\r\n");
    answer_free(&answer);
    close(fd);
    SERVING_AWAIT(serving_stats().open == 0);
    CHECK_EQ(serving_stats().requests, 54);
    CHECK_EQ(serving_stats().responses[2], 54);
    CHECK_EQ(serving_stats().accepted, 2);
    serving_end();
}

TEST(requests_split_at_every_byte_are_answered)
{
    static const char request[] =
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nT: u\r\n\r\n"
        "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    serving_start(NULL);
    for (size_t cut = 1; cut < sizeof(request) - 1; cut++) {
        int fd = dial();
        say_bytes(fd, request, cut);
        /* The first part has been read when the server has counted it. */
        uint64_t wanted = (sizeof(request) - 1) * (cut - 1) + cut;
        SERVING_AWAIT(serving_stats().bytes_in >= wanted ||
                      serving_stats().requests > 3 * (cut - 1));
        say_bytes(fd, request + cut, sizeof(request) - 1 - cut);
        static const char *const bodies[] = {"hello!", "abc", "hello\n"};
        for (int i = 0; i < 3; i++) {
            struct answer answer = hear_one(fd, false);
            CHECK_STR(answer.body, bodies[i]);
            answer_free(&answer);
        }
        close(fd);
        SERVING_AWAIT(serving_stats().bytes_in == (sizeof(request) - 1) * cut);
    }
    serving_end();
}

TEST(pipelined_requests_are_answered_in_order)
{
    enum { COUNT = 200 };
    serving_start(NULL);
    int fd = dial();
    char text[128];
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof(text), "GET /path/%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
        say(fd, i % 3 == 1 ? KEEP("/later") : i % 3 == 2 ? KEEP("/stream?0") : text);
        if (i % 3 == 2)
            say(fd, KEEP("/hello"));
    }
    for (int i = 0; i < COUNT; i++) {
        struct answer answer = hear_one(fd, false);
        snprintf(text, sizeof(text), "/path/%d||x", i);
        if (i % 3 == 2) { /* an empty stream, then a plain answer */
            CHECK_HAS(answer.text, "chunked");
            char end[6] = "";
            CHECK_EQ(recv(fd, end, 5, MSG_WAITALL), 5);
            CHECK_STR(end, "0\r\n\r\n");
            answer_free(&answer);
            answer = hear_one(fd, false);
        }
        CHECK_STR(answer.body, i % 3 == 1 ? "later\n" : i % 3 == 2 ? "hello\n" : text);
        answer_free(&answer);
    }
    close(fd);
    serving_end();
}

/* A few of what test_head.c has, over the wire: told, closed, counted, and nobody else is hurt. */
TEST(hostile_requests_are_told_and_end_their_connections)
{
    static char large[70000];
    static const struct {
        int status;
        const char *request;
    } cases[] = {
        {400, "GET / HTTP/1.1\r\n\r\n" KEEP("/hello")},
        {400, "GET / HTTP/1.1\r\nHost: x\r\nX: a\nY: b\r\n\r\n" KEEP("/hello")},
        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
              "chunked\r\n\r\n0\r\n\r\n" KEEP("/hello")},
        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nX:\rTransfer-Encoding: chunked\r\n\r\n"},
        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n"},
        {400, KEEP("/a/%2e%2e/b") KEEP("/hello")},
        {501, "BREW / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"},
        {431, large},
    };
    int at = snprintf(large, sizeof(large), "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    memset(large + at, 'x', 65536);
    serving_start(NULL);
    int other = dial();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer answer = ask(cases[i].request);
        if (answer.status != cases[i].status)
            tap_fail(__FILE__, __LINE__, "%zu: %d instead of %d", i, answer.status,
                     cases[i].status);
        CHECK_HAS(answer.text, "\r\nConnection: close\r\n");
        CHECK(!strstr(answer.body, "\nHTTP/1.1"));
        answer_free(&answer);
        say(other, KEEP("/hello"));
        answer = hear_one(other, false);
        CHECK_EQ(answer.status, 200);
        answer_free(&answer);
    }
    SERVING_AWAIT(serving_stats().malformed == sizeof(cases) / sizeof(cases[0]));
    close(other);
    serving_end();
}

/* --- bodies --- */

TEST(bodies_come_whole)
{
    static char request[1 << 20];
    serving_start(NULL);
    check_ask("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200, "");
    check_ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
              200, "");
    for (size_t length = 1; length < 1000000; length = length * 7 + 3) {
        int fd = dial();
        int head = snprintf(request, sizeof(request),
                            "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", length);
        for (size_t i = 0; i < length; i++)
            request[(size_t)head + i] = PATTERN(i);
        say_bytes(fd, request, (size_t)head + length);
        struct answer answer = hear_one(fd, false);
        CHECK_EQ(answer.status, 200);
        CHECK_EQ(answer.body_length, length);
        CHECK(memcmp(answer.body, request + head, length) == 0);
        answer_free(&answer);
        close(fd);
    }
    serving_end();
}

TEST(chunked_bodies_grow)
{
    char size[16];
    serving_start(NULL);
    int fd = dial();
    say(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (size_t i = 1; i <= 1000; i++) {
        snprintf(size, sizeof(size), "%zx\r\n", i);
        say(fd, size);
        say_bytes(fd, serving.large, i);
        say(fd, "\r\n");
    }
    say(fd, "0\r\n\r\n");
    struct answer answer = hear_one(fd, false);
    CHECK_EQ(answer.body_length, 500500);
    answer_free(&answer);
    say(fd, KEEP("/hello"));
    answer = hear_one(fd, false);
    CHECK_STR(answer.body, "hello\n");
    answer_free(&answer);
    close(fd);
    serving_end();
}

TEST(bodies_that_are_too_large_are_refused)
{
    serving_start(NULL);
    check_ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n", 413, NULL);
    check_ask("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n01234567890", 413,
              NULL);
    check_ask("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
              "0123456789",
              200, "0123456789");
    check_ask("POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
              "6\r\n012345\r\n5\r\n67890\r\n",
              413, NULL);
    check_ask("POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n", 400,
              NULL);
    int fd = dial(); /* one that grows past the cap, and is told although it talks on */
    say(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n");
    say_bytes(fd, serving.large, 2 << 20);
    struct answer answer = hear_all(fd);
    CHECK_EQ(answer.status, 413);
    CHECK_HAS(answer.body, "\"TooLarge\"");
    answer_free(&answer);
    close(fd);
    serving_end();
}

TEST(refusals_before_the_body)
{
    serving_start(NULL);
    /* The body lies behind the head as a whole: the connection goes on. */
    int fd = dial();
    say(fd, "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    struct answer answer = hear_one(fd, false);
    CHECK_EQ(answer.status, 403);
    CHECK_HAS(answer.body, "\"message\": \"not \\\"you\\\"\", \"corr_id\": \"");
    bool is_kept = !strstr(answer.text, "Connection: close");
    answer_free(&answer);
    if (is_kept) {
        say(fd, KEEP("/hello"));
        answer = hear_one(fd, false);
        CHECK_STR(answer.body, "hello\n");
        answer_free(&answer);
    }
    close(fd);
    /* It does not: the connection closes, and the answer arrives. */
    fd = dial();
    say(fd, "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    say_bytes(fd, serving.large, 1000000);
    answer = hear_one(fd, false);
    CHECK_EQ(answer.status, 403);
    CHECK_HAS(answer.text, "Connection: close\r\n");
    answer_free(&answer);
    CHECK_EQ(recv(fd, (char[1]){0}, 1, 0), 0); /* an end, not a reset */
    close(fd);
    serving_end();
}

TEST(expectations)
{
    static const char expect[] = "Expect: 100-continue\r\n\r\n";
    serving_start(NULL);
    int fd = dial();
    say(fd, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n");
    say(fd, expect);
    struct answer answer = hear_one(fd, true);
    CHECK_STR(answer.text, "HTTP/1.1 100 Continue\r\n\r\n");
    answer_free(&answer);
    say(fd, "abc");
    answer = hear_one(fd, false);
    CHECK_EQ(answer.status, 200);
    CHECK_STR(answer.body, "abc");
    answer_free(&answer);
    /* Refused at once: no go-ahead, and no waiting for the body. */
    say(fd, "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n");
    say(fd, expect);
    answer = hear_all(fd);
    CHECK_EQ(answer.status, 403);
    answer_free(&answer);
    close(fd);
    fd = dial(); /* too large */
    say(fd, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n");
    say(fd, expect);
    answer = hear_all(fd);
    CHECK_EQ(answer.status, 413);
    answer_free(&answer);
    close(fd);
    /* 1.0 has no such thing. */
    fd = dial();
    say(fd, "POST /echo HTTP/1.0\r\nContent-Length: 3\r\n");
    say(fd, expect);
    say(fd, "abc");
    answer = hear_all(fd);
    CHECK_EQ(answer.status, 200);
    answer_free(&answer);
    close(fd);
    serving_end();
}

/* --- answers --- */

TEST(head_and_bare_answers)
{
    serving_start(NULL);
    int fd = dial();
    say(fd, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    struct answer answer = hear_one(fd, true);
    CHECK_HAS(answer.text, "\r\nContent-Length: 6\r\n");
    answer_free(&answer);
    say(fd, "HEAD /file?5-100000 HTTP/1.1\r\nHost: x\r\n\r\n");
    answer = hear_one(fd, true);
    CHECK_EQ(answer.status, 206);
    CHECK_HAS(answer.text, "\r\nContent-Length: 100000\r\n");
    answer_free(&answer);
    say(fd, "HEAD /stream?3 HTTP/1.1\r\nHost: x\r\n\r\n");
    answer = hear_one(fd, true);
    CHECK_EQ(answer.status, 200);
    answer_free(&answer);
    say(fd, KEEP("/hello"));
    answer = hear_one(fd, false);
    CHECK_STR(answer.body, "hello\n");
    answer_free(&answer);
    close(fd);
    serving_end();
}

static void check_file(uint64_t offset, size_t length)
{
    char request[128];
    snprintf(request, sizeof(request),
             "GET /file?%llu-%zu HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
             (unsigned long long)offset, length);
    struct answer answer = ask(request);
    CHECK_EQ(answer.status, 206);
    CHECK_EQ(answer.body_length, length);
    for (size_t i = 0; i < length; i++)
        if (answer.body[i] != PATTERN(offset + i))
            tap_fail(__FILE__, __LINE__, "byte %zu of %zu at %llu is another one", i, length,
                     (unsigned long long)offset);
    answer_free(&answer);
}

TEST(parts_of_files)
{
    static const size_t sizes[] = {0, 1, 1000, 16383, 16384, 16385, 65536, 200001, 1 << 20};
    serving_start(NULL);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_file(0, sizes[i]);
        check_file(4097, sizes[i]);
        check_file(FILE_SIZE - sizes[i], sizes[i]);
    }
    check_file(1, FILE_SIZE - 1);
    struct answer answer = ask(GET("/multi?100"));
    CHECK_EQ(answer.body_length, 500);
    for (int i = 0; i < 100; i++) {
        char wanted[5] = {'[', PATTERN(i), PATTERN(i + 1), PATTERN(i + 2), ']'};
        CHECK(memcmp(answer.body + i * 5, wanted, 5) == 0);
    }
    answer_free(&answer);
    serving_end();
}

TEST(files_that_end_too_early_cut_the_connection)
{
    serving_start(NULL);
    struct answer answer = ask(GET("/file?3145000-100000"));
    CHECK_EQ(answer.status, 206);
    CHECK(answer.body_length < 100000);
    answer_free(&answer);
    answer = ask(GET("/file?3145727-2"));
    CHECK(answer.body_length < 2);
    answer_free(&answer);
    SERVING_AWAIT(serving_stats().truncated == 2);
    CHECK_EQ(serving_stats().aborted, 2);
    CHECK(!serving_ended().is_whole);
    serving_end();
}

/* Of a small one nothing has left when it cannot be read. */
TEST(small_files_that_cannot_be_read_are_an_error)
{
    serving_start(NULL);
    struct answer answer = ask(GET("/file?3145728-100"));
    CHECK_EQ(answer.status, 500);
    CHECK_HAS(answer.body, "{\"error\": \"Corrupt\"");
    answer_free(&answer);
    SERVING_AWAIT(serving_stats().truncated == 1);
    CHECK_EQ(serving_stats().aborted, 0);
    CHECK_EQ(serving_ended().status, 500);
    serving_end();
}

/* Whatever the disk says, it is not the client who is wrong. */
TEST(what_a_disk_says_is_no_fault_of_the_client)
{
    serving_start(NULL);
    struct answer answer = ask(GET("/odd"));
    CHECK_EQ(answer.status, 500);
    CHECK_HAS(answer.body, "{\"error\": \"Io\"");
    answer_free(&answer);
    serving_end();
}

TEST(files_that_are_not_in_memory_are_brought_there)
{
    char name[] = "weir-cold-XXXXXX", block[4096] = "cold";
    int fd = mkstemp(name);
    CHECK(fd >= 0);
    CHECK_EQ(unlink(name), 0);
    for (int i = 0; i < 64; i++)
        CHECK_EQ(write(fd, block, sizeof(block)), sizeof(block));
    CHECK(weir__file_is_resident(fd, 0, 64 * sizeof(block)));
    CHECK_EQ(fsync(fd), 0);
    CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    /* Where the file system or the kernel does not tell, nobody is asked. */
    bool is_cold = !weir__file_is_resident(fd, 0, 64 * sizeof(block));
    serving_start(NULL);
    CHECK(dup2(fd, serving.file) >= 0);
    close(fd);
    struct answer answer = ask(GET("/file?0-200000"));
    CHECK_EQ(answer.body_length, 200000);
    CHECK(memcmp(answer.body, block, sizeof(block)) == 0);
    answer_free(&answer);
    answer = ask(GET("/file?200000-4096"));
    CHECK_EQ(answer.body_length, 4096);
    answer_free(&answer);
    if (!is_cold)
        printf("# the file stayed in memory\n");
    serving_end();
    CHECK_EQ(serving.has_warmed, is_cold);
}

TEST(streams)
{
    static const char chunks[] = "8\r\npiece 0\n\r\n8\r\npiece 1\n\r\n8\r\npiece 2\n\r\n0\r\n\r\n";
    static const char plain[] = "piece 0\npiece 1\npiece 2\n";
    serving_start(NULL);
    check_ask(GET("/stream?3"), 200, chunks);
    check_ask(GET("/slowly?3"), 200, chunks);
    check_ask(GET("/stream?0"), 200, "0\r\n\r\n");
    check_ask(GET("/known?3"), 200, plain);
    check_ask("GET /stream?3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, plain);
    struct answer answer = ask(GET("/known?1000"));
    CHECK_EQ(answer.body_length, 8000);
    CHECK_HAS(answer.text, "\r\nContent-Length: 8000\r\n");
    answer_free(&answer);
    answer = ask(GET("/slowly?500"));
    CHECK_EQ(answer.body_length, 500 * 13 + 5);
    answer_free(&answer);
    serving_end();
}

TEST(large_answers_to_slow_readers_arrive)
{
    serving_start(NULL);
    int fd = dial(), size = 1 << 16;
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
    say(fd, KEEP("/large?8388608"));
    say(fd, KEEP("/file?0-3145728"));
    struct answer answer = hear_one(fd, false);
    CHECK_EQ(answer.length - (size_t)(answer.body - answer.text), 8388608);
    answer_free(&answer);
    answer = hear_one(fd, false);
    CHECK_EQ(answer.length - (size_t)(answer.body - answer.text), 3145728);
    answer_free(&answer);
    close(fd);
    CHECK(serving_ended().is_whole);
    CHECK(serving_ended().is_whole);
    serving_end();
}

TEST(correlation)
{
    serving_start(NULL);
    struct answer answer =
        ask("GET /none HTTP/1.1\r\nHost: x\r\nX-Corr-ID: aZ09._-\r\nConnection: close\r\n\r\n");
    CHECK_HAS(answer.text, "\r\nX-Corr-ID: aZ09._-\r\n");
    CHECK_HAS(answer.body, "\"corr_id\": \"aZ09._-\"}");
    answer_free(&answer);
    answer = ask("GET /none HTTP/1.1\r\nHost: x\r\nX-Corr-ID: a b\r\nConnection: close\r\n\r\n");
    const char *made = strstr(answer.text, "X-Corr-ID: ") + 11;
    CHECK_EQ(strspn(made, "0123456789abcdef"), 32);
    CHECK_EQ(made[32], '\r');
    answer_free(&answer);
    answer = ask("GET / HTTP/3.0\r\n\r\n");
    CHECK_EQ(answer.status, 505);
    CHECK_HAS(answer.text, "\r\nX-Corr-ID: ");
    CHECK_HAS(answer.body, "\"error\": \"Unsupported\"");
    answer_free(&answer);
    serving_end();
}

/* --- other threads --- */

TEST(answers_from_other_threads)
{
    serving_start(NULL);
    for (int i = 0; i < 20; i++)
        check_ask(GET("/later"), 200, "later\n");
    CHECK_EQ(serving_ended().status, 200);
    serving_end();
}

static void say_called(struct weir__exchange *x, void *arg)
{
    reply_text(x, arg);
}

TEST(a_function_may_take_the_place_of_resume)
{
    static char text[] = "called\n";
    serving_start(NULL);
    int fd = dial();
    say(fd, GET("/hold"));
    struct weir__exchange *x = serving_held();
    weir__exchange_call(x, say_called, text);
    struct answer answer = hear_all(fd);
    CHECK_STR(answer.body, "called\n");
    answer_free(&answer);
    close(fd);
    serving_end();
}

TEST(clients_that_go_are_told_to_who_works_for_them)
{
    const struct linger hard = {.l_onoff = 1};
    serving_start(NULL);
    for (int i = 0; i < 2; i++) {
        int fd = dial();
        say(fd, KEEP("/hold"));
        struct weir__exchange *x = serving_held();
        struct weir_deadline deadline = weir__exchange_deadline(x);
        deadline.at_ns = weir_time_add(weir_now_ns(), serving_wait_ns);
        CHECK(!weir_cancel_is_fired(deadline.cancel));
        if (i == 1) /* by a reset, not by an end */
            CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
        close(fd);
        CHECK_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
        /* It is valid still, for as long as it takes. */
        CHECK_STR(weir__exchange_path(x), "/hold");
        weir__exchange_post(x);
        struct weir__exchange_end end = serving_ended();
        CHECK_EQ(end.status, 200);
        CHECK(i == 0 || !end.is_whole);
    }
    SERVING_AWAIT(serving_stats().open == 0);
    serving_end();
}

TEST(an_end_behind_the_request_is_no_leaving)
{
    serving_start(NULL);
    int fd = dial();
    say(fd, KEEP("/hello"));
    shutdown(fd, SHUT_WR);
    struct answer answer = hear_all(fd);
    CHECK_STR(answer.body, "hello\n");
    answer_free(&answer);
    close(fd);
    fd = dial(); /* in the middle of a head, and of a body */
    say(fd, "GET /he");
    shutdown(fd, SHUT_WR);
    answer = hear_all(fd);
    CHECK_EQ(answer.length, 0);
    answer_free(&answer);
    close(fd);
    fd = dial();
    say(fd, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc");
    shutdown(fd, SHUT_WR);
    answer = hear_all(fd);
    CHECK_EQ(answer.length, 0);
    answer_free(&answer);
    close(fd);
    serving_end();
}

/* --- where it listens --- */

static int dial_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

TEST(unix_sockets)
{
    char folder[] = "/tmp/weir-http-XXXXXX", path[64], address[80];
    struct stat st;
    const char *why = "";
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/socket", folder);
    snprintf(address, sizeof(address), "unix:%s", path);
    const struct weir__listen listen = {.address = address, .mode = 0660};
    /* A file that a dead server left. */
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    close(fd);
    serving_begin(NULL);
    CHECK_EQ(weir__server_listen(serving.server, &listen, &why), 1);
    CHECK_STR(weir__server_address(serving.server, 1), address);
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0660);
    CHECK_EQ(weir__server_listen(serving.server, &listen, &why), -WEIR_E_EXISTS);
    CHECK_STR(why, "somebody listens there already");
    CHECK_EQ(weir__server_start(serving.server), 0);
    fd = dial_unix(path);
    say(fd, GET("/who"));
    struct answer answer = hear_all(fd);
    CHECK_STR(answer.body, "unix");
    answer_free(&answer);
    close(fd);
    serving_end();
    CHECK(stat(path, &st) < 0);
    /* What is not a socket is left alone. */
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(fd);
    serving_begin(NULL);
    CHECK_EQ(weir__server_listen(serving.server, &listen, &why), -WEIR_E_EXISTS);
    CHECK_STR(why, "there is a file that is not a socket");
    serving_end();
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(addresses)
{
    static const char *const bad[] = {"",      "127.0.0.1",     "127.0.0.1:", "127.0.0.1:70000",
                                      ":80",   "example.com:1", "::1:80",     "[::1:80",
                                      "unix:", "127.0.0.1:8x"};
    const char *why;
    serving_begin(NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct weir__listen listen = {.address = bad[i]};
        CHECK_EQ(weir__server_listen(serving.server, &listen, &why), -WEIR_E_INVALID);
        CHECK(why[0]);
    }
    const struct weir__listen taken = {.address = weir__server_address(serving.server, 0)};
    CHECK_EQ(weir__server_listen(serving.server, &taken, &why), -WEIR_E_EXISTS);
    const struct weir__listen local = {.address = "localhost:0"};
    CHECK_EQ(weir__server_listen(serving.server, &local, &why), 1);
    CHECK_HAS(weir__server_address(serving.server, 1), "127.0.0.1:");
    CHECK(strcmp(weir__server_address(serving.server, 1), "127.0.0.1:0") != 0);
    CHECK_EQ(weir__server_adopt(serving.server, serving.file, false, &why), -WEIR_E_INVALID);
    serving_end();
}

TEST(sockets_that_are_handed_over)
{
    const char *why;
    serving_begin(NULL);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(socket_fd, (struct sockaddr *)&at, sizeof(at)), 0);
    CHECK_EQ(listen(socket_fd, 5), 0);
    CHECK_EQ(weir__server_adopt(serving.server, socket_fd, false, &why), 1);
    CHECK_EQ(weir__server_start(serving.server), 0);
    CHECK_EQ(getsockname(socket_fd, (struct sockaddr *)&at, &size), 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    say(fd, GET("/hello"));
    struct answer answer = hear_all(fd);
    CHECK_STR(answer.body, "hello\n");
    answer_free(&answer);
    close(fd);
    serving_end();
}

TAP_MAIN()
