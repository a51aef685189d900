/* put_http.c - one thread with many connections, each of which stores one object after the other.
 *
 * It knows as much of HTTP as the answers need: a status, a Content-Length, a body that is read
 * and thrown away. Anything but 201 ends it: a benchmark of refusals would look fast.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "put.h"

#define HEAD_MAX   512u
#define ANSWER_MAX 4096u
#define SILENCE_MS 30000

struct connection {
    struct load *load;
    int fd;
    bool is_writing;
    uint32_t number;
    uint64_t begin_ns;
    size_t sent, head_length, answer_length;
    char head[HEAD_MAX];
    char answer[ANSWER_MAX + 1];
};

struct client {
    struct load *load;
    const char *prefix;
    uint16_t port;
    int epoll;
    uint32_t open;
    struct connection connections[AT_ONCE_MAX];
};

static void watch(struct client *client, struct connection *connection, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(client->epoll, how, connection->fd, &event) != 0)
        die("cannot watch", "a connection");
}

static void send_more(struct client *client, struct connection *connection)
{
    const unsigned char *bytes = object_of(connection->load, connection->number);
    size_t all = connection->head_length + OBJECT_BYTES;
    while (connection->sent < all) {
        size_t of_head = connection->sent < connection->head_length
                             ? connection->head_length - connection->sent
                             : 0;
        size_t of_body = connection->sent + of_head - connection->head_length;
        struct iovec pieces[2] = {
            {connection->head + connection->head_length - of_head, of_head},
            {(void *)(uintptr_t)(bytes + of_body), OBJECT_BYTES - of_body},
        };
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
        ssize_t sent = sendmsg(connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            break;
        if (sent < 0)
            die("cannot send", connection->load->names[connection->number]);
        connection->sent += (size_t)sent;
    }
    bool is_writing = connection->sent < all;
    if (is_writing != connection->is_writing)
        watch(client, connection, EPOLL_CTL_MOD, is_writing ? EPOLLIN | EPOLLOUT : EPOLLIN);
    connection->is_writing = is_writing;
}

/* The next object, or the end of this connection. */
static void begin(struct client *client, struct connection *connection)
{
    if (!take(client->load, &connection->number)) {
        close(connection->fd);
        client->open--;
        return;
    }
    connection->begin_ns = now_ns();
    connection->sent = connection->answer_length = 0;
    int length = snprintf(connection->head, HEAD_MAX,
                          "PUT /%s/%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Length: %u\r\n\r\n",
                          client->prefix, client->load->names[connection->number], client->port,
                          OBJECT_BYTES);
    connection->head_length = (size_t)length;
    send_more(client, connection);
}

/* Whether the answer is whole. */
static bool is_whole(const struct connection *connection)
{
    const char *end = strstr(connection->answer, "\r\n\r\n");
    if (!end)
        return false;
    if (strncmp(connection->answer, "HTTP/1.1 201", 12) != 0)
        die("refused:", connection->answer);
    const char *field = strcasestr(connection->answer, "\r\nContent-Length:");
    if (!field || field > end)
        die("no length in", connection->answer);
    size_t head = (size_t)(end - connection->answer) + 4;
    return connection->answer_length >= head + strtoul(field + 17, NULL, 10);
}

static void read_answer(struct client *client, struct connection *connection)
{
    size_t room = ANSWER_MAX - connection->answer_length;
    ssize_t got =
        recv(connection->fd, connection->answer + connection->answer_length, room, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        die("no answer for", connection->load->names[connection->number]);
    connection->answer_length += (size_t)got;
    connection->answer[connection->answer_length] = '\0';
    errno = 0;
    if (!is_whole(connection))
        return;
    connection->load->took_ns[connection->number] = now_ns() - connection->begin_ns;
    begin(client, connection);
}

static void open_all(struct client *client)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(client->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (uint32_t i = 0; i < client->load->at_once; i++) {
        struct connection *connection = &client->connections[i];
        int yes = 1;
        connection->load = client->load;
        connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connection->fd < 0 ||
            connect(connection->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
            setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) != 0)
            die("cannot connect to", "the server");
        watch(client, connection, EPOLL_CTL_ADD, EPOLLIN);
        client->open++;
    }
}

void put_http(struct load *load, uint16_t port, const char *prefix)
{
    struct client *client = calloc(1, sizeof(*client));
    if (!client || (client->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        die("cannot make", "the client");
    client->load = load;
    client->prefix = prefix;
    client->port = port;
    open_all(client);
    for (uint32_t i = 0; i < load->at_once; i++)
        begin(client, &client->connections[i]);
    while (client->open > 0) {
        struct epoll_event events[AT_ONCE_MAX];
        int count = epoll_wait(client->epoll, events, AT_ONCE_MAX, SILENCE_MS);
        if (count <= 0)
            die("waited too long for", "the server");
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (events[i].events & EPOLLOUT)
                send_more(client, connection);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_answer(client, connection);
        }
    }
    close(client->epoll);
    free(client);
}
