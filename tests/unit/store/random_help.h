/* random_help.h - numbers and bytes from a seed; WEIR_SEED gives another one.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_TESTS_RANDOM_HELP_H
#define WEIR_TESTS_RANDOM_HELP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state;

static inline uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Always the same numbers. */
static inline void random_fixed(uint64_t seed)
{
    random_state = seed;
}

static inline void random_seed(void)
{
    const char *text = getenv("WEIR_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
    printf("# WEIR_SEED=%llu\n", (unsigned long long)seed);
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* 0 to bound - 1. */
static inline uint64_t random_below(uint64_t bound)
{
    return (random_next() >> 11) % bound;
}

static inline void random_fill(unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(random_next() >> 24);
}

#endif
