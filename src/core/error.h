/* error.h - how core functions fail.
 *
 * Ownership: the template must be a string literal; the name is copied.
 */
#ifndef WEIR_CORE_ERROR_H
#define WEIR_CORE_ERROR_H

#include <weir/error.h>

/* Remembers why, for weir_error_detail(), and returns -code. In the template $n stands for the
 * name, $1 $2 $3 for the numbers, and $t1 $t2 $t3 for them as times in nanoseconds. Cold, so that
 * no hot path pays for it. */
__attribute__((cold)) int weir__fail(int code, const char *name, const char *template,
                                     uint64_t first, uint64_t second, uint64_t third);

#endif
