/* fuzz_chunker.c - streams described by few bytes, fed in pieces: the cuts are those of the whole.
 *
 * The input is a list of runs: each says how many bytes, of which kind, and how they are fed.
 */
#include "chunker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_chunker: does not hold: %s\n", #condition);                      \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define STREAM_MAX (768u << 10)
#define RUN        5 /* kind, two bytes of length, seed, size of pieces */

struct stream {
    unsigned char bytes[STREAM_MAX];
    size_t length;
    size_t taken;
    size_t fixed;
};

static struct stream stream;

/* Each chunk is the one that the rule cuts from what is left. */
static int take(void *arg, const void *bytes, size_t length)
{
    struct stream *of = arg;
    size_t left = of->length - of->taken;
    HOLDS(length > 0 && length <= left);
    HOLDS(memcmp(of->bytes + of->taken, bytes, length) == 0);
    size_t right;
    if (of->fixed)
        right = left < of->fixed ? left : of->fixed;
    else
        right = weir__chunker_cut(of->bytes + of->taken, left, 0);
    HOLDS(length == (right ? right : left));
    of->taken += length;
    return 0;
}

static void fill(unsigned char *bytes, size_t length, unsigned kind, uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < length; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = (unsigned char)(kind == 0   ? seed
                                   : kind == 1 ? state >> 24 & 1
                                   : kind == 2 ? i * seed
                                               : state >> 24);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__chunker chunker;
    if (size == 0)
        return 0;
    stream.length = stream.taken = 0;
    stream.fixed = data[0] < 200 ? 0 : (16u << 10) + (data[0] - 200u) * 5000u;
    for (size_t i = 1; i + RUN <= size; i += RUN) {
        size_t length = 1 + (data[i + 1] | (size_t)data[i + 2] << 8) * 3;
        if (length > STREAM_MAX - stream.length)
            break;
        fill(stream.bytes + stream.length, length, data[i] % 4, data[i + 3]);
        stream.length += length;
    }
    HOLDS(weir__chunker_init(&chunker, stream.fixed) == 0);
    for (size_t at = 0, i = 1; at < stream.length; i = i + RUN < size ? i + RUN : 1) {
        uint8_t how = i + RUN <= size ? data[i + 4] : 0;
        size_t piece = 1 + (size_t)how * how * how / 16;
        if (piece > stream.length - at)
            piece = stream.length - at;
        if (piece < 100 && stream.length > 100000)
            piece = stream.length - at < 100 ? stream.length - at : 100;
        HOLDS(weir__chunker_feed(&chunker, stream.bytes + at, piece, take, &stream) == 0);
        at += piece;
    }
    HOLDS(weir__chunker_finish(&chunker, take, &stream) == 0);
    HOLDS(stream.taken == stream.length);
    weir__chunker_fini(&chunker);
    return 0;
}
