/* Tests of URLs: what is taken apart, what is refused, what is shown. */
#include <stdio.h>

#include <weir/error.h>

#include "tap.h"
#include "url.h"

static char shown[4 * WEIR__URL_MAX];

static const char *show(const char *text)
{
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, sizeof(shown) - 1);
    CHECK_EQ(weir__url_show(text, &buffer), 0);
    snprintf(shown, sizeof(shown), "%s", weir__buffer_text(&buffer));
    weir__buffer_fini(&buffer);
    return shown;
}

static const char *put(const char *text)
{
    struct weir__url url;
    const char *why = "";
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, sizeof(shown) - 1);
    CHECK_EQ(weir__url_parse(&url, text, &why), 0);
    CHECK_EQ(weir__url_put(&url, &buffer), 0);
    snprintf(shown, sizeof(shown), "%s", weir__buffer_text(&buffer));
    weir__buffer_fini(&buffer);
    return shown;
}

static const char *refused(const char *text)
{
    struct weir__url url;
    const char *why = NULL;
    CHECK_EQ(weir__url_parse(&url, text, &why), -WEIR_E_INVALID);
    CHECK(why);
    return why;
}

TEST(what_is_one)
{
    CHECK(weir__url_is_one("http://a"));
    CHECK(weir__url_is_one("HTTPS://a"));
    CHECK(weir__url_is_one("http://"));
    CHECK(!weir__url_is_one("http:/a"));
    CHECK(!weir__url_is_one("http"));
    CHECK(!weir__url_is_one(""));
    CHECK(!weir__url_is_one("ftp://a"));
    CHECK(!weir__url_is_one("httpss://a"));
    CHECK(!weir__url_is_one("./http://a"));
}

TEST(parts)
{
    struct weir__url url;
    const char *why;
    CHECK_EQ(weir__url_parse(&url, "hTTps://me:pw@Host.Example:8443/a/b?c=d#e", &why), 0);
    CHECK(url.is_https && url.has_user);
    CHECK_STR(url.host, "host.example");
    CHECK_EQ(url.port, 8443);
    CHECK_EQ(url.user_length, 5);
    CHECK(memcmp(url.user, "me:pw", 5) == 0);
    CHECK_EQ(url.target_length, strlen("/a/b?c=d"));
    CHECK(memcmp(url.target, "/a/b?c=d", url.target_length) == 0);
    CHECK_EQ(weir__url_parse(&url, "http://a", &why), 0);
    CHECK(!url.is_https && !url.has_user);
    CHECK_EQ(url.port, 80);
    CHECK_EQ(url.target_length, 0);
    CHECK_EQ(weir__url_parse(&url, "https://[::1]:1/", &why), 0);
    CHECK_STR(url.host, "[::1]");
    CHECK_EQ(url.port, 1);
    CHECK_EQ(weir__url_parse(&url, "http://a@b@c/@d", &why), 0);
    CHECK_STR(url.host, "c");
    CHECK_EQ(url.user_length, 3);
    CHECK_EQ(weir__url_parse(&url, "http://h/?user@x", &why), 0);
    CHECK(!url.has_user);
}

TEST(what_is_sent)
{
    CHECK_STR(put("http://a"), "http://a/");
    CHECK_STR(put("HTTP://u:p@A:80/x#y"), "http://a/x");
    CHECK_STR(put("https://a:443/x"), "https://a/x");
    CHECK_STR(put("https://a:80/x"), "https://a:80/x");
    CHECK_STR(put("http://a?q=1"), "http://a/?q=1");
    CHECK_STR(put("http://a/\xc3\xa4?\xff"), "http://a/%C3%A4?%FF");
    CHECK_STR(put("http://[FE80::1]/"), "http://[fe80::1]/");
}

TEST(refusals)
{
    static const char *const hosts[] = {
        "http://",          "http:///x",    "http://@/",    "http://a b/", "http://\xc3\xa4/",
        "http://a\\b/",     "http://a%20/", "http://[::1/", "http://[]/",  "http://[::1]x/",
        "http://[::1%25e]", "http://me@/",  "http://a,b/",  "http://(x)/",
    };
    static const char *const ports[] = {"http://a:/",
                                        "http://a:0/",
                                        "http://a:65536/",
                                        "http://a:8x/",
                                        "http://a:-1/",
                                        "http://a:1:2/",
                                        "http://a:99999999999999999999/",
                                        "http://[::1]:x/",
                                        "http://me:pw/x@h"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
        CHECK(refused(hosts[i]));
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
        CHECK_HAS(refused(ports[i]), "port");
    CHECK_HAS(refused("ftp://a/"), "begin");
    CHECK_HAS(refused("http://a/b c"), "space");
    CHECK_HAS(refused("http://a/\r\nHost: b"), "control");
    CHECK_HAS(refused("http://a/\x7f"), "control");
    CHECK_HAS(refused("http://a%0Ab@h/"), "encoded");
    CHECK_HAS(refused("http://a%2@h/"), "encoded");
    CHECK_HAS(refused("http://a%zz@h/"), "encoded");
    char text[WEIR__URL_MAX + 8];
    memset(text, 'a', sizeof(text));
    memcpy(text, "http://a/", 9);
    text[WEIR__URL_MAX + 1] = '\0';
    CHECK_HAS(refused(text), "longer");
    text[WEIR__URL_MAX] = '\0';
    CHECK(strlen(put(text)) == WEIR__URL_MAX);
    memset(text, 'a', 1200);
    memcpy(text, "http://", 7);
    memcpy(text + 1200, "@h/", 4);
    CHECK_HAS(refused(text), "too long");
    memset(text, 'a', 400);
    memcpy(text, "http://", 7);
    text[400] = '\0';
    CHECK(refused(text));
}

TEST(users)
{
    struct weir__url url;
    const char *why;
    char user[WEIR__URL_USER_MAX], password[WEIR__URL_USER_MAX];
    CHECK_EQ(weir__url_parse(&url, "http://a%40b:c%3ad:e@h/", &why), 0);
    weir__url_user(&url, user, password);
    CHECK_STR(user, "a@b");
    CHECK_STR(password, "c:d:e");
    CHECK_EQ(weir__url_parse(&url, "http://only@h/", &why), 0);
    weir__url_user(&url, user, password);
    CHECK_STR(user, "only");
    CHECK_STR(password, "");
    CHECK_EQ(weir__url_parse(&url, "http://:pw@h/", &why), 0);
    weir__url_user(&url, user, password);
    CHECK_STR(user, "");
    CHECK_STR(password, "pw");
}

TEST(origins)
{
    struct weir__url a, b;
    const char *why;
    static const struct {
        const char *left, *right;
        bool is_same;
    } pairs[] = {
        {"http://a/x", "HTTP://u@A:80/y", true}, {"http://a/", "https://a/", false},
        {"http://a/", "http://b/", false},       {"http://a:1/", "http://a:2/", false},
        {"https://a/", "https://a:443", true},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        CHECK_EQ(weir__url_parse(&a, pairs[i].left, &why), 0);
        CHECK_EQ(weir__url_parse(&b, pairs[i].right, &why), 0);
        CHECK_EQ(weir__url_is_same_origin(&a, &b), pairs[i].is_same);
    }
}

TEST(what_is_shown)
{
    CHECK_STR(show("http://me:secret@host/a/b"), "http://host/a/b");
    CHECK_STR(show("HTTPS://Host:443"), "https://host/");
    CHECK_STR(show("https://host:8443/p?token=abc&x=1&flag&e=&=v#frag"),
              "https://host:8443/p?token=***&x=***&***&e=&=***");
    CHECK_STR(show("http://host?abc"), "http://host/?***");
    CHECK_STR(show("http://host/?"), "http://host/?");
    CHECK_STR(show("http://host/@scope/pkg"), "http://host/@scope/pkg");
    CHECK_STR(show("http://host/a?x=1?y=2"), "http://host/a?x=***");
    /* What is no URL. */
    CHECK_STR(show("http://me:pw/x@host/a"), "http://host/a");
    CHECK_STR(show("http://me:p?w@host/a"), "http://host/a");
    CHECK_STR(show("http://me:p#w@ho st/a?x=y"), "http://ho st/a?***");
    CHECK_STR(show("http://host:x/a#b"), "http://host:***/a?***");
    CHECK_STR(show("http://me:secret"), "http://me:***");
    CHECK_STR(show("http://host:99999/a:b"), "http://host:99999/a:b");
    CHECK_STR(show("plain"), "plain");
    CHECK_STR(show(""), "");
}

TEST(showing_is_all_or_nothing)
{
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, 16);
    CHECK_EQ(weir__buffer_puts(&buffer, "x"), 0);
    CHECK_EQ(weir__url_show("http://a-host-that-is-long/", &buffer), -WEIR_E_OVERFLOW);
    CHECK_STR(weir__buffer_text(&buffer), "x");
    weir__buffer_fini(&buffer);
}

TAP_MAIN()
