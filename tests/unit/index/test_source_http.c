/* Tests of what sources are called, and of which of them are the same. */
#include <string.h>

#include "source_http.h"
#include "tap.h"

static const char *called(const char *kind, const char *base)
{
    static char name[32];
    weir__source_name(name, kind, base);
    return name;
}

TEST(a_host_that_fits_is_told_whole)
{
    CHECK_STR(called("dht", "http://127.0.0.1:8000"), "dht 127.0.0.1:8000");
    CHECK_STR(called("sibling", "https://Node-1.example/"), "sibling node-1.example:443");
    CHECK_STR(called("sibling", "http://12345678901234567:65535"),
              "sibling 12345678901234567:65535");
    CHECK_STR(called("sibling", "http://[fd00::7]:8471"), "sibling [fd00::7]:8471");
    CHECK_STR(called("sibling", "ftp://x"), "sibling");
}

/* Pairs that begin or end alike, and what differs only in its path. */
TEST(names_are_unique)
{
    static const char *const bases[] = {
        "http://weir-index-node-01.internal:8471",
        "http://weir-index-node-02.internal:8471",
        "http://weir-index-node-01.internal:8472",
        "http://weir-index-node-01.external:8471",
        "http://node-1.eu-west.weir.example.org:65535",
        "http://node-1.eu-east.weir.example.org:65535",
        "http://[2001:db8:0:1:2:3:4:5]:8471",
        "http://[2001:db8:0:2:2:3:4:5]:8471",
        "http://gateway:8471",
        "http://gateway:8471/a",
        "http://gateway:8471/b",
        "http://10.100.100.100:8471/a",
        "http://10.200.100.100:8471/a",
    };
    enum { COUNT = sizeof(bases) / sizeof(bases[0]) };
    char names[COUNT][32];
    for (size_t i = 0; i < COUNT; i++) {
        weir__source_name(names[i], "sibling", bases[i]);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(names[i], names[j]) != 0);
    }
}

TEST(a_host_that_is_cut_is_known_by_its_number)
{
    CHECK_HAS(called("sibling", "http://weir-index-node-01.internal:8471"), "sibling x-node-01~");
    CHECK_HAS(called("sibling", "http://weir-index-node-01.internal:8471"), ":8471");
    CHECK_HAS(called("sibling", "http://10.100.100.100:8471/a"), ".100.100~");
    CHECK_HAS(called("sibling", "http://a.long.name.of.a.domain:8471"), "sibling a~");
}

TEST(the_same_is_the_same)
{
    CHECK(weir__source_is_same("http://a:1", "http://a:1"));
    CHECK(weir__source_is_same("http://a:1", "https://A:1/"));
    CHECK(weir__source_is_same("http://a", "http://a:80"));
    CHECK(weir__source_is_same("http://a:1/x", "https://a:1/x/"));
    CHECK(!weir__source_is_same("http://a:1", "http://a:2"));
    CHECK(!weir__source_is_same("http://a:1", "http://b:1"));
    CHECK(!weir__source_is_same("http://a:1/x", "http://a:1/y"));
    CHECK(!weir__source_is_same("http://a:1/x", "http://a:1"));
    CHECK(!weir__source_is_same("http://a", "https://a"));
    CHECK(!weir__source_is_same("x", "x"));
}

TAP_MAIN()
