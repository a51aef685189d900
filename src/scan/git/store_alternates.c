/* store_alternates.c - the folders that objects are in: the repository's own, and those that it
 * borrows from.
 *
 * info/alternates has a path in each line, relative to the folder that it belongs to; a line in
 * quotes is written as in C; lines that begin with '#' are comments. Folders are known by device
 * and inode, so that one that is met again, by whatever path, is left out: that ends cycles, too.
 */
#include "store_part.h"

#include <errno.h>
#include <stdio.h>

#include "alloc.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

#define UNUSABLE_NAMED 8u

static bool is_known(const struct weir__git_store *store, const struct stat *st)
{
    for (unsigned i = 0; i < store->folders_count; i++)
        if (store->folders[i].device == st->st_dev && store->folders[i].inode == st->st_ino)
            return true;
    return false;
}

/* 1 when it was added, 0 when it is there already. */
static int add(struct weir__git_store *store, const char *path)
{
    struct stat st;
    /* It need not be listed: what is in it has names that are known. */
    int fd = weir__sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return weir_error_from_errno(errno);
    /* But it must be searched, or each folder in it would be told for itself. */
    if (weir__sys_fstatat(fd, ".", &st, 0) < 0) {
        int result = weir_error_from_errno(errno);
        weir__sys_close(fd);
        return result;
    }
    if (is_known(store, &st)) {
        weir__sys_close(fd);
        return 0;
    }
    size_t length = strlen(path);
    char *copy =
        store->folders_count < WEIR__GIT_FOLDERS_MAX ? weir__base_alloc(length + 1, 1) : NULL;
    if (!copy) {
        weir__sys_close(fd);
        return store->folders_count < WEIR__GIT_FOLDERS_MAX ? -WEIR_E_NO_MEMORY : -WEIR_E_OVERFLOW;
    }
    memcpy(copy, path, length);
    store->folders[store->folders_count++] =
        (struct weir__git_folder){.fd = fd, .device = st.st_dev, .inode = st.st_ino, .path = copy};
    return 1;
}

/* What stands in quotes, as in C. */
static size_t unquote(const char *line, size_t length, char path[WEIR__GIT_PATH_MAX])
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    size_t made = 0;
    for (size_t i = 1; i < length && line[i] != '"' && made + 1 < WEIR__GIT_PATH_MAX; i++) {
        char c = line[i];
        if (c == '\\' && i + 1 < length) {
            c = line[++i];
            const char *known = c ? strchr(from, c) : NULL;
            if (known) {
                c = to[known - from];
            } else if (c >= '0' && c <= '3' && i + 2 < length) {
                c = (char)((c - '0') << 6 | (line[i + 1] - '0') << 3 | (line[i + 2] - '0'));
                i += 2;
            }
        }
        path[made++] = c;
    }
    path[made] = '\0';
    return made;
}

/* The path of a line, in path; false when there is none in it. */
static bool read_line(const char *folder, const char *line, size_t length,
                      char path[WEIR__GIT_PATH_MAX])
{
    char plain[WEIR__GIT_PATH_MAX];
    if (length == 0 || line[0] == '#')
        return false;
    if (line[0] == '"') {
        length = unquote(line, length, plain);
        line = plain;
    }
    int made = length > 0 && line[0] == '/'
                   ? snprintf(path, WEIR__GIT_PATH_MAX, "%.*s", (int)length, line)
                   : snprintf(path, WEIR__GIT_PATH_MAX, "%s/%.*s", folder, (int)length, line);
    return made > 0 && (size_t)made < WEIR__GIT_PATH_MAX;
}

static const char *why_unusable(int error, bool is_path, bool is_too_deep)
{
    return !is_path                     ? "its path is too long"
           : is_too_deep                ? "it is nested deeper than is followed"
           : error == -WEIR_E_OVERFLOW  ? "there are more than are followed"
           : error == -WEIR_E_NOT_FOUND ? "it is not there"
                                        : weir_error_text(error);
}

/* The first few are told one by one. */
static int add_unusable(struct weir__git_store *store, const char *line, size_t length,
                        const char *why)
{
    char path[WEIR__GIT_FLAW_PATH];
    if (store->folders_unusable++ >= UNUSABLE_NAMED)
        return 0;
    return weir__git_store_add_flaw(store,
                                    "the folder '%s', which it borrows from, cannot be used: %s",
                                    weir__text_clip(path, sizeof(path), line, length), why);
}

/* 0, NoMemory. */
static int read_line_of(struct weir__git_store *store, const char *folder, const char *line,
                        size_t length, bool is_too_deep)
{
    char path[WEIR__GIT_PATH_MAX];
    if (length == 0 || line[0] == '#')
        return 0;
    bool is_path = length < WEIR__GIT_PATH_MAX && read_line(folder, line, length, path);
    int added = !is_path || is_too_deep ? -WEIR_E_OVERFLOW : add(store, path);
    if (added >= 0 || added == -WEIR_E_NO_MEMORY)
        return added < 0 ? added : 0;
    return add_unusable(store, line, length, why_unusable(added, is_path, is_too_deep));
}

/* What cannot be read is a flaw: the objects that are there are scanned all the same. */
static int read_alternates(struct weir__git_store *store, unsigned folder, bool is_too_deep)
{
    struct weir__buffer text;
    char path[WEIR__GIT_FLAW_PATH];
    const char *own = store->folders[folder].path;
    int result = weir__git_read_file(store->folders[folder].fd, "info/alternates", &text);
    const char *at = weir__buffer_text(&text), *end = at + weir__buffer_length(&text);
    while (result == 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);
        result = read_line_of(store, own, at, length, is_too_deep);
        at += length + 1;
    }
    weir__buffer_fini(&text);
    if (result == 0 || result == -WEIR_E_NOT_FOUND)
        return 0;
    if (result == -WEIR_E_NO_MEMORY || result == -WEIR_E_NO_DESCRIPTORS)
        return result;
    return weir__git_store_add_flaw(
        store, "what it borrows is not known: cannot read '%s/info/alternates': %s",
        weir__text_clip(path, sizeof(path), own, SIZE_MAX),
        result == -WEIR_E_TOO_LARGE ? "it is larger than 1 MiB" : weir_error_text(result));
}

int weir__git_store_folders(struct weir__git_store *store)
{
    char path[WEIR__GIT_PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/objects", store->commondir);
    int result = length > 0 && (size_t)length < sizeof(path) ? add(store, path) : -WEIR_E_TOO_LARGE;
    /* Level by level: those of this one begin at `first`. */
    unsigned first = 0;
    for (unsigned level = 0; result >= 0 && first < store->folders_count; level++) {
        unsigned until = store->folders_count;
        for (; first < until && result >= 0; first++)
            result = read_alternates(store, first, level >= WEIR__GIT_ALTERNATES_DEEP);
    }
    if (result >= 0 && store->folders_unusable > UNUSABLE_NAMED)
        result = weir__git_store_add_flaw(
            store, "%u more of the folders that it borrows from cannot be used",
            store->folders_unusable - UNUSABLE_NAMED);
    if (result < 0)
        return weir__git_store_fail(store, -result, "cannot read '%s/objects': %s",
                                    WEIR__CLIPPED(store->commondir), weir_error_text(result));
    return 0;
}
