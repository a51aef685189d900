/* refs_start.c - from refs and ranges to the starts of a history. */
#include "commit_part.h"
#include "refs_resolve.h"
#include "tag_object.h"
#include "text.h"

#include "banned.h"

int weir__git_history_start_range(struct weir__git_history *history,
                                  const struct weir__git_rev_range *range)
{
    int error = 0;
    switch (range->kind) {
    case WEIR__GIT_REV_FROM:
        return weir__git_history_start(history, &range->right, WEIR__GIT_START_REF);
    case WEIR__GIT_REV_NOT:
        return weir__git_history_start(history, &range->left, WEIR__GIT_START_EXCLUDE);
    case WEIR__GIT_REV_BETWEEN:
        error = weir__git_history_start(history, &range->left, WEIR__GIT_START_EXCLUDE);
        break;
    case WEIR__GIT_REV_SYMMETRIC:
        error = weir__git_history_exclude_common(history, &range->left, &range->right);
        if (!error)
            error = weir__git_history_start(history, &range->left, WEIR__GIT_START_REF);
        break;
    }
    return error ? error : weir__git_history_start(history, &range->right, WEIR__GIT_START_REF);
}

unsigned weir__git_ref_start(enum weir__git_ref_kind kind)
{
    switch (kind) {
    case WEIR__GIT_REF_STASH:
        return WEIR__GIT_START_STASH;
    case WEIR__GIT_REF_NOTES:
        return WEIR__GIT_START_NOTES;
    case WEIR__GIT_REF_PSEUDO:
        return WEIR__GIT_START_LOG;
    default:
        return WEIR__GIT_START_REF;
    }
}

struct starting {
    struct weir__git_history *history;
    int (*other)(void *arg, const char *ref, const struct weir__git_id *id,
                 enum weir__git_type type);
    void *arg;
};

static int start_one(struct starting *starting, const char *name, const struct weir__git_id *id,
                     unsigned kinds)
{
    struct weir__git_history *history = starting->history;
    const struct weir__git_history_options *options = &history->_options;
    char why[WEIR__GIT_FLAW_MAX];
    enum weir__git_type type;
    struct weir__git_id target;
    /* What is known already, or is in the graph, is a commit. What a log names may be gone, and a
     * graph that was not written since still has it. */
    bool may_be_gone = kinds & WEIR__GIT_START_LOG;
    uint32_t known = weir__git_history_find(history, id);
    if ((known != WEIR__GIT_SET_NONE &&
         (weir__git_history_node(history, known)->_flags & WEIR__NODE_THERE)) ||
        (history->_has_graph && !may_be_gone &&
         weir__git_graph_find(options->graph, id) != WEIR__GIT_GRAPH_NONE))
        return weir__git_history_start(history, id, kinds);
    int error = weir__git_peel(options->get, options->get_arg, options->id_size, id, &target, &type,
                               &history->_bytes, why);
    if (error == -WEIR_E_NO_MEMORY || error == -WEIR_E_CANCELED)
        return error;
    if (error == -WEIR_E_NOT_FOUND && may_be_gone) {
        history->gone++;
        return 0;
    }
    if (error) {
        weir__git_history_tell(history, "ref '%s': %s", WEIR__CLIPPED(name), why);
        return 0;
    }
    if (type == WEIR__GIT_COMMIT)
        return weir__git_history_start(history, &target, kinds);
    return starting->other ? starting->other(starting->arg, name, &target, type) : 0;
}

/* Replacements, or all others. */
static int start_some(struct starting *starting, const struct weir__git_refs *refs,
                      bool is_replacing)
{
    int error = 0;
    for (size_t i = 0; i < refs->count && !error; i++) {
        const struct weir__git_ref *ref = &refs->list[i];
        if ((ref->kind == WEIR__GIT_REF_REPLACE) == is_replacing)
            error = start_one(starting, weir__git_refs_name(refs, i),
                              ref->has_peeled ? &ref->peeled : &ref->id,
                              weir__git_ref_start(ref->kind));
    }
    return error;
}

int weir__git_history_start_refs(struct weir__git_history *history,
                                 const struct weir__git_refs *refs,
                                 int (*other)(void *arg, const char *ref,
                                              const struct weir__git_id *id,
                                              enum weir__git_type type),
                                 void *arg)
{
    struct starting starting = {history, other, arg};
    /* What takes the place of a commit mostly has its date: of the same second, what comes first as
     * a start comes last in the order, so that the commit itself is the one that is named. */
    int error = start_some(&starting, refs, true);
    if (!error)
        error = start_some(&starting, refs, false);
    if (error)
        return error;
    for (size_t i = 0; i < refs->logs_count; i++) {
        const struct weir__git_refs_log *log = &refs->logs[i];
        unsigned kinds = WEIR__GIT_START_LOG | (log->is_stash ? WEIR__GIT_START_STASH : 0);
        error = start_one(&starting, log->is_stash ? "refs/stash" : "a log", &log->id, kinds);
        if (error)
            return error;
    }
    return 0;
}
