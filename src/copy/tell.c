/* tell.c - paths, events, errors and counts of the copy engine. */
#include <errno.h>
#include <string.h>

#include "engine.h"

#include "banned.h"

/* Counts are added to the run's after so many entries, or so much time, and not for each. */
#define COUNT_EVERY    64u
#define COUNT_EVERY_NS (100 * WEIR_NS_PER_MS)

/* Whether the path ends (upwards) with this directory: its own name is not part of it. */
static bool is_start(const struct weir__dir *dir, enum weir__path_kind kind)
{
    switch (kind) {
    case WEIR__PATH_SHOWN:
        return dir->is_top || dir->kind != WEIR__DIR_PLAIN;
    case WEIR__PATH_FROM:
        return dir->is_top || dir->kind != WEIR__DIR_PLAIN;
    case WEIR__PATH_TO:
    case WEIR__PATH_IN_BASE:
        return dir->kind == WEIR__DIR_BASE;
    }
    return true;
}

/* Operands and their contents stand for DST and add no name of their own. */
static bool is_nameless(const struct weir__dir *dir)
{
    return dir->is_top || dir->kind == WEIR__DIR_OPERAND;
}

static const char *prefix_of(struct weir__worker *w, enum weir__path_kind kind,
                             const struct weir__dir *start)
{
    if (kind == WEIR__PATH_FROM && start && start->source)
        return start->source->prefix;
    return kind == WEIR__PATH_TO ? w->run->base_path : "";
}

/* Reserves the length that the names need, then fills them in from the end. */
const char *weir__tell_path_whole(struct weir__worker *w, enum weir__path_kind kind,
                                  const struct weir__dir *dir, const char *name)
{
    size_t length = name ? strlen(name) : 0;
    const struct weir__dir *at = dir;
    for (; at && !is_start(at, kind); at = (const struct weir__dir *)at->node.parent)
        length += is_nameless(at) ? 0 : at->name_length + 1u;
    const char *prefix = prefix_of(w, kind, at);
    weir__buffer_truncate(&w->path, 0);
    if (weir__buffer_puts(&w->path, prefix) < 0 || weir__buffer_reserve(&w->path, length + 1) < 0)
        return NULL;
    size_t start = weir__buffer_length(&w->path);
    /* The buffer has the room; build the rest at its end, backwards. */
    char *text = (char *)(uintptr_t)weir__buffer_text(&w->path) + start;
    size_t end = length;
    text[end] = '\0';
    if (name) {
        end -= strlen(name);
        memcpy(text + end, name, strlen(name));
    }
    for (at = dir; at && !is_start(at, kind); at = (const struct weir__dir *)at->node.parent) {
        if (is_nameless(at))
            continue;
        text[--end] = '/';
        end -= at->name_length;
        memcpy(text + end, at->name, at->name_length);
    }
    /* A directory is shown without the slash that would join it to a name. */
    if (!name && length > 0)
        text[length - 1] = '\0';
    return weir__buffer_text(&w->path);
}

const char *weir__tell_path(struct weir__worker *w, enum weir__path_kind kind,
                            const struct weir__dir *dir, const char *name)
{
    const char *path = weir__tell_path_whole(w, kind, dir, name);
    return path ? path : name ? name : "?";
}

bool weir__tell_is_wanted(const struct weir__worker *w, enum weir__copy_event_kind kind)
{
    return w->run->hooks.event && (w->run->hooks.wanted & (1u << kind)) != 0;
}

static void send(struct weir__worker *w, const struct weir__copy_event *event)
{
    if (w->run->hooks.event)
        w->run->hooks.event(w->run->hooks.arg, event);
}

void weir__tell_item(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                     struct weir__copy_event *event)
{
    if (!weir__tell_is_wanted(w, event->kind))
        return;
    const char *path = weir__tell_path(w, WEIR__PATH_SHOWN, dir, name);
    event->path = path[0] != '\0' ? path : ".";
    send(w, event);
}

/* What cannot be read is met by every pass, and told by the one that copies. */
static bool is_told_elsewhere(const struct weir__worker *w)
{
    return w->phase == WEIR__PHASE_CHECK || w->phase == WEIR__PHASE_ERASE_BEFORE ||
           (w->phase == WEIR__PHASE_ERASE_AFTER && w->run->has_source_errors);
}

static void error(struct weir__worker *w, enum weir__path_kind kind, const struct weir__dir *dir,
                  const char *name, const char *what, const char *detail, int errno_value)
{
    struct weir__copy *run = w->run;
    /* Whoever only counts meets what the copy meets, and the copy tells it. */
    if (w->phase == WEIR__PHASE_COUNT)
        return;
    weir_lock_acquire(&run->counts_lock);
    if (kind == WEIR__PATH_FROM && is_told_elsewhere(w)) {
        run->has_source_errors = true;
        weir_lock_release(&run->counts_lock);
        return;
    }
    run->counts.errors++;
    if (kind == WEIR__PATH_FROM)
        run->has_source_errors = true;
    bool stops = run->options->fail_fast && !run->is_stopped_by_error;
    run->is_stopped_by_error = run->is_stopped_by_error || stops;
    weir_lock_release(&run->counts_lock);
    struct weir__copy_event event = {
        .kind = WEIR__EVENT_ERROR,
        .what = what,
        .detail = detail,
        .errno_value = errno_value,
        .path = dir ? weir__tell_path(w, kind, dir, name) : name,
    };
    if (event.path[0] == '\0')
        event.path = ".";
    send(w, &event);
    if (stops)
        weir_cancel_fire(&run->stop);
}

void weir__tell_source_error(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                             const char *what, int errno_value)
{
    error(w, WEIR__PATH_FROM, dir, name, what, NULL, errno_value);
}

void weir__tell_error(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                      const char *what, int errno_value)
{
    error(w, WEIR__PATH_TO, dir, name, what, NULL, errno_value);
}

void weir__tell_error_detail(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                             const char *what, const char *detail, int errno_value)
{
    error(w, WEIR__PATH_TO, dir, name, what, detail, errno_value);
}

void weir__tell_note(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                     const char *detail)
{
    struct weir__copy_event event = {
        .kind = WEIR__EVENT_NOTE,
        .path = dir ? weir__tell_path(w, WEIR__PATH_SHOWN, dir, name) : "",
        .detail = detail,
    };
    send(w, &event);
}

void weir__tell_skipped(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                        const char *why)
{
    struct weir__copy_event event = {.kind = WEIR__EVENT_SKIPPED, .detail = why};
    if (w->phase == WEIR__PHASE_COUNT)
        return;
    w->counts.skipped++;
    weir__tell_item(w, dir, name, &event);
}

/* The counts that threads gather; the others are kept by the run itself. */
#define COUNTS(X)                                                                                  \
    X(files)                                                                                       \
    X(dirs)                                                                                        \
    X(symlinks)                                                                                    \
    X(devices)                                                                                     \
    X(specials)                                                                                    \
    X(hard_links)                                                                                  \
    X(created)                                                                                     \
    X(updated)                                                                                     \
    X(unchanged)                                                                                   \
    X(metadata_only)                                                                               \
    X(skipped)                                                                                     \
    X(deleted)                                                                                     \
    X(bytes_total)                                                                                 \
    X(bytes_done)                                                                                  \
    X(bytes_written)                                                                               \
    X(bytes_reflinked)                                                                             \
    X(bytes_range)                                                                                 \
    X(bytes_ring)                                                                                  \
    X(bytes_plain)                                                                                 \
    X(changed_retries)                                                                             \
    X(leftovers_removed)

void weir__tell_counts(struct weir__worker *w)
{
    struct weir__copy *run = w->run;
    weir_lock_acquire(&run->counts_lock);
#define ADD(field) run->counts.field += w->counts.field;
    COUNTS(ADD)
#undef ADD
    if (w->counts.in_flight_max > run->counts.in_flight_max)
        run->counts.in_flight_max = w->counts.in_flight_max;
    weir_lock_release(&run->counts_lock);
    memset(&w->counts, 0, sizeof(w->counts));
    w->uncounted = 0;
    w->count_at_ns = weir_now_ns() + COUNT_EVERY_NS;
    /* Good news for a limit that was reduced; not worth a lock for every file. */
    if (weir_adapt_epoch(&run->adapt) > 0)
        for (unsigned i = 0; i < WEIR_ADAPT_GROW_AFTER_DEFAULT; i++)
            weir_adapt_report(&run->adapt, weir_adapt_epoch(&run->adapt), 0);
}

void weir__tell_counts_soon(struct weir__worker *w)
{
    if (++w->uncounted >= COUNT_EVERY || weir_now_ns() >= w->count_at_ns)
        weir__tell_counts(w);
}

char weir__tell_type(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return 'f';
    case S_IFDIR:
        return 'd';
    case S_IFLNK:
        return 'L';
    case S_IFBLK:
    case S_IFCHR:
        return 'D';
    default:
        return 'S';
    }
}
