/* state_suspect.c - a suspect as bytes, and back.
 *
 *     id             id_size
 *     type           1
 *     flags          1   of enum weir__git_suspect_flag
 *     has            1   bits below
 *     kind           1   of enum weir__git_start; 0 without a commit
 *     commit         id_size, if it has one
 *     time           8
 *     paths_total    8
 *     paths_count    4
 *     looks_count    4   0, or at least 2
 *     strings            path, ref, those that it has; the paths
 *     looks              of each: has 1, kind 1, commit, time 8, path
 *
 * A string is its length (4), its bytes, none of which is 0, and a 0, so that it can be used where
 * it lies. There is one way only to write a suspect, and nothing else is read.
 */
#include "state_part.h"

#include "alloc.h"

#include "banned.h"

#define HAS_COMMIT 1u
#define HAS_STAGED 2u
#define HAS_MORE   4u
#define HAS_PATH   8u
#define HAS_REF    16u
#define HAS_ALL    31u

#define FLAGS_ALL  127u
#define KINDS_ALL  15u

/* A commit's kind is one of those, and it has one. */
static bool is_kind(bool has_commit, unsigned kind)
{
    bool is_one = (kind > 0 && kind <= KINDS_ALL) || kind == WEIR__GIT_START_LOST;
    return has_commit ? is_one : kind == 0;
}

static bool is_type(unsigned type)
{
    return type >= WEIR__GIT_COMMIT && type <= WEIR__GIT_TAG;
}

/* --- writing --- */

static int put_number(struct weir__buffer *to, uint64_t number, unsigned size)
{
    uint8_t bytes[8];
    weir__state_put(bytes, number, size);
    return weir__buffer_append(to, bytes, size);
}

/* NULL: nothing. */
static int put_string(struct weir__buffer *to, const char *string)
{
    if (!string)
        return 0;
    size_t length = strnlen(string, WEIR__GIT_STATE_STRING_MAX + 1);
    if (length > WEIR__GIT_STATE_STRING_MAX)
        return -WEIR_E_TOO_LARGE;
    int error = put_number(to, length, 4);
    return error < 0 ? error : weir__buffer_append(to, string, length + 1);
}

static int put_fixed(struct weir__buffer *to, const struct weir__git_suspect *suspect,
                     size_t id_size, size_t paths)
{
    const struct weir__git_attribution *where = &suspect->where;
    bool has_more = where->has_more || paths < where->paths_count;
    unsigned has = (where->has_commit ? HAS_COMMIT : 0) | (where->is_staged ? HAS_STAGED : 0) |
                   (has_more ? HAS_MORE : 0) | (where->path ? HAS_PATH : 0) |
                   (where->ref ? HAS_REF : 0);
    uint8_t bytes[4] = {(uint8_t)suspect->type, (uint8_t)suspect->flags, (uint8_t)has,
                        where->has_commit ? (uint8_t)where->kind : 0};
    int error = weir__buffer_append(to, suspect->id.bytes, id_size);
    if (!error)
        error = weir__buffer_append(to, bytes, sizeof(bytes));
    if (!error && where->has_commit)
        error = weir__buffer_append(to, where->commit.bytes, id_size);
    if (!error)
        error = put_number(to, (uint64_t)where->time, 8);
    if (!error)
        error = put_number(to, where->paths_total, 8);
    if (!error)
        error = put_number(to, paths, 4);
    return error ? error : put_number(to, where->looks_count, 4);
}

static bool is_count_of_looks(uint64_t count)
{
    return count != 1 && count <= WEIR__GIT_LOOKS_MAX;
}

static int put_look(struct weir__buffer *to, const struct weir__git_look *look, size_t id_size)
{
    uint8_t bytes[2] = {
        (uint8_t)((look->has_commit ? HAS_COMMIT : 0) | (look->is_staged ? HAS_STAGED : 0)),
        look->has_commit ? (uint8_t)look->kind : 0};
    if (!look->path || (look->has_commit && !is_kind(true, (unsigned)look->kind)))
        return -WEIR_E_INVALID;
    int error = weir__buffer_append(to, bytes, sizeof(bytes));
    if (!error && look->has_commit)
        error = weir__buffer_append(to, look->commit.bytes, id_size);
    if (!error)
        error = put_number(to, (uint64_t)look->time, 8);
    return error ? error : put_string(to, look->path);
}

int weir__state_suspect_put(struct weir__buffer *to, const struct weir__git_suspect *suspect,
                            size_t id_size)
{
    const struct weir__git_attribution *where = &suspect->where;
    size_t paths = where->paths_count < WEIR__GIT_STATE_PATHS_MAX ? where->paths_count
                                                                  : WEIR__GIT_STATE_PATHS_MAX;
    if (!is_type((unsigned)suspect->type) || suspect->flags > FLAGS_ALL ||
        (where->has_commit && !is_kind(true, (unsigned)where->kind)) ||
        !is_count_of_looks(where->looks_count))
        return -WEIR_E_INVALID;
    int error = put_fixed(to, suspect, id_size, paths);
    if (!error)
        error = put_string(to, where->path);
    if (!error)
        error = put_string(to, where->ref);
    for (size_t i = 0; !error && i < paths; i++)
        error = where->paths[i] ? put_string(to, where->paths[i]) : -WEIR_E_INVALID;
    for (size_t i = 0; !error && i < where->looks_count; i++)
        error = put_look(to, &where->looks[i], id_size);
    return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
}

/* --- reading --- */

struct reader {
    const uint8_t *at;
    size_t left;
    size_t id_size;
    bool is_short; /* more was asked for than there is, or it was not what it should be */
};

static const uint8_t *get(struct reader *reader, size_t size)
{
    static const uint8_t nothing[WEIR__GIT_ID_SIZE_MAX];
    if (reader->is_short || reader->left < size) {
        reader->is_short = true;
        return nothing;
    }
    const uint8_t *bytes = reader->at;
    reader->at += size;
    reader->left -= size;
    return bytes;
}

static const char *get_string(struct reader *reader, bool is_there)
{
    if (!is_there)
        return NULL;
    uint64_t length = weir__state_get(get(reader, 4), 4);
    if (reader->is_short || length > WEIR__GIT_STATE_STRING_MAX || length >= reader->left ||
        memchr(reader->at, 0, (size_t)length) || reader->at[length] != 0) {
        reader->is_short = true;
        return NULL;
    }
    return (const char *)get(reader, (size_t)length + 1);
}

static void get_look(struct reader *reader, struct weir__git_look *look)
{
    const uint8_t *bytes = get(reader, 2);
    unsigned has = bytes[0], kind = bytes[1];
    *look = (struct weir__git_look){.has_commit = has & HAS_COMMIT,
                                    .is_staged = has & HAS_STAGED,
                                    .kind = (enum weir__git_start)kind};
    if (has > (HAS_COMMIT | HAS_STAGED) || !is_kind(look->has_commit, kind))
        reader->is_short = true;
    if (look->has_commit)
        look->commit = weir__git_id_of(get(reader, reader->id_size), reader->id_size);
    look->time = (int64_t)weir__state_get(get(reader, 8), 8);
    look->path = get_string(reader, true);
}

/* paths and looks have room for all of them, or are NULL and they are only counted. */
static void get_suspect(struct reader *reader, struct weir__git_suspect *suspect,
                        const char **paths, struct weir__git_look *looks)
{
    struct weir__git_attribution *where = &suspect->where;
    memset(suspect, 0, sizeof(*suspect));
    suspect->id = weir__git_id_of(get(reader, reader->id_size), reader->id_size);
    const uint8_t *bytes = get(reader, 4);
    unsigned type = bytes[0], has = bytes[2], kind = bytes[3];
    where->has_commit = has & HAS_COMMIT;
    if (!is_type(type) || bytes[1] > FLAGS_ALL || has > HAS_ALL ||
        !is_kind(where->has_commit, kind))
        reader->is_short = true;
    suspect->type = (enum weir__git_type)type;
    suspect->flags = bytes[1];
    where->is_staged = has & HAS_STAGED;
    where->has_more = has & HAS_MORE;
    where->kind = (enum weir__git_start)kind;
    if (where->has_commit)
        where->commit = weir__git_id_of(get(reader, reader->id_size), reader->id_size);
    where->time = (int64_t)weir__state_get(get(reader, 8), 8);
    where->paths_total = weir__state_get(get(reader, 8), 8);
    where->paths_count = (size_t)weir__state_get(get(reader, 4), 4);
    where->looks_count = (size_t)weir__state_get(get(reader, 4), 4);
    if (where->paths_count > WEIR__GIT_STATE_PATHS_MAX || !is_count_of_looks(where->looks_count))
        reader->is_short = true;
    where->path = get_string(reader, has & HAS_PATH);
    where->ref = get_string(reader, has & HAS_REF);
    where->paths = paths;
    for (size_t i = 0; !reader->is_short && i < where->paths_count; i++) {
        const char *path = get_string(reader, true);
        if (paths)
            paths[i] = path;
    }
    where->looks = where->looks_count > 0 ? looks : NULL;
    for (size_t i = 0; !reader->is_short && i < where->looks_count; i++) {
        struct weir__git_look look;
        get_look(reader, looks ? &looks[i] : &look);
    }
}

/* All of them once, to see whether they are right; the number of their paths and looks. */
static int count_parts(struct reader reader, uint64_t count, size_t *ret_paths, size_t *ret_looks)
{
    struct weir__git_id last = {{0}};
    size_t paths = 0, looks = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct weir__git_suspect suspect;
        get_suspect(&reader, &suspect, NULL, NULL);
        if (reader.is_short || (i > 0 && weir__git_id_compare(&last, &suspect.id) >= 0))
            return -WEIR_E_CORRUPT;
        last = suspect.id;
        paths += suspect.where.paths_count;
        looks += suspect.where.looks_count;
    }
    if (reader.left > 0)
        return -WEIR_E_CORRUPT;
    *ret_paths = paths;
    *ret_looks = looks;
    return 0;
}

int weir__state_suspects_get(struct weir__git_state *state, uint64_t count, size_t length,
                             uint64_t room)
{
    struct reader reader = {state->texts, length, state->id_size, false};
    size_t paths = 0, looks = 0;
    int error = count_parts(reader, count, &paths, &looks);
    if (error < 0 || count == 0)
        return error;
    if (count * sizeof(*state->suspects) + paths * sizeof(*state->paths) +
            looks * sizeof(*state->looks) >
        room)
        return -WEIR_E_TOO_LARGE;
    state->suspects = weir__base_alloc((size_t)count, sizeof(*state->suspects));
    state->paths = weir__base_alloc(paths + 1, sizeof(*state->paths));
    state->looks = weir__base_alloc(looks + 1, sizeof(*state->looks));
    if (!state->suspects || !state->paths || !state->looks)
        return -WEIR_E_NO_MEMORY;
    state->suspects_count = (size_t)count;
    const char **at = state->paths;
    struct weir__git_look *look = state->looks;
    for (size_t i = 0; i < state->suspects_count; i++) {
        get_suspect(&reader, &state->suspects[i], at, look);
        at += state->suspects[i].where.paths_count;
        look += state->suspects[i].where.looks_count;
    }
    return 0;
}
