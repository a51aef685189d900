/* decode_escape.c - percent and unicode escapes, and what is around them.
 *
 * A secret is rarely escaped as a whole: often it is one byte of it that may not stand there as it
 * is. So a run is an escape of a printable byte, the word that it is in (what may stand in a URL),
 * and so many bytes beside that word, where its name stands; and it goes on as long as there is
 * another escape in that. It ends at a control character, which is mostly the end of the line.
 *
 * No run ends in the middle of a word, unless that is very long: what is cut would match as
 * something shorter than it is.
 *
 * A run may begin in what is plain at the end of the one before, so that every escape has all that
 * is around it. Each plain byte is in two runs at most.
 */
#include "decode_part.h"

#include "banned.h"

#define ESCAPE_MAX 12u   /* bytes of an escape, or of a pair of them */
#define NEAR_MAX   4096u /* bytes of a line to either side that are asked for an escape */

static bool is_word(char byte)
{
    return weir__decode_is(byte, WEIR__IS_URL);
}

static bool may_begin(enum weir__encoding encoding, char byte)
{
    return encoding == WEIR__PERCENT ? byte == '%' : byte == '\\' || byte == '&';
}

/* Where the run ends that has an escape here. *last is the end of its last escape. *ret_looked: no
 * byte from there on makes a difference. */
static size_t find_end(const struct weir__decode_work *work, enum weir__encoding encoding,
                       size_t at, size_t *last, size_t *ret_looked)
{
    const char *source = work->source;
    size_t stop = 0; /* where what is beside the word ends; 0 while in the word */
    bool is_cut = false;
    while (at < work->length && weir__decode_is(source[at], WEIR__IS_PLAIN)) {
        char first;
        size_t length = may_begin(encoding, source[at])
                            ? weir__escape_length(encoding, source, at, work->length, &first)
                            : 0;
        if (length > 0) {
            *last = at += length;
            stop = 0;
            continue;
        }
        bool is_in_word = is_word(source[at]);
        if (stop == 0 && (!is_in_word || at - *last >= WEIR__ESCAPES_WORD))
            stop = at + WEIR__ESCAPES_BESIDE;
        is_cut = stop > 0 && at >= stop && is_in_word && at - stop >= WEIR__ESCAPES_WORD;
        if (is_cut || (stop > 0 && at >= stop && !is_in_word))
            break;
        at++;
    }
    *ret_looked = at + WEIR__SURVEY_NEAR; /* what is no escape yet may become one */
    if (!is_cut)
        return at;
    /* In the middle of a word: before it, if that is not the one with the escape. */
    while (at > *last && is_word(source[at - 1]))
        at--;
    return at > *last ? at : stop;
}

/* Where it begins: no further back than the last escape before. *ret_looked: no byte before that
 * makes a difference. */
static size_t find_begin(const char *source, size_t at, size_t least, size_t *ret_looked)
{
    size_t begin = at;
    while (begin > least && at - begin < WEIR__ESCAPES_WORD && is_word(source[begin - 1]))
        begin--;
    size_t word = begin;
    while (begin > least && word - begin < WEIR__ESCAPES_BESIDE &&
           weir__decode_is(source[begin - 1], WEIR__IS_PLAIN))
        begin--;
    size_t beside = begin;
    while (begin > least && beside - begin < WEIR__ESCAPES_WORD && is_word(source[begin - 1]) &&
           begin < word)
        begin--;
    *ret_looked = begin > 0 ? begin - 1 : 0;
    if (begin > least && beside - begin == WEIR__ESCAPES_WORD)
        for (begin = beside; begin < word && is_word(source[begin]);)
            begin++;
    return begin;
}

static bool is_assigning(char byte)
{
    return byte == '=' || byte == ':';
}

/* Markup is full of escaped quotes: those are wanted that stand between a name and a value. */
static bool is_quote_of_text(const struct weir__decode_work *work, size_t at, size_t length,
                             char byte)
{
    const char *source = work->source;
    if (source[at] != '&' || (byte != '"' && byte != '\''))
        return false;
    size_t before = at > 0 && source[at - 1] == ' ' ? at - 1 : at, behind = at + length;
    return !(before > 0 && is_assigning(source[before - 1])) &&
           !(behind < work->length && is_assigning(source[behind]));
}

/* Only an escape of a printable byte is worth it, or of what is between lines. */
static bool is_wanted(char byte)
{
    return (byte >= ' ' && byte <= '~') || byte == '\n' || byte == '\r';
}

/* A NUL, one letter as it is, and the next NUL: UTF-16 or UTF-32 of which only the NULs are
 * escaped.
 */
static bool is_half_of_letter(const struct weir__decode_work *work, enum weir__encoding encoding,
                              size_t behind, char byte)
{
    const char *source = work->source;
    if (byte != '\0' || behind >= work->length || !weir__decode_is(source[behind], WEIR__IS_TEXT))
        return false;
    return weir__escape_length(encoding, source, behind + 1, work->length, &byte) > 0 &&
           byte == '\0';
}

static void decode_around(struct weir__decode_work *work, enum weir__encoding encoding, size_t at)
{
    char first = '\0';
    if (at < work->done[encoding])
        return;
    size_t length = weir__escape_length(encoding, work->source, at, work->length, &first);
    if (length == 0 || is_quote_of_text(work, at, length, first) ||
        (!is_wanted(first) && !is_half_of_letter(work, encoding, at + length, first)))
        return;
    size_t least = work->done[encoding], begin, end;
    struct weir__decoded run = {.encoding = encoding,
                                .from = find_begin(work->source, at, least, &begin)};
    run.until = find_end(work, encoding, at, &work->done[encoding], &end);
    weir__decode_looked(work, begin, end);
    weir__decode_offer(work, &run);
}

bool weir__decode_is_percent(const char *source, size_t from, size_t until)
{
    char first;
    for (size_t at = from; at < until; at++)
        if (!is_word(source[at]) || source[at] == '#' || source[at] == '@' ||
            (source[at] == '%' &&
             weir__escape_length(WEIR__PERCENT, source, at, until, &first) == 0))
            return false;
    return true;
}

static bool is_escape(const char *source, size_t at, size_t length)
{
    char first;
    return weir__escape_length(WEIR__PERCENT, source, at, length, &first) > 0 ||
           weir__escape_length(WEIR__ESCAPES, source, at, length, &first) > 0;
}

static bool may_begin_any(char byte)
{
    return may_begin(WEIR__PERCENT, byte) || may_begin(WEIR__ESCAPES, byte);
}

/* Whether the line has an escape that is looked for, or is too long to say. A run ends with its
 * line. */
static bool has_likely(const char *source, size_t length, size_t at)
{
    size_t from = at, until = at;
    while (from > 0 && at - from < NEAR_MAX && weir__decode_is(source[from - 1], WEIR__IS_PLAIN))
        from--;
    while (until < length && until - at < NEAR_MAX &&
           weir__decode_is(source[until], WEIR__IS_PLAIN))
        until++;
    for (size_t i = from; i < until; i++)
        if (may_begin_any(source[i]) && weir__escape_is_likely(source, length, i) &&
            is_escape(source, i, length))
            return true;
    return at - from == NEAR_MAX || until - at == NEAR_MAX;
}

bool weir__decode_may_escape(const char *source, size_t length, size_t from, size_t until)
{
    size_t at = from;
    while (at > 0 && from - at < ESCAPE_MAX && weir__decode_is(source[at - 1], WEIR__IS_PLAIN))
        at--;
    for (; at <= until && at < length; at++)
        if (may_begin_any(source[at]) && is_escape(source, at, length) &&
            has_likely(source, length, at))
            return true;
    return false;
}

void weir__decode_percent(struct weir__decode_work *work, size_t at)
{
    decode_around(work, WEIR__PERCENT, at);
}

void weir__decode_escapes(struct weir__decode_work *work, size_t at)
{
    decode_around(work, WEIR__ESCAPES, at);
}
