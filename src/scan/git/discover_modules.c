/* discover_modules.c - the submodules of a repository, and theirs.
 *
 * Those that are checked out are where the index says, and theirs where their indexes say; their
 * repository is there, as git of old has it, or a file .git says where. Those that are not are
 * found by a walk: git keeps the repository of a submodule below modules/ of the one that it
 * belongs to, those of nested ones below modules/ of that.
 *
 * Which of them are nowhere the index says too, or the tree of HEAD where there is none.
 */
#include "discover.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "index_file.h"
#include "sys.h"
#include "tag_object.h"
#include "text.h"
#include "tree_entry.h"

#include "banned.h"

#define PATH_MAX_BYTES WEIR__GIT_FIND_PATH_MAX
#define WAITING_MAX    ((size_t)16 << 20)
#define ABSENT_NAMED   3u
/* Of the tree of HEAD: folders that are read, and bytes of one. */
#define TREES_MAX      65536u
#define TREE_BYTES_MAX ((size_t)64 << 20)

struct modules {
    struct weir__git_finding finding;
    const struct weir__git_modules_options *options;
    struct weir__git_set visited; /* folders with HEAD and the index */
    struct weir__buffer waiting;  /* working trees of submodules, each ended with NUL */
    struct weir__buffer gitdirs;  /* those that were visited, likewise */
    bool is_first;                /* the repository itself is at hand, and none of them */
    const char *worktree;         /* of the index at hand, or NULL */
    int worktree_fd;
    int git; /* the folder that the index is in */
    uint64_t gitlinks;
    uint64_t absent_count; /* of the index at hand, and what the first of them are called */
    char absent[ABSENT_NAMED * (WEIR__CLIP_SIZE + 4)];
};

/* What is wrong with a submodule's own is told when that is asked for them, as a repository like
 * others. */
__attribute__((cold, format(printf, 2, 3))) static void tell_own(struct modules *modules,
                                                                 const char *format, ...)
{
    char text[2 * WEIR__GIT_FIND_WHY_MAX];
    va_list args;
    if (!modules->is_first)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    weir__git_finding_tell(&modules->finding, "%s", text);
}

/* folder/name, or name alone when it begins at the root. One path has one spelling: the folder may
 * end with '/'. False: too long. */
static bool join(char path[PATH_MAX_BYTES], const char *folder, const char *name)
{
    size_t end = strlen(folder);
    const char *between = end > 0 && folder[end - 1] == '/' ? "" : "/";
    int length = name[0] == '/' ? snprintf(path, PATH_MAX_BYTES, "%s", name)
                                : snprintf(path, PATH_MAX_BYTES, "%s%s%s", folder, between, name);
    return length > 0 && (size_t)length < PATH_MAX_BYTES;
}

/* The path without "." and "..", as far as its bytes say. */
static void collapse(const char *path, char plain[PATH_MAX_BYTES])
{
    size_t least = path[0] == '/', length = least; /* least: what no ".." takes away */
    plain[0] = '/';
    for (const char *at = path; *at;) {
        size_t part = strcspn(at, "/");
        if (part == 2 && at[0] == '.' && at[1] == '.' && length > least) {
            while (length > least && plain[length - 1] != '/')
                length--;
            length -= length > least;
        } else if (part > 0 && !(part == 1 && at[0] == '.')) {
            if (length > 0 && plain[length - 1] != '/')
                plain[length++] = '/';
            memcpy(plain + length, at, part);
            length += part;
            if (part == 2 && at[0] == '.' && at[1] == '.')
                least = length;
        }
        at += part;
        at += *at == '/';
    }
    plain[length] = '\0';
}

/* Files .git and commondir lead there by "..", from wherever they are: one folder has one spelling.
 * Not if a symlink makes it another one. */
static void tidy(char path[PATH_MAX_BYTES])
{
    char plain[PATH_MAX_BYTES];
    struct stat st, same;
    collapse(path, plain);
    if (plain[0] && weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0 &&
        weir__sys_fstatat(AT_FDCWD, plain, &same, 0) == 0 && st.st_dev == same.st_dev &&
        st.st_ino == same.st_ino)
        memcpy(path, plain, strlen(plain) + 1);
}

static bool is_link(const char *path)
{
    struct stat st;
    return weir__sys_fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* Everything below modules/ of a repository, or below worktrees/, which have such a folder each.
 * One that has none has no submodules there. */
static int walk(struct modules *modules, const char *commondir, const char *name)
{
    char path[PATH_MAX_BYTES];
    if (!join(path, commondir, name)) {
        weir__git_finding_tell(&modules->finding, "the path of '%s' is too long",
                               WEIR__CLIPPED(commondir));
        return 0;
    }
    tidy(path);
    if (is_link(path)) {
        tell_own(modules, "'%s' is a symlink, which is not followed", WEIR__CLIPPED(path));
        return 0;
    }
    uint64_t before = modules->finding.stats.folders;
    int error = weir__git_finding_run(&modules->finding, path);
    if (error == -WEIR_E_NOT_FOUND && modules->finding.stats.folders == before)
        return 0;
    if (error && modules->finding.stats.folders == before && error != -WEIR_E_NO_MEMORY) {
        weir__git_finding_tell(&modules->finding, "cannot open '%s': %s", WEIR__CLIPPED(path),
                               weir_error_text(error));
        return 0;
    }
    return error;
}

/* --- where the index says --- */

/* A path that stays in the working tree. */
static bool is_inside(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        size_t length = strcspn(at, "/");
        if (length == 0 || (length == 1 && at[0] == '.') ||
            (length == 2 && at[0] == '.' && at[1] == '.'))
            return false;
    }
    return true;
}

/* Whether it is below modules/ of that folder, where it is called as it was when it came; and not
 * by a symlink, which the walk does not follow either. */
static bool is_kept(int dir, const char *path)
{
    char name[PATH_MAX_BYTES];
    struct stat st;
    int length = snprintf(name, sizeof(name), "modules/%s", path);
    int fd = length > 0 && (size_t)length < sizeof(name) ? weir__git_open_inside(dir, name) : -1;
    bool is_it = fd >= 0 && weir__sys_fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0;
    weir__sys_close(fd);
    return is_it;
}

static bool is_kept_in_common(const struct modules *modules, const char *path)
{
    int fd = weir__sys_openat(AT_FDCWD, modules->options->commondir, O_RDONLY | O_DIRECTORY, 0);
    bool is_it = fd >= 0 && is_kept(fd, path);
    weir__sys_close(fd);
    return is_it;
}

/* It is not checked out. If it is kept all the same, it is found there; if not, nobody has it. */
static void note_absent(struct modules *modules, const char *path)
{
    if (!modules->is_first || is_kept(modules->git, path) || is_kept_in_common(modules, path))
        return;
    size_t length = strlen(modules->absent);
    if (modules->absent_count++ < ABSENT_NAMED)
        snprintf(modules->absent + length, sizeof(modules->absent) - length, "%s'%s'",
                 length ? ", " : "", WEIR__CLIPPED(path));
}

static void tell_absent(struct modules *modules)
{
    char more[32] = "";
    if (modules->absent_count > ABSENT_NAMED)
        snprintf(more, sizeof(more), " and %" PRIu64 " more", modules->absent_count - ABSENT_NAMED);
    if (modules->absent_count > 0)
        weir__git_finding_tell(&modules->finding,
                               "%s not initialised, so the histories are not here: %s%s",
                               modules->absent_count == 1 ? "a submodule is" : "submodules are",
                               modules->absent, more);
    modules->absent_count = 0;
    modules->absent[0] = '\0';
}

static int take_module(struct modules *modules, int fd, const char *path, const char *inside)
{
    char why[WEIR__GIT_FIND_WHY_MAX];
    struct weir__git_discovered found;
    int error = weir__git_discover(fd, &found, why);
    if (error == -WEIR_E_NO_MEMORY)
        return error;
    if (error) {
        tell_own(modules, "the submodule '%s' cannot be used: %s", WEIR__CLIPPED(path), why);
        return 0;
    }
    if (found.found != WEIR__GIT_FOUND_TREE && found.found != WEIR__GIT_FOUND_LINKED) {
        note_absent(modules, inside);
        return 0;
    }
    error = weir__buffer_append(&modules->waiting, path, strlen(path) + 1);
    if (error)
        return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
    return weir__git_finding_give(&modules->finding, path, &found);
}

/* A submodule at that path of the working tree, or of one that there might be. */
static int take_link(struct modules *modules, const char *inside)
{
    char path[PATH_MAX_BYTES];
    const char *worktree = modules->worktree ? modules->worktree : modules->options->gitdir;
    if (!is_inside(inside) || !join(path, worktree, inside)) {
        tell_own(modules, "the index of '%s' has a submodule at '%s', which is no path in it",
                 WEIR__CLIPPED(worktree), WEIR__CLIPPED(inside));
        return 0;
    }
    if (modules->gitlinks++ >= WEIR__GIT_MODULES_MAX)
        return -WEIR_E_TOO_LARGE;
    if (!modules->worktree) {
        note_absent(modules, inside);
        return 0;
    }
    int fd = weir__git_open_inside(modules->worktree_fd, inside);
    if (fd < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            note_absent(modules, inside);
        else
            tell_own(modules, "cannot open the submodule '%s': %s", WEIR__CLIPPED(path),
                     errno == ELOOP ? "a symlink leads there, which is not followed"
                                    : weir_error_text(weir_error_from_errno(errno)));
        return 0;
    }
    int error = take_module(modules, fd, path, inside);
    weir__sys_close(fd);
    return error;
}

static int take_entry(void *arg, const struct weir__git_index_entry *entry)
{
    return weir__git_mode_is_submodule(entry->mode) ? take_link(arg, entry->path) : 0;
}

/* --- where the tree of HEAD says --- */

struct trees {
    struct weir__buffer
        waiting; /* an id of the full size, and a path with '/' at its end, or none */
    struct weir__buffer bytes;
    uint64_t read;
};

static int put_tree(struct trees *trees, const struct weir__git_id *id, const char *path)
{
    int error = weir__buffer_append(&trees->waiting, (const char *)id->bytes, sizeof(id->bytes));
    return error ? error : weir__buffer_append(&trees->waiting, path, strlen(path) + 1);
}

/* path: of the folder. */
static int take_tree(struct modules *modules, struct trees *trees, const char *path)
{
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    char why[WEIR__GIT_FLAW_MAX], below[PATH_MAX_BYTES];
    int error = 0, more;
    weir__git_tree_init(&tree, weir__buffer_text(&trees->bytes), weir__buffer_length(&trees->bytes),
                        modules->options->id_size);
    while (!error && (more = weir__git_tree_next(&tree, &entry, why)) > 0) {
        bool is_tree = weir__git_mode_is_tree(entry.mode);
        if (!is_tree && !weir__git_mode_is_submodule(entry.mode))
            continue;
        int length = snprintf(below, sizeof(below), "%s%.*s%s", path, (int)entry.name_length,
                              entry.name, is_tree ? "/" : "");
        if (length < 0 || (size_t)length >= sizeof(below))
            return -WEIR_E_TOO_LARGE;
        error = is_tree ? put_tree(trees, &entry.id, below) : take_link(modules, below);
    }
    return error ? error : more < 0 ? more : 0;
}

/* The tree of the commit. */
static int begin_trees(const struct weir__git_modules_options *options, struct trees *trees)
{
    char why[WEIR__GIT_FLAW_MAX];
    struct weir__git_commit commit;
    struct weir__git_id id;
    enum weir__git_type type;
    int error = weir__git_peel(options->get, options->get_arg, options->id_size, options->head, &id,
                               &type, &trees->bytes, why);
    if (error == 0 && type == WEIR__GIT_COMMIT)
        error =
            weir__git_commit_parse_links(&commit, weir__buffer_text(&trees->bytes),
                                         weir__buffer_length(&trees->bytes), options->id_size, why);
    if (error == 0 && type == WEIR__GIT_COMMIT)
        error = put_tree(trees, &commit.tree, "");
    return error;
}

static int each_tree(struct modules *modules, struct trees *trees)
{
    const struct weir__git_modules_options *options = modules->options;
    int error = begin_trees(options, trees);
    for (size_t at = 0; !error && at < weir__buffer_length(&trees->waiting);) {
        const char *waiting = weir__buffer_text(&trees->waiting) + at;
        char path[PATH_MAX_BYTES];
        struct weir__git_id id;
        enum weir__git_type type;
        memcpy(id.bytes, waiting, sizeof(id.bytes));
        snprintf(path, sizeof(path), "%s", waiting + sizeof(id.bytes));
        at += sizeof(id.bytes) + strlen(path) + 1;
        if (options->find.stop && weir_cancel_is_fired(options->find.stop))
            return -WEIR_E_CANCELED;
        error = trees->read++ < TREES_MAX
                    ? options->get(options->get_arg, &id, &type, &trees->bytes)
                    : -WEIR_E_TOO_LARGE;
        if (!error && type == WEIR__GIT_TREE)
            error = take_tree(modules, trees, path);
    }
    return error;
}

/* What keeps it from being read is told: there may be submodules. */
static int read_head(struct modules *modules)
{
    struct trees trees = {.read = 0};
    weir__buffer_init(&trees.waiting, WAITING_MAX);
    weir__buffer_init(&trees.bytes, TREE_BYTES_MAX);
    int error = each_tree(modules, &trees);
    weir__buffer_fini(&trees.waiting);
    weir__buffer_fini(&trees.bytes);
    tell_absent(modules);
    if (error && error != -WEIR_E_NO_MEMORY && error != -WEIR_E_CANCELED) {
        weir__git_finding_tell(&modules->finding,
                               "which submodules it should have is not known: the tree of HEAD: %s",
                               weir__git_get_problem(error));
        error = 0;
    }
    return error;
}

/* --- one index --- */

static int read_index(struct modules *modules, int git, const char *gitdir, const char *worktree)
{
    char why[WEIR__GIT_FLAW_MAX] = "";
    modules->worktree_fd = weir__sys_openat(AT_FDCWD, worktree, O_RDONLY | O_DIRECTORY, 0);
    if (modules->worktree_fd < 0) {
        weir__git_finding_tell(&modules->finding, "cannot open '%s': %s", WEIR__CLIPPED(worktree),
                               weir_error_text(weir_error_from_errno(errno)));
        return 0;
    }
    int error =
        weir__git_index_read(git, "index", modules->options->id_size, 0, take_entry, modules, why);
    tell_absent(modules);
    if (error == -WEIR_E_NOT_FOUND && modules->is_first && modules->options->head)
        error = read_head(modules);
    weir__sys_close(modules->worktree_fd);
    if (error == 0 || error == -WEIR_E_NOT_FOUND)
        return 0;
    /* What the entries said has no reason of the index. */
    if (error == -WEIR_E_NO_MEMORY || !why[0])
        return error;
    /* In the words of who looks at what is staged: it is one index. */
    tell_own(modules, "the index of '%s': %s", WEIR__CLIPPED(gitdir), why);
    return 0;
}

/* --- one repository after the other --- */

static int visit(struct modules *modules, const char *gitdir, const char *worktree)
{
    struct stat st;
    int git = weir__sys_openat(AT_FDCWD, gitdir, O_RDONLY | O_DIRECTORY, 0), result;
    if (git < 0 || weir__sys_fstat(git, &st) < 0) {
        weir__git_finding_tell(&modules->finding, "cannot open '%s': %s", WEIR__CLIPPED(gitdir),
                               weir_error_text(weir_error_from_errno(errno)));
        weir__sys_close(git);
        return 0;
    }
    modules->is_first = weir__buffer_length(&modules->gitdirs) == 0;
    result = weir__git_finding_note(&modules->visited, st.st_dev, st.st_ino);
    if (result > 0) {
        result = weir__buffer_append(&modules->gitdirs, gitdir, strlen(gitdir) + 1);
        modules->worktree = worktree;
        modules->git = git;
        if (result == 0 && worktree)
            result = read_index(modules, git, gitdir, worktree);
        else if (result == 0 && modules->is_first && modules->options->head)
            result = read_head(modules);
    }
    weir__sys_close(git);
    return result;
}

/* The folder of the repository of a working tree that was found: .git, or what it names. */
static int find_gitdir(const char *worktree, char gitdir[PATH_MAX_BYTES],
                       char why[WEIR__GIT_FIND_WHY_MAX])
{
    struct weir__buffer path;
    struct stat st;
    int error = 0, fd = weir__sys_openat(AT_FDCWD, worktree, O_RDONLY | O_DIRECTORY, 0);
    weir__buffer_init(&path, PATH_MAX_BYTES);
    why[0] = '\0';
    if (fd < 0 || weir__sys_fstatat(fd, ".git", &st, 0) < 0)
        error = weir_error_from_errno(errno);
    else if (S_ISDIR(st.st_mode))
        error = weir__buffer_puts(&path, ".git");
    else
        error = weir__git_gitfile_read(fd, &path, why);
    if (!error && !join(gitdir, worktree, weir__buffer_text(&path)))
        error = -WEIR_E_TOO_LARGE;
    weir__buffer_fini(&path);
    weir__sys_close(fd);
    return error;
}

static int visit_worktree(struct modules *modules, const char *worktree)
{
    char gitdir[PATH_MAX_BYTES], why[WEIR__GIT_FIND_WHY_MAX];
    int error = find_gitdir(worktree, gitdir, why);
    if (error == 0)
        return visit(modules, gitdir, worktree);
    if (error == -WEIR_E_NO_MEMORY)
        return error;
    weir__git_finding_tell(&modules->finding, "the submodules of '%s' are not known: %s",
                           WEIR__CLIPPED(worktree), why[0] ? why : weir_error_text(error));
    return 0;
}

static int run(struct modules *modules)
{
    const struct weir__git_modules_options *options = modules->options;
    char path[PATH_MAX_BYTES];
    struct stat st;
    /* The repository itself is none of its submodules. */
    int result = join(path, options->commondir, "objects") ? 0 : -WEIR_E_TOO_LARGE;
    if (result == 0 && weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0)
        result = weir__git_finding_note(&modules->finding.known, st.st_dev, st.st_ino);
    int error = result < 0 ? result : visit(modules, options->gitdir, options->worktree);
    for (size_t at = 0; !error && at < weir__buffer_length(&modules->waiting);) {
        snprintf(path, sizeof(path), "%s", weir__buffer_text(&modules->waiting) + at);
        at += strlen(path) + 1;
        if (options->find.stop && weir_cancel_is_fired(options->find.stop))
            error = -WEIR_E_CANCELED;
        else
            error = visit_worktree(modules, path);
    }
    modules->is_first = true;
    if (!error)
        error = walk(modules, options->commondir, "worktrees");
    if (!error && strcmp(options->gitdir, options->commondir) != 0)
        error = walk(modules, options->commondir, "modules");
    for (size_t at = 0; !error && at < weir__buffer_length(&modules->gitdirs);) {
        const char *gitdir = weir__buffer_text(&modules->gitdirs) + at;
        modules->is_first = at == 0;
        at += strlen(gitdir) + 1;
        error = walk(modules, gitdir, "modules");
    }
    return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
}

int weir__git_each_module(const struct weir__git_modules_options *options, weir__git_found_fn *fn,
                          void *arg, struct weir__git_find_stats *ret_stats)
{
    struct modules modules = {.options = options};
    weir__git_finding_init(&modules.finding, &options->find, fn, arg);
    modules.finding.has_modules = true;
    weir__git_set_init(&modules.visited, WEIR__GIT_ID_SIZE_MAX, 0, 0);
    weir__buffer_init(&modules.waiting, WAITING_MAX);
    weir__buffer_init(&modules.gitdirs, WAITING_MAX);
    int error = run(&modules);
    *ret_stats = modules.finding.stats;
    weir__git_set_fini(&modules.visited);
    weir__buffer_fini(&modules.waiting);
    weir__buffer_fini(&modules.gitdirs);
    weir__git_finding_fini(&modules.finding);
    return error;
}
