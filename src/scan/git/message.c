/* message.c - names of commits and tags, and their parts. */
#include "message.h"

#include <stdio.h>

#include "text.h"

#include "banned.h"

void weir__git_message_name(enum weir__git_type type, const struct weir__git_id *id, size_t id_size,
                            const char *bytes, size_t length, char name[WEIR__GIT_MESSAGE_NAME_MAX])
{
    char hex[WEIR__GIT_HEX_SIZE], why[WEIR__GIT_FLAW_MAX];
    struct weir__git_tag tag;
    const char *prefix = type == WEIR__GIT_TAG ? "tag:" : "commit:";
    if (type == WEIR__GIT_TAG && weir__git_tag_parse(&tag, bytes, length, id_size, why) == 0 &&
        tag.name.length > 0 && bytes[tag.name.offset] != '\0') {
        size_t used = strlen(prefix);
        memcpy(name, prefix, used);
        weir__text_clip(name + used, WEIR__GIT_MESSAGE_NAME_MAX - used, bytes + tag.name.offset,
                        tag.name.length);
        return;
    }
    snprintf(name, WEIR__GIT_MESSAGE_NAME_MAX, "%s%s", prefix, weir__git_id_hex(id, id_size, hex));
}

void weir__git_header_name(enum weir__git_type type, const struct weir__git_id *id, size_t id_size,
                           char name[WEIR__GIT_MESSAGE_NAME_MAX])
{
    char hex[WEIR__GIT_HEX_SIZE];
    snprintf(name, WEIR__GIT_MESSAGE_NAME_MAX, "%s-header:%s",
             type == WEIR__GIT_TAG ? "tag" : "commit", weir__git_id_hex(id, id_size, hex));
}

void weir__git_message_init(struct weir__git_message *message, enum weir__git_type type,
                            const char *bytes, size_t length)
{
    const char *begin = type == WEIR__GIT_COMMIT ? "tree " : "object ";
    size_t begin_length = strlen(begin);
    *message = (struct weir__git_message){
        ._bytes = bytes, ._length = length, ._is_commit = type == WEIR__GIT_COMMIT};
    message->_has_headers = length >= begin_length && memcmp(bytes, begin, begin_length) == 0;
}

static bool is_mergetag(const struct weir__git_message *message,
                        const struct weir__git_header *header)
{
    return message->_is_commit && header->value.length > 0 &&
           weir__git_range_is(message->_bytes, &header->name, "mergetag");
}

int weir__git_message_next(struct weir__git_message *message, struct weir__git_range *ret_part)
{
    struct weir__git_header header;
    if (message->_is_done)
        return 0;
    while (message->_has_headers &&
           weir__git_header_next(message->_bytes, message->_length, &message->_at, &header) > 0)
        if (is_mergetag(message, &header)) {
            *ret_part = header.value;
            return 1;
        }
    message->_is_done = true;
    *ret_part = (struct weir__git_range){message->_at, message->_length - message->_at};
    return ret_part->length > 0;
}

/* Whether the header is an id, as those at the beginning of a commit or a tag are. */
static bool is_id(const struct weir__git_message *message, const struct weir__git_header *header)
{
    static const char *const names[] = {"tree", "parent", "object"};
    const char *value = message->_bytes + header->value.offset;
    size_t length = header->value.length;
    bool is_it = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        is_it |= weir__git_range_is(message->_bytes, &header->name, names[i]);
    if (!is_it || (length != WEIR__GIT_SHA1_SIZE * 2 && length != WEIR__GIT_SHA256_SIZE * 2))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!(value[i] >= '0' && value[i] <= '9') && !(value[i] >= 'a' && value[i] <= 'f'))
            return false;
    return true;
}

int weir__git_message_header(struct weir__git_message *message, struct weir__git_range *ret_part)
{
    struct weir__git_header header;
    size_t at = message->_header_at, from = at;
    bool is_first = at == 0;
    if (!message->_has_headers || message->_is_header_done)
        return 0;
    for (;;) {
        size_t begin = at;
        if (weir__git_header_next(message->_bytes, message->_length, &at, &header) == 0) {
            message->_is_header_done = true;
            *ret_part = (struct weir__git_range){from, begin - from};
            return begin > from;
        }
        is_first = is_first && is_id(message, &header);
        if (is_first) {
            from = at;
        } else if (is_mergetag(message, &header)) {
            message->_header_at = at;
            *ret_part = (struct weir__git_range){from, begin - from};
            if (begin > from)
                return 1;
            from = at;
        }
    }
}
