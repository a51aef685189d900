/* resources.c - asked once, at the start of a command. */
#include "resources.h"

#include <sched.h>
#include <sys/resource.h>

#include "banned.h"

/* What POSIX has every system allow is 20; who cannot even ask is not short of them. */
#define DESCRIPTORS_UNKNOWN 256u
#define GIVES_WAY           10

uint64_t weir__resources_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return DESCRIPTORS_UNKNOWN;
    rlim_t most = limit.rlim_max < WEIR__RESOURCES_DESCRIPTORS_MAX
                      ? limit.rlim_max
                      : WEIR__RESOURCES_DESCRIPTORS_MAX;
    if (limit.rlim_cur < most) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = most;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
            limit.rlim_cur = before;
    }
    return limit.rlim_cur;
}

unsigned weir__resources_cores(void)
{
    cpu_set_t sets[8]; /* 8192 processors; the kernel refuses a set that is too small for its own */
    int cores = sched_getaffinity(0, sizeof(sets), sets) == 0 ? CPU_COUNT_S(sizeof(sets), sets) : 1;
    return cores > 0 ? (unsigned)cores : 1;
}

void weir__resources_give_way(void)
{
    /* Of one thread alone: the kernel takes 0 for the calling one. That it fails does no harm. */
    (void)!setpriority(PRIO_PROCESS, 0, GIVES_WAY);
}
