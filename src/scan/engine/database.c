/* database.c - patterns as one Hyperscan database, compiled once and kept.
 *
 * Compiling takes most of a second, loading less than a millisecond. What is kept is found by a
 * hash of the patterns, the processor's features and the library's version, and begins with a hash
 * of itself, so that what was cut off or altered is never handed to the library.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "hash.h"
#include "parts.h"

#include "banned.h"

#define FORMAT "weir database 1"

int weir__patterns_add(struct weir__patterns *patterns, const char *text, unsigned flags)
{
    if (patterns->count == patterns->capacity) {
        uint32_t capacity = patterns->capacity ? patterns->capacity * 2 : 64;
        char **texts = weir__base_realloc(patterns->texts, capacity, sizeof(*texts));
        if (!texts)
            return -WEIR_E_NO_MEMORY;
        patterns->texts = texts;
        unsigned *more = weir__base_realloc(patterns->flags, capacity, sizeof(*more));
        if (!more)
            return -WEIR_E_NO_MEMORY;
        patterns->flags = more;
        more = weir__base_realloc(patterns->ids, capacity, sizeof(*more));
        if (!more)
            return -WEIR_E_NO_MEMORY;
        patterns->ids = more;
        patterns->capacity = capacity;
    }
    size_t size = strlen(text) + 1;
    char *copy = weir__base_alloc(1, size);
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    memcpy(copy, text, size);
    patterns->texts[patterns->count] = copy;
    patterns->flags[patterns->count] = flags;
    patterns->ids[patterns->count] = patterns->count;
    patterns->count++;
    return 0;
}

void weir__patterns_fini(struct weir__patterns *patterns)
{
    for (uint32_t i = 0; i < patterns->count; i++)
        weir__base_free(patterns->texts[i]);
    weir__base_free(patterns->texts);
    weir__base_free(patterns->flags);
    weir__base_free(patterns->ids);
}

static void identify(const struct weir__patterns *patterns, const struct weir__rules *rules,
                     char identity[33])
{
    struct weir__hash hash;
    unsigned char digest[WEIR__HASH_SIZE];
    hs_platform_info_t platform;
    memset(&platform, 0, sizeof(platform));
    (void)hs_populate_platform(&platform);
    weir__hash_init(&hash);
    weir__hash_update(&hash, FORMAT, sizeof(FORMAT));
    weir__hash_update(&hash, hs_version(), strlen(hs_version()) + 1);
    weir__hash_update(&hash, &platform, sizeof(platform));
    for (uint32_t i = 0; i < patterns->count; i++) {
        weir__hash_update(&hash, patterns->texts[i], strlen(patterns->texts[i]) + 1);
        weir__hash_update(&hash, &patterns->flags[i], sizeof(patterns->flags[i]));
    }
    /* Expressions that were found in order once are not compiled to look again. */
    for (size_t i = 0; i < rules->rules_count; i++)
        if (rules->rules[i].regex)
            weir__hash_update(&hash, rules->rules[i].regex, strlen(rules->rules[i].regex) + 1);
    weir__hash_final(&hash, digest);
    for (unsigned i = 0; i < 16; i++)
        snprintf(identity + 2 * i, 3, "%02x", digest[i]);
}

static void seal_of(const char *bytes, size_t length, unsigned char seal[WEIR__HASH_SIZE])
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, length);
    weir__hash_final(&hash, seal);
}

static hs_database_t *load(const struct weir__engine_cache *cache, const char *identity)
{
    char *bytes = NULL;
    size_t length = 0;
    hs_database_t *database = NULL;
    unsigned char seal[WEIR__HASH_SIZE];
    if (!cache || cache->get(cache->arg, identity, &bytes, &length) < 0)
        return NULL;
    if (length > sizeof(seal)) {
        seal_of(bytes + sizeof(seal), length - sizeof(seal), seal);
        if (memcmp(seal, bytes, sizeof(seal)) != 0 ||
            hs_deserialize_database(bytes + sizeof(seal), length - sizeof(seal), &database) !=
                HS_SUCCESS)
            database = NULL;
    }
    weir__base_free(bytes);
    return database;
}

/* What cannot be kept is compiled again the next time. */
static void keep(const struct weir__engine_cache *cache, const char *identity,
                 const hs_database_t *database)
{
    char *bytes = NULL;
    size_t length = 0;
    if (!cache || hs_serialize_database(database, &bytes, &length) != HS_SUCCESS)
        return;
    char *sealed = weir__base_alloc(1, WEIR__HASH_SIZE + length);
    if (sealed) {
        seal_of(bytes, length, (unsigned char *)sealed);
        memcpy(sealed + WEIR__HASH_SIZE, bytes, length);
        cache->put(cache->arg, identity, sealed, WEIR__HASH_SIZE + length);
    }
    weir__base_free(sealed);
    weir__base_free(bytes); /* of the same malloc */
}

/* Those of allow lists and paths too: nothing may fail later, in the middle of a scan. */
static int check_list(const struct weir__strings *list, const char *whose,
                      struct weir__rules_error *ret_error)
{
    char reason[192];
    for (size_t i = 0; i < list->count; i++)
        if (!weir__matcher_check(list->items[i], reason, sizeof(reason))) {
            snprintf(ret_error->text, sizeof(ret_error->text),
                     "cannot use the expression '%.160s' of %.80s: %s", list->items[i], whose,
                     reason);
            return -WEIR_E_INVALID;
        }
    return 0;
}

static int check_allows(const struct weir__allow *allows, size_t count, const char *whose,
                        struct weir__rules_error *ret_error)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        result = check_list(&allows[i].regexes, whose, ret_error);
        if (result == 0)
            result = check_list(&allows[i].paths, whose, ret_error);
    }
    return result;
}

static int check_expressions(const struct weir__rules *rules, struct weir__rules_error *ret_error)
{
    int result = check_allows(rules->allows, rules->allows_count, "an allow list", ret_error);
    for (size_t i = 0; i < rules->rules_count && result == 0; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        char *texts[2];
        struct weir__strings list = {.items = texts};
        if (rule->regex)
            texts[list.count++] = rule->regex;
        if (rule->path)
            texts[list.count++] = rule->path;
        result = check_list(&list, rule->id, ret_error);
        if (result == 0)
            result = check_allows(rule->allows, rule->allows_count, rule->id, ret_error);
    }
    return result;
}

int weir__database_new(hs_database_t **ret_database, const struct weir__patterns *patterns,
                       const struct weir__rules *rules, const struct weir__engine_cache *cache,
                       char identity[33], bool *ret_is_cached, struct weir__rules_error *ret_error)
{
    identify(patterns, rules, identity);
    *ret_is_cached = false;
    *ret_database = patterns->count > 0 ? load(cache, identity) : NULL;
    if (*ret_database) {
        *ret_is_cached = true;
        return 0;
    }
    int checked = check_expressions(rules, ret_error);
    if (checked < 0 || patterns->count == 0)
        return checked;
    hs_compile_error_t *error = NULL;
    hs_error_t result =
        hs_compile_multi((const char *const *)patterns->texts, patterns->flags, patterns->ids,
                         patterns->count, HS_MODE_BLOCK, NULL, ret_database, &error);
    if (result == HS_SUCCESS) {
        keep(cache, identity, *ret_database);
        return 0;
    }
    snprintf(ret_error->text, sizeof(ret_error->text), "cannot compile '%.200s': %s",
             error && error->expression >= 0 ? patterns->texts[error->expression] : "the rules",
             error ? error->message : "no reason is known");
    hs_free_compile_error(error);
    return result == HS_NOMEM ? -WEIR_E_NO_MEMORY : -WEIR_E_INVALID;
}
