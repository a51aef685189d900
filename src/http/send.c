/* send.c - answers as they leave: the head, then the pieces, then the tail of a chunk.
 *
 * What lies in memory leaves in one call with the head, and so do files up to WEIR__SERVER_SMALL,
 * which are read for it: a pread is cheaper than a second call on the socket. Longer ones leave by
 * sendfile, behind a head that says that more comes. Under TLS all is read and copied.
 */
#include <errno.h>
#include <string.h>

#include "server_part.h"
#include "sys.h"

#include "banned.h"

#define VECTORS_MAX   16
#define SENDFILE_MAX  (UINT64_C(1) << 20)
#define TLS_BATCH_MAX (16u << 10)

struct batch {
    struct iovec vectors[VECTORS_MAX];
    int count;
    size_t total;
    size_t scratch; /* bytes of the loop's that are used */
    bool has_all;   /* nothing of the unit is left behind it */
    bool is_cold;   /* the next bytes of a file are not in memory */
    bool is_short;  /* a file has ended too early, or cannot be read */
    int error;      /* then: why not, a code; 0: it has ended */
    const struct weir__piece *bad;
};

void weir__send_release(struct weir__exchange *x)
{
    for (uint32_t i = x->pieces_first; i < x->pieces_count; i++)
        if (x->pieces[i].release)
            x->pieces[i].release(x->pieces[i].arg);
    x->pieces_first = x->pieces_count = 0;
}

/* --- what there is to send --- */

static void add(struct batch *batch, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    batch->vectors[batch->count++] = (struct iovec){(void *)(uintptr_t)bytes, length};
    batch->total += length;
}

static ssize_t read_file(const struct weir__exchange *x, const struct weir__piece *piece, char *to,
                         size_t length)
{
    ssize_t got = weir__sys_pread_now(piece->fd, to, length, (off_t)piece->offset);
    bool may_wait = !x->server->options.handler->warm || x->has_wanted || piece->is_resident;
    if (got < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || (errno == EAGAIN && may_wait)))
        got = weir__sys_pread(piece->fd, to, length, (off_t)piece->offset);
    return got;
}

/* False: no more can be added behind it. */
static bool add_file(const struct weir__conn *conn, struct batch *batch,
                     const struct weir__piece *piece)
{
    size_t room = WEIR__LOOP_SCRATCH - batch->scratch;
    char *to = conn->loop->scratch + batch->scratch;
    uint64_t length = piece->length;
    if (conn->tls && length > TLS_BATCH_MAX)
        length = TLS_BATCH_MAX;
    if (length > WEIR__SERVER_SMALL || length > room)
        return false;
    ssize_t got = read_file(conn->exchange, piece, to, (size_t)length);
    if (got <= 0) {
        batch->is_cold = got < 0 && errno == EAGAIN;
        batch->is_short = !batch->is_cold;
        batch->error = got < 0 ? weir_error_from_errno(errno) : 0;
        batch->bad = piece;
        return false;
    }
    add(batch, to, (size_t)got);
    batch->scratch += (size_t)got;
    return (uint64_t)got == piece->length;
}

static void gather(const struct weir__conn *conn, struct batch *batch)
{
    const struct weir__exchange *x = conn->exchange;
    uint32_t i = x->pieces_first;
    batch->count = 0;
    batch->total = batch->scratch = 0;
    batch->has_all = batch->is_cold = batch->is_short = false;
    add(batch, x->out + x->out_sent, x->out_length - x->out_sent);
    for (; i < x->pieces_count && batch->count < VECTORS_MAX - 1; i++) {
        const struct weir__piece *piece = &x->pieces[i];
        if (piece->bytes)
            add(batch, piece->bytes, piece->length);
        else if (!add_file(conn, batch, piece))
            break;
    }
    if (i == x->pieces_count) {
        add(batch, x->tail + x->tail_sent, x->tail_length - x->tail_sent);
        batch->has_all = true;
    }
}

/* So many bytes have left. */
static void consume(struct weir__exchange *x, uint64_t count)
{
    uint64_t part = x->out_length - x->out_sent;
    x->sent += count;
    x->conn->moved_bytes += count;
    x->conn->loop->stats.bytes_out += count;
    x->has_wanted = false;
    part = part < count ? part : count;
    x->out_sent += (uint32_t)part;
    count -= part;
    while (count > 0 && x->pieces_first < x->pieces_count) {
        struct weir__piece *piece = &x->pieces[x->pieces_first];
        part = piece->length < count ? piece->length : count;
        piece->length -= part;
        piece->offset += part;
        piece->bytes = piece->bytes ? piece->bytes + part : NULL;
        count -= part;
        if (piece->length > 0)
            break;
        x->pieces_first++;
        if (piece->release)
            piece->release(piece->arg);
    }
    x->tail_sent += (uint32_t)count;
}

/* --- sending it --- */

/* Bytes that went, or a negative errno. */
static ssize_t send_plain(struct weir__conn *conn, struct batch *batch)
{
    const struct msghdr message = {.msg_iov = batch->vectors, .msg_iovlen = (size_t)batch->count};
    ssize_t sent = weir__sys_sendmsg(conn->fd, &message, batch->has_all ? 0 : MSG_MORE);
    if (sent < 0)
        return -errno;
    if ((size_t)sent < batch->total)
        conn->can_write = false; /* the kernel has taken what it could */
    return sent;
}

/* One record, copied together. After a write that has to wait OpenSSL wants the same bytes again.
 */
static ssize_t send_tls(struct weir__conn *conn, struct batch *batch)
{
    char record[TLS_BATCH_MAX];
    size_t length = 0, want = conn->tls_pending ? conn->tls_pending : sizeof(record);
    if (batch->count == 1 && batch->total <= want)
        return weir__tls_write(conn, batch->vectors[0].iov_base, batch->total);
    for (int i = 0; i < batch->count && length < want; i++) {
        size_t part = batch->vectors[i].iov_len;
        part = part < want - length ? part : want - length;
        memcpy(record + length, batch->vectors[i].iov_base, part);
        length += part;
    }
    return weir__tls_write(conn, record, length);
}

/* The next part of a long file. */
static ssize_t send_file(struct weir__conn *conn, const struct weir__piece *piece)
{
    off_t at = (off_t)piece->offset;
    size_t length = (size_t)(piece->length < SENDFILE_MAX ? piece->length : SENDFILE_MAX);
    ssize_t sent = weir__sys_sendfile(conn->fd, piece->fd, &at, length);
    return sent < 0 ? -errno : sent; /* fewer: the socket is full, or the file ends; ask again */
}

/* The handler is to bring the next part of a file into memory. */
static bool is_cold(const struct weir__exchange *x, const struct weir__piece *piece)
{
    uint64_t length = piece->length < SENDFILE_MAX ? piece->length : SENDFILE_MAX;
    return x->server->options.handler->warm && !piece->is_resident && !x->has_wanted &&
           !weir__file_is_resident(piece->fd, piece->offset, length);
}

static enum weir__step warm(struct weir__exchange *x, const struct weir__piece *piece)
{
    x->has_wanted = true;
    x->is_held = true;
    x->server->options.handler->warm(x, piece->fd, piece->offset, piece->length);
    return WEIR__STEP_WAIT;
}

static enum weir__step too_late(struct weir__conn *conn)
{
    weir__pace_give_up(conn);
    return WEIR__STEP_CUT;
}

static enum weir__step wait_writable(struct weir__conn *conn)
{
    conn->can_write = false;
    weir__pace_wait(conn);
    return weir__conn_is_fast(conn) ? WEIR__STEP_WAIT : too_late(conn);
}

/* What a disk says is about the disk: EACCES of a file is nothing that a client may not. */
static int file_error(int error)
{
    return error == -WEIR_E_CORRUPT || error == -WEIR_E_NO_MEMORY || error == -WEIR_E_NO_DESCRIPTORS
               ? error
               : -WEIR_E_IO;
}

/* It is not the client who makes the answer end early. piece: the file that does, or NULL. */
static enum weir__step broken(struct weir__conn *conn, int error, const struct weir__piece *piece)
{
    struct weir__exchange *x = conn->exchange;
    const struct weir__handler *handler = x->server->options.handler;
    if (piece)
        error = file_error(error);
    conn->loop->stats.truncated += piece != NULL;
    if (x->is_begun && handler->broke)
        handler->broke(x, error, piece ? piece->fd : -1, piece ? piece->offset : 0);
    if (!piece || x->sent > 0 || conn->tls_pending > 0)
        return WEIR__STEP_CUT;
    /* Nothing has left yet, so it can be another answer. */
    x->is_sent = x->is_chunked = false;
    x->tail_length = 0;
    weir__reply_refusal(x, (unsigned)weir_error_http(error), error, NULL, 0);
    return WEIR__STEP_ON;
}

/* What a socket says of the other end, or of the way there. */
static bool is_clients(int error)
{
    switch (error) {
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
    case ETIMEDOUT:
    case ENOTCONN:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETRESET:
    case ENETUNREACH:
        return true;
    default:
        return false;
    }
}

/* One call. ON: something went. */
static enum weir__step send_some(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    const struct weir__piece *piece = &x->pieces[x->pieces_first];
    struct batch batch;
    ssize_t sent;
    gather(conn, &batch);
    if (batch.is_short)
        return broken(conn, batch.error ? batch.error : -WEIR_E_CORRUPT, batch.bad);
    if (batch.count == 0 && (batch.is_cold || is_cold(x, piece)))
        return warm(x, piece);
    if (batch.count > 0)
        sent = conn->tls ? send_tls(conn, &batch) : send_plain(conn, &batch);
    else
        sent = send_file(conn, piece);
    if (sent == -EAGAIN)
        return wait_writable(conn);
    if (sent == 0)
        return broken(conn, -WEIR_E_CORRUPT, piece);
    /* What OpenSSL says no to is what the other end has sent. */
    if (sent < 0 && (conn->tls || is_clients((int)-sent)))
        return WEIR__STEP_CUT;
    if (sent < 0)
        return broken(conn, weir_error_from_errno((int)-sent), batch.count > 0 ? NULL : piece);
    consume(x, (uint64_t)sent);
    return WEIR__STEP_ON;
}

/* --- streams --- */

/* What was there has left. ON: there is more, or it is the end. */
static enum weir__step ask_more(struct weir__exchange *x)
{
    x->out_length = x->out_sent = x->small_length = 0;
    x->tail_length = x->tail_sent = 0;
    x->pieces_first = x->pieces_count = 0;
    int answer = x->server->options.handler->more(x);
    if (answer == WEIR__MORE_LATER) {
        x->is_held = true;
        return WEIR__STEP_WAIT;
    }
    if (answer < 0 || x->reply_error || (x->length != UINT64_MAX && x->queued > x->length))
        return WEIR__STEP_CUT;
    if (answer == WEIR__MORE_HERE) {
        if (x->is_chunked)
            weir__reply_frame(x);
        return WEIR__STEP_ON;
    }
    x->streams = false;
    if (x->is_chunked) {
        x->tail = "0\r\n\r\n";
        x->tail_length = 5;
    }
    return x->length != UINT64_MAX && x->queued != x->length ? WEIR__STEP_CUT : WEIR__STEP_ON;
}

static bool has_left(const struct weir__exchange *x)
{
    return x->out_sent == x->out_length && x->pieces_first == x->pieces_count &&
           x->tail_sent == x->tail_length;
}

enum weir__step weir__send_run(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    uint64_t until = x->sent + WEIR__SEND_TURN;
    if (x->is_held)
        return WEIR__STEP_WAIT;
    if (conn->loop->now_ns >= x->end_ns && x->sent > 0)
        return too_late(conn);
    for (;;) {
        enum weir__step step;
        if (has_left(x)) {
            if (!x->streams)
                return WEIR__STEP_ON;
            step = ask_more(x);
        } else if (!conn->can_write)
            return wait_writable(conn);
        else if (x->sent >= until) {
            weir__loop_again(conn->loop, conn);
            return WEIR__STEP_WAIT;
        } else
            step = send_some(conn);
        if (step != WEIR__STEP_ON)
            return step;
    }
}

bool weir__send_now(struct weir__conn *conn, const char *bytes, size_t length)
{
    struct iovec vector = {(void *)(uintptr_t)bytes, length};
    const struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    ssize_t sent =
        conn->tls ? weir__tls_write(conn, bytes, length) : weir__sys_sendmsg(conn->fd, &message, 0);
    return sent == (ssize_t)length;
}
