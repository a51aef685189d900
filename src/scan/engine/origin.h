/* origin.h - a path as the folder of a file of configuration has it.
 *
 * What a file of configuration says of paths is about its own folder: "sub/a.c" is the same file
 * whether "i", "/srv/i" or "i/sub/.." was scanned. So a path is looked at as it is shown, and
 * as that folder has it. An origin knows by which beginnings of paths the folder, or something in
 * it, is shown; nothing here touches a file.
 *
 * Limits: WEIR__ORIGIN_MAX beginnings, TooLarge beyond.
 *
 * Ownership: owns copies of the texts. Reading is safe from many threads as long as nobody adds.
 */
#ifndef WEIR_SCAN_ENGINE_ORIGIN_H
#define WEIR_SCAN_ENGINE_ORIGIN_H

#include "buffer.h"

#define WEIR__ORIGIN_MAX 16u

struct weir__beginning {
    char *shown;  /* without a slash at its end; "": the root */
    char *inside; /* "": the folder itself */
    size_t length;
};

struct weir__origin {
    struct weir__beginning _items[WEIR__ORIGIN_MAX];
    size_t _count;
};

/* What is shown as the one is in the folder as the other. 0, TooLarge or NoMemory; twice is once.
 */
WEIR_MUST_USE int weir__origin_add(struct weir__origin *origin, const char *shown,
                                   const char *inside);
void weir__origin_fini(struct weir__origin *origin);
/* The path as the folder has it, in scratch or a part of the path. NULL: it is none of those, or
 * there is no memory. Accepts an origin of NULL. */
const char *weir__origin_path(const struct weir__origin *origin, const char *path,
                              struct weir__buffer *scratch);
/* What decides it for all paths that begin like this one goes to the hash. Accepts NULL. */
struct weir__hash;
void weir__origin_hash(const struct weir__origin *origin, const char *beginning,
                       struct weir__hash *hash);

#endif
