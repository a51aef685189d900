/* index_service.h - the index service: what a name means, and who provides it, over HTTP.
 *
 *     weir__daemon_new(&daemon, &weir__index_service, &options, why)      and the rest of daemon.h
 *
 * A request is answered by its loop when the answer is in the cache and fresh. Otherwise a resolver
 * joins the lookup of that question, or begins it. docs/index.md has the routes,
 * docs/concurrency-index.md the threads and what they share.
 *
 * Promises
 * - What is served is signed by a key that may speak for it, has not expired, and is not older than
 *   what was seen before; what is not so is marked as stale, or not served.
 * - A change is on the disk, and seen by whoever asks afterwards, when it is acknowledged.
 * - A request is answered within dht.deadline_ms, and one tick of the clock.
 *
 * Ownership: as daemon.h says.
 */
#ifndef WEIR_INDEX_INDEX_SERVICE_H
#define WEIR_INDEX_INDEX_SERVICE_H

#include "daemon.h"

extern const struct weir__daemon_service weir__index_service;

#endif
