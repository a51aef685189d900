/* toml.h - reads TOML 1.0 into a tree that is looked at and not changed.
 *
 * Promises: what is not TOML is refused with its line, its column and the reason. No exception
 * leaves (the parser below is written in C++).
 *
 * Limits: a document has at most WEIR__TOML_BYTES_MAX bytes and about WEIR__TOML_VALUES_MAX values
 * (lines, dots and separators outside of strings are what is counted); beyond them it is refused
 * with Overflow. Values are nested at most WEIR__TOML_DEPTH_MAX deep and a key has fewer dots than
 * that; beyond, and for a string with a NUL character in it, it is refused with Invalid.
 *
 * Ownership: nodes and strings belong to the document and live as long as it does.
 */
#ifndef WEIR_BASE_TOML_H
#define WEIR_BASE_TOML_H

#include <weir/defs.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR__TOML_BYTES_MAX  (16u << 20)
#define WEIR__TOML_VALUES_MAX (1u << 20)
#define WEIR__TOML_DEPTH_MAX  32

struct weir__toml;      /* a document */
struct weir__toml_node; /* a value in it */

enum weir__toml_kind {
    WEIR__TOML_TABLE,
    WEIR__TOML_ARRAY,
    WEIR__TOML_STRING,
    WEIR__TOML_INTEGER,
    WEIR__TOML_REAL,
    WEIR__TOML_BOOL,
    WEIR__TOML_TIME /* dates and times: known to be there, and no more */
};

struct weir__toml_error {
    unsigned line, column; /* from 1; 0 when it is of the document as a whole */
    char reason[160];
};

/* 0, Invalid (with *ret_error filled in), Overflow or NoMemory. */
WEIR_MUST_USE int weir__toml_parse(struct weir__toml **ret_document, const char *text,
                                   size_t length, struct weir__toml_error *ret_error);
/* Accepts NULL. */
void weir__toml_free(struct weir__toml *document);

/* The table that holds everything. */
const struct weir__toml_node *weir__toml_root(const struct weir__toml *document);

enum weir__toml_kind weir__toml_kind(const struct weir__toml_node *node);
/* Where it stands, for messages; from 1. */
unsigned weir__toml_line(const struct weir__toml_node *node);

/* By key; NULL when the node is NULL or no table, or has no such key. */
const struct weir__toml_node *weir__toml_get(const struct weir__toml_node *table, const char *key);
/* Entries of a table or an array; 0 of anything else and of NULL. */
size_t weir__toml_count(const struct weir__toml_node *node);
/* By index, also in a table, whose order is that of its keys. NULL beyond the end. */
const struct weir__toml_node *weir__toml_at(const struct weir__toml_node *node, size_t index);
/* The key of the entry of a table. */
const char *weir__toml_key(const struct weir__toml_node *table, size_t index);

/* The value; of another kind, or NULL: NULL, or what is given. */
const char *weir__toml_string(const struct weir__toml_node *node);
int64_t weir__toml_integer(const struct weir__toml_node *node, int64_t otherwise);
double weir__toml_real(const struct weir__toml_node *node, double otherwise); /* also of integers */
bool weir__toml_bool(const struct weir__toml_node *node, bool otherwise);

#ifdef __cplusplus
}
#endif
#endif
