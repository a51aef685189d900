/* discover.c - is this folder a repository, and which one. */
#include "discover.h"

#include <stdarg.h>
#include <stdio.h>

#include "refs_file.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

#define POINTER_MAX 65536u /* of a file that names a folder */
#define HEAD_MAX    65536u

__attribute__((cold, format(printf, 3, 4))) static int flaw(char why[WEIR__GIT_FIND_WHY_MAX],
                                                            int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, WEIR__GIT_FIND_WHY_MAX, format, args);
    va_end(args);
    return code;
}

int weir__git_open_inside(int dir, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    int fd = weir__sys_openat2(dir, path, &how);
    if (fd < 0 && (errno == ENOSYS || errno == E2BIG))
        fd = weir__sys_openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return fd;
}

/* --- files that name a folder --- */

/* One line behind a prefix, in place of the whole. */
static int read_pointer(int dir, const char *name, const char *prefix, struct weir__buffer *path,
                        char why[WEIR__GIT_FIND_WHY_MAX])
{
    int error = weir__git_file_read(dir, name, path);
    if (error)
        return flaw(why, error, "cannot read '%s': %s", name, weir_error_text(error));
    size_t length = weir__buffer_length(path), skip = strlen(prefix);
    char *text = path->_data;
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    if (length <= skip || memcmp(text, prefix, skip) != 0 || memchr(text, '\0', length) ||
        memchr(text, '\n', length))
        return flaw(why, -WEIR_E_CORRUPT, "'%s' does not name a folder, as it should", name);
    memmove(text, text + skip, length - skip);
    text[length - skip] = '\0';
    weir__buffer_truncate(path, length - skip);
    return 0;
}

int weir__git_gitfile_read(int dir, struct weir__buffer *path, char why[WEIR__GIT_FIND_WHY_MAX])
{
    return read_pointer(dir, ".git", "gitdir: ", path, why);
}

/* --- folders as git makes them --- */

static bool is_known_absent(int errno_value)
{
    return errno_value == ENOENT || errno_value == ENOTDIR;
}

/* 1 when the folder has such a folder, with its identity; 0 when not. */
static int look_at_objects(int dir, struct weir__git_discovered *found)
{
    struct stat st;
    if (weir__sys_fstatat(dir, "objects", &st, 0) < 0)
        return is_known_absent(errno) ? 0 : weir_error_from_errno(errno);
    if (!S_ISDIR(st.st_mode))
        return 0;
    found->device = st.st_dev;
    found->inode = st.st_ino;
    return 1;
}

/* Those of a linked working tree are elsewhere. */
static int look_at_common(int git, struct weir__git_discovered *found,
                          char why[WEIR__GIT_FIND_WHY_MAX])
{
    struct weir__buffer path;
    struct stat st;
    if (weir__sys_fstatat(git, "commondir", &st, 0) < 0)
        return is_known_absent(errno) ? 0 : weir_error_from_errno(errno);
    weir__buffer_init(&path, POINTER_MAX);
    int result = read_pointer(git, "commondir", "", &path, why);
    if (result == 0) {
        const char *text = weir__buffer_text(&path);
        int common = weir__sys_openat(git, text, O_RDONLY | O_DIRECTORY, 0);
        result = common < 0 ? weir_error_from_errno(errno) : look_at_objects(common, found);
        weir__sys_close(common);
        if (result == 0)
            result = -WEIR_E_NOT_FOUND;
        if (result < 0)
            flaw(why, result, "the repository '%s' that it belongs to: %s", WEIR__CLIPPED(text),
                 weir_error_text(result));
    }
    weir__buffer_fini(&path);
    return result;
}

/* 1 when the open folder is one, 0 when it has nothing of it. */
static int look_at_gitdir(int git, struct weir__git_discovered *found,
                          char why[WEIR__GIT_FIND_WHY_MAX])
{
    struct stat st;
    int result = look_at_objects(git, found);
    if (result == 0)
        result = look_at_common(git, found, why);
    if (result <= 0)
        return result;
    /* It may be a symlink to a branch that has no commit. */
    if (weir__sys_fstatat(git, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    return flaw(why, is_known_absent(errno) ? -WEIR_E_NOT_FOUND : weir_error_from_errno(errno),
                "it has objects and no HEAD, so that git does not know it for a repository");
}

/* --- .git --- */

static int look_at_file(int dir, struct weir__git_discovered *found,
                        char why[WEIR__GIT_FIND_WHY_MAX])
{
    struct weir__buffer path;
    weir__buffer_init(&path, POINTER_MAX);
    int result = weir__git_gitfile_read(dir, &path, why);
    if (result == 0) {
        const char *text = weir__buffer_text(&path);
        int git = weir__sys_openat(dir, text, O_RDONLY | O_DIRECTORY, 0);
        why[0] = '\0';
        result = git < 0 ? weir_error_from_errno(errno) : look_at_gitdir(git, found, why);
        weir__sys_close(git);
        result = result == 0 ? -WEIR_E_NOT_FOUND : result;
        if (result < 0 && !why[0])
            flaw(why, result, "'.git' says that the repository is '%s': %s", WEIR__CLIPPED(text),
                 weir_error_text(result));
    }
    weir__buffer_fini(&path);
    found->found = WEIR__GIT_FOUND_LINKED;
    return result;
}

/* 1, 0 when there is none. */
static int look_at_git(int dir, struct weir__git_discovered *found,
                       char why[WEIR__GIT_FIND_WHY_MAX])
{
    struct stat st;
    if (weir__sys_fstatat(dir, ".git", &st, 0) < 0)
        return is_known_absent(errno) || errno == ELOOP ? 0 : weir_error_from_errno(errno);
    if (S_ISREG(st.st_mode))
        return look_at_file(dir, found, why);
    if (!S_ISDIR(st.st_mode))
        return 0;
    int git = weir__sys_openat(dir, ".git", O_RDONLY | O_DIRECTORY, 0);
    if (git < 0)
        return weir_error_from_errno(errno);
    int result = look_at_gitdir(git, found, why);
    weir__sys_close(git);
    found->found = WEIR__GIT_FOUND_TREE;
    return result;
}

/* --- the folder itself --- */

/* "ref: refs/..." or an id; a symlink is one of old. Other files have that name, too. */
static int look_at_head(int dir)
{
    struct weir__buffer text;
    struct stat st;
    if (weir__sys_fstatat(dir, "HEAD", &st, AT_SYMLINK_NOFOLLOW) < 0)
        return is_known_absent(errno) ? 0 : weir_error_from_errno(errno);
    if (S_ISLNK(st.st_mode))
        return 1;
    weir__buffer_init(&text, HEAD_MAX);
    int result = weir__git_file_read(dir, "HEAD", &text);
    if (result == 0) {
        struct weir__git_id id;
        const char *head = weir__buffer_text(&text);
        result = strncmp(head, "ref:", 4) == 0 ||
                 (weir__buffer_length(&text) >= 2 * WEIR__GIT_SHA1_SIZE &&
                  weir__git_id_from_hex(&id, head, WEIR__GIT_SHA1_SIZE) == 0);
    } else if (result == -WEIR_E_INVALID || result == -WEIR_E_TOO_LARGE) {
        result = 0;
    }
    weir__buffer_fini(&text);
    return result;
}

/* A working tree has an index, or this folder is its ".git", or it leads to the common one. */
static bool has_worktree(int dir)
{
    struct stat st, self, named;
    if (weir__sys_fstatat(dir, "index", &st, 0) == 0 ||
        weir__sys_fstatat(dir, "commondir", &st, 0) == 0)
        return true;
    return weir__sys_fstat(dir, &self) == 0 && weir__sys_fstatat(dir, "../.git", &named, 0) == 0 &&
           self.st_dev == named.st_dev && self.st_ino == named.st_ino;
}

static int look_at_self(int dir, struct weir__git_discovered *found)
{
    struct stat st;
    int result = look_at_head(dir);
    if (result > 0)
        result = look_at_objects(dir, found);
    if (result <= 0)
        return result;
    if (weir__sys_fstatat(dir, "refs", &st, 0) < 0)
        return is_known_absent(errno) ? 0 : weir_error_from_errno(errno);
    if (!S_ISDIR(st.st_mode))
        return 0;
    found->found = has_worktree(dir) ? WEIR__GIT_FOUND_GITDIR : WEIR__GIT_FOUND_BARE;
    return 1;
}

int weir__git_discover_seen(int dir, unsigned seen, struct weir__git_discovered *ret_found,
                            char why[WEIR__GIT_FIND_WHY_MAX])
{
    struct weir__git_discovered found = {.found = WEIR__GIT_FOUND_NONE};
    int result = 0;
    why[0] = '\0';
    if (seen & WEIR__GIT_SEEN_GIT)
        result = look_at_git(dir, &found, why);
    if (result == 0 && (seen & WEIR__GIT_SEEN_GITDIR) == WEIR__GIT_SEEN_GITDIR)
        result = look_at_self(dir, &found);
    if (result < 0)
        return why[0] ? result : flaw(why, result, "%s", weir_error_text(result));
    *ret_found = result ? found : (struct weir__git_discovered){.found = WEIR__GIT_FOUND_NONE};
    return 0;
}

int weir__git_discover(int dir, struct weir__git_discovered *ret_found,
                       char why[WEIR__GIT_FIND_WHY_MAX])
{
    return weir__git_discover_seen(dir, WEIR__GIT_SEEN_GIT | WEIR__GIT_SEEN_GITDIR, ret_found, why);
}
