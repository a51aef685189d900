/* window.h - a file that is read from its beginning to its end, around what the disk does not give.
 *
 * What is asked for is read in large pieces. Where such a piece cannot be read, it is read page by
 * page, and the pages that fail are holes: zeros in memory, and known as what they are. A page that
 * is one is not asked for again: a disk may take seconds to say no.
 *
 * Limits: WEIR__WINDOW_FAILURES reads of one file fail; what lies behind the last of them is not
 * tried and counts as a hole. Memory: somewhat more than a chunk.
 *
 * Ownership: the memory belongs to the window until weir__window_close(); the descriptor is the
 * caller's. What weir__window_look() tells holds until the next call.
 */
#ifndef WEIR_STORE_WINDOW_H
#define WEIR_STORE_WINDOW_H

#include "record.h"

/* Large enough for any record but a footer. */
#define WEIR__WINDOW_SIZE     (WEIR__RECORD_HEAD + WEIR__CHUNK_MAX + (128u << 10))
#define WEIR__WINDOW_PAGE     4096u
#define WEIR__WINDOW_FAILURES 1024u

/* Bytes that could not be read. */
struct weir__hole {
    uint64_t from, to;
};

struct weir__window {
    int _fd;
    uint64_t file_size; /* or the limit, if the file is larger */
    unsigned char *_bytes;
    uint64_t _at; /* of the first byte */
    size_t _length;
    struct weir__hole *holes; /* in their order, none touches another */
    size_t holes_count;
    size_t _failures;
};

/* A file of which no more than size_max bytes are looked at. NoMemory, Io. */
WEIR_MUST_USE int weir__window_open(struct weir__window *ret_window, int fd, uint64_t size_max);
/* Accepts one that was not opened. */
void weir__window_close(struct weir__window *window);

/* So many bytes at that place, holes as zeros. Range where the file ends before, or more is asked
 * for than there is room; what reading fails with, but for Io. */
WEIR_MUST_USE int weir__window_look(struct weir__window *window, uint64_t at, size_t length,
                                    const unsigned char **ret_bytes);

/* Bytes of holes in that stretch, as far as it was looked at. */
uint64_t weir__window_lost(const struct weir__window *window, uint64_t from, uint64_t to);
/* Where the last hole of that stretch ends; from: it has none. */
uint64_t weir__window_behind(const struct weir__window *window, uint64_t from, uint64_t to);

#endif
