/* state_save.c - writing a state: the old ids and the new ones merged, the suspects, the head.
 *
 * The file is written under no name (O_TMPFILE), so that nothing is left of a writer that ends in
 * the middle, then synced, named and renamed over the old one, and the folder synced. Where files
 * without a name cannot be had it is written under a name of its own; what a writer left there is
 * removed a day later (state_folder.c).
 */
#include "state_part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/clock.h>

#include "alloc.h"
#include "require.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define WINDOW      262144u
#define RECORD_MAX  (1u << 24) /* bytes of one suspect: more than all of its strings can have */
#define NAMES_TRIED 100
#define NAME_SIZE   64u

struct saving {
    const struct weir__git_state_about *about;
    const struct weir__git_state_new *made;
    const char *flaw; /* or NULL: what the code says */
    int fd;
    uint8_t *window;
    size_t used;
    struct weir__hash hash;
    const struct weir__git_suspect **suspects; /* by id */
    uint64_t ids, texts;                       /* written so far */
    uint64_t old_at;
    size_t new_at;
    uint8_t last[WEIR__GIT_ID_SIZE_MAX]; /* id that was written */
};

/* --- merging --- */

static bool is_left_out(const struct saving *saving, const uint8_t *bytes, size_t size)
{
    const struct weir__git_set *without = saving->made->without;
    if (!without || weir__git_set_count(without) == 0)
        return false;
    struct weir__git_id id = weir__git_id_of(bytes, size);
    return weir__git_set_find(without, &id) != WEIR__GIT_SET_NONE;
}

/* Writes an id if it is behind the last one; Corrupt when it should have come before. */
static int take_id(struct saving *saving, const uint8_t *id, size_t size)
{
    int order = saving->ids == 0 ? 1 : memcmp(id, saving->last, size);
    if (order <= 0)
        return order == 0 ? 0 : -WEIR_E_CORRUPT;
    if (is_left_out(saving, id, size))
        return 0;
    memcpy(saving->last, id, size);
    memcpy(saving->window + saving->used, id, size);
    saving->used += size;
    saving->ids++;
    return 0;
}

/* Fills the window. Runs inside of a look at the old state, and so does nothing else. */
static int merge_some(void *arg)
{
    struct saving *saving = arg;
    const struct weir__git_state *old = saving->made->old;
    const struct weir__git_state_ids *new = saving->made->ids;
    size_t size = saving->about->id_size;
    uint64_t old_count = old ? old->count : 0;
    size_t new_count = new ? new->_count : 0;
    int error = 0;
    const struct weir__git_there *there = saving->made->there;
    while (error == 0 && saving->used + size <= WINDOW) {
        while (there && saving->old_at < old_count &&
               !weir__state_bit(there->_bits, saving->old_at))
            saving->old_at++;
        bool has_old = saving->old_at < old_count, has_new = saving->new_at < new_count;
        const uint8_t *one =
            has_old ? old->bytes + WEIR__STATE_HEAD_SIZE + (size_t)saving->old_at * size : NULL;
        const uint8_t *other = has_new ? new->_bytes + saving->new_at *size : NULL;
        if (!has_old && !has_new)
            break;
        if (has_old && (!has_new || memcmp(one, other, size) <= 0)) {
            saving->old_at++;
            error = take_id(saving, one, size);
        } else {
            saving->new_at++;
            error = take_id(saving, other, size);
        }
    }
    return error;
}

static int flush(struct saving *saving)
{
    weir__hash_update(&saving->hash, saving->window, saving->used);
    int error = weir__whole_write(saving->fd, saving->window, saving->used);
    saving->used = 0;
    return error;
}

static int write_ids(struct saving *saving)
{
    const struct weir__git_state *old = saving->made->old;
    static const struct weir__mapped nothing;
    for (;;) {
        int error = weir__mapped_read(old ? &old->mapped : &nothing, merge_some, saving);
        if (error < 0)
            saving->flaw = "the state of the last run cannot be read any more";
        if (error == 0 && saving->ids > WEIR__GIT_STATE_IDS_MAX) {
            saving->flaw = "there are too many objects";
            error = -WEIR_E_TOO_LARGE;
        }
        if (error < 0 || saving->used == 0)
            return error;
        if ((error = flush(saving)) < 0)
            return error;
    }
}

/* --- suspects --- */

static int compare_suspects(const void *a, const void *b)
{
    const struct weir__git_suspect *const *one = a, *const *other = b;
    return weir__git_id_compare(&(*one)->id, &(*other)->id);
}

static int sort_suspects(struct saving *saving)
{
    size_t count = saving->made->suspects_count;
    if (count > WEIR__GIT_STATE_SUSPECTS_MAX) {
        saving->flaw = "there are too many suspects";
        return -WEIR_E_TOO_LARGE;
    }
    saving->suspects = weir__base_alloc(count + 1, sizeof(const struct weir__git_suspect *));
    if (!saving->suspects)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        saving->suspects[i] = &saving->made->suspects[i];
    qsort(saving->suspects, count, sizeof(const struct weir__git_suspect *), compare_suspects);
    for (size_t i = 1; i < count; i++)
        if (compare_suspects(&saving->suspects[i - 1], &saving->suspects[i]) == 0) {
            saving->flaw = "a suspect was given twice";
            return -WEIR_E_INVALID;
        }
    return 0;
}

/* Bytes of any length, through the window. */
static int put(struct saving *saving, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t part = length < WINDOW - saving->used ? length : WINDOW - saving->used;
        memcpy(saving->window + saving->used, bytes, part);
        saving->used += part;
        bytes += part;
        length -= part;
        int error = saving->used == WINDOW ? flush(saving) : 0;
        if (error < 0)
            return error;
    }
    return 0;
}

static int write_suspects(struct saving *saving)
{
    struct weir__buffer record;
    int error = 0;
    weir__buffer_init(&record, RECORD_MAX);
    for (size_t i = 0; error == 0 && i < saving->made->suspects_count; i++) {
        weir__buffer_truncate(&record, 0);
        error = weir__state_suspect_put(&record, saving->suspects[i], saving->about->id_size);
        saving->texts += weir__buffer_length(&record);
        if (error == 0 && saving->texts > WEIR__GIT_STATE_TEXT_MAX)
            error = -WEIR_E_TOO_LARGE;
        if (error == -WEIR_E_TOO_LARGE)
            saving->flaw = "there is too much to be remembered of its suspects";
        if (error == -WEIR_E_INVALID)
            saving->flaw = "what was given as a suspect is none";
        if (error == 0)
            error = put(saving, weir__buffer_text(&record), weir__buffer_length(&record));
    }
    weir__buffer_fini(&record);
    return error;
}

static int write_packs(struct saving *saving)
{
    struct weir__buffer bytes;
    weir__buffer_init(&bytes,
                      weir__state_packs_size(WEIR__GIT_STATE_PACKS_MAX, WEIR__GIT_STATE_PLACES_MAX,
                                             WEIR__GIT_ID_SIZE_MAX));
    int error = weir__state_packs_put(&bytes, saving->made, saving->about->id_size);
    if (error == -WEIR_E_TOO_LARGE || error == -WEIR_E_INVALID)
        saving->flaw = "what was given as its packs are none";
    if (error == 0)
        error = put(saving, weir__buffer_text(&bytes), weir__buffer_length(&bytes));
    weir__buffer_fini(&bytes);
    return error < 0 ? error : flush(saving);
}

/* --- the file --- */

static int write_head(struct saving *saving, const uint8_t repository[WEIR__HASH_SIZE])
{
    uint8_t head[WEIR__STATE_HEAD_SIZE];
    memcpy(head, WEIR__STATE_MAGIC, WEIR__STATE_AT_VERSION);
    weir__state_put(head + WEIR__STATE_AT_VERSION, WEIR__STATE_VERSION, 4);
    weir__state_put(head + WEIR__STATE_AT_ID_SIZE, saving->about->id_size, 4);
    memcpy(head + WEIR__STATE_AT_KEY, saving->about->key, WEIR__GIT_STATE_KEY_SIZE);
    memcpy(head + WEIR__STATE_AT_REPOSITORY, repository, WEIR__HASH_SIZE);
    memcpy(head + WEIR__STATE_AT_DIGEST, saving->made->digest, WEIR__HASH_SIZE);
    memcpy(head + WEIR__STATE_AT_HELD, saving->made->held, WEIR__HASH_SIZE);
    weir__state_put(head + WEIR__STATE_AT_IDS, saving->ids, 8);
    weir__state_put(head + WEIR__STATE_AT_SUSPECTS, saving->made->suspects_count, 8);
    weir__state_put(head + WEIR__STATE_AT_TEXTS, saving->texts, 8);
    weir__state_put(head + WEIR__STATE_AT_PACKS, saving->made->packs_count, 8);
    weir__state_put(head + WEIR__STATE_AT_PLACES, saving->made->places_count, 8);
    memcpy(head + WEIR__STATE_AT_LOOSE, saving->made->loose, WEIR__GIT_STATE_LOOSE_SIZE);
    weir__state_put(head + WEIR__STATE_AT_LOOSE_TIME, saving->made->loose_time_ns, 8);
    memcpy(head + WEIR__STATE_AT_MIDX, saving->made->midx, WEIR__GIT_STATE_MARK_SIZE);
    weir__hash_update(&saving->hash, head, WEIR__STATE_AT_CHECK);
    weir__hash_final(&saving->hash, head + WEIR__STATE_AT_CHECK);
    return weir__whole_pwrite(saving->fd, head, sizeof(head), 0);
}

static int write_all(struct saving *saving, const uint8_t repository[WEIR__HASH_SIZE])
{
    weir__hash_init(&saving->hash);
    saving->window = weir__base_alloc(WINDOW, 1);
    if (!saving->window)
        return -WEIR_E_NO_MEMORY;
    int error = weir__whole_write(saving->fd, saving->window, WEIR__STATE_HEAD_SIZE);
    if (error == 0)
        error = write_ids(saving);
    if (error == 0)
        error = write_suspects(saving);
    if (error == 0)
        error = write_packs(saving);
    if (error == 0)
        error = write_head(saving, repository);
    if (error == 0 && weir__sys_fsync(saving->fd) < 0)
        error = weir_error_from_errno(errno);
    return error;
}

/* A name that nobody else has: for the file, or for a file that is made with it. fd < 0: make one
 * and return its descriptor. */
static int name_new(int folder, int fd, char name[NAME_SIZE])
{
    char from[NAME_SIZE];
    int result = -1;
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    for (unsigned i = 0; i < NAMES_TRIED; i++) {
        snprintf(name, NAME_SIZE, WEIR__STATE_NEW "%x-%" PRIx64 "-%x", (unsigned)getpid(),
                 weir_now_ns(), i);
        result = fd < 0
                     ? weir__sys_openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)
                     : weir__sys_linkat(AT_FDCWD, from, folder, name, AT_SYMLINK_FOLLOW);
        if (result >= 0 || errno != EEXIST)
            break;
    }
    if (result < 0)
        name[0] = '\0';
    return result;
}

/* name is empty for a file that has none yet. A name is given through /proc, which is not
 * everywhere. */
static int open_new(int folder, char name[NAME_SIZE])
{
    struct stat st;
    name[0] = '\0';
    int fd = -1;
    errno = EOPNOTSUPP;
    if (weir__sys_fstatat(AT_FDCWD, "/proc/self/fd", &st, 0) == 0)
        fd = weir__sys_openat(folder, ".", O_TMPFILE | O_RDWR, 0600);
    return fd < 0 ? name_new(folder, -1, name) : fd;
}

/* The written file takes the place of the old one. */
static int put_in_place(struct weir__git_states *states, struct saving *saving, const char *name,
                        char new_name[NAME_SIZE])
{
    struct stat st;
    if (weir__sys_fstat(saving->fd, &st) < 0)
        return weir_error_from_errno(errno);
    int error = weir__states_make_room(states, name, new_name, (uint64_t)st.st_size, &st.st_mtim);
    if (error == -WEIR_E_TOO_LARGE)
        saving->flaw = "it would be larger than the folder may be";
    if (error < 0)
        return error;
    if (!new_name[0] && name_new(states->_fd, saving->fd, new_name) < 0)
        return weir_error_from_errno(errno);
    if (weir__sys_renameat2(states->_fd, new_name, states->_fd, name, 0) < 0)
        return weir_error_from_errno(errno);
    new_name[0] = '\0';
    return weir__sys_fsync(states->_fd) < 0 ? weir_error_from_errno(errno) : 0;
}

static int save(struct weir__git_states *states, struct saving *saving, const char *name,
                const uint8_t repository[WEIR__HASH_SIZE])
{
    char new_name[NAME_SIZE];
    int error = sort_suspects(saving);
    if (error < 0)
        return error;
    if (saving->made->ids)
        weir__state_ids_sort(saving->made->ids);
    saving->fd = open_new(states->_fd, new_name);
    if (saving->fd < 0)
        return weir_error_from_errno(errno);
    error = write_all(saving, repository);
    if (error == 0)
        error = put_in_place(states, saving, name, new_name);
    weir__sys_close(saving->fd);
    if (new_name[0])
        weir__sys_unlinkat(states->_fd, new_name, 0);
    return error;
}

int weir__git_state_save(struct weir__git_states *states, const struct weir__git_state_about *about,
                         const struct weir__git_state_new *made, char why[WEIR__GIT_FLAW_MAX])
{
    uint8_t repository[WEIR__HASH_SIZE];
    char name[WEIR__STATE_NAME_SIZE];
    struct saving saving = {.about = about, .made = made};
    weir__state_name(about, repository, name);
    WEIR__REQUIRE(!made->ids || made->ids->_id_size == about->id_size, "state", about->repository,
                  "the new ids have another size");
    WEIR__REQUIRE(!made->old ||
                      (made->old->id_size == about->id_size &&
                       memcmp(made->old->key, about->key, sizeof(about->key)) == 0 &&
                       memcmp(made->old->repository, repository, sizeof(repository)) == 0),
                  "state", about->repository, "the old one is about something else");
    WEIR__REQUIRE(!made->there || made->there->_state == made->old, "state", about->repository,
                  "what is there was asked of another one");
    int error = made->ids ? made->ids->_error : 0;
    if (error == 0)
        error = save(states, &saving, name, repository);
    if (error < 0)
        snprintf(why, WEIR__GIT_FLAW_MAX, "cannot save state 'weir/scan/%s': %s", name,
                 saving.flaw ? saving.flaw : weir_error_text(error));
    weir__base_free(saving.window);
    weir__base_free(saving.suspects);
    return error;
}
