/* name.c - names and ids of keys: one text for each, taken apart and put together. */
#include "name.h"

#include <string.h>

#include <weir/error.h>

#include "hash.h"

#include "banned.h"

static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";

_Static_assert(sizeof(digits) == 33, "base32");
_Static_assert(WEIR__KEYID_BYTES * 8 == WEIR__KEYID_DIGITS * 5, "no bits are left over");

/* --- ids of keys --- */

void weir__key_id_of(const unsigned char public_key[WEIR__PUBLIC_KEY_SIZE],
                     struct weir__key_id *ret_id)
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, public_key, WEIR__PUBLIC_KEY_SIZE);
    weir__hash_final(&hash, digest);
    memcpy(ret_id->bytes, digest, WEIR__KEYID_BYTES);
}

static int digit_value(char c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

int weir__key_id_parse(const char *text, size_t length, struct weir__key_id *ret_id)
{
    struct weir__key_id id;
    uint32_t bits = 0;
    unsigned count = 0;
    size_t used = 0;
    if (length != WEIR__KEYID_DIGITS)
        return -WEIR_E_INVALID;
    for (size_t i = 0; i < length; i++) {
        int value = digit_value(text[i]);
        if (value < 0)
            return -WEIR_E_INVALID;
        bits = (bits << 5 | (uint32_t)value) & 0xfff;
        count += 5;
        if (count < 8)
            continue;
        count -= 8;
        id.bytes[used++] = (unsigned char)(bits >> count);
    }
    *ret_id = id;
    return 0;
}

void weir__key_id_print(const struct weir__key_id *id, char text[WEIR__KEYID_TEXT])
{
    uint32_t bits = 0;
    unsigned count = 0;
    size_t used = 0;
    for (size_t i = 0; i < WEIR__KEYID_BYTES; i++) {
        bits = (bits << 8 | id->bytes[i]) & 0xfff;
        for (count += 8; count >= 5; count -= 5)
            text[used++] = digits[bits >> (count - 5) & 31];
    }
    text[used] = '\0';
}

/* --- names --- */

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_inner(char c)
{
    return is_alnum(c) || c == '.' || c == '_' || c == '-';
}

/* How much of the text is a label, or the beginning of one; ret_is_whole: it could end there. */
static size_t label_length(const char *text, size_t length, bool *ret_is_whole)
{
    bool is_part_begun = false;
    size_t at = 0;
    for (; at < length && at < WEIR__LABEL_MAX; at++) {
        if (is_part_begun && text[at] == '/')
            is_part_begun = false;
        else if (is_part_begun ? is_inner(text[at]) : is_alnum(text[at]))
            is_part_begun = true;
        else
            break;
    }
    *ret_is_whole = is_part_begun;
    return at;
}

int weir__name_parse(const char *text, size_t length, struct weir__name *ret_name)
{
    struct weir__name name = {.has_key = false};
    bool is_whole;
    size_t label = label_length(text, length, &is_whole);
    if (!is_whole)
        return -WEIR_E_INVALID;
    if (label < length) {
        if (text[label] != '@' ||
            weir__key_id_parse(text + label + 1, length - label - 1, &name.key))
            return -WEIR_E_INVALID;
        name.has_key = true;
    }
    memcpy(name.text, text, length);
    name.length = (uint16_t)length;
    name.label_length = (uint16_t)label;
    *ret_name = name;
    return 0;
}

bool weir__name_is_prefix(const char *text, size_t length)
{
    bool is_whole;
    size_t label = label_length(text, length, &is_whole);
    if (label == length)
        return true;
    if (!is_whole || text[label] != '@' || length - label - 1 > WEIR__KEYID_DIGITS)
        return false;
    for (size_t i = label + 1; i < length; i++)
        if (digit_value(text[i]) < 0)
            return false;
    return true;
}
