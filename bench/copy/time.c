/* time.c - runs one command and says what it took.
 *
 * The clock runs from just before the fork until the last process that the command left behind is
 * gone: this process is their subreaper, so nobody gains by going on in the background, and what
 * they used is counted whoever waited for them. Processor time is the sum over all of them; memory
 * is that of the largest one, which is what the kernel keeps. Threads of io_uring belong to their
 * process and are counted; the kernel's own write-back is nobody's.
 *
 * The command has a process group of its own, and is killed with all of it when the time is up,
 * or when whoever measures is gone.
 */
#include "tree.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended_by;
static volatile sig_atomic_t command_group;

static void on_signal(int number)
{
    ended_by = number;
    if (command_group > 0)
        kill(-command_group, SIGKILL);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        tree_die("cannot read", "the clock");
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void prepare(unsigned seconds_max)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    int signals[] = {SIGALRM, SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            tree_die("cannot handle", "a signal");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
        tree_die("cannot set up", "the measurement");
    /* Repeated, in case a signal comes before the command has its group. */
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds_max},
                              .it_interval = {.tv_sec = 1}};
    if (setitimer(ITIMER_REAL, &timer, NULL) != 0)
        tree_die("cannot set", "the timer");
}

static _Noreturn void run_command(char **command)
{
    setpgid(0, 0);
    execvp(command[0], command);
    fprintf(stderr, "cannot run '%s': %s\n", command[0], strerror(errno));
    _exit(127);
}

/* The status of the command itself, once all that came from it has ended. */
static int wait_for_all(pid_t command)
{
    int result = -1;
    for (;;) {
        int status = 0;
        pid_t ended = waitpid(-1, &status, 0);
        if (ended == command)
            result = status;
        else if (ended < 0 && errno == ECHILD)
            return result;
        else if (ended < 0 && errno != EINTR)
            tree_die("cannot wait for", "the command");
    }
}

int tree_time(const char *result, unsigned seconds_max, char **command)
{
    FILE *file = fopen(result, "we");
    if (!file)
        tree_die("cannot write", result);
    prepare(seconds_max);
    uint64_t begin_ns = now_ns();
    pid_t child = fork();
    if (child < 0)
        tree_die("cannot fork for", command[0]);
    if (child == 0)
        run_command(command);
    setpgid(child, child); /* whoever of the two comes first */
    command_group = child;
    if (ended_by)
        kill(-child, SIGKILL);
    int status = wait_for_all(child);
    uint64_t wall_ns = now_ns() - begin_ns;
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        tree_die("cannot measure", command[0]);
    fprintf(file,
            "{\"wall_s\": %.6f, \"user_s\": %.6f, \"system_s\": %.6f, \"rss_kib\": %ld, "
            "\"status\": %d, \"signal\": %d, \"timed_out\": %s}\n",
            (double)wall_ns / 1e9, seconds_of(&usage.ru_utime), seconds_of(&usage.ru_stime),
            usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, ended_by == SIGALRM ? "true" : "false");
    if (fclose(file) != 0)
        tree_die("cannot write", result);
    return 0;
}
