/* discover_find.c - the repositories of a tree. */
#include "discover.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>

#include "entries.h"
#include "refs_file.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

#define WINDOW 32768u

void weir__git_finding_init(struct weir__git_finding *finding,
                            const struct weir__git_find_options *options, weir__git_found_fn *fn,
                            void *arg)
{
    *finding = (struct weir__git_finding){.options = options, .fn = fn, .arg = arg};
    weir__git_set_init(&finding->known, WEIR__GIT_ID_SIZE_MAX, 0, 0);
    weir__buffer_init(&finding->folders, WEIR__GIT_FIND_BYTES);
}

void weir__git_finding_fini(struct weir__git_finding *finding)
{
    weir__git_set_fini(&finding->known);
    weir__buffer_fini(&finding->folders);
}

void weir__git_finding_tell(struct weir__git_finding *finding, const char *format, ...)
{
    char text[2 * WEIR__GIT_FIND_WHY_MAX];
    va_list args;
    finding->stats.problems++;
    if (!finding->options->problem)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    finding->options->problem(finding->options->problem_arg, text);
}

/* --- what is known --- */

int weir__git_finding_note(struct weir__git_set *set, dev_t device, ino_t inode)
{
    struct weir__git_id id = {{0}};
    uint32_t ignored;
    memcpy(id.bytes, &device, sizeof(device));
    memcpy(id.bytes + sizeof(device), &inode, sizeof(inode));
    return weir__git_set_add(set, &id, &ignored);
}

int weir__git_finding_give(struct weir__git_finding *finding, const char *path,
                           const struct weir__git_discovered *found)
{
    int result = weir__git_finding_note(&finding->known, found->device, found->inode);
    if (result < 0)
        return result;
    if (result == 0) {
        finding->stats.again++;
        return 0;
    }
    finding->stats.repos++;
    return finding->fn(finding->arg, path, found);
}

/* --- folders that wait --- */

static int put(struct weir__git_finding *finding, const char *folder, const char *name)
{
    size_t before = weir__buffer_length(&finding->folders);
    int error = folder[0] ? weir__buffer_printf(&finding->folders, "%s/%s", folder, name)
                          : weir__buffer_puts(&finding->folders, name);
    if (!error)
        error = weir__buffer_putc(&finding->folders, '\0');
    if (error)
        weir__buffer_truncate(&finding->folders, before);
    return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
}

/* What git has in a folder of its own; anything else there may be somebody's. */
static bool is_gits(const struct weir__git_finding *finding, const char *name)
{
    static const char *const names[] = {"objects", "refs",      "hooks",    "info",    "logs",
                                        "lfs",     "worktrees", "branches", "rr-cache"};
    if (strcmp(name, "modules") == 0)
        return !finding->has_modules;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Of the folders that were put since, those that are git's go. */
static void sift(struct weir__git_finding *finding, size_t from)
{
    char *text = finding->folders._data;
    size_t length = weir__buffer_length(&finding->folders), kept = from;
    for (size_t at = from; at < length;) {
        size_t size = strlen(text + at) + 1;
        const char *slash = strrchr(text + at, '/');
        if (!is_gits(finding, slash ? slash + 1 : text + at)) {
            memmove(text + kept, text + at, size);
            kept += size;
        }
        at += size;
    }
    weir__buffer_truncate(&finding->folders, kept);
}

/* --- reading one --- */

static bool is_folder(int fd, const struct weir__dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    if (weir__sys_fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return S_ISDIR(st.st_mode);
    return errno != ENOENT; /* opening it will say what is wrong */
}

static unsigned depth_of(const char *path)
{
    unsigned depth = path[0] != '\0';
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

/* Puts the folders in it, and says what its names say. */
static int list(struct weir__git_finding *finding, int fd, const char *path, const char *shown,
                unsigned *ret_seen)
{
    _Alignas(struct weir__dirent) char window[WINDOW];
    unsigned most =
        finding->options->depth_max ? finding->options->depth_max : WEIR__GIT_FIND_DEPTH;
    bool is_deep = depth_of(path) >= most;
    uint64_t left_out = 0;
    ssize_t size;
    int error = 0;
    while (!error && (size = weir__sys_getdents(fd, window, sizeof(window))) > 0)
        for (ssize_t at = 0; at < size && !error;) {
            const struct weir__dirent *entry = weir__dirent_at(window, at);
            at += entry->d_reclen;
            *ret_seen |= weir__git_seen(entry->d_name);
            if (weir__dirent_is_dots(entry->d_name) || strcmp(entry->d_name, ".git") == 0 ||
                !is_folder(fd, entry))
                continue;
            if (is_deep || strlen(path) + strlen(entry->d_name) + 2 > WEIR__GIT_FIND_PATH_MAX)
                left_out++;
            else
                error = put(finding, path, entry->d_name);
        }
    if (!error && size < 0)
        weir__git_finding_tell(finding, "cannot read all of '%s': %s", WEIR__CLIPPED(shown),
                               weir_error_text(weir_error_from_errno(errno)));
    if (left_out > 0)
        weir__git_finding_tell(finding, "cannot look into all of '%s': it is too deep",
                               WEIR__CLIPPED(shown));
    return error;
}

static int look(struct weir__git_finding *finding, int fd, const char *path, const char *shown)
{
    char why[WEIR__GIT_FIND_WHY_MAX];
    struct weir__git_discovered found;
    unsigned seen = 0;
    size_t from = weir__buffer_length(&finding->folders);
    finding->stats.folders++;
    int error = list(finding, fd, path, shown, &seen);
    if (error || !weir__git_seen_is_any(seen))
        return error;
    error = weir__git_discover_seen(fd, seen, &found, why);
    if (error == -WEIR_E_NO_MEMORY)
        return error;
    if (error) {
        weir__git_finding_tell(finding, "the repository in '%s' cannot be used: %s",
                               WEIR__CLIPPED(shown), why);
        return 0;
    }
    if (found.found == WEIR__GIT_FOUND_NONE)
        return 0;
    if (found.found == WEIR__GIT_FOUND_BARE || found.found == WEIR__GIT_FOUND_GITDIR)
        sift(finding, from);
    return weir__git_finding_give(finding, shown, &found);
}

static bool has_vanished(int errno_value)
{
    return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ELOOP;
}

/* One that waited. */
static int visit(struct weir__git_finding *finding, int top, const char *root, const char *path)
{
    struct weir__buffer shown;
    size_t length = strlen(root);
    int fd = weir__git_open_inside(top, path);
    int failure = fd < 0 ? errno : 0;
    if (has_vanished(failure))
        return 0;
    weir__buffer_init(&shown, 2 * (size_t)WEIR__GIT_FIND_PATH_MAX);
    int error = weir__buffer_printf(&shown, "%s%s%s", root,
                                    length > 0 && root[length - 1] == '/' ? "" : "/", path);
    if (!error && failure)
        weir__git_finding_tell(finding, "cannot open '%s': %s",
                               WEIR__CLIPPED(weir__buffer_text(&shown)),
                               weir_error_text(weir_error_from_errno(failure)));
    else if (!error)
        error = look(finding, fd, path, weir__buffer_text(&shown));
    weir__sys_close(fd);
    weir__buffer_fini(&shown);
    return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
}

int weir__git_finding_run(struct weir__git_finding *finding, const char *root)
{
    char path[WEIR__GIT_FIND_PATH_MAX];
    int top = weir__sys_openat(AT_FDCWD, root, O_RDONLY | O_DIRECTORY, 0);
    if (top < 0)
        return weir_error_from_errno(errno);
    int error = look(finding, top, "", root);
    while (!error && weir__git_folder_take(&finding->folders, path)) {
        if (finding->options->stop && weir_cancel_is_fired(finding->options->stop))
            error = -WEIR_E_CANCELED;
        else
            error = visit(finding, top, root, path);
    }
    weir__sys_close(top);
    return error;
}

int weir__git_find_repos(const char *root, const struct weir__git_find_options *options,
                         weir__git_found_fn *fn, void *arg, struct weir__git_find_stats *ret_stats)
{
    struct weir__git_finding finding;
    weir__git_finding_init(&finding, options, fn, arg);
    int error = strlen(root) < WEIR__GIT_FIND_PATH_MAX ? weir__git_finding_run(&finding, root)
                                                       : -WEIR_E_TOO_LARGE;
    if (error && finding.stats.folders == 0)
        weir__git_finding_tell(&finding, "cannot open '%s': %s", WEIR__CLIPPED(root),
                               weir_error_text(error));
    *ret_stats = finding.stats;
    weir__git_finding_fini(&finding);
    return error;
}
