/* keyring.c - a folder of keys: looked at strictly, and written so that it lasts. */
#include "keyring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "entries.h"
#include "sys.h"
#include "temporary.h"
#include "utc.h"

#include "banned.h"

#define FILE_LENGTH (2 * WEIR__KEY_SIZE + 1) /* the digits and a line end */
#define WINDOW      8192u
#define ID_RANDOM   3u
#define SHOWN       200u  /* bytes of a path */
#define PATH_SIZE   4096u /* with NUL */

struct key {
    char id[WEIR__KEY_ID_SIZE];
    unsigned char bytes[WEIR__KEY_SIZE];
};

struct weir__keyring {
    size_t count;
    struct key keys[WEIR__KEYS_MAX]; /* by their ids */
};

/* --- ids --- */

static const char id_form[] = "ddddddddTddddddZ-xxxxxx";
_Static_assert(sizeof(id_form) == WEIR__KEY_ID_SIZE, "the size of an id");

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool weir__key_id_is_one(const char *text, size_t length)
{
    if (length != sizeof(id_form) - 1)
        return false;
    for (size_t i = 0; i < length; i++) {
        int value = hex_value(text[i]);
        bool is_digit = value >= 0 && value < 10;
        if (id_form[i] == 'd' ? !is_digit : id_form[i] == 'x' ? value < 0 : text[i] != id_form[i])
            return false;
    }
    return true;
}

/* 2026-11-17T15:06:52Z, without what only people need. */
static void write_id(char id[WEIR__KEY_ID_SIZE], int64_t made_s,
                     const unsigned char random[ID_RANDOM])
{
    char utc[WEIR__UTC_SIZE];
    size_t used = 0;
    weir__utc_format(utc, made_s);
    for (const char *from = utc; *from; from++)
        if (*from != '-' && *from != ':')
            id[used++] = *from;
    snprintf(id + used, WEIR__KEY_ID_SIZE - used, "-%02x%02x%02x", random[0], random[1], random[2]);
}

/* The moment in an id; of one that is no date, 0. */
static int64_t id_moment(const char *id)
{
    char utc[WEIR__UTC_SIZE];
    int64_t seconds;
    snprintf(utc, sizeof(utc), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", id, id + 4, id + 6, id + 9,
             id + 11, id + 13);
    return weir__utc_parse(&seconds, utc, strlen(utc)) == 0 ? seconds : 0;
}

/* --- one file --- */

static int fail(int error, char why[WEIR__KEY_WHY], const char *folder, const char *name,
                const char *reason)
{
    char shown[SHOWN]; /* what was typed may have a secret in it */
    weir__cover_clip(shown, sizeof(shown), folder, SIZE_MAX);
    snprintf(why, WEIR__KEY_WHY, "'%s%s%.200s': %.200s", shown, name[0] ? "/" : "", name, reason);
    return error;
}

static int fail_errno(char why[WEIR__KEY_WHY], const char *folder, const char *name)
{
    int error = weir_error_from_errno(errno);
    return fail(error, why, folder, name,
                errno == ELOOP    ? "it is a symlink: put the file itself there"
                : errno == EACCES ? "permission denied: run this as its owner, or as root"
                                  : weir_error_text(error));
}

/* Whether it may be somebody else's: root looks after services that run as others, and theirs is
 * what the folder above is. */
static bool may_belong(uid_t owner, uid_t above)
{
    return owner == geteuid() || owner == 0 || (geteuid() == 0 && owner == above);
}

/* NULL, or what is wrong with whose it is. above: the owner of the folder that the keys' lies in.
 */
static const char *whose_fault(const struct stat *st, uid_t above, bool is_folder)
{
    if (!may_belong(st->st_uid, above))
        return geteuid() == 0 ? "its owner is not that of the folder above it: run this as its "
                                "owner, or have it changed to the user of the service"
                              : "it belongs to somebody else: run this as its owner, or as root";
    if (is_folder)
        return st->st_mode & (S_IWGRP | S_IWOTH) ? "others can write to it: chmod 700 it" : NULL;
    if (!S_ISREG(st->st_mode))
        return "it is not a file: take it away";
    return st->st_mode & (S_IRWXG | S_IRWXO) ? "others can read it: chmod 600 it, and since they "
                                               "may have done so, replace it by 'weir token rotate'"
                                             : NULL;
}

static bool read_digits(const char text[FILE_LENGTH], unsigned char bytes[WEIR__KEY_SIZE])
{
    for (size_t i = 0; i < WEIR__KEY_SIZE; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high * 16 + low);
    }
    return text[FILE_LENGTH - 1] == '\n';
}

static int load_key(int dir, uid_t above, const char *folder, struct key *key,
                    char why[WEIR__KEY_WHY])
{
    struct stat st;
    char text[FILE_LENGTH];
    const char *fault = NULL;
    /* What is a pipe must not be waited for. */
    int fd = weir__sys_openat(dir, key->id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return fail_errno(why, folder, key->id);
    int result = weir__sys_fstat(fd, &st) < 0 ? fail_errno(why, folder, key->id) : 0;
    if (result == 0)
        fault = whose_fault(&st, above, false);
    if (fault)
        result = fail(-WEIR_E_DENIED, why, folder, key->id, fault);
    else if (result == 0 && st.st_size != (off_t)sizeof(text))
        result = -WEIR_E_CORRUPT;
    else if (result == 0 && weir__whole_pread(fd, text, sizeof(text), 0) < 0)
        result = fail_errno(why, folder, key->id);
    else if (result == 0 && !read_digits(text, key->bytes))
        result = -WEIR_E_CORRUPT;
    if (result == -WEIR_E_CORRUPT)
        fail(result, why, folder, key->id,
             "it is not a key, which has 64 hexadecimal digits and a line end: take it away");
    explicit_bzero(text, sizeof(text));
    weir__sys_close(fd);
    return result;
}

/* --- the folder --- */

/* The folder, and whose is that above it, which is not asked for by anybody but root. */
static int look_at(int fd, struct stat *st, uid_t *ret_above)
{
    struct stat above = {.st_uid = 0};
    if (weir__sys_fstat(fd, st) < 0 ||
        (geteuid() == 0 && weir__sys_fstatat(fd, "..", &above, AT_SYMLINK_NOFOLLOW) < 0))
        return -1;
    *ret_above = above.st_uid;
    return 0;
}

/* Its path without slashes at the end, behind which a link would be followed. */
static int trim(char path[PATH_SIZE], const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (length >= PATH_SIZE) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(path, PATH_SIZE, "%.*s", (int)length, folder);
    return 0;
}

static bool is_link(const char *path)
{
    struct stat st;
    return weir__sys_fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

static int fail_open(char why[WEIR__KEY_WHY], const char *folder, const char *path)
{
    if (errno == ENOENT)
        return fail(-WEIR_E_NOT_FOUND, why, folder, "", "there is no such folder");
    if (errno == ENOTDIR && is_link(path))
        return fail(-WEIR_E_INVALID, why, folder, "",
                    "it is a symlink: name the folder that it leads to");
    if (errno == ENOTDIR)
        return fail(-WEIR_E_INVALID, why, folder, "", "it is not a folder: name that of the keys");
    return fail_errno(why, folder, "");
}

/* Not by a link: who has the folder above could lead root to one of root's own. */
static int open_folder(const char *folder, struct stat *st, uid_t *ret_above,
                       char why[WEIR__KEY_WHY])
{
    char path[PATH_SIZE];
    if (trim(path, folder) < 0)
        return fail_errno(why, folder, "");
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return fail_open(why, folder, path);
    const char *fault = NULL;
    int result = look_at(fd, st, ret_above) < 0 ? fail_errno(why, folder, "") : 0;
    if (result == 0)
        fault = whose_fault(st, *ret_above, true);
    if (fault)
        result = fail(-WEIR_E_DENIED, why, folder, "", fault);
    if (result == 0)
        return fd;
    weir__sys_close(fd);
    return result;
}

static int add_name(struct weir__keyring *ring, const char *folder, const char *name,
                    char why[WEIR__KEY_WHY])
{
    if (name[0] == '.')
        return 0;
    if (!weir__key_id_is_one(name, strlen(name)))
        return fail(-WEIR_E_CORRUPT, why, folder, name,
                    "its name is not that of a key: take it out of this folder");
    if (ring->count == WEIR__KEYS_MAX)
        return fail(-WEIR_E_TOO_LARGE, why, folder, "",
                    "it has more than 64 keys: remove the oldest");
    memcpy(ring->keys[ring->count++].id, name, WEIR__KEY_ID_SIZE);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct key *one = a, *other = b;
    return strcmp(one->id, other->id);
}

/* The ids alone. */
static int list_keys(struct weir__keyring *ring, int dir, const char *folder,
                     char why[WEIR__KEY_WHY])
{
    _Alignas(struct weir__dirent) char window[WINDOW];
    ssize_t size;
    int result = 0;
    while (result == 0 && (size = weir__sys_getdents(dir, window, sizeof(window))) != 0) {
        if (size < 0)
            return fail_errno(why, folder, "");
        for (ssize_t at = 0; at < size && result == 0;) {
            const struct weir__dirent *entry = weir__dirent_at(window, at);
            at += entry->d_reclen;
            result = add_name(ring, folder, entry->d_name, why);
        }
    }
    qsort(ring->keys, ring->count, sizeof(ring->keys[0]), compare);
    return result;
}

int weir__keyring_load(struct weir__keyring **ret_ring, const char *folder, char why[WEIR__KEY_WHY])
{
    struct stat st;
    uid_t above = 0;
    int dir = open_folder(folder, &st, &above, why);
    if (dir < 0)
        return dir;
    struct weir__keyring *ring = weir__base_alloc(1, sizeof(*ring));
    int result = ring ? list_keys(ring, dir, folder, why)
                      : fail(-WEIR_E_NO_MEMORY, why, folder, "", "out of memory");
    for (size_t i = 0; result == 0 && i < ring->count; i++)
        result = load_key(dir, above, folder, &ring->keys[i], why);
    if (result == 0 && ring->count == 0)
        result = fail(-WEIR_E_NOT_FOUND, why, folder, "", "there is no key in it");
    weir__sys_close(dir);
    if (result < 0)
        weir__keyring_free(ring);
    else
        *ret_ring = ring;
    return result;
}

int weir__keyring_new(struct weir__keyring **ret_ring, const char *id,
                      const unsigned char key[WEIR__KEY_SIZE])
{
    if (!weir__key_id_is_one(id, strlen(id)))
        return -WEIR_E_INVALID;
    struct weir__keyring *ring = weir__base_alloc(1, sizeof(*ring));
    if (!ring)
        return -WEIR_E_NO_MEMORY;
    ring->count = 1;
    snprintf(ring->keys[0].id, WEIR__KEY_ID_SIZE, "%s", id);
    memcpy(ring->keys[0].bytes, key, WEIR__KEY_SIZE);
    *ret_ring = ring;
    return 0;
}

void weir__keyring_free(struct weir__keyring *ring)
{
    if (ring)
        explicit_bzero(ring, sizeof(*ring));
    weir__base_free(ring);
}

/* --- a new key --- */

/* What root makes is for who has the folder: a service could not read it otherwise. */
static int give(int fd, const struct stat *to)
{
    return geteuid() != 0 || to->st_uid == 0 ? 0 : weir__sys_fchown(fd, to->st_uid, to->st_gid);
}

static int write_file(int dir, const struct stat *owner, const char *name)
{
    unsigned char key[WEIR__KEY_SIZE];
    char text[FILE_LENGTH + 1];
    if (weir__sys_random(key, sizeof(key)) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(key); i++)
        snprintf(text + 2 * i, 3, "%02x", key[i]);
    text[FILE_LENGTH - 1] = '\n';
    int fd = weir__sys_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    int result = fd;
    if (fd >= 0)
        result = give(fd, owner) == 0 && weir__whole_write(fd, text, FILE_LENGTH) == 0 &&
                         weir__sys_fsync(fd) == 0
                     ? 0
                     : -1;
    if (fd >= 0 && result < 0)
        weir__sys_close(fd);
    else if (fd >= 0)
        result = weir__sys_close_written(fd);
    explicit_bzero(key, sizeof(key));
    explicit_bzero(text, sizeof(text));
    return result;
}

/* Under a name that does not count, then under its own. */
static int write_key(int dir, const struct stat *owner, const char *id)
{
    char name[WEIR__KEY_ID_SIZE + 8];
    snprintf(name, sizeof(name), ".%s.new", id);
    if (write_file(dir, owner, name) == 0 && weir__sys_rename_new(dir, name, id) == 0) {
        if (weir__sys_fsync(dir) == 0)
            return 0;
        /* Nobody knows whether it would last. */
        int saved = errno;
        weir__sys_unlinkat(dir, id, 0);
        errno = saved;
        return -1;
    }
    int saved = errno;
    weir__sys_unlinkat(dir, name, 0);
    errno = saved;
    return -1;
}

/* The folder that it lies in: so many bytes of the path, none if it has no slash. */
static int open_above(const char *folder, size_t length)
{
    char above[PATH_SIZE];
    snprintf(above, sizeof(above), "%.*s", (int)length, folder);
    return weir__sys_openat(AT_FDCWD, length > 0 ? above : ".", O_RDONLY | O_DIRECTORY, 0);
}

/* What was just made there, and not what somebody has put in its place meanwhile. */
static int give_folder(int above, const char *name)
{
    struct stat st;
    int fd = weir__sys_openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    int result = fd < 0 || weir__sys_fstat(above, &st) < 0 ? -1 : give(fd, &st);
    weir__sys_close(fd);
    return result;
}

/* Its entry in the folder above must last, too. */
static int make_folder(const char *folder)
{
    char path[PATH_SIZE];
    if (trim(path, folder) < 0)
        return -1;
    size_t begin = strlen(path);
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    int above = open_above(path, begin);
    if (above < 0)
        return -1;
    const char *name = path + begin;
    int result = weir__sys_mkdirat(above, name, 0700);
    if (result == 0)
        result = give_folder(above, name) == 0 && weir__sys_fsync(above) == 0 ? 0 : -1;
    else if (errno == EEXIST)
        result = 0;
    int saved = errno;
    weir__sys_close(above);
    errno = saved;
    return result;
}

int weir__keyring_add(const char *folder, char ret_id[WEIR__KEY_ID_SIZE], char why[WEIR__KEY_WHY])
{
    unsigned char random[ID_RANDOM];
    char id[WEIR__KEY_ID_SIZE];
    struct stat st;
    uid_t above = 0;
    if (make_folder(folder) < 0)
        return fail_errno(why, folder, "");
    int dir = open_folder(folder, &st, &above, why);
    if (dir < 0)
        return dir;
    struct weir__keyring *ring = weir__base_alloc(1, sizeof(*ring));
    int result = ring ? list_keys(ring, dir, folder, why)
                      : fail(-WEIR_E_NO_MEMORY, why, folder, "", "out of memory");
    if (result == 0 && ring->count == WEIR__KEYS_MAX)
        result = fail(-WEIR_E_TOO_LARGE, why, folder, "",
                      "it has 64 keys, which is the most: remove the oldest");
    if (result == 0 && weir__sys_random(random, sizeof(random)) < 0)
        result = fail_errno(why, folder, "");
    if (result == 0) {
        int64_t now_s = weir_wall_s();
        int64_t newest_s = ring->count > 0 ? id_moment(ring->keys[ring->count - 1].id) : 0;
        write_id(id, now_s > newest_s ? now_s : newest_s + 1, random);
        if (write_key(dir, &st, id) < 0)
            result = fail_errno(why, folder, id);
    }
    weir__keyring_free(ring);
    weir__sys_close(dir);
    if (result == 0)
        memcpy(ret_id, id, WEIR__KEY_ID_SIZE);
    return result;
}

/* --- looking --- */

size_t weir__keyring_count(const struct weir__keyring *ring)
{
    return ring->count;
}

const char *weir__keyring_id(const struct weir__keyring *ring, size_t which)
{
    return ring->keys[which].id;
}

const unsigned char *weir__keyring_find(const struct weir__keyring *ring, const char *id)
{
    for (size_t i = 0; i < ring->count; i++)
        if (strcmp(ring->keys[i].id, id) == 0)
            return ring->keys[i].bytes;
    return NULL;
}
