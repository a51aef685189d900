/* paths.c - lists of paths, put together from what the attribution says. */
#include "paths.h"

#include <string.h>

#include "alloc.h"
#include "brought.h"
#include "cover.h"

#include "banned.h"

const char *weir__paths_next(const char *path)
{
    return path + strlen(path) + 1;
}

size_t weir__paths_bytes(const char *paths)
{
    const char *path = paths;
    if (!paths)
        return 0;
    while (*path)
        path = weir__paths_next(path);
    return (size_t)(path - paths) + 1;
}

size_t weir__paths_count(const char *paths)
{
    size_t count = 0;
    for (const char *path = paths; path && *path; path = weir__paths_next(path))
        count++;
    return count;
}

/* Which of the paths the newcomer has, and what stands behind it: the name in an archive. */
struct own {
    const struct weir__brought *brought;
    const char *path, *behind;
};

static bool find_own(const struct weir__newcomer *newcomer, struct own *ret_own)
{
    const struct weir__brought *brought = newcomer->finding->brought;
    if (!brought || brought->paths_count < 2 || newcomer->is_path || newcomer->finding->is_in_name)
        return false;
    size_t root = strlen(brought->root), longest = 0;
    if (strncmp(newcomer->path, brought->root, root) != 0)
        return false;
    const char *inside = newcomer->path + root;
    for (size_t i = 0; i < brought->paths_count; i++) {
        size_t length = strlen(brought->paths[i]);
        if (length > longest && strncmp(inside, brought->paths[i], length) == 0 &&
            (inside[length] == '\0' || inside[length] == '!')) {
            longest = length;
            *ret_own = (struct own){brought, brought->paths[i], inside + length};
        }
    }
    return longest > 0;
}

size_t weir__paths_size(const struct weir__newcomer *newcomer)
{
    struct own own;
    size_t size = 1;
    if (!find_own(newcomer, &own))
        return 0;
    for (size_t i = 0; i < own.brought->paths_count; i++)
        if (own.brought->paths[i] != own.path)
            size +=
                strlen(own.brought->root) + strlen(own.brought->paths[i]) + strlen(own.behind) + 1;
    return size;
}

static char *append(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length + 1);
    return at + length;
}

/* Nobody has looked at these names yet: what looks like a secret is hidden, and in the end what was
 * found. */
void weir__paths_put(const struct weir__newcomer *newcomer, char *at, bool is_shown,
                     uint64_t *ret_total)
{
    struct own own;
    if (!find_own(newcomer, &own))
        return;
    *ret_total = (own.brought->paths_total > own.brought->paths_count ? own.brought->paths_total
                                                                      : own.brought->paths_count) -
                 1;
    for (size_t i = 0; i < own.brought->paths_count; i++) {
        if (own.brought->paths[i] == own.path)
            continue;
        char *path = at, *inside = append(at, own.brought->root);
        at = append(append(inside, own.brought->paths[i]), own.behind) + 1;
        if (is_shown)
            continue;
        weir__cover_path(path);
        weir__cover_words(inside);
        weir__hide_in_path(path, newcomer->finding);
    }
    *at = '\0';
}

/* --- versions of a file --- */

static bool has(const char *paths, const char *path)
{
    for (const char *at = paths; at && *at; at = weir__paths_next(at))
        if (strcmp(at, path) == 0)
            return true;
    return false;
}

void weir__paths_join(struct weir__found_place *first, const struct weir__found_place *later)
{
    size_t count = weir__paths_count(first->paths), fresh = 0;
    if (later->paths_total > first->paths_total)
        first->paths_total = later->paths_total;
    for (const char *path = later->paths; path && *path; path = weir__paths_next(path))
        fresh += !has(first->paths, path);
    if (fresh == 0)
        return;
    if (count + fresh > first->paths_total)
        first->paths_total = count + fresh;
    size_t bytes = weir__paths_bytes(first->paths);
    char *joined = weir__base_alloc(1, bytes + weir__paths_bytes(later->paths) + 1);
    if (!joined)
        return;
    if (bytes > 0)
        memcpy(joined, first->paths, bytes);
    char *at = joined + (bytes > 0 ? bytes - 1 : 0);
    for (const char *path = later->paths; *path && count < WEIR__PATHS_MAX;
         path = weir__paths_next(path))
        if (!has(first->paths, path)) {
            at = append(at, path) + 1;
            count++;
        }
    *at = '\0';
    weir__base_free(first->_joined);
    first->paths = first->_joined = joined;
}
