/* state_help.h - a folder for states, ids and suspects made of numbers, and what a state must say
 * about them; for tests of src/scan/git/state*.
 *
 * Ownership: everything is static; the folder is removed at the end of the program.
 */
#ifndef WEIR_TESTS_STATE_HELP_H
#define WEIR_TESTS_STATE_HELP_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "hash.h"
#include "state.h"
#include "tap.h"

static char help_folder[256], why[WEIR__GIT_FLAW_MAX];

static int help_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void help_done(void)
{
    nftw(help_folder, help_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* An empty folder, the current one, which stands for $XDG_STATE_HOME. */
static inline const char *help_fresh(void)
{
    static unsigned number;
    static char folder[300];
    const char *root = getenv("TMPDIR");
    if (!help_folder[0]) {
        if (!root)
            root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(help_folder, sizeof(help_folder), "%s/weir-state-XXXXXX", root);
        CHECK(mkdtemp(help_folder));
        CHECK_EQ(atexit(help_done), 0);
    }
    umask(022);
    snprintf(folder, sizeof(folder), "%s/%u", help_folder, number++);
    CHECK(mkdir(folder, 0700) == 0 && chdir(folder) == 0);
    return folder;
}

static inline struct weir__git_states help_states(uint64_t folder_max)
{
    struct weir__git_states states;
    CHECK_EQ(weir__git_states_open(&states, help_fresh(), NULL, folder_max, why), 0);
    return states;
}

static inline struct weir__git_state_about help_about(const char *repository, size_t id_size)
{
    struct weir__git_state_about about = {.id_size = id_size, .repository = repository};
    memset(about.key, 'k', sizeof(about.key));
    return about;
}

/* The id of a number: spread as those of git. */
static inline struct weir__git_id help_id(uint64_t number, size_t id_size)
{
    struct weir__hash hash;
    uint8_t digest[WEIR__HASH_SIZE];
    weir__hash_init(&hash);
    weir__hash_update(&hash, &number, sizeof(number));
    weir__hash_final(&hash, digest);
    return weir__git_id_of(digest, id_size);
}

static inline void help_add(struct weir__git_state_ids *ids, uint64_t from, uint64_t until)
{
    for (uint64_t i = from; i < until; i++) {
        struct weir__git_id id = help_id(i, ids->_id_size);
        CHECK_EQ(weir__git_state_ids_add(ids, &id, 1), 0);
    }
}

/* --- suspects --- */

static const char *const help_paths[] = {"a", "b/c", "d e\xff", "", "e", "f", "g", "h"};

/* None, or several. */
static inline const struct weir__git_look *help_looks(uint64_t number, size_t id_size,
                                                      size_t *ret_count)
{
    static struct weir__git_look looks[40][4];
    number %= 40;
    size_t count = number % 5 == 1 ? 0 : number % 5;
    struct weir__git_look *list = looks[number];
    for (size_t i = 0; i < count; i++) {
        list[i] = (struct weir__git_look){.path = help_paths[(number + i) % 8],
                                          .has_commit = (number + i) % 2,
                                          .is_staged = (number + i) % 4 == 0,
                                          .time = (int64_t)(number * 7 + i)};
        if (list[i].has_commit) {
            list[i].commit = help_id(number * 10 + i, id_size);
            list[i].kind = (enum weir__git_start)(1u << i % 4);
        }
    }
    *ret_count = count;
    return count ? list : NULL;
}

static inline struct weir__git_suspect help_suspect(uint64_t number, size_t id_size)
{
    struct weir__git_suspect suspect = {
        .id = help_id(number, id_size),
        .type = (enum weir__git_type)(1 + number % 4),
        .flags = (unsigned)(number % 16),
        .where = {.has_commit = number % 3 != 0,
                  .time = (int64_t)number * 1000003 - 5000000,
                  .path = number % 5 ? help_paths[number % 8] : NULL,
                  .ref = number % 7 == 0 ? "refs/tags/x" : NULL,
                  .is_staged = number % 4 == 1,
                  .paths = help_paths,
                  .paths_count = number % 9,
                  .paths_total = number % 9 + number / 9,
                  .has_more = number % 10 == 3}};
    if (suspect.where.has_commit) {
        suspect.where.commit = help_id(number + 1000000, id_size);
        suspect.where.kind = (enum weir__git_start)(1u << number % 4);
    }
    suspect.where.looks = help_looks(number, id_size, &suspect.where.looks_count);
    return suspect;
}

static inline bool help_same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static inline void help_check_suspect(const struct weir__git_suspect *is,
                                      const struct weir__git_suspect *wanted)
{
    const struct weir__git_attribution *a = &is->where, *b = &wanted->where;
    CHECK(weir__git_id_is_equal(&is->id, &wanted->id));
    CHECK(is->type == wanted->type && is->flags == wanted->flags);
    CHECK(a->has_commit == b->has_commit && a->is_staged == b->is_staged);
    CHECK(weir__git_id_is_equal(&a->commit, &b->commit));
    CHECK(a->kind == b->kind && a->time == b->time && a->paths_total == b->paths_total);
    CHECK(a->has_more == b->has_more && a->paths_count == b->paths_count);
    CHECK(help_same(a->path, b->path) && help_same(a->ref, b->ref));
    for (size_t i = 0; i < a->paths_count; i++)
        CHECK_STR(a->paths[i], b->paths[i]);
    CHECK_EQ(a->looks_count, b->looks_count);
    for (size_t i = 0; i < a->looks_count; i++) {
        const struct weir__git_look *left = &a->looks[i], *right = &b->looks[i];
        CHECK_STR(left->path, right->path);
        CHECK(left->has_commit == right->has_commit && left->is_staged == right->is_staged);
        CHECK(left->kind == right->kind && left->time == right->time);
        CHECK(weir__git_id_is_equal(&left->commit, &right->commit));
    }
}

/* --- whole states --- */

/* Saves ids [0, count) beside those of old, and the suspects [0, suspects). */
static inline int help_save(struct weir__git_states *states,
                            const struct weir__git_state_about *about,
                            const struct weir__git_state *old, uint64_t count, size_t suspects)
{
    struct weir__git_state_ids ids;
    struct weir__git_suspect *list = calloc(suspects + 1, sizeof(*list));
    CHECK(list);
    weir__git_state_ids_init(&ids, about->id_size, 0);
    help_add(&ids, 0, count);
    for (size_t i = 0; i < suspects; i++)
        list[i] = help_suspect(i, about->id_size);
    struct weir__git_state_new made = {
        .old = old, .ids = &ids, .suspects = list, .suspects_count = suspects};
    memset(made.digest, 'd', sizeof(made.digest));
    memset(made.held, 'h', sizeof(made.held));
    int error = weir__git_state_save(states, about, &made, why);
    weir__git_state_ids_fini(&ids);
    free(list);
    return error;
}

/* It has the ids [0, count) and none of the next thousand, and the suspects [0, suspects). */
static inline void help_check(const struct weir__git_state *state, size_t id_size, uint64_t count,
                              size_t suspects)
{
    size_t found;
    const struct weir__git_suspect *list = weir__git_state_suspects(state, &found);
    CHECK_EQ(weir__git_state_count(state), count);
    for (uint64_t i = 0; i < count + 1000; i++) {
        struct weir__git_id id = help_id(i, id_size);
        CHECK_EQ(weir__git_state_has(state, &id), i < count);
    }
    CHECK_EQ(found, suspects);
    for (size_t i = 0; i < suspects; i++) {
        struct weir__git_suspect wanted = help_suspect(i, id_size);
        const struct weir__git_suspect *suspect = weir__git_state_suspect(state, &wanted.id);
        CHECK(suspect);
        help_check_suspect(suspect, &wanted);
        CHECK(i == 0 || weir__git_id_compare(&list[i - 1].id, &list[i].id) < 0);
    }
    struct weir__git_id other = help_id(suspects, id_size);
    CHECK(!weir__git_state_suspect(state, &other));
}

/* Loads it, and that must be all right. */
static inline struct weir__git_state *help_load(const struct weir__git_states *states,
                                                const struct weir__git_state_about *about)
{
    struct weir__git_state *state = NULL;
    int error = weir__git_state_load(&state, states, about, why);
    if (error < 0)
        tap_fail(__FILE__, __LINE__, "not loaded: %s", why);
    return state;
}

/* What loading answers when it must fail; the reason must be one, and nothing is returned. */
static inline int help_refused(const struct weir__git_states *states,
                               const struct weir__git_state_about *about)
{
    struct weir__git_state *state = NULL;
    why[0] = '\0';
    int error = weir__git_state_load(&state, states, about, why);
    CHECK(error < 0 && !state);
    CHECK_HAS(why, "weir/scan/");
    return error;
}

/* The path of the only state in the current folder. */
static inline const char *help_file(const struct weir__git_state_about *about)
{
    static char path[100];
    struct weir__hash hash;
    uint8_t digest[WEIR__HASH_SIZE];
    char hex[WEIR__GIT_HEX_SIZE];
    weir__hash_init(&hash);
    weir__hash_update(&hash, about->repository, strlen(about->repository));
    weir__hash_final(&hash, digest);
    struct weir__git_id id = weir__git_id_of(digest, 20);
    snprintf(path, sizeof(path), "weir/scan/%s.git", weir__git_id_hex(&id, 20, hex));
    return path;
}

/* The whole file, freed by the caller. */
static inline uint8_t *help_read(const char *path, size_t *ret_length)
{
    FILE *in = fopen(path, "rb");
    CHECK(in && fseek(in, 0, SEEK_END) == 0);
    *ret_length = (size_t)ftell(in);
    rewind(in);
    uint8_t *bytes = malloc(*ret_length + 1);
    CHECK(bytes && fread(bytes, 1, *ret_length, in) == *ret_length);
    fclose(in);
    return bytes;
}

static inline void help_write(const char *path, const uint8_t *bytes, size_t length)
{
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(bytes, 1, length, out) == length && fclose(out) == 0);
}

#endif
