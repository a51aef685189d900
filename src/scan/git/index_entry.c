/* index_entry.c - an entry: what stat(2) said, an id, flags, a path. */
#include "index_part.h"

#include <stdio.h>

#include "banned.h"

#define HEAD_SIZE          12u
#define STAT_SIZE          40u
#define MODE_OFFSET        24u
#define FLAG_EXTENDED      0x4000u
#define FLAG_STAGE         0x3000u
#define FLAG_LENGTH        0x0fffu
#define FLAG_SKIP_WORKTREE 0x4000u
#define FLAG_INTENT_TO_ADD 0x2000u

__attribute__((cold)) static int flaw(const struct weir__index_cursor *cursor, const char *text,
                                      char why[WEIR__GIT_FLAW_MAX])
{
    snprintf(why, WEIR__GIT_FLAW_MAX, "index: entry %u at byte %zu: %s", cursor->number + 1,
             cursor->at, text);
    return -WEIR_E_CORRUPT;
}

int weir__index_cursor_init(struct weir__index_cursor *cursor, const char *bytes, size_t length,
                            size_t id_size, char why[WEIR__GIT_FLAW_MAX])
{
    *cursor = (struct weir__index_cursor){.bytes = (const void *)bytes, .id_size = id_size};
    weir__buffer_init(&cursor->path, WEIR__GIT_INDEX_PATH_MAX);
    if (length < HEAD_SIZE + id_size || memcmp(bytes, "DIRC", 4) != 0) {
        snprintf(why, WEIR__GIT_FLAW_MAX, "index: not such a file");
        return -WEIR_E_CORRUPT;
    }
    cursor->length = length - id_size;
    cursor->version = weir__index_u32(cursor->bytes + 4);
    cursor->count = weir__index_u32(cursor->bytes + 8);
    cursor->at = HEAD_SIZE;
    if (cursor->version < 2 || cursor->version > 4) {
        snprintf(why, WEIR__GIT_FLAW_MAX, "index: of version %u; 2, 3 and 4 are known",
                 cursor->version);
        return -WEIR_E_UNSUPPORTED;
    }
    return 0;
}

void weir__index_cursor_fini(struct weir__index_cursor *cursor)
{
    weir__buffer_fini(&cursor->path);
}

/* Seven bits a byte, the highest first; each byte that is not the last adds one. */
static bool take_number(const struct weir__index_cursor *cursor, size_t *at, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 9 && *at < cursor->length; i++) {
        uint8_t byte = cursor->bytes[(*at)++];
        number = (number << 7) + (byte & 0x7f);
        if (!(byte & 0x80)) {
            *ret_number = number;
            return true;
        }
        number++;
    }
    return false;
}

/* The path goes into the cursor, *at behind it. */
static int take_path(struct weir__index_cursor *cursor, size_t *at, char why[WEIR__GIT_FLAW_MAX])
{
    uint64_t cut = 0;
    size_t kept = 0;
    if (cursor->version == 4) {
        if (!take_number(cursor, at, &cut) || cut > weir__buffer_length(&cursor->path))
            return flaw(cursor, "it takes more from the path before it than there is", why);
        kept = weir__buffer_length(&cursor->path) - (size_t)cut;
    }
    const uint8_t *from = cursor->bytes + *at;
    const uint8_t *end = memchr(from, '\0', cursor->length - *at);
    if (!end)
        return flaw(cursor, "the path has no end", why);
    weir__buffer_truncate(&cursor->path, kept);
    int error = weir__buffer_append(&cursor->path, from, (size_t)(end - from));
    if (error == -WEIR_E_OVERFLOW)
        return flaw(cursor, "the path is too long", why);
    *at += (size_t)(end - from) + 1;
    return error;
}

int weir__index_cursor_next(struct weir__index_cursor *cursor,
                            struct weir__git_index_entry *ret_entry, char why[WEIR__GIT_FLAW_MAX])
{
    size_t at = cursor->at, id_size = cursor->id_size;
    if (cursor->number == cursor->count)
        return 0;
    if (cursor->length - at < STAT_SIZE + id_size + 2)
        return flaw(cursor, "cut short", why);
    const uint8_t *p = cursor->bytes + at;
    uint32_t mode = weir__index_u32(p + MODE_OFFSET);
    struct weir__git_id id = weir__git_id_of(p + STAT_SIZE, id_size);
    unsigned flags = (unsigned)p[STAT_SIZE + id_size] << 8 | p[STAT_SIZE + id_size + 1], more = 0;
    at += STAT_SIZE + id_size + 2;
    if (flags & FLAG_EXTENDED) {
        if (cursor->version < 3 || cursor->length - at < 2)
            return flaw(cursor, "more flags than this version has", why);
        more = (unsigned)cursor->bytes[at] << 8 | cursor->bytes[at + 1];
        at += 2;
    }
    int error = take_path(cursor, &at, why);
    if (error)
        return error;
    size_t path_length = weir__buffer_length(&cursor->path);
    unsigned said = flags & FLAG_LENGTH;
    if (path_length < FLAG_LENGTH ? said != path_length : said != FLAG_LENGTH)
        return flaw(cursor, "the path is not as long as it says", why);
    if (cursor->version < 4) /* up to a multiple of eight; the first NUL is taken */
        at += (8 - (at - cursor->at) % 8) % 8;
    if (at > cursor->length)
        return flaw(cursor, "cut short", why);
    cursor->at = at;
    cursor->number++;
    *ret_entry = (struct weir__git_index_entry){.path = weir__buffer_text(&cursor->path),
                                                .path_length = path_length,
                                                .id = id,
                                                .mode = mode,
                                                .stage = (flags & FLAG_STAGE) >> 12,
                                                .is_intent_to_add = more & FLAG_INTENT_TO_ADD,
                                                .is_skip_worktree = more & FLAG_SKIP_WORKTREE};
    return 1;
}
