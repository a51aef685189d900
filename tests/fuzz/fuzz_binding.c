/* fuzz_binding.c - any text, with a name and a value anywhere in it.
 *
 * The input is two bytes that say where the name and the value are, and the text. What must hold
 * whatever it is: nothing outside of the text is read; the answer does not depend on what stands
 * farther before the name than WEIR__BINDING_BEFORE bytes, or behind the value.
 */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

#include "require.h"

#include "banned.h"

#define TEXT_MAX         4096

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "binding", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 5 || size > TEXT_MAX)
        return 0;
    size_t length = size - 2;
    const char *text = (const char *)data + 2;
    size_t mark = data[0] % length, value = mark + data[1] % (length - mark);
    if (value <= mark)
        return 0;
    size_t before = mark > WEIR__BINDING_BEFORE ? mark - WEIR__BINDING_BEFORE : 0;
    char *part = malloc(length - before), *more = malloc(length + 1);
    if (part && more) {
        memcpy(part, text + before, length - before);
        memset(more, '=', length + 1);
        memcpy(more + before, text + before, length - before);
        bool is_other =
            weir__binding_is_other(part, mark - before, value - before, length - before);
        HOLDS(is_other == weir__binding_is_other(text, mark, value, length));
        HOLDS(is_other == weir__binding_is_other(more, mark, value, length));
        bool is_public = weir__binding_is_public(part, mark - before, length - before,
                                                 value - before, length - before);
        HOLDS(is_public == weir__binding_is_public(text, mark, length, value, length));
        struct weir__rule rule = {.is_bound = true, .secret_group = 2};
        size_t ends[] = {0, length, mark, mark, value, length};
        HOLDS(weir__binding_rejects(&rule, text, ends, 3, value, length) || !is_other);
    }
    free(part);
    free(more);
    return 0;
}
