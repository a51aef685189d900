/* dht_reply.c - lines of JSON from the DHT, put together from pieces. */
#include "dht_reply.h"

#include <string.h>

#include <weir/error.h>

#include "source_text.h"

#include "banned.h"

void weir__dht_reader_init(struct weir__dht_reader *reader, struct weir__reply *reply)
{
    reader->reply = reply;
    reader->values = 0;
    reader->_length = 0;
    reader->_is_long = false;
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
        weir__reply_add(reader->reply, bytes, length);
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
    }
    reader->_length = 0;
    reader->_is_long = false;
}
