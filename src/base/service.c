/* service.c - signals that are waited for, and a manager that is told. */
#include "service.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <weir/clock.h>

#include "sys.h"

#include "banned.h"

#define FIRST_SOCKET 3

static void fill(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

void weir__service_keep_signals(void)
{
    sigset_t set;
    fill(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

int weir__service_signal(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / WEIR_NS_PER_S), (long)(ns % WEIR_NS_PER_S)};
    sigset_t set;
    fill(&set);
    return weir__sys_wait_signal(&set, &time);
}

/* A number in the environment; 0: there is none. */
static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || text[0] < '0' || text[0] > '9')
        return 0;
    uint64_t number = strtoull(text, &end, 10);
    return *end ? 0 : number;
}

size_t weir__service_sockets(int sockets[WEIR__SERVICE_SOCKETS_MAX])
{
    uint64_t count = number_of("LISTEN_FDS");
    if (count == 0 || count > WEIR__SERVICE_SOCKETS_MAX ||
        number_of("LISTEN_PID") != (uint64_t)getpid())
        return 0;
    for (size_t i = 0; i < count; i++) {
        sockets[i] = FIRST_SOCKET + (int)i;
        fcntl(sockets[i], F_SETFD, FD_CLOEXEC);
    }
    return (size_t)count;
}

void weir__service_notify(const char *text)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = name ? strlen(name) : 0;
    if (length < 2 || length >= sizeof(address.sun_path) || (name[0] != '/' && name[0] != '@'))
        return;
    memcpy(address.sun_path, name, length);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    weir__sys_close(fd);
}

uint64_t weir__service_watchdog_ns(void)
{
    uint64_t us = number_of("WATCHDOG_USEC"), pid = number_of("WATCHDOG_PID");
    if (pid && pid != (uint64_t)getpid())
        return 0;
    return us / 2 * WEIR_NS_PER_US;
}
