/* What is refused, what is accepted, and that it does not matter how the bytes come. */
#include <stdio.h>
#include <stdlib.h>

#include "chunks.h"
#include "head.h"
#include "tap.h"
#include "wheel.h"

static const struct weir__head_limits limits = {
    .head_max = 16384, .url_max = 4096, .headers_max = 64};

static struct weir__head head;
static char buffer[70000];

/* The status, or 0 for a whole head, or -1 when more is needed; by pieces of so many bytes. */
static int feed(const char *bytes, size_t length, size_t step)
{
    int result = 0;
    weir__head_init(&head, &limits);
    for (size_t at = 0; at < length && result == 0;) {
        size_t count = length - at < step ? length - at : step;
        memcpy(buffer + at, bytes + at, count);
        at += count;
        result = weir__head_feed(&head, buffer, at);
    }
    return result > 0 ? 0 : result < 0 ? (int)head.status : -1;
}

/* The same cut anywhere, in two and in single bytes. */
static int feed_all(const char *bytes, size_t length)
{
    int whole = feed(bytes, length, length);
    for (size_t step = 1; step < length && step < 40; step++)
        CHECK_EQ(feed(bytes, length, step), whole);
    for (size_t step = 40; step < length; step = step * 3 / 2)
        CHECK_EQ(feed(bytes, length, step), whole);
    return feed(bytes, length, length);
}

static const struct {
    int status;
    const char *name, *text;
    size_t length; /* 0: up to the NUL */
} hostile[] = {
#define REQUEST(text) text, sizeof(text) - 1
#define POST          "POST / HTTP/1.1\r\nHost: x\r\n"
    {400, "both lengths", REQUEST(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, "both lengths, turned",
     REQUEST(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n")},
    {400, "two lengths", REQUEST(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n")},
    {400, "the same length twice", REQUEST(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n")},
    {400, "a list of lengths", REQUEST(POST "Content-Length: 5, 5\r\n\r\n")},
    {400, "a signed length", REQUEST(POST "Content-Length: +5\r\n\r\n")},
    {400, "a negative length", REQUEST(POST "Content-Length: -5\r\n\r\n")},
    {400, "a hexadecimal length", REQUEST(POST "Content-Length: 0x5\r\n\r\n")},
    {400, "an empty length", REQUEST(POST "Content-Length: \r\n\r\n")},
    {400, "a length of 2^64", REQUEST(POST "Content-Length: 18446744073709551616\r\n\r\n")},
    {400, "a length of 19 digits", REQUEST(POST "Content-Length: 1000000000000000000\r\n\r\n")},
    {400, "a length in two words", REQUEST(POST "Content-Length: 5 5\r\n\r\n")},
    {400, "a space before the colon", REQUEST(POST "Content-Length : 5\r\n\r\n")},
    {400, "a tab before the colon", REQUEST(POST "X\t: 5\r\n\r\n")},
    {400, "a NUL in a value", REQUEST(POST "X: a\0b\r\n\r\n")},
    {400, "a NUL in a name", REQUEST(POST "X\0Y: b\r\n\r\n")},
    {400, "a bell in a value", REQUEST(POST "X: a\ab\r\n\r\n")},
    {400, "a DEL in a value", REQUEST(POST "X: a\x7f\r\n\r\n")},
    {400, "a lone CR in a value", REQUEST(POST "X: a\rb\r\n\r\n")},
    {400, "a lone CR in front of a header", REQUEST(POST "X:\rTransfer-Encoding: chunked\r\n\r\n")},
    {400, "a lone LF behind a value", REQUEST(POST "X: a\nY: b\r\n\r\n")},
    {400, "a lone LF at the end", REQUEST(POST "X: a\r\n\n")},
    {400, "lone LFs alone", REQUEST("GET / HTTP/1.1\nHost: x\n\n")},
    {400, "a folded header", REQUEST(POST "X: a\r\n b\r\n\r\n")},
    {400, "a folded header with a tab", REQUEST(POST "X: a\r\n\tb\r\n\r\n")},
    {400, "a fold in front of all headers", REQUEST("GET / HTTP/1.1\r\n Host: x\r\n\r\n")},
    {400, "a header without a colon", REQUEST(POST "X\r\n\r\n")},
    {400, "a header without a name", REQUEST(POST ": x\r\n\r\n")},
    {400, "a name in quotes", REQUEST(POST "\"X\": x\r\n\r\n")},
    {400, "no Host", REQUEST("GET / HTTP/1.1\r\n\r\n")},
    {400, "two Hosts", REQUEST("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n")},
    {400, "two Hosts on 1.0", REQUEST("GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n")},
    {400, "a Host with a user", REQUEST("GET / HTTP/1.1\r\nHost: u@x\r\n\r\n")},
    {400, "a Host with a path", REQUEST("GET / HTTP/1.1\r\nHost: x/y\r\n\r\n")},
    {400, "chunks on 1.0", REQUEST("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, "gzip and chunks", REQUEST(POST "Transfer-Encoding: gzip, chunked\r\n\r\n")},
    {400, "chunks and gzip", REQUEST(POST "Transfer-Encoding: chunked, gzip\r\n\r\n")},
    {400, "chunks twice", REQUEST(POST "Transfer-Encoding: chunked, chunked\r\n\r\n")},
    {400, "two codings",
     REQUEST(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, "identity", REQUEST(POST "Transfer-Encoding: identity\r\n\r\n")},
    {400, "a coding that looks like it", REQUEST(POST "Transfer-Encoding: xchunked\r\n\r\n")},
    {400, "a coding in quotes", REQUEST(POST "Transfer-Encoding: \"chunked\"\r\n\r\n")},
    {400, "a vertical tab in a coding", REQUEST(POST "Transfer-Encoding: \vchunked\r\n\r\n")},
    {400, "two spaces behind the method", REQUEST("GET  / HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "two spaces behind the URL", REQUEST("GET /  HTTP/1.1\r\nHost: x\r\n\r\n")},
    {505, "a space behind the version", REQUEST("GET / HTTP/1.1 \r\nHost: x\r\n\r\n")},
    {400, "a tab behind the method", REQUEST("GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "a space in front", REQUEST(" GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "TLS", REQUEST("\x16\x03\x01\x02\x01\x01")},
    {505, "no version", REQUEST("GET /\r\n\r\n")},
    {505, "HTTP/0.9", REQUEST("GET / HTTP/0.9\r\nHost: x\r\n\r\n")},
    {505, "HTTP/1.2", REQUEST("GET / HTTP/1.2\r\nHost: x\r\n\r\n")},
    {505, "HTTP/2.0", REQUEST("GET / HTTP/2.0\r\nHost: x\r\n\r\n")},
    {505, "HTTP/1.10", REQUEST("GET / HTTP/1.10\r\nHost: x\r\n\r\n")},
    {400, "http in small letters", REQUEST("GET / http/1.1\r\nHost: x\r\n\r\n")},
    {501, "a method that nobody has", REQUEST("BREW / HTTP/1.1\r\nHost: x\r\n\r\n")},
    {501, "a method in small letters", REQUEST("get / HTTP/1.1\r\nHost: x\r\n\r\n")},
    {501, "PATCH", REQUEST("PATCH / HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "OPTIONS of no path", REQUEST("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")},
    {501, "TRACE", REQUEST("TRACE / HTTP/1.1\r\nHost: x\r\n\r\n")},
    {501, "CONNECT", REQUEST("CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n")},
    {501, "TRACE", REQUEST("TRACE / HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "a target that is a host", REQUEST("GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "a target that is a star", REQUEST("GET * HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "another scheme", REQUEST("GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "a user in the target", REQUEST("GET http://u@x/ HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "no host in the target", REQUEST("GET http:///x HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "a fragment", REQUEST("GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an escaped NUL", REQUEST("GET /a%00b HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an escaped newline", REQUEST("GET /a%0ab HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an escaped slash", REQUEST("GET /a%2fb HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an escaped slash in capitals", REQUEST("GET /a%2Fb HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an escaped backslash", REQUEST("GET /a%5cb HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "half an escape", REQUEST("GET /a%2 HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an escape of letters", REQUEST("GET /a%zz HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "a percent at the end", REQUEST("GET /a% HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "half an escape before the query", REQUEST("GET /a%2?0 HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "..", REQUEST("GET /.. HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, ".. in the middle", REQUEST("GET /a/../b HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, ".. escaped", REQUEST("GET /a/%2e%2E/b HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, ".. at the end of a full URL", REQUEST("GET http://x/a/.. HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, ". in the middle", REQUEST("GET /a/./b HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an empty segment", REQUEST("GET /a//b HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an empty first segment", REQUEST("GET //a HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "an empty last segment but one", REQUEST("GET /a// HTTP/1.1\r\nHost: x\r\n\r\n")},
    {400, "a byte that is not ASCII", REQUEST("GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n")},
};

TEST(hostile_heads_are_refused_however_they_are_cut)
{
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        int status = feed_all(hostile[i].text, hostile[i].length);
        if (status != hostile[i].status)
            tap_fail(__FILE__, __LINE__, "%s: %d instead of %d", hostile[i].name, status,
                     hostile[i].status);
        CHECK(head.why && head.why[0]);
    }
}

TEST(what_is_wrong_with_a_length_is_told)
{
    static const struct {
        const char *fields, *why;
    } rows[] = {
        {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
         "there are Content-Length and Transfer-Encoding"},
        {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
         "there are Content-Length and Transfer-Encoding"},
        {"Content-Length: 5\r\nContent-Length: 5\r\n", "there are two Content-Lengths"},
        {"Content-Length: 5x\r\n", "the Content-Length is not one"},
        {"Content-Length: 18446744073709551616\r\n", "the Content-Length is not one"},
        {"Transfer-Encoding: chunked, gzip\r\n", "this Transfer-Encoding is not understood"},
    };
    char text[256];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text), POST "%s\r\n", rows[i].fields);
        for (size_t step = 1; step <= strlen(text); step++) {
            CHECK_EQ(feed(text, strlen(text), step), 400);
            CHECK_STR(head.why, rows[i].why);
        }
    }
}

/* Accepts the head and says what was understood. */
static void check_head(const char *text, const char *path, const char *query, const char *host)
{
    size_t length = strlen(text);
    for (size_t step = 1; step <= length; step++) {
        CHECK_EQ(feed(text, length, step), 0);
        CHECK_EQ(head.length, length);
        CHECK_STR(buffer + head.path, path);
        CHECK_STR(buffer + head.query, query);
        CHECK_STR(head.host == WEIR__HEAD_NONE ? "" : buffer + head.host, host);
    }
}

TEST(plain_heads_are_understood)
{
    check_head("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "/", "", "x");
    check_head("GET /a/b%20c?d=%2f&e HTTP/1.1\r\nHost: x:80\r\n\r\n", "/a/b c", "d=%2f&e", "x:80");
    check_head("GET /a/ HTTP/1.1\r\nHost:\r\n\r\n", "/a/", "", "");
    check_head("GET /a?? HTTP/1.1\r\nHost: [::1]:8\r\n\r\n", "/a", "?", "[::1]:8");
    check_head("GET /... HTTP/1.1\r\nHost:\t x \t\r\n\r\n", "/...", "", "x");
    check_head("GET /%C3%a4 HTTP/1.0\r\n\r\n", "/\xc3\xa4", "", "");
    check_head("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "/", "", "x");
    check_head("GET http://real:81/a?b HTTP/1.1\r\nHost: x\r\n\r\n", "/a", "b", "real:81");
    check_head("GET http://real HTTP/1.1\r\nHost: x\r\n\r\n", "/", "", "real");
    check_head("GET HTTPS://r/ HTTP/1.1\r\nHost: x\r\n\r\n", "/", "", "r");
}

TEST(what_a_head_says_of_the_connection)
{
#define SAYS(text) CHECK_EQ(feed(text, sizeof(text) - 1, sizeof(text) - 1), 0)
    SAYS("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(head.keeps_alive && !head.is_http10 && head.body_length == 0);
    SAYS("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade , Close\r\n\r\n");
    CHECK(!head.keeps_alive);
    SAYS("GET / HTTP/1.0\r\n\r\n");
    CHECK(!head.keeps_alive && head.is_http10);
    SAYS("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    CHECK(head.keeps_alive);
    SAYS("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 0012\r\nExpect: 100-Continue\r\n\r\n");
    CHECK(head.body_length == 12 && head.expects_continue && head.method == WEIR__HTTP_PUT);
    SAYS("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked \r\n\r\n");
    CHECK(head.is_chunked && head.body_length == UINT64_MAX);
    SAYS("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\nEmpty:\r\nUpgrade: h2c\r\n\r\n");
    CHECK_EQ(weir__head_find(&head, buffer, "EMPTY"), 2);
    CHECK_STR(buffer + head.fields[2].value, "");
    CHECK_STR(buffer + head.fields[2].name, "Empty");
    CHECK_STR(buffer + head.fields[3].name, "Upgrade");
    CHECK_STR(buffer + head.fields[3].value, "h2c");
    CHECK_EQ(weir__head_find(&head, buffer, "none"), WEIR__HEAD_NONE);
}

static char large[70000];

static size_t repeat(size_t at, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++, at += strlen(text))
        memcpy(large + at, text, strlen(text));
    return at;
}

TEST(caps_of_heads)
{
    size_t at = repeat(0, "GET /", 1);
    at = repeat(at, "a", 4095);
    CHECK_EQ(feed_all(large, repeat(at, " HTTP/1.1\r\nHost: x\r\n\r\n", 1)), 0);
    at = repeat(5, "a", 4096);
    CHECK_EQ(feed_all(large, repeat(at, " HTTP/1.1\r\nHost: x\r\n\r\n", 1)), 414);
    at = repeat(0, "GET / HTTP/1.1\r\nHost: x\r\n", 1);
    at = repeat(at, "A: b\r\n", 63);
    CHECK_EQ(feed_all(large, repeat(at, "\r\n", 1)), 0);
    at = repeat(at, "A: b\r\n", 1);
    CHECK_EQ(feed_all(large, repeat(at, "\r\n", 1)), 431);
    at = repeat(0, "GET / HTTP/1.1\r\nHost: x\r\nX: ", 1);
    at = repeat(at, "b", 16384 - at - 4);
    at = repeat(at, "\r\n\r\n", 1);
    CHECK_EQ(at, 16384);
    CHECK_EQ(feed_all(large, at), 0);
    at = repeat(16380, "b\r\n\r\n", 1);
    CHECK_EQ(feed_all(large, at), 431);
    at = repeat(16380, "b", 49000);
    CHECK_EQ(feed_all(large, at), 431);
}

/* --- chunks --- */

/* What comes out, or "!" and why it was refused, or "?" when more is needed. */
static const char *unchunk(const char *bytes, size_t length, size_t step, size_t *ret_used)
{
    static char text[4096];
    struct weir__chunks chunks = {0};
    size_t out = 0, used = 0;
    for (size_t at = 0; at < length;) {
        size_t count = length - at < step ? length - at : step, run_length;
        const char *from = bytes + at, *end = from + count, *run;
        int result;
        do {
            result = weir__chunks_next(&chunks, &from, end, SIZE_MAX, &run, &run_length);
            if (run_length > 0)
                memcpy(text + out, run, run_length);
            out += run_length;
        } while (result == 0 && run_length > 0);
        used += (size_t)(from - (bytes + at));
        at += count;
        *ret_used = used;
        text[out] = '\0';
        if (result < 0)
            return "!";
        if (result > 0)
            return text;
    }
    return "?";
}

static void check_chunks(const char *bytes, size_t length, const char *wanted, size_t used)
{
    for (size_t step = 1; step <= length; step++) {
        size_t seen = 0;
        CHECK_STR(unchunk(bytes, length, step, &seen), wanted);
        if (used)
            CHECK_EQ(seen, used);
    }
}

#define CHUNKS(text, wanted, used) check_chunks(text, sizeof(text) - 1, wanted, used)

TEST(chunks_are_put_together_however_they_are_cut)
{
    CHUNKS("0\r\n\r\n", "", 5);
    CHUNKS("5\r\nhello\r\n0\r\n\r\nGET", "hello", 15);
    CHUNKS("2\r\nhe\r\n00000003;x=\"y\"\r\nllo\r\n000\r\n\r\n", "hello", 0);
    CHUNKS("A\r\n0123456789\r\n0\r\nTrailer: x\r\nOther:\r\n\r\n", "0123456789", 0);
    CHUNKS("a\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n", 0);
    CHUNKS("5\r\nhello\r\n0\r\n", "?", 0);
}

TEST(hostile_chunks_are_refused_however_they_are_cut)
{
    CHUNKS("0x1\r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("\r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("+1\r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("1 \r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS(" 1\r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("1\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("1\ra\r\n0\r\n\r\n", "!", 0);
    CHUNKS("1;a\nb\r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("1;a\0b\r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("1\r\nab\r\n0\r\n\r\n", "!", 0);
    CHUNKS("1\r\na\n0\r\n\r\n", "!", 0);
    CHUNKS("000000001\r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("fffffffff\r\na\r\n0\r\n\r\n", "!", 0);
    CHUNKS("0\r\nTrailer : x\r\n\r\n", "!", 0);
    CHUNKS("0\r\nTrailer\r\n\r\n", "!", 0);
    CHUNKS("0\r\n folded: x\r\n\r\n", "!", 0);
    CHUNKS("0\r\nA: b\nC: d\r\n\r\n", "!", 0);
    CHUNKS("0\r\n\n", "!", 0);
    CHUNKS("0\r\n: x\r\n\r\n", "!", 0);
}

TEST(what_is_passed_over_is_bounded)
{
    size_t used, at = repeat(0, "1;", 1);
    at = repeat(at, "x", WEIR__CHUNKS_EXTRA);
    CHECK_STR(unchunk(large, repeat(at, "\r\na\r\n0\r\n\r\n", 1), 1000, &used), "a");
    CHECK_STR(unchunk(large, repeat(at, "x\r\na\r\n0\r\n\r\n", 1), 1000, &used), "!");
    at = repeat(0, "0\r\n", 1);
    at = repeat(at, "A: b\r\n", WEIR__CHUNKS_TRAILERS);
    CHECK_STR(unchunk(large, repeat(at, "\r\n", 1), 1000, &used), "");
    CHECK_STR(unchunk(large, repeat(at, "A: b\r\n\r\n", 1), 1000, &used), "!");
}

/* --- timers --- */

#define TICK WEIR__WHEEL_TICK_NS

TEST(timers_are_due_in_time_and_can_be_put_off)
{
    static struct weir__wheel wheel;
    struct weir__timer timers[3] = {0};
    weir__wheel_init(&wheel, 100 * TICK);
    CHECK(weir__wheel_next_ns(&wheel) == WEIR_NEVER);
    weir__timer_set(&wheel, &timers[0], 105 * TICK + 1);
    weir__timer_set(&wheel, &timers[1], 110 * TICK);
    weir__timer_set(&wheel, &timers[2], 5000 * TICK); /* beyond the wheel */
    CHECK(weir__wheel_next_ns(&wheel) == 106 * TICK);
    CHECK(!weir__wheel_due(&wheel, 105 * TICK + 1));
    CHECK(!weir__wheel_due(&wheel, 106 * TICK - 1));
    CHECK(weir__wheel_due(&wheel, 106 * TICK) == &timers[0]);
    CHECK(!weir__wheel_due(&wheel, 106 * TICK));
    weir__timer_set(&wheel, &timers[1], 200 * TICK); /* put off */
    CHECK(!weir__wheel_due(&wheel, 150 * TICK));
    weir__timer_set(&wheel, &timers[1], 160 * TICK); /* moved forward */
    CHECK(weir__wheel_due(&wheel, 161 * TICK) == &timers[1]);
    CHECK(!weir__wheel_due(&wheel, 4999 * TICK));
    CHECK(weir__wheel_due(&wheel, 5001 * TICK) == &timers[2]);
    weir__timer_set(&wheel, &timers[0], 5002 * TICK);
    weir__timer_set(&wheel, &timers[0], WEIR_NEVER);
    CHECK(!weir__wheel_due(&wheel, 9000 * TICK));
}

TEST(timers_set_at_random_come_neither_early_nor_late)
{
    enum { COUNT = 300 };
    static struct weir__wheel wheel;
    static struct weir__timer timers[COUNT];
    uint64_t now = 7 * TICK, random = 88172645463325252u;
    size_t left = 0;
    weir__wheel_init(&wheel, now);
    for (int step = 0; step < 20000; step++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        struct weir__timer *timer = &timers[random % COUNT];
        if (step < 15000) {
            left += !timer->_next;
            weir__timer_set(&wheel, timer, now + (random >> 20) % (2000 * TICK));
        }
        now += (random >> 30) % (3 * TICK);
        for (struct weir__timer *due; (due = weir__wheel_due(&wheel, now)); left--)
            CHECK(due->due_ns / TICK < now / TICK);
        uint64_t soonest = WEIR_NEVER;
        for (size_t i = 0; i < COUNT; i++)
            if (timers[i]._next && timers[i].due_ns < soonest)
                soonest = timers[i].due_ns;
        CHECK(soonest == WEIR_NEVER || soonest / TICK >= now / TICK);
        CHECK(soonest == WEIR_NEVER || weir__wheel_next_ns(&wheel) <= (soonest / TICK + 1) * TICK);
    }
    CHECK_EQ(left, 0);
}

TAP_MAIN()
