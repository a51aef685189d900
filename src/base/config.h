/* config.h - one table says what can be configured; reading, showing, the sample file and the
 * documentation are made from it, so none of them can drift from the others.
 *
 * A room keeps what it needs in a struct of its own and describes each field once:
 *
 *     struct limits {
 *         uint64_t inflight;
 *         uint64_t wait_ns;
 *     };
 *     static const struct weir__config_key keys[] = {
 *         {WEIR__CONFIG_DURATION(struct limits, wait_ns), .name = "wait", .preset = "5s",
 *          .min = WEIR_NS_PER_S, .max = 60 * WEIR_NS_PER_S, .help = "longest wait for a turn"},
 *         {WEIR__CONFIG_COUNT(struct limits, inflight), .name = "server.max_inflight",
 *          .preset = "1024", .min = 1, .max = 65536, .is_live = true,
 *          .help = "requests at once"},
 *         WEIR__CONFIG_END,
 *     };
 *     static const struct weir__config_table limits_table = {
 *         .name = "all services", .keys = keys, .values_size = sizeof(struct limits)};
 *
 * Several tables make a schema; each keeps its own struct. A schema is sound or
 * weir__config_check_schema() aborts, which every test that prints documentation calls.
 *
 * Sources, each above the one before it: the defaults of the tables; a file of TOML; the
 * environment, where server.max_inflight is WEIR_SERVER_MAX_INFLIGHT; what flags gave. One above
 * replaces the value as a whole, a list as well; flags that give the same list add to each other.
 *
 * Values as they are written in a file, and as text in the environment and in flags:
 * - bool: true or false.
 * - count: an integer.
 * - size: an integer of bytes, or a text: "64KiB", "1.5G", "10MB" (values.h).
 * - duration: a text with its unit: "250ms", "5s", "1h". A number alone is refused, since nobody
 *   can see whether seconds are meant, except 0.
 * - rate: as a size, for each second: "50MiB/s", "50MiB".
 * - ratio: a number with three decimals at most: 0.5.
 * - text, path, word: a text. UTF-8 without control characters, WEIR__CONFIG_TEXT_MAX bytes.
 * - list: an array of texts; in the environment and in flags, texts with commas between them.
 *
 * Promises
 * - A configuration is loaded as a whole or not at all. It is a snapshot (watch.h): nothing in it
 *   changes, and its strings live as long as it does.
 * - Every problem is told, not only the first, up to WEIR__CONFIG_PROBLEMS_MAX and then how many
 *   more there are, and warnings likewise. A line names where it stands, the key, what is wrong and
 *   what is allowed; of an unknown key the nearest known one.
 * - An unknown key in a file, in a flag or in a variable of a known section (WEIR_SERVER_...) is a
 *   problem. Another variable WEIR_... that looks like a key is a warning; other programs, and
 *   weir itself, have such variables as well.
 * - A reload keeps the values of keys that need a restart, and names them. What could not start
 *   is not reloaded either.
 *
 * Limits: a file has WEIR__CONFIG_FILE_MAX bytes and is a regular file; a schema has
 * WEIR__CONFIG_TABLES_MAX tables and WEIR__CONFIG_KEYS_MAX keys; a list has
 * WEIR__CONFIG_LIST_MAX entries. More is refused.
 *
 * Ownership: tables are static; a configuration belongs to who holds a reference and borrows its
 * schema; sources are only borrowed for a call.
 */
#ifndef WEIR_BASE_CONFIG_H
#define WEIR_BASE_CONFIG_H

#include <weir/watch.h>

#include "buffer.h"
#include "options.h"

#define WEIR__CONFIG_FILE_MAX     (1u << 20)
#define WEIR__CONFIG_TEXT_MAX     4095
#define WEIR__CONFIG_LIST_MAX     64
#define WEIR__CONFIG_TABLES_MAX   8
#define WEIR__CONFIG_KEYS_MAX     256
#define WEIR__CONFIG_PROBLEMS_MAX 20
#define WEIR__CONFIG_LINE_MAX     1024 /* of one problem */
#define WEIR__CONFIG_NAME_MAX     63   /* of a key */
/* What weir__config_show() and its likes make stays below this. */
#define WEIR__CONFIG_PRINTED_MAX (8u << 20)

/* --- what can be configured --- */

enum weir__config_kind {
    WEIR__CONFIG_KIND_BOOL,     /* bool */
    WEIR__CONFIG_KIND_COUNT,    /* uint64_t */
    WEIR__CONFIG_KIND_SIZE,     /* uint64_t: bytes */
    WEIR__CONFIG_KIND_DURATION, /* uint64_t: nanoseconds */
    WEIR__CONFIG_KIND_RATE,     /* uint64_t: bytes a second */
    WEIR__CONFIG_KIND_RATIO,    /* uint64_t: thousandths */
    WEIR__CONFIG_KIND_TEXT,     /* const char * */
    WEIR__CONFIG_KIND_PATH,     /* const char * */
    WEIR__CONFIG_KIND_WORD,     /* unsigned: the place in .words */
    WEIR__CONFIG_KIND_LIST      /* struct weir__config_list */
};

struct weir__config_list {
    const char *const *items;
    size_t count;
};

struct weir__config_key {
    const char *name; /* "server.max_inflight", "listen"; NULL ends a table */
    enum weir__config_kind kind;
    size_t offset;
    const char *preset;       /* the default, as in the environment */
    const char *const *words; /* of a word, ended by NULL */
    uint64_t min, max;        /* of numbers (max 0: no limit) and of the entries of a list */
    /* What 0 or "" stands for, as in "no limit". Then a number may be 0 below its min, and a text
     * may be empty; NULL: they may not. */
    const char *nothing;
    /* Of texts, and of each entry of a list, but not of "": NULL, or what is expected instead. */
    const char *(*check)(const char *text);
    bool is_live;       /* a reload changes it; else it takes a restart */
    const char *help;   /* one line: lower case, no full stop */
    const char *detail; /* sentences for the sample file and the documentation; or NULL */
};

struct weir__config;
struct weir__config_judge;

struct weir__config_table {
    const char *name; /* who uses its keys: "all services", "storage" */
    const struct weir__config_key *keys;
    size_t values_size;
    /* What no key can see alone. Looks at values and objects; or NULL. */
    void (*check)(const void *values, struct weir__config_judge *judge);
};

struct weir__config_schema {
    const struct weir__config_table *const *tables; /* ended by NULL */
    const char *const *variables; /* those WEIR_... that are no keys, ended by NULL; or NULL */
    /* Keys that are described otherwise than in their tables, with a default of this schema's own;
     * name, kind and field are the same. Ended like a table; or NULL. */
    const struct weir__config_key *instead;
};

#define WEIR__CONFIG_BOOL(values, field)                                                           \
    .kind = WEIR__CONFIG_KIND_BOOL, WEIR__FIELD(values, field, bool)
#define WEIR__CONFIG_COUNT(values, field)                                                          \
    .kind = WEIR__CONFIG_KIND_COUNT, WEIR__FIELD(values, field, uint64_t)
#define WEIR__CONFIG_SIZE(values, field)                                                           \
    .kind = WEIR__CONFIG_KIND_SIZE, WEIR__FIELD(values, field, uint64_t)
#define WEIR__CONFIG_DURATION(values, field)                                                       \
    .kind = WEIR__CONFIG_KIND_DURATION, WEIR__FIELD(values, field, uint64_t)
#define WEIR__CONFIG_RATE(values, field)                                                           \
    .kind = WEIR__CONFIG_KIND_RATE, WEIR__FIELD(values, field, uint64_t)
#define WEIR__CONFIG_RATIO(values, field)                                                          \
    .kind = WEIR__CONFIG_KIND_RATIO, WEIR__FIELD(values, field, uint64_t)
#define WEIR__CONFIG_TEXT(values, field)                                                           \
    .kind = WEIR__CONFIG_KIND_TEXT, WEIR__FIELD(values, field, const char *)
#define WEIR__CONFIG_PATH(values, field)                                                           \
    .kind = WEIR__CONFIG_KIND_PATH, WEIR__FIELD(values, field, const char *)
#define WEIR__CONFIG_WORD(values, field)                                                           \
    .kind = WEIR__CONFIG_KIND_WORD, WEIR__FIELD(values, field, unsigned)
#define WEIR__CONFIG_LIST(values, field)                                                           \
    .kind = WEIR__CONFIG_KIND_LIST, WEIR__FIELD(values, field, struct weir__config_list)
#define WEIR__CONFIG_END                                                                           \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* Asserts that names, defaults, bounds and help are sound, and that no two keys share a name or a
 * variable. */
void weir__config_check_schema(const struct weir__config_schema *schema);

/* The keys of all tables, one after the other; NULL beyond the last. */
const struct weir__config_key *weir__config_key(const struct weir__config_schema *schema,
                                                size_t index);
/* The table that the key is of. */
const struct weir__config_table *weir__config_table_of(const struct weir__config_schema *schema,
                                                       size_t index);

/* --- loading --- */

/* One value that came by a flag. */
struct weir__config_given {
    const char *key;
    const char *value; /* as in the environment */
    const char *flag;  /* "--listen", for messages and as its origin */
};

struct weir__config_sources {
    const char *file; /* its path; NULL: none. Not "-" */
    /* Instead of what is in the file, whose name then only stands in messages; or NULL. */
    const char *text;
    size_t text_length;
    const char *const *environment; /* as environ; NULL: none */
    const struct weir__config_given *given;
    size_t given_count;
};

/* Who hears what. Lines have no newline. Each may be NULL. */
struct weir__config_sink {
    void (*problem)(void *arg, bool is_warning, const char *line);
    /* Of a reload that succeeded, once for each key that differs. The texts are TOML. */
    void (*changed)(void *arg, const struct weir__config_key *key, const char *before,
                    const char *after, bool needs_restart);
    void *arg;
    /* Of a reload: puts what was read into force, or says why it cannot be, which the reload then
     * returns. No change is told before. */
    int (*apply)(void *arg, struct weir__config *fresh);
};

/* Invalid when the configuration is bad; NotFound, Denied, Io and the like when the file cannot be
 * read, Overflow when it is too long; each has been told. NoMemory. */
WEIR_MUST_USE int weir__config_load(struct weir__config **ret_config,
                                    const struct weir__config_schema *schema,
                                    const struct weir__config_sources *sources,
                                    const struct weir__config_sink *sink);

/* The same in place of one that is in force, which stays as it is. What needs a restart keeps its
 * old value in the new one. ret_changed counts the keys that changed without those; may be NULL. */
WEIR_MUST_USE int weir__config_reload(struct weir__config **ret_config,
                                      const struct weir__config *old,
                                      const struct weir__config_sources *sources,
                                      const struct weir__config_sink *sink, size_t *ret_changed);

/* In apply(): the same with the new values of what needs a restart, too, which is what the next
 * start will find. Otherwise the configuration itself. Borrowed. */
struct weir__config *weir__config_as_read(struct weir__config *config);

/* In a check: the values of another table of the schema. */
const void *weir__config_judged(const struct weir__config_judge *judge,
                                const struct weir__config_table *table);

/* For a table's check: what is wrong with the key. The line says where its value came from. */
__attribute__((format(printf, 3, 4))) void
weir__config_object(struct weir__config_judge *judge, const char *key, const char *format, ...);
/* The same of a value that can be had and does not do what whoever gave it may think. Nothing is
 * said of one that is the default. */
__attribute__((format(printf, 3, 4))) void
weir__config_warn(struct weir__config_judge *judge, const char *key, const char *format, ...);

/* --- a configuration --- */

/* Its head, for a watch, and back. */
struct weir_snapshot *weir__config_snapshot(struct weir__config *config);
struct weir__config *weir__config_of(struct weir_snapshot *snapshot);
/* Gives one reference back; accepts NULL. */
void weir__config_unref(struct weir__config *config);
void weir__config_unref_at(struct weir__config **config);

const struct weir__config_schema *weir__config_schema(const struct weir__config *config);
/* The struct of the table, which is one of the schema's. */
const void *weir__config_values(const struct weir__config *config,
                                const struct weir__config_table *table);

enum weir__config_from {
    WEIR__CONFIG_FROM_DEFAULT,
    WEIR__CONFIG_FROM_FILE,
    WEIR__CONFIG_FROM_ENVIRONMENT,
    WEIR__CONFIG_FROM_FLAG
};

/* Where the value of the key came from, in ret_text as people read it: "default", "weir.toml:3",
 * "WEIR_LISTEN", "--listen". */
enum weir__config_from weir__config_origin(const struct weir__config *config, size_t index,
                                           char *ret_text, size_t size);

/* --- texts made from the schema; NoMemory, or Overflow at the buffer's maximum --- */

#define WEIR__CONFIG_RANGE_MAX 256

/* "bool", "count", "size", ... */
const char *weir__config_kind_name(enum weir__config_kind kind);
/* "1 to 4096", "0 (no limit) or at least 1", "first, always or scrub"; "" when all is allowed. */
void weir__config_range(const struct weir__config_key *key, char *text, size_t size);
/* The variable of the environment. */
void weir__config_variable(const struct weir__config_key *key,
                           char text[WEIR__CONFIG_NAME_MAX + 8]);
/* The value, and the default, as they stand in a file. */
WEIR_MUST_USE int weir__config_put_value(struct weir__buffer *buffer,
                                         const struct weir__config *config, size_t index);
WEIR_MUST_USE int weir__config_put_default(struct weir__buffer *buffer,
                                           const struct weir__config_key *key);
/* All values as a file that loads to them again, with their origins as comments if wanted. */
WEIR_MUST_USE int weir__config_show(struct weir__buffer *buffer, const struct weir__config *config,
                                    bool with_origin);
/* A file with every key explained and commented out. */
WEIR_MUST_USE int weir__config_sample(struct weir__buffer *buffer,
                                      const struct weir__config_schema *schema);
/* The same as tables of Markdown, one for each section. */
WEIR_MUST_USE int weir__config_markdown(struct weir__buffer *buffer,
                                        const struct weir__config_schema *schema);

#endif
