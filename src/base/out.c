/* out.c - write(2) behind a buffer and a fault point. */
#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/fault.h>
#include <weir/lock.h>

#include "text.h"

#include "banned.h"

/* What is waited at first and at most before output that has no room is tried again. */
#define NAP_NS_FIRST   (WEIR_NS_PER_MS / 10)
#define NAP_NS_LONGEST (20 * WEIR_NS_PER_MS)

void weir__out_init(struct weir__out *out, int fd)
{
    *out = (struct weir__out){._now = WEIR__NOW(fd)};
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

void weir__out_hurry(struct weir__out *out, int (*is_wanted)(void), uint64_t patience_ns)
{
    out->_is_wanted = is_wanted;
    out->_patience_ns = patience_ns;
    weir__now_open(&out->_now);
}

/* How long nothing was taken although somebody wants an end. */
struct wait {
    uint64_t nap_ns;
    uint64_t since_ns; /* 0: nobody does */
};

/* Before the next try; false: it has been long enough. */
static bool wait_a_little(const struct weir__out *out, struct wait *wait)
{
    if (wait->since_ns == 0 && out->_is_wanted() != 0)
        wait->since_ns = weir_now_ns();
    if (wait->since_ns != 0 && weir_now_ns() - wait->since_ns > out->_patience_ns)
        return false;
    struct weir_deadline nap = weir_deadline_in(wait->nap_ns, NULL);
    weir_deadline_sleep(&nap);
    wait->nap_ns = wait->nap_ns * 2 < NAP_NS_LONGEST ? wait->nap_ns * 2 : NAP_NS_LONGEST;
    return true;
}

static ssize_t write_once(const struct weir__out *out, const char *bytes, size_t count)
{
    if (weir_fault_hit(WEIR_FAULT_IO)) {
        errno = EIO;
        return -1;
    }
    weir_lock_assert_none("held while output is written");
    return weir__now_write(&out->_now, bytes, count);
}

static void write_all(struct weir__out *out, const char *bytes, size_t count)
{
    const struct wait none = {.nap_ns = NAP_NS_FIRST};
    struct wait wait = none;
    while (count > 0 && !weir__out_is_done(out)) {
        ssize_t written = write_once(out, bytes, count);
        bool has_room = written >= 0 || errno != EAGAIN;
        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
            wait = none;
        } else if (out->_is_wanted && (has_room ? errno == EINTR && out->_is_wanted() != 0
                                                : !wait_a_little(out, &wait))) {
            fail(out, -WEIR_E_INTERRUPTED, EINTR);
        } else if (has_room ? errno != EINTR : !out->_is_wanted) {
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
    weir__now_close(&out->_now);
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
