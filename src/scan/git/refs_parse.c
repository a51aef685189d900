/* refs_parse.c - lines of packed-refs and of logs, and which names git allows. */
#include "refs.h"

#include <stdio.h>

#include "banned.h"

/* --- names --- */

static bool is_valid_part(const char *part, size_t length)
{
    if (length == 0 || part[0] == '.' || part[length - 1] == '.')
        return false;
    if (length >= 5 && memcmp(part + length - 5, ".lock", 5) == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)part[i];
        if (c <= ' ' || c == 0x7f || memchr("~^:?*[\\", c, 7))
            return false;
        if (i > 0 && ((c == '.' && part[i - 1] == '.') || (c == '{' && part[i - 1] == '@')))
            return false;
    }
    return true;
}

bool weir__git_ref_name_is_valid(const char *name, size_t length)
{
    if (length <= 5 || length >= WEIR__GIT_REF_NAME_MAX || memcmp(name, "refs/", 5) != 0)
        return false;
    for (size_t at = 0;;) {
        const char *slash = memchr(name + at, '/', length - at);
        size_t end = slash ? (size_t)(slash - name) : length;
        if (!is_valid_part(name + at, end - at))
            return false;
        if (!slash)
            return true;
        at = end + 1;
    }
}

/* --- packed-refs --- */

static size_t line_end(const char *bytes, size_t length, size_t at)
{
    const char *found = memchr(bytes + at, '\n', length - at);
    return found ? (size_t)(found - bytes) : length;
}

/* "^ID" behind a ref: what its tag leads to in the end. */
static void take_peeled(const char *bytes, size_t length, size_t id_size, size_t *at, size_t *line,
                        struct weir__git_packed_ref *ref)
{
    if (*at >= length || bytes[*at] != '^')
        return;
    size_t end = line_end(bytes, length, *at);
    if (end - *at != 1 + 2 * id_size ||
        weir__git_id_from_hex(&ref->peeled, bytes + *at + 1, id_size) < 0)
        return;
    ref->has_peeled = true;
    ++*line;
    *at = end < length ? end + 1 : length;
}

int weir__git_packed_ref_next(const char *bytes, size_t length, size_t id_size, size_t *at,
                              size_t *line, struct weir__git_packed_ref *ret_ref,
                              char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_packed_ref ref = {.name = NULL};
    size_t from, end;
    do {
        if (*at >= length)
            return 0;
        from = *at;
        end = line_end(bytes, length, from);
        *at = end < length ? end + 1 : length;
        ++*line;
    } while (bytes[from] == '#' || end == from);
    if (end > from && bytes[end - 1] == '\r')
        end--;
    if (end - from < 2 * id_size + 2 || bytes[from + 2 * id_size] != ' ' ||
        weir__git_id_from_hex(&ref.id, bytes + from, id_size) < 0) {
        snprintf(why, WEIR__GIT_FLAW_MAX, "line %zu: not an id and a name", *line);
        ret_ref->name = bytes + from;
        ret_ref->name_length = end - from;
        return -WEIR_E_CORRUPT;
    }
    ref.name = bytes + from + 2 * id_size + 1;
    ref.name_length = end - from - 2 * id_size - 1;
    take_peeled(bytes, length, id_size, at, line, &ref);
    if (!weir__git_ref_name_is_valid(ref.name, ref.name_length)) {
        snprintf(why, WEIR__GIT_FLAW_MAX, "line %zu: not a name that git allows", *line);
        *ret_ref = ref;
        return -WEIR_E_CORRUPT;
    }
    *ret_ref = ref;
    return 1;
}

/* --- logs --- */

int weir__git_log_next(const char *bytes, size_t length, size_t id_size, size_t *at,
                       struct weir__git_id *ret_old, struct weir__git_id *ret_new)
{
    struct weir__git_id old, new;
    size_t from = *at, digits = 2 * id_size;
    if (from >= length)
        return 0;
    size_t end = line_end(bytes, length, from);
    *at = end < length ? end + 1 : length;
    if (end - from < 2 * digits + 1 || bytes[from + digits] != ' ' ||
        weir__git_id_from_hex(&old, bytes + from, id_size) < 0 ||
        weir__git_id_from_hex(&new, bytes + from + digits + 1, id_size) < 0)
        return -WEIR_E_CORRUPT;
    *ret_old = old;
    *ret_new = new;
    return 1;
}
