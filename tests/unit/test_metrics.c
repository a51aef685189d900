/* The registry: names and labels, limits, text, snapshots, adding and removing, turns of scrapes.
 */
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <weir/breaker.h>
#include <weir/budget.h>
#include <weir/metrics.h>
#include <weir/queue.h>

#include "clock.h"
#include "metrics.h"
#include "thread.h"

static struct weir_metrics *metrics;
static char text[1 << 16];

static void begin(void)
{
    weir__clock_fake(WEIR_NS_PER_S);
    CHECK_EQ(weir_metrics_new(&metrics, "node", NULL), 0);
}

static void end(void)
{
    weir_metrics_free(metrics);
    weir__clock_unfake();
}

static const char *scrape(void)
{
    size_t size = 0;
    CHECK_EQ(weir_metrics_write_buffer(metrics, text, sizeof(text), &size, NULL), 0);
    CHECK_EQ(size, strlen(text));
    return text;
}

static struct weir_metrics_series named(const char *name)
{
    return (struct weir_metrics_series){name, "Help.", NULL, 0};
}

TEST(counters_and_gauges_count)
{
    struct weir_counter counter = WEIR_COUNTER_INIT;
    struct weir_gauge gauge = WEIR_GAUGE_INIT;
    weir_counter_add(&counter, 2);
    weir_counter_add(&counter, 3);
    CHECK_EQ(weir_counter_value(&counter), 5);
    weir_gauge_set(&gauge, 7);
    weir_gauge_add(&gauge, -9);
    CHECK_EQ(weir_gauge_value(&gauge), -2);
}

TEST(an_empty_registry_writes_nothing)
{
    begin();
    CHECK_STR(scrape(), "");
    CHECK_STR(weir_metrics_name(metrics), "node");
    end();
}

TEST(the_text_of_the_three_types)
{
    begin();
    struct weir_counter counter = WEIR_COUNTER_INIT;
    struct weir_gauge gauge = WEIR_GAUGE_INIT;
    struct weir_histogram histogram;
    static const uint64_t bounds[] = {1500000, WEIR_NS_PER_S};
    struct weir_metrics_series series = named("calls_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counter, &series), 0);
    series = named("balance_seconds");
    CHECK_EQ(weir_metrics_add_gauge(metrics, &gauge, &series), 0);
    series = named("wait_seconds");
    CHECK_EQ(weir_histogram_init(&histogram, bounds, 2), 0);
    CHECK_EQ(weir_metrics_add_histogram(metrics, &histogram, &series), 0);
    weir_counter_add(&counter, UINT64_MAX);
    weir_gauge_set(&gauge, -1500000000);
    weir_histogram_observe(&histogram, 1500000);
    weir_histogram_observe(&histogram, WEIR_NS_PER_S);
    weir_histogram_observe(&histogram, 2 * WEIR_NS_PER_S);
    CHECK_STR(scrape(), "# HELP balance_seconds Help.\n"
                        "# TYPE balance_seconds gauge\n"
                        "balance_seconds -1.5\n"
                        "# HELP calls_total Help.\n"
                        "# TYPE calls_total counter\n"
                        "calls_total 18446744073709551615\n"
                        "# HELP wait_seconds Help.\n"
                        "# TYPE wait_seconds histogram\n"
                        "wait_seconds_bucket{le=\"0.0015\"} 1\n"
                        "wait_seconds_bucket{le=\"1\"} 2\n"
                        "wait_seconds_bucket{le=\"+Inf\"} 3\n"
                        "wait_seconds_sum 3.0015\n"
                        "wait_seconds_count 3\n");
    end();
}

TEST(the_lowest_gauge_has_its_digits)
{
    begin();
    struct weir_gauge gauge = WEIR_GAUGE_INIT;
    struct weir_metrics_series series = named("balance");
    CHECK_EQ(weir_metrics_add_gauge(metrics, &gauge, &series), 0);
    weir_gauge_set(&gauge, INT64_MIN);
    CHECK_HAS(scrape(), "balance -9223372036854775808\n");
    weir_gauge_set(&gauge, -1);
    CHECK_HAS(scrape(), "balance -1\n");
    end();
}

TEST(series_are_sorted_and_escaped)
{
    begin();
    struct weir_counter counters[3] = {WEIR_COUNTER_INIT};
    const char *values[] = {"z", "a\\b\"c\nd", ""};
    for (int i = 0; i < 3; i++) {
        struct weir_metrics_label label = {"op", values[i]};
        struct weir_metrics_series series = {"io_total", "One \\ and\ntwo.", &label, 1};
        CHECK_EQ(weir_metrics_add_counter(metrics, &counters[i], &series), 0);
    }
    CHECK_STR(scrape(), "# HELP io_total One \\\\ and\\ntwo.\n"
                        "# TYPE io_total counter\n"
                        "io_total{op=\"\"} 0\n"
                        "io_total{op=\"a\\\\b\\\"c\\nd\"} 0\n"
                        "io_total{op=\"z\"} 0\n");
    end();
}

TEST(the_order_of_labels_makes_no_difference)
{
    begin();
    struct weir_counter one = WEIR_COUNTER_INIT, other = WEIR_COUNTER_INIT;
    struct weir_metrics_label labels[] = {{"op", "read"}, {"disk", "a"}, {"zone", "x"}};
    struct weir_metrics_series series = {"io_total", "Help.", labels, 3};
    CHECK_EQ(weir_metrics_add_counter(metrics, &one, &series), 0);
    CHECK_HAS(scrape(), "io_total{disk=\"a\",op=\"read\",zone=\"x\"} 0\n");
    struct weir_metrics_label turned[] = {{"zone", "x"}, {"op", "read"}, {"disk", "a"}};
    series.labels = turned;
    CHECK_EQ(weir_metrics_add_counter(metrics, &other, &series), -WEIR_E_EXISTS);
    CHECK_STR(weir_error_detail(),
              "metric 'io_total': a series with these labels is attached already");
    end();
}

/* The same refusal, and a part of what is said about it. */
static void refused(const struct weir_metrics_series *series, const char *said)
{
    struct weir_gauge gauge = WEIR_GAUGE_INIT;
    CHECK_EQ(weir_metrics_add_gauge(metrics, &gauge, series), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), said);
}

TEST(bad_names_are_refused_with_the_reason)
{
    begin();
    static const struct {
        const char *name;
        const char *said;
    } cases[] = {
        {NULL, "begins with a letter"},
        {"", "begins with a letter"},
        {"9lives", "begins with a letter"},
        {"camelCase", "lower case letters"},
        {"with:colon", "lower case letters"},
        {"sp ace", "lower case letters"},
        {"__reserved", "begins with a letter"},
        {"calls_total", "end in '_total'"},
        {"a_count", "belong to histograms"},
        {"a_sum", "belong to histograms"},
        {"a_bucket", "belong to histograms"},
        {"index_dht_lookup_ms", "use the base unit"},
        {"wait_milliseconds", "use the base unit"},
        {"size_megabytes", "use the base unit"},
        {"up_days", "use the base unit"},
        {"a_gauge", "leave the type out"},
        {"weir_budget_capacity", "core exports this name itself"},
        {"weir_queue_depth", "core exports this name itself"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir_metrics_series series = named(cases[i].name);
        refused(&series, cases[i].said);
    }
    char name[WEIR_METRICS_NAME_MAX + 1];
    memset(name, 'a', sizeof(name));
    name[WEIR_METRICS_NAME_MAX] = '\0';
    struct weir_metrics_series series = named(name);
    refused(&series, "at most 95 bytes");
    name[WEIR_METRICS_NAME_MAX - 1] = '\0';
    struct weir_gauge gauge = WEIR_GAUGE_INIT;
    CHECK_EQ(weir_metrics_add_gauge(metrics, &gauge, &series), 0);
    struct weir_counter counter = WEIR_COUNTER_INIT;
    series = named("calls");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counter, &series), -WEIR_E_INVALID);
    end();
}

TEST(bad_help_and_labels_are_refused_with_the_reason)
{
    begin();
    char huge[WEIR_METRICS_HELP_MAX + 1];
    memset(huge, 'a', sizeof(huge));
    huge[WEIR_METRICS_HELP_MAX] = '\0';
    const char *helps[] = {NULL, "", "\xff", huge};
    for (int i = 0; i < 4; i++) {
        struct weir_metrics_series series = {"x", helps[i], NULL, 0};
        refused(&series, "a help text is needed");
    }
    static const char *const values[] = {NULL,
                                         "\xff",
                                         "\xc3",
                                         "\xc0\x80",
                                         "\xed\xa0\x80",
                                         "\xe0\x80\x80",
                                         "\xf4\x90\x80\x80",
                                         "\xf0\x80\x80\x80"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct weir_metrics_label label = {"op", values[i]};
        struct weir_metrics_series series = {"x", "Help.", &label, 1};
        refused(&series, "the value of label 1 must be UTF-8 of at most 127 bytes");
    }
    static const char *const names[] = {NULL, "", "le", "quantile", "__x", "Op", "a-b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct weir_metrics_label labels[] = {{"op", "a"}, {names[i], "b"}};
        struct weir_metrics_series series = {"x", "Help.", labels, 2};
        refused(&series, "the name of label 2");
    }
    struct weir_metrics_label same[] = {{"op", "a"}, {"op", "b"}};
    struct weir_metrics_series twice = {"x", "Help.", same, 2};
    refused(&twice, "labels 1 and 2 have the same name");
    struct weir_metrics_label five[5] = {{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}};
    struct weir_metrics_series many = {"x", "Help.", five, 5};
    refused(&many, "5 labels given, there may be 4");
    struct weir_metrics_stats stats;
    weir_metrics_read(metrics, &stats);
    CHECK_EQ(stats.sources + stats.families, 0);
    end();
}

TEST(the_longest_labels_fit)
{
    begin();
    char names[4][WEIR_METRICS_NAME_MAX], value[WEIR_METRICS_VALUE_MAX];
    struct weir_metrics_label labels[4];
    memset(value, '"', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 4; i++) {
        memset(names[i], 'a' + i, sizeof(names[i]) - 1);
        names[i][sizeof(names[i]) - 1] = '\0';
        labels[i] = (struct weir_metrics_label){names[i], value};
    }
    struct weir_metrics_series series = {"x", "Help.", labels, 4};
    struct weir_gauge gauge = WEIR_GAUGE_INIT;
    CHECK_EQ(weir_metrics_add_gauge(metrics, &gauge, &series), 0);
    CHECK_EQ(strlen(scrape()),
             strlen("# HELP x Help.\n# TYPE x gauge\nx{} 0\n") + 4 * (95 + 3 + 2 * 127) + 3);
    end();
}

TEST(a_name_has_one_type_and_one_help)
{
    begin();
    struct weir_gauge gauge = WEIR_GAUGE_INIT, other = WEIR_GAUGE_INIT;
    struct weir_histogram histogram;
    CHECK_EQ(weir_histogram_init(&histogram, weir_histogram_time_bounds_ns, 3), 0);
    struct weir_metrics_label label = {"op", "a"};
    struct weir_metrics_series series = named("wait_seconds");
    CHECK_EQ(weir_metrics_add_gauge(metrics, &gauge, &series), 0);
    series.labels = &label;
    series.label_count = 1;
    CHECK_EQ(weir_metrics_add_histogram(metrics, &histogram, &series), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "another type");
    series.help = "Other.";
    CHECK_EQ(weir_metrics_add_gauge(metrics, &other, &series), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "another help");
    end();
}

TEST(limits_are_stated_and_kept)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_metrics_options options = {.families_max = 1, .sources_max = 2};
    CHECK_EQ(weir_metrics_new(&metrics, "small", &options), 0);
    struct weir_counter counters[3] = {WEIR_COUNTER_INIT};
    struct weir_metrics_series series = named("a_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counters[0], &series), 0);
    series = named("b_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counters[1], &series), -WEIR_E_OVERFLOW);
    CHECK_STR(weir_error_detail(), "metrics 'small': 1 families are known, there may be 1");
    struct weir_metrics_label label = {"op", "a"};
    series = (struct weir_metrics_series){"a_total", "Help.", &label, 1};
    CHECK_EQ(weir_metrics_add_counter(metrics, &counters[1], &series), 0);
    label.value = "b";
    CHECK_EQ(weir_metrics_add_counter(metrics, &counters[2], &series), -WEIR_E_OVERFLOW);
    CHECK_STR(weir_error_detail(), "metrics 'small': 2 sources are attached, there may be 2");
    weir_metrics_remove(metrics, &counters[0]);
    CHECK_EQ(weir_metrics_add_counter(metrics, &counters[2], &series), 0);
    struct weir_metrics_stats stats;
    weir_metrics_read(metrics, &stats);
    CHECK_EQ(stats.sources, 2);
    CHECK_EQ(stats.sources_max, 2);
    CHECK_EQ(stats.families, 1);
    CHECK_EQ(stats.added - stats.removed, 2);
    end();
}

TEST(bad_options_are_refused)
{
    struct weir_metrics_options options = {.families_max = WEIR_METRICS_LIMIT_MAX + 1};
    CHECK_EQ(weir_metrics_new(&metrics, "node", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "at most 65536 of each");
    CHECK_EQ(weir_metrics_new(&metrics, "", NULL), -WEIR_E_INVALID);
    CHECK_EQ(weir_metrics_new(&metrics, NULL, NULL), -WEIR_E_INVALID);
    weir_metrics_free(NULL);
}

TEST(objects_report_by_their_names)
{
    begin();
    struct weir_budget files, bytes, files_too;
    CHECK_EQ(weir_budget_init(&files, "files", 10), 0);
    CHECK_EQ(weir_budget_init(&bytes, "bytes", 4096), 0);
    CHECK_EQ(weir_budget_init(&files_too, "files", 1), 0);
    CHECK_EQ(weir_metrics_add_budget(metrics, &files), 0);
    CHECK_EQ(weir_metrics_add_budget(metrics, &bytes), 0);
    CHECK_EQ(weir_metrics_add_budget(metrics, &files_too), -WEIR_E_EXISTS);
    CHECK_STR(weir_error_detail(), "'files': an object of this kind and name is attached already");
    CHECK_EQ(weir_metrics_add_budget(metrics, &files), -WEIR_E_EXISTS);
    CHECK_HAS(scrape(), "# HELP weir_budget_capacity Units that may be out.\n"
                        "# TYPE weir_budget_capacity gauge\n"
                        "weir_budget_capacity{budget=\"bytes\"} 4096\n"
                        "weir_budget_capacity{budget=\"files\"} 10\n");
    weir_metrics_remove(metrics, &files);
    CHECK(!strstr(scrape(), "files"));
    CHECK_EQ(weir_metrics_add_budget(metrics, &files_too), 0);
    CHECK_HAS(scrape(), "weir_budget_capacity{budget=\"files\"} 1\n");
    weir_metrics_remove(metrics, &files_too);
    weir_metrics_remove(metrics, &bytes);
    CHECK_STR(scrape(), "");
    weir_budget_fini(&files);
    weir_budget_fini(&bytes);
    weir_budget_fini(&files_too);
    end();
}

static long long value_of(const char *series)
{
    const char *at = strstr(text, series);
    CHECK(at && at[strlen(series)] == ' ');
    return atoll(at + strlen(series));
}

TEST(gauges_are_the_difference_of_their_pairs)
{
    begin();
    struct weir_budget budget;
    struct weir_permit permits[3] = {WEIR_PERMIT_NONE}, none = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_init(&budget, "b", 10), 0);
    CHECK_EQ(weir_metrics_add_budget(metrics, &budget), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(weir_budget_try(&budget, 3, &permits[i]), 0);
    weir_permit_release(&permits[0]);
    struct weir_deadline past = {weir_now_ns(), NULL};
    CHECK_EQ(weir_budget_acquire(&budget, 9, &none, &past), -WEIR_E_TIMEOUT);
    CHECK_EQ(weir_budget_try(&budget, 9, &none), -WEIR_E_BUSY);
    scrape();
    CHECK_EQ(value_of("weir_budget_acquired_total{budget=\"b\"}"), 3);
    CHECK_EQ(value_of("weir_budget_released_total{budget=\"b\"}"), 1);
    CHECK_EQ(value_of("weir_budget_permits{budget=\"b\"}"), 2);
    CHECK_EQ(value_of("weir_budget_in_use{budget=\"b\"}"), 6);
    CHECK_EQ(value_of("weir_budget_available{budget=\"b\"}"), 4);
    CHECK_EQ(value_of("weir_budget_enqueued_total{budget=\"b\"}"), 1);
    CHECK_EQ(value_of("weir_budget_timed_out_total{budget=\"b\"}"), 1);
    CHECK_EQ(value_of("weir_budget_busy_total{budget=\"b\"}"), 1);
    CHECK_EQ(value_of("weir_budget_waiting{budget=\"b\"}"), 0);
    weir_permit_release(&permits[1]);
    weir_permit_release(&permits[2]);
    weir_metrics_remove(metrics, &budget);
    weir_budget_fini(&budget);
    end();
}

TEST(the_names_that_the_services_need)
{
    begin();
    struct weir_queue queue;
    struct weir_breaker breaker;
    struct weir_queue_options options = {.item_size = 1, .capacity = 1};
    CHECK_EQ(weir_queue_init(&queue, "work", &options), 0);
    CHECK_EQ(weir_breaker_init(&breaker, "etcd", NULL), 0);
    CHECK_EQ(weir_metrics_add_queue(metrics, &queue), 0);
    CHECK_EQ(weir_metrics_add_breaker(metrics, &breaker), 0);
    CHECK_EQ(weir_queue_try_send(&queue, "x"), 0);
    CHECK_EQ(weir_queue_try_send(&queue, "x"), -WEIR_E_BUSY);
    scrape();
    CHECK_EQ(value_of("weir_queue_depth{queue=\"work\"}"), 1);
    CHECK_EQ(value_of("weir_queue_dropped_total{queue=\"work\"}"), 1);
    CHECK_EQ(value_of("weir_breaker_state{target=\"etcd\",state=\"closed\"}"), 1);
    CHECK_EQ(value_of("weir_breaker_state{target=\"etcd\",state=\"open\"}"), 0);
    CHECK_EQ(value_of("weir_breaker_state{target=\"etcd\",state=\"half_open\"}"), 0);
    CHECK_EQ(value_of("weir_breaker_open_total{target=\"etcd\"}"), 0);
    weir_metrics_remove(metrics, &queue);
    weir_metrics_remove(metrics, &breaker);
    CHECK_EQ(weir_queue_drain(&queue, NULL, NULL), 1);
    weir_queue_fini(&queue);
    weir_breaker_fini(&breaker);
    end();
}

TEST(own_families_stand_between_those_of_core)
{
    begin();
    struct weir_counter counter = WEIR_COUNTER_INIT;
    struct weir_budget budget;
    CHECK_EQ(weir_budget_init(&budget, "b", 1), 0);
    CHECK_EQ(weir_metrics_add_budget(metrics, &budget), 0);
    struct weir_metrics_series series = named("weir_budget_beyond_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counter, &series), 0);
    const char *all = scrape();
    CHECK(strstr(all, "weir_budget_available") < strstr(all, "weir_budget_beyond_total"));
    CHECK(strstr(all, "weir_budget_beyond_total") < strstr(all, "weir_budget_busy_total"));
    weir_metrics_remove(metrics, &budget);
    weir_budget_fini(&budget);
    end();
}

TEST(the_table_of_core_is_sorted_and_keeps_the_rules)
{
    for (size_t i = 0; i < weir__metrics_family_count; i++) {
        const struct weir__metrics_family *family = &weir__metrics_families[i];
        if (i > 0)
            CHECK(strcmp(weir__metrics_families[i - 1].name, family->name) < 0);
        CHECK(weir__metrics_is_core(family->name));
        struct weir_metrics_series series = named(family->name);
        CHECK_EQ(weir__metrics_check(&series, family->type), -WEIR_E_INVALID);
        CHECK_HAS(weir_error_detail(), "core exports this name itself");
        size_t length = strlen(family->help);
        CHECK(length > 0 && family->help[length - 1] == '.');
    }
}

TEST(a_buffer_that_is_too_small)
{
    begin();
    struct weir_counter counter = WEIR_COUNTER_INIT;
    struct weir_metrics_series series = named("a_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counter, &series), 0);
    size_t needed = strlen(scrape()) + 1, size = 77;
    char small[128];
    memset(small, 'x', sizeof(small));
    CHECK_EQ(weir_metrics_write_buffer(metrics, small, needed - 1, &size, NULL), -WEIR_E_OVERFLOW);
    char said[100];
    snprintf(said, sizeof(said), "the text needs %zu bytes with its NUL, the buffer has %zu",
             needed, needed - 1);
    CHECK_HAS(weir_error_detail(), said);
    CHECK_EQ(size, 77);
    CHECK_EQ(small[needed - 1], 'x');
    CHECK_EQ(weir_metrics_write_buffer(metrics, NULL, 0, &size, NULL), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir_metrics_write_buffer(metrics, small, needed, &size, NULL), 0);
    CHECK_EQ(size, needed - 1);
    end();
}

/* A sink that fails at its second piece, and what else a sink may do. */
static struct {
    unsigned calls;
    unsigned fails_at;
    struct weir_counter *removes;
    struct weir_counter *adds;
    int nested;
} sink_world;

static int sink(void *arg, const char *bytes, size_t size)
{
    (void)bytes;
    CHECK(size > 0 && arg == metrics);
    if (++sink_world.calls == sink_world.fails_at)
        return -WEIR_E_IO;
    if (sink_world.removes)
        weir_metrics_remove(metrics, sink_world.removes);
    if (sink_world.adds) {
        struct weir_metrics_series series = named("zz_total");
        CHECK_EQ(weir_metrics_add_counter(metrics, sink_world.adds, &series), 0);
        sink_world.adds = NULL;
    }
    struct weir_deadline past = {weir_now_ns(), NULL};
    size_t unused;
    sink_world.nested = weir_metrics_write_buffer(metrics, NULL, 0, &unused, &past);
    return 0;
}

TEST(the_error_of_a_sink_ends_the_scrape)
{
    begin();
    struct weir_budget budget;
    CHECK_EQ(weir_budget_init(&budget, "b", 1), 0);
    CHECK_EQ(weir_metrics_add_budget(metrics, &budget), 0);
    memset(&sink_world, 0, sizeof(sink_world));
    sink_world.fails_at = 2;
    CHECK_EQ(weir_metrics_write(metrics, sink, metrics, NULL), -WEIR_E_IO);
    CHECK_EQ(sink_world.calls, 2);
    CHECK_HAS(scrape(), "weir_budget_waiting");
    weir_metrics_remove(metrics, &budget);
    weir_budget_fini(&budget);
    end();
}

TEST(adding_and_removing_while_it_is_printed)
{
    begin();
    struct weir_counter old = WEIR_COUNTER_INIT, new = WEIR_COUNTER_INIT;
    struct weir_metrics_series series = named("a_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &old, &series), 0);
    memset(&sink_world, 0, sizeof(sink_world));
    sink_world.removes = &old;
    sink_world.adds = &new;
    CHECK_EQ(weir_metrics_write(metrics, sink, metrics, NULL), 0);
    CHECK_EQ(sink_world.nested, -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "metrics 'node': other scrapes took too long");
    CHECK(!strstr(scrape(), "a_total"));
    CHECK_HAS(text, "zz_total 0\n");
    struct weir_metrics_stats stats;
    weir_metrics_read(metrics, &stats);
    CHECK_EQ(stats.sources, 1);
    CHECK_EQ(stats.scrapes, 2);
    end();
}

TEST(removing_what_is_not_there)
{
    begin();
    struct weir_counter counter = WEIR_COUNTER_INIT;
    weir_metrics_remove(metrics, &counter);
    weir_metrics_remove(metrics, NULL);
    weir_metrics_remove(NULL, &counter);
    struct weir_metrics_series series = named("a_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counter, &series), 0);
    series = named("b_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counter, &series), -WEIR_E_EXISTS);
    CHECK_HAS(weir_error_detail(), "this object is attached already");
    end();
}

static int free_within(void *arg, const char *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    weir_metrics_free(arg);
    return 0;
}

static void frees_too_early(void *arg)
{
    (void)!weir_metrics_write(arg, free_within, arg, NULL);
}

TEST(free_while_a_scrape_is_under_way_is_a_fault)
{
    begin();
    struct weir_counter counter = WEIR_COUNTER_INIT;
    struct weir_metrics_series series = named("a_total");
    CHECK_EQ(weir_metrics_add_counter(metrics, &counter, &series), 0);
    CHECK(tap_dies(frees_too_early, metrics, "metrics 'node': freed while a scrape is under way"));
    end();
}

TAP_MAIN()
