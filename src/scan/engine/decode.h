/* decode.h - finds encoded runs in bytes and decodes them, with a way back to the original.
 *
 * Kinds: base64 (standard and URL alphabet, padded or not), hexadecimal, percent escapes, unicode
 * escapes (\uXXXX, \u{…}, \xXX, &#NN;), UTF-16 (LE, BE, with and without a byte order mark).
 *
 * A run is a maximal stretch of one encoding that is long enough to hold a secret and whose decoded
 * bytes are mostly text; what is not is no run. Runs of one kind do not overlap; those of different
 * kinds may (hex digits are also base64): each is decoded by itself.
 *
 * Work is linear in the bytes looked at. Output is bounded by the caller's budget: a run that does
 * not fit is left out and the caller is told (is_truncated), never cut.
 *
 * Pure: nothing is allocated beyond the buffer that is handed in, no state, no I/O.
 *
 * Ownership: borrows the source and the output for the call; runs are the caller's.
 */
#ifndef WEIR_SCAN_ENGINE_DECODE_H
#define WEIR_SCAN_ENGINE_DECODE_H

#include "buffer.h"

enum weir__encoding {
    WEIR__BASE64,
    WEIR__HEX,
    WEIR__PERCENT,
    WEIR__ESCAPES,
    WEIR__UTF16LE,
    WEIR__UTF16BE,
    WEIR__ENCODINGS
};

/* "base64", "hex", "percent", "unicode", "utf-16le", "utf-16be". */
const char *weir__encoding_name(enum weir__encoding encoding);

/* Places within a run that are kept, so that the way back need not begin at its first byte. */
#define WEIR__DECODED_MARKS 32u

/* A run in the source and where its decoded bytes are in the output. */
struct weir__decoded {
    enum weir__encoding encoding;
    size_t from, until;         /* in the source */
    size_t out_from, out_until; /* in the output */
    size_t _width;              /* base64: characters of a line */
    unsigned _gap, _skip;       /* base64: bytes between lines; characters before the first byte */
    struct weir__decoded_mark {
        uint32_t source, out;      /* from the beginning of the run */
    } _marks[WEIR__DECODED_MARKS]; /* ascending; the others are 0 */
};

struct weir__decode_options {
    size_t runs_max;    /* of one call */
    unsigned encodings; /* 1u << encoding of each that is looked for */
};

/* Finds the runs and appends what they decode to, each followed by one NUL byte so that no match
 * spans two of them. The output's maximum is the budget. Returns the number of runs. */
size_t weir__decode(const char *source, size_t length, const struct weir__decode_options *options,
                    struct weir__buffer *out, struct weir__decoded *runs, bool *ret_is_truncated);

/* The place in the source of a range of the decoded bytes of a run: the smallest stretch of source
 * bytes that decodes to it. from and until count from out_from. Constant time for base64 and
 * hexadecimal; for the others a walk over the range and 1/WEIR__DECODED_MARKS of the run. */
void weir__decoded_place(const char *source, const struct weir__decoded *run, size_t from,
                         size_t until, size_t *ret_from, size_t *ret_until);

#endif
