/* test_child.c - children that speak, are silent, die, and leave others behind. The stand-ins are
 * scripts of the shell. */
#include "child.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>

#define LONG_NS  (60 * WEIR_NS_PER_S)
#define SHORT_NS (50 * WEIR_NS_PER_MS)

static struct weir_deadline soon(void)
{
    return weir_deadline_in(LONG_NS, NULL);
}

/* The shell with a script; what the plan has of descriptors counts. */
static int start(struct weir__child *child, struct weir__child_plan *plan, const char *script)
{
    char name[] = "sh", option[] = "-c", text[256];
    snprintf(text, sizeof(text), "%s", script);
    char *words[] = {name, option, text, NULL};
    plan->program = "sh";
    plan->arguments = words;
    return weir__child_start(child, plan);
}

static struct weir__child_plan plan_of(int input, int output, int complaints)
{
    return (struct weir__child_plan){.fds = {input, output, complaints}, .fds_count = 3};
}

static void speaks(struct weir__child *child, const char *script)
{
    struct weir__child_plan plan = plan_of(WEIR__CHILD_NULL, WEIR__CHILD_SOCKET, WEIR__CHILD_NULL);
    CHECK_EQ(start(child, &plan, script), 0);
}

static void hears(const struct weir__child *child, const char *wanted)
{
    struct weir_deadline deadline = soon();
    char text[128] = "";
    size_t at = 0;
    ssize_t n;
    while (at < strlen(wanted) &&
           (n = weir__child_hear(child, text + at, sizeof(text) - 1 - at, LONG_NS, &deadline)) > 0)
        at += (size_t)n;
    CHECK_STR(text, wanted);
}

static int status_of(struct weir__child *child)
{
    struct weir_deadline deadline = soon();
    int status = -1;
    CHECK_EQ(weir__child_wait(child, &deadline, &status), 0);
    CHECK_EQ(child->pid, 0);
    return status;
}

TEST(what_it_says_and_how_it_ends)
{
    struct weir__child child;
    struct weir_deadline deadline = soon();
    char byte;
    speaks(&child, "echo one; echo two; exit 7");
    hears(&child, "one\ntwo\n");
    CHECK_EQ(weir__child_hear(&child, &byte, 1, LONG_NS, &deadline), 0);
    int status = status_of(&child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK_EQ(weir__child_stop(&child), 0);
    CHECK_EQ(child.fd, -1);
    CHECK_EQ(weir__child_stop(&child), 0);
}

TEST(it_hears_what_is_sent)
{
    struct weir__child child;
    struct weir__child_plan plan =
        plan_of(WEIR__CHILD_SOCKET, WEIR__CHILD_SOCKET, WEIR__CHILD_NULL);
    CHECK_EQ(start(&child, &plan, "read line; echo \"[$line]\""), 0);
    CHECK_EQ(send(child.fd, "hello\n", 6, MSG_NOSIGNAL), 6);
    hears(&child, "[hello]\n");
    weir__child_stop(&child);
}

TEST(messages_stay_apart)
{
    struct weir__child child;
    struct weir__child_plan plan = plan_of(WEIR__CHILD_NULL, WEIR__CHILD_SOCKET, WEIR__CHILD_NULL);
    struct weir_deadline deadline = soon();
    char text[3];
    plan.is_packets = true;
    CHECK_EQ(start(&child, &plan, "printf aaaaa; printf bb"), 0);
    CHECK_EQ(weir__child_hear(&child, text, sizeof(text), LONG_NS, &deadline), 5);
    CHECK_EQ(weir__child_hear(&child, text, sizeof(text), LONG_NS, &deadline), 2);
    CHECK_EQ(weir__child_hear(&child, text, sizeof(text), LONG_NS, &deadline), 0);
    weir__child_stop(&child);
}

TEST(silence_and_deadlines)
{
    struct weir__child child;
    struct weir_deadline deadline = soon(), sooner = weir_deadline_in(SHORT_NS, NULL);
    char byte;
    int status = -5;
    speaks(&child, "exec sleep 600");
    CHECK_EQ(weir__child_hear(&child, &byte, 1, SHORT_NS, &deadline), -WEIR_E_TIMEOUT_READ);
    CHECK_EQ(weir__child_hear(&child, &byte, 1, LONG_NS, &sooner), -WEIR_E_TIMEOUT);
    CHECK_EQ(weir__child_wait(&child, &sooner, &status), -WEIR_E_TIMEOUT);
    CHECK_EQ(status, -5);
    pid_t pid = child.pid;
    CHECK(pid > 0);
    status = weir__child_stop(&child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(kill(pid, 0) < 0 && errno == ESRCH);
}

static void *fire(void *arg)
{
    weir_cancel_fire(arg);
    return NULL;
}

TEST(a_token_ends_a_wait)
{
    struct weir__child child;
    struct weir_cancel token;
    pthread_t thread;
    char byte;
    int status;
    weir_cancel_init(&token, NULL);
    struct weir_deadline deadline = weir_deadline_until(&token);
    speaks(&child, "exec sleep 600");
    CHECK_EQ(pthread_create(&thread, NULL, fire, &token), 0);
    CHECK_EQ(weir__child_hear(&child, &byte, 1, LONG_NS, &deadline), -WEIR_E_CANCELED);
    CHECK_EQ(weir__child_hear(&child, &byte, 1, LONG_NS, &deadline), -WEIR_E_CANCELED);
    CHECK_EQ(weir__child_wait(&child, &deadline, &status), -WEIR_E_CANCELED);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    weir__child_stop(&child);
    weir_cancel_fini(&token);
}

/* With the one that is stopped goes what it has started. */
TEST(nobody_stays_behind)
{
    struct weir__child child;
    struct weir_deadline deadline = soon();
    char text[32] = "";
    int status = 0;
    CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L), 0);
    speaks(&child, "sleep 600 & echo $!; wait");
    CHECK(weir__child_hear(&child, text, sizeof(text) - 1, LONG_NS, &deadline) > 0);
    pid_t other = (pid_t)atoi(text);
    CHECK(other > 1);
    weir__child_stop(&child);
    CHECK_EQ(waitpid(other, &status, 0), other);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* As one meets it who was started by a supervisor that does not want to know of its children. */
TEST(how_it_ends_is_known_whatever_was_ignored)
{
    struct weir__child child;
    signal(SIGCHLD, SIG_IGN);
    speaks(&child, "exit 7");
    int status = status_of(&child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    weir__child_stop(&child);
    signal(SIGCHLD, SIG_DFL);
}

TEST(one_that_was_waited_for_did_not_end_well)
{
    struct weir__child child;
    int status;
    speaks(&child, "exit 0");
    CHECK_EQ(waitpid(child.pid, &status, 0), child.pid);
    status = status_of(&child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 255);
    weir__child_stop(&child);
}

TEST(it_gets_none_of_our_signals)
{
    struct weir__child child;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    CHECK_EQ(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
    signal(SIGUSR1, SIG_IGN);
    speaks(&child, "kill -TERM $$; exit 3");
    int status = status_of(&child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    weir__child_stop(&child);
    speaks(&child, "kill -USR1 $$; exit 3");
    status = status_of(&child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    weir__child_stop(&child);
    signal(SIGUSR1, SIG_DFL);
    CHECK_EQ(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

TEST(its_descriptors)
{
    struct weir__child child;
    int file = memfd_create("complaints", MFD_CLOEXEC), left_open = fcntl(0, F_DUPFD, 20);
    CHECK(file > 2 && left_open >= 20);
    struct weir__child_plan plan = plan_of(WEIR__CHILD_NULL, WEIR__CHILD_SOCKET, file);
    char text[16] = "", script[128];
    snprintf(script, sizeof(script), "echo bad >&2; cat; [ -e /proc/self/fd/%d ]", left_open);
    CHECK_EQ(start(&child, &plan, script), 0);
    CHECK_EQ(status_of(&child), 0);
    weir__child_stop(&child);
    CHECK_EQ(pread(file, text, sizeof(text), 0), 4);
    CHECK_STR(text, "bad\n");
    plan.closes_rest = true;
    CHECK_EQ(start(&child, &plan, script), 0);
    CHECK_EQ(WEXITSTATUS(status_of(&child)), 1);
    weir__child_stop(&child);
    /* Standard error as it is here, and then what would be another one by its turn. */
    plan = plan_of(WEIR__CHILD_NULL, WEIR__CHILD_SAME, 1);
    CHECK_EQ(start(&child, &plan, "exit 0"), 0);
    CHECK_EQ(status_of(&child), 0);
    weir__child_stop(&child);
    plan = plan_of(WEIR__CHILD_NULL, 0, WEIR__CHILD_NULL);
    CHECK_EQ(start(&child, &plan, "exit 0"), -WEIR_E_INVALID);
    CHECK(child.pid == 0 && child.fd == -1);
    plan.fds_count = WEIR__CHILD_FDS_MAX + 1;
    CHECK_EQ(start(&child, &plan, "exit 0"), -WEIR_E_INVALID);
    close(file);
    close(left_open);
}

TEST(its_environment)
{
    struct weir__child child;
    struct weir__child_plan plan = plan_of(WEIR__CHILD_NULL, WEIR__CHILD_SOCKET, WEIR__CHILD_NULL);
    CHECK_EQ(setenv("WEIR_TEST_WORD", "ours", 1), 0);
    CHECK_EQ(start(&child, &plan, "echo $WEIR_TEST_WORD"), 0);
    hears(&child, "ours\n");
    weir__child_stop(&child);
    char word[] = "WEIR_TEST_WORD=its", *environment[] = {word, NULL};
    plan.environment = environment;
    CHECK_EQ(start(&child, &plan, "echo $WEIR_TEST_WORD"), 0);
    hears(&child, "its\n");
    weir__child_stop(&child);
}

TEST(what_cannot_be_started)
{
    struct weir__child child;
    char name[] = "x", *words[] = {name, NULL};
    struct weir__child_plan plan = plan_of(WEIR__CHILD_NULL, WEIR__CHILD_SOCKET, WEIR__CHILD_NULL);
    plan.arguments = words;
    plan.program = "weir-no-such-program";
    CHECK_EQ(weir__child_start(&child, &plan), -WEIR_E_NOT_FOUND);
    CHECK(child.pid == 0 && child.fd == -1);
    plan.program = "/dev/null";
    CHECK_EQ(weir__child_start(&child, &plan), -WEIR_E_DENIED);
    CHECK(child.pid == 0 && child.fd == -1);
}

TAP_MAIN()
