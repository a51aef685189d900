/* key_file.c - the file of a key: looked at strictly, and written so that it lasts. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "cover.h"
#include "key.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define SEED_SIZE  32u
#define SHOWN      200u  /* bytes of a path */
#define PATH_SIZE  4096u /* with NUL */
#define TRIES_MAX  16u   /* names that somebody else has taken */
#define TEMP_EXTRA 24u

static const char magic[] = "weir-key-v1 ";
#define FILE_LENGTH (sizeof(magic) - 1 + 2 * SEED_SIZE + 1)

static int fail(int error, char why[WEIR__SIGN_KEY_WHY], const char *file, const char *reason)
{
    char shown[SHOWN]; /* what was typed may have a secret in it */
    weir__cover_clip(shown, sizeof(shown), file, SIZE_MAX);
    snprintf(why, WEIR__SIGN_KEY_WHY, "'%s': %.300s", shown, reason);
    return error;
}

static int fail_errno(char why[WEIR__SIGN_KEY_WHY], const char *file)
{
    int error = weir_error_from_errno(errno);
    return fail(error, why, file,
                errno == ELOOP    ? "it is a symlink: name the file that it leads to"
                : errno == ENOENT ? "there is no such file: make a key by 'weir key make'"
                : errno == EACCES ? "permission denied: run this as its owner"
                : errno == EEXIST ? "it is there already: keys are not replaced, so name another "
                                    "file or take it away"
                                  : weir_error_text(error));
}

/* --- reading --- */

/* NULL, or what is wrong with whose it is. Root may use the keys of others, who let it anyway. */
static const char *whose_fault(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "it is not a file: name that of a key";
    if (st->st_uid != geteuid() && st->st_uid != 0 && geteuid() != 0)
        return "it belongs to somebody else: run this as its owner";
    if (st->st_mode & (S_IRWXG | S_IRWXO))
        return "others can read or write it: chmod 600 it, and since they may have done so, think "
               "of making another key";
    return NULL;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_text(const char text[FILE_LENGTH], unsigned char seed[SEED_SIZE])
{
    const char *digits = text + sizeof(magic) - 1;
    if (memcmp(text, magic, sizeof(magic) - 1) != 0 || text[FILE_LENGTH - 1] != '\n')
        return false;
    for (size_t i = 0; i < SEED_SIZE; i++) {
        int high = hex_value(digits[2 * i]), low = hex_value(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        seed[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

static int read_open(struct weir__key *ret_key, int fd, const char *file,
                     char why[WEIR__SIGN_KEY_WHY])
{
    unsigned char seed[SEED_SIZE];
    char text[FILE_LENGTH];
    struct stat st;
    if (weir__sys_fstat(fd, &st) < 0)
        return fail_errno(why, file);
    const char *fault = whose_fault(&st);
    if (fault)
        return fail(S_ISREG(st.st_mode) ? -WEIR_E_DENIED : -WEIR_E_INVALID, why, file, fault);
    bool has_size = st.st_size == (off_t)FILE_LENGTH;
    if (has_size && weir__whole_pread(fd, text, sizeof(text), 0) < 0)
        return fail_errno(why, file);
    bool is_key = has_size && read_text(text, seed);
    if (is_key)
        weir__key_from_seed(ret_key, seed);
    explicit_bzero(text, sizeof(text));
    explicit_bzero(seed, sizeof(seed));
    return is_key ? 0
                  : fail(-WEIR_E_CORRUPT, why, file,
                         "it is not a key, which is 'weir-key-v1' and 64 hexadecimal digits: "
                         "restore it from a copy");
}

int weir__key_read(struct weir__key *ret_key, const char *file, char why[WEIR__SIGN_KEY_WHY])
{
    /* What is a pipe must not be waited for. */
    int fd = weir__sys_openat(AT_FDCWD, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return fail_errno(why, file);
    int result = read_open(ret_key, fd, file, why);
    weir__sys_close(fd);
    return result;
}

/* --- making --- */

static int write_seed(int dir, const char *name, const unsigned char seed[SEED_SIZE])
{
    char text[FILE_LENGTH + 1];
    size_t used = sizeof(magic) - 1;
    memcpy(text, magic, used);
    for (size_t i = 0; i < SEED_SIZE; i++)
        snprintf(text + used + 2 * i, 3, "%02x", seed[i]);
    text[FILE_LENGTH - 1] = '\n';
    int fd = weir__sys_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    int result = fd;
    if (fd >= 0)
        result = weir__whole_write(fd, text, FILE_LENGTH) == 0 && weir__sys_fsync(fd) == 0 ? 0 : -1;
    if (fd >= 0 && result < 0)
        weir__sys_close(fd);
    else if (fd >= 0)
        result = weir__sys_close_written(fd);
    explicit_bzero(text, sizeof(text));
    return result;
}

static void forget(int dir, const char *name)
{
    int saved = errno;
    weir__sys_unlinkat(dir, name, 0);
    errno = saved;
}

/* Under a name that nobody looks for, then under its own. */
static int write_key(int dir, const char *name, const unsigned char seed[SEED_SIZE])
{
    char temp[TEMP_EXTRA];
    unsigned char random[6];
    int result = -1;
    errno = EEXIST;
    for (unsigned i = 0; i < TRIES_MAX && result < 0 && errno == EEXIST; i++) {
        if (weir__sys_random(random, sizeof(random)) < 0)
            return -1;
        snprintf(temp, sizeof(temp), ".weir-key-%02x%02x%02x%02x%02x%02x", random[0], random[1],
                 random[2], random[3], random[4], random[5]);
        result = write_seed(dir, temp, seed);
        if (result < 0 && errno != EEXIST)
            forget(dir, temp);
    }
    if (result < 0)
        return -1;
    if (weir__sys_rename_new(dir, temp, name) < 0) {
        forget(dir, temp);
        return -1;
    }
    if (weir__sys_fsync(dir) == 0)
        return 0;
    /* Nobody knows whether it would last. */
    forget(dir, name);
    return -1;
}

/* The folder of a file, and where the last part of its path begins. */
static int open_above(const char *file, size_t *ret_begin)
{
    char above[PATH_SIZE];
    size_t length = strlen(file), begin = length;
    while (begin > 0 && file[begin - 1] != '/')
        begin--;
    if (begin == length || begin >= sizeof(above)) {
        errno = begin == length ? EISDIR : ENAMETOOLONG;
        return -1;
    }
    snprintf(above, sizeof(above), "%.*s", (int)begin, file);
    *ret_begin = begin;
    return weir__sys_openat(AT_FDCWD, begin > 0 ? above : ".", O_RDONLY | O_DIRECTORY, 0);
}

int weir__key_make(struct weir__key *ret_key, const char *file, char why[WEIR__SIGN_KEY_WHY])
{
    unsigned char seed[SEED_SIZE];
    size_t begin = 0;
    int dir = open_above(file, &begin);
    if (dir < 0)
        return errno == ENOENT ? fail(-WEIR_E_NOT_FOUND, why, file,
                                      "there is no such folder: make it, or name another file")
               : errno == EISDIR
                   ? fail(-WEIR_E_INVALID, why, file, "that is no name of a file: name one")
                   : fail_errno(why, file);
    int result = 0;
    if (weir__sys_random(seed, sizeof(seed)) < 0 || write_key(dir, file + begin, seed) < 0)
        result = fail_errno(why, file);
    else
        weir__key_from_seed(ret_key, seed);
    explicit_bzero(seed, sizeof(seed));
    weir__sys_close(dir);
    return result;
}
