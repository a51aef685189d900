/* metrics.h - what the parts of weir_metrics share: the registry (metrics.c, metrics_scrape.c), the
 * objects of core and their families (metrics_core.c, metrics_families.c), names and text
 * (metrics_text.c).
 *
 * Ownership: kinds and families of core are static; an out belongs to the scrape that writes it.
 */
#ifndef WEIR_CORE_METRICS_H
#define WEIR_CORE_METRICS_H

#include <weir/metrics.h>

enum weir__metrics_type {
    WEIR__METRICS_COUNTER,
    WEIR__METRICS_GAUGE,
    WEIR__METRICS_HISTOGRAM,
};

/* What core knows how to read. The first ones, objects with families of their own, in the order of
 * weir__metrics_kinds; the last three have a family for each name that the program gives. */
enum weir__metrics_kind_index {
    WEIR__METRICS_ADAPT,
    WEIR__METRICS_ADMIT,
    WEIR__METRICS_BREAKER,
    WEIR__METRICS_BUDGET,
    WEIR__METRICS_BUS,
    WEIR__METRICS_CREW,
    WEIR__METRICS_FRONTIER,
    WEIR__METRICS_HEDGE,
    WEIR__METRICS_POOL,
    WEIR__METRICS_QUEUE,
    WEIR__METRICS_RATE,
    WEIR__METRICS_SCHED,
    WEIR__METRICS_SLOTS,
    WEIR__METRICS_WATCH,
    WEIR__METRICS_OBJECTS,
    WEIR__METRICS_OWN_COUNTER = WEIR__METRICS_OBJECTS,
    WEIR__METRICS_OWN_GAUGE,
    WEIR__METRICS_OWN_HISTOGRAM,
    WEIR__METRICS_KINDS,
};

struct weir__metrics_kind {
    const char *what;     /* in messages */
    const char *label;    /* the label that carries the object's name */
    size_t snapshot_size; /* what read fills in */
    void (*read)(const void *object, void *snapshot);
};

extern const struct weir__metrics_kind weir__metrics_kinds[WEIR__METRICS_KINDS];

struct weir__metrics_out;

struct weir__metrics_family {
    const char *name;
    const char *help;
    enum weir__metrics_type type;
    enum weir__metrics_kind_index kind;
    /* Writes the samples that a source has in this family. */
    void (*emit)(struct weir__metrics_out *out, const struct weir__metrics_family *family,
                 const char *labels, const void *snapshot);
    size_t at;    /* where in the snapshot */
    size_t minus; /* what is taken off, for derived gauges */
};

/* Sorted by name. */
extern const struct weir__metrics_family weir__metrics_families[];
extern const size_t weir__metrics_family_count;

/* Text on its way to the sink. Errors stay: after the first one nothing more is written. */
struct weir__metrics_out {
    int (*sink)(void *arg, const char *bytes, size_t size);
    void *arg;
    int error;
    const struct weir__metrics_family *family;
    bool has_head; /* HELP and TYPE of the family are written */
    size_t size;
    char bytes[1024];
};

void weir__metrics_flush(struct weir__metrics_out *out);

/* The next samples belong to this family. */
void weir__metrics_begin(struct weir__metrics_out *out, const struct weir__metrics_family *family);

/* One sample. labels and more are rendered ('a="b"'), either may be empty; UINT64_MAX in a gauge
 * stands for no limit, which is +Inf. */
void weir__metrics_sample(struct weir__metrics_out *out, const char *labels, const char *more,
                          uint64_t value);

/* The emit functions that any family may use. */
#define WEIR__METRICS_EMIT(name)                                                                   \
    void weir__metrics_emit_##name(struct weir__metrics_out *out,                                  \
                                   const struct weir__metrics_family *family, const char *labels,  \
                                   const void *snapshot)
WEIR__METRICS_EMIT(number);     /* a uint64_t */
WEIR__METRICS_EMIT(difference); /* of two */
WEIR__METRICS_EMIT(signed);     /* an int64_t */
WEIR__METRICS_EMIT(flag);       /* a bool, as 0 or 1 */
WEIR__METRICS_EMIT(histogram);

/* Those of single objects. */
WEIR__METRICS_EMIT(admit_refused);
WEIR__METRICS_EMIT(breaker_entered);
WEIR__METRICS_EMIT(breaker_state);
WEIR__METRICS_EMIT(crew_state);
WEIR__METRICS_EMIT(rate_waiting);
WEIR__METRICS_EMIT(slots_device);
WEIR__METRICS_EMIT(tasks);

/* Appends 'name="value"' with a comma before it if there is something already. The value is
 * escaped, and bytes that are not UTF-8 are shown as \xNN. Cut off where the room ends. */
void weir__metrics_label(char *text, size_t room, const char *name, const char *value);

/* The most that weir__metrics_label() adds: a name, a value of which each byte becomes five, and
 * four signs around. */
#define WEIR__METRICS_LABEL_ROOM (WEIR_METRICS_NAME_MAX + 5 * WEIR_METRICS_VALUE_MAX + 4)

/* Invalid with the reason, or 0. */
WEIR_MUST_USE int weir__metrics_check(const struct weir_metrics_series *series,
                                      enum weir__metrics_type type);

/* Attaches an object of core under its name. */
WEIR_MUST_USE int weir__metrics_add(struct weir_metrics *metrics,
                                    enum weir__metrics_kind_index kind, const void *object,
                                    const char *name);

/* Whether core has a family of this name. */
bool weir__metrics_is_core(const char *name);

#endif
