/* fuzz_given.c - any bytes as the body of a change, of a pin, and as the query of a list.
 *
 * What must hold: what is refused leaves its place alone and says why; a record that is taken is
 * within its bounds; what is in the way of a list is a name, or the beginning of one.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "given.h"
#include "require.h"
#include "routing_text.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "given", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_bodies(const char *text, size_t length)
{
    struct weir__given given = {.previous = 77};
    struct weir__question question;
    const char *message = NULL;
    int error = weir__given_name(&given, text, length, &message);
    HOLDS((error == 0) == (message == NULL));
    if (error)
        HOLDS(given.previous == 77 && !given.has_previous);
    else
        HOLDS(given.record.length > 0 && given.record.length <= WEIR__RECORD_MAX);
    message = NULL;
    /* Whatever is taken as a provider's is taken as a name's, too. */
    if (weir__given_provider(&given, text, length, &message) == 0)
        HOLDS(error == 0 && !given.has_previous);
    message = NULL;
    error = weir__given_key(&question, text, length, &message);
    HOLDS((error == 0) == (message == NULL));
}

static void try_query(const char *text)
{
    struct weir__given_list list = {.limit = 7};
    const char *message;
    if (weir__given_list(&list, text, &message)) {
        HOLDS(list.limit == 7);
        return;
    }
    HOLDS(list.limit >= 1 && list.limit <= WEIR__GIVEN_LIMIT_MOST);
    HOLDS(weir__name_is_prefix(list.prefix, strlen(list.prefix)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    HOLDS(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    try_bodies(text, size);
    try_query(text);
    (void)weir__routing_wants_lines(text);
    free(text);
    return 0;
}
