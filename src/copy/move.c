/* move.c - copy_file_range, plain reads and writes, and holes.
 *
 * Zeros are looked for in whole blocks of the destination's file system, by comparing a block with
 * itself sixteen bytes further on: one call of memcmp(), which the C library has in vector code,
 * and which ends at the first byte of a block that is not zero.
 */
#include "move.h"

#include <string.h>

#include <weir/error.h>

#include "sys.h"

#include "banned.h"

#define ZERO_PROBE 16u

/* Read only, but not const: as such it would be in the program's file. */
static char zeros[64u << 10];

size_t weir__move_block(const struct weir__move *move, size_t most, uint64_t left)
{
    if (move->mover->_rate) {
        if (most > WEIR__MOVE_PACED_BYTES)
            most = WEIR__MOVE_PACED_BYTES;
        if (most > move->mover->_burst)
            most = (size_t)move->mover->_burst;
    }
    return left < most ? (size_t)left : most;
}

static int errno_of(int error)
{
    switch (-error) {
    case WEIR_E_CANCELED:
        return ECANCELED;
    case WEIR_E_TIMEOUT:
    case WEIR_E_PACED:
        return ETIMEDOUT;
    case WEIR_E_BUSY:
        return EAGAIN;
    default:
        return EINVAL;
    }
}

static void tick(struct weir__move *move)
{
    const struct weir__data_result *result = move->result;
    if (!result)
        return; /* only reads */
    uint64_t moved = result->range + result->ring + result->plain + result->holes;
    if (move->mover->_tick && moved > move->ticked)
        move->mover->_tick(move->mover->_tick_arg, moved - move->ticked);
    move->ticked = moved;
}

int weir__move_begin(struct weir__move *move, size_t bytes)
{
    tick(move);
    size_t paid = bytes < move->unused ? bytes : (size_t)move->unused;
    move->unused -= paid;
    int error = weir_deadline_check(move->deadline);
    if (!error)
        error = weir__mover_pace(move->mover, bytes - paid, move->deadline);
    if (!error)
        return 0;
    errno = errno_of(error);
    return -1;
}

static int write_all(struct weir__move *move, const char *bytes, size_t count, uint64_t at)
{
    for (size_t done = 0; done < count;) {
        ssize_t written =
            weir__sys_pwrite(move->out, bytes + done, count - done, (off_t)(at + done));
        if (written == 0) {
            errno = ENOSPC; /* a disk that takes nothing and does not say why */
            return -1;
        }
        if (written < 0)
            return -1;
        done += (size_t)written;
    }
    return 0;
}

int weir__move_hole(struct weir__move *move, uint64_t at, uint64_t end)
{
    bool is_hole =
        move->is_blank || weir__sys_fallocate(move->out, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                              (off_t)at, (off_t)(end - at)) == 0;
    if (is_hole) {
        move->result->holes += end - at;
        return 0;
    }
    /* Whatever the reason was, zeros will do; and if they cannot be written either, that is the
     * error to report. */
    while (at < end) {
        size_t count = weir__move_block(move, sizeof(zeros), end - at);
        if (weir__move_begin(move, count) || write_all(move, zeros, count, at))
            return -1;
        move->result->plain += count;
        at += count;
    }
    return 0;
}

static bool is_zero(const char *bytes, size_t count)
{
    size_t probe = count < ZERO_PROBE ? count : ZERO_PROBE;
    for (size_t i = 0; i < probe; i++) {
        if (bytes[i])
            return false;
    }
    return memcmp(bytes, bytes + probe, count - probe) == 0;
}

/* The first place from which on there is no unit that is zero, or none that is not. Units are
 * aligned in the file; the first and the last of a block may be shorter. */
static size_t skip_units(const char *bytes, size_t count, uint64_t at, size_t from, size_t unit,
                         bool while_zero)
{
    while (from < count) {
        size_t step = unit - (size_t)((at + from) % unit);
        if (step > count - from)
            step = count - from;
        if (is_zero(bytes + from, step) != while_zero)
            break;
        from += step;
    }
    return from;
}

int weir__move_next_run(struct weir__move *move, const char *bytes, size_t count, uint64_t at,
                        size_t *from, size_t *to)
{
    if (move->zero_unit) {
        size_t data = skip_units(bytes, count, at, *from, move->zero_unit, true);
        if (data > *from && weir__move_hole(move, at + *from, at + data))
            return -1;
        *from = data;
        *to = skip_units(bytes, count, at, data, move->zero_unit, false);
    } else {
        *to = count;
    }
    return *from < count;
}

static int write_block(struct weir__move *move, const char *bytes, size_t count, uint64_t at)
{
    for (size_t from = 0, to = 0;; from = to) {
        int run = weir__move_next_run(move, bytes, count, at, &from, &to);
        if (run <= 0)
            return run;
        if (write_all(move, bytes + from, to - from, at + from))
            return -1;
        move->result->plain += to - from;
    }
}

enum weir__moved weir__move_plain(struct weir__move *move, uint64_t *at, uint64_t end)
{
    char *buffer = move->mover->_buffer;
    while (*at < end) {
        size_t count = weir__move_block(move, WEIR__MOVE_PLAIN_BYTES, end - *at);
        if (weir__move_begin(move, count))
            return WEIR__MOVED_FAILED;
        ssize_t got = weir__sys_pread(move->in, buffer, count, (off_t)*at);
        if (got < 0) {
            move->result->is_read_side = true;
            return WEIR__MOVED_FAILED;
        }
        if (got == 0)
            return WEIR__MOVED_SHORT;
        move->unused += count - (size_t)got;
        if (write_block(move, buffer, (size_t)got, *at))
            return WEIR__MOVED_FAILED;
        *at += (uint64_t)got;
    }
    return WEIR__MOVED_ALL;
}

/* Errors that come from what kind of files these are and not from their state. */
static bool is_refusal(int errno_value)
{
    return errno_value == EXDEV || errno_value == EINVAL || errno_value == ENOSYS ||
           errno_value == EOPNOTSUPP || errno_value == ETXTBSY;
}

enum weir__moved weir__move_range(struct weir__move *move, uint64_t *at, uint64_t end)
{
    while (*at < end) {
        size_t count = weir__move_block(move, WEIR__MOVE_RANGE_BYTES, end - *at);
        if (weir__move_begin(move, count))
            return WEIR__MOVED_FAILED;
        off_t in_at = (off_t)*at, out_at = (off_t)*at;
        ssize_t moved = weir__sys_copy_range(move->in, &in_at, move->out, &out_at, count);
        move->unused += count - (moved > 0 ? (size_t)moved : 0);
        if (moved <= 0) {
            /* None moved is either the end of the source or a file system that makes up its files
             * while they are read; a read will tell. */
            move->is_refused = moved < 0 && is_refusal(errno);
            return WEIR__MOVED_NOT;
        }
        *at += (uint64_t)moved;
        move->result->range += (uint64_t)moved;
    }
    return WEIR__MOVED_ALL;
}
