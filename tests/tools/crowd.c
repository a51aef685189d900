/* crowd.c - many clients at once, and what became of each of their requests.
 *
 *     crowd PORT CONNECTIONS SECONDS PATHS [NAME=VALUE]...
 *
 *     put=PERCENT     of the requests are uploads of new objects (0)
 *     size=BYTES      of an upload (65536)
 *     range=BYTES     of an object are asked for; 0: all of it (0)
 *     pause=MS        that who was refused stays away; 0: asks again at once (0)
 *     think=MS        between an answer and the next request (0)
 *     addresses=N     clients come from 127.0.0.1 to 127.0.0.N (1)
 *     seed=N          of what is uploaded (1)
 *
 * PATHS has a path in each line, which are asked for in turn. One thread, one request at a time on
 * each connection, connections are kept where the server lets them. When the time is over no
 * request is begun any more, and those under way are waited for. Prints one line of JSON:
 *
 *     good            2xx, whole, within the time
 *     refused         429; of these without Retry-After: rude
 *     wrong           any other status; the last of them: status
 *     reset, cut      connections that ended in the middle of an exchange, by RST or FIN
 *     unanswered      requests that nobody has answered in the end
 *     p50_ms ...      of the good ones, from the first byte of the request to the last of the
 * answer
 *
 * It knows as much of HTTP as that needs. Bodies are counted and thrown away.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "banned.h"

#define HEAD_MAX   512u
#define ANSWER_MAX 4096u
#define STAMP      16u
#define PATCH      (1u << 18) /* that is read at once */
#define EVENTS     256
#define TURN_MS    2
#define PATIENCE_S 30 /* with answers that are still missing at the end */
#define NS_PER_S   UINT64_C(1000000000)
#define NS_PER_MS  UINT64_C(1000000)

enum state { CLOSED, CONNECTS, IDLE, ASKS };

struct client {
    int fd;
    enum state state;
    unsigned number;
    uint64_t begin_ns, rest_until_ns;
    size_t head_length, body_length, sent; /* of the request */
    size_t got;                            /* of the answer's head */
    uint64_t left;                         /* of its body */
    unsigned status;
    bool is_writing, has_head, closes, is_told;
    unsigned char stamp[STAMP];
    char head[HEAD_MAX], answer[ANSWER_MAX + 1];
};

static struct {
    uint64_t port, connections, seconds, put, size, range, pause, think, addresses, seed;
} options = {.size = 65536, .addresses = 1, .seed = 1};

static struct {
    uint64_t good, bytes, refused, rude, wrong, reset, cut, connects, failed_connects, late;
    unsigned status;
} counts;

static char **paths;
static size_t paths_count, path_next;
static unsigned char *material;
static struct client *clients;
static int epoll_fd;
static uint64_t now, end_ns, asked, *took_ns;
static size_t took_count, took_size;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void *must(void *memory)
{
    if (!memory)
        err(1, "no memory");
    return memory;
}

static void note(uint64_t ns)
{
    if (took_count == took_size) {
        took_size = took_size ? 2 * took_size : 65536;
        took_ns = must(realloc(took_ns, took_size * sizeof(*took_ns)));
    }
    took_ns[took_count++] = ns;
}

/* --- connections --- */

static void watch(struct client *client, int how, bool is_writing)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (is_writing ? EPOLLOUT : 0u),
                                .data.ptr = client};
    if (how == EPOLL_CTL_MOD && client->is_writing == is_writing)
        return;
    client->is_writing = is_writing;
    if (epoll_ctl(epoll_fd, how, client->fd, &event) != 0)
        err(1, "cannot watch a connection");
}

static void drop(struct client *client)
{
    close(client->fd);
    client->fd = -1;
    client->state = CLOSED;
}

static void open_one(struct client *client)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)options.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in from = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK + client->number % (uint32_t)options.addresses)};
    int yes = 1;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (client->fd < 0)
        err(1, "cannot make a socket");
    (void)setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)setsockopt(client->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
    if (options.addresses > 1 && bind(client->fd, (struct sockaddr *)&from, sizeof(from)) != 0)
        err(1, "cannot come from another address");
    counts.connects++;
    client->state = CONNECTS;
    if (connect(client->fd, (struct sockaddr *)&to, sizeof(to)) != 0 && errno != EINPROGRESS) {
        counts.failed_connects++;
        drop(client);
        client->rest_until_ns = now + 10 * NS_PER_MS;
        return;
    }
    watch(client, EPOLL_CTL_ADD, true);
}

/* --- requests --- */

static void send_more(struct client *client)
{
    size_t all = client->head_length + client->body_length;
    while (client->sent < all) {
        size_t at = client->sent, count = 0;
        struct iovec pieces[3];
        if (at < client->head_length)
            pieces[count++] = (struct iovec){client->head + at, client->head_length - at};
        at = at < client->head_length ? 0 : at - client->head_length;
        if (client->body_length > 0 && at < STAMP)
            pieces[count++] = (struct iovec){client->stamp + at, STAMP - at};
        at = at < STAMP ? STAMP : at;
        if (client->body_length > at)
            pieces[count++] = (struct iovec){material + at, client->body_length - at};
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
        ssize_t sent = sendmsg(client->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            break;
        if (sent < 0) { /* the answer may be there nevertheless: reading will tell */
            client->sent = all;
            break;
        }
        client->sent += (size_t)sent;
    }
    watch(client, EPOLL_CTL_MOD, client->sent < all);
}

static void ask(struct client *client)
{
    /* Spread evenly over all requests. */
    bool is_put = (asked + 1) * options.put / 100 > asked * options.put / 100;
    char range[64] = "";
    int length;
    asked++;
    if (is_put) {
        memcpy(client->stamp, &asked, sizeof(asked));
        memcpy(client->stamp + 8, &options.seed, 8);
        length =
            snprintf(client->head, HEAD_MAX,
                     "POST /o HTTP/1.1\r\nHost: localhost\r\nContent-Length: %" PRIu64 "\r\n\r\n",
                     options.size);
    } else {
        if (options.range > 0)
            snprintf(range, sizeof(range), "Range: bytes=0-%" PRIu64 "\r\n", options.range - 1);
        length = snprintf(client->head, HEAD_MAX, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
                          paths[path_next++ % paths_count], range);
    }
    client->head_length = (size_t)length;
    client->body_length = is_put ? options.size : 0;
    client->sent = client->got = 0;
    client->left = 0;
    client->status = 0;
    client->has_head = client->closes = client->is_told = false;
    client->begin_ns = now_ns();
    client->state = ASKS;
    send_more(client);
}

/* What is next for it, if it is time. */
static void go_on(struct client *client)
{
    if (now >= end_ns || now < client->rest_until_ns)
        return;
    if (client->state == CLOSED)
        open_one(client);
    else if (client->state == IDLE)
        ask(client);
}

/* --- answers --- */

static const char *field(const struct client *client, const char *name)
{
    const char *found = strcasestr(client->answer, name);
    return found ? found + strlen(name) : NULL;
}

/* Whether the head is whole. What lies behind it is of the body. */
static bool take_head(struct client *client)
{
    char *end = strstr(client->answer, "\r\n\r\n");
    if (!end)
        return false;
    size_t length = (size_t)(end - client->answer) + 4;
    end[2] = '\0';
    client->has_head = true;
    client->status = (unsigned)strtoul(client->answer + 9, NULL, 10);
    const char *size = field(client, "\r\nContent-Length:"),
               *ending = field(client, "\r\nConnection:");
    client->left = size ? strtoull(size, NULL, 10) : 0;
    client->closes = ending && strncasecmp(ending, " close", 6) == 0;
    client->is_told = field(client, "\r\nRetry-After:") != NULL;
    client->left -= client->got - length;
    return true;
}

static void conclude(struct client *client)
{
    uint64_t took = now_ns() - client->begin_ns, rest = options.think;
    if (client->status / 100 == 2) {
        counts.good += now < end_ns;
        counts.late += now >= end_ns;
        note(took);
    } else if (client->status == 429) {
        counts.refused++;
        counts.rude += !client->is_told;
        rest = options.pause;
    } else {
        counts.wrong++;
        counts.status = client->status;
    }
    client->rest_until_ns = rest ? now + rest * NS_PER_MS : 0;
    client->state = IDLE;
    if (client->closes)
        drop(client);
    else
        watch(client, EPOLL_CTL_MOD, false);
    go_on(client);
}

static void lose(struct client *client, bool is_reset)
{
    if (client->state == ASKS && is_reset)
        counts.reset++;
    else if (client->state == ASKS)
        counts.cut++;
    drop(client);
    go_on(client);
}

static void read_more(struct client *client)
{
    static char patch[PATCH];
    for (;;) {
        bool is_head = !client->has_head;
        char *to = is_head ? client->answer + client->got : patch;
        size_t room = is_head ? ANSWER_MAX - client->got : PATCH;
        ssize_t got = recv(client->fd, to, room, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            lose(client, got < 0);
            return;
        }
        counts.bytes += (uint64_t)got;
        if (client->state != ASKS) /* said without having been asked: there are too many */
            client->state = ASKS;
        if (is_head) {
            client->got += (size_t)got;
            client->answer[client->got] = '\0';
            if (!take_head(client) && client->got == ANSWER_MAX)
                errx(1, "a head that is too long");
        } else {
            client->left -= (uint64_t)got;
        }
        if (client->has_head && client->left == 0) {
            conclude(client);
            return;
        }
    }
}

static void handle(struct client *client, uint32_t events)
{
    if (client->state == CONNECTS) {
        int error = 0;
        socklen_t size = sizeof(error);
        getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error) {
            counts.failed_connects++;
            client->rest_until_ns = now + 10 * NS_PER_MS;
            drop(client);
            return;
        }
        client->state = IDLE;
        client->got = 0;
        client->has_head = false;
        watch(client, EPOLL_CTL_MOD, false);
        go_on(client);
        return;
    }
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        read_more(client);
    if ((events & EPOLLOUT) && client->state == ASKS)
        send_more(client);
}

/* --- the whole --- */

static bool is_waited_for(void)
{
    for (size_t i = 0; i < options.connections; i++)
        if (clients[i].state == ASKS)
            return true;
    return false;
}

static void run(void)
{
    uint64_t begin_ns = now_ns(), tended_ns = 0;
    end_ns = begin_ns + options.seconds * NS_PER_S;
    for (;;) {
        struct epoll_event events[EVENTS];
        now = now_ns();
        if (now >= end_ns + PATIENCE_S * NS_PER_S || (now >= end_ns && !is_waited_for()))
            return;
        if (now >= tended_ns + TURN_MS * NS_PER_MS) {
            tended_ns = now;
            for (size_t i = 0; i < options.connections; i++)
                go_on(&clients[i]);
        }
        int count = epoll_wait(epoll_fd, events, EVENTS, TURN_MS);
        now = now_ns();
        for (int i = 0; i < count; i++)
            handle(events[i].data.ptr, events[i].events);
    }
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static double percentile(unsigned percent)
{
    return took_count ? (double)took_ns[(took_count - 1) * percent / 100] / 1e6 : 0;
}

static void print(void)
{
    uint64_t unanswered = 0;
    for (size_t i = 0; i < options.connections; i++)
        unanswered += clients[i].state == ASKS;
    qsort(took_ns, took_count, sizeof(*took_ns), compare);
    printf("{\"good\": %" PRIu64 ", \"per_s\": %.1f, \"bytes\": %" PRIu64 ", \"refused\": %" PRIu64
           ", \"rude\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"status\": %u, \"reset\": %" PRIu64
           ", \"cut\": %" PRIu64 ", \"unanswered\": %" PRIu64 ", \"late\": %" PRIu64
           ", \"connects\": %" PRIu64 ", \"failed_connects\": %" PRIu64
           ", \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}\n",
           counts.good, (double)counts.good / (double)options.seconds, counts.bytes, counts.refused,
           counts.rude, counts.wrong, counts.status, counts.reset, counts.cut, unanswered,
           counts.late, counts.connects, counts.failed_connects, percentile(50), percentile(99),
           percentile(100));
}

static uint64_t number_of(const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno || end == text || *end)
        errx(1, "'%s' is no number", text);
    return value;
}

static void take_option(char *text)
{
    const struct {
        const char *name;
        uint64_t *value;
    } known[] = {{"put=", &options.put},     {"size=", &options.size},
                 {"pause=", &options.pause}, {"think=", &options.think},
                 {"seed=", &options.seed},   {"addresses=", &options.addresses},
                 {"range=", &options.range}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t length = strlen(known[i].name);
        if (strncmp(text, known[i].name, length) == 0) {
            *known[i].value = number_of(text + length);
            return;
        }
    }
    errx(1, "what is '%s'?", text);
}

static void read_paths(const char *name)
{
    FILE *file = fopen(name, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    if (!file)
        err(1, "cannot open '%s'", name);
    while ((length = getline(&line, &size, file)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        paths = must(realloc(paths, (paths_count + 1) * sizeof(*paths)));
        paths[paths_count++] = must(strdup(line));
    }
    free(line);
    fclose(file);
    if (paths_count == 0)
        errx(1, "'%s' has no path", name);
}

static void make_material(void)
{
    uint64_t state = options.seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    if (options.size < STAMP)
        errx(1, "uploads have at least %u bytes", STAMP);
    material = must(malloc(options.size));
    for (size_t i = 0; i < options.size; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        material[i] = (unsigned char)(state >> 56);
    }
}

int main(int argc, char **argv)
{
    struct rlimit files;
    if (argc < 5)
        errx(1, "usage: crowd PORT CONNECTIONS SECONDS PATHS [NAME=VALUE]...");
    options.port = number_of(argv[1]);
    options.connections = number_of(argv[2]);
    options.seconds = number_of(argv[3]);
    read_paths(argv[4]);
    for (int i = 5; i < argc; i++)
        take_option(argv[i]);
    make_material();
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    clients = must(calloc(options.connections, sizeof(*clients)));
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0)
        err(1, "cannot wait for anything");
    for (size_t i = 0; i < options.connections; i++) {
        clients[i].number = (unsigned)i;
        clients[i].fd = -1;
    }
    run();
    print();
    return 0;
}
