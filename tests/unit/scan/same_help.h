/* same_help.h - the findings of two ways to scan the same bytes, to be compared.
 *
 * Ownership: static, of the test program; the scanner is that of scanner_help.h.
 */
#ifndef WEIR_TESTS_SCAN_SAME_HELP_H
#define WEIR_TESTS_SCAN_SAME_HELP_H

#include "engine_help.h"
#include "scanner_help.h"

static struct hits whole, other;
static struct hits *same_taking;

/* For help_start(). */
static inline void same_take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(same_taking, finding);
}

static inline void same_scan(struct hits *hits, unsigned depth, uint64_t skipped, const char *bytes,
                             size_t length, hits_cut *cut, void *arg)
{
    struct weir__object object = {.path = "a", .decode_depth = depth};
    same_taking = hits;
    CHECK_EQ(hits_scan(hits, scanner, &object, skipped, bytes, length, cut, arg), 0);
    if (hits->problem)
        tap_fail(__FILE__, __LINE__, "%s", hits->problem);
}

static inline void same_check(const char *what, size_t first, size_t second)
{
    if (!hits_are_same(&whole, &other))
        tap_fail(__FILE__, __LINE__, "%s, %zu and %zu: %zu findings and not the same %zu", what,
                 first, second, other.count, whole.count);
}

#endif
