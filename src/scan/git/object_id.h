/* object_id.h - how git names an object: the hash of its type, its length and its bytes.
 *
 * A repository has one hash for all of its objects: SHA-1 (20 bytes) or SHA-256 (32 bytes). An id
 * does not carry its length; whoever has the store knows it (weir__git_store_id_size()). Bytes
 * behind the length are zero, so that ids can be compared and hashed as a whole.
 *
 * Ownership: nothing here owns anything; ids are values.
 */
#ifndef WEIR_SCAN_GIT_OBJECT_ID_H
#define WEIR_SCAN_GIT_OBJECT_ID_H

#include <string.h>

#include <weir/defs.h>
#include <weir/error.h>

#include "buffer.h"

#define WEIR__GIT_SHA1_SIZE   20u
#define WEIR__GIT_SHA256_SIZE 32u
#define WEIR__GIT_ID_SIZE_MAX 32u
/* As a text, with its NUL. */
#define WEIR__GIT_HEX_SIZE (2 * WEIR__GIT_ID_SIZE_MAX + 1)

struct weir__git_id {
    uint8_t bytes[WEIR__GIT_ID_SIZE_MAX];
};

/* As packs number them. */
enum weir__git_type {
    WEIR__GIT_COMMIT = 1,
    WEIR__GIT_TREE,
    WEIR__GIT_BLOB,
    WEIR__GIT_TAG,
};

/* Where objects come from: the bytes are put into the buffer in place of what it had, at most as
 * many as it may hold (TooLarge). NotFound when there is no such object, Corrupt when it is
 * damaged, Io and NoMemory as usual; ret_type is untouched on failure and may be NULL. */
typedef int weir__git_get_fn(void *arg, const struct weir__git_id *id,
                             enum weir__git_type *ret_type, struct weir__buffer *bytes);

/* What is said of an object that nobody has, wherever that shows; where it should be may stand
 * between the two. */
#define WEIR__GIT_MISSING      "it is missing"
#define WEIR__GIT_MISSING_CURE "; 'git fetch --refetch' brings it if the remote has it"

/* Of one that such a function has failed on. Corrupt is also said of what is found nowhere while
 * not all can be looked at. */
static inline const char *weir__git_get_problem(int error)
{
    return error == -WEIR_E_NOT_FOUND ? WEIR__GIT_MISSING WEIR__GIT_MISSING_CURE
           : error == -WEIR_E_CORRUPT ? "it is damaged, or lies where nothing can be read"
           : error == -WEIR_E_TOO_LARGE
               ? "it takes more memory than there is for it: raise --max-memory, or --delta-cache"
               : weir_error_text(error);
}

/* "commit", "tree", "blob", "tag"; "object" for any other number. */
static inline const char *weir__git_type_name(enum weir__git_type type)
{
    static const char *const names[] = {"object", "commit", "tree", "blob", "tag"};
    return type >= WEIR__GIT_COMMIT && type <= WEIR__GIT_TAG ? names[type] : names[0];
}

/* 0 when the length bytes are none of the four names. */
static inline enum weir__git_type weir__git_type_of(const char *name, size_t length)
{
    for (int type = WEIR__GIT_COMMIT; type <= WEIR__GIT_TAG; type++) {
        const char *known = weir__git_type_name((enum weir__git_type)type);
        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return (enum weir__git_type)type;
    }
    return (enum weir__git_type)0;
}

static inline struct weir__git_id weir__git_id_of(const void *bytes, size_t id_size)
{
    struct weir__git_id id = {{0}};
    memcpy(id.bytes, bytes, id_size);
    return id;
}

/* As memcmp(). */
static inline int weir__git_id_compare(const struct weir__git_id *a, const struct weir__git_id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static inline bool weir__git_id_is_equal(const struct weir__git_id *a, const struct weir__git_id *b)
{
    return weir__git_id_compare(a, b) == 0;
}

/* What stands for "none": no object has it. */
static inline bool weir__git_id_is_zero(const struct weir__git_id *id)
{
    static const struct weir__git_id zero;
    return weir__git_id_is_equal(id, &zero);
}

/* Ids are hashes already: any part of one spreads well. */
static inline uint64_t weir__git_id_hash(const struct weir__git_id *id)
{
    uint64_t hash;
    memcpy(&hash, id->bytes, sizeof(hash));
    return hash;
}

static inline int weir__git_hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The first 2 * id_size characters of text, of which there must be as many; Invalid when one of
 * them is no digit. What stands behind them is not looked at. */
WEIR_MUST_USE static inline int weir__git_id_from_hex(struct weir__git_id *ret_id, const char *text,
                                                      size_t id_size)
{
    struct weir__git_id id = {{0}};
    for (size_t i = 0; i < id_size; i++) {
        int high = weir__git_hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : weir__git_hex_digit(text[2 * i + 1]);
        if (low < 0)
            return -WEIR_E_INVALID;
        id.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret_id = id;
    return 0;
}

/* Returns text. */
static inline const char *weir__git_id_hex(const struct weir__git_id *id, size_t id_size,
                                           char text[WEIR__GIT_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < id_size; i++) {
        text[2 * i] = digits[id->bytes[i] >> 4];
        text[2 * i + 1] = digits[id->bytes[i] & 15];
    }
    text[2 * id_size] = '\0';
    return text;
}

#endif
