/* config.c - a configuration: its memory, the order of its sources, reloading. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "config_part.h"
#include "cover.h"
#include "require.h"

#include "banned.h"

/* --- memory --- */

static void free_config(struct weir_snapshot *snapshot)
{
    struct weir__config *config = weir__config_of(snapshot);
    while (config->blocks) {
        struct weir__config_block *next = config->blocks->next;
        weir__base_free(config->blocks);
        config->blocks = next;
    }
    weir__base_free(config);
}

void *weir__config_keep(struct weir__config *config, size_t size)
{
    struct weir__config_block *block = weir__base_alloc(1, sizeof(*block) + size);
    if (!block)
        return NULL;
    block->next = config->blocks;
    config->blocks = block;
    return block->bytes;
}

const char *weir__config_keep_text(struct weir__config *config, const char *text, size_t length)
{
    char *kept = weir__config_keep(config, length + 1);
    if (kept)
        memcpy(kept, text, length);
    return kept;
}

static int new_config(struct weir__config **ret_config, const struct weir__config_schema *schema)
{
    struct weir__config *config = weir__base_alloc(1, sizeof(*config));
    if (!config)
        return -WEIR_E_NO_MEMORY;
    weir_snapshot_init(&config->head, free_config);
    config->schema = schema;
    for (size_t i = 0; schema->tables[i]; i++) {
        WEIR__REQUIRE(i < WEIR__CONFIG_TABLES_MAX, "configuration", schema->tables[i]->name,
                      "there are more tables than a schema may have");
        config->values[i] = weir__config_keep(config, schema->tables[i]->values_size);
        if (!config->values[i]) {
            weir__config_unref(config);
            return -WEIR_E_NO_MEMORY;
        }
    }
    *ret_config = config;
    return 0;
}

struct weir_snapshot *weir__config_snapshot(struct weir__config *config)
{
    return &config->head;
}

struct weir__config *weir__config_of(struct weir_snapshot *snapshot)
{
    return (struct weir__config *)(void *)((char *)snapshot - offsetof(struct weir__config, head));
}

void weir__config_unref(struct weir__config *config)
{
    if (config)
        weir_snapshot_unref(&config->head);
}

void weir__config_unref_at(struct weir__config **config)
{
    weir__config_unref(*config);
    *config = NULL;
}

const struct weir__config_schema *weir__config_schema(const struct weir__config *config)
{
    return config->schema;
}

const void *weir__config_values(const struct weir__config *config,
                                const struct weir__config_table *table)
{
    for (size_t i = 0; config->schema->tables[i]; i++)
        if (config->schema->tables[i] == table)
            return config->values[i];
    WEIR__REQUIRE(false, "configuration", table->name, "its schema does not have this table");
}

/* --- problems --- */

void weir__config_where(const struct weir__config_origin *origin, char *text, size_t size)
{
    char name[200];
    if (origin->name)
        weir__cover_clip(name, sizeof(name), origin->name, SIZE_MAX);
    if (origin->from == WEIR__CONFIG_FROM_DEFAULT)
        snprintf(text, size, "default");
    else if (origin->from == WEIR__CONFIG_FROM_FILE && origin->line > 0)
        snprintf(text, size, "%s:%u", name, origin->line);
    else
        snprintf(text, size, "%s", name);
}

enum weir__config_from weir__config_origin(const struct weir__config *config, size_t index,
                                           char *ret_text, size_t size)
{
    WEIR__REQUIRE(weir__config_key(config->schema, index), "configuration", "origin",
                  "there is no such key");
    weir__config_where(&config->origins[index], ret_text, size);
    return config->origins[index].from;
}

__attribute__((format(printf, 4, 0))) static void tell(struct weir__config_judge *judge,
                                                       bool is_warning, const char *where,
                                                       const char *format, va_list args)
{
    char line[WEIR__CONFIG_LINE_MAX];
    size_t *count = is_warning ? &judge->warnings : &judge->problems;
    if (++*count > WEIR__CONFIG_PROBLEMS_MAX || !judge->sink || !judge->sink->problem)
        return;
    int length = snprintf(line, sizeof(line), "%s: ", where);
    if (length > 0 && (size_t)length < sizeof(line))
        vsnprintf(line + length, sizeof(line) - (size_t)length, format, args);
    judge->sink->problem(judge->sink->arg, is_warning, line);
}

void weir__config_tell(struct weir__config_judge *judge, bool is_warning, const char *where,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(judge, is_warning, where, format, args);
    va_end(args);
}

static size_t index_of(const struct weir__config_judge *judge, const char *key)
{
    size_t index = weir__config_find(judge->config->schema, key);
    WEIR__REQUIRE(index != SIZE_MAX, "key", key, "a check names a key that is not there");
    return index;
}

__attribute__((format(printf, 4, 0))) static void tell_of_key(struct weir__config_judge *judge,
                                                              bool is_warning, const char *key,
                                                              const char *format, va_list args)
{
    char where[WEIR__CONFIG_LINE_MAX / 2], text[WEIR__CONFIG_LINE_MAX / 2];
    weir__config_where(&judge->config->origins[index_of(judge, key)], where, sizeof(where));
    vsnprintf(text, sizeof(text), format, args);
    weir__config_tell(judge, is_warning, where, "%s: %s", key, text);
}

const void *weir__config_judged(const struct weir__config_judge *judge,
                                const struct weir__config_table *table)
{
    return weir__config_values(judge->config, table);
}

void weir__config_object(struct weir__config_judge *judge, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell_of_key(judge, false, key, format, args);
    va_end(args);
}

/* Whoever gave it. Without memory nobody knows, and it is taken for one. */
static bool is_default(const struct weir__config *config, size_t index)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer value;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer preset;
    weir__buffer_init(&value, WEIR__CONFIG_PRINTED_MAX);
    weir__buffer_init(&preset, WEIR__CONFIG_PRINTED_MAX);
    return weir__config_put_value(&value, config, index) < 0 ||
           weir__config_put_default(&preset, weir__config_key(config->schema, index)) < 0 ||
           strcmp(weir__buffer_text(&value), weir__buffer_text(&preset)) == 0;
}

void weir__config_warn(struct weir__config_judge *judge, const char *key, const char *format, ...)
{
    va_list args;
    if (is_default(judge->config, index_of(judge, key)))
        return;
    va_start(args, format);
    tell_of_key(judge, true, key, format, args);
    va_end(args);
}

static void tell_rest(const struct weir__config_judge *judge, bool is_warning, size_t count)
{
    char line[64];
    if (count <= WEIR__CONFIG_PROBLEMS_MAX || !judge->sink || !judge->sink->problem)
        return;
    snprintf(line, sizeof(line), "and %zu more", count - WEIR__CONFIG_PROBLEMS_MAX);
    judge->sink->problem(judge->sink->arg, is_warning, line);
}

/* --- loading --- */

static int store_defaults(struct weir__config_judge *judge)
{
    static const struct weir__config_origin origin = {.from = WEIR__CONFIG_FROM_DEFAULT};
    const struct weir__config_key *key;
    int result = 0;
    for (size_t i = 0; (key = weir__config_key(judge->config->schema, i)) && result == 0; i++) {
        result = weir__config_store_text(judge, i, key->preset, false, &origin);
        WEIR__REQUIRE(judge->problems == 0, "key", key->name,
                      "its default is not one of its values");
    }
    return result;
}

static void check_tables(struct weir__config_judge *judge)
{
    const struct weir__config *config = judge->config;
    for (size_t i = 0; config->schema->tables[i]; i++)
        if (config->schema->tables[i]->check)
            config->schema->tables[i]->check(config->values[i], judge);
}

static int read_sources(struct weir__config_judge *judge,
                        const struct weir__config_sources *sources)
{
    int result = store_defaults(judge);
    if (result == 0 && sources->file)
        result = weir__config_read_file(judge, sources);
    if (result == 0 && sources->environment)
        result = weir__config_read_environment(judge, sources->environment);
    if (result == 0)
        result = weir__config_read_given(judge, sources->given, sources->given_count);
    /* Values that were refused are still the ones before: what they make together says nothing. */
    if (result == 0 && judge->problems == 0)
        check_tables(judge);
    return result;
}

/* What needs a restart keeps its old value. What is left must still fit together. */
static int keep_old(struct weir__config_judge *judge, const struct weir__config *old)
{
    const struct weir__config_key *key;
    int result = 0;
    bool is_kept = false;
    for (size_t i = 0; (key = weir__config_key(old->schema, i)) && result == 0; i++)
        if (!key->is_live && !weir__config_is_same(old, judge->config, i)) {
            result = weir__config_copy(judge->config, old, i);
            is_kept = true;
        }
    if (result == 0 && is_kept)
        check_tables(judge);
    return result;
}

static int end_load(struct weir__config_judge *judge, int result)
{
    tell_rest(judge, true, judge->warnings);
    tell_rest(judge, false, judge->problems);
    return result == 0 && judge->problems > 0 ? -WEIR_E_INVALID : result;
}

int weir__config_load(struct weir__config **ret_config, const struct weir__config_schema *schema,
                      const struct weir__config_sources *sources,
                      const struct weir__config_sink *sink)
{
    struct weir__config_judge judge = {.sink = sink};
    int result = new_config(&judge.config, schema);
    if (result < 0)
        return result;
    result = end_load(&judge, read_sources(&judge, sources));
    if (result < 0)
        weir__config_unref(judge.config);
    else
        *ret_config = judge.config;
    return result;
}

/* --- reloading --- */

/* The texts before and after of each key that differs, each ended by NUL. Made before any of them
 * is told: a reload that tells of changes has succeeded. */
static int put_changes(struct weir__buffer *texts, const struct weir__config *before,
                       const struct weir__config *read)
{
    int result = 0;
    for (size_t i = 0; weir__config_key(before->schema, i) && result == 0; i++) {
        if (weir__config_is_same(before, read, i))
            continue;
        result = weir__config_put_value(texts, before, i);
        if (result == 0)
            result = weir__buffer_putc(texts, '\0');
        if (result == 0)
            result = weir__config_put_value(texts, read, i);
        if (result == 0)
            result = weir__buffer_putc(texts, '\0');
    }
    return result;
}

static void tell_changes(const struct weir__buffer *texts, const struct weir__config *before,
                         const struct weir__config *read, const struct weir__config_sink *sink)
{
    const char *was = weir__buffer_text(texts);
    const struct weir__config_key *key;
    for (size_t i = 0; sink && sink->changed && (key = weir__config_key(before->schema, i)); i++) {
        if (weir__config_is_same(before, read, i))
            continue;
        const char *is = was + strlen(was) + 1;
        sink->changed(sink->arg, key, was, is, !key->is_live);
        was = is + strlen(is) + 1;
    }
}

static size_t count_changed(const struct weir__config *before, const struct weir__config *after)
{
    size_t changed = 0;
    for (size_t i = 0; weir__config_key(before->schema, i); i++)
        changed += !weir__config_is_same(before, after, i);
    return changed;
}

struct weir__config *weir__config_as_read(struct weir__config *config)
{
    return config->as_read ? config->as_read : config;
}

int weir__config_reload(struct weir__config **ret_config, const struct weir__config *old,
                        const struct weir__config_sources *sources,
                        const struct weir__config_sink *sink, size_t *ret_changed)
{
    WEIR_CLEANUP(weir__config_unref_at)
    struct weir__config *read = NULL, *fresh = NULL;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer texts;
    weir__buffer_init(&texts, WEIR__CONFIG_PRINTED_MAX);
    int result = weir__config_load(&read, old->schema, sources, sink);
    if (result == 0)
        result = new_config(&fresh, old->schema);
    struct weir__config_judge judge = {.config = fresh, .sink = sink};
    for (size_t i = 0; result == 0 && weir__config_key(old->schema, i); i++)
        result = weir__config_copy(fresh, read, i);
    if (result == 0)
        result = end_load(&judge, keep_old(&judge, old));
    if (result == 0)
        result = put_changes(&texts, old, read);
    if (result == 0 && sink && sink->apply) {
        fresh->as_read = read;
        result = sink->apply(sink->arg, fresh);
        fresh->as_read = NULL;
    }
    if (result < 0)
        return result;
    tell_changes(&texts, old, read, sink);
    if (ret_changed)
        *ret_changed = count_changed(old, fresh);
    *ret_config = fresh;
    fresh = NULL;
    return 0;
}
