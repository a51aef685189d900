/* fault_http_server.c - a server in which the n-th allocation or system call fails.
 *
 * Whatever fails: clients get an answer, an error or the end of their connection, never silence;
 * every exchange that was begun ends once; and nothing is left behind.
 */
#include "serving.h"
#include "sweep.h"
#include "sys.h"

/* One loop and one client at a time, so that the n-th call is the same one each time. */
static bool start(void)
{
    const struct weir__server_options options = {.crew = serving.crew,
                                                 .handler = &serving_handler,
                                                 .private_size = sizeof(struct private),
                                                 .loops = 1,
                                                 .limits.read_ns = WEIR_NS_PER_S,
                                                 .limits.write_ns = WEIR_NS_PER_S};
    const struct weir__listen listen = {.address = "127.0.0.1:0"};
    const char *why = "";
    if (weir__server_new(&serving.server, &options, &why) < 0)
        return false;
    return weir__server_listen(serving.server, &listen, &why) >= 0 &&
           weir__server_start(serving.server) == 0 &&
           weir_crew_start(serving.crew, "worker", post_all, NULL) == 0;
}

static void talk(const char *request, const char *body, size_t length)
{
    int fd = dial();
    say(fd, request);
    say_bytes(fd, body, length);
    struct answer answer = hear_all(fd);
    answer_free(&answer);
    close(fd);
}

static void everything(void)
{
    static const char chunked[] =
        "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    static char chunk[60013];
    serving.crew = NULL;
    serving.server = NULL;
    int result = weir_crew_new(&serving.crew, "serving", NULL);
    if (result == 0 && start()) {
        memcpy(chunk, "ea60\r\n", 6);
        memset(chunk + 6, 'x', 60000);
        memcpy(chunk + 60006, "\r\n0\r\n\r\n", 7);
        talk(GET("/hello"), "", 0);
        talk(GET("/file?0-100"), "", 0);
        talk(GET("/file?0-100000"), "", 0);
        talk(GET("/multi?20"), "", 0);
        talk(GET("/later"), "", 0);
        talk(GET("/slowly?2"), "", 0);
        talk("PUT /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n",
             "hello", 5);
        talk(chunked, chunk, sizeof(chunk));
        talk("BAD\r\n\r\n", "", 0);
    }
    if (serving.server) {
        (void)serving_drain(2 * WEIR_NS_PER_S);
        struct weir__server_stats stats = serving_stats();
        CHECK_EQ(stats.open, 0);
    }
    if (serving.crew) {
        CHECK_EQ(weir_crew_drain(serving.crew, NULL), 0);
        weir__server_free(serving.server);
        weir_crew_free(serving.crew);
    }
}

/* What the test itself needs does not fail. */
static void sweep_all(enum weir_fault kind, long least)
{
    serving_prepare();
    sweep_cleanly(kind, everything, least);
    serving_forget();
}

TEST(allocations)
{
    sweep_all(WEIR_FAULT_ALLOC, 10);
}

static void sweep_errno(int error)
{
    weir__sys_fault_errno(error);
    sweep_all(WEIR_FAULT_IO, 40);
    weir__sys_fault_errno(EIO);
}

TEST(system_calls_fail)
{
    sweep_errno(EIO);
}

TEST(system_calls_lack_descriptors)
{
    sweep_errno(EMFILE);
}

TEST(system_calls_are_interrupted)
{
    sweep_errno(EINTR);
}

TEST(threads)
{
    sweep_all(WEIR_FAULT_THREAD, 2);
}

TAP_MAIN()
