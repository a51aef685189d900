/* fuzz_file_reader.c - manifests that were made to deceive, from a source that cannot be trusted.
 *
 * The input describes up to sixteen nodes, each of entries that name earlier nodes, without any
 * regard to what a manifest may have; the last is the root. Then come ranges to read.
 *
 * What must hold: reading ends in an error, or gives exactly the range, part behind part; and a
 * part costs no more than the levels of a manifest have nodes.
 */
#include "file_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "cbor_item.h"

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_file_reader: does not hold: %s\n", #condition);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define NODES_MAX 16
#define SPANS_MAX 3000

struct made {
    unsigned char *bytes;
    size_t length;
    uint64_t covered;
    struct weir__address address;
};

static struct {
    const uint8_t *data;
    size_t size;
    struct made nodes[NODES_MAX];
    size_t count;
    size_t asked;
    unsigned lie;
} world;

static unsigned next_byte(void)
{
    if (world.size == 0)
        return 0;
    world.size--;
    return *world.data++;
}

/* A number of any size, small ones more often. */
static uint64_t next_number(void)
{
    unsigned width = next_byte() % 9;
    uint64_t number = 0;
    for (unsigned i = 0; i < width; i++)
        number = number << 8 | next_byte();
    return number;
}

static int get(void *arg, const struct weir__address *address, void *bytes, size_t size,
               size_t *ret_length)
{
    (void)arg;
    world.asked++;
    for (size_t i = 0; i < world.count; i++) {
        const struct made *made = &world.nodes[i];
        if (!weir__address_is_equal(&made->address, address))
            continue;
        if (made->length > size)
            return -WEIR_E_TOO_LARGE;
        memcpy(bytes, made->bytes, made->length);
        *ret_length = made->length;
        if (world.lie % 64 == 1 + i)
            *ret_length = made->length - 1;
        else if (world.lie % 64 == 20 + i)
            *ret_length = SIZE_MAX;
        else if (world.lie % 64 == 40 + i)
            ((unsigned char *)bytes)[made->length / 2] ^= 1;
        return 0;
    }
    return -WEIR_E_NOT_FOUND;
}

/* One node; what it covers is right or not, as the input has it. */
static void make_node(void)
{
    static unsigned char bytes[WEIR__MANIFEST_SIZE_MAX];
    struct weir__cbor_out out = {.bytes = bytes, .size = sizeof(bytes)};
    struct made *made = &world.nodes[world.count];
    unsigned how = next_byte(), level = next_byte() % 7;
    size_t count = how & 1 ? WEIR__MANIFEST_ENTRIES_MAX : 1 + next_byte() % 6;
    unsigned kinds = next_byte(), child = world.count ? next_byte() % (unsigned)world.count : 0;
    uint64_t length = how & 2 ? next_number() : world.nodes[child].covered;
    uint64_t last = how & 4 ? next_number() : length;
    made->covered = length * (count - 1) + last;
    uint64_t said = how & 8 ? next_number() : made->covered;
    weir__cbor_put(&out, WEIR__CBOR_TAG, WEIR__MANIFEST_TAG);
    weir__cbor_put(&out, WEIR__CBOR_ARRAY, 5);
    weir__cbor_put(&out, WEIR__CBOR_UINT, WEIR__MANIFEST_VERSION);
    weir__cbor_put(&out, WEIR__CBOR_UINT, WEIR__MANIFEST_FILE);
    weir__cbor_put(&out, WEIR__CBOR_UINT, level);
    weir__cbor_put(&out, WEIR__CBOR_UINT, said);
    weir__cbor_put(&out, WEIR__CBOR_ARRAY, count);
    for (size_t i = 0; i < count; i++) {
        unsigned other = how & 16 && i + 1 == count && world.count ? next_byte() : child;
        bool is_hole = (kinds >> i % 8 & 1) && how & 32;
        if (!is_hole)
            weir__cbor_put(&out, WEIR__CBOR_ARRAY, 2);
        weir__cbor_put(&out, WEIR__CBOR_UINT, i + 1 == count ? last : length);
        if (!is_hole)
            weir__cbor_put_bytes(&out, world.nodes[other % NODES_MAX].address.bytes,
                                 WEIR__ADDRESS_SIZE);
    }
    HOLDS(!out.is_full);
    made->bytes = malloc(out.at);
    HOLDS(made->bytes);
    memcpy(made->bytes, bytes, out.at);
    made->length = out.at;
    weir__address_of(bytes, out.at, &made->address);
    world.count++;
}

static void read_range(struct weir__file_reader *reader, uint64_t offset, uint64_t length)
{
    struct weir__file_span span;
    uint64_t at = offset;
    int result = weir__file_reader_seek(reader, offset, length);
    bool is_inside = offset <= weir__file_reader_length(reader) &&
                     length <= weir__file_reader_length(reader) - offset;
    HOLDS(result == (is_inside ? 0 : -WEIR_E_RANGE));
    for (size_t i = 0; result == 0 && i < SPANS_MAX; i++) {
        size_t before = world.asked;
        int got = weir__file_reader_next(reader, &span);
        HOLDS(world.asked - before < WEIR__MANIFEST_LEVELS);
        if (got <= 0) {
            HOLDS(got < 0 || at == offset + length);
            HOLDS(got == 0 || got == -WEIR_E_CORRUPT || got == -WEIR_E_NOT_FOUND);
            return;
        }
        HOLDS(span.offset == at && span.length > 0 && span.length <= offset + length - at);
        HOLDS(span.is_hole || (span.chunk_length <= 1u << 20 && span.skip < span.chunk_length &&
                               span.length <= span.chunk_length - span.skip));
        at += span.length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__chunk_source source = {.get = get};
    struct weir__file_reader reader;
    memset(&world, 0, sizeof(world));
    world.data = data;
    world.size = size;
    world.lie = next_byte();
    unsigned count = 1 + next_byte() % NODES_MAX;
    while (world.count < count)
        make_node();
    int result = weir__file_reader_open(&reader, &source, &world.nodes[count - 1].address);
    HOLDS(result == 0 || result == -WEIR_E_CORRUPT);
    if (result == 0) {
        uint64_t length = weir__file_reader_length(&reader);
        read_range(&reader, 0, length);
        read_range(&reader, length / 2, length - length / 2);
        read_range(&reader, next_number(), next_number());
        read_range(&reader, length - (length > 0), length > 0);
    }
    weir__file_reader_close(&reader);
    for (size_t i = 0; i < world.count; i++)
        free(world.nodes[i].bytes);
    return 0;
}
