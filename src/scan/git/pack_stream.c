/* pack_stream.c - zlib over windows of a pack. */
#include "pack_stream.h"

#include <weir/error.h>

#include "banned.h"

int weir__git_stream_begin(struct weir__git_stream *stream, const struct weir__git_pack *pack,
                           struct weir__git_inflater *inflater, const struct weir__git_entry *entry)
{
    stream->_pack = pack;
    stream->_inflater = inflater;
    stream->_at = entry->data_at;
    stream->_left = entry->size;
    stream->_in_at = stream->_in_length = 0;
    stream->_is_over = false;
    if (entry->size > weir__git_inflate_max(entry->end - entry->data_at))
        return -WEIR_E_CORRUPT;
    return weir__git_inflate_begin(inflater);
}

static int fill(struct weir__git_stream *stream)
{
    int result = weir__git_pack_copy(stream->_pack, stream->_at, stream->_in,
                                     WEIR__GIT_STREAM_PIECE, &stream->_in_length);
    if (result < 0)
        return result;
    stream->_at += stream->_in_length;
    stream->_in_at = 0;
    return stream->_in_length > 0 ? 0 : -WEIR_E_CORRUPT;
}

int weir__git_stream_next(struct weir__git_stream *stream, const uint8_t **ret_bytes,
                          size_t *ret_length)
{
    while (!stream->_is_over) {
        size_t used, made;
        int result = stream->_in_at == stream->_in_length ? fill(stream) : 0;
        if (result == 0)
            result = weir__git_inflate_more(stream->_inflater, stream->_in + stream->_in_at,
                                            stream->_in_length - stream->_in_at, &used,
                                            stream->_out, WEIR__GIT_STREAM_PIECE, &made);
        if (result < 0)
            return result;
        stream->_is_over = result > 0;
        if (made > stream->_left || (!stream->_is_over && used == 0 && made == 0))
            return -WEIR_E_CORRUPT;
        stream->_in_at += used;
        stream->_left -= made;
        if (made > 0) {
            *ret_bytes = stream->_out;
            *ret_length = made;
            return 1;
        }
    }
    return stream->_left == 0 ? 0 : -WEIR_E_CORRUPT;
}
