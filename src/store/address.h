/* address.h - what names a chunk: the BLAKE3-256 of its bytes.
 *
 * In memory it is 32 bytes, as text "b3:" and 64 lower-case hex digits. There is one text for each
 * address: upper-case digits, spaces and anything behind the digits are refused, so that texts may
 * be compared, and kept as names, without being parsed.
 *
 * Nothing here allocates or waits. Order is that of the bytes, which is also that of the texts.
 *
 * Ownership: an address is a value; nothing is kept of what is passed.
 */
#ifndef WEIR_STORE_ADDRESS_H
#define WEIR_STORE_ADDRESS_H

#include <weir/defs.h>

#define WEIR__ADDRESS_SIZE 32
/* Length of the text with its NUL. */
#define WEIR__ADDRESS_TEXT 68

struct weir__address {
    unsigned char bytes[WEIR__ADDRESS_SIZE];
};

/* The address of these bytes; NULL is allowed where there are none. */
void weir__address_of(const void *bytes, size_t length, struct weir__address *ret_address);

/* The address that a text of so many bytes stands for, or Invalid. No NUL is needed. */
WEIR_MUST_USE int weir__address_parse(const char *text, size_t length,
                                      struct weir__address *ret_address);

void weir__address_print(const struct weir__address *address, char text[WEIR__ADDRESS_TEXT]);

/* Below, equal to or above 0, as memcmp() has it. */
int weir__address_compare(const struct weir__address *a, const struct weir__address *b);
bool weir__address_is_equal(const struct weir__address *a, const struct weir__address *b);

#endif
