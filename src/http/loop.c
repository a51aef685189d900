/* loop.c - a thread of the server: it waits for its descriptors, its mail and its timers in one
 * place, epoll_wait(), a second at most, and never elsewhere.
 *
 * The mailbox is a list under a lock. Whoever puts something in while the loop is about to sleep,
 * or sleeps, wakes it by its eventfd. That is edge-triggered and never read: the count in it only
 * grows. Counts are shown to others by a copy that is made when the mailbox is looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>

#include "alloc.h"
#include "server_part.h"
#include "sys.h"

#include "banned.h"

#define EVENTS_MAX 128
#define SLEEP_MS   1000
#define NS_PER_MS  UINT64_C(1000000)

const struct weir_lock_class weir__mail_class = {"http-mail", 660};

/* --- life cycle --- */

static int watch_mail(struct weir__server_loop *loop)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = loop};
    loop->epoll_fd = WEIR__SYS(int, epoll_create1(EPOLL_CLOEXEC));
    loop->wake_fd =
        loop->epoll_fd < 0 ? -1 : WEIR__SYS(int, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (loop->wake_fd >= 0)
        loop->reserve_fd = weir__sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);
    if (loop->reserve_fd < 0 ||
        weir__sys_epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &event) < 0)
        return weir_error_from_errno(errno);
    return 0;
}

int weir__loop_new(struct weir__server_loop **ret_loop, struct weir__server *server,
                   unsigned number)
{
    struct weir__server_loop *loop = weir__base_alloc(1, sizeof(*loop));
    if (!loop)
        return -WEIR_E_NO_MEMORY;
    loop->source = WEIR__SOURCE_MAIL;
    loop->server = server;
    loop->number = number;
    loop->epoll_fd = loop->wake_fd = loop->reserve_fd = -1;
    loop->listen_at_ns = WEIR_NEVER;
    loop->mail_end = &loop->mail;
    loop->stamp_s = -1;
    weir_lock_init(&loop->lock, &weir__mail_class);
    weir__wheel_init(&loop->wheel, weir_now_ns());
    loop->scratch = weir__base_realloc(NULL, 1, WEIR__LOOP_SCRATCH);
    int result = loop->scratch ? watch_mail(loop) : -WEIR_E_NO_MEMORY;
    if (result == 0 && WEIR__SYS(ssize_t, getrandom(loop->random, sizeof(loop->random), 0)) < 0)
        result = weir_error_from_errno(errno);
    if (result < 0) {
        weir__loop_free(loop);
        return result;
    }
    loop->random[0] |= 1; /* all zero would stay so */
    *ret_loop = loop;
    return 0;
}

void weir__loop_drop(struct weir__server_loop *loop, struct weir__conn *conn)
{
    if (!conn->is_tls)
        weir__loop_tell(loop, conn->fd, -WEIR_E_DRAINING);
    weir__sys_close(conn->fd);
    weir_admit_release(&conn->ticket);
    weir__server_leave(loop->server, conn);
    weir__base_free(conn);
}

void weir__loop_free(struct weir__server_loop *loop)
{
    if (!loop)
        return;
    while (loop->arrivals) {
        struct weir__conn *conn = loop->arrivals;
        loop->arrivals = conn->ready_next;
        weir__loop_drop(loop, conn);
    }
    while (loop->spare) {
        struct weir__exchange *x = loop->spare;
        loop->spare = x->spare_next;
        weir__exchange_free(x);
    }
    weir__sys_close(loop->epoll_fd);
    weir__sys_close(loop->wake_fd);
    weir__sys_close(loop->reserve_fd);
    weir_lock_fini(&loop->lock);
    weir__base_free(loop->scratch);
    weir__base_free(loop);
}

/* xoroshiro128+: numbers of requests need to differ, not to be secret. */
uint64_t weir__loop_random(struct weir__server_loop *loop)
{
    uint64_t a = loop->random[0], b = loop->random[1], result = a + b;
    b ^= a;
    loop->random[0] = (a << 24 | a >> 40) ^ b ^ (b << 16);
    loop->random[1] = b << 37 | b >> 27;
    return result;
}

void weir__loop_corr_id(struct weir__server_loop *loop, char text[WEIR__LOOP_CORR_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (int half = 0; half < 2; half++) {
        uint64_t bits = weir__loop_random(loop);
        for (int i = 0; i < 16; i++, bits >>= 4)
            text[half * 16 + i] = digits[bits & 15];
    }
    text[32] = '\0';
}

/* --- mail --- */

void weir__loop_wake(struct weir__server_loop *loop)
{
    const uint64_t one = 1;
    /* Cannot fail before 2^64 - 1 wakes, and must not be made to. */
    ssize_t written = write(loop->wake_fd, &one, sizeof(one));
    (void)written;
}

bool weir__loop_send(struct weir__server_loop *loop, struct weir__conn *conn)
{
    conn->loop = loop;
    weir_lock_acquire(&loop->lock);
    bool is_there = !loop->has_ended;
    if (is_there) {
        conn->ready_next = loop->arrivals;
        loop->arrivals = conn;
    }
    bool wakes = is_there && loop->is_asleep;
    loop->is_asleep = loop->is_asleep && !wakes;
    weir_lock_release(&loop->lock);
    if (wakes)
        weir__loop_wake(loop);
    return is_there;
}

/* Whoever was handed over behind the last look at the mail is not served any more, and nobody is
 * handed over from here on. */
static void end_arrivals(struct weir__server_loop *loop)
{
    weir_lock_acquire(&loop->lock);
    struct weir__conn *arrivals = loop->arrivals;
    loop->arrivals = NULL;
    loop->has_ended = true;
    for (struct weir__conn *conn = arrivals; conn; conn = conn->ready_next) {
        loop->stats.closed++;
        loop->stats.drained++;
    }
    loop->published = loop->stats;
    weir_lock_release(&loop->lock);
    while (arrivals) {
        struct weir__conn *conn = arrivals;
        arrivals = conn->ready_next;
        weir__loop_drop(loop, conn);
    }
}

/* Whether there was any; if not, and nothing else is to be done, the loop will sleep. */
static bool take_mail(struct weir__server_loop *loop)
{
    weir_lock_acquire(&loop->lock);
    struct weir__exchange *mail = loop->mail;
    struct weir__conn *arrivals = loop->arrivals;
    loop->mail = NULL;
    loop->mail_end = &loop->mail;
    loop->arrivals = NULL;
    loop->is_asleep = !mail && !arrivals && !loop->ready;
    for (struct weir__exchange *x = mail; x; x = x->mail_next)
        x->is_posted = false;
    loop->published = loop->stats;
    weir_lock_release(&loop->lock);
    bool has_any = mail || arrivals;
    while (arrivals) {
        struct weir__conn *conn = arrivals;
        arrivals = conn->ready_next;
        weir__conn_begin(loop, conn);
    }
    while (mail) {
        struct weir__exchange *x = mail;
        mail = x->mail_next;
        weir__conn_resume(x);
    }
    return has_any;
}

void weir__loop_again(struct weir__server_loop *loop, struct weir__conn *conn)
{
    if (conn->is_ready)
        return;
    conn->is_ready = true;
    conn->ready_next = loop->ready;
    loop->ready = conn;
}

/* --- a turn --- */

/* Server and Date, as they stand in every answer of this second. */
static void make_stamp(struct weir__server_loop *loop)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t now_s = weir_wall_s();
    time_t at = (time_t)now_s;
    struct tm tm;
    if (now_s == loop->stamp_s || !gmtime_r(&at, &tm))
        return;
    int length =
        snprintf(loop->stamp, sizeof(loop->stamp),
                 "Server: %s\r\nDate: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n",
                 loop->server->name, days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon,
                 tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
    loop->stamp_length = (uint32_t)length;
    loop->stamp_s = now_s;
}

static void take_limits(struct weir__server_loop *loop)
{
    struct weir_watch *watch = &loop->server->limits;
    if (weir_watch_version(watch) == loop->limits_version)
        return;
    weir_watch_get(watch, &loop->limits, &loop->limits_version);
    loop->head_limits = (struct weir__head_limits){.head_max = loop->limits.head_max,
                                                   .url_max = loop->limits.url_max,
                                                   .headers_max = loop->limits.headers_max};
}

static enum weir__phase phase_of(struct weir__server_loop *loop, const struct weir_crew_self *self)
{
    uint64_t phase;
    weir_watch_get(&loop->server->phase, &phase, NULL);
    return weir_cancel_is_fired(self->stop) ? WEIR__PHASE_ENDING : (enum weir__phase)phase;
}

uint64_t weir__conn_patience_ns(const struct weir__conn *conn)
{
    uint64_t read_ns = conn->loop->limits.read_ns;
    uint64_t ns = conn->is_served || conn->loop->is_deaf ? WEIR__LATE_NS : WEIR__REFUSED_NS;
    return ns < read_ns ? ns : read_ns;
}

static void expect_soon(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    weir__timer_set(&loop->wheel, &conn->timer,
                    weir_time_add(loop->now_ns, weir__conn_patience_ns(conn)));
}

/* Connections between two requests have a moment for one more, which may be on its way: their
 * client could not know. Those that were never asked for anything, or that TLS is not agreed upon
 * with yet, have as long for that as who comes later. */
static void begin_drain(struct weir__server_loop *loop)
{
    struct weir__conn *next;
    loop->is_draining = true;
    /* A connection ends itself alone, so that the next one is there still. */
    for (struct weir__conn *conn = loop->conns; conn; conn = next) {
        next = conn->next;
        if (conn->state == WEIR__CONN_HANDSHAKE)
            expect_soon(conn);
        if (conn->state == WEIR__CONN_LINGER)
            weir__server_settled(loop->server, conn);
        if (conn->state != WEIR__CONN_IDLE)
            continue;
        conn->can_read = true;
        if (weir__conn_run(conn) && conn->state == WEIR__CONN_IDLE && !conn->refusal)
            expect_soon(conn);
    }
}

/* Who came to a drain and is about to be told so loses nothing that was begun for him. */
static bool is_at_work(const struct weir__conn *conn)
{
    return !conn->is_late && conn->state != WEIR__CONN_HANDSHAKE &&
           conn->state != WEIR__CONN_IDLE && conn->state != WEIR__CONN_LINGER;
}

/* Nothing was said to him, and his request may have come, or be on its way. Between two requests an
 * answer that nobody asked for would be wrong. */
static bool is_unheard(const struct weir__conn *conn)
{
    return (conn->state == WEIR__CONN_IDLE && !conn->is_served) || conn->state == WEIR__CONN_HEAD ||
           conn->state == WEIR__CONN_REST;
}

static void cut_all(struct weir__server_loop *loop)
{
    struct weir__conn *next;
    for (struct weir__conn *conn = loop->conns; conn; conn = next) {
        next = conn->next;
        if (conn->state == WEIR__CONN_DEAD)
            continue;
        bool is_cut = is_at_work(conn);
        loop->stats.cut += is_cut;
        loop->stats.drained -= is_cut; /* which cutting counts */
        if (is_unheard(conn))
            weir__conn_tell(conn, -WEIR_E_DRAINING);
        weir__conn_cut(conn);
    }
}

static void run_ready(struct weir__server_loop *loop)
{
    struct weir__conn *list = loop->ready;
    /* Each is taken out before it runs; what it adds is for the next turn. */
    struct weir__conn *last = NULL;
    loop->ready = NULL;
    for (struct weir__conn *conn = list; conn; conn = last) {
        last = conn->ready_next;
        conn->is_ready = false;
        weir__conn_run(conn);
    }
}

static void run_timers(struct weir__server_loop *loop)
{
    struct weir__timer *timer;
    while ((timer = weir__wheel_due(&loop->wheel, loop->now_ns)))
        weir__conn_timeout(
            (struct weir__conn *)((char *)timer - offsetof(struct weir__conn, timer)));
    if (loop->listen_at_ns <= loop->now_ns)
        weir__loop_listen(loop, true);
}

static int sleep_ms(const struct weir__server_loop *loop, bool is_busy)
{
    uint64_t next_ns = weir__wheel_next_ns(&loop->wheel);
    if (loop->listen_at_ns < next_ns)
        next_ns = loop->listen_at_ns;
    if (is_busy || next_ns <= loop->now_ns)
        return 0;
    uint64_t ms = (next_ns - loop->now_ns + NS_PER_MS - 1) / NS_PER_MS;
    return ms < SLEEP_MS ? (int)ms : SLEEP_MS;
}

static void handle(struct weir__server_loop *loop, const struct epoll_event *event)
{
    const enum weir__source *source = event->data.ptr;
    if (*source == WEIR__SOURCE_CONN)
        weir__conn_event(event->data.ptr, event->events);
    else if (*source == WEIR__SOURCE_LISTENER)
        weir__loop_accept(loop, event->data.ptr);
}

static void wake_loop(void *arg)
{
    weir__loop_wake(arg);
}

static void stop_listening(struct weir__server_loop *loop)
{
    weir__loop_accept_rest(loop);
    loop->is_deaf = true;
    for (struct weir__conn *conn = loop->conns; conn; conn = conn->next)
        if (conn->state == WEIR__CONN_IDLE || conn->state == WEIR__CONN_HANDSHAKE)
            expect_soon(conn);
    weir__server_loop_deaf(loop->server);
}

int weir__loop_run(struct weir_crew_self *self, void *arg)
{
    struct weir__server_loop *loop = arg;
    struct weir_cancel_hook hook = {0};
    struct epoll_event events[EVENTS_MAX];
    bool is_busy = true;
    loop->now_ns = weir_now_ns();
    take_limits(loop);
    make_stamp(loop);
    weir__loop_listen(loop, true);
    weir_cancel_on(self->stop, &hook, wake_loop, loop);
    for (;;) {
        int count = weir__sys_epoll_wait(loop->epoll_fd, events, EVENTS_MAX,
                                         sleep_ms(loop, is_busy || loop->ready));
        enum weir__phase phase = phase_of(loop, self);
        loop->now_ns = weir_now_ns();
        make_stamp(loop);
        take_limits(loop);
        for (int i = 0; i < count; i++)
            handle(loop, &events[i]);
        if (phase != WEIR__PHASE_SERVING && !loop->is_draining)
            begin_drain(loop); /* not before the events, which point to connections */
        if (phase >= WEIR__PHASE_CLOSING && !loop->is_deaf)
            stop_listening(loop);
        run_ready(loop);
        run_timers(loop);
        if (phase == WEIR__PHASE_ENDING)
            cut_all(loop);
        is_busy = take_mail(loop);
        if (phase == WEIR__PHASE_ENDING && !loop->conns && !is_busy)
            break;
    }
    weir_cancel_off(&hook);
    end_arrivals(loop);
    weir__server_loop_ended(loop->server);
    return 0;
}
