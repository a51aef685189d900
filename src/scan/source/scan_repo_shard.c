/* scan_repo_shard.c - the objects of a repository, in shards: cut by its leader, walked by whoever
 * has time.
 *
 * Loose objects come first, then the packs: git moves objects from the ones to the others, and
 * removes them from where they were only afterwards. A pack that is gone when it is to be opened
 * was replaced by another, so the list is made anew, and what it has that was not walked yet is
 * walked; that is done as often as something is gone, at most RELISTS times. What nothing leads to
 * goes the other way, from a pack that is replaced to loose objects: so if a pack is gone that was
 * there before the loose ones were walked, they are walked once more.
 */
#include "scan_repo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "git/loose.h"

#include "banned.h"

#define RELISTS 8u
/* A pack is cut into so many pieces for each thread. Each shard is a part of those that are left,
 * so that the last ones are small: all threads end at about the same time, and shards are few. */
#define PIECES_EACH  32u
#define SHARDS_AHEAD 2u /* for each thread, of what is left */
/* A pack of fewer bytes is one piece. */
#define PIECE_MIN (UINT64_C(256) << 10)
/* Largest object that is built at all, if memory allows. */
#define OBJECT_MAX (UINT64_C(1) << 30)
/* What may be built in one pass: so many times the bytes of all packs, and no less than that. */
#define WORK_RATIO 1000u
#define WORK_LEAST (UINT64_C(64) << 30)
/* Of the objects of a pack: if fewer are wanted, they are followed one by one. */
#define FEW_PART 8u

void weir__scan_pack_free(struct weir__scan_pack *pack)
{
    weir__git_plan_fini(&pack->plan);
    weir__git_pack_close(&pack->pack);
    weir__base_free(pack);
}

/* --- stores that are kept from one shard to the next --- */

/* NULL: there is none. */
static struct weir__git_store *take_store(struct weir__scan_repo *repo)
{
    weir_lock_acquire(&repo->lock);
    struct weir__git_store *store = repo->idle_count > 0 ? repo->idle[--repo->idle_count] : NULL;
    weir_lock_release(&repo->lock);
    return store;
}

/* Accepts NULL. */
static void give_store(struct weir__scan_repo *repo, struct weir__git_store *store)
{
    weir_lock_acquire(&repo->lock);
    bool is_kept = store && repo->idle_count < repo->at_once;
    if (is_kept)
        repo->idle[repo->idle_count++] = store;
    weir_lock_release(&repo->lock);
    if (!is_kept)
        weir__git_store_close(store);
}

static void close_stores(struct weir__scan_repo *repo)
{
    struct weir__git_store *store;
    while ((store = take_store(repo)))
        weir__git_store_close(store);
}

/* --- packs --- */

static bool is_wanted(void *arg, const struct weir__git_id *id, enum weir__git_type type)
{
    struct weir__scan_repo *repo = arg;
    if (repo->is_for_trees)
        return weir__git_set_find(&repo->trees, id) != WEIR__GIT_SET_NONE;
    if (repo->is_second)
        return weir__scan_suspect_flags(repo, id) != 0;
    if (type == 0 && weir__scan_gone_is_changed(repo, id))
        return true;
    if (weir__scan_state_spares(repo, id, type))
        return false;
    /* Names are looked at in all trees; of loose objects the type is not known yet. */
    return !repo->wanted || type == 0 || type == WEIR__GIT_TREE ||
           weir__git_wanted_is(repo->wanted, id, type);
}

/* pack: NULL for loose objects. */
static struct weir__git_wish wish_of(struct weir__scan_repo *repo,
                                     const struct weir__scan_pack *pack)
{
    /* Where everything is wanted nobody need be asked, by one thread while the others wait. */
    bool is_all = !repo->is_second && !repo->is_for_trees && !repo->wanted &&
                  (!repo->state || (pack && pack->is_doubted));
    const unsigned trees = 1u << WEIR__GIT_TREE;
    return (struct weir__git_wish){
        .types = repo->is_for_trees ? trees
                 : repo->is_second  ? WEIR__GIT_ALL_TYPES & ~trees
                                    : WEIR__GIT_ALL_TYPES,
        .is_wanted = is_all ? NULL : is_wanted,
        .arg = repo,
    };
}

/* mark: of the pack; or NULL. */
static void tell_doubt(struct weir__scan_repo *repo, const struct weir__scan_mark *mark,
                       const char *name, const char *why)
{
    char text[WEIR__SCAN_WHY_MAX];
    weir_lock_acquire(&repo->lock);
    repo->has_unread = true;
    repo->has_damage |= !mark || !mark->is_listed;
    weir_lock_release(&repo->lock);
    snprintf(text, sizeof(text), "%.140s: %.160s", name, why);
    weir__scan_repo_problem(repo, text);
}

/* The second look is for a few objects, mostly. */
static bool is_for_few(const struct weir__scan_repo *repo, const struct weir__scan_pack *pack)
{
    return repo->is_second &&
           weir__git_set_count(&repo->suspects) < pack->pack.idx.count / FEW_PART;
}

static int plan_pack(struct weir__scan_repo *repo, struct weir__scan_pack *pack)
{
    struct weir__git_wish wish = wish_of(repo, pack);
    int result = is_for_few(repo, pack)
                     ? weir__git_plan_init_few(&pack->plan, &pack->pack, &repo->suspects, &wish)
                     : weir__git_plan_init(&pack->plan, &pack->pack);
    if (result == 0 && weir__scan_again_is_new(repo, pack)) {
        pack->is_doubted = weir__git_plan_check(&pack->plan) < 0;
        wish = wish_of(repo, pack);
    }
    if (result == 0 && !pack->plan.is_partial)
        result = weir__git_plan_mark(&pack->plan, &wish);
    if (result < 0)
        tell_doubt(repo, pack->mark, pack->pack.name, weir_error_text(result));
    else if (pack->plan.has_doubt && !repo->is_second)
        tell_doubt(repo, pack->mark, pack->pack.name, pack->plan.has_doubt);
    return result;
}

static void note_plan(struct weir__scan *run, struct weir__scan_pack *pack)
{
    struct weir__scan_repos *repos = &run->repos;
    pack->is_planned = true;
    weir_lock_acquire(&run->lock);
    repos->plans++;
    if (repos->plans_most < repos->plans)
        repos->plans_most = repos->plans;
    weir_lock_release(&run->lock);
}

static int send_pack(struct weir__scan_repo *repo, struct weir__scan_pack *pack)
{
    uint32_t bounds[PIECES_EACH * WEIR__SCAN_THREADS_MAX + 1];
    uint64_t parts = pack->pack.length / PIECE_MIN + 1;
    unsigned most = PIECES_EACH * repo->run->threads, take;
    unsigned count = parts < most ? (unsigned)parts : most;
    int result = 0;
    weir__git_plan_cut(&pack->plan, count, bounds);
    for (unsigned i = 0; i < count && result == 0; i += take) {
        take = (count - i) / (SHARDS_AHEAD * repo->run->threads);
        take = take > 0 ? take : 1;
        if (bounds[i] < bounds[i + take])
            result =
                weir__scan_shard_send(repo, pack, WEIR__PART_PACK, bounds[i], bounds[i + take]);
    }
    return result;
}

/* NotFound: it is gone. What else is wrong with it is told, and no error. */
static int do_pack(struct weir__scan_repo *repo, uint32_t i)
{
    if (weir__scan_again_is_same(repo, i))
        return 0;
    struct weir__scan_pack *pack = weir__base_alloc(1, sizeof(*pack));
    if (!pack)
        return -WEIR_E_NO_MEMORY;
    struct weir__git_store_pack about;
    weir__git_store_pack(repo->store, i, &about);
    pack->users = 1;
    pack->mark = weir__scan_packs_mark(repo, i);
    pack->is_promisor = about.is_promisor;
    int result = weir__git_store_pack_open(repo->store, i, &pack->pack);
    if (result < 0) {
        weir__base_free(pack);
        if (result == -WEIR_E_NOT_FOUND || result == -WEIR_E_NO_MEMORY)
            return result;
        tell_doubt(repo, weir__scan_packs_mark(repo, i), about.stem,
                   weir__git_store_problem(repo->store));
        return 0;
    }
    bool is_known = weir__scan_again_knows(repo, pack);
    bool is_read = !is_known || weir__scan_again_is_new(repo, pack);
    if (is_read && repo->has_one_plan) /* those of the pack before it have theirs */
        result = weir__scan_shards_wait(repo);
    if (result == 0 && is_read && plan_pack(repo, pack) == 0) {
        note_plan(repo->run, pack);
        if (!is_known || pack->is_doubted)
            result = send_pack(repo, pack);
    }
    if (is_known && !pack->is_doubted)
        weir__scan_packs_note_whole(repo->run, pack->mark);
    weir__scan_pack_drop(repo->run, pack);
    return result;
}

/* The name of a pack, as something that sets can hold. */
static struct weir__git_id name_of(const struct weir__git_store *store, uint32_t i)
{
    struct weir__git_store_pack about;
    struct weir__git_id id = {{0}};
    struct weir__hash hash;
    weir__git_store_pack(store, i, &about);
    weir__hash_init(&hash);
    weir__hash_update(&hash, &about.folder, sizeof(about.folder));
    weir__hash_update(&hash, about.stem, strlen(about.stem));
    weir__hash_final(&hash, id.bytes);
    return id;
}

/* Adds the packs that are listed now. */
static int note_packs(const struct weir__git_store *store, struct weir__git_set *listed)
{
    int result = 0;
    for (uint32_t i = 0; result >= 0 && i < weir__git_store_packs(store); i++) {
        struct weir__git_id name = name_of(store, i);
        uint32_t number;
        result = weir__git_set_add(listed, &name, &number);
    }
    return result < 0 ? result : 0;
}

static void set_repeated(struct weir__scan_repo *repo, bool is_it)
{
    weir_lock_acquire(&repo->lock);
    repo->is_repeated = is_it;
    weir_lock_release(&repo->lock);
}

/* Those that were not done, by the list of now. */
static int do_packs(struct weir__scan_repo *repo, struct weir__git_set *listed,
                    struct weir__git_set *done)
{
    bool is_over = false;
    int result = 0;
    for (unsigned tries = 0; !is_over && result == 0; tries++) {
        /* A list that is known to hold costs two calls for each pack. */
        if (tries > 0 || !weir__git_store_is_settled(repo->store))
            result = weir__git_store_relist(repo->store);
        if (result < 0)
            weir__scan_repo_tell(repo->w, repo, NULL, "cannot list the packs of",
                                 weir__git_store_problem(repo->store));
        else
            result = note_packs(repo->store, listed);
        weir__scan_repo_flaws(repo->w, repo, repo->store);
        weir__scan_gone_relisted(repo);
        set_repeated(repo,
                     weir__git_store_packs(repo->store) > 1 || weir__scan_state_has_missing(repo));
        is_over = true;
        for (uint32_t i = 0; result == 0 && i < weir__git_store_packs(repo->store); i++) {
            struct weir__git_id name = name_of(repo->store, i);
            uint32_t number;
            if (weir__git_set_find(done, &name) != WEIR__GIT_SET_NONE)
                continue;
            result = do_pack(repo, i);
            if (result == -WEIR_E_NOT_FOUND) {
                result = 0;
                is_over = false;
                continue;
            }
            int added = result == 0 ? weir__git_set_add(done, &name, &number) : 0;
            result = added < 0 ? added : result;
        }
        if (!is_over && tries == RELISTS) {
            tell_doubt(repo, NULL, "packs", "they are replaced faster than they can be read");
            is_over = true;
        }
    }
    return result;
}

static int do_loose(struct weir__scan_repo *repo)
{
    uint32_t threads = repo->run->threads;
    int result = 0;
    set_repeated(repo, true);
    for (uint32_t i = 0; i < threads && result == 0; i++)
        result = weir__scan_shard_send(repo, NULL, WEIR__PART_LOOSE, i, threads);
    return result < 0 ? result : weir__scan_shards_wait(repo);
}

/* Each pass has its own, so that what the first look has found is still told. */
static void begin_work(struct weir__scan_repo *repo)
{
    struct weir__git_store_needs needs;
    weir__git_store_needs(repo->store, &needs);
    repo->work = 0;
    repo->work_max = needs.pack_bytes_all < UINT64_MAX / WORK_RATIO
                         ? needs.pack_bytes_all * WORK_RATIO
                         : UINT64_MAX;
    if (repo->work_max < WORK_LEAST)
        repo->work_max = WORK_LEAST;
}

int weir__scan_repo_pass(struct weir__scan_repo *repo)
{
    struct weir__git_set listed, done; /* names of packs; who is done was listed */
    uint32_t gone = 0, before;
    unsigned tries = 0;
    weir__git_set_init(&listed, sizeof(struct weir__git_id), 0, 0);
    weir__git_set_init(&done, sizeof(struct weir__git_id), 0, 0);
    int result = note_packs(repo->store, &listed);
    begin_work(repo);
    do {
        before = gone;
        if (result == 0)
            result = do_loose(repo);
        if (result == 0)
            result = do_packs(repo, &listed, &done);
        gone = weir__git_set_count(&listed) - weir__git_set_count(&done);
    } while (result == 0 && gone != before && ++tries < RELISTS);
    if (result == 0 && gone != before)
        tell_doubt(repo, NULL, "objects",
                   "they are packed and unpacked faster than they can be read");
    weir__git_set_fini(&listed);
    weir__git_set_fini(&done);
    /* Also after an error: those who are at work use what the leader has. */
    int waited = weir__scan_shards_wait(repo);
    close_stores(repo);
    return result < 0 ? result : waited;
}

int weir__scan_repo_pass_wary(struct weir__scan_repo *repo)
{
    if (repo->is_wary || !repo->has_damage || !weir__scan_state_has_missing(repo))
        return 0;
    repo->is_wary = true;
    weir__git_set_clear(&repo->unread); /* all of it is met again */
    return weir__scan_repo_pass(repo);
}

int weir__scan_repo_slices(struct weir__scan_repo *repo, uint32_t commits, uint32_t count)
{
    struct weir__git_store_facts facts;
    int result = 0;
    weir__git_store_facts(repo->store, &facts);
    repo->has_unknown = facts.has_unknown;
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = weir__scan_shard_send(repo, NULL, WEIR__PART_SLICE,
                                       (uint32_t)((uint64_t)commits * i / count),
                                       (uint32_t)((uint64_t)commits * (i + 1) / count));
    int waited = weir__scan_shards_wait(repo);
    close_stores(repo);
    return result < 0 ? result : waited;
}

/* Whether a suspect was not looked at again, other than those that are large. */
static bool has_left(const struct weir__scan_repo *repo)
{
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        if (!(suspect->flags & (WEIR__SUSPECT_LARGE | WEIR__SUSPECT_DONE)))
            return true;
    }
    return false;
}

int weir__scan_repo_pass_again(struct weir__scan_repo *repo)
{
    uint32_t parts = weir__scan_again_parts(repo);
    int result = 0;
    repo->is_second = true;
    if (!weir__scan_again_has_few(repo))
        return weir__scan_repo_pass(repo);
    weir__scan_again_order(repo);
    for (uint32_t i = 0; i < parts && result == 0; i++)
        result = weir__scan_shard_send(repo, NULL, WEIR__PART_FEW, i, parts);
    int waited = weir__scan_shards_wait(repo);
    result = result < 0 ? result : waited;
    return result < 0 || !has_left(repo) ? result : weir__scan_repo_pass(repo);
}

/* --- walking, by a thread that scans --- */

struct visit {
    struct weir__scan_worker *w;
    struct weir__scan_repo *repo;
    const struct weir__scan_shard *shard;
    uint64_t until_ns; /* its turn, if others wait */
    bool is_left;      /* from there on: */
    uint32_t next;
    struct weir__git_store *store; /* for bases that are elsewhere; opened when one is asked for */
    char problem[WEIR__GIT_PROBLEM_SIZE]; /* why it was not; empty: it was */
    int unopened;                         /* likewise; 0: it was */
};

static int on_enter(void *arg, const struct weir__git_object *object)
{
    struct visit *visit = arg;
    struct weir__scan_worker *w = visit->w;
    int result = visit->repo->is_second ? weir__scan_look_second(w, visit->repo, object)
                                        : weir__scan_look_first(w, visit->repo, object);
    if (w->counts.bytes >= 4 * WEIR__SCAN_READ_SIZE)
        weir__scan_count(w);
    return weir__scan_is_stopped(w) ? -WEIR_E_CANCELED : result;
}

static int on_too_large(void *arg, const struct weir__git_id *id, enum weir__git_type type,
                        uint64_t size)
{
    struct visit *visit = arg;
    struct weir__scan_repo *repo = visit->repo;
    const struct weir__scan_pack *pack = visit->shard->pack;
    if (!repo->is_second && weir__scan_state_spares(repo, id, type) &&
        !(pack ? pack->is_doubted : weir__scan_gone_is_changed(repo, id)))
        return 0; /* a loose one, of which nobody knew what it is */
    if (type == WEIR__GIT_TREE)
        weir__scan_large_tree(visit->w, repo, id, size);
    else if (repo->is_last && type != WEIR__GIT_BLOB)
        weir__scan_large_message(visit->w, repo, id, size);
    else if (repo->is_last)
        weir__scan_large_refuse(visit->w, repo, id, size);
    else if (repo->is_second) /* it may be known of a scan that had more memory */
        weir__scan_suspect_mark(repo, id, WEIR__SUSPECT_LARGE);
    else
        weir__scan_suspect(visit->w, repo, id, WEIR__SUSPECT_LARGE | weir__scan_kind(type));
    return 0;
}

static int on_trouble(void *arg, const struct weir__git_trouble *trouble)
{
    struct visit *visit = arg;
    char text[WEIR__SCAN_WHY_MAX];
    if (trouble->code == WEIR_E_NOT_FOUND && !visit->shard->pack) {
        /* It was packed meanwhile: packs are listed afterwards. If it is in none of them, and
         * something leads to it, that is told. */
        if (!visit->repo->is_second)
            weir__scan_mention_gone(visit->w, visit->repo, &trouble->id);
        return 0;
    }
    /* The first look has told it, and another copy may be met. */
    if (visit->repo->is_second && weir__scan_state_is_unread(visit->repo, &trouble->id))
        return 0;
    static const struct weir__git_id none;
    bool has_id = memcmp(&trouble->id, &none, sizeof(none)) != 0; /* else it is about many */
    snprintf(text, sizeof(text), "%.160s (%.100s)", trouble->why, trouble->pack);
    if (has_id)
        weir__scan_repo_tell(visit->w, visit->repo, &trouble->id,
                             "cannot read all of the history of", text);
    else if (weir__scan_repo_is_news(visit->w, visit->repo, text, strlen(text)))
        weir__scan_tell_partial(visit->w, visit->repo->path_length > 0 ? visit->repo->path : "./",
                                "cannot read all of the history of", text);
    if (visit->repo->is_second)
        weir__scan_suspect_mark(visit->repo, &trouble->id, WEIR__SUSPECT_DONE | WEIR__SUSPECT_TOLD);
    else
        weir__scan_state_unread(visit->repo, &trouble->id, !visit->shard->pack);
    return 0;
}

/* Deltas of a few bytes can build what would take days. */
static int on_work(void *arg, uint64_t bytes)
{
    struct visit *visit = arg;
    struct weir__scan_repo *repo = visit->repo;
    weir_lock_acquire(&repo->lock);
    repo->work += bytes;
    bool is_too_much = repo->work > repo->work_max, was_told = repo->is_overworked;
    repo->is_overworked |= is_too_much;
    weir_lock_release(&repo->lock);
    if (is_too_much && !was_told) {
        char text[WEIR__SCAN_WHY_MAX];
        snprintf(text, sizeof(text),
                 "to unpack its objects is more work than %" PRIu64
                 " bytes in memory, and the rest is left out: scan it once more with a state, "
                 "which goes on there, or narrow it by --range, --refs or --since",
                 repo->work_max);
        weir__scan_tell_partial(visit->w, repo->path_length > 0 ? repo->path : "./",
                                "cannot scan all of the history of", text);
    }
    return is_too_much ? -WEIR_E_TOO_LARGE : 0;
}

/* A pack may take hours, and a small repository has to get through the same threads. */
static bool is_over(void *arg)
{
    const struct visit *visit = arg;
    return weir_queue_depth(&visit->w->run->jobs) > 0 && weir_now_ns() > visit->until_ns;
}

static struct weir__git_store *store_of(void *arg)
{
    struct visit *visit = arg;
    struct weir__git_store_options options;
    const char *path = visit->repo->path_length > 0 ? visit->repo->path : ".";
    bool is_walking =
        visit->shard->part == WEIR__PART_PACK || visit->shard->part == WEIR__PART_LOOSE;
    const struct weir__scan_share *share = &visit->repo->share;
    if (!visit->store)
        visit->store = take_store(visit->repo);
    weir__scan_share_lookups(is_walking ? &share->each : &share->alone, &options);
    options.has_no_midx = visit->repo->is_midx_told;
    options.is_listed_late = true; /* most shards look for nothing */
    if (!visit->store)
        visit->unopened = weir__git_store_open(&visit->store, path, &options, visit->problem);
    return visit->store;
}

static int get_base(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                    struct weir__buffer *bytes)
{
    struct weir__git_store *store = store_of(arg);
    return store ? weir__git_store_get(store, id, ret_type, bytes) : -WEIR_E_NOT_FOUND;
}

static void note_cost(struct weir__scan *run, const struct weir__git_walk_totals *totals)
{
    struct weir__scan_cost *cost = &run->repos.cost;
    weir_lock_acquire(&run->lock);
    cost->rebuilt += totals->rebuilt;
    cost->rebuilt_bytes += totals->rebuilt_bytes;
    cost->spilled += totals->spilled;
    cost->spilled_bytes += totals->spilled_bytes;
    weir_lock_release(&run->lock);
}

static int walk_shard(struct visit *visit)
{
    const struct weir__scan_shard *shard = visit->shard;
    struct weir__scan_repo *repo = visit->repo;
    const struct weir__git_visitor visitor = {.enter = on_enter,
                                              .too_large = on_too_large,
                                              .trouble = on_trouble,
                                              .is_over = is_over,
                                              .work = on_work,
                                              .arg = visit};
    struct weir_deadline deadline = weir_deadline_until(&repo->run->stop);
    struct weir__git_walk_totals totals = {0};
    struct weir__git_walk_options options;
    weir__git_walk_options_init(&options);
    options.delta_bytes = repo->shard_bytes;
    options.object_max = OBJECT_MAX;
    options.get = get_base;
    options.get_arg = visit;
    if (repo->is_alone)
        weir__scan_large_options(repo, &options);
    int result = -WEIR_E_NOT_FOUND;
    if (shard->pack) {
        result = weir__git_walk(&shard->pack->plan, shard->from, shard->until, &visitor, &options,
                                &totals, &deadline);
    } else {
        struct weir__git_wish wish = wish_of(repo, NULL);
        wish.part = shard->from;
        wish.parts = shard->until;
        struct weir__git_store *store = store_of(visit);
        if (store)
            result = weir__git_loose_each(store, &wish, &visitor, options.delta_bytes,
                                          options.spill, &totals, &deadline);
    }
    note_cost(repo->run, &totals);
    visit->is_left = result == 0 && totals.is_left;
    visit->next = totals.next;
    return result;
}

static bool is_overworked(struct weir__scan_repo *repo)
{
    weir_lock_acquire(&repo->lock);
    bool is_it = repo->is_overworked;
    weir_lock_release(&repo->lock);
    return is_it;
}

bool weir__scan_shard(struct weir__scan_worker *w, struct weir__scan_shard *shard)
{
    struct weir__scan_repo *repo = shard->repo;
    struct visit visit = {
        .w = w, .repo = repo, .shard = shard, .until_ns = weir_now_ns() + WEIR__SCAN_TURN_NS};
    int result = 0;
    if (shard->part == WEIR__PART_FEW) {
        weir__scan_again_few(w, repo, shard->from, shard->until);
    } else if (shard->part == WEIR__PART_SLICE) {
        struct weir__git_store *store = store_of(&visit);
        weir__scan_origins_slice(w, repo, store, visit.unopened, shard->from, shard->until);
    } else {
        result = weir__scan_hand_begin(w, repo, shard->pack, store_of, &visit);
        if (result == 0)
            result = walk_shard(&visit);
        uint64_t seen = weir__scan_hand_flush(w, repo);
        if (shard->pack && !repo->is_second)
            weir__scan_again_note(repo, shard->pack, seen);
        if (visit.is_left)
            shard->from = visit.next;
    }
    weir__scan_repo_doubt(w, repo, visit.store);
    give_store(repo, visit.store);
    if (result < 0 && !weir__scan_is_stopped(w) && !is_overworked(repo))
        weir__scan_repo_tell(w, repo, NULL, "cannot scan all of the history of",
                             visit.problem[0] ? visit.problem : weir_error_text(result));
    return visit.is_left;
}
