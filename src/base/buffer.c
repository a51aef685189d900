/* buffer.c - growing by doubling, up to the maximum and not a byte further. */
#include "buffer.h"

#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "require.h"

#include "banned.h"

/* The first allocation: most messages and lines fit. */
#define CAPACITY_FIRST 128

void weir__buffer_init(struct weir__buffer *buffer, size_t max)
{
    WEIR__REQUIRE(max > 0 && max < SIZE_MAX / 2, "buffer", "", "its maximum must be above zero");
    *buffer = (struct weir__buffer){._max = max};
}

void weir__buffer_fini(struct weir__buffer *buffer)
{
    if (!buffer)
        return;
    weir__base_free(buffer->_data);
    *buffer = (struct weir__buffer){0};
}

void weir__buffer_adopt(struct weir__buffer *buffer, char *bytes, size_t length)
{
    WEIR__REQUIRE(length <= buffer->_max, "buffer", "", "it adopts more than its maximum");
    weir__base_free(buffer->_data);
    buffer->_data = bytes;
    buffer->_length = bytes ? length : 0;
    buffer->_capacity = bytes ? length + 1 : 0;
    if (bytes)
        bytes[length] = '\0';
}

int weir__buffer_reserve(struct weir__buffer *buffer, size_t count)
{
    if (count > buffer->_max - buffer->_length)
        return -WEIR_E_OVERFLOW;
    size_t needed = buffer->_length + count + 1;
    if (needed <= buffer->_capacity)
        return 0;
    size_t capacity = buffer->_capacity ? buffer->_capacity : CAPACITY_FIRST;
    while (capacity < needed)
        capacity *= 2;
    if (capacity > buffer->_max + 1)
        capacity = buffer->_max + 1;
    char *data = weir__base_realloc(buffer->_data, capacity, 1);
    if (!data)
        return -WEIR_E_NO_MEMORY;
    data[buffer->_length] = '\0';
    buffer->_data = data;
    buffer->_capacity = capacity;
    return 0;
}

int weir__buffer_append(struct weir__buffer *buffer, const void *bytes, size_t count)
{
    int result = weir__buffer_reserve(buffer, count);
    if (result < 0)
        return result;
    if (count > 0)
        memcpy(buffer->_data + buffer->_length, bytes, count);
    buffer->_length += count;
    buffer->_data[buffer->_length] = '\0';
    return 0;
}

int weir__buffer_puts(struct weir__buffer *buffer, const char *text)
{
    return weir__buffer_append(buffer, text, strlen(text));
}

int weir__buffer_putc(struct weir__buffer *buffer, char byte)
{
    return weir__buffer_append(buffer, &byte, 1);
}

int weir__buffer_vprintf(struct weir__buffer *buffer, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    int result = length < 0 ? -WEIR_E_INVALID : weir__buffer_reserve(buffer, (size_t)length);
    if (result == 0) {
        vsnprintf(buffer->_data + buffer->_length, (size_t)length + 1, format, again);
        buffer->_length += (size_t)length;
    }
    va_end(again);
    return result;
}

int weir__buffer_printf(struct weir__buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int result = weir__buffer_vprintf(buffer, format, args);
    va_end(args);
    return result;
}

void weir__buffer_truncate(struct weir__buffer *buffer, size_t length)
{
    if (length >= buffer->_length)
        return;
    buffer->_length = length;
    buffer->_data[length] = '\0';
}

const char *weir__buffer_text(const struct weir__buffer *buffer)
{
    return buffer->_data ? buffer->_data : "";
}

size_t weir__buffer_length(const struct weir__buffer *buffer)
{
    return buffer->_length;
}

size_t weir__buffer_max(const struct weir__buffer *buffer)
{
    return buffer->_max;
}
