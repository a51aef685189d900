/* scan_git.c - starting git, hearing it, and its end.
 *
 * Its output, and its input if it has one, are one socket: a wait on that can be bounded without
 * further descriptors. What it complains of goes to a file in memory, so that it never waits for us
 * to read that.
 */
#include "scan_git.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

#define BLOCK          65536u
#define LOOK_UP_US     100000
#define NAP_NS_FIRST   (50 * WEIR_NS_PER_US)
#define NAP_NS_LONGEST (10 * WEIR_NS_PER_MS)

extern char **environ;

struct weir__git {
    pid_t pid; /* 0: it has been waited for */
    int fd;
    int complaints;
    size_t used, next;
    char block[BLOCK];
};

/* --- starting --- */

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    /* A group of its own: an interrupt from the keyboard is for us to handle. */
    if (!error)
        error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    return error;
}

static int set_descriptors(posix_spawn_file_actions_t *actions, int fd, int complaints,
                           bool has_input)
{
    int error = posix_spawn_file_actions_adddup2(actions, fd, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(actions, complaints, STDERR_FILENO);
    if (!error)
        error = has_input ? posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDIN_FILENO)
                          : posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
                                                             O_RDONLY, 0);
    return error;
}

static int spawn(struct weir__git *git, int fd, bool has_input, char **words)
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
        error = set_descriptors(&actions, fd, git->complaints, has_input);
    if (!error && weir__sys_fault())
        error = errno;
    if (!error)
        error = posix_spawnp(&git->pid, words[0], &actions, &attributes, words, environ);
    if (error)
        git->pid = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int start(struct weir__git *git, char **words, bool has_input)
{
    const struct timeval look_up = {0, LOOK_UP_US};
    int fds[2];
    git->complaints = WEIR__SYS(int, memfd_create("git", MFD_CLOEXEC));
    if (git->complaints < 0 ||
        WEIR__SYS(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) != 0)
        return errno;
    git->fd = fds[0];
    int error = spawn(git, fds[1], has_input, words);
    weir__sys_close(fds[1]);
    if (!error && WEIR__SYS(int, setsockopt(git->fd, SOL_SOCKET, SO_RCVTIMEO, &look_up,
                                            sizeof(look_up))) != 0)
        error = errno;
    return error;
}

int weir__git_new(struct weir__git **ret_git, const char *const *words, bool has_input)
{
    static char name[] = "git";
    char *arguments[WEIR__GIT_WORDS_MAX + 2] = {name};
    for (size_t i = 0; words[i]; i++) {
        if (i == WEIR__GIT_WORDS_MAX)
            return -WEIR_E_INVALID;
        arguments[i + 1] = (char *)(uintptr_t)words[i];
    }
    struct weir__git *git = weir__base_alloc(1, sizeof(*git));
    if (!git)
        return -WEIR_E_NO_MEMORY;
    git->fd = git->complaints = -1;
    int error = start(git, arguments, has_input);
    if (error) {
        weir__git_free(git);
        return weir_error_from_errno(error);
    }
    *ret_git = git;
    return 0;
}

/* --- its end --- */

static bool wait_for(struct weir__git *git, int options, int *ret_status)
{
    pid_t pid;
    do
        pid = waitpid(git->pid, ret_status, options);
    while (pid < 0 && errno == EINTR);
    if (pid != 0)
        git->pid = 0;
    return pid != 0;
}

void weir__git_free(struct weir__git *git)
{
    int status;
    if (!git)
        return;
    if (git->pid > 0) {
        kill(git->pid, SIGKILL);
        wait_for(git, 0, &status);
    }
    weir__sys_close(git->fd);
    weir__sys_close(git->complaints);
    weir__base_free(git);
}

/* The first line that says more than how the command is called. */
static void first_complaint(const struct weir__git *git, char why[WEIR__GIT_WHY_MAX])
{
    char text[1024];
    ssize_t n = weir__sys_pread(git->complaints, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    const char *line = text;
    line += strspn(line, "\n");
    for (const char *fatal = line; fatal; fatal = strchr(fatal, '\n')) {
        fatal += *fatal == '\n';
        if (strncmp(fatal, "fatal: ", 7) == 0 || strncmp(fatal, "error: ", 7) == 0) {
            line = fatal + 7;
            break;
        }
    }
    if (*line != '\0')
        snprintf(why, WEIR__GIT_WHY_MAX, "git: %.*s", (int)strcspn(line, "\n"), line);
}

int weir__git_end(struct weir__git *git, char why[WEIR__GIT_WHY_MAX])
{
    struct weir_deadline end = weir_deadline_in(WEIR__GIT_END_NS, NULL);
    uint64_t nap_ns = NAP_NS_FIRST;
    int status = 0;
    if (git->pid == 0)
        return 0;
    while (!wait_for(git, WNOHANG, &status)) {
        struct weir_deadline nap = weir_deadline_in(nap_ns, NULL);
        if (weir_deadline_check(&end) != 0) {
            kill(git->pid, SIGKILL);
            wait_for(git, 0, &status);
            break;
        }
        weir_deadline_sleep(&nap);
        nap_ns = nap_ns * 2 < NAP_NS_LONGEST ? nap_ns * 2 : NAP_NS_LONGEST;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status))
        snprintf(why, WEIR__GIT_WHY_MAX, "git was ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) == 127)
        snprintf(why, WEIR__GIT_WHY_MAX, "git could not be started");
    else
        snprintf(why, WEIR__GIT_WHY_MAX, "git failed with status %d", WEXITSTATUS(status));
    first_complaint(git, why);
    return -WEIR_E_INCOMPLETE;
}

/* --- hearing it --- */

int weir__git_descriptor(struct weir__git *git)
{
    const struct timeval silence = {WEIR__GIT_SILENCE_NS / WEIR_NS_PER_S, 0};
    (void)setsockopt(git->fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
    return git->fd;
}

int weir__git_send(struct weir__git *git, const char *bytes, size_t count)
{
    ssize_t sent = WEIR__SYS(ssize_t, send(git->fd, bytes, count, MSG_NOSIGNAL));
    return sent == (ssize_t)count ? 0 : -WEIR_E_CLOSED;
}

/* 1, 0 at the end, or an error. */
static int fill(struct weir__git *git, struct weir_cancel *stop)
{
    struct weir_deadline deadline = weir_deadline_in(WEIR__GIT_SILENCE_NS, stop);
    for (;;) {
        ssize_t n = WEIR__SYS(ssize_t, recv(git->fd, git->block, BLOCK, 0));
        if (n >= 0) {
            git->used = (size_t)n;
            git->next = 0;
            return n > 0;
        }
        if (errno == ECONNRESET) /* it died with something of ours unread */
            return 0;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return weir_error_from_errno(errno);
        int error = weir_deadline_check(&deadline);
        if (error)
            return error == -WEIR_E_TIMEOUT ? -WEIR_E_TIMEOUT_READ : error;
    }
}

ssize_t weir__git_read(struct weir__git *git, char *bytes, size_t size, struct weir_cancel *stop)
{
    int result = git->next < git->used ? 1 : fill(git, stop);
    if (result <= 0)
        return result;
    size_t left = git->used - git->next;
    size_t count = left < size ? left : size;
    memcpy(bytes, git->block + git->next, count);
    git->next += count;
    return (ssize_t)count;
}

int weir__git_read_to(struct weir__git *git, char end, struct weir__buffer *text,
                      struct weir_cancel *stop)
{
    const char *found = NULL;
    weir__buffer_truncate(text, 0);
    while (!found) {
        int result = git->next < git->used ? 1 : fill(git, stop);
        if (result < 0)
            return result;
        if (result == 0)
            return weir__buffer_length(text) > 0 ? -WEIR_E_CLOSED : 0;
        const char *from = git->block + git->next;
        size_t left = git->used - git->next;
        found = memchr(from, end, left);
        size_t length = found ? (size_t)(found - from) : left;
        git->next += length + (found != NULL);
        result = weir__buffer_append(text, from, length);
        if (result < 0)
            return result;
    }
    return 1;
}
