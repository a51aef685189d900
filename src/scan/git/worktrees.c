/* worktrees.c - the working trees of a repository. */
#include "worktrees.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc.h"
#include "refs_file.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

struct worktrees {
    weir__git_worktree_fn *fn;
    void *arg;
    void (*problem)(void *arg, const char *text);
    void *problem_arg;
    struct stat own; /* the folder that came first */
};

static void tell(const struct worktrees *all, const char *what, const char *name, int error)
{
    char text[WEIR__GIT_REFS_PROBLEM_MAX];
    if (!all->problem)
        return;
    snprintf(text, sizeof(text), "%s '%s': %s", what, WEIR__CLIPPED(name), weir_error_text(error));
    all->problem(all->problem_arg, text);
}

/* Of the folder `name` of an open one. What is wrong with a linked one is told in the words of who
 * reads its refs: it is one thing. */
static int give(struct worktrees *all, int dir, const char *name, int flags)
{
    struct stat st;
    const char *what = dir == AT_FDCWD ? "cannot open" : "folder";
    int fd = weir__sys_openat(dir, name, O_RDONLY | O_DIRECTORY | flags, 0);
    if (fd < 0) {
        tell(all, what, name, weir_error_from_errno(errno));
        return 0;
    }
    int result = 0;
    if (weir__sys_fstatat(fd, ".", &st, 0) < 0) {
        tell(all, what, name, weir_error_from_errno(errno));
    } else if (st.st_ino != all->own.st_ino || st.st_dev != all->own.st_dev) {
        all->own = all->own.st_ino == 0 ? st : all->own;
        result = all->fn(all->arg, fd, name);
    }
    weir__sys_close(fd);
    return result;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In an order that does not depend on the file system. */
static int give_sorted(struct worktrees *all, int common, const struct weir__buffer *names)
{
    size_t length = weir__buffer_length(names), count = 0;
    const char **list = weir__base_alloc(length / 2 + 1, sizeof(*list));
    char path[WEIR__GIT_REF_NAME_MAX];
    int result = 0;
    if (!list)
        return -WEIR_E_NO_MEMORY;
    for (size_t at = 0; at < length;) {
        const char *one = weir__buffer_text(names) + at;
        if (one[0] == 'd')
            list[count++] = one + 1;
        at += strlen(one) + 1;
    }
    qsort(list, count, sizeof(*list), compare_names);
    for (size_t i = 0; i < count && result == 0; i++) {
        snprintf(path, sizeof(path), "worktrees/%s", list[i]);
        result = give(all, common, path, O_NOFOLLOW);
    }
    weir__base_free(list);
    return result;
}

static int give_linked(struct worktrees *all, const char *commondir)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer names;
    int fd;
    weir__buffer_init(&names, WEIR__GIT_WORKTREES_MAX * 256u);
    int result = weir__git_folder_open(commondir, &fd);
    if (result < 0) {
        tell(all, "cannot open", commondir, result);
        return result == -WEIR_E_NO_MEMORY ? result : 0;
    }
    result = weir__git_folder_read(fd, "worktrees", &names);
    if (result == 0)
        result = give_sorted(all, fd, &names);
    else if (result != -WEIR_E_NO_MEMORY) {
        if (result != -WEIR_E_NOT_FOUND)
            tell(all, "folder", "worktrees", result);
        result = 0;
    }
    weir__sys_close(fd);
    return result;
}

int weir__git_worktrees_each(const char *gitdir, const char *commondir, weir__git_worktree_fn *fn,
                             void *arg, void (*problem)(void *arg, const char *text),
                             void *problem_arg)
{
    struct worktrees all = {.fn = fn, .arg = arg, .problem = problem, .problem_arg = problem_arg};
    int result = give(&all, AT_FDCWD, gitdir, 0);
    if (result == 0 && strcmp(gitdir, commondir) != 0)
        result = give(&all, AT_FDCWD, commondir, 0);
    return result ? result : give_linked(&all, commondir);
}
