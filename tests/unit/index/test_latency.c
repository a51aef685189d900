/* Latencies: smoothed, bounded in number, the one heard of longest ago goes first. */
#include "tap.h"

#include <stdio.h>

#include "latency.h"

static struct weir__latency *latency;

static void note(unsigned number, uint64_t took_ns)
{
    char url[64];
    snprintf(url, sizeof(url), "http://host-%u/", number);
    weir__latency_note(latency, url, took_ns);
}
static uint64_t get(unsigned number)
{
    char url[64];
    snprintf(url, sizeof(url), "http://host-%u/", number);
    return weir__latency_get(latency, url);
}

TEST(measures_are_smoothed)
{
    CHECK_EQ(weir__latency_new(&latency), 0);
    CHECK_EQ(get(1), 0);
    note(1, 1000);
    CHECK_EQ(get(1), 1000);
    note(1, 2000);
    CHECK_EQ(get(1), 1250);
    note(1, 0); /* it did not answer */
    CHECK_EQ(get(1), (3 * 1250 + WEIR__LATENCY_SILENT_NS) / 4);
    note(2, UINT64_MAX);
    CHECK_EQ(get(2), WEIR__LATENCY_SILENT_NS);
    CHECK_EQ(weir__latency_count(latency), 2);
    weir__latency_free(latency);
    weir__latency_free(NULL);
}

TEST(the_oldest_makes_room)
{
    CHECK_EQ(weir__latency_new(&latency), 0);
    for (unsigned i = 0; i < WEIR__LATENCY_ENTRIES; i++)
        note(i, i + 1);
    note(0, 1); /* heard of again */
    for (unsigned i = 0; i < 10; i++)
        note(100000 + i, 5);
    CHECK_EQ(weir__latency_count(latency), WEIR__LATENCY_ENTRIES);
    CHECK_EQ(get(0), 1);
    for (unsigned i = 1; i <= 10; i++)
        CHECK_EQ(get(i), 0);
    CHECK_EQ(get(11), 12);
    /* Many more than fit: each that was just noted is there, and the table stays as it is. */
    for (unsigned i = 0; i < 3 * WEIR__LATENCY_ENTRIES; i++) {
        note(200000 + i, 7);
        CHECK_EQ(get(200000 + i), 7);
    }
    CHECK_EQ(weir__latency_count(latency), WEIR__LATENCY_ENTRIES);
    weir__latency_free(latency);
}

TEST(a_long_url_is_left_alone)
{
    char url[WEIR__PROVIDER_URL_MAX + 2];
    CHECK_EQ(weir__latency_new(&latency), 0);
    memset(url, 'a', sizeof(url));
    url[WEIR__PROVIDER_URL_MAX + 1] = '\0';
    weir__latency_note(latency, url, 1);
    CHECK_EQ(weir__latency_count(latency), 0);
    url[WEIR__PROVIDER_URL_MAX] = '\0';
    weir__latency_note(latency, url, 1);
    CHECK_EQ(weir__latency_get(latency, url), 1);
    weir__latency_free(latency);
}

TAP_MAIN()
