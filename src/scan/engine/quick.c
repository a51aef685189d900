/* quick.c - which expressions of an allow list need not be asked.
 *
 * A value that somebody chose is asked some forty expressions, and hardly one of them holds. Most
 * could be ruled out by two bytes: what begins with a letter is no reference that begins with `$`,
 * and a word that is looked for anywhere has a first and a second byte. Which two bytes a match can
 * begin with is asked of PCRE2 itself: given them alone, and told that more may come, it says that
 * there is no match, or that there may be one. That takes some milliseconds for a list, and so it
 * is done for those that are asked often. With it a table says for two bytes which expressions may
 * match from there, a bit for each.
 *
 * A line may be long, and is that for each match in it: 8 KiB for each 50 bytes. What an expression
 * finds far from the ends of the line it finds in the whole text as well. So there it is remembered
 * up to where it finds nothing, and each byte is looked at once.
 */
#include <string.h>

#include "alloc.h"
#include "parts.h"

#include "banned.h"

#define USES_MIN  8192u /* of a list, before a table is worth its time */
#define MASK_BITS 64u   /* expressions of a list; the others are always asked */
#define FIRST     0x20u /* the printable bytes, of which the table knows */
#define BYTES     95u
#define LONG_LINE 512u /* bytes */

struct weir__quick {
    uint64_t always;               /* those of which nothing is known */
    uint64_t begin[BYTES][BYTES];  /* by the first two bytes of the text */
    uint64_t behind[BYTES][BYTES]; /* by two bytes that something else is before */
    uint64_t last[BYTES];          /* by the last byte */
};

void weir__quick_free(struct weir__quick *quick)
{
    weir__base_free(quick);
}

/* --- the table --- */

/* Whether a match may begin with these bytes, if more comes behind them. What an edge of a word or
 * of a line asks for is whether a letter, a line end or something else is before. */
static bool may_begin(struct weir__scanner *scanner, struct weir__matcher *matcher, bool is_behind,
                      const char *bytes, size_t length)
{
    static const char before[] = "a \n";
    char text[3];
    if (!is_behind)
        return weir__matcher_may_begin(matcher, scanner->data, bytes, length, 0);
    memcpy(text + 1, bytes, length);
    for (size_t i = 0; i < sizeof(before) - 1; i++) {
        text[0] = before[i];
        if (weir__matcher_may_begin(matcher, scanner->data, text, length + 1, 1))
            return true;
    }
    return false;
}

static void fill(struct weir__scanner *scanner, struct weir__quick *quick,
                 struct weir__matcher *matcher, uint64_t bit, bool is_behind)
{
    uint64_t(*rows)[BYTES] = is_behind ? quick->behind : quick->begin;
    bool is_first[BYTES];
    for (unsigned i = 0; i < BYTES; i++) {
        char byte = (char)(FIRST + i);
        is_first[i] = may_begin(scanner, matcher, is_behind, &byte, 1);
        quick->last[i] |= is_behind && is_first[i] ? bit : 0;
    }
    for (unsigned i = 0; i < BYTES; i++) {
        for (unsigned k = 0; is_first[i] && k < BYTES; k++) {
            const char pair[2] = {(char)(FIRST + i), (char)(FIRST + k)};
            if (may_begin(scanner, matcher, is_behind, pair, 2))
                rows[i][k] |= bit;
        }
    }
}

/* Whether PCRE2 says of every text whether there may be more to it. It does not where `.` is any
 * byte and comes several times (10.42). What looks further back than at the byte before, or begins
 * elsewhere than it is found, is left out, too. */
static bool is_askable(const char *text)
{
    return !strstr(text, "(?<") && !strstr(text, "\\K") && !strstr(text, "(*") &&
           !weir__matcher_has_any_byte(text);
}

static void make(struct weir__scanner *scanner, struct weir__quick *quick,
                 struct weir__matcher *matchers, size_t count)
{
    for (size_t i = 0; i < count && i < MASK_BITS; i++) {
        uint64_t bit = UINT64_C(1) << i;
        /* Nor what matches where nothing is left. */
        if (!is_askable(matchers[i].text) || may_begin(scanner, &matchers[i], true, "", 0)) {
            quick->always |= bit;
            continue;
        }
        fill(scanner, quick, &matchers[i], bit, false);
        fill(scanner, quick, &matchers[i], bit, true);
    }
}

/* Those that may match in the text. */
static uint64_t ask(const struct weir__quick *quick, const char *text, size_t length)
{
    uint64_t mask = quick->always;
    unsigned before = (uint8_t)text[0] - FIRST;
    for (size_t i = 1; i < length; i++) {
        unsigned byte = (uint8_t)text[i] - FIRST;
        if (before >= BYTES || byte >= BYTES)
            return UINT64_MAX;
        mask |= i == 1 ? quick->begin[before][byte] : quick->behind[before][byte];
        before = byte;
    }
    return mask | quick->last[before];
}

/* The same. All of them as long as there is no table. */
static uint64_t ask_list(struct weir__scanner *scanner, struct weir__quick_list *list,
                         const char *text, size_t length)
{
    if (length < 2 || length >= LONG_LINE)
        return UINT64_MAX;
    if (!list->quick) {
        if (++list->uses % USES_MIN != 0 ||
            !(list->quick = weir__base_alloc(1, sizeof(*list->quick))))
            return UINT64_MAX; /* without memory it is slower */
        make(scanner, list->quick, list->matchers, list->count);
    }
    return ask(list->quick, text, length);
}

/* --- long lines --- */

/* Whether a match begins in [from, until) of the text, which has so many bytes; one that begins
 * there ends, with all that is looked at, in the text. */
static int begins_in(struct weir__scanner *scanner, struct weir__matcher *matcher, const char *text,
                     size_t length, size_t from, size_t until)
{
    if (from >= until)
        return 0;
    pcre2_set_offset_limit(scanner->context, until - 1);
    int found = weir__matcher_run(matcher, text, length, from, 0, scanner->data, scanner->context);
    return found == PCRE2_ERROR_NOMATCH ? 0 : found;
}

/* The same in the whole text, by what is known of it. */
static int begins_between(struct weir__scanner *scanner, struct weir__matcher *matcher,
                          size_t extent, size_t from, size_t until)
{
    const struct weir__view *view = scanner->view;
    struct weir__bare *bare = &matcher->bare;
    uint64_t base = view->offset, start = base + from, end = base + until;
    if (bare->generation != scanner->generation || start < bare->from || start > bare->until)
        *bare = (struct weir__bare){scanner->generation, start, start, false};
    if (end <= bare->until)
        return 0;
    if (bare->is_end)
        return 1;
    size_t length = view->length - until > extent ? until + extent : view->length;
    int found =
        begins_in(scanner, matcher, view->bytes, length, (size_t)(bare->until - base), until);
    if (found >= 0) {
        bare->is_end = found > 0;
        bare->until = found > 0 ? base + pcre2_get_startchar(scanner->data) : end;
    }
    return found;
}

static bool has_long(struct weir__scanner *scanner, struct weir__matcher *matcher, const char *text,
                     size_t length)
{
    const struct weir__view *view = scanner->view;
    size_t before, extent;
    if (length < LONG_LINE || text < view->bytes || text + length > view->bytes + view->length ||
        !weir__matcher_reach(matcher, &before, &extent) || before + extent > length / 4)
        return weir__matcher_has(matcher, scanner->data, text, length);
    /* Matches that see an end of the line, and all others. */
    size_t from = (size_t)(text - view->bytes), most = length - extent;
    int found = begins_in(scanner, matcher, text, length, 0, before);
    if (found == 0)
        found = begins_in(scanner, matcher, text, length, most, length + 1);
    if (found == 0)
        found = begins_between(scanner, matcher, extent, from + before, from + most);
    return found > 0 || (found < 0 && weir__matcher_has(matcher, scanner->data, text, length));
}

bool weir__quick_any(struct weir__scanner *scanner, struct weir__quick_list *list, const char *text,
                     size_t length)
{
    uint64_t mask = list->count > 0 ? ask_list(scanner, list, text, length) : 0;
    for (size_t i = 0; i < list->count; i++)
        if ((i >= MASK_BITS || mask >> i & 1) &&
            has_long(scanner, &list->matchers[i], text, length))
            return true;
    return false;
}
