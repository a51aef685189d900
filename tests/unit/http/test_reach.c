/* Tests of which addresses may be connected to. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include <weir/error.h>

#include "reach.h"
#include "tap.h"

static bool has(const struct weir__reach *reach, const char *text)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return weir__reach_has(reach, (const struct sockaddr *)&four, sizeof(four));
    CHECK_EQ(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return weir__reach_has(reach, (const struct sockaddr *)&six, sizeof(six));
}

TEST(the_open_internet)
{
    static const char *const open[] = {
        "1.1.1.1",         "9.255.255.255",  "11.0.0.0",        "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.0",      "169.253.255.255", "169.255.0.0",    "172.15.255.255",
        "172.32.0.0",      "192.0.1.0",      "192.167.0.1",     "192.169.0.1",    "198.17.255.0",
        "198.20.0.0",      "223.255.255.1",  "2600::1",         "2001:200::1",    "2a00:1450::1",
        "3ffe::1",         "::ffff:8.8.8.8", "2001:4860::88",
    };
    struct weir__reach reach;
    CHECK_EQ(weir__reach_init(&reach, NULL, 0), 0);
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        CHECK(has(&reach, open[i]));
}

TEST(what_is_not)
{
    static const char *const closed[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
    };
    struct weir__reach reach;
    CHECK_EQ(weir__reach_init(&reach, NULL, 0), 0);
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
        if (has(&reach, closed[i]))
            CHECK_STR(closed[i], "out of reach");
}

TEST(exceptions)
{
    static const char *const some[] = {"10.1.0.0/16", "fd00::/8", "127.0.0.1", "192.0.2.128/25"};
    struct weir__reach reach;
    CHECK_EQ(weir__reach_init(&reach, some, 4), 0);
    CHECK(has(&reach, "10.1.255.3") && has(&reach, "::ffff:10.1.0.0"));
    CHECK(!has(&reach, "10.2.0.0") && !has(&reach, "10.0.255.255"));
    CHECK(has(&reach, "fd77::1") && !has(&reach, "fc77::1"));
    CHECK(has(&reach, "127.0.0.1") && !has(&reach, "127.0.0.2") && !has(&reach, "::1"));
    CHECK(has(&reach, "192.0.2.128") && !has(&reach, "192.0.2.127"));
    CHECK(has(&reach, "1.1.1.1"));
}

TEST(refused)
{
    static const char *const bad[] = {"10.0.0.0/33", "10.0.0.1/8", "", "localhost", "fd00::/129"};
    const char *many[WEIR__REACH_ALLOWED_MAX + 1];
    struct weir__reach reach = {._allowed_count = 7};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_EQ(weir__reach_init(&reach, &bad[i], 1), -WEIR_E_INVALID);
    for (size_t i = 0; i <= WEIR__REACH_ALLOWED_MAX; i++)
        many[i] = "10.0.0.0/8";
    CHECK_EQ(weir__reach_init(&reach, many, WEIR__REACH_ALLOWED_MAX + 1), -WEIR_E_TOO_LARGE);
    CHECK_EQ(reach._allowed_count, 7);
    CHECK_EQ(weir__reach_init(&reach, many, WEIR__REACH_ALLOWED_MAX), 0);
    struct sockaddr other = {.sa_family = AF_UNIX};
    CHECK(!weir__reach_has(&reach, &other, sizeof(other)));
    struct sockaddr_in four = {.sin_family = AF_INET};
    CHECK(!weir__reach_has(&reach, (const struct sockaddr *)&four, 4)); /* cut short */
}

TAP_MAIN()
