/* kept.c - an engine made ready, from a cache and into it.
 *
 * Studying and compiling the rules takes most of a second, and loading the result a few
 * milliseconds. What is kept is found by a hash of the rules, the processor's features, the
 * library's version and the engine's own sources (engine_stamp.c), and begins with a hash of
 * itself, so that what was cut off or altered is never used. It is of this machine alone: numbers
 * are as the processor has them.
 *
 *   seal | head | rules | anchors | rules of anchors | keyword numbers | databases
 *
 * Numbers that point into something are checked all the same: whoever can write to the cache can
 * make a seal.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "engine_stamp.h"
#include "hash.h"
#include "parts.h"
#include "rules_pack.h"

#include "banned.h"

#define PACKED_MAX (64u << 20)

struct head {
    uint32_t rules, anchors, anchor_rules, keyword_numbers, keywords, width, pattern_width;
    uint64_t database_lengths[WEIR__LOOKS];
};

struct kept_rule {
    uint32_t width, reach, first_keyword, keywords_count, is_by_literals, look;
};

/* --- the name --- */

int weir__kept_identify(struct weir__engine *engine)
{
    struct weir__hash hash;
    unsigned char digest[WEIR__HASH_SIZE];
    hs_platform_info_t platform;
    struct weir__buffer packed;
    weir__buffer_init(&packed, PACKED_MAX);
    int result = weir__rules_pack_content(engine->rules, &packed);
    if (result < 0) {
        weir__buffer_fini(&packed);
        return -WEIR_E_NO_MEMORY;
    }
    memset(&platform, 0, sizeof(platform));
    (void)hs_populate_platform(&platform);
    weir__hash_init(&hash);
    weir__hash_update(&hash, WEIR__ENGINE_STAMP, sizeof(WEIR__ENGINE_STAMP));
    weir__hash_update(&hash, hs_version(), strlen(hs_version()) + 1);
    weir__hash_update(&hash, &platform, sizeof(platform));
    weir__hash_update(&hash, weir__buffer_text(&packed), weir__buffer_length(&packed));
    /* Which of them were chosen. */
    if (engine->count < engine->rules->rules_count)
        for (uint32_t i = 0; i < engine->count; i++)
            weir__hash_update(&hash, engine->prepared[i].rule->id,
                              strlen(engine->prepared[i].rule->id) + 1);
    weir__hash_final(&hash, digest);
    weir__buffer_fini(&packed);
    for (unsigned i = 0; i < 16; i++)
        snprintf(engine->identity + 2 * i, 3, "%02x", digest[i]);
    return 0;
}

static void seal_of(const char *bytes, size_t length, unsigned char seal[WEIR__HASH_SIZE])
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, length);
    weir__hash_final(&hash, seal);
}

/* --- reading --- */

struct reader {
    const char *at;
    size_t left;
};

static bool take(struct reader *reader, void *into, size_t size)
{
    if (reader->left < size)
        return false;
    memcpy(into, reader->at, size);
    reader->at += size;
    reader->left -= size;
    return true;
}

/* An array into memory of its own; one more than needed, so that none is empty. */
static bool take_array(struct reader *reader, void **ret_array, size_t count, size_t size)
{
    if (count > reader->left / size)
        return false;
    *ret_array = weir__base_alloc(count + 1, size);
    return *ret_array && take(reader, *ret_array, count * size);
}

static bool take_rules(struct reader *reader, struct weir__engine *engine)
{
    for (uint32_t i = 0; i < engine->count; i++) {
        struct kept_rule kept;
        struct weir__prepared *prepared = &engine->prepared[i];
        if (!take(reader, &kept, sizeof(kept)) || kept.width > WEIR__WIDTH_MAX ||
            kept.width > engine->width || kept.reach > kept.width || kept.look >= WEIR__LOOKS ||
            kept.first_keyword > engine->keyword_numbers_count ||
            kept.keywords_count > engine->keyword_numbers_count - kept.first_keyword)
            return false;
        prepared->width = kept.width;
        prepared->reach = kept.reach;
        prepared->first_keyword = kept.first_keyword;
        prepared->keywords_count = kept.keywords_count;
        prepared->is_by_literals = kept.is_by_literals != 0;
        prepared->look = (uint8_t)kept.look;
    }
    return true;
}

static bool are_numbers_right(const struct weir__engine *engine)
{
    for (uint32_t i = 0; i < engine->anchors_count; i++) {
        const struct weir__anchor *anchor = &engine->anchors[i];
        unsigned char flags[2]; /* as bytes: a bool must be 0 or 1 before it is one */
        memcpy(&flags[0], &anchor->is_keyword, 1);
        memcpy(&flags[1], &anchor->is_cased, 1);
        if (flags[0] > 1 || flags[1] > 1 || anchor->length > WEIR__EXPRESSION_LITERAL ||
            anchor->first_rule > engine->anchor_rules_count ||
            anchor->rules_count > engine->anchor_rules_count - anchor->first_rule ||
            (anchor->is_keyword && anchor->keyword >= engine->keywords_count))
            return false;
    }
    for (uint32_t i = 0; i < engine->anchor_rules_count; i++)
        if (engine->anchor_rules[i] >= engine->count ||
            !engine->prepared[engine->anchor_rules[i]].has_expression)
            return false;
    for (uint32_t i = 0; i < engine->keyword_numbers_count; i++)
        if (engine->keyword_numbers[i] >= engine->keywords_count &&
            engine->keyword_numbers[i] != UINT32_MAX)
            return false;
    return true;
}

static bool take_database(struct reader *reader, uint64_t length, hs_database_t **ret_database)
{
    if (length > reader->left)
        return false;
    if (length > 0 &&
        hs_deserialize_database(reader->at, (size_t)length, ret_database) != HS_SUCCESS)
        return false;
    reader->at += length;
    reader->left -= (size_t)length;
    return true;
}

static bool take_all(struct reader *reader, struct weir__engine *engine)
{
    struct head head;
    void *anchors = NULL, *rules = NULL, *numbers = NULL;
    if (!take(reader, &head, sizeof(head)) || head.rules != engine->count ||
        head.width > WEIR__WIDTH_MAX || head.pattern_width > WEIR__WIDTH_MAX)
        return false;
    engine->width = head.width;
    engine->pattern_width = head.pattern_width;
    engine->keywords_count = head.keywords;
    engine->anchors_count = head.anchors;
    engine->anchor_rules_count = head.anchor_rules;
    engine->keyword_numbers_count = head.keyword_numbers;
    bool is_whole = take_rules(reader, engine) &&
                    take_array(reader, &anchors, head.anchors, sizeof(*engine->anchors)) &&
                    take_array(reader, &rules, head.anchor_rules, sizeof(uint32_t)) &&
                    take_array(reader, &numbers, head.keyword_numbers, sizeof(uint32_t));
    engine->anchors = anchors;
    engine->anchor_rules = rules;
    engine->keyword_numbers = numbers;
    if (!is_whole || head.keywords > head.anchors || !are_numbers_right(engine))
        return false;
    for (unsigned i = 0; i < WEIR__LOOKS; i++)
        if (!take_database(reader, head.database_lengths[i], &engine->databases[i]))
            return false;
    return reader->left == 0;
}

/* As it was when its rules had been chosen. */
static void forget(struct weir__engine *engine)
{
    for (unsigned i = 0; i < WEIR__LOOKS; i++) {
        hs_free_database(engine->databases[i]);
        engine->databases[i] = NULL;
    }
    weir__base_free(engine->anchors);
    weir__base_free(engine->anchor_rules);
    weir__base_free(engine->keyword_numbers);
    engine->anchors = NULL;
    engine->anchor_rules = engine->keyword_numbers = NULL;
    engine->anchors_count = engine->anchor_rules_count = 0;
    engine->keyword_numbers_count = engine->keywords_count = engine->width = 0;
    engine->pattern_width = 0;
    for (uint32_t i = 0; i < engine->count; i++) {
        struct weir__prepared *prepared = &engine->prepared[i];
        prepared->width = prepared->reach = 0;
        prepared->first_keyword = prepared->keywords_count = 0;
        prepared->is_by_literals = false;
        prepared->look = WEIR__LOOK_EVERYWHERE;
    }
}

bool weir__kept_get(struct weir__engine *engine, const struct weir__engine_cache *cache)
{
    char *bytes = NULL;
    size_t length = 0;
    unsigned char seal[WEIR__HASH_SIZE];
    if (!cache || cache->get(cache->arg, engine->identity, &bytes, &length) < 0)
        return false;
    bool is_good = length > sizeof(seal);
    if (is_good) {
        struct reader reader = {.at = bytes + sizeof(seal), .left = length - sizeof(seal)};
        seal_of(reader.at, reader.left, seal);
        is_good = memcmp(seal, bytes, sizeof(seal)) == 0 && take_all(&reader, engine);
    }
    weir__base_free(bytes);
    if (!is_good)
        forget(engine);
    return is_good;
}

/* --- writing --- */

static int put_rules(struct weir__buffer *out, const struct weir__engine *engine)
{
    int result = 0;
    for (uint32_t i = 0; i < engine->count && result == 0; i++) {
        const struct weir__prepared *prepared = &engine->prepared[i];
        struct kept_rule kept = {.width = prepared->width,
                                 .reach = prepared->reach,
                                 .first_keyword = prepared->first_keyword,
                                 .keywords_count = prepared->keywords_count,
                                 .is_by_literals = prepared->is_by_literals,
                                 .look = prepared->look};
        result = weir__buffer_append(out, &kept, sizeof(kept));
    }
    return result;
}

/* A database as bytes; both 0 of none. */
struct flat {
    char *bytes;
    size_t length;
};

static int put_all(struct weir__buffer *out, const struct weir__engine *engine,
                   const struct flat flat[WEIR__LOOKS])
{
    struct head head = {.rules = engine->count,
                        .anchors = engine->anchors_count,
                        .anchor_rules = engine->anchor_rules_count,
                        .keyword_numbers = engine->keyword_numbers_count,
                        .keywords = engine->keywords_count,
                        .width = engine->width,
                        .pattern_width = engine->pattern_width};
    for (unsigned i = 0; i < WEIR__LOOKS; i++)
        head.database_lengths[i] = flat[i].length;
    int result = weir__buffer_append(out, &head, sizeof(head));
    if (result == 0)
        result = put_rules(out, engine);
    if (result == 0)
        result = weir__buffer_append(out, engine->anchors,
                                     engine->anchors_count * sizeof(*engine->anchors));
    if (result == 0)
        result = weir__buffer_append(out, engine->anchor_rules,
                                     engine->anchor_rules_count * sizeof(uint32_t));
    if (result == 0)
        result = weir__buffer_append(out, engine->keyword_numbers,
                                     engine->keyword_numbers_count * sizeof(uint32_t));
    for (unsigned i = 0; i < WEIR__LOOKS && result == 0; i++)
        result = weir__buffer_append(out, flat[i].bytes ? flat[i].bytes : "", flat[i].length);
    return result;
}

void weir__kept_put(const struct weir__engine *engine, const struct weir__engine_cache *cache)
{
    struct flat flat[WEIR__LOOKS] = {{0}};
    struct weir__buffer out;
    if (!cache)
        return;
    weir__buffer_init(&out, 2 * PACKED_MAX);
    bool is_flat = true;
    for (unsigned i = 0; i < WEIR__LOOKS && is_flat; i++)
        is_flat = !engine->databases[i] ||
                  hs_serialize_database(engine->databases[i], &flat[i].bytes, &flat[i].length) ==
                      HS_SUCCESS;
    int result = is_flat ? put_all(&out, engine, flat) : -WEIR_E_NO_MEMORY;
    for (unsigned i = 0; i < WEIR__LOOKS; i++)
        weir__base_free(flat[i].bytes); /* of the same malloc */
    size_t size = weir__buffer_length(&out);
    char *sealed = result == 0 ? weir__base_alloc(1, WEIR__HASH_SIZE + size) : NULL;
    if (sealed) {
        seal_of(weir__buffer_text(&out), size, (unsigned char *)sealed);
        memcpy(sealed + WEIR__HASH_SIZE, weir__buffer_text(&out), size);
        cache->put(cache->arg, engine->identity, sealed, WEIR__HASH_SIZE + size);
    }
    weir__base_free(sealed);
    weir__buffer_fini(&out);
}
