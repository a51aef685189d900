/* pattern.h - a wildcard pattern, made once and then held against any number of texts.
 *
 * rsync and git grew from the same matcher and agree on ?, *, classes and escapes. They differ in
 * two things: rsync takes a backslash as it is when the pattern has none of * ? [, and any two or
 * more stars in it match slashes; in git they do so only as a whole part of the path, and then
 * "**" with the slash behind it may also match nothing.
 *
 * Classes: [abc], [a-z], [!a] and [^a], [[:alpha:]] and the eleven others of POSIX, for ASCII,
 * whatever the locale; a ] in the first place is a member, a backslash escapes. No class has the
 * slash in it, not even a negated one. A pattern with an unfinished class, an unknown name between
 * [: and :], or a lone backslash at its end is accepted and matches nothing, as it does in both.
 *
 * Cost: memory is two bytes for a byte of the pattern and 32 for a class. Matching looks at each
 * byte of the text once and, for it, at no more than each token of the pattern once: it is linear
 * in their product, whatever they are, and needs no memory but 1 KiB of stack.
 *
 * A pattern is not changed by matching; any number of threads may use it.
 *
 * Ownership: the pattern owns its memory and is emptied by weir__pattern_fini(); the text that it
 * was made from is not kept.
 */
#ifndef WEIR_BASE_PATTERN_H
#define WEIR_BASE_PATTERN_H

#include <stddef.h>

#include <weir/error.h>

#define WEIR__PATTERN_MAX 4096u /* bytes */

enum weir__dialect { WEIR__DIALECT_RSYNC, WEIR__DIALECT_GIT };

struct weir__pattern {
    void *_memory; /* the classes, 32 bytes each, and then the tokens */
    uint32_t _classes_count;
    uint32_t _tokens_count;
    bool _is_literal;
    bool _is_never;
};

/* 0, -WEIR_E_TOO_LARGE above WEIR__PATTERN_MAX bytes, -WEIR_E_NO_MEMORY. The text has no NUL. */
WEIR_MUST_USE int weir__pattern_init(struct weir__pattern *pattern, enum weir__dialect dialect,
                                     const char *text, size_t length);
void weir__pattern_fini(struct weir__pattern *pattern);
/* The memory behind it, about. */
size_t weir__pattern_bytes(const struct weir__pattern *pattern);

/* What is matched beside the text as it is; several may be combined. */
enum weir__pattern_how {
    WEIR__PATTERN_WHOLE = 0,
    WEIR__PATTERN_SLASH_BEFORE = 1, /* the text as if it began with another slash */
    WEIR__PATTERN_SLASH_BEHIND = 2, /* and as if it ended with one */
    WEIR__PATTERN_FLOATING = 4      /* any end of the text that begins behind a slash */
};

bool weir__pattern_match(const struct weir__pattern *pattern, unsigned how, const char *text,
                         size_t length);

#endif
