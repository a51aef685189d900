/* index_file.c - the whole index: its entries, its extensions, and what it shares.
 *
 * A split index has the extension "link": the name of a shared file, which entries of that are
 * gone, and which are replaced. The replacing entries stand first, in the order of those they
 * replace and without a path of their own; what follows is new.
 */
#include "index_part.h"

#include <stdio.h>

#include "refs_file.h"

#include "banned.h"

struct link {
    struct weir__git_id id;
    const uint8_t *bytes; /* of the bit maps, or NULL */
    size_t length;
    bool is_there;
};

__attribute__((cold)) static int flaw(int code, const char *text, char why[WEIR__GIT_FLAW_MAX])
{
    snprintf(why, WEIR__GIT_FLAW_MAX, "index: %s", text);
    return -code;
}

/* --- extensions --- */

static bool is_known(const uint8_t *name)
{
    /* Those in lower case must be understood; the others may be passed over. */
    return (name[0] >= 'A' && name[0] <= 'Z') || memcmp(name, "link", 4) == 0 ||
           memcmp(name, "sdir", 4) == 0;
}

static int read_extensions(const struct weir__index_cursor *cursor, size_t at, struct link *link,
                           char why[WEIR__GIT_FLAW_MAX])
{
    while (cursor->length - at >= 8) {
        const uint8_t *name = cursor->bytes + at;
        size_t size = weir__index_u32(name + 4);
        at += 8;
        if (size > cursor->length - at)
            return flaw(WEIR_E_CORRUPT, "an extension is cut short", why);
        if (!is_known(name))
            return flaw(WEIR_E_UNSUPPORTED, "an extension that must be understood is not known",
                        why);
        if (memcmp(name, "link", 4) == 0) {
            if (size < cursor->id_size)
                return flaw(WEIR_E_CORRUPT, "the extension 'link' is cut short", why);
            link->id = weir__git_id_of(cursor->bytes + at, cursor->id_size);
            link->bytes = cursor->bytes + at + cursor->id_size;
            link->length = size - cursor->id_size;
            link->is_there = !weir__git_id_is_zero(&link->id);
        }
        at += size;
    }
    return 0;
}

/* Goes through the entries, and gives nothing to nobody. */
static int find_link(const char *bytes, size_t length, size_t id_size, struct link *link,
                     char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__index_cursor cursor;
    struct weir__git_index_entry entry;
    int result = weir__index_cursor_init(&cursor, bytes, length, id_size, why);
    while (result == 0 && (result = weir__index_cursor_next(&cursor, &entry, why)) > 0)
        result = 0;
    if (result == 0)
        result = read_extensions(&cursor, cursor.at, link, why);
    weir__index_cursor_fini(&cursor);
    return result;
}

/* --- giving --- */

static int give_rest(struct weir__index_cursor *cursor, weir__git_index_fn *fn, void *arg,
                     char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_index_entry entry;
    int result;
    while ((result = weir__index_cursor_next(cursor, &entry, why)) > 0) {
        result = fn(arg, &entry);
        if (result != 0)
            return result;
    }
    return result;
}

/* One entry of the shared file: as it is, gone, or replaced by the next one of ours. */
static int give_shared(struct weir__git_index_entry *entry, struct weir__index_cursor *own,
                       bool is_replaced, weir__git_index_fn *fn, void *arg,
                       char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_index_entry mine;
    if (!is_replaced)
        return fn(arg, entry);
    int result = weir__index_cursor_next(own, &mine, why);
    if (result < 0)
        return result;
    if (result == 0 || mine.path_length > 0)
        return flaw(WEIR_E_CORRUPT, "an entry to replace a shared one is missing", why);
    mine.path = entry->path;
    mine.path_length = entry->path_length;
    return fn(arg, &mine);
}

/* What was to replace an entry that is gone. */
static int pass_over(struct weir__index_cursor *own, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_index_entry ignored;
    int result = weir__index_cursor_next(own, &ignored, why);
    return result < 0 ? result : 0;
}

static int give_split(struct weir__index_cursor *own, struct weir__index_cursor *base,
                      const struct link *link, weir__git_index_fn *fn, void *arg,
                      char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__index_bits gone = {0}, replaced = {0};
    struct weir__git_index_entry entry;
    size_t at = 0;
    int result;
    if (link->length > 0 && (!weir__index_bits_init(&gone, link->bytes, link->length, &at) ||
                             !weir__index_bits_init(&replaced, link->bytes, link->length, &at)))
        return flaw(WEIR_E_CORRUPT, "the bit maps of 'link' are cut short", why);
    while ((result = weir__index_cursor_next(base, &entry, why)) > 0) {
        uint32_t number = base->number - 1;
        bool is_gone = weir__index_bits_has(&gone, number);
        bool is_replaced = weir__index_bits_has(&replaced, number);
        if (!is_gone)
            result = give_shared(&entry, own, is_replaced, fn, arg, why);
        else
            result = is_replaced ? pass_over(own, why) : 0;
        if (result != 0)
            return result;
    }
    return result < 0 ? result : give_rest(own, fn, arg, why);
}

int weir__git_index_parse(const char *bytes, size_t length, const struct weir__buffer *shared,
                          size_t id_size, weir__git_index_fn *fn, void *arg,
                          struct weir__git_id *ret_shared, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__index_cursor own, base;
    struct link link = {0};
    int result = find_link(bytes, length, id_size, &link, why);
    if (result == 0 && link.is_there && !shared) {
        if (ret_shared)
            *ret_shared = link.id;
        return flaw(WEIR_E_NOT_FOUND, "the file that it shares is needed", why);
    }
    if (result == -WEIR_E_NO_MEMORY)
        return result;
    /* Entries before what is broken are good, so they are given even then. */
    bool is_split = result == 0 && link.is_there;
    int own_result = weir__index_cursor_init(&own, bytes, length, id_size, why);
    if (own_result == 0 && !is_split) {
        char again[WEIR__GIT_FLAW_MAX];
        own_result = give_rest(&own, fn, arg, again);
        if (own_result > 0 || result == 0)
            result = own_result;
    } else if (own_result == 0) {
        result = weir__index_cursor_init(&base, weir__buffer_text(shared),
                                         weir__buffer_length(shared), id_size, why);
        if (result == 0)
            result = give_split(&own, &base, &link, fn, arg, why);
        weir__index_cursor_fini(&base);
    }
    weir__index_cursor_fini(&own);
    return result;
}

/* --- files --- */

static int read_shared(int dir, const struct weir__buffer *file, size_t id_size,
                       const struct weir__git_id *id, weir__git_index_fn *fn, void *arg,
                       char why[WEIR__GIT_FLAW_MAX])
{
    char name[16 + WEIR__GIT_HEX_SIZE], hex[WEIR__GIT_HEX_SIZE];
    struct weir__buffer shared;
    weir__buffer_init(&shared, weir__buffer_max(file));
    snprintf(name, sizeof(name), "sharedindex.%s", weir__git_id_hex(id, id_size, hex));
    int error = weir__git_file_read(dir, name, &shared);
    if (error)
        snprintf(why, WEIR__GIT_FLAW_MAX, "index: %s: %s", name, weir__git_file_why(error));
    else
        error = weir__git_index_parse(weir__buffer_text(file), weir__buffer_length(file), &shared,
                                      id_size, fn, arg, NULL, why);
    weir__buffer_fini(&shared);
    /* An index without its shared file is broken; one that is not there is empty. */
    return error == -WEIR_E_NOT_FOUND ? -WEIR_E_CORRUPT : error;
}

int weir__git_index_read(int dir, const char *name, size_t id_size, uint64_t bytes_max,
                         weir__git_index_fn *fn, void *arg, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_id shared;
    struct weir__buffer file;
    bool is_limited = bytes_max > 0 && bytes_max < WEIR__GIT_INDEX_BYTES_MAX;
    weir__buffer_init(&file, is_limited ? (size_t)bytes_max : WEIR__GIT_INDEX_BYTES_MAX);
    int error = weir__git_file_read(dir, name, &file);
    if (error) {
        snprintf(why, WEIR__GIT_FLAW_MAX, "index: %s", weir__git_file_why(error));
    } else {
        const char *bytes = weir__buffer_text(&file);
        size_t length = weir__buffer_length(&file);
        error = weir__git_index_parse(bytes, length, NULL, id_size, fn, arg, &shared, why);
        if (error == -WEIR_E_NOT_FOUND)
            error = read_shared(dir, &file, id_size, &shared, fn, arg, why);
    }
    weir__buffer_fini(&file);
    return error;
}
