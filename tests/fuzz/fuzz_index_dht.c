/* fuzz_index_dht.c - any bytes as the answer of a DHT: what is found does not depend on how they
 * were cut, is never more than there is room for, and has the form of an answer.
 *
 * The first byte is the size of the pieces of the second reading; by its lowest bit the question is
 * about the name "a" or the providers of an address of ones.
 */
#include "dht_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "banned.h"

#define RECORDS_MAX 16u

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_index_dht: does not hold: %s\n", #condition);                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static struct weir__record_bytes first_room[WEIR__REPLY_RECORDS_MAX];
static struct weir__record_bytes second_room[WEIR__REPLY_RECORDS_MAX];

static struct weir__question question;

static uint64_t read_all(const char *text, size_t size, size_t piece, struct weir__reply *reply)
{
    struct weir__dht_reader reader;
    weir__dht_reader_init(&reader, reply, &question, RECORDS_MAX);
    for (size_t at = 0; at < size; at += piece) {
        /* A copy of its own: a byte beyond it is seen. */
        size_t count = size - at < piece ? size - at : piece;
        char *copy = malloc(count);
        HOLDS(copy);
        memcpy(copy, text + at, count);
        HOLDS(weir__dht_reader_take(&reader, copy, count) == 0);
        free(copy);
    }
    weir__dht_reader_end(&reader);
    HOLDS(reader.records == reply->count);
    return reader.values;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct weir__reply first = {.records = first_room}, second = {.records = second_room};
    const char *text = (const char *)data + 1;
    question = (struct weir__question){.kind = data[0] & 1 ? WEIR__ASK_PROVIDERS : WEIR__ASK_NAME};
    memset(question.address.bytes, 1, sizeof(question.address.bytes));
    HOLDS(weir__name_parse("a", 1, &question.name) == 0);
    uint64_t values = read_all(text, size - 1, size - 1, &first);
    HOLDS(read_all(text, size - 1, 1u + data[0], &second) == values);
    HOLDS(first.count == second.count && first.dropped == second.dropped);
    HOLDS(first.count <= RECORDS_MAX && first.count + first.dropped <= values);
    for (size_t i = 0; i < first.count; i++) {
        struct weir__record record;
        HOLDS(weir__record_unpack(&record, first_room[i].bytes, first_room[i].length) == 0);
        HOLDS(weir__question_fits(&question, &record));
        HOLDS(first_room[i].length == second_room[i].length);
        HOLDS(memcmp(first_room[i].bytes, second_room[i].bytes, first_room[i].length) == 0);
        for (size_t k = 0; k < i; k++) /* each once */
            HOLDS(first_room[i].length != first_room[k].length ||
                  memcmp(first_room[i].bytes, first_room[k].bytes, first_room[i].length) != 0);
    }
    return 0;
}
