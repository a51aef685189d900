/* serving.h - a server in this process with a handler that can do everything, and clients for it.
 *
 * Routes:
 *     GET  /hello          "hello\n" from memory
 *     GET  /file?OFFSET-N  a part of the fixture's file, whose byte i is i % 251
 *     GET  /multi?N        N times "[", 3 bytes of the file, "]"
 *     GET  /large?N        N bytes of memory
 *     *    /echo           the body
 *     POST /small          the body, of up to 10 bytes
 *     POST /refuse         403 without looking at the body
 *     GET  /stream?N       N pieces "piece I\n", in chunks; /known the same with its length
 *     GET  /slowly?N       the same, and each piece comes from another thread
 *     GET  /later          "later\n" after a trip to another thread
 *     GET  /hold           kept until the test lets go: serving_held(), weir__exchange_post()
 *     GET  /who            address of the client
 *     GET  /path...        path, query and host as they were understood
 *
 * Ownership: the fixture belongs to the test, between serving_begin() and serving_end().
 */
#ifndef WEIR_TESTS_SERVING_H
#define WEIR_TESTS_SERVING_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <weir/queue.h>

#include "server.h"
#include "tap.h"

#define FILE_SIZE  (3u << 20)
#define PATTERN(i) ((char)((i) % 251))

struct serving {
    struct weir_crew *crew;
    struct weir__server *server;
    struct weir_queue posts; /* of exchanges that a worker is to post */
    struct weir_queue held;  /* that the test is to post */
    struct weir_queue ends;  /* of struct weir__exchange_end */
    int file;
    char *large;
    bool has_warmed;
};

struct private
{
    uint64_t pieces, given;
    bool has_waited; /* for the next piece */
};

static struct serving serving;
static const uint64_t serving_wait_ns = 20 * WEIR_NS_PER_S;

/* --- the handler --- */

static inline uint64_t query_number(struct weir__exchange *x)
{
    return strtoull(weir__exchange_query(x), NULL, 10);
}

static inline void reply_text(struct weir__exchange *x, const char *text)
{
    weir__reply_begin(x, 200);
    weir__reply_header(x, "Content-Type", "text/plain");
    weir__reply_copy(x, text, strlen(text));
    weir__reply_send(x);
}

static inline void add_file(struct weir__exchange *x, uint64_t offset, uint64_t length)
{
    const struct weir__reply_file file = {.fd = serving.file, .offset = offset, .length = length};
    weir__reply_file(x, &file);
}

static inline bool is_at(struct weir__exchange *x, const char *path)
{
    return strncmp(weir__exchange_path(x), path, strlen(path)) == 0;
}

static inline void hand_over(struct weir_queue *queue, struct weir__exchange *x)
{
    CHECK_EQ(weir_queue_try_send(queue, &x), 0);
}

static inline void reply_file(struct weir__exchange *x)
{
    char *rest;
    uint64_t offset = strtoull(weir__exchange_query(x), &rest, 10);
    weir__reply_begin(x, 206);
    add_file(x, offset, strtoull(rest + 1, NULL, 10));
    weir__reply_send(x);
}

/* Of what cannot be read so: its parts have 8 bytes, and the kernel says EINVAL. */
static inline void reply_odd(struct weir__exchange *x)
{
    static int fd = -1;
    if (fd < 0)
        fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const struct weir__reply_file file = {.fd = fd, .is_resident = true, .length = 101};
    weir__reply_begin(x, 200);
    weir__reply_file(x, &file);
    weir__reply_send(x);
}

static inline void reply_multi(struct weir__exchange *x)
{
    weir__reply_begin(x, 206);
    for (uint64_t i = 0, n = query_number(x); i < n; i++) {
        weir__reply_bytes(x, "[", 1, NULL, NULL);
        add_file(x, i, 3);
        weir__reply_copy(x, "]", 1);
    }
    weir__reply_send(x);
}

static inline void begin_stream(struct weir__exchange *x)
{
    struct private *private = weir__exchange_private(x);
    private->pieces = query_number(x);
    weir__reply_begin(x, 200);
    weir__reply_stream(x, is_at(x, "/known") ? private->pieces * 8 : UINT64_MAX);
    weir__reply_send(x);
}

static inline void reply_path(struct weir__exchange *x)
{
    char text[512];
    snprintf(text, sizeof(text), "%s|%s|%s", weir__exchange_path(x), weir__exchange_query(x),
             weir__exchange_host(x));
    reply_text(x, text);
}

static inline void reply_who(struct weir__exchange *x)
{
    char text[WEIR__SERVER_ADDRESS_SIZE];
    weir__address_text(weir__exchange_client(x), text);
    reply_text(x, text);
}

static inline void on_begin(struct weir__exchange *x)
{
    if (weir__exchange_is_draining(x) && !is_at(x, "/hello"))
        weir__reply_error(x, -WEIR_E_DRAINING, NULL, 1);
    else if (is_at(x, "/hello"))
        reply_text(x, "hello\n");
    else if (is_at(x, "/file"))
        reply_file(x);
    else if (is_at(x, "/odd"))
        reply_odd(x);
    else if (is_at(x, "/multi"))
        reply_multi(x);
    else if (is_at(x, "/large")) {
        weir__reply_begin(x, 200);
        weir__reply_bytes(x, serving.large, query_number(x), NULL, NULL);
        weir__reply_send(x);
    } else if (is_at(x, "/echo"))
        (void)weir__exchange_take_body(x, UINT64_MAX);
    else if (is_at(x, "/small"))
        (void)weir__exchange_take_body(x, 10);
    else if (is_at(x, "/refuse"))
        weir__reply_error(x, -WEIR_E_FORBIDDEN, "not \"you\"", 0);
    else if (is_at(x, "/stream") || is_at(x, "/known") || is_at(x, "/slowly"))
        begin_stream(x);
    else if (is_at(x, "/later")) {
        (void)weir__exchange_deadline(x);
        hand_over(&serving.posts, x);
    } else if (is_at(x, "/hold")) {
        (void)weir__exchange_deadline(x);
        hand_over(&serving.held, x);
    } else if (is_at(x, "/who"))
        reply_who(x);
    else if (is_at(x, "/path"))
        reply_path(x);
    else
        weir__reply_error(x, -WEIR_E_NOT_FOUND, NULL, 0);
}

static inline void on_whole(struct weir__exchange *x)
{
    size_t length;
    const void *body = weir__exchange_body(x, &length);
    weir__reply_begin(x, 200);
    weir__reply_bytes(x, body, length, NULL, NULL);
    weir__reply_send(x);
}

static inline void on_resume(struct weir__exchange *x)
{
    reply_text(x, weir__exchange_is_gone(x) ? "gone\n" : "later\n");
}

static inline int on_more(struct weir__exchange *x)
{
    struct private *private = weir__exchange_private(x);
    char text[32];
    if (private->given == private->pieces)
        return WEIR__MORE_END;
    if (is_at(x, "/slowly") && !private->has_waited) {
        private->has_waited = true;
        hand_over(&serving.posts, x);
        return WEIR__MORE_LATER;
    }
    private->has_waited = false;
    snprintf(text, sizeof(text), "piece %u\n", (unsigned)(private->given++ % 10));
    weir__reply_copy(x, text, 8);
    return WEIR__MORE_HERE;
}

static inline void on_warm(struct weir__exchange *x, int fd, uint64_t offset, uint64_t length)
{
    (void)fd, (void)offset, (void)length;
    serving.has_warmed = true;
    hand_over(&serving.posts, x);
}

static inline void on_gone(struct weir__exchange *x, const struct weir__exchange_end *end)
{
    (void)x;
    (void)!weir_queue_try_send(&serving.ends, end);
}

static const struct weir__handler serving_handler = {.begin = on_begin,
                                                     .whole = on_whole,
                                                     .resume = on_resume,
                                                     .more = on_more,
                                                     .warm = on_warm,
                                                     .gone = on_gone};

/* --- the fixture --- */

static inline int post_all(struct weir_crew_self *self, void *arg)
{
    const struct weir_deadline deadline = weir_deadline_until(self->stop);
    struct weir__exchange *x;
    (void)arg;
    while (weir_queue_recv(&serving.posts, &x, &deadline) == 0)
        weir__exchange_post(x);
    return 0;
}

static inline int make_file(void)
{
    int fd = memfd_create("serving", MFD_CLOEXEC);
    char block[4096];
    for (size_t at = 0; at < FILE_SIZE; at += sizeof(block)) {
        for (size_t i = 0; i < sizeof(block); i++)
            block[i] = PATTERN(at + i);
        CHECK_EQ(write(fd, block, sizeof(block)), sizeof(block));
    }
    return fd;
}

/* Everything but the server. */
static inline void serving_prepare(void)
{
    memset(&serving, 0, sizeof(serving));
    serving.file = make_file();
    serving.large = malloc(8u << 20);
    CHECK(serving.large);
    memset(serving.large, 'x', 8u << 20);
    const struct weir_queue_options pointers = {.item_size = sizeof(void *), .capacity = 4096};
    const struct weir_queue_options ends = {.item_size = sizeof(struct weir__exchange_end),
                                            .capacity = 4096};
    CHECK_EQ(weir_queue_init(&serving.posts, "posts", &pointers), 0);
    CHECK_EQ(weir_queue_init(&serving.held, "held", &pointers), 0);
    CHECK_EQ(weir_queue_init(&serving.ends, "ends", &ends), 0);
}

static inline void serving_forget(void)
{
    const struct weir_deadline now = weir_deadline_in(0, NULL);
    struct weir__exchange_end end;
    while (weir_queue_recv(&serving.ends, &end, &now) == 0)
        ;
    weir_queue_fini(&serving.posts);
    weir_queue_fini(&serving.held);
    weir_queue_fini(&serving.ends);
    free(serving.large);
    close(serving.file);
}

/* options may be NULL; crew, handler and private_size are filled in. */
static inline void serving_begin(const struct weir__server_options *given)
{
    struct weir__server_options options = given ? *given : (struct weir__server_options){0};
    const struct weir__listen listen = {.address = "127.0.0.1:0"};
    const char *why = "";
    serving_prepare();
    CHECK_EQ(weir_crew_new(&serving.crew, "serving", NULL), 0);
    options.crew = serving.crew;
    options.handler = options.handler ? options.handler : &serving_handler;
    options.private_size = sizeof(struct private);
    options.loops = options.loops ? options.loops : 2;
    CHECK_EQ(weir__server_new(&serving.server, &options, &why), 0);
    CHECK_EQ(weir__server_listen(serving.server, &listen, &why), 0);
    CHECK_EQ(weir_crew_start(serving.crew, "worker", post_all, NULL), 0);
}

static inline void serving_start(const struct weir__server_options *given)
{
    serving_begin(given);
    CHECK_EQ(weir__server_start(serving.server), 0);
}

static inline int serving_drain(uint64_t ns)
{
    const struct weir_deadline deadline = weir_deadline_in(ns, NULL);
    return weir__server_drain(serving.server, &deadline);
}

static inline void serving_end(void)
{
    (void)serving_drain(2 * WEIR_NS_PER_S);
    CHECK_EQ(weir_crew_drain(serving.crew, NULL), 0);
    weir__server_free(serving.server);
    weir_crew_free(serving.crew);
    serving_forget();
}

/* The next exchange that /hold keeps. */
static inline struct weir__exchange *serving_held(void)
{
    const struct weir_deadline deadline = weir_deadline_in(serving_wait_ns, NULL);
    struct weir__exchange *x = NULL;
    CHECK_EQ(weir_queue_recv(&serving.held, &x, &deadline), 0);
    return x;
}

static inline struct weir__exchange_end serving_ended(void)
{
    const struct weir_deadline deadline = weir_deadline_in(serving_wait_ns, NULL);
    struct weir__exchange_end end = {0};
    CHECK_EQ(weir_queue_recv(&serving.ends, &end, &deadline), 0);
    return end;
}

static inline struct weir__server_stats serving_stats(void)
{
    struct weir__server_stats stats;
    weir__server_read(serving.server, &stats);
    return stats;
}

/* Waits for the state itself: a count of the server's, which it tells with its next turn. */
#define SERVING_AWAIT(condition)                                                                   \
    do {                                                                                           \
        int tries = 0;                                                                             \
        while (!(condition)) {                                                                     \
            struct weir_deadline tick = weir_deadline_in(WEIR_NS_PER_S / 500, NULL);               \
            weir_deadline_sleep(&tick);                                                            \
            if (++tries > 10000)                                                                   \
                tap_fail(__FILE__, __LINE__, "it never came to %s", #condition);                   \
        }                                                                                          \
    } while (0)

/* --- clients --- */

static inline int dial_from(const char *from)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    const char *address = weir__server_address(serving.server, 0);
    const struct timeval limit = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    at.sin_addr.s_addr = inet_addr(from);
    CHECK_EQ(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

static inline int dial(void)
{
    return dial_from("127.0.0.1");
}

static inline void say_bytes(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
            return; /* the answer tells */
        CHECK(sent > 0);
        bytes += sent;
        length -= (size_t)sent;
    }
}

static inline void say(int fd, const char *text)
{
    say_bytes(fd, text, strlen(text));
}

/* An answer: all of it in text, where its body is, and its length. */
struct answer {
    char *text;
    size_t length;
    int status; /* 0: none came */
    const char *body;
    size_t body_length;
};

static inline void answer_free(struct answer *answer)
{
    free(answer->text);
}

static inline void read_some(int fd, struct answer *answer, size_t count)
{
    answer->text = realloc(answer->text, answer->length + count + 1);
    CHECK(answer->text);
    ssize_t got = recv(fd, answer->text + answer->length, count, 0);
    if (got < 0 && errno == EAGAIN)
        tap_fail(__FILE__, __LINE__, "no answer came");
    answer->length += got > 0 ? (size_t)got : 0;
    answer->text[answer->length] = '\0';
}

/* One answer with a length, and nothing behind it. is_head: of HEAD. */
static inline struct answer hear_one(int fd, bool is_head)
{
    struct answer answer = {0};
    char *end;
    do {
        size_t before = answer.length;
        read_some(fd, &answer, 1);
        if (answer.length == before)
            return answer; /* closed */
        end = strstr(answer.text, "\r\n\r\n");
    } while (!end);
    answer.status = atoi(answer.text + 9);
    size_t head = (size_t)(end + 4 - answer.text);
    const char *length = strcasestr(answer.text, "\r\ncontent-length: ");
    size_t left = length && !is_head ? strtoull(length + 18, NULL, 10) : 0;
    answer.body_length = left;
    while (left > 0) {
        size_t before = answer.length;
        read_some(fd, &answer, left);
        if (answer.length == before)
            break;
        left -= answer.length - before;
    }
    answer.body = answer.text + head;
    return answer;
}

/* All that comes until the end of the connection. */
static inline struct answer hear_all(int fd)
{
    struct answer answer = {0};
    size_t before;
    do {
        before = answer.length;
        read_some(fd, &answer, 65536);
    } while (answer.length > before);
    char *end = strstr(answer.text, "\r\n\r\n");
    answer.status = end ? atoi(answer.text + 9) : 0;
    answer.body = end ? end + 4 : "";
    answer.body_length = end ? answer.length - (size_t)(answer.body - answer.text) : 0;
    return answer;
}

/* One request on a connection of its own. */
static inline struct answer ask(const char *request)
{
    int fd = dial();
    say(fd, request);
    struct answer answer = hear_all(fd);
    close(fd);
    return answer;
}

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define KEEP(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

#endif
