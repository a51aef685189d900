/* metrics.h - what all the objects say about themselves, as one text for Prometheus.
 *
 *     struct weir_metrics *metrics;
 *     error = weir_metrics_new(&metrics, "node", NULL);
 *     error = weir_metrics_add_budget(metrics, &files);
 *     ...
 *     error = weir_metrics_write_buffer(metrics, text, sizeof(text), &size, &deadline);
 *     ...
 *     weir_metrics_remove(metrics, &files);
 *     weir_budget_fini(&files);
 *
 * A registry knows objects of core (budgets, queues, breakers, ...), which report under their own
 * names, and the program's own counters, gauges and histograms, which get a name, a help text and
 * labels here. Nothing is measured twice: an object counts what it does anyway, and a scrape reads
 * it.
 *
 * Promises
 * - The text is one that `promtool check metrics` accepts without a warning: whatever it would warn
 *   of is refused with Invalid when it is added. Families are sorted by name, with one HELP and one
 *   TYPE each; the series of a family are sorted by label; nothing is ever NaN.
 * - An object is read once in a scrape, so what is said about it in one text is one consistent
 *   picture: gauges are derived from the same counts that are exported beside them (permits out =
 *   acquired - released).
 * - Time is counted in nanoseconds and exported in seconds, exactly: this holds for every family
 *   whose name ends in _seconds or _seconds_total.
 * - Adding, removing and scraping may happen at once, from any threads. When remove returns, nobody
 *   reads the object any more. It waits for the one read of that object that may be under way
 *   (microseconds), never for a scrape, and never for a sink.
 * - A scrape allocates nothing and calls the sink with no lock held. Scrapes of one registry take
 *   turns, first in, first out; the deadline bounds the wait for the turn.
 * - Limits: families_max families of the program's own and sources_max sources (counters, gauges,
 *   histograms and objects); Overflow at the limit. A source has a bounded number of series.
 *
 * Memory order: none; a counter orders nothing.
 *
 * Cost: weir_counter_add() is one relaxed addition. Adding and removing look through the sources of
 * the registry. A scrape is one short lock and one read for each source, and the printing.
 *
 * Ownership: the registry belongs to whoever made it; it copies names, help and labels, and borrows
 * the objects, each of which must be removed before its own fini.
 */
#ifndef WEIR_METRICS_H
#define WEIR_METRICS_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/histogram.h>

WEIR_BEGIN_DECLS

struct weir_adapt;
struct weir_admit;
struct weir_breaker;
struct weir_budget;
struct weir_bus;
struct weir_crew;
struct weir_frontier;
struct weir_hedge;
struct weir_pool;
struct weir_queue;
struct weir_rate;
struct weir_sched;
struct weir_slots;
struct weir_watch;

/* ---- counters and gauges ---- */

/* Only grows. All zero is a counter at 0; it needs no init and no fini. */
struct weir_counter {
    uint64_t _value;
};

#define WEIR_COUNTER_INIT                                                                          \
    {                                                                                              \
        0                                                                                          \
    }

WEIR_API void weir_counter_add(struct weir_counter *counter, uint64_t n);
WEIR_API uint64_t weir_counter_value(const struct weir_counter *counter);

/* Goes up and down. All zero is a gauge at 0. */
struct weir_gauge {
    int64_t _value;
};

#define WEIR_GAUGE_INIT                                                                            \
    {                                                                                              \
        0                                                                                          \
    }

WEIR_API void weir_gauge_set(struct weir_gauge *gauge, int64_t value);
WEIR_API void weir_gauge_add(struct weir_gauge *gauge, int64_t n);
WEIR_API int64_t weir_gauge_value(const struct weir_gauge *gauge);

/* ---- the registry ---- */

#define WEIR_METRICS_FAMILIES_DEFAULT 256u
#define WEIR_METRICS_SOURCES_DEFAULT  4096u
#define WEIR_METRICS_LIMIT_MAX        65536u

/* Of the slots' devices at most so many are listed one by one; their sums cover all. */
#define WEIR_METRICS_DEVICES_MAX 65

struct weir_metrics;

/* A zero stands for the default; neither may be above WEIR_METRICS_LIMIT_MAX. */
struct weir_metrics_options {
    uint32_t families_max; /* names of the program's own; one that was used once stays known */
    uint32_t sources_max;  /* what is attached */
};

/* options may be NULL. Invalid: a limit out of bounds, a bad name. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_metrics_new(struct weir_metrics **ret_metrics, const char *name,
                                            const struct weir_metrics_options *options);

/* Asserts that no scrape is under way; lets go of all that is still attached. Accepts NULL. */
WEIR_API void weir_metrics_free(struct weir_metrics *metrics);

/* ---- the program's own ---- */

#define WEIR_METRICS_NAME_MAX   96  /* bytes of the name of a metric or a label, with the NUL */
#define WEIR_METRICS_HELP_MAX   256 /* bytes of a help text, with the NUL */
#define WEIR_METRICS_VALUE_MAX  128 /* bytes of the value of a label, with the NUL */
#define WEIR_METRICS_LABELS_MAX 4

struct weir_metrics_label {
    const char *name;
    const char *value;
};

/* What a series is called. All of it is copied. */
struct weir_metrics_series {
    const char *name; /* [a-z_][a-z0-9_]*, in base units; of a counter, ending in _total */
    const char *help; /* the same for all series of a name */
    const struct weir_metrics_label *labels;
    size_t label_count;
};

/* Invalid: a name, help or label that is not well formed, a name that core exports itself, one that
 * is known with another type or help, or one that promtool would warn of; the detail says what
 * would be right. Exists: this series, or this very object, is there already. Overflow: too many
 * families or sources. NoMemory. A histogram must not change its bounds while it is attached. */
WEIR_API WEIR_MUST_USE int weir_metrics_add_counter(struct weir_metrics *metrics,
                                                    const struct weir_counter *counter,
                                                    const struct weir_metrics_series *series);
WEIR_API WEIR_MUST_USE int weir_metrics_add_gauge(struct weir_metrics *metrics,
                                                  const struct weir_gauge *gauge,
                                                  const struct weir_metrics_series *series);
WEIR_API WEIR_MUST_USE int weir_metrics_add_histogram(struct weir_metrics *metrics,
                                                      const struct weir_histogram *histogram,
                                                      const struct weir_metrics_series *series);

/* ---- objects of core ---- */

/* Exists: an object of this kind and name, or this very object, is there already. Overflow: too
 * many sources. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_metrics_add_adapt(struct weir_metrics *metrics,
                                                  struct weir_adapt *adapt);
WEIR_API WEIR_MUST_USE int weir_metrics_add_admit(struct weir_metrics *metrics,
                                                  struct weir_admit *admit);
WEIR_API WEIR_MUST_USE int weir_metrics_add_breaker(struct weir_metrics *metrics,
                                                    struct weir_breaker *breaker);
WEIR_API WEIR_MUST_USE int weir_metrics_add_budget(struct weir_metrics *metrics,
                                                   struct weir_budget *budget);
WEIR_API WEIR_MUST_USE int weir_metrics_add_bus(struct weir_metrics *metrics, struct weir_bus *bus);
WEIR_API WEIR_MUST_USE int weir_metrics_add_crew(struct weir_metrics *metrics,
                                                 struct weir_crew *crew);
WEIR_API WEIR_MUST_USE int weir_metrics_add_frontier(struct weir_metrics *metrics,
                                                     struct weir_frontier *frontier);
WEIR_API WEIR_MUST_USE int weir_metrics_add_hedge(struct weir_metrics *metrics,
                                                  struct weir_hedge *hedge);
WEIR_API WEIR_MUST_USE int weir_metrics_add_pool(struct weir_metrics *metrics,
                                                 struct weir_pool *pool);
WEIR_API WEIR_MUST_USE int weir_metrics_add_queue(struct weir_metrics *metrics,
                                                  struct weir_queue *queue);
WEIR_API WEIR_MUST_USE int weir_metrics_add_rate(struct weir_metrics *metrics,
                                                 struct weir_rate *rate);
WEIR_API WEIR_MUST_USE int weir_metrics_add_sched(struct weir_metrics *metrics,
                                                  struct weir_sched *sched);
WEIR_API WEIR_MUST_USE int weir_metrics_add_slots(struct weir_metrics *metrics,
                                                  struct weir_slots *slots);
WEIR_API WEIR_MUST_USE int weir_metrics_add_watch(struct weir_metrics *metrics,
                                                  struct weir_watch *watch);

/* Takes away whatever was added under this address. When it returns, the registry does not read the
 * object any more. An object that is not attached, and NULL, are left alone. Call it with no lock
 * held. */
WEIR_API void weir_metrics_remove(struct weir_metrics *metrics, const void *object);

/* ---- scraping ---- */

/* The type to be stated in HTTP. */
#define WEIR_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Hands the text to the sink piece by piece. An error of the sink (negative) ends the scrape and is
 * returned. The sink must not wait, since other scrapes wait for this one, nor scrape the same
 * registry. Timeout or Canceled: other scrapes went on for too long, and nothing was written. */
WEIR_API WEIR_MUST_USE int weir_metrics_write(struct weir_metrics *metrics,
                                              int (*sink)(void *arg, const char *bytes,
                                                          size_t size),
                                              void *arg, const struct weir_deadline *deadline);

/* Writes the text and a NUL into the buffer; *ret_size is without the NUL. Overflow when the room
 * is too small: the detail says how much is needed. */
WEIR_API WEIR_MUST_USE int weir_metrics_write_buffer(struct weir_metrics *metrics, char *buffer,
                                                     size_t room, size_t *ret_size,
                                                     const struct weir_deadline *deadline);

/* ---- introspection ---- */

/* A consistent picture; scrapes, added and removed only grow. */
struct weir_metrics_stats {
    uint64_t families; /* of the program's own */
    uint64_t families_max;
    uint64_t sources; /* those removed during a scrape count until it is over */
    uint64_t sources_max;
    uint64_t waiting; /* scrapes that wait for their turn */
    uint64_t added;
    uint64_t removed;
    uint64_t scrapes; /* begun */
};

WEIR_API void weir_metrics_read(struct weir_metrics *metrics, struct weir_metrics_stats *ret_stats);
WEIR_API const char *weir_metrics_name(const struct weir_metrics *metrics);

WEIR_END_DECLS

#endif
