/* redact.c - asterisks in place of secrets. */
#include "redact.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"

#include "banned.h"

#define STARS       20u /* in place of the middle of a long secret, whatever its length */
#define STARS_SHORT 8u
/* An end of a text may show the beginning of a secret whose rest was cut off. Fewer bytes of it
 * than these are left alone: they say little, and are there by chance too often. */
#define EDGE_MIN     3u
#define BLOCK_LENGTH 511u
#define TAIL_MAX     1024u /* what a line shows behind a password */

/* How many bytes at the beginning of the secret are in its rule: the longest keyword there. */
static size_t public_length(const struct weir__finding *finding)
{
    const struct weir__strings *keywords = &finding->rule->keywords;
    size_t longest = 0;
    for (size_t i = 0; i < keywords->count; i++) {
        size_t length = strlen(keywords->items[i]);
        if (length > longest && length <= finding->secret_length &&
            strncasecmp(finding->secret, keywords->items[i], length) == 0)
            longest = length;
    }
    return longest;
}

/* What a rule finds by a name before it is whatever somebody wrote there. One byte before it may be
 * a mark of its bounds. */
static bool begins_match(const struct weir__finding *finding)
{
    for (size_t before = 0; before <= 1; before++)
        if (finding->match_length >= before + finding->secret_length &&
            memcmp(finding->match + before, finding->secret, finding->secret_length) == 0)
            return true;
    return false;
}

struct weir__ends weir__ends_of(const struct weir__finding *finding)
{
    struct weir__ends ends = {0, 0};
    size_t most = finding->secret_length, first;
    if (most < WEIR__REDACT_LONG || !begins_match(finding) || (first = public_length(finding)) == 0)
        return ends;
    most -= WEIR__REDACT_HIDDEN + WEIR__REDACT_LAST;
    most = most < WEIR__REDACT_FIRST ? most : WEIR__REDACT_FIRST;
    ends.first = (uint8_t)(first < most ? first : most);
    ends.last = WEIR__REDACT_LAST;
    return ends;
}

struct weir__ends weir__ends_at_place(const struct weir__finding *finding)
{
    return finding->encodings_count > 0 ? (struct weir__ends){0, 0} : weir__ends_of(finding);
}

/* Whether a text begins with "name=" or "name:". */
static bool is_another(const char *text, size_t length)
{
    size_t name = 0;
    while (name < length && (isalnum((unsigned char)text[name]) || strchr("_-. ", text[name])))
        name++;
    return name > 0 && name < length && (text[name] == '=' || text[name] == ':');
}

/* Whether a quote is open behind the text. One between two letters is an apostrophe. */
static bool is_open(const char *text, size_t length, char quote)
{
    bool is_it = false;
    for (size_t i = 0; i < length; i++)
        if (text[i] == quote &&
            (i == 0 || i + 1 == length || !isalpha((unsigned char)text[i - 1]) ||
             !isalpha((unsigned char)text[i + 1])))
            is_it = !is_it;
    return is_it;
}

/* Of what is not in quotes itself: at bytes of the line are before its end. A quote that nothing
 * before it has opened is a part of it. */
static size_t open_tail(const char *line, size_t at, size_t length)
{
    const char *text = line + at;
    size_t tail = 0;
    for (; tail < length && !isspace((unsigned char)text[tail]); tail++)
        if (strchr("\"'`", text[tail]) && is_open(line, at, text[tail]))
            break;
    const char *sign = tail > 0 && text[0] == '@' ? memrchr(text, '@', tail) : NULL;
    if (sign)
        return (size_t)(sign - text);
    for (size_t i = 0; i < tail; i++)
        if ((strchr(";&,", text[i]) && is_another(text + i + 1, tail - i - 1)) ||
            (text[i] == '<' && i + 1 < tail && text[i + 1] == '/'))
            tail = i;
    while (tail > 0 && strchr(";,.)]}>\\", text[tail - 1])) /* of what is around it */
        tail--;
    return tail;
}

size_t weir__tail_of(const struct weir__finding *finding)
{
    size_t from = finding->line_from, until = finding->line_until;
    struct weir__ends ends = weir__ends_of(finding);
    if (finding->encodings_count > 0 || finding->is_in_name || !finding->rule->regex ||
        ends.first + ends.last > 0 || from >= until || until >= finding->line_length)
        return 0;
    const char *text = finding->line + until;
    size_t length = finding->line_length - until;
    length = length < TAIL_MAX ? length : TAIL_MAX;
    char before = from > 0 ? finding->line[from - 1] : ' ';
    bool is_quoted = strchr("\"'`", before) != NULL;
    const char *quote = is_quoted ? memchr(text, before, length) : NULL;
    if (quote)
        return (size_t)(quote - text);
    /* Where the line was cut, the quote is beyond what is known of it. */
    size_t secret = until - from;
    size_t room = secret < WEIR__LINE_SHOWN_MAX ? (WEIR__LINE_SHOWN_MAX - secret) / 2 : 0;
    bool is_cut = finding->line_length - until >= room;
    return is_quoted && is_cut ? length : open_tail(finding->line, until, length);
}

size_t weir__redact(const char *secret, size_t length, struct weir__ends ends, char *text,
                    size_t size)
{
    size_t shown = (size_t)ends.first + ends.last, stars = length == 0 ? 0 : STARS_SHORT;
    size_t at = 0, room = size > 0 ? size - 1 : 0;
    if (shown > 0)
        stars = STARS;
    for (size_t i = 0; i < shown + stars && at < room; i++) {
        bool is_first = i < ends.first, is_last = i >= ends.first + stars;
        text[at++] = is_first ? secret[i] : is_last ? secret[length - (shown + stars - i)] : '*';
    }
    if (size > 0)
        text[at] = '\0';
    return at;
}

void weir__hidden_part(uint64_t length, struct weir__ends ends, uint64_t *ret_from,
                       uint64_t *ret_until)
{
    bool is_long = length >= (uint64_t)WEIR__REDACT_HIDDEN + ends.first + ends.last;
    *ret_from = is_long ? ends.first : 0;
    *ret_until = is_long ? length - ends.last : length;
}

void weir__hide(char *text, size_t from, size_t until)
{
    for (size_t i = from; i < until; i++)
        if (text[i] != '\n' && text[i] != '\r')
            text[i] = '*';
}

/* How much of the text's beginning is an end of the secret. */
static size_t edge_before(const char *text, size_t length, const char *secret, size_t secret_length)
{
    size_t most = secret_length - 1 < length ? secret_length - 1 : length;
    for (size_t n = most; n >= EDGE_MIN; n--)
        if (text[0] == secret[secret_length - n] &&
            memcmp(text, secret + secret_length - n, n) == 0)
            return n;
    return 0;
}

static size_t edge_behind(const char *text, size_t length, const char *secret, size_t secret_length)
{
    size_t most = secret_length - 1 < length ? secret_length - 1 : length;
    for (size_t n = most; n >= EDGE_MIN; n--)
        if (text[length - n] == secret[0] && memcmp(text + length - n, secret, n) == 0)
            return n;
    return 0;
}

void weir__hide_inside(char *text, size_t length, const char *form, size_t form_length,
                       struct weir__ends ends)
{
    uint64_t from, until;
    if (form_length == 0 || length == 0)
        return;
    weir__hidden_part(form_length, ends, &from, &until);
    /* Occurrences that overlap are one run: between two of them nothing is shown. */
    char *end = text + length, *run = memmem(text, length, form, form_length), *last = run;
    while (run) {
        char *found = memmem(last + 1, (size_t)(end - last) - 1, form, form_length);
        if (!found || found >= last + form_length) {
            weir__hide(run, (size_t)from, (size_t)(last - run) + (size_t)until);
            run = found;
        }
        last = found;
    }
}

void weir__hide_all(char *text, size_t length, const char *form, size_t form_length,
                    struct weir__ends ends)
{
    if (form_length == 0 || length == 0)
        return;
    /* Measured before anything is hidden, since an occurrence may reach into an edge. */
    size_t before = edge_before(text, length, form, form_length);
    size_t behind = edge_behind(text, length, form, form_length);
    weir__hide_inside(text, length, form, form_length, ends);
    weir__hide(text, 0, before);
    weir__hide(text, length - behind, length);
}

/* The veil. */

struct weir__stretch_block {
    struct weir__stretch_block *next;
    size_t count;
    struct weir__stretch stretches[BLOCK_LENGTH];
};

void weir__veil_fini(struct weir__veil *veil)
{
    for (struct weir__stretch_block *block = veil->_blocks; block;) {
        struct weir__stretch_block *next = block->next;
        weir__base_free(block);
        block = next;
    }
    weir__base_free(veil->_sorted);
    *veil = (struct weir__veil){0};
}

static bool is_full(const struct weir__veil *veil)
{
    return !veil->_blocks || veil->_blocks->count == BLOCK_LENGTH;
}

size_t weir__veil_cost(const struct weir__veil *veil)
{
    /* Once as a block, and once more when all are put in order. */
    return !veil->_is_blind && is_full(veil) ? 2 * sizeof(struct weir__stretch_block) : 0;
}

void weir__veil_blind(struct weir__veil *veil)
{
    weir__veil_fini(veil);
    veil->_is_blind = true;
}

void weir__veil_add(struct weir__veil *veil, const struct weir__stretch *stretch)
{
    if (veil->_is_blind || stretch->from == stretch->until)
        return;
    if (is_full(veil)) {
        struct weir__stretch_block *block = weir__base_alloc(1, sizeof(*block));
        if (!block) {
            weir__veil_blind(veil);
            return;
        }
        block->next = veil->_blocks;
        veil->_blocks = block;
    }
    veil->_blocks->stretches[veil->_blocks->count++] = *stretch;
    veil->_count++;
}

static int compare_stretches(const void *a, const void *b)
{
    const struct weir__stretch *left = a, *right = b;
    int order = memcmp(&left->object, &right->object, sizeof(left->object));
    return order ? order : (left->from > right->from) - (left->from < right->from);
}

void weir__veil_sort(struct weir__veil *veil)
{
    if (veil->_is_blind || veil->_count == 0)
        return;
    struct weir__stretch *all = weir__base_alloc(veil->_count, sizeof(*all));
    if (!all) {
        weir__veil_blind(veil);
        return;
    }
    /* The last block comes first. What one thread found is in order. */
    size_t count = veil->_count, left = count;
    for (const struct weir__stretch_block *block = veil->_blocks; block; block = block->next) {
        left -= block->count;
        memcpy(all + left, block->stretches, block->count * sizeof(*all));
    }
    bool is_sorted = true;
    for (size_t i = 1; i < count && is_sorted; i++)
        is_sorted = compare_stretches(&all[i - 1], &all[i]) <= 0;
    if (!is_sorted)
        qsort(all, count, sizeof(*all), compare_stretches);
    size_t kept = 0;
    for (size_t i = 1; i < count; i++) {
        bool is_same = memcmp(&all[kept].object, &all[i].object, sizeof(all[i].object)) == 0;
        if (is_same && all[i].from <= all[kept].until) {
            if (all[i].until > all[kept].until)
                all[kept].until = all[i].until;
        } else {
            all[++kept] = all[i];
        }
    }
    veil->_sorted = all;
    veil->_count = kept + 1;
}

bool weir__veil_apply(const struct weir__veil *veil, const struct weir__digest *object,
                      uint64_t offset, char *text, size_t length)
{
    if (veil->_is_blind)
        return false;
    /* The first stretch that ends behind offset: they do not touch, so their ends rise too. */
    size_t low = 0, high = veil->_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct weir__stretch *stretch = &veil->_sorted[middle];
        int order = memcmp(&stretch->object, object, sizeof(*object));
        if (order < 0 || (order == 0 && stretch->until <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < veil->_count; low++) {
        const struct weir__stretch *stretch = &veil->_sorted[low];
        if (memcmp(&stretch->object, object, sizeof(*object)) != 0 ||
            stretch->from >= offset + length)
            break;
        uint64_t from = stretch->from > offset ? stretch->from - offset : 0;
        uint64_t until = stretch->until - offset;
        weir__hide(text, (size_t)from, until < length ? (size_t)until : length);
    }
    return true;
}
