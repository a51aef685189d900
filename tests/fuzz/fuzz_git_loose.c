/* fuzz_git_loose.c - any bytes as a loose object: packed here, so that heads are reached, or as
 * they are.
 *
 * What must hold: an object is given only with a head that says what it is, and as long as it says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "alloc.h"
#include "loose.h"
#include "require.h"

#include "banned.h"

#define OBJECT_MAX       (1u << 16)

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "loose", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct libdeflate_compressor *compressor;
    static struct weir__git_inflater inflater;
    if (!compressor) {
        compressor = libdeflate_alloc_compressor(1);
        HOLDS(weir__git_inflater_init(&inflater) == 0);
    }
    if (size < 1)
        return 0;
    bool is_packed = data[0] & 1;
    size_t length = size - 1, room = libdeflate_zlib_compress_bound(compressor, length) + length;
    uint8_t *bytes = malloc(room);
    if (is_packed)
        length = libdeflate_zlib_compress(compressor, data + 1, length, bytes, room);
    else
        memcpy(bytes, data + 1, length);
    bytes = realloc(bytes, length + !length);
    struct weir__git_loose loose = {.memory = NULL};
    const char *why = NULL;
    int result = weir__git_loose_of_bytes(bytes, length, OBJECT_MAX, &inflater, &loose, &why);
    if (result == 0) {
        char head[64];
        int head_length =
            snprintf(head, sizeof(head), "%s %zu", weir__git_type_name(loose.type), loose.length);
        HOLDS(loose.type && loose.length <= OBJECT_MAX);
        if (is_packed) {
            HOLDS((size_t)head_length + 1 + loose.length == size - 1);
            HOLDS(memcmp(head, data + 1, (size_t)head_length + 1) == 0);
            HOLDS(memcmp(loose.bytes, data + 1 + head_length + 1, loose.length) == 0);
        }
        weir__base_free(loose.memory);
    } else {
        HOLDS(why && why[0] && !loose.memory);
        HOLDS(result != -WEIR_E_TOO_LARGE || loose.length > OBJECT_MAX);
    }
    free(bytes);
    return 0;
}
