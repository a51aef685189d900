/* dht_reply.c - lines of JSON from the DHT, put together from pieces. */
#include "dht_reply.h"

#include <string.h>

#include <weir/error.h>

#include "source_text.h"

#include "banned.h"

void weir__dht_reader_init(struct weir__dht_reader *reader, struct weir__reply *reply,
                           const struct weir__question *question, size_t records_max)
{
    reader->reply = reply;
    reader->question = question;
    reader->records_max = records_max;
    reader->records = 0;
    reader->values = 0;
    reader->has_long = reader->is_over = false;
    reader->_length = 0;
    reader->_is_long = false;
}

/* Whether it could be an answer, by what costs next to nothing. */
static bool could_be(const struct weir__question *question, const unsigned char *bytes,
                     size_t length)
{
    struct weir__record record;
    struct weir__key_id id;
    if (weir__record_unpack(&record, bytes, length) < 0 || !weir__question_fits(question, &record))
        return false;
    if (record.kind != WEIR__RECORD_NAME || !record.name.has_key)
        return true;
    weir__key_id_of(record.public_key, &id);
    return memcmp(&id, &record.name.key, sizeof(id)) == 0;
}

/* The same bytes count once, so that nobody uses up the room with copies of what is true. */
static void take_bytes(struct weir__dht_reader *reader, const unsigned char *bytes, size_t length)
{
    if (weir__reply_has(reader->reply, bytes, length))
        return;
    if (!could_be(reader->question, bytes, length)) {
        weir__reply_drop(reader->reply, -WEIR_E_INVALID);
    } else if (reader->records == reader->records_max) {
        weir__reply_drop(reader->reply, -WEIR_E_INVALID);
        reader->is_over = true;
    } else {
        reader->records += weir__reply_add(reader->reply, bytes, length);
    }
}

static int take_line(struct weir__dht_reader *reader)
{
    unsigned char bytes[WEIR__RECORD_MAX];
    size_t length;
    WEIR_CLEANUP(weir__source_json_free)
    json_t *json = NULL;
    int result = weir__source_json(reader->_line, reader->_length, &json);
    if (result == -WEIR_E_NO_MEMORY)
        return result;
    const json_t *data = json_object_get(json, "data");
    result = json_is_string(data)
                 ? weir__source_base64_get(json_string_value(data), json_string_length(data), bytes,
                                           sizeof(bytes), &length)
                 : -WEIR_E_INVALID;
    if (result == 0)
        take_bytes(reader, bytes, length);
    else
        weir__reply_drop(reader->reply, result);
    return 0;
}

static int end_line(struct weir__dht_reader *reader)
{
    int result = 0;
    if (reader->_is_long)
        weir__reply_drop(reader->reply, -WEIR_E_TOO_LARGE);
    else if (reader->_length > 0)
        result = take_line(reader);
    reader->values += reader->_is_long || reader->_length > 0;
    reader->has_long = reader->has_long || reader->_is_long;
    reader->_length = 0;
    reader->_is_long = false;
    return result;
}

int weir__dht_reader_take(struct weir__dht_reader *reader, const char *bytes, size_t length)
{
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t count = end ? (size_t)(end - bytes) : length;
        if (count > sizeof(reader->_line) - reader->_length)
            reader->_is_long = true;
        if (!reader->_is_long) {
            memcpy(reader->_line + reader->_length, bytes, count);
            reader->_length += count;
        }
        if (!end)
            return 0;
        int result = end_line(reader);
        if (result < 0)
            return result;
        bytes += count + 1;
        length -= count + 1;
    }
    return 0;
}

void weir__dht_reader_end(struct weir__dht_reader *reader)
{
    if (reader->_length > 0 || reader->_is_long) {
        reader->values++;
        reader->reply->dropped++;
        reader->has_long = reader->has_long || reader->_is_long;
    }
    reader->_length = 0;
    reader->_is_long = false;
}
