/* child.c - posix_spawn, a socket pair, waitpid. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/crew.h>
#include <weir/error.h>

#include "sys.h"

#include "banned.h"

#define LOOK_UP_US     100000
#define NAP_NS_FIRST   (50 * WEIR_NS_PER_US)
#define NAP_NS_LONGEST (10 * WEIR_NS_PER_MS)
#define STATUS_UNKNOWN (255 << 8) /* as after exit(255) */

extern char **environ;

/* --- starting --- */

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error)
        error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    return error;
}

static int set_descriptors(posix_spawn_file_actions_t *actions, const struct weir__child_plan *plan,
                           int socket_fd)
{
    int error = 0;
    for (unsigned i = 0; !error && i < plan->fds_count; i++) {
        int fd = plan->fds[i] == WEIR__CHILD_SOCKET ? socket_fd : plan->fds[i], to = (int)i;
        if (fd == WEIR__CHILD_NULL)
            error = posix_spawn_file_actions_addopen(actions, to, "/dev/null", O_RDWR, 0);
        else if (fd >= 0 && fd < to && plan->fds[fd] != WEIR__CHILD_SAME)
            error = EINVAL; /* it is another one by now */
        else if (fd >= 0)
            error = posix_spawn_file_actions_adddup2(actions, fd, to);
    }
    if (!error && plan->closes_rest)
        error = posix_spawn_file_actions_addclosefrom_np(actions, (int)plan->fds_count);
    return error;
}

static int spawn(struct weir__child *child, const struct weir__child_plan *plan, int socket_fd)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int error = set_attributes(&attributes);
    if (!error)
        error = set_descriptors(&actions, plan, socket_fd);
    if (!error && weir__sys_fault())
        error = errno;
    if (!error)
        error = posix_spawnp(&child->pid, plan->program, &actions, &attributes, plan->arguments,
                             plan->environment ? plan->environment : environ);
    if (error)
        child->pid = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Some supervisors have those whom they start ignore it; the kernel would then forget how a child
 * ended before we could ask. */
static void want_to_know(void)
{
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL);
}

int weir__child_start(struct weir__child *child, const struct weir__child_plan *plan)
{
    const struct timeval look_up = {0, LOOK_UP_US};
    int type = plan->is_packets ? SOCK_SEQPACKET : SOCK_STREAM, fds[2];
    *child = (struct weir__child){.fd = -1, ._is_packets = plan->is_packets};
    if (plan->fds_count > WEIR__CHILD_FDS_MAX)
        return -WEIR_E_INVALID;
    want_to_know();
    if (WEIR__SYS(int, socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds)) != 0)
        return weir_error_from_errno(errno);
    child->fd = fds[0];
    int error = spawn(child, plan, fds[1]);
    weir__sys_close(fds[1]);
    if (!error && WEIR__SYS(int, setsockopt(child->fd, SOL_SOCKET, SO_RCVTIMEO, &look_up,
                                            sizeof(look_up))) != 0)
        error = errno;
    if (error)
        weir__child_stop(child);
    return weir_error_from_errno(error);
}

/* --- hearing it --- */

ssize_t weir__child_hear(const struct weir__child *child, void *bytes, size_t size,
                         uint64_t silence_ns, const struct weir_deadline *deadline)
{
    struct weir_cancel_hook hook = {0};
    uint64_t until_ns = weir_time_add(weir_now_ns(), silence_ns);
    int flags = child->_is_packets ? MSG_TRUNC : 0, error = weir_deadline_check(deadline);
    ssize_t got = 0;
    if (error)
        return error;
    if (deadline->cancel)
        weir_cancel_shuts_down(deadline->cancel, &hook, child->fd);
    do {
        got = WEIR__SYS(ssize_t, recv(child->fd, bytes, size, flags));
        if (got < 0 && errno == ECONNRESET) /* it died with something of ours unread */
            got = 0;
        if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            error = weir_error_from_errno(errno);
        if (got < 0 && !error)
            error = weir_deadline_check(deadline);
        if (got < 0 && !error && weir_now_ns() >= until_ns)
            error = -WEIR_E_TIMEOUT_READ;
    } while (got < 0 && !error);
    if (deadline->cancel)
        weir_cancel_off(&hook);
    if (got == 0) /* closed, perhaps by the hook */
        error = weir_deadline_check(deadline);
    return error ? error : got;
}

/* --- its end --- */

static bool has_ended(struct weir__child *child, int options, int *ret_status)
{
    pid_t pid;
    do
        pid = waitpid(child->pid, ret_status, options);
    while (pid < 0 && errno == EINTR);
    if (pid < 0) /* somebody else has asked before: nobody knows that all is well */
        *ret_status = STATUS_UNKNOWN;
    if (pid != 0)
        child->pid = 0;
    return pid != 0;
}

int weir__child_wait(struct weir__child *child, const struct weir_deadline *deadline,
                     int *ret_status)
{
    uint64_t nap_ns = NAP_NS_FIRST;
    int status = 0;
    while (!has_ended(child, WNOHANG, &status)) {
        int error = weir_deadline_check(deadline);
        if (error)
            return error;
        struct weir_deadline nap =
            weir_deadline_min(deadline, weir_time_add(weir_now_ns(), nap_ns));
        weir_deadline_sleep(&nap);
        nap_ns = nap_ns * 2 < NAP_NS_LONGEST ? nap_ns * 2 : NAP_NS_LONGEST;
    }
    *ret_status = status;
    return 0;
}

int weir__child_stop(struct weir__child *child)
{
    int status = 0;
    if (child->pid > 0) {
        /* Before the wait: one that has closed its socket may still live. One that is dead keeps
         * the status that it died with. */
        kill(-child->pid, SIGKILL);
        has_ended(child, 0, &status);
    }
    weir__sys_close_at(&child->fd);
    return status;
}
