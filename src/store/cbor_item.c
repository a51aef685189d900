/* cbor_item.c - libcbor's streaming side, and the check for shortest forms that it leaves to us. */
#include "cbor_item.h"

#include <string.h>

#include <cbor.h>

#include "banned.h"

/* One callback for each width of a number; all do the same. */
#define NUMBER(name, type, item_kind)                                                              \
    static void name(void *arg, type value)                                                        \
    {                                                                                              \
        struct weir__cbor_item *item = arg;                                                        \
        item->kind = item_kind;                                                                    \
        item->value = value;                                                                       \
    }

NUMBER(on_uint8, uint8_t, WEIR__CBOR_UINT)
NUMBER(on_uint16, uint16_t, WEIR__CBOR_UINT)
NUMBER(on_uint32, uint32_t, WEIR__CBOR_UINT)
NUMBER(on_uint64, uint64_t, WEIR__CBOR_UINT)
NUMBER(on_negative8, uint8_t, WEIR__CBOR_NEGATIVE)
NUMBER(on_negative16, uint16_t, WEIR__CBOR_NEGATIVE)
NUMBER(on_negative32, uint32_t, WEIR__CBOR_NEGATIVE)
NUMBER(on_negative64, uint64_t, WEIR__CBOR_NEGATIVE)
NUMBER(on_array, size_t, WEIR__CBOR_ARRAY)
NUMBER(on_map, size_t, WEIR__CBOR_MAP)
NUMBER(on_tag, uint64_t, WEIR__CBOR_TAG)

static void on_bytes(void *arg, cbor_data bytes, size_t length)
{
    struct weir__cbor_item *item = arg;
    item->kind = WEIR__CBOR_BYTES;
    item->value = length;
    item->bytes = bytes;
}

static void skip_text(void *arg, cbor_data bytes, size_t length)
{
    (void)arg, (void)bytes, (void)length;
}

static void skip(void *arg)
{
    (void)arg;
}

static void skip_float(void *arg, float value)
{
    (void)arg, (void)value;
}

static void skip_double(void *arg, double value)
{
    (void)arg, (void)value;
}

static void skip_bool(void *arg, bool value)
{
    (void)arg, (void)value;
}

/* What is skipped leaves the item bad. */
static const struct cbor_callbacks callbacks = {
    .uint8 = on_uint8,
    .uint16 = on_uint16,
    .uint32 = on_uint32,
    .uint64 = on_uint64,
    .negint8 = on_negative8,
    .negint16 = on_negative16,
    .negint32 = on_negative32,
    .negint64 = on_negative64,
    .byte_string = on_bytes,
    .byte_string_start = skip,
    .string = skip_text,
    .string_start = skip,
    .array_start = on_array,
    .indef_array_start = skip,
    .map_start = on_map,
    .indef_map_start = skip,
    .tag = on_tag,
    .float2 = skip_float,
    .float4 = skip_float,
    .float8 = skip_double,
    .undefined = skip,
    .null = skip,
    .boolean = skip_bool,
    .indef_break = skip,
};

/* Bytes of the head of an item with this number in its shortest form. */
static size_t head_size(uint64_t value)
{
    return value < 24            ? 1
           : value <= UINT8_MAX  ? 2
           : value <= UINT16_MAX ? 3
           : value <= UINT32_MAX ? 5
                                 : 9;
}

struct weir__cbor_item weir__cbor_next(struct weir__cbor_in *in)
{
    static const struct weir__cbor_item bad = {.kind = WEIR__CBOR_BAD};
    struct weir__cbor_item item = bad;
    size_t left = in->length - in->at;
    if (in->is_bad || left == 0) {
        in->is_bad = true;
        return bad;
    }
    struct cbor_decoder_result result =
        cbor_stream_decode(in->bytes + in->at, left, &callbacks, &item);
    size_t body = item.kind == WEIR__CBOR_BYTES ? (size_t)item.value : 0;
    if (result.status != CBOR_DECODER_FINISHED || item.kind == WEIR__CBOR_BAD ||
        result.read > left || result.read != head_size(item.value) + body) {
        in->is_bad = true;
        return bad;
    }
    in->at += result.read;
    return item;
}

uint64_t weir__cbor_take(struct weir__cbor_in *in, enum weir__cbor_kind kind)
{
    struct weir__cbor_item item = weir__cbor_next(in);
    if (item.kind == kind)
        return item.value;
    in->is_bad = true;
    return 0;
}

const unsigned char *weir__cbor_take_bytes(struct weir__cbor_in *in, size_t min, size_t max,
                                           size_t *ret_length)
{
    struct weir__cbor_item item = weir__cbor_next(in);
    if (item.kind != WEIR__CBOR_BYTES || item.value < min || item.value > max) {
        in->is_bad = true;
        return NULL;
    }
    *ret_length = (size_t)item.value;
    return item.bytes;
}

bool weir__cbor_is_done(const struct weir__cbor_in *in)
{
    return !in->is_bad && in->at == in->length;
}

static size_t put_head(enum weir__cbor_kind kind, uint64_t value, unsigned char *at, size_t left)
{
    switch (kind) {
    case WEIR__CBOR_UINT:
        return cbor_encode_uint(value, at, left);
    case WEIR__CBOR_NEGATIVE:
        return cbor_encode_negint(value, at, left);
    case WEIR__CBOR_BYTES:
        return cbor_encode_bytestring_start((size_t)value, at, left);
    case WEIR__CBOR_ARRAY:
        return cbor_encode_array_start((size_t)value, at, left);
    case WEIR__CBOR_MAP:
        return cbor_encode_map_start((size_t)value, at, left);
    case WEIR__CBOR_TAG:
        return cbor_encode_tag(value, at, left);
    case WEIR__CBOR_BAD:
        break;
    }
    return 0;
}

void weir__cbor_put(struct weir__cbor_out *out, enum weir__cbor_kind kind, uint64_t value)
{
    size_t written = 0;
    if (!out->is_full)
        written = put_head(kind, value, out->bytes + out->at, out->size - out->at);
    out->is_full = written == 0;
    out->at += written;
}

void weir__cbor_put_bytes(struct weir__cbor_out *out, const void *bytes, size_t length)
{
    weir__cbor_put(out, WEIR__CBOR_BYTES, length);
    if (out->is_full || length > out->size - out->at) {
        out->is_full = true;
        return;
    }
    if (length > 0)
        memcpy(out->bytes + out->at, bytes, length);
    out->at += length;
}
