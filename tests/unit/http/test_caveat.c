/* Tests of caveats: every kind allows, refuses, and is read strictly. */
#include <sys/un.h>

#include <weir/error.h>

#include "capability_help.h"

/* NULL: it is allowed; "malformed"; or why not. */
static const char *judge(const char *text, const struct weir__token_request *request)
{
    struct weir__caveat caveat;
    /* At the end of memory of its own, so that a read behind it is seen. */
    size_t length = strlen(text);
    char *copy = malloc(length > 0 ? length : 1);
    memcpy(copy, text, length);
    int result = weir__caveat_parse(&caveat, copy, length);
    const char *why = result < 0 ? "malformed" : weir__caveat_refusal(&caveat, request);
    CHECK(result == 0 || result == -WEIR_E_INVALID);
    free(copy);
    return why;
}

#define ALLOWS(text, request)                                                                      \
    do {                                                                                           \
        const char *why = judge(text, request);                                                    \
        if (why)                                                                                   \
            tap_fail(__FILE__, __LINE__, "'%s': %s", text, why);                                   \
    } while (0)

#define REFUSES(text, request, reason)                                                             \
    do {                                                                                           \
        const char *why = judge(text, request);                                                    \
        if (!why || !strstr(why, reason))                                                          \
            tap_fail(__FILE__, __LINE__, "'%s': %s", text, why ? why : "allowed");                 \
    } while (0)

static void check_malformed(const char *const *texts, size_t count)
{
    struct weir__token_request request = get("/o/x");
    for (size_t i = 0; i < count; i++)
        REFUSES(texts[i], &request, "malformed");
}

#define MALFORMED(...)                                                                             \
    do {                                                                                           \
        static const char *const texts[] = {__VA_ARGS__};                                          \
        check_malformed(texts, sizeof(texts) / sizeof(texts[0]));                                  \
    } while (0)

TEST(what_is_not_known)
{
    MALFORMED("", " ", "expires", "expires <", "color = blue", "Method in GET", "method in GET ",
              " method in GET", "method  in GET", "method in  GET", "method not in GET",
              "method = GET", "time < 2026-12-01T00:00:00Z", "path = /o", "body < 5", "body = 5",
              "client = 10.0.0.1/32", "scope under read");
}

TEST(expires)
{
    struct weir__token_request request = get("/o/x");
    ALLOWS("expires < 2026-11-17T15:06:53Z", &request);
    REFUSES("expires < 2026-11-17T15:06:52Z", &request, "expired");
    REFUSES("expires < 1970-01-01T00:00:00Z", &request, "expired");
    ALLOWS("expires < 9999-12-31T23:59:59Z", &request);
    MALFORMED("expires < ", "expires < never", "expires < 2026-12-01", "expires < 1796083200",
              "expires < 2026-12-01T00:00:00Z ", "expires <= 2026-12-01T00:00:00Z",
              "expires < 2026-12-01T00:00:00+00:00", "expires < 2026-02-30T00:00:00Z");
}

TEST(method)
{
    struct weir__token_request request = get("/o/x");
    ALLOWS("method in GET", &request);
    ALLOWS("method in PUT,GET,HEAD", &request);
    REFUSES("method in HEAD", &request, "method");
    request.method = "get";
    REFUSES("method in GET", &request, "method");
    request.method = "PATCH";
    REFUSES("method in GET,HEAD,PUT,POST,DELETE", &request, "method");
    request.method = "";
    REFUSES("method in GET", &request, "method");
    MALFORMED("method in ", "method in get", "method in GET,", "method in ,GET",
              "method in GET,,PUT", "method in GET, PUT", "method in GET,GET", "method in PATCH",
              "method in GETS", "method in *");
}

TEST(path)
{
    static const struct {
        const char *under, *path;
        bool is_allowed;
    } rows[] = {
        {"/", "/", true},
        {"/", "/o/x", true},
        {"/o", "/o", true},
        {"/o", "/o/", true},
        {"/o", "/o/x", true},
        {"/o/", "/o", true},
        {"/o/", "/o/x", true},
        {"/o", "/other", false},
        {"/o/", "/ox", false},
        {"/o/x", "/o", false},
        {"/o/x", "/o/", false},
        {"/o/x", "/o/xy", false},
        {"/o/x", "/o/x/y", true},
        {"/o", "/O/x", false},
        {"/o", "o/x", false},
        {"/o", "", false},
        {"/o", "/o/../admin", false},
        {"/o", "/o/..", false},
        {"/o", "/o/.", false},
        {"/o", "/o/./x", false},
        {"/o", "/o//x", false},
        {"/o", "//o/x", false},
        {"/", "/../x", false},
        {"/o", "/o/...", true},
        {"/o", "/o/.x", true},
        {"/o", "/o/x..", true},
        {"/o", "/o/a\nb", false},
        {"/o", "/o/\x7f", false},
        {"/o/a b", "/o/a b/c", true},
        {"/o/\xc3\xa4", "/o/\xc3\xa4", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[64];
        struct weir__token_request request = get(rows[i].path);
        snprintf(text, sizeof(text), "path under %s", rows[i].under);
        if ((judge(text, &request) == NULL) != rows[i].is_allowed)
            tap_fail(__FILE__, __LINE__, "'%s' and '%s'", text, rows[i].path);
    }
    struct weir__token_request request = get("/o/x");
    request.path = "/o/x\0y"; /* decoded from %00 */
    request.path_length = 6;
    REFUSES("path under /o", &request, "path");
    MALFORMED("path under ", "path under o", "path under //", "path under /o//",
              "path under /o/../p", "path under /.", "path under /o/..", "path under /a\tb");
}

TEST(client)
{
    static const struct {
        const char *in, *client;
        bool is_allowed;
    } rows[] = {
        {"10.0.0.0/8", "10.255.0.1", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.1.2.3/32", "10.1.2.3", true},
        {"10.1.2.3/32", "10.1.2.2", false},
        {"0.0.0.0/0", "1.2.3.4", true},
        {"0.0.0.0/0", "::1", false},
        {"::/0", "1.2.3.4", false},
        {"::/0", "2001:db8::1", true},
        {"10.0.0.0/8", "::ffff:10.0.0.1", true},
        {"10.0.0.0/8", "::ffff:11.0.0.1", false},
        {"::/0", "::ffff:11.0.0.1", false},
        {"2001:db8::/33", "2001:db8:7fff::", true},
        {"2001:db8::/33", "2001:db8:8000::", false},
        {"192.168.0.0/16,10.0.0.0/8,::1/128", "::1", true},
        {"192.168.0.0/16,10.0.0.0/8,::1/128", "::2", false},
        {"192.168.0.0/23", "192.168.1.255", true},
        {"192.168.0.0/23", "192.168.2.0", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        struct weir__token_request request = get("/o/x");
        request.client = address(rows[i].client);
        snprintf(text, sizeof(text), "client in %s", rows[i].in);
        if ((judge(text, &request) == NULL) != rows[i].is_allowed)
            tap_fail(__FILE__, __LINE__, "'%s' and %s", text, rows[i].client);
    }
    struct weir__token_request request = get("/o/x");
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    request.client = NULL;
    REFUSES("client in 0.0.0.0/0,::/0", &request, "client");
    request.client = (const struct sockaddr *)&local;
    REFUSES("client in 0.0.0.0/0,::/0", &request, "client");
    MALFORMED("client in ", "client in 10.0.0.1", "client in 10.0.0.1/8", "client in 10.0.0.0/33",
              "client in 10.0.0.0/08", "client in 10.0.0.0/", "client in 10.0.0/8",
              "client in 10.0.0.0/8,", "client in 10.0.0.0/8, ::1/128", "client in ::1/129",
              "client in ::1/127", "client in ::ffff:10.0.0.0/104", "client in localhost/32",
              "client in 10.0.0.0/8,10.0.0.0/8", "client in fe80::1%eth0/128",
              "client in 1.0.0.0/32,2.0.0.0/32,3.0.0.0/32,4.0.0.0/32,5.0.0.0/32,6.0.0.0/32,"
              "7.0.0.0/32,8.0.0.0/32,9.0.0.0/32,10.0.0.0/32,11.0.0.0/32,12.0.0.0/32,13.0.0.0/32,"
              "14.0.0.0/32,15.0.0.0/32,16.0.0.0/32,17.0.0.0/32");
}

TEST(body)
{
    struct weir__token_request request = get("/o/x");
    request.body_bytes = 65536;
    ALLOWS("body <= 65536", &request);
    REFUSES("body <= 65535", &request, "size");
    REFUSES("body <= 0", &request, "size");
    ALLOWS("body <= 18446744073709551614", &request);
    request.body_bytes = WEIR__BODY_UNKNOWN;
    ALLOWS("body <= 1", &request);
    MALFORMED("body <= ", "body <= 01", "body <= -1", "body <= 1k", "body <= 1.0", "body <= +1",
              "body <= 18446744073709551615", "body <= 18446744073709551616",
              "body <= 99999999999999999999999");
}

TEST(scope)
{
    struct weir__token_request request = get("/o/x");
    ALLOWS("scope in read", &request);
    ALLOWS("scope = read", &request);
    ALLOWS("scope in write,read", &request);
    REFUSES("scope in write,delete,admin,peer", &request, "scope");
    request.scope = WEIR__SCOPE_DELETE;
    REFUSES("scope in admin", &request, "scope"); /* none has another in it */
    ALLOWS("scope = delete", &request);
    MALFORMED("scope in ", "scope in all", "scope in Read", "scope = read,write",
              "scope = ", "scope in read,read", "scope in read,", "scope in read|write");
}

TEST(networks_as_people_write_them)
{
    char text[WEIR__NETWORK_TEXT_SIZE];
    CHECK_EQ(weir__network_write(text, "10.0.0.1"), 0);
    CHECK_STR(text, "10.0.0.1/32");
    CHECK_EQ(weir__network_write(text, "::1"), 0);
    CHECK_STR(text, "::1/128");
    CHECK_EQ(weir__network_write(text, "10.0.0.0/8"), 0);
    CHECK_STR(text, "10.0.0.0/8");
    CHECK_EQ(weir__network_write(text, "10.0.0.1/8"), -WEIR_E_INVALID);
    CHECK_EQ(weir__network_write(text, "host"), -WEIR_E_INVALID);
    CHECK_EQ(weir__network_write(text, ""), -WEIR_E_INVALID);
    CHECK_EQ(weir__network_write(text, "::ffff:1.2.3.4"), -WEIR_E_INVALID);
}

TAP_MAIN()
