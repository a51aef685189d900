/* watch.h - one value that changes: the last write wins, and readers see it whole.
 *
 * For configuration, shutdown, placement: what many read and few write. The value is either a block
 * of bytes of a fixed size, which is copied out (weir_watch_get), or a snapshot of any size and
 * shape behind a pointer with a count of references, which is borrowed (weir_watch_borrow).
 *
 * Promises
 * - A reader gets the value of exactly one write, old or new, never a mixture; and a reader that
 *   has seen a version never sees an older one afterwards.
 * - Each write has a version: 1 for the first value, and one more for each write. Values that
 *   nobody looked at in time are skipped; the newest one is not.
 * - wait_changed and wait_until do not miss a change: if the version differs from the one that the
 *   caller names, they return at once, and a write after that wakes them.
 * - A deadline bounds the waiting, not the call; a change that meets the end of a wait wins.
 * - A snapshot lives until the watch has another one and the last borrower has given it back; then
 *   its free function is called once, with no lock held.
 * - close refuses further writes and ends the waits; the last value can still be read.
 *
 * Memory order: what a thread did before a write happens before what a reader of that value does
 * next.
 *
 * Cost: get takes no lock: two loads of the version and the copy, again if a write came between,
 * and under the lock after some vain tries. Asking for the version is one load. borrow takes a
 * short lock; a reader that keeps its borrowed snapshot and asks for the version pays one load as
 * long as nothing changes. A write is a short lock, the copy, and one futex call for each sleeper.
 *
 * Ownership: the watch lives in the caller's memory and owns its copy of the value, or one
 * reference to the snapshot; what was borrowed is given back with weir_snapshot_unref().
 */
#ifndef WEIR_WATCH_H
#define WEIR_WATCH_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/lock.h>

WEIR_BEGIN_DECLS

#define WEIR_WATCH_SIZE_MAX (UINT32_C(1) << 20)

struct weir__waiter;
struct weir_snapshot;

struct weir_watch {
    uint64_t _sequence; /* see watch.c */
    uint64_t *_words;   /* the value, read and written by whole words; NULL with snapshots */
    size_t _size;
    struct weir_lock _lock; /* guards writing and all that follows */
    struct weir_snapshot *_snapshot;
    struct weir__waiter *_waiters;
    uint32_t _waiting;
    uint32_t _is_closed;
    uint64_t _waited;
    uint64_t _woken;
    uint64_t _timed_out;
    uint64_t _canceled;
    uint64_t _refused;
    char _name[WEIR_NAME_MAX];
};

/* A watch over size bytes, of which the first value is copied; 1 to WEIR_WATCH_SIZE_MAX, Invalid
 * otherwise or without a value. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_watch_init(struct weir_watch *watch, const char *name, size_t size,
                                           const void *value);

/* Asserts that nobody waits; gives its snapshot back. */
WEIR_API void weir_watch_fini(struct weir_watch *watch);

/* Writes the value and wakes who waits. Closed after close. */
WEIR_API WEIR_MUST_USE int weir_watch_set(struct weir_watch *watch, const void *value);

/* Copies the value of the newest write. ret_version may be NULL. Always succeeds. */
WEIR_API void weir_watch_get(struct weir_watch *watch, void *ret_value, uint64_t *ret_version);

/* The version of the newest write. */
WEIR_API uint64_t weir_watch_version(const struct weir_watch *watch);

/* Waits until the version is another one than since_version (0 is none that exists), then copies
 * value and version; each of the two may be NULL, and ret_value must be for a watch over snapshots.
 * Timeout, Canceled, or Closed when it is closed with that version. */
WEIR_API WEIR_MUST_USE int weir_watch_wait_changed(struct weir_watch *watch, uint64_t since_version,
                                                   void *ret_value, uint64_t *ret_version,
                                                   const struct weir_deadline *deadline);

/* Waits until the predicate holds for the value. It is called in this thread, with no lock held, on
 * a copy, which lies in the caller's room of the watch's size: on return, whatever the result, that
 * is the value that was looked at last. Values that were overwritten in between are not looked at.
 * Errors as above. */
WEIR_API WEIR_MUST_USE int weir_watch_wait_until(struct weir_watch *watch,
                                                 bool (*predicate)(const void *value, void *arg),
                                                 void *arg, void *room, uint64_t *ret_version,
                                                 const struct weir_deadline *deadline);

/* No writes from here on, and no waits. Closing twice is harmless. */
WEIR_API void weir_watch_close(struct weir_watch *watch);

/* The head of a snapshot: the first member, or any other, of the caller's own struct. What follows
 * must not be changed once others can see it. */
struct weir_snapshot {
    uint64_t _references;
    void (*_free)(struct weir_snapshot *snapshot);
};

/* One reference, the caller's. free_fn is called when the last one is given back, by the thread
 * that does so; it must not wait. */
WEIR_API void weir_snapshot_init(struct weir_snapshot *snapshot,
                                 void (*free_fn)(struct weir_snapshot *snapshot));
WEIR_API struct weir_snapshot *weir_snapshot_ref(struct weir_snapshot *snapshot);

/* NULL is left alone. */
WEIR_API void weir_snapshot_unref(struct weir_snapshot *snapshot);

/* A watch over snapshots. The caller's reference to the first one becomes the watch's if this
 * succeeds. */
WEIR_API WEIR_MUST_USE int weir_watch_init_snapshot(struct weir_watch *watch, const char *name,
                                                    struct weir_snapshot *snapshot);

/* Puts another snapshot in the place of the old one, whose reference is given back. The caller's
 * reference becomes the watch's if this succeeds; Closed after close, and it is still the caller's.
 */
WEIR_API WEIR_MUST_USE int weir_watch_swap(struct weir_watch *watch,
                                           struct weir_snapshot *snapshot);

/* The newest snapshot, with a reference for the caller. ret_version may be NULL. */
WEIR_API WEIR_MUST_USE struct weir_snapshot *weir_watch_borrow(struct weir_watch *watch,
                                                               uint64_t *ret_version);

/* A consistent picture; the counts only grow. */
struct weir_watch_stats {
    uint64_t version;
    uint64_t waiting;
    uint64_t waited; /* calls that had to wait = woken + timed_out + canceled + waiting */
    uint64_t woken;  /* by a write or by close */
    uint64_t timed_out;
    uint64_t canceled; /* or refused for a deadline without an end */
    uint64_t refused;  /* writes after close */
    bool is_closed;
};

WEIR_API void weir_watch_read(struct weir_watch *watch, struct weir_watch_stats *ret_stats);
WEIR_API const char *weir_watch_name(const struct weir_watch *watch);
WEIR_API size_t weir_watch_size(const struct weir_watch *watch);

WEIR_END_DECLS

#endif
