/* A server with many clients: answers from memory, files, other threads and streams, uploads,
 * clients that go, limits that change, drains in the middle of it. Conservation: what was begun has
 * ended, once; every answer that was whole is the right one. */
#include "stress.h"

#include "serving.h"

static void ask_kept(int fd, const char *request, const char *body)
{
    say(fd, request);
    struct answer answer = hear_one(fd, false);
    if (answer.status == 200)
        CHECK_STR(answer.body, body);
    answer_free(&answer);
}

/* The server may be draining: then any of this may be cut. */
static void one_client(struct stress_thread *thread)
{
    int fd = dial();
    for (uint64_t i = stress_random(thread) % 8; i > 0; i--)
        switch (stress_random(thread) % 7) {
        case 0:
            ask_kept(fd, KEEP("/hello"), "hello\n");
            break;
        case 1:
            ask_kept(fd, KEEP("/later"), "later\n");
            break;
        case 2:
            ask_kept(fd, KEEP("/known?2"), "piece 0\npiece 1\n");
            break;
        case 3:
            ask_kept(fd, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
                     "hello");
            break;
        case 4:
            ask_kept(fd, KEEP("/file?0-1"), "");
            break;
        case 5: /* goes before the answer comes */
            say(fd, KEEP("/later") KEEP("/large?1000000"));
            i = 1;
            break;
        default:
            say(fd, "GET /slowly?3 HTTP/1.1\r\nHost: x\r\n");
            i = 1;
            break;
        }
    close(fd);
}

static void clients(struct stress_thread *thread)
{
    while (stress_goes_on(thread)) {
        one_client(thread);
        if (thread->index == 0) {
            struct weir__server_limits limits = {.idle_ns = WEIR_NS_PER_S,
                                                 .connections_max =
                                                     4 + (uint32_t)(stress_random(thread) % 8)};
            CHECK_EQ(weir__server_update(serving.server, &limits), 0);
        }
    }
}

TEST(clients_of_all_kinds)
{
    serving_start(NULL);
    stress_run(8, NULL, clients);
    SERVING_AWAIT(serving_stats().open == 0);
    struct weir__server_stats stats = serving_stats();
    printf("# %llu connections, %llu requests\n", (unsigned long long)stats.accepted,
           (unsigned long long)stats.requests);
    CHECK_EQ(stats.accepted, stats.closed);
    serving_end();
}

/* Counts ends in place of keeping them. */
static void drains(struct stress_thread *thread)
{
    (void)thread;
    while (stress_goes_on(thread)) {
        int fds[6];
        serving_start(NULL);
        for (int i = 0; i < 6; i++) {
            fds[i] = dial();
            say(fds[i], i % 3 == 0   ? KEEP("/later")
                        : i % 3 == 1 ? KEEP("/slowly?5")
                                     : KEEP("/hello") KEEP("/later"));
        }
        (void)serving_drain(stress_random(thread) % (WEIR_NS_PER_S / 200));
        struct weir__server_stats stats = serving_stats();
        CHECK_EQ(stats.open, 0);
        uint64_t ended = 0;
        struct weir__exchange_end end;
        const struct weir_deadline now = weir_deadline_in(0, NULL);
        while (weir_queue_recv(&serving.ends, &end, &now) == 0)
            ended++;
        CHECK_EQ(ended, stats.requests);
        for (int i = 0; i < 6; i++)
            close(fds[i]);
        serving_end();
    }
}

TEST(drains_in_the_middle_of_work)
{
    stress_run(1, NULL, drains);
}

TAP_MAIN()
