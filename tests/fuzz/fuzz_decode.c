/* fuzz_decode.c - any bytes, decoded within any limits.
 *
 * The input is two bytes of choices (which kinds, how much room) and the source. What must hold
 * whatever it is: runs of one kind ascend and do not overlap (but escapes, in what is plain), their
 * bytes stand in the output one
 * behind the other with a NUL between, nothing goes beyond the room, and what did not fit is told;
 * with all the room there is, the runs are at least those that did fit; and the place of every byte
 * lies within the run, ascends with it, and holds bytes that decode to it.
 */
#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "decode_help.h"
#include "decode_part.h"
#include "require.h"

#include "banned.h"

#define SOURCE_MAX       8192
#define RUNS_MAX         512
#define PLACES_MAX       64 /* of each run */

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "decode", #condition)

static struct weir__decoded runs[RUNS_MAX];

/* The two characters of one byte without what is between their lines: that begins with a byte which
 * is no character, and is as long as the run says; in it may be some. */
static size_t without_break(const char *source, const struct weir__decoded *run, size_t start,
                            size_t end, char *out)
{
    size_t first = start, count = 0;
    while (first < end && base64_index(source[first]) >= 0)
        first++;
    for (size_t i = start; i < end; i++)
        if (i < first || i >= first + run->_gap)
            out[count++] = source[i];
    return count;
}

/* The bytes of the source at the place decode to the byte. */
static void check_byte(const char *source, const struct weir__decoded *run, size_t at, char wanted,
                       size_t start, size_t end)
{
    char bytes[8], plain[1024];
    size_t count = 0, unit;
    bool is_there = false;
    HOLDS(start < end);
    if (run->encoding == WEIR__BASE64) {
        HOLDS(end - start <= sizeof(plain));
        count = reference_base64(plain, 0, without_break(source, run, start, end, plain),
                                 (unsigned)(at % 3), bytes);
        HOLDS(count == 1);
    } else if (run->encoding == WEIR__HEX_LIST || run->encoding == WEIR__DECIMALS) {
        unit = weir__decode_unit(run->encoding, source, start, end, bytes, &count);
        HOLDS(unit == end - start);
    } else if (run->encoding == WEIR__HEX) {
        HOLDS(end - start == 2);
        bytes[count++] = (char)strtol((char[]){source[start], source[start + 1], 0}, NULL, 16);
    } else {
        unit = weir__decode_unit(run->encoding, source, start, run->until, bytes, &count);
        HOLDS(unit == end - start);
    }
    for (size_t i = 0; i < count; i++)
        is_there |= bytes[i] == wanted;
    HOLDS(is_there);
}

static void check_run(const char *source, size_t length, const struct weir__decoded *run,
                      const char *decoded)
{
    size_t bytes = run->out_until - run->out_from, before = run->from;
    size_t step = bytes / PLACES_MAX + 1;
    HOLDS(run->from < run->until && run->until <= length && bytes > 0);
    for (size_t at = 0; at < bytes; at += step) {
        size_t start, end;
        weir__decoded_place(source, run, at, at + 1, &start, &end);
        HOLDS(start >= before && end <= run->until);
        before = start;
        check_byte(source, run, at, decoded[at], start, end);
        weir__decoded_place(source, run, at, bytes, &start, &end);
        HOLDS(start == before && end <= run->until);
    }
}

/* Returns how many runs there are. */
static size_t check(const char *source, size_t length, unsigned encodings, size_t room,
                    size_t runs_max, bool *ret_is_truncated)
{
    struct weir__buffer out, marks;
    struct weir__decode_options options = {
        .runs_max = runs_max, .encodings = encodings, .marks = &marks};
    size_t ends[WEIR__ENCODINGS] = {0}, out_end = 0;
    weir__buffer_init(&out, room);
    weir__buffer_init(&marks, room); /* sometimes too small */
    size_t count = weir__decode(source, length, &options, &out, runs, ret_is_truncated);
    HOLDS(count <= runs_max && weir__buffer_length(&out) <= room);
    for (size_t i = 0; i < count; i++) {
        const char *decoded = weir__buffer_text(&out) + runs[i].out_from;
        HOLDS(encodings >> runs[i].encoding & 1);
        bool is_escaped = runs[i].encoding == WEIR__PERCENT || runs[i].encoding == WEIR__ESCAPES;
        /* Several readings of lines. */
        bool is_in_lines = runs[i].encoding == WEIR__BASE64 || runs[i].encoding == WEIR__HEX;
        HOLDS(runs[i].from >= ends[runs[i].encoding] || is_escaped);
        HOLDS(runs[i].out_from == out_end);
        ends[runs[i].encoding] = is_in_lines ? runs[i].from : runs[i].until;
        out_end = runs[i].out_until + 1;
        HOLDS(decoded[runs[i].out_until - runs[i].out_from] == '\0');
        check_run(source, length, &runs[i], decoded);
    }
    HOLDS(out_end == weir__buffer_length(&out));
    weir__buffer_fini(&out);
    weir__buffer_fini(&marks);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_truncated = false, is_truncated_all = false;
    if (size < 2 || size - 2 > SOURCE_MAX)
        return 0;
    size_t length = size - 2;
    /* The other kinds are always looked for. */
    unsigned encodings = (data[0] & 0x3fu) | (DECODE_ALL & ~0x3fu);
    char *source = malloc(length + 1);
    if (!source)
        return 0;
    char *exact = source + 1; /* nothing behind it */
    memcpy(exact, data + 2, length);
    size_t some =
        check(exact, length, encodings, (size_t)data[1] + 1, (data[0] >> 6) + 1, &is_truncated);
    size_t all = check(exact, length, encodings, SOURCE_MAX * 8, RUNS_MAX, &is_truncated_all);
    HOLDS(!is_truncated_all && some <= all && (some == all) == !is_truncated);
    free(source);
    return 0;
}
