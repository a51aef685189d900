/* stream_in.c - chunker, sink and writer of the manifest, one behind the other.
 *
 *     descriptor -> block (1 MiB) -> chunker -> put a chunk -> enter it in the manifest
 *                -> hole --------------------------------------> enter it
 */
#include "stream_in.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

#define BLOCK   (1u << 20)
#define LOOK_MS 100

int weir__stream_in_init(struct weir__stream_in *stream,
                         const struct weir__stream_in_options *options,
                         const struct weir__chunk_sink *sink)
{
    struct weir__chunker chunker;
    int result = weir__chunker_init(&chunker, options->fixed_size);
    if (result != 0)
        return result;
    *stream = (struct weir__stream_in){._options = *options, ._sink = *sink, ._chunker = chunker};
    weir__file_writer_init(&stream->_writer, sink);
    return 0;
}

void weir__stream_in_fini(struct weir__stream_in *stream)
{
    if (!stream)
        return;
    weir__chunker_fini(&stream->_chunker);
    weir__file_writer_fini(&stream->_writer);
    weir__base_free(stream->_block);
    *stream = (struct weir__stream_in){0};
}

void weir__stream_in_reset(struct weir__stream_in *stream)
{
    weir__chunker_reset(&stream->_chunker);
    weir__file_writer_reset(&stream->_writer);
    stream->_fed = 0;
    stream->_error = 0;
}

static bool is_zero(const unsigned char *bytes, size_t length)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

static int take_chunk(void *arg, const void *bytes, size_t length)
{
    struct weir__stream_in *stream = arg;
    struct weir__address address;
    if (stream->_options.makes_zeros_holes && length == weir__chunker_max(&stream->_chunker) &&
        is_zero(bytes, length))
        return weir__file_writer_add_hole(&stream->_writer, length);
    weir__address_of(bytes, length, &address);
    int result = stream->_sink.put(stream->_sink.arg, bytes, length, &address);
    return result != 0 ? result : weir__file_writer_add_chunk(&stream->_writer, &address, length);
}

/* Counts what comes, before anything is done with it. */
static int count(struct weir__stream_in *stream, uint64_t length)
{
    if (stream->_error == 0 && length > WEIR__FILE_LENGTH_MAX - stream->_fed)
        stream->_error = -WEIR_E_TOO_LARGE;
    if (stream->_error == 0)
        stream->_fed += length;
    return stream->_error;
}

int weir__stream_in_bytes(struct weir__stream_in *stream, const void *bytes, size_t length)
{
    int result = count(stream, length);
    if (result == 0)
        result = weir__chunker_feed(&stream->_chunker, bytes, length, take_chunk, stream);
    return stream->_error = result;
}

int weir__stream_in_hole(struct weir__stream_in *stream, uint64_t length)
{
    int result = count(stream, length);
    if (result == 0 && length > 0)
        result = weir__chunker_finish(&stream->_chunker, take_chunk, stream);
    if (result == 0)
        result = weir__file_writer_add_hole(&stream->_writer, length);
    return stream->_error = result;
}

int weir__stream_in_finish(struct weir__stream_in *stream, struct weir__address *ret_root,
                           uint64_t *ret_length)
{
    int result = stream->_error;
    if (result == 0)
        result = weir__chunker_finish(&stream->_chunker, take_chunk, stream);
    if (result == 0)
        result = weir__file_writer_finish(&stream->_writer, ret_root);
    stream->_error = result;
    if (result == 0) {
        *ret_length = stream->_fed;
        weir__stream_in_reset(stream);
    }
    return result;
}

static int system_error(void)
{
    return weir_error_from_errno(errno);
}

static int check_deadline(const struct weir_deadline *deadline)
{
    return deadline ? weir_deadline_check(deadline) : 0;
}

/* Pipes, sockets, terminals: as it comes, to the end. */
static int read_stream(struct weir__stream_in *stream, int fd, const struct weir_deadline *deadline)
{
    int result = 0;
    while (result == 0) {
        while ((result = check_deadline(deadline)) == 0 &&
               weir__sys_wait_readable(fd, deadline ? LOOK_MS : 0) == 0)
            if (!deadline)
                return -WEIR_E_INVALID;
        if (result != 0)
            break;
        ssize_t got = weir__sys_read(fd, stream->_block, BLOCK);
        if (got < 0 && errno == EAGAIN)
            continue; /* another reader was faster */
        if (got <= 0)
            return got == 0 ? 0 : system_error();
        result = weir__stream_in_bytes(stream, stream->_block, (size_t)got);
    }
    return result;
}

/* Bytes of a file from *at to `end`, or to where it ends by now; *at is then behind what came. */
static int read_range(struct weir__stream_in *stream, int fd, off_t *at, off_t end,
                      const struct weir_deadline *deadline)
{
    while (*at < end) {
        size_t want = end - *at < (off_t)BLOCK ? (size_t)(end - *at) : BLOCK;
        ssize_t got = weir__sys_pread(fd, stream->_block, want, *at);
        if (got <= 0)
            return got == 0 ? 0 : system_error();
        *at += got;
        int result = weir__stream_in_bytes(stream, stream->_block, (size_t)got);
        if (result == 0)
            result = check_deadline(deadline);
        if (result != 0)
            return result;
    }
    return 0;
}

/* A hole, which may be empty, and the data behind it. */
struct extent {
    off_t data; /* where they begin: where the file ends, when there are none */
    off_t end;
    bool is_last; /* no data follow */
};

static bool is_unknown(void)
{
    return errno == EINVAL || errno == EOPNOTSUPP;
}

/* What comes at a place of a file. All is data where the file system does not know. */
static int find_extent(int fd, off_t at, struct extent *extent)
{
    struct stat st;
    *extent = (struct extent){.data = at, .end = INT64_MAX};
    off_t data = weir__sys_lseek(fd, at, SEEK_DATA);
    if (data < 0 && is_unknown())
        return 0;
    if (data < 0 && errno == ENXIO) {
        if (weir__sys_fstat(fd, &st) != 0)
            return system_error();
        extent->data = extent->end = st.st_size > at ? st.st_size : at;
        extent->is_last = true;
        return 0;
    }
    if (data < 0)
        return system_error();
    off_t hole = weir__sys_lseek(fd, data, SEEK_HOLE);
    if (hole < 0 && errno == ENXIO)
        hole = data; /* it was cut meanwhile; the next look tells where */
    if (hole < 0 && !is_unknown())
        return system_error();
    extent->data = data;
    extent->end = hole < 0 ? INT64_MAX : hole;
    return 0;
}

static int read_file(struct weir__stream_in *stream, int fd, off_t at,
                     const struct weir_deadline *deadline)
{
    struct extent extent = {.is_last = false};
    int result = 0;
    while (result == 0 && !extent.is_last) {
        result = find_extent(fd, at, &extent);
        if (result == 0 && extent.data - at >= (off_t)WEIR__HOLE_MIN) {
            result = weir__stream_in_hole(stream, (uint64_t)(extent.data - at));
            at = extent.data;
        }
        if (result == 0)
            result = read_range(stream, fd, &at, extent.end, deadline);
        if (at < extent.end)
            extent.is_last = true; /* the end came sooner */
        if (result == 0)
            result = check_deadline(deadline);
    }
    return result;
}

int weir__stream_in_fd(struct weir__stream_in *stream, int fd, const struct weir_deadline *deadline)
{
    struct stat st;
    if (stream->_error != 0)
        return stream->_error;
    if (!stream->_block)
        stream->_block = weir__base_alloc(BLOCK, 1);
    int result = stream->_block ? 0 : -WEIR_E_NO_MEMORY;
    if (result == 0 && weir__sys_fstat(fd, &st) != 0)
        result = system_error();
    if (result == 0 && !S_ISREG(st.st_mode)) {
        result = read_stream(stream, fd, deadline);
    } else if (result == 0) {
        off_t at = weir__sys_lseek(fd, 0, SEEK_CUR);
        if (at < 0)
            result = system_error();
        else if (st.st_size == 0) /* or so it says, as files of /proc do */
            result = read_range(stream, fd, &at, INT64_MAX, deadline);
        else
            result = read_file(stream, fd, at, deadline);
    }
    return stream->_error = result;
}
