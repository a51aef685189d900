/* cache.c - a folder of the user with compiled rules. */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "buffer.h"
#include "entries.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define PATH_MAX_BYTES 4096u
#define NAME_SIZE      40u
#define WINDOW         8192u

/* The user's own, and nobody else can write to it. */
static bool is_safe(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* What was installed may be root's as well. */
static bool is_safe_installed(const struct stat *st)
{
    return is_safe(st) || (st->st_uid == 0 && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0);
}

/* --- the folder --- */

/* The folder in an open one, made if it is not there. */
static int open_folder(int dir, const char *name, mode_t mode)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    int fd = weir__sys_openat(dir, name, flags, 0);
    if (fd < 0 && errno == ENOENT && weir__sys_mkdirat(dir, name, mode) == 0)
        fd = weir__sys_openat(dir, name, flags, 0);
    return fd;
}

static int open_base(const char *base, const char *home)
{
    /* Relative ones are to be ignored, says the specification of that variable. */
    if (base && base[0] == '/') {
        int fd = weir__sys_openat(AT_FDCWD, base, O_RDONLY | O_DIRECTORY, 0);
        return fd < 0 ? open_folder(AT_FDCWD, base, 0700) : fd;
    }
    if (!home || home[0] != '/')
        return -1;
    int dir = weir__sys_openat(AT_FDCWD, home, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return -1;
    /* ~/.cache may be a link to another disk. */
    int fd = weir__sys_openat(dir, ".cache", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        fd = open_folder(dir, ".cache", 0700);
    weir__sys_close(dir);
    return fd;
}

/* --- getting --- */

static int get_from(int folder, bool (*is_good)(const struct stat *), const char *key,
                    char **ret_bytes, size_t *ret_length)
{
    struct stat st;
    int fd = weir__sys_openat(folder, key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return weir_error_from_errno(errno);
    int result = weir__sys_fstat(fd, &st) < 0                        ? weir_error_from_errno(errno)
                 : !S_ISREG(st.st_mode) || !is_good(&st)             ? -WEIR_E_DENIED
                 : st.st_size <= 0 || st.st_size > WEIR__CACHE_BYTES ? -WEIR_E_TOO_LARGE
                                                                     : 0;
    char *bytes = result == 0 ? weir__base_alloc(1, (size_t)st.st_size) : NULL;
    if (result == 0 && !bytes)
        result = -WEIR_E_NO_MEMORY;
    if (result == 0)
        result = weir__whole_pread(fd, bytes, (size_t)st.st_size, 0);
    weir__sys_close(fd);
    if (result < 0) {
        weir__base_free(bytes);
        return result;
    }
    *ret_bytes = bytes;
    *ret_length = (size_t)st.st_size;
    return 0;
}

/* What was used last goes last. The system's own note of that is coarse, or not made at all
 * (noatime). Where it cannot be made, the order is that of writing. */
static void note_use(int folder, const char *key)
{
    static const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    (void)weir__sys_utimensat(folder, key, times, AT_SYMLINK_NOFOLLOW);
}

static int get(void *arg, const char *key, char **ret_bytes, size_t *ret_length)
{
    const struct weir__cache *cache = arg;
    int result = -WEIR_E_NOT_FOUND;
    if (cache->_fd >= 0)
        result = get_from(cache->_fd, is_safe, key, ret_bytes, ret_length);
    if (result == 0)
        note_use(cache->_fd, key);
    if (result < 0 && cache->_installed >= 0)
        result = get_from(cache->_installed, is_safe_installed, key, ret_bytes, ret_length);
    return result;
}

/* --- putting --- */

struct oldest {
    char name[NAME_SIZE];
    struct timespec time;
    unsigned count;
};

static bool is_before(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec
                                        : one->tv_nsec < other->tv_nsec;
}

static void look_at(const struct weir__cache *cache, const char *name, struct oldest *oldest)
{
    struct stat st;
    size_t length = strlen(name);
    if (weir__dirent_is_dots(name) || length >= NAME_SIZE ||
        weir__sys_fstatat(cache->_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    struct timespec used = is_before(&st.st_atim, &st.st_mtim) ? st.st_mtim : st.st_atim;
    bool is_older = oldest->count == 0 || is_before(&used, &oldest->time);
    oldest->count++;
    if (is_older) {
        memcpy(oldest->name, name, length + 1);
        oldest->time = used;
    }
}

/* Makes room for one more. */
static void make_room(const struct weir__cache *cache)
{
    _Alignas(struct weir__dirent) char window[WINDOW];
    for (unsigned i = 0; i < 2 * WEIR__CACHE_FILES; i++) {
        struct oldest oldest = {.count = 0};
        int fd = weir__sys_openat(cache->_fd, ".", O_RDONLY | O_DIRECTORY, 0);
        ssize_t size;
        while (fd >= 0 && (size = weir__sys_getdents(fd, window, sizeof(window))) > 0)
            for (ssize_t at = 0; at < size;) {
                const struct weir__dirent *entry = weir__dirent_at(window, at);
                look_at(cache, entry->d_name, &oldest);
                at += entry->d_reclen;
            }
        weir__sys_close(fd);
        if (oldest.count < WEIR__CACHE_FILES || weir__sys_unlinkat(cache->_fd, oldest.name, 0) < 0)
            return;
    }
}

static void put(void *arg, const char *key, const char *bytes, size_t length)
{
    const struct weir__cache *cache = arg;
    char name[NAME_SIZE];
    if (cache->_fd < 0 || length > WEIR__CACHE_BYTES || strlen(key) >= NAME_SIZE)
        return;
    make_room(cache);
    snprintf(name, sizeof(name), ".%x-%llx", (unsigned)getpid(), (unsigned long long)weir_now_ns());
    int fd = weir__sys_openat(cache->_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                              cache->_is_shared ? 0644 : 0600);
    if (fd < 0)
        return;
    /* For all users to read, whatever the umask. */
    bool is_good = !cache->_is_shared || weir__sys_fchmod(fd, 0644) == 0;
    is_good = is_good && weir__whole_write(fd, bytes, length) == 0;
    weir__sys_close(fd);
    if (!is_good || weir__sys_renameat2(cache->_fd, name, cache->_fd, key, 0) < 0)
        weir__sys_unlinkat(cache->_fd, name, 0);
}

/* --- life cycle --- */

static void clear(struct weir__cache *cache)
{
    *cache = (struct weir__cache){
        ._fd = -1, ._installed = -1, .hooks = {.get = get, .put = put, .arg = cache}};
}

static void drop_unsafe(int *fd, bool (*is_good)(const struct stat *))
{
    struct stat st;
    if (*fd >= 0 && (weir__sys_fstat(*fd, &st) < 0 || !is_good(&st)))
        weir__sys_close_at(fd);
}

void weir__cache_init(struct weir__cache *cache, const char *base, const char *home)
{
    clear(cache);
    int dir = open_base(base, home);
    if (dir < 0)
        return;
    cache->_fd = open_folder(dir, WEIR__CACHE_NAME, 0700);
    weir__sys_close(dir);
    drop_unsafe(&cache->_fd, is_safe);
}

int weir__cache_init_shared(struct weir__cache *cache, const char *path)
{
    clear(cache);
    cache->_is_shared = true;
    cache->_fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    bool is_there = cache->_fd >= 0;
    if (!is_there)
        cache->_fd = open_folder(AT_FDCWD, path, 0755);
    if (cache->_fd < 0)
        return weir_error_from_errno(errno);
    /* One that was there keeps its mode; one that was made is for all, whatever the umask. */
    if (!is_there && weir__sys_fchmod(cache->_fd, 0755) < 0) {
        int error = weir_error_from_errno(errno);
        weir__sys_close_at(&cache->_fd);
        return error;
    }
    drop_unsafe(&cache->_fd, is_safe);
    return cache->_fd < 0 ? -WEIR_E_DENIED : 0;
}

void weir__cache_add_installed(struct weir__cache *cache, const char *path)
{
    cache->_installed = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    drop_unsafe(&cache->_installed, is_safe_installed);
}

void weir__cache_fini(struct weir__cache *cache)
{
    weir__sys_close_at(&cache->_fd);
    weir__sys_close_at(&cache->_installed);
}

const struct weir__engine_cache *weir__cache_hooks(const struct weir__cache *cache)
{
    return cache->_fd >= 0 || cache->_installed >= 0 ? &cache->hooks : NULL;
}
