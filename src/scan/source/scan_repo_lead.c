/* scan_repo_lead.c - one repository, from its opening to its end. */
#include "scan_repo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "git/discover.h"
#include "sys.h"

#include "banned.h"

/* How long a pack may be without its index. */
#define UNINDEXED_TRIES 5u
#define UNINDEXED_NS    (20 * WEIR_NS_PER_MS)

static const char *path_of(const struct weir__scan_repo *repo)
{
    return repo->path_length > 0 ? repo->path : ".";
}

struct telling {
    struct weir__scan_worker *w;
    struct weir__scan_repo *repo;
};

/* Whatever is in there was neither missed nor remembered, and may have led to something. */
static void tell_flaw(void *arg, const char *text)
{
    const struct telling *telling = arg;
    struct weir__scan_repo *repo = telling->repo;
    weir_lock_acquire(&repo->lock);
    repo->has_unread = repo->has_hidden = repo->has_damage = true;
    weir_lock_release(&repo->lock);
    if (weir__scan_repo_is_news(telling->w, repo, text, strlen(text)))
        weir__scan_tell_partial(telling->w, repo->path_length > 0 ? repo->path : "./",
                                "cannot read all of the history of", text);
}

void weir__scan_repo_flaws(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_store *store)
{
    struct telling telling = {w, repo};
    weir__git_store_each_flaw(store, tell_flaw, &telling);
}

/* What is there and cannot be read by anybody. */
static void tell_facts(struct weir__scan_repo *repo)
{
    struct weir__git_store_facts facts;
    char text[WEIR__SCAN_WHY_MAX];
    weir__scan_repo_flaws(repo->w, repo, repo->store);
    weir__git_store_facts(repo->store, &facts);
    if (facts.packs_unread > 0) {
        snprintf(text, sizeof(text), "%" PRIu32 " packs are more than can be listed: repack it",
                 facts.packs_unread);
        weir__scan_repo_problem(repo, text);
    }
}

/* After the first look, when packs were listed once more: git puts the index there a moment after
 * its pack, and removes it a moment before. */
static void tell_unindexed(struct weir__scan_repo *repo)
{
    char text[WEIR__SCAN_WHY_MAX];
    const char *stem = "";
    uint32_t count = weir__git_store_unindexed(repo->store, &stem);
    for (unsigned tries = 0; count > 0 && tries < UNINDEXED_TRIES; tries++) {
        struct weir_deadline deadline = weir_deadline_in(UNINDEXED_NS, &repo->run->stop);
        (void)weir_deadline_sleep(&deadline);
        count = weir__git_store_unindexed(repo->store, &stem);
    }
    if (count == 0)
        return;
    if (count == 1)
        snprintf(text, sizeof(text), "%.120s.pack has no index: git index-pack makes one", stem);
    else
        snprintf(text, sizeof(text),
                 "%" PRIu32
                 " packs, %.120s.pack among them, have no index: git index-pack makes one",
                 count, stem);
    weir__scan_repo_problem(repo, text);
    weir__git_store_doubt(repo->store);
}

/* What keeps it from that is told. */
static int open_store(struct weir__scan_repo *repo)
{
    char problem[WEIR__GIT_PROBLEM_SIZE] = "";
    struct weir__git_store_options options;
    weir__scan_share_lookups(&repo->share.led, &options);
    options.is_listed_late = true;
    int result = weir__git_store_open(&repo->store, path_of(repo), &options, problem);
    if (result == 0) {
        result = weir__scan_packs_take_over(repo);
        if (result < 0)
            snprintf(problem, sizeof(problem), "%s", weir__git_store_problem(repo->store));
    }
    if (result < 0) {
        weir__scan_repo_tell(repo->w, repo, NULL, "cannot scan the history of",
                             problem[0] ? problem : weir_error_text(result));
        return result;
    }
    repo->id_size = weir__git_store_id_size(repo->store);
    return 0;
}

static int open_repo(struct weir__scan_repo *repo)
{
    weir__scan_share_take(repo);
    int result = open_store(repo);
    if (result < 0)
        return result;
    const struct weir_frontier_options frontier = {.blobs_max = repo->at_once,
                                                   .bytes_max = repo->shard_bytes * repo->at_once};
    result = weir_frontier_init(&repo->shards, "scan-shards", &frontier);
    repo->has_shards = result == 0;
    weir__git_set_init(&repo->suspects, repo->id_size, sizeof(struct weir__suspect),
                       repo->share.suspects);
    weir__git_set_init(&repo->unread, repo->id_size, sizeof(uint32_t), repo->share.unread);
    repo->told._bytes_max = repo->share.told;
    weir__git_set_init(&repo->changed, repo->id_size, 0, repo->share.unread);
    weir__git_set_init(&repo->looked, repo->id_size, 0, repo->share.looked);
    weir__git_set_init(&repo->folders, repo->id_size, 0, repo->share.folders);
    weir__git_set_init(&repo->trees, repo->id_size, 0, repo->share.folders);
    weir__git_set_init(&repo->named, repo->id_size, sizeof(uint32_t), repo->share.named);
    weir__git_lineage_init(&repo->lineage, repo->id_size, repo->share.lineage);
    if (result == 0)
        tell_facts(repo);
    return result;
}

/* Whether there is a suspect of which the origin has to be known. */
static bool has_open(const struct weir__scan_repo *repo)
{
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        if (!(suspect->flags & WEIR__SUSPECT_DONE) ||
            (suspect->flags & (WEIR__SUSPECT_MISSING | WEIR__SUSPECT_PROMISED)) ==
                WEIR__SUSPECT_MISSING)
            return true;
    }
    return false;
}

/* Suspects that the second look has not met: they were there at the first. One that is remembered
 * may have been pruned meanwhile: that is no loss, and the next scan forgets it. */
static void tell_lost(struct weir__scan_repo *repo)
{
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        struct weir__git_id id = weir__git_set_id(&repo->suspects, i);
        if (!(suspect->flags & (WEIR__SUSPECT_DONE | WEIR__SUSPECT_KNOWN)) && !repo->is_overworked)
            weir__scan_repo_tell(repo->w, repo, &id, "cannot scan all of the history of",
                                 "it was to be looked at again, and is gone");
    }
}

static bool has_worktree(const struct weir__scan_repo *repo)
{
    char path[WEIR__GIT_PATH_MAX + 16];
    struct stat st;
    snprintf(path, sizeof(path), "%s/.git", path_of(repo));
    return weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0;
}

static int on_module(void *arg, const char *path, const struct weir__git_discovered *found)
{
    struct weir__scan_repo *repo = arg;
    (void)found;
    weir__scan_repo_found(repo->w, path);
    return 0;
}

/* They are repositories of their own, which wait in line as others do. */
static int find_modules(struct weir__scan_repo *repo)
{
    const struct weir__git_ref *head = weir__git_refs_find(&repo->refs->refs, "HEAD");
    const struct weir__git_modules_options options = {
        .gitdir = weir__git_store_gitdir(repo->store),
        .commondir = weir__git_store_commondir(repo->store),
        .worktree = has_worktree(repo) ? path_of(repo) : NULL,
        .id_size = repo->id_size,
        .head = head ? &head->id : NULL,
        .get = weir__git_store_get,
        .get_arg = repo->store,
        .find = {.problem = weir__scan_repo_problem, .problem_arg = repo, .stop = &repo->run->stop},
    };
    struct weir__git_find_stats stats;
    if (!repo->run->options->has_modules)
        return 0;
    return weir__git_each_module(&options, on_module, repo, &stats);
}

/* All that is to be known before anything is looked at. */
static int prepare(struct weir__scan_repo *repo)
{
    uint64_t gaps = repo->w->gaps;
    int result = open_repo(repo);
    if (result == 0)
        result = weir__scan_refs_read(repo);
    if (result == 0)
        result = find_modules(repo);
    if (result == 0)
        result = weir__scan_repo_narrow(repo);
    if (result < 0 && result != -WEIR_E_CANCELED && repo->w->gaps == gaps)
        weir__scan_repo_tell(repo->w, repo, NULL, "cannot scan the history of",
                             weir_error_text(result));
    return result;
}

/* What is named and missing, and where suspects come from. */
static int find_out(struct weir__scan_repo *repo)
{
    uint64_t gaps = repo->w->gaps;
    int result = weir__scan_missing_find(repo);
    if (result == 0)
        result = weir__scan_folders_find(repo);
    weir__git_set_fini(&repo->named);
    weir__git_set_fini(&repo->folders);
    weir__git_set_fini(&repo->looked);
    weir__git_set_fini(&repo->changed);
    if (result == 0)
        result = weir__scan_state_recall(repo);
    if (result == 0 && has_open(repo)) {
        result = weir__scan_origins_find(repo);
        if (result == 0)
            weir__scan_missing_tell(repo);
    }
    repo->is_doubtful |= repo->w->gaps != gaps;
    if (result == 0)
        weir__scan_promised_tell(repo);
    return result;
}

/* All was looked at, or it failed. */
static int finish(struct weir__scan_repo *repo, int result)
{
    weir__scan_repo_doubt(repo->w, repo, repo->store);
    if (result == 0) {
        tell_lost(repo);
        repo->w->counts.repos++;
        repo->w->counts.remembered += repo->state && weir__git_state_count(repo->state) > 0;
        repo->w->counts.shallow += repo->refs->shallow_count > 0;
        weir__scan_state_keep(repo);
    } else if (result != -WEIR_E_CANCELED) {
        weir__scan_repo_tell(repo->w, repo, NULL, "cannot scan all of the history of",
                             weir_error_text(result));
    }
    return result;
}

int weir__scan_repo_lead(struct weir__scan_repo *repo)
{
    int result = repo->is_large ? open_store(repo) : prepare(repo);
    if (result < 0)
        return result;
    if (repo->is_large)
        return finish(repo, weir__scan_large_pass(repo));
    weir__scan_refs_names(repo);
    weir__scan_state_load(repo);
    result = weir__scan_gone_find(repo);
    if (result == 0)
        result = weir__scan_packs_check_midx(repo);
    if (result == 0)
        result = weir__scan_repo_pass(repo);
    if (result == 0)
        result = weir__scan_repo_pass_wary(repo);
    tell_unindexed(repo);
    if (result == 0)
        weir__scan_packless_tell(repo);
    if (result == 0)
        result = weir__scan_large_trees(repo);
    if (result == 0)
        result = find_out(repo);
    if (result == 0 && repo->origins)
        result = weir__scan_repo_pass_again(repo);
    if (result == 0 && weir__scan_large_is_left(repo))
        result = weir__scan_large_try(repo);
    repo->has_large = result == 0 && weir__scan_large_is_left(repo);
    if (!repo->has_large)
        return finish(repo, result);
    weir__scan_repo_doubt(repo->w, repo, repo->store);
    return 0;
}
