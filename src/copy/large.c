/* large.c - the content of a file that does not fit into a buffer: through the mover, piece by
 * piece.
 *
 * Threads that are idle are asked to take pieces; whoever ends the last piece completes the file.
 * Its directory stays open until then.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"
#include "sys.h"

#include "banned.h"

/* Below this a file is not worth sharing. */
#define SHARED_SIZE (2 * WEIR__DATA_PIECE)

/* A block that a resumed file is compared by. */
#define RESUME_BLOCK (WEIR__DATA_SMALL / 2)

/* How much of a file that was cut off agrees with the source. */
static uint64_t resume_at(struct weir__worker *w, struct weir__job *job)
{
    char *from = weir__mover_buffer(&w->mover), *to = from + RESUME_BLOCK;
    uint64_t at = 0;
    while (job->is_part && !job->is_blank && !weir__is_stopped(w)) {
        ssize_t n = weir__sys_pread(job->out, to, RESUME_BLOCK, (off_t)at);
        ssize_t m = weir__sys_pread(job->in, from, RESUME_BLOCK, (off_t)at);
        if (n != RESUME_BLOCK || m != RESUME_BLOCK || memcmp(from, to, RESUME_BLOCK) != 0)
            break;
        at += RESUME_BLOCK;
    }
    return at;
}

void weir__large_end(struct weir__worker *w, struct weir__job *job)
{
    if (job->big.is_failed) {
        weir__file_fail(w, job, job->big.is_read_side, job->big.errno_value);
        return;
    }
    if (weir__sys_ftruncate(job->out, job->st.st_size) < 0) {
        weir__file_fail(w, job, false, errno);
        return;
    }
    weir__file_complete(w, job);
}

/* The next piece that nobody has taken, or 0 bytes. */
static uint64_t take_piece(struct weir__copy *run, struct weir__job *job, uint64_t *ret_at)
{
    weir_lock_acquire(&run->big_lock);
    uint64_t size = (uint64_t)job->st.st_size, at = job->big.next;
    uint64_t length = size - at < WEIR__DATA_PIECE ? size - at : WEIR__DATA_PIECE;
    if (job->big.is_failed)
        length = 0;
    job->big.next += length;
    weir_lock_release(&run->big_lock);
    *ret_at = at;
    return length;
}

void weir__large_tick(void *worker, uint64_t bytes)
{
    struct weir__worker *w = worker;
    w->counts.bytes_done += bytes;
    w->ticked += bytes;
    weir__tell_counts_soon(w);
}

static void note_piece(struct weir__worker *w, struct weir__job *job, int result, int errno_value,
                       uint64_t copied, bool is_short, const struct weir__data_result *moved)
{
    struct weir__copy *run = w->run;
    /* A piece that failed counts as far as it came, like one that ended. */
    w->counts.bytes_done += copied > w->ticked ? copied - w->ticked : 0;
    copied = copied > w->ticked ? copied : w->ticked;
    w->ticked = 0;
    weir__tell_counts(w);
    weir_lock_acquire(&run->big_lock);
    job->big.counted += copied;
    job->moved.range += moved->range;
    job->moved.ring += moved->ring;
    job->moved.plain += moved->plain;
    job->moved.holes += moved->holes;
    job->is_short = job->is_short || is_short;
    if (result < 0 && !job->big.is_failed) {
        job->big.is_failed = true;
        job->big.errno_value = errno_value;
        job->big.is_read_side = moved->is_read_side;
    }
    weir_lock_release(&run->big_lock);
}

/* A piece that is all hole needs nothing in a new file, and those that follow up to the next data
 * need not even be looked at: a file of exbibytes may hold a few bytes. */
static bool is_hole(struct weir__worker *w, struct weir__job *job, uint64_t at, uint64_t length)
{
    uint64_t size = (uint64_t)job->st.st_size;
    if (!job->is_blank || w->run->options->sparse == WEIR__SPARSE_NEVER ||
        (uint64_t)job->st.st_blocks * 512 >= size)
        return false;
    off_t data = weir__sys_lseek(job->in, (off_t)at, SEEK_DATA);
    if (data < 0 && errno != ENXIO)
        return false;
    uint64_t next = data < 0 ? size : (uint64_t)data / WEIR__DATA_PIECE * WEIR__DATA_PIECE;
    if (next < at + length && data >= 0)
        return false;
    weir_lock_acquire(&w->run->big_lock);
    if (next > job->big.next)
        job->big.next = next;
    weir_lock_release(&w->run->big_lock);
    return true;
}

/* Moves pieces until none is left; true when this thread is the last one at the file. */
static bool move_pieces(struct weir__worker *w, struct weir__job *job)
{
    struct weir__copy *run = w->run;
    struct weir_deadline deadline = weir__stop_deadline(w);
    uint64_t at, length;
    while ((length = take_piece(run, job, &at)) > 0) {
        if (is_hole(w, job, at, length))
            continue;
        struct weir__data_result moved = {0};
        uint64_t copied = 0;
        int result = weir__mover_copy(&w->mover, job->in, job->out, at, length, job->is_blank,
                                      &copied, &moved, &deadline);
        note_piece(w, job, result, errno, copied, result == 0 && copied < length, &moved);
    }
    weir_lock_acquire(&run->big_lock);
    bool is_last = --job->big.helpers == 0;
    weir_lock_release(&run->big_lock);
    return is_last;
}

/* The directory of a file that several threads move is pinned until the last of them is done. */
static void complete_shared(struct weir__worker *w, struct weir__job *job)
{
    struct weir__dir *dir = job->dir;
    weir__tree_hold(w->tree, &dir->node);
    weir__large_end(w, job);
    weir__dir_unpin(w, dir);
    weir__dir_drop(w, dir);
}

void weir__file_help(struct weir__worker *w, struct weir__job *job)
{
    if (move_pieces(w, job))
        complete_shared(w, job);
}

/* Asks idle threads for a hand, one for each piece that could be theirs. */
static void ask_for_help(struct weir__worker *w, struct weir__job *job)
{
    uint64_t pieces = ((uint64_t)job->st.st_size - job->big.next) / WEIR__DATA_PIECE;
    for (; pieces > 1 && weir__tree_is_idle_wanted(w->tree); pieces--) {
        struct weir__segment *segment = weir__segment_new(WEIR__SEGMENT_HELP, &job->dir->node, 0);
        if (!segment)
            return;
        segment->help = job;
        weir_lock_acquire(&w->run->big_lock);
        job->big.helpers++;
        weir_lock_release(&w->run->big_lock);
        if (!weir__tree_offer(w->tree, segment)) {
            weir_lock_acquire(&w->run->big_lock);
            job->big.helpers--;
            weir_lock_release(&w->run->big_lock);
            weir__segment_free(segment);
            return;
        }
    }
}

void weir__large(struct weir__worker *w, struct weir__job *job)
{
    job->big.next = resume_at(w, job);
    job->big.helpers = 1;
    /* Where there will be holes, file systems that reserve ahead must know where the file ends. */
    bool has_holes = w->run->options->sparse == WEIR__SPARSE_MAKE ||
                     (uint64_t)job->st.st_blocks * 512 < (uint64_t)job->st.st_size;
    if (job->is_blank && has_holes && weir__sys_ftruncate(job->out, job->st.st_size) < 0) {
        weir__file_fail(w, job, false, errno);
        return;
    }
    struct weir__job *kept = NULL;
    if ((uint64_t)job->st.st_size - job->big.next >= SHARED_SIZE &&
        weir__dir_pin(w, job->dir) == 0) {
        kept = weir__entry_keep(w, job);
        if (!kept)
            weir__dir_unpin(w, job->dir);
    }
    if (!kept) {
        move_pieces(w, job);
        weir__large_end(w, job);
        return;
    }
    ask_for_help(w, kept);
    if (move_pieces(w, kept))
        complete_shared(w, kept);
}
