/* pace.c - whether whoever is sent an answer takes it.
 *
 * What the kernel has accepted is not what the client has: some megabytes may lie between the two,
 * and the socket is writable again when a third of them have gone. So who takes a hundred KiB a
 * second is not heard of for half a minute. While an answer waits for room, what is left in the
 * socket is looked at, four times in write_ns: when it has not become less for all of write_ns, or
 * does so too slowly, the client is given up; and at the end that the answer has in any case.
 *
 *     waits        look          look          look          look
 *     taken_ns     first, last   last          last          now - taken_ns >= write_ns: the end
 */
#include <sys/socket.h>

#include "server_part.h"
#include "sys.h"

#include "banned.h"

#define LOOKS 4 /* in write_ns */

static void look_later(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    uint64_t at_ns = weir_time_add(loop->now_ns, loop->limits.write_ns / LOOKS);
    if (at_ns > conn->exchange->end_ns)
        at_ns = conn->exchange->end_ns;
    weir__timer_set(&loop->wheel, &conn->timer, at_ns);
}

void weir__pace_wait(struct weir__conn *conn)
{
    conn->taken_ns = conn->loop->now_ns;
    look_later(conn);
}

/* Of this answer, since it first had to wait. */
static bool is_fast(const struct weir__conn *conn)
{
    const struct weir__server_limits *limits = &conn->loop->limits;
    uint64_t took_ns = conn->loop->now_ns - conn->look_ns;
    return took_ns <= limits->rate_grace_ns || limits->rate_min == WEIR__SERVER_NO_RATE ||
           (uint64_t)(conn->taken - conn->first_taken) / limits->rate_min >=
               took_ns / WEIR_NS_PER_S;
}

bool weir__pace_is_kept(struct weir__conn *conn)
{
    uint64_t now_ns = conn->loop->now_ns;
    int left = weir__sys_unsent(conn->fd);
    if (left < 0)
        return false;
    /* Below zero while what lies there is of an answer before this one. */
    int64_t taken = (int64_t)conn->exchange->sent - left;
    if (conn->look_ns == 0) {
        conn->look_ns = now_ns;
        conn->first_taken = conn->taken = taken;
    } else if (taken > conn->taken) {
        conn->taken = taken;
        conn->taken_ns = now_ns;
    }
    if (now_ns - conn->taken_ns >= conn->loop->limits.write_ns || !is_fast(conn) ||
        now_ns >= conn->exchange->end_ns)
        return false;
    look_later(conn);
    return true;
}

/* Closed as usual, the kernel would keep what was not taken, and offer it for as long as somebody
 * answers its probes. */
void weir__pace_give_up(struct weir__conn *conn)
{
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    conn->loop->stats.timeouts[WEIR__OP_WRITE]++;
    (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}
