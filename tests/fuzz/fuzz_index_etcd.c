/* fuzz_index_etcd.c - any bytes as an answer of etcd, a line of a watch, or a key there.
 *
 * The first byte chooses which.
 */
#include "etcd_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_index_etcd: does not hold: %s\n", #condition);                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static struct weir__record_bytes room[WEIR__REPLY_RECORDS_MAX];

/* A key that is taken for one of ours begins as all keys of its question do. */
static void check_key(const char *text, size_t size)
{
    struct weir__question question;
    struct weir__etcd_key key;
    if (!weir__etcd_question(&question, "w/", text, size))
        return;
    weir__etcd_keys_of(&key, "w/", &question);
    HOLDS(key.length <= size && memcmp(key.text, text, key.length) == 0);
    HOLDS(question.kind != WEIR__ASK_NAME || key.length == size);
}

static void count_change(void *arg, const struct weir__question *question)
{
    HOLDS(question->kind == WEIR__ASK_NAME || question->kind == WEIR__ASK_PROVIDERS);
    ++*(uint64_t *)arg;
}

static void check_watch(const char *text, size_t size)
{
    struct weir__etcd_news news;
    uint64_t changes = 0;
    int result = weir__etcd_read_watch(text, size, "w/", &news, count_change, &changes);
    HOLDS(result == 0 || result == -WEIR_E_CORRUPT);
    HOLDS(result == 0 ? news.events == changes : changes == 0);
}

static void check_range(const char *text, size_t size, size_t room_count)
{
    struct weir__reply reply = {.records = room, .room = room_count};
    uint64_t revision = 0;
    int result = weir__etcd_read_range(text, size, &reply, &revision);
    HOLDS(result == 0 || result == -WEIR_E_CORRUPT);
    HOLDS(reply.count <= (room_count ? room_count : WEIR__REPLY_RECORDS_MAX));
    HOLDS(result == 0 || (reply.count == 0 && revision == 0));
    HOLDS(reply.count == 0 || revision > 0);
}

static int check_entry(void *arg, const struct weir__etcd_entry *entry)
{
    (void)arg;
    HOLDS(entry->key.length <= WEIR__ETCD_KEY_MAX && entry->key.text[entry->key.length] == '\0');
    HOLDS(entry->value.length <= WEIR__RECORD_MAX);
    return 0;
}

static void check_page(const char *text, size_t size)
{
    struct weir__etcd_key last = {.length = 0};
    int result = weir__etcd_read_page(text, size, &last, check_entry, NULL);
    HOLDS(result == 0 || (result == -WEIR_E_CORRUPT && last.length == 0));
    HOLDS(last.length <= WEIR__ETCD_KEY_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    bool is_done = false;
    char *text = malloc(--size);
    HOLDS(text);
    memcpy(text, data + 1, size);
    switch (data[0] % 6) {
    case 0:
        check_key(text, size);
        break;
    case 1:
        check_watch(text, size);
        break;
    case 2:
        check_range(text, size, 0);
        break;
    case 3:
        check_range(text, size, 1);
        break;
    case 4:
        check_page(text, size);
        break;
    default:
        HOLDS(weir__etcd_read_swap(text, size, &is_done) == 0 || !is_done);
    }
    free(text);
    return 0;
}
