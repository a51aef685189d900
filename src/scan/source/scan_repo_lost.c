/* scan_repo_lost.c - commits that nothing leads to: what lies in them had a path all the same.
 *
 * They are looked for only if it matters: when a suspect has come from nowhere else, or is one for
 * its name, which may be another one there. Then the heads of all objects are read once more, and
 * every commit that the history has not reached is a start of it, behind all others. What these
 * have lost is nobody's loss: git prunes some objects before others.
 */
#include "scan_repo_trace.h"

#include <stdio.h>

#include "alloc.h"
#include "git/loose.h"

#include "banned.h"

static bool is_lost(void *arg, const struct weir__git_id *id, enum weir__git_type type)
{
    const struct weir__scan_origins *origins = arg;
    (void)type;
    return weir__git_history_find(&origins->own, id) == WEIR__GIT_SET_NONE;
}

static int start(void *arg, const struct weir__git_id *id, enum weir__git_type type, uint64_t size)
{
    struct weir__scan_origins *origins = arg;
    (void)size;
    return type == WEIR__GIT_COMMIT
               ? weir__git_history_start(&origins->own, id, WEIR__GIT_START_LOST)
               : 0;
}

static int on_enter(void *arg, const struct weir__git_object *object)
{
    return start(arg, &object->id, object->type, object->length);
}

/* The first look has told it. */
static int on_trouble(void *arg, const struct weir__git_trouble *trouble)
{
    (void)arg;
    (void)trouble;
    return 0;
}

/* One that is gone or damaged has none: the first look has told that, or has met its objects
 * elsewhere. */
static int look_at_pack(struct weir__scan_origins *origins, uint32_t i,
                        const struct weir__git_wish *wish, const struct weir__git_visitor *visitor)
{
    struct weir__scan_repo *repo = origins->repo;
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    struct weir__git_walk_options options;
    struct weir__git_walk_totals totals = {0};
    struct weir_deadline deadline = weir_deadline_until(&repo->run->stop);
    int result = weir__git_store_pack_open(repo->store, i, &pack);
    if (result < 0)
        return result == -WEIR_E_NO_MEMORY ? result : 0;
    result = weir__git_plan_init(&plan, &pack);
    if (result == 0) {
        weir__git_walk_options_init(&options);
        options.delta_bytes = repo->shard_bytes;
        result = weir__git_plan_mark(&plan, wish);
        if (result == 0)
            result = weir__git_walk(&plan, 0, plan.count, visitor, &options, &totals, &deadline);
        weir__git_plan_fini(&plan);
    }
    weir__git_pack_close(&pack);
    return result == -WEIR_E_CORRUPT || result == -WEIR_E_IO ? 0 : result;
}

static int find_starts(struct weir__scan_origins *origins)
{
    struct weir__scan_repo *repo = origins->repo;
    const struct weir__git_wish wish = {
        .types = 1u << WEIR__GIT_COMMIT, .is_wanted = is_lost, .arg = origins};
    const struct weir__git_visitor visitor = {
        .enter = on_enter, .too_large = start, .trouble = on_trouble, .arg = origins};
    struct weir__git_walk_totals totals = {0};
    struct weir_deadline deadline = weir_deadline_until(&repo->run->stop);
    /* Of loose ones the head says enough: every one is too large. */
    int result = weir__git_loose_each(repo->store, &wish, &visitor, 0, NULL, &totals, &deadline);
    if (result == 0)
        result = weir__git_store_relist(repo->store);
    for (uint32_t i = 0; result == 0 && i < weir__git_store_packs(repo->store); i++)
        result = look_at_pack(origins, i, &wish, &visitor);
    return result;
}

/* The lost ones of the order, behind those that are in it. */
static int append_order(struct weir__scan_origins *origins)
{
    uint32_t *all = NULL, count = 0, kept = origins->order_count;
    int result = weir__git_history_order(&origins->own, &all, &count);
    if (result < 0 || count <= kept) {
        weir__base_free(all);
        return result;
    }
    uint32_t *order = weir__base_realloc(origins->order, count, sizeof(*order));
    if (order) {
        for (uint32_t i = 0; i < count; i++)
            if (weir__git_history_kind(&origins->own, all[i]) == WEIR__GIT_START_LOST)
                order[kept++] = all[i];
        origins->order = order;
        origins->order_count = kept;
    }
    weir__base_free(all);
    return order ? 0 : -WEIR_E_NO_MEMORY;
}

/* Whether a suspect that is to be looked at may have a path in such a commit, or no other. */
static bool has_any(const struct weir__scan_repo *repo, bool is_pathless_only)
{
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        struct weir__git_attribution where;
        if (!(suspect->flags & WEIR__SUSPECT_BLOB) ||
            suspect->flags & (WEIR__SUSPECT_DONE | WEIR__SUSPECT_MISSING))
            continue;
        weir__scan_origin_where(repo, i, suspect, &where);
        /* The tree of one that is remembered may have been pruned. */
        bool is_named = suspect->flags & WEIR__SUSPECT_NAMED;
        bool is_new = !(suspect->flags & WEIR__SUSPECT_KNOWN);
        if (is_pathless_only ? !where.path && is_named && is_new : !where.path || is_named)
            return true;
    }
    return false;
}

int weir__scan_lost_find(struct weir__scan_origins *origins)
{
    struct weir__scan_repo *repo = origins->repo;
    uint32_t before = origins->order_count;
    if (repo->wanted || !has_any(repo, false))
        return 0;
    int result = find_starts(origins);
    if (result == 0)
        result = weir__git_history_walk(&origins->own, WEIR__GIT_SINCE_EVER);
    if (result == 0)
        result = append_order(origins);
    if (result == -WEIR_E_TOO_LARGE) {
        char why[WEIR__SCAN_WHY_MAX], text[WEIR__SCAN_WHY_MAX];
        weir__scan_share_exceeded(repo, "its commits", repo->share.history, why);
        snprintf(text, sizeof(text),
                 "what lies in commits that nothing leads to has no path: %.240s", why);
        weir__scan_repo_problem(repo, text);
        result = 0;
    }
    if (result == 0 && origins->order_count > before) {
        weir__git_attribute_extend(origins->attribute, origins->order, origins->order_count);
        origins->trace.is_lost = true;
        result = weir__git_attribute_run(origins->attribute, before, origins->order_count);
        origins->trace.is_lost = false;
    }
    if (result == 0 && has_any(repo, true)) {
        repo->is_forgetful = true; /* nobody remembers a name */
        weir__scan_repo_problem(repo, repo->is_untraced
                                          ? "something may be in a name, and not all that leads to "
                                            "it can be read"
                                          : "something may be in a name of a tree that no commit "
                                            "has: git prune removes what nothing leads to");
    }
    return result;
}
