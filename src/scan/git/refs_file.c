/* refs_file.c - reads by descriptor, below one folder. */
#include "refs_file.h"

#include <dirent.h>
#include <stdalign.h>
#include <string.h>

#include <weir/error.h>

#include "sys.h"

#include "banned.h"

#define WINDOW 32768u

/* As the kernel gives them. */
struct entry {
    uint64_t inode;
    int64_t next;
    unsigned short size;
    unsigned char type;
    char name[];
};

static int open_below(int dir, const char *name, int flags)
{
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = weir__sys_openat2(dir, name, &how);
    if (fd < 0 && (errno == ENOSYS || errno == E2BIG))
        fd = weir__sys_openat(dir, name, flags | O_NOFOLLOW, 0);
    return fd;
}

static int code_of(int errno_value)
{
    switch (errno_value) {
    case ENOTDIR:
        return -WEIR_E_NOT_FOUND;
    case EXDEV: /* it leads out of the folder */
    case ELOOP:
        return -WEIR_E_UNSUPPORTED;
    default:
        return weir_error_from_errno(errno_value);
    }
}

const char *weir__git_file_why(int error)
{
    return error == -WEIR_E_UNSUPPORTED ? "it is a symlink that leads out of the repository, or "
                                          "nowhere, and is not followed: "
                                          "scan the one that it leads to"
           : error == -WEIR_E_INVALID   ? "it is no regular file"
                                        : weir_error_text(error);
}

static int read_all(int fd, struct weir__buffer *bytes)
{
    struct stat st;
    if (weir__sys_fstat(fd, &st) != 0)
        return code_of(errno);
    if (!S_ISREG(st.st_mode))
        return -WEIR_E_INVALID;
    if ((uint64_t)st.st_size > weir__buffer_max(bytes))
        return -WEIR_E_TOO_LARGE;
    int error = weir__buffer_reserve(bytes, (size_t)st.st_size);
    while (!error) {
        char block[4096];
        /* What is known to be there goes to its place at once; what came since, through a block. */
        size_t left = (size_t)st.st_size > weir__buffer_length(bytes)
                          ? (size_t)st.st_size - weir__buffer_length(bytes)
                          : 0;
        char *into = left > 0 ? bytes->_data + weir__buffer_length(bytes) : block;
        ssize_t n = weir__sys_read(fd, into, left > 0 ? left : sizeof(block));
        if (n < 0)
            return code_of(errno);
        if (n == 0)
            break;
        if (left > 0) {
            bytes->_length += (size_t)n;
            bytes->_data[bytes->_length] = '\0';
        } else {
            error = weir__buffer_append(bytes, block, (size_t)n);
        }
    }
    return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
}

int weir__git_file_read(int dir, const char *name, struct weir__buffer *bytes)
{
    weir__buffer_truncate(bytes, 0);
    int fd = open_below(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return code_of(errno);
    int error = read_all(fd, bytes);
    weir__sys_close(fd);
    return error;
}

/* What came of lines whose end is not known yet. */
struct heads {
    int (*fn)(void *arg, const char *head, size_t length);
    void *arg;
    size_t length;
    char head[WEIR__GIT_HEAD_MAX];
};

static int take_heads(struct heads *heads, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *found = memchr(bytes + at, '\n', length - at);
        size_t end = found ? (size_t)(found - bytes) + 1 : length;
        size_t room = sizeof(heads->head) - heads->length;
        size_t count = end - at < room ? end - at : room;
        memcpy(heads->head + heads->length, bytes + at, count);
        heads->length += count;
        at = end;
        if (!found)
            break;
        int answer = heads->fn(heads->arg, heads->head, heads->length);
        heads->length = 0;
        if (answer)
            return answer;
    }
    return 0;
}

int weir__git_file_heads(int dir, const char *name,
                         int (*fn)(void *arg, const char *head, size_t length), void *arg)
{
    char window[WINDOW];
    struct heads heads = {.fn = fn, .arg = arg};
    struct stat st;
    ssize_t n = 0;
    int answer = 0;
    int fd = open_below(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return code_of(errno);
    if (weir__sys_fstat(fd, &st) != 0)
        answer = code_of(errno);
    else if (!S_ISREG(st.st_mode))
        answer = -WEIR_E_INVALID;
    while (!answer && (n = weir__sys_read(fd, window, sizeof(window))) > 0)
        answer = take_heads(&heads, window, (size_t)n);
    if (!answer && n < 0)
        answer = code_of(errno);
    if (!answer && heads.length > 0)
        answer = fn(arg, heads.head, heads.length);
    weir__sys_close(fd);
    return answer;
}

static char kind_of(int fd, const struct entry *entry)
{
    struct stat st;
    switch (entry->type) {
    case DT_DIR:
        return 'd';
    case DT_REG:
        return 'f';
    case DT_LNK:
        return 'l';
    case DT_UNKNOWN:
        break;
    default:
        return 'o';
    }
    if (weir__sys_fstatat(fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 'o';
    return S_ISDIR(st.st_mode) ? 'd' : S_ISREG(st.st_mode) ? 'f' : S_ISLNK(st.st_mode) ? 'l' : 'o';
}

static int take_names(int fd, const char *window, ssize_t size, struct weir__buffer *names)
{
    for (ssize_t at = 0; at < size;) {
        const struct entry *entry = (const void *)(window + at);
        at += entry->size;
        if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
            continue;
        size_t length = strlen(entry->name);
        int error = weir__buffer_reserve(names, length + 2);
        if (!error)
            error = weir__buffer_putc(names, kind_of(fd, entry));
        if (!error)
            error = weir__buffer_append(names, entry->name, length + 1);
        if (error)
            return error;
    }
    return 0;
}

int weir__git_folder_read(int dir, const char *name, struct weir__buffer *names)
{
    alignas(uint64_t) char window[WINDOW];
    ssize_t size;
    int error = 0;
    weir__buffer_truncate(names, 0);
    int fd = open_below(dir, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return code_of(errno);
    while (!error && (size = weir__sys_getdents(fd, window, sizeof(window))) != 0)
        error = size < 0 ? code_of(errno) : take_names(fd, window, size, names);
    weir__sys_close(fd);
    return error;
}

bool weir__git_folder_take(struct weir__buffer *paths, char *path)
{
    size_t length = weir__buffer_length(paths);
    const char *text = weir__buffer_text(paths);
    if (length == 0)
        return false;
    size_t from = length - 1;
    while (from > 0 && text[from - 1] != '\0')
        from--;
    memcpy(path, text + from, length - from);
    weir__buffer_truncate(paths, from);
    return true;
}

int weir__git_folder_open(const char *path, int *ret_fd)
{
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return code_of(errno);
    *ret_fd = fd;
    return 0;
}
