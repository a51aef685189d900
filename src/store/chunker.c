/* chunker.c - FastCDC with a window of its own.
 *
 *     0          16 KiB           52 KiB                       256 KiB
 *     |-- never --|-- 1 in 2^18 ---|-------- 1 in 2^14 ---------| always
 *
 * hash = 2 * hash + gear[byte], modulo 2^64: a byte has left it after 64 more. A chunk of n bytes
 * ends where the hash of its last 64 bytes is below a bound, and the bound is raised at 52 KiB
 * (normalised chunking, which keeps most sizes near the mean). FastCDC starts its hash at the
 * least size; ours starts 64 bytes before it, so that whether there is a cut depends on 64 bytes
 * and never on where the chunk began.
 *
 * Each hash waits for the one before it, which leaves a processor half idle. So a block is scanned
 * in two halves at once: the second starts its hash anew 64 bytes before its first place. The
 * first cut in the first half wins, else that of the second.
 */
#include "chunker.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "gear.h"

#include "banned.h"

#define WINDOW   64u
#define CUT_TURN (52u << 10) /* the mean of all sizes is then 64 KiB, of random bytes */
/* Below these a hash is a cut: one in 2^18 up to the turn, one in 2^14 above it. */
#define RARE  (UINT64_C(1) << (64 - 18))
#define OFTEN (UINT64_C(1) << (64 - 14))
/* Of a half. Long enough that starting its hash costs little, and not much is scanned in vain. */
#define HALF (2u << 10)
/* So much is gathered before it is scanned, so that feeding single bytes costs no more. */
#define STEP             (16u << 10)

#define ROLL(hash, byte) ((hash) = ((hash) << 1) + weir__gear[byte])

static inline uint64_t begin_hash(const unsigned char *at)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < WINDOW; i++)
        ROLL(hash, at[i]);
    return hash;
}

/* The least n of (from, to] such that n bytes end in a hash below the bound, or 0. At least WINDOW
 * bytes are before `from`. */
static size_t scan_plain(const unsigned char *bytes, size_t from, size_t to, uint64_t bound)
{
    if (from >= to)
        return 0;
    uint64_t hash = begin_hash(bytes + from - WINDOW);
    for (size_t n = from; n < to; n++)
        if (ROLL(hash, bytes[n]) < bound)
            return n + 1;
    return 0;
}

/* The same of 2 * HALF places. */
static size_t scan_block(const unsigned char *bytes, size_t from, uint64_t bound)
{
    const unsigned char *first = bytes + from, *second = first + HALF;
    uint64_t a = begin_hash(first - WINDOW), b = begin_hash(second - WINDOW);
    for (size_t i = 0; i < HALF; i += 4) {
        bool is_cut = ROLL(a, first[i]) < bound;
        bool is_late = ROLL(b, second[i]) < bound;
        is_cut |= ROLL(a, first[i + 1]) < bound;
        is_late |= ROLL(b, second[i + 1]) < bound;
        is_cut |= ROLL(a, first[i + 2]) < bound;
        is_late |= ROLL(b, second[i + 2]) < bound;
        is_cut |= ROLL(a, first[i + 3]) < bound;
        is_late |= ROLL(b, second[i + 3]) < bound;
        if (__builtin_expect(is_cut, 0))
            return scan_plain(bytes, from + i, from + i + 4, bound);
        if (__builtin_expect(is_late, 0)) {
            size_t cut = scan_plain(bytes, from + i + 4, from + HALF, bound);
            return cut ? cut : scan_plain(bytes, from + HALF + i, from + HALF + i + 4, bound);
        }
    }
    return 0;
}

static size_t scan(const unsigned char *bytes, size_t from, size_t to, uint64_t bound)
{
    size_t cut = 0;
    for (; cut == 0 && from + 2 * HALF <= to; from += 2 * HALF)
        cut = scan_block(bytes, from, bound);
    return cut ? cut : scan_plain(bytes, from, to, bound);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t weir__chunker_cut(const unsigned char *bytes, size_t length, size_t from)
{
    size_t to = least(length, WEIR__CUT_MAX - 1);
    /* The first length that may be a chunk is the least size itself. */
    if (from < WEIR__CUT_MIN - 1)
        from = WEIR__CUT_MIN - 1;
    size_t cut = scan(bytes, from, least(to, CUT_TURN), RARE);
    if (cut == 0 && to > CUT_TURN)
        cut = scan(bytes, from > CUT_TURN ? from : CUT_TURN, to, OFTEN);
    if (cut == 0 && length >= WEIR__CUT_MAX)
        cut = WEIR__CUT_MAX;
    return cut;
}

int weir__chunker_init(struct weir__chunker *chunker, size_t fixed_size)
{
    if (fixed_size != 0 && (fixed_size < WEIR__CHUNKER_FIXED_MIN || fixed_size > WEIR__CHUNK_MAX))
        return -WEIR_E_INVALID;
    size_t max = fixed_size ? fixed_size : WEIR__CUT_MAX;
    unsigned char *buffer = weir__base_alloc(max, 1);
    if (!buffer)
        return -WEIR_E_NO_MEMORY;
    *chunker = (struct weir__chunker){._buffer = buffer, ._fixed = fixed_size, ._max = max};
    return 0;
}

void weir__chunker_fini(struct weir__chunker *chunker)
{
    if (!chunker)
        return;
    weir__base_free(chunker->_buffer);
    *chunker = (struct weir__chunker){0};
}

void weir__chunker_reset(struct weir__chunker *chunker)
{
    chunker->_buffered = chunker->_scanned = 0;
}

size_t weir__chunker_max(const struct weir__chunker *chunker)
{
    return chunker->_max;
}

static size_t cut_of(const struct weir__chunker *chunker, const unsigned char *bytes, size_t length,
                     size_t from)
{
    if (chunker->_fixed)
        return length >= chunker->_fixed ? chunker->_fixed : 0;
    return weir__chunker_cut(bytes, length, from);
}

/* Moves some bytes into the buffer and looks for the end of its chunk. Of those bytes, what is
 * behind the end need not stay there: *ret_used is what is done with. */
static int gather(struct weir__chunker *chunker, const unsigned char *bytes, size_t length,
                  weir__chunk_take *take, void *arg, size_t *ret_used)
{
    size_t count = least(least(length, STEP), chunker->_max - chunker->_buffered);
    memcpy(chunker->_buffer + chunker->_buffered, bytes, count);
    chunker->_buffered += count;
    *ret_used = count;
    if (chunker->_buffered < chunker->_max && chunker->_buffered - chunker->_scanned < STEP)
        return 0;
    size_t cut = cut_of(chunker, chunker->_buffer, chunker->_buffered, chunker->_scanned);
    chunker->_scanned = chunker->_buffered;
    if (cut == 0)
        return 0;
    size_t rest = chunker->_buffered - cut;
    int result = take(arg, chunker->_buffer, cut);
    if (rest <= count) {
        *ret_used = count - rest;
        rest = 0;
    }
    memmove(chunker->_buffer, chunker->_buffer + cut, rest);
    chunker->_buffered = rest;
    chunker->_scanned = 0;
    return result;
}

int weir__chunker_feed(struct weir__chunker *chunker, const void *bytes, size_t length,
                       weir__chunk_take *take, void *arg)
{
    const unsigned char *at = bytes;
    while (length > 0) {
        size_t used;
        int result;
        if (chunker->_buffered == 0 && length >= chunker->_max) {
            used = cut_of(chunker, at, length, 0);
            result = take(arg, at, used);
        } else {
            result = gather(chunker, at, length, take, arg, &used);
        }
        if (result != 0)
            return result;
        at += used;
        length -= used;
    }
    return 0;
}

int weir__chunker_finish(struct weir__chunker *chunker, weir__chunk_take *take, void *arg)
{
    size_t at = 0, left = chunker->_buffered;
    int result = 0;
    while (result == 0 && left > 0) {
        size_t cut = cut_of(chunker, chunker->_buffer + at, left, at == 0 ? chunker->_scanned : 0);
        if (cut == 0)
            cut = left;
        result = take(arg, chunker->_buffer + at, cut);
        at += cut;
        left -= cut;
    }
    weir__chunker_reset(chunker);
    return result;
}
