/* fault_http.c - calls of the HTTP client in which the n-th allocation fails, those of libcurl
 * included.
 *
 * Whatever fails: the call ends with NoMemory (or what libcurl makes of it) or with the whole
 * answer, and nothing is left behind.
 */
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#include "client.h"
#include "server_help.h"
#include "sweep.h"
#include "tap.h"

static unsigned port;
static char body[64];
static size_t length;
static const char *path;

static void start(void)
{
    const char *why;
    struct weir__http_client *client;
    if (port > 0)
        return;
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    unsetenv("ALL_PROXY");
    port = start_server();
    /* The library is loaded once, and stays. */
    CHECK_EQ(weir__http_client_new(&client, NULL, &why), 0);
    weir__http_client_free(client);
}

static int on_body(void *arg, const char *bytes, size_t count)
{
    (void)arg;
    CHECK(length + count < sizeof(body));
    memcpy(body + length, bytes, count);
    length += count;
    body[length] = '\0';
    return 0;
}

static void call_twice(void)
{
    static const struct weir__http_header headers[] = {{"X-One", "1"}};
    struct weir__http_hooks hooks = {.body = on_body};
    struct weir__http_client_options options = {.ca_file = "/nonexistent", .agent = "test"};
    struct weir__http_client *client;
    struct weir__http_outcome outcome;
    const char *why = NULL;
    char url[128];
    snprintf(url, sizeof(url), "http://me:pw@127.0.0.1:%u%s", port, path);
    struct weir__http_request request = {.url = url,
                                         .headers = headers,
                                         .headers_count = 1,
                                         .tries_max = 1,
                                         .follows = true,
                                         .accepts_encoded = true};
    int result = weir__http_client_new(&client, &options, &why);
    if (result < 0) {
        CHECK_EQ(result, -WEIR_E_NO_MEMORY);
        CHECK(why && *why);
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
        length = 0;
        body[0] = '\0';
        result = weir__http_do(client, &request, &hooks, &outcome, &deadline);
        CHECK(result == 0 || result != -WEIR_E_TIMEOUT);
        if (result == 0 && outcome.status == 200)
            CHECK_STR(body, "word\n");
        else
            CHECK(result < 0 && outcome.problem[0]);
    }
    weir__http_client_free(client);
}

static void check(const char *what, long least)
{
    start();
    path = what;
    int before = count_descriptors();
    long runs = sweep(WEIR_FAULT_ALLOC, call_twice);
    if (runs < least)
        tap_fail(__FILE__, __LINE__, "only %ld allocations could fail", runs);
    CHECK_EQ(count_descriptors(), before);
}

TEST(an_answer)
{
    check("/text/word", 40);
}

TEST(a_redirect_to_what_is_encoded)
{
    check("/redirect/2/gzip/word", 60);
}

TAP_MAIN()
