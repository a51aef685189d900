/* archive_zip.h - the directory of a zip, as it is followed by those that look at it themselves.
 *
 * Damage in one entry is not to hide the next: where an entry makes no sense, the next mark of one
 * is looked for.
 *
 * Ownership: a reader borrows the input; the bytes that it gives belong to the input, and are valid
 * until the next call.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_ZIP_H
#define WEIR_SCAN_SOURCE_ARCHIVE_ZIP_H

#include "archive_read.h"

#define WEIR__ARCHIVE_ZIP_LISTED  46u /* bytes of an entry of the directory, at least */
#define WEIR__ARCHIVE_ZIP_LOCAL   30u /* and of the header before what is packed */
#define WEIR__ARCHIVE_ZIP_LARGE32 0xffffffffu

struct weir__archive_zip_reader {
    struct weir__archive_input *input;
    const char *bytes; /* of the block at hand */
    uint64_t at;
    size_t length;
};

struct weir__archive_zip_directory {
    uint64_t from, until; /* of itself */
    uint64_t shift;       /* of all places: what stands in front of the zip; it may wrap */
    bool has_end64;       /* its end has the large form */
    bool is_damaged;      /* entries were passed over */
};

/* One entry of the directory. */
struct weir__archive_zip_listed {
    uint64_t at; /* its own place */
    size_t length;
    size_t name_length;
    uint64_t from; /* where it lies; UINT64_MAX: outside of the zip */
    uint64_t packed;
};

/* So many bytes at that place, valid until the next call; or NULL. */
const unsigned char *weir__archive_zip_get(struct weir__archive_zip_reader *reader, uint64_t at,
                                           size_t length);
uint64_t weir__archive_zip_little(const unsigned char *bytes, size_t length);
/* Of NULL, false. */
bool weir__archive_zip_has_mark(const unsigned char *bytes, const char *mark);
bool weir__archive_zip_find(struct weir__archive_zip_reader *reader,
                            struct weir__archive_zip_directory *ret_directory);
/* The next entry from *at on, which is moved behind it. False: there is no more. */
bool weir__archive_zip_next(struct weir__archive_zip_reader *reader,
                            struct weir__archive_zip_directory *directory, uint64_t *at,
                            struct weir__archive_zip_listed *ret_listed);
/* What is packed in an entry that is too large for its header, by the fields behind its name. */
uint64_t weir__archive_zip_packed(const unsigned char *extra, size_t length);

#endif
