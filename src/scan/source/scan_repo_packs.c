/* scan_repo_packs.c - the packs of a repository, as they are remembered from one scan to the next.
 *
 * A pack is known by its mark: a hash of its folder, its name, and the sizes and times of change of
 * its two files, which nobody can set back. One that has the mark of a pack of which every object
 * was seen is not opened, whatever came beside it. Of a pack that could not be read in full the
 * mark is remembered too, without this, so that it is known to be still there, and is read again.
 *
 * With the marks goes in which packs objects were that had to be looked up: of thousands of packs a
 * scan that finds what it has found before opens those.
 */
#include "scan_repo.h"

#include <string.h>

#include "alloc.h"

#include "banned.h"

/* Of shorter lists nobody notices that they are made twice. */
#define LIST_LONG 256u
/* All that wait, of all repositories. */
#define LISTS_MAX (UINT64_C(16) << 20)

/* --- the list of who admits --- */

static void drop_list(struct weir__scan_repo *repo)
{
    weir_lock_acquire(&repo->run->lock);
    repo->run->repos.lists_bytes -= repo->listed_bytes;
    weir_lock_release(&repo->run->lock);
    repo->listed_bytes = 0;
    repo->listed = NULL;
}

void weir__scan_packs_hand_on(struct weir__scan_repo *repo, struct weir__git_store *store)
{
    struct weir__scan_repos *repos = &repo->run->repos;
    if (weir__git_store_packs(store) < LIST_LONG)
        return;
    struct weir__git_packs *packs = weir__git_packs_take(store);
    uint64_t bytes = packs ? weir__git_packs_bytes(packs) : 0;
    weir_lock_acquire(&repo->run->lock);
    /* With a limit of memory one list waits at a time: who admits has one, and so has who leads. */
    bool has_room = bytes <= LISTS_MAX - repos->lists_bytes &&
                    (repo->run->options->history_bytes == 0 || repos->lists_bytes == 0);
    repos->lists_bytes += has_room ? bytes : 0;
    weir_lock_release(&repo->run->lock);
    if (has_room) {
        repo->listed = packs;
        repo->listed_bytes = bytes;
    } else {
        weir__git_packs_free(packs);
    }
}

int weir__scan_packs_take_over(struct weir__scan_repo *repo)
{
    bool is_given = weir__git_packs_give(repo->listed, repo->store);
    drop_list(repo);
    return is_given ? 0 : weir__git_store_relist(repo->store);
}

/* --- marks --- */

static struct weir__git_id mark_of(const struct weir__git_store *store, uint32_t row)
{
    struct weir__git_store_pack pack;
    struct weir__hash hash;
    uint8_t digest[WEIR__HASH_SIZE];
    weir__git_store_pack(store, row, &pack);
    const uint64_t facts[] = {strlen(pack.stem), pack.folder,      pack.pack_bytes, pack.idx_bytes,
                              pack.pack_time_ns, pack.idx_time_ns, pack.pack_inode, pack.idx_inode};
    weir__hash_init(&hash);
    weir__hash_update(&hash, facts, sizeof(facts));
    weir__hash_update(&hash, pack.stem, strlen(pack.stem));
    weir__hash_final(&hash, digest);
    return weir__git_id_of(digest, WEIR__GIT_STATE_MARK_SIZE);
}

static struct weir__scan_mark *mark_at(const struct weir__scan_repo *repo, uint32_t number)
{
    return weir__git_set_extra(&repo->packs, number);
}

struct weir__scan_mark *weir__scan_packs_mark(const struct weir__scan_repo *repo, uint32_t row)
{
    return repo->pack_numbers && row < repo->pack_count ? mark_at(repo, repo->pack_numbers[row])
                                                        : NULL;
}

static bool make_marks(struct weir__scan_repo *repo, struct weir__hash *hash)
{
    uint32_t count = weir__git_store_packs(repo->store);
    weir__base_free(repo->pack_numbers);
    repo->pack_count = count;
    repo->pack_numbers = weir__base_alloc((size_t)count + 1, sizeof(*repo->pack_numbers));
    if (repo->packs._id_size == 0)
        weir__git_set_init(&repo->packs, WEIR__GIT_STATE_MARK_SIZE, sizeof(struct weir__scan_mark),
                           0);
    for (uint32_t i = 0; i < weir__git_set_count(&repo->packs); i++)
        mark_at(repo, i)->row = WEIR__GIT_NONE;
    for (uint32_t row = 0; repo->pack_numbers && row < count; row++) {
        struct weir__git_id mark = mark_of(repo->store, row);
        if (weir__git_set_add(&repo->packs, &mark, &repo->pack_numbers[row]) < 0)
            return false;
        mark_at(repo, repo->pack_numbers[row])->row = row;
        weir__hash_update(hash, mark.bytes, WEIR__GIT_STATE_MARK_SIZE);
    }
    return repo->pack_numbers;
}

void weir__scan_packs_listed(struct weir__scan_repo *repo, uint8_t held[WEIR__HASH_SIZE])
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    if (!make_marks(repo, &hash)) {
        weir__base_free(repo->pack_numbers);
        repo->pack_numbers = NULL;
        memset(held, 0, WEIR__HASH_SIZE);
        return;
    }
    weir__hash_update(&hash, repo->loose, sizeof(repo->loose));
    weir__hash_final(&hash, held);
}

/* --- multi-pack-indexes --- */

/* By their files, and by the packs that they are of. All zeros: there are none. */
static void mark_midx(const struct weir__scan_repo *repo, uint8_t mark[WEIR__GIT_STATE_MARK_SIZE])
{
    uint8_t digest[WEIR__HASH_SIZE];
    uint64_t facts[WEIR__GIT_MIDX_FACTS];
    struct weir__hash hash;
    bool has_any = false;
    weir__hash_init(&hash);
    for (unsigned i = 0; i <= WEIR__GIT_ALTERNATES_MAX; i++)
        if (weir__git_store_midx_facts(repo->store, i, facts)) {
            has_any = true;
            weir__hash_update(&hash, &i, sizeof(i));
            weir__hash_update(&hash, facts, sizeof(facts));
        }
    for (uint32_t row = 0; has_any && row < weir__git_store_packs(repo->store); row++) {
        struct weir__git_store_pack pack;
        weir__git_store_pack(repo->store, row, &pack);
        struct weir__git_id id = mark_of(repo->store, row);
        if (pack.is_in_midx)
            weir__hash_update(&hash, id.bytes, WEIR__GIT_STATE_MARK_SIZE);
    }
    weir__hash_final(&hash, digest);
    memset(mark, 0, WEIR__GIT_STATE_MARK_SIZE);
    if (has_any)
        memcpy(mark, digest, WEIR__GIT_STATE_MARK_SIZE);
}

int weir__scan_packs_check_midx(struct weir__scan_repo *repo)
{
    struct weir__git_store_facts facts;
    if (repo->wanted)
        return 0; /* it has little to ask for, and is told what it meets */
    mark_midx(repo, repo->midx);
    if (repo->state &&
        memcmp(repo->midx, weir__git_state_midx(repo->state), sizeof(repo->midx)) == 0)
        return 0;
    int result = weir__git_store_check_midx(repo->store);
    weir__git_store_facts(repo->store, &facts);
    if (result < 0 || facts.has_wrong_midx)
        memset(repo->midx, 0, sizeof(repo->midx));
    weir__scan_repo_doubt(repo->w, repo, repo->store);
    return result;
}

/* --- at the beginning --- */

/* NULL: it is not there. */
static struct weir__scan_mark *find(const struct weir__scan_repo *repo,
                                    const struct weir__git_state_pack *pack)
{
    struct weir__git_id mark = weir__git_id_of(pack->mark, WEIR__GIT_STATE_MARK_SIZE);
    uint32_t number = weir__git_set_find(&repo->packs, &mark);
    struct weir__scan_mark *found =
        repo->pack_numbers && number != WEIR__GIT_SET_NONE ? mark_at(repo, number) : NULL;
    return found && found->row != WEIR__GIT_NONE ? found : NULL;
}

bool weir__scan_packs_are_there(const struct weir__scan_repo *repo)
{
    size_t count;
    const struct weir__git_state_pack *packs = weir__git_state_packs(repo->state, &count);
    for (size_t i = 0; i < count; i++)
        if (!find(repo, &packs[i]))
            return false;
    return repo->pack_numbers;
}

bool weir__scan_packs_lack_unread(const struct weir__scan_repo *repo)
{
    size_t count;
    const struct weir__git_state_pack *packs = weir__git_state_packs(repo->state, &count);
    for (size_t i = 0; i < count; i++)
        if (!packs[i].is_whole && !find(repo, &packs[i]))
            return true;
    return false;
}

void weir__scan_packs_recall(struct weir__scan_repo *repo)
{
    size_t count, places_count;
    if (!repo->state)
        return;
    const struct weir__git_state_pack *packs = weir__git_state_packs(repo->state, &count);
    const struct weir__git_state_place *places = weir__git_state_places(repo->state, &places_count);
    for (size_t i = 0; i < count; i++) {
        struct weir__scan_mark *mark = find(repo, &packs[i]);
        if (mark) {
            mark->is_listed = true;
            mark->is_known = packs[i].is_whole && !repo->is_wary;
        }
    }
    for (size_t i = 0; i < places_count && !repo->is_wary; i++) {
        const struct weir__scan_mark *mark = find(repo, &packs[places[i].pack]);
        if (mark)
            weir__git_store_place(repo->store, &places[i].id, mark->row);
    }
}

/* --- at the end --- */

void weir__scan_packs_note_whole(struct weir__scan *run, struct weir__scan_mark *mark)
{
    if (!mark)
        return;
    weir_lock_acquire(&run->lock);
    mark->is_whole = true;
    weir_lock_release(&run->lock);
}

static bool is_whole(const struct weir__scan_mark *mark)
{
    return mark->is_known || mark->is_whole;
}

bool weir__scan_packs_have_news(const struct weir__scan_repo *repo)
{
    size_t count, known = 0, whole = 0;
    bool has_new;
    const struct weir__git_state_pack *packs = weir__git_state_packs(repo->state, &count);
    for (size_t i = 0; i < count; i++)
        known += packs[i].is_whole;
    for (uint32_t row = 0; repo->pack_numbers && row < repo->pack_count; row++)
        whole += is_whole(weir__scan_packs_mark(repo, row));
    (void)weir__git_store_places(repo->store, &has_new);
    return whole != known || has_new;
}

/* Of an object that is in none of the packs there is nothing to say. */
static void keep_places(const struct weir__scan_repo *repo, struct weir__git_state_place *list,
                        struct weir__git_state_new *made)
{
    bool has_new;
    const struct weir__git_set *places = weir__git_store_places(repo->store, &has_new);
    for (uint32_t i = 0; i < weir__git_set_count(places); i++) {
        struct weir__git_state_place place = {.id = weir__git_set_id(places, i)};
        memcpy(&place.pack, weir__git_set_extra(places, i), sizeof(place.pack));
        if (place.pack < made->packs_count)
            list[made->places_count++] = place;
    }
    made->places = list;
}
_Static_assert(WEIR__GIT_PLACES_MAX == WEIR__GIT_STATE_PLACES_MAX &&
                   WEIR__GIT_PACKS_MAX == WEIR__GIT_STATE_PACKS_MAX,
               "all that a store knows can be remembered");

bool weir__scan_packs_keep(const struct weir__scan_repo *repo, struct weir__git_state_new *made)
{
    bool has_new;
    const struct weir__git_set *places = weir__git_store_places(repo->store, &has_new);
    struct weir__git_state_pack *packs =
        weir__base_alloc((size_t)repo->pack_count + 1, sizeof(*packs));
    struct weir__git_state_place *list =
        weir__base_alloc((size_t)weir__git_set_count(places) + 1, sizeof(*list));
    made->packs = packs;
    made->places = list;
    if (!packs || !list || !repo->pack_numbers)
        return false;
    for (uint32_t row = 0; row < repo->pack_count; row++) {
        struct weir__git_id mark = weir__git_set_id(&repo->packs, repo->pack_numbers[row]);
        memcpy(packs[row].mark, mark.bytes, sizeof(packs[row].mark));
        packs[row].is_whole = is_whole(weir__scan_packs_mark(repo, row));
    }
    made->packs_count = repo->pack_count;
    keep_places(repo, list, made);
    memcpy(made->loose, repo->loose, sizeof(made->loose));
    return true;
}

void weir__scan_packs_forget(struct weir__git_state_new *made)
{
    weir__base_free((void *)made->packs);
    weir__base_free((void *)made->places);
    made->packs = NULL;
    made->places = NULL;
}

void weir__scan_packs_drop(struct weir__scan_repo *repo)
{
    weir__git_packs_free(repo->listed);
    drop_list(repo);
    weir__base_free(repo->pack_numbers);
    weir__git_set_fini(&repo->packs);
}
