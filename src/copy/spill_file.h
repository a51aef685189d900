/* spill_file.h - temporary files that no name leads to, for what has no room in memory; and reads
 * and writes of whole ranges, which do for any file.
 *
 * A file is born without a name (O_TMPFILE), or, where the file system cannot do that, its name is
 * removed as soon as it is open. So nothing is left behind, however the process ends.
 *
 * Errors are negative codes, and errno says what the system said. A read that meets the end of the
 * file is EIO: somebody damaged it.
 *
 * Any number of threads, also on one file, as long as their ranges do not meet.
 *
 * Ownership: descriptors belong to the caller, who closes them; nothing else is kept.
 */
#ifndef WEIR_COPY_SPILL_FILE_H
#define WEIR_COPY_SPILL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

/* A new file in the folder; NULL: in $TMPDIR, /var/tmp or /tmp, the first that allows it. Returns
 * its descriptor, or why the first of the folders did not allow it. */
WEIR_MUST_USE int weir__spill_file_open(const char *dir);

/* All of it, or an error. */
WEIR_MUST_USE int weir__spill_file_write(int fd, const void *bytes, size_t count, uint64_t at);
WEIR_MUST_USE int weir__spill_file_read(int fd, void *bytes, size_t count, uint64_t at);

/* -WEIR_E_IO with errno EIO: what was read is not what was written. */
int weir__spill_file_damaged(void);

#endif
