/* temporary.h - files that no name leads to, and reads and writes of whole ranges, which do for any
 * file.
 *
 * A file is born without a name (O_TMPFILE), or, where the file system cannot do that, its name is
 * removed as soon as it is open. So nothing is left behind, however the process ends, and nobody
 * else can open it.
 *
 * Errors are negative codes, and errno says what the system said.
 *
 * Ownership: descriptors belong to the caller, who closes them; nothing else is kept.
 */
#ifndef WEIR_BASE_TEMPORARY_H
#define WEIR_BASE_TEMPORARY_H

#include <weir/defs.h>

/* A new file in the folder, to be read and written. Its descriptor, or an error. */
WEIR_MUST_USE int weir__temporary_open(const char *folder);

/* All of it at the descriptor's position, or an error; as always, a pipe may then have some of it.
 */
WEIR_MUST_USE int weir__whole_write(int fd, const void *bytes, size_t count);
/* The same at a place. A read that meets the end of the file is EIO. */
WEIR_MUST_USE int weir__whole_pwrite(int fd, const void *bytes, size_t count, uint64_t at);
WEIR_MUST_USE int weir__whole_pread(int fd, void *bytes, size_t count, uint64_t at);

#endif
