/* scan_repo_staged.c - what is staged in the working trees of a repository, whichever of them was
 * given: all of them have the same objects.
 */
#include "scan_repo.h"

#include <stdio.h>

#include "git/worktrees.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

struct staged {
    struct weir__scan_repo *repo;
    weir__git_index_fn *fn;
    void *arg;
    bool is_telling;
};

static int read_index(void *arg, int dir, const char *said)
{
    const struct staged *staged = arg;
    struct weir__scan_repo *repo = staged->repo;
    char why[WEIR__GIT_FLAW_MAX] = "", text[WEIR__SCAN_WHY_MAX];
    int result = weir__git_index_read(dir, "index", repo->id_size, repo->share.index, staged->fn,
                                      staged->arg, why);
    if (result < 0 && result != -WEIR_E_NOT_FOUND && staged->is_telling) {
        snprintf(text, sizeof(text), "the index of '%s': %s", WEIR__CLIPPED(said),
                 why[0] ? why : weir_error_text(result));
        weir__scan_repo_problem(repo, text);
    }
    return result == -WEIR_E_NO_MEMORY ? result : 0;
}

int weir__scan_staged_each(struct weir__scan_repo *repo, weir__git_index_fn *fn, void *arg,
                           bool is_telling)
{
    struct staged staged = {.repo = repo, .fn = fn, .arg = arg, .is_telling = is_telling};
    return weir__git_worktrees_each(weir__git_store_gitdir(repo->store),
                                    weir__git_store_commondir(repo->store), read_index, &staged,
                                    is_telling ? weir__scan_repo_problem : NULL, repo);
}

static int hash_index(void *arg, int dir, const char *said)
{
    struct stat st;
    (void)said;
    if (weir__sys_fstatat(dir, "index", &st, 0) < 0)
        return 0;
    const int64_t facts[] = {(int64_t)st.st_ino, st.st_size,        st.st_mtim.tv_sec,
                             st.st_mtim.tv_nsec, st.st_ctim.tv_sec, st.st_ctim.tv_nsec};
    weir__hash_update(arg, facts, sizeof(facts));
    return 0;
}

void weir__scan_staged_hash(const struct weir__scan_repo *repo, struct weir__hash *hash)
{
    /* One that cannot be opened is as good as none: who reads it tells. */
    (void)!weir__git_worktrees_each(weir__git_store_gitdir(repo->store),
                                    weir__git_store_commondir(repo->store), hash_index, hash, NULL,
                                    NULL);
}
