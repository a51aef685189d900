/* accept.c - new connections: counted, admitted, and handed to the loop that has the fewest.
 *
 * Who is refused is told so: by an answer of an ordinary connection that gets nothing else, as long
 * as few of these are kept, in all, of one address, and by the descriptors that are left; beyond
 * that by a text that is sent blindly before the socket is closed. Without descriptors the one that
 * is kept in reserve is given up for a moment, so that nobody is left in the queue of the kernel
 * and no loop spins.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "alloc.h"
#include "server_part.h"
#include "sys.h"

#include "banned.h"

#define ACCEPTS_MAX 32  /* in a turn */
#define TURNS_MAX   128 /* for what the kernel may have kept */
#define PAUSE_NS    (WEIR_NS_PER_S / 10)
#define CANNED_SIZE 512

/* --- when nobody can be taken --- */

void weir__loop_listen(struct weir__server_loop *loop, bool is_on)
{
    struct weir__server *server = loop->server;
    loop->listen_at_ns = WEIR_NEVER;
    if (is_on == loop->is_listening)
        return;
    loop->is_listening = is_on;
    for (unsigned i = 0; i < server->listeners_count; i++) {
        struct weir__listener *listener = &server->listeners[i];
        struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = listener};
        int operation = is_on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
        if (weir__sys_epoll_ctl(loop->epoll_fd, operation, listener->fd, &event) < 0 && is_on &&
            errno != EEXIST) {
            loop->stats.accept_errors++;
            loop->is_listening = false; /* the others may be there: that is EEXIST next time */
            loop->listen_at_ns = weir_time_add(loop->now_ns, PAUSE_NS);
        }
    }
}

static void pause_listening(struct weir__server_loop *loop)
{
    loop->stats.accept_errors++;
    weir__loop_listen(loop, false);
    loop->listen_at_ns = weir_time_add(loop->now_ns, PAUSE_NS);
}

static void hang_up(struct weir__server_loop *loop, int fd)
{
    (void)shutdown(fd, SHUT_WR);
    (void)weir__sys_recv(fd, loop->scratch, WEIR__LOOP_SCRATCH, MSG_DONTWAIT);
}

void weir__loop_tell(struct weir__server_loop *loop, int fd, int code)
{
    char text[CANNED_SIZE], corr_id[WEIR__LOOP_CORR_SIZE];
    weir__loop_corr_id(loop, corr_id);
    struct iovec vector = {text, weir__reply_canned(code, corr_id, text, sizeof(text))};
    const struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    (void)weir__sys_sendmsg(fd, &message, MSG_DONTWAIT);
    hang_up(loop, fd);
}

void weir__conn_tell(struct weir__conn *conn, int code)
{
    struct weir__server_loop *loop = conn->loop;
    char text[CANNED_SIZE], corr_id[WEIR__LOOP_CORR_SIZE];
    if (!conn->is_tls) {
        weir__loop_tell(loop, conn->fd, code);
        return;
    }
    if (!conn->tls || conn->state == WEIR__CONN_HANDSHAKE)
        return;
    weir__loop_corr_id(loop, corr_id);
    (void)weir__tls_write(conn, text, weir__reply_canned(code, corr_id, text, sizeof(text)));
    weir__tls_end(conn);
    hang_up(loop, conn->fd);
}

static void tell_and_close(struct weir__server_loop *loop, int fd, int code)
{
    weir__loop_tell(loop, fd, code);
    weir__sys_close(fd);
    loop->stats.accepted++;
    loop->stats.closed++;
    loop->stats.responses[weir_error_http(code) / 100]++;
}

static void use_reserve(struct weir__server_loop *loop, const struct weir__listener *listener)
{
    weir__sys_close_at(&loop->reserve_fd);
    int fd = WEIR__SYS(int, accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd >= 0) {
        loop->stats.refused[WEIR__REFUSED_DESCRIPTORS]++;
        tell_and_close(loop, fd, -WEIR_E_NO_DESCRIPTORS);
    }
    loop->reserve_fd = weir__sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);
    if (fd < 0 || loop->reserve_fd < 0)
        pause_listening(loop);
}

/* --- one that was taken --- */

static void set_options(int fd, const struct weir__listener *listener)
{
    const int yes = 1, seconds = 60;
    if (listener->is_unix)
        return;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
}

/* The status that it is refused with, or 0. Counted when it is told: health may be all it asks. */
static uint16_t admit(struct weir__server_loop *loop, struct weir__conn *conn, unsigned *ret_loop)
{
    struct weir__server *server = loop->server;
    uint8_t key[16];
    size_t key_size = conn->is_trusted || loop->limits.per_address_max == UINT32_MAX
                          ? 0
                          : weir__address_key(&conn->peer, key);
    if (key_size > 0 && weir_admit_try(&server->admit, key, key_size, &conn->ticket) < 0) {
        conn->is_greedy = true;
        return 429;
    }
    if (weir__server_admit(server, loop->limits.connections_max, conn, ret_loop) < 0) {
        weir_admit_release(&conn->ticket);
        return 429;
    }
    conn->is_counted = true;
    return 0;
}

static void take(struct weir__server_loop *loop, const struct weir__listener *listener, int fd,
                 const struct sockaddr_storage *peer)
{
    struct weir__server *server = loop->server;
    struct weir__conn *conn = weir__base_alloc(1, sizeof(*conn));
    unsigned number = loop->number;
    if (!conn) {
        loop->stats.refused[WEIR__REFUSED_MEMORY]++;
        tell_and_close(loop, fd, -WEIR_E_NO_MEMORY);
        return;
    }
    conn->source = WEIR__SOURCE_CONN;
    conn->fd = fd;
    conn->peer = *peer;
    conn->listener = (uint16_t)listener->number;
    conn->is_tls = listener->is_tls;
    conn->is_trusted = weir__network_has(server, peer);
    conn->refusal = admit(loop, conn, &number);
    if (conn->refusal && !weir__server_admit_refused(server, conn)) {
        weir__conn_count_refusal(loop, conn);
        tell_and_close(loop, fd, -WEIR_E_BUSY);
        weir__base_free(conn);
        return;
    }
    set_options(fd, listener);
    loop->stats.accepted++;
    if (number == loop->number)
        weir__conn_begin(loop, conn);
    else if (!weir__loop_send(server->loops[number], conn)) {
        loop->stats.closed++;
        loop->stats.drained++;
        weir__loop_drop(loop, conn);
    }
}

bool weir__loop_accept(struct weir__server_loop *loop, const struct weir__listener *listener)
{
    for (int i = 0; i < ACCEPTS_MAX && loop->is_listening; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t size = sizeof(peer);
        int fd = WEIR__SYS(int, accept4(listener->fd, (struct sockaddr *)&peer, &size,
                                        SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (fd >= 0) {
            take(loop, listener, fd, &peer);
            continue;
        }
        if (errno == EAGAIN)
            return false;
        if (errno == EMFILE || errno == ENFILE)
            use_reserve(loop, listener);
        else if (errno != ECONNABORTED && errno != EPROTO)
            pause_listening(loop);
    }
    return loop->is_listening;
}

void weir__loop_accept_rest(struct weir__server_loop *loop)
{
    struct weir__server *server = loop->server;
    for (unsigned i = 0; i < server->listeners_count; i++)
        for (unsigned turns = TURNS_MAX; turns > 0; turns--)
            if (!weir__loop_accept(loop, &server->listeners[i]))
                break;
    weir__loop_listen(loop, false);
}
