/* stream_out.c - spans of a file, each got, checked and written. */
#include "stream_out.h"

#include <limits.h>

#include <weir/error.h>

#include "alloc.h"
#include "chunker.h"
#include "file_reader.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define LOOK_MS   100
#define ZERO_SIZE (64u << 10)

struct out {
    struct weir__file_reader reader;
    const struct weir__chunk_source *source;
    const struct weir_deadline *deadline;
    unsigned char *chunk;
    int fd;
    bool is_file;      /* regular, and written to at places */
    uint64_t at;       /* in the descriptor's file; for a file alone */
    uint64_t old_size; /* of that file: behind it all is a hole by itself */
};

static const unsigned char zeros[ZERO_SIZE];

static int system_error(void)
{
    return weir_error_from_errno(errno);
}

static int check_deadline(const struct out *out)
{
    return out->deadline ? weir_deadline_check(out->deadline) : 0;
}

/* In pieces that a pipe takes without waiting once it says so. */
static int write_stream(struct out *out, const unsigned char *bytes, size_t length)
{
    int result = 0;
    while (result == 0 && length > 0) {
        while ((result = check_deadline(out)) == 0 &&
               weir__sys_wait_writable(out->fd, out->deadline ? LOOK_MS : 0) == 0)
            if (!out->deadline)
                return -WEIR_E_INVALID;
        if (result != 0)
            break;
        ssize_t put = weir__sys_write(out->fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);
        if (put < 0 && errno != EAGAIN)
            return system_error();
        if (put > 0) {
            bytes += put;
            length -= (size_t)put;
        }
    }
    return result;
}

static int write_bytes(struct out *out, const unsigned char *bytes, size_t length)
{
    if (!out->is_file)
        return write_stream(out, bytes, length);
    int result = weir__whole_pwrite(out->fd, bytes, length, out->at);
    if (result == 0)
        out->at += length;
    return result;
}

static int write_zeros(struct out *out, uint64_t length)
{
    int result = 0;
    while (result == 0 && length > 0) {
        size_t part = length < ZERO_SIZE ? (size_t)length : ZERO_SIZE;
        result = write_bytes(out, zeros, part);
        length -= part;
        if (result == 0)
            result = check_deadline(out);
    }
    return result;
}

/* In a file: first what is over old bytes, then the rest, which needs nothing. */
static int write_hole(struct out *out, uint64_t length)
{
    int result = 0;
    if (!out->is_file)
        return write_zeros(out, length);
    uint64_t old = out->at < out->old_size ? out->old_size - out->at : 0;
    if (old > length)
        old = length;
    if (old > 0) {
        int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        if (weir__sys_fallocate(out->fd, mode, (off_t)out->at, (off_t)old) == 0)
            out->at += old;
        else if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM)
            result = write_zeros(out, old);
        else
            result = system_error();
    }
    if (result == 0)
        out->at += length - old;
    return result;
}

static int write_span(struct out *out, const struct weir__file_span *span)
{
    size_t length = 0;
    if (span->is_hole)
        return write_hole(out, span->length);
    int result =
        weir__chunk_get(out->source, &span->address, out->chunk, span->chunk_length, &length);
    /* There is one such chunk, so one of another length is not what the manifest speaks of. */
    if (result == -WEIR_E_TOO_LARGE || (result == 0 && length != span->chunk_length))
        return -WEIR_E_CORRUPT;
    return result != 0 ? result : write_bytes(out, out->chunk + span->skip, (size_t)span->length);
}

/* What the descriptor can do. */
static int look(struct out *out, uint64_t length)
{
    struct stat st;
    int flags = weir__sys_get_flags(out->fd);
    if (flags < 0 || weir__sys_fstat(out->fd, &st) != 0)
        return system_error();
    out->is_file = S_ISREG(st.st_mode) && !(flags & O_APPEND);
    if (!out->is_file)
        return 0;
    off_t at = weir__sys_lseek(out->fd, 0, SEEK_CUR);
    if (at < 0)
        return system_error();
    out->at = (uint64_t)at;
    out->old_size = (uint64_t)st.st_size;
    return length > WEIR__FILE_LENGTH_MAX - out->at ? -WEIR_E_TOO_LARGE : 0;
}

/* A file that ends in a hole gets its length, and the position is put behind it. */
static int settle(struct out *out)
{
    struct stat st;
    if (!out->is_file)
        return 0;
    if (weir__sys_fstat(out->fd, &st) != 0)
        return system_error();
    if ((uint64_t)st.st_size < out->at && weir__sys_ftruncate(out->fd, (off_t)out->at) != 0)
        return system_error();
    return weir__sys_lseek(out->fd, (off_t)out->at, SEEK_SET) < 0 ? system_error() : 0;
}

static int write_all(struct out *out)
{
    struct weir__file_span span;
    int result;
    while ((result = weir__file_reader_next(&out->reader, &span)) > 0) {
        result = write_span(out, &span);
        if (result == 0)
            result = check_deadline(out);
        if (result != 0)
            return result;
    }
    return result != 0 ? result : settle(out);
}

int weir__stream_out(const struct weir__chunk_source *source, const struct weir__address *root,
                     const struct weir__stream_range *range, int fd,
                     const struct weir_deadline *deadline)
{
    struct out out = {.source = source, .deadline = deadline, .fd = fd};
    int result = weir__file_reader_open(&out.reader, source, root);
    if (result != 0)
        return result;
    uint64_t whole = weir__file_reader_length(&out.reader);
    uint64_t offset = range ? range->offset : 0;
    uint64_t length = range ? range->length : WEIR__STREAM_ALL;
    if (length == WEIR__STREAM_ALL && offset <= whole)
        length = whole - offset;
    result = weir__file_reader_seek(&out.reader, offset, length);
    if (result == 0)
        result = look(&out, length);
    if (result == 0) {
        out.chunk = weir__base_alloc(WEIR__CHUNK_MAX, 1);
        result = out.chunk ? write_all(&out) : -WEIR_E_NO_MEMORY;
    }
    weir__base_free(out.chunk);
    weir__file_reader_close(&out.reader);
    return result;
}
