/* test_program.c - dispatch, exit status and signals, seen from the outside by forking. */
#include "program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>
#include <weir/fault.h>

#include "tap.h"

struct values {
    bool json;
};

static int say(const struct weir__call *call)
{
    const struct values *values = call->values;
    weir__out_printf(call->out, "%s %d %s\n", call->command->name, values->json,
                     call->operands_count > 0 ? call->operands[0] : "-");
    return 0;
}

static int find(const struct weir__call *call)
{
    (void)call;
    return -WEIR_E_FINDINGS;
}

/* Interrupts itself, puts things in order, and returns. */
static int interrupt(const struct weir__call *call)
{
    weir__program_catch_signals();
    raise(SIGINT);
    if (weir__program_signal() == SIGINT)
        weir__out_puts(call->out, "in order\n");
    return -WEIR_E_INTERRUPTED;
}

static int interrupt_twice(const struct weir__call *call)
{
    interrupt(call);
    raise(SIGINT);
    weir__out_puts(call->out, "still here\n");
    return 0;
}

static int interrupt_and_end(const struct weir__call *call)
{
    interrupt(call);
    raise(SIGTERM);
    weir__out_puts(call->out, "still here\n");
    return 0;
}

static int end_at_once(const struct weir__call *call)
{
    weir__program_end_by_signals("last words\n");
    raise(SIGTERM);
    weir__out_puts(call->out, "still here\n");
    return 0;
}

static int end_later(const struct weir__call *call)
{
    weir__program_end_by_signals("last words\n");
    return interrupt(call);
}

/* What was remembered meanwhile is not forgotten. */
static int end_after_all(const struct weir__call *call)
{
    interrupt(call);
    weir__program_end_by_signals("last words\n");
    weir__out_puts(call->out, "still here\n");
    return 0;
}

/* Whoever catches them twice still dies of the second. */
static int catch_again(const struct weir__call *call)
{
    interrupt(call);
    weir__program_catch_signals();
    raise(SIGINT);
    weir__out_puts(call->out, "still here\n");
    return 0;
}

/* A descriptor that is opened here must not become standard output. */
static int which_descriptor(const struct weir__call *call)
{
    int fd = dup(STDERR_FILENO);
    weir__out_printf(call->out, "%d\n", fd);
    return fd > 2 ? 0 : -WEIR_E_INTERNAL;
}

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "h"}, WEIR__OPTIONS_END};
static const struct weir__operand operands[] = {{.name = "WORD", .help = "h"}, {.name = NULL}};
static const struct weir__example examples[] = {{"a", "a"}, {"b", "b"}, {"c", "c"}, {NULL, NULL}};
static const struct weir__usage usage = {.description = "D.",
                                         .examples = examples,
                                         .options = options,
                                         .operands = operands,
                                         .values_size = sizeof(struct values)};
static const struct weir__usage usage_find = {.description = "D.",
                                              .examples = examples,
                                              .options = options,
                                              .operands = operands,
                                              .values_size = sizeof(struct values),
                                              .has_findings = true};
static const struct weir__command commands[] = {
    {"say", say, "say it", &usage},
    {"find", find, "find it", &usage_find},
    {"find-unsaid", find, "find it, with the wrong table", &usage},
    {"interrupt", interrupt, "interrupt it", &usage},
    {"interrupt-and-end", interrupt_and_end, "interrupt it and end it", &usage},
    {"interrupt-twice", interrupt_twice, "interrupt it twice", &usage},
    {"end-at-once", end_at_once, "end", &usage},
    {"end-later", end_later, "end", &usage},
    {"end-after-all", end_after_all, "end", &usage},
    {"catch-again", catch_again, "catch", &usage},
    {"descriptor", which_descriptor, "which", &usage},
    {.name = NULL},
};
static const struct weir__program program = {"toy", "1.2", "2026-01-01", "a toy", &usage, commands};

static char said[8192];

/* Runs in a child; returns the status of waitpid(). close_fd (or -1) is closed in the child. */
static int run_with(const char *const *arguments, int close_fd, uint64_t failing_alloc)
{
    int argc = 0;
    char *argv[8];
    while (arguments[argc]) {
        argv[argc] = (char *)(uintptr_t)arguments[argc];
        argc++;
    }
    argv[argc] = NULL;
    int fds[2];
    CHECK_EQ(pipe(fds), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], STDOUT_FILENO);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        if (close_fd >= 0)
            close(close_fd);
#ifdef WEIR_FAULTS
        weir_fault_arm(WEIR_FAULT_ALLOC, failing_alloc);
#else
        (void)failing_alloc;
#endif
        _exit(weir__program_main(&program, argc, argv));
    }
    close(fds[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(fds[0], said + length, sizeof(said) - 1 - length)) > 0)
        length += (size_t)got;
    said[length] = '\0';
    close(fds[0]);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

#define RUN(...) run_with((const char *const[]){"toy", __VA_ARGS__, NULL}, -1, 0)
#define CHECK_EXIT(wanted, ...)                                                                    \
    do {                                                                                           \
        int status_ = RUN(__VA_ARGS__);                                                            \
        CHECK(WIFEXITED(status_));                                                                 \
        CHECK_EQ(WEXITSTATUS(status_), wanted);                                                    \
    } while (0)

TEST(runs_the_command_with_its_values)
{
    CHECK_EXIT(0, "say", "--json", "word");
    CHECK_STR(said, "say 1 word\n");
    CHECK_EXIT(1, "find");
    CHECK_STR(said, "");
}

TEST(lists_commands_when_alone)
{
    int status = run_with((const char *const[]){"toy", NULL}, -1, 0);
    CHECK_EQ(status, 0);
    CHECK_HAS(said, "say");
    CHECK_HAS(said, "find it");
    /* A program may be started without even its name. */
    CHECK_EQ(run_with((const char *const[]){NULL}, -1, 0), 0);
}

TEST(wrong_command_lines_are_two)
{
    CHECK_EXIT(2, "sya");
    CHECK_STR(said, "toy: unknown command 'sya': did you mean 'say'?\n");
    CHECK_EXIT(2, "qqqqq");
    CHECK_STR(said, "toy: unknown command 'qqqqq': 'toy help' lists those there are\n");
    CHECK_EXIT(2, "");
    CHECK_EXIT(2, "--verion");
    CHECK_STR(said, "toy: unknown option '--verion': did you mean '--version'?\n");
    CHECK_EXIT(2, "-j", "say");
    CHECK_EXIT(2, "-");
    CHECK_EXIT(2, "say", "--jsn");
    CHECK_STR(said, "toy say: unknown option '--jsn': did you mean '--json'?\n");
}

TEST(two_dashes_end_the_options_of_the_program)
{
    CHECK_EXIT(0, "--", "say", "--json", "word");
    CHECK_STR(said, "say 1 word\n");
    CHECK_EXIT(0, "--", "say", "--", "--json");
    CHECK_STR(said, "say 0 --json\n");
    CHECK_EXIT(0, "--");
    CHECK_HAS(said, "Commands:");
    CHECK_EXIT(2, "--", "-h");
    CHECK_STR(said, "toy: unknown command '-h': 'toy help' lists those there are\n");
    CHECK_EXIT(2, "--", "--", "say");
}

TEST(cut_arguments_are_marked)
{
    static char word[1000], wanted[200];
    memset(word, 'q', sizeof(word) - 1);
    CHECK_EXIT(2, word);
    snprintf(wanted, sizeof(wanted), "toy: unknown command '%.80s...': 'toy help'", word);
    CHECK_HAS(said, wanted);
    word[0] = '-';
    CHECK_EXIT(2, word); /* what follows a letter may be its value */
    CHECK_HAS(said, "toy: unknown option '-q': options follow");
    word[1] = '-';
    CHECK_EXIT(2, word);
    snprintf(wanted, sizeof(wanted), "toy: unknown option '%.80s...': options follow", word);
    CHECK_HAS(said, wanted);
}

TEST(only_those_with_findings_list_their_status)
{
    CHECK_EXIT(0, "find", "--help");
    CHECK_HAS(said, "  1    there were findings");
    CHECK_EXIT(0, "say", "--help");
    CHECK(!strstr(said, "findings"));
    CHECK_HAS(said, "  2    the command line was wrong");
}

TEST(findings_that_the_table_does_not_know_are_a_programming_error)
{
    int status = RUN("find-unsaid");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_HAS(said, "command 'find-unsaid': it has findings, and its table does not say so");
}

TEST(help_comes_before_the_command)
{
    CHECK_EXIT(0, "find", "-h");
    CHECK_HAS(said, "Usage: toy find [OPTION]... [WORD]...");
    CHECK_EXIT(0, "find", "--help");
    CHECK(strncmp(said, "Examples:\n", 10) == 0);
}

TEST(an_interrupted_program_dies_of_the_signal)
{
    int status = RUN("interrupt");
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGINT);
    CHECK_STR(said, "in order\n");
}

TEST(a_second_interrupt_is_at_once)
{
    int status = RUN("interrupt-twice");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    CHECK_STR(said, "");
    status = RUN("interrupt-and-end");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK_STR(said, "");
}

TEST(last_words_are_said_and_the_program_ends)
{
    int status = RUN("end-at-once");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK_STR(said, "last words\n");
    status = RUN("end-after-all");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    CHECK_STR(said, "last words\n");
}

TEST(signals_can_be_caught_later_and_once)
{
    int status = RUN("end-later");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    CHECK_STR(said, "in order\n");
    status = RUN("catch-again");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    CHECK_STR(said, "");
}

TEST(an_ignored_interrupt_stays_ignored)
{
    void (*old)(int) = signal(SIGINT, SIG_IGN);
    int status = RUN("interrupt");
    signal(SIGINT, old);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 130);
    CHECK_STR(said, "");
    old = signal(SIGTERM, SIG_IGN);
    CHECK_EXIT(0, "end-at-once");
    signal(SIGTERM, old);
    CHECK_STR(said, "still here\n");
}

TEST(closed_standard_descriptors_are_filled)
{
    int status = run_with((const char *const[]){"toy", "descriptor", NULL}, STDIN_FILENO, 0);
    CHECK_EQ(status, 0);
    CHECK_STR(said, "3\n");
    status = run_with((const char *const[]){"toy", "descriptor", NULL}, STDOUT_FILENO, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK_HAS(said, "toy descriptor: cannot write to standard output: bad file descriptor\n");
}

#ifdef WEIR_FAULTS
TEST(no_memory_is_three_and_said)
{
    int status = run_with((const char *const[]){"toy", "say", NULL}, -1, 1);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK_STR(said, "toy say: out of memory\n");
}
#endif

TAP_MAIN()
