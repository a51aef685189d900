/* suggest.c - Damerau-Levenshtein distance (optimal string alignment) in three rows. */
#include "suggest.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "banned.h"

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static int lower(const char *text, size_t at)
{
    return tolower((unsigned char)text[at]);
}

unsigned weir__suggest_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, WEIR__SUGGEST_MAX + 1);
    size_t b_length = strnlen(b, WEIR__SUGGEST_MAX + 1);
    if (a_length > WEIR__SUGGEST_MAX || b_length > WEIR__SUGGEST_MAX)
        return UINT_MAX;
    unsigned rows[3][WEIR__SUGGEST_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned same = lower(a, i - 1) == lower(b, j - 1) ? 0 : 1;
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + same);
            if (i > 1 && j > 1 && lower(a, i - 1) == lower(b, j - 2) &&
                lower(a, i - 2) == lower(b, j - 1) && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        unsigned *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[b_length];
}

void weir__suggest_offer(struct weir__suggestion *suggestion, const char *word,
                         const char *candidate)
{
    unsigned distance = weir__suggest_distance(word, candidate);
    if (distance == UINT_MAX)
        return;
    size_t length = strlen(word), candidate_length = strlen(candidate);
    size_t longer = length > candidate_length ? length : candidate_length;
    unsigned steps = distance;
    if (length >= 2 && strncasecmp(word, candidate, length) == 0 && steps > 1)
        steps = 1;
    if (steps > (longer + 1) / 3)
        return;
    /* Among words equally many steps away, the truly nearer one: '--max' is '--max-age' rather
     * than '--max-files-in-flight'. */
    unsigned cost = steps * (WEIR__SUGGEST_MAX + 1) + distance;
    if (suggestion->word[0] != '\0' && suggestion->_cost <= cost)
        return;
    suggestion->_cost = cost;
    memcpy(suggestion->word, candidate, candidate_length + 1);
}
