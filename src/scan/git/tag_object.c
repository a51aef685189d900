/* tag_object.c - three headers that must be there, one that may, and the message. */
#include "tag_object.h"

#include <stdio.h>

#include "banned.h"

__attribute__((cold)) static int flaw(char why[WEIR__GIT_FLAW_MAX], const char *text)
{
    snprintf(why, WEIR__GIT_FLAW_MAX, "%s", text);
    return -WEIR_E_CORRUPT;
}

int weir__git_tag_parse(struct weir__git_tag *ret_tag, const char *bytes, size_t length,
                        size_t id_size, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_tag tag = {.bytes = bytes, .length = length};
    struct weir__git_header header;
    size_t at = 0;
    if (weir__git_header_next(bytes, length, &at, &header) == 0 ||
        !weir__git_range_is(bytes, &header.name, "object") || header.value.length != 2 * id_size ||
        weir__git_id_from_hex(&tag.target, bytes + header.value.offset, id_size) < 0)
        return flaw(why, "line 1: a tag begins with 'object' and an id");
    if (weir__git_header_next(bytes, length, &at, &header) == 0 ||
        !weir__git_range_is(bytes, &header.name, "type"))
        return flaw(why, "line 2: no 'type'");
    tag.target_type = weir__git_type_of(bytes + header.value.offset, header.value.length);
    if (tag.target_type == 0)
        return flaw(why, "line 2: not a type that objects have");
    if (weir__git_header_next(bytes, length, &at, &header) == 0 ||
        !weir__git_range_is(bytes, &header.name, "tag"))
        return flaw(why, "line 3: no 'tag' with its name");
    tag.name = header.value;
    while (weir__git_header_next(bytes, length, &at, &header) > 0)
        if (weir__git_range_is(bytes, &header.name, "tagger"))
            weir__git_person_parse(&tag.tagger, bytes, &header.value);
    tag.message = (struct weir__git_range){at, length - at};
    *ret_tag = tag;
    return 0;
}

int weir__git_peel(weir__git_get_fn *get, void *arg, size_t id_size, const struct weir__git_id *id,
                   struct weir__git_id *ret_id, enum weir__git_type *ret_type,
                   struct weir__buffer *bytes, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_id at = *id;
    char hex[WEIR__GIT_HEX_SIZE], reason[WEIR__GIT_FLAW_MAX];
    for (unsigned depth = 0; depth <= WEIR__GIT_TAG_DEPTH_MAX; depth++) {
        enum weir__git_type type;
        struct weir__git_tag tag;
        int error = get(arg, &at, &type, bytes);
        if (error) {
            snprintf(why, WEIR__GIT_FLAW_MAX, "object %s: %s", weir__git_id_hex(&at, id_size, hex),
                     weir__git_get_problem(error));
            return error;
        }
        if (type != WEIR__GIT_TAG) {
            *ret_id = at;
            *ret_type = type;
            return 0;
        }
        error = weir__git_tag_parse(&tag, weir__buffer_text(bytes), weir__buffer_length(bytes),
                                    id_size, reason);
        if (error) {
            snprintf(why, WEIR__GIT_FLAW_MAX, "tag %s: %.80s", weir__git_id_hex(&at, id_size, hex),
                     reason);
            return error;
        }
        at = tag.target;
    }
    snprintf(why, WEIR__GIT_FLAW_MAX, "tag %s: more than %u tags of tags",
             weir__git_id_hex(id, id_size, hex), WEIR__GIT_TAG_DEPTH_MAX);
    return -WEIR_E_TOO_LARGE;
}
