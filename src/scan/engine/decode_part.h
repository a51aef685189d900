/* decode_part.h - what the files of the decoder share.
 *
 *     decode.c          the survey in blocks of 64 bytes, and the list of runs
 *     decode_base64.c   stretches, lines and phases of base64 and of hexadecimal digits
 *     decode_escape.c   percent and unicode escapes, and what is around them
 *     decode_list.c     bytes apart: hexadecimal and decimal
 *     decode_wide.c     stretches of UTF-16 and UTF-32
 *     decode_unit.c     from source bytes to decoded bytes
 *     decode_place.c    the way back
 *     decode_mask.h     classes of bytes as bits
 *
 * The survey finds a place where a kind must have a run if it has one near; the kind's own file
 * finds the stretch around it and offers it. Each kind remembers how far it has looked (done), and
 * never looks at a byte before that again: this is what keeps the work linear.
 *
 * When decoded bytes are text: somewhere in them are at least WEIR__TEXT_LEAST bytes in a row
 * (WEIR__TEXT_LEAST_LONG if there are WEIR__TEXT_LONG or more altogether, and all of them if there
 * are fewer) that are printable ASCII, TAB, LF or CR; or WEIR__TEXT_UNITS units in a row of UTF-16
 * or UTF-32 of either order that are. A run of base64, in which by far most of what is looked at is
 * no text, must have it within a line of the run or across the break to the next.
 *
 * Ownership: everything belongs to the caller of weir__decode().
 */
#ifndef WEIR_SCAN_ENGINE_DECODE_PART_H
#define WEIR_SCAN_ENGINE_DECODE_PART_H

#include "decode.h"

#define WEIR__BASE64_LEAST    16u   /* characters that count */
#define WEIR__HEX_LEAST       32u   /* digits */
#define WEIR__LIST_LEAST      12u   /* bytes apart */
#define WEIR__ESCAPES_LEAST   8u    /* decoded bytes */
#define WEIR__ESCAPES_WORD    1024u /* bytes of the word that an escape is in, to either side */
#define WEIR__ESCAPES_BESIDE  64u   /* bytes beside that word */
#define WEIR__BACKSLASHES_MAX 8u    /* of one escape */
#define WEIR__WIDE_LEAST      16u   /* units */
#define WEIR__TEXT_LEAST      12u
#define WEIR__TEXT_LEAST_LONG 16u
#define WEIR__TEXT_LONG       64u
#define WEIR__TEXT_UNITS      8u

/* Classes of bytes, as bits of weir__decode_class[]. */
#define WEIR__IS_BASE64   1u  /* either alphabet */
#define WEIR__IS_STANDARD 2u  /* + / */
#define WEIR__IS_URL_SAFE 4u  /* - _ */
#define WEIR__IS_HEX      8u  /* a digit */
#define WEIR__IS_URL      16u /* may stand in a URL, '%' included */
#define WEIR__IS_TEXT     32u /* printable ASCII, TAB, LF, CR */
#define WEIR__IS_PLAIN    64u /* goes between escapes: all but control characters, with TAB */

extern const uint8_t weir__decode_class[256];
/* The value of a character of either alphabet, 0xff for others; of a hexadecimal digit, 0 for
 * others. */
extern const uint8_t weir__base64_value[256];
extern const uint8_t weir__hex_value[256];

static inline bool weir__decode_is(char byte, unsigned class)
{
    return weir__decode_class[(uint8_t)byte] & class;
}

/* A stretch of base64 or hexadecimal that was looked at, and perhaps is no run. */
struct weir__stretch {
    size_t from, until; /* until is behind the padding */
    size_t looked;      /* and how far behind that it depends on what is there */
    size_t width;       /* characters of a line */
    size_t count;       /* characters altogether */
    unsigned gap;       /* bytes between lines */
    size_t margin;      /* bytes before the first line, if it has none but signs and blanks */
    bool is_apart;      /* lines may be items: an empty one or signs are between them */
    bool is_taken;      /* the run of all lines is in the list */
};

struct weir__decode_work {
    const char *source;
    size_t length;
    const struct weir__decode_options *options;
    struct weir__buffer *out;
    struct weir__decoded *runs;
    size_t runs_count;
    bool is_truncated;
    size_t done[WEIR__ENCODINGS];
    size_t done_mark[WEIR__ENCODINGS]; /* of text behind a byte order mark */
    struct weir__stretch stretch;
    uint64_t mask; /* of the block at hand: the places that are asked for */
};

void weir__decode_touch(const struct weir__decode_work *work, size_t from, size_t until);

/* Whether there is a run here depends on these bytes, and those that the survey sees beside the
 * place that it points at: WEIR__SURVEY_NEAR at most. Also if there is none. And the places that
 * are not asked for because of what was found here are among them: so much is added behind. */
static inline void weir__decode_looked(const struct weir__decode_work *work, size_t from,
                                       size_t until)
{
    if (work->options->looked)
        weir__spans_add(work->options->looked, from, until < work->length ? until : work->length);
    if (work->options->left)
        weir__decode_touch(work, from, until);
}

/* The stretches around a place, found by the survey. */

/* The first of 12 characters of base64 that decode to bytes below 128. */
void weir__decode_base64(struct weir__decode_work *work, size_t at);
/* A hexadecimal digit. */
void weir__decode_hex(struct weir__decode_work *work, size_t at);
/* '%', or a backslash or '&', that perhaps begins an escape of a printable byte. */
void weir__decode_percent(struct weir__decode_work *work, size_t at);
void weir__decode_escapes(struct weir__decode_work *work, size_t at);
/* In a row of numbers. */
void weir__decode_list(struct weir__decode_work *work, size_t at);
/* The first unit of WEIR__TEXT_UNITS in a row that are ASCII; or the first behind a mark. */
void weir__decode_wide(struct weir__decode_work *work, enum weir__encoding encoding, size_t at);
void weir__decode_marked(struct weir__decode_work *work, enum weir__encoding encoding, size_t at);
/* The letter of the first of WEIR__TEXT_UNITS units in a row of UTF-32 that are ASCII. */
void weir__decode_quads(struct weir__decode_work *work, size_t at);

/* Puts the run into the list and its bytes into the output, or notes that they did not fit. */
void weir__decode_keep(struct weir__decode_work *work, const struct weir__decoded *run);
/* The same if what it decodes to is text; tells whether it is. */
bool weir__decode_offer(struct weir__decode_work *work, const struct weir__decoded *run);

/* Units. */

/* Whether the runs of a kind consist of units of different lengths. */
static inline bool weir__decode_has_units(enum weir__encoding encoding)
{
    return encoding != WEIR__BASE64 && encoding != WEIR__HEX;
}
/* Decodes what begins at a place of a run of such a kind: its bytes and their number. Returns how
 * many source bytes it took, at least 1. */
size_t weir__decode_unit(enum weir__encoding encoding, const char *source, size_t at, size_t until,
                         char ret_bytes[4], size_t *ret_count);
/* Bytes of the escape that begins here, a percent or another one; 0: none does. */
size_t weir__escape_length(enum weir__encoding encoding, const char *source, size_t at,
                           size_t until, char *ret_first);
/* Whether a run may be looked for where '%', '&' or a backslash is: no run is without such a one.
 */
bool weir__escape_is_likely(const char *text, size_t length, size_t at);
/* A byte of a list: 0x67, 67 or 103. Its length; 0: there is none. */
size_t weir__hex_item(const char *source, size_t at, size_t until, uint8_t *ret_value);
size_t weir__decimal_item(const char *source, size_t at, size_t until, uint8_t *ret_value);

/* Goes through the decoded bytes of a run in pieces. */
struct weir__decode_reader {
    const char *source;
    const struct weir__decoded *run;
    size_t at;    /* next source byte, or for base64 and hexadecimal the next character */
    size_t count; /* characters of base64 or hexadecimal altogether */
};

#define WEIR__DECODE_PIECE 1536u /* a multiple of 3 and of 64 */

void weir__decode_reader_init(struct weir__decode_reader *reader, const char *source,
                              const struct weir__decoded *run);
/* The next bytes; 0 at the end. Every piece but the last is full, or short by less than 4. */
size_t weir__decode_read(struct weir__decode_reader *reader, char piece[WEIR__DECODE_PIECE]);

/* The source byte of a character of base64 or hexadecimal, counted from the run's own first. */
static inline size_t weir__base64_place(const struct weir__decoded *run, size_t character)
{
    size_t counted = character + run->_skip;
    /* A division takes longer than all else that is done for a character. */
    size_t gaps = run->_gap > 0 ? counted / run->_width * run->_gap : 0;
    return run->from - run->_skip + counted + gaps;
}

#endif
