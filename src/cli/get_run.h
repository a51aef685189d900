/* get_run.h - a file out of a storage service: fetched by several threads, written by one, in
 * order.
 *
 *     weir__get_start(&get, &options)
 *     while (weir__get_wait(get, &result, &deadline) == -WEIR_E_TIMEOUT) ...
 *     weir__get_free(get)
 *
 * Promises: every chunk is compared with its address before a byte of it is written. What begins
 * as a manifest does is read as one; every other chunk is written as it is.
 *
 * Memory: WEIR__GET_ROOM bytes of chunks that were fetched and not yet written, some 6 MiB to read
 * the manifest twice (ahead, and to write), and some 300 KiB for each connection.
 *
 * Ownership: the run borrows its options and the descriptor.
 */
#ifndef WEIR_CLI_GET_RUN_H
#define WEIR_CLI_GET_RUN_H

#include <weir/deadline.h>

#include "storage_client.h"

#define WEIR__GET_ROOM         (16u << 20)
#define WEIR__GET_PARALLEL_MAX 64u

struct weir__get;

enum weir__get_part {
    WEIR__GET_ALL,
    WEIR__GET_FROM,    /* first to the end */
    WEIR__GET_BETWEEN, /* first to last, as far as there is something */
    WEIR__GET_LAST     /* `last` bytes from the end, or all */
};

struct weir__get_options {
    struct weir__storage_client *client;
    struct weir__address address;
    enum weir__get_part part;
    uint64_t first, last;
    int fd;
    uint32_t parallel; /* 1 to WEIR__GET_PARALLEL_MAX */
};

struct weir__get_result {
    int error;
    bool lacks_threads;           /* not all of them could be started: why it failed */
    bool has_reader_left;         /* nobody reads what is written: the same */
    bool is_chunk;                /* and not a manifest */
    uint64_t bytes;               /* of the range */
    uint64_t whole;               /* of the file */
    uint64_t chunks, chunk_bytes; /* fetched */
    char problem[WEIR__STORAGE_PROBLEM_MAX];
};

struct weir__get_progress {
    uint64_t bytes; /* of chunks, written */
};

WEIR_MUST_USE int weir__get_start(struct weir__get **ret_get,
                                  const struct weir__get_options *options);
/* 0 when it is over; Timeout. */
WEIR_MUST_USE int weir__get_wait(struct weir__get *get, struct weir__get_result *ret_result,
                                 const struct weir_deadline *deadline);
void weir__get_stop(struct weir__get *get);
void weir__get_read(struct weir__get *get, struct weir__get_progress *ret_progress);
/* Accepts NULL. False: a thread hangs in the system, and is left behind with all that it uses, the
 * client and the descriptor included. */
WEIR_MUST_USE bool weir__get_free(struct weir__get *get);

#endif
