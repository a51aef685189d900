/* etcd_ends.h - the members of an etcd, asked in turn until one answers.
 *
 * A member that has failed is asked last from then on. Each gets its share of the time that is
 * left, so that one which hangs leaves some for the others.
 *
 * Ownership: init and fini on the caller's memory; it owns its connections.
 */
#ifndef WEIR_INDEX_ETCD_ENDS_H
#define WEIR_INDEX_ETCD_ENDS_H

#include <weir/lock.h>

#include "source_http.h"

#define WEIR__ETCD_ENDS_MAX 8u
#define WEIR__ETCD_BODY_MAX (1u << 20)

struct weir__etcd_ends {
    struct weir__http_client *client;
    char (*base)[WEIR__SOURCE_URL];
    size_t count;
    bool has_lock;
    struct weir_lock lock; /* guards what follows */
    size_t first;          /* who is asked first */
    uint64_t moves;        /* times that this changed */
};

/* Invalid: none, too many, or one that is no URL; Unsupported; NoMemory; and why. */
WEIR_MUST_USE int weir__etcd_ends_init(struct weir__etcd_ends *ends, const char *const *urls,
                                       size_t count, const char *ca_file, const char **ret_why);
/* Accepts zeroed and half-built ones. */
void weir__etcd_ends_fini(struct weir__etcd_ends *ends);

/* Who is asked first; and that it is another one from now on, if it is still that one. */
size_t weir__etcd_ends_first(struct weir__etcd_ends *ends);
void weir__etcd_ends_move(struct weir__etcd_ends *ends, size_t failed);

/* POST of a body to a path; the answer is in said, which is emptied before. The last error when all
 * have failed. Waits. */
WEIR_MUST_USE int weir__etcd_ends_call(struct weir__etcd_ends *ends, const char *path,
                                       const struct weir__buffer *body, struct weir__buffer *said,
                                       const struct weir_deadline *deadline);

#endif
