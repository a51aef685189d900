/* scan_history.c - --history, and what narrows it. */
#include "scan_history.h"

#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>
#include <weir/pool.h>

#include "cover.h"
#include "git/refs_resolve.h"
#include "log.h"
#include "values.h"

#include "banned.h"

#define MiB (UINT64_C(1) << 20)

const char *const weir__scan_profiles[] = {"default", "ci", "bulk", NULL};

/* Of all repositories together, and ring and slots of all archives as well. */
static const struct weir_pool_config limits[] = {
    {WEIR_POOL_SCAN_RING_DEFAULT_BYTES, WEIR_POOL_DELTA_CACHE_DEFAULT_BYTES,
     WEIR_POOL_SPILL_SLOTS_DEFAULT, 0},
    {100 * MiB, 200 * MiB, 4, 0},
    {1024 * MiB, 2048 * MiB, 32, 0},
};

static int refuse(const char *option, const char *value, const char *cure)
{
    weir__log(WEIR__LOG_ERROR, "'--%s=%s': %s", option, WEIR__TYPED(value), cure);
    return -WEIR_E_USAGE;
}

static int set_spills(const char *text, struct weir__scan_options *o)
{
    uint64_t slots = 0;
    if (strcmp(text, "unlimited") == 0)
        slots = WEIR_POOL_SLOTS_UNLIMITED;
    else if (weir__value_parse(WEIR__UNIT_COUNT, text, &slots) < 0 || slots > WEIR__SCAN_SPILLS_MAX)
        return refuse("spill-slots", text, "give a number up to 4096, or 'unlimited'");
    o->has_no_spill = slots == 0;
    o->spill_slots = slots;
    return 0;
}

/* Whether a disk that was named before has another number of slots now. */
static bool has_changed(const struct weir_slots_config *before, const struct weir_slots_config *now)
{
    for (uint32_t i = 0; i < before->overrides_count; i++)
        if (before->overrides[i].slots != now->overrides[i].slots)
            return true;
    return false;
}

/* "PATH=N": the disk that the path lies on has N slots. */
static int set_device(const char *text, struct weir_slots_config *slots)
{
    char path[4096];
    const char *sign = strrchr(text, '=');
    uint64_t count;
    if (!sign || sign == text || (size_t)(sign - text) >= sizeof(path) ||
        weir__value_parse(WEIR__UNIT_COUNT, sign + 1, &count) < 0 || count == 0)
        return refuse("device-slots", text, "give a path and a number above 0: /data=2");
    memcpy(path, text, (size_t)(sign - text));
    path[sign - text] = '\0';
    const struct weir_slots_config before = *slots;
    int result = weir_slots_config_path(slots, path, count);
    if (result == -WEIR_E_OVERFLOW)
        return refuse("device-slots", text, "more than 32 disks cannot be named");
    if (result < 0)
        return refuse("device-slots", text, "there is no such path");
    return has_changed(&before, slots)
               ? refuse("device-slots", text,
                        "another path on the same disk has another number: name each disk once")
               : 0;
}

static int set_limits(const struct weir__history_values *v, struct weir_slots_config *slots,
                      struct weir__scan_options *o)
{
    const struct weir_pool_config *profile = &limits[v->profile];
    /* The default is far more than repositories can make use of, and less than archives do where
     * there are many threads: they are held to a ring that somebody has asked for. */
    o->ring_bytes = v->ring ? v->ring : v->profile > 0 ? profile->scan_ring_bytes : 0;
    o->delta_bytes = v->delta ? v->delta : v->profile > 0 ? profile->delta_cache_bytes : 0;
    o->spill_slots = profile->spill_slots;
    int result = v->spill_slots ? set_spills(v->spill_slots, o) : 0;
    for (size_t i = 0; i < v->device_slots.count && result == 0; i++)
        result = set_device(v->device_slots.items[i], slots);
    o->slots = slots;
    return result;
}

/* An option that was given and is about histories alone, or NULL. One that would change nothing is
 * a mistake of whoever gave it. */
static const char *about_history(const struct weir__history_values *v)
{
    return v->submodules  ? "submodules"
           : v->full_scan ? "full-scan"
           : v->delta     ? "delta-cache"
                          : NULL;
}

/* The same for what is about archives as well. */
static const char *about_either(const struct weir__history_values *v)
{
    return v->profile > 0              ? "profile"
           : v->ring                   ? "scan-ring"
           : v->spill_slots            ? "spill-slots"
           : v->device_slots.count > 0 ? "device-slots"
           : v->has_archive_bytes      ? "max-archive-bytes"
                                       : NULL;
}

/* In a script the variable in it was not set: nothing must not be taken for a narrow look. */
static int check_empty(const char *option, const struct weir__list *list, const char *none,
                       const char *cure)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i][strspn(list->items[i], none)] == '\0')
            return refuse(option, list->items[i], cure);
    return 0;
}

int weir__scan_history_set(const struct weir__history_values *v, struct weir_slots_config *slots,
                           struct weir__scan_options *o)
{
    char why[WEIR__GIT_FLAW_MAX] = "";
    struct weir__scan_narrow *narrow = &o->narrow;
    *narrow = (struct weir__scan_narrow){
        .is_narrow = v->reachable || v->since || v->refs.count > 0 || v->ranges.count > 0,
        .refs = v->refs.items,
        .refs_count = v->refs.count,
        .ranges = v->ranges.items,
        .ranges_count = v->ranges.count,
        .since = WEIR__GIT_SINCE_EVER,
    };
    int result = check_empty("range", &v->ranges, ".", "give two commits: origin/main..HEAD");
    if (result == 0)
        result = check_empty("refs", &v->refs, "", "give a pattern: refs/heads/*");
    if (result == 0)
        result = check_empty("find-repos", &v->find_repos, "", "give a folder");
    if (result < 0)
        return result;
    o->history = (enum weir__scan_history)v->history;
    o->is_full = v->full_scan;
    o->has_state = v->state;
    o->has_modules = v->submodules;
    o->repos_from = v->repos_from;
    o->find_repos = v->find_repos.items;
    o->find_repos_count = v->find_repos.count;
    bool has_repos = v->repos_from || v->find_repos.count > 0;
    if (o->history == WEIR__SCAN_NO_HISTORY && (narrow->is_narrow || has_repos)) {
        weir__log(WEIR__LOG_ERROR, "'--history=no' and an option that asks for histories "
                                   "contradict each other: leave out one of the two");
        return -WEIR_E_USAGE;
    }
    bool has_paths = o->paths_count > 0 || o->files_from;
    if (narrow->is_narrow || (o->history == WEIR__SCAN_HISTORY_GIVEN && has_repos && !has_paths))
        o->history = WEIR__SCAN_HISTORY_ONLY;
    if (v->since && weir__git_date_parse(v->since, weir_wall_s(), &narrow->since, why) < 0) {
        weir__log(WEIR__LOG_ERROR, "'--since': %s", why);
        return -WEIR_E_USAGE;
    }
    return set_limits(v, slots, o);
}

/* What cannot have a history, where nothing else is scanned. */
static int check_histories(const struct weir__scan_options *o)
{
    const struct weir__scan_fetcher *fetcher = o->fetcher;
    const char *other = o->files_from ? "--files-from" : NULL;
    for (size_t i = 0; i < o->paths_count && !other; i++)
        if (strcmp(o->paths[i], "-") == 0 ||
            (fetcher && fetcher->is_mine(fetcher->arg, o->paths[i])))
            other = o->paths[i];
    if (!other)
        return 0;
    weir__log(WEIR__LOG_ERROR,
              "'%s' has no history, and nothing else is scanned with '--history=only' and options "
              "that mean it: leave out one of the two",
              other);
    return -WEIR_E_USAGE;
}

int weir__scan_history_settle(const struct weir__history_values *v, struct weir__scan_options *o)
{
    o->counts_left = o->history == WEIR__SCAN_HISTORY_GIVEN;
    bool has_repos = v->repos_from || v->find_repos.count > 0;
    if (o->history == WEIR__SCAN_HISTORY_GIVEN && !has_repos && !weir__scan_has_repo(o))
        o->history = WEIR__SCAN_NO_HISTORY;
    if (o->history == WEIR__SCAN_HISTORY_ONLY)
        return check_histories(o);
    if (o->history != WEIR__SCAN_NO_HISTORY)
        return 0;
    const char *about = about_history(v);
    if (about) {
        weir__log(WEIR__LOG_ERROR,
                  "'--%s' is about histories of git, and none is scanned: name a repository, or "
                  "find them by '--find-repos=DIR' or '--history=also'",
                  about);
        return -WEIR_E_USAGE;
    }
    about = about_either(v);
    if (about && o->archives.depth_max == 0) {
        weir__log(WEIR__LOG_ERROR,
                  "'--%s' is about archives and histories of git, and neither is opened: leave it "
                  "out, or '--archive-depth=0'",
                  about);
        return -WEIR_E_USAGE;
    }
    return 0;
}
