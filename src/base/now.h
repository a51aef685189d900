/* now.h - writes that do not wait for who reads.
 *
 * Whether a write waits is a matter of the open file, which others may share: it is theirs. So a
 * pipe or a terminal is opened once more, for writes that do not wait, and a socket is asked not to
 * with each write. What is none of these, or cannot be opened again, is written as it is.
 *
 * Any number of threads may write at once.
 *
 * Ownership: the descriptor stays the caller's, and must be open as long as this is used; what was
 * opened here is closed by weir__now_close().
 */
#ifndef WEIR_BASE_NOW_H
#define WEIR_BASE_NOW_H

#include <sys/types.h>

#include <weir/defs.h>

struct weir__now {
    int _fd;
    int _again; /* the same, opened once more; -1: it is not */
    bool _is_socket;
};

/* Written as it is. */
#define WEIR__NOW(fd) ((struct weir__now){._fd = (fd), ._again = -1})

/* From here on writes do not wait. A second time does nothing. */
void weir__now_open(struct weir__now *now);
void weir__now_close(struct weir__now *now);

/* As write(2). EAGAIN: it would wait. */
ssize_t weir__now_write(const struct weir__now *now, const void *bytes, size_t count);

#endif
