/* fuzz_tree.c - any bytes as the root of a directory's manifest.
 *
 * What must hold: reading ends in an error or at the count that was said; names are in order and
 * can be made; and writing what was read from a single node gives the same bytes.
 */
#include "tree_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_tree: does not hold: %s\n", #condition);                         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct input {
    const uint8_t *data;
    size_t size;
    bool is_written; /* what was read has been written again */
    struct weir__address address;
};

static int get(void *arg, const struct weir__address *address, void *bytes, size_t size,
               size_t *ret_length)
{
    const struct input *input = arg;
    if (!weir__address_is_equal(address, &input->address))
        return -WEIR_E_NOT_FOUND;
    if (input->size > size)
        return -WEIR_E_TOO_LARGE;
    if (input->size > 0)
        memcpy(bytes, input->data, input->size);
    *ret_length = input->size;
    return 0;
}

static int put(void *arg, const void *bytes, size_t length, const struct weir__address *address)
{
    struct input *input = arg;
    HOLDS(length == input->size && memcmp(bytes, input->data, length) == 0);
    HOLDS(weir__address_is_equal(address, &input->address));
    input->is_written = true;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct weir__tree_entry entry;
    struct input input = {.data = data, .size = size};
    struct weir__chunk_source source = {.get = get, .arg = &input};
    struct weir__chunk_sink sink = {.put = put, .arg = &input};
    struct weir__tree_reader reader;
    struct weir__tree_writer writer;
    struct weir__address root;
    weir__address_of(data, size, &input.address);
    int result = weir__tree_reader_open(&reader, &source, &input.address);
    HOLDS(result == 0 || result == -WEIR_E_INVALID || result == -WEIR_E_CORRUPT ||
          result == -WEIR_E_UNSUPPORTED);
    if (result != 0)
        return 0;
    uint64_t count = 0, said = weir__tree_reader_count(&reader);
    weir__tree_writer_init(&writer, &sink);
    while ((result = weir__tree_reader_next(&reader, &entry)) > 0) {
        HOLDS(entry.name.length > 0 && !memchr(entry.name.bytes, '/', entry.name.length));
        HOLDS(weir__tree_writer_add(&writer, &entry) == 0);
        count++;
    }
    HOLDS(result == 0 || result == -WEIR_E_CORRUPT || result == -WEIR_E_NOT_FOUND);
    if (result == 0) {
        HOLDS(count == said);
        HOLDS(weir__tree_writer_finish(&writer, &root) == 0 && input.is_written);
    }
    weir__tree_writer_fini(&writer);
    weir__tree_reader_close(&reader);
    return 0;
}
