/* connection.c - a connection: a machine whose states are in server_part.h.
 *
 * weir__conn_run() goes from state to state until it has to wait: for the socket, of which epoll
 * will tell, for the handler, which will post, or for its turn. Whoever waits for the socket has
 * set the timer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "alloc.h"
#include "server_part.h"
#include "sys.h"

#include "banned.h"

/* --- the end of a request --- */

/* The end of what was begun; the exchange itself stays. */
static void conclude(struct weir__conn *conn, bool is_whole)
{
    struct weir__exchange *x = conn->exchange;
    struct weir__server_loop *loop = conn->loop;
    const struct weir__handler *handler = loop->server->options.handler;
    weir__send_release(x);
    if (x->is_sent)
        loop->stats.responses[x->status / 100]++;
    if (!is_whole && (x->is_begun || x->is_sent))
        loop->stats.aborted++;
    void (*tell)(struct weir__exchange *, const struct weir__exchange_end *) =
        x->is_begun  ? handler->gone
        : x->is_sent ? handler->refused
                     : NULL;
    if (tell) {
        /* The loop's own time is that of its turn, in which many are answered. */
        const struct weir__exchange_end end = {.status = x->is_sent ? x->status : 0,
                                               .bytes_in = x->bytes_in,
                                               .bytes_out = x->sent,
                                               .took_ns = weir_now_ns() - x->arrived_ns,
                                               .is_whole = is_whole};
        tell(x, &end);
    }
    x->is_begun = false;
    if (x->has_token)
        weir_cancel_fini(&x->token);
    x->has_token = false;
    if (x->body)
        weir__body_free(x);
}

/* --- the end --- */

static void unlink_ready(struct weir__conn *conn)
{
    struct weir__conn **at = &conn->loop->ready;
    if (!conn->is_ready)
        return;
    while (*at != conn)
        at = &(*at)->ready_next;
    *at = conn->ready_next;
    conn->is_ready = false;
}

static void free_conn(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    if (conn->exchange) {
        conclude(conn, false);
        weir__exchange_give(conn);
    }
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        loop->conns = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    weir__base_free(conn);
}

/* While the handler has it. is_gone: nobody will read an answer. */
static void fire(struct weir__exchange *x, bool is_gone)
{
    const struct weir__handler *handler = x->server->options.handler;
    x->is_gone = true;
    if (x->has_token)
        weir_cancel_fire(&x->token);
    if (handler->left)
        handler->left(x, is_gone);
}

void weir__conn_cut(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    struct weir__exchange *x = conn->exchange;
    weir__timer_off(&conn->timer);
    unlink_ready(conn);
    /* A child that is being started may hold the socket open for a moment after we have closed it:
     * nothing is to be heard of it. */
    (void)weir__sys_epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
    weir__tls_close(conn);
    weir__sys_close_at(&conn->fd);
    weir_admit_release(&conn->ticket);
    loop->stats.closed++;
    if (loop->is_draining)
        loop->stats.drained++;
    weir__server_leave(loop->server, conn);
    conn->state = WEIR__CONN_DEAD;
    if (x && x->is_held)
        fire(x, true); /* it is freed when the handler gives it back */
    else
        free_conn(conn);
}

/* --- reading --- */

ssize_t weir__conn_read(struct weir__conn *conn, char *bytes, size_t size)
{
    ssize_t got =
        conn->tls ? weir__tls_read(conn, bytes, size) : weir__sys_recv(conn->fd, bytes, size, 0);
    if (got < 0 && !conn->tls)
        got = -errno;
    /* Less than there was room for: what comes after this will be told by an edge of its own. */
    if (got == -EAGAIN || (got > 0 && (size_t)got < size && !conn->tls && !conn->has_ended))
        conn->can_read = false;
    if (got > 0)
        conn->loop->stats.bytes_in += (uint64_t)got;
    return got;
}

bool weir__conn_is_fast(const struct weir__conn *conn)
{
    const struct weir__server_limits *limits = &conn->loop->limits;
    uint64_t took_ns = conn->loop->now_ns - conn->since_ns;
    return took_ns <= limits->rate_grace_ns || limits->rate_min == WEIR__SERVER_NO_RATE ||
           conn->moved_bytes / limits->rate_min >= took_ns / WEIR_NS_PER_S;
}

static void measure(struct weir__conn *conn)
{
    conn->since_ns = conn->loop->now_ns;
    conn->moved_bytes = conn->look_ns = 0;
}

static bool must_rest(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    if (conn->exchange->status != 429 || loop->is_draining)
        return false;
    if (loop->now_ns - loop->busy_since_ns >= WEIR__REST_NS) {
        loop->busy_since_ns = loop->now_ns;
        loop->busy_count = 0;
    }
    return ++loop->busy_count > WEIR__REST_FREE;
}

static void begin_sending(struct weir__conn *conn)
{
    conn->state = WEIR__CONN_SEND;
    measure(conn);
}

static void begin_answer(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    uint64_t until_ns = weir_time_add(loop->now_ns, WEIR__REST_NS);
    begin_sending(conn);
    if (!must_rest(conn))
        return;
    if (conn->exchange->deadline_ns < until_ns)
        until_ns = conn->exchange->deadline_ns;
    conn->state = WEIR__CONN_REST;
    weir__timer_set(&loop->wheel, &conn->timer, until_ns);
}

/* --- requests --- */

static void find_corr_id(struct weir__exchange *x)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (x->head.status == 0 && x->head.corr != WEIR__HEAD_NONE) {
        const struct weir__head_field *field = &x->head.fields[x->head.corr];
        const char *value = x->input + field->value;
        size_t length = field->value_length;
        if (length >= 1 && length <= WEIR__SERVER_CORR_MAX && strspn(value, allowed) == length) {
            memcpy(x->corr_id, value, length + 1);
            return;
        }
    }
    weir__loop_corr_id(x->conn->loop, x->corr_id);
}

/* The server itself answers, and the connection ends. */
static enum weir__step refuse(struct weir__conn *conn, unsigned status, int code,
                              const char *message)
{
    struct weir__exchange *x = conn->exchange;
    if (!x->is_begun)
        x->bytes_in = x->input_length;
    if (!x->corr_id[0])
        find_corr_id(x);
    weir__reply_refusal(x, status, code, message, status == 429 || status == 503);
    begin_sending(conn);
    return WEIR__STEP_ON;
}

static int code_of(unsigned status)
{
    return status == 414 || status == 431   ? -WEIR_E_TOO_LARGE
           : status == 501 || status == 505 ? -WEIR_E_UNSUPPORTED
                                            : -WEIR_E_INVALID;
}

/* A callback of the handler has returned. */
static enum weir__step go_on(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    if (x->is_sent) {
        begin_answer(conn);
        return WEIR__STEP_ON;
    }
    x->is_held = true;
    if (conn->has_ended && !x->is_gone)
        fire(x, false); /* that came together with the request */
    return WEIR__STEP_WAIT;
}

/* The handler wants the body. */
static enum weir__step begin_body(struct weir__conn *conn)
{
    static const char go_ahead[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct weir__exchange *x = conn->exchange;
    conn->state = WEIR__CONN_BODY;
    measure(conn);
    if (x->head.expects_continue && x->head.body_length > 0 && x->input_length == x->head.length &&
        !weir__send_now(conn, go_ahead, sizeof(go_ahead) - 1))
        return WEIR__STEP_CUT;
    return WEIR__STEP_ON;
}

static bool is_urgent(const struct weir__exchange *x)
{
    const struct weir__handler *handler = x->server->options.handler;
    return handler->is_urgent && handler->is_urgent(x);
}

void weir__conn_count_refusal(struct weir__server_loop *loop, const struct weir__conn *conn)
{
    loop->stats.refused[conn->is_greedy ? WEIR__REFUSED_ADDRESS : WEIR__REFUSED_CONNECTIONS]++;
}

/* It has been accepted only to be told why it is not. */
static enum weir__step tell_refusal(struct weir__conn *conn)
{
    weir__conn_count_refusal(conn->loop, conn);
    return refuse(conn, conn->refusal, -WEIR_E_BUSY,
                  conn->is_greedy ? "this address has too many connections"
                                  : "there are too many connections");
}

static enum weir__step begin(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    struct weir__server *server = conn->loop->server;
    x->bytes_in = x->head.length;
    find_corr_id(x);
    if (conn->refusal && !is_urgent(x))
        return tell_refusal(conn);
    if (conn->is_trusted && x->head.forwarded != WEIR__HEAD_NONE) {
        if (!weir__peer_forwarded(x, &x->client)) {
            conn->loop->stats.malformed++;
            return refuse(conn, 400, -WEIR_E_INVALID, "X-Forwarded-For is not a list of addresses");
        }
        x->has_client = true;
    }
    conn->state = WEIR__CONN_WORK;
    conn->loop->stats.requests++;
    x->is_begun = true;
    if (server->options.private_size > 0)
        memset(x->private_block, 0, server->options.private_size);
    server->options.handler->begin(x);
    return x->takes_body && !x->is_sent ? begin_body(conn) : go_on(conn);
}

/* Room for more of a head that did not fit. */
static bool grow_input(struct weir__exchange *x)
{
    uint32_t size = x->input_size * 4 < WEIR__SERVER_HEAD_MOST + 1 ? x->input_size * 4
                                                                   : WEIR__SERVER_HEAD_MOST + 1;
    char *input = weir__base_realloc(x->input == x->first ? NULL : x->input, 1, size);
    if (!input)
        return false;
    if (x->input == x->first)
        memcpy(input, x->first, x->input_length);
    x->input = input;
    x->input_size = size;
    return true;
}

/* What is in the input is looked at. WAIT: more is needed. */
static enum weir__step parse(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    int result = weir__head_feed(&x->head, x->input, x->input_length);
    if (result > 0)
        return begin(conn);
    if (result < 0) {
        conn->loop->stats.malformed++;
        return refuse(conn, x->head.status, code_of(x->head.status), x->head.why);
    }
    if (x->input_length == x->input_size && !grow_input(x))
        return refuse(conn, 503, -WEIR_E_NO_MEMORY, NULL);
    return WEIR__STEP_WAIT;
}

/* Reads the head of a request, of which the exchange has x->input_length bytes. */
static enum weir__step read_head(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    struct weir__exchange *x = conn->exchange;
    for (;;) {
        if (!conn->can_read)
            break;
        if (!x && !(x = weir__exchange_take(conn))) {
            loop->stats.refused[WEIR__REFUSED_MEMORY]++;
            return WEIR__STEP_CUT;
        }
        ssize_t got =
            weir__conn_read(conn, x->input + x->input_length, x->input_size - x->input_length);
        if (got == -EAGAIN)
            break;
        if (got <= 0) {
            if (conn->state == WEIR__CONN_IDLE)
                weir__exchange_give(conn);
            return WEIR__STEP_CUT;
        }
        conn->state = WEIR__CONN_HEAD;
        x->input_length += (uint32_t)got;
        enum weir__step step = parse(conn);
        if (step != WEIR__STEP_WAIT || conn->state != WEIR__CONN_HEAD)
            return step;
    }
    if (conn->state == WEIR__CONN_IDLE && x)
        weir__exchange_give(conn);
    if (conn->state == WEIR__CONN_HEAD)
        weir__timer_set(&loop->wheel, &conn->timer,
                        weir_time_add(x->arrived_ns, loop->limits.read_ns));
    return WEIR__STEP_WAIT;
}

/* --- between requests --- */

static void idle(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    uint64_t ns = conn->refusal       ? WEIR__REFUSED_NS
                  : loop->is_draining ? weir__conn_patience_ns(conn)
                                      : loop->limits.idle_ns;
    conn->state = WEIR__CONN_IDLE;
    weir__timer_set(&loop->wheel, &conn->timer, weir_time_add(loop->now_ns, ns));
}

/* Everything was said; who still talks is heard out for a while, since closing would destroy what
 * is on its way to him. */
static enum weir__step linger(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    weir__tls_end(conn);
    if (shutdown(conn->fd, SHUT_WR) < 0)
        return WEIR__STEP_CUT;
    conn->state = WEIR__CONN_LINGER;
    if (loop->is_draining)
        weir__server_settled(loop->server, conn);
    measure(conn);
    weir__timer_set(&loop->wheel, &conn->timer, weir_time_add(loop->now_ns, WEIR__LINGER_NS));
    return WEIR__STEP_ON;
}

static enum weir__step drop_input(struct weir__conn *conn)
{
    while (conn->can_read) {
        ssize_t got = weir__sys_recv(conn->fd, conn->loop->scratch, WEIR__LOOP_SCRATCH, 0);
        if (got < 0 && errno == EAGAIN) {
            conn->can_read = false;
            break;
        }
        conn->moved_bytes += got > 0 ? (uint64_t)got : 0;
        if (got <= 0 || conn->moved_bytes > WEIR__LINGER_BYTES)
            return WEIR__STEP_CUT;
    }
    return WEIR__STEP_WAIT;
}

/* Nothing has come that would be destroyed by closing, with the answer that is on its way. */
static bool says_no_more(struct weir__conn *conn)
{
    if (!conn->can_read)
        return true;
    ssize_t got = conn->tls ? -1 : weir__sys_recv(conn->fd, conn->loop->scratch, 1, MSG_PEEK);
    return got == 0 || (got < 0 && !conn->tls && errno == EAGAIN);
}

/* The answer has left. What lies behind the request in the input is the next one. */
static enum weir__step next_request(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    uint64_t used = x->head.length + (x->takes_body ? 0 : x->head.body_length);
    bool was_heard = x->is_begun && (x->takes_body || x->head.body_length == 0);
    conclude(conn, true);
    conn->is_served = true;
    if (x->closes) {
        bool is_quiet = was_heard && x->input_length == x->head.length && says_no_more(conn);
        weir__exchange_give(conn);
        return is_quiet ? WEIR__STEP_CUT : linger(conn);
    }
    if (x->input_length == used) {
        weir__exchange_give(conn);
        idle(conn);
        return WEIR__STEP_ON;
    }
    x->input_length -= (uint32_t)used;
    memmove(x->input, x->input + used, x->input_length);
    weir__exchange_reset(x, conn);
    conn->state = WEIR__CONN_HEAD;
    enum weir__step step = parse(conn);
    return step == WEIR__STEP_WAIT && conn->state == WEIR__CONN_HEAD ? WEIR__STEP_ON : step;
}

/* --- the machine --- */

static enum weir__step handshake(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    int result = weir__tls_handshake(conn);
    if (result == 0)
        return WEIR__STEP_WAIT;
    if (result < 0) {
        loop->stats.handshakes_failed++;
        return WEIR__STEP_CUT;
    }
    loop->stats.handshakes++;
    idle(conn);
    return WEIR__STEP_ON;
}

static enum weir__step run_body(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    enum weir__step step = weir__body_run(conn);
    if (step != WEIR__STEP_ON)
        return step;
    conn->state = WEIR__CONN_WORK;
    if (!x->is_sent)
        conn->loop->server->options.handler->whole(x);
    return go_on(conn);
}

static enum weir__step step_of(struct weir__conn *conn)
{
    switch (conn->state) {
    case WEIR__CONN_HANDSHAKE:
        return handshake(conn);
    case WEIR__CONN_IDLE:
        return read_head(conn);
    case WEIR__CONN_HEAD:
        return read_head(conn);
    case WEIR__CONN_BODY:
        return run_body(conn);
    case WEIR__CONN_LINGER:
        return drop_input(conn);
    case WEIR__CONN_REST:
    case WEIR__CONN_SEND:
    case WEIR__CONN_WORK:
    case WEIR__CONN_DEAD:
        break;
    }
    return WEIR__STEP_WAIT;
}

bool weir__conn_run(struct weir__conn *conn)
{
    unsigned answers = 0;
    for (;;) {
        enum weir__step step;
        if (conn->state == WEIR__CONN_SEND) {
            step = weir__send_run(conn);
            if (step == WEIR__STEP_ON) {
                step = next_request(conn);
                if (step == WEIR__STEP_ON && ++answers >= WEIR__LOOP_TURN) {
                    weir__loop_again(conn->loop, conn);
                    return true;
                }
            }
        } else
            step = step_of(conn);
        if (step == WEIR__STEP_WAIT)
            return true;
        if (step == WEIR__STEP_CUT) {
            weir__conn_cut(conn);
            return false;
        }
    }
}

/* --- what others tell it --- */

void weir__conn_begin(struct weir__server_loop *loop, struct weir__conn *conn)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = conn};
    conn->loop = loop;
    conn->prev = NULL;
    conn->next = loop->conns;
    if (loop->conns)
        loop->conns->prev = conn;
    loop->conns = conn;
    conn->can_read = conn->can_write = true;
    idle(conn);
    if ((conn->is_tls && weir__tls_open(conn) < 0) ||
        weir__sys_epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, conn->fd, &event) < 0) {
        loop->stats.refused[WEIR__REFUSED_MEMORY]++;
        weir__conn_cut(conn);
        return;
    }
    if (conn->is_tls) {
        conn->state = WEIR__CONN_HANDSHAKE;
        weir__timer_set(&loop->wheel, &conn->timer,
                        weir_time_add(loop->now_ns, loop->is_draining ? weir__conn_patience_ns(conn)
                                                                      : loop->limits.read_ns));
    }
    weir__conn_run(conn);
}

void weir__conn_event(struct weir__conn *conn, uint32_t events)
{
    struct weir__exchange *x = conn->exchange;
    if (events & (EPOLLERR | EPOLLHUP)) {
        if (x && x->is_held) {
            weir__conn_cut(conn);
            return;
        }
        events |= EPOLLIN | EPOLLOUT; /* reading and writing will tell */
    }
    if (events & EPOLLRDHUP) {
        conn->has_ended = true;
        if (x && x->is_held && !x->is_gone)
            fire(x, false);
    }
    /* TLS may have to read in order to write, and the other way round. */
    conn->can_read = conn->can_read || conn->tls || (events & (EPOLLIN | EPOLLRDHUP));
    conn->can_write = conn->can_write || conn->tls || (events & EPOLLOUT);
    weir__conn_run(conn);
}

/* Not run at once: whoever needs the memory is in the middle of something. */
void weir__conn_give_way(struct weir__conn *conn)
{
    conn->exchange->takes_body = false;
    conn->loop->stats.refused[WEIR__REFUSED_BODIES]++;
    (void)refuse(conn, 429, -WEIR_E_BUSY, "others need the memory, and this body comes slowly");
    weir__loop_again(conn->loop, conn);
}

void weir__conn_timeout(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    switch (conn->state) {
    case WEIR__CONN_HANDSHAKE:
        loop->stats.timeouts[WEIR__OP_HANDSHAKE]++;
        weir__conn_cut(conn);
        return;
    case WEIR__CONN_IDLE:
        if (conn->refusal && weir__exchange_take(conn)) {
            (void)tell_refusal(conn);
            weir__conn_run(conn);
            return;
        }
        loop->stats.timeouts[WEIR__OP_IDLE]++;
        if (loop->is_draining && !conn->is_served)
            weir__conn_tell(conn, -WEIR_E_DRAINING);
        weir__conn_cut(conn);
        return;
    case WEIR__CONN_HEAD:
    case WEIR__CONN_BODY:
        loop->stats.timeouts[WEIR__OP_READ]++;
        conn->exchange->takes_body = false;
        if (loop->now_ns >= conn->exchange->end_ns)
            (void)refuse(conn, (unsigned)weir_error_http(WEIR_E_TIMEOUT), -WEIR_E_TIMEOUT,
                         "the request took longer than its deadline");
        else
            (void)refuse(conn, (unsigned)weir_error_http(WEIR_E_TIMEOUT_READ), -WEIR_E_TIMEOUT_READ,
                         "the request did not come in time");
        weir__conn_run(conn);
        return;
    case WEIR__CONN_REST:
        begin_sending(conn);
        weir__conn_run(conn);
        return;
    case WEIR__CONN_SEND:
        if (conn->exchange->is_held || weir__pace_is_kept(conn))
            return;
        weir__pace_give_up(conn);
        weir__conn_cut(conn);
        return;
    case WEIR__CONN_LINGER:
        weir__conn_cut(conn);
        return;
    case WEIR__CONN_WORK:
    case WEIR__CONN_DEAD:
        return;
    }
}

/* The handler gave it back. */
void weir__conn_resume(struct weir__exchange *x)
{
    struct weir__conn *conn = x->conn;
    void (*call)(struct weir__exchange *, void *) = x->call;
    if (!x->is_held)
        return;
    x->is_held = false;
    x->call = NULL;
    if (!x->is_sent || call) {
        if (call)
            call(x, x->call_arg);
        else
            x->server->options.handler->resume(x);
        x->is_held = !x->is_sent;
        if (x->is_held)
            return;
        if (conn->state != WEIR__CONN_DEAD)
            begin_answer(conn);
    } else {
        measure(conn);
    }
    if (conn->state == WEIR__CONN_DEAD)
        free_conn(conn);
    else if (x->is_cut)
        weir__conn_cut(conn);
    else
        weir__conn_run(conn);
}
