/* state.c - loading a state, and looking up in it. */
#include "state_part.h"

#include <stdio.h>
#include <sys/stat.h>

#include "alloc.h"
#include "require.h"
#include "sorted.h"
#include "sys.h"

#include "banned.h"

/* A range of ids this short is searched by halves. */
#define RANGE_SMALL 16u

/* --- names --- */

void weir__state_name(const struct weir__git_state_about *about,
                      uint8_t ret_repository[WEIR__HASH_SIZE], char ret_name[WEIR__STATE_NAME_SIZE])
{
    WEIR__REQUIRE(about->id_size == WEIR__GIT_SHA1_SIZE || about->id_size == WEIR__GIT_SHA256_SIZE,
                  "state", about->repository, "no hash of git has that size");
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, about->repository, strlen(about->repository));
    weir__hash_final(&hash, ret_repository);
    struct weir__git_id id = weir__git_id_of(ret_repository, WEIR__STATE_NAME_BYTES);
    weir__state_name_of(&id, ret_name);
}

/* --- checking a file --- */

struct check {
    struct weir__git_state *state;
    const struct weir__git_state_about *about;
    const uint8_t *repository;
    const char *flaw;
    uint64_t suspects, texts, packs, places;
};

static int is_flawed(struct check *check, int code, const char *flaw)
{
    check->flaw = flaw;
    return -code;
}

static bool is_check_right(const struct weir__git_state *state, const uint8_t *head)
{
    struct weir__hash hash;
    uint8_t sum[WEIR__HASH_SIZE];
    weir__hash_init(&hash);
    weir__hash_update(&hash, state->bytes + WEIR__STATE_HEAD_SIZE,
                      state->length - WEIR__STATE_HEAD_SIZE);
    weir__hash_update(&hash, head, WEIR__STATE_AT_CHECK);
    weir__hash_final(&hash, sum);
    return memcmp(sum, head + WEIR__STATE_AT_CHECK, sizeof(sum)) == 0;
}

/* Whether the file is whole comes before what it is about, so that a damaged one is called so. */
static int check_head(void *arg)
{
    struct check *check = arg;
    struct weir__git_state *state = check->state;
    uint8_t head[WEIR__STATE_HEAD_SIZE];
    if (state->length < sizeof(head))
        return is_flawed(check, WEIR_E_CORRUPT, "it is cut short");
    memcpy(head, state->bytes, sizeof(head));
    if (memcmp(head, WEIR__STATE_MAGIC, WEIR__STATE_AT_VERSION) != 0)
        return is_flawed(check, WEIR_E_CORRUPT, "it does not begin as it should");
    if (weir__state_get(head + WEIR__STATE_AT_VERSION, 4) != WEIR__STATE_VERSION)
        return is_flawed(check, WEIR_E_UNSUPPORTED, "it is of another version of weir");
    if (!is_check_right(state, head))
        return is_flawed(check, WEIR_E_CORRUPT, "its bytes are not those that were written");
    if (weir__state_get(head + WEIR__STATE_AT_ID_SIZE, 4) != check->about->id_size ||
        memcmp(head + WEIR__STATE_AT_REPOSITORY, check->repository, WEIR__HASH_SIZE) != 0)
        return is_flawed(check, WEIR_E_MISMATCH, "it is of another repository");
    if (memcmp(head + WEIR__STATE_AT_KEY, check->about->key, WEIR__GIT_STATE_KEY_SIZE) != 0)
        return is_flawed(check, WEIR_E_MISMATCH, "it was made under other rules or options");
    state->id_size = check->about->id_size;
    state->count = weir__state_get(head + WEIR__STATE_AT_IDS, 8);
    check->suspects = weir__state_get(head + WEIR__STATE_AT_SUSPECTS, 8);
    check->texts = weir__state_get(head + WEIR__STATE_AT_TEXTS, 8);
    check->packs = weir__state_get(head + WEIR__STATE_AT_PACKS, 8);
    check->places = weir__state_get(head + WEIR__STATE_AT_PLACES, 8);
    if (state->count > WEIR__GIT_STATE_IDS_MAX || check->suspects > WEIR__GIT_STATE_SUSPECTS_MAX ||
        check->texts > WEIR__GIT_STATE_TEXT_MAX || check->packs > WEIR__GIT_STATE_PACKS_MAX ||
        check->places > WEIR__GIT_STATE_PLACES_MAX ||
        sizeof(head) + state->count * state->id_size + check->texts +
                weir__state_packs_size(check->packs, check->places, state->id_size) !=
            state->length)
        return is_flawed(check, WEIR_E_CORRUPT, "its parts do not make up its length");
    memcpy(state->key, check->about->key, sizeof(state->key));
    memcpy(state->repository, check->repository, sizeof(state->repository));
    memcpy(state->digest, head + WEIR__STATE_AT_DIGEST, sizeof(state->digest));
    memcpy(state->held, head + WEIR__STATE_AT_HELD, sizeof(state->held));
    memcpy(state->loose, head + WEIR__STATE_AT_LOOSE, sizeof(state->loose));
    state->loose_time_ns = weir__state_get(head + WEIR__STATE_AT_LOOSE_TIME, 8);
    memcpy(state->midx, head + WEIR__STATE_AT_MIDX, sizeof(state->midx));
    return 0;
}

static int copy_texts(void *arg)
{
    const struct check *check = arg;
    const struct weir__git_state *state = check->state;
    memcpy(state->texts,
           state->bytes + WEIR__STATE_HEAD_SIZE + (size_t)state->count * state->id_size,
           (size_t)check->texts);
    return 0;
}

static int read_suspects(struct check *check)
{
    struct weir__git_state *state = check->state;
    uint64_t room = check->about->memory_max ? check->about->memory_max : WEIR__GIT_STATE_MEMORY;
    /* Who asks what is still there needs a bit for each id. */
    uint64_t bits = weir__state_bits_size(state->count);
    uint64_t packs = check->packs * sizeof(*state->packs) + check->places * sizeof(*state->places);
    if (bits + packs > room || check->texts > room - bits - packs)
        return -WEIR_E_TOO_LARGE;
    room -= bits + packs;
    if (check->texts > 0) {
        state->texts = weir__base_alloc((size_t)check->texts, 1);
        if (!state->texts)
            return -WEIR_E_NO_MEMORY;
        int error = weir__mapped_read(&state->mapped, copy_texts, check);
        if (error < 0)
            return error;
    }
    int error =
        weir__state_suspects_get(state, check->suspects, (size_t)check->texts, room - check->texts);
    if (error == -WEIR_E_CORRUPT)
        check->flaw = "its suspects are not as they should be";
    if (error < 0)
        return error;
    error = weir__state_packs_get(state, (size_t)(state->count * state->id_size + check->texts),
                                  (size_t)check->packs, (size_t)check->places);
    if (error == -WEIR_E_CORRUPT)
        check->flaw = "its packs are not as they should be";
    return error;
}

/* --- life cycle --- */

static int no_state(char why[WEIR__GIT_FLAW_MAX], const char *name, int error, const char *flaw)
{
    snprintf(why, WEIR__GIT_FLAW_MAX, "state 'weir/scan/%s': %s", name,
             flaw ? flaw : weir_error_text(error));
    return error;
}

static int take(struct weir__git_state *state, const struct weir__git_state_about *about,
                const char **ret_flaw)
{
    uint8_t repository[WEIR__HASH_SIZE];
    char name[WEIR__STATE_NAME_SIZE];
    weir__state_name(about, repository, name);
    struct check check = {.state = state, .about = about, .repository = repository};
    int error = weir__mapped_read(&state->mapped, check_head, &check);
    if (error == 0)
        error = read_suspects(&check);
    if (error == -WEIR_E_TOO_LARGE)
        check.flaw = "it needs more memory than is allowed";
    *ret_flaw = check.flaw;
    return error;
}

int weir__git_state_of_bytes(struct weir__git_state **ret_state,
                             const struct weir__git_state_about *about, const void *bytes,
                             size_t length, char why[WEIR__GIT_FLAW_MAX])
{
    const char *flaw = NULL;
    struct weir__git_state *state = weir__base_alloc(1, sizeof(*state));
    if (!state)
        return no_state(why, "(bytes)", -WEIR_E_NO_MEMORY, NULL);
    state->bytes = bytes;
    state->length = length;
    int error = take(state, about, &flaw);
    if (error < 0) {
        weir__git_state_free(state);
        return no_state(why, "(bytes)", error, flaw);
    }
    *ret_state = state;
    return 0;
}

/* The mapping opens the name once more. That is no gap: only the user may change what it leads to,
 * and who saves puts a file of theirs in its place. */
static int map_file(struct weir__git_state *state, int folder, const char *name,
                    const char **ret_flaw)
{
    struct stat st;
    if (weir__sys_fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        int error = weir_error_from_errno(errno);
        *ret_flaw = error == -WEIR_E_NOT_FOUND ? "nothing is remembered yet" : NULL;
        return error;
    }
    if (!S_ISREG(st.st_mode) || !weir__state_is_safe(&st)) {
        *ret_flaw = "it is not a file that only you may write to";
        return -WEIR_E_DENIED;
    }
    int error = weir__mapped_open(&state->mapped, folder, name, (size_t)WEIR__STATE_BYTES_MAX);
    if (error == -WEIR_E_CORRUPT)
        *ret_flaw = "it is empty";
    if (error == -WEIR_E_TOO_LARGE)
        *ret_flaw = "it is larger than any that was written";
    state->bytes = state->mapped.bytes;
    state->length = state->mapped.length;
    return error;
}

int weir__git_state_load(struct weir__git_state **ret_state, const struct weir__git_states *states,
                         const struct weir__git_state_about *about, char why[WEIR__GIT_FLAW_MAX])
{
    /* What was used last goes last; where that cannot be noted, the order is that of saving. */
    static const struct timespec now[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    uint8_t repository[WEIR__HASH_SIZE];
    char name[WEIR__STATE_NAME_SIZE];
    const char *flaw = NULL;
    weir__state_name(about, repository, name);
    struct weir__git_state *state = weir__base_alloc(1, sizeof(*state));
    if (!state)
        return no_state(why, name, -WEIR_E_NO_MEMORY, NULL);
    int error = map_file(state, states->_fd, name, &flaw);
    if (error == 0)
        error = take(state, about, &flaw);
    if (error < 0) {
        weir__git_state_free(state);
        return no_state(why, name, error, flaw);
    }
    (void)weir__sys_utimensat(states->_fd, name, now, AT_SYMLINK_NOFOLLOW);
    *ret_state = state;
    return 0;
}

void weir__git_state_free(struct weir__git_state *state)
{
    if (!state)
        return;
    weir__mapped_close(&state->mapped);
    weir__base_free(state->texts);
    weir__base_free(state->suspects);
    weir__base_free(state->paths);
    weir__base_free(state->looks);
    weir__base_free(state->packs);
    weir__base_free(state->places);
    weir__base_free(state);
}

/* --- looking up --- */

struct search {
    const struct weir__git_state *state;
    const uint8_t *wanted;
    uint64_t head; /* of it */
    uint64_t at;   /* where it is */
    bool is_found;
};

/* The first 8 bytes of an id, as a number that orders as they do. */
static inline uint64_t head_of(const uint8_t *id)
{
    uint64_t head;
    memcpy(&head, id, sizeof(head));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    head = __builtin_bswap64(head);
#endif
    return head;
}

static inline const uint8_t *id_at(const struct weir__git_state *state, uint64_t at)
{
    return state->bytes + WEIR__STATE_HEAD_SIZE + (size_t)at * state->id_size;
}

/* Where the id may be: [low, high). Before low all heads are at most from, at high and behind it at
 * least until. */
struct range {
    uint64_t low, high, from, until;
};

/* Looks at one place and narrows the range; true when that is the id. */
static inline bool look(struct search *search, struct range *range, uint64_t at)
{
    const struct weir__git_state *state = search->state;
    const uint8_t *id = id_at(state, at);
    uint64_t head = head_of(id);
    int order = head < search->head   ? -1
                : head > search->head ? 1
                                      : memcmp(id, search->wanted, state->id_size);
    if (order < 0) {
        range->low = at + 1;
        range->from = head;
    } else {
        range->high = at;
        range->until = head;
    }
    search->at = at;
    search->is_found = order == 0;
    return search->is_found;
}

/* Ids are hashes and so spread evenly: the place where one should be is off by about the root of
 * their number. One look there and one a root away leave a range of about that size, so a few such
 * pairs do what many halvings would. Who makes up ids can spoil that, and nothing else: after some
 * pairs the rest is halved. */
static int find(void *arg)
{
    struct search *search = arg;
    struct range range = {0, search->state->count, 0, UINT64_MAX};
    uint64_t wanted = search->head = head_of(search->wanted);
    for (unsigned i = 0; i < 4 && range.high - range.low > RANGE_SMALL; i++) {
        uint64_t size = range.high - range.low;
        if (wanted < range.from || wanted > range.until)
            return 0;
        double part = (double)(wanted - range.from) / ((double)(range.until - range.from) + 1.0);
        uint64_t at = (uint64_t)(part * (double)size);
        at = range.low + (at < size ? at : size - 1);
        uint64_t root = UINT64_C(1) << (64 - (unsigned)__builtin_clzll(size)) / 2;
        if (look(search, &range, at))
            return 0;
        /* On the side on which it still may be. */
        uint64_t next = range.low > at ? at + root : at - (root < at ? root : at);
        if (next >= range.low && next < range.high && look(search, &range, next))
            return 0;
    }
    while (range.low < range.high)
        if (look(search, &range, range.low + (range.high - range.low) / 2))
            return 0;
    return 0;
}

bool weir__state_find(const struct weir__git_state *state, const struct weir__git_id *id,
                      uint64_t *ret_at)
{
    struct search search = {.state = state, .wanted = id->bytes};
    bool is_found = weir__mapped_read(&state->mapped, find, &search) == 0 && search.is_found;
    if (is_found)
        *ret_at = search.at;
    return is_found;
}

bool weir__git_state_has(const struct weir__git_state *state, const struct weir__git_id *id)
{
    uint64_t at;
    return state && weir__state_find(state, id, &at);
}

uint64_t weir__git_state_count(const struct weir__git_state *state)
{
    return state->count;
}

const struct weir__git_suspect *weir__git_state_suspects(const struct weir__git_state *state,
                                                         size_t *ret_count)
{
    *ret_count = state->suspects_count;
    return state->suspects;
}

static int compare_suspect(const void *item, const void *wanted)
{
    return weir__git_id_compare(&((const struct weir__git_suspect *)item)->id, wanted);
}

const struct weir__git_suspect *weir__git_state_suspect(const struct weir__git_state *state,
                                                        const struct weir__git_id *id)
{
    if (!state)
        return NULL;
    size_t at = weir__sorted_from(state->suspects, state->suspects_count, sizeof(*state->suspects),
                                  id, compare_suspect);
    bool is_there =
        at < state->suspects_count && weir__git_id_is_equal(&state->suspects[at].id, id);
    return is_there ? &state->suspects[at] : NULL;
}

const uint8_t *weir__git_state_digest(const struct weir__git_state *state)
{
    return state->digest;
}

const uint8_t *weir__git_state_held(const struct weir__git_state *state)
{
    return state->held;
}
