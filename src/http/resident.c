/* resident.c - whether a part of a file is in memory: cachestat(2), where the kernel has it. */
#include <sys/syscall.h>
#include <unistd.h>

#include "server.h"

#include "banned.h"

/* The number is the same on all processors but alpha, and headers of Debian 12 do not have it. */
#if !defined(SYS_cachestat) && !defined(__alpha__)
#define SYS_cachestat 451
#endif

bool weir__file_is_resident(int fd, uint64_t offset, uint64_t length)
{
#ifdef SYS_cachestat
    struct {
        uint64_t offset, length;
    } range = {offset, length};
    struct {
        uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } found = {0};
    static const uint64_t page = 4096; /* where pages are larger there are fewer: ask for those */
    if (length == 0 || syscall(SYS_cachestat, fd, &range, &found, 0) != 0)
        return true;
    uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
    size = size > page ? size : page;
    return found.cached >= (offset + length - 1) / size - offset / size + 1;
#else
    (void)fd, (void)offset, (void)length;
    return true;
#endif
}
