/* decode_escape.c - stretches of percent and unicode escapes with the plain bytes between them.
 *
 * Percent: all bytes around that may stand in a URL. Unicode: a stretch ends at a control character
 * (the end of the line) or where the next escape is too far away; so many plain bytes before the
 * first and behind the last belong to it, since a secret is rarely escaped as a whole and its name
 * stands before it.
 */
#include "decode_part.h"

#include "banned.h"

void weir__decode_percent(struct weir__decode_work *work, size_t at)
{
    const char *source = work->source;
    size_t from = at, until = at, count = 0;
    if (at < work->done[WEIR__PERCENT] || work->length - at < 3 ||
        !weir__decode_is(source[at + 1], WEIR__IS_HEX) ||
        !weir__decode_is(source[at + 2], WEIR__IS_HEX))
        return;
    for (; until < work->length && weir__decode_is(source[until], WEIR__IS_URL); until++) {
        count += source[until] == '%' && work->length - until >= 3 &&
                 weir__decode_is(source[until + 1], WEIR__IS_HEX) &&
                 weir__decode_is(source[until + 2], WEIR__IS_HEX);
    }
    while (count >= WEIR__PERCENT_LEAST && from > work->done[WEIR__PERCENT] &&
           weir__decode_is(source[from - 1], WEIR__IS_URL))
        from--;
    work->done[WEIR__PERCENT] = until;
    if (count >= WEIR__PERCENT_LEAST)
        weir__decode_offer(
            work, &(struct weir__decoded){.encoding = WEIR__PERCENT, .from = from, .until = until});
}

void weir__decode_escapes(struct weir__decode_work *work, size_t at)
{
    const char *source = work->source;
    size_t from = at, until = at, last = at, count = 0;
    if (at < work->done[WEIR__ESCAPES] || weir__escape_length(source, at, work->length) == 0)
        return;
    while (until < work->length && until - last < WEIR__ESCAPES_APART &&
           weir__decode_is(source[until], WEIR__IS_PLAIN)) {
        size_t length = source[until] == '\\' || source[until] == '&'
                            ? weir__escape_length(source, until, work->length)
                            : 0;
        until += length ? length : 1;
        if (length > 0) {
            last = until;
            count++;
        }
    }
    while (count >= WEIR__ESCAPES_LEAST && from > work->done[WEIR__ESCAPES] &&
           at - from < WEIR__ESCAPES_APART && weir__decode_is(source[from - 1], WEIR__IS_PLAIN))
        from--;
    work->done[WEIR__ESCAPES] = until;
    if (count >= WEIR__ESCAPES_LEAST)
        weir__decode_offer(
            work, &(struct weir__decoded){.encoding = WEIR__ESCAPES, .from = from, .until = until});
}
