/* clock.c - the monotonic clock, replaceable by a test. */
#include "clock.h"

#include <time.h>

#include "assert.h"
#include "atomic.h"

/* Zero while the real clock is used: a monotonic clock that reads 0 does not occur. */
static uint64_t fake_ns;

uint64_t weir__clock_real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * WEIR_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t weir_now_ns(void)
{
    uint64_t fake = weir__load64(&fake_ns);
    return fake ? fake : weir__clock_real_ns();
}

int64_t weir_wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec;
}

void weir__clock_fake(uint64_t now_ns)
{
    weir__store64(&fake_ns, now_ns ? now_ns : 1);
}

void weir__clock_advance(uint64_t delta_ns)
{
    WEIR__ASSERT(weir__clock_is_fake(), "clock", "", "only a fake clock can be moved");
    weir__add64(&fake_ns, delta_ns);
}

void weir__clock_unfake(void)
{
    weir__store64(&fake_ns, 0);
}

bool weir__clock_is_fake(void)
{
    return weir__load64(&fake_ns) != 0;
}
