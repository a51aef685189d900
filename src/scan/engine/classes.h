/* classes.h - what every byte of every text is asked for, 64 bytes at a time.
 *
 * What is asked of all bytes is what scanning costs where nothing is found, so these few questions
 * have forms of their own for processors with AVX2 and with AVX-512, taken when the program runs on
 * one. All give the same answers: that about byte i of a block is bit i.
 *
 * Pure.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_ENGINE_CLASSES_H
#define WEIR_SCAN_ENGINE_CLASSES_H

#include <weir/defs.h>

#define WEIR__CLASSES_BATCH  64u /* blocks at most that are asked for at once */
#define WEIR__CLASSES_DIGITS 5u  /* fewer decimal digits in two blocks are nothing */

/* What the survey of the decoder asks (decode.c). */
struct weir__classes {
    /* A value of base64 below 32, and before it are three groups of base64 that decode to bytes
     * below 128: the thirteenth character of what is perhaps encoded text. */
    uint64_t base64;
    /* Decimal ones; 0 if there are fewer than WEIR__CLASSES_DIGITS in this block and the one before
     * together: what is found does not depend on where blocks begin. */
    uint64_t digits;
    uint64_t rare; /* not 0: beginnings of escapes, or bytes that are not in UTF-8 text */
};

/* What a block has to know of the one before; zeros before the first. */
struct weir__classes_before {
    uint64_t first, second, third; /* characters that may be there in a group of four */
    uint64_t group, groups;        /* where a group ends; where three of them in a row end */
    unsigned digits;               /* how many */
};

struct weir__classifier {
    /* Which of so many blocks have anything that the survey asks for: their numbers, in order, and
     * their classes, at those numbers. Returns how many. */
    size_t (*survey)(const char *bytes, size_t blocks, struct weir__classes_before *before,
                     struct weir__classes *ret_classes, uint8_t *ret_blocks);
    /* Bytes that tokens are made of (weir__is_token_byte()). */
    void (*token_bits)(const char *bytes, size_t blocks, uint64_t *ret_bits);
    /* Line ends. */
    uint64_t (*count_lines)(const char *bytes, size_t length);
};

/* The forms that this processor can run, the best one first; NULL behind the last. */
const struct weir__classifier *weir__classifier_ranked(unsigned rank);

static inline const struct weir__classifier *weir__classifier(void)
{
    return weir__classifier_ranked(0);
}

#endif
