/* storage.h - the storage service: a chunk store behind HTTP, inside the limits of its
 * configuration.
 *
 *     weir__daemon_new(&daemon, &weir__storage_service, &options, why)
 *
 * and then as any daemon (daemon.h), with a configuration of weir__storage_schema.
 *
 * Who does what: loops (of the server) read requests, judge them, and answer by themselves what was
 * verified and is in memory. Everything else is a job: it waits in the line of the readers or of
 * the writers (`work`, 512 each; Busy beyond), or, for the pieces of a long answer, in that of the
 * streams. Health has a thread of its own. A clock answers jobs whose deadline has passed, even
 * when a disk does not come back. Repairs are planned and worked off at their own pace. Events go
 * to a bus, from which the audit log is written.
 *
 * Promises: those of the daemon. What is left at the end of a drain is damaged chunks that the next
 * start does not know of. Freeing it tells how the store was closed: Timeout, the disk holds up a
 * thread, and what was not acknowledged may be missing; Io, the store has no mark that it was
 * closed; Incomplete, the same, and it is not whole. It waits for some seconds at most.
 *
 * Ownership: the service owns its store; the rest is the daemon's.
 */
#ifndef WEIR_STORAGE_STORAGE_H
#define WEIR_STORAGE_STORAGE_H

#include "daemon.h"

extern const struct weir__daemon_service weir__storage_service;

/* Whether somebody writes and the disk has not answered for WEIR__STORAGE_HANGS_NS, as long as a
 * request waits unless it says otherwise. */
#define WEIR__STORAGE_HANGS_NS (10 * WEIR_NS_PER_S)
bool weir__storage_disk_hangs(struct weir__daemon *daemon);

#endif
