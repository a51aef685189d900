/* Ranking: region, then latency in steps, then the later issue; and never the order of the input.
 */
#include "tap.h"

#include <stdio.h>

#include "rank.h"

static struct weir__provider make(const char *url, const char *region, uint64_t latency_ns,
                                  int64_t issued_s)
{
    struct weir__provider provider = {.latency_ns = latency_ns, .issued_s = issued_s};
    snprintf(provider.url, sizeof(provider.url), "%s", url);
    snprintf(provider.region, sizeof(provider.region), "%s", region);
    return provider;
}

TEST(near_before_quick_before_new)
{
    struct weir__provider providers[] = {
        make("far-quick", "us", 1000, 9), make("near-slow", "eu", 900000, 9),
        make("near-quick-old", "eu", 1000, 1),
        make("near-quick-new", "eu", 1023, 9), /* the same step as 1000 */
    };
    weir__rank(providers, 4, "eu");
    CHECK_STR(providers[0].url, "near-quick-new");
    CHECK_STR(providers[1].url, "near-quick-old");
    CHECK_STR(providers[2].url, "near-slow");
    CHECK_STR(providers[3].url, "far-quick");
    weir__rank(providers, 4, ""); /* no region is nearer than another */
    CHECK_STR(providers[0].url, "far-quick");
}

TEST(not_known_counts_as_the_median)
{
    struct weir__provider providers[] = {
        make("slow", "", 1 << 20, 5),
        make("new", "", 0, 5),
        make("middle", "", 1 << 10, 4),
        make("quick", "", 1 << 5, 5),
    };
    weir__rank(providers, 4, "");
    CHECK_STR(providers[0].url, "quick");
    CHECK_STR(providers[1].url, "new");
    CHECK_STR(providers[2].url, "middle");
    CHECK_STR(providers[3].url, "slow");
}

/* Any order of the same providers gives the same ranking, ties of everything but the key included.
 */
TEST(the_order_of_the_input_does_not_count)
{
    enum { COUNT = 40, TIMES = 500 };
    static struct weir__provider wanted[COUNT], shuffled[COUNT];
    uint64_t random = 99;
    for (unsigned i = 0; i < COUNT; i++) {
        char url[32];
        snprintf(url, sizeof(url), "http://%u/", i / 3);
        wanted[i] = make(url, i % 3 ? "eu" : "us", i % 5 ? UINT64_C(1) << (i % 7) : 0, i % 4);
        if (i >= COUNT - 4)
            wanted[i] = wanted[0];
        wanted[i].key.bytes[0] = (unsigned char)i;
        wanted[i].record = i;
    }
    memcpy(shuffled, wanted, sizeof(wanted));
    weir__rank(wanted, COUNT, "eu");
    for (int t = 0; t < TIMES; t++) {
        for (unsigned i = COUNT - 1; i > 0; i--) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            unsigned j = (unsigned)((random >> 33) % (i + 1));
            struct weir__provider other = shuffled[i];
            shuffled[i] = shuffled[j];
            shuffled[j] = other;
        }
        struct weir__provider ranked[COUNT];
        memcpy(ranked, shuffled, sizeof(ranked));
        weir__rank(ranked, COUNT, "eu");
        for (unsigned i = 0; i < COUNT; i++)
            CHECK_EQ(ranked[i].record, wanted[i].record);
    }
    weir__rank(NULL, 0, "eu");
}

TAP_MAIN()
