/* numbers.c - what a service tells about itself.
 *
 * Objects of core tell of themselves (parts.c). The names of the first design (queue_depth,
 * io_timeouts_total, ...) are told beside them, and what the server counts, and the service; these
 * are sampled when somebody looks.
 */
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "daemon_part.h"
#include "require.h"

#include "banned.h"

#define BUSY_HELP    "Requests and connections refused at a limit, to come again later."
#define DENIED_HELP  "Requests not let in."

#define COUNTERS_MAX 192u
#define GAUGES_MAX   64u

struct weir__daemon_numbers {
    struct weir_counter counters[COUNTERS_MAX]; /* sampled ones */
    uint64_t seen[COUNTERS_MAX];
    struct weir_gauge gauges[GAUGES_MAX];
    size_t next_counter, next_gauge; /* while sampling */
    int error;
};

/* One pass over all samples registers them, every later one brings them up to date: what is told is
 * written down once. */
struct weir__daemon_pass {
    struct weir__daemon *daemon;
    struct weir__daemon_numbers *numbers;
    bool is_first;
};

static struct weir_metrics_series series_of(const char *name, const char *help,
                                            const struct weir_metrics_label *label)
{
    return (struct weir_metrics_series){name, help, label, label && label->name ? 1 : 0};
}

void weir__daemon_counter(struct weir__daemon_pass *pass, const char *name, const char *help,
                          const char *label, const char *value, uint64_t now)
{
    struct weir__daemon_numbers *numbers = pass->numbers;
    struct weir_metrics_label one = {label, value};
    size_t at = numbers->next_counter++;
    if (at >= COUNTERS_MAX) {
        numbers->error = -WEIR_E_OVERFLOW;
        return;
    }
    struct weir_metrics_series series = series_of(name, help, &one);
    if (pass->is_first && !numbers->error)
        numbers->error =
            weir_metrics_add_counter(pass->daemon->metrics, &numbers->counters[at], &series);
    if (now > numbers->seen[at])
        weir_counter_add(&numbers->counters[at], now - numbers->seen[at]);
    numbers->seen[at] = now;
}

void weir__daemon_gauge(struct weir__daemon_pass *pass, const char *name, const char *help,
                        const char *label, const char *value, uint64_t now)
{
    struct weir__daemon_numbers *numbers = pass->numbers;
    struct weir_metrics_label one = {label, value};
    size_t at = numbers->next_gauge++;
    if (at >= GAUGES_MAX) {
        numbers->error = -WEIR_E_OVERFLOW;
        return;
    }
    struct weir_metrics_series series = series_of(name, help, &one);
    if (pass->is_first && !numbers->error)
        numbers->error =
            weir_metrics_add_gauge(pass->daemon->metrics, &numbers->gauges[at], &series);
    weir_gauge_set(&numbers->gauges[at], now > INT64_MAX ? INT64_MAX : (int64_t)now);
}

/* --- what is sampled of every service --- */

static void sample_kind(struct weir__daemon_pass *pass, const struct weir_crew_report *report,
                        const char *name)
{
    struct weir_crew_kind none = {.spawned = 0};
    const struct weir_crew_kind *kind = &none;
    for (uint64_t i = 0; i < report->kind_count; i++)
        if (strcmp(report->kinds[i].name, name) == 0)
            kind = &report->kinds[i];
    weir__daemon_counter(pass, "tasks_spawned_total", "Threads started.", "kind", name,
                         kind->spawned);
    weir__daemon_counter(pass, "tasks_aborted_total",
                         "Threads still at work at the drain deadline.", "kind", name,
                         kind->aborted);
    weir__daemon_counter(pass, "tasks_canceled_total", "Threads that were canceled.", "kind", name,
                         kind->canceled);
}

void weir__daemon_sample_crew(struct weir__daemon_pass *pass, struct weir_crew *crew,
                              const char *const *kinds)
{
    struct weir_crew_report report;
    weir_crew_read(crew, &report);
    for (; *kinds; kinds++)
        sample_kind(pass, &report, *kinds);
}

static void sample_threads(struct weir__daemon_pass *pass)
{
    struct weir_crew_report report;
    weir_crew_read(pass->daemon->crew, &report);
    sample_kind(pass, &report, "loop");
    for (const struct weir__daemon_post *post = pass->daemon->service->posts; post->kind; post++)
        sample_kind(pass, &report, post->kind);
}

static void sample_events(struct weir__daemon_pass *pass)
{
    struct weir_bus_stats events;
    weir_bus_read(&pass->daemon->events, &events);
    weir__daemon_counter(pass, "queue_dropped_total", WEIR__DAEMON_DROPPED_HELP, "queue", "events",
                         events.lagged_total);
    weir__daemon_counter(pass, "bus_lagged_total", "Events that subscribers missed.", "topic",
                         "events", events.lagged_total);
    weir__daemon_counter(pass, "audit_lost_total",
                         "Events that could not be written to the audit log.", NULL, NULL,
                         weir_counter_value(&pass->daemon->counts.audit_lost));
}

static void sample_server(struct weir__daemon_pass *pass)
{
    static const char *const ops[] = {"read", "write", "idle", "handshake"};
    static const char *const reasons[] = {"connections", "address", "descriptors", "memory",
                                          "bodies"};
    static const char *const classes[] = {"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"};
    struct weir__server_stats stats;
    weir__server_read(pass->daemon->server, &stats);
    for (size_t i = 0; i < WEIR__OP_COUNT; i++)
        weir__daemon_counter(pass, "io_timeouts_total", "Waits that took too long.", "op", ops[i],
                             stats.timeouts[i]);
    for (size_t i = 0; i < WEIR__REFUSED_COUNT; i++)
        weir__daemon_counter(pass, "http_refused_total",
                             "Connections and bodies refused at a limit.", "reason", reasons[i],
                             stats.refused[i]);
    for (size_t i = 1; i < 6; i++)
        weir__daemon_counter(pass, "http_responses_total", "Answers by the class of their status.",
                             "class", classes[i], stats.responses[i]);
    weir__daemon_counter(pass, "busy_rejections_total", BUSY_HELP,
                         pass->daemon->service->endpoint_label, "connection",
                         stats.refused[WEIR__REFUSED_ADDRESS] +
                             stats.refused[WEIR__REFUSED_CONNECTIONS]);
    weir__daemon_gauge(pass, "http_connections", "Connections that are open.", NULL, NULL,
                       stats.open);
    weir__daemon_counter(pass, "http_malformed_total", "Requests that are no HTTP as we read it.",
                         NULL, NULL, stats.malformed);
    weir__daemon_counter(pass, "http_received_bytes_total", "Bytes received.", NULL, NULL,
                         stats.bytes_in);
    weir__daemon_counter(pass, "http_sent_bytes_total", "Bytes sent.", NULL, NULL, stats.bytes_out);
    weir__daemon_counter(pass, "http_aborted_total", "Answers that did not leave whole.", NULL,
                         NULL, stats.aborted);
}

static void sample_all(struct weir__daemon *daemon, bool is_first)
{
    struct weir__daemon_pass pass = {daemon, daemon->numbers, is_first};
    daemon->numbers->next_counter = daemon->numbers->next_gauge = 0;
    sample_events(&pass);
    sample_threads(&pass);
    sample_server(&pass);
    if (daemon->service->sample)
        daemon->service->sample(daemon, &pass);
}

void weir__daemon_numbers_sample(struct weir__daemon *daemon)
{
    sample_all(daemon, false);
}

/* --- counters that are kept as they are --- */

int weir__daemon_add_counter(struct weir__daemon *daemon, struct weir_counter *counter,
                             const char *name, const char *help, const char *label,
                             const char *value)
{
    struct weir_metrics_label one = {label, value};
    struct weir_metrics_series series = series_of(name, help, &one);
    return weir_metrics_add_counter(daemon->metrics, counter, &series);
}

int weir__daemon_add_histogram(struct weir__daemon *daemon, struct weir_histogram *histogram,
                               const char *name, const char *help, const char *label,
                               const char *value)
{
    struct weir_metrics_label one = {label, value};
    struct weir_metrics_series series = series_of(name, help, &one);
    int error =
        weir_histogram_init(histogram, weir_histogram_time_bounds_ns, WEIR_HISTOGRAM_TIME_COUNT);
    return error ? error : weir_metrics_add_histogram(daemon->metrics, histogram, &series);
}

static int add_endpoints(struct weir__daemon *daemon)
{
    const struct weir__daemon_service *service = daemon->service;
    struct weir__daemon_counts *counts = &daemon->counts;
    int error = 0;
    for (size_t i = 0; !error && service->endpoints[i]; i++) {
        WEIR__REQUIRE(i < WEIR__DAEMON_ENDPOINTS_MAX, "endpoint", service->endpoints[i],
                      "is too many");
        error = weir__daemon_add_counter(daemon, &counts->busy[i], "busy_rejections_total",
                                         BUSY_HELP, service->endpoint_label, service->endpoints[i]);
        if (!error)
            error =
                weir__daemon_add_histogram(daemon, &counts->latency[i], "request_duration_seconds",
                                           "From the first byte to the end of the answer.",
                                           service->endpoint_label, service->endpoints[i]);
    }
    return error;
}

static int add_own(struct weir__daemon *daemon)
{
    struct weir__daemon_counts *counts = &daemon->counts;
    const struct {
        struct weir_counter *counter;
        const char *name, *help, *label, *value;
    } own[] = {
        {&counts->late, "work_timeouts_total", "Requests whose deadline passed.", NULL, NULL},
        {&counts->unauthorized, "access_denied_total", DENIED_HELP, "reason", "unauthorized"},
        {&counts->forbidden, "access_denied_total", DENIED_HELP, "reason", "forbidden"},
        {&counts->cross_site, "access_denied_total", DENIED_HELP, "reason", "cross_site"},
        {&counts->replaced, "tasks_replaced_total",
         "Threads that took the place of one that had ended.", NULL, NULL},
    };
    int error = add_endpoints(daemon);
    for (size_t i = 0; !error && i < sizeof(own) / sizeof(own[0]); i++)
        error = weir__daemon_add_counter(daemon, own[i].counter, own[i].name, own[i].help,
                                         own[i].label, own[i].value);
    return error;
}

int weir__daemon_numbers_new(struct weir__daemon *daemon)
{
    daemon->numbers = weir__base_alloc(1, sizeof(*daemon->numbers));
    int error = daemon->numbers ? weir_metrics_new(&daemon->metrics, daemon->service->name, NULL)
                                : -WEIR_E_NO_MEMORY;
    if (!error)
        error = add_own(daemon);
    if (!error && daemon->service->add_metrics)
        error = daemon->service->add_metrics(daemon);
    if (!error)
        error = weir__daemon_add_parts(daemon);
    if (error)
        return error;
    sample_all(daemon, true);
    return daemon->numbers->error;
}

void weir__daemon_numbers_free(struct weir__daemon *daemon)
{
    weir_metrics_free(daemon->metrics);
    daemon->metrics = NULL;
    weir__base_free(daemon->numbers);
    daemon->numbers = NULL;
}
