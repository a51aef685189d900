/* metrics_registry.h - the registry inside, as metrics.c and metrics_scrape.c share it.
 *
 * A source is one attached counter or object, with room for the snapshot that a scrape takes of it.
 * Sources of one kind of object, or of one family of the program's own, are a list sorted by label.
 *
 * Ownership: the registry owns its families and sources; a source borrows its object until it is
 * removed, and snapshots belong to the scrape that has the turn.
 */
#ifndef WEIR_CORE_METRICS_REGISTRY_H
#define WEIR_CORE_METRICS_REGISTRY_H

#include <weir/lock.h>

#include "line.h"
#include "metrics.h"

struct weir__metrics_source {
    struct weir__metrics_source *next;
    const void *object;
    void *snapshot;     /* follows the struct, and the labels follow it */
    const char *labels; /* rendered; empty for none */
    bool is_removed;
    struct weir__metrics_source
        *collected; /* the next one that the scrape has read; the scrape's alone */
};

/* The program's own. Never unlinked. */
struct weir__metrics_own {
    struct weir__metrics_own *next; /* sorted by name */
    struct weir__metrics_family family;
    struct weir__metrics_source *sources;
    struct weir__metrics_own *next_collected; /* these two are the scrape's alone */
    struct weir__metrics_source *collected;
    char name[WEIR_METRICS_NAME_MAX];
    char help[WEIR_METRICS_HELP_MAX];
};

struct weir_metrics {
    struct weir_lock lock; /* guards all that follows */
    struct weir__metrics_source *objects[WEIR__METRICS_OBJECTS];
    struct weir__metrics_own *own;
    struct weir__metrics_source *reading;
    struct weir__waiter *removers; /* that wait for the end of the read */
    struct weir__waiter *scrapers; /* that wait for the turn */
    uint32_t waiting;
    bool is_scraping;
    bool has_removed; /* sources to be unlinked at the end of the turn */
    uint32_t families;
    uint32_t families_max;
    uint32_t sources;
    uint32_t sources_max;
    uint64_t added;
    uint64_t removed;
    uint64_t scrapes;
    char name[WEIR_NAME_MAX];
};

/* All lists one after the other: those of the objects by number, then the families. */
struct weir__metrics_cursor {
    size_t kind;
    struct weir__metrics_own *own;
};

/* Under the lock. The first list, and the next one; NULL at the end. */
struct weir__metrics_source **weir__metrics_first_list(struct weir_metrics *metrics,
                                                       struct weir__metrics_cursor *cursor);
struct weir__metrics_source **weir__metrics_next_list(struct weir_metrics *metrics,
                                                      struct weir__metrics_cursor *cursor);

/* Under the lock. The source of this object that is not removed, or NULL. */
struct weir__metrics_source *weir__metrics_find_object(struct weir_metrics *metrics,
                                                       const void *object);

/* Frees a chain of sources. */
void weir__metrics_free_sources(struct weir__metrics_source *source);

#endif
