/* time.c - runs one command and says what it took.
 *
 * The clock runs from just before the fork until the last process that the command left behind is
 * gone: this process is their subreaper, so nobody gains by going on in the background, and what
 * they used is counted whoever waited for them. Processor time is the sum over all of them; memory
 * is that of the largest one, which is what the kernel keeps. Threads of io_uring belong to their
 * process and are counted; the kernel's own write-back is nobody's. What was read is what disks
 * were asked for, not what the page cache had.
 *
 * --repeat N runs the command N times, one after the other, and gives the sums of the times: one
 * start of a program is too short to be measured. It ends early when one run ends otherwise than
 * the first. --sum-memory also looks every few milliseconds at all processes that are alive, and
 * adds up the most that each of them has had so far: at least as much as they had together at any
 * moment, since pages that they share count for each. The most anonymous memory that they had
 * together is by looks, too. It takes time of its own from the machine.
 *
 * The command has a process group of its own, and is killed with all of it when the time is up,
 * or when whoever measures is gone. It is C because the process that starts a contender must be
 * small: the kernel counts the memory of a process from before its exec() too.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_EVERY_NS 5000000 /* --sum-memory */
#define PROCESSES_MAX 4096u   /* that are looked at; a command with more is not measured */

struct wish {
    uint64_t repeat;
    bool is_memory_summed;
    const char *result;
    uint64_t seconds_max;
    char **command;
};

struct outcome {
    uint64_t wall_ns;
    uint64_t runs;
    uint64_t sum_kib, anon_kib; /* of --sum-memory */
    int status;
};

static volatile sig_atomic_t ended_by;
static volatile sig_atomic_t command_group;

static _Noreturn void die(const char *what, const char *subject)
{
    fprintf(stderr, "bench-time: %s '%s': %s\n", what, subject, strerror(errno));
    exit(1);
}

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
        die("cannot read", "the clock");
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void prepare(uint64_t seconds_max)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    int signals[] = {SIGALRM, SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            die("cannot handle", "a signal");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
        die("cannot set up", "the measurement");
    /* Repeated, in case a signal comes before the command has its group. */
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds_max},
                              .it_interval = {.tv_sec = 1}};
    if (setitimer(ITIMER_REAL, &timer, NULL) != 0)
        die("cannot set", "the timer");
}

static _Noreturn void run_command(char **command)
{
    setpgid(0, 0);
    execvp(command[0], command);
    fprintf(stderr, "cannot run '%s': %s\n", command[0], strerror(errno));
    _exit(127);
}

/* ---- memory of all processes ---- */

struct family {
    long pids[PROCESSES_MAX];
    size_t count;
};

static void add_children(struct family *family, const char *path)
{
    FILE *file = fopen(path, "re");
    long pid;
    if (!file)
        return; /* gone meanwhile */
    while (family->count < PROCESSES_MAX && fscanf(file, "%ld", &pid) == 1)
        family->pids[family->count++] = pid;
    fclose(file);
}

/* Each thread has its own children. */
static void add_children_of(struct family *family, long pid)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/%ld/task", pid);
    DIR *threads = opendir(path);
    struct dirent *entry;
    if (!threads)
        return;
    while ((entry = readdir(threads))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/children", pid, entry->d_name);
        add_children(family, path);
    }
    closedir(threads);
}

/* Adds the most that a living process has had, and what it has of anonymous memory. */
static void add_memory_of(long pid, uint64_t *peak_kib, uint64_t *anon_kib)
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return; /* gone meanwhile */
    while (fgets(line, sizeof(line), file)) {
        uint64_t kib;
        if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
            *peak_kib += kib;
        else if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1)
            *anon_kib += kib;
    }
    fclose(file);
}

static void look_at_memory(struct outcome *outcome)
{
    static struct family family;
    uint64_t peak = 0, anon = 0;
    family.count = 0;
    add_children_of(&family, getpid());
    for (size_t i = 0; i < family.count; i++) {
        add_memory_of(family.pids[i], &peak, &anon);
        add_children_of(&family, family.pids[i]);
    }
    outcome->sum_kib = peak > outcome->sum_kib ? peak : outcome->sum_kib;
    outcome->anon_kib = anon > outcome->anon_kib ? anon : outcome->anon_kib;
}

/* ---- running ---- */

/* The status of the command itself, once all that came from it has ended. */
static int wait_for_all(pid_t command, bool is_memory_summed, struct outcome *outcome)
{
    int result = -1;
    for (;;) {
        int status = 0;
        pid_t ended = waitpid(-1, &status, is_memory_summed ? WNOHANG : 0);
        if (ended == command) {
            result = status;
        } else if (ended == 0) {
            look_at_memory(outcome);
            nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_NS}, NULL);
        } else if (ended < 0 && errno == ECHILD) {
            return result;
        } else if (ended < 0 && errno != EINTR) {
            die("cannot wait for", "the command");
        }
    }
}

static int run_once(const struct wish *wish, struct outcome *outcome)
{
    pid_t child = fork();
    if (child < 0)
        die("cannot fork for", wish->command[0]);
    if (child == 0)
        run_command(wish->command);
    setpgid(child, child); /* whoever of the two comes first */
    command_group = child;
    if (ended_by)
        kill(-child, SIGKILL);
    int status = wait_for_all(child, wish->is_memory_summed, outcome);
    command_group = 0; /* the number may be somebody else's from now on */
    return status;
}

static void measure(const struct wish *wish)
{
    FILE *file = fopen(wish->result, "we");
    if (!file)
        die("cannot write", wish->result);
    prepare(wish->seconds_max);
    struct outcome outcome = {.status = -1};
    uint64_t begin_ns = now_ns();
    for (bool is_same = true; is_same && outcome.runs < wish->repeat && !ended_by;) {
        int status = run_once(wish, &outcome);
        is_same = outcome.runs == 0 || status == outcome.status;
        outcome.status = status;
        outcome.runs += is_same;
    }
    outcome.wall_ns = now_ns() - begin_ns;
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        die("cannot measure", wish->command[0]);
    int status = outcome.status;
    fprintf(file,
            "{\"wall_s\": %.6f, \"user_s\": %.6f, \"system_s\": %.6f, \"rss_kib\": %ld, "
            "\"read_kib\": %ld, \"sum_kib\": %" PRIu64 ", \"anon_kib\": %" PRIu64
            ", \"runs\": %" PRIu64 ", \"status\": %d, \"signal\": %d, \"timed_out\": %s}\n",
            (double)outcome.wall_ns / 1e9, seconds_of(&usage.ru_utime), seconds_of(&usage.ru_stime),
            usage.ru_maxrss, usage.ru_inblock / 2, outcome.sum_kib, outcome.anon_kib, outcome.runs,
            WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, ended_by == SIGALRM ? "true" : "false");
    if (fclose(file) != 0)
        die("cannot write", wish->result);
}

static bool parse_number(const char *text, uint64_t *ret_value)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value == 0)
        return false;
    *ret_value = value;
    return true;
}

int main(int argc, char **argv)
{
    struct wish wish = {.repeat = 1};
    int at = 1;
    bool is_good = true;
    for (; is_good && at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--sum-memory") == 0)
            wish.is_memory_summed = true;
        else if (strcmp(argv[at], "--repeat") == 0 && at + 1 < argc)
            is_good = parse_number(argv[++at], &wish.repeat);
        else
            is_good = false;
    }
    if (!is_good || argc - at < 3 || !parse_number(argv[at + 1], &wish.seconds_max)) {
        fputs("usage: bench-time [--repeat N] [--sum-memory] RESULT SECONDS_MAX COMMAND...\n",
              stderr);
        return 2;
    }
    wish.result = argv[at];
    wish.command = argv + at + 2;
    measure(&wish);
    return 0;
}
