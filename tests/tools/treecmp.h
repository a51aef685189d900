/* treecmp.h - what the parts of the tree comparer share.
 *
 * Ownership: nothing here owns anything but the tables in struct links, which live as long as the
 * program.
 */
#ifndef WEIR_TESTS_TOOLS_TREECMP_H
#define WEIR_TESTS_TOOLS_TREECMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* What two entries can differ in. The name is what --no and --also take and what a line begins
 * with. */
#define ASPECTS(X)                                                                                 \
    X(MISSING, "missing", true)       /* in the first tree alone */                                \
    X(EXTRA, "extra", true)           /* in the second tree alone */                               \
    X(UNREADABLE, "unreadable", true) /* cannot be compared */                                     \
    X(TYPE, "type", true)                                                                          \
    X(MODE, "mode", true) /* permissions, setuid, setgid, sticky */                                \
    X(UID, "uid", true)                                                                            \
    X(GID, "gid", true)                                                                            \
    X(MTIME, "mtime", true) /* of all but directories and symlinks, nanoseconds */                 \
    X(DIR_MTIME, "dir-mtime", true)                                                                \
    X(LINK_MTIME, "link-mtime", true)                                                              \
    X(ATIME, "atime", false)                                                                       \
    X(SIZE, "size", true) /* of regular files */                                                   \
    X(CONTENT, "content", true)                                                                    \
    X(TARGET, "target", true)            /* of symlinks */                                         \
    X(DEVICE, "device", true)            /* numbers of device files */                             \
    X(XATTR, "xattr", true)              /* of everybody: user.*, and what is not named below */   \
    X(ROOT_XATTR, "root-xattr", true)    /* trusted.* and security.*, which only root can set */   \
    X(ACL, "acl", true)                  /* access and default ACLs, byte for byte */              \
    X(HOLES, "holes", true)              /* the second has data where the first has a hole */      \
    X(EXACT_HOLES, "exact-holes", false) /* and no hole where the first has data */                \
    X(LINKS, "links", true)              /* the names that are one inode are the same names */     \
    X(NLINK, "nlink", true)              /* the number of links, names elsewhere included */

#define ASPECT_CONSTANT(name, text, preset) ASPECT_##name,
enum aspect { ASPECTS(ASPECT_CONSTANT) ASPECT_COUNT };

/* One side of a pair: an entry by its name in an open directory. */
struct side {
    int dir;
    const char *name;
    struct statx st;
};

bool is_wanted(enum aspect aspect);

/* Prints one line and counts, if the aspect is wanted. path is escaped. */
__attribute__((format(printf, 3, 4))) void differ(enum aspect aspect, const char *path,
                                                  const char *format, ...);

/* As a C string would show it, so that a difference is one line whatever the name is. To be freed.
 */
char *escape(const char *text);

/* Memory, or the end of the program. */
void *grow(void *memory, size_t count, size_t size);

/* Everything about a pair whose names are the same; true when both are directories. */
bool compare_entry(const char *path, struct side *a, struct side *b);

/* Sizes, content and holes of two regular files. */
void compare_files(const char *path, const struct side *a, const struct side *b);

/* Opens for reading without leaving a trace in the access time, if the system lets us. */
int open_quietly(int dir, const char *name, int flags);

#endif
