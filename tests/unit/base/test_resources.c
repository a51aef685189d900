/* test_resources.c - the limit of descriptors is raised as far as that is allowed, and no further;
 * of the processors those count that the process may run on. */
#include "resources.h"

#include "tap.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a process of its own, since a limit that was lowered cannot be raised again: whether the
 * answer, and the limit that holds then, are the wanted ones. */
static bool raises(rlim_t soft, rlim_t hard, rlim_t wanted)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = {soft, hard};
        bool is_set = setrlimit(RLIMIT_NOFILE, &limit) == 0;
        bool is_told = weir__resources_descriptors() == wanted;
        bool is_kept = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == wanted &&
                       limit.rlim_max == hard;
        _exit(is_set && is_told && is_kept ? 0 : 1);
    }
    int status = 0;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status == 0;
}

TEST(descriptors)
{
    struct rlimit now;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
    CHECK(now.rlim_max >= 200);
    CHECK(raises(100, 200, 200));
    CHECK(raises(200, 200, 200));
    CHECK(raises(64, now.rlim_max,
                 now.rlim_max < WEIR__RESOURCES_DESCRIPTORS_MAX ? now.rlim_max
                                                                : WEIR__RESOURCES_DESCRIPTORS_MAX));
    if (now.rlim_max > WEIR__RESOURCES_DESCRIPTORS_MAX)
        CHECK(raises(now.rlim_max, now.rlim_max, now.rlim_max));
}

TEST(cores)
{
    CHECK(weir__resources_cores() >= 1);
    cpu_set_t all, one;
    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    CHECK_EQ(weir__resources_cores(), (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    CHECK_EQ(weir__resources_cores(), 1);
    CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
}

TAP_MAIN()
