/* archive_hidden.h - an archive behind other bytes, which do not begin as one: a program that
 * unpacks itself, a script with its data, a zip that somebody appended to something.
 *
 * Known are: a zip behind anything that is not plain text, or behind a program or a script, by its
 * directory, which ends with the file or is followed by at most a comment of 64 KiB; behind a
 * program (MZ, ELF) a 7z; behind a script (#!) at the beginning of a line gzip, xz, zstd, bzip2,
 * 7z, tar, and a zip that is cut off. The last ones within the first MiB.
 *
 * Ownership: formats are static; all else stays the caller's.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_HIDDEN_H
#define WEIR_SCAN_SOURCE_ARCHIVE_HIDDEN_H

#include "archive_format.h"

struct weir__archive_source {
    const char *head; /* its first bytes */
    size_t head_length;
    uint64_t size;
    /* Up to so many bytes at that place; how many. 0: at its end, or it cannot be read. Not called
     * if the head is all of it. */
    size_t (*read)(void *arg, uint64_t at, char *bytes, size_t length);
    void *arg;
};

/* Whether it begins as a program or a script. */
bool weir__archive_is_program(const char *bytes, size_t length);
/* Whether it is worthwhile to look further. is_all: these are all of the bytes. */
bool weir__archive_may_hide(const char *bytes, size_t length, bool is_all);
/* NULL: none, or there is no memory to look for one. *ret_at is where it is to be read from: 0 for
 * a zip, whose places may be counted from either. */
const struct weir__archive_format *weir__archive_hidden(const struct weir__archive_source *source,
                                                        uint64_t *ret_at);
/* The same where only these first bytes are at hand: no zip is known by its end. */
const struct weir__archive_format *weir__archive_hidden_here(const char *bytes, size_t length,
                                                             size_t *ret_at);

#endif
