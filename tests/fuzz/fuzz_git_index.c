/* fuzz_git_index.c - any bytes, as an index and the file that it shares.
 *
 * The input is a byte of choices, two of length, the shared file, the index. What must hold: paths
 * are whole and end where they say, no more entries come than both files could have, an error has a
 * reason, and reading twice gives the same.
 */
#include <stdlib.h>

#include "index_file.h"
#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "git_index", #condition)

struct seen {
    uint64_t entries, hash;
};

static int on_entry(void *arg, const struct weir__git_index_entry *entry)
{
    struct seen *seen = arg;
    HOLDS(strlen(entry->path) == entry->path_length && entry->stage < 4);
    for (size_t i = 0; i < entry->path_length; i++)
        seen->hash = (seen->hash + (unsigned char)entry->path[i]) * 1099511628211u;
    seen->entries++;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    size_t id_size = data[0] & 1 ? 32 : 20, first = (size_t)data[1] | (size_t)data[2] << 8;
    first = first < size - 3 ? first : size - 3;
    size_t length = size - 3 - first;
    char *bytes = malloc(length ? length : 1), why[WEIR__GIT_FLAW_MAX] = "";
    struct weir__buffer shared;
    struct weir__git_id id;
    struct seen seen[2] = {{0}};
    int error[2];
    HOLDS(bytes);
    memcpy(bytes, data + 3 + first, length);
    weir__buffer_init(&shared, 1u << 20);
    HOLDS(weir__buffer_append(&shared, data + 3, first) == 0);
    for (int i = 0; i < 2; i++) {
        error[i] = weir__git_index_parse(bytes, length, data[0] & 2 ? &shared : NULL, id_size,
                                         on_entry, &seen[i], &id, why);
        HOLDS(error[i] == 0 || error[i] == -WEIR_E_CORRUPT || error[i] == -WEIR_E_UNSUPPORTED ||
              error[i] == -WEIR_E_NOT_FOUND);
        HOLDS(error[i] == 0 || why[0]);
    }
    HOLDS(error[0] == error[1] && seen[0].hash == seen[1].hash);
    HOLDS(seen[0].entries <= size / (40 + id_size));
    weir__buffer_fini(&shared);
    free(bytes);
    return 0;
}
