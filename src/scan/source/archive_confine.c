/* archive_confine.c - what the decoder's process may do: read, think, write to its socket, and to
 * the one file that it was given for that. */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <seccomp.h>

#include "alloc.h"
#include "archive_confine.h"
#include "sys.h"

#include "banned.h"

static int limit(__rlimit_resource_t what, uint64_t value)
{
    struct rlimit both = {(rlim_t)value, (rlim_t)value};
    return setrlimit(what, &both) == 0 ? 0 : errno;
}

/* Address space that is not memory of its own: libraries, windows of files. */
#define SPACE_BESIDES (UINT64_C(512) << 20)

/* All capabilities, of every kind: a scan that root has started is to have a decoder that is nobody
 * in particular. Those that it might get back are given up first, which takes one of them. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0L, 0L, 0L) >= 0; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0L, 0L, 0L) != 0 && errno != EPERM)
            return errno;
    if (prctl(PR_CAP_AMBIENT, (long)PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L) != 0 && errno != EINVAL)
        return errno;
    return syscall(SYS_capset, &head, none) == 0 ? 0 : errno;
}

int weir__archive_confine_limits(uint64_t memory_max, uint64_t spill_max)
{
    int error = limit(RLIMIT_CORE, 0);
    if (!error)
        error = limit(RLIMIT_FSIZE, spill_max);
    if (!error && !WEIR__ARCHIVE_IS_SANITIZED)
        error = limit(RLIMIT_DATA, memory_max);
    if (!error && !WEIR__ARCHIVE_IS_SANITIZED)
        error = limit(RLIMIT_AS, memory_max + SPACE_BESIDES);
    /* A file that would become too large is an error of that write. A page of a file that is not
     * there any more is the end; a sanitizer would make a report of it. */
    if (!error && (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || signal(SIGBUS, SIG_DFL) == SIG_ERR))
        error = errno;
    if (!error)
        error = drop_capabilities();
    if (!error && (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0 ||
                   prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) != 0 ||
                   prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L) != 0))
        error = errno;
    return error;
}

/* Harmless whatever the arguments are. No fstat by path, no lseek (the position of the file is
 * shared with the parent), no ioctl. */
static const int calls[] = {
    SCMP_SYS(read),          SCMP_SYS(pread64), SCMP_SYS(munmap),       SCMP_SYS(mremap),
    SCMP_SYS(brk),           SCMP_SYS(fstat),   SCMP_SYS(futex),        SCMP_SYS(exit),
    SCMP_SYS(exit_group),    SCMP_SYS(close),   SCMP_SYS(getrandom),    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(clock_gettime), SCMP_SYS(time),    SCMP_SYS(gettimeofday),
};

static const int calls_of_sanitizers[] = {
    SCMP_SYS(madvise),     SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sched_yield), SCMP_SYS(getpid),      SCMP_SYS(gettid),
};

static int allow(scmp_filter_ctx filter, const int *list, size_t count)
{
    int error = 0;
    for (size_t i = 0; !error && i < count; i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, list[i], 0);
    return error;
}

static int allow_if(scmp_filter_ctx filter, int call, struct scmp_arg_cmp condition)
{
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, condition);
}

static int add_rules(scmp_filter_ctx filter)
{
    static const int on_socket[] = {SCMP_SYS(write), SCMP_SYS(sendmsg), SCMP_SYS(recvmsg)};
    int error = allow(filter, calls, sizeof(calls) / sizeof(calls[0]));
    if (!error && WEIR__ARCHIVE_IS_SANITIZED)
        error = allow(filter, calls_of_sanitizers,
                      sizeof(calls_of_sanitizers) / sizeof(calls_of_sanitizers[0]));
    if (!error && WEIR__ARCHIVE_IS_SANITIZED)
        error = allow_if(filter, SCMP_SYS(write), SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO, 0));
    for (size_t i = 0; !error && i < sizeof(on_socket) / sizeof(on_socket[0]); i++)
        error = allow_if(filter, on_socket[i], SCMP_A0(SCMP_CMP_EQ, WEIR__ARCHIVE_SOCKET, 0));
    /* Memory of its own, that cannot be run. */
    if (!error)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                 SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    /* The archive, to be read; the file to spill to, to be written at a place. */
    if (!error)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 3,
                                 SCMP_A2(SCMP_CMP_EQ, PROT_READ, 0),
                                 SCMP_A3(SCMP_CMP_EQ, MAP_PRIVATE, 0),
                                 SCMP_A4(SCMP_CMP_MASKED_EQ, UINT32_MAX, WEIR__ARCHIVE_FILE));
    if (!error)
        error = allow_if(filter, SCMP_SYS(pwrite64), SCMP_A0(SCMP_CMP_EQ, WEIR__ARCHIVE_SPILL, 0));
    if (!error)
        error = allow_if(filter, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    return error;
}

int weir__archive_confine_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter)
        return ENOSYS;
    int error = add_rules(filter);
    if (!error)
        error = seccomp_load(filter);
    seccomp_release(filter);
    return -error;
}

/* Trials. The numbers are fixed in the functions so that each is one system call. */

static int try_memory(void)
{
    /* More than the default; the limit of its memory, not that of addresses, must refuse it. */
    void *memory = weir__base_alloc(1, (size_t)1 << 29);
    bool is_refused = !memory;
    weir__base_free(memory);
    return is_refused || WEIR__ARCHIVE_IS_SANITIZED ? 0 : 1;
}

static int try_map(int protection, int flags, int fd)
{
    return mmap(NULL, 4096, protection, flags, fd, 0) != MAP_FAILED;
}

static int try_path(enum weir__archive_trial what)
{
    struct stat st;
    char name[] = "/", *arguments[] = {name, NULL};
    if (what == WEIR__ARCHIVE_TRY_OPEN)
        return weir__sys_openat(AT_FDCWD, "/etc/passwd", O_RDONLY, 0);
    if (what == WEIR__ARCHIVE_TRY_STAT)
        return weir__sys_fstatat(AT_FDCWD, "/", &st, 0);
    if (what == WEIR__ARCHIVE_TRY_UNLINK)
        return weir__sys_unlinkat(AT_FDCWD, "/weir-none", 0);
    return execv("/bin/true", arguments);
}

int weir__archive_confine_try(enum weir__archive_trial what)
{
    switch (what) {
    case WEIR__ARCHIVE_TRY_OPEN:
    case WEIR__ARCHIVE_TRY_STAT:
    case WEIR__ARCHIVE_TRY_UNLINK:
    case WEIR__ARCHIVE_TRY_EXEC:
        return try_path(what);
    case WEIR__ARCHIVE_TRY_SOCKET:
        return socket(AF_INET, SOCK_STREAM, 0);
    case WEIR__ARCHIVE_TRY_FORK:
        return fork();
    case WEIR__ARCHIVE_TRY_KILL:
        return kill(getppid(), 0);
    case WEIR__ARCHIVE_TRY_WRITE_ELSEWHERE:
        return (int)write(WEIR__ARCHIVE_FILE, "x", 1);
    case WEIR__ARCHIVE_TRY_WRITE_AT:
        return (int)pwrite(WEIR__ARCHIVE_FILE, "x", 1, 0);
    case WEIR__ARCHIVE_TRY_MAP_FILE:
        return try_map(PROT_READ | PROT_WRITE, MAP_PRIVATE, WEIR__ARCHIVE_FILE);
    case WEIR__ARCHIVE_TRY_MAP_EXEC:
        return try_map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    case WEIR__ARCHIVE_TRY_PROTECT_EXEC:
        return mprotect((void *)(((uintptr_t)&calls[0]) & ~(uintptr_t)4095), 4096,
                        PROT_READ | PROT_EXEC);
    case WEIR__ARCHIVE_TRY_PTRACE:
        return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    case WEIR__ARCHIVE_TRY_LIMIT:
        return limit(RLIMIT_CORE, 0);
    case WEIR__ARCHIVE_TRY_MEMORY:
        return try_memory();
    case WEIR__ARCHIVE_TRIALS:
        break;
    }
    return -1;
}
