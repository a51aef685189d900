/* Every allocation of the registry fails in turn: an error, nothing leaked, what is there stays. */
#include "tap.h"

#include <weir/budget.h>
#include <weir/metrics.h>

#include "sweep.h"

static void everything(void)
{
    struct weir_metrics *metrics = NULL;
    int error = weir_metrics_new(&metrics, "node", NULL);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK_STR(weir_error_detail(), "metrics 'node': no memory");
        CHECK(!metrics);
        return;
    }
    struct weir_budget budget;
    struct weir_counter counters[2] = {WEIR_COUNTER_INIT};
    uint64_t attached = 0;
    CHECK_EQ(weir_budget_init(&budget, "files", 1), 0);
    error = weir_metrics_add_budget(metrics, &budget);
    if (error)
        CHECK_STR(weir_error_detail(), "metrics: no memory to attach 'files'");
    CHECK(error == 0 || error == -WEIR_E_NO_MEMORY);
    attached += !error;
    for (int i = 0; i < 2; i++) {
        struct weir_metrics_label label = {"op", i ? "read" : "write"};
        struct weir_metrics_series series = {"io_total", "Calls.", &label, 1};
        error = weir_metrics_add_counter(metrics, &counters[i], &series);
        if (error)
            CHECK_STR(weir_error_detail(), "metric 'io_total': no memory to attach it");
        CHECK(error == 0 || error == -WEIR_E_NO_MEMORY);
        attached += !error;
    }
    static char text[1 << 16];
    size_t size;
    struct weir_metrics_stats stats;
    weir_metrics_read(metrics, &stats);
    CHECK_EQ(stats.sources, attached);
    CHECK_EQ(weir_metrics_write_buffer(metrics, text, sizeof(text), &size, NULL), 0);
    weir_metrics_remove(metrics, &counters[0]);
    weir_metrics_remove(metrics, &budget);
    weir_budget_fini(&budget);
    weir_metrics_free(metrics);
}

/* One for the registry, one for the object, two for each counter; a scrape has none. */
TEST(survives_every_failing_allocation)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, everything), 6);
}

TAP_MAIN()
