/* values.h - numbers as people write them: 64k, 1.5G, 250ms, 50M/s.
 *
 * Promises: parsing is exact or refused. Sizes follow the customs of coreutils: k, M, G, T, P and
 * KiB, MiB, ... are powers of 1024; kB, MB, ... are powers of 1000. Durations need a unit (us, ms,
 * s, m, h, d), except 0. A rate is a size per second, "/s" may be left out. A decimal fraction is
 * allowed before a unit that can hold it, and is rounded down to a whole byte or nanosecond. A
 * ratio has three decimals at most.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_BASE_VALUES_H
#define WEIR_BASE_VALUES_H

#include <weir/defs.h>

enum weir__unit {
    WEIR__UNIT_COUNT,    /* a plain number */
    WEIR__UNIT_SIZE,     /* bytes */
    WEIR__UNIT_DURATION, /* nanoseconds */
    WEIR__UNIT_RATE,     /* bytes a second */
    WEIR__UNIT_RATIO     /* thousandths: "0.5" is 500 */
};

#define WEIR__VALUE_TEXT_MAX 32

/* 0; -WEIR_E_INVALID when the text is not such a number, -WEIR_E_RANGE when it needs more than 64
 * bits. */
WEIR_MUST_USE int weir__value_parse(enum weir__unit unit, const char *text, uint64_t *ret_value);

/* The shortest text that parses to exactly this value. */
void weir__value_format(enum weir__unit unit, uint64_t value, char text[WEIR__VALUE_TEXT_MAX]);

/* For people: about three digits, "1.50 GiB", "0 B", "1023 B". */
void weir__value_human_size(uint64_t bytes, char text[WEIR__VALUE_TEXT_MAX]);

/* For people: "0:07", "12:34", "3:04:05", "2d 03:04:05". */
void weir__value_human_time(uint64_t seconds, char text[WEIR__VALUE_TEXT_MAX]);

#endif
