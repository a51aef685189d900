/* body.c - bodies of requests, read into memory that one budget covers.
 *
 * The memory of a body grows with what has come of it, by doubling: who announces much and sends
 * little holds little. When there is none left, the slowest of this loop's gives way, if it is
 * slow.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "server_part.h"

#include "banned.h"

#define FIRST      (64u << 10)
#define LOOK_NS    (10 * WEIR_NS_PER_MS) /* between two looks for the slowest */
#define SLOW_NS    (1 * WEIR_NS_PER_S)   /* that it has been at it, at least */
#define SLOW_BYTES (UINT64_C(64) << 10)  /* a second: who has more does not give way */

void weir__body_free(struct weir__exchange *x)
{
    weir__base_free(x->body);
    x->body = NULL;
    x->body_size = x->body_length = 0;
    while (x->body_permits_count > 0)
        weir_permit_release(&x->body_permits[--x->body_permits_count]);
}

static uint64_t rate_of(const struct weir__conn *conn)
{
    uint64_t took_ns = conn->loop->now_ns - conn->since_ns;
    return conn->moved_bytes / (took_ns / (WEIR_NS_PER_S / 16) + 1) * 16;
}

/* Whoever has taken memory for longest and for least. */
static bool evict_slowest(struct weir__conn *asking)
{
    struct weir__server_loop *loop = asking->loop;
    struct weir__conn *slowest = NULL;
    uint64_t least = SLOW_BYTES;
    if (loop->now_ns - loop->evicted_ns < LOOK_NS)
        return false;
    loop->evicted_ns = loop->now_ns;
    for (struct weir__conn *conn = loop->conns; conn; conn = conn->next) {
        if (conn == asking || conn->state != WEIR__CONN_BODY ||
            loop->now_ns - conn->since_ns < SLOW_NS || rate_of(conn) >= least)
            continue;
        slowest = conn;
        least = rate_of(conn);
    }
    if (!slowest)
        return false;
    weir__body_free(slowest->exchange);
    weir__conn_give_way(slowest);
    return true;
}

/* 0, Busy, NoMemory. */
static int make_room(struct weir__exchange *x, uint64_t size)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (x->body_permits_count == WEIR__BODY_PERMITS)
        return -WEIR_E_TOO_LARGE;
    int result = weir_budget_try(&x->server->bodies, size - x->body_size, &permit);
    if (result < 0 && evict_slowest(x->conn))
        result = weir_budget_try(&x->server->bodies, size - x->body_size, &permit);
    if (result < 0)
        return -WEIR_E_BUSY; /* also for what is more than all of it */
    char *body = weir__base_realloc(x->body, 1, (size_t)size);
    if (!body) {
        weir_permit_release(&permit);
        return -WEIR_E_NO_MEMORY;
    }
    x->body_permits[x->body_permits_count] = (struct weir_permit)WEIR_PERMIT_NONE;
    weir_permit_move(&x->body_permits[x->body_permits_count++], &permit);
    x->body = body;
    x->body_size = (size_t)size;
    return 0;
}

/* Limits come from the server, the handler and the client's token: the one that applied is named.
 */
static void refuse_large(struct weir__exchange *x)
{
    char message[96];
    snprintf(message, sizeof(message), "the body is larger than the %llu bytes that are taken here",
             (unsigned long long)x->body_max);
    weir__reply_refusal(x, 413, -WEIR_E_TOO_LARGE, message, 0);
}

static int refuse(struct weir__exchange *x, int error)
{
    struct weir__server_loop *loop = x->conn->loop;
    if (error == -WEIR_E_TOO_LARGE) {
        refuse_large(x);
        return error;
    }
    loop->stats.refused[WEIR__REFUSED_BODIES]++;
    weir__reply_refusal(x, (unsigned)weir_error_http(error), error,
                        "there is no room for the body now", 1);
    return error;
}

int weir__exchange_take_body(struct weir__exchange *x, uint64_t max)
{
    uint64_t length = x->head.body_length, most = x->conn->loop->limits.body_max;
    x->body_max = max < most ? max : most;
    if (length != UINT64_MAX && length > x->body_max)
        return refuse(x, -WEIR_E_TOO_LARGE);
    if (length == UINT64_MAX)
        length = x->body_max + 1;
    int result = length == 0 ? 0 : make_room(x, length < FIRST ? length : FIRST);
    if (result < 0)
        return refuse(x, result);
    x->takes_body = true;
    return 0;
}

/* --- reading --- */

/* Refuses while the body is being read: the handler has it no more. */
static enum weir__step stop(struct weir__conn *conn, unsigned status, int code, const char *message)
{
    conn->exchange->takes_body = false; /* what is left of it is not read */
    weir__reply_refusal(conn->exchange, status, code, message, code == -WEIR_E_BUSY);
    return WEIR__STEP_ON;
}

/* Twice as much, up to what it can become. False: it was refused. */
static bool grow(struct weir__conn *conn, uint64_t most)
{
    struct weir__exchange *x = conn->exchange;
    uint64_t size = 2 * (uint64_t)x->body_size;
    int result = make_room(x, size < most ? size : most);
    if (result < 0) {
        conn->loop->stats.refused[WEIR__REFUSED_BODIES]++;
        (void)stop(conn, (unsigned)weir_error_http(result), result,
                   "there is no room for the body now");
    }
    return result == 0;
}

static enum weir__step append(struct weir__conn *conn, const char *run, size_t length)
{
    struct weir__exchange *x = conn->exchange;
    if (length > x->body_max - x->body_length) {
        x->takes_body = false; /* what is left of it is not read */
        refuse_large(x);
        return WEIR__STEP_ON;
    }
    while (x->body_length + length > x->body_size)
        if (!grow(conn, x->body_max))
            return WEIR__STEP_ON;
    memcpy(x->body + x->body_length, run, length);
    x->body_length += length;
    return WEIR__STEP_WAIT;
}

/* What lies in the input, as far as it belongs to this body; it is taken out there. ON: the body is
 * whole, or was refused. WAIT: more is needed. */
static enum weir__step take_chunks(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    const char *begin = x->input + x->head.length, *at = begin, *run;
    const char *end = x->input + x->input_length;
    enum weir__step step = WEIR__STEP_WAIT;
    size_t length;
    int result;
    do {
        result = weir__chunks_next(&x->chunks, &at, end, SIZE_MAX, &run, &length);
        if (result < 0) {
            conn->loop->stats.malformed++;
            return stop(conn, 400, -WEIR_E_INVALID, x->chunks.why);
        }
        step = length > 0 ? append(conn, run, length) : WEIR__STEP_WAIT;
    } while (result == 0 && length > 0 && step == WEIR__STEP_WAIT);
    x->bytes_in += (uint64_t)(at - begin);
    memmove(x->input + x->head.length, at, (size_t)(end - at));
    x->input_length -= (uint32_t)(at - begin);
    return result == 1 ? WEIR__STEP_ON : step;
}

static enum weir__step take_plain(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    char *begin = x->input + x->head.length;
    size_t there = x->input_length - x->head.length, want = x->body_size - x->body_length;
    size_t count = there < want ? there : want;
    if (count > 0) {
        memcpy(x->body + x->body_length, begin, count);
        memmove(begin, begin + count, there - count);
        x->input_length -= (uint32_t)count;
        x->body_length += count;
        x->bytes_in += count;
    }
    if (x->body_length == x->head.body_length)
        return WEIR__STEP_ON;
    if (x->body_length < x->body_size)
        return WEIR__STEP_WAIT;
    if (!grow(conn, x->head.body_length))
        return WEIR__STEP_ON;
    return there > count ? take_plain(conn) : WEIR__STEP_WAIT;
}

/* The rest of the body, straight into its place; of chunks, into the room behind the head. */
static ssize_t read_more(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    ssize_t got;
    if (x->head.is_chunked) {
        got = weir__conn_read(conn, x->input + x->input_length, x->input_size - x->input_length);
        x->input_length += got > 0 ? (uint32_t)got : 0;
    } else {
        got = weir__conn_read(conn, x->body + x->body_length, x->body_size - x->body_length);
        x->body_length += got > 0 ? (size_t)got : 0;
        x->bytes_in += got > 0 ? (uint64_t)got : 0;
    }
    conn->moved_bytes += got > 0 ? (uint64_t)got : 0;
    return got;
}

/* Chunks are read into what the head left of the input; a head that filled it needs a larger one.
 */
static bool has_room(struct weir__exchange *x)
{
    if (!x->head.is_chunked || x->input_size - x->head.length >= WEIR__CONN_INPUT / 2)
        return true;
    uint32_t size = x->head.length + WEIR__CONN_INPUT;
    char *input = weir__base_realloc(x->input == x->first ? NULL : x->input, 1, size);
    if (!input)
        return false;
    if (x->input == x->first)
        memcpy(input, x->first, x->input_length);
    x->input = input;
    x->input_size = size;
    return true;
}

static enum weir__step wait_readable(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    uint64_t until_ns = weir_time_add(loop->now_ns, loop->limits.read_ns);
    if (until_ns > conn->exchange->end_ns)
        until_ns = conn->exchange->end_ns;
    weir__timer_set(&loop->wheel, &conn->timer, until_ns);
    if (weir__conn_is_fast(conn))
        return WEIR__STEP_WAIT;
    loop->stats.timeouts[WEIR__OP_READ]++;
    return stop(conn, (unsigned)weir_error_http(WEIR_E_TIMEOUT_READ), -WEIR_E_TIMEOUT_READ,
                "the body comes too slowly");
}

enum weir__step weir__body_run(struct weir__conn *conn)
{
    struct weir__exchange *x = conn->exchange;
    if (!has_room(x))
        return stop(conn, 503, -WEIR_E_NO_MEMORY, NULL);
    for (;;) {
        enum weir__step step = x->head.is_chunked ? take_chunks(conn) : take_plain(conn);
        if (step == WEIR__STEP_ON)
            return step;
        if (!conn->can_read)
            return wait_readable(conn);
        ssize_t got = read_more(conn);
        if (got == -EAGAIN)
            return wait_readable(conn);
        if (got <= 0)
            return WEIR__STEP_CUT;
    }
}
