/* sweep.h - makes the n-th call of a kind fail, for n = 1, 2, 3, ... until none is left to fail.
 *
 *     static void everything(void) { ... must cope with any error, and leak nothing ... }
 *     TEST(survives) { CHECK(sweep(WEIR_FAULT_ALLOC, everything) > 0); }
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_TESTS_SWEEP_H
#define WEIR_TESTS_SWEEP_H

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "fault.h"
#include "tap.h"

#define SWEEP_MAX 100000

/* Runs the scenario until a run in which nothing failed; returns how many runs had a failure. */
static inline long sweep(enum weir_fault kind, void (*scenario)(void))
{
    for (long n = 1; n < SWEEP_MAX; n++) {
        weir_fault_arm(kind, (uint64_t)n);
        scenario();
        bool hit = weir_fault_was_hit(kind);
        weir_fault_arm(kind, 0);
        if (!hit)
            return n - 1;
    }
    return -1;
}

/* How many are open, one more for the look: the same before and after when nothing leaked. */
static inline int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    CHECK(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* No descriptor may be left open; those that are there then are named. */
static inline void check_descriptors(int before, long n)
{
    int now = count_descriptors();
    if (now == before)
        return;
    tap_fail(__FILE__, __LINE__, "after fault %ld there are %d descriptors instead of %d", n, now,
             before);
    for (int fd = 0; fd < 256; fd++) {
        char name[32], target[256];
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof(target));
        if (length > 0)
            printf("# %d: %.*s\n", fd, (int)length, target);
    }
}

/* The same, where at least so many calls must have been there to fail and no descriptor may be left
 * open. */
static inline void sweep_cleanly(enum weir_fault kind, void (*scenario)(void), long least)
{
    int before = count_descriptors();
    long runs = sweep(kind, scenario);
    if (runs < least)
        tap_fail(__FILE__, __LINE__, "only %ld calls could fail", runs);
    check_descriptors(before, runs);
}

#endif
