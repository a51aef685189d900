/* stress.h - a seed, a time limit and threads for the stress tests.
 *
 * WEIR_SEED fixes the seed (it is printed), WEIR_STRESS_SECONDS the time of each test (2 by
 * default, 20 with WEIR_LONG).
 *
 * Ownership: stress_run() joins every thread that it starts.
 */
#ifndef WEIR_TESTS_STRESS_H
#define WEIR_TESTS_STRESS_H

#include <stdio.h>
#include <stdlib.h>
#include <weir/clock.h>

#include "tap.h"
#include "thread.h"

#define STRESS_THREADS_MAX 16

struct stress_thread {
    void *shared;
    int index;
    uint64_t random;
    uint64_t until_ns;
    void (*fn)(struct stress_thread *thread);
};

static inline uint64_t stress_random(struct stress_thread *thread)
{
    thread->random ^= thread->random << 13;
    thread->random ^= thread->random >> 7;
    thread->random ^= thread->random << 17;
    return thread->random;
}

static inline bool stress_goes_on(const struct stress_thread *thread)
{
    return weir_now_ns() < thread->until_ns;
}

static inline void stress_main(void *arg)
{
    struct stress_thread *thread = arg;
    thread->fn(thread);
}

static inline uint64_t stress_seed(void)
{
    const char *text = getenv("WEIR_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : weir_now_ns();
    printf("# WEIR_SEED=%llu\n", (unsigned long long)seed);
    return seed | 1;
}

static inline uint64_t stress_seconds(void)
{
    const char *text = getenv("WEIR_STRESS_SECONDS");
    return text ? strtoull(text, NULL, 10) : getenv("WEIR_LONG") ? 20 : 2;
}

/* Runs fn in so many threads until the time is over. */
static inline void stress_run(int threads, void *shared, void (*fn)(struct stress_thread *thread))
{
    static struct stress_thread all[STRESS_THREADS_MAX];
    struct weir__thread handles[STRESS_THREADS_MAX];
    uint64_t seed = stress_seed();
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S;
    for (int i = 0; i < threads; i++) {
        all[i] = (struct stress_thread){shared, i, seed * (uint64_t)(2 * i + 1), until_ns, fn};
        CHECK_EQ(weir__thread_start(&handles[i], "stress", stress_main, &all[i]), 0);
    }
    for (int i = 0; i < threads; i++)
        weir__thread_join(&handles[i]);
}

#endif
