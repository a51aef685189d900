/* scan_repo_refs.c - the names of a repository, and which of its objects a narrowed scan looks at.
 */
#include "scan_repo.h"

#include <stdio.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

static int read_refs(struct weir__scan_repo *repo)
{
    char why[WEIR__GIT_FLAW_MAX] = "";
    const struct weir__git_refs_options options = {
        .gitdir = weir__git_store_gitdir(repo->store),
        .commondir = weir__git_store_commondir(repo->store),
        .id_size = repo->id_size,
        .has_logs = true,
        .has_pseudo = true,
        .bytes_max = repo->share.refs,
        .reading_max = repo->share.refs_read,
        .problem = weir__scan_repo_problem,
        .problem_arg = repo,
    };
    weir__git_refs_init(&repo->refs->refs, &options);
    int result = weir__git_refs_read(&repo->refs->refs, why);
    if (result == -WEIR_E_TOO_LARGE) {
        char cure[WEIR__SCAN_WHY_MAX];
        weir__scan_share_refs_exceeded(repo, cure);
        weir__scan_repo_problem(repo, cure);
    } else if (result < 0) {
        weir__scan_repo_problem(repo, why[0] ? why : weir_error_text(result));
    }
    /* Who knows what one that is broken led to. */
    repo->is_untraced = result < 0 || repo->refs->refs.problems > 0;
    return result == -WEIR_E_NO_MEMORY ? result : 0;
}

/* Without one it takes longer. */
static int open_graph(struct weir__scan_repo *repo)
{
    char path[WEIR__GIT_PATH_MAX + 16], why[WEIR__GIT_FLAW_MAX] = "";
    snprintf(path, sizeof(path), "%s/objects", weir__git_store_commondir(repo->store));
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    int result = fd < 0 ? 0
                        : weir__git_graph_open(&repo->refs->graph, fd, repo->id_size,
                                               repo->share.graph, why);
    weir__sys_close(fd);
    return result == -WEIR_E_NO_MEMORY ? result : 0;
}

int weir__scan_refs_read(struct weir__scan_repo *repo)
{
    repo->refs = weir__base_alloc(1, sizeof(*repo->refs));
    if (!repo->refs)
        return -WEIR_E_NO_MEMORY;
    int result = read_refs(repo);
    if (result == 0)
        result = open_graph(repo);
    if (result < 0)
        return result;
    result = weir__git_store_shallow(repo->store, weir__scan_repo_problem, repo,
                                     &repo->refs->shallow, &repo->refs->shallow_count);
    if (result < 0 && result != -WEIR_E_NO_MEMORY)
        weir__scan_repo_problem(repo, weir__git_store_problem(repo->store));
    return result == -WEIR_E_NO_MEMORY ? result : 0;
}

/* --- what is in them --- */

/* id: what it leads to, or NULL. */
static void look_at_name(struct weir__scan_repo *repo, const char *name,
                         const struct weir__git_id *id)
{
    struct weir__scan_worker *w = repo->w;
    char hex[WEIR__GIT_HEX_SIZE];
    if (!weir__scan_name_has(w, name))
        return;
    const struct weir__brought brought = {.object =
                                              id ? weir__git_id_hex(id, repo->id_size, hex) : "",
                                          .author = "",
                                          .mail = "",
                                          .date = "",
                                          .subject = ""};
    weir__buffer_truncate(&w->path, 0);
    int result = weir__buffer_append(&w->path, repo->path, repo->path_length);
    if (result == 0)
        result = weir__buffer_puts(&w->path, "ref:");
    if (result == 0)
        result = weir__buffer_puts(&w->path, name);
    if (result < 0) {
        weir__scan_repo_problem(repo, weir_error_text(result));
        return;
    }
    w->brought = &brought;
    weir__scan_name_forget(w);
    (void)weir__scan_name(w, weir__buffer_text(&w->path));
    w->brought = NULL;
}

void weir__scan_refs_names(struct weir__scan_repo *repo)
{
    const struct weir__git_refs *refs = &repo->refs->refs;
    if (repo->wanted)
        return;
    for (size_t i = 0; i < refs->count; i++)
        look_at_name(repo, weir__git_refs_name(refs, i), &refs->list[i].id);
    for (size_t i = 0; i < refs->nowhere_count; i++)
        look_at_name(repo, weir__git_refs_nowhere(refs, i), NULL);
}

void weir__scan_refs_free(struct weir__scan_refs *refs)
{
    if (!refs)
        return;
    weir__git_refs_fini(&refs->refs);
    weir__git_graph_free(refs->graph);
    weir__base_free(refs->shallow);
    weir__base_free(refs);
}

/* --- narrowing --- */

int weir__scan_repo_narrow(struct weir__scan_repo *repo)
{
    const struct weir__scan_narrow *narrow = &repo->run->options->narrow;
    char why[WEIR__GIT_FLAW_MAX] = "";
    if (!narrow->is_narrow)
        return 0;
    repo->wanted = weir__base_alloc(1, sizeof(*repo->wanted));
    if (!repo->wanted)
        return -WEIR_E_NO_MEMORY;
    repo->names = (struct weir__git_names){
        .refs = &repo->refs->refs,
        .id_size = repo->id_size,
        .get = weir__git_store_get,
        .get_arg = repo->store,
        .begin_with = weir__git_store_begin_with,
        .begin_arg = repo->store,
    };
    struct weir__git_wanted_options options;
    struct weir__git_store_facts facts;
    weir__git_wanted_options_init(&options);
    options.names = &repo->names;
    options.gitdir = weir__git_store_gitdir(repo->store);
    options.commondir = weir__git_store_commondir(repo->store);
    options.graph = repo->refs->graph;
    options.shallow = repo->refs->shallow;
    options.shallow_count = repo->refs->shallow_count;
    weir__git_store_facts(repo->store, &facts);
    options.is_partial = facts.is_partial;
    options.refs = narrow->refs;
    options.refs_count = narrow->refs_count;
    options.ranges = narrow->ranges;
    options.ranges_count = narrow->ranges_count;
    options.since = narrow->since;
    options.bytes_max = repo->share.wanted;
    options.index_max = repo->share.index;
    options.problem = weir__scan_repo_problem;
    options.problem_arg = repo;
    options.stop = &repo->run->stop;
    int result = weir__git_wanted_init(repo->wanted, &options, why);
    if (result == -WEIR_E_TOO_LARGE && !why[0]) {
        char cure[WEIR__SCAN_WHY_MAX];
        weir__scan_share_exceeded(repo, "commits, and what they have,", repo->share.wanted, cure);
        weir__scan_repo_tell(repo->w, repo, NULL, "cannot scan the history of", cure);
    } else if (result < 0 && result != -WEIR_E_CANCELED)
        weir__scan_repo_tell(repo->w, repo, NULL, "cannot scan the history of",
                             why[0] ? why : weir_error_text(result));
    return result;
}

void weir__scan_wanted_free(struct weir__git_wanted *wanted)
{
    weir__git_wanted_fini(wanted);
    weir__base_free(wanted);
}
