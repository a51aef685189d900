/* list.c - --files-from: the names that a file lists, instead of all that a walk would find.
 *
 * The list is read as a stream. The directories on the way to a name are entered, made where they
 * are missing, and stay entered while the names that follow lie in them; leaving one puts its
 * metadata back. So a list in the order of a walk costs nothing extra, and memory is that of the
 * deepest name. A directory that is listed itself is made with its metadata, and what is in it is
 * copied if it is listed, too, or with -r. New directories have their final names at once, since a
 * later line may come back to them.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "cover.h"
#include "engine.h"
#include "lines.h"
#include "sys.h"

#include "banned.h"

#define LINE_MAX_BYTES (1u << 20)

struct list {
    struct weir__worker *w;
    struct weir__dir *top; /* the operand */
    struct weir__dir *at;  /* where the last name was; holds a reference of each up to top */
    const char *line;      /* at hand */
};

static void leave(struct list *list)
{
    struct weir__dir *dir = list->at;
    list->at = (struct weir__dir *)dir->node.parent;
    weir__dir_drop(list->w, dir);
}

/* Depth of where we are below the top. */
static unsigned depth_of(const struct list *list)
{
    unsigned depth = 0;
    for (const struct weir__dir *at = list->at; at != list->top;
         at = (const struct weir__dir *)at->node.parent)
        depth++;
    return depth;
}

static const struct weir__dir *ancestor(const struct list *list, unsigned up)
{
    const struct weir__dir *dir = list->at;
    while (up-- > 0)
        dir = (const struct weir__dir *)dir->node.parent;
    return dir;
}

/* The next part of a path, empty ones and "." left out; its length, or 0 at the end. */
static size_t next_part(const char **path)
{
    for (;;) {
        while (**path == '/')
            (*path)++;
        size_t length = strcspn(*path, "/");
        if (length != 1 || **path != '.')
            return length;
        (*path)++;
    }
}

/* Leaves what does not lie on the way to this path; returns the rest of the path. */
static const char *leave_what_differs(struct list *list, const char *path)
{
    unsigned depth = depth_of(list), shared = 0;
    const char *rest = path;
    for (; shared < depth; shared++) {
        size_t length = next_part(&rest);
        const struct weir__dir *dir = ancestor(list, depth - shared - 1);
        const char *after = rest + length;
        /* Only parts with something behind them are directories on the way. */
        if (*after != '/' || dir->name_length != length || memcmp(dir->name, rest, length) != 0)
            break;
        rest = after;
    }
    while (depth-- > shared)
        leave(list);
    return rest;
}

/* What is in a directory, but not what is in those in it; with -r, all. */
static void do_contents(struct list *list, const char *name)
{
    struct weir__worker *w = list->w;
    if (strcmp(name, ".") == 0)
        w->run->described_by = &w->run->sources[0]; /* DST was asked for by name */
    if (w->run->options->recursive) {
        weir__tree_hold(w->tree, &list->at->node);
        weir__enter(w, list->at, name);
        return;
    }
    struct weir__dir *dir = weir__enter_only(w, list->at, name);
    if (!dir)
        return;
    if (weir__dir_pin(w, dir) == 0) {
        weir__worker_list(w, dir);
        weir__dir_unpin(w, dir);
    } else {
        weir__tell_source_error(w, dir, NULL, "cannot open again", errno);
    }
    weir__dir_drop(w, dir);
}

/* Of a name as somebody wrote it, which may be something else. */
static void tell_typed(struct weir__worker *w, struct weir__dir *at, const char *name,
                       const char *what, int error)
{
    char shown[PATH_MAX];
    weir__tell_source_error(w, at, weir__cover_clip(shown, sizeof(shown), name, SIZE_MAX), what,
                            error);
}

static void do_last(struct list *list, const char *name, bool with_contents)
{
    struct weir__worker *w = list->w;
    struct stat st;
    if (weir__dir_pin(w, list->at) < 0) {
        weir__tell_source_error(w, list->at, name, "cannot open the directory of", errno);
        return;
    }
    int result = weir__sys_fstatat(list->at->src_fd, name, &st, AT_SYMLINK_NOFOLLOW);
    if (result < 0)
        tell_typed(w, list->at, name, errno == ENOENT ? "cannot find" : "cannot open", errno);
    else if (weir__worker_is_wanted(w, list->at, name, (unsigned char)IFTODT(st.st_mode)) &&
             !S_ISDIR(st.st_mode))
        weir__entry(w, list->at, name, (unsigned char)IFTODT(st.st_mode));
    weir__dir_unpin(w, list->at);
    if (result == 0 && S_ISDIR(st.st_mode) && (with_contents || w->run->options->recursive)) {
        do_contents(list, name);
    } else if (result == 0 && S_ISDIR(st.st_mode)) {
        struct weir__dir *dir = weir__enter_only(w, list->at, name);
        if (dir)
            weir__dir_drop(w, dir);
    }
}

/* Whether ".." is a part of the path. */
static bool leads_up(const char *path)
{
    size_t length;
    for (; (length = next_part(&path)) > 0; path += length)
        if (length == 2 && path[0] == '.' && path[1] == '.')
            return true;
    return false;
}

static void do_path(struct list *list, const char *path)
{
    char name[WEIR__NAME_SIZE];
    const char *start = path;
    if (next_part(&start) == 0) {
        while (list->at != list->top)
            leave(list);
        do_contents(list, ".");
        return;
    }
    if (leads_up(path)) {
        weir__tell_source_error(list->w, NULL, path,
                                "cannot copy what may lie outside of the source:", 0);
        return;
    }
    if (strstr(path, "/./")) {
        weir__tell_source_error(list->w, NULL, path, "cannot copy, '/./' has no meaning here:", 0);
        return;
    }
    path = leave_what_differs(list, path);
    for (;;) {
        size_t length = next_part(&path);
        if (length == 0)
            return;
        if (length > NAME_MAX) {
            weir__tell_source_error(list->w, NULL, list->line,
                                    "cannot copy, a name is too long:", 0);
            return;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        path += length;
        const char *more = path;
        if (next_part(&more) == 0) {
            do_last(list, name, *path == '/');
            return;
        }
        struct weir__dir *dir = weir__enter_only(list->w, list->at, name);
        if (!dir)
            return;
        list->at = dir;
    }
}

static void do_lines(struct list *list, struct weir__lines *lines)
{
    const struct weir__copy_options *options = list->w->run->options;
    size_t length;
    int result = 0;
    while (!weir__is_stopped(list->w) &&
           (result = weir__lines_next(lines, &list->line, &length)) > 0) {
        /* As in rsync: comments begin with ; or #, and empty lines say nothing. */
        bool is_comment = !options->from0 && (list->line[0] == '#' || list->line[0] == ';');
        if (list->line[0] != '\0' && !is_comment)
            do_path(list, list->line);
    }
    if (result == -WEIR_E_OVERFLOW)
        tell_typed(list->w, NULL, options->files_from, "cannot read a line longer than 1 MiB in",
                   0);
    else if (result < 0)
        tell_typed(list->w, NULL, options->files_from, "cannot read", errno);
}

int weir__list_main(struct weir__worker *w, struct weir__dir *top)
{
    const struct weir__copy_options *options = w->run->options;
    struct list list = {.w = w, .top = top, .at = top};
    struct weir__lines lines;
    if (weir__lines_open(&lines, options->files_from,
                         options->from0 ? WEIR__LINES_NUL : WEIR__LINES_CRLF, LINE_MAX_BYTES) < 0)
        tell_typed(w, NULL, options->files_from, "cannot open", errno);
    else
        do_lines(&list, &lines);
    while (list.at != top)
        leave(&list);
    weir__lines_fini(&lines);
    return 0;
}
