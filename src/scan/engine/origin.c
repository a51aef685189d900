/* origin.c - the longest beginning that fits is taken off. */
#include "origin.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "hash.h"

#include "banned.h"

static char *copy_of(const char *text, size_t length)
{
    char *copy = weir__base_alloc(1, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

int weir__origin_add(struct weir__origin *origin, const char *shown, const char *inside)
{
    size_t length = strlen(shown);
    while (length > 0 && shown[length - 1] == '/')
        length--;
    for (size_t i = 0; i < origin->_count; i++)
        if (origin->_items[i].length == length &&
            memcmp(origin->_items[i].shown, shown, length) == 0)
            return 0;
    if (origin->_count == WEIR__ORIGIN_MAX)
        return -WEIR_E_TOO_LARGE;
    struct weir__beginning item = {copy_of(shown, length), copy_of(inside, strlen(inside)), length};
    if (!item.shown || !item.inside) {
        weir__base_free(item.shown);
        weir__base_free(item.inside);
        return -WEIR_E_NO_MEMORY;
    }
    origin->_items[origin->_count++] = item;
    return 0;
}

void weir__origin_fini(struct weir__origin *origin)
{
    for (size_t i = 0; i < origin->_count; i++) {
        weir__base_free(origin->_items[i].shown);
        weir__base_free(origin->_items[i].inside);
    }
    origin->_count = 0;
}

/* Whole names only; '!' stands between an archive and its members. */
static bool begins(const char *path, const struct weir__beginning *item)
{
    char next;
    if (strncmp(path, item->shown, item->length) != 0)
        return false;
    next = path[item->length];
    return next == '/' || next == '!' || next == '\0';
}

const char *weir__origin_path(const struct weir__origin *origin, const char *path,
                              struct weir__buffer *scratch)
{
    const struct weir__beginning *best = NULL;
    for (size_t i = 0; origin && i < origin->_count; i++)
        if (begins(path, &origin->_items[i]) && (!best || best->length < origin->_items[i].length))
            best = &origin->_items[i];
    if (!best)
        return NULL;
    const char *rest = path + best->length;
    bool has_slash = *rest == '/';
    while (*rest == '/')
        rest++;
    if (best->inside[0] == '\0')
        return *rest && *rest != '!' ? rest : NULL;
    weir__buffer_truncate(scratch, 0);
    if (weir__buffer_puts(scratch, best->inside) < 0 ||
        (has_slash && weir__buffer_puts(scratch, "/") < 0) || weir__buffer_puts(scratch, rest) < 0)
        return NULL;
    return weir__buffer_text(scratch);
}

void weir__origin_hash(const struct weir__origin *origin, const char *beginning,
                       struct weir__hash *hash)
{
    size_t length = strlen(beginning);
    for (size_t i = 0; origin && i < origin->_count; i++) {
        const struct weir__beginning *item = &origin->_items[i];
        size_t shorter = item->length < length ? item->length : length;
        if (strncmp(item->shown, beginning, shorter) != 0)
            continue; /* it is about none of them */
        weir__hash_update(hash, item->shown, item->length + 1);
        weir__hash_update(hash, item->inside, strlen(item->inside) + 1);
    }
}
