/* lines.h - a file of names, one on a line or each ended with NUL, read as a stream.
 *
 *     result = weir__lines_open(&lines, "list", WEIR__LINES_LF, 1u << 20);
 *     while (result == 0 && (result = weir__lines_next(&lines, &line, &length)) > 0) ...
 *     weir__lines_fini(&lines);
 *
 * "-" is standard input. A line is given without its end; the last one need not have one. Lines may
 * hold any bytes but the one that ends them; what is in them is the caller's business.
 *
 * Cost: one read for 64 KiB. Memory: that much, and the longest line.
 *
 * Ownership: the reader owns its descriptor and memory; a line belongs to it and is valid until the
 * next call. fini accepts one whose opening failed.
 */
#ifndef WEIR_BASE_LINES_H
#define WEIR_BASE_LINES_H

#include "buffer.h"

enum weir__lines_end {
    WEIR__LINES_LF,
    WEIR__LINES_CRLF, /* LF, and a CR before it or at the end of the file goes with it */
    WEIR__LINES_NUL
};

struct weir__lines {
    /* Set behind open(), if something may end a wait for lines that do not come. */
    bool (*is_stopped)(void *arg);
    void *arg;
    int _fd;
    bool _is_input;
    enum weir__lines_end _end;
    char *_block;
    size_t _used, _next;
    uint64_t _read; /* bytes that were read */
    struct weir__buffer _line;
};

/* max: of a line, in bytes. 0, NoMemory, or what opening failed with, and errno in both cases. */
WEIR_MUST_USE int weir__lines_open(struct weir__lines *lines, const char *path,
                                   enum weir__lines_end end, size_t max);
void weir__lines_fini(struct weir__lines *lines);

/* 1, 0 at the end, Overflow for a line that is too long, NoMemory, Canceled when it is stopped
 * while nothing comes, or what reading failed with; and errno. After an error only fini. */
WEIR_MUST_USE int weir__lines_next(struct weir__lines *lines, const char **ret_line,
                                   size_t *ret_length);

/* How many bytes lie behind us, and how many there are; false where that is not known, as in a
 * pipe. */
bool weir__lines_place(const struct weir__lines *lines, uint64_t *ret_at, uint64_t *ret_size);

#endif
