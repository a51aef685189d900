/* scan_repo_share.c - the memory of histories: what one repository asks for, and which of its parts
 * gets how much.
 *
 * Without a limit of the user's the parts have limits of their own, which ordinary histories are
 * far below, and the pool counts plans and deltas. With one (history_bytes) everything comes from
 * it:
 *
 *     history_bytes   15/16  the pool: permits of repositories that are being scanned
 *                     1/16   repositories that wait in line
 *     a permit        plans  those that can be there at once, exactly
 *                     1/2    of the rest at most: shards, one for each thread; and, while none is
 *                            at work, what the leader reads: refs, single objects
 *                     1/2    at least: all that is kept beside them, in fixed parts (divide())
 *
 * Nobody knows before how large the trees and messages of a repository are, nor how many refs it
 * has: so it asks for ORDINARY at least, or for as much as all that are led at once can have.
 *
 * With a limit a repository keeps its permit until its large objects are done as well, with leave
 * to spill from the beginning: what it knows by then would have to be counted while it waits.
 *
 * A repository whose plans leave less than LEAST for the rest (LEAST_SHARDS without a limit) has
 * one of them at a time: the next pack waits for the shards of the one before it. If the largest
 * leaves less, too, it can never be scanned in that, and says what it needs.
 */
#include "scan_repo.h"

#include <inttypes.h>
#include <stdio.h>

#include "git/loose.h"
#include "sys.h"

#include "banned.h"

#define KiB (UINT64_C(1) << 10)
#define MiB (UINT64_C(1) << 20)
/* Repositories that wait, each of which takes about so much with its path. */
#define WAITING_MAX   65536u
#define WAITING_BYTES 2048u
#define WAITING_PART  16u
/* Of the pool, for one repository: the most that it can make use of in each thread, or the part
 * for large objects if that is more; and the least, as a part of the pool. So whatever does not fit
 * does in a pool that is large enough. */
#define DELTA_MAX  (32 * MiB)
#define LEAST_PART 64u
/* A path of deltas takes more than its packed bytes, and seldom more than this. */
#define UNPACKED 16u
/* With a limit: beside plans, at least; and for each object, so that the part for commits is enough
 * if all of them were. */
#define LEAST (8 * MiB)
/* And what it asks for at least, if there is as much: for a tree of 100,000 entries, 10,000 refs, a
 * message of 8 MB. */
#define ORDINARY (32 * MiB)
/* A tree that a thread can read for origins, at least; with less memory its leader reads all. */
#define TREE_ORDINARY (5 * MiB)
/* Without one, for shards: with less all would go through files. */
#define LEAST_SHARDS (64 * KiB)
#define KEPT_EACH    360u
/* A small repository: its packs, its loose objects as far as one folder of them tells, and the
 * part of the pool that it asks for. It is done in a fraction of a second of CPU. */
#define SMALL_PACKS (4 * MiB)
#define SMALL_LOOSE 2048u
#define SMALL_PART  16u
#define PLAN_BYTES  24u
/* Of memory for each byte of packed-refs and of a log; and which part of what is kept refs have. */
#define REF_BYTES  6u
#define LOG_BYTES  2u
#define REFS_PARTS 9u
#define PARTS      72u
/* Of an object: beyond it no memory is of any use. */
#define WORTH_MAX (UINT64_C(1) << 40)

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value < most ? value : most;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- all of them --- */

static uint64_t pool_part(const struct weir__scan_options *options)
{
    return options->history_bytes / WAITING_PART * (WAITING_PART - 1);
}

struct weir_pool_config weir__scan_share_all(const struct weir__scan_options *options)
{
    struct weir_pool_config config = weir_pool_config_default();
    if (options->ring_bytes)
        config.scan_ring_bytes = options->ring_bytes;
    if (options->delta_bytes)
        config.delta_cache_bytes = options->delta_bytes;
    if (options->spill_slots)
        config.spill_slots = options->spill_slots;
    uint64_t most = pool_part(options);
    if (most > 0 && (options->delta_bytes == 0 || most < config.delta_cache_bytes))
        config.delta_cache_bytes = most;
    return config;
}

uint32_t weir__scan_share_waiting(const struct weir__scan_options *options)
{
    if (options->history_bytes == 0)
        return WAITING_MAX;
    return (uint32_t)clamp(options->history_bytes / WAITING_PART / WAITING_BYTES, 1, WAITING_MAX);
}

/* With a limit each asks for more than a small one may. */
bool weir__scan_share_has_small(const struct weir__scan_options *options, uint64_t pool)
{
    return options->history_bytes == 0 && WEIR__SCAN_DELTA_MIN <= pool / SMALL_PART;
}

/* --- one of them --- */

/* Packs whose shards are at work, and the next one. */
static uint64_t plans_of(const struct weir__scan *run, const struct weir__git_store_needs *needs)
{
    uint64_t most = (run->threads + UINT64_C(1)) * needs->plan_bytes_max;
    return most < needs->plan_bytes_all ? most : needs->plan_bytes_all;
}

static uint64_t kibibytes(uint64_t bytes)
{
    return (bytes + KiB - 1) / KiB;
}

static uint64_t mebibytes(uint64_t bytes)
{
    return (bytes + MiB - 1) / MiB;
}

/* What a user has to allow for a permit of so many bytes, in MiB. */
static uint64_t memory_for(const struct weir__scan *run, uint64_t bytes)
{
    return mebibytes(run->options->history_besides +
                     2 * (bytes / (WAITING_PART - 1) + 1) * WAITING_PART);
}

static bool is_limited_by_memory(const struct weir__scan *run)
{
    return run->repos.config.delta_cache_bytes == pool_part(run->options);
}

/* As what has to be done. */
static void set_option(const struct weir__scan *run, uint64_t pool, char *cure, size_t size)
{
    uint64_t limit = pool_part(run->options);
    if (is_limited_by_memory(run))
        snprintf(cure, size, "set --max-memory=%" PRIu64 "M or more", memory_for(run, pool));
    else if (limit > 0 && pool > limit)
        snprintf(cure, size, "set --delta-cache=%" PRIu64 "M and --max-memory=%" PRIu64 "M or more",
                 mebibytes(pool), memory_for(run, pool));
    else
        snprintf(cure, size, "set --delta-cache=%" PRIu64 "M or more", mebibytes(pool));
}

/* It can never have these bytes. With a limit more than the least is of use: the number is one with
 * which ordinary histories fit. */
static int refuse(const struct weir__scan *run, uint64_t plans, uint64_t least,
                  char why[WEIR__SCAN_WHY_MAX])
{
    uint64_t have = run->repos.config.delta_cache_bytes, bytes = plans + least;
    uint64_t limit = pool_part(run->options), better = plans + ORDINARY;
    char cure[128];
    /* A smaller cache of the user's need not grow beyond what his memory leaves. */
    if (!is_limited_by_memory(run) && better > limit)
        better = greater(limit, bytes);
    set_option(run, better, cure, sizeof(cure));
    if (run->options->history_bytes > 0)
        snprintf(why, WEIR__SCAN_WHY_MAX,
                 "it takes %" PRIu64 " MiB at least, and histories have %" PRIu64 ": %s",
                 mebibytes(bytes), have / MiB, cure);
    else if (have >= MiB)
        snprintf(why, WEIR__SCAN_WHY_MAX,
                 "it takes %" PRIu64 " MiB at least, and histories have %" PRIu64
                 ": set --delta-cache=%" PRIu64 "M or more",
                 mebibytes(bytes), have / MiB, mebibytes(bytes));
    else
        snprintf(why, WEIR__SCAN_WHY_MAX,
                 "it takes %" PRIu64 " KiB at least, and histories have %" PRIu64
                 ": set --delta-cache=%" PRIu64 "K or more",
                 kibibytes(bytes), have / KiB, kibibytes(bytes));
    return -WEIR_E_TOO_LARGE;
}

/* With a limit, and so many bytes for all: what every repository asks for beside its plans. */
static uint64_t floor_of(uint64_t leaders, uint64_t most)
{
    return greater(ORDINARY, most / leaders);
}

/* What one asks for. */
static uint64_t wish_of(const struct weir__scan_repo *repo, uint64_t leaders, uint64_t most)
{
    uint64_t wish = repo->delta_bytes + repo->kept_bytes;
    if (repo->run->options->history_bytes > 0)
        wish = greater(wish, floor_of(leaders, most));
    wish += repo->plan_bytes;
    return wish < most ? wish : most;
}

/* Of what plans leave, for shards. */
static uint64_t deltas_of(const struct weir__scan_repo *repo, uint64_t leaders, uint64_t most,
                          uint64_t rest)
{
    uint64_t wish = greater(repo->delta_bytes, floor_of(leaders, most) / 2);
    return wish < rest / 2 ? wish : rest / 2;
}

/* What large objects may have, one at a time: all but the lookups of who is at it. */
static uint64_t large_of(uint64_t at_once, uint64_t deltas)
{
    return deltas - deltas / at_once / 2;
}

/* The bytes for all with which it gets so many, and its large objects those. With more memory there
 * may be more threads, up to those that were asked for. */
static uint64_t pool_for(const struct weir__scan_repo *repo, uint64_t bytes, uint64_t large)
{
    const struct weir__scan *run = repo->run;
    uint64_t most = greater(run->repos.config.delta_cache_bytes, bytes);
    uint64_t leaders = greater(run->repos.leaders, run->options->archives.memory_threads + 1u);
    for (; most < WORTH_MAX * 8; most += most / 16 + 1) {
        uint64_t wish = wish_of(repo, leaders, most);
        uint64_t rest = wish > repo->plan_bytes ? wish - repo->plan_bytes : 0;
        if (wish >= bytes && large_of(1, deltas_of(repo, leaders, most, rest)) >= large)
            break;
    }
    return most;
}

static uint64_t file_size(const char *folder, const char *name)
{
    char path[WEIR__GIT_PATH_MAX + 16];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (weir__sys_fstatat(AT_FDCWD, path, &st, 0) < 0 || st.st_size <= 0 || !S_ISREG(st.st_mode))
        return 0;
    return (uint64_t)st.st_size < WORTH_MAX ? (uint64_t)st.st_size : WORTH_MAX;
}

/* By the files that have most of them. Of a log each line has an id that no other has, at most. */
static uint64_t kept_for_refs(const struct weir__git_store *store)
{
    uint64_t bytes = file_size(weir__git_store_commondir(store), "packed-refs") * REF_BYTES +
                     file_size(weir__git_store_gitdir(store), "logs/HEAD") * LOG_BYTES;
    return bytes * PARTS / REFS_PARTS;
}

/* bytes: of a permit that would do, as far as anybody knows. */
static void exceed(const struct weir__scan_repo *repo, const char *what, uint64_t had,
                   uint64_t bytes, char why[WEIR__SCAN_WHY_MAX])
{
    const struct weir__scan *run = repo->run;
    char cure[128];
    set_option(run, pool_for(repo, bytes, 0), cure, sizeof(cure));
    snprintf(why, WEIR__SCAN_WHY_MAX, "%s take more than the %" PRIu64 " KiB there are%s%s", what,
             had / 1024, run->options->history_bytes > 0 ? ": " : "",
             run->options->history_bytes > 0 ? cure : "");
}

static uint64_t permitted(const struct weir__scan_repo *repo)
{
    return weir_pool_permit_delta_cache_bytes(weir_job_pool_permit(&repo->job));
}

void weir__scan_share_exceeded(const struct weir__scan_repo *repo, const char *what, uint64_t had,
                               char why[WEIR__SCAN_WHY_MAX])
{
    exceed(repo, what, had, 2 * permitted(repo), why);
}

void weir__scan_share_refs_exceeded(const struct weir__scan_repo *repo,
                                    char why[WEIR__SCAN_WHY_MAX])
{
    uint64_t wish = repo->plan_bytes + repo->delta_bytes + kept_for_refs(repo->store);
    exceed(repo, "its refs", repo->share.refs, greater(2 * permitted(repo), wish), why);
}

/* It is there with its base and its delta. A tree gets what its repository has asked for, anything
 * else the part for large objects (scan_repo_large.c), which with a limit is the same. */
void weir__scan_share_cure(const struct weir__scan_repo *repo, uint64_t size, bool is_tree,
                           char cure[WEIR__SCAN_WHY_MAX])
{
    const struct weir__scan *run = repo->run;
    uint64_t want = 3 * (size < WORTH_MAX ? size : WORTH_MAX);
    uint64_t part = is_tree && want > repo->unpacked ? LEAST_PART : WEIR__SCAN_LARGE_PART;
    if (size == 0)
        snprintf(cure, WEIR__SCAN_WHY_MAX, "raise --%s",
                 is_limited_by_memory(run) ? "max-memory" : "delta-cache");
    else
        set_option(run,
                   run->options->history_bytes > 0 ? pool_for(repo, 0, want)
                                                   : repo->plan_bytes + want * part,
                   cure, WEIR__SCAN_WHY_MAX);
}

int weir__scan_share_ask(struct weir__scan_repo *repo, const struct weir__git_store *store,
                         char why[WEIR__SCAN_WHY_MAX])
{
    const struct weir__scan *run = repo->run;
    const struct weir_pool_config *config = &run->repos.config;
    uint64_t threads = run->threads, most = config->delta_cache_bytes;
    uint64_t least = run->options->history_bytes > 0 ? LEAST : LEAST_SHARDS;
    struct weir__git_store_needs needs;
    weir__git_store_needs(store, &needs);
    repo->plan_bytes = plans_of(run, &needs);
    repo->has_one_plan = repo->plan_bytes + least > most;
    if (repo->has_one_plan)
        repo->plan_bytes = needs.plan_bytes_max;
    if (repo->plan_bytes + least > most)
        return refuse(run, repo->plan_bytes, least, why);
    repo->objects = needs.plan_bytes_all / PLAN_BYTES;
    repo->unpacked = needs.pack_bytes_max * UNPACKED;
    repo->delta_bytes = clamp(repo->unpacked, greater(most / LEAST_PART, WEIR__SCAN_DELTA_MIN),
                              greater(most / WEIR__SCAN_LARGE_PART, DELTA_MAX * threads));
    if (run->options->history_bytes > 0)
        repo->kept_bytes =
            greater(greater(repo->objects * KEPT_EACH, kept_for_refs(store)), WEIR__SCAN_DELTA_MIN);
    repo->job.pool = (struct weir_pool_request){
        .scan_ring_bytes = clamp(WEIR__SCAN_RING_EACH * threads, 1, config->scan_ring_bytes),
        .delta_cache_bytes = wish_of(repo, run->repos.leaders, most),
        .needs_spill_slot = run->options->history_bytes > 0 && !run->options->has_no_spill,
    };
    repo->is_small = run->repos.has_small && needs.pack_bytes_all <= SMALL_PACKS &&
                     repo->job.pool.delta_cache_bytes <= most / SMALL_PART &&
                     weir__git_loose_about(store, SMALL_LOOSE) < SMALL_LOOSE;
    return 0;
}

static const struct weir__scan_share unlimited = {
    .suspects = 64 * MiB,
    .looked = 32 * MiB,
    .seen = WEIR__GIT_STATE_MEMORY,
    .unread = 32 * MiB,
    .recalled = WEIR__GIT_STATE_MEMORY,
    .graph = 256 * MiB,
    .history = 256 * MiB,
    .trees = WEIR__GIT_TREE_MEMORY,
    .texts = 128 * MiB,
    .wanted = WEIR__GIT_WANTED_BYTES,
    .named = 32 * MiB,
    .folders = 4 * MiB,
    .told = MiB,
    .lineage = 64 * MiB,
    .led = {16 * MiB, 64 * MiB, 128 * MiB, 384 * MiB},
    .each = {16 * MiB, 64 * MiB, 1024 * MiB, 3072 * MiB},
    .alone = {16 * MiB, 64 * MiB, 1024 * MiB, 3072 * MiB},
};

/* In parts of 72. The order of a history takes half of what the history does; the index may be two
 * files. What is wanted is there instead of the history and of what is remembered. What is named
 * and folders are let go before there is a history, and what was looked at is before anything is
 * told of origins. */
static void divide(struct weir__scan_share *share, uint64_t bytes)
{
    uint64_t part = bytes / PARTS;
    *share = (struct weir__scan_share){
        .suspects = 3 * part,
        .looked = 3 * part,
        .seen = 5 * part,
        .unread = part,
        .recalled = 2 * part,
        .refs = REFS_PARTS * part,
        .index = part, /* 2 */
        .graph = 4 * part,
        .history = 18 * part, /* 27 */
        .trees = 4 * part,
        .texts = 2 * part,
        .wanted = 32 * part,
        .named = 8 * part,
        .folders = part,
        .told = part,
        .lineage = 7 * part,
        .led = {.cache = 2 * part, .table = part}, /* 3 */
    };
}

/* Whatever fits into the part for large objects, the leader can read as well: commits and tags on
 * the way to origins. Each has its base and its delta beside it. */
static void lead_with(struct weir__scan_lookups *led, uint64_t large)
{
    led->object = greater(led->object, large);
    led->build = greater(led->build, 3 * large);
}

void weir__scan_share_take(struct weir__scan_repo *repo)
{
    const struct weir__scan *run = repo->run;
    const struct weir_pool_permit *permit = weir_job_pool_permit(&repo->job);
    uint64_t bytes = weir_pool_permit_delta_cache_bytes(permit);
    uint64_t rest = bytes - repo->plan_bytes; /* it asked for these and more */
    uint64_t shards = weir_pool_permit_scan_ring_bytes(permit) / WEIR__SCAN_RING_EACH;
    repo->at_once = (uint32_t)clamp(shards, 1, run->threads);
    if (run->options->history_bytes == 0) {
        repo->share = unlimited;
        repo->shard_bytes = rest / repo->at_once;
        repo->large_bytes = repo->shard_bytes * repo->at_once;
        lead_with(&repo->share.led,
                  greater(rest, run->repos.config.delta_cache_bytes / WEIR__SCAN_LARGE_PART));
        return;
    }
    uint64_t deltas =
        deltas_of(repo, run->repos.leaders, run->repos.config.delta_cache_bytes, rest);
    uint64_t each = deltas / repo->at_once;
    uint64_t alone = each - each / 8;
    divide(&repo->share, rest - deltas);
    repo->shard_bytes = each / 2;
    repo->large_bytes = large_of(repo->at_once, deltas);
    repo->share.refs_read = deltas;
    repo->share.led.object = repo->share.led.build = deltas;
    repo->share.each =
        (struct weir__scan_lookups){each / 16, each / 16, each / 8 * 3, each / 8 * 3};
    repo->share.alone = (struct weir__scan_lookups){each / 16, each / 16, alone, alone};
}

bool weir__scan_share_has_slices(const struct weir__scan_repo *repo)
{
    return repo->at_once > 1 && repo->share.alone.build >= 3 * TREE_ORDINARY;
}

void weir__scan_share_lookups(const struct weir__scan_lookups *share,
                              struct weir__git_store_options *ret_options)
{
    weir__git_store_options_init(ret_options);
    ret_options->cache_bytes = share->cache;
    ret_options->lookup_bytes = share->table;
    ret_options->object_max = share->object;
    ret_options->build_max = share->build;
}
