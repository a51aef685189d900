/* tree_entry.c - "MODE NAME\0ID", again and again. */
#include "tree_entry.h"

#include <stdio.h>

#include "banned.h"

/* Octal digits of a mode; git writes five or six. */
#define MODE_DIGITS_MAX 8

void weir__git_tree_init(struct weir__git_tree *tree, const char *bytes, size_t length,
                         size_t id_size)
{
    *tree = (struct weir__git_tree){._bytes = bytes, ._length = length, ._id_size = id_size};
}

__attribute__((cold)) static int flaw(struct weir__git_tree *tree, const char *text,
                                      char why[WEIR__GIT_FLAW_MAX])
{
    snprintf(why, WEIR__GIT_FLAW_MAX, "entry %llu at byte %zu: %s",
             (unsigned long long)tree->_number, tree->_at, text);
    tree->_at = tree->_length; /* what follows would be guesswork */
    return -WEIR_E_CORRUPT;
}

int weir__git_tree_next(struct weir__git_tree *tree, struct weir__git_tree_entry *ret_entry,
                        char why[WEIR__GIT_FLAW_MAX])
{
    const char *bytes = tree->_bytes;
    size_t at = tree->_at, length = tree->_length;
    uint32_t mode = 0;
    if (at >= length)
        return 0;
    tree->_number++;
    size_t digits = 0;
    while (digits < MODE_DIGITS_MAX && at < length && bytes[at] >= '0' && bytes[at] <= '7') {
        mode = mode << 3 | (uint32_t)(bytes[at++] - '0');
        digits++;
    }
    if (digits == 0 || at >= length || bytes[at] != ' ')
        return flaw(tree, "the mode is not an octal number", why);
    at++;
    const char *end = memchr(bytes + at, '\0', length - at);
    if (!end)
        return flaw(tree, "the name has no end", why);
    size_t name_length = (size_t)(end - bytes) - at;
    if (name_length == 0)
        return flaw(tree, "the name is empty", why);
    if (length - at - name_length - 1 < tree->_id_size)
        return flaw(tree, "the id is cut short", why);
    ret_entry->mode = mode;
    ret_entry->name = bytes + at;
    ret_entry->name_length = name_length;
    ret_entry->id = weir__git_id_of(end + 1, tree->_id_size);
    tree->_at = at + name_length + 1 + tree->_id_size;
    return 1;
}

void weir__git_tree_skip(struct weir__git_tree *tree, size_t length, uint64_t entries)
{
    tree->_at += length;
    tree->_number += entries;
}
