/* config_part.h - what the files of config.h share.
 *
 * Ownership: as in config.h.
 */
#ifndef WEIR_BASE_CONFIG_PART_H
#define WEIR_BASE_CONFIG_PART_H

#include "config.h"

struct weir__config_origin {
    enum weir__config_from from;
    unsigned line;    /* of the file */
    const char *name; /* of the file, the variable or the flag */
};

/* A piece of memory that lives as long as the configuration. */
struct weir__config_block {
    struct weir__config_block *next;
    _Alignas(max_align_t) char bytes[];
};

struct weir__config {
    struct weir_snapshot head;
    const struct weir__config_schema *schema;
    struct weir__config_block *blocks;
    void *values[WEIR__CONFIG_TABLES_MAX];
    struct weir__config_origin origins[WEIR__CONFIG_KEYS_MAX];
    struct weir__config *as_read; /* while a reload puts it into force; or NULL */
};

/* A load under way. */
struct weir__config_judge {
    struct weir__config *config;
    const struct weir__config_sink *sink;
    size_t problems, warnings;
};

/* Memory of the configuration, zeroed; NULL when there is none. */
void *weir__config_keep(struct weir__config *config, size_t size);
/* A copy of the text there. */
const char *weir__config_keep_text(struct weir__config *config, const char *text, size_t length);

/* A problem or a warning. where stands before it, as "weir.toml:3" or "WEIR_LISTEN". */
__attribute__((format(printf, 4, 5))) void weir__config_tell(struct weir__config_judge *judge,
                                                             bool is_warning, const char *where,
                                                             const char *format, ...);
void weir__config_where(const struct weir__config_origin *origin, char *text, size_t size);

/* SIZE_MAX when there is none. */
size_t weir__config_find(const struct weir__config_schema *schema, const char *name);
/* "did you mean" for a name that is none, or "". */
void weir__config_nearest(const struct weir__config_schema *schema, const char *name, char *text,
                          size_t size);
/* The length of the section in the name of a key, 0 without one. */
size_t weir__config_section_length(const char *name);
bool weir__config_is_section(const struct weir__config_schema *schema, const char *name,
                             size_t length);

void *weir__config_field(const struct weir__config *config, size_t index);

/* Reads texts as the value of the key: one, or of a list any number, which come after those that it
 * has if it is_more. What is wrong is told, and the value stays. NoMemory alone is an error. */
WEIR_MUST_USE int weir__config_store(struct weir__config_judge *judge, size_t index,
                                     const char *const *texts, size_t count, bool is_more,
                                     const struct weir__config_origin *origin);
/* The same of a text as it stands in the environment: lists are parted at their commas. */
WEIR_MUST_USE int weir__config_store_text(struct weir__config_judge *judge, size_t index,
                                          const char *text, bool is_more,
                                          const struct weir__config_origin *origin);

/* Whether two configurations of one schema have the same value. */
bool weir__config_is_same(const struct weir__config *a, const struct weir__config *b, size_t index);
/* Gives one the value and the origin that the other has. */
WEIR_MUST_USE int weir__config_copy(struct weir__config *config, const struct weir__config *from,
                                    size_t index);

/* The sources. What is wrong is told; an error is one of weir__config_load(). */
WEIR_MUST_USE int weir__config_read_file(struct weir__config_judge *judge,
                                         const struct weir__config_sources *sources);
WEIR_MUST_USE int weir__config_read_environment(struct weir__config_judge *judge,
                                                const char *const *environment);
WEIR_MUST_USE int weir__config_read_given(struct weir__config_judge *judge,
                                          const struct weir__config_given *given, size_t count);

#endif
