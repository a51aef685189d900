/* dial.h - connections to the service of running.h.
 *
 * Ownership: descriptors belong to the test.
 */
#ifndef WEIR_TESTS_DIAL_H
#define WEIR_TESTS_DIAL_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "running.h"

/* With a small buffer, so that the service is not far ahead of who reads. */
static inline int dial(void)
{
    const char *text = weir__daemon_address(&storage->daemon, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(strrchr(text, ':') + 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) == 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

/* Dials, and asks for what is at that place, once. */
static inline int dial_for(const char *place, const char *name)
{
    char request[256];
    int fd = dial();
    int size =
        snprintf(request, sizeof(request),
                 "GET %s%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", place, name);
    CHECK_EQ(write(fd, request, (size_t)size), size);
    return fd;
}

#endif
