/* store_find.c - from a path that somebody gives to the folders of a repository. */
#include "store_part.h"

#include <errno.h>
#include <stdio.h>

#include "alloc.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

#define TEXT_MAX ((size_t)1 << 20)
#define WINDOW   32768u

int weir__git_read_file(int folder, const char *name, struct weir__buffer *ret_text)
{
    char window[4096];
    weir__buffer_init(ret_text, TEXT_MAX);
    int fd = weir__sys_openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return weir_error_from_errno(errno);
    int result = 0;
    ssize_t count = 0;
    while (result == 0 && (count = weir__sys_read(fd, window, sizeof(window))) > 0)
        result = weir__buffer_append(ret_text, window, (size_t)count);
    if (count < 0)
        result = weir_error_from_errno(errno);
    weir__sys_close(fd);
    return result == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : result;
}

struct entry { /* as the kernel has it */
    ino64_t inode;
    off64_t next;
    unsigned short size;
    unsigned char type;
    char name[];
};

static bool is_itself(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

int weir__git_list_folder(int folder, const char *name, int (*fn)(void *arg, const char *entry),
                          void *arg)
{
    int fd = weir__sys_openat(folder, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : weir_error_from_errno(errno);
    char *window = weir__base_realloc(NULL, WINDOW, 1);
    int result = window ? 0 : -WEIR_E_NO_MEMORY;
    ssize_t size = 0;
    while (result == 0 && (size = weir__sys_getdents(fd, window, WINDOW)) > 0)
        for (ssize_t at = 0; at < size && result == 0;) {
            const struct entry *entry = (const struct entry *)(const void *)(window + at);
            if (!is_itself(entry->name))
                result = fn(arg, entry->name);
            at += entry->size;
        }
    /* One that was removed since it was opened has none, either. */
    if (result == 0 && size < 0 && errno != ENOENT)
        result = weir_error_from_errno(errno);
    weir__base_free(window);
    weir__sys_close(fd);
    return result;
}

/* --- paths --- */

/* folder/name, or name alone where it begins at the root or folder is NULL. NULL without memory or
 * when too long. */
static char *join(const char *folder, size_t folder_length, const char *name, size_t length)
{
    bool is_alone = !folder || (length > 0 && name[0] == '/');
    size_t before = is_alone ? 0 : folder_length + 1;
    if (before + length >= WEIR__GIT_PATH_MAX)
        return NULL;
    char *path = weir__base_alloc(before + length + 1, 1);
    if (!path)
        return NULL;
    if (!is_alone) {
        memcpy(path, folder, folder_length);
        path[folder_length] = '/';
    }
    memcpy(path + before, name, length);
    return path;
}

/* A file that holds a path in one line, behind a prefix: that path, joined to the folder. */
static int read_pointer(struct weir__git_store *store, const char *file, const char *folder,
                        size_t folder_length, const char *prefix, char **ret_path)
{
    struct weir__buffer text;
    int result = weir__git_read_file(AT_FDCWD, file, &text);
    const char *line = weir__buffer_text(&text);
    size_t length = weir__buffer_length(&text), skip = strlen(prefix);
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    if (result < 0) {
        result = weir__git_store_fail(store, -result, "cannot read '%s': %s", WEIR__CLIPPED(file),
                                      weir_error_text(result));
    } else if (length <= skip || memcmp(line, prefix, skip) != 0 || memchr(line, '\0', length) ||
               memchr(line, '\n', length)) {
        result =
            weir__git_store_fail(store, WEIR_E_CORRUPT, "'%s' does not name a folder, as it should",
                                 WEIR__CLIPPED(file));
    } else {
        char *path = join(folder, folder_length, line + skip, length - skip);
        if (path)
            *ret_path = path;
        else
            result = weir__git_store_fail(store, WEIR_E_TOO_LARGE, "the path in '%s' is too long",
                                          WEIR__CLIPPED(file));
    }
    weir__buffer_fini(&text);
    return result;
}

/* 0: it is not there, or nobody may know, which is the store's problem then. */
static mode_t kind_of(struct weir__git_store *store, const char *folder, const char *name)
{
    struct stat st;
    char path[WEIR__GIT_PATH_MAX], shown[WEIR__GIT_FLAW_PATH];
    int length = name ? snprintf(path, sizeof(path), "%s/%s", folder, name)
                      : snprintf(path, sizeof(path), "%s", folder);
    if (length < 0 || (size_t)length >= sizeof(path))
        return 0;
    /* HEAD may be a link to a branch that has no commit yet. */
    if (weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0 ||
        weir__sys_fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return st.st_mode & S_IFMT;
    if (errno != ENOENT && errno != ENOTDIR && !store->problem[0])
        weir__git_store_fail(store, WEIR_E_DENIED, "cannot look into '%s': %s",
                             weir__text_clip(shown, sizeof(shown), folder, SIZE_MAX),
                             weir_error_text(weir_error_from_errno(errno)));
    return 0;
}

static bool is_gitdir(struct weir__git_store *store, const char *path)
{
    return kind_of(store, path, "HEAD") && (kind_of(store, path, "objects") == S_IFDIR ||
                                            kind_of(store, path, "commondir") == S_IFREG);
}

/* Of a folder that is none. */
static const char *what_lacks(struct weir__git_store *store, const char *path)
{
    if (kind_of(store, path, "HEAD"))
        return "folder 'objects'";
    return kind_of(store, path, "objects") == S_IFDIR ? "HEAD" : "HEAD and no objects";
}

static int find_gitdir(struct weir__git_store *store, const char *path, size_t length)
{
    char *inner = join(path, length, ".git", 4);
    if (!inner)
        return weir__git_store_fail(store, WEIR_E_TOO_LARGE, "the path is too long");
    mode_t kind = kind_of(store, path, ".git");
    int result = 0;
    if (kind == S_IFREG) {
        result = read_pointer(store, inner, path, length, "gitdir: ", &store->gitdir);
        weir__base_free(inner);
    } else if (kind == S_IFDIR) {
        store->gitdir = inner;
    } else {
        weir__base_free(inner);
        store->gitdir = join(NULL, 0, path, length);
        if (!store->gitdir)
            return weir__git_store_fail(store, WEIR_E_NO_MEMORY, "out of memory");
    }
    return result;
}

int weir__git_store_find(struct weir__git_store *store, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 0 || length >= WEIR__GIT_PATH_MAX)
        return weir__git_store_fail(store, WEIR_E_INVALID, "the path is empty or too long");
    int result;
    if (kind_of(store, path, NULL) == S_IFREG) {
        const char *slash = strrchr(path, '/');
        result = slash ? read_pointer(store, path, path, (size_t)(slash - path),
                                      "gitdir: ", &store->gitdir)
                       : read_pointer(store, path, ".", 1, "gitdir: ", &store->gitdir);
    } else {
        result = find_gitdir(store, path, length);
    }
    if (result < 0)
        return result;
    if (!is_gitdir(store, store->gitdir))
        return store->problem[0]
                   ? -WEIR_E_DENIED
                   : weir__git_store_fail(store, WEIR_E_NOT_FOUND,
                                          "'%s' is not a git repository: '%s' has no %s; give the "
                                          "folder that has '.git', or a "
                                          "bare repository",
                                          WEIR__CLIPPED(path), WEIR__CLIPPED(store->gitdir),
                                          what_lacks(store, store->gitdir));
    char *file = join(store->gitdir, strlen(store->gitdir), "commondir", 9);
    if (!file)
        return weir__git_store_fail(store, WEIR_E_TOO_LARGE, "the path is too long");
    if (kind_of(store, file, NULL) == S_IFREG)
        result =
            read_pointer(store, file, store->gitdir, strlen(store->gitdir), "", &store->commondir);
    else if (!(store->commondir = join(NULL, 0, store->gitdir, strlen(store->gitdir))))
        result = weir__git_store_fail(store, WEIR_E_NO_MEMORY, "out of memory");
    weir__base_free(file);
    if (result == 0 && kind_of(store, store->commondir, "objects") != S_IFDIR)
        return store->problem[0]
                   ? -WEIR_E_DENIED
                   : weir__git_store_fail(store, WEIR_E_NOT_FOUND, "'%s' has no folder 'objects'",
                                          WEIR__CLIPPED(store->commondir));
    return result;
}
