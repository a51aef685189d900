/* archive_process.c - starting, hearing and ending the decoder's process. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "archive_confine.h"
#include "archive_find.h"
#include "archive_process.h"
#include "log.h"
#include "sys.h"

#include <weir/error.h>

#include "banned.h"

#define HELLO_NS_MAX (30 * WEIR_NS_PER_S)
#define ENVIRON_MAX  8

extern char **environ;

int weir__archive_process_init(struct weir__archive_process *process)
{
    char *message = weir__base_alloc(WEIR__ARCHIVE_MESSAGE_MAX, 1);
    *process = (struct weir__archive_process){.child = {.fd = -1}, .message = message};
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

static int start(struct weir__archive_process *process, const struct weir__archive_options *options,
                 bool has_no_seccomp)
{
    char name[] = WEIR__ARCHIVE_PROGRAM, memory[24], spill[24], letters[3];
    char *arguments[] = {name, memory, spill, letters, NULL}, *kept[ENVIRON_MAX + 1];
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
    choose_environment(kept);
    const struct weir__child_plan plan = {
        .program = weir__buffer_text(&program),
        .arguments = arguments,
        .environment = kept,
        .fds = {WEIR__CHILD_NULL, WEIR__CHILD_NULL,
                WEIR__ARCHIVE_IS_SANITIZED ? WEIR__CHILD_SAME : WEIR__CHILD_NULL,
                WEIR__CHILD_SOCKET},
        .fds_count = WEIR__ARCHIVE_FILE,
        .is_packets = true,
        .closes_rest = true,
    };
    process->maker = gettid();
    return weir__child_start(&process->child, &plan);
}

#define ITSELF     "'" WEIR__ARCHIVE_PROGRAM "'"
#define NOT_LOADED 127 /* the exit status when a program, or a library of it, cannot be loaded */

static void say(struct weir__archive_process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct weir__archive_process *process, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(process->why, sizeof(process->why), format, list);
    va_end(list);
}

/* How one ended that did not even greet. */
static void say_end(struct weir__archive_process *process, int died_of)
{
    process->died_of = died_of;
    if (died_of == SIGKILL)
        say(process,
            ITSELF " was killed as it started (signal %d): there is too little memory, or "
                   "something forbids it",
            died_of);
    else if (died_of > 0)
        say(process, ITSELF " died as it started (signal %d)", died_of);
    else if (died_of == -NOT_LOADED)
        say(process,
            ITSELF " could not be loaded (exit %d): a library of it is missing, or a limit "
                   "of memory is too low",
            -died_of);
    else
        say(process, ITSELF " ended as it started (exit %d)", -died_of);
}

static void say_unstarted(struct weir__archive_process *process, int error)
{
    if (error == -WEIR_E_NOT_FOUND)
        say(process, ITSELF
            " was not found: put it beside 'weir', or name its folder in " WEIR__ARCHIVE_FOLDER);
    else if (error == -WEIR_E_BUSY || error == -WEIR_E_NO_MEMORY)
        say(process,
            ITSELF " cannot be started: there are too many processes, or too little memory");
    else if (error == -WEIR_E_IO)
        say(process, ITSELF " cannot be started: it is damaged, or for another machine");
    else
        say(process, ITSELF " cannot be started: %s", weir_error_text(error));
}

/* What came instead of a greeting, or in it. */
static int refuse(struct weir__archive_process *process, ssize_t length, int refusal)
{
    int died_of = weir__archive_process_stop(process);
    if (length == -WEIR_E_TIMEOUT_READ)
        say(process, ITSELF " said nothing for %u s as it started",
            (unsigned)(HELLO_NS_MAX / WEIR_NS_PER_S));
    else if (length < 0)
        return (int)length;
    else if (refusal == ENOSYS || refusal == EINVAL)
        say(process, ITSELF " cannot confine itself: the kernel needs seccomp filters");
    else if (refusal)
        say(process, ITSELF " cannot confine itself: %s", weir__log_reason(refusal));
    else if (length > 0)
        say(process, ITSELF " is not of the version of 'weir': install both together");
    else
        say_end(process, died_of);
    return refusal ? -WEIR_E_UNSUPPORTED : -WEIR_E_EXHAUSTED;
}

int weir__archive_process_start(struct weir__archive_process *process,
                                const struct weir__archive_options *options, bool has_no_seccomp,
                                bool is_passed_on, const struct weir_deadline *deadline)
{
    int refusal = 0;
    /* The kernel ends a child when the thread that started it ends, not the program. */
    if (process->child.pid > 0 && process->maker != gettid() && !is_passed_on)
        weir__archive_process_stop(process);
    if (process->child.pid > 0)
        return 0;
    process->why[0] = '\0';
    process->died_of = 0;
    int error = start(process, options, has_no_seccomp);
    if (error) {
        say_unstarted(process, error);
        return error;
    }
    ssize_t length = weir__archive_process_hear(process, HELLO_NS_MAX, deadline);
    if (length > 0 && weir__archive_take_hello(process->message, (size_t)length, &refusal) &&
        refusal == 0)
        return 0;
    return refuse(process, length, refusal);
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
    ssize_t sent = WEIR__SYS(ssize_t, sendmsg(process->child.fd, &head, MSG_NOSIGNAL));
    return sent == (ssize_t)sizeof(*command) ? 0 : -WEIR_E_CLOSED;
}

ssize_t weir__archive_process_hear(struct weir__archive_process *process, uint64_t silence_ns,
                                   const struct weir_deadline *deadline)
{
    ssize_t got = weir__child_hear(&process->child, process->message, WEIR__ARCHIVE_MESSAGE_MAX,
                                   silence_ns, deadline);
    bool is_over = got == -WEIR_E_TIMEOUT || got == -WEIR_E_TIMEOUT_READ || got == -WEIR_E_CANCELED;
    return got >= 0 || is_over ? got : 0; /* a connection that is broken is a child that is gone */
}

int weir__archive_process_stop(struct weir__archive_process *process)
{
    int status = weir__child_stop(&process->child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}
