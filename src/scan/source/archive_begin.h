/* archive_begin.h - beginnings of archives that are looked for behind other bytes.
 *
 * Tables end with a row without a magic. One may lie in two pieces of what is searched: so many
 * bytes of them are to overlap as archive_hidden.h says.
 *
 * Ownership: tables are static; the bytes stay the caller's.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_BEGIN_H
#define WEIR_SCAN_SOURCE_ARCHIVE_BEGIN_H

#include "archive_hidden.h"

struct weir__archive_beginning {
    const char *magic;
    size_t length;
    size_t at; /* of the magic in the archive */
    bool begins_line;
    bool (*is_it)(const unsigned char *bytes, size_t length);
    size_t seldom; /* the byte of the magic that other bytes have least, where few are looked for */
};

/* All formats with more than next to no magic. */
extern const struct weir__archive_beginning *const weir__archive_begin_any;
/* An image of a disk alone. */
extern const struct weir__archive_beginning weir__archive_begin_disk[];
/* What is looked for behind such a front; or NULL. */
const struct weir__archive_beginning *weir__archive_begin_of(enum weir__archive_front front);

/* Whether these bytes are the head of an entry of a zip, every field of which makes sense: programs
 * that know zip have its mark in them. */
bool weir__archive_is_entry(const unsigned char *bytes, size_t length);

/* What tells quickly that there is none. */
struct weir__archive_marks {
    const struct weir__archive_beginning *ones;
    size_t longest;                  /* magic of them, in bytes */
    uint64_t pairs[(1u << 16) / 64]; /* of bytes, with which their magics begin */
};
void weir__archive_marks_init(struct weir__archive_marks *ret_marks,
                              const struct weir__archive_beginning *ones);
/* Whether the magic of one is in the bytes, whatever stands around it. */
bool weir__archive_marks_in(const struct weir__archive_marks *marks, const unsigned char *bytes,
                            size_t length);

/* The one of these that begins first in the bytes, or NULL. */
const unsigned char *weir__archive_begin_first(const struct weir__archive_beginning *ones,
                                               const unsigned char *bytes, size_t length);

#endif
