/* scan_repo_gone.c - what was seen once and is not there any more.
 *
 * A tree that was looked at before is not looked at again, so nobody asks for what it names. That
 * is right as long as all that was seen is still there. So what the store holds is remembered as a
 * hash: its packs by name, size and time, its loose objects by their ids. If it is the same,
 * nothing is gone; nor if all these packs are there, and all these loose objects, whatever else has
 * come. If not, all remembered ids are looked for, packs by their sorted indexes: who
 * has repacked finds all of them, and the scan goes on as ever. If one is gone the scan is wary:
 * it looks at all trees, commits and tags once more, and at refs and the index, for what they name.
 * Whether it may be gone (git prune) is then found out as in a first scan. Blobs that were seen are
 * not scanned for this.
 *
 * Ids that are gone are not kept, so that nobody is wary of them again.
 */
#include "scan_repo.h"

#include <string.h>

#include <weir/clock.h>

#include "git/loose.h"

#include "banned.h"

static void add_up(uint64_t sums[WEIR__SCAN_LOOSE_SUMS], const struct weir__git_id *id)
{
    uint64_t words[sizeof(id->bytes) / sizeof(uint64_t)];
    memcpy(words, id->bytes, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        sums[i] += words[i];
    sums[WEIR__SCAN_LOOSE_SUMS - 1]++;
}

/* Listed in any order, so what is kept of them is a sum. */
static bool on_loose(void *arg, const struct weir__git_id *id, enum weir__git_type type)
{
    struct weir__scan_repo *repo = arg;
    (void)type;
    add_up(repo->loose, id);
    if (weir__git_state_has(repo->state, id))
        add_up(repo->loose_known, id);
    if (repo->has_there)
        weir__git_there_add(&repo->there, id);
    return false;
}
/* A file that was changed later than all that were there is not the one that was read: git puts
 * new ones in place, and never writes to one. Nobody can set this time back. */
static void on_file(void *arg, const struct weir__git_id *id, uint64_t time_ns)
{
    struct weir__scan_repo *repo = arg;
    uint32_t number;
    if (time_ns > repo->loose_time_ns)
        repo->loose_time_ns = time_ns;
    if (!repo->state || time_ns <= weir__git_state_loose_time(repo->state) ||
        !weir__git_state_has(repo->state, id))
        return;
    repo->has_changed = true;
    repo->is_changed |= weir__git_set_add(&repo->changed, id, &number) < 0;
}

bool weir__scan_gone_is_changed(const struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    return repo->is_changed ||
           (repo->has_changed && weir__git_set_find(&repo->changed, id) != WEIR__GIT_SET_NONE);
}

_Static_assert(sizeof(((struct weir__git_id *)NULL)->bytes) / sizeof(uint64_t) + 1 ==
                   WEIR__SCAN_LOOSE_SUMS,
               "each word of an id has a sum, and their number");

/* A folder that cannot be listed: what is in it is taken for gone, and who reads it tells. */
static int on_trouble(void *arg, const struct weir__git_trouble *trouble)
{
    (void)arg, (void)trouble;
    return 0;
}

static int list_loose(struct weir__scan_repo *repo)
{
    const struct weir__git_wish wish = {
        .types = WEIR__GIT_ALL_TYPES, .is_wanted = on_loose, .on_file = on_file, .arg = repo};
    const struct weir__git_visitor visitor = {.trouble = on_trouble};
    struct weir__git_walk_totals totals = {0};
    struct weir_deadline deadline = weir_deadline_until(&repo->run->stop);
    return weir__git_loose_each(repo->store, &wish, &visitor, 0, NULL, &totals, &deadline);
}

/* A pack that is gone by now was replaced: then its objects are taken for gone, and that is all. */
static void look_for_all(struct weir__scan_repo *repo)
{
    for (uint32_t i = 0; i < weir__git_store_packs(repo->store); i++) {
        struct weir__git_pack pack;
        if (weir__git_store_pack_open(repo->store, i, &pack) < 0)
            continue;
        weir__git_there_add_pack(&repo->there, &pack);
        weir__git_pack_close(&pack);
    }
}

/* Whether a state was saved that has all packs of its time: nothing else says that none of them is
 * gone. */
static bool has_held(const struct weir__git_state *state)
{
    static const uint8_t never[WEIR__HASH_SIZE];
    return memcmp(weir__git_state_held(state), never, sizeof(never)) != 0;
}

static bool is_all_there(const struct weir__scan_repo *repo)
{
    return has_held(repo->state) && weir__scan_packs_are_there(repo) &&
           memcmp(repo->loose_known, weir__git_state_loose(repo->state),
                  sizeof(repo->loose_known)) == 0;
}
_Static_assert(sizeof(((struct weir__scan_repo *)NULL)->loose_known) == WEIR__GIT_STATE_LOOSE_SIZE,
               "what is remembered of loose objects is their sums");

/* What could not be read was neither missed nor remembered. Whether some of it may be gone. */
static bool may_lack_unread(const struct weir__scan_repo *repo)
{
    uint8_t unread[WEIR__GIT_STATE_LOOSE_SIZE];
    memset(unread, WEIR__SCAN_LOOSE_UNREAD, sizeof(unread));
    return memcmp(weir__git_state_loose(repo->state), unread, sizeof(unread)) == 0 ||
           weir__scan_packs_lack_unread(repo);
}

int weir__scan_gone_find(struct weir__scan_repo *repo)
{
    if (!repo->has_state)
        return 0;
    repo->has_there = repo->state && weir__git_there_init(&repo->there, repo->state) == 0;
    repo->is_wary = repo->state && !repo->has_there; /* nobody can know */
    int result = list_loose(repo);
    if (result < 0)
        return result;
    /* A time that is yet to come says nothing about what comes until then. */
    uint64_t now_ns = (uint64_t)weir_wall_s() * WEIR_NS_PER_S + WEIR_NS_PER_S;
    if (repo->loose_time_ns > now_ns)
        repo->loose_time_ns = now_ns;
    weir__scan_packs_listed(repo, repo->held);
    repo->is_steady = repo->pack_numbers;
    if (!repo->has_there)
        return 0;
    repo->is_same = has_held(repo->state) &&
                    memcmp(repo->held, weir__git_state_held(repo->state), sizeof(repo->held)) == 0;
    /* What was loose when packs were listed may be in one of them by now. When they cannot be
     * listed that is told by who reads them. */
    if (!repo->is_same && !weir__git_store_is_settled(repo->store) &&
        weir__git_store_relist(repo->store) == 0)
        weir__scan_packs_listed(repo, repo->held);
    if (repo->is_same || is_all_there(repo)) {
        weir__scan_gone_drop(repo);
    } else {
        look_for_all(repo);
        repo->is_wary = weir__git_there_gone(&repo->there) > 0 || may_lack_unread(repo);
    }
    weir__scan_packs_recall(repo);
    return 0;
}

void weir__scan_gone_relisted(struct weir__scan_repo *repo)
{
    uint8_t held[WEIR__HASH_SIZE];
    if (!repo->has_state)
        return;
    weir__scan_packs_listed(repo, held);
    repo->is_steady =
        repo->is_steady && repo->pack_numbers && memcmp(held, repo->held, sizeof(held)) == 0;
    repo->is_same = repo->is_same && repo->is_steady;
    weir__scan_packs_recall(repo);
}

bool weir__scan_gone_is(struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    return repo->has_there && !weir__git_there_has(&repo->there, id) &&
           weir__git_store_has(repo->store, id) == -WEIR_E_NOT_FOUND;
}

bool weir__scan_gone_held(const struct weir__scan_repo *repo, uint8_t ret_held[WEIR__HASH_SIZE])
{
    static const uint8_t never[WEIR__HASH_SIZE];
    /* What is hidden may go unseen, and others of the store be the same. */
    bool is_all = repo->is_steady && !repo->has_hidden && !weir__git_state_ids_is_full(&repo->seen);
    memcpy(ret_held, is_all ? repo->held : never, WEIR__HASH_SIZE);
    return is_all;
}

void weir__scan_gone_drop(struct weir__scan_repo *repo)
{
    if (repo->has_there)
        weir__git_there_fini(&repo->there);
    repo->has_there = false;
}
