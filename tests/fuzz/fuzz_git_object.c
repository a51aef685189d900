/* fuzz_git_object.c - any bytes, as a commit, a tag, a tree and a message.
 *
 * The input is a byte of choices and the object, in memory of exactly its size. What must hold:
 * every range lies inside of the bytes, what has no error has its parts in the order in which they
 * must be, the short way to read a commit says what the long one says, and the entries of a tree
 * are made of all of its bytes.
 */
#include <stdlib.h>

#include "message.h"
#include "require.h"
#include "tag_object.h"
#include "tree_entry.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "git_object", #condition)

static char why[WEIR__GIT_FLAW_MAX];

static void check_range(const struct weir__git_range *range, size_t length)
{
    HOLDS(range->length == 0 ||
          (range->offset < length && range->length <= length - range->offset));
}

static void check_person(const struct weir__git_person *person, size_t length)
{
    char text[WEIR__GIT_DATE_SIZE];
    check_range(&person->name, length);
    check_range(&person->mail, length);
    HOLDS(person->has_time || person->time == 0);
    HOLDS(strlen(weir__git_person_date(person, text)) < WEIR__GIT_DATE_SIZE);
}

static void check_commit(const char *bytes, size_t length, size_t id_size)
{
    struct weir__git_commit commit, links;
    int error = weir__git_commit_parse(&commit, bytes, length, id_size, why);
    HOLDS(error == 0 || error == -WEIR_E_CORRUPT);
    HOLDS(weir__git_commit_parse_links(&links, bytes, length, id_size, why) == error);
    if (error)
        return;
    HOLDS(links.parents_count == commit.parents_count);
    HOLDS(links.committer.time == commit.committer.time);
    HOLDS(weir__git_id_is_equal(&links.tree, &commit.tree));
    for (size_t i = 0; i < commit.parents_count; i++) {
        struct weir__git_id id = weir__git_commit_parent(&commit, i);
        HOLDS(id_size == 32 || (id.bytes[20] == 0 && id.bytes[31] == 0));
    }
    check_person(&commit.author, length);
    check_person(&commit.committer, length);
    check_range(&commit.encoding, length);
    HOLDS(commit.message.offset + commit.message.length == length);
}

static void check_tag(const char *bytes, size_t length, size_t id_size)
{
    struct weir__git_tag tag;
    int error = weir__git_tag_parse(&tag, bytes, length, id_size, why);
    HOLDS(error == 0 || error == -WEIR_E_CORRUPT);
    if (error)
        return;
    check_range(&tag.name, length);
    check_person(&tag.tagger, length);
    HOLDS(tag.message.offset + tag.message.length == length);
}

static void check_tree(const char *bytes, size_t length, size_t id_size)
{
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    const char *from = bytes;
    int result;
    weir__git_tree_init(&tree, bytes, length, id_size);
    while ((result = weir__git_tree_next(&tree, &entry, why)) > 0) {
        HOLDS(entry.name > from && entry.name_length > 0);
        HOLDS(entry.name + entry.name_length < bytes + length);
        HOLDS(!memchr(entry.name, '\0', entry.name_length));
        from = entry.name + entry.name_length + 1 + id_size;
        HOLDS(from <= bytes + length);
    }
    HOLDS(result == -WEIR_E_CORRUPT || (result == 0 && from == bytes + length));
    HOLDS(weir__git_tree_next(&tree, &entry, why) == 0);
}

/* What it merges stands in the lines behind it. */
static bool is_name_of_part(const char *line, size_t size)
{
    return (size == 8 && memcmp(line, "mergetag", 8) == 0) ||
           (size == 9 && memcmp(line, "mergetag ", 9) == 0);
}

/* Each byte is in one part of the message or of the headers at most, and a line that is in none is
 * an id, the end of the headers, or the name of a part. */
static void check_headers(enum weir__git_type type, const char *bytes, size_t length)
{
    struct weir__git_message message;
    struct weir__git_range part;
    char *is_in = calloc(length + 1, 1);
    HOLDS(is_in);
    weir__git_message_init(&message, type, bytes, length);
    for (bool is_first = true; weir__git_message_header(&message, &part) > 0; is_first = false) {
        check_range(&part, length);
        HOLDS(part.length > 0 && (is_first || type == WEIR__GIT_COMMIT));
        memset(is_in + part.offset, 1, part.length);
    }
    while (weir__git_message_next(&message, &part) > 0)
        for (size_t i = 0; i < part.length; i++)
            HOLDS(is_in[part.offset + i]++ == 0);
    for (size_t at = 0; at < length;) {
        const char *end = memchr(bytes + at, '\n', length - at);
        size_t size = (end ? (size_t)(end - bytes) : length) - at;
        const char *line = bytes + at;
        bool is_seen = size == 0 || is_name_of_part(line, size);
        for (size_t i = 0; i < size; i++)
            is_seen |= is_in[at + i];
        HOLDS(is_seen ||
              (size > 7 && (memcmp(line, "tree ", 5) == 0 || memcmp(line, "parent ", 7) == 0 ||
                            memcmp(line, "object ", 7) == 0)));
        at += size + 1;
    }
    free(is_in);
}

static void check_message(enum weir__git_type type, const char *bytes, size_t length,
                          size_t id_size)
{
    struct weir__git_id id = {{0}};
    struct weir__git_message message;
    struct weir__git_range part;
    char name[WEIR__GIT_MESSAGE_NAME_MAX];
    size_t behind = 0;
    weir__git_message_name(type, &id, id_size, bytes, length, name);
    HOLDS(strnlen(name, sizeof(name)) < sizeof(name) && strchr(name, ':'));
    weir__git_message_init(&message, type, bytes, length);
    while (weir__git_message_next(&message, &part) > 0) {
        check_range(&part, length);
        HOLDS(part.length > 0 && part.offset >= behind);
        behind = part.offset + part.length;
    }
    check_headers(type, bytes, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t length = size - 1, id_size = data[0] & 1 ? 32 : 20;
    char *bytes = malloc(length ? length : 1);
    HOLDS(bytes);
    memcpy(bytes, data + 1, length);
    check_commit(bytes, length, id_size);
    check_tag(bytes, length, id_size);
    check_tree(bytes, length, id_size);
    check_message(WEIR__GIT_COMMIT, bytes, length, id_size);
    check_message(WEIR__GIT_TAG, bytes, length, id_size);
    free(bytes);
    return 0;
}
