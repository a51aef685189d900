/* rules_pack.h - rules as bytes that need no parsing: how the built-in ones are in the program.
 *
 * TOML of several hundred rules takes longer to read than all else that a short scan does. So the
 * build loads them once, packs the result, and the program unpacks it: strings stay where they are.
 *
 * A pack is trusted: it comes from the build. It is read within its bounds all the same.
 *
 * Ownership: an unpacked set borrows the bytes for its life and is freed by weir__rules_free().
 */
#ifndef WEIR_SCAN_ENGINE_RULES_PACK_H
#define WEIR_SCAN_ENGINE_RULES_PACK_H

#include "buffer.h"
#include "rule.h"

/* Appends the rules without their examples and negatives: 0, Overflow or NoMemory. */
WEIR_MUST_USE int weir__rules_pack(const struct weir__rules *rules, struct weir__buffer *out);

/* The same without the names of files: what the rules are, wherever they were read. */
WEIR_MUST_USE int weir__rules_pack_content(const struct weir__rules *rules,
                                           struct weir__buffer *out);

/* How the rules of a set that was loaded are written: what somebody who extends them changes. */
WEIR_MUST_USE int weir__rules_pack_written(const struct weir__rules *rules,
                                           struct weir__buffer *out);

/* 0, Corrupt or NoMemory. */
WEIR_MUST_USE int weir__rules_unpack(struct weir__rules **ret_rules, const char *bytes,
                                     size_t length);

/* The rules that are built in, ready to be used. */
WEIR_MUST_USE int weir__rules_builtin(struct weir__rules **ret_rules);
/* For those who extend them. */
struct weir__rules_packed weir__rules_builtin_packed(void);
/* The same as they were written, with examples and negatives: for those who test them. */
const char *weir__rules_builtin_text(size_t *ret_length);

/* What the build makes (rules_embed.c). */
extern const char weir__builtin_pack[];
extern const size_t weir__builtin_pack_length;
extern const char weir__builtin_written[];
extern const size_t weir__builtin_written_length;
extern const char weir__builtin_text[];
extern const size_t weir__builtin_text_length;

#endif
