/* address.c - addresses of chunks as bytes and as text.
 *
 * Every request has at least one of them in its path, so digits are looked up in tables: two hex
 * digits at a time when printed, and when parsed one look each and a single test at the end.
 */
#include "address.h"

#include <string.h>

#include <weir/error.h>

#include "hash.h"

#include "banned.h"

#define PREFIX        "b3:"
#define PREFIX_LENGTH 3

_Static_assert(WEIR__ADDRESS_SIZE == WEIR__HASH_SIZE, "an address is a digest");
_Static_assert(WEIR__ADDRESS_TEXT == PREFIX_LENGTH + 2 * WEIR__ADDRESS_SIZE + 1, "size of a text");

/* Value of a digit plus one; 0 for what is not one. */
static const unsigned char digits[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

#define ROW(d)                                                                                     \
    d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" d "8" d "9" d "a" d "b" d "c" d "d" d "e" d "f"
static const char pairs[] = ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7")
    ROW("8") ROW("9") ROW("a") ROW("b") ROW("c") ROW("d") ROW("e") ROW("f");

void weir__address_of(const void *bytes, size_t length, struct weir__address *ret_address)
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, length);
    weir__hash_final(&hash, ret_address->bytes);
}

int weir__address_parse(const char *text, size_t length, struct weir__address *ret_address)
{
    struct weir__address address;
    bool is_good = true;
    if (length != WEIR__ADDRESS_TEXT - 1 || memcmp(text, PREFIX, PREFIX_LENGTH) != 0)
        return -WEIR_E_INVALID;
    text += PREFIX_LENGTH;
    for (size_t i = 0; i < WEIR__ADDRESS_SIZE; i++) {
        unsigned high = digits[(unsigned char)text[2 * i]];
        unsigned low = digits[(unsigned char)text[2 * i + 1]];
        is_good = is_good & (high != 0) & (low != 0);
        address.bytes[i] = (unsigned char)((high - 1) << 4 | ((low - 1) & 15));
    }
    if (!is_good)
        return -WEIR_E_INVALID;
    *ret_address = address;
    return 0;
}

void weir__address_print(const struct weir__address *address, char text[WEIR__ADDRESS_TEXT])
{
    memcpy(text, PREFIX, PREFIX_LENGTH);
    for (size_t i = 0; i < WEIR__ADDRESS_SIZE; i++)
        memcpy(text + PREFIX_LENGTH + 2 * i, pairs + 2 * (size_t)address->bytes[i], 2);
    text[WEIR__ADDRESS_TEXT - 1] = '\0';
}

int weir__address_compare(const struct weir__address *a, const struct weir__address *b)
{
    return memcmp(a->bytes, b->bytes, WEIR__ADDRESS_SIZE);
}

bool weir__address_is_equal(const struct weir__address *a, const struct weir__address *b)
{
    return memcmp(a->bytes, b->bytes, WEIR__ADDRESS_SIZE) == 0;
}
