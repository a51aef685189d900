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
 *                     1/2    of the rest at most: shards, one for each thread
 *                     1/2    at least: all that is kept beside them, in fixed parts (divide())
 *
 * With a limit a repository keeps its permit until its large objects are done as well, with leave
 * to spill from the beginning: what it knows by then would have to be counted while it waits.
 *
 * A repository whose plans leave less than LEAST for the rest can never be scanned in that, and
 * says what it needs.
 */
#include "scan_repo.h"

#include <inttypes.h>
#include <stdio.h>

#include "banned.h"

#define MiB (UINT64_C(1) << 20)
/* Repositories that wait, each of which takes about so much with its path. */
#define WAITING_MAX   65536u
#define WAITING_BYTES 2048u
#define WAITING_PART  16u
/* Of the pool, for one repository: the most that it can make use of in each thread. */
#define DELTA_MAX (32 * MiB)
/* A path of deltas takes more than its packed bytes, and seldom more than this. */
#define UNPACKED 16u
/* With a limit: beside plans, at least; and for each object, so that the part for commits is enough
 * if all of them were. */
#define LEAST      (8 * MiB)
#define KEPT_EACH  360u
#define PLAN_BYTES 24u

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value < most ? value : most;
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
    if (most > 0 && most < config.delta_cache_bytes)
        config.delta_cache_bytes = most;
    return config;
}

uint32_t weir__scan_share_waiting(const struct weir__scan_options *options)
{
    if (options->history_bytes == 0)
        return WAITING_MAX;
    return (uint32_t)clamp(options->history_bytes / WAITING_PART / WAITING_BYTES, 1, WAITING_MAX);
}

/* --- one of them --- */

/* Packs whose shards are at work, and the next one. */
static uint64_t plans_of(const struct weir__scan *run, const struct weir__git_store_needs *needs)
{
    uint64_t most = (run->threads + UINT64_C(1)) * needs->plan_bytes_max;
    return most < needs->plan_bytes_all ? most : needs->plan_bytes_all;
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

static bool is_by_memory(const struct weir__scan *run)
{
    return run->repos.config.delta_cache_bytes == pool_part(run->options);
}

static int refuse(const struct weir__scan *run, uint64_t bytes, char why[WEIR__SCAN_WHY_MAX])
{
    snprintf(why, WEIR__SCAN_WHY_MAX,
             "it takes %" PRIu64 " MiB at least, and histories have %" PRIu64 ": set --%s=%" PRIu64
             "M or more",
             mebibytes(bytes), run->repos.config.delta_cache_bytes / MiB,
             is_by_memory(run) ? "max-memory" : "delta-cache",
             is_by_memory(run) ? memory_for(run, bytes) : mebibytes(bytes));
    return -WEIR_E_TOO_LARGE;
}

void weir__scan_share_exceeded(const struct weir__scan_repo *repo, const char *what, uint64_t had,
                               char why[WEIR__SCAN_WHY_MAX])
{
    const struct weir__scan *run = repo->run;
    uint64_t bytes = weir_pool_permit_delta_cache_bytes(weir_job_pool_permit(&repo->job));
    int length = snprintf(why, WEIR__SCAN_WHY_MAX,
                          "%s take more than the %" PRIu64 " KiB there are", what, had / 1024);
    uint64_t twice = bytes < UINT64_MAX / 4 ? 2 * bytes : bytes;
    if (run->options->history_bytes > 0)
        snprintf(why + length, WEIR__SCAN_WHY_MAX - (size_t)length,
                 ": set --%s=%" PRIu64 "M or more",
                 is_by_memory(run) ? "max-memory" : "delta-cache",
                 is_by_memory(run) ? memory_for(run, twice) : mebibytes(twice));
}

int weir__scan_share_ask(struct weir__scan_repo *repo, const struct weir__git_store *store,
                         char why[WEIR__SCAN_WHY_MAX])
{
    const struct weir__scan *run = repo->run;
    const struct weir_pool_config *config = &run->repos.config;
    uint64_t threads = run->threads, most = config->delta_cache_bytes;
    struct weir__git_store_needs needs;
    weir__git_store_needs(store, &needs);
    repo->plan_bytes = plans_of(run, &needs);
    repo->objects = needs.plan_bytes_all / PLAN_BYTES;
    repo->delta_bytes =
        clamp(needs.pack_bytes_max * UNPACKED, WEIR__SCAN_DELTA_MIN, DELTA_MAX * threads);
    uint64_t wish = repo->plan_bytes + repo->delta_bytes;
    if (run->options->history_bytes > 0) {
        uint64_t kept = repo->objects * KEPT_EACH;
        wish += kept > WEIR__SCAN_DELTA_MIN ? kept : WEIR__SCAN_DELTA_MIN;
        if (repo->plan_bytes + LEAST > most)
            return refuse(run, repo->plan_bytes + LEAST, why);
    }
    repo->job.pool = (struct weir_pool_request){
        .scan_ring_bytes = clamp(WEIR__SCAN_RING_EACH * threads, 1, config->scan_ring_bytes),
        .delta_cache_bytes = wish < most ? wish : most,
        .needs_spill_slot = run->options->history_bytes > 0 && !run->options->has_no_spill,
    };
    return 0;
}

static const struct weir__scan_share unlimited = {
    .suspects = 64 * MiB,
    .looked = 32 * MiB,
    .seen = WEIR__GIT_STATE_MEMORY,
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
    .led = {.cache = 16 * MiB, .table = 64 * MiB, .object = 128 * MiB},
    .each = {.cache = 16 * MiB, .table = 64 * MiB, .object = 1024 * MiB},
};

/* In parts of 72. One that is built is there with its base and its delta, so that its bytes count
 * three times; the order of a history takes half of what the history does; the index may be two
 * files. What is wanted is there instead of the history and of what is remembered. What is named
 * and folders are let go before there is a history, and what was looked at is before anything is
 * told of origins. */
static void divide(struct weir__scan_share *share, uint64_t bytes)
{
    uint64_t part = bytes / 72;
    *share = (struct weir__scan_share){
        .suspects = 3 * part,
        .looked = 3 * part,
        .seen = 5 * part,
        .recalled = 2 * part,
        .refs = 3 * part,
        .index = part, /* 2 */
        .graph = 4 * part,
        .history = 18 * part, /* 27 */
        .trees = 4 * part,
        .texts = 2 * part,
        .wanted = 32 * part,
        .named = 8 * part,
        .folders = part,
        .told = part,
        .lineage = 8 * part,
        .led = {.cache = 2 * part, .table = part, .object = 2 * part}, /* 9 */
    };
}

void weir__scan_share_take(struct weir__scan_repo *repo)
{
    const struct weir__scan *run = repo->run;
    const struct weir_pool_permit *permit = weir_job_pool_permit(&repo->job);
    uint64_t bytes = weir_pool_permit_delta_cache_bytes(permit);
    uint64_t rest = bytes > repo->plan_bytes ? bytes - repo->plan_bytes : bytes;
    uint64_t shards = weir_pool_permit_scan_ring_bytes(permit) / WEIR__SCAN_RING_EACH;
    repo->at_once = (uint32_t)clamp(shards, 1, run->threads);
    if (run->options->history_bytes == 0) {
        repo->share = unlimited;
        repo->shard_bytes = rest / repo->at_once;
        return;
    }
    uint64_t deltas = repo->delta_bytes < rest / 2 ? repo->delta_bytes : rest / 2;
    uint64_t each = deltas / repo->at_once;
    divide(&repo->share, rest - deltas);
    repo->shard_bytes = each / 2;
    repo->share.each =
        (struct weir__scan_lookups){.cache = each / 16, .table = each / 16, .object = each / 8};
}

void weir__scan_share_lookups(const struct weir__scan_lookups *share,
                              struct weir__git_store_options *ret_options)
{
    weir__git_store_options_init(ret_options);
    ret_options->cache_bytes = share->cache;
    ret_options->lookup_bytes = share->table;
    ret_options->object_max = share->object;
}
