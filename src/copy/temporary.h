/* temporary.h - a file without a name, for what does not fit into memory.
 *
 * Ownership: the descriptor is the caller's.
 */
#ifndef WEIR_COPY_TEMPORARY_H
#define WEIR_COPY_TEMPORARY_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

/* In the folder given, or in $TMPDIR, /var/tmp, /tmp: the first that takes one. -1 with errno. */
int weir__temporary_open(const char *folder);

/* All of it, or an error: Io, NoSpace. A short read is Corrupt. */
WEIR_MUST_USE int weir__temporary_write(int fd, const void *bytes, size_t count, uint64_t at);
WEIR_MUST_USE int weir__temporary_read(int fd, void *bytes, size_t count, uint64_t at);

#endif
