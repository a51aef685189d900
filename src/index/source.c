/* source.c - what all sources do with records that came to them. */
#include "source.h"

#include <string.h>

#include <weir/error.h>

#include "banned.h"

void weir__reply_drop(struct weir__reply *reply, int error)
{
    reply->dropped++;
    reply->oversized += error == -WEIR_E_TOO_LARGE;
}

bool weir__reply_has(const struct weir__reply *reply, const void *bytes, size_t length)
{
    for (size_t i = 0; i < reply->count; i++)
        if (reply->records[i].length == length &&
            memcmp(reply->records[i].bytes, bytes, length) == 0)
            return true;
    return false;
}

bool weir__reply_add(struct weir__reply *reply, const void *bytes, size_t length)
{
    if (length == 0 || length > WEIR__RECORD_MAX) {
        weir__reply_drop(reply, length > 0 ? -WEIR_E_TOO_LARGE : -WEIR_E_INVALID);
        return false;
    }
    if (weir__reply_has(reply, bytes, length))
        return true;
    if (reply->count == (reply->room ? reply->room : WEIR__REPLY_RECORDS_MAX)) {
        reply->dropped++;
        return false;
    }
    struct weir__record_bytes *record = &reply->records[reply->count++];
    record->length = (uint16_t)length;
    memcpy(record->bytes, bytes, length);
    return true;
}

void weir__record_question(const struct weir__record *record, struct weir__question *ret_question)
{
    memset(ret_question, 0, sizeof(*ret_question));
    if (record->kind == WEIR__RECORD_NAME) {
        ret_question->kind = WEIR__ASK_NAME;
        ret_question->name = record->name;
    } else {
        ret_question->kind = WEIR__ASK_PROVIDERS;
        ret_question->address = record->address;
    }
}
