/* serve.h - a text for whoever asks for it over HTTP: the metrics of a program that runs.
 *
 *     weir__serve_open(&serve, "127.0.0.1:9400", &why)      the port is ours from here on
 *     weir__serve_start(serve, &page)                       and is answered from here on
 *     weir__serve_close(serve)
 *
 * One path is known; GET and HEAD of it are answered with the text as it is then, everything else
 * with a status that says why not. Each connection gets one answer and is closed.
 *
 * Limits: one connection is served at a time, WEIR__SERVE_WAITING more wait in the kernel's line,
 * those beyond are not answered by it. A request has WEIR__SERVE_HEAD_BYTES and
 * WEIR__SERVE_TIME_NS, its answer the same time again and WEIR__SERVE_TEXT_BYTES; who is slower is
 * let go. One thread.
 *
 * Ownership: the page is borrowed until weir__serve_close().
 */
#ifndef WEIR_HTTP_SERVE_H
#define WEIR_HTTP_SERVE_H

#include <weir/deadline.h>
#include <weir/error.h>

#include "buffer.h"

#define WEIR__SERVE_WAITING    8
#define WEIR__SERVE_HEAD_BYTES 8192u
#define WEIR__SERVE_TIME_NS    (2 * WEIR_NS_PER_S)
#define WEIR__SERVE_TEXT_BYTES (4u << 20)
#define WEIR__SERVE_NAME_SIZE  96u

struct weir__serve;

struct weir__serve_page {
    const char *path; /* "/metrics" */
    const char *type; /* as HTTP states it */
    /* Appends the text. An error is answered as such. Called by the thread that serves. */
    int (*write)(void *arg, struct weir__buffer *text, const struct weir_deadline *deadline);
    void *arg;
};

/* address: a number of IPv4, or one of IPv6 in brackets, or localhost; a colon; a port, of which 0
 * lets the system choose. Invalid: it is none of these. Exists: somebody has the port. What else
 * the system says; and why, in words. */
WEIR_MUST_USE int weir__serve_open(struct weir__serve **ret_serve, const char *address,
                                   const char **ret_why);
/* Where it listens, "127.0.0.1:9400". */
const char *weir__serve_name(const struct weir__serve *serve);
/* Once. NoMemory, or what starting a thread failed with. */
WEIR_MUST_USE int weir__serve_start(struct weir__serve *serve, const struct weir__serve_page *page);
/* Whoever is being served is let go. Accepts NULL. */
void weir__serve_close(struct weir__serve *serve);

#endif
