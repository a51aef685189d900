/* paths.h - the other paths at which the bytes of a place lay in the history of its repository.
 *
 * A place has one path, and its fingerprint is made of that. The others are a list of texts, each
 * ended with NUL, with an empty one at the end; NULL when there are none:
 *
 *     for (const char *path = place->paths; path && *path; path = weir__paths_next(path))
 *
 * Of what was found in the name of a file there are none: the others are other names.
 *
 * Limits: what the attribution lists of them (git/attribute.h), WEIR__PATHS_MAX when versions of a
 * file are joined; all are counted.
 *
 * Ownership: the list is a part of the place's memory, or a piece of its own that goes with it.
 */
#ifndef WEIR_SCAN_REPORT_PATHS_H
#define WEIR_SCAN_REPORT_PATHS_H

#include "record.h"

#define WEIR__PATHS_MAX 64u

const char *weir__paths_next(const char *path);
/* Of the list, with its end. */
size_t weir__paths_bytes(const char *paths);
size_t weir__paths_count(const char *paths);

/* How many bytes the list of a newcomer takes, and the list itself, written to at; its total. */
size_t weir__paths_size(const struct weir__newcomer *newcomer);
void weir__paths_put(const struct weir__newcomer *newcomer, char *at, bool is_shown,
                     uint64_t *ret_total);

/* The paths of a later version of the file are those of the first, too. Without memory they are
 * counted alone. */
void weir__paths_join(struct weir__found_place *first, const struct weir__found_place *later);

#endif
