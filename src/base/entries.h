/* entries.h - what weir__sys_getdents() writes: the entries of a directory, one behind the other.
 *
 *     _Alignas(struct weir__dirent) char window[8192];
 *     while ((size = weir__sys_getdents(fd, window, sizeof(window))) > 0)
 *         for (ssize_t at = 0; at < size;) {
 *             const struct weir__dirent *entry = weir__dirent_at(window, at);
 *             at += entry->d_reclen;
 *             ...
 *         }
 *
 * The names are those of the system's own structure, whose name has a fixed size: an entry of the
 * kernel is shorter, and may stand at the end of the window.
 *
 * Ownership: entries lie in the caller's window until that is written again.
 */
#ifndef WEIR_BASE_ENTRIES_H
#define WEIR_BASE_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct weir__dirent {
    uint64_t d_ino;
    int64_t d_off;           /* where the next one is: for lseek() */
    unsigned short d_reclen; /* bytes up to the next one in the window */
    unsigned char d_type;    /* DT_UNKNOWN where the file system does not say */
    char d_name[];
};

static inline struct weir__dirent *weir__dirent_at(char *window, ssize_t at)
{
    return (struct weir__dirent *)(void *)(window + at);
}

/* "." and "..", which every directory has. */
static inline bool weir__dirent_is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

#endif
