/* storage.h - the storage service: a chunk store behind HTTP, inside the limits of its
 * configuration.
 *
 *     weir__storage_new(&storage, config, &why)      opens the store and the sockets
 *     weir__storage_start(storage)                   and serves from here on
 *     weir__storage_ask_to_reload(storage)           has somebody read it anew, who calls
 *     weir__storage_reload(storage, config)          another snapshot of the configuration
 *     weir__storage_drain(storage, &end)             stops taking in, finishes, then aborts
 *     weir__storage_free(storage)
 *
 * Who does what: loops (of the server) read requests, judge them, and answer by themselves what was
 * verified and is in memory. Everything else is a job: it waits in the line of the readers or of
 * the writers (`work`, 512 each; Busy beyond), or, for the pieces of a long answer, in that of the
 * streams. Health has a thread of its own. A clock answers jobs whose deadline has passed, even
 * when a disk does not come back. Repairs are planned and worked off at their own pace. Events go
 * to a bus, from which the audit log is written.
 *
 * Promises
 * - A request is admitted, or refused with the reason and when to come back, before anything is
 * done for it: capability, address, rate, requests at once, place in line, in this order.
 * - Health, readiness, version and metrics wait for none of that.
 * - A drain answers whoever comes (503), finishes what is there until drain_deadline, and counts
 * what had to be aborted.
 *
 * Ownership: the service owns its store, its threads and its sockets; the configuration is borrowed
 * by reference until the next one.
 */
#ifndef WEIR_STORAGE_STORAGE_H
#define WEIR_STORAGE_STORAGE_H

#include <weir/crew.h>

#include "config.h"

struct weir__storage;

#define WEIR__STORAGE_WHY_MAX 512u

struct weir__storage_options {
    struct weir__config *config; /* of weir__storage_schema */
    const char *version;         /* what /version says */
    const int *sockets;          /* that listen already, or NULL */
    size_t sockets_count;
    /* By a thread of the service, for weir__storage_ask_to_reload(): reads a configuration and
     * calls weir__storage_reload(). NULL: nobody asks. */
    void (*reload)(void *arg);
    /* During a drain, now and then, by who has called it: whether drain_deadline is not to be
     * waited for any more. NULL: it is. */
    bool (*is_hurried)(void *arg);
    void *arg; /* of these */
};

/* Errors as of the store and the server; Invalid for what does not fit together. */
WEIR_MUST_USE int weir__storage_new(struct weir__storage **ret_storage,
                                    const struct weir__storage_options *options,
                                    char why[WEIR__STORAGE_WHY_MAX]);
/* Accepts NULL. After a drain, or before a start. Timeout: the disk holds up a thread, nothing is
 * freed, and the process is to leave; what was not acknowledged may be missing. Io: all is freed,
 * and the store has no mark that it was closed. Incomplete: the same, and it is not whole. Waits
 * for drain_deadline and some seconds at most. */
int weir__storage_free(struct weir__storage *storage);

WEIR_MUST_USE int weir__storage_start(struct weir__storage *storage,
                                      char why[WEIR__STORAGE_WHY_MAX]);
/* Takes over what can change, reads keys and certificates anew, and makes none. On failure all
 * stays as it was. */
WEIR_MUST_USE int weir__storage_reload(struct weir__storage *storage, struct weir__config *config,
                                       char why[WEIR__STORAGE_WHY_MAX]);
/* Has options.reload called soon. One at a time: what is asked for meanwhile, however often, is one
 * more behind it. Does not wait. By any thread. */
void weir__storage_ask_to_reload(struct weir__storage *storage);
/* How long the one that is under way has taken by now; 0: none is. */
uint64_t weir__storage_reloading_ns(struct weir__storage *storage);
/* Whether somebody writes and the disk has not answered for WEIR__STORAGE_HANGS_NS, as long as a
 * request waits unless it says otherwise. */
#define WEIR__STORAGE_HANGS_NS (10 * WEIR_NS_PER_S)
bool weir__storage_disk_hangs(struct weir__storage *storage);
/* What a drain did not bring to its end. A request may have been cut with its connection and be one
 * of the next two as well. */
struct weir__storage_end {
    uint64_t cut;        /* connections with a request under way */
    uint64_t stopped;    /* requests that a worker was at when the time was up */
    uint64_t dropped;    /* requests that were in line and never begun */
    uint64_t aborted;    /* threads that were told to give up */
    uint64_t abandoned;  /* of these: that did not, and are left behind */
    uint64_t unrepaired; /* damaged chunks that the next start does not know of */
};
/* 0, or Timeout when something had to be aborted; repairs that are left are no such thing. ret_end
 * may be NULL. Waits for drain_deadline and some seconds at most. */
int weir__storage_drain(struct weir__storage *storage, struct weir__storage_end *ret_end);
/* The same as a signal: the supervisor is told to drain. By any thread. */
void weir__storage_ask_to_stop(struct weir__storage *storage);
/* Replaces members that have ended before their time. To be called now and then by one thread. */
void weir__storage_tend(struct weir__storage *storage);
/* Waits until somebody asks for that: Canceled then; or Timeout. */
int weir__storage_wait(struct weir__storage *storage, uint64_t ns);

/* Where it listens; NULL beyond the last. */
const char *weir__storage_address(const struct weir__storage *storage, unsigned listener);
/* Lines about how the folder was found, and what others may get at; "" when there is nothing to
 * tell. */
const char *weir__storage_findings(const struct weir__storage *storage);

/* --- what it is made of, for its page of documentation --- */

struct weir__buffer;
/* Tables of threads, channels, locks, times and limits as Markdown, from what is registered in this
 * process and by a service that was started. Mismatch: something has no description, or a
 * description has nothing; the buffer then says which. */
WEIR_MUST_USE int weir__storage_topology(struct weir__storage *storage,
                                         struct weir__buffer *buffer);

#endif
