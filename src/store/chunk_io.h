/* chunk_io.h - where chunks go to and come from, as far as files made of chunks are concerned.
 *
 * The two calls may wait, for a disk or for another machine; whoever gives them decides for how
 * long, and returns an error then. They are called with no lock held, by the thread that called.
 *
 * Ownership: bytes are borrowed for the call, in both directions.
 */
#ifndef WEIR_STORE_CHUNK_IO_H
#define WEIR_STORE_CHUNK_IO_H

#include <weir/defs.h>

#include "address.h"

struct weir__chunk_sink {
    /* Keeps these 1 to 1,048,576 bytes, whose address is this. 0, or an error, which goes to the
     * caller as it is. The same chunk may come any number of times. */
    int (*put)(void *arg, const void *bytes, size_t length, const struct weir__address *address);
    void *arg;
};

struct weir__chunk_source {
    /* The chunk of this address, into memory of so many bytes: its length, or an error. TooLarge
     * when it has more. What comes is checked by whoever asked. */
    int (*get)(void *arg, const struct weir__address *address, void *bytes, size_t size,
               size_t *ret_length);
    void *arg;
};

/* Gets a chunk and checks that it has this address: Corrupt when it has not. */
WEIR_MUST_USE int weir__chunk_get(const struct weir__chunk_source *source,
                                  const struct weir__address *address, void *bytes, size_t size,
                                  size_t *ret_length);

#endif
