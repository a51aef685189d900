/* spill_file.h - temporary files that no name leads to, and reads and writes of whole ranges.
 *
 * A file is born without a name (O_TMPFILE), or, where the file system cannot do that, its name is
 * removed as soon as it is open. So nothing is left behind, however the process ends.
 *
 * Errors are negative codes, and errno says what the system said. A read that meets the end of the
 * file is EIO: somebody damaged it.
 *
 * Ownership: the folders are copied; descriptors belong to the caller.
 */
#ifndef WEIR_COPY_SPILL_FILE_H
#define WEIR_COPY_SPILL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

#define WEIR__SPILL_DIRS_MAX 3

/* Where such files are made: the first folder that allows it. */
struct weir__spill_dirs {
    const char *_dirs[WEIR__SPILL_DIRS_MAX];
    char *_given; /* what the first may point to */
};

/* dir NULL: $TMPDIR, then /var/tmp, then /tmp. */
WEIR_MUST_USE int weir__spill_dirs_init(struct weir__spill_dirs *dirs, const char *dir);
void weir__spill_dirs_fini(struct weir__spill_dirs *dirs);

/* A descriptor, or a negative code: why the first folder did not allow it. */
WEIR_MUST_USE int weir__spill_file_open(const struct weir__spill_dirs *dirs);

WEIR_MUST_USE int weir__spill_file_write(int fd, const void *bytes, size_t count, uint64_t at);
WEIR_MUST_USE int weir__spill_file_read(int fd, void *bytes, size_t count, uint64_t at);

/* -WEIR_E_IO with errno EIO: what was read is not what was written. */
int weir__spill_file_damaged(void);

#endif
