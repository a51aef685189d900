/* source_text.c - JSON and base64 that sources speak. */
#include "source_text.h"

#include <string.h>

#include <weir/error.h>

#include "banned.h"

/* --- JSON --- */

/* The parser goes down by recursion, so what is too deep does not reach it. */
static bool is_shallow(const char *text, size_t length)
{
    unsigned depth = 0;
    bool is_inside = false;
    for (size_t i = 0; i < length; i++) {
        if (is_inside) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                is_inside = false;
        } else if (text[i] == '"') {
            is_inside = true;
        } else if (text[i] == '{' || text[i] == '[') {
            if (++depth > WEIR__SOURCE_JSON_DEPTH)
                return false;
        } else if ((text[i] == '}' || text[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return true;
}

int weir__source_json(const char *text, size_t length, json_t **ret_json)
{
    json_error_t error;
    if (!is_shallow(text, length))
        return -WEIR_E_CORRUPT;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        return json_error_code(&error) == json_error_out_of_memory ? -WEIR_E_NO_MEMORY
                                                                   : -WEIR_E_CORRUPT;
    *ret_json = json;
    return 0;
}

void weir__source_json_free(json_t **json)
{
    json_decref(*json);
    *json = NULL;
}

bool weir__source_number(const json_t *json, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (json_is_integer(json) && json_integer_value(json) >= 0) {
        *ret_number = (uint64_t)json_integer_value(json);
        return true;
    }
    const char *text = json_string_value(json);
    size_t length = text ? strlen(text) : 0;
    if (length == 0 || length > 19 || strspn(text, "0123456789") != length)
        return false;
    for (size_t i = 0; i < length; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    *ret_number = number;
    return true;
}

/* --- base64 --- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int weir__source_base64_put(struct weir__buffer *buffer, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    int result = weir__buffer_reserve(buffer, (length + 2) / 3 * 4);
    for (size_t i = 0; i < length && result == 0; i += 3) {
        size_t left = length - i;
        uint32_t bits = (uint32_t)from[i] << 16 | (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                        (left > 2 ? from[i + 2] : 0);
        char text[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                        left > 1 ? digits[bits >> 6 & 63] : '=',
                        left > 2 ? digits[bits & 63] : '='};
        result = weir__buffer_append(buffer, text, sizeof(text));
    }
    return result;
}

static int value_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

int weir__source_base64_get(const char *text, size_t length, unsigned char *bytes, size_t room,
                            size_t *ret_length)
{
    if (length % 4 != 0)
        return -WEIR_E_INVALID;
    size_t padding = length == 0               ? 0
                     : text[length - 2] == '=' ? 2
                     : text[length - 1] == '=' ? 1
                                               : 0;
    size_t size = length / 4 * 3 - padding, used = 0;
    if (size > room)
        return -WEIR_E_TOO_LARGE;
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        int value = i + padding >= length ? 0 : value_of(text[i]);
        if (value < 0 || (i + padding >= length && text[i] != '='))
            return -WEIR_E_INVALID;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 3)
            continue;
        for (int shift = 16; shift >= 0 && used < size; shift -= 8)
            bytes[used++] = (unsigned char)(bits >> shift);
        bool is_clean =
            i + 1 < length || padding == 0 || (bits & (padding == 1 ? 0xffu : 0xffffu)) == 0;
        if (!is_clean)
            return -WEIR_E_INVALID;
        bits = 0;
    }
    *ret_length = size;
    return 0;
}
