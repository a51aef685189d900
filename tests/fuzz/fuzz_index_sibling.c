/* fuzz_index_sibling.c - any bytes as the answer of a sibling. What is taken from it is in it as
 * text.
 *
 * The first byte chooses the question.
 */
#include "source_sibling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_index_sibling: does not hold: %s\n", #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static struct weir__record_bytes room[WEIR__REPLY_RECORDS_MAX];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct weir__question question = {.kind = data[0] & 1 ? WEIR__ASK_NAME : WEIR__ASK_PROVIDERS};
    struct weir__reply reply = {.records = room};
    char *text = malloc(size - 1 + (size == 1));
    HOLDS(text);
    memcpy(text, data + 1, size - 1);
    int result = weir__sibling_reply(&reply, &question, text, size - 1);
    HOLDS(result == 0 || result == -WEIR_E_NOT_FOUND || result == -WEIR_E_CORRUPT);
    HOLDS((result == 0) == (reply.count > 0) && reply.count <= WEIR__REPLY_RECORDS_MAX);
    HOLDS(question.kind != WEIR__ASK_NAME || reply.count + reply.dropped <= 1);
    for (size_t i = 0; i < reply.count; i++) {
        char printed[WEIR__RECORD_TEXT];
        weir__record_print(&room[i], printed);
        /* Escapes hide it from a plain search. */
        HOLDS(memchr(text, '\\', size - 1) ||
              memmem(text, size - 1, printed, strlen(printed)) != NULL);
    }
    free(text);
    return 0;
}
