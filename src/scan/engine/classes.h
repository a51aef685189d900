/* classes.h - the classes that every byte of every text is asked for, 64 bytes at a time.
 *
 * What is asked of all bytes is what scanning costs where nothing is found, so these few questions
 * have a second form for processors with AVX2, which is taken when the program runs on one. Both
 * give the same bits: that of byte i of a block is bit i.
 *
 * Pure.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_ENGINE_CLASSES_H
#define WEIR_SCAN_ENGINE_CLASSES_H

#include <weir/defs.h>

/* What the survey of the decoder asks (decode.c). */
struct weir__classes {
    uint64_t low32;  /* values of base64 below 32 */
    uint64_t digits; /* decimal ones */
    uint64_t rare;   /* not 0: beginnings of escapes, or bytes that are not in UTF-8 text */
};

/* Of so many blocks of 64 bytes. */
void weir__classify(const char *bytes, size_t blocks, struct weir__classes *ret_classes);

/* Bytes that tokens are made of (weir__is_token_byte()), of so many blocks. */
void weir__token_bits(const char *bytes, size_t blocks, uint64_t *ret_bits);

/* Line ends. */
uint64_t weir__count_lines(const char *bytes, size_t length);

/* For tests: the form for any processor is taken from now on, or again the best one. */
void weir__classes_use_plain(bool is_plain);

#endif
