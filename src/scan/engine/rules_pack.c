/* rules_pack.c - rules to bytes and back.
 *
 * Everything in order, numbers of eight bytes as the machine has them (the build and the program
 * run on the same kind), a text as its length, its bytes and a NUL; no text is a length of all
 * ones.
 */
#include "rules_pack.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "rules_part.h"

#include "banned.h"

#define NO_TEXT UINT32_MAX

/* --- packing --- */

static int put_number(struct weir__buffer *out, uint64_t value)
{
    return weir__buffer_append(out, &value, sizeof(value));
}

static int put_text(struct weir__buffer *out, const char *text)
{
    uint32_t length = text ? (uint32_t)strlen(text) : NO_TEXT;
    int result = weir__buffer_append(out, &length, sizeof(length));
    return result < 0 || !text ? result : weir__buffer_append(out, text, (size_t)length + 1);
}

static int put_strings(struct weir__buffer *out, const struct weir__strings *strings)
{
    int result = put_number(out, strings->count);
    for (size_t i = 0; i < strings->count && result == 0; i++)
        result = put_text(out, strings->items[i]);
    return result;
}

static int put_allows(struct weir__buffer *out, const struct weir__allow *allows, size_t count,
                      bool has_files)
{
    int result = put_number(out, count);
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct weir__allow *allow = &allows[i];
        const struct weir__strings *lists[] = {&allow->commits, &allow->paths, &allow->regexes,
                                               &allow->stopwords, &allow->rules};
        result = put_text(out, allow->description);
        if (result == 0)
            result = put_text(out, has_files ? allow->file : NULL);
        if (result == 0)
            result = put_number(out, (uint64_t)allow->is_and | (uint64_t)allow->target << 1 |
                                         (uint64_t)allow->line << 8);
        for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]) && result == 0; k++)
            result = put_strings(out, lists[k]);
    }
    return result;
}

static int put_required(struct weir__buffer *out, const struct weir__rule *rule)
{
    int result = put_number(out, rule->required_count);
    for (size_t i = 0; i < rule->required_count && result == 0; i++) {
        result = put_text(out, rule->required[i].rule);
        if (result == 0)
            result = put_number(out, (uint64_t)rule->required[i].within_lines);
        if (result == 0)
            result = put_number(out, (uint64_t)rule->required[i].within_columns);
    }
    return result;
}

static int put_rule(struct weir__buffer *out, const struct weir__rule *rule, bool has_files)
{
    const char *texts[] = {
        rule->id,
        rule->description,
        rule->provider,
        rule->regex,
        rule->path,
        rule->check,
        has_files ? rule->file : NULL,
    };
    uint64_t entropy;
    int result = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && result == 0; i++)
        result = put_text(out, texts[i]);
    memcpy(&entropy, &rule->entropy, sizeof(entropy));
    const uint64_t numbers[] = {rule->secret_group, rule->has_secret_group, entropy,
                                rule->is_hidden,    rule->gives_way,        rule->max_width,
                                rule->line,         rule->is_bound,         rule->is_named,
                                rule->listed_min};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && result == 0; i++)
        result = put_number(out, numbers[i]);
    if (result == 0)
        result = put_strings(out, &rule->keywords);
    if (result == 0)
        result = put_strings(out, &rule->tags);
    if (result == 0)
        result = put_strings(out, &rule->aliases);
    if (result == 0)
        result = put_strings(out, &rule->known);
    if (result == 0)
        result = put_allows(out, rule->allows, rule->allows_count, has_files);
    return result < 0 ? result : put_required(out, rule);
}

static int pack(const struct weir__rules *rules, struct weir__buffer *out, bool has_files)
{
    static const struct weir__strings none;
    int result = put_text(out, rules->title);
    if (result == 0)
        result = put_strings(out, has_files ? &rules->files : &none);
    if (result == 0)
        result = put_allows(out, rules->allows, rules->allows_count, has_files);
    if (result == 0)
        result = put_number(out, rules->rules_count);
    for (size_t i = 0; i < rules->rules_count && result == 0; i++)
        result = put_rule(out, &rules->rules[i], has_files);
    return result;
}

int weir__rules_pack(const struct weir__rules *rules, struct weir__buffer *out)
{
    return pack(rules, out, true);
}

int weir__rules_pack_content(const struct weir__rules *rules, struct weir__buffer *out)
{
    return pack(rules, out, false);
}

int weir__rules_pack_written(const struct weir__rules *rules, struct weir__buffer *out)
{
    const struct weir__rules_set *set = (const struct weir__rules_set *)rules;
    int result = 0;
    for (size_t i = 0; i < rules->rules_count && result == 0; i++) {
        const struct weir__written *written = &set->written[i];
        result = put_number(
            out, (uint64_t)written->is_context | (uint64_t)written->has_secret_group << 1 |
                     (uint64_t)written->has_keywords << 2 | (uint64_t)written->secret_group << 8);
        if (result == 0 && written->is_context)
            result = put_strings(out, &written->context.words);
        if (result == 0 && written->is_context)
            result = put_strings(out, &written->context.names);
        if (result == 0 && written->is_context)
            result = put_text(out, written->context.value);
    }
    return result;
}

/* --- unpacking --- */

struct reader {
    struct weir__rules_set *set;
    const char *at;
    size_t left;
    int error;
};

static void fail(struct reader *reader, int error)
{
    if (reader->error == 0)
        reader->error = error;
    reader->left = 0;
}

static void take(struct reader *reader, void *into, size_t size)
{
    if (reader->left < size) {
        memset(into, 0, size);
        fail(reader, -WEIR_E_CORRUPT);
        return;
    }
    memcpy(into, reader->at, size);
    reader->at += size;
    reader->left -= size;
}

static uint64_t get_number(struct reader *reader)
{
    uint64_t value;
    take(reader, &value, sizeof(value));
    return value;
}

/* It stays where it is; nobody writes to the strings of a set. */
static char *get_text(struct reader *reader)
{
    uint32_t length;
    take(reader, &length, sizeof(length));
    if (length == NO_TEXT)
        return NULL;
    if (reader->left <= length || reader->at[length] != '\0') {
        fail(reader, -WEIR_E_CORRUPT);
        return NULL;
    }
    const char *text = reader->at;
    reader->at += length + 1;
    reader->left -= length + 1;
    return (char *)(uintptr_t)text;
}

/* A count of things that take at least four bytes each, and memory for them. */
static void *get_room(struct reader *reader, size_t size, size_t *ret_count)
{
    uint64_t count = get_number(reader);
    *ret_count = 0;
    if (count == 0 || reader->error < 0)
        return NULL;
    if (count > reader->left / sizeof(uint32_t)) {
        fail(reader, -WEIR_E_CORRUPT);
        return NULL;
    }
    void *room = weir__rules_alloc(reader->set, (size_t)count, size);
    if (!room)
        fail(reader, -WEIR_E_NO_MEMORY);
    else
        *ret_count = (size_t)count;
    return room;
}

static void get_strings(struct reader *reader, struct weir__strings *strings)
{
    strings->items = get_room(reader, sizeof(char *), &strings->count);
    for (size_t i = 0; i < strings->count; i++)
        strings->items[i] = get_text(reader);
}

static struct weir__allow *get_allows(struct reader *reader, size_t *ret_count)
{
    struct weir__allow *allows = get_room(reader, sizeof(*allows), ret_count);
    for (size_t i = 0; i < *ret_count; i++) {
        struct weir__allow *allow = &allows[i];
        struct weir__strings *lists[] = {&allow->commits, &allow->paths, &allow->regexes,
                                         &allow->stopwords, &allow->rules};
        allow->description = get_text(reader);
        allow->file = get_text(reader);
        uint64_t numbers = get_number(reader);
        allow->is_and = numbers & 1;
        allow->target = (enum weir__allow_target)(numbers >> 1 & 0x7f);
        allow->line = (unsigned)(numbers >> 8);
        for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
            get_strings(reader, lists[k]);
    }
    return allows;
}

static void get_rule(struct reader *reader, struct weir__rule *rule)
{
    char **texts[] = {&rule->id,   &rule->description, &rule->provider, &rule->regex,
                      &rule->path, &rule->check,       &rule->file};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = get_text(reader);
    rule->secret_group = (unsigned)get_number(reader);
    rule->has_secret_group = get_number(reader) != 0;
    take(reader, &rule->entropy, sizeof(rule->entropy));
    rule->is_hidden = get_number(reader) != 0;
    rule->gives_way = get_number(reader) != 0;
    rule->max_width = (uint32_t)get_number(reader);
    rule->line = (unsigned)get_number(reader);
    rule->is_bound = get_number(reader) != 0;
    rule->is_named = get_number(reader) != 0;
    rule->listed_min = (uint32_t)get_number(reader);
    get_strings(reader, &rule->keywords);
    get_strings(reader, &rule->tags);
    get_strings(reader, &rule->aliases);
    get_strings(reader, &rule->known);
    rule->allows = get_allows(reader, &rule->allows_count);
    rule->required = get_room(reader, sizeof(*rule->required), &rule->required_count);
    for (size_t i = 0; i < rule->required_count; i++) {
        rule->required[i].rule = get_text(reader);
        rule->required[i].within_lines = (int64_t)get_number(reader);
        rule->required[i].within_columns = (int64_t)get_number(reader);
    }
}

/* Into the memory of a set. */
static int unpack(struct weir__rules_set *set, struct weir__rules *rules, const char *bytes,
                  size_t length)
{
    struct reader reader = {.set = set, .at = bytes, .left = length};
    rules->title = get_text(&reader);
    get_strings(&reader, &rules->files);
    rules->allows = get_allows(&reader, &rules->allows_count);
    rules->rules = get_room(&reader, sizeof(*rules->rules), &rules->rules_count);
    for (size_t i = 0; i < rules->rules_count && reader.error == 0; i++)
        get_rule(&reader, &rules->rules[i]);
    return reader.error;
}

int weir__rules_unpack(struct weir__rules **ret_rules, const char *bytes, size_t length)
{
    struct weir__rules_set *set = weir__base_alloc(1, sizeof(*set));
    if (!set)
        return -WEIR_E_NO_MEMORY;
    int result = unpack(set, &set->rules, bytes, length);
    if (result < 0) {
        weir__rules_free(&set->rules);
        return result;
    }
    *ret_rules = &set->rules;
    return 0;
}

/* Takes from the rule what it got with the expression of its context. */
static void get_written(struct reader *reader, struct weir__draft *draft)
{
    struct weir__rule *rule = &draft->rule;
    uint64_t numbers = get_number(reader);
    if (!(numbers & 1))
        return;
    get_strings(reader, &draft->context.words);
    get_strings(reader, &draft->context.names);
    draft->context.value = get_text(reader);
    rule->regex = NULL;
    rule->is_bound = false;
    rule->has_secret_group = numbers & 2;
    rule->secret_group = (unsigned)(numbers >> 8);
    rule->keywords.count = numbers & 4 ? rule->keywords.count : 0;
}

int weir__drafts_unpack(const struct weir__load *load, const struct weir__rules_packed *packed,
                        struct weir__drafts *ret_drafts)
{
    struct weir__rules rules = {.title = NULL};
    int result = unpack(load->set, &rules, packed->rules, packed->rules_length);
    if (result < 0)
        return result;
    struct weir__draft *items = weir__rules_alloc(load->set, rules.rules_count, sizeof(*items));
    if (!items)
        return -WEIR_E_NO_MEMORY;
    struct reader reader = {
        .set = load->set, .at = packed->written, .left = packed->written_length};
    for (size_t i = 0; i < rules.rules_count; i++) {
        items[i].rule = rules.rules[i];
        get_written(&reader, &items[i]);
    }
    *ret_drafts = (struct weir__drafts){.title = rules.title,
                                        .items = items,
                                        .count = rules.rules_count,
                                        .allows = rules.allows,
                                        .allows_count = rules.allows_count};
    return reader.error < 0 ? reader.error : weir__drafts_index(load, ret_drafts);
}
