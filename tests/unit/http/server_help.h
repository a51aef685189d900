/* server_help.h - a web server for tests in C: server.py in a process of its own.
 *
 * Ownership: the server ends with the program, whose end closes the pipe that it reads.
 */
#ifndef WEIR_TESTS_SERVER_HELP_H
#define WEIR_TESTS_SERVER_HELP_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

/* The port of a server that has just been started. SERVER is the path of server.py. */
static inline unsigned start_server(void)
{
    int in[2], out[2];
    char line[16] = "";
    size_t length = 0;
    CHECK(pipe(in) == 0 && pipe(out) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 256; fd++)
            close(fd);
        execlp("python3", "python3", "-B", SERVER, (char *)NULL);
        _exit(127);
    }
    close(in[0]); /* in[1] stays open until the program ends */
    close(out[1]);
    signal(SIGPIPE, SIG_IGN);
    while (length < sizeof(line) - 1 && read(out[0], line + length, 1) == 1 && line[length] != '\n')
        length++;
    close(out[0]);
    unsigned port = (unsigned)strtoul(line, NULL, 10);
    CHECK(port > 0);
    return port;
}

#endif
