/* frontier.c - one blob and its bytes, together or not at all.
 *
 * State: a vector budget (vector.c) of two components, blobs and bytes; nothing else. A permit
 * remembers the bytes, the blob is always one.
 *
 * Happy path and failure modes are those of the vector. What is decided here: limits of 0 are
 * refused (for the vector 0 would mean unlimited), and a request always has one blob, so that it is
 * never the empty request, which would pass the line.
 */
#include <weir/frontier.h>

#include "assert.h"
#include "error.h"
#include "permit.h"
#include "vector.h"

enum { BLOBS, BYTES, COMPONENTS };

static const char *const component_names[COMPONENTS] = {"blobs", "bytes"};

int weir_frontier_init(struct weir_frontier *frontier, const char *name,
                       const struct weir_frontier_options *options)
{
    static const struct weir_frontier_options nothing;
    options = options ? options : &nothing;
    if (options->blobs_max == 0)
        return weir__fail(WEIR_E_INVALID, name,
                          "frontier '$n': a limit of 0 blobs was asked for, at least 1 is needed",
                          0, 0, 0);
    if (options->bytes_max == 0)
        return weir__fail(WEIR_E_INVALID, name,
                          "frontier '$n': a limit of 0 bytes was asked for, at least 1 is needed",
                          0, 0, 0);
    uint64_t capacities[COMPONENTS] = {options->blobs_max, options->bytes_max};
    return weir__vector_init(&frontier->_vector, "frontier", name, COMPONENTS, capacities,
                             component_names, options->waiters_max);
}

void weir_frontier_fini(struct weir_frontier *frontier)
{
    if (frontier)
        weir__vector_fini(&frontier->_vector);
}

static struct weir__vector_request blob_of(uint64_t bytes)
{
    return (struct weir__vector_request){{[BLOBS] = 1, [BYTES] = bytes}};
}

int weir_frontier_try(struct weir_frontier *frontier, uint64_t bytes,
                      struct weir_frontier_permit *ret_permit)
{
    struct weir__vector_request request = blob_of(bytes);
    int error = weir__vector_try(&frontier->_vector, &request);
    if (!error)
        *ret_permit = (struct weir_frontier_permit){frontier, bytes, weir__tag_take(frontier)};
    return error;
}

int weir_frontier_acquire(struct weir_frontier *frontier, uint64_t bytes,
                          struct weir_frontier_permit *ret_permit,
                          const struct weir_deadline *deadline)
{
    struct weir__vector_request request = blob_of(bytes);
    int error = weir__vector_acquire(&frontier->_vector, &request, deadline);
    if (!error)
        *ret_permit = (struct weir_frontier_permit){frontier, bytes, weir__tag_take(frontier)};
    return error;
}

void weir_frontier_permit_release(struct weir_frontier_permit *permit)
{
    struct weir_frontier *frontier = permit->_frontier;
    if (!frontier)
        return;
    struct weir__vector_request request = blob_of(permit->_bytes);
    weir__tag_return(permit->_tag, frontier, "frontier", frontier->_vector._name);
    *permit = (struct weir_frontier_permit)WEIR_FRONTIER_PERMIT_NONE;
    weir__vector_release(&frontier->_vector, &request);
}

void weir_frontier_permit_move(struct weir_frontier_permit *to, struct weir_frontier_permit *from)
{
    WEIR__ASSERT(!to->_frontier, "frontier", to->_frontier->_vector._name,
                 "a permit was moved onto one that is still held");
    *to = *from;
    *from = (struct weir_frontier_permit)WEIR_FRONTIER_PERMIT_NONE;
}

void weir_frontier_read(struct weir_frontier *frontier, struct weir_frontier_stats *ret_stats)
{
    struct weir__vector_stats stats;
    weir__vector_read(&frontier->_vector, &stats);
    *ret_stats = (struct weir_frontier_stats){
        .blobs_max = stats.capacity[BLOBS],
        .blobs = stats.in_use[BLOBS],
        .bytes_max = stats.capacity[BYTES],
        .bytes = stats.in_use[BYTES],
        .waiting = stats.waiting,
        .acquired = stats.acquired,
        .released = stats.released,
        .enqueued = stats.enqueued,
        .granted = stats.granted,
        .canceled = stats.canceled,
        .timed_out = stats.timed_out,
        .busy = stats.busy,
        .wait_ns = stats.wait_ns,
    };
}

const char *weir_frontier_name(const struct weir_frontier *frontier)
{
    return frontier->_vector._name;
}
