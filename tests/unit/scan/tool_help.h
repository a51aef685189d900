/* tool_help.h - runs the tools of others, which the tests of archives and of git compare with.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_TESTS_SCAN_TOOL_HELP_H
#define WEIR_TESTS_SCAN_TOOL_HELP_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a script in the current folder; false when it fails. What it says is seen with WEIR_VERBOSE.
 */
static inline bool help_run(const char *script)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        if (!getenv("WEIR_VERBOSE"))
            dup2(null, STDERR_FILENO);
        execl("/bin/bash", "bash", "-euc", script, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

#endif
