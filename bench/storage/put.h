/* put.h - the same objects, stored in different ways.
 *
 * All ways take objects from one piece of memory, in turn, until the time is over or there is none
 * left, and note how long each took from its first byte to its answer. The material is made before
 * the clock starts, addresses included.
 *
 * Ownership: the load belongs to main(); who stores borrows it.
 */
#ifndef BENCH_STORAGE_PUT_H
#define BENCH_STORAGE_PUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "address.h"

#define OBJECT_BYTES 65536u
#define AT_ONCE_MAX  256u

struct load {
    uint32_t count;
    uint32_t at_once; /* connections, threads, or objects for one fdatasync() */
    uint64_t end_ns;  /* nothing is begun later */
    const unsigned char *bytes;
    char (*names)[WEIR__ADDRESS_TEXT];
    uint64_t *took_ns;         /* of each that is done; 0: it is not */
    atomic_uint_fast32_t next; /* not yet taken */
};

uint64_t now_ns(void);
_Noreturn void die(const char *what, const char *subject);

/* The next object, or false at the end. */
bool take(struct load *load, uint32_t *ret_number);
const unsigned char *object_of(const struct load *load, uint32_t number);

/* PUT by HTTP to http://127.0.0.1:PORT/PREFIX/NAME, at_once connections, one thread. Every answer
 * is to be 201. */
void put_http(struct load *load, uint16_t port, const char *prefix);
/* A file for each object: write, fsync of the file, fsync of its folder; at_once threads. */
void put_files(struct load *load, const char *folder);
/* at_once objects at the end of one file, then fdatasync. */
void put_append(struct load *load, const char *folder);

#endif
