/* crew.c - threads with an owner.
 *
 * State: Running, Draining, Aborting, Stopped, moved under the lock and checked against a table.
 *
 * Happy path: a member is started under a reservation (count first, thread after, so that a drain
 * that begins meanwhile waits for it), runs, and on its way out moves itself to the list of the
 * ended and wakes whoever waits for that. Ended threads are joined outside the lock, by the next
 * start or by the drain.
 *
 * Failure modes: the system has no thread left: the reservation is returned. A member outlives the
 * drain deadline: abort. It outlives the grace time: its thread is detached and its record left to
 * it; the crew's memory has a reference for each member, so the last one to go frees it.
 */
#include <weir/crew.h>

#include <string.h>
#include <sys/socket.h>

#include "assert.h"
#include "atomic.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"
#include "park.h"
#include "thread.h"

/* While aborting, how often system calls are interrupted: a signal that comes just before the call
 * is lost, so one is not enough. */
#define INTERRUPT_EVERY_NS (10 * WEIR_NS_PER_MS)

static const bool allowed[4][4] = {
    [WEIR_CREW_RUNNING] = {[WEIR_CREW_DRAINING] = true},
    [WEIR_CREW_DRAINING] = {[WEIR_CREW_ABORTING] = true, [WEIR_CREW_STOPPED] = true},
    [WEIR_CREW_ABORTING] = {[WEIR_CREW_STOPPED] = true},
};

struct member {
    struct member *next; /* in the list that it is on: running or ended */
    struct member **back;
    struct weir_crew *crew;
    struct weir_crew_self self;
    struct weir__thread thread; /* written by the thread itself, under the lock */
    bool has_thread;
    uint32_t kind;
    int (*fn)(struct weir_crew_self *self, void *arg);
    void *arg;
};

/* Somebody who waits for the running to reach zero. */
struct watcher {
    struct watcher *next;
    struct weir__park place;
};

struct weir_crew {
    struct weir_lock lock; /* guards all that follows */
    enum weir_crew_state state;
    struct member *running;
    struct member *ended;
    struct watcher *watchers;
    uint32_t live; /* started or being started, and not yet ended or abandoned */
    uint32_t kind_count;
    struct weir_crew_kind kinds[WEIR_CREW_KINDS_MAX];
    uint32_t references; /* the owner's and one for each member */

    struct weir_cancel stop; /* these have locks of their own */
    struct weir_cancel abort;
    struct weir_crew_options options;
    char name[WEIR_NAME_MAX];
};

static const struct weir_lock_class crew_class = {"crew", WEIR__RANK_CREW};

int weir_crew_new(struct weir_crew **ret_crew, const char *name,
                  const struct weir_crew_options *options)
{
    struct weir_crew *crew = weir__alloc(1, sizeof(*crew));
    if (!crew)
        return weir__fail(WEIR_E_NO_MEMORY, name, "crew '$n': out of memory", 0, 0, 0);
    int error = weir__name_set(crew->name, name);
    if (error) {
        weir__free(crew);
        return error;
    }
    if (options)
        crew->options = *options;
    if (!crew->options.threads_max)
        crew->options.threads_max = WEIR_CREW_THREADS_DEFAULT;
    if (!crew->options.drain_ns)
        crew->options.drain_ns = WEIR_CREW_DRAIN_DEFAULT_NS;
    if (!crew->options.grace_ns)
        crew->options.grace_ns = WEIR_CREW_GRACE_DEFAULT_NS;
    if (crew->options.threads_max > WEIR_CREW_THREADS_MAX) {
        error = weir__fail(WEIR_E_INVALID, name, "crew '$n': $1 threads, it may be at most $2",
                           crew->options.threads_max, WEIR_CREW_THREADS_MAX, 0);
        weir__free(crew);
        return error;
    }
    if (crew->options.drain_ns > WEIR_CREW_TIME_MAX_NS ||
        crew->options.grace_ns > WEIR_CREW_TIME_MAX_NS) {
        error = weir__fail(WEIR_E_INVALID, name,
                           "crew '$n': $t1 to drain and $t2 of grace, each may be at most $t3",
                           crew->options.drain_ns, crew->options.grace_ns, WEIR_CREW_TIME_MAX_NS);
        weir__free(crew);
        return error;
    }
    weir_lock_init(&crew->lock, &crew_class);
    weir_cancel_init(&crew->stop, NULL);
    weir_cancel_init(&crew->abort, NULL);
    crew->references = 1;
    *ret_crew = crew;
    return 0;
}

static void unref(struct weir_crew *crew)
{
    weir_lock_acquire(&crew->lock);
    bool last = --crew->references == 0;
    weir_lock_release(&crew->lock);
    if (!last)
        return;
    weir_cancel_fini(&crew->stop);
    weir_cancel_fini(&crew->abort);
    weir_lock_fini(&crew->lock);
    weir__free(crew);
}

/* Under the lock. */
static void move_to(struct weir_crew *crew, enum weir_crew_state state)
{
    WEIR__ASSERT(allowed[crew->state][state], "crew", crew->name, "a move that its states forbid");
    crew->state = state;
}

static void list_push(struct member **head, struct member *member)
{
    member->next = *head;
    member->back = head;
    if (*head)
        (*head)->back = &member->next;
    *head = member;
}

static void list_remove(struct member *member)
{
    *member->back = member->next;
    if (member->next)
        member->next->back = member->back;
}

/* Joins those who have ended. With no lock held. */
static void join_ended(struct weir_crew *crew)
{
    weir_lock_acquire(&crew->lock);
    struct member *ended = crew->ended;
    crew->ended = NULL;
    weir_lock_release(&crew->lock);
    while (ended) {
        struct member *next = ended->next;
        weir__thread_join(&ended->thread);
        weir__free(ended);
        ended = next;
    }
}

void weir_crew_free(struct weir_crew *crew)
{
    if (!crew)
        return;
    weir_lock_acquire(&crew->lock);
    bool idle = crew->live == 0;
    weir_lock_release(&crew->lock);
    WEIR__ASSERT(idle, "crew", crew->name, "freed while its threads run: drain it first");
    join_ended(crew);
    unref(crew);
}

/* Releases the lock, which the caller holds, and wakes those who wait for the last member to go, if
 * it has gone: all of them, however many they are. */
static void release_and_tell(struct weir_crew *crew)
{
    struct weir__wakes wakes = {0};
    while (crew->live == 0 && crew->watchers) {
        if (weir__wakes_is_full(&wakes)) {
            weir_lock_release(&crew->lock);
            weir__wakes_send(&wakes);
            weir_lock_acquire(&crew->lock);
            continue;
        }
        struct watcher *watcher = crew->watchers;
        crew->watchers = watcher->next;
        watcher->next = NULL;
        weir__park_signal(&watcher->place, &wakes);
    }
    weir_lock_release(&crew->lock);
    weir__wakes_send(&wakes);
}

/* The member is over: it is for others to join, or, if it was abandoned, to be forgotten. */
static void leave(struct weir_crew *crew, struct member *member, int result)
{
    weir_lock_acquire(&crew->lock);
    struct weir_crew_kind *kind = &crew->kinds[member->kind];
    /* An abandoned member is on no list and was counted when it was given up. */
    bool abandoned = !member->back;
    if (!abandoned) {
        kind->ended++;
        kind->canceled += result == -WEIR_E_CANCELED;
        crew->live--;
        list_remove(member);
        list_push(&crew->ended, member);
    }
    release_and_tell(crew);
    if (abandoned)
        weir__free(member);
}

static void member_main(void *arg)
{
    struct member *member = arg;
    struct weir_crew *crew = member->crew;
    weir_lock_acquire(&crew->lock);
    weir__thread_self(&member->thread);
    member->has_thread = true;
    bool abandoned = !member->back; /* given up before it came to life */
    weir_lock_release(&crew->lock);
    if (abandoned)
        weir__thread_abandon(&member->thread);
    int result = member->fn(&member->self, member->arg);
    leave(crew, member, result); /* from here on the member's record is not ours */
    unref(crew);
}

static int find_kind(struct weir_crew *crew, const char *kind, uint32_t *ret_kind)
{
    char name[WEIR_NAME_MAX];
    int error = weir__name_set(name, kind);
    if (error)
        return error;
    uint32_t at = 0;
    while (at < crew->kind_count && strcmp(crew->kinds[at].name, name) != 0)
        at++;
    if (at == WEIR_CREW_KINDS_MAX)
        return weir__fail(WEIR_E_OVERFLOW, crew->name,
                          "crew '$n': $1 kinds of threads is the limit", WEIR_CREW_KINDS_MAX, 0, 0);
    if (at == crew->kind_count) {
        memcpy(crew->kinds[at].name, name, sizeof(name));
        crew->kind_count++;
    }
    *ret_kind = at;
    return 0;
}

/* Under the lock: counts a thread that is about to be started. */
static int reserve(struct weir_crew *crew, const char *kind, struct member *member)
{
    bool running = crew->state == WEIR_CREW_RUNNING || WEIR__MUTANT(CREW_STARTS_WHILE_DRAINING);
    if (!running)
        return weir__fail(WEIR_E_DRAINING, crew->name, "crew '$n': shutting down, starts nobody", 0,
                          0, 0);
    if (crew->live >= crew->options.threads_max)
        return weir__fail(WEIR_E_BUSY, crew->name, "crew '$n': $1 threads is the limit",
                          crew->options.threads_max, 0, 0);
    int error = find_kind(crew, kind, &member->kind);
    if (error)
        return error;
    crew->live++;
    crew->references++;
    crew->kinds[member->kind].spawned++;
    member->self.kind = crew->kinds[member->kind].name;
    list_push(&crew->running, member);
    return 0;
}

/* Takes a reservation back: the thread could not be started. It may have been given up meanwhile,
 * by a drain that waited for it in vain, and is counted as abandoned then: counts only grow. */
static void unreserve(struct weir_crew *crew, struct member *member)
{
    weir_lock_acquire(&crew->lock);
    struct weir_crew_kind *kind = &crew->kinds[member->kind];
    if (member->back) {
        list_remove(member);
        crew->live--;
        kind->unstarted++;
    }
    release_and_tell(crew);
    unref(crew);
}

int weir_crew_start(struct weir_crew *crew, const char *kind,
                    int (*fn)(struct weir_crew_self *self, void *arg), void *arg)
{
    join_ended(crew);
    struct member *member = weir__alloc(1, sizeof(*member));
    if (!member)
        return weir__fail(WEIR_E_NO_MEMORY, crew->name, "crew '$n': out of memory", 0, 0, 0);
    member->crew = crew;
    member->self.stop = &crew->stop;
    member->self.abort = &crew->abort;
    member->fn = fn;
    member->arg = arg;

    weir_lock_acquire(&crew->lock);
    int error = reserve(crew, kind, member);
    weir_lock_release(&crew->lock);
    if (error) {
        weir__free(member);
        return error;
    }
    /* The handle that we get is of no use: by now the thread may be over, joined and freed. It has
     * written down its own. */
    struct weir__thread unused;
    error = weir__thread_start(&unused, kind, member_main, member);
    if (error) {
        unreserve(crew, member);
        weir__free(member);
    }
    return error;
}

/* ---- waiting for all to end ---- */

static void unwatch(struct weir_crew *crew, struct watcher *watcher)
{
    for (struct watcher **at = &crew->watchers; *at; at = &(*at)->next) {
        if (*at == watcher) {
            *at = watcher->next;
            return;
        }
    }
}

int weir_crew_wait(struct weir_crew *crew, const struct weir_deadline *deadline)
{
    struct watcher watcher = {0};
    weir_lock_acquire(&crew->lock);
    bool waits = crew->live > 0;
    if (waits) {
        watcher.next = crew->watchers;
        crew->watchers = &watcher;
    }
    weir_lock_release(&crew->lock);
    if (!waits)
        return 0;
    int error = weir__park_wait(&watcher.place, deadline);
    if (!error)
        return 0;
    weir_lock_acquire(&crew->lock);
    if (weir__park_is_signaled(&watcher.place))
        error = 0;
    else
        unwatch(crew, &watcher);
    uint64_t live = crew->live;
    weir_lock_release(&crew->lock);
    if (error == -WEIR_E_TIMEOUT)
        return weir__fail(WEIR_E_TIMEOUT, crew->name,
                          "crew '$n': $1 threads still ran when the deadline passed", live, 0, 0);
    if (error == -WEIR_E_CANCELED)
        return weir__fail(WEIR_E_CANCELED, crew->name,
                          "crew '$n': canceled while $1 threads were waited for", live, 0, 0);
    if (error == -WEIR_E_INVALID)
        return weir__fail(
            WEIR_E_INVALID, crew->name,
            "crew '$n': would have to wait for ever; give a deadline or a cancel token", 0, 0, 0);
    return error;
}

/* A member that runs cannot be joined while we hold the lock, so its handle is good. */
static void interrupt_running(struct weir_crew *crew)
{
    weir_lock_acquire(&crew->lock);
    for (struct member *member = crew->running; member; member = member->next)
        if (member->has_thread)
            weir__thread_interrupt(&member->thread);
    weir_lock_release(&crew->lock);
}

/* Moves on to Aborting; false when the last member has ended after all. */
static bool begin_abort(struct weir_crew *crew)
{
    weir_lock_acquire(&crew->lock);
    bool begins = crew->live > 0;
    if (begins)
        move_to(crew, WEIR_CREW_ABORTING);
    for (struct member *member = crew->running; member; member = member->next)
        crew->kinds[member->kind].aborted++;
    weir_lock_release(&crew->lock);
    return begins;
}

/* Fires abort and pesters the running until they end or the grace time is over. */
static int abort_all(struct weir_crew *crew)
{
    if (!WEIR__MUTANT(CREW_ABORT_FIRES_NOTHING))
        weir_cancel_fire(&crew->abort);
    uint64_t until_ns = weir_time_add(weir_now_ns(), crew->options.grace_ns);
    int error = -WEIR_E_TIMEOUT;
    while (error && weir_now_ns() < until_ns) {
        interrupt_running(crew);
        struct weir_deadline slice = weir_deadline_in(INTERRUPT_EVERY_NS, NULL);
        slice = weir_deadline_min(&slice, until_ns);
        error = weir_crew_wait(crew, &slice);
    }
    return error;
}

/* Lets go of those who would not end: they keep their record and their reference. */
static void abandon_running(struct weir_crew *crew)
{
    weir_lock_acquire(&crew->lock);
    while (crew->running) {
        struct member *member = crew->running;
        list_remove(member);
        member->back = NULL;
        crew->kinds[member->kind].abandoned++;
        crew->live--;
        if (member->has_thread)
            weir__thread_abandon(&member->thread);
    }
    release_and_tell(crew);
}

int weir_crew_drain(struct weir_crew *crew, struct weir_crew_report *ret_report)
{
    weir_lock_acquire(&crew->lock);
    bool first = crew->state == WEIR_CREW_RUNNING;
    if (first)
        move_to(crew, WEIR_CREW_DRAINING);
    weir_lock_release(&crew->lock);
    if (!first)
        return weir__fail(WEIR_E_CLOSED, crew->name, "crew '$n': it is drained only once", 0, 0, 0);

    weir_cancel_fire(&crew->stop);
    struct weir_deadline deadline = weir_deadline_in(crew->options.drain_ns, NULL);
    int error = weir_crew_wait(crew, &deadline);
    if (error && !begin_abort(crew))
        error = 0;
    if (error && abort_all(crew))
        abandon_running(crew);
    join_ended(crew);

    weir_lock_acquire(&crew->lock);
    move_to(crew, WEIR_CREW_STOPPED);
    weir_lock_release(&crew->lock);
    if (ret_report)
        weir_crew_read(crew, ret_report);
    return error;
}

/* ---- looking ---- */

struct weir_cancel *weir_crew_stop_token(struct weir_crew *crew)
{
    return &crew->stop;
}

struct weir_cancel *weir_crew_abort_token(struct weir_crew *crew)
{
    return &crew->abort;
}

enum weir_crew_state weir_crew_state(struct weir_crew *crew)
{
    weir_lock_acquire(&crew->lock);
    enum weir_crew_state state = crew->state;
    weir_lock_release(&crew->lock);
    return state;
}

void weir_crew_read(struct weir_crew *crew, struct weir_crew_report *ret_report)
{
    weir_lock_acquire(&crew->lock);
    ret_report->state = crew->state;
    ret_report->running = crew->live;
    ret_report->kind_count = crew->kind_count;
    memcpy(ret_report->kinds, crew->kinds, sizeof(crew->kinds));
    weir_lock_release(&crew->lock);
}

const char *weir_crew_name(const struct weir_crew *crew)
{
    return crew->name;
}

const char *weir_crew_state_name(enum weir_crew_state state)
{
    static const char *const names[] = {
        [WEIR_CREW_RUNNING] = "running",
        [WEIR_CREW_DRAINING] = "draining",
        [WEIR_CREW_ABORTING] = "aborting",
        [WEIR_CREW_STOPPED] = "stopped",
    };
    return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static void shut_down(void *arg)
{
    shutdown((int)(intptr_t)arg, SHUT_RDWR);
}

bool weir_cancel_shuts_down(struct weir_cancel *token, struct weir_cancel_hook *hook, int fd)
{
    return weir_cancel_on(token, hook, shut_down, (void *)(intptr_t)fd);
}
