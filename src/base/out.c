/* out.c - write(2) behind a buffer and a fault point. */
#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>
#include <weir/fault.h>
#include <weir/lock.h>

#include "text.h"

#include "banned.h"

void weir__out_init(struct weir__out *out, int fd)
{
    *out = (struct weir__out){._fd = fd};
}

bool weir__out_is_done(const struct weir__out *out)
{
    return out->_error != 0 || out->_reader_left;
}

static void fail(struct weir__out *out, int error, int errno_value)
{
    if (weir__out_is_done(out))
        return;
    if (errno_value == EPIPE) {
        out->_reader_left = true;
        return;
    }
    out->_error = error;
    out->_errno_value = errno_value;
}

static ssize_t write_once(int fd, const char *bytes, size_t count)
{
    if (weir_fault_hit(WEIR_FAULT_IO)) {
        errno = EIO;
        return -1;
    }
    weir_lock_assert_none("held while output is written");
    return write(fd, bytes, count);
}

static void write_all(struct weir__out *out, const char *bytes, size_t count)
{
    while (count > 0 && !weir__out_is_done(out)) {
        ssize_t written = write_once(out->_fd, bytes, count);
        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno != EINTR) {
            fail(out, weir_error_from_errno(errno), errno);
        }
    }
}

void weir__out_flush(struct weir__out *out)
{
    size_t count = out->_used;
    out->_used = 0;
    write_all(out, out->_bytes, count);
}

void weir__out_write(struct weir__out *out, const void *bytes, size_t count)
{
    if (count > WEIR__OUT_SIZE - out->_used)
        weir__out_flush(out);
    if (count > WEIR__OUT_SIZE) {
        write_all(out, bytes, count);
        return;
    }
    if (count > 0)
        memcpy(out->_bytes + out->_used, bytes, count);
    out->_used += count;
}

void weir__out_puts(struct weir__out *out, const char *text)
{
    weir__out_write(out, text, strlen(text));
}

void weir__out_escaped(struct weir__out *out, const char *text)
{
    char piece[WEIR__TEXT_PIECE_MAX];
    for (size_t step; (step = weir__text_escape(piece, text)) > 0; text += step)
        weir__out_puts(out, piece);
}

void weir__out_printf(struct weir__out *out, const char *format, ...)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        size_t room = WEIR__OUT_SIZE - out->_used;
        va_list args;
        va_start(args, format);
        int length = vsnprintf(out->_bytes + out->_used, room, format, args);
        va_end(args);
        if (length >= 0 && (size_t)length < room) {
            out->_used += (size_t)length;
            return;
        }
        weir__out_flush(out);
    }
    fail(out, -WEIR_E_OVERFLOW, 0);
}

int weir__out_finish(struct weir__out *out, int *ret_errno_value)
{
    weir__out_flush(out);
    if (out->_error != 0)
        *ret_errno_value = out->_errno_value;
    return out->_error;
}

int weir__out_take_failure(struct weir__out *out, int *ret_errno_value)
{
    int error = weir__out_finish(out, ret_errno_value);
    if (error != 0) {
        out->_error = 0;
        out->_reader_left = true; /* nothing more is printed */
    }
    return error;
}
