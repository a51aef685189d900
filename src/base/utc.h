/* utc.h - moments as text: 2026-12-01T00:00:00Z, and nothing else.
 *
 * Promises: one moment has one text and the other way round. Years 1970 to 9999, no leap seconds,
 * no fractions, no other zone.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_BASE_UTC_H
#define WEIR_BASE_UTC_H

#include <weir/defs.h>

#define WEIR__UTC_SIZE 21                    /* with NUL */
#define WEIR__UTC_MAX  INT64_C(253402300799) /* the last second of 9999 */

/* Seconds since 1970. 0 or Invalid. */
WEIR_MUST_USE int weir__utc_parse(int64_t *ret_seconds, const char *text, size_t length);

/* What is before 1970 or after 9999 is shown as the nearest that is not. Returns text. */
const char *weir__utc_format(char text[WEIR__UTC_SIZE], int64_t seconds);

#endif
