/* server.h - the HTTP/1.1 server: loops that read requests, ask a handler, and send its answers.
 *
 *     weir__server_new(&server, &options, &why)
 *     weir__server_listen(server, &(struct weir__listen){.address = "127.0.0.1:8470"}, &why)
 *     weir__server_start(server)             threads of the caller's crew, one for each loop
 *     ...
 *     weir__server_drain(server, &deadline)
 *     weir_crew_drain(crew, NULL)
 *     weir__server_free(server)
 *
 * A request is an exchange. When its head is whole, begin() is called. It answers, or takes the
 * body, or hands the exchange to another thread and returns. That thread calls
 * weir__exchange_post(), and the loop calls resume(). Whoever has an exchange has it until it
 * answers: an exchange whose client has gone stays valid, fires its token, and is answered like any
 * other; the answer goes nowhere. gone() ends every exchange that was begun, exactly once.
 *
 * Promises
 * - What two parsers could understand differently is refused with 400 and the connection is closed
 *   (head.h has the list). What is too long is 431, 414 or 413; nobody is cut off without a word,
 *   but for who does not listen.
 * - Callbacks run on the loop's thread with no lock held, and must not block: while one runs, all
 *   other connections of that loop wait.
 * - Requests of one connection are answered in their order, one at a time. What a client sends
 *   meanwhile stays in the kernel.
 * - Every state of a connection has a deadline: handshake, head, body, answer, idle. Body and
 * answer have a least rate besides. A request in the handler's hands has the handler's, which cuts
 * an answer that it cannot go on with (weir__exchange_cut).
 * - Posting never waits, never fails and needs no memory.
 * - A request that is answered from memory costs one recv and one send; from a file up to
 *   WEIR__SERVER_SMALL one pread more; a longer one sendfile. Nothing is allocated.
 *
 * Limits: connections in all and for each address, bodies in memory by one budget in bytes, heads,
 * headers, URLs. An idle connection costs its struct, 300 bytes, and what the kernel has.
 *
 * Whoever closes its end for writing after the request was begun counts as gone: its token fires.
 * The answer is tried all the same.
 *
 * Ownership: the server borrows the crew and the handler, which outlive it. An exchange belongs to
 * the server; texts and bytes of a request live until gone() returns. A piece of an answer is
 * borrowed until its release function is called, which is called exactly once, whatever happens.
 */
#ifndef WEIR_HTTP_SERVER_H
#define WEIR_HTTP_SERVER_H

#include <sys/socket.h>

#include <weir/admit.h>
#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/watch.h>

#include "client.h"

#define WEIR__SERVER_LOOPS_MAX     64u
#define WEIR__SERVER_LISTENERS_MAX 16u
#define WEIR__SERVER_TRUSTED_MAX   64u
#define WEIR__SERVER_HEADERS_MAX   64u
#define WEIR__SERVER_HEAD_LEAST    1024u
#define WEIR__SERVER_HEAD_MOST     65535u
#define WEIR__SERVER_SMALL         (16u << 10) /* bytes of a file that are copied with the head */
#define WEIR__SERVER_PIECES_MAX    512u        /* of an answer, before more() is asked */
#define WEIR__SERVER_REPLY_HEAD    4096u
#define WEIR__SERVER_CORR_MAX      64u
#define WEIR__SERVER_ADDRESS_SIZE  120u
#define WEIR__SERVER_LIST_SIZE     4096u
#define WEIR__SERVER_NO_RATE       UINT64_MAX
#define WEIR__SERVER_GRACE_NS      (5 * WEIR_NS_PER_S) /* of drain, for handlers after the cut */

struct weir__server;
struct weir__exchange;

/* What can change while the server runs. A zero stands for the default, which is in brackets. */
struct weir__server_limits {
    uint64_t read_ns;         /* a head from its first byte, a pause in a body, a handshake (5 s) */
    uint64_t write_ns;        /* without progress of an answer (5 s) */
    uint64_t idle_ns;         /* between requests (60 s) */
    uint64_t rate_min;        /* bytes a second of a body or an answer (1 KiB); NO_RATE: none */
    uint64_t rate_grace_ns;   /* before that counts (5 s) */
    uint64_t body_max;        /* of one request (1 MiB); the handler may take less */
    uint64_t body_memory;     /* of all requests together (256 MiB) */
    uint32_t head_max;        /* bytes (16 KiB) */
    uint32_t headers_max;     /* (64, which is also the most) */
    uint32_t url_max;         /* bytes (4 KiB) */
    uint32_t connections_max; /* (16384) */
    uint32_t per_address_max; /* connections (256); UINT32_MAX: as many as there may be */
};

/* What more() answers. Negative: the connection is cut, since the answer cannot be ended well. */
enum weir__more {
    WEIR__MORE_END,   /* that was all */
    WEIR__MORE_HERE,  /* pieces were added */
    WEIR__MORE_LATER, /* the handler has the exchange and will post it */
};

/* How an exchange ended. */
struct weir__exchange_end {
    unsigned status;   /* of the answer that was begun; 0: none */
    uint64_t bytes_in; /* head and body */
    uint64_t bytes_out;
    uint64_t took_ns; /* since the first byte of the request */
    bool is_whole;    /* the kernel has taken all of the answer */
};

struct weir__handler {
    /* Whether a request is let in that comes on a connection too many, and is the last of it. May
     * be NULL: none is. */
    bool (*is_urgent)(const struct weir__exchange *exchange);
    /* The head is whole. Answers, or calls weir__exchange_take_body(), or keeps the exchange. */
    void (*begin)(struct weir__exchange *exchange);
    /* The body that was taken is in memory (also the one of no bytes). Answers or keeps it. */
    void (*whole)(struct weir__exchange *exchange);
    /* It was posted. Answers or keeps it. */
    void (*resume)(struct weir__exchange *exchange);
    /* Of an answer with weir__reply_stream(): what was there has been sent. May be NULL. */
    int (*more)(struct weir__exchange *exchange);
    /* A part of a file is to be sent and is not in memory: the handler has the exchange, brings it
     * there on another thread, and posts. NULL: the loop waits for the disk. */
    void (*warm)(struct weir__exchange *exchange, int fd, uint64_t offset, uint64_t length);
    /* An answer that has begun cannot go on, and that is not the client's doing: a file cannot be
     * read (fd and offset say where) or is too short (Corrupt), or nothing can be sent (fd is -1).
     * The connection is cut and gone() follows. Must not wait. May be NULL. */
    void (*broke)(struct weir__exchange *exchange, int error, int fd, uint64_t offset);
    /* While the handler keeps it: the client has closed its sending side, and may still read; or is
     * gone, and nobody will hear an answer. Each is told once at most. Must not wait; it still is
     * to be posted or answered. May be NULL. */
    void (*left)(struct weir__exchange *exchange, bool is_gone);
    /* The end. Nothing of the exchange may be touched after this has returned. May be NULL. */
    void (*gone)(struct weir__exchange *exchange, const struct weir__exchange_end *end);
    /* The server itself has answered a request that was not begun, which it did not understand or
     * has no room for. The client and the correlation id may be asked for. May be NULL. */
    void (*refused)(struct weir__exchange *exchange, const struct weir__exchange_end *end);
};

struct weir__server_options {
    struct weir_crew *crew;
    const struct weir__handler *handler;
    void *arg;           /* weir__exchange_arg() */
    size_t private_size; /* of the handler's block in each exchange, zeroed for each request */
    uint32_t loops;      /* 0: one for each processor that the process may use */
    const char *name;    /* in Server:, NULL: "weir" */
    const char *const *trusted; /* proxies whose X-Forwarded-For counts: "10.0.0.0/8", "::1" */
    size_t trusted_count;
    struct weir__server_limits limits;
};

struct weir__listen {
    const char *address; /* "127.0.0.1:8470", "[::1]:0", "localhost:80", "unix:PATH" */
    uint32_t mode;       /* of a Unix socket; 0: 0600 */
    uint32_t backlog;    /* connections that the kernel keeps until they are accepted; 0: 4096 */
    bool is_tls;
};

/* --- life cycle --- */

/* NULL in ret_why is not allowed: it says in words what is wrong, also of listen and tls, and lives
 * until the next failure of this thread. Invalid, NoMemory, NoDescriptors, Io. */
WEIR_MUST_USE int weir__server_new(struct weir__server **ret_server,
                                   const struct weir__server_options *options,
                                   const char **ret_why);

/* Before start. A socket file that nobody answers at is replaced. Exists: somebody listens there.
 * The result is the number of the listener, or negative. */
WEIR_MUST_USE int weir__server_listen(struct weir__server *server,
                                      const struct weir__listen *listen, const char **ret_why);
/* A socket that listens already, which is the server's if this succeeds. */
WEIR_MUST_USE int weir__server_adopt(struct weir__server *server, int fd, bool is_tls,
                                     const char **ret_why);
/* Where it really listens, in the form of weir__listen. */
const char *weir__server_address(const struct weir__server *server, unsigned listener);

/* Certificate chain and key, PEM files. Also while the server runs: new connections have the new
 * one. On failure the old one stays. Loads OpenSSL the first time. */
WEIR_MUST_USE int weir__server_tls(struct weir__server *server, const char *cert_file,
                                   const char *key_file, const char **ret_why);

/* Whether the two could be used, without using them. */
WEIR_MUST_USE int weir__server_check_tls(const char *cert_file, const char *key_file,
                                         const char **ret_why);

/* Starts the loops. Invalid: a listener for TLS without a certificate. When it fails, some may
 * run: drain and free. */
WEIR_MUST_USE int weir__server_start(struct weir__server *server);

/* Connections that are kept in order to be told that they are refused, where the process may have
 * so many descriptors. */
uint64_t weir__server_refused_most(uint64_t descriptors);

/* From the next turn of each loop on. Invalid: a number out of its bounds, and nothing changes. */
WEIR_MUST_USE int weir__server_update(struct weir__server *server,
                                      const struct weir__server_limits *limits);

/* From here on answers close their connections and idle ones are closed; whoever connects is still
 * answered, as the handler likes (weir__exchange_is_draining), and not waited for but a moment.
 * When nothing from before is at work any more, or at the deadline, the listeners are closed, the
 * rest is cut and the loops end. 0; Timeout: some were cut. Busy: handlers have exchanges still,
 * WEIR__SERVER_GRACE_NS after the cut, and the server must not be freed. Waits. */
int weir__server_drain(struct weir__server *server, const struct weir_deadline *deadline);
/* Its two halves, for who has something to do before the rest is cut: until nothing is at work (0)
 * or the deadline has passed (Timeout); and the cut, with the result of all. */
int weir__server_quiesce(struct weir__server *server, const struct weir_deadline *deadline);
int weir__server_end(struct weir__server *server);

/* Accepts NULL. Asserts that the loops have ended. The crew has been drained before: a thread that
 * is about to return may be in the server still. */
void weir__server_free(struct weir__server *server);

/* --- a request --- */

void *weir__exchange_arg(const struct weir__exchange *exchange);
void *weir__exchange_private(struct weir__exchange *exchange);

enum weir__http_method weir__exchange_method(const struct weir__exchange *exchange);
/* Decoded, begins with '/', has no empty segment but the last, none of "." and "..", no control. */
const char *weir__exchange_path(const struct weir__exchange *exchange);
/* As it came, without the '?'; "" when there is none. */
const char *weir__exchange_query(const struct weir__exchange *exchange);
/* A part of it with its escapes decoded, ended by NUL. Invalid: one is none, or stands for NUL;
 * TooLarge: it does not fit. */
WEIR_MUST_USE int weir__query_decode(char *ret_text, size_t size, const char *part, size_t length);
/* Host and port that the client asks for; "" when it said none. */
const char *weir__exchange_host(const struct weir__exchange *exchange);
/* The value of the first header of that name, in letters of any case; NULL when there is none. */
const char *weir__exchange_header(const struct weir__exchange *exchange, const char *name);
/* All headers of that name as the one list that they mean. Where there are several, they are put
 * together in room; what does not fit there is no list that anybody accepts. NULL: there is none.
 */
const char *weir__exchange_list(const struct weir__exchange *exchange, const char *name,
                                char room[WEIR__SERVER_LIST_SIZE]);
/* The n-th header, false when there are fewer. Connection, Host and the like are among them. */
bool weir__exchange_header_at(const struct weir__exchange *exchange, size_t n,
                              struct weir__http_header *ret_header);
/* Of X-Corr-ID: the client's or ours. */
const char *weir__exchange_corr_id(const struct weir__exchange *exchange);
bool weir__exchange_is_http10(const struct weir__exchange *exchange);

/* In begin(): the body is wanted, up to max bytes (and the server's body_max), and whole() will be
 * called. Otherwise the server has answered and gone() follows: TooLarge (413), Busy (429: bodies
 * take up all the memory that they may). */
int weir__exchange_take_body(struct weir__exchange *exchange, uint64_t max);
/* What the head says: UINT64_MAX for one that comes in chunks, 0 for none. */
uint64_t weir__exchange_body_length(const struct weir__exchange *exchange);
/* Whether the head says anything of a body; 0 bytes are something. */
bool weir__exchange_has_length(const struct weir__exchange *exchange);
const void *weir__exchange_body(const struct weir__exchange *exchange, size_t *ret_length);

/* The other end of the connection, and the client: another one behind a trusted proxy. The port of
 * such a client is 0. */
const struct sockaddr_storage *weir__exchange_peer(const struct weir__exchange *exchange);
const struct sockaddr_storage *weir__exchange_client(const struct weir__exchange *exchange);
/* "127.0.0.1:4711", "[::1]:4711", "unix"; without the port where that is 0. */
void weir__address_text(const struct sockaddr_storage *address,
                        char text[WEIR__SERVER_ADDRESS_SIZE]);

/* What tells one client from another: all of an address of IPv4, the network of one of IPv6. 0: it
 * has none. */
size_t weir__address_key(const struct sockaddr_storage *address, uint8_t key[16]);

bool weir__exchange_is_tls(const struct weir__exchange *exchange);
bool weir__exchange_is_draining(const struct weir__exchange *exchange);
unsigned weir__exchange_listener(const struct weir__exchange *exchange);
uint64_t weir__exchange_connection(const struct weir__exchange *exchange); /* its number, from 1 */
uint64_t weir__exchange_arrived_ns(const struct weir__exchange *exchange);

/* How long the handler means to take; WEIR_NEVER until it is set. The server does nothing with it:
 * it is for those who wait on behalf of the exchange. */
void weir__exchange_set_deadline(struct weir__exchange *exchange, uint64_t at_ns);
/* When all of the answer is to have left; WEIR_NEVER until it is set. The connection is cut then.
 */
void weir__exchange_set_end(struct weir__exchange *exchange, uint64_t at_ns);
uint64_t weir__exchange_end_ns(const struct weir__exchange *exchange);
/* That time, with the exchange's token. To be asked first on the loop's thread. */
struct weir_deadline weir__exchange_deadline(struct weir__exchange *exchange);

/* --- another thread --- */

/* Has resume() called on the loop's thread. By any thread that has the exchange; posts that come
 * together are one. The exchange is the loop's from here on. */
void weir__exchange_post(struct weir__exchange *exchange);
/* The same with a function in place of resume(), which is called also of an answer that has begun.
 */
void weir__exchange_call(struct weir__exchange *exchange,
                         void (*fn)(struct weir__exchange *exchange, void *arg), void *arg);
/* Whether the head of an answer was given to the server. On the loop's thread. */
bool weir__exchange_is_answered(const struct weir__exchange *exchange);
/* In such a function, of an answer that has begun: it cannot be ended well. */
void weir__exchange_cut(struct weir__exchange *exchange);
/* Whether nobody waits for the answer any more. On the loop's thread; others ask the token. */
bool weir__exchange_is_gone(const struct weir__exchange *exchange);

/* --- an answer, on the loop's thread --- */

/* Errors in between (too many headers, no memory) are kept, and the answer that leaves then is that
 * error. Date, Server, X-Corr-ID, Content-Length and Connection are the server's. */
void weir__reply_begin(struct weir__exchange *exchange, unsigned status);
/* Asserts that there is no control character in the two. */
void weir__reply_header(struct weir__exchange *exchange, const char *name, const char *value);
/* Lines of the head as they leave, each with its end; of texts that stand in the program. */
void weir__reply_lines(struct weir__exchange *exchange, const char *lines, size_t length);
void weir__reply_header_u64(struct weir__exchange *exchange, const char *name, uint64_t value);
/* More of the body. release(arg) may be NULL. */
void weir__reply_bytes(struct weir__exchange *exchange, const void *bytes, size_t length,
                       void (*release)(void *arg), void *arg);
void weir__reply_copy(struct weir__exchange *exchange, const void *bytes, size_t length);

struct weir__reply_file {
    int fd;
    bool is_resident; /* it is known to be in memory; do not ask */
    uint64_t offset, length;
    void (*release)(void *arg);
    void *arg;
};
/* When the file is shorter than that the connection is cut. */
void weir__reply_file(struct weir__exchange *exchange, const struct weir__reply_file *file);

/* more() has the rest of the body. length is all of it; UINT64_MAX: nobody knows, it is sent in
 * chunks, or up to the end of the connection. */
void weir__reply_stream(struct weir__exchange *exchange, uint64_t length);
/* The connection is closed behind the answer. */
void weir__reply_close(struct weir__exchange *exchange);
/* The answer is complete as far as it is known. It leaves when the callback has returned. */
void weir__reply_send(struct weir__exchange *exchange);

/* All of it: status of the error table, the envelope {"error", "message", "corr_id"}, and
 * Retry-After where retry_s is not 0, and in any case with 429, 503, 504 and 507. message may be
 * NULL: the table's text. */
void weir__reply_error(struct weir__exchange *exchange, int code, const char *message,
                       unsigned retry_s);
/* The same with a status of its own: 405, 412, 431. Headers may be added between the two calls of
 * weir__reply_begin() and this, which then does not begin. */
void weir__reply_error_as(struct weir__exchange *exchange, unsigned status, int code,
                          const char *message, unsigned retry_s);
/* The same with members of JSON behind those of the envelope, as '"trace":[]'. */
void weir__reply_error_with(struct weir__exchange *exchange, unsigned status, int code,
                            const char *message, unsigned retry_s, const char *members,
                            size_t members_length);

/* "Not Found"; "" for a number that is not in the table. */
const char *weir__status_text(unsigned status);

/* Whether a part of a file is in memory, as far as the kernel tells (cachestat, Linux 6.5); true
 * where it does not. */
bool weir__file_is_resident(int fd, uint64_t offset, uint64_t length);

/* --- introspection --- */

enum weir__server_refusal {
    WEIR__REFUSED_CONNECTIONS, /* connections_max */
    WEIR__REFUSED_ADDRESS,     /* per_address_max */
    WEIR__REFUSED_DESCRIPTORS, /* no file descriptor */
    WEIR__REFUSED_MEMORY,
    WEIR__REFUSED_BODIES, /* body_memory; the request, not the connection */
    WEIR__REFUSED_COUNT
};

enum weir__server_op {
    WEIR__OP_READ,
    WEIR__OP_WRITE,
    WEIR__OP_IDLE,
    WEIR__OP_HANDSHAKE,
    WEIR__OP_COUNT
};

/* The counts only grow, but for open. Each loop's are those of its last turn. */
struct weir__server_stats {
    uint64_t open;
    uint64_t accepted;
    uint64_t closed; /* accepted = open + closed */
    uint64_t refused[WEIR__REFUSED_COUNT];
    uint64_t requests;     /* begun */
    uint64_t responses[6]; /* by the first digit of the status */
    uint64_t bytes_in, bytes_out;
    uint64_t timeouts[WEIR__OP_COUNT];
    uint64_t malformed; /* requests that were refused before the handler saw them */
    uint64_t aborted;   /* answers that did not leave whole */
    uint64_t truncated; /* a file was too short or could not be read; an error, or aborted */
    uint64_t handshakes, handshakes_failed;
    uint64_t drained, cut; /* connections that ended in a drain: by themselves, and not */
    uint64_t accept_errors;
};

void weir__server_read(struct weir__server *server, struct weir__server_stats *ret_stats);

/* What it is made of, for who describes or measures it. Borrowed, while the server is there. */
struct weir__server_parts {
    struct weir_admit *addresses, *refused;
    struct weir_budget *bodies; /* bytes */
    struct weir_watch *limits, *phase, *progress;
};
void weir__server_parts(struct weir__server *server, struct weir__server_parts *ret_parts);

unsigned weir__server_loops(const struct weir__server *server);

#endif
