/* git_help.h - repositories made by git, and what our reader and git itself say is in them; for
 * tests of src/scan/git.
 *
 * Ownership: everything is static; help_done() removes the folder.
 */
#ifndef WEIR_TESTS_GIT_HELP_H
#define WEIR_TESTS_GIT_HELP_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>

#include "../tool_help.h"
#include "hash.h"
#include "loose.h"
#include "store.h"
#include "tap.h"
#include "walk.h"

/* An object, and the BLAKE3 of its type and bytes. */
struct known {
    struct weir__git_id id;
    unsigned char digest[WEIR__HASH_SIZE];
    unsigned times;
};

struct objects {
    struct known *rows;
    size_t count, room;
};

struct told {
    struct weir__git_id id;
    int code;
    char why[100];
};

static char help_folder[256];
static struct objects from_git, from_us;
static struct told told[65536];
static size_t told_count, large_count, file_count;
static uint64_t large_bytes;
static struct weir__git_walk_totals totals;
static size_t id_size;

/* --- scripts --- */

static inline void help_start(void)
{
    const char *root = getenv("TMPDIR");
    if (!root)
        root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (help_folder[0])
        return;
    snprintf(help_folder, sizeof(help_folder), "%s/weir-git-XXXXXX", root);
    if (!mkdtemp(help_folder) || chdir(help_folder) != 0)
        abort();
    static const char *const settings[][2] = {
        {"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_SYSTEM", "/dev/null"},
        {"GIT_AUTHOR_NAME", "a"},           {"GIT_AUTHOR_EMAIL", "a@example.com"},
        {"GIT_COMMITTER_NAME", "c"},        {"GIT_COMMITTER_EMAIL", "c@example.com"},
        {"GIT_DEFAULT_HASH", "sha1"},       {"GIT_TERMINAL_PROMPT", "0"},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        setenv(settings[i][0], settings[i][1], 1);
    setenv("HOME", help_folder, 1);
    unsetenv("GIT_DIR");
}

static inline void help_done(void)
{
    char script[600];
    if (help_folder[0]) {
        snprintf(script, sizeof(script), "cd / && rm -rf '%s'", help_folder);
        help_run(script);
    }
}

/* --- objects --- */

static inline void forget(struct objects *objects)
{
    objects->count = 0;
}

static inline void add_object(struct objects *objects, const struct weir__git_id *id,
                              enum weir__git_type type, const void *bytes, size_t length)
{
    if (objects->count == objects->room) {
        objects->room = objects->room ? objects->room * 2 : 1024;
        objects->rows = realloc(objects->rows, objects->room * sizeof(*objects->rows));
        CHECK(objects->rows);
    }
    struct known *row = &objects->rows[objects->count++];
    struct weir__hash hash;
    unsigned char number = (unsigned char)type;
    row->id = *id;
    row->times = 1;
    weir__hash_init(&hash);
    weir__hash_update(&hash, &number, 1);
    weir__hash_update(&hash, bytes, length);
    weir__hash_final(&hash, row->digest);
}

static inline int compare_known(const void *a, const void *b)
{
    return weir__git_id_compare(&((const struct known *)a)->id, &((const struct known *)b)->id);
}

/* Sorted, each once; the same id twice with other bytes is a failure. */
static inline void settle(struct objects *objects)
{
    size_t kept = 0;
    if (objects->count > 1)
        qsort(objects->rows, objects->count, sizeof(*objects->rows), compare_known);
    for (size_t i = 0; i < objects->count; i++) {
        if (kept > 0 && compare_known(&objects->rows[kept - 1], &objects->rows[i]) == 0) {
            CHECK(memcmp(objects->rows[kept - 1].digest, objects->rows[i].digest,
                         WEIR__HASH_SIZE) == 0);
            objects->rows[kept - 1].times++;
        } else {
            objects->rows[kept++] = objects->rows[i];
        }
    }
    objects->count = kept;
}

static inline const struct known *find_object(const struct objects *objects,
                                              const struct weir__git_id *id)
{
    struct known key = {.id = *id};
    return bsearch(&key, objects->rows, objects->count, sizeof(*objects->rows), compare_known);
}

/* What git says is there. */
static inline void ask_git(const char *path)
{
    char command[600], line[256];
    snprintf(command, sizeof(command),
             "git -C '%s' cat-file --batch-all-objects --unordered --batch", path);
    forget(&from_git);
    FILE *pipe = popen(command, "r");
    CHECK(pipe);
    char *bytes = NULL;
    size_t room = 0;
    while (fgets(line, sizeof(line), pipe)) {
        struct weir__git_id id;
        char type[16];
        size_t length, digits = strcspn(line, " ");
        CHECK(digits == 40 || digits == 64);
        id_size = digits / 2;
        CHECK_EQ(weir__git_id_from_hex(&id, line, id_size), 0);
        CHECK_EQ(sscanf(line + digits, " %15s %zu", type, &length), 2);
        if (length + 1 > room) {
            room = 2 * length + 1;
            bytes = realloc(bytes, room);
            CHECK(bytes);
        }
        CHECK_EQ(fread(bytes, 1, length + 1, pipe), length + 1);
        add_object(&from_git, &id, weir__git_type_of(type, strlen(type)), bytes, length);
    }
    free(bytes);
    CHECK_EQ(pclose(pipe), 0);
    settle(&from_git);
    CHECK(from_git.count > 0);
}

/* --- our side --- */

static uint32_t depth_now; /* one more than that of the last object entered and not left */
static struct weir__git_id path_ids[1 << 20];
static bool path_entered[1 << 20];
static int enter_answer;
static bool is_delta_checked = true;

/* The delta says how the object was made; followed here step by step. */
static inline void check_delta(const struct weir__git_object *object);

/* The file is the object, and nothing else. */
static inline void add_file(const struct weir__git_object *object)
{
    struct stat st;
    CHECK_EQ(fstat(object->file, &st), 0);
    CHECK_EQ((uint64_t)st.st_size, object->length);
    char *bytes = malloc(object->length + 1);
    CHECK(bytes);
    CHECK_EQ(pread(object->file, bytes, object->length, 0), (ssize_t)object->length);
    add_object(&from_us, &object->id, object->type, bytes, object->length);
    free(bytes);
    file_count++;
}

static inline int on_enter(void *arg, const struct weir__git_object *object)
{
    (void)arg;
    CHECK(object->type >= WEIR__GIT_COMMIT && object->type <= WEIR__GIT_TAG);
    CHECK(object->is_file ? !object->bytes && !object->has_base : object->bytes != NULL);
    CHECK(object->depth < sizeof(path_entered));
    /* Everything from this depth on was left. */
    CHECK(object->depth >= depth_now || !path_entered[object->depth]);
    path_entered[object->depth] = true;
    path_ids[object->depth] = object->id;
    depth_now = object->depth + 1;
    if (object->has_base) {
        CHECK(object->depth > 0 && path_entered[object->depth - 1]);
        if (is_delta_checked)
            check_delta(object);
    }
    if (object->is_file)
        add_file(object);
    else
        add_object(&from_us, &object->id, object->type, object->bytes, object->length);
    return enter_answer;
}

static inline void on_leave(void *arg, uint32_t depth)
{
    (void)arg;
    CHECK(path_entered[depth]);
    path_entered[depth] = false;
    depth_now = depth;
}

static inline int on_too_large(void *arg, const struct weir__git_id *id, enum weir__git_type type,
                               uint64_t size)
{
    (void)arg, (void)id, (void)type;
    large_count++;
    large_bytes += size;
    return 0;
}

static inline int on_trouble(void *arg, const struct weir__git_trouble *trouble)
{
    (void)arg;
    CHECK(trouble->code > 0 && trouble->why && trouble->why[0]);
    if (told_count < sizeof(told) / sizeof(told[0])) {
        told[told_count].id = trouble->id;
        told[told_count].code = trouble->code;
        snprintf(told[told_count].why, sizeof(told[0].why), "%s", trouble->why);
    }
    told_count++;
    return 0;
}

static const struct weir__git_visitor help_visitor = {
    .enter = on_enter, .leave = on_leave, .too_large = on_too_large, .trouble = on_trouble};
static struct weir__git_walk_options help_options;
static unsigned help_shards = 1;
static unsigned help_types = WEIR__GIT_ALL_TYPES;

static inline void begin_walks(void)
{
    forget(&from_us);
    told_count = large_count = file_count = 0;
    large_bytes = 0;
    depth_now = 0;
    memset(path_entered, 0, sizeof(path_entered));
    totals = (struct weir__git_walk_totals){0};
}

static inline int walk_pack(const struct weir__git_pack *pack)
{
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = help_types};
    uint32_t bounds[65];
    int result = weir__git_plan_init(&plan, pack);
    if (result < 0)
        return result;
    result = weir__git_plan_mark(&plan, &wish);
    weir__git_plan_cut(&plan, help_shards, bounds);
    CHECK(bounds[0] == 0 && bounds[help_shards] == plan.count);
    for (unsigned i = 0; i < help_shards && result == 0; i++)
        result = weir__git_walk(&plan, bounds[i], bounds[i + 1], &help_visitor, &help_options,
                                &totals, NULL);
    weir__git_plan_fini(&plan);
    return result;
}

static inline struct weir__git_store *open_store(const char *path)
{
    struct weir__git_store *store = NULL;
    char problem[WEIR__GIT_PROBLEM_SIZE] = "";
    int result = weir__git_store_open(&store, path, NULL, problem);
    if (result < 0)
        tap_fail(__FILE__, __LINE__, "'%s' cannot be opened: %s", path, problem);
    return store;
}

/* Every object that we find: loose ones, then packs. */
static inline void walk_store(struct weir__git_store *store)
{
    struct weir__git_wish wish = {.types = help_types};
    begin_walks();
    CHECK_EQ(weir__git_loose_each(store, &wish, &help_visitor,
                                  help_options.spill ? help_options.delta_bytes
                                                     : help_options.object_max,
                                  help_options.spill, &totals, NULL),
             0);
    CHECK_EQ(weir__git_store_relist(store), 0);
    for (uint32_t i = 0; i < weir__git_store_packs(store); i++) {
        struct weir__git_pack pack;
        CHECK_EQ(weir__git_store_pack_open(store, i, &pack), 0);
        int result = walk_pack(&pack);
        weir__git_pack_close(&pack);
        CHECK_EQ(result, 0);
    }
    settle(&from_us);
}

static inline void same_objects(void)
{
    for (size_t i = 0; i < told_count && i < 5; i++)
        printf("# told: %s\n", told[i].why);
    CHECK_EQ(told_count, 0);
    CHECK_EQ(from_us.count, from_git.count);
    for (size_t i = 0; i < from_git.count; i++) {
        CHECK(weir__git_id_is_equal(&from_git.rows[i].id, &from_us.rows[i].id));
        CHECK(memcmp(from_git.rows[i].digest, from_us.rows[i].digest, WEIR__HASH_SIZE) == 0);
    }
}

static inline void check_delta(const struct weir__git_object *object)
{
    const uint8_t *p = object->delta, *end = p + object->delta_length;
    for (int numbers = 0; numbers < 2; p++)
        numbers += !(*p & 0x80);
    size_t made = 0;
    while (p < end) {
        unsigned bits = *p++;
        size_t from = 0, length = 0;
        if (bits & 0x80) {
            for (unsigned i = 0; i < 4; i++)
                from |= bits >> i & 1 ? (size_t)*p++ << 8 * i : 0;
            for (unsigned i = 0; i < 3; i++)
                length |= bits >> (4 + i) & 1 ? (size_t)*p++ << 8 * i : 0;
            length = length ? length : 65536;
            CHECK(from + length <= object->base_length && made + length <= object->length);
            CHECK(memcmp(object->base + from, object->bytes + made, length) == 0);
        } else {
            length = bits;
            CHECK(made + length <= object->length);
            CHECK(memcmp(p, object->bytes + made, length) == 0);
            p += length;
        }
        made += length;
    }
    CHECK(made == object->length && p == end);
}

#endif
