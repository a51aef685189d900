/* archive_hidden.h - an archive behind other bytes, which do not begin as one: a program that
 * unpacks itself, a script with its data, a zip that somebody appended to something.
 *
 * Known are:
 *   a zip behind anything, by its directory, which ends with the file or is followed by at most a
 *   comment of 64 KiB;
 *   behind a program (ELF, PE) whatever archive begins where the program ends by its own headers;
 *   by their beginnings, within the first MiB: behind a program a 7z or a rar, behind a script (#!)
 *   at the beginning of a line gzip, xz, zstd, bzip2, 7z, tar and zip, and behind anything else
 *   that is no text a 7z, a rar or a zip;
 *   in all of a picture, a sound, a film or a PDF, any format that has more than next to no magic.
 * The first of them counts; whoever has read it looks behind it.
 *
 * Ownership: formats are static; all else stays the caller's.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_HIDDEN_H
#define WEIR_SCAN_SOURCE_ARCHIVE_HIDDEN_H

#include "archive_format.h"

/* In so many first bytes beginnings are looked for, but where there are none by nature. */
#define WEIR__ARCHIVE_SEARCH_MAX (1u << 20)
/* More than any of them needs to be known. */
#define WEIR__ARCHIVE_SEARCH_OVERLAP 1024u
/* In so many last bytes the end of a zip is. */
#define WEIR__ARCHIVE_TAIL_MAX (22u + 65535u)

/* What stands at the beginning of something that is no archive by its first bytes. */
enum weir__archive_front {
    WEIR__ARCHIVE_TEXT,
    WEIR__ARCHIVE_SCRIPT,
    WEIR__ARCHIVE_PROGRAM, /* that says where it ends */
    WEIR__ARCHIVE_BINARY,  /* another program, or it has a NUL in its first KiB */
    WEIR__ARCHIVE_MEDIA,   /* a picture, a sound, a film, a PDF */
};
/* So many first bytes are enough to know it. */
#define WEIR__ARCHIVE_HEAD 4096u
enum weir__archive_front weir__archive_front(const char *bytes, size_t length);
/* Whether it is made to be run: people put archives behind such things. */
bool weir__archive_is_run(const char *bytes, size_t length);

struct weir__archive_source {
    const char *head; /* its first bytes */
    size_t head_length;
    uint64_t size;
    /* Up to so many bytes at that place; how many. 0: at its end, or it cannot be read. Not called
     * if the head is all of it. */
    size_t (*read)(void *arg, uint64_t at, char *bytes, size_t length);
    void *arg;
};

/* NULL: none, or there is no memory to look for one. *ret_at is where it is to be read from: 0 for
 * a zip that is known by its end, whose places may be counted from either. */
const struct weir__archive_format *weir__archive_hidden(const struct weir__archive_source *source,
                                                        uint64_t *ret_at);

/* Whether a zip is known by its end, and where its first entry is. */
bool weir__archive_hidden_zip(const struct weir__archive_source *source, uint64_t *ret_at);

/* The first beginning of any format in a source that is all that stands behind the end of another
 * archive. Not known are those with next to no magic (compress, lzma, a tar without "ustar"). */
const struct weir__archive_format *
weir__archive_hidden_behind(const struct weir__archive_source *source, uint64_t *ret_at);
/* Whether there is one in these bytes, of which the next ones are to have as many again. */
#define WEIR__ARCHIVE_BEHIND_OVERLAP (33u << 10)
bool weir__archive_hidden_between(const char *bytes, size_t length);

/* For bytes that come one after the other and cannot be read again: what can be known of them on
 * the way, and at the end. */

/* So many first bytes are looked at behind such a front. */
uint64_t weir__archive_search_max(enum weir__archive_front front);
/* The beginning of one in these bytes, which are among those. */
const struct weir__archive_format *weir__archive_hidden_begins(enum weir__archive_front front,
                                                               const char *bytes, size_t length);
/* Where a program of which these are the first bytes ends by its headers; 0: they do not say. */
uint64_t weir__archive_program_end(const char *bytes, size_t length);
/* Whether the last bytes, of which these are all or TAIL_MAX, end a zip. */
bool weir__archive_hidden_ends(const char *bytes, size_t length);

#endif
