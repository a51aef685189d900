/* whole_file.c - see whole_file.h. */
#include "whole_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

#define TRIES 16

static int failed(void)
{
    return weir_error_from_errno(errno);
}

static int make_name(char name[WEIR__WHOLE_NAME_MAX])
{
    unsigned long long random[2];
    if (weir__sys_random(random, sizeof(random)) < 0)
        return failed();
    snprintf(name, WEIR__WHOLE_NAME_MAX, ".weir-tmp.%016llx.%016llx", random[0], random[1]);
    return 0;
}

/* The path without links, as far as they lead anywhere. */
static char *settle(const char *path)
{
    char target[PATH_MAX];
    const char *taken = path;
    struct stat st;
    if (weir__sys_fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
        if (!realpath(path, target))
            return NULL;
        taken = target;
    }
    size_t size = strlen(taken) + 1;
    char *memory = weir__base_alloc(1, size);
    if (!memory)
        errno = ENOMEM;
    return memory ? memcpy(memory, taken, size) : NULL;
}

static int open_folder(struct weir__whole_file *file)
{
    char *slash = strrchr(file->_path, '/');
    file->_name = slash ? slash + 1 : file->_path;
    if (*file->_name == '\0') {
        errno = EISDIR;
        return failed();
    }
    char kept = slash ? slash[1] : '\0';
    if (slash)
        slash[1] = '\0';
    file->_folder = weir__sys_openat(AT_FDCWD, slash ? file->_path : ".",
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (slash)
        slash[1] = kept;
    return file->_folder < 0 ? failed() : 0;
}

static int open_temp(struct weir__whole_file *file)
{
    file->fd = weir__sys_openat(file->_folder, ".", O_TMPFILE | O_RDWR, 0666);
    if (file->fd >= 0 || !(errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        return file->fd < 0 ? failed() : 0;
    for (int i = 0; i < TRIES && file->fd < 0; i++) {
        int error = make_name(file->_temp);
        if (error)
            return error;
        file->fd = weir__sys_openat(file->_folder, file->_temp,
                                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
        if (file->fd < 0 && errno != EEXIST)
            break;
    }
    if (file->fd >= 0)
        return 0;
    file->_temp[0] = '\0';
    return failed();
}

/* Whether a link that is not of the system's own, as /dev/stdout is, leads to what is no file: who
 * wants to write there names it. */
static bool is_led_astray(const char *path, const struct stat *target)
{
    struct stat st;
    return !S_ISDIR(target->st_mode) && strncmp(path, "/dev/", 5) != 0 &&
           strncmp(path, "/proc/", 6) != 0 &&
           weir__sys_fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* What is no regular file. Of a pipe the other end is not waited for. */
static int open_other(struct weir__whole_file *file, const char *path, const struct stat *st)
{
    if (is_led_astray(path, st))
        return -WEIR_E_USAGE;
    file->fd = weir__sys_openat(AT_FDCWD, path, O_WRONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (file->fd >= 0)
        return 0;
    return errno == ENXIO && S_ISFIFO(st->st_mode) ? -WEIR_E_BUSY : failed();
}

int weir__whole_open(struct weir__whole_file *ret_file, const char *path)
{
    struct weir__whole_file file = {.fd = -1, ._folder = -1};
    struct stat st;
    int error = 0;
    bool is_there = weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0;
    if (is_there && !S_ISREG(st.st_mode)) {
        error = open_other(&file, path, &st);
    } else {
        file._path = settle(path);
        error = file._path ? open_folder(&file) : failed();
        if (!error)
            error = open_temp(&file);
        if (!error && is_there && weir__sys_fchmod(file.fd, st.st_mode & 0777) < 0)
            error = failed();
    }
    if (error) {
        int saved = errno;
        weir__whole_drop(&file);
        errno = saved;
        return error;
    }
    *ret_file = file;
    return 0;
}

/* A name for what has none: by way of /proc, which needs no capability. */
static int link_temp(struct weir__whole_file *file)
{
    char path[64];
    int result = -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
    for (int i = 0; i < TRIES && result < 0; i++) {
        int error = make_name(file->_temp);
        if (error)
            return error;
        result = weir__sys_linkat(AT_FDCWD, path, file->_folder, file->_temp, AT_SYMLINK_FOLLOW);
        if (result < 0 && errno != EEXIST)
            break;
    }
    if (result == 0)
        return 0;
    file->_temp[0] = '\0';
    return failed();
}

int weir__whole_finish(struct weir__whole_file *file)
{
    int error = 0;
    if (file->_folder >= 0) {
        if (file->_temp[0] == '\0')
            error = link_temp(file);
        if (!error &&
            weir__sys_renameat2(file->_folder, file->_temp, file->_folder, file->_name, 0) < 0)
            error = failed();
        if (!error)
            file->_temp[0] = '\0';
    }
    if (!error) {
        error = weir__sys_close_written(file->fd) < 0 ? failed() : 0;
        file->fd = -1;
    }
    int saved = errno;
    weir__whole_drop(file);
    errno = saved;
    return error;
}

void weir__whole_drop(struct weir__whole_file *file)
{
    if (file->_temp[0] != '\0')
        weir__sys_unlinkat(file->_folder, file->_temp, 0);
    weir__sys_close(file->fd);
    weir__sys_close(file->_folder);
    weir__base_free(file->_path);
    *file = (struct weir__whole_file){.fd = -1, ._folder = -1};
}
