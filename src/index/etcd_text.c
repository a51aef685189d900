/* etcd_text.c - requests to etcd and its answers, as text. */
#include "etcd_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "source_text.h"

#include "banned.h"

/* --- keys --- */

/* The digits of an address without "b3:". */
static const char *hex_of(const struct weir__address *address, char text[WEIR__ADDRESS_TEXT])
{
    weir__address_print(address, text);
    return text + 3;
}

static void set_key(struct weir__etcd_key *key, int length)
{
    key->length = length > 0 ? (size_t)length : 0;
}

void weir__etcd_keys_of(struct weir__etcd_key *ret_key, const char *prefix,
                        const struct weir__question *question)
{
    char address[WEIR__ADDRESS_TEXT];
    if (question->kind == WEIR__ASK_NAME)
        set_key(ret_key, snprintf(ret_key->text, sizeof(ret_key->text), "%.64sn/%s", prefix,
                                  question->name.text));
    else
        set_key(ret_key, snprintf(ret_key->text, sizeof(ret_key->text), "%.64sp/%s/", prefix,
                                  hex_of(&question->address, address)));
}

void weir__etcd_key_of(struct weir__etcd_key *ret_key, const char *prefix,
                       const struct weir__record *record)
{
    char id[WEIR__KEYID_TEXT];
    struct weir__key_id key;
    struct weir__question question;
    weir__record_question(record, &question);
    weir__etcd_keys_of(ret_key, prefix, &question);
    if (record->kind == WEIR__RECORD_NAME)
        return;
    weir__key_id_of(record->public_key, &key);
    weir__key_id_print(&key, id);
    memcpy(ret_key->text + ret_key->length, id, sizeof(id));
    ret_key->length += WEIR__KEYID_DIGITS;
}

_Static_assert(WEIR__ETCD_PREFIX_MAX + 3 + 64 + WEIR__KEYID_DIGITS <= WEIR__ETCD_KEY_MAX,
               "the key of a provider fits");

bool weir__etcd_question(struct weir__question *ret_question, const char *prefix, const char *key,
                         size_t length)
{
    char text[WEIR__ADDRESS_TEXT] = "b3:";
    struct weir__question question = {0};
    size_t before = strlen(prefix);
    if (length < before + 2 || memcmp(key, prefix, before) != 0 || key[before + 1] != '/')
        return false;
    const char *rest = key + before + 2;
    size_t left = length - before - 2;
    if (key[before] == 'n') {
        question.kind = WEIR__ASK_NAME;
        if (weir__name_parse(rest, left, &question.name) < 0)
            return false;
    } else {
        question.kind = WEIR__ASK_PROVIDERS;
        if (key[before] != 'p' || left < 65 || rest[64] != '/')
            return false;
        memcpy(text + 3, rest, 64);
        if (weir__address_parse(text, 67, &question.address) < 0)
            return false;
    }
    *ret_question = question;
    return true;
}

/* --- said to it --- */

static int put_field(struct weir__buffer *buffer, const char *before, const void *bytes,
                     size_t length)
{
    int result = weir__buffer_printf(buffer, "%s\"", before);
    if (result == 0)
        result = weir__source_base64_put(buffer, bytes, length);
    return result < 0 ? result : weir__buffer_putc(buffer, '"');
}

/* The first key behind all that begin with these bytes. No prefix of ours ends with 0xff. */
static int put_end(struct weir__buffer *buffer, const char *text, size_t length)
{
    char end[WEIR__ETCD_KEY_MAX + 1];
    if (length == 0 || length > sizeof(end))
        return -WEIR_E_INVALID;
    memcpy(end, text, length);
    end[length - 1] = (char)((unsigned char)end[length - 1] + 1);
    return put_field(buffer, ",\"range_end\":", end, length);
}

int weir__etcd_put_range(struct weir__buffer *buffer, const struct weir__etcd_range *range)
{
    const struct weir__etcd_key *key = range->key;
    int result = put_field(buffer, "{\"key\":", key->text, key->length);
    if (result == 0 && range->is_prefix)
        result = put_end(buffer, key->text, key->length);
    if (result == 0 && range->limit > 0)
        result = weir__buffer_printf(buffer, ",\"limit\":\"%" PRIu32 "\"", range->limit);
    if (result == 0 && range->is_serializable)
        result = weir__buffer_puts(buffer, ",\"serializable\":true");
    return result < 0 ? result : weir__buffer_putc(buffer, '}');
}

int weir__etcd_put_swap(struct weir__buffer *buffer, const struct weir__etcd_key *key,
                        uint64_t mod_revision, const struct weir__record_bytes *bytes)
{
    int result = put_field(buffer, "{\"compare\":[{\"key\":", key->text, key->length);
    if (result == 0)
        result = weir__buffer_printf(
            buffer, ",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"%" PRIu64 "\"}]",
            mod_revision);
    if (result == 0)
        result =
            put_field(buffer, ",\"success\":[{\"request_put\":{\"key\":", key->text, key->length);
    if (result == 0)
        result = put_field(buffer, ",\"value\":", bytes->bytes, bytes->length);
    return result < 0 ? result : weir__buffer_puts(buffer, "}}]}");
}

int weir__etcd_put_drop(struct weir__buffer *buffer, const void *key, size_t length,
                        uint64_t mod_revision)
{
    int result = put_field(buffer, "{\"compare\":[{\"key\":", key, length);
    if (result == 0)
        result = weir__buffer_printf(
            buffer, ",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"%" PRIu64 "\"}]",
            mod_revision);
    if (result == 0)
        result =
            put_field(buffer, ",\"success\":[{\"request_delete_range\":{\"key\":", key, length);
    return result < 0 ? result : weir__buffer_puts(buffer, "}}]}");
}

int weir__etcd_put_page(struct weir__buffer *buffer, const char *prefix,
                        const struct weir__etcd_key *after, uint32_t limit)
{
    struct weir__etcd_key all;
    set_key(&all, snprintf(all.text, sizeof(all.text), "%.64sp/", prefix));
    /* The least key behind one is the same with a NUL, which its text has anyway. */
    const struct weir__etcd_key *from = after->length > 0 ? after : &all;
    int result = put_field(buffer, "{\"key\":", from->text, from->length + (from == after));
    if (result == 0)
        result = put_end(buffer, all.text, all.length);
    return result < 0 ? result : weir__buffer_printf(buffer, ",\"limit\":\"%" PRIu32 "\"}", limit);
}

int weir__etcd_put_watch(struct weir__buffer *buffer, const char *prefix, uint64_t revision)
{
    int result = put_field(buffer, "{\"create_request\":{\"key\":", prefix, strlen(prefix));
    if (result == 0)
        result = put_end(buffer, prefix, strlen(prefix));
    if (result == 0 && revision > 0)
        result = weir__buffer_printf(buffer, ",\"start_revision\":\"%" PRIu64 "\"", revision);
    return result < 0 ? result : weir__buffer_puts(buffer, "}}");
}

/* --- said by it --- */

/* An answer has a head; else it is something else, or an error. */
static int parse(const char *text, size_t length, json_t **ret_json)
{
    int result = weir__source_json(text, length, ret_json);
    return result < 0 ? result : json_is_object(*ret_json) ? 0 : -WEIR_E_CORRUPT;
}

static int read_bytes(const json_t *json, unsigned char *room, size_t size, size_t *ret_length)
{
    return json_is_string(json)
               ? weir__source_base64_get(json_string_value(json), json_string_length(json), room,
                                         size, ret_length)
               : -WEIR_E_INVALID;
}

static bool get_bytes(const json_t *json, unsigned char *room, size_t size, size_t *ret_length)
{
    return read_bytes(json, room, size, ret_length) == 0;
}

int weir__etcd_read_range(const char *text, size_t length, struct weir__reply *reply,
                          uint64_t *ret_mod_revision)
{
    unsigned char bytes[WEIR__RECORD_MAX];
    uint64_t mod_revision = 0;
    size_t i, count;
    json_t *kv;
    WEIR_CLEANUP(weir__source_json_free)
    json_t *json = NULL;
    int result = parse(text, length, &json);
    if (result < 0)
        return result;
    const json_t *kvs = json_object_get(json, "kvs");
    if (!json_is_object(json_object_get(json, "header")) || (kvs && !json_is_array(kvs)))
        return -WEIR_E_CORRUPT;
    if (kvs && json_array_size(kvs) > 0 &&
        (!weir__source_number(json_object_get(json_array_get(kvs, 0), "mod_revision"),
                              &mod_revision) ||
         mod_revision == 0))
        return -WEIR_E_CORRUPT;
    json_array_foreach(kvs, i, kv)
    {
        int error = read_bytes(json_object_get(kv, "value"), bytes, sizeof(bytes), &count);
        if (error)
            weir__reply_drop(reply, error);
        else
            weir__reply_add(reply, bytes, count);
    }
    if (ret_mod_revision)
        *ret_mod_revision = mod_revision;
    return 0;
}

/* False: it is none that could be ours. */
static bool read_entry(const json_t *kv, struct weir__etcd_entry *ret_entry)
{
    struct weir__etcd_entry *entry = ret_entry;
    size_t length = 0;
    if (!get_bytes(json_object_get(kv, "key"), (unsigned char *)entry->key.text,
                   sizeof(entry->key.text) - 1, &entry->key.length) ||
        !weir__source_number(json_object_get(kv, "mod_revision"), &entry->mod_revision))
        return false;
    entry->key.text[entry->key.length] = '\0';
    if (!get_bytes(json_object_get(kv, "value"), entry->value.bytes, sizeof(entry->value.bytes),
                   &length))
        length = 0;
    entry->value.length = (uint16_t)length;
    return true;
}

int weir__etcd_read_page(const char *text, size_t length, struct weir__etcd_key *ret_last,
                         int (*one)(void *arg, const struct weir__etcd_entry *entry), void *arg)
{
    struct weir__etcd_entry entry;
    struct weir__etcd_key last = {.length = 0};
    size_t i;
    json_t *kv;
    WEIR_CLEANUP(weir__source_json_free)
    json_t *json = NULL;
    int result = parse(text, length, &json);
    if (result < 0)
        return result;
    const json_t *kvs = json_object_get(json, "kvs");
    if (!json_is_object(json_object_get(json, "header")) || (kvs && !json_is_array(kvs)))
        return -WEIR_E_CORRUPT;
    json_array_foreach(kvs, i, kv)
    {
        if (!read_entry(kv, &entry))
            continue;
        last = entry.key;
        result = one(arg, &entry);
        if (result != 0)
            return result;
    }
    if (!json_is_true(json_object_get(json, "more")))
        last.length = 0;
    *ret_last = last;
    return 0;
}

int weir__etcd_read_swap(const char *text, size_t length, bool *ret_is_done)
{
    WEIR_CLEANUP(weir__source_json_free)
    json_t *json = NULL;
    int result = parse(text, length, &json);
    if (result < 0)
        return result;
    if (!json_is_object(json_object_get(json, "header")))
        return -WEIR_E_CORRUPT;
    *ret_is_done = json_is_true(json_object_get(json, "succeeded"));
    return 0;
}

/* The key and the revision of one event. False: it is none of ours. */
static bool read_event(const json_t *event, const char *prefix, struct weir__question *ret_question,
                       uint64_t *last)
{
    unsigned char key[WEIR__ETCD_KEY_MAX];
    const json_t *kv = json_object_get(event, "kv");
    uint64_t revision;
    size_t length;
    if (weir__source_number(json_object_get(kv, "mod_revision"), &revision) && revision > *last)
        *last = revision;
    return get_bytes(json_object_get(kv, "key"), key, sizeof(key), &length) &&
           weir__etcd_question(ret_question, prefix, (const char *)key, length);
}

int weir__etcd_read_watch(const char *text, size_t length, const char *prefix,
                          struct weir__etcd_news *ret_news,
                          void (*changed)(void *arg, const struct weir__question *question),
                          void *arg)
{
    struct weir__etcd_news news = {0};
    struct weir__question question;
    size_t i;
    json_t *event;
    WEIR_CLEANUP(weir__source_json_free)
    json_t *json = NULL;
    int code = parse(text, length, &json);
    if (code < 0)
        return code;
    const json_t *result = json_object_get(json, "result");
    const json_t *header = json_object_get(result, "header");
    const json_t *events = json_object_get(result, "events");
    if (!json_is_object(header) || (events && !json_is_array(events)))
        return -WEIR_E_CORRUPT; /* also for {"error": ...} */
    (void)weir__source_number(json_object_get(header, "revision"), &news.revision);
    (void)weir__source_number(json_object_get(result, "compact_revision"), &news.compacted);
    news.is_created = json_is_true(json_object_get(result, "created"));
    news.is_canceled = json_is_true(json_object_get(result, "canceled"));
    json_array_foreach(events, i, event)
    {
        bool is_ours = read_event(event, prefix, &question, &news.last);
        news.events += is_ours;
        news.others += !is_ours;
        if (is_ours)
            changed(arg, &question);
    }
    *ret_news = news;
    return 0;
}
