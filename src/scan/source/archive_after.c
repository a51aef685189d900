/* archive_after.c - another archive behind the end of one that passes by.
 *
 * What stands there cannot be opened any more, but it is noticed: whatever begins right there, and
 * further on what shows itself by its beginning (archive_hidden.h). Zeros before that are padding,
 * or the beginning of an image of a disk, so that the last of them are kept.
 */
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define ZEROS_MAX 32768u
#define AFTER_MAX (WEIR__ARCHIVE_BLOCK + WEIR__ARCHIVE_BEHIND_OVERLAP)
_Static_assert(AFTER_MAX > ZEROS_MAX + WEIR__ARCHIVE_PEEK,
               "it is enough to know what begins there");

void weir__archive_after_init(struct weir__archive_own *own)
{
    weir__buffer_init(&own->after, AFTER_MAX);
}

static void look(struct weir__archive_own *own)
{
    const char *bytes = weir__buffer_text(&own->after);
    size_t length = weir__buffer_length(&own->after);
    if (!own->is_after_known)
        own->begins_archive =
            weir__archive_format_of(bytes + own->after_zeros, length - own->after_zeros) != NULL;
    if (!own->is_after_known)
        own->has_packed =
            !weir__archive_is_plain(bytes + own->after_zeros, length - own->after_zeros);
    own->is_after_known = true;
    own->has_archive = own->has_archive || weir__archive_hidden_between(bytes, length);
}

/* Looks at what is there, and forgets it but for what a beginning may lie in. */
static void make_room(struct weir__archive_own *own)
{
    char kept[WEIR__ARCHIVE_BEHIND_OVERLAP];
    look(own);
    const char *end = weir__buffer_text(&own->after) + weir__buffer_length(&own->after);
    memcpy(kept, end - sizeof(kept), sizeof(kept));
    weir__buffer_truncate(&own->after, 0);
    (void)!weir__buffer_append(&own->after, kept, sizeof(kept)); /* there is room */
}

void weir__archive_after_add(struct weir__archive_own *own, const char *bytes, size_t length)
{
    if (!own->has_after) {
        static const char zeros[ZEROS_MAX];
        for (; length > 0 && *bytes == '\0'; length--, bytes++)
            own->after_zeros += own->after_zeros < ZEROS_MAX;
        if (length > 0)
            own->has_archive = weir__buffer_append(&own->after, zeros, own->after_zeros) != 0;
        own->has_after = length > 0;
    }
    while (length > 0 && !own->has_archive) {
        size_t room = AFTER_MAX - weir__buffer_length(&own->after);
        size_t part = length < room ? length : room;
        /* Without memory there is one for all that is known. */
        own->has_archive = weir__buffer_append(&own->after, bytes, part) != 0;
        if (part == room && !own->has_archive)
            make_room(own);
        bytes += part;
        length -= part;
    }
}

void weir__archive_after_end(struct weir__archive_level *level)
{
    struct weir__archive_own *own = &level->own;
    if (own->has_after && !own->has_archive)
        look(own);
    /* Where nobody knows the end, only what cannot be anything else counts. */
    own->has_behind = own->has_after && weir__archive_is_end_known(level);
    own->has_packed =
        own->has_packed && own->has_behind && level->format->way == WEIR__ARCHIVE_PACKED;
    own->has_archive = own->has_archive || (own->has_behind && own->begins_archive) ||
                       (own->blocks.has_zstd && own->blocks.has_lz4);
}
