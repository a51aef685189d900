/* source_text.h - what sources write and read in the bodies of their requests: JSON and base64.
 *
 * Promises: what is read comes from strangers. It is bounded in length by the caller and in depth
 * here, no key may be there twice, and nothing beyond length is touched. Base64 has one text for
 * each run of bytes: digits of RFC 4648, padded, bits that mean nothing zero.
 *
 * Ownership: what is parsed belongs to the caller; texts are borrowed.
 */
#ifndef WEIR_INDEX_SOURCE_TEXT_H
#define WEIR_INDEX_SOURCE_TEXT_H

#include <jansson.h>

#include "buffer.h"
#include "record.h"

#define WEIR__SOURCE_JSON_DEPTH 12u

/* One value, with nothing behind it but blanks. Corrupt: it is none; NoMemory. */
WEIR_MUST_USE int weir__source_json(const char *text, size_t length, json_t **ret_json);
/* NULL-safe; for WEIR_CLEANUP. */
void weir__source_json_free(json_t **json);

/* A number as JSON of etcd has it: a text of digits, or a number. False: it is none. */
bool weir__source_number(const json_t *json, uint64_t *ret_number);

/* The size has room for the text of a record with NUL. */
#define WEIR__SOURCE_BASE64 (4u * ((WEIR__RECORD_MAX + 2u) / 3u) + 1u)
/* Appends it. Overflow, NoMemory. */
WEIR_MUST_USE int weir__source_base64_put(struct weir__buffer *buffer, const void *bytes,
                                          size_t length);
/* Into room bytes. Invalid: it is none; TooLarge: there is no room. */
WEIR_MUST_USE int weir__source_base64_get(const char *text, size_t length, unsigned char *bytes,
                                          size_t room, size_t *ret_length);

#endif
