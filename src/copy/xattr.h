/* xattr.h - ACLs and extended attributes, brought from one entry to another: a part of meta.c.
 *
 * An ACL is the raw value of system.posix_acl_access or system.posix_acl_default, which is the same
 * on all file systems. Those of its entries that are the mode in another form are not compared,
 * since the mode is. An access ACL that says no more than the mode is none.
 *
 * Which attributes are meant: all but system.* and the ACLs that XFS shows as trusted.*; for a user
 * without privileges user.* alone, where security.* is tried and not missed. What the source lacks
 * is removed.
 *
 * Ownership: everything is borrowed; names of attributes in a failure are static or in the scratch.
 */
#ifndef WEIR_COPY_XATTR_H
#define WEIR_COPY_XATTR_H

#include "meta.h"

#define WEIR__ACL_ACCESS  "system.posix_acl_access"
#define WEIR__ACL_DEFAULT "system.posix_acl_default"

/* One entry's attributes on their way. */
struct weir__attributes {
    const struct weir__meta_rules *rules;
    const struct weir__meta_place *from, *to;
    struct weir__meta_scratch *scratch;
    const struct stat *existing;
    mode_t mode;      /* with its type: what the destination shall have in the end */
    bool is_dry;      /* look, change nothing */
    bool is_unlocked; /* the owner's right to write was lent */
    bool needs_mode;  /* the mode was touched on the way and must be set */
    struct weir__meta_failure failure;
};

/* Both return what is, or in a dry run would be, changed; of failures the first is kept. */
unsigned weir__attributes_bring_xattrs(struct weir__attributes *attributes);
unsigned weir__attributes_bring_acls(struct weir__attributes *attributes);

/* Puts the mode into those entries of an access ACL that stand for it, and makes it empty if there
 * are no others. What is not understood is left alone. */
void weir__acl_shape(struct weir__meta_bytes *acl, mode_t mode);

/* Keeps errno with the words, unless there is an earlier failure. */
static inline void weir__meta_fail(struct weir__meta_failure *failure, int errno_value,
                                   const char *what, const char *attribute)
{
    if (!failure->what)
        *failure = (struct weir__meta_failure){what, attribute, errno_value};
}

/* Sets the permission bits, through a symlink never. existing tells what must be found there. -1
 * and errno: ESTALE if it is something else. */
int weir__meta_chmod(const struct weir__meta_place *place, const struct stat *existing,
                     mode_t mode);

#endif
