/* condition.c - lists of entity tags, and what they decide. */
#include "condition.h"

#include <string.h>

#include "banned.h"

/* What a list says about one tag. */
enum list { LIST_BROKEN, LIST_HAS, LIST_LACKS };

struct tag {
    const char *opaque; /* with its quotes */
    size_t length;
    bool is_weak;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_tag_byte(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte == 0x21 || (byte >= 0x23 && byte <= 0x7e) || byte >= 0x80;
}

/* How long the tag at the beginning is; 0: there is none. */
static size_t read_tag(const char *text, size_t length, struct tag *ret_tag)
{
    bool is_weak = length >= 2 && text[0] == 'W' && text[1] == '/';
    size_t from = is_weak ? 2 : 0, at = from;
    if (at == length || text[at++] != '"')
        return 0;
    while (at < length && is_tag_byte(text[at]))
        at++;
    if (at == length || text[at++] != '"')
        return 0;
    *ret_tag = (struct tag){text + from, at - from, is_weak};
    return at;
}

static bool is_same(const struct tag *a, const struct tag *b, bool is_strong)
{
    if (is_strong && (a->is_weak || b->is_weak))
        return false;
    return a->length == b->length && memcmp(a->opaque, b->opaque, a->length) == 0;
}

static struct weir__field trim(const struct weir__field *field)
{
    struct weir__field inner = *field;
    while (inner.length > 0 && is_space(inner.text[0]))
        inner.text++, inner.length--;
    while (inner.length > 0 && is_space(inner.text[inner.length - 1]))
        inner.length--;
    return inner;
}

static bool is_any(const struct weir__field *field)
{
    struct weir__field inner = trim(field);
    return inner.length == 1 && inner.text[0] == '*';
}

/* mine NULL: nothing is there, and only whether the list is one is seen. All of it is read: what is
 * broken behind a match is broken. */
static enum list look(const struct weir__field *field, const struct tag *mine, bool is_strong)
{
    bool has = false, is_empty = true;
    for (size_t at = 0;;) {
        struct tag tag;
        while (at < field->length && is_space(field->text[at]))
            at++;
        if (at < field->length && field->text[at] != ',') {
            size_t length = read_tag(field->text + at, field->length - at, &tag);
            if (length == 0)
                return LIST_BROKEN;
            has = has || (mine && is_same(&tag, mine, is_strong));
            is_empty = false;
            for (at += length; at < field->length && is_space(field->text[at]);)
                at++;
        }
        if (at == field->length)
            return is_empty ? LIST_BROKEN : has ? LIST_HAS : LIST_LACKS;
        if (field->text[at++] != ',')
            return LIST_BROKEN;
    }
}

static bool read_mine(const char *etag, struct tag *ret_tag)
{
    return etag && read_tag(etag, strlen(etag), ret_tag) > 0;
}

enum weir__condition weir__condition_check(const struct weir__conditions *conditions, bool is_read,
                                           const char *etag)
{
    const struct weir__field *match = &conditions->if_match, *none = &conditions->if_none_match;
    struct tag tag;
    const struct tag *mine = read_mine(etag, &tag) ? &tag : NULL;
    if (match->text) {
        bool holds = is_any(match) ? mine != NULL : look(match, mine, true) == LIST_HAS;
        if (!holds)
            return WEIR__CONDITION_FAILED;
    }
    if (!none->text)
        return WEIR__CONDITION_PROCEED;
    enum list list = is_any(none) ? (mine ? LIST_HAS : LIST_LACKS) : look(none, mine, false);
    if (list == LIST_HAS)
        return is_read ? WEIR__CONDITION_NOT_MODIFIED : WEIR__CONDITION_FAILED;
    return list == LIST_BROKEN && !is_read ? WEIR__CONDITION_FAILED : WEIR__CONDITION_PROCEED;
}

bool weir__condition_if_range(const struct weir__field *if_range, const char *etag)
{
    struct tag mine, tag;
    if (!if_range->text)
        return true;
    struct weir__field inner = trim(if_range);
    return read_mine(etag, &mine) && read_tag(inner.text, inner.length, &tag) == inner.length &&
           inner.length > 0 && is_same(&tag, &mine, true);
}
