/* serve.c - the thread that answers. It waits in accept(), recv() and send(), each for LOOK_UP at
 * most, and is woken from the first two when it is to stop, by a hook that shuts the socket down.
 */
#include "serve.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <weir/crew.h>

#include "alloc.h"
#include "log.h"
#include "sys.h"

#include "banned.h"

#define LOOK_UP_US 100000
#define HEAD_SIZE  256u

struct weir__serve {
    int fd;
    struct weir_crew *crew; /* NULL: nobody answers yet */
    const struct weir__serve_page *page;
    char name[WEIR__SERVE_NAME_SIZE];
};

/* --- the address --- */

/* Splits "HOST:PORT"; of "[::1]:80" the brackets go. */
static bool split(const char *address, char host[64], char port[8])
{
    const char *colon = strrchr(address, ':');
    bool has_brackets = address[0] == '[';
    if (!colon || colon == address || strlen(colon + 1) == 0 || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
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

static struct addrinfo *find_address(const char *address)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    char host[64], port[8];
    struct addrinfo *found = NULL;
    if (!split(address, host, port) || strtoul(port, NULL, 10) > 65535)
        return NULL;
    bool is_local = strcmp(host, "localhost") == 0;
    return getaddrinfo(is_local ? "127.0.0.1" : host, port, &hints, &found) == 0 ? found : NULL;
}

/* What the system made of it, which has the port. */
static void find_name(struct weir__serve *serve)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof(at);
    char host[64] = "?", port[8] = "?";
    if (getsockname(serve->fd, (struct sockaddr *)&at, &size) == 0)
        (void)getnameinfo((struct sockaddr *)&at, size, host, sizeof(host), port, sizeof(port),
                          NI_NUMERICHOST | NI_NUMERICSERV);
    bool is_long = strchr(host, ':') != NULL;
    snprintf(serve->name, sizeof(serve->name), "%s%s%s:%s", is_long ? "[" : "", host,
             is_long ? "]" : "", port);
}

static int set_times(int fd)
{
    const struct timeval look_up = {.tv_usec = LOOK_UP_US};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &look_up, sizeof(look_up)) == 0 &&
                   setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &look_up, sizeof(look_up)) == 0
               ? 0
               : -1;
}

static int listen_at(const struct addrinfo *at)
{
    const int yes = 1;
    int fd = WEIR__SYS(int, socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd >= 0 &&
        (set_times(fd) < 0 ||
         WEIR__SYS(int, setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes))) < 0 ||
         WEIR__SYS(int, bind(fd, at->ai_addr, at->ai_addrlen)) < 0 ||
         WEIR__SYS(int, listen(fd, WEIR__SERVE_WAITING)) < 0))
        weir__sys_close_at(&fd);
    return fd;
}

int weir__serve_open(struct weir__serve **ret_serve, const char *address, const char **ret_why)
{
    struct addrinfo *at = find_address(address);
    if (!at) {
        *ret_why = "give an address of this machine and a port: 127.0.0.1:9400, [::1]:9400";
        return -WEIR_E_INVALID;
    }
    struct weir__serve *serve = weir__base_alloc(1, sizeof(*serve));
    if (serve)
        serve->fd = listen_at(at);
    int error = errno;
    freeaddrinfo(at);
    if (!serve || serve->fd < 0) {
        *ret_why = !serve                ? weir_error_text(WEIR_E_NO_MEMORY)
                   : error == EADDRINUSE ? "somebody listens there already: choose another port"
                                         : weir__log_reason(error);
        weir__base_free(serve);
        return !serve ? -WEIR_E_NO_MEMORY : error == EADDRINUSE ? -WEIR_E_EXISTS : -WEIR_E_IO;
    }
    find_name(serve);
    *ret_serve = serve;
    return 0;
}

const char *weir__serve_name(const struct weir__serve *serve)
{
    return serve->name;
}

/* --- one connection --- */

/* Whether to try once more what was not done in time. */
static bool goes_on(const struct weir_deadline *deadline)
{
    return (errno == EAGAIN || errno == EWOULDBLOCK) && weir_deadline_check(deadline) == 0;
}

/* The head of a request. False: it did not come, or not in time, or is too long. */
static bool hear(int fd, char head[WEIR__SERVE_HEAD_BYTES], const struct weir_deadline *deadline)
{
    size_t length = 0;
    while (length < WEIR__SERVE_HEAD_BYTES - 1) {
        ssize_t got =
            WEIR__SYS(ssize_t, recv(fd, head + length, WEIR__SERVE_HEAD_BYTES - 1 - length, 0));
        if (got == 0 || (got < 0 && !goes_on(deadline)))
            return false;
        length += got > 0 ? (size_t)got : 0;
        head[length] = '\0';
        if (strstr(head, "\r\n\r\n"))
            return true;
        if (weir_deadline_check(deadline) != 0)
            return false;
    }
    return false;
}

static void say(int fd, const char *bytes, size_t length, const struct weir_deadline *deadline)
{
    while (length > 0) {
        ssize_t sent = WEIR__SYS(ssize_t, send(fd, bytes, length, MSG_NOSIGNAL));
        if (sent < 0 && !goes_on(deadline))
            return;
        bytes += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
        if (weir_deadline_check(deadline) != 0)
            return;
    }
}

static void answer(int fd, const char *status, const char *more, const char *type,
                   const struct weir__buffer *text, bool has_body,
                   const struct weir_deadline *deadline)
{
    char head[HEAD_SIZE];
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                          "Connection: close\r\n\r\n",
                          status, type, weir__buffer_length(text), more);
    say(fd, head, (size_t)length, deadline);
    if (has_body)
        say(fd, weir__buffer_text(text), weir__buffer_length(text), deadline);
}

static bool takes(const char **at, const char *word)
{
    size_t length = strlen(word);
    bool is_it = strncmp(*at, word, length) == 0;
    *at += is_it ? length : 0;
    return is_it;
}

static void serve_one(const struct weir__serve *serve, int fd, struct weir_cancel *stop)
{
    static const char plain[] = "text/plain; charset=utf-8";
    const struct weir__serve_page *page = serve->page;
    char head[WEIR__SERVE_HEAD_BYTES];
    struct weir_deadline heard = weir_deadline_in(WEIR__SERVE_TIME_NS, stop);
    bool is_whole = hear(fd, head, &heard);
    struct weir_deadline said = weir_deadline_in(WEIR__SERVE_TIME_NS, stop);
    const char *at = head;
    struct weir__buffer text;
    weir__buffer_init(&text, WEIR__SERVE_TEXT_BYTES);
    bool is_head = is_whole && takes(&at, "HEAD ");
    if (!is_whole)
        ; /* there is nobody who would understand an answer */
    else if (!is_head && !takes(&at, "GET "))
        answer(fd, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", plain, &text, true, &said);
    else if (!takes(&at, page->path) || !strchr(" ?", *at))
        answer(fd, "404 Not Found", "", plain, &text, true, &said);
    else if (page->write(page->arg, &text, &said) < 0) {
        weir__buffer_truncate(&text, 0);
        answer(fd, "500 Internal Server Error", "", plain, &text, true, &said);
    } else
        answer(fd, "200 OK", "", page->type, &text, !is_head, &said);
    weir__buffer_fini(&text);
}

/* --- the thread --- */

static int serve_all(struct weir_crew_self *self, void *arg)
{
    const struct weir__serve *serve = arg;
    struct weir_cancel_hook hook = {0};
    weir_cancel_shuts_down(self->stop, &hook, serve->fd);
    while (!weir_cancel_is_fired(self->stop)) {
        struct weir_cancel_hook own = {0};
        int fd = WEIR__SYS(int, accept4(serve->fd, NULL, NULL, SOCK_CLOEXEC));
        if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED) {
            /* Without descriptors or memory there is nothing to do but wait for them. */
            struct weir_deadline while_ns = weir_deadline_in(LOOK_UP_US * 1000ull, self->stop);
            (void)!weir_deadline_sleep(&while_ns);
        }
        if (fd < 0)
            continue;
        weir_cancel_shuts_down(self->stop, &own, fd);
        if (set_times(fd) == 0)
            serve_one(serve, fd, self->stop);
        weir_cancel_off(&own);
        weir__sys_close(fd);
    }
    weir_cancel_off(&hook);
    return 0;
}

int weir__serve_start(struct weir__serve *serve, const struct weir__serve_page *page)
{
    const struct weir_crew_options options = {.threads_max = 1};
    serve->page = page;
    int result = weir_crew_new(&serve->crew, "http-serve", &options);
    return result < 0 ? result : weir_crew_start(serve->crew, "serve", serve_all, serve);
}

void weir__serve_close(struct weir__serve *serve)
{
    if (!serve)
        return;
    if (serve->crew)
        weir_crew_drain(serve->crew, NULL);
    weir_crew_free(serve->crew);
    weir__sys_close(serve->fd);
    weir__base_free(serve);
}
