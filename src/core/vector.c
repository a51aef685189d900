/* vector.c - the all-or-nothing, first-in-first-out budget over several components.
 *
 * State: all of it is plain memory under one lock, since several numbers change together and no
 * word is wide enough for them. in_use[i] is what is out of component i, whatever the capacity is:
 * so a resize downwards needs no debt, a component simply has nothing free while more is out than
 * it may have. The line is a list of waiters on their own stacks or in the callers' memory.
 *
 * Happy path: lock; nobody waits and every component fits; add; unlock. Release: lock; subtract;
 * nobody waits; unlock.
 *
 * Waiting: join the tail under the same lock that saw that the request does not fit, unlock, park.
 * Whoever makes room (release, resize, a waiter that leaves) serves the head, and the next, as far
 * as they fit. A head that does not fit holds up the line: that is what keeps large requests from
 * starving.
 *
 * Failure modes: a waiter that leaves may have been the one that held up the line, so the line is
 * served again. Grant and leave are decided under the lock: a grant that is there when the waiter
 * comes back is taken. Wakes and callbacks come after the lock is released (turn.c).
 */
#include "vector.h"

#include <string.h>

#include "assert.h"
#include "atomic.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"
#include "turn.h"

static const struct weir_lock_class vector_class = {"vector", WEIR__RANK_POOL};

int weir__vector_init(struct weir__vector *vector, const char *what, const char *name,
                      unsigned components, const uint64_t *capacities,
                      const char *const *component_names, uint32_t waiters_max)
{
    struct weir__vector fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (error)
        return error;
    WEIR__ASSERT(components >= 1 && components <= WEIR__VECTOR_MAX, what, name,
                 "made with too many or too few components");
    weir_lock_init(&fresh._lock, &vector_class);
    fresh._what = what;
    fresh._components = components;
    weir__turns_init(&fresh._line, waiters_max ? waiters_max : WEIR_BUDGET_WAITERS_DEFAULT);
    for (unsigned i = 0; i < components; i++) {
        fresh._capacity[i] = capacities[i];
        fresh._component_names[i] = component_names[i];
    }
    *vector = fresh;
    return 0;
}

void weir__vector_fini(struct weir__vector *vector)
{
    if (!vector || !vector->_components)
        return;
    weir_lock_acquire(&vector->_lock);
    WEIR__ASSERT(!vector->_line._head, vector->_what, vector->_name,
                 "destroyed while somebody waits");
    WEIR__ASSERT(vector->_acquired == vector->_released, vector->_what, vector->_name,
                 "destroyed with permits out");
    for (unsigned i = 0; i < vector->_components; i++)
        WEIR__ASSERT(vector->_in_use[i] == 0, vector->_what, vector->_name,
                     "destroyed with units missing");
    weir_lock_release(&vector->_lock);
    weir_lock_fini(&vector->_lock);
    vector->_components = 0;
}

/* ---- saying no ----
 *
 * A template must outlive the call, and what it says depends on the kind of the object and on the
 * component: so it is put together in memory of the thread, where the next failure may replace it
 * as it replaces the detail itself. */

static _Thread_local char template[192];

static void text_append(const char *text)
{
    size_t at = strlen(template);
    size_t length = strnlen(text, sizeof(template) - 1 - at);
    memcpy(template + at, text, length);
    template[at + length] = '\0';
}

static int fail_on(const struct weir__vector *vector, unsigned component, int code,
                   const char *rest, uint64_t first, uint64_t second, uint64_t third)
{
    template[0] = '\0';
    text_append(vector->_what);
    text_append(" '$n': $1 ");
    text_append(vector->_component_names[component]);
    text_append(rest);
    return weir__fail(code, vector->_name, template, first, second, third);
}

static int fail_whole(const struct weir__vector *vector, int code, const char *rest, uint64_t first)
{
    template[0] = '\0';
    text_append(vector->_what);
    text_append(" '$n': ");
    text_append(rest);
    return weir__fail(code, vector->_name, template, first, 0, 0);
}

/* ---- what fits, under the lock ---- */

static bool is_empty(const struct weir__vector_request *request)
{
    for (unsigned i = 0; i < WEIR__VECTOR_MAX; i++)
        if (request->units[i] > 0)
            return false;
    return true;
}

static uint64_t available(const struct weir__vector *vector, unsigned i)
{
    if (vector->_capacity[i] == 0)
        return UINT64_MAX - vector->_in_use[i];
    return vector->_capacity[i] > vector->_in_use[i] ? vector->_capacity[i] - vector->_in_use[i]
                                                     : 0;
}

/* The first component that stands in the way, or the number of components when all fit. */
static unsigned misfit(const struct weir__vector *vector,
                       const struct weir__vector_request *request)
{
    unsigned i = 0;
    while (i < vector->_components &&
           (request->units[i] == 0 || request->units[i] <= available(vector, i)))
        i++;
    return i;
}

static bool fits(const struct weir__vector *vector, const struct weir__vector_request *request)
{
    unsigned i = misfit(vector, request);
    if (WEIR__MUTANT(VECTOR_FIRST_COMPONENT_ONLY))
        return i > 0;
    return i == vector->_components;
}

/* The first component that can never fit, or the number of components. */
static unsigned impossible(const struct weir__vector *vector,
                           const struct weir__vector_request *request)
{
    unsigned i = 0;
    while (i < vector->_components &&
           (vector->_capacity[i] == 0 || request->units[i] <= vector->_capacity[i]))
        i++;
    return i;
}

static void take(struct weir__vector *vector, const struct weir__vector_request *request)
{
    for (unsigned i = 0; i < vector->_components; i++)
        vector->_in_use[i] += request->units[i];
    vector->_acquired++;
}

/* ---- the line ---- */

static struct weir__vector_waiter *waiter_of(struct weir__turn *turn)
{
    return (struct weir__vector_waiter *)turn;
}

/* Serves the head of the line as long as it fits. Returns true when it stopped only because too
 * many wakes are pending: send them and call again. Under the lock. */
static bool serve_line(struct weir__vector *vector, struct weir__after *after)
{
    struct weir__turn *head;
    while ((head = vector->_line._head) && fits(vector, &waiter_of(head)->_request)) {
        if (weir__wakes_is_full(&after->wakes))
            return true;
        take(vector, &waiter_of(head)->_request);
        weir__turns_settle(&vector->_line, head, 0, after);
        if (WEIR__MUTANT(VECTOR_WAKES_ONE))
            break;
    }
    return false;
}

static void call(struct weir__turn *turn)
{
    struct weir__vector_waiter *waiter = waiter_of(turn);
    waiter->_fn(waiter, turn->_result);
}

/* Serves the line until it stands, releases the lock (which the caller holds), wakes and calls. */
static void serve_and_release(struct weir__vector *vector, struct weir__after *after)
{
    while (serve_line(vector, after)) {
        weir_lock_release(&vector->_lock);
        weir__after_run(after);
        weir_lock_acquire(&vector->_lock);
    }
    weir_lock_release(&vector->_lock);
    weir__after_run(after);
}

/* ---- acquiring ---- */

static int refuse_size(const struct weir__vector *vector,
                       const struct weir__vector_request *request)
{
    for (unsigned i = vector->_components; i < WEIR__VECTOR_MAX; i++)
        WEIR__ASSERT(request->units[i] == 0, vector->_what, vector->_name,
                     "asked for a component that it does not have");
    unsigned i = impossible(vector, request);
    if (i == vector->_components)
        return 0;
    return fail_on(vector, i, WEIR_E_TOO_LARGE, " asked for, at most $2 can ever be granted",
                   request->units[i], vector->_capacity[i], 0);
}

/* Under the lock, so that the numbers in the text belong together. */
static int refuse_busy(struct weir__vector *vector, const struct weir__vector_request *request)
{
    vector->_busy++;
    unsigned i = misfit(vector, request);
    if (i == vector->_components)
        return fail_whole(vector, WEIR_E_BUSY, "$1 waiting in line before it; try again later",
                          vector->_line._waiting);
    return fail_on(vector, i, WEIR_E_BUSY, " asked for, $2 free, $3 waiting; try again later",
                   request->units[i], available(vector, i), vector->_line._waiting);
}

/* Why a request that waited ended with nothing. */
static int refuse_waited(struct weir__vector *vector, const struct weir__vector_request *request,
                         int error)
{
    weir_lock_acquire(&vector->_lock);
    unsigned i = impossible(vector, request);
    uint64_t capacity = i < vector->_components ? vector->_capacity[i] : 0;
    weir_lock_release(&vector->_lock);
    if (error == -WEIR_E_TIMEOUT)
        return fail_whole(vector, WEIR_E_TIMEOUT, "not granted before the deadline", 0);
    if (error == -WEIR_E_CANCELED)
        return fail_whole(vector, WEIR_E_CANCELED, "canceled while waiting", 0);
    if (error == -WEIR_E_TOO_LARGE && i < vector->_components)
        return fail_on(vector, i, WEIR_E_TOO_LARGE, " asked for, resized to $2 while it waited",
                       request->units[i], capacity, 0);
    if (error == -WEIR_E_TOO_LARGE)
        return fail_whole(vector, WEIR_E_TOO_LARGE, "resized below the request while it waited", 0);
    return error; /* explained where it was found */
}

/* Takes the request (0), or joins the line when there is a waiter (WEIR_BUDGET_QUEUED), or refuses
 * (negative). */
static int take_or_join(struct weir__vector *vector, const struct weir__vector_request *request,
                        struct weir__vector_waiter *waiter)
{
    weir_lock_acquire(&vector->_lock);
    int result = refuse_size(vector, request);
    bool free = !vector->_line._head || is_empty(request) || WEIR__MUTANT(VECTOR_BARGING);
    if (!result && free && fits(vector, request)) {
        take(vector, request);
    } else if (!result && waiter && vector->_line._waiting < vector->_line._waiting_max) {
        weir__turns_append(&vector->_line, &waiter->_turn);
        result = WEIR_BUDGET_QUEUED;
    } else if (!result) {
        result = refuse_busy(vector, request);
    }
    weir_lock_release(&vector->_lock);
    return result;
}

int weir__vector_try(struct weir__vector *vector, const struct weir__vector_request *request)
{
    return take_or_join(vector, request, NULL);
}

/* The waiter comes back without having been signaled: leave the line, unless a grant was faster. */
static int leave_line(struct weir__vector *vector, struct weir__vector_waiter *waiter, int error)
{
    struct weir__after after;
    weir__after_init(&after);
    weir_lock_acquire(&vector->_lock);
    if (!weir__turns_leave(&vector->_line, &waiter->_turn, error)) {
        weir_lock_release(&vector->_lock);
        return WEIR__MUTANT(VECTOR_GRANT_LOST_ON_TIMEOUT) ? error : waiter->_turn._result;
    }
    if (WEIR__MUTANT(VECTOR_LEAVER_WAKES_NOBODY)) {
        weir_lock_release(&vector->_lock);
        return error;
    }
    serve_and_release(vector, &after);
    return error;
}

int weir__vector_acquire(struct weir__vector *vector, const struct weir__vector_request *request,
                         const struct weir_deadline *deadline)
{
    struct weir__vector_waiter waiter = {._request = *request};
    bool may_wait = weir__deadline_has_end(deadline);
    int result = take_or_join(vector, request, may_wait ? &waiter : NULL);
    if (result == -WEIR_E_BUSY && !may_wait)
        return fail_whole(vector, WEIR_E_INVALID,
                          "would have to wait for ever; give a deadline or a cancel token", 0);
    if (result != WEIR_BUDGET_QUEUED)
        return result;
    int error = weir__turn_wait(&waiter._turn, deadline);
    error = error ? leave_line(vector, &waiter, error) : waiter._turn._result;
    return error ? refuse_waited(vector, request, error) : 0;
}

int weir__vector_acquire_async(struct weir__vector *vector,
                               const struct weir__vector_request *request,
                               struct weir__vector_waiter *waiter,
                               void (*fn)(struct weir__vector_waiter *waiter, int result))
{
    memset(waiter, 0, sizeof(*waiter));
    waiter->_turn._call = call;
    waiter->_request = *request;
    waiter->_fn = fn;
    return take_or_join(vector, request, waiter);
}

bool weir__vector_cancel_async(struct weir__vector *vector, struct weir__vector_waiter *waiter)
{
    return leave_line(vector, waiter, -WEIR_E_CANCELED) == -WEIR_E_CANCELED;
}

/* ---- releasing, resizing, looking ---- */

void weir__vector_release(struct weir__vector *vector, const struct weir__vector_request *request)
{
    struct weir__after after;
    weir__after_init(&after);
    weir_lock_acquire(&vector->_lock);
    bool over = vector->_released >= vector->_acquired;
    for (unsigned i = 0; i < vector->_components; i++)
        over = over || request->units[i] > vector->_in_use[i];
    WEIR__ASSERT(!over, vector->_what, vector->_name, "more units released than were acquired");
    for (unsigned i = 0; i < vector->_components; i++)
        vector->_in_use[i] -= request->units[i];
    vector->_released++;
    serve_and_release(vector, &after);
}

/* Fails those in line who want more than there will ever be. True when wakes must be sent first. */
static bool fail_impossible(struct weir__vector *vector, struct weir__after *after)
{
    struct weir__turn *next;
    for (struct weir__turn *turn = vector->_line._head; turn; turn = next) {
        next = turn->_next;
        if (impossible(vector, &waiter_of(turn)->_request) == vector->_components)
            continue;
        if (weir__wakes_is_full(&after->wakes))
            return true;
        weir__turns_settle(&vector->_line, turn, -WEIR_E_TOO_LARGE, after);
    }
    return false;
}

int weir__vector_resize(struct weir__vector *vector, unsigned component, uint64_t capacity)
{
    if (component >= vector->_components)
        return fail_whole(vector, WEIR_E_INVALID, "there is no component $1 to resize", component);
    struct weir__after after;
    weir__after_init(&after);
    weir_lock_acquire(&vector->_lock);
    vector->_capacity[component] = capacity;
    while (fail_impossible(vector, &after)) {
        weir_lock_release(&vector->_lock);
        weir__after_run(&after);
        weir_lock_acquire(&vector->_lock);
    }
    serve_and_release(vector, &after);
    return 0;
}

void weir__vector_read(struct weir__vector *vector, struct weir__vector_stats *ret_stats)
{
    weir_lock_acquire(&vector->_lock);
    *ret_stats = (struct weir__vector_stats){
        .waiting = vector->_line._waiting,
        .acquired = vector->_acquired,
        .released = vector->_released,
        .enqueued = vector->_line._enqueued,
        .granted = vector->_line._granted,
        .canceled = vector->_line._canceled,
        .timed_out = vector->_line._timed_out,
        .refused = vector->_line._refused,
        .busy = vector->_busy,
    };
    for (unsigned i = 0; i < vector->_components; i++) {
        ret_stats->capacity[i] = vector->_capacity[i];
        ret_stats->in_use[i] = vector->_in_use[i];
        ret_stats->available[i] = vector->_capacity[i] ? available(vector, i) : UINT64_MAX;
    }
    weir_histogram_read(&vector->_line._wait_ns, &ret_stats->wait_ns);
    weir_lock_release(&vector->_lock);
}

uint64_t weir__vector_capacity(struct weir__vector *vector, unsigned component)
{
    weir_lock_acquire(&vector->_lock);
    uint64_t capacity = vector->_capacity[component];
    weir_lock_release(&vector->_lock);
    return capacity;
}

uint64_t weir__vector_available(struct weir__vector *vector, unsigned component)
{
    weir_lock_acquire(&vector->_lock);
    uint64_t units = vector->_capacity[component] ? available(vector, component) : UINT64_MAX;
    weir_lock_release(&vector->_lock);
    return units;
}
