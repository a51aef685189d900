/* child.h - another program as a child: how it is started, one socket to it, its end.
 *
 *     char name[] = "git", *words[] = {name, NULL};
 *     struct weir__child_plan plan = {.program = "git", .arguments = words, .fds_count = 3,
 *                                     .fds = {WEIR__CHILD_NULL, WEIR__CHILD_SOCKET, complaints}};
 *     weir__child_start(&child, &plan)
 *     weir__child_hear(&child, bytes, size, silence_ns, &deadline) ...    0 when it has closed it
 *     weir__child_wait(&child, &deadline, &status)                        how it ended
 *     weir__child_stop(&child)                                            always
 *
 * A child has a process group of its own, so that an interrupt from the keyboard is for us to
 * handle, no signal blocked or ignored, and of our descriptors those that the plan names (and
 * those that whoever started us left open for all, unless the plan closes them).
 *
 * Waits: a read from the socket looks up ten times a second whether its time has come, and is ended
 * at once by the cancel token, whose hook shuts the socket down. A wait for the end naps in
 * between. One who is stopped is killed with all that it has started, and that is waited for.
 *
 * Ownership: whoever starts a child stops it. Descriptors of the plan stay the caller's.
 */
#ifndef WEIR_BASE_CHILD_H
#define WEIR_BASE_CHILD_H

#include <sys/types.h>

#include <weir/deadline.h>

struct weir__child {
    pid_t pid; /* 0: there is none, or it has ended and was waited for */
    int fd;    /* our end of the socket, or -1 */
    bool _is_packets;
};

/* What a descriptor of the child is: one of ours, or one of these. */
#define WEIR__CHILD_NULL    (-1) /* nothing to read, and what is written is gone */
#define WEIR__CHILD_SOCKET  (-2) /* its end of the socket */
#define WEIR__CHILD_SAME    (-3) /* as it is with us */
#define WEIR__CHILD_FDS_MAX 4

struct weir__child_plan {
    const char *program;      /* looked for on the PATH unless it has a slash in it */
    char *const *arguments;   /* its name first, NULL last */
    char *const *environment; /* or NULL: ours */
    int fds[WEIR__CHILD_FDS_MAX];
    unsigned fds_count;
    bool is_packets;  /* the socket keeps messages apart */
    bool closes_rest; /* also what others left open for all */
};

/* 0, NotFound, or what else it failed with: there is no child then. Invalid: a descriptor of ours
 * would be lost to another one before its turn. */
WEIR_MUST_USE int weir__child_start(struct weir__child *child, const struct weir__child_plan *plan);

/* At least one byte, or one message, which has its true length even if that is beyond size. 0: the
 * child has closed the socket, or is gone. TimeoutRead after a silence of silence_ns; Timeout,
 * Canceled; or what reading failed with. */
WEIR_MUST_USE ssize_t weir__child_hear(const struct weir__child *child, void *bytes, size_t size,
                                       uint64_t silence_ns, const struct weir_deadline *deadline);

/* 0 when it has ended, with the status of waitpid(); Timeout or Canceled while it has not. There
 * must be one. */
WEIR_MUST_USE int weir__child_wait(struct weir__child *child, const struct weir_deadline *deadline,
                                   int *ret_status);

/* Ends it, if need be, and closes the socket. The status of waitpid(), 0 when there was none.
 * Accepts one that is all zero but for an fd of -1. */
int weir__child_stop(struct weir__child *child);

#endif
