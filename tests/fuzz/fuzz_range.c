/* fuzz_range.c - any bytes as a field Range, compared with a reader that is slow and plain.
 *
 * The first byte is the size of what there is. The reader splits at commas, keeps numbers as
 * strings, marks each byte that is wanted in a map, and follows the marks: so it knows which runs
 * there must be. Each run must stand in the answer at the place of the first range that is in it.
 */
#include "range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_range: does not hold: %s\n", #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define SIZE_MAX_TRIED 255
#define TEXT_MAX       4096

enum verdict { IGNORED, MISSED, PARTIAL };

struct wanted {
    bool has[SIZE_MAX_TRIED + 1];
    int first_of[64]; /* of each range that is there: its first byte */
    int ranges;
};

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* As a number up to 1000, which is above every size here. */
static int small(const char *digits)
{
    while (*digits == '0')
        digits++;
    return strlen(digits) > 3 ? 1000 : (int)strtol(digits, NULL, 10);
}

static bool is_less(const char *a, const char *b)
{
    while (*a == '0')
        a++;
    while (*b == '0')
        b++;
    return strlen(a) != strlen(b) ? strlen(a) < strlen(b) : strcmp(a, b) < 0;
}

/* False: it is not well formed. */
static bool take(struct wanted *wanted, char *spec, int size, bool *ret_is_last_of_nothing)
{
    char *dash = strchr(spec, '-');
    if (!dash)
        return false;
    *dash = '\0';
    const char *first = spec, *last = dash + 1;
    int from, to;
    if ((*first && !is_number(first)) || (*last && !is_number(last)) || (!*first && !*last) ||
        (*first && *last && is_less(last, first)))
        return false;
    if (!*first) {
        int count = small(last);
        from = count < size ? size - count : 0;
        to = size - 1;
        *ret_is_last_of_nothing = *ret_is_last_of_nothing || (size == 0 && count > 0);
        if (count == 0)
            return true;
    } else {
        from = small(first);
        to = *last ? small(last) : size - 1;
    }
    if (from < size) {
        wanted->first_of[wanted->ranges++] = from;
        for (int i = from; i <= to && i < size; i++)
            wanted->has[i] = true;
    }
    return true;
}

static enum verdict judge(const char *text, int size, struct wanted *wanted)
{
    char copy[TEXT_MAX];
    bool is_last_of_nothing = false;
    int count = 0;
    memset(wanted, 0, sizeof(*wanted));
    if (strncasecmp(text, "bytes=", 6) != 0)
        return IGNORED;
    snprintf(copy, sizeof(copy), "%s", text + 6);
    char *rest = copy, *item;
    while ((item = strsep(&rest, ",")) != NULL) {
        item += strspn(item, " \t");
        while (*item && strchr(" \t", item[strlen(item) - 1]))
            item[strlen(item) - 1] = '\0';
        if (!*item)
            continue;
        if (++count > (int)WEIR__RANGES_MAX || !take(wanted, item, size, &is_last_of_nothing))
            return IGNORED;
    }
    if (count == 0 || (wanted->ranges == 0 && is_last_of_nothing))
        return IGNORED;
    return wanted->ranges == 0 ? MISSED : PARTIAL;
}

static void compare(const struct weir__ranges *ranges, const struct wanted *wanted, int size)
{
    size_t at = 0;
    bool is_told[SIZE_MAX_TRIED + 1] = {false};
    for (int i = 0; i < wanted->ranges; i++) {
        int from = wanted->first_of[i], to = from;
        while (from > 0 && wanted->has[from - 1])
            from--;
        while (to + 1 < size && wanted->has[to + 1])
            to++;
        if (is_told[from])
            continue;
        is_told[from] = true;
        HOLDS(at < ranges->count);
        HOLDS(ranges->items[at].first == (uint64_t)from);
        HOLDS(ranges->items[at].length == (uint64_t)(to - from + 1));
        at++;
    }
    HOLDS(at == ranges->count);
}

static void try_parts(const struct weir__ranges *ranges, uint64_t size)
{
    struct weir__range_parts parts = {
        .ranges = ranges, .size = size, .type = "text/plain", .boundary = "b"};
    char head[WEIR__RANGE_HEAD_SIZE];
    uint64_t total = 0;
    for (size_t i = 0; i <= ranges->count; i++) {
        HOLDS(weir__range_head(&parts, i, head) == strlen(head));
        total += strlen(head) + (i < ranges->count ? ranges->items[i].length : 0);
    }
    HOLDS(total == weir__range_total(&parts));
}

/* Whatever the size: inside of it, apart from each other, and no more than it. */
static void try_large(const char *text, uint64_t size)
{
    struct weir__ranges ranges;
    if (weir__ranges_parse(&ranges, text, strlen(text), size) < 0)
        return;
    for (size_t i = 0; i < ranges.count; i++) {
        const struct weir__range *a = &ranges.items[i];
        HOLDS(a->length > 0 && a->first < size && a->length <= size - a->first);
        for (size_t j = 0; j < i; j++) {
            const struct weir__range *b = &ranges.items[j];
            HOLDS(a->first > b->first + b->length || b->first > a->first + a->length);
        }
    }
    try_parts(&ranges, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX];
    struct weir__ranges ranges;
    struct wanted wanted;
    if (size == 0 || size > sizeof(text) - 1 || memchr(data + 1, 0, size - 1))
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    int there = data[0];
    enum verdict verdict = judge(text, there, &wanted);
    int result = weir__ranges_parse(&ranges, text, strlen(text), (uint64_t)there);
    HOLDS(result == (verdict == MISSED ? -WEIR_E_RANGE : 0));
    if (verdict == IGNORED)
        HOLDS(ranges.count == 0);
    if (verdict == PARTIAL) {
        compare(&ranges, &wanted, there);
        try_parts(&ranges, (uint64_t)there);
    }
    try_large(text, INT64_MAX);
    try_large(text, 1u << 20);
    return 0;
}
