/* decode_place.c - from decoded bytes back to the source.
 *
 * Base64 and hexadecimal have a fixed measure, so a place is computed. In the other runs the units
 * differ in length: the way back walks over them from the nearest mark.
 *
 * Walking from any beginning of a unit gives the same units, since marks are put where the first
 * walk had one: that is why they suffice.
 */
#include "decode_part.h"

#include <string.h>

#include "banned.h"

static void place_base64(const struct weir__decoded *run, size_t from, size_t until,
                         size_t *ret_from, size_t *ret_until)
{
    bool is_end = from == run->out_until - run->out_from;
    *ret_from = is_end ? run->until : weir__base64_place(run, from / 3 * 4 + from % 3);
    *ret_until = *ret_from;
    if (until > from)
        *ret_until = weir__base64_place(run, (until - 1) / 3 * 4 + (until - 1) % 3 + 1) + 1;
}

/* The last mark that is not behind a decoded byte; all of them are in ascending order. */
static struct weir__decoded_mark mark_before(const struct weir__decoded *run, size_t from)
{
    struct weir__decoded_mark mark = {0}, one;
    size_t low = 0, high = run->_marks ? run->_width : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *marks = weir__buffer_text(run->_marks);
        memcpy(&one, marks + (run->_first_mark + middle) * sizeof(one), sizeof(one));
        if (one.out <= from) {
            mark = one;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return mark;
}

static void place_units(const char *source, const struct weir__decoded *run, size_t from,
                        size_t until, size_t *ret_from, size_t *ret_until)
{
    size_t at = run->from, out = 0, start = run->from;
    struct weir__decoded_mark mark = mark_before(run, from);
    at += mark.source;
    out += mark.out;
    while (at < run->until && out <= from) {
        char bytes[4];
        size_t count;
        start = at;
        at += weir__decode_unit(run->encoding, source, at, run->until, bytes, &count);
        out += count;
    }
    *ret_from = out > from ? start : at; /* at the very end: behind the last unit */
    while (at < run->until && out < until) {
        char bytes[4];
        size_t count;
        at += weir__decode_unit(run->encoding, source, at, run->until, bytes, &count);
        out += count;
    }
    *ret_until = until > from ? at : *ret_from;
    /* What is between two bytes of a list belongs to neither. */
    bool is_list = run->encoding == WEIR__HEX_LIST || run->encoding == WEIR__DECIMALS;
    while (is_list && *ret_until > *ret_from &&
           !weir__decode_is(source[*ret_until - 1], WEIR__IS_HEX))
        *ret_until -= 1;
}

void weir__decoded_place(const char *source, const struct weir__decoded *run, size_t from,
                         size_t until, size_t *ret_from, size_t *ret_until)
{
    size_t most = run->out_until - run->out_from;
    until = until < most ? until : most;
    from = from < until ? from : until;
    if (run->encoding == WEIR__BASE64) {
        place_base64(run, from, until, ret_from, ret_until);
    } else if (run->encoding == WEIR__HEX) {
        *ret_from = from == most ? run->until : weir__base64_place(run, 2 * from);
        *ret_until = until > from ? weir__base64_place(run, 2 * until - 1) + 1 : *ret_from;
    } else {
        place_units(source, run, from, until, ret_from, ret_until);
    }
}
