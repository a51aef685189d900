/* tap.c - runs the registered tests one after the other and prints TAP. */
#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tap_test *tests;
static struct tap_test **tests_end = &tests;
static jmp_buf failed;
static pthread_t main_thread;

void tap_register(struct tap_test *test)
{
    *tests_end = test;
    tests_end = &test->next;
}

void tap_fail(const char *file, int line, const char *format, ...)
{
    flockfile(stdout);
    printf("# %s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    funlockfile(stdout);
    fflush(stdout);
    if (pthread_equal(pthread_self(), main_thread))
        longjmp(failed, 1);
    /* Another thread cannot unwind the test; its state is lost, so the program ends here. */
    abort();
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc < 2;
}

/* A function of its own, so that no variable of a caller lives across the jump. */
static bool passes(const struct tap_test *test)
{
    if (setjmp(failed) != 0)
        return false;
    test->fn();
    return true;
}

int tap_main(int argc, char **argv)
{
    main_thread = pthread_self();
    setvbuf(stdout, NULL, _IOLBF, 0);
    int number = 0, failures = 0;
    for (struct tap_test *test = tests; test; test = test->next) {
        if (!is_wanted(test->name, argc, argv))
            continue;
        number++;
        /* If the program dies in the middle, this line tells in which test. */
        printf("# running %s\n", test->name);
        fflush(stdout);
        bool passed = passes(test);
        printf("%sok %d - %s\n", passed ? "" : "not ", number, test->name);
        if (!passed) {
            failures++;
            printf("# alone: %s %s\n", argv[0], test->name);
        }
    }
    printf("1..%d\n", number);
    if (number == 0)
        fprintf(stderr, "%s: no test of that name\n", argv[0]);
    return failures > 0 || number == 0;
}

bool tap_dies(void (*fn)(void *arg), void *arg, const char *text)
{
    int pipe_fds[2];
    if (pipe(pipe_fds) != 0)
        return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe_fds[1], STDERR_FILENO);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        fn(arg);
        _exit(0);
    }
    close(pipe_fds[1]);
    char said[4096];
    size_t length = 0;
    ssize_t got;
    while (child > 0 && length < sizeof(said) - 1 &&
           (got = read(pipe_fds[0], said + length, sizeof(said) - 1 - length)) > 0)
        length += (size_t)got;
    said[length] = '\0';
    close(pipe_fds[0]);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    bool died = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, text);
    if (!died)
        printf("# status %d, standard error: %s\n", status, said);
    return died;
}
