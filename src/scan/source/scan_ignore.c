/* scan_ignore.c - which rules of .gitignore files apply where.
 *
 *     base ◀── rules of the top ◀── rules of src ◀── rules of src/gen
 *                                        ▲                 ▲
 *                              a frame of one thread    a job for another
 *
 * Each directory with a .gitignore in it adds a link to the chain, and whoever is in a directory or
 * is about to go there holds the link that applies; a link holds the one above it. The base says
 * how the paths that are shown become paths from the top of the repository, which is what rules are
 * about.
 *
 * A directory with a .git in it is the top of a repository, and rules from above end there. Where a
 * tree begins below the top, the files on the way from the top are read as well. Where there is no
 * repository, rules begin with the tree. Other sources of rules (.git/info/exclude, the user's own
 * file) are not read, nor is the index: a file that is tracked although a rule names it is left
 * out.
 *
 * A file of rules that cannot be used is told, since it might have taken back what one above it
 * ignores. Memory: all links together take at most WEIR__SCAN_IGNORES_BYTES.
 */
#include "scan_part.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "ignore.h"
#include "log.h"
#include "sys.h"

#include "banned.h"

struct weir__scan_ignore {
    struct weir__scan_ignore *above; /* held */
    const struct weir__scan_ignore *base;
    struct weir__ignore *rules;                /* NULL in a base */
    struct weir__scan_ignore *before, *behind; /* all of the run */
    uint64_t holders;
    size_t bytes;
    size_t skip;   /* of a base: bytes of a shown path that lead to where the tree begins */
    char prefix[]; /* of a base: the way there from the top, with its slash, or nothing */
};

/* --- links --- */

/* Held once. Takes the rules, whatever happens, and the hold of the one above unless it fails. */
static struct weir__scan_ignore *make(struct weir__scan_worker *w, struct weir__scan_ignore *above,
                                      struct weir__ignore *rules, const char *prefix, size_t length,
                                      int *ret_error)
{
    struct weir__scan *run = w->run;
    struct weir__scan_ignore *link = weir__base_alloc(1, sizeof(*link) + length + 2);
    size_t bytes = sizeof(*link) + length + 2 + (rules ? weir__ignore_bytes(rules) : 0);
    bool has_room = false;
    if (link) {
        *link = (struct weir__scan_ignore){.above = above, .rules = rules, .holders = 1};
        link->base = above ? above->base : link;
        link->bytes = bytes;
        memcpy(link->prefix, prefix, length);
        if (length > 0)
            link->prefix[length] = '/';
        weir_lock_acquire(&run->lock);
        has_room = bytes <= WEIR__SCAN_IGNORES_BYTES - run->ignores_bytes;
        if (has_room) {
            run->ignores_bytes += bytes;
            link->behind = run->ignores;
            if (run->ignores)
                run->ignores->before = link;
            run->ignores = link;
        }
        weir_lock_release(&run->lock);
    }
    if (has_room)
        return link;
    *ret_error = link ? -WEIR_E_TOO_LARGE : -WEIR_E_NO_MEMORY;
    weir__ignore_free(rules);
    weir__base_free(link);
    return NULL;
}

struct weir__scan_ignore *weir__scan_ignore_hold(struct weir__scan *run,
                                                 struct weir__scan_ignore *ignore)
{
    if (!ignore)
        return NULL;
    weir_lock_acquire(&run->lock);
    ignore->holders++;
    weir_lock_release(&run->lock);
    return ignore;
}

static void unlink_it(struct weir__scan *run, struct weir__scan_ignore *link)
{
    run->ignores_bytes -= link->bytes;
    if (link->before)
        link->before->behind = link->behind;
    else
        run->ignores = link->behind;
    if (link->behind)
        link->behind->before = link->before;
}

void weir__scan_ignore_drop(struct weir__scan *run, struct weir__scan_ignore *ignore)
{
    while (ignore) {
        struct weir__scan_ignore *above = ignore->above;
        weir_lock_acquire(&run->lock);
        bool is_last = --ignore->holders == 0;
        if (is_last)
            unlink_it(run, ignore);
        weir_lock_release(&run->lock);
        if (!is_last)
            return;
        weir__ignore_free(ignore->rules);
        weir__base_free(ignore);
        ignore = above;
    }
}

void weir__scan_ignore_free_all(struct weir__scan *run)
{
    while (run->ignores) {
        struct weir__scan_ignore *link = run->ignores;
        run->ignores = link->behind;
        weir__ignore_free(link->rules);
        weir__base_free(link);
    }
}

/* --- files --- */

static void cannot_use(struct weir__scan_worker *w, const char *path, int error)
{
    const char *why = error == -WEIR_E_TOO_LARGE ? "there are too many rules or too long ones"
                      : error < 0                ? weir_error_text(error)
                                                 : weir__log_reason(error);
    weir__scan_tell_partial(w, path, "cannot use the rules in", why);
}

/* 1, 0 when there is none, or an error: negative, or of the system. */
static int read_rules(struct weir__scan_worker *w, int dir, const char *name,
                      struct weir__buffer *text)
{
    int fd = weir__sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) /* like git, which does not follow a symlink there */
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : errno;
    struct stat st;
    ssize_t n = 0;
    int result = weir__sys_fstat(fd, &st) < 0 ? errno : 0;
    if (result == 0 && !S_ISREG(st.st_mode)) {
        weir__sys_close(fd);
        return 0;
    }
    while (result == 0 && (n = weir__sys_read(fd, w->block, WEIR__SCAN_READ_SIZE)) > 0)
        result = weir__buffer_append(text, w->block, (size_t)n);
    if (n < 0)
        result = errno;
    weir__sys_close(fd);
    return result == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : result ? result : 1;
}

static const struct weir__ignore *rules_of(const struct weir__scan_ignore *ignore)
{
    return ignore ? ignore->rules : NULL; /* only a base has none, and nothing is above that */
}

/* The rules of the file, if there is one, for the directory with this path from the top. Takes the
 * hold of the one above; what it returns is held, and may be that. */
static struct weir__scan_ignore *add_file(struct weir__scan_worker *w, int dir, const char *name,
                                          const char *shown, const char *dir_path,
                                          struct weir__scan_ignore *above)
{
    struct weir__ignore *rules = NULL;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer text;
    weir__buffer_init(&text, WEIR__IGNORE_FILE_MAX);
    int result = read_rules(w, dir, name, &text);
    if (result == 0)
        return above;
    if (result == 1)
        result = weir__ignore_new(&rules, rules_of(above), dir_path, weir__buffer_text(&text),
                                  weir__buffer_length(&text));
    struct weir__scan_ignore *link = result == 0 ? make(w, above, rules, "", 0, &result) : NULL;
    if (link)
        return link;
    cannot_use(w, shown, result);
    return above;
}

/* --- where a tree begins --- */

static struct weir__scan_ignore *make_base(struct weir__scan_worker *w, const char *prefix,
                                           size_t length)
{
    int error = 0;
    struct weir__scan_ignore *base = make(w, NULL, NULL, prefix, length, &error);
    if (base)
        base->skip = weir__buffer_length(&w->path);
    else
        weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot use .gitignore files in",
                                weir_error_text(error));
    return base;
}

static bool is_there(const char *path, size_t length, const char *name, struct weir__buffer *text)
{
    struct stat st;
    weir__buffer_truncate(text, 0);
    return weir__buffer_append(text, path, length) == 0 && weir__buffer_puts(text, name) == 0 &&
           weir__sys_fstatat(AT_FDCWD, weir__buffer_text(text), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* How much of the path of a directory is that of the top of its repository; false: there is none.
 */
static bool find_top(const char *path, size_t *length, struct weir__buffer *text)
{
    while (!is_there(path, *length, "/.git", text)) {
        if (*length == 0)
            return false;
        while (*length > 0 && path[--*length] != '/')
            continue;
    }
    return true;
}

/* The files from the top on down to the directory above the one that has the path. */
static struct weir__scan_ignore *add_above(struct weir__scan_worker *w, const char *path,
                                           size_t length, size_t top_length,
                                           struct weir__scan_ignore *link)
{
    char dir_path[PATH_MAX];
    for (size_t at = top_length; link && at < length;) {
        size_t below = at > top_length ? at - top_length - 1 : 0;
        memcpy(dir_path, path + top_length + 1, below);
        dir_path[below] = '\0';
        weir__buffer_truncate(&w->rule_path, 0);
        if (weir__buffer_append(&w->rule_path, path, at) < 0 ||
            weir__buffer_puts(&w->rule_path, "/.gitignore") < 0) {
            cannot_use(w, path, -WEIR_E_NO_MEMORY);
            return link;
        }
        const char *name = weir__buffer_text(&w->rule_path);
        link = add_file(w, AT_FDCWD, name, name, dir_path, link);
        at++;
        while (at < length && path[at] != '/')
            at++;
    }
    return link;
}

struct weir__scan_ignore *weir__scan_ignore_begin(struct weir__scan_worker *w, int fd)
{
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = weir__sys_readlinkat(AT_FDCWD, link, path, sizeof(path));
    /* One whose path is not known or too long has nothing above: less is ignored. */
    size_t length = n > 0 && n < (ssize_t)sizeof(path) && path[0] == '/' ? (size_t)n : 0;
    size_t top_length = length == 1 ? 0 : length; /* "/" */
    path[length == 1 ? 0 : length] = '\0';
    length = top_length;
    if (length == 0 || !find_top(path, &top_length, &w->rule_path) || top_length == length)
        return make_base(w, "", 0);
    struct weir__scan_ignore *base = make_base(w, path + top_length + 1, length - top_length - 1);
    return add_above(w, path, length, top_length, base);
}

/* --- directories --- */

bool weir__scan_ignore_aim(struct weir__scan_worker *w, const struct weir__scan_ignore *ignore)
{
    const struct weir__scan_ignore *base = ignore->base;
    weir__buffer_truncate(&w->rule_path, 0);
    if (weir__buffer_puts(&w->rule_path, base->prefix) == 0 &&
        weir__buffer_puts(&w->rule_path, weir__buffer_text(&w->path) + base->skip) == 0)
        return true;
    cannot_use(w, weir__buffer_text(&w->path), -WEIR_E_NO_MEMORY);
    return false;
}

bool weir__scan_ignore_has(struct weir__scan_worker *w, const struct weir__scan_ignore *ignore,
                           const char *name, bool is_dir)
{
    if (strcmp(name, ".git") == 0)
        return true;
    if (!ignore->rules)
        return false;
    size_t length = weir__buffer_length(&w->rule_path);
    bool is_ignored =
        weir__buffer_puts(&w->rule_path, name) == 0 &&
        weir__ignore_is_ignored(ignore->rules, weir__buffer_text(&w->rule_path), is_dir);
    weir__buffer_truncate(&w->rule_path, length);
    return is_ignored;
}

struct weir__scan_ignore *weir__scan_ignore_enter(struct weir__scan_worker *w, int fd,
                                                  struct weir__scan_ignore *above)
{
    struct stat st;
    if (!above)
        return NULL;
    int error = weir__sys_fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    struct weir__scan_ignore *link =
        error == 0 ? make_base(w, "", 0) : weir__scan_ignore_hold(w->run, above);
    if (error != 0 && error != ENOENT && error != ENOTDIR)
        cannot_use(w, weir__buffer_text(&w->path), error);
    if (!link || !weir__scan_ignore_aim(w, link))
        return link;
    /* The directory's own path from the top, without its slash. */
    size_t length = weir__buffer_length(&w->rule_path);
    weir__buffer_truncate(&w->rule_path, length > 0 ? length - 1 : 0);
    size_t dir_length = weir__buffer_length(&w->path);
    if (weir__buffer_puts(&w->path, ".gitignore") < 0) {
        cannot_use(w, weir__buffer_text(&w->path), -WEIR_E_OVERFLOW);
        return link;
    }
    link = add_file(w, fd, ".gitignore", weir__buffer_text(&w->path),
                    weir__buffer_text(&w->rule_path), link);
    weir__buffer_truncate(&w->path, dir_length);
    return link;
}
