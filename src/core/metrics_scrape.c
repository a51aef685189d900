/* metrics_scrape.c - reading what is attached, printing it, and taking it away.
 *
 * State, all of it under the lock: the lists of metrics_registry.h; `is_scraping` is the turn;
 * `reading` is the one source whose object is being read just now.
 *
 * Happy path of a scrape: take the turn. Collect: step from source to source under the lock, but
 * read each object with no lock held, since objects' ranks are below ours. Print: family by family
 * from the snapshots, no object is touched any more. Give the turn on.
 *
 * What keeps the pieces apart:
 * - Snapshots, and the chain of the sources that were read, belong to the scrape that has the turn.
 *   So printing needs no lock, and a source that was added since is not printed.
 * - While a scrape has the turn no source is unlinked, so it can let go of the lock between two
 *   steps. Removing marks the source; the end of the turn unlinks and frees it. Until then it
 *   counts towards the limit.
 * - Removing waits while its object is `reading`, on a parking place of its own, and for nothing
 *   else: the mark keeps a read from beginning, and printing needs the snapshot alone.
 * - A removed source that was collected is still printed. If the same series is added again
 *   meanwhile, it goes in before the old one, where the scrape has passed already: so a text never
 *   has a series twice.
 *
 * Failure modes: a turn that is given to a scrape whose deadline passes at that moment is taken all
 * the same (the lock decides), so it is never lost. A sink that fails ends the printing, not the
 * turn's orderly end.
 */
#include <string.h>

#include "atomic.h"
#include "error.h"
#include "futex.h"
#include "lock.h"
#include "metrics_registry.h"
#include "mutants.h"

/* ---- removing ---- */

/* Under the lock, with nobody's turn under way. Returns the chain of what was unlinked. */
static struct weir__metrics_source *unlink_removed(struct weir_metrics *metrics)
{
    struct weir__metrics_source *gone = NULL;
    struct weir__metrics_cursor cursor;
    for (struct weir__metrics_source **list = weir__metrics_first_list(metrics, &cursor); list;
         list = weir__metrics_next_list(metrics, &cursor))
        for (struct weir__metrics_source **place = list; *place;) {
            struct weir__metrics_source *source = *place;
            if (!source->is_removed) {
                place = &source->next;
                continue;
            }
            *place = source->next;
            source->next = gone;
            gone = source;
            metrics->sources--;
        }
    metrics->has_removed = false;
    return gone;
}

void weir_metrics_remove(struct weir_metrics *metrics, const void *object)
{
    if (!metrics || !object)
        return;
    weir_lock_assert_none("held while weir_metrics_remove() may wait for a read");
    struct weir__waiter waiter = {0};
    struct weir__metrics_source *gone = NULL;
    weir_lock_acquire(&metrics->lock);
    struct weir__metrics_source *source = weir__metrics_find_object(metrics, object);
    if (source) {
        source->is_removed = true;
        metrics->has_removed = true;
        metrics->removed++;
    }
    bool must_wait = metrics->reading && metrics->reading->object == object;
    if (WEIR__MUTANT(METRICS_REMOVE_DOES_NOT_WAIT))
        must_wait = false;
    if (must_wait)
        weir__line_append(&metrics->removers, &waiter);
    if (source && (!metrics->is_scraping || WEIR__MUTANT(METRICS_UNLINKS_UNDER_SCRAPE)))
        gone = unlink_removed(metrics);
    weir_lock_release(&metrics->lock);
    weir__metrics_free_sources(gone);
    /* No deadline: a read takes short locks and never waits, and remove must not fail. */
    while (must_wait && !weir__park_is_signaled(&waiter.place))
        weir__futex_wait(&waiter.place.word, 0, WEIR_NEVER);
}

/* ---- scraping ---- */

/* What a scrape has read, in the order of printing. */
struct scrape {
    struct weir__metrics_source *objects[WEIR__METRICS_OBJECTS];
    struct weir__metrics_own *own;
};

static int take_turn(struct weir_metrics *metrics, const struct weir_deadline *deadline)
{
    struct weir__waiter waiter = {0};
    int error = 0;
    weir_lock_acquire(&metrics->lock);
    if (metrics->is_scraping) {
        weir__line_append(&metrics->scrapers, &waiter);
        metrics->waiting++;
        weir_lock_release(&metrics->lock);
        error = weir__park_wait(&waiter.place, deadline);
        weir_lock_acquire(&metrics->lock);
        metrics->waiting--;
        if (!waiter.is_in_line)
            error = WEIR__MUTANT(METRICS_TURN_LOST_ON_TIMEOUT) ? error : 0;
        else
            weir__line_remove(&metrics->scrapers, &waiter);
    }
    if (!error) {
        metrics->is_scraping = true;
        metrics->scrapes++;
    }
    uint64_t waiting = metrics->waiting;
    weir_lock_release(&metrics->lock);
    if (error == -WEIR_E_TIMEOUT || error == -WEIR_E_CANCELED)
        return weir__fail(-error, metrics->name,
                          "metrics '$n': other scrapes took too long, $1 more are waiting", waiting,
                          0, 0);
    return error;
}

/* Frees what was removed meanwhile, and hands the turn, which stays taken, to the next in line. */
static void end_turn(struct weir_metrics *metrics)
{
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&metrics->lock);
    struct weir__metrics_source *gone = metrics->has_removed ? unlink_removed(metrics) : NULL;
    if (metrics->scrapers)
        weir__line_settle(&metrics->scrapers, metrics->scrapers, 0, &wakes);
    else
        metrics->is_scraping = false;
    weir_lock_release(&metrics->lock);
    weir__wakes_send(&wakes);
    weir__metrics_free_sources(gone);
}

/* Under the lock, which is let go of while the object is read. */
static void read_source(struct weir_metrics *metrics, enum weir__metrics_kind_index kind,
                        struct weir__metrics_source *source)
{
    struct weir__wakes wakes = {0};
    metrics->reading = source;
    weir_lock_release(&metrics->lock);
    weir__metrics_kinds[kind].read(source->object, source->snapshot);
    weir_lock_acquire(&metrics->lock);
    metrics->reading = NULL;
    while (metrics->removers && !WEIR__MUTANT(METRICS_READ_WAKES_NOBODY)) {
        weir__line_settle(&metrics->removers, metrics->removers, 0, &wakes);
        if (weir__wakes_is_full(&wakes) || !metrics->removers) {
            weir_lock_release(&metrics->lock);
            weir__wakes_send(&wakes);
            weir_lock_acquire(&metrics->lock);
        }
    }
}

static void collect(struct weir_metrics *metrics, struct scrape *scrape)
{
    struct weir__metrics_own **own_tail = &scrape->own;
    struct weir__metrics_cursor cursor;
    weir_lock_acquire(&metrics->lock);
    for (struct weir__metrics_source **list = weir__metrics_first_list(metrics, &cursor); list;
         list = weir__metrics_next_list(metrics, &cursor)) {
        bool is_own = cursor.kind >= WEIR__METRICS_OBJECTS;
        struct weir__metrics_source **head =
            is_own ? &cursor.own->collected : &scrape->objects[cursor.kind];
        struct weir__metrics_source **tail = head;
        *head = NULL;
        for (struct weir__metrics_source *source = *list; source; source = source->next) {
            if (source->is_removed)
                continue;
            read_source(metrics,
                        is_own ? cursor.own->family.kind
                               : (enum weir__metrics_kind_index)cursor.kind,
                        source);
            source->collected = NULL;
            *tail = source;
            tail = &source->collected;
        }
        if (is_own && *head) {
            cursor.own->next_collected = NULL;
            *own_tail = cursor.own;
            own_tail = &cursor.own->next_collected;
        }
    }
    weir_lock_release(&metrics->lock);
}

static void print_family(struct weir__metrics_out *out, const struct weir__metrics_family *family,
                         const struct weir__metrics_source *source)
{
    weir__metrics_begin(out, family);
    for (; source && !out->error; source = source->collected)
        family->emit(out, family, source->labels, source->snapshot);
}

/* Both lists are sorted by name, so they are merged. */
static void print(struct weir__metrics_out *out, const struct scrape *scrape)
{
    const struct weir__metrics_own *own = scrape->own;
    for (size_t i = 0; i < weir__metrics_family_count; i++) {
        const struct weir__metrics_family *family = &weir__metrics_families[i];
        for (; own && strcmp(own->name, family->name) < 0; own = own->next_collected)
            print_family(out, &own->family, own->collected);
        print_family(out, family, scrape->objects[family->kind]);
    }
    for (; own; own = own->next_collected)
        print_family(out, &own->family, own->collected);
    weir__metrics_flush(out);
}

int weir_metrics_write(struct weir_metrics *metrics,
                       int (*sink)(void *arg, const char *bytes, size_t size), void *arg,
                       const struct weir_deadline *deadline)
{
    weir_lock_assert_none("held while a scrape begins");
    int error = take_turn(metrics, deadline);
    if (error)
        return error;
    struct weir__metrics_out out = {.sink = sink, .arg = arg};
    struct scrape scrape = {0};
    collect(metrics, &scrape);
    print(&out, &scrape);
    end_turn(metrics);
    return out.error;
}

struct room {
    char *buffer;
    size_t room;
    size_t size; /* of the whole text, whether it fits or not */
};

static int fill_room(void *arg, const char *bytes, size_t size)
{
    struct room *room = arg;
    if (room->size < room->room) {
        size_t left = room->room - room->size;
        memcpy(room->buffer + room->size, bytes, size < left ? size : left);
    }
    room->size += size;
    return 0;
}

int weir_metrics_write_buffer(struct weir_metrics *metrics, char *buffer, size_t room,
                              size_t *ret_size, const struct weir_deadline *deadline)
{
    struct room all = {buffer, room, 0};
    int error = weir_metrics_write(metrics, fill_room, &all, deadline);
    if (error)
        return error;
    if (all.size >= room)
        return weir__fail(WEIR_E_OVERFLOW, metrics->name,
                          "metrics '$n': the text needs $1 bytes with its NUL, the buffer has $2",
                          all.size + 1, room, 0);
    buffer[all.size] = '\0';
    *ret_size = all.size;
    return 0;
}
