/* archive_process.c - starting, hearing and ending the decoder's process. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "archive_confine.h"
#include "archive_find.h"
#include "archive_process.h"
#include "sys.h"

#include <weir/error.h>

#include "banned.h"

#define LOOK_UP_US   250000
#define HELLO_NS_MAX (30 * WEIR_NS_PER_S)
#define ENVIRON_MAX  8

extern char **environ;

int weir__archive_process_init(struct weir__archive_process *process)
{
    char *message = weir__base_alloc(WEIR__ARCHIVE_MESSAGE_MAX, 1);
    *process = (struct weir__archive_process){.fd = -1, .message = message};
    return message ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__archive_process_fini(struct weir__archive_process *process)
{
    weir__archive_process_stop(process);
    weir__base_free(process->message);
    process->message = NULL;
}

/* What the loader and the sanitizers need; the rest of the environment is none of its business. */
static void choose_environment(char **kept)
{
    static const char *const names[] = {
        "LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "TSAN_OPTIONS=", "LSAN_OPTIONS="};
    size_t count = 0;
    for (char **one = environ; one && *one && count < ENVIRON_MAX; one++)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (strncmp(*one, names[i], strlen(names[i])) == 0)
                kept[count++] = *one;
    kept[count] = NULL;
}

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    /* A group of its own: an interrupt from the keyboard is for the parent to handle. */
    if (!error)
        error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    return error;
}

static int set_descriptors(posix_spawn_file_actions_t *actions, int socket_fd)
{
    int error = posix_spawn_file_actions_adddup2(actions, socket_fd, WEIR__ARCHIVE_SOCKET);
    int last = WEIR__ARCHIVE_IS_SANITIZED ? STDOUT_FILENO : STDERR_FILENO;
    for (int fd = 0; !error && fd <= last; fd++)
        error = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(actions, WEIR__ARCHIVE_FILE);
    return error;
}

static int spawn(struct weir__archive_process *process, int socket_fd, const char *program,
                 char **arguments)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *kept[ENVIRON_MAX + 1];
    choose_environment(kept);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -WEIR_E_NO_MEMORY;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return -WEIR_E_NO_MEMORY;
    }
    int error = set_attributes(&attributes);
    if (!error)
        error = set_descriptors(&actions, socket_fd);
    if (!error && weir__sys_fault())
        error = errno;
    if (!error)
        error = posix_spawn(&process->pid, program, &actions, &attributes, arguments, kept);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        process->pid = 0;
    return error ? weir_error_from_errno(error) : 0;
}

static int start(struct weir__archive_process *process, const struct weir__archive_options *options,
                 bool has_no_seccomp)
{
    const struct timeval look_up = {0, LOOK_UP_US};
    char name[] = WEIR__ARCHIVE_PROGRAM, memory[24], spill[24], letters[3];
    char *arguments[] = {name, memory, spill, letters, NULL};
    int fds[2];
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer program;
    int error = weir__archive_find(&program);
    if (error)
        return error;
    snprintf(memory, sizeof(memory), "%llu", (unsigned long long)options->memory_max);
    snprintf(spill, sizeof(spill), "%llu", (unsigned long long)options->spill_bytes_max);
    snprintf(letters, sizeof(letters), "%c%c",
             options->may_run_unconfined ? WEIR__ARCHIVE_MAY_RUN : WEIR__ARCHIVE_CONFINED,
             has_no_seccomp ? WEIR__ARCHIVE_NO_SECCOMP : WEIR__ARCHIVE_CONFINED);
    if (WEIR__SYS(int, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) != 0)
        return weir_error_from_errno(errno);
    process->maker = gettid();
    process->fd = fds[0];
    error = spawn(process, fds[1], weir__buffer_text(&program), arguments);
    weir__sys_close(fds[1]);
    if (!error && WEIR__SYS(int, setsockopt(process->fd, SOL_SOCKET, SO_RCVTIMEO, &look_up,
                                            sizeof(look_up))) != 0)
        error = weir_error_from_errno(errno);
    if (error)
        weir__archive_process_stop(process);
    return error;
}

int weir__archive_process_start(struct weir__archive_process *process,
                                const struct weir__archive_options *options, bool has_no_seccomp,
                                const struct weir_deadline *deadline)
{
    int refusal = 0;
    /* The kernel ends a child when the thread that started it ends, not the program. */
    if (process->pid > 0 && process->maker != gettid())
        weir__archive_process_stop(process);
    if (process->pid > 0)
        return 0;
    int error = start(process, options, has_no_seccomp);
    if (error)
        return error;
    ssize_t length = weir__archive_process_hear(process, HELLO_NS_MAX, deadline);
    if (length > 0 && weir__archive_take_hello(process->message, (size_t)length, &refusal) &&
        refusal == 0)
        return 0;
    weir__archive_process_stop(process);
    if (length < 0)
        return (int)length;
    return refusal ? -WEIR_E_UNSUPPORTED : -WEIR_E_INTERNAL;
}

int weir__archive_process_send(struct weir__archive_process *process,
                               const struct weir__archive_command *command, int fd, int spill)
{
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    const int fds[2] = {fd, spill};
    size_t size = command->has_spill ? sizeof(fds) : sizeof(fds[0]);
    struct iovec part = {(void *)(uintptr_t)command, sizeof(*command)};
    struct msghdr head = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = CMSG_SPACE(size),
    };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&head);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(rights), fds, size);
    ssize_t sent = WEIR__SYS(ssize_t, sendmsg(process->fd, &head, MSG_NOSIGNAL));
    return sent == (ssize_t)sizeof(*command) ? 0 : -WEIR_E_CLOSED;
}

static void on_cancel(void *arg)
{
    const struct weir__archive_process *process = arg;
    shutdown(process->fd, SHUT_RDWR);
}

ssize_t weir__archive_process_hear(struct weir__archive_process *process, uint64_t silence_ns,
                                   const struct weir_deadline *deadline)
{
    struct weir_cancel_hook hook = {0};
    uint64_t until_ns = weir_time_add(weir_now_ns(), silence_ns);
    ssize_t got;
    int error = weir_deadline_check(deadline);
    if (error)
        return error;
    if (deadline->cancel)
        weir_cancel_on(deadline->cancel, &hook, on_cancel, process);
    do {
        /* With MSG_TRUNC a message that is too long has the length that it had. */
        got = WEIR__SYS(ssize_t,
                        recv(process->fd, process->message, WEIR__ARCHIVE_MESSAGE_MAX, MSG_TRUNC));
        if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            got = 0; /* a connection that is broken is a child that is gone */
        if (got < 0) {
            error = weir_deadline_check(deadline);
            if (!error && weir_now_ns() >= until_ns)
                error = -WEIR_E_TIMEOUT_READ;
        }
    } while (got < 0 && !error);
    if (deadline->cancel)
        weir_cancel_off(&hook);
    if (got == 0)
        error = weir_deadline_check(deadline);
    return error ? error : got;
}

int weir__archive_process_stop(struct weir__archive_process *process)
{
    int status = 0, died_of = 0;
    if (process->pid > 0) {
        /* Before the wait: one that has closed its socket may still live. One that is dead keeps
         * the status that it died with. */
        kill(process->pid, SIGKILL);
        pid_t pid;
        do
            pid = waitpid(process->pid, &status, 0);
        while (pid < 0 && errno == EINTR);
        if (pid == process->pid)
            died_of = WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
    }
    weir__sys_close_at(&process->fd);
    process->pid = 0;
    return died_of;
}
