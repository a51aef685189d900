/* source_etcd.h - etcd v3, through its JSON gateway: records that last, and news of changes.
 *
 * What is told is durable when tell() returns, and replaces only what is older: the record that is
 * there is read and judged, and set anew by comparing its mod_revision. What is there and is no
 * good record (rubbish, forged) stands in nobody's way. Expiry is the records' own; there are no
 * leases: tend() goes over all providers, some pages at a time, and forgets those that expired an
 * hour ago. Names stay, since their sequence must not be forgotten.
 *
 * An ask wants what most members agree on. When none answers so in two thirds of the time (an
 * election, a lost quorum), it takes what one of them has: records are signed, and have sequences.
 *
 * Ownership: new and free; a source and a watch own their connections, and borrow the bindings.
 */
#ifndef WEIR_INDEX_SOURCE_ETCD_H
#define WEIR_INDEX_SOURCE_ETCD_H

#include <weir/crew.h>

#include "source.h"

struct weir__source_etcd_options {
    const char *const
        *urls; /* of members, as "http://10.0.0.7:2379"; WEIR__ETCD_ENDS_MAX at most */
    size_t urls_count;
    const char *prefix;  /* of all keys, 1 to WEIR__ETCD_PREFIX_MAX printable bytes */
    const char *ca_file; /* may be NULL */
    const struct weir__bindings *bindings; /* of names; may be NULL */
};

/* NULL, or what is wrong with a prefix. */
const char *weir__etcd_prefix_check(const char *prefix);

/* Invalid; Unsupported and why; NoMemory. */
WEIR_MUST_USE int weir__source_etcd_new(struct weir__source **ret_source,
                                        const struct weir__source_etcd_options *options,
                                        const char **ret_why);

struct weir__source_etcd_stats {
    uint64_t asked, told, there; /* already */
    uint64_t conflicts;
    uint64_t swaps_lost; /* somebody was faster, and it was tried again */
    uint64_t local;      /* asks that took what one member has */
    uint64_t moves;      /* to another member */
    uint64_t forgotten;  /* providers that had expired */
};
void weir__source_etcd_read(struct weir__source *source, struct weir__source_etcd_stats *ret_stats);

/* --- news --- */

struct weir__etcd_watch;

/* changed: by the watch's thread, with no lock held; it must not wait. NULL: anything may have
 * changed, since news were missed (at the start, and after a compaction); if it says that it could
 * not take that, by a negative code, it is told again after a delay. */
WEIR_MUST_USE int weir__etcd_watch_new(struct weir__etcd_watch **ret_watch,
                                       const struct weir__source_etcd_options *options,
                                       int (*changed)(void *arg,
                                                      const struct weir__question *question),
                                       void *arg, const char **ret_why);
/* Accepts NULL. Its thread has ended. */
void weir__etcd_watch_free(struct weir__etcd_watch *watch);
/* A member of the crew; arg is the watch. Goes on where it was after a connection has broken, with
 * the next member of the etcd, for ever. A stream that is silent for WEIR__ETCD_RENEW_NS is
 * renewed, so that a member which hangs or is cut off is not listened to for longer. */
int weir__etcd_watch_main(struct weir_crew_self *self, void *arg);

#define WEIR__ETCD_FIRST_NS (3 * WEIR_NS_PER_S) /* until the first line of a stream */
#define WEIR__ETCD_RENEW_NS (30 * WEIR_NS_PER_S)

struct weir__etcd_watch_stats {
    uint64_t streams, renewed, failed, compacted;
    uint64_t events, others;
    uint64_t next_revision; /* 0: not known */
    bool is_connected;
};
void weir__etcd_watch_read(struct weir__etcd_watch *watch,
                           struct weir__etcd_watch_stats *ret_stats);

#endif
