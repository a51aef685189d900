/* meta.h - everything about an entry but its content: read at the source, put back at the
 * destination.
 *
 * Order, since each step may undo the one before: owner and group (the kernel clears setuid and
 * capabilities on that), extended attributes (security.capability last), ACLs, mode, times. What
 * already agrees costs no call. What the destination cannot hold and the user asked for is an
 * error; the rest is still put back, but setuid and setgid are not given to a file whose owner
 * could not be changed.
 *
 * An ordinary user gets what rsync gives: owners stay, groups are changed among the user's own,
 * attributes outside of user.* are tried, all without an error.
 *
 * Limits: attributes and lists of WEIR__XATTR_MAX bytes, which is the kernel's limit too (E2BIG
 * beyond); WEIR__META_GROUPS_MAX groups of a user are known, with more every group is tried.
 *
 * Ownership: nothing here owns a descriptor; a scratch belongs to one thread and is freed by
 * weir__meta_scratch_fini(); a chmod is freed by weir__chmod_free() and may be read by any number
 * of threads.
 */
#ifndef WEIR_COPY_META_H
#define WEIR_COPY_META_H

#include <sys/stat.h>

#include <weir/error.h>

#include "event.h"

/* One attribute's value, and one list of names, are at most this (the kernel's limit is 64 KiB). */
#define WEIR__XATTR_MAX       65536u
#define WEIR__META_GROUPS_MAX 1024u

/* --chmod, as in rsync: comma-separated, D and F prefixes, octal or symbolic, may be repeated. At
 * most 1024 changes in all. */
struct weir__chmod;
/* Invalid for what cannot be understood; *ret_problem is a static text. */
WEIR_MUST_USE int weir__chmod_new(struct weir__chmod **ret_chmod, const char *text,
                                  const char **ret_problem);
/* Adds the changes of another --chmod behind those that are there; on failure adds none. */
WEIR_MUST_USE int weir__chmod_add(struct weir__chmod *chmod, const char *text,
                                  const char **ret_problem);
void weir__chmod_free(struct weir__chmod *chmod);
/* mode with its type, which decides about D, F and X and is kept. */
mode_t weir__chmod_apply(const struct weir__chmod *chmod, mode_t mode, mode_t umask);

/* "user", "user:", "user:group", ":group", numbers or names; what is all digits is a number.
 * NotFound for a name nobody has, Invalid for what is none; *ret_problem is a static text. */
WEIR_MUST_USE int weir__chown_parse(const char *text, bool *ret_has_uid, uid_t *ret_uid,
                                    bool *ret_has_gid, gid_t *ret_gid, const char **ret_problem);

/* Decided once for a run. */
struct weir__meta_rules {
    bool perms, times, owner, group, acls, xattrs, atimes;
    bool omit_dir_times, omit_link_times;
    uint64_t modify_window_ns;       /* times that are no further apart agree; 0: exactly */
    const struct weir__chmod *chmod; /* or NULL */
    bool has_uid, has_gid;           /* --chown; as in rsync it implies owner, or group */
    uid_t uid;
    gid_t gid;
    bool may_chown; /* CAP_CHOWN; without it owners stay, groups are tried for own groups */
    bool may_trust; /* CAP_SYS_ADMIN: trusted.* attributes */
    mode_t umask;   /* the user's; the process itself runs with 0 */
    bool has_more_groups;
    unsigned groups_count;
    gid_t groups[WEIR__META_GROUPS_MAX]; /* the user's own, sorted */
};

/* Fills in may_chown, may_trust, groups and umask (and sets the process's umask to 0). The rest is
 * left as it is. Not thread-safe. */
void weir__meta_rules_init(struct weir__meta_rules *rules);

/* An entry as the calls can reach it: through a descriptor (regular files and directories), or,
 * when fd is -1, by its name in a directory (everything), never following a symlink. */
struct weir__meta_place {
    int fd;
    int dir;
    const char *name;
};

/* Buffers of one thread. Each grows once, from 1 KiB to WEIR__XATTR_MAX, when something needs it.
 */
struct weir__meta_bytes {
    char *_data; /* followed by a NUL that does not count */
    size_t _length, _capacity;
};
struct weir__meta_scratch {
    struct weir__meta_bytes _names, _value, _other_names, _other_value;
};
void weir__meta_scratch_init(struct weir__meta_scratch *scratch);
void weir__meta_scratch_fini(struct weir__meta_scratch *scratch);

/* The permission bits (07777) that the destination shall have. existing: what is there, or NULL for
 * something new. The source's bits are changed by chmod first. Without perms a new entry gets their
 * rwx less the umask, and an existing one keeps its own. Symlinks have no mode of their own. */
mode_t weir__meta_mode(const struct weir__meta_rules *rules, const struct stat *source,
                       const struct stat *existing);
/* The bits to make a new entry with, in a directory with a default ACL: the kernel takes the ACL in
 * place of the umask. */
mode_t weir__meta_mode_inherited(const struct weir__meta_rules *rules, const struct stat *source);
/* (uid_t)-1 and (gid_t)-1 where the destination keeps what it has. */
void weir__meta_owner(const struct weir__meta_rules *rules, const struct stat *source,
                      uid_t *ret_uid, gid_t *ret_gid);

/* What weir__meta_apply() would change, as a mask of weir__copy_change, without changing anything;
 * existing is what the destination has. ACLs and xattrs are read only if the rules ask for them.
 * Access times of directories and symlinks, which our own reading changes, never count. Negative:
 * errno is set. */
int weir__meta_differs(const struct weir__meta_rules *rules, const struct weir__meta_place *from,
                       const struct stat *source, const struct weir__meta_place *to,
                       const struct stat *existing, struct weir__meta_scratch *scratch);

/* Brings the destination to what the rules say, and returns what it changed as a mask. The first
 * failure is kept in *ret_failure (what: "cannot change the owner of") and the rest is still tried;
 * -1 then.
 *
 * existing is what fstat says of the destination now, or would say: of an entry just made the
 * caller knows type, mode, owner and group. Unknown times are WEIR__META_TIME_UNKNOWN in tv_nsec;
 * an unknown inode is 0. What is made with mode, owner and group as they shall be costs one call,
 * for the times. */
#define WEIR__META_TIME_UNKNOWN (-1)
struct weir__meta_failure {
    const char *what;
    const char *attribute; /* name of the xattr, static or in the scratch, or NULL */
    int errno_value;
};
int weir__meta_apply(const struct weir__meta_rules *rules, const struct weir__meta_place *from,
                     const struct stat *source, const struct weir__meta_place *to,
                     const struct stat *existing, struct weir__meta_scratch *scratch,
                     struct weir__meta_failure *ret_failure);

/* Whether new entries in this directory inherit an ACL, so that the mode given to open is not what
 * they get. */
bool weir__meta_has_default_acl(int dir_fd);

#endif
