/* disk.h - the few ways in which the store changes what is on a disk.
 *
 * All that is written goes through here, so that a test can note each change and each order to make
 * it last, and then build every state in which a loss of power could have left the disk
 * (WEIR_FAULTS).
 *
 * Errors are negative codes, and errno says what the system said. ReadOnly: the file system is.
 *
 * Ownership: descriptors belong to the caller.
 */
#ifndef WEIR_STORE_DISK_H
#define WEIR_STORE_DISK_H

#include <sys/types.h>
#include <sys/uio.h>

#include <weir/defs.h>

#define WEIR__DISK_NAME_MAX 64 /* of a file in the folder of the store, with NUL */

/* A file of the store that is written. */
struct weir__disk_file {
    int fd;
    char name[WEIR__DISK_NAME_MAX];
};

enum weir__disk_change {
    WEIR__DISK_WRITE,
    WEIR__DISK_CUT,    /* to a length */
    WEIR__DISK_SYNC,   /* the file's bytes last */
    WEIR__DISK_CREATE, /* of a name in a folder */
    WEIR__DISK_RENAME,
    WEIR__DISK_REMOVE,
    WEIR__DISK_SYNC_NAMES /* those of a folder last */
};

/* A change that was made, for tests. */
struct weir__disk_note {
    enum weir__disk_change change;
    int folder;        /* of names */
    const char *name;  /* of the file */
    const char *other; /* what it was called before, of a rename */
    const struct iovec *parts;
    size_t length; /* of a write: so much of the parts */
    uint64_t at;   /* of a write; the length, of a cut */
};

/* What who asked the store for something is told of an error of one of its files. It is never his
 * doing, so he is not told that his request is wrong, or not allowed: NoSpace, NoMemory,
 * NoDescriptors and ReadOnly are what they are, everything else is Io. */
int weir__disk_fault(int error);
/* The same of who only reads: he takes no room and changes nothing, whatever a file system says. */
int weir__disk_read_fault(int error);

#ifdef WEIR_FAULTS
/* Called after each change that was made; NULL: nobody. Set while nothing is going on. */
void weir__disk_watch(void (*fn)(void *arg, const struct weir__disk_note *note), void *arg);
#endif

/* A new file, 0600. Exists where there is one. The name lasts after weir__disk_sync_names(). */
WEIR_MUST_USE int weir__disk_create(struct weir__disk_file *ret_file, int folder, const char *name);
/* One that is there, to be written further. */
WEIR_MUST_USE int weir__disk_open(struct weir__disk_file *ret_file, int folder, const char *name);

/* All of the parts, one behind the other. The array is used up. After an error some of it may be
 * there. */
WEIR_MUST_USE int weir__disk_write(const struct weir__disk_file *file, struct iovec *parts,
                                   int count, uint64_t at);
/* All of a range. Errors are those of weir__disk_read_fault(); Io as well where the file ends
 * before. */
WEIR_MUST_USE int weir__disk_pread(int fd, void *bytes, size_t count, uint64_t at);
WEIR_MUST_USE int weir__disk_cut(const struct weir__disk_file *file, uint64_t length);
WEIR_MUST_USE int weir__disk_sync(const struct weir__disk_file *file);

WEIR_MUST_USE int weir__disk_remove(int folder, const char *name);
WEIR_MUST_USE int weir__disk_sync_names(int folder);

/* fn() with each name in the folder but "." and "..", until it returns what is not 0. */
WEIR_MUST_USE int weir__disk_each(int folder, int (*fn)(void *arg, const char *name), void *arg);

/* A whole small file in place of the one of that name, at once and to last. */
WEIR_MUST_USE int weir__disk_replace(int folder, const char *name, const void *bytes,
                                     size_t length);
/* At most room bytes of a small file; what was read is *ret_length. */
WEIR_MUST_USE int weir__disk_read(int folder, const char *name, void *bytes, size_t room,
                                  size_t *ret_length);

#endif
