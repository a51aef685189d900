/* literals.c - sets of literals. */
#include "literals.h"

#include <string.h>

#include "banned.h"

/* Where there are too many, their beginnings do, down to so many bytes. */
#define CUT_MIN  4u
#define CUT_STEP 2u

bool weir__literals_add(struct weir__literals *set, const char *text, size_t length, bool is_cased)
{
    char lower[WEIR__EXPRESSION_LITERAL];
    if (length > WEIR__EXPRESSION_LITERAL)
        return false;
    for (size_t i = 0; i < length; i++)
        lower[i] = is_cased ? text[i] : weir__lower(text[i]);
    for (unsigned i = 0; i < set->count; i++)
        if (set->length[i] == length && set->is_cased[i] == is_cased &&
            memcmp(set->text[i], lower, length) == 0)
            return true;
    if (set->count == WEIR__EXPRESSION_LITERALS)
        return false;
    memcpy(set->text[set->count], lower, length);
    set->is_cased[set->count] = is_cased;
    set->length[set->count++] = (uint8_t)length;
    return true;
}

/* Whether wherever b is, a is as well. */
static bool is_in(const struct weir__literals *set, unsigned a, unsigned b)
{
    if (set->length[a] > set->length[b] || (set->is_cased[a] && !set->is_cased[b]))
        return false;
    for (unsigned at = 0; at + set->length[a] <= set->length[b]; at++) {
        unsigned i = 0;
        while (i < set->length[a] &&
               (set->is_cased[a] ? set->text[b][at + i] : weir__lower(set->text[b][at + i])) ==
                   set->text[a][i])
            i++;
        if (i == set->length[a])
            return true;
    }
    return false;
}

void weir__literals_prune(struct weir__literals *set)
{
    for (unsigned b = 0; b < set->count;) {
        bool is_needless = false;
        for (unsigned a = 0; a < set->count && !is_needless; a++)
            is_needless = a != b && is_in(set, a, b);
        if (!is_needless) {
            b++;
            continue;
        }
        unsigned last = --set->count;
        memmove(set->text[b], set->text[last], sizeof(set->text[b]));
        set->length[b] = set->length[last];
        set->is_cased[b] = set->is_cased[last];
    }
}

bool weir__literals_join(struct weir__literals *set, const struct weir__literals *more)
{
    bool fits = set->count > 0 && more->count > 0;
    for (unsigned i = 0; i < more->count && fits; i++)
        fits = weir__literals_add(set, more->text[i], more->length[i], more->is_cased[i]);
    return fits;
}

/* Only the beginnings, which many have in common. */
static struct weir__literals literals_cut(const struct weir__literals *set, size_t length)
{
    struct weir__literals cut = {0};
    for (unsigned i = 0; i < set->count; i++)
        weir__literals_add(&cut, set->text[i], set->length[i] < length ? set->length[i] : length,
                           set->is_cased[i]);
    return cut;
}

struct weir__literals weir__literals_either(const struct weir__literals *a,
                                            const struct weir__literals *b)
{
    for (size_t length = WEIR__EXPRESSION_LITERAL; length >= CUT_MIN; length -= CUT_STEP) {
        struct weir__literals joined = literals_cut(a, length), more = literals_cut(b, length);
        weir__literals_prune(&joined);
        weir__literals_prune(&more);
        if (weir__literals_join(&joined, &more)) {
            weir__literals_prune(&joined);
            return joined;
        }
    }
    return (struct weir__literals){0};
}

/* A byte of a text in lower case, and behind it. Two characters beyond ASCII are other cases of s
 * and k. */
static char next_lower(const char *text, size_t length, size_t *at)
{
    if (length - *at >= 2 && memcmp(text + *at, "\xc5\xbf", 2) == 0) {
        *at += 2;
        return 's';
    }
    if (length - *at >= 3 && memcmp(text + *at, "\xe2\x84\xaa", 3) == 0) {
        *at += 3;
        return 'k';
    }
    return weir__lower(text[(*at)++]);
}

static bool contains(const char *text, size_t length, const char *part)
{
    size_t part_length = strlen(part);
    for (size_t i = 0; i < length; i++) {
        size_t k = 0, at = i;
        while (k < part_length && at < length) {
            size_t from = at;
            if (next_lower(text, length, &at) != weir__lower(part[k]) && text[from] != part[k])
                break;
            at = text[from] == part[k] ? from + 1 : at;
            k++;
        }
        if (k == part_length)
            return true;
    }
    return part_length == 0;
}

bool weir__literals_imply(const struct weir__literals *set, char *const *words, size_t count)
{
    for (unsigned i = 0; i < set->count; i++) {
        bool has = false;
        for (size_t k = 0; k < count && !has; k++)
            has = contains(set->text[i], set->length[i], words[k]);
        if (!has)
            return false;
    }
    return set->count > 0;
}
