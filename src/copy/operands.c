/* operands.c - what the user named: the sources and where they go.
 *
 *   SRC DST/    SRC is copied into DST, under its own name
 *   SRC/ DST    the contents of SRC are copied into DST ("." and ".." are contents, too)
 *   FILE DST    DST is the name of the copy, unless it is a directory
 *   many DST    DST is a directory
 *
 * DST is made if it is not there; the directory that it is to be in must exist. All of this is
 * found out before anything is changed, and what cannot work is refused at once.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "alloc.h"
#include "cover.h"
#include "engine.h"
#include "operands.h"
#include "sys.h"

#include "banned.h"

/* How far up "the destination lies in a source" is looked for. */
#define ANCESTORS_MAX 1000000u

static char *copy_text(const char *text, size_t length, const char *end)
{
    size_t extra = strlen(end);
    char *copy = weir__base_alloc(1, length + extra + 1);
    if (copy) {
        memcpy(copy, text, length);
        memcpy(copy + length, end, extra + 1);
    }
    return copy;
}

/* The path is as it was typed, so it may be something else. */
static int refuse(struct weir__copy *run, const char *path, const char *what, const char *detail,
                  int errno_value)
{
    char shown[PATH_MAX];
    struct weir__copy_event event = {.kind = WEIR__EVENT_ERROR,
                                     .path = weir__cover_clip(shown, sizeof(shown), path, SIZE_MAX),
                                     .what = what,
                                     .detail = detail,
                                     .errno_value = errno_value};
    if (run->hooks.event)
        run->hooks.event(run->hooks.arg, &event);
    return errno_value != 0 ? weir_error_from_errno(errno_value) : -WEIR_E_INVALID;
}

/* Splits "a/b//" into the folder "a/" and the name "b". */
static size_t split(const char *text, size_t *ret_length, const char **ret_name)
{
    size_t length = strlen(text);
    while (length > 1 && text[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && text[start - 1] != '/')
        start--;
    *ret_length = length;
    *ret_name = text + start;
    return start;
}

static bool is_dots(const char *name, size_t length)
{
    return (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
}

/* A folder that may be used and not listed is enough for a name that is known. */
int weir__operands_open(int dir_fd, const char *path)
{
    int fd = weir__sys_openat(dir_fd, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 && errno == EACCES)
        fd = weir__sys_openat(dir_fd, path, O_PATH | O_DIRECTORY, 0);
    return fd;
}

/* --- sources --- */

static int open_contents(struct weir__source *source)
{
    source->is_contents = true;
    source->fd = weir__sys_openat(AT_FDCWD, source->text, O_RDONLY | O_DIRECTORY, 0);
    size_t length = strlen(source->text);
    bool has_slash = length > 0 && source->text[length - 1] == '/';
    source->prefix = copy_text(source->text, length, has_slash ? "" : "/");
    if (source->fd < 0 || weir__sys_fstat(source->fd, &source->st) < 0)
        return -1;
    source->is_dir = true;
    return 0;
}

static int open_named(struct weir__source *source, size_t start, const char *name, size_t length)
{
    if (length > NAME_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(source->name, name, length);
    source->name[length] = '\0';
    source->prefix = copy_text(source->text, start, "");
    char *folder = copy_text(source->text, start, start > 0 ? "" : ".");
    if (!folder || !source->prefix) {
        weir__base_free(folder);
        errno = ENOMEM;
        return -1;
    }
    source->fd = weir__operands_open(AT_FDCWD, folder);
    weir__base_free(folder);
    if (source->fd < 0 ||
        weir__sys_fstatat(source->fd, source->name, &source->st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    source->is_dir = S_ISDIR(source->st.st_mode);
    return 0;
}

/* A source that is not there is an error of its own; the others are copied. */
static int open_source(struct weir__copy *run, struct weir__source *source)
{
    size_t length;
    const char *name;
    source->fd = -1;
    if (source->text[0] == '\0')
        return refuse(run, "", "cannot copy", "a source is empty: give '.' for this directory", 0);
    size_t start = split(source->text, &length, &name);
    size_t name_length = length - start;
    bool is_contents = source->text[length] == '/' || is_dots(name, name_length) ||
                       name_length == 0 || run->options->files_from;
    int result = is_contents ? open_contents(source) : open_named(source, start, name, name_length);
    if (result == 0 && !source->prefix)
        return -WEIR_E_NO_MEMORY;
    if (result == 0)
        return 0;
    source->is_missing = true;
    refuse(run, source->text, errno == ENOENT ? "cannot find" : "cannot open", NULL, errno);
    run->counts.errors++;
    run->has_source_errors = true;
    return 0;
}

/* Whether two sources can bring something to the same path. */
static bool overlap(const struct weir__source *a, const struct weir__source *b)
{
    return a->is_contents || b->is_contents || strcmp(a->name, b->name) == 0;
}

int weir__operands_sources(struct weir__copy *run)
{
    size_t count = run->options->sources_count;
    run->sources = weir__base_alloc(count, sizeof(*run->sources));
    if (!run->sources)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        run->sources[i].fd = -1;
    for (size_t i = 0; i < count; i++) {
        run->sources[i].text = run->options->sources[i];
        int result = open_source(run, &run->sources[i]);
        if (result < 0)
            return result;
        for (size_t j = 0; j < i; j++)
            run->has_overlap = run->has_overlap || overlap(&run->sources[i], &run->sources[j]);
        if (!run->described_by && run->sources[i].is_contents && !run->sources[i].is_missing &&
            run->options->recursive && !run->options->files_from)
            run->described_by = &run->sources[i];
    }
    return 0;
}

void weir__operands_fini(struct weir__copy *run)
{
    for (size_t i = 0; run->sources && i < run->options->sources_count; i++) {
        weir__sys_close(run->sources[i].fd);
        weir__base_free(run->sources[i].prefix);
    }
    weir__base_free(run->sources);
    weir__base_free(run->base_path);
    weir__sys_close(run->base_fd);
}

/* --- the destination --- */

/* Whether the open directory lies in, or is, the one with this device and inode: 1, 0, or -1 with
 * errno. */
static int lies_in(int fd, const struct stat *ancestor)
{
    struct stat st, above;
    int at = weir__sys_openat(fd, ".", O_PATH | O_DIRECTORY, 0);
    int result = at >= 0 && weir__sys_fstat(at, &st) == 0 ? 0 : -1;
    for (unsigned i = 0; result == 0 && i < ANCESTORS_MAX; i++) {
        if (st.st_dev == ancestor->st_dev && st.st_ino == ancestor->st_ino) {
            result = 1;
            break;
        }
        int up = weir__sys_openat(at, "..", O_PATH | O_DIRECTORY, 0);
        weir__sys_close(at);
        at = up;
        if (at < 0 || weir__sys_fstat(at, &above) < 0)
            result = -1;
        else if (above.st_dev == st.st_dev && above.st_ino == st.st_ino)
            break;
        else
            st = above;
    }
    weir__sys_close(at);
    return result;
}

/* Copying a directory into itself would never end. */
static int check_itself(struct weir__copy *run)
{
    struct stat dst, there;
    if (weir__sys_fstat(run->base_fd, &dst) < 0)
        return refuse(run, run->options->destination, "cannot look at", NULL, errno);
    if (!run->is_dst_made && !run->is_dst_file) {
        run->dst_device = dst.st_dev;
        run->dst_inode = dst.st_ino;
    }
    for (size_t i = 0; i < run->options->sources_count; i++) {
        const struct weir__source *source = &run->sources[i];
        if (source->is_missing || !source->is_dir || run->options->files_from)
            continue;
        bool is_same =
            !source->is_contents && !run->is_dst_made && !run->is_dst_file &&
            weir__sys_fstatat(run->base_fd, source->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            there.st_dev == source->st.st_dev && there.st_ino == source->st.st_ino;
        if (is_same)
            return refuse(run, source->text, "cannot copy",
                          "source and destination are the same directory", 0);
        /* A walk that stays on one file system does not come to another. */
        if (run->options->one_file_system && dst.st_dev != source->st.st_dev)
            continue;
        int lies = lies_in(run->base_fd, &source->st);
        if (lies < 0)
            return refuse(run, run->options->destination, "cannot look above", NULL, errno);
        if (lies > 0)
            return refuse(run, source->text, "cannot copy",
                          "the destination lies in it: a directory cannot be copied into itself",
                          0);
    }
    return 0;
}

static int open_parent(struct weir__copy *run, size_t start, const char *name, size_t length)
{
    const char *text = run->options->destination;
    if (length > NAME_MAX || is_dots(name, length))
        return refuse(run, text, "cannot make", NULL, length > NAME_MAX ? ENAMETOOLONG : ENOENT);
    memcpy(run->base_name, name, length);
    run->base_name[length] = '\0';
    run->base_path = copy_text(text, start, "");
    char *folder = copy_text(text, start, start > 0 ? "" : ".");
    if (folder)
        run->base_fd = weir__operands_open(AT_FDCWD, folder);
    int result = !folder || !run->base_path ? -WEIR_E_NO_MEMORY : 0;
    if (result == 0 && run->base_fd < 0)
        result = refuse(run, folder,
                        errno == ENOENT ? "cannot find the folder of the destination"
                                        : "cannot open the folder of the destination",
                        errno == ENOENT ? "there is none: make it first (mkdir -p)" : NULL, errno);
    weir__base_free(folder);
    return result;
}

static int open_existing(struct weir__copy *run)
{
    const char *text = run->options->destination;
    size_t length = strlen(text);
    run->base_fd = weir__operands_open(AT_FDCWD, text);
    if (run->base_fd < 0)
        return refuse(run, text, "cannot open", NULL, errno);
    run->base_path = copy_text(text, length, text[length - 1] == '/' ? "" : "/");
    return run->base_path ? 0 : -WEIR_E_NO_MEMORY;
}

static bool is_dangling(const char *text, size_t length)
{
    struct stat st;
    char *name = copy_text(text, length, "");
    bool is_link = name && weir__sys_fstatat(AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISLNK(st.st_mode);
    weir__base_free(name);
    return is_link;
}

int weir__operands_destination(struct weir__copy *run)
{
    const char *text = run->options->destination, *name;
    size_t length, count = run->options->sources_count;
    if (text[0] == '\0')
        return refuse(run, "", "cannot copy",
                      "the destination is empty: give '.' for this directory", 0);
    weir__sys_close_at(&run->base_fd);
    weir__base_free(run->base_path);
    run->base_path = NULL;
    run->base_name[0] = '\0';
    run->is_dst_made = run->is_dst_file = false;
    size_t start = split(text, &length, &name);
    struct stat st;
    bool is_there = weir__sys_fstatat(AT_FDCWD, text, &st, 0) == 0;
    if (!is_there && errno != ENOENT && errno != ENOTDIR)
        return refuse(run, text, "cannot look at", NULL, errno);
    int result;
    if (is_there && S_ISDIR(st.st_mode)) {
        result = open_existing(run);
    } else {
        bool needs_dir = count > 1 || run->sources[0].is_dir || text[length] == '/';
        if (is_there && needs_dir)
            return refuse(run, text, "cannot copy to", "it is not a directory", 0);
        if (!is_there && needs_dir && is_dangling(text, length))
            return refuse(run, text, "cannot copy to", "it is a symbolic link that leads nowhere",
                          0);
        run->is_dst_made = needs_dir;
        run->is_dst_file = !needs_dir;
        result = open_parent(run, start, name, length - start);
    }
    return result < 0 ? result : check_itself(run);
}

bool weir__operands_enter(struct weir__worker *w, struct weir__dir *dir, struct weir__dir *target)
{
    dir->src_fd = weir__operands_open(dir->source->fd, ".");
    if (dir->src_fd < 0) {
        weir__tell_source_error(w, dir, NULL, "cannot open", errno);
        return false;
    }
    if (target->dst_fd < 0)
        return true;
    dir->dst_fd = weir__operands_open(target->dst_fd, ".");
    if (dir->dst_fd < 0)
        weir__tell_error(w, target, NULL, "cannot open", errno);
    return dir->dst_fd >= 0;
}

int weir__operands_beside(struct weir__copy *run, char name[WEIR__NAME_SIZE])
{
    const char *text = run->options->destination, *last;
    size_t length, start = split(text, &length, &last);
    if (length == start || length - start > NAME_MAX || is_dots(last, length - start))
        return -1;
    memcpy(name, last, length - start);
    name[length - start] = '\0';
    char *folder = copy_text(text, start, start > 0 ? "" : ".");
    int fd = folder ? weir__sys_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0) : -1;
    weir__base_free(folder);
    return fd;
}
