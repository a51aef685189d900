/* rules_memory.c - blocks that are freed together, and the two kinds of messages.
 *
 * A set is made of thousands of small strings that live and die together: they are cut from blocks,
 * which costs one pointer each and no bookkeeping on the failing paths.
 */
#include "rules_part.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "text.h"

#include "banned.h"

#define BLOCK_BYTES (32u << 10)
#define ALIGNMENT   _Alignof(max_align_t)

struct weir__rules_block {
    struct weir__rules_block *next;
    size_t used, size;
    max_align_t bytes[];
};

static struct weir__rules_block *block_with(struct weir__rules_set *set, size_t bytes)
{
    struct weir__rules_block *block = set->blocks;
    if (block && block->size - block->used >= bytes)
        return block;
    size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    block = weir__base_alloc(1, sizeof(*block) + size);
    if (!block)
        return NULL;
    block->size = size;
    block->next = set->blocks;
    set->blocks = block;
    return block;
}

void *weir__rules_alloc(struct weir__rules_set *set, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count ? count : 1, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct weir__rules_block *block = block_with(set, bytes);
    if (!block)
        return NULL;
    void *memory = (char *)block->bytes + block->used;
    block->used += bytes;
    return memory;
}

char *weir__rules_text(struct weir__rules_set *set, const char *text, size_t length)
{
    char *copy = weir__rules_alloc(set, length + 1, 1);
    if (copy && length > 0)
        memcpy(copy, text, length);
    return copy;
}

void weir__rules_release(struct weir__rules_set *set)
{
    while (set->blocks) {
        struct weir__rules_block *block = set->blocks;
        set->blocks = block->next;
        weir__base_free(block);
    }
}

/* The place and the message as one line that people can be shown, cut to the size. */
__attribute__((format(printf, 5, 0))) static void write_line(char *line, size_t size,
                                                             const char *file, unsigned number,
                                                             const char *format, va_list args)
{
    char raw[1024], piece[WEIR__TEXT_PIECE_MAX];
    int begin = number > 0 ? snprintf(raw, sizeof(raw), "%.300s:%u: ", file, number)
                           : snprintf(raw, sizeof(raw), "%.300s: ", file);
    vsnprintf(raw + begin, sizeof(raw) - (size_t)begin, format, args);
    size_t length = 0, step;
    for (const char *p = raw; (step = weir__text_escape(piece, p)) > 0; p += step) {
        size_t piece_length = strnlen(piece, sizeof(piece));
        if (length + piece_length >= size)
            break;
        memcpy(line + length, piece, piece_length);
        length += piece_length;
    }
    line[length] = '\0';
    if (step > 0 && length > 3) /* who reads it has to know that the last word is not whole */
        memcpy(line + length - 3, "...", 3);
}

int weir__rules_refuse(const struct weir__load *load, unsigned line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(load->error->text, sizeof(load->error->text), load->file, line, format, args);
    va_end(args);
    return -WEIR_E_INVALID;
}

int weir__rules_note(const struct weir__load *load, const char *file, unsigned line,
                     const char *format, ...)
{
    struct weir__strings *notes = &load->set->rules.notes;
    char text[512];
    va_list args;
    if (notes->count >= WEIR__NOTES_MAX) {
        load->set->notes_left_out++;
        return 0;
    }
    if (!notes->items) /* and one more, for how many were left out */
        notes->items = weir__rules_alloc(load->set, WEIR__NOTES_MAX + 1, sizeof(char *));
    if (!notes->items)
        return -WEIR_E_NO_MEMORY;
    va_start(args, format);
    write_line(text, sizeof(text), file, line, format, args);
    va_end(args);
    char *copy = weir__rules_text(load->set, text, strlen(text));
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    notes->items[notes->count++] = copy;
    return 0;
}
