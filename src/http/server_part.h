/* server_part.h - what the files of the server share; nobody else includes this.
 *
 *   server.c      life cycle, limits, draining, counts
 *   listen.c      addresses and listening sockets
 *   loop.c        a thread: its descriptors, its mail, its timers
 *   accept.c      new connections, and what they are refused for
 *   connection.c  a connection: its states, what it reads, its end
 *   body.c        bodies of requests
 *   exchange_of.c what handlers ask of a request
 *   reply.c       answers, as they are put together
 *   send.c        answers, as they leave
 *   peer.c        addresses of clients and proxies
 *   head.c, target.c, chunks.c   parsers; wheel.c   timers; tls.c   TLS
 *
 * A connection belongs to one loop, and everything in it and in its exchange is touched by that
 * loop's thread alone, but for the mail: `mail_next`, `is_posted`, `call`, `call_arg` are the
 * mailbox's, under its lock. Descriptors are edge-triggered and registered once for both ways;
 * `can_read` and `can_write` remember what epoll said last.
 *
 *     HANDSHAKE -> IDLE -> HEAD -> BODY -> WORK -> SEND -> IDLE ...
 *                    |       |       |              |
 *                    |       +-------+--> SEND -----+--> LINGER -> (closed)
 *                    +-> (closed)
 *
 * A connection that ends while the handler has its exchange is DEAD until it comes back.
 *
 * Locks: `http-server` (655) guards the number of connections of each loop and the certificate;
 * `http-mail` (660) a loop's mailbox. They are never held together, nor across a callback.
 *
 * Ownership: a connection belongs to its loop, an exchange to its connection or to the loop's list
 * of spare ones.
 */
#ifndef WEIR_HTTP_SERVER_PART_H
#define WEIR_HTTP_SERVER_PART_H

#include <sys/uio.h>

#include <weir/admit.h>
#include <weir/budget.h>
#include <weir/watch.h>

#include "chunks.h"
#include "head.h"
#include "server.h"
#include "wheel.h"

#define WEIR__CONN_INPUT     4096u       /* the first buffer for a head */
#define WEIR__CONN_SMALL     1024u       /* copies of small bodies */
#define WEIR__CONN_PIECES    6u          /* without an allocation */
#define WEIR__LOOP_SCRATCH   (64u << 10) /* bytes of files on their way */
#define WEIR__LOOP_CORR_SIZE 33u
#define WEIR__LOOP_SPARE     64u                 /* exchanges that are kept */
#define WEIR__LOOP_TURN      16u                 /* requests of one connection before others come */
#define WEIR__SEND_TURN      (UINT64_C(2) << 20) /* bytes, likewise */
#define WEIR__LINGER_BYTES   (UINT64_C(4) << 20)
#define WEIR__BODY_PERMITS   24u /* 64 KiB that were doubled so often are more than there can be */
/* Who is refused for now (429) and asks again at once costs as much as somebody who is served. When
 * a loop has told so many in WEIR__REST_NS, all others are told after as long: each connection
 * costs five refusals a second then, whatever its client does. */
#define WEIR__REST_FREE 16u
#define WEIR__REST_NS   (WEIR_NS_PER_S / 5)
#define WEIR__LINGER_NS (2 * WEIR_NS_PER_S)
/* Connections that are kept in order to be told why they are refused: so many at once, of which an
 * address has a quarter, and never more than a part of the descriptors. All others are told without
 * being listened to. */
#define WEIR__REFUSING_MAX   1024u
#define WEIR__REFUSING_SHARE 4u
#define WEIR__REFUSING_PART  8u
#define WEIR__REFUSED_NS     (1 * WEIR_NS_PER_S) /* for these to ask for what is urgent */
#define WEIR__LATE_NS        (WEIR_NS_PER_S / 4) /* for who comes last in a drain, to be told */
#define WEIR__STAMP_SIZE     128u

struct weir__tls;
struct weir__server_loop;

/* What an event of epoll is about: the first member of what it points to. */
enum weir__source {
    WEIR__SOURCE_CONN,
    WEIR__SOURCE_LISTENER,
    WEIR__SOURCE_MAIL,
};

enum weir__conn_state {
    WEIR__CONN_HANDSHAKE,
    WEIR__CONN_IDLE, /* no byte of a request is there, and no exchange */
    WEIR__CONN_HEAD,
    WEIR__CONN_BODY,
    WEIR__CONN_WORK, /* the handler has it */
    WEIR__CONN_REST, /* it is refused, and will be told in a moment */
    WEIR__CONN_SEND,
    WEIR__CONN_LINGER, /* all was said; what still comes is dropped, so that the answer arrives */
    WEIR__CONN_DEAD,
};

struct weir__piece {
    const char *bytes; /* NULL: of a file */
    int fd;
    bool is_resident;
    uint64_t offset, length; /* of what is left */
    void (*release)(void *arg);
    void *arg;
};

struct weir__conn {
    enum weir__source source;
    enum weir__conn_state state;
    struct weir__conn *next, *prev; /* of the loop */
    struct weir__conn *ready_next;  /* to be looked at in the next turn; or in the mailbox */
    struct weir__timer timer;
    struct weir__server_loop *loop;
    struct weir__exchange *exchange; /* NULL when idle */
    void *tls;                       /* of OpenSSL's */
    uint64_t id;
    uint64_t since_ns;          /* of what the least rate is asked for, or the timer */
    uint64_t moved_bytes;       /* since then */
    uint64_t taken_ns;          /* when the client last took something of an answer that waits */
    uint64_t look_ns;           /* when that was first looked at; 0: not yet */
    int64_t taken, first_taken; /* bytes of the answer, at the last look and at the first */
    int fd;
    uint16_t listener;
    uint16_t refusal; /* 0, or the status that is all it gets */
    bool is_greedy;   /* and that is for its address */
    bool can_read, can_write;
    bool has_ended; /* the client will send no more */
    bool is_ready;  /* in the loop's list */
    bool is_trusted;
    bool is_tls;
    bool is_served;       /* it has had an answer */
    bool is_counted;      /* among the server's connections, not among those that are refused */
    bool is_late;         /* it came while draining, or was told all: no drain waits for it */
    uint32_t tls_pending; /* bytes of a write that OpenSSL wants to see again */
    struct weir_admit_ticket ticket;
    struct sockaddr_storage peer;
};

struct weir__exchange {
    struct weir__conn *conn;
    struct weir__server *server;
    struct weir__exchange *spare_next;

    /* the request */
    struct weir__head head;
    char *input; /* `first`, or an allocation */
    uint32_t input_size, input_length;
    uint64_t arrived_ns;
    struct sockaddr_storage client; /* when has_client */
    char corr_id[WEIR__SERVER_CORR_MAX + 1];
    char *body;
    size_t body_size, body_length;
    uint64_t body_max;
    struct weir_permit body_permits[WEIR__BODY_PERMITS]; /* one for each time that it grew */
    uint32_t body_permits_count;
    struct weir__chunks chunks;
    uint64_t bytes_in;

    /* the handler's */
    uint64_t deadline_ns;
    uint64_t end_ns; /* of the answer */
    struct weir_cancel token;
    bool has_token;
    bool has_client;
    bool is_begun;   /* gone() will be called */
    bool takes_body; /* the handler wants it */
    bool is_held;    /* the handler has it, and will post or answer */
    bool is_gone;
    bool is_sent;    /* weir__reply_send() was called */
    bool is_cut;     /* the answer cannot be ended */
    bool has_wanted; /* warm() was asked for the piece in turn */

    /* the mail, under the lock of the loop's box */
    struct weir__exchange *mail_next;
    bool is_posted;
    void (*call)(struct weir__exchange *exchange, void *arg);
    void *call_arg;

    /* the answer */
    unsigned status;
    int reply_error;
    bool closes;     /* the connection, behind it */
    bool streams;    /* more() has the rest */
    bool is_chunked; /* it is sent in chunks */
    bool is_bare;    /* HEAD, 204, 304: no body */
    uint64_t length; /* of a stream; UINT64_MAX: not known */
    uint64_t queued; /* bytes of pieces so far */
    uint64_t sent;   /* bytes of everything */
    uint32_t out_length, out_sent;
    const char *tail; /* behind the pieces */
    uint32_t tail_length, tail_sent;
    uint32_t pieces_count, pieces_first, pieces_size;
    struct weir__piece *pieces; /* `few`, or an allocation */
    struct weir__piece few[WEIR__CONN_PIECES];
    uint32_t small_length;
    char small[WEIR__CONN_SMALL];
    char out[WEIR__SERVER_REPLY_HEAD];
    char first[WEIR__CONN_INPUT];
    _Alignas(16) char private_block[];
};

struct weir__listener {
    enum weir__source source;
    int fd;
    unsigned number;
    bool is_tls, is_unix, is_ours; /* ours: the socket file is removed at the end */
    bool is_adopted;
    char address[WEIR__SERVER_ADDRESS_SIZE];
};

struct weir__network {
    uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned bits;
};

struct weir__server_loop {
    enum weir__source source; /* of its mail */
    struct weir__server *server;
    unsigned number;
    int epoll_fd, wake_fd, reserve_fd;
    bool is_listening;
    bool is_draining;      /* it has told its idle connections */
    bool is_deaf;          /* it takes nobody any more */
    uint64_t listen_at_ns; /* when accepting goes on; WEIR_NEVER: it is going on */
    uint64_t now_ns;       /* of this turn */
    int64_t stamp_s;       /* second that the stamp is of */
    char stamp[WEIR__STAMP_SIZE];
    uint32_t stamp_length;
    uint64_t random[2];
    uint64_t limits_version;
    struct weir__server_limits limits;
    struct weir__head_limits head_limits;
    struct weir__conn *conns, *ready;
    struct weir__exchange *spare;
    uint32_t spare_count;
    uint32_t busy_count; /* refusals for now, since busy_since_ns */
    uint64_t busy_since_ns;
    uint64_t evicted_ns; /* when the slowest body was last looked for */
    struct weir__server_stats stats;
    char *scratch;
    struct weir__wheel wheel;

    struct weir_lock lock; /* guards the mailbox, which follows */
    struct weir__exchange *mail, **mail_end;
    struct weir__conn *arrivals;
    bool is_asleep;
    bool has_ended; /* nothing is taken out any more */
    struct weir__server_stats published;
};

/* How far the loops are, for who waits. */
struct weir__progress {
    uint64_t running; /* loops */
    uint64_t open;    /* connections; told while draining alone */
    uint64_t old;     /* of these: from before the drain */
    uint64_t hearing; /* loops that take connections */
};

enum weir__phase {
    WEIR__PHASE_SERVING,
    WEIR__PHASE_DRAINING,
    WEIR__PHASE_CLOSING, /* nobody else is taken; who came last is told */
    WEIR__PHASE_ENDING,  /* what is left is cut */
};

struct weir__server {
    struct weir__server_options options;
    char name[64];
    struct weir__network trusted[WEIR__SERVER_TRUSTED_MAX];
    struct weir__listener listeners[WEIR__SERVER_LISTENERS_MAX];
    unsigned listeners_count;
    unsigned loops_count;
    struct weir__server_loop *loops[WEIR__SERVER_LOOPS_MAX];
    unsigned started;
    struct weir_admit admit;
    struct weir_admit refused; /* those that are kept, by address */
    struct weir_budget bodies;
    struct weir_watch limits;   /* of struct weir__server_limits */
    struct weir_watch phase;    /* of uint64_t */
    struct weir_watch progress; /* of struct weir__progress */
    uint64_t refusing_max;
    uint64_t refusing_fd_max; /* beyond it descriptors are too few to keep who is refused */
    bool has_admit, has_refused, has_bodies, has_limits, has_phase, has_progress;

    struct weir_lock lock; /* guards what follows */
    struct weir__tls *tls;
    uint64_t open[WEIR__SERVER_LOOPS_MAX];
    uint64_t open_all;
    uint64_t open_late; /* of these: came while draining */
    bool is_draining;
    uint64_t refusing;
    uint64_t running, hearing; /* loops */
    uint64_t next_id;
};

/* --- server.c --- */
/* 0 and the loop that is to have a new connection, or why it is refused. */
WEIR_MUST_USE int weir__server_admit(struct weir__server *server, uint32_t connections_max,
                                     struct weir__conn *conn, unsigned *ret_loop);
/* It is one of those that are kept until they are told that they are refused; false: there are too
 * many, in all, of this address, or for the descriptors. */
bool weir__server_admit_refused(struct weir__server *server, struct weir__conn *conn);
void weir__server_leave(struct weir__server *server, const struct weir__conn *conn);
/* It was told all: a drain does not wait for it. */
void weir__server_settled(struct weir__server *server, struct weir__conn *conn);
void weir__server_loop_ended(struct weir__server *server);
/* A loop takes nobody any more. With the last one the kernel refuses newcomers. */
void weir__server_loop_deaf(struct weir__server *server);

/* --- loop.c --- */
extern const struct weir_lock_class weir__mail_class;
WEIR_MUST_USE int weir__loop_new(struct weir__server_loop **ret_loop, struct weir__server *server,
                                 unsigned number);
void weir__loop_free(struct weir__server_loop *loop);
int weir__loop_run(struct weir_crew_self *self, void *arg);
void weir__loop_wake(struct weir__server_loop *loop);
/* How long one that may ask is waited for in a drain: less if it has asked before, or nobody else
 * is let in any more. */
uint64_t weir__conn_patience_ns(const struct weir__conn *conn);
/* Hands a connection over; false: the loop has ended. */
bool weir__loop_send(struct weir__server_loop *loop, struct weir__conn *conn);
/* One that was never begun; it is told that the server drains. */
void weir__loop_drop(struct weir__server_loop *loop, struct weir__conn *conn);
/* The connection is looked at again in the next turn. */
void weir__loop_again(struct weir__server_loop *loop, struct weir__conn *conn);
uint64_t weir__loop_random(struct weir__server_loop *loop);
/* A name for a request that has none. */
void weir__loop_corr_id(struct weir__server_loop *loop, char text[WEIR__LOOP_CORR_SIZE]);

/* --- accept.c --- */
/* True: there may be more. */
bool weir__loop_accept(struct weir__server_loop *loop, const struct weir__listener *listener);
/* Takes whoever the kernel has kept so far, and nobody from there on. */
void weir__loop_accept_rest(struct weir__server_loop *loop);
/* Begins or stops to look at the listening sockets. */
void weir__loop_listen(struct weir__server_loop *loop, bool is_on);
/* Blindly, with nothing but the error, before a socket is closed. What the client has sent is
 * thrown away. */
void weir__loop_tell(struct weir__server_loop *loop, int fd, int code);
/* The same by TLS too, as soon as that is agreed upon. */
void weir__conn_tell(struct weir__conn *conn, int code);

/* --- connection.c --- */
/* The loop's from here on. */
void weir__conn_begin(struct weir__server_loop *loop, struct weir__conn *conn);
void weir__conn_event(struct weir__conn *conn, uint32_t events);
/* Goes on as far as it can. False: the connection was cut. */
bool weir__conn_run(struct weir__conn *conn);
void weir__conn_timeout(struct weir__conn *conn);
void weir__conn_resume(struct weir__exchange *exchange);
/* Closes it. When the handler has its exchange it is DEAD, otherwise gone. */
void weir__conn_cut(struct weir__conn *conn);
/* Its body is not waited for any more: it is told so in the next turn. */
void weir__conn_give_way(struct weir__conn *conn);
/* One that is one too many is told so. */
void weir__conn_count_refusal(struct weir__server_loop *loop, const struct weir__conn *conn);
/* Bytes read, 0 at the end, negative errno: -EAGAIN when there are none. */
ssize_t weir__conn_read(struct weir__conn *conn, char *bytes, size_t size);
/* Whether what moved since since_ns is as fast as it must be. */
bool weir__conn_is_fast(const struct weir__conn *conn);

/* --- pace.c --- */

/* An answer waits for room in the socket: sets the timer. */
void weir__pace_wait(struct weir__conn *conn);
/* The timer has come: whether the client takes the answer, fast enough. Sets it again. */
bool weir__pace_is_kept(struct weir__conn *conn);
/* It does not, and what lies in the socket is thrown away with it. Counts; the caller cuts. */
void weir__pace_give_up(struct weir__conn *conn);

/* --- exchange_life.c --- */
/* One for the connection's next request, empty. NULL: there is no memory. */
struct weir__exchange *weir__exchange_take(struct weir__conn *conn);
/* As if it were new, but for what has come of the next request. */
void weir__exchange_reset(struct weir__exchange *exchange, struct weir__conn *conn);
void weir__exchange_give(struct weir__conn *conn);
void weir__exchange_free(struct weir__exchange *exchange);

/* --- body.c --- */
enum weir__step {
    WEIR__STEP_WAIT, /* for the socket or the handler */
    WEIR__STEP_ON,   /* the state has changed */
    WEIR__STEP_CUT,
};
enum weir__step weir__body_run(struct weir__conn *conn);
void weir__body_free(struct weir__exchange *exchange);

/* --- send.c --- */
enum weir__step weir__send_run(struct weir__conn *conn);
void weir__send_release(struct weir__exchange *exchange);
/* A few bytes at once, outside of an answer; false: not all of them went. */
bool weir__send_now(struct weir__conn *conn, const char *bytes, size_t length);

/* --- reply.c --- */
/* Of the server itself: the connection closes behind it. */
void weir__reply_refusal(struct weir__exchange *exchange, unsigned status, int code,
                         const char *message, unsigned retry_s);
/* The pieces become one chunk: its size in front of them, its end behind. */
void weir__reply_frame(struct weir__exchange *exchange);
/* A text for those who are told without an exchange. */
size_t weir__reply_canned(int code, const char *corr_id, char *text, size_t size);

/* --- peer.c --- */
WEIR_MUST_USE int weir__network_parse(struct weir__network *network, const char *text);
bool weir__network_has(const struct weir__server *server, const struct sockaddr_storage *address);
/* The client behind proxies, by X-Forwarded-For. False: it is not well formed. */
bool weir__peer_forwarded(const struct weir__exchange *exchange,
                          struct sockaddr_storage *ret_client);

/* --- listen.c --- */
void weir__listeners_close(struct weir__server *server);
/* Whoever connects from here on is refused by the kernel; but for sockets that were handed over,
 * which are not ours alone, and at which the next service takes those who wait. */
void weir__listeners_refuse(struct weir__server *server);

/* --- tls.c --- */
WEIR_MUST_USE int weir__tls_open(struct weir__conn *conn);
void weir__tls_close(struct weir__conn *conn);
/* 1: done; 0: wait; negative: failed. */
int weir__tls_handshake(struct weir__conn *conn);
ssize_t weir__tls_read(struct weir__conn *conn, char *bytes, size_t size);
ssize_t weir__tls_write(struct weir__conn *conn, const char *bytes, size_t size);
void weir__tls_end(struct weir__conn *conn);
void weir__tls_free(struct weir__tls *tls);

#endif
