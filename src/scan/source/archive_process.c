/* archive_process.c - starting, hearing and ending the decoder's process. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "archive_confine.h"
#include "archive_find.h"
#include "archive_process.h"
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

int weir__archive_process_start(struct weir__archive_process *process,
                                const struct weir__archive_options *options, bool has_no_seccomp,
                                const struct weir_deadline *deadline)
{
    int refusal = 0;
    /* The kernel ends a child when the thread that started it ends, not the program. */
    if (process->child.pid > 0 && process->maker != gettid())
        weir__archive_process_stop(process);
    if (process->child.pid > 0)
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
