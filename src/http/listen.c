/* listen.c - where the server listens: TCP, Unix sockets, and sockets that were handed to it. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "log.h"
#include "server_part.h"
#include "sys.h"

#include "banned.h"

#define BACKLOG   4096
#define MODE_UNIX 0600u

static int fail(const char **ret_why, int error, const char *why)
{
    *ret_why = why;
    return error;
}

/* What errno says. */
static int fail_errno(const char **ret_why)
{
    int error = errno;
    *ret_why = error == EADDRINUSE ? "somebody listens there already" : weir__log_reason(error);
    return error == EADDRINUSE ? -WEIR_E_EXISTS : weir_error_from_errno(error);
}

static int add(struct weir__server *server, const struct weir__listener *listener,
               const char **ret_why)
{
    if (server->started > 0 || server->listeners_count == WEIR__SERVER_LISTENERS_MAX)
        return fail(ret_why, -WEIR_E_OVERFLOW, "there are too many listeners");
    unsigned number = server->listeners_count++;
    server->listeners[number] = *listener;
    server->listeners[number].source = WEIR__SOURCE_LISTENER;
    server->listeners[number].number = number;
    return (int)number;
}

/* --- TCP --- */

/* Splits "HOST:PORT"; of "[::1]:80" the brackets go. */
static bool split(const char *address, char host[64], char port[8])
{
    const char *colon = strrchr(address, ':');
    bool has_brackets = address[0] == '[';
    if (!colon || colon == address || strlen(colon + 1) == 0 || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strtoul(colon + 1, NULL, 10) > 65535)
        return false;
    const char *from = address + has_brackets, *until = colon;
    if (has_brackets && *--until != ']')
        return false;
    size_t length = (size_t)(until - from);
    if (length == 0 || length >= 64 || (!has_brackets && memchr(from, ':', length)))
        return false;
    memcpy(host, from, length);
    host[length] = '\0';
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return true;
}

static int open_tcp(struct weir__listener *listener, const char *address, int backlog,
                    const char **ret_why)
{
    static const char usage[] = "give an address of this machine and a port, 127.0.0.1:8470 or "
                                "[::1]:8470, or unix:PATH";
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    const int yes = 1;
    char host[64], port[8];
    struct addrinfo *at = NULL;
    if (!split(address, host, port))
        return fail(ret_why, -WEIR_E_INVALID, usage);
    bool is_local = strcmp(host, "localhost") == 0;
    if (getaddrinfo(is_local ? "127.0.0.1" : host, port, &hints, &at) != 0)
        return fail(ret_why, -WEIR_E_INVALID, usage);
    int fd = WEIR__SYS(int, socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int result = 0;
    if (fd < 0 || WEIR__SYS(int, setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes))) < 0 ||
        (at->ai_family == AF_INET6 &&
         WEIR__SYS(int, setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes))) < 0) ||
        WEIR__SYS(int, bind(fd, at->ai_addr, at->ai_addrlen)) < 0 ||
        WEIR__SYS(int, listen(fd, backlog)) < 0) {
        result = fail_errno(ret_why);
        weir__sys_close_at(&fd);
    }
    freeaddrinfo(at);
    listener->fd = fd;
    return result;
}

/* What the system made of it, which has the port. */
static void find_name(struct weir__listener *listener)
{
    struct sockaddr_storage at = {0};
    socklen_t size = sizeof(at);
    if (getsockname(listener->fd, (struct sockaddr *)&at, &size) < 0)
        return;
    listener->is_unix = at.ss_family == AF_UNIX;
    if (!listener->is_unix)
        weir__address_text(&at, listener->address);
    else {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&at;
        snprintf(listener->address, sizeof(listener->address), "unix:%.100s", un->sun_path);
    }
}

/* --- Unix sockets --- */

/* Whether somebody answers there. A socket file outlives a server that died. */
static bool is_alive(const struct sockaddr_un *at)
{
    int fd = WEIR__SYS(int, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    /* EAGAIN: his queue is full. When we cannot ask, he is taken for alive. */
    bool is_it = fd < 0 ||
                 WEIR__SYS(int, connect(fd, (const struct sockaddr *)at, sizeof(*at))) == 0 ||
                 errno != ECONNREFUSED;
    weir__sys_close(fd);
    return is_it;
}

static int bind_unix(int fd, const struct sockaddr_un *at, const char **ret_why)
{
    const struct sockaddr *address = (const struct sockaddr *)at;
    struct stat st;
    if (WEIR__SYS(int, bind(fd, address, sizeof(*at))) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return fail_errno(ret_why);
    if (weir__sys_fstatat(AT_FDCWD, at->sun_path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISSOCK(st.st_mode))
        return fail(ret_why, -WEIR_E_EXISTS, "there is a file that is not a socket");
    if (is_alive(at))
        return fail(ret_why, -WEIR_E_EXISTS, "somebody listens there already");
    if (weir__sys_unlinkat(AT_FDCWD, at->sun_path, 0) < 0 ||
        WEIR__SYS(int, bind(fd, address, sizeof(*at))) < 0)
        return fail_errno(ret_why);
    return 0;
}

static int open_unix(struct weir__listener *listener, const char *path, uint32_t mode, int backlog,
                     const char **ret_why)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof(at.sun_path) || length + 6 > sizeof(listener->address))
        return fail(ret_why, -WEIR_E_INVALID, "the path of a Unix socket has 1 to 107 bytes");
    memcpy(at.sun_path, path, length + 1);
    int fd = WEIR__SYS(int, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return fail_errno(ret_why);
    int result = bind_unix(fd, &at, ret_why);
    bool is_bound = result == 0;
    /* Nobody can connect before listen(), so the mode is right from the first moment. */
    if (is_bound && (WEIR__SYS(int, chmod(path, mode ? mode : MODE_UNIX)) < 0 ||
                     WEIR__SYS(int, listen(fd, backlog)) < 0))
        result = fail_errno(ret_why);
    if (result < 0) {
        if (is_bound)
            unlink(path);
        weir__sys_close(fd);
        return result;
    }
    listener->fd = fd;
    listener->is_ours = true;
    return 0;
}

int weir__server_listen(struct weir__server *server, const struct weir__listen *listen,
                        const char **ret_why)
{
    static const char prefix[] = "unix:";
    struct weir__listener listener = {.fd = -1, .is_tls = listen->is_tls};
    int backlog = listen->backlog ? (int)listen->backlog : BACKLOG;
    bool is_unix = strncmp(listen->address, prefix, sizeof(prefix) - 1) == 0;
    int result = is_unix ? open_unix(&listener, listen->address + sizeof(prefix) - 1, listen->mode,
                                     backlog, ret_why)
                         : open_tcp(&listener, listen->address, backlog, ret_why);
    if (result < 0)
        return result;
    find_name(&listener);
    result = add(server, &listener, ret_why);
    if (result < 0) {
        if (listener.is_ours)
            unlink(listener.address + sizeof(prefix) - 1);
        weir__sys_close(listener.fd);
    }
    return result;
}

int weir__server_adopt(struct weir__server *server, int fd, bool is_tls, const char **ret_why)
{
    struct weir__listener listener = {.fd = fd, .is_tls = is_tls, .is_adopted = true};
    int listens = 0, flags;
    socklen_t size = sizeof(listens);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens)
        return fail(ret_why, -WEIR_E_INVALID, "that descriptor is not a socket that listens");
    flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return fail_errno(ret_why);
    find_name(&listener);
    return add(server, &listener, ret_why);
}

const char *weir__server_address(const struct weir__server *server, unsigned listener)
{
    return listener < server->listeners_count ? server->listeners[listener].address : "";
}

void weir__listeners_refuse(struct weir__server *server)
{
    for (unsigned i = 0; i < server->listeners_count; i++)
        if (!server->listeners[i].is_adopted)
            (void)shutdown(server->listeners[i].fd, SHUT_RDWR);
}

void weir__listeners_close(struct weir__server *server)
{
    for (unsigned i = 0; i < server->listeners_count; i++) {
        struct weir__listener *listener = &server->listeners[i];
        if (listener->is_ours)
            unlink(listener->address + sizeof("unix:") - 1);
        weir__sys_close(listener->fd);
    }
    server->listeners_count = 0;
}
