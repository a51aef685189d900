/* binding_walk.h - what the parts of binding.c share: bytes, stretches, a walk over a text.
 *
 * Ownership: borrows the text.
 */
#ifndef WEIR_SCAN_ENGINE_BINDING_WALK_H
#define WEIR_SCAN_ENGINE_BINDING_WALK_H

#include <string.h>

#include <weir/defs.h>

/* A stretch of the text. */
struct weir__binding_span {
    const char *from, *until;
};

/* A walk over [at, end); first is the first byte that may be looked at. */
struct weir__binding_walk {
    const char *first, *at, *end;
};

static inline bool is_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.';
}

static inline bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static inline bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static inline bool is_line_end(char byte)
{
    return byte == '\n' || byte == '\r';
}

static inline bool is_quote(char byte)
{
    return byte == '"' || byte == '\'' || byte == '`';
}

static inline bool is_one_of(char byte, const char *set)
{
    return byte != '\0' && strchr(set, byte);
}

static inline char peek(const struct weir__binding_walk *walk, size_t ahead)
{
    return (size_t)(walk->end - walk->at) > ahead ? walk->at[ahead] : '\0';
}

static inline bool has(const struct weir__binding_walk *walk, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(walk->end - walk->at) >= length && memcmp(walk->at, text, length) == 0;
}

static inline void skip_blanks(struct weir__binding_walk *walk)
{
    while (is_blank(peek(walk, 0)))
        walk->at++;
}

/* The name that the value is given to, and that is another than the one at `from`, in which a rule
 * has found the name of a secret. Returns whether there is one. */
bool weir__binding_owner(const char *from, const char *value, const char *value_end,
                         struct weir__binding_span *ret_owner);

#endif
