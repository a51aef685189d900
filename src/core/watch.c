/* watch.c - one value under a sequence number, or one snapshot under a count of references.
 *
 * Sequence word
 *
 *     63..........1  0
 *     version        a write is under way
 *
 * It is written under the lock only. While bit 0 is set the words of the value may be a mixture.
 * The bit errs on neither side: it is set before the first word is touched and cleared, together
 * with the step of the version, after the last one. Each word is stored with release and loaded
 * with acquire, so that a reader that has seen one new word sees the bit, or a later sequence, when
 * it looks again; no fence is needed.
 *
 * Happy path: load the sequence (even), copy the words, load the sequence again (the same). After
 * some vain tries a reader takes the lock, so that a stream of writes cannot keep it from reading.
 *
 * Waiting: under the lock, see again that the version is the one that the caller knows, join the
 * line, park. A write settles everybody in line who waits for a change from an older version; they
 * read for themselves afterwards, the newest value and not the one that woke them.
 *
 * Snapshots: the pointer is read and its count raised under the lock, since between the two it
 * could be swapped out and freed. The reference that the watch gives up is dropped after the lock
 * is released, because the free function is somebody else's code.
 *
 * Failure modes: when more sleep than fit into one batch of wakes, the lock is released in between;
 * who joins then knows the new version and is left alone.
 */
#include <weir/watch.h>

#include <string.h>

#include "assert.h"
#include "atomic.h"
#include "error.h"
#include "line.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"

#define WRITING   UINT64_C(1)
#define TRIES_MAX 4

static const struct weir_lock_class watch_class = {"watch", WEIR__RANK_WATCH};

struct waiter {
    struct weir__waiter base; /* first, so that a pointer to it is one to the waiter */
    uint64_t since_version;
};

static uint64_t version_of(uint64_t sequence)
{
    return sequence >> 1;
}

/* ---- the words of the value ---- */

static size_t word_count(size_t size)
{
    return (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

static void words_store(struct weir_watch *watch, const void *value)
{
    const unsigned char *from = value;
    for (size_t i = 0, left = watch->_size; left > 0; i++) {
        uint64_t word = 0;
        size_t part = left < sizeof(word) ? left : sizeof(word);
        memcpy(&word, from + i * sizeof(word), part);
        weir__store64(&watch->_words[i], word);
        left -= part;
    }
}

static void words_load(const struct weir_watch *watch, void *ret_value)
{
    unsigned char *to = ret_value;
    for (size_t i = 0, left = watch->_size; left > 0; i++) {
        uint64_t word = weir__load64(&watch->_words[i]);
        size_t part = left < sizeof(word) ? left : sizeof(word);
        memcpy(to + i * sizeof(word), &word, part);
        left -= part;
    }
}

/* ---- life cycle ---- */

static int init_common(struct weir_watch *fresh, const char *name)
{
    int error = weir__name_set(fresh->_name, name);
    if (error)
        return error;
    weir_lock_init(&fresh->_lock, &watch_class);
    fresh->_sequence = 1 << 1;
    return 0;
}

int weir_watch_init(struct weir_watch *watch, const char *name, size_t size, const void *value)
{
    struct weir_watch fresh = {0};
    int error = init_common(&fresh, name);
    if (error)
        return error;
    if (!value)
        return weir__fail(WEIR_E_INVALID, name, "watch '$n': a first value is needed", 0, 0, 0);
    if (size == 0 || size > WEIR_WATCH_SIZE_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "watch '$n': a value of $1 bytes was asked for, it may have 1 to $2; "
                          "swap snapshots for larger ones",
                          size, WEIR_WATCH_SIZE_MAX, 0);
    fresh._words = weir__alloc(word_count(size), sizeof(uint64_t));
    if (!fresh._words)
        return weir__fail(WEIR_E_NO_MEMORY, name, "watch '$n': no memory for a value of $1 bytes",
                          size, 0, 0);
    fresh._size = size;
    words_store(&fresh, value);
    *watch = fresh;
    return 0;
}

int weir_watch_init_snapshot(struct weir_watch *watch, const char *name,
                             struct weir_snapshot *snapshot)
{
    struct weir_watch fresh = {0};
    int error = init_common(&fresh, name);
    if (error)
        return error;
    if (!snapshot)
        return weir__fail(WEIR_E_INVALID, name, "watch '$n': a first snapshot is needed", 0, 0, 0);
    fresh._snapshot = snapshot;
    *watch = fresh;
    return 0;
}

void weir_watch_fini(struct weir_watch *watch)
{
    if (!watch || (!watch->_words && !watch->_snapshot))
        return;
    weir_lock_acquire(&watch->_lock);
    WEIR__ASSERT(watch->_waiting == 0, "watch", watch->_name, "destroyed while somebody waits");
    weir_lock_release(&watch->_lock);
    weir_lock_fini(&watch->_lock);
    weir__free(watch->_words);
    weir_snapshot_unref(watch->_snapshot);
    watch->_words = NULL;
    watch->_snapshot = NULL;
}

/* ---- writing ---- */

/* Settles those who know an older version, or all once it is closed. They joined in the order of
 * those versions. True when wakes must be sent first. */
static bool settle_waiters(struct weir_watch *watch, struct weir__wakes *wakes)
{
    uint64_t version = version_of(weir__load64_relaxed(&watch->_sequence));
    while (watch->_waiters) {
        struct waiter *first = (struct waiter *)watch->_waiters;
        if (first->since_version == version && !watch->_is_closed)
            return false;
        if (weir__wakes_is_full(wakes))
            return true;
        weir__line_settle(&watch->_waiters, &first->base, 0, wakes);
    }
    return false;
}

/* The lock is held on entry and released on return. */
static void settle_and_release(struct weir_watch *watch)
{
    struct weir__wakes wakes;
    wakes.count = 0;
    while (settle_waiters(watch, &wakes)) {
        weir_lock_release(&watch->_lock);
        weir__wakes_send(&wakes);
        weir_lock_acquire(&watch->_lock);
    }
    weir_lock_release(&watch->_lock);
    weir__wakes_send(&wakes);
}

/* With the lock held on success; on Closed it has been released. */
static int begin_write(struct weir_watch *watch)
{
    weir_lock_acquire(&watch->_lock);
    if (!watch->_is_closed)
        return 0;
    watch->_refused++;
    weir_lock_release(&watch->_lock);
    return weir__fail(WEIR_E_CLOSED, watch->_name, "watch '$n': closed to new values", 0, 0, 0);
}

int weir_watch_set(struct weir_watch *watch, const void *value)
{
    WEIR__ASSERT(watch->_words, "watch", watch->_name, "holds snapshots, and a value was set");
    int error = begin_write(watch);
    if (error)
        return error;
    uint64_t sequence = weir__load64_relaxed(&watch->_sequence);
    if (!WEIR__MUTANT(WATCH_WRITE_UNMARKED))
        weir__store64(&watch->_sequence, sequence | WRITING);
    words_store(watch, value);
    weir__store64(&watch->_sequence, sequence + 2);
    settle_and_release(watch);
    return 0;
}

int weir_watch_swap(struct weir_watch *watch, struct weir_snapshot *snapshot)
{
    WEIR__ASSERT(!watch->_words, "watch", watch->_name,
                 "holds a value, and a snapshot was swapped");
    if (!snapshot)
        return weir__fail(WEIR_E_INVALID, watch->_name, "watch '$n': there must be a snapshot", 0,
                          0, 0);
    int error = begin_write(watch);
    if (error)
        return error;
    struct weir_snapshot *old = watch->_snapshot;
    watch->_snapshot = snapshot;
    weir__store64(&watch->_sequence, weir__load64_relaxed(&watch->_sequence) + 2);
    settle_and_release(watch);
    weir_snapshot_unref(old);
    return 0;
}

void weir_watch_close(struct weir_watch *watch)
{
    weir_lock_acquire(&watch->_lock);
    watch->_is_closed = true;
    settle_and_release(watch);
}

/* ---- reading ---- */

/* One try without the lock. */
static bool read_once(const struct weir_watch *watch, void *ret_value, uint64_t *ret_sequence)
{
    uint64_t before = weir__load64(&watch->_sequence);
    if (before & WRITING)
        return false;
    words_load(watch, ret_value);
    *ret_sequence = before;
    return weir__load64(&watch->_sequence) == before || WEIR__MUTANT(WATCH_TORN);
}

static uint64_t read_locked(struct weir_watch *watch, void *ret_value)
{
    weir_lock_acquire(&watch->_lock);
    uint64_t sequence = weir__load64_relaxed(&watch->_sequence);
    words_load(watch, ret_value);
    weir_lock_release(&watch->_lock);
    return sequence;
}

void weir_watch_get(struct weir_watch *watch, void *ret_value, uint64_t *ret_version)
{
    WEIR__ASSERT(watch->_words, "watch", watch->_name, "holds snapshots, and a value was read");
    uint64_t sequence = 0;
    bool is_read = false;
    for (int tries = 0; tries < TRIES_MAX && !is_read; tries++)
        is_read = read_once(watch, ret_value, &sequence);
    if (!is_read)
        sequence = read_locked(watch, ret_value);
    if (ret_version)
        *ret_version = version_of(sequence);
}

uint64_t weir_watch_version(const struct weir_watch *watch)
{
    return version_of(weir__load64(&watch->_sequence));
}

struct weir_snapshot *weir_watch_borrow(struct weir_watch *watch, uint64_t *ret_version)
{
    WEIR__ASSERT(!watch->_words, "watch", watch->_name, "holds a value, and a snapshot was asked");
    weir_lock_acquire(&watch->_lock);
    struct weir_snapshot *snapshot = watch->_snapshot;
    uint64_t sequence = weir__load64_relaxed(&watch->_sequence);
    if (!WEIR__MUTANT(WATCH_BORROW_UNLOCKED))
        weir_snapshot_ref(snapshot);
    weir_lock_release(&watch->_lock);
    if (WEIR__MUTANT(WATCH_BORROW_UNLOCKED))
        weir_snapshot_ref(snapshot);
    if (ret_version)
        *ret_version = version_of(sequence);
    return snapshot;
}

/* ---- waiting ---- */

static int explain(const struct weir_watch *watch, int error, uint64_t version)
{
    switch (-error) {
    case WEIR_E_TIMEOUT:
        return weir__fail(WEIR_E_TIMEOUT, watch->_name,
                          "watch '$n': no change from version $1 before the deadline", version, 0,
                          0);
    case WEIR_E_CANCELED:
        return weir__fail(WEIR_E_CANCELED, watch->_name,
                          "watch '$n': canceled while waiting for a change from version $1",
                          version, 0, 0);
    case WEIR_E_CLOSED:
        return weir__fail(WEIR_E_CLOSED, watch->_name,
                          "watch '$n': closed with version $1, it will not change", version, 0, 0);
    default:
        return error; /* explained where it was found */
    }
}

/* 0 when the version is another one, Closed when that will not be, NotFound otherwise. */
static int look(const struct weir_watch *watch, uint64_t since_version)
{
    if (weir_watch_version(watch) != since_version)
        return 0;
    return watch->_is_closed ? -WEIR_E_CLOSED : -WEIR_E_NOT_FOUND;
}

static int wait_changed(struct weir_watch *watch, uint64_t since_version,
                        const struct weir_deadline *deadline)
{
    if (weir_watch_version(watch) != since_version)
        return 0;
    struct waiter waiter = {.since_version = since_version};
    weir_lock_acquire(&watch->_lock);
    /* Once more where no write can come between the look and the line. */
    int error = WEIR__MUTANT(WATCH_MISSED_CHANGE) ? -WEIR_E_NOT_FOUND : look(watch, since_version);
    if (error != -WEIR_E_NOT_FOUND) {
        weir_lock_release(&watch->_lock);
        return error;
    }
    weir__line_append(&watch->_waiters, &waiter.base);
    watch->_waiting++;
    watch->_waited++;
    weir_lock_release(&watch->_lock);

    int ended = weir__park_wait(&waiter.base.place, deadline);

    weir_lock_acquire(&watch->_lock);
    watch->_waiting--;
    if (waiter.base.is_in_line)
        weir__line_remove(&watch->_waiters, &waiter.base);
    error = look(watch, since_version);
    if (error != -WEIR_E_NOT_FOUND)
        watch->_woken++;
    else if (ended == -WEIR_E_TIMEOUT)
        watch->_timed_out++;
    else
        watch->_canceled++;
    weir_lock_release(&watch->_lock);
    return error == -WEIR_E_NOT_FOUND ? ended : error;
}

int weir_watch_wait_changed(struct weir_watch *watch, uint64_t since_version, void *ret_value,
                            uint64_t *ret_version, const struct weir_deadline *deadline)
{
    int error = wait_changed(watch, since_version, deadline);
    if (error)
        return explain(watch, error, since_version);
    if (ret_value)
        weir_watch_get(watch, ret_value, ret_version);
    else if (ret_version)
        *ret_version = weir_watch_version(watch);
    return 0;
}

/* Between two looks: a value that never stands still would keep us from ever waiting. */
static int is_over(struct weir_watch *watch, uint64_t version, const struct weir_deadline *deadline)
{
    if (!weir__deadline_has_end(deadline))
        return weir__fail(WEIR_E_INVALID, watch->_name,
                          "watch '$n': would have to wait for ever; give a deadline or a cancel "
                          "token",
                          0, 0, 0);
    int error = weir_deadline_check(deadline);
    if (!error)
        return 0;
    weir_lock_acquire(&watch->_lock);
    watch->_waited++;
    if (error == -WEIR_E_TIMEOUT)
        watch->_timed_out++;
    else
        watch->_canceled++;
    weir_lock_release(&watch->_lock);
    return weir__fail(-error, watch->_name,
                      "watch '$n': up to version $1 nothing was what was waited for", version, 0,
                      0);
}

int weir_watch_wait_until(struct weir_watch *watch, bool (*predicate)(const void *value, void *arg),
                          void *arg, void *room, uint64_t *ret_version,
                          const struct weir_deadline *deadline)
{
    for (;;) {
        uint64_t version;
        weir_watch_get(watch, room, &version);
        if (predicate(room, arg)) {
            if (ret_version)
                *ret_version = version;
            return 0;
        }
        int error = is_over(watch, version, deadline);
        if (error)
            return error;
        error = wait_changed(watch, version, deadline);
        if (error)
            return explain(watch, error, version);
    }
}

/* ---- snapshots ---- */

void weir_snapshot_init(struct weir_snapshot *snapshot,
                        void (*free_fn)(struct weir_snapshot *snapshot))
{
    snapshot->_free = free_fn;
    snapshot->_references = 1;
}

struct weir_snapshot *weir_snapshot_ref(struct weir_snapshot *snapshot)
{
    uint64_t before = weir__add64(&snapshot->_references, 1);
    WEIR__ASSERT(before > 0, "snapshot", "", "referenced after the last reference was given back");
    return snapshot;
}

void weir_snapshot_unref(struct weir_snapshot *snapshot)
{
    if (!snapshot)
        return;
    uint64_t before = weir__add64(&snapshot->_references, -UINT64_C(1));
    WEIR__ASSERT(before > 0, "snapshot", "", "given back more often than it was referenced");
    if (before == 1)
        snapshot->_free(snapshot);
}

/* ---- looking ---- */

void weir_watch_read(struct weir_watch *watch, struct weir_watch_stats *ret_stats)
{
    weir_lock_acquire(&watch->_lock);
    *ret_stats = (struct weir_watch_stats){
        .version = version_of(weir__load64_relaxed(&watch->_sequence)),
        .waiting = watch->_waiting,
        .waited = watch->_waited,
        .woken = watch->_woken,
        .timed_out = watch->_timed_out,
        .canceled = watch->_canceled,
        .refused = watch->_refused,
        .is_closed = watch->_is_closed,
    };
    weir_lock_release(&watch->_lock);
}

const char *weir_watch_name(const struct weir_watch *watch)
{
    return watch->_name;
}

size_t weir_watch_size(const struct weir_watch *watch)
{
    return watch->_size;
}
