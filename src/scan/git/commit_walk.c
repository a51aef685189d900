/* commit_walk.c - colours run from children to parents.
 *
 * Every start has a colour: it is wanted, for one of five reasons, or excluded. A queue gives the
 * commits by generation (those without one first) and then by time, the newest first; one that
 * leaves it hands its colours to its parents. With clocks that go right each commit leaves the
 * queue once. When a parent has left it before and gets a new colour, it is queued again: there are
 * eight colours, so a commit is queued nine times at most and the walk stays linear.
 *
 * When may it stop? When everything that waits is excluded and has a generation. The queue gives
 * generations in falling order, and all ancestors of a commit have smaller ones: what waits cannot
 * be an ancestor of anything that is excluded later, nor can it have anything in the set that has
 * left the queue as an ancestor. As long as something waits that has no generation (all of it,
 * without a graph), or when the graph has turned out to be broken, the walk goes on to the roots.
 */
#include "commit_part.h"

#include "alloc.h"

#include "banned.h"

#define HEAP_FIRST   256u
#define LOOK_UP_MASK 1023u

/* --- the queue --- */

static bool is_before(const struct weir__git_waiting *a, const struct weir__git_waiting *b)
{
    if (a->generation != b->generation)
        return a->generation > b->generation;
    if (a->time != b->time)
        return a->time > b->time;
    return a->number < b->number;
}

static int heap_grow(struct weir__git_history *history)
{
    size_t room = history->_heap_room ? history->_heap_room * 2 : HEAP_FIRST;
    uint64_t most = history->_options.bytes_max;
    uint64_t bytes = (uint64_t)room * sizeof(*history->_heap);
    if (most && weir__git_set_bytes(&history->_set) + history->_edges_bytes + bytes > most)
        return -WEIR_E_TOO_LARGE;
    struct weir__git_waiting *heap =
        weir__base_realloc(history->_heap, room, sizeof(*history->_heap));
    if (!heap)
        return -WEIR_E_NO_MEMORY;
    history->_heap = heap;
    history->_heap_room = room;
    return 0;
}

static int heap_push(struct weir__git_history *history, const struct weir__git_waiting *waiting)
{
    if (history->_heap_count == history->_heap_room) {
        int error = heap_grow(history);
        if (error)
            return error;
    }
    struct weir__git_waiting *heap = history->_heap;
    size_t at = history->_heap_count++;
    while (at > 0 && is_before(waiting, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = *waiting;
    return 0;
}

static struct weir__git_waiting heap_pop(struct weir__git_history *history)
{
    struct weir__git_waiting *heap = history->_heap, first = heap[0];
    struct weir__git_waiting last = heap[--history->_heap_count];
    size_t at = 0, count = history->_heap_count;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* --- colours --- */

/* What is of no more interest, once it has these. */
static bool is_out(const struct weir__git_history *history, uint32_t flags)
{
    uint32_t both = WEIR__NODE_LEFT | WEIR__NODE_RIGHT;
    return history->_is_symmetric ? (flags & both) == both : (flags & WEIR__NODE_EXCLUDE) != 0;
}

/* Gives a commit colours; queues it if that is news to its parents. */
static int colour(struct weir__git_history *history, uint32_t number, uint32_t colours,
                  bool may_be_gone)
{
    struct weir__git_node *node = weir__git_history_node(history, number);
    uint32_t flags = node->_flags | colours;
    /* Something leads to it: so it does to its ancestors, and they are walked. */
    if (colours == WEIR__NODE_LOST && (node->_flags & WEIR__NODE_STARTS & ~WEIR__NODE_LOST))
        return 0;
    if (flags == node->_flags && (flags & (WEIR__NODE_QUEUED | WEIR__NODE_PASSED)))
        return 0;
    if (flags & WEIR__NODE_QUEUED) {
        history->_alive -= !is_out(history, node->_flags) && is_out(history, flags);
        node->_flags = flags;
        return 0;
    }
    int error = weir__git_history_load(history, number, may_be_gone);
    if (error)
        return error;
    node->_flags |= colours;
    if (!(node->_flags & WEIR__NODE_THERE))
        return 0;
    struct weir__git_waiting waiting = {weir__git_history_generation(history, number),
                                        weir__git_history_time(history, number), number};
    error = heap_push(history, &waiting);
    if (error)
        return error;
    node->_flags = (node->_flags | WEIR__NODE_QUEUED) & ~WEIR__NODE_PASSED;
    history->_alive += !is_out(history, node->_flags);
    history->_unknown += waiting.generation == WEIR__GIT_GENERATION_NONE;
    return 0;
}

/* Nothing that its ancestors have to say is younger than what was asked for. */
static bool is_too_old(struct weir__git_history *history, uint32_t number)
{
    const struct weir__git_node *node = weir__git_history_node(history, number);
    struct weir__git_graph_commit commit;
    if (history->_since <= 0 || !history->_has_graph || node->_position == 0 ||
        weir__git_graph_commit(history->_options.graph, node->_position - 1, &commit) < 0)
        return false;
    return commit.newest < (uint64_t)history->_since;
}

static int pass_on(struct weir__git_history *history, const struct weir__git_waiting *waiting)
{
    struct weir__git_node *node = weir__git_history_node(history, waiting->number);
    uint32_t parent;
    node->_flags = (node->_flags | WEIR__NODE_PASSED) & ~WEIR__NODE_QUEUED;
    history->_alive -= !is_out(history, node->_flags);
    history->_unknown -= waiting->generation == WEIR__GIT_GENERATION_NONE;
    if (is_too_old(history, waiting->number))
        return 0;
    for (uint64_t at = WEIR__GIT_PARENTS;
         weir__git_history_parent(history, waiting->number, &at, &parent);) {
        uint32_t colours = node->_flags & WEIR__NODE_COLOURS;
        int error = colour(history, parent, colours, colours == WEIR__NODE_LOST);
        if (error)
            return error;
    }
    return 0;
}

static int run(struct weir__git_history *history)
{
    for (uint64_t steps = 0; history->_heap_count > 0; steps++) {
        if (history->_has_graph && history->_alive == 0 && history->_unknown == 0)
            break;
        if (history->_options.stop && (steps & LOOK_UP_MASK) == 0 &&
            weir_cancel_is_fired(history->_options.stop))
            return -WEIR_E_CANCELED;
        struct weir__git_waiting waiting = heap_pop(history);
        int error = pass_on(history, &waiting);
        if (error)
            return error;
    }
    return 0;
}

/* --- what is asked --- */

static int start(struct weir__git_history *history, const struct weir__git_id *id, uint32_t colours,
                 bool may_be_gone)
{
    uint32_t number;
    int error = weir__git_history_add(history, id, &number);
    return error < 0 ? error : colour(history, number, colours, may_be_gone);
}

int weir__git_history_start(struct weir__git_history *history, const struct weir__git_id *id,
                            unsigned kinds)
{
    bool may_be_gone = (kinds & (WEIR__GIT_START_LOG | WEIR__GIT_START_LOST)) != 0;
    return start(history, id, kinds & (WEIR__NODE_STARTS | WEIR__NODE_EXCLUDE), may_be_gone);
}

int weir__git_history_walk(struct weir__git_history *history, int64_t since)
{
    history->_since = since;
    int error = run(history);
    weir__buffer_adopt(&history->_bytes, NULL, 0); /* a large message would stay */
    return error;
}

int weir__git_history_exclude_common(struct weir__git_history *history,
                                     const struct weir__git_id *left,
                                     const struct weir__git_id *right)
{
    const uint32_t both = WEIR__NODE_LEFT | WEIR__NODE_RIGHT;
    history->_is_symmetric = true;
    int error = start(history, left, WEIR__NODE_LEFT, false);
    if (!error)
        error = start(history, right, WEIR__NODE_RIGHT, false);
    if (!error)
        error = run(history);
    history->_is_symmetric = false;
    history->_heap_count = 0;
    history->_alive = history->_unknown = 0;
    /* All are to be walked again; what both have reached begins as excluded. */
    for (uint32_t i = 0; i < weir__git_history_count(history); i++) {
        struct weir__git_node *node = weir__git_history_node(history, i);
        bool is_common = (node->_flags & both) == both;
        node->_flags &= ~(both | WEIR__NODE_QUEUED | WEIR__NODE_PASSED);
        node->_flags |= is_common ? WEIR__NODE_EXCLUDE : 0;
    }
    for (uint32_t i = 0; !error && i < weir__git_history_count(history); i++)
        if (weir__git_history_node(history, i)->_flags & WEIR__NODE_COLOURS)
            error = colour(history, i, 0, true);
    return error;
}
