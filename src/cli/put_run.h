/* put_run.h - files into a storage service: read by one thread, sent by several.
 *
 *     weir__put_start(&put, &options)
 *     while ((result = weir__put_next(put, &file, &deadline)) != -WEIR_E_CLOSED) ...
 *     weir__put_free(put)
 *
 * Promises
 * - What the service has is not sent: it is asked first, for up to 64 chunks at a time.
 * - The root of a manifest is sent last, when all that it stands for is there.
 * - A file fails alone, with its first error; the others go on.
 *
 * Memory: WEIR__PUT_ROOM bytes of chunks that are on their way, however many threads there are, 3
 * MiB to read and cut, and some 300 KiB for each connection.
 *
 * Ownership: the run borrows its options and all that they point to.
 */
#ifndef WEIR_CLI_PUT_RUN_H
#define WEIR_CLI_PUT_RUN_H

#include <weir/deadline.h>

#include "storage_client.h"

#define WEIR__PUT_ROOM         (16u << 20)
#define WEIR__PUT_PARALLEL_MAX 64u

struct weir__put;

struct weir__put_options {
    struct weir__storage_client *client;
    char *const *names; /* "-" is standard input */
    size_t names_count;
    size_t fixed_size; /* of chunks; 0: by content */
    uint32_t parallel; /* 1 to WEIR__PUT_PARALLEL_MAX */
};

/* What became of a file. */
struct weir__put_file {
    const char *name;
    int error; /* 0, or why not */
    struct weir__address address;
    uint64_t bytes; /* holes included */
    uint64_t chunks, chunk_bytes;
    uint64_t sent, sent_bytes; /* of these: not there when it was asked */
    char problem[WEIR__STORAGE_PROBLEM_MAX];
};

struct weir__put_progress {
    uint64_t files, bytes; /* done */
    uint64_t in_flight;    /* bytes */
};

/* NoMemory, or Busy when there are no threads. */
WEIR_MUST_USE int weir__put_start(struct weir__put **ret_put,
                                  const struct weir__put_options *options);
/* The next file that is done; Timeout, or Closed after the last. */
WEIR_MUST_USE int weir__put_next(struct weir__put *put, struct weir__put_file *ret_file,
                                 const struct weir_deadline *deadline);
/* What is under way fails with Canceled, and nothing more is begun. */
void weir__put_stop(struct weir__put *put);
void weir__put_read(struct weir__put *put, struct weir__put_progress *ret_progress);
/* Accepts NULL. False: a thread hangs in the system, and is left behind with all that it uses, the
 * client included. */
WEIR_MUST_USE bool weir__put_free(struct weir__put *put);

#endif
