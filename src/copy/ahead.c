/* ahead.c - small files whose data are not in memory, asked for many at a time.
 *
 * Each read that a thread starts by itself goes to the disk alone, and tells the device that there
 * is something to do: on a virtual machine that is the most expensive part of reading a small file.
 * A ring sends a batch of reads at once. The kernel joins those that are neighbours, which files in
 * order of their inodes mostly are, and tells the device once. The answers come in the order in
 * which the disk gives them, and the bytes need not be read again from the page cache.
 *
 * Whether data are in memory is found out by a read that does not wait (file.c). When one was not,
 * so are, most likely, those that follow: that many are asked for without looking, and then one is
 * looked at again. So files that are in memory never come here, but for a few behind one that was
 * not.
 */
#include <errno.h>

#include "alloc.h"
#include "engine.h"
#include "ring.h"
#include "sys.h"

#include "banned.h"

/* Sent together. Half of the slots: while one half is written, the disk reads the other. */
#define BATCH (WEIR__AHEAD_SLOTS / 2)
/* Files that one cold one speaks for. */
#define TRUST 64u
#define PAGE  4096u

void weir__ahead_learn(struct weir__worker *w, bool is_cold)
{
    w->ahead.trust = is_cold ? TRUST : 0;
}

static bool is_usable(const struct weir__worker *w)
{
    enum weir__data_path path = w->run->options->data_path;
    return !w->ahead.is_refused && !w->is_relieving &&
           (path == WEIR__DATA_AUTO || path == WEIR__DATA_RING);
}

static bool make_ring(struct weir__ahead *ahead)
{
    if (ahead->ring)
        return true;
    ahead->memory = weir__base_alloc(1, WEIR__AHEAD_SLOTS * WEIR__AHEAD_SIZE + PAGE);
    uintptr_t start = ((uintptr_t)ahead->memory + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    ahead->is_refused = !ahead->memory || weir__ring_new(&ahead->ring, (char *)start,
                                                         WEIR__AHEAD_SIZE, WEIR__AHEAD_SLOTS) < 0;
    return !ahead->is_refused;
}

void weir__ahead_fini(struct weir__ahead *ahead)
{
    weir__ring_free(ahead->ring);
    weir__base_free(ahead->memory);
}

bool weir__ahead_take(struct weir__worker *w, struct weir__job *job)
{
    struct weir__ahead *ahead = &w->ahead;
    size_t size = (size_t)job->st.st_size;
    if (ahead->trust == 0 || size > WEIR__AHEAD_SIZE || !is_usable(w) || !make_ring(ahead))
        return false;
    if (ahead->count == WEIR__AHEAD_SLOTS)
        weir__ahead_complete(w, WEIR__AHEAD_SLOTS - BATCH);
    unsigned slot = 0;
    while (slot < WEIR__AHEAD_SLOTS && ahead->is_used[slot])
        slot++;
    if (slot == WEIR__AHEAD_SLOTS || ahead->is_refused)
        return false;
    struct weir__job *kept = weir__entry_keep(w, job);
    if (!kept)
        return false;
    ahead->trust--;
    ahead->jobs[slot] = kept;
    ahead->is_used[slot] = true;
    ahead->count++;
    weir__ring_read(ahead->ring, slot, kept->in, 0, size, 0);
    if (++ahead->unsent >= BATCH) {
        weir__ring_send(ahead->ring);
        ahead->unsent = 0;
    }
    return true;
}

/* The slot is free for others when the file is complete: until then its bytes are in there. */
static void complete(struct weir__worker *w, unsigned slot, int result)
{
    struct weir__ahead *ahead = &w->ahead;
    struct weir__job *job = ahead->jobs[slot];
    ahead->jobs[slot] = NULL;
    ahead->count--;
    bool is_whole = result >= 0 && result == job->st.st_size;
    weir__file_arrived(w, job, is_whole ? weir__ring_buffer(ahead->ring, slot) : NULL);
    ahead->is_used[slot] = false;
}

void weir__ahead_complete(struct weir__worker *w, unsigned leave)
{
    struct weir__ahead *ahead = &w->ahead;
    while (ahead->count > leave) {
        unsigned slot;
        int result;
        ahead->unsent = 0;
        if (weir__ring_next(ahead->ring, &slot, &result) == 0) {
            complete(w, slot, result);
            continue;
        }
        /* No more answers: what was asked for is read the ordinary way. */
        weir__ring_drain(ahead->ring);
        ahead->is_refused = true;
        for (slot = 0; slot < WEIR__AHEAD_SLOTS; slot++)
            if (ahead->jobs[slot])
                complete(w, slot, -EIO);
    }
}
