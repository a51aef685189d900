/* futex.c - wait and wake by the kernel's futex, private to the process. */
#include "futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include <weir/error.h>

/* While a test drives the clock by hand the kernel cannot time our waits, so we sleep in slices of
 * real time and look at the fake clock between them. */
#define FAKE_SLICE_NS (WEIR_NS_PER_MS / 2)

static long futex(const uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / WEIR_NS_PER_S),
                             .tv_nsec = (long)(ns % WEIR_NS_PER_S)};
}

int weir__futex_wait(const uint32_t *word, uint32_t expected, uint64_t at_ns)
{
    if (at_ns == WEIR_NEVER) {
        futex(word, FUTEX_WAIT_BITSET, expected, NULL);
        return 0;
    }
    if (weir__clock_is_fake()) {
        if (weir_now_ns() >= at_ns)
            return -WEIR_E_TIMEOUT;
        struct timespec slice = timespec_of(weir__clock_real_ns() + FAKE_SLICE_NS);
        futex(word, FUTEX_WAIT_BITSET, expected, &slice);
        return 0;
    }
    struct timespec at = timespec_of(at_ns);
    if (futex(word, FUTEX_WAIT_BITSET, expected, &at) < 0 && errno == ETIMEDOUT)
        return -WEIR_E_TIMEOUT;
    return 0;
}

void weir__futex_wake(const uint32_t *word, unsigned count)
{
    futex(word, FUTEX_WAKE, count, NULL);
}
