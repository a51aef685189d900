/* index_bits.c - EWAH: a marker word, a run of words that are all 0 or all 1, words as they are.
 *
 * A marker: bit 0 is that of the run, the next 32 bits say how long it is, the upper 31 how many
 * words follow as they are.
 */
#include "index_part.h"

#include "banned.h"

static uint64_t word_at(const struct weir__index_bits *bits, uint32_t number)
{
    const uint8_t *p = bits->words + (size_t)number * 8;
    return (uint64_t)weir__index_u32(p) << 32 | weir__index_u32(p + 4);
}

bool weir__index_bits_init(struct weir__index_bits *bits, const uint8_t *bytes, size_t length,
                           size_t *at)
{
    *bits = (struct weir__index_bits){0};
    if (length - *at < 12)
        return false;
    uint32_t count = weir__index_u32(bytes + *at + 4);
    if ((length - *at - 12) / 8 < count)
        return false;
    bits->bits_count = weir__index_u32(bytes + *at);
    bits->words = bytes + *at + 8;
    bits->words_count = count;
    *at += 12 + (size_t)count * 8; /* at the end: where the last marker is */
    return true;
}

/* The next word of the map, packed no more. */
static bool next_word(struct weir__index_bits *bits)
{
    while (bits->run_left == 0 && bits->plain_left == 0) {
        if (bits->next >= bits->words_count)
            return false;
        uint64_t marker = word_at(bits, bits->next++);
        bits->run_bit = marker & 1;
        bits->run_left = marker >> 1 & UINT32_MAX;
        bits->plain_left = marker >> 33;
    }
    if (bits->run_left > 0) {
        bits->run_left--;
        bits->word = bits->run_bit ? UINT64_MAX : 0;
    } else if (bits->next < bits->words_count) {
        bits->plain_left--;
        bits->word = word_at(bits, bits->next++);
    } else {
        return false;
    }
    bits->word_number += bits->has_word;
    bits->has_word = true;
    return true;
}

bool weir__index_bits_has(struct weir__index_bits *bits, uint64_t bit)
{
    if (bit >= bits->bits_count)
        return false;
    while (!bits->has_word || bits->word_number < bit / 64)
        if (!next_word(bits))
            return false;
    return bits->word_number == bit / 64 && (bits->word >> bit % 64 & 1);
}
