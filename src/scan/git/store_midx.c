/* store_midx.c - whether a multi-pack-index says what the indexes of its packs say.
 *
 * An object that it does not have, or has in the wrong place, would be taken for missing or for
 * another one; and who asks for little would never notice. So it is compared in full, id by id:
 * each of a pack must be there, what is said to be in that pack must be where its index says, and
 * nothing else may be said to be in it. A pack that is not there, or whose index cannot be read,
 * is nobody's fault: who looks for something asks others then.
 */
#include "store_part.h"

#include "alloc.h"
#include "idx_read.h"
#include "sys.h"

#include <weir/clock.h>

#include "banned.h"

struct comparing {
    struct weir__git_folder *folder;
    const struct weir__git_pack *pack;
    uint32_t number;  /* of the pack, in the multi-pack-index */
    uint32_t *claims; /* objects that are said to be in each */
    uint32_t found;
    bool is_wrong;
};

static int count_claims(void *arg)
{
    struct comparing *c = arg;
    const struct weir__git_midx *midx = &c->folder->midx;
    for (uint32_t i = 0; i < midx->count; i++) {
        uint32_t pack = weir__git_get32(midx->_offsets + (uint64_t)i * 8);
        if (pack < midx->packs_count)
            c->claims[pack]++;
        else
            c->is_wrong = true;
    }
    return 0;
}

static int compare(void *arg)
{
    struct comparing *c = arg;
    const struct weir__git_idx *idx = &c->pack->idx;
    for (uint32_t i = 0; i < idx->count && !c->is_wrong; i++) {
        struct weir__git_id id = weir__git_id_of(weir__git_idx_id(idx, i), idx->id_size);
        uint32_t pack;
        uint64_t said, offset;
        if (weir__git_midx_find(&c->folder->midx, &id, &pack, &said) < 0)
            c->is_wrong = true;
        else if (pack == c->number) {
            c->found++;
            c->is_wrong = weir__git_idx_offset(idx, i, &offset) < 0 || offset != said;
        }
    }
    c->is_wrong |= c->found != c->claims[c->number];
    return 0;
}

static int compare_both(void *arg)
{
    struct comparing *c = arg;
    return weir__mapped_read(&c->folder->midx_map, compare, c);
}

/* What cannot be read while it is compared is not used either. */
static bool is_right(struct weir__git_store *store, struct weir__git_folder *folder,
                     uint32_t *claims)
{
    struct comparing c = {.folder = folder, .claims = claims};
    if (weir__mapped_read(&folder->midx_map, count_claims, &c) < 0)
        return false;
    for (uint32_t i = 0; i < folder->midx.packs_count && !c.is_wrong; i++) {
        struct weir__git_pack pack;
        const char *why;
        if (folder->midx_rows[i] == WEIR__GIT_NONE ||
            weir__git_pack_open_ids(&pack, folder->fd,
                                    weir__git_store_stem(store, folder->midx_rows[i]),
                                    store->id_size, &why) < 0)
            continue;
        c.pack = &pack;
        c.number = i;
        c.found = 0;
        c.is_wrong = weir__mapped_read(&pack._idx_map, compare_both, &c) < 0 || c.is_wrong;
        weir__git_pack_close(&pack);
    }
    return !c.is_wrong;
}

int weir__git_store_check_midx(struct weir__git_store *store)
{
    for (unsigned i = 0; i < store->folders_count; i++) {
        struct weir__git_folder *folder = &store->folders[i];
        if (!folder->midx_rows)
            continue;
        uint32_t *claims = weir__base_alloc((size_t)folder->midx.packs_count + 1, sizeof(*claims));
        if (!claims)
            return -WEIR_E_NO_MEMORY;
        if (!is_right(store, folder, claims)) {
            store->has_wrong_midx = true;
            weir__git_store_refuse_midx(store, folder);
        }
        weir__base_free(claims);
    }
    return 0;
}

bool weir__git_store_midx_facts(const struct weir__git_store *store, unsigned folder,
                                uint64_t ret_facts[WEIR__GIT_MIDX_FACTS])
{
    struct stat st;
    if (folder >= store->folders_count || !store->folders[folder].midx_rows ||
        weir__sys_fstatat(store->folders[folder].fd, "pack/multi-pack-index", &st, 0) < 0)
        return false;
    ret_facts[0] = (uint64_t)st.st_size;
    ret_facts[1] = (uint64_t)st.st_ctim.tv_sec * WEIR_NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
    ret_facts[2] = st.st_ino;
    return true;
}
