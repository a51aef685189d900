/* fuzz_request.c - any bytes as a request: its head, and its body when that comes in chunks.
 *
 * The first byte is the seed of the cuts. What must hold: the outcome, all texts and all the body
 * are the same when the bytes come at once and when they come in pieces; texts end within the head
 * and have no control characters; a path begins with a slash and has no segment that leads
 * elsewhere; a head that is accepted says in one way only how long its body is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "head.h"

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_request: does not hold: %s\n", #condition);                      \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define INPUT_MAX 8192

struct outcome {
    int result;
    struct weir__head head;
    char *base; /* moved with each piece, as a buffer that grows is */
    int body;
    size_t body_length, used;
    char bytes[INPUT_MAX];
};

static const struct weir__head_limits limits = {
    .head_max = 2048, .url_max = 300, .headers_max = 12};

static size_t piece_of(uint32_t *seed, size_t left)
{
    *seed = *seed * 1103515245 + 12345;
    size_t count = *seed == 0 ? left : 1 + (*seed >> 16) % 37;
    return count < left ? count : left;
}

static void run_body(struct outcome *o, const char *bytes, size_t length, uint32_t seed,
                     bool is_cut)
{
    struct weir__chunks chunks = {0};
    for (size_t at = 0; at < length && o->body == 0;) {
        size_t count = is_cut ? piece_of(&seed, length - at) : length - at, run_length;
        const char *from = bytes + at, *end = from + count, *run;
        do {
            o->body =
                weir__chunks_next(&chunks, &from, end, is_cut ? 5 : SIZE_MAX, &run, &run_length);
            HOLDS(run_length == 0 || (run >= bytes + at && run + run_length <= from));
            if (run_length > 0)
                memcpy(o->bytes + o->body_length, run, run_length);
            o->body_length += run_length;
        } while (o->body == 0 && run_length > 0);
        HOLDS(from <= end);
        o->used += (size_t)(from - (bytes + at));
        at += count;
    }
    HOLDS(o->body >= 0 || chunks.why);
}

static void run(struct outcome *o, const uint8_t *data, size_t size, uint32_t seed, bool is_cut)
{
    weir__head_init(&o->head, &limits);
    for (size_t at = 0; at < size && o->result == 0;) {
        size_t count = is_cut ? piece_of(&seed, size - at) : size - at;
        char *moved = malloc(at + count);
        HOLDS(moved);
        if (at > 0)
            memcpy(moved, o->base, at);
        free(o->base);
        o->base = moved;
        memcpy(moved + at, data + at, count);
        at += count;
        o->result = weir__head_feed(&o->head, o->base, at);
    }
    if (o->result > 0 && o->head.is_chunked)
        run_body(o, (const char *)data + o->head.length, size - o->head.length, seed, is_cut);
}

static void check_text(const struct outcome *o, uint16_t at)
{
    const char *text = o->base + at;
    size_t length = strnlen(text, o->head.length - at);
    HOLDS(at + length < o->head.length);
    for (size_t i = 0; i < length; i++)
        HOLDS((unsigned char)text[i] >= 0x20 ? text[i] != 0x7f : text[i] == '\t');
}

static void check_path(const char *path)
{
    HOLDS(path[0] == '/');
    HOLDS(!strstr(path, "//"));
    for (const char *at = path; at; at = strchr(at + 1, '/')) {
        size_t length = strcspn(at + 1, "/");
        HOLDS(!(length == 1 && at[1] == '.') && !(length == 2 && at[1] == '.' && at[2] == '.'));
    }
}

static void check_whole(const struct outcome *o)
{
    const struct weir__head *head = &o->head;
    HOLDS(head->length <= limits.head_max && head->count <= limits.headers_max);
    check_text(o, head->path);
    check_text(o, head->query);
    check_path(o->base + head->path);
    HOLDS(head->is_http10 || head->host != WEIR__HEAD_NONE);
    HOLDS(head->is_chunked == (head->body_length == UINT64_MAX));
    for (uint16_t i = 0; i < head->count; i++) {
        check_text(o, head->fields[i].name);
        check_text(o, head->fields[i].value);
        HOLDS(strlen(o->base + head->fields[i].name) == head->fields[i].name_length);
        HOLDS(strlen(o->base + head->fields[i].value) == head->fields[i].value_length);
        HOLDS(head->fields[i].name_length > 0);
    }
    bool has_length = weir__head_find(head, o->base, "content-length") != WEIR__HEAD_NONE;
    bool has_coding = weir__head_find(head, o->base, "transfer-encoding") != WEIR__HEAD_NONE;
    HOLDS(!(has_length && has_coding) && has_coding == head->is_chunked);
}

static void compare(const struct outcome *a, const struct outcome *b)
{
    HOLDS(a->result == b->result && a->head.status == b->head.status);
    if (a->result < 0)
        HOLDS(a->head.why == b->head.why || strcmp(a->head.why, b->head.why) == 0);
    if (a->result <= 0)
        return;
    HOLDS(a->head.length == b->head.length && a->head.count == b->head.count);
    HOLDS(memcmp(a->base, b->base, a->head.length) == 0);
    HOLDS(memcmp(a->head.fields, b->head.fields, a->head.count * sizeof(a->head.fields[0])) == 0);
    HOLDS(a->head.path == b->head.path && a->head.query == b->head.query);
    HOLDS(a->head.host == b->head.host && a->head.body_length == b->head.body_length);
    HOLDS(a->head.keeps_alive == b->head.keeps_alive);
    HOLDS(a->body == b->body && a->body_length == b->body_length && a->used == b->used);
    HOLDS(memcmp(a->bytes, b->bytes, a->body_length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct outcome whole, cut;
    if (size < 2 || size > INPUT_MAX)
        return 0;
    memset(&whole, 0, sizeof(whole));
    memset(&cut, 0, sizeof(cut));
    run(&whole, data + 1, size - 1, data[0] + 1u, false);
    run(&cut, data + 1, size - 1, data[0] + 1u, true);
    compare(&whole, &cut);
    if (whole.result > 0)
        check_whole(&whole);
    HOLDS(whole.result >= 0 || (whole.head.status >= 400 && whole.head.why));
    free(whole.base);
    free(cut.base);
    return 0;
}
