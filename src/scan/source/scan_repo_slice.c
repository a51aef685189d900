/* scan_repo_slice.c - the walk through all trees of a history, by several threads.
 *
 * The order of commits is cut into slices; each is walked with an attribution and a store of its
 * own, and what it has found is added to the leader's, in whatever order they end: the result does
 * not depend on that. A slice reads the trees of its first commit in full, which its neighbour has
 * read too, so slices are not short.
 *
 * A short history is one slice: who walks has to judge paths, for which a leader has a scanner only
 * where memory is too small for slices, or commits are lost.
 *
 * A slice is a shard of the frontier, so no more are in work than it lets in; memory for trees is
 * divided among these and the leader.
 */
#include "scan_repo_trace.h"

#include <stdio.h>
#include <string.h>

#include "banned.h"

/* Commits of a slice, at least. */
#define SLICE_MIN 1024u
/* Slices for each thread: who is done early takes another. */
#define SLICES_EACH 2u

void weir__scan_untraced(struct weir__scan_repo *repo)
{
    weir_lock_acquire(&repo->lock);
    repo->is_untraced = repo->is_doubtful = true;
    weir_lock_release(&repo->lock);
}

static void tell_large(struct weir__scan_trace *trace, const struct weir__git_id *id)
{
    const struct weir__scan_repo *repo = trace->repo;
    char text[WEIR__SCAN_WHY_MAX], what[WEIR__GIT_HEX_SIZE + 32], hex[WEIR__GIT_HEX_SIZE];
    snprintf(what, sizeof(what), "object %s: its bytes", weir__git_id_hex(id, repo->id_size, hex));
    bool is_leader = trace->store == repo->store;
    weir__scan_share_exceeded(repo, what,
                              is_leader ? repo->share.led.build : repo->share.alone.build, text);
    weir__scan_trace_problem(trace, text);
}

int weir__scan_trace_get(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                         struct weir__buffer *bytes)
{
    struct weir__scan_trace *trace = arg;
    struct weir__scan_repo *repo = trace->repo;
    int result = weir__git_store_get(trace->store, id, ret_type, bytes);
    if (result == -WEIR_E_NOT_FOUND && repo->has_unknown)
        result = -WEIR_E_CORRUPT; /* this store has not met the index that cannot be read */
    bool is_known = result == -WEIR_E_CORRUPT || result == -WEIR_E_DENIED ||
                    result == -WEIR_E_TOO_LARGE || (result == -WEIR_E_NOT_FOUND && trace->is_lost);
    if (result == -WEIR_E_NOT_FOUND && !trace->is_lost) {
        weir_lock_acquire(&repo->lock);
        uint32_t number = weir__git_set_find(&repo->suspects, id);
        struct weir__suspect *suspect =
            number == WEIR__GIT_SET_NONE ? NULL : weir__git_set_extra(&repo->suspects, number);
        bool is_suspect = suspect && suspect->flags & WEIR__SUSPECT_MISSING;
        if (is_suspect)
            suspect->flags |= WEIR__SUSPECT_REACHED;
        /* No object names it: it is of a commit that only the graph has, which is told. */
        is_known = is_suspect || repo->origins->lacks_commit;
        weir_lock_release(&repo->lock);
    }
    if (!is_known)
        return result;
    /* A tree that does not fit was told, and a commit is told when it was looked at with all the
     * memory that there is. */
    if (result == -WEIR_E_TOO_LARGE && !weir__scan_state_is_unread(repo, id) &&
        !(weir__scan_suspect_flags(repo, id) & WEIR__SUSPECT_LARGE))
        tell_large(trace, id);
    if (result < 0 && !trace->is_lost)
        weir__scan_untraced(repo);
    weir__buffer_truncate(bytes, 0);
    *ret_type = WEIR__GIT_TREE;
    return 0;
}

void weir__scan_trace_problem(void *arg, const char *text)
{
    const struct weir__scan_trace *trace = arg;
    struct weir__scan_repo *repo = trace->repo;
    weir__scan_untraced(repo);
    if (weir__scan_repo_is_news(trace->w, repo, text, strlen(text)))
        weir__scan_tell_partial(trace->w, repo->path_length > 0 ? repo->path : "./",
                                "cannot read all of the history of", text);
}

void weir__scan_origins_slice(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                              struct weir__git_store *store, int unopened, uint32_t from,
                              uint32_t until)
{
    struct weir__scan_origins *origins = repo->origins;
    struct weir__scan_trace trace = {.repo = repo, .w = w, .store = store};
    struct weir__git_attribute *fork = NULL;
    int result =
        store ? weir__git_attribute_fork(&fork, origins->attribute, &trace, &trace) : unopened;
    if (result == 0)
        result = weir__git_attribute_run(fork, from, until);
    weir_lock_acquire(&repo->lock);
    if (result == 0)
        result = weir__git_attribute_merge(origins->attribute, fork);
    if (result < 0 && origins->error == 0)
        origins->error = result;
    weir_lock_release(&repo->lock);
    weir__git_attribute_free(fork);
    weir__scan_trace_fini(&trace);
}

int weir__scan_trace_all(struct weir__scan_origins *origins)
{
    struct weir__scan_repo *repo = origins->repo;
    uint32_t most = SLICES_EACH * repo->at_once, count = origins->order_count / SLICE_MIN;
    if (origins->order_count == 0)
        return 0;
    if (!weir__scan_share_has_slices(repo))
        return weir__git_attribute_run(origins->attribute, 0, origins->order_count);
    count = count < most ? count : most;
    int result = weir__scan_repo_slices(repo, origins->order_count, count > 0 ? count : 1);
    return result < 0 ? result : origins->error;
}
