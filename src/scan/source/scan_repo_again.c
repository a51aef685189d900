/* scan_repo_again.c - a repository that was scanned before: what is spared when little or nothing
 * of it has changed.
 *
 * A pack that is as it was when every object of it was seen to its end is not opened: its name, its
 * sizes and times say that it is the one that was read without a doubt. Of another one the ids are
 * asked for, and the checksums of its bytes: if all are known and right, nothing is unpacked. If
 * one is wrong all of it is read, as by a first scan, and what was seen is not scanned for this.
 *
 * The second look at a few suspects builds each by itself: a plan of all packs would take longer
 * than all of them.
 */
#include "scan_repo.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#include "banned.h"

/* So many suspects are few, and one more for so many objects. */
#define FEW      64u
#define FEW_EACH 1024u
/* With more packs than these a thread that looks for a few of them takes longer to list the packs
 * than to scan; and where its leader's store finds them is remembered. */
#define PACKS_MANY 32u
/* Versions of a file, so many of them, have one turn: they share bases, which are built once. */
#define TOGETHER 64u

/* --- packs --- */

bool weir__scan_again_is_same(const struct weir__scan_repo *repo, uint32_t row)
{
    return repo->state && !repo->is_second && !repo->is_wary && weir__scan_packs_mark(repo, row) &&
           weir__scan_packs_mark(repo, row)->is_known;
}

bool weir__scan_again_knows(struct weir__scan_repo *repo, const struct weir__scan_pack *pack)
{
    return repo->state && !repo->is_second && !repo->is_wary && !pack->pack.has_doubt &&
           weir__git_state_has_pack(repo->state, &pack->pack);
}

bool weir__scan_again_is_new(const struct weir__scan_repo *repo, const struct weir__scan_pack *pack)
{
    return repo->state && !repo->is_second && !repo->is_for_trees &&
           !(pack->mark && pack->mark->is_listed);
}

void weir__scan_again_note(struct weir__scan_repo *repo, struct weir__scan_pack *pack,
                           uint64_t count)
{
    weir_lock_acquire(&repo->run->lock);
    pack->seen += (uint32_t)count;
    bool is_all = count > 0 && pack->seen == pack->pack.idx.count;
    weir_lock_release(&repo->run->lock);
    if (is_all && !pack->pack.has_doubt && !pack->plan.has_doubt)
        weir__scan_packs_note_whole(repo->run, pack->mark);
}

/* --- few suspects --- */

/* Those that are to be looked at; with more than most of them, some number above it. */
static uint64_t count_open(const struct weir__scan_repo *repo, uint64_t most)
{
    uint64_t open = 0;
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects) && open <= most; i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        open += !(suspect->flags & (WEIR__SUSPECT_DONE | WEIR__SUSPECT_LARGE));
    }
    return open;
}

bool weir__scan_again_has_few(const struct weir__scan_repo *repo)
{
    uint64_t most = FEW + repo->objects / FEW_EACH;
    return count_open(repo, most) <= most;
}

uint32_t weir__scan_again_parts(const struct weir__scan_repo *repo)
{
    bool is_scattered = weir__git_store_packs(repo->store) > PACKS_MANY;
    return is_scattered && count_open(repo, FEW) <= FEW ? 1 : repo->run->threads;
}

struct placed {
    const char *path; /* or "" */
    int64_t time;
    uint32_t number; /* among suspects */
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    int order = strcmp(one->path, other->path);
    return order != 0 ? order : (one->time < other->time) - (one->time > other->time);
}

void weir__scan_again_order(struct weir__scan_repo *repo)
{
    uint32_t count = weir__git_set_count(&repo->suspects);
    struct placed *all = weir__base_alloc((size_t)count + 1, sizeof(*all));
    struct weir__scan_few *few = weir__base_alloc((size_t)count + 1, sizeof(*few));
    for (uint32_t i = 0; all && i < count; i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        struct weir__git_attribution where = {.path = NULL};
        if (suspect->flags & WEIR__SUSPECT_BLOB)
            weir__scan_origin_where(repo, i, suspect, &where);
        all[i] = (struct placed){where.path ? where.path : "", where.time, i};
    }
    if (all && few) {
        qsort(all, count, sizeof(*all), compare_placed);
        for (uint32_t i = 0, begun = 0, turn = 0; i < count; i++) {
            if (i - begun == TOGETHER || strcmp(all[begun].path, all[i].path) != 0) {
                begun = i;
                turn++;
            }
            few[i] = (struct weir__scan_few){all[i].number, turn};
        }
        weir__base_free(repo->few);
        repo->few = few;
    } else {
        weir__base_free(few);
    }
    weir__base_free(all);
}

static struct weir__git_store *open_store(const struct weir__scan_repo *repo)
{
    char problem[WEIR__GIT_PROBLEM_SIZE];
    struct weir__git_store_options options;
    struct weir__git_store *store = NULL;
    weir__scan_share_lookups(&repo->share.alone, &options);
    options.has_no_midx = repo->is_midx_told;
    if (options.object_max > repo->shard_bytes)
        options.object_max = repo->shard_bytes;
    int result =
        weir__git_store_open(&store, repo->path_length > 0 ? repo->path : ".", &options, problem);
    return result < 0 ? NULL : store;
}

/* The last object that was looked at, which the next one may be a version of: then that is scanned
 * by what is known of this one. */
struct last {
    struct weir__buffer bytes;
    uint32_t turn, depth;
    bool is_there;
};

static void set_base(struct weir__git_object *object, const struct last *last, uint32_t turn)
{
    if (!last->is_there || last->turn != turn)
        return;
    object->has_base = true;
    object->depth = last->depth + 1;
    object->base = (const uint8_t *)weir__buffer_text(&last->bytes);
    object->base_length = weir__buffer_length(&last->bytes);
}

/* With a limit of memory there is room for one object. */
static void keep(struct last *last, const struct weir__scan_worker *w,
                 const struct weir__git_object *object, struct weir__buffer *bytes, uint32_t turn)
{
    struct weir__buffer other = last->bytes;
    last->is_there = object->type == WEIR__GIT_BLOB && object->length <= WEIR__TEXT_MAX &&
                     w->run->options->history_bytes == 0;
    if (!last->is_there)
        return;
    last->bytes = *bytes;
    last->turn = turn;
    last->depth = object->depth;
    *bytes = other;
}

void weir__scan_again_few(struct weir__scan_worker *w, struct weir__scan_repo *repo, uint32_t part,
                          uint32_t parts)
{
    struct weir__git_store *store = NULL;
    /* The leader waits, and nobody else is at work: what he may build with is theirs as well. */
    bool is_lent = parts == 1;
    struct weir__buffer bytes;
    struct last last = {.is_there = false};
    weir__buffer_init(&bytes, repo->shard_bytes);
    weir__buffer_init(&last.bytes, repo->shard_bytes);
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        struct weir__scan_few few = repo->few ? repo->few[i] : (struct weir__scan_few){i, i};
        if (few.turn % parts != part)
            continue;
        struct weir__git_object object = {.id = weir__git_set_id(&repo->suspects, few.number)};
        uint32_t flags = weir__scan_suspect_flags(repo, &object.id);
        if (flags == 0 || flags & WEIR__SUSPECT_LARGE || weir__scan_is_stopped(w))
            continue;
        store = store ? store : is_lent ? repo->store : open_store(repo);
        if (!store || weir__git_store_get(store, &object.id, &object.type, &bytes) < 0)
            continue;
        object.bytes = (const uint8_t *)weir__buffer_text(&bytes);
        object.length = weir__buffer_length(&bytes);
        set_base(&object, &last, few.turn);
        if (weir__scan_look_second(w, repo, &object) < 0)
            break;
        keep(&last, w, &object, &bytes, few.turn);
    }
    weir__buffer_fini(&bytes);
    weir__buffer_fini(&last.bytes);
    if (is_lent)
        return;
    weir__scan_repo_doubt(w, repo, store);
    weir__git_store_close(store);
}
