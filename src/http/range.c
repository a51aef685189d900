/* range.c - ranges of bytes: read, put together, and told.
 *
 * Reading has two steps. The first takes the text apart into pairs of numbers as they are written,
 * and stops at the first thing that is not well formed: then all of it is ignored. The second looks
 * at what there is.
 */
#include "range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "require.h"

#include "banned.h"

#define UNIT "bytes"

/* A number as it is written, without zeros in front: of 0 nothing is left. */
struct number {
    const char *digits;
    size_t length;
    bool is_there;
};

struct spec {
    struct number first, last; /* without the first, the last tells how many */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_spaces(const char *text, size_t length, size_t at)
{
    while (at < length && is_space(text[at]))
        at++;
    return at;
}

/* --- as it is written --- */

static size_t read_number(const char *text, size_t length, size_t at, struct number *ret_number)
{
    size_t from = at;
    while (at < length && is_digit(text[at]))
        at++;
    ret_number->is_there = at > from;
    while (from < at && text[from] == '0')
        from++;
    ret_number->digits = text + from;
    ret_number->length = at - from;
    return at;
}

static bool is_below(const struct number *a, const struct number *b)
{
    if (a->length != b->length)
        return a->length < b->length;
    return memcmp(a->digits, b->digits, a->length) < 0;
}

/* What does not fit is more than any size. */
static uint64_t value_of(const struct number *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < number->length; i++) {
        unsigned digit = (unsigned)(number->digits[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return UINT64_MAX;
        value = value * 10 + digit;
    }
    return value;
}

/* Behind the unit and its '='; 0: it is another unit, or none. */
static size_t skip_unit(const char *text, size_t length)
{
    size_t at = 0;
    while (at < sizeof(UNIT) - 1 && at < length && (text[at] | 0x20) == UNIT[at])
        at++;
    return at == sizeof(UNIT) - 1 && at < length && text[at] == '=' ? at + 1 : 0;
}

static bool read_spec(const char *text, size_t length, size_t *at, struct spec *ret_spec)
{
    struct spec spec;
    *at = read_number(text, length, *at, &spec.first);
    if (*at == length || text[*at] != '-')
        return false;
    *at = read_number(text, length, *at + 1, &spec.last);
    *ret_spec = spec;
    return spec.first.is_there ? !spec.last.is_there || !is_below(&spec.last, &spec.first)
                               : spec.last.is_there;
}

/* How many there are; 0: it is not well formed, or there are too many. */
static size_t read_specs(const char *text, size_t length, struct spec specs[WEIR__RANGES_MAX])
{
    size_t count = 0, at = skip_unit(text, length);
    if (at == 0)
        return 0;
    for (;;) {
        at = skip_spaces(text, length, at);
        if (at < length && text[at] != ',') {
            if (count == WEIR__RANGES_MAX || !read_spec(text, length, &at, &specs[count]))
                return 0;
            count++;
            at = skip_spaces(text, length, at);
        }
        if (at == length)
            return count;
        if (text[at++] != ',')
            return 0;
    }
}

/* --- as it is there --- */

static bool place(const struct spec *spec, uint64_t size, struct weir__range *ret_range)
{
    uint64_t first = value_of(&spec->first), last = value_of(&spec->last);
    if (!spec->first.is_there) {
        *ret_range = (struct weir__range){last < size ? size - last : 0, last < size ? last : size};
        return ret_range->length > 0;
    }
    if (first >= size)
        return false;
    if (!spec->last.is_there || last >= size)
        last = size - 1;
    *ret_range = (struct weir__range){first, last - first + 1};
    return true;
}

static bool is_touching(const struct weir__range *a, const struct weir__range *b)
{
    return a->first <= b->first + b->length && b->first <= a->first + a->length;
}

static void join(struct weir__range *into, const struct weir__range *other)
{
    uint64_t end = into->first + into->length, other_end = other->first + other->length;
    into->first = into->first < other->first ? into->first : other->first;
    into->length = (end > other_end ? end : other_end) - into->first;
}

/* One more, with those that it touches at the place of the first of them. What has grown may touch
 * others, which it did not before. */
static void add(struct weir__ranges *ranges, struct weir__range range)
{
    size_t at = ranges->count;
    ranges->items[ranges->count++] = range;
    for (size_t i = 0; i < ranges->count; i++) {
        if (i == at || !is_touching(&ranges->items[i], &ranges->items[at]))
            continue;
        size_t kept = i < at ? i : at, gone = i < at ? at : i;
        join(&ranges->items[kept], &ranges->items[gone]);
        ranges->count--;
        memmove(&ranges->items[gone], &ranges->items[gone + 1],
                (ranges->count - gone) * sizeof(ranges->items[0]));
        at = kept;
        i = SIZE_MAX; /* from the beginning */
    }
}

int weir__ranges_parse(struct weir__ranges *ret_ranges, const char *text, size_t length,
                       uint64_t size)
{
    struct weir__ranges ranges = {0};
    struct spec specs[WEIR__RANGES_MAX];
    WEIR__REQUIRE(size <= INT64_MAX, "range", UNIT, "the size is none of a file");
    size_t count = read_specs(text, length, specs);
    bool is_whole = count == 0; /* the last bytes of nothing */
    for (size_t i = 0; i < count; i++) {
        struct weir__range range;
        if (place(&specs[i], size, &range))
            add(&ranges, range);
        else if (size == 0 && !specs[i].first.is_there && specs[i].last.length > 0)
            is_whole = true;
    }
    if (ranges.count == 0 && !is_whole)
        return -WEIR_E_RANGE;
    *ret_ranges = ranges;
    return 0;
}

/* --- told --- */

const char *weir__range_content(char text[WEIR__RANGE_TEXT_SIZE], const struct weir__range *range,
                                uint64_t size)
{
    snprintf(text, WEIR__RANGE_TEXT_SIZE, UNIT " %" PRIu64 "-%" PRIu64 "/%" PRIu64, range->first,
             range->first + range->length - 1, size);
    return text;
}

const char *weir__range_missed(char text[WEIR__RANGE_TEXT_SIZE], uint64_t size)
{
    snprintf(text, WEIR__RANGE_TEXT_SIZE, UNIT " */%" PRIu64, size);
    return text;
}

const char *weir__range_boundary(char boundary[WEIR__RANGE_BOUNDARY_SIZE],
                                 const unsigned char random[WEIR__RANGE_RANDOM])
{
    for (size_t i = 0; i < WEIR__RANGE_RANDOM; i++)
        snprintf(boundary + 2 * i, 3, "%02x", random[i]);
    return boundary;
}

size_t weir__range_head(const struct weir__range_parts *parts, size_t which,
                        char text[WEIR__RANGE_HEAD_SIZE])
{
    char content[WEIR__RANGE_TEXT_SIZE];
    int length;
    if (which == parts->ranges->count)
        length = snprintf(text, WEIR__RANGE_HEAD_SIZE, "\r\n--%s--\r\n", parts->boundary);
    else
        length = snprintf(text, WEIR__RANGE_HEAD_SIZE,
                          "%s--%s\r\nContent-Type: %s\r\nContent-Range: %s\r\n\r\n",
                          which > 0 ? "\r\n" : "", parts->boundary, parts->type,
                          weir__range_content(content, &parts->ranges->items[which], parts->size));
    WEIR__REQUIRE(length > 0 && (size_t)length < WEIR__RANGE_HEAD_SIZE, "range", parts->type,
                  "the type is too long");
    return (size_t)length;
}

uint64_t weir__range_total(const struct weir__range_parts *parts)
{
    char text[WEIR__RANGE_HEAD_SIZE];
    uint64_t total = 0;
    for (size_t i = 0; i <= parts->ranges->count; i++) {
        total += weir__range_head(parts, i, text);
        if (i < parts->ranges->count)
            total += parts->ranges->items[i].length;
    }
    return total;
}
