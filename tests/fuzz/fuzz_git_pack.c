/* fuzz_git_pack.c - any pack with any index, walked with much memory, with little, and with files.
 *
 * The input's first byte chooses. Raw: two bytes of length, the index, the pack. Written: a list of
 * objects (what it is, which base, how many bytes) of which a pack is written that is right, but
 * for the deltas' content, and in which some bytes are changed at the end. What must hold: every
 * object of the index is handed out, or told, once; walks agree on the bytes, and those that had to
 * build nothing again on the objects; enter and leave
 * are pairs; memory stays within its limit; a lookup finds what the walk has found.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "alloc.h"
#include "git/pack_help.h"
#include "hash.h"
#include "require.h"
#include "sys.h"
#include "walk.h"

#include "banned.h"

#define CHOICE_RAW       1u
#define CHOICE_SHA256    2u
#define CHOICE_V1        4u
#define OBJECTS_MAX      200u
#define LITTLE           6000u
#define OBJECT_MAX       (1u << 20)

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "pack", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    struct weir__git_id id;
    uint64_t offset;
    unsigned char digest[WEIR__HASH_SIZE];
};

struct walked {
    struct seen seen[4 * OBJECTS_MAX];
    size_t count, told;
    bool is_in[4 * OBJECTS_MAX];
    uint64_t rebuilt;
};

/* The bytes of an object that is a file. */
static const uint8_t *read_file(const struct weir__git_object *object)
{
    static uint8_t bytes[OBJECT_MAX + 1];
    HOLDS(!object->bytes && !object->has_base && object->length <= OBJECT_MAX);
    HOLDS(weir__sys_pread(object->file, bytes, sizeof(bytes), 0) == (ssize_t)object->length);
    return bytes;
}

static int open_file(void *arg)
{
    (void)arg;
    return memfd_create("spill", MFD_CLOEXEC);
}

static int on_enter(void *arg, const struct weir__git_object *object)
{
    struct walked *walked = arg;
    struct weir__hash hash;
    HOLDS(object->depth < 4 * OBJECTS_MAX && !walked->is_in[object->depth]);
    HOLDS(!object->has_base || (object->depth > 0 && walked->is_in[object->depth - 1]));
    walked->is_in[object->depth] = true;
    if (walked->count < 4 * OBJECTS_MAX) {
        struct seen *seen = &walked->seen[walked->count];
        seen->id = object->id;
        seen->offset = object->offset;
        weir__hash_init(&hash);
        weir__hash_update(&hash, object->is_file ? read_file(object) : object->bytes,
                          object->length);
        weir__hash_final(&hash, seen->digest);
    }
    walked->count++;
    return 0;
}

static void on_leave(void *arg, uint32_t depth)
{
    struct walked *walked = arg;
    HOLDS(walked->is_in[depth]);
    walked->is_in[depth] = false;
}

static int on_too_large(void *arg, const struct weir__git_id *id, enum weir__git_type type,
                        uint64_t size)
{
    (void)id, (void)type, (void)size;
    ((struct walked *)arg)->told++;
    return 0;
}

static int on_trouble(void *arg, const struct weir__git_trouble *trouble)
{
    HOLDS(trouble->code > 0 && trouble->why[0]);
    ((struct walked *)arg)->told++;
    return 0;
}

static void walk(const struct weir__git_plan *plan, uint64_t memory, unsigned parts, bool has_files,
                 struct walked *walked)
{
    const struct weir__git_spill spill = {.open = open_file, .bytes_max = UINT64_C(1) << 30};
    struct weir__git_visitor visitor = {.enter = on_enter,
                                        .leave = on_leave,
                                        .too_large = on_too_large,
                                        .trouble = on_trouble,
                                        .arg = walked};
    struct weir__git_walk_options options;
    struct weir__git_walk_totals totals = {0};
    uint32_t bounds[4];
    memset(walked, 0, sizeof(*walked));
    weir__git_walk_options_init(&options);
    options.delta_bytes = memory;
    options.object_max = OBJECT_MAX;
    options.rebuilt_max = 1 << 22;
    options.spill = has_files ? &spill : NULL;
    weir__git_plan_cut(plan, parts, bounds);
    for (unsigned i = 0; i < parts; i++)
        HOLDS(weir__git_walk(plan, bounds[i], bounds[i + 1], &visitor, &options, &totals, NULL) ==
              0);
    HOLDS(walked->count + walked->told == plan->count);
    HOLDS(totals.alive_max <= memory);
    walked->rebuilt = totals.rebuilt;
    for (size_t i = 0; i < 4 * OBJECTS_MAX; i++)
        HOLDS(!walked->is_in[i]);
}

static void agree(const struct walked *some, const struct walked *all)
{
    for (size_t i = 0; i < some->count; i++)
        for (size_t j = 0; j < all->count; j++)
            if (some->seen[i].offset == all->seen[j].offset &&
                weir__git_id_is_equal(&some->seen[i].id, &all->seen[j].id))
                HOLDS(memcmp(some->seen[i].digest, all->seen[j].digest, WEIR__HASH_SIZE) == 0);
}

static void try_pack(const uint8_t *pack_bytes, size_t pack_length, const uint8_t *idx_bytes,
                     size_t idx_length, size_t id_size)
{
    static struct walked much, little;
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    const char *why = NULL;
    if (weir__git_pack_of_bytes(&pack, pack_bytes, pack_length, idx_bytes, idx_length, id_size,
                                &why) < 0) {
        HOLDS(why && why[0]);
        return;
    }
    if (pack.idx.count > 4 * OBJECTS_MAX)
        return;
    HOLDS(weir__git_plan_init(&plan, &pack) == 0 && weir__git_plan_mark(&plan, &wish) == 0);
    walk(&plan, 8 << 20, 1, false, &much);
    walk(&plan, LITTLE, 3, false, &little);
    agree(&little, &much);
    walk(&plan, LITTLE, 2, true, &little);
    agree(&little, &much);
    HOLDS(little.rebuilt > 0 || much.rebuilt > 0 || little.count == much.count);
    for (size_t i = 0; i < much.count && !plan.has_doubt; i++) {
        uint32_t at;
        uint64_t offset;
        HOLDS(weir__git_pack_find(&pack, &much.seen[i].id, &at, &offset) == 0);
    }
    weir__git_plan_fini(&plan);
    weir__git_pack_close(&pack);
}

/* One object of the list; returns what is left of it. */
static size_t write_one(struct writer *writer, const uint8_t *data, size_t size)
{
    static uint8_t body[4096];
    unsigned kind = data[0] & 7, base = data[1];
    size_t length = data[2] < size - 3 ? data[2] : size - 3;
    struct bytes delta = {0};
    if (kind >= 6 && writer->count > 0) {
        struct weir__git_id id = id_of(base % (OBJECTS_MAX + 2));
        put_bytes(&delta, data + 3, length);
        if (kind == 6)
            put_offset_delta(writer, base % writer->count, &delta);
        else
            put_reference_delta(writer, &id, &delta);
    } else {
        for (size_t i = 0; i < sizeof(body); i++)
            body[i] = length ? data[3 + i % length] : 0;
        put_whole(writer, (enum weir__git_type)(1 + kind % 4), body, base * 16);
    }
    free(delta.at);
    return 3 + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    size_t id_size = data[0] & CHOICE_SHA256 ? 32 : 20;
    if (data[0] & CHOICE_RAW) {
        size_t idx_length = (size_t)(data[1] | data[2] << 8);
        idx_length = idx_length < size - 3 ? idx_length : size - 3;
        uint8_t *idx = malloc(idx_length + 1), *pack = malloc(size - 2 - idx_length);
        memcpy(idx, data + 3, idx_length);
        memcpy(pack, data + 3 + idx_length, size - 3 - idx_length);
        try_pack(pack, size - 3 - idx_length, idx, idx_length, id_size);
        free(idx);
        free(pack);
        return 0;
    }
    struct writer writer;
    unsigned changes = data[1] & 3;
    size_t at = 2 + 4 * changes;
    writer_start(&writer, id_size);
    while (at + 3 < size && writer.count < OBJECTS_MAX)
        at += write_one(&writer, data + at, size - at);
    writer_end(&writer, data[0] & CHOICE_V1 ? 1 : 2);
    for (unsigned i = 0; i < changes && 2 + 4 * i + 4 <= size; i++) {
        const uint8_t *change = data + 2 + 4 * i;
        struct bytes *bytes = change[0] & 1 ? &writer.pack : &writer.idx;
        bytes->at[(size_t)(change[1] | change[2] << 8) % bytes->length] ^= change[3];
    }
    try_pack(writer.pack.at, writer.pack.length, writer.idx.at, writer.idx.length, id_size);
    writer_free(&writer);
    return 0;
}
