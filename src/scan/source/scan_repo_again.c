/* scan_repo_again.c - a repository that was scanned before: what is spared when little or nothing
 * of it has changed.
 *
 * A pack is never changed once it is there, so one of which every object was seen to its end is
 * remembered as a whole: among the ids that were seen is one made from the sums that pack and index
 * end with. Where it is not, its ids are asked for one by one, which is still far less than a plan.
 *
 * The second look at a few suspects builds each by itself: a plan of all packs would take longer
 * than all of them.
 */
#include "scan_repo.h"

#include <string.h>

#include "sys.h"

#include "banned.h"

/* So many suspects are few, and one more for so many objects. */
#define FEW      64u
#define FEW_EACH 1024u

/* --- packs --- */

struct sums {
    const struct weir__git_pack *pack;
    struct weir__hash *hash;
};

static int look_at_sums(void *arg)
{
    const struct sums *sums = arg;
    const struct weir__git_idx *idx = &sums->pack->idx;
    /* That of the pack, and behind it that of the index itself. */
    weir__hash_update(sums->hash, weir__git_idx_pack_sum(idx), 2 * idx->id_size);
    return 0;
}

static bool identify(const struct weir__git_pack *pack, struct weir__git_id *ret_id)
{
    static const char what[] = "weir: all objects of a pack";
    uint8_t digest[WEIR__HASH_SIZE];
    const uint64_t numbers[] = {pack->length, pack->idx.count};
    struct weir__hash hash;
    struct sums sums = {pack, &hash};
    weir__hash_init(&hash);
    weir__hash_update(&hash, what, sizeof(what));
    weir__hash_update(&hash, numbers, sizeof(numbers));
    int result = weir__mapped_read(&pack->_idx_map, look_at_sums, &sums);
    weir__hash_final(&hash, digest);
    memcpy(ret_id->bytes, digest, sizeof(ret_id->bytes));
    return result == 0;
}
_Static_assert(sizeof(((struct weir__git_id *)NULL)->bytes) <= WEIR__HASH_SIZE, "it fits");

static void remember(struct weir__scan_repo *repo, const struct weir__git_pack *pack)
{
    struct weir__git_id id;
    if (identify(pack, &id))
        weir__scan_state_seen(repo, &id, 1);
}

bool weir__scan_again_knows(struct weir__scan_repo *repo, const struct weir__git_pack *pack)
{
    struct weir__git_id id;
    if (!repo->state || repo->is_second || pack->has_doubt)
        return false;
    if (identify(pack, &id) && weir__git_state_has(repo->state, &id))
        return true;
    if (!weir__git_state_has_pack(repo->state, pack))
        return false;
    remember(repo, pack);
    return true;
}

void weir__scan_again_note(struct weir__scan_repo *repo, struct weir__scan_pack *pack,
                           uint64_t count)
{
    weir_lock_acquire(&repo->run->lock);
    pack->seen += (uint32_t)count;
    bool is_all = count > 0 && pack->seen == pack->pack.idx.count;
    weir_lock_release(&repo->run->lock);
    if (is_all && !pack->pack.has_doubt && !pack->plan.has_doubt)
        remember(repo, &pack->pack);
}

/* --- few suspects --- */

bool weir__scan_again_has_few(const struct weir__scan_repo *repo)
{
    uint64_t open = 0, most = FEW + repo->objects / FEW_EACH;
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects) && open <= most; i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        open += !(suspect->flags & (WEIR__SUSPECT_DONE | WEIR__SUSPECT_LARGE));
    }
    return open <= most;
}

static struct weir__git_store *open_store(const struct weir__scan_repo *repo)
{
    char problem[WEIR__GIT_PROBLEM_SIZE];
    struct weir__git_store_options options;
    struct weir__git_store *store = NULL;
    weir__scan_share_lookups(&repo->share.each, &options);
    if (options.object_max > repo->shard_bytes)
        options.object_max = repo->shard_bytes;
    int result =
        weir__git_store_open(&store, repo->path_length > 0 ? repo->path : ".", &options, problem);
    return result < 0 ? NULL : store;
}

void weir__scan_again_few(struct weir__scan_worker *w, struct weir__scan_repo *repo, uint32_t part,
                          uint32_t parts)
{
    struct weir__git_store *store = NULL;
    struct weir__buffer bytes;
    weir__buffer_init(&bytes, repo->shard_bytes);
    for (uint32_t i = part; i < weir__git_set_count(&repo->suspects); i += parts) {
        struct weir__git_object object = {.id = weir__git_set_id(&repo->suspects, i)};
        uint32_t flags = weir__scan_suspect_flags(repo, &object.id);
        if (flags == 0 || flags & WEIR__SUSPECT_LARGE || weir__scan_is_stopped(w))
            continue;
        store = store ? store : open_store(repo);
        if (!store || weir__git_store_get(store, &object.id, &object.type, &bytes) < 0)
            continue;
        object.bytes = (const uint8_t *)weir__buffer_text(&bytes);
        object.length = weir__buffer_length(&bytes);
        if (weir__scan_look_second(w, repo, &object) < 0)
            break;
    }
    weir__buffer_fini(&bytes);
    weir__git_store_close(store);
}
