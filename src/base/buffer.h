/* buffer.h - a growable run of bytes with its largest size stated at birth.
 *
 * Invariants: the bytes are always followed by a NUL that does not count, so the content can be
 * read as a string at any time; the length never exceeds the maximum. At the maximum an append is
 * refused with Overflow, without memory with NoMemory, and in both cases the buffer is as it was.
 *
 * Cost: appends are amortised constant time; a buffer that was never written owns no memory.
 *
 * Ownership: the buffer owns its bytes; what weir__buffer_text() returns belongs to the buffer and
 * is valid until the next change of it.
 */
#ifndef WEIR_BASE_BUFFER_H
#define WEIR_BASE_BUFFER_H

#include <stdarg.h>

#include <weir/defs.h>

struct weir__buffer {
    char *_data;
    size_t _length;
    size_t _capacity;
    size_t _max;
};

/* A buffer that will hold at most max bytes. Allocates nothing. */
void weir__buffer_init(struct weir__buffer *buffer, size_t max);
void weir__buffer_fini(struct weir__buffer *buffer);

/* All or nothing: 0, -WEIR_E_OVERFLOW or -WEIR_E_NO_MEMORY. Appending a part of the buffer to
 * itself is not allowed. */
WEIR_MUST_USE int weir__buffer_append(struct weir__buffer *buffer, const void *bytes, size_t count);
WEIR_MUST_USE int weir__buffer_puts(struct weir__buffer *buffer, const char *text);
WEIR_MUST_USE int weir__buffer_putc(struct weir__buffer *buffer, char byte);
__attribute__((format(printf, 2, 3))) WEIR_MUST_USE int
weir__buffer_printf(struct weir__buffer *buffer, const char *format, ...);
__attribute__((format(printf, 2, 0))) WEIR_MUST_USE int
weir__buffer_vprintf(struct weir__buffer *buffer, const char *format, va_list args);

/* Room for count more bytes, so that appends up to it cannot fail. */
WEIR_MUST_USE int weir__buffer_reserve(struct weir__buffer *buffer, size_t count);

/* Forgets everything after the first length bytes; longer than it is changes nothing. The memory
 * is kept. */
void weir__buffer_truncate(struct weir__buffer *buffer, size_t length);

/* The bytes are the buffer's from now on, in place of what it had: memory of weir__base_realloc()
 * with room for a NUL behind them, and no more of them than its maximum. NULL: it owns none. */
void weir__buffer_adopt(struct weir__buffer *buffer, char *bytes, size_t length);

/* Never NULL. */
const char *weir__buffer_text(const struct weir__buffer *buffer);
size_t weir__buffer_length(const struct weir__buffer *buffer);
size_t weir__buffer_max(const struct weir__buffer *buffer);

#endif
