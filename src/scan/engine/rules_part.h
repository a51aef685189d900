/* rules_part.h - what the files of the loader of rules share; nobody else includes this.
 *
 *   rules.c         loads a file and what it extends, and makes the set
 *   rules_memory.c  the memory of a set, its notes, refusals
 *   rules_table.c   tables of TOML into structs, by lists of their keys
 *   rules_read.c    rules, allow lists and [extend] of one file
 *   rules_alias.c   other names of rules
 *   rules_merge.c   rules of a file laid over those that it extends
 *   rules_pack.c    rules as bytes
 *
 * Ownership: everything that is made while a set is loaded, also what is thrown away again, is
 * memory of the set and goes with it.
 */
#ifndef WEIR_SCAN_ENGINE_RULES_PART_H
#define WEIR_SCAN_ENGINE_RULES_PART_H

#include "context.h"
#include "rule.h"
#include "toml.h"

struct weir__rules_block;

/* What weir__rules_load() makes; others see the first member alone. */
struct weir__rules_set {
    struct weir__rules rules;
    struct weir__rules_block *blocks;
    size_t notes_left_out;
    struct weir__strings gone;     /* rules of extended files that were disabled or replaced */
    struct weir__written *written; /* of each rule; NULL: it was unpacked */
};

/* What a rule was before it got the expression of its context. */
struct weir__written {
    struct weir__context context;
    unsigned secret_group;
    bool has_secret_group, has_keywords;
    bool is_context; /* and not an expression */
};

/* One call of weir__rules_load(). */
struct weir__load {
    struct weir__rules_set *set;
    const struct weir__rules_reader *reader;
    struct weir__rules_error *error;
    char *file; /* that is being read */
};

/* A rule before it is complete. */
struct weir__draft {
    struct weir__rule rule;
    struct weir__context context;
    bool is_change;  /* its file extends another: the rest of the rule may be there */
    bool is_dropped; /* it looks for nothing */
};

/* What a file says of another name. */
struct weir__alias {
    char *name;
    struct weir__strings rules;
    unsigned line;
};

/* The rules of a file and of what it extends. */
struct weir__drafts {
    char *title;
    struct weir__draft *items;
    size_t count;
    uint32_t *index; /* by the hash of the id: one above the number, 0: free */
    size_t index_size;
    struct weir__allow *allows;
    size_t allows_count;
    struct weir__alias *aliases; /* of the file alone */
    size_t aliases_count;
};

struct weir__extend {
    char *path, *url;
    bool use_default;
    struct weir__strings disabled;
    unsigned line;
};

/* --- rules_memory.c --- */

/* Zeroed; NULL without memory. */
void *weir__rules_alloc(struct weir__rules_set *set, size_t count, size_t size);
char *weir__rules_text(struct weir__rules_set *set, const char *text, size_t length);
void weir__rules_release(struct weir__rules_set *set);

/* One line with the file and the line before it. Returns Invalid. */
__attribute__((format(printf, 3, 4))) int
weir__rules_refuse(const struct weir__load *load, unsigned line, const char *format, ...);
/* The same, for what is passed over: 0 or NoMemory. Beyond WEIR__NOTES_MAX they are counted. */
__attribute__((format(printf, 4, 5))) int weir__rules_note(const struct weir__load *load,
                                                           const char *file, unsigned line,
                                                           const char *format, ...);

/* --- rules_table.c --- */

enum weir__field_kind {
    WEIR__FIELD_TEXT,  /* char * */
    WEIR__FIELD_WORDS, /* struct weir__strings; a string stands for what its commas separate */
    WEIR__FIELD_EXPRESSIONS, /* struct weir__strings; a string stands for itself */
    WEIR__FIELD_COUNT,       /* int64_t from 0 to max */
    WEIR__FIELD_REAL,        /* double from 0 to max */
    WEIR__FIELD_BOOL,
    WEIR__FIELD_ELSEWHERE /* known, and read by somebody else or by nobody */
};

struct weir__field {
    const char *name;
    enum weir__field_kind kind;
    size_t offset;
    int64_t max;
};

/* The value of a key in any case. NULL: none. */
const struct weir__toml_node *weir__rules_get(const struct weir__toml_node *table, const char *key);
/* Reads what the fields name into the struct; what they do not name is noted. where is for
 * messages. */
WEIR_MUST_USE int weir__rules_read_fields(const struct weir__load *load,
                                          const struct weir__toml_node *table, const char *where,
                                          const struct weir__field *fields, size_t fields_count,
                                          void *into);
/* A list of strings, as a field of its own: name is that of the key. */
WEIR_MUST_USE int weir__rules_read_words(const struct weir__load *load,
                                         const struct weir__toml_node *node, const char *where,
                                         const char *name, struct weir__strings *into);

/* --- rules_alias.c --- */

/* The table `aliases` of a document; NULL: it has none. */
WEIR_MUST_USE int weir__aliases_read(const struct weir__load *load,
                                     const struct weir__toml_node *node,
                                     struct weir__drafts *drafts);
/* Gives the names that the file has to the rules that are there by now. */
WEIR_MUST_USE int weir__aliases_apply(const struct weir__load *load, struct weir__drafts *drafts);

/* --- rules_read.c --- */

/* All of one document, without what it extends. */
WEIR_MUST_USE int weir__rules_read(const struct weir__load *load,
                                   const struct weir__toml_node *root,
                                   struct weir__drafts *ret_drafts,
                                   struct weir__extend *ret_extend);

/* --- rules_pack.c --- */

/* The rules of a pack as if their file had been read. */
WEIR_MUST_USE int weir__drafts_unpack(const struct weir__load *load,
                                      const struct weir__rules_packed *packed,
                                      struct weir__drafts *ret_drafts);

/* --- rules_merge.c --- */

/* NULL: none. */
struct weir__draft *weir__drafts_find(const struct weir__drafts *drafts, const char *id);
/* Makes the index; of rules with the same id the last stays, in the place of the first. */
WEIR_MUST_USE int weir__drafts_index(const struct weir__load *load, struct weir__drafts *drafts);
/* Lays drafts over base, without those of base that are disabled, and leaves the result in
 * drafts. */
WEIR_MUST_USE int weir__drafts_merge(const struct weir__load *load, struct weir__drafts *drafts,
                                     const struct weir__drafts *base,
                                     const struct weir__extend *extend);

#endif
