/* refuse.h - runs a function in a child process in which the kernel refuses one system call.
 *
 *     static int copies(void *arg) { ... return 0 when all is well, a line number when not ... }
 *     TEST(works_without_it) { CHECK_EQ(run_refusing(SYS_io_uring_setup, EPERM, copies, NULL), 0);
 * }
 *
 * Only the child is affected, so nothing on the machine has to be switched off. Checks of tap.h do
 * not belong into the function: they would end the test in the child.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_TESTS_REFUSE_H
#define WEIR_TESTS_REFUSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

/* What the child answers, or -1 when it died, or REFUSE_CANNOT where there is no seccomp. */
#define REFUSE_CANNOT 250

static inline int refuse_wait(pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static inline int run_refusing(long number, int errno_value, int (*fn)(void *arg), void *arg)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((uint32_t)errno_value & 0xffffu)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};
    pid_t child = fork();
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
            _exit(REFUSE_CANNOT);
        _exit(fn(arg));
    }
    return refuse_wait(child);
}

#endif
