/* probe.c - runs a command, may send it signals, and tells how it ended and what it used.
 *
 *     probe [--signal NAME@MS]... [--when PATH] [--limit-s N] -o FILE COMMAND...
 *
 * FILE gets one line: "exit 3 rss 5120 ms 17" or "signal 2 rss ...", with the peak of resident
 * memory in KiB. A shell cannot tell exit status 130 from death by SIGINT, and starts background
 * commands with SIGINT ignored; here the command has default signals. --signal sends NAME (INT,
 * TERM, KILL, STOP, CONT) so many milliseconds after the start, or after PATH exists. After
 * --limit-s seconds (600) the command is killed and the line begins with "hang".
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "banned.h"

#define SIGNALS_MAX 8

static struct {
    int number;
    long at_ms;
} signals[SIGNALS_MAX];
static size_t signals_count;
static const char *when;
static const char *out_path;
static long limit_ms = 600000;

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long parse_number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0)
        errx(2, "'%s' is not a number", text);
    return value;
}

static void parse_signal(const char *text)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"INT", SIGINT},   {"TERM", SIGTERM}, {"KILL", SIGKILL},
                 {"STOP", SIGSTOP}, {"CONT", SIGCONT}, {"HUP", SIGHUP}};
    const char *at = strchr(text, '@');
    if (!at || signals_count == SIGNALS_MAX)
        errx(2, "'%s' is not a signal and a time", text);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].name) == (size_t)(at - text) &&
            strncmp(names[i].name, text, (size_t)(at - text)) == 0) {
            signals[signals_count].number = names[i].number;
            signals[signals_count++].at_ms = parse_number(at + 1);
            return;
        }
    }
    errx(2, "there is no signal '%s'", text);
}

static char **parse(char **argv)
{
    char **at = argv + 1;
    for (; *at && at[0][0] == '-'; at += 2) {
        if (!at[1])
            errx(2, "'%s' needs a value", *at);
        if (strcmp(*at, "--signal") == 0)
            parse_signal(at[1]);
        else if (strcmp(*at, "--when") == 0)
            when = at[1];
        else if (strcmp(*at, "--limit-s") == 0)
            limit_ms = parse_number(at[1]) * 1000;
        else if (strcmp(*at, "-o") == 0)
            out_path = at[1];
        else
            errx(2, "unknown option '%s'", *at);
    }
    if (!*at || !out_path)
        errx(2, "usage: probe [--signal NAME@MS] [--when PATH] [--limit-s N] -o FILE COMMAND...");
    return at;
}

static pid_t start(char **command)
{
    pid_t child = fork();
    if (child < 0)
        err(2, "cannot fork");
    if (child == 0) {
        static const int defaults[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
        for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
            signal(defaults[i], SIG_DFL);
        execvp(command[0], command);
        err(127, "cannot run '%s'", command[0]);
    }
    return child;
}

/* Sends what is due. base is when the clock of the signals began, -1 before that. */
static void send_due(pid_t child, long *base, size_t *next)
{
    if (*base < 0 && (!when || access(when, F_OK) == 0))
        *base = now_ms();
    while (*base >= 0 && *next < signals_count && now_ms() - *base >= signals[*next].at_ms)
        kill(child, signals[(*next)++].number);
}

int main(int argc, char **argv)
{
    (void)argc;
    char **command = parse(argv);
    long begin = now_ms(), base = -1;
    pid_t child = start(command);
    struct rusage usage;
    size_t next = 0;
    bool is_hang = false;
    int status;
    for (pid_t got; (got = wait4(child, &status, WNOHANG, &usage)) == 0;) {
        send_due(child, &base, &next);
        if (!is_hang && now_ms() - begin > limit_ms) {
            is_hang = true;
            kill(child, SIGKILL);
        }
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    FILE *out = fopen(out_path, "we");
    if (!out)
        err(2, "cannot write '%s'", out_path);
    if (is_hang)
        fputs("hang ", out);
    if (WIFSIGNALED(status))
        fprintf(out, "signal %d", WTERMSIG(status));
    else
        fprintf(out, "exit %d", WEXITSTATUS(status));
    fprintf(out, " rss %ld ms %ld\n", usage.ru_maxrss, now_ms() - begin);
    return fclose(out) == 0 ? 0 : 2;
}
