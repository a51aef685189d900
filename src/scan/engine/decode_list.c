/* decode_list.c - bytes apart: 67 68, 67:68, 0x67, 0x68, and 103, 104.
 *
 * Words of hexadecimal digits with signs, blanks and line ends between them, as far as they go:
 * each row of words in it that are bytes of one notation is offered. Two digits may be a byte of
 * either; which one it is, is seen in what they decode to.
 */
#include "decode_part.h"

#include "banned.h"

#define BETWEEN_MAX 80u /* bytes between two words */
#define WORD_MAX    4u  /* bytes of the longest that is a byte: 0x67 */

enum { HEX_PAIRS, HEX_PREFIXED, DECIMALS, NOTATIONS };

struct row {
    size_t from, until, count;
};

static bool is_between(char byte)
{
    return byte == ' ' || byte == ',' || byte == '\n' || byte == '\r' || byte == '\t' ||
           byte == ':' || byte == ';' || byte == '-';
}

static bool is_in_word(char byte)
{
    return weir__decode_is(byte, WEIR__IS_HEX) || byte == 'x' || byte == 'X';
}

/* Whether a word goes on with it, which is then no number. */
static bool is_letter(char byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26 || byte == '_';
}

static void offer(struct weir__decode_work *work, int notation, struct row *row)
{
    enum weir__encoding encoding = notation == DECIMALS ? WEIR__DECIMALS : WEIR__HEX_LIST;
    if (row->count >= WEIR__LIST_LEAST && work->options->encodings >> encoding & 1)
        weir__decode_offer(work, &(struct weir__decoded){
                                     .encoding = encoding, .from = row->from, .until = row->until});
    row->count = 0;
}

static bool is_of(const struct weir__decode_work *work, int notation, size_t from, size_t until)
{
    const char *source = work->source;
    size_t length = until - from;
    uint8_t value;
    /* Tables of numbers are long; the length says of nearly all of them what they are not. */
    if (notation == DECIMALS)
        return length <= 3 && weir__decimal_item(source, from, until, &value) == length;
    return length == (notation == HEX_PAIRS ? 2 : 4) &&
           weir__hex_item(source, from, until, &value) == length;
}

static void take_word(struct weir__decode_work *work, struct row rows[NOTATIONS], size_t from,
                      size_t until)
{
    bool is_whole = until == work->length || !is_letter(work->source[until]);
    for (int i = 0; i < NOTATIONS; i++) {
        bool is_one = is_whole && is_of(work, i, from, until);
        if (!is_one || from - rows[i].until > BETWEEN_MAX)
            offer(work, i, &rows[i]);
        if (!is_one)
            continue;
        rows[i].from = rows[i].count == 0 ? from : rows[i].from;
        rows[i].until = until;
        rows[i].count++;
    }
}

/* Whether the word that has this digit is as long as a byte is in one of the notations. */
static bool may_be_byte(const struct weir__decode_work *work, size_t at)
{
    const char *source = work->source;
    size_t from = at, until = at;
    while (from > 0 && at - from < WORD_MAX && is_in_word(source[from - 1]))
        from--;
    while (until < work->length && until - from <= WORD_MAX && is_in_word(source[until]))
        until++;
    size_t length = until - from;
    return length < WORD_MAX || (length == WORD_MAX && (source[from + 1] | 0x20) == 'x');
}

void weir__decode_list(struct weir__decode_work *work, size_t at)
{
    const char *source = work->source;
    size_t *done = &work->done[WEIR__HEX_LIST];
    struct row rows[NOTATIONS] = {{0}};
    /* Tables are full of numbers that are larger. A row that is long enough has a place that the
     * survey points at in one of its own words. */
    if (at < *done || !may_be_byte(work, at))
        return;
    while (at > *done && (is_between(source[at - 1]) || is_in_word(source[at - 1])))
        at--;
    size_t begin = at;
    for (;;) {
        while (at < work->length && is_between(source[at]))
            at++;
        size_t from = at;
        while (at < work->length && is_in_word(source[at]))
            at++;
        if (at == from)
            break;
        /* A word that is glued to a letter before it is none. */
        if (from == 0 || !is_letter(source[from - 1]))
            take_word(work, rows, from, at);
    }
    for (int i = 0; i < NOTATIONS; i++)
        offer(work, i, &rows[i]);
    weir__decode_looked(work, begin > 1 ? begin - 2 : 0, at + 2);
    *done = at;
}
