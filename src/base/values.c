/* values.c - suffix tables and exact arithmetic on them. */
#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/error.h>

#include "banned.h"

struct suffix {
    const char *text;
    uint64_t factor;
};

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)
#define PIB (1024 * TIB)

/* The first suffix of a factor is the one that weir__value_format() writes; largest factor first.
 */
/* In any case of letters: what else could be meant? */
static const struct suffix size_suffixes[] = {
    {"E", 1024 * PIB},
    {"EiB", 1024 * PIB},
    {"EB", UINT64_C(1000000000000000000)},
    {"P", PIB},
    {"PiB", PIB},
    {"PB", UINT64_C(1000000000000000)},
    {"T", TIB},
    {"TiB", TIB},
    {"TB", UINT64_C(1000000000000)},
    {"G", GIB},
    {"GiB", GIB},
    {"GB", UINT64_C(1000000000)},
    {"M", MIB},
    {"MiB", MIB},
    {"MB", UINT64_C(1000000)},
    {"k", KIB},
    {"KiB", KIB},
    {"kB", UINT64_C(1000)},
    {"", 1},
    {"B", 1},
    {NULL, 0},
};

static const struct suffix duration_suffixes[] = {
    {"d", 86400 * WEIR_NS_PER_S},
    {"h", 3600 * WEIR_NS_PER_S},
    {"m", 60 * WEIR_NS_PER_S},
    {"min", 60 * WEIR_NS_PER_S},
    {"s", WEIR_NS_PER_S},
    {"ms", WEIR_NS_PER_MS},
    {"us", WEIR_NS_PER_US},
    {"ns", 1},
    {NULL, 0},
};

static const struct suffix count_suffixes[] = {{"", 1}, {NULL, 0}};
static const struct suffix ratio_suffixes[] = {{"", 1000}, {NULL, 0}};

/* The most digits after the point: 10 to this power times any factor stays within 128 bits. */
#define FRACTION_DIGITS_MAX 9

static const struct suffix *suffixes_of(enum weir__unit unit)
{
    switch (unit) {
    case WEIR__UNIT_SIZE:
    case WEIR__UNIT_RATE:
        return size_suffixes;
    case WEIR__UNIT_DURATION:
        return duration_suffixes;
    case WEIR__UNIT_RATIO:
        return ratio_suffixes;
    case WEIR__UNIT_COUNT:
        break;
    }
    return count_suffixes;
}

/* The factor of a suffix of the given length, 0 when it is none. */
static uint64_t find_factor(enum weir__unit unit, const char *text, size_t length)
{
    const struct suffix *suffixes = suffixes_of(unit);
    for (const struct suffix *suffix = suffixes; suffix->text; suffix++)
        if (strlen(suffix->text) == length &&
            (suffixes == size_suffixes ? strncasecmp(suffix->text, text, length)
                                       : strncmp(suffix->text, text, length)) == 0)
            return suffix->factor;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int weir__value_parse(enum weir__unit unit, const char *text, uint64_t *ret_value)
{
    const char *p = text;
    if (!is_digit(*p))
        return -WEIR_E_INVALID;
    uint64_t whole = 0;
    bool is_too_large = false;
    for (; is_digit(*p); p++)
        is_too_large |= __builtin_mul_overflow(whole, 10, &whole) ||
                        __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole);
    uint64_t fraction = 0, scale = 1;
    if (*p == '.') {
        const char *digits = ++p;
        for (; is_digit(*p); p++) {
            if (p - digits == FRACTION_DIGITS_MAX)
                return -WEIR_E_INVALID;
            fraction = fraction * 10 + (uint64_t)(*p - '0');
            scale *= 10;
        }
        if (p == digits)
            return -WEIR_E_INVALID;
    }
    size_t length = strlen(p);
    if (unit == WEIR__UNIT_RATE && length >= 2 && memcmp(p + length - 2, "/s", 2) == 0)
        length -= 2;
    uint64_t factor = find_factor(unit, p, length);
    /* Nothing is nothing in any unit. */
    if (factor == 0 && length == 0 && whole == 0 && scale == 1 && !is_too_large)
        factor = 1;
    if (factor == 0 || (factor == 1 && scale > 1))
        return -WEIR_E_INVALID;
    if (unit == WEIR__UNIT_RATIO && scale > factor)
        return -WEIR_E_INVALID;
    uint64_t part = (uint64_t)((unsigned __int128)fraction * factor / scale);
    if (is_too_large || __builtin_mul_overflow(whole, factor, &whole) ||
        __builtin_add_overflow(whole, part, &whole))
        return -WEIR_E_RANGE;
    *ret_value = whole;
    return 0;
}

/* Without zeros at the end. */
static void format_ratio(uint64_t value, char text[WEIR__VALUE_TEXT_MAX])
{
    uint64_t part = value % 1000;
    int decimals = part % 10 ? 3 : part % 100 ? 2 : part ? 1 : 0;
    for (int i = decimals; i < 3; i++)
        part /= 10;
    if (decimals > 0)
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%" PRIu64 ".%0*" PRIu64, value / 1000, decimals,
                 part);
    else
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%" PRIu64, value / 1000);
}

void weir__value_format(enum weir__unit unit, uint64_t value, char text[WEIR__VALUE_TEXT_MAX])
{
    const char *per = unit == WEIR__UNIT_RATE ? "/s" : "";
    if (value == 0) {
        snprintf(text, WEIR__VALUE_TEXT_MAX, "0%s", per);
        return;
    }
    if (unit == WEIR__UNIT_RATIO) {
        format_ratio(value, text);
        return;
    }
    for (const struct suffix *suffix = suffixes_of(unit); suffix->text; suffix++) {
        bool is_decimal = suffix->factor % 1000 == 0 && unit != WEIR__UNIT_DURATION;
        if (value % suffix->factor == 0 && !is_decimal) {
            snprintf(text, WEIR__VALUE_TEXT_MAX, "%" PRIu64 "%s%s", value / suffix->factor,
                     suffix->text, per);
            return;
        }
    }
}

void weir__value_human_size(uint64_t bytes, char text[WEIR__VALUE_TEXT_MAX])
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%" PRIu64 " B", bytes);
        return;
    }
    size_t at = 0;
    double value = (double)bytes / 1024;
    /* 1023.5 would be shown as 1024 of a unit. */
    while (value >= 1023.5 && at + 1 < sizeof(names) / sizeof(names[0])) {
        value /= 1024;
        at++;
    }
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(text, WEIR__VALUE_TEXT_MAX, "%.*f %s", decimals, value, names[at]);
}

void weir__value_human_time(uint64_t seconds, char text[WEIR__VALUE_TEXT_MAX])
{
    unsigned s = (unsigned)(seconds % 60), m = (unsigned)(seconds / 60 % 60);
    unsigned h = (unsigned)(seconds / 3600 % 24);
    uint64_t days = seconds / 86400;
    if (days > 0)
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%" PRIu64 "d %02u:%02u:%02u", days, h, m, s);
    else if (h > 0)
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%u:%02u:%02u", h, m, s);
    else
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%u:%02u", m, s);
}
