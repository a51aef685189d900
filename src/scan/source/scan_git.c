/* scan_git.c - starting git, hearing it, and its end.
 *
 * Its output, and its input if it has one, are one socket: a wait on that can be bounded without
 * further descriptors. What it complains of goes to a file in memory, so that it never waits for us
 * to read that; the file has its size from the beginning, so that it cannot fill the memory.
 */
#include "scan_git.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <weir/error.h>

#include "alloc.h"
#include "child.h"
#include "sys.h"

#include "banned.h"

#define BLOCK            65536u
#define COMPLAINTS_BYTES 65536

struct weir__git {
    struct weir__child child;
    int complaints;
    uint64_t silence_ns;
    size_t used, next;
    char block[BLOCK];
};

/* --- starting --- */

static int open_complaints(void)
{
    int fd = WEIR__SYS(int, memfd_create("git", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd >= 0 &&
        (weir__sys_ftruncate(fd, COMPLAINTS_BYTES) < 0 ||
         WEIR__SYS(int, fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)) < 0))
        weir__sys_close_at(&fd);
    return fd;
}

int weir__git_new(struct weir__git **ret_git, const char *const *words, bool has_input,
                  uint64_t silence_ns)
{
    /* An object is what its id says: a ref of the repository that puts another one in its place
     * (git replace) is for those who look at history, and is not committed. (The option alone is
     * overridden by what a repository says.) */
    static char name[] = "git", as_it_is[] = "--no-replace-objects";
    static char set[] = "-c", unreplaced[] = "core.useReplaceRefs=false";
    char *arguments[WEIR__GIT_WORDS_MAX + 5] = {name, as_it_is, set, unreplaced};
    for (size_t i = 0; words[i]; i++) {
        if (i == WEIR__GIT_WORDS_MAX)
            return -WEIR_E_INVALID;
        arguments[i + 4] = (char *)(uintptr_t)words[i];
    }
    struct weir__git *git = weir__base_alloc(1, sizeof(*git));
    if (!git)
        return -WEIR_E_NO_MEMORY;
    git->child.fd = -1;
    git->silence_ns = silence_ns;
    git->complaints = open_complaints();
    const struct weir__child_plan plan = {
        .program = name,
        .arguments = arguments,
        .fds = {has_input ? WEIR__CHILD_SOCKET : WEIR__CHILD_NULL, WEIR__CHILD_SOCKET,
                git->complaints},
        .fds_count = 3,
    };
    int error =
        git->complaints < 0 ? weir_error_from_errno(errno) : weir__child_start(&git->child, &plan);
    if (error) {
        weir__git_free(git);
        return error;
    }
    *ret_git = git;
    return 0;
}

/* --- its end --- */

void weir__git_free(struct weir__git *git)
{
    if (!git)
        return;
    weir__child_stop(&git->child);
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

int weir__git_end(struct weir__git *git, struct weir_cancel *stop, char why[WEIR__GIT_WHY_MAX])
{
    struct weir_deadline end = weir_deadline_in(WEIR__GIT_END_NS, stop);
    int status = 0;
    if (git->child.pid == 0)
        return 0;
    int error = weir__child_wait(&git->child, &end, &status);
    if (error) {
        weir__child_stop(&git->child);
        snprintf(why, WEIR__GIT_WHY_MAX, "git has said all and does not end");
        return error == -WEIR_E_TIMEOUT ? -WEIR_E_INCOMPLETE : error;
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
    return git->child.fd;
}

int weir__git_send(struct weir__git *git, const char *bytes, size_t count)
{
    /* One who reads has room for a line; nobody waits for one who does not. */
    ssize_t sent =
        WEIR__SYS(ssize_t, send(git->child.fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT));
    return sent == (ssize_t)count ? 0 : -WEIR_E_CLOSED;
}

/* 1, 0 at the end, or an error. */
static int fill(struct weir__git *git, struct weir_cancel *stop)
{
    struct weir_deadline deadline = weir_deadline_until(stop);
    ssize_t n = weir__child_hear(&git->child, git->block, BLOCK, git->silence_ns, &deadline);
    if (n < 0)
        return (int)n;
    git->used = (size_t)n;
    git->next = 0;
    return n > 0;
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
