/* fuzz_git_delta.c - any delta on any base: the fast way, step by step, and an applier that could
 * not be simpler must agree on the result, and on whether there is one.
 *
 * The input: two bytes of the base's length, the base, the delta.
 */
#include <stdlib.h>
#include <string.h>

#include "pack_delta.h"
#include "require.h"

#include <weir/error.h>

#include "banned.h"

#define RESULT_MAX       (1u << 20)

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "delta", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One byte at a time. False when it is not a delta of that base. */
static bool apply_simply(const uint8_t *delta, size_t length, const uint8_t *base,
                         uint64_t base_length, uint8_t *result, uint64_t result_length)
{
    size_t at = 0;
    uint64_t made = 0;
    for (int numbers = 0; numbers < 2; at++)
        numbers += delta[at] < 128;
    while (at < length) {
        uint8_t step = delta[at++];
        if (step >= 128) {
            uint64_t from = 0, count = 0;
            for (int i = 0; i < 7; i++) {
                if (!(step & 1 << i))
                    continue;
                if (at == length)
                    return false;
                uint64_t byte = delta[at++];
                if (i < 4)
                    from += byte << 8 * i;
                else
                    count += byte << 8 * (i - 4);
            }
            if (count == 0)
                count = 65536;
            for (uint64_t i = 0; i < count; i++) {
                if (from + i >= base_length || made == result_length)
                    return false;
                result[made++] = base[from + i];
            }
        } else if (step == 0) {
            return false;
        } else {
            for (unsigned i = 0; i < step; i++) {
                if (at == length || made == result_length)
                    return false;
                result[made++] = delta[at++];
            }
        }
    }
    return made == result_length;
}

/* By its steps. */
static int apply_steps(struct weir__git_delta delta, const uint8_t *base, uint8_t *result)
{
    struct weir__git_delta_step step;
    size_t made = 0;
    int more;
    while ((more = weir__git_delta_next(&delta, &step)) > 0) {
        HOLDS(step.length > 0 && made + step.length <= delta.result_length);
        HOLDS(!step.is_copy || step.from + step.length <= delta.base_length);
        memcpy(result + made, step.is_copy ? base + step.from : step.bytes, step.length);
        made += step.length;
    }
    HOLDS(more < 0 || made == delta.result_length);
    return more;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t base_length = (size_t)(data[0] | data[1] << 8);
    data += 2;
    size -= 2;
    if (base_length > size)
        base_length = size;
    /* Copies, so that a byte too many is seen. */
    uint8_t *base = malloc(base_length + !base_length), *bytes = malloc(size - base_length + 1);
    memcpy(base, data, base_length);
    memcpy(bytes, data + base_length, size - base_length);
    struct weir__git_delta delta;
    if (weir__git_delta_init(&delta, bytes, size - base_length) == 0 &&
        delta.result_length <= RESULT_MAX && delta.base_length == base_length) {
        size_t length = (size_t)delta.result_length;
        uint8_t *fast = calloc(length + 1, 1), *slow = calloc(length + 1, 1),
                *steps = calloc(length + 1, 1);
        bool is_right = apply_simply(bytes, size - base_length, base, base_length, slow, length);
        HOLDS((weir__git_delta_apply(&delta, base, fast) == 0) == is_right);
        HOLDS((apply_steps(delta, base, steps) == 0) == is_right);
        HOLDS(!is_right || (memcmp(fast, slow, length) == 0 && memcmp(steps, slow, length) == 0));
        free(fast);
        free(slow);
        free(steps);
    }
    free(base);
    free(bytes);
    return 0;
}
