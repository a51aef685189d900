/* decode.h - finds encoded runs in bytes and decodes them, with a way back to the original.
 *
 * Kinds:
 *     base64       standard and URL alphabet, padded or not, over lines and joined strings
 *     hexadecimal  digits in a row, over lines; bytes apart (67 68, 67:68, 0x67, 0x68)
 *     decimal      bytes apart (103, 104)
 *     percent      %67, %u0067
 *     escapes      \u0067, \u{67}, \U00000067, \x67, \147, \0, \/, &#103; &#x67; &amp; &quot; …,
 *                  with any number of backslashes, as in a string within a string
 *     UTF-16, 32   in both orders, with and without a byte order mark
 *
 * A run is a stretch of one encoding that is long enough to hold a secret and whose decoded bytes
 * are mostly text; what is not is no run. One escape is enough for a run: it has the word that it
 * is in, and what is beside that in the line. Two of those may share what is plain between them.
 * Where lines may be one text or several, each reading is a run: first that of all lines. Where the
 * order of UTF-16 cannot be told, both are. Other runs of one kind do not overlap. Those of
 * different kinds may (hex digits are also base64): each is decoded by itself.
 *
 * Work is linear in the bytes looked at. Output is bounded by the caller's budget: a run that does
 * not fit is left out and the caller is told (is_truncated), never cut.
 *
 * Pure: nothing is allocated beyond the buffers that are handed in, no state, no I/O.
 *
 * Ownership: borrows the source and the output for the call; runs are the caller's, and borrow the
 * marks.
 */
#ifndef WEIR_SCAN_ENGINE_DECODE_H
#define WEIR_SCAN_ENGINE_DECODE_H

#include "buffer.h"
#include "spans.h"

enum weir__encoding {
    WEIR__BASE64,
    WEIR__HEX,
    WEIR__PERCENT,
    WEIR__ESCAPES,
    WEIR__UTF16LE,
    WEIR__UTF16BE,
    WEIR__UTF32LE,
    WEIR__UTF32BE,
    WEIR__HEX_LIST, /* bytes apart */
    WEIR__DECIMALS,
    WEIR__ENCODINGS
};

/* "base64", "hex" (of both kinds), "percent", "unicode", "utf-16le", "utf-16be", "utf-32le",
 * "utf-32be", "decimal". */
const char *weir__encoding_name(enum weir__encoding encoding);

/* A place within a long run, so that the way back need not begin at its first byte. */
struct weir__decoded_mark {
    uint32_t source, out; /* from the beginning of the run */
};

/* Room for the marks of so many decoded bytes. */
#define WEIR__MARKS_BYTES(decoded) ((decoded) / 1024 * sizeof(struct weir__decoded_mark))

/* A run in the source and where its decoded bytes are in the output. */
struct weir__decoded {
    enum weir__encoding encoding;
    unsigned _gap, _skip;       /* base64, hex: bytes between lines; characters before the first */
    unsigned _first_mark;       /* of others */
    size_t from, until;         /* in the source */
    size_t out_from, out_until; /* in the output */
    size_t _width;              /* base64, hex: characters of a line; of others: how many marks */
    const struct weir__buffer *_marks;
};

/* Bytes beside a place by which it is known whether a run may be there. */
#define WEIR__SURVEY_NEAR 64u

struct weir__decode_options {
    size_t runs_max;                 /* of one call */
    unsigned encodings;              /* 1u << encoding of each that is looked for */
    const struct weir__spans *parts; /* that are looked at; NULL: all of it (see below) */
    /* What was asked for a run, with all that the answers depend on, is added here. NULL: not. */
    struct weir__spans *looked;
    /* Of what was noted so of this text before, what is in none of the parts; and whether what is
     * asked in them depends on it, so that all must be looked at. NULL: not. */
    const struct weir__spans *left;
    bool *ret_is_left_touched;
    bool has_walls;             /* behind each NUL what is half a character in any UTF-16 */
    struct weir__buffer *marks; /* of long runs; lives as long as these. NULL: none are kept */
};

/* Finds the runs and appends what they decode to, each followed by one NUL byte so that no match
 * spans two of them. The output's maximum is the budget. Returns the number of runs.
 *
 * What is found does not depend on where in the source it stands. So parts that were looked at
 * apart, each with all that was looked at for any place in it and with WEIR__SURVEY_NEAR bytes to
 * either side of what is new in it, have the runs that they have in the whole; unless what is new
 * has to do with what is left out (ret_is_left_touched). */
size_t weir__decode(const char *source, size_t length, const struct weir__decode_options *options,
                    struct weir__buffer *out, struct weir__decoded *runs, bool *ret_is_truncated);

/* The place in the source of a range of the decoded bytes of a run: the smallest stretch of source
 * bytes that decodes to it. from and until count from out_from. Constant time for base64 and
 * hexadecimal; for the others a walk over the range and at most WEIR__DECODE_PIECE bytes before it,
 * if there are marks. */
void weir__decoded_place(const char *source, const struct weir__decoded *run, size_t from,
                         size_t until, size_t *ret_from, size_t *ret_until);

/* Whether these bytes may be a value that was percent-encoded as a whole. Not so if a '%' begins no
 * escape, or if there is a sign that would have been escaped: then the escapes in it are chance. */
bool weir__decode_is_percent(const char *source, size_t from, size_t until);

/* Whether these bytes may be a part of a run of escapes that has an escape in them or beside them.
 * Of their line all must be there. */
bool weir__decode_may_escape(const char *source, size_t length, size_t from, size_t until);

#endif
