/* metrics.c - the registry: what is attached, by which name, and how much of it there may be.
 *
 * State: sorted lists of sources, see metrics_registry.h; all of it under the lock. Memory is taken
 * before the lock and given back after it.
 *
 * Happy path: check the names, render the labels, allocate, and under the lock see that nothing
 * like it is there and that there is room. Scraping and removing: metrics_scrape.c.
 *
 * Failure modes: a family that was made for a series which was then refused stays known, like any
 * other family; so nothing has to be taken back while others look.
 */
#include "metrics_registry.h"

#include <string.h>

#include "assert.h"
#include "atomic.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"

static const struct weir_lock_class metrics_class = {"metrics", WEIR__RANK_METRICS};

/* ---- counters and gauges ---- */

void weir_counter_add(struct weir_counter *counter, uint64_t n)
{
    weir__count(&counter->_value, n);
}

uint64_t weir_counter_value(const struct weir_counter *counter)
{
    return weir__load64_relaxed(&counter->_value);
}

void weir_gauge_set(struct weir_gauge *gauge, int64_t value)
{
    weir__store64_relaxed((uint64_t *)&gauge->_value, (uint64_t)value);
}

void weir_gauge_add(struct weir_gauge *gauge, int64_t n)
{
    weir__count((uint64_t *)&gauge->_value, (uint64_t)n);
}

int64_t weir_gauge_value(const struct weir_gauge *gauge)
{
    return (int64_t)weir__load64_relaxed((const uint64_t *)&gauge->_value);
}

/* ---- life cycle ---- */

int weir_metrics_new(struct weir_metrics **ret_metrics, const char *name,
                     const struct weir_metrics_options *options)
{
    char checked[WEIR_NAME_MAX];
    int error = weir__name_set(checked, name);
    if (error)
        return error;
    uint32_t families_max = options ? options->families_max : 0;
    uint32_t sources_max = options ? options->sources_max : 0;
    if (families_max > WEIR_METRICS_LIMIT_MAX || sources_max > WEIR_METRICS_LIMIT_MAX)
        return weir__fail(
            WEIR_E_INVALID, name,
            "metrics '$n': $1 families and $2 sources were asked for, there may be at "
            "most $3 of each",
            families_max, sources_max, WEIR_METRICS_LIMIT_MAX);
    struct weir_metrics *metrics = weir__alloc(1, sizeof(*metrics));
    if (!metrics)
        return weir__fail(WEIR_E_NO_MEMORY, name, "metrics '$n': no memory", 0, 0, 0);
    weir_lock_init(&metrics->lock, &metrics_class);
    metrics->families_max = families_max ? families_max : WEIR_METRICS_FAMILIES_DEFAULT;
    metrics->sources_max = sources_max ? sources_max : WEIR_METRICS_SOURCES_DEFAULT;
    memcpy(metrics->name, checked, sizeof(checked));
    *ret_metrics = metrics;
    return 0;
}

void weir__metrics_free_sources(struct weir__metrics_source *source)
{
    while (source) {
        struct weir__metrics_source *next = source->next;
        weir__free(source);
        source = next;
    }
}

void weir_metrics_free(struct weir_metrics *metrics)
{
    if (!metrics)
        return;
    WEIR__ASSERT(!metrics->is_scraping && metrics->waiting == 0, "metrics", metrics->name,
                 "freed while a scrape is under way");
    for (size_t i = 0; i < WEIR__METRICS_OBJECTS; i++)
        weir__metrics_free_sources(metrics->objects[i]);
    while (metrics->own) {
        struct weir__metrics_own *own = metrics->own;
        metrics->own = own->next;
        weir__metrics_free_sources(own->sources);
        weir__free(own);
    }
    weir_lock_fini(&metrics->lock);
    weir__free(metrics);
}

/* ---- lists ---- */

struct weir__metrics_source **weir__metrics_first_list(struct weir_metrics *metrics,
                                                       struct weir__metrics_cursor *cursor)
{
    *cursor = (struct weir__metrics_cursor){0, metrics->own};
    return &metrics->objects[0];
}

struct weir__metrics_source **weir__metrics_next_list(struct weir_metrics *metrics,
                                                      struct weir__metrics_cursor *cursor)
{
    if (++cursor->kind < WEIR__METRICS_OBJECTS)
        return &metrics->objects[cursor->kind];
    if (cursor->kind > WEIR__METRICS_OBJECTS && cursor->own)
        cursor->own = cursor->own->next;
    return cursor->own ? &cursor->own->sources : NULL;
}

struct weir__metrics_source *weir__metrics_find_object(struct weir_metrics *metrics,
                                                       const void *object)
{
    struct weir__metrics_cursor cursor;
    for (struct weir__metrics_source **list = weir__metrics_first_list(metrics, &cursor); list;
         list = weir__metrics_next_list(metrics, &cursor))
        for (struct weir__metrics_source *source = *list; source; source = source->next)
            if (source->object == object && !source->is_removed)
                return source;
    return NULL;
}

/* Where in the sorted list the labels belong: before the first that is not less. */
static struct weir__metrics_source **find_place(struct weir__metrics_source **list,
                                                const char *labels)
{
    int below = WEIR__MUTANT(METRICS_ADDS_BEHIND) ? 1 : 0;
    while (*list && strcmp((*list)->labels, labels) < below)
        list = &(*list)->next;
    return list;
}

static bool has_labels(struct weir__metrics_source **place, const char *labels)
{
    for (struct weir__metrics_source *source = *place;
         source && strcmp(source->labels, labels) == 0; source = source->next)
        if (!source->is_removed)
            return true;
    return false;
}

/* ---- adding ---- */

static struct weir__metrics_source *make_source(enum weir__metrics_kind_index kind,
                                                const void *object, const char *labels)
{
    size_t snapshot_size = (weir__metrics_kinds[kind].snapshot_size + 7) & ~(size_t)7;
    size_t labels_size = strlen(labels) + 1;
    struct weir__metrics_source *source =
        weir__alloc(1, sizeof(*source) + snapshot_size + labels_size);
    if (!source)
        return NULL;
    char *copy = (char *)(source + 1) + snapshot_size;
    memcpy(copy, labels, labels_size);
    source->object = object;
    source->snapshot = source + 1;
    source->labels = copy;
    return source;
}

/* Under the lock. Links the source if there is room for it and nothing like it. */
static int link_source(struct weir_metrics *metrics, struct weir__metrics_source **list,
                       struct weir__metrics_source *source, const char *what, const char *name)
{
    struct weir__metrics_source **place = find_place(list, source->labels);
    if (has_labels(place, source->labels))
        return weir__fail(WEIR_E_EXISTS, name, what, 0, 0, 0);
    if (weir__metrics_find_object(metrics, source->object))
        return weir__fail(WEIR_E_EXISTS, name, "'$n': this object is attached already", 0, 0, 0);
    if (metrics->sources >= metrics->sources_max)
        return weir__fail(WEIR_E_OVERFLOW, metrics->name,
                          "metrics '$n': $1 sources are attached, there may be $2",
                          metrics->sources, metrics->sources_max, 0);
    source->next = *place;
    *place = source;
    metrics->sources++;
    metrics->added++;
    return 0;
}

int weir__metrics_add(struct weir_metrics *metrics, enum weir__metrics_kind_index kind,
                      const void *object, const char *name)
{
    char labels[WEIR__METRICS_LABEL_ROOM] = "";
    weir__metrics_label(labels, sizeof(labels), weir__metrics_kinds[kind].label, name);
    struct weir__metrics_source *source = make_source(kind, object, labels);
    if (!source)
        return weir__fail(WEIR_E_NO_MEMORY, name, "metrics: no memory to attach '$n'", 0, 0, 0);
    weir_lock_acquire(&metrics->lock);
    int error = link_source(metrics, &metrics->objects[kind], source,
                            "'$n': an object of this kind and name is attached already", name);
    weir_lock_release(&metrics->lock);
    if (error)
        weir__free(source);
    return error;
}

/* Under the lock. The family of that name; a fresh one, which is used up, if there was none. */
static int find_family(struct weir_metrics *metrics, struct weir__metrics_own **fresh,
                       struct weir__metrics_own **ret_family)
{
    struct weir__metrics_own **place = &metrics->own;
    while (*place && strcmp((*place)->name, (*fresh)->name) < 0)
        place = &(*place)->next;
    if (*place && strcmp((*place)->name, (*fresh)->name) == 0) {
        struct weir__metrics_own *known = *place;
        if (known->family.type != (*fresh)->family.type)
            return weir__fail(WEIR_E_INVALID, known->name,
                              "metric '$n': known with another type; all series of a name have one",
                              0, 0, 0);
        if (strcmp(known->help, (*fresh)->help) != 0)
            return weir__fail(
                WEIR_E_INVALID, known->name,
                "metric '$n': known with another help text; all series of a name have "
                "one",
                0, 0, 0);
        *ret_family = known;
        return 0;
    }
    if (metrics->families >= metrics->families_max)
        return weir__fail(WEIR_E_OVERFLOW, metrics->name,
                          "metrics '$n': $1 families are known, there may be $2", metrics->families,
                          metrics->families_max, 0);
    (*fresh)->next = *place;
    *place = *fresh;
    metrics->families++;
    *ret_family = *fresh;
    *fresh = NULL;
    return 0;
}

static struct weir__metrics_own *make_family(enum weir__metrics_kind_index kind,
                                             const struct weir_metrics_series *series)
{
    static const struct weir__metrics_family forms[] = {
        {.type = WEIR__METRICS_COUNTER, .emit = weir__metrics_emit_number},
        {.type = WEIR__METRICS_GAUGE, .emit = weir__metrics_emit_signed},
        {.type = WEIR__METRICS_HISTOGRAM, .emit = weir__metrics_emit_histogram},
    };
    struct weir__metrics_own *own = weir__alloc(1, sizeof(*own));
    if (!own)
        return NULL;
    memcpy(own->name, series->name, strlen(series->name));
    memcpy(own->help, series->help, strlen(series->help));
    own->family = forms[kind - WEIR__METRICS_OWN_COUNTER];
    own->family.kind = kind;
    own->family.name = own->name;
    own->family.help = own->help;
    return own;
}

/* Sorted by name, so that the same labels are the same text in whatever order they are given. */
static void render_labels(char *text, size_t room, const struct weir_metrics_series *series)
{
    const char *last = "";
    text[0] = '\0';
    for (size_t i = 0; i < series->label_count; i++) {
        const struct weir_metrics_label *least = NULL;
        for (size_t j = 0; j < series->label_count; j++) {
            const struct weir_metrics_label *label = &series->labels[j];
            if (strcmp(label->name, last) > 0 && (!least || strcmp(label->name, least->name) < 0))
                least = label;
        }
        weir__metrics_label(text, room, least->name, least->value);
        last = least->name;
    }
}

static int add_own(struct weir_metrics *metrics, enum weir__metrics_kind_index kind,
                   const void *object, const struct weir_metrics_series *series)
{
    int error =
        weir__metrics_check(series, (enum weir__metrics_type)(kind - WEIR__METRICS_OWN_COUNTER));
    if (error)
        return error;
    char labels[WEIR_METRICS_LABELS_MAX * WEIR__METRICS_LABEL_ROOM];
    render_labels(labels, sizeof(labels), series);
    struct weir__metrics_own *fresh = make_family(kind, series), *own = NULL;
    struct weir__metrics_source *source = make_source(kind, object, labels);
    if (fresh && source) {
        weir_lock_acquire(&metrics->lock);
        error = find_family(metrics, &fresh, &own);
        if (!error)
            error = link_source(metrics, &own->sources, source,
                                "metric '$n': a series with these labels is attached already",
                                series->name);
        weir_lock_release(&metrics->lock);
    } else {
        error = weir__fail(WEIR_E_NO_MEMORY, series->name, "metric '$n': no memory to attach it", 0,
                           0, 0);
    }
    weir__free(fresh);
    if (error)
        weir__free(source);
    return error;
}

int weir_metrics_add_counter(struct weir_metrics *metrics, const struct weir_counter *counter,
                             const struct weir_metrics_series *series)
{
    return add_own(metrics, WEIR__METRICS_OWN_COUNTER, counter, series);
}

int weir_metrics_add_gauge(struct weir_metrics *metrics, const struct weir_gauge *gauge,
                           const struct weir_metrics_series *series)
{
    return add_own(metrics, WEIR__METRICS_OWN_GAUGE, gauge, series);
}

int weir_metrics_add_histogram(struct weir_metrics *metrics, const struct weir_histogram *histogram,
                               const struct weir_metrics_series *series)
{
    return add_own(metrics, WEIR__METRICS_OWN_HISTOGRAM, histogram, series);
}

/* ---- introspection ---- */

void weir_metrics_read(struct weir_metrics *metrics, struct weir_metrics_stats *ret_stats)
{
    weir_lock_acquire(&metrics->lock);
    *ret_stats = (struct weir_metrics_stats){
        .families = metrics->families,
        .families_max = metrics->families_max,
        .sources = metrics->sources,
        .sources_max = metrics->sources_max,
        .waiting = metrics->waiting,
        .added = metrics->added,
        .removed = metrics->removed,
        .scrapes = metrics->scrapes,
    };
    weir_lock_release(&metrics->lock);
}

const char *weir_metrics_name(const struct weir_metrics *metrics)
{
    return metrics->name;
}
