/* index_part.h - what the files of the index share; nobody else includes this.
 *
 *   index_file.c   header, extensions, the split index put together, the file
 *   index_entry.c  entries, one after the other
 *   index_bits.c   the compressed bit maps of a split index
 *
 * Ownership: cursors borrow the bytes; the cursor owns the path that it builds.
 */
#ifndef WEIR_SCAN_GIT_INDEX_PART_H
#define WEIR_SCAN_GIT_INDEX_PART_H

#include "index_file.h"

struct weir__index_cursor {
    const uint8_t *bytes;
    size_t length; /* without the checksum */
    size_t at;
    size_t id_size;
    uint32_t version;
    uint32_t count, number; /* of entries; how many were taken */
    struct weir__buffer path;
};

/* The header is read. Fini is due whatever it returns. */
WEIR_MUST_USE int weir__index_cursor_init(struct weir__index_cursor *cursor, const char *bytes,
                                          size_t length, size_t id_size,
                                          char why[WEIR__GIT_FLAW_MAX]);
void weir__index_cursor_fini(struct weir__index_cursor *cursor);

/* 1, 0 behind the last, or an error. */
WEIR_MUST_USE int weir__index_cursor_next(struct weir__index_cursor *cursor,
                                          struct weir__git_index_entry *ret_entry,
                                          char why[WEIR__GIT_FLAW_MAX]);

/* A bit map as git packs it: runs of equal words, and words as they are. Bits are asked for in
 * rising order. */
struct weir__index_bits {
    const uint8_t *words;
    uint32_t words_count, next;
    uint64_t bits_count;
    uint64_t run_left, plain_left; /* words of the stretch at hand */
    uint64_t word, word_number;    /* the word at hand, and which it is */
    bool run_bit, has_word;
};

/* *at is moved behind it. False when it does not fit in the bytes. */
bool weir__index_bits_init(struct weir__index_bits *bits, const uint8_t *bytes, size_t length,
                           size_t *at);
/* Beyond its end every bit is 0. */
bool weir__index_bits_has(struct weir__index_bits *bits, uint64_t bit);

static inline uint32_t weir__index_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

#endif
